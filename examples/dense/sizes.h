/* How large may square matrices of doubles be, by memory and by a card's grid? Plain C on
 * the C library alone; all functions may be called from any thread. */
#ifndef DENSE_SIZES_H
#define DENSE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* What a computation of square matrices of order n needs. */
struct dense_size {
    int64_t n;
    double bytes_each; /* 8 n^2 */
    int live;          /* matrices that live at once: C = A + B has 3, 4 with a copy */
    double bytes;      /* of all of them */
    int64_t blocks_y;  /* blocks of 32 rows: a grid has at most 65535 in y */
    bool fits;         /* memory, and the limit of 2^31 - 1 on a dimension */
    bool fits_y;       /* whether a kernel that puts rows into y could run it; mmtune's
                        * count their blocks in x, up to 2^31 - 1 */
};

struct dense_size dense_plan_size(int64_t n, int live, double memory);

/* The greatest order whose `live` matrices fit into so many bytes. */
int64_t dense_largest(int live, double memory);

/* The greatest order by the limits of a grid of 32 x 32 threads a block. The paper takes
 * 2^31 - 1 for the number of all blocks, in two dimensions or in three, where k is split
 * along z and N / 32 is a multiple of 32. A card limits each dimension by itself: y and z
 * to 65535 blocks, x to 2^31 - 1. */
int64_t dense_paper_order(int dimensions);
int64_t dense_grid_order(void);

#endif
