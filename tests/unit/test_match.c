/* Ours and a library on one call: a fake library on the null device, with a clock that
 * says what the test wants. */
#include <math.h>

#include "device/device.h"
#include "tests/support/test.h"
#include "tuner/bench/caller.h"
#include "tuner/verify/session_internal.h"

enum { OURS, FIRST_WAY, SIDES = FIRST_WAY + MMT_MOST_CALLED_WAYS };
enum { MOST_BRIEF = 128 }; /* calls of a sample: a run of more is a long one */

/* Seconds of a call: in samples, in a long run, in one right after a long run of the same
 * side, and in a graph; and what the device draws. */
struct side {
    double brief, adapting, lasting, captured, watts;
};

struct fake_graph {
    struct mmt_graph base;
    int side;
    int64_t calls;
};

static struct fake {
    struct side sides[SIDES];
    int ways;
    bool throttles;
    int64_t fails_at; /* the library's call of that number fails; 0: none */
    bool captures;    /* the device has graphs */
    int refuses;      /* a way whose calls cannot be captured; 0: none */
    int answers;      /* of the counter of energy, before it falls silent */

    struct mmt_session *session;
    int64_t begin;          /* of the run at hand; -1: the device rests */
    int side, adapted;      /* the second has just run for long; -1: none has */
    int64_t calls;          /* of the library, so far */
    char long_runs[64];     /* each as "oab" has its side */
    double long_seconds[2]; /* of all that adapted, and of those that followed */
    int asked;              /* the counter of energy */
    struct mmt_energy drawn;
    int forgotten;
    bool captured;           /* the calls at hand are, or were launched as a graph */
    int graphs;              /* that were not freed */
    int64_t launched[SIDES]; /* calls of each side's graph that was launched last */
} fake;

/* ---- the clock and the device ---------------------------------------------------- */

static mmt_status start(void *self, mmt_queue queue, mmt_error *err)
{
    fake.begin = fake.session->next;
    fake.side = OURS;
    fake.captured = false;
    return MMT_OK;
}

static mmt_status stop(void *self, mmt_queue queue, mmt_error *err)
{
    return MMT_OK;
}

static mmt_status read_planted(void *self, double *seconds, mmt_error *err)
{
    const struct side *side = &fake.sides[fake.side];
    const int64_t calls = fake.session->next - fake.begin;
    const bool is_long = calls > MOST_BRIEF, adapted = fake.adapted == fake.side;
    const double alone = adapted ? side->lasting : side->adapting;
    *seconds = (double) calls * (fake.captured ? side->captured
                                 : is_long     ? alone
                                               : side->brief);
    fake.begin = -1;
    fake.adapted = is_long && !adapted ? fake.side : -1;
    fake.long_seconds[adapted] += is_long ? *seconds : 0;
    if (is_long && strlen(fake.long_runs) + 1 < sizeof fake.long_runs)
        strncat(fake.long_runs, &"oab"[fake.side], 1);
    return MMT_OK;
}

/* Only ours throttles it, and only while it runs: before the clock is read. */
static bool tell_health(mmt_device *device, struct mmt_health *out)
{
    out->throttled = fake.throttles && fake.begin >= 0 && fake.side == OURS;
    return true;
}

/* ---- graphs ---------------------------------------------------------------------- */

static bool begin_capture(mmt_device *device, mmt_queue queue)
{
    if (fake.captures)
        start(NULL, queue, NULL);
    return fake.captures;
}

static struct mmt_graph *end_capture(mmt_device *device, mmt_queue queue)
{
    struct fake_graph *graph = calloc(1, sizeof *graph);
    *graph =
        (struct fake_graph){ { device }, fake.side, fake.session->next - fake.begin };
    fake.begin = -1;
    if (fake.refuses && fake.side == fake.refuses) {
        free(graph);
        return NULL;
    }
    fake.graphs++;
    return &graph->base;
}

static mmt_status launch_graph(struct mmt_graph *base, mmt_queue queue, mmt_error *err)
{
    const struct fake_graph *graph = (struct fake_graph *) base;
    fake.captured = true;
    fake.side = graph->side;
    fake.session->next += graph->calls;
    fake.launched[graph->side] = graph->calls;
    return MMT_OK;
}

static void free_graph(struct mmt_graph *graph)
{
    fake.graphs--;
    free(graph);
}

/* By a clock that is 20 ms further at each question. Its steps are of 40 ms. */
static bool tell_energy(mmt_device *device, struct mmt_energy *out)
{
    const double behind = 0.02 * (fake.asked % 2);
    if (fake.asked++ >= fake.answers)
        return false;
    fake.drawn.at += 0.02;
    fake.drawn.joules += 0.02 * fake.sides[fake.side].watts;
    *out = (struct mmt_energy){ fake.drawn.joules - behind * fake.sides[fake.side].watts,
                                fake.drawn.at };
    return true;
}

/* Sessions refuse the null device by its name, since it executes nothing. */
static struct mmt_session *open_session(mmt_device *device, mmt_error *err)
{
    static struct mmt_backend backend;
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 16, 16, 16);
    backend = *device->backend;
    backend.health = tell_health;
    backend.capture_begin = begin_capture;
    backend.capture_end = end_capture;
    backend.graph_launch = launch_graph;
    backend.graph_free = free_graph;
    backend.energy = tell_energy;
    device->backend = &backend;
    strcpy(device->caps.backend, "fake");
    device->caps.cache = 1 << 16;
    return mmt_session_create_bare(device, &problem, 1, err);
}

/* ---- the library ----------------------------------------------------------------- */

static size_t workspace(const struct mmt_call *call)
{
    return 0;
}

static mmt_status prepare(void *self, struct mmt_session *session,
                          const struct mmt_call *call, int *ways, mmt_error *err)
{
    *ways = fake.ways;
    return MMT_OK;
}

static void forget(void *self)
{
    fake.forgotten++;
}

static mmt_status queue_call(void *self, int way, const mmt_args *args, mmt_queue queue,
                             mmt_error *err)
{
    fake.side = FIRST_WAY + way;
    if (++fake.calls == fake.fails_at)
        return mmt_fail(err, MMT_ERROR_DEVICE, "the fake fails");
    return MMT_OK;
}

/* ---- matches --------------------------------------------------------------------- */

/* Ours takes 100 us in samples, the library so many times that. */
static void deal(double speedup, bool throttles)
{
    fake = (struct fake){ .session = fake.session, .ways = 1, .throttles = throttles };
    fake.sides[OURS] = (struct side){ 100e-6, 102e-6, 103e-6, .watts = 500 };
    fake.sides[FIRST_WAY] =
        (struct side){ speedup * 100e-6, 104e-6, 105e-6, .watts = 600 };
    fake.begin = fake.adapted = -1;
}

static mmt_status play(struct mmt_called_times *out, mmt_error *err)
{
    const struct mmt_caller caller = {
        .workspace = workspace, .prepare = prepare, .forget = forget, .queue = queue_call
    };
    const struct mmt_call call = { .problem = *mmt_session_problem(fake.session) };
    struct mmt_config config;
    CHECK_OK(mmt_config_parse("naive", &config, err), *err);
    mmt_status status = mmt_caller_measure(&caller, NULL, fake.session, &call, &config,
                                           0.03, fake.answers > 0, out, err);
    CHECK_EQ_INT(fake.forgotten, 1);
    CHECK_EQ_INT(fake.graphs, 0);
    return status;
}

/* What was dealt gives these times of one call, of so many samples of each. */
static void check_play(double ours, double theirs, int samples)
{
    struct mmt_called_times times = { 0 };
    CHECK_OK(play(&times, &err), err);
    CHECK(fabs(times.ours.median / ours - 1) < 1e-9);
    CHECK(fabs(times.theirs.median / theirs - 1) < 1e-9);
    CHECK(times.ours.samples == samples && times.theirs.samples == samples);
}

/* The clearer it is whether ours is faster by the margin, the fewer samples. Throttling
 * changes nothing where it is not, or is by far; else one long run of ours tells that
 * nothing throttles the device. */
static void test_samples(double speedup, bool throttles, int samples, const char *ran)
{
    deal(speedup, throttles);
    check_play(100e-6, speedup * 100e-6, samples);
    CHECK_EQ_STR(fake.long_runs, ran);
}

/* A throttled device has each side run alone: in two rounds, 0.15 s that are not counted
 * and 0.1 s that are. These count, also where ours loses by them. */
static void test_throttled(double ours, double theirs)
{
    deal(1.05, true);
    fake.sides[OURS].lasting = ours, fake.sides[FIRST_WAY].lasting = theirs;
    check_play(ours, theirs, 15);
    CHECK_EQ_STR(fake.long_runs, "ooaaaaoo");
    CHECK(fabs(fake.long_seconds[0] - 4 * 0.15) < 0.02);
    CHECK(fabs(fake.long_seconds[1] - 4 * 0.1) < 0.02);
}

/* Whichever way is faster in samples is what ours is compared with, in long runs, too. */
static void test_two_ways(int fast, int slow, const char *ran)
{
    deal(0, true);
    fake.ways = 2;
    fake.sides[fast] = (struct side){ 105e-6, 108e-6, 106e-6 };
    fake.sides[slow] = (struct side){ 120e-6, 90e-6, 80e-6 };
    check_play(103e-6, 106e-6, 15);
    CHECK_EQ_STR(fake.long_runs, ran);
    fake.sides[fast].brief = 70e-6, fake.forgotten = 0;
    check_play(100e-6, 70e-6, 5);
}

/* Where the device captures all sides' calls their samples are of graphs, whose calls are
 * whole turns of the operands' copies. */
static void test_captured(int ways)
{
    deal(0.9, false);
    fake.captures = true, fake.ways = ways;
    for (int side = 0; side < SIDES; side++)
        fake.sides[side].captured = 40e-6 + side * 10e-6;
    fake.sides[FIRST_WAY + 1].brief = 100e-6;
    check_play(40e-6, 50e-6, 5);
    for (int side = 0; side <= ways; side++)
        CHECK(fake.launched[side] > 0 && fake.launched[side] % fake.session->copies == 0);
}

/* Where one of them cannot be captured, or fails meanwhile, none is. */
static void test_refused(int refuses, int64_t fails_at)
{
    deal(1.5, false);
    fake.captures = true, fake.refuses = refuses, fake.fails_at = fails_at;
    check_play(100e-6, 150e-6, 5);
    CHECK(fake.launched[OURS] == 0 && fake.launched[FIRST_WAY] == 0);
}

/* Long calls are samples of their own, and need no graph. */
static void test_long_calls(void)
{
    deal(1.5, false);
    fake.captures = true;
    fake.sides[FIRST_WAY].brief = 0.01;
    check_play(100e-6, 0.01, 5);
    CHECK(fake.launched[OURS] == 0);
}

/* With a counter of energy each side runs alone for longer, unthrottled only where both
 * are as fast in samples; joules are told where the counter answers to the end. */
static void test_energy(double speedup, bool throttles, int answers, int samples,
                        const char *ran, bool told)
{
    struct mmt_called_times times;
    deal(speedup, throttles);
    fake.answers = answers;
    CHECK_OK(play(&times, &err), err);
    CHECK_EQ_INT(times.ours.samples, samples);
    CHECK_EQ_STR(fake.long_runs, ran);
    CHECK(fabs(fake.long_seconds[1] - 4 * (strlen(ran) > 1 ? 0.5 : 0)) < 0.02);
    CHECK(fabs(times.our_joules - (told ? 500 * 103e-6 : 0)) < 1e-9);
    CHECK(fabs(times.their_joules - (told ? 600 * 105e-6 : 0)) < 1e-9);
}

static void test_failing(int64_t fails_at, const char *ran)
{
    struct mmt_called_times times;
    deal(1.05, true);
    fake.fails_at = fails_at;
    CHECK_FAILS(play(&times, &err), err, MMT_ERROR_DEVICE, "the fake fails");
    CHECK_EQ_STR(fake.long_runs, ran);
}

int main(void)
{
    mmt_error err = { 0 };
    SCOPED_DEVICE *device = mmt_device_open("null:", &err);
    fake.session = device ? open_session(device, &err) : NULL;
    if (!CHECK_MADE(fake.session))
        return test_end("match");
    mmt_session_set_clock(fake.session,
                          (struct mmt_clock){ start, stop, read_planted, NULL });
    test_samples(1.5, true, 5, "");
    test_samples(1.13, true, 5, "");
    test_samples(1.11, true, 15, "");
    test_samples(1.05, false, 15, "o");
    test_samples(1.021, false, 30, "o");
    test_samples(1.019, true, 30, "");
    test_samples(0.95, true, 15, "");
    test_samples(0.7, true, 5, "");
    test_throttled(100e-6, 97e-6);
    test_throttled(100e-6, 104e-6);
    test_two_ways(FIRST_WAY, FIRST_WAY + 1, "ooaaaaoo");
    test_two_ways(FIRST_WAY + 1, FIRST_WAY, "oobbbboo");
    test_captured(1);
    test_captured(2);
    test_refused(FIRST_WAY, 0);
    test_refused(0, 40); /* 26 warm up */
    test_long_calls();
    test_energy(1.0, false, 10000, 15, "ooaaaaoo", true);
    test_energy(0.985, false, 10000, 15, "ooaaaaoo", true);
    test_energy(1.05, true, 10000, 15, "ooaaaaoo", true);
    test_energy(1.05, false, 10000, 15, "o", false);
    test_energy(0.97, true, 10000, 15, "", false);
    test_energy(1.0, true, 40, 15, "ooaaaaoo", false);
    test_failing(1, "");
    test_failing(100, ""); /* in a sample: before, 35 warm up */
    test_failing(1000, "oo");
    mmt_session_free(fake.session);
    return test_end("match");
}
