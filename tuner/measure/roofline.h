/* What a device reaches at most, and times that cannot be. docs/lab/measuring.md says the
 * rule for people. */
#ifndef MMT_TUNER_MEASURE_ROOFLINE_H
#define MMT_TUNER_MEASURE_ROOFLINE_H

#include "device/device.h"
#include "profiles/profile.h"

/* Measures a device: chains of FFMA for each type, a copy and a sum over memory, in some
 * rounds after each other. Where clocks and lanes tell a type's peak, and of what cannot
 * be had, the figures stay 0. */
void mmt_probe(mmt_device *device, struct mmt_roofline *out);

/* The best of some rounds' rates, and how far their median is below it, as a part. */
void mmt_roofline_of_rounds(double *rates, int count, double *best, double *spread);

/* Best of old and new, each with its own spread. */
void mmt_roofline_add(struct mmt_roofline *into, const struct mmt_roofline *from);

/* Puts what clocks and lanes tell in the place of peaks that were not measured, and of
 * all peaks where it is exact, as of NVIDIA's cards. */
void mmt_roofline_derive(struct mmt_roofline *roofline, const struct mmt_caps *caps);

/* FLOP/s that nothing exceeds; 0: unknown. A measured peak and its spread; what clock and
 * lanes tell where that is more; of NVIDIA's cards a quarter more than that, as a clock
 * may be higher than the card tells. */
double mmt_roofline_ceiling(const struct mmt_roofline *roofline,
                            const struct mmt_caps *caps, mmt_type type);

/* Seconds of a problem at the roofline; 0: unknown. */
double mmt_roofline_seconds(const struct mmt_roofline *roofline,
                            const mmt_problem *problem);

/* Seconds that nothing beats: those of the ceiling. Where memory bounds a problem, half
 * of it may be found in a GPU's caches; a CPU's say nothing. 0: unknown. */
double mmt_roofline_least(const struct mmt_roofline *roofline,
                          const struct mmt_caps *caps, const mmt_problem *problem);

/* Whether a time beats what was measured by more than its spread, so that it should be
 * measured once more. Never where clocks and lanes tell it exactly. */
bool mmt_roofline_is_exceeded(const struct mmt_roofline *roofline,
                              const struct mmt_caps *caps, const mmt_problem *problem,
                              double seconds);

/* "96 GFLOP/s, 3 % spread"; without the spread where there is none. */
void mmt_roofline_print(double rate, double spread, mmt_type type, struct mmt_text *out);

#endif
