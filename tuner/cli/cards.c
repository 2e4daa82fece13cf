/* A tuner for each card: which cards, their kinds, their processes, and one profile a
 * kind at the end. */
#include "tuner/cli/cards.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "device/device.h"
#include "tuner/common/options.h"
#include "tuner/report/merge.h"
#include "tuner/tune/deal.h"
#include "tuner/tune/profile.h"

/* ---- which cards ------------------------------------------------------------------- */

bool mmt_are_cards(const char *device)
{
    return device && (strchr(device, ',') || !strcmp(device, "all"));
}

static void tell_devices(int fd)
{
    struct mmt_device_info *list = NULL;
    size_t count = 0;
    mmt_error err = { 0 };
    const mmt_status status = mmt_device_list(&list, &count, NULL, &err);
    FILE *out = fdopen(fd, "w");
    if (!out || fwrite(&err, sizeof err, 1, out) != 1 ||
        (!status && fwrite(list, sizeof *list, count, out) != count) || fclose(out))
        _exit(MMT_EXIT_FAILED);
    _exit(MMT_EXIT_DONE);
}

/* All of this machine, as a process of its own finds them: a driver that is opened here
 * serves no process that is forked. */
static mmt_status list_devices(struct mmt_device_info **list, size_t *count,
                               mmt_error *err)
{
    enum { MOST = 256 };
    int ends[2];
    mmt_error why = { 0 };
    *list = calloc(MOST, sizeof **list);
    if (!*list || pipe2(ends, O_CLOEXEC))
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a list of devices");
    const pid_t pid = fork();
    if (!pid)
        tell_devices(ends[1]);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    const bool told = pid > 0 && in && fread(&why, sizeof why, 1, in) == 1;
    *count = told ? fread(*list, sizeof **list, MOST, in) : 0;
    if (in)
        fclose(in);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!told)
        return mmt_fail(err, MMT_ERROR_DEVICE,
                        "the process that lists this machine's devices has died");
    *err = why;
    return why.status;
}

/* CUDA's cards before other GPUs, and these before CPUs. */
static int rank_of(const struct mmt_device_info *info)
{
    return !strcmp(info->caps.backend, "cuda") ? 0 : info->caps.kind == MMT_GPU ? 1 : 2;
}

static mmt_status add_card(struct mmt_cards *cards, const struct mmt_device_info *info,
                           mmt_error *err)
{
    for (int i = 0; i < cards->count; i++)
        if (!strcmp(cards->list[i].info.id, info->id))
            return MMT_OK;
    struct mmt_card *grown =
        reallocarray(cards->list, (size_t) cards->count + 1, sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a list of cards");
    cards->list = grown;
    grown[cards->count++] =
        (struct mmt_card){ .info = *info, .fd = -1, .ends = INFINITY };
    return MMT_OK;
}

/* What choosing cards needs. */
struct choice {
    struct mmt_cards *cards;
    const struct mmt_device_info *list;
    size_t count;
};

static mmt_status choose_all(const struct choice *choice, mmt_error *err)
{
    mmt_status status = MMT_OK;
    int least = 2;
    for (size_t i = 0; i < choice->count; i++)
        least = rank_of(&choice->list[i]) < least ? rank_of(&choice->list[i]) : least;
    for (size_t i = 0; i < choice->count && !status; i++)
        if (rank_of(&choice->list[i]) == least)
            status = add_card(choice->cards, &choice->list[i], err);
    return status;
}

static mmt_status choose_named(void *self, const char *name, mmt_error *err)
{
    const struct choice *choice = self;
    char number[16];
    for (size_t i = 0; i < choice->count; i++) {
        snprintf(number, sizeof number, "%d", choice->list[i].number);
        if (!strcmp(name, number) || !strcmp(name, choice->list[i].id))
            return add_card(choice->cards, &choice->list[i], err);
    }
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "there is no device '%s'; `mmtune devices` lists their numbers and "
                    "ids",
                    name);
}

static mmt_status choose_cards(struct mmt_cards *cards, mmt_error *err)
{
    const char *names = cards->options->device;
    struct choice choice = { .cards = cards };
    struct mmt_device_info *list = NULL;
    mmt_status status = list_devices(&list, &choice.count, err);
    choice.list = list;
    if (!status)
        status = strcmp(names, "all") ? mmt_option_each(names, &choice, choose_named, err)
                                      : choose_all(&choice, err);
    if (!status && !cards->count)
        status = mmt_fail(err, MMT_ERROR_NOT_FOUND,
                          "there is no device; `mmtune devices` tells what makes one");
    free(list);
    return status;
}

/* ---- their kinds and files --------------------------------------------------------- */

static void name_card(struct mmt_cards *cards, struct mmt_card *card)
{
    bool alone = card->info.caps.uuid[0];
    for (int i = 0; i < cards->count && alone; i++)
        alone = &cards->list[i] == card ||
                strcmp(cards->list[i].info.caps.uuid, card->info.caps.uuid) != 0;
    snprintf(card->key, sizeof card->key, "%s",
             alone ? card->info.caps.uuid : card->info.id);
    for (char *at = card->key; *at; at++)
        if (*at == ':' || *at == '/')
            *at = '-';
}

static mmt_status find_kind(struct mmt_cards *cards, struct mmt_card *card,
                            mmt_error *err)
{
    char why[512];
    int kind = 0;
    while (kind < cards->num_kinds &&
           mmt_caps_foreign(cards->kinds[kind].caps, &card->info.caps, why))
        kind++;
    card->kind = kind;
    if (kind == cards->num_kinds) {
        struct mmt_run run = { .options = *cards->options,
                               .device.caps = card->info.caps };
        const mmt_status status = mmt_tune_set_path(&run, err);
        cards->kinds[cards->num_kinds++] =
            (struct mmt_card_kind){ .caps = &card->info.caps, .path = run.files.path };
        if (status)
            return status;
    }
    cards->kinds[kind].count++;
    return MMT_OK;
}

static mmt_status check_kinds(const struct mmt_cards *cards, mmt_error *err)
{
    for (int i = 1; i < cards->num_kinds; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(cards->kinds[i].path, cards->kinds[j].path))
                return mmt_fail(err, MMT_ERROR_ARGUMENT,
                                "%s and %s are of two kinds, and '%s' is one profile; "
                                "tune them one after the other",
                                cards->kinds[j].caps->name, cards->kinds[i].caps->name,
                                cards->kinds[i].path);
    return MMT_OK;
}

/* "PROFILE.cards" has what each card learns, and below it who has which problem. */
static mmt_status make_folder(struct mmt_card_kind *kind, mmt_error *err)
{
    if (asprintf(&kind->folder, "%s.cards/dealt", kind->path) < 0) {
        kind->folder = NULL;
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a path");
    }
    kind->again = !access(kind->folder, F_OK);
    return mmt_file_make_folder(kind->folder, err);
}

static mmt_status find_kinds(struct mmt_cards *cards, mmt_error *err)
{
    mmt_status status = MMT_OK;
    cards->kinds = calloc((size_t) cards->count, sizeof *cards->kinds);
    if (!cards->kinds)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory for kinds of cards");
    for (int i = 0; i < cards->count && !status; i++) {
        name_card(cards, &cards->list[i]);
        status = find_kind(cards, &cards->list[i], err);
    }
    if (!status)
        status = check_kinds(cards, err);
    for (int i = 0; i < cards->num_kinds && !status; i++)
        status = make_folder(&cards->kinds[i], err);
    for (int i = 0; i < cards->count && !status; i++) {
        struct mmt_card *card = &cards->list[i];
        if (asprintf(&card->part, "%s.cards/%s.json", cards->kinds[card->kind].path,
                     card->key) < 0)
            status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a path");
    }
    return status;
}

/* ---- signals ----------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts, last_signal;
static sigset_t before; /* what was blocked */

static void on_signal(int number)
{
    interrupts = interrupts + 1;
    last_signal = number;
}

static void on_child(int number) {}

/* They are heard while this process waits for events, and at no other time. */
static void hear_signals(void)
{
    static const int heard[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal };
    sigset_t all;
    sigemptyset(&all);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) {
        sigaddset(&all, heard[i]);
        sigaction(heard[i], &action, NULL);
    }
    action.sa_handler = on_child;
    sigaddset(&all, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL);
    sigprocmask(SIG_BLOCK, &all, &before);
}

static void pass_signals(const struct mmt_cards *cards, int passed)
{
    for (; passed < interrupts; passed++)
        for (int i = 0; i < cards->count; i++)
            if (cards->list[i].pid)
                kill(cards->list[i].pid, last_signal);
}

/* ---- processes --------------------------------------------------------------------- */

/* Each card's tuner compiles on its own part of the processors. A CPU's kernels use all
 * of them. */
static void divide_processors(const struct mmt_cards *cards, int number)
{
    cpu_set_t all, own;
    if (cards->list[number].info.caps.kind == MMT_CPU ||
        sched_getaffinity(0, sizeof all, &all))
        return;
    const int count = CPU_COUNT(&all);
    const int from = number * count / cards->count % count,
              to = (number + 1) * count / cards->count;
    int at = 0;
    CPU_ZERO(&own);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all))
            continue;
        if (at == from || (at > from && at < to))
            CPU_SET(i, &own);
        at++;
    }
    sched_setaffinity(0, sizeof own, &own);
}

/* Of candidates each card has its part; of a budget of seconds each has all. A later
 * round is for what is left. */
static struct mmt_budget budget_of(const struct mmt_cards *cards,
                                   const struct mmt_card *card, double part)
{
    const struct mmt_card_kind *kind = &cards->kinds[card->kind];
    struct mmt_budget budget = cards->options->budget;
    budget.seconds *= part;
    budget.candidates = (int64_t) ceil(part * (double) budget.candidates / kind->count);
    return budget;
}

static int number_in_kind(const struct mmt_cards *cards, const struct mmt_card *card)
{
    int number = 0;
    for (const struct mmt_card *at = cards->list; at < card; at++)
        number += at->kind == card->kind;
    return number;
}

static void become_tuner(const struct mmt_cards *cards, struct mmt_card *card, int fd,
                         double part, pid_t parent)
{
    const struct mmt_card_kind *kind = &cards->kinds[card->kind];
    struct mmt_tune_options options = *cards->options;
    setpgid(0, 0); /* a terminal's Ctrl-C is the parent's, who passes it on */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (getppid() != parent || dup2(fd, STDOUT_FILENO) < 0)
        _exit(MMT_EXIT_FAILED);
    divide_processors(cards, (int) (card - cards->list));
    options.device = card->info.id;
    options.output = card->part;
    options.json = true;
    options.budget = budget_of(cards, card, part);
    options.cards = (struct mmt_tune_cards){ number_in_kind(cards, card), kind->count,
                                             kind->folder, card->key };
    exit(mmt_exit_status(cards->tune(&options, cards->verb)));
}

static mmt_status start_card(const struct mmt_cards *cards, struct mmt_card *card,
                             double part, mmt_error *err)
{
    const pid_t parent = getpid();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return mmt_fail(err, MMT_ERROR_IO, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    card->pid = fork();
    if (!card->pid)
        become_tuner(cards, card, ends[1], part, parent);
    close(ends[1]);
    card->fd = ends[0];
    if (card->pid > 0)
        return MMT_OK;
    card->pid = 0;
    close(ends[0]);
    return mmt_fail(err, MMT_ERROR_IO, "cannot start a process: %s", strerror(errno));
}

/* What it had not finished is there for the others of its kind. */
static void end_card(struct mmt_cards *cards, struct mmt_card *card)
{
    int status = 0;
    while (waitpid(card->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    close(card->fd);
    mmt_text_finish(&card->heard);
    card->pid = 0;
    card->fd = -1;
    free(card->problem);
    card->problem = NULL;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    card->lost = code != MMT_EXIT_DONE && code != MMT_EXIT_INTERRUPTED;
    if (!card->lost)
        return;
    const int left = mmt_deal_release(cards->kinds[card->kind].folder, card->key);
    mmt_cards_say(cards, card,
                  "its tuner has ended by %s %d; %d of its problems go to "
                  "other cards of its kind",
                  code < 0 ? "signal" : "status", code < 0 ? WTERMSIG(status) : code,
                  left);
}

static void hear_lines(struct mmt_cards *cards, struct mmt_card *card)
{
    char *line = card->heard.data, *end;
    while (line && (end = strchr(line, '\n'))) {
        *end = '\0';
        mmt_cards_hear(cards, card, line);
        line = end + 1;
    }
    struct mmt_text rest = { 0 };
    mmt_text_add(&rest, line ? line : "");
    mmt_text_finish(&card->heard);
    card->heard = rest;
}

static void hear_card(struct mmt_cards *cards, struct mmt_card *card)
{
    char chunk[1 << 16];
    const ssize_t got = read(card->fd, chunk, sizeof chunk);
    if (got > 0) {
        mmt_text_add_bytes(&card->heard, chunk, (size_t) got);
        hear_lines(cards, card);
    } else if (!got || errno != EINTR) {
        end_card(cards, card);
    }
}

static void hear_all(struct mmt_cards *cards, struct pollfd *fds)
{
    const struct timespec pause = { .tv_sec = 1 };
    int passed = interrupts;
    for (int i = 0; i < cards->count; i++)
        fds[i] = (struct pollfd){ .fd = cards->list[i].fd, .events = POLLIN };
    const int ready = ppoll(fds, (nfds_t) cards->count, &pause, &before);
    pass_signals(cards, passed);
    for (int i = 0; ready > 0 && i < cards->count; i++)
        if (fds[i].revents)
            hear_card(cards, &cards->list[i]);
    mmt_cards_progress(cards);
}

static bool is_any_at_work(const struct mmt_cards *cards)
{
    for (int i = 0; i < cards->count; i++)
        if (cards->list[i].pid)
            return true;
    return false;
}

/* ---- rounds ------------------------------------------------------------------------ */

/* How many of a kind's problems no card has, as those that had them were lost. */
static int count_left(const struct mmt_card_kind *kind)
{
    return kind->units - mmt_deal_count(kind->folder);
}

/* The part of its problems that a round is for: what is left, if the last one took any.
 */
static double part_of_round(struct mmt_card_kind *kind, bool first)
{
    const int left = first ? INT_MAX : count_left(kind), last = kind->left;
    kind->left = left;
    return first ? 1 : left > 0 && left < last ? (double) left / kind->units : 0;
}

/* Starts the cards that have work; false where none has. */
static bool begin_round(struct mmt_cards *cards, bool first)
{
    bool any = false;
    for (int i = 0; i < cards->num_kinds; i++)
        cards->kinds[i].part = part_of_round(&cards->kinds[i], first);
    for (int i = 0; i < cards->count && !interrupts; i++) {
        struct mmt_card *card = &cards->list[i];
        const double part = cards->kinds[card->kind].part;
        mmt_error err = { 0 };
        if (card->lost || part <= 0)
            continue;
        if (start_card(cards, card, part, &err))
            mmt_cards_say(cards, card, "%s", err.text);
        else
            any = true;
    }
    return any;
}

static bool stays(const void *self, const char *key)
{
    const struct mmt_cards *cards = self;
    for (int i = 0; i < cards->count; i++)
        if (!strcmp(cards->list[i].key, key))
            return !cards->options->fresh;
    return false;
}

static mmt_status run_rounds(struct mmt_cards *cards, mmt_error *err)
{
    struct pollfd *fds = calloc((size_t) cards->count, sizeof *fds);
    if (!fds)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to hear %d cards",
                        cards->count);
    for (int i = 0; i < cards->num_kinds; i++)
        mmt_deal_begin(cards->kinds[i].folder, stays, cards);
    for (bool first = true; begin_round(cards, first); first = false)
        while (is_any_at_work(cards))
            hear_all(cards, fds);
    free(fds);
    return MMT_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

/* One profile of what stood there and of what its cards learned. */
static mmt_status merge_kind(struct mmt_cards *cards, int kind, mmt_error *err)
{
    const struct mmt_card_kind *it = &cards->kinds[kind];
    char **paths = calloc((size_t) cards->count + 1, sizeof *paths);
    struct mmt_merge merge = {
        .paths = paths, .quiet = true, .fits = true, .out = it->path
    };
    if (!paths)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory to merge profiles");
    if (!access(it->path, F_OK) && !cards->options->fresh)
        paths[merge.count++] = it->path;
    merge.again = merge.count && it->again;
    for (int i = 0; i < cards->count; i++)
        if (cards->list[i].kind == kind && !access(cards->list[i].part, F_OK))
            paths[merge.count++] = cards->list[i].part;
    const mmt_status status = merge.count ? mmt_merge_files(&merge, err) : MMT_OK;
    if (!status && merge.count)
        mmt_cards_say(cards, NULL, "profile: %s", it->path);
    free(paths);
    return status;
}

/* Whether all that was asked for was done by some card. */
static bool is_whole(const struct mmt_cards *cards)
{
    bool whole = true;
    for (int i = 0; i < cards->num_kinds; i++)
        whole = whole && cards->kinds[i].units && count_left(&cards->kinds[i]) <= 0;
    return whole;
}

static int end_cards(struct mmt_cards *cards)
{
    const struct mmt_counts *c = &cards->counts;
    int code = is_whole(cards) ? MMT_EXIT_DONE : MMT_EXIT_FAILED;
    for (int i = 0; i < cards->num_kinds; i++) {
        mmt_error err = { 0 };
        if (merge_kind(cards, i, &err))
            code = mmt_failed(cards->verb, &err);
    }
    mmt_cards_say(
        cards, NULL,
        "%d tried, %d skipped, %d wrong, %d failed on %d cards, in %.0f seconds",
        c->tried, c->skipped, c->wrong, c->failed, cards->count,
        mmt_now() - cards->begun);
    return interrupts
               ? mmt_say_interrupted(cards->verb, "what was measured is saved beside the "
                                                  "profiles; the same command goes on")
               : code;
}

static void free_cards(struct mmt_cards *cards)
{
    for (int i = 0; i < cards->count; i++)
        free(cards->list[i].part);
    for (int i = 0; i < cards->num_kinds; i++) {
        free(cards->kinds[i].path);
        free(cards->kinds[i].folder);
    }
    free(cards->list);
    free(cards->kinds);
}

static int tune_on_one(const struct mmt_cards *cards)
{
    struct mmt_tune_options options = *cards->options;
    options.device = cards->list[0].info.id;
    return cards->tune(&options, cards->verb);
}

int mmt_tune_on_cards(const struct mmt_tune_options *options, const char *verb,
                      mmt_tuner *tune)
{
    struct mmt_cards cards = {
        .options = options, .verb = verb, .tune = tune, .begun = mmt_now()
    };
    mmt_error err = { 0 };
    int code = MMT_EXIT_DONE;
    mmt_status status = choose_cards(&cards, &err);
    if (!status && cards.count == 1) {
        code = tune_on_one(&cards);
    } else if (!status) {
        hear_signals();
        status = find_kinds(&cards, &err);
        if (!status)
            status = run_rounds(&cards, &err);
        if (!status)
            code = end_cards(&cards);
    }
    free_cards(&cards);
    return status ? mmt_failed_or_usage(verb, &err) : code;
}
