/* A device that runs CUDA sources on the host: the machine's C++ compiler builds them,
 * and a block's threads take turns. It is slow and knows nothing of time, but it shows
 * whether a kernel is right where there is no card that could run it.
 *
 * A text that says a word in PTX itself cannot be built; those words have to stand in
 * templates/kernels/ptx.h or hopper.h, for which those of tests/emulation/cuda are put.
 */
#ifndef MMT_TESTS_EMULATE_H
#define MMT_TESTS_EMULATE_H

#include "base/error.h"

/* A card of that compute capability, 10 * major + minor. Closed as any device. */
mmt_device *emulate_open(int sm, mmt_error *err);

/* Gives it so many multiprocessors; it has three. */
void emulate_widen(mmt_device *device, unsigned sms);

/* From now on sources are changed before they are built: `what` becomes `into` wherever
 * it stands. NULL ends that. */
void emulate_plant(const char *what, const char *into);

/* How often that was done. */
int emulate_planted(void);

#endif
