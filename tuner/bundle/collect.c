/* Which kernels plans take: what plan.c does for one problem, for all of them. */
#include <stdlib.h>
#include <string.h>

#include "tuner/bundle/make.h"

struct collecting {
    const struct mmt_profile *profile;
    const struct mmt_caps *caps;
    struct mmt_bundle_needs *needs;
    bool samples; /* of a kind are what is added now */
    mmt_error *err;
};

/* ---- the list -------------------------------------------------------------------- */

static int compare_keys(struct mmt_hash a, struct mmt_hash b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

/* Where the key is, or would be. */
static size_t place_of(const struct mmt_bundle_needs *needs, struct mmt_hash key)
{
    size_t from = 0, to = needs->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (compare_keys(needs->list[middle].key, key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static mmt_status grow(struct mmt_bundle_needs *needs, mmt_error *err)
{
    const size_t capacity = needs->capacity ? 2 * needs->capacity : 64;
    struct mmt_bundle_need *grown;
    if (needs->count < needs->capacity)
        return MMT_OK;
    grown = reallocarray(needs->list, capacity, sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu kernels",
                        capacity);
    needs->list = grown;
    needs->capacity = capacity;
    return MMT_OK;
}

static void count_sample(const struct collecting *c, struct mmt_bundle_need *need)
{
    if (!c->samples)
        need->samples = INT64_MAX;
    else if (need->samples < INT64_MAX)
        need->samples++;
}

static mmt_status add_kernel(const struct collecting *c, const struct mmt_bound *bound,
                             bool aligned)
{
    struct mmt_bundle_needs *needs = c->needs;
    const struct mmt_variant variant = mmt_variant_of(bound->problem, aligned);
    const struct mmt_hash key = mmt_config_hash(&bound->config, &variant);
    const size_t at = place_of(needs, key);
    mmt_status status = MMT_OK;

    if (at < needs->count && !compare_keys(needs->list[at].key, key)) {
        count_sample(c, &needs->list[at]);
        return MMT_OK;
    }
    if ((status = grow(needs, c->err)))
        return status;
    memmove(&needs->list[at + 1], &needs->list[at],
            (needs->count - at) * sizeof *needs->list);
    needs->list[at] = (struct mmt_bundle_need){
        .config = mmt_config_in_text(&bound->config), .variant = variant, .key = key
    };
    needs->count++;
    count_sample(c, &needs->list[at]);
    return MMT_OK;
}

static mmt_status add_bound(const struct collecting *c, const struct mmt_bound *bound)
{
    mmt_status status = MMT_OK;
    if (mmt_bound_aligns(bound))
        status = add_kernel(c, bound, true);
    if (!status && bound->has_any)
        status = add_kernel(c, bound, false);
    return status;
}

static mmt_status add_form(const struct collecting *c, const struct mmt_config *config,
                           const mmt_problem *problem)
{
    struct mmt_bound bound;
    return mmt_bind(config, problem, c->caps, &bound) ? add_bound(c, &bound) : MMT_OK;
}

void mmt_bundle_needs_finish(struct mmt_bundle_needs *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        mmt_binary_finish(&needs->list[i].binary);
    free(needs->list);
    *needs = (struct mmt_bundle_needs){ 0 };
}

/* ---- what is listed --------------------------------------------------------------- */

/* The other kernel of a plan whose own has no source for any alignment. */
static mmt_status add_odd(const struct collecting *c, const struct mmt_bound *bound,
                          struct mmt_terms terms)
{
    mmt_problem odd = *bound->problem;
    struct mmt_selection other;
    struct mmt_bound runs;
    odd.lda++, odd.ldb++, odd.ldc++;
    terms.max_workspace = bound->launches.workspace;
    if (mmt_select(c->profile, &odd, c->caps, &terms, &other, NULL))
        return MMT_OK;
    mmt_bind_known(&other.config, bound->problem, c->caps, &runs);
    return add_kernel(c, &runs, false);
}

static mmt_status add_selected(const struct collecting *c, const mmt_problem *problem,
                               bool strict_f32)
{
    const struct mmt_terms terms = { .max_workspace = SIZE_MAX,
                                     .strict_f32 = strict_f32 };
    struct mmt_selection selection;
    struct mmt_bound bound;
    mmt_status status =
        mmt_select(c->profile, problem, c->caps, &terms, &selection, c->err);
    if (status)
        return status;
    mmt_bind_known(&selection.config, problem, c->caps, &bound);
    status = add_bound(c, &bound);
    if (!status && !bound.has_any)
        status = add_odd(c, &bound, terms);
    return status;
}

static mmt_status add_problem(const struct collecting *c, const mmt_problem *problem)
{
    mmt_status status = add_selected(c, problem, false);
    if (!status && problem->type == MMT_F32)
        status = add_selected(c, problem, true);
    return status;
}

/* ---- any other shape -------------------------------------------------------------- */

/* Values that are resolved for a problem depend on its sides: of these, each with each,
 * all that occur do. */
static const int64_t sides[] = {
    1,   2,   3,   4,   8,    15,   16,   31,   32,   64,
    100, 128, 256, 512, 1000, 1024, 2048, 4096, 8191, 16384
};
enum { NUM_SIDES = sizeof sides / sizeof *sides, MANY = 64 };

/* Whether two problems have the same kernels to take, shape apart. */
static bool is_kind(const mmt_problem *a, const mmt_problem *b)
{
    const struct mmt_variant x = mmt_variant_of(a, false), y = mmt_variant_of(b, false);
    return x.op == y.op && x.type == y.type && x.out == y.out && x.bias == y.bias &&
           x.activation == y.activation && x.batch_by == y.batch_by &&
           x.trans_a == y.trans_a && x.trans_b == y.trans_b;
}

/* A kind's problem of that shape, packed; false where the op has none. */
static bool make_sample(const mmt_problem *kind, int64_t m, int64_t n, int64_t k,
                        int64_t batch, mmt_problem *out)
{
    const struct mmt_shape shape = { .m = m, .n = n, .k = k, .batch = batch };
    *out = mmt_shape_problem(kind->op, kind->type, &shape);
    out->out = kind->out;
    out->bias = kind->bias;
    out->activation = kind->activation;
    out->batch_by = kind->batch_by;
    out->trans_a = kind->trans_a;
    out->trans_b = kind->trans_b;
    if (batch == 1)
        out->stride_a = out->stride_b = out->stride_c = 0;
    return !mmt_problem_normalise(out, out, NULL);
}

/* Each form that an unlisted kernel takes for the problem, packed and with odd rows. */
static mmt_status add_forms(const struct collecting *c, const mmt_problem *sample)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < c->profile->num_unlisted && !status; i++) {
        const struct mmt_unlisted_kernel *kernel = &c->profile->unlisted[i];
        if (kernel->right & mmt_kind_bit(sample))
            status = add_form(c, &kernel->config, sample);
    }
    return status;
}

/* Of ops without a law plans take defaults: of those the ones that most samples take are
 * inside, for all. */
enum { MOST_TALLIED = 256, MOST_DEFAULTS = 8 };

struct tallied {
    struct mmt_config config;
    int samples;
};

struct tally {
    struct tallied list[MOST_TALLIED];
    int count;
};

static void count_default(const struct collecting *c, const mmt_problem *sample,
                          struct tally *tally)
{
    struct mmt_selection selection;
    int i = 0;
    if (mmt_has_law(sample) || mmt_select(NULL, sample, c->caps, NULL, &selection, NULL))
        return;
    while (i < tally->count &&
           !mmt_config_equal(&tally->list[i].config, &selection.config))
        i++;
    if (i == MOST_TALLIED)
        return;
    tally->list[i].config = selection.config;
    tally->list[i].samples++;
    tally->count += i == tally->count;
}

static int more_samples_first(const void *a, const void *b)
{
    return ((const struct tallied *) b)->samples - ((const struct tallied *) a)->samples;
}

/* Takes a sample of a kind. */
typedef mmt_status take_sample(const struct collecting *c, const mmt_problem *sample,
                               void *context);

/* Packed, and with rows of odd leading dimensions. */
static mmt_status take_both(const struct collecting *c, mmt_problem *sample,
                            take_sample *take, void *context)
{
    mmt_status status = take(c, sample, context);
    sample->lda++, sample->ldb++, sample->ldc++;
    return status ? status : take(c, sample, context);
}

/* Shapes of one product, k apart for an op that adds nothing up. */
static int count_samples(mmt_op op)
{
    return NUM_SIDES * NUM_SIDES * (mmt_op_row(op)->sums ? NUM_SIDES : 1);
}

static mmt_status each_sample(const struct collecting *c, const mmt_problem *kind,
                              take_sample *take, void *context)
{
    const bool sums = mmt_op_row(kind->op)->sums;
    const int count = count_samples(kind->op);
    mmt_problem sample;
    mmt_status status = MMT_OK;

    for (int i = 0; i < count && !status; i++) {
        const int64_t m = sides[i % NUM_SIDES], n = sides[i / NUM_SIDES % NUM_SIDES];
        const int64_t k = sums ? sides[i / NUM_SIDES / NUM_SIDES] : 1;
        if (make_sample(kind, m, n, k, 1, &sample))
            status = take_both(c, &sample, take, context);
        if (!status && m == n && make_sample(kind, m, n, k, MANY, &sample))
            status = take_both(c, &sample, take, context);
    }
    return status;
}

static mmt_status take_forms(const struct collecting *c, const mmt_problem *sample,
                             void *context)
{
    count_default(c, sample, context);
    return add_forms(c, sample);
}

static mmt_status take_for_defaults(const struct collecting *c, const mmt_problem *sample,
                                    void *context)
{
    const struct tally *tally = context;
    mmt_status status = MMT_OK;
    for (int i = 0; i < tally->count && i < MOST_DEFAULTS && !status; i++)
        status = add_form(c, &tally->list[i].config, sample);
    return status;
}

static mmt_status add_samples(const struct collecting *c, const mmt_problem *kind)
{
    struct tally *tally = calloc(1, sizeof *tally);
    mmt_status status = MMT_OK;

    if (!tally)
        return mmt_fail(c->err, MMT_ERROR_MEMORY, "no memory left for samples");
    status = each_sample(c, kind, take_forms, tally);
    qsort(tally->list, (size_t) tally->count, sizeof tally->list[0], more_samples_first);
    if (!status && tally->count)
        status = each_sample(c, kind, take_for_defaults, tally);
    free(tally);
    return status;
}

/* Forms that few samples take are left out: a template that resolves its knobs finely has
 * some hundred, and a plan that misses one takes the next best kernel. */
static void drop_rare(struct mmt_bundle_needs *needs)
{
    enum { RARE = 64 }; /* one of so many shapes */
    size_t left = 0;
    for (size_t i = 0; i < needs->count; i++)
        if (needs->list[i].samples * RARE >= count_samples(needs->list[i].variant.op))
            needs->list[left++] = needs->list[i];
    needs->count = left;
}

/* At last the kernel that asks least of a device: it serves every shape. */
static mmt_status add_last(const struct collecting *c, const mmt_problem *kind)
{
    struct mmt_config last;
    mmt_problem sample;
    return make_sample(kind, 64, 64, 64, 1, &sample) &&
                   mmt_config_last(&sample, c->caps, &last)
               ? add_form(c, &last, &sample)
               : MMT_OK;
}

static bool is_first_of_kind(const struct mmt_bundle_problems *problems, size_t number)
{
    size_t first = 0;
    while (!is_kind(&problems->list[first], &problems->list[number]))
        first++;
    return first == number;
}

/* The next m of a segment that is looked at: twice as much, and its last. */
static int64_t next_m(int64_t m, int64_t last)
{
    return m < last && 2 * m > last ? last : 2 * m;
}

static mmt_status add_range(const struct collecting *c, const struct mmt_range *range)
{
    int64_t first = range->problem.m;
    mmt_status status = MMT_OK;
    for (int i = 0; i < range->num_segments; i++) {
        const struct mmt_segment *segment = &range->segments[i];
        for (int64_t m = first; m <= segment->m_to && !status;
             m = next_m(m, segment->m_to)) {
            const mmt_problem problem = mmt_problem_with_m(&range->problem, m);
            status = add_form(c, &segment->config, &problem);
        }
        first = segment->m_to + 1;
    }
    return status;
}

/* The kernels of ranges, and of verdicts. */
static mmt_status add_others(const struct collecting *c)
{
    const struct mmt_profile *profile = c->profile;
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < profile->num_ranges && !status; i++)
        status = add_range(c, &profile->ranges[i]);
    for (size_t i = 0; i < profile->num_verdicts && !status; i++) {
        const struct mmt_verdict *verdict = &profile->verdicts[i];
        status = add_form(c, &verdict->config, &verdict->call.problem);
    }
    return status;
}

mmt_status mmt_bundle_collect(const struct mmt_profile *profile,
                              const struct mmt_caps *caps,
                              const struct mmt_bundle_problems *problems,
                              struct mmt_bundle_needs *needs, mmt_error *err)
{
    struct collecting c = { profile, caps, needs, true, err };
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < problems->count && !status; i++)
        if (is_first_of_kind(problems, i))
            status = add_samples(&c, &problems->list[i]);
    drop_rare(needs);
    c.samples = false;
    for (size_t i = 0; i < problems->count && !status; i++) {
        status = add_problem(&c, &problems->list[i]);
        if (!status && is_first_of_kind(problems, i))
            status = add_last(&c, &problems->list[i]);
    }
    return status ? status : add_others(&c);
}
