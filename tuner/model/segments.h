/* A range of m: at which m its kernels are timed, and which kernels serve which part of
 * it. Arithmetic alone; the run is in ranges.c. */
#ifndef MMT_TUNER_MODEL_SEGMENTS_H
#define MMT_TUNER_MODEL_SEGMENTS_H

#include "profiles/profile.h"

/* Of a range's m, so many at most are tuned by name. */
enum { MMT_RANGE_GOALS = 8 };

/* The m at which a range is timed, ascending: both ends, and between them as many in each
 * octave. In turn they are multiples of a power of two, an eighth to a quarter of them
 * where samples are as far apart, one more than such, and odd. Returns how many. */
int mmt_range_samples(int64_t low, int64_t high, int64_t out[MMT_MOST_RANGE_TIMES]);

/* At most `most` of these, spread evenly, both ends among them. Returns how many. */
int mmt_range_goals(int64_t low, int64_t high, int most, int64_t out[MMT_RANGE_GOALS]);

/* A kernel, and the last sample that it serves. */
struct mmt_part {
    int kernel, last;
};

/* Cuts the samples into at most `most` parts, each with one kernel, so that the mean
 * slowdown against the best at each sample is least, with half a percent for
 * each part. `seconds` has a row of samples for each kernel; INFINITY: it does not serve
 * there. Of equals the first kernel counts. Returns how many parts; 0: no kernels serve
 * all. */
int mmt_range_divide(const double *seconds, int kernels, int samples, int most,
                     struct mmt_part out[MMT_MOST_SEGMENTS]);

/* Where between two samples one kernel gives way to the next: the last m of the former.
 * The multiple of the largest power of two, as tiles end there. */
int64_t mmt_range_break(int64_t sample, int64_t next);

/* The slowdown against the best that was timed which that part (0 to 1) of a segment's
 * m, or with -1 of all, does not exceed: 0.02 for 2 %. 0 where none was timed. */
double mmt_range_slow_down(const struct mmt_range *range, int segment, double part);

#endif
