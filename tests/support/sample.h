/* A template of the tests' own, which no change of the real ones can move. */
#ifndef MMT_TESTS_SAMPLE_H
#define MMT_TESTS_SAMPLE_H

#include "generator/generator.h"

enum { ROWS, LAYOUT, DEPTH };

static const char *const layouts[] = { "plain", "pad", "xor" };
static const struct mmt_knob knobs[] = {
    [ROWS] = MMT_KNOB("ROWS", "rows per thread", 1, 2, 4, 8),
    [LAYOUT] = { "LAYOUT", "place of elements", 3, { 0, 1, 5 }, layouts },
    [DEPTH] = MMT_KNOB("DEPTH", "depth", 16, 32),
};

static const char *reject(const int *v, const struct mmt_variant *variant,
                          const struct mmt_caps *caps)
{
    if ((unsigned) v[ROWS] > caps->max_threads)
        return "more rows than threads";
    return v[LAYOUT] == 5 && variant->aligned ? "xor is for any alignment" : NULL;
}

static const char *refuse(const int *v, const mmt_problem *problem)
{
    return problem->m < v[ROWS] ? "fewer rows than a thread takes" : NULL;
}

static struct mmt_alignment alignment(const int *v, const mmt_problem *problem)
{
    unsigned size = (unsigned) mmt_type_size(problem->type);
    return (struct mmt_alignment){ 16, 2 * size, (unsigned) v[ROWS] * size };
}

static const int seeds[][MMT_MAX_KNOBS] = { { 4, 0, 16 }, { 1, 5, 32 } };

static const struct mmt_template sample = {
    .name = "sample",
    .what = "the goldens' own",
    .op = MMT_GEMM,
    .types = 1 << MMT_F32 | 1 << MMT_F64,
    .dialects = MMT_CUDA_CXX | MMT_OPENCL_C,
    .preferred_on = MMT_GPU,
    .file = "sample.cl",
    .knobs = knobs,
    .num_knobs = 3,
    .check_device = reject,
    .check_problem = refuse,
    .alignment = alignment,
    .seeds = seeds,
    .num_seeds = 2,
};

#endif
