#include "tests/emulation/cuda/sources.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "tests/emulation/cuda/emulate.h"
#include "tests/emulation/emulated_with.h"

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

/* ---- sources ----------------------------------------------------------------------- */

/* The text without the file of that name, which ends where another begins. */
static void add_without(struct mmt_text *to, const char *text, const char *file)
{
    char line[64];
    snprintf(line, sizeof(line), "#line 1 \"%s\"\n", file);
    const char *begin = strstr(text, line);
    const char *end = begin ? strstr(begin + 1, "#line 1 \"") : NULL;

    if (end) {
        mmt_text_addf(to, "%.*s#include \"cuda/%s\"\n", (int) (begin - text), text, file);
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
    static const char *const ours[] = { "ptx.h", "hopper.h", "dpas.h",
                                        "prelude_opencl.h" };
    struct mmt_text text = { 0 };
    mmt_text_add(&text, source);
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        struct mmt_text changed = { 0 };
        add_without(&changed, mmt_text_string(&text), ours[i]);
        mmt_text_finish(&text);
        text = changed;
    }
    add_planted(out, mmt_text_string(&text));
    mmt_text_finish(&text);
}

/* ---- libraries ------------------------------------------------------------------- */

/* They stay open, and are found again by their text, entry and architecture. */
struct library {
    struct mmt_hash hash;
    struct emulate_kernel kernel;
};

enum { MAX_LIBRARIES = 4096 };
static struct library libraries[MAX_LIBRARIES];
static int num_libraries;

/* All that decides what is built of a text, but for what MMT_EMULATED_WITH says: the
 * compiler's version and the headers' texts. Optimised just so far that the sanitizer
 * knows the size of an array that a function was given; a process that loads libm and
 * block.c has all else. */
#define FLAGS                                                                            \
    "-std=c++17", "-Og", "-finline-functions-called-once", "-w",                         \
        "-fsanitize=alignment,bounds,object-size", "-fsanitize-undefined-trap-on-error", \
        "-fPIC", "-shared", "-nostdlib",                                                 \
        "-Wl,-Bsymbolic" /* its mmt_gemm is another one than libmmtune's */
static const char *const flags[] = { FLAGS };

static mmt_status run_compiler(const char *source, const char *library, const char *entry,
                               int sm, mmt_error *err)
{
    char define_entry[96], define_sm[48];
    char *const arguments[] = { MMT_HOST_CXX,     FLAGS,           "-I",
                                MMT_EMULATION,    "-include",      "cuda/cuda.h",
                                define_entry,     define_sm,       "-o",
                                (char *) library, (char *) source, NULL };
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

/* In a folder that only this process knows. */
static mmt_status build_object(const char *text, const char *folder, const char *object,
                               const char *entry, int sm, mmt_error *err)
{
    char source[4096];

    snprintf(source, sizeof(source), "%s/kernel.cc", folder);
    mmt_status status = write_source(source, text, err);
    if (!status)
        status = run_compiler(source, object, entry, sm, err);
    unlink(source);
    return status;
}

static mmt_status load_object(const char *object, struct emulate_kernel *out,
                              mmt_error *err)
{
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return mmt_fail(err, MMT_ERROR_COMPILE, "%s", dlerror());
    out->entry = (emulate_entry *) dlsym(handle, "emulate_entry");
    out->shared = (void *(*) (void) ) dlsym(handle, "emulate_shared");
    return MMT_OK;
}

/* Builds and loads it; `kept`, where it is not NULL, is where it stays then. Others find
 * it there whole or not at all. */
static mmt_status build(struct emulate_kernel *out, const char *text, const char *entry,
                        int sm, const char *place, const char *kept, mmt_error *err)
{
    char folder[4000], object[4096];

    snprintf(folder, sizeof(folder), "%s/mmtune-emulate-XXXXXX", place);
    if (!mkdtemp(folder))
        return mmt_fail(err, MMT_ERROR_IO, "%s cannot be made", folder);
    snprintf(object, sizeof(object), "%s/kernel.so", folder);
    mmt_status status = build_object(text, folder, object, entry, sm, err);
    if (!status)
        status = load_object(object, out, err);
    if (!status && kept && rename(object, kept))
        status = mmt_fail(err, MMT_ERROR_IO, "%s cannot be written", kept);
    unlink(object);
    rmdir(folder);
    return status;
}

/* Where the folder MMT_FAKE_OBJECTS is named, what was built before is there, and what is
 * built now stays, but for planted faults: who has the objects needs no compiler. */
static mmt_status find_or_build(struct library *library, const char *text,
                                const char *entry, int sm, mmt_error *err)
{
    const char *objects = plant_what ? NULL : getenv("MMT_FAKE_OBJECTS");
    char name[33], kept[4096];

    if (!objects)
        return build(&library->kernel, text, entry, sm, "/tmp", NULL, err);
    mmt_hash_print(library->hash, name);
    snprintf(kept, sizeof(kept), "%s/%s.so", objects, name);
    if (!access(kept, R_OK))
        return load_object(kept, &library->kernel, err);
    mkdir(objects, 0777);
    return build(&library->kernel, text, entry, sm, objects, kept, err);
}

static mmt_status find_library(const char *text, const char *entry, int sm,
                               struct emulate_kernel *out, mmt_error *err)
{
    struct mmt_hash hash = mmt_hash_start();
    int i = 0;

    hash = mmt_hash_add(hash, MMT_EMULATED_WITH, sizeof(MMT_EMULATED_WITH));
    for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++)
        hash = mmt_hash_add(hash, flags[f], strlen(flags[f]) + 1);
    hash = mmt_hash_add(hash, text, strlen(text));
    hash = mmt_hash_add(hash, entry, strlen(entry));
    hash = mmt_hash_add(hash, &sm, sizeof(sm));
    while (i < num_libraries && memcmp(&libraries[i].hash, &hash, sizeof(hash)))
        i++;
    if (i == MAX_LIBRARIES)
        return mmt_fail(err, MMT_ERROR_MEMORY, "more than %d kernels", MAX_LIBRARIES);
    libraries[i].hash = hash;
    mmt_status status =
        i < num_libraries ? MMT_OK : find_or_build(&libraries[i], text, entry, sm, err);
    num_libraries += status == MMT_OK && i == num_libraries;
    *out = libraries[i].kernel;
    return status;
}

mmt_status emulate_build(const char *source, const char *entry, int sm,
                         struct emulate_kernel *out, mmt_error *err)
{
    struct mmt_text text = { 0 };
    change_text(source, &text);
    mmt_status status = find_library(mmt_text_string(&text), entry, sm, out, err);
    mmt_text_finish(&text);
    return status;
}
