/* CLBlast through its C API, with the parameters that it has for the device. Its types
 * are written out here: no header of it or of OpenCL is needed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mmtune/opencl.h>

#include "device/library.h"
#include "tuner/bench/clblast_tuned.h"
#include "tuner/bench/reference.h"
#include "tuner/verify/session_internal.h"

enum { ROW_MAJOR = 101, AS_STORED = 111, TRANSPOSED = 112 };

struct _cl_event;

#define GEMM(name, real)                                                                 \
    int (*name)(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k,      \
                real alpha, struct _cl_mem *a, size_t a_offset, size_t lda,              \
                struct _cl_mem *b, size_t b_offset, size_t ldb, real beta,               \
                struct _cl_mem *c, size_t c_offset, size_t ldc,                          \
                struct _cl_command_queue **queue, struct _cl_event **event)
#define BATCHED(name, real)                                                              \
    int (*name)(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k,      \
                real alpha, struct _cl_mem *a, size_t a_offset, size_t lda,              \
                size_t stride_a, struct _cl_mem *b, size_t b_offset, size_t ldb,         \
                size_t stride_b, real beta, struct _cl_mem *c, size_t c_offset,          \
                size_t ldc, size_t stride_c, size_t batch,                               \
                struct _cl_command_queue **queue, struct _cl_event **event)

struct functions {
    GEMM(CLBlastSgemm, float);
    GEMM(CLBlastDgemm, double);
    BATCHED(CLBlastSgemmStridedBatched, float);
    BATCHED(CLBlastDgemmStridedBatched, double);
    int (*CLBlastClearCache)(void);
    int (*CLBlastOverrideParameters)(struct _cl_device_id *device, const char *kernel,
                                     int precision, size_t count,
                                     const char *const *names, const size_t *values);
};

static const struct mmt_symbol symbols[] = {
#define FN(name) #name, offsetof(struct functions, name), false
    { FN(CLBlastSgemm) },
    { FN(CLBlastDgemm) },
    { FN(CLBlastSgemmStridedBatched) },
    { FN(CLBlastDgemmStridedBatched) },
    { FN(CLBlastClearCache) },
    { FN(CLBlastOverrideParameters) },
#undef FN
};

struct clblast {
    struct functions call;
    struct _cl_device_id *device;
    struct mmt_session *session;
    char parameters[256]; /* where they come from, for people */
};

static mmt_status open_clblast(mmt_device *device, void **out, mmt_error *err)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    char why[256];

    if (strcmp(caps->backend, "opencl"))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "CLBlast runs on OpenCL devices, and %s is none; `mmtune "
                        "devices` lists those there are",
                        mmt_device_name(device));
    struct clblast *self = calloc(1, sizeof *self);
    if (!self)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for CLBlast");
    if (mmt_library_open("libclblast.so.1", symbols, sizeof symbols / sizeof *symbols,
                         &self->call, why)) {
        self->device = mmt_opencl_device_id(device);
        snprintf(self->parameters, sizeof self->parameters,
                 "its own parameters for the device");
        *out = self;
        return MMT_OK;
    }
    free(self);
    return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                    "CLBlast is not installed (%s): apt-get install libclblast1", why);
}

static mmt_status override_clblast(void *given, const struct mmt_clblast_tuned *tuned,
                                   mmt_error *err)
{
    struct clblast *self = given;
    int code = self->call.CLBlastOverrideParameters(self->device, tuned->kernel,
                                                    tuned->precision, tuned->count,
                                                    tuned->names, tuned->values);
    if (code)
        return mmt_fail_native(err, MMT_ERROR_DEVICE, code,
                               "CLBlast refused the parameters of %s, %d bits, with its "
                               "status code %d",
                               tuned->kernel, tuned->precision, code);
    return MMT_OK;
}

static mmt_status read_tuned(void *given, const char *folder, mmt_error *err)
{
    struct clblast *self = given;
    mmt_status status = mmt_clblast_tuned_each(folder, override_clblast, self, err);
    if (status == MMT_OK)
        snprintf(self->parameters, sizeof self->parameters,
                 "the parameters that its own tuners wrote into %s", folder);
    return status;
}

static const char *refuse_clblast(void *self, const mmt_problem *problem)
{
    return problem->type == MMT_F32 || problem->type == MMT_F64
               ? NULL
               : "CLBlast is compared in f32 and f64 alone";
}

static mmt_status prepare_clblast(void *self, struct mmt_session *session, double seconds,
                                  mmt_error *err)
{
    ((struct clblast *) self)->session = session;
    return MMT_OK;
}

static void forget_clblast(void *self)
{
    ((struct clblast *) self)->session = NULL;
}

/* ---- one product ----------------------------------------------------------------- */

static struct _cl_mem *memory_of(mmt_operand operand)
{
    return (struct _cl_mem *) (uintptr_t) operand.handle;
}

/* The arguments of all four functions, in their order. */
#define PRODUCT                                                                          \
    ROW_MAJOR, p->trans_a ? TRANSPOSED : AS_STORED, p->trans_b ? TRANSPOSED : AS_STORED, \
        (size_t) p->m, (size_t) p->n, (size_t) p->k, 1
#define OPERAND(x, ld)                                                                   \
    memory_of(args->x), args->x.offset / mmt_type_size(p->type), (size_t) p->ld

static int call_gemm(const struct functions *call, const mmt_problem *p,
                     const mmt_args *args, struct _cl_command_queue **queue)
{
    if (p->type == MMT_F32)
        return call->CLBlastSgemm(PRODUCT, OPERAND(a, lda), OPERAND(b, ldb), 0,
                                  OPERAND(c, ldc), queue, NULL);
    return call->CLBlastDgemm(PRODUCT, OPERAND(a, lda), OPERAND(b, ldb), 0,
                              OPERAND(c, ldc), queue, NULL);
}

static int call_batched(const struct functions *call, const mmt_problem *p,
                        const mmt_args *args, struct _cl_command_queue **queue)
{
    size_t a = (size_t) p->stride_a, b = (size_t) p->stride_b, c = (size_t) p->stride_c;

    if (p->type == MMT_F32)
        return call->CLBlastSgemmStridedBatched(PRODUCT, OPERAND(a, lda), a,
                                                OPERAND(b, ldb), b, 0, OPERAND(c, ldc), c,
                                                (size_t) p->batch, queue, NULL);
    return call->CLBlastDgemmStridedBatched(PRODUCT, OPERAND(a, lda), a, OPERAND(b, ldb),
                                            b, 0, OPERAND(c, ldc), c, (size_t) p->batch,
                                            queue, NULL);
}

static mmt_status queue_one(void *given, int way, const mmt_args *args, mmt_queue queue,
                            mmt_error *err)
{
    struct clblast *self = given;
    const mmt_problem *p = &self->session->problem;
    struct _cl_command_queue *cl_queue = (struct _cl_command_queue *) queue;
    int code = p->batch > 1 ? call_batched(&self->call, p, args, &cl_queue)
                            : call_gemm(&self->call, p, args, &cl_queue);

    if (code)
        return mmt_fail_native(err, MMT_ERROR_DEVICE, code,
                               "CLBlast's gemm failed with its status code %d", code);
    return MMT_OK;
}

static void find_file(const struct clblast *self, char out[128])
{
    void *function;
    memcpy(&function, &self->call.CLBlastSgemm, sizeof function);
    mmt_reference_file(function, out);
}

static void describe_clblast(void *given, int way, struct mmt_text *text)
{
    const struct clblast *self = given;
    char file[128];
    if (self->session)
        return;
    find_file(self, file);
    mmt_text_addf(text, "%s, %s", file, self->parameters);
}

/* A shared library of it tells its version by its name alone. */
static void print_clblast_version(void *given, struct mmt_text *text)
{
    static const char stem[] = "libclblast.so.";
    char file[128];
    find_file(given, file);
    const bool known = !strncmp(file, stem, strlen(stem));
    mmt_text_addf(text, "%s %s", mmt_reference_clblast.title,
                  known ? file + strlen(stem) : "of no known version");
}

static void close_clblast(void *self)
{
    ((struct clblast *) self)->call.CLBlastClearCache();
    free(self);
}

const struct mmt_reference mmt_reference_clblast = {
    .name = "clblast",
    .title = "CLBlast",
    .ways = { "clblast" },
    .open = open_clblast,
    .read_tuned = read_tuned,
    .refuse = refuse_clblast,
    .prepare = prepare_clblast,
    .forget = forget_clblast,
    .queue = queue_one,
    .describe = describe_clblast,
    .version = print_clblast_version,
    .close = close_clblast,
};
