/* Counts what a configuration puts on a device for a problem: blocks, waves, steps, bytes
 * and launches. It predicts no time. */
#include "costmodel/costmodel.h"

int mmt_cost_element(const struct mmt_config *config, mmt_type type)
{
    return (int) mmt_type_size(mmt_config_in_slices(config, type) ? mmt_type_slice(type)
                                                                  : type);
}

/* A matrix itself, or a tensor map of it. */
static bool takes_operand(const struct mmt_launch *launch, enum mmt_arg matrix,
                          enum mmt_arg map)
{
    for (const enum mmt_arg *arg = launch->args; *arg != MMT_ARG_END; arg++)
        if (*arg == matrix || *arg == map)
            return true;
    return false;
}

const struct mmt_launch *mmt_cost_multiplying(const struct mmt_launches *launches)
{
    if (launches->count == 1)
        return &launches->launch[0];
    for (int i = 0; i < launches->count; i++)
        if (takes_operand(&launches->launch[i], MMT_ARG_A, MMT_ARG_TENSOR_MAP_A) &&
            takes_operand(&launches->launch[i], MMT_ARG_B, MMT_ARG_TENSOR_MAP_B) &&
            takes_operand(&launches->launch[i], MMT_ARG_C, MMT_ARG_TENSOR_MAP_C))
            return &launches->launch[i];
    return &launches->launch[0];
}

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

static int least_but_zero(int a, size_t b)
{
    return a == 0 || b < (size_t) a ? (int) b : a;
}

/* Blocks that fit on a multiprocessor by threads, shared memory and number. Where blocks
 * stay, it is their tiles that count, of which the next is under way before one is done:
 * any number seems to fit. */
static int fitting_blocks(const struct mmt_launch *launch, const struct mmt_caps *caps)
{
    const size_t threads =
        (size_t) launch->block[0] * launch->block[1] * launch->block[2];
    int fit = 0;

    if (caps->kind == MMT_CPU)
        return 1;
    if (launch->persistent)
        return 0;
    if (caps->blocks_per_sm)
        fit = least_but_zero(fit, caps->blocks_per_sm);
    if (caps->threads_per_sm)
        fit = least_but_zero(fit, caps->threads_per_sm / threads);
    if (caps->shared_per_sm && launch->shared)
        fit = least_but_zero(fit, caps->shared_per_sm / launch->shared);
    return fit;
}

static double blocks_of(const struct mmt_launch *launch)
{
    return (double) launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* The next whole number: what ceil() finds, which without SSE 4.1 is a function. */
static double round_up(double number)
{
    const double whole = (double) (int64_t) number;
    return whole < number ? whole + 1 : whole;
}

/* Blocks that stay take a tile each, round by round; the steps of the tiles that are left
 * are cut into equal runs. Makes a tile's steps along k a block's, and returns how many
 * blocks have any. */
static double share_tiles(double tiles, double blocks, struct mmt_load *load)
{
    const double rounds = (double) (int64_t) (tiles / blocks);
    const double left = tiles - rounds * blocks;
    const double steps = load->steps;

    load->steps = rounds * steps + round_up(left * steps / blocks);
    if (left <= 0)
        load->workspace = 0;
    return least_of(blocks, tiles * (steps > 1 ? steps : 1));
}

/* What matrix units leave a thread of C are pairs, which eight rows share a store of:
 * they fill the sectors that memory takes at once only where each row begins with one. */
static bool breaks_sectors(const struct mmt_bound *bound)
{
    enum { SECTOR = 32, VECTOR = 16 };
    const mmt_problem *problem = bound->problem;
    return bound->config.template->fma_per_cycle_per_sm && bound->alignment.c < VECTOR &&
           problem->ldc * (int64_t) mmt_type_size(problem->out) % SECTOR != 0;
}

struct mmt_load mmt_cost_load(const struct mmt_bound *bound)
{
    const struct mmt_config *resolved = &bound->config;
    const struct mmt_template *template = resolved->template;
    const struct mmt_launches *launches = &bound->launches;
    const mmt_problem *problem = bound->problem;
    const struct mmt_caps *caps = bound->caps;
    const struct mmt_launch *launch = mmt_cost_multiplying(launches);
    const unsigned sms = caps->sms ? caps->sms : 1;
    const struct mmt_work work = mmt_config_work(resolved, problem->type);
    const int depth = work.depth * work.splits;
    struct mmt_load load = {
        .launches = launches->count,
        .steps = (double) ((problem->k + depth - 1) / depth),
        .bytes = mmt_problem_bytes(problem),
        .workspace = (double) launches->workspace,
        .tiles = (double) launch->tiles,
        .threads = (double) launch->block[0] * launch->block[1] * launch->block[2],
        .shared = (double) launch->shared,
        .unaligned = !bound->may_align,
        .fit = fitting_blocks(launch, caps),
        .cycles =
            template->cycles ? template->cycles(resolved->values, problem, caps) : 0,
    };
    load.c_unaligned = load.unaligned || breaks_sectors(bound);
    load.grid = blocks_of(launch);
    const double all =
        launch->tiles ? share_tiles((double) launch->tiles, load.grid, &load) : load.grid;
    load.blocks = round_up(all / sms);
    const double share = (double) problem->batch * load.blocks / all;
    load.outputs = (double) problem->m * (double) problem->n * share;
    return load;
}
