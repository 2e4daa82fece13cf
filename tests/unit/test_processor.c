/* What of the processors a process gets: alone, beside others on the same one, and
 * stopped. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tuner/common/processor.h"

/* A process that computes for ever, on the first processor that this one may use. */
static pid_t start_busy(void)
{
    cpu_set_t set;
    const pid_t pid = fork();
    if (pid)
        return pid;
    sched_getaffinity(0, sizeof set, &set);
    int first = 0;
    while (!CPU_ISSET(first, &set))
        first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    sched_setaffinity(0, sizeof set, &set);
    for (volatile int i = 0;; i = !i)
        ;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Until it ran for that long since then. */
static void wait_for(pid_t pid, const struct mmt_processor_time *since, double seconds)
{
    while (mmt_processor_time(pid).ran - since->ran < seconds)
        usleep(1000);
}

static void test_share(void)
{
    enum { OTHERS = 4 };
    pid_t others[OTHERS];
    const pid_t pid = start_busy();
    struct mmt_processor_time since = mmt_processor_time(pid);
    wait_for(pid, &since, 0.01);
    for (int i = 0; i < OTHERS; i++)
        others[i] = start_busy();
    for (int i = 0; i < OTHERS; i++)
        wait_for(others[i], &(struct mmt_processor_time){ 0 }, 0.01);
    since = mmt_processor_time(pid);
    wait_for(pid, &since, 0.2);
    CHECK(mmt_processor_share(pid, &since) < 0.6);
    CHECK(mmt_processor_load() > OTHERS / 2.0);
    for (int i = 0; i < OTHERS; i++)
        end(others[i]);

    kill(pid, SIGSTOP);
    int state;
    CHECK(waitpid(pid, &state, WUNTRACED) == pid && WIFSTOPPED(state));
    since = mmt_processor_time(pid);
    CHECK(mmt_processor_share(pid, &since) == 1);
    end(pid);
}

int main(void)
{
    struct mmt_processor_time own = mmt_processor_time(0);
    CHECK(mmt_processor_count() >= 1);
    for (int i = 0; i < 10000 && own.ran <= 0; i++) /* it has just begun */
        own = mmt_processor_time(0);
    if (own.ran <= 0)
        SKIP("the kernel does not tell what processes wait for processors");
    test_share();
    CHECK(mmt_processor_time(0).ran > own.ran);
    CHECK(mmt_processor_share(0, &(struct mmt_processor_time){ 0 }) > 0);
    return test_end("processor");
}
