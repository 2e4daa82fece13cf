/* What the ladder's times answer besides: which rate of copies would pay, and from which
 * order on half of t is computing. */
#include <math.h>

#include "ladder_judge.h"

enum { DEVICE, TYPE, KERNEL, N, RATE, LOCKED_RATE, NEEDED, HALF, LOCKED_HALF, NUM };

static const struct mmt_column columns[NUM] = {
    [DEVICE] = { "device", "" },
    [TYPE] = { "type", "" },
    [KERNEL] = { "kernel", "" },
    [N] = { "n", "" },
    [RATE] = { "copies", "GB/s", 3 },
    [LOCKED_RATE] = { "copies, page-locked", "GB/s", 3 },
    [NEEDED] = { "pays over one core from", "GB/s", 3 },
    [HALF] = { "half of t is computing from", "n", 3 },
    [LOCKED_HALF] = { "the same, page-locked", "n", 3 },
};

/* The order from which on computing takes longer than copies; NAN where it does not. */
static double half_of(const struct mmt_ladder *ladder, const struct mmt_climb *last,
                      bool locked)
{
    double at[MMT_STUDY_SIZES], copies[MMT_STUDY_SIZES], kernel[MMT_STUDY_SIZES];
    int count = 0;

    for (int i = 0; i < ladder->num_sizes; i++) {
        const struct mmt_climb *climb = mmt_ladder_find(ladder, last->rung, last->type,
                                                        ladder->sizes[i], last->device);
        if (!climb || climb->why[0])
            continue;
        at[count] = (double) climb->n;
        copies[count] =
            locked ? climb->pinned : climb->phases.total - climb->phases.kernel;
        kernel[count++] = climb->phases.kernel;
    }
    return mmt_study_crossing(at, copies, kernel, count);
}

static void add_row(const struct mmt_ladder *ladder, const struct mmt_climb *last,
                    struct mmt_table *table)
{
    const struct mmt_phases *p = &last->phases;
    const struct mmt_climb_cpu *cpu = mmt_ladder_cpu(ladder, last->type, last->n);
    const double bytes =
        3.0 * (double) last->n * (double) last->n * (double) mmt_type_size(last->type);
    const double spare = cpu ? cpu->seconds[MMT_CPU_AB] - p->kernel : NAN;
    const struct mmt_cell row[NUM] = {
        [DEVICE] = MMT_WORD(ladder->devices[last->device].facts.id),
        [TYPE] = MMT_WORD(mmt_type_name(last->type)),
        [KERNEL] = MMT_WORD(last->rung->what),
        [N] = MMT_NUMBER((double) last->n),
        [RATE] = MMT_NUMBER(bytes / (p->write + p->read) * 1e-9),
        [LOCKED_RATE] = MMT_NUMBER(bytes / last->pinned * 1e-9),
        [NEEDED] = MMT_NUMBER(spare > 0 ? bytes / spare * 1e-9 : NAN),
        [HALF] = MMT_NUMBER(half_of(ladder, last, false)),
        [LOCKED_HALF] = MMT_NUMBER(half_of(ladder, last, true)),
    };
    mmt_table_add(table, row);
}

mmt_status mmt_ladder_questions(const struct mmt_ladder *ladder, mmt_error *err)
{
    struct mmt_table table =
        mmt_table_start("at the largest order: rates of copies, the one at which the "
                        "device takes as long "
                        "as one core's A*B; 0: at every order half of t is computing",
                        columns, NUM);
    char name[64];

    for (int i = 0; i < ladder->num_climbs; i++) {
        const struct mmt_climb *climb = &ladder->climbs[i];
        if (climb->n == ladder->sizes[ladder->num_sizes - 1] && !climb->why[0])
            add_row(ladder, climb, &table);
    }
    snprintf(name, sizeof name, "ladder-%s-questions", ladder->paper->name);
    mmt_status status =
        table.num_rows ? mmt_study_show(ladder->options, &table, name, err) : MMT_OK;
    mmt_table_free(&table);
    return status;
}
