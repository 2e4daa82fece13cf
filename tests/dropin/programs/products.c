/* A program of others: multiplies by cuBLAS and prints each result's bits.
 *
 * It is built as three programs: linked to cuBLAS; with FIND, which looks its functions
 * up by dlsym, as XLA does; and as an extension, which `host` loads.
 *
 *     products [ROUNDS [fork|one]]    each product so often; also in a child that was
 *                                     forked before, and whose results follow; or the
 *                                     first product alone */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dropin/programs/cublas.h"

#ifdef FIND
static void *find(const char *name)
{
    static const char *const files[] = { "libcublas.so.13", "libcublasLt.so.13" };
    void *library = dlopen(files[!strncmp(name, "cublasLt", 8)], RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s is not there: %s\n", name, dlerror());
        exit(3);
    }
    return symbol;
}
#define CALL(name) ((__typeof__(&name)) find(#name))
#else
#define CALL(name) name
#endif

enum { M = 24, N = 20, K = 28, BATCH = 3, MOST = 1024 * BATCH };

/* Small whole numbers: results are exact, whatever order they are added up in. */
static void fill(float *out, int count, int seed)
{
    for (int i = 0; i < count; i++)
        out[i] = (float) ((i * 7 + seed) % 5 - 2);
}

static void fill_f64(double *out, int count, int seed)
{
    for (int i = 0; i < count; i++)
        out[i] = (i * 7 + seed) % 5 - 2;
}

static void tell(const char *name, int status, const void *bytes, size_t size)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *) bytes)[i]) * 1099511628211u;
    printf("%s %d %016llx\n", name, status, (unsigned long long) hash);
}

/* Memory as cudaMalloc's is aligned. */
static _Alignas(256) float a[MOST], b[MOST], c[MOST], bias[M];
static _Alignas(256) double a64[MOST], b64[MOST], c64[MOST];

static void multiply_first(void *handle)
{
    const float alpha = 2, beta = 0;
    const int status =
        CALL(cublasSgemm_v2)(handle, 1, 0, M, N, K, &alpha, a, K, b, K, &beta, c, M);
    tell("sgemm tn", status, c, sizeof *c * M * N);
}

static void multiply_f32(void *handle)
{
    const float alpha = 2, beta = 0;
    int status =
        CALL(cublasSgemm_v2_64)(handle, 0, 1, M, N, K, &alpha, a, M, b, N, &beta, c, M);
    tell("sgemm nt", status, c, sizeof *c * M * N);
    status = CALL(cublasGemmEx)(handle, 0, 0, M, N, K, &alpha, a, 0, M, b, 0, K, &beta, c,
                                0, M, 68, 99);
    tell("gemmex nn", status, c, sizeof *c * M * N);
    status = CALL(cublasSgemmStridedBatched)(handle, 0, 0, M, N, K, &alpha, a, M, M * K,
                                             b, K, K * N, &beta, c, M, M * N, BATCH);
    tell("sgemm batched", status, c, sizeof *c * M * N * BATCH);
}

static void multiply_f64(void *handle)
{
    const double alpha = 1, beta = 3;
    memset(c64, 0, sizeof c64);
    const int status = CALL(cublasDgemm_v2)(handle, 0, 0, M, N, K, &alpha, a64, M, b64, K,
                                            &beta, c64, M);
    tell("dgemm nn", status, c64, sizeof *c64 * M * N);
}

/* With a bias and ReLU. */
static void multiply_lt(void *handle)
{
    const float alpha = 1, beta = 0;
    const uint32_t epilogue = 4 | 2;
    const float *rows = bias;
    void *desc, *la, *lb, *lc;
    CALL(cublasLtMatmulDescCreate)(&desc, 68, 0);
    CALL(cublasLtMatmulDescSetAttribute)(desc, 7, &epilogue, sizeof epilogue);
    CALL(cublasLtMatmulDescSetAttribute)(desc, 8, &rows, sizeof rows);
    CALL(cublasLtMatrixLayoutCreate)(&la, 0, M, K, M);
    CALL(cublasLtMatrixLayoutCreate)(&lb, 0, K, N, K);
    CALL(cublasLtMatrixLayoutCreate)(&lc, 0, M, N, M);
    const int status = CALL(cublasLtMatmul)(handle, desc, &alpha, a, la, b, lb, &beta, c,
                                            lc, c, lc, NULL, NULL, 0, NULL);
    tell("ltmatmul relu_bias", status, c, sizeof *c * M * N);
    CALL(cublasLtMatrixLayoutDestroy)(la);
    CALL(cublasLtMatrixLayoutDestroy)(lb);
    CALL(cublasLtMatrixLayoutDestroy)(lc);
    CALL(cublasLtMatmulDescDestroy)(desc);
}

static void multiply(int rounds, bool one)
{
    void *handle = NULL;
    fill(a, MOST, 1), fill(b, MOST, 2), fill(bias, M, 3);
    fill_f64(a64, MOST, 1), fill_f64(b64, MOST, 2);
    if (CALL(cublasCreate_v2)(&handle))
        exit(3);
    for (int i = 0; i < rounds; i++) {
        multiply_first(handle);
        if (one)
            continue;
        multiply_f32(handle);
        multiply_f64(handle);
        multiply_lt(handle);
    }
    CALL(cublasDestroy_v2)(handle);
}

/* The extension's entry, too. */
__attribute__((visibility("default"))) int run_products(int argc, char **argv);
int run_products(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    const pid_t child = !strcmp(how, "fork") ? fork() : 0;
    int status = 0;
    if (child > 0)
        waitpid(child, &status, 0);
    multiply(argc > 1 ? atoi(argv[1]) : 1, !strcmp(how, "one"));
    return status ? 3 : 0;
}

#ifndef EXTENSION
int main(int argc, char **argv)
{
    return run_products(argc, argv);
}
#endif
