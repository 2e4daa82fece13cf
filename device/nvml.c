/* Asks NVML for a card's clock, temperature, energy and reasons of throttling; without
 * the library nothing is known. */
#include "device/nvml.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "device/library.h"

/* Many toolkits come without nvml.h, so the few functions are declared here. */
typedef struct nvml_card *nvml_card;
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvml_card *card);
int nvmlDeviceGetTemperature(nvml_card card, int sensor, unsigned *celsius);
int nvmlDeviceGetClockInfo(nvml_card card, int clock, unsigned *mhz);
int nvmlDeviceGetCurrentClocksEventReasons(nvml_card card, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_card card,
                                              unsigned long long *reasons);
int nvmlDeviceGetTotalEnergyConsumption(nvml_card card, unsigned long long *millijoules);
int nvmlDeviceGetPowerUsage(nvml_card card, unsigned *milliwatts);

enum { SENSOR_GPU = 0, CLOCK_SM = 1, NOT_SUPPORTED = 3 };

struct mmt_nvml {
#define FN(name)       __typeof__(name) *name;
#define OPTIONAL(name) __typeof__(name) *name;
#include "device/nvml.fn"
#undef FN
#undef OPTIONAL
    nvml_card card;
    struct mmt_energy added; /* of a card without a counter: up to the last question */
};

static const struct mmt_symbol symbols[] = {
#define FN(name)       { #name, offsetof(struct mmt_nvml, name), false },
#define OPTIONAL(name) { #name, offsetof(struct mmt_nvml, name), true },
#include "device/nvml.fn"
#undef FN
#undef OPTIONAL
};

/* Those of NVML's reasons that slow a kernel down; the gravest first. */
static const struct {
    unsigned long long bit;
    const char *why;
} slowdowns[] = {
    { 0x40, "thermal (hardware)" }, { 0x20, "thermal" },   { 0x80, "power brake" },
    { 0x08, "hardware slowdown" },  { 0x04, "power cap" },
};

struct mmt_nvml *mmt_nvml_open(const char *pci)
{
    char why[256];
    struct mmt_nvml *nvml = calloc(1, sizeof(*nvml));
    size_t count = sizeof(symbols) / sizeof(symbols[0]);
    if (!nvml || !mmt_library_open("libnvidia-ml.so.1", symbols, count, nvml, why))
        goto fail;
    if (nvml->nvmlInit_v2())
        goto fail;
    if (nvml->nvmlDeviceGetHandleByPciBusId_v2(pci, &nvml->card))
        goto fail_shutdown;
    return nvml;

fail_shutdown:
    nvml->nvmlShutdown();
fail:
    free(nvml);
    return NULL;
}

void mmt_nvml_close(struct mmt_nvml *nvml)
{
    if (!nvml)
        return;
    nvml->nvmlShutdown();
    free(nvml);
}

/* The same question has two names: drivers before 535 know the second one alone. */
static bool ask_reasons(const struct mmt_nvml *nvml, unsigned long long *reasons)
{
    if (nvml->nvmlDeviceGetCurrentClocksEventReasons)
        return !nvml->nvmlDeviceGetCurrentClocksEventReasons(nvml->card, reasons);
    return nvml->nvmlDeviceGetCurrentClocksThrottleReasons &&
           !nvml->nvmlDeviceGetCurrentClocksThrottleReasons(nvml->card, reasons);
}

static void explain(unsigned long long reasons, struct mmt_health *out)
{
    int count = sizeof(slowdowns) / sizeof(slowdowns[0]);
    for (int i = 0; i < count; i++) {
        if (!(reasons & slowdowns[i].bit))
            continue;
        out->throttled = count - i;
        strncpy(out->why, slowdowns[i].why, sizeof(out->why) - 1);
        return;
    }
}

bool mmt_nvml_health(const struct mmt_nvml *nvml, struct mmt_health *out)
{
    unsigned celsius = 0, mhz = 0;
    unsigned long long reasons = 0;
    bool warm = nvml->nvmlDeviceGetTemperature &&
                !nvml->nvmlDeviceGetTemperature(nvml->card, SENSOR_GPU, &celsius);
    bool runs = nvml->nvmlDeviceGetClockInfo &&
                !nvml->nvmlDeviceGetClockInfo(nvml->card, CLOCK_SM, &mhz);
    bool told = ask_reasons(nvml, &reasons);
    out->celsius = warm ? celsius : 0;
    out->clock_mhz = runs ? mhz : 0;
    explain(told ? reasons : 0, out);
    return warm || runs || told;
}

/* Power lasts from one question to the next: right for who asks often. */
static bool add_power(struct mmt_nvml *nvml, struct mmt_energy *out)
{
    unsigned milliwatts = 0;
    if (!nvml->nvmlDeviceGetPowerUsage ||
        nvml->nvmlDeviceGetPowerUsage(nvml->card, &milliwatts))
        return false;
    out->at = mmt_now();
    out->joules = nvml->added.joules + 1e-3 * milliwatts * (out->at - nvml->added.at);
    nvml->added = *out;
    return true;
}

/* Cards before Volta have no counter. */
bool mmt_nvml_energy(struct mmt_nvml *nvml, struct mmt_energy *out)
{
    unsigned long long millijoules = 0;
    const int result =
        nvml->nvmlDeviceGetTotalEnergyConsumption
            ? nvml->nvmlDeviceGetTotalEnergyConsumption(nvml->card, &millijoules)
            : NOT_SUPPORTED;
    if (result == NOT_SUPPORTED)
        return add_power(nvml, out);
    *out = (struct mmt_energy){ 1e-3 * (double) millijoules, mmt_now() };
    return !result;
}
