/* The table of operations: dimensions, operands, and how much each reads, writes and
 * computes. What they compute stands in the oracle and the kernels. */
#include "base/op.h"

#include <inttypes.h>
#include <string.h>

#include "base/grow.h"

/* ---- what is stored -------------------------------------------------------------- */

static void product_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    out[MMT_OPERAND_A] = (struct mmt_stored){ p->m, p->k };
    out[MMT_OPERAND_B] = (struct mmt_stored){ p->k, p->n };
    out[MMT_OPERAND_C] = (struct mmt_stored){ p->m, p->n };
    if (p->trans_a)
        out[MMT_OPERAND_A] = (struct mmt_stored){ p->k, p->m };
    if (p->trans_b)
        out[MMT_OPERAND_B] = (struct mmt_stored){ p->n, p->k };
}

static void arrays_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = (struct mmt_stored){ p->m, p->n };
}

static void vectors_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    out[MMT_OPERAND_A] = out[MMT_OPERAND_B] = (struct mmt_stored){ p->m, p->k };
    out[MMT_OPERAND_C] = (struct mmt_stored){ p->m, 1 };
}

static void square_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    out[MMT_OPERAND_A] = (struct mmt_stored){ p->n, p->k };
    out[MMT_OPERAND_B] = (struct mmt_stored){ 0, 0 };
    out[MMT_OPERAND_C] = (struct mmt_stored){ p->n, p->n };
}

static void plane_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    arrays_stored(p, out);
    out[MMT_OPERAND_B] = (struct mmt_stored){ 0, 0 };
}

static void space_stored(const mmt_problem *p, struct mmt_stored out[3])
{
    int64_t rows; /* too many only where m or n is out of bounds */
    if (__builtin_mul_overflow(p->m, p->n, &rows))
        rows = INT64_MAX;
    for (int i = 0; i < 3; i++)
        out[i] = (struct mmt_stored){ rows, p->k };
}

/* ---- multiplications and additions ----------------------------------------------- */

static double product_flops(double m, double n, double k)
{
    return 2 * m * n * k;
}

static double triangle_flops(double m, double n, double k)
{
    return n * (n + 1) * k;
}

static double arrays_flops(double m, double n, double k)
{
    return 3 * m * n;
}

static double plane_flops(double m, double n, double k)
{
    return m && n ? 7 * (m - 2) * (n - 2) : 0;
}

static double space_flops(double m, double n, double k)
{
    return m && n && k ? 8 * (m - 2) * (n - 2) * (k - 2) : 0;
}

/* ---- the table ------------------------------------------------------------------- */

static const struct mmt_op_row rows[MMT_NUM_OPS] = {
    [MMT_GEMM] = { .name = "gemm",
                   .what = "C = alpha op(A) op(B) + beta C",
                   .dimensions = "mnk",
                   .example = "512x3000x1536",
                   .types = MMT_ALL_TYPES,
                   .reads = { MMT_UNLESS_ALPHA_0, MMT_UNLESS_ALPHA_0 },
                   .sums = true,
                   .transposes = true,
                   .product = true,
                   .stored = product_stored,
                   .flops = product_flops },
    [MMT_AXPBY] = { .name = "axpby",
                    .what = "C = alpha A + beta B",
                    .dimensions = "mn",
                    .example = "1x51200000",
                    .types = MMT_PLAIN_TYPES,
                    .reads = { MMT_UNLESS_ALPHA_0, MMT_UNLESS_BETA_0 },
                    .beta = 1,
                    .stored = arrays_stored,
                    .flops = arrays_flops },
    [MMT_DOT] = { .name = "dot",
                  .what = "C(i) = alpha sum_p A(i, p) B(i, p) + beta C(i)",
                  .dimensions = "mk",
                  .example = "5x1000000",
                  .types = MMT_PLAIN_TYPES,
                  .reads = { MMT_UNLESS_ALPHA_0, MMT_UNLESS_ALPHA_0 },
                  .sums = true,
                  .stored = vectors_stored,
                  .flops = product_flops },
    [MMT_HEAT2D] = { .name = "heat2d",
                     .what = "C = A + alpha (four neighbours - 4 A), inside a border",
                     .dimensions = "mn",
                     .example = "4096x4096",
                     .types = MMT_PLAIN_TYPES,
                     .reads = { MMT_ALWAYS, MMT_NEVER },
                     .least = 3,
                     .stored = plane_stored,
                     .flops = plane_flops },
    [MMT_JACOBI3D] = { .name = "jacobi3d",
                       .what = "C = alpha (six neighbours) + beta B, inside a border",
                       .dimensions = "mnk",
                       .example = "256x256x256",
                       .types = MMT_PLAIN_TYPES,
                       .reads = { MMT_ALWAYS, MMT_UNLESS_BETA_0 },
                       .least = 3,
                       .beta = 1,
                       .stored = space_stored,
                       .flops = space_flops },
    [MMT_SYRK] = { .name = "syrk",
                   .what =
                       "C = alpha A transposed(A) + beta C, on and below the diagonal",
                   .dimensions = "nk",
                   .example = "4096x1024",
                   .types = MMT_PLAIN_TYPES,
                   .reads = { MMT_UNLESS_ALPHA_0, MMT_NEVER },
                   .sums = true,
                   .product = true,
                   .lower = true,
                   .stored = square_stored,
                   .flops = triangle_flops },
};

const struct mmt_op_row *mmt_op_row(mmt_op op)
{
    return &rows[op];
}

struct mmt_stored mmt_op_stored(const mmt_problem *problem, enum mmt_which operand)
{
    struct mmt_stored all[3];
    rows[problem->op].stored(problem, all);
    return all[operand];
}

int64_t mmt_op_computed(const mmt_problem *problem, int64_t row)
{
    return rows[problem->op].lower ? row + 1 : mmt_op_stored(problem, MMT_OPERAND_C).cols;
}

int mmt_op_parse(const char *name)
{
    for (int i = 0; i < MMT_NUM_OPS; i++)
        if (!strcmp(rows[i].name, name))
            return i;
    return -1;
}

void mmt_op_list(struct mmt_text *text)
{
    for (int i = 0; i < MMT_NUM_OPS; i++)
        mmt_text_addf(text, "%s%s",
                      i == 0                ? ""
                      : i < MMT_NUM_OPS - 1 ? ", "
                                            : " and ",
                      rows[i].name);
}

int64_t *mmt_op_dimension(mmt_problem *p, char letter)
{
    return letter == 'm' ? &p->m : letter == 'n' ? &p->n : &p->k;
}

void mmt_op_print_shape(const mmt_problem *problem, struct mmt_text *text)
{
    mmt_problem copy = *problem;
    const char *separator = "";
    for (const char *at = rows[copy.op].dimensions; *at; at++, separator = "x")
        mmt_text_addf(text, "%s%" PRId64, separator, *mmt_op_dimension(&copy, *at));
}

const char *mmt_op_form(mmt_op op, char buffer[8])
{
    char *to = buffer;
    for (const char *at = rows[op].dimensions; *at; at++) {
        if (to > buffer)
            *to++ = 'x';
        *to++ = mmt_text_upper(*at);
    }
    *to = 0;
    return buffer;
}

/* ---- checking -------------------------------------------------------------------- */

static mmt_status check_type(const mmt_problem *p, mmt_error *err)
{
    struct mmt_text right = { 0 };
    if (mmt_type_in(p->type, rows[p->op].types))
        return MMT_OK;
    mmt_type_list(rows[p->op].types, &right);
    mmt_fail_argument(err, MMT_ARGUMENT_TYPE, "type is %s; %s has %s",
                      mmt_type_name(p->type), rows[p->op].name, mmt_text_string(&right));
    mmt_text_finish(&right);
    return MMT_ERROR_ARGUMENT;
}

static mmt_status check_extras(const mmt_problem *p, mmt_error *err)
{
    const struct {
        mmt_argument which;
        int value;
    } extras[] = {
        { MMT_ARGUMENT_TRANS_A, p->trans_a },
        { MMT_ARGUMENT_TRANS_B, p->trans_b },
        { MMT_ARGUMENT_BIAS, (int) p->bias },
        { MMT_ARGUMENT_ACTIVATION, (int) p->activation },
    };
    for (int i = 0; i < 4 && !rows[p->op].transposes; i++)
        if (extras[i].value)
            return mmt_fail_argument(
                err, extras[i].which, "%s is %d; %s has none, it must be 0",
                mmt_argument_name(extras[i].which), extras[i].value, rows[p->op].name);
    return MMT_OK;
}

static mmt_argument argument_of(char letter)
{
    return letter == 'm'   ? MMT_ARGUMENT_M
           : letter == 'n' ? MMT_ARGUMENT_N
                           : MMT_ARGUMENT_K;
}

static mmt_status resolve_dimension(mmt_problem *p, char letter, mmt_error *err)
{
    const struct mmt_op_row *row = &rows[p->op];
    int64_t *value = mmt_op_dimension(p, letter);

    if (!strchr(row->dimensions, letter)) {
        if (*value != 0 && *value != 1)
            return mmt_fail_argument(err, argument_of(letter),
                                     "%c is %" PRId64 "; %s has none, it must be 1",
                                     letter, *value, row->name);
        *value = 1;
    } else if (*value > 0 && *value < row->least) {
        return mmt_fail_argument(err, argument_of(letter),
                                 "%c is %" PRId64
                                 "; a grid of %s has a border and something inside "
                                 "it, so it must be at least %d",
                                 letter, *value, row->name, row->least);
    }
    return MMT_OK;
}

static mmt_status check_layout(const mmt_problem *p, mmt_error *err)
{
    if (rows[p->op].reads[MMT_OPERAND_B] == MMT_NEVER && (p->ldb || p->stride_b))
        return mmt_fail_argument(err, p->ldb ? MMT_ARGUMENT_LDB : MMT_ARGUMENT_STRIDE_B,
                                 "ldb is %" PRId64 " and stride_b %" PRId64
                                 "; %s has no B, they must be 0",
                                 p->ldb, p->stride_b, rows[p->op].name);
    return MMT_OK;
}

mmt_status mmt_op_resolve(mmt_problem *problem, mmt_error *err)
{
    mmt_status status = check_type(problem, err);
    if (!status)
        status = check_extras(problem, err);
    for (const char *letter = "mnk"; *letter && !status; letter++)
        status = resolve_dimension(problem, *letter, err);
    return status ? status : check_layout(problem, err);
}

bool mmt_op_needs(const mmt_problem *problem, enum mmt_which operand, double alpha,
                  double beta, bool unknown)
{
    const struct mmt_op_row *row = &rows[problem->op];
    if (row->sums && problem->k == 0)
        return false;
    switch (row->reads[operand]) {
    case MMT_NEVER:
        return false;
    case MMT_ALWAYS:
        return true;
    case MMT_UNLESS_ALPHA_0:
        return unknown || alpha != 0;
    case MMT_UNLESS_BETA_0:
        return unknown || beta != 0;
    }
    return true;
}

/* ---- plain problems -------------------------------------------------------------- */

void mmt_problem_init(mmt_problem *out, size_t size, mmt_op op, mmt_type type, int64_t m,
                      int64_t n, int64_t k)
{
    const mmt_problem problem = {
        .op = op,
        .type = type,
        .m = m,
        .n = n,
        .k = k,
        .batch = 1,
        .out = (unsigned) type < MMT_NUM_TYPES ? mmt_type_own_output(type) : MMT_F32,
    };
    mmt_struct_fill(out, size, &problem, sizeof problem);
}

static mmt_problem plain(mmt_op op, mmt_type type, int64_t m, int64_t n, int64_t k)
{
    mmt_problem problem;
    mmt_problem_init(&problem, sizeof problem, op, type, m, n, k);
    return problem;
}

mmt_problem mmt_op_problem(mmt_op op, mmt_type type, int64_t m, int64_t n, int64_t k)
{
    mmt_problem sizes = plain(op, type, m, n, k), problem = plain(op, type, 1, 1, 1);
    for (const char *at = rows[op].dimensions; *at; at++) {
        int64_t size = *mmt_op_dimension(&sizes, *at);
        *mmt_op_dimension(&problem, *at) =
            size > 0 && size < rows[op].least ? rows[op].least : size;
    }
    return problem;
}
