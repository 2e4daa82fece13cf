/* How a claim about kernels of the ladder is judged: by times of one device, the paper's
 * t with copying, and computing alone in a row of its own; each with its noise. */
#ifndef MMT_STUDIES_LADDER_JUDGE_H
#define MMT_STUDIES_LADDER_JUDGE_H

#include "claims.h"
#include "ladder.h"

/* Where claims are judged: one device's climbs of one paper. */
struct mmt_judge {
    const struct mmt_ladder *ladder;
    struct mmt_table *claims;
    int device;
};

/* One kernel and type; `kernel` counts computing alone, by the device's clock. */
struct mmt_subject {
    const char *algorithm, *variant; /* algorithm NULL: one core, A*B */
    mmt_type type;
    bool kernel;
};

/* t of `slow` over t of `fast` lies between `least` and `most`, at `n` or, where that is
 * 0, at the largest size that both were climbed at. */
struct mmt_versus {
    struct mmt_claim claim;
    struct mmt_subject slow, fast;
    int64_t n;
    double least, most;
};

const char *mmt_judge_id(const struct mmt_judge *j);

/* NULL where it was not climbed. */
const struct mmt_climb *mmt_judge_climb(const struct mmt_judge *j, const char *algorithm,
                                        const char *variant, mmt_type type, int64_t n);

/* NAN where it was not climbed. */
double mmt_judge_seconds(const struct mmt_judge *j, const struct mmt_subject *s,
                         int64_t n);

/* t of the first over t of the second; NAN where one of them was not climbed. */
double mmt_judge_gain(const struct mmt_judge *j, const struct mmt_subject *slow,
                      const struct mmt_subject *fast, int64_t n);

/* Two standard errors of that ratio, over it: of one run and one core NAN and 0. */
double mmt_judge_noise(const struct mmt_judge *j, const struct mmt_subject *slow,
                       const struct mmt_subject *fast, int64_t n);

/* " +- 3 %": as it stands behind a figure; "" where it is not known. */
const char *mmt_judge_print_noise(double noise, char out[16]);

/* The largest size at which both were climbed; 0 where none. */
int64_t mmt_judge_largest(const struct mmt_judge *j, const struct mmt_subject *a,
                          const struct mmt_subject *b);

void mmt_judge_versus(const struct mmt_judge *j, const struct mmt_versus *v);

/* The kernel, which one with a cure of bank conflicts may stand for, is faster than all
 * others that have a table in the paper. */
void mmt_judge_best(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *best);

/* One core's t over the kernel's lies between both at every size. */
void mmt_judge_core(const struct mmt_judge *j, const struct mmt_claim *claim,
                    const struct mmt_subject *fast, double least, double most);

#endif
