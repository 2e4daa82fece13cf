#include "tests/emulation/cuda/emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "tests/emulation/cuda/sources.h"

struct emulated_module {
    struct mmt_module base;
    char *text;
};

struct emulated_function {
    struct mmt_function base;
    struct emulate_kernel kernel;
};

static struct mmt_backend backend;
/* ---- building -------------------------------------------------------------------- */

/* Nothing yet: a text is built when a kernel of it is asked for by name. */
static mmt_status compile(mmt_device *device, const char *source,
                          struct mmt_binary *binary, mmt_error *err)
{
    binary->data = strdup(source);
    binary->size = strlen(source) + 1;
    return binary->data ? MMT_OK : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
}

static void compiler_key(const mmt_device *device, struct mmt_text *key)
{
    mmt_text_addf(key, "emulated %s", device->caps.architecture);
}

static mmt_status module_load(mmt_device *device, const struct mmt_binary *binary,
                              struct mmt_module **out, mmt_error *err)
{
    struct emulated_module *module = calloc(1, sizeof(*module));
    if (!module || !(module->text = strndup(binary->data, binary->size)))
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    module->base.device = device;
    *out = &module->base;
    return MMT_OK;
}

static void module_free(struct mmt_module *base)
{
    free(((struct emulated_module *) base)->text);
    free(base);
}

static mmt_status function_create(struct mmt_module *base, const char *entry,
                                  const unsigned block[3], size_t shared,
                                  struct mmt_function **out, mmt_error *err)
{
    struct emulated_module *module = (struct emulated_module *) base;
    struct emulated_function *function = calloc(1, sizeof(*function));

    if (!function)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    mmt_status status =
        emulate_build(module->text, entry, base->device->caps.sm, &function->kernel, err);
    if (status) {
        free(function);
        return status;
    }
    function->base =
        (struct mmt_function){ base->device, { block[0], block[1], block[2] }, shared };
    *out = &function->base;
    return MMT_OK;
}

static void function_free(struct mmt_function *function)
{
    free(function);
}

static mmt_status function_usage(struct mmt_function *function, struct mmt_usage *out,
                                 mmt_error *err)
{
    *out = (struct mmt_usage){ -1, -1, -1, -1 };
    return MMT_OK;
}

/* ---- launching ------------------------------------------------------------------- */

/* All parameters but maps stand at the start of the union. */
static mmt_status launch(struct mmt_function *base, const unsigned grid[3],
                         const struct mmt_value *values, int num_values, unsigned order,
                         mmt_queue queue, struct mmt_events *events, mmt_error *err)
{
    const struct emulated_function *function = (struct emulated_function *) base;
    void *args[MMT_MAX_KERNEL_VALUES];

    for (int i = 0; i < num_values; i++)
        args[i] = (void *) &values[i].buffer;
    const struct emulate_launch all = {
        .entry = function->kernel.entry,
        .args = args,
        .shared = function->kernel.shared(),
        .shared_bytes = base->shared,
        .grid = { grid[0], grid[1], grid[2] },
        .block = { base->block[0], base->block[1], base->block[2] },
    };
    const char *why = emulate_run(&all);
    return why ? mmt_fail(err, MMT_ERROR_DEVICE, "%s", why) : MMT_OK;
}

/* ---- memory ---------------------------------------------------------------------- */

/* The host's own, which a kernel uses in place and freeing leaves to the host. */
enum { MAX_WRAPPED = 64 };
static uint64_t wrapped[MAX_WRAPPED];

static mmt_status buffer_wrap(mmt_device *device, void *host, size_t bytes,
                              mmt_operand *out, mmt_error *err)
{
    for (int i = 0; i < MAX_WRAPPED; i++)
        if (!wrapped[i]) {
            wrapped[i] = (uint64_t) (uintptr_t) host;
            *out = (mmt_operand){ wrapped[i], 0 };
            return MMT_OK;
        }
    return mmt_fail(err, MMT_ERROR_MEMORY, "more than %d pieces of the host's memory",
                    MAX_WRAPPED);
}

static void buffer_free(mmt_device *device, mmt_operand buffer)
{
    for (int i = 0; i < MAX_WRAPPED; i++)
        if (wrapped[i] == buffer.handle) {
            wrapped[i] = 0;
            return;
        }
    mmt_backend_null.buffer_free(device, buffer);
}

/* So few that each of those that stay has several tiles, which go round unevenly. */
static unsigned resident(struct mmt_function *function)
{
    return 3;
}

/* ---- opening --------------------------------------------------------------------- */

mmt_device *emulate_open(int sm, mmt_error *err)
{
    mmt_device *device = mmt_device_open("null", err);

    if (!device)
        return NULL;
    backend = mmt_backend_null;
    backend.name = "emulated";
    backend.compiler_key = compiler_key;
    backend.compile = compile;
    backend.module_load = module_load;
    backend.module_free = module_free;
    backend.function_create = function_create;
    backend.function_free = function_free;
    backend.function_usage = function_usage;
    backend.launch = launch;
    backend.resident = resident;
    backend.buffer_wrap = buffer_wrap;
    backend.buffer_free = buffer_free;
    device->backend = &backend;
    snprintf(device->caps.backend, sizeof(device->caps.backend), "%s", backend.name);
    device->caps.sm = sm;
    device->caps.sms =
        3; /* so that persistent blocks have several tiles of small products */
    device->caps.shared = (sm < 80 ? 64 : sm == 80 || sm == 90 ? 163 : 99) * 1024;
    device->caps.shared_per_sm = device->caps.shared + (sm < 80 ? 0 : 1024);
    snprintf(device->caps.architecture, sizeof(device->caps.architecture), "sm_%d", sm);
    snprintf(device->caps.name, sizeof(device->caps.name), "Emulated sm_%d", sm);
    snprintf(device->id, sizeof(device->id), "emulated:sm_%d", sm);
    snprintf(device->title, sizeof(device->title), "%s (%s)", device->caps.name,
             device->id);
    return device;
}

void emulate_widen(mmt_device *device, unsigned sms)
{
    device->caps.sms = sms;
}
