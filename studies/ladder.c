/* mmtune study ladder */
#include "ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "pinned.h"

#define COUNT(array) (int) (sizeof(array) / sizeof *(array))

/* ---- the papers' ladders ---------------------------------------------------------- */

#define SQUARE(side, work) side, 8, work, true
#define ONLY(side)         side, side, 1, true
#define LINE(threads)      threads, 64, 1, false
#define NAIVE(order)       "naive ORDER=" order " BLOCK_M=%1$d BLOCK_N=%1$d"
#define TILED(layout)                                                                    \
    "tiled TILE=%1$d SHARED_LAYOUT=" layout " WORK=%2$d WORK_ALONG=rows UNROLL_K=%1$d"
#define TUNED                                                                            \
    {                                                                                    \
        "", "tuned", NULL, "what mmtune selects"                                         \
    }

static const struct mmt_rung zatolokin[] = {
    { "Table 1", "naive", "", "naive, threads along rows, as printed", NAIVE("rows"),
      SQUARE(32, 1) },
    { "", "naive coalesced", NULL, "naive, threads along columns", NAIVE("columns"),
      SQUARE(32, 1) },
    { "Table 2", "col_cached", "", "a column of B in shared memory",
      "col_cached THREADS=%1$d CHUNK=%1$d", LINE(0) },
    { "Table 3", "row_cached", "", "a row of A in shared memory",
      "row_cached THREADS=%1$d CHUNK=%1$d", LINE(0) },
    { "Table 4", "tiled", "", "square tiles", TILED("swap"), SQUARE(32, 1) },
    { "", "tiled 16", NULL, "square tiles of 16", TILED("swap"), ONLY(16) },
    { "", "tiled 8", NULL, "square tiles of 8", TILED("swap"), ONLY(8) },
    { "Table 5", "tiled_ilp", "4", "square tiles, 4 results a thread", TILED("swap"),
      SQUARE(32, 4) },
    TUNED,
};

static const struct mmt_rung semenenko[] = {
    { "Table 1.2", "naive", NULL, "naive", NAIVE("columns"), SQUARE(32, 1) },
    { "Tables 1.2, 1.4", "shared_conflict", NULL, "tiles with bank conflicts",
      TILED("plain"), SQUARE(32, 1) },
    { "Table 1.4", "shared_padded", NULL, "an extra column", TILED("pad"),
      SQUARE(32, 1) },
    { "", "padded_both", NULL, "an extra column, of A too", TILED("pad_both"),
      SQUARE(32, 1) },
    { "", "padded_aligned", NULL, "16 extra bytes", TILED("pad_aligned"), SQUARE(32, 1) },
    { "", "swizzled", NULL, "exclusive or", TILED("swizzle"), SQUARE(32, 1) },
    { "Tables 1.2, 1.4", "shared_index_swap", NULL, "indices exchanged", TILED("swap"),
      SQUARE(32, 1) },
    { "Table 1.2", "tiled_ilp", "2", "ILP 2", TILED("plain"), SQUARE(32, 2) },
    { "", "swapped_ilp", "2", "ILP 2, indices exchanged", TILED("swap"), SQUARE(32, 2) },
    { "Table 1.2", "tiled_ilp", "4", "ILP 4", TILED("plain"), SQUARE(32, 4) },
    { "", "padded_ilp", "4", "ILP 4, an extra column", TILED("pad"), SQUARE(32, 4) },
    { "", "aligned_ilp", "4", "ILP 4, 16 extra bytes", TILED("pad_aligned"),
      SQUARE(32, 4) },
    { "", "swapped_ilp", "4", "ILP 4, indices exchanged", TILED("swap"), SQUARE(32, 4) },
    { "", "swapped_ilp", "8", "ILP 8, indices exchanged", TILED("swap"), SQUARE(32, 8) },
    { "", "register_tile", NULL, "4x4 in registers",
      "simt TILE_M=%1$d TILE_N=%1$d TILE_K=16 THREAD_TILE_M=4 THREAD_TILE_N=4", 64, 32,
      16, true },
    TUNED,
};

static const struct mmt_rung gts250[] = {
    { "Table 2", "naive", NULL, "one thread for each element", NAIVE("columns"),
      SQUARE(16, 1) },
    { "Table 2", "tiled", NULL, "square tiles", TILED("swap"), SQUARE(16, 1) },
    TUNED,
};

static const struct mmt_rung ustyuzhanin[] = {
    { "", "naive", NULL, "one thread for each element", NAIVE("columns"), SQUARE(32, 1) },
    { "", "split", NULL, "k split over the grid, two launches",
      "split_naive BLOCK_M=%1$d BLOCK_N=%1$d SPLIT_K=4", SQUARE(32, 1) },
    { "", "block", NULL, "one block for each element", "block_dot THREADS=%1$d",
      LINE(256) },
    { "", "tiled", NULL, "square tiles", TILED("swap"), SQUARE(32, 1) },
    TUNED,
};

static const int ustyuzhanin_sizes[] = { 256, 512, 1000, 1400, 2048 };
static const int zatolokin_sizes[] = { 256, 512, 1024, 2048 };
static const int semenenko_sizes[] = { 512, 1024, 2048 };
static const int gts250_sizes[] = { 512, 1024, 2048, 3072, 4096, 5120, 6144, 7168 };

const struct mmt_ladder_paper mmt_ladder_papers[] = {
    { "zatolokin", "Zatolokin, Vatutin, Titov 2017 (there: GeForce GTX 960M)",
      zatolokin_sizes, COUNT(zatolokin_sizes), 10, 1, 1 << MMT_F32, zatolokin,
      COUNT(zatolokin), "Table 1", false },
    { "semenenko", "Semenenko, Sesok 2017 (there: GeForce GTX 1060)", semenenko_sizes,
      COUNT(semenenko_sizes), 20, 20, 1 << MMT_F64 | 1 << MMT_F32 | 1 << MMT_I32,
      semenenko, COUNT(semenenko), "Table 1.2", false },
    { "gts250", "efficiency of a graphics processor (there: GeForce GTS 250)",
      gts250_sizes, COUNT(gts250_sizes), 100, 10, 1 << MMT_I32 | 1 << MMT_F32, gts250,
      COUNT(gts250), "Table 1", true },
    { "ustyuzhanin", "Ustyuzhanin, Pitskhelauri, Nekrasov 2024 (there: GeForce RTX 3060)",
      ustyuzhanin_sizes, COUNT(ustyuzhanin_sizes), 10, 1, 1 << MMT_F64, ustyuzhanin,
      COUNT(ustyuzhanin), "", true },
};
const int mmt_ladder_num_papers = COUNT(mmt_ladder_papers);

/* ---- data ------------------------------------------------------------------------- */

struct matrices {
    mmt_type type;
    int64_t n;
    void *a, *b, *c, *column;
};

static void matrices_free(struct matrices *m)
{
    free(m->a);
    free(m->b);
    free(m->c);
    free(m->column);
}

static void set_element(const struct matrices *m, void *matrix, int64_t at, double value)
{
    if (m->type == MMT_F64)
        ((double *) matrix)[at] = value;
    else if (m->type == MMT_F32)
        ((float *) matrix)[at] = (float) value;
    else
        ((uint32_t *) matrix)[at] = (uint32_t) (int64_t) value;
}

static double get_element(const struct matrices *m, const void *matrix, int64_t at)
{
    return m->type == MMT_F64   ? ((const double *) matrix)[at]
           : m->type == MMT_F32 ? ((const float *) matrix)[at]
                                : ((const int32_t *) matrix)[at];
}

static double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double) (*state >> 40) / 0x1p24 - 0.5;
}

/* semenenko (2): a_ij = i + j, b_ij = i - j from 1 on. The other papers give no data:
 * then numbers between -1/2 and 1/2, and whole ones from -1024 to 1024. */
static void fill_matrices(const struct matrices *m, bool ramps, int64_t seed)
{
    uint64_t state = (uint64_t) seed;
    double scale = m->type == MMT_I32 ? 2048 : 1;

    for (int64_t i = 0; i < m->n; i++)
        for (int64_t j = 0; j < m->n; j++) {
            double a = random_number(&state), b = random_number(&state);
            set_element(m, m->a, i * m->n + j, ramps ? (double) (i + j + 2) : a * scale);
            set_element(m, m->b, i * m->n + j, ramps ? (double) (i - j) : b * scale);
        }
}

static mmt_status matrices_make(mmt_type type, int64_t n, struct matrices *out,
                                mmt_error *err)
{
    size_t element = mmt_type_size(type), bytes = (size_t) (n * n) * element;

    *out = (struct matrices){ type,          n,
                              malloc(bytes), malloc(bytes),
                              malloc(bytes), malloc((size_t) n * element) };
    if (out->a && out->b && out->c && out->column)
        return MMT_OK;
    matrices_free(out);
    return mmt_study_fail(err, MMT_ERROR_MEMORY,
                          "no memory for three matrices of %lld x %lld", (long long) n,
                          (long long) n);
}

/* ---- checking --------------------------------------------------------------------- */

enum { SAMPLES = 64 };

/* One element against a sum in long double, or mod 2^32. */
static bool is_right(const struct matrices *m, int64_t i, int64_t j)
{
    long double sum = 0, size = 0;
    uint32_t whole = 0;
    double u = m->type == MMT_F64 ? 0x1p-53 : 0x1p-24;

    for (int64_t k = 0; k < m->n; k++) {
        double a = get_element(m, m->a, i * m->n + k),
               b = get_element(m, m->b, k * m->n + j);
        sum += (long double) a * b;
        size += fabsl((long double) a * b);
        whole += (uint32_t) (int64_t) a * (uint32_t) (int64_t) b;
    }
    if (m->type == MMT_I32)
        return ((const uint32_t *) m->c)[i * m->n + j] == whole;
    double gamma = (double) m->n * u / (1 - (double) m->n * u);
    return fabsl((long double) get_element(m, m->c, i * m->n + j) - sum) <=
           2 * gamma * size;
}

static bool samples_are_right(const struct matrices *m, int64_t seed)
{
    uint64_t state = (uint64_t) seed + 1;
    for (int s = 0; s < SAMPLES; s++) {
        int64_t i = (int64_t) ((random_number(&state) + 0.5) * (double) m->n);
        int64_t j = (int64_t) ((random_number(&state) + 0.5) * (double) m->n);
        if (!is_right(m, s ? i : m->n - 1, s ? j : m->n - 1))
            return false;
    }
    return true;
}

/* ---- one climb -------------------------------------------------------------------- */

/* Of those before it one that agrees in device, type and size and, if `kernel`, in its
 * configuration; NULL: none. */
static const struct mmt_climb *find_before(const struct mmt_ladder *ladder,
                                           const struct mmt_climb *climb, bool kernel)
{
    for (const struct mmt_climb *c = ladder->climbs; c < climb; c++)
        if (c->device == climb->device && c->type == climb->type && c->n == climb->n &&
            !c->why[0] &&
            (!kernel || (c->block && !strcmp(c->configuration, climb->configuration))))
            return c;
    return NULL;
}

/* The phases, of one kernel once, and what copies take from page-locked memory. */
static mmt_status time_climb(const struct mmt_ladder *ladder, struct mmt_climb *climb,
                             const mmt_plan *plan, const struct mmt_phases_data *data,
                             int repetitions, mmt_error *err)
{
    const struct mmt_study_device *device = &ladder->devices[climb->device];
    const struct mmt_climb *same = find_before(ladder, climb, true),
                           *before = find_before(ladder, climb, false);
    double seconds = ladder->options->seconds;
    struct mmt_phases pinned;

    if (same)
        climb->phases = same->phases;
    else
        memset(data->c, 0xff, data->bytes_c);
    mmt_status status = same ? MMT_OK
                             : mmt_phases_run(device->device, plan, data, repetitions,
                                              seconds, &climb->phases, err);
    climb->pinned = before ? before->pinned : NAN;
    if (status != MMT_OK || before)
        return status;
    status = mmt_phases_run_pinned(device, plan, data, seconds, &pinned, err);
    if (status == MMT_OK && pinned.repetitions)
        climb->pinned = pinned.write + pinned.read;
    return status;
}

/* A kernel or a size that a device cannot have is left out with the reason; a wrong
 * answer, or a device that fails, ends the study. */
static mmt_status climb_one(const struct mmt_ladder *ladder, struct mmt_climb *climb,
                            struct matrices *m, int repetitions, mmt_error *err)
{
    const struct mmt_study_device *device = &ladder->devices[climb->device];
    size_t bytes = (size_t) (m->n * m->n) * mmt_type_size(m->type);
    struct mmt_phases_data data = { m->a, m->b, m->c, bytes, bytes, bytes, 0 };
    mmt_error why = { 0 };

    mmt_problem problem = mmt_gemm_problem(climb->type, climb->n, climb->n, climb->n);
    mmt_plan *plan = mmt_ladder_plan(device, climb, &problem, &why);
    if (!plan) {
        snprintf(climb->why, sizeof climb->why, "%.*s", (int) sizeof climb->why - 1,
                 why.text);
        return MMT_OK;
    }
    mmt_status status = time_climb(ladder, climb, plan, &data, repetitions, err);
    mmt_plan_free(plan);
    if (status == MMT_ERROR_MEMORY) {
        snprintf(climb->why, sizeof climb->why, "%.255s", err->text);
        return MMT_OK;
    }
    if (status == MMT_OK && !samples_are_right(m, ladder->options->seed))
        status = mmt_study_fail(err, MMT_ERROR_DEVICE,
                                "%s, %s, n = %lld on %s: the answer is wrong",
                                climb->rung->what, mmt_type_name(climb->type),
                                (long long) climb->n, device->facts.id);
    return status;
}

/* ---- one core --------------------------------------------------------------------- */

/* The largest smaller size that was measured. */
static const struct mmt_climb_cpu *cpu_below(const struct mmt_ladder *ladder,
                                             mmt_type type, int64_t n, int layout)
{
    const struct mmt_climb_cpu *best = NULL;
    for (int i = 0; i < ladder->num_cpus; i++) {
        const struct mmt_climb_cpu *cpu = &ladder->cpus[i];
        if (cpu->type == type && cpu->n < n && cpu->runs[layout] &&
            (!best || cpu->n > best->n))
            best = cpu;
    }
    return best;
}

/* The mean of as many runs as the paper has, or as the time allows; none where Ctrl-C
 * ends the first. */
static void time_layout(const struct mmt_ladder *ladder, struct matrices *m, int layout,
                        struct mmt_climb_cpu *out)
{
    double limit = ladder->options->cpu_seconds, start = mmt_study_now(), passed = 0;
    int runs = 0;

    do {
        if (!mmt_cpu_gemm(m->type, layout, m->n, m->a, m->b, m->c, m->column))
            break;
        passed = mmt_study_now() - start;
        runs++;
    } while (runs < ladder->paper->cpu_repetitions && passed * (runs + 1) / runs < limit);
    if (!runs)
        return;
    out->seconds[layout] = passed / runs;
    out->runs[layout] = runs;
}

static void time_cpu(struct mmt_ladder *ladder, struct matrices *m)
{
    struct mmt_climb_cpu cpu = { .type = m->type, .n = m->n };

    if (mmt_ladder_cpu(ladder, m->type, m->n))
        return;
    for (int layout = 0; layout < MMT_CPU_LAYOUTS; layout++) {
        const struct mmt_climb_cpu *below = cpu_below(ladder, m->type, m->n, layout);
        double grown =
            below ? below->seconds[layout] * pow((double) m->n / (double) below->n, 3)
                  : 2e-9 * pow((double) m->n, 3); /* a slow core: 2 ns each */
        cpu.seconds[layout] = below ? grown : NAN;
        cpu.from[layout] = below ? below->n : 0;
        if (grown <= ladder->options->cpu_seconds && !mmt_study_interrupted())
            time_layout(ladder, m, layout, &cpu);
    }
    ladder->cpus[ladder->num_cpus++] = cpu;
}

/* ---- the study -------------------------------------------------------------------- */

/* Through the same API where the paper has it, else through the one that it has. */
static const struct mmt_paper_row *theirs_of(const struct mmt_ladder *ladder,
                                             const struct mmt_climb *climb)
{
    struct mmt_paper_row wanted = { .paper = ladder->paper->name,
                                    .api = ladder->devices[climb->device].facts.api,
                                    .type = climb->type,
                                    .algorithm = climb->rung->algorithm,
                                    .variant = climb->rung->variant,
                                    .n = climb->n };
    const struct mmt_paper_row *found = mmt_paper_find(&wanted);
    wanted.api = "cuda";
    return found ? found : mmt_paper_find(&wanted);
}

static mmt_status climb_rung(struct mmt_ladder *ladder, const struct mmt_rung *rung,
                             struct matrices *m, int device, const char *why,
                             mmt_error *err)
{
    const struct mmt_study_options *o = ladder->options;
    int repetitions = o->repetitions ? (int) o->repetitions : ladder->paper->repetitions;
    struct mmt_climb *climb = &ladder->climbs[ladder->num_climbs];
    mmt_status status = MMT_OK;

    *climb =
        (struct mmt_climb){ .rung = rung, .type = m->type, .n = m->n, .device = device };
    climb->theirs = theirs_of(ladder, climb);
    snprintf(climb->why, sizeof climb->why, "%.255s", why);
    if (!why[0])
        status = climb_one(ladder, climb, m, repetitions, err);
    ladder->num_climbs += status == MMT_OK;
    return status;
}

/* Why not even the matrices of this size can be had on a device; "" where they can. */
static void ask_memory(const struct mmt_ladder *ladder, mmt_type type, int64_t n,
                       int device, char why[256])
{
    double bytes = 3.0 * (double) n * (double) n * (double) mmt_type_size(type);
    mmt_error err = { 0 };
    mmt_study_fits(&ladder->devices[device], "three matrices", bytes, bytes, &err);
    snprintf(why, 256, "%.255s", err.text);
}

static mmt_status climb_size(struct mmt_ladder *ladder, mmt_type type, int64_t n,
                             mmt_error *err)
{
    const struct mmt_study_options *o = ladder->options;
    char why[MMT_STUDY_DEVICES][256];
    struct matrices m = { .type = type, .n = n };
    bool any = false;
    mmt_status status = MMT_OK;

    for (int d = 0; d < o->devices.count; d++) {
        ask_memory(ladder, type, n, d, why[d]);
        any |= !why[d][0];
    }
    mmt_study_say(o, "%s, %s, n = %lld", ladder->paper->name, mmt_type_name(type),
                  (long long) n);
    if (any) {
        status = matrices_make(type, n, &m, err);
        if (status != MMT_OK)
            return status;
        fill_matrices(&m, !strcmp(ladder->paper->name, "semenenko"), o->seed);
        time_cpu(ladder, &m);
    }
    for (int r = 0; r < ladder->paper->num_rungs; r++)
        for (int d = 0; d < o->devices.count && status == MMT_OK; d++)
            if (!mmt_study_interrupted())
                status = climb_rung(ladder, &ladder->paper->rungs[r], &m, d, why[d], err);
    matrices_free(&m);
    return status;
}

static void choose_sizes(struct mmt_ladder *ladder)
{
    const struct mmt_study_options *o = ladder->options;
    ladder->num_sizes = o->num_sizes ? o->num_sizes : ladder->paper->num_sizes;
    for (int i = 0; i < ladder->num_sizes; i++)
        ladder->sizes[i] = o->num_sizes ? o->sizes[i] : ladder->paper->sizes[i];
}

static bool climbed_any(const struct mmt_ladder *ladder)
{
    for (int i = 0; i < ladder->num_climbs; i++)
        if (!ladder->climbs[i].why[0])
            return true;
    return false;
}

static mmt_status climb_paper(struct mmt_ladder *ladder, mmt_error *err)
{
    const struct mmt_study_options *o = ladder->options;
    mmt_status status = MMT_OK;

    ladder->types = mmt_study_types(o, ladder->paper->types);
    choose_sizes(ladder);
    ladder->num_climbs = 0;
    ladder->climbs = calloc((size_t) (ladder->num_sizes * MMT_STUDY_TYPES) *
                                (size_t) (ladder->paper->num_rungs * o->devices.count),
                            sizeof *ladder->climbs);
    if (!ladder->climbs)
        status =
            mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for the ladder's results");
    for (int type = 0; type < MMT_STUDY_TYPES; type++)
        for (int i = 0; i < ladder->num_sizes && status == MMT_OK; i++)
            if (ladder->types >> type & 1 && !mmt_study_interrupted())
                status = climb_size(ladder, (mmt_type) type, ladder->sizes[i], err);
    if (climbed_any(ladder)) { /* what was measured is shown, also after a failure */
        mmt_error later = { 0 };
        mmt_status shown = mmt_ladder_report(ladder, status ? &later : err);
        status = status ? status : shown;
        ladder->measured = true;
    } else {
        mmt_ladder_say_left_out(ladder);
    }
    free(ladder->climbs);
    return status;
}

static mmt_status run_ladder(const struct mmt_study_options *options, mmt_error *err)
{
    struct mmt_ladder ladder = { .options = options };
    size_t most = (size_t) mmt_ladder_num_papers * MMT_STUDY_SIZES * MMT_STUDY_TYPES;
    mmt_status status = mmt_ladder_check_memory(options, err);

    if (status == MMT_OK)
        status = mmt_study_open(options, ladder.devices, err);
    ladder.cpus = calloc(most, sizeof *ladder.cpus);
    if (status == MMT_OK && !ladder.cpus)
        status =
            mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory for the ladder's results");
    for (int i = 0; i < mmt_ladder_num_papers && status == MMT_OK; i++) {
        ladder.paper = &mmt_ladder_papers[i];
        if (!mmt_study_interrupted() &&
            (!options->paper || !strcmp(options->paper, ladder.paper->name)))
            status = climb_paper(&ladder, err);
    }
    if (status == MMT_OK && !ladder.measured && !mmt_study_interrupted())
        status = mmt_study_fail(
            err, MMT_ERROR_UNSUPPORTED,
            "nothing was measured: every kernel was left out at every size");
    free(ladder.cpus);
    mmt_study_close(ladder.devices);
    return status;
}

const struct mmt_study mmt_study_ladder = {
    .name = "ladder",
    .what = "matrix products from naive to tuned, with copying, as three papers climbed",
    .notes = "Sizes are of square matrices. Several devices stand side by side: name one "
             "card\nthrough CUDA and through OpenCL. With --memory, ustyuzhanin has a "
             "product near\nthe limit of memory too, whose A, B and C take so much.\n",
    .heeds = MMT_HEEDS_DEVICES | MMT_HEEDS_TYPES | MMT_HEEDS_SIZES |
             MMT_HEEDS_REPETITIONS | MMT_HEEDS_SECONDS | MMT_HEEDS_PAPER | MMT_HEEDS_CPU |
             MMT_HEEDS_MEMORY | MMT_HEEDS_SEED,
    .ops = 1 << MMT_GEMM,
    .types = 1 << MMT_F32 | 1 << MMT_F64 | 1 << MMT_I32,
    .run = run_ladder,
};
