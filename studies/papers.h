/* What the papers printed. A figure that cannot be right stays as it was printed, with
 * the reason beside it, and is never taken for the truth.
 *
 *   zatolokin    Zatolokin, Vatutin, Titov, 2017, doi 10.21869/2223-1560-2017-21-5-06-15:
 *                five kernels in CUDA and OpenCL on a GeForce GTX 960M; times with
 * copying semenenko    Semenenko, Sesok, 2017: array addition, bank conflicts and work
 * per thread on a GeForce GTX 1060 and a Quadro K5000 gts250       "Study of the
 * efficiency of general-purpose computing on a graphics processor": a GeForce GTS 250
 * beside one core of a Core 2 Duo */
#ifndef MMT_STUDIES_PAPERS_H
#define MMT_STUDIES_PAPERS_H

#include <mmtune/mmtune.h>

struct mmt_paper_row {
    const char *paper, *where, *device, *api; /* api: "cpu", "cuda", "opencl" */
    mmt_type type;
    const char *algorithm; /* naive, col_cached, row_cached, tiled, tiled_ilp,
                            * shared_conflict, shared_padded, shared_index_swap,
                            * array_add */
    const char *variant;   /* work per thread; phase (h2d, kernel, d2h, total, compute);
                            * layout (A*B, A^T*B, A*B^T); "" */
    int64_t n;
    double seconds, gflops; /* 0: not printed */
    double other;           /* a difference or an overhead in seconds, a speed-up, an
                             * efficiency; 0: none */
    const char *suspect;    /* why it cannot be right; NULL: nothing is known */
};

/* All of them; *count gets how many. */
const struct mmt_paper_row *mmt_paper_rows(int *count);

/* The first row that fits; NULL in a word fits any, n = 0 fits any. NULL where none does.
 */
const struct mmt_paper_row *mmt_paper_find(const struct mmt_paper_row *wanted);

#endif
