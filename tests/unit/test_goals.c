/* Which problems a run tunes, in which order, and how its time is dealt out among them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "costmodel/costmodel.h"
#include "tests/support/test.h"
#include "tuner/tune/tune.h"

static char path[256];

static struct mmt_caps hopper(void)
{
    return (struct mmt_caps){
        .backend = "cuda",
        .architecture = "sm_90a",
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .sm = 90,
        .f64 = true,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .max_grid = { 2147483647, 65535, 65535 },
        .shared = 227 << 10,
        .shared_per_sm = 228 << 10,
        .registers = 65536,
        .registers_per_thread = 255,
        .registers_per_sm = 65536,
        .threads_per_sm = 2048,
        .blocks_per_sm = 32,
        .sms = 132,
        .warp = 32,
        .cache = 50 << 20,
        .memory = 141000000000,
        .clock_khz = 1980000,
    };
}

/* A run of `mmtune --device cuda:0` with that budget, before its first problem. */
static struct mmt_tuning *plan(double seconds, int64_t candidates, int type)
{
    static const struct mmt_roofline nothing_measured;
    static struct mmt_tuning t;
    mmt_error err;

    t = (struct mmt_tuning){
        .options = { .epilogue = MMT_EPILOGUE_NONE,
                     .budget = { .seconds = seconds, .candidates = candidates } },
        .caps = hopper(),
    };
    if (type >= 0)
        t.options.some_types = t.options.types[type] = true;
    mmt_tune_set_roofline(&t, &nothing_measured);
    CHECK_OK(mmt_tune_choose_types(&t, &err), err);
    CHECK_OK(mmt_tune_set_goals(&t, &err), err);
    return &t;
}

/* Types that are tuned: they have goals. */
static int count_types(const struct mmt_tuning *t)
{
    bool has[MMT_NUM_TYPES] = { false };
    int count = 0;
    for (int i = 0; i < t->num_goals; i++)
        has[t->goals[i].type] = true;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        count += has[type];
    return count;
}

static int count_goals(const struct mmt_tuning *t, mmt_type type)
{
    int count = 0;
    for (int i = 0; i < t->num_goals; i++)
        count += t->goals[i].type == type;
    return count;
}

/* The largest square of every type comes before any type's second problem. */
static void check_order(const struct mmt_tuning *t)
{
    int types = count_types(t);
    CHECK(t->num_goals >= types);
    for (int i = 0; i < types; i++) {
        const mmt_problem *p = &t->goals[i];
        CHECK(p->m == p->n && p->n == p->k && p->m == t->goals[0].m && p->m >= 2048);
        for (int j = 0; j < i; j++)
            CHECK(t->goals[j].type != p->type);
    }
    for (int i = types; i < t->num_goals; i++)
        CHECK(mmt_problem_flops(&t->goals[i]) <= mmt_problem_flops(&t->goals[0]));
}

/* Where every problem uses all that it is given: the shares add up to the time, a type's
 * first is about twice the others that set up no more data, of a type a problem of more
 * data and more arithmetic has no less than one of less, and none is too short to be of
 * use. */
static void check_shares(struct mmt_tuning *t, double seconds, double least)
{
    int types = count_types(t);
    double used = 0, first = 0, share[1024];
    CHECK(t->num_goals <= 1024);
    for (t->goal = 0; t->goal < t->num_goals; t->goal++) {
        t->goals_end = mmt_now() + seconds - used;
        double now = mmt_tune_share_time(t) - mmt_now();
        const mmt_problem *p = &t->goals[t->goal];
        double bytes = mmt_problem_bytes(p);
        first = t->goal == 0 ? now : first;
        CHECK(now >= 0.8 * least);
        if (t->goal >= types && bytes <= mmt_problem_bytes(&t->goals[0]))
            CHECK(now < 0.65 * first);
        for (int i = types; i < t->goal; i++)
            CHECK(p->type != t->goals[i].type ||
                  bytes < mmt_problem_bytes(&t->goals[i]) ||
                  mmt_problem_flops(p) < mmt_problem_flops(&t->goals[i]) ||
                  now > 0.98 * share[i]);
        share[t->goal] = now;
        used += now;
    }
    CHECK(fabs(used - seconds) < 0.02 * seconds);
}

/* Of problems with as much data the one that keeps the arithmetic busy has more time: its
 * finals are held at the power limit. */
static void test_hot_share(void)
{
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    mmt_problem goals[] = { mmt_gemm_problem(MMT_F32, 512, 512, 512),
                            mmt_gemm_problem(MMT_F32, 4096, 4096, 4096),
                            mmt_gemm_problem(MMT_F32, 1, 7093, 7093) };
    double shares[2];
    free(t->goals);
    t->goals = goals;
    t->num_goals = 3;
    t->roofline.bandwidth = 4e12;
    for (int i = 0; i < 2; i++) {
        const mmt_problem second = goals[1];
        t->goal = 1;
        t->goals_end = mmt_now() + 30;
        shares[i] = mmt_tune_share_time(t) - mmt_now();
        goals[1] = goals[2];
        goals[2] = second;
    }
    CHECK(shares[0] > shares[1] + 1 && shares[0] < shares[1] + 2);
}

enum { FAMILIES = 6 };

/* The first type of each family, all with as many problems. */
static void test_all_types(void)
{
    struct mmt_tuning *t = plan(300, 0, -1);
    const int each = count_goals(t, MMT_F32);
    CHECK_EQ_INT(count_types(t), FAMILIES);
    check_order(t);
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        const bool first = mmt_type_family((mmt_type) type) == (mmt_type) type;
        CHECK(t->options.types[type]);
        CHECK_EQ_INT(count_goals(t, (mmt_type) type), first ? each : 0);
    }
    CHECK(each > 1);
    check_shares(t, 246, 3);
    free(t->goals);
}

/* Too short for two problems of each: still one of each family. */
static void test_short(void)
{
    struct mmt_tuning *t = plan(30, 0, -1);
    CHECK_EQ_INT(t->num_goals, FAMILIES);
    check_order(t);
    free(t->goals);
}

/* A type that somebody names is tuned, whatever its family. */
static void test_named_type(void)
{
    struct mmt_tuning *t = plan(300, 0, MMT_F16);
    CHECK(t->num_goals > 1 && count_goals(t, MMT_F16) == t->num_goals);
    free(t->goals);
    t->options.types[MMT_BF16] = true;
    mmt_error err;
    CHECK_OK(mmt_tune_choose_types(t, &err), err);
    t->goals = NULL, t->num_goals = 0;
    CHECK_OK(mmt_tune_set_goals(t, &err), err);
    CHECK(count_goals(t, MMT_F16) > 1);
    CHECK_EQ_INT(count_goals(t, MMT_BF16), count_goals(t, MMT_F16));
    free(t->goals);
}

/* A type that is alone has the whole suite, and the other transposes of its first. */
static void test_one_type(void)
{
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    int transposed = 0;
    CHECK_EQ_INT(t->num_goals, MMT_DEFAULT_SHAPES + 3);
    for (int i = 0; i < t->num_goals; i++)
        transposed += t->goals[i].trans_a || t->goals[i].trans_b;
    CHECK_EQ_INT(transposed, 3);
    check_order(t);
    check_shares(t, 246, 15);
    free(t->goals);
}

static void test_candidates(void)
{
    struct mmt_tuning *t = plan(0, 60, MMT_F32);
    CHECK_EQ_INT(t->num_goals, 5);
    t->candidates_left = 60;
    CHECK_EQ_INT(mmt_tune_share_candidates(t), 20);
    for (t->goal = 0; t->goal < t->num_goals; t->goal++)
        t->candidates_left -= mmt_tune_share_candidates(t);
    CHECK_EQ_INT(t->candidates_left, 0);
    free(t->goals);
}

/* ---- exploration ----------------------------------------------------------------- */

/* With so many seconds behind the goals, and what earlier runs have left in the journal;
 * returns how many shapes are searched there. */
static int explore(struct mmt_tuning *t, double seconds, struct mmt_journal *journal)
{
    mmt_error err;
    t->journal = journal;
    t->roofline.bandwidth = 4e12;
    t->goals_end = mmt_now() + 100;
    t->ends = t->goals_end + seconds;
    CHECK_OK(mmt_tune_plan_exploration(t, &err), err);
    CHECK(t->exploration_end >= t->goals_end &&
          t->exploration_end < t->goals_end + seconds / 2);
    return t->num_explored;
}

/* As many of each type and transposes of the goals; none is a goal, none is another's
 * transpose, none is nothing but a launch, and none takes long to set up. Goals stay what
 * they were. */
static void test_exploration(struct mmt_journal *journal)
{
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    const int goals = t->num_goals, kinds = mmt_tune_count_kinds(t);
    CHECK_EQ_INT(kinds, 4);
    CHECK_EQ_INT(explore(t, 135, journal) % kinds, 0);
    CHECK(t->num_explored >= 8 * kinds);
    CHECK_EQ_INT(t->num_goals, goals);
    for (int i = goals; i < goals + t->num_explored; i++) {
        int alike = 0;
        for (int j = goals; j < goals + t->num_explored; j++) {
            alike += mmt_same_kind(&t->goals[i], &t->goals[j]);
            CHECK(i == j || t->goals[i].m != t->goals[j].m ||
                  t->goals[i].n != t->goals[j].n || t->goals[i].k != t->goals[j].k);
        }
        CHECK_EQ_INT(alike, t->num_explored / kinds);
        CHECK(!mmt_tune_is_goal(t, &t->goals[i]));
        CHECK(mmt_tune_setting_up(&t->goals[i]) < 0.5);
        CHECK(mmt_problem_flops(&t->goals[i]) > 1e6 ||
              mmt_problem_bytes(&t->goals[i]) > 1e6);
    }
    free(t->goals);
}

/* Five candidates were tried at each of those shapes: the next run searches at others. */
static void try_all(struct mmt_journal *journal, const mmt_problem *problems, int count)
{
    mmt_error err;
    for (int i = 0; i < 5 * count; i++) {
        struct mmt_record record = { .problem = problems[i / 5] };
        record.config.template = mmt_template_find("simt");
        memcpy(record.config.values, record.config.template->seeds[i % 5],
               sizeof record.config.values);
        record.result.time.median = 1e-5;
        record.result.time.samples = 5;
        CHECK_OK(mmt_journal_add(journal, &record, &err), err);
    }
}

static void test_next_exploration(struct mmt_journal *journal)
{
    enum { MOST = 64 };
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    const int goals = t->num_goals, before = explore(t, 135, journal);
    mmt_problem known[MOST];
    if (!CHECK(before > 0 && before <= MOST))
        return;
    memcpy(known, t->goals + goals, (size_t) before * sizeof *known);
    free(t->goals);
    try_all(journal, known, before);

    t = plan(300, 0, MMT_F32);
    const int after = explore(t, 135, journal);
    int again = 0;
    CHECK_EQ_INT(after, before);
    for (int i = goals; i < goals + after; i++)
        for (int j = 0; j < before; j++)
            again += mmt_problem_equal(&t->goals[i], &known[j]);
    CHECK_EQ_INT(again, 0);
    free(t->goals);
}

/* Little time is for the goals, counted candidates too, and a CPU's compilers are slow.
 */
static void test_no_exploration(struct mmt_journal *journal)
{
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    CHECK_EQ_INT(explore(t, 6, journal), 0);
    t->caps.kind = MMT_CPU;
    CHECK_EQ_INT(explore(t, 135, journal), 0);
    free(t->goals);
    t = plan(0, 60, MMT_F32);
    t->ends = t->goals_end = INFINITY;
    mmt_error err;
    CHECK_OK(mmt_tune_plan_exploration(t, &err), err);
    CHECK_EQ_INT(t->num_explored, 0);
    free(t->goals);
}

/* Nor is there any for a family of which such a device has a portfolio. */
static void test_known_family(struct mmt_journal *journal)
{
    static const struct mmt_model model = { .family = MMT_F32, .shapes = 24 };
    struct mmt_tuning *t = plan(300, 0, MMT_F32);
    mmt_error err;
    t->layers = mmt_profile_create();
    CHECK(explore(t, 135, journal) > 0);
    CHECK_OK(mmt_profile_add_model(t->layers, &model, &err), err);
    t->num_explored = 0;
    CHECK_EQ_INT(explore(t, 135, journal), 0);
    mmt_profile_free(t->layers);
    free(t->goals);
}

/* ---- the finals ------------------------------------------------------------------ */

static struct mmt_record finalist(double us, int registers, int shared)
{
    return (struct mmt_record){ .result = { .outcome = MMT_TIMED,
                                            .time = { .median = us * 1e-6 },
                                            .registers = registers,
                                            .shared = shared } };
}

enum { ENTRANTS = 12 };

/* Twelve that are timed for f32 4096^3, each a hundredth behind the one before: ten of
 * one tile, one of another, and one that is far behind. */
static void enter(struct mmt_record entrants[ENTRANTS])
{
    mmt_error err;
    struct mmt_config one, other;
    CHECK_OK(mmt_config_parse("simt TILE_M=128 TILE_N=128", &one, &err), err);
    CHECK_OK(mmt_config_parse("simt TILE_M=256 TILE_N=128", &other, &err), err);
    for (int i = 0; i < ENTRANTS; i++) {
        entrants[i] = finalist(2600 * (1 + 0.01 * i), 128, 0);
        entrants[i].problem = mmt_gemm_problem(MMT_F32, 4096, 4096, 4096);
        entrants[i].config = i == 10 ? other : one;
    }
    entrants[11].result.time.median *= 2;
}

/* On a power-limited device another tile takes part before a fourth of the same; else the
 * five fastest do. */
static void test_finalists(void)
{
    struct mmt_tuning *t = plan(60, 0, MMT_F32);
    struct mmt_record entrants[ENTRANTS];

    enter(entrants);
    t->ceiling[MMT_F32] = 66.9e12;
    CHECK_EQ_INT(mmt_tune_select_finalists(t, entrants, ENTRANTS), 8);
    CHECK(mmt_cost_knob(&entrants[2].config, "TILE_M") == 128);
    CHECK(mmt_cost_knob(&entrants[3].config, "TILE_M") == 256);
    for (int i = 4; i < 8; i++)
        CHECK(mmt_cost_knob(&entrants[i].config, "TILE_M") == 128);
    CHECK(entrants[11].result.time.median > 2 * entrants[0].result.time.median);

    enter(entrants);
    t->ceiling[MMT_F32] = 669e12; /* a tenth of that: cool */
    CHECK_EQ_INT(mmt_tune_select_finalists(t, entrants, ENTRANTS), 5);
    for (int i = 0; i < 5; i++)
        CHECK(mmt_cost_knob(&entrants[i].config, "TILE_M") == 128);
    free(t->goals);
}

/* Three that were timed for a problem, of which the first two were in finals twice. */
static void hold_finals(struct mmt_journal *journal, struct mmt_record tried[3])
{
    static const double final_us[] = { 10, 11, 12, 11.5 };
    mmt_error err;
    for (int i = 0; i < 3; i++) {
        tried[i] = finalist(10 + i, 128, 0);
        tried[i].result.time.samples = 5;
        tried[i].problem = mmt_gemm_problem(MMT_F32, 512, 512, 512);
        tried[i].config.template = mmt_template_find("simt");
        memcpy(tried[i].config.values, tried[i].config.template->seeds[i],
               sizeof tried[i].config.values);
        CHECK_OK(mmt_problem_normalise(&tried[i].problem, &tried[i].problem, &err), err);
        CHECK_OK(mmt_journal_add(journal, &tried[i], &err), err);
        tried[i].earlier = true;
    }
    for (int i = 0; i < 4; i++) {
        struct mmt_record again = tried[i % 2];
        again.final = true;
        again.result.time.median = final_us[i] * 1e-6;
        CHECK_OK(mmt_journal_add(journal, &again, &err), err);
    }
}

/* The same finals are not held again, as long as the profile has the winner. */
static void test_decided(struct mmt_journal *journal)
{
    struct mmt_tuning *t = plan(60, 0, MMT_F32);
    struct mmt_record tried[3], winner;
    mmt_error err;

    hold_finals(journal, tried);
    t->journal = journal;
    t->profile = mmt_profile_create();
    CHECK(!mmt_tune_is_decided(t, tried, 2, &winner));

    struct mmt_entry entry = { .problem = tried[1].problem, .config = tried[1].config };
    entry.time.median = 11e-6;
    CHECK_OK(mmt_profile_add_entry(t->profile, &entry, &err), err);
    CHECK(mmt_tune_is_decided(t, tried, 2, &winner));
    CHECK(mmt_config_equal(&winner.config, &tried[1].config));
    CHECK(winner.final && winner.result.time.median == 11.5 * 1e-6);
    CHECK(!mmt_tune_is_decided(t, tried, 1, &winner)); /* the winner is not among them */
    CHECK(!mmt_tune_is_decided(t, tried, 3, &winner)); /* one was in no finals */
    tried[0].earlier = false;
    CHECK(!mmt_tune_is_decided(t, tried, 2, &winner));
    mmt_profile_free(t->profile);
    free(t->goals);
}

/* Tensor cores raise what f32 and i32 may reach, six products of bf16 or ten of bytes for
 * one; suites are made by what FMAs reach. */
static void test_roofs(void)
{
    struct mmt_tuning *t = plan(60, 0, MMT_F32);

    CHECK(fabs(t->roofline.peak_flops[MMT_F32] / (t->roofline.peak_flops[MMT_BF16] / 6) -
               1) < 1e-12);
    CHECK(fabs(t->roofline.peak_flops[MMT_I32] / (t->roofline.peak_flops[MMT_I8] / 10) -
               1) < 1e-12);
    CHECK(t->roofline.peak_flops[MMT_F32] > 2 * mmt_derived_peak(&t->caps, MMT_F32));
    CHECK_EQ_INT(t->goals[0].n, 4096);
    t->caps.sm = 100; /* has no such kernel */
    CHECK(mmt_derived_roof(&t->caps, MMT_F32) == mmt_derived_peak(&t->caps, MMT_F32));
    CHECK(mmt_derived_roof(&t->caps, MMT_I32) == mmt_derived_peak(&t->caps, MMT_I32));
    free(t->goals);
}

/* A tie goes to the one that spends less; what is slower does not win by spending less.
 */
static void test_ties(void)
{
    const struct mmt_record apart[] = { finalist(100, 128, 0), finalist(101, 32, 0) };
    const struct mmt_record tied[] = { finalist(100, 128, 4096),
                                       finalist(100.2, 64, 8192),
                                       finalist(100.4, 64, 4096), finalist(100.6, 8, 0) };
    const struct mmt_record unknown[] = { finalist(100, 32, 0), finalist(100.1, -1, -1) };
    CHECK(mmt_tune_favourite(apart, 2) == &apart[0]);
    CHECK(mmt_tune_favourite(tied, 1) == &tied[0]);
    CHECK(mmt_tune_favourite(tied, 2) == &tied[1]);
    CHECK(mmt_tune_favourite(tied, 4) == &tied[2]);
    CHECK(mmt_tune_favourite(unknown, 2) == &unknown[0]);
}

/* A run with one shape. */
static struct mmt_tuning *plan_shape(double seconds, const char *shape)
{
    static struct mmt_tuning t;
    static struct mmt_shape range;
    mmt_error err;
    CHECK_OK(mmt_option_range(shape, MMT_GEMM, &range, &err), err);
    t = (struct mmt_tuning){ .options = { .epilogue = MMT_EPILOGUE_NONE,
                                          .budget = { .seconds = seconds },
                                          .transposes = MMT_NN | MMT_TN,
                                          .shapes = &range,
                                          .num_shapes = 1 },
                             .caps = hopper() };
    t.options.some_types = t.options.types[MMT_F32] = t.options.types[MMT_F64] = true;
    CHECK_OK(mmt_tune_set_goals(&t, &err), err);
    return &t;
}

/* Of each type and transposes a range, and eight of its m as goals; fewer in a short run,
 * but both ends and one between. */
static void test_range(void)
{
    struct mmt_tuning *t = plan_shape(600, "7-8192x512x256x2");
    CHECK_EQ_INT(t->num_ranges, 4);
    CHECK_EQ_INT(t->num_goals, 4 * 8);
    for (int i = 0; i < t->num_ranges; i++) {
        const struct mmt_tune_range *range = &t->ranges[i];
        const mmt_problem last = mmt_problem_with_m(&range->problem, range->m_to);
        CHECK(range->problem.m == 7 && range->m_to == 8192 && range->problem.batch == 2);
        CHECK(mmt_tune_is_goal(t, &range->problem) && mmt_tune_is_goal(t, &last));
    }
    CHECK(mmt_tune_ranges_seconds(t) > 0 && mmt_tune_ranges_seconds(t) < 300);
    free(t->goals);
    free(t->ranges);

    t = plan_shape(20, "1-64x64x64");
    CHECK_EQ_INT(t->num_goals, 4 * 3);
    free(t->goals);
    free(t->ranges);

    t = plan_shape(20, "64x64x64");
    CHECK(t->num_ranges == 0 && mmt_tune_ranges_seconds(t) == 0);
    free(t->goals);
}

int main(void)
{
    test_ties();
    test_finalists();
    test_roofs();
    test_all_types();
    test_hot_share();
    test_short();
    test_named_type();
    test_one_type();
    test_candidates();
    test_range();
    const struct mmt_caps caps = hopper();
    char folder[] = "/tmp/mmtune-test-goals-XXXXXX", file[300];
    mmt_error err;
    if (!CHECK(mkdtemp(folder)))
        return test_end("goals");
    snprintf(path, sizeof path, "%s/p.json", folder);
    struct mmt_journal *journal = mmt_journal_open(path, &caps, true, &err);
    if (CHECK(journal != NULL)) {
        test_exploration(journal);
        test_no_exploration(journal);
        test_known_family(journal);
        test_next_exploration(journal);
        test_decided(journal);
    }
    mmt_journal_close(journal);
    snprintf(file, sizeof file, "%s.journal", path);
    remove(file);
    remove(folder);
    return test_end("goals");
}
