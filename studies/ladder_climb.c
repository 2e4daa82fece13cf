/* What was climbed, as all pages of the ladder ask for it. */
#include "ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tuner/common/command.h"

/* What the paper has; of the cached kernels n threads, or the power of two below. */
static int first_block(const struct mmt_climb *climb)
{
    int block = climb->rung->least;
    if (climb->rung->block)
        return climb->rung->block;
    while (block * 2 <= climb->n && block < 1024)
        block *= 2;
    return block;
}

mmt_plan *mmt_ladder_plan(const struct mmt_study_device *device, struct mmt_climb *climb,
                          const mmt_problem *problem, mmt_error *err)
{
    mmt_plan_options options = mmt_plan_defaults();
    const struct mmt_rung *rung = climb->rung;
    mmt_plan *plan = NULL;

    if (!rung->configuration)
        return mmt_plan_create(device->device, device->profile, problem, &options, err);
    err->status = MMT_ERROR_UNSUPPORTED;
    for (int block = first_block(climb);
         !plan && block >= rung->least && err->status == MMT_ERROR_UNSUPPORTED;
         block /= 2) {
        snprintf(climb->configuration, sizeof climb->configuration, rung->configuration,
                 block, rung->work);
        options.configuration = climb->configuration;
        plan = mmt_plan_create(device->device, device->profile, problem, &options, err);
        climb->block = block;
    }
    return plan;
}

double mmt_climb_seconds(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    if (!climb || climb->why[0])
        return NAN;
    return climb->phases.total + (ladder->paper->allocates ? climb->phases.allocate : 0);
}

const char *mmt_climb_threads(const struct mmt_climb *climb, char out[32])
{
    const struct mmt_rung *rung = climb->rung;

    out[0] = 0;
    if (climb->block && rung->square)
        snprintf(out, 32, "%dx%d", climb->block, climb->block / rung->work);
    else if (climb->block)
        snprintf(out, 32, "%d", climb->block);
    return out;
}

const char *mmt_climb_mark(const struct mmt_climb *climb, char out[128])
{
    char threads[32];

    out[0] = 0;
    if (climb->why[0] || !climb->block)
        return out;
    mmt_climb_threads(climb, threads);
    if (!climb->rung->block && climb->block != climb->n)
        snprintf(out, 128, "in chunks of %s, where the paper's kernel needs n threads",
                 threads);
    else if (climb->block < climb->rung->block)
        snprintf(out, 128, "blocks of %s threads, the most of this device", threads);
    return out;
}

const struct mmt_climb_cpu *mmt_ladder_cpu(const struct mmt_ladder *ladder, mmt_type type,
                                           int64_t n)
{
    for (int i = 0; i < ladder->num_cpus; i++)
        if (ladder->cpus[i].type == type && ladder->cpus[i].n == n)
            return &ladder->cpus[i];
    return NULL;
}

const struct mmt_climb *mmt_ladder_find(const struct mmt_ladder *ladder,
                                        const struct mmt_rung *rung, mmt_type type,
                                        int64_t n, int device)
{
    for (int i = 0; i < ladder->num_climbs; i++) {
        const struct mmt_climb *climb = &ladder->climbs[i];
        if (climb->rung == rung && climb->type == type && climb->n == n &&
            climb->device == device)
            return climb;
    }
    return NULL;
}

const struct mmt_study_device *mmt_ladder_card(const struct mmt_ladder *ladder,
                                               const struct mmt_climb *climb)
{
    const char *name = ladder->devices[climb->device].facts.name;

    for (int d = 0; d < ladder->options->devices.count; d++) {
        const struct mmt_study_device *device = &ladder->devices[d];
        if (mmt_device_peak(device->device, climb->type) > 0 && device->facts.clock_khz &&
            !strcmp(device->facts.name, name))
            return device;
    }
    return NULL;
}

double mmt_ladder_lanes(const struct mmt_ladder *ladder, const struct mmt_climb *climb)
{
    const struct mmt_study_device *card = mmt_ladder_card(ladder, climb);
    return card ? mmt_device_peak(card->device, climb->type) /
                      (2e3 * card->facts.clock_khz)
                : NAN;
}

const struct mmt_paper_row *mmt_ladder_paper_cpu(const struct mmt_ladder *ladder,
                                                 mmt_type type, int64_t n, int layout)
{
    bool layouts = !strcmp(ladder->paper->name, "gts250");
    struct mmt_paper_row wanted = {
        .paper = ladder->paper->name,
        .where = ladder->paper->cpu_table,
        .api = "cpu",
        .type = type,
        .algorithm = "naive",
        .variant = layouts ? mmt_cpu_layout_name((enum mmt_cpu_layout) layout) : NULL,
        .n = n,
    };
    return layouts || layout == MMT_CPU_AB ? mmt_paper_find(&wanted) : NULL;
}
