/* The devices that are served, found by the context that is current in the calling
 * thread; and what is known of handles. */
#ifndef MMT_DROPIN_CUBLAS_SERVED_H
#define MMT_DROPIN_CUBLAS_SERVED_H

#include "dropin/cublas/map.h"
#include "dropin/cublas/pool.h"
#include "dropin/cublas/timing.h"

struct mmt_served {
    struct mmt_calls *calls;
    const struct mmt_driver *driver;
    void *primary; /* the device's context, in which plans are made */
    int device;
    struct mmt_pool pool;
    struct mmt_timings timings;
};

/* This process's settings, as the environment had them at the first call. */
const struct mmt_calls_options *mmt_served_options(void);
enum mmt_override mmt_served_override(void);

/* Who serves the current context's device, beginning with it where it is new and the
 * context is the device's primary one; NULL: nobody. *foreign: the context is another
 * one, in which plans do not run. Never locks once a context is known. */
struct mmt_served *mmt_served_current(bool *foreign);

enum { MMT_MOST_CONTEXTS = 64 };

/* ---- handles --------------------------------------------------------------------- */

/* A handle's workspace is the one that the program gave it last, until it sets a stream:
 * that gives the handle the library's own again. It belongs to the context in which it
 * was made, whichever is current later. One thread at a time changes a handle. */

struct mmt_workspace {
    uint64_t address; /* 0: the library's own */
    size_t bytes;
};
struct mmt_handle {
    void *context; /* NULL: unknown */
    struct mmt_workspace workspace;
};
struct mmt_handle mmt_handle_know(const void *handle);

/* Begins to know a handle that was made in the current context. */
void mmt_handle_enter(const void *handle);
void mmt_handle_set_workspace(const void *handle, struct mmt_workspace workspace);

/* A handle while the library destroys it. The library frees its memory, so that a new
 * handle of another thread may be at the same address before its function returns: what
 * is known of the old one is forgotten before. But only the library waits for what was
 * queued: so its parts of all pools are nobody's until it has returned. */
struct mmt_leaving {
    const void *handle;
    struct mmt_handle was;
    unsigned parts[MMT_MOST_CONTEXTS]; /* of the pool of each context's device */
};
void mmt_handle_leave(const void *handle, struct mmt_leaving *out);

/* The library has destroyed it, or has refused to: then all is as before. */
void mmt_handle_left(const struct mmt_leaving *leaving, bool destroyed);

#endif
