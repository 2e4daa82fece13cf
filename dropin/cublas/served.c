/* Keeps, for each context, the device that is served, and for each handle its workspace
 * and what a reset has ended. */
#include "dropin/cublas/served.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "dropin/cublas/gate.h"
#include "dropin/cublas/real.h"
#include "profiles/profile.h"

/* ---- settings -------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    struct mmt_calls_options options;
    enum mmt_override override;
} settings = { .once = PTHREAD_ONCE_INIT };

static void read_settings(void)
{
    mmt_calls_read_options(&settings.options);
    settings.override = mmt_map_override(secure_getenv("NVIDIA_TF32_OVERRIDE"));
}

const struct mmt_calls_options *mmt_served_options(void)
{
    pthread_once(&settings.once, read_settings);
    return &settings.options;
}

/* Known before any context is. */
enum mmt_override mmt_served_override(void)
{
    return settings.override;
}

/* ---- contexts -------------------------------------------------------------------- */

/* An entry is constant once its context is there. */
static struct {
    pthread_mutex_t lock; /* of entering */
    struct context {
        _Atomic(void *) context;
        struct mmt_served *served; /* of its device; NULL: nobody */
        unsigned long long id;     /* of the context; 0: unknown */
        atomic_bool foreign;
    } list[MMT_MOST_CONTEXTS];
} contexts = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct mmt_served *find_device(int device)
{
    for (int i = 0; i < MMT_MOST_CONTEXTS; i++)
        if (contexts.list[i].served && contexts.list[i].served->device == device)
            return contexts.list[i].served;
    return NULL;
}

/* In the keeper's thread. */
static void prepare(void *context, mmt_device *device, size_t workspace)
{
    struct mmt_served *served = context;
    const struct mmt_calls_options *options = mmt_served_options();

    served->driver->cuCtxSetCurrent(served->primary);
    if (options->record) {
        mmt_timings_make(&served->timings, served->driver);
        return;
    }
    if (workspace + MMT_SCALARS_ROOM <= options->workspace)
        workspace += MMT_SCALARS_ROOM;
    mmt_pool_make(&served->pool, device, workspace, options->workspace);
}

static void tick(void *context)
{
    struct mmt_served *served = context;
    if (mmt_served_options()->record)
        mmt_timings_read(&served->timings, served->driver);
}

static struct mmt_served *start(const struct mmt_driver *driver, int device,
                                void *primary)
{
    struct mmt_calls_options options = *mmt_served_options();
    struct mmt_served *served = calloc(1, sizeof *served);
    struct mmt_caps caps = { .backend = "cuda" };
    struct mmt_text stem = { 0 };
    char name[32], library[48], path[256] = "";

    if (!served)
        return NULL;
    mmt_gate_watch_fork();
    served->driver = driver;
    served->primary = primary;
    served->device = device;
    options.work = (struct mmt_calls_work){ prepare, tick, NULL, served };
    driver->cuDeviceGetName(caps.name, sizeof caps.name - 1, device);
    mmt_profile_stem(&caps, &stem);
    snprintf(name, sizeof name, "cuda:%d", device);
    mmt_real_name(library);
    mmt_real_path(path);
    served->calls = mmt_calls_start(
        &(struct mmt_calls_of){ name, mmt_text_string(&stem), library, path }, &options);
    mmt_text_finish(&stem);
    if (served->calls)
        return served;
    free(served);
    return NULL;
}

/* The device's primary context where it is the one given; it is retained by the program,
 * and by the keeper soon. */
static bool is_primary(const struct mmt_driver *driver, int device, void *context)
{
    void *primary = NULL;
    unsigned flags;
    int active = 0;

    if (driver->cuDevicePrimaryCtxGetState(device, &flags, &active) || !active ||
        driver->cuDevicePrimaryCtxRetain(&primary, device))
        return false;
    driver->cuDevicePrimaryCtxRelease_v2(device);
    return primary == context;
}

static unsigned long long id_of(const struct mmt_driver *driver, void *context)
{
    unsigned long long id = 0;
    return driver->cuCtxGetId && !driver->cuCtxGetId(context, &id) ? id : 0;
}

/* Under the lock. */
static struct context *enter(const struct mmt_driver *driver, void *context)
{
    int i = 0, device;

    while (i < MMT_MOST_CONTEXTS && atomic_load(&contexts.list[i].context))
        if (atomic_load(&contexts.list[i++].context) == context)
            return &contexts.list[i - 1];
    if (i == MMT_MOST_CONTEXTS || driver->cuCtxGetDevice(&device))
        return NULL;
    struct context *it = &contexts.list[i];
    const bool foreign = !is_primary(driver, device, context);
    atomic_store(&it->foreign, foreign);
    it->id = id_of(driver, context);
    it->served = find_device(device);
    if (!it->served && !foreign)
        it->served = start(driver, device, context);
    atomic_store_explicit(&it->context, context, memory_order_release);
    return it;
}

static struct context *find(void *context)
{
    for (int i = 0; i < MMT_MOST_CONTEXTS; i++) {
        void *it = atomic_load_explicit(&contexts.list[i].context, memory_order_acquire);
        if (it == context)
            return &contexts.list[i];
        if (!it)
            return NULL;
    }
    return NULL;
}

struct mmt_served *mmt_served_current(bool *foreign)
{
    const struct mmt_driver *driver = mmt_driver_open();
    void *context = NULL;

    if (!driver || driver->cuCtxGetCurrent(&context) || !context)
        return NULL;
    struct context *it = find(context);
    if (!it) {
        pthread_mutex_lock(&contexts.lock);
        it = enter(driver, context);
        pthread_mutex_unlock(&contexts.lock);
    }
    *foreign = it && atomic_load_explicit(&it->foreign, memory_order_relaxed);
    return it ? it->served : NULL;
}

/* ---- handles --------------------------------------------------------------------- */

enum { MOST_HANDLES = 1024, MOST_PROBES = 32, GONE = 1 };

static struct handle {
    _Atomic uintptr_t handle; /* 0: never used; GONE: free again */
    _Atomic(void *) context;
    _Atomic uint64_t address;
    atomic_size_t bytes;
} handles[MOST_HANDLES];

static struct handle *place(uintptr_t handle, int probe)
{
    const uint64_t hash = (uint64_t) handle * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return &handles[(hash + (uint64_t) probe) % MOST_HANDLES];
}

static struct handle *find_handle(const void *handle)
{
    const uintptr_t wanted = (uintptr_t) handle;
    for (int i = 0; i < MOST_PROBES; i++) {
        struct handle *it = place(wanted, i);
        const uintptr_t found = atomic_load_explicit(&it->handle, memory_order_acquire);
        if (found == wanted)
            return it;
        if (!found)
            return NULL;
    }
    return NULL;
}

static struct handle *make_handle(const void *handle, void *context)
{
    for (int i = 0; i < MOST_PROBES; i++) {
        struct handle *it = place((uintptr_t) handle, i);
        uintptr_t found = atomic_load(&it->handle);
        if (found > GONE ||
            !atomic_compare_exchange_strong(&it->handle, &found, (uintptr_t) handle))
            continue;
        atomic_store_explicit(&it->context, context, memory_order_relaxed);
        atomic_store_explicit(&it->address, 0, memory_order_relaxed);
        atomic_store_explicit(&it->bytes, 0, memory_order_relaxed);
        return it;
    }
    return NULL;
}

static void forget(const void *handle)
{
    struct handle *it = find_handle(handle);
    if (it)
        atomic_store(&it->handle, GONE);
}

/* cudaDeviceReset ends the device's context, with all kernels in it, and what is made
 * next may be at the same address. */
static void look_for_reset(const struct mmt_driver *driver, void *context)
{
    struct context *it = find(context);
    if (it && it->id && it->id != id_of(driver, context))
        atomic_store(&it->foreign, true);
}

void mmt_handle_enter(const void *handle)
{
    const struct mmt_driver *driver = mmt_driver_open();
    void *context = NULL;
    forget(handle); /* one whose end was not seen */
    if (!driver || driver->cuCtxGetCurrent(&context) || !context)
        return;
    make_handle(handle, context);
    look_for_reset(driver, context);
}

struct mmt_handle mmt_handle_know(const void *handle)
{
    struct handle *it = find_handle(handle);
    if (!it)
        return (struct mmt_handle){ NULL, { 0, 0 } };
    return (struct mmt_handle){
        atomic_load_explicit(&it->context, memory_order_relaxed),
        { atomic_load_explicit(&it->address, memory_order_relaxed),
          atomic_load_explicit(&it->bytes, memory_order_relaxed) },
    };
}

/* A handle that finds no place counts as one that was given nothing. */
void mmt_handle_set_workspace(const void *handle, struct mmt_workspace workspace)
{
    struct handle *it = find_handle(handle);
    if (!it && workspace.address)
        it = make_handle(handle, NULL);
    if (!it)
        return;
    atomic_store_explicit(&it->address, workspace.address, memory_order_relaxed);
    atomic_store_explicit(&it->bytes, workspace.bytes, memory_order_relaxed);
}

/* ---- handles that are destroyed ---------------------------------------------------- */

/* That of a context's device; NULL where there is none, or another context has it. */
static struct mmt_pool *pool_of(int context)
{
    const struct context *it = &contexts.list[context];
    return atomic_load_explicit(&it->context, memory_order_acquire) && it->served &&
                   !atomic_load(&it->foreign)
               ? &it->served->pool
               : NULL;
}

void mmt_handle_leave(const void *handle, struct mmt_leaving *out)
{
    *out = (struct mmt_leaving){ .handle = handle, .was = mmt_handle_know(handle) };
    if (!handle)
        return;
    forget(handle);
    for (int i = 0; i < MMT_MOST_CONTEXTS; i++)
        if (pool_of(i))
            out->parts[i] = mmt_pool_withdraw(pool_of(i), handle);
}

void mmt_handle_left(const struct mmt_leaving *leaving, bool destroyed)
{
    const void *owner = destroyed ? NULL : leaving->handle;
    if (!destroyed && leaving->was.context)
        make_handle(leaving->handle, leaving->was.context);
    if (!destroyed)
        mmt_handle_set_workspace(leaving->handle, leaving->was.workspace);
    for (int i = 0; i < MMT_MOST_CONTEXTS; i++)
        if (leaving->parts[i])
            mmt_pool_give(pool_of(i), leaving->parts[i], owner);
}
