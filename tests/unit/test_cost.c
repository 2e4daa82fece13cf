/* What kernels put on a device, and what a model on a device that is made up learns of
 * their times. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/model/nnls.h"

/* ---- the solver ------------------------------------------------------------------ */

/* Worked by hand: without the sign the least squares of (1,1)p = 1, (0,1)p = -1 is
 * (2,-1); with p2 >= 0 what is left is p = (1, 0). */
static void test_nnls(void)
{
    struct mmt_nnls sums = { 0 };
    double p[MMT_NNLS_MAX];

    mmt_nnls_add(&sums, (double[MMT_NNLS_MAX]){ 1, 1 }, 1, 1);
    mmt_nnls_add(&sums, (double[MMT_NNLS_MAX]){ 0, 1 }, -1, 1);
    mmt_nnls_solve(&sums, p);
    CHECK(fabs(p[0] - 1) < 1e-6 && p[1] == 0);
    CHECK(p[2] == 0);
}

/* At the solution no unknown can move either way and gain. */
static void test_nnls_optimal(void)
{
    for (int round = 0; round < 200; round++) {
        struct mmt_nnls sums = { 0 };
        double p[MMT_NNLS_MAX];
        for (int row = 0; row < 12; row++) {
            double x[MMT_NNLS_MAX];
            for (int i = 0; i < MMT_NNLS_MAX; i++)
                x[i] = synthetic_uniform() * pow(10, i - 4);
            mmt_nnls_add(&sums, x, synthetic_normal(), 1);
        }
        mmt_nnls_solve(&sums, p);
        bool stationary = true;
        for (int i = 0; i < MMT_NNLS_MAX; i++) {
            double slope = -sums.xy[i];
            for (int j = 0; j < MMT_NNLS_MAX; j++)
                slope += sums.xx[i][j] * p[j];
            slope /= sqrt(sums.xx[i][i]);
            stationary =
                stationary && p[i] >= 0 && slope > -1e-5 && (p[i] == 0 || slope < 1e-5);
        }
        CHECK(stationary);
    }
}

/* ---- what a kernel puts on a device ----------------------------------------------- */

/* Of a configuration that may leave knobs to the problem. */
static struct mmt_load load_of(const struct mmt_config *config,
                               const mmt_problem *problem, const struct mmt_caps *caps)
{
    struct mmt_bound bound;
    mmt_bind_known(config, problem, caps, &bound);
    return mmt_cost_load(&bound);
}

static const char runs[] =
    "simt TILE_M=64 TILE_N=128 TILE_K=16 THREAD_TILE_M=8 THREAD_TILE_N=8 "
    "WARP_M=2 WARP_N=16 LANES=pairs C_VECTOR=4 REGISTER_STAGES=2 "
    "MIN_BLOCKS=2 TILE_SCHEDULER=stream_k STAGES=1 K_UNROLL=16";

/* 264 blocks, two on each multiprocessor: fewer tiles are cut into runs, more are dealt
 * out in rounds first; a step is not cut. Where rounds do, no sums are left to add. */
static void test_runs(void)
{
    struct mmt_caps caps = synthetic_gpu();
    struct mmt_config config = synthetic_config(runs);
    mmt_problem one = synthetic_shape(64, 128, 16 * 1056),
                few = synthetic_shape(640, 128, 16),
                more = synthetic_shape(64, 128 * 396, 160),
                even = synthetic_shape(64, 128 * 528, 160);
    struct mmt_load load = load_of(&config, &one, &caps);
    CHECK(load.blocks == 2 && load.steps == 4 && load.outputs == 64. * 128 / 132);
    CHECK(load.workspace == 2. * 264 * 64 * 128 * 4);
    load = load_of(&config, &few, &caps);
    CHECK(load.blocks == 1 && load.steps == 1 && load.outputs == 64 * 128);
    load = load_of(&config, &more, &caps);
    CHECK(load.blocks == 2 && load.steps == 15 && load.outputs == 3 * 64 * 128);
    CHECK(load.workspace == 2. * 264 * 64 * 128 * 4);
    CHECK(load_of(&config, &even, &caps).workspace == 0);
}

static const char *packed =
    "wgmma SWAP=0 PACK_A=1 PACK_B=1 TILE_M=128 TILE_N=64 TILE_K_BYTES=128 STAGES=3 "
    "CONSUMERS=2 "
    "SCHEDULE=cooperative CLUSTER=1x1 CLUSTER_K=1 SPLIT_K=1 TILE_SCHEDULER=persistent "
    "RASTER_ORDER=rows "
    "RASTER_GROUP=8 "
    "WGMMA_PENDING=0 PROMOTE=1 EPILOGUE_STAGES=0 L2_PROMOTION=128 "
    "TRANSPOSE_IN_REGISTERS=0 OVERLAP_EPILOGUE=0";

/* Lines of 64 along k are multiplied whole; and as blocks stay, nothing bounds how many
 * of their tiles are under way. */
static void test_packed(void)
{
    struct mmt_caps caps = synthetic_gpu();
    struct mmt_config config = synthetic_config(packed);
    mmt_problem whole = synthetic_shape(128, 64 * 11, 64 * 4),
                cut = synthetic_shape(128, 64 * 11, 64 * 4 - 60);
    struct mmt_load load = load_of(&config, &whole, &caps);
    CHECK(load.launches == 2 && load.steps == 4 && load.fit == 0);
    CHECK(load_of(&config, &cut, &caps).steps == 4);
}

/* Elements of k that concurrent blocks advance by in a step. */
static int depth_of(const struct mmt_config *config)
{
    const struct mmt_work work = mmt_config_work(config, MMT_F32);
    return work.depth * work.splits;
}

/* A block's threads take 32 times 16 of k at once, however much they stage. */
static void test_skinny(void)
{
    struct mmt_caps caps = synthetic_gpu();
    struct mmt_config config = synthetic_config(
        "skinny SHORT=columns THREAD_TILE_SHORT=1 THREAD_TILE_LONG=4 THREAD_TILE_K=16 "
        "THREADS_LONG=8 THREADS_K=32 VECTOR=4 TILE_K=2048 SPLIT_K=1");
    mmt_problem problem = synthetic_shape(4096, 1, 4096);
    CHECK_EQ_INT(depth_of(&config), 512);
    CHECK(load_of(&config, &problem, &caps).steps == 8);
}

static struct mmt_config with(const struct mmt_config *config, const char *knob,
                              int value)
{
    struct mmt_config other = *config;
    char word[16];
    mmt_error err;
    snprintf(word, sizeof word, "%d", value);
    CHECK_OK(mmt_config_set(&other, knob, word, &err), err);
    return other;
}

/* As many splits of k as the problem is served with, for each problem by itself. */
static void test_splits(const char *words, int64_t m, int64_t n, int64_t k)
{
    struct mmt_caps caps = synthetic_gpu();
    struct mmt_config config = synthetic_config(words);
    mmt_problem problem = synthetic_shape(m, n, k);
    const struct mmt_config resolved = mmt_config_resolve(&config, &problem, &caps);
    const int splits = mmt_config_work(&resolved, MMT_F32).splits;
    const struct mmt_config left = with(&config, "SPLIT_K", 0),
                            named = with(&config, "SPLIT_K", splits),
                            whole = with(&config, "SPLIT_K", 1);
    const int depth = depth_of(&whole);
    CHECK(splits > 1 && depth_of(&named) == depth * splits);
    const struct mmt_load a = load_of(&left, &problem, &caps),
                          b = load_of(&named, &problem, &caps);
    CHECK(a.launches == 2 && a.steps == ceil((double) k / (depth * splits)));
    CHECK(a.launches == b.launches && a.blocks == b.blocks && a.steps == b.steps &&
          a.workspace == b.workspace && a.outputs == b.outputs && a.padded == b.padded);
    CHECK(load_of(&whole, &problem, &caps).launches == 1);
    CHECK(mmt_cost_estimate(&left, &problem, &caps) ==
          mmt_cost_estimate(&named, &problem, &caps));
}

/* The same of threads that is auto, where a step's depth is theirs. */
static void test_left(int64_t m, int64_t n, int64_t k)
{
    struct mmt_caps caps = synthetic_gpu();
    const struct mmt_config left = synthetic_config(
        "skinny SHORT=columns THREAD_TILE_SHORT=0 THREAD_TILE_LONG=2 THREAD_TILE_K=8 "
        "THREADS_LONG=0 THREADS_K=0 VECTOR=2 TILE_K=0 SPLIT_K=0");
    mmt_problem problem = synthetic_shape(m, n, k);
    const struct mmt_config resolved = mmt_config_resolve(&left, &problem, &caps);
    const int depth = depth_of(&left), all = depth_of(&resolved);
    CHECK(depth == 8 && all > depth && all % depth == 0);
    CHECK(load_of(&left, &problem, &caps).steps == ceil((double) k / all));
    CHECK(mmt_cost_estimate(&left, &problem, &caps) ==
          mmt_cost_estimate(&resolved, &problem, &caps));
}

/* Where the template counts cycles, a base cost has nothing else to say, but for a
 * launch. */
static void test_counted(void)
{
    struct mmt_caps caps = synthetic_gpu();
    const struct mmt_config config =
        synthetic_config("skinny SHORT=columns THREAD_TILE_SHORT=0");
    const mmt_problem problem = synthetic_shape(3000, 7, 7000);
    struct mmt_bound bound;
    mmt_bind_known(&config, &problem, &caps, &bound);
    const struct mmt_view view = mmt_cost_view(&bound);
    const double cycles = mmt_cost_load(&bound).cycles;
    CHECK(cycles > 0 && mmt_cost_estimate(&config, &problem, &caps) > cycles);
    CHECK(view.terms[SYNTHETIC_ESTIMATE] == mmt_cost_estimate(&config, &problem, &caps));
    for (int i = 0; i < MMT_NUM_TERMS; i++)
        CHECK((view.terms[i] > 0) == (i == SYNTHETIC_ESTIMATE || i == SYNTHETIC_LAUNCH));

    caps.sms = 0; /* nothing is known: nothing is counted */
    CHECK(mmt_cost_load(&bound).cycles == 0);
}

static struct mmt_caps cpu(void)
{
    return (struct mmt_caps){
        .dialect = MMT_OPENCL_C,
        .kind = MMT_CPU,
        .f64 = true,
        .max_threads = 4096,
        .max_block = { 4096, 4096, 4096 },
        .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX },
        .sms = 2,
        .warp = 1,
        .vector_bytes = 64,
    };
}

static struct mmt_portfolio_kernel panel(void)
{
    return (struct mmt_portfolio_kernel){
        .family = MMT_F32,
        .config = synthetic_config(
            "panel THREAD_TILE_M=6 THREAD_TILE_N=4 VECTOR=16 PANELS_M=8 PANELS_N=4 "
            "BLOCK_K=1024 K_UNROLL=1 PACK_A=0 PACK_B=0"),
        .right = synthetic_all_transposes(MMT_F32),
        .terms = { [SYNTHETIC_LAUNCH] = 4e-6,
                   [SYNTHETIC_BLOCK] = 1e-6,
                   [SYNTHETIC_OUTPUT] = 2e-10,
                   [SYNTHETIC_PADDED] = 2e-11,
                   [SYNTHETIC_EDGE] = 3e-11,
                   [SYNTHETIC_A] = 2e-10,
                   [SYNTHETIC_B] = 5e-10 },
    };
}

/* Tiles of 6 x 64: one element more than a tile costs another, and one more column costs
 * what cut tiles cost. */
static void test_tiles(void)
{
    struct mmt_caps caps = cpu();
    struct mmt_config config = panel().config;
    mmt_problem full = synthetic_shape(6, 64, 100), low = synthetic_shape(7, 64, 100),
                cut = synthetic_shape(6, 65, 100);
    struct mmt_load load = load_of(&config, &full, &caps);
    CHECK(load.padded == 6 * 64 && load.edge == 0 && load.a == 600 && load.b == 6400);
    load = load_of(&config, &low, &caps);
    CHECK(load.padded == 12 * 64 && load.edge == 0 && load.outputs == 7 * 64);
    load = load_of(&config, &cut, &caps);
    CHECK(load.padded == 6 * 128 && load.edge == 6 * 64 && load.outputs == 6 * 65);
}

/* ---- fitting --------------------------------------------------------------------- */

enum { KERNELS = 4, MOST_FITTED = 192, ROUNDS = 8 };

/* Kernels of which each is the best on some shapes; and what their base costs leave out:
 * more than 256 rows take longer by `more`, a logarithm. */
struct truth {
    struct mmt_caps caps;
    struct mmt_portfolio_kernel kernels[KERNELS];
    double more;
};

/* It does not tell its multiprocessors: so it has a portfolio. */
static struct mmt_caps without_law(void)
{
    struct mmt_caps caps = synthetic_gpu();
    caps.sms = 0;
    return caps;
}

static struct truth gpu_truth(double more)
{
    return (struct truth){
        without_law(),
        { synthetic_kernel(32, 32, 2, 150), synthetic_kernel(64, 64, 4, 250),
          synthetic_kernel(128, 64, 8, 300), synthetic_kernel(128, 128, 8, 350) },
        more
    };
}

static struct truth cpu_truth(void)
{
    static const int panels[KERNELS] = { 1, 2, 4, 8 };
    struct truth truth = { .caps = cpu() };
    for (int i = 0; i < KERNELS; i++) {
        truth.kernels[i] = panel();
        truth.kernels[i].config = with(&truth.kernels[i].config, "PANELS_M", panels[i]);
        truth.kernels[i].terms[SYNTHETIC_PADDED] *= 1.3 - 0.1 * i;
    }
    return truth;
}

static double true_seconds(const struct truth *truth,
                           const struct mmt_portfolio_kernel *kernel,
                           const mmt_problem *problem)
{
    return synthetic_seconds(kernel, problem, &truth->caps) *
           exp(problem->m > 256 ? truth->more : 0);
}

/* Times of all kernels on so many shapes. */
static size_t draw_samples(const struct truth *truth, int shapes, double noise,
                           struct mmt_fit_sample *samples)
{
    size_t count = 0;
    for (int s = 0; s < shapes; s++) {
        const mmt_problem problem = synthetic_any_shape();
        for (int i = 0; i < KERNELS; i++) {
            const double seconds = true_seconds(truth, &truth->kernels[i], &problem);
            samples[count++] =
                (struct mmt_fit_sample){ .problem = problem,
                                         .config = truth->kernels[i].config,
                                         .seconds =
                                             seconds * exp(noise * synthetic_normal()),
                                         .checked = true };
        }
    }
    return count;
}

static struct mmt_profile *fit(const struct truth *truth,
                               const struct mmt_fit_sample *samples, size_t count)
{
    struct mmt_profile *profile = mmt_profile_create();
    mmt_error err;
    profile->caps = truth->caps;
    CHECK_OK(mmt_fit_families(profile, MMT_ALL_TYPES, samples, count, &err), err);
    return profile;
}

static const struct mmt_portfolio_kernel *kernel_of(
    const struct truth *truth, const struct mmt_portfolio_kernel *kernel)
{
    int i = 0;
    while (!mmt_config_equal(&truth->kernels[i].config, &kernel->config))
        i++;
    return &truth->kernels[i];
}

static double predict(const struct truth *truth, const struct mmt_model *model,
                      const struct mmt_portfolio_kernel *kernel,
                      const mmt_problem *problem)
{
    struct mmt_bound bound;
    mmt_bind_known(&kernel->config, problem, &truth->caps, &bound);
    return mmt_cost_predict(model, kernel, &bound);
}

/* Root mean square of ln(expected / true) over shapes that the fit has not seen. */
static double unseen_error(const struct truth *truth, const struct mmt_profile *profile,
                           const struct mmt_model *model)
{
    enum { SHAPES = 200 };
    double sum = 0;
    for (int s = 0; s < SHAPES; s++) {
        const mmt_problem problem = synthetic_any_shape();
        for (size_t i = 0; i < profile->num_portfolio; i++) {
            const struct mmt_portfolio_kernel *kernel = &profile->portfolio[i];
            const double seconds =
                true_seconds(truth, kernel_of(truth, kernel), &problem);
            const double error = log(predict(truth, model, kernel, &problem) / seconds);
            sum += error * error;
        }
    }
    return sqrt(sum / (SHAPES * (double) profile->num_portfolio));
}

/* Means over draws of shapes: one draw may leave open what another tells. */
struct errors {
    double residual, unseen;
    double straight; /* unseen, of the base costs without the trees */
};

static struct errors errors_of(const struct truth *truth, int shapes, double noise)
{
    static struct mmt_fit_sample samples[MOST_FITTED * KERNELS];
    const struct mmt_model no_trees = { 0 };
    struct errors errors = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        const size_t count = draw_samples(truth, shapes, noise, samples);
        struct mmt_profile *profile = fit(truth, samples, count);
        if (CHECK(profile->num_models == 1 && profile->num_portfolio > 0)) {
            errors.residual += profile->models->residual / ROUNDS;
            errors.unseen += unseen_error(truth, profile, profile->models) / ROUNDS;
            errors.straight += unseen_error(truth, profile, &no_trees) / ROUNDS;
        }
        mmt_profile_free(profile);
    }
    printf("%d shapes of a %s, noise %.2f, %.2f more: residual %.4f, unseen %.4f, "
           "without trees %.4f\n",
           shapes, truth->caps.kind == MMT_CPU ? "CPU" : "GPU", noise, truth->more,
           errors.residual, errors.unseen, errors.straight);
    return errors;
}

/* A base cost comes back from its times. */
static void test_recovers(const struct truth *truth)
{
    const struct errors exact = errors_of(truth, 96, 0);
    CHECK(exact.residual < 0.05 && exact.unseen < 0.05);
}

/* Noise is averaged out. */
static void test_noise(const struct truth *truth)
{
    const struct errors noisy = errors_of(truth, 96, 0.05);
    CHECK(noisy.residual < 0.1 && noisy.unseen < 0.05);
}

/* What no base cost says, the trees learn: the better, the more they are told. */
static void test_learns(void)
{
    const struct truth truth = gpu_truth(0.4);
    const struct errors few = errors_of(&truth, 12, 0), more = errors_of(&truth, 48, 0),
                        most = errors_of(&truth, MOST_FITTED, 0);
    CHECK(more.unseen < 0.7 * few.unseen && most.unseen < 0.7 * more.unseen);
    CHECK(most.unseen < 0.5 * most.straight);
}

/* One time in ten was disturbed and is twice what it should be. */
static void test_disturbed(void)
{
    enum { SHAPES = 96 };
    static struct mmt_fit_sample samples[SHAPES * KERNELS];
    const struct truth truth = gpu_truth(0);
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t count = draw_samples(&truth, SHAPES, 0.02, samples);
        for (size_t i = 0; i < count; i++)
            samples[i].seconds *= synthetic_uniform() < 0.1 ? 2 : 1;
        struct mmt_profile *profile = fit(&truth, samples, count);
        sum += unseen_error(&truth, profile, profile->models) / ROUNDS;
        mmt_profile_free(profile);
    }
    printf("one time in ten disturbed: unseen %.3f\n", sum);
    CHECK(sum < 0.11);
}

/* The same samples give the same trees, whatever was fitted before. */
static void test_same(void)
{
    enum { SHAPES = 48 };
    static struct mmt_fit_sample samples[SHAPES * KERNELS];
    const struct truth truth = gpu_truth(0.4);
    const size_t count = draw_samples(&truth, SHAPES, 0.05, samples);
    struct mmt_profile *once = fit(&truth, samples, count),
                       *other = fit(&truth, samples, count / 2),
                       *again = fit(&truth, samples, count);
    CHECK(once->models->num_trees > 0);
    CHECK(!memcmp(once->models, again->models, sizeof *once->models));
    CHECK(memcmp(once->models, other->models, sizeof *once->models));
    CHECK_EQ_INT(again->num_portfolio, once->num_portfolio);
    for (size_t i = 0; i < once->num_portfolio; i++)
        CHECK(mmt_config_equal(&once->portfolio[i].config, &again->portfolio[i].config) &&
              !memcmp(once->portfolio[i].terms, again->portfolio[i].terms,
                      sizeof once->portfolio->terms));
    mmt_profile_free(once);
    mmt_profile_free(other);
    mmt_profile_free(again);
}

/* Far from all that was timed, too, and where a side is 1: what is expected is a time,
 * and of the largest product more than of the smallest. */
static void test_any_size(const struct truth *truth)
{
    enum { SHAPES = 24, SIZES = 18 };
    static struct mmt_fit_sample samples[SHAPES * KERNELS];
    const size_t count = draw_samples(truth, SHAPES, 0.02, samples);
    struct mmt_profile *profile = fit(truth, samples, count);
    const mmt_problem least = synthetic_shape(1, 1, 1),
                      most = synthetic_shape(131072, 131072, 131072);

    for (size_t i = 0; i < profile->num_portfolio; i++) {
        const struct mmt_portfolio_kernel *kernel = &profile->portfolio[i];
        bool good = true;
        for (int s = 0; s < SIZES * SIZES * SIZES; s++) {
            const mmt_problem problem = synthetic_shape((int64_t) 1 << s % SIZES,
                                                        (int64_t) 1 << s / SIZES % SIZES,
                                                        (int64_t) 1 << s / SIZES / SIZES);
            const double seconds = predict(truth, profile->models, kernel, &problem);
            good = good && isfinite(seconds) && seconds > 0;
        }
        CHECK(good);
        CHECK(predict(truth, profile->models, kernel, &most) >
              1e3 * predict(truth, profile->models, kernel, &least));
    }
    mmt_profile_free(profile);
}

/* What was timed on fewer problems is not in the portfolio, nor what was not checked. */
static void test_too_few(void)
{
    static struct mmt_fit_sample samples[MMT_FIT_LEAST_SHAPES * KERNELS];
    const struct truth truth = gpu_truth(0);
    const size_t count = draw_samples(&truth, MMT_FIT_LEAST_SHAPES, 0, samples);
    struct mmt_profile *profile = fit(&truth, samples, count - KERNELS);
    CHECK(!profile->num_portfolio && !profile->num_models);
    mmt_profile_free(profile);
    profile = fit(&truth, samples, count);
    CHECK(profile->num_portfolio > 0 && profile->num_models == 1);
    CHECK_EQ_INT(profile->models->shapes, MMT_FIT_LEAST_SHAPES);
    mmt_profile_free(profile);
    for (size_t i = 0; i < count; i++)
        samples[i].checked = false;
    profile = fit(&truth, samples, count);
    CHECK(!profile->num_portfolio && !profile->num_models);
    mmt_profile_free(profile);
}

/* How well models learn from times that scatter. */
static void test_statistics(void)
{
    const struct truth gpu = gpu_truth(0), cpu = cpu_truth();
    test_noise(&gpu);
    test_noise(&cpu);
    test_disturbed();
    test_learns();
}

static void test_properties(void)
{
    test_nnls();
    test_nnls_optimal();
    test_runs();
    test_packed();
    test_skinny();
    test_splits("simt", 64, 64, 100000);
    test_splits("simt TILE_M=64 TILE_N=64", 100, 300, 2000);
    test_splits("skinny SHORT=columns", 1000, 5, 30000);
    test_left(1000, 5, 30000);
    test_left(7000, 1, 300);
    test_counted();
    test_tiles();
    const struct truth gpu = gpu_truth(0), cpu = cpu_truth();
    test_recovers(&gpu);
    test_recovers(&cpu);
    test_same();
    test_any_size(&gpu);
    test_any_size(&cpu);
    test_too_few();
}

/* test_cost [--statistics] */
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--statistics"))
        test_statistics();
    else
        test_properties();
    return test_end("cost");
}
