/* The keeper: plans what verdicts give to ours. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/device.h"
#include "dropin/table.h"
#include "runtime/runtime.h"

/* Seconds from tick to tick, more often while calls are timed. */
static const double tick_seconds = 1, record_tick_seconds = 0.1;

__attribute__((format(printf, 2, 3))) static void say(const struct mmt_calls *calls,
                                                      const char *format, ...)
{
    char line[1024];
    va_list args;
    if (!calls->options.verbose)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "mmtune: %s: %s\n", calls->name, line);
}

/* ---- plans ----------------------------------------------------------------------- */

static char *print_label(const struct mmt_calls *calls, const struct mmt_verdict *verdict)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(&verdict->call.problem, &text);
    mmt_text_add(&text, ": ");
    mmt_config_print(&verdict->config, &text);
    mmt_text_addf(&text, ", %.2f times as fast as %s", verdict->theirs / verdict->ours,
                  calls->library);
    if (text.failed)
        mmt_text_finish(&text);
    return text.data;
}

static const mmt_plan *make_plan(const struct mmt_calls *calls, mmt_device *device,
                                 const struct mmt_verdict *verdict)
{
    mmt_plan_options options = mmt_plan_defaults();
    const struct mmt_call *call = &verdict->call;
    const bool most = verdict->f32_mode == MMT_F32_EMULATED && call->most_workspace;
    const size_t given = most ? call->most_workspace : call->workspace;
    struct mmt_step step;
    mmt_error err;

    options.max_workspace = given ? given : calls->options.workspace;
    options.aligned_only = 1;
    options.f32_mode = verdict->f32_mode;
    mmt_step_begin(&step);
    const mmt_plan *plan =
        mmt_plan_of(device, &verdict->config, &verdict->call.problem, &options, &err);
    mmt_step_end(&step);
    if (!plan)
        say(calls, "a plan could not be made: %s", err.text);
    return plan;
}

/* Puts a verdict into its call's slot; returns the bytes of workspace that ours needs
 * where the caller gives none. */
static size_t decide(struct mmt_calls *calls, mmt_device *device,
                     const struct mmt_profile *profile, const struct mmt_call *call)
{
    const struct mmt_verdict *verdict;
    enum mmt_fate fate;
    struct mmt_slot *slot = mmt_calls_slot(calls, call);

    if (!slot || mmt_slot_plan(slot, &fate) || fate != MMT_FATE_NOT_READY)
        return 0; /* it was decided: there are verdicts of other modes or versions */
    fate = mmt_profile_verdict(profile, call, calls->options.f32_mode,
                               mmt_device_caps(device)->driver, calls->library, &verdict);
    const mmt_plan *plan =
        fate == MMT_FATE_TAKEN ? make_plan(calls, device, verdict) : NULL;
    if (!plan) {
        atomic_store(&slot->fate, fate == MMT_FATE_TAKEN ? MMT_FATE_FAILED : fate);
        return 0;
    }
    slot->counted->saves = verdict->theirs - verdict->ours;
    slot->label = print_label(calls, verdict);
    atomic_store_explicit(&slot->plan, plan, memory_order_release);
    /* The same kind may come from handles with a workspace and without. */
    const size_t needed = mmt_plan_workspace(plan);
    return call->client == MMT_CLIENT_CUBLAS && needed <= calls->options.workspace
               ? needed
               : 0;
}

static size_t decide_all(struct mmt_calls *calls, mmt_device *device,
                         const struct mmt_profile *profile)
{
    size_t workspace = 0;
    for (size_t i = 0; profile && i < profile->num_verdicts; i++) {
        const size_t needed =
            atomic_load(&calls->stopping)
                ? 0
                : decide(calls, device, profile, &profile->verdicts[i].call);
        workspace = needed > workspace ? needed : workspace;
    }
    return workspace;
}

/* What would be selected for a kind that has no verdict. */
static void plan_unknown(struct mmt_calls *calls, mmt_device *device,
                         const struct mmt_profile *profile, struct mmt_slot *slot)
{
    mmt_plan_options options = mmt_plan_defaults();
    struct mmt_step step;
    char label[512];
    mmt_error err;

    options.f32_mode = calls->options.f32_mode;
    options.max_workspace = calls->options.workspace;
    mmt_step_begin(&step);
    mmt_plan *plan =
        mmt_plan_create(device, profile, &slot->counted->call.problem, &options, &err);
    mmt_step_end(&step);
    if (!plan) {
        say(calls, "a plan could not be made: %s", err.text);
        atomic_store(&slot->fate, MMT_FATE_FAILED);
        return;
    }
    mmt_plan_describe(plan, label, sizeof label);
    label[strcspn(label, "\n")] = '\0';
    slot->label = strdup(label);
    atomic_store_explicit(&slot->plan, plan, memory_order_release);
}

static void plan_all_unknown(struct mmt_calls *calls, mmt_device *device,
                             const struct mmt_profile *profile)
{
    for (int i = 0; i < mmt_counts_number(calls->counts); i++) {
        struct mmt_slot *slot = &calls->slots[i];
        enum mmt_fate fate;
        if (slot->counted && atomic_load(&slot->counted->used) &&
            !mmt_slot_plan(slot, &fate) && fate == MMT_FATE_NOT_READY)
            plan_unknown(calls, device, profile, slot);
    }
}

/* Of calls that came before all verdicts were in their slots, and have none. */
static void give_up_waiting(struct mmt_calls *calls)
{
    for (int i = 0; i < mmt_counts_number(calls->counts); i++) {
        struct mmt_slot *slot = &calls->slots[i];
        int expected = MMT_FATE_NOT_READY;
        if (slot->counted && atomic_load(&slot->counted->used) &&
            !atomic_load_explicit(&slot->plan, memory_order_relaxed))
            atomic_compare_exchange_strong(&slot->fate, &expected, MMT_FATE_UNKNOWN);
    }
}

static struct mmt_profile *find_profile(const struct mmt_calls *calls, mmt_device *device)
{
    mmt_error err;
    if (calls->options.record)
        return NULL;
    struct mmt_profile *profile = mmt_profile_find(device, &err);
    if (!profile)
        say(calls, "%s", err.text);
    return profile;
}

static void make_plans(struct mmt_calls *calls, mmt_device *device,
                       const struct mmt_profile *profile)
{
    const struct mmt_calls_work *work = &calls->options.work;
    struct mmt_step step;
    const size_t workspace = calls->options.all ? 0 : decide_all(calls, device, profile);
    mmt_step_begin(&step);
    if (work->prepare)
        work->prepare(work->context, device, workspace);
    mmt_step_end(&step);
    atomic_store(&calls->ready, true);
    if (!calls->options.record && !calls->options.all)
        give_up_waiting(calls);
}

/* ---- what is told ------------------------------------------------------------------ */

/* One line for each kind that ours computes. */
static void name_kernels(struct mmt_calls *calls)
{
    for (int i = 0; i < mmt_counts_number(calls->counts); i++) {
        struct mmt_slot *slot = &calls->slots[i];
        if (!slot->counted || slot->named ||
            !atomic_load(&slot->counted->fates[MMT_FATE_TAKEN]))
            continue;
        slot->named = true;
        say(calls, "%s", mmt_slot_label(slot));
    }
}

static void name_features(struct mmt_calls *calls)
{
    const long long unseen = atomic_load(&calls->unseen);
    for (int i = 0; i < MMT_MOST_PASSED; i++) {
        const char *what = atomic_load(&calls->passed[i].what);
        if (what)
            say(calls, "%lld calls passed, since they have what is not served: %s",
                (long long) atomic_load(&calls->passed[i].count), what);
    }
    if (unseen)
        say(calls, "%lld calls passed uncounted: there were more than %d kinds of them",
            unseen, MMT_MOST_COUNTED);
}

/* ---- the thread ------------------------------------------------------------------ */

/* The first of OpenCL's: asking CUDA, too, would wake its driver. */
static mmt_device *open_cpu(mmt_error *err)
{
    struct mmt_device_info *list = NULL;
    mmt_device *device = NULL;
    size_t count = 0, i = 0;

    if (mmt_backend_opencl.list(&list, &count, NULL, err))
        return NULL;
    while (i < count && list[i].caps.kind != MMT_CPU)
        i++;
    if (i < count)
        device = mmt_device_open(list[i].id, err);
    else
        mmt_fail(err, MMT_ERROR_NOT_FOUND,
                 "no OpenCL platform of this machine has a CPU; PoCL is one: apt-get "
                 "install pocl-opencl-icd");
    free(list);
    return device;
}

mmt_device *mmt_keeper_open(struct mmt_calls *calls)
{
    struct mmt_text stem = { 0 };
    struct mmt_step step;
    mmt_error err;
    mmt_device *device = mmt_calls_device(calls);

    if (device)
        return device;
    mmt_step_begin(&step);
    device = strcmp(calls->name, MMT_CALLS_CPU) ? mmt_device_open(calls->name, &err)
                                                : open_cpu(&err);
    mmt_step_end(&step);
    if (!device) {
        say(calls, "every call passes: %s", err.text);
        atomic_store(&calls->silent, true);
        return NULL;
    }
    snprintf(calls->name, sizeof calls->name, "%s", device->id);
    mmt_profile_stem(mmt_device_caps(device), &stem);
    snprintf(calls->stem, sizeof calls->stem, "%s", mmt_text_string(&stem));
    mmt_text_finish(&stem);
    atomic_store_explicit(&calls->device, device, memory_order_release);
    return device;
}

static void wait_for_tick(struct mmt_calls *calls)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const double at = 1e-9 * (double) until.tv_nsec +
                      (calls->options.record ? record_tick_seconds : tick_seconds);
    until.tv_sec += (time_t) at;
    until.tv_nsec = (long) (1e9 * (at - (double) (time_t) at));
    while (sem_timedwait(&calls->wake, &until) && errno == EINTR)
        continue;
}

static void tick(struct mmt_calls *calls)
{
    const struct mmt_calls_work *work = &calls->options.work;
    if (work->tick)
        work->tick(work->context);
    if (calls->options.verbose)
        name_kernels(calls);
}

/* The last thread of a process ends it, as it does where ours are not there. */
static void end_with_program(struct mmt_calls *calls)
{
    static atomic_bool ending;
    if (!mmt_only_ours_left() || atomic_exchange(&ending, true))
        return;
    sem_post(&calls->done);
    exit(EXIT_SUCCESS);
}

static void keep(struct mmt_calls *calls, mmt_device *device,
                 const struct mmt_profile *profile)
{
    while (!atomic_load(&calls->stopping)) {
        wait_for_tick(calls);
        if (calls->options.all)
            plan_all_unknown(calls, device, profile);
        tick(calls);
        if (!atomic_load(&calls->stopping))
            end_with_program(calls);
    }
    tick(calls);
    name_features(calls);
}

void *mmt_keeper_run(void *argument)
{
    struct mmt_calls *calls = argument;

    mmt_own_this_thread();
    mmt_device *device = mmt_keeper_open(calls);
    if (device) {
        device->any_compiler = true;
        mmt_thread_relax(device);
        struct mmt_profile *profile = find_profile(calls, device);
        make_plans(calls, device, profile);
        keep(calls, device, profile);
        mmt_profile_free(profile);
    }
    sem_post(&calls->done);
    return NULL;
}
