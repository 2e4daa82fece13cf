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
    const bool any_sure = mmt_diff_total(diff).sure > 0;
    for (size_t i = 0; i < diff->num_both; i++) {
        const struct mmt_both *both = &diff->both[i];
        const bool suspect = both->suspect[0] || both->suspect[1];
        cost.of += !both->same;
        if (!both->same && both->others_best[side] && !(suspect && any_sure))
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

/* The fastest with what `wanted` has for a knob (NULL: with anything); NULL: none. */
static const struct mmt_timed *fastest(const struct mmt_both *both, int side, int knob,
                                       const struct mmt_config *wanted)
{
    const struct mmt_timed *found = NULL;
    for (size_t i = 0; i < both->num_timed[side]; i++) {
        const struct mmt_timed *timed = &both->timed[side][i];
        if ((!wanted || has_value(timed->config, knob, wanted)) &&
            (!found || timed->seconds < found->seconds))
            found = timed;
    }
    return found;
}

/* Whether a side is known to do as well with the other's value, within the spreads. */
static bool is_within_noise(const struct mmt_both *both, int side, int knob,
                            const struct mmt_config *others)
{
    const struct mmt_timed *with = fastest(both, side, knob, others),
                           *best = fastest(both, side, knob, NULL);
    return with && with->seconds - best->seconds <= with->spread + best->spread;
}

/* A configuration beside others that differ in one knob alone. */
struct part {
    const struct mmt_timed *timed;
    int knob;
};

static int compare_rest(const struct part *a, const struct part *b)
{
    const struct mmt_config *x = a->timed->config, *y = b->timed->config;
    if (x->template != y->template)
        return x->template <y->template ? -1 : 1;
    for (int i = 0; i < x->template->num_knobs; i++)
        if (i != a->knob && x->values[i] != y->values[i])
            return x->values[i] < y->values[i] ? -1 : 1;
    return 0;
}

static int by_rest(const void *x, const void *y)
{
    return compare_rest(x, y);
}

/* Of kernels that agree in all else, times with the other's value over those with a
 * side's own. Of templates, whose other knobs differ, the fastest of each. */
static void add_pairs(const struct mmt_both *both, int side, int knob,
                      const struct mmt_config *own, const struct mmt_config *others,
                      struct mmt_cost *cost)
{
    const struct mmt_timed *with = fastest(both, side, knob, others);
    struct part *parts = calloc(both->num_timed[side] + 1, sizeof *parts);
    size_t count = 0;
    if (knob == own->template->num_knobs && with)
        add_cost(cost, with->seconds / fastest(both, side, knob, NULL)->seconds);
    for (size_t i = 0;
         parts && knob < own->template->num_knobs && with && i < both->num_timed[side];
         i++)
        if (has_value(both->timed[side][i].config, knob, own) ||
            has_value(both->timed[side][i].config, knob, others))
            parts[count++] = (struct part){ &both->timed[side][i], knob };
    if (count)
        qsort(parts, count, sizeof *parts, by_rest);
    for (size_t i = 0, end; i < count; i = end) {
        double mine = INFINITY, theirs = INFINITY;
        for (end = i; end < count && !compare_rest(&parts[i], &parts[end]); end++) {
            double *least =
                has_value(parts[end].timed->config, knob, own) ? &mine : &theirs;
            *least = fmin(*least, parts[end].timed->seconds);
        }
        if (isfinite(mine) && isfinite(theirs))
            add_cost(cost, theirs / mine);
    }
    free(parts);
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
    bool beyond[2];
    for (int side = 0; side < 2; side++)
        word[side] = value_of(config[side], knob[side], value[side]);
    for (int side = 0; side < 2; side++) {
        beyond[side] = !strcmp(word[0], word[1]) ||
                       !is_within_noise(both, side, knob[!side], config[!side]);
        if (beyond[side])
            count_value(&tally[side], word[side]);
    }
    if (!strcmp(word[0], word[1]) || (!beyond[0] && !beyond[1]))
        return;
    sum->differ++;
    for (int side = 0; side < 2; side++)
        add_pairs(both, side, knob[!side], config[side], config[!side],
                  &sum->side[side].wrong);
}

static void finish_knob(struct mmt_knob_sum *sum, const struct tally tally[2])
{
    for (int side = 0; side < 2; side++) {
        size_t most = 0;
        for (size_t i = 1; i < tally[side].num; i++)
            if (tally[side].of[i].count > tally[side].of[most].count)
                most = i;
        snprintf(sum->side[side].value, sizeof sum->side[side].value, "%s",
                 tally[side].num ? tally[side].of[most].value : "either");
        sum->side[side].count = tally[side].num ? tally[side].of[most].count : 0;
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
