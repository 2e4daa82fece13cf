/* Finds the NVRTC that suits the driver, and compiles a source to a cubin or PTX. It
 * caches nothing. */
#include "device/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/place.h"
#include "device/cuda_api.h"
#include "device/library.h"

struct mmt_nvrtc_functions {
#define FN(name)       __typeof__(name) *name;
#define OPTIONAL(name) __typeof__(name) *name;
#include "device/nvrtc.fn"
#undef FN
#undef OPTIONAL
};

static const struct mmt_symbol symbols[] = {
#define FN(name)       { #name, offsetof(struct mmt_nvrtc_functions, name), false },
#define OPTIONAL(name) { #name, offsetof(struct mmt_nvrtc_functions, name), true },
#include "device/nvrtc.fn"
#undef FN
#undef OPTIONAL
};

enum { NUM_SYMBOLS = sizeof(symbols) / sizeof(symbols[0]), MAX_ARCHS = 64 };

static const char *const sonames[] = {
    "libnvrtc.so.13",   "libnvrtc.so.12",   "libnvrtc.so.11.2", "libnvrtc.so.11.1",
    "libnvrtc.so.11.0", "libnvrtc.so.10.2", "libnvrtc.so.10.1", "libnvrtc.so.10.0",
};

/* ---- what a compiler can do ------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    return *(const int *) a - *(const int *) b;
}

/* Versions before 11.2 do not tell what they compile for. */
static int archs_by_version(int version, int archs[MAX_ARCHS])
{
    static const int known[] = { 30, 32, 35, 37, 50, 52, 53, 60,
                                 61, 62, 70, 72, 75, 80, 86 };
    int lowest = version >= 11000 ? 35 : 30;
    int highest = version >= 11010 ? 86 : version >= 11000 ? 80 : 75;
    int count = 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i] >= lowest && known[i] <= highest)
            archs[count++] = known[i];
    }
    return count;
}

/* What it compiles for, in ascending order. */
static int supported_archs(const struct mmt_nvrtc *nvrtc, int archs[MAX_ARCHS])
{
    const struct mmt_nvrtc_functions *fn = nvrtc->functions;
    int count = 0;
    if (!fn->nvrtcGetNumSupportedArchs || !fn->nvrtcGetSupportedArchs)
        return archs_by_version(nvrtc->version, archs);
    if (fn->nvrtcGetNumSupportedArchs(&count) || count < 1 || count > MAX_ARCHS)
        return archs_by_version(nvrtc->version, archs);
    if (fn->nvrtcGetSupportedArchs(archs))
        return archs_by_version(nvrtc->version, archs);
    qsort(archs, (size_t) count, sizeof(archs[0]), compare);
    return count;
}

/* The disk cache of versions from 13 on would swallow the log, where ptxas tells of
 * spills; there is a cache of our own. */
static void choose_options(struct mmt_nvrtc *nvrtc)
{
    snprintf(nvrtc->options[0], sizeof(nvrtc->options[0]), "--gpu-architecture=%s",
             nvrtc->architecture);
    snprintf(nvrtc->options[1], sizeof(nvrtc->options[1]), "-std=c++%d",
             nvrtc->version >= 11000 ? 17 : 14);
    nvrtc->num_options = 2;
    if (nvrtc->cubin)
        snprintf(nvrtc->options[nvrtc->num_options++], sizeof(nvrtc->options[0]),
                 "--ptxas-options=-v");
    if (nvrtc->version >= 13000)
        snprintf(nvrtc->options[nvrtc->num_options++], sizeof(nvrtc->options[0]),
                 "--no-cache");
}

/* From compute capability 9.0 on, the instructions of the tensor cores stand in targets
 * of their own, such as sm_90a, which run on just that capability. */
static bool choose_target(struct mmt_nvrtc *nvrtc, int sm, bool ptx, char why[256])
{
    int archs[MAX_ARCHS], count = supported_archs(nvrtc, archs), best = 0;
    for (int i = 0; i < count && archs[i] <= sm; i++)
        best = archs[i];
    if (!best) {
        snprintf(why, 256, "%s compiles for sm_%d and newer, but the device is sm_%d",
                 nvrtc->name, archs[0], sm);
        return false;
    }
    nvrtc->cubin = !ptx && best == sm && nvrtc->functions->nvrtcGetCUBIN &&
                   nvrtc->functions->nvrtcGetCUBINSize;
    snprintf(nvrtc->architecture, sizeof(nvrtc->architecture), "%s_%d%s",
             nvrtc->cubin ? "sm" : "compute", best,
             nvrtc->cubin && best >= 90 && nvrtc->version >= 12000 ? "a" : "");
    choose_options(nvrtc);
    return true;
}

/* The CUDA version that the driver is for, 1000 * major + 10 * minor; 0: no driver here.
 */
static int driver_version(void)
{
    struct {
        int (*get)(int *);
    } driver;
    const struct mmt_symbol get = { "cuDriverGetVersion", 0, false };
    char why[256];
    int version = 0;
    if (!mmt_library_open("libcuda.so.1", &get, 1, &driver, why) || driver.get(&version))
        return 0;
    return version;
}

/* A driver loads what compilers of its own major version and older ones make. */
static bool suits_driver(const struct mmt_nvrtc *nvrtc, int driver, char why[256])
{
    if (!driver || nvrtc->version / 1000 <= driver / 1000)
        return true;
    snprintf(why, 256, "%s is newer than the driver, which is for CUDA %d.%d",
             nvrtc->name, driver / 1000, driver % 1000 / 10);
    return false;
}

/* ---- finding one ----------------------------------------------------------------- */

/* NVRTC looks for its second library where the loader looks, which is not always where
 * it stands itself: in a package of pip. What is open already it finds. */
static void open_builtins(const char *file, int major, int minor)
{
    struct mmt_text path = { 0 };
    char why[256];
    const char *name = strrchr(file, '/');
    if (name) {
        mmt_text_addf(&path, "%.*s/libnvrtc-builtins.so.%d.%d", (int) (name - file), file,
                      major, minor);
        mmt_library_open(mmt_text_string(&path), NULL, 0, NULL, why);
    }
    mmt_text_finish(&path);
}

static bool open_file(struct mmt_nvrtc *nvrtc, const char *file, char why[256])
{
    int major, minor;
    if (!mmt_library_open(file, symbols, NUM_SYMBOLS, nvrtc->functions, why))
        return false;
    if (nvrtc->functions->nvrtcVersion(&major, &minor)) {
        snprintf(why, 256, "%s does not tell its version", file);
        return false;
    }
    open_builtins(file, major, minor);
    nvrtc->version = 1000 * major + 10 * minor;
    snprintf(nvrtc->name, sizeof(nvrtc->name), "nvrtc %d.%d", major, minor);
    return true;
}

/* In the folders that MMT_NVRTC_BESIDE lists, below this library's prefix, with ':'
 * between: where pip puts nvidia-cuda-nvrtc beside a package. There are none outside a
 * wheel. */
static bool open_beside(struct mmt_nvrtc *nvrtc, const char *soname)
{
    struct mmt_text prefix = { 0 };
    bool opened = false;
    char path[4096], why[256];
    if (*MMT_NVRTC_BESIDE && mmt_place_prefix(&prefix))
        for (const char *list = MMT_NVRTC_BESIDE; *list && !opened;) {
            const int length = (int) strcspn(list, ":");
            snprintf(path, sizeof(path), "%s/%.*s/%s", mmt_text_string(&prefix), length,
                     list, soname);
            opened = open_file(nvrtc, path, why);
            list += length + (list[length] == ':');
        }
    mmt_text_finish(&prefix);
    return opened;
}

/* The loader's own folders, then the toolkit's, then those beside this library. */
static bool open_soname(struct mmt_nvrtc *nvrtc, const char *soname)
{
    const char *homes[] = { secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"),
                            "/usr/local/cuda" };
    char path[4096], why[256];
    if (open_file(nvrtc, soname, why))
        return true;
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        if (!homes[i])
            continue;
        snprintf(path, sizeof(path), "%s/lib64/%s", homes[i], soname);
        if (open_file(nvrtc, path, why))
            return true;
    }
    return open_beside(nvrtc, soname);
}

static mmt_status search(struct mmt_nvrtc *nvrtc, int sm, bool ptx, mmt_error *err)
{
    char why[256] = "", reason[256];
    int driver = driver_version();
    for (size_t i = 0; i < sizeof(sonames) / sizeof(sonames[0]); i++) {
        if (!open_soname(nvrtc, sonames[i]))
            continue;
        if (suits_driver(nvrtc, driver, reason) && choose_target(nvrtc, sm, ptx, reason))
            return MMT_OK;
        snprintf(why, sizeof(why), "%s", reason);
    }
    if (why[0])
        return mmt_fail(
            err, MMT_ERROR_UNSUPPORTED,
            "%s; install the NVRTC of another CUDA toolkit, or use this card's "
            "OpenCL device",
            why);
    return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                    "NVRTC, CUDA's run-time compiler, is not on this machine (%s down to "
                    "%s were looked for); install it, or name its file in MMTUNE_NVRTC",
                    sonames[0], sonames[sizeof(sonames) / sizeof(sonames[0]) - 1]);
}

static mmt_status open_named(struct mmt_nvrtc *nvrtc, const char *file, int sm, bool ptx,
                             mmt_error *err)
{
    char why[256];
    if (!open_file(nvrtc, file, why))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "MMTUNE_NVRTC should name NVRTC's library, but: %s", why);
    if (!choose_target(nvrtc, sm, ptx, why))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "MMTUNE_NVRTC names a compiler that cannot serve: %s", why);
    return MMT_OK;
}

mmt_status mmt_nvrtc_open(int sm, bool ptx, struct mmt_nvrtc **out, mmt_error *err)
{
    const char *named = secure_getenv("MMTUNE_NVRTC");
    struct mmt_nvrtc *nvrtc = calloc(1, sizeof(*nvrtc));
    mmt_status status;
    if (nvrtc)
        nvrtc->functions = calloc(1, sizeof(*nvrtc->functions));
    if (!nvrtc || !nvrtc->functions)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory while opening NVRTC");
    else if (named && named[0])
        status = open_named(nvrtc, named, sm, ptx, err);
    else
        status = search(nvrtc, sm, ptx, err);
    if (status != MMT_OK) {
        mmt_nvrtc_close(nvrtc);
        return status;
    }
    *out = nvrtc;
    return MMT_OK;
}

void mmt_nvrtc_close(struct mmt_nvrtc *nvrtc)
{
    if (!nvrtc)
        return;
    free(nvrtc->functions);
    free(nvrtc);
}

/* ---- compiling ------------------------------------------------------------------- */

/* NVRTC tells no more than "13.0", which all updates of that toolkit share. */
static void add_file(const struct mmt_nvrtc *nvrtc, struct mmt_text *key)
{
    void *function;
    Dl_info library;
    struct stat st;
    memcpy(&function, &nvrtc->functions->nvrtcVersion, sizeof(function));
    if (dladdr(function, &library) && !stat(library.dli_fname, &st))
        mmt_text_addf(key, " of %lld bytes and second %lld", (long long) st.st_size,
                      (long long) st.st_mtime);
}

void mmt_nvrtc_key(const struct mmt_nvrtc *nvrtc, struct mmt_text *key)
{
    mmt_text_addf(key, "cuda c++, %s", nvrtc->name);
    add_file(nvrtc, key);
    mmt_text_add(key, ",");
    for (int i = 0; i < nvrtc->num_options; i++)
        mmt_text_addf(key, " %s", nvrtc->options[i]);
}

static char *read_log(const struct mmt_nvrtc_functions *fn, nvrtcProgram program)
{
    size_t size = 0;
    char *log;
    if (fn->nvrtcGetProgramLogSize(program, &size) || size < 2)
        return NULL;
    log = calloc(1, size + 1);
    if (log && fn->nvrtcGetProgramLog(program, log)) {
        free(log);
        return NULL;
    }
    return log;
}

static mmt_status fail_nvrtc(const struct mmt_nvrtc *nvrtc, const char *what,
                             nvrtcResult result, mmt_error *err)
{
    return mmt_fail_native(err, MMT_ERROR_DEVICE, (int) result, "%s could not %s: %s",
                           nvrtc->name, what,
                           nvrtc->functions->nvrtcGetErrorString(result));
}

static mmt_status read_binary(const struct mmt_nvrtc *nvrtc, nvrtcProgram program,
                              struct mmt_binary *binary, mmt_error *err)
{
    const struct mmt_nvrtc_functions *fn = nvrtc->functions;
    size_t size = 0;
    nvrtcResult result = nvrtc->cubin ? fn->nvrtcGetCUBINSize(program, &size)
                                      : fn->nvrtcGetPTXSize(program, &size);
    if (result || size == 0)
        return fail_nvrtc(nvrtc, "give the size of what it compiled", result, err);
    char *data = malloc(size);
    if (!data)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory for a binary of %zu bytes",
                        size);
    result =
        nvrtc->cubin ? fn->nvrtcGetCUBIN(program, data) : fn->nvrtcGetPTX(program, data);
    if (result) {
        free(data);
        return fail_nvrtc(nvrtc, "give what it compiled", result, err);
    }
    binary->data = data;
    binary->size = size;
    return MMT_OK;
}

static mmt_status compile(const struct mmt_nvrtc *nvrtc, nvrtcProgram program,
                          struct mmt_binary *binary, mmt_error *err)
{
    const char *options[MMT_NVRTC_OPTIONS];
    for (int i = 0; i < nvrtc->num_options; i++)
        options[i] = nvrtc->options[i];
    nvrtcResult result =
        nvrtc->functions->nvrtcCompileProgram(program, nvrtc->num_options, options);
    binary->log = read_log(nvrtc->functions, program);
    if (result == NVRTC_SUCCESS)
        return read_binary(nvrtc, program, binary, err);
    if (result != NVRTC_ERROR_COMPILATION && !binary->log)
        return fail_nvrtc(nvrtc, "compile", result, err);
    return mmt_fail_native(err, MMT_ERROR_COMPILE, (int) result,
                           "the kernel does not compile for %s (%s):\n%s",
                           nvrtc->architecture, nvrtc->name,
                           binary->log ? binary->log : "");
}

mmt_status mmt_nvrtc_compile(const struct mmt_nvrtc *nvrtc, const char *source,
                             struct mmt_binary *binary, mmt_error *err)
{
    const struct mmt_nvrtc_functions *fn = nvrtc->functions;
    nvrtcProgram program;
    nvrtcResult result =
        fn->nvrtcCreateProgram(&program, source, "kernel.cu", 0, NULL, NULL);
    if (result)
        return fail_nvrtc(nvrtc, "take a text", result, err);
    mmt_status status = compile(nvrtc, program, binary, err);
    fn->nvrtcDestroyProgram(&program);
    return status;
}
