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

static void open_nvtx(void)
{
    static const struct mmt_symbol symbols[] = {
        { "nvtxRangePushA", 0, false },
        { "nvtxRangePop", sizeof(void *), false },
    };
    char why[256];
    nvtx.found = mmt_library_open("libnvToolsExt.so.1", symbols, 2, &nvtx.functions, why);
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
