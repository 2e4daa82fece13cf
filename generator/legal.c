/* Which configurations serve which device and problem. */
#include "generator/generator.h"

#include <string.h>

struct mmt_variant mmt_variant_of(const mmt_problem *problem, bool aligned)
{
    return (struct mmt_variant){
        .op = problem->op,
        .type = problem->type,
        .out = problem->out,
        .bias = problem->bias,
        .activation = problem->activation,
        .trans_a = problem->trans_a != 0,
        .trans_b = problem->trans_b != 0,
        .batch_by = problem->batch_by,
        .aligned = aligned,
    };
}

mmt_problem mmt_variant_element(const struct mmt_variant *variant)
{
    return (mmt_problem){
        .op = variant->op,
        .type = variant->type,
        .out = variant->out,
        .bias = variant->bias,
        .activation = variant->activation,
        .m = 1,
        .n = 1,
        .k = 1,
        .trans_a = variant->trans_a,
        .trans_b = variant->trans_b,
        .batch_by = variant->batch_by,
        .lda = 1,
        .ldb = 1,
        .ldc = 1,
        .batch = 1,
    };
}

bool mmt_config_in_slices(const struct mmt_config *config, mmt_type type)
{
    return config->template->fma_per_cycle_per_sm && mmt_type_slices(type) > 1;
}

struct mmt_work mmt_config_work(const struct mmt_config *config, mmt_type type)
{
    const struct mmt_template *template = config->template;
    struct mmt_config counted = *config;
    if (!template->work)
        return (struct mmt_work){ .depth = 1, .step = 1, .splits = 1 };
    for (int i = 0; i < template->num_knobs; i++)
        if (template->knobs[i].automatic &&
            counted.values[i] == template->knobs[i].values[0])
            counted.values[i] = 1;
    return template->work(counted.values, type);
}

struct mmt_config mmt_config_resolve(const struct mmt_config *config,
                                     const mmt_problem *problem,
                                     const struct mmt_caps *caps)
{
    struct mmt_config resolved = *config;
    if (config->template->resolve)
        config->template->resolve(resolved.values, problem, caps);
    return resolved;
}

struct mmt_config mmt_config_in_text(const struct mmt_config *resolved)
{
    struct mmt_config seen = *resolved;
    for (int i = 0; i < seen.template->num_knobs; i++)
        if (seen.template->knobs[i].launch_time &&
            seen.values[i] > seen.template->knobs[i].launch_time)
            seen.values[i] = seen.template->knobs[i].launch_time;
    return seen;
}

struct mmt_hash mmt_config_hash(const struct mmt_config *resolved,
                                const struct mmt_variant *variant)
{
    const struct mmt_config seen = mmt_config_in_text(resolved);
    const int of_variant[] = { variant->type,    variant->out,        variant->op,
                               variant->bias,    variant->activation, variant->trans_a,
                               variant->trans_b, variant->aligned,    variant->batch_by };
    const char *name = seen.template->name;
    struct mmt_hash hash = mmt_hash_add(mmt_hash_start(), name, strlen(name) + 1);

    hash = mmt_hash_add(hash, seen.values,
                        (size_t) seen.template->num_knobs * sizeof seen.values[0]);
    return mmt_hash_add(hash, of_variant, sizeof of_variant);
}

void mmt_config_launch(const struct mmt_config *config, const mmt_problem *problem,
                       const struct mmt_caps *caps, struct mmt_launches *out)
{
    const struct mmt_config resolved = mmt_config_resolve(config, problem, caps);
    config->template->launch(resolved.values, problem, caps, out);
}

/* Whether a number that the launch counts is auto. */
static bool leaves_count(const struct mmt_config *config, int knob)
{
    const struct mmt_knob *k = &config->template->knobs[knob];
    return k->launch_time && k->automatic && config->values[knob] == k->values[0];
}

bool mmt_config_equal(const struct mmt_config *a, const struct mmt_config *b)
{
    return a->template == b->template &&
           !memcmp(a->values, b->values, sizeof(int) * (size_t) a->template->num_knobs);
}

bool mmt_config_in(const struct mmt_config *config, const struct mmt_config *list,
                   int count)
{
    for (int i = 0; i < count; i++)
        if (mmt_config_equal(&list[i], config))
            return true;
    return false;
}

bool mmt_config_same_text(const struct mmt_config *a, const struct mmt_config *b)
{
    const struct mmt_config x = mmt_config_in_text(a), y = mmt_config_in_text(b);
    return mmt_config_equal(&x, &y);
}

static size_t workspace_of(const struct mmt_config *config, const mmt_problem *problem,
                           const struct mmt_caps *caps)
{
    struct mmt_launches launches = { 0 };
    mmt_config_launch(config, problem, caps, &launches);
    return launches.workspace;
}

struct mmt_config mmt_config_within(const struct mmt_config *config,
                                    const mmt_problem *problem,
                                    const struct mmt_caps *caps, size_t workspace)
{
    struct mmt_config less = *config;
    if (workspace == SIZE_MAX)
        return less;
    const struct mmt_config resolved = mmt_config_resolve(config, problem, caps);
    for (int i = 0; i < config->template->num_knobs; i++) {
        const struct mmt_knob *knob = &config->template->knobs[i];
        int place = leaves_count(config, i) ? knob->num_values : 0;
        while (--place > 0 && workspace_of(&less, problem, caps) > workspace)
            if (knob->values[place] < resolved.values[i])
                less.values[i] = knob->values[place];
    }
    return less;
}

/* Whatever its values are. */
static const char *reject_template(const struct mmt_template *template,
                                   const struct mmt_variant *variant,
                                   const struct mmt_caps *caps)
{
    if (template->op != variant->op)
        return "the template computes another operation";
    if (!(template->types & 1u << variant->type))
        return "the template does not serve this type";
    if (!template->fused && (variant->bias || variant->activation))
        return "the template serves neither bias nor activation";
    if (variant->batch_by == MMT_BY_POINTERS && caps->dialect == MMT_OPENCL_C)
        return "OpenCL C has no pointers in buffers; a batch by pointers needs CUDA";
    if (!(template->dialects & caps->dialect) && template->other_dialect)
        return template->other_dialect;
    if (!(template->dialects & caps->dialect))
        return caps->dialect == MMT_OPENCL_C ? "the template is written for CUDA alone"
                                             : "the template is written for OpenCL alone";
    if (variant->type == MMT_F64 && !caps->f64)
        return "the device has no double precision";
    return NULL;
}

const char *mmt_config_check_device(const struct mmt_config *config,
                                    const struct mmt_variant *variant,
                                    const struct mmt_caps *caps)
{
    const char *why = reject_template(config->template, variant, caps);
    if (why)
        return why;
    const mmt_problem element = mmt_variant_element(variant);
    const struct mmt_config resolved = mmt_config_resolve(config, &element, caps);
    return config->template->check_device(resolved.values, variant, caps);
}

bool mmt_config_suits(const struct mmt_config *config, const mmt_problem *kind,
                      const struct mmt_caps *caps)
{
    const struct mmt_variant any = mmt_variant_of(kind, false),
                             aligned = mmt_variant_of(kind, true);
    return !mmt_config_check_device(config, &any, caps) ||
           !mmt_config_check_device(config, &aligned, caps);
}

/* `alignment`: a power of two. */
static bool steps_by(int64_t elements, size_t size, unsigned alignment)
{
    return ((uint64_t) elements * size & (alignment - 1)) == 0;
}

bool mmt_config_may_align(const struct mmt_config *config, const mmt_problem *problem,
                          struct mmt_alignment *alignment)
{
    size_t size = mmt_type_size(problem->type), out = mmt_type_size(problem->out);
    struct mmt_alignment at = { (unsigned) size, (unsigned) size, (unsigned) out };
    if (config->template->alignment)
        at = config->template->alignment(config->values, problem);

    *alignment = at;
    return steps_by(problem->lda, size, at.a) &&
           steps_by(problem->stride_a, size, at.a) &&
           steps_by(problem->ldb, size, at.b) &&
           steps_by(problem->stride_b, size, at.b) && steps_by(problem->ldc, out, at.c) &&
           steps_by(problem->stride_c, out, at.c);
}

static bool assumes_more(const struct mmt_alignment *at, const mmt_problem *problem)
{
    const unsigned element = (unsigned) mmt_type_size(problem->type);
    return at->a > element || at->b > element || at->c > mmt_type_size(problem->out);
}

bool mmt_config_has_aligned(const struct mmt_config *config, const mmt_problem *problem)
{
    struct mmt_alignment at;
    mmt_config_may_align(config, problem, &at);
    return assumes_more(&at, problem);
}

bool mmt_config_has_any(const struct mmt_config *config, const mmt_problem *problem)
{
    return !config->template->aligned_only || !mmt_config_has_aligned(config, problem);
}

/* All but why_not and the launches. */
static void bind_unchecked(const struct mmt_config *config, const mmt_problem *problem,
                           const struct mmt_caps *caps, struct mmt_bound *out)
{
    out->config = mmt_config_resolve(config, problem, caps);
    out->problem = problem;
    out->caps = caps;
    out->may_align = mmt_config_may_align(&out->config, problem, &out->alignment);
    out->has_aligned = assumes_more(&out->alignment, problem);
    out->has_any = !config->template->aligned_only || !out->has_aligned;
}

static const char *check_bound(const struct mmt_bound *bound)
{
    const struct mmt_template *template = bound->config.template;

    /* Where there are two sources, the one for any alignment is the one that must do. */
    const bool aligned = !template->alignment || !bound->has_any;
    const struct mmt_variant variant = mmt_variant_of(bound->problem, aligned);
    const char *why = reject_template(template, &variant, bound->caps);
    if (!why)
        why = template->check_device(bound->config.values, &variant, bound->caps);
    if (!why && template->aligned_only && !bound->may_align)
        why =
            "the template needs leading dimensions and strides that are multiples of 16 "
            "bytes";
    if (!why && template->check_problem)
        why = template->check_problem(bound->config.values, bound->problem);
    return why;
}

static void set_launches(struct mmt_bound *bound)
{
    bound->config.template->launch(bound->config.values, bound->problem, bound->caps,
                                   &bound->launches);
}

bool mmt_bind(const struct mmt_config *config, const mmt_problem *problem,
              const struct mmt_caps *caps, struct mmt_bound *out)
{
    bind_unchecked(config, problem, caps, out);
    out->why_not = check_bound(out);
    if (!out->why_not)
        set_launches(out);
    return !out->why_not;
}

void mmt_bind_known(const struct mmt_config *config, const mmt_problem *problem,
                    const struct mmt_caps *caps, struct mmt_bound *out)
{
    bind_unchecked(config, problem, caps, out);
    out->why_not = NULL;
    set_launches(out);
}

bool mmt_bound_aligns(const struct mmt_bound *bound)
{
    const struct mmt_variant aligned = mmt_variant_of(bound->problem, true);
    return bound->may_align && bound->has_aligned &&
           !mmt_config_check_device(&bound->config, &aligned, bound->caps);
}

bool mmt_bound_serves(const struct mmt_bound *bound, size_t alignment, bool *aligned)
{
    const struct mmt_alignment *asks = &bound->alignment;
    *aligned = mmt_bound_aligns(bound) &&
               (!alignment ||
                (asks->a <= alignment && asks->b <= alignment && asks->c <= alignment));
    return *aligned || bound->has_any;
}

const char *mmt_config_check_problem(const struct mmt_config *config,
                                     const mmt_problem *problem,
                                     const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    bind_unchecked(config, problem, caps, &bound);
    return check_bound(&bound);
}

static bool serves(const struct mmt_template *template, const mmt_problem *problem,
                   const struct mmt_caps *caps)
{
    bool fused = problem->bias || problem->activation;
    return template->op == problem->op && mmt_type_in(problem->type, template->types) &&
           template->dialects & caps->dialect && (template->fused || !fused);
}

static bool first_legal_seed(const struct mmt_template *template,
                             const mmt_problem *problem, const struct mmt_caps *caps,
                             struct mmt_config *out)
{
    struct mmt_config config = { .template = template };
    for (int i = 0; i < template->num_seeds; i++) {
        memcpy(config.values, template->seeds[i],
               sizeof(int) * (size_t) template->num_knobs);
        if (mmt_config_check_problem(&config, problem, caps))
            continue;
        *out = config;
        return true;
    }
    return false;
}

/* Whether one that is made for the type serves, which `template` yields to. */
static bool yields(const struct mmt_template *template, const mmt_problem *problem,
                   const struct mmt_caps *caps)
{
    struct mmt_config config;
    for (int i = 0; mmt_type_in(problem->type, template->yields) && mmt_templates[i]; i++)
        if (mmt_templates[i]->preferred_on & caps->kind &&
            !mmt_templates[i]->last_resort &&
            !mmt_type_in(problem->type, mmt_templates[i]->yields) &&
            serves(mmt_templates[i], problem, caps) &&
            first_legal_seed(mmt_templates[i], problem, caps, &config))
            return true;
    return false;
}

bool mmt_config_meant(const struct mmt_template *template, const mmt_problem *problem,
                      const struct mmt_caps *caps)
{
    if (!serves(template, problem, caps))
        return false;
    if (template->preferred_on & caps->kind)
        return (!template->prefers || template->prefers(problem, caps)) &&
               !yields(template, problem, caps);
    for (int i = 0; mmt_templates[i]; i++)
        if (mmt_templates[i]->preferred_on & caps->kind &&
            serves(mmt_templates[i], problem, caps))
            return false;
    return true;
}

bool mmt_config_default(const mmt_problem *problem, const struct mmt_caps *caps,
                        struct mmt_config *out)
{
    for (int i = 0; mmt_templates[i]; i++)
        if (mmt_templates[i]->preferred_on & caps->kind &&
            !yields(mmt_templates[i], problem, caps) &&
            first_legal_seed(mmt_templates[i], problem, caps, out))
            return true;

    for (int i = 0; mmt_templates[i]; i++)
        if (first_legal_seed(mmt_templates[i], problem, caps, out))
            return true;
    return false;
}
