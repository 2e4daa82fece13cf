/* The ladder of matrix products: what is climbed, and what came of it. */
#ifndef MMT_STUDIES_LADDER_H
#define MMT_STUDIES_LADDER_H

#include "cpu.h"
#include "papers.h"
#include "phases.h"
#include "study.h"

/* One kernel of one paper. */
struct mmt_rung {
    const char *where;     /* the paper's table; "" where it has none for it */
    const char *algorithm; /* as the papers' rows name it; "tuned": what mmtune selects */
    const char *variant;   /* of the papers' rows */
    const char *what;      /* for people */
    const char *configuration; /* %1$d is the block, %2$d the work; NULL: selected */
    int block; /* side of a square of C, or a line's threads: the paper's, halved until
                * the device may have it; 0: n, but at most 1024, as the cached kernels
                * need */
    int least; /* the block is never below; as large as `block`: no other will do */
    int work;  /* elements of C that a thread computes */
    bool square;
};

struct mmt_ladder_paper {
    const char *name, *title;
    const int *sizes;
    int num_sizes, repetitions, cpu_repetitions;
    unsigned types; /* bits 1 << mmt_type */
    const struct mmt_rung *rungs;
    int num_rungs;
    const char *cpu_table; /* where the paper has one core's times */
    bool allocates;        /* its times have allocating in them */
};

extern const struct mmt_ladder_paper mmt_ladder_papers[];
extern const int mmt_ladder_num_papers;

/* One kernel on one device at one size. */
struct mmt_climb {
    const struct mmt_rung *rung;
    mmt_type type;
    int64_t n;
    int device;              /* index into the options' */
    int block;               /* that the device could have; 0: selected */
    char configuration[128]; /* "": selected */
    struct mmt_phases phases;
    double pinned; /* both copies from page-locked memory, seconds, once for each size and
                    * type; NAN: not measured */
    const struct mmt_paper_row *theirs; /* NULL: not printed */
    char why[256];                      /* it was left out for this; "": it ran */
};

/* One core at one size, seconds: means of so many runs; or, where it would have taken too
 * long, what n^3 makes of the size `from`, and no runs. NAN where nothing is known. */
struct mmt_climb_cpu {
    mmt_type type;
    int64_t n;
    double seconds[MMT_CPU_LAYOUTS];
    int runs[MMT_CPU_LAYOUTS];
    int64_t from[MMT_CPU_LAYOUTS];
};

struct mmt_ladder {
    const struct mmt_study_options *options;
    const struct mmt_ladder_paper *paper;
    struct mmt_study_device devices[MMT_STUDY_DEVICES];
    unsigned types; /* of the paper that is climbed, bits 1 << mmt_type */
    int64_t sizes[MMT_STUDY_SIZES];
    int num_sizes;
    struct mmt_climb *climbs;
    int num_climbs;
    struct mmt_climb_cpu *cpus; /* of all papers so far: one core is one core */
    int num_cpus;
    bool measured; /* anything, on any device */
};

/* Seconds as the paper counts them: with copying, and with allocating where it has that;
 * NAN for what was left out, or NULL. */
double mmt_climb_seconds(const struct mmt_ladder *ladder, const struct mmt_climb *climb);

/* The threads of its block, "32x8"; "" where mmtune selected it. */
const char *mmt_climb_threads(const struct mmt_climb *climb, char out[32]);

/* In what the kernel is not the paper's: a smaller block, or chunks; "" where in nothing.
 */
const char *mmt_climb_mark(const struct mmt_climb *climb, char out[128]);

/* NULL where the ladder was not climbed that far. */
const struct mmt_climb *mmt_ladder_find(const struct mmt_ladder *ladder,
                                        const struct mmt_rung *rung, mmt_type type,
                                        int64_t n, int device);
const struct mmt_climb_cpu *mmt_ladder_cpu(const struct mmt_ladder *ladder, mmt_type type,
                                           int64_t n);

/* A climb's card, through the API that tells its lanes: CUDA does, where OpenCL does not.
 * NULL: none tells. */
const struct mmt_study_device *mmt_ladder_card(const struct mmt_ladder *ladder,
                                               const struct mmt_climb *climb);

/* Lanes that multiply and add in a clock, the papers' p; NAN where it is not known. */
double mmt_ladder_lanes(const struct mmt_ladder *ladder, const struct mmt_climb *climb);

/* The rung's plan with the largest block, from the paper's down, that the device may
 * have. Sets what it is. NULL where there is none. The caller frees it. */
mmt_plan *mmt_ladder_plan(const struct mmt_study_device *device, struct mmt_climb *climb,
                          const mmt_problem *problem, mmt_error *err);

/* What the paper has for one core; NULL where it has nothing. */
const struct mmt_paper_row *mmt_ladder_paper_cpu(const struct mmt_ladder *ladder,
                                                 mmt_type type, int64_t n, int layout);

/* ladder_tables.c: prints, saves and draws what was measured. */
mmt_status mmt_ladder_report(const struct mmt_ladder *ladder, mmt_error *err);

/* Says what was left out, and why. */
void mmt_ladder_say_left_out(const struct mmt_ladder *ladder);

/* ladder_forms.c: the paper's tables in the paper's form. */
mmt_status mmt_ladder_forms(const struct mmt_ladder *ladder, mmt_error *err);

/* ladder_figures.c: the paper's figures that are no curves of P over n. */
mmt_status mmt_ladder_figures(const struct mmt_ladder *ladder, mmt_error *err);

/* ladder_questions.c: rates of copies that would pay, orders from which on half of t is
 * computing. */
mmt_status mmt_ladder_questions(const struct mmt_ladder *ladder, mmt_error *err);

/* Refuses --memory that holds no product: MMT_ERROR_ARGUMENT. */
mmt_status mmt_ladder_check_memory(const struct mmt_study_options *options,
                                   mmt_error *err);

/* ladder_limit.c: measures the kernels near the limit of memory, where --memory says how
 * much of it to take, shows them, and adds what the paper concludes. */
mmt_status mmt_ladder_limit(const struct mmt_ladder *ladder, struct mmt_table *claims,
                            mmt_error *err);

/* ladder_claims.c: what the paper concludes, and whether it holds. */
mmt_status mmt_ladder_claims(const struct mmt_ladder *ladder, mmt_error *err);

#endif
