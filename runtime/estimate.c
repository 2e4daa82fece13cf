/* What a configuration should take before anything was built or measured: cost.h. */
#include <math.h>

#include "runtime/cost.h"

/* Blocks on a multiprocessor at a time, if a thread keeps its cells in registers and
 * needs some forty more; and what spilling them costs. */
static double resident(const struct mmt_load *load, double threads, double cells,
                       double words, const struct mmt_caps *caps, double *spills)
{
    double most = caps->registers_per_thread ? caps->registers_per_thread : INFINITY;
    double wanted = cells * words + 40, fit = load->fit > 0 ? load->fit : 16;
    *spills = 1 + fmax(0, wanted - most) / 50;
    if (caps->registers_per_sm)
        fit = fmin(fit, floor(caps->registers_per_sm / (threads * fmin(wanted, most))));
    return fmax(fit, 1);
}

/* Work of the busiest multiprocessor, divided by how well it can be fed: multiplications
 * for each operand that is loaded, and warps that hide what one waits for. */
double mmt_cost_estimate(const struct mmt_config *config, const mmt_problem *problem,
                         const struct mmt_caps *caps)
{
    struct mmt_launches launches = { 0 };
    struct mmt_load load = mmt_cost_load(config, problem, caps, mmt_cost_depth(config));
    double threads = 1, spills = 1, k = fmax((double) problem->k, 1);
    double words = (double) mmt_type_size(problem->type) / 4;
    config->template->launch(config->values, problem, caps, &launches);
    for (int i = 0; i < launches.count; i++)
        threads =
            fmax(threads, (double) launches.launch[i].block[0] *
                              launches.launch[i].block[1] * launches.launch[i].block[2]);
    const struct mmt_launch *launch = mmt_cost_multiplying(&launches);
    double rounds = floor((double) launch->tiles / launch->grid[0]) + 1;
    double cells = fmax(load.cells / (load.blocks * threads * rounds), 1);
    double fit = resident(&load, threads, cells, words, caps, &spills);
    double warps = fmin(load.blocks, fit) * threads / fmax(caps->warp, 1);
    double reuse = sqrt(cells) / (sqrt(cells) + 1.5);
    return load.cells * k * spills / (reuse * fmin(1, warps / 8)) +
           load.workspace / fmax(caps->sms, 1);
}
