/* What is chosen by the law of time where nothing was tuned: on cards of several
 * architectures and on CPUs, for every type, transposes and many shapes. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/select_internal.h"
#include "tests/support/caps.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/bundle/make.h"
#include "tuner/model/fit.h"

enum { SHAPES = 200 };

static struct mmt_caps card(const char *architecture, unsigned sm)
{
    struct mmt_caps caps = hopper_caps(108);
    snprintf(caps.architecture, sizeof caps.architecture, "%s", architecture);
    caps.sm = sm;
    caps.registers_per_sm = 65536;
    caps.threads_per_sm = sm == 75 ? 1024 : 2048;
    caps.shared = sm == 75 ? 64 << 10 : 160 << 10;
    caps.shared_per_sm = caps.shared + 1024;
    caps.blocks_per_sm = 32;
    caps.warp = 32;
    return caps;
}

static struct mmt_caps by_opencl(void)
{
    struct mmt_caps caps = card("", 0);
    caps.dialect = MMT_OPENCL_C;
    return caps;
}

/* ---- never the plainest ------------------------------------------------------------ */

static bool serves_better(const mmt_problem *problem, const struct mmt_caps *caps)
{
    for (int t = 0; mmt_templates[t]; t++) {
        const struct mmt_template *template = mmt_templates[t];
        if (template->last_resort || !mmt_config_meant(template, problem, caps))
            continue;
        for (int s = 0; s < template->num_seeds; s++) {
            struct mmt_config config = { .template = template };
            memcpy(config.values, template->seeds[s], sizeof config.values);
            if (!mmt_config_check_problem(&config, problem, caps))
                return true;
        }
    }
    return false;
}

static void check_choice(const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_caps *caps)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    struct mmt_selection selection;

    if (!CHECK_OK(mmt_select(profile, problem, caps, NULL, &selection, &err), err))
        return;
    CHECK(!mmt_config_check_problem(&selection.config, problem, caps));
    CHECK(!selection.config.template->last_resort || !serves_better(problem, caps));
    const int count = mmt_select_rank(profile, problem, caps, NULL, ranked);
    CHECK(count > 0 && (selection.why != MMT_SELECTION_LAW ||
                        mmt_config_equal(&selection.config, &ranked->config)));
    for (int i = 0; i < count; i++)
        CHECK(isfinite(ranked[i].seconds) && ranked[i].seconds > 0 &&
              ranked[i].seconds >= ranked[i ? i - 1 : 0].seconds);
}

/* With and without a profile. */
static void test_choices(const struct mmt_profile *profile, const struct mmt_caps *caps)
{
    mmt_problem shapes[SHAPES];

    for (int type = 0; type < MMT_NUM_TYPES; type++)
        for (int transposes = 0; transposes < 4; transposes++) {
            mmt_problem kind = mmt_gemm_problem((mmt_type) type, 64, 64, 64);
            kind.trans_a = transposes / 2, kind.trans_b = transposes % 2;
            kind = normal_of(kind);
            mmt_fit_shapes(&kind, 1e11, shapes, SHAPES);
            for (int i = 0; i < SHAPES; i++)
                check_choice(profile, &shapes[i], caps);
        }
}

static void test_installed(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/profiles/%s", test_source_root(), name);
    SCOPED_PROFILE *profile = mmt_profile_load(path, &err);
    if (CHECK(profile != NULL))
        test_choices(profile, &profile->caps);
}

/* ---- what decides ------------------------------------------------------------------ */

static double estimate(const char *config, const char *problem,
                       const struct mmt_caps *caps)
{
    const struct mmt_config c = config_of(config);
    const mmt_problem p = problem_of(problem);
    CHECK(!mmt_config_check_problem(&c, &p, caps));
    return mmt_cost_estimate(&c, &p, caps);
}

/* Operands of any alignment cost more, half the rate costs twice as much where tensor
 * cores are what is waited for, and twice the clock takes half the time. */
static void test_parts(void)
{
    struct mmt_caps caps = hopper_caps(132), faster;
    const char *const large = "gemm f64 nn 4096x4096x4096";
    const char *const wide = "dmma TILE_M=128 TILE_N=128 MMA=16x8x8 STAGES=4 "
                             "REGISTER_STAGES=4 WARPS_M=2 WARPS_N=4";
    const char *const narrow = "dmma TILE_M=128 TILE_N=128 MMA=8x8x4 STAGES=4 "
                               "REGISTER_STAGES=4 WARPS_M=2 WARPS_N=4";
    const double ratio = estimate(narrow, large, &caps) / estimate(wide, large, &caps);
    CHECK(ratio > 1.7 && ratio < 2.1);
    CHECK(estimate(wide, "gemm f64 nn 999x999x999", &caps) >
          estimate(wide, "gemm f64 nn 1000x1000x1000", &caps));
    caps.clock_khz = 1000000;
    faster = caps;
    faster.clock_khz *= 2;
    CHECK(fabs(mmt_cost_seconds(1e6, &caps) / mmt_cost_seconds(1e6, &faster) - 2) < 1e-9);
}

/* ---- what a card's times teach ------------------------------------------------------
 */

enum { TAUGHT = 60 };

/* A card that is four times as slow with several warpgroups in a block. */
static bool is_slow(const struct mmt_config *config)
{
    enum { CONSUMERS = 7 };
    return !strcmp(config->template->name, "wgmma") && config->values[CONSUMERS] > 1;
}

static double true_seconds(const struct mmt_ranked *ranked)
{
    return ranked->seconds * (is_slow(&ranked->config) ? 4 : 1);
}

/* The first eight of the law's ranking for the kind's shapes from `first` on. */
static int time_shapes(const struct mmt_caps *caps, int first, struct mmt_fit_sample *out)
{
    const mmt_problem kind = mmt_gemm_problem(MMT_BF16, 64, 64, 64);
    mmt_problem shapes[2 * TAUGHT];
    int count = 0;

    mmt_fit_shapes(&kind, 1e11, shapes, 2 * TAUGHT);
    for (int i = first; i < first + TAUGHT; i++) {
        struct mmt_ranked ranked[MMT_MOST_RANKED];
        const int all = mmt_select_rank(NULL, &shapes[i], caps, NULL, ranked);
        for (int r = 0; r < all && r < 8; r++)
            if (!strcmp(ranked[r].config.template->name, "wgmma"))
                out[count++] =
                    (struct mmt_fit_sample){ .problem = shapes[i],
                                             .config = ranked[r].config,
                                             .seconds = true_seconds(&ranked[r]) };
    }
    return count;
}

/* What was learned of some shapes holds for others: what is slow is no longer expected to
 * be as fast, and another kernel is chosen. */
static void test_learning(void)
{
    static struct mmt_fit_sample samples[8 * TAUGHT];
    SCOPED_PROFILE *profile = mmt_profile_create();
    int after = 0, before = 0, count;

    profile->caps = hopper_caps(132);
    count = time_shapes(&profile->caps, 0, samples);
    CHECK_OK(mmt_fit_models(profile, samples, (size_t) count, &err), err);
    CHECK_EQ_INT((int) profile->num_models, 1);
    CHECK_EQ_INT(profile->models[0].law, MMT_LAW_EDITION);
    CHECK(profile->models[0].shapes > TAUGHT / 2);

    count = time_shapes(&profile->caps, TAUGHT, samples);
    for (int i = 0; i < count; i++) {
        if (i && mmt_problem_equal(&samples[i].problem, &samples[i - 1].problem))
            continue;
        struct mmt_selection selection;
        CHECK_OK(mmt_select(profile, &samples[i].problem, &profile->caps, NULL,
                            &selection, &err),
                 err);
        before += is_slow(&samples[i].config);
        after += is_slow(&selection.config);
    }
    printf("of %d shapes a slow kernel is chosen on %d, then on %d\n", TAUGHT, before,
           after);
    CHECK(before > 5 && after < before / 2);
}

/* ---- the few of a bundle ----------------------------------------------------------- */

/* The least that a bundle's kernels are expected to take. */
static double expect_best(const struct mmt_profile *bundle, const mmt_problem *problem)
{
    double best = INFINITY;
    for (size_t i = 0; i < bundle->num_unlisted; i++) {
        const struct mmt_ranked ranked = { .config = bundle->unlisted[i].config };
        struct mmt_bound bound;
        if (bundle->unlisted[i].right & mmt_kind_bit(problem) &&
            mmt_bind(&ranked.config, problem, &bundle->caps, &bound))
            best = fmin(best, mmt_expected_seconds(&ranked, &bound));
    }
    return best;
}

/* For shapes that they were not chosen by, the mean loss to the first of all that there
 * are; INFINITY where one has no kernel. */
static double loss_of(const struct mmt_profile *bundle, const mmt_problem *kind)
{
    enum { CHOSEN_BY = 300 };
    static mmt_problem shapes[CHOSEN_BY + SHAPES];
    double sum = 0;
    mmt_fit_shapes(kind, 1e12, shapes, CHOSEN_BY + SHAPES);
    for (int i = CHOSEN_BY; i < CHOSEN_BY + SHAPES; i++) {
        struct mmt_ranked ranked[MMT_MOST_RANKED];
        mmt_select_rank(NULL, &shapes[i], &bundle->caps, NULL, ranked);
        sum += expect_best(bundle, &shapes[i]) / ranked->seconds - 1;
    }
    return sum / SHAPES;
}

static void test_bundled(void)
{
    mmt_problem kinds[] = { mmt_gemm_problem(MMT_BF16, 64, 64, 64),
                            mmt_gemm_problem(MMT_F16, 64, 64, 64),
                            mmt_gemm_problem(MMT_F32, 64, 64, 64) };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const struct mmt_bundle_problems problems = { kinds, KINDS };
    SCOPED_PROFILE *bundle = mmt_profile_create();
    bundle->caps = hopper_caps(132);
    for (int i = 0; i < KINDS; i++) {
        kinds[i].trans_b = 1;
        CHECK_OK(mmt_problem_normalise(&kinds[i], &kinds[i], &err), err);
    }
    CHECK_OK(mmt_bundle_choose(bundle, &problems, &err), err);
    CHECK(bundle->num_unlisted > 8 &&
          bundle->num_unlisted <= 3 * MMT_BUNDLE_MOST_KERNELS);
    for (int i = 0; i < KINDS; i++)
        CHECK(loss_of(bundle, &kinds[i]) < 0.1);
    kinds[0].trans_a = 1; /* nothing was chosen for it */
    CHECK(isinf(loss_of(bundle, &kinds[0])));
}

int main(void)
{
    const struct mmt_caps devices[] = {
        hopper_caps(132), card("sm_80", 80), card("sm_75", 75), card("sm_120", 120),
        by_opencl(),      cpu_caps(64),      cpu_caps(32),
    };
    test_parts();
    test_learning();
    test_bundled();
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        test_choices(NULL, &devices[i]);
    test_installed("cuda-nvidia-h200.json");
    test_installed("cuda-nvidia-h100-80gb-hbm3.json");
    return test_end("law");
}
