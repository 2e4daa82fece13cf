/* Files on a machine that others use too: modes, links, pipes, and whose they are. A
 * check that needs two users runs as root alone, and says where it is left out. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum { SOMEBODY = 65534 };

static int mode_of(const char *path)
{
    struct stat found;
    return lstat(path, &found) ? -1 : (int) (found.st_mode & 0777);
}

static bool is_kind(const char *path, mode_t kind)
{
    struct stat found;
    return !lstat(path, &found) && (found.st_mode & S_IFMT) == kind;
}

static bool holds(const char *path, const char *wanted)
{
    SCOPED_TEXT text = { 0 };
    bool same = !mmt_file_read(path, 1000, &text, NULL) &&
                !strcmp(mmt_text_string(&text), wanted);
    return same;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    CHECK_OK(mmt_file_replace(path, text, strlen(text), &err), err);
    CHECK(!chmod(path, mode));
}

static bool left_out(const char *what)
{
    if (geteuid() == 0)
        return false;
    printf("left out, as only root can make it: %s\n", what);
    return true;
}

/* ---- modes ----------------------------------------------------------------------- */

static void test_umask(void)
{
    static const mode_t masks[] = { 0, 02, 077, 0277, 0777 };
    for (int i = 0; i < 5; i++) {
        char name[32];
        int log = -1;
        snprintf(name, sizeof name, "umask-%o/below/file", (unsigned) masks[i]);
        const char *path = in_folder(name);
        mode_t before = umask(masks[i]);
        CHECK_OK(mmt_file_replace(path, "x", 1, &err), err);
        snprintf(name, sizeof name, "umask-%o/log", (unsigned) masks[i]);
        const char *log_path = in_folder(name);
        CHECK_OK(mmt_file_open_log(log_path, &log, &err), err);
        umask(before);
        close(log);
        CHECK_EQ_INT(mode_of(path), 0600);
        CHECK_EQ_INT(mode_of(log_path), 0600);
        snprintf(name, sizeof name, "umask-%o/below", (unsigned) masks[i]);
        CHECK_EQ_INT(mode_of(in_folder(name)), 0700);
    }
}

/* A profile that its user lets others read stays so; written by others it never is. */
static void test_kept_mode(void)
{
    const char *path = in_folder("shared");
    write_file(path, "old", 0666);
    CHECK_OK(mmt_file_replace(path, "new", 3, &err), err);
    CHECK_EQ_INT(mode_of(path), 0644);
    CHECK(!chmod(path, 0400));
    CHECK_OK(mmt_file_replace(path, "new", 3, &err), err);
    CHECK_EQ_INT(mode_of(path), 0600);
}

/* ---- what is no file ------------------------------------------------------------- */

static void test_pipes(void)
{
    SCOPED_TEXT text = { 0 };
    const char *pipe = in_folder("pipe");
    int log;
    CHECK(!mkfifo(pipe, 0600));
    CHECK_FAILS(mmt_file_read(pipe, 9, &text, &err), err, MMT_ERROR_IO,
                "pipe' is a pipe; a regular file is needed");
    CHECK_FAILS(mmt_file_read("/dev/zero", 9, &text, &err), err, MMT_ERROR_IO,
                "is a device");
    CHECK_FAILS(mmt_file_replace(pipe, "x", 1, &err), err, MMT_ERROR_IO, "nobody reads");
    CHECK_FAILS(mmt_file_may_replace(pipe, &err), err, MMT_ERROR_IO, "is a pipe");
    CHECK_FAILS(mmt_file_open_log(pipe, &log, &err), err, MMT_ERROR_IO, "is a pipe");
    CHECK_OK(mmt_file_replace("/dev/null", "x", 1, &err), err);
    CHECK(is_kind("/dev/null", S_IFCHR));
}

/* Tried without touching it: nothing is left beside it. */
static void test_may_replace(void)
{
    const char *path = in_folder("new/profile");
    CHECK_OK(mmt_file_may_replace(path, &err), err);
    CHECK_EQ_INT(mode_of(path), -1);
    CHECK(!rmdir(in_folder("new")));
    CHECK_FAILS(mmt_file_may_replace(folder, &err), err, MMT_ERROR_IO, "is a folder");
    CHECK_FAILS(mmt_file_may_replace("/proc/self/mmtune", &err), err, MMT_ERROR_NOT_FOUND,
                "cannot write");
}

/* ---- links ----------------------------------------------------------------------- */

static void test_links(void)
{
    const char *target = in_folder("target"), *link = in_folder("link");
    int log;
    write_file(target, "mine", 0600);
    CHECK(!symlink("target", link));
    CHECK(holds(link, "mine"));
    CHECK_OK(mmt_file_may_replace(link, &err), err);
    CHECK_OK(mmt_file_replace(link, "new", 3, &err), err);
    CHECK(is_kind(link, S_IFLNK) && holds(target, "new"));
    CHECK_FAILS(mmt_file_open_log(link, &log, &err), err, MMT_ERROR_IO,
                "is a symbolic link; a regular file");
    CHECK(holds(target, "new"));
}

static void test_links_of_others(void)
{
    if (left_out("a link of another user"))
        return;
    const char *target = in_folder("precious"), *link = in_folder("planted");
    write_file(target, "mine", 0600);
    CHECK(!symlink("precious", link) && !lchown(link, SOMEBODY, SOMEBODY));
    CHECK_FAILS(mmt_file_replace(link, "new", 3, &err), err, MMT_ERROR_IO,
                "planted' is a symbolic link of user 65534, which is not followed");
    CHECK_FAILS(mmt_file_may_replace(link, &err), err, MMT_ERROR_IO, "not followed");
    CHECK(holds(target, "mine") && holds(link, "mine"));
}

/* ---- folders of our own ---------------------------------------------------------- */

static void check_refused_folder(const char *path, const char *words)
{
    int fd;
    CHECK_FAILS(mmt_file_open_own_folder(path, &fd, &err), err, MMT_ERROR_IO, words);
    CHECK_FAILS(mmt_file_make_own_folder(path, NULL, &err), err, MMT_ERROR_IO, words);
}

static void test_own_folder(void)
{
    const char *path = in_folder("own"), *link = in_folder("own-link");
    int fd;
    CHECK_FAILS(mmt_file_open_own_folder(path, &fd, &err), err, MMT_ERROR_NOT_FOUND,
                "own");
    CHECK_OK(mmt_file_make_own_folder(path, &fd, &err), err);
    close(fd);
    CHECK_EQ_INT(mode_of(path), 0700);
    CHECK(!symlink("own", link));
    CHECK_OK(mmt_file_open_own_folder(link, &fd, &err), err);
    close(fd);
    CHECK(!chmod(path, 0755));
    CHECK_OK(mmt_file_make_own_folder(path, NULL, &err), err);
    CHECK(!chmod(path, 0775));
    check_refused_folder(path, "may be written by others (mode 0775); `chmod go-w '");
    check_refused_folder(link, "may be written by others");
    CHECK(!chmod(path, 0702));
    check_refused_folder(path, "mode 0702");
    check_refused_folder(in_folder("target"), "Not a directory");
    check_refused_folder(in_folder("pipe"), "Not a directory");
}

static void test_folders_of_others(void)
{
    if (geteuid()) {
        check_refused_folder("/usr", "belongs to user 0");
        printf("left out, as only root can make it: a link of another user\n");
        return;
    }
    const char *path = in_folder("theirs"), *link = in_folder("their-link");
    CHECK(!mkdir(path, 0700) && !symlink("own", link) && !chmod(in_folder("own"), 0700));
    CHECK(!lchown(link, SOMEBODY, SOMEBODY) && !chown(path, SOMEBODY, SOMEBODY));
    check_refused_folder(path, "belongs to user 65534; one of user 0");
    check_refused_folder(link, "is a symbolic link of user 65534");
}

/* ---- files of our own ------------------------------------------------------------- */

static void check_refused_file(int fd, const char *name, const char *words)
{
    struct mmt_text text = { 0 };
    CHECK_FAILS(mmt_file_read_own(fd, name, 99, &text, &err), err, MMT_ERROR_IO, words);
    CHECK(!text.data);
}

static void test_own_files(void)
{
    struct mmt_text text = { 0 };
    int fd = -1;
    CHECK_OK(mmt_file_make_own_folder(in_folder("files"), &fd, &err), err);
    CHECK_OK(mmt_file_replace_own(fd, "plain", "x", 1, &err), err);
    CHECK_OK(mmt_file_read_own(fd, "plain", 99, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "x");
    mmt_text_finish(&text);
    CHECK(!chmod(in_folder("files/plain"), 0620));
    check_refused_file(fd, "plain", "may be written by others (mode 0620)");
    CHECK_OK(mmt_file_replace_own(fd, "plain", "x", 1, &err), err);
    CHECK_EQ_INT(mode_of(in_folder("files/plain")), 0600);
    if (geteuid() == 0) {
        CHECK(!chown(in_folder("files/plain"), SOMEBODY, SOMEBODY));
        check_refused_file(fd, "plain", "belongs to user 65534");
    }

    /* What somebody has put there is not read, nor written through, but replaced. */
    write_file(in_folder("victim"), "mine", 0600);
    CHECK(!symlink("../victim", in_folder("files/link")));
    check_refused_file(fd, "link", "Too many levels of symbolic links");
    CHECK_OK(mmt_file_replace_own(fd, "link", "x", 1, &err), err);
    CHECK(holds(in_folder("victim"), "mine") &&
          is_kind(in_folder("files/link"), S_IFREG));
    CHECK(!mkfifo(in_folder("files/pipe"), 0600));
    check_refused_file(fd, "pipe", "is a pipe");
    CHECK_OK(mmt_file_replace_own(fd, "pipe", "x", 1, &err), err);
    CHECK(is_kind(in_folder("files/pipe"), S_IFREG));
    close(fd);
}

/* ---- what is appended to ---------------------------------------------------------- */

static void test_log(void)
{
    struct mmt_text text = { 0 };
    const char *path = in_folder("grows");
    int fd = -1;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mmt_file_open_log(path, &fd, &err), err);
        CHECK_EQ_INT(write(fd, "line\n", 5), 5);
        CHECK_OK(mmt_file_read_open(fd, path, 99, &text, &err), err);
        CHECK_EQ_STR(mmt_text_string(&text), i ? "line\nline\n" : "line\n");
        close(fd);
    }
    mmt_text_finish(&text);
    if (left_out("a journal of another user"))
        return;
    CHECK(!chown(path, SOMEBODY, SOMEBODY));
    CHECK_FAILS(mmt_file_open_log(path, &fd, &err), err, MMT_ERROR_IO,
                "belongs to user 65534");
    CHECK(!chown(folder, SOMEBODY, SOMEBODY));
    CHECK_OK(mmt_file_open_log(path, &fd, &err), err);
    close(fd);
    CHECK(!chown(folder, 0, 0));
}

int main(void)
{
    make_folder();
    test_umask();
    test_kept_mode();
    test_pipes();
    test_may_replace();
    test_links();
    test_links_of_others();
    test_own_folder();
    test_folders_of_others();
    test_own_files();
    test_log();
    return test_end("files");
}
