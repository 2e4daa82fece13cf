/* Fitting: which kernels a family's portfolio has, what they are right for, and on what
 * its model rests, by times of a device that is made up. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/runtime.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/model/fit.h"

enum { KERNELS = SYNTHETIC_KERNELS };

static struct mmt_portfolio_kernel kernels[KERNELS];

/* Whether a kernel is one of the first so many. */
static bool has_kernel(const struct mmt_portfolio_kernel *kernel, int count)
{
    int i = 0;
    while (i < count && !mmt_config_equal(&kernels[i].config, &kernel->config))
        i++;
    return i < count;
}

/* Long searches meet the same goals with many kernels, more of them than a calibration
 * has: none of these is in the portfolio where it was not checked, however fast it was
 * there. */
static void test_searched(void)
{
    enum { COMMON = 20, CALIBRATED = 4, GOALS_MET = 8 };
    struct mmt_fit_sample samples[(COMMON + GOALS_MET) * KERNELS];
    struct mmt_profile *profile = mmt_profile_create();
    size_t count = 0;
    mmt_error err;

    synthetic_kernels(kernels);
    profile->caps = synthetic_gpu();
    for (int s = 0; s < COMMON + GOALS_MET; s++) {
        const mmt_problem problem = synthetic_any_shape();
        const bool goal = s >= COMMON;
        for (int i = goal ? CALIBRATED : 0; i < (goal ? KERNELS : CALIBRATED); i++) {
            samples[count] = synthetic_sample(&kernels[i], &problem, 0.01);
            samples[count].seconds /= goal ? 100 : 1;
            samples[count++].checked = !goal;
        }
    }
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples, count, &err), err);
    CHECK(profile->num_portfolio > 0);
    for (size_t i = 0; i < profile->num_portfolio; i++)
        CHECK(has_kernel(&profile->portfolio[i], CALIBRATED));
    mmt_profile_free(profile);
}

/* Samples of so many problems of a type, by the first two kernels. */
static size_t make_samples(struct mmt_fit_sample *samples, mmt_type type, int problems)
{
    size_t count = 0;
    for (int s = 0; s < problems; s++) {
        mmt_problem problem = synthetic_any_shape();
        problem.type = type;
        for (int i = 0; i < 2; i++)
            samples[count++] = synthetic_sample(&kernels[i], &problem, 0.01);
    }
    return count;
}

static int shapes_of(const struct mmt_profile *profile, mmt_type type)
{
    const struct mmt_model *model = mmt_profile_model(profile, type);
    return model ? model->shapes : -1;
}

/* A journal that lost most of its records takes nothing from the profile; one that grew
 * replaces the family that it is of, and nothing else. */
static void test_lost_journal(void)
{
    enum { MANY = 20, FEW = 9 };
    struct mmt_fit_sample samples[2 * MANY];
    struct mmt_profile *profile = mmt_profile_create();
    mmt_error err;

    synthetic_kernels(kernels);
    profile->caps = synthetic_gpu();
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples,
                              make_samples(samples, MMT_F32, MANY), &err),
             err);
    const size_t first = profile->num_portfolio;
    CHECK(first > 0 && shapes_of(profile, MMT_F32) == MANY);
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples,
                              make_samples(samples, MMT_I32, FEW), &err),
             err);
    CHECK(profile->num_portfolio > first && shapes_of(profile, MMT_I32) == FEW);
    const size_t all = profile->num_portfolio;
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples,
                              make_samples(samples, MMT_F32, FEW), &err),
             err);
    CHECK(profile->num_portfolio == all && shapes_of(profile, MMT_F32) == MANY);
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples, 0, &err), err);
    CHECK_EQ_INT(profile->num_portfolio, all);
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples,
                              make_samples(samples, MMT_F32, FEW + 1), &err),
             err);
    CHECK_EQ_INT(shapes_of(profile, MMT_F32), FEW + 1);
    CHECK_EQ_INT(shapes_of(profile, MMT_I32), FEW);
    CHECK_EQ_INT(profile->num_models, 2);
    mmt_profile_free(profile);
}

/* Times of the kernels from `first` on, before `end`, on so many problems. */
static size_t make_part(struct mmt_fit_sample *samples, int first, int end, int problems)
{
    size_t count = 0;
    for (int s = 0; s < problems; s++) {
        const mmt_problem problem = synthetic_any_shape();
        for (int i = first; i < end; i++)
            samples[count++] = synthetic_sample(&kernels[i], &problem, 0.01);
    }
    return count;
}

/* A portfolio that there is stays where it is not to be selected, though its base costs
 * and its model are fitted anew and others would be better. */
static void test_not_chosen(void)
{
    enum { FEW = 10, MORE = 16, KNOWN = 4 };
    static struct mmt_fit_sample samples[MORE * KERNELS];
    struct mmt_profile *profile = mmt_profile_create();
    mmt_error err;

    synthetic_kernels(kernels);
    profile->caps = synthetic_gpu();
    CHECK_OK(
        mmt_fit_families(profile, 0, samples, make_part(samples, 0, KNOWN, FEW), &err),
        err); /* there is none yet */
    const size_t known = profile->num_portfolio;
    double first[MMT_NUM_TERMS];
    memcpy(first, profile->portfolio[0].terms, sizeof first);
    CHECK(known > 0 && known <= KNOWN);
    const size_t count = make_part(samples, 0, KERNELS, MORE);
    CHECK_OK(mmt_fit_families(profile, MMT_TYPE_BIT(MMT_F64), samples, count, &err), err);
    CHECK_EQ_INT(profile->num_portfolio, known);
    for (size_t i = 0; i < profile->num_portfolio; i++)
        CHECK(has_kernel(&profile->portfolio[i], KNOWN));
    CHECK(profile->num_models == 1 && shapes_of(profile, MMT_F32) == MORE);
    CHECK(memcmp(profile->portfolio[0].terms, first, sizeof first));
    CHECK_OK(mmt_fit_families(profile, MMT_TYPE_BIT(MMT_F32), samples, count, &err), err);
    CHECK(profile->num_portfolio > known);
    mmt_profile_free(profile);
}

/* Of a kernel that is alone there is nothing to select, and it is the portfolio. */
static void test_alone(void)
{
    enum { SHAPES = 12 };
    struct mmt_fit_sample samples[SHAPES];
    struct mmt_profile *profile = mmt_profile_create();
    mmt_error err;

    synthetic_kernels(kernels);
    profile->caps = synthetic_gpu();
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples,
                              make_part(samples, 0, 1, SHAPES), &err),
             err);
    CHECK_EQ_INT(profile->num_portfolio, 1);
    CHECK_EQ_INT(shapes_of(profile, MMT_F32), SHAPES);
    mmt_profile_free(profile);
}

/* Finals time a few kernels on one problem again and again: that is one problem. */
static void test_finals(void)
{
    struct mmt_fit_sample samples[2 * MMT_FIT_LEAST_SHAPES];
    struct mmt_profile *profile = mmt_profile_create();
    const mmt_problem problem = synthetic_shape(512, 512, 512);
    mmt_error err;

    profile->caps = synthetic_gpu();
    for (int i = 0; i < 2 * MMT_FIT_LEAST_SHAPES; i++)
        samples[i] = synthetic_sample(&kernels[i % 2], &problem, 0.01);
    CHECK_OK(
        mmt_fit_families(profile, MMT_ALL_TYPES, samples, 2 * MMT_FIT_LEAST_SHAPES, &err),
        err);
    CHECK_EQ_INT(profile->num_portfolio, 0);
    mmt_profile_free(profile);
}

/* A portfolio none of whose kernels was timed now is not lost to a model of others. */
static void test_others(void)
{
    enum { SHAPES = 12 };
    struct mmt_fit_sample samples[2 * SHAPES];
    struct mmt_profile *profile = mmt_profile_create();
    mmt_error err;

    profile->caps = synthetic_gpu();
    for (int first = 0; first <= 2; first += 2)
        CHECK_OK(mmt_fit_families(profile, 0, samples,
                                  make_part(samples, first, first + 2, SHAPES), &err),
                 err);
    CHECK(profile->num_portfolio > 0);
    mmt_profile_free(profile);
}

/* ---- what a kernel is right for -------------------------------------------------- */

enum { MIXED = 32 };

/* Times of two kernels for a family's two types, with B as it is and transposed. The
 * first is checked for both of bf16, the second for one of f16. */
static size_t make_mixed(struct mmt_fit_sample *samples)
{
    size_t count = 0;
    for (int s = 0; s < MIXED; s++) {
        mmt_problem problem = synthetic_any_shape();
        problem.type = problem.out = s % 2 ? MMT_F16 : MMT_BF16;
        problem.trans_b = s / 2 % 2;
        for (int i = 0; i < 2; i++) {
            const struct mmt_portfolio_kernel kernel = synthetic_any_type(&kernels[0], i);
            samples[count] = synthetic_sample(&kernel, &problem, 0.1);
            samples[count++].checked = i ? s % 4 == 3 : s % 2 == 0;
        }
    }
    return count;
}

/* A portfolio says of each kernel what it was checked for, and one model is of all. */
static void test_right(void)
{
    struct mmt_fit_sample samples[2 * MIXED];
    struct mmt_profile *profile = mmt_profile_create();
    const mmt_problem bf16_nn = synthetic_kind(MMT_BF16, 0),
                      bf16_nt = synthetic_kind(MMT_BF16, 1),
                      f16_nt = synthetic_kind(MMT_F16, 1);
    mmt_error err;

    synthetic_kernels(kernels);
    profile->caps = synthetic_gpu();
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples, make_mixed(samples), &err),
             err);
    CHECK_EQ_INT(profile->num_models, 1);
    CHECK(mmt_profile_model(profile, MMT_F16) == profile->models);
    CHECK_EQ_INT(profile->models->family, MMT_BF16);
    CHECK_EQ_INT(profile->models->shapes, MIXED);
    CHECK_EQ_INT(profile->num_portfolio, 2);
    for (size_t i = 0; i < profile->num_portfolio; i++) {
        const struct mmt_portfolio_kernel *kernel = &profile->portfolio[i],
                                          first = synthetic_any_type(&kernels[0], 0);
        CHECK_EQ_INT(kernel->family, MMT_BF16);
        CHECK(kernel->right == (mmt_config_equal(&kernel->config, &first.config)
                                    ? mmt_kind_bit(&bf16_nn) | mmt_kind_bit(&bf16_nt)
                                    : mmt_kind_bit(&f16_nt)));
    }
    mmt_profile_free(profile);
}

/* ---- the shapes that are timed ---------------------------------------------------- */

static int64_t least_side(const mmt_problem *p)
{
    const int64_t least = p->m < p->n ? p->m : p->n;
    return p->k < least ? p->k : least;
}

static int64_t most_side(const mmt_problem *p)
{
    const int64_t most = p->m > p->n ? p->m : p->n;
    return p->k > most ? p->k : most;
}

static bool is_rounded(int64_t size)
{
    return size < 4 || size % (size < 16 ? 4 : 16) == 0;
}

/* A layer's weights are no smaller than 512, and in whole lines. */
static int count_wide(const mmt_problem *p)
{
    const int64_t sides[] = { p->m, p->n, p->k };
    int wide = 0;
    for (int i = 0; i < 3; i++)
        wide += sides[i] >= 512 && sides[i] <= 32768 && sides[i] % 128 == 0;
    return wide;
}

/* Each side is the odd one, short or long, and tokens are along m and k. */
static void test_shape(void)
{
    enum { SHAPES = 400 };
    mmt_problem kind = synthetic_shape(1, 1, 1);
    int odd[3][2] = { 0 }, gradients = 0;

    kind.trans_b = 1;
    for (int i = 0; i < SHAPES; i++) {
        double part[3];
        for (int axis = 0; axis < 3; axis++)
            part[axis] = synthetic_uniform();
        const mmt_problem p = mmt_fit_shape(&kind, part, i);
        const int64_t least = least_side(&p), most = most_side(&p);
        CHECK(p.type == kind.type && !p.trans_a && p.trans_b && least > 0);
        if (i / 4 % 2)
            CHECK(is_rounded(p.m) && is_rounded(p.n) && is_rounded(p.k));
        if (i % 4 == 0)
            CHECK(count_wide(&p) >= 2 && most <= 32768);
        if (i % 4 == 0 && count_wide(&p) == 2)
            gradients += p.k == least;
        if (i % 4 == 1)
            CHECK(most <= 16384);
        if (i % 4 == 2)
            CHECK(most < 5 * least && most <= 4 * 8192);
        if (i % 4 == 3 && CHECK(least <= 64 || most >= 8192))
            for (int axis = 0; axis < 3; axis++) {
                const int64_t side = (int64_t[]){ p.m, p.n, p.k }[axis];
                odd[axis][0] += most < 32768 && side == least && least <= 64;
                odd[axis][1] += side == most && most >= 8192;
            }
    }
    for (int axis = 0; axis < 3; axis++)
        CHECK(odd[axis][0] > SHAPES / 50 && odd[axis][1] > SHAPES / 50);
    CHECK(gradients > SHAPES / 4 / 5 && gradients < SHAPES / 4 / 2);
}

/* Within the limit, hardly one twice, aligned and not, square and skewed, and thin; and
 * of many one in twelve at least is hardly more than a vector. */
static void test_shapes(double most_flops, int count)
{
    enum { MOST = 300 };
    mmt_problem shapes[MOST], kind = synthetic_shape(1, 1, 1);
    int aligned = 0, skewed = 0, same = 0, wrong = 0, thin = 0, vectors = 0;

    kind.trans_b = 1;
    mmt_fit_shapes(&kind, most_flops, shapes, count);
    for (int i = 0; i < count; i++) {
        const mmt_problem *p = &shapes[i];
        aligned += p->m % 4 == 0 && p->n % 4 == 0 && p->k % 4 == 0;
        skewed += most_side(p) > 16 * least_side(p);
        thin += least_side(p) <= 16;
        vectors += least_side(p) <= 2;
        wrong += mmt_problem_flops(p) > most_flops || p->type != MMT_F32 || !p->trans_b;
        for (int j = 0; j < i; j++)
            same += mmt_problem_equal(p, &shapes[j]);
    }
    CHECK(wrong == 0 && same <= 2);
    CHECK(aligned > count / 8 && aligned < count * 7 / 8);
    CHECK(skewed > count / 8);
    CHECK(thin >= count / 6);
    CHECK(vectors >= count / 12 || count < MOST);
}

int main(void)
{
    synthetic_sms = 0;
    test_searched();
    test_lost_journal();
    test_not_chosen();
    test_alone();
    test_finals();
    test_others();
    test_right();
    test_shape();
    for (int i = 0; i < 2; i++)
        for (int count = 24; count <= 300; count += 276)
            test_shapes(i ? 1e8 : 1e12, count);
    return test_end("fit");
}
