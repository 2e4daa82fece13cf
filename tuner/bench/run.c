/* One problem: every contestant's answer is checked, then all are timed in turn. */
#include "tuner/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/measure.h"
#include "tuner/verify/oracle.h"
#include "tuner/verify/session_internal.h"

static const double precision = 5e-3; /* of the median, that is enough */
enum { MOST_SAMPLES = 200, MOST_COUNT = 8192 };

/* Bytes of a C that is compared even where time is short. */
enum { SMALL = 16 << 20 };

/* A contestant while it is measured. */
struct lane {
    const struct mmt_contestant *contestant;
    struct mmt_bench_time *time;
    int64_t count; /* products in a sample */
    double samples[MOST_SAMPLES];
    double spent;
    bool out;
};

struct match {
    struct mmt_bench *bench;
    struct mmt_bench_row *row;
    struct mmt_session *session;
    struct lane *lanes;
    double isolated;              /* a contestant runs so long before each sample */
    unsigned char *ours, *theirs; /* C as it was read back */
    bool have_ours;
};

static void leave_match(struct lane *lane, const char *reason)
{
    snprintf(lane->time->reason, sizeof lane->time->reason, "%s", reason);
    lane->out = true;
}

/* ---- right before fast ----------------------------------------------------------- */

static const void *entry_of(const mmt_problem *p, const void *c, int64_t z, int64_t i,
                            int64_t j)
{
    return (const char *) c +
           (size_t) (z * p->stride_c + i * p->ldc + j) * mmt_type_size(p->out);
}

static mmt_status poison_output(struct mmt_session *session, unsigned char *bytes,
                                size_t size, mmt_error *err)
{
    memset(bytes, 0xff, size);
    return mmt_buffer_write(session->device, mmt_session_args(session, 0).c, bytes, size,
                            err);
}

/* One product on copy 0, over a C of NaN, read back into `c`. */
static mmt_status compute_lane(struct match *match, struct lane *lane, unsigned char *c,
                               mmt_error *err)
{
    const struct mmt_contestant *who = lane->contestant;
    const mmt_problem *p = &match->session->problem;
    size_t size = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    double seconds;
    mmt_status status = poison_output(match->session, c, size, err);

    if (status == MMT_OK)
        status = mmt_reference_run(who->reference, who->self, match->session, who->way, 0,
                                   1, &seconds, err);
    if (status == MMT_OK)
        status = mmt_reference_result(who->reference, who->self, match->session, c, err);
    return status;
}

/* The entries whose answer the session knows, within the error bound. */
static bool check_samples(struct match *match, struct lane *lane, const void *c)
{
    const struct mmt_session *session = match->session;
    mmt_type out = session->problem.out;

    for (int i = 0; i < session->num_samples; i++) {
        const struct mmt_sample *s = &session->samples[i];
        const void *found = entry_of(&session->problem, c, s->batch, s->i, s->j);
        if (mmt_oracle_agrees(out, found, s->answer))
            continue;
        snprintf(lane->time->reason, sizeof lane->time->reason,
                 "computes wrongly: C(%lld, %lld) is %.9Lg, and should be %.9Lg +- %.2Lg",
                 (long long) s->i, (long long) s->j, mmt_number_read(out, found),
                 s->answer.value, s->answer.bound);
        return false;
    }
    return true;
}

enum { PART = 512 }; /* elements that are compared at a time */

/* NAN where one of them is none. */
static double difference_of_part(mmt_type type, const void *x, const void *y,
                                 int64_t count)
{
    double a[PART], b[PART], largest = 0;

    mmt_number_read_all(type, x, count, a);
    mmt_number_read_all(type, y, count, b);
    for (int64_t i = 0; i < count; i++) {
        double now = fabs(a[i] - b[i]);
        if (isnan(now))
            return NAN;
        largest = now > largest ? now : largest;
    }
    return largest;
}

static double largest_difference(const mmt_problem *p, const void *x, const void *y)
{
    double largest = 0;

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j += PART) {
                int64_t count = p->n - j < PART ? p->n - j : PART;
                double now = difference_of_part(p->out, entry_of(p, x, z, i, j),
                                                entry_of(p, y, z, i, j), count);
                if (isnan(now))
                    return NAN;
                largest = fmax(largest, now);
            }
    return largest;
}

/* How far two right answers may be apart: twice the error bound, with operands up to 1;
 * and never a hundredth of what an entry usually is, the square root of k over 3. C's
 * last rounding comes on top, of entries up to six times the usual. f8 may be a tenth
 * apart. */
static double most_apart(const mmt_problem *p)
{
    double u = mmt_number_roundoff(mmt_type_scalar(p->type)), k = (double) p->k;
    double usual = sqrt(k) / 3, last = 2 * mmt_number_roundoff(p->out) * 6 * usual;

    if (mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return 0;
    if (mmt_type_in(p->type, MMT_F8_TYPES))
        return usual / 10 + last;
    return fmin(4 * (k + 2) * u * k, usual / 100) + last;
}

/* Every entry against ours. */
static bool check_difference(struct match *match, struct lane *lane)
{
    const mmt_problem *p = &match->session->problem;
    double most = most_apart(p), found;

    lane->time->difference = found = largest_difference(p, match->ours, match->theirs);
    if (found <= most)
        return true;
    snprintf(
        lane->time->reason, sizeof lane->time->reason,
        "computes something else than mmtune: an entry of C differs by %.3g, and may "
        "by %.3g",
        found, most);
    return false;
}

static void check_lane(struct match *match, struct lane *lane)
{
    bool is_ours = lane == match->lanes, right;
    unsigned char *c = is_ours ? match->ours : match->theirs;
    mmt_error err = { 0 };

    if (compute_lane(match, lane, c, &err)) {
        leave_match(lane, err.text);
        return;
    }
    right = check_samples(match, lane, c);
    if (right && !is_ours && match->have_ours)
        right = check_difference(match, lane);
    match->have_ours |= is_ours && right;
    lane->time->wrong = lane->out = !right;
}

/* ---- timing ---------------------------------------------------------------------- */

static bool run_lane(struct match *match, struct lane *lane, double *seconds)
{
    const struct mmt_contestant *who = lane->contestant;
    int64_t *next = &match->session->next;
    mmt_error err = { 0 };

    if (mmt_reference_run(who->reference, who->self, match->session, who->way, *next,
                          lane->count, seconds, &err)) {
        leave_match(lane, err.text);
        return false;
    }
    *next += lane->count;
    lane->spent += *seconds;
    return true;
}

/* Finds how many products make a sample. */
static void calibrate_lane(struct match *match, struct lane *lane)
{
    const double sample_seconds = match->bench->pace.sample_seconds;
    double seconds = 0;

    for (lane->count = 1; run_lane(match, lane, &seconds);) {
        if (seconds >= sample_seconds || lane->count == MOST_COUNT || mmt_interrupted)
            break;
        double wanted = ceil(1.1 * sample_seconds / seconds * (double) lane->count);
        double most = fmin(16.0 * (double) lane->count, MOST_COUNT);
        lane->count = (int64_t) fmin(wanted, most);
    }
    lane->spent = 0;
}

/* As many products as a sample has at least, and again until `lasting` seconds are over;
 * *each is for one product. */
static bool run_for(struct match *match, struct lane *lane, double lasting, double *each)
{
    double seconds, sum = 0;
    int64_t count = 0;

    do {
        if (!run_lane(match, lane, &seconds))
            return false;
        sum += seconds;
        count += lane->count;
    } while (sum < lasting && !mmt_interrupted);
    *each = sum / (double) count;
    return true;
}

static void take_sample(struct match *match, struct lane *lane)
{
    double each;

    if (lane->out ||
        (match->isolated > 0 && !run_for(match, lane, match->isolated, &each)))
        return;
    if (run_for(match, lane, match->isolated, &each))
        lane->samples[lane->time->samples++] = each;
}

static bool is_precise(const struct lane *lane)
{
    double copy[MOST_SAMPLES];
    memcpy(copy, lane->samples, sizeof copy);
    struct mmt_summary s = mmt_stats_summarise(copy, lane->time->samples);
    return mmt_stats_precision(&s) <= precision;
}

/* Whether all have told enough, or the time is up. */
static bool is_over(const struct match *match, int round)
{
    double spent = 0, allowed = 0;
    bool precise = true;

    if (round >= MOST_SAMPLES || mmt_interrupted)
        return true;
    if (round < match->bench->pace.least_samples)
        return false;
    for (int i = 0; i < match->bench->num_contestants; i++) {
        const struct lane *lane = &match->lanes[i];
        if (lane->out)
            continue;
        precise &= is_precise(lane);
        spent += lane->spent;
        allowed += match->bench->pace.seconds;
    }
    return precise || spent >= allowed;
}

/* Just after a round, before the device has come to rest. */
static void watch_device(struct match *match)
{
    struct mmt_health now;
    if (!mmt_device_health(match->bench->device, &now))
        return;
    mmt_health_add(&match->row->health, &now);
    match->row->has_health = true;
}

/* In turn, there and back, so that nobody always comes after the same neighbour. */
static void take_round(struct match *match, int round)
{
    int count = match->bench->num_contestants;

    for (int i = 0; i < count && !mmt_interrupted; i++)
        take_sample(match, &match->lanes[round % 2 ? count - 1 - i : i]);
    watch_device(match);
}

/* A device that is throttled: all begin again, each isolated for a while before a
 * sample.
 */
static void start_over(struct match *match)
{
    match->isolated = MMT_ISOLATED_SECONDS;
    for (int i = 0; i < match->bench->num_contestants; i++) {
        match->lanes[i].time->samples = 0;
        match->lanes[i].spent = 0;
    }
}

static void sample_all(struct match *match)
{
    for (int round = 0; !is_over(match, round); round++) {
        take_round(match, round);
        if (match->isolated > 0 || !match->row->health.throttled ||
            match->bench->pace.session)
            continue;
        start_over(match);
        round = -1;
    }
}

/* ---- one problem ----------------------------------------------------------------- */

static void describe_lane(struct lane *lane)
{
    struct mmt_text text = { 0 };
    lane->contestant->reference->describe(lane->contestant->self, lane->contestant->way,
                                          &text);
    snprintf(lane->time->what, sizeof lane->time->what, "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
}

/* Ways of one library are prepared once, by its first. */
static void prepare_lane(struct match *match, int i)
{
    struct lane *lane = &match->lanes[i];
    const struct mmt_contestant *who = lane->contestant;
    const char *why = who->reference->refuse
                          ? who->reference->refuse(who->self, &match->session->problem)
                          : NULL;
    mmt_error err = { 0 };

    if (why)
        leave_match(lane, why);
    else if (who->way && match->lanes[i - 1].out)
        leave_match(lane, match->lanes[i - 1].time->reason);
    else if (!who->way && who->reference->prepare(who->self, match->session,
                                                  match->bench->pace.trying, &err))
        leave_match(lane, err.text);
    else
        describe_lane(lane);
}

static void conclude_match(struct match *match)
{
    const struct mmt_bench_time *ours = match->lanes[0].time;

    for (int i = 0; i < match->bench->num_contestants; i++) {
        struct lane *lane = &match->lanes[i];
        struct mmt_bench_time *time = lane->time;
        if (!lane->out && time->samples < match->bench->pace.least_samples)
            leave_match(lane, "interrupted");
        if (lane->out)
            continue;
        time->time = mmt_stats_summarise(lane->samples, time->samples);
        if (i == 0 || match->lanes[0].out)
            continue;
        time->ratio = time->time.median / ours->time.median;
        time->tie =
            time->time.low <= ours->time.high && ours->time.low <= time->time.high;
    }
}

static bool is_checked(const struct match *match)
{
    const mmt_problem *p = &match->session->problem;
    size_t size = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    return !match->bench->pace.session || size <= SMALL;
}

static void play_match(struct match *match)
{
    int count = match->bench->num_contestants;

    for (int i = 0; i < count && !mmt_interrupted; i++)
        prepare_lane(match, i);
    for (int i = 0; i < count && is_checked(match) && !mmt_interrupted; i++)
        if (!match->lanes[i].out)
            check_lane(match, &match->lanes[i]);
    for (int i = 0; i < count && !mmt_interrupted; i++)
        if (!match->lanes[i].out)
            calibrate_lane(match, &match->lanes[i]);
    sample_all(match);
    conclude_match(match);
}

static bool make_match(struct match *match, struct mmt_bench_row *row, mmt_error *err)
{
    int count = match->bench->num_contestants;

    match->session = match->bench->pace.session
                         ? match->bench->pace.session
                         : mmt_session_create(match->bench->device, &row->problem,
                                              match->bench->seed, err);
    if (!match->session)
        return false;
    const mmt_problem *p = &match->session->problem;
    size_t size = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    match->lanes = calloc((size_t) count, sizeof *match->lanes);
    match->ours = malloc(size);
    match->theirs = malloc(size);
    if (!match->lanes || !match->ours || !match->theirs) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for two C of %zu bytes", size);
        return false;
    }
    for (int i = 0; i < count; i++) {
        match->lanes[i].contestant = &match->bench->contestants[i];
        match->lanes[i].time = &row->times[i];
    }
    return true;
}

void mmt_bench_enter(struct mmt_bench *bench, const struct mmt_reference *reference,
                     void *self)
{
    for (int way = 0; reference->ways[way]; way++)
        bench->contestants[bench->num_contestants++] =
            (struct mmt_contestant){ reference, self, way, reference->ways[way] };
}

void mmt_bench_measure(struct mmt_bench *bench, struct mmt_bench_row *row)
{
    struct match match = { .bench = bench, .row = row };
    mmt_error err = { 0 };

    if (make_match(&match, row, &err))
        play_match(&match);
    else
        snprintf(row->reason, sizeof row->reason, "%s", err.text);
    for (int i = 0; i < bench->num_contestants; i++)
        bench->contestants[i].reference->forget(bench->contestants[i].self);
    if (!bench->pace.session)
        mmt_session_free(match.session);
    free(match.lanes);
    free(match.ours);
    free(match.theirs);
}
