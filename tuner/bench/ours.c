/* Our own kernels as a contestant, through the public API. */
#include <stdlib.h>

#include "runtime/runtime.h"
#include "tuner/bench/bench.h"
#include "tuner/verify/session_internal.h"

struct ours {
    const struct mmt_bench *bench;
    mmt_plan *plan;
    mmt_operand workspace;
};

static const char *refuse_ours(void *self, const mmt_problem *problem)
{
    return problem->batch_by == MMT_BY_POINTERS ? "contestants take a batch by its stride"
                                                : NULL;
}

static mmt_status prepare_ours(void *given, struct mmt_session *session, double seconds,
                               mmt_error *err)
{
    struct ours *self = given;
    mmt_plan_options options = mmt_plan_defaults();

    options.configuration = self->bench->configuration;
    options.effort = self->bench->effort;
    self->plan = self->bench->config
                     ? mmt_plan_of(self->bench->device, self->bench->config,
                                   &session->problem, &options, err)
                     : mmt_plan_create(self->bench->device, self->bench->profile,
                                       &session->problem, &options, err);
    if (!self->plan)
        return MMT_ERROR_UNSUPPORTED;
    return mmt_session_workspace(session, mmt_plan_workspace(self->plan),
                                 &self->workspace, err);
}

static void forget_ours(void *given)
{
    struct ours *self = given;

    mmt_plan_free(self->plan);
    self->plan = NULL;
}

static mmt_status queue_ours(void *given, int way, const mmt_args *given_args,
                             mmt_queue queue, mmt_error *err)
{
    struct ours *self = given;
    mmt_args args = *given_args;
    args.workspace = self->workspace;
    return mmt_execute(self->plan, &args, queue, err);
}

static void describe_ours(void *self, int way, struct mmt_text *text)
{
    mmt_config_print(mmt_plan_config(((struct ours *) self)->plan), text);
}

static void close_ours(void *given)
{
    forget_ours(given);
    free(given);
}

static const struct mmt_reference as_reference = {
    .name = "mmtune",
    .ways = { "mmtune" },
    .refuse = refuse_ours,
    .prepare = prepare_ours,
    .forget = forget_ours,
    .queue = queue_ours,
    .describe = describe_ours,
    .close = close_ours,
};

mmt_status mmt_bench_enter_ours(struct mmt_bench *bench, mmt_error *err)
{
    struct ours *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a plan");
    self->bench = bench;
    bench->contestants[bench->num_contestants++] =
        (struct mmt_contestant){ &as_reference, self, 0, as_reference.name };
    return MMT_OK;
}
