/* Which problems a run tunes, in which order, and how its time is dealt out among them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/peak.h"
#include "costmodel/costmodel.h"
#include "tests/support/planted_clock.h"
#include "tests/support/folder.h"
#include "tests/support/caps.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/tune/finals.h"
#include "tuner/tune/goals.h"
#include "tuner/tune/phases.h"
#include "tuner/tune/roofline.h"

static const char *path;

/* A run of `mmtune --device cuda:0` with that budget, before its first problem. */
static struct mmt_run *plan(double seconds, int64_t candidates, int type)
{
    static const struct mmt_roofline nothing_measured;
    static struct mmt_run run;

    run = (struct mmt_run){
        .options = { .epilogue = MMT_EPILOGUE_NONE,
                     .budget = { .seconds = seconds, .candidates = candidates } },
        .device.caps = hopper_caps(132),
    };
    if (type >= 0)
        run.options.some_types = run.options.types[type] = true;
    mmt_tune_set_roofline(&run, &nothing_measured);
    CHECK_OK(mmt_tune_choose_types(&run, &err), err);
    CHECK_OK(mmt_tune_set_goals(&run, &err), err);
    return &run;
}

/* Types that are tuned: they have goals. */
static int count_types(const struct mmt_run *run)
{
    bool has[MMT_NUM_TYPES] = { false };
    int count = 0;
    for (int i = 0; i < run->goals.count; i++)
        has[run->goals.list[i].type] = true;
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        count += has[type];
    return count;
}

static int count_goals(const struct mmt_run *run, mmt_type type)
{
    int count = 0;
    for (int i = 0; i < run->goals.count; i++)
        count += run->goals.list[i].type == type;
    return count;
}

/* The largest square of every type comes before any type's second problem. */
static void check_order(const struct mmt_run *run)
{
    int types = count_types(run);
    CHECK(run->goals.count >= types);
    for (int i = 0; i < types; i++) {
        const mmt_problem *p = &run->goals.list[i];
        CHECK(p->m == p->n && p->n == p->k && p->m == run->goals.list[0].m &&
              p->m >= 2048);
        for (int j = 0; j < i; j++)
            CHECK(run->goals.list[j].type != p->type);
    }
    for (int i = types; i < run->goals.count; i++)
        CHECK(mmt_problem_flops(&run->goals.list[i]) <=
              mmt_problem_flops(&run->goals.list[0]));
}

/* Where every problem uses all that it is given: the shares add up to the time, a type's
 * first is about twice the others that set up no more data, of a type a problem of more
 * data and more arithmetic has no less than one of less, and none is too short to be of
 * use. */
static void check_shares(struct mmt_run *run, double seconds, double least)
{
    int types = count_types(run);
    double used = 0, first = 0, share[1024];
    CHECK(run->goals.count <= 1024);
    for (run->goals.at = 0; run->goals.at < run->goals.count; run->goals.at++) {
        run->clock.goals_end = mmt_now() + seconds - used;
        double now = mmt_tune_share_time(run) - mmt_now();
        const mmt_problem *p = &run->goals.list[run->goals.at];
        double bytes = mmt_problem_bytes(p);
        first = run->goals.at == 0 ? now : first;
        CHECK(now >= 0.8 * least);
        if (run->goals.at >= types && bytes <= mmt_problem_bytes(&run->goals.list[0]))
            CHECK(now < 0.65 * first);
        for (int i = types; i < run->goals.at; i++)
            CHECK(p->type != run->goals.list[i].type ||
                  bytes < mmt_problem_bytes(&run->goals.list[i]) ||
                  mmt_problem_flops(p) < mmt_problem_flops(&run->goals.list[i]) ||
                  now > 0.98 * share[i]);
        share[run->goals.at] = now;
        used += now;
    }
    CHECK(fabs(used - seconds) < 0.02 * seconds);
}

/* Of problems with as much data the one that keeps the arithmetic busy has more time: its
 * finals are held at the power limit. */
static void test_hot_share(void)
{
    struct mmt_run *run = plan(300, 0, MMT_F32);
    mmt_problem goals[] = { mmt_gemm_problem(MMT_F32, 512, 512, 512),
                            mmt_gemm_problem(MMT_F32, 4096, 4096, 4096),
                            mmt_gemm_problem(MMT_F32, 1, 7093, 7093) };
    double shares[2];
    free(run->goals.list);
    run->goals.list = goals;
    run->goals.count = 3;
    run->limits.roofline.bandwidth = 4e12;
    for (int i = 0; i < 2; i++) {
        const mmt_problem second = goals[1];
        run->goals.at = 1;
        run->clock.goals_end = mmt_now() + 30;
        shares[i] = mmt_tune_share_time(run) - mmt_now();
        goals[1] = goals[2];
        goals[2] = second;
    }
    CHECK(shares[0] > shares[1] + 1 && shares[0] < shares[1] + 2);
}

enum { FAMILIES = 6 };

/* The first type of each family, all with as many problems. */
static void test_all_types(void)
{
    struct mmt_run *run = plan(300, 0, -1);
    const int each = count_goals(run, MMT_F32);
    CHECK_EQ_INT(count_types(run), FAMILIES);
    check_order(run);
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        const bool first = mmt_type_family((mmt_type) type) == (mmt_type) type;
        CHECK(run->options.types[type]);
        CHECK_EQ_INT(count_goals(run, (mmt_type) type), first ? each : 0);
    }
    CHECK(each > 1);
    check_shares(run, 246, 3);
    free(run->goals.list);
}

/* Too short for two problems of each: still one of each family. */
static void test_short(void)
{
    struct mmt_run *run = plan(30, 0, -1);
    CHECK_EQ_INT(run->goals.count, FAMILIES);
    check_order(run);
    free(run->goals.list);
}

/* A type that somebody names is tuned, whatever its family. */
static void test_named_type(void)
{
    struct mmt_run *run = plan(300, 0, MMT_F16);
    CHECK(run->goals.count > 1 && count_goals(run, MMT_F16) == run->goals.count);
    free(run->goals.list);
    run->options.types[MMT_BF16] = true;
    CHECK_OK(mmt_tune_choose_types(run, &err), err);
    run->goals.list = NULL, run->goals.count = 0;
    CHECK_OK(mmt_tune_set_goals(run, &err), err);
    CHECK(count_goals(run, MMT_F16) > 1);
    CHECK_EQ_INT(count_goals(run, MMT_BF16), count_goals(run, MMT_F16));
    free(run->goals.list);
}

/* A type that is alone has the whole suite, and the other transposes of its first. */
static void test_one_type(void)
{
    struct mmt_run *run = plan(300, 0, MMT_F32);
    int transposed = 0;
    CHECK_EQ_INT(run->goals.count, MMT_DEFAULT_SHAPES + 3);
    for (int i = 0; i < run->goals.count; i++)
        transposed += run->goals.list[i].trans_a || run->goals.list[i].trans_b;
    CHECK_EQ_INT(transposed, 3);
    check_order(run);
    check_shares(run, 246, 15);
    free(run->goals.list);
}

static void test_candidates(void)
{
    struct mmt_run *run = plan(0, 60, MMT_F32);
    CHECK_EQ_INT(run->goals.count, 5);
    run->clock.candidates_left = 60;
    CHECK_EQ_INT(mmt_tune_share_candidates(run), 20);
    for (run->goals.at = 0; run->goals.at < run->goals.count; run->goals.at++)
        run->clock.candidates_left -= mmt_tune_share_candidates(run);
    CHECK_EQ_INT(run->clock.candidates_left, 0);
    free(run->goals.list);
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
    struct mmt_config one = config_of("simt TILE_M=128 TILE_N=128");
    struct mmt_config other = config_of("simt TILE_M=256 TILE_N=128");
    for (int i = 0; i < ENTRANTS; i++) {
        entrants[i] = finalist(2600 * (1 + 0.01 * i), 128, 0);
        entrants[i].problem = mmt_gemm_problem(MMT_F32, 4096, 4096, 4096);
        entrants[i].config = i == 10 ? other : one;
    }
    entrants[11].result.time.median *= 2;
}

static int tile_m(const struct mmt_record *record)
{
    return mmt_config_work(&record->config, record->problem.type).m;
}

/* On a power-limited device another tile takes part before a fourth of the same; else the
 * five fastest do. */
static void test_finalists(void)
{
    struct mmt_run *run = plan(60, 0, MMT_F32);
    struct mmt_record entrants[ENTRANTS];

    enter(entrants);
    run->limits.ceiling[MMT_F32] = 66.9e12;
    CHECK_EQ_INT(mmt_tune_select_finalists(run, entrants, ENTRANTS), 8);
    CHECK(tile_m(&entrants[2]) == 128);
    CHECK(tile_m(&entrants[3]) == 256);
    for (int i = 4; i < 8; i++)
        CHECK(tile_m(&entrants[i]) == 128);
    CHECK(entrants[11].result.time.median > 2 * entrants[0].result.time.median);

    enter(entrants);
    run->limits.ceiling[MMT_F32] = 669e12; /* a tenth of that: cool */
    CHECK_EQ_INT(mmt_tune_select_finalists(run, entrants, ENTRANTS), 5);
    for (int i = 0; i < 5; i++)
        CHECK(tile_m(&entrants[i]) == 128);

    /* What programs get without the run, wherever it stands; far behind, only in doubt.
     */
    struct mmt_config known;
    CHECK(mmt_tune_known(run, &entrants[0].problem, &known));
    for (int place = 8; place < ENTRANTS; place++)
        for (int busy = 0; busy < 2; busy++) {
            enter(entrants);
            entrants[place].config = known;
            if (busy)
                strcpy(entrants[place].result.throttled, MMT_BUSY);
            const bool takes_part = place < 11 || busy;
            CHECK_EQ_INT(mmt_tune_select_finalists(run, entrants, ENTRANTS),
                         5 + takes_part);
            CHECK(mmt_config_equal(&entrants[5].config, &known) == takes_part);
        }
    free(run->goals.list);
}

/* Three that were timed for a problem, of which the first two were in finals twice. */
static void hold_finals(struct mmt_journal *journal, struct mmt_record tried[3])
{
    static const double final_us[] = { 10, 11, 12, 11.5 };
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
    struct mmt_run *run = plan(60, 0, MMT_F32);
    struct mmt_record tried[3], winner;

    hold_finals(journal, tried);
    run->files.journal = journal;
    run->files.profile = mmt_profile_create();
    CHECK(!mmt_tune_is_decided(run, tried, 2, &winner));

    struct mmt_entry entry = { .problem = tried[1].problem, .config = tried[1].config };
    entry.time.median = 11e-6;
    CHECK_OK(mmt_profile_add_entry(run->files.profile, &entry, &err), err);
    CHECK(mmt_tune_is_decided(run, tried, 2, &winner));
    CHECK(mmt_config_equal(&winner.config, &tried[1].config));
    CHECK(winner.final && winner.result.time.median == 11.5 * 1e-6);
    CHECK(
        !mmt_tune_is_decided(run, tried, 1, &winner)); /* the winner is not among them */
    CHECK(!mmt_tune_is_decided(run, tried, 3, &winner)); /* one was in no finals */
    tried[0].earlier = false;
    CHECK(!mmt_tune_is_decided(run, tried, 2, &winner));
    mmt_profile_free(run->files.profile);
    free(run->goals.list);
}

/* Tensor cores raise what f32 and i32 may reach, six products of bf16 or ten of bytes for
 * one; suites are made by what FMAs reach. */
static void test_roofs(void)
{
    struct mmt_run *run = plan(60, 0, MMT_F32);

    CHECK(fabs(run->limits.roofline.peak_flops[MMT_F32] /
                   (run->limits.roofline.peak_flops[MMT_BF16] / 6) -
               1) < 1e-12);
    CHECK(fabs(run->limits.roofline.peak_flops[MMT_I32] /
                   (run->limits.roofline.peak_flops[MMT_I8] / 10) -
               1) < 1e-12);
    CHECK(run->limits.roofline.peak_flops[MMT_F32] >
          2 * mmt_derived_peak(&run->device.caps, MMT_F32));
    CHECK_EQ_INT(run->goals.list[0].n, 4096);
    run->device.caps.sm = 100; /* has no such kernel */
    CHECK(mmt_derived_roof(&run->device.caps, MMT_F32) ==
          mmt_derived_peak(&run->device.caps, MMT_F32));
    CHECK(mmt_derived_roof(&run->device.caps, MMT_I32) ==
          mmt_derived_peak(&run->device.caps, MMT_I32));
    free(run->goals.list);
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
static struct mmt_run *plan_shape(double seconds, const char *shape)
{
    static struct mmt_run run;
    static struct mmt_shape range;
    CHECK_OK(mmt_option_range(shape, MMT_GEMM, &range, &err), err);
    run = (struct mmt_run){ .options = { .epilogue = MMT_EPILOGUE_NONE,
                                         .budget = { .seconds = seconds },
                                         .transposes = MMT_NN | MMT_TN,
                                         .shapes = &range,
                                         .num_shapes = 1 },
                            .device.caps = hopper_caps(132) };
    run.options.some_types = run.options.types[MMT_F32] = run.options.types[MMT_F64] =
        true;
    CHECK_OK(mmt_tune_set_goals(&run, &err), err);
    return &run;
}

/* Of each type and transposes a range, and eight of its m as goals; fewer in a short run,
 * but both ends and one between. */
static void test_range(void)
{
    struct mmt_run *run = plan_shape(600, "7-8192x512x256x2");
    CHECK_EQ_INT(run->ranges.count, 4);
    CHECK_EQ_INT(run->goals.count, 4 * 8);
    for (int i = 0; i < run->ranges.count; i++) {
        const struct mmt_tune_range *range = &run->ranges.list[i];
        const mmt_problem last = mmt_problem_with_m(&range->problem, range->m_to);
        CHECK(range->problem.m == 7 && range->m_to == 8192 && range->problem.batch == 2);
        CHECK(mmt_tune_is_goal(run, &range->problem) && mmt_tune_is_goal(run, &last));
    }
    CHECK(mmt_tune_ranges_seconds(run) > 0 && mmt_tune_ranges_seconds(run) < 300);
    free(run->goals.list);
    free(run->ranges.list);

    run = plan_shape(20, "1-64x64x64");
    CHECK_EQ_INT(run->goals.count, 4 * 3);
    free(run->goals.list);
    free(run->ranges.list);

    run = plan_shape(20, "64x64x64");
    CHECK(run->ranges.count == 0 && mmt_tune_ranges_seconds(run) == 0);
    free(run->goals.list);
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
    const struct mmt_caps caps = hopper_caps(132);
    make_folder();
    path = in_folder("p.json");
    struct mmt_journal *journal = mmt_journal_open(path, &caps, true, &err);
    if (CHECK(journal != NULL))
        test_decided(journal);
    mmt_journal_close(journal);
    return test_end("goals");
}
