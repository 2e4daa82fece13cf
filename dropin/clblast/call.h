/* A call of CLBlast from within: routines.c makes one of arguments, check.c finds what is
 * wrong with it, serve.c executes it, devices.c has what is kept for a device, real.c
 * finds CLBlast itself for what we do not serve. */
#ifndef MMT_DROPIN_CLBLAST_CALL_H
#define MMT_DROPIN_CLBLAST_CALL_H

#include "dropin/clblast/clblast.h"
#include "runtime/blas.h"

/* ---- calls ------------------------------------------------------------------------ */

enum mmt_clblast_routine {
    MMT_CLBLAST_GEMM,
    MMT_CLBLAST_STRIDED,
    MMT_CLBLAST_BATCHED,
    MMT_CLBLAST_SYRK, /* m and B are those of A transposed */
};

/* A, B or C as the caller stores it; offsets: one, or with BATCHED one of each product.
 */
struct mmt_clblast_matrix {
    cl_mem buffer;
    const size_t *offsets;
    size_t ld, stride;
};

struct mmt_clblast_call {
    enum mmt_clblast_routine routine;
    mmt_type type;
    int layout, trans_a, trans_b;
    int triangle; /* of SYRK */
    size_t m, n, k;
    size_t batch;               /* 1 where there is none */
    const void *alphas, *betas; /* numbers of the type, as many as offsets */
    struct mmt_clblast_matrix a, b, c;
    cl_command_queue *queue;
    cl_event *event;
};

/* The i-th number of a list, of f32, f64 or f16. */
double mmt_clblast_scalar(mmt_type type, const void *list, size_t i);

/* What CLBlast would answer, with its checks in its order; 0: nothing is wrong. */
int mmt_clblast_check(const struct mmt_clblast_call *call);

/* Answers the call: true, and its code. False where somebody else should: then nothing
 * was queued, and `code` is what to answer where nobody else is there. */
bool mmt_clblast_serve(const struct mmt_clblast_call *call, int *code);

/* ---- devices --------------------------------------------------------------------- */

/* What is kept for a device in a context: its plans and its workspaces. */
struct mmt_clblast_device;

/* Finds or opens the device; to be let go of after the call. Thread-safe. */
struct mmt_clblast_device *mmt_clblast_hold(cl_context context, cl_device_id id,
                                            mmt_error *err);
void mmt_clblast_let_go(struct mmt_clblast_device *device);
mmt_blas *mmt_clblast_blas(const struct mmt_clblast_device *device);

/* Forgets all devices; those that calls hold are freed by the last of them. */
void mmt_clblast_clear(void);

/* A workspace on loan, of at least `bytes`, for executions on the queue that wait for
 * `after`, where that is not NULL. */
struct mmt_clblast_workspace {
    mmt_operand memory;
    size_t bytes;
    cl_command_queue queue; /* of who had it last; not retained, and only compared */
    cl_event after;         /* done when it is free */
    struct mmt_clblast_workspace *next;
};
struct mmt_clblast_workspace *mmt_clblast_borrow(struct mmt_clblast_device *device,
                                                 cl_command_queue queue, size_t bytes,
                                                 mmt_error *err);

/* Gives it back; what uses it is done when the event is, of which it takes over one
 * reference. NULL: nothing uses it. */
void mmt_clblast_give_back(struct mmt_clblast_device *device,
                           struct mmt_clblast_workspace *workspace, cl_event done);

/* ---- the real CLBlast ------------------------------------------------------------ */

/* The function of that name of the real CLBlast; NULL where there is none. Exported, as
 * no other library has a function of this name. */
MMT_API void *mmt_clblast_real(const char *name);

#endif
