/* What mmt_plan_create costs where the kernel is loaded: bench_plan DEVICE [PROFILE]
 *
 * A hundred products of each type that differ in m a little, planned three times: kernels
 * are there from the second time on, and selections are cached the third. Medians of
 * both, by the host's clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/type.h"
#include "tuner/measure/stats.h"

enum { PLANS = 100 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Median seconds of a plan; kernels that are used again stay loaded. What was selected
 * with another cap on the workspace, however large, is selected anew. */
static mmt_status plan_all(mmt_device *device, const mmt_profile *profile, mmt_type type,
                           size_t max_workspace, double *median, mmt_error *err)
{
    double seconds[PLANS];
    mmt_plan_options options = mmt_plan_defaults();
    options.foreign_profile = options.aligned_only = 1;
    options.max_workspace = max_workspace;
    for (int i = 0; i < PLANS; i++) {
        const mmt_problem problem = mmt_gemm_problem(type, 1024 + 16 * i, 4096, 512);
        const double begun = now();
        mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, err);
        seconds[i] = now() - begun;
        if (!plan)
            return err->status;
        mmt_plan_free(plan);
    }
    *median = mmt_stats_quantile(seconds, PLANS, 0.5);
    return MMT_OK;
}

int main(int argc, char **argv)
{
    static const mmt_type types[] = { MMT_F32, MMT_BF16, MMT_F64 };
    double loading, first, again;
    mmt_error err = { 0 };
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : "0", &err);
    mmt_profile *profile = argc > 2 ? mmt_profile_load(argv[2], &err) : NULL;

    for (int t = 0; t < 3 && !err.status; t++)
        if (!plan_all(device, profile, types[t], SIZE_MAX / 2, &loading, &err) &&
            !plan_all(device, profile, types[t], SIZE_MAX, &first, &err) &&
            !plan_all(device, profile, types[t], SIZE_MAX, &again, &err))
            printf("%s, %s: a plan takes %.0f us, the next one of its problem %.0f us "
                   "(medians of %d)\n",
                   mmt_device_name(device), mmt_type_name(types[t]), 1e6 * first,
                   1e6 * again, PLANS);
    if (err.status)
        fprintf(stderr, "%s\n", err.text);
    mmt_profile_free(profile);
    mmt_device_close(device);
    return err.status != MMT_OK;
}
