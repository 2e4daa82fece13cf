/* Structs of the public header that begin with their size and grow at their ends. */
#ifndef MMT_BASE_GROW_H
#define MMT_BASE_GROW_H

#include <stddef.h>

#include <mmtune/mmtune.h>

/* Fills the `size` bytes that the caller's header has of a struct, whose first member
 * they become. `ours` has `known` bytes; members that this library does not know become
 * 0. */
void mmt_struct_fill(void *out, size_t size, const void *ours, size_t known);

/* Overwrites *out, which has `known` bytes and the defaults, by what the caller's header
 * has of the struct. MMT_ERROR_ARGUMENT for fewer than `least` bytes, or
 * for thousands;
 * MMT_ERROR_UNSUPPORTED where a member that this library does not know is not 0. `name`:
 * the struct's; `start`: the function that fills it in. */
mmt_status mmt_struct_read(void *out, size_t known, size_t least, const void *in,
                           const char *name, const char *start, mmt_error *err);

#endif
