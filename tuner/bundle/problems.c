/* Which problems a bundle is asked for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/peak.h"
#include "recording/counts.h"
#include "tuner/bundle/make.h"
#include "tuner/common/suites.h"

static bool is_listed(const struct mmt_bundle_problems *problems,
                      const mmt_problem *problem)
{
    for (size_t i = 0; i < problems->count; i++)
        if (mmt_problem_equal(&problems->list[i], problem))
            return true;
    return false;
}

static mmt_status add_problem(struct mmt_bundle_problems *problems,
                              const mmt_problem *given, mmt_error *err)
{
    mmt_problem problem;
    mmt_status status = mmt_problem_normalise(given, &problem, err);
    if (status)
        return status;
    problem = mmt_problem_fold(&problem);
    if (!mmt_problem_extent_c(&problem) || is_listed(problems, &problem))
        return MMT_OK;
    mmt_problem *grown =
        reallocarray(problems->list, problems->count + 1, sizeof *problems->list);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu problems",
                        problems->count + 1);
    problems->list = grown;
    problems->list[problems->count++] = problem;
    return MMT_OK;
}

/* ---- shapes ---------------------------------------------------------------------- */

static unsigned transposes_of(const struct mmt_bundle_options *options)
{
    return options->transposes && options->op == MMT_GEMM ? options->transposes : MMT_NN;
}

/* A shape with the transposes of `bit`, as each asked layout has it. */
static mmt_status add_layouts(const struct mmt_bundle_options *options, mmt_type type,
                              const struct mmt_shape *shape, unsigned bit,
                              struct mmt_bundle_problems *out, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int odd = 0; odd < 2 && !status; odd++) {
        mmt_problem problem = mmt_shape_problem(options->op, type, shape);
        problem.trans_a = bit & (MMT_TN | MMT_TT) ? MMT_T : MMT_N;
        problem.trans_b = bit & (MMT_NT | MMT_TT) ? MMT_T : MMT_N;
        mmt_epilogue_apply(&options->epilogue, &problem);
        if (odd)
            mmt_ld_padding_apply(&problem);
        if (options->ld_padding[odd] || (!odd && !options->ld_padding[1]))
            status = add_problem(out, &problem, err);
    }
    return status;
}

static mmt_status add_shape(const struct mmt_bundle_options *options,
                            const struct mmt_shape *shape,
                            struct mmt_bundle_problems *out, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        for (unsigned bit = MMT_NN; bit <= MMT_TT && !status; bit <<= 1)
            if ((options->some_types ? options->types[type] : type == MMT_F32) &&
                transposes_of(options) & bit)
                status = add_layouts(options, (mmt_type) type, shape, bit, out, err);
    return status;
}

static mmt_status add_suite(const struct mmt_bundle_options *options,
                            const struct mmt_caps *caps, const char *name,
                            struct mmt_bundle_problems *out, mmt_error *err)
{
    struct mmt_shape usual[MMT_DEFAULT_SHAPES];
    const struct mmt_shape *shapes = usual;
    int count = MMT_DEFAULT_SHAPES;
    mmt_status status = MMT_OK;

    if (strcmp(name, "default")) {
        const struct mmt_suite *suite = mmt_suite_find(name, err);
        if (!suite)
            return MMT_ERROR_ARGUMENT;
        shapes = suite->shapes, count = suite->count;
    } else if (options->op != MMT_GEMM) {
        count = mmt_suite_of_op(options->op, caps->memory, usual);
    } else {
        mmt_suite_default(mmt_derived_peak(caps, MMT_F32), usual);
    }
    for (int i = 0; i < count && !status; i++)
        status = add_shape(options, &shapes[i], out, err);
    return status;
}

static mmt_status add_named(const struct mmt_bundle_options *options,
                            const struct mmt_caps *caps, struct mmt_bundle_problems *out,
                            mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; i < options->shapes.count && !status; i++) {
        struct mmt_shape shape;
        status = mmt_option_shape(options->shapes.each[i], options->op, &shape, err);
        if (!status)
            status = add_shape(options, &shape, out, err);
    }
    for (int i = 0; i < options->suites.count && !status; i++)
        status = add_suite(options, caps, options->suites.each[i], out, err);
    return status;
}

/* ---- what is known of a device --------------------------------------------------- */

static unsigned bit_of(const mmt_problem *problem)
{
    return problem->trans_a ? (problem->trans_b ? MMT_TT : MMT_TN)
                            : (problem->trans_b ? MMT_NT : MMT_NN);
}

static bool is_asked(const struct mmt_bundle_options *options, const mmt_problem *problem)
{
    return problem->op == options->op &&
           (!options->some_types || options->types[problem->type]) &&
           (!options->transposes || options->transposes & bit_of(problem));
}

static mmt_status add_recorded(const struct mmt_bundle_options *options,
                               const struct mmt_caps *caps,
                               struct mmt_bundle_problems *out, mmt_error *err)
{
    struct mmt_recording recording = { 0 };
    struct mmt_text stem = { 0 }, path = { 0 };
    mmt_profile_stem(caps, &stem);
    mmt_status status = mmt_recording_read_device(mmt_text_string(&stem), NULL, false,
                                                  &path, &recording, err);
    for (size_t i = 0; i < recording.count && !status; i++)
        if (is_asked(options, &recording.list[i].call.problem))
            status = add_problem(out, &recording.list[i].call.problem, err);
    if (status == MMT_ERROR_NOT_FOUND)
        mmt_fail(err, status,
                 "nothing was recorded on this device: there is no '%s'; `mmtune run "
                 "--record -- PROGRAM` makes it",
                 mmt_text_string(&path));
    mmt_recording_free(&recording);
    mmt_text_finish(&stem);
    mmt_text_finish(&path);
    return status;
}

/* Its entries that were tuned there, and of ranges the m at which their kernels were
 * timed. */
static mmt_status add_tuned(const struct mmt_bundle_options *options,
                            const struct mmt_profile *profile,
                            struct mmt_bundle_problems *out, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < profile->num_entries && !status; i++)
        if (!*profile->entries[i].source &&
            is_asked(options, &profile->entries[i].problem))
            status = add_problem(out, &profile->entries[i].problem, err);
    for (size_t i = 0; i < profile->num_ranges && !status; i++)
        if (is_asked(options, &profile->ranges[i].problem))
            status = add_problem(out, &profile->ranges[i].problem, err);
    return status;
}

mmt_status mmt_bundle_list(const struct mmt_bundle_options *options,
                           const struct mmt_caps *caps, const struct mmt_profile *profile,
                           struct mmt_bundle_problems *out, mmt_error *err)
{
    const bool named = options->shapes.count || options->suites.count;
    mmt_status status = add_named(options, caps, out, err);
    if (!status && options->recorded)
        status = add_recorded(options, caps, out, err);
    if (!status && !named && !options->recorded && profile)
        status = add_tuned(options, profile, out, err);
    if (!status && !out->count)
        status = mmt_fail(err, MMT_ERROR_ARGUMENT,
                          "nothing is listed for %s: name shapes by --shape or --suite, "
                          "or a --profile that has such problems",
                          caps->architecture);
    return status;
}
