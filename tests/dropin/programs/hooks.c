/* Stands for libmmtune-cublas.so: tells each call of cublasSgemm_v2 that arrives, and
 * leaves it to the library, which it finds by dlsym, as the real one does. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/dropin/programs/cublas.h"

/* As much static thread-local storage as an allocator takes, such as jemalloc. */
static _Thread_local char storage[3000] __attribute__((tls_model("initial-exec")));

/* The library of one loaded with RTLD_LOCAL is in no scope of this one. */
static void *find_real(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    void *library = symbol ? NULL : dlopen("libcublas.so.13", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : symbol;
}

__attribute__((visibility("default"))) int cublasSgemm_v2(
    void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
    const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
    int ldc)
{
    void *symbol = find_real(__func__);
    __typeof__(&cublasSgemm_v2) real;
    memcpy(&real, &symbol, sizeof real);
    storage[sizeof storage - 1]++;
    fprintf(stderr, "sgemm arrived\n");
    return real ? real(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
                : 1;
}
