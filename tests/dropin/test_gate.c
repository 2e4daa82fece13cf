/* Who may queue launches with a workspace: ours alone, or calls of the library. */
#include "dropin/cublas/gate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

enum { WORKSPACE = 7 << 21, ROUNDS = 20000 };

static atomic_int ours; /* inside, by what they say themselves */
static atomic_long met;

static void test_alone(void)
{
    CHECK(mmt_gate_enter_alone(WORKSPACE));
    CHECK(!mmt_gate_enter_alone(WORKSPACE));
    CHECK(mmt_gate_enter_alone(0) && mmt_gate_enter_alone(0)); /* is no workspace */
    mmt_gate_enter(0);
    mmt_gate_leave(0);
    mmt_gate_leave_alone(WORKSPACE);
    mmt_gate_enter(WORKSPACE);
    mmt_gate_enter(WORKSPACE);
    mmt_gate_leave(WORKSPACE);
    CHECK(!mmt_gate_enter_alone(WORKSPACE));
    mmt_gate_leave(WORKSPACE);
    CHECK(mmt_gate_enter_alone(WORKSPACE));
    mmt_gate_leave_alone(WORKSPACE);
}

/* Workspaces as programs allocate them have gates of their own, but for a few. */
static void test_others(void)
{
    int free = 0;
    CHECK(mmt_gate_enter_alone(WORKSPACE));
    for (uint64_t i = 8; i < 72; i++)
        if (mmt_gate_enter_alone(i << 21)) {
            free++;
            mmt_gate_leave_alone(i << 21);
        }
    CHECK(free > 60);
    mmt_gate_leave_alone(WORKSPACE);
}

static void *compute(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        if (mmt_gate_enter_alone(WORKSPACE)) {
            met += atomic_fetch_add(&ours, 1);
            atomic_fetch_sub(&ours, 1);
            mmt_gate_leave_alone(WORKSPACE);
        }
    return NULL;
}

static void *pass(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        mmt_gate_enter(WORKSPACE);
        met += atomic_load(&ours);
        mmt_gate_leave(WORKSPACE);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, i % 2 ? compute : pass, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&met) == 0);
    CHECK(mmt_gate_enter_alone(WORKSPACE)); /* nobody is left inside */
    mmt_gate_leave_alone(WORKSPACE);
}

/* A child has none of the threads that were inside: it waits for nobody. */
static void test_fork(void)
{
    int status = 0;
    mmt_gate_watch_fork();
    CHECK(mmt_gate_enter_alone(WORKSPACE));
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        mmt_gate_enter(WORKSPACE);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && !status);
    CHECK(!mmt_gate_enter_alone(WORKSPACE));
    mmt_gate_leave_alone(WORKSPACE);
}

int main(void)
{
    test_alone();
    test_others();
    test_threads();
    test_fork();
    return test_end("gate");
}
