/* Multiply two matrices with the best kernel that is known for this device.
 *
 *     cc 01_multiply.c $(pkg-config --cflags --libs mmtune) && ./a.out [DEVICE]
 *
 * DEVICE is a number or name of `mmtune devices`; 0 where it is left out. */
#include <math.h>
#include <mmtune/mmtune.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 300, N = 200, K = 100, SKIP = 77 };

static int fail(const mmt_error *err)
{
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    return EXIT_FAILURE;
}

static void fill(float *x, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float) (seed >> 8) / 16777216.0f - 0.5f;
    }
}

/* The largest difference from the plain triple loop, in double precision. */
static double largest_error(const float *a, const float *b, const float *c)
{
    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int l = 0; l < K; l++)
                sum += (double) a[i * K + l] * b[l * N + j];
            worst = fmax(worst, fabs(sum - c[i * N + j]));
        }
    return worst;
}

/* Device memory with a copy of the host's. */
static mmt_status upload(mmt_device *device, mmt_operand *to, const float *from,
                         int count, mmt_error *err)
{
    mmt_status status = mmt_buffer_create(device, sizeof(float) * count, to, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(device, *to, from, sizeof(float) * count, err);
    return status;
}

/* Two matrices to the device, one execution, and the result back. */
static mmt_status multiply(mmt_device *device, const mmt_plan *plan, const float *a,
                           const float *b, float *c, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    size_t workspace = mmt_plan_workspace(plan);

    mmt_status status = upload(device, &args.a, a, M * K, err);
    if (status == MMT_OK)
        status = upload(device, &args.b, b, K * N, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(device, sizeof(float) * M * N, &args.c, err);
    if (status == MMT_OK && workspace > 0)
        status = mmt_buffer_create(device, workspace, &args.workspace, err);
    if (status == MMT_OK)
        status = mmt_execute(plan, &args, NULL, err);
    if (status == MMT_OK)
        status = mmt_buffer_read(device, c, args.c, sizeof(float) * M * N, err);

    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.b);
    mmt_buffer_free(device, args.c);
    mmt_buffer_free(device, args.workspace);
    return status;
}

int main(int argc, char **argv)
{
    static float a[M * K], b[K * N], c[M * N];
    mmt_error err;

    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err);
    if (!device && err.status == MMT_ERROR_NOT_FOUND) {
        printf("skipped: %s\n", err.text);
        return SKIP;
    }
    if (!device)
        return fail(&err);

    mmt_profile *profile = mmt_profile_find(device, &err);
    if (!profile)
        printf("no profile (%s): a default kernel serves\n", err.text);

    mmt_problem problem = mmt_gemm_problem(MMT_F32, M, N, K);
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, NULL, &err);
    mmt_profile_free(profile);
    if (!plan)
        return fail(&err);

    char text[1024];
    mmt_plan_describe(plan, text, sizeof text);
    printf("%s\n", text);

    fill(a, M * K, 1);
    fill(b, K * N, 2);
    if (multiply(device, plan, a, b, c, &err) != MMT_OK)
        return fail(&err);

    double worst = largest_error(a, b, c);
    printf("largest error: %.2g\n", worst);

    mmt_plan_free(plan);
    mmt_device_close(device);
    return worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
