/* The journal: what is written is read again, also where a crash cut it at any byte. */
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

#include <unistd.h>

#include "base/file.h"
#include "tuner/journal/journal.h"

/* Nobody pulls the plug: what is written need not reach the disk. */
int fdatasync(int fd)
{
    return 0;
}

static const char *path, *name; /* the profile's, the journal's */
static const struct mmt_caps caps = { .backend = "null",
                                      .name = "Testing",
                                      .architecture = "sm_90",
                                      .compiler = "nvrtc 13.0" };

static struct mmt_record make_record(int number)
{
    struct mmt_record record = { .problem = product(64 + number, 48, 32),
                                 .config = config_of("tiled TILE=32") };
    record.result.outcome = (enum mmt_outcome)(number % 6);
    if (number % 6)
        snprintf(record.result.reason, sizeof record.result.reason,
                 "\"%d\" was wrong,\nand so on", number);
    if (record.result.outcome == MMT_TIMED)
        record.result.time = (struct mmt_timing){ 1e-3 * (number + 1), 1e-5, 7 };
    record.result.registers = record.result.outcome == MMT_TIMED ? 64 : -1;
    record.result.spill_bytes = record.result.outcome == MMT_TIMED ? 0 : -1;
    record.result.shared = record.result.outcome == MMT_TIMED ? 4096 : -1;
    record.final = number == 6;
    return record;
}

static bool same(const struct mmt_record *a, const struct mmt_record *b)
{
    return mmt_problem_equal(&a->problem, &b->problem) &&
           mmt_config_equal(&a->config, &b->config) && a->final == b->final &&
           a->result.outcome == b->result.outcome &&
           !strcmp(a->result.reason, b->result.reason) &&
           a->result.time.median == b->result.time.median &&
           a->result.time.samples == b->result.time.samples &&
           a->result.registers == b->result.registers &&
           a->result.shared == b->result.shared;
}

/* What another wrote goes on, or, where it is to be fresh, goes. */
static struct mmt_journal *open_journal(const struct mmt_caps *gpu, bool fresh)
{
    struct mmt_journal *journal = mmt_journal_open(path, gpu, fresh, &err);
    if (!CHECK_MADE(journal))
        exit(1);
    return journal;
}

static void add(struct mmt_journal *journal, const struct mmt_record *record)
{
    CHECK_OK(mmt_journal_add(journal, record, &err), err);
}

static int count_records(const struct mmt_journal *journal)
{
    size_t count;
    mmt_journal_records(journal, &count);
    return (int) count;
}

static void read_whole(struct mmt_text *text)
{
    CHECK_OK(mmt_file_read(name, 1 << 20, text, &err), err);
}

enum { RECORDS = 8 };

static void write_journal(void)
{
    struct mmt_journal *journal = open_journal(&caps, true);
    for (int i = 0; i < RECORDS; i++) {
        const struct mmt_record record = make_record(i);
        add(journal, &record);
    }
    CHECK(mmt_journal_open(path, &caps, false, &err) == NULL); /* it is locked */
    CHECK(strstr(err.text, "is locked by another process") != NULL);
    mmt_journal_close(journal);
}

static void put(const char *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");
    if (!CHECK(file != NULL))
        return;
    CHECK(fwrite(bytes, 1, length, file) == length);
    CHECK(fclose(file) == 0);
}

static int whole_lines(const char *bytes, size_t length)
{
    int lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += bytes[i] == '\n';
    return lines;
}

/* Cut there, it has the results before the cut, and goes on behind them. */
static void check_cut(const struct mmt_text *whole, size_t length)
{
    size_t count;
    put(whole->data, length);
    int lines = whole_lines(whole->data, length);
    for (int pass = 0; pass < 2; pass++) {
        struct mmt_journal *journal = open_journal(&caps, false);
        const struct mmt_record *records = mmt_journal_records(journal, &count);
        size_t wanted = (size_t) (lines > 0 ? lines - 1 : 0) + (size_t) pass;
        CHECK(count == wanted);
        for (size_t i = 0; i < count; i++) {
            struct mmt_record should = make_record(i + 1 == count && pass ? 99 : (int) i);
            CHECK(same(&records[i], &should));
        }
        struct mmt_record more = make_record(99);
        CHECK(pass || mmt_journal_add(journal, &more, &err) == MMT_OK);
        CHECK_EQ_STR(mmt_journal_notes(journal), "");
        mmt_journal_close(journal);
    }
}

static void test_cuts(void)
{
    SCOPED_TEXT whole = { 0 };
    read_whole(&whole);
    for (size_t length = 0; length <= whole.length; length += length % 7 ? 1 : 5)
        check_cut(&whole, length);
}

/* What only reads needs no lock, and leaves a line as a crash left it. */
static void test_read(void)
{
    struct mmt_journal *journal = NULL;
    SCOPED_TEXT before = { 0 }, after = { 0 };
    write_journal();
    read_whole(&before);
    put(before.data, before.length - 5);
    CHECK_OK(mmt_journal_read(path, &caps, &journal, &err), err);
    if (CHECK(journal != NULL))
        CHECK_EQ_INT(count_records(journal), RECORDS - 1);
    mmt_journal_close(journal);
    read_whole(&after);
    CHECK_EQ_INT(after.length, before.length - 5);

    struct mmt_journal *writer = open_journal(&caps, false);
    CHECK_OK(mmt_journal_read(path, &caps, &journal, &err), err);
    CHECK(journal != NULL);
    mmt_journal_close(journal);
    mmt_journal_close(writer);

    struct mmt_caps other = caps;
    strcpy(other.name, "Another");
    CHECK(mmt_journal_read(path, &other, &journal, &err) == MMT_ERROR_FORMAT);
    CHECK(!journal && strstr(err.text, "of another device"));
    CHECK_OK(mmt_journal_read("/nowhere/p.json", &caps, &journal, &err), err);
    CHECK(!journal);
}

static void test_foreign(void)
{
    struct mmt_caps other = caps;
    snprintf(other.name, sizeof other.name, "Riva 128");
    write_journal();
    CHECK(!mmt_journal_open(path, &other, false, &err) &&
          strstr(err.text, "another device, Testing") && strstr(err.text, "--fresh"));
    put("hello\n", 6);
    CHECK(!mmt_journal_open(path, &caps, false, &err) && strstr(err.text, "--fresh"));
    mmt_journal_close(open_journal(&other, true));
}

/* Lines that are whole but make no sense are left out, and that is said. */
static void test_damaged(void)
{
    static const char *const lines[] = {
        "{}", "[1,2", "null", "{\"status\":\"timed\"}", "{\"status\":\"fine\"}",
    };
    SCOPED_TEXT text = { 0 };
    write_journal();
    read_whole(&text);
    for (int i = 0; i < 5; i++)
        mmt_text_addf(&text, "%s\n", lines[i]);
    put(text.data, text.length);
    struct mmt_journal *journal = open_journal(&caps, false);
    CHECK_EQ_INT(count_records(journal), RECORDS);
    CHECK(strstr(mmt_journal_notes(journal), "5 lines") != NULL);
    mmt_journal_close(journal);
}

/* How many results there are for a card of so many multiprocessors. */
static int count_on(unsigned sms, struct mmt_text *notes)
{
    struct mmt_caps gpu = caps;
    int count = 1;
    gpu.dialect = MMT_CUDA_CXX;
    gpu.kind = MMT_GPU;
    gpu.max_threads = 1024;
    gpu.shared = gpu.shared_per_sm = 98304;
    gpu.registers = gpu.registers_per_sm = 65536;
    gpu.threads_per_sm = 2048;
    gpu.warp = 32;
    gpu.sms = sms;
    struct mmt_journal *journal = open_journal(&gpu, notes == NULL);
    if (notes) {
        count = count_records(journal);
        mmt_text_add(notes, mmt_journal_notes(journal));
    } else {
        struct mmt_record record = make_record(0);
        record.problem = product(8, 64, 100000);
        record.config =
            config_of("skinny SHORT=rows THREAD_TILE_SHORT=0 THREAD_TILE_LONG=2 "
                      "THREAD_TILE_K=8 THREADS_LONG=0 THREADS_K=0 VECTOR=2 TILE_K=0 "
                      "SPLIT_K=0 MIN_BLOCKS=1");
        add(journal, &record);
    }
    mmt_journal_close(journal);
    return count;
}

/* Makes of the journal's lines such as an older version wrote, which did not tell. */
static void forget_resolved(void)
{
    SCOPED_TEXT text = { 0 };
    read_whole(&text);
    char *key = strstr(text.data, "\"resolved\"");
    if (CHECK(key != NULL))
        memcpy(key, "\"unknown\"", strlen("\"unknown\""));
    put(text.data, text.length);
}

/* A result of a kernel that leaves knobs to the problem counts while these are resolved
 * as they were, and where it tells how they were. */
static void test_resolved(void)
{
    SCOPED_TEXT same = { 0 }, other = { 0 }, untold = { 0 };
    CHECK(count_on(100, NULL) == 1);
    CHECK(count_on(100, &same) == 1 && count_on(2, &other) == 0);
    CHECK_EQ_STR(mmt_text_string(&same), "");
    CHECK(strstr(mmt_text_string(&other), "1 results") != NULL);
    CHECK(count_on(100, NULL) == 1);
    forget_resolved();
    CHECK(count_on(100, &untold) == 0);
}

static void test_find(void)
{
    write_journal();
    struct mmt_journal *journal = open_journal(&caps, false);
    const struct mmt_record there = make_record(3), absent = make_record(50),
                            final = make_record(6);
    const struct mmt_record *found =
        mmt_journal_find(journal, &there.problem, &there.config);
    CHECK(found && same(found, &there) && found->earlier);
    CHECK(!mmt_journal_find(journal, &absent.problem, &absent.config));
    CHECK(!mmt_journal_find(journal, &final.problem, &final.config));
    mmt_journal_close(journal);
}

/* ---- what was verified wholly ----------------------------------------------------- */

static struct mmt_record record_at(int k, const char *configuration,
                                   enum mmt_outcome outcome, bool whole)
{
    struct mmt_record record = { .problem = product(64, 64, k),
                                 .config = config_of(configuration),
                                 .result.outcome = outcome,
                                 .whole = whole };
    if (outcome == MMT_TIMED && !whole)
        record.result.time = (struct mmt_timing){ 1e-3, 1e-5, 7 };
    if (outcome == MMT_WRONG)
        snprintf(record.result.reason, sizeof record.result.reason, "deep: wrong");
    return record;
}

static enum mmt_outcome outcome_of(const struct mmt_journal *journal, int k,
                                   const char *configuration)
{
    const struct mmt_record asked = record_at(k, configuration, MMT_TIMED, false);
    const struct mmt_record *found =
        mmt_journal_find(journal, &asked.problem, &asked.config);
    return CHECK(found != NULL) ? found->result.outcome : MMT_CRASHED;
}

static void check_wholes(const struct mmt_journal *journal)
{
    const struct mmt_record right = record_at(500, "tiled TILE=16", MMT_TIMED, true),
                            wrong = record_at(32, "tiled TILE=32", MMT_TIMED, true);
    size_t wholes;

    mmt_journal_wholes(journal, &wholes);
    CHECK(count_records(journal) == 4 && wholes == 2);
    CHECK(mmt_journal_whole(journal, &right.problem, &right.config) == MMT_WHOLE_RIGHT);
    CHECK(mmt_journal_whole(journal, &wrong.problem, &right.config) == MMT_WHOLE_UNKNOWN);
    CHECK(mmt_journal_whole(journal, &wrong.problem, &wrong.config) == MMT_WHOLE_WRONG);
    CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_TIMED);
    CHECK(outcome_of(journal, 32, "tiled TILE=32") == MMT_WRONG);
    CHECK(outcome_of(journal, 48, "tiled TILE=32") == MMT_WRONG);
    CHECK(outcome_of(journal, 32, "naive") == MMT_TIMED);
}

/* One that is wrong at a depth is wrong at any, whether it was timed before that was
 * found or after; and all that holds in the next run, of the same driver. */
static void test_wholes(void)
{
    struct mmt_caps newer = caps;
    size_t count;
    const struct mmt_record records[] = {
        record_at(32, "tiled TILE=16", MMT_TIMED, false),
        record_at(32, "tiled TILE=32", MMT_TIMED, false),
        record_at(32, "naive", MMT_TIMED, false),
        record_at(500, "tiled TILE=16", MMT_TIMED, true),
        record_at(500, "tiled TILE=32", MMT_WRONG, true),
        record_at(48, "tiled TILE=32", MMT_TIMED, false),
    };
    struct mmt_journal *journal = open_journal(&caps, true);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        add(journal, &records[i]);
    check_wholes(journal);
    mmt_journal_close(journal);
    journal = open_journal(&caps, false);
    CHECK_EQ_STR(mmt_journal_notes(journal), "");
    check_wholes(journal);
    mmt_journal_close(journal);

    snprintf(newer.driver, sizeof newer.driver, "newer");
    journal = open_journal(&newer, false);
    mmt_journal_wholes(journal, &count);
    CHECK(count == 0 && outcome_of(journal, 32, "tiled TILE=32") == MMT_TIMED);
    mmt_journal_close(journal);
}

/* Finals are right about a candidate: what they find much slower, or not right, is so. */
static void test_disproved(void)
{
    struct mmt_record fast = record_at(32, "tiled TILE=16", MMT_TIMED, false),
                      wrong = record_at(32, "tiled TILE=32", MMT_TIMED, false),
                      hot = record_at(32, "tiled TILE=8", MMT_TIMED, false);
    struct mmt_record finals[] = { fast, wrong, hot };
    struct mmt_journal *journal = open_journal(&caps, true);

    for (int i = 0; i < 3; i++) {
        add(journal, &finals[i]);
        finals[i].final = true;
        finals[i].result.time.median = 3e-3;
    }
    finals[1].result.outcome = MMT_WRONG;
    snprintf(finals[2].result.throttled, 64, "thermal");
    for (int i = 0; i < 3; i++)
        add(journal, &finals[i]);
    for (int pass = 0; pass < 2; pass++) {
        CHECK(mmt_journal_best(journal, &fast.problem) == 1e-3);
        CHECK(
            mmt_journal_find(journal, &fast.problem, &fast.config)->result.time.median ==
            3e-3);
        CHECK(outcome_of(journal, 32, "tiled TILE=32") == MMT_WRONG);
        mmt_journal_close(journal);
        journal = open_journal(&caps, false);
    }
    mmt_journal_close(journal);
}

/* ---- a bad moment is not a property of a kernel ------------------------------------ */

static struct mmt_journal *reopen(struct mmt_journal *journal, double limit)
{
    mmt_journal_close(journal);
    journal = open_journal(&caps, false);
    mmt_journal_set_limit(journal, limit);
    return journal;
}

static bool is_known(const struct mmt_journal *journal, const struct mmt_record *record)
{
    return mmt_journal_find(journal, &record->problem, &record->config) != NULL;
}

/* How often a result is taken, one each run, until it stands in the runs behind. */
static int count_tries(enum mmt_outcome outcome, double first_limit, double limit)
{
    const struct mmt_record record = record_at(32, "tiled TILE=16", outcome, false);
    struct mmt_journal *journal = open_journal(&caps, true);
    int tries = 0;
    mmt_journal_set_limit(journal, first_limit);
    for (; tries < 5 && !is_known(journal, &record); tries++) {
        add(journal, &record);
        CHECK(is_known(journal, &record)); /* in the run itself */
        CHECK(mmt_journal_find_any(journal, &record.problem, &record.config) != NULL);
        journal = reopen(journal, limit);
        CHECK(mmt_journal_count_again(journal) == (size_t) !is_known(journal, &record));
        CHECK(is_known(journal, &record) ==
              (mmt_journal_find_any(journal, &record.problem, &record.config) != NULL));
    }
    mmt_journal_close(journal);
    return tries;
}

static void test_again(void)
{
    CHECK(count_tries(MMT_WRONG, 5, 5) == 1);
    CHECK(count_tries(MMT_SKIPPED, 5, 5) == 1);
    CHECK(count_tries(MMT_TIMED, 5, 5) == 1);
    CHECK(count_tries(MMT_FAILED, 5, 5) == 2);
    CHECK(count_tries(MMT_CRASHED, 5, 5) == 2);
    CHECK(count_tries(MMT_HUNG, 5, 5) == 2);
    CHECK(count_tries(MMT_HUNG, 1, 5) == 2); /* the second one was under 5 */
    CHECK(count_tries(MMT_KILLED, 5, 5) == 5);
}

/* Hung twice under a small limit, it has another try under a greater one. */
static void test_limits(void)
{
    const struct mmt_record hung = record_at(32, "tiled TILE=16", MMT_HUNG, false),
                            timed = record_at(32, "tiled TILE=16", MMT_TIMED, false);
    struct mmt_journal *journal = open_journal(&caps, true);
    mmt_journal_set_limit(journal, 1);
    add(journal, &hung);
    journal = reopen(journal, 1);
    add(journal, &hung);
    journal = reopen(journal, 1);
    CHECK(is_known(journal, &hung));
    journal = reopen(journal, 5);
    CHECK(!is_known(journal, &hung));
    add(journal, &timed);
    journal = reopen(journal, 9);
    CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_TIMED);
    mmt_journal_close(journal);
}

/* A whole verification that hung refutes in its run alone; one that is wrong, for good.
 */
static void test_whole_again(void)
{
    const struct mmt_record timed = record_at(32, "tiled TILE=16", MMT_TIMED, false),
                            hung = record_at(32, "tiled TILE=16", MMT_HUNG, true);
    struct mmt_journal *journal = open_journal(&caps, true);
    for (int tries = 1; tries <= 2; tries++) {
        if (tries == 1)
            add(journal, &timed);
        CHECK(mmt_journal_whole(journal, &timed.problem, &timed.config) ==
              MMT_WHOLE_UNKNOWN);
        CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_TIMED);
        add(journal, &hung);
        CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_WRONG);
        journal = reopen(journal, 0);
    }
    CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_WRONG);
    CHECK(mmt_journal_whole(journal, &timed.problem, &timed.config) == MMT_WHOLE_WRONG);
    mmt_journal_close(journal);
}

/* What is held is known, but in no file until it is written. */
static void test_held(void)
{
    struct mmt_record timed = record_at(32, "tiled TILE=16", MMT_TIMED, false),
                      dead = timed,
                      failed = record_at(48, "tiled TILE=16", MMT_FAILED, false);
    dead.final = true;
    dead.result.outcome = MMT_CRASHED;
    for (int write = 0; write < 2; write++) {
        struct mmt_journal *journal = open_journal(&caps, true);
        add(journal, &timed);
        CHECK_OK(mmt_journal_hold(journal, &failed, &err), err);
        CHECK_OK(mmt_journal_hold(journal, &dead, &err), err);
        CHECK(is_known(journal, &failed));
        CHECK(outcome_of(journal, 32, "tiled TILE=16") == MMT_TIMED);
        if (write)
            CHECK_OK(mmt_journal_write_held(journal, &err), err);
        CHECK(mmt_journal_drop_held(journal) == (write ? 0 : 2));
        CHECK(is_known(journal, &failed) == write);
        CHECK(outcome_of(journal, 32, "tiled TILE=16") ==
              (write ? MMT_CRASHED : MMT_TIMED));
        journal = reopen(journal, 0);
        CHECK_EQ_INT(count_records(journal), write ? 3 : 1);
        mmt_journal_close(journal);
    }
}

/* ---- a file that goes away -----------------------------------------------------------
 */

/* By whom it is replaced: nobody, a file, another run. */
static void test_deleted(void)
{
    const struct mmt_record first = make_record(0), second = make_record(6);
    char aside[540];
    snprintf(aside, sizeof aside, "%s.replaced", name);
    for (int by = 0; by < 3; by++) {
        struct mmt_journal *other = NULL, *journal = open_journal(&caps, true);
        CHECK(mmt_journal_is_new(journal) == (by == 1)); /* cleared up below */
        add(journal, &first);
        CHECK(!remove(name));
        if (by == 1)
            put("mine\n", 5);
        if (by == 2)
            other = open_journal(&caps, false);
        if (by == 2) {
            CHECK(mmt_journal_add(journal, &second, &err) && strstr(err.text, "another"));
            mmt_journal_close(other);
            mmt_journal_close(journal);
            continue;
        }
        CHECK_OK(mmt_journal_add(journal, &second, &err), err);
        CHECK(strstr(mmt_journal_notes(journal), by ? "was replaced" : "was deleted"));
        CHECK(!remove(name));
        CHECK_OK(mmt_journal_look(journal, &err), err);
        CHECK(!access(aside, F_OK) == (by == 1));
        journal = reopen(journal, 0);
        CHECK(count_records(journal) == 2 && !mmt_journal_is_new(journal));
        mmt_journal_close(journal);
        remove(aside);
        if (by == 0)
            remove(name);
    }
}

int main(void)
{
    make_folder();
    path = in_folder("p.json");
    name = in_folder("p.json.journal");
    write_journal();
    test_cuts();
    test_read();
    test_foreign();
    test_damaged();
    test_resolved();
    test_find();
    test_wholes();
    test_disproved();
    test_again();
    test_limits();
    test_whole_again();
    test_held();
    test_deleted();
    return test_end("journal");
}
