/* Which knobs of skinny.cl cannot be. What it leaves to the problem: a block's threads,
 * how C's short side is cut, the depth of a tile and the splits of k; and the count of
 * cycles by which they are chosen. */
#include <math.h>
#include <string.h>

#include "templates/skinny.h"
#include "templates/split.h"

enum { AT_ONCE = 8 }; /* loads that a thread has in flight as it stages */

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

/* ---- a problem as the count sees it ----------------------------------------------- */

/* For what a kernel is resolved, and what of a count any block has: the long operand's
 * elements in a load; bytes of an element, of what it becomes, and of the long operand;
 * bytes of all operands, and those that memory hands out in a cycle; and accumulators
 * that are left of a split of k. */
struct task {
    const struct mmt_knob *knobs; /* whose values are taken of those that are left */
    const mmt_problem *p;
    const struct mmt_caps *caps;
    bool along; /* the long operand lies along k */
    int per_load;
    double size, real, long_bytes, operands, rate, left;
};

/* VECTOR is a power of two. */
static struct task task_of(const int *v, const mmt_problem *p,
                           const struct mmt_caps *caps)
{
    const int64_t ld = rows_are_short(v, p) ? p->ldb : p->lda;
    const double size = (double) mmt_type_size(p->type), side = (double) long_side(v, p);
    return (struct task){
        .p = p,
        .caps = caps,
        .along = along_k(v, p->trans_a != 0, p->trans_b != 0),
        .per_load = (ld & (v[VECTOR] - 1)) == 0 ? v[VECTOR] : 1,
        .size = size,
        .real = (double) mmt_gemm_real_size(p->type),
        .long_bytes = (double) p->batch * side * (double) p->k * size,
        .operands = mmt_problem_bytes(p),
        .rate = mmt_split_memory_rate(caps),
        .left = mmt_gemm_partial_sums(p),
    };
}

/* ---- the count ------------------------------------------------------------------- */

/* Threads that are neighbours in memory as they load the long operand. */
static int neighbours(const int *v, const struct task *task)
{
    return task->along ? v[THREADS_K] : v[THREADS_LONG];
}

/* Bytes of the long operand that so many neighbours load at once, side by side. */
static double side_by_side(const struct task *task, int threads)
{
    return threads * task->per_load * task->size;
}

/* Loads of warps from the staged operand in a step, as wide along k as those of the long
 * operand, which lies along it; VECTOR is a power of two. */
static double from_staged(const int *v, const struct task *task)
{
    enum { WARP = 32 };
    return (double) (v[THREAD_TILE_SHORT] * v[THREAD_TILE_K] * threads(v)) /
           (WARP * task->per_load);
}

/* Lines of memory that a block touches in a step where the long operand lies across k: as
 * many as it reads rows, and more where neighbours read more than one at once. */
static double lines(const int *v, const struct task *task)
{
    static const double line = 128;
    const double run = side_by_side(task, neighbours(v, task));
    const int rows = v[THREADS_K] * v[THREAD_TILE_K];
    return run > line ? rows * run / line : rows;
}

/* Cycles in which memory hands out a byte. It does so in larger pieces than a short run
 * of neighbours needs. */
static double cycles_of_byte(const int *v, const struct task *task)
{
    enum { WARP = 32 };
    static const double reached = 0.929; /* of its rate */
    static const double beside = 16.1;   /* bytes that come with each run, unasked for */
    const int threads = neighbours(v, task);
    const double run = side_by_side(task, threads < WARP ? threads : WARP);
    return (run + beside) / (run * reached * task->rate);
}

/* Registers that a thread should have: what it cannot do without, and the places of the
 * long operand's rows that it reads. With fewer, a step takes longer. */
static unsigned wanted_registers(const int *v, const struct task *task)
{
    enum { OF_A_ROW_ALONG = 16, OF_A_ROW_ACROSS = 3 };
    return registers(v, mmt_gemm_real_size(task->p->type)) +
           (unsigned) (task->along ? OF_A_ROW_ALONG * v[THREAD_TILE_LONG]
                                   : OF_A_ROW_ACROSS * v[THREAD_TILE_K]);
}

/* Registers that a compiler gives it, and no more than leave room for MIN_BLOCKS blocks.
 * Left alone it takes far more than it has to: fitted to what NVRTC 13.0 took for 1100
 * sources (sm_90). */
static unsigned used_registers(const int *v, const struct task *task)
{
    enum { BESIDES = 66, TOGETHER = 8 };
    const unsigned all = task->caps->registers;
    const double numbers = 1.5 * accumulators(v) + piece(v);
    const unsigned free = BESIDES + (unsigned) (numbers * task->real / 4);
    const unsigned sharing = (unsigned) (threads(v) * v[MIN_BLOCKS]);
    const unsigned used = !all || free * sharing < all ? free : all / sharing;
    return used < TOGETHER ? TOGETHER : used / TOGETHER * TOGETHER;
}

/* How much longer a step takes a thread that has to do with so many registers. */
static double tightness(const int *v, const struct task *task, unsigned used)
{
    static const double lacking = 0.28;
    const double wanted = wanted_registers(v, task);
    return wanted > used ? 1 + lacking * (wanted - used) / used : 1;
}

/* What a step takes, of one that k fills: of what k lacks, some is saved. */
static double filling(double k, double steps, double step)
{
    static const double saved = 0.4;
    return k > 0 ? 1 - saved * (1 - k / (steps * step)) : 1;
}

/* Cycles for which a block's step keeps a multiprocessor busy: with what comes from
 * memory, with what is read from the staged operand, along k as many loads as elements
 * and across it one for all threads, and with staging it. */
static double step_of(const int *v, const struct task *task, double steps)
{
    static const double coming = 1 / 78.0, line = 1.67, from_shared = 0.78,
                        staged = 1 / 10.6; /* of a byte, a line, a load, a byte */
    const double depth = v[THREADS_K] * v[THREAD_TILE_K];
    return filling((double) task->p->k, steps, depth) *
           (coming * task->size * piece(v) * threads(v) +
            staged * task->real * v[THREAD_TILE_SHORT] * depth +
            (task->along ? from_shared * from_staged(v, task) : line * lines(v, task)));
}

/* What a launch puts on a GPU, its splits of k apart. The figures were fitted to 17000
 * times on H200s and H100s (docs/lab/cost-model.md). */
static struct mmt_split split_of(const int *v, const struct task *task)
{
    /* Cycles in which a step's elements come, and in which a round of staged ones does;
     * by which a step comes later for each of a thread's elements, and for each of its
     * FMAs; how much of a step a block waits for alone. Cycles of a block's
     * thread, and of a byte of accumulators that threads along k exchange. Bytes in a
     * cycle of those that splits leave. How much of what is read again comes from memory.
     */
    enum { FETCH = 851, STAGE = 469, ADDING = 3700, AROUND_ON_CPU = 600 };
    static const double element = 5.94, one_by_one = 3.31, alone = 0.74, around = 1.71,
                        exchanged = 1 / 25.0, added = 2.78, again = 0.14;
    const mmt_problem *p = task->p;
    const double size = task->real, all = threads(v);
    const double at_once = AT_ONCE * all / v[THREAD_TILE_SHORT];
    const double across = (double) tiles_across(v, p);
    const double steps = (double) steps_of(v, p->k);
    const double per_byte = cycles_of_byte(v, task);
    const unsigned used = used_registers(v, task);
    const double tight = tightness(v, task, used), step = tight * step_of(v, task, steps);
    const size_t shared = mmt_gemm_real_size(p->type) * (size_t) pool(v);

    return (struct mmt_split){
        .tiles = (double) tiles_along(v, p) * across * (double) p->batch,
        .steps = steps,
        .resident = mmt_split_resident(threads(v), shared, used, task->caps),
        .step = step,
        .latency =
            tight * (FETCH + piece(v) * (element + one_by_one * v[THREAD_TILE_SHORT]) +
                     alone * step),
        .block = (v[THREADS_K] > 1 ? size * accumulators(v) * all * exchanged : 0) +
                 (task->caps->kind == MMT_CPU ? AROUND_ON_CPU : around * all),
        .round = (at_once < v[TILE_K] ? at_once : v[TILE_K]) /
                 (v[THREADS_K] * v[THREAD_TILE_K]),
        .staging = tight * STAGE,
        .memory = per_byte * (task->operands + again * (across - 1) * task->long_bytes),
        .ramp = 20.1 * sqrt(per_byte * task->operands),
        .adding = ADDING,
        .accumulators = task->left * size,
        .added = added,
        .most = MMT_GEMM_MOST_PARTIAL / task->left,
    };
}

double mmt_skinny_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (caps->kind != MMT_GPU || !caps->sms)
        return 0;
    const struct task task = task_of(v, p, caps);
    const struct mmt_split split = split_of(v, &task);
    return mmt_split_cycles(&split, (int) filled_splits(v, p->k), caps);
}

/* ---- what is auto --------------------------------------------------- */

/* A step of a GPU, if each thread has two loads to do then: warps that meet often read
 * the same rows at a time. A CPU's threads stage one after the other. The knob has all
 * powers of two from its first value to its last, and that is what both are. */
static int find_tile(const int *v, const struct task *task)
{
    const struct mmt_knob *knob = &task->knobs[TILE_K];
    const int step = v[THREADS_K] * v[THREAD_TILE_K];
    const int wanted =
        task->caps->kind == MMT_CPU ? 1024 : 2 * threads(v) / v[THREAD_TILE_SHORT];
    const int least = wanted > step ? wanted : step;
    const int first = knob->values[1], last = knob->values[knob->num_values - 1];
    return least < first ? first : least < last ? least : last;
}

/* As many as a multiprocessor has at a time if threads have the registers that they
 * should, so that a compiler gives them no more. OpenCL cannot say that. */
static int find_blocks(const int *v, const struct task *task)
{
    const struct mmt_knob *knob = &task->knobs[MIN_BLOCKS];
    const size_t shared = mmt_gemm_real_size(task->p->type) * (size_t) pool(v);
    const int most =
        mmt_split_resident(threads(v), shared, wanted_registers(v, task), task->caps);
    int i = knob->num_values - 1;

    if (task->caps->dialect == MMT_OPENCL_C || !task->caps->registers)
        return 1;
    while (i > 1 && knob->values[i] > most)
        i--;
    return knob->values[i];
}

/* `work`: elements of C's short side for a thread, where they are left. */
static void fill_with(int *v, const int *given, int work, const struct task *task)
{
    v[THREAD_TILE_SHORT] = given[THREAD_TILE_SHORT] ? given[THREAD_TILE_SHORT] : work;
    v[TILE_K] = given[TILE_K] ? given[TILE_K] : find_tile(v, task);
    v[MIN_BLOCKS] = given[MIN_BLOCKS] ? given[MIN_BLOCKS] : find_blocks(v, task);
}

/* NULL if the device can run that. */
static const char *skinny_resolve_check_device(const int *v, const struct task *task)
{
    const struct mmt_variant variant = { .type = task->p->type,
                                         .trans_a = task->p->trans_a != 0,
                                         .trans_b = task->p->trans_b != 0 };
    return mmt_skinny_check_device(v, &variant, task->caps);
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
 * are known. False if the device cannot run that. */
static bool fill(int *v, const struct task *task)
{
    int given[NUM_KNOBS], work = whole(v, task->p);

    memcpy(given, v, sizeof given);
    fill_with(v, given, work, task);
    while (skinny_resolve_check_device(v, task)) {
        if (given[THREAD_TILE_SHORT] || work == 1)
            return false;
        fill_with(v, given, work /= 2, task);
    }
    return true;
}

/* A block where it is auto: its threads, and what each takes of the long
 * operand at a time, a vector along C's long side where that is 0. Those along k exchange
 * their accumulators, of which there are more the wider C's short side is; but where its
 * long side is short, they alone make threads enough. Of 104 for 1200 problems each, by
 * the count and by how far each block's times are off it, these together serve nearly
 * all; the first comes first where nothing is known. */
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

static const struct block *blocks_for(const struct task *task)
{
    return task->along ? blocks_along : blocks_across;
}

static int either(int given, int left)
{
    return given ? given : left;
}

/* The block with what is named in its place. */
static struct block named_in(const int *v, const struct block *block)
{
    return (struct block){
        either(v[THREADS_LONG], block->threads_long),
        either(v[THREADS_K], block->threads_k),
        either(v[THREAD_TILE_LONG], either(block->long_side, v[VECTOR])),
        either(v[THREAD_TILE_K], block->k),
    };
}

static void set_block(int *v, const struct block *block)
{
    v[THREADS_LONG] = block->threads_long;
    v[THREADS_K] = block->threads_k;
    v[THREAD_TILE_LONG] = block->long_side;
    v[THREAD_TILE_K] = block->k;
}

static void use_block(int *v, const struct block *block)
{
    const struct block named = named_in(v, block);
    set_block(v, &named);
}

/* The block that takes least so far. */
struct search {
    const struct task *task;
    const int *given;
    int best[NUM_KNOBS];
    double least;
};

static void try_block(struct search *search, const struct block *block, int work)
{
    const struct mmt_caps *caps = search->task->caps;
    int v[NUM_KNOBS];

    memcpy(v, search->given, sizeof v);
    set_block(v, block);
    fill_with(v, search->given, work, search->task);
    const struct mmt_split split = split_of(v, search->task);
    const int splits = v[SPLIT_K]
                           ? v[SPLIT_K]
                           : mmt_split_count(&split, &search->task->knobs[SPLIT_K], caps);
    const double takes = mmt_split_cycles(&split, splits, caps);
    if (takes >= search->least || skinny_resolve_check_device(v, search->task))
        return;
    search->least = takes;
    memcpy(search->best, v, sizeof v);
}

static bool is_too_large(const struct block *block, const struct mmt_caps *caps)
{
    return mmt_gemm_check_device(block->threads_long * block->threads_k, 1, 0, caps);
}

/* How much of C's short side a thread should about have: half, but where C is small. */
static int usual_work(const int *v, const struct task *task)
{
    enum { FEW = 16 }; /* elements of C for each multiprocessor */
    const int64_t elements = short_side(v, task->p) * long_side(v, task->p);
    const int all = whole(v, task->p);
    return all > 1 && elements > (int64_t) FEW * task->caps->sms ? all / 2 : 1;
}

/* The block that takes least of those that the device can run, each with as much of C's
 * short side for a thread as is usual, with a quarter of that to twice. */
static void find_block(int *v, const struct task *task)
{
    const int all = whole(v, task->p), first = usual_work(v, task);
    const struct block *blocks = blocks_for(task);
    int given[NUM_KNOBS];
    struct search search = { .task = task, .given = given, .least = INFINITY };

    memcpy(given, v, sizeof given);
    for (int i = 0; i < NUM_BLOCKS; i++) {
        const struct block block = named_in(given, &blocks[i]);
        for (int work = 1; work <= all && work <= 2 * first; work *= 2)
            if (4 * work >= first && (!given[THREAD_TILE_SHORT] || work == first) &&
                !is_too_large(&block, task->caps))
                try_block(&search, &block, work);
    }
    if (search.least == INFINITY)
        return;
    memcpy(v, search.best, sizeof search.best);
    v[SPLIT_K] = given[SPLIT_K];
}

/* The first block that the device can run. */
static void find_any(int *v, const struct task *task)
{
    const struct block *blocks = blocks_for(task);
    int given[NUM_KNOBS];
    bool runs = false;

    memcpy(given, v, sizeof given);
    for (int i = 0; !runs && i < NUM_BLOCKS; i++) {
        memcpy(v, given, sizeof given);
        use_block(v, &blocks[i]);
        runs = fill(v, task);
    }
}

static bool leaves_block(const int *v)
{
    return !v[THREADS_LONG] || !v[THREADS_K] || !v[THREAD_TILE_LONG] || !v[THREAD_TILE_K];
}

/* What is known once threads and their pieces are. */
static bool leaves_filling(const int *v)
{
    return !v[THREAD_TILE_SHORT] || !v[TILE_K] || !v[MIN_BLOCKS];
}

/* Something must be known of the device to choose, and C be served. */
static bool may_choose(const int *v, const struct task *task)
{
    return task->caps->sms && short_side(v, task->p) <= LONGEST_SHORT;
}

static int find_parts(const int *v, const struct task *task)
{
    const struct mmt_split split = split_of(v, task);
    return mmt_split_count(&split, &task->knobs[SPLIT_K], task->caps);
}

static void skinny_resolve_resolve(int *v, const struct task *task)
{
    const bool chooses = may_choose(v, task);

    if (task->caps->kind == MMT_CPU)
        use_block(v, &block_on_cpu);
    if (leaves_block(v) && chooses)
        find_block(v, task);
    if (leaves_block(v))
        find_any(v, task);
    if (leaves_filling(v))
        fill(v, task);
    if (!v[SPLIT_K])
        v[SPLIT_K] = chooses ? find_parts(v, task) : 1;
}

/* Where A and B lie alike, one text serves rows and columns. */
static void resolve_side(int *v, const mmt_problem *p)
{
    if (v[SHORT] == EITHER && !lie_alike(p->trans_a != 0, p->trans_b != 0))
        v[SHORT] = p->m <= p->n ? ROWS : COLUMNS;
}

void mmt_skinny_resolve(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                        const struct mmt_caps *caps)
{
    resolve_side(v, p);
    if (!leaves_block(v) && !leaves_filling(v) && v[SPLIT_K])
        return;
    struct task task = task_of(v, p, caps);
    task.knobs = knobs;
    skinny_resolve_resolve(v, &task);
}
