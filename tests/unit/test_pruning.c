/* The estimate that needs no measuring: that it rules nothing out before it has earned
 * that, and then nothing that comes near the best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "costmodel/costmodel.h"
#include "runtime/runtime.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tests/support/synthetic_device.h"
#include "tuner/model/pruning.h"
#include "tuner/tune/built.h"
#include "tuner/tune/compiled.h"

enum { CANDIDATES = 120 };

static const char *path;

static struct mmt_caps gpu(void)
{
    struct mmt_caps caps = gpu_caps();
    strcpy(caps.backend, "null");
    strcpy(caps.name, "Testing");
    strcpy(caps.architecture, "sm_90");
    strcpy(caps.compiler, "none");
    return caps;
}

static double uniform(void)
{
    static unsigned long long state = 7;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double) (state >> 11) * 0x1p-53;
}

static struct mmt_config any_config(const mmt_problem *problem,
                                    const struct mmt_caps *caps)
{
    const struct mmt_template *template = mmt_template_find("simt");
    struct mmt_config config;
    do
        mmt_space_at(template, (uint64_t) (uniform() * (double) mmt_space_size(template)),
                     &config);
    while (mmt_config_check_problem(&config, problem, caps));
    return config;
}

/* A journal of candidates whose times are the estimates, with some noise, or chance
 * alone; as judged. */
static struct mmt_journal *make_journal(struct mmt_profile *profile,
                                        const mmt_problem *problem, bool telling)
{
    struct mmt_journal *journal = mmt_journal_open(path, &profile->caps, true, &err);
    if (!CHECK(journal != NULL))
        exit(test_end("pruning"));
    for (int i = 0; i < CANDIDATES; i++) {
        struct mmt_record record = { .problem = *problem };
        record.config = any_config(problem, &profile->caps);
        double estimate = mmt_cost_estimate(&record.config, problem, &profile->caps);
        CHECK(estimate > 0 && isfinite(estimate));
        record.result.time.median =
            telling ? 1e-9 * estimate * exp(0.2 * uniform()) : 1e-3 * (1 + uniform());
        record.result.time.samples = 5;
        CHECK_OK(mmt_journal_add(journal, &record, &err), err);
    }
    CHECK_OK(mmt_pruning_judge(journal, profile, &err), err);
    return journal;
}

static double limit_of(const struct mmt_journal *journal,
                       const struct mmt_profile *profile, const mmt_problem *problem)
{
    return mmt_pruning_limit(journal, profile, problem, mmt_template_find("simt"));
}

static void test_earned(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem problem = product(4096, 4096, 4096), other = product(512, 512, 512);
    profile->caps = gpu();
    struct mmt_journal *journal = make_journal(profile, &problem, true);
    if (CHECK_EQ_INT(profile->num_pruning, 1)) {
        CHECK(profile->pruning->correlation > 0.75);
        CHECK_EQ_INT(profile->pruning->samples, CANDIDATES);
    }
    double limit = limit_of(journal, profile, &problem), best = INFINITY;
    size_t count;
    const struct mmt_record *records = mmt_journal_records(journal, &count);
    for (size_t i = 0; i < count; i++)
        best = fmin(best, records[i].result.time.median);
    CHECK(isfinite(limit));
    for (size_t i = 0; i < count; i++)
        if (records[i].result.time.median <= 1.25 * best)
            CHECK(mmt_cost_estimate(&records[i].config, &problem, &profile->caps) * 1.5 <=
                  limit * (1 + 1e-12));
    /* Nothing is known of another problem yet, and nothing of another template. */
    CHECK(isinf(limit_of(journal, profile, &other)));
    CHECK(
        isinf(mmt_pruning_limit(journal, profile, &problem, mmt_template_find("tiled"))));
    mmt_journal_close(journal);
}

static void test_not_earned(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem problem = product(4096, 4096, 4096);
    profile->caps = gpu();
    struct mmt_journal *journal = make_journal(profile, &problem, false);
    if (CHECK_EQ_INT(profile->num_pruning, 1))
        CHECK(profile->pruning->correlation >= 0 && profile->pruning->correlation < 0.4);
    CHECK(isinf(limit_of(journal, profile, &problem)));
    mmt_journal_close(journal);
}

static double estimate(const char *name, const mmt_problem *problem)
{
    struct mmt_caps caps = gpu();
    struct mmt_config config = config_of(name);
    CHECK(!mmt_config_check_problem(&config, problem, &caps));
    return mmt_cost_estimate(&config, problem, &caps);
}

/* What anybody would say without measuring. */
static void test_sense(void)
{
    mmt_problem large = product(4096, 4096, 4096), thin = product(64, 64, 32768);
    const char *one =
        "simt TILE_M=64 TILE_N=64 TILE_K=16 THREAD_TILE_M=4 THREAD_TILE_N=4 WARP_M=8 "
        "WARP_N=8 SPLIT_K=1";
    const char *split =
        "simt TILE_M=64 TILE_N=64 TILE_K=16 THREAD_TILE_M=4 THREAD_TILE_N=4 WARP_M=8 "
        "WARP_N=8 SPLIT_K=64";
    CHECK(estimate(one, &thin) > 8 * estimate(split, &thin));
    CHECK(estimate("tiled TILE=16 WORK=1", &large) > 1.5 * estimate(one, &large));
}

static struct mmt_config untuned(const mmt_problem *problem, size_t max_workspace)
{
    struct mmt_caps caps = gpu();
    struct mmt_selection selection = { 0 };
    const struct mmt_terms terms = { .max_workspace = max_workspace };
    CHECK_OK(mmt_select(NULL, problem, &caps, &terms, &selection, &err), err);
    CHECK(selection.why == MMT_SELECTION_LAW);
    return selection.config;
}

/* What is packed first is not what multiplies: 64 x 64 tiles have work for more
 * multiprocessors than 128 x 256 ones, whatever packing has. */
static void test_packed(void)
{
    mmt_problem odd = product(1000, 1000, 1000);
    struct mmt_caps caps = gpu();
    strcpy(caps.architecture, "sm_90a");
    odd.type = odd.out = MMT_BF16;
    odd.lda = odd.ldb = odd.ldc = 1001;
    const char *common = "wgmma PACK_A=1 PACK_B=1 EPILOGUE_STAGES=0 CLUSTER=1x1";
    const char *tiles[] = { "TILE_M=128 TILE_N=256", "TILE_M=64 TILE_N=64 CONSUMERS=1" };
    double estimates[2];
    for (int i = 0; i < 2; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s %s", common, tiles[i]);
        struct mmt_config config = config_of(name);
        CHECK(!mmt_config_check_problem(&config, &odd, &caps));
        estimates[i] = mmt_cost_estimate(&config, &odd, &caps);
    }
    CHECK(estimates[0] > 1.2 * estimates[1]);
}

/* Without a profile no starting point is estimated at less, and k is split where there is
 * no work for all, if there may be a workspace. */
static void test_untuned(void)
{
    mmt_problem large = product(4096, 4096, 4096), thin = product(64, 64, 32768);
    struct mmt_caps caps = gpu();
    struct mmt_config config = untuned(&large, SIZE_MAX);
    const double least = mmt_cost_estimate(&config, &large, &caps);
    for (int s = 0; s < config.template->num_seeds; s++) {
        memcpy(config.values, config.template->seeds[s], sizeof config.values);
        if (!mmt_config_check_problem(&config, &large, &caps))
            CHECK(least <= mmt_cost_estimate(&config, &large, &caps));
    }

    struct mmt_config split = untuned(&thin, SIZE_MAX), whole = untuned(&thin, 0);
    CHECK(8 * mmt_cost_estimate(&split, &thin, &caps) <
          mmt_cost_estimate(&whole, &thin, &caps));
    struct mmt_launches launches = { 0 };
    mmt_config_launch(&whole, &thin, &caps, &launches);
    CHECK_EQ_INT(launches.workspace, 0);
}

/* Another problem may leave k whole that this one splits. */
static bool is_same_text(const struct mmt_run *run, const mmt_problem *a,
                         const mmt_problem *b, const struct mmt_config *config)
{
    const struct mmt_config x = mmt_config_resolve(config, a, &run->device.caps);
    const struct mmt_config y = mmt_config_resolve(config, b, &run->device.caps);
    return mmt_config_same_text(&x, &y);
}

/* What one problem had compiled is ready for the next one of its kind, and stands in the
 * order of what the law expects there, whatever it took. */
static void test_ready(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    mmt_problem before = product(4096, 4096, 4096), now = product(4096, 2048, 4096);
    mmt_problem other = now;
    other.type = other.out = MMT_I32;
    profile->caps = gpu();
    struct mmt_journal *journal = make_journal(profile, &before, false);
    struct mmt_run run = { .device.caps = profile->caps,
                           .files = { .journal = journal, .profile = profile } };
    size_t count;
    const struct mmt_record *records = mmt_journal_records(journal, &count);
    struct mmt_config ready[CANDIDATES];
    CHECK_EQ_INT(mmt_tune_list_ready(&run, &now, ready, CANDIDATES), 0);
    for (size_t i = 0; i < count; i++) {
        mmt_tune_add_built(&run, &before, &records[i].config);
        mmt_tune_add_built(&run, &before, &records[i].config); /* is there already */
        CHECK(mmt_tune_is_built(&run, &now, &records[i].config) ==
              is_same_text(&run, &before, &now, &records[i].config));
        CHECK(!mmt_tune_is_built(&run, &other, &records[i].config));
    }
    CHECK(run.built.count <= CANDIDATES && run.built.count > CANDIDATES / 2);
    CHECK_EQ_INT(mmt_tune_list_ready(&run, &before, ready, CANDIDATES),
                 0); /* all tried */
    CHECK_EQ_INT(mmt_tune_list_ready(&run, &other, ready, CANDIDATES), 0);

    int listed = mmt_tune_list_ready(&run, &now, ready, CANDIDATES);
    CHECK(listed > 1 && listed <= run.built.count);
    double last = 0, first = 0;
    for (int i = 0; i < listed; i++) {
        const double seconds = mmt_cost_estimate(&ready[i], &now, &run.device.caps);
        CHECK(seconds >= last * (1 - 1e-12));
        first = i ? first : seconds;
        CHECK(seconds <= 2 * first * (1 + 1e-12));
        last = seconds;
    }
    CHECK_EQ_INT(mmt_tune_list_ready(&run, &now, ready, 1), 1);
    free(run.built.list);
    mmt_journal_close(journal);
}

int main(void)
{
    make_folder();
    path = in_folder("p.json");
    test_sense();
    test_packed();
    test_untuned();
    test_earned();
    test_not_earned();
    test_ready();
    return test_end("pruning");
}
