// The words of templates/kernels/hopper.h, done by hand on a host: see machine.h. As
// coroutines run one at a time, fences order nothing: who misses one is told so. What is
// copied in or out, and what the tensor cores are told, is in part done at once and in
// part as late as it may be, as is drawn.

struct alignas(64) tensor_map {
    const struct matrix *matrix;
    unsigned long long unused[15];
};

DEVICE_FN unsigned keep(unsigned value)
{
    return value;
}

DEVICE_FN unsigned own_thread(void)
{
    return THREAD_X;
}

#define SHARED_TILES(name) const unsigned name = FIRST_BYTE
#define SHARED_RING(type, name)                                                          \
    type *name = (type *) machine.coroutine->block->shared.data()

// ---- barriers
// ---------------------------------------------------------------------------

DEVICE_FN void barrier_init(unsigned barrier, int arrivals)
{
    byte_of(machine.coroutine->block, barrier, 8);
    machine.coroutine->block->barriers[barrier] = { arrivals, arrivals, 0, 0 };
    machine.coroutine->block->ready = false;
}

DEVICE_FN void barrier_expect(unsigned barrier, unsigned bytes)
{
    arrive(barrier_of(machine.coroutine->block, barrier), bytes);
}

DEVICE_FN void barrier_arrive(unsigned barrier)
{
    arrive(barrier_of(machine.coroutine->block, barrier), 0);
}

DEVICE_FN void barrier_arrive_at(unsigned barrier, int block)
{
    arrive(barrier_of(block_of(block), barrier), 0);
}

DEVICE_FN void barrier_wait(unsigned barrier, unsigned parity)
{
    while (barrier_of(machine.coroutine->block, barrier)->rounds % 2 == parity)
        yield();
}

DEVICE_FN void barriers_ready(void)
{
    machine.coroutine->block->ready = true;
}

DEVICE_FN void cluster_sync(int blocks)
{
    meet(&machine.cluster_barrier, blocks * machine.coroutine->block->threads, true);
}

DEVICE_FN int cluster_rank(int blocks)
{
    return machine.coroutine->block->rank;
}

// ---- TMA
// --------------------------------------------------------------------

DEVICE_FN void prefetch(const tensor_map *map) {}

DEVICE_FN void copy_in(unsigned to, const tensor_map *map, int x, int y, int z,
                       unsigned barrier, int blocks)
{
    const int own = 1 << machine.coroutine->block->rank;
    for (int rank = 0; (blocks ? blocks : own) >> rank; rank++) {
        if (!((blocks ? blocks : own) >> rank & 1))
            continue;
        struct block *block = block_of(rank);
        if (!block->ready)
            give_up("TMA does not see the barrier at", barrier);
        machine.boxes.push_back(
            [=] { copy_box_in(block, to, *map->matrix, x, y, z, barrier); });
        if (draw_below(2))
            land_box();
    }
}

DEVICE_FN void copy_out(const tensor_map *map, int x, int y, int z, unsigned from)
{
    const std::function<void()> copy = [=] { copy_box_out(*map->matrix, x, y, z, from); };
    const bool at_once = draw_below(2);
    if (at_once)
        copy();
    machine.coroutine->copies.push_back(at_once ? [] {} : copy);
}

#define AWAIT_COPIES_OUT(behind) await_copies(behind)

DEVICE_FN void shared_ready(void)
{
    for (unsigned at : machine.coroutine->written)
        machine.coroutine->block->unseen[at] = 0;
    machine.coroutine->written.clear();
}

// ---- shared memory
// ----------------------------------------------------------------------

DEVICE_FN void load_in_order(unsigned *words, const void *place, int count)
{
    memcpy(words, place, count * sizeof(*words));
}

DEVICE_FN void store_word(unsigned to, unsigned word)
{
    write_shared(to, &word, sizeof(word));
}

DEVICE_FN void store_words(unsigned to, uint2 words)
{
    store_word(to, words.x);
    store_word(to + 4, words.y);
}

DEVICE_FN unsigned load_word(unsigned from)
{
    unsigned word;
    memcpy(&word, byte_of(machine.coroutine->block, from, sizeof(word)), sizeof(word));
    return word;
}

DEVICE_FN unsigned load_word_of(unsigned from, int block)
{
    unsigned word;
    memcpy(&word, byte_of(block_of(block), from, sizeof(word)), sizeof(word));
    return word;
}

DEVICE_FN void store_half(unsigned to, unsigned half)
{
    const unsigned short bits = (unsigned short) half;
    write_shared(to, &bits, sizeof(bits));
}

// A thread holds row lane / 4 and columns lane % 4 * 2 and the next of each matrix.
template <bool turned>
DEVICE_FN void store_all(unsigned to, std::initializer_list<unsigned> pairs)
{
    const unsigned *lines = tell_warp(to);
    const int row = THREAD_X % 32 / 4, column = THREAD_X % 4 * 2;
    int first = 0;
    for (unsigned pair : pairs) {
        for (int e = 0; e < 2; e++) {
            const int line = turned ? column + e : row, at = turned ? row : column + e;
            store_half(lines[first + line] + 2 * at, pair >> 16 * e);
        }
        first += 8;
    }
    warp_sync();
}

template <bool turned> DEVICE_FN void store_matrices(unsigned to, unsigned a, unsigned b)
{
    store_all<turned>(to, { a, b });
}

template <bool turned>
DEVICE_FN void store_matrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d)
{
    store_all<turned>(to, { a, b, c, d });
}

// ---- warpgroups
// -------------------------------------------------------------------------

#define FEWER_REGISTERS(count)
#define MORE_REGISTERS(count)
#define AWAIT_WGMMA(behind) await_groups(behind)
DEVICE_FN void wgmma_begin(void)
{
    machine.coroutine->begun = true;
}

template <typename T> DEVICE_FN void fence_register(T &) {}

DEVICE_FN void wgmma_end(void)
{
    machine.coroutine->groups.push_back(
        [group = std::move(machine.coroutine->instructions)] {
            for (const auto &instruction : group)
                instruction();
        });
    machine.coroutine->instructions.clear();
    machine.coroutine->begun = false;
}

// What an instruction adds up, and what becomes of it: of a float, the bits that do not
// fit are dropped; beyond the largest it is infinite.
#if defined(TYPE_I8) || defined(TYPE_I32)
typedef real inner;
#else
typedef double inner;
#endif

static real outer(inner x)
{
    const real nearest = (real) x;
    const bool up = fabs((double) nearest) > fabs((double) x); // never of whole numbers
    return up && isfinite((double) nearest) ? (real) nextafterf((float) nearest, 0)
                                            : nearest;
}

// What an instruction adds to a thread's sums, or puts there, is seen when it is done.
// When it reads its operands is not known: each other one does at once, the rest at last.
template <typename P> static void start_instruction(real *sum, bool add, P products)
{
    runner *own = machine.coroutine;
    auto &instructions = own->instructions;
    if (!own->begun)
        give_up("registers are not fenced before an instruction, of",
                (long) instructions.size());
    const bool at_once = (own->started++ + own->thread / 32) % 2;
    instructions.push_back([=, early = at_once ? products() : std::vector<inner>()] {
        const std::vector<inner> all = at_once ? early : products();
        for (size_t s = 0; s < all.size(); s++)
            sum[s] = outer((add ? sum[s] : 0) + all[s]);
    });
}

// Operands as they stand in shared memory: of f32 the tensor cores see bf16, of i32
// bytes, and of tf32 they drop the last 13 bits. Beside a subnormal bf16 they lose bits
// of other products, so that no number may be taken apart into one.
#if defined(TYPE_F32)
typedef unsigned short staged;
DEVICE_FN real STAGED_TO_REAL(staged x)
{
    if ((x & 0x7f80) == 0 && (x & 0x7f) != 0)
        give_up("a slice is subnormal", x);
    return bf16_to_float(x);
}
#elif defined(TYPE_I32)
typedef unsigned char staged;
#define STAGED_TO_REAL(x) (x)
#elif defined(TYPE_TF32)
typedef element staged;
#define STAGED_TO_REAL(x) FLOAT_OF_BITS(BITS_OF_FLOAT(x) & 0xffffe000u)
#else
typedef element staged;
#define STAGED_TO_REAL(x) to_real(x)
#endif

// An element of an operand that begins at a descriptor's address: deep, eight lines of
// 128 bytes and then the next eight; else chunks of 128 bytes, eight depths and the next
// eight.
DEVICE_FN real operand_element(unsigned long long descriptor, int i, int depth, bool deep)
{
    const int size = sizeof(staged), width = 128 / size;
    const unsigned start = descriptor % 16384 * 16,
                   chunks = (descriptor >> 16) % 16384 * 16,
                   groups = (descriptor >> 32) % 16384 * 16;
    const unsigned at = deep ? start + i / 8 * groups + i % 8 * 128 + depth * size
                             : start + i / width * chunks + depth / 8 * groups +
                                   depth % 8 * 128 + i % width * size;
    staged x;
    memcpy(&x, byte_of(machine.coroutine->block, swizzled(at, 128), size), size);
    return STAGED_TO_REAL(x);
}

// A thread's products, as the instruction deals them: of two rows, whose elements are
// left(0, k) and left(1, k), and two of every eight columns. Each element is read once.
enum { DEEPEST = 32 };
template <typename L>
static std::vector<inner> multiply(int columns, int depth, L left,
                                   unsigned long long right, bool right_deep)
{
    const int column = THREAD_X % 4 * 2;
    real rows[2][DEEPEST];
    for (int k = 0; k < depth; k++)
        rows[0][k] = left(0, k), rows[1][k] = left(1, k);
    std::vector<inner> sums(columns / 2);
    for (int s = 0; s < columns / 2; s += s % 2 ? 3 : 1) {
        inner upper = 0, lower = 0;
        for (int k = 0; k < depth; k++) {
            const inner x =
                operand_element(right, s / 4 * 8 + s % 2 + column, k, right_deep);
            upper += rows[0][k] * x;
            lower += rows[1][k] * x;
        }
        sums[s] = upper;
        sums[s + 2] = lower;
    }
    return sums;
}

DEVICE_FN void wgmma(real *sum, int columns, int depth, unsigned long long left,
                     bool left_deep, unsigned long long right, bool right_deep, bool add)
{
    const int row = THREAD_X % 128 / 32 * 16 + THREAD_X % 32 / 4;
    const auto element_of = [=](int lower, int k) {
        return operand_element(left, row + 8 * lower, k, left_deep);
    };
    start_instruction(sum, add, [=] {
        return multiply(columns, depth, element_of, right, right_deep);
    });
}

// A left operand that the threads of a warpgroup hold: of each, words of two lines eight
// apart and of depths four words apart.
DEVICE_FN void wgmma_turned(real *sum, int columns, int depth, const unsigned left[4],
                            unsigned long long right, bool right_deep, bool add)
{
    static std::map<const void *, std::array<std::array<unsigned, 4>, 384>> held;
    const int group = THREAD_X / 128;
    auto &words = held[machine.coroutine->block];

    for (int w = 0; w < 4; w++)
        words[THREAD_X][w] = left[w];
    numbered_sync(12 + group, 128);
    std::array<std::array<unsigned, 4>, 4> row;
    for (int t = 0; t < 4; t++)
        row[t] = words[THREAD_X / 4 * 4 + t];
    numbered_sync(12 + group, 128);
    const auto element_of = [=](int lower, int k) {
        const int size = sizeof(element), word = k * size / 4;
        element a;
        memcpy(&a, (const char *) &row[word % 4][lower + word / 4 * 2] + k * size % 4,
               size);
        return STAGED_TO_REAL(a);
    };
    const auto mine = words[THREAD_X];
    start_instruction(sum, add, [=] {
        return multiply(columns, depth, element_of, right, right_deep);
    });
    machine.coroutine->instructions.push_back([=] {
        if (memcmp(left, mine.data(), sizeof(mine)))
            give_up("words are overwritten that are still multiplied, of", THREAD_X);
    });
}

#define WGMMA_TRANSPOSED(what, signs, sum, left, right, add)                             \
    wgmma_turned(sum, TILE_N, WGMMA_K, left, right, RIGHT_DEEP, add)

#define WGMMA(what, signs, sum, left, right, add)                                        \
    wgmma(sum, TILE_N, WGMMA_K, left, LEFT_DEEP, right, RIGHT_DEEP, add)

// ---- numbers
// ----------------------------------------------------------------------------

DEVICE_FN unsigned pair_of_bf16(float low, float high)
{
    return float_to_bf16(low) | (unsigned) float_to_bf16(high) << 16;
}

DEVICE_FN unsigned pair_of_f16(float low, float high)
{
    return float_to_f16(low) | (unsigned) float_to_f16(high) << 16;
}
