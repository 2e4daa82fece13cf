/* Counts the cycles of a launch by the law of time, and finds the splits of k with which
 * they are least. */
#include "templates/law.h"

#include <math.h>

#include "templates/gemm.h"

/* Fitted as those of templates are (docs/lab/law.md). */
const struct mmt_rates mmt_law_usual = {
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

const struct mmt_rates mmt_law_streaming = {
    .slowed = 1.5,
    .l2 = 36,
    .latency = 1450,
    .around = 550,
    .stored = 0.4,
    .launch = 1960,
    .launch_again = 4070,
};

static double sms_of(const struct mmt_caps *caps)
{
    return caps->sms ? caps->sms : 1;
}

double mmt_law_memory_rate(const struct mmt_caps *caps)
{
    if (caps->memory_rate && caps->clock_khz)
        return (double) caps->memory_rate / (1e3 * caps->clock_khz);
    return 12.8 * sms_of(caps);
}

static unsigned least(unsigned a, size_t b)
{
    return b < a ? (unsigned) b : a;
}

int mmt_law_resident(int threads, size_t shared, unsigned registers,
                     const struct mmt_caps *caps)
{
    enum { MOST = 16 };
    unsigned resident = MOST;

    if (caps->threads_per_sm)
        resident = least(resident, caps->threads_per_sm / (unsigned) threads);
    if (caps->shared_per_sm && shared)
        resident = least(resident, caps->shared_per_sm / shared);
    if (caps->registers_per_sm)
        resident =
            least(resident, caps->registers_per_sm / ((unsigned) threads * registers));
    return resident ? (int) resident : 1;
}

/* ---- the law ----------------------------------------------------------------------- */

/* Of kernels that were not written for a CPU, one block after the other: a multiplication
 * by itself, which neighbours in a thread's tile share; around a block, and a launch. */
static double on_cpu(const struct mmt_law *law, const struct mmt_caps *caps)
{
    static const double alone = 1.4, around = 500, launch = 20000;
    const double blocks = ceil(law->blocks / sms_of(caps)), outputs = law->m * law->n;
    const double each = fmax(outputs / law->threads, 1);
    const double reuse = sqrt(each) / (sqrt(each) + 1.5);
    return blocks * (outputs * law->k * alone / reuse + around) +
           law->workspace / sms_of(caps) + law->launches * launch;
}

/* Launches of CUDA may begin before the one before them has ended; OpenCL's do not. */
static double launching(const struct mmt_law *law, const struct mmt_caps *caps)
{
    const struct mmt_rates *rates = law->rates;
    const double again = caps->dialect == MMT_OPENCL_C
                             ? fmax(rates->launch, rates->launch_again)
                             : rates->launch_again;
    return rates->launch + (law->launches - 1) * again;
}

/* What a multiprocessor computes, what it fetches from the L2 cache, what all of them
 * fetch from memory and what the blocks wait for step by step are hidden behind each
 * other for the most part: their 2-norm; and what comes before and after it. */
static double on_gpu(const struct mmt_law *law, const struct mmt_caps *caps)
{
    const struct mmt_rates *rates = law->rates;
    const double each = law->blocks / sms_of(caps);
    const double blocks = law->even ? fmax(each, 1) : ceil(each);
    const double turns = fmax(blocks / law->resident, 1);
    const double rounds = law->even ? turns : ceil(turns);
    const double outputs = fmax(law->m * law->n / law->threads, 1);
    const double warps = fmin(law->resident, ceil(blocks)) * law->threads / 32;
    const double slowed = rates->slowed * (1 + rates->feeding / sqrt(outputs)) *
                          (1 + rates->few_warps / warps);
    const double compute = blocks * law->m * law->n * law->k / law->rate * slowed;
    const double fetch = blocks * (law->m + law->n) * law->k * law->fetched / rates->l2;
    const double wait = rounds * ceil(law->k / law->step) * rates->latency / law->stages;
    const double memory = (law->bytes + 2 * law->workspace) / mmt_law_memory_rate(caps);
    return sqrt(compute * compute + fetch * fetch + wait * wait + memory * memory) +
           rounds * rates->around + blocks * law->stored * rates->stored +
           launching(law, caps);
}

double mmt_law_cycles(const struct mmt_law *law, const struct mmt_caps *caps)
{
    return caps->kind == MMT_CPU ? on_cpu(law, caps) : on_gpu(law, caps);
}

/* ---- splits of k ------------------------------------------------------------------- */

struct mmt_law mmt_law_split(const struct mmt_law *law, int splits, double partial)
{
    struct mmt_law cut = *law;
    if (splits > 1) {
        cut.k = ceil(ceil(law->k / law->step) / splits) * law->step;
        cut.blocks *= splits;
        cut.workspace += splits * partial;
        cut.launches += 1;
    }
    return cut;
}

void mmt_law_choose_splits(int *v, int at, const struct mmt_knob *knob, double most,
                           mmt_law_count *cycles, const mmt_problem *problem,
                           const struct mmt_caps *caps)
{
    /* More splits must promise to save so much, as what is counted is not that exact. */
    static const double worth = 0.98;
    const bool counts = caps->sms && !mmt_gemm_check_splits(2, caps);
    int best = v[at] = 1;
    double least = counts ? cycles(v, problem, caps) : 0;

    for (int i = 0; counts && i < knob->num_values && knob->values[i] <= most; i++) {
        v[at] = knob->values[i];
        const double takes = v[at] > 1 ? cycles(v, problem, caps) : INFINITY;
        if (takes < worth * least)
            least = takes, best = v[at];
    }
    v[at] = best;
}
