/* The cache of compiled kernels: what it keeps, drops, refuses, and shares. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/runtime.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

static struct mmt_binary binary_of(const char *bytes)
{
    return (struct mmt_binary){ .data = (void *) (uintptr_t) bytes,
                                .size = strlen(bytes) };
}

static bool cached(const char *key, const char *bytes)
{
    struct mmt_binary got;
    if (!mmt_cache_get(key, &got))
        return false;
    bool same = got.size == strlen(bytes) && !memcmp(got.data, bytes, got.size);
    mmt_binary_finish(&got);
    return same;
}

static void test_cache(void)
{
    struct mmt_binary one = binary_of("first binary"), two = binary_of("second binary");
    SCOPED_TEXT path = { 0 };
    struct stat st;

    CHECK(!cached("key 1", "first binary"));
    mmt_cache_put("key 1", &one);
    CHECK(cached("key 1", "first binary"));
    CHECK(!cached("key 2", "first binary"));
    mmt_cache_put("key 1", &two);
    CHECK(cached("key 1", "second binary"));

    mmt_file_cache_folder(&path);
    CHECK(stat(mmt_text_string(&path), &st) == 0 && (st.st_mode & 0777) == 0700);
}

/* What the compiler said stays with its binary. */
static void test_cache_log(void)
{
    char said[] = "spills";
    struct mmt_binary binary = binary_of("warned of"), got = { 0 };

    binary.log = said;
    mmt_cache_put("warned", &binary);
    CHECK(mmt_cache_get("warned", &got) && got.log && !strcmp(got.log, said));
    CHECK(got.size == strlen("warned of") && !memcmp(got.data, "warned of", got.size));
    mmt_binary_finish(&got);
    binary.log = NULL;
    mmt_cache_put("warned", &binary);
    CHECK(mmt_cache_get("warned", &got) && !got.log);
    mmt_binary_finish(&got);
}

static void add_cached_path(const char *key, struct mmt_text *path)
{
    char name[33];
    mmt_file_cache_folder(path);
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), key, strlen(key)), name);
    mmt_text_addf(path, "/%s.bin", name);
}

/* So many seconds ago an entry was used last. */
static void make_older(const char *key, long seconds)
{
    SCOPED_TEXT path = { 0 };
    struct timespec times[2] = { { .tv_sec = time(NULL) - seconds } };
    times[1] = times[0];
    add_cached_path(key, &path);
    CHECK(!utimensat(AT_FDCWD, mmt_text_string(&path), times, 0));
}

/* The least recently used goes first. */
static void test_cache_limit(void)
{
    static char large[4096];
    memset(large, 'x', sizeof large - 1);
    struct mmt_binary binary = binary_of(large);

    mmt_cache_put("old", &binary);
    make_older("old", 200);
    mmt_cache_put("middle", &binary);
    make_older("middle", 100);
    CHECK(cached("old", large)); /* used: now the middle one is the oldest */
    setenv("MMTUNE_CACHE_LIMIT", "10K", 1);
    mmt_cache_put("new", &binary);
    unsetenv("MMTUNE_CACHE_LIMIT");
    CHECK(cached("new", large));
    CHECK(cached("old", large));
    CHECK(!cached("middle", large));
}

/* A file that others may write to is a miss. */
static void test_cache_rights(void)
{
    struct mmt_binary binary = binary_of("anybody's");
    SCOPED_TEXT path = { 0 };
    mmt_cache_put("rights", &binary);
    add_cached_path("rights", &path);
    CHECK(cached("rights", "anybody's"));
    CHECK(chmod(path.data, 0666) == 0);
    CHECK(!cached("rights", "anybody's"));
}

static void write_damaged(const char *path, const void *bytes, size_t length)
{
    CHECK_OK(mmt_file_replace(path, bytes, length, &err), err);
}

/* Whatever bit changed, and wherever it was cut, a damaged file is a miss. */
static void test_cache_damage(void)
{
    struct mmt_binary binary = binary_of("to be damaged"), got;
    SCOPED_TEXT path = { 0 }, file = { 0 };

    mmt_cache_put("damage", &binary);
    add_cached_path("damage", &path);
    CHECK_OK(mmt_file_read(path.data, 1 << 20, &file, &err), err);
    for (size_t i = 0; i < file.length; i++) {
        write_damaged(path.data, file.data, i);
        CHECK(!mmt_cache_get("damage", &got));
        file.data[i] ^= (char) (1 << i % 8);
        write_damaged(path.data, file.data, file.length);
        CHECK(!mmt_cache_get("damage", &got));
        file.data[i] ^= (char) (1 << i % 8);
    }
    write_damaged(path.data, file.data, file.length);
    CHECK(cached("damage", "to be damaged"));
}

/* ---- what others could have done --------------------------------------------------- */

/* Where users have groups of their own, files are made for the group too. */
static void test_cache_umask(void)
{
    static const mode_t masks[] = { 0, 02, 022, 077 };
    struct mmt_binary binary = binary_of("of any umask");
    for (int i = 0; i < 4; i++) {
        SCOPED_TEXT path = { 0 };
        struct stat st;
        char key[16];
        snprintf(key, sizeof key, "umask %d", i);
        mode_t before = umask(masks[i]);
        mmt_cache_put(key, &binary);
        umask(before);
        CHECK(cached(key, "of any umask"));
        add_cached_path(key, &path);
        CHECK(!stat(path.data, &st) && (st.st_mode & 0777) == 0600);
    }
}

/* Neither read, nor waited for, nor written through: it goes. */
static void test_cache_planted(void)
{
    struct mmt_binary binary = binary_of("own");
    SCOPED_TEXT path = { 0 }, text = { 0 };

    const char *victim = in_folder("victim");
    CHECK_OK(mmt_file_replace(victim, "precious", 8, &err), err);
    add_cached_path("planted", &path);
    CHECK(!symlink(victim, path.data));
    CHECK(!cached("planted", "own"));
    mmt_cache_put("planted", &binary);
    CHECK(cached("planted", "own"));
    CHECK_OK(mmt_file_read(victim, 99, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "precious");

    CHECK(!unlink(path.data) && !mkfifo(path.data, 0600));
    CHECK(!cached("planted", "own"));
    mmt_cache_put("planted", &binary);
    CHECK(cached("planted", "own"));
}

/* ---- where nothing can be kept ----------------------------------------------------- */

static void check_trouble(const char *words)
{
    SCOPED_TEXT text = { 0 };
    bool any = mmt_cache_trouble(&text);
    if (!CHECK(any == (words != NULL) && (!words || strstr(text.data, words))))
        fprintf(stderr, "    trouble: \"%s\"\n", mmt_text_string(&text));
}

/* A program is told by its plan. */
static void check_described(const char *words)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 8, 8, 8);
    char text[4096] = "";
    SCOPED_DEVICE *device = mmt_device_open("null", &err);
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
    if (CHECK(plan != NULL))
        mmt_plan_describe(plan, text, sizeof text);
    CHECK((strstr(text, "not stored") != NULL) == (words != NULL));
    CHECK(!words || strstr(text, words));
}

static void test_cache_folder_of_others(void)
{
    struct mmt_binary binary = binary_of("kept");
    SCOPED_TEXT path = { 0 };

    mmt_file_cache_folder(&path);
    mmt_cache_put("kept", &binary);
    check_trouble(NULL);
    CHECK_OK(mmt_cache_check(&err), err);
    check_described(NULL);

    CHECK(!chmod(mmt_text_string(&path), 0770));
    CHECK(!cached("kept", "kept"));
    mmt_cache_put("not kept", &binary);
    check_trouble("may be written by others (mode 0770); `chmod go-w");
    check_described("may be written by others");
    CHECK_FAILS(mmt_cache_check(&err), err, MMT_ERROR_IO, "may be written by others");
    CHECK(!mmt_cache_is_full(NULL));

    CHECK(!chmod(mmt_text_string(&path), 0700));
    CHECK(cached("kept", "kept"));
    CHECK(!cached("not kept", "kept"));
    mmt_cache_put("kept", &binary);
    check_trouble(NULL);
    check_described(NULL);
}

static int count_unfinished(void)
{
    SCOPED_TEXT command = { 0 };
    char line[256];
    int count = 0;
    mmt_text_add(&command, "ls -A ");
    mmt_file_cache_folder(&command);
    FILE *list = popen(mmt_text_string(&command), "r");
    while (list && fgets(line, sizeof line, list))
        count += strstr(line, ".tmp") || strstr(line, "0000000000000000");
    if (list)
        pclose(list);
    return count;
}

static void check_full(int code)
{
    static char large[1 << 19];
    struct mmt_binary binary = binary_of("small"),
                      too_large = { large, sizeof large, NULL };

    mmt_cache_put("small", &binary);
    check_trouble(NULL);
    check_described(NULL); /* what it compiles is stored before the rest fails */
    mmt_cache_put("too large", &too_large);
    check_trouble("no room left");
    check_described("no room left");
    CHECK_FAILS(mmt_cache_check(&err), err, MMT_ERROR_IO,
                "name another folder with XDG_");
    CHECK_EQ_INT(err.native, code);
    CHECK(mmt_cache_is_full(&err));
    CHECK(cached("small", "small"));
    CHECK_EQ_INT(count_unfinished(), 0);
}

static void test_cache_of_short_files(void)
{
    struct rlimit before = { 0 }, small;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(!getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = 1 << 18;
    CHECK(!setrlimit(RLIMIT_FSIZE, &small));
    check_full(EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    mmt_cache_put("small", &(struct mmt_binary){ "x", 1, NULL });
    check_trouble(NULL);
}

/* A file system of a few pages, which nobody but this process sees. */
static bool mount_small(const char *where)
{
    return !unshare(CLONE_NEWNS) &&
           !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount("none", where, "tmpfs", 0, "size=393216");
}

static void test_cache_on_a_full_disk(void)
{
    if (!mount_small(folder)) {
        printf("left out: no small file system can be mounted here: %s\n",
               strerror(errno));
        return;
    }
    check_full(ENOSPC);
    CHECK(!umount2(folder, MNT_DETACH));
}

/* ---- the limit's text -------------------------------------------------------------- */

static void test_cache_limit_texts(void)
{
    static const struct {
        const char *text;
        long long bytes; /* -1: refused */
    } cases[] = {
        { "0", 0 },
        { "1234", 1234 },
        { "1K", 1024 },
        { "10M", 10 << 20 },
        { "10m", 10 << 20 },
        { "2G", 2LL << 30 },
        { "", 256 << 20 },
        { "10MB", -1 },
        { "10 M", -1 },
        { "M", -1 },
        { "-1", -1 },
        { " 1", -1 },
        { "1.5G", -1 },
        { "ten", -1 },
        { "10T", -1 },
        { "9223372036854775807", 0x7fffffffffffffff },
        { "9223372036854775808", -1 },
        { "9007199254740992K", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        off_t got = -1;
        char words[64];
        setenv("MMTUNE_CACHE_LIMIT", cases[i].text, 1);
        snprintf(words, sizeof words, "MMTUNE_CACHE_LIMIT is '%s'; it must be",
                 cases[i].text);
        if (cases[i].bytes >= 0)
            CHECK_OK(mmt_cache_limit(&got, &err), err);
        else
            CHECK_FAILS(mmt_cache_limit(&got, &err), err, MMT_ERROR_ARGUMENT, words);
        CHECK_EQ_INT(got, cases[i].bytes < 0 ? 256 << 20 : cases[i].bytes);
    }
    /* A plan goes on without it, and says so. */
    struct mmt_binary binary = binary_of("of no limit");
    setenv("MMTUNE_CACHE_LIMIT", "ten", 1);
    mmt_cache_put("no limit", &binary);
    check_trouble("MMTUNE_CACHE_LIMIT is 'ten'");
    CHECK(cached("no limit", "of no limit"));
    unsetenv("MMTUNE_CACHE_LIMIT");
}

/* ---- sharing ----------------------------------------------------------------------- */

enum { WRITERS = 4, ROUNDS = 20, LONGEST = 1 << 16 };

/* A writer's binary is its letter, over and over: of any length, by the round. */
static bool one_letter(const struct mmt_binary *binary)
{
    const char *data = binary->data;
    for (size_t i = 1; i < binary->size; i++)
        if (data[i] != data[0])
            return false;
    return true;
}

static bool write_and_read(int writer)
{
    static char letters[LONGEST];
    memset(letters, 'a' + writer, sizeof letters);
    for (int i = 0; i < ROUNDS; i++) {
        struct mmt_binary got, own = { .data = letters, .size = LONGEST >> i % 8 };
        mmt_cache_put("shared", &own);
        if (!mmt_cache_get("shared", &got))
            return false;
        bool whole = one_letter(&got);
        mmt_binary_finish(&got);
        if (!whole)
            return false;
    }
    return true;
}

static void test_cache_of_many_processes(void)
{
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(!write_and_read(i));
    }
    for (int i = 0; i < WRITERS; i++) {
        int state = 1;
        CHECK(children[i] > 0 && waitpid(children[i], &state, 0) == children[i]);
        CHECK(state == 0);
    }
}

/* ---- warnings -------------------------------------------------------------------- */

static bool warns(mmt_device *device, const struct mmt_config *config, bool *found)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F64, 4096, 4096, 4096);
    struct mmt_variant variant = mmt_variant_of(&problem, true);
    SCOPED_TEXT log = { 0 };
    char why[256];
    CHECK_OK(mmt_kernel_compile(device, config, &variant, &log, found, &err), err);
    bool warned = mmt_log_warns(mmt_text_string(&log), why);
    return warned;
}

/* A kernel whose registers spill, and one whose do not: the compiler says so once, the
 * cache each time. */
static void test_warnings_are_kept(void)
{
    struct mmt_config spills, fits;
    bool found;
    SCOPED_DEVICE *device = mmt_device_open("null:sm_90", &err);
    if (!device) {
        printf("warnings left out: %s\n", err.text);
        return;
    }
    spills = config_of("simt TILE_M=128 TILE_N=128 TILE_K=8 THREAD_TILE_M=16 "
                       "THREAD_TILE_N=8 C_VECTOR=2 A_VECTOR=2 B_VECTOR=2");
    fits = config_of("simt TILE_M=64 TILE_N=64 TILE_K=8 THREAD_TILE_M=4 THREAD_TILE_N=4 "
                     "C_VECTOR=2 A_VECTOR=2 B_VECTOR=2");
    for (int round = 0; round < 2; round++) {
        CHECK(warns(device, &spills, &found));
        CHECK_EQ_INT(found, round);
        CHECK(!warns(device, &fits, &found));
        CHECK_EQ_INT(found, round);
    }
}

int main(void)
{
    make_folder();
    setenv("XDG_CACHE_HOME", folder, 1);
    test_cache();
    test_cache_log();
    test_cache_limit();
    test_cache_rights();
    test_cache_damage();
    test_cache_umask();
    test_cache_planted();
    test_cache_folder_of_others();
    test_cache_of_short_files();
    test_cache_limit_texts();
    test_cache_of_many_processes();
    test_cache_on_a_full_disk();
    test_warnings_are_kept();
    return test_end("cache");
}
