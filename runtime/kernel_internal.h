/* A kernel from within: kernel.c builds it, kernel_run.c runs it. */
#ifndef MMT_RUNTIME_KERNEL_INTERNAL_H
#define MMT_RUNTIME_KERNEL_INTERNAL_H

#include "runtime/runtime.h"

/* The launches for a part of the batch: as many matrices as a grid may have. */
struct mmt_kernel_part {
    int64_t batch;
    struct mmt_launches launches;
};

struct mmt_kernel {
    mmt_device *device;
    mmt_problem problem;
    struct mmt_module *module;
    struct mmt_function *functions[MMT_MAX_LAUNCHES];
    struct mmt_kernel_part whole,
        rest; /* rest.batch is 0 where the parts come out even */
    int64_t num_whole;
};

#endif
