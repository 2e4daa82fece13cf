/* Compiling what a program's verdicts need, beside it and by all cores. NVRTC holds a
 * lock while it compiles, so each core has a process of its own. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "recording/building.h"
#include "runtime/runtime.h"
#include "tuner/cli/run.h"
#include "tuner/common/processor.h"

/* ---- which kernels ----------------------------------------------------------------- */

/* Kernels of a card's verdicts that are in no cache, in the profile's order. */
struct missing {
    mmt_device *device; /* which compiles for the card, and opens no context there */
    struct kernel {
        struct mmt_config config; /* resolved */
        struct mmt_variant variant;
        struct mmt_hash text;
    } * list;
    size_t count;
};

static bool is_listed(const struct missing *missing, struct mmt_hash text)
{
    for (size_t i = 0; i < missing->count; i++)
        if (missing->list[i].text.high == text.high &&
            missing->list[i].text.low == text.low)
            return true;
    return false;
}

static void list_kernel(struct missing *missing, const struct mmt_verdict *verdict,
                        const struct mmt_caps *caps, size_t workspace)
{
    const size_t room = mmt_verdict_workspace(verdict, workspace);
    struct mmt_bound bound;
    if (!mmt_verdict_is_for_ours(verdict) || strcmp(verdict->driver, caps->driver) ||
        !mmt_verdict_bind(verdict, caps, room, &bound))
        return;
    bool aligned;
    if (!mmt_bound_serves(&bound, verdict->call.alignment, &aligned))
        return;
    struct kernel it = { bound.config, mmt_variant_of(bound.problem, aligned), { 0 } };
    it.text = mmt_config_hash(&it.config, &it.variant);
    if (!is_listed(missing, it.text) &&
        !mmt_kernel_is_built(missing->device, &bound, aligned))
        missing->list[missing->count++] = it;
}

static void list_missing(struct missing *missing, const struct mmt_device_info *card,
                         size_t workspace)
{
    struct mmt_profile *profile = mmt_profile_find_for(&card->caps, card->id, NULL);
    char compiler[sizeof "null:" + sizeof card->caps.architecture];
    strcpy(compiler, "null:");
    strcat(compiler, card->caps.architecture);
    missing->count = 0;
    missing->device =
        profile && profile->num_verdicts ? mmt_device_open(compiler, NULL) : NULL;
    missing->list =
        missing->device ? calloc(profile->num_verdicts, sizeof *missing->list) : NULL;
    if (missing->device)
        missing->device->any_compiler = true;
    for (size_t i = 0; missing->list && i < profile->num_verdicts; i++)
        list_kernel(missing, &profile->verdicts[i], &card->caps, workspace);
    mmt_profile_free(profile);
}

/* ---- by all cores ------------------------------------------------------------------ */

static void compile_some(const struct missing *missing, atomic_size_t *next)
{
    for (size_t i; (i = atomic_fetch_add(next, 1)) < missing->count;)
        mmt_kernel_compile(missing->device, &missing->list[i].config,
                           &missing->list[i].variant, NULL, NULL, NULL);
}

/* It ends with the one that it helps. */
static void start_helper(const struct missing *missing, atomic_size_t *next)
{
    const pid_t parent = getpid();
    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        compile_some(missing, next);
    _exit(0);
}

static void compile_all(const struct missing *missing)
{
    atomic_size_t *next = mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return;
    for (int i = 1; i < mmt_processor_count() && (size_t) i < missing->count; i++)
        start_helper(missing, next);
    compile_some(missing, next);
    while (wait(NULL) > 0)
        continue;
    munmap(next, sizeof *next);
}

/* ---- beside the program ------------------------------------------------------------ */

static void build(size_t workspace)
{
    struct mmt_device_info *cards = NULL;
    size_t count = 0;
    if (mmt_backend_cuda.list(&cards, &count, NULL, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        struct missing missing = { 0 };
        list_missing(&missing, &cards[i], workspace);
        compile_all(&missing);
        free(missing.list);
        mmt_device_close(missing.device);
    }
    free(cards);
}

/* Until the lock is closed, the program's processes wait for what is built here. */
pid_t mmt_run_build(size_t workspace)
{
    enum { LESS_URGENT = 10 };
    const int lock = mmt_building_begin();
    const pid_t parent = getpid(), pid = lock < 0 ? -1 : fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        setpriority(PRIO_PROCESS, 0, LESS_URGENT);
        if (getppid() == parent)
            build(workspace);
        _exit(0);
    }
    if (lock >= 0)
        close(lock);
    return pid;
}

void mmt_run_stop_building(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}
