/* Opens OpenCL's loader once, and fills the table of its functions; the rest of the
 * backend calls no other. */
#define MMT_OPENCL_API_BARE
#include "device/opencl_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "device/library.h"

struct mmt_opencl_api mmt_opencl_api;

static const struct mmt_symbol symbols[] = {
#define FN(name) { #name, offsetof(struct mmt_opencl_api, name), false },
#include "device/opencl.fn"
#undef FN
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char why[512]; /* empty: it is open */

/* A loader that the program was linked with, or that was preloaded, as oclgrind's is,
 * goes before the one of the system: contexts of one mean nothing to another. */
static const char *file_of_loader(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    bool has_one = program && dlsym(program, "clGetPlatformIDs");
    if (program)
        dlclose(program);
    return has_one ? NULL : "libOpenCL.so.1";
}

static void open_loader(void)
{
    char reason[256];
    size_t count = sizeof(symbols) / sizeof(symbols[0]);
    if (!mmt_library_open(file_of_loader(), symbols, count, &mmt_opencl_api, reason))
        snprintf(
            why, sizeof(why),
            "OpenCL's loader cannot be opened (%s); Debian's ocl-icd-libopencl1 has it",
            reason);
}

const char *mmt_opencl_api_open(void)
{
    pthread_once(&once, open_loader);
    return why[0] ? why : NULL;
}
