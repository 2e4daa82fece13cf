/* `mmtune tune` on several cards: a tuner a card, beneath one parent. */
#ifndef MMT_TUNER_CLI_CARDS_H
#define MMT_TUNER_CLI_CARDS_H

#include "tuner/tune/state.h"

/* Whether --device may name several: it is a list, or "all". */
bool mmt_are_cards(const char *device);

/* Runs `tune` in a process for each card that options->device names, and makes one
 * profile of each kind of them. Returns the exit status. */
typedef int mmt_tuner(const struct mmt_tune_options *options, const char *verb);
int mmt_tune_on_cards(const struct mmt_tune_options *options, const char *verb,
                      mmt_tuner *tune);

/* ---- what is told (cards_report.c) ------------------------------------------------- */

struct mmt_card {
    struct mmt_device_info info;
    int kind;              /* of mmt_cards */
    char key[40];          /* its UUID; its id, where it has none or shares it */
    char *part;            /* the path of its profile */
    pid_t pid;             /* of its tuner; 0: it has ended */
    int fd;                /* of what its tuner tells */
    bool lost;             /* its tuner failed */
    bool begun;            /* it has told its problems */
    double ends;           /* mmt_now() when its budget is over; INFINITY: it has none */
    char *problem;         /* at hand, malloc'ed; NULL: none yet */
    struct mmt_text heard; /* not yet a whole line */
};

/* Cards that may share a profile. */
struct mmt_card_kind {
    const struct mmt_caps *caps; /* of its first */
    char *path;                  /* of its profile, malloc'ed */
    char *folder;                /* of what its cards take (deal.h), malloc'ed */
    int count;                   /* its cards */
    int units;                   /* to be dealt out; 0: not told yet */
    int left;                    /* of them when the last round began */
    double part;                 /* of them that it is for */
    bool again;                  /* its cards' profiles were merged before */
};

struct mmt_cards {
    const struct mmt_tune_options *options;
    const char *verb;
    mmt_tuner *tune;
    struct mmt_card *list;
    int count;
    struct mmt_card_kind *kinds;
    int num_kinds;
    struct mmt_counts counts; /* of all */
    int done, units;          /* problems that were won; to be dealt out */
    double begun, told;       /* mmt_now(): the beginning; when progress was last told */
};

/* Takes an event of a card, a line of JSON, and tells what of it is worth telling; with
 * --json all of it, with the card's id. */
void mmt_cards_hear(struct mmt_cards *cards, struct mmt_card *card, const char *line);

/* Tells how far all are, where it is time. */
void mmt_cards_progress(struct mmt_cards *cards);

/* Says a sentence: of a card, or of all where that is NULL. */
__attribute__((format(printf, 3, 4))) void mmt_cards_say(const struct mmt_cards *cards,
                                                         const struct mmt_card *card,
                                                         const char *format, ...);

#endif
