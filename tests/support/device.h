/* Devices, plans and operands as most tests want them. A device or a plan that cannot be
 * made ends the program. */
#ifndef MMT_TESTS_DEVICE_H
#define MMT_TESTS_DEVICE_H

#include "tests/support/test.h"

/* Skips the program where there is no such device. */
static inline mmt_device *open_device(const char *id)
{
    mmt_device *device = mmt_device_open(id, &err);
    if (!device && err.status == MMT_ERROR_NOT_FOUND)
        SKIP("%s", err.text);
    if (!CHECK_MADE(device))
        exit(1);
    return device;
}

/* By that configuration; NULL: by the one that is selected. */
static inline mmt_plan *plan_by(mmt_device *device, mmt_problem problem,
                                const char *configuration)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.configuration = configuration;
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    if (!CHECK_MADE(plan))
        exit(1);
    return plan;
}

static inline mmt_operand buffer_of(mmt_device *device, size_t bytes)
{
    mmt_operand made = { 0, 0 };
    CHECK_OK(mmt_buffer_create(device, bytes, &made, &err), err);
    return made;
}

/* A, B and C of so many bytes each. */
static inline mmt_args args_of(mmt_device *device, size_t bytes)
{
    mmt_args args = mmt_args_defaults();
    args.a = buffer_of(device, bytes);
    args.b = buffer_of(device, bytes);
    args.c = buffer_of(device, bytes);
    return args;
}

/* And the workspace, where there is one. */
static inline void free_args(mmt_device *device, const mmt_args *args)
{
    const mmt_operand all[] = { args->a, args->b, args->c, args->workspace };
    for (int i = 0; i < 4; i++)
        mmt_buffer_free(device, all[i]);
}

#endif
