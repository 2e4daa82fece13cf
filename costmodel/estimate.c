/* What a configuration should take before anything was built or measured: costmodel.h. */
#include <math.h>

#include "costmodel/costmodel.h"
#include "templates/split.h"

static double or_else(int value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

/* ---- a CPU: cycles of the busiest core --------------------------------------------- */

/* Of kernels that were not written for one: a multiplication by itself, which neighbours
 * in a thread's tile share; around a block, and a launch. A tile is computed whole. */
static double on_cpu(const struct mmt_load *load, const struct mmt_bound *bound)
{
    static const double alone = 1.4, around = 500, launch = 20000;
    const struct mmt_config *config = &bound->config;
    const struct mmt_tile tile = config->template->tile(config->values, bound->problem);
    const double k = fmax((double) bound->problem->k, 1);
    const double outputs = fmax(load->outputs, load->blocks * tile.m * tile.n);
    const double each = fmax(outputs / (load->blocks * load->threads), 1);
    const double reuse = sqrt(each) / (sqrt(each) + 1.5);
    return outputs * k * alone / reuse + load->blocks * around +
           load->workspace / fmax(bound->caps->sms, 1) + load->launches * launch;
}

/* ---- a GPU: cycles of the busiest multiprocessor ----------------------------------- */

/* What a block has to do. */
struct share {
    double m, n, k; /* of C, and how deep */
    double blocks;  /* on the busiest multiprocessor, one after another or at once */
    double threads; /* of a block */
    double step;    /* elements of k between two waits */
    double stages;  /* steps that are under way at a time */
    double fit;     /* blocks that are resident */
};

/* As nearly all kernels that multiply by FMAs; fitted as those of templates are
 * (docs/lab/law.md). */
static const struct mmt_rates usual = {
    .slowed = 1.17,
    .feeding = 0.26,
    .l2 = 22,
    .latency = 820,
    .around = 1600,
    .stored = 0.2,
    .launch = 1960,
    .launch_again = 4070,
    .unaligned = 1.4,
};

static const struct mmt_rates *rates_of(const struct mmt_template *template)
{
    return template->rates.slowed > 0 ? &template->rates : &usual;
}

/* Registers: a thread keeps its accumulators in them, and needs some fifty more. */
static double resident_blocks(const struct share *s, const struct mmt_load *load,
                              double words, const struct mmt_caps *caps)
{
    const double most =
        caps->registers_per_thread ? caps->registers_per_thread : INFINITY;
    const double wanted = fmin(s->m * s->n / s->threads * words + 50, most);
    double fit = load->fit > 0 ? load->fit : 16;
    if (caps->registers_per_sm)
        fit = fmin(fit, floor(caps->registers_per_sm / (s->threads * wanted)));
    return fmax(fit, 1);
}

/* Tiles are dealt out whole, but for those that are cut into runs. */
static struct share share_of(const struct mmt_bound *bound, const struct mmt_load *load)
{
    const struct mmt_config *config = &bound->config;
    const mmt_problem *problem = bound->problem;
    const struct mmt_caps *caps = bound->caps;
    const struct mmt_work work = mmt_config_work(config, problem->type);
    const double size = mmt_cost_element(config, problem->type);
    const double sms = fmax(caps->sms, 1);
    const double outputs = fmax(load->outputs / fmax(load->blocks, 1), 1);
    struct share s = {
        .m = work.m,
        .n = work.n,
        .k = ceil(fmax((double) problem->k, 1) / work.splits),
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
    s.fit = resident_blocks(&s, load, fmax(size, 4) / 4, caps);
    return s;
}

/* Launches of CUDA may begin before the one before them has ended; OpenCL's do not. */
static double launching(const struct mmt_rates *rates, int launches,
                        const struct mmt_caps *caps)
{
    const double again = caps->dialect == MMT_OPENCL_C
                             ? fmax(rates->launch, rates->launch_again)
                             : rates->launch_again;
    return rates->launch + (launches - 1) * again;
}

/* What a multiprocessor computes, what it fetches from the L2 cache, what all of them
 * fetch from memory and what the blocks wait for step by step are hidden behind each
 * other for the most part: their 2-norm; and what comes before and after it. */
static double on_gpu(const struct share *s, const struct mmt_load *load,
                     const struct mmt_bound *bound)
{
    static const double lanes = 128;
    const struct mmt_config *config = &bound->config;
    const struct mmt_rates *rates = rates_of(config->template);
    const mmt_type type = bound->problem->type;
    const struct mmt_work work = mmt_config_work(config, type);
    const double size = mmt_cost_element(config, type);
    const double slices = mmt_config_in_slices(config, type) ? mmt_type_slices(type) : 1;
    const double products = slices * (slices + 1) / 2;
    const int unit = config->template->fma_per_cycle_per_sm;
    const double rate = unit ? unit * 4 / size / products
                             : lanes * 4 / (double) mmt_type_size(mmt_type_scalar(type));
    const double outputs = fmax(s->m * s->n / s->threads, 1);
    const double warps = fmin(s->fit, ceil(s->blocks)) * s->threads / 32;
    const double slowed = rates->slowed * (1 + rates->feeding / sqrt(outputs)) *
                          (1 + rates->few_warps / warps) *
                          (work.slowed > 0 ? work.slowed : 1);
    const double rounds =
        load->tiles > 0 ? fmax(s->blocks / s->fit, 1) : ceil(fmax(s->blocks / s->fit, 1));
    const double compute = s->blocks * s->m * s->n * s->k / rate * slowed;
    const double fetch = s->blocks * (s->m + s->n) * s->k * size * slices / rates->l2 *
                         (load->unaligned ? rates->unaligned : 1);
    const double wait = rounds * ceil(s->k / s->step) * rates->latency / s->stages;
    const double memory =
        (load->bytes + 2 * load->workspace) / mmt_split_memory_rate(bound->caps);
    const double most =
        sqrt(compute * compute + fetch * fetch + wait * wait + memory * memory);
    return most + rounds * rates->around +
           s->blocks * s->m * s->n * rates->stored * fmax(size, 4) / 4 +
           launching(rates, load->launches, bound->caps);
}

double mmt_cost_estimate_load(const struct mmt_bound *bound, const struct mmt_load *load)
{
    if (load->cycles > 0)
        return load->cycles + rates_of(bound->config.template)->launch;
    if (bound->caps->kind == MMT_CPU)
        return on_cpu(load, bound);
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

double mmt_cost_seconds(double cycles, const struct mmt_caps *caps)
{
    static const double usual_khz = 1.7e6, under_load = 0.89;
    return cycles / (or_else((int) caps->clock_khz, usual_khz) * under_load * 1e3);
}
