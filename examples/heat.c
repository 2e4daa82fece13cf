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

enum { SKIP = 77, USUAL_SIDE = 256, MOST_SIDE = 40000, USUAL_STEPS = 200 };

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
    printf("%s: %lld x %lld, %d steps: %.2f %% of the heat is left, off by %.1g\n",
           mmt_device_name(device), (long long) side, (long long) side, steps, left * 100,
           worst);
    return worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int64_t side = argc > 2 ? atoll(argv[2]) : USUAL_SIDE;
    int steps = argc > 3 ? atoi(argv[3]) : USUAL_STEPS, code = EXIT_FAILURE;
    mmt_error err = { 0 };

    if (side < 3 || side > MOST_SIDE || steps < 1) {
        fprintf(stderr, "SIDE must be from 3 to %d, and STEPS above 0\n", MOST_SIDE);
        return EXIT_FAILURE;
    }
    float *plate = calloc((size_t) (side * side), sizeof *plate);
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err);
    for (int64_t i = 0; plate && i < side * side; i++)
        plate[i] = (float) wave(side, i / side, i % side);
    if (!plate)
        fprintf(stderr, "no memory for a plate\n");
    else if (!device || simulate(device, side, steps, plate, &err))
        fprintf(stderr, "%s: %s\n", mmt_status_name(err.status), err.text);
    else
        code = report(device, side, steps, plate);
    mmt_device_close(device);
    free(plate);
    return err.status == MMT_ERROR_NOT_FOUND ? SKIP : code;
}
