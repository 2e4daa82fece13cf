/* What a run on several cards says: their events, one display of how far they are. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tuner/cli/cards.h"
#include "tuner/tune/messages.h"

/* Seconds between two lines of progress, on a terminal and elsewhere. */
static const double on_terminal = 0.2, elsewhere = 10;

static void clear_line(const struct mmt_cards *cards)
{
    if (isatty(1) && !cards->options->json)
        printf("\r\033[K");
}

void mmt_cards_say(const struct mmt_cards *cards, const struct mmt_card *card,
                   const char *format, ...)
{
    char text[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (cards->options->json) {
        mmt_message_emit(json_pack("{s:s, s:s, s:s}", "event", "note", "card",
                                   card ? card->info.id : "", "text", text));
        return;
    }
    clear_line(cards);
    printf("%s%s%s\n", card ? card->info.id : "", card ? ": " : "", text);
    fflush(stdout);
}

/* ---- events ------------------------------------------------------------------------ */

static const char *text_of(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));
    return text ? text : "";
}

static double number_of(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static void take_start(struct mmt_cards *cards, struct mmt_card *card,
                       const json_t *event)
{
    struct mmt_card_kind *kind = &cards->kinds[card->kind];
    const double seconds = number_of(event, "seconds");
    card->ends = seconds > 0 ? mmt_now() + seconds : INFINITY;
    mmt_cards_say(cards, card, "%s, %d problems in %s", text_of(event, "device"),
                  (int) number_of(event, "units"), text_of(event, "profile"));
    if (kind->units)
        return;
    kind->units = (int) number_of(event, "units");
    cards->units += kind->units;
}

static void take_problem(struct mmt_card *card, const json_t *event)
{
    free(card->problem);
    card->problem = strdup(text_of(event, "problem"));
}

static void take_result(struct mmt_cards *cards, const struct mmt_card *card,
                        const json_t *event, bool counts)
{
    const char *status = text_of(event, "status"), *reason = text_of(event, "reason");
    const int outcome = mmt_outcome_parse(status);
    if (outcome < 0)
        return;
    if (counts)
        mmt_counts_add(&cards->counts, (enum mmt_outcome) outcome);
    if (outcome != MMT_TIMED && outcome != MMT_SKIPPED)
        mmt_cards_say(cards, card, "%s: %s\n  %.*s", status,
                      text_of(event, "configuration"), (int) strcspn(reason, "\n"),
                      reason);
}

static void take_winner(struct mmt_cards *cards, const struct mmt_card *card,
                        const json_t *event)
{
    char seconds[32];
    cards->done++;
    mmt_cards_say(cards, card, "%s: %s, %.1f GFLOP/s (%.0f %% of roofline): %s",
                  text_of(event, "problem"),
                  mmt_print_seconds(number_of(event, "seconds"), seconds),
                  number_of(event, "gflops"), 100 * number_of(event, "roofline"),
                  text_of(event, "configuration"));
}

static void take_event(struct mmt_cards *cards, struct mmt_card *card,
                       const json_t *event)
{
    const char *name = text_of(event, "event");
    if (!strcmp(name, "start"))
        take_start(cards, card, event);
    else if (!strcmp(name, "problem"))
        take_problem(card, event);
    else if (!strcmp(name, "result") || !strcmp(name, "verified"))
        take_result(cards, card, event, *name == 'r');
    else if (!strcmp(name, "winner"))
        take_winner(cards, card, event);
    else if (!strcmp(name, "note") || !strcmp(name, "cache"))
        mmt_cards_say(cards, card, "%s", text_of(event, "text"));
}

void mmt_cards_hear(struct mmt_cards *cards, struct mmt_card *card, const char *line)
{
    json_t *event = json_loads(line, 0, NULL);
    if (!event)
        return;
    take_event(cards, card, event);
    if (cards->options->json &&
        !json_object_set_new(event, "card", json_string(card->info.id)))
        mmt_message_emit(json_incref(event));
    json_decref(event);
}

/* ---- progress ---------------------------------------------------------------------- */

static void add_time_left(const struct mmt_cards *cards, struct mmt_text *line)
{
    double ends = 0;
    for (int i = 0; i < cards->count; i++)
        if (cards->list[i].pid)
            ends = fmax(ends, cards->list[i].ends);
    const double left = fmax(ends - mmt_now(), 0);
    if (isfinite(left))
        mmt_text_addf(line, "%d:%02d left, ", (int) left / 60, (int) left % 60);
}

void mmt_cards_progress(struct mmt_cards *cards)
{
    const struct mmt_counts *c = &cards->counts;
    struct mmt_text line = { 0 };
    if (cards->options->json || cards->options->quiet || !cards->units ||
        mmt_now() - cards->told < (isatty(1) ? on_terminal : elsewhere))
        return;
    cards->told = mmt_now();
    mmt_text_addf(&line, "[%d/%d] ", cards->done, cards->units);
    add_time_left(cards, &line);
    mmt_text_addf(&line, "%d tried, %d skipped, %d wrong, %d failed", c->tried,
                  c->skipped, c->wrong, c->failed);
    for (int i = 0; i < cards->count; i++)
        if (cards->list[i].problem)
            mmt_text_addf(&line, "; %s %s", cards->list[i].info.id,
                          cards->list[i].problem);
    if (isatty(1))
        printf("\r\033[K%.*s", mmt_terminal_width() - 1, mmt_text_string(&line));
    else
        printf("%s\n", mmt_text_string(&line));
    fflush(stdout);
    mmt_text_finish(&line);
}
