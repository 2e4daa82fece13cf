#include "runtime/cost.h"

#include <math.h>
#include <string.h>

/* A knob's place by its name; -1 where the template has none of that name. */
static int find_knob(const struct mmt_config *config, const char *name)
{
    for (int i = 0; i < config->template->num_knobs; i++)
        if (!strcmp(config->template->knobs[i].name, name))
            return i;
    return -1;
}

int mmt_cost_knob(const struct mmt_config *config, const char *name)
{
    const int knob = find_knob(config, name);
    return knob < 0 ? 0 : config->values[knob];
}

int mmt_cost_element(const struct mmt_config *config, mmt_type type)
{
    return (int) mmt_type_size(mmt_config_in_digits(config, type) ? mmt_type_digit(type)
                                                                  : type);
}

/* Whether an instruction takes whole lines of 128 bytes, which a copy engine fills. */
static bool takes_lines(const struct mmt_config *config)
{
    return config->template->macs > 512;
}

/* DEPTH counts 32 bytes, and 128 where an instruction takes whole lines of them. */
static int depth_of_lines(const struct mmt_config *config, mmt_type type)
{
    const int bytes = takes_lines(config) ? 128 : 32;
    return mmt_cost_knob(config, "DEPTH") * bytes / mmt_cost_element(config, type);
}

/* What a block's threads take at once, 0 where no knobs say so; what is left to the
 * problem counts as one. */
static int depth_of_threads(const struct mmt_config *config)
{
    const int threads = mmt_cost_knob(config, "THREADS_K");
    const int work = mmt_cost_knob(config, "WORK_K");
    if (find_knob(config, "WORK_K") < 0)
        return 0;
    return (threads > 0 ? threads : 1) * (work > 0 ? work : 1);
}

int mmt_cost_depth(const struct mmt_config *config, mmt_type type)
{
    int depth = depth_of_threads(config);
    int parts = mmt_cost_knob(config, "SPLIT_K");
    int cluster = mmt_cost_knob(config, "CLUSTER_K");

    if (!depth)
        depth = mmt_cost_knob(config, "TILE_K");
    if (!depth)
        depth = depth_of_lines(config, type);
    if (!depth)
        depth = mmt_cost_knob(config, "TILE");
    return (depth > 0 ? depth : 1) * (parts > 0 ? parts : 1) * /* 0 where they are left */
           (cluster > 0 ? cluster : 1);
}

/* A matrix itself, or a copy engine's map of it. */
static bool takes(const struct mmt_launch *launch, enum mmt_arg matrix, enum mmt_arg map)
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
        if (takes(&launches->launch[i], MMT_ARG_A, MMT_ARG_MAP_A) &&
            takes(&launches->launch[i], MMT_ARG_B, MMT_ARG_MAP_B) &&
            takes(&launches->launch[i], MMT_ARG_C, MMT_ARG_MAP_C))
            return &launches->launch[i];
    return &launches->launch[0];
}

static double least_of(double a, double b)
{
    return b < a ? b : a;
}

static int least(int a, size_t b)
{
    return a == 0 || b < (size_t) a ? (int) b : a;
}

/* Blocks that fit on a multiprocessor by threads, shared memory and number. Where blocks
 * stay, it is their tiles that count, of which the next is under way before one is done:
 * any number seems to fit. */
static int fitting(const struct mmt_launch *launch, const struct mmt_caps *caps)
{
    const size_t threads =
        (size_t) launch->block[0] * launch->block[1] * launch->block[2];
    int fit = 0;

    if (caps->kind == MMT_CPU)
        return 1;
    if (launch->stays)
        return 0;
    if (caps->blocks_per_sm)
        fit = least(fit, caps->blocks_per_sm);
    if (caps->threads_per_sm)
        fit = least(fit, caps->threads_per_sm / threads);
    if (caps->shared_per_sm && launch->shared)
        fit = least(fit, caps->shared_per_sm / launch->shared);
    return fit;
}

static double blocks_of(const struct mmt_launch *launch)
{
    return (double) launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* The next whole number: what ceil() finds, which without SSE 4.1 is a function. */
static double up(double number)
{
    const double whole = (double) (int64_t) number;
    return whole < number ? whole + 1 : whole;
}

static double rounded(int64_t size, int step)
{
    return (double) ((size + step - 1) / step * step);
}

/* Blocks of the launches that do not multiply, for each multiprocessor. */
static void add_others(const struct mmt_launches *launches,
                       const struct mmt_launch *multiplying, unsigned sms,
                       struct mmt_load *load)
{
    for (int i = 0; i < launches->count; i++) {
        const struct mmt_launch *launch = &launches->launch[i];
        if (launch == multiplying)
            continue;
        load->others += blocks_of(launch) / sms;
        load->others_cut += (double) launch->cut * launch->grid[2] / sms;
    }
}

static void add_tiles(const mmt_problem *problem, const struct mmt_launches *launches,
                      double share, struct mmt_load *load)
{
    double rows = rounded(problem->m, launches->tile_m) * share;

    load->whole = rows * rounded(problem->n, launches->tile_n);
    load->cut = problem->n % launches->tile_n ? rows * launches->tile_n : 0;
}

/* Blocks that stay take a tile each, round by round; the steps of the tiles that are left
 * are cut into equal runs. The sums of a tile's runs are added up one after the other:
 * these count of the workspace, which has room for two tiles of each block. Makes a
 * tile's steps along k a block's, and returns how many blocks have any. */
static double share_tiles(double tiles, double blocks, struct mmt_load *load)
{
    const double rounds = (double) (int64_t) (tiles / blocks);
    const double left = tiles - rounds * blocks;
    const double steps = load->steps, area = load->workspace / (2 * blocks);
    const double runs = left > 0 ? least_of(up(blocks / left) + 1, steps) : 0;

    load->steps = rounds * steps + up(left * steps / blocks);
    load->workspace = runs * area;
    return least_of(blocks, tiles * (steps > 1 ? steps : 1));
}

/* What a step takes on average, of one that k fills: of what it lacks, half is saved. The
 * threads that have no element of k wait for the others. Lines are multiplied whole. */
static double filling(const struct mmt_config *config, int64_t k, double steps, int depth)
{
    return takes_lines(config) || !k ? 1 : (1 + (double) k / (depth * steps)) / 2;
}

static bool deepens(const struct mmt_config *config, int knob)
{
    const char *name = config->template->knobs[knob].name;
    return mmt_config_leaves_count(config, knob) || !strcmp(name, "THREADS_K") ||
           !strcmp(name, "WORK_K");
}

/* Times that a step is deeper than its kernel's cost knows, as that is left to the
 * problem: parts that run side by side, and a block's threads along k and what each takes
 * there. */
static int times_deeper(const struct mmt_config *left, const struct mmt_config *settled)
{
    int times = 1;
    for (int i = 0; i < left->template->num_knobs; i++)
        if (left->values[i] != settled->values[i] && deepens(left, i))
            times *= settled->values[i];
    return times;
}

/* What matrix units leave a thread of C are pairs, which eight rows share a store of:
 * they fill the pieces that memory takes at once only where each row begins with one. */
static bool breaks_sectors(const struct mmt_config *config, const mmt_problem *problem,
                           const struct mmt_alignment *alignment)
{
    enum { SECTOR = 32, VECTOR = 16 };
    return config->template->macs && alignment->c < VECTOR &&
           problem->ldc * (int64_t) mmt_type_size(problem->out) % SECTOR != 0;
}

static struct mmt_bend_at bend_at(int64_t size)
{
    const double octaves = size > 1 ? log2((double) size) : 0;
    const double at = least_of(octaves / MMT_BEND_OCTAVES, MMT_BENDS - 1);
    const int first = (int) least_of(at, MMT_BENDS - 2);
    return (struct mmt_bend_at){ first, at - first };
}

/* 0 where the template counts none. */
static double cycles_of(const struct mmt_config *config, const struct mmt_cost_task *task)
{
    const struct mmt_template *template = config->template;
    return template->cycles ? template->cycles(config->values, task->problem, task->caps)
                            : 0;
}

/* What counts where the template's cycles do: no launch is asked for. */
static struct mmt_load counted(const struct mmt_config *config,
                               const struct mmt_cost_task *task)
{
    return (struct mmt_load){
        .cycles = cycles_of(config, task),
        .at = { task->at[0], task->at[1], task->at[2] },
    };
}

static struct mmt_load load_of(const struct mmt_config *config,
                               const struct mmt_cost_task *task, int depth)
{
    const mmt_problem *problem = task->problem;
    const struct mmt_caps *caps = task->caps;
    struct mmt_launches launches; /* a kilobyte, all of which is written */
    struct mmt_alignment alignment;

    config->template->launch(config->values, problem, caps, &launches);
    const struct mmt_launch *launch = mmt_cost_multiplying(&launches);
    const unsigned sms = caps->sms ? caps->sms : 1;
    const double grid = blocks_of(launch);
    struct mmt_load load = {
        .launches = launches.count,
        .steps = (double) ((problem->k + depth - 1) / depth),
        .bytes = task->bytes,
        .root = task->root,
        .workspace = (double) launches.workspace,
        .unaligned = !mmt_config_may_align(config, problem, &alignment),
        .fit = fitting(launch, caps),
        .cycles = cycles_of(config, task),
        .at = { task->at[0], task->at[1], task->at[2] },
    };
    load.apart = load.unaligned || breaks_sectors(config, problem, &alignment);
    add_others(&launches, launch, sms, &load);
    const double all =
        launch->tiles ? share_tiles((double) launch->tiles, grid, &load) : grid;
    load.work = load.steps * filling(config, problem->k, load.steps, depth);
    load.blocks = up(all / sms);
    const double share = (double) problem->batch * load.blocks / all;
    load.cells = (double) problem->m * (double) problem->n * share;
    if (caps->kind == MMT_CPU) {
        load.a = (double) problem->m * (double) problem->k * share;
        load.b = (double) problem->n * (double) problem->k * share;
    }
    if (launches.tile_m && launches.tile_n)
        add_tiles(problem, &launches, share, &load);
    return load;
}

struct mmt_cost_task mmt_cost_task(const mmt_problem *problem,
                                   const struct mmt_caps *caps)
{
    const double bytes = mmt_problem_bytes(problem);
    return (struct mmt_cost_task){
        .problem = problem,
        .caps = caps,
        .bytes = bytes,
        .root = caps->kind == MMT_GPU ? sqrt(bytes) : 0,
        .at = { bend_at(problem->m), bend_at(problem->n), bend_at(problem->k) },
    };
}

struct mmt_load mmt_cost_load(const struct mmt_config *config, const mmt_problem *problem,
                              const struct mmt_caps *caps, int depth)
{
    const struct mmt_config settled = mmt_config_settle(config, problem, caps);
    const struct mmt_cost_task task = mmt_cost_task(problem, caps);
    return load_of(&settled, &task, depth * times_deeper(config, &settled));
}

/* The cube root of 1 + x, x from 0 to 1, within 1.4e-5: libm's takes longer than all else
 * that a price needs. */
static double root_of_more(double x)
{
    return 1 + x * (0.33286422 + x * (-0.10611221 + x * (0.04376232 - x * 0.01060338)));
}

double mmt_cost_bound(double a, double b)
{
    const double most = a > b ? a : b, part = most > 0 ? (a > b ? b : a) / most : 0;
    return most * root_of_more(part * part * part);
}

static double bend(const struct mmt_cost *cost, const struct mmt_load *load)
{
    double sum = 0;
    for (int axis = 0; axis < MMT_NUM_AXES; axis++) {
        const double *b = cost->bend[axis] + load->at[axis].first;
        sum += b[0] + load->at[axis].part * (b[1] - b[0]);
    }
    return sum;
}

/* A nanosecond: no cost is 0, so that every cost has a logarithm. */
static const double shortest = 1e-9;

static double by_law(const struct mmt_cost *cost, const struct mmt_load *load)
{
    double step = cost->step + (load->unaligned ? cost->unaligned : 0);
    double cell = cost->cell + (load->apart ? cost->unaligned_cell : 0);
    double wave = cost->wave + load->steps * cost->wave_step;
    double tiles = load->whole * cost->whole_step + load->cut * cost->cut_step;
    double cells = load->cells * (cell + load->work * cost->cell_step);
    double block =
        cost->block + load->work * step + (cells + load->work * tiles) / load->blocks;
    double full = up(load->blocks / cost->resident) - 1;
    double last = load->blocks - full * cost->resident;
    double busy = mmt_cost_bound(wave, last * block);
    double traffic = cost->bandwidth > 0 ? load->bytes / cost->bandwidth : 0;

    if (full > 0)
        busy += full * mmt_cost_bound(wave, cost->resident * block);
    return load->launches * cost->launch + mmt_cost_bound(busy, traffic) +
           load->root * cost->ramp + load->workspace * cost->reduction +
           load->others * cost->beside + load->others_cut * cost->cut_beside +
           load->a * cost->read_a + load->b * cost->read_b;
}

double mmt_cost_seconds(const struct mmt_cost *cost, const struct mmt_load *load)
{
    double seconds =
        cost->cycle > 0 ? cost->launch + load->cycles * cost->cycle : by_law(cost, load);
    return fmax(seconds, shortest) * exp(bend(cost, load));
}

double mmt_cost_price(const struct mmt_kept *kept, const struct mmt_config *settled,
                      const struct mmt_cost_task *task)
{
    const struct mmt_load load =
        kept->cost.cycle > 0
            ? counted(settled, task)
            : load_of(settled, task,
                      kept->cost.depth * times_deeper(&kept->config, settled));
    return mmt_cost_seconds(&kept->cost, &load);
}

double mmt_cost_predict(const struct mmt_kept *kept, const mmt_problem *problem,
                        const struct mmt_caps *caps)
{
    const struct mmt_config settled = mmt_config_settle(&kept->config, problem, caps);
    const struct mmt_cost_task task = mmt_cost_task(problem, caps);
    return mmt_cost_price(kept, &settled, &task);
}
