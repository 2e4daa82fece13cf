/* dense - matrices of doubles on a device, in the manner of a value type: create, fill,
 * move, copy, free, add, subtract, multiply. On mmtune's public API alone.
 *
 * A matrix is rows x columns, row-major, without gaps. It owns its memory: each that was
 * made is freed once, by dense_free. Moving hands the memory over and leaves an empty
 * matrix behind, which may be freed or assigned to; copying makes new memory.
 *
 * Functions return false where something fails; dense_error() then says what. A context
 * and its matrices belong to one thread at a time. */
#ifndef DENSE_H
#define DENSE_H

#include <mmtune/mmtune.h>
#include <stdbool.h>

/* A device, its profile, and plans of products that were computed before. */
struct dense_context;

/* `device` as in mmt_device_open. NULL on failure, with the reason in *err. */
struct dense_context *dense_open(const char *device, mmt_error *err);
void dense_close(struct dense_context *context); /* after all its matrices */

/* What went wrong last. */
const char *dense_error(const struct dense_context *context);

/* Prints, a line each, the kernels of the operations so far: mmt_plan_describe. */
void dense_print_plans(const struct dense_context *context);

/* Matrices that hold memory now, and the bytes that they hold: for finding leaks. */
int dense_live(const struct dense_context *context);
size_t dense_bytes(const struct dense_context *context);

/* An empty matrix is {0}. */
struct dense {
    struct dense_context *context;
    int64_t rows, columns;
    mmt_operand data;
};

/* Makes a matrix, its elements unset; every one `value`; from rows * columns doubles of
 * the host. *out must be empty. */
bool dense_create(struct dense_context *context, int64_t rows, int64_t columns,
                  struct dense *out);
bool dense_filled(struct dense_context *context, int64_t rows, int64_t columns,
                  double value, struct dense *out);
bool dense_from_host(struct dense_context *context, int64_t rows, int64_t columns,
                     const double *values, struct dense *out);

/* Copies the elements to rows * columns doubles of the host, when they are computed. */
bool dense_to_host(const struct dense *matrix, double *values);

void dense_free(struct dense *matrix); /* afterwards empty; empty ones are allowed */
struct dense dense_move(struct dense *from);
bool dense_copy(const struct dense *from, struct dense *out);

/* out = a + b, a - b, a b, factor a. *out must be empty, and gets new memory; shapes that
 * do not fit are refused. */
bool dense_add(const struct dense *a, const struct dense *b, struct dense *out);
bool dense_subtract(const struct dense *a, const struct dense *b, struct dense *out);
bool dense_multiply(const struct dense *a, const struct dense *b, struct dense *out);
bool dense_scale(double factor, const struct dense *a, struct dense *out);

/* *out = the sum of a_ij b_ij, the dot product of vectors. Waits for it. */
bool dense_dot(const struct dense *a, const struct dense *b, double *out);

/* The same on the host, one thread: what the device is held against. */
void dense_host_add(int64_t count, const double *a, const double *b, double *out);
void dense_host_subtract(int64_t count, const double *a, const double *b, double *out);
void dense_host_scale(int64_t count, double factor, const double *a, double *out);
void dense_host_multiply(int64_t rows, int64_t inner, int64_t columns, const double *a,
                         const double *b, double *out);

#endif
