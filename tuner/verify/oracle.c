/* Computes each operation's right answer on the host, and how far a kernel's may be off.
 * Slow and plain on purpose. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/verify/oracle.h"

/* The least number of a type that all devices have. */
static double least_normal(mmt_type type)
{
    return ldexp(1, 2 - (1 << (mmt_type_format(type).exponent - 1)));
}

/* A row of A or a column of B: elements at equal steps. */
struct line {
    const void *data;
    int64_t first, step, period;
};

static int64_t place_on_line(const struct line *line, int64_t number)
{
    int64_t at = line->first + number * line->step;
    return line->period && at >= line->period ? at % line->period : at;
}

static struct line line_of_a(const struct mmt_oracle *o, int64_t batch, int64_t i)
{
    const mmt_problem *p = o->problem;
    int64_t start = batch * p->stride_a;

    return p->trans_a ? (struct line){ o->a, start + i, p->lda, o->period }
                      : (struct line){ o->a, start + i * p->lda, 1, o->period };
}

/* Of a dot product, row i of B; of a symmetric one, row j of A. */
static struct line line_of_b(const struct mmt_oracle *o, int64_t batch, int64_t i,
                             int64_t j)
{
    const mmt_problem *p = o->problem;
    int64_t start = batch * p->stride_b;

    if (p->op == MMT_SYRK)
        return line_of_a(o, batch, j);
    if (p->op == MMT_DOT)
        return (struct line){ o->b, start + i * p->ldb, 1, o->period };
    return p->trans_b ? (struct line){ o->b, start + j * p->ldb, 1, o->period }
                      : (struct line){ o->b, start + j, p->ldb, o->period };
}

/* A sum of products, the sum of their sizes, and that of those with a factor that lies
 * in the middle between two numbers of tf32, twice if both do. */
struct dot {
    long double sum, size, ties;
    int beyond; /* products that a kernel's type has no number for: bits below */
};

enum { POSITIVE = 1, NEGATIVE = 2, FINITE = 4 };

static int beyond(long double product, long double most)
{
    if (!(fabsl(product) > most))
        return 0;
    return (product > 0 ? POSITIVE : NEGATIVE) | (isfinite(product) ? FINITE : 0);
}

/* The nearest number of tf32; where another one is as near, that counts as a tie. */
static double nearest_tf32(float value, int *ties)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *ties += (bits & 0x1fff) == 0x1000;
    bits = (bits + 0x1000) & 0xffffe000;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct dot dot_f64(struct line a, struct line b, int64_t k)
{
    const double *x = a.data;
    const double *y = b.data;
    long double sum = 0, size = 0;
    int over = 0;

    for (int64_t p = 0; p < k; p++) {
        long double product =
            (long double) x[place_on_line(&a, p)] * y[place_on_line(&b, p)];
        sum += product;
        size += fabsl(product);
        over |= beyond(product, DBL_MAX);
    }
    return (struct dot){ sum, size, 0, over };
}

/* An element that a double holds; `table` is that of types of 16 and 8 bits. */
static inline double element_of(const float *table, size_t size, const void *data,
                                int64_t at)
{
    return !table      ? ((const float *) data)[at]
           : size == 2 ? table[((const uint16_t *) data)[at]]
                       : table[((const uint8_t *) data)[at]];
}

/* Of 16 bits products count for the error of the sum as if no factor were below the least
 * normal number: matrix units align them by the exponents of the factors, and 0 has that
 * one. */
static struct dot dot_doubles(mmt_type type, struct line a, struct line b, int64_t k)
{
    const float *table = mmt_number_table(type);
    const size_t bytes = mmt_type_size(type);
    const double least = bytes == 2 ? least_normal(type) : 0;
    double sum = 0, size = 0, in_ties = 0;
    int over = 0;

    for (int64_t p = 0; p < k; p++) {
        int ties = 0;
        double left = element_of(table, bytes, a.data, place_on_line(&a, p));
        double right = element_of(table, bytes, b.data, place_on_line(&b, p));
        if (type == MMT_TF32) {
            left = nearest_tf32((float) left, &ties);
            right = nearest_tf32((float) right, &ties);
        }
        sum += left * right;
        size += least > 0 ? fmax(fabs(left), least) * fmax(fabs(right), least)
                          : fabs(left * right);
        over |= beyond(left * right, FLT_MAX);
        if (ties)
            in_ties += ties * fabs(left * right);
    }
    return (struct dot){ sum, size, in_ties, over };
}

/* The lower 32 bits of one of whole numbers. */
static uint32_t dot_whole_type(mmt_type type, struct line a, struct line b, int64_t k)
{
    uint32_t sum = 0;

    for (int64_t p = 0; p < k; p++) {
        const int64_t x = place_on_line(&a, p), y = place_on_line(&b, p);
        sum +=
            type == MMT_I8
                ? (uint32_t) (((const int8_t *) a.data)[x] * ((const int8_t *) b.data)[y])
                : ((const uint32_t *) a.data)[x] * ((const uint32_t *) b.data)[y];
    }
    return sum;
}

/* ---- what comes after the product ------------------------------------------------ */

static const void *element_of_c(const struct mmt_oracle *o, int64_t batch, int64_t i,
                                int64_t j)
{
    const mmt_problem *p = o->problem;
    size_t place = (size_t) (batch * p->stride_c + i * p->ldc + j);
    return (const char *) o->c + place * mmt_type_size(p->out);
}

static const void *element_of_bias(const struct mmt_oracle *o, int64_t i, int64_t j)
{
    const mmt_problem *p = o->problem;
    size_t place = (size_t) (p->bias == MMT_BIAS_M ? i : j);
    return (const char *) o->bias + place * mmt_type_size(p->out);
}

static long double apply_activation(mmt_activation activation, long double x)
{
    switch (activation) {
    case MMT_ACTIVATION_NONE:
        return x;
    case MMT_RELU:
        return x < 0 ? 0 : x;
    case MMT_GELU:
        return x / 2 * erfcl(-x * sqrtl(0.5L));
    case MMT_GELU_TANH: /* 1 + tanh(y) is 2 / (1 + exp(-2 y)) */
        return x / (1 + expl(-2 * sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x)));
    case MMT_SILU:
        return x / (1 + expl(-x));
    }
    return NAN;
}

/* How much of the size of all products a sum may be off. */
static long double sum_error(const mmt_problem *p, const struct dot *dot)
{
    static const int64_t longest = 1 << 16;
    int64_t one_by_one = p->k < longest ? p->k : longest;
    long double u = mmt_number_roundoff(mmt_type_scalar(p->type)),
                ku = (one_by_one + 2) * u;
    long double part = 2 * ku / (1 - ku);

    if (mmt_type_in(p->type, MMT_F8_TYPES))
        part += fminl((p->k / 32.0L + 2) * 0x1p-11L, 0x1p-8L);
    return part * dot->size + 0x1.002p-10L * dot->ties;
}

/* Sums of products beyond a kernel's numbers, of both signs, are what the order of the
 * sum makes of them; so is the sign of one near 0, which an infinite alpha shows. */
static bool is_left_to_order(const struct mmt_oracle *o, const struct dot *dot)
{
    const int all = POSITIVE | NEGATIVE | FINITE;
    return (dot->beyond & all) == all || (isinf(o->alpha) && !o->exact && o->problem->k &&
                                          fabsl(dot->sum) <= sum_error(o->problem, dot));
}

/* Infinite where a kernel's own type is. */
static long double overflow(mmt_type type, long double x)
{
    return isinf(mmt_number_round(type, (double) x)) ? copysignl(INFINITY, x) : x;
}

/* The size of the exponent of e to which an activation raises it: an error of its
 * argument is one of the answer so many times. */
static long double exponent_of(mmt_activation activation, long double x)
{
    return activation == MMT_GELU        ? x * x / 2
           : activation == MMT_GELU_TANH ? fabsl(1.6L * x) + fabsl(0.0714L * x * x * x)
           : activation == MMT_SILU      ? fabsl(x)
                                         : 0;
}

/* Of a smooth activation of x, which may be off by `bound`: the power of e to some units
 * in the last place, or 0 where it is subnormal. */
static long double smooth_bound(const mmt_problem *p, long double x, long double bound)
{
    static const long double steepest = 1.13L;
    const mmt_type scalar = mmt_type_scalar(p->type);
    const long double value = fabsl(apply_activation(p->activation, x));
    const long double places = 32 + 4 * exponent_of(p->activation, x);
    return steepest * bound + places * mmt_number_roundoff(scalar) * value +
           4 * least_normal(scalar) * (1 + fabsl(x));
}

static struct mmt_answer finish_answer(const mmt_problem *p, long double x,
                                       long double bound)
{
    long double v = mmt_number_roundoff(p->out);
    x = overflow(mmt_type_scalar(p->type), x);
    struct mmt_answer answer = { apply_activation(p->activation, x), bound };

    if (!isfinite(x)) /* what a smooth activation makes of -infinity is left to it */
        return (struct mmt_answer){ answer.value,
                                    p->activation > MMT_RELU && x < 0 ? INFINITY : 0 };
    if (p->activation > MMT_RELU)
        answer.bound = smooth_bound(p, x, bound);
    answer.bound += v * (fabsl(answer.value) + answer.bound) + mmt_number_tiny(p->out);
    if (isinf(mmt_number_round(p->out, (double) answer.value)))
        answer = (struct mmt_answer){ copysignl(INFINITY, answer.value), 0 };
    return answer;
}

/* ---- an entry -------------------------------------------------------------------- */

static uint32_t whole_at(const void *element)
{
    uint32_t value;
    memcpy(&value, element, sizeof value);
    return value;
}

static struct mmt_answer complete_whole(const struct mmt_oracle *o, uint32_t sum,
                                        int64_t batch, int64_t i, int64_t j)
{
    const mmt_problem *p = o->problem;
    uint32_t value = (uint32_t) (int64_t) o->alpha * sum;

    if (o->beta != 0)
        value += (uint32_t) (int64_t) o->beta * whole_at(element_of_c(o, batch, i, j));
    if (p->bias)
        value += whole_at(element_of_bias(o, i, j));
    return (struct mmt_answer){ .value =
                                    apply_activation(p->activation, (int32_t) value) };
}

static struct mmt_answer whole_entry(const struct mmt_oracle *o, struct line a,
                                     struct line b, int64_t batch, int64_t i, int64_t j)
{
    const mmt_problem *p = o->problem;
    uint32_t sum = 0;

    if (o->alpha != 0)
        sum = dot_whole_type(p->type, a, b, p->k);
    return complete_whole(o, sum, batch, i, j);
}

/* The one right element, but of a smooth activation. */
static struct mmt_answer exact_answer(const mmt_problem *p, struct mmt_answer answer)
{
    if (p->activation > MMT_RELU || mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return answer;
    answer.value = mmt_number_round(p->out, (double) answer.value);
    answer.bound = 0;
    return answer;
}

/* An entry of floats whose sum over k is known; `size` of its products' sizes. */
static struct mmt_answer complete_answer(const struct mmt_oracle *o,
                                         const struct dot *dot, int64_t batch, int64_t i,
                                         int64_t j)
{
    const mmt_problem *p = o->problem;
    const mmt_type scalar = mmt_type_scalar(p->type);
    long double old = 0, bias = 0, u = mmt_number_roundoff(scalar);
    const long double sum = overflow(scalar, dot->sum);
    long double bound = 0;

    if (is_left_to_order(o, dot))
        return (struct mmt_answer){ NAN, INFINITY };
    if (o->beta != 0)
        old = o->beta * mmt_number_read(p->out, element_of_c(o, batch, i, j));
    if (p->bias)
        bias = mmt_number_read(p->out, element_of_bias(o, i, j));
    if (!o->exact)
        bound = fabs(o->alpha) * (sum_error(p, dot) + 4 * mmt_number_tiny(scalar)) +
                2 * u * (fabsl(old) + fabsl(bias)) + 4 * mmt_number_tiny(scalar);
    const struct mmt_answer answer =
        finish_answer(p, overflow(scalar, o->alpha * sum) + old + bias, bound);
    return o->exact ? exact_answer(p, answer) : answer;
}

static struct mmt_answer grid_entry(const struct mmt_oracle *o, int64_t batch, int64_t i,
                                    int64_t j)
{
    const struct mmt_answer answer = mmt_oracle_grid_entry(o, batch, i, j);
    return o->exact ? exact_answer(o->problem, answer) : answer;
}

struct mmt_answer mmt_oracle_entry(const struct mmt_oracle *o, int64_t batch, int64_t i,
                                   int64_t j)
{
    const mmt_problem *p = o->problem;
    if (!mmt_op_row(p->op)->sums)
        return grid_entry(o, batch, i, j);
    if (j >= mmt_op_computed(p, i))
        return (struct mmt_answer){ mmt_number_read(p->out, element_of_c(o, batch, i, j)),
                                    0 };
    struct line a = line_of_a(o, batch, i), b = line_of_b(o, batch, i, j);
    struct dot dot = { 0 };

    if (mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return whole_entry(o, a, b, batch, i, j);
    if (o->alpha != 0)
        dot = p->type == MMT_F64 ? dot_f64(a, b, p->k) : dot_doubles(p->type, a, b, p->k);
    return complete_answer(o, &dot, batch, i, j);
}

/* ---- all entries, of whole numbers ----------------------------------------------- */

/* Rows of op(A), or columns of op(B), of one matrix as numbers that follow each other. */
static void read_lines(const struct mmt_oracle *o, int64_t batch, bool of_b,
                       int64_t lines, int32_t *out)
{
    const mmt_problem *p = o->problem;
    const size_t element = mmt_type_size(p->type);

    for (int64_t i = 0; i < lines; i++) {
        const struct line line =
            of_b ? line_of_b(o, batch, 0, i) : line_of_a(o, batch, i);
        for (int64_t l = 0; l < p->k; l++)
            *out++ = (int32_t) mmt_number_read(
                p->type,
                (const char *) line.data + (size_t) place_on_line(&line, l) * element);
    }
}

static uint32_t dot_whole(const int32_t *a, const int32_t *b, int64_t k)
{
    uint32_t sum = 0;
    for (int64_t l = 0; l < k; l++)
        sum += (uint32_t) a[l] * (uint32_t) b[l];
    return sum;
}

static struct mmt_answer whole_answer(const struct mmt_oracle *o, uint32_t sum,
                                      int64_t batch, int64_t i, int64_t j)
{
    const mmt_problem *p = o->problem;
    if (mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return complete_whole(o, sum, batch, i, j);
    const struct dot dot = { (int32_t) sum, fabs((double) (int32_t) sum), 0 };
    return complete_answer(o, &dot, batch, i, j);
}

mmt_status mmt_oracle_whole(const struct mmt_oracle *o, struct mmt_answer *out,
                            mmt_error *err)
{
    mmt_problem summed = *o->problem; /* no error of sums, but of what comes after */
    struct mmt_oracle after = *o;
    const mmt_problem *p = o->problem;
    const size_t k = (size_t) p->k;
    int32_t *a = malloc(((size_t) p->m * k + 1) * sizeof *a);
    int32_t *b = malloc(((size_t) p->n * k + 1) * sizeof *b);

    if (!a || !b) {
        free(a);
        free(b);
        return mmt_fail(err, MMT_ERROR_MEMORY,
                        "no memory left for the answers of a test");
    }
    summed.k = 0;
    after.problem = &summed;
    for (int64_t z = 0; z < p->batch; z++) {
        read_lines(o, z, false, p->m, a);
        read_lines(o, z, true, p->n, b);
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++)
                *out++ = whole_answer(
                    &after, dot_whole(a + (size_t) i * k, b + (size_t) j * k, p->k), z, i,
                    j);
    }
    free(a);
    free(b);
    return MMT_OK;
}

bool mmt_oracle_agrees(mmt_type out, const void *element, struct mmt_answer answer)
{
    const long double found = mmt_number_read(out, element);
    if (isinf(answer.bound))
        return true;
    if (isnan(answer.value))
        return isnan(found);
    return found == answer.value || fabsl(found - answer.value) <= answer.bound;
}

double mmt_oracle_exact_below(mmt_type type)
{
    return mmt_type_in(type, MMT_F8_TYPES) ? 0x1p13
                                           : mmt_number_whole(mmt_type_scalar(type));
}

/* ---- Freivalds ------------------------------------------------------------------- */

enum { PART = MMT_MATRIX_PART };

/* `count` elements as int64. Returns how many of them there are before one that is no
 * whole number within the limit. */
static int64_t whole_part(mmt_type type, const void *elements, int64_t count, double most,
                          int64_t *out)
{
    double numbers[PART];
    int64_t j = 0;

    mmt_number_read_all(type, elements, count, numbers);
    for (; j < count && fabs(numbers[j]) <= most; j++) {
        out[j] = (int64_t) numbers[j];
        if (numbers[j] != (double) out[j])
            break;
    }
    return j;
}

static const void *part_at(const struct mmt_matrix *c, int64_t row, int64_t column)
{
    struct line line = { c->data, c->first + row * c->ld, 1, c->period };
    return (const char *) c->data +
           (size_t) place_on_line(&line, column) * mmt_type_size(c->type);
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
            int64_t whole = whole_part(c->type, part_at(c, i, j), count, limit, part);
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
