/* CUDA sources built by the host's compiler. */
#ifndef MMT_TESTS_EMULATE_TEXTS_H
#define MMT_TESTS_EMULATE_TEXTS_H

#include "base/error.h"
#include "tests/emulation/cuda/block.h"

struct emulate_kernel {
    emulate_entry *entry;
    void *(*shared)(void); /* the block's, of the thread that asks: it launches */
};

/* Builds a text's kernel `entry`, or finds it again. It calls the functions of block.c,
 * which it must find among the symbols that all libraries see. */
mmt_status emulate_build(const char *source, const char *entry, int sm,
                         struct emulate_kernel *out, mmt_error *err);

#endif
