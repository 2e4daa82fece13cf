/* What a kernel is expected to take for a shape that was never measured. The model, its
 * derivation and its residuals are in docs/cost-model.md; tuner/fit.c fits it. */
#ifndef MMT_RUNTIME_COST_H
#define MMT_RUNTIME_COST_H

#include "profiles/profile.h"

/* Where a size lies between two points of a bend: the first of them, and how far behind
 * it, 0 to 1. Beyond the last point nothing bends further. */
struct mmt_bend_at {
    int first;
    double part;
};

/* A problem on a device, and what of a load it alone says: found once where many kernels
 * are priced for it. */
struct mmt_cost_task {
    const mmt_problem *problem; /* normalised, not empty */
    const struct mmt_caps *caps;
    double bytes;                        /* least traffic to memory */
    double root;                         /* of these, on a GPU; else 0 */
    struct mmt_bend_at at[MMT_NUM_AXES]; /* its m, n and k */
};

/* All that a kernel's cost depends on: what its launches put on the device. */
struct mmt_load {
    double launches;  /* how many */
    double blocks;    /* of the launch that multiplies, on the busiest multiprocessor */
    double cells;     /* elements of C in these blocks, on average */
    double whole;     /* elements of the tiles that cover them, where a kernel computes
                       * whole tiles; else 0 */
    double cut;       /* of these, elements of tiles that C's last column cuts */
    double steps;     /* of each of these blocks along k, whatever tiles they belong to */
    double work;      /* the same, but less where k does not fill them */
    double bytes;     /* least traffic to memory */
    double root;      /* of these, on a GPU; else 0 */
    double workspace; /* bytes; where blocks share tiles, what is added up for one tile */
    double others;    /* blocks of the launches beside it, for a multiprocessor */
    double others_cut; /* of these, blocks that pack an operand's edge */
    double a, b;       /* on a CPU, elements of A and of B for one core; else 0 */
    double cycles;     /* where the template counts them: then they are all that counts;
                        * else 0 */
    struct mmt_bend_at at[MMT_NUM_AXES]; /* m, n and k */
    bool unaligned; /* the aligned text, where there is one, cannot serve */
    bool apart;     /* so it is, or rows of C begin within a piece of memory */
    int fit;        /* blocks that fit on a multiprocessor as far as is known, 0: unknown;
                     * registers are not */
};

/* A knob's value by its name; 0 where the template has none of that name. */
int mmt_cost_knob(const struct mmt_config *config, const char *name);

/* Elements of k that the blocks of one row of blocks advance by in one step: what a
 * block's threads take at once, THREADS_K times WORK_K; or TILE_K; or DEPTH lines; or
 * TILE where a tile is as deep as it is wide; times CLUSTER_K and SPLIT_K, whose parts
 * run side by side; of what is left to the problem, 1; 1 where the template has none of
 * these knobs. */
int mmt_cost_depth(const struct mmt_config *config, mmt_type type);

/* Bytes of an operand's element where a multiprocessor has it: 2 of f32 that matrix units
 * compute. */
int mmt_cost_element(const struct mmt_config *config, mmt_type type);

/* The launch that multiplies: the first that takes both operands and C. Packing takes no
 * C, and what adds partial sums up comes later. */
const struct mmt_launch *mmt_cost_multiplying(const struct mmt_launches *launches);

/* What a configuration should take, before anything was built: from its launch alone, in
 * cycles, roughly; on a CPU, in units of its own template. Above 0; the problem is
 * normalised, and the configuration serves it. */
double mmt_cost_estimate(const struct mmt_config *config, const mmt_problem *problem,
                         const struct mmt_caps *caps);

/* The load of a normalised, non-empty problem that the configuration serves. `depth` is
 * the configuration's; what it leaves to the problem is counted here. */
struct mmt_load mmt_cost_load(const struct mmt_config *config, const mmt_problem *problem,
                              const struct mmt_caps *caps, int depth);

/* The seconds of two things that bound a time and overlap but for the edges: the larger,
 * and a quarter more where they are alike. */
double mmt_cost_bound(double a, double b);

/* Seconds by a cost that was fitted. A load costs no more than a microsecond to find and
 * to price, without allocating. */
double mmt_cost_seconds(const struct mmt_cost *cost, const struct mmt_load *load);

/* The task borrows both; nothing is allocated. */
struct mmt_cost_task mmt_cost_task(const mmt_problem *problem,
                                   const struct mmt_caps *caps);

/* What a kept kernel is expected to take, in seconds, as it serves the task: its
 * configuration with all settled that it leaves to the problem. */
double mmt_cost_price(const struct mmt_kept *kept, const struct mmt_config *settled,
                      const struct mmt_cost_task *task);

/* The same of one problem. */
double mmt_cost_predict(const struct mmt_kept *kept, const mmt_problem *problem,
                        const struct mmt_caps *caps);

#endif
