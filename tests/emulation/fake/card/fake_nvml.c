/* NVML as its documentation describes it, for the cards of card.h. What is defined when
 * it is built leaves out functions: OLD what drivers before 535 and cards before Volta
 * lack, LATE what is deprecated; POOR has but the first version of finding a card.
 *
 * MMT_FAKE_WATTS="200 400" is what cards draw: while our kernels run, and a library's. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#include "tests/emulation/fake/card/card.h"

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND = 6 };
enum { NOT_LOADED = 9 };
enum { LOST = 15, MOST_HANDLES = 16 };

struct handle {
    char pci[32];
};

static int starts, num_handles;
static struct handle handles[MOST_HANDLES];

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT(int) nvmlInit_v2(void)
{
    if (card_is_down())
        return NOT_LOADED;
    starts++;
    return SUCCESS;
}

EXPORT(int) nvmlShutdown(void)
{
    return starts-- > 0 ? SUCCESS : UNINITIALIZED;
}

#ifdef POOR
#define nvmlDeviceGetHandleByPciBusId_v2 nvmlDeviceGetHandleByPciBusId
#endif
EXPORT(int) nvmlDeviceGetHandleByPciBusId_v2(const char *pci, struct handle **out)
{
    struct card card;
    if (starts <= 0)
        return UNINITIALIZED;
    if (!card_of(pci, &card) || !card.known || num_handles == MOST_HANDLES)
        return NOT_FOUND;
    *out = &handles[num_handles++];
    memcpy((*out)->pci, card.pci, sizeof card.pci);
    return SUCCESS;
}

/* The card of a handle, as it is now. */
static int ask(const struct handle *handle, struct card *out)
{
    if (starts <= 0)
        return UNINITIALIZED;
    return card_of(handle->pci, out) ? SUCCESS : LOST;
}

/* Answers with a figure, or with the error that stands in its place. */
static int answer(long long figure, long long *out)
{
    if (figure < 0)
        return (int) -figure;
    *out = figure;
    return SUCCESS;
}

#ifndef LATE
EXPORT(int)
nvmlDeviceGetTemperature(const struct handle *handle, int sensor, unsigned *celsius)
{
    struct card card;
    long long figure = 0;
    int result = sensor ? INVALID_ARGUMENT : ask(handle, &card);
    if (!result && !(result = answer(card.celsius, &figure)))
        *celsius = (unsigned) figure;
    return result;
}
#endif

/* Clocks of graphics, multiprocessors, memory and video. */
EXPORT(int)
nvmlDeviceGetClockInfo(const struct handle *handle, int clock, unsigned *mhz)
{
    static const long long others[] = { 11, 0, 2619, 22 };
    struct card card;
    long long figure = 0;
    int result = clock < 0 || clock > 3 ? INVALID_ARGUMENT : ask(handle, &card);
    if (!result && !(result = answer(clock == 1 ? card.mhz : others[clock], &figure)))
        *mhz = (unsigned) figure;
    return result;
}

static int tell_reasons(const struct handle *handle, unsigned long long *reasons)
{
    struct card card;
    long long figure = 0;
    int result = ask(handle, &card);
    if (!result && !(result = answer(card.reasons, &figure)))
        *reasons = (unsigned long long) figure;
    return result;
}

#ifndef OLD
EXPORT(int)
nvmlDeviceGetCurrentClocksEventReasons(const struct handle *handle,
                                       unsigned long long *reasons)
{
    return tell_reasons(handle, reasons);
}
#endif

#ifndef LATE
EXPORT(int)
nvmlDeviceGetCurrentClocksThrottleReasons(const struct handle *handle,
                                          unsigned long long *reasons)
{
    return tell_reasons(handle, reasons);
}
#endif

static int draw(const struct handle *handle, double *watts)
{
    const char *told = getenv("MMT_FAKE_WATTS");
    const bool *library_works = dlsym(RTLD_DEFAULT, "fake_library_works");
    double ours, theirs;
    struct card card;
    if (!told || sscanf(told, "%lf %lf", &ours, &theirs) != 2)
        return NOT_SUPPORTED;
    *watts = library_works && *library_works ? theirs : ours;
    return ask(handle, &card);
}

/* From 5000 joules on; what is drawn now was drawn since the last question. */
EXPORT(int)
nvmlDeviceGetTotalEnergyConsumption(const struct handle *handle,
                                    unsigned long long *millijoules)
{
#ifdef OLD
    return NOT_SUPPORTED;
#else
    static double joules = 5000, asked;
    double watts;
    const int result = draw(handle, &watts);
    if (result)
        return result;
    const double now = mmt_now();
    joules += asked > 0 ? watts * (now - asked) : 0;
    asked = now;
    *millijoules = (unsigned long long) (1e3 * joules);
    return SUCCESS;
#endif
}

EXPORT(int) nvmlDeviceGetPowerUsage(const struct handle *handle, unsigned *milliwatts)
{
    double watts = 0;
    const int result = draw(handle, &watts);
    *milliwatts = (unsigned) (1e3 * watts);
    return result;
}
