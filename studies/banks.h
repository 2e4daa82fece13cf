/* Bank conflicts counted on paper: which elements the threads of a warp touch together.
 */
#ifndef MMT_STUDIES_BANKS_H
#define MMT_STUDIES_BANKS_H

#include <stddef.h>

/* In how many turns a warp of 32 threads, which differ in the column, reads one row of a
 * `tile` x `tile` piece of op(B) from 32 banks of 4 bytes: 1 is free of conflicts, 32 is
 * the worst. The layout is a value of tiled's SHARED_LAYOUT. Elements of 8 bytes are read
 * by half a warp at a time, and the greater of the halves counts; threads that read the
 * same word share it. A thread reads one element at a time here. Where its next elements
 * lie side by side and aligned, as in plain and pad_aligned, a compiler may have it read
 * 16 bytes at once: tools/shared_loads.py counts that. */
int mmt_bank_turns(const char *layout, int tile, size_t element);

#endif
