/* Bank conflicts counted on paper: which elements the threads of a warp touch together.
 */
#ifndef MMT_STUDIES_BANKS_H
#define MMT_STUDIES_BANKS_H

#include <stddef.h>

/* How the tile of op(B) lies in the template `tiled`. */
enum mmt_tile_layout { MMT_TILE_PLAIN, MMT_TILE_PAD, MMT_TILE_SWAP };

/* In how many turns a warp of 32 threads, which differ in the column, reads one row of a
 * `tile` x `tile` piece of op(B) from 32 banks of 4 bytes: 1 is free of conflicts, 32 is
 * the worst. Elements of 8 bytes are read by half a warp at a time, and the greater of
 * the halves counts; threads that read the same word share it. A thread reads one element
 * at a time here. From a plain tile, where its next elements lie side by side, a compiler
 * may have it read 16 bytes at once, as that of CUDA 13 does for sm_90a: the turns are
 * then those of as many bytes, and fewer for each element. */
int mmt_bank_turns(enum mmt_tile_layout layout, int tile, size_t element);

#endif
