/* Profiles as layers: what a user, a site and the installation know of a device counts
 * together, and for one problem what was measured on this very device, then the newest.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "device/device.h"
#include "runtime/runtime.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"

static mmt_device *device;

enum { USER, SITE, SHARED, PLACES };
static const char *const places[PLACES] = { "user/mmtune", "site",
                                            "shared/mmtune/profiles" };

/* ---- making profiles ----------------------------------------------------------------
 */

static struct mmt_profile *begin(const char *date)
{
    struct mmt_profile *profile = mmt_profile_create();
    profile->caps = device->caps;
    snprintf(profile->made.date, sizeof profile->made.date, "%s", date);
    return profile;
}

/* naive with another order of threads for each `order`. */
static struct mmt_config naive(int order)
{
    return config_of(order ? "naive ORDER=columns" : "naive ORDER=rows");
}

static mmt_problem square(mmt_type type, int64_t size)
{
    return normal_of(mmt_gemm_problem(type, size, size, size));
}

static void add_entry(struct mmt_profile *profile, mmt_type type, int64_t size, int order)
{
    const struct mmt_entry entry = { .problem = square(type, size),
                                     .config = naive(order),
                                     .time = { 1e-3, 1e-5, 5 },
                                     .gflops = 1 };
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
}

/* One kernel for all m up to `m_to` of products of that n and k. */
static void add_range(struct mmt_profile *profile, int64_t size, int64_t m_to, int order)
{
    const mmt_problem low = square(MMT_F32, size);
    const struct mmt_range range = { .problem = mmt_problem_with_m(&low, 1),
                                     .num_segments = 1,
                                     .segments = { { m_to, naive(order), "0" } } };
    CHECK_OK(mmt_profile_add_range(profile, &range, &err), err);
}

/* A model of the family that rests on so many problems. */
static void add_model(struct mmt_profile *profile, mmt_type family, int shapes)
{
    static struct mmt_model model;
    model =
        (struct mmt_model){ .family = family, .law = MMT_LAW_EDITION, .shapes = shapes };
    mmt_model_name(&model);
    CHECK_OK(mmt_profile_add_model(profile, &model, &err), err);
}

static void path_of(int place, const char *end, struct mmt_text *path)
{
    mmt_text_addf(path, "%s/%s/", folder, places[place]);
    mmt_profile_stem(&device->caps, path);
    mmt_text_add(path, end);
}

static void put(int place, const char *end, struct mmt_profile *profile)
{
    struct mmt_text path = { 0 };
    path_of(place, end, &path);
    CHECK_OK(mmt_profile_save(profile, mmt_text_string(&path), &err), err);
    mmt_profile_free(profile);
    mmt_text_finish(&path);
}

/* A file with nothing but that. */
static void put_entry(int place, const char *end, const char *date, mmt_type type,
                      int64_t size, int order)
{
    struct mmt_profile *profile = begin(date);
    add_entry(profile, type, size, order);
    put(place, end, profile);
}

static void put_model(int place, const char *end, const char *date, mmt_type family,
                      int shapes)
{
    struct mmt_profile *profile = begin(date);
    add_model(profile, family, shapes);
    put(place, end, profile);
}

static void clear(void)
{
    char command[256];
    snprintf(command, sizeof command,
             "cd %s && rm -rf user site shared && mkdir -p %s %s %s", folder,
             places[USER], places[SITE], places[SHARED]);
    CHECK(!system(command));
}

/* ---- what is selected ----------------------------------------------------------------
 */

static mmt_profile *find(void)
{
    mmt_profile *profile = mmt_profile_find(device, &err);
    if (!profile)
        fprintf(stderr, "%s\n", err.text);
    return profile;
}

/* The order of the naive kernel that is selected, and why. */
static void check_choice(mmt_type type, int64_t size, int why, int order,
                         const char *place)
{
    SCOPED_PROFILE *profile = find();
    const mmt_problem problem = square(type, size);
    const struct mmt_config wanted = naive(order);
    struct mmt_selection selection;
    if (!CHECK(profile != NULL))
        return;
    CHECK_OK(mmt_select(profile, &problem, &device->caps, NULL, &selection, &err), err);
    CHECK_EQ_INT(selection.why, why);
    CHECK(mmt_config_equal(&selection.config, &wanted));
    CHECK(selection.layer >= 0 && strstr(profile->layers[selection.layer].path, place));
}

/* The problems that the model of a type rests on, and whose it is. */
static void check_model(mmt_type type, int shapes, const char *place)
{
    SCOPED_PROFILE *profile = find();
    const struct mmt_model *model = profile ? mmt_profile_model(profile, type) : NULL;
    if (CHECK(model != NULL)) {
        CHECK_EQ_INT(model->shapes, shapes);
        CHECK(strstr(profile->layers[model->layer].path, place));
    }
}

/* ---- the tests -----------------------------------------------------------------------
 */

/* A user's minute of f32 hides neither what is installed for f64 nor for other shapes. */
static void test_all_count(void)
{
    clear();
    struct mmt_profile *user = begin("2026-03-01T00:00:00Z");
    add_entry(user, MMT_F32, 512, 0);
    add_model(user, MMT_F32, 4);
    put(USER, ".json", user);
    struct mmt_profile *shared = begin("2026-01-01T00:00:00Z");
    add_entry(shared, MMT_F64, 512, 1);
    add_model(shared, MMT_F32, 24);
    put(SHARED, ".json", shared);
    put_entry(SITE, "-more.json", "2026-02-01T00:00:00Z", MMT_I32, 512, 1);

    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 0, "/user/");
    check_choice(MMT_F64, 512, MMT_SELECTION_EXACT, 1, "/shared/");
    check_choice(MMT_I32, 512, MMT_SELECTION_EXACT, 1, "/site/");
    check_model(MMT_F32, 24, "/shared/");
}

/* An entry of any layer counts before a range of any; of ranges of the same problems the
 * newest; of others each counts. */
static void test_ranges(void)
{
    clear();
    struct mmt_profile *user = begin("2026-02-01T00:00:00Z");
    add_range(user, 512, 600, 0);
    put(USER, ".json", user);
    struct mmt_profile *shared = begin("2026-01-01T00:00:00Z");
    add_range(shared, 512, 600, 1);
    add_range(shared, 256, 600, 1);
    put(SHARED, ".json", shared);
    check_choice(MMT_F32, 512, MMT_SELECTION_RANGE, 0, "/user/");
    check_choice(MMT_F32, 256, MMT_SELECTION_RANGE, 1, "/shared/");

    put_entry(SITE, ".json", "2025-01-01T00:00:00Z", MMT_F32, 512, 1);
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 1, "/site/");
    SCOPED_PROFILE *found = find();
    if (CHECK(found != NULL))
        CHECK_EQ_INT(found->num_ranges, 2);
}

/* Of models that rest on as much the newest; of others the one that rests on more,
 * however old. */
static void test_models(void)
{
    clear();
    put_model(USER, ".json", "2026-01-01T00:00:00Z", MMT_F32, 24);
    put_model(SITE, ".json", "2026-02-01T00:00:00Z", MMT_F32, 24);
    check_model(MMT_F32, 24, "/site/");
    put_model(SHARED, ".json", "2025-01-01T00:00:00Z", MMT_F32, 25);
    check_model(MMT_F32, 25, "/shared/");
}

/* Each family by itself. */
static void test_families(void)
{
    clear();
    struct mmt_profile *user = begin("2026-02-01T00:00:00Z");
    add_model(user, MMT_F32, 24);
    add_model(user, MMT_F64, 24);
    put(USER, ".json", user);
    struct mmt_profile *shared = begin("2026-01-01T00:00:00Z");
    add_model(shared, MMT_F32, 25);
    add_model(shared, MMT_F64, 23);
    put(SHARED, ".json", shared);
    check_model(MMT_F32, 25, "/shared/");
    check_model(MMT_F64, 24, "/user/");
    SCOPED_PROFILE *both = find();
    if (!CHECK(both != NULL))
        return;
    CHECK_EQ_INT(both->num_models, 4);
    CHECK(!mmt_profile_model(both, MMT_I32));
}

/* A family's types share its model; one of too few problems corrects nothing; and one
 * takes the place of all of its family. */
static void test_one_family(void)
{
    struct mmt_profile *profile = begin("2026-01-01T00:00:00Z");
    add_model(profile, MMT_F32, 24);
    add_model(profile, MMT_BF16, 24);
    CHECK(mmt_profile_model(profile, MMT_F16) == &profile->models[1]);
    CHECK(!mmt_profile_model(profile, MMT_F8E4M3));
    struct mmt_model few = profile->models[1];
    few.shapes = MMT_FEWEST_SHAPES - 1;
    CHECK_OK(mmt_profile_replace_model(profile, &few, &err), err);
    CHECK_EQ_INT(profile->num_models, 2);
    CHECK(!mmt_profile_model(profile, MMT_BF16) && mmt_profile_model(profile, MMT_F32));
    few.shapes = MMT_FEWEST_SHAPES;
    CHECK_OK(mmt_profile_replace_model(profile, &few, &err), err);
    CHECK(mmt_profile_model(profile, MMT_BF16));
    mmt_profile_free(profile);
}

/* What was printed into memory, as a program carries it along. */
static mmt_profile *parsed(struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    CHECK_OK(mmt_profile_print(profile, &text, &err), err);
    mmt_profile *again = mmt_profile_parse(mmt_text_string(&text), text.length, &err);
    if (!CHECK(again))
        fprintf(stderr, "%s\n", err.text);
    mmt_text_finish(&text);
    mmt_profile_free(profile);
    return again;
}

/* The first profile that has a problem counts, whatever their dates are. */
static void test_combined(void)
{
    struct mmt_profile *first = begin("2026-01-01T00:00:00Z"),
                       *second = begin("2026-02-01T00:00:00Z");
    add_entry(first, MMT_F32, 64, 0);
    add_entry(second, MMT_F32, 64, 1);
    add_entry(second, MMT_F32, 96, 1);
    mmt_profile *both[] = { parsed(first), parsed(second) };
    mmt_profile *all =
        mmt_profile_combine(device, (const mmt_profile *const *) both, 2, &err);
    mmt_profile_free(both[0]);
    mmt_profile_free(both[1]);
    if (CHECK(all)) {
        CHECK_EQ_INT(all->num_entries, 2);
        const mmt_problem sizes[] = { square(MMT_F32, 64), square(MMT_F32, 96) };
        for (int i = 0; i < 2; i++) {
            struct mmt_selection selection;
            CHECK_OK(mmt_select(all, &sizes[i], &device->caps, NULL, &selection, &err),
                     err);
            const struct mmt_config right = naive(i);
            CHECK(selection.why == MMT_SELECTION_EXACT && selection.layer == i &&
                  mmt_config_equal(&selection.config, &right));
        }
    }
    mmt_profile_free(all);
}

static void test_not_combined(void)
{
    struct mmt_profile *foreign = begin("2026-01-01T00:00:00Z");
    snprintf(foreign->caps.name, sizeof foreign->caps.name, "Another");
    const mmt_profile *list[] = { foreign, NULL };

    CHECK(!mmt_profile_combine(device, list, 1, &err));
    CHECK(err.argument == MMT_ARGUMENT_PROFILE && strstr(err.text, "profile 0 of 1: "));
    CHECK(!mmt_profile_combine(device, &list[1], 1, &err) && strstr(err.text, "is NULL"));
    CHECK(!mmt_profile_combine(device, list, 0, &err) &&
          strstr(err.text, "at least one"));
    CHECK(!mmt_profile_combine(NULL, list, 1, &err));
    CHECK(err.argument == MMT_ARGUMENT_DEVICE);
    CHECK(!mmt_profile_parse(NULL, 1, &err) && err.status == MMT_ERROR_ARGUMENT);
    CHECK(!mmt_profile_parse("{", 1, &err) && err.status == MMT_ERROR_FORMAT);
    mmt_profile_free(foreign);
}

static void test_precedence(void)
{
    clear();
    strcpy(device->caps.uuid, "0123");
    struct mmt_profile *other = begin("2026-03-01T00:00:00Z");
    strcpy(other->caps.uuid, "4567");
    add_entry(other, MMT_F32, 512, 0);
    put(USER, ".json", other);
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 0, "/user/");

    put_entry(SHARED, ".json", "2026-01-01T00:00:00Z", MMT_F32, 512, 1);
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 1, "/shared/");

    put_entry(SITE, ".json", "2026-02-01T00:00:00Z", MMT_F32, 512, 0);
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 0, "/site/");
    device->caps.uuid[0] = 0;
}

/* What the library was found to take beside the entry that is executed: 1, or nothing. */
static void check_first(int64_t size, double first)
{
    const mmt_problem problem = square(MMT_F32, size);
    SCOPED_PROFILE *profile = find();
    if (!CHECK(profile != NULL))
        return;
    const struct mmt_yardstick *it = mmt_profile_yardstick(profile, &problem);
    CHECK(it ? it->first == first : first == 0);
}

/* The library's times come with the entry beside which they were taken. */
static void test_yardsticks(void)
{
    clear();
    struct mmt_profile *user = begin("2026-03-01T00:00:00Z");
    const struct mmt_yardstick one = { "cuBLAS 1", "", "", 1, 1, 0 },
                               two = { "cuBLAS 1", "", "", 1, 2, 0 };
    add_entry(user, MMT_F32, 512, 0);
    add_entry(user, MMT_F32, 256, 0);
    user->entries[0].yardstick = one;
    put(USER, ".json", user);
    struct mmt_profile *shared = begin("2026-01-01T00:00:00Z");
    for (int i = 0; i < 3; i++) {
        add_entry(shared, MMT_F32, 512 >> i, 1);
        shared->entries[i].yardstick = two;
    }
    put(SHARED, ".json", shared);
    check_first(512, 1);
    check_first(256, 0);
    check_first(128, 2);
}

/* What the device refuses hides nothing. */
static void test_refused(void)
{
    clear();
    struct mmt_profile *user = begin("2026-03-01T00:00:00Z");
    add_entry(user, MMT_F32, 512, 0);
    user->entries[0].config = config_of("naive BLOCK_M=32 BLOCK_N=32");
    put(USER, ".json", user);
    put_entry(SHARED, ".json", "2026-01-01T00:00:00Z", MMT_F32, 512, 1);
    const unsigned threads = device->caps.max_threads;
    device->caps.max_threads = 256;
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 1, "/shared/");
    device->caps.max_threads = threads;
}

/* A profile names its files, one a line, as much as fits. */
static void check_files(const mmt_profile *profile, const char *words)
{
    char files[2048], few[8];
    const size_t length = mmt_profile_files(profile, files, sizeof files);
    CHECK(length > 0 && length == strlen(files) && files[length - 1] == '\n');
    CHECK(strstr(files, words) != NULL);
    CHECK_EQ_INT(mmt_profile_files(profile, NULL, 0), length);
    CHECK_EQ_INT(mmt_profile_files(profile, few, sizeof few), length);
    CHECK_EQ_INT(strlen(few), sizeof few - 1);
    CHECK(mmt_profile_files(NULL, few, sizeof few) == 0 && !*few);
}

/* A file that is broken, and one of another device of the same name. */
static void test_broken(void)
{
    clear();
    struct mmt_text path = { 0 };
    path_of(USER, ".json", &path);
    CHECK_OK(mmt_file_replace(mmt_text_string(&path), "{", 1, &err), err);
    CHECK(!mmt_profile_find(device, &err));
    CHECK(err.status == MMT_ERROR_FORMAT && strstr(err.text, "/user/"));

    struct mmt_profile *other = begin("2026-01-01T00:00:00Z");
    other->caps.sms += 7;
    add_entry(other, MMT_F64, 512, 1);
    put(SITE, ".json", other);
    put_entry(SHARED, ".json", "2026-01-01T00:00:00Z", MMT_F32, 512, 1);
    SCOPED_PROFILE *found = find();
    CHECK(found && found->num_layers == 1 && found->num_entries == 1);
    CHECK(found && strstr(mmt_profile_warnings(found), "/user/"));
    if (found)
        check_files(found, found->layers[0].path);

    clear();
    other = begin("2026-01-01T00:00:00Z");
    other->caps.sms += 7;
    put(SITE, ".json", other);
    CHECK(!mmt_profile_find(device, &err));
    CHECK(err.status == MMT_ERROR_NOT_FOUND && strstr(err.text, "multiprocessors"));
    mmt_text_finish(&path);
}

/* A container that has fewer processors uses what the same CPU with more has: that with
 * the fewest, and what was measured with as many before it. One of fewer tells nothing.
 */
static void test_more_processors(void)
{
    static const unsigned processors[] = { 16, 8, 2 };
    static const char *const names[] = { "-16.json", "-8.json", "-2.json" };
    const struct mmt_caps before = device->caps;
    clear();
    device->caps.kind = MMT_CPU, device->caps.sms = 4;
    for (int i = 0; i < 3; i++) {
        struct mmt_profile *other = begin("2026-01-01T00:00:00Z");
        other->caps.sms = processors[i];
        add_entry(other, MMT_F32, 512, i == 1);
        add_entry(other, i == 0 ? MMT_F64 : MMT_I32, 512, 1);
        put(SITE, names[i], other);
    }
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 1, "-8.json");
    check_choice(MMT_F64, 512, MMT_SELECTION_EXACT, 1, "-16.json");
    put_entry(USER, ".json", "2025-01-01T00:00:00Z", MMT_F32, 512, 0);
    check_choice(MMT_F32, 512, MMT_SELECTION_EXACT, 0, "/user/");
    device->caps.kind = MMT_GPU;
    clear();
    struct mmt_profile *gpu = begin("2026-01-01T00:00:00Z");
    gpu->caps.sms = 16;
    put(SITE, ".json", gpu);
    CHECK(!mmt_profile_find(device, &err) && err.status == MMT_ERROR_NOT_FOUND);
    device->caps = before;
}

/* What a plan of that profile says of a square. */
static const char *said_of(const mmt_profile *profile, bool foreign)
{
    static char text[2048];
    const mmt_problem problem = square(MMT_F32, 512);
    mmt_plan_options options = mmt_plan_defaults();
    options.foreign_profile = foreign;
    mmt_plan *plan = mmt_plan_create(device, profile, &problem, &options, &err);
    if (!CHECK(plan != NULL))
        fprintf(stderr, "%s\n", err.text);
    mmt_plan_describe(plan, text, sizeof text);
    mmt_plan_free(plan);
    return text;
}

/* What was tuned on another device is not said to be tuned here, whether the profile was
 * found, of a CPU with more processors, or is taken though it is foreign. */
static void test_told_of_another(void)
{
    const struct mmt_caps before = device->caps;
    struct mmt_text path = { 0 }, text = { 0 };
    const mmt_problem problem = square(MMT_F32, 512);
    for (int found = 0; found < 2; found++) {
        clear();
        device->caps.kind = found ? MMT_CPU : MMT_GPU, device->caps.sms = 2;
        struct mmt_profile *other = begin("2026-01-01T00:00:00Z");
        other->caps.sms = 64;
        add_entry(other, MMT_F32, 512, 0);
        put(SITE, ".json", other);
        path_of(SITE, ".json", &path);
        mmt_profile *profile =
            found ? find() : mmt_profile_load(mmt_text_string(&path), &err);
        const char *said = said_of(profile, !found);
        CHECK(strstr(said, "tuned for this problem on another device, 1000.0 us"));
        CHECK(strstr(said, "with 64 multiprocessors, and this one has 2"));
        CHECK_OK(mmt_explain(profile, &problem, &device->caps, &text, &err), err);
        CHECK(strstr(mmt_text_string(&text), "tuned for this problem on another device"));
        mmt_profile_free(profile);
        mmt_text_finish(&path);
        mmt_text_finish(&text);
    }
    device->caps = before;
}

/* Of another card of the kind it holds, and is told. */
static void test_told_of_cards(void)
{
    static const char *const uuids[][2] = { { "0123", "another card" },
                                            { MMT_SEVERAL_CARDS, "several cards" },
                                            { "", NULL },
                                            { "4567", NULL } };
    for (size_t i = 0; i < sizeof uuids / sizeof *uuids; i++) {
        clear();
        struct mmt_profile *user = begin("2026-03-01T00:00:00Z");
        strcpy(user->caps.uuid, uuids[i][0]);
        add_entry(user, MMT_F32, 512, 0);
        put(USER, ".json", user);
        strcpy(device->caps.uuid, "4567");
        SCOPED_PROFILE *profile = find();
        const char *said = said_of(profile, false), *told = strstr(said, "measured on ");
        CHECK(strstr(said, "tuned for this very problem"));
        CHECK(uuids[i][1] ? told && strstr(told, uuids[i][1]) : !told);
        device->caps.uuid[0] = 0;
    }
}

/* A plan says where its kernel is from, and under which driver it was measured. */
static void test_told(void)
{
    clear();
    struct mmt_profile *user = begin("2026-03-01T00:00:00Z");
    strcpy(user->caps.driver, "1.2.3");
    add_entry(user, MMT_F32, 512, 0);
    put(USER, ".json", user);
    put_entry(SHARED, ".json", "2026-01-01T00:00:00Z", MMT_F64, 512, 1);
    SCOPED_PROFILE *profile = find();
    const char *text = said_of(profile, false);
    CHECK(strstr(text, "/user/mmtune/"));
    CHECK(strstr(text, "measured under driver 1.2.3"));
}

/* Of a family without a model here, that of the nearest device of the architecture; its
 * single problems tell nothing of this one. */
static void test_kin(void)
{
    static const char *const names[] = { "Cousin", "Sister" };
    const struct mmt_caps before = device->caps;
    clear();
    device->caps.sms = 16, device->caps.clock_khz = 2000000;
    for (int i = 0; i < 2; i++) {
        struct mmt_profile *kin = begin("2026-01-01T00:00:00Z");
        struct mmt_text path = { 0 };
        snprintf(kin->caps.name, sizeof kin->caps.name, "%s", names[i]);
        kin->caps.sms *= i ? 2 : 8, kin->caps.clock_khz /= i ? 2 : 1;
        add_entry(kin, MMT_F64, 512, 1);
        add_model(kin, MMT_F32, 24 + i);
        add_model(kin, MMT_F64, 24 + i);
        mmt_text_addf(&path, "%s/site/%s-%s.json", folder, kin->caps.backend, names[i]);
        CHECK_OK(mmt_profile_save(kin, mmt_text_string(&path), &err), err);
        mmt_profile_free(kin);
        mmt_text_finish(&path);
    }
    check_model(MMT_F64, 25, "Sister");
    put_model(USER, ".json", "2026-03-01T00:00:00Z", MMT_F32, 4);
    check_model(MMT_F32, 25, "Sister"); /* of too few problems is as none */
    put_model(USER, ".json", "2026-03-01T00:00:00Z", MMT_F32, 24);
    check_model(MMT_F32, 24, "/user/");
    check_model(MMT_F64, 25, "Sister");

    mmt_profile *profile = find();
    const mmt_problem problem = square(MMT_F64, 512);
    struct mmt_selection selection;
    CHECK(profile && profile->num_models == 2 && profile->num_entries == 0);
    CHECK_OK(mmt_select(profile, &problem, &device->caps, NULL, &selection, &err), err);
    CHECK_EQ_INT(selection.why, MMT_SELECTION_LAW);
    mmt_profile_free(profile);

    device->caps.kind = MMT_CPU;
    profile = find();
    CHECK(profile && profile->num_models == 1);
    mmt_profile_free(profile);
    strcpy(device->caps.architecture, "another");
    CHECK(!mmt_profile_find(device, &err));
    device->caps = before;
}

int main(void)
{
    char path[1200];
    make_folder();
    setenv("XDG_DATA_HOME", in_folder("user"), 1);
    snprintf(path, sizeof path, "%s:relative:%s", in_folder("none"), in_folder("site"));
    setenv("MMTUNE_PROFILE_PATH", path, 1);
    setenv("XDG_DATA_DIRS", in_folder("shared"), 1);
    setenv("XDG_CACHE_HOME", in_folder("cache"), 1);
    device = mmt_device_open("null", &err);
    if (!CHECK(device != NULL))
        return 1;
    test_all_count();
    test_ranges();
    test_models();
    test_families();
    test_one_family();
    test_combined();
    test_not_combined();
    test_precedence();
    test_yardsticks();
    test_refused();
    test_broken();
    test_told();
    test_told_of_another();
    test_told_of_cards();
    test_more_processors();
    test_kin();
    mmt_device_close(device);
    return test_end("layers");
}
