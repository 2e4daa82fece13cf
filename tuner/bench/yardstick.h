/* The yardstick: the vendor's library of a device, timed beside a tuning run's winners,
 * and what a profile's records of that add up to.
 *
 * It is cuBLAS for CUDA, CLBlast for other GPUs, and OpenBLAS for CPUs. Opened and run by
 * workers alone: a library that crashes or hangs takes no more than its record along. */
#ifndef MMT_TUNER_BENCH_YARDSTICK_H
#define MMT_TUNER_BENCH_YARDSTICK_H

#include "profiles/profile.h"
#include "tuner/bench/reference.h"

/* NULL where a device has none: one that executes nothing. */
const struct mmt_reference *mmt_yardstick_of(const struct mmt_caps *caps);

/* ---- measuring -------------------------------------------------------------------- */

/* Medians in seconds; 0: there is none. */
struct mmt_yardstick_times {
    double ours, ways[MMT_MAX_WAYS];
};

/* Times a configuration and each way of an open library in turn, on a session's rotated
 * operands, for `seconds` in all; the library may try out its algorithms for a third as
 * long before. Fails with what went wrong first. */
mmt_status mmt_yardstick_measure(const struct mmt_reference *reference, void *self,
                                 struct mmt_session *session,
                                 const struct mmt_config *config, double seconds,
                                 struct mmt_yardstick_times *out, mmt_error *err);

/* What it takes of a problem, unless single products are long. */
#define MMT_YARDSTICK_SECONDS 0.3

/* Products of one contestant that it takes at least. */
enum { MMT_YARDSTICK_LEAST = 6 };

/* ---- what records add up to ------------------------------------------------------ */

/* Speed-ups over the library's first algorithm. Start from {0}. */
struct mmt_standing {
    const struct mmt_yardstick *any; /* one of the records; NULL: there is none */
    bool several;                    /* they are of several versions */
    int count, slower;               /* slower: the speed-up is below 1 */
    double sum, worst;               /* sum: of natural logarithms */
    const mmt_problem *worst_problem;
};

/* Takes in an entry; one without a record changes nothing. */
void mmt_standing_add(struct mmt_standing *standing, const struct mmt_entry *entry);

/* The geometric mean; at least one record must be there. */
double mmt_standing_mean(const struct mmt_standing *standing);

/* Adds the library's name, with its version where all records are of one. */
void mmt_standing_library(const struct mmt_standing *standing, struct mmt_text *text);

/* Adds "speed-up over cuBLAS 12.8.4: geometric mean 1.031, worst 0.912 (gemm f32 nn
 * 64x64x64), slower on 5 of 30 problems"; at least one record must be there. */
void mmt_standing_print(const struct mmt_standing *standing, struct mmt_text *text);

#endif
