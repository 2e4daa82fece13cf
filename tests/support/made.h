/* Problems and configurations by their words. What cannot be made ends the program. */
#ifndef MMT_TESTS_MADE_H
#define MMT_TESTS_MADE_H

#include "generator/generator.h"
#include "tests/support/test.h"

static inline struct mmt_config config_of(const char *words)
{
    struct mmt_config config;
    if (!CHECK_OK(mmt_config_parse(words, &config, &err), err))
        exit(1);
    return config;
}

static inline mmt_problem problem_of(const char *words)
{
    mmt_problem problem;
    if (!CHECK_OK(mmt_problem_parse(words, &problem, &err), err))
        exit(1);
    return problem;
}

/* The problem with all that it leaves to be derived. */
static inline mmt_problem normal_of(mmt_problem problem)
{
    mmt_problem out;
    if (!CHECK_OK(mmt_problem_normalise(&problem, &out, &err), err))
        exit(1);
    return out;
}

/* Of f32, none of them transposed. */
static inline mmt_problem product(int64_t m, int64_t n, int64_t k)
{
    return normal_of(mmt_gemm_problem(MMT_F32, m, n, k));
}

#endif
