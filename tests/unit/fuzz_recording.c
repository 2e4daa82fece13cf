/* Readers of recordings and of counts against bytes that nobody meant: a file is read as
 * a recording, then as counts whose head is made right again, so that rows are read:
 * fuzz_recording [--rounds N] [--seed N] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/counts_file.h"
#include "recording/lines.h"
#include "tests/support/fuzz.h"
#include "tests/support/scoped.h"

static char folder[64] = "/tmp/mmtune-fuzz-XXXXXX";

static void put(const char *name, const void *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/mmtune/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, size, file) != size)
        abort();
    fclose(file);
}

static void check_sums(const struct mmt_recording *recording)
{
    for (size_t i = 0; i < recording->count; i++)
        if (mmt_recorded_calls(&recording->list[i]) < 0)
            fuzz_fail("a sum", "below zero");
}

static bool read_recording(const char *data, size_t size)
{
    struct mmt_recording recording;
    mmt_error err = { 0 };
    char path[256];
    put("x.jsonl", data, size);
    snprintf(path, sizeof path, "%s/mmtune/x.jsonl", folder);
    if (mmt_recording_read(path, true, &recording, &err))
        fuzz_fail("reading", err.text);
    check_sums(&recording);
    const bool taken = recording.count > 0;
    mmt_recording_free(&recording);
    if (mmt_recording_compact(path, 1, &err))
        fuzz_fail("adding up", err.text);
    unlink(path);
    return taken;
}

/* Of a process that is gone. */
static void read_counts(const char *data, size_t size)
{
    static _Alignas(64) char bytes[FUZZ_MAX_INPUT];
    struct mmt_counts_head *head = (void *) bytes;
    char path[256];
    memcpy(bytes, data, size);
    if (size >= sizeof *head) {
        memcpy(head->magic, MMT_COUNTS_MAGIC, sizeof head->magic);
        head->row_size = sizeof(struct mmt_counted);
        head->fates = MMT_NUM_FATES;
        head->owner = mmt_process_self();
        head->owner.started++;
        strcpy(head->stem, "card");
        head->library[47] = head->path[255] = head->run[47] = head->version[31] = 0;
    }
    put("counts/1.counts", bytes, size);
    mmt_counts_collect(NULL, NULL);
    snprintf(path, sizeof path, "%s/mmtune/card.jsonl", folder);
    struct mmt_recording recording;
    if (!mmt_recording_read(path, true, &recording, NULL)) {
        if (recording.warnings.length)
            fuzz_fail("counts that no recording has",
                      mmt_text_string(&recording.warnings));
        check_sums(&recording);
        mmt_recording_free(&recording);
    }
    unlink(path);
    snprintf(path, sizeof path, "%s/mmtune/counts/1.counts", folder);
    unlink(path);
}

static bool accepts(const char *data, size_t size)
{
    read_counts(data, size);
    return read_recording(data, size);
}

static void fill_lines(struct fuzz_input *out)
{
    SCOPED_TEXT text = { 0 };
    struct mmt_recorded it = { .call.client = MMT_CLIENT_CUBLAS, .library = "cuBLAS 13" };
    mmt_problem_parse("gemm f32 nn 64x64x64", &it.call.problem, NULL);
    it.fates[MMT_FATE_TAKEN] = it.timed = 3;
    it.seconds = it.saved = 1e-3;
    for (int i = 0; i < 3; i++, it.call.problem.m++)
        mmt_recorded_print(&it, &text);
    memcpy(out->bytes, text.data, out->size = text.length);
}

static void fill_rows(struct fuzz_input *out)
{
    enum { ROWS = 3 };
    struct mmt_counted row = { .used = true };
    out->size = MMT_COUNTS_HEAD + ROWS * sizeof row;
    memset(out->bytes, 0, out->size);
    mmt_problem_parse("gemm f32 nn 64x64x64", &row.call.problem, NULL);
    row.call.client = MMT_CLIENT_BLAS;
    atomic_store(&row.fates[MMT_FATE_TAKEN], 5);
    for (int i = 0; i < ROWS; i++, row.call.problem.m++)
        memcpy(out->bytes + MMT_COUNTS_HEAD + i * sizeof row, &row, sizeof row);
}

int main(int argc, char **argv)
{
    const struct fuzz_options options = fuzz_options(argc, argv);
    struct fuzz_input corpus[2] = { { 0, malloc(FUZZ_MAX_INPUT) },
                                    { 0, malloc(FUZZ_MAX_INPUT) } };
    char path[256];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_STATE_HOME", folder, 1);
    unsetenv("MMTUNE_RUN_COUNTS");
    snprintf(path, sizeof path, "%s/mmtune", folder);
    mkdir(path, 0700);
    strcat(path, "/counts");
    mkdir(path, 0700);
    fill_lines(&corpus[0]);
    fill_rows(&corpus[1]);
    const bool passed =
        fuzz("recording", corpus, 2, accepts, options.rounds, options.seed);
    rmdir(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
    free(corpus[0].bytes);
    free(corpus[1].bytes);
    return !passed;
}
