/* Collects a profile's rows for `show` and `diff`, sorts and groups them, and writes them
 * as words and JSON. */
#include "tuner/report/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"

/* ---- collecting ------------------------------------------------------------------ */

static int compare_sizes(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int mmt_problem_order(const mmt_problem *a, const mmt_problem *b)
{
    const int64_t pairs[][2] = {
        { a->op, b->op },
        { a->type, b->type },
        { a->out, b->out },
        { a->bias, b->bias },
        { a->activation, b->activation },
        { a->batch_by, b->batch_by },
        { a->trans_a, b->trans_a },
        { a->trans_b, b->trans_b },
        { a->batch, b->batch },
        { a->m, b->m },
        { a->n, b->n },
        { a->k, b->k },
        { a->lda, b->lda },
        { a->ldb, b->ldb },
        { a->ldc, b->ldc },
        { a->stride_a, b->stride_a },
        { a->stride_b, b->stride_b },
        { a->stride_c, b->stride_c },
    };
    int order = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !order; i++)
        order = compare_sizes(pairs[i][0], pairs[i][1]);
    return order;
}

static int row_order(const void *x, const void *y)
{
    const struct mmt_row *a = x, *b = y;
    int order = mmt_problem_order(a->problem, b->problem);
    if (order)
        return order;
    order = (a->seconds > b->seconds) - (a->seconds < b->seconds);
    return order ? order : strcmp(a->name, b->name);
}

static bool add_entry(struct mmt_rows *rows, const struct mmt_entry *entry)
{
    struct mmt_text name = { 0 };
    mmt_config_print(&entry->config, &name);
    rows->row[rows->count++] = (struct mmt_row){
        .problem = &entry->problem,
        .name = name.data,
        .config = entry->config,
        .seconds = entry->time.median,
        .spread = entry->time.spread,
        .entry = entry,
    };
    return !name.failed;
}

static bool add_published(struct mmt_rows *rows, const struct mmt_published *published)
{
    struct mmt_config config = { 0 };
    if (mmt_config_parse(published->knobs, &config, NULL))
        config.template = NULL;
    char *name = strdup(published->kernel);
    rows->row[rows->count++] = (struct mmt_row){
        .problem = &published->problem,
        .name = name,
        .config = config,
        .seconds = published->seconds,
        .published = published,
        .suspect = published->suspect,
        .covers = published->copying ? MMT_COVERS_COPIES : MMT_COVERS_UNSAID,
    };
    return name;
}

mmt_status mmt_rows_collect(const struct mmt_profile *profile, struct mmt_rows *rows,
                            mmt_error *err)
{
    size_t most = profile->num_entries + profile->num_published;
    *rows = (struct mmt_rows){ profile, calloc(most + 1, sizeof *rows->row), 0 };
    bool whole = rows->row;
    for (size_t i = 0; i < profile->num_entries && whole; i++)
        whole = add_entry(rows, &profile->entries[i]);
    for (size_t i = 0; i < profile->num_published && whole; i++)
        whole = add_published(rows, &profile->published[i]);
    if (!whole) {
        mmt_rows_finish(rows);
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    }
    mmt_rows_sort(rows);
    return MMT_OK;
}

void mmt_rows_sort(struct mmt_rows *rows)
{
    qsort(rows->row, rows->count, sizeof *rows->row, row_order);
}

mmt_status mmt_rows_add_timed(struct mmt_rows *rows, const mmt_problem *problem,
                              const struct mmt_config *config, double seconds,
                              double spread, mmt_error *err)
{
    struct mmt_text name = { 0 };
    struct mmt_row *grown = realloc(rows->row, (rows->count + 1) * sizeof *grown);
    if (grown)
        rows->row = grown;
    mmt_config_print(config, &name);
    if (!grown || name.failed) {
        mmt_text_finish(&name);
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
    }
    rows->row[rows->count++] = (struct mmt_row){
        .problem = problem,
        .name = name.data,
        .config = *config,
        .seconds = seconds,
        .spread = spread,
    };
    return MMT_OK;
}

void mmt_rows_keep(struct mmt_rows *rows, unsigned types, int op)
{
    size_t left = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const mmt_problem *problem = rows->row[i].problem;
        if (types >> problem->type & 1 && (op < 0 || problem->op == (mmt_op) op))
            rows->row[left++] = rows->row[i];
        else
            free(rows->row[i].name);
    }
    rows->count = left;
}

void mmt_rows_finish(struct mmt_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free(rows->row[i].name);
    free(rows->row);
    *rows = (struct mmt_rows){ 0 };
}

/* ---- groups ---------------------------------------------------------------------- */

struct mmt_group mmt_rows_group(const struct mmt_rows *rows, size_t first)
{
    struct mmt_group group = { rows->row + first, 0 };
    while (first + group.count < rows->count &&
           mmt_problem_equal(group.row[0].problem, group.row[group.count].problem))
        group.count++;
    return group;
}

static bool is_own(const struct mmt_row *row)
{
    return row->published || (row->entry && !row->entry->source[0]);
}

const struct mmt_row *mmt_group_best(const struct mmt_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (is_own(&group->row[i]))
            return &group->row[i];
    return group->row;
}

bool mmt_rows_same(const struct mmt_row *a, const struct mmt_row *b)
{
    if (a->published && b->published)
        return !strcmp(a->name, b->name);
    return !a->published && !b->published && mmt_config_equal(&a->config, &b->config);
}

const struct mmt_row *mmt_group_find(const struct mmt_group *group,
                                     const struct mmt_row *kernel)
{
    for (size_t i = 0; i < group->count; i++)
        if (mmt_rows_same(&group->row[i], kernel))
            return &group->row[i];
    return NULL;
}

bool mmt_group_suspect(const struct mmt_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (group->row[i].suspect)
            return true;
    return false;
}

bool mmt_rows_first_note(const struct mmt_rows *rows, size_t row)
{
    if (!rows->row[row].suspect)
        return false;
    for (size_t i = 0; i < row; i++)
        if (rows->row[i].suspect &&
            !strcmp(rows->row[i].published->note, rows->row[row].published->note))
            return false;
    return true;
}

bool mmt_rows_tie(const struct mmt_row *a, const struct mmt_row *b)
{
    double apart = a->seconds - b->seconds;
    return (apart < 0 ? -apart : apart) <= a->spread + b->spread;
}

/* ---- words and JSON -------------------------------------------------------------- */

static struct mmt_profile *find_profile(const char *name, mmt_error *err)
{
    mmt_device *device = mmt_device_open(name, err);
    struct mmt_profile *profile = device ? mmt_profile_find(device, err) : NULL;
    mmt_device_close(device);
    return profile;
}

struct mmt_profile *mmt_profile_of(const char *path, const char *device, mmt_error *err)
{
    struct mmt_profile *profile =
        path ? mmt_profile_load_plain(path, err) : find_profile(device, err);
    if (profile)
        fputs(mmt_profile_warnings(profile), stderr);
    return profile;
}

void mmt_print_problem(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    fputs(mmt_text_string(&text), stdout);
    mmt_text_finish(&text);
}

void mmt_add_card(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_addf(text, "%s (%s)%s", profile->caps.name, profile->caps.backend,
                  *profile->citation ? ", published figures" : "");
}

void mmt_print_card(const struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    mmt_add_card(profile, &text);
    fputs(mmt_text_string(&text), stdout);
    mmt_text_finish(&text);
}

json_t *mmt_card_json(const struct mmt_profile *profile)
{
    const struct mmt_caps *caps = &profile->caps;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s}", "backend", caps->backend,
                     "name", caps->name, "architecture", caps->architecture, "driver",
                     caps->driver, "compiler", caps->compiler, "published",
                     *profile->citation != 0, "citation", profile->citation);
}

json_t *mmt_problem_json(const mmt_problem *problem)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    json_t *string = json_string(mmt_text_string(&text));
    mmt_text_finish(&text);
    return string;
}

static void add_entry_json(json_t *row, const struct mmt_entry *entry)
{
    json_object_set_new(row, "samples", json_integer(entry->time.samples));
    json_object_set_new(row, "roofline_fraction", json_real(entry->roofline));
    json_object_set_new(row, "speedup_over_naive",
                        json_real(entry->naive / entry->time.median));
    json_object_set_new(row, "source", json_string(entry->source));
}

json_t *mmt_range_json(const struct mmt_range *range)
{
    json_t *segments = json_array(), *times = json_array();
    struct mmt_text name = { 0 };
    mmt_range_print(range, &name);
    for (int i = 0; i < range->num_segments; i++) {
        struct mmt_text config = { 0 };
        mmt_config_print(&range->segments[i].config, &config);
        json_array_append_new(segments,
                              json_pack("{s:I, s:s}", "m_to",
                                        (json_int_t) range->segments[i].m_to,
                                        "configuration", mmt_text_string(&config)));
        mmt_text_finish(&config);
    }
    for (int i = 0; i < range->num_times; i++)
        json_array_append_new(times, json_pack("{s:I, s:f, s:f}", "m",
                                               (json_int_t) range->times[i].m, "time_us",
                                               range->times[i].seconds * 1e6, "best_us",
                                               range->times[i].best * 1e6));
    json_t *json = json_pack("{s:s, s:o, s:o}", "problems", mmt_text_string(&name),
                             "segments", segments, "times", times);
    mmt_text_finish(&name);
    return json;
}

void mmt_verdict_add_energy(const struct mmt_verdict *it, json_t *to)
{
    if (it->our_joules > 0)
        json_object_update_new(to, json_pack("{s:f, s:f}", "ours_joules", it->our_joules,
                                             "library_joules", it->their_joules));
}

json_t *mmt_verdict_json(const struct mmt_verdict *it)
{
    const bool strict = it->f32_mode == MMT_F32_STRICT;
    struct mmt_text config = { 0 };
    mmt_config_print(&it->config, &config);
    json_t *json = json_pack(
        "{s:s, s:o, s:b, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:f}",
        "client", mmt_client_name(it->call.client), "problem",
        mmt_problem_json(&it->call.problem), "adds", it->call.adds, "compute",
        mmt_compute_name(it->call.compute), "alignment_bytes",
        (json_int_t) it->call.alignment, "workspace_bytes",
        (json_int_t) it->call.workspace, "most_workspace_bytes",
        (json_int_t) it->call.most_workspace, "f32_mode", strict ? "strict" : "emulated",
        "configuration", mmt_text_string(&config), "library", it->library, "driver",
        it->driver, "date", it->date, "ours_us", it->ours * 1e6, "library_us",
        it->theirs * 1e6, "speedup", it->theirs / it->ours);
    mmt_verdict_add_energy(it, json);
    mmt_text_finish(&config);
    return json;
}

json_t *mmt_row_json(const struct mmt_row *row)
{
    json_t *json = json_pack("{s:s, s:f, s:f, s:f, s:b}", "kernel", row->name, "time_us",
                             row->seconds * 1e6, "spread_us", row->spread * 1e6, "gflops",
                             mmt_problem_flops(row->problem) / row->seconds / 1e9,
                             "suspect", row->suspect);
    static const char *const covers[] = { "kernel", "kernel and copies", "not said" };
    json_object_set_new(json, "covers", json_string(covers[row->covers]));
    if (row->entry)
        add_entry_json(json, row->entry);
    json_object_set_new(json, "journal", json_boolean(!row->entry && !row->published));
    if (row->published) {
        json_object_set_new(json, "configuration", json_string(row->published->knobs));
        json_object_set_new(json, "where", json_string(row->published->where));
        json_object_set_new(json, "note", json_string(row->published->note));
    }
    return json;
}

void mmt_print_json(json_t *value)
{
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    printf("\n");
    json_decref(value);
}
