/* Checks, normalises, compares, prints and parses problems, and counts their FLOPs and
 * bytes. It knows no device. */
#include "base/problem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MOST_LD INT32_MAX

/* ---- the matrices of a problem --------------------------------------------------- */

/* One operand as it is stored. */
struct matrix {
    char name; /* 'a', 'b', 'c' */
    mmt_argument ld_is, stride_is;
    size_t size; /* bytes of one element */
    int64_t rows, cols;
    int64_t *ld, *stride;
};

static void matrices_of(mmt_problem *p, struct matrix out[3])
{
    size_t input = mmt_type_size(p->type), output = mmt_type_size(p->out);
    struct mmt_stored s[3];
    mmt_op_row(p->op)->stored(p, s);
    out[0] = (struct matrix){ 'a',     MMT_ARGUMENT_LDA, MMT_ARGUMENT_STRIDE_A,
                              input,   s[0].rows,        s[0].cols,
                              &p->lda, &p->stride_a };
    out[1] = (struct matrix){ 'b',     MMT_ARGUMENT_LDB, MMT_ARGUMENT_STRIDE_B,
                              input,   s[1].rows,        s[1].cols,
                              &p->ldb, &p->stride_b };
    out[2] = (struct matrix){ 'c',     MMT_ARGUMENT_LDC, MMT_ARGUMENT_STRIDE_C,
                              output,  s[2].rows,        s[2].cols,
                              &p->ldc, &p->stride_c };
}

static int64_t tight_stride(const struct matrix *x)
{
    return x->rows * *x->ld;
}

/* False where the extent in bytes does not fit 63 bits. */
static bool extent_of(const struct matrix *x, int64_t batch, int64_t *extent)
{
    int64_t one, gap, bytes;
    *extent = 0;
    if (x->rows == 0 || x->cols == 0 || batch == 0)
        return true;

    one = (x->rows - 1) * *x->ld + x->cols;
    return !__builtin_mul_overflow(batch - 1, *x->stride, &gap) &&
           !__builtin_add_overflow(gap, one, extent) &&
           !__builtin_mul_overflow(*extent, (int64_t) x->size, &bytes);
}

static int64_t extent_of_normalised(const mmt_problem *problem, int which)
{
    mmt_problem copy = *problem;
    struct matrix all[3];
    int64_t extent;
    matrices_of(&copy, all);
    extent_of(&all[which], copy.batch, &extent);
    return extent;
}

int64_t mmt_problem_extent_a(const mmt_problem *problem)
{
    return extent_of_normalised(problem, 0);
}

int64_t mmt_problem_extent_b(const mmt_problem *problem)
{
    return extent_of_normalised(problem, 1);
}

int64_t mmt_problem_extent_c(const mmt_problem *problem)
{
    return extent_of_normalised(problem, 2);
}

/* ---- checking -------------------------------------------------------------------- */

static mmt_status check_kind(const mmt_problem *in, mmt_error *err)
{
    if ((unsigned) in->op >= MMT_NUM_OPS)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_OP, "op is %d; it must be from %d (gemm) to %d (%s)",
            (int) in->op, MMT_GEMM, MMT_NUM_OPS - 1, mmt_op_row(MMT_NUM_OPS - 1)->name);
    if ((unsigned) in->type >= MMT_NUM_TYPES)
        return mmt_fail_argument(err, MMT_ARGUMENT_TYPE,
                                 "type is %d; it must be from %d (f32) to %d (i8)",
                                 (int) in->type, MMT_F32, MMT_I8);
    return MMT_OK;
}

static mmt_status resolve_output(mmt_problem *p, mmt_error *err)
{
    struct mmt_text right = { 0 };

    if (!mmt_type_has_choice(p->type))
        p->out = mmt_type_own_output(p->type);
    if ((unsigned) p->out < MMT_NUM_TYPES &&
        mmt_type_in(p->out, mmt_type_outputs(p->type)))
        return MMT_OK;
    mmt_type_list(mmt_type_outputs(p->type), &right);
    if ((unsigned) p->out < MMT_NUM_TYPES)
        mmt_fail_argument(
            err, MMT_ARGUMENT_OUT, "out is %s; for a product of %s there are %s",
            mmt_type_name(p->out), mmt_type_name(p->type), mmt_text_string(&right));
    else
        mmt_fail_argument(err, MMT_ARGUMENT_OUT,
                          "out is %d; for a product of %s there are %s", (int) p->out,
                          mmt_type_name(p->type), mmt_text_string(&right));
    mmt_text_finish(&right);
    return MMT_ERROR_ARGUMENT;
}

static mmt_status check_epilogue(const mmt_problem *p, mmt_error *err)
{
    if ((unsigned) p->bias >= MMT_NUM_BIASES)
        return mmt_fail_argument(err, MMT_ARGUMENT_BIAS,
                                 "bias is %d; it must be from %d (none) to %d (column)",
                                 (int) p->bias, MMT_BIAS_NONE, MMT_BIAS_N);
    if ((unsigned) p->activation >= MMT_NUM_ACTIVATIONS)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_ACTIVATION,
            "activation is %d; it must be from %d (none) to %d (silu)",
            (int) p->activation, MMT_ACTIVATION_NONE, MMT_SILU);
    if (p->activation > MMT_RELU && mmt_type_in(p->type, MMT_WHOLE_TYPES))
        return mmt_fail_argument(
            err, MMT_ARGUMENT_ACTIVATION,
            "activation is %s; of whole numbers (%s) there is relu alone",
            mmt_activation_name(p->activation), mmt_type_name(p->type));
    return MMT_OK;
}

static mmt_status check_dimension(mmt_argument which, int64_t value, mmt_error *err)
{
    if (value >= 0 && value <= MMT_MOST_DIMENSION)
        return MMT_OK;
    return mmt_fail_argument(err, which, "%s is %" PRId64 "; it must be from 0 to %d",
                             mmt_argument_name(which), value, MMT_MOST_DIMENSION);
}

static mmt_status check_dimensions(const mmt_problem *p, mmt_error *err)
{
    mmt_status status = check_dimension(MMT_ARGUMENT_M, p->m, err);
    if (!status)
        status = check_dimension(MMT_ARGUMENT_N, p->n, err);
    if (!status)
        status = check_dimension(MMT_ARGUMENT_K, p->k, err);
    if (!status && p->batch < 0)
        status =
            mmt_fail_argument(err, MMT_ARGUMENT_BATCH,
                              "batch is %" PRId64 "; it must not be negative", p->batch);
    return status;
}

/* Rows that are read alone may share elements; those of C may not. */
static mmt_status resolve_ld(const struct matrix *x, mmt_error *err)
{
    const char name = (char) (x->name - 'a' + 'A');
    if (*x->ld == 0)
        *x->ld = x->cols;
    if (*x->ld < 0 || *x->ld > MOST_LD)
        return mmt_fail_argument(err, x->ld_is,
                                 "ld%c is %" PRId64
                                 "; it must be from 1 to %d, or 0 for no gap",
                                 x->name, *x->ld, MOST_LD);
    if (x->name == 'c' && *x->ld < x->cols)
        return mmt_fail_argument(err, x->ld_is,
                                 "ldc is %" PRId64 "; %c has rows of %" PRId64
                                 " elements, so it must be from there to %d, or 0 for no "
                                 "gap",
                                 *x->ld, name, x->cols, MOST_LD);
    return MMT_OK;
}

static mmt_status check_batch_by(const mmt_problem *p, mmt_error *err)
{
    if (p->batch_by != MMT_BY_STRIDE && p->batch_by != MMT_BY_POINTERS)
        return mmt_fail_argument(
            err, MMT_ARGUMENT_BATCH_BY,
            "batch_by is %d; it must be %d (stride) or %d (pointers)", (int) p->batch_by,
            MMT_BY_STRIDE, MMT_BY_POINTERS);
    if (p->batch_by == MMT_BY_POINTERS && p->op != MMT_GEMM)
        return mmt_fail_argument(err, MMT_ARGUMENT_BATCH_BY,
                                 "batch_by is pointers, which gemm has, and %s has not",
                                 mmt_op_row(p->op)->name);
    return MMT_OK;
}

/* The matrices of C stand one after the other, or side by side in wider rows. */
static bool overlaps(const struct matrix *c, int64_t batch)
{
    int64_t stride = *c->stride, width;
    if (batch < 2 || c->rows == 0 || c->cols == 0)
        return false;
    if (stride >= (c->rows - 1) * *c->ld + c->cols)
        return false;
    return stride < c->cols || __builtin_mul_overflow(batch - 1, stride, &width) ||
           width > *c->ld - c->cols;
}

static mmt_status resolve_stride(const struct matrix *x, int64_t batch, mmt_error *err)
{
    if (*x->stride < 0)
        return mmt_fail_argument(err, x->stride_is,
                                 "stride_%c is %" PRId64 "; it must not be negative",
                                 x->name, *x->stride);
    if (batch < 2)
        *x->stride = 0;
    else if (x->name == 'c' && *x->stride == 0)
        *x->stride = tight_stride(x);
    if (x->name == 'c' && overlaps(x, batch))
        return mmt_fail_argument(err, x->stride_is,
                                 "stride_c is %" PRId64 ", with which the %" PRId64
                                 " matrices of C overlap; %" PRId64
                                 " (or 0) leaves no gap",
                                 *x->stride, batch, tight_stride(x));
    return MMT_OK;
}

static mmt_status resolve(const struct matrix *x, const mmt_problem *p, mmt_error *err)
{
    int64_t extent;
    mmt_status status = resolve_ld(x, err);
    if (!status && __builtin_mul_overflow(x->rows, *x->ld, &extent))
        status = mmt_fail_argument(err, x->ld_is,
                                   "%c has %" PRId64 " rows, %" PRId64
                                   " elements apart; it must end below 2^63 bytes",
                                   x->name - 'a' + 'A', x->rows, *x->ld);
    if (!status && p->batch_by == MMT_BY_POINTERS)
        *x->stride = p->batch < 2 ? 0 : tight_stride(x);
    if (!status)
        status = resolve_stride(x, p->batch, err);
    if (!status && !extent_of(x, p->batch, &extent))
        status = mmt_fail(
            err, MMT_ERROR_ARGUMENT,
            "%c has %" PRId64 " rows, %" PRId64 " elements apart, batch is %" PRId64
            " and stride_%c %" PRId64 "; the last matrix must end below 2^63 bytes",
            x->name - 'a' + 'A', x->rows, *x->ld, p->batch, x->name, *x->stride);
    return status;
}

static mmt_status check_transposes(const mmt_problem *p, mmt_error *err)
{
    const int of[2] = { p->trans_a, p->trans_b };
    for (int i = 0; i < 2; i++)
        if (of[i] != 0 && of[i] != 1)
            return mmt_fail_argument(err, i ? MMT_ARGUMENT_TRANS_B : MMT_ARGUMENT_TRANS_A,
                                     "trans_%c is %d; it must be 0 or 1", "ab"[i], of[i]);
    return MMT_OK;
}

mmt_status mmt_problem_normalise(const mmt_problem *in, mmt_problem *out, mmt_error *err)
{
    mmt_problem p = { .batch = 1 };
    mmt_status status = mmt_struct_read(&p, sizeof p, offsetof(mmt_problem, bias), in,
                                        "mmt_problem", "mmt_gemm_problem", err);
    if (!status)
        status = check_kind(&p, err);
    if (!status)
        status = check_transposes(&p, err);
    if (!status)
        status = check_dimensions(&p, err);
    if (status)
        return status;

    p.batch = p.batch ? p.batch : 1;
    if ((status = resolve_output(&p, err)) || (status = check_epilogue(&p, err)) ||
        (status = check_batch_by(&p, err)) || (status = mmt_op_resolve(&p, err)))
        return status;

    struct matrix all[3];
    matrices_of(&p, all);
    for (int i = 0; i < 3; i++)
        if ((status = resolve(&all[i], &p, err)))
            return status;
    *out = p;
    return MMT_OK;
}

mmt_problem mmt_problem_fold(const mmt_problem *problem)
{
    mmt_problem p = *problem;
    const bool rows_follow = p.stride_a == p.m * p.lda && p.stride_c == p.m * p.ldc;

    if (p.op != MMT_GEMM || p.batch_by || p.batch < 2 || p.stride_b || p.trans_a ||
        !rows_follow || p.bias == MMT_BIAS_M || p.m < 1 || p.batch > INT32_MAX / p.m)
        return p;
    p.m *= p.batch;
    p.batch = 1;
    p.stride_a = p.stride_b = p.stride_c = 0;
    return p;
}

mmt_problem mmt_problem_with_m(const mmt_problem *problem, int64_t m)
{
    mmt_problem other = *problem;
    other.m = m;
    other.lda = problem->trans_a ? m : problem->k;
    other.ldc = problem->n;
    if (problem->stride_a)
        other.stride_a = m * problem->k;
    if (problem->stride_c)
        other.stride_c = m * problem->n;
    return other;
}

bool mmt_same_kind(const mmt_problem *a, const mmt_problem *b)
{
    return a->op == b->op && a->type == b->type && !a->trans_a == !b->trans_a &&
           !a->trans_b == !b->trans_b;
}

bool mmt_problem_equal(const mmt_problem *a, const mmt_problem *b)
{
    return mmt_same_kind(a, b) && a->m == b->m && a->n == b->n && a->k == b->k &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
           a->batch == b->batch && a->stride_a == b->stride_a &&
           a->stride_b == b->stride_b && a->stride_c == b->stride_c && a->out == b->out &&
           a->bias == b->bias && a->activation == b->activation &&
           a->batch_by == b->batch_by;
}

/* ---- costs ----------------------------------------------------------------------- */

double mmt_problem_flops(const mmt_problem *problem)
{
    return mmt_op_row(problem->op)
               ->flops((double) problem->m, (double) problem->n, (double) problem->k) *
           (double) problem->batch;
}

/* Rows, and matrices of a batch, may share elements, which are moved once; of a `lower`
 * matrix those above the diagonal are not moved. */
static double elements_of(const struct matrix *x, bool lower, int64_t batch)
{
    const double columns = lower ? ((double) x->cols + 1) / 2 : (double) x->cols;
    const double all =
        (double) x->rows * columns * (double) (x->name == 'c' || *x->stride ? batch : 1);
    int64_t extent;
    return extent_of(x, batch, &extent) && (double) extent < all ? (double) extent : all;
}

double mmt_problem_bytes(const mmt_problem *p)
{
    mmt_problem copy = *p;
    struct matrix all[3];
    double bytes = 0;

    matrices_of(&copy, all);
    for (int i = 0; i < 3; i++)
        bytes += elements_of(&all[i], i == 2 && mmt_op_row(p->op)->lower, p->batch) *
                 (double) all[i].size;
    if (p->bias)
        bytes += (double) (p->bias == MMT_BIAS_M ? p->m : p->n) *
                 (double) mmt_type_size(p->out);
    return bytes;
}

/* ---- spelling -------------------------------------------------------------------- */

void mmt_problem_print(const mmt_problem *problem, struct mmt_text *text)
{
    mmt_problem copy = *problem;
    struct matrix all[3];
    matrices_of(&copy, all);

    const struct mmt_op_row *op = mmt_op_row(copy.op);
    mmt_text_addf(text, "%s %s ", op->name, mmt_type_name(copy.type));
    if (op->transposes)
        mmt_text_addf(text, "%c%c ", copy.trans_a ? 't' : 'n', copy.trans_b ? 't' : 'n');
    mmt_op_print_shape(&copy, text);
    if (copy.out != mmt_type_own_output(copy.type))
        mmt_text_addf(text, " out=%s", mmt_type_name(copy.out));
    if (copy.bias)
        mmt_text_addf(text, " bias=%s", mmt_bias_name(copy.bias));
    if (copy.activation)
        mmt_text_addf(text, " activation=%s", mmt_activation_name(copy.activation));
    for (int i = 0; i < 3; i++)
        if (*all[i].ld != all[i].cols)
            mmt_text_addf(text, " ld%c=%" PRId64, all[i].name, *all[i].ld);
    if (copy.batch_by)
        mmt_text_addf(text, " batch_by=%s", mmt_batch_by_name(copy.batch_by));
    if (copy.batch == 1)
        return;

    mmt_text_addf(text, " batch=%" PRId64, copy.batch);
    for (int i = 0; i < 3; i++)
        if (*all[i].stride != tight_stride(&all[i]))
            mmt_text_addf(text, " stride_%c=%" PRId64, all[i].name, *all[i].stride);
}

/* Takes the next word, which may be of at most size - 1 characters; a longer one is cut,
 * and so matches nothing. Returns false at the end. */
static bool next_word(const char **at, char *word, size_t size)
{
    const char *start = *at + strspn(*at, " ");
    size_t length = strcspn(start, " ");
    size_t kept = length < size ? length : size - 1;
    memcpy(word, start, kept);
    word[kept] = 0;
    *at = start + length;
    return length > 0;
}

/* Digits up to the character `end`; returns what follows it, or NULL. */
static const char *read_number(const char *at, char end, int64_t *value)
{
    char *stop;
    if (*at < '0' || *at > '9')
        return NULL;
    errno = 0;
    *value = strtoll(at, &stop, 10);
    return errno || *stop != end ? NULL : stop + (end != 0);
}

static mmt_status read_type(const char *word, mmt_problem *p, mmt_error *err)
{
    int type = mmt_type_parse(word);
    if (type < 0) {
        struct mmt_text right = { 0 };
        mmt_type_list(MMT_ALL_TYPES, &right);
        mmt_fail(err, MMT_ERROR_ARGUMENT, "'%s' is no type; there are %s", word,
                 mmt_text_string(&right));
        mmt_text_finish(&right);
        return MMT_ERROR_ARGUMENT;
    }
    p->type = (mmt_type) type;
    p->out = mmt_type_own_output(p->type);
    return MMT_OK;
}

static mmt_status read_transposes(const char *word, mmt_problem *p, mmt_error *err)
{
    if (strlen(word) != 2 || strspn(word, "nt") != 2)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' says nothing about transposes; it must be nn, nt, tn or tt",
                        word);
    p->trans_a = word[0] == 't';
    p->trans_b = word[1] == 't';
    return MMT_OK;
}

static mmt_status read_shape(const char *word, mmt_problem *p, mmt_error *err)
{
    const struct mmt_op_row *op = mmt_op_row(p->op);
    const char *at = word;
    char form[8];
    for (const char *d = op->dimensions; *d && at; d++)
        at = read_number(at, d[1] ? 'x' : 0, mmt_op_dimension(p, *d));
    if (at)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "'%s' is no shape of %s; it must be %s, such as %s", word, op->name,
                    mmt_op_form(p->op, form), op->example);
}

static mmt_status read_op(const char *word, mmt_problem *p, mmt_error *err)
{
    struct mmt_text names = { 0 };
    int op = mmt_op_parse(word);
    if (op >= 0) {
        p->op = (mmt_op) op;
        return MMT_OK;
    }
    mmt_op_list(&names);
    mmt_fail(err, MMT_ERROR_ARGUMENT,
             "'%s' is no operation, there are %s; a problem reads like "
             "'gemm f32 nn 512x3000x1536'",
             word, mmt_text_string(&names));
    mmt_text_finish(&names);
    return MMT_ERROR_ARGUMENT;
}

/* A field of a problem as it is spelled: a number, or a word. */
struct field {
    const char *name;
    int64_t *number;
    int *word; /* an enum, which `parse` reads */
    int (*parse)(const char *);
    const char *right;
};

static mmt_status read_value(const struct field *field, const char *word,
                             const char *value, mmt_error *err)
{
    if (field->number) {
        if (read_number(value, 0, field->number))
            return MMT_OK;
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' must be %s=NUMBER, and at most 2^63 - 1", word,
                        field->name);
    }
    *field->word = field->parse(value);
    if (*field->word >= 0)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT, "'%s': %s must be %s", word, field->name,
                    field->right);
}

static mmt_status read_field(const char *word, mmt_problem *p, mmt_error *err)
{
    const struct field fields[] = {
        { "lda", .number = &p->lda },
        { "ldb", .number = &p->ldb },
        { "ldc", .number = &p->ldc },
        { "batch", .number = &p->batch },
        { "stride_a", .number = &p->stride_a },
        { "stride_b", .number = &p->stride_b },
        { "stride_c", .number = &p->stride_c },
        { "out", NULL, (int *) &p->out, mmt_type_parse, "a type, such as f32" },
        { "bias", NULL, (int *) &p->bias, mmt_bias_parse, "none, row or column" },
        { "activation", NULL, (int *) &p->activation, mmt_activation_parse,
          "none, relu, gelu, gelu_tanh or silu" },
        { "batch_by", NULL, (int *) &p->batch_by, mmt_batch_by_parse,
          "stride or pointers" },
    };
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strlen(fields[i].name) == length && !memcmp(fields[i].name, word, length))
            return read_value(&fields[i], word, word + length + (word[length] == '='),
                              err);
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "'%s' is no field of a problem; there are lda, ldb, ldc, batch, "
                    "stride_a, stride_b, stride_c, out, bias, activation and batch_by",
                    word);
}

/* Where a text names no stride, the matrices of a batch stand without gaps. */
static void fill_strides(mmt_problem *p)
{
    struct matrix all[3];
    matrices_of(p, all);
    for (int i = 0; i < 3; i++) {
        int64_t ld = *all[i].ld ? *all[i].ld : all[i].cols;
        if (*all[i].stride < 0 && __builtin_mul_overflow(all[i].rows, ld, all[i].stride))
            *all[i].stride = 0; /* a dimension is out of bounds, and refused for that */
    }
}

mmt_status mmt_problem_parse(const char *string, mmt_problem *out, mmt_error *err)
{
    mmt_problem p = mmt_gemm_problem(MMT_F32, 0, 0, 0);
    p.stride_a = p.stride_b = p.stride_c = -1;

    char word[128];
    const char *at = string;
    mmt_status (*const readers[])(const char *, mmt_problem *,
                                  mmt_error *) = { read_op, read_type, read_transposes,
                                                   read_shape };
    mmt_status status = MMT_OK;
    for (int i = 0; i < 4 && !status; i++) {
        if (readers[i] == read_transposes && !mmt_op_row(p.op)->transposes)
            continue;
        next_word(&at, word, sizeof(word));
        status = readers[i](word, &p, err);
    }
    while (!status && next_word(&at, word, sizeof(word)))
        status = read_field(word, &p, err);
    if (status)
        return status;

    fill_strides(&p);
    return mmt_problem_normalise(&p, out, err);
}
