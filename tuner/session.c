#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tuner/session_internal.h"

/* ---- the clock -----------------------------------------------------------------------
 */

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

/* ---- small problems ------------------------------------------------------------------
 */

static size_t largest_image(const struct mmt_session *session, size_t offset)
{
    size_t largest = 0;
    for (int i = 0; i < session->num_trials; i++) {
        const char *trial = (const char *) &session->trials[i];
        const struct mmt_image *image = (const struct mmt_image *) (trial + offset);
        if (image->size > largest)
            largest = image->size;
    }
    return largest;
}

static mmt_status make_trials(struct mmt_session *session, mmt_error *err)
{
    mmt_status status = mmt_trials_create(&session->problem, session->seed,
                                          &session->trials, &session->num_trials, err);
    if (status != MMT_OK)
        return status;

    size_t a = largest_image(session, offsetof(struct mmt_trial, a));
    size_t b = largest_image(session, offsetof(struct mmt_trial, b));
    size_t c = largest_image(session, offsetof(struct mmt_trial, c));
    size_t bias = largest_image(session, offsetof(struct mmt_trial, bias));
    size_t most = a > b ? a : b;
    most = most > bias ? most : bias;
    session->small_back = malloc(most > c ? most : c);
    if (!session->small_back)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the tests of a kernel");
    status = mmt_buffer_create(session->device, a, &session->small_a, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(session->device, b, &session->small_b, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(session->device, c, &session->small_c, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(session->device, bias, &session->small_bias, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(session->device, 256, &session->scalars, err);
    return status;
}

/* ---- making and freeing ---------------------------------------------------------------
 */

static mmt_status check(mmt_device *device, const mmt_problem *p, mmt_error *err)
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
static void inherit(struct mmt_session *to, struct mmt_session *from)
{
    if (from->device != to->device || from->seed != to->seed ||
        !same_kind(&from->problem, to->problem))
        return;
    TAKE(a);
    TAKE(b);
    TAKE(c);
    TAKE(workspace);
    TAKE(workspace_size);
    if (to->bare || !from->trials)
        return;
    TAKE(trials);
    TAKE(num_trials);
    TAKE(small_a);
    TAKE(small_b);
    TAKE(small_c);
    TAKE(small_bias);
    TAKE(small_back);
    TAKE(scalars);
}

/* Takes over what it can of `from`, which may be NULL and is freed. */
static struct mmt_session *create(mmt_device *device, const mmt_problem *problem,
                                  uint64_t seed, bool bare, struct mmt_session *from,
                                  mmt_error *err)
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
        status = check(device, &session->problem, err);
    if (status == MMT_OK && from)
        inherit(session, from);
    mmt_session_free(from);
    if (status == MMT_OK)
        status = make_queue(session, err);
    if (status == MMT_OK && !bare && !session->trials)
        status = make_trials(session, err);
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
    return create(device, problem, seed, false, NULL, err);
}

struct mmt_session *mmt_session_create_bare(mmt_device *device,
                                            const mmt_problem *problem, uint64_t seed,
                                            mmt_error *err)
{
    return create(device, problem, seed, true, NULL, err);
}

struct mmt_session *mmt_session_follow(struct mmt_session *session,
                                       const mmt_problem *problem, mmt_error *err)
{
    return create(session->device, problem, session->seed, session->bare, session, err);
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
    mmt_operand buffers[] = { session->workspace,  session->a.memory, session->b.memory,
                              session->c.memory,   session->whole_a,  session->whole_b,
                              session->small_a,    session->small_b,  session->small_c,
                              session->small_bias, session->bias,     session->whole_bias,
                              session->scalars };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        free_buffer(session->device, buffers[i]);
    mmt_trials_free(session->trials, session->num_trials);
    free(session->small_back);
    free(session->weights);
    free(session->sums);
    free(session->rows);
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

mmt_status mmt_session_workspace(struct mmt_session *session, size_t bytes,
                                 mmt_operand *out, mmt_error *err)
{
    mmt_status status = MMT_OK;

    if (bytes > session->workspace_size) {
        free_buffer(session->device, session->workspace);
        session->workspace = (mmt_operand){ 0 };
        session->workspace_size = 0;
        status = mmt_buffer_create(session->device, bytes, &session->workspace, err);
        if (status == MMT_OK)
            session->workspace_size = bytes;
    }
    *out = session->workspace;
    return status;
}

mmt_plan *mmt_session_plan(struct mmt_session *session, const struct mmt_config *config,
                           const mmt_problem *problem, bool offset, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    struct mmt_text text = { 0 };
    mmt_plan *plan = NULL;

    mmt_config_print(config, &text);
    options.configuration = mmt_text_string(&text);
    options.aligned_only = !offset;
    if (text.failed)
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a configuration's text");
    else
        plan = mmt_plan_create(session->device, NULL, problem, &options, err);
    mmt_text_finish(&text);
    return plan;
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

mmt_status mmt_session_run(struct mmt_session *session, const mmt_plan *plan,
                           mmt_args *args, mmt_error *err)
{
    mmt_status status =
        mmt_session_workspace(session, mmt_plan_workspace(plan), &args->workspace, err);
    if (status == MMT_OK)
        status = mmt_execute(plan, args, session->queue, err);
    if (status == MMT_OK)
        status = mmt_finish(session->device, session->queue, err);
    return status;
}
