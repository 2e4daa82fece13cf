/* Makes a session for a problem, reuses what an earlier one made, and lends plans,
 * operands and workspace to candidates. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tuner/verify/session_internal.h"

/* ---- the clock ------------------------------------------------------------------- */

static mmt_status start_marks(void *self, mmt_queue queue, mmt_error *err)
{
    struct mmt_session *session = self;
    return mmt_mark_record(session->from, queue, err);
}

static mmt_status stop_marks(void *self, mmt_queue queue, mmt_error *err)
{
    struct mmt_session *session = self;
    return mmt_mark_record(session->to, queue, err);
}

static mmt_status read_marks(void *self, double *seconds, mmt_error *err)
{
    struct mmt_session *session = self;
    return mmt_mark_seconds(session->from, session->to, seconds, err);
}

void mmt_session_set_clock(struct mmt_session *session, struct mmt_clock clock)
{
    session->clock = clock;
}

static mmt_status make_queue(struct mmt_session *session, mmt_error *err)
{
    mmt_status status = mmt_queue_create(session->device, &session->queue, err);
    if (status == MMT_OK)
        status = mmt_mark_create(session->device, &session->from, err);
    if (status == MMT_OK)
        status = mmt_mark_create(session->device, &session->to, err);
    session->clock = (struct mmt_clock){ start_marks, stop_marks, read_marks, session };
    return status;
}

/* ---- making and freeing ---------------------------------------------------------- */

static mmt_status check_memory(mmt_device *device, const mmt_problem *p, mmt_error *err)
{
    if (!strcmp(mmt_device_caps(device)->backend, "null"))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s executes nothing, so that nothing can be verified or timed",
                        mmt_device_name(device));
    if (mmt_problem_extent_c(p) == 0)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "C has %" PRId64 " rows of %" PRId64
                        " elements; where it has none there is nothing to time",
                        mmt_op_stored(p, MMT_OPERAND_C).rows,
                        mmt_op_stored(p, MMT_OPERAND_C).cols);
    if (p->type == MMT_F64 && !mmt_device_caps(device)->f64)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no double precision",
                        mmt_device_name(device));
    return MMT_OK;
}

/* Whether they differ in nothing but size and place. */
static bool same_kind(const mmt_problem *a, mmt_problem b)
{
    b.m = a->m, b.n = a->n, b.k = a->k, b.batch = a->batch;
    b.lda = a->lda, b.ldb = a->ldb, b.ldc = a->ldc;
    b.stride_a = a->stride_a, b.stride_b = a->stride_b, b.stride_c = a->stride_c;
    return mmt_problem_equal(a, &b);
}

#define TAKE(field) (to->field = from->field, memset(&from->field, 0, sizeof from->field))

/* What an earlier session of the same kind made, and this one would make likewise. */
static void inherit_memory(struct mmt_session *to, struct mmt_session *from)
{
    if (from->device != to->device || from->seed != to->seed ||
        !same_kind(&from->problem, to->problem))
        return;
    TAKE(a);
    TAKE(b);
    TAKE(c);
    TAKE(workspace);
    if (to->bare)
        return;
    TAKE(trials);
    TAKE(small_a);
    TAKE(small_b);
    TAKE(small_c);
    TAKE(small_bias);
    TAKE(small_back);
    TAKE(small_back_size);
    TAKE(scalars);
    TAKE(in_place);
}

/* Takes over what it can of `from`, which may be NULL and is freed. */
static struct mmt_session *create_session(mmt_device *device, const mmt_problem *problem,
                                          uint64_t seed, bool bare,
                                          struct mmt_session *from, mmt_error *err)
{
    struct mmt_session *session = calloc(1, sizeof *session);
    mmt_status status;

    if (!session) {
        mmt_session_free(from);
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a session");
        return NULL;
    }
    session->device = device;
    session->seed = seed;
    session->bare = bare;
    status = mmt_problem_normalise(problem, &session->problem, err);
    if (status == MMT_OK)
        status = check_memory(device, &session->problem, err);
    if (status == MMT_OK && from)
        inherit_memory(session, from);
    mmt_session_free(from);
    if (status == MMT_OK)
        status = make_queue(session, err);
    if (status == MMT_OK && !bare && !session->scalars.handle)
        status = mmt_buffer_create(device, 256, &session->scalars, err);
    if (status == MMT_OK)
        status = mmt_session_make_shape(session, err);
    if (status != MMT_OK) {
        mmt_session_free(session);
        return NULL;
    }
    return session;
}

struct mmt_session *mmt_session_create(mmt_device *device, const mmt_problem *problem,
                                       uint64_t seed, mmt_error *err)
{
    return create_session(device, problem, seed, false, NULL, err);
}

struct mmt_session *mmt_session_create_bare(mmt_device *device,
                                            const mmt_problem *problem, uint64_t seed,
                                            mmt_error *err)
{
    return create_session(device, problem, seed, true, NULL, err);
}

struct mmt_session *mmt_session_follow(struct mmt_session *session,
                                       const mmt_problem *problem, mmt_error *err)
{
    return create_session(session->device, problem, session->seed, session->bare, session,
                          err);
}

static void free_buffer(mmt_device *device, mmt_operand buffer)
{
    if (buffer.handle)
        mmt_buffer_free(device, buffer);
}

void mmt_session_free(struct mmt_session *session)
{
    if (!session)
        return;
    mmt_operand buffers[] = { session->workspace.memory,  session->arrays.memory,
                              session->a.memory,          session->b.memory,
                              session->c.memory,          session->whole_a,
                              session->whole_b,           session->small_a.memory,
                              session->small_b.memory,    session->small_c.memory,
                              session->small_bias.memory, session->bias,
                              session->whole_bias,        session->scalars };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        free_buffer(session->device, buffers[i]);
    mmt_trials_free(&session->trials);
    free(session->small_back);
    free(session->weights);
    free(session->sums);
    free(session->back);
    free(session->expected);
    if (session->from)
        mmt_mark_free(session->from);
    if (session->to)
        mmt_mark_free(session->to);
    if (session->queue)
        mmt_queue_free(session->device, session->queue);
    free(session);
}

const mmt_problem *mmt_session_problem(const struct mmt_session *session)
{
    return &session->problem;
}

/* ---- running --------------------------------------------------------------------- */

mmt_status mmt_session_grow(struct mmt_session *session, struct mmt_growing *buffer,
                            size_t bytes, mmt_error *err)
{
    if (bytes <= buffer->size)
        return MMT_OK;
    free_buffer(session->device, buffer->memory);
    *buffer = (struct mmt_growing){ 0 };
    mmt_status status = mmt_buffer_create(session->device, bytes, &buffer->memory, err);
    if (status == MMT_OK)
        buffer->size = bytes;
    return status;
}

mmt_status mmt_session_workspace(struct mmt_session *session, size_t bytes,
                                 mmt_operand *out, mmt_error *err)
{
    mmt_status status = mmt_session_grow(session, &session->workspace, bytes, err);
    *out = session->workspace.memory;
    return status;
}

mmt_plan *mmt_session_plan(struct mmt_session *session, const struct mmt_config *config,
                           const mmt_problem *problem, bool offset, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();

    options.aligned_only = !offset;
    return mmt_plan_of(session->device, config, problem, &options, err);
}

static mmt_operand copy_of(const struct mmt_copies *copies, int64_t number)
{
    mmt_operand operand = copies->memory;
    operand.offset += copies->first + (size_t) number * copies->pitch;
    return operand;
}

mmt_args mmt_session_args(const struct mmt_session *session, int64_t copy)
{
    mmt_args args = mmt_args_defaults();
    int64_t number = copy % session->copies;

    args.a = copy_of(&session->a, number);
    args.b = copy_of(&session->b, number);
    args.c = copy_of(&session->c, number);
    args.bias = session->bias;
    args.beta = mmt_op_row(session->problem.op)->beta;
    return args;
}
