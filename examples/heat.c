/* Heat spreads over a plate: explicit steps of the heat equation on the device.
 *
 *     cc heat.c $(pkg-config --cflags --libs mmtune) -lm
 *     ./a.out [DEVICE [SIDE [STEPS]]]
 *
 * The plate's border is held at 0. Two grids take turns: one is read, the other written.
 */
#include <math.h>
#include <mmtune/mmtune.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared.h"

static const struct argument side_argument = { "SIDE", "nodes", 3, 40000, 256 };
static const struct argument steps_argument = { "STEPS", "steps of time", 1, 1000000,
                                                200 };

static const double alpha = 0.2; /* below 1/4, or the scheme is not stable */

/* One wave in each direction, which decays by the same factor in every step and so tells
 * whether the answer is right. */
static double wave(int64_t side, int64_t i, int64_t j)
{
    const double pi = acos(-1), last = (double) (side - 1);
    return sin(pi * (double) i / last) * sin(pi * (double) j / last);
}

static double decay(int64_t side, int steps)
{
    const double pi = acos(-1), half = sin(pi / (2.0 * (double) (side - 1)));
    return pow(1 - 8 * alpha * half * half, steps);
}

static mmt_status walk(mmt_device *device, const mmt_plan *plan, int steps,
                       mmt_operand grids[2], mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int step = 0; step < steps && status == MMT_OK; step++) {
        mmt_args args = mmt_args_defaults();
        args.alpha = alpha;
        args.a = grids[step % 2], args.c = grids[(step + 1) % 2];
        status = mmt_execute(plan, &args, NULL, err);
    }
    return status ? status : mmt_finish(device, NULL, err);
}

static mmt_status simulate(mmt_device *device, int64_t side, int steps, float *plate,
                           mmt_error *err)
{
    size_t bytes = (size_t) (side * side) * sizeof *plate;
    mmt_profile *profile = mmt_profile_find(device, NULL); /* NULL: defaults serve */
    mmt_problem problem = mmt_heat2d_problem(MMT_F32, side, side);
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, NULL, err);
    mmt_operand grids[2] = { { 0 } };
    mmt_status status = plan ? MMT_OK : err->status;

    if (plan)
        print_plan(plan);
    for (int i = 0; i < 2 && status == MMT_OK; i++)
        status = mmt_buffer_create(device, bytes, &grids[i], err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device, grids[0], plate, bytes, err);
    if (status == MMT_OK)
        status = walk(device, plan, steps, grids, err);
    if (status == MMT_OK)
        status = mmt_buffer_read(device, plate, grids[steps % 2], bytes, err);
    mmt_buffer_free(device, grids[0]);
    mmt_buffer_free(device, grids[1]);
    mmt_plan_free(plan);
    mmt_profile_free(profile);
    return status;
}

static int report(mmt_device *device, int64_t side, int steps, const float *plate)
{
    double left = decay(side, steps), worst = 0;
    for (int64_t i = 0; i < side * side; i++)
        worst = fmax(worst, fabs(plate[i] - left * wave(side, i / side, i % side)));
    printf("%s: %lld x %lld nodes, %d steps: %.2f %% of the heat is left, off by %.1g of "
           "the greatest\n",
           mmt_device_name(device), (long long) side, (long long) side, steps, left * 100,
           worst);
    return worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    limit_arguments(argc, argv, 3);
    int64_t side = read_argument(argc, argv, 2, &side_argument);
    int steps = (int) read_argument(argc, argv, 3, &steps_argument), code = EXIT_FAILURE;
    mmt_error err = { 0 };
    float *plate = calloc((size_t) (side * side), sizeof *plate);
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err);

    for (int64_t i = 0; plate && i < side * side; i++)
        plate[i] = (float) wave(side, i / side, i % side);
    if (!plate)
        fprintf(stderr, "no memory for a plate of %lld x %lld nodes\n", (long long) side,
                (long long) side);
    else if (!device || simulate(device, side, steps, plate, &err))
        code = report_failure(&err);
    else
        code = report(device, side, steps, plate);
    mmt_device_close(device);
    free(plate);
    return code;
}
