/* Logs and folders that are locked, with flock and without: a file system that has none
 * is played by the function below. */
#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "tuner/journal/own_folder.h"

static bool without;

int flock(int fd, int operation);
int flock(int fd, int operation)
{
    if (!without)
        return (int) syscall(SYS_flock, fd, operation);
    errno = ENOLCK;
    return -1;
}

static bool exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

/* ---- locks ------------------------------------------------------------------------- */

static mmt_status own(struct mmt_log *log, const char *path, struct mmt_text *said)
{
    return mmt_log_open(log, path, MMT_LOG_OWN, said, &err);
}

static void test_owner(void)
{
    struct mmt_log log, other;
    SCOPED_TEXT said = { 0 };
    char file[540];
    const char *path = in_folder("file");
    snprintf(file, sizeof file, "%s.lock", path);
    CHECK_OK(own(&log, path, &said), err);
    CHECK(without == (strstr(mmt_text_string(&said), "has no locks") != NULL));
    CHECK(without == exists(file));
    CHECK_FAILS(own(&other, path, &said), err, MMT_ERROR_IO,
                without ? "remove this file" : "is locked by another");
    CHECK_EQ_INT(err.native, EWOULDBLOCK);
    CHECK(without == exists(file));
    mmt_log_close(&log);
    CHECK_OK(own(&other, path, NULL), err);
    mmt_log_close(&other);
    CHECK(!exists(file));
}

/* Of whom a lock file is left, and whether that lock can be taken. */
static void check_left(struct mmt_process owner, bool taken)
{
    struct mmt_log log;
    char file[540];
    const char *path = in_folder("left");
    snprintf(file, sizeof file, "%s.lock", path);
    FILE *out = fopen(file, "w");
    fprintf(out, "%s %s %llu %lld %llu\n", owner.host, owner.boot,
            (unsigned long long) owner.pid_space, (long long) owner.pid,
            (unsigned long long) owner.started);
    fclose(out);
    if (!CHECK(taken == !own(&log, path, NULL)))
        fprintf(stderr, "  %s %s %lld: %s\n", owner.host, owner.boot,
                (long long) owner.pid, err.text);
    CHECK(taken || exists(file)); /* another's stays */
    mmt_log_close(&log);
    unlink(file);
}

static void test_owners(void)
{
    enum { NOBODY = 4194305 };
    const struct mmt_process self = mmt_process_self();
    struct mmt_process it = self;
    CHECK(it.pid == getpid() && it.started > 0 && it.pid_space > 0);
    check_left(it, false);
    it.started++; /* the number is another's */
    check_left(it, true);
    it.pid = NOBODY;
    check_left(it, true);
    it.pid_space = 1; /* another container */
    check_left(it, false);
    strcpy(it.boot, "before");
    check_left(it, true);
    strcpy(it.host, "elsewhere");
    check_left(it, false);
    it.host[0] = '\0'; /* no words of an owner */
    check_left(it, false);
}

/* Where there are no locks, lines are still appended; but nobody is kept from it. */
static void test_shared(void)
{
    struct mmt_log log, other;
    const char *path = in_folder("shared");
    CHECK_OK(mmt_log_open(&log, path, MMT_LOG_SHARE, NULL, &err), err);
    CHECK_OK(mmt_log_open(&other, path, MMT_LOG_SHARE, NULL, &err), err);
    mmt_log_close(&log);
    mmt_log_close(&other);
    if (without)
        CHECK_FAILS(mmt_log_open(&log, path, MMT_LOG_REPLACE, NULL, &err), err,
                    MMT_ERROR_IO, "cannot lock");
    mmt_log_close(&log);
}

/* ---- lines ------------------------------------------------------------------------- */

static void test_lines(void)
{
    static const struct {
        const char *before, *after;
    } rows[] = { { "", "b\n" }, { "a\n", "a\nb\n" }, { "torn", "torn\nb\n" } };
    const char *path = in_folder("lines");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED_TEXT text = { 0 };
        struct mmt_log log;
        struct mmt_log_line line = { 0 };
        CHECK_OK(mmt_file_replace(path, rows[i].before, strlen(rows[i].before), &err),
                 err);
        CHECK_OK(mmt_file_read(path, 99, &text, &err), err);
        for (int k = 0; mmt_log_next(&text, &line); k++)
            CHECK(k == 0 && line.torn == (i == 2) && line.length == (i == 2 ? 4 : 1));
        CHECK(line.number == (i > 0) && line.behind == text.length);
        CHECK_OK(mmt_log_open(&log, path, MMT_LOG_SHARE, NULL, &err), err);
        CHECK_OK(mmt_log_append(&log, "b\n", 2, &err), err);
        CHECK(mmt_log_is_there(&log));
        unlink(path);
        CHECK(!mmt_log_is_there(&log));
        CHECK_OK(mmt_file_read_open(log.fd, path, 99, &text, &err), err);
        CHECK_EQ_STR(mmt_text_string(&text), rows[i].after);
        mmt_log_close(&log);
    }
}

/* A process that may write no more is not ended for it. */
static void test_limit(void)
{
    struct rlimit before, small;
    struct mmt_log log;
    CHECK_OK(own(&log, in_folder("limited"), NULL), err);
    CHECK(!getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = 4;
    CHECK(!setrlimit(RLIMIT_FSIZE, &small));
    CHECK_FAILS(mmt_log_append(&log, "longer\n", 7, &err), err, MMT_ERROR_IO, "limited");
    CHECK_EQ_INT(err.native, EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_OK(mmt_log_append(&log, "longer\n", 7, &err), err);
    mmt_log_close(&log);
}

/* ---- folders ----------------------------------------------------------------------- */

/* A child that has made a folder, and lives on; *path is the folder. */
static pid_t start_owner(char path[200])
{
    int ends[2];
    CHECK(!pipe(ends));
    pid_t pid = fork();
    if (pid == 0) {
        struct mmt_own_folder own;
        if (!mmt_own_folder_make(&own, folder, "pocl", &err))
            dprintf(ends[1], "%s", own.path);
        close(ends[1]);
        for (;;)
            pause();
    }
    close(ends[1]);
    ssize_t got = read(ends[0], path, 199);
    path[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    return pid;
}

static void make_own(struct mmt_own_folder *own)
{
    CHECK_OK(mmt_own_folder_make(own, folder, "pocl", &err), err);
}

static void test_folder(void)
{
    struct mmt_own_folder mine;
    struct stat st;
    const char *old = in_folder("pocl-123"), *young = in_folder("pocl-124");
    char theirs[200];
    CHECK(!mkdir(old, 0700) && !mkdir(young, 0700));
    const struct timespec times[2] = { { time(NULL) - 200000, 0 },
                                       { time(NULL) - 200000, 0 } };
    CHECK(!utimensat(AT_FDCWD, old, times, 0));
    pid_t pid = start_owner(theirs);
    CHECK(exists(theirs) && !exists(old) && exists(young));
    make_own(&mine);
    CHECK(exists(theirs)); /* its owner lives */
    CHECK(!stat(mine.path, &st) && (st.st_mode & 0777) == 0700);
    mmt_own_folder_remove(&mine);
    CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
    make_own(&mine);
    CHECK(!exists(theirs));
    char *path = strdup(mine.path);
    mmt_own_folder_remove(&mine);
    CHECK(!exists(path));
    free(path);
    rmdir(young);
}

int main(void)
{
    make_folder();
    for (int pass = 0; pass < 2; pass++) {
        without = pass;
        test_owner();
        test_shared();
        test_lines();
        test_folder();
    }
    test_owners();
    test_limit();
    return test_end("log");
}
