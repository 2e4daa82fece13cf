/* Threads that take turns by their own will, each on a stack of its own. Only the first
 * turn goes through swapcontext's relatives, which ask the kernel for the mask of signals
 * each time; after that a jump from stack to stack does. */
#ifndef MMT_TESTS_FIBER_H
#define MMT_TESTS_FIBER_H

#ifdef _FORTIFY_SOURCE
#error "_FORTIFY_SOURCE lets nobody jump to another stack"
#endif

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct fiber {
    ucontext_t first;
    jmp_buf place;
    bool begun;
};

/* `run` must not return, but leave for the last time. */
static inline void fiber_create(struct fiber *fiber, void *stack, size_t size,
                                void (*run)(void))
{
    getcontext(&fiber->first);
    fiber->first.uc_stack.ss_sp = stack;
    fiber->first.uc_stack.ss_size = size;
    makecontext(&fiber->first, run, 0);
    fiber->begun = false;
}

/* From the one who deals out the turns to a fiber, until that leaves. */
static inline void fiber_enter(struct fiber *fiber, jmp_buf dealer)
{
    if (_setjmp(dealer))
        return;
    if (fiber->begun)
        _longjmp(fiber->place, 1);
    fiber->begun = true;
    setcontext(&fiber->first);
}

static inline void fiber_leave(struct fiber *fiber, jmp_buf dealer)
{
    if (!_setjmp(fiber->place))
        _longjmp(dealer, 1);
}

#endif
