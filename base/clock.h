#ifndef MMT_BASE_CLOCK_H
#define MMT_BASE_CLOCK_H

/* Seconds of a clock that only runs forward, since some time in the past. Any thread. */
double mmt_now(void);

#endif
