/* `mmtune bench`: our kernels and other libraries' in one run, in turn, on the same data.
 *
 * options.c reads the options, bench.c walks the problems, run.c measures one
 * problem (yardstick.c has it do so beside a tuning run), print.c and data.c
 * say what came out. */
#ifndef MMT_TUNER_BENCH_BENCH_H
#define MMT_TUNER_BENCH_BENCH_H

#include <math.h>
#include <stdio.h>

#include "tuner/bench/reference.h"
#include "tuner/measure/stats.h"
#include "tuner/common/options.h"

/* Who is measured: our own kernels come first, then each way of each reference. */
enum { MMT_MOST_CONTESTANTS = 8 };

struct mmt_contestant {
    const struct mmt_reference *reference;
    void *self;
    int way;
    const char *name; /* "mmtune", "cublas first" */
};

/* What became of one contestant on one problem. */
struct mmt_bench_time {
    char reason[1024];       /* why there is no time; "" where there is one */
    bool wrong;              /* it computes wrongly; then there is no time either */
    char what[1024];         /* which of its kernels was measured */
    struct mmt_summary time; /* seconds of one product */
    int samples;
    double ratio;      /* mmtune's speed-up over it; 0: unknown */
    bool tie;          /* the confidence intervals of both times overlap */
    double difference; /* largest difference between an entry of its C and of ours */
};

struct mmt_bench_row {
    mmt_problem problem; /* normalised */
    char reason[1024];   /* why nothing was measured; "" where something was */
    struct mmt_bench_time times[MMT_MOST_CONTESTANTS];
    struct mmt_health health; /* just after samples were taken */
    bool has_health;
};

/* A library that was asked for. */
struct mmt_bench_reference {
    const struct mmt_reference *reference;
    void *self;      /* NULL: it does not open */
    char what[1024]; /* its version; why it does not open */
};

enum { MMT_MOST_REFERENCES = 4 };

/* How thoroughly a problem is measured. */
struct mmt_bench_pace {
    double seconds;        /* for one contestant on one problem */
    double sample_seconds; /* one sample takes that at least */
    int least_samples;
    double
        trying; /* seconds that a library may try out and choose for; may be INFINITY */
    /* A session that stands already, of the only problem; NULL: each has its own. In it
     * whole C are compared only where they are small, and on a device that is throttled
     * nobody runs isolated: both take longer than the rest. */
    struct mmt_session *session;
};
#define MMT_BENCH_PACE                                                                   \
    ((struct mmt_bench_pace){                                                            \
        .seconds = 1, .sample_seconds = 1e-2, .least_samples = 7, .trying = INFINITY })

struct mmt_bench {
    mmt_device *device;
    mmt_profile *profile;      /* NULL: the defaults */
    const char *profile_name;  /* its file; NULL: found in its usual place, or none */
    bool no_profile;           /* the defaults, whatever there is */
    const char *configuration; /* NULL: as the profile says */
    const struct mmt_config *config; /* the same by itself, of one problem; NULL: none */
    mmt_effort effort;               /* of our plans */
    const char *parameters;          /* a folder, for references that read it; or NULL */
    struct mmt_bench_reference references[MMT_MOST_REFERENCES];
    int num_references;
    struct mmt_contestant contestants[MMT_MOST_CONTESTANTS];
    int num_contestants;
    struct mmt_bench_pace pace;
    uint64_t seed;
    struct mmt_bench_row *rows;
    int num_rows;
    struct mmt_text json[2]; /* of --json: of an even and of an odd number of rows */
};

/* ---- ours.c ---------------------------------------------------------------------- */

/* Enters our own kernels as a contestant, in the form of a reference. */
mmt_status mmt_bench_enter_ours(struct mmt_bench *bench, mmt_error *err);

/* ---- run.c ----------------------------------------------------------------------- */

/* Enters each way of an open library as a contestant. */
void mmt_bench_enter(struct mmt_bench *bench, const struct mmt_reference *reference,
                     void *self);

/* Checks and measures all contestants on row->problem. What goes wrong is in the row. */
void mmt_bench_measure(struct mmt_bench *bench, struct mmt_bench_row *row);

/* ---- print.c --------------------------------------------------------------------- */

void mmt_bench_print_head(const struct mmt_bench *bench);
void mmt_bench_print_row(const struct mmt_bench *bench, const struct mmt_bench_row *row);
void mmt_bench_print_means(const struct mmt_bench *bench);
mmt_status mmt_bench_print_json(const struct mmt_bench *bench, struct mmt_text *out,
                                mmt_error *err); /* replaces *out */
mmt_status mmt_bench_write_csv(const struct mmt_bench *bench, const char *path,
                               mmt_error *err);

/* The geometric mean of a contestant's ratios for one type. */
struct mmt_bench_mean {
    int count; /* problems that it is over */
    double mean;
    const struct mmt_bench_row *worst, *best;
    double worst_ratio, best_ratio;
};
struct mmt_bench_mean mmt_bench_mean_of(const struct mmt_bench *bench, int contestant,
                                        mmt_type type);

#endif
