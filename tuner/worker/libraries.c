/* A worker's tasks with other libraries: the vendor's beside ours, and a program's own.
 */
#include <stdio.h>
#include <string.h>

#include "tuner/bench/yardstick.h"
#include "tuner/worker/tasks.h"

/* ---- the vendor's library beside ours -------------------------------------------- */

static mmt_status open_library(struct worker *w, mmt_error *err)
{
    const struct mmt_reference *library = mmt_yardstick_of(mmt_device_caps(w->device));
    if (w->library)
        return MMT_OK;
    if (!library)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no library of a vendor",
                        mmt_device_name(w->device));
    mmt_worker_note("library");
    mmt_status status = library->open(w->device, &w->library_self, err);
    if (status == MMT_ERROR_NOT_FOUND) /* which is no failure */
        return err->status = MMT_ERROR_UNSUPPORTED;
    if (!status)
        w->library = library;
    return status;
}

static void name_library(const struct worker *w, struct mmt_reply *reply)
{
    struct mmt_text text = { 0 };
    w->library->version(w->library_self, &text);
    snprintf(reply->library, sizeof reply->library, "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
}

static struct mmt_result result_of(double seconds)
{
    return (struct mmt_result){ .outcome = seconds > 0 ? MMT_TIMED : MMT_SKIPPED,
                                .time = { .median = seconds } };
}

/* What the library does not compute, or computes wrongly, is skipped. */
static mmt_status time_beside(struct worker *w, const struct mmt_job *job,
                              struct mmt_reply *reply, mmt_error *err)
{
    struct mmt_yardstick_times times = { 0 };
    mmt_error why = { 0 };
    mmt_status status = mmt_worker_compile_first(w, job, err);
    if (!status)
        status = mmt_worker_enter_session(w, job, err);
    if (status)
        return status;
    mmt_worker_note("yardstick");
    mmt_yardstick_measure(w->library, w->library_self, w->session, &job->configs[0],
                          job->budget_seconds, &times, &why);
    status = mmt_finish(w->device, NULL, err); /* a fault shows now at the latest */
    if (status)
        return status;
    reply->results[reply->count++] = result_of(times.ours);
    for (int way = 0; w->library->ways[way]; way++)
        reply->results[reply->count++] = result_of(times.ways[way]);
    snprintf(reply->results[0].reason, MMT_REASON_SIZE, "%.*s", MMT_REASON_SIZE - 1,
             why.text);
    return MMT_OK;
}

mmt_status mmt_worker_time_yardstick(struct worker *w, const struct mmt_job *job,
                                     struct mmt_reply *reply, mmt_error *err)
{
    mmt_status status = open_library(w, err);
    if (status)
        return status;
    name_library(w, reply);
    reply->count = 0;
    status = job->count ? time_beside(w, job, reply, err) : MMT_OK;
    reply->count = status || !reply->count ? 1 : reply->count;
    return status;
}

/* ---- a program's library beside ours --------------------------------------------- */

/* Of one client at a time; the parent sees to it that it is one program's file. */
static mmt_status open_caller(struct worker *w, const struct mmt_job *job, mmt_error *err)
{
    const struct mmt_caller *caller = mmt_caller_of(job->call.client);
    if (!caller)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "the library of %s is not timed here",
                        mmt_client_name(job->call.client));
    if (w->caller == caller)
        return MMT_OK;
    if (w->caller)
        w->caller->close(w->caller_self);
    w->caller = NULL;
    mmt_worker_note("library");
    mmt_status status =
        caller->open(w->device, job->path, &w->caller_self, w->caller_note, err);
    if (status == MMT_ERROR_NOT_FOUND) /* which is no failure */
        return err->status = MMT_ERROR_UNSUPPORTED;
    if (!status)
        w->caller = caller;
    return status;
}

static mmt_status time_call(struct worker *w, const struct mmt_job *job,
                            struct mmt_reply *reply, mmt_error *err)
{
    struct mmt_called_times times;
    mmt_status status = mmt_worker_compile_first(w, job, err);
    if (!status)
        status = mmt_worker_enter_session(w, job, err);
    if (status)
        return status;
    mmt_worker_note("verdict");
    status = mmt_caller_measure(w->caller, w->caller_self, w->session, &job->call,
                                &job->configs[0], job->budget_seconds, job->energy,
                                &times, err);
    if (!status)
        status = mmt_finish(w->device, NULL, err); /* a fault shows now at the latest */
    if (status)
        return status;
    reply->results[0] = (struct mmt_result){ .outcome = MMT_TIMED,
                                             .time = times.ours,
                                             .joules = times.our_joules };
    reply->results[1] = (struct mmt_result){ .outcome = MMT_TIMED,
                                             .time = times.theirs,
                                             .joules = times.their_joules };
    reply->count = 2;
    return MMT_OK;
}

mmt_status mmt_worker_time_verdict(struct worker *w, const struct mmt_job *job,
                                   struct mmt_reply *reply, mmt_error *err)
{
    mmt_status status = open_caller(w, job, err);
    if (status)
        return status;
    w->caller->version(w->caller_self, reply->library);
    memcpy(reply->note, w->caller_note, sizeof reply->note);
    return job->count ? time_call(w, job, reply, err) : MMT_OK;
}
