/* A device that executes nothing and notes what reaches it: launches with their memory,
 * order and queue, and what is made, written and waited for round them. One for each
 * program, of one thread. */
#ifndef MMT_TESTS_SUPPORT_NOTING_H
#define MMT_TESTS_SUPPORT_NOTING_H

#include "runtime/kernel_internal.h"
#include "runtime/plan.h"

enum { MOST = 64, MOST_BUFFERS = 8, MOST_INTS = 8 };

struct launch {
    const struct mmt_function *function;
    mmt_queue queue;
    unsigned order;
    uint64_t buffers[MOST_BUFFERS]; /* in the order of the kernel's parameters */
    int32_t ints[MOST_INTS];        /* m, n and k first */
    double scalars[2];
    int num_buffers, num_ints, num_scalars;
    unsigned batch; /* blocks along z */
};

extern struct noted {
    char trace[256]; /* c a buffer made, f freed, u written, r read, w waited, l a launch
                      */
    struct launch launches[MOST];
    int count;
    bool no_memory;          /* for another buffer */
    size_t made;             /* bytes of the last buffer */
    mmt_queue finished;      /* the last one that was waited for */
    void (*meanwhile)(void); /* once, while a launch is queued */
    struct mmt_tensor tensors[MOST];
    int num_tensors;
    struct mmt_pitched rows[4]; /* of matrices with gaps, as they are written */
    int num_rows;
    uint64_t needed[MOST]; /* bytes of each operand */
} noted;

extern mmt_device *noting_device;
extern mmt_error noting_error;

/* Opens and closes it; false where there is no null device. */
bool noting_open(void);
void noting_close(void);

void noted_forget(void);

/* split_naive's first launch has scalars, A, B and the workspace, its second one scalars,
 * C and the workspace. */
enum { SPLIT_A = 1, SPLIT_C = 1 };
#define SPLIT "split_naive BLOCK_M=8 BLOCK_N=32 SPLIT_K=8"

/* The last buffer of a launch. */
uint64_t noted_workspace(int number);

mmt_plan *noting_plan(mmt_problem problem, const char *configuration, bool own);
mmt_plan *noting_small_plan(bool own);

/* A, B and C of a few numbers each. */
extern float noting_numbers[3][256];
mmt_operand noting_operand(const void *at);
mmt_args noting_args(void);

#endif
