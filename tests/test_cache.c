/* The cache of compiled kernels: what it keeps, drops, refuses, and shares. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/runtime.h"
#include "tests/test.h"

static char folder[] = "/tmp/mmtune-cache-XXXXXX";

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
    struct mmt_text path = { 0 };
    struct stat st;

    CHECK(!cached("key 1", "first binary"));
    mmt_cache_put("key 1", &one);
    CHECK(cached("key 1", "first binary"));
    CHECK(!cached("key 2", "first binary"));
    mmt_cache_put("key 1", &two);
    CHECK(cached("key 1", "second binary"));

    mmt_file_cache_folder(&path);
    CHECK(stat(mmt_text_string(&path), &st) == 0 && (st.st_mode & 0777) == 0700);
    mmt_text_finish(&path);
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

/* The least recently used goes first. */
static void test_cache_limit(void)
{
    static char large[4096];
    memset(large, 'x', sizeof large - 1);
    struct mmt_binary binary = binary_of(large);

    mmt_cache_put("old", &binary);
    usleep(20000);
    mmt_cache_put("middle", &binary);
    usleep(20000);
    CHECK(cached("old", large)); /* used: now the middle one is the oldest */
    usleep(20000);
    setenv("MMTUNE_CACHE_LIMIT", "10000", 1);
    mmt_cache_put("new", &binary);
    unsetenv("MMTUNE_CACHE_LIMIT");
    CHECK(cached("new", large));
    CHECK(cached("old", large));
    CHECK(!cached("middle", large));
}

static void add_cached_path(const char *key, struct mmt_text *path)
{
    char name[33];
    mmt_file_cache_folder(path);
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), key, strlen(key)), name);
    mmt_text_addf(path, "/%s.bin", name);
}

/* A file that others may write to is a miss. */
static void test_cache_rights(void)
{
    struct mmt_binary binary = binary_of("anybody's");
    struct mmt_text path = { 0 };
    mmt_cache_put("rights", &binary);
    add_cached_path("rights", &path);
    CHECK(cached("rights", "anybody's"));
    CHECK(chmod(path.data, 0666) == 0);
    CHECK(!cached("rights", "anybody's"));
    mmt_text_finish(&path);
}

static void write_damaged(const char *path, const void *bytes, size_t length)
{
    mmt_error err;
    CHECK_OK(mmt_file_replace(path, bytes, length, &err), err);
}

/* Whatever bit changed, and wherever it was cut, a damaged file is a miss. */
static void test_cache_damage(void)
{
    struct mmt_binary binary = binary_of("to be damaged"), got;
    struct mmt_text path = { 0 }, file = { 0 };
    mmt_error err;

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
    mmt_text_finish(&path);
    mmt_text_finish(&file);
}

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
    struct mmt_text log = { 0 };
    mmt_error err = { 0 };
    char why[256];
    CHECK_OK(mmt_kernel_compile(device, config, &variant, &log, found, &err), err);
    bool warned = mmt_log_warns(mmt_text_string(&log), why);
    mmt_text_finish(&log);
    return warned;
}

/* A kernel whose registers spill, and one whose do not: the compiler says so once, the
 * cache each time. */
static void test_warnings_are_kept(void)
{
    mmt_error err = { 0 };
    struct mmt_config spills, fits;
    bool found;
    mmt_device *device = mmt_device_open("null:sm_90", &err);
    if (!device) {
        printf("warnings left out: %s\n", err.text);
        return;
    }
    CHECK_OK(mmt_config_parse("simt TILE_M=128 TILE_N=128 TILE_K=8 WORK_M=16 WORK_N=8 "
                              "C_VECTOR=2 A_VECTOR=2 B_VECTOR=2",
                              &spills, &err),
             err);
    CHECK_OK(mmt_config_parse("simt TILE_M=64 TILE_N=64 TILE_K=8 WORK_M=4 WORK_N=4 "
                              "C_VECTOR=2 A_VECTOR=2 B_VECTOR=2",
                              &fits, &err),
             err);
    for (int round = 0; round < 2; round++) {
        CHECK(warns(device, &spills, &found));
        CHECK_EQ_INT(found, round);
        CHECK(!warns(device, &fits, &found));
        CHECK_EQ_INT(found, round);
    }
    mmt_device_close(device);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    test_cache();
    test_cache_log();
    test_cache_limit();
    test_cache_rights();
    test_cache_damage();
    test_cache_of_many_processes();
    test_warnings_are_kept();
    return test_end("cache");
}
