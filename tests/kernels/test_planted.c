/* Faults planted into the kernels that ship, one for each kind of check that a whole
 * verification makes beyond the quick one. Each must be found by the check that is meant
 * for it. On the first OpenCL CPU device, which shows reads outside, too. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/device.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/verify/verify.h"

#define NAIVE "naive ORDER=columns BLOCK_M=8 BLOCK_N=16"
#define SMALL                                                                            \
    "small TILE_M=16 TILE_N=32 TILE_K=8 THREAD_TILE_M=2 THREAD_TILE_N=4 MATRICES=2 "     \
    "TURNS=1 VECTOR=4 "                                                                  \
    "AHEAD=0 K_UNROLL=2 MIN_BLOCKS=1"
#define THIN                                                                             \
    "small_k THREADS_M=2 THREADS_N=16 THREAD_TILE_M=4 THREAD_TILE_N=4 C_VECTOR=4 "       \
    "TILE_K=4"
#define SIMT                                                                             \
    "simt TILE_M=32 TILE_N=32 TILE_K=16 THREAD_TILE_M=4 THREAD_TILE_N=2 WARP_M=4 "       \
    "WARP_N=8 "                                                                          \
    "LANES=pairs C_VECTOR=2 REGISTER_STAGES=1 FMA_ORDER=rows RASTER_GROUP=1 "            \
    "MIN_BLOCKS=1 SPLIT_K=1 "                                                            \
    "TILE_SCHEDULER=data_parallel A_VECTOR=4 B_VECTOR=4 SHARED_LAYOUT=pad STAGES=1 "     \
    "K_UNROLL=4"
#define PANEL                                                                            \
    "panel THREAD_TILE_M=4 THREAD_TILE_N=2 VECTOR=8 PANELS_M=2 PANELS_N=2 BLOCK_K=2048 " \
    "K_UNROLL=1 "                                                                        \
    "PACK_A=0 PACK_B=0"
#define SPLIT     "split_naive BLOCK_M=8 BLOCK_N=16 SPLIT_K=4"
#define AXPBY     "axpby THREADS=32 VECTOR=8 WORK=2"
#define WIDE_HEAT "heat2d THREADS_M=1 THREADS_N=128 THREAD_TILE_M=4 VECTOR=8 SIDES=memory"
#define HIGH_HEAT "heat2d THREADS_M=16 THREADS_N=1 THREAD_TILE_M=16 VECTOR=8 SIDES=memory"

#define F32 "gemm f32 nn 60x50x40"

static const struct fault {
    const char *configuration, *problem, *file, *from, *to, *check;
} faults[] = {
    /* checks that were not run where a configuration refuses large shapes */
    { SMALL, "gemm f32 nn 24x20x28 batch=96", "small.cl",
      "to_result(beta == 0 ? alpha * acc", "to_result(beta == 0 ? acc", "alpha" },
    { SMALL, "gemm f32 nn 24x20x28 batch=96", "small.cl", "if (scalars) {", "if (0) {",
      "scalars" },
    { SMALL, "gemm f32 nn 24x20x28 batch=96", "small.cl", "if (alpha == 0)",
      "if (alpha == 12345)", "alpha zero" },
    { THIN, "gemm f32 nn 60x50x13", "small_k.cl", "if (scalars) {", "if (0) {",
      "scalars" },
    { THIN, "gemm f32 nn 60x50x13", "small_k.cl", "if (alpha == 0)",
      "if (alpha == 12345)", "alpha zero" },
    { SMALL, "gemm f32 nn 24x20x28 batch=6", "small.cl",
      "const int columns = matrix < batch ? n - column : 0;",
      "const int columns = n - column;", "page edge" },
    { AXPBY, "axpby f32 3x7001", "axpby.cl", "row * ldb", "row * ldc", "" },
    { AXPBY, "axpby f32 3x7001", "axpby.cl", "ldb == n && ldc == n", "ldb == n", "" },
    /* remainders */
    { SIMT, F32, "simt_registers.h", "const bool whole = left >= TILE_K &&",
      "const bool whole = left >= TILE_K - 1 &&", "remainders" },
    { SMALL, "gemm f32 nn 24x20x28 batch=96", "small.cl", "if (count >= WIDE_C)",
      "if (count >= WIDE_C - 1)", "guard" },
    { PANEL, F32, "panel.cl", "min(cols, WIDTH) / VECTOR",
      "min(cols + 1, WIDTH) / VECTOR", "guard" },
    { AXPBY, "axpby f32 3x7001", "axpby.cl", "if (at + VECTOR <= count)",
      "if (at + VECTOR <= count + 1)", "guard" },
    { WIDE_HEAT, "heat2d f32 40x90", "heat2d.cl", "tile_column + TILE_N < n",
      "tile_column + TILE_N <= n", "remainders" },
    { HIGH_HEAT, "heat2d f32 40x90", "heat2d.cl", "tile_row + TILE_M < m",
      "tile_row + TILE_M <= m", "remainders" },
    /* sums that are long */
    { PANEL, F32, "panel.cl", "first == 0 ? beta : (real) 1", "beta", "deep k" },
    { NAIVE, F32, "naive.cl", "for (int p = 0; p < k; p++)",
      "for (int p = 0; p < (k > 4096 ? 4096 : k); p++)", "deep k" },
    /* batches, shared operands, gaps */
    { NAIVE, F32, "naive.cl", "a += a_start + BLOCK_Z * a_stride;",
      "a += a_start + BLOCK_Z % 4 * a_stride;", "batch" },
    { NAIVE, F32, "naive.cl", "a += a_start + BLOCK_Z * a_stride;",
      "a += a_start + BLOCK_Z * (a_stride ? a_stride : m * k);", "batch" },
    { NAIVE, F32, "naive.cl", "(wide) row * ldc + column",
      "(wide) row * (ldc - n > 100 ? ldc - 1 : ldc) + column", "guard" },
    /* scalars */
    { NAIVE, "gemm f64 nn 60x50x40", "naive.cl", "real x = alpha * sum;",
      "real x = (float) alpha * sum;", "odd scalars" },
    { NAIVE, "gemm i32 nn 60x50x40", "naive.cl", "real x = alpha * sum;",
      "real x = (short) alpha * sum;", "odd scalars" },
    { NAIVE, F32, "naive.cl", "beta = scalars[scalars_start + 1];",
      "beta = (int) scalars[scalars_start + 1];", "odd scalars" },
    { NAIVE, F32, "naive.cl", "real x = alpha * sum;",
      "real x = fabs(alpha) < 1e-6f ? 0 : alpha * sum;", "odd scalars" },
    { NAIVE, F32, "naive.cl", "real x = alpha * sum;",
      "real x = alpha * sum; if (alpha == -1 && beta == 1) x = -x;", "odd scalars" },
    { NAIVE, F32, "naive.cl", "real x = alpha * sum;",
      "real x = alpha != alpha ? 0 : alpha * sum;", "odd scalars" },
    { NAIVE, F32, "naive.cl", "if (beta != 0)", "if (beta != 0 || alpha == 0)",
      "alpha zero" },
    { NAIVE, F32, "naive.cl", "        beta = scalars[scalars_start + 1];",
      "        beta = scalars[scalars_start + 1] + 0 * scalars[scalars_start + 2];", "" },
    /* batches and sides that are large */
    { NAIVE, F32, "naive.cl", "a += a_start + BLOCK_Z * a_stride;",
      "a += a_start + BLOCK_Z % 32 * a_stride;", "batch" },
    { NAIVE, F32, "naive.cl", "c += c_start + BLOCK_Z * c_stride;",
      "c += c_start + (BLOCK_Z & 255) * c_stride;", "batch" },
    { NAIVE, F32, "naive.cl", "a += a_start + BLOCK_Z * a_stride;",
      "a += a_start + BLOCK_Z * a_stride; if (row > 65535) a += 1;", "thin" },
    { NAIVE, F32, "naive.cl", "% ((n - 1) / BLOCK_N + 1) * BLOCK_N;",
      "% ((n - 1) / BLOCK_N + 1) % 33 * BLOCK_N;", "many tiles" },
    /* beyond 2^31 elements */
    { NAIVE, F32, "naive.cl", "a += TRANS_A ? (wide) row : (wide) row * lda;",
      "a += TRANS_A ? row : row * lda;", "far" },
    { NAIVE, F32, "naive.cl", "a += a_start + BLOCK_Z * a_stride;",
      "a += a_start + BLOCK_Z * a_stride; if (lda > 1000000) a += 1;", "far" },
    { NAIVE, F32, "naive.cl", "store(c + (wide) row * ldc",
      "store(c + (int) ((unsigned) row * (unsigned) ldc)", "far" },
    { NAIVE, F32, "naive.cl", "c += c_start + BLOCK_Z * c_stride;",
      "c += c_start + (int) (BLOCK_Z * c_stride);", "far" },
    /* numbers that are not ordinary */
    { NAIVE, F32, "naive.cl", "store(c + (wide) row * ldc + column, alpha, sum,",
      "store(c + (wide) row * ldc + column, alpha, sum != sum ? 0 : sum,",
      "special values" },
    { NAIVE, F32, "naive.cl", "store(c + (wide) row * ldc + column, alpha, sum,",
      "store(c + (wide) row * ldc + column, alpha, fabs(sum) < 1e-37f ? 0 : sum,",
      "exponents" },
    { NAIVE, F32, "naive.cl", "store(c + (wide) row * ldc + column, alpha, sum,",
      "store(c + (wide) row * ldc + column, alpha, min(sum, 1e29f),", "exponents" },
    { NAIVE, "gemm i8 nn 60x50x40", "naive.cl", "    return sum;",
      "    return (int) sum > 0x7fffff ? 0x7fffff : sum;", "exponents" },
    /* the last rounding, and what is left of an activation far below 0 */
    { NAIVE, "gemm bf16 nn 60x50x40", "numbers.h", "bits + 0x7fff + (bits >> 16 & 1)",
      "bits + 0x8000", "" },
    { NAIVE, "gemm f16 nn 60x50x40", "naive.cl", "*c = to_result(finish(x, bias));",
      "*c = to_result(x > 65504 ? 65504 : x);", "rounding" },
    { NAIVE, "gemm f32 nn 60x50x40 activation=gelu", "numbers.h",
      "erfc(REAL(-0.70710678118654752) * x)", "(1 + erf(REAL(0.70710678118654752) * x))",
      "" },
    /* outside */
    { NAIVE, F32, "naive.cl", "    for (int p = 0; p < k; p++)",
      "    if (k > 0 && a[k * step_a] == 12345) sum = 1;\n    for (int p = 0; p < k; "
      "p++)",
      "page edge" },
    { SPLIT, F32, "split_naive.cl", "workspace[(wide) row * n + column] = sum;",
      "workspace[(wide) row * n + column] = sum;\n"
      "    if (row == m - 1 && column == n - 1 && BLOCK_Y == SPLIT_K - 1)\n"
      "        workspace[(wide) row * n + column + 1] = 0;",
      "guard" },
    /* epilogues that the problem itself does not have */
    { NAIVE, F32, "naive.cl", "bias_of(bias + bias_start, row, column)",
      "bias_of(bias + bias_start, column, row)", "" },
    { NAIVE, "gemm bf16 nn 60x50x40", "naive.cl", "*c = to_result(finish(x, bias));",
      "*c = to_result(ACTIVATION == 4 ? x : finish(x, bias));", "" },
    { NAIVE, F32, "naive.cl", "*c = to_result(finish(x, bias));",
      "*c = to_result(ACTIVATION == 1 && x != x ? 0 : finish(x, bias));", "" },
};

static void copy_templates(const char *root)
{
    SCOPED_TEXT from = { 0 };
    mmt_text_addf(&from, "%s/templates/kernels", root);
    DIR *directory = opendir(mmt_text_string(&from));
    if (!CHECK(directory != NULL))
        exit(1);
    for (struct dirent *entry; (entry = readdir(directory));) {
        SCOPED_TEXT source = { 0 };
        mmt_text_addf(&source, "%s/%s", mmt_text_string(&from), entry->d_name);
        if (entry->d_name[0] != '.')
            CHECK(symlink(mmt_text_string(&source), in_folder(entry->d_name)) == 0);
    }
    closedir(directory);
}

/* Puts the file with the fault in the place of the link; returns its source before. */
static struct mmt_text plant(const struct fault *fault)
{
    const char *path = in_folder(fault->file);
    struct mmt_text right = { 0 };
    SCOPED_TEXT wrong = { 0 };

    CHECK_OK(mmt_file_read(path, 1 << 20, &right, &err), err);
    const char *at = strstr(mmt_text_string(&right), fault->from);
    if (!at)
        fprintf(stderr, "%s has no \"%s\"\n", fault->file, fault->from);
    if (!CHECK(at != NULL))
        exit(1);
    mmt_text_add_bytes(&wrong, right.data, (size_t) (at - right.data));
    mmt_text_addf(&wrong, "%s%s", fault->to, at + strlen(fault->from));
    CHECK(unlink(path) == 0);
    CHECK_OK(mmt_file_replace(path, wrong.data, wrong.length, &err), err);
    return right;
}

static void restore(const struct fault *fault, struct mmt_text *right)
{
    CHECK_OK(mmt_file_replace(in_folder(fault->file), right->data, right->length, &err),
             err);
    mmt_text_finish(right);
}

static struct mmt_judgement judge(mmt_device *device, const struct fault *fault)
{
    struct mmt_judgement verdict = { 0 };

    mmt_problem problem = problem_of(fault->problem);
    struct mmt_config config = config_of(fault->configuration);
    struct mmt_session *session = mmt_session_create(device, &problem, 1, &err);
    if (!CHECK_MADE(session))
        return verdict;
    CHECK_OK(mmt_verify(session, &config,
                        fault->check[0] ? MMT_PASS_WHOLE : MMT_PASS_EPILOGUES, &verdict,
                        &err),
             err);
    mmt_session_free(session);
    return verdict;
}

/* An empty check: any will do. What a fault stands in is right without it. */
static void test_fault(mmt_device *device, const struct fault *fault)
{
    struct mmt_text right = plant(fault);
    const struct mmt_judgement wrong = judge(device, fault);
    printf("%-14s %-14s %s\n", fault->file, wrong.check, wrong.reason);
    fflush(stdout);
    CHECK(!wrong.right);
    if (fault->check[0])
        CHECK_EQ_STR(wrong.check, fault->check);
    restore(fault, &right);
}

static void test_right(mmt_device *device)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const bool again =
            i && !strcmp(faults[i].configuration, faults[i - 1].configuration) &&
            !strcmp(faults[i].problem, faults[i - 1].problem);
        if (again)
            continue;
        const struct mmt_judgement verdict = judge(device, &faults[i]);
        CHECK_EQ_STR(verdict.reason, "");
        CHECK_EQ_STR(verdict.skip, "");
        CHECK(verdict.right && verdict.checks > 20);
        printf("%s: right, %d checks\n", faults[i].configuration, verdict.checks);
        fflush(stdout);
    }
}

/* As on a machine of 3 GiB: no check is left out for that. */
static void limit_data(void)
{
    const struct rlimit limit = { (rlim_t) 3 << 30, (rlim_t) 3 << 30 };
    CHECK(!setrlimit(RLIMIT_DATA, &limit));
}

int main(void)
{
    const char *root = getenv("MMT_SOURCE_ROOT");
    struct mmt_device_info *list;
    size_t count;
    const char *id = NULL;

    CHECK_OK(mmt_device_list(&list, &count, NULL, &err), err);
    for (size_t i = 0; i < count && !id; i++)
        if (list[i].caps.kind == MMT_CPU)
            id = list[i].id;
    if (!id || !root) {
        fprintf(stderr, "%s\n", id ? "MMT_SOURCE_ROOT is not set" : "no CPU device");
        return 77;
    }
    make_folder();
    limit_data();
    copy_templates(root);
    setenv("MMTUNE_TEMPLATE_DIR", folder, 1);
    SCOPED_DEVICE *device = open_device(id);
    test_right(device);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        test_fault(device, &faults[i]);
    free(list);
    return test_end("planted");
}
