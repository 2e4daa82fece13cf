/* Reads profiles' JSON files. What mmt_profile_load took has all that is required. */
#include "profiles.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* The dimensions of an op, and rows and columns of A, B and C as stored: letters of a
 * problem, each a factor; "" is 1, "0" says that there is no such operand. */
static const struct op {
    const char *name, *dimensions, *rows[3], *columns[3];
} ops[] = {
    [MMT_GEMM] = { "gemm", "mnk", { "m", "k", "m" }, { "k", "n", "n" } },
    [MMT_AXPBY] = { "axpby", "mn", { "m", "m", "m" }, { "n", "n", "n" } },
    [MMT_DOT] = { "dot", "mk", { "m", "m", "m" }, { "k", "k", "" } },
    [MMT_HEAT2D] = { "heat2d", "mn", { "m", "0", "m" }, { "n", "0", "n" } },
    [MMT_JACOBI3D] = { "jacobi3d", "mnk", { "mn", "mn", "mn" }, { "k", "k", "k" } },
    [MMT_SYRK] = { "syrk", "nk", { "n", "0", "n" }, { "k", "0", "n" } },
};
enum { NUM_OPS = sizeof ops / sizeof *ops };
_Static_assert((int) NUM_OPS <= (int) MMT_STUDY_OPS,
               "each has a place in struct mmt_known");

const char *mmt_study_op_name(mmt_op op)
{
    return ops[op].name;
}

static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}

static int64_t whole_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* -1: none of that name. */
static int find_op(const char *name)
{
    int op = NUM_OPS - 1;
    while (op >= 0 && strcmp(ops[op].name, name) != 0)
        op--;
    return op;
}

/* ---- a problem in words ----------------------------------------------------------- */

static int64_t product_of(const json_t *problem, const char *letters)
{
    int64_t product = 1;
    for (; *letters; letters++)
        product *= *letters == '0' ? 0 : whole_of(problem, (char[]){ *letters, '\0' });
    return product;
}

/* What is not as usual: leading dimensions with gaps, and of a batch strides. */
static void add_layout(const json_t *problem, const struct op *op,
                       struct mmt_study_text *text)
{
    const bool swapped[3] = { json_is_true(json_object_get(problem, "trans_a")),
                              json_is_true(json_object_get(problem, "trans_b")) };
    const int64_t batch = whole_of(problem, "batch");

    for (int i = 0; i < 3; i++) {
        const char ld[] = { 'l', 'd', (char) ('a' + i), '\0' };
        const char *columns = swapped[i] ? op->rows[i] : op->columns[i];
        if (whole_of(problem, ld) != product_of(problem, columns))
            mmt_study_text_addf(text, " %s=%" PRId64, ld, whole_of(problem, ld));
    }
    if (batch != 1)
        mmt_study_text_addf(text, " batch=%" PRId64, batch);
    for (int i = 0; i < 3 && batch != 1; i++) {
        const char ld[] = { 'l', 'd', (char) ('a' + i), '\0' };
        char stride[] = "stride_a";
        stride[7] = ld[2];
        const char *rows = swapped[i] ? op->columns[i] : op->rows[i];
        if (whole_of(problem, stride) !=
            product_of(problem, rows) * whole_of(problem, ld))
            mmt_study_text_addf(text, " %s=%" PRId64, stride, whole_of(problem, stride));
    }
}

static void print_problem(const json_t *problem, char out[256])
{
    static const char *const choices[] = { "out", "bias", "activation" };
    const int found = find_op(word_of(problem, "op"));
    const struct op *op = &ops[found < 0 ? MMT_GEMM : found];
    struct mmt_study_text text = { 0 };

    mmt_study_text_addf(&text, "%s %s ", op->name, word_of(problem, "type"));
    if (op == &ops[MMT_GEMM])
        mmt_study_text_addf(
            &text, "%c%c ", json_is_true(json_object_get(problem, "trans_a")) ? 't' : 'n',
            json_is_true(json_object_get(problem, "trans_b")) ? 't' : 'n');
    for (const char *at = op->dimensions; *at; at++)
        mmt_study_text_addf(&text, "%s%" PRId64, at == op->dimensions ? "" : "x",
                            product_of(problem, (char[]){ *at, '\0' }));
    for (int i = 0; i < 3; i++) {
        const char *word = word_of(problem, choices[i]);
        if (*word && strcmp(word, "none") != 0)
            mmt_study_text_addf(&text, " %s=%s", choices[i], word);
    }
    add_layout(problem, op, &text);
    snprintf(out, 256, "%s", mmt_study_text_string(&text));
    mmt_study_text_finish(&text);
}

/* ---- what a profile has times of -------------------------------------------------- */

static void mark(unsigned tuned[MMT_STUDY_OPS], int op, const char *name)
{
    for (int type = 0; op >= 0 && *mmt_type_name((mmt_type) type); type++)
        if (!strcmp(mmt_type_name((mmt_type) type), name))
            tuned[op] |= 1u << type;
}

/* Entries that were tried from another profile alone select nothing, nor do models of few
 * shapes. */
static void add_file(const char *path, struct mmt_known *known)
{
    enum { FEWEST_SHAPES = 16 };
    json_t *root = json_load_file(path, 0, NULL), *at;
    size_t i;

    json_array_foreach(json_object_get(root, "entries"), i, at)
    {
        const json_t *problem = json_object_get(at, "problem");
        if (!*word_of(at, "source"))
            mark(known->tuned, find_op(word_of(problem, "op")), word_of(problem, "type"));
    }
    json_array_foreach(json_object_get(root, "models"), i,
                       at) if (whole_of(at, "shapes") >= FEWEST_SHAPES)
        mark(known->tuned, MMT_GEMM, word_of(at, "family"));
    at = json_object_get(json_object_get(root, "roofline"), "bandwidth_gbs");
    if (known->bandwidth <= 0)
        known->bandwidth = json_number_value(at) * 1e9;
    json_decref(root);
}

struct mmt_known mmt_study_known(const mmt_profile *profile)
{
    const size_t size = mmt_profile_files(profile, NULL, 0) + 1;
    char *files = malloc(size), *rest = files;
    struct mmt_known known = { .bandwidth = 0 };
    if (files)
        mmt_profile_files(profile, files, size);
    for (char *path; (path = strsep(&rest, "\n"));)
        if (*path)
            add_file(path, &known);
    free(files);
    return known;
}

/* ---- all times of a profile ------------------------------------------------------- */

static void print_kernel(const json_t *entry, char out[160])
{
    struct mmt_study_text text = { 0 };
    const char *name;
    json_t *value;

    mmt_study_text_add(&text, word_of(entry, "template"));
    json_object_foreach(json_object_get(entry, "knobs"), name, value)
    {
        if (json_is_string(value))
            mmt_study_text_addf(&text, " %s=%s", name, json_string_value(value));
        else
            mmt_study_text_addf(&text, " %s=%" PRId64, name,
                                (int64_t) json_integer_value(value));
    }
    snprintf(out, 160, "%s", mmt_study_text_string(&text));
    mmt_study_text_finish(&text);
}

static struct mmt_reading read_one(const json_t *from, bool published)
{
    const json_t *problem = json_object_get(from, "problem");
    const json_t *time = json_object_get(from, "time");
    const int64_t k = whole_of(problem, "k"), batch = whole_of(problem, "batch");
    struct mmt_reading out = { .published = published };

    print_problem(problem, out.problem);
    out.work = (double) whole_of(problem, "m") * (double) whole_of(problem, "n") *
               (double) (k > 0 ? k : 1) * (double) (batch > 0 ? batch : 1);
    if (published) {
        snprintf(out.kernel, sizeof out.kernel, "%s", word_of(from, "kernel"));
        out.seconds = json_number_value(json_object_get(from, "time_us")) * 1e-6;
        out.suspect = json_is_true(json_object_get(from, "suspect"));
    } else {
        print_kernel(from, out.kernel);
        out.seconds = json_number_value(json_object_get(time, "median_us")) * 1e-6;
        out.spread = json_number_value(json_object_get(time, "spread_us")) * 1e-6;
    }
    return out;
}

static mmt_status read_all(const json_t *root, struct mmt_readings *out, mmt_error *err)
{
    const json_t *entries = json_object_get(root, "entries"),
                 *published = json_object_get(root, "published");
    const int tuned = (int) json_array_size(entries);

    out->published = (int) json_array_size(published);
    out->count = tuned + out->published;
    out->each = calloc((size_t) out->count + 1, sizeof *out->each);
    if (!out->each)
        return mmt_study_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
    snprintf(out->name, sizeof out->name, "%s",
             word_of(json_object_get(root, "device"), "name"));
    for (int i = 0; i < out->count; i++)
        out->each[i] =
            i < tuned ? read_one(json_array_get(entries, (size_t) i), false)
                      : read_one(json_array_get(published, (size_t) (i - tuned)), true);
    return MMT_OK;
}

mmt_status mmt_study_read_profile(const char *path, struct mmt_readings *out,
                                  mmt_error *err)
{
    *out = (struct mmt_readings){ .count = 0 };
    mmt_profile *checked = mmt_profile_load(path, err);
    if (!checked)
        return MMT_ERROR_ARGUMENT;
    mmt_profile_free(checked);
    json_t *root = json_load_file(path, 0, NULL);
    mmt_status status =
        root ? read_all(root, out, err)
             : mmt_study_fail(err, MMT_ERROR_ARGUMENT,
                              "'%s' is a bundle; it must be a profile, such as one that "
                              "it was made of",
                              path);
    json_decref(root);
    return status;
}
