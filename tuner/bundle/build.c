/* Compiling what a target needs. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/bundle/make.h"

enum { MOST_THREADS = 16 };

struct building {
    mmt_device *device;
    struct mmt_bundle_needs *needs;
    atomic_size_t next;
};

static void build_one(struct building *b, struct mmt_bundle_need *need)
{
    bool unused;
    const mmt_status status = mmt_kernel_build(b->device, &need->config, &need->variant,
                                               &need->binary, &unused, &need->refusal);
    if (status)
        mmt_binary_finish(&need->binary);
}

static void *build_some(void *context)
{
    struct building *b = context;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->needs->count;)
        build_one(b, &b->needs->list[i]);
    return NULL;
}

/* An OpenCL platform may not be asked by several at once; NVRTC may. */
static int count_threads(const mmt_device *device)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (mmt_device_caps(device)->dialect == MMT_OPENCL_C || cores < 2)
        return 1;
    return cores < MOST_THREADS ? (int) cores : MOST_THREADS;
}

/* This thread is one of them; fewer may be had. */
static void build_all(struct building *b, int count)
{
    pthread_t threads[MOST_THREADS];
    int started = 0;
    while (started < count - 1 && !pthread_create(&threads[started], NULL, build_some, b))
        started++;
    build_some(b);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

/* What a compiler refuses is no failure, as another kernel serves; all else is. */
static mmt_status conclude(const struct mmt_bundle_needs *needs, mmt_error *err)
{
    size_t built = 0;
    for (size_t i = 0; i < needs->count; i++) {
        const struct mmt_bundle_need *need = &needs->list[i];
        struct mmt_text text = { 0 };
        built += mmt_bundle_has(need);
        if (mmt_bundle_has(need))
            continue;
        if (need->refusal.status != MMT_ERROR_COMPILE)
            return mmt_fail(err, need->refusal.status, "%s", need->refusal.text);
        mmt_config_print(&need->config, &text);
        fprintf(stderr, "%s is left out: %s\n", mmt_text_string(&text),
                need->refusal.text);
        mmt_text_finish(&text);
    }
    if (built)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_COMPILE, "no kernel compiles; the first says: %s",
                    needs->count ? needs->list[0].refusal.text : "nothing");
}

mmt_status mmt_bundle_build(struct mmt_bundle_goal *goal, mmt_error *err)
{
    const double before = mmt_now();
    struct building b = { mmt_device_open(goal->device, err), &goal->needs, 0 };
    if (!b.device)
        return err->status;
    build_all(&b, count_threads(b.device));
    mmt_device_close(b.device);
    goal->seconds = mmt_now() - before;
    return conclude(&goal->needs, err);
}
