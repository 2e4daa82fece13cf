/* What skinny.cl leaves to the problem: a block's threads, how C's short side is cut, the
 * depth of a tile and the parts of k; and the count of cycles by which they are chosen.
 */
#include <math.h>
#include <string.h>

#include "templates/skinny.h"
#include "templates/split.h"

enum { AT_ONCE = 8 }; /* loads that a thread has in flight as it stages */

/* ---- the count ----------------------------------------------------------------------
 */

/* Threads that are neighbours in memory as they load the long operand. */
static int neighbours(const int *v, const mmt_problem *p)
{
    return along_k(v, p->trans_a != 0, p->trans_b != 0) ? v[THREADS_K] : v[THREADS_LONG];
}

/* Elements of the long operand per load; VECTOR is a power of two. */
static int per_load(const int *v, const mmt_problem *p)
{
    const int64_t ld = rows_are_short(v, p) ? p->ldb : p->lda;
    return (ld & (v[VECTOR] - 1)) == 0 ? v[VECTOR] : 1;
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
static double cycles_of_byte(const int *v, const mmt_problem *p,
                             const struct mmt_caps *caps)
{
    enum { WARP = 32 };
    static const double reached = 0.96; /* of its rate */
    static const double beside = 15.3;  /* bytes that come with each run, unasked for */
    const int threads = neighbours(v, p);
    const double run = side_by_side(v, p, threads < WARP ? threads : WARP);
    return (1 + beside / run) / (reached * mmt_split_memory_rate(caps));
}

/* Bytes of the long operand, of the whole batch. */
static double long_operand(const int *v, const mmt_problem *p)
{
    return (double) p->batch * (double) long_side(v, p) * (double) p->k *
           (double) mmt_type_size(p->type);
}

/* What a step takes, of one that k fills: of what k lacks, some is saved. */
static double filling(double k, double steps, double step)
{
    static const double saved = 0.4;
    return k > 0 ? 1 - saved * (1 - k / (steps * step)) : 1;
}

/* Whether an edge cuts all of a block's steps, and not only the last: C's long side has
 * less than it takes. */
static bool is_cut(const int *v, const mmt_problem *p)
{
    return long_side(v, p) < v[THREADS_LONG] * v[WORK_LONG];
}

/* What a launch puts on a GPU, its parts of k apart; `operands`: bytes of all. The
 * figures were fitted to 8900 times on H100s (docs/cost-model.md). */
static struct mmt_split split_of(const int *v, const mmt_problem *p, double operands,
                                 const struct mmt_caps *caps)
{
    /* Cycles in which a step's elements come, and in which a round of staged ones does;
     * by which a step comes later for each thread of the block; those of a thread's
     * multiply-add, of an element of a step that an edge cuts, of a line, of a warp's
     * load from the staged operand, and of a block's thread. Cycles of a byte: of the
     * long operand that comes and is multiplied, of the short one that is staged, of sums
     * that threads along k exchange. Bytes in a cycle of those that parts leave. How much
     * of what is read again comes from memory. */
    enum { FETCH = 770, STAGE = 600, ADDING = 3490, AROUND_ON_CPU = 600 };
    static const double one_by_one = 3.8, thread = 0.61, cut = 11.9, line = 1.67,
                        from_shared = 0.47, around = 1.6, coming = 1 / 54.4,
                        multiplied = 1 / 396.0, staged = 1 / 9.8, exchanged = 1 / 36.0,
                        added = 2.67, again = 0.2;
    const size_t bytes_of_element = mmt_type_size(p->type);
    const double size = (double) bytes_of_element, all = threads(v);
    const double step_k = v[THREADS_K] * v[WORK_K], bytes = size * piece(v) * all;
    const double at_once = AT_ONCE * all / v[WORK_SHORT];
    const double across = (double) tiles_across(v, p), k = (double) p->k;
    const double steps = (double) mmt_gemm_pieces(p->k, v[THREADS_K] * v[WORK_K]);
    const double edge = cut * piece(v), left = mmt_gemm_partial_sums(p);
    const double per_byte = cycles_of_byte(v, p, caps);

    return (struct mmt_split){
        .tiles = (double) tiles_along(v, p) * across * (double) p->batch,
        .steps = steps,
        .resident = mmt_split_resident(threads(v), bytes_of_element * pool(v),
                                       registers(v, bytes_of_element), caps),
        .step =
            filling(k, steps, step_k) *
            (bytes * coming + bytes * v[WORK_SHORT] * multiplied + line * lines(v, p) +
             from_shared * from_staged(v, p) + size * v[WORK_SHORT] * step_k * staged),
        .latency = FETCH + thread * all + one_by_one * piece(v) * v[WORK_SHORT] +
                   (is_cut(v, p) ? edge : 0),
        .last = !is_cut(v, p) && steps * step_k > k ? edge : 0,
        .block = (v[THREADS_K] > 1 ? size * sums(v) * all * exchanged : 0) +
                 (caps->kind == MMT_CPU ? AROUND_ON_CPU : around * all),
        .round = (at_once < v[TILE_K] ? at_once : v[TILE_K]) / step_k,
        .staging = STAGE,
        .memory = per_byte * (operands + again * (across - 1) * long_operand(v, p)),
        .ramp = 29.4 * sqrt(per_byte * operands),
        .adding = ADDING,
        .sums = left * size,
        .added = added,
        .most = MMT_GEMM_MOST_PARTIAL / left,
    };
}

double mmt_skinny_cycles(const int *v, const mmt_problem *p, const struct mmt_caps *caps)
{
    if (caps->kind != MMT_GPU || !caps->sms)
        return 0;
    const struct mmt_split split = split_of(v, p, mmt_problem_bytes(p), caps);
    return mmt_split_cycles(&split, (int) parts(v, p->k), caps);
}

/* ---- what is left to the problem --------------------------------------------------- */

/* For what a kernel is settled. */
struct task {
    const struct mmt_knob *knobs;
    const mmt_problem *p;
    const struct mmt_caps *caps;
    double operands; /* bytes of all */
};

/* Whether many warps should meet at every step, as they read a row together that memory
 * has to hand out: on an H100 that takes up to a third less, and little longer at worst.
 */
static bool should_meet(const int *v, const struct task *task)
{
    enum { MANY = 256, LITTLE = 2, MUCH = 64 << 10 };
    return task->caps->kind == MMT_GPU && threads(v) >= MANY && v[WORK_SHORT] <= LITTLE &&
           along_k(v, task->p->trans_a != 0, task->p->trans_b != 0) &&
           task->operands > (double) MUCH * task->caps->sms;
}

/* Two rounds of a GPU's threads; a CPU's stage one after the other. */
static int find_tile(const int *v, const struct task *task)
{
    const struct mmt_knob *knob = &task->knobs[TILE_K];
    const int step = v[THREADS_K] * v[WORK_K];
    const int rounds = 2 * AT_ONCE * threads(v) / v[WORK_SHORT];
    const int wanted = should_meet(v, task)          ? step
                       : task->caps->kind == MMT_CPU ? 1024
                                                     : rounds;
    int i = 1;
    while (i < knob->num_values - 1 &&
           (knob->values[i] < wanted || knob->values[i] < step))
        i++;
    return knob->values[i];
}

/* `work`: elements of C's short side for a thread, where they are left. */
static const char *fill_with(int *v, const int *given, int work, const struct task *task)
{
    const struct mmt_variant variant = { .type = task->p->type,
                                         .trans_a = task->p->trans_a != 0,
                                         .trans_b = task->p->trans_b != 0 };
    v[WORK_SHORT] = given[WORK_SHORT] ? given[WORK_SHORT] : work;
    v[TILE_K] = given[TILE_K] ? given[TILE_K] : find_tile(v, task);
    return mmt_skinny_reject(v, &variant, task->caps);
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
static const char *fill(int *v, const struct task *task)
{
    int given[NUM_KNOBS], work = whole(v, task->p);

    memcpy(given, v, sizeof given);
    const char *why = fill_with(v, given, work, task);
    while (why && !given[WORK_SHORT] && work > 1)
        why = fill_with(v, given, work /= 2, task);
    return why;
}

/* Threads of a block along the long side and along k, where they are left to the problem.
 * Those along k exchange their sums, of which there are more the wider C's short side is;
 * but where its long side is short, they alone make threads enough. Neighbours in the
 * list are alike. */
struct shape {
    int along, k;
};

/* What a thread takes at a time of the long operand, where that is left: so much along
 * C's long side, or a vector, by so much along k. */
struct piece {
    int along, k;
};

enum { NUM_SHAPES = 9, USUAL_SHAPE = 4, NUM_PIECES = 3 };

static const struct shape shape_on_cpu = { 4, 1 },
                          shapes[NUM_SHAPES] = { { 1, 256 }, { 2, 128 }, { 4, 64 },
                                                 { 4, 32 },  { 8, 16 },  { 8, 32 },
                                                 { 32, 16 }, { 32, 8 },  { 32, 4 } };

static const struct piece piece_on_cpu = { 8, 4 },
                          pieces[NUM_PIECES] = { { 2, 8 }, { 2, 16 }, { 2, 4 } };

static void use_shape(int *v, const struct shape *shape)
{
    v[THREADS_LONG] = v[THREADS_LONG] ? v[THREADS_LONG] : shape->along;
    v[THREADS_K] = v[THREADS_K] ? v[THREADS_K] : shape->k;
}

static void use_piece(int *v, const struct piece *piece)
{
    const int along = piece->along > v[VECTOR] ? piece->along : v[VECTOR];
    v[WORK_LONG] = v[WORK_LONG] ? v[WORK_LONG] : along;
    v[WORK_K] = v[WORK_K] ? v[WORK_K] : piece->k;
}

static bool leaves_threads(const int *v)
{
    return !v[THREADS_LONG] || !v[THREADS_K];
}

static bool leaves_piece(const int *v)
{
    return !v[WORK_LONG] || !v[WORK_K];
}

/* The parts of k, where they are left; returns what they take, or any more than `least`
 * where that is more. */
static double find_parts(int *v, const struct task *task, double least)
{
    const struct mmt_split split = split_of(v, task->p, task->operands, task->caps);
    if (!v[SPLIT_K])
        return mmt_split_find(&split, &task->knobs[SPLIT_K], task->caps, least,
                              &v[SPLIT_K]);
    return task->caps->sms ? mmt_split_cycles(&split, v[SPLIT_K], task->caps) : 0;
}

/* A block by its place in these lists, and elements of C's short side for a thread. */
struct place {
    int shape, piece, work;
};

/* The block that takes least so far, what it takes, and the shape that did so before. */
struct search {
    const struct task *task;
    const int *given;
    int best[NUM_KNOBS];
    double least;
    struct place at;
    int before;
};

static void try_block(struct search *search, struct place place)
{
    int v[NUM_KNOBS];

    memcpy(v, search->given, sizeof v);
    use_piece(v, &pieces[place.piece]);
    use_shape(v, &shapes[place.shape]);
    if (fill_with(v, search->given, place.work, search->task))
        return;
    const double takes = find_parts(v, search->task, search->least);
    if (takes >= search->least)
        return;
    search->before = search->least < INFINITY ? search->at.shape : place.shape;
    search->at = place;
    search->least = takes;
    memcpy(search->best, v, sizeof v);
}

/* Whether seven of eight of a shape's threads would be idle: another has less of them. */
static bool is_idle(const struct search *search, const struct shape *shape)
{
    const mmt_problem *p = search->task->p;
    int v[NUM_KNOBS];

    memcpy(v, search->given, sizeof v);
    use_piece(v, &pieces[0]);
    return (!v[THREADS_LONG] && shape->along * v[WORK_LONG] > 8 * long_side(v, p)) ||
           (!v[THREADS_K] && shape->k * v[WORK_K] > 8 * p->k);
}

/* The best block's neighbours. */
static void try_neighbours(struct search *search)
{
    const struct place at = search->at;

    for (int to = -1; to <= 1; to += 2)
        if (at.shape + to >= 0 && at.shape + to < NUM_SHAPES)
            try_block(search, (struct place){ at.shape + to, at.piece, at.work });
}

/* Every other shape, and the neighbours of the best. */
static void try_shapes(struct search *search, int work)
{
    const int last = NUM_SHAPES - 2;

    for (int i = 1; i <= last; i += 2)
        if (i == last || !is_idle(search, &shapes[i]))
            try_block(search, (struct place){ i, 0, work });
    if (search->least < INFINITY)
        try_neighbours(search);
}

/* Other pieces for the threads of the best block, and of the one before it. */
static void try_pieces(struct search *search)
{
    const int best[2] = { search->at.shape, search->before }, work = search->at.work;

    for (int i = 2; i < 2 * NUM_PIECES; i++)
        if (i % 2 == 0 || best[1] != best[0])
            try_block(search, (struct place){ best[i % 2], i / 2, work });
}

/* The block that takes least of those that the device can run: its threads, what they
 * take at a time, a quarter of C's short side for each, then how much of that; and its
 * neighbours once more. */
static void find_block(int *v, const struct task *task)
{
    const int all = whole(v, task->p), first = all > 4 ? all / 4 : 1;
    int given[NUM_KNOBS];
    struct search search = { .task = task, .given = given, .least = INFINITY };

    memcpy(given, v, sizeof given);
    if (leaves_threads(given))
        try_shapes(&search, first);
    else
        try_block(&search, (struct place){ 0, 0, first });
    if (search.least == INFINITY)
        return;
    if (leaves_piece(given))
        try_pieces(&search);
    const struct place at = search.at;
    for (int work = 1; work <= all && !given[WORK_SHORT]; work *= 2)
        if (work != first)
            try_block(&search, (struct place){ at.shape, at.piece, work });
    if (leaves_threads(given) && (search.at.piece != 0 || search.at.work != first))
        try_neighbours(&search); /* else they were tried */
    memcpy(v, search.best, sizeof search.best);
}

/* The first block that the device can run. */
static void find_any(int *v, const struct task *task)
{
    int given[NUM_KNOBS];
    const char *why = "";

    memcpy(given, v, sizeof given);
    for (int i = 0; why && i < NUM_PIECES * NUM_SHAPES; i++) {
        memcpy(v, given, sizeof given);
        use_piece(v, &pieces[i / NUM_SHAPES]);
        use_shape(v, &shapes[(i + USUAL_SHAPE) % NUM_SHAPES]);
        why = fill(v, task);
    }
}

static bool leaves_block(const int *v)
{
    return leaves_threads(v) || leaves_piece(v);
}

/* Something must be known of the device to choose, and C be served. */
static bool may_choose(const int *v, const struct task *task)
{
    return task->caps->sms && short_side(v, task->p) <= LONGEST_SHORT;
}

static void settle(int *v, const struct task *task)
{
    const bool chooses = may_choose(v, task);

    if (task->caps->kind == MMT_CPU) {
        use_shape(v, &shape_on_cpu);
        use_piece(v, &piece_on_cpu);
    }
    if (leaves_block(v) && chooses)
        find_block(v, task);
    if (leaves_block(v))
        find_any(v, task);
    if (!v[WORK_SHORT] || !v[TILE_K])
        fill(v, task);
    if (!v[SPLIT_K] && chooses)
        find_parts(v, task, INFINITY);
    else if (!v[SPLIT_K])
        v[SPLIT_K] = 1;
}

/* Where A and B lie alike, one text serves rows and columns. */
static void settle_side(int *v, const mmt_problem *p)
{
    if (v[SHORT] == EITHER && !lie_alike(p->trans_a != 0, p->trans_b != 0))
        v[SHORT] = p->m <= p->n ? ROWS : COLUMNS;
}

void mmt_skinny_settle(int *v, const struct mmt_knob *knobs, const mmt_problem *p,
                       const struct mmt_caps *caps)
{
    settle_side(v, p);
    if (!leaves_block(v) && v[WORK_SHORT] && v[TILE_K] && v[SPLIT_K])
        return;
    const struct task task = { knobs, p, caps, mmt_problem_bytes(p) };
    settle(v, &task);
}
