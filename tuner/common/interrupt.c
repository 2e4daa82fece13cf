#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/common/options.h"

volatile int mmt_interrupted;

static const int signals[] = { SIGINT, SIGTERM };
enum { NUM_SIGNALS = sizeof signals / sizeof *signals };

static void hear(void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    for (int i = 0; i < NUM_SIGNALS; i++)
        sigaction(signals[i], &action, NULL);
}

/* ---- verbs that end at once ------------------------------------------------------ */

static char last_words[200];

static void on_last_signal(int number)
{
    if (write(2, last_words, strlen(last_words)) < 0)
        _exit(MMT_EXIT_INTERRUPTED);
    _exit(MMT_EXIT_INTERRUPTED);
}

void mmt_answer_interrupts(const char *verb, const char *saved)
{
    struct sigaction now;
    snprintf(last_words, sizeof last_words, "mmtune %s: interrupted; %s\n", verb, saved);
    /* What runs in the background, or under nohup, is not interrupted. */
    if (!sigaction(SIGINT, NULL, &now) && now.sa_handler == SIG_IGN)
        return;
    hear(on_last_signal, 0);
}

/* ---- verbs that say what they have ------------------------------------------------ */

static void on_signal(int number)
{
    mmt_interrupted = number;
}

void mmt_hear_interrupts(void)
{
    hear(on_signal, SA_RESTART | SA_RESETHAND);
}

int mmt_say_interrupted(const char *verb, const char *saved)
{
    fprintf(stderr, "mmtune %s: interrupted; %s\n", verb, saved);
    return MMT_EXIT_INTERRUPTED;
}
