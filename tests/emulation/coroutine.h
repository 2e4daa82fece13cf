/* Threads that take turns by their own will, each on a stack of its own. Only the first
 * turn goes through swapcontext's relatives, which ask the kernel for the mask of signals
 * each time; after that a jump from stack to stack does. */
#ifndef MMT_TESTS_COROUTINE_H
#define MMT_TESTS_COROUTINE_H

#ifdef _FORTIFY_SOURCE
#error "_FORTIFY_SOURCE lets nobody jump to another stack"
#endif

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct coroutine {
    ucontext_t first;
    jmp_buf place;
    bool begun;
};

/* `run` must not return, but leave for the last time. */
static inline void coroutine_create(struct coroutine *coroutine, void *stack, size_t size,
                                    void (*run)(void))
{
    getcontext(&coroutine->first);
    coroutine->first.uc_stack.ss_sp = stack;
    coroutine->first.uc_stack.ss_size = size;
    makecontext(&coroutine->first, run, 0);
    coroutine->begun = false;
}

/* From the one who deals out the turns to a coroutine, until that leaves. */
static inline void coroutine_enter(struct coroutine *coroutine, jmp_buf dealer)
{
    if (_setjmp(dealer))
        return;
    if (coroutine->begun)
        _longjmp(coroutine->place, 1);
    coroutine->begun = true;
    setcontext(&coroutine->first);
}

static inline void coroutine_leave(struct coroutine *coroutine, jmp_buf dealer)
{
    if (!_setjmp(coroutine->place))
        _longjmp(dealer, 1);
}

#endif
