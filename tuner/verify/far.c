/* Rows that begin beyond 2^31 elements: offsets that are counted in 32 bits show there.
 * On a device that uses the host's memory in place, only the pages that rows stand in are
 * ever taken; elsewhere the whole stretch is memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/verify/fence.h"
#include "tuner/verify/verify_internal.h"

/* An operand at its far place. */
struct far_operand {
    const struct mmt_image *image; /* as it is close together */
    struct mmt_stored stored;
    size_t element;
    int64_t batch, ld, stride;          /* of the image */
    int64_t far_ld, far_stride, extent; /* elements */
    struct mmt_fence *fence;
    size_t start;        /* of the matrix in the memory, bytes */
    mmt_operand operand; /* the matrix */
    bool owned;          /* the operand's memory is this one's */
};

/* On a device that uses the host's memory, matrices begin so many elements into it. */
static const size_t far_start = ((size_t) 1 << 31) + 64;

/* So far off are 32 bits that went negative, at 8 bytes each, and more. */
static const size_t far_guard = (size_t) 1 << 35;

static struct far_operand far_of(const mmt_problem *far, const struct mmt_trial *trial,
                                 enum mmt_which which)
{
    const mmt_problem *p = &trial->problem;
    const struct mmt_image *images[] = { &trial->a, &trial->b, &trial->c };
    const int64_t lds[] = { p->lda, p->ldb, p->ldc };
    const int64_t strides[] = { p->stride_a, p->stride_b, p->stride_c };
    const int64_t far_lds[] = { far->lda, far->ldb, far->ldc };
    const int64_t far_strides[] = { far->stride_a, far->stride_b, far->stride_c };
    const int64_t extents[] = { mmt_problem_extent_a(far), mmt_problem_extent_b(far),
                                mmt_problem_extent_c(far) };
    const bool is_one = !far_strides[which] && which != MMT_OPERAND_C;
    return (struct far_operand){
        .image = images[which],
        .stored = mmt_op_stored(p, which),
        .element = mmt_type_size(which == MMT_OPERAND_C ? p->out : p->type),
        .batch = is_one ? 1 : p->batch,
        .ld = lds[which],
        .stride = strides[which],
        .far_ld = far_lds[which],
        .far_stride = far_strides[which],
        .extent = extents[which],
    };
}

/* Copies of 16 bytes of which some are left out count as whole ones where a tool watches
 * what is read. */
static size_t whole_pieces(size_t bytes)
{
    enum { PIECE = 16 };
    return (bytes + PIECE - 1) / PIECE * PIECE;
}

static mmt_status take_memory(struct mmt_session *session, struct far_operand *o,
                              mmt_error *err)
{
    const size_t bytes = whole_pieces((size_t) (o->extent ? o->extent : 1) * o->element);
    if (mmt_session_in_place(session)) {
        o->start = far_start * o->element;
        mmt_status status = mmt_fence_create(session->device, o->start + bytes, far_guard,
                                             true, &o->fence, err);
        if (status != MMT_OK)
            return status;
        o->operand = mmt_fence_operand(o->fence);
        o->operand.offset += o->start;
        return MMT_OK;
    }
    if (bytes > mmt_device_caps(session->device)->memory / 2)
        return mmt_fail(err, MMT_ERROR_MEMORY, "the device has no %zu bytes", bytes);
    mmt_status status = mmt_buffer_create(session->device, bytes, &o->operand, err);
    o->owned = status == MMT_OK;
    return status;
}

static void give_back(struct mmt_session *session, struct far_operand *o)
{
    mmt_fence_free(o->fence);
    if (o->owned)
        mmt_buffer_free(session->device, o->operand);
}

/* Row `i` of matrix `z`: where it is in the image, and where in memory, in bytes. */
static size_t near_place(const struct far_operand *o, int64_t z, int64_t i)
{
    return o->image->start + (size_t) (z * o->stride + i * o->ld) * o->element;
}

static size_t far_place(const struct far_operand *o, int64_t z, int64_t i)
{
    return (size_t) (z * o->far_stride + i * o->far_ld) * o->element;
}

/* All rows, from the image to their places or from there to `back`, which is like it. */
static mmt_status move_rows(struct mmt_session *session, const struct far_operand *o,
                            unsigned char *back, mmt_error *err)
{
    const size_t bytes = (size_t) o->stored.cols * o->element;
    mmt_status status = MMT_OK;

    for (int64_t z = 0; z < o->batch; z++)
        for (int64_t i = 0; i < o->stored.rows && status == MMT_OK; i++) {
            const size_t near = near_place(o, z, i), far = far_place(o, z, i);
            mmt_operand place = o->operand;
            place.offset += far;
            if (o->fence && !back)
                status =
                    mmt_fence_open(o->fence, o->start + far, whole_pieces(bytes), err);
            if (status != MMT_OK)
                break;
            if (o->fence && back)
                memcpy(back + near, mmt_fence_begin(o->fence) + o->start + far, bytes);
            else if (o->fence)
                memcpy(mmt_fence_begin(o->fence) + o->start + far, o->image->bytes + near,
                       bytes);
            else if (back)
                status = mmt_buffer_read(session->device, back + near, place, bytes, err);
            else
                status = mmt_buffer_write(session->device, place, o->image->bytes + near,
                                          bytes, err);
        }
    return status;
}

static void check_rows(const struct mmt_trial *trial, const struct far_operand *c,
                       const unsigned char *back, struct mmt_judgement *verdict)
{
    const struct mmt_answer *answer = trial->answers;
    for (int64_t z = 0; z < c->batch; z++)
        for (int64_t i = 0; i < c->stored.rows; i++)
            for (int64_t j = 0; j < c->stored.cols; j++, answer++) {
                const unsigned char *at =
                    back + near_place(c, z, i) + (size_t) j * c->element;
                if (mmt_oracle_agrees(trial->problem.out, at, *answer))
                    continue;
                mmt_judgement_reject(
                    verdict, trial->row->check,
                    "C(%" PRId64 ", %" PRId64 ") is %.9Lg, should be %.9Lg", i, j,
                    mmt_number_read(trial->problem.out, at), answer->value);
                return;
            }
}

static mmt_status execute_far(struct mmt_session *session, const mmt_plan *plan,
                              const mmt_problem *far, const struct mmt_trial *trial,
                              const struct far_operand operands[3],
                              struct mmt_judgement *verdict, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    args.a = operands[MMT_OPERAND_A].operand;
    args.b = operands[MMT_OPERAND_B].operand;
    args.c = operands[MMT_OPERAND_C].operand;
    if (trial->problem.bias) {
        mmt_status status =
            mmt_session_grow(session, &session->small_bias, trial->bias.size, err);
        if (status == MMT_OK)
            status = mmt_buffer_write(session->device, session->small_bias.memory,
                                      trial->bias.bytes, trial->bias.size, err);
        if (status != MMT_OK)
            return status;
        args.bias = session->small_bias.memory;
        args.bias.offset += trial->bias.start;
    }
    mmt_status status = mmt_trial_scalars(session, trial, &args, err);
    if (status == MMT_OK)
        status = mmt_verify_run(session, plan, far, &args, verdict, err);
    return status;
}

static mmt_status check_far(struct mmt_session *session, const struct mmt_trial *trial,
                            const struct far_operand operands[3],
                            struct mmt_judgement *verdict, mmt_error *err)
{
    const struct far_operand *c = &operands[MMT_OPERAND_C];
    unsigned char *back = malloc(c->image->size);
    if (!back)
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for %zu bytes of test data", c->image->size);
    mmt_status status = move_rows(session, c, back, err);
    if (status == MMT_OK)
        check_rows(trial, c, back, verdict);
    free(back);
    for (int i = 0; i < 3; i++) {
        ptrdiff_t where;
        if (operands[i].fence && mmt_fence_touched(operands[i].fence, &where))
            mmt_judgement_reject(
                verdict, trial->row->check,
                "memory %td bytes from the first element of %c was read or "
                "written, which is not in it",
                where, "ABC"[i]);
    }
    return status;
}

/* Rows of bytes in 2^31 take few pages where memory is used in place, and all of it
 * elsewhere: what a device has no room for is not checked, and said. */
static mmt_status skip_far(const struct mmt_trial *trial, struct mmt_judgement *verdict,
                           const mmt_error *err)
{
    verdict->skipped++;
    snprintf(verdict->skip, sizeof verdict->skip, "%s: %.200s", trial->row->check,
             err->text);
    return MMT_OK;
}

mmt_status mmt_far_run(struct mmt_session *session, const mmt_plan *plan,
                       const mmt_problem *far, const struct mmt_trial *trial,
                       struct mmt_judgement *verdict, mmt_error *err)
{
    struct far_operand operands[3];
    mmt_status status = MMT_OK;

    for (int i = 0; i < 3; i++)
        operands[i] = far_of(far, trial, (enum mmt_which) i);
    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = take_memory(session, &operands[i], err);
    const bool placed = status == MMT_OK;
    verdict->checks += placed;
    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = move_rows(session, &operands[i], NULL, err);
    if (status == MMT_OK)
        status = execute_far(session, plan, far, trial, operands, verdict, err);
    if (status == MMT_OK)
        status = check_far(session, trial, operands, verdict, err);
    for (int i = 0; i < 3; i++)
        give_back(session, &operands[i]);
    if (!placed && status == MMT_ERROR_MEMORY)
        return skip_far(trial, verdict, err);
    if (status == MMT_OK && !verdict->right)
        mmt_judgement_tell(verdict, trial, far);
    return status;
}
