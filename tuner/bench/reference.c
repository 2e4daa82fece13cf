/* The list of other libraries, and what all of them share: timing their products and
 * reading their answers. */
#include "tuner/bench/reference.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "tuner/verify/session_internal.h"

const struct mmt_reference *const mmt_references[] = {
    &mmt_reference_cublas,
    &mmt_reference_clblast,
    &mmt_reference_openblas,
    NULL,
};

const char *const *mmt_reference_words(void)
{
    static const char *names[sizeof mmt_references / sizeof *mmt_references];
    for (int i = 0; mmt_references[i]; i++)
        names[i] = mmt_references[i]->name;
    return names;
}

const struct mmt_reference *mmt_reference_find(const char *name, mmt_error *err)
{
    for (int i = 0; mmt_references[i]; i++)
        if (!strcmp(mmt_references[i]->name, name))
            return mmt_references[i];
    mmt_near_fail(err, name, mmt_reference_words(), "there are",
                  "--against does not know '%s'", name);
    return NULL;
}

mmt_status mmt_reference_time(struct mmt_session *session, mmt_reference_queue *queue_one,
                              void *self, int way, int64_t first, int64_t count,
                              double *seconds, mmt_error *err)
{
    const struct mmt_clock *clock = &session->clock;
    mmt_status status = clock->start(clock->self, session->queue, err);

    for (int64_t i = 0; i < count && status == MMT_OK; i++) {
        mmt_args args = mmt_session_args(session, first + i);
        status = queue_one(self, way, &args, session->queue, err);
    }
    if (status == MMT_OK)
        status = clock->stop(clock->self, session->queue, err);
    if (status == MMT_OK)
        status = clock->read(clock->self, seconds, err);
    if (status == MMT_OK && !(*seconds > 0))
        return mmt_fail(err, MMT_ERROR_DEVICE,
                        "the device's clock says that %lld executions took no time",
                        (long long) count);
    return status;
}

mmt_status mmt_reference_run(const struct mmt_reference *reference, void *self,
                             struct mmt_session *session, int way, int64_t first,
                             int64_t count, double *seconds, mmt_error *err)
{
    return reference->run ? reference->run(self, way, first, count, seconds, err)
                          : mmt_reference_time(session, reference->queue, self, way,
                                               first, count, seconds, err);
}

mmt_status mmt_reference_result(const struct mmt_reference *reference, void *self,
                                struct mmt_session *session, void *c, mmt_error *err)
{
    if (reference->result)
        return reference->result(self, c, err);
    const mmt_problem *p = &session->problem;
    size_t bytes = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    mmt_status status = mmt_finish(session->device, session->queue, err);

    if (status == MMT_OK)
        status = mmt_buffer_read(session->device, c, mmt_session_args(session, 0).c,
                                 bytes, err);
    return status;
}

void mmt_reference_file(void *function, char out[128])
{
    Dl_info info = { 0 };
    char *path =
        dladdr(function, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    const char *name = path ? strrchr(path, '/') : NULL;

    snprintf(out, 128, "%s", name ? name + 1 : "");
    free(path);
}
