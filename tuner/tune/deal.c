/* Deals goals out among tuners: by their number to shards, and to cards of one kind by
 * symbolic links, which are made at once or not at all on any file system. */
#include "tuner/tune/deal.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

static const char done[] = ".done";

/* ---- units ------------------------------------------------------------------------- */

/* The range that a goal is of; NULL: none. */
static const struct mmt_tune_range *range_of(const struct mmt_run *run,
                                             const mmt_problem *goal)
{
    for (int i = 0; i < run->ranges.count; i++)
        if (mmt_tune_range_has(&run->ranges.list[i], goal))
            return &run->ranges.list[i];
    return NULL;
}

static struct mmt_hash hash_text(struct mmt_text *text)
{
    const struct mmt_hash hash =
        mmt_hash_add(mmt_hash_start(), mmt_text_string(text), text->length);
    mmt_text_finish(text);
    return hash;
}

static struct mmt_hash hash_range(const struct mmt_tune_range *range)
{
    struct mmt_text text = { 0 };
    mmt_range_print_to(&range->problem, range->m_to, &text);
    return hash_text(&text);
}

static struct mmt_hash unit_of(const struct mmt_run *run, const mmt_problem *goal)
{
    const struct mmt_tune_range *range = range_of(run, goal);
    struct mmt_text text = { 0 };
    if (range)
        return hash_range(range);
    mmt_problem_print(goal, &text);
    return hash_text(&text);
}

static bool is_same(struct mmt_hash a, struct mmt_hash b)
{
    return a.high == b.high && a.low == b.low;
}

/* Fills in the number of each goal's unit, in their order; returns how many there are. */
static int number_units(const struct mmt_run *run, int *numbers)
{
    const int count = run->goals.all;
    struct mmt_hash *units = calloc((size_t) count + 1, sizeof *units);
    int next = 0;
    for (int i = 0; units && i < count; i++) {
        int same = 0;
        units[i] = unit_of(run, &run->goals.list[i]);
        while (!is_same(units[same], units[i]))
            same++;
        numbers[i] = same < i ? numbers[same] : next++;
    }
    free(units);
    return next;
}

int mmt_tune_count_units(const struct mmt_run *run)
{
    int *numbers = calloc((size_t) run->goals.all + 1, sizeof *numbers);
    const int count = numbers ? number_units(run, numbers) : 0;
    free(numbers);
    return count;
}

/* ---- shards ------------------------------------------------------------------------ */

static bool has_goal(const struct mmt_run *run, const struct mmt_tune_range *range)
{
    for (int i = 0; i < run->goals.count; i++)
        if (range_of(run, &run->goals.list[i]) == range)
            return true;
    return false;
}

static void keep_ranges_of_goals(struct mmt_run *run)
{
    int left = 0;
    for (int i = 0; i < run->ranges.count; i++)
        if (has_goal(run, &run->ranges.list[i]))
            run->ranges.list[left++] = run->ranges.list[i];
    run->ranges.count = left;
}

void mmt_tune_keep_shard(struct mmt_run *run)
{
    const struct mmt_shard *shard = &run->options.shard;
    struct mmt_run_problems *goals = &run->goals;
    int *numbers = calloc((size_t) goals->all + 1, sizeof *numbers), left = 0;
    if (shard->count > 1 && numbers) {
        number_units(run, numbers);
        for (int i = 0; i < goals->count; i++)
            if (numbers[i] % shard->count == shard->number - 1) {
                goals->list[left] = goals->list[i];
                if (goals->weights)
                    goals->weights[left] = goals->weights[i];
                left++;
            }
        goals->count = goals->all = left;
        keep_ranges_of_goals(run);
    }
    free(numbers);
}

double mmt_tune_offset(const struct mmt_run *run)
{
    const struct mmt_shard *shard = &run->options.shard;
    const struct mmt_tune_cards *cards = &run->options.cards;
    const double part = shard->count ? (shard->number - 1.0) / shard->count : 0;
    return part + (cards->count ? (double) cards->number / cards->count : 0) /
                      (shard->count ? shard->count : 1);
}

/* ---- what a card takes ---------------------------------------------------------------
 */

static void add_link(const struct mmt_run *run, struct mmt_hash unit,
                     struct mmt_text *path)
{
    char name[33];
    mmt_hash_print(unit, name);
    mmt_text_addf(path, "%s/%s", run->options.cards.folder, name);
}

/* "" where none has it. */
static void read_owner(const char *path, char owner[NAME_MAX + 1])
{
    const ssize_t length = readlink(path, owner, NAME_MAX);
    owner[length > 0 ? length : 0] = '\0';
}

enum owner { OURS, NOBODYS, DONE_OR_ANOTHERS };

static bool is_link(const char *path)
{
    return readlink(path, &(char){ 0 }, 1) >= 0;
}

static enum owner owner_of(const struct mmt_run *run, struct mmt_hash unit)
{
    struct mmt_text path = { 0 };
    char owner[NAME_MAX + 1];
    add_link(run, unit, &path);
    read_owner(mmt_text_string(&path), owner);
    const bool ours = !strcmp(owner, run->options.cards.key);
    mmt_text_add(&path, done);
    const bool is_done = is_link(mmt_text_string(&path));
    mmt_text_finish(&path);
    return !*owner ? NOBODYS : ours && !is_done ? OURS : DONE_OR_ANOTHERS;
}

static bool take(const struct mmt_run *run, const mmt_problem *goal)
{
    const struct mmt_hash unit = unit_of(run, goal);
    struct mmt_text path = { 0 };
    add_link(run, unit, &path);
    const bool taken = !symlink(run->options.cards.key, mmt_text_string(&path));
    mmt_text_finish(&path);
    return taken || owner_of(run, unit) == OURS;
}

/* Puts the goals of one owner at `from` and behind it, in their order; returns where
 * these end. */
static int gather(struct mmt_run *run, int from, enum owner owner)
{
    mmt_problem *list = run->goals.list;
    for (int i = from; i < run->goals.all; i++) {
        const mmt_problem goal = list[i];
        if (owner_of(run, unit_of(run, &goal)) != owner)
            continue;
        memmove(&list[from + 1], &list[from], (size_t) (i - from) * sizeof goal);
        list[from++] = goal;
    }
    return from;
}

bool mmt_tune_take_goal(struct mmt_run *run)
{
    struct mmt_run_problems *goals = &run->goals;
    if (!run->options.cards.folder)
        return goals->at < goals->count;
    if (run->options.budget.candidates && run->clock.candidates_left <= 0) {
        goals->count = goals->at; /* another card may have some left */
        return false;
    }
    do
        goals->count = gather(run, gather(run, goals->at, OURS), NOBODYS);
    while (goals->at < goals->count && !take(run, &goals->list[goals->at]));
    return goals->at < goals->count;
}

static bool end_unit(const struct mmt_run *run, struct mmt_hash unit)
{
    struct mmt_text path = { 0 };
    add_link(run, unit, &path);
    mmt_text_add(&path, done);
    const bool noted = !symlink(run->options.cards.key, mmt_text_string(&path));
    mmt_text_finish(&path);
    return noted;
}

bool mmt_tune_end_goal(const struct mmt_run *run)
{
    const mmt_problem *goal = mmt_tune_current(run);
    return !run->options.cards.folder || range_of(run, goal) ||
           end_unit(run, unit_of(run, goal));
}

void mmt_tune_keep_own_ranges(struct mmt_run *run)
{
    int left = 0;
    for (int i = 0; i < run->ranges.count; i++)
        if (!run->options.cards.folder ||
            owner_of(run, hash_range(&run->ranges.list[i])) == OURS)
            run->ranges.list[left++] = run->ranges.list[i];
    run->ranges.count = left;
}

bool mmt_tune_end_ranges(const struct mmt_run *run)
{
    bool noted = true;
    for (int i = 0; i < run->ranges.count && run->options.cards.folder; i++)
        noted = end_unit(run, hash_range(&run->ranges.list[i])) && noted;
    return noted;
}

/* ---- who deals --------------------------------------------------------------------- */

static bool is_done(const char *name)
{
    const size_t length = strlen(name);
    return length >= sizeof done && !strcmp(name + length - (sizeof done - 1), done);
}

/* Calls `visit` with each unit, or what says that one is done, and its card's key; it
 * says whether to let go. Returns of how many it did. */
static int sweep(const char *folder,
                 bool (*visit)(const void *self, const char *path, const char *key),
                 const void *self)
{
    struct dirent **names;
    int gone = 0;
    const int count = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct mmt_text path = { 0 };
        char key[NAME_MAX + 1];
        mmt_text_addf(&path, "%s/%s", folder, names[i]->d_name);
        read_owner(mmt_text_string(&path), key);
        if (*key && visit(self, mmt_text_string(&path), key))
            gone += !unlink(mmt_text_string(&path));
        mmt_text_finish(&path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return gone;
}

struct beginning {
    bool (*stays)(const void *self, const char *key);
    const void *self;
};

static bool is_of_the_past(const void *self, const char *path, const char *key)
{
    const struct beginning *it = self;
    return is_done(path) || !it->stays(it->self, key);
}

void mmt_deal_begin(const char *folder, bool (*stays)(const void *self, const char *key),
                    const void *self)
{
    sweep(folder, is_of_the_past, &(struct beginning){ stays, self });
}

static bool is_to_do(const void *self, const char *path, const char *key)
{
    struct mmt_text end = { 0 };
    mmt_text_addf(&end, "%s%s", path, done);
    const bool left =
        !is_done(path) && !strcmp(key, self) && !is_link(mmt_text_string(&end));
    mmt_text_finish(&end);
    return left;
}

int mmt_deal_release(const char *folder, const char *key)
{
    return sweep(folder, is_to_do, key);
}

int mmt_deal_count(const char *folder)
{
    DIR *links = opendir(folder);
    int count = 0;
    for (struct dirent *at; links && (at = readdir(links));)
        count += at->d_name[0] != '.' && !is_done(at->d_name);
    if (links)
        closedir(links);
    return count;
}
