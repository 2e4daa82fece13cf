/* Cached selections are those that would be made anew: of profiles that learn,
 * of other devices and other terms, and in many threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "runtime/runtime.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum { PROBLEMS = 600, THREADS = 4 }; /* more than there are places */

static struct mmt_profile *profile;
static struct mmt_caps caps;

static mmt_problem problem_of(int i)
{
    static const mmt_type types[] = { MMT_BF16, MMT_F32, MMT_F64 };
    mmt_problem p = mmt_gemm_problem(types[i % 3], 1 + 37 * (i % 101), 256 + 64 * (i % 7),
                                     512 * (1 + i % 5));
    p.trans_b = i % 2;
    p.ldb = p.trans_b ? p.k : p.n;
    return p;
}

static bool is_same(const struct mmt_selection *a, const struct mmt_selection *b)
{
    return mmt_config_equal(&a->config, &b->config) && a->why == b->why &&
           a->layer == b->layer && a->compared == b->compared && a->seconds == b->seconds;
}

/* Whether what is remembered, if anything, is what is selected anew. */
static bool holds(const struct mmt_profile *by, const struct mmt_caps *device,
                  const struct mmt_terms *terms, int i)
{
    const mmt_problem problem = problem_of(i);
    struct mmt_selection again, anew;
    mmt_error why = { 0 };
    const mmt_status one = mmt_select_cached(by, &problem, device, terms, &again, &why);
    const mmt_status other = mmt_select(by, &problem, device, terms, &anew, &why);
    return one == other && (one || is_same(&again, &anew));
}

static int count_held(void)
{
    int held = 0;
    for (int i = 0; i < PROBLEMS; i++)
        held += holds(profile, &caps, NULL, i);
    return held;
}

/* What differs in one thing alone has the same place. */
static void test_kinds(void)
{
    struct mmt_caps half = caps;
    const struct mmt_terms none = { .max_workspace = 0 };
    const struct mmt_terms plain = { .max_workspace = SIZE_MAX, .strict_f32 = true };
    int held = 0;

    half.sms /= 2;
    for (int i = 0; i < PROBLEMS; i++)
        held += holds(profile, &caps, NULL, i) + holds(profile, &half, NULL, i) +
                holds(NULL, &half, NULL, i) + holds(NULL, &caps, NULL, i) +
                holds(profile, &caps, &none, i) + holds(profile, &caps, NULL, i) +
                holds(profile, &caps, &plain, i) + holds(profile, &caps, NULL, i);
    CHECK_EQ_INT(held, 8 * PROBLEMS);
    CHECK_EQ_INT(count_held(), PROBLEMS);
    CHECK_EQ_INT(count_held(), PROBLEMS);
}

/* The kernel that is refused may be the one that is remembered. */
static void test_refused(void)
{
    const mmt_problem problem = problem_of(0);
    struct mmt_selection first, next;
    CHECK_OK(mmt_select_cached(profile, &problem, &caps, NULL, &first, &err), err);
    const struct mmt_config refused = mmt_config_resolve(&first.config, &problem, &caps);
    const struct mmt_terms terms = { SIZE_MAX, false, &refused, 1 };
    CHECK_OK(mmt_select_cached(profile, &problem, &caps, &terms, &next, &err), err);
    CHECK(!mmt_config_equal(&next.config, &first.config));
    CHECK_OK(mmt_select_cached(profile, &problem, &caps, NULL, &next, &err), err);
    CHECK(mmt_config_equal(&next.config, &first.config));
}

static void test_learning(void)
{
    const mmt_problem problem = problem_of(0);
    struct mmt_selection before, after;
    struct mmt_entry entry = { .problem = problem, .time = { .median = 1e-6 } };

    CHECK_OK(mmt_select_cached(profile, &problem, &caps, NULL, &before, &err), err);
    CHECK_OK(mmt_config_parse_for("naive", &problem, &caps, &entry.config, &err), err);
    CHECK_OK(mmt_profile_learn(profile, &entry, &err), err);
    CHECK_OK(mmt_select_cached(profile, &problem, &caps, NULL, &after, &err), err);
    CHECK(before.why != MMT_SELECTION_MEASURED && after.why == MMT_SELECTION_MEASURED);
    CHECK(mmt_config_equal(&after.config, &entry.config));
    CHECK_EQ_INT(count_held(), PROBLEMS);
}

/* What is being put together is selected from anew each time. */
static void test_unfinished(void)
{
    SCOPED_PROFILE *growing = mmt_profile_create();
    const mmt_problem problem = problem_of(0);
    struct mmt_selection before, after;
    struct mmt_entry entry = { .problem = problem_of(1), .time = { .median = 1e-6 } };

    CHECK_OK(mmt_config_parse_for("naive", &entry.problem, &caps, &entry.config, &err),
             err);
    CHECK_OK(mmt_profile_learn(growing, &entry, &err), err);
    entry.problem = problem;
    CHECK_OK(mmt_select_cached(growing, &problem, &caps, NULL, &before, &err), err);
    CHECK_OK(mmt_config_parse_for("naive", &problem, &caps, &entry.config, &err), err);
    CHECK_OK(mmt_profile_add_entry(growing, &entry, &err), err);
    CHECK_OK(mmt_select_cached(growing, &problem, &caps, NULL, &after, &err), err);
    CHECK(before.why == MMT_SELECTION_LAW && after.why == MMT_SELECTION_EXACT);
}

/* ---- of kernels that are compiled ----------------------------------------------------
 */

static void compile(mmt_device *device, const struct mmt_config *config,
                    const mmt_problem *problem)
{
    struct mmt_bound bound;
    CHECK(mmt_bind(config, problem, &device->caps, &bound));
    for (int aligned = 0; aligned < 2; aligned++) {
        const struct mmt_variant variant = mmt_variant_of(problem, aligned);
        bool cached;
        CHECK_OK(mmt_kernel_compile(device, &bound.config, &variant, NULL, &cached, &err),
                 err);
    }
}

/* Compiles the second of a ranking, and sees it taken if it is as good; true if it is
 * another kernel than the first. */
static bool second_is_taken(mmt_device *device, const mmt_problem *problem, bool as_good)
{
    const struct mmt_caps *of = &device->caps;
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    struct mmt_selection chosen, again;
    if (mmt_select_rank(NULL, problem, of, NULL, ranked) < 2 ||
        (ranked[1].seconds <= 1.03 * ranked[0].seconds) != as_good)
        return false;
    const struct mmt_config first = mmt_config_resolve(&ranked[0].config, problem, of),
                            second = mmt_config_resolve(&ranked[1].config, problem, of);
    if (mmt_config_same_text(&first, &second))
        return false;
    compile(device, &ranked[1].config, problem);
    CHECK_OK(mmt_select_built(device, NULL, problem, of, NULL, false, &chosen, &err),
             err);
    CHECK_EQ_INT(chosen.why, MMT_SELECTION_LAW);
    CHECK(mmt_config_equal(&chosen.config, &ranked[as_good].config));
    CHECK(chosen.seconds == ranked[as_good].seconds && chosen.compiled == as_good);
    compile(device, &ranked[0].config, problem);
    CHECK_OK(mmt_select_built(device, NULL, problem, of, NULL, false, &again, &err), err);
    CHECK(is_same(&again, &chosen)); /* a program's plans of a problem are alike */
    return true;
}

static void test_built(void)
{
    char command[64];
    int taken[2] = { 0 };
    make_folder();
    setenv("XDG_CACHE_HOME", folder, 1);
    for (int i = 0; i < 200 && !(taken[0] && taken[1]); i++) {
        const mmt_problem problem = problem_of(i);
        snprintf(command, sizeof command, "rm -rf %s/mmtune", folder);
        CHECK(!system(command));
        SCOPED_DEVICE *device = mmt_device_open("null", &err);
        for (int as_good = 0; as_good < 2; as_good++)
            taken[as_good] +=
                !taken[as_good] && second_is_taken(device, &problem, as_good);
    }
    CHECK(taken[0] && taken[1]);
}

static void *hammer(void *unused)
{
    intptr_t held = 0;
    for (int i = 0; i < PROBLEMS; i++)
        held += holds(profile, &caps, NULL, i % 300);
    return (void *) held;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, hammer, NULL));
    for (int i = 0; i < THREADS; i++) {
        void *held = NULL;
        pthread_join(threads[i], &held);
        CHECK_EQ_INT((int) (intptr_t) held, PROBLEMS);
    }
}

int main(void)
{
    char path[4096];
    SCOPED_DEVICE *device = mmt_device_open("null:sm_90a", &err);
    snprintf(path, sizeof path, "%s/profiles/cuda-nvidia-h200.json", test_source_root());
    profile = mmt_profile_load(path, &err);
    if (!CHECK_MADE(device && profile))
        return test_end("selection cache");
    caps = device->caps;
    test_kinds();
    test_refused();
    test_learning();
    test_unfinished();
    test_threads();
    test_built();
    mmt_profile_free(profile);
    return test_end("selection cache");
}
