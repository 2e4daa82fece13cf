/* Jacobi sweeps over a grid that does not fit into the memory that is to be used: blocks
 * of planes go to the device, get several sweeps there, and come back.
 *
 *     cc pyramid.c pyramids.c $(pkg-config --cflags --libs mmtune) -lm
 *     ./a.out [DEVICE [SIDE [MEMORY [HEIGHT]]]]
 *
 * MEMORY is what the device may give, such as 64M; the grid has SIDE^3 values. HEIGHT is
 * the number of sweeps for each trip; without it pyramids.h chooses. A block is sent with
 * HEIGHT more planes on either side than it returns, since in each sweep the outermost
 * plane is computed from one that the block does not have. The result has the bits of
 * plain sweeps. */
#include <mmtune/mmtune.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pyramids.h"
#include "shared.h"

static const struct argument side_argument = { "SIDE", "values along an edge", 5, 1200,
                                               48 };

/* A block has two arrays to sweep between and one for the right-hand side. */
struct trip {
    mmt_device *device;
    mmt_profile *profile;
    mmt_plan **plans; /* for so many planes; NULL where none was needed yet */
    int64_t side, height, width;
    const float *now, *f;
    float *next;
    mmt_operand arrays[3]; /* the last is the right-hand side */
};

static size_t bytes_of(const struct trip *t, int64_t planes)
{
    return (size_t) (planes * t->side * t->side) * sizeof(float);
}

static mmt_operand plane(const struct trip *t, mmt_operand array, int64_t which)
{
    array.offset += bytes_of(t, which);
    return array;
}

static mmt_status open_trip(struct trip *t, const char *device, mmt_error *err)
{
    mmt_status status = MMT_OK;
    if (!(t->device = mmt_device_open(device, err)))
        return err->status;
    t->profile = mmt_profile_find(t->device, NULL); /* NULL: defaults serve */
    for (int i = 0; i < 3 && status == MMT_OK; i++)
        status = mmt_buffer_create(t->device, bytes_of(t, t->width), &t->arrays[i], err);
    return status;
}

static void close_trip(struct trip *t)
{
    for (int64_t planes = 0; t->plans && planes <= t->width; planes++)
        mmt_plan_free(t->plans[planes]);
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(t->device, t->arrays[i]);
    mmt_profile_free(t->profile);
    mmt_device_close(t->device);
}

/* Plans are dear to make and cheap to keep. */
static const mmt_plan *plan_for(const struct trip *t, int64_t planes, mmt_error *err)
{
    mmt_problem problem = mmt_jacobi3d_problem(MMT_F32, planes, t->side, t->side);
    if (!t->plans[planes])
        t->plans[planes] = mmt_plan_create(t->device, t->profile, &problem, NULL, err);
    return t->plans[planes];
}

/* Queues one sweep over planes low to high of the block. */
static mmt_status sweep(const struct trip *t, int64_t low, int64_t high, mmt_operand from,
                        mmt_operand to, mmt_error *err)
{
    const mmt_plan *plan = plan_for(t, high - low, err);
    mmt_args args = mmt_args_defaults();
    if (!plan)
        return err->status;

    args.alpha = args.beta = 1.0 / 6;
    args.a = plane(t, from, low);
    args.b = plane(t, t->arrays[2], low);
    args.c = plane(t, to, low);
    return mmt_execute(plan, &args, NULL, err);
}

/* Sends planes from … to, sweeps, and returns planes first … last. Reading waits for the
 * sweeps, which are on the device's own queue. */
static mmt_status block(const struct trip *t, int64_t from, int64_t to, int64_t first,
                        int64_t last, mmt_error *err)
{
    int64_t area = t->side * t->side, h = t->height;
    mmt_status status = mmt_buffer_write(t->device, t->arrays[0], t->now + from * area,
                                         bytes_of(t, to - from), err);
    if (status == MMT_OK)
        status = mmt_buffer_write(t->device, t->arrays[2], t->f + from * area,
                                  bytes_of(t, to - from), err);
    for (int64_t j = 0; j < h && status == MMT_OK; j++)
        status = sweep(t, from > 0 ? j : 0, to - from - (to < t->side ? j : 0),
                       t->arrays[j % 2], t->arrays[(j + 1) % 2], err);
    if (status == MMT_OK)
        status = mmt_buffer_read(t->device, t->next + first * area,
                                 plane(t, t->arrays[h % 2], first - from),
                                 bytes_of(t, last - first), err);
    return status;
}

static mmt_status pass(const struct trip *t, int *blocks, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int64_t first = 0; first < t->side && status == MMT_OK; ++*blocks) {
        int64_t from = first > t->height ? first - t->height : 0;
        if (from + t->width > t->side)
            from = t->side - t->width;
        int64_t to = from + t->width, last = to < t->side ? to - t->height : to;
        status = block(t, from, to, first, last, err);
        first = last;
    }
    return status;
}

/* ---- how high? -------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* What a block of the grid's first planes takes there, in sweeps, and back. */
static mmt_status time_block(const struct trip *t, struct pyramid_costs *out,
                             mmt_error *err)
{
    enum { SWEEPS = 4 };
    double start = now();
    mmt_status status =
        mmt_buffer_write(t->device, t->arrays[0], t->now, bytes_of(t, t->width), err);
    double sent = now();
    if (status == MMT_OK)
        status =
            mmt_buffer_write(t->device, t->arrays[2], t->f, bytes_of(t, t->width), err);
    double begun = now();
    for (int i = 0; i < SWEEPS && status == MMT_OK; i++)
        status = sweep(t, 0, t->width, t->arrays[i % 2], t->arrays[(i + 1) % 2], err);
    if (status == MMT_OK)
        status = mmt_finish(t->device, NULL, err);
    double swept = now();
    if (status == MMT_OK)
        status =
            mmt_buffer_read(t->device, t->next, t->arrays[0], bytes_of(t, t->width), err);
    double width = (double) t->width;
    *out = (struct pyramid_costs){ (sent - start) / width, (now() - swept) / width,
                                   (swept - begun) / SWEEPS / (width - 2) };
    return status;
}

/* The height by the model, from the least times of a few blocks after one that builds the
 * kernel; or the one that was asked for. */
static mmt_status choose_height(struct trip *t, int64_t memory, mmt_error *err)
{
    enum { RUNS = 3 };
    struct pyramid_costs least = { INFINITY, INFINITY, INFINITY }, costs;
    struct pyramids built;
    mmt_status status = MMT_OK;

    for (int run = 0; run <= RUNS && status == MMT_OK; run++) {
        status = time_block(t, &costs, err);
        if (!run)
            continue;
        least.send = fmin(least.send, costs.send);
        least.receive = fmin(least.receive, costs.receive);
        least.plane = fmin(least.plane, costs.plane);
    }
    if (status != MMT_OK || t->height)
        return status;
    build_pyramids(memory, t->side, sizeof(float), &least, &built);
    t->height = built.height;
    printf(
        "a plane takes %.2f us there, %.2f us back and %.2f us a sweep\n"
        "buildPyramids(%lld bytes, N = %lld): %lld blocks, h = %lld, %.3f ms expected of "
        "%lld sweeps\n",
        least.send * 1e6, least.receive * 1e6, least.plane * 1e6, (long long) memory,
        (long long) t->side, (long long) built.blocks, (long long) built.height,
        built.seconds * 1e3, (long long) built.height);
    return status;
}

/* ---- plain sweeps ----------------------------------------------------------------- */

/* The host's sweep, in the order that jacobi3d is documented to add in. */
static void host_sweep(int64_t n, const float *a, const float *f, float *c)
{
    const float sixth = (float) (1.0 / 6);
    const int64_t area = n * n;
    memcpy(c, a, (size_t) (n * area) * sizeof *c);
    for (int64_t z = 1; z < n - 1; z++)
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < n - 1; j++) {
                const int64_t at = z * area + i * n + j;
                volatile float sum =
                    ((a[at - area] + a[at + area]) + (a[at - n] + a[at + n])) +
                    (a[at - 1] + a[at + 1]);
                volatile float own = sixth * sum, right = sixth * f[at];
                c[at] = own + right;
            }
}

/* h plain sweeps between two arrays of the host; returns the one with the result. */
static float *sweep_plainly(int64_t n, int64_t h, float *arrays[2], const float *f)
{
    for (int64_t j = 0; j < h; j++)
        host_sweep(n, arrays[j % 2], f, arrays[(j + 1) % 2]);
    return arrays[h % 2];
}

static int run(struct trip *t, const char *device, int64_t memory, float *arrays[4])
{
    int64_t count = t->side * t->side * t->side;
    float *plain[2] = { arrays[0], arrays[3] };
    mmt_error err = { 0 };
    int blocks = 0;

    t->now = arrays[0], t->f = arrays[1], t->next = arrays[2];
    if (open_trip(t, device, &err) || choose_height(t, memory, &err))
        return report_failure(&err);
    if (pass(t, &blocks, &err)) /* builds kernels */
        return report_failure(&err);
    double start = now();
    blocks = 0;
    if (pass(t, &blocks, &err))
        return report_failure(&err);
    double seconds = now() - start;
    print_plan(t->plans[t->width]);
    const float *expected = sweep_plainly(t->side, t->height, plain, t->f);
    bool same = !memcmp(t->next, expected, (size_t) count * sizeof(float));
    printf("%s: %lld^3, %lld sweeps in %d blocks of %lld planes, %.3f ms: %s\n",
           mmt_device_name(t->device), (long long) t->side, (long long) t->height, blocks,
           (long long) t->width, seconds * 1e3,
           same ? "the bits of plain sweeps" : "OTHER BITS");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Bytes, of which K, M and G are 1024, 1024^2 and 1024^3; a block of three planes at the
 * least. */
static int64_t read_memory(const char *word, int64_t side)
{
    static const char units[] = "KMG";
    const int64_t least = 9 * side * side * (int64_t) sizeof(float);
    char *end;
    double bytes = strtod(word, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (unit)
        bytes *= pow(1024, (double) (unit - units + 1)), end++;
    if (end != word && !*end && bytes >= (double) least && bytes < 0x1p60)
        return (int64_t) bytes;
    fprintf(
        stderr,
        "MEMORY is '%s'; it must be a number of bytes, such as 64M or 512K, and at least "
        "%lld bytes: three planes of %lld^2 values, three times\n",
        word, (long long) least, (long long) side);
    exit(USAGE);
}

/* 0 where the model is to choose. */
static int64_t read_height(int argc, char **argv, int64_t side, int64_t width)
{
    const struct argument height = { "HEIGHT",
                                     "sweeps, of which a block loses 2 planes each", 1,
                                     width < side ? (width - 1) / 2 : side, 0 };
    return read_argument(argc, argv, 4, &height);
}

int main(int argc, char **argv)
{
    limit_arguments(argc, argv, 4);
    int64_t n = read_argument(argc, argv, 2, &side_argument), count = n * n * n;
    int64_t memory = argc > 3 ? read_memory(argv[3], n)
                              : (n < 9 ? 3 : n / 3) * 3 * n * n * (int64_t) sizeof(float);
    int64_t width = pyramid_width(memory, n, sizeof(float));
    struct trip t = { .side = n, .width = width };
    float *arrays[4];
    int code = EXIT_FAILURE;

    t.height = read_height(argc, argv, n, width);
    float *values = malloc(4 * (size_t) count * sizeof *values);
    t.plans = calloc((size_t) width + 1, sizeof *t.plans);
    for (int i = 0; values && i < 4; i++)
        arrays[i] = values + i * count;
    for (int64_t i = 0; values && i < count; i++) {
        arrays[0][i] = (float) (i * 7 % 101) / 101.0f;
        arrays[1][i] = (float) (i * 5 % 97) / 97.0f;
    }
    if (values && t.plans)
        code = run(&t, argc > 1 ? argv[1] : NULL, memory, arrays);
    else
        fprintf(stderr, "no memory for four grids of %lld^3 values\n", (long long) n);
    close_trip(&t);
    free(t.plans);
    free(values);
    return code;
}
