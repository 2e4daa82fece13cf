/* Opens cuBLASLt, and describes a row-major product to it. */
#include "tuner/bench/cublas_lt.h"

#include "device/library.h"

#define FN(name) #name, offsetof(struct mmt_lt_functions, name), false
static const struct mmt_symbol symbols[] = {
    { FN(cublasLtGetVersion) },
    { FN(cublasLtGetStatusName) },
    { FN(cublasLtCreate) },
    { FN(cublasLtDestroy) },
    { FN(cublasLtMatmulDescCreate) },
    { FN(cublasLtMatmulDescDestroy) },
    { FN(cublasLtMatmulDescSetAttribute) },
    { FN(cublasLtMatrixLayoutCreate) },
    { FN(cublasLtMatrixLayoutDestroy) },
    { FN(cublasLtMatrixLayoutSetAttribute) },
    { FN(cublasLtMatmulPreferenceCreate) },
    { FN(cublasLtMatmulPreferenceDestroy) },
    { FN(cublasLtMatmulPreferenceSetAttribute) },
    { FN(cublasLtMatmulAlgoGetHeuristic) },
    { FN(cublasLtMatmulAlgoConfigSetAttribute) },
    { FN(cublasLtMatmulAlgoCheck) },
    { FN(cublasLtMatmul) },
};
#undef FN

bool mmt_lt_open_file(const char *file, struct mmt_lt_functions *functions, char why[256])
{
    return mmt_library_open(file, symbols, sizeof symbols / sizeof *symbols, functions,
                            why);
}

mmt_status mmt_lt_open(struct mmt_lt_functions *functions, mmt_error *err)
{
    static const char *const files[] = {
        "libcublasLt.so.13",
        "libcublasLt.so.12",
        "libcublasLt.so.11",
        "/usr/local/cuda/lib64/libcublasLt.so.13",
        "/usr/local/cuda/lib64/libcublasLt.so.12",
    };
    char why[256];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (mmt_lt_open_file(files[i], functions, why))
            return MMT_OK;
    return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                    "cuBLASLt is not installed (%s): install libcublas of CUDA 11 or "
                    "newer, or name its folder in LD_LIBRARY_PATH",
                    why);
}

mmt_status mmt_lt_fail(const struct mmt_lt_functions *functions, int code,
                       const char *call, mmt_error *err)
{
    return mmt_fail_native(
        err, code == MMT_LT_NOT_SUPPORTED ? MMT_ERROR_UNSUPPORTED : MMT_ERROR_DEVICE,
        code, "%s failed: %s (%d)", call, functions->cublasLtGetStatusName(code), code);
}

#define TRY(name, ...)                                                                   \
    do {                                                                                 \
        int code_ = call->name(__VA_ARGS__);                                             \
        if (code_)                                                                       \
            return mmt_lt_fail(call, code_, #name, err);                                 \
    } while (0)

/* ---- a product ------------------------------------------------------------------- */

/* f8 with its sums promoted to f32. */
_Static_assert(MMT_NUM_TYPES == 9, "every type has a row, or is refused below");
static const struct {
    int stored, compute;
} kinds[MMT_NUM_TYPES] = {
    [MMT_F32] = { MMT_LT_R_32F, MMT_LT_COMPUTE_32F },
    [MMT_F64] = { MMT_LT_R_64F, MMT_LT_COMPUTE_64F },
    [MMT_I32] = { MMT_LT_R_32I, MMT_LT_COMPUTE_32I },
    [MMT_BF16] = { MMT_LT_R_16BF, MMT_LT_COMPUTE_32F },
    [MMT_F16] = { MMT_LT_R_16F, MMT_LT_COMPUTE_32F },
    [MMT_TF32] = { MMT_LT_R_32F, MMT_LT_COMPUTE_TF32 },
    [MMT_F8E4M3] = { MMT_LT_R_8F_E4M3, MMT_LT_COMPUTE_32F },
    [MMT_I8] = { MMT_LT_R_8I, MMT_LT_COMPUTE_32I },
};

int mmt_lt_stored(mmt_type type)
{
    return kinds[type].stored;
}

int mmt_lt_compute(mmt_type type)
{
    return kinds[type].compute;
}

const char *mmt_lt_refuse_type(const mmt_problem *problem)
{
    if (problem->type == MMT_I32)
        return "cuBLAS multiplies no 32-bit whole numbers";
    if (problem->type == MMT_F8E5M2)
        return "cuBLASLt multiplies f8e5m2 with f8e4m3 alone";
    if (problem->type == MMT_F8E4M3 && (problem->trans_a || !problem->trans_b))
        return "cuBLASLt multiplies f8 with the transposes nt alone";
    return NULL;
}

/* A row-major matrix of rows x columns, which is column-major its own transpose. */
static mmt_status make_layout(const struct mmt_lt_functions *call, int stored,
                              int64_t rows, int64_t columns, int64_t ld, int64_t batch,
                              int64_t stride, struct mmt_lt_layout **out, mmt_error *err)
{
    int32_t count = (int32_t) batch;

    TRY(cublasLtMatrixLayoutCreate, out, stored, (uint64_t) columns, (uint64_t) rows, ld);
    if (batch == 1)
        return MMT_OK;
    TRY(cublasLtMatrixLayoutSetAttribute, *out, MMT_LT_LAYOUT_BATCH, &count,
        sizeof count);
    TRY(cublasLtMatrixLayoutSetAttribute, *out, MMT_LT_LAYOUT_STRIDE, &stride,
        sizeof stride);
    return MMT_OK;
}

static mmt_status make_layouts(const struct mmt_lt_functions *call, const mmt_problem *p,
                               struct mmt_lt_product *out, mmt_error *err)
{
    const int input = mmt_lt_stored(p->type), output = mmt_lt_stored(p->out);
    mmt_status status =
        make_layout(call, input, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n,
                    p->ldb, p->batch, p->stride_b, &out->first, err);
    if (!status)
        status =
            make_layout(call, input, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k,
                        p->lda, p->batch, p->stride_a, &out->second, err);
    if (!status)
        status = make_layout(call, output, p->m, p->n, p->ldc, p->batch, p->stride_c,
                             &out->product, err);
    return status;
}

static mmt_status make_descriptor(const struct mmt_lt_functions *call,
                                  const mmt_problem *p, int compute,
                                  struct mmt_lt_product *out, mmt_error *err)
{
    int32_t transposed = MMT_LT_OP_T;

    const bool half =
        compute == MMT_LT_COMPUTE_16F || compute == MMT_LT_COMPUTE_16F_PEDANTIC;

    TRY(cublasLtMatmulDescCreate, &out->descriptor, compute,
        half ? MMT_LT_R_16F : mmt_lt_stored(mmt_type_scalar(p->type)));
    if (p->trans_b)
        TRY(cublasLtMatmulDescSetAttribute, out->descriptor, MMT_LT_DESC_TRANSA,
            &transposed, sizeof transposed);
    if (p->trans_a)
        TRY(cublasLtMatmulDescSetAttribute, out->descriptor, MMT_LT_DESC_TRANSB,
            &transposed, sizeof transposed);
    return MMT_OK;
}

mmt_status mmt_lt_product_make(const struct mmt_lt_functions *functions,
                               const mmt_problem *problem, int compute,
                               struct mmt_lt_product *out, mmt_error *err)
{
    mmt_status status = make_descriptor(functions, problem, compute, out, err);
    return status ? status : make_layouts(functions, problem, out, err);
}

void mmt_lt_product_free(const struct mmt_lt_functions *functions,
                         struct mmt_lt_product *product)
{
    if (product->product)
        functions->cublasLtMatrixLayoutDestroy(product->product);
    if (product->second)
        functions->cublasLtMatrixLayoutDestroy(product->second);
    if (product->first)
        functions->cublasLtMatrixLayoutDestroy(product->first);
    if (product->descriptor)
        functions->cublasLtMatmulDescDestroy(product->descriptor);
    *product = (struct mmt_lt_product){ 0 };
}
