/* Runs Jacobi's sweeps over a grid that exceeds device memory, block by block with
 * overlapping planes. */
#include "pyramid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cpu.h"

/* The planes of one block: it reads [from, to) and returns [first, last). */
struct block {
    int64_t from, to, first, last;
};

/* Device memory of one block; two of these where copies overlap computing. */
struct slot {
    mmt_operand ping, pong, f;
    struct block block;
    bool busy;
};

struct mmt_pyramid {
    const struct mmt_study_device *device;
    const struct mmt_pyramid_grid *grid;
    struct mmt_pyramid_shape shape;
    size_t plane; /* bytes */
    mmt_timer *timer;
    mmt_plan **plans; /* by planes; NULL where none was needed yet */
    struct slot slots[2];
    struct mmt_pyramid_counts *total, *interior;
};

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double) (*state >> 40) / 0x1p24 - 0.5;
}

void mmt_pyramid_grid_free(struct mmt_pyramid_grid *grid)
{
    free((void *) grid->f);
    free((void *) grid->now);
    free(grid->next);
}

static void *random_array(mmt_type type, int64_t count, uint64_t *state)
{
    void *array = malloc((size_t) count * mmt_type_size(type));
    for (int64_t i = 0; array && i < count; i++) {
        double value = random_number(state);
        if (type == MMT_F64)
            ((double *) array)[i] = value;
        else
            ((float *) array)[i] = (float) value;
    }
    return array;
}

mmt_status mmt_pyramid_grid_make(mmt_type type, int64_t planes, int64_t side,
                                 int64_t seed, struct mmt_pyramid_grid *out,
                                 mmt_error *err)
{
    int64_t count = planes * side * side;
    uint64_t state = (uint64_t) seed;

    *out =
        (struct mmt_pyramid_grid){ .type = type,
                                   .planes = planes,
                                   .side = side,
                                   .scale = 1.0 / 6,
                                   .f = random_array(type, count, &state),
                                   .now = random_array(type, count, &state),
                                   .next = calloc((size_t) count, mmt_type_size(type)) };
    if (out->f && out->now && out->next)
        return MMT_OK;
    mmt_pyramid_grid_free(out);
    return mmt_study_fail(err, MMT_ERROR_MEMORY,
                          "no memory for grids of %" PRId64 " elements", count);
}

size_t mmt_pyramid_bytes(const struct mmt_pyramid_grid *grid)
{
    return (size_t) (grid->planes * grid->side * grid->side) * mmt_type_size(grid->type);
}

struct mmt_pyramid_counts mmt_pyramid_table1(const struct mmt_pyramid_grid *grid,
                                             const struct mmt_pyramid_shape *shape)
{
    int64_t n = grid->side, r = shape->width, h = shape->height;
    return (struct mmt_pyramid_counts){
        .blocks = 1,
        .sent = 2 * r * n * n,
        .received = (r - 2 * h) * n * n,
        .stencils = h * (r - h - 1) * (n - 2) * (n - 2),
    };
}

/* ---- plans and memory ------------------------------------------------------------- */

static mmt_status plan_for(struct mmt_pyramid *p, int64_t planes, mmt_plan **out,
                           mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    mmt_problem problem =
        mmt_jacobi3d_problem(p->grid->type, planes, p->grid->side, p->grid->side);

    options.max_workspace = 0;
    if (!p->plans[planes])
        p->plans[planes] = mmt_plan_create(p->device->device, p->device->profile,
                                           &problem, &options, err);
    *out = p->plans[planes];
    return *out ? MMT_OK : MMT_ERROR_UNSUPPORTED;
}

static mmt_status open_slot(struct mmt_pyramid *p, struct slot *slot, mmt_error *err)
{
    size_t bytes = (size_t) p->shape.width * p->plane;
    mmt_status status = mmt_buffer_create(p->device->device, bytes, &slot->ping, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(p->device->device, bytes, &slot->pong, err);
    if (status == MMT_OK)
        status = mmt_buffer_create(p->device->device, bytes, &slot->f, err);
    return status;
}

void mmt_pyramid_close(struct mmt_pyramid *p)
{
    if (!p)
        return;
    for (int i = 0; i < 2; i++) {
        mmt_buffer_free(p->device->device, p->slots[i].ping);
        mmt_buffer_free(p->device->device, p->slots[i].pong);
        mmt_buffer_free(p->device->device, p->slots[i].f);
    }
    for (int64_t planes = 0; p->plans && planes <= p->shape.width; planes++)
        mmt_plan_free(p->plans[planes]);
    free(p->plans);
    mmt_timer_free(p->timer);
    free(p);
}

static mmt_status check_shape(const struct mmt_pyramid_grid *grid,
                              const struct mmt_pyramid_shape *shape, mmt_error *err)
{
    if (shape->width >= grid->planes
            ? shape->height >= 1
            : shape->height >= 1 && shape->width > 2 * shape->height)
        return MMT_OK;
    return mmt_study_fail(
        err, MMT_ERROR_ARGUMENT,
        "a block of %lld planes is too thin for a pyramid of height %lld; it "
        "needs at least %lld",
        (long long) shape->width, (long long) shape->height,
        (long long) (2 * shape->height + 1));
}

mmt_status mmt_pyramid_open(const struct mmt_study_device *device,
                            const struct mmt_pyramid_grid *grid,
                            const struct mmt_pyramid_shape *shape,
                            struct mmt_pyramid **out, mmt_error *err)
{
    mmt_status status = check_shape(grid, shape, err);
    if (status != MMT_OK)
        return status;

    struct mmt_pyramid *p = calloc(1, sizeof *p);
    if (!p)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a pyramid");
    p->device = device;
    p->grid = grid;
    p->shape = *shape;
    p->plane = (size_t) (grid->side * grid->side) * mmt_type_size(grid->type);
    p->plans = calloc((size_t) shape->width + 1, sizeof *p->plans);
    if (!p->plans)
        status = mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for a pyramid");
    else if (!(p->timer = mmt_timer_create(device->device, err)))
        status = MMT_ERROR_DEVICE;
    for (int i = 0; i <= shape->overlap && status == MMT_OK; i++)
        status = open_slot(p, &p->slots[i], err);
    if (status != MMT_OK)
        mmt_pyramid_close(p);
    else
        *out = p;
    return status;
}

/* ---- one block -------------------------------------------------------------------- */

/* Blocks return R - 2h planes each; the first and the last return those as well that need
 * no margin. The last is as wide as the others, and has more margin than it needs. */
static struct block block_at(const struct mmt_pyramid *p, int64_t first)
{
    int64_t h = p->shape.height, planes = p->grid->planes;
    struct block b = { .first = first, .from = first - h > 0 ? first - h : 0 };

    b.to = b.from + p->shape.width;
    if (b.to >= planes) {
        b.to = planes;
        b.from = planes - p->shape.width;
    }
    b.last = b.to == planes ? planes : b.to - h;
    return b;
}

static const char *host_plane(const struct mmt_pyramid *p, const void *array,
                              int64_t plane)
{
    return (const char *) array + (size_t) plane * p->plane;
}

static mmt_status send_block(struct mmt_pyramid *p, struct slot *slot,
                             const struct block *block, mmt_error *err)
{
    size_t bytes = (size_t) (block->to - block->from) * p->plane;
    mmt_status status =
        mmt_buffer_write(p->device->device, slot->ping,
                         host_plane(p, p->grid->now, block->from), bytes, err);
    if (status == MMT_OK)
        status = mmt_buffer_write(p->device->device, slot->f,
                                  host_plane(p, p->grid->f, block->from), bytes, err);
    slot->block = *block;
    slot->busy = true;
    return status;
}

static mmt_operand plane_at(const struct mmt_pyramid *p, mmt_operand array, int64_t plane)
{
    array.offset += (size_t) plane * p->plane;
    return array;
}

/* Queues the block's sweeps. Sweep j computes the planes that are still valid; a plane at
 * an end of the grid is given, and stays. Afterwards `ping` has the result. */
static mmt_status sweep_block(struct mmt_pyramid *p, struct slot *slot, mmt_error *err)
{
    const struct block *b = &slot->block;
    int64_t low_step = b->from > 0, high_step = b->to < p->grid->planes;
    mmt_args args = mmt_args_defaults();
    mmt_status status = MMT_OK;

    args.alpha = 1.0 / 6;
    args.beta = p->grid->scale;
    for (int64_t j = 0; j < p->shape.height && status == MMT_OK; j++) {
        int64_t low = j * low_step, high = b->to - b->from - j * high_step;
        mmt_plan *plan;
        mmt_operand other = slot->pong;
        status = plan_for(p, high - low, &plan, err);
        if (status != MMT_OK)
            return status;
        args.a = plane_at(p, slot->ping, low);
        args.b = plane_at(p, slot->f, low);
        args.c = plane_at(p, slot->pong, low);
        status = mmt_execute(plan, &args, mmt_timer_queue(p->timer), err);
        slot->pong = slot->ping;
        slot->ping = other;
    }
    return status;
}

static mmt_status receive_block(struct mmt_pyramid *p, struct slot *slot, mmt_error *err)
{
    const struct block *b = &slot->block;
    char *to = (char *) host_plane(p, p->grid->next, b->first);
    slot->busy = false;
    return mmt_buffer_read(p->device->device, to,
                           plane_at(p, slot->ping, b->first - b->from),
                           (size_t) (b->last - b->first) * p->plane, err);
}

static void count_block(struct mmt_pyramid *p, const struct block *b)
{
    int64_t n = p->grid->side, planes = b->to - b->from;
    int64_t low_step = b->from > 0, high_step = b->to < p->grid->planes;
    struct mmt_pyramid_counts one = { .blocks = 1,
                                      .sent = 2 * planes * n * n,
                                      .received = (b->last - b->first) * n * n };

    for (int64_t j = 0; j < p->shape.height; j++)
        one.stencils += (planes - j * (low_step + high_step) - 2) * (n - 2) * (n - 2);
    p->total->blocks++;
    p->total->sent += one.sent;
    p->total->received += one.received;
    p->total->stencils += one.stencils;
    if (p->interior && low_step && high_step)
        *p->interior = one;
}

/* ---- all blocks ------------------------------------------------------------------- */

/* One after the other. */
static mmt_status walk_grid(struct mmt_pyramid *p, mmt_error *err)
{
    struct slot *slot = &p->slots[0];
    mmt_status status = MMT_OK;

    for (int64_t first = 0; first < p->grid->planes && status == MMT_OK;) {
        struct block block = block_at(p, first);
        status = send_block(p, slot, &block, err);
        if (status == MMT_OK)
            status = sweep_block(p, slot, err);
        if (status == MMT_OK)
            status = mmt_finish(p->device->device, mmt_timer_queue(p->timer), err);
        if (status == MMT_OK)
            status = receive_block(p, slot, err);
        count_block(p, &block);
        first = block.last;
    }
    return status;
}

/* While one block is computed, the one before it is received and the next is sent. */
static mmt_status walk_overlapped(struct mmt_pyramid *p, mmt_error *err)
{
    struct block block = block_at(p, 0);
    mmt_status status = send_block(p, &p->slots[0], &block, err);

    for (int i = 0; status == MMT_OK && p->slots[i % 2].busy; i++) {
        struct slot *slot = &p->slots[i % 2], *other = &p->slots[(i + 1) % 2];
        status = sweep_block(p, slot, err);
        if (status == MMT_OK && other->busy)
            status = receive_block(p, other, err);
        block = slot->block;
        count_block(p, &block);
        if (status == MMT_OK && block.last < p->grid->planes) {
            block = block_at(p, block.last);
            status = send_block(p, other, &block, err);
        }
        if (status == MMT_OK)
            status = mmt_finish(p->device->device, mmt_timer_queue(p->timer), err);
        if (status == MMT_OK && !other->busy)
            status = receive_block(p, slot, err);
    }
    return status;
}

mmt_status mmt_pyramid_pass(struct mmt_pyramid *p, struct mmt_pyramid_counts *total,
                            struct mmt_pyramid_counts *interior, mmt_error *err)
{
    *total = (struct mmt_pyramid_counts){ 0 };
    if (interior)
        *interior = *total;
    p->total = total;
    p->interior = interior;
    p->slots[0].busy = p->slots[1].busy = false;
    double start = mmt_study_now();
    mmt_status status = p->shape.overlap ? walk_overlapped(p, err) : walk_grid(p, err);
    total->seconds = mmt_study_now() - start;
    return status;
}

/* ---- until nothing changes -------------------------------------------------------- */

double mmt_pyramid_change(const struct mmt_pyramid_grid *grid)
{
    int64_t count = grid->planes * grid->side * grid->side;
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double gap =
            grid->type == MMT_F64
                ? ((const double *) grid->next)[i] - ((const double *) grid->now)[i]
                : ((const float *) grid->next)[i] - ((const float *) grid->now)[i];
        most = fmax(most, fabs(gap));
    }
    return most;
}

void mmt_pyramid_turn(struct mmt_pyramid_grid *grid)
{
    void *now = (void *) grid->now;
    grid->now = grid->next;
    grid->next = now;
}

mmt_status mmt_pyramid_solve(struct mmt_pyramid *pyramid, struct mmt_pyramid_grid *grid,
                             double least, int most, struct mmt_pyramid_end *out,
                             mmt_error *err)
{
    struct mmt_pyramid_counts counts;
    mmt_status status = MMT_OK;

    *out = (struct mmt_pyramid_end){ 0, INFINITY };
    while (out->passes < most && out->change > least && status == MMT_OK) {
        status = mmt_pyramid_pass(pyramid, &counts, NULL, err);
        out->change = mmt_pyramid_change(grid);
        out->passes++;
        mmt_pyramid_turn(grid);
    }
    return status;
}

/* ---- plain sweeps ----------------------------------------------------------------- */

/* In the order of jacobi3d, each operation rounded by itself. */
#define DEFINE_SWEEP(real)                                                               \
    static void sweep_##real(const struct mmt_pyramid_grid *g, const real *a, real *c)   \
    {                                                                                    \
        const int64_t n = g->side, plane = n * n;                                        \
        const real sixth = (real) (1.0 / 6), scale = (real) g->scale, *f = g->f;         \
        memcpy(c, a, (size_t) (g->planes * plane) * sizeof(real));                       \
        for (int64_t z = 1; z < g->planes - 1; z++)                                      \
            for (int64_t i = 1; i < n - 1; i++)                                          \
                for (int64_t j = 1; j < n - 1; j++) {                                    \
                    const int64_t at = z * plane + i * n + j;                            \
                    const real sum =                                                     \
                        ((a[at - plane] + a[at + plane]) + (a[at - n] + a[at + n])) +    \
                        (a[at - 1] + a[at + 1]);                                         \
                    const real own = sixth * sum, right = scale * f[at];                 \
                    c[at] = own + right;                                                 \
                }                                                                        \
    }
DEFINE_SWEEP(float)
DEFINE_SWEEP(double)

void mmt_pyramid_plain(const struct mmt_pyramid_grid *grid, int64_t sweeps, void *spare)
{
    const void *from = grid->now;
    for (int64_t i = 0; i < sweeps; i++) {
        void *to = (sweeps - i) % 2 ? grid->next : spare;
        if (grid->type == MMT_F64)
            sweep_double(grid, from, to);
        else
            sweep_float(grid, from, to);
        from = to;
    }
}
