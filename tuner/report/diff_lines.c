/* What a comparison amounts to, in a few plain sentences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/report/diff.h"

/* ---- names of cards ---------------------------------------------------------------- */

/* Whether a word of a card's name tells no more than its maker or its memory. */
static bool is_idle_word(const char *word, size_t length, const char *vendor)
{
    static const char *const brands[] = { "NVIDIA", "GeForce", "Quadro", "Tesla",
                                          "AMD",    "Radeon",  "GB" };
    bool digits = length > 0;
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
        if (strlen(brands[i]) == length && !strncmp(brands[i], word, length))
            return true;
    for (size_t i = 0; i < length; i++)
        digits &= word[i] >= '0' && word[i] <= '9';
    if (digits && !strncmp(word + length, " GB", 3))
        return true;
    return strlen(vendor) == length && !strncmp(vendor, word, length);
}

enum { NAME_WIDTH = 20 };

static void shorten_name(const struct mmt_caps *caps, char out[32])
{
    struct mmt_text name = { 0 };
    for (const char *at = caps->name; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (!is_idle_word(at, length, caps->vendor))
            mmt_text_addf(&name, "%s%.*s", name.length ? " " : "", (int) length, at);
        at += length;
    }
    const char *whole = name.length ? mmt_text_string(&name) : caps->name;
    const bool is_long = strlen(whole) > NAME_WIDTH;
    int end = is_long ? NAME_WIDTH - 2 : (int) strlen(whole);
    while (end > 0 && (whole[end] & 0xC0) == 0x80)
        end--; /* no character is cut */
    snprintf(out, 32, "%.*s%s", end, whole, is_long ? ".." : "");
    mmt_text_finish(&name);
}

struct mmt_diff_names mmt_diff_names(const struct mmt_diff *diff)
{
    struct mmt_diff_names names;
    for (int side = 0; side < 2; side++)
        shorten_name(&diff->rows[side].profile->caps, names.card[side]);
    if (!strcmp(names.card[0], names.card[1]))
        for (int side = 0; side < 2; side++)
            snprintf(names.card[side], sizeof names.card[side], "card %c", 'A' + side);
    return names;
}

/* ---- pieces ------------------------------------------------------------------------ */

void mmt_diff_add_problem(const mmt_problem *problem, struct mmt_text *text)
{
    struct mmt_text whole = { 0 };
    mmt_problem_print(problem, &whole);
    const char *word = mmt_text_string(&whole);
    mmt_text_add(text, strncmp(word, "gemm ", 5) ? word : word + 5);
    mmt_text_finish(&whole);
}

/* Cut where it is long. */
static void add_short_problem(const struct mmt_both *both, struct mmt_text *text)
{
    enum { WIDTH = 27 };
    struct mmt_text problem = { 0 };
    mmt_diff_add_problem(both->best[0]->problem, &problem);
    const char *word = mmt_text_string(&problem);
    if (strlen(word) > WIDTH)
        mmt_text_addf(text, "%.*s..", WIDTH - 2, word);
    else
        mmt_text_add(text, word);
    mmt_text_finish(&problem);
}

void mmt_diff_add_faster(const struct mmt_both *both, struct mmt_text *text)
{
    const double ratio = mmt_diff_ratio(both);
    if (both->tie)
        mmt_text_addf(text, "tie, %.3g times", fmax(ratio, 1 / ratio));
    else
        mmt_text_addf(text, "%c %.3g times", ratio > 1 ? 'B' : 'A',
                      fmax(ratio, 1 / ratio));
    if (both->suspect[0] || both->suspect[1])
        mmt_text_add(text, " *");
}

bool mmt_diff_add_note(const struct mmt_diff *diff, int side, size_t row,
                       struct mmt_text *text)
{
    const struct mmt_row *it = &diff->rows[side].row[row];
    if (!mmt_rows_first_note(&diff->rows[side], row))
        return false;
    mmt_text_addf(text, "* %c, %s, %s: %s", 'A' + side, it->published->where, it->name,
                  it->published->note);
    return true;
}

void mmt_diff_add_knobs(const struct mmt_both *both, int width, struct mmt_text *text)
{
    enum { MORE = 5 }; /* columns of ", +12" */
    json_t *knobs = mmt_diff_knobs(both->best[0], both->best[1]), *knob;
    const size_t count = json_array_size(knobs), begin = text->length;
    size_t i, told = 0;
    json_array_foreach(knobs, i, knob)
    {
        const char *name = json_string_value(json_object_get(knob, "name"));
        const char *a = json_string_value(json_object_get(knob, "a"));
        const char *b = json_string_value(json_object_get(knob, "b"));
        const size_t length = strlen(name) + strlen(a) + strlen(b) + 2 + 2 * (told > 0);
        const size_t room = (size_t) width - (told + 1 < count ? MORE : 0);
        if (text->length - begin + length > room)
            continue;
        mmt_text_addf(text, "%s%s %s|%s", told ? ", " : "", name, a, b);
        told++;
    }
    if (told && told < count)
        mmt_text_addf(text, ", +%zu", count - told);
    else if (told < count)
        mmt_text_addf(text, "%zu knob%s", count, count == 1 ? "" : "s");
    else if (both->same)
        mmt_text_add(text, "the same kernel");
    json_decref(knobs);
}

/* ---- sentences --------------------------------------------------------------------- */

/* How cards are called, the shorter last: "K5000 (B)", "K5000", "B". */
enum calling { BOTH, NAMES, LETTERS, NUM_CALLINGS };

struct story {
    const struct mmt_diff *diff;
    struct mmt_sum total;
    double ratio; /* of the two times: the mean without what is suspect, or of all */
    int winner;
    struct mmt_diff_names names;
    enum calling calling;
};

static const char *card_of(const struct story *story, int side)
{
    static const char *const letters[2] = { "A", "B" };
    return story->calling == LETTERS ? letters[side] : story->names.card[side];
}

static void add_card(const struct story *story, int side, struct mmt_text *text)
{
    mmt_text_add(text, card_of(story, side));
    if (story->calling == BOTH)
        mmt_text_addf(text, " (%c)", 'A' + side);
}

/* "f32", "6 types". */
static void add_types(const struct mmt_diff *diff, struct mmt_text *text)
{
    struct mmt_sum sums[MMT_MAX_SUMS];
    const size_t num = mmt_diff_sums(diff, sums);
    if (num == 1)
        mmt_text_add(text, mmt_type_name(sums[0].type));
    else
        mmt_text_addf(text, "%zu types", num);
}

/* Without what is suspect, where anything is left. */
static void say_speed(const struct story *story, struct mmt_text *text)
{
    const struct mmt_sum *total = &story->total;
    const size_t problems = total->problems - (total->sure > 0 ? total->suspect : 0);
    const double ratio = story->ratio;
    add_card(story, story->winner, text);
    mmt_text_addf(text, " is %.3g times as fast as ", fmax(ratio, 1 / ratio));
    add_card(story, !story->winner, text);
    mmt_text_addf(text, ", the geometric mean of %zu problem%s of ", problems,
                  problems == 1 ? "" : "s");
    add_types(story->diff, text);
    mmt_text_add(text, ".");
}

static double speed_of_winner(const struct story *story, const struct mmt_both *both)
{
    return story->winner ? mmt_diff_ratio(both) : 1 / mmt_diff_ratio(both);
}

static void say_range(const struct story *story, struct mmt_text *text)
{
    const struct mmt_both *least = NULL, *most = NULL;
    for (size_t i = 0; i < story->diff->num_both; i++) {
        const struct mmt_both *both = &story->diff->both[i];
        if (story->total.sure > 0 && (both->suspect[0] || both->suspect[1]))
            continue;
        if (!least || speed_of_winner(story, both) < speed_of_winner(story, least))
            least = both;
        if (!most || speed_of_winner(story, both) > speed_of_winner(story, most))
            most = both;
    }
    mmt_text_addf(text, "From %.3g times as fast (", speed_of_winner(story, least));
    add_short_problem(least, text);
    mmt_text_addf(text, ") to %.3g times (", speed_of_winner(story, most));
    add_short_problem(most, text);
    mmt_text_add(text, ").");
}

/* " (index swap)": a paper's name for what is always best on a side. */
static void add_papers_name(const struct story *story, int side, struct mmt_text *text)
{
    struct mmt_wins wins[MMT_MAX_WINS];
    const size_t num = mmt_diff_wins(story->diff, side, wins);
    if (num == 1 && story->diff->both->best[side]->published)
        mmt_text_addf(text, " (%s)", wins[0].family);
}

static void add_preference(const struct story *story, const struct mmt_knob_sum *sum,
                           int side, struct mmt_text *text)
{
    mmt_text_add(text, sum->side[side].value);
    add_papers_name(story, side, text);
    mmt_text_addf(text, " on %zu of %zu", sum->side[side].count, sum->problems);
}

static void say_preference(const struct story *story, struct mmt_text *text)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(story->diff, sums);
    size_t at = 0;
    while (at < num && !strcmp(sums[at].side[0].value, sums[at].side[1].value))
        at++;
    if (!num) {
        mmt_text_add(text, "Both prefer the same values of all knobs.");
    } else if (at == num) {
        mmt_text_addf(text,
                      "Both mostly prefer the same values; they differ most in %s, on "
                      "%zu of %zu.",
                      sums[0].name, sums[0].differ, sums[0].problems);
    } else {
        mmt_text_addf(text, "By %s, %s prefers ", sums[at].name, card_of(story, 0));
        add_preference(story, &sums[at], 0, text);
        mmt_text_addf(text, ", %s ", card_of(story, 1));
        add_preference(story, &sums[at], 1, text);
        mmt_text_add(text, ".");
    }
}

static void say_cost(const struct story *story, struct mmt_text *text)
{
    const struct mmt_cost cost[2] = { mmt_diff_cost(story->diff, 0),
                                      mmt_diff_cost(story->diff, 1) };
    const char *before = "The other's choice takes ";
    bool told = false;
    if (!cost[0].of) {
        mmt_text_add(text, "The other's choice costs nothing: it is the same kernel.");
        return;
    }
    if (!cost[0].count && !cost[1].count) {
        mmt_text_add(text, "Neither card timed the other's choice; below is what to run, "
                           "to fill the gaps.");
        return;
    }
    for (int side = 0; side < 2; side++) {
        const char *card = card_of(story, side);
        if (cost[side].count)
            mmt_text_addf(text, "%s%.3g times %son %s (%zu of %zu)", before,
                          cost[side].ratio, told ? "" : "as long ", card,
                          cost[side].count, cost[side].of);
        else
            mmt_text_addf(text, "%san unknown time on %s", before, card);
        told |= cost[side].count > 0;
        before = ", ";
    }
    mmt_text_add(text, ".");
}

static void say_doubt(const struct story *story, struct mmt_text *text)
{
    const struct mmt_sum *total = &story->total;
    mmt_text_addf(text,
                  "In doubt: %zu of %zu rest on suspect figures (*), %zu %s within the "
                  "noise, %zu %s no known noise.",
                  total->suspect, total->problems, total->ties,
                  total->ties == 1 ? "is" : "are", total->unknown,
                  total->unknown == 1 ? "has" : "have");
}

static void say_nothing(const struct story *story, struct mmt_text line[MMT_DIFF_LINES])
{
    add_card(story, 0, &line[0]);
    mmt_text_add(&line[0], " and ");
    add_card(story, 1, &line[0]);
    if (story->diff->num_apart) {
        mmt_text_addf(&line[0], " have %zu problem%s in common, and nothing to compare.",
                      story->diff->num_apart, story->diff->num_apart == 1 ? "" : "s");
        mmt_text_add(&line[2], "One's times include copying, or may; the other's are of "
                               "the kernel alone.");
    } else {
        mmt_text_add(&line[0],
                     " have no problem in common: there is nothing to compare.");
    }
    mmt_text_addf(&line[1], "A alone has %zu problem%s, B alone %zu.",
                  story->diff->num_only[0], story->diff->num_only[0] == 1 ? "" : "s",
                  story->diff->num_only[1]);
}

static int columns_of(const char *string)
{
    int columns = 0;
    for (; *string; string++)
        columns += (*string & 0xC0) != 0x80;
    return columns;
}

void mmt_diff_say(const struct mmt_diff *diff, struct mmt_text line[MMT_DIFF_LINES])
{
    static void (*const say[MMT_DIFF_LINES])(const struct story *, struct mmt_text *) = {
        say_speed, say_range, say_preference, say_cost, say_doubt
    };
    struct story story = { .diff = diff, .total = mmt_diff_total(diff) };
    story.ratio = story.total.sure > 0 ? story.total.sure : story.total.ratio;
    story.winner = story.ratio >= 1;
    story.names = mmt_diff_names(diff);
    for (int i = 0; i < MMT_DIFF_LINES; i++)
        line[i] = (struct mmt_text){ 0 };
    if (!diff->num_both) {
        say_nothing(&story, line);
        return;
    }
    for (int i = 0; i < MMT_DIFF_LINES; i++)
        for (int calling = 0; calling < NUM_CALLINGS; calling++) {
            mmt_text_finish(&line[i]);
            story.calling = (enum calling) calling;
            say[i](&story, &line[i]);
            if (columns_of(mmt_text_string(&line[i])) <= MMT_DIFF_WIDTH)
                break;
        }
}
