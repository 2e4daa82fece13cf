/* Makes a plan: selects a configuration, builds its kernels, and falls back to the next
 * where a driver refuses one. It executes nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "runtime/plan.h"

void mmt_plan_options_init(mmt_plan_options *out, size_t size)
{
    const mmt_plan_options options = { .max_workspace = SIZE_MAX };
    mmt_struct_fill(out, size, &options, sizeof options);
}

enum { MOST_SECONDS = 24 * 60 * 60 }; /* that a plan may measure */

/* ---- planning -------------------------------------------------------------------- */

static mmt_status read_options(const mmt_plan_options *given, mmt_plan_options *out,
                               mmt_error *err)
{
    *out = mmt_plan_defaults();
    if (!given)
        return MMT_OK;
    mmt_status status =
        mmt_struct_read(out, sizeof *out, offsetof(mmt_plan_options, configuration),
                        given, "mmt_plan_options", "mmt_plan_defaults", err);
    if (status)
        return status;
    if (out->f32_mode != MMT_F32_EMULATED && out->f32_mode != MMT_F32_STRICT)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_F32_MODE,
            "mmt_plan_options.f32_mode is %d; it must be MMT_F32_EMULATED or "
            "MMT_F32_STRICT",
            (int) out->f32_mode);
    if (!(out->measure_seconds >= 0 && out->measure_seconds <= MOST_SECONDS))
        return mmt_fail_argument(
            err, MMT_ARGUMENT_MEASURE_SECONDS,
            "mmt_plan_options.measure_seconds is %g; it must be from 0, which is the "
            "usual time, to %d",
            out->measure_seconds, MOST_SECONDS);
    if (out->effort != MMT_EFFORT_ESTIMATE && out->effort != MMT_EFFORT_MEASURE)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_EFFORT,
            "mmt_plan_options.effort is %d; it must be MMT_EFFORT_ESTIMATE or "
            "MMT_EFFORT_MEASURE",
            (int) out->effort);
    return MMT_OK;
}

static struct mmt_terms terms_of(const struct mmt_plan *plan,
                                 const mmt_plan_options *options)
{
    return (struct mmt_terms){ options->max_workspace,
                               options->f32_mode == MMT_F32_STRICT, plan->refused,
                               plan->num_refused, plan->in };
}

static bool is_given(const struct mmt_plan *plan)
{
    return plan->selection.why == MMT_SELECTION_GIVEN;
}

/* Takes the caller's configuration, if it can run. */
static mmt_status take_given(struct mmt_plan *plan, const struct mmt_config *given,
                             const mmt_plan_options *options, mmt_error *err)
{
    const struct mmt_caps *caps = &plan->caps;
    const char *refusal = mmt_config_check_problem(given, &plan->problem, caps);
    struct mmt_text text = { 0 };

    if (refusal) {
        mmt_config_print(given, &text);
        mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s cannot run %s: %s", caps->name,
                 options->configuration ? options->configuration : mmt_text_string(&text),
                 refusal);
        mmt_text_finish(&text);
        return mmt_blame(err, MMT_ERROR_UNSUPPORTED, MMT_ARGUMENT_CONFIGURATION);
    }
    plan->selection = (struct mmt_selection){
        .config = mmt_config_within(given, &plan->problem, caps, options->max_workspace),
        .why = MMT_SELECTION_GIVEN,
        .layer = -1,
    };
    return MMT_OK;
}

static mmt_status select_kernel(struct mmt_plan *plan, const mmt_profile *profile,
                                const mmt_plan_options *options, mmt_error *err)
{
    const struct mmt_caps *caps = &plan->caps;
    char why[512];

    if (profile && !options->foreign_profile && mmt_profile_foreign(profile, caps, why))
        return mmt_fail_argument(err, MMT_ARGUMENT_PROFILE,
                                 "%s; set foreign_profile to use it all the same", why);
    const struct mmt_terms terms = terms_of(plan, options);
    mmt_status status =
        options->effort == MMT_EFFORT_MEASURE
            ? mmt_select_cached(profile, &plan->problem, caps, &terms, &plan->selection,
                                err)
            : mmt_select_built(plan->device, profile, &plan->problem, caps, &terms,
                               options->aligned_only, &plan->selection, err);
    if (!status && !mmt_selection_is_known(&plan->selection))
        mmt_record_unserved(caps, &plan->problem, options->max_workspace);
    if (!status && options->effort == MMT_EFFORT_MEASURE &&
        !mmt_selection_is_known(&plan->selection))
        mmt_measure_selection(plan->device, caps, profile, &plan->problem, &terms,
                              options, &plan->selection, &plan->unmeasured);
    return status;
}

/* The kernel for operands that the selected one cannot take: the same configuration's, or
 * where it has none that of the best one for rows that are aligned nowhere. Few programs
 * come there, and none shall find room for it: it has the selected one's workspace. */
static mmt_status build_any(struct mmt_plan *plan, const mmt_profile *profile,
                            const mmt_plan_options *options, struct mmt_config *tried,
                            mmt_error *err)
{
    const struct mmt_caps *caps = &plan->caps;
    struct mmt_terms terms = terms_of(plan, options);
    struct mmt_selection other;
    struct mmt_bound bound;
    mmt_problem odd = plan->problem;

    if (plan->bound.has_any)
        return mmt_kernel_create(plan->device, &plan->bound, false, plan->in, &plan->any,
                                 err);
    odd.lda++, odd.ldb++, odd.ldc++;
    terms.max_workspace = mmt_kernel_workspace(plan->aligned);
    mmt_status status =
        mmt_select_built(plan->device, profile, &odd, caps, &terms, false, &other, err);
    if (status != MMT_OK)
        return status;
    *tried = mmt_config_resolve(&other.config, &odd, caps);
    mmt_bind_known(&other.config, &plan->problem, caps, &bound);
    return mmt_kernel_create(plan->device, &bound, false, plan->in, &plan->any, err);
}

/* `tried` gets the configuration, resolved, of which the kernel was built last. */
static mmt_status build_kernels(struct mmt_plan *plan, const mmt_profile *profile,
                                const mmt_plan_options *options, struct mmt_config *tried,
                                mmt_error *err)
{
    const struct mmt_config *config = &plan->selection.config;
    mmt_status status = MMT_OK;
    bool aligned;

    mmt_bind_known(config, &plan->problem, &plan->caps, &plan->bound);
    *tried = plan->bound.config;
    mmt_bound_serves(&plan->bound, plan->call ? plan->call->alignment : 0, &aligned);
    if (plan->problem.batch_by == MMT_BY_POINTERS && !plan->call)
        aligned &= options->aligned_only;
    if (aligned)
        status = mmt_kernel_create(plan->device, &plan->bound, true, plan->in,
                                   &plan->aligned, err);
    if (status == MMT_OK && !(plan->aligned && (options->aligned_only || plan->call)))
        status = build_any(plan, profile, options, tried, err);
    return status;
}

/* Where what was measured comes from, and what was other than here, though the kind of
 * device is the same. */
static void describe_layer(const struct mmt_plan *plan, const mmt_profile *profile,
                           const char *foreign, struct mmt_text *text)
{
    const struct mmt_layer *layer = mmt_selection_layer(profile, &plan->selection);
    if (!layer)
        return;
    const char *card = mmt_caps_other_card(&layer->caps, &plan->caps);
    if (profile->num_layers > 1)
        mmt_text_addf(text, ", from %s", layer->path);
    if (strcmp(layer->caps.driver, plan->caps.driver))
        mmt_text_addf(text, ", measured under driver %s, which is %s now",
                      layer->caps.driver, plan->caps.driver);
    if (card && !foreign)
        mmt_text_addf(text, ", measured on %s", card);
}

/* Whether it may be this kernel alone that the driver does not take. */
static bool is_refusal(mmt_status status)
{
    return status == MMT_ERROR_COMPILE || status == MMT_ERROR_UNSUPPORTED ||
           status == MMT_ERROR_FORMAT || status == MMT_ERROR_DEVICE;
}

/* Begins the error with the configuration that it is about. */
static void name_configuration(const struct mmt_config *config, mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_config_print(config, &text);
    mmt_text_addf(&text, ": %s", err->text);
    snprintf(err->text, sizeof(err->text), "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
}

static void drop_kernels(struct mmt_plan *plan)
{
    mmt_kernel_free(plan->aligned);
    mmt_kernel_free(plan->any);
    plan->aligned = plan->any = NULL;
}

/* Notes that `tried` was refused, and why, where it is the first. */
static void note_refusal(struct mmt_plan *plan, const struct mmt_config *tried,
                         const mmt_error *why)
{
    if (!plan->num_refused)
        plan->refusal = *why;
    plan->refused[plan->num_refused++] = *tried;
    mmt_device_say(plan->device, "the driver refuses a kernel: %s", why->text);
    drop_kernels(plan);
}

/* At last the kernel that asks least of a driver, if it was not refused. */
static mmt_status select_last(struct mmt_plan *plan)
{
    plan->selection = (struct mmt_selection){ .why = MMT_SELECTION_DEFAULT, .layer = -1 };
    return mmt_config_last(&plan->problem, &plan->caps, &plan->selection.config)
               ? MMT_OK
               : MMT_ERROR_UNSUPPORTED;
}

/* A kernel that the driver refuses is replaced by the next best one, unless the caller
 * named it. Where all are refused, the error is that of the first. */
static mmt_status select_and_build(struct mmt_plan *plan, const mmt_profile *profile,
                                   const mmt_plan_options *options, mmt_error *err)
{
    mmt_status status =
        is_given(plan) ? MMT_OK : select_kernel(plan, profile, options, err);

    while (status == MMT_OK) {
        struct mmt_config tried;
        mmt_error why = { 0 };
        status = build_kernels(plan, profile, options, &tried, &why);
        if (status == MMT_OK)
            return MMT_OK;
        if (!is_given(plan))
            name_configuration(&tried, &why);
        if (is_given(plan) || !is_refusal(status))
            return mmt_fail_native(err, status, why.native, "%s", why.text);
        if (plan->num_refused == MOST_REFUSED)
            break;
        note_refusal(plan, &tried, &why);
        status = plan->num_refused < MOST_REFUSED
                     ? select_kernel(plan, profile, options, err)
                     : select_last(plan);
    }
    const mmt_error *first = &plan->refusal;
    return plan->num_refused
               ? mmt_fail_native(err, first->status, first->native, "%s", first->text)
               : status;
}

/* What would find a better kernel. A profile of the device is none of a bundle's. */
static void describe_remedy(const struct mmt_plan *plan, struct mmt_text *text)
{
    if (!plan->in) {
        mmt_text_addf(text, "; `mmtune --device %s` would tune it", plan->device->id);
        return;
    }
    mmt_text_add(text, "; a bundle made by `mmtune bundle --shape ");
    mmt_op_print_shape(&plan->problem, text);
    mmt_text_add(text, "` may have a better kernel");
}

static void describe_selection(const struct mmt_plan *plan, const char *foreign,
                               struct mmt_text *text)
{
    const int why = plan->selection.why;
    mmt_selection_print(&plan->selection, &plan->problem, foreign != NULL, text);
    if (why == MMT_SELECTION_LAW || why == MMT_SELECTION_DEFAULT)
        describe_remedy(plan, text);
}

/* A program that is slow to plan finds the reason here. */
static void describe_cache(struct mmt_text *text)
{
    struct mmt_text trouble = { 0 };

    if (mmt_cache_trouble(&trouble))
        mmt_text_addf(text, "; %s", mmt_text_string(&trouble));
    mmt_text_finish(&trouble);
}

/* The first line of what was said of the first. */
static void describe_refusals(const struct mmt_plan *plan, struct mmt_text *text)
{
    const char *why = plan->refusal.text;

    if (plan->num_refused)
        mmt_text_addf(text, "; in place of %s that the driver refuses: %.*s",
                      plan->num_refused > 1 ? "kernels" : "one", (int) strcspn(why, "\n"),
                      why);
}

static mmt_status describe_plan(struct mmt_plan *plan, const mmt_profile *profile,
                                mmt_error *err)
{
    struct mmt_text text = { 0 };
    char why[512];

    mmt_problem_print(&plan->problem, &text);
    mmt_text_addf(&text, " on %s: ", plan->device->title);
    if (plan->aligned || plan->any) {
        mmt_config_print(&plan->bound.config, &text);
        mmt_text_add(&text, "; ");
        const char *foreign =
            mmt_selection_foreign(profile, &plan->selection, &plan->caps, why);
        describe_selection(plan, foreign, &text);
        describe_layer(plan, profile, foreign, &text);
        mmt_passed_over_print(profile, &plan->problem, &plan->caps, "; ", &text);
        if (plan->unmeasured.status)
            mmt_text_addf(&text, "; nothing was measured: %s", plan->unmeasured.text);
        describe_refusals(plan, &text);
        if (foreign)
            mmt_text_addf(&text, "; %s", foreign);
        if (!plan->aligned && plan->bound.has_aligned)
            mmt_text_add(&text, "; its rows are not aligned to whole vectors");
        describe_cache(&text);
    } else {
        mmt_text_add(&text, "nothing to do");
    }
    if (text.failed) {
        mmt_text_finish(&text);
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a plan's description");
    }
    plan->description = text.data;
    return MMT_OK;
}

/* Of each execution, whoever makes it. */
static size_t workspace_of(const struct mmt_plan *plan)
{
    size_t aligned = plan->aligned ? mmt_kernel_workspace(plan->aligned) : 0;
    size_t any = plan->any ? mmt_kernel_workspace(plan->any) : 0;
    return aligned > any ? aligned : any;
}

static void count_bytes(struct mmt_plan *plan)
{
    const mmt_problem *p = &plan->problem;
    const uint64_t size = mmt_type_size(p->type), out = mmt_type_size(p->out);

    plan->bytes.a = (uint64_t) mmt_problem_extent_a(p) * size;
    plan->bytes.b = (uint64_t) mmt_problem_extent_b(p) * size;
    plan->bytes.c = (uint64_t) mmt_problem_extent_c(p) * out;
    if (p->batch_by == MMT_BY_POINTERS)
        plan->bytes.a = plan->bytes.b = plan->bytes.c =
            (uint64_t) p->batch * sizeof(uint64_t);
    plan->bytes.bias = (uint64_t) (p->bias == MMT_BIAS_M ? p->m : p->n) * out;
    plan->bytes.scalars = 2 * mmt_type_size(mmt_type_scalar(p->type));
    plan->bytes.workspace = workspace_of(plan);
}

/* Others may be capturing graphs meanwhile. */
static mmt_status make_workspace(struct mmt_plan *plan, const mmt_plan_options *options,
                                 mmt_error *err)
{
    const size_t bytes = workspace_of(plan);
    if (!options->own_workspace || !bytes)
        return MMT_OK;
    const int mode = mmt_thread_relax(plan->device);
    mmt_status status = mmt_buffer_create(plan->device, bytes, &plan->workspace, err);
    mmt_thread_restore(plan->device, mode);
    return status;
}

static bool is_empty(const mmt_problem *p)
{
    return mmt_problem_extent_c(p) == 0;
}

/* What the device selects by, and where kernels are then. */
static mmt_status take_profile(struct mmt_plan *plan, const mmt_profile **profile,
                               const mmt_plan_options *options, mmt_error *err)
{
    plan->caps = plan->device->caps;
    if (!*profile)
        return MMT_OK;
    const struct mmt_profile *mine =
        mmt_profile_for(*profile, &plan->caps, options->foreign_profile, err);
    if (!mine)
        return mmt_blame(err, MMT_ERROR_ARGUMENT, MMT_ARGUMENT_PROFILE);
    *profile = mine;
    if (mine->kernels.bundle) {
        plan->in = &mine->kernels;
        memcpy(plan->caps.architecture, mine->caps.architecture,
               sizeof plan->caps.architecture);
    }
    return MMT_OK;
}

static mmt_status check_dialect(const struct mmt_plan *plan, mmt_error *err)
{
    if (plan->problem.batch_by != MMT_BY_POINTERS || plan->caps.dialect == MMT_CUDA_CXX)
        return MMT_OK;
    mmt_fail(err, MMT_ERROR_UNSUPPORTED,
             "%s is used by OpenCL, whose kernels take no arrays of pointers; batch_by "
             "must be MMT_BY_STRIDE",
             plan->device->title);
    return mmt_blame(err, MMT_ERROR_UNSUPPORTED, MMT_ARGUMENT_BATCH_BY);
}

/* Selects and builds for what is not empty. `given`, or what the options name, is not
 * folded: it serves that very problem. */
static mmt_status fill_plan(struct mmt_plan *plan, const mmt_profile *profile,
                            const struct mmt_config *given,
                            const mmt_plan_options *options, mmt_error *err)
{
    struct mmt_config named;
    mmt_status status = MMT_OK;

    if (!given && !options->configuration)
        plan->problem = mmt_problem_fold(&plan->problem);
    if (is_empty(&plan->problem))
        return MMT_OK;
    if (options->configuration) {
        status = mmt_config_parse_for(options->configuration, &plan->problem, &plan->caps,
                                      &named, err);
        if (status != MMT_OK)
            return mmt_blame(err, status, MMT_ARGUMENT_CONFIGURATION);
        given = &named;
    }
    if (given)
        status = take_given(plan, given, options, err);
    if (status == MMT_OK)
        status = select_and_build(plan, profile, options, err);
    if (status == MMT_OK && workspace_of(plan) > options->max_workspace)
        status = mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                          "the kernel needs %zu bytes of workspace; max_workspace is %zu",
                          workspace_of(plan), options->max_workspace);
    return status ? status : make_workspace(plan, options, err);
}

static mmt_plan *create_plan(mmt_device *device, const mmt_profile *profile,
                             const struct mmt_config *given, const mmt_problem *problem,
                             const struct mmt_call *call, const mmt_plan_options *how,
                             mmt_error *err)
{
    struct mmt_plan *plan = calloc(1, sizeof *plan);
    mmt_plan_options options;
    mmt_status status;

    if (!plan) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a plan");
        return NULL;
    }
    if (!device || !problem)
        status =
            mmt_fail_argument(err, device ? MMT_ARGUMENT_PROBLEM : MMT_ARGUMENT_DEVICE,
                              "mmt_plan_create needs a device and a problem");
    else
        status = mmt_problem_normalise(problem, &plan->problem, err);
    plan->device = device;
    plan->call = call;
    if (status == MMT_OK)
        status = read_options(how, &options, err);
    if (status == MMT_OK)
        status = take_profile(plan, &profile, &options, err);
    if (status == MMT_OK)
        status = check_dialect(plan, err);
    if (status == MMT_OK)
        status = fill_plan(plan, profile, given, &options, err);
    if (status == MMT_OK) {
        count_bytes(plan);
        status = describe_plan(plan, profile, err);
    }
    plan->in = NULL;
    plan->call = NULL;
    if (status != MMT_OK) {
        mmt_plan_free(plan);
        return NULL;
    }
    return plan;
}

mmt_plan *mmt_plan_create(mmt_device *device, const mmt_profile *profile,
                          const mmt_problem *problem, const mmt_plan_options *options,
                          mmt_error *err)
{
    return create_plan(device, profile, NULL, problem, NULL, options, err);
}

mmt_plan *mmt_plan_of(mmt_device *device, const struct mmt_config *config,
                      const mmt_problem *problem, const mmt_plan_options *options,
                      mmt_error *err)
{
    return create_plan(device, NULL, config, problem, NULL, options, err);
}

mmt_plan *mmt_plan_of_call(mmt_device *device, const struct mmt_config *config,
                           const struct mmt_call *call, const mmt_plan_options *options,
                           mmt_error *err)
{
    return create_plan(device, NULL, config, &call->problem, call, options, err);
}

void mmt_plan_free(mmt_plan *plan)
{
    if (!plan)
        return;
    drop_kernels(plan);
    mmt_buffer_free(plan->device, plan->workspace);
    mmt_buffer_free(plan->device, (mmt_operand){ plan->spare, 0 });
    free(plan->description);
    free(plan);
}

size_t mmt_plan_workspace(const mmt_plan *plan)
{
    return plan && !plan->workspace.handle ? plan->bytes.workspace : 0;
}

size_t mmt_plan_describe(const mmt_plan *plan, char *text, size_t size)
{
    return (size_t) snprintf(text, size, "%s", plan ? plan->description : "");
}

const struct mmt_config *mmt_plan_config(const mmt_plan *plan)
{
    return &plan->selection.config;
}

struct mmt_kernel *mmt_plan_kernel(const mmt_plan *plan)
{
    return plan->aligned ? plan->aligned : plan->any;
}
