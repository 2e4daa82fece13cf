/* Answers Ctrl-C and other signals: a flag that loops ask, and what a verb still says at
 * its end. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/common/options.h"

enum { GRACE = 1 }; /* seconds from the first signal that a verb has for what it says */

volatile int mmt_interrupted;
volatile pid_t mmt_interrupted_child;

static const int signals[] = { SIGINT, SIGTERM, SIGALRM };
enum { NUM_SIGNALS = sizeof signals / sizeof *signals };

/* A handler may be interrupted by any of them: it may wait for a reader of a pipe. */
static void hear(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler,
                                .sa_flags = SA_RESTART | SA_NODEFER };
    for (int i = 0; i < NUM_SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
}

/* ---- the end ----------------------------------------------------------------------- */

static char last_words[200];
static const char *volatile last_output = "";

static void end_unheard(int number)
{
    _exit(MMT_EXIT_INTERRUPTED);
}

static void end_now(int number)
{
    hear(end_unheard);
    alarm(GRACE);
    if (mmt_interrupted_child > 0)
        kill(mmt_interrupted_child, SIGKILL);
    const char *output = last_output;
    if (write(1, output, strlen(output)) < 0 ||
        write(2, last_words, strlen(last_words)) < 0)
        _exit(MMT_EXIT_INTERRUPTED);
    _exit(MMT_EXIT_INTERRUPTED);
}

static void set_last_words(const char *verb, const char *saved)
{
    snprintf(last_words, sizeof last_words, "mmtune %s: interrupted; %s\n", verb, saved);
}

void mmt_answer_interrupts(const char *verb, const char *saved)
{
    struct sigaction before;
    set_last_words(verb, saved);
    const bool ignored =
        !sigaction(SIGINT, NULL, &before) && before.sa_handler == SIG_IGN;
    hear(end_now);
    if (ignored) /* what a script runs in the background has no part in its Ctrl-C */
        sigaction(SIGINT, &before, NULL);
}

/* ---- verbs that say what they have ------------------------------------------------ */

static void on_signal(int number)
{
    mmt_interrupted = number;
    hear(end_now);
    alarm(GRACE);
}

void mmt_hear_interrupts(const char *verb, const char *saved)
{
    set_last_words(verb, saved);
    hear(on_signal);
}

void mmt_interrupt_prints(const char *output)
{
    last_output = output;
}

int mmt_say_interrupted(const char *verb, const char *saved)
{
    last_words[0] = '\0';
    last_output = "";
    fflush(stdout); /* what is closed behind this may take too long */
    fprintf(stderr, "mmtune %s: interrupted; %s\n", verb, saved);
    return MMT_EXIT_INTERRUPTED;
}
