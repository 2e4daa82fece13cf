/* What the papers printed. A figure stays as it was printed; where it is in doubt, the
 * reason and the reading that makes sense stand beside it.
 *
 * zatolokin: Zatolokin, Vatutin, Titov, 2017, doi 10.21869/2223-1560-2017-21-5-06-15.
 * Five kernels in CUDA and OpenCL on a GeForce GTX 960M; times with copying. semenenko:
 * Semenenko, Sesok, 2017. Array addition, bank conflicts and work per thread on a GeForce
 * GTX 1060 and a Quadro K5000. gts250: "Study of the efficiency of general-purpose
 * computing on a graphics processor". A GeForce GTS 250 beside one core of a Core 2 Duo;
 * times with copying and allocating. */
#ifndef MMT_STUDIES_PAPERS_H
#define MMT_STUDIES_PAPERS_H

#include <stdbool.h>

#include <mmtune/mmtune.h>

enum mmt_grade {
    MMT_SURPRISING, /* but it may be right: it is compared as any other */
    MMT_DOUBTFUL,   /* it may be wrong */
    MMT_IMPOSSIBLE, /* as it is printed: a unit or a digit is lost, or no device can do it
                     */
};

struct mmt_doubt {
    enum mmt_grade grade;
    bool time, rate; /* which of the row's figures is compared with nothing; `time` is
                      * also its difference or speed-up. Neither: the row stands at the
                      * reading that makes sense, and is compared */
    const char *why, *reading; /* reading: what makes sense instead; NULL: not known */
};

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
    const struct mmt_doubt *doubt; /* NULL: none */
};

/* All of them; *count gets how many. */
const struct mmt_paper_row *mmt_paper_rows(int *count);

/* "surprising", "doubtful", "impossible". */
const char *mmt_grade_name(enum mmt_grade grade);

/* Why the row's time, and why its rate, is not to be compared with; NULL where it is. A
 * rate that is not printed follows from the time. */
const struct mmt_doubt *mmt_paper_time_doubt(const struct mmt_paper_row *row);
const struct mmt_doubt *mmt_paper_rate_doubt(const struct mmt_paper_row *row);

/* The first row that fits; NULL in a word fits any, n = 0 fits any. NULL where none does.
 */
const struct mmt_paper_row *mmt_paper_find(const struct mmt_paper_row *wanted);

#endif
