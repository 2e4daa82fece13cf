/* mmt_now() of the program that includes this, in one file: a clock that stands still
 * until the test moves it. */
#ifndef MMT_TESTS_PLANTED_CLOCK_H
#define MMT_TESTS_PLANTED_CLOCK_H

#include <time.h>

#include "base/clock.h"

static double planted_now = 1000; /* negative: the machine's clock is asked */

double mmt_now(void)
{
    struct timespec now;
    if (planted_now >= 0)
        return planted_now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

#endif
