/* What a text means to a device that compiles nothing: its entry is an operation on what
 * its parameters are named for ("m", "alpha", "lda"), as the macros in its head say it.
 * The host computes that with the oracle of `mmtune verify`: what such a device finds
 * right or wrong tells of the tuner, and nothing of kernels.
 *
 * A launch that leaves parts of a product in a workspace writes C at once, so that the
 * launches before and after it have nothing to do. Where it has no C, the next one has.
 *
 * What becomes of a text, a comment in it says, the first that holds:
 *
 *     // stand-in: refuse planted: no such thing     its compiler says so
 *     // stand-in: TILE=8 die                        its compiler crashes, if TILE is 8
 *     // stand-in: TILE<8 hang                       a launch never ends
 *     // stand-in: crash                             a launch ends the process
 *     // stand-in: wrong                             C is
 *     // stand-in: wrong k BLOCK_K                   C is where k is above BLOCK_K,
 *     // stand-in: wrong alpha -1.4 -1.2             or alpha between these
 *
 * Times are those of the kernel's name in the first line, and of the problem. */
#ifndef MMT_TESTS_OPENCL_KERNEL_H
#define MMT_TESTS_OPENCL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

enum { MOST_PARAMETERS = 32 };

struct fate {
    char word[16];   /* "refuse"; "": nothing befalls it */
    char words[200]; /* the rest of the line */
};

struct fate fate_of(const char *text);

struct memory {
    char *bytes;
    size_t size;
    bool is_ours;
};

struct argument {
    size_t size;            /* 0: not set */
    struct memory *memory;  /* where the size is a pointer's */
    unsigned char bytes[8]; /* as they were given */
};

struct meaning {
    char *text;
    char entry[32];
    struct fate fate;
    char names[MOST_PARAMETERS][24]; /* of the parameters */
    int count;
};

/* False where the text has no such entry, or its parameters cannot be told. */
bool meaning_read(const char *text, const char *entry, struct meaning *out);

/* Computes it, and adds what that took to *seconds. False where an argument is not set,
 * or an operand reaches beyond its memory. */
bool meaning_launch(const struct meaning *meaning, const struct argument *arguments,
                    size_t groups_z, double *seconds);

#endif
