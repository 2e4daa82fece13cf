/* Bundles: made for the null device, whose compiler hands a text back, then read from
 * memory as programs do: whole, damaged anywhere, cut off, for other devices. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "recording/recording.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tuner/bundle/make.h"

static struct mmt_text make(const char *shapes, mmt_type type)
{
    struct mmt_bundle_options options = { .device = "null",
                                          .epilogue = MMT_EPILOGUE_NONE,
                                          .some_types = true };
    struct mmt_bundle_goals goals = { 0 };
    struct mmt_text bundle = { 0 };
    options.types[type] = true;
    CHECK_OK(mmt_option_each(shapes, &options.shapes, mmt_words_take, &err), err);
    CHECK_OK(mmt_bundle_set_goals(&options, &goals, &err), err);
    for (size_t i = 0; i < goals.count; i++)
        CHECK_OK(mmt_bundle_build(&goals.list[i], &err), err);
    CHECK_OK(mmt_bundle_print(&goals, &bundle, &err), err);
    mmt_bundle_goals_finish(&goals);
    mmt_words_finish(&options.shapes);
    return bundle;
}

/* What programs computed is listed by their recording. */
static void test_recorded(void)
{
    struct mmt_bundle_options options = { .device = "null",
                                          .epilogue = MMT_EPILOGUE_NONE,
                                          .recorded = true };
    struct mmt_bundle_goals goals = { 0 };
    struct mmt_recorded it = { .call.client = MMT_CLIENT_CUBLAS, .run = "1" };
    SCOPED_TEXT stem = { 0 }, path = { 0 };
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    setenv("XDG_STATE_HOME", folder, 1);
    CHECK_EQ_INT(mmt_bundle_set_goals(&options, &goals, &err), MMT_ERROR_NOT_FOUND);
    CHECK(strstr(err.text, "`mmtune run --record -- PROGRAM` makes it"));
    mmt_bundle_goals_finish(&goals);

    it.call.problem = mmt_gemm_problem(MMT_F32, 70, 60, 50);
    it.fates[MMT_FATE_RECORDED] = 1;
    mmt_profile_stem(mmt_device_caps(device), &stem);
    mmt_recording_path(mmt_text_string(&stem), &path);
    CHECK_OK(mmt_recording_append(mmt_text_string(&path), &it, 1, &err), err);
    CHECK_OK(mmt_bundle_set_goals(&options, &goals, &err), err);
    CHECK(goals.count == 1 && goals.list[0].problems.count == 1);
    if (goals.count)
        CHECK_EQ_INT(goals.list[0].problems.list[0].m, 70);
    mmt_bundle_goals_finish(&goals);
    unlink(mmt_text_string(&path));
    *strrchr(path.data, '/') = 0;
    rmdir(path.data);
}

/* The files in a folder and in those below it. */
static int count_files(const char *path)
{
    DIR *open = opendir(path);
    int count = 0;
    for (struct dirent *entry; open && (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    if (open)
        closedir(open);
    return count;
}

static void count_compiled(void *context, const char *text)
{
    *(int *) context += strstr(text, "compiled") != NULL;
}

/* ---- planning -------------------------------------------------------------------- */

/* What a plan of a square is said to be; "" with the error where there is none. */
static const char *plan(mmt_device *device, const mmt_profile *profile,
                        mmt_problem problem, mmt_error *err)
{
    static char text[1024];
    SCOPED_PLAN *made = mmt_plan_create(device, profile, &problem, NULL, err);
    mmt_plan_describe(made, text, sizeof text);
    return text;
}

/* Nothing is compiled or written: the folders of a home stay empty. */
static void test_plans(const struct mmt_text *bundle)
{
    int compiled = 0;
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    SCOPED_PROFILE *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
    if (!CHECK_MADE(device && profile))
        return;
    mmt_device_set_log(device, count_compiled, &compiled);
    CHECK_EQ_STR(mmt_profile_warnings(profile), "");
    CHECK(strstr(plan(device, profile, mmt_gemm_problem(MMT_F32, 96, 96, 96), &err),
                 "f32 nn 96x96x96"));
    for (int64_t n = 1; n < 3000; n = 3 * n + 1) {
        mmt_problem odd = mmt_gemm_problem(MMT_F32, n, 77, 2 * n);
        odd.lda += 3;
        CHECK(*plan(device, profile, odd, &err));
    }
    const char *untold =
        plan(device, profile, mmt_gemm_problem(MMT_F32, 97, 77, 8), &err);
    CHECK(
        strstr(untold, "; a bundle made by `mmtune bundle --shape 97x77x8` may have a"));
    CHECK(!strstr(untold, "would tune it"));
    const mmt_problem absent = mmt_gemm_problem(MMT_F64, 96, 96, 96);
    CHECK_REFUSED(mmt_plan_create(device, profile, &absent, NULL, &err),
                  MMT_ERROR_UNSUPPORTED,
                  "the bundle has no kernel for gemm f64 nn 96x96x96");
    CHECK_EQ_INT(compiled, 0);
    CHECK_EQ_INT(count_files(folder), 0);
}

/* The plan's kernels are loaded: it outlives the bundle's bytes. */
static void test_lifetime(const struct mmt_text *bundle)
{
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    char *copy = aligned_alloc(64, (bundle->length + 63) / 64 * 64);
    memcpy(copy, bundle->data, bundle->length);
    mmt_profile *profile = mmt_profile_parse(copy, bundle->length, &err);
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 96, 96, 96);
    SCOPED_PLAN *made = mmt_plan_create(device, profile, &problem, NULL, &err);
    CHECK(made);
    mmt_profile_free(profile);
    free(copy);
    mmt_operand memory;
    CHECK_OK(mmt_buffer_create(device, 96 * 96 * 4, &memory, &err), err);
    mmt_args args = mmt_args_defaults();
    args.a = args.b = args.c = memory;
    CHECK_OK(mmt_execute(made, &args, NULL, &err), err);
    mmt_buffer_free(device, memory);
}

static void test_named(const struct mmt_text *bundle)
{
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    SCOPED_PROFILE *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
    const mmt_profile *both[] = { profile };
    mmt_plan_options options = mmt_plan_defaults();
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 96, 96, 96);
    options.configuration = "tiled TILE=8";
    CHECK_REFUSED(mmt_plan_create(device, profile, &problem, &options, &err),
                  MMT_ERROR_UNSUPPORTED, "the bundle has no binary of this kernel");
    CHECK_REFUSED(mmt_profile_combine(device, both, 1, &err), MMT_ERROR_ARGUMENT,
                  "profile 0 of 1 is a bundle");
}

/* ---- other devices --------------------------------------------------------------- */

static void test_foreign(const struct mmt_text *bundle)
{
    char why[512];
    SCOPED_PROFILE *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
    struct mmt_caps caps = profile->caps;
    CHECK(!mmt_profile_foreign(profile, &caps, why));
    CHECK(mmt_profile_for(profile, &caps, false, &err));

    snprintf(caps.name, sizeof caps.name, "Another Card");
    CHECK(!mmt_profile_for(profile, &caps, false, &err));
    CHECK(strstr(err.text, "made for Null device (none), and this one is Another Card"));
    CHECK(strstr(err.text, "set foreign_profile"));
    CHECK(mmt_profile_for(profile, &caps, true, &err));

    caps.sm = 90;
    CHECK(!mmt_profile_for(profile, &caps, true, &err));
    CHECK(!strstr(err.text, "set foreign_profile"));
    CHECK(mmt_profile_foreign(profile, &caps, why));
}

/* Of two targets the one for any card serves another card of the architecture, unless a
 * foreign profile is asked for. */
static void test_foreign_code(const struct mmt_text *bundle)
{
    SCOPED_PROFILE *profile = mmt_profile_parse(bundle->data, bundle->length, &err);
    struct mmt_profile any = *profile->targets[0];
    struct mmt_profile *const both[] = { &any, profile->targets[0] };
    struct mmt_profile all = *profile;
    struct mmt_caps caps = profile->caps;
    memset(any.caps.name, 0, sizeof any.caps.name);
    all.targets = (struct mmt_profile **) both;
    all.num_targets = 2;
    CHECK(mmt_profile_for(&all, &caps, false, &err) == both[1]);
    snprintf(caps.name, sizeof caps.name, "Another Card");
    CHECK(mmt_profile_for(&all, &caps, false, &err) == both[0]);
    CHECK(mmt_profile_for(&all, &caps, true, &err) == both[1]);
}

/* Each kernel is found by its key, the first and the last of a target, too. */
static void test_found(const struct mmt_text *text)
{
    struct mmt_bundle *bundle = NULL;

    if (!CHECK_OK(mmt_bundle_open(text->data, text->length, &bundle, &err), err))
        return;
    const struct mmt_bundle_header *header = mmt_bundle_header(bundle);
    const struct mmt_bundle_template *templates =
        (const void *) (mmt_bundle_target(bundle, 0) + header->num_targets);
    const struct mmt_bundle_kernel *kernels =
        (const void *) (templates + header->num_templates);
    for (unsigned t = 0; t < header->num_targets; t++) {
        const struct mmt_bundle_target *target = mmt_bundle_target(bundle, t);
        const struct mmt_bundled in = { bundle, t };
        CHECK(target->count > 1);
        for (unsigned i = target->first; i < target->first + target->count; i++)
            CHECK_EQ_INT(mmt_bundle_find(&in, kernels[i].key), i);
    }
    mmt_bundle_close(bundle);
}

static void test_runs(void)
{
    static const struct {
        int target, flags, device;
        bool runs;
    } rows[] = {
        { 80, 0, 80, true },
        { 80, 0, 86, true },
        { 80, 0, 90, false },
        { 86, 0, 80, false },
        { 90, MMT_BUNDLE_ARCH_SPECIFIC, 90, true },
        { 100, MMT_BUNDLE_ARCH_SPECIFIC, 103, false },
        { 90, MMT_BUNDLE_PTX, 90, true },
        { 90, MMT_BUNDLE_PTX, 120, true },
        { 90, MMT_BUNDLE_PTX, 89, false },
        { 0, MMT_BUNDLE_OPENCL, 90, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct mmt_bundle_target target = { .sm = rows[i].target,
                                                  .flags = (unsigned) rows[i].flags };
        const struct mmt_caps caps = { .dialect = MMT_CUDA_CXX, .sm = rows[i].device };
        CHECK_EQ_INT(mmt_bundle_runs(&target, &caps, &caps), rows[i].runs);
    }
    struct mmt_caps made_on = { .dialect = MMT_OPENCL_C, .driver = "1" }, here = made_on;
    const struct mmt_bundle_target target = { .flags = MMT_BUNDLE_OPENCL };
    CHECK(mmt_bundle_runs(&target, &made_on, &here));
    char *const words[] = { here.name, here.driver, here.compiler };
    for (int i = 0; i < 3; i++) {
        const char was = *words[i];
        *words[i] = '2';
        CHECK(!mmt_bundle_runs(&target, &made_on, &here));
        *words[i] = was;
    }
    CHECK(mmt_bundle_runs(&target, &made_on, &here));
}

/* ---- damage ---------------------------------------------------------------------- */

static struct mmt_bundle_header *header_of(const struct mmt_text *bundle)
{
    return (struct mmt_bundle_header *) bundle->data;
}

/* Of the tables, behind the header. */
static size_t tables_size(const struct mmt_bundle_header *header)
{
    return header->num_parts * sizeof(struct mmt_bundle_part) +
           header->num_targets * sizeof(struct mmt_bundle_target) +
           header->num_templates * sizeof(struct mmt_bundle_template) +
           header->num_kernels * sizeof(struct mmt_bundle_kernel);
}

static void seal(struct mmt_bundle_header *header)
{
    const size_t covered = offsetof(struct mmt_bundle_header, hash);
    header->hash = mmt_hash_add(mmt_hash_add(mmt_hash_start(), header, covered),
                                header + 1, tables_size(header));
}

static void refuse_bytes(const char *bytes, size_t size, const char *words)
{
    CHECK_REFUSED(mmt_profile_parse(bytes, size, &err), MMT_ERROR_FORMAT, words);
}

/* Whatever the bytes are, reading and planning end in an answer; whether they were taken.
 */
static bool try_bytes(mmt_device *device, const char *bytes, size_t size)
{
    SCOPED_PROFILE *profile = mmt_profile_parse(bytes, size, &err);
    if (!profile) {
        CHECK(err.status != MMT_OK && *err.text);
        return false;
    }
    const bool planned =
        *plan(device, profile, mmt_gemm_problem(MMT_F32, 96, 96, 96), &err);
    CHECK(planned || (err.status != MMT_OK && *err.text));
    return true;
}

/* The header and the tables are held by one hash: each wrong bit is found. Of parts the
 * profile is read at once, a binary when a plan loads it. */
static void test_damage(const struct mmt_text *bundle)
{
    SCOPED_DEVICE *device = mmt_device_open("null", NULL);
    const size_t tables =
        sizeof(struct mmt_bundle_header) + tables_size(header_of(bundle));
    int taken = 0;
    for (size_t at = 0; at < tables; at++) {
        bundle->data[at] ^= (char) (1 << at % 8);
        taken += try_bytes(device, bundle->data, bundle->length);
        bundle->data[at] ^= (char) (1 << at % 8);
    }
    CHECK_EQ_INT(taken, 0);
    for (size_t at = tables; at < bundle->length; at += bundle->length / 199) {
        bundle->data[at] ^= 0x10;
        try_bytes(device, bundle->data, bundle->length);
        bundle->data[at] ^= 0x10;
    }
    for (size_t size = 0; size < bundle->length; size += 1 + bundle->length / 99)
        CHECK(!try_bytes(device, bundle->data, size));
    CHECK(try_bytes(device, bundle->data, bundle->length));
}

/* Numbers that point outside, under a hash that is right. */
static void test_pointers(const struct mmt_text *bundle)
{
    struct mmt_bundle_header *header = header_of(bundle);
    const struct mmt_bundle_header before = *header;
    SCOPED_DEVICE *device = mmt_device_open("null", NULL);
    const size_t tables = tables_size(header);
    for (size_t at = 0; at + 4 <= tables; at += 4) {
        uint32_t *word = (uint32_t *) (bundle->data + sizeof *header + at);
        const uint32_t right = *word;
        *word ^= 0x80000000u >> at / 4 % 32;
        seal(header);
        try_bytes(device, bundle->data, bundle->length);
        *word = right;
    }
    *header = before;
    CHECK(try_bytes(device, bundle->data, bundle->length));
}

/* Tables that a hash holds together, and that would keep a reader busy for hours: as many
 * targets as there may be rows, each of all kernels. */
static void test_counts(void)
{
    enum { KERNELS = 1 << 16, TARGETS = 1 << 12 };
    const size_t tables =
        sizeof(struct mmt_bundle_part) + TARGETS * sizeof(struct mmt_bundle_target) +
        sizeof(struct mmt_bundle_template) + KERNELS * sizeof(struct mmt_bundle_kernel);
    const size_t size = (sizeof(struct mmt_bundle_header) + tables + 63) / 64 * 64;
    char *bytes = aligned_alloc(64, size);
    memset(bytes, 0, size);
    struct mmt_bundle_header *header = (struct mmt_bundle_header *) bytes;
    struct mmt_bundle_part *part = (struct mmt_bundle_part *) (header + 1);
    struct mmt_bundle_target *target = (struct mmt_bundle_target *) (part + 1);
    *header = (struct mmt_bundle_header){ .format = MMT_BUNDLE_FORMAT,
                                          .order = MMT_BUNDLE_ORDER,
                                          .size = size,
                                          .num_parts = 1,
                                          .num_targets = TARGETS,
                                          .num_templates = 1,
                                          .num_kernels = KERNELS };
    memcpy(header->magic, MMT_BUNDLE_MAGIC, sizeof header->magic);
    snprintf(header->version, sizeof header->version, "%s", mmt_version());
    part->offset = size;
    for (int i = 0; i < TARGETS; i++)
        target[i].count = KERNELS;
    for (uint32_t targets = TARGETS; targets; targets = targets == TARGETS ? 2 : 0) {
        header->num_targets = targets;
        seal(header);
        refuse_bytes(bytes, size, "the bundle is damaged: its tables");
    }
    free(bytes);
}

/* ---- a file that is changed while it is loaded ------------------------------------- */

static void write_at(const char *path, size_t at, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, bytes, size, (off_t) at) == (ssize_t) size);
    close(fd);
}

/* Whether it still plans, on a device that has loaded nothing, once the file was cut off
 * at `at`, or written over there where there is noise. */
static bool plan_changed(const char *path, const struct mmt_text *bundle, size_t at,
                         const void *noise, size_t size)
{
    SCOPED_DEVICE *device = mmt_device_open("null", NULL);
    write_at(path, 0, bundle->data, bundle->length);
    SCOPED_PROFILE *profile = mmt_profile_load(path, &err);
    CHECK_MADE(profile);
    if (noise)
        write_at(path, at, noise, size);
    else
        CHECK(!truncate(path, (off_t) at));
    const bool planned =
        *plan(device, profile, mmt_gemm_problem(MMT_F32, 96, 96, 96), &err);
    CHECK(planned || (err.status == MMT_ERROR_FORMAT && strstr(err.text, "is damaged")));
    return planned;
}

/* What was checked is a copy: tables hold whatever becomes of the file, and a kernel is
 * its own or none. */
static void test_changed_file(const struct mmt_text *bundle)
{
    enum { PLACES = 500 };
    char noise[4096];
    int planned = 0;
    const char *path = in_folder("b.mmb");
    memset(noise, 0xff, sizeof noise);
    const size_t tables =
        sizeof(struct mmt_bundle_header) + tables_size(header_of(bundle));
    for (size_t at = 0; at < tables; at += 128)
        CHECK(
            plan_changed(path, bundle, at, noise, tables - at < 128 ? tables - at : 128));
    CHECK(!plan_changed(path, bundle, 0, NULL, 0));
    for (size_t i = 0; i < PLACES; i++) {
        const size_t at = bundle->length / PLACES * i;
        plan_changed(path, bundle, at, NULL, 0);
        planned += plan_changed(path, bundle, at, noise, 1 + i * 7 % sizeof noise);
    }
    CHECK(planned > 0); /* one kernel is taken, of many */
    unlink(path);
}

static void test_refusals(const struct mmt_text *bundle)
{
    struct mmt_bundle_header *header = header_of(bundle);
    const struct mmt_bundle_header before = *header;
    snprintf(header->version, sizeof header->version, "0.0.1");
    refuse_bytes(bundle->data, bundle->length, "was made by mmtune 0.0.1, and this is");
    *header = before;
    header->format = 9;
    refuse_bytes(bundle->data, bundle->length, "format is 9; this mmtune reads format 1");
    *header = before;

    header->magic[4] = '\n'; /* as where carriage returns were taken out */
    refuse_bytes(bundle->data, bundle->length, "copy it again as binary");
    *header = before;
    for (size_t size = 1; size < 16; size++)
        refuse_bytes(bundle->data, size, "it is shorter than its header");

    char *odd = malloc(bundle->length + 1);
    memcpy(odd + 1, bundle->data, bundle->length);
    CHECK_REFUSED(mmt_profile_parse(odd + 1, bundle->length, &err), MMT_ERROR_ARGUMENT,
                  "multiple of 8");
    free(odd);
}

int main(void)
{
    make_folder();
    test_recorded();
    SCOPED_TEXT bundle = make("96x96x96,64x64x512", MMT_F32);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("XDG_DATA_HOME", folder, 1);
    unsetenv("HOME");
    test_plans(&bundle);
    test_lifetime(&bundle);
    test_named(&bundle);
    test_foreign(&bundle);
    test_foreign_code(&bundle);
    test_runs();
    test_found(&bundle);
    test_changed_file(&bundle);
    test_damage(&bundle);
    test_pointers(&bundle);
    test_refusals(&bundle);
    test_counts();
    CHECK_EQ_INT(count_files(folder), 0);
    return test_end("bundle");
}
