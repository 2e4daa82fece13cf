/* How far C is from the exact product of f32, by configuration: in units of the rounding
 * error of f32, 2^-24, relative to the product of the operands' magnitudes. By hand, for
 * instance
 *
 *     accuracy cuda:0 4096x4096x4096 "simt" "wgmma TILE_M=128 ..."
 *
 * What is exact comes from the device's own kernel for f64. */
#include <math.h>
#include <mmtune/mmtune.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[] = { "in [-1, 1)", "in [0, 1)",
                                     "2^-20 to 2^20, any sign" };
enum { KINDS = sizeof kinds / sizeof *kinds };

struct shape {
    int m, n, k;
};

static void check(mmt_status status, const mmt_error *err)
{
    if (status == MMT_OK)
        return;
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    exit(EXIT_FAILURE);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory)
        return memory;
    fprintf(stderr, "no memory for %zu bytes\n", count * size);
    exit(EXIT_FAILURE);
}

/* ---- data
 * ------------------------------------------------------------------------------
 */

static double draw(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double) (state >> 11) * 0x1p-53;
}

static float draw_kind(int kind)
{
    double x = draw();
    if (kind == 0)
        return (float) (2 * x - 1);
    if (kind == 1)
        return (float) x;
    return (float) ((2 * x - 1) * exp2(floor(41 * draw()) - 20));
}

static float *draw_all(int count, int kind)
{
    float *x = allocate((size_t) count, sizeof *x);
    for (int i = 0; i < count; i++)
        x[i] = draw_kind(kind);
    return x;
}

/* The same in f64, or their magnitudes. */
static double *widen(const float *x, int count, bool magnitudes)
{
    double *wide = allocate((size_t) count, sizeof *wide);
    for (int i = 0; i < count; i++)
        wide[i] = magnitudes ? fabs((double) x[i]) : (double) x[i];
    return wide;
}

/* ---- products
 * --------------------------------------------------------------------------
 */

static mmt_operand upload(mmt_device *device, const void *data, size_t bytes)
{
    mmt_operand to;
    mmt_error err;
    check(mmt_buffer_create(device, bytes, &to, &err), &err);
    if (data)
        check(mmt_buffer_write(device, to, data, bytes, &err), &err);
    return to;
}

/* C of that type, which the caller frees. */
static void *multiply(mmt_device *device, mmt_type type, struct shape s, const void *a,
                      const void *b, const char *configuration)
{
    const size_t size = type == MMT_F64 ? sizeof(double) : sizeof(float);
    const size_t bytes = (size_t) s.m * (size_t) s.n * size;
    mmt_problem problem = mmt_gemm_problem(type, s.m, s.n, s.k);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_args args = mmt_args_defaults();
    mmt_error err = { 0 };

    options.configuration = configuration;
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    check(err.status, &err);
    args.a = upload(device, a, (size_t) s.m * (size_t) s.k * size);
    args.b = upload(device, b, (size_t) s.k * (size_t) s.n * size);
    args.c = upload(device, NULL, bytes);
    if (mmt_plan_workspace(plan))
        args.workspace = upload(device, NULL, mmt_plan_workspace(plan));
    check(mmt_execute(plan, &args, NULL, &err), &err);
    void *c = allocate(bytes, 1);
    check(mmt_buffer_read(device, c, args.c, bytes, &err), &err);
    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.b);
    mmt_buffer_free(device, args.c);
    mmt_buffer_free(device, args.workspace);
    mmt_plan_free(plan);
    return c;
}

static double *multiply_exactly(mmt_device *device, struct shape s, const float *a,
                                const float *b, bool magnitudes)
{
    double *wide_a = widen(a, s.m * s.k, magnitudes);
    double *wide_b = widen(b, s.k * s.n, magnitudes);
    double *c = multiply(device, MMT_F64, s, wide_a, wide_b, NULL);
    free(wide_a);
    free(wide_b);
    return c;
}

static void compare(const char *configuration, const float *c, const double *exact,
                    const double *magnitudes, int count)
{
    double most = 0, squares = 0, sum = 0;
    for (int i = 0; i < count; i++) {
        double error = magnitudes[i] > 0 ? (c[i] - exact[i]) / magnitudes[i] * 0x1p24 : 0;
        most = fmax(most, fabs(error));
        squares += error * error;
        sum += exact[i] < 0 ? -error : error;
    }
    printf("%10.3f %10.3f %10.3f   %s\n", most, sqrt(squares / count), sum / count,
           configuration);
}

static void compare_all(mmt_device *device, struct shape s, int kind,
                        char **configurations, int count)
{
    float *a = draw_all(s.m * s.k, kind), *b = draw_all(s.k * s.n, kind);
    double *exact = multiply_exactly(device, s, a, b, false);
    double *magnitudes = multiply_exactly(device, s, a, b, true);

    printf("operands %s\n%10s %10s %10s   in 2^-24 of |A| |B|\n", kinds[kind], "most",
           "rms", "bias");
    for (int i = 0; i < count; i++) {
        float *c = multiply(device, MMT_F32, s, a, b, configurations[i]);
        compare(configurations[i], c, exact, magnitudes, s.m * s.n);
        free(c);
    }
    free(a);
    free(b);
    free(exact);
    free(magnitudes);
}

int main(int argc, char **argv)
{
    struct shape s;
    mmt_error err;

    if (argc < 4 || sscanf(argv[2], "%dx%dx%d", &s.m, &s.n, &s.k) != 3) {
        fprintf(stderr, "usage: accuracy DEVICE MxNxK CONFIGURATION...\n");
        return 2;
    }
    mmt_device *device = mmt_device_open(argv[1], &err);
    if (!device)
        check(err.status, &err);
    for (int kind = 0; kind < KINDS; kind++)
        compare_all(device, s, kind, argv + 3, argc - 3);
    mmt_device_close(device);
    return 0;
}
