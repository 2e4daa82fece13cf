/* What a kernel puts on the device (load.c), what that should take by the law of time
 * (estimate.c), and how a model that was fitted corrects it (predict.c). docs/lab/law.md
 * derives it; tuner/model/fit.c fits the model. */
#ifndef MMT_COSTMODEL_COSTMODEL_H
#define MMT_COSTMODEL_COSTMODEL_H

#include "profiles/profile.h"

/* What a configuration's launches put on the device. */
struct mmt_load {
    double launches;  /* how many */
    double grid;      /* blocks of the launch that multiplies */
    double blocks;    /* of these, on the busiest multiprocessor */
    double outputs;   /* elements of C in these blocks, on average */
    double steps;     /* of each of these blocks along k, whatever tiles they belong to */
    double bytes;     /* least traffic to memory */
    double workspace; /* bytes */
    double threads;   /* of a block */
    double shared;    /* bytes of shared memory of a block */
    double cycles;    /* where the template counts them; else 0 */
    bool unaligned;   /* the aligned specialisation, where there is one, cannot serve */
    bool c_unaligned; /* it is unaligned, or rows of C begin within a memory sector */
    double tiles;     /* of C, where persistent blocks share them; else 0 */
    int fit; /* blocks that fit on a multiprocessor as far as is known, 0: unknown;
              * registers are not */
};

/* Bytes of an operand's element where a multiprocessor has it: 2 of f32 that matrix units
 * compute. */
int mmt_cost_element(const struct mmt_config *config, mmt_type type);

/* The launch that multiplies: the first that takes both operands and C. Packing takes no
 * C, and what adds partial sums up comes later. */
const struct mmt_launch *mmt_cost_multiplying(const struct mmt_launches *launches);

/* What a configuration should take by the law of time (docs/lab/law.md), in cycles:
 * before anything was built, from its launches alone. Above 0; the problem is normalised,
 * and the configuration serves it. */
double mmt_cost_estimate(const struct mmt_config *config, const mmt_problem *problem,
                         const struct mmt_caps *caps);

/* The same of one that is bound, without a why_not, as all below; and where its load is
 * known. */
double mmt_cost_estimate_bound(const struct mmt_bound *bound);
double mmt_cost_estimate_load(const struct mmt_bound *bound, const struct mmt_load *load);

/* Seconds of so many cycles of an estimate. */
double mmt_cost_seconds(double cycles, const struct mmt_caps *caps);

struct mmt_load mmt_cost_load(const struct mmt_bound *bound);

/* A bound configuration, as a model sees it. */
struct mmt_view {
    double estimate; /* as mmt_cost_estimate_bound */
    float features[MMT_NUM_FEATURES];
};

/* Takes some microseconds, and allocates nothing. */
struct mmt_view mmt_cost_view(const struct mmt_bound *bound);

/* The natural logarithm of the factor by which the model's trees correct the law. */
double mmt_cost_correction(const struct mmt_model *model, const struct mmt_view *view);

#endif
