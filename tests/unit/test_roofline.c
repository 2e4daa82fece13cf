/* The roofline, measured by clocks that say what the test wants: its spread, times that
 * beat it, and results of a journal that cannot be. */
#include <math.h>
#include <unistd.h>

#include "base/peak.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/tune/roofline.h"

static const struct mmt_caps cpu = { .backend = "opencl",
                                     .name = "Testing",
                                     .architecture = "x",
                                     .compiler = "y",
                                     .dialect = MMT_OPENCL_C,
                                     .kind = MMT_CPU,
                                     .sms = 2,
                                     .vector_bytes = 32,
                                     .clock_khz = 1000000,
                                     .f64 = true };

static struct mmt_roofline of_peak(double peak, double spread)
{
    return (struct mmt_roofline){ .peak_flops = { [MMT_F32] = peak },
                                  .peak_spread = { [MMT_F32] = spread },
                                  .bandwidth = 1e10,
                                  .bandwidth_spread = 0.1 };
}

/* Rates of a machine on which others computed for a while. */
static void test_rounds(void)
{
    double noisy[] = { 96, 229, 267, 344, 539 }, quiet[] = { 500, 490, 495, 500 };
    double best, spread;

    mmt_roofline_of_rounds(noisy, 5, &best, &spread);
    CHECK(best == 539 && fabs(spread - (1 - 267.0 / 539)) < 1e-12);
    mmt_roofline_of_rounds(quiet, 4, &best, &spread);
    CHECK(best == 500 && fabs(spread - 0.005) < 1e-12);
    mmt_roofline_of_rounds(NULL, 0, &best, &spread);
    CHECK(best == 0 && spread == 0);
}

/* Best of old and new, whichever comes first, with the spread of its own rounds. */
static void test_again(void)
{
    for (int first = 0; first < 2; first++) {
        const struct mmt_roofline two[2] = { of_peak(96e9, 0.3), of_peak(344e9, 0.02) };
        struct mmt_roofline all = { 0 };
        mmt_roofline_add(&all, &two[first]);
        mmt_roofline_add(&all, &two[!first]);
        CHECK(all.peak_flops[MMT_F32] == 344e9 && all.peak_spread[MMT_F32] == 0.02);
        CHECK(all.bandwidth == 1e10 && all.bandwidth_spread == 0.1);
    }
}

/* A CPU of 64 GFLOP/s by its clock, and one of 20 % spread that reached 200: implausible
 * is what is faster than 240, impossible the same. Where 20 were measured, what is faster
 * than 24 is implausible, and 64 possible. */
static void test_bounds(void)
{
    const mmt_problem p = product(1000, 1000, 1000); /* 2e9 operations */
    struct mmt_roofline fast = of_peak(200e9, 0.2), slow = of_peak(20e9, 0.2);

    CHECK(mmt_derived_roof(&cpu, MMT_F32) == 64e9);
    CHECK(mmt_roofline_ceiling(&fast, &cpu, MMT_F32) == 240e9);
    CHECK(mmt_roofline_is_exceeded(&fast, &cpu, &p, 2e9 / 241e9));
    CHECK(!mmt_roofline_is_exceeded(&fast, &cpu, &p, 2e9 / 239e9));
    CHECK(mmt_roofline_is_exceeded(&slow, &cpu, &p, 2e9 / 25e9));
    CHECK(mmt_roofline_ceiling(&slow, &cpu, MMT_F32) == 64e9);
    CHECK(fabs(mmt_roofline_least(&slow, &cpu, &p) - 2e9 / 64e9) < 1e-12);
}

/* NVIDIA's cards tell lanes and clock: nothing that was measured changes that, and a time
 * that beats it is no reason to measure. Where memory bounds, half may be in caches. */
static void test_exact(void)
{
    struct mmt_caps card = cpu;
    struct mmt_roofline roofline = of_peak(1e9, 0.5);
    const mmt_problem p = product(1000, 1000, 1000); /* 2e9 operations */
    const mmt_problem sum = normal_of(mmt_axpby_problem(MMT_F32, 1000000));

    card.kind = MMT_GPU, card.sm = 80, card.sms = 100;
    const double peak = mmt_derived_roof(&card, MMT_F32);
    mmt_roofline_derive(&roofline, &card);
    CHECK(roofline.peak_flops[MMT_F32] == peak && roofline.peak_spread[MMT_F32] == 0);
    CHECK(mmt_roofline_ceiling(&roofline, &card, MMT_F32) == 1.25 * peak);
    CHECK(!mmt_roofline_is_exceeded(&roofline, &card, &p, 1e-9));
    CHECK(fabs(mmt_roofline_least(&roofline, &card, &sum) - 12e6 / 2.2e10) < 1e-12);
    CHECK(mmt_roofline_is_exceeded(&roofline, &card, &sum, 12e6 / 1.2e10));
    CHECK(mmt_roofline_least(&roofline, &cpu, &sum) < 1e-3);
}

/* ---- a run ------------------------------------------------------------------------ */

static char path[256];

static struct mmt_record record_of(const char *configuration, double seconds, bool final)
{
    struct mmt_record record = { .problem = product(1000, 1000, 1000), .final = final };
    CHECK_OK(mmt_config_parse(configuration, &record.config, &err), err);
    record.result.outcome = MMT_TIMED;
    record.result.time = (struct mmt_timing){ seconds, 0, 7 };
    return record;
}

/* A run that goes on from a journal with these; its roofline is measured no more. */
static struct mmt_run *go_on(const struct mmt_record *records, int count)
{
    static struct mmt_run run;
    const struct mmt_roofline roofline = of_peak(200e9, 0.2);

    run = (struct mmt_run){ .device.caps = cpu, .limits.probes = 100 };
    run.files.journal = mmt_journal_open(path, &cpu, true, &err);
    for (int i = 0; i < count; i++)
        CHECK_OK(mmt_journal_add(run.files.journal, &records[i], &err), err);
    mmt_journal_close(run.files.journal);
    run.files.journal = mmt_journal_open(path, &cpu, false, &err);
    CHECK(run.files.journal != NULL);
    mmt_tune_set_roofline(&run, &roofline);
    return &run;
}

/* A measured time and one that is read meet the same bound, and both are told why. */
static void test_judged(void)
{
    const double least = 2e9 / 240e9;
    const struct mmt_record records[] = { record_of("tiled TILE=16", 1e-9, false),
                                          record_of("tiled TILE=32", 0.02, false),
                                          record_of("tiled TILE=8", 0.9 * least, true),
                                          record_of("naive", 1.1 * least, false) };
    struct mmt_run *run = go_on(records, 4);
    struct mmt_result measured = records[0].result, slow = records[3].result;
    size_t count;

    CHECK_EQ_STR(mmt_journal_notes(run->files.journal), "");
    mmt_tune_judge_journal(run);
    const struct mmt_record *left = mmt_journal_records(run->files.journal, &count);
    CHECK_EQ_INT(count, 2);
    CHECK(mmt_config_equal(&left[0].config, &records[1].config));
    CHECK(mmt_config_equal(&left[1].config, &records[3].config));
    CHECK(strstr(mmt_journal_notes(run->files.journal), "2 results in "));
    CHECK(strstr(mmt_journal_notes(run->files.journal),
                 "passed over, the first of them because 0.001 us is faster than the "
                 "device can be"));
    CHECK(mmt_journal_best(run->files.journal, &records[0].problem) == 1.1 * least);

    mmt_tune_judge(run, &records[0].problem, &measured);
    CHECK(measured.outcome == MMT_FAILED);
    CHECK(strstr(measured.reason, "0.001 us is faster than the device can be: "));
    CHECK(strstr(measured.reason, "roofline of f32 being 200.0 GFLOP/s (spread 20.0 %)"));
    mmt_tune_judge(run, &records[3].problem, &slow);
    CHECK(slow.outcome == MMT_TIMED);
    mmt_journal_close(run->files.journal);
}

/* What a run measures counts, though clock and lanes promise more. */
static void test_measured(void)
{
    const struct mmt_roofline nothing = { 0 }, slow = of_peak(20e9, 0.2);
    struct mmt_run run = { .device.caps = cpu };

    mmt_tune_set_roofline(&run, &nothing);
    CHECK(run.limits.roofline.peak_flops[MMT_F32] == 64e9 &&
          run.limits.ceiling[MMT_F32] == 64e9);
    mmt_tune_set_roofline(&run, &slow);
    CHECK(run.limits.roofline.peak_flops[MMT_F32] == 20e9 &&
          run.limits.ceiling[MMT_F32] == 64e9);
    CHECK(run.limits.roofline.peak_spread[MMT_F32] == 0.2 &&
          run.limits.roofline.bandwidth == 1e10);
    CHECK(run.limits.roofline.peak_flops[MMT_F64] == 32e9);
}

int main(void)
{
    char journal[300];
    snprintf(path, sizeof path, "/tmp/mmtune-roofline-%d", (int) getpid());
    snprintf(journal, sizeof journal, "%s.journal", path);
    test_rounds();
    test_again();
    test_bounds();
    test_exact();
    test_measured();
    test_judged();
    remove(journal);
    return test_end("roofline");
}
