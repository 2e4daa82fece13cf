/* Products that depend on each other, queued in a row: each reads what the one before
 * wrote, and writes what the one before read. A permutation as the other operand only
 * moves rows or columns, so that the end is known exactly, and any launch that began too
 * early shows: what it read is older than what was to be read.
 *
 *     test_chain [DEVICE [TEMPLATE]] */
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "generator/generator.h"
#include "runtime/runtime.h"
#include "tests/support/test.h"
#include "tuner/verify/number.h"

enum { LINKS = 40, LINKS_OF_CPU = 8, SEEDS = 4 };

static const mmt_type types[] = {
    MMT_F32, MMT_F64, MMT_I32, MMT_BF16, MMT_F16, MMT_TF32
};

/* The matrix that is passed on is m x n; it is multiplied from the right, or the left. */
static const struct shape {
    int m, n, batch;
    bool left;
} shapes[] = { { 200, 264, 1, false }, { 200, 264, 1, true },   { 8, 1000, 1, false },
               { 1000, 8, 1, true },   { 8, 1000, 1, true },    { 1000, 8, 1, false },
               { 24, 24, 60, false },  { 1000, 1000, 1, false } };

struct chain {
    mmt_device *device;
    mmt_queue queue;
    const struct shape *shape;
    int links;
    mmt_problem problem;
    struct mmt_kernel *kernel;
    mmt_operand moved, x[2], workspace;
};

static int kernels, failures;

/* ---- the operands ---------------------------------------------------------------- */

static int64_t entries(const struct shape *s)
{
    return (int64_t) s->m * s->n * s->batch;
}

/* Small whole numbers, which every type has; no two neighbours are alike. */
static double start_at(int64_t z, int64_t i, int64_t j)
{
    return (double) ((z * 3 + i * 5 + j * 7 + i * j) % 13 - 6);
}

static mmt_status upload(struct chain *c, mmt_operand *to, const void *bytes, size_t size,
                         mmt_error *err)
{
    mmt_status status = mmt_buffer_create(c->device, size, to, err);
    return status ? status : mmt_buffer_write(c->device, *to, bytes, size, err);
}

/* Moves what it multiplies on by one: down if it stands on the left, else to the right.
 * One for the whole batch. */
static mmt_status make_permutation(struct chain *c, mmt_error *err)
{
    const int side = c->shape->left ? c->shape->m : c->shape->n;
    const size_t size = mmt_type_size(c->problem.type);
    char *bytes = calloc((size_t) side * (size_t) side, size);

    for (int i = 0; i < side; i++) {
        const int row = c->shape->left ? (i + 1) % side : i;
        const int column = c->shape->left ? i : (i + 1) % side;
        mmt_number_write(c->problem.type, 1,
                         bytes + (size_t) (row * side + column) * size);
    }
    mmt_status status =
        upload(c, &c->moved, bytes, (size_t) side * (size_t) side * size, err);
    free(bytes);
    return status;
}

static mmt_status make_operands(struct chain *c, mmt_error *err)
{
    const struct shape *s = c->shape;
    const size_t size = mmt_type_size(c->problem.type), all = (size_t) entries(s) * size;
    const size_t workspace = mmt_kernel_workspace(c->kernel);
    char *bytes = malloc(all);

    for (int64_t z = 0, at = 0; z < s->batch; z++)
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t j = 0; j < s->n; j++, at++)
                mmt_number_write(c->problem.type, start_at(z, i, j),
                                 bytes + (size_t) at * size);
    mmt_status status = make_permutation(c, err);
    if (!status)
        status = upload(c, &c->x[0], bytes, all, err);
    if (!status)
        status = upload(c, &c->x[1], bytes, all, err);
    if (!status && workspace)
        status = mmt_buffer_create(c->device, workspace, &c->workspace, err);
    free(bytes);
    return status;
}

/* ---- one chain ------------------------------------------------------------------- */

static mmt_status run(struct chain *c, mmt_error *err)
{
    mmt_status status = MMT_OK;

    for (int link = 0; link < c->links && !status; link++) {
        mmt_args args = mmt_args_defaults();
        args.a = c->shape->left ? c->moved : c->x[link % 2];
        args.b = c->shape->left ? c->x[link % 2] : c->moved;
        args.c = c->x[(link + 1) % 2];
        args.workspace = c->workspace;
        status = mmt_kernel_run(c->kernel, &args, &(struct mmt_turn){ .queue = c->queue },
                                err);
    }
    return status ? status : mmt_finish(c->device, c->queue, err);
}

static bool is_right(struct chain *c, mmt_error *err)
{
    const struct shape *s = c->shape;
    const size_t size = mmt_type_size(c->problem.type), all = (size_t) entries(s) * size;
    char *bytes = malloc(all);
    bool right = !mmt_buffer_read(c->device, bytes, c->x[c->links % 2], all, err);

    for (int64_t z = 0, at = 0; z < s->batch && right; z++)
        for (int64_t i = 0; i < s->m && right; i++)
            for (int64_t j = 0; j < s->n && right; j++, at++) {
                const int64_t row = s->left ? (i + (s->m - 1) * c->links) % s->m : i;
                const int64_t column = s->left ? j : (j + (s->n - 1) * c->links) % s->n;
                const double found =
                    (double) mmt_number_read(c->problem.type, bytes + (size_t) at * size);
                right = found == start_at(z, row, column);
                if (!right)
                    mmt_fail(err, MMT_ERROR_DEVICE,
                             "entry %lld, %lld of %lld is %g, not %g", (long long) i,
                             (long long) j, (long long) z, found,
                             start_at(z, row, column));
            }
    free(bytes);
    return right;
}

static void check(mmt_device *device, mmt_queue queue, const struct mmt_config *config,
                  mmt_type type, const struct shape *shape)
{
    struct chain c = { .device = device,
                       .queue = queue,
                       .shape = shape,
                       .links = mmt_device_caps(device)->kind == MMT_GPU ? LINKS
                                                                         : LINKS_OF_CPU };
    SCOPED_TEXT words = { 0 };
    struct mmt_bound bound;

    mmt_problem problem =
        mmt_gemm_problem(type, shape->m, shape->n, shape->left ? shape->m : shape->n);
    problem.batch = shape->batch;
    *(shape->left ? &problem.stride_b : &problem.stride_a) =
        (int64_t) shape->m * shape->n;
    if (!CHECK_OK(mmt_problem_normalise(&problem, &c.problem, &err), err) ||
        c.problem.out != type ||
        !mmt_bind(config, &c.problem, mmt_device_caps(device), &bound))
        return;
    mmt_config_print(config, &words);
    mmt_status status = mmt_kernel_create(device, &bound, true, NULL, &c.kernel, &err);
    if (!status)
        status = make_operands(&c, &err);
    if (!status)
        status = run(&c, &err);
    kernels++;
    if (status || !is_right(&c, &err)) {
        failures++;
        printf("not so: %s, %s, %dx%d, from the %s: %s\n", mmt_text_string(&words),
               mmt_type_name(type), shape->m, shape->n, shape->left ? "left" : "right",
               err.text);
    }
    for (int i = 0; i < 2; i++)
        mmt_buffer_free(device, c.x[i]);
    mmt_buffer_free(device, c.moved);
    mmt_buffer_free(device, c.workspace);
    mmt_kernel_free(c.kernel);
}

/* ---- all of them ----------------------------------------------------------------- */

static double multiplies(const struct shape *s)
{
    return (double) entries(s) * (s->left ? s->m : s->n);
}

/* Starting points from all over the list. A CPU, which is slow and begins nothing early,
 * has one of them, of one type, in short chains, and nothing large. */
static void check_template(mmt_device *device, mmt_queue queue,
                           const struct mmt_template *template, mmt_type type)
{
    const struct mmt_caps *caps = mmt_device_caps(device);
    const struct mmt_variant variant = { .type = type, .out = type, .aligned = true };
    const bool gpu = caps->kind == MMT_GPU;
    const int most = gpu ? SEEDS : type == MMT_F32;
    const int step = most && template->num_seeds > most ? template->num_seeds / most : 1;

    for (int i = 0, done = 0; i < template->num_seeds && done < most; i++) {
        struct mmt_config config = { .template = template };
        memcpy(config.values, template->seeds[i * step % template->num_seeds],
               sizeof config.values);
        if (mmt_config_check_device(&config, &variant, caps))
            continue;
        done++;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            if (gpu || multiplies(&shapes[s]) < 2e7)
                check(device, queue, &config, type, &shapes[s]);
    }
}

int main(int argc, char **argv)
{
    mmt_queue queue;
    mmt_device *device = mmt_device_open(argc > 1 ? argv[1] : "0", &err);

    if (!device) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    if (!CHECK_OK(mmt_queue_create(device, &queue, &err), err))
        return 1;
    for (int i = 0; mmt_templates[i]; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            if (mmt_templates[i]->op == MMT_GEMM &&
                (argc < 3 || !strcmp(argv[2], mmt_templates[i]->name)))
                check_template(device, queue, mmt_templates[i], types[t]);
    printf("chain: %d kernels on %s, %d failed\n", kernels, mmt_device_name(device),
           failures);
    mmt_queue_free(device, queue);
    mmt_device_close(device);
    return failures || !kernels;
}
