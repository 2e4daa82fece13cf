/* The law of time: cycles that a launch of blocks takes (docs/lab/law.md), and into how
 * many splits k is best cut by them. costmodel/estimate.c asks it for all templates,
 * these for the knobs that are auto. */
#ifndef MMT_TEMPLATES_LAW_H
#define MMT_TEMPLATES_LAW_H

#include "templates/template.h"

/* Of nearly all kernels that multiply by FMAs; and of those that read or write one large
 * matrix once, and do little with it. */
extern const struct mmt_rates mmt_law_usual, mmt_law_streaming;

/* FMAs of four-byte elements that a multiprocessor does in a cycle, without tensor cores.
 */
enum { MMT_LAW_LANES = 128 };

/* A launch of blocks that compute a tile of C each. */
struct mmt_law {
    const struct mmt_rates *rates;
    double m, n;      /* of a block's tile of C */
    double k;         /* that a block goes along */
    double blocks;    /* of the whole batch */
    bool even;        /* persistent blocks share the tiles evenly */
    double threads;   /* of a block */
    double resident;  /* blocks that a multiprocessor has at a time */
    double step;      /* elements of k between two waits */
    double stages;    /* steps that are under way at a time */
    double rate;      /* FMAs of a multiprocessor in a cycle, at best */
    double fetched;   /* bytes of an element of A or B from the L2 cache */
    double stored;    /* words of four bytes that a block leaves */
    double bytes;     /* of the operands, from and to memory */
    double workspace; /* bytes that are written and read again */
    double launches;
};

/* Cycles of the busiest multiprocessor, or of the busiest core, with all launches. */
double mmt_law_cycles(const struct mmt_law *law, const struct mmt_caps *caps);

/* The same launch with k, which is whole, in so many splits of whole steps, each of which
 * leaves so many bytes of partial sums. */
struct mmt_law mmt_law_split(const struct mmt_law *law, int splits, double partial);

/* Cycles of these values, none of which is auto. */
typedef double mmt_law_count(const int *v, const mmt_problem *problem,
                             const struct mmt_caps *caps);

/* Makes SPLIT_K, knob number `at`, the value with which the cycles are least; 1 where
 * nothing is known of the device. `most`: splits that the workspace has room for. */
void mmt_law_choose_splits(int *v, int at, const struct mmt_knob *knob, double most,
                           mmt_law_count *cycles, const mmt_problem *problem,
                           const struct mmt_caps *caps);

/* Blocks that a multiprocessor has at a time, as far as is known; registers are those of
 * a thread, of 32 bits. At least 1. */
int mmt_law_resident(int threads, size_t shared, unsigned registers,
                     const struct mmt_caps *caps);

/* Bytes that memory hands out in a cycle of the multiprocessors, to all of them: by its
 * clock and bus, or where these are not known, as much for each as an H100's has. */
double mmt_law_memory_rate(const struct mmt_caps *caps);

#endif
