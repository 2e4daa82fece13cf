/* The devices of all backends behind one table of functions: checks arguments once, then
 * calls the backend. */
#include "device/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mmt_backend *const backends[] = {
    &mmt_backend_cuda,
    &mmt_backend_opencl,
    &mmt_backend_null,
};

enum { NUM_BACKENDS = sizeof(backends) / sizeof(backends[0]) };

/* ---- finding and opening --------------------------------------------------------- */

/* GPUs before CPUs, CUDA before OpenCL, what runs bundles alone last; else in the order
 * of the platform. */
static int rank(const struct mmt_device_info *info)
{
    if (!strcmp(info->caps.compiler, "none"))
        return 3;
    if (!strcmp(info->caps.backend, mmt_backend_cuda.name))
        return 0;
    return info->caps.kind == MMT_GPU ? 1 : 2;
}

static void number(struct mmt_device_info *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct mmt_device_info moving = list[i];
        size_t to = i;
        for (; to > 0 && rank(&list[to - 1]) > rank(&moving); to--)
            list[to] = list[to - 1];
        list[to] = moving;
    }
    for (size_t i = 0; i < count; i++)
        list[i].number = (int) i;
}

mmt_status mmt_device_list(struct mmt_device_info **list, size_t *count,
                           struct mmt_text *notes, mmt_error *err)
{
    *list = NULL;
    *count = 0;
    for (int i = 0; i < NUM_BACKENDS; i++) {
        mmt_status status = backends[i]->list(list, count, notes, err);
        if (status != MMT_OK) {
            free(*list);
            *list = NULL;
            *count = 0;
            return status;
        }
    }
    number(*list, *count);
    return MMT_OK;
}

static mmt_status fail_number(const char *name, size_t count,
                              const struct mmt_text *notes, mmt_error *err)
{
    const char *said = mmt_text_string(notes);
    if (count == 0)
        return mmt_fail(
            err, MMT_ERROR_NOT_FOUND,
            "there is no device %s: this machine has no CUDA or OpenCL device that can "
            "be used; Debian's pocl-opencl-icd makes the CPU one%s%s",
            name, said[0] ? "\n" : "", said);
    if (count == 1)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "there is no device %s; this machine has one, which is device 0",
                        name);
    return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                    "there is no device %s; this machine has %zu, numbered from 0 to %zu",
                    name, count, count - 1);
}

/* Turns a number of the list into the id that opens it. */
static mmt_status find_number(const char *name, char id[32], mmt_error *err)
{
    struct mmt_device_info *list;
    struct mmt_text notes = { 0 };
    size_t count, wanted = strlen(name) < 9 ? (size_t) atol(name) : SIZE_MAX;
    mmt_status status = mmt_device_list(&list, &count, &notes, err);
    if (status == MMT_OK && wanted >= count)
        status = fail_number(name, count, &notes, err);
    if (status == MMT_OK)
        snprintf(id, 32, "%s", list[wanted].id);
    free(list);
    mmt_text_finish(&notes);
    return status;
}

static const struct mmt_backend *find_backend(const char *id, const char **which)
{
    size_t length = strcspn(id, ":");
    for (int i = 0; i < NUM_BACKENDS; i++) {
        if (strlen(backends[i]->name) != length || strncmp(backends[i]->name, id, length))
            continue;
        *which = id[length] ? id + length + 1 : "";
        return backends[i];
    }
    return NULL;
}

mmt_device *mmt_device_open(const char *name, mmt_error *err)
{
    char id[32];
    const char *which;
    mmt_device *device;
    if (!name)
        name = "0";
    if (name[0] && strspn(name, "0123456789") == strlen(name)) {
        if (find_number(name, id, err) != MMT_OK)
            return NULL;
        name = id;
    }
    const struct mmt_backend *backend = find_backend(name, &which);
    if (!backend) {
        mmt_fail(err, MMT_ERROR_ARGUMENT,
                 "\"%s\" names no device; right would be a number that `mmtune devices` "
                 "lists, or cuda:0, opencl:0, null:sm_90",
                 name);
        return NULL;
    }
    return backend->open(which, &device, err) == MMT_OK ? device : NULL;
}

void mmt_device_close(mmt_device *device)
{
    if (!device)
        return;
    mmt_modules_unload(device);
    device->backend->close(device);
}

const char *mmt_device_name(const mmt_device *device)
{
    return device ? device->title : "";
}

const struct mmt_caps *mmt_device_caps(const mmt_device *device)
{
    return &device->caps;
}

void mmt_device_set_log(mmt_device *device, mmt_log log, void *context)
{
    if (!device)
        return;
    device->log = log;
    device->log_context = context;
}

void mmt_device_say(const mmt_device *device, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!device->log)
        return;
    va_start(args, format);
    mmt_text_print_list(text, sizeof text, format, args);
    va_end(args);
    device->log(device->log_context, text);
}

/* ---- memory ---------------------------------------------------------------------- */

static mmt_status check_copy(const mmt_device *device, mmt_operand buffer,
                             const void *host, size_t bytes, mmt_error *err)
{
    if (!device || !buffer.handle)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "a copy needs a %s; it is null",
                        device ? "buffer" : "device");
    if (!host && bytes)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "a copy of %zu bytes needs host memory; it is null", bytes);
    return MMT_OK;
}

mmt_status mmt_buffer_create(mmt_device *device, size_t bytes, mmt_operand *buffer,
                             mmt_error *err)
{
    if (!device || !buffer)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "the %s is null",
                        device ? "place for the buffer" : "device");
    if (bytes == 0)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "a buffer has at least 1 byte; 0 were asked for");
    return device->backend->buffer_create(device, bytes, buffer, err);
}

mmt_status mmt_buffer_check(mmt_device *device, mmt_operand operand, mmt_argument which,
                            uint64_t bytes, mmt_error *err)
{
    return device->backend->buffer_check
               ? device->backend->buffer_check(device, operand, which, bytes, err)
               : MMT_OK;
}

mmt_status mmt_buffer_wrap(mmt_device *device, void *host, size_t bytes,
                           mmt_operand *buffer, mmt_error *err)
{
    if (!device->backend->buffer_wrap)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s does not use the host's memory in place", device->title);
    return device->backend->buffer_wrap(device, host, bytes, buffer, err);
}

void mmt_buffer_free(mmt_device *device, mmt_operand buffer)
{
    if (device && buffer.handle)
        device->backend->buffer_free(device, buffer);
}

mmt_status mmt_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                            size_t bytes, mmt_error *err)
{
    mmt_status status = check_copy(device, to, from, bytes, err);
    if (status != MMT_OK || bytes == 0)
        return status;
    return device->backend->buffer_write(device, to, from, bytes, err);
}

mmt_status mmt_buffer_read(mmt_device *device, void *to, mmt_operand from, size_t bytes,
                           mmt_error *err)
{
    mmt_status status = check_copy(device, from, to, bytes, err);
    if (status != MMT_OK || bytes == 0)
        return status;
    return device->backend->buffer_read(device, to, from, bytes, err);
}

mmt_status mmt_finish(mmt_device *device, mmt_queue queue, mmt_error *err)
{
    if (!device)
        return mmt_fail_argument(err, MMT_ARGUMENT_DEVICE, "the device is null");
    return device->backend->finish(device, queue, err);
}

/* ---- building -------------------------------------------------------------------- */

void mmt_binary_finish(struct mmt_binary *binary)
{
    free(binary->data);
    free(binary->log);
    *binary = (struct mmt_binary){ 0 };
}

void mmt_device_compiler_key(const mmt_device *device, struct mmt_text *key)
{
    device->backend->compiler_key(device, key);
}

mmt_status mmt_device_compile(mmt_device *device, const char *source,
                              struct mmt_binary *binary, mmt_error *err)
{
    *binary = (struct mmt_binary){ 0 };
    return device->backend->compile(device, source, binary, err);
}

mmt_status mmt_module_load(mmt_device *device, const struct mmt_binary *binary,
                           struct mmt_module **out, mmt_error *err)
{
    if (!binary->data || binary->size == 0)
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "the binary to load is empty");
    return device->backend->module_load(device, binary, out, err);
}

/* A limit of 0 is one that the platform does not tell. */
static mmt_status check_block(const struct mmt_caps *caps, const unsigned block[3],
                              size_t shared, mmt_error *err)
{
    unsigned long long threads = 1;
    for (int i = 0; i < 3; i++) {
        threads *= block[i];
        if (block[i] == 0 || (caps->max_block[i] && block[i] > caps->max_block[i]))
            return mmt_fail(
                err, MMT_ERROR_UNSUPPORTED,
                "a block of %u x %u x %u threads: dimension %c may have from 1 "
                "to %u",
                block[0], block[1], block[2], "xyz"[i], caps -> max_block[i]);
    }
    if (caps->max_threads && threads > caps->max_threads)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "a block of %llu threads; this device's have at most %u", threads,
                        caps->max_threads);
    if (caps->shared && shared > caps->shared)
        return mmt_fail(
            err, MMT_ERROR_UNSUPPORTED,
            "%zu bytes of shared memory a block; this device's have at most %zu", shared,
            caps->shared);
    return MMT_OK;
}

/* What one kernel needs may be more than the device's limits tell. */
static mmt_status check_usage(struct mmt_function *function, const char *entry,
                              mmt_error *err)
{
    const unsigned *block = function->block;
    unsigned threads = block[0] * block[1] * block[2];
    struct mmt_usage usage;
    mmt_status status = mmt_function_usage(function, &usage, err);
    if (status != MMT_OK || usage.max_threads < 1 ||
        threads <= (unsigned) usage.max_threads)
        return status;
    return mmt_fail(
        err, MMT_ERROR_UNSUPPORTED,
        "%s, with %d registers a thread, runs in blocks of at most %d threads; "
        "%u were asked for",
        entry, usage.registers, usage.max_threads, threads);
}

mmt_status mmt_function_create(struct mmt_module *module, const char *entry,
                               const unsigned block[3], size_t shared,
                               struct mmt_function **out, mmt_error *err)
{
    const struct mmt_backend *backend = module->device->backend;
    struct mmt_function *function;
    mmt_status status = check_block(&module->device->caps, block, shared, err);
    if (status == MMT_OK)
        status = backend->function_create(module, entry, block, shared, &function, err);
    if (status != MMT_OK)
        return status;
    status = check_usage(function, entry, err);
    if (status != MMT_OK)
        backend->function_free(function);
    else
        *out = function;
    return status;
}

void mmt_function_free(struct mmt_function *function)
{
    if (function)
        function->device->backend->function_free(function);
}

mmt_status mmt_function_usage(struct mmt_function *function, struct mmt_usage *out,
                              mmt_error *err)
{
    return function->device->backend->function_usage(function, out, err);
}

/* 0 for a backend that does not tell. */
unsigned mmt_function_resident(struct mmt_function *function)
{
    const struct mmt_backend *backend = function->device->backend;
    return backend->resident ? backend->resident(function) : 0;
}

void mmt_functions_set_carveout(struct mmt_function *const *functions, int count)
{
    if (count && functions[0]->device->backend->set_carveout)
        functions[0]->device->backend->set_carveout(functions, count);
}

/* ---- launching and timing -------------------------------------------------------- */

/* A limit of 0 is one that the platform does not tell. */
static inline bool fits(unsigned count, unsigned most)
{
    return count > 0 && (most == 0 || count <= most);
}

static mmt_status fail_grid(const mmt_device *device, const unsigned grid[3],
                            mmt_error *err)
{
    const unsigned *most = device->caps.max_grid;
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "a grid of %u x %u x %u blocks; it may have from 1 to %u x %u x %u",
                    grid[0], grid[1], grid[2], most[0], most[1], most[2]);
}

mmt_status mmt_function_launch(struct mmt_function *function, const unsigned grid[3],
                               const struct mmt_value *values, int num_values,
                               unsigned order, mmt_queue queue, struct mmt_events *events,
                               mmt_error *err)
{
    const mmt_device *device = function->device;
    const unsigned *most = device->caps.max_grid;
    if (!fits(grid[0], most[0]) || !fits(grid[1], most[1]) || !fits(grid[2], most[2]))
        return fail_grid(device, grid, err);
    if (num_values < 0 || num_values > MMT_MAX_KERNEL_VALUES)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "a launch with %d values; it may have from 0 to %d", num_values,
                        MMT_MAX_KERNEL_VALUES);
    return device->backend->launch(function, grid, values, num_values, order, queue,
                                   events, err);
}

/* A platform without the call has no events to wait for. */
mmt_status mmt_events_end(mmt_device *device, struct mmt_events *events, mmt_queue queue,
                          void **out, mmt_error *err)
{
    if (!device->backend->events_end)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s has no events of OpenCL to wait for or to give",
                        device->title);
    return device->backend->events_end(device, events, queue, out, err);
}

/* A platform without the call has no TMA. */
mmt_status mmt_tensor_map_encode(mmt_device *device, const struct mmt_tensor *tensor,
                                 struct mmt_tensor_map *out, mmt_error *err)
{
    if (!device->backend->tensor_map_encode)
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s has no TMA for tiles",
                        device->title);
    return device->backend->tensor_map_encode(device, tensor, out, err);
}

mmt_status mmt_mark_create(mmt_device *device, struct mmt_mark **out, mmt_error *err)
{
    return device->backend->mark_create(device, out, err);
}

void mmt_mark_free(struct mmt_mark *mark)
{
    if (mark)
        mark->device->backend->mark_free(mark);
}

mmt_status mmt_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err)
{
    return mark->device->backend->mark_record(mark, queue, err);
}

mmt_status mmt_mark_seconds(struct mmt_mark *from, struct mmt_mark *to, double *seconds,
                            mmt_error *err)
{
    if (from->device != to->device)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "two marks of different devices (%s, %s) bracket nothing",
                        from->device->id, to->device->id);
    return to->device->backend->mark_seconds(from, to, seconds, err);
}

mmt_status mmt_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err)
{
    return device->backend->queue_create(device, out, err);
}

void mmt_queue_free(mmt_device *device, mmt_queue queue)
{
    if (device && queue)
        device->backend->queue_free(device, queue);
}

bool mmt_queue_captures(mmt_device *device, mmt_queue queue)
{
    return device->backend->queue_captures &&
           device->backend->queue_captures(device, queue);
}

bool mmt_capture_begin(mmt_device *device, mmt_queue queue)
{
    return device->backend->capture_begin &&
           device->backend->capture_begin(device, queue);
}

struct mmt_graph *mmt_capture_end(mmt_device *device, mmt_queue queue)
{
    return device->backend->capture_end(device, queue);
}

mmt_status mmt_graph_launch(struct mmt_graph *graph, mmt_queue queue, mmt_error *err)
{
    return graph->device->backend->graph_launch(graph, queue, err);
}

void mmt_graph_free(struct mmt_graph *graph)
{
    if (graph)
        graph->device->backend->graph_free(graph);
}

int mmt_thread_relax(mmt_device *device)
{
    return device->backend->thread_mode ? device->backend->thread_mode(device, -1) : 0;
}

void mmt_thread_restore(mmt_device *device, int mode)
{
    if (device->backend->thread_mode)
        device->backend->thread_mode(device, mode);
}

/* Where a backend cannot hold a queue, what is queued begins at once. */
bool mmt_queue_hold(mmt_device *device, mmt_queue queue)
{
    return device->backend->queue_hold && device->backend->queue_hold(device, queue);
}

void mmt_queue_release(mmt_device *device)
{
    device->backend->queue_release(device);
}

/* Where a backend has no health, nothing is known of it. */
bool mmt_device_health(mmt_device *device, struct mmt_health *out)
{
    *out = (struct mmt_health){ 0 };
    return device->backend->health && device->backend->health(device, out);
}

/* The same of energy. */
bool mmt_device_energy(mmt_device *device, struct mmt_energy *out)
{
    *out = (struct mmt_energy){ 0 };
    return device->backend->energy && device->backend->energy(device, out);
}

void mmt_health_add(struct mmt_health *to, const struct mmt_health *other)
{
    double slowest = other->clock_mhz;
    if (slowest <= 0 || (to->clock_mhz > 0 && to->clock_mhz < slowest))
        slowest = to->clock_mhz;
    double hottest = to->celsius > other->celsius ? to->celsius : other->celsius;
    if (other->throttled > to->throttled)
        *to = *other;
    to->celsius = hottest;
    to->clock_mhz = slowest;
}
