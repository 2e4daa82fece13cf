/* cuBLAS and cuBLASLt as programs call them: by their own file, with the workspace that
 * they give, the first algorithm that it takes, their beta and their epilogue.
 *
 * It is column-major: its first operand is our B, its second our A (cublas_lt.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/primary.h"
#include "tuner/bench/caller.h"
#include "tuner/bench/cublas.h"
#include "tuner/bench/cublas_lt.h"
#include "tuner/verify/session_internal.h"

struct cublas {
    struct mmt_primary primary;
    struct mmt_lt_functions lt;
    struct mmt_cublas_functions blas; /* of MMT_CLIENT_CUBLAS alone */
    mmt_device *device;
    struct mmt_lt_handle *lt_handle;
    struct mmt_cublas_handle *handle;
    struct mmt_growing workspace;

    /* The call at hand. */
    struct mmt_session *session;
    const struct mmt_call *call;
    size_t workspace_bytes;
    struct mmt_lt_product product;
    struct mmt_lt_preference *preference;
    struct mmt_lt_heuristic heuristic;
};

#define TRY_OF(table, name, ...)                                                         \
    do {                                                                                 \
        int code_ = self->table.name(__VA_ARGS__);                                       \
        if (code_)                                                                       \
            return mmt_lt_fail(&self->lt, code_, #name, err);                            \
    } while (0)
#define TRY_LT(name, ...)   TRY_OF(lt, name, __VA_ARGS__)
#define TRY_BLAS(name, ...) TRY_OF(blas, name, __VA_ARGS__)

/* ---- the files ------------------------------------------------------------------- */

static const char lt_name[] = "libcublasLt.so", blas_name[] = "libcublas.so";

/* The file beside `path` that has `name` in the place of its own, with the same version
 * behind; "" where `path` is neither library's. */
static void beside(const char *path, const char *name, char out[300])
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    const char *version =
        !strncmp(file, lt_name, strlen(lt_name))       ? file + strlen(lt_name)
        : !strncmp(file, blas_name, strlen(blas_name)) ? file + strlen(blas_name)
                                                       : NULL;
    out[0] = 0;
    if (version)
        snprintf(out, 300, "%.*s%s%s", (int) (file - path), path, name, version);
}

/* The newest that the loader finds. */
static mmt_status open_usual_blas(struct cublas *self, mmt_error *err)
{
    static const char *const files[] = {
        "libcublas.so.13",
        "libcublas.so.12",
        "libcublas.so.11",
        "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12",
    };
    char why[256] = "";
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (mmt_cublas_open_file(files[i], &self->blas, why))
            return MMT_OK;
    return mmt_fail(
        err, MMT_ERROR_NOT_FOUND,
        "cuBLAS is not installed (%s): install libcublas of CUDA 11 or newer, "
        "or name its folder in LD_LIBRARY_PATH",
        why);
}

/* cuBLASLt first: cuBLAS then takes the one that is open. */
static bool open_own(struct cublas *self, const char *path, bool handle, char why[256])
{
    char file[300];
    beside(path, lt_name, file);
    if (!mmt_lt_open_file(*file ? file : path, &self->lt, why))
        return false;
    beside(path, blas_name, file);
    return !handle || mmt_cublas_open_file(*file ? file : path, &self->blas, why);
}

static mmt_status open_files(struct cublas *self, const char *path, bool handle,
                             char note[256], mmt_error *err)
{
    char why[256] = "";
    unsetenv(
        "NVIDIA_TF32_OVERRIDE"); /* it would turn f32 into tf32: a call says itself */
    note[0] = 0;
    if (*path && open_own(self, path, handle, why))
        return MMT_OK;
    if (*path)
        snprintf(note, 256,
                 "the program's own '%.100s' does not open (%.80s); another "
                 "cuBLAS is timed",
                 path, why);
    mmt_status status = mmt_lt_open(&self->lt, err);
    return !status && handle ? open_usual_blas(self, err) : status;
}

/* ---- opening --------------------------------------------------------------------- */

static void forget_call(void *given)
{
    struct cublas *self = given;
    if (self->preference)
        self->lt.cublasLtMatmulPreferenceDestroy(self->preference);
    mmt_lt_product_free(&self->lt, &self->product);
    self->preference = NULL;
    self->session = NULL;
    self->call = NULL;
}

static void close_cublas(void *given)
{
    struct cublas *self = given;
    forget_call(self);
    if (self->handle)
        self->blas.cublasDestroy_v2(self->handle);
    if (self->lt_handle)
        self->lt.cublasLtDestroy(self->lt_handle);
    if (self->workspace.memory.handle)
        mmt_buffer_free(self->device, self->workspace.memory);
    mmt_primary_leave(&self->primary);
    free(self);
}

static mmt_status start(struct cublas *self, const char *path, bool handle,
                        char note[256], mmt_error *err)
{
    int ordinal;
    if (sscanf(self->device->id, "cuda:%d", &ordinal) != 1)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "cuBLAS runs on CUDA devices, and %s is none; `mmtune devices` "
                        "lists those there are",
                        mmt_device_name(self->device));
    mmt_status status = open_files(self, path, handle, note, err);
    if (!status)
        status = mmt_primary_enter(&self->primary, ordinal, err);
    if (status)
        return status;
    if (handle)
        TRY_BLAS(cublasCreate_v2, &self->handle);
    else
        TRY_LT(cublasLtCreate, &self->lt_handle);
    return MMT_OK;
}

static mmt_status open_either(mmt_device *device, const char *path, bool handle,
                              void **out, char note[256], mmt_error *err)
{
    struct cublas *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for cuBLAS");
    self->device = device;
    mmt_status status = start(self, path, handle, note, err);
    if (!status)
        *out = self;
    else
        close_cublas(self);
    return status;
}

static mmt_status open_cublas(mmt_device *device, const char *path, void **out,
                              char note[256], mmt_error *err)
{
    return open_either(device, path, true, out, note, err);
}

static mmt_status open_cublaslt(mmt_device *device, const char *path, void **out,
                                char note[256], mmt_error *err)
{
    return open_either(device, path, false, out, note, err);
}

static void version_of(void *self, char out[48])
{
    mmt_call_cublas_name(((struct cublas *) self)->lt.cublasLtGetVersion(), out);
}

/* ---- one call -------------------------------------------------------------------- */

static size_t own_workspace(const struct mmt_call *call)
{
    return call->workspace ? call->workspace : MMT_CUBLAS_OWN_WORKSPACE;
}

static size_t given_workspace(const struct mmt_call *call)
{
    return call->workspace;
}

static void *address_of(mmt_operand operand)
{
    return (void *) (uintptr_t) (operand.handle + operand.offset);
}

/* alpha = 1 and the call's beta, in the type of scalars: f16 where that is accumulated
 * in. */
static void write_scalars(const struct cublas *self, double *alpha, double *beta)
{
    const mmt_type type =
        self->call->compute ? MMT_F16 : mmt_type_scalar(self->session->problem.type);
    mmt_number_write(type, 1, alpha);
    mmt_number_write(type, self->call->adds, beta);
}

static mmt_status refuse(const struct mmt_session *session, bool handle, mmt_error *err)
{
    const mmt_problem *p = &session->problem;
    const char *why = mmt_lt_refuse_type(p);
    if (p->op != MMT_GEMM)
        why = "cuBLAS has products alone";
    else if (mmt_type_in(p->type, MMT_F8_TYPES))
        why = "f8 is not called here, since it has scales";
    else if (handle && (p->bias || p->activation))
        why = "cublasGemmEx has no epilogue";
    else if (p->bias == MMT_BIAS_M)
        why = "cuBLASLt's bias has a value for each of our columns";
    else if (p->activation == MMT_GELU || p->activation == MMT_SILU)
        why = "cuBLASLt has no such activation; its GELU is the one by tanh";
    return why ? mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s", why) : MMT_OK;
}

static mmt_status begin_call(struct cublas *self, struct mmt_session *session,
                             const struct mmt_call *call, bool handle, mmt_error *err)
{
    self->session = session;
    self->call = call;
    self->workspace_bytes = mmt_call_library_workspace(call);
    mmt_status status = refuse(session, handle, err);
    return status
               ? status
               : mmt_session_grow(session, &self->workspace, self->workspace_bytes, err);
}

/* By which cublasLt computes the call. */
static int lt_compute(const struct mmt_call *call)
{
    return call->compute == MMT_COMPUTE_16F ? MMT_LT_COMPUTE_16F
           : call->compute == MMT_COMPUTE_16F_PEDANTIC
               ? MMT_LT_COMPUTE_16F_PEDANTIC
               : mmt_lt_compute(call->problem.type);
}

/* And a handle: tf32 is f32 in a math mode. */
static int handle_compute(const struct mmt_call *call)
{
    return call->problem.type == MMT_TF32 ? MMT_LT_COMPUTE_32F : lt_compute(call);
}

/* ---- by a handle ----------------------------------------------------------------- */

/* A function of the type's own that computes the same; recordings do not tell which was
 * called. */
static bool has_own(const struct mmt_call *call)
{
    const mmt_problem *p = &call->problem;
    return (p->batch == 1 || p->batch_by == MMT_BY_POINTERS) &&
           (p->type == MMT_F32 || p->type == MMT_F64 || call->compute == MMT_COMPUTE_16F);
}

static mmt_status prepare_cublas(void *given, struct mmt_session *session,
                                 const struct mmt_call *call, int *ways, mmt_error *err)
{
    struct cublas *self = given;
    const mmt_problem *p = &session->problem;
    mmt_status status = begin_call(self, session, call, true, err);
    if (status)
        return status;
    TRY_BLAS(cublasSetStream_v2, self->handle, session->queue);
    TRY_BLAS(cublasSetWorkspace_v2, self->handle, address_of(self->workspace.memory),
             self->workspace_bytes);
    TRY_BLAS(cublasSetMathMode, self->handle,
             p->type == MMT_TF32 ? MMT_CUBLAS_TF32_MATH : 0);
    *ways = has_own(call) ? 2 : 1;
    return MMT_OK;
}

static mmt_status queue_general(struct cublas *self, const mmt_args *args,
                                const double *alpha, const double *beta, mmt_error *err)
{
    const mmt_problem *p = &self->session->problem;
    const int input = mmt_lt_stored(p->type), output = mmt_lt_stored(p->out);
    if (p->batch_by == MMT_BY_POINTERS)
        TRY_BLAS(cublasGemmBatchedEx, self->handle, p->trans_b, p->trans_a, (int) p->n,
                 (int) p->m, (int) p->k, alpha, address_of(args->b), input, (int) p->ldb,
                 address_of(args->a), input, (int) p->lda, beta, address_of(args->c),
                 output, (int) p->ldc, (int) p->batch, handle_compute(self->call),
                 MMT_CUBLAS_DEFAULT_ALGO);
    else if (p->batch == 1)
        TRY_BLAS(cublasGemmEx, self->handle, p->trans_b, p->trans_a, (int) p->n,
                 (int) p->m, (int) p->k, alpha, address_of(args->b), input, (int) p->ldb,
                 address_of(args->a), input, (int) p->lda, beta, address_of(args->c),
                 output, (int) p->ldc, handle_compute(self->call),
                 MMT_CUBLAS_DEFAULT_ALGO);
    else
        TRY_BLAS(cublasGemmStridedBatchedEx, self->handle, p->trans_b, p->trans_a,
                 (int) p->n, (int) p->m, (int) p->k, alpha, address_of(args->b), input,
                 (int) p->ldb, p->stride_b, address_of(args->a), input, (int) p->lda,
                 p->stride_a, beta, address_of(args->c), output, (int) p->ldc,
                 p->stride_c, (int) p->batch, handle_compute(self->call),
                 MMT_CUBLAS_DEFAULT_ALGO);
    return MMT_OK;
}

static mmt_status queue_own(struct cublas *self, const mmt_args *args,
                            const double *alpha, const double *beta, mmt_error *err)
{
    const mmt_problem *p = &self->session->problem;
    if (p->type == MMT_F64)
        TRY_BLAS(cublasDgemm_v2, self->handle, p->trans_b, p->trans_a, (int) p->n,
                 (int) p->m, (int) p->k, alpha, address_of(args->b), (int) p->ldb,
                 address_of(args->a), (int) p->lda, beta, address_of(args->c),
                 (int) p->ldc);
    else if (p->type == MMT_F16)
        TRY_BLAS(cublasHgemm, self->handle, p->trans_b, p->trans_a, (int) p->n,
                 (int) p->m, (int) p->k, alpha, address_of(args->b), (int) p->ldb,
                 address_of(args->a), (int) p->lda, beta, address_of(args->c),
                 (int) p->ldc);
    else
        TRY_BLAS(cublasSgemm_v2, self->handle, p->trans_b, p->trans_a, (int) p->n,
                 (int) p->m, (int) p->k, (const float *) alpha, address_of(args->b),
                 (int) p->ldb, address_of(args->a), (int) p->lda, (const float *) beta,
                 address_of(args->c), (int) p->ldc);
    return MMT_OK;
}

#define TRY_BATCHED(name)                                                                \
    TRY_BLAS(name, self->handle, p->trans_b, p->trans_a, (int) p->n, (int) p->m,         \
             (int) p->k, (const void *) alpha, address_of(args->b), (int) p->ldb,        \
             address_of(args->a), (int) p->lda, (const void *) beta,                     \
             address_of(args->c), (int) p->ldc, (int) p->batch)

static mmt_status queue_own_batched(struct cublas *self, const mmt_args *args,
                                    const double *alpha, const double *beta,
                                    mmt_error *err)
{
    const mmt_problem *p = &self->session->problem;
    if (p->type == MMT_F64)
        TRY_BATCHED(cublasDgemmBatched);
    else if (p->type == MMT_F16)
        TRY_BATCHED(cublasHgemmBatched);
    else
        TRY_BATCHED(cublasSgemmBatched);
    return MMT_OK;
}

static mmt_status queue_cublas(void *given, int way, const mmt_args *args,
                               mmt_queue queue, mmt_error *err)
{
    struct cublas *self = given;
    double alpha = 0, beta = 0;
    write_scalars(self, &alpha, &beta);
    if (way && self->session->problem.batch_by == MMT_BY_POINTERS)
        return queue_own_batched(self, args, &alpha, &beta, err);
    return way ? queue_own(self, args, &alpha, &beta, err)
               : queue_general(self, args, &alpha, &beta, err);
}

/* ---- by cuBLASLt ----------------------------------------------------------------- */

static mmt_status set_epilogue(struct cublas *self, mmt_error *err)
{
    const mmt_problem *p = &self->session->problem;
    const uint32_t epilogue = (p->bias ? MMT_LT_EPILOGUE_BIAS : 0) |
                              (p->activation == MMT_RELU        ? MMT_LT_EPILOGUE_RELU
                               : p->activation == MMT_GELU_TANH ? MMT_LT_EPILOGUE_GELU
                                                                : 0);
    const void *bias = address_of(self->session->bias);
    if (!epilogue)
        return MMT_OK;
    TRY_LT(cublasLtMatmulDescSetAttribute, self->product.descriptor, MMT_LT_DESC_EPILOGUE,
           &epilogue, sizeof epilogue);
    if (p->bias)
        TRY_LT(cublasLtMatmulDescSetAttribute, self->product.descriptor, MMT_LT_DESC_BIAS,
               &bias, sizeof bias);
    return MMT_OK;
}

/* The first that it proposes, which is what programs take. */
static mmt_status ask_first(struct cublas *self, mmt_error *err)
{
    const struct mmt_lt_product *p = &self->product;
    const uint64_t workspace = self->workspace_bytes;
    int found = 0;
    TRY_LT(cublasLtMatmulPreferenceCreate, &self->preference);
    TRY_LT(cublasLtMatmulPreferenceSetAttribute, self->preference, MMT_LT_PREF_WORKSPACE,
           &workspace, sizeof workspace);
    TRY_LT(cublasLtMatmulAlgoGetHeuristic, self->lt_handle, p->descriptor, p->first,
           p->second, p->product, p->product, self->preference, 1, &self->heuristic,
           &found);
    return found && !self->heuristic.state
               ? MMT_OK
               : mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                          "cuBLASLt proposes no algorithm for this problem");
}

static mmt_status prepare_cublaslt(void *given, struct mmt_session *session,
                                   const struct mmt_call *call, int *ways, mmt_error *err)
{
    struct cublas *self = given;
    mmt_status status = begin_call(self, session, call, false, err);
    if (!status)
        status = mmt_lt_product_make(&self->lt, &session->problem, lt_compute(call),
                                     &self->product, err);
    if (!status)
        status = set_epilogue(self, err);
    *ways = 1;
    return status ? status : ask_first(self, err);
}

static mmt_status queue_cublaslt(void *given, int way, const mmt_args *args,
                                 mmt_queue queue, mmt_error *err)
{
    struct cublas *self = given;
    const struct mmt_lt_product *p = &self->product;
    double alpha = 0, beta = 0;
    write_scalars(self, &alpha, &beta);
    TRY_LT(cublasLtMatmul, self->lt_handle, p->descriptor, &alpha, address_of(args->b),
           p->first, address_of(args->a), p->second, &beta, address_of(args->c),
           p->product, address_of(args->c), p->product, self->heuristic.algorithm,
           self->workspace_bytes ? address_of(self->workspace.memory) : NULL,
           self->workspace_bytes, queue);
    return MMT_OK;
}

/* ---- the rows -------------------------------------------------------------------- */

const struct mmt_caller mmt_caller_cublas = {
    .client = MMT_CLIENT_CUBLAS,
    .title = "cuBLAS",
    .open = open_cublas,
    .version = version_of,
    .workspace = own_workspace,
    .prepare = prepare_cublas,
    .forget = forget_call,
    .queue = queue_cublas,
    .close = close_cublas,
};

const struct mmt_caller mmt_caller_cublaslt = {
    .client = MMT_CLIENT_CUBLASLT,
    .title = "cuBLASLt",
    .open = open_cublaslt,
    .version = version_of,
    .workspace = given_workspace,
    .prepare = prepare_cublaslt,
    .forget = forget_call,
    .queue = queue_cublaslt,
    .close = close_cublas,
};
