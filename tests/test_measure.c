/* Timing, with a clock that says what the test wants, and then with the device's own.
 *
 *     test_measure [DEVICE] */
#include <math.h>

#include "device/device.h"
#include "tests/test.h"
#include "tuner/measure.h"

/* What a planted clock says, one batch after another, the last again and again. */
struct planted {
    double says[64];
    int count, next;
    double drift; /* each batch takes that part longer than the one before */
    double factor;
};

static mmt_status start(void *self, mmt_queue queue, mmt_error *err)
{
    return MMT_OK;
}

static mmt_status stop(void *self, mmt_queue queue, double *seconds, mmt_error *err)
{
    struct planted *planted = self;
    int now = planted->next < planted->count ? planted->next : planted->count - 1;

    planted->next++;
    planted->factor *= 1 + planted->drift;
    *seconds = planted->says[now] * planted->factor;
    return MMT_OK;
}

static void plant(struct mmt_session *session, struct planted *planted)
{
    planted->factor = 1;
    mmt_session_set_clock(session, (struct mmt_clock){ start, stop, planted });
}

static struct mmt_session *open_session(mmt_device *device, int64_t size)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, size, size, size);
    mmt_error err = { 0 };
    struct mmt_session *session = mmt_session_create(device, &problem, 1, &err);
    if (!session) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return session;
}

static struct mmt_config naive(void)
{
    struct mmt_config config;
    mmt_error err = { 0 };
    CHECK_OK(mmt_config_parse("naive", &config, &err), err);
    return config;
}

/* The clock says 10 ms whatever is done: warming up takes one batch of one launch, six
 * samples settle it. */
static void test_steady(struct mmt_session *session)
{
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    struct mmt_measure_limits limits = { .fastest_seconds = 0.009 };
    struct mmt_config config = naive();
    struct mmt_timing time;
    mmt_error err = { 0 };

    plant(session, &planted);
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &time, &err), err);
    CHECK(time.median == 0.01 && time.spread == 0);
    CHECK_EQ_INT(time.samples, 6);
    CHECK_EQ_INT(planted.next, 7);
}

static void test_median_and_spread(struct mmt_session *session)
{
    struct planted planted = { .says = { 9, .010, .011, .012, .013, .014, .015, .5 },
                               .count = 8 };
    struct mmt_measure_limits limits = { .precision = 50 };
    struct mmt_config config = naive();
    struct mmt_timing time;
    mmt_error err = { 0 };

    plant(session, &planted);
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &time, &err), err);
    CHECK_EQ_INT(time.samples, 6);
    CHECK(fabs(time.median - 0.0125) < 1e-12);
    CHECK(fabs(time.spread - 0.00125) < 1e-12);
}

static void test_faster_than_the_device(struct mmt_session *session)
{
    struct planted planted = { .says = { 0.01 }, .count = 1 };
    struct planted stopped = { .says = { 0 }, .count = 1 };
    struct mmt_measure_limits limits = { .fastest_seconds = 0.011 };
    struct mmt_config config = naive();
    struct mmt_timing time;
    mmt_error err = { 0 };

    plant(session, &planted);
    CHECK_FAILS(mmt_measure_candidate(session, &config, &limits, &time, &err), err,
                MMT_ERROR_DEVICE, "roofline");
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
    struct mmt_config config = naive();
    struct mmt_timing hopeless, slower, good;
    mmt_error err = { 0 };

    plant(session, &noisy);
    limits.best_seconds = 0.003;
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &hopeless, &err), err);
    CHECK_EQ_INT(hopeless.samples, 3);
    noisy.next = 0;
    limits.best_seconds = 0.008;
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &slower, &err), err);
    CHECK_EQ_INT(slower.samples, 6);
    noisy.next = 0;
    limits.best_seconds = 0.0105;
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &good, &err), err);
    CHECK(good.samples > 16);
}

static void test_budget(struct mmt_session *session)
{
    struct planted wild = { .says = { .010 }, .count = 1, .drift = 0.5 };
    struct mmt_measure_limits limits = { .budget_seconds = 1e-9 };
    struct mmt_config config = naive();
    struct mmt_timing time;
    mmt_error err = { 0 };

    plant(session, &wild);
    CHECK_OK(mmt_measure_candidate(session, &config, &limits, &time, &err), err);
    CHECK_EQ_INT(time.samples, 1);
    CHECK_EQ_INT(wild.next, 1);
}

/* The clock drifts by a tenth a batch. One after the other, the second of two equal
 * candidates would look 1.9 times as slow; in turn they differ by one step. */
static void test_in_turn(struct mmt_session *session)
{
    struct planted drifting = { .says = { .010 }, .count = 1, .drift = 0.1 };
    struct mmt_measure_limits limits = { .precision = 50 };
    struct mmt_config configs[2] = { naive(), naive() };
    struct mmt_timing times[2];
    mmt_error err = { 0 };

    plant(session, &drifting);
    CHECK_OK(mmt_measure_group(session, configs, 2, &limits, times, &err), err);
    CHECK(times[0].samples == 6 && times[1].samples == 6);
    CHECK(fabs(times[1].median / times[0].median - 1.1) < 1e-6);
}

/* The device's own clock: 64 times the work takes longer, and the same work as long. */
static void test_real(mmt_device *device)
{
    struct mmt_session *again = open_session(device, 64);
    struct mmt_session *large = open_session(device, 256);
    struct mmt_measure_limits limits = { .precision = 0.05 };
    struct mmt_config config = naive();
    struct mmt_timing one, same, more;
    mmt_error err = { 0 };

    CHECK_OK(mmt_measure_candidate(again, &config, &limits, &one, &err), err);
    CHECK_OK(mmt_measure_candidate(again, &config, &limits, &same, &err), err);
    CHECK_OK(mmt_measure_candidate(large, &config, &limits, &more, &err), err);
    CHECK(one.samples >= 6 && one.median > 0 && one.spread >= 0);
    CHECK(more.median > one.median);
    CHECK(same.median < 10 * one.median && one.median < 10 * same.median);
    printf("64 cubed: %.3g s and %.3g s, 256 cubed: %.3g s\n", one.median, same.median,
           more.median);
    mmt_session_free(again);
    mmt_session_free(large);
}

int main(int argc, char **argv)
{
    mmt_error err = { 0 };
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err);

    if (!device)
        SKIP("%s", err.text);
    struct mmt_session *session = open_session(device, 64);
    test_steady(session);
    test_median_and_spread(session);
    test_faster_than_the_device(session);
    test_early_drop(session);
    test_budget(session);
    test_in_turn(session);
    test_real(device);
    mmt_session_free(session);
    mmt_device_close(device);
    return test_end("measure");
}
