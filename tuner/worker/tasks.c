/* A worker's tasks: compiling, verifying and timing candidates on its device. */
#include "tuner/worker/tasks.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/roofline.h"
#include "tuner/common/options.h"
#include "tuner/verify/verify.h"

void mmt_worker_fail(struct mmt_result *result, const mmt_error *err)
{
    result->outcome = err->status == MMT_ERROR_UNSUPPORTED ? MMT_SKIPPED : MMT_FAILED;
    snprintf(result->reason, sizeof result->reason, "%.*s", MMT_REASON_SIZE - 1,
             err->text);
}

bool mmt_worker_spoils(mmt_status status)
{
    return status == MMT_ERROR_DEVICE || status == MMT_ERROR_MEMORY;
}

/* A row of that length, and a leading dimension that is aligned as the other one is. */
static int64_t like_stride(int64_t length, int64_t ld)
{
    enum { ALIGNED = 16 };
    return (length + ALIGNED - 1) / ALIGNED * ALIGNED + ld % ALIGNED;
}

/* The same problem with no dimension above `most`; a batch shares A and B. Rows of a
 * product begin at multiples of as many bytes as they do there, as not every
 * configuration takes any; other operations have no gaps. */
static mmt_problem of_size(const mmt_problem *p, int64_t most, int64_t batch)
{
    mmt_problem other = *p;
    for (const char *at = mmt_op_row(p->op)->dimensions; *at; at++) {
        int64_t *size = mmt_op_dimension(&other, *at);
        *size = *size < most ? *size : most;
    }
    other.batch = batch;
    other.lda = other.ldb = other.ldc = 0;
    other.stride_a = other.stride_b = other.stride_c = 0;
    if (p->op == MMT_GEMM) {
        other.lda = like_stride(p->trans_a ? other.m : other.k, p->lda);
        other.ldb = like_stride(p->trans_b ? other.k : other.n, p->ldb);
        other.ldc = like_stride(other.n, p->ldc);
    }
    return other;
}

/* ---- compiling ------------------------------------------------------------------- */

/* Waits while another worker, of any tuner with this cache, compiles the same text, which
 * is in the cache then. Closing what it returns lets go; -1: the file system has no
 * locks, and a text may be compiled twice. */
static int begin_text(struct mmt_hash text)
{
    struct flock byte = { .l_type = F_WRLCK,
                          .l_start = (off_t) (text.low >> 2),
                          .l_len = 1 };
    struct mmt_text path = { 0 };
    int fd = -1;
    mmt_file_cache_folder(&path);
    mmt_text_add(&path, "/compiling");
    if (!mmt_file_open_log(mmt_text_string(&path), &fd, NULL) &&
        fcntl(fd, F_OFD_SETLKW, &byte)) {
        close(fd);
        fd = -1;
    }
    mmt_text_finish(&path);
    return fd;
}

/* With `heeds`, what the compiler warns of counts. */
static mmt_status compile_variant(struct worker *w, const struct mmt_job *job,
                                  bool aligned, bool heeds, mmt_error *err)
{
    struct mmt_variant variant = mmt_variant_of(&job->problem, aligned);
    struct mmt_text log = { 0 };
    char why[256];
    bool cached;
    const int lock = begin_text(mmt_config_hash(&job->configs[0], &variant));
    mmt_status status =
        mmt_kernel_compile(w->device, &job->configs[0], &variant, &log, &cached, err);
    if (lock >= 0)
        close(lock);
    if (!status && heeds && mmt_log_warns(mmt_text_string(&log), why))
        status = mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s", why);
    mmt_text_finish(&log);
    return status;
}

/* All specialisations that a plan may take: verifying needs the one for any alignment,
 * whatever the problem is. One that serves the problem with warnings is not worth timing,
 * but may be right. */
static mmt_status compile_variants(struct worker *w, const struct mmt_job *job,
                                   mmt_error *err)
{
    const struct mmt_config *config = &job->configs[0];
    struct mmt_variant aligned = mmt_variant_of(&job->problem, true);
    struct mmt_alignment alignment;
    bool has_aligned =
        mmt_config_has_aligned(config, &job->problem) &&
        !mmt_config_check_device(config, &aligned, mmt_device_caps(w->device));
    bool serves = has_aligned && mmt_config_may_align(config, &job->problem, &alignment);
    bool heeds = job->task == MMT_TASK_COMPILE;
    mmt_status status = MMT_OK;
    if (has_aligned)
        status = compile_variant(w, job, true, heeds && serves, err);
    if (!status && mmt_config_has_any(config, &job->problem))
        status = compile_variant(w, job, false, heeds && !serves, err);
    return status;
}

/* Platforms that compile a part at the first launch keep that part in a cache on disk: a
 * launch of each kernel here saves it there, so that the measuring worker does not
 * compile. Operands that start one element off are for the specialisation for any
 * alignment. */
static mmt_status launch_both(struct worker *w, const mmt_plan *plan, mmt_args *args,
                              mmt_type type, mmt_error *err)
{
    mmt_status status = mmt_execute(plan, args, NULL, err);
    args->a.offset += mmt_type_size(type);
    if (!status)
        status = mmt_execute(plan, args, NULL, err);
    return status ? status : mmt_finish(w->device, NULL, err);
}

static mmt_status launch_small(struct worker *w, const mmt_plan *plan, mmt_type type,
                               mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    size_t bytes = 16 * 32 * sizeof(double), workspace = mmt_plan_workspace(plan);
    mmt_status status = MMT_OK;
    if (workspace)
        status = mmt_buffer_create(w->device, workspace, &args.workspace, err);
    if (!status)
        status = mmt_buffer_create(w->device, 4 * bytes, &args.a, err);
    args.b = args.c = args.bias = args.a;
    args.b.offset = 2 * bytes, args.c.offset = 3 * bytes;
    if (!status)
        status = launch_both(w, plan, &args, type, err);
    args.a.offset = 0;
    if (args.a.handle)
        mmt_buffer_free(w->device, args.a);
    if (args.workspace.handle)
        mmt_buffer_free(w->device, args.workspace);
    return status;
}

static mmt_status launch_once(struct worker *w, const struct mmt_job *job, mmt_error *err)
{
    const mmt_problem *p = &job->problem;
    mmt_problem small = of_size(p, p->op == MMT_JACOBI3D ? 6 : 16, 1);
    mmt_plan *plan = mmt_plan_of(w->device, &job->configs[0], &small, NULL, err);
    mmt_status status = plan ? launch_small(w, plan, p->type, err) : err->status;
    mmt_plan_free(plan);
    return status;
}

mmt_status mmt_worker_compile_first(struct worker *w, const struct mmt_job *job,
                                    mmt_error *err)
{
    const struct mmt_caps *caps = mmt_device_caps(w->device);
    mmt_worker_note("compile");
    mmt_status status = compile_variants(w, job, err);
    if (!status && caps->dialect == MMT_OPENCL_C && caps->kind == MMT_CPU) {
        mmt_worker_note("first run");
        status = launch_once(w, job, err);
        if (status == MMT_ERROR_UNSUPPORTED) /* so small a problem is not served */
            status = MMT_OK;
    }
    return status;
}

static mmt_status compile_job(struct worker *w, const struct mmt_job *job,
                              struct mmt_reply *reply, mmt_error *err)
{
    reply->results[0] = (struct mmt_result){ .outcome = MMT_TIMED };
    return mmt_worker_compile_first(w, job, err);
}

/* ---- measuring ------------------------------------------------------------------- */

mmt_status mmt_worker_enter_session(struct worker *w, const struct mmt_job *job,
                                    mmt_error *err)
{
    if (w->session && w->seed == job->seed && (!w->bare || job->is_short) &&
        mmt_problem_equal(mmt_session_problem(w->session), &job->problem))
        return MMT_OK;
    mmt_worker_note("data");
    if (w->session && w->bare && job->is_short && w->seed == job->seed) {
        w->session = mmt_session_follow(w->session, &job->problem, err);
        return w->session ? MMT_OK : err->status;
    }
    mmt_session_free(w->session);
    w->session = job->is_short
                     ? mmt_session_create_bare(w->device, &job->problem, job->seed, err)
                     : mmt_session_create(w->device, &job->problem, job->seed, err);
    w->seed = job->seed;
    w->bare = job->is_short;
    return w->session ? MMT_OK : err->status;
}

static void leave_smaller(struct worker *w)
{
    mmt_session_free(w->smaller);
    w->smaller = NULL;
}

static void take_verdict(const struct mmt_judgement *verdict, struct mmt_result *result)
{
    result->checks = verdict->checks;
    result->unchecked = verdict->skipped;
    if (verdict->right) {
        snprintf(result->reason, sizeof result->reason, "%s", verdict->skip);
        return;
    }
    result->outcome = MMT_WRONG;
    snprintf(result->reason, sizeof result->reason, "%s: %s", verdict->check,
             verdict->reason);
}

static mmt_status verify(struct mmt_session *session, const struct mmt_config *config,
                         enum mmt_pass pass, struct mmt_result *result, mmt_error *err)
{
    struct mmt_judgement verdict;
    mmt_worker_note("verify");
    mmt_status status = mmt_verify(session, config, pass, &verdict, err);
    if (!status)
        take_verdict(&verdict, result);
    if (pass == MMT_PASS_QUICK)
        result->checked = !status && result->outcome == MMT_TIMED;
    return status;
}

static mmt_status enter_smaller(struct worker *w, const mmt_problem *smaller,
                                uint64_t seed, mmt_error *err)
{
    if (w->smaller && w->smaller_seed != seed)
        leave_smaller(w);
    if (!w->smaller)
        w->smaller = mmt_session_create(w->device, smaller, seed, err);
    else if (!mmt_problem_equal(mmt_session_problem(w->smaller), smaller))
        w->smaller = mmt_session_follow(w->smaller, smaller, err);
    w->smaller_seed = seed;
    return w->smaller ? MMT_OK : err->status;
}

/* The same problem with no dimension above 256, or so many elements in space. What was
 * wrong may have left anything in the session's memory. */
static mmt_status verify_smaller(struct worker *w, const struct mmt_job *job,
                                 struct mmt_result *result, mmt_error *err)
{
    const mmt_problem *p = &job->problem;
    mmt_problem smaller =
        of_size(p, p->op == MMT_JACOBI3D ? 40 : 256, p->batch > 1 ? 2 : 1);
    mmt_status status = mmt_problem_normalise(&smaller, &smaller, err);
    if (!status)
        status = enter_smaller(w, &smaller, job->seed, err);
    if (!status)
        status = verify(w->smaller, &job->configs[0], MMT_PASS_QUICK, result, err);
    if (result->outcome == MMT_WRONG)
        leave_smaller(w);
    return status;
}

static void ask_usage(struct worker *w, const struct mmt_job *job,
                      const struct mmt_config *config, struct mmt_result *result)
{
    struct mmt_usage usage;
    mmt_plan_options options = mmt_plan_defaults();
    result->registers = result->spill_bytes = -1;
    result->shared = -1;
    options.aligned_only = 1; /* another kernel is not to be compiled for that */
    mmt_plan *plan = mmt_plan_of(w->device, config, &job->problem, &options, NULL);
    if (plan && !mmt_kernel_usage(mmt_plan_kernel(plan), &usage, NULL)) {
        result->registers = usage.registers;
        result->spill_bytes = usage.spill_bytes;
        result->shared = usage.shared;
    }
    mmt_plan_free(plan);
}

static void take_measured(const struct mmt_measured *measured, struct mmt_result *result)
{
    result->time = measured->time;
    result->celsius = measured->health.celsius;
    result->clock_mhz = measured->health.clock_mhz;
    snprintf(result->throttled, sizeof result->throttled, "%s", measured->health.why);
}

/* Marks times of a CPU that had other work meanwhile. */
static void note_busy(const struct worker *w, const struct mmt_processor_time *since,
                      struct mmt_result *results, int count)
{
    if (mmt_device_caps(w->device)->kind != MMT_CPU ||
        mmt_processor_share(0, since) >= mmt_processor_enough)
        return;
    for (int i = 0; i < count; i++)
        if (!*results[i].throttled)
            strcpy(results[i].throttled, MMT_BUSY);
}

static struct mmt_measure_limits limits_of(const struct mmt_job *job)
{
    return (struct mmt_measure_limits){ .best_seconds = job->best_seconds,
                                        .best_mhz = job->best_mhz,
                                        .budget_seconds = job->budget_seconds };
}

static mmt_status time_candidate(struct worker *w, const struct mmt_job *job,
                                 const struct mmt_measure_limits *limits,
                                 struct mmt_result *result, mmt_error *err)
{
    struct mmt_measured measured;
    mmt_worker_note("time");
    const struct mmt_processor_time began = mmt_processor_time(0);
    mmt_status status =
        mmt_measure_candidate(w->session, &job->configs[0], limits, &measured, err);
    if (status)
        return status;
    take_measured(&measured, result);
    note_busy(w, &began, result, 1);
    return MMT_OK;
}

/* One execution, of a candidate that computes rightly at a smaller shape. *behind says
 * that it is far behind, or so slow that more would cost too much; then that was all. */
static mmt_status check_quickly(struct worker *w, const struct mmt_job *job,
                                struct mmt_result *result, bool *behind, mmt_error *err)
{
    struct mmt_measure_limits once = limits_of(job);
    once.budget_seconds = 1e-6;
    *behind = true;
    mmt_status status = verify_smaller(w, job, result, err);
    if (status || result->outcome == MMT_WRONG)
        return status;
    status = time_candidate(w, job, &once, result, err);
    *behind = result->time.median > (job->best_seconds > 0 ? 4 * job->best_seconds : 0.1);
    result->checked = false; /* at another shape */
    return status;
}

/* Whether it may still win, or be kept beside the winner. */
static bool is_near(const struct mmt_job *job, const struct mmt_result *result)
{
    const double near = 1.2;
    return job->best_seconds <= 0 || result->time.median < near * job->best_seconds;
}

static mmt_status measure_one(struct worker *w, const struct mmt_job *job,
                              struct mmt_reply *reply, mmt_error *err)
{
    struct mmt_result *result = &reply->results[0];
    struct mmt_measure_limits limits = limits_of(job);
    bool behind = false;
    mmt_status status = mmt_worker_enter_session(w, job, err);
    /* A calibration has thousands of these. */
    if (job->is_short && mmt_device_caps(w->device)->kind == MMT_GPU)
        limits.warm_seconds = 0.4e-3, limits.batch_seconds = 0.1e-3;
    if (!status && job->low_priority)
        status = check_quickly(w, job, result, &behind, err);
    if (!status && !behind && job->verify[0])
        status = job->is_short
                     ? verify_smaller(w, job, result, err)
                     : verify(w->session, &job->configs[0], MMT_PASS_FIRST, result, err);
    if (status || result->outcome == MMT_WRONG)
        return status;
    if (!behind)
        status = time_candidate(w, job, &limits, result, err);
    if (!status && !behind && !job->is_short && job->verify[0] && is_near(job, result))
        status = verify(w->session, &job->configs[0], MMT_PASS_QUICK, result, err);
    if (!status && !job->is_short)
        ask_usage(w, job, &job->configs[0], result);
    return status;
}

/* Compiled before, so that what this takes is no sign of a kernel that hangs. */
static mmt_status verify_one(struct worker *w, const struct mmt_job *job,
                             struct mmt_reply *reply, mmt_error *err)
{
    mmt_status status = compile_job(w, job, reply, err);
    if (!status)
        status = mmt_worker_enter_session(w, job, err);
    return status ? status
                  : verify(w->session, &job->configs[0],
                           job->epilogues ? MMT_PASS_EPILOGUES : MMT_PASS_WHOLE,
                           &reply->results[0], err);
}

/* ---- finalists ------------------------------------------------------------------- */

/* Those that are right, in their order; `places` tells where each stood in the job. */
static mmt_status verify_finalists(struct worker *w, const struct mmt_job *job,
                                   struct mmt_reply *reply, struct mmt_config *right,
                                   int *places, int *count, mmt_error *err)
{
    for (int i = 0; i < job->count; i++) {
        struct mmt_result *result = &reply->results[i];
        mmt_error own = { 0 };
        if (job->verify[i] &&
            verify(w->session, &job->configs[i], MMT_PASS_QUICK, result, &own)) {
            mmt_worker_fail(result, &own);
            if (mmt_worker_spoils(own.status))
                return *err = own, own.status;
        }
        if (result->outcome != MMT_TIMED)
            continue;
        places[*count] = i;
        right[(*count)++] = job->configs[i];
    }
    return MMT_OK;
}

/* What no compiler was given: kernels of a profile. */
static mmt_status compile_finalists(struct worker *w, const struct mmt_job *job,
                                    mmt_error *err)
{
    struct mmt_job one = *job;
    mmt_status status = MMT_OK;
    for (int i = 0; !status && i < job->count; i++) {
        one.configs[0] = job->configs[i];
        status = mmt_worker_compile_first(w, &one, err);
    }
    return status;
}

static mmt_status time_finals(struct worker *w, const struct mmt_job *job,
                              struct mmt_reply *reply, mmt_error *err)
{
    struct mmt_config right[MMT_MAX_TOGETHER];
    struct mmt_measured measured[MMT_MAX_TOGETHER];
    struct mmt_measure_limits limits = limits_of(job);
    int places[MMT_MAX_TOGETHER], count = 0;
    mmt_status status = job->is_short ? compile_finalists(w, job, err) : MMT_OK;
    if (!status)
        status = mmt_worker_enter_session(w, job, err);
    if (!status)
        status = verify_finalists(w, job, reply, right, places, &count, err);
    if (status || !count)
        return status;
    mmt_worker_note("finals");
    if (job->power_limited)
        limits.heat_seconds = 0.5, limits.isolated_seconds = MMT_ISOLATED_SECONDS,
        limits.batch_seconds = 1e-2;
    const struct mmt_processor_time began = mmt_processor_time(0);
    status = mmt_measure_group(w->session, right, count, &limits, measured, err);
    for (int i = 0; !status && i < count; i++) {
        take_measured(&measured[i], &reply->results[places[i]]);
        ask_usage(w, job, &right[i], &reply->results[places[i]]);
    }
    if (!status)
        note_busy(w, &began, reply->results, job->count);
    return status;
}

static void probe(struct worker *w, struct mmt_reply *reply)
{
    mmt_worker_note("probe");
    const struct mmt_processor_time began = mmt_processor_time(0);
    mmt_probe(w->device, &reply->roofline);
    note_busy(w, &began, reply->results, 1);
}

/* ---- jobs ------------------------------------------------------------------------ */

mmt_status mmt_worker_do(struct worker *w, const struct mmt_job *job,
                         struct mmt_reply *reply, mmt_error *err)
{
    switch (job->task) {
    case MMT_TASK_COMPILE:
        return compile_job(w, job, reply, err);
    case MMT_TASK_MEASURE:
        return measure_one(w, job, reply, err);
    case MMT_TASK_VERIFY:
        return verify_one(w, job, reply, err);
    case MMT_TASK_FINALS:
        return time_finals(w, job, reply, err);
    case MMT_TASK_PROBE:
        probe(w, reply);
        return MMT_OK;
    default: /* those of libraries.c */
        return MMT_OK;
    }
}
