/* Calls: which product a program asked a library for, and what became of it.
 *
 * Programs that were written for another library are recorded, tuned and served by these:
 * recording/ writes them down, a profile's verdicts say whose kernel is faster, and
 * dropin/ sends each call there. */
#ifndef MMT_BASE_CALL_H
#define MMT_BASE_CALL_H

#include <stdbool.h>

#include "base/problem.h"
#include "base/text.h"

/* Whom the program asked. */
enum mmt_client {
    MMT_CLIENT_MMTUNE,   /* this library: plans that no entry of a profile serves */
    MMT_CLIENT_CUBLAS,   /* cublasGemmEx, cublasSgemm_v2 and the like */
    MMT_CLIENT_CUBLASLT, /* cublasLtMatmul */
    MMT_CLIENT_BLAS,     /* sgemm and dgemm of Fortran: matrices in host memory */
};
enum { MMT_NUM_CLIENTS = MMT_CLIENT_BLAS + 1 };

/* What the program lets its library accumulate in, where that is less than usual for the
 * type: f16 by CUBLAS_COMPUTE_16F or _16F_PEDANTIC, whose alpha and beta are f16, too.
 * The library has other kernels for these. Ours accumulate in f32 all the same. */
enum mmt_compute { MMT_COMPUTE_USUAL, MMT_COMPUTE_16F, MMT_COMPUTE_16F_PEDANTIC };
enum { MMT_NUM_COMPUTES = MMT_COMPUTE_16F_PEDANTIC + 1 };

/* What a program asked for, as far as a kernel's time and its right to serve depend on
 * it. Zero all of it before filling it in: calls are hashed as bytes are. */
struct mmt_call {
    enum mmt_client client;
    mmt_problem problem; /* row-major and normalised */
    bool adds;           /* beta is not 0; false where it lies in device memory */
    enum mmt_compute compute;
    size_t alignment; /* bytes that A, B and C begin at multiples of, a power of 2, where
                       * that is less than 16, and no less than their elements; 0: 16 */
    size_t workspace; /* bytes that the caller gave its library for this; of several
                       * calls the least; 0: none, the library takes its own */
    size_t most_workspace; /* of several the most, where that is more; else 0 */
};

/* Bytes of workspace that cuBLAS takes for a handle that was given none. */
enum { MMT_CUBLAS_OWN_WORKSPACE = 32 << 20 };

/* What became of a call. */
enum mmt_fate {
    MMT_FATE_TAKEN = 0, /* ours computed it; the others passed to the library: */
    MMT_FATE_RECORDED,  /* nothing is taken over while recording */
    MMT_FATE_UNKNOWN,   /* no verdict: it was not tuned */
    MMT_FATE_SLOWER,    /* the library is faster, or as fast */
    MMT_FATE_STALE,     /* the verdict is of another driver or library version */
    MMT_FATE_NOT_READY, /* its plan was still being made */
    MMT_FATE_FAILED,    /* its plan could not be made */
    MMT_FATE_WORKSPACE, /* ours needs more workspace than there is */
    MMT_FATE_ALIGNMENT, /* an operand begins at no multiple of 16 bytes, where the library
                         * is faster, or as fast */
    MMT_FATE_POINTERS,  /* scalars of f16 or vectors of scalars in device memory */
    MMT_FATE_FEATURE,   /* something else that we have not; never recorded as a call */
    MMT_FATE_CONTEXT, /* another context than the device's primary one, or the handle's */
    MMT_FATE_CHILD,   /* in a child of a process that was served, which is not */
};
enum { MMT_NUM_FATES = MMT_FATE_CHILD + 1 };

/* "cublas", "cublaslt", …; and back, or -1. */
const char *mmt_client_name(enum mmt_client client);
int mmt_client_parse(const char *name);

/* "usual", "16f", "16f_pedantic"; and back, or -1. */
const char *mmt_compute_name(enum mmt_compute compute);
int mmt_compute_parse(const char *name);

/* Adds who was asked, and how: "cublas", "cublaslt, 16f, beta". */
void mmt_call_print_caller(const struct mmt_call *call, struct mmt_text *text);

/* "taken", "no verdict", …: short words for tables; and back, or -1. */
const char *mmt_fate_name(enum mmt_fate fate);
int mmt_fate_parse(const char *name);

/* Bytes of workspace that the library has, of several calls at most. */
size_t mmt_call_library_workspace(const struct mmt_call *call);

/* Widens what a call says of workspaces by another's of its kind. */
void mmt_call_add_workspace(struct mmt_call *sum, const struct mmt_call *call);

/* Bytes behind a multiple of 16 at which an operand of such elements may begin; whether a
 * number of bytes is an alignment. */
size_t mmt_call_offset(const struct mmt_call *call, size_t element);
bool mmt_call_may_align(size_t bytes);

/* The call's problem, or where its operands begin at less than multiples of 16 bytes one
 * whose rows do: what is fast there needs no more alignment than the call has. */
mmt_problem mmt_call_stand_in(const struct mmt_call *call);

/* Whether two calls are of one kind: all but the workspaces is the same. */
bool mmt_call_equal(const struct mmt_call *a, const struct mmt_call *b);

/* For tables of calls; equal calls have equal ones. */
uint64_t mmt_call_hash(const struct mmt_call *call);

/* How cuBLAS is named with its version, by what cublasLtGetVersion and
 * cublasGetVersion_v2 answer: "cuBLAS 13.1.0". The same everywhere: it is compared. */
void mmt_call_cublas_name(size_t version, char out[48]);

#endif
