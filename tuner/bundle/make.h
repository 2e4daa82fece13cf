/* Making a bundle: for each target the problems that are listed, the kernels that they
 * and all other shapes of their kinds take, the binaries of these, one file. */
#ifndef MMT_TUNER_BUNDLE_MAKE_H
#define MMT_TUNER_BUNDLE_MAKE_H

#include "tuner/common/options.h"

/* What is asked for. */
struct mmt_bundle_options {
    const char *device;              /* NULL: none is named */
    struct mmt_words archs;          /* "sm_90", … */
    struct mmt_words profiles;       /* files */
    struct mmt_words shapes, suites; /* with `recorded`: the problems; none of them: all
                                      * that the profiles have */
    bool recorded;
    mmt_op op;
    bool types[MMT_NUM_TYPES], some_types; /* none: f32 of what is listed, and all that
                                            * profiles have */
    struct mmt_epilogue epilogue;
    unsigned transposes; /* of MMT_NN …; 0: nn of what is listed, all of profiles */
    bool ld_padding[2];  /* packed, odd */
    const char *output, *array; /* a bundle, a C file; NULL: not written */
};

struct mmt_bundle_problems {
    mmt_problem *list; /* normalised, folded, not empty, none twice; malloc'ed */
    size_t count;
};

/* The problems that are listed for a device with such caps, whose profile it is. */
mmt_status mmt_bundle_list(const struct mmt_bundle_options *options,
                           const struct mmt_caps *caps, const struct mmt_profile *profile,
                           struct mmt_bundle_problems *out, mmt_error *err);

/* Fills profile->unlisted: for each type and transposes of products that are listed, up
 * to MMT_BUNDLE_MOST_KERNELS kernels for all other shapes, which the law of time chooses.
 */
enum { MMT_BUNDLE_MOST_KERNELS = 24 };
mmt_status mmt_bundle_choose(struct mmt_profile *profile,
                             const struct mmt_bundle_problems *problems, mmt_error *err);

/* Of `rows` kernels, the few with which the mean regret over `cols` problems is least:
 * times[row * cols + col] in seconds, INFINITY where one is not served; best[col] the
 * least that is known. Writes at most `most` rows, the most useful first, and returns how
 * many. */
int mmt_bundle_select(const double *times, const double *best, int rows, int cols,
                      int most, int *selected);

/* A kernel that a target needs. */
struct mmt_bundle_need {
    struct mmt_config config; /* resolved, as its source sees it */
    struct mmt_variant variant;
    struct mmt_hash key;
    int64_t samples; /* of its kind that take it; INT64_MAX: what is listed does */
    struct mmt_binary binary; /* without data: the compiler refuses it */
    mmt_error refusal;
};

struct mmt_bundle_needs {
    struct mmt_bundle_need *list; /* by key; malloc'ed */
    size_t count, capacity;
};

/* Adds what plans of the problems take, then what plans of any other shape of their kinds
 * may take: every form of the unlisted kernels, and of other ops defaults. */
mmt_status mmt_bundle_collect(const struct mmt_profile *profile,
                              const struct mmt_caps *caps,
                              const struct mmt_bundle_problems *problems,
                              struct mmt_bundle_needs *needs, mmt_error *err);
void mmt_bundle_needs_finish(struct mmt_bundle_needs *needs);

/* One kind of device. */
struct mmt_bundle_goal {
    char device[32]; /* what compiles: "null:sm_90", "opencl:pocl-3f2a" */
    unsigned flags;  /* MMT_BUNDLE_PTX … */
    char compiler[64];
    struct mmt_profile *profile; /* what is stored: its caps have no name where any device
                                  * of the architecture will do */
    struct mmt_bundle_problems problems;
    struct mmt_bundle_needs needs;
    double seconds; /* that building took */
};

struct mmt_bundle_goals {
    struct mmt_bundle_goal *list; /* malloc'ed */
    size_t count;
};

/* Which targets there are, with their problems and profiles. */
mmt_status mmt_bundle_set_goals(const struct mmt_bundle_options *options,
                                struct mmt_bundle_goals *goals, mmt_error *err);
void mmt_bundle_goals_finish(struct mmt_bundle_goals *goals);

/* Compiles all that a goal needs, by as many threads as there are cores; what the
 * compiler refuses is said on stderr and left out. */
mmt_status mmt_bundle_build(struct mmt_bundle_goal *goal, mmt_error *err);

/* Adds the file's bytes; and a C file that has them as an array of the name. */
mmt_status mmt_bundle_print(const struct mmt_bundle_goals *goals, struct mmt_text *out,
                            mmt_error *err);
void mmt_bundle_print_array(const struct mmt_text *bundle, const char *path,
                            struct mmt_text *out);

/* Adds the manifest; `part_of` has the part of each kernel, in the order of goals. */
mmt_status mmt_bundle_print_manifest(const struct mmt_bundle_goals *goals,
                                     const unsigned *part_of, struct mmt_text *out,
                                     mmt_error *err);

/* Whether a goal's kernel has a binary. */
static inline bool mmt_bundle_has(const struct mmt_bundle_need *need)
{
    return need->binary.data != NULL;
}

/* The name of a kernel's kind, "f32 nn", with what an epilogue adds. */
void mmt_bundle_print_kind(const struct mmt_variant *variant, struct mmt_text *text);

#endif
