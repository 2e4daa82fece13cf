/* Results of both libraries beside each other, on the host.
 *
 * Each is within a bound of the exact result (docs/lab/accuracy.md), so that the two are
 * within twice that of each other. With u the unit roundoff of the type that is added up
 * in, v that of C's type, |a| and |b| the Euclidean norms of a row of op(A) and of a
 * column of op(B), whose product no sum of magnitudes exceeds:
 *
 *   x = |alpha| |a| |b| + |beta c| + |bias|
 *   e = |alpha| |a| |b| (2 u (k + 2) + w + 4 v) + 2 u x
 *   |ours - theirs| <= 2 (1.13 e + t x + v |theirs|)
 *
 * w is what rounding of the factors adds, 2^-10 for tf32; t is 2^-11 for GELU, since
 * hardware's tanh is no nearer. Where the program allows sums in f16, u is that of f16.
 * 4 v is for libraries that
 * add up parts of a sum in C's type. 1.13 is the steepest slope of an activation. k
 * counts as 2^16 at most. Where one of them is not finite both must be, but that sums in
 * f16 may overflow in the library alone. Of whole numbers both are the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/type.h"
#include "device/device.h"
#include "dropin/cublas/serve.h"

/* ---- numbers --------------------------------------------------------------------- */

static double read_number(mmt_type type, const char *at)
{
    uint16_t bits;
    uint32_t wide;
    float f32;

    switch (type) {
    case MMT_F64:
        return mmt_map_scalar(CUDA_64F, at);
    case MMT_I32:
        return mmt_map_scalar(CUDA_32I, at);
    case MMT_I8:
        return *(const signed char *) at;
    case MMT_F16:
        return mmt_map_scalar(CUDA_16F, at);
    case MMT_BF16:
        memcpy(&bits, at, sizeof bits);
        wide = (uint32_t) bits << 16;
        memcpy(&f32, &wide, sizeof f32);
        return (double) f32;
    default:
        return mmt_map_scalar(CUDA_32F, at);
    }
}

static double roundoff(mmt_type type)
{
    switch (type) {
    case MMT_F64:
        return 0x1p-53;
    case MMT_F16:
        return 0x1p-11;
    case MMT_BF16:
        return 0x1p-8;
    default:
        return 0x1p-24;
    }
}

/* ---- the matrices on the host ---------------------------------------------------- */

struct copies {
    const mmt_problem *problem;
    double alpha, beta;
    double u; /* of what the library may add up in */
    char *a, *b, *before, *ours, *theirs, *bias;
    double *rows, *columns; /* norms, of one matrix of the batch */
};

static void free_copies(struct copies *copies)
{
    free(copies->a);
    free(copies->b);
    free(copies->before);
    free(copies->ours);
    free(copies->theirs);
    free(copies->bias);
    free(copies->rows);
    free(copies->columns);
}

static char *read_device(mmt_device *device, mmt_operand from, size_t bytes)
{
    char *to = malloc(bytes ? bytes : 1);
    if (to && mmt_buffer_read(device, to, from, bytes, NULL)) {
        free(to);
        return NULL;
    }
    return to;
}

/* A batch of C, or by pointers of A, B or C, from the device, as the problem's strides
 * have it; `extent` in elements. */
static char *read_operand(mmt_device *device, const mmt_problem *p, mmt_operand from,
                          int64_t extent, int64_t stride, size_t element)
{
    const size_t bytes = (size_t) extent * element;
    if (p->batch_by == MMT_BY_STRIDE)
        return read_device(device, from, bytes);
    const size_t one = bytes - (size_t) ((p->batch - 1) * stride) * element;
    uint64_t *array =
        (uint64_t *) read_device(device, from, (size_t) p->batch * sizeof *array);
    char *to = array ? calloc(bytes, 1) : NULL;
    bool done = to != NULL;
    for (int64_t z = 0; z < p->batch && done; z++)
        done = !mmt_buffer_read(device, to + (size_t) (z * stride) * element,
                                (mmt_operand){ array[z], 0 }, one, NULL);
    free(array);
    if (done)
        return to;
    free(to);
    return NULL;
}

static char *read_c(mmt_device *device, const mmt_problem *p, const mmt_args *args)
{
    return read_operand(device, p, args->c, mmt_problem_extent_c(p), p->stride_c,
                        mmt_type_size(p->out));
}

/* ---- the bound ------------------------------------------------------------------- */

/* The norms of `count` vectors of k elements; those of one vector are `along` apart, and
 * the vectors' first ones `across`, in elements. */
static void find_norms(mmt_type type, const char *data, int64_t count, int64_t k,
                       int64_t across, int64_t along, double *norms)
{
    const int64_t size = (int64_t) mmt_type_size(type);
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++) {
            const double x = read_number(type, data + (i * across + l * along) * size);
            sum += x * x;
        }
        norms[i] = sqrt(sum);
    }
}

static void find_all_norms(const struct copies *it, int64_t z)
{
    const mmt_problem *p = it->problem;
    const int64_t size = (int64_t) mmt_type_size(p->type);
    find_norms(p->type, it->a + z * p->stride_a * size, p->m, p->k,
               p->trans_a ? 1 : p->lda, p->trans_a ? p->lda : 1, it->rows);
    find_norms(p->type, it->b + z * p->stride_b * size, p->n, p->k,
               p->trans_b ? p->ldb : 1, p->trans_b ? 1 : p->ldb, it->columns);
}

/* Of element (i, j), whose result by the library is `theirs`. */
static double bound(const struct copies *it, int64_t i, int64_t j, double before,
                    double theirs)
{
    const mmt_problem *p = it->problem;
    const double u = it->u;
    const double t = p->activation > MMT_RELU ? 0x1p-11 : 0;
    const double v = roundoff(p->out), w = p->type == MMT_TF32 ? 0x1p-10 : 0;
    const double k = (double) (p->k < 65536 ? p->k : 65536);
    const size_t out = mmt_type_size(p->out);
    const double bias = it->bias ? read_number(p->out, it->bias + (size_t) j * out) : 0;
    const double products = fabs(it->alpha) * it->rows[i] * it->columns[j];
    const double x = products + fabs(it->beta * before) + fabs(bias);
    const double e = products * (2 * u * (k + 2) + w + 4 * v) + 2 * u * x;
    return mmt_type_in(p->type, MMT_WHOLE_TYPES)
               ? 0
               : 2 * (1.13 * e + t * x + v * fabs(theirs));
}

/* How far an element is off, as a part of its bound; infinite where it may not be. */
static double excess(const struct copies *it, int64_t z, int64_t i, int64_t j)
{
    const mmt_problem *p = it->problem;
    const size_t at = (size_t) (z * p->stride_c + i * p->ldc + j) * mmt_type_size(p->out);
    const double ours = read_number(p->out, it->ours + at);
    const double theirs = read_number(p->out, it->theirs + at);

    if (!isfinite(theirs))
        return !isfinite(ours) || it->u == roundoff(MMT_F16) ? 0 : INFINITY;
    if (!isfinite(ours))
        return INFINITY;
    if (ours == theirs)
        return 0;
    const double before = it->beta != 0 ? read_number(p->out, it->before + at) : 0;
    const double most = bound(it, i, j, before, theirs);
    return most > 0 ? fabs(ours - theirs) / most : INFINITY;
}

static double find_worst(const struct copies *it)
{
    const mmt_problem *p = it->problem;
    double worst = 0;
    for (int64_t z = 0; z < p->batch; z++) {
        find_all_norms(it, z);
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                worst = fmax(worst, excess(it, z, i, j));
    }
    return worst;
}

/* ---- a call ---------------------------------------------------------------------- */

/* A call that agrees is told once a kind, one that does not each time. */
static void tell(const struct mmt_request *request, struct mmt_slot *slot, double worst,
                 bool first)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(&mmt_slot_call(slot)->problem, &text);
    if (worst > 1)
        fprintf(stderr,
                "mmtune: check: %s: WRONG, %.3g times as far from the library's "
                "result as both may be\n",
                mmt_text_string(&text), worst);
    else if (first)
        fprintf(stderr, "mmtune: check: %s: right, %.3g of what it may differ\n",
                mmt_text_string(&text), worst);
    mmt_text_finish(&text);
}

/* Those in device memory: alpha, then beta. */
static bool read_scalars(mmt_device *device, const mmt_args *args, struct copies *it)
{
    const mmt_type type = mmt_type_scalar(it->problem->type);
    char both[16];
    if (!args->scalars.handle)
        return true;
    if (mmt_buffer_read(device, both, args->scalars, 2 * mmt_type_size(type), NULL))
        return false;
    it->alpha = read_number(type, both);
    it->beta = read_number(type, both + mmt_type_size(type));
    return true;
}

static bool read_operands(mmt_device *device, const mmt_args *args, struct copies *it)
{
    const mmt_problem *p = it->problem;
    const size_t in = mmt_type_size(p->type), out = mmt_type_size(p->out);
    const size_t c = (size_t) mmt_problem_extent_c(p) * out;

    if (!read_scalars(device, args, it))
        return false;
    it->a = read_operand(device, p, args->a, mmt_problem_extent_a(p), p->stride_a, in);
    it->b = read_operand(device, p, args->b, mmt_problem_extent_b(p), p->stride_b, in);
    it->before = read_c(device, p, args);
    it->theirs = malloc(c);
    it->rows = malloc((size_t) p->m * sizeof *it->rows);
    it->columns = malloc((size_t) p->n * sizeof *it->columns);
    if (p->bias)
        it->bias = read_device(device, args->bias, (size_t) p->n * out);
    return it->a && it->b && it->before && it->theirs && it->rows && it->columns &&
           (it->bias || !p->bias);
}

/* An array of pointers to the matrices of a copy of C; NULL handle: no memory. */
static mmt_operand point_at(mmt_device *device, const mmt_problem *p, mmt_operand copy)
{
    const size_t bytes = (size_t) p->batch * sizeof(uint64_t);
    uint64_t *array = malloc(bytes);
    mmt_operand out = { 0, 0 };
    for (int64_t z = 0; array && z < p->batch; z++)
        array[z] = copy.handle + copy.offset +
                   (uint64_t) (z * p->stride_c) * mmt_type_size(p->out);
    if (array && !mmt_buffer_create(device, bytes, &out, NULL) &&
        mmt_buffer_write(device, out, array, bytes, NULL)) {
        mmt_buffer_free(device, out);
        out = (mmt_operand){ 0, 0 };
    }
    free(array);
    return out;
}

/* The library's result, computed into a copy of C. */
static bool compute_theirs(const struct mmt_served *served, mmt_device *device,
                           const struct mmt_request *request, struct copies *it)
{
    const mmt_problem *p = it->problem;
    const size_t bytes = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->out);
    const bool pointers = p->batch_by == MMT_BY_POINTERS;
    mmt_operand copy = { 0, 0 }, array = { 0, 0 };
    const bool made = !mmt_buffer_create(device, bytes, &copy, NULL) &&
                      !mmt_buffer_write(device, copy, it->before, bytes, NULL);
    if (made && pointers)
        array = point_at(device, p, copy);
    const mmt_operand out = pointers ? array : copy;
    const bool done =
        made && out.handle &&
        !request->pass(request, (void *) (uintptr_t) (out.handle + out.offset)) &&
        !served->driver->cuStreamSynchronize(request->stream) &&
        !mmt_buffer_read(device, it->theirs, copy, bytes, NULL);
    mmt_buffer_free(device, array);
    mmt_buffer_free(device, copy);
    return done;
}

mmt_status mmt_check_call(const struct mmt_served *served, struct mmt_slot *slot,
                          const struct mmt_request *request, const mmt_plan *plan,
                          const mmt_args *args, bool first)
{
    mmt_device *device = mmt_calls_device(served->calls);
    struct copies it = { .problem = &mmt_slot_call(slot)->problem,
                         .alpha = args->alpha,
                         .beta = args->beta };
    const mmt_problem *p = it.problem;
    const bool half = mmt_map_compute(request->gemm.compute) != MMT_COMPUTE_USUAL;
    const int mode = mmt_thread_relax(device); /* others may capture meanwhile */
    mmt_status status = MMT_ERROR_MEMORY;

    it.u = roundoff(p->type == MMT_F64 ? MMT_F64 : half ? MMT_F16 : MMT_F32);
    if (!served->driver->cuStreamSynchronize(request->stream) &&
        read_operands(device, args, &it) &&
        compute_theirs(served, device, request, &it)) {
        status = mmt_execute(plan, args, (mmt_queue) request->stream, NULL);
        served->driver->cuStreamSynchronize(request->stream);
        it.ours = read_c(device, p, args);
        if (!status && it.ours)
            tell(request, slot, find_worst(&it), first);
    }
    free_copies(&it);
    mmt_thread_restore(device, mode);
    return status;
}
