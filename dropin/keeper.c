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
#include "recording/building.h"
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

static size_t room_of(const struct mmt_calls *calls, const struct mmt_verdict *verdict)
{
    return mmt_verdict_workspace(verdict, calls->options.workspace);
}

/* A call that a verdict gives to ours, and that has no plan yet. */
struct owed {
    struct mmt_slot *slot;
    const struct mmt_verdict *verdict;
};

static const mmt_plan *make_plan(const struct mmt_calls *calls, mmt_device *device,
                                 const struct mmt_verdict *verdict, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();

    options.max_workspace = room_of(calls, verdict);
    options.f32_mode = verdict->f32_mode;
    return mmt_plan_of_call(device, &verdict->config, &verdict->call, &options, err);
}

/* False where it is to be tried again: its kernel is not compiled, and the device
 * compiles nothing. */
static bool serve(struct mmt_calls *calls, mmt_device *device, const struct owed *it)
{
    mmt_error err;
    const mmt_plan *plan = make_plan(calls, device, it->verdict, &err);

    if (!plan && device->compiles_nothing && err.status == MMT_ERROR_NOT_FOUND)
        return false;
    if (!plan) {
        say(calls, "a plan could not be made: %s", err.text);
        atomic_store(&it->slot->fate, MMT_FATE_FAILED);
        return true;
    }
    const double saves = it->verdict->theirs - it->verdict->ours;
    it->slot->counted->saves = saves > 0 ? saves : 0; /* else it saves energy */
    it->slot->counted->ready = mmt_now() - calls->began;
    it->slot->label = print_label(calls, it->verdict);
    atomic_store_explicit(&it->slot->plan, plan, memory_order_release);
    return true;
}

/* Puts what the verdicts of a call say into its slot; whether a plan is owed to it. */
static bool judge(struct mmt_calls *calls, mmt_device *device,
                  const struct mmt_profile *profile, const struct mmt_call *call,
                  struct owed *out)
{
    enum mmt_fate fate;

    out->slot = mmt_calls_slot(calls, call);
    if (!out->slot || out->slot->is_owed || mmt_slot_plan(out->slot, &fate) ||
        fate != MMT_FATE_NOT_READY)
        return false; /* it was judged: there are verdicts of other modes or versions */
    fate = mmt_profile_verdict(profile, call, calls->options.f32_mode,
                               mmt_device_caps(device)->driver, calls->library,
                               &out->verdict);
    if (fate == MMT_FATE_SLOWER && call->alignment &&
        call->problem.batch_by == MMT_BY_STRIDE)
        fate = MMT_FATE_ALIGNMENT;
    out->slot->is_owed = fate == MMT_FATE_TAKEN;
    if (!out->slot->is_owed)
        atomic_store(&out->slot->fate, fate);
    return out->slot->is_owed;
}

/* All calls that are owed a plan, in the profile's order; malloc'ed. */
static struct owed *judge_all(struct mmt_calls *calls, mmt_device *device,
                              const struct mmt_profile *profile, size_t *count)
{
    struct owed *list = calloc(profile->num_verdicts + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < profile->num_verdicts; i++)
        *count +=
            judge(calls, device, profile, &profile->verdicts[i].call, &list[*count]);
    return list;
}

/* The most bytes of workspace that ours needs where the caller gives none. The same kind
 * may come from handles with a workspace and without. */
static size_t most_workspace(const struct mmt_calls *calls, mmt_device *device,
                             const struct owed *list, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const struct mmt_verdict *it = list[i].verdict;
        struct mmt_bound bound;
        if (it->call.client == MMT_CLIENT_CUBLAS &&
            mmt_verdict_bind(it, mmt_device_caps(device), room_of(calls, it), &bound) &&
            bound.launches.workspace <= calls->options.workspace &&
            bound.launches.workspace > most)
            most = bound.launches.workspace;
    }
    return most;
}

/* Serves those whose kernels are compiled; those that are left stay in the list. In one
 * step: to begin and end one takes longer than to load a kernel, where a program has many
 * threads. */
static void serve_compiled(struct mmt_calls *calls, mmt_device *device, struct owed *list,
                           size_t *count)
{
    struct mmt_step step;
    size_t left = 0;

    device->compiles_nothing = true;
    mmt_step_begin(&step);
    for (size_t i = 0; i < *count; i++)
        if (atomic_load(&calls->stopping) || !serve(calls, device, &list[i]))
            list[left++] = list[i];
    mmt_step_end(&step);
    device->compiles_nothing = false;
    *count = left;
}

/* One after the other, as NVRTC holds a lock while it compiles. */
static void serve_rest(struct mmt_calls *calls, mmt_device *device,
                       const struct owed *list, size_t count)
{
    for (size_t i = 0; i < count && !atomic_load(&calls->stopping); i++) {
        struct mmt_step step;
        mmt_step_begin(&step);
        serve(calls, device, &list[i]);
        mmt_step_end(&step);
    }
}

/* `mmtune run` compiles beside the program, by all cores: what it has done serves. */
static void serve_as_built(struct mmt_calls *calls, mmt_device *device, struct owed *list,
                           size_t *count)
{
    const struct timespec pause = { 0, 50000000 };
    while (*count && !atomic_load(&calls->stopping) && mmt_building_goes_on()) {
        nanosleep(&pause, NULL);
        serve_compiled(calls, device, list, count);
    }
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
        if (slot->counted && atomic_load(&slot->counted->used) && !slot->is_owed)
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

static void prepare(struct mmt_calls *calls, mmt_device *device, size_t workspace)
{
    const struct mmt_calls_work *work = &calls->options.work;
    struct mmt_step step;
    mmt_step_begin(&step);
    if (work->prepare)
        work->prepare(work->context, device, workspace);
    mmt_step_end(&step);
}

static void make_plans(struct mmt_calls *calls, mmt_device *device,
                       const struct mmt_profile *profile)
{
    size_t count = 0;
    struct owed *list =
        profile && !calls->options.all ? judge_all(calls, device, profile, &count) : NULL;
    atomic_store(&calls->judged, true);
    if (!calls->options.record && !calls->options.all)
        give_up_waiting(calls);
    prepare(calls, device, most_workspace(calls, device, list, count));
    serve_compiled(calls, device, list, &count);
    atomic_store(&calls->warm, true);
    serve_as_built(calls, device, list, &count);
    serve_rest(calls, device, list, count);
    atomic_store(&calls->ready, true);
    free(list);
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
