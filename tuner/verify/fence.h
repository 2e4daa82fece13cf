/* Host memory between pages that nobody may touch, as an operand of a device that uses
 * the host's memory in place: shows what a kernel reads or writes outside its matrices.
 * What is touched there is noted, and the kernel goes on.
 *
 * Memory that is closed takes addresses and nothing else, also where the process may have
 * only so much data (RLIMIT_DATA): pages of it are opened one by one.
 *
 * While a fence stands, the process has a handler for SIGSEGV; other faults end it as
 * they would without. At most 8 fences stand at once, made and freed by one thread. */
#ifndef MMT_TUNER_VERIFY_FENCE_H
#define MMT_TUNER_VERIFY_FENCE_H

#include <stddef.h>

#include "device/device.h"

struct mmt_fence;

/* Whether the device uses host memory in place, by trying. */
bool mmt_fence_works(mmt_device *device);

/* `bytes` of memory, 0 at first and none of it taken before it is touched, with at least
 * `guard` bytes on either side that cannot be. With `closed` none of it can be, until
 * mmt_fence_open opens the pages that have so many bytes from there on. */
mmt_status mmt_fence_create(mmt_device *device, size_t bytes, size_t guard, bool closed,
                            struct mmt_fence **out, mmt_error *err);
mmt_status mmt_fence_open(struct mmt_fence *fence, size_t from, size_t bytes,
                          mmt_error *err);
void mmt_fence_free(struct mmt_fence *fence);

/* The memory; it begins and ends with a page, so that it may be larger than asked. */
unsigned char *mmt_fence_begin(const struct mmt_fence *fence);
size_t mmt_fence_size(const struct mmt_fence *fence);
mmt_operand mmt_fence_operand(const struct mmt_fence *fence);

/* Whether something outside was touched, and where first, in bytes from the begin. */
bool mmt_fence_touched(const struct mmt_fence *fence, ptrdiff_t *where);

#endif
