/* The child process that computes and times products by OpenBLAS, asked by messages over
 * a socket. */
#include "tuner/bench/openblas_child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "device/library.h"
#include "tuner/verify/data.h"
#include "tuner/common/child.h"
#include "tuner/common/options.h"

enum { ROW_MAJOR = 101, AS_STORED = 111, TRANSPOSED = 112 };
enum { PAGE = 4096 };

struct functions {
    void (*cblas_sgemm)(int order, int trans_a, int trans_b, int m, int n, int k,
                        float alpha, const float *a, int lda, const float *b, int ldb,
                        float beta, float *c, int ldc);
    void (*cblas_dgemm)(int order, int trans_a, int trans_b, int m, int n, int k,
                        double alpha, const double *a, int lda, const double *b, int ldb,
                        double beta, double *c, int ldc);
    char *(*openblas_get_config)(void);
    char *(*openblas_get_corename)(void);
    int (*openblas_get_num_threads)(void);
};

static const struct mmt_symbol symbols[] = {
#define FN(name) #name, offsetof(struct functions, name), false
    { FN(cblas_sgemm) },
    { FN(cblas_dgemm) },
    { FN(openblas_get_config) },
    { FN(openblas_get_corename) },
    { FN(openblas_get_num_threads) },
#undef FN
};

struct child {
    struct functions call;
    struct mmt_openblas_request now; /* what was prepared */
    char *a, *b, *c;
};

/* ---- computing ------------------------------------------------------------------- */

static void call_gemm(const struct functions *call, const mmt_problem *p, const void *a,
                      const void *b, void *c)
{
    int trans_a = p->trans_a ? TRANSPOSED : AS_STORED;
    int trans_b = p->trans_b ? TRANSPOSED : AS_STORED;
    int m = (int) p->m, n = (int) p->n, k = (int) p->k;
    int lda = (int) p->lda, ldb = (int) p->ldb, ldc = (int) p->ldc;

    if (p->type == MMT_F32)
        call->cblas_sgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, 1, a, lda, b, ldb, 0, c,
                          ldc);
    else
        call->cblas_dgemm(ROW_MAJOR, trans_a, trans_b, m, n, k, 1, a, lda, b, ldb, 0, c,
                          ldc);
}

/* OpenBLAS has no batches: a program calls it for each matrix. */
static void multiply_copy(const struct child *child, int64_t number)
{
    const struct mmt_openblas_request *now = &child->now;
    const mmt_problem *p = &now->problem;
    size_t copy = (size_t) (number % now->copies), element = mmt_type_size(p->type);

    for (size_t z = 0; z < (size_t) p->batch; z++)
        call_gemm(&child->call, p,
                  child->a + copy * now->pitch_a + z * (size_t) p->stride_a * element,
                  child->b + copy * now->pitch_b + z * (size_t) p->stride_b * element,
                  child->c + copy * now->pitch_c + z * (size_t) p->stride_c * element);
}

/* The first of several wakes the threads and is not counted. */
static void run_request(const struct child *child,
                        const struct mmt_openblas_request *request,
                        struct mmt_openblas_reply *reply)
{
    if (request->count > 1)
        multiply_copy(child, request->first);
    double start = mmt_now();
    for (int64_t i = 0; i < request->count; i++)
        multiply_copy(child, request->first + i);
    reply->seconds = mmt_now() - start;
    mmt_child_rest();
}

/* ---- memory ---------------------------------------------------------------------- */

static void no_memory(struct mmt_openblas_reply *reply)
{
    reply->status = MMT_ERROR_MEMORY;
    snprintf(reply->text, sizeof reply->text, "no memory left for OpenBLAS's operands");
}

static void *allocate_bytes(size_t bytes)
{
    return aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
}

static bool make_room(struct child *child, const struct mmt_openblas_request *request)
{
    size_t copies = (size_t) request->copies;

    free(child->a);
    free(child->b);
    free(child->c);
    child->now = *request;
    child->a = allocate_bytes(copies * request->pitch_a);
    child->b = allocate_bytes(copies * request->pitch_b);
    child->c = allocate_bytes(copies * request->pitch_c);
    if (child->c)
        memset(child->c, 0xff, copies * request->pitch_c);
    return child->a && child->b && child->c;
}

/* Where memory is short, what follows the request cannot be read past, so the child
 * says so and ends. False where that, or the parent's end, is the end. */
static bool prepare_operands(struct child *child,
                             const struct mmt_openblas_request *request,
                             struct mmt_openblas_reply *reply)
{
    size_t copies = (size_t) request->copies;

    if (!make_room(child, request)) {
        no_memory(reply);
        mmt_child_send(MMT_CHILD_FD, reply, sizeof *reply);
        return false;
    }
    return mmt_child_receive(MMT_CHILD_FD, child->a, copies * request->pitch_a) &&
           mmt_child_receive(MMT_CHILD_FD, child->b, copies * request->pitch_b);
}

/* ---- how fast this core type is -------------------------------------------------- */

static void probe_type(const struct child *child, mmt_type type,
                       struct mmt_openblas_reply *reply)
{
    mmt_problem p,
        plain = mmt_gemm_problem(type, MMT_OPENBLAS_PROBE_SIDE, MMT_OPENBLAS_PROBE_SIDE,
                                 MMT_OPENBLAS_PROBE_SIDE);
    mmt_problem_normalise(&plain, &p, NULL);
    struct mmt_data data = { type, 1, 0, 0 };
    size_t elements = (size_t) mmt_problem_extent_a(&p);
    size_t bytes = elements * mmt_type_size(type);
    char *a = allocate_bytes(bytes), *b = allocate_bytes(bytes),
         *c = allocate_bytes(bytes);

    if (a && b && c) {
        mmt_data_fill(&data, 0, a, elements);
        mmt_data_fill(&data, elements, b, elements);
        call_gemm(&child->call, &p, a, b, c);
        double start = mmt_now();
        call_gemm(&child->call, &p, a, b, c);
        reply->seconds = mmt_now() - start;
        mmt_child_rest();
    } else {
        no_memory(reply);
    }
    free(a);
    free(b);
    free(c);
}

/* ---- the verb -------------------------------------------------------------------- */

static void load_openblas(struct child *child, struct mmt_openblas_reply *reply)
{
    static const char *const files[] = {
        "libopenblas.so.0",
        "libopenblasp.so.0",
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib64/libopenblas.so.0",
    };
    char version[32] = "", why[256];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!mmt_library_open(files[i], symbols, sizeof symbols / sizeof *symbols,
                              &child->call, why))
            continue;
        const char *config = child->call.openblas_get_config();
        if (sscanf(config, "OpenBLAS %31s", version) != 1)
            snprintf(version, sizeof version, "of no known version");
        snprintf(reply->core, sizeof reply->core, "%s",
                 child->call.openblas_get_corename());
        snprintf(reply->text, sizeof reply->text, "OpenBLAS %s, %d threads", version,
                 child->call.openblas_get_num_threads());
        return;
    }
    reply->status = MMT_ERROR_NOT_FOUND;
    snprintf(reply->text, sizeof reply->text,
             "OpenBLAS is not installed (%.120s): apt-get install libopenblas0-pthread",
             why);
}

static bool answer_request(struct child *child,
                           const struct mmt_openblas_request *request)
{
    const mmt_problem *p = &request->problem;
    struct mmt_openblas_reply reply = { MMT_OK };

    switch (request->what) {
    case MMT_OPENBLAS_PROBE:
        probe_type(child, p->type, &reply);
        break;
    case MMT_OPENBLAS_PREPARE:
        if (!prepare_operands(child, request, &reply))
            return false;
        break;
    case MMT_OPENBLAS_RUN:
        run_request(child, request, &reply);
        break;
    case MMT_OPENBLAS_RESULT:
        break;
    }
    if (!mmt_child_send(MMT_CHILD_FD, &reply, sizeof reply))
        return false;
    size_t bytes = (size_t) mmt_problem_extent_c(p) * mmt_type_size(p->type);
    return request->what != MMT_OPENBLAS_RESULT ||
           mmt_child_send(MMT_CHILD_FD, child->c, bytes);
}

int mmt_verb_openblas(int argc, char **argv)
{
    struct child child = { 0 };
    struct mmt_openblas_request request;
    struct mmt_openblas_reply ready = { MMT_OK };

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that hangs hears no end of its socket */
    load_openblas(&child, &ready);
    if (!mmt_child_send(MMT_CHILD_FD, &ready, sizeof ready) || ready.status)
        return MMT_EXIT_FAILED;
    while (mmt_child_receive(MMT_CHILD_FD, &request, sizeof request))
        if (!answer_request(&child, &request))
            return MMT_EXIT_FAILED;
    return MMT_EXIT_DONE;
}
