/* The format, as tables that the reader and the writer share. schema.json says the same
 * for other programs, and a test holds the two together. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MAX_FILE = 64 << 20 };

/* ---- the tables ------------------------------------------------------------------ */

/* Times are in microseconds in the file, rates in GFLOP/s and GB/s; in memory all are in
 * the plain units. */
#define MICRO .scale = 1e6
#define GIGA  .scale = 1e-9
#define PLAIN .scale = 1

/* clang-format off */
#define ROW(what, name, member, ...) \
    { .key = name, .kind = MMT_FIELD_##what, MMT_MEMBER(OF, member), __VA_ARGS__ }
#define SELF(what, name, ...) \
    { .key = name, .kind = MMT_FIELD_##what, .size = sizeof(OF), __VA_ARGS__ }
#define ELSEWHERE(name) { .key = name, .kind = MMT_FIELD_ELSEWHERE }
/* clang-format on */

static const struct mmt_word dialects[] = { { MMT_CUDA_CXX, "cuda" },
                                            { MMT_OPENCL_C, "opencl" },
                                            { 0 } };
static const struct mmt_word kinds[] = { { MMT_GPU, "gpu" }, { MMT_CPU, "cpu" }, { 0 } };
static const struct mmt_word ops[] = { { MMT_GEMM, "gemm" }, { 0 } };

#define OF struct mmt_caps
static const struct mmt_field limits[] = {
    ROW(WORD, "dialect", dialect, .words = dialects),
    ROW(WORD, "kind", kind, .words = kinds),
    ROW(INT, "sm", sm),
    ROW(BOOL, "f64", f64),
    ROW(UNSIGNED, "max_threads", max_threads),
    ROW(THREE, "max_block", max_block),
    ROW(THREE, "max_grid", max_grid),
    ROW(SIZE, "shared_bytes", shared),
    ROW(SIZE, "shared_per_sm_bytes", shared_per_sm),
    ROW(UNSIGNED, "registers", registers),
    ROW(UNSIGNED, "registers_per_thread", registers_per_thread),
    ROW(UNSIGNED, "registers_per_sm", registers_per_sm),
    ROW(UNSIGNED, "threads_per_sm", threads_per_sm),
    ROW(UNSIGNED, "blocks_per_sm", blocks_per_sm),
    ROW(UNSIGNED, "sms", sms),
    ROW(UNSIGNED, "warp", warp),
    ROW(UNSIGNED, "vector_bytes", vector_bytes),
    ROW(SIZE, "cache_bytes", cache),
    ROW(SIZE, "memory_bytes", memory),
    ROW(UNSIGNED, "clock_khz", clock_khz),
    ROW(SIZE, "buffer_align_bytes", buffer_align),
    { 0 },
};

/* A paper names its card, but not the card's limits. */
#define NAMES                                                                            \
    ROW(STRING, "backend", backend), ROW(STRING, "name", name),                          \
        ROW(STRING, "vendor", vendor), ROW(STRING, "architecture", architecture),        \
        ROW(STRING, "driver", driver), ROW(STRING, "compiler", compiler)
static const struct mmt_field device[] = { NAMES,
                                           SELF(OBJECT, "limits", .fields = limits),
                                           { 0 } };
static const struct mmt_field published_device[] = { NAMES, { 0 } };
#undef OF

#define OF struct mmt_profile
static const struct mmt_field made[] = {
    ROW(STRING, "version", made.version),
    ROW(STRING, "date", made.date),
    ROW(DIGITS, "seed", made.seed),
    ROW(NUMBER, "budget_s", made.budget, PLAIN),
    ROW(INT, "tried", made.tried),
    ROW(INT, "skipped", made.skipped),
    ROW(INT, "wrong", made.wrong),
    ROW(INT, "failed", made.failed),
    { 0 },
};

_Static_assert(MMT_NUM_TYPES == 3, "every type has a row in `peaks`, and in schema.json");
static const struct mmt_field peaks[] = {
    ROW(NUMBER, "f32", peak_flops[MMT_F32], GIGA),
    ROW(NUMBER, "f64", peak_flops[MMT_F64], GIGA),
    ROW(NUMBER, "i32", peak_flops[MMT_I32], GIGA),
    { 0 },
};

static const struct mmt_field roofline[] = {
    SELF(OBJECT, "peak_gflops", .fields = peaks),
    ROW(NUMBER, "bandwidth_gbs", bandwidth, GIGA),
    { 0 },
};

static const struct mmt_field own[] = {
    ELSEWHERE("format"),
    ROW(OBJECT, "device", caps, .fields = device),
    SELF(OBJECT, "made", .fields = made),
    SELF(OBJECT, "roofline", .fields = roofline),
    ELSEWHERE("entries"),
    ELSEWHERE("kept"),
    { 0 },
};

static const struct mmt_field of_a_paper[] = {
    ELSEWHERE("format"),
    ROW(STRING, "citation", citation),
    ROW(OBJECT, "device", caps, .fields = published_device),
    ELSEWHERE("published"),
    { 0 },
};
#undef OF

#define OF mmt_problem
static const struct mmt_field problem[] = {
    ROW(WORD, "op", op, .words = ops),
    ROW(TYPE, "type", type),
    ROW(FLAG, "trans_a", trans_a),
    ROW(FLAG, "trans_b", trans_b),
    ROW(LONG, "m", m),
    ROW(LONG, "n", n),
    ROW(LONG, "k", k),
    ROW(LONG, "lda", lda),
    ROW(LONG, "ldb", ldb),
    ROW(LONG, "ldc", ldc),
    ROW(LONG, "batch", batch),
    ROW(LONG, "stride_a", stride_a),
    ROW(LONG, "stride_b", stride_b),
    ROW(LONG, "stride_c", stride_c),
    { 0 },
};
#undef OF

static mmt_status check_problem(void *object, mmt_error *err)
{
    mmt_problem *read = object;
    read->size = sizeof *read;
    mmt_problem copy = *read;
    return mmt_problem_normalise(&copy, read, err);
}

#define OF struct mmt_timing
static const struct mmt_field timing[] = {
    ROW(POSITIVE, "median_us", median, MICRO),
    ROW(NUMBER, "spread_us", spread, MICRO),
    ROW(INT, "samples", samples),
    { 0 },
};
#undef OF

#define OF struct mmt_entry
static const struct mmt_field entry[] = {
    ROW(OBJECT, "problem", problem, .fields = problem, .finish = check_problem),
    ROW(TEMPLATE, "template", config),
    ROW(STRING, "template_hash", template_hash),
    ROW(KNOBS, "knobs", config),
    ROW(OBJECT, "time", time, .fields = timing),
    ROW(NUMBER, "gflops", gflops, PLAIN),
    ROW(NUMBER, "roofline_fraction", roofline, PLAIN),
    ROW(NUMBER, "naive_us", naive, MICRO),
    ROW(STRING, "source", source),
    { 0 },
};
#undef OF

#define OF struct mmt_cost
static const struct mmt_field cost[] = {
    ROW(NUMBER, "launch_us", launch, MICRO),
    ROW(NUMBER, "block_us", block, MICRO),
    ROW(NUMBER, "step_us", step, MICRO),
    ROW(NUMBER, "wave_us", wave, MICRO),
    ROW(NUMBER, "wave_step_us", wave_step, MICRO),
    ROW(NUMBER, "cell_us", cell, MICRO),
    ROW(NUMBER, "cell_step_us", cell_step, MICRO),
    ROW(NUMBER, "unaligned_us", unaligned, MICRO),
    ROW(NUMBER, "unaligned_cell_us", unaligned_cell, MICRO),
    ROW(NUMBER, "reduction_us_per_byte", reduction, MICRO),
    ROW(NUMBER, "bandwidth_gbs", bandwidth, GIGA),
    ROW(INT, "resident", resident),
    ROW(INT, "depth", depth),
    ROW(NUMBER, "residual", residual, PLAIN),
    { 0 },
};
#undef OF

static mmt_status check_cost(void *object, mmt_error *err)
{
    const struct mmt_cost *read = object;
    if (read->resident < 1 || read->depth < 1)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "resident is %d and depth is %d; both must be at least 1",
                        read->resident, read->depth);
    return MMT_OK;
}

#define OF struct mmt_kept
static const struct mmt_field kept[] = {
    ROW(TYPE, "type", type),
    ROW(BOOL, "trans_a", trans_a),
    ROW(BOOL, "trans_b", trans_b),
    ROW(TEMPLATE, "template", config),
    ROW(KNOBS, "knobs", config),
    ROW(COST, "cost", cost, .fields = cost, .finish = check_cost),
    { 0 },
};
#undef OF

#define OF struct mmt_published
static const struct mmt_field published[] = {
    ROW(OBJECT, "problem", problem, .fields = problem, .finish = check_problem),
    ROW(STRING, "kernel", kernel),
    ROW(STRING, "configuration", knobs),
    ROW(POSITIVE, "time_us", seconds, MICRO),
    ROW(STRING, "where", where),
    ROW(BOOL, "suspect", suspect),
    ROW(STRING, "note", note),
    { 0 },
};
#undef OF

/* ---- reading --------------------------------------------------------------------- */

/* What is being read, and which hash each template of this library has. */
struct reading {
    const json_t *root;
    struct mmt_profile *profile;
    mmt_error *err;
};

static const json_t *get_array(const struct reading *reading, const char *key)
{
    const json_t *array = json_object_get(reading->root, key);
    if (json_is_array(array))
        return array;
    struct mmt_place at = { NULL, key, array, NULL, reading->err };
    mmt_place_wrong(&at, "an array");
    return NULL;
}

/* Leaves one item out and says so; what else is there is still of use. */
static void leave_out(const struct reading *reading, const char *path,
                      const mmt_problem *which, const mmt_error *why)
{
    struct mmt_text name = { 0 };
    if (which && which->size)
        mmt_problem_print(which, &name);
    mmt_json_warn(&reading->profile->warnings, "%s%s%s%s is left out: %s", path,
                  name.length ? " (" : "", mmt_text_string(&name), name.length ? ")" : "",
                  why->text);
    mmt_text_finish(&name);
}

static mmt_status read_entries(const struct reading *reading)
{
    const json_t *array = get_array(reading, "entries");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "entries[%zu]", i);
        struct mmt_entry one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(entry, json_array_get(array, i), path, &one,
                            &reading->profile->warnings, &why))
            leave_out(reading, path, &one.problem, &why);
        else if (mmt_profile_add_entry(reading->profile, &one, reading->err))
            return MMT_ERROR_MEMORY;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

static mmt_status read_kept(const struct reading *reading)
{
    const json_t *array = get_array(reading, "kept");
    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "kept[%zu]", i);
        struct mmt_kept one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(kept, json_array_get(array, i), path, &one,
                            &reading->profile->warnings, &why))
            leave_out(reading, path, NULL, &why);
        else if (mmt_profile_add_kept(reading->profile, &one, reading->err))
            return MMT_ERROR_MEMORY;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

static mmt_status read_published(const struct reading *reading)
{
    struct mmt_profile *profile = reading->profile;
    const json_t *array = get_array(reading, "published");
    profile->published = calloc(json_array_size(array) + 1, sizeof *profile->published);
    if (!profile->published)
        return mmt_fail(reading->err, MMT_ERROR_MEMORY, "out of memory");

    for (size_t i = 0; i < json_array_size(array); i++) {
        char path[32];
        snprintf(path, sizeof path, "published[%zu]", i);
        struct mmt_published one = { 0 };
        mmt_error why = { 0 };
        if (mmt_fields_read(published, json_array_get(array, i), path, &one,
                            &profile->warnings, &why))
            leave_out(reading, path, &one.problem, &why);
        else
            profile->published[profile->num_published++] = one;
    }
    return array ? MMT_OK : MMT_ERROR_FORMAT;
}

/* Says once for each template that its kernels are no longer those that were measured. */
static void compare_hashes(struct mmt_profile *profile)
{
    for (int t = 0; mmt_templates[t]; t++) {
        struct mmt_hash hash;
        mmt_error why = { 0 };
        char now[33];
        size_t changed = 0;
        if (mmt_template_hash(mmt_templates[t], &hash, &why))
            continue;
        mmt_hash_print(hash, now);
        for (size_t i = 0; i < profile->num_entries; i++)
            changed += profile->entries[i].config.template == mmt_templates[t] &&
                       strcmp(profile->entries[i].template_hash, now) != 0;
        if (changed)
            mmt_json_warn(&profile->warnings,
                          "template %s has changed since it was measured for %zu %s, "
                          "which are kept; tune again for current times",
                          mmt_templates[t]->name, changed,
                          changed == 1 ? "entry" : "entries");
    }
}

static mmt_status check_format(const json_t *root, mmt_error *err)
{
    const json_t *format = json_object_get(root, "format");
    if (json_is_integer(format) && json_integer_value(format) == MMT_PROFILE_FORMAT)
        return MMT_OK;
    if (!json_is_object(root) || !format)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "it is no profile: it does not begin with \"format\"");

    char shown[64];
    mmt_json_show(format, shown, sizeof shown);
    return mmt_fail(err, MMT_ERROR_FORMAT,
                    "its format is %s; this mmtune reads format %d", shown,
                    MMT_PROFILE_FORMAT);
}

static mmt_status read_root(const struct reading *reading)
{
    struct mmt_profile *profile = reading->profile;
    bool paper = json_object_get(reading->root, "citation");
    mmt_status status = check_format(reading->root, reading->err);
    if (!status)
        status = mmt_fields_read(paper ? of_a_paper : own, reading->root, "", profile,
                                 &profile->warnings, reading->err);
    if (status)
        return status;
    if (paper && !profile->citation[0])
        return mmt_fail(reading->err, MMT_ERROR_FORMAT,
                        "citation is empty; published figures must say whose they are");
    if (paper)
        return read_published(reading);

    status = read_entries(reading);
    if (!status)
        status = read_kept(reading);
    if (!status)
        compare_hashes(profile);
    return status;
}

static json_t *parse(const char *json, size_t length, mmt_error *err)
{
    if (mmt_json_scan(json, length, err))
        return NULL;

    json_error_t where;
    json_t *root = json_loadb(json, length, JSON_REJECT_DUPLICATES, &where);
    if (root)
        return root;
    for (char *c = where.text; *c; c++)
        if ((unsigned char) *c < ' ' || (unsigned char) *c >= 0x7f)
            *c = '?';
    mmt_fail(err, MMT_ERROR_FORMAT, "line %d, column %d: %s", where.line, where.column,
             where.text);
    return NULL;
}

struct mmt_profile *mmt_profile_read(const char *json, size_t length, mmt_error *err)
{
    json_t *root = parse(json, length, err);
    if (!root)
        return NULL;

    struct mmt_profile *profile = mmt_profile_create();
    struct reading reading = { root, profile, err };
    mmt_status status =
        profile ? read_root(&reading) : mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    if (!status && profile->warnings.failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    json_decref(root);
    if (!status)
        return profile;
    mmt_profile_free(profile);
    return NULL;
}

mmt_profile *mmt_profile_load(const char *path, mmt_error *err)
{
    if (!path) {
        mmt_fail(err, MMT_ERROR_ARGUMENT, "the path of a profile is NULL");
        return NULL;
    }
    struct mmt_text text = { 0 };
    if (mmt_file_read(path, MAX_FILE, &text, err))
        return NULL;

    mmt_error why = { 0 };
    mmt_profile *profile = mmt_profile_read(mmt_text_string(&text), text.length, &why);
    mmt_text_finish(&text);
    if (!profile)
        mmt_fail(err, why.status, "'%s' cannot be used: %s", path, why.text);
    return profile;
}

/* ---- writing --------------------------------------------------------------------- */

/* Puts an array of structs under a key of the root. */
static mmt_status write_array(json_t *root, const char *key,
                              const struct mmt_field *fields, const void *items,
                              size_t count, size_t size, mmt_error *err)
{
    json_t *array = json_array();
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        char path[32];
        snprintf(path, sizeof path, "%s[%zu]", key, i);
        json_t *object = json_object();
        status =
            mmt_fields_write(fields, object, path, (const char *) items + i * size, err);
        json_array_append_new(array, object);
    }
    if (json_object_set_new(root, key, array) && !status)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing a profile");
    return status;
}

static mmt_status write_root(const struct mmt_profile *p, json_t *root, mmt_error *err)
{
    json_object_set_new(root, "format", json_integer(MMT_PROFILE_FORMAT));
    mmt_status status =
        mmt_fields_write(*p->citation ? of_a_paper : own, root, "", p, err);
    if (status)
        return status;
    if (*p->citation)
        return write_array(root, "published", published, p->published, p->num_published,
                           sizeof *p->published, err);

    status = write_array(root, "entries", entry, p->entries, p->num_entries,
                         sizeof *p->entries, err);
    if (status)
        return status;
    return write_array(root, "kept", kept, p->kept, p->num_kept, sizeof *p->kept, err);
}

mmt_status mmt_profile_print(const struct mmt_profile *profile, struct mmt_text *text,
                             mmt_error *err)
{
    json_t *root = json_object();
    mmt_status status = write_root(profile, root, err);
    if (!status)
        status = mmt_json_layout(root, text, err);
    json_decref(root);
    return status;
}

mmt_status mmt_profile_save(const struct mmt_profile *profile, const char *path,
                            mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_error why = { 0 };
    mmt_status status = mmt_profile_print(profile, &text, &why);
    if (status)
        mmt_fail(err, status, "'%s' cannot be written: %s", path, why.text);
    else
        status = mmt_file_replace(path, mmt_text_string(&text), text.length, err);
    mmt_text_finish(&text);
    return status;
}
