/* What a launch of blocks that each go along a split of k takes, and into how many k is
 * best split: the knob SPLIT_K where it is auto. */
#ifndef MMT_TEMPLATES_SPLIT_H
#define MMT_TEMPLATES_SPLIT_H

#include "templates/template.h"

/* Cycles of a launch that adds up what one launch has left, as a GPU has it, and bytes of
 * that which a multiprocessor takes in a cycle. */
enum { MMT_SPLIT_ADDING = 4000, MMT_SPLIT_ADDED = 17 };

/* A launch where k is whole, as a GPU has it: what a CPU makes of it is found here.
 * Cycles are a multiprocessor's, and need be right within a factor of two. */
struct mmt_split {
    double tiles;   /* blocks: tiles of C, of the whole batch */
    double steps;   /* of each along k */
    int resident;   /* blocks that a multiprocessor has at a time */
    double step;    /* cycles for which a block's step keeps a multiprocessor busy */
    double latency; /* cycles that a step takes a block, however little runs beside it */
    double block;   /* cycles for which a block keeps it busy besides its steps */
    double round;   /* steps for which a block stages an operand at a time; 0: it never
                     * waits for that, or what it waits is part of a step's latency */
    double staging; /* cycles that such a round takes a block */
    double memory;  /* cycles that memory takes to hand out the operands */
    double ramp;    /* cycles that this takes longer, whatever else is done meanwhile */
    double adding;  /* cycles of a further launch that adds splits up, and of its way to
                     * the first one's accumulators; on a CPU that is known here */
    double accumulators; /* bytes that all blocks of a split leave in the workspace */
    double added; /* of these, what a multiprocessor leaves and adds up in a cycle; on a
                   * CPU that is known here */
    double most;  /* splits that it has room for */
};

/* Blocks that a multiprocessor has at a time, as far as is known; registers are those of
 * a thread, of 32 bits. At least 1. */
int mmt_split_resident(int threads, size_t shared, unsigned registers,
                       const struct mmt_caps *caps);

/* Cycles of so many blocks of one multiprocessor, `resident` at a time: each takes
 * `latency`, however little runs beside it, and keeps it busy for so long. Those that are
 * there together wait side by side, and keep it busy one after the other. */
double mmt_split_waves(double blocks, int resident, double latency, double busy);

/* Bytes that memory hands out in a cycle of the multiprocessors, to all of them: by its
 * clock and bus, or where these are not known, as much for each as an H100's has. */
double mmt_split_memory_rate(const struct mmt_caps *caps);

/* Cycles that so many splits should take, with what adds them up and without the first
 * launch. Something must be known of the device: caps->sms. */
double mmt_split_cycles(const struct mmt_split *split, int splits,
                        const struct mmt_caps *caps);

/* The knob's value that should take least: 1 where nothing is known of the device, or C
 * alone fills it. */
int mmt_split_count(const struct mmt_split *split, const struct mmt_knob *knob,
                    const struct mmt_caps *caps);

#endif
