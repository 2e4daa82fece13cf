/* Whether kernels for programs are being compiled beside them: for as long, the folder of
 * counts is locked. */
#ifndef MMT_RECORDING_BUILDING_H
#define MMT_RECORDING_BUILDING_H

#include <stdbool.h>

/* Locks the folder, with others who build. The lock is there until the descriptor is
 * closed in this process and in its children; -1 where it cannot be locked. */
int mmt_building_begin(void);

/* Whether anybody builds. */
bool mmt_building_goes_on(void);

#endif
