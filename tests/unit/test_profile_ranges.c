/* Ranges of m in a profile: which segment holds a problem, and what is refused. */
#include <math.h>

#include "tests/support/full_profile.h"
#include "tests/support/made.h"

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fabs(a);
}

/* What is written of a range is left out on reading, with these words. */
static void check_left_out(const struct mmt_range *range, const char *words)
{
    struct mmt_profile *written = mmt_profile_create();
    written->caps = full_caps;
    CHECK_OK(mmt_profile_add_range(written, range, &err), err);
    char *text = print_profile(written);
    struct mmt_profile *read = mmt_profile_read(text, strlen(text), &err);
    if (CHECK(read != NULL)) {
        CHECK_EQ_INT(read->num_ranges, 0);
        if (!CHECK(strstr(mmt_profile_warnings(read), words) != NULL))
            fprintf(stderr, "    says: %s\n", mmt_profile_warnings(read));
    }
    mmt_profile_free(read);
    mmt_profile_free(written);
    free(text);
}

static void test_wrong_ranges(void)
{
    const struct mmt_range right = full_range(3);
    struct mmt_range wrong = right;
    wrong.num_segments = 0;
    check_left_out(&wrong, "it has no segments");
    wrong = right;
    wrong.segments[1].m_to = 10;
    check_left_out(&wrong, "segments[1].m_to is 10; it must be above 10");
    wrong.segments[0].m_to = 2;
    check_left_out(&wrong, "segments[0].m_to is 2; it must be above 2");
    wrong = right;
    wrong.times[2].m = 901;
    check_left_out(&wrong, "times[2].m is 901; it must be above 4 and at most 900");
    wrong.times[2].m = 4;
    check_left_out(&wrong, "times[2].m is 4; it must be above 4");
    wrong = right;
    wrong.problem.lda++;
    check_left_out(&wrong, "gaps");
    wrong = right;
    wrong.segments[2].m_to = INT64_C(1) << 40;
    check_left_out(&wrong, "it must be at most 2147418112");
}

/* A kernel of a range whose template has changed is told like an entry's. */
static void test_changed_range(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_range range = full_range(2);
    char words[200];
    profile->caps = full_caps;
    strcpy(range.segments[1].template_hash, "0");
    CHECK_OK(mmt_profile_add_range(profile, &range, &err), err);
    char *text = print_profile(profile);
    struct mmt_profile *read = mmt_profile_read(text, strlen(text), &err);
    snprintf(words, sizeof words, "1 entry is of templates that have changed since (%s)",
             range.segments[1].config.template->name);
    CHECK(read && read->num_ranges == 1 && strstr(mmt_profile_warnings(read), words));
    mmt_profile_free(read);
    mmt_profile_free(profile);
    free(text);
}

static void check_segment(const struct mmt_range *range, const char *problem, int wanted)
{
    mmt_problem parsed = problem_of(problem);
    CHECK_EQ_INT(mmt_range_find(range, &parsed), wanted);
}

static void test_range(void)
{
    struct mmt_range range = full_range(3), other = range;
    struct mmt_text name = { 0 };
    mmt_range_print(&range, &name);
    CHECK_EQ_STR(mmt_text_string(&name), "gemm bf16 tn 3-900x200x300 out=f32 batch=2");
    mmt_text_finish(&name);
    check_segment(&range, "gemm bf16 tn 2x200x300 out=f32 batch=2", -1);
    check_segment(&range, "gemm bf16 tn 3x200x300 out=f32 batch=2", 0);
    check_segment(&range, "gemm bf16 tn 10x200x300 out=f32 batch=2", 0);
    check_segment(&range, "gemm bf16 tn 11x200x300 out=f32 batch=2", 1);
    check_segment(&range, "gemm bf16 tn 900x200x300 out=f32 batch=2", 2);
    check_segment(&range, "gemm bf16 tn 901x200x300 out=f32 batch=2", -1);
    check_segment(&range, "gemm bf16 tn 11x200x300 batch=2", -1);
    check_segment(&range, "gemm bf16 tn 11x200x300 out=f32", -1);
    check_segment(&range, "gemm bf16 tn 11x200x300 out=f32 lda=12 batch=2", -1);
    check_segment(&range, "gemm f16 tn 11x200x300 out=f32 batch=2", -1);

    CHECK(close_to(mmt_range_ratio(&range, &other), 1));
    for (int i = 0; i < 3; i++)
        other.times[i].seconds *= 2;
    other.times[2].m = 100; /* which the other has not */
    other.times[2].seconds = 1;
    CHECK(close_to(mmt_range_ratio(&range, &other), 0.5));
    other.num_times = 0;
    CHECK(mmt_range_ratio(&range, &other) == 0);
}

int main(void)
{
    test_range();
    test_wrong_ranges();
    test_changed_range();
    return test_end("profile ranges");
}
