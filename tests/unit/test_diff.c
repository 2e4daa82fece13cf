/* Comparing two profiles: who is best, by how much, and how sure that is. */
#include <math.h>
#include <unistd.h>

#include "tests/support/entries.h"
#include "tests/support/folder.h"
#include "tuner/report/diff.h"
#include "tuner/common/options.h"

static void add(struct mmt_profile *profile, int size, const char *config, double micros,
                double spread, const char *source)
{
    struct mmt_entry entry = entry_of(product(size, size, size), config, micros * 1e-6);
    entry.time.spread = spread * 1e-6;
    strcpy(entry.source, source);
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
}

#define PAD32  "tiled TILE=32 SHARED_LAYOUT=pad"
#define SWAP32 "tiled TILE=32 SHARED_LAYOUT=swap"
#define PAD16  "tiled TILE=16 SHARED_LAYOUT=pad"
#define SWAP16 "tiled TILE=16 SHARED_LAYOUT=swap"
#define NAIVE  "naive"

/* Two cards. 64: one kernel on both, a tie. 128: different knobs, each timed on the
 * other. 256: different templates, not tried. 512 and 1024: on one alone. */
static struct mmt_profile *card(int which)
{
    struct mmt_profile *profile = mmt_profile_create();
    strcpy(profile->caps.name, which ? "Second" : "First");
    add(profile, which ? 512 : 1024, NAIVE, 1000, 0, "");
    add(profile, 256, which ? NAIVE : PAD32, which ? 50 : 40, 1, "");
    add(profile, 128, which ? SWAP16 : PAD32, which ? 10 : 20, 0.5, "");
    add(profile, 128, which ? PAD32 : SWAP16, which ? 10.5 : 30, 0.5, "other.json");
    add(profile, 64, SWAP32, which ? 5.5 : 5, 0.3, "");
    return profile;
}

static mmt_status compare(const struct mmt_profile *a, const struct mmt_profile *b,
                          struct mmt_diff *diff, mmt_error *err)
{
    const struct mmt_profile *const profile[2] = { a, b };
    const struct mmt_journal *const journal[2] = { NULL, NULL };
    const struct mmt_diff_filter all = MMT_DIFF_ALL;
    return mmt_diff_make(profile, journal, &all, diff, err);
}

static bool lasts(const struct mmt_row *row, double micros)
{
    return row && fabs(row->seconds * 1e6 - micros) < 1e-6;
}

static void check_knobs(const struct mmt_both *both, const char *wanted)
{
    json_t *knobs = mmt_diff_knobs(both->best[0], both->best[1]);
    char *text = json_dumps(knobs, JSON_COMPACT);
    CHECK_EQ_STR(text, wanted);
    free(text);
    json_decref(knobs);
}

static void check_small(const struct mmt_both *both)
{
    CHECK_EQ_INT(both->best[0]->problem->m, 64);
    CHECK(both->same && both->tie);
    check_knobs(both, "[]");
}

static void check_middle(const struct mmt_both *both)
{
    CHECK_EQ_INT(both->best[0]->problem->m, 128);
    CHECK(!both->same && !both->tie);
    CHECK(lasts(both->best[0], 20) && lasts(both->best[1], 10));
    CHECK(lasts(both->others_best[0], 30));
    CHECK(lasts(both->others_best[1], 10.5));
    CHECK(!mmt_rows_tie(both->best[0], both->others_best[0]));
    CHECK(mmt_rows_tie(both->best[1], both->others_best[1]));
    check_knobs(both, "[{\"name\":\"TILE\",\"a\":\"32\",\"b\":\"16\"},"
                      "{\"name\":\"SHARED_LAYOUT\",\"a\":\"pad\",\"b\":\"swap\"}]");
}

static void check_large(const struct mmt_both *both)
{
    CHECK_EQ_INT(both->best[0]->problem->m, 256);
    CHECK(!both->others_best[0] && !both->others_best[1]);
    CHECK(!both->suspect[0] && !both->suspect[1]);
    check_knobs(both, "[{\"name\":\"template\",\"a\":\"tiled\",\"b\":\"naive\"}]");
}

static void test_cards(void)
{
    SCOPED_PROFILE *a = card(0), *b = card(1);
    struct mmt_diff diff;
    CHECK_OK(compare(a, b, &diff, &err), err);
    if (CHECK_EQ_INT(diff.num_both, 3)) {
        check_small(&diff.both[0]);
        check_middle(&diff.both[1]);
        check_large(&diff.both[2]);
    }
    CHECK(diff.num_only[0] == 1 && diff.only[0][0].row->problem->m == 1024);
    CHECK(diff.num_only[1] == 1 && diff.only[1][0].row->problem->m == 512);

    struct mmt_wins wins[MMT_MAX_WINS];
    CHECK_EQ_INT(mmt_diff_wins(&diff, 1, wins), 2);
    CHECK_EQ_STR(wins[0].family, "tiled");
    CHECK_EQ_INT(wins[0].count, 2);
    mmt_diff_finish(&diff);
}

/* A kernel that was tried from elsewhere is no card's own best, even where it is faster.
 */
static void test_tried(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    struct mmt_rows rows;
    add(profile, 64, SWAP32, 5, 0, "");
    add(profile, 64, PAD32, 4, 0, "other.json");
    CHECK_OK(mmt_rows_collect(profile, &rows, &err), err);
    struct mmt_group group = mmt_rows_group(&rows, 0);
    CHECK_EQ_INT(group.count, 2);
    CHECK(lasts(mmt_group_best(&group), 5));
    mmt_rows_finish(&rows);
}

/* Two problems that differ in C's type alone are two. */
static void test_outputs(void)
{
    struct mmt_profile *profile[2] = { mmt_profile_create(), mmt_profile_create() };
    struct mmt_diff diff;
    for (int side = 0; side < 2; side++) {
        mmt_problem asked = mmt_gemm_problem(MMT_F16, 64, 64, 64);
        asked.out = side ? MMT_F32 : MMT_F16;
        add_entry(profile[side], asked, NAIVE, 1e-6);
    }
    CHECK_OK(compare(profile[0], profile[1], &diff, &err), err);
    CHECK_EQ_INT(diff.num_both, 0);
    CHECK(diff.num_only[0] == 1 && diff.num_only[1] == 1);
    mmt_diff_finish(&diff);
    mmt_profile_free(profile[0]);
    mmt_profile_free(profile[1]);
}

static void test_empty(void)
{
    SCOPED_PROFILE *a = mmt_profile_create(), *b = card(1);
    struct mmt_diff diff;
    CHECK_OK(compare(a, b, &diff, &err), err);
    CHECK(diff.num_both == 0 && diff.num_only[0] == 0 && diff.num_only[1] == 4);
    mmt_diff_finish(&diff);
}

static struct mmt_profile *paper(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/profiles/papers/%s", test_source_root(), name);
    struct mmt_profile *profile = mmt_profile_load(path, &err);
    if (!CHECK_MADE(profile))
        exit(1);
    return profile;
}

/* What the paper says of its two cards, and which of its figures that rests on. */
static void test_papers(void)
{
    SCOPED_PROFILE *gtx = paper("geforce-gtx-1060.json");
    SCOPED_PROFILE *quadro = paper("quadro-k5000.json");
    struct mmt_diff diff;
    CHECK_OK(compare(gtx, quadro, &diff, &err), err);
    CHECK_EQ_INT(diff.num_both, 3);
    CHECK_EQ_INT(diff.num_only[0], 3);
    for (size_t i = 0; i < diff.num_both; i++) {
        const struct mmt_both *both = &diff.both[i];
        CHECK_EQ_STR(both->best[0]->name, "index swap");
        CHECK_EQ_STR(both->best[1]->name, "extra column");
        CHECK(!both->suspect[0]); /* what surprises is not suspect */
        CHECK(both->suspect[1] == (both->best[1]->problem->m == 512));
        check_knobs(both, "[{\"name\":\"SHARED_LAYOUT\",\"a\":\"swap\",\"b\":\"pad\"}]");
    }
    struct mmt_wins wins[MMT_MAX_WINS];
    CHECK_EQ_INT(mmt_diff_wins(&diff, 0, wins), 1);
    CHECK(wins[0].count == 3 && wins[0].suspect == 0);
    CHECK_EQ_INT(mmt_diff_wins(&diff, 1, wins), 1);
    CHECK(wins[0].count == 3 && wins[0].suspect == 1);
    mmt_diff_finish(&diff);
}

/* A journal of A in which the kernels were timed on the problem. */
static struct mmt_journal *write_journal(const struct mmt_profile *a, const char *path)
{
    static const struct {
        const char *config;
        double micros;
        bool final;
    } timed[] = { { SWAP16, 29, false }, { SWAP16, 30, true }, { PAD16, 24, false } };
    struct mmt_journal *journal = NULL;
    struct mmt_journal *writer = mmt_journal_open(path, &a->caps, true, &err);
    if (!CHECK(writer != NULL))
        return NULL;
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        struct mmt_record record = { .final = timed[i].final };
        record.problem = a->entries[0].problem;
        record.result.outcome = MMT_TIMED;
        record.result.time = (struct mmt_timing){ timed[i].micros * 1e-6, 0, 9 };
        CHECK_OK(mmt_config_parse(timed[i].config, &record.config, &err), err);
        CHECK_OK(mmt_journal_add(writer, &record, &err), err);
    }
    mmt_journal_close(writer);
    CHECK_OK(mmt_journal_read(path, &a->caps, &journal, &err), err);
    return journal;
}

static const struct mmt_knob_sum *find_knob(const struct mmt_knob_sum *sums, size_t num,
                                            const char *name)
{
    for (size_t i = 0; i < num; i++)
        if (!strcmp(sums[i].name, name))
            return &sums[i];
    return NULL;
}

/* On A: PAD32 20 us is best. TILE alone takes it to 24 us, and from there the layout
 * alone to 29 us. */
static void check_joined(const struct mmt_diff *diff)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums);
    const struct mmt_knob_sum *tile = find_knob(sums, num, "TILE"),
                              *layout = find_knob(sums, num, "SHARED_LAYOUT");
    CHECK(lasts(diff->both->best[0], 20) && lasts(diff->both->others_best[0], 30));
    CHECK(!diff->both->others_best[1]);
    CHECK(fabs(mmt_diff_cost(diff, 0).ratio - 1.5) < 1e-9);
    CHECK_EQ_INT(mmt_diff_cost(diff, 1).count, 0);
    if (!CHECK(num == 2 && tile && layout))
        return;
    CHECK(layout == sums); /* it costs more */
    CHECK(layout->differ == 1 && layout->side[0].wrong.count == 1 &&
          fabs(layout->side[0].wrong.ratio - 29. / 24) < 1e-9);
    CHECK(tile->differ == 1 && fabs(tile->side[0].wrong.ratio - 1.2) < 1e-9);
    CHECK_EQ_INT(tile->side[1].wrong.count, 0);
    CHECK_EQ_STR(tile->side[0].value, "32");
    CHECK_EQ_STR(tile->side[1].value, "16");
}

static struct mmt_profile *one_figure(bool copying)
{
    struct mmt_profile *profile = mmt_profile_create();
    SCOPED_PROFILE *own = card(0);
    profile->published = calloc(1, sizeof *profile->published);
    if (CHECK(profile->published))
        profile->published[profile->num_published++] =
            (struct mmt_published){ .problem = own->entries[0].problem,
                                    .kernel = "naive",
                                    .knobs = NAIVE,
                                    .seconds = 1,
                                    .copying = copying };
    return profile;
}

/* A time with copying is none of a kernel alone; a paper that does not say has copied. */
static void test_covers(void)
{
    SCOPED_PROFILE *copies = one_figure(true), *unsaid = one_figure(false),
                   *own = card(0);
    struct mmt_diff diff;
    CHECK_OK(compare(copies, unsaid, &diff, &err), err);
    CHECK(diff.num_both == 1 && !diff.num_apart);
    mmt_diff_finish(&diff);
    CHECK_OK(compare(copies, own, &diff, &err), err);
    CHECK(!diff.num_both && diff.num_apart == 1);
    mmt_diff_finish(&diff);
    CHECK_OK(compare(own, unsaid, &diff, &err), err);
    CHECK(!diff.num_both && diff.num_apart == 1);
    mmt_diff_finish(&diff);
}

/* On A swap is 1 % slower, within the spreads: A has no preference, B has. */
static void test_noise(void)
{
    SCOPED_PROFILE *a = mmt_profile_create(), *b = mmt_profile_create();
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    struct mmt_diff diff;
    add(a, 128, PAD32, 20, 0.5, "");
    add(a, 128, SWAP32, 20.2, 0.5, "other.json");
    add(b, 128, SWAP32, 10, 0.1, "");
    add(b, 128, PAD32, 15, 0.1, "other.json");
    CHECK_OK(compare(a, b, &diff, &err), err);
    const size_t num = mmt_diff_knob_sums(&diff, sums);
    const struct mmt_knob_sum *layout = find_knob(sums, num, "SHARED_LAYOUT");
    if (CHECK(layout)) {
        CHECK_EQ_STR(layout->side[0].value, "either");
        CHECK_EQ_STR(layout->side[1].value, "swap");
        CHECK(layout->side[0].count == 0 && layout->side[1].count == 1);
        CHECK(fabs(layout->side[1].wrong.ratio - 1.5) < 1e-9);
    }
    mmt_diff_finish(&diff);
}

static void test_journals(void)
{
    SCOPED_PROFILE *a = mmt_profile_create(), *b = mmt_profile_create();
    const struct mmt_diff_filter all = MMT_DIFF_ALL;
    struct mmt_diff diff;
    make_folder();
    strcpy(a->caps.name, "First");
    add(a, 128, PAD32, 20, 0.5, "");
    add(b, 128, SWAP16, 10, 0.5, "");
    struct mmt_journal *journal = write_journal(a, in_folder("a.json"));
    if (CHECK(journal != NULL)) {
        const struct mmt_profile *const profile[2] = { a, b };
        const struct mmt_journal *const journals[2] = { journal, NULL };
        CHECK_OK(mmt_diff_make(profile, journals, &all, &diff, &err), err);
        CHECK_EQ_INT(diff.num_joined[0], 3);
        check_joined(&diff);
        mmt_diff_finish(&diff);
    }
    mmt_journal_close(journal);
}

int main(void)
{
    test_cards();
    test_tried();
    test_outputs();
    test_empty();
    test_papers();
    test_covers();
    test_noise();
    test_journals();
    return test_end("diff");
}
