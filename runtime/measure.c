/* Planning that measures: the few kernels that promise most are timed on the caller's
 * device, in memory of its own. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "runtime/runtime.h"

enum {
    MOST_CANDIDATES = 6,
    MOST_SAMPLES = 15,
    MOST_LAUNCHES = 64, /* of a sample: a queue that is held takes some hundred */
    LEAST_SAMPLES = 2,  /* before one is given up */
};

static const double usual_seconds = 0.05;
static const double sample_seconds = 2e-4; /* what a sample of short executions lasts */
static const double given_up = 1.1;        /* times slower than the fastest */
static const size_t usual_share = 4;       /* a part of the device's memory */
static const size_t chunk = 4 << 20;       /* bytes that are written at once */

/* Floating-point operations a clock that no core of a CPU exceeds. */
static const double most_of_a_core = 128;

/* Two measurings at a time would disturb each other, and the device holds one queue. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

struct candidate {
    struct mmt_config config, resolved;
    struct mmt_kernel *kernel;
    double samples[MOST_SAMPLES]; /* seconds of an execution, sorted */
    int count;
    int launches; /* executions of a sample; 0: the device does not execute it */
};

struct measuring {
    mmt_device *device;
    const struct mmt_caps *caps;
    const mmt_problem *problem;
    mmt_queue queue;
    struct mmt_mark *from, *to;
    mmt_operand memory, workspace;
    size_t a, b, c, bias, pitch; /* bytes: where operands begin, and from copy to copy */
    size_t workspace_bytes;
    int64_t copies, next; /* of the operands: they are rotated, as a program's are */
    double ends;          /* of mmt_now() */
    struct candidate candidates[MOST_CANDIDATES];
    int count;
};

/* ---- memory ---------------------------------------------------------------------- */

static size_t round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Numbers of every sign, from 1/2 to 1, or any whole ones: power depends on the bits that
 * change. */
static void fill_random(mmt_type type, void *out, size_t bytes)
{
    const int bits = 8 * (int) mmt_type_size(type);
    const uint64_t last = (1u << mmt_type_format(type).exponent) - 1;
    uint64_t state = 0x9e3779b97f4a7c15, *words = out, keep = UINT64_MAX, set = 0;

    for (int at = bits - 1 - mmt_type_format(type).exponent; last && at < 64;
         at += bits) {
        keep &= ~(last << at);
        set |= (last / 2 - 1) << at;
    }
    for (size_t i = 0; i < bytes / sizeof *words; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17; /* xorshift64 */
        words[i] = (state & keep) | set;
    }
}

static mmt_status write_random(struct measuring *m, size_t bytes, mmt_error *err)
{
    const size_t some = bytes < chunk ? bytes : chunk;
    void *random = malloc(some);
    mmt_status status = MMT_OK;

    if (!random)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for random numbers");
    fill_random(m->problem->type, random, some);
    for (size_t done = 0; done < bytes && !status; done += some) {
        mmt_operand at = m->memory;
        at.offset += done;
        status = mmt_buffer_write(m->device, at, random,
                                  bytes - done < some ? bytes - done : some, err);
    }
    free(random);
    return status;
}

/* Where the operands of a copy stand. */
static void lay_out(struct measuring *m)
{
    const mmt_problem *p = m->problem;
    const size_t size = mmt_type_size(p->type), out = mmt_type_size(p->out);

    m->a = 0;
    m->b = m->a + round_up((size_t) mmt_problem_extent_a(p) * size);
    m->c = m->b + round_up((size_t) mmt_problem_extent_b(p) * size);
    m->bias = m->c + round_up((size_t) mmt_problem_extent_c(p) * out);
    const int64_t biases = p->bias == MMT_BIAS_M ? p->m : p->bias ? p->n : 0;
    m->pitch = m->bias + round_up((size_t) biases * out);
}

/* As many copies as twice the last cache holds, within the bound. */
static mmt_status make_memory(struct measuring *m, size_t most, mmt_error *err)
{
    const struct mmt_caps *caps = &m->device->caps;
    const size_t fit = (most - m->workspace_bytes) / m->pitch;
    const size_t wanted = 2 * caps->cache / m->pitch + 1;
    m->copies = (int64_t) (fit < wanted ? fit : wanted);
    const size_t bytes = (size_t) m->copies * m->pitch;
    mmt_status status = mmt_buffer_create(m->device, bytes, &m->memory, err);
    if (!status && m->workspace_bytes)
        status = mmt_buffer_create(m->device, m->workspace_bytes, &m->workspace, err);
    return status ? status : write_random(m, bytes, err);
}

static mmt_operand operand_at(const struct measuring *m, size_t offset)
{
    mmt_operand operand = m->memory;
    operand.offset += (size_t) (m->next % m->copies) * m->pitch + offset;
    return operand;
}

static mmt_args next_args(struct measuring *m)
{
    mmt_args args = mmt_args_defaults();

    args.a = operand_at(m, m->a);
    args.b = operand_at(m, m->b);
    args.c = operand_at(m, m->c);
    args.bias = m->problem->bias ? operand_at(m, m->bias) : (mmt_operand){ 0 };
    args.beta = mmt_op_row(m->problem->op)->beta;
    args.workspace = m->workspace;
    m->next++;
    return args;
}

/* ---- timing ---------------------------------------------------------------------- */

static mmt_status queue_executions(struct measuring *m, const struct candidate *it,
                                   int count, mmt_error *err)
{
    mmt_status status = mmt_mark_record(m->from, m->queue, err);
    for (int i = 0; i < count && !status; i++) {
        const mmt_args args = next_args(m);
        status = mmt_kernel_run(it->kernel, &args,
                                &(struct mmt_turn){ .queue = m->queue }, err);
    }
    return status ? status : mmt_mark_record(m->to, m->queue, err);
}

/* Short executions are held back until all are queued: else the host would be timed. */
static mmt_status time_some(struct measuring *m, const struct candidate *it, int count,
                            double *seconds, mmt_error *err)
{
    const bool held = count > 1 && mmt_queue_hold(m->device, m->queue);
    mmt_status status = queue_executions(m, it, count, err);
    if (held)
        mmt_queue_release(m->device);
    if (!status)
        status = mmt_mark_seconds(m->from, m->to, seconds, err);
    *seconds /= count;
    return status;
}

/* A first execution may load, or even build, code. What takes longer than all timing may
 * ends the loading: those that promise less are left out. */
static void load_all(struct measuring *m, double budget)
{
    double seconds = 0;
    for (int i = 0; i < m->count && seconds < budget; i++) {
        struct candidate *it = &m->candidates[i];
        it->launches = !time_some(m, it, 1, &seconds, NULL);
    }
}

/* Finds how many executions make a sample. */
static mmt_status warm_up(struct measuring *m, struct candidate *it, mmt_error *err)
{
    double seconds = 0;
    mmt_status status = time_some(m, it, 1, &seconds, err);
    const double wanted = ceil(sample_seconds / fmax(seconds, 1e-7));
    it->launches = (int) fmin(fmax(wanted, 1), MOST_LAUNCHES);
    return status;
}

static mmt_status take_sample(struct measuring *m, struct candidate *it, mmt_error *err)
{
    double seconds = 0;
    mmt_status status = time_some(m, it, it->launches, &seconds, err);
    int at = it->count;

    if (status)
        return status;
    for (; at && it->samples[at - 1] > seconds; at--)
        it->samples[at] = it->samples[at - 1];
    it->samples[at] = seconds;
    it->count++;
    return MMT_OK;
}

static double median_seconds(const struct candidate *it)
{
    return it->samples[it->count / 2];
}

/* The one of the least median, of equals the first; -1: none was timed. */
static int find_fastest(const struct measuring *m)
{
    int best = -1;
    for (int i = 0; i < m->count; i++)
        if (m->candidates[i].count &&
            (best < 0 ||
             median_seconds(&m->candidates[i]) < median_seconds(&m->candidates[best])))
            best = i;
    return best;
}

static bool goes_on(const struct measuring *m, const struct candidate *it)
{
    const int best = find_fastest(m);
    if (it->launches == 0 || it->count == MOST_SAMPLES)
        return false;
    return it->count < LEAST_SAMPLES || best < 0 ||
           it->samples[0] <= given_up * m->candidates[best].samples[0];
}

/* In turn, so that a change of the clock meets all alike. */
static mmt_status time_all(struct measuring *m, mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int i = 0; i < m->count && !status && mmt_now() < m->ends; i++)
        if (m->candidates[i].launches)
            status = warm_up(m, &m->candidates[i], err);
    for (bool busy = true; busy && !status;) {
        busy = false;
        for (int i = 0; i < m->count && !status && mmt_now() < m->ends; i++) {
            if (!goes_on(m, &m->candidates[i]))
                continue;
            status = take_sample(m, &m->candidates[i], err);
            busy = true;
        }
    }
    return status;
}

/* ---- who is measured --------------------------------------------------------------- */

static bool is_candidate(const struct measuring *m, const struct mmt_config *resolved)
{
    for (int i = 0; i < m->count; i++)
        if (mmt_config_equal(&m->candidates[i].resolved, resolved))
            return true;
    return false;
}

/* What cannot be built, or needs too much memory, is left out. */
static void add_candidate(struct measuring *m, const struct mmt_config *config,
                          const struct mmt_bundled *in, size_t most)
{
    struct candidate *it = &m->candidates[m->count];
    struct mmt_bound bound;

    mmt_bind_known(config, m->problem, m->caps, &bound);
    const bool aligned = mmt_bound_aligns(&bound);
    if (is_candidate(m, &bound.config) || (!aligned && !bound.has_any) ||
        mmt_kernel_create(m->device, &bound, aligned, in, &it->kernel, NULL))
        return;
    const size_t workspace = mmt_kernel_workspace(it->kernel);
    if (workspace > most - m->pitch) {
        mmt_kernel_free(it->kernel);
        it->kernel = NULL;
        return;
    }
    it->config = *config;
    it->resolved = bound.config;
    if (workspace > m->workspace_bytes)
        m->workspace_bytes = workspace;
    m->count++;
}

static void add_candidates(struct measuring *m, const struct mmt_profile *profile,
                           const struct mmt_terms *terms, size_t most)
{
    struct mmt_config configs[MOST_CANDIDATES];
    const int count = mmt_select_candidates(profile, m->problem, m->caps, terms, configs,
                                            MOST_CANDIDATES);
    for (int i = 0; i < count; i++)
        add_candidate(m, &configs[i], terms->in, most);
}

/* ---- the whole ------------------------------------------------------------------- */

static double budget_of(const mmt_plan_options *options)
{
    return options->measure_seconds > 0 ? options->measure_seconds : usual_seconds;
}

/* Bytes; a buffer may be smaller than memory is. */
static size_t bound_of(const mmt_plan_options *options, const struct mmt_caps *caps)
{
    const size_t usual = caps->memory ? caps->memory / usual_share : (size_t) 1 << 30;
    const size_t most = options->measure_bytes ? options->measure_bytes : usual;
    return caps->max_buffer && caps->max_buffer < most ? caps->max_buffer : most;
}

/* Seconds that no kernel can be faster than; 0: unknown. */
static double least_seconds(const struct mmt_profile *profile, const mmt_problem *problem,
                            const struct mmt_caps *caps)
{
    double peak = profile ? profile->roofline.peak_flops[problem->type] : 0;
    if (peak <= 0 && caps->kind == MMT_CPU)
        peak = most_of_a_core * caps->sms * caps->clock_khz * 1e3;
    return peak > 0 ? mmt_problem_flops(problem) / peak : 0;
}

/* Why nothing can be measured now. */
static mmt_status check_options(const struct mmt_plan_options *options,
                                mmt_device *device, const struct mmt_profile *profile,
                                const mmt_problem *problem, mmt_error *err)
{
    const double budget = budget_of(options);
    const double least = least_seconds(profile, problem, &device->caps);

    if (!strcmp(device->caps.backend, "null"))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "the device executes nothing");
    if (problem->batch_by == MMT_BY_POINTERS)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "a batch by pointers is not measured");
    if (mmt_queue_captures(device, options->queue))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "a stream is being captured");
    /* Two kernels, warmed up and timed. */
    if (4 * least > budget)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "an execution takes %.3g ms or more, and measuring may take %.3g",
                        least * 1e3, budget * 1e3);
    return MMT_OK;
}

static mmt_status measure_candidates(struct measuring *m, const mmt_plan_options *options,
                                     size_t most, mmt_error *err)
{
    mmt_status status = mmt_queue_create(m->device, &m->queue, err);
    if (!status)
        status = mmt_mark_create(m->device, &m->from, err);
    if (!status)
        status = mmt_mark_create(m->device, &m->to, err);
    if (!status)
        status = make_memory(m, most, err);
    if (!status)
        load_all(m, budget_of(options));
    m->ends = mmt_now() + budget_of(options);
    return status ? status : time_all(m, err);
}

static void finish_measuring(struct measuring *m)
{
    if (m->queue)
        mmt_finish(m->device, m->queue, NULL);
    for (int i = 0; i < m->count; i++)
        mmt_kernel_free(m->candidates[i].kernel);
    if (m->memory.handle)
        mmt_buffer_free(m->device, m->memory);
    if (m->workspace.handle)
        mmt_buffer_free(m->device, m->workspace);
    if (m->from)
        mmt_mark_free(m->from);
    if (m->to)
        mmt_mark_free(m->to);
    if (m->queue)
        mmt_queue_free(m->device, m->queue);
}

/* Whether another thread has measured this very problem meanwhile. */
static bool was_measured(const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_caps *caps, const struct mmt_terms *terms,
                         struct mmt_selection *selection)
{
    struct mmt_selection now;
    if (mmt_select(profile, problem, caps, terms, &now, NULL) ||
        now.why != MMT_SELECTION_MEASURED)
        return false;
    *selection = now;
    return true;
}

/* What was found under narrower terms is not the best for others. */
static bool is_free(const struct mmt_terms *terms)
{
    return terms->max_workspace == SIZE_MAX && !terms->strict_f32 && !terms->num_refused;
}

static struct mmt_entry make_entry(const struct measuring *m, const struct candidate *it)
{
    struct mmt_hash hash;
    struct mmt_entry entry = {
        .problem = *m->problem,
        .config = it->config,
        .time = { .median = median_seconds(it),
                  .spread =
                      (it->samples[3 * it->count / 4] - it->samples[it->count / 4]) / 2,
                  .samples = it->count },
        .gflops = mmt_problem_flops(m->problem) / median_seconds(it) / 1e9,
        .layer = -1,
    };
    if (!mmt_template_hash(it->config.template, &hash, NULL))
        mmt_hash_print(hash, entry.template_hash);
    return entry;
}

static int count_timed(const struct measuring *m)
{
    int count = 0;
    for (int i = 0; i < m->count; i++)
        count += m->candidates[i].count > 0;
    return count;
}

static mmt_status conclude_measuring(const struct measuring *m,
                                     const struct mmt_profile *profile,
                                     const struct mmt_terms *terms,
                                     struct mmt_selection *selection, mmt_error *err)
{
    const int best = find_fastest(m), timed = count_timed(m);

    if (timed < 2)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%d of %d kernels were timed in the time that measuring may take",
                        timed, m->count);
    const struct candidate *it = &m->candidates[best];
    selection->config = it->config;
    selection->why = MMT_SELECTION_MEASURED;
    selection->seconds = median_seconds(it);
    selection->compared = timed;
    selection->layer = -1;
    if (!profile || !is_free(terms))
        return MMT_OK;
    const struct mmt_entry entry = make_entry(m, it);
    return mmt_profile_learn(profile, &entry, err);
}

static mmt_status measure_in_turn(mmt_device *device, const struct mmt_caps *caps,
                                  const struct mmt_profile *profile,
                                  const mmt_problem *problem,
                                  const struct mmt_terms *terms,
                                  const mmt_plan_options *options,
                                  struct mmt_selection *selection, mmt_error *err)
{
    const size_t most = bound_of(options, caps);
    struct measuring *m = calloc(1, sizeof *m);

    if (!m)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to measure");
    m->device = device;
    m->caps = caps;
    m->problem = problem;
    lay_out(m);
    mmt_status status = MMT_OK;
    if (m->pitch > most)
        status = mmt_fail(err, MMT_ERROR_MEMORY,
                          "the operands have %zu bytes, and measuring may take %zu",
                          m->pitch, most);
    else
        add_candidates(m, profile, terms, most);
    if (!status && m->count < 2)
        status = mmt_fail(err, MMT_ERROR_UNSUPPORTED, "no second kernel serves");
    if (!status)
        status = measure_candidates(m, options, most, err);
    if (!status)
        status = conclude_measuring(m, profile, terms, selection, err);
    finish_measuring(m);
    free(m);
    return status;
}

mmt_status mmt_measure_selection(mmt_device *device, const struct mmt_caps *caps,
                                 const struct mmt_profile *profile,
                                 const mmt_problem *problem,
                                 const struct mmt_terms *terms,
                                 const mmt_plan_options *options,
                                 struct mmt_selection *selection, mmt_error *err)
{
    mmt_status status = check_options(options, device, profile, problem, err);

    if (status)
        return status;
    pthread_mutex_lock(&turn);
    if (!was_measured(profile, problem, caps, terms, selection)) {
        const int mode = mmt_thread_relax(device);
        status = measure_in_turn(device, caps, profile, problem, terms, options,
                                 selection, err);
        mmt_thread_restore(device, mode);
    }
    pthread_mutex_unlock(&turn);
    return status;
}
