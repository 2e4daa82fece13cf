/* A libclblast of a few routines, which answer what they were called with. */
#include <stddef.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int CLBlastSasum(size_t n, void *out, size_t out_offset, const void *x,
                        size_t x_offset, size_t x_inc, void *queue, void *event);
EXPORT int CLBlastSsyr2k(int layout, int triangle, int transpose, size_t n, size_t k,
                         float alpha, void *a, size_t a_offset, size_t lda, void *b,
                         size_t b_offset, size_t ldb, float beta, void *c,
                         size_t c_offset, size_t ldc, void *queue, void *event);
EXPORT int CLBlastSsyrk(int layout, int triangle, int transpose, size_t n, size_t k,
                        float alpha, void *a, size_t a_offset, size_t lda, float beta,
                        void *c, size_t c_offset, size_t ldc, void *queue, void *event);
EXPORT int CLBlastSgemmBatched(void);
EXPORT int CLBlastClearCache(void);
EXPORT int cpp_scal(size_t n, float alpha, void *x, size_t offset, size_t inc,
                    void *queue,
                    void *event) __asm__("_ZN7clblast4ScalIfEENS_10StatusCodeEmT_P7_cl_"
                                         "memmmPP17_cl_command_queuePP9_"
                                         "cl_event");

int CLBlastSasum(size_t n, void *out, size_t out_offset, const void *x, size_t x_offset,
                 size_t x_inc, void *queue, void *event)
{
    return (int) (n + 2 * out_offset + 3 * x_offset + 5 * x_inc);
}

int CLBlastSsyr2k(int layout, int triangle, int transpose, size_t n, size_t k,
                  float alpha, void *a, size_t a_offset, size_t lda, void *b,
                  size_t b_offset, size_t ldb, float beta, void *c, size_t c_offset,
                  size_t ldc, void *queue, void *event)
{
    return layout + triangle + transpose + (int) (n * k) + (int) (100 * alpha) +
           (int) (1000 * beta) +
           (int) (lda + ldb + ldc + a_offset + b_offset + c_offset) + (queue == event);
}

int CLBlastSsyrk(int layout, int triangle, int transpose, size_t n, size_t k, float alpha,
                 void *a, size_t a_offset, size_t lda, float beta, void *c,
                 size_t c_offset, size_t ldc, void *queue, void *event)
{
    return 1000 + triangle;
}

int CLBlastSgemmBatched(void)
{
    return 2000;
}

int CLBlastClearCache(void)
{
    return 17;
}

int cpp_scal(size_t n, float alpha, void *x, size_t offset, size_t inc, void *queue,
             void *event)
{
    return (int) (n * inc + offset) + (int) (10 * alpha);
}
