/* The threads of an emulated block. */
#ifndef MMT_TESTS_EMULATE_BLOCK_H
#define MMT_TESTS_EMULATE_BLOCK_H

#include <stddef.h>

#include "tests/emulation/cuda/meet.h"

typedef void emulate_entry(void **args);

struct emulate_launch {
    emulate_entry *entry;
    void **args;
    void *shared; /* of a block; there is but one at a time */
    size_t shared_bytes;
    unsigned grid[3], block[3];
};

/* Runs all blocks, one after the other. From one launch to the next it changes in which
 * order threads take turns; each cp.async copies at once or as late as it may, as is
 * drawn. NULL, or one sentence: what went wrong. */
const char *emulate_run(const struct emulate_launch *launch);

#endif
