/* Recordings: what is written is read; many processes append; what is torn or foreign is
 * passed over; pruning loses nothing of others. */
#include <locale.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/building.h"
#include "recording/recording.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

static bool patient; /* waits for a lock, however long it is held */

int flock(int fd, int operation)
{
    return (int) syscall(SYS_flock, fd, patient ? operation & ~LOCK_NB : operation);
}

static char path[256];

static struct mmt_recorded sample(int m)
{
    struct mmt_recorded it = { .library = "cuBLAS 13.1.0", .run = "7" };
    mmt_problem asked = mmt_gemm_problem(MMT_BF16, m, 4096, 1024);
    asked.trans_b = MMT_T;
    asked.ldb = 1100;
    asked.batch = 3;
    asked.bias = MMT_BIAS_N;
    asked.activation = MMT_GELU_TANH;
    asked.out = MMT_BF16;
    CHECK_OK(mmt_problem_normalise(&asked, &it.call.problem, &err), err);
    it.call.client = MMT_CLIENT_CUBLAS;
    it.call.workspace = 1 << 20;
    it.fates[MMT_FATE_RECORDED] = 5;
    it.timed = 2;
    it.seconds = 40e-6;
    return it;
}

static void append(const struct mmt_recorded *it)
{
    CHECK_OK(mmt_recording_append(path, it, 1, &err), err);
}

/* To be freed. */
static struct mmt_recording read_back(bool by_run)
{
    struct mmt_recording out;
    CHECK_OK(mmt_recording_read(path, by_run, &out, &err), err);
    return out;
}

static void write_text(const char *text)
{
    CHECK_OK(mmt_file_replace(path, text, strlen(text), &err), err);
}

static bool keep_all(void *context, const struct mmt_recorded *it)
{
    return true;
}

/* ---- one process ------------------------------------------------------------------- */

static void test_round_trip(void)
{
    struct mmt_recorded it = sample(16);
    struct stat found;
    it.call.problem.type = it.call.problem.out = MMT_F16;
    it.call.adds = true;
    it.call.compute = MMT_COMPUTE_16F_PEDANTIC;
    it.call.alignment = 4;
    it.call.most_workspace = 3 << 20;
    it.ready = 2e-6;
    it.gap = 5e-6;
    it.saved = 1e-6;
    strcpy(it.path, "/opt/a \"b\\c\x01\xff\xc3\xa9/libcublas.so.13");
    append(&it);
    struct mmt_recording back = read_back(true);
    if (CHECK(back.count == 1)) {
        CHECK(mmt_call_equal(&back.list[0].call, &it.call));
        CHECK(back.list[0].call.workspace == 1 << 20);
        CHECK(back.list[0].call.most_workspace == 3 << 20);
        CHECK_EQ_STR(back.list[0].library, it.library);
        CHECK_EQ_STR(back.list[0].run, "7");
        CHECK(back.list[0].fates[MMT_FATE_RECORDED] == 5);
        CHECK(mmt_recorded_calls(&back.list[0]) == 5);
        CHECK(fabs(mmt_recorded_seconds(&back.list[0]) - 100e-6) < 1e-9);
        CHECK(fabs(back.list[0].saved - 1e-6) < 1e-12);
        CHECK(fabs(back.list[0].ready - 2e-6) < 1e-12);
        CHECK(fabs(back.list[0].gap - 5e-6) < 1e-12);
        CHECK_EQ_STR(back.list[0].path, "/opt/a \"b\\c??\xc3\xa9/libcublas.so.13");
    }
    CHECK_EQ_STR(mmt_text_string(&back.warnings), "");
    mmt_recording_free(&back);
    CHECK(!stat(path, &found) && (found.st_mode & 0777) == 0600);
    CHECK(!stat(folder, &found) && (found.st_mode & 0777) == 0700);
    unlink(path);
}

/* Whoever builds is known to others for as long, also beside another. */
static void test_building(void)
{
    setenv("MMTUNE_RUN_COUNTS", folder, 1);
    CHECK(!mmt_building_goes_on());
    const int first = mmt_building_begin(), second = mmt_building_begin();
    CHECK(first >= 0 && second >= 0 && mmt_building_goes_on());
    close(first);
    CHECK(mmt_building_goes_on());
    close(second);
    CHECK(!mmt_building_goes_on());
    unsetenv("MMTUNE_RUN_COUNTS");
}

static void test_sums(void)
{
    struct mmt_recorded small = sample(1), large = sample(2000), other = sample(1);
    large.seconds = 1;
    other.call.workspace = 4096;
    other.run[0] = '8';
    other.fates[MMT_FATE_TAKEN] = 2;
    strcpy(other.path, "/lib/libcublas.so.13");
    small.ready = 3e-6;
    small.gap = 7e-6;
    other.gap = 4e-6;
    other.ready = 2e-6;
    append(&small);
    append(&large);
    append(&other);
    small.call.adds = true;
    append(&small);

    struct mmt_recording back = read_back(false);
    if (CHECK(back.count == 3)) {
        CHECK(back.list[0].call.problem.m == 2000);
        CHECK(back.list[1].fates[MMT_FATE_RECORDED] == 10);
        CHECK(back.list[1].fates[MMT_FATE_TAKEN] == 2);
        CHECK(back.list[1].timed == 4);
        CHECK(fabs(back.list[1].ready - 3e-6) < 1e-12);
        CHECK(fabs(back.list[1].gap - 4e-6) < 1e-12);
        CHECK(back.list[1].call.workspace == 4096);
        CHECK(back.list[1].call.most_workspace == 1 << 20);
        CHECK(!back.list[0].call.most_workspace);
        CHECK_EQ_STR(back.list[1].path, other.path);
        CHECK_EQ_STR(back.list[1].run, "");
        CHECK(back.list[2].call.adds);
    }
    mmt_recording_free(&back);
    back = read_back(true);
    CHECK(back.count == 4);
    mmt_recording_free(&back);
    unlink(path);
}

/* The least and the most of what calls were given; cuBLAS has 32 MiB of its own. */
static void test_workspaces(void)
{
    static const struct {
        enum mmt_client client;
        size_t first, second, least, most, library;
    } rows[] = {
        { MMT_CLIENT_CUBLAS, 4096, 4096, 4096, 0, 4096 },
        { MMT_CLIENT_CUBLAS, 8192, 4096, 4096, 8192, 8192 },
        { MMT_CLIENT_CUBLAS, 0, 0, 0, 0, 32 << 20 },
        { MMT_CLIENT_CUBLAS, 4096, 0, 4096, 32 << 20, 32 << 20 },
        { MMT_CLIENT_CUBLAS, 0, 64 << 20, 64 << 20, 0, 64 << 20 },
        { MMT_CLIENT_CUBLASLT, 0, 0, 0, 0, 0 },
        { MMT_CLIENT_CUBLASLT, 0, 4096, 4096, 0, 4096 },
        { MMT_CLIENT_CUBLASLT, 4096, 8192, 4096, 8192, 8192 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mmt_call sum = { .client = rows[i].client, .workspace = rows[i].first };
        const struct mmt_call other = { .client = rows[i].client,
                                        .workspace = rows[i].second };
        mmt_call_add_workspace(&sum, &other);
        mmt_call_add_workspace(&sum, &other);
        CHECK(sum.workspace == rows[i].least && sum.most_workspace == rows[i].most);
        CHECK(mmt_call_library_workspace(&sum) == rows[i].library);
    }
}

static void test_foreign(void)
{
    const struct mmt_recorded it = sample(16);
    write_text(
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"cublas\",\"fates\":{\"taken\":1,"
        "\"later\":2},\"later\":[]}\n"
        "not JSON\n\n"
        "{\"call\":\"gemm f33 nn 8x8x8\",\"client\":\"cublas\",\"fates\":{}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"mkl\",\"fates\":{}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"cublas\",\"fates\":"
        "{\"taken\":-1}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"cublas\",\"compute\":"
        "\"16f\",\"fates\":{}}\n"
        "{\"call\":\"gemm f16 nn 8x8x8\",\"client\":\"cublas\",\"compute\":"
        "\"8f\",\"fates\":{}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"cublas\",\"alignment\":"
        "16,\"fates\":{}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"cli");
    append(&it); /* does not become a part of the torn line */
    struct mmt_recording back = read_back(false);
    CHECK(back.count == 2);
    const char *warnings = mmt_text_string(&back.warnings);
    CHECK(strstr(warnings, "line 2 is passed over: it is torn"));
    CHECK(strstr(warnings, "line 4 is passed over: ") && strstr(warnings, "f33"));
    CHECK(strstr(warnings, "line 5 is passed over: its \"client\" is unknown"));
    CHECK(strstr(warnings, "line 6 is passed over: its \"fates\""));
    CHECK(strstr(warnings, "line 7 is passed over: its \"compute\" is of f16 alone"));
    CHECK(strstr(warnings, "line 8 is passed over: its \"compute\" is unknown"));
    CHECK(strstr(warnings, "line 9 is passed over: its \"alignment\" is no power of 2"));
    CHECK(strstr(warnings, "line 10 is passed over: it is torn"));
    CHECK(!strstr(warnings, "line 11"));
    mmt_recording_free(&back);
    unlink(path);
}

static void test_locale(void)
{
    struct mmt_recorded it = sample(16);
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "");
    append(&it);
    setlocale(LC_ALL, "C");
    struct mmt_recording back = read_back(false);
    CHECK(back.count == 1 && fabs(back.list[0].seconds - 40e-6) < 1e-9);
    mmt_recording_free(&back);
    unlink(path);
}

static void test_refusals(void)
{
    const struct mmt_recorded it = sample(16);
    struct mmt_recording back;
    mmt_error err = { 0 };
    char inside[300];
    CHECK_FAILS(mmt_recording_read(path, false, &back, &err), err, MMT_ERROR_NOT_FOUND,
                path);
    CHECK_FAILS(mmt_recording_prune(path, keep_all, NULL, &err), err, MMT_ERROR_NOT_FOUND,
                path);
    CHECK_FAILS(mmt_recording_read(folder, false, &back, &err), err, MMT_ERROR_IO,
                "regular file");
    write_text("");
    snprintf(inside, sizeof inside, "%s/below/x.jsonl", path); /* below a file */
    CHECK(mmt_recording_append(inside, &it, 1, &err) != MMT_OK);
    CHECK(strstr(err.text, path) != NULL);
    unlink(path);
}

static void test_path(void)
{
    SCOPED_TEXT text = { 0 };
    setenv("XDG_STATE_HOME", "/state", 1);
    mmt_recording_path("cuda-card", &text);
    CHECK_EQ_STR(mmt_text_string(&text), "/state/mmtune/cuda-card.jsonl");
    mmt_text_finish(&text);
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/me", 1);
    mmt_recording_path("cuda-card", &text);
    CHECK_EQ_STR(mmt_text_string(&text), "/home/me/.local/state/mmtune/cuda-card.jsonl");
}

/* ---- several processes --------------------------------------------------------------
 */

enum { PROCESSES = 4, TURNS = 200 };

static void append_many(int process)
{
    for (int i = 0; i < TURNS; i++) {
        struct mmt_recorded list[3] = { sample(1), sample(2), sample(3) };
        if (mmt_recording_append(path, list, 3, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
    }
    _exit(0);
}

static void wait_for_all(void)
{
    int status;
    while (wait(&status) > 0)
        CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void check_all_there(void)
{
    struct mmt_recording back = read_back(false);
    CHECK_EQ_STR(mmt_text_string(&back.warnings), "");
    CHECK(back.count == 3);
    for (size_t i = 0; i < back.count; i++)
        CHECK_EQ_INT(mmt_recorded_calls(&back.list[i]), 5 * PROCESSES * TURNS);
    mmt_recording_free(&back);
}

static void test_processes(bool prune)
{
    struct mmt_recorded none = sample(1);
    none.fates[MMT_FATE_RECORDED] = none.timed = 0;
    append(&none);
    for (int i = 0; i < PROCESSES; i++)
        if (!fork())
            append_many(i);
    for (int i = 0; prune && i < 20; i++)
        CHECK_OK(mmt_recording_prune(path, keep_all, NULL, &err), err);
    wait_for_all();
    check_all_there();
    unlink(path);
}

static bool keep_long(void *context, const struct mmt_recorded *it)
{
    return mmt_recorded_seconds(it) >= *(const double *) context;
}

static void test_prune(void)
{
    struct mmt_recorded small = sample(1), large = sample(2000);
    double least = 0.5;
    struct stat before, after;
    large.seconds = 1;
    for (int i = 0; i < 10; i++) {
        append(&small);
        append(&large);
    }
    CHECK(!stat(path, &before));
    CHECK_OK(mmt_recording_prune(path, keep_long, &least, &err), err);
    CHECK(!stat(path, &after) && after.st_size < before.st_size / 10);
    struct mmt_recording back = read_back(false);
    CHECK(back.count == 1 && back.list[0].call.problem.m == 2000);
    CHECK(back.count == 1 && mmt_recorded_calls(&back.list[0]) == 50);
    mmt_recording_free(&back);
    unlink(path);
}

/* A file that has grown keeps its runs apart, unless they are very many. */
static void test_compact(void)
{
    struct mmt_recorded it = sample(1);
    struct stat before, after;
    for (int i = 0; i < 100; i++) {
        snprintf(it.run, sizeof it.run, "%d", i % 2);
        append(&it);
    }
    CHECK(!stat(path, &before));
    CHECK_OK(mmt_recording_compact(path, (size_t) before.st_size, &err), err);
    CHECK(!stat(path, &after) && after.st_size == before.st_size);
    CHECK_OK(mmt_recording_compact(path, (size_t) before.st_size - 1, &err), err);
    struct mmt_recording back = read_back(true);
    CHECK(back.count == 2 && mmt_recorded_calls(&back.list[0]) == 250);
    mmt_recording_free(&back);
    CHECK_OK(mmt_recording_compact(path, 1, &err), err);
    back = read_back(true);
    CHECK(back.count == 1 && mmt_recorded_calls(&back.list[0]) == 500);
    mmt_recording_free(&back);
    unlink(path);
}

/* What a later version has written counts as far as it is known, and stays as it is. */
static void test_later(void)
{
    static const char later[] =
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"cublas\",\"fates\":{\"recorded\":2,"
        "\"sent elsewhere\":3}}\n"
        "{\"call\":\"gemm f32 nn 8x8x8\",\"client\":\"of later\",\"fates\":{}}\n"
        "{\"call\":\"gemm f32 nn "
        "8x8x8\",\"client\":\"cublas\",\"fates\":{\"recorded\":1},"
        "\"joules\":4.5}\n";
    struct mmt_recorded it = sample(8);
    struct mmt_text text = { 0 };
    write_text(later);
    append(&it);
    append(&it);
    for (int i = 0; i < 2; i++) {
        struct mmt_recording back = read_back(false);
        int64_t calls = 0;
        for (size_t j = 0; j < back.count; j++)
            calls += mmt_recorded_calls(&back.list[j]);
        CHECK(calls == 2 * 5 + 2 + 1);
        mmt_recording_free(&back);
        CHECK_OK(mmt_recording_prune(path, keep_all, NULL, &err), err);
    }
    CHECK_OK(mmt_file_read(path, 1 << 20, &text, &err), err);
    CHECK(!strncmp(mmt_text_string(&text), later, sizeof later - 1));
    mmt_text_finish(&text);
    unlink(path);
}

/* A line without end is passed over, and what is behind it is read. */
static void test_long(void)
{
    struct mmt_recorded it = sample(8);
    FILE *file;
    append(&it);
    if (CHECK((file = fopen(path, "a")) != NULL)) {
        for (int i = 0; i < 1 << 20; i++)
            fputs("{\"", file);
        fputs("\n", file);
        fclose(file);
    }
    append(&it);
    struct mmt_recording back = read_back(false);
    CHECK(back.count == 1 && mmt_recorded_calls(&back.list[0]) == 10);
    CHECK_EQ_STR(mmt_text_string(&back.warnings),
                 "line 2 is passed over: it has more than 65536 bytes\n");
    mmt_recording_free(&back);
    unlink(path);
}

/* 100,000 kinds, and each again; sums end at the largest number. */
static void test_many(void)
{
    enum { KINDS = 100000, AT_ONCE = 1000 };
    static struct mmt_recorded list[AT_ONCE];
    struct mmt_recording sums = { 0 };
    for (int i = 0; i < 2 * KINDS; i += AT_ONCE) {
        for (int j = 0; j < AT_ONCE; j++)
            list[j] = sample((i + j) % KINDS + 1);
        CHECK_OK(mmt_recording_append(path, list, AT_ONCE, &err), err);
    }
    struct mmt_recording back = read_back(true);
    CHECK(back.count == KINDS);
    for (size_t i = 0; i < back.count; i++)
        if (back.list[i].fates[MMT_FATE_RECORDED] != 10)
            CHECK(!"each kind was called ten times");
    mmt_recording_free(&back);
    unlink(path);

    list[0].fates[MMT_FATE_RECORDED] = INT64_MAX - 1;
    for (int i = 0; i < 3; i++)
        CHECK_OK(mmt_recording_add(&sums, &list[0], &err), err);
    CHECK(sums.count == 1 && sums.list[0].fates[MMT_FATE_RECORDED] == INT64_MAX);
    mmt_recording_free(&sums);
}

/* Who holds the file ends; until then others say so. */
static void test_held(void)
{
    const struct mmt_recorded it = sample(1);
    int fd;
    append(&it);
    CHECK_OK(mmt_file_open_log(path, &fd, &err), err);
    CHECK(!flock(fd, LOCK_SH)); /* another who appends is in nobody's way */
    append(&it);
    CHECK(!flock(fd, LOCK_EX));
    CHECK_FAILS(mmt_recording_append(path, &it, 1, &err), err, MMT_ERROR_IO, "is locked");
    close(fd);
    append(&it);
    unlink(path);
}

int main(void)
{
    make_folder();
    snprintf(path, sizeof path, "%s/deep/cuda-card.jsonl", folder);
    test_round_trip();
    test_building();
    test_sums();
    test_workspaces();
    test_foreign();
    test_locale();
    test_refusals();
    test_path();
    patient = true;
    test_processes(false);
    test_processes(true);
    patient = false;
    test_prune();
    test_compact();
    test_later();
    test_long();
    test_many();
    test_held();
    *strrchr(path, '/') = 0;
    rmdir(path);
    CHECK(!rmdir(folder));
    return test_end("recordings");
}
