/* From text to binary and from binary to program. */
#include "device/opencl_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What we hand out as a binary is one of these tags and the rest: the platform's binary,
 * or the text for a platform that gives none. */
static const char binary_tag[] = "mmtune: OpenCL binary\n";
static const char source_tag[] = "mmtune: OpenCL source\n";
enum { TAG = sizeof(binary_tag) - 1 };
_Static_assert(sizeof(binary_tag) == sizeof(source_tag), "one place for the rest");

static mmt_status add_tag(const char *tag, const void *data, size_t size,
                          struct mmt_binary *binary, mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_text_add(&text, tag);
    mmt_text_add_bytes(&text, data, size);
    if (text.failed) {
        mmt_text_finish(&text);
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to keep a kernel of %zu bytes",
                        size);
    }
    binary->data = text.data;
    binary->size = text.length;
    return MMT_OK;
}

/* The data behind the tag, NULL where there is none. */
static const unsigned char *find_data(const struct mmt_binary *binary, bool *is_source,
                                      size_t *size)
{
    const unsigned char *data = binary->data;
    if (binary->size <= TAG)
        return NULL;
    *is_source = !memcmp(data, source_tag, TAG);
    *size = binary->size - TAG;
    return *is_source || !memcmp(data, binary_tag, TAG) ? data + TAG : NULL;
}

/* ---- a linker -------------------------------------------------------------------- */

/* PoCL links a kernel for a CPU at its first launch, by the program ld, and ends the
 * process where that fails. Version 7.1 is the first of which this is not known. */
static bool needs_linker(const struct opencl_device *device)
{
    const struct mmt_caps *caps = &device->base.caps;
    int major = 0, minor = 0;
    return caps->kind == MMT_CPU &&
           sscanf(caps->compiler, "PoCL %d.%d", &major, &minor) == 2 &&
           (major < 7 || (major == 7 && minor < 1));
}

/* ld, x86_64-linux-gnu-ld, ld.lld. */
static bool is_linker(const char *name)
{
    const size_t length = strlen(name);
    return !strcmp(name, "ld") || !strcmp(name, "ld.lld") ||
           (length > 3 && !strcmp(name + length - 3, "-ld"));
}

static bool folder_has_linker(const char *folder)
{
    DIR *entries = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));)
        found = is_linker(entry->d_name);
    if (entries)
        closedir(entries);
    return found;
}

static bool path_has_linker(void)
{
    const char *path = secure_getenv("PATH");
    char *copy = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin"), *rest = copy;
    bool found = !copy; /* without memory nothing is concluded */
    for (char *folder; rest && !found && (folder = strsep(&rest, ":"));)
        found = folder_has_linker(*folder ? folder : ".");
    free(copy);
    return found;
}

static mmt_status check_linker(const struct opencl_device *device, mmt_error *err)
{
    if (!needs_linker(device) || path_has_linker())
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_COMPILE,
                    "%s links kernels with the program ld, which no folder of PATH has; "
                    "the package binutils has it",
                    device->base.caps.compiler);
}

/* ---- compiling ------------------------------------------------------------------- */

/* Malloc'ed; NULL where there is nothing to read. */
static char *build_log(cl_program program, cl_device_id id)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || !size)
        return NULL;
    char *log = calloc(1, size + 1);
    if (log && clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL))
        log[0] = '\0';
    if (log && !log[strspn(log, " \t\r\n")]) {
        free(log);
        log = NULL;
    }
    return log;
}

static bool failed_to_compile(cl_int code)
{
    return code == CL_BUILD_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE ||
           code == CL_LINK_PROGRAM_FAILURE;
}

/* *log is malloc'ed and the caller's, NULL where the compiler said nothing. */
static mmt_status build(struct opencl_device *device, const char *source, size_t length,
                        cl_program *out, char **log, mmt_error *err)
{
    cl_int code;
    mmt_status status = check_linker(device, err);
    if (status)
        return status;
    cl_program program =
        clCreateProgramWithSource(device->context, 1, &source, &length, &code);
    if (!program)
        return mmt_opencl_fail(err, code, "clCreateProgramWithSource");
    struct mmt_text options = { 0 };
    mmt_opencl_add_options(device->id, &device->base.caps, &options);
    code = clBuildProgram(program, 1, &device->id, mmt_text_string(&options), NULL, NULL);
    mmt_text_finish(&options);
    *log = build_log(program, device->id);
    if (!code) {
        *out = program;
        return MMT_OK;
    }
    clReleaseProgram(program);
    if (!failed_to_compile(code))
        return mmt_opencl_fail(err, code, "clBuildProgram");
    return mmt_fail_native(err, MMT_ERROR_COMPILE, code, "%s does not compile it: %s",
                           device->base.caps.compiler,
                           *log ? *log : "the compiler does not say why");
}

/* Where our device stands among the program's, which are all of its context's. */
static cl_int place_of(cl_program program, cl_device_id id, size_t *count, size_t *place)
{
    size_t size = 0;
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_DEVICES, 0, NULL, &size);
    if (code)
        return code;
    cl_device_id *ids = calloc(1, size + sizeof(*ids));
    if (!ids)
        return CL_OUT_OF_HOST_MEMORY;
    code = clGetProgramInfo(program, CL_PROGRAM_DEVICES, size, ids, NULL);
    *count = size / sizeof(*ids);
    for (*place = 0; *place < *count && ids[*place] != id; ++*place)
        ;
    free(ids);
    return code ? code : *place < *count ? CL_SUCCESS : CL_INVALID_DEVICE;
}

/* Reads one device's binary; *data stays NULL where the platform gives none. */
static cl_int read_binary(cl_program program, size_t count, size_t place, void **data,
                          size_t *size)
{
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    size_t *sizes = calloc(count, sizeof(*sizes));
    unsigned char **parts = calloc(count, sizeof(*parts));
    if (!sizes || !parts)
        goto done;
    code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(*sizes),
                            sizes, NULL);
    if (code || !sizes[place])
        goto done;
    code = CL_OUT_OF_HOST_MEMORY;
    parts[place] = malloc(sizes[place]);
    if (!parts[place])
        goto done;
    code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(*parts), parts,
                            NULL);
    if (code) {
        free(parts[place]);
        goto done;
    }
    *data = parts[place];
    *size = sizes[place];
done:
    free(parts);
    free(sizes);
    return code;
}

/* PoCL keeps what it built in a cache of its own, by the text; for a binary it would
 * build every kernel once more, for work-groups of any size, which takes longer than the
 * rest. */
static bool wants_binary(const struct opencl_device *device)
{
    return strncmp(device->base.caps.compiler, "PoCL", 4) != 0;
}

static mmt_status take_binary(struct opencl_device *device, cl_program program,
                              const char *source, struct mmt_binary *binary,
                              mmt_error *err)
{
    size_t count = 0, place = 0, size = 0;
    void *data = NULL;
    cl_int code = place_of(program, device->id, &count, &place);
    if (!code && wants_binary(device))
        code = read_binary(program, count, place, &data, &size);
    if (code == CL_OUT_OF_HOST_MEMORY)
        return mmt_opencl_fail(err, code, "clGetProgramInfo");
    mmt_status status = data ? add_tag(binary_tag, data, size, binary, err)
                             : add_tag(source_tag, source, strlen(source), binary, err);
    free(data);
    return status;
}

mmt_status mmt_opencl_compile(mmt_device *base, const char *source,
                              struct mmt_binary *binary, mmt_error *err)
{
    struct opencl_device *device = mmt_opencl_of(base);
    cl_program program;
    *binary = (struct mmt_binary){ 0 };
    mmt_status status =
        build(device, source, strlen(source), &program, &binary->log, err);
    if (status)
        return status;
    status = take_binary(device, program, source, binary, err);
    clReleaseProgram(program);
    return status;
}

/* ---- loading --------------------------------------------------------------------- */

static mmt_status refuse_binary(struct opencl_device *device, cl_int code, mmt_error *err)
{
    if (code != CL_INVALID_BINARY && code != CL_INVALID_VALUE && !failed_to_compile(code))
        return mmt_opencl_fail(err, code, "loading a binary");
    return mmt_fail_native(
        err, MMT_ERROR_FORMAT, code,
        "%s refuses a kernel's binary: %s (%d); compiling it anew helps",
        device->base.caps.compiler, mmt_opencl_error_name(code), code);
}

static mmt_status load_binary(struct opencl_device *device, const unsigned char *data,
                              size_t size, cl_program *out, mmt_error *err)
{
    cl_int code, status = CL_SUCCESS;
    cl_program program = clCreateProgramWithBinary(device->context, 1, &device->id, &size,
                                                   &data, &status, &code);
    if (!program)
        return refuse_binary(device, code ? code : status, err);
    code = status ? status : clBuildProgram(program, 1, &device->id, "", NULL, NULL);
    if (code) {
        clReleaseProgram(program);
        return refuse_binary(device, code, err);
    }
    *out = program;
    return MMT_OK;
}

static mmt_status load_source(struct opencl_device *device, const unsigned char *data,
                              size_t size, cl_program *out, mmt_error *err)
{
    char *log = NULL;
    mmt_status status = build(device, (const char *) data, size, out, &log, err);
    free(log);
    return status;
}

mmt_status mmt_opencl_module_load(mmt_device *base, const struct mmt_binary *binary,
                                  struct mmt_module **out, mmt_error *err)
{
    struct opencl_device *device = mmt_opencl_of(base);
    bool is_source = false;
    size_t size = 0;
    const unsigned char *data = find_data(binary, &is_source, &size);
    if (!data)
        return mmt_fail(
            err, MMT_ERROR_FORMAT,
            "a kernel's binary of %zu bytes is none of ours; compiling it anew "
            "helps",
            binary->size);
    struct opencl_module *module = calloc(1, sizeof(*module));
    if (!module)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a module");
    module->base.device = base;
    mmt_status status = is_source
                            ? load_source(device, data, size, &module->program, err)
                            : load_binary(device, data, size, &module->program, err);
    if (status) {
        free(module);
        return status;
    }
    *out = &module->base;
    return MMT_OK;
}

void mmt_opencl_module_free(struct mmt_module *base)
{
    struct opencl_module *module = (struct opencl_module *) base;
    clReleaseProgram(module->program);
    free(module);
}
