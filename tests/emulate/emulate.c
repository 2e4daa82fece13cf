#include "tests/emulate/emulate.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "device/device.h"
#include "tests/emulate/block.h"

struct emulated_module {
    struct mmt_module base;
    char *text;
};

struct emulated_function {
    struct mmt_function base;
    emulate_entry *entry;
    void *shared;
};

static struct mmt_backend backend;
static const char *plant_what, *plant_into;
static int planted;

void emulate_plant(const char *what, const char *into)
{
    plant_what = what, plant_into = into;
    planted = 0;
}

int emulate_planted(void)
{
    return planted;
}

/* ---- texts ----------------------------------------------------------------------- */

/* The text without the file of that name, which ends where another begins. */
static void add_without(struct mmt_text *to, const char *text, const char *file)
{
    char line[64];
    snprintf(line, sizeof(line), "#line 1 \"%s\"\n", file);
    const char *begin = strstr(text, line);
    const char *end = begin ? strstr(begin + 1, "#line 1 \"") : NULL;

    if (end) {
        mmt_text_addf(to, "%.*s#include \"emulate/%s\"\n", (int) (begin - text), text,
                      file);
        text = end;
    }
    mmt_text_add(to, text);
}

static void add_planted(struct mmt_text *to, const char *text)
{
    const char *at;
    while (plant_what && (at = strstr(text, plant_what))) {
        mmt_text_addf(to, "%.*s%s", (int) (at - text), text, plant_into);
        text = at + strlen(plant_what);
        planted++;
    }
    mmt_text_add(to, text);
}

/* What the host's compiler is given. */
static void change_text(const char *source, struct mmt_text *out)
{
    struct mmt_text one = { 0 }, both = { 0 };
    add_without(&one, source, "ptx.h");
    add_without(&both, mmt_text_string(&one), "hopper.h");
    add_planted(out, mmt_text_string(&both));
    mmt_text_finish(&one);
    mmt_text_finish(&both);
}

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

/* Libraries stay open, and are found again by their text, entry and architecture. */
struct library {
    struct mmt_hash hash;
    emulate_entry *entry;
    void *shared;
};

enum { MAX_LIBRARIES = 4096 };
static struct library libraries[MAX_LIBRARIES];
static int num_libraries;

static mmt_status run_compiler(const char *source, const char *library, const char *entry,
                               int sm, mmt_error *err)
{
    char define_entry[96], define_sm[48];
    char *const arguments[] = {
        MMT_HOST_CXX,
        "-std=c++17",
        "-O1",
        "-w",
        "-fPIC",
        "-shared",
        "-I",
        MMT_TESTS,
        "-include",
        "emulate/cuda.h",
        define_entry,
        define_sm,
        "-o",
        (char *) library,
        (char *) source,
        NULL,
    };
    pid_t child;
    int state;

    snprintf(define_entry, sizeof(define_entry), "-DEMULATED_ENTRY=%s", entry);
    snprintf(define_sm, sizeof(define_sm), "-D__CUDA_ARCH__=%d", 10 * sm);
    if (posix_spawnp(&child, MMT_HOST_CXX, NULL, NULL, arguments, environ) ||
        waitpid(child, &state, 0) != child || state)
        return mmt_fail(err, MMT_ERROR_COMPILE,
                        "%s does not build %s; its words are above", MMT_HOST_CXX,
                        source);
    return MMT_OK;
}

static mmt_status write_source(const char *path, const char *text, mmt_error *err)
{
    FILE *file = fopen(path, "w");
    bool good = file && fputs(text, file) >= 0 &&
                fputs("\nextern \"C\" void emulate_entry(void **args)\n"
                      "{ emulate_call(EMULATED_ENTRY, args); }\n",
                      file) >= 0;
    if (file && fclose(file))
        good = false;
    return good ? MMT_OK : mmt_fail(err, MMT_ERROR_IO, "%s cannot be written", path);
}

static mmt_status build(struct library *library, const char *text, const char *entry,
                        int sm, mmt_error *err)
{
    char folder[] = "/tmp/mmtune-emulate-XXXXXX", source[64], object[64];
    mmt_status status;

    if (!mkdtemp(folder))
        return mmt_fail(err, MMT_ERROR_IO, "%s cannot be made", folder);
    snprintf(source, sizeof(source), "%s/kernel.cc", folder);
    snprintf(object, sizeof(object), "%s/kernel.so", folder);
    status = write_source(source, text, err);
    if (!status)
        status = run_compiler(source, object, entry, sm, err);
    void *handle = status ? NULL : dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!status && !handle)
        status = mmt_fail(err, MMT_ERROR_COMPILE, "%s", dlerror());
    if (handle) {
        void *(*shared)(void) = (void *(*) (void) ) dlsym(handle, "emulate_shared");
        library->entry = (emulate_entry *) dlsym(handle, "emulate_entry");
        library->shared = shared();
    }
    unlink(source);
    unlink(object);
    rmdir(folder);
    return status;
}

static mmt_status find_library(const char *text, const char *entry, int sm,
                               struct library **out, mmt_error *err)
{
    struct mmt_hash hash = mmt_hash_start();
    int i = 0;

    hash = mmt_hash_add(hash, text, strlen(text));
    hash = mmt_hash_add(hash, entry, strlen(entry));
    hash = mmt_hash_add(hash, &sm, sizeof(sm));
    while (i < num_libraries && memcmp(&libraries[i].hash, &hash, sizeof(hash)))
        i++;
    *out = &libraries[i];
    if (i < num_libraries)
        return MMT_OK;
    if (i == MAX_LIBRARIES)
        return mmt_fail(err, MMT_ERROR_MEMORY, "more than %d kernels", MAX_LIBRARIES);
    libraries[i].hash = hash;
    mmt_status status = build(&libraries[i], text, entry, sm, err);
    num_libraries += status == MMT_OK;
    return status;
}

static mmt_status function_create(struct mmt_module *base, const char *entry,
                                  const unsigned block[3], size_t shared,
                                  struct mmt_function **out, mmt_error *err)
{
    struct emulated_module *module = (struct emulated_module *) base;
    struct emulated_function *function = calloc(1, sizeof(*function));
    struct mmt_text text = { 0 };
    struct library *library;

    if (!function)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    change_text(module->text, &text);
    mmt_status status =
        find_library(mmt_text_string(&text), entry, base->device->caps.sm, &library, err);
    mmt_text_finish(&text);
    if (status) {
        free(function);
        return status;
    }
    function->base =
        (struct mmt_function){ base->device, { block[0], block[1], block[2] }, shared };
    function->entry = library->entry;
    function->shared = library->shared;
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
                         const struct mmt_value *values, int num_values, bool after,
                         mmt_queue queue, mmt_error *err)
{
    const struct emulated_function *function = (struct emulated_function *) base;
    void *args[MMT_MAX_KERNEL_VALUES];

    for (int i = 0; i < num_values; i++)
        args[i] = (void *) &values[i].buffer;
    const struct emulate_launch all = {
        .entry = function->entry,
        .args = args,
        .shared = function->shared,
        .shared_bytes = base->shared,
        .grid = { grid[0], grid[1], grid[2] },
        .block = { base->block[0], base->block[1], base->block[2] },
    };
    const char *why = emulate_run(&all);
    return why ? mmt_fail(err, MMT_ERROR_DEVICE, "%s", why) : MMT_OK;
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
    device->backend = &backend;
    device->caps.sm = sm;
    device->caps.sms =
        3; /* so that blocks that stay have several tiles of small products */
    device->caps.shared = (sm < 80 ? 64 : sm == 80 || sm == 90 ? 163 : 99) * 1024;
    device->caps.shared_per_sm = device->caps.shared + (sm < 80 ? 0 : 1024);
    snprintf(device->caps.architecture, sizeof(device->caps.architecture), "sm_%d", sm);
    snprintf(device->caps.name, sizeof(device->caps.name), "Emulated sm_%d", sm);
    snprintf(device->id, sizeof(device->id), "emulated:sm_%d", sm);
    snprintf(device->title, sizeof(device->title), "%s (%s)", device->caps.name,
             device->id);
    return device;
}
