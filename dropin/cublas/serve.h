/* Serving one call: by the plan that its slot has, or by the library. */
#ifndef MMT_DROPIN_CUBLAS_SERVE_H
#define MMT_DROPIN_CUBLAS_SERVE_H

#include "dropin/cublas/served.h"

/* A call as it arrived. */
struct mmt_request {
    struct mmt_gemm gemm; /* but for `adds`, which is found out */
    enum mmt_client client;
    int math;        /* cublasMath_t of the handle */
    int scale;       /* cudaDataType of alpha and beta; -1: unknown */
    int pointers;    /* where alpha and beta are: CUBLAS_ON_HOST, CUBLAS_ON_DEVICE, or
                      * vectors of them */
    const char *why; /* a feature that was seen already; "": for the library; NULL */
    const void *alpha, *beta;
    const void *bias;
    void *handle; /* cuBLAS's, whose stream is asked for; NULL: `stream` holds */
    void *stream;
    void *context;                  /* the handle's; NULL: unknown, or it has none */
    struct mmt_workspace workspace; /* that the caller gave */

    /* Calls the library's own function; `out` stands in the place of C. */
    int (*pass)(const struct mmt_request *request, void *out);
    const void *original; /* the arguments, for `pass` */
};

/* Serves it; returns a cublasStatus_t. */
int mmt_serve(struct mmt_request *request);

/* Around a product that is the library's alone: counts it by `why`, and keeps it apart
 * from ours with the handle's workspace, which the first returns for the second. */
uint64_t mmt_serve_enter(void *handle, const char *why);
void mmt_serve_leave(uint64_t workspace);

/* Whether this thread is inside the library already, whose own calls pass. */
bool mmt_serve_is_nested(void);

/* ---- check.c --------------------------------------------------------------------- */

/* Computes a request by the library into a copy of C, then by ours into C, waits for
 * both, and says on standard error how far they are apart: of the first of a kind, and
 * where that is too far. Returns the status of ours; MMT_ERROR_MEMORY where there is none
 * for the copy, and nothing was done. */
mmt_status mmt_check_call(const struct mmt_served *served, struct mmt_slot *slot,
                          const struct mmt_request *request, const mmt_plan *plan,
                          const mmt_args *args, bool first);

/* ---- ranges.c -------------------------------------------------------------------- */

/* An NVTX range in this thread, where the library of NVTX is there; else it is told once
 * on standard error. */
void mmt_range_push(const char *label);
void mmt_range_pop(void);

#endif
