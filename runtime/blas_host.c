/* Products of matrices in host memory: used in place where the device can, else copied.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/blas.h"

/* Bytes that are packed at a time on their way between a matrix with gaps and the device.
 */
enum { STRIP = 4 << 20 };

/* A matrix of the call and its place on the device. */
struct placed {
    struct mmt_blas_matrix matrix;
    char *host;
    mmt_operand buffer;
};

/* ---- in place -------------------------------------------------------------------- */

/* Kernels touch nothing but the matrix. */
static mmt_status wrap(mmt_device *device, struct placed *x, mmt_error *err)
{
    return mmt_host_wrap(device, x->host, x->matrix.bytes, &x->buffer, err);
}

/* ---- copies ------------------------------------------------------------------------ */

enum way { TO_DEVICE, TO_HOST };

/* Lines without gaps between them. */
static mmt_status copy_packed(mmt_device *device, mmt_operand at, char *host,
                              size_t bytes, enum way way, mmt_error *err)
{
    return way == TO_DEVICE ? mmt_buffer_write(device, at, host, bytes, err)
                            : mmt_buffer_read(device, host, at, bytes, err);
}

static void copy_lines(char *to, size_t to_step, const char *from, size_t from_step,
                       size_t line, int64_t lines)
{
    for (int64_t i = 0; i < lines; i++)
        memcpy(to + (size_t) i * to_step, from + (size_t) i * from_step, line);
}

static mmt_status copy_strips(mmt_device *device, const struct placed *x, char *strip,
                              int64_t at_once, enum way way, mmt_error *err)
{
    const size_t line = (size_t) x->matrix.length * x->matrix.element;
    const size_t step = (size_t) x->matrix.ld * x->matrix.element;
    mmt_status status = MMT_OK;

    for (int64_t done = 0; done < x->matrix.lines && !status; done += at_once) {
        const int64_t left = x->matrix.lines - done;
        const int64_t lines = left < at_once ? left : at_once;
        const mmt_operand at = { x->buffer.handle, (size_t) done * line };
        char *host = x->host + (size_t) done * step;
        if (way == TO_DEVICE)
            copy_lines(strip, line, host, step, line, lines);
        status = copy_packed(device, at, strip, (size_t) lines * line, way, err);
        if (way == TO_HOST && !status)
            copy_lines(host, step, strip, line, line, lines);
    }
    return status;
}

/* Between the host's lines, with their gaps, and the device's, which have none. */
static mmt_status copy(mmt_device *device, const struct placed *x, enum way way,
                       mmt_error *err)
{
    const struct mmt_blas_matrix *m = &x->matrix;
    const size_t line = (size_t) m->length * m->element;

    if (m->ld == m->length || m->lines == 1)
        return copy_packed(device, x->buffer, x->host, (size_t) m->lines * line, way,
                           err);
    const int64_t fit = line < STRIP ? (int64_t) (STRIP / line) : 1;
    const int64_t at_once = fit < m->lines ? fit : m->lines;
    char *strip = malloc((size_t) at_once * line);
    if (!strip)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to pack %zu bytes of %c",
                        (size_t) at_once * line, m->name);
    const mmt_status status = copy_strips(device, x, strip, at_once, way, err);
    free(strip);
    return status;
}

static mmt_status upload(mmt_device *device, struct placed *x, bool read, mmt_error *err)
{
    const struct mmt_blas_matrix *m = &x->matrix;
    const size_t bytes = (size_t) m->lines * (size_t) m->length * m->element;
    mmt_status status = mmt_buffer_create(device, bytes, &x->buffer, err);
    return status || !read ? status : copy(device, x, TO_DEVICE, err);
}

/* ---- a call ---------------------------------------------------------------------- */

/* What the call uses of the matrices is on the device then; *copied says whether by
 * copies. */
static mmt_status place(mmt_device *device, struct placed all[3], double beta,
                        bool *copied, mmt_error *err)
{
    mmt_error why = { 0 };
    mmt_status status = wrap(device, &all[2], &why);

    *copied = status == MMT_ERROR_UNSUPPORTED;
    if (status && !*copied)
        return mmt_fail_native(err, status, why.native, "%s", why.text);
    status = *copied ? upload(device, &all[2], beta != 0, err) : MMT_OK;
    for (int i = 0; i < 2 && !status; i++)
        if (all[i].matrix.used)
            status =
                *copied ? upload(device, &all[i], true, err) : wrap(device, &all[i], err);
    return status;
}

/* As the matrices are on the device, where copies have no gaps. */
static struct mmt_blas_call call_of_copies(const struct mmt_blas_call *call,
                                           const struct placed all[3])
{
    struct mmt_blas_call copies = *call;
    int64_t *const lds[3] = { &copies.lda, &copies.ldb, &copies.ldc };
    for (int i = 0; i < 3; i++)
        *lds[i] = all[i].matrix.length > 1 ? all[i].matrix.length : 1;
    return copies;
}

static mmt_status multiply(mmt_blas *blas, const struct mmt_blas_call *call,
                           struct placed all[3], mmt_error *err)
{
    mmt_device *device = mmt_blas_device(blas);
    bool copied = false;
    mmt_status status = place(device, all, call->beta, &copied, err);

    if (!status) {
        const struct mmt_blas_call there = copied ? call_of_copies(call, all) : *call;
        status = mmt_blas_execute(blas, &there, all[0].buffer, all[1].buffer,
                                  all[2].buffer, NULL, err);
        /* Also what was queued before it failed uses the buffers. */
        const mmt_status end = mmt_finish(device, NULL, status ? NULL : err);
        status = status ? status : end;
    }
    if (!status && copied)
        status = copy(device, &all[2], TO_HOST, err);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(device, all[i].buffer);
    return status;
}

mmt_status mmt_gemm_host(mmt_blas *blas, mmt_type type, mmt_layout layout,
                         mmt_blas_transpose trans_a, mmt_blas_transpose trans_b,
                         int64_t m, int64_t n, int64_t k, double alpha, const void *a,
                         int64_t lda, const void *b, int64_t ldb, double beta, void *c,
                         int64_t ldc, mmt_error *err)
{
    const struct mmt_blas_call call = { type, layout, trans_a, trans_b, m, n, k, alpha,
                                        beta, lda,    ldb,     ldc,     0, 0, 0, 1 };
    const void *const hosts[3] = { a, b, c };
    struct mmt_blas_matrix matrices[3];
    struct placed all[3] = { 0 };

    mmt_status status = mmt_blas_check(blas, &call, matrices, err);
    if (status || mmt_blas_is_empty(&call))
        return status;
    for (int i = 0; i < 3 && !status; i++) {
        all[i].matrix = matrices[i];
        all[i].host = (char *) hosts[i]; /* A and B are only read */
        status = mmt_blas_check_start(&matrices[i], !hosts[i], (uintptr_t) hosts[i], err);
    }
    return status ? status : multiply(blas, &call, all, err);
}
