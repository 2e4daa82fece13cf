#include <math.h>
#include <string.h>

#include "tuner/oracle.h"

/* A row of A or a column of B: elements at equal steps. */
struct line {
    const void *data;
    int64_t first, step;
};

static struct line line_of_a(const struct mmt_oracle *o, int64_t batch, int64_t i)
{
    const mmt_problem *p = o->problem;
    int64_t start = batch * p->stride_a;

    return p->trans_a ? (struct line){ o->a, start + i, p->lda }
                      : (struct line){ o->a, start + i * p->lda, 1 };
}

static struct line line_of_b(const struct mmt_oracle *o, int64_t batch, int64_t j)
{
    const mmt_problem *p = o->problem;
    int64_t start = batch * p->stride_b;

    return p->trans_b ? (struct line){ o->b, start + j * p->ldb, 1 }
                      : (struct line){ o->b, start + j, p->ldb };
}

/* A sum of products, and the sum of their sizes. */
struct dot {
    long double sum, size;
};

static struct dot dot_f32(struct line a, struct line b, int64_t k)
{
    const float *x = (const float *) a.data + a.first,
                *y = (const float *) b.data + b.first;
    double sum = 0, size = 0;

    for (int64_t p = 0; p < k; p++) {
        double product = (double) x[p * a.step] * y[p * b.step];
        sum += product;
        size += fabs(product);
    }
    return (struct dot){ sum, size };
}

static struct dot dot_f64(struct line a, struct line b, int64_t k)
{
    const double *x = (const double *) a.data + a.first;
    const double *y = (const double *) b.data + b.first;
    long double sum = 0, size = 0;

    for (int64_t p = 0; p < k; p++) {
        long double product = (long double) x[p * a.step] * y[p * b.step];
        sum += product;
        size += fabsl(product);
    }
    return (struct dot){ sum, size };
}

static uint32_t dot_i32(struct line a, struct line b, int64_t k)
{
    const uint32_t *x = (const uint32_t *) a.data + a.first;
    const uint32_t *y = (const uint32_t *) b.data + b.first;
    uint32_t sum = 0;

    for (int64_t p = 0; p < k; p++)
        sum += x[p * a.step] * y[p * b.step];
    return sum;
}

long double mmt_oracle_roundoff(mmt_type type)
{
    return type == MMT_F32 ? 0x1p-24L : type == MMT_F64 ? 0x1p-53L : 0;
}

long double mmt_oracle_number(mmt_type type, const void *element)
{
    float f32;
    double f64;
    int32_t i32;

    switch (type) {
    case MMT_F32:
        memcpy(&f32, element, sizeof f32);
        return f32;
    case MMT_F64:
        memcpy(&f64, element, sizeof f64);
        return f64;
    case MMT_I32:
        memcpy(&i32, element, sizeof i32);
        return i32;
    }
    return NAN;
}

static struct mmt_answer exact_entry(const struct mmt_oracle *o, struct line a,
                                     struct line b, const void *c)
{
    uint32_t product = 0, old = 0;

    if (o->alpha != 0)
        product = (uint32_t) (int64_t) o->alpha * dot_i32(a, b, o->problem->k);
    if (o->beta != 0)
        memcpy(&old, c, sizeof old);
    uint32_t value = product + (uint32_t) (int64_t) o->beta * old;
    return (struct mmt_answer){ .value = (int32_t) value };
}

struct mmt_answer mmt_oracle_entry(const struct mmt_oracle *o, int64_t batch, int64_t i,
                                   int64_t j)
{
    const mmt_problem *p = o->problem;
    struct line a = line_of_a(o, batch, i), b = line_of_b(o, batch, j);
    const char *c = NULL;
    struct dot dot = { 0, 0 };
    long double old = 0;

    if (o->beta != 0)
        c = (const char *) o->c +
            (size_t) (batch * p->stride_c + i * p->ldc + j) * mmt_type_size(p->type);
    if (p->type == MMT_I32)
        return exact_entry(o, a, b, c);
    if (o->alpha != 0)
        dot = p->type == MMT_F64 ? dot_f64(a, b, p->k) : dot_f32(a, b, p->k);
    if (o->beta != 0)
        old = o->beta * mmt_oracle_number(p->type, c);

    long double u = mmt_oracle_roundoff(p->type), ku = (p->k + 2) * u;
    struct mmt_answer answer = { .value = o->alpha * dot.sum + old };
    answer.bound = 2 * fabs(o->alpha) * ku / (1 - ku) * dot.size + 2 * u * fabsl(old) +
                   u * fabsl(answer.value);
    return answer;
}

bool mmt_oracle_agrees(mmt_type type, const void *element, struct mmt_answer answer)
{
    return fabsl(mmt_oracle_number(type, element) - answer.value) <= answer.bound;
}

/* ---- Freivalds ------------------------------------------------------------------- */

enum { PART = 512 };

/* Columns first … first + count - 1 of a row as int64. Returns how many of them there are
 * before one that is no whole number within the limit. */
static int64_t whole_part(const struct mmt_matrix *c, int64_t row, int64_t first,
                          int64_t count, double limit, int64_t *out)
{
    int64_t start = row * c->ld + first, j = 0;

    if (c->type == MMT_F32) {
        const float *x = (const float *) c->data + start;
        for (; j < count && fabsf(x[j]) <= (float) limit; j++) {
            out[j] = (int32_t) x[j];
            if (x[j] != (float) out[j])
                break;
        }
    } else if (c->type == MMT_F64) {
        const double *x = (const double *) c->data + start;
        for (; j < count && fabs(x[j]) <= limit; j++) {
            out[j] = (int64_t) x[j];
            if (x[j] != (double) out[j])
                break;
        }
    } else {
        const int32_t *x = (const int32_t *) c->data + start;
        for (; j < count; j++)
            out[j] = x[j];
    }
    return j;
}

static uint64_t multiply_part(const int64_t *part, const uint64_t *x, int64_t count)
{
    uint64_t sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += (uint64_t) part[j] * x[j];
    return sum;
}

static void spread_part(const int64_t *part, uint64_t x, int64_t count, uint64_t *out)
{
    for (int64_t j = 0; j < count; j++)
        out[j] += (uint64_t) part[j] * x;
}

bool mmt_oracle_multiply(const struct mmt_matrix *c, bool transposed, const uint64_t *x,
                         double limit, uint64_t *out, int64_t *row, int64_t *column)
{
    int64_t part[PART];

    memset(out, 0, (size_t) (transposed ? c->columns : c->rows) * sizeof *out);
    for (int64_t i = 0; i < c->rows; i++) {
        for (int64_t j = 0; j < c->columns; j += PART) {
            int64_t count = c->columns - j < PART ? c->columns - j : PART;
            int64_t whole = whole_part(c, i, j, count, limit, part);
            if (whole < count) {
                *row = i;
                *column = j + whole;
                return false;
            }
            if (transposed)
                spread_part(part, x[i], count, out + j);
            else
                out[i] += multiply_part(part, x + j, count);
        }
    }
    return true;
}
