/* What programs ask other libraries for. */
#include "base/call.h"

#include <stdio.h>

#include "base/near.h"
#include "base/type.h"

static const char *const clients[MMT_NUM_CLIENTS] = { "mmtune", "cublas", "cublaslt",
                                                      "blas" };

static const char *const computes[MMT_NUM_COMPUTES] = { "usual", "16f", "16f_pedantic" };

static const char *const fates[MMT_NUM_FATES] = {
    [MMT_FATE_TAKEN] = "taken",         [MMT_FATE_RECORDED] = "recorded",
    [MMT_FATE_UNKNOWN] = "no verdict",  [MMT_FATE_SLOWER] = "library faster",
    [MMT_FATE_STALE] = "verdict void",  [MMT_FATE_NOT_READY] = "plan not ready",
    [MMT_FATE_FAILED] = "plan failed",  [MMT_FATE_WORKSPACE] = "workspace",
    [MMT_FATE_ALIGNMENT] = "alignment", [MMT_FATE_POINTERS] = "pointer mode",
    [MMT_FATE_FEATURE] = "feature",     [MMT_FATE_CONTEXT] = "other context",
    [MMT_FATE_CHILD] = "child process",
};

const char *mmt_client_name(enum mmt_client client)
{
    return clients[client];
}

int mmt_client_parse(const char *name)
{
    return mmt_near_place(name, clients, MMT_NUM_CLIENTS);
}

const char *mmt_compute_name(enum mmt_compute compute)
{
    return computes[compute];
}

int mmt_compute_parse(const char *name)
{
    return mmt_near_place(name, computes, MMT_NUM_COMPUTES);
}

void mmt_call_print_caller(const struct mmt_call *call, struct mmt_text *text)
{
    mmt_text_add(text, mmt_client_name(call->client));
    if (call->compute)
        mmt_text_addf(text, ", %s", mmt_compute_name(call->compute));
    if (call->adds)
        mmt_text_add(text, ", beta");
    if (call->alignment)
        mmt_text_addf(text, ", aligned to %zu B", call->alignment);
}

const char *mmt_fate_name(enum mmt_fate fate)
{
    return fates[fate];
}

int mmt_fate_parse(const char *name)
{
    return mmt_near_place(name, fates, MMT_NUM_FATES);
}

/* With its own where it was given none. */
static size_t library_least(const struct mmt_call *call)
{
    return call->workspace || call->client != MMT_CLIENT_CUBLAS
               ? call->workspace
               : (size_t) MMT_CUBLAS_OWN_WORKSPACE;
}

size_t mmt_call_library_workspace(const struct mmt_call *call)
{
    return call->most_workspace ? call->most_workspace : library_least(call);
}

/* A call with none is no bound: ours has a workspace of its own then, or passes. */
static size_t least_workspace(size_t a, size_t b)
{
    return !a ? b : !b || a < b ? a : b;
}

void mmt_call_add_workspace(struct mmt_call *sum, const struct mmt_call *call)
{
    const size_t a = mmt_call_library_workspace(sum),
                 b = mmt_call_library_workspace(call);
    const size_t most = a > b ? a : b;
    sum->workspace = least_workspace(sum->workspace, call->workspace);
    sum->most_workspace = most > library_least(sum) ? most : 0;
}

/* ---- unaligned operands ------------------------------------------------------------ */

size_t mmt_call_offset(const struct mmt_call *call, size_t element)
{
    return call->alignment && call->alignment < element ? element : call->alignment;
}

bool mmt_call_may_align(size_t bytes)
{
    return bytes < 16 && !(bytes & (bytes - 1));
}

/* The next leading dimension that is no multiple of more bytes than operands begin at. */
static int64_t next_ld(const struct mmt_call *call, int64_t ld, mmt_type type)
{
    const size_t element = mmt_type_size(type), offset = mmt_call_offset(call, element);
    return (size_t) ld * element % (2 * offset) ? ld : ld + (int64_t) (offset / element);
}

/* Matrices of a batch may follow each other, or share rows: they stay. */
mmt_problem mmt_call_stand_in(const struct mmt_call *call)
{
    mmt_problem problem = call->problem;
    if (!call->alignment || problem.batch > 1)
        return problem;
    problem.lda = next_ld(call, problem.lda, problem.type);
    problem.ldb = next_ld(call, problem.ldb, problem.type);
    problem.ldc = next_ld(call, problem.ldc, problem.out);
    return problem;
}

/* ---- kinds ------------------------------------------------------------------------- */

bool mmt_call_equal(const struct mmt_call *a, const struct mmt_call *b)
{
    return a->client == b->client && a->adds == b->adds && a->compute == b->compute &&
           a->alignment == b->alignment && mmt_problem_equal(&a->problem, &b->problem);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

uint64_t mmt_call_hash(const struct mmt_call *call)
{
    const mmt_problem *problem = &call->problem;
    const unsigned kind =
        (unsigned) call->client | (unsigned) call->adds << 4 |
        (unsigned) problem->op << 5 | (unsigned) problem->type << 8 |
        (unsigned) problem->out << 12 | (unsigned) problem->trans_a << 16 |
        (unsigned) problem->trans_b << 18 | (unsigned) problem->bias << 20 |
        (unsigned) problem->activation << 22 | (unsigned) call->compute << 26 |
        (unsigned) problem->batch_by << 25 | (unsigned) call->alignment << 28;
    const int64_t sizes[] = { problem->m,       problem->n,        problem->k,
                              problem->lda,     problem->ldb,      problem->ldc,
                              problem->batch,   problem->stride_a, problem->stride_b,
                              problem->stride_c };
    uint64_t hash = mix(0, kind);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        hash = mix(hash, (uint64_t) sizes[i]);
    return hash;
}

void mmt_call_cublas_name(size_t version, char out[48])
{
    snprintf(out, 48, "cuBLAS %zu.%zu.%zu", version / 10000, version / 100 % 100,
             version % 100);
}
