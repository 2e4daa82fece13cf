/* What a configuration should take before anything was built or measured: costmodel.h. */
#include <math.h>

#include "costmodel/costmodel.h"

static double or_else(int value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

/* ---- a CPU: work of the busiest core, by how well a register tile feeds it --------- */

/* A core has one block at a time. */
static double on_cpu(const struct mmt_load *load, double threads, double k,
                     const struct mmt_caps *caps)
{
    double outputs = fmax(load->outputs / (load->blocks * threads), 1);
    double warps = threads / fmax(caps->warp, 1);
    double reuse = sqrt(outputs) / (sqrt(outputs) + 1.5);
    return load->outputs * k / (reuse * fmin(1, warps / 8)) +
           load->workspace / fmax(caps->sms, 1);
}

/* ---- a GPU: cycles of the busiest multiprocessor ----------------------------------- */

/* What a block has to do. */
struct share {
    double m, n, k;    /* of C, and how deep */
    double blocks;     /* on the busiest multiprocessor, one after another or at once */
    double threads;    /* of a block */
    double step;       /* elements of k between two waits */
    double stages;     /* steps that are under way at a time */
    double fit, spill; /* blocks that are resident; times slower as registers spill */
};

/* Registers: a thread keeps its accumulators in them, and needs some forty more. */
static void find_residency(struct share *s, const struct mmt_load *load, double words,
                           const struct mmt_caps *caps)
{
    double most = caps->registers_per_thread ? caps->registers_per_thread : INFINITY;
    double wanted = s->m * s->n / s->threads * words + 40;
    s->fit = load->fit > 0 ? load->fit : 16;
    s->spill = 1 + fmax(0, wanted - most) / 50;
    if (caps->registers_per_sm)
        s->fit = fmin(s->fit,
                      floor(caps->registers_per_sm / (s->threads * fmin(wanted, most))));
    s->fit = fmax(s->fit, 1);
}

/* How deep a block's split of a tile is: of slices whole steps, as they are many times
 * the work (wgmma.cu). */
static double depth_of_split(const struct mmt_config *config, const mmt_problem *problem,
                             const struct mmt_work *work)
{
    double k = fmax((double) problem->k, 1);
    if (problem->type == MMT_I32 && mmt_config_in_slices(config, MMT_I32))
        k = ceil(k / work->step) * work->step;
    return ceil(k / work->splits);
}

/* Tiles are dealt out whole, but for those that are cut into runs. */
static struct share share_of(const struct mmt_bound *bound, const struct mmt_load *load)
{
    const struct mmt_config *config = &bound->config;
    const mmt_problem *problem = bound->problem;
    const struct mmt_caps *caps = bound->caps;
    const struct mmt_work work = mmt_config_work(config, problem->type);
    double size = mmt_cost_element(config, problem->type), sms = fmax(caps->sms, 1);
    double outputs = fmax(load->outputs / fmax(load->blocks, 1), 1);
    struct share s = {
        .m = work.m,
        .n = work.n,
        .k = depth_of_split(config, problem, &work),
        .blocks = load->blocks,
        .threads = load->threads,
        .step = work.step,
        .stages = or_else(work.stages, 2),
    };
    if (work.m > 0 && work.n > 0 && !work.batches) {
        double rows = (double) (work.swap ? problem->n : problem->m);
        double columns = (double) (work.swap ? problem->m : problem->n);
        double tiles = ceil(rows / s.m) * ceil(columns / s.n) * work.splits *
                       (double) problem->batch / sms;
        s.blocks = load->tiles > 0 ? fmax(tiles, 1) : ceil(tiles);
    } else {
        s.m = s.n = sqrt(outputs * work.splits);
    }
    find_residency(&s, load, fmax(size, 4) / 4, caps);
    return s;
}

/* Cycles where leading dimensions are unaligned, and elements come one by one: those of
 * four bytes or more still by asynchronous copies, smaller ones through registers. */
static double one_by_one(const struct share *s, double size)
{
    return s->blocks * (s->m + s->n) * s->k / 32 * (size < 4 ? 6 : 4);
}

static const double launching = 3000;

/* The soft maximum (a 3-norm) of what a multiprocessor computes, what it fetches from the
 * L2 cache, what all of them fetch from memory, and what the blocks wait for step by
 * step; and what comes before and after it. The constants are those of recent cards,
 * within a factor of two. */
static double on_gpu(const struct share *s, const struct mmt_load *load,
                     const struct mmt_bound *bound)
{
    static const double l2_bytes = 64, memory_bytes = 18, latency = 800,
                        around_tile = 1500;
    const struct mmt_config *config = &bound->config;
    const mmt_type type = bound->problem->type;
    double size = mmt_cost_element(config, type), sms = fmax(bound->caps->sms, 1);
    double passes = mmt_config_passes(config, type);
    double slices = mmt_config_in_slices(config, type) ? mmt_type_slices(type) : 1;
    double products = slices * (slices + 1) / 2;
    double tiles = passes > 1 ? passes : slices; /* of an operand, for each step of k */
    double lanes =
        or_else(config->template->fma_per_cycle_per_sm, 128) * 4 / size / products;
    double outputs = fmax(s->m * s->n / s->threads, 1);
    double feeding =
        1 + (config->template->fma_per_cycle_per_sm ? 3 : 1.5) / sqrt(outputs);
    double rounds = fmax(1, s->blocks / s->fit);
    double compute = s->blocks * s->m * s->n * s->k / lanes * feeding * s->spill;
    double fetch = s->blocks * (s->m + s->n) * s->k * size * tiles / l2_bytes;
    if (load->unaligned)
        fetch = fmax(fetch, one_by_one(s, size));
    double memory = (load->bytes + 2 * load->workspace) / sms / memory_bytes;
    double wait =
        rounds * (ceil(passes * s->k / s->step) * latency / s->stages + around_tile);
    double most = cbrt(pow(compute, 3) + pow(fetch, 3) + pow(memory, 3) + pow(wait, 3));
    return most + launching * load->launches;
}

double mmt_cost_estimate_load(const struct mmt_bound *bound, const struct mmt_load *load)
{
    const double k = fmax((double) bound->problem->k, 1);
    if (bound->caps->kind == MMT_CPU)
        return on_cpu(load, load->threads, k, bound->caps);
    if (load->cycles > 0)
        return load->cycles + launching;
    const struct share s = share_of(bound, load);
    return on_gpu(&s, load, bound);
}

double mmt_cost_estimate_bound(const struct mmt_bound *bound)
{
    const struct mmt_load load = mmt_cost_load(bound);
    return mmt_cost_estimate_load(bound, &load);
}

double mmt_cost_estimate(const struct mmt_config *config, const mmt_problem *problem,
                         const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    mmt_bind_known(config, problem, caps, &bound);
    return mmt_cost_estimate_bound(&bound);
}
