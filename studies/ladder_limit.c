/* ustyuzhanin: the simple kernel and its alternatives near the limit of memory.
 *
 * A is n x 256, B is 256 x n, and C takes nearly all of the memory: a square product of
 * that size would take minutes by a card of 100 GB and more, and hours by a block for
 * each element. 256 is what such a block of 256 threads multiplies at once, within the
 * 1024 that the paper allows it. Computing alone, by the device's clock: C never leaves.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ladder_judge.h"

enum { DEPTH = 256, MOST_RUNGS = 16, ROWS = 8, COLUMNS = 8 };

struct limit {
    const struct mmt_ladder *ladder;
    const struct mmt_study_device *device;
    mmt_problem problem;
    int64_t n;
    double *a, *b, *row; /* host: n x DEPTH, DEPTH x n, a row of C */
    mmt_operand on_a, on_b;
    struct mmt_climb climbs[MOST_RUNGS]; /* one for each rung */
    size_t workspaces[MOST_RUNGS];       /* bytes */
};

static double bytes_of(int64_t n)
{
    return 8 * ((double) n * (double) n + 2.0 * DEPTH * (double) n);
}

/* The largest n, a multiple of 32, whose A, B and C take no more; 0 where there is none.
 */
static int64_t order_for(double bytes)
{
    int64_t n = (int64_t) (sqrt((double) DEPTH * DEPTH + bytes / 8) - DEPTH);
    return n - n % 32;
}

/* ---- operands --------------------------------------------------------------------- */

/* Whole numbers from -8 to 8, so that every sum is exact in any order. */
static void fill_operand(double *matrix, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        matrix[i] = (double) (seed >> 40) / 0x1p20 - 8;
        matrix[i] = nearbyint(matrix[i]);
    }
}

static mmt_status send_operand(const struct limit *l, const double *matrix,
                               mmt_operand *out, mmt_error *err)
{
    size_t bytes = (size_t) l->n * DEPTH * sizeof *matrix;
    mmt_status status = mmt_buffer_create(l->device->device, bytes, out, err);
    return status == MMT_OK
               ? mmt_buffer_write(l->device->device, *out, matrix, bytes, err)
               : status;
}

static void finish_limit(struct limit *l)
{
    mmt_buffer_free(l->device->device, l->on_a);
    mmt_buffer_free(l->device->device, l->on_b);
    free(l->a);
    free(l->b);
    free(l->row);
}

static mmt_status start_limit(struct limit *l, mmt_error *err)
{
    size_t count = (size_t) l->n * DEPTH;
    const double host = 8 * (2.0 * (double) count + (double) l->n);
    mmt_status status =
        mmt_study_fits(l->device, "A, B and C", host, bytes_of(l->n), err);
    if (status != MMT_OK)
        return status;
    l->a = malloc(count * sizeof *l->a);
    l->b = malloc(count * sizeof *l->b);
    l->row = malloc((size_t) l->n * sizeof *l->row);
    if (!l->a || !l->b || !l->row)
        return mmt_study_fail(err, MMT_ERROR_MEMORY,
                              "no memory for A and B of %" PRId64 " x %d", l->n, DEPTH);
    fill_operand(l->a, (int64_t) count, (uint64_t) l->ladder->options->seed);
    fill_operand(l->b, (int64_t) count, (uint64_t) l->ladder->options->seed + 1);
    status = send_operand(l, l->a, &l->on_a, err);
    return status == MMT_OK ? send_operand(l, l->b, &l->on_b, err) : status;
}

/* ---- samples ---------------------------------------------------------------------- */

/* The first and the last of `count`, and some between. */
static int64_t sample_at(int64_t count, int which, int of)
{
    return (count - 1) * which / (of - 1);
}

static mmt_operand row_at(const struct limit *l, mmt_operand c, int64_t row)
{
    c.offset += (size_t) row * (size_t) l->n * sizeof *l->row;
    return c;
}

/* NaN into the rows that are looked at, so that what no kernel wrote is wrong. */
static mmt_status spoil_rows(const struct limit *l, mmt_operand c, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int64_t j = 0; j < l->n; j++)
        l->row[j] = NAN;
    for (int i = 0; i < ROWS && status == MMT_OK; i++)
        status =
            mmt_buffer_write(l->device->device, row_at(l, c, sample_at(l->n, i, ROWS)),
                             l->row, (size_t) l->n * sizeof *l->row, err);
    return status;
}

static double element_at(const struct limit *l, int64_t row, int64_t column)
{
    double sum = 0;
    for (int64_t k = 0; k < DEPTH; k++)
        sum += l->a[row * DEPTH + k] * l->b[k * l->n + column];
    return sum;
}

static mmt_status check_rows(const struct limit *l, const struct mmt_climb *climb,
                             mmt_operand c, mmt_error *err)
{
    for (int i = 0; i < ROWS; i++) {
        int64_t row = sample_at(l->n, i, ROWS);
        mmt_status status = mmt_buffer_read(l->device->device, l->row, row_at(l, c, row),
                                            (size_t) l->n * sizeof *l->row, err);
        if (status != MMT_OK)
            return status;
        for (int j = 0; j < COLUMNS; j++) {
            int64_t column = sample_at(l->n, j, COLUMNS);
            double wanted = element_at(l, row, column);
            if (l->row[column] != wanted)
                return mmt_study_fail(err, MMT_ERROR_DEVICE,
                                      "%s, n = %" PRId64
                                      ", inner dimension %d, on %s: C(%" PRId64
                                      ", %" PRId64 ") is %g; it must be %g",
                                      climb->rung->what, l->n, DEPTH, l->device->facts.id,
                                      row, column, l->row[column], wanted);
        }
    }
    return MMT_OK;
}

/* ---- one kernel ------------------------------------------------------------------- */

/* The second of two runs counts: the first brings the kernel to the device. */
static mmt_status time_plan(const struct limit *l, const mmt_plan *plan, mmt_operand c,
                            mmt_operand workspace, double *seconds, mmt_error *err)
{
    mmt_args args = mmt_args_defaults();
    mmt_timer *timer = mmt_timer_create(l->device->device, err);
    mmt_status status = timer ? MMT_OK : MMT_ERROR_DEVICE;

    args.a = l->on_a, args.b = l->on_b, args.c = c, args.workspace = workspace;
    args.beta = 0;
    for (int run = 0; run < 2 && status == MMT_OK; run++) {
        status = mmt_timer_start(timer, err);
        if (status == MMT_OK)
            status = mmt_execute(plan, &args, mmt_timer_queue(timer), err);
        if (status == MMT_OK)
            status = mmt_timer_stop(timer, seconds, err);
    }
    mmt_timer_free(timer);
    return status;
}

static mmt_status run_plan(const struct limit *l, const mmt_plan *plan,
                           struct mmt_climb *climb, mmt_error *err)
{
    mmt_device *device = l->device->device;
    size_t bytes = mmt_plan_workspace(plan);
    mmt_operand c = { 0 }, workspace = { 0 };
    mmt_status status =
        mmt_buffer_create(device, (size_t) (l->n * l->n) * sizeof *l->row, &c, err);

    if (status == MMT_OK && bytes)
        status = mmt_buffer_create(device, bytes, &workspace, err);
    if (status == MMT_OK)
        status = spoil_rows(l, c, err);
    if (status == MMT_OK)
        status = time_plan(l, plan, c, workspace, &climb->phases.marks, err);
    if (status == MMT_OK)
        status = check_rows(l, climb, c, err);
    mmt_buffer_free(device, workspace);
    mmt_buffer_free(device, c);
    return status;
}

/* What does not fit the device's memory or grid is left out with the reason. */
static mmt_status run_rung(struct limit *l, int rung, mmt_error *err)
{
    struct mmt_climb *climb = &l->climbs[rung];
    mmt_error why = { 0 };

    *climb = (struct mmt_climb){ .rung = &l->ladder->paper->rungs[rung],
                                 .type = MMT_F64,
                                 .n = l->n };
    mmt_plan *plan = mmt_ladder_plan(l->device, climb, &l->problem, &why);
    mmt_status status = plan ? MMT_OK : MMT_ERROR_UNSUPPORTED;
    if (plan) {
        l->workspaces[rung] = mmt_plan_workspace(plan);
        double all = bytes_of(l->n) + (double) l->workspaces[rung];
        status = mmt_study_fits(l->device, "A, B, C and the workspace", 0, all, &why);
    }
    if (status == MMT_OK)
        status = run_plan(l, plan, climb, &why);
    mmt_plan_free(plan);
    if (status == MMT_OK)
        return MMT_OK;
    if (plan && status != MMT_ERROR_MEMORY && status != MMT_ERROR_UNSUPPORTED) {
        *err = why;
        return status;
    }
    snprintf(climb->why, sizeof climb->why, "%.255s", why.text);
    return MMT_OK;
}

/* ---- what came of it -------------------------------------------------------------- */

static double gflops_of(const struct limit *l, const struct mmt_climb *climb)
{
    return climb->phases.marks > 0
               ? 2e-9 * DEPTH * (double) l->n * (double) l->n / climb->phases.marks
               : NAN;
}

static void add_rows(const struct limit *l, struct mmt_table *table)
{
    for (int r = 0; r < l->ladder->paper->num_rungs; r++) {
        const struct mmt_climb *climb = &l->climbs[r];
        double seconds = climb->why[0] ? NAN : climb->phases.marks;
        const struct mmt_cell row[] = {
            MMT_WORD(l->device->facts.id),
            MMT_WORD(climb->rung->what),
            MMT_NUMBER((double) l->n),
            MMT_NUMBER(DEPTH),
            MMT_NUMBER(bytes_of(l->n) / 0x1p30),
            MMT_NUMBER((double) l->workspaces[r] / 0x1p30),
            MMT_NUMBER(seconds * 1e3),
            MMT_NUMBER(climb->why[0] ? NAN : gflops_of(l, climb)),
            MMT_WORD(climb->why),
        };
        mmt_table_add(table, row);
    }
}

static const struct mmt_climb *climb_of(const struct limit *l, const char *algorithm)
{
    for (int r = 0; r < l->ladder->paper->num_rungs; r++)
        if (!strcmp(l->climbs[r].rung->algorithm, algorithm))
            return &l->climbs[r];
    return NULL;
}

/* " 1.9 times as fast as WHAT", or that it does not run there. */
static void tell_alternative(const struct mmt_climb *simple,
                             const struct mmt_climb *other, char out[96])
{
    if (other->why[0])
        snprintf(out, 96, "%.40s does not fit", other->rung->what);
    else
        snprintf(out, 96, "%.3g times as fast as %.40s",
                 other->phases.marks / simple->phases.marks, other->rung->what);
}

static const struct mmt_claim claim = {
    "ustyuzhanin", "text after Fig. 4",
    "the simple kernel is better than its alternatives near the limit of memory", ""
};

static void judge_limit(const struct limit *l, struct mmt_table *claims)
{
    const struct mmt_climb *simple = climb_of(l, "naive"), *split = climb_of(l, "split"),
                           *block = climb_of(l, "block");
    const double memory = (double) l->device->facts.memory;
    char one[96], two[96];

    if (bytes_of(l->n) < memory / 2) {
        mmt_claims_leave(claims, &claim, l->device->facts.id,
                         "A, B and C took %.3g of %.3g GiB; --memory %.0fG takes 0.6",
                         bytes_of(l->n) / 0x1p30, memory / 0x1p30, 0.6 * memory / 0x1p30);
        return;
    }
    if (simple->why[0]) {
        mmt_claims_leave(claims, &claim, l->device->facts.id, "%.200s", simple->why);
        return;
    }
    tell_alternative(simple, split, one);
    tell_alternative(simple, block, two);
    mmt_claims_add(claims, &claim, l->device->facts.id,
                   (split->why[0] || split->phases.marks >= simple->phases.marks) &&
                       (block->why[0] || block->phases.marks >= simple->phases.marks),
                   "%.4g GFLOP/s, n = %" PRId64 ", %.3g GiB; %s; %s",
                   gflops_of(l, simple), l->n, bytes_of(l->n) / 0x1p30, one, two);
}

static mmt_status measure_device(struct limit *l, struct mmt_table *table,
                                 struct mmt_table *claims, mmt_error *err)
{
    mmt_error why = { 0 };
    mmt_status status = start_limit(l, &why);

    if (status == MMT_ERROR_MEMORY) {
        mmt_claims_leave(claims, &claim, l->device->facts.id, "%s", why.text);
        finish_limit(l);
        return MMT_OK;
    }
    *err = why;
    for (int r = 0; r < l->ladder->paper->num_rungs && status == MMT_OK; r++)
        status = run_rung(l, r, err);
    finish_limit(l);
    if (status != MMT_OK)
        return status;
    add_rows(l, table);
    if (l->device->facts.kind == MMT_DEVICE_CPU)
        mmt_claims_leave(claims, &claim, l->device->facts.id, "%s is a CPU, no card",
                         l->device->facts.id);
    else
        judge_limit(l, claims);
    return MMT_OK;
}

/* Why it is not measured on a device; false where it is. */
static bool is_left(const struct mmt_ladder *ladder,
                    const struct mmt_study_device *device, struct mmt_table *claims)
{
    if (mmt_study_interrupted())
        mmt_claims_leave(claims, &claim, device->facts.id, "the study was interrupted");
    else if (!ladder->options->memory && device->facts.kind == MMT_DEVICE_CPU)
        mmt_claims_leave(claims, &claim, device->facts.id, "%s is a CPU, no card",
                         device->facts.id);
    else if (!ladder->options->memory)
        mmt_claims_leave(claims, &claim, device->facts.id,
                         "it needs --memory %.0fG, 0.6 of the card's",
                         0.6 * (double) device->facts.memory / 0x1p30);
    else
        return false;
    return true;
}

mmt_status mmt_ladder_check_memory(const struct mmt_study_options *options,
                                   mmt_error *err)
{
    if (!options->memory || order_for((double) options->memory))
        return MMT_OK;
    return mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                          "--memory is %" PRId64
                          " bytes; A of 32 x %d, B and C take %.0f bytes, "
                          "and it must be as many or more",
                          options->memory, DEPTH, bytes_of(32));
}

mmt_status mmt_ladder_limit(const struct mmt_ladder *ladder, struct mmt_table *claims,
                            mmt_error *err)
{
    static const struct mmt_column columns[] = {
        { "device", "", 0 },      { "kernel", "", 0 },     { "n", "rows", 0 },
        { "k", "", 0 },           { "A, B, C", "GiB", 3 }, { "workspace", "GiB", 3 },
        { "computing", "ms", 4 }, { "P", "GFLOP/s", 4 },   { "left out", "", 0 },
    };
    const int64_t n = order_for((double) ladder->options->memory);
    struct mmt_table table = mmt_table_start("ustyuzhanin: C = A*B near the limit of "
                                             "memory, f64, computing alone; A is n x k, "
                                             "B k x n",
                                             columns, sizeof columns / sizeof *columns);
    mmt_status status = MMT_OK;

    for (int d = 0; d < ladder->options->devices.count && status == MMT_OK; d++) {
        struct limit limit = { .ladder = ladder, .device = &ladder->devices[d], .n = n };
        if (is_left(ladder, limit.device, claims))
            continue;
        limit.problem = mmt_gemm_problem(MMT_F64, n, n, DEPTH);
        status = measure_device(&limit, &table, claims, err);
    }
    if (status == MMT_OK && table.num_rows)
        status = mmt_study_show(ladder->options, &table, "ladder-ustyuzhanin-limit", err);
    mmt_table_free(&table);
    return status;
}
