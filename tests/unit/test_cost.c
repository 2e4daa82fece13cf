/* What kernels put on a device. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tests/support/made.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"

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
    struct mmt_caps caps = gpu_caps();
    struct mmt_config config = config_of(runs);
    mmt_problem one = product(64, 128, 16 * 1056), few = product(640, 128, 16),
                more = product(64, 128 * 396, 160), even = product(64, 128 * 528, 160);
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
    struct mmt_caps caps = gpu_caps();
    struct mmt_config config = config_of(packed);
    mmt_problem whole = product(128, 64 * 11, 64 * 4),
                cut = product(128, 64 * 11, 64 * 4 - 60);
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
    struct mmt_caps caps = gpu_caps();
    struct mmt_config config = config_of(
        "skinny SHORT=columns THREAD_TILE_SHORT=1 THREAD_TILE_LONG=4 THREAD_TILE_K=16 "
        "THREADS_LONG=8 THREADS_K=32 VECTOR=4 TILE_K=2048 SPLIT_K=1");
    mmt_problem problem = product(4096, 1, 4096);
    CHECK_EQ_INT(depth_of(&config), 512);
    CHECK(load_of(&config, &problem, &caps).steps == 8);
}

static struct mmt_config with(const struct mmt_config *config, const char *knob,
                              int value)
{
    struct mmt_config other = *config;
    char word[16];
    snprintf(word, sizeof word, "%d", value);
    CHECK_OK(mmt_config_set(&other, knob, word, &err), err);
    return other;
}

/* As many splits of k as the problem is served with, for each problem by itself. */
static void test_splits(const char *words, int64_t m, int64_t n, int64_t k)
{
    struct mmt_caps caps = gpu_caps();
    struct mmt_config config = config_of(words);
    mmt_problem problem = product(m, n, k);
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
          a.workspace == b.workspace && a.outputs == b.outputs);
    CHECK(load_of(&whole, &problem, &caps).launches == 1);
    CHECK(mmt_cost_estimate(&left, &problem, &caps) ==
          mmt_cost_estimate(&named, &problem, &caps));
}

/* The same of threads that is auto, where a step's depth is theirs. */
static void test_left(int64_t m, int64_t n, int64_t k)
{
    struct mmt_caps caps = gpu_caps();
    const struct mmt_config left = config_of(
        "skinny SHORT=columns THREAD_TILE_SHORT=0 THREAD_TILE_LONG=2 THREAD_TILE_K=8 "
        "THREADS_LONG=0 THREADS_K=0 VECTOR=2 TILE_K=0 SPLIT_K=0");
    mmt_problem problem = product(m, n, k);
    const struct mmt_config resolved = mmt_config_resolve(&left, &problem, &caps);
    const int depth = depth_of(&left), all = depth_of(&resolved);
    CHECK(depth == 8 && all > depth && all % depth == 0);
    CHECK(load_of(&left, &problem, &caps).steps == ceil((double) k / all));
    CHECK(mmt_cost_estimate(&left, &problem, &caps) ==
          mmt_cost_estimate(&resolved, &problem, &caps));
}

/* Where the template counts cycles, that is the law. */
static void test_counted(void)
{
    struct mmt_caps caps = gpu_caps();
    const struct mmt_config config =
        config_of("skinny SHORT=columns THREAD_TILE_SHORT=0");
    const mmt_problem problem = product(3000, 7, 7000);
    struct mmt_bound bound;
    mmt_bind_known(&config, &problem, &caps, &bound);
    const double cycles = mmt_cost_load(&bound).cycles;
    CHECK(cycles > 0 && mmt_cost_estimate(&config, &problem, &caps) > cycles);
    CHECK(mmt_cost_view(&bound).estimate == mmt_cost_estimate_bound(&bound));
    caps.sms = 0; /* nothing is known: nothing is counted */
    CHECK(mmt_cost_load(&bound).cycles == 0);
}

/* A model knows templates and types by name: what counts is their order in its file,
 * whatever the order here is; what its file does not name comes after all others. */
static void test_names(void)
{
    enum { TEMPLATE = 22, TYPE = 21, SKINNY = 2 };
    static struct mmt_model model = { .law = MMT_LAW_EDITION, .num_trees = 2 };
    struct mmt_view view = { .features = { [TYPE] = MMT_F64, [TEMPLATE] = SKINNY } };
    CHECK_EQ_STR(mmt_templates[SKINNY]->name, "skinny");
    mmt_model_name(&model);
    for (int i = 0; i < MMT_TREE_DEPTH; i++) {
        model.trees[0].feature[i] = TEMPLATE, model.trees[1].feature[i] = TYPE;
        model.trees[0].above[i] = model.trees[1].above[i] = 0.5f;
    }
    model.trees[0].leaf[MMT_TREE_LEAVES - 1] = 1;
    model.trees[1].leaf[MMT_TREE_LEAVES - 1] = 2;
    CHECK(mmt_cost_correction(&model, &view) == 3);
    strcpy(model.templates, "skinny panel");
    CHECK_OK(mmt_model_check(&model, &err), err);
    CHECK(mmt_cost_correction(&model, &view) == 2);
    strcpy(model.types, "f64 f32");
    CHECK_OK(mmt_model_check(&model, &err), err);
    CHECK(mmt_cost_correction(&model, &view) == 0);
    strcpy(model.templates, "panel");
    CHECK_OK(mmt_model_check(&model, &err), err);
    CHECK(mmt_cost_correction(&model, &view) == 1);
    strcat(model.features, " more");
    CHECK_FAILS(mmt_model_check(&model, &err), err, MMT_ERROR_FORMAT, "other features");
}

int main(void)
{
    test_runs();
    test_packed();
    test_skinny();
    test_splits("simt", 64, 64, 100000);
    test_splits("simt TILE_M=64 TILE_N=64", 100, 300, 2000);
    test_splits("skinny SHORT=columns", 1000, 5, 30000);
    test_left(1000, 5, 30000);
    test_left(7000, 1, 300);
    test_counted();
    test_names();
    return test_end("cost");
}
