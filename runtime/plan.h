/* A plan from within: plan.c makes it, execute.c runs it. */
#ifndef MMT_RUNTIME_PLAN_H
#define MMT_RUNTIME_PLAN_H

#include <stdatomic.h>

#include "runtime/runtime.h"

/* Kernels that are tried, one after the other, where the driver refuses the first. */
enum { MOST_REFUSED = 4 };

struct mmt_plan {
    mmt_device *device;
    struct mmt_caps caps; /* the device's; of a bundle with its target's architecture */
    const struct mmt_bundled *in; /* while planning: where kernels are; NULL: anywhere */
    mmt_problem problem;
    const struct mmt_call *call; /* while planning: that it serves alone; NULL: any */
    struct mmt_selection selection;
    struct mmt_bound bound; /* the selection's; its alignment is what `aligned` asks */
    struct mmt_kernel
        *aligned;           /* NULL where no specialisation assumes more than elements */
    struct mmt_kernel *any; /* NULL where the caller promised alignment */
    mmt_operand workspace;  /* its own, where it was asked for and needs one */
    _Atomic uint64_t
        spare; /* handle of a workspace that mmt_execute_host left; 0: none */
    struct {
        uint64_t a, b, c, bias, scalars, workspace;
    } bytes;                                 /* that an execution uses of each operand */
    struct mmt_config refused[MOST_REFUSED]; /* by the driver: resolved */
    int num_refused;
    mmt_error refusal;    /* of the first of them */
    mmt_error unmeasured; /* why nothing was measured though it was asked for */
    char *description;
};

/* Whether there is nothing to compute. */
static inline bool mmt_plan_is_empty(const struct mmt_plan *plan)
{
    return !plan->any && !plan->aligned;
}

/* mmt_execute, at its turn. */
mmt_status mmt_execute_turn(const mmt_plan *plan, const mmt_args *args,
                            struct mmt_turn turn, mmt_error *err);

#endif
