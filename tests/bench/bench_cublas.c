/* What a call of cuBLAS costs the host, straight and through what is preloaded:
 *
 *   LD_PRELOAD=libmmtune-cublas.so bench_cublas [SIZE]...
 *
 * For each SIZE, "MxNxK" of f32 as cuBLAS names it, and for one that no verdict is for,
 * it prints the host's time of a call in ns, both ways in turn: medians of rounds of
 * calls that are queued and then waited for. Without a card, the driver is the stand-in
 * (tests/emulation/fake/card), cuBLAS returns at once (quick_cublas.c), and there are no
 * SIZEs. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dropin/cublas/cublas.h"

enum { ROUNDS = 101, CALLS = 200, WARM = 20 };

typedef __typeof__(&cublasSgemm_v2) sgemm;

static struct {
    int (*cuInit)(unsigned);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuMemAlloc_v2)(uint64_t *, size_t);
    int (*cuStreamSynchronize)(void *);
} driver;

static void *need(void *found, const char *what)
{
    if (found)
        return found;
    fprintf(stderr, "bench_cublas: there is no %s\n", what);
    exit(77);
}

static void open_driver(void)
{
    void *library = need(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
    void *context = NULL;
#define FIND(name) *(void **) &driver.name = need(dlsym(library, #name), #name)
    FIND(cuInit);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuCtxSetCurrent);
    FIND(cuMemAlloc_v2);
    FIND(cuStreamSynchronize);
    if (driver.cuInit(0) || driver.cuDevicePrimaryCtxRetain(&context, 0) ||
        driver.cuCtxSetCurrent(context))
        need(NULL, "device 0");
}

struct product {
    void *handle;
    int m, n, k;
    float *a, *b, *c;
};

static void call(sgemm function, const struct product *it, int times)
{
    const float alpha = 1, beta = 0;
    for (int i = 0; i < times; i++)
        if (function(it->handle, 0, 0, it->m, it->n, it->k, &alpha, it->a, it->m, it->b,
                     it->k, &beta, it->c, it->m))
            need(NULL, "answer but an error");
}

static double time_calls(sgemm function, const struct product *it)
{
    const double from = mmt_now();
    call(function, it, CALLS);
    const double seconds = mmt_now() - from;
    driver.cuStreamSynchronize(NULL);
    return seconds / CALLS * 1e9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void measure(sgemm straight, struct product *it, const char *what)
{
    double direct[ROUNDS], through[ROUNDS];

    call(straight, it, WARM);
    call(cublasSgemm_v2, it, WARM);
    driver.cuStreamSynchronize(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        direct[i] = time_calls(straight, it);
        through[i] = time_calls(cublasSgemm_v2, it);
    }
    qsort(direct, ROUNDS, sizeof *direct, ascending);
    qsort(through, ROUNDS, sizeof *through, ascending);
    printf("%dx%dx%d, %s: straight %.0f ns, through %.0f ns, %+.0f ns\n", it->m, it->n,
           it->k, what, direct[ROUNDS / 2], through[ROUNDS / 2],
           through[ROUNDS / 2] - direct[ROUNDS / 2]);
}

static float *allocate(int rows, int columns)
{
    uint64_t memory = 0;
    if (driver.cuMemAlloc_v2(&memory, (size_t) rows * (size_t) columns * sizeof(float)))
        need(NULL, "device memory");
    return (float *) (uintptr_t) memory;
}

static void measure_size(sgemm straight, void *handle, const char *size, const char *what)
{
    struct product it = { .handle = handle };
    if (sscanf(size, "%dx%dx%d", &it.m, &it.n, &it.k) != 3)
        need(NULL, size);
    it.a = allocate(it.m, it.k);
    it.b = allocate(it.k, it.n);
    it.c = allocate(it.m, it.n);
    measure(straight, &it, what);
}

int main(int argc, char **argv)
{
    void *handle, *library = dlopen("libcublas.so.13", RTLD_NOW);
    sgemm straight;

    open_driver();
    *(void **) &straight =
        need(dlsym(need(library, "libcublas.so.13"), "cublasSgemm_v2"), "cublasSgemm_v2");
    if (cublasCreate_v2(&handle))
        need(NULL, "handle");
    measure_size(straight, handle, "40x24x56", "which passes");
    for (int i = 1; i < argc; i++)
        measure_size(straight, handle, argv[i], "which may be taken over");
    return 0;
}
