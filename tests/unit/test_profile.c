/* Profiles: what is written is read again and written the same; what is wrong is refused
 * with a sentence. */
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/full_profile.h"
#include "tests/support/made.h"

/* Folders that are not absolute are the source's. */
static const char *data_path(const char *folder, const char *name, char out[1024])
{
    if (folder[0] == '/')
        snprintf(out, 1024, "%s/%s", folder, name);
    else
        snprintf(out, 1024, "%s/%s/%s", test_source_root(), folder, name);
    return out;
}

/* Of the profiles that data/profiles/make_bad.py wrote. */
static const char *bad_folder(void)
{
    const char *folder = getenv("MMT_BAD_PROFILES");
    if (!folder || folder[0] != '/') {
        fprintf(stderr,
                "MMT_BAD_PROFILES is '%s'; it must be the absolute path of the "
                "folder that make_bad.py filled\n",
                folder ? folder : "");
        exit(1);
    }
    return folder;
}

/* ---- round trips ----------------------------------------------------------------- */

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fabs(a);
}

static void same_yardstick(const struct mmt_yardstick *a, const struct mmt_yardstick *b)
{
    CHECK_EQ_STR(a->library, b->library);
    CHECK_EQ_STR(a->driver, b->driver);
    CHECK_EQ_STR(a->date, b->date);
    CHECK(close_to(a->ours, b->ours) && close_to(a->first, b->first) &&
          close_to(a->best, b->best));
}

static void same_entry(const struct mmt_entry *a, const struct mmt_entry *b)
{
    CHECK(mmt_problem_equal(&a->problem, &b->problem));
    CHECK(mmt_config_equal(&a->config, &b->config));
    CHECK_EQ_STR(a->template_hash, b->template_hash);
    CHECK_EQ_STR(a->source, b->source);
    CHECK(close_to(a->time.median, b->time.median) &&
          close_to(a->time.spread, b->time.spread));
    CHECK_EQ_INT(a->time.samples, b->time.samples);
    CHECK(close_to(a->gflops, b->gflops) && close_to(a->roofline, b->roofline) &&
          close_to(a->naive, b->naive));
    same_yardstick(&a->yardstick, &b->yardstick);
}

static void same_unlisted_kernel(const struct mmt_unlisted_kernel *a,
                                 const struct mmt_unlisted_kernel *b)
{
    CHECK(mmt_config_equal(&a->config, &b->config));
    CHECK(a->family == b->family && a->right == b->right);
}

static void same_range(const struct mmt_range *a, const struct mmt_range *b)
{
    CHECK(mmt_range_same(a, b));
    CHECK_EQ_INT(b->num_segments, a->num_segments);
    CHECK_EQ_INT(b->num_times, a->num_times);
    for (int i = 0; i < a->num_segments && i < b->num_segments; i++) {
        CHECK(mmt_config_equal(&a->segments[i].config, &b->segments[i].config));
        CHECK_EQ_STR(b->segments[i].template_hash, a->segments[i].template_hash);
        CHECK_EQ_INT(b->segments[i].m_to, a->segments[i].m_to);
    }
    for (int i = 0; i < a->num_times && i < b->num_times; i++)
        CHECK(a->times[i].m == b->times[i].m &&
              close_to(a->times[i].seconds, b->times[i].seconds) &&
              close_to(a->times[i].best, b->times[i].best));
}

static void same_tree(const struct mmt_tree *a, const struct mmt_tree *b)
{
    for (int i = 0; i < MMT_TREE_DEPTH; i++)
        CHECK(a->feature[i] == b->feature[i] && a->above[i] == b->above[i]);
    for (int i = 0; i < MMT_TREE_LEAVES; i++)
        CHECK(a->leaf[i] == b->leaf[i]);
}

static void same_model(const struct mmt_model *a, const struct mmt_model *b)
{
    CHECK(a->family == b->family && close_to(a->residual, b->residual));
    CHECK_EQ_INT(b->law, a->law);
    CHECK_EQ_INT(b->shapes, a->shapes);
    CHECK_EQ_INT(b->num_trees, a->num_trees);
    for (int i = 0; i < a->num_trees && i < b->num_trees; i++)
        same_tree(&a->trees[i], &b->trees[i]);
}

static void test_memory(void)
{
    SCOPED_PROFILE *a = full_profile();
    char *text = print_profile(a);
    SCOPED_PROFILE *b = mmt_profile_read(text, strlen(text), &err);
    if (!CHECK_MADE(b))
        return;
    CHECK_EQ_STR(mmt_profile_warnings(b), "");
    CHECK(memcmp(&a->caps, &b->caps, sizeof a->caps) == 0);
    CHECK(memcmp(&a->made, &b->made, sizeof a->made) == 0);
    CHECK(close_to(a->roofline.peak_flops[MMT_F64], b->roofline.peak_flops[MMT_F64]) &&
          close_to(a->roofline.bandwidth, b->roofline.bandwidth));
    CHECK(close_to(a->roofline.bandwidth_spread, b->roofline.bandwidth_spread));
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        CHECK(close_to(a->roofline.peak_spread[i], b->roofline.peak_spread[i]));
    CHECK_EQ_INT(b->num_entries, a->num_entries);
    for (size_t i = 0; i < a->num_entries && i < b->num_entries; i++)
        same_entry(&a->entries[i], &b->entries[i]);
    CHECK_EQ_INT(b->num_unlisted, a->num_unlisted);
    for (size_t i = 0; i < a->num_unlisted && i < b->num_unlisted; i++)
        same_unlisted_kernel(&a->unlisted[i], &b->unlisted[i]);
    CHECK_EQ_INT(b->num_ranges, 2);
    for (size_t i = 0; i < a->num_ranges && i < b->num_ranges; i++)
        same_range(&a->ranges[i], &b->ranges[i]);
    CHECK_EQ_INT(b->num_models, a->num_models);
    for (size_t i = 0; i < a->num_models && i < b->num_models; i++)
        same_model(&a->models[i], &b->models[i]);
    if (CHECK_EQ_INT(b->num_pruning, 1))
        CHECK(b->pruning->type == MMT_F64 && b->pruning->correlation == 0.75 &&
              b->pruning->samples == 123 && !strcmp(b->pruning->template, "simt"));
    char *again = print_profile(b);
    CHECK_EQ_STR(again, text);
    free(again);
    free(text);
}

/* ---- the vendor's library --------------------------------------------------------- */

/* A profile of one entry, whose library takes `first` where ours takes 1. */
static struct mmt_profile *beside(double first)
{
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_entry entry = full_entry(mmt_template_find("naive"), 0);
    entry.yardstick =
        (struct mmt_yardstick){ "cuBLAS 12.8.4", "580.65.06", "", 1, first, 0 };
    profile->caps = full_caps;
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
    return profile;
}

static void test_yardstick(void)
{
    SCOPED_PROFILE *profile = beside(2);
    mmt_problem problem = profile->entries[0].problem, other = problem;
    const struct mmt_yardstick *it = mmt_profile_yardstick(profile, &problem);
    other.m++;
    CHECK(it == &profile->entries[0].yardstick);
    CHECK(!mmt_profile_yardstick(profile, &other));
    strcpy(profile->entries[0].source, "another.json");
    CHECK(!mmt_profile_yardstick(profile, &problem));
    profile->entries[0].source[0] = '\0';
    profile->entries[0].yardstick.library[0] = '\0';
    CHECK(!mmt_profile_yardstick(profile, &problem));
}

/* A warning, if there is one, says that templates have changed. */
static bool only_changes(const char *warnings)
{
    for (; *warnings; warnings = strchr(warnings, '\n') + 1)
        if (!strstr(warnings, "of templates that have changed since"))
            return false;
    return true;
}

static void round_trip(const char *path)
{
    SCOPED_TEXT before = { 0 }, after = { 0 };
    char copy[] = "/tmp/mmtune-test-XXXXXX";
    close(mkstemp(copy));
    SCOPED_PROFILE *profile = mmt_profile_load(path, &err);
    if (CHECK_MADE(profile)) {
        CHECK(only_changes(mmt_profile_warnings(profile)));
        CHECK_OK(mmt_profile_save(profile, copy, &err), err);
        CHECK_OK(mmt_file_read(path, 1 << 24, &before, &err), err);
        CHECK_OK(mmt_file_read(copy, 1 << 24, &after, &err), err);
        CHECK_EQ_STR(mmt_text_string(&after), mmt_text_string(&before));
    }
    unlink(copy);
}

/* Calls for every .json of a folder; returns how many there were. */
static int each_file(const char *folder, void (*check)(const char *path))
{
    char path[1024];
    int count = 0;
    DIR *list = opendir(data_path(folder, "", path));
    if (!CHECK(list != NULL))
        return 0;
    for (struct dirent *file; (file = readdir(list));) {
        const char *dot = strrchr(file->d_name, '.');
        if (!dot || strcmp(dot, ".json") != 0)
            continue;
        check(data_path(folder, file->d_name, path));
        count++;
    }
    closedir(list);
    return count;
}

/* ---- bad files ------------------------------------------------------------------- */

/* A line of expected.txt: FILE, "refused" or how many entries (or published figures),
 * kernels for unlisted shapes and models are left ("1+0+0"), and a part of the sentence
 * that says why; where it is empty, nothing may be said. */
static void bad_file(const char *name, const char *left, const char *words)
{
    char path[1024], left_over[32] = "refused";
    mmt_error err = { 0 };
    data_path(bad_folder(), name, path);
    SCOPED_PROFILE *profile = mmt_profile_load(path, &err);
    const char *said = profile ? mmt_profile_warnings(profile) : err.text;
    if (profile)
        snprintf(left_over, sizeof left_over, "%zu+%zu+%zu",
                 profile->num_entries + profile->num_published, profile->num_unlisted,
                 profile->num_models);
    else
        CHECK(strstr(err.text, path) && err.status == MMT_ERROR_FORMAT);

    bool right = CHECK_EQ_STR(left_over, left);
    right &= CHECK(*words ? strstr(said, words) != NULL : only_changes(said));
    if (!right)
        fprintf(stderr, "    %s says: %s\n    should say: %s\n", name, said, words);
}

static int listed;

static void test_bad_files(void)
{
    char path[1024], line[1024];
    FILE *list = fopen(data_path(bad_folder(), "expected.txt", path), "r");
    if (!CHECK(list != NULL))
        return;
    while (fgets(line, sizeof line, list)) {
        char *rest = line;
        const char *name = strsep(&rest, "\t\n");
        const char *left = strsep(&rest, "\t\n");
        const char *words = strsep(&rest, "\t\n");
        if (CHECK(left && words))
            bad_file(name, left, words);
        listed++;
    }
    fclose(list);
}

static void count_file(const char *path)
{
    listed--;
}

/* ---- what is too large for a file ------------------------------------------------ */

static void refuse_text(const struct mmt_text *text, const char *words)
{
    CHECK_REFUSED(mmt_profile_read(text->data, text->length, &err), MMT_ERROR_FORMAT,
                  words);
}

static void test_large(void)
{
    SCOPED_TEXT text = { 0 };
    for (int i = 0; i < 1000000; i++)
        mmt_text_add(&text, "[");
    refuse_text(&text, "line 1 is nested more than 16 deep");
    mmt_text_finish(&text);

    mmt_text_add(&text, "{\"format\": 1, \"entries\": [1");
    for (int i = 0; i < 1000001; i++)
        mmt_text_add(&text, ",1");
    refuse_text(&text, "more than 1000000 values");
}

/* Thousands of entries, all of them wrong: the warnings end somewhere. */
static void test_many_warnings(void)
{
    SCOPED_PROFILE *profile = full_profile();
    char *good = print_profile(profile);
    SCOPED_TEXT text = { 0 };
    char *entries = strstr(good, "\"entries\": [") + strlen("\"entries\": [");
    mmt_text_add_bytes(&text, good, entries - good);
    for (int i = 0; i < 20000; i++)
        mmt_text_add(&text, "{\"problem\": 7},");
    mmt_text_add(&text, entries);

    SCOPED_PROFILE *read = mmt_profile_read(text.data, text.length, &err);
    if (CHECK_MADE(read)) {
        CHECK_EQ_INT(read->num_entries, profile->num_entries);
        CHECK(strlen(mmt_profile_warnings(read)) < 80 * 1024);
        CHECK(strstr(mmt_profile_warnings(read), "entries[0] is left out: "
                                                 "entries[0].problem is 7; it must be an "
                                                 "object"));
        CHECK(
            strstr(mmt_profile_warnings(read), "more was left out than is listed here"));
    }
    free(good);
}

/* ---- what cannot be written ------------------------------------------------------ */

static void refuse_writing(double median, double gflops, const char *words)
{
    SCOPED_PROFILE *profile = full_profile();
    SCOPED_TEXT text = { 0 };
    profile->entries[1].time.median = median;
    profile->entries[1].gflops = gflops;
    CHECK_FAILS(mmt_profile_print(profile, &text, &err), err, MMT_ERROR_ARGUMENT, words);
}

static void test_writing(void)
{
    refuse_writing(NAN, 1, "entries[1].time.median_us is nan");
    refuse_writing(0, 1, "entries[1].time.median_us is 0; it must be a number above 0");
    refuse_writing(1, INFINITY, "entries[1].gflops is inf");

    SCOPED_PROFILE *profile = full_profile(), *wrong = full_profile();
    wrong->entries[0].config.values[0] = 12345;
    CHECK_FAILS(mmt_profile_save(wrong, "/tmp/never-written.json", &err), err,
                MMT_ERROR_ARGUMENT, "is 12345, which is none of its values");

    CHECK_FAILS(mmt_profile_save(profile, "/proc/none/profile.json", &err), err,
                MMT_ERROR_NOT_FOUND, "/proc/none");
    strcpy(profile->caps.name, "Caf\xe9");
    char *text = print_profile(profile);
    CHECK(strstr(text, "\"name\": \"Caf?\""));
    free(text);
}

/* ---- files, names, owners -------------------------------------------------------- */

static void test_files(void)
{
    CHECK_REFUSED(mmt_profile_load("/nowhere/p.json", &err), MMT_ERROR_NOT_FOUND,
                  "No such file");
    CHECK(strstr(err.text, "/nowhere/p.json"));
    CHECK_REFUSED(mmt_profile_load("/tmp", &err), MMT_ERROR_IO, "is a folder");
    CHECK_REFUSED(mmt_profile_load(NULL, &err), MMT_ERROR_ARGUMENT, "");
    mmt_profile_free(NULL);
}

static void check_path(const char *name, const char *wanted)
{
    struct mmt_caps caps = { .backend = "opencl" };
    SCOPED_TEXT path = { 0 };
    snprintf(caps.name, sizeof caps.name, "%s", name);
    mmt_profile_path(&caps, &path);
    CHECK_EQ_STR(mmt_text_string(&path), wanted);
}

static void test_path(void)
{
    setenv("XDG_DATA_HOME", "/data", 1);
    check_path("NVIDIA H200", "/data/mmtune/opencl-nvidia-h200.json");
    check_path("AMD EPYC(TM) 9.5/../x ", "/data/mmtune/opencl-amd-epyc-tm-9.5-..-x.json");
    check_path("\xc2\xb5 Card", "/data/mmtune/opencl-card.json");
}

static void test_foreign(void)
{
    char buffer[512];
    SCOPED_PROFILE *profile = full_profile();
    struct mmt_caps caps = profile->caps;
    strcpy(caps.driver, "999.1");
    CHECK(!mmt_profile_foreign(profile, &caps, buffer));
    strcpy(caps.uuid, "01234567");
    caps.memory -= caps.memory / 16;
    CHECK(!mmt_profile_foreign(profile, &caps, buffer));
    caps.memory -= caps.memory / 8;
    CHECK(strstr(mmt_profile_foreign(profile, &caps, buffer), "GiB of memory"));
    caps = profile->caps;
    caps.sms--;
    CHECK_EQ_STR(
        mmt_profile_foreign(profile, &caps, buffer),
        "the profile was made on a device with 132 multiprocessors, and this one "
        "has 131");
    caps = profile->caps;
    strcpy(caps.name, "Another");
    CHECK_EQ_STR(
        mmt_profile_foreign(profile, &caps, buffer),
        "the profile was made on device 'Testing \"Card\" \xc2\xb5 9000', and this "
        "one is 'Another'");
    strcpy(profile->citation, "A paper");
    CHECK(strstr(mmt_profile_foreign(profile, &caps, buffer), "published figures"));
}

/* A profile that says the times of another source: told, and left in. */
static void test_changed(void)
{
    SCOPED_PROFILE *profile = full_profile();
    strcpy(profile->entries[0].template_hash, "0123");
    char *text = print_profile(profile);
    SCOPED_PROFILE *read = mmt_profile_read(text, strlen(text), &err);
    char words[128];
    snprintf(words, sizeof words, "1 entry is of templates that have changed since (%s)",
             profile->entries[0].config.template->name);
    if (CHECK_MADE(read)) {
        CHECK(strstr(mmt_profile_warnings(read), words));
        CHECK_EQ_INT(read->num_entries, profile->num_entries);
    }
    free(text);
}

/* `text` with `before` for its first `now`. */
static char *replaced(char *text, const char *now, const char *before)
{
    struct mmt_text out = { 0 };
    char *at = strstr(text, now);
    if (CHECK(at != NULL)) {
        *at = '\0';
        mmt_text_addf(&out, "%s%s%s", text, before, at + strlen(now));
    }
    free(text);
    return out.data;
}

/* An entry of skinny that is older than SUBGROUP has its first value. */
static void test_younger_knob(void)
{
    SCOPED_PROFILE *profile = mmt_profile_create();
    const struct mmt_entry entry = full_entry(mmt_template_find("skinny"), 0);
    char *text = NULL;

    profile->caps = full_caps;
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
    text = replaced(print_profile(profile), ", \"SUBGROUP\": 0", "");
    SCOPED_PROFILE *read = mmt_profile_read(text, strlen(text), &err);
    if (CHECK(read && read->num_entries == 1))
        CHECK(mmt_config_equal(&read->entries[0].config, &entry.config));
    free(text);
}

/* Each COPY of simt was a template of its own once, which had no such knob. */
static void test_copies(void)
{
    static const char *const rows[][2] = { { "registers", "simt" },
                                           { "cp_async", "simt_async" },
                                           { "tma", "simt_tma" } };
    for (int i = 0; i < 3; i++) {
        struct mmt_profile *profile = mmt_profile_create();
        const struct mmt_entry entry = full_entry(mmt_template_find(rows[i][1]), 0);
        mmt_error err = { 0 };
        char knob[64], template[64];
        snprintf(knob, sizeof knob, "\"COPY\": \"%s\", ", rows[i][0]);
        snprintf(template, sizeof template, "\"template\": \"%s\"", rows[i][1]);
        profile->caps = full_caps;
        CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
        char *text = replaced(print_profile(profile), knob, "");
        text = replaced(text, "\"template\": \"simt\"", template);
        struct mmt_profile *read = mmt_profile_read(text, strlen(text), &err);
        if (CHECK(read && read->num_entries == 1))
            CHECK(mmt_config_equal(&read->entries[0].config, &entry.config));
        mmt_profile_free(read);
        mmt_profile_free(profile);
        free(text);
    }
}

/* The papers' configurations are ours. */
static void check_paper(const char *path)
{
    SCOPED_PROFILE *profile = mmt_profile_load(path, &err);
    if (!CHECK_MADE(profile))
        return;
    CHECK(profile->num_published > 0 && profile->num_entries == 0);
    for (size_t i = 0; i < profile->num_published; i++) {
        config_of(profile->published[i].knobs);
        CHECK(!profile->published[i].suspect || *profile->published[i].note);
    }
    round_trip(path);
}

int main(void)
{
    test_memory();
    test_yardstick();
    CHECK(each_file("tests/data/profiles/good", round_trip) > 0);
    CHECK_EQ_INT(each_file("profiles/papers", check_paper), 2);
    test_bad_files();
    CHECK(listed > 20);
    each_file(bad_folder(), count_file);
    CHECK_EQ_INT(listed, 0);
    test_large();
    test_many_warnings();
    test_writing();
    test_files();
    test_path();
    test_foreign();
    test_changed();
    test_younger_knob();
    test_copies();
    return test_end("profile");
}
