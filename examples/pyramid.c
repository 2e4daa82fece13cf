/* Jacobi sweeps over a grid that does not fit into the memory that is to be used: blocks
 * of planes go to the device, get several sweeps there, and come back.
 *
 *     cc pyramid.c $(pkg-config --cflags --libs mmtune)
 *     ./a.out [DEVICE [SIDE [HEIGHT]]]
 *
 * HEIGHT is the number of sweeps for each trip. A block is sent with HEIGHT more planes
 * on either side than it returns, since in each sweep the outermost plane is computed
 * from one that the block does not have. The result has the bits of plain sweeps. */
#include <mmtune/mmtune.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, USUAL_SIDE = 48, MOST_SIDE = 1200, USUAL_HEIGHT = 4 };

/* A block is as many planes as a third of the grid's memory holds, with two arrays to
 * sweep between and one for the right-hand side. */
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

static int run(struct trip *t, const char *device, float *arrays[4], mmt_error *err)
{
    int64_t count = t->side * t->side * t->side;
    float *plain[2] = { arrays[0], arrays[3] };
    int blocks = 0;

    t->now = arrays[0], t->f = arrays[1], t->next = arrays[2];
    if (open_trip(t, device, err) || pass(t, &blocks, err)) {
        fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
        return err->status == MMT_ERROR_NOT_FOUND ? SKIP : EXIT_FAILURE;
    }
    const float *expected = sweep_plainly(t->side, t->height, plain, t->f);
    bool same = !memcmp(t->next, expected, (size_t) count * sizeof(float));
    printf("%s: %lld^3, %lld sweeps in %d blocks of %lld planes: %s\n",
           mmt_device_name(t->device), (long long) t->side, (long long) t->height, blocks,
           (long long) t->width, same ? "the bits of plain sweeps" : "OTHER BITS");
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? atoll(argv[2]) : USUAL_SIDE;
    int64_t h = argc > 3 ? atoll(argv[3]) : USUAL_HEIGHT;
    struct trip t = { .side = n, .height = h, .width = n / 3 };
    mmt_error err = { 0 };
    float *arrays[4];
    int code = EXIT_FAILURE;

    if (n < 9 || n > MOST_SIDE || h < 1 || h > (n / 3 - 1) / 2) {
        fprintf(stderr,
                "SIDE must be from 9 to %d, and HEIGHT, which is %lld, from 1 to %lld: a "
                "block has SIDE / 3 planes, and loses 2 HEIGHT of them\n",
                MOST_SIDE, (long long) h, (long long) (n / 3 - 1) / 2);
        return EXIT_FAILURE;
    }
    int64_t count = n * n * n;
    float *memory = malloc(4 * (size_t) count * sizeof *memory);
    t.plans = calloc((size_t) t.width + 1, sizeof *t.plans);
    for (int i = 0; i < 4; i++)
        arrays[i] = memory + i * count;
    for (int64_t i = 0; memory && i < count; i++) {
        arrays[0][i] = (float) (i * 7 % 101) / 101.0f;
        arrays[1][i] = (float) (i * 5 % 97) / 97.0f;
    }
    if (memory && t.plans)
        code = run(&t, argc > 1 ? argv[1] : NULL, arrays, &err);
    else
        fprintf(stderr, "no memory for four grids of %lld^3\n", (long long) n);
    close_trip(&t);
    free(t.plans);
    free(memory);
    return code;
}
