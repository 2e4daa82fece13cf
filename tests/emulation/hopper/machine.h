// A multiprocessor by hand: the blocks of one cluster, their threads as coroutines that
// run one at a time, each until it waits. Included before the text of a kernel.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <type_traits>
#include <vector>

#include "coroutine.h"
#include "cuda_host_shim.h"

using std::max;
using std::min;

enum { FIRST_BYTE = 1024, STACK = 1 << 15 };

// A matrix, or a batch of them, as the engine is told of it: bytes from row to row and
// from matrix to matrix, and the box that it moves. Of tf32 it rounds what it fetches.
struct matrix {
    char *start;
    long columns, rows, batch, ld, stride;
    int size;
    bool tf32;
    int inner, outer, swizzle;
};

struct byte_barrier {
    int arrivals, missing;
    long bytes;
    unsigned rounds;
};

struct meeting {
    int here, threads;
    unsigned rounds;
};

// `ready`: what barrier_init wrote is seen by others; `unseen`: where words begin that
// threads wrote and TMA does not see yet.
struct block {
    int index[3], rank, threads, left;
    bool ready;
    std::vector<unsigned char> shared, unseen;
    std::map<unsigned, byte_barrier> barriers;
    meeting numbered[16];
    std::vector<meeting> warps;
    std::vector<unsigned> told;
};

typedef std::deque<std::function<void()>> work;

struct runner : coroutine {
    std::unique_ptr<char[]> stack;
    struct block *block;
    int thread;
    unsigned started, waits; // instructions, and for groups, so far
    bool done, begun;        // begun: instructions of the tensor cores may follow
    work instructions, groups, copies; // of the tensor cores and the engine, under way
    std::vector<unsigned> written;     // since its last fence
};

static struct {
    std::vector<std::unique_ptr<block>> blocks;
    std::vector<std::unique_ptr<runner>> coroutines;
    runner *coroutine; // who runs
    jmp_buf scheduler;
    meeting cluster_barrier;
    unsigned long events; // grows whenever somebody may go on
    work boxes;           // on their way in
    unsigned drawn;
    struct {
        int x, y, z;
    } grid;
    int width; // threads of a block along x
} machine;

[[noreturn]] static void give_up(const char *why, long number)
{
    printf("%s: %ld\n", why, number);
    exit(2);
}

static void yield(void)
{
    coroutine_leave(machine.coroutine, machine.scheduler);
}

static void let_others(void)
{
    machine.events++;
    yield();
}

static unsigned draw_below(unsigned count)
{
    machine.drawn = machine.drawn * 1664525u + 1013904223u;
    return (machine.drawn >> 16) % count;
}

static struct block *block_of(int rank)
{
    if (rank < 0 || rank >= (int) machine.blocks.size())
        give_up("a cluster has no block of that rank", rank);
    if (machine.blocks[rank]->left == 0)
        give_up("a block is asked for that has ended, of rank", rank);
    return machine.blocks[rank].get();
}

static unsigned char *byte_of(struct block *block, unsigned address, int size)
{
    if (address < FIRST_BYTE || address + size - FIRST_BYTE > block->shared.size())
        give_up("outside of shared memory", address);
    if (address % size)
        give_up("not aligned in shared memory", address);
    return &block->shared[address - FIRST_BYTE];
}

static void write_shared(unsigned to, const void *from, int size)
{
    struct block *block = machine.coroutine->block;
    memcpy(byte_of(block, to, size), from, size);
    block->unseen[to - FIRST_BYTE] = 1;
    machine.coroutine->written.push_back(to - FIRST_BYTE);
}

static unsigned address_of(struct block *block, const void *pointer)
{
    return FIRST_BYTE +
           (unsigned) ((const unsigned char *) pointer - block->shared.data());
}

// ---- waiting
// ------------------------------------------------------------------------------

static void meet(meeting *meeting, int threads, bool wait)
{
    const unsigned round = meeting->rounds;
    if (meeting->here && meeting->threads != threads)
        give_up("threads meet that do not agree how many, one says", threads);
    meeting->threads = threads;
    machine.events++;
    if (++meeting->here == threads) {
        meeting->here = 0;
        meeting->rounds++;
    }
    while (wait && meeting->rounds == round)
        yield();
}

static void numbered_sync(int number, int threads)
{
    meet(&machine.coroutine->block->numbered[number], threads, true);
}

static void numbered_arrive(int number, int threads)
{
    meet(&machine.coroutine->block->numbered[number], threads, false);
}

static byte_barrier *barrier_of(struct block *block, unsigned address)
{
    const auto found = block->barriers.find(address);
    if (found == block->barriers.end())
        give_up("there is no barrier at", address);
    return &found->second;
}

static void barrier_count(byte_barrier *barrier, int arrivals, long bytes)
{
    barrier->missing -= arrivals;
    barrier->bytes += bytes;
    if (barrier->missing < 0)
        give_up("more arrivals at a barrier than it waits for", barrier->arrivals);
    if (barrier->missing == 0 && barrier->bytes == 0) {
        barrier->missing = barrier->arrivals;
        barrier->rounds++;
        machine.events++;
    }
}

// Somebody else may go on in between.
static void arrive(byte_barrier *barrier, long bytes)
{
    barrier_count(barrier, 1, bytes);
    if (draw_below(4) == 0)
        let_others();
}

static void warp_sync(void)
{
    meet(&machine.coroutine->block->warps[machine.coroutine->thread / 32], 32, true);
}

// A value that all of a warp have, once they all have it.
template <typename T> static T same_of_warp(T value)
{
    warp_sync();
    return value;
}

// What the 32 threads of a warp say, once all of them have; it stands until they sync.
static const unsigned *tell_warp(unsigned word)
{
    struct block *block = machine.coroutine->block;
    block->told[machine.coroutine->thread] = word;
    warp_sync();
    return &block->told[machine.coroutine->thread / 32 * 32];
}

// Whether any of a warp says so.
static bool any_of_warp(bool word)
{
    const unsigned *told = tell_warp(word);
    bool any = false;
    for (int lane = 0; lane < 32; lane++)
        any |= told[lane] != 0;
    warp_sync();
    return any;
}

// ---- the engine
// ---------------------------------------------------------------------------

// Pieces of 16 bytes change places by their row, of as many as are `width` bytes long.
static unsigned swizzled(unsigned address, unsigned width)
{
    return address ^ (address >> 3 & (width - 16));
}

// To 10 bits of fraction, ties away from zero; a NaN is one afterwards.
static void round_to_tf32(unsigned char *cell)
{
    unsigned bits;
    memcpy(&bits, cell, sizeof(bits));
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? 0x7fffffffu : (bits + 0x1000u) & 0xffffe000u;
    memcpy(cell, &bits, sizeof(bits));
}

static bool is_inside(const struct matrix &m, long x, long y, long z)
{
    return x >= 0 && x < m.columns && y >= 0 && y < m.rows && z < m.batch;
}

static void copy_box_in(struct block *block, unsigned to, const struct matrix &m, int x,
                        int y, int z, unsigned barrier)
{
    if (to % 128)
        give_up("a box goes to an address that is no multiple of 128", to);
    if (block->left == 0)
        give_up("a box comes to a block that has ended, to", to);
    for (int i = 0; i < m.inner * m.outer; i++) {
        const long column = x + i % m.inner, row = y + i / m.inner;
        unsigned char *cell =
            byte_of(block, swizzled(to + i * m.size, m.swizzle), m.size);
        if (is_inside(m, column, row, z))
            memcpy(cell, m.start + z * m.stride + row * m.ld + column * m.size, m.size);
        else
            memset(cell, 0, m.size);
        if (m.tf32)
            round_to_tf32(cell);
    }
    barrier_count(barrier_of(block, barrier), 0, -(long) m.inner * m.outer * m.size);
}

static void land_box(void)
{
    std::swap(machine.boxes[draw_below(machine.boxes.size())], machine.boxes.back());
    const auto box = std::move(machine.boxes.back());
    machine.boxes.pop_back();
    box();
    machine.events++;
}

// Rows end at multiples of 16 bytes, whatever the matrix says.
static void copy_box_out(const struct matrix &m, int x, int y, int z, unsigned from)
{
    if (m.columns * m.size % 16)
        give_up("the engine stores rows of multiples of 16 bytes, not",
                m.columns * m.size);
    struct block *block = machine.coroutine->block;
    for (int i = 0; i < m.inner * m.outer; i++) {
        const long column = x + i % m.inner, row = y + i / m.inner;
        const unsigned at = swizzled(from + i * m.size, m.swizzle);
        if (block->unseen[at - FIRST_BYTE])
            give_up("TMA reads what was written behind the last fence, at", at);
        if (is_inside(m, column, row, z))
            memcpy(m.start + z * m.stride + row * m.ld + column * m.size,
                   byte_of(block, at, m.size), m.size);
    }
}

// ---- what runs by itself --------------------------------------------------------

// Until at most so many are not done.
static void finish(work &work, size_t behind)
{
    while (work.size() > behind) {
        const auto first = std::move(work.front());
        work.pop_front();
        first();
    }
}

// A thread's copies. Others come first.
static void await_copies(size_t behind)
{
    if (machine.coroutine->copies.size() > behind)
        let_others();
    finish(machine.coroutine->copies, behind);
}

// A warp's groups: it waits as one. Every other warp in turn is behind.
static void await_groups(size_t behind)
{
    runner *own = machine.coroutine;
    if (own->groups.size() <= behind)
        return;
    for (int turns = (own->thread / 32 + own->waits++) % 2 * 2; turns; turns--)
        let_others();
    finish(own->groups, behind);
    warp_sync();
}

// ---- running
// ------------------------------------------------------------------------------

static void (*entry)(void);

static void run_coroutine(void)
{
    entry();
    if (!machine.coroutine->groups.empty() || !machine.coroutine->copies.empty())
        give_up("sums or copies are under way at the end of thread",
                machine.coroutine->thread);
    machine.coroutine->done = true;
    machine.coroutine->block->left--;
    machine.events++;
    yield();
}

static void start_block(int x, int y, int z, int rank, int threads, size_t shared)
{
    machine.blocks.emplace_back(new block{ { x, y, z }, rank, threads, threads });
    struct block *block = machine.blocks.back().get();
    block->shared.assign(shared, 0xee);
    block->unseen.resize(shared);
    block->warps.resize((threads + 31) / 32);
    block->told.resize(threads);
    for (int thread = 0; thread < threads; thread++) {
        machine.coroutines.emplace_back(new runner{});
        runner *coroutine = machine.coroutines.back().get();
        coroutine->stack.reset(new char[STACK]);
        coroutine->block = block;
        coroutine->thread = thread;
        coroutine_create(coroutine, coroutine->stack.get(), STACK, run_coroutine);
    }
}

// Some coroutines in turn: once, or until none of them can go on and they are as far
// ahead of the others as they may be.
static size_t run_group(size_t first, size_t end, bool far)
{
    size_t done = 0;
    unsigned long before;
    do {
        before = machine.events;
        for (size_t i = first; i < end; i++) {
            runner *coroutine = machine.coroutines[i].get();
            if (coroutine->done)
                continue;
            machine.coroutine = coroutine;
            coroutine_enter(coroutine, machine.scheduler);
            done += coroutine->done;
        }
    } while (far && machine.events != before);
    return done;
}

static bool same_group(const runner &a, const runner &b, bool whole)
{
    return a.block == b.block && (whole || a.thread / 128 == b.thread / 128);
}

// In turn, forwards and backwards, until all are done: four times blocks, each far ahead
// of the next, four times warpgroups side by side, four times these far ahead. Boxes that
// have not landed at once do so one by one, each when nobody can go on.
static void run_cluster(void)
{
    const size_t all = machine.coroutines.size();
    size_t left = all;
    for (unsigned turn = 0; left; turn++) {
        const unsigned long before = machine.events;
        std::reverse(machine.coroutines.begin(), machine.coroutines.end());
        for (size_t first = 0, end; first < all; first = end) {
            for (end = first + 1;
                 end < all && same_group(*machine.coroutines[first],
                                         *machine.coroutines[end], turn / 4 % 3 == 0);)
                end++;
            left -= run_group(first, end, turn / 4 % 3 != 1);
        }
        if (left && machine.events == before) {
            if (machine.boxes.empty())
                give_up("threads wait for ever", (long) left);
            land_box();
        }
    }
    if (!machine.boxes.empty())
        give_up("boxes are under way at the end", (long) machine.boxes.size());
    machine.coroutines.clear();
    machine.blocks.clear();
    machine.cluster_barrier = {};
}
