/* Timing, with a clock that says what the test wants, and then with the device's own.
 *
 *     test_measure [DEVICE] */
#include <math.h>

#include "device/device.h"
#include "tests/support/planted_clock.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/measure/measure.h"
#include "tuner/verify/session_internal.h"

/* What a planted clock says, one batch after another, the last again and again. */
struct planted {
    double says[64];
    int count, next;
    double drift; /* each batch takes that part longer than the one before */
    double factor;
    double host_seconds; /* by mmt_now(), that each batch takes the host */
};

static mmt_status start(void *self, mmt_queue queue, mmt_error *err)
{
    return MMT_OK;
}

static mmt_status stop(void *self, mmt_queue queue, mmt_error *err)
{
    return MMT_OK;
}

static mmt_status read_planted(void *self, double *seconds, mmt_error *err)
{
    struct planted *planted = self;
    int now = planted->next < planted->count ? planted->next : planted->count - 1;

    planted_now += planted->host_seconds;
    planted->next++;
    planted->factor *= 1 + planted->drift;
    *seconds = planted->says[now] * planted->factor;
    return MMT_OK;
}

static void plant(struct mmt_session *session, struct planted *planted)
{
    planted->factor = 1;
    mmt_session_set_clock(session,
                          (struct mmt_clock){ start, stop, read_planted, planted });
}

static struct mmt_session *open_session(mmt_device *device, int64_t size)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, size, size, size);
    struct mmt_session *session = mmt_session_create(device, &problem, 1, &err);
    if (!CHECK_MADE(session))
        exit(1);
    return session;
}

static struct mmt_config naive(void)
{
    return config_of("naive");
}

static struct mmt_measured measured(struct mmt_session *session,
                                    const struct mmt_measure_limits *limits)
{
    const struct mmt_config config = naive();
    struct mmt_measured it = { 0 };
    CHECK_OK(mmt_measure_candidate(session, &config, limits, &it, &err), err);
    return it;
}

/* By a clock that says so from its beginning. */
static struct mmt_measured measured_by(struct mmt_session *session, struct planted *clock,
                                       const struct mmt_measure_limits *limits)
{
    clock->next = 0;
    plant(session, clock);
    return measured(session, limits);
}

/* As many candidates, one after the other in turn. */
static void measure_two(struct mmt_session *session,
                        const struct mmt_measure_limits *limits,
                        struct mmt_measured times[2])
{
    const struct mmt_config configs[2] = { naive(), naive() };
    CHECK_OK(mmt_measure_group(session, configs, 2, limits, times, &err), err);
}

/* The clock says 10 ms whatever is done: after the first execution, warming up takes one
 * batch of one launch, six samples resolve it. */
static void test_steady(struct mmt_session *session)
{
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    const struct mmt_measured time = measured_by(session, &planted, NULL);

    CHECK(time.time.median == 0.01 && time.time.spread == 0);
    CHECK_EQ_INT(time.time.samples, 6);
    CHECK_EQ_INT(planted.next, 8);
}

/* What is timed next goes on with the copies that follow, also where two take turns: no
 * one finds in a cache what another has just read. */
static void test_walks_on(struct mmt_session *session)
{
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    const struct mmt_measure_limits limits = { 0 };
    struct mmt_measured times[2];

    const int64_t begin = session->next;
    measured_by(session, &planted, &limits);
    CHECK_EQ_INT(session->next - begin, planted.next);
    measured(session, &limits);
    measure_two(session, &limits, times);
    CHECK_EQ_INT(session->next - begin, planted.next);
    CHECK(planted.next >= 4 * 8);
    const mmt_args now = mmt_session_args(session, session->next);
    const mmt_args before = mmt_session_args(session, session->next - 1);
    CHECK(session->copies > 1 && now.a.offset != before.a.offset &&
          now.c.offset != before.c.offset);
}

static void test_median_and_spread(struct mmt_session *session)
{
    struct planted planted = { .says = { 9, .010, .011, .012, .013, .014, .015, .5 },
                               .count = 8 };
    const struct mmt_measure_limits limits = { .precision = 50 };
    const struct mmt_measured time = measured_by(session, &planted, &limits);

    CHECK_EQ_INT(time.time.samples, 6);
    CHECK(fabs(time.time.median - 0.0125) < 1e-12);
    CHECK(fabs(time.time.spread - 0.00125) < 1e-12);
}

static void test_stopped_clock(struct mmt_session *session)
{
    struct planted stopped = { .says = { 0 }, .count = 1 };
    struct mmt_config config = naive();
    struct mmt_measured time;

    plant(session, &stopped);
    CHECK_FAILS(mmt_measure_candidate(session, &config, NULL, &time, &err), err,
                MMT_ERROR_DEVICE, "no time");
}

/* Hopeless: three samples. Surely slower: no more than it takes to be sure. As good as
 * the best: as many as the precision needs. */
static void test_early_drop(struct mmt_session *session)
{
    struct planted noisy = { .says = { .010, .010, .0112, .010, .0112, .010, .0112, .010,
                                       .0112, .010, .0112, .010, .0112, .010, .0112, .010,
                                       .0106 },
                             .count = 17 };
    struct mmt_measure_limits limits = { .precision = 0.02 };

    limits.best_seconds = 0.003;
    CHECK_EQ_INT(measured_by(session, &noisy, &limits).time.samples, 3);
    limits.best_seconds = 0.008;
    CHECK_EQ_INT(measured_by(session, &noisy, &limits).time.samples, 6);
    limits.best_seconds = 0.0105;
    CHECK(measured_by(session, &noisy, &limits).time.samples > 16);
}

static void test_budget(struct mmt_session *session)
{
    struct planted wild = {
        .says = { .010 }, .count = 1, .drift = 0.5, .host_seconds = 1e-3
    };
    const struct mmt_measure_limits limits = { .budget_seconds = 1e-9 };

    CHECK_EQ_INT(measured_by(session, &wild, &limits).time.samples, 1);
    CHECK_EQ_INT(wild.next, 2);
}

/* What the first execution takes to get going is no sample, and no part of the budget;
 * one that was long at work is a sample like any other. */
static void test_first_execution(struct mmt_session *session)
{
    struct planted loading = { .says = { .155, .001 }, .count = 2, .host_seconds = 1e-3 };
    struct planted slow = { .says = { .3, .001 }, .count = 2, .host_seconds = 1e-3 };
    const struct mmt_measure_limits limits = { .budget_seconds = 1e-9 };
    struct mmt_measured time;

    time = measured_by(session, &loading, &limits);
    CHECK(time.time.median == .001 && time.time.samples == 1);
    time = measured_by(session, &slow, &limits);
    CHECK(time.time.median == .3 && time.time.samples == 1);
}

/* The clock drifts by a tenth a batch. One after the other, the second of two equal
 * candidates would look 1.9 times as slow; in turn, there and back, they are alike. */
static void test_in_turn(struct mmt_session *session)
{
    struct planted drifting = { .says = { .010 }, .count = 1, .drift = 0.1 };
    struct mmt_measure_limits limits = { .precision = 50 };
    struct mmt_measured times[2];

    plant(session, &drifting);
    measure_two(session, &limits, times);
    CHECK(times[0].time.samples == 6 && times[1].time.samples == 6);
    CHECK(fabs(times[1].time.median / times[0].time.median - 1) < 0.02);
}

/* Each is executed in turn before the samples, whatever that takes the clock to say. */
static void test_heat(struct mmt_session *session)
{
    struct planted planted = { .says = { .010 }, .count = 1, .host_seconds = 0x1p-10 };
    struct mmt_measure_limits limits = { .precision = 50, .heat_seconds = 30 * 0x1p-10 };
    struct mmt_measured times[2];

    plant(session, &planted);
    measure_two(session, &limits, times);
    CHECK(times[0].time.samples == 6 && times[1].time.samples == 6);
    CHECK_EQ_INT(planted.next, 2 * (2 + 6) + 30);
}

/* What a candidate's first batches say after another's is not counted where it is to run
 * isolated first. Each batch lasts longer than that, so that one is not and one is. */
static void test_alone(struct mmt_session *session)
{
    struct planted planted = { .says = { .010, .010, .010, .010 },
                               .count = 4 + 4 * 6,
                               .host_seconds = 2e-3 };
    struct mmt_measure_limits limits = { .precision = 50, .isolated_seconds = 1e-3 };
    struct mmt_measured times[2];

    for (int i = 4; i < planted.count; i++)
        planted.says[i] = i % 2 ? .010 : .014;
    plant(session, &planted);
    measure_two(session, &limits, times);
    CHECK_EQ_INT(planted.next, planted.count);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(times[i].time.samples, 6);
        CHECK(times[i].time.median == .010 && times[i].time.spread == 0);
    }
}

/* ---- a device that is throttled -------------------------------------------------- */

/* How the device fares from a batch of the planted clock on, until the next row's. */
static const struct ail {
    int from;
    struct mmt_health health;
} * ails;
static int num_ails, asked;
static const struct planted *ailing;

static bool tell_health(mmt_device *device, struct mmt_health *out)
{
    int row = 0;

    asked++;
    while (row + 1 < num_ails && ails[row + 1].from <= ailing->next)
        row++;
    *out = ails[row].health;
    return true;
}

/* The session's device tells its health from now on. Each batch takes so long that it is
 * asked for in each. */
static void ail(mmt_device *device, struct mmt_session *session, struct planted *planted,
                const struct ail *rows, int count)
{
    static struct mmt_backend backend;

    if (device->backend != &backend)
        backend = *device->backend;
    backend.health = tell_health;
    device->backend = &backend;
    ails = rows, num_ails = count, asked = 0, ailing = planted;
    planted->host_seconds = 0.011;
    plant(session, planted);
}

static const struct mmt_health fine = { .celsius = 50, .clock_mhz = 2000 };

/* Nothing throttles it, from the first batch to the last: no word of it, and no time is
 * taken twice. */
static void test_healthy(mmt_device *device, struct mmt_session *session)
{
    const struct ail rows[] = { { 0, fine }, { 4, { 55, 1990 } }, { 5, { 53, 1995 } } };
    struct planted planted = { .says = { 0.01 }, .count = 1 };

    ail(device, session, &planted, rows, 3);
    const struct mmt_measured it = measured(session, NULL);
    CHECK_EQ_INT(planted.next, 8);
    CHECK_EQ_INT(asked, 9); /* in all batches, and once before */
    CHECK(!it.health.throttled && !*it.health.why);
    CHECK(it.health.celsius == 55 && it.health.clock_mhz == 1990);
}

/* What befalls it in the midst of the samples is noticed though it is over at the end,
 * and the gravest is told; what befalls the warming up alone is not. */
static void test_slowed_down_between(mmt_device *device, struct mmt_session *session)
{
    const struct ail rows[] = {
        { 0, fine },
        { 3, { 60, 1900, 1, "power cap" } },
        { 4, { 95, 800, 4, "thermal" } },
        { 5, { 60, 1900, 1, "power cap" } },
        { 6, fine },
    };
    const struct ail before[] = { { 0, { 95, 800, 4, "thermal" } }, { 1, fine } };
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    struct planted cold = { .says = { 0.002, 0.01 }, .count = 2 };
    struct mmt_measure_limits limits = { .best_seconds = 0.001 };
    struct mmt_config config = naive();
    struct mmt_measured it;

    ail(device, session, &planted, rows, 5);
    CHECK_OK(mmt_measure_group(session, &config, 1, &limits, &it, &err), err);
    CHECK_EQ_INT(planted.next, 8);
    CHECK_EQ_STR(it.health.why, "thermal");
    CHECK(it.health.celsius == 95 && it.health.clock_mhz == 800);
    ail(device, session, &cold, before, 2);
    it = measured(session, &limits);
    CHECK(!it.health.throttled && it.health.clock_mhz == 2000);
}

/* The first time is throttled, and eight batches of 20 ms, the first of which does not
 * count; a rest follows. `second` is the health of the second time, `seconds` what it
 * takes. */
static struct mmt_measured time_twice(mmt_device *device, struct mmt_session *session,
                                      struct mmt_health second, double seconds,
                                      const struct mmt_measure_limits *limits,
                                      int *batches)
{
    const struct ail rows[] = { { 0, { 90, 1000, 4, "thermal" } }, { 8, second } };
    struct planted planted = { .count = 9 };

    for (int i = 0; i < 9; i++)
        planted.says[i] = i < 8 ? 0.02 : seconds;
    ail(device, session, &planted, rows, 2);
    const struct mmt_measured it = measured(session, limits);
    *batches = planted.next;
    return it;
}

/* One that might win is timed again. The second time counts where nothing throttled it,
 * whatever it says, or where it is better. */
static void test_timed_again(mmt_device *device, struct mmt_session *session)
{
    const struct mmt_health slow = { 90, 1000, 4, "thermal" };
    struct mmt_measured it;
    int batches;

    it = time_twice(device, session, fine, 0.01, NULL, &batches);
    CHECK(batches == 16 && it.time.median == 0.01 && !it.health.throttled);
    it = time_twice(device, session, fine, 0.0201, NULL, &batches);
    CHECK(batches == 16 && it.time.median == 0.0201 && !it.health.throttled);
    it = time_twice(device, session, slow, 0.019, NULL, &batches);
    CHECK(batches == 16 && it.time.median == 0.019 && it.health.throttled);
    it = time_twice(device, session, slow, 0.021, NULL, &batches);
    CHECK(batches == 16 && it.time.median == 0.02 && it.health.throttled);
}

/* Half the clock may double the time: 20 ms then contend with 10 ms, but not with 9, and
 * with 18 only where the best was timed at that clock, too. */
static void test_who_contends(mmt_device *device, struct mmt_session *session)
{
    struct mmt_measure_limits limits = { .best_seconds = 0.010, .best_mhz = 2000 };
    int batches;

    time_twice(device, session, fine, 0.01, &limits, &batches);
    CHECK(batches > 8);
    limits.best_seconds = 0.009;
    time_twice(device, session, fine, 0.01, &limits, &batches);
    CHECK_EQ_INT(batches, 8);
    limits.best_mhz = 1000, limits.best_seconds = 0.018;
    time_twice(device, session, fine, 0.01, &limits, &batches);
    CHECK_EQ_INT(batches, 8);
    limits.best_seconds = 0.019;
    time_twice(device, session, fine, 0.01, &limits, &batches);
    CHECK(batches > 8);
}

/* Finalists are timed in turn: a slowdown stands beside those that it met. */
static void test_ailing_finalist(mmt_device *device, struct mmt_session *session)
{
    const struct ail rows[] = { { 0, fine },
                                { 5, { 70, 1500, 1, "power cap" } },
                                { 6, fine } };
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    struct mmt_measured two[2];

    ail(device, session, &planted, rows, 3);
    measure_two(session, NULL, two);
    CHECK_EQ_INT(planted.next, 16);
    CHECK(!two[0].health.throttled && two[0].health.clock_mhz == 2000);
    CHECK_EQ_STR(two[1].health.why, "power cap");
    CHECK(two[1].health.clock_mhz == 1500);
}

static void test_health(mmt_device *device, struct mmt_session *session)
{
    const struct mmt_backend *own = device->backend;

    test_healthy(device, session);
    test_slowed_down_between(device, session);
    test_timed_again(device, session);
    test_who_contends(device, session);
    test_ailing_finalist(device, session);
    device->backend = own;
}

static int holds, releases;

static bool hold(mmt_device *device, mmt_queue queue)
{
    CHECK_EQ_INT(releases, holds);
    holds++;
    return true;
}

static void release(mmt_device *device)
{
    releases++;
}

static const struct mmt_backend *usual;
static const double queueing = 0x1p-16; /* seconds that a launch takes the host */

static mmt_status launch_slowly(struct mmt_function *function, const unsigned grid[3],
                                const struct mmt_value *values, int count,
                                enum mmt_order order, mmt_queue queue,
                                struct mmt_events *events, mmt_error *err)
{
    planted_now += queueing;
    return usual->launch(function, grid, values, count, order, queue, events, err);
}

static int holds_at_stop, releases_at_stop;

static mmt_status stop_and_look(void *self, mmt_queue queue, mmt_error *err)
{
    holds_at_stop = holds, releases_at_stop = releases;
    return MMT_OK;
}

/* On a device that can hold its queue back and takes no time to speak of, an execution
 * takes what queueing it does. Few that are short are held as well, up to their end, but
 * for the very first, which may load code. */
static void test_held(mmt_device *device, struct mmt_session *session)
{
    struct mmt_backend holding = *device->backend;
    struct planted idle = { .says = { 1e-6 }, .count = 1 };
    struct planted busy = { .says = { 0.01 }, .count = 1, .host_seconds = 1e-3 };
    const struct mmt_measure_limits once = { .budget_seconds = 1e-9 };
    struct mmt_measured time;

    usual = device->backend;
    holding.launch = launch_slowly;
    holding.queue_hold = hold;
    holding.queue_release = release;
    device->backend = &holding;
    holds = releases = 0;
    plant(session, &busy);
    mmt_session_set_clock(
        session, (struct mmt_clock){ start, stop_and_look, read_planted, &busy });
    time = measured(session, &once);
    CHECK_EQ_INT(holds, 1);
    CHECK_EQ_INT(holds_at_stop, 1);
    CHECK_EQ_INT(releases_at_stop, 0);
    CHECK(time.time.median == 0.01);

    time = measured_by(session, &idle, NULL);
    CHECK(holds > 0);
    CHECK_EQ_INT(releases, holds);
    CHECK(time.time.median == queueing);
    device->backend = usual;
}

/* The device's own clock: 64 times the work takes longer, and the same work as long. */
static void test_real(mmt_device *device)
{
    struct mmt_session *again = open_session(device, 64);
    struct mmt_session *large = open_session(device, 256);
    const struct mmt_measure_limits limits = { .precision = 0.05 };
    const struct mmt_measured one = measured(again, &limits);
    const struct mmt_measured same = measured(again, &limits);
    const struct mmt_measured more = measured(large, &limits);
    CHECK(one.time.samples >= 6 && one.time.median > 0 && one.time.spread >= 0);
    CHECK(more.time.median > one.time.median);
    CHECK(same.time.median < 10 * one.time.median &&
          one.time.median < 10 * same.time.median);
    printf("64 cubed: %.3g s and %.3g s, 256 cubed: %.3g s\n", one.time.median,
           same.time.median, more.time.median);
    mmt_session_free(again);
    mmt_session_free(large);
}

static void test_planted_clocks(mmt_device *device)
{
    struct mmt_session *session = open_session(device, 64);
    test_steady(session);
    test_walks_on(session);
    test_median_and_spread(session);
    test_stopped_clock(session);
    test_early_drop(session);
    test_budget(session);
    test_first_execution(session);
    test_in_turn(session);
    test_heat(session);
    test_alone(session);
    test_health(device, session);
    test_held(device, session);
    mmt_session_free(session);
}

/* test_measure [--clock] [DEVICE]: with --clock the device's own clock is asked, which is
 * a benchmark, as what else the machine does counts. */
int main(int argc, char **argv)
{
    const bool clock = argc > 1 && !strcmp(argv[1], "--clock");
    SCOPED_DEVICE *device =
        mmt_device_open(argc > 1 + clock ? argv[1 + clock] : NULL, &err);

    if (!device)
        SKIP("%s", err.text);
    planted_now = clock ? -1 : planted_now;
    if (clock)
        test_real(device);
    else
        test_planted_clocks(device);
    return test_end("measure");
}
