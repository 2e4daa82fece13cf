/* What an OpenCL device can do. */
#include "device/cards.h"
#include "device/opencl_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sources --------------------------------------------------------------------- */

static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool space = *from == ' ' || (*from >= '\t' && *from <= '\r');
        if (!space)
            *to++ = *from;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
}

/* Both sources are malloc'ed, and NULL where they cannot be had. */
static char *device_text(cl_device_id id, cl_device_info what)
{
    size_t size = 0;
    if (clGetDeviceInfo(id, what, 0, NULL, &size) || !size)
        return NULL;
    char *text = calloc(1, size + 1);
    if (text && clGetDeviceInfo(id, what, size, text, NULL))
        text[0] = '\0';
    return text;
}

static char *platform_text(cl_platform_id platform, cl_platform_info what)
{
    size_t size = 0;
    if (clGetPlatformInfo(platform, what, 0, NULL, &size) || !size)
        return NULL;
    char *text = calloc(1, size + 1);
    if (text && clGetPlatformInfo(platform, what, size, text, NULL))
        text[0] = '\0';
    return text;
}

static void move_text(char *text, char *out, size_t size)
{
    out[0] = '\0';
    if (!text)
        return;
    squeeze(text);
    size_t length = strlen(text);
    if (length >= size)
        length = size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    free(text);
}

void mmt_opencl_device_text(cl_device_id id, cl_device_info what, char *out, size_t size)
{
    move_text(device_text(id, what), out, size);
}

void mmt_opencl_platform_text(cl_platform_id platform, cl_platform_info what, char *out,
                              size_t size)
{
    move_text(platform_text(platform, what), out, size);
}

static cl_platform_id platform_of(cl_device_id id)
{
    cl_platform_id platform = NULL;
    clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

/* Versions read "OpenCL 3.0 vendor's own words". */
static const char *vendor_words(const char *version)
{
    const char *words = strncmp(version, "OpenCL ", 7) ? NULL : strchr(version + 7, ' ');
    return words ? words + 1 : version;
}

/* The vendor's words up to the first comma, behind which PoCL lists how it was built; the
 * platform's name where there are none. */
static void name_compiler(cl_device_id id, struct mmt_caps *caps)
{
    char version[256];
    mmt_opencl_platform_text(platform_of(id), CL_PLATFORM_VERSION, version,
                             sizeof(version));
    if (vendor_words(version) == version)
        mmt_opencl_platform_text(platform_of(id), CL_PLATFORM_NAME, version,
                                 sizeof(version));
    version[strcspn(version, ",")] = '\0';
    snprintf(caps->compiler, sizeof(caps->compiler), "%.32s, driver %.22s",
             vendor_words(version), caps->driver);
}

static void name_architecture(cl_device_id id, struct mmt_caps *caps)
{
    char version[256];
    mmt_opencl_device_text(id, CL_DEVICE_VERSION, version, sizeof(version));
    bool fits = strlen(version) < sizeof(caps->architecture);
    snprintf(caps->architecture, sizeof(caps->architecture), "%.63s",
             fits ? version : vendor_words(version));
}

/* Platforms add options of the environment to those that a program gives. */
static void add_environment(struct mmt_text *key)
{
    static const char *const variables[] = {
        "AMD_OCL_BUILD_OPTIONS",      "AMD_OCL_BUILD_OPTIONS_APPEND",
        "CLOVER_EXTRA_BUILD_OPTIONS", "OCLGRIND_BUILD_OPTIONS",
        "POCL_EXTRA_BUILD_FLAGS",
    };
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *options = secure_getenv(variables[i]);
        if (options && *options)
            mmt_text_addf(key, "%s=%s\n", variables[i], options);
    }
}

void mmt_opencl_add_key(cl_device_id id, struct mmt_text *key)
{
    static const cl_platform_info of_platform[] = { CL_PLATFORM_NAME,
                                                    CL_PLATFORM_VERSION };
    static const cl_device_info of_device[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR,
                                                CL_DEVICE_VERSION, CL_DRIVER_VERSION };
    char text[512];
    for (size_t i = 0; i < sizeof(of_platform) / sizeof(of_platform[0]); i++) {
        mmt_opencl_platform_text(platform_of(id), of_platform[i], text, sizeof(text));
        mmt_text_addf(key, "%s\n", text);
    }
    for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
        mmt_opencl_device_text(id, of_device[i], text, sizeof(text));
        mmt_text_addf(key, "%s\n", text);
    }
    add_environment(key);
}

/* ---- figures --------------------------------------------------------------------- */

static unsigned get_uint(cl_device_id id, cl_device_info what)
{
    cl_uint value = 0;
    return clGetDeviceInfo(id, what, sizeof(value), &value, NULL) ? 0 : value;
}

static size_t get_ulong(cl_device_id id, cl_device_info what)
{
    cl_ulong value = 0;
    return clGetDeviceInfo(id, what, sizeof(value), &value, NULL) ? 0 : value;
}

static size_t get_size(cl_device_id id, cl_device_info what)
{
    size_t value = 0;
    return clGetDeviceInfo(id, what, sizeof(value), &value, NULL) ? 0 : value;
}

static bool has_extension(cl_device_id id, const char *name)
{
    char *all = device_text(id, CL_DEVICE_EXTENSIONS);
    bool found = false;
    char *rest = all;
    for (char *word; all && (word = strtok_r(rest, " ", &rest));)
        found = found || !strcmp(word, name);
    free(all);
    return found;
}

static bool has_f64(cl_device_id id)
{
    return get_ulong(id, CL_DEVICE_DOUBLE_FP_CONFIG) || has_extension(id, "cl_khr_fp64");
}

static void fill_block(cl_device_id id, struct mmt_caps *caps)
{
    caps->max_threads = (unsigned) get_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    size_t sizes[16] = { 0 };
    unsigned dimensions = get_uint(id, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS);
    if (dimensions <= 16)
        clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, dimensions * sizeof(size_t),
                        sizes, NULL);
    for (int i = 0; i < 3; i++) {
        caps->max_block[i] = sizes[i] > UINT_MAX ? UINT_MAX : (unsigned) sizes[i];
        caps->max_grid[i] = INT_MAX;
    }
}

/* The driver divides a multiprocessor's memory between L1 and shared memory so that one
 * large block fits, with what it reserves of each block. */
static void fill_nvidia(cl_device_id id, struct mmt_caps *caps)
{
    enum { RESERVED = 1024 };
    caps->warp = get_uint(id, CL_DEVICE_WARP_SIZE_NV);
    caps->registers = get_uint(id, CL_DEVICE_REGISTERS_PER_BLOCK_NV);
    caps->sm = (int) (10 * get_uint(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) +
                      get_uint(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
    const struct mmt_card *card = mmt_find_card(caps->sm);
    caps->registers_per_thread = mmt_registers_per_thread(caps->sm);
    caps->registers_per_sm = caps->registers;
    caps->shared_per_sm = caps->shared + RESERVED;
    caps->threads_per_sm = card->threads_per_sm;
    caps->blocks_per_sm = card->blocks_per_sm;
}

static void fill_by_kind(cl_device_id id, struct mmt_caps *caps)
{
    cl_device_type type = get_ulong(id, CL_DEVICE_TYPE);
    caps->kind =
        type & CL_DEVICE_TYPE_GPU || !(type & CL_DEVICE_TYPE_CPU) ? MMT_GPU : MMT_CPU;
    if (caps->kind == MMT_CPU) {
        caps->warp = 1;
        caps->vector_bytes = 4 * get_uint(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    } else if (has_extension(id, "cl_nv_device_attribute_query")) {
        fill_nvidia(id, caps);
    } else if (has_extension(id, "cl_amd_device_attribute_query")) {
        caps->warp = get_uint(id, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
    }
}

/* Of the versions that a device must take, the first one that names integer dot products.
 * Intel's compiler has headers of it that want images (ocloc 22.43, pvc). */
static bool takes_opencl_c_3(cl_device_id id)
{
    char version[64];
    mmt_opencl_device_text(id, CL_DEVICE_VERSION, version, sizeof(version));
    return !strncmp(version, "OpenCL 3", 8) && get_uint(id, CL_DEVICE_IMAGE_SUPPORT) &&
           has_extension(id, "cl_khr_integer_dot_product");
}

void mmt_opencl_add_options(cl_device_id id, const struct mmt_caps *caps,
                            struct mmt_text *options)
{
    mmt_text_addf(options, "-cl-std=%s", takes_opencl_c_3(id) ? "CL3.0" : "CL1.2");
    if (caps->sm)
        mmt_text_addf(options, " -D__CUDA_ARCH__=%d0", caps->sm);
}

/* Those that a kernel may ask for. */
static unsigned required_subgroups(cl_device_id id)
{
    size_t sizes[16] = { 0 };
    unsigned all = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof(sizes), sizes, NULL))
        return 0;
    for (int i = 0; i < 16; i++)
        if (sizes[i] && !(sizes[i] & (sizes[i] - 1)))
            all |= (unsigned) sizes[i];
    return all;
}

/* NVIDIA's compiler takes the instruction in PTX. Where no kernel may ask for a size, it
 * must be the device's only one. */
static unsigned find_subgroups(cl_device_id id, const struct mmt_caps *caps)
{
    if (caps->sm)
        return caps->warp;
    if (!has_extension(id, "cl_khr_subgroup_shuffle") &&
        !has_extension(id, "cl_intel_subgroups"))
        return 0;
    if (has_extension(id, "cl_intel_required_subgroup_size"))
        return required_subgroups(id);
    return has_extension(id, "cl_amd_device_attribute_query") ? caps->warp : 0;
}

void mmt_opencl_caps(cl_device_id id, struct mmt_caps *caps)
{
    *caps = (struct mmt_caps){ .backend = "opencl", .dialect = MMT_OPENCL_C };
    mmt_opencl_device_text(id, CL_DEVICE_NAME, caps->name, sizeof(caps->name));
    mmt_opencl_device_text(id, CL_DEVICE_VENDOR, caps->vendor, sizeof(caps->vendor));
    mmt_opencl_device_text(id, CL_DRIVER_VERSION, caps->driver, sizeof(caps->driver));
    name_architecture(id, caps);
    name_compiler(id, caps);
    fill_block(id, caps);
    caps->shared = get_ulong(id, CL_DEVICE_LOCAL_MEM_SIZE);
    fill_by_kind(id, caps);
    caps->subgroups = find_subgroups(id, caps);
    if (has_extension(id, "cl_intel_subgroup_matrix_multiply_accumulate"))
        caps->dpas = caps->subgroups & -caps->subgroups; /* the least of them */
    caps->f64 = has_f64(id);
    caps->sms = get_uint(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    caps->cache = get_ulong(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    caps->memory = get_ulong(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    caps->max_buffer = get_ulong(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    caps->clock_khz = 1000 * get_uint(id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    caps->buffer_align = get_uint(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    mmt_caps_make_plain(caps);
}
