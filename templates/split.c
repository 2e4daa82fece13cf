/* Chooses into how many splits k is cut where SPLIT_K is auto, by cycles of the busiest
 * multiprocessor. */
#include "templates/split.h"

#include <math.h>

#include "templates/gemm.h"

/* Adding the splits up on a CPU: cycles of the launch; bytes of accumulators that a core
 * takes in a cycle. */
static const double adding_on_cpu = 40000, added_on_cpu = 4;

/* Cycles in which a core does what a multiprocessor does in one. */
static const double core = 8;

/* More splits must promise to save so much, as what is counted is not that exact. */
static const double worth = 0.98;

double mmt_split_memory_rate(const struct mmt_caps *caps)
{
    if (caps->memory_rate && caps->clock_khz)
        return (double) caps->memory_rate / (1e3 * caps->clock_khz);
    return 12.8 * (caps->sms ? caps->sms : 1);
}

static unsigned least(unsigned a, size_t b)
{
    return b < a ? (unsigned) b : a;
}

int mmt_split_resident(int threads, size_t shared, unsigned registers,
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

/* What two things that overlap take, but for the edges: the longer, and a quarter more
 * where they are alike. */
static double bound(double a, double b)
{
    const double most = a > b ? a : b, part = most > 0 ? (a > b ? b : a) / most : 0;
    return most * (1 + 0.26 * part * part * part);
}

/* What a split of k takes a block, however little runs beside it, and for how long it
 * keeps the multiprocessor busy. */
struct run {
    double latency, busy;
};

static struct run run_of(const struct mmt_split *split, double steps)
{
    const double rounds = split->round > 0 ? ceil(steps / split->round) : 0;
    return (struct run){ steps * split->latency + rounds * split->staging,
                         steps * split->step + split->block };
}

/* Blocks that are there at a time wait side by side, and keep the multiprocessor busy one
 * after the other. */
static double wave(const struct run *run, double blocks)
{
    return bound(run->latency, blocks * run->busy);
}

double mmt_split_waves(double blocks, int resident, double latency, double busy)
{
    const struct run run = { latency, busy };
    const double full = ceil(blocks / resident) - 1;
    return (full > 0 ? full * wave(&run, resident) : 0) +
           wave(&run, blocks - full * resident);
}

/* A core has one block at a time, which waits for nothing. */
static struct mmt_split for_cores(struct mmt_split split)
{
    split.resident = 1;
    split.step *= core;
    split.block *= core;
    split.latency = split.staging = split.memory = split.ramp = 0;
    split.adding = adding_on_cpu;
    split.added = added_on_cpu;
    return split;
}

/* Of the busiest multiprocessor; the last split is the slowest. */
double mmt_split_cycles(const struct mmt_split *split, int splits,
                        const struct mmt_caps *caps)
{
    const double sms = caps->sms;
    const struct run run = run_of(split, ceil(split->steps / splits));
    const double waves = mmt_split_waves(ceil(split->tiles * splits / sms),
                                         split->resident, run.latency, run.busy);
    const double adding =
        splits > 1 ? split->adding + splits * split->accumulators / (sms * split->added)
                   : 0;
    return split->ramp + bound(waves, split->memory) + adding;
}

static int find_splits(const struct mmt_split *split, const struct mmt_knob *knob,
                       const struct mmt_caps *caps)
{
    const double room = split->resident * (double) caps->sms / split->tiles;
    double best = mmt_split_cycles(split, 1, caps), before = split->steps;
    int splits = 1;

    for (int i = 0; i < knob->num_values && knob->values[i] <= split->most; i++) {
        const int more = knob->values[i];
        const double steps = ceil(split->steps / more);
        if (more < 2 || steps == before) /* further splits would be empty */
            continue;
        before = steps;
        const double now = mmt_split_cycles(split, more, caps);
        if (now < worth * best)
            best = now, splits = more;
        else if (more > room)
            break; /* not all are there at a time */
    }
    return splits;
}

int mmt_split_count(const struct mmt_split *split, const struct mmt_knob *knob,
                    const struct mmt_caps *caps)
{
    enum { FULL = 64 }; /* blocks of a multiprocessor that leave nothing to be gained */

    if (!caps->sms || mmt_gemm_check_splits(2, caps) || split->tiles > FULL * caps->sms)
        return 1;
    const struct mmt_split cores = for_cores(*split);
    return find_splits(caps->kind == MMT_CPU ? &cores : split, knob, caps);
}
