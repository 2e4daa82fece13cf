/* Makes host memory between pages that nobody may touch, and notes each touch by a
 * handler of SIGSEGV. */
#include "tuner/verify/fence.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_FENCES = 8 };

struct mmt_fence {
    mmt_device *device;
    mmt_operand operand;
    unsigned char *map;
    size_t guard, size; /* whole pages; guard, memory, guard */
    volatile sig_atomic_t touched;
    unsigned char *volatile where;
};

/* Those that stand, for the handler. */
static struct mmt_fence *volatile standing[MOST_FENCES];
static struct sigaction former;
static int num_standing;

static size_t page_size(void)
{
    return (size_t) sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + page_size() - 1) / page_size() * page_size();
}

/* ---- the handler ----------------------------------------------------------------- */

static struct mmt_fence *fence_of(const unsigned char *address)
{
    for (int i = 0; i < MOST_FENCES; i++) {
        struct mmt_fence *fence = standing[i];
        if (fence && address >= fence->map &&
            address < fence->map + 2 * fence->guard + fence->size)
            return fence;
    }
    return NULL;
}

/* Opens what is round a place, so that the kernel goes on: not all at once, since a
 * process may have less memory than a fence has addresses. */
static bool open_round(const struct mmt_fence *fence, const unsigned char *address)
{
    enum { AT_ONCE = 1 << 20 };
    const size_t all = 2 * fence->guard + fence->size;
    const size_t from = (size_t) (address - fence->map) / AT_ONCE * AT_ONCE;
    const size_t bytes = all - from < AT_ONCE ? all - from : AT_ONCE;
    return !mprotect(fence->map + from, bytes, PROT_READ | PROT_WRITE);
}

/* Notes the place. A fault that cannot be mended comes again, and ends the process. */
static void note_touch(int signal, siginfo_t *info, void *context)
{
    (void) context;
    unsigned char *address = info->si_addr;
    struct mmt_fence *fence = fence_of(address);
    if (fence && !fence->touched)
        fence->where = address;
    if (fence)
        fence->touched = 1;
    if (!fence || !open_round(fence, address))
        sigaction(signal, &former, NULL);
}

static void close_fence(struct mmt_fence *fence)
{
    if (num_standing++ == 0) {
        struct sigaction action = { .sa_sigaction = note_touch,
                                    .sa_flags = SA_SIGINFO | SA_RESTART };
        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, &former);
    }
    for (int i = 0; i < MOST_FENCES; i++)
        if (!standing[i]) {
            standing[i] = fence;
            return;
        }
}

static void open_fence(const struct mmt_fence *fence)
{
    for (int i = 0; i < MOST_FENCES; i++)
        if (standing[i] == fence)
            standing[i] = NULL;
    if (--num_standing == 0)
        sigaction(SIGSEGV, &former, NULL);
}

/* ---- making and freeing ---------------------------------------------------------- */

mmt_status mmt_fence_open(struct mmt_fence *fence, size_t from, size_t bytes,
                          mmt_error *err)
{
    const size_t page = page_size(), first = from / page * page;
    const size_t last = whole_pages(from + bytes);
    if (mprotect(mmt_fence_begin(fence) + first, last - first, PROT_READ | PROT_WRITE))
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for %zu bytes of test data", last - first);
    return MMT_OK;
}

static mmt_status map_memory(struct mmt_fence *fence, bool closed, mmt_error *err)
{
    const size_t all = 2 * fence->guard + fence->size;
    fence->map =
        mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fence->map == MAP_FAILED) {
        fence->map = NULL;
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no addresses left for %zu bytes of test data", all);
    }
    return closed ? MMT_OK : mmt_fence_open(fence, 0, fence->size, err);
}

mmt_status mmt_fence_create(mmt_device *device, size_t bytes, size_t guard, bool closed,
                            struct mmt_fence **out, mmt_error *err)
{
    /* What a device says of a buffer larger than it would make itself is no concern: the
     * kernel gets the address. */
    static const size_t most_wrapped = (size_t) 1 << 28;
    struct mmt_fence *fence = calloc(1, sizeof *fence);
    if (!fence || num_standing == MOST_FENCES) {
        free(fence);
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for test data");
    }
    fence->device = device;
    fence->guard = whole_pages(guard ? guard : 1);
    fence->size = whole_pages(bytes ? bytes : 1);
    mmt_status status = map_memory(fence, closed, err);
    if (status == MMT_OK)
        status = mmt_buffer_wrap(device, mmt_fence_begin(fence),
                                 fence->size < most_wrapped ? fence->size : most_wrapped,
                                 &fence->operand, err);
    if (status != MMT_OK) {
        if (fence->map)
            munmap(fence->map, 2 * fence->guard + fence->size);
        free(fence);
        return status;
    }
    close_fence(fence);
    *out = fence;
    return MMT_OK;
}

void mmt_fence_free(struct mmt_fence *fence)
{
    if (!fence)
        return;
    mmt_buffer_free(fence->device, fence->operand);
    open_fence(fence);
    munmap(fence->map, 2 * fence->guard + fence->size);
    free(fence);
}

unsigned char *mmt_fence_begin(const struct mmt_fence *fence)
{
    return fence->map + fence->guard;
}

size_t mmt_fence_size(const struct mmt_fence *fence)
{
    return fence->size;
}

mmt_operand mmt_fence_operand(const struct mmt_fence *fence)
{
    return fence->operand;
}

bool mmt_fence_touched(const struct mmt_fence *fence, ptrdiff_t *where)
{
    if (fence->touched)
        *where = fence->where - mmt_fence_begin(fence);
    return fence->touched;
}

bool mmt_fence_works(mmt_device *device)
{
    struct mmt_fence *fence = NULL;
    unsigned char sent = 0x5a, back = 0;
    if (mmt_fence_create(device, 1, 1, false, &fence, NULL) != MMT_OK)
        return false;
    unsigned char *memory = mmt_fence_begin(fence);
    bool works = mmt_buffer_write(device, fence->operand, &sent, 1, NULL) == MMT_OK &&
                 memory[0] == sent;
    memory[0] = 0xc3;
    works = works && mmt_buffer_read(device, &back, fence->operand, 1, NULL) == MMT_OK &&
            back == 0xc3;
    mmt_fence_free(fence);
    return works;
}
