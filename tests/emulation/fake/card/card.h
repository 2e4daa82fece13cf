/* Cards that are not there. The file that MMT_FAKE_CARDS names is read at every question,
 * so that whoever writes it changes how they fare. A line a card, in CUDA's order:
 *
 *     0000:65:00.0 50 1980 0x4     degrees Celsius, MHz, NVML's reasons as bits
 *     0000:17:00.0 -15 -15 -15     what is negative is refused with that error
 *     0000:b3:00.0                 CUDA knows it, NVML does not
 *
 * A line "down" says that NVML does not start. */
#ifndef MMT_TESTS_CARD_H
#define MMT_TESTS_CARD_H

#include <stdbool.h>

struct card {
    char pci[32];
    bool known; /* to NVML */
    int celsius, mhz;
    long long reasons;
};

int card_count(void);
bool card_at(int ordinal, struct card *out);
bool card_of(const char *pci, struct card *out);
bool card_is_down(void);

#define EXPORT(type) __attribute__((visibility("default"))) type

#endif
