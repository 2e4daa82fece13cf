/* Verdicts: what becomes of a call by them, in a file and among layers. */
#include <math.h>

#include "tests/support/full_profile.h"
#include "tests/support/caps.h"

/* ---- what becomes of a call ---------------------------------------------------------
 */

/* A profile of one verdict, whose library takes `theirs` seconds where ours takes 1. */
static struct mmt_profile *judged(double theirs, mmt_f32_mode mode)
{
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_verdict verdict = { .f32_mode = mode, .ours = 1, .theirs = theirs };
    const mmt_problem plain = mmt_gemm_problem(MMT_F32, 8, 16, 24);
    CHECK_OK(mmt_problem_normalise(&plain, &verdict.call.problem, &err), err);
    strcpy(verdict.driver, "580.65.06");
    strcpy(verdict.library, "cuBLAS 12.8.4");
    CHECK_OK(mmt_profile_replace_verdict(profile, &verdict, &err), err);
    return profile;
}

static enum mmt_fate fate_of(struct mmt_profile *profile, mmt_f32_mode mode,
                             const char *driver, const char *library)
{
    const struct mmt_verdict *it;
    const struct mmt_call call = profile->verdicts[0].call;
    enum mmt_fate fate = mmt_profile_verdict(profile, &call, mode, driver, library, &it);
    CHECK((it != NULL) == (fate == MMT_FATE_TAKEN || fate == MMT_FATE_SLOWER));
    mmt_profile_free(profile);
    return fate;
}

/* A verdict holds under its own driver, library and mode alone, and is for ours only from
 * the margin on. */
static void test_verdict(void)
{
    const char *driver = "580.65.06", *library = "cuBLAS 12.8.4";
    const mmt_f32_mode strict = MMT_F32_STRICT, emulated = MMT_F32_EMULATED;
    const double least = 1 + MMT_FASTER_MARGIN;
    CHECK_EQ_INT(fate_of(judged(least, strict), strict, driver, library), MMT_FATE_TAKEN);
    CHECK_EQ_INT(fate_of(judged(least, strict), emulated, driver, library),
                 MMT_FATE_TAKEN);
    CHECK_EQ_INT(fate_of(judged(9, emulated), strict, driver, library), MMT_FATE_UNKNOWN);
    CHECK_EQ_INT(fate_of(judged(1.019, strict), strict, driver, library),
                 MMT_FATE_SLOWER);
    CHECK_EQ_INT(fate_of(judged(0.5, strict), strict, driver, library), MMT_FATE_SLOWER);
    CHECK_EQ_INT(fate_of(judged(9, strict), strict, "580.65.07", library),
                 MMT_FATE_STALE);
    CHECK_EQ_INT(fate_of(judged(9, strict), strict, driver, "cuBLAS 12.8.5"),
                 MMT_FATE_STALE);
}

/* Of a tie in time the energy decides, where both are told. */
static void test_cooler(double theirs, double our_joules, double their_joules,
                        enum mmt_fate fate)
{
    struct mmt_profile *profile = judged(theirs, MMT_F32_STRICT);
    profile->verdicts[0].our_joules = our_joules;
    profile->verdicts[0].their_joules = their_joules;
    CHECK_EQ_INT(fate_of(profile, MMT_F32_STRICT, "580.65.06", "cuBLAS 12.8.4"), fate);
}

/* What the library accumulates in f16 has times of its own. */
static void test_compute(void)
{
    SCOPED_PROFILE *profile = judged(3, MMT_F32_STRICT);
    struct mmt_verdict half = profile->verdicts[0];
    const struct mmt_verdict *it;
    half.call.compute = MMT_COMPUTE_16F;
    CHECK(mmt_call_hash(&half.call) != mmt_call_hash(&profile->verdicts[0].call));
    CHECK_EQ_INT(mmt_profile_verdict(profile, &half.call, MMT_F32_STRICT, half.driver,
                                     half.library, &it),
                 MMT_FATE_UNKNOWN);
    half.theirs = 0.5;
    CHECK_OK(mmt_profile_replace_verdict(profile, &half, &err), err);
    CHECK_EQ_INT(profile->num_verdicts, 2);
    CHECK_EQ_INT(mmt_profile_verdict(profile, &half.call, MMT_F32_STRICT, half.driver,
                                     half.library, &it),
                 MMT_FATE_SLOWER);
}

/* Of both modes' verdicts a caller who allows emulation gets the faster. */
static void test_modes(void)
{
    SCOPED_PROFILE *profile = judged(3, MMT_F32_STRICT);
    struct mmt_verdict emulated = profile->verdicts[0];
    const struct mmt_verdict *it;
    emulated.f32_mode = MMT_F32_EMULATED;
    emulated.ours = 0.5;
    CHECK_OK(mmt_profile_replace_verdict(profile, &emulated, &err), err);
    CHECK_EQ_INT(profile->num_verdicts, 2);
    CHECK_OK(mmt_profile_replace_verdict(profile, &emulated, &err), err);
    CHECK_EQ_INT(profile->num_verdicts, 2);
    mmt_profile_verdict(profile, &emulated.call, MMT_F32_EMULATED, "580.65.06",
                        "cuBLAS 12.8.4", &it);
    CHECK(it && it->ours == 0.5);
    mmt_profile_verdict(profile, &emulated.call, MMT_F32_STRICT, "580.65.06",
                        "cuBLAS 12.8.4", &it);
    CHECK(it && it->ours == 1);
}

/* ---- in a file ----------------------------------------------------------------------
 */

/* As a run of the tuner writes them: one of all members, one of the least. */
static struct mmt_profile *two_verdicts(void)
{
    struct mmt_profile *profile = mmt_profile_create();
    const struct mmt_entry entry = full_entry(mmt_template_find("naive"), 2);
    struct mmt_verdict verdict = { .call = { .client = MMT_CLIENT_CUBLASLT,
                                             .problem = entry.problem,
                                             .adds = true,
                                             .alignment = 8,
                                             .workspace = 32 << 20,
                                             .most_workspace = 64 << 20 },
                                   .config = entry.config,
                                   .library = "cuBLAS 13.1.0",
                                   .driver = "580.65.06",
                                   .date = "2026-11-30T12:00:00Z",
                                   .ours = 1e-6 / 3,
                                   .theirs = 2e-6 / 3,
                                   .our_joules = 0.25,
                                   .their_joules = 0.5 };
    memcpy(verdict.template_hash, entry.template_hash, sizeof entry.template_hash);
    profile->caps = full_caps;
    CHECK_OK(mmt_profile_replace_verdict(profile, &verdict, &err), err);
    verdict.call.client = MMT_CLIENT_BLAS;
    verdict.call.adds = false;
    verdict.call.compute = MMT_COMPUTE_16F_PEDANTIC;
    verdict.call.alignment = 0;
    verdict.call.workspace = 0;
    verdict.our_joules = verdict.their_joules = 0;
    verdict.f32_mode = MMT_F32_STRICT;
    CHECK_OK(mmt_profile_replace_verdict(profile, &verdict, &err), err);
    return profile;
}

/* Reads what was printed, after one text in it was replaced; both are freed. */
static struct mmt_profile *read_with(struct mmt_profile *profile, const char *old,
                                     const char *new)
{
    struct mmt_text text = { 0 };
    char *printed = print_profile(profile);
    const char *at = strstr(printed, old);
    if (CHECK(at != NULL)) {
        mmt_text_add_bytes(&text, printed, at - printed);
        mmt_text_add(&text, new);
        mmt_text_add(&text, at + strlen(old));
    }
    struct mmt_profile *read =
        mmt_profile_read(mmt_text_string(&text), text.length, &err);
    CHECK_MADE(read);
    mmt_text_finish(&text);
    mmt_profile_free(profile);
    free(printed);
    return read;
}

static void same_verdict(const struct mmt_verdict *a, const struct mmt_verdict *b)
{
    CHECK(mmt_call_equal(&a->call, &b->call) && a->call.workspace == b->call.workspace &&
          a->call.most_workspace == b->call.most_workspace);
    CHECK(a->f32_mode == b->f32_mode && mmt_config_equal(&a->config, &b->config));
    CHECK_EQ_STR(a->template_hash, b->template_hash);
    CHECK_EQ_STR(a->library, b->library);
    CHECK_EQ_STR(a->driver, b->driver);
    CHECK_EQ_STR(a->date, b->date);
    CHECK(fabs(a->ours - b->ours) < 1e-15 && fabs(a->theirs - b->theirs) < 1e-15);
    CHECK(a->our_joules == b->our_joules && a->their_joules == b->their_joules);
}

static void test_file(void)
{
    SCOPED_PROFILE *a = two_verdicts();
    SCOPED_PROFILE *b = read_with(two_verdicts(), "", "");
    CHECK_EQ_STR(mmt_profile_warnings(b), "");
    if (CHECK_EQ_INT(b->num_verdicts, 2))
        for (int i = 0; i < 2; i++)
            same_verdict(&a->verdicts[i], &b->verdicts[i]);
}

/* One that cannot be used leaves the other. */
static void test_left_out(const char *old, const char *new, const char *words)
{
    SCOPED_PROFILE *b = read_with(two_verdicts(), old, new);
    CHECK_EQ_INT(b->num_verdicts, 1);
    if (!CHECK(strstr(mmt_profile_warnings(b), words) != NULL))
        fprintf(stderr, "    says: %s", mmt_profile_warnings(b));
}

/* A kernel that is no longer the one that was timed serves nobody; where no hash was
 * written, nothing is known against it. */
static void test_changed(void)
{
    struct mmt_profile *profile = two_verdicts();
    strcpy(profile->verdicts[0].template_hash, "0123");
    profile->verdicts[1].template_hash[0] = 0;
    SCOPED_PROFILE *read = read_with(profile, "", "");
    if (CHECK_EQ_INT(read->num_verdicts, 1))
        CHECK(read->verdicts[0].call.client == MMT_CLIENT_BLAS);
    CHECK(strstr(mmt_profile_warnings(read),
                 "template naive has changed since it was timed for 1 verdict"));
}

/* ---- layers -------------------------------------------------------------------------
 */

static void add_layer(struct mmt_profile *into, struct mmt_profile *from)
{
    CHECK_OK(mmt_profile_add_layer(into, from, &err), err);
    mmt_profile_free(from);
}

/* Times are of one card: another one's count for nothing. The first layer counts most. */
static void test_layers(void)
{
    SCOPED_PROFILE *all = mmt_profile_create();
    struct mmt_profile *other = two_verdicts(), *old = two_verdicts(),
                       *first = two_verdicts(), *second = two_verdicts();
    all->caps = full_caps;
    strcpy(other->caps.uuid, "of another card");
    add_layer(all, other);
    CHECK_EQ_INT(all->num_verdicts, 0);
    strcpy(old->verdicts[0].driver, "579.1");
    old->num_verdicts = 1;
    add_layer(all, old);
    CHECK_EQ_INT(all->num_verdicts, 1);
    first->verdicts[0].ours = 7e-6;
    add_layer(all, first);
    CHECK_EQ_INT(all->num_verdicts, 3);
    add_layer(all, second);
    CHECK_EQ_INT(all->num_verdicts, 3);

    const struct mmt_verdict *it;
    mmt_profile_verdict(all, &all->verdicts[0].call, MMT_F32_EMULATED, full_caps.driver,
                        "cuBLAS 13.1.0", &it);
    CHECK(it && it->ours == 7e-6 && it->layer == 2);
}

/* ---- unaligned operands ------------------------------------------------------------ */

/* Rows of what stands in are aligned as the call's operands are, and no further. */
static void test_stand_in(void)
{
    static const struct {
        mmt_type type, out;
        size_t alignment;
        int64_t ld, of_factors, of_c;
    } rows[] = {
        { MMT_BF16, MMT_BF16, 0, 64, 64, 64 }, { MMT_BF16, MMT_BF16, 2, 64, 65, 65 },
        { MMT_BF16, MMT_BF16, 2, 65, 65, 65 }, { MMT_BF16, MMT_BF16, 4, 64, 66, 66 },
        { MMT_BF16, MMT_BF16, 8, 64, 68, 68 }, { MMT_BF16, MMT_BF16, 8, 66, 66, 66 },
        { MMT_BF16, MMT_F32, 2, 64, 65, 65 },  { MMT_F64, MMT_F64, 8, 64, 65, 65 },
        { MMT_I8, MMT_I32, 1, 64, 65, 65 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mmt_call call = { .alignment = rows[i].alignment };
        mmt_problem problem = mmt_gemm_problem(rows[i].type, 48, 48, 48);
        problem.out = rows[i].out;
        problem.lda = problem.ldb = problem.ldc = rows[i].ld;
        CHECK(!mmt_problem_normalise(&problem, &call.problem, NULL));
        const mmt_problem other = mmt_call_stand_in(&call);
        CHECK(other.lda == rows[i].of_factors && other.ldb == rows[i].of_factors &&
              other.ldc == rows[i].of_c);
        CHECK(mmt_call_may_align(call.alignment));
    }
    CHECK(!mmt_call_may_align(3) && !mmt_call_may_align(16));
}

/* By which kernels a call of that alignment may be served: aligned, any, none. */
static void test_serves(void)
{
    const struct mmt_caps caps = hopper_caps(132);
    static const struct {
        const char *config;
        size_t alignment;
        bool serves, aligned;
    } rows[] = {
        { "simt", 0, true, true },     { "simt", 4, true, false },
        { "naive", 0, true, false },   { "naive", 4, true, false },
        { "simt_tma", 0, true, true }, { "simt_tma", 8, false, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mmt_problem problem = mmt_gemm_problem(MMT_F32, 256, 256, 256);
        struct mmt_config config;
        struct mmt_bound bound;
        mmt_error err = { 0 };
        bool aligned = false;
        CHECK(!mmt_problem_normalise(&problem, &problem, NULL));
        CHECK_OK(mmt_config_parse_for(rows[i].config, &problem, &caps, &config, &err),
                 err);
        CHECK(mmt_bind(&config, &problem, &caps, &bound));
        CHECK(mmt_bound_serves(&bound, rows[i].alignment, &aligned) == rows[i].serves &&
              aligned == rows[i].aligned);
    }
}

int main(void)
{
    test_stand_in();
    test_serves();
    test_verdict();
    test_cooler(1.0, 0.98, 1, MMT_FATE_TAKEN);
    test_cooler(1.0, 0.99, 1, MMT_FATE_SLOWER);
    test_cooler(0.999, 0.9, 1, MMT_FATE_SLOWER);
    test_cooler(0.979, 0.9, 1, MMT_FATE_SLOWER);
    test_cooler(1.02, 2, 1, MMT_FATE_TAKEN);
    test_cooler(1.0, 0, 1, MMT_FATE_SLOWER);
    test_cooler(1.0, 1, 0, MMT_FATE_SLOWER);
    test_compute();
    test_modes();
    test_file();
    test_left_out("\"template\": \"naive\"", "\"template\": \"gone\"",
                  "is left out: verdicts[0].template is \"gone\"");
    test_left_out("\"ORDER\":", "\"ORDERS\":", "is left out: verdicts[0].knobs");
    test_left_out(
        "\"cublaslt\"", "\"mkl\"",
        "verdicts[0].client is \"mkl\"; it must be one of cublas, cublaslt, blas");
    test_changed();
    test_layers();
    return test_end("verdicts");
}
