/* The child process that times a program's BLAS on operands in shared memory, asked by
 * messages over a socket. */
#include "tuner/bench/blas_child.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/type.h"
#include "dropin/blas/library.h"
#include "tuner/common/child.h"
#include "tuner/common/options.h"

enum { PAGE = 4096, BEHIND_A_PAGE = 16 };

struct child {
    mmt_fortran_gemm *sgemm, *dgemm;
    char *memory;
    size_t size; /* that is mapped */
};

struct mmt_blas_memory mmt_blas_memory_of(const mmt_problem *problem, int64_t copies)
{
    const int64_t extents[3] = { mmt_problem_extent_a(problem),
                                 mmt_problem_extent_b(problem),
                                 mmt_problem_extent_c(problem) };
    struct mmt_blas_memory memory = { .size = 0 };

    for (int i = 0; i < 3; i++) {
        const size_t bytes = (size_t) extents[i] * mmt_type_size(problem->type);
        memory.bytes[i] = bytes;
        memory.pitch[i] = (BEHIND_A_PAGE + bytes + PAGE - 1) / PAGE * PAGE;
        memory.first[i] = memory.size + BEHIND_A_PAGE;
        memory.size += (size_t) copies * memory.pitch[i];
    }
    return memory;
}

/* ---- the library ----------------------------------------------------------------- */

static bool load(struct child *child, const char *file, struct mmt_blas_reply *reply)
{
    char path[256];
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (handle) {
        child->sgemm = (mmt_fortran_gemm *) (uintptr_t) dlsym(handle, "sgemm_");
        child->dgemm = (mmt_fortran_gemm *) (uintptr_t) dlsym(handle, "dgemm_");
    }
    if (!child->sgemm || !child->dgemm) {
        snprintf(reply->text, sizeof reply->text, "%s: %.200s",
                 handle ? "it has no sgemm_ and dgemm_" : "it does not open",
                 handle ? file : dlerror());
        return false;
    }
    mmt_blas_path((const void *) (uintptr_t) child->sgemm, path);
    mmt_blas_name(path, reply->name);
    return true;
}

/* The program's file, else the one that programs are usually linked with. */
static void load_any(struct child *child, const char *file, struct mmt_blas_reply *reply)
{
    struct mmt_blas_reply first = { MMT_OK };

    if (*file && load(child, file, &first)) {
        *reply = first;
        return;
    }
    if (!load(child, "libblas.so.3", reply))
        reply->status = MMT_ERROR_NOT_FOUND;
    else if (*file)
        snprintf(reply->text, sizeof reply->text, "%.240s", first.text);
}

/* ---- products -------------------------------------------------------------------- */

/* Row-major: A and B change places. */
static void multiply(const struct child *child, const struct mmt_blas_request *now,
                     const struct mmt_blas_memory *memory, int64_t number)
{
    const mmt_problem *p = &now->problem;
    const int64_t copy = number % now->copies;
    const int m = (int) p->m, n = (int) p->n, k = (int) p->k;
    const int lda = (int) p->lda, ldb = (int) p->ldb, ldc = (int) p->ldc;
    const float one_f32 = 1, beta_f32 = (float) now->beta;
    const double one_f64 = 1, beta_f64 = now->beta;
    const bool single = p->type == MMT_F32;

    (single ? child->sgemm
            : child->dgemm)(p->trans_b ? "T" : "N", p->trans_a ? "T" : "N", &n, &m, &k,
                            single ? (const void *) &one_f32 : &one_f64,
                            mmt_blas_operand(child->memory, memory, 1, copy), &ldb,
                            mmt_blas_operand(child->memory, memory, 0, copy), &lda,
                            single ? (const void *) &beta_f32 : &beta_f64,
                            mmt_blas_operand(child->memory, memory, 2, copy), &ldc, 1, 1);
}

static bool map_memory(struct child *child, size_t size)
{
    if (child->size == size)
        return true;
    if (child->size)
        munmap(child->memory, child->size);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        MMT_CHILD_MEMORY_FD, 0);
    child->memory = memory == MAP_FAILED ? NULL : memory;
    child->size = child->memory ? size : 0;
    return child->memory;
}

static void answer(struct child *child, const struct mmt_blas_request *request,
                   struct mmt_blas_reply *reply)
{
    const struct mmt_blas_memory memory =
        mmt_blas_memory_of(&request->problem, request->copies);

    if (!map_memory(child, memory.size)) {
        reply->status = MMT_ERROR_MEMORY;
        snprintf(reply->text, sizeof reply->text, "no memory left for the operands");
        return;
    }
    if (request->count > 1)
        multiply(child, request, &memory, request->copy);
    const double start = mmt_now();
    for (int64_t i = 0; i < request->count; i++)
        multiply(child, request, &memory, request->copy + i);
    reply->seconds = mmt_now() - start;
    mmt_child_rest();
}

int mmt_verb_blas(int argc, char **argv)
{
    struct child child = { 0 };
    struct mmt_blas_request request;
    struct mmt_blas_reply hello = { MMT_OK };

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that hangs hears no end of its socket */
    load_any(&child, argc > 1 ? argv[1] : "", &hello);
    if (!mmt_child_send(MMT_CHILD_FD, &hello, sizeof hello) || hello.status)
        return MMT_EXIT_FAILED;
    while (mmt_child_receive(MMT_CHILD_FD, &request, sizeof request)) {
        struct mmt_blas_reply reply = { MMT_OK };
        answer(&child, &request, &reply);
        if (!mmt_child_send(MMT_CHILD_FD, &reply, sizeof reply))
            return MMT_EXIT_FAILED;
    }
    return MMT_EXIT_DONE;
}
