/* The ladder of matrix products: what is climbed, and what came of it. */
#ifndef MMT_TUNER_STUDY_LADDER_H
#define MMT_TUNER_STUDY_LADDER_H

#include "tuner/study/cpu.h"
#include "tuner/study/papers.h"
#include "tuner/study/phases.h"
#include "tuner/study/study.h"

/* One kernel of one paper. */
struct mmt_rung {
    const char *where;     /* the paper's table; "" where it has none for it */
    const char *algorithm; /* as the papers' rows name it; "tuned": what mmtune chooses */
    const char *variant;   /* of the papers' rows */
    const char *what;      /* for people */
    const char *configuration; /* %d is the block: n, but at most 1024; NULL: chosen */
};

struct mmt_ladder_paper {
    const char *name, *title;
    const int *sizes;
    int num_sizes, repetitions;
    unsigned types; /* bits 1 << mmt_type */
    const struct mmt_rung *rungs;
    int num_rungs;
    const char *cpu_table; /* where the paper has one core's times */
};

extern const struct mmt_ladder_paper mmt_ladder_papers[];
extern const int mmt_ladder_num_papers;

/* One kernel on one device at one size. */
struct mmt_climb {
    const struct mmt_rung *rung;
    mmt_type type;
    int64_t n;
    int device; /* index into the options' */
    struct mmt_phases phases;
    const struct mmt_paper_row *theirs; /* NULL: not printed */
    char why[256];                      /* it was left out for this; "": it ran */
};

/* One core at one size: seconds, NAN where left out. */
struct mmt_climb_cpu {
    mmt_type type;
    int64_t n;
    double seconds[MMT_CPU_LAYOUTS];
};

struct mmt_ladder {
    const struct mmt_study_options *options;
    const struct mmt_ladder_paper *paper;
    struct mmt_study_device devices[MMT_STUDY_DEVICES];
    struct mmt_climb *climbs;
    int num_climbs;
    struct mmt_climb_cpu *cpus;
    int num_cpus;
};

/* ladder_tables.c: prints, saves and draws. */
mmt_status mmt_ladder_report(const struct mmt_ladder *ladder, mmt_error *err);

#endif
