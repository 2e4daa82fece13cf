/* What else is read: problems and configurations, as people type them, and the journal,
 * as a crash or an editor leaves it. What is accepted must be printed and read again the
 * same; what is not must be refused with a sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/problem.h"
#include "generator/generator.h"
#include "tests/support/fuzz.h"
#include "tests/support/scoped.h"
#include "tuner/journal/journal.h"

/* Nobody pulls the plug: what is written need not reach the disk. */
int fdatasync(int fd)
{
    return 0;
}

static void check_reason(const mmt_error *err, const char *text)
{
    if (err->status == MMT_OK || !err->text[0])
        fuzz_fail("refused without a reason", text);
}

/* ---- problems and configurations ------------------------------------------------- */

static bool accepts_problem(const char *text)
{
    mmt_error err = { 0 };
    mmt_problem problem, again;
    SCOPED_TEXT printed = { 0 };
    if (mmt_problem_parse(text, &problem, &err)) {
        check_reason(&err, text);
        return false;
    }
    mmt_problem_print(&problem, &printed);
    if (mmt_problem_parse(mmt_text_string(&printed), &again, &err) ||
        !mmt_problem_equal(&problem, &again))
        fuzz_fail("a problem that was read is not what was printed", text);
    return true;
}

static bool accepts_config(const char *text)
{
    mmt_error err = { 0 };
    struct mmt_config config, again;
    SCOPED_TEXT printed = { 0 };
    if (mmt_config_parse(text, &config, &err)) {
        check_reason(&err, text);
        return false;
    }
    mmt_config_print(&config, &printed);
    if (mmt_config_parse(mmt_text_string(&printed), &again, &err) ||
        !mmt_config_equal(&config, &again))
        fuzz_fail("a configuration that was read is not what was printed", text);
    return true;
}

static bool accepts_words(const char *bytes, size_t size)
{
    char *text = strndup(bytes, size);
    const bool problem = accepts_problem(text), config = accepts_config(text);
    free(text);
    return problem || config;
}

static bool fuzz_words(unsigned long rounds, unsigned long long seed)
{
    struct fuzz_input corpus[] = {
        fuzz_text("gemm f32 nn 4096x4096x4096"),
        fuzz_text("gemm bf16 tn 64x48x32 out=f32 bias=row activation=gelu"),
        fuzz_text("gemm f64 nt 19x34x27 lda=41 ldb=43 ldc=35 batch=3"),
        fuzz_text("heat2d f32 300x200"),
        fuzz_text("jacobi3d f64 30x20x10"),
        fuzz_text("axpby f32 1000"),
        fuzz_text("tiled TILE=16"),
        fuzz_text("heat2d THREADS_M=2 THREADS_N=8 THREAD_TILE_M=4 VECTOR=8 SIDES=shared"),
        fuzz_text("simt TILE_M=128 TILE_N=64"),
    };
    const size_t count = sizeof corpus / sizeof *corpus;
    const bool passed = fuzz("words", corpus, count, accepts_words, rounds, seed);
    for (size_t i = 0; i < count; i++)
        free(corpus[i].bytes);
    return passed;
}

/* ---- the journal ----------------------------------------------------------------- */

static char folder[] = "/tmp/mmtune-fuzz-XXXXXX";
static char profile[64], path[80];
static const struct mmt_caps caps = {
    .backend = "null", .name = "Testing", .architecture = "sm_90", .compiler = "none"
};

static struct mmt_record make_record(int number)
{
    struct mmt_record record = { .final = number == 2, .calibration = number == 3 };
    const mmt_problem problem = mmt_gemm_problem(MMT_F32, 64 + number, 48, 32);
    mmt_error err;
    if (mmt_problem_normalise(&problem, &record.problem, &err) ||
        mmt_config_parse("tiled TILE=32", &record.config, &err))
        fuzz_fail("no record", err.text);
    record.result.outcome = number == 1 ? MMT_WRONG : MMT_TIMED;
    snprintf(record.result.reason, sizeof record.result.reason, "%s",
             number == 1 ? "\"it\" was wrong" : "");
    record.result.time = (struct mmt_timing){ 1e-3, 1e-5, 7 };
    record.result.registers = record.result.spill_bytes = record.result.shared = -1;
    return record;
}

static struct fuzz_input make_journal(void)
{
    mmt_error err;
    struct mmt_journal *journal = mmt_journal_open(profile, &caps, true, &err);
    for (int i = 0; journal && i < 5; i++) {
        const struct mmt_record record = make_record(i);
        if (mmt_journal_add(journal, &record, &err))
            fuzz_fail("no journal", err.text);
    }
    if (!journal)
        fuzz_fail("no journal", err.text);
    snprintf(path, sizeof path, "%s", mmt_journal_path(journal));
    mmt_journal_close(journal);
    return fuzz_file(path);
}

/* What was read is on the disk as it was read: opened again, it has as many records. */
static bool accepts_journal(const char *bytes, size_t size)
{
    mmt_error err = { 0 };
    size_t count = 0, again = 0;
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        fuzz_fail("cannot write", path);
    struct mmt_journal *journal = mmt_journal_open(profile, &caps, false, &err);
    if (!journal) {
        check_reason(&err, path);
        return false;
    }
    mmt_journal_records(journal, &count);
    mmt_journal_close(journal);
    journal = mmt_journal_open(profile, &caps, false, &err);
    if (!journal)
        fuzz_fail("what was read is refused", err.text);
    mmt_journal_records(journal, &again);
    mmt_journal_close(journal);
    if (again != count)
        fuzz_fail("a journal that was read has other records afterwards", path);
    return count > 0;
}

static bool fuzz_journal(unsigned long rounds, unsigned long long seed)
{
    snprintf(profile, sizeof profile, "%s/profile.json", folder);
    const struct fuzz_input journal = make_journal();
    const bool passed = fuzz("journal", &journal, 1, accepts_journal, rounds, seed);
    free(journal.bytes);
    unlink(path);
    return passed;
}

int main(int argc, char **argv)
{
    const struct fuzz_options options = fuzz_options(argc, argv);
    if (!mkdtemp(folder))
        fuzz_fail("cannot make", folder);
    /* Words are short; a journal is written to the disk each time. */
    const bool words = fuzz_words(20 * options.rounds, options.seed);
    const bool journal = fuzz_journal(options.rounds / 4, options.seed);
    rmdir(folder);
    return !(words && journal);
}
