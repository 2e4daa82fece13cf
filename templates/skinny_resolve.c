/* Says which knobs of skinny.cl cannot be, and chooses those that are auto by the law of
 * time: a block's threads, how C's short side is cut, the depth of a tile and the splits
 * of k. */
#include <math.h>
#include <string.h>

#include "templates/law.h"
#include "templates/skinny.h"

/* ---- what cannot be -------------------------------------------------------------- */

/* All of these knobs' values are powers of two. */
static bool is_multiple(int number, int of)
{
    return (number & (of - 1)) == 0;
}

static const char *check_pieces(const int *v, bool along, mmt_type type)
{
    if (v[VECTOR] > mmt_gemm_vector(type))
        return "VECTOR may cover at most 16 bytes";
    if (!is_multiple(v[THREAD_TILE_K], v[VECTOR]))
        return "THREAD_TILE_K must be a multiple of VECTOR";
    if (!along && !is_multiple(v[THREAD_TILE_LONG], v[VECTOR]))
        return "the long operand lies across k: THREAD_TILE_LONG must be a multiple of "
               "VECTOR";
    if (!is_multiple(v[TILE_K], v[THREADS_K] * v[THREAD_TILE_K]))
        return "TILE_K must be a multiple of THREADS_K * THREAD_TILE_K";
    if (accumulators(v) * v[THREAD_TILE_K] > 1024)
        return "THREAD_TILE_SHORT * THREAD_TILE_LONG * THREAD_TILE_K may be at most "
               "1024, or the loop "
               "outgrows "
               "the instruction cache";
    return NULL;
}

/* Neighbouring threads should make whole warps and read whole sectors of memory. */
static const char *check_threads(const int *v, bool along, mmt_type type,
                                 const struct mmt_caps *caps)
{
    enum { SECTOR = 32 };
    const size_t size = mmt_type_size(type);
    const int neighbours = along ? v[THREADS_K] : v[THREADS_LONG];

    if ((unsigned) threads(v) < caps->warp)
        return "the block has fewer threads than a warp";
    if (neighbours * v[VECTOR] * size < SECTOR)
        return "neighbouring threads read less of the long operand than memory hands out";
    return NULL;
}

/* Threads that add up should be of one subgroup, whose size the device must know. */
static const char *check_subgroup(const int *v, bool along, const struct mmt_caps *caps)
{
    if (!v[SUBGROUP])
        return NULL;
    if (!(caps->subgroups & (unsigned) v[SUBGROUP]))
        return "the device has no subgroups of SUBGROUP threads that shuffle";
    if (!is_multiple(threads(v), v[SUBGROUP]))
        return "the block has no whole number of subgroups";
    if (v[THREADS_K] == 1 || (!along && v[THREADS_LONG] >= v[SUBGROUP]))
        return "no two threads along k are of one subgroup: SUBGROUP must be 0";
    return NULL;
}

/* A CPU's compilers unroll without end, and keep what all threads of a block have in
 * registers on one stack. */
static const char *check_cpu(const int *v, size_t size)
{
    enum { UNROLLED = 256, STACK = 1 << 20 };

    if (accumulators(v) * v[THREAD_TILE_K] > UNROLLED)
        return "THREAD_TILE_SHORT * THREAD_TILE_LONG * THREAD_TILE_K may be at most 256 "
               "on a CPU, whose "
               "compilers take minutes over more";
    if (size * (size_t) ((accumulators(v) + piece(v)) * threads(v)) > STACK)
        return "sums and pieces of a block may take at most 1 MiB on a CPU";
    return NULL;
}

const char *mmt_skinny_check_device(const int *v, const struct mmt_variant *variant,
                                    const struct mmt_caps *caps)
{
    const size_t size = mmt_gemm_real_size(variant->type);
    const size_t shared = size * (size_t) pool(v);
    const bool along = along_k(v, variant->trans_a, variant->trans_b);

    const char *why = check_pieces(v, along, variant->type);
    if (!why && lie_alike(variant->trans_a, variant->trans_b) && v[SHORT] != EITHER)
        why = "A and B lie alike: SHORT=either serves rows and columns";
    if (!why)
        why = mmt_gemm_check_device(threads(v), 1, shared, caps);
    if (!why)
        why = mmt_gemm_check_resident(v[MIN_BLOCKS], threads(v), registers(v, size),
                                      shared, caps);
    if (!why)
        why = check_subgroup(v, along, caps);
    if (!why && caps->kind == MMT_GPU)
        why = check_threads(v, along, variant->type, caps);
    if (!why && caps->kind == MMT_CPU)
        why = check_cpu(v, size);
    return why;
}

/* ---- the law of time --------------------------------------------------------------- */

static bool is_along_k(const int *v, const mmt_problem *p)
{
    return along_k(v, p->trans_a != 0, p->trans_b != 0);
}

/* Registers that a thread should have: what it cannot do without, and the places of the
 * long operand's rows that it reads. */
static unsigned wanted_registers(const int *v, const mmt_problem *p)
{
    enum { OF_A_ROW_ALONG = 16, OF_A_ROW_ACROSS = 3 };
    return registers(v, mmt_gemm_real_size(p->type)) +
           (unsigned) (is_along_k(v, p) ? OF_A_ROW_ALONG * v[THREAD_TILE_LONG]
                                        : OF_A_ROW_ACROSS * v[THREAD_TILE_K]);
}

static int resident(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    return mmt_law_resident(threads(v), mmt_gemm_real_size(p->type) * (size_t) pool(v),
                            wanted_registers(v, p), caps);
}

/* Bytes of the long operand that a warp's neighbours load side by side. VECTOR is a power
 * of two. */
static double run_of(const int *v, const mmt_problem *p)
{
    enum { WARP = 32 };
    const int64_t ld = rows_are_short(v, p) ? p->ldb : p->lda;
    const int neighbours = is_along_k(v, p) ? v[THREADS_K] : v[THREADS_LONG];
    return (neighbours < WARP ? neighbours : WARP) *
           ((ld & (v[VECTOR] - 1)) == 0 ? v[VECTOR] : 1) *
           (double) mmt_type_size(p->type);
}

/* A block waits for each step's piece of the long operand, and for each round in which
 * the short one is staged, eight loads a thread. Threads along k leave each other their
 * accumulators. Memory hands out half a sector with each run, unasked for. */
static double cycles_of(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    enum { STAGED = 8 };
    static const double unasked = 16;
    const double size = (double) mmt_gemm_real_size(p->type), run = run_of(v, p);
    const double step = v[THREADS_K] * v[THREAD_TILE_K];
    const double most = (double) STAGED * threads(v) / v[THREAD_TILE_SHORT];
    const double round = most < v[TILE_K] ? most : v[TILE_K];
    const struct mmt_law law = {
        .rates = &mmt_law_streaming,
        .m = v[THREAD_TILE_SHORT],
        .n = v[THREADS_LONG] * v[THREAD_TILE_LONG],
        .k = (double) steps_of(v, p->k) * step,
        .blocks = (double) tiles(v, p) * (double) p->batch,
        .threads = threads(v),
        .resident = resident(v, p, caps),
        .step = step,
        .stages = round / (round + step),
        .rate = MMT_LAW_LANES * 4 / size,
        .fetched = (double) mmt_type_size(p->type),
        .stored = accumulators(v) * threads(v) * size / 4,
        .bytes = mmt_problem_bytes(p) * (run + unasked) / run,
        .launches = 1,
    };
    const struct mmt_law cut = mmt_law_split(&law, (int) filled_splits(v, p->k),
                                             mmt_gemm_partial_sums(p) * size);
    return mmt_law_cycles(&cut, caps);
}

double mmt_skinny_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    return caps->kind == MMT_GPU && caps->sms
               ? cycles_of(v, p, caps) - mmt_law_streaming.launch
               : 0;
}

/* ---- what is auto ------------------------------------------------------------------ */

/* For what a kernel is resolved, what is named of it, and what takes least so far. */
struct search {
    const struct mmt_knob *knobs;
    const mmt_problem *p;
    const struct mmt_caps *caps;
    int given[NUM_KNOBS], best[NUM_KNOBS];
    double least;
};

/* Something must be known of the device to choose, and C be served. */
static bool may_choose(const int *v, const struct search *search)
{
    return search->caps->sms && short_side(v, search->p) <= LONGEST_SHORT;
}

/* A step of a GPU, if each thread has two loads to do then: warps that meet often read
 * the same rows at a time. A CPU's threads stage one after the other. The knob has all
 * powers of two from its first value to its last, and that is what both are. */
static int find_tile(const int *v, const struct search *search)
{
    const struct mmt_knob *knob = &search->knobs[TILE_K];
    const int step = v[THREADS_K] * v[THREAD_TILE_K];
    const int wanted =
        search->caps->kind == MMT_CPU ? 1024 : 2 * threads(v) / v[THREAD_TILE_SHORT];
    const int least = wanted > step ? wanted : step;
    const int first = knob->values[1], last = knob->values[knob->num_values - 1];
    return least < first ? first : least < last ? least : last;
}

/* As many as a multiprocessor has at a time if threads have the registers that they
 * should, so that a compiler gives them no more. OpenCL cannot say that. */
static int find_blocks(const int *v, const struct search *search)
{
    const struct mmt_knob *knob = &search->knobs[MIN_BLOCKS];
    const int most = resident(v, search->p, search->caps);
    int i = knob->num_values - 1;

    if (search->caps->dialect == MMT_OPENCL_C || !search->caps->registers)
        return 1;
    while (i > 1 && knob->values[i] > most)
        i--;
    return knob->values[i];
}

static void find_splits(int *v, const struct search *search)
{
    const double most = MMT_GEMM_MOST_PARTIAL / mmt_gemm_partial_sums(search->p);
    v[SPLIT_K] = 1;
    if (may_choose(v, search))
        mmt_law_choose_splits(v, SPLIT_K, &search->knobs[SPLIT_K], most, cycles_of,
                              search->p, search->caps);
}

/* A block where it is auto: its threads, and what each takes of the long operand at a
 * time, a vector along C's long side where that is 0. Those along k exchange their
 * accumulators, of which there are more the wider C's short side is; but where its long
 * side is short, they alone make threads enough. The first comes first where nothing is
 * known. */
struct block {
    int threads_long, threads_k, long_side, k;
};

enum { NUM_BLOCKS = 10 };

static const struct block block_on_cpu = { 4, 1, 8, 4 };

/* Where the long operand lies across k, and where it lies along it. */
static const struct block blocks_across[NUM_BLOCKS] = {
    { 16, 8, 0, 8 },
    { 32, 4, 0, 8 },
    { 16, 8, 0, 4 },
    { 16, 16, 0, 8 },
    { 4, 32, 0, 4 },
    { 8, 32, 0, 8 },
    { 8, 32, 4, 16 },
    { 4, 64, 4, 16 },
    { 4, 64, 0, 8 },
    { 2, 128, 0, 4 },
}, blocks_along[NUM_BLOCKS] = {
    { 16, 8, 2, 8 },
    { 8, 16, 1, 8 },
    { 16, 8, 2, 16 },
    { 8, 32, 2, 16 },
    { 8, 16, 2, 16 },
    { 4, 64, 1, 8 },
    { 4, 64, 2, 16 },
    { 1, 256, 1, 8 },
    { 2, 128, 2, 16 },
    { 1, 256, 1, 16 },
};

static void name(int *knob, int value)
{
    *knob = *knob ? *knob : value;
}

/* The block in the place of what is auto. */
static void use_block(int *v, const struct block *block)
{
    name(&v[THREADS_LONG], block->threads_long);
    name(&v[THREADS_K], block->threads_k);
    name(&v[THREAD_TILE_LONG], block->long_side ? block->long_side : v[VECTOR]);
    name(&v[THREAD_TILE_K], block->k);
}

static const char *check(const int *v, const struct search *search)
{
    const struct mmt_variant variant = { .type = search->p->type,
                                         .trans_a = search->p->trans_a != 0,
                                         .trans_b = search->p->trans_b != 0 };
    return mmt_skinny_check_device(v, &variant, search->caps);
}

/* `work`: elements of C's short side for a thread, where they are auto. */
static void try_block(struct search *search, const struct block *block, int work)
{
    int v[NUM_KNOBS];
    memcpy(v, search->given, sizeof v);
    use_block(v, block);
    name(&v[THREAD_TILE_SHORT], work);
    name(&v[TILE_K], find_tile(v, search));
    name(&v[MIN_BLOCKS], find_blocks(v, search));
    if (!v[SPLIT_K])
        find_splits(v, search);
    const double takes =
        may_choose(v, search) ? cycles_of(v, search->p, search->caps) : 1;
    if (takes >= search->least)
        return;
    const bool runs = !check(v, search);
    if (runs || search->least == INFINITY)
        memcpy(search->best, v, sizeof v);
    if (runs)
        search->least = takes;
}

static bool leaves_block(const int *v)
{
    return !v[THREADS_LONG] || !v[THREADS_K] || !v[THREAD_TILE_LONG] || !v[THREAD_TILE_K];
}

/* C's short side cut for a thread: whole, then by halves. Beside a block that is named a
 * thread has as much as it can. */
static void try_cuts(struct search *search, const struct block *block)
{
    const int64_t all = short_side(search->given, search->p);
    int work = LONGEST_SHORT;

    while (work > 1 && work / 2 >= all)
        work /= 2;
    for (; work > 0; work /= 2) {
        try_block(search, block, work);
        if (search->given[THREAD_TILE_SHORT] ||
            (!leaves_block(search->given) && search->least < INFINITY))
            return;
    }
}

/* Where A and B lie alike, one text serves rows and columns. */
static void resolve_side(int *v, const mmt_problem *p)
{
    if (v[SHORT] == EITHER && !lie_alike(p->trans_a != 0, p->trans_b != 0))
        v[SHORT] = p->m <= p->n ? ROWS : COLUMNS;
}

/* Of the blocks that the device can run the one that takes least; the first where nothing
 * is known; the last where none runs. */
void mmt_skinny_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                        const struct mmt_caps *caps)
{
    struct search search = { .knobs = knobs, .p = p, .caps = caps, .least = INFINITY };

    resolve_side(v, p);
    if (!leaves_block(v) && v[THREAD_TILE_SHORT] && v[TILE_K] && v[MIN_BLOCKS] &&
        v[SPLIT_K])
        return;
    if (caps->kind == MMT_CPU)
        use_block(v, &block_on_cpu);
    memcpy(search.given, v, sizeof search.given);
    const struct block *blocks = is_along_k(v, p) ? blocks_along : blocks_across;
    const int count = leaves_block(v) ? NUM_BLOCKS : 1;
    for (int i = 0; i < count; i++)
        try_cuts(&search, &blocks[i]);
    memcpy(v, search.best, sizeof search.best);
}
