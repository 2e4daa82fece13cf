/* NVML, NVIDIA's management library, opened at run time: how a card fares. */
#ifndef MMT_DEVICE_NVML_H
#define MMT_DEVICE_NVML_H

#include "device/device.h"

struct mmt_nvml;

/* Finds the card with that PCI address ("0000:65:00.0"). NULL where NVML is not there or
 * does not know the card. */
struct mmt_nvml *mmt_nvml_open(const char *pci);
void mmt_nvml_close(struct mmt_nvml *nvml);

/* False where the card tells none of temperature, clock and what slows it down. */
bool mmt_nvml_health(const struct mmt_nvml *nvml, struct mmt_health *out);

/* False where the card tells neither energy nor power. */
bool mmt_nvml_energy(struct mmt_nvml *nvml, struct mmt_energy *out);

#endif
