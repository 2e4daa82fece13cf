/* Jacobi sweeps over a grid that does not fit into the memory that is to be used: blocks
 * of planes go to the device, get several sweeps there, and come back.
 *
 *     cc pyramid.c $(pkg-config --cflags --libs mmtune) && ./a.out [DEVICE [SIDE
 * [HEIGHT]]]
 *
 * HEIGHT is the number of sweeps for each trip. A block is sent with HEIGHT more planes
 * on either side than it returns, since in each sweep the outermost plane is computed
 * from one that the block does not have. The result has the bits of plain sweeps. */
#include <mmtune/mmtune.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, USUAL_SIDE = 48, USUAL_HEIGHT = 4 };

/* Planes of a block that is sent: as many as one third of the grid's memory has, with two
 * arrays to sweep between and one for the right-hand side. */
struct trip {
    mmt_device *device;
    mmt_profile *profile;
    int64_t side, height, width;
    const float *now, *f;
    float *next;
    mmt_operand arrays[2], right;
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

/* One sweep over planes low to high of the block. A real program would keep its plans. */
static mmt_status sweep(const struct trip *t, int64_t low, int64_t high, mmt_operand from,
                        mmt_operand to, mmt_error *err)
{
    mmt_problem problem = mmt_jacobi3d_problem(MMT_F32, high - low, t->side, t->side);
    mmt_plan *plan = mmt_plan_create(t->device, t->profile, &problem, NULL, err);
    mmt_args args = mmt_args_defaults();
    if (!plan)
        return err->status;

    args.alpha = args.beta = 1.0 / 6;
    args.a = plane(t, from, low);
    args.b = plane(t, t->right, low);
    args.c = plane(t, to, low);
    mmt_status status = mmt_execute(plan, &args, NULL, err);
    if (status == MMT_OK)
        status = mmt_finish(t->device, NULL, err);
    mmt_plan_free(plan);
    return status;
}

/* Sends planes from … to, sweeps, and returns planes first … last. */
static mmt_status block(const struct trip *t, int64_t from, int64_t to, int64_t first,
                        int64_t last, mmt_error *err)
{
    int64_t area = t->side * t->side, h = t->height;
    mmt_status status = mmt_buffer_write(t->device, t->arrays[0], t->now + from * area,
                                         bytes_of(t, to - from), err);
    if (status == MMT_OK)
        status = mmt_buffer_write(t->device, t->right, t->f + from * area,
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

static int fail(const mmt_error *err)
{
    fprintf(stderr, "%s: %s\n", mmt_status_name(err->status), err->text);
    return err->status == MMT_ERROR_NOT_FOUND ? SKIP : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int64_t n = argc > 2 ? atoll(argv[2]) : USUAL_SIDE;
    int64_t h = argc > 3 ? atoll(argv[3]) : USUAL_HEIGHT, count = n * n * n;
    mmt_error err = { 0 };
    int blocks = 0;
    float *arrays[4];

    struct trip t = { .side = n, .height = h, .width = n / 3 };
    if (n < 3 || h < 1 || t.width <= 2 * h) {
        fprintf(stderr,
                "HEIGHT is %lld; a block of %lld planes needs one from 1 to %lld\n",
                (long long) h, (long long) t.width, (long long) (t.width - 1) / 2);
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 4; i++)
        if (!(arrays[i] = malloc((size_t) count * sizeof(float))))
            return EXIT_FAILURE;
    for (int64_t i = 0; i < count; i++) {
        arrays[0][i] = (float) (i * 7 % 101) / 101.0f;
        arrays[1][i] = (float) (i * 5 % 97) / 97.0f;
    }
    t.now = arrays[0], t.f = arrays[1], t.next = arrays[2];
    if (!(t.device = mmt_device_open(argc > 1 ? argv[1] : NULL, &err)))
        return fail(&err);
    t.profile = mmt_profile_find(t.device, NULL);
    mmt_operand *buffers[] = { &t.arrays[0], &t.arrays[1], &t.right };
    for (int i = 0; i < 3; i++)
        if (mmt_buffer_create(t.device, bytes_of(&t, t.width), buffers[i], &err))
            return fail(&err);
    if (pass(&t, &blocks, &err))
        return fail(&err);

    /* h plain sweeps between the two arrays that are left */
    for (int64_t j = 0; j < h; j++)
        host_sweep(n, arrays[j % 2 ? 3 : 0], arrays[1], arrays[j % 2 ? 0 : 3]);
    bool same = !memcmp(t.next, arrays[h % 2 ? 3 : 0], (size_t) count * sizeof(float));
    printf("%s: %lld^3, %lld sweeps in %d blocks of %lld planes: %s\n",
           mmt_device_name(t.device), (long long) n, (long long) h, blocks,
           (long long) t.width, same ? "the bits of plain sweeps" : "OTHER BITS");
    for (int i = 0; i < 3; i++)
        mmt_buffer_free(t.device, *buffers[i]);
    mmt_profile_free(t.profile);
    mmt_device_close(t.device);
    for (int i = 0; i < 4; i++)
        free(arrays[i]);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
