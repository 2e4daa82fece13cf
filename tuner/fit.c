#include "tuner/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/fit_bend.h"
#include "tuner/nnls.h"

/* The unknowns, in the order of the solver. */
enum {
    LAUNCH,
    TRAFFIC,
    RAMP,
    REDUCTION,
    BESIDE,
    CUT_BESIDE,
    WAVE,
    WAVE_STEP,
    BLOCK,
    STEP,
    CELL,
    CELL_STEP,
    UNALIGNED,
    UNALIGNED_CELL,
    WHOLE_STEP,
    CUT_STEP,
    READ_A,
    READ_B,
    CYCLE,
    NUM_TERMS,
};
_Static_assert((int) NUM_TERMS <= (int) MMT_NNLS_MAX, "the solver has room");

enum { MOST_STEPS = 30, MOST_RESIDENT = 16 };

struct points {
    struct mmt_fit_point *data;
    int count;
};

struct fit {
    double p[NUM_TERMS];
    int resident;
    double loss; /* sum of the errors' penalties */
};

/* How much a time grows with what a wave takes, with what a block takes, and with what
 * the traffic takes. */
struct growth {
    double wave, block, traffic;
};

/* The derivative of a bound by one of the two that it is made of; 1 where both are 0. */
static double slope(double part, double bound)
{
    return bound > 0 ? part / bound * (part / bound) : 1;
}

static double cells_of_a_block(const struct mmt_load *load)
{
    return load->cells / load->blocks;
}

static double block_seconds(const double p[NUM_TERMS], const struct mmt_load *load)
{
    double step = p[STEP] + (load->unaligned ? p[UNALIGNED] : 0);
    double cell = p[CELL] + (load->apart ? p[UNALIGNED_CELL] : 0);
    return p[BLOCK] + load->work * step +
           cells_of_a_block(load) * (cell + load->work * p[CELL_STEP]) +
           load->work / load->blocks *
               (load->whole * p[WHOLE_STEP] + load->cut * p[CUT_STEP]);
}

/* At the present unknowns. */
static struct growth growth_of(const struct fit *fit, const struct mmt_load *load)
{
    const double *p = fit->p;
    double wave = p[WAVE] + load->steps * p[WAVE_STEP], block = block_seconds(p, load);
    double full = ceil(load->blocks / fit->resident) - 1;
    double most = fit->resident, last = load->blocks - full * most;
    double full_seconds = mmt_cost_bound(wave, most * block);
    double last_seconds = mmt_cost_bound(wave, last * block);
    double busy = full * full_seconds + last_seconds, traffic = load->bytes * p[TRAFFIC];
    double seconds = mmt_cost_bound(busy, traffic), by_busy = slope(busy, seconds);

    return (struct growth){
        .wave = by_busy * (full * slope(wave, full_seconds) + slope(wave, last_seconds)),
        .block = by_busy * (full * most * slope(most * block, full_seconds) +
                            last * slope(last * block, last_seconds)),
        .traffic = traffic > 0 ? slope(traffic, seconds) : 0,
    };
}

/* What each unknown is multiplied by. */
static void terms(const struct mmt_load *load, const struct growth *growth,
                  double x[MMT_NNLS_MAX])
{
    memset(x, 0, MMT_NNLS_MAX * sizeof *x);
    if (load->cycles > 0) {
        x[LAUNCH] = 1;
        x[CYCLE] = load->cycles;
        return;
    }
    x[LAUNCH] = load->launches;
    x[RAMP] = load->root;
    x[REDUCTION] = load->workspace;
    x[BESIDE] = load->others;
    x[CUT_BESIDE] = load->others_cut;
    x[TRAFFIC] = growth->traffic * load->bytes;
    x[WAVE] = growth->wave;
    x[WAVE_STEP] = growth->wave * load->steps;
    x[BLOCK] = growth->block;
    x[STEP] = growth->block * load->work;
    x[CELL] = growth->block * cells_of_a_block(load);
    x[CELL_STEP] = x[CELL] * load->work;
    x[UNALIGNED] = load->unaligned ? x[STEP] : 0;
    x[READ_A] = load->a;
    x[READ_B] = load->b;
    x[UNALIGNED_CELL] = load->apart ? x[CELL] : 0;
    x[WHOLE_STEP] = x[STEP] * load->whole / load->blocks;
    x[CUT_STEP] = x[STEP] * load->cut / load->blocks;
}

static double dot(const double x[MMT_NNLS_MAX], const double p[NUM_TERMS])
{
    double sum = 0;
    for (int i = 0; i < NUM_TERMS; i++)
        sum += x[i] * p[i];
    return sum;
}

/* The expected seconds; x gets their derivatives by the unknowns. Twice the unknowns are
 * twice the time: so the unknowns times the derivatives add up to it (Euler). */
static double model(const struct fit *fit, const struct mmt_load *load,
                    double x[MMT_NNLS_MAX])
{
    struct growth growth = growth_of(fit, load);
    terms(load, &growth, x);
    return fmax(dot(x, fit->p), 1e-12);
}

/* Squares up to a fifth, then straight: a time that was disturbed pulls no harder. */
static const double straight = 0.2;

static double penalty(double error)
{
    double size = fabs(error);
    return size < straight ? size * size : straight * (2 * size - straight);
}

/* What is taken to be so where the samples leave it open: that the fastest of them is all
 * steps, and that there is no ramp. Rows of the solver, each as so many samples say it.
 */
struct prior {
    double fastest[MMT_NNLS_MAX], ramp[MMT_NNLS_MAX];
};

static const double fastest_weight = 0.02, ramp_weight = 20;

/* Steps of blocks, or of the elements of tiles: where a kernel computes whole tiles, the
 * shortest step is that of a block of few, which is no sign of speed. */
static double work_of(const struct mmt_load *load)
{
    return (load->whole > 0 ? load->whole : load->blocks) * fmax(load->steps, 1);
}

/* That the fastest sample's time is all steps: with the unknowns these come to 1. Tiles
 * are part of a step; without them here, `step` would have to take their place. */
static void fastest_terms(const struct points *points, double x[MMT_NNLS_MAX])
{
    const struct mmt_fit_point *fastest = points->data;
    for (int i = 1; i < points->count; i++) {
        const struct mmt_fit_point *at = &points->data[i];
        if (at->seconds / work_of(&at->load) < fastest->seconds / work_of(&fastest->load))
            fastest = at;
    }
    double steps = fmax(fastest->load.steps, 1) / fastest->seconds;
    memset(x, 0, MMT_NNLS_MAX * sizeof *x);
    x[CYCLE] = fastest->load.cycles / fastest->seconds;
    x[STEP] = steps * fastest->load.blocks;
    x[WHOLE_STEP] = steps * fastest->load.whole;
    x[CUT_STEP] = steps * fastest->load.cut;
}

/* With the unknowns this comes to the share that the ramp has of a sample's time. */
static void ramp_terms(const struct points *points, double x[MMT_NNLS_MAX])
{
    memset(x, 0, MMT_NNLS_MAX * sizeof *x);
    for (int i = 0; i < points->count; i++)
        x[RAMP] += points->data[i].load.root / points->data[i].seconds / points->count;
}

static double loss_of(const struct fit *fit, const struct points *points,
                      const struct prior *prior)
{
    double x[MMT_NNLS_MAX], sum = 0;
    for (int i = 0; i < points->count; i++)
        sum +=
            points->data[i].weight *
            penalty(log(model(fit, &points->data[i].load, x) / points->data[i].seconds));
    double away = dot(prior->fastest, fit->p) - 1, ramp = dot(prior->ramp, fit->p);
    return sum + fastest_weight * away * away + ramp_weight * ramp * ramp;
}

static void solve(struct mmt_nnls *sums, const struct prior *prior, double p[NUM_TERMS])
{
    double solution[MMT_NNLS_MAX];
    mmt_nnls_add(sums, prior->fastest, 1, fastest_weight);
    mmt_nnls_add(sums, prior->ramp, 0, ramp_weight);
    mmt_nnls_solve(sums, solution);
    memcpy(p, solution, NUM_TERMS * sizeof *p);
}

/* A first guess, as if nothing overlapped: the least relative errors of the samples that
 * a bound on traffic of `per_byte` seconds leaves to computing. */
static void guess(struct fit *fit, const struct points *points, const struct prior *prior,
                  double per_byte)
{
    struct mmt_nnls sums = { 0 };
    double x[MMT_NNLS_MAX];

    for (int i = 0; i < points->count; i++) {
        const struct mmt_fit_point *at = &points->data[i];
        if (per_byte * at->load.bytes > 0.7 * at->seconds)
            continue;
        terms(
            &at->load,
            &(struct growth){ ceil(at->load.blocks / fit->resident), at->load.blocks, 0 },
            x);
        for (int t = 0; t < NUM_TERMS; t++)
            x[t] /= at->seconds;
        mmt_nnls_add(&sums, x, 1, at->weight);
    }
    solve(&sums, prior, fit->p);
    fit->p[TRAFFIC] = per_byte;
}

/* The logarithm of the error, made linear about the present fit: Gauss and Newton's step.
 */
static void improve(const struct fit *from, const struct points *points,
                    const struct prior *prior, double p[NUM_TERMS])
{
    struct mmt_nnls sums = { 0 };
    double x[MMT_NNLS_MAX];
    bool traffic = false;

    for (int i = 0; i < points->count; i++) {
        const struct mmt_fit_point *at = &points->data[i];
        double expected = model(from, &at->load, x);
        double error = log(expected / at->seconds);
        double weight = fabs(error) < straight ? 1 : straight / fabs(error);
        traffic = traffic || x[TRAFFIC] * from->p[TRAFFIC] > 0.05 * expected;
        for (int t = 0; t < NUM_TERMS; t++)
            x[t] /= expected;
        mmt_nnls_add(&sums, x, 1 - error, weight * at->weight);
    }
    solve(&sums, prior, p);
    if (!traffic)
        p[TRAFFIC] = from->p[TRAFFIC];
}

/* A whole step, or the largest half, quarter, … of it that lowers the loss. */
static bool go(struct fit *fit, const double to[NUM_TERMS], const struct points *points,
               const struct prior *prior)
{
    for (double part = 1; part > 1e-3; part /= 2) {
        struct fit next = *fit;
        for (int t = 0; t < NUM_TERMS; t++)
            next.p[t] += part * (to[t] - fit->p[t]);
        next.loss = loss_of(&next, points, prior);
        if (next.loss < fit->loss) {
            bool far = next.loss < fit->loss * (1 - 1e-6);
            *fit = next;
            return far;
        }
    }
    return false;
}

static struct fit fit_from(const struct points *points, int resident, double per_byte)
{
    struct fit fit = { .resident = resident };
    double to[NUM_TERMS];
    struct prior prior;

    fastest_terms(points, prior.fastest);
    ramp_terms(points, prior.ramp);
    guess(&fit, points, &prior, per_byte);
    fit.loss = loss_of(&fit, points, &prior);
    for (int i = 0; i < MOST_STEPS; i++) {
        improve(&fit, points, &prior, to);
        if (!go(&fit, to, points, &prior))
            break;
    }
    return fit;
}

/* From two sides, as which samples traffic bounds is found out on the way: from no bound,
 * and from the fastest that any time proves traffic to be. */
static struct fit fit_resident(const struct points *points, int resident)
{
    double per_byte = INFINITY;
    for (int i = 0; i < points->count; i++)
        per_byte = fmin(per_byte, points->data[i].seconds / points->data[i].load.bytes);

    struct fit bound = fit_from(points, resident, per_byte);
    struct fit free = fit_from(points, resident, 0);
    return bound.loss < free.loss ? bound : free;
}

/* Registers decide, unseen, how many blocks are resident: the number that fits best. */
static struct fit fit_points(const struct points *points)
{
    struct fit best = { .loss = INFINITY };
    int most = points->data[0].load.fit;

    if (most < 1 || most > MOST_RESIDENT)
        most = MOST_RESIDENT;
    for (int resident = 1; resident <= most; resident++) {
        struct fit fit = fit_resident(points, resident);
        if (fit.loss < best.loss * (1 - 1e-3))
            best = fit;
    }
    return best;
}

static struct mmt_cost cost_of(const struct fit *fit, int depth)
{
    const double *p = fit->p;

    return (struct mmt_cost){
        .fitted = true,
        .launch = p[LAUNCH],
        .block = p[BLOCK],
        .step = p[STEP],
        .bandwidth = p[TRAFFIC] > 0 ? 1 / p[TRAFFIC] : 0,
        .ramp = p[RAMP],
        .reduction = p[REDUCTION],
        .beside = p[BESIDE],
        .cut_beside = p[CUT_BESIDE],
        .wave = p[WAVE],
        .wave_step = p[WAVE_STEP],
        .cell = p[CELL],
        .cell_step = p[CELL_STEP],
        .unaligned = p[UNALIGNED],
        .unaligned_cell = p[UNALIGNED_CELL],
        .whole_step = p[WHOLE_STEP],
        .cut_step = p[CUT_STEP],
        .read_a = p[READ_A],
        .read_b = p[READ_B],
        .cycle = p[CYCLE],
        .resident = fit->resident,
        .depth = depth,
    };
}

mmt_status mmt_fit_cost(const struct mmt_config *config, const struct mmt_caps *caps,
                        const struct mmt_fit_sample *samples, size_t count,
                        struct mmt_cost *out, mmt_error *err)
{
    struct points points = { .count = (int) count };

    *out = (struct mmt_cost){ 0 };
    if (count < MMT_FIT_LEAST_SHAPES)
        return MMT_OK;
    const int depth = mmt_cost_depth(config, samples[0].problem.type);
    points.data = calloc(count, sizeof *points.data);
    if (!points.data)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to fit costs");
    for (size_t i = 0; i < count; i++)
        points.data[i] = (struct mmt_fit_point){
            .load = mmt_cost_load(config, &samples[i].problem, caps, depth),
            .seconds = samples[i].seconds,
            .weight = samples[i].weight > 0 ? samples[i].weight : 1,
        };
    struct fit fit = fit_points(&points);
    *out = cost_of(&fit, depth);
    mmt_fit_bend(points.data, points.count, out);
    free(points.data);
    return MMT_OK;
}
