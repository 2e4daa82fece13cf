/* Kernel selection: by the law, its model, and what was tuned nearby, on a device that is
 * made up. */
#include <math.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "runtime/runtime.h"
#include "tests/support/made.h"
#include "tests/support/synthetic_device.h"
#include "tests/support/test.h"
#include "tuner/model/fit.h"

static struct mmt_selection select_for(const struct mmt_profile *profile, int64_t m,
                                       int64_t n, int64_t k,
                                       const struct mmt_terms *terms)
{
    struct mmt_caps caps = gpu_caps();
    struct mmt_selection selection = { 0 };
    mmt_problem problem = product(m, n, k);
    CHECK_OK(mmt_select(profile, &problem, &caps, terms, &selection, &err), err);
    return selection;
}

/* An entry of a cube that took so many times what the law expects of the first kernel. */
static void add_entry(struct mmt_profile *profile, int64_t size,
                      const struct mmt_config *config, double factor)
{
    const struct mmt_selection first = select_for(NULL, size, size, size, NULL);
    struct mmt_entry entry = { .problem = product(size, size, size), .config = *config };
    entry.time.median = factor * first.seconds;
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
}

/* ---- what was tuned nearby --------------------------------------------------------- */

/* It serves its own shape whatever it took, and those next to it where its time tells
 * that it is ahead of what the law expects of others. */
static void test_near(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_config kernel = synthetic_kernel(64, 32, 4);
    struct mmt_selection selection = select_for(NULL, 1040, 1024, 1024, NULL);

    CHECK(selection.why == MMT_SELECTION_LAW);
    CHECK(!mmt_config_equal(&selection.config, &kernel));
    add_entry(profile, 1024, &kernel, 0.8);
    CHECK_EQ_INT(select_for(profile, 1024, 1024, 1024, NULL).why, MMT_SELECTION_EXACT);
    selection = select_for(profile, 1040, 1024, 1024, NULL);
    CHECK(selection.why == MMT_SELECTION_NEAREST);
    CHECK(mmt_config_equal(&selection.config, &kernel));
    CHECK_EQ_INT(select_for(profile, 2048, 1024, 1024, NULL).why, MMT_SELECTION_LAW);

    profile->entries[0].time.median *= 100; /* junk */
    CHECK_EQ_INT(select_for(profile, 1024, 1024, 1024, NULL).why, MMT_SELECTION_EXACT);
    CHECK_EQ_INT(select_for(profile, 1040, 1024, 1024, NULL).why, MMT_SELECTION_LAW);
}

/* A time that was taken on a busy machine does not take a kernel's place from it. */
static void test_busy(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_config first = select_for(NULL, 1040, 1024, 1024, NULL).config;

    add_entry(profile, 1024, &first, 5);
    const struct mmt_selection again = select_for(profile, 1040, 1024, 1024, NULL);
    CHECK(again.why == MMT_SELECTION_LAW && mmt_config_equal(&again.config, &first));
}

/* It may be selected, so the terms must allow it, too. */
static void test_near_within_terms(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_terms none = { .max_workspace = 0 };
    struct mmt_config parts = synthetic_kernel(64, 32, 4);

    CHECK_OK(mmt_config_set(&parts, "SPLIT_K", "4", &err), err);
    add_entry(profile, 1024, &parts, 0.8);
    CHECK_EQ_INT(select_for(profile, 1040, 1024, 1024, NULL).why, MMT_SELECTION_NEAREST);
    const struct mmt_selection within = select_for(profile, 1040, 1024, 1024, &none);
    CHECK(!mmt_config_equal(&within.config, &parts));
}

/* ---- the ranking ------------------------------------------------------------------- */

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* A selection is the first of the ranking, which ascends and has no kernel twice, also
 * where an entry is near; and what is explained. */
static void test_ranking(const struct mmt_profile *profile, int64_t m)
{
    const struct mmt_caps caps = gpu_caps();
    const mmt_problem problem = product(m, 1024, 1024);
    const struct mmt_selection selection = select_for(profile, m, 1024, 1024, NULL);
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    SCOPED_TEXT text = { 0 }, selected = { 0 };
    const int count = mmt_select_rank(profile, &problem, &caps, NULL, ranked);

    CHECK(count > 1 && mmt_config_equal(&selection.config, &ranked->config));
    for (int i = 1; i < count; i++) {
        CHECK(ranked[i - 1].seconds <= ranked[i].seconds);
        for (int j = 0; j < i; j++)
            CHECK(!mmt_config_equal(&ranked[i].config, &ranked[j].config));
    }
    CHECK_OK(mmt_explain(profile, &problem, &caps, &text, &err), err);
    mmt_text_add(&selected, "selected: ");
    mmt_config_print(&selection.config, &selected);
    CHECK(strstr(mmt_text_string(&text), mmt_text_string(&selected)));
    CHECK_EQ_INT(count_lines(mmt_text_string(&text)), 5 + count);
}

static void test_rankings(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_config kernel = synthetic_kernel(64, 32, 4);
    add_entry(profile, 1024, &kernel, 0.8);
    test_ranking(NULL, 1040);
    test_ranking(profile, 1040);
    test_ranking(profile, 777);
}

/* An entry that the device cannot run is told, and what rules it out. */
static void test_passed_over(void)
{
    struct mmt_caps caps = gpu_caps();
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_config kernel = synthetic_kernel(64, 32, 4);
    SCOPED_TEXT text = { 0 };

    add_entry(profile, 1024, &kernel, 0.8);
    const mmt_problem *problem = &profile->entries[0].problem;
    CHECK_OK(mmt_explain(profile, problem, &caps, &text, &err), err);
    CHECK(!strstr(mmt_text_string(&text), "passed over"));
    caps.shared = 1024;
    const char *why = mmt_config_check_problem(&kernel, problem, &caps);
    CHECK_OK(mmt_explain(profile, problem, &caps, &text, &err), err);
    const char *said =
        strstr(mmt_text_string(&text), "\n        its entry is passed over, ");
    CHECK(said && why && strstr(said, why));
}

int main(void)
{
    test_near();
    test_busy();
    test_near_within_terms();
    test_rankings();
    test_passed_over();
    return test_end("kernel selection");
}
