/* mmtune diff */
#include "tuner/report/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/common/options.h"

/* ---- finding --------------------------------------------------------------------- */

static struct mmt_both compare_groups(struct mmt_group a, struct mmt_group b)
{
    struct mmt_both both = { .group = { a, b } };
    for (int side = 0; side < 2; side++) {
        both.best[side] = mmt_group_best(&both.group[side]);
        both.suspect[side] = mmt_group_suspect(&both.group[side]);
    }
    for (int side = 0; side < 2; side++)
        both.others_best[side] = mmt_group_find(&both.group[side], both.best[!side]);
    both.same = mmt_rows_same(both.best[0], both.best[1]);
    both.tie = mmt_rows_tie(both.best[0], both.best[1]);
    return both;
}

static void add_only(struct mmt_diff *diff, int side, struct mmt_group group)
{
    diff->only[side][diff->num_only[side]++] = group;
}

/* Walks both sorted lists at once. */
static void merge_groups(struct mmt_diff *diff)
{
    size_t at[2] = { 0, 0 };
    while (at[0] < diff->rows[0].count || at[1] < diff->rows[1].count) {
        struct mmt_group group[2];
        for (int side = 0; side < 2; side++)
            group[side] = mmt_rows_group(&diff->rows[side], at[side]);

        int order = !group[0].count ? 1
                    : !group[1].count
                        ? -1
                        : mmt_problem_order(group[0].row->problem, group[1].row->problem);
        if (order == 0)
            diff->both[diff->num_both++] = compare_groups(group[0], group[1]);
        else
            add_only(diff, order > 0, group[order > 0]);
        at[0] += order <= 0 ? group[0].count : 0;
        at[1] += order >= 0 ? group[1].count : 0;
    }
}

mmt_status mmt_diff_make(const struct mmt_profile *a, const struct mmt_profile *b,
                         struct mmt_diff *diff, mmt_error *err)
{
    *diff = (struct mmt_diff){ 0 };
    mmt_status status = mmt_rows_collect(a, &diff->rows[0], err);
    if (!status)
        status = mmt_rows_collect(b, &diff->rows[1], err);
    if (status)
        goto fail;

    diff->both = calloc(diff->rows[0].count + 1, sizeof *diff->both);
    for (int side = 0; side < 2; side++)
        diff->only[side] = calloc(diff->rows[side].count + 1, sizeof **diff->only);
    if (!diff->both || !diff->only[0] || !diff->only[1]) {
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
        goto fail;
    }
    merge_groups(diff);
    return MMT_OK;

fail:
    mmt_diff_finish(diff);
    return status;
}

void mmt_diff_finish(struct mmt_diff *diff)
{
    for (int side = 0; side < 2; side++) {
        mmt_rows_finish(&diff->rows[side]);
        free(diff->only[side]);
    }
    free(diff->both);
}

static const char *family_of(const struct mmt_row *row)
{
    return row->published ? row->name : row->config.template->name;
}

static int by_count(const void *x, const void *y)
{
    const struct mmt_wins *a = x, *b = y;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return strcmp(a->family, b->family);
}

size_t mmt_diff_wins(const struct mmt_diff *diff, int side,
                     struct mmt_wins wins[MMT_MAX_WINS])
{
    size_t num = 0;
    for (size_t i = 0; i < diff->num_both; i++) {
        const char *family = family_of(diff->both[i].best[side]);
        size_t w = 0;
        while (w < num && strcmp(wins[w].family, family))
            w++;
        if (w == MMT_MAX_WINS)
            continue;
        if (w == num)
            wins[num++] = (struct mmt_wins){ family, 0, 0 };
        wins[w].count++;
        wins[w].suspect += diff->both[i].suspect[side];
    }
    qsort(wins, num, sizeof *wins, by_count);
    return num;
}

static void add_difference(json_t *list, const char *name, const char *a, const char *b)
{
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:s}", "name", name, "a", a, "b", b));
}

json_t *mmt_diff_knobs(const struct mmt_row *a, const struct mmt_row *b)
{
    json_t *list = json_array();
    const struct mmt_template *template = a->config.template;
    if (!template || !b->config.template)
        return list;
    if (template != b->config.template) {
        add_difference(list, "template", template->name, b->config.template->name);
        return list;
    }
    for (int i = 0; i < template->num_knobs; i++) {
        char first[16], second[16];
        if (a->config.values[i] != b->config.values[i])
            add_difference(list, template->knobs[i].name,
                           mmt_config_value(&a->config, i, first),
                           mmt_config_value(&b->config, i, second));
    }
    return list;
}

/* ---- the verb -------------------------------------------------------------------- */

static const char about[] =
    "usage: mmtune diff A.json B.json [--json]\n\n"
    "Compares two profiles. For each problem that both have: each side's best\n"
    "kernel, the knobs that differ, the ratio of the times, and, where a side also\n"
    "timed the other's best (`mmtune tune --with OTHER.json`), what it costs to use\n"
    "that one. Times that differ by no more than their spreads are called a tie;\n"
    "conclusions that rest on published figures that cannot be right are marked *.\n";

static int run_diff(const char *verb, char **paths, bool json)
{
    mmt_error err = { 0 };
    struct mmt_profile *profile[2] = { NULL, NULL };
    struct mmt_diff diff;
    int end = MMT_EXIT_FAILED;

    profile[0] = mmt_profile_of(paths[0], NULL, &err);
    if (profile[0])
        profile[1] = mmt_profile_of(paths[1], NULL, &err);
    if (!profile[1] || mmt_diff_make(profile[0], profile[1], &diff, &err)) {
        mmt_failed(verb, &err);
        goto done;
    }
    if (json)
        mmt_diff_print_json(&diff);
    else
        mmt_diff_print(&diff);
    mmt_diff_finish(&diff);
    end = MMT_EXIT_DONE;

done:
    mmt_profile_free(profile[1]);
    mmt_profile_free(profile[0]);
    return end;
}

int mmt_verb_diff(int argc, char **argv)
{
    bool json = false;
    const struct mmt_take takes[] = { { .option = MMT_OPTION_JSON, .out = &json } };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 2 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    int count = argc - optind;
    if (count < 2)
        return mmt_wrong_usage(argv[0],
                               "%d %s named; it must be two profiles, A.json B.json",
                               count, count == 1 ? "file is" : "files are");
    return run_diff(argv[0], argv + optind, json);
}
