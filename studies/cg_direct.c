/* Solves a linear system on one core by Cramer's rule and by elimination, to compare the
 * iterative method with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "cg.h"
#include "cpu.h"

static void exchange_rows(double *x, double *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

/* Makes the n x n matrix in rows of `width` triangular, the rest of its rows with it.
 * Gives the logarithm of the determinant's size, since determinants overflow, and its
 * sign, 0 where it vanishes. */
static double triangulate_matrix(int64_t n, int64_t width, double *a, double *sign)
{
    double size = 0;
    *sign = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * width + k]) > fabs(a[pivot * width + k]))
                pivot = i;
        if (a[pivot * width + k] == 0) {
            *sign = 0;
            return -INFINITY;
        }
        if (pivot != k)
            exchange_rows(a + k * width, a + pivot * width, width);
        *sign *= (pivot != k ? -1 : 1) * (a[k * width + k] < 0 ? -1 : 1);
        size += log(fabs(a[k * width + k]));
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * width + k] / a[k * width + k];
            for (int64_t j = k; j < width; j++)
                a[i * width + j] -= factor * a[k * width + j];
        }
    }
    return size;
}

static enum mmt_cg_end solve_by_cramer(const struct mmt_cg_system *s, double *copy)
{
    int64_t n = s->n;
    size_t bytes = (size_t) (n * n) * sizeof *copy;
    double whole_sign, sign;

    memcpy(copy, s->a, bytes);
    double whole = triangulate_matrix(n, n, copy, &whole_sign);
    for (int64_t column = 0; column < n && whole_sign != 0; column++) {
        memcpy(copy, s->a, bytes);
        for (int64_t i = 0; i < n; i++)
            copy[i * n + column] = s->b[i];
        double part = triangulate_matrix(n, n, copy, &sign);
        s->x[column] = sign * whole_sign * exp(part - whole);
    }
    return whole_sign == 0 ? MMT_CG_SINGULAR : MMT_CG_SOLVED;
}

/* A and b side by side, then from the last row up. */
static enum mmt_cg_end solve_by_elimination(const struct mmt_cg_system *s, double *copy)
{
    int64_t n = s->n, width = n + 1;
    double sign;

    for (int64_t i = 0; i < n; i++) {
        memcpy(copy + i * width, s->a + i * n, (size_t) n * sizeof *copy);
        copy[i * width + n] = s->b[i];
    }
    triangulate_matrix(n, width, copy, &sign);
    for (int64_t i = n - 1; i >= 0 && sign != 0; i--) {
        double rest = copy[i * width + n];
        for (int64_t j = i + 1; j < n; j++)
            rest -= copy[i * width + j] * s->x[j];
        s->x[i] = rest / copy[i * width + i];
    }
    return sign == 0 ? MMT_CG_SINGULAR : MMT_CG_SOLVED;
}

static mmt_status solve(const struct mmt_cg_system *system,
                        enum mmt_cg_end (*method)(const struct mmt_cg_system *, double *),
                        struct mmt_cg_result *out, mmt_error *err)
{
    double *copy = malloc((size_t) (system->n * (system->n + 1)) * sizeof *copy);
    if (!copy)
        return mmt_study_fail(err, MMT_ERROR_MEMORY,
                              "no memory for a copy of the matrix");
    *out = (struct mmt_cg_result){ 0 };
    double start = mmt_study_now();
    out->end = method(system, copy);
    out->seconds = mmt_study_now() - start;
    out->residual = mmt_cg_residual(system, copy);
    free(copy);
    return MMT_OK;
}

mmt_status mmt_cg_cramer(const struct mmt_cg_system *system, struct mmt_cg_result *out,
                         mmt_error *err)
{
    return solve(system, solve_by_cramer, out, err);
}

mmt_status mmt_cg_eliminate(const struct mmt_cg_system *system, struct mmt_cg_result *out,
                            mmt_error *err)
{
    return solve(system, solve_by_elimination, out, err);
}
