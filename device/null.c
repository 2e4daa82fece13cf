/* A device in host memory that executes nothing. "null:sm_90" compiles what a CUDA device
 * of that architecture would run, and reads what the compiler spent from the cubin;
 * "null:compute_90" makes PTX, which newer ones run, too; plain "null" has no compiler,
 * and a text is its own binary. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/cards.h"
#include "device/cubin.h"
#include "device/nvrtc.h"

struct null_device {
    struct mmt_device base;
    struct mmt_nvrtc *nvrtc; /* NULL: no compiler */
    atomic_ullong launches;
};

struct null_module {
    struct mmt_module base;
    size_t size;
    char binary[]; /* terminated, for it may be a text */
};

struct null_function {
    struct mmt_function base;
    struct mmt_usage usage;
};

struct null_mark {
    struct mmt_mark base;
    double at; /* of mmt_now() */
};

/* ---- what cards of an architecture are like -------------------------------------- */

enum { KIB = 1024, WARP = 32, BUFFER_ALIGN = 256, PLAIN_CARD = 75 };

static void fill_caps(struct mmt_caps *caps, int sm, const struct mmt_nvrtc *nvrtc)
{
    const struct mmt_card *card = mmt_find_card(sm);
    *caps = (struct mmt_caps){
        .backend = "null",
        .vendor = "none",
        .driver = "none",
        .dialect = MMT_CUDA_CXX,
        .kind = MMT_GPU,
        .sm = sm,
        .f64 = true,
        .max_threads = 1024,
        .max_block = { 1024, 1024, 64 },
        .max_grid = { 2147483647, 65535, 65535 },
        .shared = (size_t) card->shared * KIB,
        .shared_per_sm = (size_t) card->shared_per_sm * KIB,
        .registers = 65536,
        .registers_per_thread = mmt_registers_per_thread(sm),
        .registers_per_sm = 65536,
        .threads_per_sm = card->threads_per_sm,
        .blocks_per_sm = card->blocks_per_sm,
        .sms = card->sms,
        .warp = WARP,
        .subgroups = WARP,
        .cache = (size_t) card->cache * KIB,
        .memory = (size_t) card->memory * KIB * KIB * KIB,
        .clock_khz = card->clock * 1000,
        .buffer_align = BUFFER_ALIGN,
    };
    const char *architecture = nvrtc ? nvrtc->architecture : "none";
    snprintf(caps->architecture, sizeof(caps->architecture), "%s", architecture);
    snprintf(caps->compiler, sizeof(caps->compiler), "%s", nvrtc ? nvrtc->name : "none");
    if (nvrtc)
        snprintf(caps->name, sizeof(caps->name), "Null device as %s", architecture);
    else
        snprintf(caps->name, sizeof(caps->name), "Null device");
}

/* ---- opening --------------------------------------------------------------------- */

static mmt_status null_list(struct mmt_device_info **list, size_t *count,
                            struct mmt_text *notes, mmt_error *err)
{
    return MMT_OK; /* no device of the machine */
}

/* 90 from "sm_90", "sm_90a" or "compute_90", which asks for PTX; -1 from anything else.
 */
static int parse_architecture(const char *which, bool *ptx)
{
    int sm = -1, length = 0;
    *ptx = sscanf(which, "sm_%d%n", &sm, &length) < 1 &&
           sscanf(which, "compute_%d%n", &sm, &length) == 1;
    if (length && !strcmp(which + length, "a"))
        length++;
    return length && !which[length] && sm >= mmt_find_card(0)->sm && sm < 1000 ? sm : -1;
}

static mmt_status null_open(const char *which, mmt_device **out, mmt_error *err)
{
    struct mmt_nvrtc *nvrtc = NULL;
    bool ptx = false;
    int sm = which[0] ? parse_architecture(which, &ptx) : PLAIN_CARD;
    if (sm < 0)
        return mmt_fail(
            err, MMT_ERROR_ARGUMENT,
            "null:%s names no architecture; right would be null:sm_90, or null "
            "alone for a device that compiles nothing",
            which);
    if (which[0]) {
        mmt_status status = mmt_nvrtc_open(sm, ptx, &nvrtc, err);
        if (status != MMT_OK)
            return status;
    }
    struct null_device *device = calloc(1, sizeof(*device));
    if (!device) {
        mmt_nvrtc_close(nvrtc);
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a null device");
    }
    device->base.backend = &mmt_backend_null;
    device->nvrtc = nvrtc;
    fill_caps(&device->base.caps, sm, nvrtc);
    snprintf(device->base.id, sizeof(device->base.id), "null%s%s", nvrtc ? ":" : "",
             nvrtc ? nvrtc->architecture : "");
    snprintf(device->base.title, sizeof(device->base.title), "%s (%s)",
             device->base.caps.name, device->base.id);
    *out = &device->base;
    return MMT_OK;
}

static void null_close(mmt_device *base)
{
    struct null_device *device = (struct null_device *) base;
    mmt_nvrtc_close(device->nvrtc);
    free(device);
}

/* ---- memory: the host's ---------------------------------------------------------- */

static void *address(mmt_operand buffer)
{
    return (char *) (uintptr_t) buffer.handle + buffer.offset;
}

static mmt_status null_buffer_create(mmt_device *device, size_t bytes, mmt_operand *out,
                                     mmt_error *err)
{
    void *memory = NULL;
    if (posix_memalign(&memory, BUFFER_ALIGN, bytes))
        return mmt_fail(err, MMT_ERROR_MEMORY, "the host has no memory for %zu bytes",
                        bytes);
    *out = (mmt_operand){ (uint64_t) (uintptr_t) memory, 0 };
    return MMT_OK;
}

static void null_buffer_free(mmt_device *device, mmt_operand buffer)
{
    free((void *) (uintptr_t) buffer.handle);
}

static mmt_status null_buffer_write(mmt_device *device, mmt_operand to, const void *from,
                                    size_t bytes, mmt_error *err)
{
    memcpy(address(to), from, bytes);
    return MMT_OK;
}

static mmt_status null_buffer_read(mmt_device *device, void *to, mmt_operand from,
                                   size_t bytes, mmt_error *err)
{
    memcpy(to, address(from), bytes);
    return MMT_OK;
}

static mmt_status null_matrix_write(mmt_device *device, mmt_operand to, const void *from,
                                    const struct mmt_pitched *rows, mmt_error *err)
{
    for (size_t i = 0; i < rows->count; i++)
        memcpy((char *) address(to) + i * rows->device_step,
               (const char *) from + i * rows->host_step, rows->bytes);
    return MMT_OK;
}

static mmt_status null_matrix_read(mmt_device *device, void *to, mmt_operand from,
                                   const struct mmt_pitched *rows, mmt_error *err)
{
    for (size_t i = 0; i < rows->count; i++)
        memcpy((char *) to + i * rows->host_step,
               (const char *) address(from) + i * rows->device_step, rows->bytes);
    return MMT_OK;
}

static mmt_status null_finish(mmt_device *device, mmt_queue queue, mmt_error *err)
{
    return MMT_OK;
}

/* ---- building -------------------------------------------------------------------- */

static void null_compiler_key(const mmt_device *device, struct mmt_text *key)
{
    const struct mmt_nvrtc *nvrtc = ((const struct null_device *) device)->nvrtc;
    if (nvrtc)
        mmt_nvrtc_key(nvrtc, key);
    else
        mmt_text_add(key, "cuda c++, text");
}

static mmt_status null_compile(mmt_device *device, const char *source,
                               struct mmt_binary *binary, mmt_error *err)
{
    const struct mmt_nvrtc *nvrtc = ((struct null_device *) device)->nvrtc;
    if (nvrtc)
        return mmt_nvrtc_compile(nvrtc, source, binary, err);
    binary->size = strlen(source) + 1;
    binary->data = malloc(binary->size);
    if (!binary->data)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a text of %zu bytes",
                        binary->size);
    memcpy(binary->data, source, binary->size);
    return MMT_OK;
}

static mmt_status null_module_load(mmt_device *device, const struct mmt_binary *binary,
                                   struct mmt_module **out, mmt_error *err)
{
    struct null_module *module = malloc(sizeof(*module) + binary->size + 1);
    if (!module)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a module of %zu bytes",
                        binary->size);
    module->base = (struct mmt_module){ .device = device };
    module->size = binary->size;
    memcpy(module->binary, binary->data, binary->size);
    module->binary[binary->size] = 0;
    *out = &module->base;
    return MMT_OK;
}

static void null_module_free(struct mmt_module *module)
{
    free(module);
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Whether a text, PTX or source, has that name as a word. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool begins = at == text || !is_name_character(at[-1]);
        if (begins && !is_name_character(at[length]))
            return true;
    }
    return false;
}

static bool read_usage(const struct null_module *module, const char *entry,
                       struct mmt_usage *out)
{
    if (mmt_cubin_is(module->binary, module->size))
        return mmt_cubin_usage(module->binary, module->size, entry, out);
    *out = (struct mmt_usage){ -1, -1, -1, -1 };
    return has_word(module->binary, entry);
}

static mmt_status null_function_create(struct mmt_module *module, const char *entry,
                                       const unsigned block[3], size_t shared,
                                       struct mmt_function **out, mmt_error *err)
{
    struct mmt_usage usage;
    if (!read_usage((struct null_module *) module, entry, &usage))
        return mmt_fail(err, MMT_ERROR_NOT_FOUND, "the binary has no kernel %s", entry);
    struct null_function *function = calloc(1, sizeof(*function));
    if (!function)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for the kernel %s", entry);
    function->base =
        (struct mmt_function){ module->device, { block[0], block[1], block[2] }, shared };
    function->usage = usage;
    *out = &function->base;
    return MMT_OK;
}

static void null_function_free(struct mmt_function *function)
{
    free(function);
}

static mmt_status null_function_usage(struct mmt_function *function,
                                      struct mmt_usage *out, mmt_error *err)
{
    *out = ((struct null_function *) function)->usage;
    return MMT_OK;
}

/* ---- launching and timing -------------------------------------------------------- */

static mmt_status null_launch(struct mmt_function *function, const unsigned grid[3],
                              const struct mmt_value *values, int num_values,
                              unsigned order, mmt_queue queue, struct mmt_events *events,
                              mmt_error *err)
{
    struct null_device *device = (struct null_device *) function->device;
    atomic_fetch_add_explicit(&device->launches, 1, memory_order_relaxed);
    return MMT_OK;
}

unsigned long long mmt_null_launches(const mmt_device *device)
{
    if (device->backend != &mmt_backend_null)
        return 0;
    return atomic_load(&((struct null_device *) device)->launches);
}

static mmt_status null_mark_create(mmt_device *device, struct mmt_mark **out,
                                   mmt_error *err)
{
    struct null_mark *mark = calloc(1, sizeof(*mark));
    if (!mark)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a mark");
    mark->base.device = device;
    *out = &mark->base;
    return MMT_OK;
}

static void null_mark_free(struct mmt_mark *mark)
{
    free(mark);
}

static mmt_status null_mark_record(struct mmt_mark *mark, mmt_queue queue, mmt_error *err)
{
    ((struct null_mark *) mark)->at = mmt_now();
    return MMT_OK;
}

static mmt_status null_mark_seconds(struct mmt_mark *from, struct mmt_mark *to,
                                    double *seconds, mmt_error *err)
{
    *seconds = ((struct null_mark *) to)->at - ((struct null_mark *) from)->at;
    return MMT_OK;
}

/* Any address that is not NULL: queues hold nothing. */
static mmt_status null_queue_create(mmt_device *device, mmt_queue *out, mmt_error *err)
{
    *out = (mmt_queue) device;
    return MMT_OK;
}

static void null_queue_free(mmt_device *device, mmt_queue queue) {}

static mmt_status null_tensor_map_encode(mmt_device *device,
                                         const struct mmt_tensor *tensor,
                                         struct mmt_tensor_map *out, mmt_error *err)
{
    *out = (struct mmt_tensor_map){ 0 };
    return MMT_OK;
}

const struct mmt_backend mmt_backend_null = {
    .name = "null",
    .list = null_list,
    .open = null_open,
    .close = null_close,
    .buffer_create = null_buffer_create,
    .buffer_free = null_buffer_free,
    .buffer_write = null_buffer_write,
    .buffer_read = null_buffer_read,
    .matrix_write = null_matrix_write,
    .matrix_read = null_matrix_read,
    .finish = null_finish,
    .compiler_key = null_compiler_key,
    .compile = null_compile,
    .module_load = null_module_load,
    .module_free = null_module_free,
    .function_create = null_function_create,
    .function_free = null_function_free,
    .function_usage = null_function_usage,
    .launch = null_launch,
    .mark_create = null_mark_create,
    .mark_free = null_mark_free,
    .mark_record = null_mark_record,
    .mark_seconds = null_mark_seconds,
    .queue_create = null_queue_create,
    .queue_free = null_queue_free,
    .tensor_map_encode = null_tensor_map_encode,
};
