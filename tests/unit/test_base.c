/* Text, hash, files, problems. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/near.h"
#include "base/problem.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

/* ---- text and errors ------------------------------------------------------------- */

static void test_text(void)
{
    struct mmt_text text = { 0 };
    CHECK_EQ_STR(mmt_text_string(&text), "");
    mmt_text_add(&text, "");
    CHECK_EQ_STR(text.data, "");
    for (int i = 0; i < 100; i++)
        mmt_text_addf(&text, "%d,", i);
    CHECK_EQ_INT(text.length, 290);
    CHECK(!strncmp(text.data, "0,1,2,", 6) && !strcmp(text.data + 284, "98,99,"));
    mmt_text_add_bytes(&text, "a\0b", 3);
    CHECK_EQ_INT(text.length, 293);
    CHECK(!memcmp(text.data + 290, "a\0b", 4));

    mmt_text_add_bytes(&text, "", (size_t) -1);
    CHECK(text.failed);
    mmt_text_add(&text, "more");
    CHECK_EQ_INT(text.length, 293);
    mmt_text_finish(&text);
    CHECK(!text.data && !text.failed && !text.capacity);
}

/* Bytes of a driver: whole characters stay, whatever else is there becomes '?'. */
static void test_plain(void)
{
    static const char *const rows[][2] = {
        { "Karte \xc3\xbc \xe2\x82\xac \xf0\x9f\x8e\x89", NULL },
        { "Karte \xfc", "Karte ?" },
        { "\xc3", "?" },
        { "\xe2\x82", "??" },
        { "\xf0\x9f\x8e", "???" },
        { "\x80\xbf", "??" },
        { "\xc0\xaf", "??" },
        { "\xe0\x9f\xbf", "???" },
        { "\xed\xa0\x80", "???" },
        { "\xf4\x90\x80\x80", "????" },
        { "\xff\xfe a\nb\x1b[1m\x7f", "?? a?b?[1m?" },
    };
    struct mmt_caps caps = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", rows[i][0]);
        mmt_text_make_plain(text);
        CHECK_EQ_STR(text, rows[i][1] ? rows[i][1] : rows[i][0]);
    }
    /* As where a field ends within a character. */
    for (size_t i = 0; i + 2 < sizeof caps.name; i += 2)
        memcpy(caps.name + i, "\xc3\xbc", 2);
    caps.name[sizeof caps.name - 2] = '\xc3';
    strcpy(caps.driver, "1.2 \xe9");
    mmt_caps_make_plain(&caps);
    CHECK(!strncmp(caps.name, "\xc3\xbc\xc3\xbc", 4));
    CHECK_EQ_STR(caps.name + sizeof caps.name - 4, "\xc3\xbc?");
    CHECK_EQ_STR(caps.driver, "1.2 ?");
}

static void test_near(void)
{
    static const char *const names[] = { "gelu", "gelu_tanh", "squares", "--seed", NULL };
    static const char *const none[] = { NULL };

    CHECK_EQ_STR(mmt_near_find("sq", names), "squares"); /* begins it alone */
    CHECK_EQ_STR(mmt_near_find("gel", names), "gelu");   /* begins two, is near one */
    CHECK_EQ_STR(mmt_near_find("GELU_TAHN", names), "gelu_tanh");
    CHECK_EQ_STR(mmt_near_find("--sead", names), "--seed");
    CHECK_EQ_STR(mmt_near_find("scuarees", names), "squares");
    CHECK(!mmt_near_find("sqarrees", names)); /* three edits */
    CHECK(!mmt_near_find("", names) && !mmt_near_find("--", names));
    CHECK(!mmt_near_find("x", names) && !mmt_near_find("gelu", none));
    CHECK(!mmt_near_find("a_word_of_more_letters_than_any_name", names));

    CHECK_FAILS(mmt_near_fail(&err, "sead", names, "there are", "no '%s'", "sead"), err,
                MMT_ERROR_ARGUMENT,
                "no 'sead' (did you mean '--seed'?); there are gelu, gelu_tanh, squares "
                "and --seed");
    CHECK_FAILS(mmt_near_fail(&err, "x", none, "it has", "no x"), err, MMT_ERROR_ARGUMENT,
                "no x; it has none");
}

static void test_errors(void)
{
    mmt_error err = { 0 };
    CHECK(mmt_fail(NULL, MMT_ERROR_IO, "nobody asks") == MMT_ERROR_IO);
    CHECK(mmt_fail_native(&err, MMT_ERROR_DEVICE, 700, "launch of %s", "x") ==
          MMT_ERROR_DEVICE);
    CHECK_EQ_INT(err.native, 700);
    CHECK_EQ_STR(err.text, "launch of x");
    mmt_fail(&err, MMT_ERROR_MEMORY, "while planning: %s", err.text);
    CHECK_EQ_STR(err.text, "while planning: launch of x");
    CHECK_EQ_INT(err.native, 0);
    mmt_fail(&err, MMT_ERROR_MEMORY, "%2000d", 1);
    CHECK_EQ_INT(strlen(err.text), sizeof(err.text) - 1);

    CHECK_EQ_STR(mmt_status_name(MMT_OK), "no error");
    CHECK_EQ_STR(mmt_status_name(MMT_ERROR_IO), "input/output error");
    CHECK_EQ_STR(mmt_status_name((mmt_status) 77), "unknown status");
    CHECK_EQ_STR(mmt_status_name((mmt_status) -1), "unknown status");

    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", MMT_VERSION_MAJOR, MMT_VERSION_MINOR,
             MMT_VERSION_PATCH);
    CHECK_EQ_STR(mmt_version(), version);
}

/* ---- hash ------------------------------------------------------------------------ */

static void test_hash(void)
{
    char out[33];
    mmt_hash_print(mmt_hash_start(), out);
    CHECK_EQ_STR(out, "6c62272e07bb014262b821756295c58d");
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), "a", 1), out);
    CHECK_EQ_STR(out, "d228cb696f1a8caf78912b704e4a8964");
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), "foobar", 6), out);
    CHECK_EQ_STR(out, "343e1662793c64bf6f0d3597ba446f18");

    struct mmt_hash parts = mmt_hash_add(mmt_hash_start(), "foo", 3);
    mmt_hash_print(mmt_hash_add(parts, "bar", 3), out);
    CHECK_EQ_STR(out, "343e1662793c64bf6f0d3597ba446f18");
}

/* ---- files ----------------------------------------------------------------------- */

/* Files in a folder, of which `like` must be part of the name. */
static int count_files(const char *where, const char *like)
{
    char command[1024], line[512];
    int count = 0;
    snprintf(command, sizeof(command), "ls -a '%s'", where);
    FILE *list = popen(command, "r");
    while (list && fgets(line, sizeof(line), list))
        count += strstr(line, like) != NULL;
    if (list)
        pclose(list);
    return count;
}

static void test_replace(void)
{
    SCOPED_TEXT text = { 0 };
    const char *path = in_folder("a/b/file.json");

    CHECK_OK(mmt_file_replace(path, "old", 3, &err), err);
    CHECK_OK(mmt_file_replace(path, "newer\0!", 7, &err), err);
    CHECK_OK(mmt_file_read(path, 7, &text, &err), err);
    CHECK(text.length == 7 && !memcmp(text.data, "newer\0!", 8));
    CHECK_EQ_INT(count_files(in_folder("a/b"), "file.json"), 1);

    struct stat made;
    CHECK(!stat(in_folder("a/b"), &made) && (made.st_mode & 0777) == 0700);

    CHECK_OK(mmt_file_replace(in_folder("a/empty"), "", 0, &err), err);
    CHECK_OK(mmt_file_read(in_folder("a/empty"), 0, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "");
}

static void test_replace_fails(void)
{
    SCOPED_TEXT text = { 0 };
    mmt_file_replace(in_folder("kept"), "kept", 4, NULL);

    CHECK_FAILS(mmt_file_replace(in_folder("kept/below"), "x", 1, &err), err,
                MMT_ERROR_IO, "kept");
    CHECK_EQ_INT(err.native, ENOTDIR);
    CHECK_OK(mmt_file_read(in_folder("kept"), 100, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "kept");

    CHECK_OK(mmt_file_make_folder(in_folder("taken"), &err), err);
    CHECK_FAILS(mmt_file_replace(in_folder("taken"), "x", 1, &err), err, MMT_ERROR_IO,
                "taken': Is a directory");
    CHECK_EQ_INT(count_files(folder, ".tmp"), 0);

    if (!access("/proc/self", R_OK))
        CHECK_FAILS(mmt_file_replace("/proc/self/mmtune/x", "x", 1, &err), err,
                    MMT_ERROR_NOT_FOUND, "/proc/self/mmtune");
}

/* A write that breaks off, as on a full disk, leaves the old file and no other. */
static void test_replace_breaks_off(void)
{
    struct mmt_text text = { 0 };
    struct rlimit before = { 0 }, small;
    char *large = calloc(1, 1 << 20);
    const char *path = in_folder("torn");

    CHECK_OK(mmt_file_replace(path, "old", 3, &err), err);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(large && !getrlimit(RLIMIT_FSIZE, &before));
    small = before;
    small.rlim_cur = 4096;
    CHECK(!setrlimit(RLIMIT_FSIZE, &small));
    CHECK_FAILS(mmt_file_replace(path, large, 1 << 20, &err), err, MMT_ERROR_IO, "torn");
    CHECK_EQ_INT(err.native, EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);

    CHECK_OK(mmt_file_read(path, 100, &text, &err), err);
    CHECK_EQ_STR(mmt_text_string(&text), "old");
    CHECK_EQ_INT(count_files(folder, "torn"), 1);
    mmt_text_finish(&text);
    free(large);
}

static void test_read_fails(void)
{
    SCOPED_TEXT text = { 0 };
    mmt_text_add(&text, "replaced");
    CHECK_FAILS(mmt_file_read(in_folder("absent"), 9, &text, &err), err,
                MMT_ERROR_NOT_FOUND, "absent': No such file");
    CHECK(!text.data);
    CHECK_FAILS(mmt_file_read(folder, 9, &text, &err), err, MMT_ERROR_IO,
                "is a folder; a regular file is needed");

    mmt_file_replace(in_folder("ten"), "0123456789", 10, NULL);
    CHECK_FAILS(mmt_file_read(in_folder("ten"), 9, &text, &err), err, MMT_ERROR_FORMAT,
                "longer than 9 bytes");
    CHECK_OK(mmt_file_read(in_folder("ten"), 10, &text, &err), err);
    CHECK_EQ_INT(text.length, 10);
}

static void check_folder(void add(struct mmt_text *), const char *wanted)
{
    SCOPED_TEXT text = { 0 };
    add(&text);
    CHECK_EQ_STR(mmt_text_string(&text), wanted);
}

static void test_folders(void)
{
    setenv("HOME", "/home/someone", 1);
    unsetenv("XDG_DATA_HOME");
    setenv("XDG_CACHE_HOME", "relative", 1);
    check_folder(mmt_file_data_folder, "/home/someone/.local/share/mmtune");
    check_folder(mmt_file_cache_folder, "/home/someone/.cache/mmtune");
    setenv("XDG_DATA_HOME", "/data", 1);
    setenv("XDG_CACHE_HOME", "/cache", 1);
    check_folder(mmt_file_data_folder, "/data/mmtune");
    check_folder(mmt_file_cache_folder, "/cache/mmtune");
}

/* ---- problems -------------------------------------------------------------------- */

static void test_normalise(void)
{
    mmt_problem in = mmt_gemm_problem(MMT_F64, 3, 5, 7), out;
    in.trans_a = 1;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.lda == 3 && out.ldb == 5 && out.ldc == 5 && out.trans_a == 1);
    CHECK(out.batch == 1 && !out.stride_a && !out.stride_b && !out.stride_c);
    CHECK_EQ_INT(mmt_problem_extent_a(&out), 21);
    CHECK_EQ_INT(mmt_problem_extent_b(&out), 35);
    CHECK_EQ_INT(mmt_problem_extent_c(&out), 15);
    CHECK(mmt_problem_flops(&out) == 210 && mmt_problem_bytes(&out) == 71 * 8);

    in.batch = 4, in.stride_a = 30, in.ldc = 6;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.stride_a == 30 && out.stride_b == 0 && out.stride_c == 18);
    CHECK_EQ_INT(mmt_problem_extent_a(&out), 3 * 30 + 21);
    CHECK_EQ_INT(mmt_problem_extent_b(&out), 35);
    CHECK_EQ_INT(mmt_problem_extent_c(&out), 3 * 18 + 2 * 6 + 5);
    CHECK(mmt_problem_flops(&out) == 840);
    CHECK(mmt_problem_bytes(&out) == (4 * 21 + 35 + 4 * 15) * 8);

    mmt_problem again;
    CHECK_OK(mmt_problem_normalise(&out, &again, &err), err);
    CHECK(mmt_problem_equal(&out, &again));
    again.stride_c++;
    CHECK(!mmt_problem_equal(&out, &again));
}

/* Strides of a batch by pointers are not read: its matrices count as apart. */
static void test_normalise_pointers(void)
{
    mmt_problem in = mmt_gemm_problem(MMT_F32, 3, 5, 7), out, other;
    in.batch_by = MMT_BY_POINTERS;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.batch_by == MMT_BY_POINTERS && !out.stride_a && !out.stride_c);
    in.batch = 4, in.stride_a = -3, in.stride_c = 1;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.stride_a == 21 && out.stride_b == 35 && out.stride_c == 15);
    CHECK(mmt_problem_bytes(&out) == 4 * (21 + 35 + 15) * 4);
    other = mmt_problem_fold(&out);
    CHECK(mmt_problem_equal(&out, &other));
    other.batch_by = MMT_BY_STRIDE;
    CHECK(!mmt_problem_equal(&out, &other));
    in.size = offsetof(mmt_problem, batch_by), in.stride_a = 21, in.stride_c = 15;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK_EQ_INT(out.batch_by, MMT_BY_STRIDE);
    for (int i = 0; i < MMT_NUM_BATCH_BYS; i++)
        CHECK_EQ_INT(mmt_batch_by_parse(mmt_batch_by_name((mmt_batch_by) i)), i);
}

/* Extents count elements; bytes are those of A and B, and of C and the bias. */
static void test_normalise_types(void)
{
    mmt_problem out, in = mmt_gemm_problem(MMT_BF16, 3, 5, 7);
    CHECK(in.out == MMT_BF16 && mmt_gemm_problem(MMT_F8E5M2, 1, 1, 1).out == MMT_BF16);
    in.out = MMT_F32, in.bias = MMT_BIAS_N, in.activation = MMT_GELU;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.out == MMT_F32 && out.bias == MMT_BIAS_N && out.activation == MMT_GELU);
    CHECK(mmt_problem_extent_a(&out) == 21 && mmt_problem_extent_c(&out) == 15);
    CHECK(mmt_problem_bytes(&out) == (21 + 35) * 2 + (15 + 5) * 4);

    CHECK_OK(mmt_problem_parse("gemm f32 nn 3x5x7 lda=2", &out, &err), err);
    CHECK_EQ_INT(mmt_problem_extent_a(&out), 2 * 2 + 7);
    CHECK(mmt_problem_bytes(&out) == (11 + 35 + 15) * 4);
    in.bias = MMT_BIAS_M;
    CHECK_OK(mmt_problem_normalise(&in, &in, &err), err);
    CHECK(mmt_problem_bytes(&in) == (21 + 35) * 2 + (15 + 3) * 4);
    CHECK(!mmt_problem_equal(&in, &out));

    /* Where there is no choice, whatever stands there is not looked at. */
    in = mmt_gemm_problem(MMT_I8, 3, 5, 7);
    in.out = MMT_F32, in.activation = MMT_RELU;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(out.out == MMT_I32 && out.activation == MMT_RELU);
    CHECK(mmt_problem_bytes(&out) == 21 + 35 + 15 * 4);

    /* C of 4-byte elements overflows where A and B of 1 byte do not. */
    in = mmt_gemm_problem(MMT_I8, 1, 1, 1);
    in.batch = 2, in.stride_a = INT64_MAX / 4 + 1;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    in.stride_c = INT64_MAX / 4 + 1;
    CHECK_FAILS(mmt_problem_normalise(&in, &out, &err), err, MMT_ERROR_ARGUMENT,
                "stride_c");
}

static void test_normalise_empty(void)
{
    mmt_problem out, in = mmt_gemm_problem(MMT_F32, 0, 5, 7);
    in.batch = 0;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(mmt_problem_extent_a(&out) == 0 && mmt_problem_extent_b(&out) == 35 &&
          mmt_problem_extent_c(&out) == 0 && out.batch == 1);
    in = mmt_gemm_problem(MMT_F32, 4, 5, 0);
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK(mmt_problem_extent_a(&out) == 0 && mmt_problem_extent_c(&out) == 20);
}

/* The limits themselves are right: more than 2^31 elements, the largest dimension, heads
 * side by side in wide rows. */
static void test_normalise_limits(void)
{
    mmt_problem out, in = mmt_gemm_problem(MMT_F32, 65536, MMT_MOST_DIMENSION, 1);
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK_EQ_INT(mmt_problem_extent_c(&out), 65536LL * MMT_MOST_DIMENSION);

    in = mmt_gemm_problem(MMT_F32, 128, 64, 64);
    in.batch = 12, in.ldc = 12 * 64, in.stride_c = 64;
    CHECK_OK(mmt_problem_normalise(&in, &out, &err), err);
    CHECK_EQ_INT(mmt_problem_extent_c(&out), 128 * 12 * 64);
}

static void refuse(mmt_problem in, mmt_argument which, const char *words)
{
    mmt_problem out = mmt_gemm_problem(MMT_I32, 1, 1, 1), before = out;
    CHECK_FAILS(mmt_problem_normalise(&in, &out, &err), err, MMT_ERROR_ARGUMENT, words);
    CHECK_EQ_STR(mmt_argument_name(err.argument), mmt_argument_name(which));
    CHECK(!memcmp(&out, &before, sizeof(out)));
}

/* The sentence, and the number of the argument that it is about. */
#define REFUSE(which, words, ...)                                                        \
    do {                                                                                 \
        mmt_problem p = mmt_gemm_problem(MMT_F32, 10, 20, 30);                           \
        __VA_ARGS__;                                                                     \
        refuse(p, MMT_ARGUMENT_##which, words);                                          \
    } while (0)

static void test_refused(void)
{
    REFUSE(SIZE, "size is 0", p.size = 0);
    REFUSE(OP, "op is 9", p.op = (mmt_op) 9);
    REFUSE(TYPE, "type is 99", p.type = (mmt_type) 99);
    REFUSE(TYPE, "type is -1", p.type = (mmt_type) -1);
    REFUSE(OUT, "out is f16; for a product of bf16 there are f32 and bf16",
           p.type = MMT_BF16, p.out = MMT_F16);
    REFUSE(OUT, "out is i8; for a product of f8e4m3", p.type = MMT_F8E4M3,
           p.out = MMT_I8);
    REFUSE(OUT, "out is 77; for a product of f16", p.type = MMT_F16,
           p.out = (mmt_type) 77);
    REFUSE(TRANS_A, "trans_a is 2; it must be 0 or 1", p.trans_a = 2);
    REFUSE(TRANS_B, "trans_b is 3; it must be 0 or 1", p.trans_b = 3);
    REFUSE(BIAS, "bias is 3; it must be from 0 (none) to 2 (column)",
           p.bias = (mmt_bias) 3);
    REFUSE(ACTIVATION, "activation is 5; it must be", p.activation = (mmt_activation) 5);
    REFUSE(ACTIVATION, "activation is gelu; of whole numbers (i32) there is relu alone",
           p.type = MMT_I32, p.activation = MMT_GELU);
    REFUSE(ACTIVATION, "activation is silu; of whole numbers (i8)", p.type = MMT_I8,
           p.activation = MMT_SILU);
    REFUSE(M, "m is -1; it must be from 0 to 2147418112", p.m = -1);
    REFUSE(N, "n is 2147418113", p.n = 2147418113);
    REFUSE(K, "k is 9223372036854775807", p.k = INT64_MAX);
    REFUSE(BATCH, "batch is -2", p.batch = -2);
    REFUSE(LDA, "lda is -1; it must be from 1", p.lda = -1);
    REFUSE(LDB, "ldb is -20; it must be from 1", p.ldb = -20);
    REFUSE(LDC, "ldc is 2147483648", p.ldc = 2147483648);
    REFUSE(LDC, "ldc is 4; C has rows of 20", p.ldc = 4);
    REFUSE(BATCH_BY, "batch_by is 2; it must be 0 (stride) or 1 (pointers)",
           p.batch_by = (mmt_batch_by) 2);
    REFUSE(BATCH_BY, "batch_by is pointers, which gemm has, and dot has not",
           p.op = MMT_DOT, p.n = 1, p.batch_by = MMT_BY_POINTERS);
    REFUSE(STRIDE_A, "stride_a is -1", p.stride_a = -1);
    REFUSE(STRIDE_B, "stride_b is -5", p.stride_b = -5, p.batch = 2);
    REFUSE(STRIDE_C, "stride_c is 199", p.stride_c = 199, p.batch = 2);
    REFUSE(STRIDE_C, "stride_c is 20", p.stride_c = 20, p.ldc = 59, p.batch = 3);
    REFUSE(NONE, "below 2^63 bytes", p.batch = INT64_MAX);
    REFUSE(NONE, "stride_a 2305843009213693952", p.batch = 2,
           p.stride_a = INT64_MAX / 4 + 1);
    REFUSE(NONE, "stride_b 9223372036854775807", p.batch = 3, p.stride_b = INT64_MAX);

    /* Other operations, beside what test_op.c has of them. */
    REFUSE(TYPE, "type is bf16; dot has", p.op = MMT_DOT, p.type = MMT_BF16);
    REFUSE(N, "n is 20; dot has none", p.op = MMT_DOT);
    REFUSE(TRANS_B, "trans_b is 1; axpby has none", p.op = MMT_AXPBY, p.trans_b = 1);
    REFUSE(BIAS, "bias is 1; axpby has none", p.op = MMT_AXPBY, p.bias = MMT_BIAS_M);
    REFUSE(M, "m is 2; a grid of heat2d", p.op = MMT_HEAT2D, p.m = 2, p.k = 1);
    REFUSE(LDB, "heat2d has no B", p.op = MMT_HEAT2D, p.ldb = 5, p.k = 1);
}

/* Every number has a name, and what is about no argument says so. */
static void test_arguments(void)
{
    err.argument = MMT_ARGUMENT_LDA;
    CHECK_EQ_STR(mmt_argument_name(MMT_ARGUMENT_NONE), "");
    CHECK_EQ_STR(mmt_argument_name((mmt_argument) 999), "");
    for (int i = MMT_ARGUMENT_NONE + 1; i <= MMT_ARGUMENT_BATCH_BY; i++)
        CHECK(mmt_argument_name((mmt_argument) i)[0]);
    mmt_fail(&err, MMT_ERROR_IO, "about no argument");
    CHECK(err.argument == MMT_ARGUMENT_NONE);
}

static void round_trip(const char *string)
{
    mmt_problem problem, again;
    SCOPED_TEXT text = { 0 };
    if (!CHECK_OK(mmt_problem_parse(string, &problem, &err), err))
        return;
    mmt_problem_print(&problem, &text);
    CHECK_EQ_STR(mmt_text_string(&text), string);
    CHECK_OK(mmt_problem_parse(mmt_text_string(&text), &again, &err), err);
    CHECK(mmt_problem_equal(&problem, &again));
}

static void test_spelling(void)
{
    round_trip("gemm f32 nn 4096x4096x4096");
    round_trip("gemm f64 tn 1x2x3");
    round_trip("gemm i32 tt 0x0x0");
    round_trip("gemm f32 nt 3x4x5 lda=6 ldb=7 ldc=8");
    round_trip("gemm f32 nn 3x4x5 lda=1 ldb=3");
    round_trip("gemm f32 nn 64x64x64 batch=100");
    round_trip("gemm f32 nn 64x64x64 lda=65 batch=100 stride_a=0 stride_c=5000");
    round_trip("gemm f32 nn 64x0x64 batch=2 stride_a=0");
    round_trip("gemm bf16 nt 4096x4096x4096");
    round_trip("gemm bf16 nt 64x64x64 out=f32");
    round_trip("gemm f8e4m3 nt 64x64x64 out=f16 bias=row activation=gelu_tanh ldc=65");
    round_trip("gemm f8e5m2 nt 64x64x64 bias=column activation=silu batch=3");
    round_trip("gemm f16 tn 64x64x64 activation=gelu");
    round_trip("gemm tf32 tt 64x64x64 bias=column");
    round_trip("gemm f64 nn 64x64x64 bias=row");
    round_trip("gemm i8 nn 64x64x64 bias=column activation=relu");
    round_trip("gemm f16 tn 64x64x64 batch_by=pointers");
    round_trip("gemm f16 tn 64x64x64 lda=72 batch_by=pointers batch=5");

    mmt_problem p;
    CHECK_OK(mmt_problem_parse("gemm f32 nt 3x4x5 ldb=7 batch=2 stride_a=0", &p, &err),
             err);
    CHECK(p.m == 3 && p.n == 4 && p.k == 5 && !p.trans_a && p.trans_b && p.batch == 2);
    CHECK(p.lda == 5 && p.ldb == 7 && p.ldc == 4);
    CHECK(p.stride_a == 0 && p.stride_b == 28 && p.stride_c == 12);

    CHECK_OK(mmt_problem_parse("gemm f16 nn 2x2x2 out=f16 bias=none", &p, &err), err);
    CHECK(p.out == MMT_F16 && p.bias == MMT_BIAS_NONE && p.activation == 0);
}

static void test_parse_fails(void)
{
    static const struct {
        const char *string, *words;
    } bad[] = {
        { "", "'' is no operation" },
        { "gemv f32 nn 1x1x1", "'gemv' is no operation" },
        { "gemm f33 nn 1x1x1", "'f33' is no type" },
        { "gemm f32", "'' says nothing about transposes" },
        { "gemm f32 nx 1x1x1", "'nx'" },
        { "gemm f32 nnn 1x1x1", "'nnn'" },
        { "gemm f32 nn", "'' is no shape" },
        { "gemm f32 nn 1x1", "'1x1' is no shape" },
        { "gemm f32 nn 1x1x1x1", "'1x1x1x1' is no shape" },
        { "gemm f32 nn 1x-1x1", "'1x-1x1' is no shape" },
        { "gemm f32 nn 1x1x99999999999999999999", "is no shape" },
        { "gemm f32 nn 1x1x2147483648", "k is 2147483648" },
        { "gemm f32 nn 4294967296x1x4294967296 batch=2", "m is 4294967296" },
        { "gemm f32 nn 1x1x1 ldd=4", "'ldd=4' is no field" },
        { "gemm f32 nn 1x1x1 lda", "'lda' must be lda=NUMBER" },
        { "gemm f32 nn 1x1x1 lda=", "'lda=' must be" },
        { "gemm f32 nn 1x1x1 lda=0x10", "'lda=0x10' must be" },
        { "gemm f32 nn 1x1x1 batch=-1", "'batch=-1' must be" },
        { "gemm f32 nn 9x9x9 ldc=8", "ldc is 8" },
        { "gemm bf16 nn 9x9x9 out=f17", "'out=f17': out must be a type, such as f32" },
        { "gemm bf16 nn 9x9x9 out=f16", "out is f16" },
        { "gemm bf16 nn 9x9x9 bias=both",
          "'bias=both': bias must be none, row or column" },
        { "gemm bf16 nn 9x9x9 activation",
          "'activation': activation must be none, relu" },
        { "gemm i8 nn 9x9x9 activation=gelu", "relu alone" },
    };
    mmt_problem out;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_FAILS(mmt_problem_parse(bad[i].string, &out, &err), err, MMT_ERROR_ARGUMENT,
                    bad[i].words);
}

/* What one cell of a type's row says of another: a row that is left out fails. */
static void check_row(mmt_type type)
{
    const mmt_type family = mmt_type_family(type), slice = mmt_type_slice(type);
    const struct mmt_type_format format = mmt_type_format(type);
    const int bits = 8 * (int) mmt_type_size(type);
    CHECK(mmt_type_family(family) == family);
    CHECK_EQ_INT(mmt_type_size(family), mmt_type_size(type));
    CHECK(mmt_type_slices(type) > 1 ? mmt_type_size(slice) < mmt_type_size(type)
                                    : mmt_type_slices(type) == 1 && slice == type);
    if (mmt_type_in(type, MMT_WHOLE_TYPES))
        CHECK(!format.exponent && !format.fraction);
    else
        CHECK_EQ_INT(1 + format.exponent + format.fraction,
                     type == MMT_TF32 ? bits - 13 : bits);
}

static void test_types(void)
{
    for (int i = 0; i < MMT_NUM_TYPES; i++)
        CHECK_EQ_INT(mmt_type_parse(mmt_type_name((mmt_type) i)), i);
    CHECK_EQ_INT(mmt_type_parse("float"), -1);
    CHECK(mmt_type_size(MMT_F32) == 4 && mmt_type_size(MMT_F64) == 8 &&
          mmt_type_size(MMT_I32) == 4);
    CHECK(mmt_type_size(MMT_BF16) == 2 && mmt_type_size(MMT_TF32) == 4 &&
          mmt_type_size(MMT_F8E5M2) == 1 && mmt_type_size(MMT_I8) == 1);
    for (int i = 0; i < MMT_NUM_TYPES; i++) {
        mmt_type type = (mmt_type) i, scalar = mmt_type_scalar(type);
        CHECK(mmt_type_in(scalar, MMT_PLAIN_TYPES));
        CHECK(mmt_type_in(mmt_type_own_output(type), mmt_type_outputs(type)));
        CHECK(mmt_type_has_choice(type) ==
              !mmt_type_in(type, MMT_PLAIN_TYPES | 1 << MMT_TF32 | 1 << MMT_I8));
        CHECK(!(mmt_type_outputs(type) & MMT_F8_TYPES));
        check_row(type);
    }
    for (int i = 0; i < MMT_NUM_BIASES; i++)
        CHECK_EQ_INT(mmt_bias_parse(mmt_bias_name((mmt_bias) i)), i);
    for (int i = 0; i < MMT_NUM_ACTIVATIONS; i++)
        CHECK_EQ_INT(mmt_activation_parse(mmt_activation_name((mmt_activation) i)), i);
    CHECK(mmt_bias_parse("") == -1 && mmt_activation_parse("tanh") == -1);

    SCOPED_TEXT text = { 0 };
    mmt_type_list(1 << MMT_F64, &text);
    mmt_text_add(&text, "; ");
    mmt_type_list(1 << MMT_F32 | 1 << MMT_BF16, &text);
    mmt_text_add(&text, "; ");
    mmt_type_list(MMT_PLAIN_TYPES, &text);
    CHECK_EQ_STR(mmt_text_string(&text), "f64; f32 and bf16; f32, f64 and i32");
}

/* A family is named by its first type, and all of its types have one size. */
static void test_families(void)
{
    const mmt_type families[MMT_NUM_TYPES] = {
        [MMT_F32] = MMT_F32,       [MMT_F64] = MMT_F64,       [MMT_I32] = MMT_I32,
        [MMT_BF16] = MMT_BF16,     [MMT_F16] = MMT_BF16,      [MMT_TF32] = MMT_TF32,
        [MMT_F8E4M3] = MMT_F8E4M3, [MMT_F8E5M2] = MMT_F8E4M3, [MMT_I8] = MMT_F8E4M3,
    };
    for (int i = 0; i < MMT_NUM_TYPES; i++) {
        CHECK_EQ_INT(mmt_type_family((mmt_type) i), families[i]);
        CHECK_EQ_INT(mmt_type_family(families[i]), families[i]);
        CHECK(mmt_type_size(families[i]) == mmt_type_size((mmt_type) i));
    }
}

/* What counts m follows it; what is shared by a batch, and B, stay. */
static void test_other_m(void)
{
    static const struct {
        const char *of, *with;
    } cases[] = {
        { "gemm f32 nn 8x5x3", "gemm f32 nn 700x5x3" },
        { "gemm f32 tn 8x5x3", "gemm f32 tn 700x5x3" },
        { "gemm f32 nn 8x5x3 batch=2", "gemm f32 nn 700x5x3 batch=2" },
        { "gemm f32 nt 8x5x3 batch=2 stride_a=0 stride_b=0",
          "gemm f32 nt 700x5x3 batch=2 stride_a=0 stride_b=0" },
        { "gemm f32 nn 8x5x3 ldb=9", "gemm f32 nn 700x5x3 ldb=9" },
        { "gemm bf16 tt 8x5x3 out=f32 bias=row",
          "gemm bf16 tt 700x5x3 out=f32 bias=row" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mmt_problem of, with;
        CHECK_OK(mmt_problem_parse(cases[i].of, &of, &err), err);
        CHECK_OK(mmt_problem_parse(cases[i].with, &with, &err), err);
        const mmt_problem made = mmt_problem_with_m(&of, 700);
        CHECK(mmt_problem_equal(&made, &with));
    }
}

int main(void)
{
    make_folder();
    test_text();
    test_plain();
    test_near();
    test_errors();
    test_hash();
    test_replace();
    test_replace_fails();
    test_replace_breaks_off();
    test_read_fails();
    test_folders();
    test_normalise();
    test_normalise_pointers();
    test_normalise_types();
    test_normalise_empty();
    test_normalise_limits();
    test_refused();
    test_arguments();
    test_spelling();
    test_other_m();
    test_parse_fails();
    test_types();
    test_families();
    return test_end("base");
}
