/* The knobs of skinny.cl, in this order. */
#include <math.h>
#include <string.h>

#include "templates/gemm.h"
#include "templates/split.h"

enum {
    SHORT,
    WORK_SHORT,
    WORK_LONG,
    WORK_K,
    THREADS_LONG,
    THREADS_K,
    VECTOR,
    TILE_K,
    SPLIT_K,
    MIN_BLOCKS,
    NUM_KNOBS
};

enum { ROWS, COLUMNS, EITHER };
enum { LONGEST_SHORT = 16 };
enum { AT_ONCE = 8 }; /* loads that a thread has in flight as it stages */

static const char *const sides[] = { "rows", "columns", "either" };

static const struct mmt_knob knobs[NUM_KNOBS] = {
    [SHORT] = { "SHORT", "what C has few of", 3, { ROWS, COLUMNS, EITHER }, sides },
    [WORK_SHORT] = MMT_KNOB_LEFT(
        "WORK_SHORT", "elements of C per thread, short side; 0: all, as far as they fit",
        0, 1, 2, 4, 8, 16),
    [WORK_LONG] =
        MMT_KNOB("WORK_LONG", "elements of C per thread, long side", 1, 2, 4, 8, 16),
    [WORK_K] = MMT_KNOB("WORK_K", "steps of k per thread at a time", 1, 2, 4, 8, 16),
    [THREADS_LONG] =
        MMT_KNOB_LEFT("THREADS_LONG", "threads along the long side; 0: as suits it", 0, 1,
                      2, 4, 8, 16, 32, 64, 128, 256),
    [THREADS_K] = MMT_KNOB_LEFT("THREADS_K", "threads along k; 0: as suits it", 0, 1, 2,
                                4, 8, 16, 32, 64, 128, 256),
    [VECTOR] = MMT_KNOB("VECTOR", "elements of the long operand per load", 1, 2, 4),
    [TILE_K] = MMT_KNOB_LEFT(
        "TILE_K", "depth of the short operand in shared memory; 0: as suits it", 0, 64,
        128, 256, 512, 1024, 2048, 4096),
    [SPLIT_K] = MMT_GEMM_KNOB_PARTS(
        "parts of k at most, each for blocks of its own; 0: as suits it", 1, true, 0, 1,
        2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
    [MIN_BLOCKS] =
        MMT_KNOB("MIN_BLOCKS", "least blocks on a multiprocessor", 1, 2, 3, 4, 6, 8),
};

/* The same for all sides; a problem's transposes leave either, or the other two. */
#define SEED(...)                                                                        \
    { EITHER, __VA_ARGS__ }, { ROWS, __VA_ARGS__ },                                      \
    {                                                                                    \
        COLUMNS, __VA_ARGS__                                                             \
    }

// clang-format off
static const int seeds[][MMT_MAX_KNOBS] = {
    /* work short, long, k, threads long, k, vector, tile, parts, blocks. The first two are for
     * a CPU. Three leave all but the work of a thread to the problem: by the counted cycles
     * the best of them is within 1 % of the best of all on average. Of the others,
     * timed on an H100 in f32, one is within 2 % of the best of 70 on average. */
    SEED(1, 8,  4,  4,   1, 4, 1024, 0, 1), SEED(1, 8,  4,  4,   1, 2, 1024, 0, 1),
    SEED(0, 2, 16,  0,   0, 2,    0, 0, 1), SEED(0, 4, 16,  0,   0, 4,    0, 0, 1),
    SEED(0, 2,  8,  0,   0, 2,    0, 0, 1),
    SEED(0, 4,  4,  8,  32, 2,  512, 0, 1), SEED(0, 2,  8, 32,   8, 2,  512, 0, 1),
    SEED(0, 2, 16,  4,  32, 2, 2048, 0, 2), SEED(0, 2,  8,  8,  16, 2, 4096, 0, 1),
    SEED(0, 2,  8, 32,   4, 2,  512, 0, 4), SEED(0, 4, 16,  4,  64, 4, 2048, 0, 1),
    SEED(0, 4, 16, 32,   8, 4,  256, 0, 1), SEED(0, 4,  8,  8,  32, 4, 1024, 0, 1),
    SEED(0, 4,  8, 32,   8, 4,  512, 0, 1), SEED(0, 2,  8,  4,  32, 2,  512, 0, 1),
    SEED(0, 2,  8, 16,  16, 1,  256, 0, 3), SEED(0, 2, 16,  8,  32, 2,  512, 0, 1),
    SEED(0, 4, 16,  8,  32, 4, 2048, 0, 1), SEED(0, 4, 16, 32,   8, 1,  512, 0, 1),
    SEED(0, 1, 16,  2,  64, 2, 1024, 0, 1), SEED(0, 2,  4,  8,  32, 2,  256, 0, 1),
};
// clang-format on

static bool rows_are_short(const int *v, const mmt_problem *p)
{
    return v[SHORT] == EITHER ? p->m <= p->n : v[SHORT] == ROWS;
}

/* Whether A and B lie alike, both along k or both across it. */
static bool lie_alike(bool trans_a, bool trans_b)
{
    return trans_a != trans_b;
}

/* Whether the long operand lies along k. */
static bool along_k(const int *v, bool trans_a, bool trans_b)
{
    return v[SHORT] == COLUMNS ? !trans_a : trans_b;
}

static int threads(const int *v)
{
    return v[THREADS_LONG] * v[THREADS_K];
}

static int sums(const int *v)
{
    return v[WORK_LONG] * v[WORK_SHORT];
}

static int piece(const int *v)
{
    return v[WORK_LONG] * v[WORK_K];
}

/* Elements of shared memory: for the short operand, and later for exchanged sums. */
static int pool(const int *v)
{
    const int staged = v[WORK_SHORT] * (v[TILE_K] + 4);
    const int exchanged = v[THREADS_K] > 1 ? (sums(v) + 1) / 2 * threads(v) : 0;
    return staged > exchanged ? staged : exchanged;
}

/* 32-bit registers that a thread cannot do without. */
static unsigned registers(const int *v, size_t size)
{
    enum { BESIDES = 24 };
    return (unsigned) (size / 4) * (unsigned) (sums(v) + piece(v) + v[VECTOR]) + BESIDES;
}

static const char *reject_pieces(const int *v, bool along, size_t size)
{
    if (v[VECTOR] * size > 16)
        return "VECTOR may cover at most 16 bytes";
    if (v[WORK_K] % v[VECTOR])
        return "WORK_K must be a multiple of VECTOR";
    if (!along && v[WORK_LONG] % v[VECTOR])
        return "the long operand lies across k: WORK_LONG must be a multiple of VECTOR";
    if (v[TILE_K] % (v[THREADS_K] * v[WORK_K]))
        return "TILE_K must be a multiple of THREADS_K * WORK_K";
    if (sums(v) * v[WORK_K] > 1024)
        return "WORK_SHORT * WORK_LONG * WORK_K may be at most 1024, or the loop "
               "outgrows "
               "the instruction cache";
    return NULL;
}

/* Neighbouring threads should make whole warps and read whole sectors of memory. */
static const char *reject_threads(const int *v, bool along, size_t size,
                                  const struct mmt_caps *caps)
{
    enum { SECTOR = 32 };
    const int neighbours = along ? v[THREADS_K] : v[THREADS_LONG];

    if ((unsigned) threads(v) < caps->warp)
        return "the block has fewer threads than a warp";
    if (neighbours * v[VECTOR] * size < SECTOR)
        return "neighbouring threads read less of the long operand than memory hands out";
    return NULL;
}

/* A CPU's compilers unroll without end, and keep what all threads of a block have in
 * registers on one stack. */
static const char *reject_cpu(const int *v, size_t size)
{
    enum { UNROLLED = 256, STACK = 1 << 20 };

    if (sums(v) * v[WORK_K] > UNROLLED)
        return "WORK_SHORT * WORK_LONG * WORK_K may be at most 256 on a CPU, whose "
               "compilers take minutes over more";
    if (size * (size_t) ((sums(v) + piece(v)) * threads(v)) > STACK)
        return "sums and pieces of a block may take at most 1 MiB on a CPU";
    return NULL;
}

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    const size_t size = mmt_type_size(variant->type), shared = size * (size_t) pool(v);
    const bool along = along_k(v, variant->trans_a, variant->trans_b);

    const bool alike = lie_alike(variant->trans_a, variant->trans_b);
    const char *why = reject_pieces(v, along, size);
    if (!why && alike && v[SHORT] != EITHER)
        why = "A and B lie alike: SHORT=either serves rows and columns";
    if (!why && !alike && v[SHORT] == EITHER)
        why = "SHORT=either needs an A and a B that lie alike: one of them transposed";
    if (!why)
        why = mmt_gemm_reject(threads(v), 1, shared, caps);
    if (!why)
        why = mmt_gemm_reject_resident(v[MIN_BLOCKS], threads(v), registers(v, size),
                                       shared, caps);
    if (!why && caps->kind == MMT_GPU)
        why = reject_threads(v, along, size, caps);
    if (!why && caps->kind == MMT_CPU)
        why = reject_cpu(v, size);
    return why;
}

static int64_t short_side(const int *v, const mmt_problem *p)
{
    return rows_are_short(v, p) ? p->m : p->n;
}

static int64_t long_side(const int *v, const mmt_problem *p)
{
    return rows_are_short(v, p) ? p->n : p->m;
}

static int64_t tiles(const int *v, const mmt_problem *p)
{
    return mmt_gemm_pieces(long_side(v, p), v[THREADS_LONG] * v[WORK_LONG]) *
           mmt_gemm_pieces(short_side(v, p), v[WORK_SHORT]);
}

/* Parts of k that are not empty. */
static int64_t parts(const int *v, int64_t k)
{
    const int64_t steps = mmt_gemm_pieces(k, v[THREADS_K] * v[WORK_K]);
    const int64_t part = mmt_gemm_pieces(steps, v[SPLIT_K]);
    return part > 0 ? mmt_gemm_pieces(steps, (int) part) : 1;
}

/* Threads that are neighbours in memory as they load the long operand. */
static int neighbours(const int *v, const mmt_problem *p)
{
    return along_k(v, p->trans_a != 0, p->trans_b != 0) ? v[THREADS_K] : v[THREADS_LONG];
}

/* Bytes of the long operand that so many neighbours load at once, side by side. */
static double side_by_side(const int *v, const mmt_problem *p, int threads)
{
    const bool aligned = (rows_are_short(v, p) ? p->ldb : p->lda) % v[VECTOR] == 0;
    return threads * (aligned ? v[VECTOR] : 1) * (double) mmt_type_size(p->type);
}

/* Lines of memory that a block touches in a step: as many as it reads rows, and more
 * where neighbours read more than one at once. */
static double lines(const int *v, const mmt_problem *p)
{
    const double line = 128, run = side_by_side(v, p, neighbours(v, p));
    const int rows = along_k(v, p->trans_a != 0, p->trans_b != 0)
                         ? v[THREADS_LONG] * v[WORK_LONG]
                         : v[THREADS_K] * v[WORK_K];
    return run > line ? rows * run / line : rows;
}

/* Cycles in which memory hands out the operands. It does so in larger pieces than a short
 * run of neighbours needs. */
static double in_memory(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { WARP = 32 };
    static const double coming = 13.2; /* bytes in a cycle, of a multiprocessor's share */
    static const double beside = 11.4; /* bytes that come with each run, unasked for */
    const int threads = neighbours(v, p);
    const double run = side_by_side(v, p, threads < WARP ? threads : WARP);
    return mmt_problem_bytes(p) * (1 + beside / run) /
           (coming * (caps->sms ? caps->sms : 1));
}

/* What a step takes, of one that k fills: of what k lacks, some is saved. */
static double filling(int64_t k, double step)
{
    static const double saved = 0.26;
    const double steps = (double) k / step;
    return k > 0 ? 1 - saved * (1 - steps / ceil(steps)) : 1;
}

/* What a launch puts on a GPU, its parts of k apart. The figures were fitted to 17000
 * times on H100s (docs/cost-model.md). */
static struct mmt_split split_of(const int *v, const mmt_problem *p,
                                 const struct mmt_caps *caps)
{
    /* Cycles in which a step's elements come, and in which a round of staged ones does;
     * by which a step comes later for each thread of the block; those of a thread's
     * multiply-add, and of a line. Bytes in a cycle: of the long operand that come and
     * are multiplied, of the short one that are staged, of sums that threads along k
     * exchange. */
    enum { FETCH = 610, STAGE = 620, AROUND_ON_CPU = 600 };
    static const double one_by_one = 3, thread = 1.06, line = 0.9, coming = 45.7,
                        multiplied = 287, staged = 9.6, exchanged = 38;
    const double size = (double) mmt_type_size(p->type), all = threads(v);
    const double step_k = v[THREADS_K] * v[WORK_K], bytes = size * piece(v) * all;
    const double at_once = AT_ONCE * all / v[WORK_SHORT];
    const double memory = in_memory(v, p, caps);

    return (struct mmt_split){
        .tiles = (double) tiles(v, p) * (double) p->batch,
        .steps = (double) mmt_gemm_pieces(p->k, v[THREADS_K] * v[WORK_K]),
        .resident = mmt_split_resident(threads(v), mmt_type_size(p->type) * pool(v),
                                       registers(v, mmt_type_size(p->type)), caps),
        .step = filling(p->k, step_k) *
                (bytes / coming + bytes * v[WORK_SHORT] / multiplied +
                 line * lines(v, p) + size * v[WORK_SHORT] * step_k / staged),
        .latency = FETCH + thread * all + one_by_one * piece(v) * v[WORK_SHORT],
        .block = (v[THREADS_K] > 1 ? size * sums(v) * all / exchanged : 0) +
                 (caps->kind == MMT_CPU ? AROUND_ON_CPU : 0),
        .round = (at_once < v[TILE_K] ? at_once : v[TILE_K]) / step_k,
        .staging = STAGE,
        .memory = memory,
        .ramp = 36 * sqrt(memory),
        .adding = MMT_SPLIT_ADDING,
        .sums = mmt_gemm_partial_sums(p) * size,
        .most = MMT_GEMM_MOST_PARTIAL / mmt_gemm_partial_sums(p),
    };
}

/* ---- what is left to the problem --------------------------------------------------- */

/* Two rounds of a GPU's threads; a CPU's stage one after the other. */
static int find_tile(const int *v, const struct mmt_caps *caps)
{
    const int step = v[THREADS_K] * v[WORK_K];
    const int wanted =
        caps->kind == MMT_CPU ? 1024 : 2 * AT_ONCE * threads(v) / v[WORK_SHORT];
    int i = 1;
    while (i < knobs[TILE_K].num_values - 1 &&
           (knobs[TILE_K].values[i] < wanted || knobs[TILE_K].values[i] < step))
        i++;
    return knobs[TILE_K].values[i];
}

static const char *fill_with(int *v, const int *given, int work, const mmt_problem *p,
                             const struct mmt_caps *caps)
{
    const struct mmt_variant variant = { .type = p->type,
                                         .trans_a = p->trans_a != 0,
                                         .trans_b = p->trans_b != 0 };
    v[WORK_SHORT] = given[WORK_SHORT] ? given[WORK_SHORT] : work;
    v[TILE_K] = given[TILE_K] ? given[TILE_K] : find_tile(v, caps);
    return reject(v, &variant, caps);
}

/* With all of the short side, as far as it fits, and the tile that suits it: the threads
 * are known. NULL if the device can run that. */
static const char *fill(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    const int64_t needed = short_side(v, p);
    int given[NUM_KNOBS], work = 1;

    memcpy(given, v, sizeof given);
    while (work < needed && work < LONGEST_SHORT)
        work *= 2;
    const char *why = fill_with(v, given, work, p, caps);
    while (why && !given[WORK_SHORT] && work > 1)
        why = fill_with(v, given, work /= 2, p, caps);
    return why;
}

/* Threads of a block along the long side and along k, where they are left to the problem.
 * Those along k exchange their sums, of which there are more the wider C's short side is;
 * but where its long side is short, they alone make threads enough. */
struct shape {
    int along, k;
};

enum { NUM_SHAPES = 8 };

static const struct shape on_cpu = { 4, 1 },
                          on_gpu[NUM_SHAPES] = { { 8, 16 }, { 32, 4 }, { 32, 2 },
                                                 { 4, 32 }, { 4, 64 }, { 1, 256 },
                                                 { 32, 8 }, { 16, 32 } };

static void use(int *v, const int *given, const struct shape *shape)
{
    memcpy(v, given, NUM_KNOBS * sizeof *v);
    v[THREADS_LONG] = given[THREADS_LONG] ? given[THREADS_LONG] : shape->along;
    v[THREADS_K] = given[THREADS_K] ? given[THREADS_K] : shape->k;
}

/* The parts of k, where they are left; returns what they take, or INFINITY where that is
 * more than `least` however k is cut. */
static double find_parts(int *v, const mmt_problem *p, const struct mmt_caps *caps,
                         double least)
{
    const struct mmt_split split = split_of(v, p, caps);
    if (mmt_split_least(&split, caps) > least)
        return INFINITY;
    if (!v[SPLIT_K])
        return mmt_split_find(&split, &knobs[SPLIT_K], caps, least, &v[SPLIT_K]);
    return caps->sms ? mmt_split_cycles(&split, v[SPLIT_K], caps) : 0;
}

/* The shape that takes least, of those that the device can run; any, where C is refused.
 */
static void find_threads(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    double least = INFINITY;
    int given[NUM_KNOBS], next[NUM_KNOBS];

    memcpy(given, v, sizeof given);
    use(v, given, caps->kind == MMT_CPU ? &on_cpu : on_gpu);
    fill(v, p, caps);
    if (caps->kind != MMT_GPU || short_side(v, p) > LONGEST_SHORT)
        return;
    for (int i = 0; i < NUM_SHAPES; i++) {
        use(next, given, &on_gpu[i]);
        if (fill(next, p, caps))
            continue;
        const double takes = find_parts(next, p, caps, least);
        if (takes < least) {
            least = takes;
            memcpy(v, next, sizeof next);
        }
    }
}

static void settle(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (!v[THREADS_LONG] || !v[THREADS_K])
        find_threads(v, p, caps);
    else if (!v[WORK_SHORT] || !v[TILE_K])
        fill(v, p, caps);
    if (!v[SPLIT_K])
        find_parts(v, p, caps, INFINITY);
}

static double cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (caps->kind != MMT_GPU || !caps->sms)
        return 0;
    const struct mmt_split split = split_of(v, p, caps);
    return mmt_split_cycles(&split, (int) parts(v, p->k), caps);
}

static const char *refuse(const int *v, const mmt_problem *p)
{
    if (short_side(v, p) > LONGEST_SHORT)
        return rows_are_short(v, p) ? "m is more than 16: C has too many rows"
                                    : "n is more than 16: C has too many columns";
    if (v[WORK_SHORT] >= 4 * short_side(v, p))
        return "three quarters of WORK_SHORT would be idle";
    return mmt_gemm_refuse(tiles(v, p));
}

static void launch(const int *v, const mmt_problem *p, const struct mmt_caps *caps,
                   struct mmt_launches *out)
{
    static const enum mmt_arg args[] = { MMT_ARG_M,         MMT_ARG_N,    MMT_ARG_K,
                                         MMT_ARG_ALPHA,     MMT_ARG_BETA, MMT_ARG_SCALARS,
                                         MMT_ARG_A,         MMT_ARG_B,    MMT_ARG_C,
                                         MMT_ARG_WORKSPACE, MMT_ARG_END };
    static const enum mmt_arg add_args[] = {
        MMT_ARG_M,       MMT_ARG_N, MMT_ARG_PARTS,     MMT_ARG_ALPHA, MMT_ARG_BETA,
        MMT_ARG_SCALARS, MMT_ARG_C, MMT_ARG_WORKSPACE, MMT_ARG_END,
    };
    const size_t size = mmt_type_size(p->type);
    const int64_t cells = p->m * p->n, not_empty = parts(v, p->k);
    const int along = v[THREADS_LONG] * v[WORK_LONG];
    const int adders = MMT_GEMM_ADDERS / mmt_gemm_sharers((int) not_empty);
    const bool rows = rows_are_short(v, p);

    *out = (struct mmt_launches){ .count = not_empty > 1 ? 2 : 1,
                                  .tile_m = rows ? v[WORK_SHORT] : along,
                                  .tile_n = rows ? along : v[WORK_SHORT] };
    out->launch[0] = (struct mmt_launch){
        .entry = "mmt_gemm",
        .args = args,
        .grid = { (unsigned) tiles(v, p), (unsigned) not_empty, (unsigned) p->batch },
        .block = { (unsigned) threads(v), 1, 1 },
        .shared = size * (size_t) pool(v),
        .waits = true,
    };
    if (not_empty == 1)
        return;
    out->launch[1] = (struct mmt_launch){
        .entry = "add_parts",
        .args = add_args,
        .grid = { (unsigned) mmt_gemm_pieces(cells, adders), 1, (unsigned) p->batch },
        .block = { MMT_GEMM_ADDERS, 1, 1 },
        .parts = (int) not_empty,
        .waits = true,
    };
    out->workspace = size * (size_t) (not_empty * p->batch * cells);
}

static struct mmt_alignment alignment(const int *v, const mmt_problem *problem)
{
    const unsigned size = (unsigned) mmt_type_size(problem->type);
    const unsigned vector = size * (unsigned) v[VECTOR];
    return (struct mmt_alignment){
        .a = rows_are_short(v, problem) ? size : vector,
        .b = rows_are_short(v, problem) ? vector : size,
        .c = size,
    };
}

const struct mmt_template mmt_template_skinny = {
    .name = "skinny",
    .what = "one side of C is short: reads the long operand once, as fast as memory does",
    .op = MMT_GEMM,
    .types = MMT_PLAIN_TYPES,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .kinds = MMT_GPU | MMT_CPU,
    .file = "skinny.cl",
    .knobs = knobs,
    .num_knobs = NUM_KNOBS,
    .settle = settle,
    .cycles = cycles,
    .reject = reject,
    .refuse = refuse,
    .launch = launch,
    .alignment = alignment,
    .seeds = seeds,
    .num_seeds = sizeof(seeds) / sizeof(*seeds),
};
