/* Ranges of m: which segment serves a problem, and how two compare. */
#include "profiles/fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int64_t mmt_range_end(const struct mmt_range *range)
{
    return range->segments[range->num_segments - 1].m_to;
}

int mmt_range_find(const struct mmt_range *range, const mmt_problem *problem)
{
    const mmt_problem at = mmt_problem_with_m(&range->problem, problem->m);
    int i = 0;
    if (problem->m < range->problem.m || problem->m > mmt_range_end(range) ||
        !mmt_problem_equal(&at, problem))
        return -1;
    while (range->segments[i].m_to < problem->m)
        i++;
    return i;
}

bool mmt_range_same(const struct mmt_range *a, const struct mmt_range *b)
{
    return mmt_problem_equal(&a->problem, &b->problem) &&
           mmt_range_end(a) == mmt_range_end(b);
}

double mmt_range_ratio(const struct mmt_range *a, const struct mmt_range *b)
{
    double sum = 0;
    int common = 0;
    for (int i = 0, j = 0; i < a->num_times && j < b->num_times;) {
        const int64_t m = a->times[i].m, other = b->times[j].m;
        if (m == other)
            sum += log(a->times[i].seconds / b->times[j].seconds), common++;
        i += m <= other;
        j += other <= m;
    }
    return common ? exp(sum / common) : 0;
}

void mmt_range_print_to(const mmt_problem *first, int64_t m_to, struct mmt_text *text)
{
    struct mmt_text problem = { 0 };
    mmt_problem_print(first, &problem);
    const char *n = strchr(mmt_text_string(&problem), 'x');
    mmt_text_addf(text, "%.*s-%" PRId64 "%s", (int) (n - mmt_text_string(&problem)),
                  mmt_text_string(&problem), m_to, n);
    mmt_text_finish(&problem);
}

void mmt_range_print(const struct mmt_range *range, struct mmt_text *text)
{
    mmt_range_print_to(&range->problem, mmt_range_end(range), text);
}

/* ---- reading ---------------------------------------------------------------------- */

static mmt_status check_problem(const struct mmt_range *range, mmt_error *err)
{
    const mmt_problem *p = &range->problem;
    if (p->op != MMT_GEMM || p->m < 1)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "its problem is %s with m %" PRId64
                        "; it must be gemm with m of at least 1",
                        mmt_op_row(p->op)->name, p->m);
    const mmt_problem packed = mmt_problem_with_m(p, p->m);
    if (!mmt_problem_equal(&packed, p))
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "its A or C has gaps; lda, ldc and their strides must be packed");
    return MMT_OK;
}

mmt_status mmt_range_check(void *item, mmt_error *err)
{
    const struct mmt_range *range = item;
    int64_t last = range->problem.m - 1;
    mmt_status status = check_problem(range, err);
    if (status)
        return status;
    if (!range->num_segments)
        return mmt_fail(err, MMT_ERROR_FORMAT, "it has no segments; it must have one");
    for (int i = 0; i < range->num_segments; last = range->segments[i++].m_to)
        if (range->segments[i].m_to <= last)
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "segments[%d].m_to is %" PRId64 "; it must be above %" PRId64,
                            i, range->segments[i].m_to, last);
    const int64_t end = last;
    last = range->problem.m - 1;
    for (int i = 0; i < range->num_times; last = range->times[i++].m)
        if (range->times[i].m <= last || range->times[i].m > end)
            return mmt_fail(err, MMT_ERROR_FORMAT,
                            "times[%d].m is %" PRId64 "; it must be above %" PRId64
                            " and at most %" PRId64,
                            i, range->times[i].m, last, end);
    if (end > MMT_MOST_DIMENSION)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the last m_to is %" PRId64 "; it must be at most %d", end,
                        MMT_MOST_DIMENSION);
    return MMT_OK;
}
