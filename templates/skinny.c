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
        "WORK_SHORT",
        "elements of C per thread, short side; 0: all that fit, or as suits threads left",
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
     * a CPU. Four leave all but the work of a thread to the problem: by the counted cycles
     * the best of them is within 2 % of the best of all on average. Of the others,
     * timed on an H100 in f32, one is within 2 % of the best of 70 on average. */
    SEED(1, 8,  4,  4,   1, 4, 1024, 0, 1), SEED(1, 8,  4,  4,   1, 2, 1024, 0, 1),
    SEED(0, 2,  8,  0,   0, 2,    0, 0, 1), SEED(0, 2, 16,  0,   0, 2,    0, 0, 1),
    SEED(0, 2,  4,  0,   0, 2,    0, 0, 1), SEED(0, 4, 16,  0,   0, 4,    0, 0, 1),
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

/* Elements of the long operand per load. */
static int per_load(const int *v, const mmt_problem *p)
{
    return (rows_are_short(v, p) ? p->ldb : p->lda) % v[VECTOR] == 0 ? v[VECTOR] : 1;
}

/* Bytes of the long operand that so many neighbours load at once, side by side. */
static double side_by_side(const int *v, const mmt_problem *p, int threads)
{
    return threads * per_load(v, p) * (double) mmt_type_size(p->type);
}

/* Loads of warps from the staged operand in a step: as wide along k as those of the long
 * operand, or as whole vectors where that lies across k. */
static double from_staged(const int *v, const mmt_problem *p)
{
    enum { WARP = 32 };
    const bool along = along_k(v, p->trans_a != 0, p->trans_b != 0);
    return (double) (v[WORK_SHORT] * v[WORK_K] * threads(v)) /
           (WARP * (along ? per_load(v, p) : v[VECTOR]));
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

/* Cycles in which memory hands out a byte. It does so in larger pieces than a short run
 * of neighbours needs. */
static double in_memory(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { WARP = 32 };
    static const double coming = 12.3; /* bytes in a cycle, of a multiprocessor's share */
    static const double beside = 15.3; /* bytes that come with each run, unasked for */
    const int threads = neighbours(v, p);
    const double run = side_by_side(v, p, threads < WARP ? threads : WARP);
    return (1 + beside / run) / (coming * (caps->sms ? caps->sms : 1));
}

/* Bytes of the long operand that are read again, as often as blocks cover C's short side
 * besides once. */
static double read_again(const int *v, const mmt_problem *p)
{
    const int64_t again = mmt_gemm_pieces(short_side(v, p), v[WORK_SHORT]) - 1;
    return (double) (again * p->batch) * (double) long_side(v, p) * (double) p->k *
           (double) mmt_type_size(p->type);
}

/* What a step takes, of one that k fills: of what k lacks, some is saved. */
static double filling(int64_t k, double step)
{
    static const double saved = 0.4;
    const double steps = (double) k / step;
    return k > 0 ? 1 - saved * (1 - steps / ceil(steps)) : 1;
}

/* Whether an edge cuts all of a block's steps, and not only the last: C's long side has
 * less than it takes. */
static bool is_cut(const int *v, const mmt_problem *p)
{
    return long_side(v, p) < v[THREADS_LONG] * v[WORK_LONG];
}

/* What a launch puts on a GPU, its parts of k apart; `once`: bytes of all operands. The
 * figures were fitted to 8900 times on H100s (docs/cost-model.md). */
static struct mmt_split split_of(const int *v, const mmt_problem *p, double once,
                                 const struct mmt_caps *caps)
{
    /* Cycles in which a step's elements come, and in which a round of staged ones does;
     * by which a step comes later for each thread of the block; those of a thread's
     * multiply-add, of an element of a step that an edge cuts, of a line, of a warp's
     * load from the staged operand, and of a block's thread. Bytes in a cycle: of the
     * long operand that come and are multiplied, of the short one that are staged, of
     * sums that threads along k exchange, and of those that parts leave. How much of what
     * is read again comes from memory. */
    enum { FETCH = 770, STAGE = 600, ADDING = 3490, AROUND_ON_CPU = 600 };
    static const double one_by_one = 3.8, thread = 0.61, cut = 11.9, line = 1.67,
                        from_shared = 0.47, around = 1.6, coming = 54.4, multiplied = 396,
                        staged = 9.8, exchanged = 36, added = 2.67, again = 0.2;
    const size_t bytes_of_element = mmt_type_size(p->type);
    const double size = (double) bytes_of_element, all = threads(v);
    const double step_k = v[THREADS_K] * v[WORK_K], bytes = size * piece(v) * all;
    const double at_once = AT_ONCE * all / v[WORK_SHORT];
    const double edge = cut * piece(v), left = mmt_gemm_partial_sums(p);
    const double byte = in_memory(v, p, caps);

    return (struct mmt_split){
        .tiles = (double) tiles(v, p) * (double) p->batch,
        .steps = (double) mmt_gemm_pieces(p->k, v[THREADS_K] * v[WORK_K]),
        .resident = mmt_split_resident(threads(v), bytes_of_element * pool(v),
                                       registers(v, bytes_of_element), caps),
        .step =
            filling(p->k, step_k) *
            (bytes / coming + bytes * v[WORK_SHORT] / multiplied + line * lines(v, p) +
             from_shared * from_staged(v, p) + size * v[WORK_SHORT] * step_k / staged),
        .latency = FETCH + thread * all + one_by_one * piece(v) * v[WORK_SHORT] +
                   (is_cut(v, p) ? edge : 0),
        .last = !is_cut(v, p) && p->k % (v[THREADS_K] * v[WORK_K]) ? edge : 0,
        .block = (v[THREADS_K] > 1 ? size * sums(v) * all / exchanged : 0) +
                 (caps->kind == MMT_CPU ? AROUND_ON_CPU : around * all),
        .round = (at_once < v[TILE_K] ? at_once : v[TILE_K]) / step_k,
        .staging = STAGE,
        .memory = byte * (once + again * read_again(v, p)),
        .ramp = 29.4 * sqrt(byte * once),
        .adding = ADDING,
        .sums = left * size,
        .added = added,
        .most = MMT_GEMM_MOST_PARTIAL / left,
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

/* Elements of C's short side that a thread has where it has all of them. */
static int whole(const int *v, const mmt_problem *p)
{
    const int64_t needed = short_side(v, p);
    int work = 1;

    while (work < needed && work < LONGEST_SHORT)
        work *= 2;
    return work;
}

/* With all of the short side, as far as it fits, and the tile that suits it: the threads
 * are known. NULL if the device can run that. */
static const char *fill(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    int given[NUM_KNOBS], work = whole(v, p);

    memcpy(given, v, sizeof given);
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

enum { NUM_SHAPES = 7 };

static const struct shape on_cpu = { 4, 1 }, on_gpu[NUM_SHAPES] = {
    { 8, 16 }, { 4, 64 }, { 32, 4 }, { 1, 256 }, { 32, 8 }, { 4, 32 }, { 2, 128 }
};

static void use(int *v, const struct shape *shape)
{
    v[THREADS_LONG] = v[THREADS_LONG] ? v[THREADS_LONG] : shape->along;
    v[THREADS_K] = v[THREADS_K] ? v[THREADS_K] : shape->k;
}

/* The parts of k, where they are left; returns what they take, or INFINITY where that is
 * more than `least` however k is cut. */
static double find_parts(int *v, const mmt_problem *p, double once,
                         const struct mmt_caps *caps, double least)
{
    const struct mmt_split split = split_of(v, p, once, caps);
    if (mmt_split_least(&split, caps) > least)
        return INFINITY;
    if (!v[SPLIT_K])
        return mmt_split_find(&split, &knobs[SPLIT_K], caps, least, &v[SPLIT_K]);
    return caps->sms ? mmt_split_cycles(&split, v[SPLIT_K], caps) : 0;
}

/* The block that takes least so far, and what it takes. */
struct search {
    const int *given;
    double once; /* bytes of all operands */
    int best[NUM_KNOBS];
    double least;
};

/* Whether such a block is the best so far. */
static bool leads(struct search *search, const struct shape *shape, int work,
                  const mmt_problem *p, const struct mmt_caps *caps)
{
    int v[NUM_KNOBS];

    memcpy(v, search->given, sizeof v);
    use(v, shape);
    if (fill_with(v, search->given, work, p, caps))
        return false;
    const double takes = find_parts(v, p, search->once, caps, search->least);
    if (takes >= search->least)
        return false;
    search->least = takes;
    memcpy(search->best, v, sizeof v);
    return true;
}

/* Whether seven of eight of a shape's threads would be idle: another has less of them. */
static bool is_idle(const struct shape *shape, const int *given, const mmt_problem *p)
{
    return (!given[THREADS_LONG] &&
            shape->along * given[WORK_LONG] > 8 * long_side(given, p)) ||
           (!given[THREADS_K] && shape->k * given[WORK_K] > 8 * p->k);
}

/* The block that takes least of those that the device can run: its threads, a quarter of
 * C's short side for each, then how much of that. */
static void find_block(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    int given[NUM_KNOBS];
    const int all = whole(v, p), first = all > 4 ? all / 4 : 1;
    const struct shape *shape = &on_gpu[0];
    struct search search = { .given = given,
                             .once = mmt_problem_bytes(p),
                             .least = INFINITY };

    memcpy(given, v, sizeof given);
    for (int i = 0; i < NUM_SHAPES; i++)
        if ((i == 0 || !is_idle(&on_gpu[i], given, p)) &&
            leads(&search, &on_gpu[i], first, p, caps))
            shape = &on_gpu[i];
    for (int work = 1; work <= all && !given[WORK_SHORT]; work *= 2)
        if (work != first)
            leads(&search, shape, work, p, caps);
    if (search.least < INFINITY)
        memcpy(v, search.best, sizeof search.best);
}

/* The first shape that the device can run. */
static void find_shape(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    int given[NUM_KNOBS];
    const char *why = "";

    memcpy(given, v, sizeof given);
    for (int i = 0; why && i < NUM_SHAPES; i++) {
        memcpy(v, given, sizeof given);
        use(v, &on_gpu[i]);
        why = fill(v, p, caps);
    }
}

static bool leaves_threads(const int *v)
{
    return !v[THREADS_LONG] || !v[THREADS_K];
}

/* Something must be known of a GPU to choose, and C be served. */
static bool may_choose(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    return caps->sms && short_side(v, p) <= LONGEST_SHORT;
}

static void settle(int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (caps->kind == MMT_CPU)
        use(v, &on_cpu);
    if (leaves_threads(v) && may_choose(v, p, caps))
        find_block(v, p, caps);
    if (leaves_threads(v))
        find_shape(v, p, caps);
    if (!v[WORK_SHORT] || !v[TILE_K])
        fill(v, p, caps);
    if (!v[SPLIT_K])
        find_parts(v, p, mmt_problem_bytes(p), caps, INFINITY);
}

static double cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (caps->kind != MMT_GPU || !caps->sms)
        return 0;
    const struct mmt_split split = split_of(v, p, mmt_problem_bytes(p), caps);
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
