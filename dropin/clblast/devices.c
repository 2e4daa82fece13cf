/* What is kept for each device of each context, from its first call until the cache is
 * cleared: contexts are retained that long, as CLBlast's programs retain them. */
#include <pthread.h>
#include <stdlib.h>

#include <mmtune/opencl.h>

#include "device/opencl_api.h"
#include "dropin/clblast/call.h"

struct mmt_clblast_device {
    cl_context context;
    cl_device_id id;
    mmt_device *device;
    mmt_blas *blas;
    int users; /* calls, and the list */
    pthread_mutex_t lock;
    struct mmt_clblast_workspace *workspaces; /* that nobody has on loan */
    struct mmt_clblast_device *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list, and of users */
static struct mmt_clblast_device *devices;

/* ---- opening and freeing ----------------------------------------------------------- */

static void free_workspace(struct mmt_clblast_device *device,
                           struct mmt_clblast_workspace *workspace)
{
    if (workspace->after)
        clReleaseEvent(workspace->after);
    mmt_buffer_free(device->device, workspace->memory);
    free(workspace);
}

/* Commands that are still queued keep kernels and buffers of theirs: OpenCL frees those
 * when they are done. */
static void free_device(struct mmt_clblast_device *device)
{
    for (struct mmt_clblast_workspace *next; device->workspaces;
         device->workspaces = next) {
        next = device->workspaces->next;
        free_workspace(device, device->workspaces);
    }
    mmt_blas_free(device->blas);
    mmt_device_close(device->device);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

/* CLBlast's f32 is f32: no other numbers take its place. */
static mmt_blas *make_handle(mmt_device *device, mmt_error *err)
{
    mmt_plan_options plan = mmt_plan_defaults();
    mmt_blas_options options = mmt_blas_defaults();
    plan.f32_mode = MMT_F32_STRICT;
    options.plan = &plan;
    return mmt_blas_create(device, &options, err);
}

static struct mmt_clblast_device *open_device(cl_context context, cl_device_id id,
                                              mmt_error *err)
{
    struct mmt_clblast_device *device = calloc(1, sizeof *device);
    if (!device) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a device");
        return NULL;
    }
    *device = (struct mmt_clblast_device){ .context = context, .id = id, .users = 1 };
    pthread_mutex_init(&device->lock, NULL);
    device->device = mmt_opencl_device(context, id, err);
    device->blas = device->device ? make_handle(device->device, err) : NULL;
    if (device->blas)
        return device;
    free_device(device);
    return NULL;
}

struct mmt_clblast_device *mmt_clblast_hold(cl_context context, cl_device_id id,
                                            mmt_error *err)
{
    pthread_mutex_lock(&lock);
    struct mmt_clblast_device *device = devices;
    while (device && (device->context != context || device->id != id))
        device = device->next;
    if (!device && (device = open_device(context, id, err))) {
        device->next = devices;
        devices = device;
    }
    if (device)
        device->users++;
    pthread_mutex_unlock(&lock);
    return device;
}

void mmt_clblast_let_go(struct mmt_clblast_device *device)
{
    pthread_mutex_lock(&lock);
    const bool is_last = --device->users == 0;
    pthread_mutex_unlock(&lock);
    if (is_last)
        free_device(device);
}

void mmt_clblast_clear(void)
{
    pthread_mutex_lock(&lock);
    struct mmt_clblast_device *device = devices;
    devices = NULL;
    pthread_mutex_unlock(&lock);
    for (struct mmt_clblast_device *next; device; device = next) {
        next = device->next;
        mmt_clblast_let_go(device);
    }
}

mmt_blas *mmt_clblast_blas(const struct mmt_clblast_device *device)
{
    return device->blas;
}

/* ---- workspaces ------------------------------------------------------------------ */

static bool is_done(cl_event event)
{
    cl_int state = CL_QUEUED;
    return !event || (!clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                      sizeof state, &state, NULL) &&
                      state <= CL_COMPLETE);
}

/* One that nobody uses, or that this queue used last: who waits for another queue would
 * have to flush it. The lock is held. */
static struct mmt_clblast_workspace *take(struct mmt_clblast_device *device,
                                          cl_command_queue queue)
{
    struct mmt_clblast_workspace **at = &device->workspaces;
    while (*at && (*at)->queue != queue && !is_done((*at)->after))
        at = &(*at)->next;
    struct mmt_clblast_workspace *workspace = *at;
    if (workspace)
        *at = workspace->next;
    return workspace;
}

static struct mmt_clblast_workspace *make_workspace(struct mmt_clblast_device *device,
                                                    cl_command_queue queue, size_t bytes,
                                                    mmt_error *err)
{
    struct mmt_clblast_workspace *made = calloc(1, sizeof *made);
    if (!made) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a workspace");
        return NULL;
    }
    made->bytes = bytes;
    made->queue = queue;
    if (!mmt_buffer_create(device->device, bytes, &made->memory, err))
        return made;
    free(made);
    return NULL;
}

struct mmt_clblast_workspace *mmt_clblast_borrow(struct mmt_clblast_device *device,
                                                 cl_command_queue queue, size_t bytes,
                                                 mmt_error *err)
{
    pthread_mutex_lock(&device->lock);
    struct mmt_clblast_workspace *workspace = take(device, queue);
    pthread_mutex_unlock(&device->lock);
    if (workspace && workspace->bytes >= bytes) {
        workspace->queue = queue;
        return workspace;
    }
    if (workspace)
        free_workspace(device, workspace);
    return make_workspace(device, queue, bytes, err);
}

void mmt_clblast_give_back(struct mmt_clblast_device *device,
                           struct mmt_clblast_workspace *workspace, cl_event done)
{
    if (done && workspace->after)
        clReleaseEvent(workspace->after);
    if (done)
        workspace->after = done;
    pthread_mutex_lock(&device->lock);
    workspace->next = device->workspaces;
    device->workspaces = workspace;
    pthread_mutex_unlock(&device->lock);
}
