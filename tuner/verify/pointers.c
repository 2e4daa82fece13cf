/* Arrays of pointers to the matrices of a batch, made of where these lie. */
#include "tuner/verify/pointers.h"

#include <stdlib.h>

#include "tuner/verify/session_internal.h"

/* Each number below `batch` once. */
static int64_t shuffled(int64_t z, int64_t batch)
{
    return z % 2 ? z / 2 : batch - 1 - z / 2;
}

/* Pointers to matrices that lie `stride` bytes apart. */
static void fill(mmt_operand first, int64_t stride, int64_t batch, bool shuffle,
                 uint64_t *array)
{
    for (int64_t z = 0; z < batch; z++)
        array[z] = first.handle + first.offset +
                   (uint64_t) ((shuffle ? shuffled(z, batch) : z) * stride);
}

/* The arrays of A, B and C, one behind the other. */
static void fill_three(const mmt_problem *p, const mmt_args *args, bool shuffle,
                       uint64_t *arrays)
{
    const int64_t in = (int64_t) mmt_type_size(p->type),
                  out = (int64_t) mmt_type_size(p->out);
    fill(args->a, p->stride_a * in, p->batch, shuffle, arrays);
    fill(args->b, p->stride_b * in, p->batch, shuffle, arrays + p->batch);
    fill(args->c, p->stride_c * out, p->batch, shuffle, arrays + 2 * p->batch);
}

static size_t bytes_of_three(const mmt_problem *p)
{
    return 3 * (size_t) p->batch * sizeof(uint64_t);
}

/* What is null stays so. */
static void point(const struct mmt_session *session, const mmt_problem *p, int64_t set,
                  mmt_args *args)
{
    mmt_operand *const all[] = { &args->a, &args->b, &args->c };
    for (int i = 0; i < 3; i++) {
        if (!all[i]->handle)
            continue;
        *all[i] = session->arrays.memory;
        all[i]->offset += (size_t) set * bytes_of_three(p) +
                          (size_t) i * (size_t) p->batch * sizeof(uint64_t);
    }
}

static mmt_status write_arrays(struct mmt_session *session, const uint64_t *arrays,
                               size_t bytes, mmt_error *err)
{
    mmt_status status = mmt_session_grow(session, &session->arrays, bytes, err);
    return status ? status
                  : mmt_buffer_write(session->device, session->arrays.memory, arrays,
                                     bytes, err);
}

static mmt_status no_memory(size_t bytes, mmt_error *err)
{
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu bytes of pointers",
                    bytes);
}

mmt_status mmt_session_point(struct mmt_session *session, const mmt_problem *problem,
                             mmt_args *args, mmt_error *err)
{
    const size_t bytes = bytes_of_three(problem);
    if (problem->batch_by != MMT_BY_POINTERS)
        return MMT_OK;
    uint64_t *arrays = malloc(bytes);
    if (!arrays)
        return no_memory(bytes, err);
    fill_three(problem, args, true, arrays);
    mmt_status status = write_arrays(session, arrays, bytes, err);
    free(arrays);
    point(session, problem, 0, args);
    return status;
}

mmt_status mmt_session_point_copies(struct mmt_session *session, size_t offset,
                                    size_t offset_c, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    const size_t bytes = (size_t) session->copies * bytes_of_three(p);
    if (p->batch_by != MMT_BY_POINTERS)
        return MMT_OK;
    uint64_t *arrays = malloc(bytes);
    if (!arrays)
        return no_memory(bytes, err);
    for (int copy = 0; copy < session->copies; copy++) {
        mmt_args args = mmt_session_args(session, copy);
        args.a.offset += offset, args.b.offset += offset, args.c.offset += offset_c;
        fill_three(p, &args, false, arrays + 3 * p->batch * copy);
    }
    mmt_status status = write_arrays(session, arrays, bytes, err);
    free(arrays);
    return status;
}

mmt_args mmt_session_timed_args(const struct mmt_session *session, int64_t copy)
{
    mmt_args args = mmt_session_args(session, copy);
    if (session->problem.batch_by == MMT_BY_POINTERS)
        point(session, &session->problem, copy % session->copies, &args);
    return args;
}
