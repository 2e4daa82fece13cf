#include "templates/split.h"

#include <math.h>

#include "templates/gemm.h"

/* Adding the parts up on a CPU: cycles of the launch; bytes of sums that a core takes in
 * a cycle. */
static const double adding_on_cpu = 40000, added_on_cpu = 4;

/* Cycles in which a core does what a multiprocessor does in one. */
static const double core = 8;

/* More parts must promise to save so much, as what is counted is not that exact. */
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

/* `inverse`: 1 / piece, which a count has at hand: a division takes longer than all else.
 * Right for whole numbers, as a quotient that is none is further from one than rounding
 * goes. */
static double pieces_by(double size, double piece, double inverse)
{
    const double whole = (double) (int64_t) (size * inverse);
    return whole * piece < size ? whole + 1 : whole;
}

/* What a part of k takes a block, however little runs beside it, and for how long it
 * keeps the multiprocessor busy. The last part is the slowest. */
struct run {
    double latency, busy;
};

static struct run run_of(const struct mmt_split *split, double steps, double by_round)
{
    const double rounds = split->round > 0 ? pieces_by(steps, split->round, by_round) : 0;
    return (struct run){ steps * split->latency + rounds * split->staging,
                         steps * split->step + split->block };
}

/* Blocks that are there at a time wait side by side, and keep the multiprocessor busy one
 * after the other. */
static double wave(const struct run *run, double blocks)
{
    return bound(run->latency, blocks * run->busy);
}

/* The same without what edges add. */
static double least_wave(const struct run *run, double blocks)
{
    const double busy = blocks * run->busy;
    return busy > run->latency ? busy : run->latency;
}

/* Waves before the last one, and its blocks. */
struct waves {
    double full, last;
};

static struct waves waves_of(double blocks, int resident, double by_resident)
{
    const double full = pieces_by(blocks, resident, by_resident) - 1;
    return (struct waves){ full, blocks - full * resident };
}

static double all_waves(const struct waves *waves, int resident, const struct run *run)
{
    const double last = wave(run, waves->last);
    return waves->full > 0 ? waves->full * wave(run, resident) + last : last;
}

static double least_waves(const struct waves *waves, int resident, const struct run *run)
{
    return waves->full * least_wave(run, resident) + least_wave(run, waves->last);
}

double mmt_split_waves(double blocks, int resident, double latency, double busy)
{
    const struct run run = { latency, busy };
    const struct waves waves = waves_of(blocks, resident, 1.0 / resident);
    return all_waves(&waves, resident, &run);
}

/* What the same launch is divided by for each number of parts. */
struct inverses {
    double sms, resident, round;
};

static struct inverses inverses_of(const struct mmt_split *split, double sms)
{
    return (struct inverses){ 1 / sms, 1.0 / split->resident,
                              split->round > 0 ? 1 / split->round : 0 };
}

/* Of the busiest multiprocessor, with so many steps in a part; or any more than `enough`
 * where that is more. */
static double cycles(const struct mmt_split *split, int parts, double steps, double sms,
                     const struct inverses *by, double enough)
{
    const double blocks = pieces_by(split->tiles * parts, sms, by->sms);
    const struct run run = run_of(split, steps, by->round);
    const struct waves waves = waves_of(blocks, split->resident, by->resident);
    const double least = split->ramp + least_waves(&waves, split->resident, &run);
    if (least > enough)
        return least;
    return split->ramp + bound(all_waves(&waves, split->resident, &run), split->memory);
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

/* Cycles of each part. */
static double added_up(const struct mmt_split *split, double by_sms)
{
    return split->sums * by_sms / split->added;
}

/* What a launch of more parts than one takes at least: every part keeps a multiprocessor
 * busy, is added up, and waits for its steps. `floor`: what all take. */
struct bounds {
    double always, floor, busy, around, added, waits;
};

static struct bounds bounds_of(const struct mmt_split *split, const struct inverses *by)
{
    const double staging = split->staging * by->round, tiles = split->tiles * by->sms;
    const double busy = tiles * split->steps * split->step;
    return (struct bounds){
        .always = split->ramp + split->adding,
        .floor = busy > split->memory ? busy : split->memory,
        .busy = busy,
        .around = tiles * split->block,
        .added = added_up(split, by->sms),
        .waits = split->steps * (split->latency + staging),
    };
}

/* What still more parts take at least, too. */
static double least_of_more(const struct bounds *bounds, double parts)
{
    const double busy = bounds->busy + parts * bounds->around;
    return bounds->always + parts * bounds->added +
           (busy > bounds->floor ? busy : bounds->floor);
}

static double least_waiting(const struct bounds *bounds, double parts, double by_parts)
{
    return bounds->always + parts * bounds->added + bounds->waits * by_parts;
}

/* The knob's last value of which none is empty and all are there at a time; its first
 * where there is none. */
static int find_last_with_room(const struct mmt_split *split, const struct mmt_knob *knob,
                               double sms)
{
    const double room = split->resident * sms / split->tiles;
    const double most = split->most < room ? split->most : room;
    int i = 0;
    while (i + 1 < knob->num_values && knob->values[i + 1] <= most &&
           knob->values[i] < split->steps)
        i++;
    return i;
}

/* What so many parts take, and what adds them up; or any more than `enough`. */
static double with_adding(const struct mmt_split *split, int parts, double steps,
                          double sms, const struct inverses *by, double added,
                          double enough)
{
    const double adding = split->adding + parts * added;
    return adding + cycles(split, parts, steps, sms, by, enough - adding);
}

/* Many fill the device, and mostly take about the least: fewer are counted where they may
 * take as little. */
static int find_parts(const struct mmt_split *split, const struct mmt_knob *knob,
                      double sms)
{
    const struct inverses by = inverses_of(split, sms);
    const struct bounds bounds = bounds_of(split, &by);
    const int many = knob->values[find_last_with_room(split, knob, sms)];
    double before = split->steps, best = INFINITY, ceiling = INFINITY;
    int parts = 1;

    if (many > 1)
        ceiling = with_adding(split, many, pieces_by(split->steps, many, 1.0 / many), sms,
                              &by, bounds.added, INFINITY) /
                  worth;
    if (split->ramp + bounds.waits < ceiling)
        best = cycles(split, 1, before, sms, &by, ceiling);
    for (int i = 1; i < knob->num_values && knob->values[i - 1] < split->steps; i++) {
        const int more = knob->values[i];
        const double enough = worth * best < ceiling ? worth * best : ceiling;
        if (more < 2)
            continue;
        if (more > split->most || least_of_more(&bounds, more) > enough)
            break;
        const double by_parts = 1.0 / more;
        if (least_waiting(&bounds, more, by_parts) > enough)
            continue;
        const double steps = pieces_by(split->steps, more, by_parts);
        if (steps == before)
            continue; /* further parts would be empty */
        before = steps;
        const double now =
            with_adding(split, more, steps, sms, &by, bounds.added, enough);
        if (now < worth * best)
            best = now, parts = more;
        else if (split->tiles * more > split->resident * sms)
            break; /* there is no room for more at a time */
    }
    return parts;
}

/* The least of one part and of as many as are there at a time, or half as many. */
static double about(const struct mmt_split *split, double sms, double least)
{
    enum { MOST = 64 };
    const struct inverses by = inverses_of(split, sms);
    const struct bounds bounds = bounds_of(split, &by);
    const double room = split->resident * sms;
    const double most = split->most < split->steps ? split->most : split->steps;
    int parts = 1;
    double by_parts = 1, best = INFINITY;

    if (split->ramp + bounds.floor > least)
        return INFINITY;
    if (split->ramp + bounds.waits < least)
        best = cycles(split, 1, split->steps, sms, &by, least);
    while (parts < MOST && 2 * parts <= most && split->tiles * 2 * parts <= room)
        parts *= 2, by_parts /= 2;
    for (int tried = 0; tried < 2 && parts > 1; tried++, parts /= 2, by_parts *= 2) {
        const double enough = best < least ? best : least;
        if (least_waiting(&bounds, parts, by_parts) > enough ||
            least_of_more(&bounds, parts) > enough)
            continue;
        const double steps = pieces_by(split->steps, parts, by_parts);
        const double now =
            with_adding(split, parts, steps, sms, &by, bounds.added, enough);
        best = now < best ? now : best;
    }
    return best;
}

double mmt_split_about(const struct mmt_split *split, const struct mmt_caps *caps,
                       double least)
{
    if (!caps->sms)
        return 0;
    if (caps->kind == MMT_CPU || mmt_gemm_reject_parts(2, caps))
        return mmt_split_cycles(split, 1, caps);
    return about(split, caps->sms, least);
}

int mmt_split_parts(const struct mmt_split *split, const struct mmt_knob *knob,
                    const struct mmt_caps *caps)
{
    enum { FULL = 64 }; /* blocks of a multiprocessor that leave nothing to be gained */

    if (!caps->sms || mmt_gemm_reject_parts(2, caps) || split->tiles > FULL * caps->sms)
        return 1;
    if (caps->kind == MMT_CPU) {
        const struct mmt_split cores = for_cores(*split);
        return find_parts(&cores, knob, caps->sms);
    }
    return find_parts(split, knob, caps->sms);
}

double mmt_split_cycles(const struct mmt_split *split, int parts,
                        const struct mmt_caps *caps)
{
    const struct inverses by = inverses_of(split, caps->sms);
    const double steps = pieces_by(split->steps, parts, 1.0 / parts);
    const double all = cycles(split, parts, steps, caps->sms, &by, INFINITY);
    return parts > 1 ? all + split->adding + parts * added_up(split, by.sms) : all;
}
