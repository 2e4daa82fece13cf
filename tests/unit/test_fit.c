/* Fitting: what a model learns of how the law errs on a device that is made up; and on
 * which shapes kernels are timed for that. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tests/support/made.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/model/fit.h"

enum { KERNELS = SYNTHETIC_KERNELS, MOST = 96 };

static struct mmt_config kernels[KERNELS];
static struct mmt_fit_sample samples[MOST * KERNELS];

/* How the device's times differ from the law. */
struct truth {
    double more;      /* of tall tiles */
    double noise;     /* of each time, a logarithm */
    double disturbed; /* a part of the times, which are twice what they should be */
};

/* Times of all kernels on so many problems. */
static size_t draw(const struct truth *truth, mmt_type type, int problems)
{
    size_t count = 0;
    for (int s = 0; s < problems; s++) {
        mmt_problem problem = synthetic_any_shape();
        problem.type = problem.out = type;
        for (int i = 0; i < KERNELS; i++) {
            const double seconds = synthetic_seconds(&kernels[i], &problem, truth->more) *
                                   exp(truth->noise * synthetic_normal());
            const bool disturbed = synthetic_uniform() < truth->disturbed;
            samples[count++] = (struct mmt_fit_sample){ problem, kernels[i],
                                                        seconds * (disturbed ? 2 : 1) };
        }
    }
    return count;
}

static struct mmt_profile *fit(size_t count)
{
    struct mmt_profile *profile = mmt_profile_create();
    profile->caps = gpu_caps();
    CHECK_OK(mmt_fit_models(profile, samples, count, &err), err);
    return profile;
}

/* ---- what a model learns ----------------------------------------------------------- */

/* Root mean square of ln(expected / true) over shapes that no fit has seen; NULL: by the
 * law alone. */
static double unseen_error(const struct mmt_model *model, const struct truth *truth)
{
    enum { SHAPES = 100 };
    const struct mmt_caps caps = gpu_caps();
    double sum = 0;
    for (int s = 0; s < SHAPES; s++) {
        const mmt_problem problem = synthetic_any_shape();
        for (int i = 0; i < KERNELS; i++) {
            struct mmt_bound bound;
            mmt_bind_known(&kernels[i], &problem, &caps, &bound);
            const struct mmt_view view = mmt_cost_view(&bound);
            const double error =
                log(mmt_cost_seconds(view.estimate, &caps) /
                    synthetic_seconds(&kernels[i], &problem, truth->more)) +
                (model ? mmt_cost_correction(model, &view) : 0);
            sum += error * error;
        }
    }
    return sqrt(sum / (SHAPES * KERNELS));
}

/* A model comes near the truth, tells how near, and is nearer than the law alone. */
static void test_learns(const struct truth *truth, double most)
{
    SCOPED_PROFILE *profile = fit(draw(truth, MMT_F32, MOST));
    const struct mmt_model *model = mmt_profile_model(profile, MMT_F32);
    if (CHECK(model != NULL)) {
        const double error = unseen_error(model, truth);
        printf("tall tiles %.1f more, noise %.2f, %.1f disturbed: unseen %.3f, residual "
               "%.3f\n",
               truth->more, truth->noise, truth->disturbed, error, model->residual);
        CHECK(error < most);
        CHECK(error < 0.5 * unseen_error(NULL, truth) || truth->more == 0);
        CHECK_EQ_INT(model->shapes, MOST);
        CHECK(model->residual > error / 4 || error < 0.02);
    }
}

/* The same samples give the same trees, whatever was fitted before. */
static void test_same(void)
{
    const struct truth truth = { .more = 0.4, .noise = 0.05 };
    const size_t count = draw(&truth, MMT_F32, MOST / 2);
    SCOPED_PROFILE *once = fit(count), *other = fit(count / 2), *again = fit(count);
    CHECK(once->models->num_trees > 0);
    CHECK(!memcmp(once->models, again->models, sizeof *once->models));
    CHECK(memcmp(once->models, other->models, sizeof *once->models));
}

/* Far from all that was timed, too, what is expected is a time. */
static void test_any_size(void)
{
    enum { SIZES = 18 };
    const struct truth truth = { .more = 0.4, .noise = 0.02 };
    const struct mmt_caps caps = gpu_caps();
    SCOPED_PROFILE *profile = fit(draw(&truth, MMT_F32, MOST / 4));
    for (int s = 0; s < SIZES * SIZES * SIZES; s++) {
        const mmt_problem problem =
            product((int64_t) 1 << s % SIZES, (int64_t) 1 << s / SIZES % SIZES,
                    (int64_t) 1 << s / SIZES / SIZES);
        struct mmt_bound bound;
        mmt_bind_known(&kernels[s % KERNELS], &problem, &caps, &bound);
        const struct mmt_view view = mmt_cost_view(&bound);
        const double correction = mmt_cost_correction(profile->models, &view);
        CHECK(view.estimate > 0 && isfinite(view.estimate) && fabs(correction) < 1);
    }
}

/* ---- what becomes of a model that there is ----------------------------------------- */

static int shapes_of(const struct mmt_profile *profile, mmt_type type)
{
    const struct mmt_model *model = mmt_profile_model(profile, type);
    return model ? model->shapes : -1;
}

/* A journal that lost most of its records takes nothing from the profile; one that grew
 * replaces the model of the family that it is of, and nothing else. */
static void test_lost_journal(void)
{
    enum { MANY = 2 * MMT_FEWEST_SHAPES + 8, FEW = MMT_FEWEST_SHAPES + 3 };
    const struct truth truth = { .noise = 0.01 };
    SCOPED_PROFILE *profile = fit(draw(&truth, MMT_F32, MANY));

    CHECK_EQ_INT(shapes_of(profile, MMT_F32), MANY);
    CHECK_OK(mmt_fit_models(profile, samples, draw(&truth, MMT_I32, FEW), &err), err);
    CHECK_EQ_INT(shapes_of(profile, MMT_I32), FEW);
    CHECK_OK(mmt_fit_models(profile, samples, draw(&truth, MMT_F32, FEW), &err), err);
    CHECK_EQ_INT(shapes_of(profile, MMT_F32), MANY);
    CHECK_OK(mmt_fit_models(profile, samples, 0, &err), err);
    CHECK_EQ_INT(shapes_of(profile, MMT_F32), MANY);
    CHECK_OK(mmt_fit_models(profile, samples, draw(&truth, MMT_F32, FEW + 1), &err), err);
    CHECK_EQ_INT(shapes_of(profile, MMT_F32), FEW + 1);
    CHECK_EQ_INT(shapes_of(profile, MMT_I32), FEW);
    CHECK_EQ_INT(profile->num_models, 2);
}

/* One model is of all types of a family; of too few problems it corrects nothing; and
 * finals that time one problem again and again are of one problem. */
static void test_counts(void)
{
    const struct truth truth = { .noise = 0.01 };
    struct mmt_profile *profile = fit(draw(&truth, MMT_F32, MMT_FEWEST_SHAPES - 1));
    CHECK(profile->num_models == 1 && shapes_of(profile, MMT_F32) == -1);
    mmt_profile_free(profile);

    profile = fit(draw(&truth, MMT_F16, MMT_FEWEST_SHAPES));
    CHECK_EQ_INT(shapes_of(profile, MMT_BF16), MMT_FEWEST_SHAPES);
    CHECK(mmt_profile_model(profile, MMT_BF16) == mmt_profile_model(profile, MMT_F16));
    mmt_profile_free(profile);

    for (int i = 0; i < MOST; i++)
        samples[i] = samples[i % KERNELS];
    profile = fit(MOST);
    CHECK_EQ_INT(profile->models[0].shapes, 1);
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
    mmt_problem kind = product(1, 1, 1);
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
    enum { MANY = 300 };
    mmt_problem shapes[MANY], kind = product(1, 1, 1);
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
    CHECK(vectors >= count / 12 || count < MANY);
}

int main(void)
{
    const struct truth exact = { .more = 0.4 }, noisy = { .more = 0.4, .noise = 0.05 },
                       disturbed = { .more = 0.4, .noise = 0.02, .disturbed = 0.1 },
                       lawful = { .noise = 0.05 };
    synthetic_kernels(kernels);
    test_learns(&exact, 0.002);
    test_learns(&noisy, 0.026);
    test_learns(&disturbed, 0.1);
    test_learns(&lawful, 0.027);
    test_same();
    test_any_size();
    test_lost_journal();
    test_counts();
    test_shape();
    for (int i = 0; i < 2; i++)
        for (int count = 24; count <= 300; count += 276)
            test_shapes(i ? 1e8 : 1e12, count);
    return test_end("fit");
}
