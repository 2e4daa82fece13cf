/* The OpenCL backend: finding, opening and closing devices, and its table. */
#include "device/opencl_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mmtune/opencl.h>

/* ---- finding --------------------------------------------------------------------- */

struct found {
    cl_device_id id;
    int rank;      /* GPUs, CPUs, the rest */
    char name[24]; /* "pocl-3f2a": behind the colon of its id */
};

struct finding {
    struct found *all;
    size_t count;
    struct mmt_text *notes; /* may be NULL */
};

static int rank_of(cl_device_id id)
{
    cl_device_type type = 0;
    clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
    return type & CL_DEVICE_TYPE_GPU ? 0 : type & CL_DEVICE_TYPE_CPU ? 1 : 2;
}

static bool flag(cl_device_id id, cl_device_info what)
{
    cl_bool value = CL_FALSE;
    return !clGetDeviceInfo(id, what, sizeof(value), &value, NULL) && value;
}

/* NULL for a device that can serve, else what it lacks. */
static const char *lack(cl_device_id id)
{
    char version[64];
    int major = 0, minor = 0;
    mmt_opencl_device_text(id, CL_DEVICE_VERSION, version, sizeof(version));
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || 10 * major + minor < 12)
        return "it is older than OpenCL 1.2";
    if (!flag(id, CL_DEVICE_AVAILABLE))
        return "its driver says that it is not available";
    if (!flag(id, CL_DEVICE_COMPILER_AVAILABLE))
        return "its driver has no compiler";
    return NULL;
}

static void note_device(struct finding *finding, cl_device_id id, const char *why)
{
    char name[128];
    mmt_opencl_device_text(id, CL_DEVICE_NAME, name, sizeof(name));
    if (finding->notes)
        mmt_text_addf(finding->notes, "The OpenCL device %s is left out: %s.\n", name,
                      why);
}

static void note_platform(struct finding *finding, cl_platform_id platform, cl_int code)
{
    char name[128];
    mmt_opencl_platform_text(platform, CL_PLATFORM_NAME, name, sizeof(name));
    if (finding->notes)
        mmt_text_addf(finding->notes,
                      "The OpenCL platform %s does not list its devices: %s (%d).\n",
                      name, mmt_opencl_error_name(code), code);
}

static mmt_status add_devices(struct finding *finding, const cl_device_id *ids,
                              cl_uint count, mmt_error *err)
{
    struct found *grown =
        realloc(finding->all, (finding->count + count) * sizeof(*grown));
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to list %u OpenCL devices",
                        count);
    finding->all = grown;
    for (cl_uint i = 0; i < count; i++) {
        const char *why = lack(ids[i]);
        if (why)
            note_device(finding, ids[i], why);
        else
            grown[finding->count++] = (struct found){ .id = ids[i], rank_of(ids[i]) };
    }
    return MMT_OK;
}

static mmt_status ask_platform(struct finding *finding, cl_platform_id platform,
                               mmt_error *err)
{
    cl_uint count = 0;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code && code != CL_DEVICE_NOT_FOUND)
        note_platform(finding, platform, code);
    if (code || !count)
        return MMT_OK;

    cl_device_id *ids = calloc(count, sizeof(*ids));
    if (!ids)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to list %u OpenCL devices",
                        count);
    mmt_status status = MMT_OK;
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    if (code)
        note_platform(finding, platform, code);
    else
        status = add_devices(finding, ids, count, err);
    free(ids);
    return status;
}

/* Stable, so that a rank keeps the order of platforms and devices. */
static void sort_by_rank(struct finding *finding)
{
    for (size_t i = 1; i < finding->count; i++) {
        struct found moving = finding->all[i];
        size_t at = i;
        for (; at && finding->all[at - 1].rank > moving.rank; at--)
            finding->all[at] = finding->all[at - 1];
        finding->all[at] = moving;
    }
}

/* Writes "pocl-3f2a": the platform's own suffix, and a hash of its name and the device's.
 * No other platform and no version of a driver changes it. */
static void name_device(cl_device_id id, char *out, size_t size)
{
    char suffix[16], platform[256], device[256];
    cl_platform_id of = NULL;
    clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(of), &of, NULL);
    mmt_opencl_platform_text(of, CL_PLATFORM_ICD_SUFFIX_KHR, suffix, sizeof(suffix));
    mmt_opencl_platform_text(of, CL_PLATFORM_NAME, platform, sizeof(platform));
    mmt_opencl_device_text(id, CL_DEVICE_NAME, device, sizeof(device));

    const char *from = suffix[0] ? suffix : platform;
    size_t length = 0;
    for (; mmt_text_is_alnum(from[length]) && length < 8; length++)
        out[length] = mmt_text_lower(from[length]);
    struct mmt_hash hash = mmt_hash_start();
    hash = mmt_hash_add(hash, platform, strlen(platform) + 1);
    hash = mmt_hash_add(hash, device, strlen(device));
    snprintf(out + length, size - length, "-%04hx", (unsigned short) hash.low);
}

static bool is_taken(const struct finding *finding, size_t before, const char *name)
{
    for (size_t i = 0; i < before; i++)
        if (!strcmp(finding->all[i].name, name))
            return true;
    return false;
}

/* Of devices that are alike, the second gets "-2" behind its name, and so on. */
static void name_all(struct finding *finding)
{
    for (size_t i = 0; i < finding->count; i++) {
        char *name = finding->all[i].name, plain[16];
        name_device(finding->all[i].id, plain, sizeof(plain));
        snprintf(name, sizeof(finding->all[i].name), "%s", plain);
        for (unsigned short alike = 2; is_taken(finding, i, name); alike++)
            snprintf(name, sizeof(finding->all[i].name), "%s-%hu", plain, alike);
    }
}

/* Every device that can serve, in the order of its number. finding->all is the caller's,
 * also on failure. */
static mmt_status find_devices(struct finding *finding, mmt_error *err)
{
    const char *missing = mmt_opencl_api_open();
    if (missing && finding->notes)
        mmt_text_addf(finding->notes, "no OpenCL devices: %s\n", missing);
    if (missing)
        return MMT_OK;
    cl_uint count = 0;
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || !count)
        return MMT_OK;
    if (code)
        return mmt_opencl_fail(err, code, "clGetPlatformIDs");

    cl_platform_id *platforms = calloc(count, sizeof(*platforms));
    if (!platforms)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to list %u OpenCL platforms",
                        count);
    mmt_status status = MMT_OK;
    code = clGetPlatformIDs(count, platforms, NULL);
    if (code)
        status = mmt_opencl_fail(err, code, "clGetPlatformIDs");
    for (cl_uint i = 0; !status && i < count; i++)
        status = ask_platform(finding, platforms[i], err);
    free(platforms);
    sort_by_rank(finding);
    name_all(finding);
    return status;
}

static mmt_status append(const struct finding *finding, struct mmt_device_info **list,
                         size_t *count, mmt_error *err)
{
    if (!finding->count)
        return MMT_OK;
    struct mmt_device_info *grown =
        realloc(*list, (*count + finding->count) * sizeof(*grown));
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to list %zu OpenCL devices",
                        finding->count);
    *list = grown;
    for (size_t i = 0; i < finding->count; i++) {
        struct mmt_device_info *info = &grown[*count];
        info->number = (int) (*count)++;
        snprintf(info->id, sizeof(info->id), "opencl:%s", finding->all[i].name);
        mmt_opencl_caps(finding->all[i].id, &info->caps);
    }
    return MMT_OK;
}

static mmt_status list(struct mmt_device_info **list, size_t *count,
                       struct mmt_text *notes, mmt_error *err)
{
    struct finding finding = { .notes = notes };
    mmt_status status = find_devices(&finding, err);
    if (!status)
        status = append(&finding, list, count, err);
    free(finding.all);
    return status;
}

/* ---- opening --------------------------------------------------------------------- */

static void close_device(mmt_device *base)
{
    struct opencl_device *device = mmt_opencl_of(base);
    if (device->queue)
        clReleaseCommandQueue(device->queue);
    if (device->context)
        clReleaseContext(device->context);
    mmt_text_finish(&device->key);
    free(device);
}

/* `name` is empty where the device has none, being a part of one, say. Takes over one
 * reference to the context, also on failure. */
static mmt_status make_device(cl_context context, cl_device_id id, const char *name,
                              mmt_device **out, mmt_error *err)
{
    struct opencl_device *device = calloc(1, sizeof(*device));
    if (!device) {
        clReleaseContext(context);
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for an OpenCL device");
    }
    struct mmt_device *base = &device->base;
    base->backend = &mmt_backend_opencl;
    device->context = context;
    device->id = id;
    mmt_opencl_caps(id, &base->caps);
    mmt_opencl_add_key(id, &device->key);
    snprintf(base->id, sizeof(base->id), "opencl%s%s", *name ? ":" : "", name);
    snprintf(base->title, sizeof(base->title), "%s (%s)", base->caps.name, base->id);

    cl_int code;
    device->queue = clCreateCommandQueue(context, id, 0, &code);
    if (device->queue && !device->key.failed) {
        *out = base;
        return MMT_OK;
    }
    close_device(base);
    return code ? mmt_opencl_fail(err, code, "clCreateCommandQueue")
                : mmt_fail(err, MMT_ERROR_MEMORY, "no memory for an OpenCL device");
}

static void list_names(const struct finding *finding, struct mmt_text *text)
{
    for (size_t i = 0; i < finding->count; i++)
        mmt_text_addf(text, "%sopencl:%s", i ? ", " : "", finding->all[i].name);
}

static mmt_status refuse_name(const struct finding *finding, const char *which,
                              mmt_error *err)
{
    const char *missing = mmt_opencl_api_open();
    if (missing)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND, "there is no opencl:%s: %s", which,
                        missing);
    if (!finding->count)
        return mmt_fail(err, MMT_ERROR_NOT_FOUND,
                        "there is no opencl:%s; no OpenCL platform of this machine has a "
                        "device that can serve",
                        which);
    struct mmt_text names = { 0 };
    list_names(finding, &names);
    mmt_status status = mmt_fail(
        err, MMT_ERROR_NOT_FOUND,
        "there is no opencl:%s; this machine has %zu OpenCL %s, numbered from 0: %s",
        which, finding->count, finding->count == 1 ? "device" : "devices",
        mmt_text_string(&names));
    mmt_text_finish(&names);
    return status;
}

/* By name, or by the place among the OpenCL devices; NULL where there is none. */
static const struct found *find_named(const struct finding *finding, const char *which)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(which, &end, 10);
    if (isdigit((unsigned char) *which) && !*end && !errno)
        return number < finding->count ? &finding->all[number] : NULL;
    for (size_t i = 0; i < finding->count; i++)
        if (!strcmp(finding->all[i].name, which))
            return &finding->all[i];
    return NULL;
}

static mmt_status open_found(const struct finding *finding, const char *which,
                             mmt_device **out, mmt_error *err)
{
    const struct found *found = find_named(finding, which);
    if (!found)
        return refuse_name(finding, which, err);
    cl_int code;
    cl_context context = clCreateContext(NULL, 1, &found->id, NULL, NULL, &code);
    if (!context)
        return mmt_opencl_fail(err, code, "clCreateContext");
    return make_device(context, found->id, found->name, out, err);
}

static mmt_status open_device(const char *which, mmt_device **out, mmt_error *err)
{
    if (!*which)
        return mmt_fail(
            err, MMT_ERROR_ARGUMENT,
            "opencl: names no device; a number or a name that `mmtune devices` lists "
            "must follow the colon, as in opencl:0");
    struct finding finding = { 0 };
    mmt_status status = find_devices(&finding, err);
    if (!status)
        status = open_found(&finding, which, out, err);
    free(finding.all);
    return status;
}

/* ---- a caller's own context ------------------------------------------------------ */

/* A context of sub-devices may say that it is their parent's. */
static bool is_part_of(cl_device_id id, cl_device_id whole)
{
    while (id && id != whole)
        if (clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof(id), &id, NULL))
            return false;
    return id != NULL;
}

static mmt_status check_context(cl_context context, cl_device_id id, mmt_error *err)
{
    size_t size = 0;
    cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (code)
        return mmt_opencl_fail(err, code, "clGetContextInfo");
    cl_device_id *ids = calloc(1, size + sizeof(*ids));
    if (!ids)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for the context's devices");
    code = clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL);
    bool found = false;
    for (size_t i = 0; !code && i < size / sizeof(*ids); i++)
        found = found || is_part_of(id, ids[i]);
    free(ids);
    if (code)
        return mmt_opencl_fail(err, code, "clGetContextInfo");
    if (!found)
        return mmt_fail(
            err, MMT_ERROR_ARGUMENT,
            "the device is none of the context's %zu; it must be one of those "
            "the context was made for",
            size / sizeof(*ids));
    const char *why = lack(id);
    return why ? mmt_fail(err, MMT_ERROR_UNSUPPORTED, "the device cannot serve: %s", why)
               : MMT_OK;
}

static void find_name(cl_device_id id, char name[24])
{
    struct finding finding = { 0 };
    find_devices(&finding, NULL);
    name[0] = '\0';
    for (size_t i = 0; i < finding.count; i++)
        if (finding.all[i].id == id)
            memcpy(name, finding.all[i].name, sizeof(finding.all[i].name));
    free(finding.all);
}

mmt_device *mmt_opencl_device(cl_context context, cl_device_id id, mmt_error *err)
{
    if (!context || !id) {
        mmt_fail(err, MMT_ERROR_ARGUMENT,
                 "the %s is NULL; it must be one of the caller's",
                 context ? "device" : "context");
        return NULL;
    }
    const char *missing = mmt_opencl_api_open();
    if (missing) {
        mmt_fail(err, MMT_ERROR_NOT_FOUND, "%s", missing);
        return NULL;
    }
    if (check_context(context, id, err))
        return NULL;
    cl_int code = clRetainContext(context);
    if (code) {
        mmt_opencl_fail(err, code, "clRetainContext");
        return NULL;
    }
    mmt_device *device = NULL;
    char name[24];
    find_name(id, name);
    make_device(context, id, name, &device, err);
    return device;
}

cl_device_id mmt_opencl_device_id(const mmt_device *device)
{
    bool ours = device && device->backend == &mmt_backend_opencl;
    return ours ? mmt_opencl_of(device)->id : NULL;
}

/* ---- the table ------------------------------------------------------------------- */

static void compiler_key(const mmt_device *device, struct mmt_text *key)
{
    mmt_text_addf(key, "opencl c\n%s", mmt_text_string(&mmt_opencl_of(device)->key));
    mmt_opencl_add_options(mmt_opencl_of(device)->id, &device->caps, key);
    mmt_text_add(key, "\n");
}

const struct mmt_backend mmt_backend_opencl = {
    .name = "opencl",
    .list = list,
    .open = open_device,
    .close = close_device,
    .buffer_create = mmt_opencl_buffer_create,
    .buffer_free = mmt_opencl_buffer_free,
    .buffer_wrap = mmt_opencl_buffer_wrap,
    .buffer_check = mmt_opencl_buffer_check,
    .buffer_write = mmt_opencl_buffer_write,
    .buffer_read = mmt_opencl_buffer_read,
    .matrix_write = mmt_opencl_matrix_write,
    .matrix_read = mmt_opencl_matrix_read,
    .finish = mmt_opencl_finish,
    .compiler_key = compiler_key,
    .compile = mmt_opencl_compile,
    .module_load = mmt_opencl_module_load,
    .module_free = mmt_opencl_module_free,
    .function_create = mmt_opencl_function_create,
    .function_free = mmt_opencl_function_free,
    .function_usage = mmt_opencl_function_usage,
    .launch = mmt_opencl_launch,
    .events_end = mmt_opencl_events_end,
    .mark_create = mmt_opencl_mark_create,
    .mark_free = mmt_opencl_mark_free,
    .mark_record = mmt_opencl_mark_record,
    .mark_seconds = mmt_opencl_mark_seconds,
    .queue_create = mmt_opencl_queue_create,
    .queue_free = mmt_opencl_queue_free,
};
