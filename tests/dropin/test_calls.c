/* The table of calls: kinds are found again, counts of all threads are written down once.
 * The device is one that need not be there. */
#include "dropin/table.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/folder.h"
#include "tests/support/planted_clock.h"
#include "tests/support/test.h"

enum {
    KINDS = 300,
    THREADS = 4,
    ROUNDS = 20,
    CHILDREN = 2,
    ALL = MMT_MOST_COUNTED + 4000
};

static struct mmt_calls *calls;

static struct mmt_call make_call(int64_t m)
{
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, m, 8, 8);
    struct mmt_call call;
    memset(&call, 0, sizeof call);
    call.client = MMT_CLIENT_CUBLAS;
    mmt_problem_normalise(&problem, &call.problem, NULL);
    return call;
}

static void *count(void *unused)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i <= KINDS; i++) {
            const struct mmt_call call = make_call(i);
            mmt_slot_count(mmt_calls_slot(calls, &call), MMT_FATE_RECORDED);
        }
    return NULL;
}

static void test_counts(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, count, NULL));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void test_slot(void)
{
    const struct mmt_call call = make_call(7);
    struct mmt_call other = call;
    struct mmt_slot *slot = mmt_calls_slot(calls, &call);
    enum mmt_fate fate;

    CHECK(slot == mmt_calls_slot(calls, &call));
    other.workspace = 1;
    CHECK(slot == mmt_calls_slot(calls, &other));
    other.adds = true;
    CHECK(slot != mmt_calls_slot(calls, &other));
    other = call;
    other.client = MMT_CLIENT_CUBLASLT;
    CHECK(slot != mmt_calls_slot(calls, &other));
    CHECK(mmt_call_equal(mmt_slot_call(slot), &call));
    CHECK(!mmt_slot_plan(slot, &fate) && fate == MMT_FATE_RECORDED);
    CHECK_EQ_STR(mmt_slot_label(slot), "");
    CHECK(!mmt_slot_take_timing(slot)); /* it loads the library's kernel */
    for (int i = 1; i <= MMT_TIMED_CALLS; i++)
        CHECK(mmt_slot_take_timing(slot) == i);
    for (int i = 1; i <= MMT_CHECKED_CALLS; i++)
        CHECK(mmt_slot_take_check(slot) == i);
    CHECK(!mmt_slot_take_timing(slot) && !mmt_slot_take_check(slot));
    mmt_slot_time(slot, 2e-6);
    mmt_slot_time(slot, 4e-6);
}

static int find_all(int from)
{
    int found = 0;
    for (int i = from; i <= ALL; i++) {
        const struct mmt_call call = make_call(i);
        found += mmt_calls_slot(calls, &call) != NULL;
    }
    return found;
}

/* The most and all entries that look-ups of all kinds pass, found or not, until they end:
 * each goes from an entry of its own to the end of the run that it is in. */
static void count_probes(int *most, int64_t *sum)
{
    int run = 0;
    *most = 0, *sum = 0;
    for (int i = 0; i < 2 * MMT_INDEX_SIZE; i++) {
        run = atomic_load(&calls->index[i % MMT_INDEX_SIZE]) ? run + 1 : 0;
        *most = run > *most ? run : *most;
        *sum += run;
    }
}

/* One that is full answers NULL, keeps what it has, and says so within a few probes. */
static void test_full(void)
{
    const int wasted = mmt_counts_number(calls->counts);
    const int found = find_all(KINDS + 1);
    int most;
    int64_t sum;
    CHECK(found == MMT_MOST_COUNTED - wasted);
    CHECK(find_all(KINDS + 1) == found);
    CHECK(mmt_counts_number(calls->counts) == MMT_MOST_COUNTED);
    const struct mmt_call first = make_call(1);
    CHECK(mmt_calls_slot(calls, &first) != NULL);
    count_probes(&most, &sum);
    CHECK(most < MMT_MOST_PROBES && sum < 2 * MMT_INDEX_SIZE);
    CHECK(atomic_load(&calls->unseen) == 2 * (ALL - KINDS - found));
}

/* A child has no keeper: there every call passes, and is counted, however it ends. */
static void test_fork(void)
{
    const struct mmt_call call = make_call(1);
    int status = 0;
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        enum mmt_fate fate;
        if (!child) {
            struct mmt_slot *slot = mmt_calls_slot(calls, &call);
            if (slot)
                mmt_slot_count(slot, MMT_FATE_RECORDED);
            if (i)
                _exit(!slot || mmt_slot_plan(slot, &fate));
            exit(!slot);
        }
        CHECK(waitpid(child, &status, 0) == child && !status);
    }
}

/* By another process, once the one that counted has ended. */
static void test_written(void)
{
    struct mmt_recording recording;
    struct mmt_text path = { 0 };
    int64_t all = 0, timed = 0;
    FILE *list;
    char file[256] = "";

    mmt_counts_collect(NULL, NULL);
    mmt_text_addf(&path, "ls %s/mmtune/*.jsonl", folder);
    list = popen(mmt_text_string(&path), "r");
    CHECK(list && fscanf(list, "%255s", file) == 1);
    pclose(list);
    if (!CHECK_OK(mmt_recording_read(file, true, &recording, &err), err))
        return;
    CHECK_EQ_STR(mmt_text_string(&recording.warnings), "");
    for (size_t i = 0; i < recording.count; i++) {
        const struct mmt_recorded *it = &recording.list[i];
        all += it->fates[MMT_FATE_RECORDED];
        timed += it->timed;
        CHECK(it->fates[MMT_FATE_RECORDED] ==
              ROUNDS * THREADS + (it->call.problem.m == 1 ? CHILDREN : 0));
        CHECK_EQ_STR(it->run, "this");
        CHECK_EQ_STR(it->library, "cuBLAS 1.2.3");
        CHECK(it->call.workspace == (it->timed ? 1 : 0)); /* as test_slot has it */
        CHECK(it->call.most_workspace == (it->timed ? MMT_CUBLAS_OWN_WORKSPACE : 0));
        CHECK(!it->timed || (it->seconds > 5.9e-6 && it->seconds < 6.1e-6));
    }
    CHECK(recording.count == KINDS && timed == 2);
    CHECK(all == (int64_t) KINDS * ROUNDS * THREADS + CHILDREN);
    mmt_recording_free(&recording);
    mmt_text_finish(&path);
}

/* What is no time to wait for is told of, and nothing is waited for. */
static void test_waits(void)
{
    static const struct {
        const char *given;
        double seconds;
    } rows[] = { { "0.25", 0.25 }, { "86400", 86400 }, { "", 0 },    { "0", 0 },
                 { "-1", 0 },      { "nan", 0 },       { "inf", 0 }, { "86401", 0 },
                 { "5x", 0 },      { "x", 0 },         { "0,25", 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mmt_calls_options options;
        setenv("MMTUNE_RUN_WAIT", rows[i].given, 1);
        mmt_calls_read_options(&options);
        CHECK(options.wait == rows[i].seconds && options.waits == (*rows[i].given != 0));
    }
    unsetenv("MMTUNE_RUN_WAIT");
}

static void *warm_up(void *table)
{
    atomic_store(&((struct mmt_calls *) table)->warm, true);
    return NULL;
}

/* One waits for what is compiled, while calls are served. The clock stands still. The
 * table is one that no keeper reads. */
static void test_warm(void)
{
    static struct mmt_calls table = { .options.record = true };
    pthread_t thread;
    planted_now = 1000;
    mmt_calls_wait_warm(&table);
    CHECK(!atomic_load(&table.waited));
    table.options.record = false;
    CHECK(!pthread_create(&thread, NULL, warm_up, &table));
    mmt_calls_wait_warm(&table);
    CHECK(atomic_load(&table.warm) && atomic_load(&table.waited));
    pthread_join(thread, NULL);
    atomic_store(&table.warm, false);
    mmt_calls_wait_warm(&table);
    planted_now = -1;
}

static int serve(void)
{
    struct mmt_calls_options options;

    planted_now = -1;
    setenv("MMTUNE_RUN_RECORD", "1", 1);
    setenv("MMTUNE_RUN_WORKSPACE", "3M", 1);
    setenv("MMTUNE_RUN_ID", "this", 1);
    mmt_calls_read_options(&options);
    CHECK(options.record && options.workspace == 3 << 20 && !options.check &&
          options.f32_mode == MMT_F32_STRICT);
    calls = mmt_calls_start(
        &(struct mmt_calls_of){ "null:sm_90", NULL, "cuBLAS 1.2.3", "/nowhere" },
        &options);
    CHECK(mmt_calls_wait(calls, 60));
    CHECK(mmt_calls_device(calls) != NULL);
    test_waits();
    test_warm();
    test_counts();
    test_slot();
    test_fork();
    test_full();
    return test_end("calls, in a process that ends");
}

int main(void)
{
    int status = 0;

    make_folder();
    setenv("XDG_STATE_HOME", folder, 1);
    fflush(NULL);
    const pid_t child = fork();
    if (!child)
        exit(serve());
    CHECK(waitpid(child, &status, 0) == child && !status);
    test_written();
    return test_end("calls");
}
