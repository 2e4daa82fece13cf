/* Marks calls that are taken over as NVTX ranges; without NVTX it says so once and does
 * nothing. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/library.h"
#include "dropin/cublas/serve.h"

static struct {
    pthread_once_t once;
    struct {
        int (*nvtxRangePushA)(const char *text);
        int (*nvtxRangePop)(void);
    } functions;
    bool found;
} nvtx = { .once = PTHREAD_ONCE_INIT };

/* That of newer toolkits, CUDA 13 among them, and that of older ones. */
static const char *const files[] = { "libnvtx3interop.so.1", "libnvToolsExt.so.1" };

static void open_nvtx(void)
{
    static const struct mmt_symbol symbols[] = {
        { "nvtxRangePushA", 0, false },
        { "nvtxRangePop", sizeof(void *), false },
    };
    char why[256] = "";
    for (int i = 0; i < 2 && !nvtx.found; i++)
        nvtx.found = mmt_library_open(files[i], symbols, 2, &nvtx.functions, why);
    if (!nvtx.found)
        fprintf(stderr, "mmtune: there are no NVTX ranges: %s\n", why);
}

void mmt_range_push(const char *label)
{
    pthread_once(&nvtx.once, open_nvtx);
    if (nvtx.found)
        nvtx.functions.nvtxRangePushA(label);
}

void mmt_range_pop(void)
{
    if (nvtx.found)
        nvtx.functions.nvtxRangePop();
}
