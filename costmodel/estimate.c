/* Says what a configuration should take before anything was built or measured, by the law
 * of time. */
#include <math.h>

#include "costmodel/costmodel.h"
#include "templates/law.h"

static double or_else(double value, double otherwise)
{
    return value > 0 ? value : otherwise;
}

static const struct mmt_rates *rates_of(const struct mmt_template *template)
{
    return template->rates.slowed > 0 ? &template->rates : &mmt_law_usual;
}

/* FMAs of a multiprocessor in a cycle: by tensor cores of `slices` slices of a number,
 * which each meet those of the other operand that are no finer than the last. */
static double fma_rate(const struct mmt_template *template, mmt_type type, double size,
                       double slices)
{
    const int unit = template->fma_per_cycle_per_sm;
    return unit ? unit * 4 / size / (slices * (slices + 1) / 2)
                : MMT_LAW_LANES * 4.0 / (double) mmt_type_size(mmt_type_scalar(type));
}

/* Registers: a thread keeps its accumulators in them, and needs some fifty more. */
static double resident_blocks(const struct mmt_law *law, int fit,
                              const struct mmt_caps *caps)
{
    const double most =
        caps->registers_per_thread ? caps->registers_per_thread : INFINITY;
    const double wanted = fmin(law->stored / law->threads + 50, most);
    double resident = fit > 0 ? fit : 16;
    if (caps->registers_per_sm)
        resident =
            fmin(resident, floor(caps->registers_per_sm / (law->threads * wanted)));
    return fmax(resident, 1);
}

/* A tile of C, where a template says its size, is computed whole; else blocks share C
 * evenly. */
static void set_tile(struct mmt_law *law, const struct mmt_work *work,
                     const struct mmt_bound *bound, const struct mmt_load *load)
{
    const mmt_problem *p = bound->problem;
    const double share = load->outputs / fmax(load->blocks, 1) * work->splits;
    const struct mmt_tile tile =
        bound->config.template->tile(bound->config.values, bound->problem);
    const double rows = (double) (work->swap ? p->n : p->m),
                 columns = (double) (work->swap ? p->m : p->n);

    law->blocks = load->blocks * fmax(bound->caps->sms, 1);
    law->m = law->n = sqrt(fmax(share, 1));
    if (bound->caps->kind == MMT_CPU) {
        law->m = fmax(share, (double) tile.m * tile.n);
        law->n = 1;
    } else if (work->m > 0 && work->n > 0 && !work->batches) {
        law->m = work->m;
        law->n = work->n;
        law->blocks = ceil(rows / law->m) * ceil(columns / law->n) * work->splits *
                      (double) p->batch;
    }
}

static struct mmt_law law_of(const struct mmt_bound *bound, const struct mmt_load *load)
{
    const struct mmt_config *config = &bound->config;
    const struct mmt_template *template = config->template;
    const mmt_type type = bound->problem->type;
    const struct mmt_work work = mmt_config_work(config, type);
    const struct mmt_rates *rates = rates_of(template);
    const double size = mmt_cost_element(config, type);
    const double slices = mmt_config_in_slices(config, type) ? mmt_type_slices(type) : 1;
    struct mmt_law law = {
        .rates = rates,
        .k = ceil(fmax((double) bound->problem->k, 1) / work.splits),
        .even = load->tiles > 0,
        .threads = load->threads,
        .step = work.step,
        .stages = or_else(work.stages, 2),
        .rate = fma_rate(template, type, size, slices) / or_else(work.slowed, 1),
        .fetched = size * slices * (load->unaligned ? rates->unaligned : 1),
        .bytes = load->bytes,
        .workspace = load->workspace,
        .launches = load->launches,
    };
    set_tile(&law, &work, bound, load);
    law.stored = law.m * law.n * fmax(size, 4) / 4;
    law.resident = resident_blocks(&law, load->fit, bound->caps);
    return law;
}

double mmt_cost_estimate_load(const struct mmt_bound *bound, const struct mmt_load *load)
{
    if (load->cycles > 0)
        return load->cycles + rates_of(bound->config.template)->launch;
    const struct mmt_law law = law_of(bound, load);
    return mmt_law_cycles(&law, bound->caps);
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
    return cycles / (or_else(caps->clock_khz, usual_khz) * under_load * 1e3);
}
