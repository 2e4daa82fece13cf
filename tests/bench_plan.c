/* What mmt_plan_create costs where the kernel is loaded: bench_plan DEVICE [PROFILE]
 *
 * A hundred products of each type that differ in m a little, planned twice: the second
 * time each kernel is there. Medians of the second, by the host's clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/type.h"
#include "tuner/stats.h"

enum { PLANS = 100 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* Seconds of each plan; those of kernels that are used again stay loaded. */
static mmt_status plan_all(mmt_device *device, const mmt_profile *profile, mmt_type type,
                           double seconds[PLANS], mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    options.foreign_profile = options.aligned_only = 1;
    for (int i = 0; i < PLANS; i++) {
        const mmt_problem problem = mmt_gemm_problem(type, 1024 + 16 * i, 4096, 512);
        const double begun = now();
        mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, err);
        seconds[i] = now() - begun;
        if (!plan)
            return err->status;
        mmt_plan_free(plan);
    }
    return MMT_OK;
}

int main(int argc, char **argv)
{
    static const mmt_type types[] = { MMT_F32, MMT_BF16, MMT_F64 };
    double seconds[PLANS];
    mmt_error err = { 0 };
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : "0", &err);
    mmt_profile *profile = argc > 2 ? mmt_profile_load(argv[2], &err) : NULL;

    for (int t = 0; t < 3 && !err.status; t++)
        if (!plan_all(device, profile, types[t], seconds, &err) &&
            !plan_all(device, profile, types[t], seconds, &err))
            printf("%s, %s: a plan takes %.0f us (median of %d)\n",
                   mmt_device_name(device), mmt_type_name(types[t]),
                   1e6 * mmt_stats_quantile(seconds, PLANS, 0.5), PLANS);
    if (err.status)
        fprintf(stderr, "%s\n", err.text);
    mmt_profile_free(profile);
    mmt_device_close(device);
    return err.status != MMT_OK;
}
