/* What the stand-ins for libcublas and libcublasLt share: the product on the host, the
 * stand-in card's clock and context, and counts of calls.
 *
 * When the process ends each library appends a line for each of its functions that was
 * called, "cublasGemmEx 12", to the file that MMT_FAKE_CUBLAS_LOG names. A child begins
 * to count at 0. */
#ifndef MMT_TESTS_FAKE_CUBLAS_H
#define MMT_TESTS_FAKE_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/type.h"

#define EXPORT(type) __attribute__((visibility("default"))) type

/* cublasStatus_t */
enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };

/* cublasComputeType_t */
enum {
    COMPUTE_16F = 64,
    COMPUTE_16F_PEDANTIC,
    COMPUTE_32F = 68,
    COMPUTE_32F_PEDANTIC,
    COMPUTE_64F,
    COMPUTE_64F_PEDANTIC,
    COMPUTE_32I,
    COMPUTE_32I_PEDANTIC,
    COMPUTE_32F_FAST_16F,
    COMPUTE_32F_FAST_16BF,
    COMPUTE_32F_FAST_TF32 = 77,
};

/* cudaDataType in our words; -1: unknown. */
int fake_type_of(int cuda);

/* The scalars' type that goes with a way to compute; -1: unknown. */
int fake_scalar_of(int compute);

/* Whether types of A and B, and of C, go with a way to compute and its scalars. */
bool fake_goes(int compute, int scalar, mmt_type input, mmt_type output);

/* A stored matrix, column-major unless row_major. Of a batch each lies `stride` elements
 * behind the one before, or where `list` says. */
struct fake_matrix {
    mmt_type type;
    const void *data;
    const void *const *list; /* NULL: none */
    int64_t ld, stride;
    bool row_major;
};

enum fake_activation { FAKE_NONE, FAKE_RELU, FAKE_GELU };

/* D = activation(alpha op(A) op(B) + beta C + bias), m x n; D is C where it has neither
 * data nor list. */
struct fake_product {
    bool transposed[2]; /* A, B */
    int64_t m, n, k, batch;
    double alpha, beta;
    struct fake_matrix a, b, c, d;
    const void *bias; /* one for each row of D; NULL: none */
    mmt_type bias_type;
    int64_t bias_stride;
    enum fake_activation activation; /* GELU by tanh */
};

/* Computes in double, rounds once. */
void fake_product_compute(const struct fake_product *product);

/* Tells the stand-in card that `part` of MMT_FAKE_CUBLAS_US went by, 2000 where that is
 * not set. */
void fake_clock_add(double part);

/* Whether the thread has a current context of the stand-in card; true without one. */
bool fake_card_is_current(void);

/* Makes the primary context of device 0 current where none is. */
void fake_card_enter(void);

/* Counts one call; name is a function's __func__. Thread-safe. */
void fake_count(const char *name);

#endif
