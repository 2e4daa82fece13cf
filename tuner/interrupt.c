#include <signal.h>

#include "tuner/tuner.h"

volatile int mmt_interrupted;

static void on_signal(int number)
{
    mmt_interrupted = number;
}

void mmt_hear_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART | SA_RESETHAND };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
