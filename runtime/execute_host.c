/* Plans on matrices in host memory: used in place where the device can, else copied. */
#include <unistd.h>

#include "runtime/plan.h"

mmt_status mmt_host_wrap(mmt_device *device, const void *host, size_t bytes,
                         mmt_operand *buffer, mmt_error *err)
{
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    const size_t before = (uintptr_t) host % page;
    mmt_status status =
        mmt_buffer_wrap(device, (char *) host - before, bytes + before, buffer, err);
    if (!status)
        buffer->offset = before;
    return status;
}

/* A matrix of the problem, as it is stored. */
struct stored {
    void *host;
    int64_t rows, columns, ld;
    size_t bytes;
    bool reads; /* what it holds before */
    mmt_operand *operand;
};

struct placed {
    struct stored all[3];
    mmt_args args;
    bool copied;
};

static void describe(const struct mmt_plan *plan, const struct mmt_host_args *host,
                     struct placed *out)
{
    const mmt_problem *p = &plan->problem;
    const size_t size = mmt_type_size(p->type);

    out->args = mmt_args_defaults();
    out->args.alpha = host->alpha;
    out->args.beta = host->beta;
    out->all[0] = (struct stored){ (void *) host->a,
                                   p->trans_a ? p->k : p->m,
                                   p->trans_a ? p->m : p->k,
                                   p->lda,
                                   (size_t) mmt_problem_extent_a(p) * size,
                                   true,
                                   &out->args.a };
    out->all[1] = (struct stored){ (void *) host->b,
                                   p->trans_b ? p->n : p->k,
                                   p->trans_b ? p->k : p->n,
                                   p->ldb,
                                   (size_t) mmt_problem_extent_b(p) * size,
                                   true,
                                   &out->args.b };
    out->all[2] = (struct stored){ host->c,
                                   p->m,
                                   p->n,
                                   p->ldc,
                                   (size_t) mmt_problem_extent_c(p) * size,
                                   host->beta != 0,
                                   &out->args.c };
}

/* Where gaps are, they are on the device, too: the plan has the caller's leading
 * dimensions. */
static mmt_status upload(const struct mmt_plan *plan, struct stored *x, mmt_error *err)
{
    mmt_status status = mmt_buffer_create(plan->device, x->bytes, x->operand, err);
    return status || !x->reads
               ? status
               : mmt_matrix_write(plan->device, *x->operand, x->ld, x->host, x->ld,
                                  plan->problem.type, x->rows, x->columns, err);
}

/* The one that an execution before left, or another. */
static mmt_status take_workspace(const struct mmt_plan *plan, mmt_operand *out,
                                 mmt_error *err)
{
    struct mmt_plan *owner = (struct mmt_plan *) plan; /* `spare` is nobody's */
    const size_t bytes = mmt_plan_workspace(plan);

    out->handle = bytes ? atomic_exchange(&owner->spare, 0) : 0;
    return out->handle || !bytes ? MMT_OK
                                 : mmt_buffer_create(plan->device, bytes, out, err);
}

static void leave_workspace(const struct mmt_plan *plan, mmt_operand workspace)
{
    struct mmt_plan *owner = (struct mmt_plan *) plan;
    uint64_t none = 0;

    if (!atomic_compare_exchange_strong(&owner->spare, &none, workspace.handle))
        mmt_buffer_free(plan->device, workspace);
}

static mmt_status place(const struct mmt_plan *plan, struct placed *out, mmt_error *err)
{
    const struct stored *c = &out->all[2];
    mmt_error why = { 0 };
    mmt_status status =
        mmt_host_wrap(plan->device, c->host, c->bytes, &out->args.c, &why);

    out->copied = status == MMT_ERROR_UNSUPPORTED;
    if (status && !out->copied)
        return mmt_fail_native(err, status, why.native, "%s", why.text);
    status = out->copied ? upload(plan, &out->all[2], err) : MMT_OK;
    for (int i = 0; i < 2 && !status; i++) {
        struct stored *x = &out->all[i];
        status = out->copied
                     ? upload(plan, x, err)
                     : mmt_host_wrap(plan->device, x->host, x->bytes, x->operand, err);
    }
    return status ? status : take_workspace(plan, &out->args.workspace, err);
}

static mmt_status compute(const struct mmt_plan *plan, const struct placed *placed,
                          mmt_error *err)
{
    const struct stored *c = &placed->all[2];
    mmt_status status = mmt_execute(plan, &placed->args, NULL, err);
    /* Also what was queued before it failed uses the buffers. */
    const mmt_status end = mmt_finish(plan->device, NULL, status ? NULL : err);

    status = status ? status : end;
    return status || !placed->copied
               ? status
               : mmt_matrix_read(plan->device, c->host, c->ld, placed->args.c, c->ld,
                                 plan->problem.type, c->rows, c->columns, err);
}

mmt_status mmt_execute_host(const mmt_plan *plan, const struct mmt_host_args *host,
                            bool *started, mmt_error *err)
{
    struct placed placed = { 0 };

    *started = false;
    describe(plan, host, &placed);
    mmt_status status = place(plan, &placed, err);
    if (!status) {
        *started = true;
        status = compute(plan, &placed, err);
    }
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(plan->device, *placed.all[i].operand);
    leave_workspace(plan, placed.args.workspace);
    return status;
}
