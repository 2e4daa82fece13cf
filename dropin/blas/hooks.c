/* What programs call: sgemm and dgemm of Fortran and CBLAS, and the hooks of FlexiBLAS,
 * which are called as they are and pass on along its chain. Nothing else is exported. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dropin/blas/library.h"
#include "dropin/blas/multiply.h"

#define EXPORT __attribute__((visibility("default")))

/* ---- the library's own ----------------------------------------------------------- */

struct own {
    const char *name;
    _Atomic(void *) function;
};

static void *find(struct own *own)
{
    void *function = mmt_blas_find(own->name, own);
    if (!function) {
        fprintf(stderr,
                "mmtune: %s is called, and no library that is loaded has it; load one "
                "beside libmmtune-blas.so\n",
                own->name);
        abort();
    }
    atomic_store_explicit(&own->function, function, memory_order_release);
    return function;
}

static inline void *function_of(struct own *own)
{
    void *function = atomic_load_explicit(&own->function, memory_order_acquire);
    return __builtin_expect(function != NULL, 1) ? function : find(own);
}

/* ---- Fortran --------------------------------------------------------------------- */

/* All by reference; leading dimensions and sizes are read once the product is. */
struct fortran {
    struct mmt_original base;
    mmt_fortran_gemm *gemm;
    const char *trans_a, *trans_b;
    const int *m, *n, *k;
    const void *alpha, *a;
    const int *lda;
    const void *b;
    const int *ldb;
    const void *beta;
    const int *ldc;
    size_t length_a, length_b;
};

static void compute_fortran(const struct mmt_original *original, void *c)
{
    const struct fortran *x = (const void *) original;
    x->gemm(x->trans_a, x->trans_b, x->m, x->n, x->k, x->alpha, x->a, x->lda, x->b,
            x->ldb, x->beta, c, x->ldc, x->length_a, x->length_b);
}

static double scalar_of(mmt_type type, const void *at)
{
    return type == MMT_F32 ? (double) *(const float *) at : *(const double *) at;
}

static void multiply_fortran(mmt_type type, const struct fortran *x, void *c)
{
    struct mmt_product product = { .type = type,
                                   .alpha = scalar_of(type, x->alpha),
                                   .beta = scalar_of(type, x->beta),
                                   .a = x->a,
                                   .b = x->b,
                                   .c = c };
    if (mmt_product_read(&product, MMT_CBLAS_COLUMN_MAJOR,
                         mmt_product_transpose(*x->trans_a),
                         mmt_product_transpose(*x->trans_b), *x->m, *x->n, *x->k, *x->lda,
                         *x->ldb, *x->ldc))
        mmt_blas_multiply(&product, &x->base);
    else
        mmt_blas_pass(&x->base, c);
}

#define FORTRAN(entry, type, real)                                                       \
    EXPORT mmt_fortran_gemm entry;                                                       \
    void entry(const char *trans_a, const char *trans_b, const int *m, const int *n,     \
               const int *k, const void *alpha, const void *a, const int *lda,           \
               const void *b, const int *ldb, const void *beta, void *c, const int *ldc, \
               size_t length_a, size_t length_b)                                         \
    {                                                                                    \
        static struct own own = { real, NULL };                                          \
        void *function = function_of(&own);                                              \
        mmt_fortran_gemm *gemm = (mmt_fortran_gemm *) (uintptr_t) function;              \
        const struct fortran x = { { compute_fortran, function },                        \
                                   gemm,                                                 \
                                   trans_a,                                              \
                                   trans_b,                                              \
                                   m,                                                    \
                                   n,                                                    \
                                   k,                                                    \
                                   alpha,                                                \
                                   a,                                                    \
                                   lda,                                                  \
                                   b,                                                    \
                                   ldb,                                                  \
                                   beta,                                                 \
                                   ldc,                                                  \
                                   length_a,                                             \
                                   length_b };                                           \
        if (mmt_blas_passes(*m, *n, *k))                                                 \
            gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,         \
                 length_a, length_b);                                                    \
        else                                                                             \
            multiply_fortran(type, &x, c);                                               \
    }

FORTRAN(sgemm_, MMT_F32, "sgemm_")
FORTRAN(dgemm_, MMT_F64, "dgemm_")
FORTRAN(hook_sgemm, MMT_F32, "flexiblas_chain_sgemm_")
FORTRAN(hook_dgemm, MMT_F64, "flexiblas_chain_dgemm_")

/* ---- CBLAS ----------------------------------------------------------------------- */

#define CBLAS_GEMM(name, scalar)                                                         \
    void name(int layout, int trans_a, int trans_b, int m, int n, int k, scalar alpha,   \
              const scalar *a, int lda, const scalar *b, int ldb, scalar beta,           \
              scalar *c, int ldc)
typedef CBLAS_GEMM(cblas_gemm_f32, float);
typedef CBLAS_GEMM(cblas_gemm_f64, double);

struct cblas {
    struct mmt_original base;
    int layout, trans_a, trans_b, m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b;
};

static void compute_cblas_f32(const struct mmt_original *original, void *c)
{
    const struct cblas *x = (const void *) original;
    cblas_gemm_f32 *gemm = (cblas_gemm_f32 *) (uintptr_t) original->function;
    gemm(x->layout, x->trans_a, x->trans_b, x->m, x->n, x->k, (float) x->alpha, x->a,
         x->lda, x->b, x->ldb, (float) x->beta, c, x->ldc);
}

static void compute_cblas_f64(const struct mmt_original *original, void *c)
{
    const struct cblas *x = (const void *) original;
    cblas_gemm_f64 *gemm = (cblas_gemm_f64 *) (uintptr_t) original->function;
    gemm(x->layout, x->trans_a, x->trans_b, x->m, x->n, x->k, x->alpha, x->a, x->lda,
         x->b, x->ldb, x->beta, c, x->ldc);
}

static void multiply_cblas(mmt_type type, const struct cblas *x, void *c)
{
    struct mmt_product product = {
        .type = type, .alpha = x->alpha, .beta = x->beta, .a = x->a, .b = x->b, .c = c
    };
    if (mmt_product_read(&product, x->layout, x->trans_a, x->trans_b, x->m, x->n, x->k,
                         x->lda, x->ldb, x->ldc))
        mmt_blas_multiply(&product, &x->base);
    else
        mmt_blas_pass(&x->base, c);
}

#define CBLAS(entry, type, scalar, form, run, real)                                      \
    EXPORT CBLAS_GEMM(entry, scalar);                                                    \
    CBLAS_GEMM(entry, scalar)                                                            \
    {                                                                                    \
        static struct own own = { real, NULL };                                          \
        void *function = function_of(&own);                                              \
        if (mmt_blas_passes(m, n, k)) {                                                  \
            ((form *) (uintptr_t) function)(layout, trans_a, trans_b, m, n, k, alpha, a, \
                                            lda, b, ldb, beta, c, ldc);                  \
            return;                                                                      \
        }                                                                                \
        const struct cblas x = { { run, function },                                      \
                                 layout,                                                 \
                                 trans_a,                                                \
                                 trans_b,                                                \
                                 m,                                                      \
                                 n,                                                      \
                                 k,                                                      \
                                 lda,                                                    \
                                 ldb,                                                    \
                                 ldc,                                                    \
                                 alpha,                                                  \
                                 beta,                                                   \
                                 a,                                                      \
                                 b };                                                    \
        multiply_cblas(type, &x, c);                                                     \
    }

CBLAS(cblas_sgemm, MMT_F32, float, cblas_gemm_f32, compute_cblas_f32, "cblas_sgemm")
CBLAS(cblas_dgemm, MMT_F64, double, cblas_gemm_f64, compute_cblas_f64, "cblas_dgemm")

/* ---- what FlexiBLAS asks of a hook ----------------------------------------------- */

/* There are no hooks of CBLAS: FlexiBLAS 3.4 puts such a one into the chain of Fortran's
 * (wrapper_cblas.c), and calls it with Fortran's arguments.
 *
 * Who it is: a name, its section in FlexiBLAS's files, what it does, and by whom. */
struct flexiblas_register {
    const char *name, *section, *description, *authors;
};
extern struct flexiblas_register flexiblas_register;
EXPORT struct flexiblas_register flexiblas_register = {
    "mmtune", "MMTUNE", "Products go to mmtune's kernels where they are faster.", "mmtune"
};

/* FlexiBLAS 3.4 frees the section's name where a hook is named by its file. */
__attribute__((constructor)) static void allocate_section(void)
{
    char *section = strdup(flexiblas_register.section);
    flexiblas_register.section = section ? section : flexiblas_register.section;
}

/* Its options: none. */
struct flexiblas_option {
    const char *name, *description;
    int type;
    const char *usual;
};
extern const struct flexiblas_option flexiblas_options[];
EXPORT const struct flexiblas_option flexiblas_options[] = { { NULL, NULL, 0, NULL } };

/* The first product begins; counts are written as the process ends. */
EXPORT void __flexiblas_hook_initialize(void);
void __flexiblas_hook_initialize(void) {}

EXPORT void __flexiblas_hook_finalize(void);
void __flexiblas_hook_finalize(void) {}
