/* The monotonic clock in seconds; it says nothing of the time of day. */
#include "base/clock.h"

#include <time.h>

double mmt_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}
