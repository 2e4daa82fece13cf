/* Times candidates in batches of executions, alone or in turn, until the median is known
 * well enough. Verifies nothing. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/measure/measure.h"
#include "tuner/verify/pointers.h"
#include "tuner/verify/session_internal.h"
#include "tuner/measure/stats.h"

static const double hopeless = 2.5; /* times slower than the best */
static const double usual_budget = 1, usual_precision = 0.01;
static const double usual_warm = 5e-3, usual_batch = 1e-3;
static const double watch_seconds =
    1e-2;                              /* the device's health is asked for that often, */
static const double watch_share = 10;  /* but for a tenth of the time at most */
static const double contends = 1.1;    /* times slower than the best */
static const useconds_t rest = 200000; /* for a device that was throttled */
static const double lasts =
    0.25; /* a first execution that took that long was at work; loading took up to 0.16 */

enum { MOST_SAMPLES = 1000, MOST_LAUNCHES = 4096, HOPELESS_SAMPLES = 3 };

/* Executions that are held back: a queue takes a thousand launches; and those of a batch
 * that tells what queueing takes. */
enum { MOST_HELD = 256, LEAST_TO_TELL = 16 };

/* The least seconds that queueing an execution has taken this process, by the number of
 * its launches: 0: not known. */
static double least_queueing[MMT_MAX_LAUNCHES + 1];

/* One candidate while it is being timed. */
struct run {
    mmt_plan *plan;
    int parts;        /* launches of an execution */
    int64_t launches; /* executions of a batch */
    double spent;     /* host seconds */
    double samples[MOST_SAMPLES];
    int count;
    bool loaded; /* its code has been executed */
    bool held;   /* the device is kept from the first executions of this batch */
    bool done;
    struct mmt_health health; /* while it ran */
    double ask_at;            /* host seconds from when that is asked for again */
};

static struct mmt_measure_limits fill_limits(const struct mmt_measure_limits *given)
{
    struct mmt_measure_limits limits = { 0 };

    if (given)
        limits = *given;
    if (limits.budget_seconds <= 0)
        limits.budget_seconds = usual_budget;
    if (limits.precision <= 0)
        limits.precision = usual_precision;
    if (limits.warm_seconds <= 0)
        limits.warm_seconds = usual_warm;
    if (limits.batch_seconds <= 0)
        limits.batch_seconds = usual_batch;
    return limits;
}

/* ---- launching ------------------------------------------------------------------- */

static mmt_status queue_some(struct mmt_session *session, struct run *run, int64_t count,
                             mmt_error *err)
{
    mmt_operand workspace;
    mmt_status status =
        mmt_session_workspace(session, mmt_plan_workspace(run->plan), &workspace, err);

    for (int64_t i = 0; i < count && status == MMT_OK; i++) {
        mmt_args args = mmt_session_timed_args(session, session->next++);
        args.workspace = workspace;
        status = mmt_execute(run->plan, &args, session->queue, err);
    }
    return status;
}

/* Asked for while a batch runs: afterwards the device rests. */
static void watch_device(struct mmt_session *session, struct run *run)
{
    struct mmt_health now;
    double at = mmt_now();

    if (at < run->ask_at || !mmt_device_health(session->device, &now))
        return;
    mmt_health_add(&run->health, &now);
    run->ask_at = at + fmax(watch_seconds, watch_share * (mmt_now() - at));
}

static void note_queueing(const struct run *run, double seconds)
{
    double *least = &least_queueing[run->parts];
    if (*least == 0 || seconds < *least)
        *least = seconds;
}

/* A batch's first executions, and where these are all its end. What the host needs for
 * them at best is a bound: a program that calls the library in a row sees the larger of
 * the two. */
static mmt_status queue_first(struct mmt_session *session, struct run *run, int64_t count,
                              mmt_error *err)
{
    struct mmt_clock *clock = &session->clock;
    const double start = mmt_now();
    mmt_status status = queue_some(session, run, count, err);

    if (run->held && count >= LEAST_TO_TELL)
        note_queueing(run, (mmt_now() - start) / (double) count);
    if (status == MMT_OK && count == run->launches)
        status = clock->stop(clock->self, session->queue, err);
    return status;
}

/* The first executions are held back while they are queued, so that the device does not
 * wait for the host between them: that would make a short one take several times as long,
 * and its batches of few the longer. A first execution of all may load code, which waits
 * for the queue. */
static mmt_status queue_batch(struct mmt_session *session, struct run *run,
                              mmt_error *err)
{
    struct mmt_clock *clock = &session->clock;
    const int64_t first = run->launches < MOST_HELD ? run->launches : MOST_HELD;

    run->held = run->loaded && mmt_queue_hold(session->device, session->queue);
    mmt_status status = clock->start(clock->self, session->queue, err);
    if (status == MMT_OK)
        status = queue_first(session, run, first, err);
    if (run->held)
        mmt_queue_release(session->device);
    if (status == MMT_OK && first < run->launches) {
        status = queue_some(session, run, run->launches - first, err);
        if (status == MMT_OK)
            status = clock->stop(clock->self, session->queue, err);
    }
    return status;
}

/* One batch; *seconds is for one execution. */
static mmt_status time_batch(struct mmt_session *session, struct run *run,
                             double *seconds, mmt_error *err)
{
    struct mmt_clock *clock = &session->clock;
    double start = mmt_now();

    mmt_status status = queue_batch(session, run, err);
    if (status == MMT_OK)
        watch_device(session, run);
    if (status == MMT_OK)
        status = clock->read(clock->self, seconds, err);
    *seconds = fmax(*seconds / (double) run->launches,
                    run->held ? least_queueing[run->parts] : 0);
    run->loaded = true;
    run->spent += mmt_now() - start;
    if (status == MMT_OK && !(*seconds > 0))
        return mmt_fail(err, MMT_ERROR_DEVICE,
                        "the device's clock says that %lld executions took no time",
                        (long long) run->launches);
    return status;
}

/* Warms up and finds how many launches make a batch. A candidate whose single execution
 * uses up its budget has its only sample then. The first execution loads the code and
 * makes the workspace while the clock runs: it neither counts nor costs, unless it is a
 * long one. Of the device's health, only that of the last batch counts. */
static mmt_status warm_up(struct mmt_session *session, struct run *run,
                          const struct mmt_measure_limits *limits, mmt_error *err)
{
    double seconds = 0, warmed = 0;
    bool first = true;

    run->launches = 1;
    for (;;) {
        run->health = (struct mmt_health){ 0 };
        run->ask_at = 0;
        mmt_status status = time_batch(session, run, &seconds, err);
        if (status != MMT_OK)
            return status;
        const bool loads = first && seconds < lasts;
        first = false;
        if (loads) {
            run->spent = 0;
            continue;
        }
        double batch = seconds * (double) run->launches;
        warmed += batch;
        if (run->spent >= limits->budget_seconds) {
            run->samples[run->count++] = seconds;
            run->done = true;
            return MMT_OK;
        }
        if (batch >= limits->batch_seconds || run->launches == MOST_LAUNCHES) {
            if (warmed >= limits->warm_seconds)
                return MMT_OK;
            continue;
        }
        double wanted = ceil(1.1 * limits->batch_seconds / seconds);
        double most = fmin(16.0 * (double) run->launches, MOST_LAUNCHES);
        run->launches = (int64_t) fmin(wanted, most);
    }
}

/* ---- sampling -------------------------------------------------------------------- */

/* Whether this candidate has told enough. */
static bool has_enough(struct run *run, const struct mmt_measure_limits *limits)
{
    struct mmt_summary s = mmt_stats_summarise(run->samples, run->count);
    double best = limits->best_seconds;

    if (run->spent >= limits->budget_seconds || run->count == MOST_SAMPLES)
        return true;
    if (best > 0 && s.median > hopeless * best)
        return run->count >= HOPELESS_SAMPLES;
    if (best > 0 && s.confident && s.low > 1.1 * best)
        return true;
    return mmt_stats_precision(&s) <= limits->precision;
}

/* One batch at least, and others while less than `lasting` seconds of the host are over;
 * *seconds is for one execution. */
static mmt_status time_batches(struct mmt_session *session, struct run *run,
                               double lasting, double *seconds, mmt_error *err)
{
    const double ends = mmt_now() + lasting;
    double sum = 0;
    int count = 0;

    do {
        mmt_status status = time_batch(session, run, seconds, err);
        if (status != MMT_OK)
            return status;
        sum += *seconds;
        count++;
    } while (mmt_now() < ends);
    *seconds = sum / count;
    return MMT_OK;
}

static mmt_status take_sample(struct mmt_session *session, struct run *run,
                              const struct mmt_measure_limits *limits, mmt_error *err)
{
    const double isolated = limits->isolated_seconds;
    double seconds = 0;
    mmt_status status = MMT_OK;

    if (isolated > 0)
        status = time_batches(session, run, isolated, &seconds, err);
    if (status == MMT_OK)
        status = time_batches(session, run, isolated, &seconds, err);
    if (status != MMT_OK)
        return status;
    run->samples[run->count++] = seconds;
    run->done = has_enough(run, limits);
    return MMT_OK;
}

static void conclude_run(struct run *run, struct mmt_measured *out)
{
    struct mmt_summary s = mmt_stats_summarise(run->samples, run->count);

    out->time = (struct mmt_timing){ .median = s.median,
                                     .spread = (s.upper_quartile - s.lower_quartile) / 2,
                                     .samples = run->count };
    out->health = run->health;
}

/* ---- one, and many in turn ------------------------------------------------------- */

static int count_parts(const struct mmt_session *session, const struct mmt_config *config)
{
    struct mmt_launches launches = { 0 };
    mmt_config_launch(config, &session->problem, mmt_device_caps(session->device),
                      &launches);
    return launches.count;
}

static mmt_status start_runs(struct mmt_session *session,
                             const struct mmt_config *configs, int count,
                             const struct mmt_measure_limits *limits, struct run *runs,
                             mmt_error *err)
{
    mmt_error own;

    err = err ? err : &own;
    for (int i = 0; i < count; i++) {
        runs[i].plan =
            mmt_session_plan(session, &configs[i], &session->problem, false, err);
        if (!runs[i].plan)
            return err->status;
        runs[i].parts = count_parts(session, &configs[i]);
        mmt_status status = warm_up(session, &runs[i], limits, err);
        if (status != MMT_OK)
            return status;
    }
    return MMT_OK;
}

/* Executes them all in turn, for so long. */
static mmt_status heat_device(struct mmt_session *session, struct run *runs, int count,
                              double seconds, mmt_error *err)
{
    const double ends = mmt_now() + seconds;
    double each;
    mmt_status status = MMT_OK;

    for (int i = 0; status == MMT_OK && mmt_now() < ends; i = (i + 1) % count) {
        status = time_batch(session, &runs[i], &each, err);
        runs[i].health = (struct mmt_health){ 0 };
        runs[i].spent = 0;
    }
    return status;
}

/* There and back, so that nobody always comes after the same neighbour, which leaves the
 * device hotter or cooler than another. */
static mmt_status sample_in_turn(struct mmt_session *session, struct run *runs, int count,
                                 const struct mmt_measure_limits *limits, mmt_error *err)
{
    bool busy = true;

    for (int round = 0; busy; round++) {
        busy = false;
        for (int i = 0; i < count; i++) {
            struct run *run = &runs[round % 2 ? count - 1 - i : i];
            if (run->done)
                continue;
            mmt_status status = take_sample(session, run, limits, err);
            if (status != MMT_OK)
                return status;
            busy |= !run->done;
        }
    }
    return MMT_OK;
}

static mmt_status measure_runs(struct mmt_session *session,
                               const struct mmt_config *configs, int count,
                               const struct mmt_measure_limits *limits,
                               struct mmt_measured *out, mmt_error *err)
{
    struct mmt_health now;
    struct run *runs = calloc((size_t) count, sizeof *runs);
    if (!runs)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for samples");

    mmt_device_health(session->device, &now); /* the first question costs no budget */
    mmt_status status = mmt_session_point_copies(session, 0, 0, err);
    if (status == MMT_OK)
        status = start_runs(session, configs, count, limits, runs, err);
    if (status == MMT_OK)
        status = heat_device(session, runs, count, limits->heat_seconds, err);
    if (status == MMT_OK)
        status = sample_in_turn(session, runs, count, limits, err);
    for (int i = 0; i < count && status == MMT_OK; i++)
        conclude_run(&runs[i], &out[i]);
    for (int i = 0; i < count; i++)
        mmt_plan_free(runs[i].plan);
    free(runs);
    return status;
}

/* Whether it would be near the best if the device ran as fast as it did then. */
static bool might_win(const struct mmt_measured *it,
                      const struct mmt_measure_limits *limits)
{
    double clock = it->health.clock_mhz, full = limits->best_mhz;
    double slower = clock > 0 && full > clock ? full / clock : 1;

    return limits->best_seconds <= 0 ||
           it->time.median <= contends * slower * limits->best_seconds;
}

mmt_status mmt_measure_candidate(struct mmt_session *session,
                                 const struct mmt_config *config,
                                 const struct mmt_measure_limits *given,
                                 struct mmt_measured *out, mmt_error *err)
{
    struct mmt_measure_limits limits = fill_limits(given);
    struct mmt_measured again;

    mmt_status status = measure_runs(session, config, 1, &limits, out, err);
    if (status != MMT_OK || !out->health.throttled || !might_win(out, &limits))
        return status;
    usleep(rest);
    status = measure_runs(session, config, 1, &limits, &again, err);
    if (status == MMT_OK &&
        (!again.health.throttled || again.time.median < out->time.median))
        *out = again;
    return status;
}

mmt_status mmt_measure_group(struct mmt_session *session,
                             const struct mmt_config *configs, int count,
                             const struct mmt_measure_limits *given,
                             struct mmt_measured *out, mmt_error *err)
{
    struct mmt_measure_limits limits = fill_limits(given);

    limits.best_seconds = 0;
    return measure_runs(session, configs, count, &limits, out, err);
}
