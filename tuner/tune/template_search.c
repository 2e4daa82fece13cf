/* A problem's templates, each a space of its own to search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/model/pruning.h"
#include "tuner/search/search.h"
#include "tuner/tune/template_search.h"

/* The search of one template's space for one problem. */
struct mmt_template_search {
    const struct mmt_template_searches *all;
    const struct mmt_template *template;
    int place; /* in mmt_templates */
    struct mmt_search_space space;
    int num_values[MMT_MAX_KNOBS];
    const char *names[MMT_MAX_KNOBS];
    double values[MMT_MAX_KNOBS][MMT_MAX_VALUES];
    const double *rows[MMT_MAX_KNOBS];
    struct mmt_search *space_search;
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
    MOST_NAMED = 10, /* by the template, for the problem */
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

static void to_config(const struct mmt_template_search *search, const int *index,
                      struct mmt_config *out)
{
    *out = (struct mmt_config){ .template = search->template };
    for (int i = 0; i < search->template->num_knobs; i++)
        out->values[i] = search->template->knobs[i].values[index[i]];
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

static struct mmt_config resolve_config(const struct mmt_template_search *search,
                                        const struct mmt_config *config)
{
    return mmt_config_resolve(config, search->all->problem,
                              &search->all->run->device.caps);
}

/* The same kernel for this problem, with as much as possible auto. */
static struct mmt_config leave_auto(const struct mmt_template_search *search,
                                    const struct mmt_config *config)
{
    const struct mmt_config same = resolve_config(search, config);
    struct mmt_config free = *config;
    for (int i = 0; i < search->template->num_knobs; i++) {
        const int held = free.values[i];
        if (!search->template->knobs[i].automatic)
            continue;
        free.values[i] = search->template->knobs[i].values[0];
        const struct mmt_config now = resolve_config(search, &free);
        if (!mmt_config_equal(&now, &same))
            free.values[i] = held;
    }
    return free;
}

/* A value that a knob would resolve to anyway is tried as `auto`, and not once more. */
static bool bind_legal(const struct mmt_template_search *search, const int *index,
                       struct mmt_bound *bound)
{
    struct mmt_config config;
    to_config(search, index, &config);
    const struct mmt_config free = leave_auto(search, &config);
    return mmt_config_equal(&free, &config) &&
           mmt_tune_allows(search->all->run, search->all->problem, &config) &&
           mmt_bind(&config, search->all->problem, &search->all->run->device.caps,
                    bound) &&
           (isinf(search->limit) || mmt_cost_estimate_bound(bound) <= search->limit);
}

static bool is_legal(void *ctx, const int *index)
{
    struct mmt_bound bound;
    return bind_legal(ctx, index, &bound);
}

/* What the launch tells of any template: threads, blocks, how full the last wave is,
 * shared memory, and blocks that a multiprocessor can hold. Logarithms, as sizes
 * multiply. */
static int describe_launch(void *ctx, const int *index, double *out)
{
    const struct mmt_template_search *search = ctx;
    const struct mmt_caps *caps = &search->all->run->device.caps;
    struct mmt_config config;
    struct mmt_bound bound;
    to_config(search, index, &config);
    mmt_bind_known(&config, search->all->problem, caps, &bound);
    const struct mmt_launch *main = mmt_cost_multiplying(&bound.launches);
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
    out[count++] = log2(mmt_cost_estimate_bound(&bound));
    return count;
}

/* To a search, what is auto is as large as the problem makes it. */
static double value_of(const struct mmt_template_search *search, int knob, int place)
{
    struct mmt_config config = { .template = search->template };
    if (!search->template->knobs[knob].automatic)
        return search->template->knobs[knob].values[place];
    memcpy(config.values, search->template->seeds[0], sizeof config.values);
    config.values[knob] = search->template->knobs[knob].values[place];
    return resolve_config(search, &config).values[knob];
}

static void describe_space(struct mmt_template_search *search)
{
    const struct mmt_template *template = search->template;
    for (int i = 0; i < template->num_knobs; i++) {
        search->num_values[i] = template->knobs[i].num_values;
        search->names[i] = template->knobs[i].name;
        search->rows[i] = search->values[i];
        for (int j = 0; j < search->num_values[i]; j++)
            search->values[i][j] = value_of(search, i, j);
    }
    search->space = (struct mmt_search_space){
        .num_knobs = template->num_knobs,
        .num_values = search->num_values,
        .names = search->names,
        .values = search->rows,
        .legal = is_legal,
        .features = describe_launch,
        .ctx = search,
    };
}

/* ---- where to start -------------------------------------------------------------- */

/* How unlike two problems are, in octaves or so, for one's winner to be tried on the
 * other. */
static double distance_of(const mmt_problem *a, const mmt_problem *b)
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

static int compare_distance(const void *left, const void *right)
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
static int list_winners(const struct mmt_template_search *search, struct winner *out,
                        int most)
{
    size_t all;
    const struct mmt_record *records =
        mmt_journal_records(search->all->run->files.journal, &all);
    int count = 0;
    for (size_t i = 0; i < all; i++) {
        const struct mmt_record *r = &records[i];
        if (r->config.template != search->template || !mmt_record_is_candidate(r) ||
            r->result.outcome != MMT_TIMED)
            continue;
        struct winner *known = find_winner(out, count, &r->problem);
        if (known && r->result.time.median < known->record->result.time.median)
            known->record = r;
        else if (!known && count < most)
            out[count++] =
                (struct winner){ distance_of(&r->problem, search->all->problem), r };
    }
    qsort(out, (size_t) count, sizeof *out, compare_distance);
    return count;
}

/* Starting points with what their launches let expect; stands behind all where illegal.
 */
static double estimate_start(struct mmt_template_search *search, const int *index)
{
    struct mmt_bound bound;
    return bind_legal(search, index, &bound) ? mmt_cost_estimate_bound(&bound) : INFINITY;
}

/* The step, one knob to another value, after which the estimate is least; false where
 * none makes it a tenth less. */
static bool step_down(struct mmt_template_search *search, int *index, double *expected)
{
    double least = 0.9 * *expected;
    int knob = -1, value = 0;
    for (int i = 0; i < search->space.num_knobs; i++) {
        const int held = index[i];
        for (index[i] = 0; index[i] < search->num_values[i]; index[i]++) {
            double now = index[i] == held ? INFINITY : estimate_start(search, index);
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
static int better_starts(struct mmt_template_search *search,
                         int (*starts)[MMT_SEARCH_MAX_KNOBS], int count)
{
    int first = count < MOST_BETTERED ? count : MOST_BETTERED;
    if (search->all->run->device.caps.kind == MMT_CPU)
        return count;
    for (int i = 0; i < first && count < MOST_LISTED; i++) {
        double expected = estimate_start(search, starts[i]);
        memcpy(starts[count], starts[i], sizeof *starts);
        while (isfinite(expected) && step_down(search, starts[count], &expected))
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
static int sort_starts(struct mmt_template_search *search,
                       int (*starts)[MMT_SEARCH_MAX_KNOBS], int count)
{
    double expected[MOST_LISTED], least = INFINITY;
    double steps = search->all->run->device.caps.kind == MMT_CPU ? 1 : 3; /* an octave */
    int worth = 0;
    for (int i = 0; i < count; i++)
        least = fmin(least, expected[i] = estimate_start(search, starts[i]));
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
static void set_prior(struct mmt_template_search *search, const struct winner *nearest)
{
    static const double octaves = 4; /* at which it tells half as much */
    double best =
        mmt_journal_best(search->all->run->files.journal, &nearest->record->problem);
    search->prior = pow(best / nearest->record->result.time.median,
                        steepness * exp2(-nearest->distance / octaves));
}

/* Behind `count` starts those that the template names for this problem, the best first;
 * returns how many there are then. */
static int add_candidates(struct mmt_template_search *search,
                          int (*out)[MMT_SEARCH_MAX_KNOBS], int count)
{
    const struct mmt_template *template = search->template;
    struct mmt_candidate list[MOST_NAMED];
    const int named =
        template->candidates
            ? template->candidates(search->all->problem, &search->all->run->device.caps,
                                   list, MOST_NAMED)
            : 0;
    for (int i = 0; i < named; i++)
        count += to_index(template, list[i].values, out[count]) &&
                 is_legal(search, out[count]);
    return count;
}

/* The best on the nearest problems, then what the template names for this one, or its
 * seeds that serve it. */
static int list_starts(struct mmt_template_search *search,
                       int (*out)[MMT_SEARCH_MAX_KNOBS])
{
    const struct mmt_template *template = search->template;
    struct winner winners[256];
    int found = list_winners(search, winners, 256), count = 0;
    if (found)
        set_prior(search, &winners[0]);
    for (int i = 0; i < found && count < MOST_WINNERS; i++) {
        const struct mmt_config free = leave_auto(search, &winners[i].record->config);
        count += to_index(template, free.values, out[count]);
    }
    const int with_named = add_candidates(search, out, count);
    if (with_named > count)
        return with_named;
    for (int i = 0; i < template->num_seeds && count < MOST_LISTED; i++) {
        struct mmt_config seed = { .template = template };
        memcpy(seed.values, template->seeds[i], sizeof seed.values);
        const struct mmt_config free = leave_auto(search, &seed);
        count +=
            to_index(template, free.values, out[count]) && is_legal(search, out[count]);
    }
    return sort_starts(search, out, better_starts(search, out, count));
}

/* ---- making and freeing ---------------------------------------------------------- */

static mmt_status start_search(struct mmt_template_search *search, mmt_error *err)
{
    const struct mmt_run *run = search->all->run;
    int starts[MOST_LISTED][MMT_SEARCH_MAX_KNOBS];
    search->best = search->limit = INFINITY;
    describe_space(search);
    int count = list_starts(search, starts);
    search->space_search = mmt_search_create(
        run->options.search, &search->space,
        (uint64_t) run->options.seed + (uint64_t) search->place, starts, count, err);
    return search->space_search ? MMT_OK : err->status;
}

static void tell_journal(struct mmt_template_searches *searches)
{
    const struct mmt_journal *journal = searches->run->files.journal;
    const struct mmt_record *r = mmt_journal_first(journal, searches->problem);
    for (; r; r = mmt_journal_next(journal, r))
        if (mmt_record_is_candidate(r) && mmt_journal_stands(journal, r) &&
            mmt_tune_allows(searches->run, searches->problem, &r->config))
            mmt_searches_tell(searches, &r->config, &r->result);
}

mmt_status mmt_searches_create(struct mmt_run *run, const mmt_problem *problem,
                               struct mmt_template_searches *out, mmt_error *err)
{
    mmt_status status = MMT_OK;
    *out = (struct mmt_template_searches){ .run = run,
                                           .problem = problem,
                                           .best = INFINITY };
    out->list = calloc(MMT_MAX_TEMPLATES, sizeof *out->list);
    if (!out->list)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the templates' spaces");
    for (int i = 0; !status && mmt_templates[i] && i < MMT_MAX_TEMPLATES; i++) {
        if (!mmt_tune_is_meant(run, mmt_templates[i], problem))
            continue;
        struct mmt_template_search *search = &out->list[out->count++];
        *search = (struct mmt_template_search){ .all = out,
                                                .template = mmt_templates[i],
                                                .place = i };
        status = start_search(search, err);
    }
    if (status)
        mmt_searches_free(out);
    else
        tell_journal(out);
    return status;
}

bool mmt_searches_only(const struct mmt_template_searches *searches, const char *template)
{
    for (int i = 0; i < searches->count; i++)
        if (strcmp(searches->list[i].template->name, template))
            return false;
    return true;
}

void mmt_searches_free(struct mmt_template_searches *searches)
{
    for (int i = 0; i < searches->count; i++)
        mmt_search_free(searches->list[i].space_search);
    free(searches->list);
    searches->list = NULL;
    searches->count = 0;
}

/* ---- asking and telling ---------------------------------------------------------- */

/* A template's part of the tries: next to nothing where its best is far behind. A few
 * candidates say less of it than many. */
static double share_of_tries(const struct mmt_template_search *search)
{
    static const double least = 0.005;
    double share = search->heard < PATIENCE ? 1 : 0;
    if (isfinite(search->best))
        share = pow(search->all->best / search->best,
                    steepness * fmin(1, (double) search->heard / PATIENCE));
    else if (search->prior > 0)
        share = search->prior;
    return fmax(share, least);
}

/* The template with the least is tried next. Each is tried once; then the best guess,
 * which stands first, goes on until more is known of the others. */
static double priority_of(const struct mmt_template_search *search)
{
    bool unknown = search->heard == 0 && search->prior == 0;
    if (search->asked == 0 && unknown)
        return 0;
    if (unknown && search != search->all->list)
        return 1e6 * (search->asked + 1);
    return (search->asked + 1) / share_of_tries(search);
}

static struct mmt_template_search *most_promising(struct mmt_template_searches *searches)
{
    struct mmt_template_search *next = NULL;
    for (int i = 0; i < searches->count; i++) {
        struct mmt_template_search *search = &searches->list[i];
        if (!search->exhausted && (!next || priority_of(search) < priority_of(next)))
            next = search;
    }
    return next;
}

/* Looked at anew now and then; an exhaustive search leaves nothing out. */
static void set_limit(struct mmt_template_search *search)
{
    const struct mmt_run *run = search->all->run;
    if (search->asked % 16 == 0 && strcmp(run->options.search, "exhaustive"))
        search->limit = mmt_pruning_limit(run->files.journal, run->files.profile,
                                          search->all->problem, search->template);
}

bool mmt_searches_ask(struct mmt_template_searches *searches, struct mmt_config *out)
{
    int index[MMT_SEARCH_MAX_KNOBS] = { 0 };
    for (struct mmt_template_search *search; (search = most_promising(searches));) {
        set_limit(search);
        search->exhausted = !mmt_search_ask(search->space_search, index);
        if (search->exhausted)
            continue;
        search->asked++;
        to_config(search, index, out);
        return true;
    }
    return false;
}

bool mmt_searches_is_low_priority(const struct mmt_template_searches *searches,
                                  const struct mmt_config *config)
{
    for (int i = 0; i < searches->count; i++)
        if (searches->list[i].template == config->template)
            return isfinite(searches->best) &&
                   !(searches->list[i].best < 4 * searches->best);
    return true;
}

void mmt_searches_tell(struct mmt_template_searches *searches,
                       const struct mmt_config *config, const struct mmt_result *result)
{
    int index[MMT_SEARCH_MAX_KNOBS];
    double seconds = result->outcome == MMT_TIMED ? result->time.median : INFINITY;
    for (int i = 0; i < searches->count; i++) {
        struct mmt_template_search *search = &searches->list[i];
        search->exhausted = search->exhausted && search->template != config->template;
        if (search->template != config->template ||
            !to_index(search->template, config->values, index))
            continue;
        mmt_search_tell(search->space_search, index, seconds);
        search->heard++;
        search->best = fmin(search->best, seconds);
        if (seconds < searches->best) {
            searches->best = seconds;
            searches->best_mhz = result->clock_mhz;
            searches->best_config = *config;
        }
    }
}
