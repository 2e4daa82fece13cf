#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/model/pruning.h"
#include "tuner/search/search.h"
#include "tuner/tune/tune.h"

/* One template's space, as the search sees it. */
struct mmt_arm {
    const struct mmt_arms *arms;
    const struct mmt_template *template;
    int place; /* in mmt_templates */
    struct mmt_search_space space;
    int num_values[MMT_MAX_KNOBS];
    const char *names[MMT_MAX_KNOBS];
    double values[MMT_MAX_KNOBS][MMT_MAX_VALUES];
    const double *rows[MMT_MAX_KNOBS];
    struct mmt_search *search;
    int asked;    /* in this run */
    int heard;    /* results, in all runs */
    double best;  /* INFINITY: none was timed */
    double prior; /* its part of the tries as far as earlier problems tell; 0: unknown */
    double limit; /* the largest estimate that is worth trying; INFINITY: all are */
    bool exhausted;
};

enum {
    PATIENCE = 8,
    MOST_LISTED = 96,
    MOST_STARTS = 24,
    FEWEST_STARTS = 4,
    MOST_WINNERS = 6,
    MOST_BETTERED = 4
};

/* Starting points that are estimated at that many times the least are left out. */
static const double hopeless = 8;

/* The part of the tries of a template that is behind: its ratio to the best, to that
 * power.
 */
static const double steepness = 6;

/* ---- between indices and configurations ------------------------------------------ */

static void to_config(const struct mmt_arm *arm, const int *index, struct mmt_config *out)
{
    *out = (struct mmt_config){ .template = arm->template };
    for (int i = 0; i < arm->template->num_knobs; i++)
        out->values[i] = arm->template->knobs[i].values[index[i]];
}

static bool to_index(const struct mmt_template *template, const int *values, int *index)
{
    memset(index, 0, MMT_SEARCH_MAX_KNOBS * sizeof *index);
    for (int i = 0; i < template->num_knobs; i++) {
        const struct mmt_knob *knob = &template->knobs[i];
        while (index[i] < knob->num_values && knob->values[index[i]] != values[i])
            index[i]++;
        if (index[i] == knob->num_values)
            return false;
    }
    return true;
}

static struct mmt_config settled(const struct mmt_arm *arm,
                                 const struct mmt_config *config)
{
    return mmt_config_settle(config, arm->arms->problem, &arm->arms->t->caps);
}

/* The same kernel for this problem, with as much as possible left to the problem. */
static struct mmt_config freed(const struct mmt_arm *arm, const struct mmt_config *config)
{
    const struct mmt_config same = settled(arm, config);
    struct mmt_config free = *config;
    for (int i = 0; i < arm->template->num_knobs; i++) {
        const int held = free.values[i];
        if (!arm->template->knobs[i].fits)
            continue;
        free.values[i] = arm->template->knobs[i].values[0];
        const struct mmt_config now = settled(arm, &free);
        if (!mmt_config_equal(&now, &same))
            free.values[i] = held;
    }
    return free;
}

/* A value that a knob would resolve to anyway is tried as `auto`, and not once more. */
static bool is_legal(void *ctx, const int *index)
{
    const struct mmt_arm *arm = ctx;
    const mmt_problem *problem = arm->arms->problem;
    const struct mmt_caps *caps = &arm->arms->t->caps;
    struct mmt_config config;
    to_config(arm, index, &config);
    const struct mmt_config free = freed(arm, &config);
    return !mmt_config_refuse(&config, problem, caps) &&
           mmt_config_equal(&free, &config) &&
           (isinf(arm->limit) || mmt_cost_estimate(&config, problem, caps) <= arm->limit);
}

/* What the launch tells of any template: threads, blocks, how full the last wave is,
 * shared memory, and blocks that a multiprocessor can hold. Logarithms, as sizes
 * multiply. */
static int features(void *ctx, const int *index, double *out)
{
    const struct mmt_arm *arm = ctx;
    const struct mmt_caps *caps = &arm->arms->t->caps;
    struct mmt_config config;
    struct mmt_launches launches = { 0 };
    to_config(arm, index, &config);
    mmt_config_launch(&config, arm->arms->problem, caps, &launches);
    const struct mmt_launch *main = mmt_cost_multiplying(&launches);
    double threads = 1, blocks = 1;
    for (int i = 0; i < 3; i++) {
        threads *= fmax(main->block[i], 1);
        blocks *= fmax(main->grid[i], 1);
    }
    double by_threads = caps->threads_per_sm ? caps->threads_per_sm / threads : 1;
    double by_shared = caps->shared_per_sm && main->shared
                           ? (double) caps->shared_per_sm / (double) main->shared
                           : by_threads;
    double resident = fmax(fmin(floor(by_threads), floor(by_shared)), 1);
    double waves = blocks / (resident * fmax(caps->sms, 1));
    int count = 0;
    out[count++] = log2(threads);
    out[count++] = log2(blocks);
    out[count++] = log2(1 + (double) main->shared);
    out[count++] = log2(resident);
    out[count++] = waves / ceil(waves);
    out[count++] = log2(ceil(waves));
    out[count++] = log2(mmt_cost_estimate(&config, arm->arms->problem, caps));
    return count;
}

/* To a search, what is left to the problem is as large as the problem makes it. */
static double value_of(const struct mmt_arm *arm, int knob, int place)
{
    struct mmt_config config = { .template = arm->template };
    if (!arm->template->knobs[knob].fits)
        return arm->template->knobs[knob].values[place];
    memcpy(config.values, arm->template->seeds[0], sizeof config.values);
    config.values[knob] = arm->template->knobs[knob].values[place];
    return settled(arm, &config).values[knob];
}

static void describe_space(struct mmt_arm *arm)
{
    const struct mmt_template *template = arm->template;
    for (int i = 0; i < template->num_knobs; i++) {
        arm->num_values[i] = template->knobs[i].num_values;
        arm->names[i] = template->knobs[i].name;
        arm->rows[i] = arm->values[i];
        for (int j = 0; j < arm->num_values[i]; j++)
            arm->values[i][j] = value_of(arm, i, j);
    }
    arm->space = (struct mmt_search_space){
        .num_knobs = template->num_knobs,
        .num_values = arm->num_values,
        .names = arm->names,
        .values = arm->rows,
        .legal = is_legal,
        .features = features,
        .ctx = arm,
    };
}

/* ---- where to start -------------------------------------------------------------- */

double mmt_tune_distance(const mmt_problem *a, const mmt_problem *b)
{
    return fabs(log2((double) a->m / (double) b->m)) +
           fabs(log2((double) a->n / (double) b->n)) +
           fabs(log2((double) a->k / (double) b->k)) +
           0.5 * fabs(log2((double) a->batch / (double) b->batch)) +
           (a->type != b->type) * 2 + (a->trans_a != b->trans_a) +
           (a->trans_b != b->trans_b);
}

/* A template's best on an earlier problem. */
struct winner {
    double distance;
    const struct mmt_record *record;
};

static int nearer(const void *left, const void *right)
{
    const struct winner *a = left, *b = right;
    return (a->distance > b->distance) - (a->distance < b->distance);
}

static struct winner *find_winner(struct winner *winners, int count,
                                  const mmt_problem *problem)
{
    for (int i = 0; i < count; i++)
        if (mmt_problem_equal(&winners[i].record->problem, problem))
            return &winners[i];
    return NULL;
}

/* One for each problem that the journal knows. */
static int list_winners(const struct mmt_arm *arm, struct winner *out, int most)
{
    size_t all;
    const struct mmt_record *records = mmt_journal_records(arm->arms->t->journal, &all);
    int count = 0;
    for (size_t i = 0; i < all; i++) {
        const struct mmt_record *r = &records[i];
        if (r->config.template != arm->template || !mmt_record_is_candidate(r) ||
            r->result.outcome != MMT_TIMED)
            continue;
        struct winner *known = find_winner(out, count, &r->problem);
        if (known && r->result.time.median < known->record->result.time.median)
            known->record = r;
        else if (!known && count < most)
            out[count++] =
                (struct winner){ mmt_tune_distance(&r->problem, arm->arms->problem), r };
    }
    qsort(out, (size_t) count, sizeof *out, nearer);
    return count;
}

/* Starting points with what their launches let expect; stands behind all where illegal.
 */
static double expect(struct mmt_arm *arm, const int *index)
{
    struct mmt_config config;
    if (!is_legal(arm, index))
        return INFINITY;
    to_config(arm, index, &config);
    return mmt_cost_estimate(&config, arm->arms->problem, &arm->arms->t->caps);
}

/* The step, one knob to another value, after which the estimate is least; false where
 * none makes it a tenth less. */
static bool step_down(struct mmt_arm *arm, int *index, double *expected)
{
    double least = 0.9 * *expected;
    int knob = -1, value = 0;
    for (int i = 0; i < arm->space.num_knobs; i++) {
        const int held = index[i];
        for (index[i] = 0; index[i] < arm->num_values[i]; index[i]++) {
            double now = index[i] == held ? INFINITY : expect(arm, index);
            if (now < least)
                least = now, knob = i, value = index[i];
        }
        index[i] = held;
    }
    if (knob < 0)
        return false;
    index[knob] = value;
    *expected = least;
    return true;
}

/* Behind the first few starts, what the estimate makes of each: a tile that leaves no
 * multiprocessor idle where C has few of the start's, say. A CPU's estimate does not tell
 * that much, and each try there takes seconds. */
static int better_starts(struct mmt_arm *arm, int (*starts)[MMT_SEARCH_MAX_KNOBS],
                         int count)
{
    int first = count < MOST_BETTERED ? count : MOST_BETTERED;
    if (arm->arms->t->caps.kind == MMT_CPU)
        return count;
    for (int i = 0; i < first && count < MOST_LISTED; i++) {
        double expected = expect(arm, starts[i]);
        memcpy(starts[count], starts[i], sizeof *starts);
        while (isfinite(expected) && step_down(arm, starts[count], &expected))
            continue;
        bool known = false;
        for (int j = 0; j < count; j++)
            known = known || !memcmp(starts[j], starts[count], sizeof *starts);
        count += !known;
    }
    return count;
}

/* In their order, but for those that are estimated at twice the least or more (on a GPU,
 * where the estimate tells more, at a quarter more): they come later, step by step. So a
 * split along k leads where C is small, and what would leave most multiprocessors idle
 * comes last. Returns how many are worth trying. */
static int sort_starts(struct mmt_arm *arm, int (*starts)[MMT_SEARCH_MAX_KNOBS],
                       int count)
{
    double expected[MOST_LISTED], least = INFINITY;
    double steps = arm->arms->t->caps.kind == MMT_CPU ? 1 : 3; /* an octave */
    int worth = 0;
    for (int i = 0; i < count; i++)
        least = fmin(least, expected[i] = expect(arm, starts[i]));
    for (int i = 0; i < count; i++)
        expected[i] = isfinite(least) ? floor(steps * log2(expected[i] / least)) : 0;
    for (int i = 1; i < count; i++)
        for (int at = i; at > 0 && expected[at] < expected[at - 1]; at--) {
            int held[MMT_SEARCH_MAX_KNOBS];
            double key = expected[at];
            expected[at] = expected[at - 1], expected[at - 1] = key;
            memcpy(held, starts[at], sizeof held);
            memcpy(starts[at], starts[at - 1], sizeof held);
            memcpy(starts[at - 1], held, sizeof held);
        }
    while (worth < count && worth < MOST_STARTS &&
           (worth < FEWEST_STARTS || expected[worth] < steps * log2(hopeless)))
        worth++;
    return worth;
}

/* What the nearest problem tells of the template: less, the further it is away. */
static void set_prior(struct mmt_arm *arm, const struct winner *nearest)
{
    static const double octaves = 4; /* at which it tells half as much */
    double best = mmt_journal_best(arm->arms->t->journal, &nearest->record->problem);
    arm->prior = pow(best / nearest->record->result.time.median,
                     steepness * exp2(-nearest->distance / octaves));
}

/* The best on the nearest problems, then the template's seeds that serve this one. */
static int list_starts(struct mmt_arm *arm, int (*out)[MMT_SEARCH_MAX_KNOBS])
{
    const struct mmt_template *template = arm->template;
    struct winner winners[256];
    int found = list_winners(arm, winners, 256), count = 0;
    if (found)
        set_prior(arm, &winners[0]);
    for (int i = 0; i < found && count < MOST_WINNERS; i++) {
        const struct mmt_config free = freed(arm, &winners[i].record->config);
        count += to_index(template, free.values, out[count]);
    }
    for (int i = 0; i < template->num_seeds && count < MOST_LISTED; i++) {
        struct mmt_config seed = { .template = template };
        memcpy(seed.values, template->seeds[i], sizeof seed.values);
        const struct mmt_config free = freed(arm, &seed);
        count += to_index(template, free.values, out[count]) && is_legal(arm, out[count]);
    }
    return sort_starts(arm, out, better_starts(arm, out, count));
}

/* ---- making and freeing ---------------------------------------------------------- */

static mmt_status start_arm(struct mmt_arm *arm, mmt_error *err)
{
    const struct mmt_tuning *t = arm->arms->t;
    int starts[MOST_LISTED][MMT_SEARCH_MAX_KNOBS];
    arm->best = arm->limit = INFINITY;
    describe_space(arm);
    int count = list_starts(arm, starts);
    arm->search = mmt_search_create(t->options.search, &arm->space,
                                    (uint64_t) t->options.seed + (uint64_t) arm->place,
                                    starts, count, err);
    return arm->search ? MMT_OK : err->status;
}

bool mmt_tune_is_meant(const struct mmt_tuning *t, const struct mmt_template *template,
                       const mmt_problem *problem)
{
    if (t->options.template && t->options.template != template)
        return false;
    if (t->options.template)
        return template->dialects & t->caps.dialect &&
               mmt_type_in(problem->type, template->types) && template->op == problem->op;
    return mmt_config_meant(template, problem, &t->caps);
}

static void tell_journal(struct mmt_arms *arms)
{
    size_t count;
    const struct mmt_record *records = mmt_journal_records(arms->t->journal, &count);
    for (size_t i = 0; i < count; i++)
        if (mmt_record_is_candidate(&records[i]) &&
            mmt_journal_stands(arms->t->journal, &records[i]) &&
            mmt_problem_equal(&records[i].problem, arms->problem))
            mmt_arms_tell(arms, &records[i].config, &records[i].result);
}

mmt_status mmt_arms_create(struct mmt_tuning *t, const mmt_problem *problem,
                           struct mmt_arms *out, mmt_error *err)
{
    mmt_status status = MMT_OK;
    *out = (struct mmt_arms){ .t = t, .problem = problem, .best = INFINITY };
    out->list = calloc(MMT_MAX_TEMPLATES, sizeof *out->list);
    if (!out->list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the templates' spaces");
    for (int i = 0; !status && mmt_templates[i] && i < MMT_MAX_TEMPLATES; i++) {
        if (!mmt_tune_is_meant(t, mmt_templates[i], problem))
            continue;
        struct mmt_arm *arm = &out->list[out->count++];
        *arm = (struct mmt_arm){ .arms = out, .template = mmt_templates[i], .place = i };
        status = start_arm(arm, err);
    }
    if (status)
        mmt_arms_free(out);
    else
        tell_journal(out);
    return status;
}

bool mmt_arms_only(const struct mmt_arms *arms, const char *template)
{
    for (int i = 0; i < arms->count; i++)
        if (strcmp(arms->list[i].template->name, template))
            return false;
    return true;
}

void mmt_arms_free(struct mmt_arms *arms)
{
    for (int i = 0; i < arms->count; i++)
        mmt_search_free(arms->list[i].search);
    free(arms->list);
    arms->list = NULL;
    arms->count = 0;
}

/* ---- asking and telling ---------------------------------------------------------- */

/* A template's part of the tries: next to nothing where its best is far behind. A few
 * candidates say less of it than many. */
static double weight(const struct mmt_arm *arm)
{
    static const double least = 0.005;
    double share = arm->heard < PATIENCE ? 1 : 0;
    if (isfinite(arm->best))
        share = pow(arm->arms->best / arm->best,
                    steepness * fmin(1, (double) arm->heard / PATIENCE));
    else if (arm->prior > 0)
        share = arm->prior;
    return fmax(share, least);
}

/* The template with the least is tried next. Each is tried once; then the best guess,
 * which stands first, goes on until more is known of the others. */
static double dues(const struct mmt_arm *arm)
{
    bool unknown = arm->heard == 0 && arm->prior == 0;
    if (arm->asked == 0 && unknown)
        return 0;
    if (unknown && arm != arm->arms->list)
        return 1e6 * (arm->asked + 1);
    return (arm->asked + 1) / weight(arm);
}

static struct mmt_arm *most_promising(struct mmt_arms *arms)
{
    struct mmt_arm *next = NULL;
    for (int i = 0; i < arms->count; i++) {
        struct mmt_arm *arm = &arms->list[i];
        if (!arm->exhausted && (!next || dues(arm) < dues(next)))
            next = arm;
    }
    return next;
}

/* Looked at anew now and then; an exhaustive search leaves nothing out. */
static void set_limit(struct mmt_arm *arm)
{
    const struct mmt_tuning *t = arm->arms->t;
    if (arm->asked % 16 == 0 && strcmp(t->options.search, "exhaustive"))
        arm->limit =
            mmt_guide_limit(t->journal, t->profile, arm->arms->problem, arm->template);
}

bool mmt_arms_ask(struct mmt_arms *arms, struct mmt_config *out)
{
    int index[MMT_SEARCH_MAX_KNOBS] = { 0 };
    for (struct mmt_arm *arm; (arm = most_promising(arms));) {
        set_limit(arm);
        arm->exhausted = !mmt_search_ask(arm->search, index);
        if (arm->exhausted)
            continue;
        arm->asked++;
        to_config(arm, index, out);
        return true;
    }
    return false;
}

bool mmt_arms_doubt(const struct mmt_arms *arms, const struct mmt_config *config)
{
    for (int i = 0; i < arms->count; i++)
        if (arms->list[i].template == config->template)
            return isfinite(arms->best) && !(arms->list[i].best < 4 * arms->best);
    return true;
}

void mmt_arms_tell(struct mmt_arms *arms, const struct mmt_config *config,
                   const struct mmt_result *result)
{
    int index[MMT_SEARCH_MAX_KNOBS];
    double seconds = result->outcome == MMT_TIMED ? result->time.median : INFINITY;
    for (int i = 0; i < arms->count; i++) {
        struct mmt_arm *arm = &arms->list[i];
        arm->exhausted = arm->exhausted && arm->template != config->template;
        if (arm->template != config->template ||
            !to_index(arm->template, config->values, index))
            continue;
        mmt_search_tell(arm->search, index, seconds);
        arm->heard++;
        arm->best = fmin(arm->best, seconds);
        if (seconds < arms->best) {
            arms->best = seconds;
            arms->best_mhz = result->clock_mhz;
            arms->best_config = *config;
        }
    }
}
