/* What a command line says of kernels' work: shapes as they are spelled, problems of
 * them, a template. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"

static bool read_extent(const char **string, int64_t *out)
{
    char *end;
    if (**string < '0' || **string > '9')
        return false;
    errno = 0;
    *out = strtoll(*string, &end, 10);
    *string = end;
    return !errno && *out >= 1 && *out <= MMT_MOST_DIMENSION;
}

/* Numbers with x between them, at most four; 0 where the text is anything else. */
static int read_extents(const char *at, int64_t extents[4])
{
    int count = 0;
    while (count < 4 && read_extent(&at, &extents[count])) {
        count++;
        if (*at != 'x' && *at != 'X')
            return *at ? 0 : count;
        at++;
    }
    return 0;
}

static mmt_status check_range(const char *string, mmt_op op, int64_t low, int64_t high,
                              mmt_error *err)
{
    if (op != MMT_GEMM)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' has a range of m; %s takes none, gemm alone does", string,
                        mmt_op_row(op)->name);
    if (high < low)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s': the range ends before it begins; the lesser m comes "
                        "first, %" PRId64 "-%" PRId64,
                        string, high, low);
    if (high == low)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s': the range has one m; %" PRId64 " alone names it", string,
                        low);
    return MMT_OK;
}

mmt_status mmt_option_shape(const char *string, mmt_op op, struct mmt_shape *out,
                            mmt_error *err)
{
    mmt_status status = mmt_option_range(string, op, out, err);
    if (status || !out->m_to)
        return status;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "'%s' is a range of m, which `mmtune tune` alone takes; here it must "
                    "be one m, such as %" PRId64 "%s",
                    string, out->m_to, strpbrk(string, "xX"));
}

mmt_status mmt_option_range(const char *string, mmt_op op, struct mmt_shape *out,
                            mmt_error *err)
{
    const struct mmt_op_row *row = mmt_op_row(op);
    int dimensions = (int) strlen(row->dimensions);
    int64_t extents[4] = { 1, 1, 1, 1 }, low = 0;
    const char *at = string;
    const bool range = read_extent(&at, &low) && *at == '-';
    int count = read_extents(range ? at + 1 : string, extents);
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 1, 1, 1);
    char form[8];

    if (count == 1 && dimensions == 2 && !row->least) {
        *mmt_op_dimension(&problem, row->dimensions[1]) = extents[0];
    } else if (count == dimensions || count == dimensions + 1) {
        for (int i = 0; i < dimensions; i++)
            *mmt_op_dimension(&problem, row->dimensions[i]) = extents[i];
    } else {
        mmt_op_form(op, form);
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "'%s' is no shape of %s; one is %s, such as %s, or %sxBATCH, "
                        "each a whole number from 1 to %d",
                        string, row->name, form, row->example, form, MMT_MOST_DIMENSION);
    }
    *out = (struct mmt_shape){ .m = range ? low : problem.m,
                               .n = problem.n,
                               .k = problem.k,
                               .batch = count > dimensions ? extents[dimensions] : 1,
                               .m_to = range ? problem.m : 0 };
    return range ? check_range(string, op, low, problem.m, err) : MMT_OK;
}

mmt_problem mmt_shape_problem(mmt_op op, mmt_type type, const struct mmt_shape *shape)
{
    mmt_problem problem = mmt_gemm_problem(type, shape->m, shape->n, shape->k);
    problem.op = op;
    problem.batch = shape->batch;
    if (shape->f32_out && mmt_type_has_choice(type))
        problem.out = MMT_F32;
    struct mmt_stored a = mmt_op_stored(&problem, MMT_OPERAND_A),
                      b = mmt_op_stored(&problem, MMT_OPERAND_B);
    problem.stride_a = a.rows * a.cols;
    problem.stride_b = b.rows * b.cols;
    return problem;
}

/* The next odd number beyond a row's length. */
static int64_t odd_beyond(int64_t length)
{
    return length + 1 + length % 2;
}

void mmt_ld_padding_apply(mmt_problem *problem)
{
    problem->lda = odd_beyond(problem->trans_a ? problem->m : problem->k);
    problem->ldb = odd_beyond(problem->trans_b ? problem->k : problem->n);
    problem->ldc = odd_beyond(problem->n);
    if (problem->batch > 1) {
        problem->stride_a = problem->lda * (problem->trans_a ? problem->k : problem->m);
        problem->stride_b = problem->ldb * (problem->trans_b ? problem->n : problem->k);
    }
}

/* ---- templates ------------------------------------------------------------------- */

mmt_status mmt_option_read_template(const struct mmt_take *take, const char *value,
                                    mmt_error *err)
{
    const char **out = take->out;
    *out = mmt_config_template_name(value, err);
    return *out ? MMT_OK : MMT_ERROR_ARGUMENT;
}
