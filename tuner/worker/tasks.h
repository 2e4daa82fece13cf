/* What a worker does for a job (tasks.c), apart from how it gets it and answers
 * (main.c). */
#ifndef MMT_TUNER_WORKER_TASKS_H
#define MMT_TUNER_WORKER_TASKS_H

#include "tuner/bench/caller.h"
#include "tuner/bench/reference.h"
#include "tuner/worker/worker.h"

/* Start from {0} and an open device. */
struct worker {
    mmt_device *device;
    struct mmt_session *session; /* of the problem of the last job that measured */
    uint64_t seed;
    bool bare;                   /* the session can only time */
    struct mmt_session *smaller; /* of what stands for a problem that is too large */
    uint64_t smaller_seed;
    const struct mmt_reference *library; /* the device's yardstick, open; NULL: not yet */
    void *library_self;
    const struct mmt_caller *caller; /* a program's library, open; NULL: none */
    void *caller_self;
    char caller_note[256];
};

/* Sends whole lines to the tuner; ends the worker where nobody hears them (wire.c). */
void mmt_worker_say(const struct mmt_text *lines);

/* Tells the tuner what the worker is at: "compile" (wire.c). */
void mmt_worker_note(const char *word);

/* A candidate's result where an error came of it. */
void mmt_worker_fail(struct mmt_result *result, const mmt_error *err);

/* After these a device may be in any state: a fault poisons a CUDA context for good. */
bool mmt_worker_spoils(mmt_status status);

/* Does a job but for those of libraries.c; its configurations are resolved. Fills as many
 * results as it has. */
mmt_status mmt_worker_do(struct worker *w, const struct mmt_job *job,
                         struct mmt_reply *reply, mmt_error *err);

/* ---- of tasks.c, for libraries.c ------------------------------------------------- */

/* Compiles the job's first configuration in all specialisations of its problem. */
mmt_status mmt_worker_compile_first(struct worker *w, const struct mmt_job *job,
                                    mmt_error *err);

/* Makes w->session that of the job's problem, a bare one where that is enough. */
mmt_status mmt_worker_enter_session(struct worker *w, const struct mmt_job *job,
                                    mmt_error *err);

/* ---- libraries.c ----------------------------------------------------------------- */

mmt_status mmt_worker_time_yardstick(struct worker *w, const struct mmt_job *job,
                                     struct mmt_reply *reply, mmt_error *err);
mmt_status mmt_worker_time_verdict(struct worker *w, const struct mmt_job *job,
                                   struct mmt_reply *reply, mmt_error *err);

#endif
