/* What a comparison amounts to: means by type, who wins how often, and what the knobs'
 * values cost. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/report/diff.h"

/* ---- means ------------------------------------------------------------------------ */

/* Of logarithms, until finish_sum. */
static void add_to_sum(struct mmt_sum *sum, const struct mmt_both *both)
{
    const double ratio = mmt_diff_ratio(both);
    const bool suspect = both->suspect[0] || both->suspect[1];
    sum->problems++;
    sum->ties += both->tie;
    if (!both->tie)
        sum->faster[ratio > 1]++;
    sum->suspect += suspect;
    sum->unknown += both->best[0]->spread <= 0 || both->best[1]->spread <= 0;
    sum->ratio += log(ratio);
    sum->sure += suspect ? 0 : log(ratio);
}

static void finish_sum(struct mmt_sum *sum)
{
    const size_t sure = sum->problems - sum->suspect;
    sum->ratio = sum->problems ? exp(sum->ratio / (double) sum->problems) : 1;
    sum->sure = sure ? exp(sum->sure / (double) sure) : 0;
}

size_t mmt_diff_sums(const struct mmt_diff *diff, struct mmt_sum sums[MMT_MAX_SUMS])
{
    size_t num = 0;
    for (size_t i = 0; i < diff->num_both; i++) {
        const mmt_problem *problem = diff->both[i].group[0].row->problem;
        size_t at = 0;
        while (at < num && (sums[at].op != problem->op || sums[at].type != problem->type))
            at++;
        if (at == num)
            sums[num++] = (struct mmt_sum){ .op = problem->op, .type = problem->type };
        add_to_sum(&sums[at], &diff->both[i]);
    }
    for (size_t at = 0; at < num; at++)
        finish_sum(&sums[at]);
    return num;
}

struct mmt_sum mmt_diff_total(const struct mmt_diff *diff)
{
    struct mmt_sum sum = { 0 };
    for (size_t i = 0; i < diff->num_both; i++)
        add_to_sum(&sum, &diff->both[i]);
    finish_sum(&sum);
    return sum;
}

/* Of logarithms, until finish_cost. */
static void add_cost(struct mmt_cost *cost, double ratio)
{
    cost->ratio += log(ratio);
    cost->count++;
}

static void finish_cost(struct mmt_cost *cost)
{
    cost->ratio = cost->count ? exp(cost->ratio / (double) cost->count) : 1;
}

struct mmt_cost mmt_diff_cost(const struct mmt_diff *diff, int side)
{
    struct mmt_cost cost = { 0 };
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_both *both = &diff->both[i];
        cost.of += !both->same;
        if (!both->same && both->others_best[side])
            add_cost(&cost, both->others_best[side]->seconds / both->best[side]->seconds);
    }
    finish_cost(&cost);
    return cost;
}

/* ---- wins ------------------------------------------------------------------------- */

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

/* ---- knobs ------------------------------------------------------------------------ */

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
        add_difference(list, "template", mmt_template_key(template),
                       mmt_template_key(b->config.template));
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

/* How often each value of a knob is wanted on a side. */
struct tally {
    struct {
        char value[32];
        size_t count;
    } of[24];
    size_t num;
};

static void count_value(struct tally *tally, const char *value)
{
    size_t i = 0;
    while (i < tally->num && strcmp(tally->of[i].value, value))
        i++;
    if (i == sizeof tally->of / sizeof *tally->of)
        return;
    if (i == tally->num)
        snprintf(tally->of[tally->num++].value, sizeof tally->of[i].value, "%s", value);
    tally->of[i].count++;
}

/* A knob's number in a configuration's template; -1: it has none. Past all knobs stands
 * the template itself. */
static int find_knob(const struct mmt_config *config, const char *name)
{
    if (!strcmp(name, "template"))
        return config->template->num_knobs;
    for (int i = 0; i < config->template->num_knobs; i++)
        if (!strcmp(config->template->knobs[i].name, name))
            return i;
    return -1;
}

static const char *value_of(const struct mmt_config *config, int knob, char buffer[16])
{
    return knob == config->template->num_knobs ? mmt_template_key(config->template)
                                               : mmt_config_value(config, knob, buffer);
}

static bool has_value(const struct mmt_config *config, int knob,
                      const struct mmt_config *wanted)
{
    if (knob == wanted->template->num_knobs)
        return config->template == wanted->template;
    return config->template == wanted->template &&
           config->values[knob] == wanted->values[knob];
}

/* The least time with what `wanted` has for a knob over the least of all; 0: not timed.
 */
static double cost_of_value(const struct mmt_both *both, int side, int knob,
                            const struct mmt_config *wanted)
{
    double with = INFINITY, least = INFINITY;
    for (size_t i = 0; i < both->num_timed[side]; i++) {
        const struct mmt_timed *timed = &both->timed[side][i];
        least = fmin(least, timed->seconds);
        if (has_value(timed->config, knob, wanted))
            with = fmin(with, timed->seconds);
    }
    return isfinite(with) ? with / least : 0;
}

/* Of two best kernels of different templates the template alone can be compared. */
static bool are_comparable(const struct mmt_both *both, const char *name)
{
    const struct mmt_template *a = both->best[0]->config.template,
                              *b = both->best[1]->config.template;
    return a && b && (a == b || !strcmp(name, "template"));
}

static void add_to_knob(struct mmt_knob_sum *sum, struct tally tally[2],
                        const struct mmt_both *both)
{
    const struct mmt_config *config[2] = { &both->best[0]->config,
                                           &both->best[1]->config };
    const int knob[2] = { find_knob(config[0], sum->name),
                          find_knob(config[1], sum->name) };
    char value[2][16];
    const char *word[2];
    if (knob[0] < 0 || knob[1] < 0)
        return;
    sum->problems++;
    for (int side = 0; side < 2; side++) {
        word[side] = value_of(config[side], knob[side], value[side]);
        count_value(&tally[side], word[side]);
    }
    if (!strcmp(word[0], word[1]))
        return;
    sum->differ++;
    for (int side = 0; side < 2; side++) {
        const double cost = cost_of_value(both, side, knob[!side], config[!side]);
        sum->side[side].wrong.of++;
        if (cost > 0)
            add_cost(&sum->side[side].wrong, cost);
    }
}

static void finish_knob(struct mmt_knob_sum *sum, const struct tally tally[2])
{
    for (int side = 0; side < 2; side++) {
        size_t most = 0;
        for (size_t i = 1; i < tally[side].num; i++)
            if (tally[side].of[i].count > tally[side].of[most].count)
                most = i;
        memcpy(sum->side[side].value, tally[side].of[most].value,
               sizeof sum->side[side].value);
        sum->side[side].count = tally[side].of[most].count;
        finish_cost(&sum->side[side].wrong);
    }
}

static struct mmt_knob_sum sum_knob(const struct mmt_diff *diff, const char *name)
{
    struct mmt_knob_sum sum = { .name = name };
    struct tally tally[2] = { { .num = 0 }, { .num = 0 } };
    for (size_t i = 0; i < diff->num_both; i++)
        if (are_comparable(&diff->both[i], name))
            add_to_knob(&sum, tally, &diff->both[i]);
    finish_knob(&sum, tally);
    return sum;
}

/* What the wrong values cost over all problems, on the side where that is more. */
static double whole_cost(const struct mmt_knob_sum *sum)
{
    double whole[2];
    for (int side = 0; side < 2; side++) {
        const struct mmt_cost *wrong = &sum->side[side].wrong;
        whole[side] = (double) wrong->count * log(wrong->ratio);
    }
    return fmax(whole[0], whole[1]);
}

static int by_cost(const void *x, const void *y)
{
    const struct mmt_knob_sum *a = x, *b = y;
    const double costs[2] = { whole_cost(a), whole_cost(b) };
    if (costs[0] != costs[1])
        return costs[0] < costs[1] ? 1 : -1;
    if (a->differ != b->differ)
        return a->differ < b->differ ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Adds a name that is not there yet. */
static size_t add_name(const char *names[], size_t num, const char *name)
{
    for (size_t i = 0; i < num; i++)
        if (!strcmp(names[i], name))
            return num;
    if (num < MMT_MAX_KNOB_SUMS)
        names[num++] = name;
    return num;
}

size_t mmt_diff_knob_sums(const struct mmt_diff *diff,
                          struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS])
{
    const char *names[MMT_MAX_KNOB_SUMS];
    size_t num_names = add_name(names, 0, "template"), num = 0;
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_template *template = diff->both[i].best[0]->config.template;
        for (int knob = 0; template && knob < template->num_knobs; knob++)
            num_names = add_name(names, num_names, template->knobs[knob].name);
    }
    for (size_t i = 0; i < num_names; i++) {
        const struct mmt_knob_sum sum = sum_knob(diff, names[i]);
        if (sum.differ)
            sums[num++] = sum;
    }
    qsort(sums, num, sizeof *sums, by_cost);
    return num;
}
