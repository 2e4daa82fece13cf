/* One small problem with known answers. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "tuner/verify/fence.h"
#include "tuner/verify/pointers.h"
#include "tuner/verify/verify_internal.h"

void mmt_judgement_reject(struct mmt_judgement *verdict, const char *check,
                          const char *format, ...)
{
    va_list list;

    verdict->right = false;
    snprintf(verdict->check, sizeof verdict->check, "%s", check);
    va_start(list, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, list);
    va_end(list);
}

void mmt_judgement_tell(struct mmt_judgement *verdict, const struct mmt_trial *trial,
                        const mmt_problem *problem)
{
    const size_t length = strlen(verdict->reason);
    const int flags = trial->row->flags;
    struct mmt_text text = { 0 };

    mmt_text_add(&text, "; ");
    mmt_problem_print(problem, &text);
    mmt_text_addf(&text, ", alpha %g, beta %g%s%s", trial->alpha, trial->beta,
                  flags & MMT_TRIAL_SCALARS ? " in device memory" : "",
                  flags & MMT_TRIAL_OFFSET ? ", matrices one element off alignment" : "");
    if (trial->row->draw)
        mmt_text_addf(&text, ", number %d of those that --seed draws", trial->row->draw);
    snprintf(verdict->reason + length, sizeof verdict->reason - length, "%s",
             mmt_text_string(&text));
    mmt_text_finish(&text);
}

size_t mmt_first_change(const unsigned char *now, const unsigned char *was, size_t size)
{
    size_t i = 0;
    if (!memcmp(now, was, size))
        return size;
    while (now[i] == was[i])
        i++;
    return i;
}

bool mmt_session_in_place(struct mmt_session *session)
{
    if (!session->in_place)
        session->in_place = mmt_fence_works(session->device) ? 1 : -1;
    return session->in_place > 0;
}

/* ---- execution ------------------------------------------------------------------- */

enum { WORKSPACE_GUARD = 4096, MOST_POISONED = 1 << 20 };

static mmt_status write_bytes(struct mmt_session *session, mmt_operand to, size_t count,
                              int byte, mmt_error *err)
{
    void *bytes = malloc(count);
    if (!bytes)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for %zu bytes of test data", count);
    memset(bytes, byte, count);
    mmt_status status = mmt_buffer_write(session->device, to, bytes, count, err);
    free(bytes);
    return status;
}

/* `size` bytes of workspace: a guard before them, and one behind. Of a large workspace
 * the beginning is poisoned, since all of it would take longer than the trial. */
static mmt_status guard_workspace(struct mmt_session *session, size_t size,
                                  mmt_operand *workspace, mmt_error *err)
{
    const size_t poisoned = size < MOST_POISONED ? size : MOST_POISONED;
    mmt_status status =
        mmt_session_workspace(session, size + 2 * WORKSPACE_GUARD, workspace, err);
    mmt_operand behind = *workspace;

    behind.offset += WORKSPACE_GUARD + size;
    if (status == MMT_OK)
        status = write_bytes(session, *workspace, WORKSPACE_GUARD + poisoned, 0xff, err);
    if (status == MMT_OK)
        status = write_bytes(session, behind, WORKSPACE_GUARD, 0xff, err);
    workspace->offset += WORKSPACE_GUARD;
    return status;
}

static mmt_status check_guard(struct mmt_session *session, mmt_operand from,
                              const char *where, struct mmt_judgement *verdict,
                              mmt_error *err)
{
    unsigned char bytes[WORKSPACE_GUARD];
    mmt_status status = mmt_buffer_read(session->device, bytes, from, sizeof bytes, err);
    for (size_t i = 0; i < sizeof bytes && status == MMT_OK; i++)
        if (bytes[i] != 0xff) {
            mmt_judgement_reject(verdict, "guard", "bytes %s the workspace were written",
                                 where);
            break;
        }
    return status;
}

mmt_status mmt_verify_run(struct mmt_session *session, const mmt_plan *plan,
                          const mmt_problem *problem, mmt_args *args,
                          struct mmt_judgement *verdict, mmt_error *err)
{
    const size_t size = mmt_plan_workspace(plan);
    mmt_status status = mmt_session_point(session, problem, args, err);

    if (status == MMT_OK && size)
        status = guard_workspace(session, size, &args->workspace, err);
    if (status == MMT_OK)
        status = mmt_execute_unbounded(plan, args, session->queue, err);
    if (status == MMT_OK)
        status = mmt_finish(session->device, session->queue, err);
    if (status != MMT_OK || !size)
        return status;
    mmt_operand before = args->workspace, behind = args->workspace;
    before.offset -= WORKSPACE_GUARD, behind.offset += size;
    status = check_guard(session, before, "before", verdict, err);
    if (status == MMT_OK)
        status = check_guard(session, behind, "behind", verdict, err);
    return status;
}

/* Alpha and beta as a device has them; returns their bytes. */
static size_t print_scalars(const struct mmt_trial *trial, void *both)
{
    const mmt_type type = mmt_type_scalar(trial->problem.type);
    const size_t size = mmt_type_size(type);
    mmt_number_write(type, trial->alpha, both);
    mmt_number_write(type, trial->beta, (char *) both + size);
    return 2 * size;
}

mmt_status mmt_trial_scalars(struct mmt_session *session, const struct mmt_trial *trial,
                             mmt_args *args, mmt_error *err)
{
    char both[2 * sizeof(double)];

    args->alpha = trial->alpha;
    args->beta = trial->beta;
    if (!(trial->row->flags & MMT_TRIAL_SCALARS))
        return MMT_OK;
    args->alpha = args->beta = trial->alpha == 0 ? 7 : 0; /* ignored */
    args->scalars = session->scalars;
    const size_t size = print_scalars(trial, both);
    return mmt_buffer_write(session->device, session->scalars, both, size, err);
}

/* Those of a trial at the edge of pages, which end where a page does. */
static mmt_status fence_scalars(struct mmt_session *session,
                                const struct mmt_trial *trial, mmt_args *args,
                                struct mmt_fence **out, mmt_error *err)
{
    const int both = MMT_TRIAL_SCALARS | MMT_TRIAL_PAGE_END;
    if ((trial->row->flags & both) != both)
        return MMT_OK;
    mmt_status status = mmt_fence_create(session->device, 1, 1, false, out, err);
    if (status != MMT_OK)
        return status;
    char bytes[2 * sizeof(double)];
    const size_t size = print_scalars(trial, bytes);
    const size_t start = mmt_fence_size(*out) - size;
    memcpy(mmt_fence_begin(*out) + start, bytes, size);
    args->scalars = mmt_fence_operand(*out);
    args->scalars.offset += start;
    return MMT_OK;
}

/* ---- operands -------------------------------------------------------------------- */

/* One of a trial's operands on the device: in a buffer of the session, or in host memory
 * at the edge of a page. */
struct placed {
    const struct mmt_image *image;
    struct mmt_growing *buffer;
    struct mmt_fence *fence; /* NULL: in the buffer */
    size_t start;            /* of the matrix in the fence */
    mmt_operand operand;     /* the matrix */
};

static mmt_status place_in_room(struct mmt_session *session, struct placed *placed,
                                mmt_error *err)
{
    const struct mmt_image *image = placed->image;
    mmt_status status = mmt_session_grow(session, placed->buffer, image->size, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(session->device, placed->buffer->memory, image->bytes,
                                  image->size, err);
    placed->operand = placed->buffer->memory;
    placed->operand.offset += image->start;
    return status;
}

/* The matrix at the end or the begin of its pages, from a multiple of `align` bytes on.
 * What is left of them is NaN. */
static mmt_status place_in_fence(struct mmt_session *session, struct placed *placed,
                                 bool at_end, size_t align, mmt_error *err)
{
    enum { GUARD = 16 << 20 };
    const struct mmt_image *image = placed->image;
    const size_t extent = image->end - image->start;
    mmt_status status =
        mmt_fence_create(session->device, extent, GUARD, false, &placed->fence, err);
    if (status != MMT_OK)
        return status;
    const size_t size = mmt_fence_size(placed->fence), rest = size - extent;
    unsigned char *begin = mmt_fence_begin(placed->fence);
    memset(begin, 0xff, size);
    placed->start = at_end ? rest / align * align : 0;
    memcpy(begin + placed->start, image->bytes + image->start, extent);
    placed->operand = mmt_fence_operand(placed->fence);
    placed->operand.offset += placed->start;
    return MMT_OK;
}

static mmt_status place_operands(struct mmt_session *session,
                                 const struct mmt_trial *trial, size_t align,
                                 struct placed *placed, mmt_error *err)
{
    const int flags = trial->row->flags;
    return flags & MMT_TRIAL_PAGES
               ? place_in_fence(session, placed, flags & MMT_TRIAL_PAGE_END, align, err)
               : place_in_room(session, placed, err);
}

/* The operand as it is now, with what the image has round it, to small_back. */
static mmt_status read_back(struct mmt_session *session, const struct placed *placed,
                            mmt_error *err)
{
    const struct mmt_image *image = placed->image;
    if (image->size > session->small_back_size) {
        free(session->small_back);
        session->small_back_size = 0;
        session->small_back = malloc(image->size);
        if (!session->small_back)
            return mmt_fail(err, MMT_ERROR_MEMORY,
                            "no memory left for %zu bytes of test data", image->size);
        session->small_back_size = image->size;
    }
    if (!placed->fence)
        return mmt_buffer_read(session->device, session->small_back,
                               placed->buffer->memory, image->size, err);
    memcpy(session->small_back, image->bytes, image->size);
    memcpy(session->small_back + image->start,
           mmt_fence_begin(placed->fence) + placed->start, image->end - image->start);
    return MMT_OK;
}

/* ---- what must be so afterwards -------------------------------------------------- */

/* Looks at all entries of C that are computed, and puts those back that were there
 * before, so that whatever differs after that was written outside them. */
static void check_entries(const struct mmt_trial *trial, unsigned char *back,
                          struct mmt_judgement *verdict)
{
    const mmt_problem *p = &trial->problem;
    const struct mmt_answer *answer = trial->answers, *wrong = NULL;
    struct mmt_stored c = mmt_op_stored(p, MMT_OPERAND_C);
    size_t element = mmt_type_size(p->out), place = 0;
    int64_t count = 0, row = 0, column = 0, matrix = 0;
    long double got = 0;

    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++, answer++) {
                if (j >= mmt_op_computed(p, i))
                    continue;
                place = (size_t) (z * p->stride_c + i * p->ldc + j) * element +
                        trial->c.start;
                if (!mmt_oracle_agrees(p->out, back + place, *answer) && count++ == 0) {
                    got = mmt_number_read(p->out, back + place);
                    wrong = answer;
                    row = i, column = j, matrix = z;
                }
                memcpy(back + place, trial->c.bytes + place, element);
            }
    if (wrong)
        mmt_judgement_reject(verdict, trial->row->check,
                             "C(%" PRId64 ", %" PRId64
                             ")%s is %.9Lg, should be %.9Lg%s; %" PRId64 " of %" PRId64
                             " entries are wrong",
                             row, column, matrix ? " of a later matrix" : "", got,
                             wrong->value, wrong->bound > 0 ? " within rounding" : "",
                             count, p->batch * c.rows * c.cols);
}

static void check_guards(const struct mmt_trial *trial, const unsigned char *back,
                         struct mmt_judgement *verdict)
{
    const struct mmt_image *c = &trial->c;
    size_t change = mmt_first_change(back, c->bytes, c->size);

    if (change == c->size)
        return;
    if (change < c->start)
        mmt_judgement_reject(verdict, "guard", "%zu bytes before C were written",
                             c->start - change);
    else if (change >= c->end)
        mmt_judgement_reject(verdict, "guard",
                             "C was written past its end, at byte %zu of %zu",
                             change - c->start, c->end - c->start);
    else
        mmt_judgement_reject(verdict, "guard",
                             "the gap between rows of C was written, at byte %zu",
                             change - c->start);
}

static mmt_status check_input(struct mmt_session *session, const char *name,
                              const struct placed *placed, struct mmt_judgement *verdict,
                              mmt_error *err)
{
    const struct mmt_image *image = placed->image;
    mmt_status status = read_back(session, placed, err);
    if (status == MMT_OK &&
        mmt_first_change(session->small_back, image->bytes, image->size) < image->size)
        mmt_judgement_reject(verdict, "guard", "%s or what is round it was written",
                             name);
    return status;
}

static void check_fence(const char *name, const struct placed *placed,
                        struct mmt_judgement *verdict)
{
    ptrdiff_t where;
    if (!placed->fence || !mmt_fence_touched(placed->fence, &where))
        return;
    const ptrdiff_t extent = (ptrdiff_t) (placed->image->end - placed->image->start);
    where -= (ptrdiff_t) placed->start;
    if (where < 0)
        mmt_judgement_reject(verdict, "page edge",
                             "memory %td bytes before %s was read or written", -where,
                             name);
    else
        mmt_judgement_reject(verdict, "page edge",
                             "memory %td bytes behind the end of %s was read or written",
                             where - extent, name);
}

/* ---- a trial --------------------------------------------------------------------- */

enum { A, B, C, BIAS, OPERANDS };

static const char *const names[OPERANDS] = { "A", "B", "C", "the bias" };

/* What the host knows not to be read. */
static void leave_out(const struct mmt_trial *trial, mmt_args *args)
{
    const mmt_operand none = { 0 };
    const int flags = trial->row->flags;
    if (!(flags & MMT_TRIAL_NULL))
        return;
    if (flags & MMT_TRIAL_NO_A || trial->problem.k == 0)
        args->a = none;
    if (flags & MMT_TRIAL_NO_B || trial->problem.k == 0)
        args->b = none;
}

static mmt_status execute_trial(struct mmt_session *session, const mmt_plan *plan,
                                const struct mmt_trial *trial,
                                const struct placed placed[OPERANDS],
                                struct mmt_judgement *verdict, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    struct mmt_fence *scalars = NULL;
    ptrdiff_t where;

    args.a = placed[A].operand;
    args.b = placed[B].operand;
    args.c = placed[C].operand;
    if (trial->problem.bias)
        args.bias = placed[BIAS].operand;
    if (trial->row->flags & MMT_TRIAL_IN_PLACE)
        args.b = args.c;
    leave_out(trial, &args);
    mmt_status status = mmt_trial_scalars(session, trial, &args, err);
    if (status == MMT_OK)
        status = fence_scalars(session, trial, &args, &scalars, err);
    if (status == MMT_OK)
        status = mmt_verify_run(session, plan, &trial->problem, &args, verdict, err);
    if (scalars && mmt_fence_touched(scalars, &where))
        mmt_judgement_reject(verdict, "page edge",
                             "memory outside the scalars was read or written");
    mmt_fence_free(scalars);
    return status;
}

static mmt_status check_trial(struct mmt_session *session, const struct mmt_trial *trial,
                              const struct placed placed[OPERANDS],
                              struct mmt_judgement *verdict, mmt_error *err)
{
    mmt_status status = read_back(session, &placed[C], err);
    if (status != MMT_OK)
        return status;
    check_entries(trial, session->small_back, verdict);
    check_guards(trial, session->small_back, verdict);
    for (int i = 0; i < OPERANDS && status == MMT_OK; i++) {
        check_fence(names[i], &placed[i], verdict);
        if (i != C)
            status = check_input(session, names[i], &placed[i], verdict, err);
    }
    return status;
}

mmt_status mmt_trial_run(struct mmt_session *session, const mmt_plan *plan,
                         const struct mmt_trial *trial, size_t align,
                         struct mmt_judgement *verdict, mmt_error *err)
{
    struct placed placed[OPERANDS] = {
        [A] = { .image = &trial->a, .buffer = &session->small_a },
        [B] = { .image = &trial->b, .buffer = &session->small_b },
        [C] = { .image = &trial->c, .buffer = &session->small_c },
        [BIAS] = { .image = &trial->bias, .buffer = &session->small_bias },
    };
    mmt_status status = MMT_OK;

    for (int i = 0; i < OPERANDS && status == MMT_OK; i++)
        status = place_operands(session, trial, align, &placed[i], err);
    if (status == MMT_OK)
        status = execute_trial(session, plan, trial, placed, verdict, err);
    if (status == MMT_OK)
        status = check_trial(session, trial, placed, verdict, err);
    for (int i = 0; i < OPERANDS; i++)
        mmt_fence_free(placed[i].fence);
    if (status == MMT_OK && !verdict->right)
        mmt_judgement_tell(verdict, trial, &trial->problem);
    return status;
}
