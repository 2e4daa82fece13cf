/* Ours and a program's library on one of its calls, sample by sample in turn. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "runtime/runtime.h"
#include "tuner/bench/caller.h"
#include "tuner/measure/stats.h"
#include "tuner/verify/pointers.h"
#include "tuner/verify/session_internal.h"

enum {
    OURS = -1,
    LANES = 1 + MMT_MOST_CALLED_WAYS,
    ROUNDS = 15, /* usually: fewer where it is clear, twice as many where it is close */
    FEW_ROUNDS = ROUNDS / 3,
    MOST_ROUNDS = 2 * ROUNDS,
    MOST_CALLS =
        128, /* of a sample: of some launches each, as many as a queue holds back */
    MOST_CAPTURED = 1024, /* calls of a graph */
    LONG_ROUNDS = 2,
};

/* More rounds are taken while the speed-up is nearer to the margin than that. */
static const struct {
    int rounds;
    double nearer;
} stages[] = { { FEW_ROUNDS, 0.1 }, { ROUNDS, 0.015 }, { MOST_ROUNDS, 0 } };

/* Calls before the first sample take so long: code is loaded, the clock rises. */
static const double warm_seconds = 5e-3;

/* Seconds in which a device at its power cap adapts its clock to what it runs, and
 * seconds that are timed then. */
static const double adapting_seconds = 0.15, lasting_seconds = 0.1;

/* Where energy is told, its counter moves in steps of up to 100 ms: seconds that are
 * timed instead, between questions at least, and after the last question at most. */
static const double metered_seconds = 0.5, asking_seconds = 2e-3, rest_seconds = 20e-3;

/* From such a speed-up on no clock matters; shorter calls leave gaps in a queue. */
static const double clear_speedup = 1.1, least_call_seconds = 20e-6;

struct lane {
    int way;
    int64_t count;           /* calls of a sample */
    struct mmt_graph *graph; /* of these; NULL: they are queued one by one */
    double samples[MOST_ROUNDS];
    int num_samples;
};

struct match {
    const struct mmt_caller *caller;
    void *self;
    struct mmt_session *session;
    const struct mmt_call *call;
    mmt_plan *plan;
    mmt_operand workspace;
    size_t offset, offset_c; /* bytes of an unaligned call's matrices */
    struct lane lanes[LANES];
    int num_lanes;
};

/* ---- one sample ------------------------------------------------------------------ */

static mmt_status queue_one(struct match *match, int way, mmt_error *err)
{
    struct mmt_session *session = match->session;
    mmt_args args = mmt_session_timed_args(session, session->next++);
    if (session->problem.batch_by == MMT_BY_STRIDE) {
        args.a.offset += match->offset;
        args.b.offset += match->offset;
        args.c.offset += match->offset_c;
    }
    args.beta = match->call->adds;
    if (way != OURS)
        return match->caller->queue(match->self, way, &args, session->queue, err);
    args.workspace = match->workspace;
    return mmt_execute(match->plan, &args, session->queue, err);
}

/* The device is kept from the first until all are queued, so that it never waits for the
 * host. */
static mmt_status run_queued(struct match *match, int way, int64_t count, bool held,
                             double *seconds, mmt_error *err)
{
    struct mmt_session *session = match->session;
    struct mmt_clock *clock = &session->clock;
    held = held && mmt_queue_hold(session->device, session->queue);
    mmt_status status = clock->start(clock->self, session->queue, err);
    for (int64_t i = 0; i < count && !status; i++)
        status = queue_one(match, way, err);
    if (!status)
        status = clock->stop(clock->self, session->queue, err);
    if (held)
        mmt_queue_release(session->device);
    if (!status)
        status = clock->read(clock->self, seconds, err);
    return status;
}

/* One launch of the graph behind another one: the device has work while the host queues
 * what is timed. */
static mmt_status run_graph(struct match *match, struct mmt_graph *graph, double *seconds,
                            mmt_error *err)
{
    struct mmt_session *session = match->session;
    struct mmt_clock *clock = &session->clock;
    mmt_status status = mmt_graph_launch(graph, session->queue, err);
    if (!status)
        status = clock->start(clock->self, session->queue, err);
    if (!status)
        status = mmt_graph_launch(graph, session->queue, err);
    if (!status)
        status = clock->stop(clock->self, session->queue, err);
    return status ? status : clock->read(clock->self, seconds, err);
}

static mmt_status run_lane(struct match *match, const struct lane *lane, bool held,
                           double *seconds, mmt_error *err)
{
    mmt_status status =
        match->caller->run ? match->caller->run(match->self, lane->way, match->plan,
                                                lane->count, seconds, err)
        : lane->graph      ? run_graph(match, lane->graph, seconds, err)
                      : run_queued(match, lane->way, lane->count, held, seconds, err);
    if (!status && !(*seconds > 0))
        return mmt_fail(err, MMT_ERROR_DEVICE,
                        "the clock says that %lld calls took no "
                        "time",
                        (long long) lane->count);
    return status;
}

/* Warms up and finds how many calls make a sample. The very first may load code, which
 * waits for the device: it is not held back. */
static mmt_status warm_up(struct match *match, struct lane *lane, double sample,
                          mmt_error *err)
{
    double seconds = 0, warmed = 0;
    bool held = false;
    mmt_status status = MMT_OK;
    for (lane->count = 1; !status;) {
        status = run_lane(match, lane, held, &seconds, err);
        warmed += held ? seconds : 0;
        if (held && (seconds >= sample || lane->count == MOST_CALLS) &&
            warmed >= fmin(warm_seconds, 3 * seconds))
            break;
        if (held)
            lane->count = (int64_t) fmin(
                fmax(ceil(1.1 * sample / seconds * (double) lane->count), 1), MOST_CALLS);
        held = true;
    }
    return status;
}

/* Whole turns of the operands' copies where they are few enough, so that no launch of the
 * graph finds in a cache what the last one has read. */
static int64_t count_captured(const struct match *match, const struct lane *lane)
{
    const int64_t copies = match->session->copies;
    const int64_t count = (lane->count + copies - 1) / copies * copies;
    return count < MOST_CAPTURED ? count : MOST_CAPTURED;
}

/* NULL where a call cannot be captured. */
static struct mmt_graph *capture_calls(struct match *match, const struct lane *lane)
{
    struct mmt_session *session = match->session;
    const int64_t count = count_captured(match, lane);
    mmt_status status = MMT_OK;
    if (!mmt_capture_begin(session->device, session->queue))
        return NULL;
    for (int64_t i = 0; i < count && !status; i++)
        status = queue_one(match, lane->way, NULL);
    struct mmt_graph *graph = mmt_capture_end(session->device, session->queue);
    if (!status)
        return graph;
    mmt_graph_free(graph);
    return NULL;
}

static void free_graphs(struct match *match)
{
    for (int i = 0; i < match->num_lanes; i++) {
        mmt_graph_free(match->lanes[i].graph);
        match->lanes[i].graph = NULL;
    }
}

/* Makes samples of several calls launches of graphs, as in programs whose small products
 * count: on a queue the device takes longer between launches. All lanes or none, as one
 * would gain by that. */
static void capture_lanes(struct match *match)
{
    bool all = !match->caller->run;
    for (int i = 0; i < match->num_lanes && all; i++) {
        struct lane *lane = &match->lanes[i];
        lane->graph = lane->count > 1 ? capture_calls(match, lane) : NULL;
        all = lane->graph;
    }
    if (!all)
        free_graphs(match);
    for (int i = 0; i < match->num_lanes && all; i++)
        match->lanes[i].count = count_captured(match, &match->lanes[i]);
}

/* ---- rounds ---------------------------------------------------------------------- */

/* Goes on until each has so many samples. */
static mmt_status take_rounds(struct match *match, int rounds, mmt_error *err)
{
    double seconds = 0;
    mmt_status status = MMT_OK;
    for (int round = match->lanes[0].num_samples; round < rounds && !status; round++)
        for (int i = 0; i < match->num_lanes && !status; i++) {
            const int at = round % 2 ? match->num_lanes - 1 - i : i;
            struct lane *lane = &match->lanes[at];
            status = run_lane(match, lane, true, &seconds, err);
            lane->samples[lane->num_samples++] = seconds / (double) lane->count;
        }
    return status;
}

static struct mmt_timing timing_of(const struct lane *lane)
{
    double copy[MOST_ROUNDS];
    memcpy(copy, lane->samples, sizeof copy);
    const struct mmt_summary s = mmt_stats_summarise(copy, lane->num_samples);
    return (struct mmt_timing){ s.median, (s.upper_quartile - s.lower_quartile) / 2,
                                lane->num_samples };
}

/* The library's. */
static const struct lane *fastest_lane(const struct match *match)
{
    const struct lane *best = &match->lanes[1];
    for (int i = 2; i < match->num_lanes; i++)
        if (timing_of(&match->lanes[i]).median < timing_of(best).median)
            best = &match->lanes[i];
    return best;
}

static void conclude(const struct match *match, struct mmt_called_times *out)
{
    *out = (struct mmt_called_times){ .ours = timing_of(&match->lanes[0]),
                                      .theirs = timing_of(fastest_lane(match)) };
}

static double speedup_of(const struct mmt_called_times *times)
{
    return times->theirs.median / times->ours.median;
}

static double distance_of(const struct mmt_called_times *times)
{
    return fabs(speedup_of(times) - (1 + MMT_FASTER_MARGIN));
}

/* ---- at the power cap ------------------------------------------------------------ */

/* A counter of energy: the last question, and the first and last step that it was seen to
 * take. */
struct meter {
    struct mmt_energy now, first, last;
    int changes; /* of the answer; the first answer counts as one, and is no step */
    double ask_at;
};

/* False where the device does not tell. */
static bool ask_energy(mmt_device *device, struct meter *meter)
{
    const double before = meter->now.joules;
    if (!mmt_device_energy(device, &meter->now))
        return false;
    meter->ask_at = mmt_now() + asking_seconds;
    if (meter->now.joules == before)
        return true;
    meter->last = meter->now;
    if (++meter->changes == 2)
        meter->first = meter->now;
    return true;
}

/* Between two steps; 0: not told. */
static double watts_of(const struct meter *meter)
{
    return meter->changes > 2 ? (meter->last.joules - meter->first.joules) /
                                    (meter->last.at - meter->first.at)
                              : 0;
}

/* Calls for that long, without a gap: *each is the time of one. While the device works,
 * the meter is asked, where it is not NULL. */
static mmt_status run_on(struct match *match, int way, double seconds, double *each,
                         struct mmt_health *health, struct meter *meter, mmt_error *err)
{
    const int64_t count = (int64_t) fmax(ceil(seconds / *each), 1);
    const struct timespec pause = { .tv_nsec = (long) (1e9 * asking_seconds) };
    mmt_device *device = match->session->device;
    struct mmt_clock *clock = &match->session->clock;
    bool asks = meter && ask_energy(device, meter);
    const double end = asks ? meter->now.at + seconds - rest_seconds : 0;
    mmt_status status = clock->start(clock->self, match->session->queue, err);
    for (int64_t i = 0; i < count && !status; i++) {
        status = queue_one(match, way, err);
        if (asks && mmt_now() >= meter->ask_at)
            asks = ask_energy(device, meter);
    }
    if (!status)
        status = clock->stop(clock->self, match->session->queue, err);
    mmt_device_health(device, health);
    while (!status && asks && meter->now.at < end) {
        nanosleep(&pause, NULL);
        asks = ask_energy(device, meter);
    }
    if (!status)
        status = clock->read(clock->self, &seconds, err);
    if (!status && seconds > 0)
        *each = seconds / (double) count;
    return status;
}

/* Samples that are taken in turn share a clock, which hides that ours needs more power.
 * So a device that throttles under ours runs each side by itself for longer, in the order
 * ours, theirs, theirs, ours. Where both are as fast, so does a device that tells energy,
 * throttled or not: the cooler is sought. */
static mmt_status time_sustained(struct match *match, bool energy,
                                 struct mmt_called_times *out, mmt_error *err)
{
    const int ways[] = { OURS, fastest_lane(match)->way };
    double *medians[] = { &out->ours.median, &out->theirs.median }, sums[2] = { 0 };
    double joules[2] = { 0 }, least_watts = INFINITY;
    struct mmt_health health = { 0 };
    struct mmt_energy now;
    mmt_status status = MMT_OK;
    mmt_device *device = match->session->device;
    const bool is_tie = speedup_of(out) < 1 + MMT_FASTER_MARGIN;
    if (!mmt_device_health(device, &health)) /* may open a library */
        return MMT_OK;
    energy = energy && mmt_device_energy(device, &now);
    if (is_tie && !energy)
        return MMT_OK;
    for (int i = 0; i < 2 * LONG_ROUNDS && !status; i++) {
        const int side = (i + 1) / 2 % 2;
        double each = *medians[side];
        struct meter meter = { 0 };
        status = run_on(match, ways[side], adapting_seconds, &each, &health, NULL, err);
        if (i == 0 && !is_tie && !health.throttled)
            return status;
        if (!status)
            status = run_on(match, ways[side], energy ? metered_seconds : lasting_seconds,
                            &each, &health, energy ? &meter : NULL, err);
        sums[side] += each;
        joules[side] += each * watts_of(&meter);
        least_watts = fmin(least_watts, watts_of(&meter));
    }
    for (int i = 0; i < 2 && !status; i++)
        *medians[i] = sums[i] / LONG_ROUNDS;
    if (!status && least_watts > 0) {
        out->our_joules = joules[0] / LONG_ROUNDS;
        out->their_joules = joules[1] / LONG_ROUNDS;
    }
    return status;
}

static bool may_be_power_limited(const struct match *match, bool energy,
                                 const struct mmt_called_times *times)
{
    const double least = energy ? 1 - MMT_FASTER_MARGIN : 1 + MMT_FASTER_MARGIN;
    return !match->caller->run && times->ours.median >= least_call_seconds &&
           speedup_of(times) >= least && speedup_of(times) < clear_speedup;
}

static mmt_status play(struct match *match, double seconds, bool energy,
                       struct mmt_called_times *out, mmt_error *err)
{
    const double sample = fmax(seconds / (ROUNDS * match->num_lanes), 1e-4);
    mmt_status status = MMT_OK;
    for (int i = 0; i < match->num_lanes && !status; i++)
        status = warm_up(match, &match->lanes[i], sample, err);
    if (!status)
        capture_lanes(match);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !status; i++) {
        status = take_rounds(match, stages[i].rounds, err);
        if (status)
            break;
        conclude(match, out);
        if (distance_of(out) >= stages[i].nearer)
            break;
    }
    if (!status && may_be_power_limited(match, energy, out))
        status = time_sustained(match, energy, out, err);
    return status;
}

/* ---- getting ready --------------------------------------------------------------- */

static mmt_status make_plan(struct match *match, const struct mmt_config *config,
                            mmt_error *err)
{
    struct mmt_session *session = match->session;
    mmt_plan_options options = mmt_plan_defaults();
    options.max_workspace = mmt_caller_room(
        match->caller, match->call, mmt_config_in_slices(config, session->problem.type));
    match->plan = mmt_plan_of_call(session->device, config, match->call, &options, err);
    return match->plan ? mmt_session_workspace(session, mmt_plan_workspace(match->plan),
                                               &match->workspace, err)
                       : MMT_ERROR_UNSUPPORTED;
}

mmt_status mmt_caller_measure(const struct mmt_caller *caller, void *self,
                              struct mmt_session *session, const struct mmt_call *call,
                              const struct mmt_config *config, double seconds,
                              bool energy, struct mmt_called_times *out, mmt_error *err)
{
    struct match match = {
        .caller = caller,
        .self = self,
        .session = session,
        .call = call,
        .offset = mmt_call_offset(call, mmt_type_size(session->problem.type)),
        .offset_c = mmt_call_offset(call, mmt_type_size(session->problem.out)),
        .lanes = { { .way = OURS } }
    };
    int ways = 0;
    mmt_status status = make_plan(&match, config, err);
    if (!status)
        status = mmt_session_point_copies(session, match.offset, match.offset_c, err);
    if (!status)
        status = caller->prepare(self, session, call, &ways, err);
    for (int i = 0; i < ways; i++)
        match.lanes[1 + i].way = i;
    match.num_lanes = 1 + ways;
    if (!status)
        status = play(&match, seconds, energy, out, err);
    free_graphs(&match);
    caller->forget(self);
    mmt_plan_free(match.plan);
    return status;
}
