/* Locks, with flock and without: a file system that has none is played by the function
 * below. */
#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tuner/journal/lock.h"

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

/* ---- a file ------------------------------------------------------------------------ */

static void test_file(void)
{
    struct mmt_lock lock, other;
    SCOPED_TEXT said = { 0 };
    char file[540];
    const char *path = in_folder("file");
    snprintf(file, sizeof file, "%s.lock", path);
    int a = open(path, O_RDWR | O_CREAT, 0600), b = open(path, O_RDWR);
    CHECK(mmt_lock_take(&lock, a, path, &said) == MMT_LOCK_TAKEN);
    CHECK(without == (strstr(mmt_text_string(&said), "has no locks") != NULL));
    CHECK(without == exists(file));
    mmt_text_finish(&said);
    CHECK(mmt_lock_take(&other, b, path, &said) == MMT_LOCK_HELD);
    CHECK(!without || strstr(mmt_text_string(&said), "remove this file"));
    CHECK(!without || exists(file));
    close(a);
    mmt_lock_release(&lock);
    mmt_text_finish(&said);
    CHECK(mmt_lock_take(&other, b, path, &said) == MMT_LOCK_TAKEN);
    close(b);
    mmt_lock_release(&other);
    CHECK(!exists(file));
}

/* Of whom a lock file is left, and whether that lock can be taken. */
static void check_left(const char *host, const char *boot, const char *space, long pid,
                       unsigned long long started, bool taken)
{
    struct mmt_lock lock;
    SCOPED_TEXT said = { 0 };
    char file[540];
    const char *path = in_folder("left");
    snprintf(file, sizeof file, "%s.lock", path);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    FILE *out = fopen(file, "w");
    fprintf(out, "%s %s %s %ld %llu\n", host, boot, space, pid, started);
    fclose(out);
    enum mmt_locked found = mmt_lock_take(&lock, fd, path, &said);
    if (!CHECK(found == (taken ? MMT_LOCK_TAKEN : MMT_LOCK_HELD)))
        fprintf(stderr, "  %s %s %s %ld: %s\n", host, boot, space, pid,
                mmt_text_string(&said));
    mmt_lock_release(&lock);
    unlink(file);
    close(fd);
}

/* What this process writes of itself. */
static void test_owners(void)
{
    struct mmt_lock lock;
    SCOPED_TEXT said = { 0 }, text = { 0 };
    char file[540], host[65], boot[64], space[64];
    long pid;
    unsigned long long started;
    const char *path = in_folder("mine");
    snprintf(file, sizeof file, "%s.lock", path);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(mmt_lock_take(&lock, fd, path, &said) == MMT_LOCK_TAKEN);
    CHECK(!mmt_file_read(file, 4096, &text, NULL));
    CHECK(sscanf(mmt_text_string(&text), "%64s %63s %63s %ld %llu", host, boot, space,
                 &pid, &started) == 5);
    CHECK(pid == getpid() && started > 0);
    mmt_lock_release(&lock);
    close(fd);
    check_left(host, boot, space, pid, started, false);
    check_left(host, boot, space, pid, started + 1, true); /* the number is another's */
    check_left(host, boot, space, 4194305, started, true); /* no such process */
    check_left("elsewhere", boot, space, 4194305, started, false);
    check_left(host, boot, "pid:[1]", 4194305, started, false); /* another container */
    check_left(host, "before", "pid:[1]", pid, started, true);  /* another boot */
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
        test_file();
        test_folder();
    }
    test_owners();
    return test_end("lock");
}
