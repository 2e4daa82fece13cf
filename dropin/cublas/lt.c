/* cublasLtMatmul. */
#include "dropin/cublas/descriptors.h"
#include "dropin/cublas/real.h"
#include "dropin/cublas/serve.h"

struct arguments {
    void *handle, *desc;
    const void *alpha, *beta;
    const void *a, *b, *c;
    void *d;
    void *layout_a, *layout_b, *layout_c, *layout_d;
    const void *algorithm;
    void *workspace;
    size_t workspace_bytes;
    void *stream;
};

/* C and D are one matrix for us; where they are two, C is not read. */
static int pass(const struct mmt_request *request, void *out)
{
    const struct arguments *g = request->original;
    __typeof__(&cublasLtMatmul) real = MMT_REAL(cublasLtMatmul);
    return real ? real(g->handle, g->desc, g->alpha, g->a, g->layout_a, g->b, g->layout_b,
                       g->beta, g->c == g->d ? out : g->c, g->layout_c, out, g->layout_d,
                       g->algorithm, g->workspace, g->workspace_bytes, g->stream)
                : CUBLAS_NOT_INITIALIZED;
}

static struct mmt_matrix make_matrix(const void *data, const struct mmt_layout *layout)
{
    return (struct mmt_matrix){ data, layout->type, layout->ld, layout->stride };
}

/* ---- what we have not ------------------------------------------------------------ */

static const char *check_desc(const struct mmt_desc *desc, const struct mmt_layout *d)
{
    if (desc->scale != mmt_map_scale(desc->compute))
        return "scale type";
    if (desc->trans_c != CUBLAS_N || desc->fill != CUBLAS_FULL)
        return "transposed or triangular C";
    if (desc->scales)
        return "scale pointers";
    if (desc->emulation)
        return "emulation";
    if (desc->shares)
        return "an SM count target, or counters of chunks";
    if (!(desc->epilogue & LT_EPILOGUE_BIAS))
        return NULL;
    if (!desc->bias)
        return "";
    return (desc->bias_type >= 0 && desc->bias_type != d->type) || desc->bias_stride
               ? "a bias of another type, or of each product"
               : NULL;
}

/* ---- a call ---------------------------------------------------------------------- */

struct layouts {
    struct mmt_layout a, b, c, d;
};

static bool is_plain(const struct mmt_layout *layout, int32_t batch)
{
    return layout->order == LT_COLUMN_MAJOR && layout->batch == batch &&
           !layout->batch_mode;
}

static const char *check_layouts(const struct arguments *g, const struct layouts *all,
                                 bool reads_c)
{
    const struct mmt_layout *c = &all->c, *d = &all->d;

    if (!is_plain(&all->a, d->batch) || !is_plain(&all->b, d->batch) ||
        !is_plain(d, d->batch))
        return "row-major, tiled or pointers' layouts";
    if (reads_c && (g->c != g->d || c->type != d->type || c->order != d->order ||
                    c->ld != d->ld || c->stride != d->stride || c->rows != d->rows ||
                    c->columns != d->columns || c->batch != d->batch))
        return "C apart from D";
    return NULL;
}

/* Sizes that do not match are for the library. */
static const char *fill_gemm(const struct arguments *g, const struct mmt_desc *desc,
                             const struct layouts *all, struct mmt_gemm *gemm)
{
    const bool ta = desc->trans_a != CUBLAS_N, tb = desc->trans_b != CUBLAS_N;
    const uint64_t k = ta ? all->a.rows : all->a.columns;

    if ((ta ? all->a.columns : all->a.rows) != all->d.rows ||
        (tb ? all->b.rows : all->b.columns) != all->d.columns ||
        (tb ? all->b.columns : all->b.rows) != k || all->d.rows > INT32_MAX ||
        all->d.columns > INT32_MAX || k > INT32_MAX)
        return "";
    gemm->trans_a = desc->trans_a;
    gemm->trans_b = desc->trans_b;
    gemm->m = (int64_t) all->d.rows;
    gemm->n = (int64_t) all->d.columns;
    gemm->k = (int64_t) k;
    gemm->batch = all->d.batch;
    gemm->a = make_matrix(g->a, &all->a);
    gemm->b = make_matrix(g->b, &all->b);
    gemm->c = make_matrix(g->d, &all->d);
    gemm->compute = desc->compute;
    return mmt_map_epilogue((int) desc->epilogue, &gemm->bias, &gemm->activation)
               ? NULL
               : "epilogue";
}

static const char *describe(const struct arguments *g, struct mmt_request *request)
{
    struct layouts all;
    struct mmt_desc desc;
    const char *why;

    if (!g->alpha || !g->beta || !mmt_desc_read(g->desc, &desc) ||
        !mmt_layout_read(g->layout_a, &all.a) || !mmt_layout_read(g->layout_b, &all.b) ||
        !mmt_layout_read(g->layout_d, &all.d))
        return "";
    request->scale = desc.scale;
    request->pointers = desc.pointers;
    if ((why = check_desc(&desc, &all.d)) ||
        (why = fill_gemm(g, &desc, &all, &request->gemm)))
        return why;
    const bool reads_c =
        desc.pointers != CUBLAS_ON_HOST || mmt_map_scalar(desc.scale, g->beta) != 0;
    if (reads_c && !mmt_layout_read(g->layout_c, &all.c))
        return "";
    request->bias = desc.bias;
    return check_layouts(g, &all, reads_c);
}

__attribute__((visibility("default"))) int cublasLtMatmul(
    void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
    const void *b, void *layout_b, const void *beta, const void *c, void *layout_c,
    void *d, void *layout_d, const void *algorithm, void *workspace,
    size_t workspace_bytes, void *stream)
{
    const struct arguments g = {
        handle,    desc,      alpha,           beta,     a,        b,
        c,         d,         layout_a,        layout_b, layout_c, layout_d,
        algorithm, workspace, workspace_bytes, stream
    };
    struct mmt_request request = {
        .gemm = { .c = { .data = d } },
        .client = MMT_CLIENT_CUBLASLT,
        .alpha = alpha,
        .beta = beta,
        .stream = stream,
        .workspace = { (uintptr_t) workspace, workspace ? workspace_bytes : 0 },
        .pass = pass,
        .original = &g,
    };

    if (mmt_serve_is_nested())
        return pass(&request, d);
    request.why = describe(&g, &request);
    return mmt_serve(&request);
}
