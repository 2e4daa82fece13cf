/* The harness on trial. The kernels of tests/kernels/wrong, each fault of which is in one
 * line, must be rejected by the check that is meant for the fault, and accepted without
 * one. They take the place of the templates tiled and naive, from which they have the
 * launch shape. Of the other operations, the kernels that ship are made wrong, in one
 * place.
 *
 *     test_verify [DEVICE]
 *
 * Without a device: an OpenCL CPU where there is one, since only there a missing barrier
 * shows every time. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/folder.h"
#include "tests/support/made.h"
#include "tests/support/test.h"
#include "tuner/verify/data.h"
#include "tuner/verify/verify.h"

struct fault {
    const char *name, *check;
};

/* Of tiled.cl. */
static const struct fault faults[] = {
    { "constant", "integers" },
    { "missing_barrier", "integers" },
    { "k_off_by_one", "integers" },
    { "reads_c", "poison" },
    { "beta_ignored", "beta" },
    { "alpha_ignored", "alpha" },
    { "scalars_ignored", "scalars" },
    { "alpha_zero_reads", "alpha zero" },
    { "assumes_alignment", "offset" },
    { "skipped_edge", "edges" },
    { "write_past_end", "guard" },
    { "write_in_gap", "guard" },
    { "writes_input", "guard" },
    { "reads_past_row", "gaps" },
    { "rounds", "random" },
    { "batch_ignored", "batch" },
    { "far_rows", "shape" },
    { "far_rounds", "samples" },
    { NULL, NULL },
};

/* Of naive.cl: bf16, with a bias for each row and RELU. */
static const struct fault fused_faults[] = {
    { "bias_of_column", "integers" },
    { "not_activated", "integers" },
    { "activated_early", "integers" },
    { "adds_in_16_bits", "random" },
    { "bias_scaled", "alpha" },
    { "rounds_twice", "random" },
    { "cut_off", "edges" },
    { "bias_in_batch", "batch" },
    { NULL, NULL },
};

static const char *source_root;

/* ---- kernel files ---------------------------------------------------------------- */

static void read_source(const char *name, struct mmt_text *text)
{
    SCOPED_TEXT path = { 0 };

    mmt_text_addf(&path, "%s/%s", source_root, name);
    CHECK_OK(mmt_file_read(mmt_text_string(&path), 1 << 20, text, &err), err);
}

/* The lines come before the file's own. */
static void install_behind(const char *lines, const char *from, const char *as)
{
    SCOPED_TEXT text = { 0 }, file = { 0 };

    mmt_text_add(&text, lines);
    read_source(from, &file);
    mmt_text_add(&text, mmt_text_string(&file));
    CHECK_OK(mmt_file_replace(in_folder(as), text.data, text.length, &err), err);
}

static void install(const char *from, const char *as)
{
    install_behind("", from, as);
}

/* Both kernels: the configuration says which is used. An empty fault: they are right. */
static void install_fault(const char *fault)
{
    char define[64] = "";
    if (fault[0])
        snprintf(define, sizeof define, "#define FAULT_%s\n", fault);
    install_behind(define, "tests/kernels/wrong/tiled.cl", "tiled.cl");
    install_behind(define, "tests/kernels/wrong/naive.cl", "naive.cl");
}

/* ---- verdicts -------------------------------------------------------------------- */

static struct mmt_session *open_problem(mmt_device *device, const char *spelled)
{
    mmt_problem problem = problem_of(spelled);
    struct mmt_session *session = mmt_session_create(device, &problem, 1, &err);
    if (!session) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return session;
}

static struct mmt_session *open_session(mmt_device *device, mmt_type type, int trans_a,
                                        int trans_b)
{
    char spelled[64];
    snprintf(spelled, sizeof spelled, "gemm %s %c%c 600x200x40", mmt_type_name(type),
             trans_a ? 't' : 'n', trans_b ? 't' : 'n');
    return open_problem(device, spelled);
}

static struct mmt_judgement judge_as(struct mmt_session *session,
                                     const char *configuration)
{
    struct mmt_judgement verdict = { 0 };

    struct mmt_config config = config_of(configuration);
    CHECK_OK(mmt_verify(session, &config, MMT_PASS_QUICK, &verdict, &err), err);
    return verdict;
}

static struct mmt_judgement judge(struct mmt_session *session)
{
    return judge_as(session, "tiled TILE=16 WORK=1 WORK_ALONG=rows");
}

static struct mmt_judgement judge_fused(struct mmt_session *session)
{
    return judge_as(session, "naive ORDER=columns BLOCK_M=16 BLOCK_N=16");
}

static void test_right(mmt_device *device)
{
    install_fault("");
    for (int i = 0; i < 12; i++) {
        if (i / 4 == MMT_F64 && !mmt_device_caps(device)->f64)
            continue;
        struct mmt_session *session =
            open_session(device, (mmt_type) (i / 4), i & 2, i & 1);
        struct mmt_judgement verdict = judge(session);
        CHECK(verdict.right);
        CHECK_EQ_STR(verdict.check, "");
        CHECK_EQ_STR(verdict.reason, "");
        mmt_session_free(session);
    }
}

static void test_fused_right(mmt_device *device)
{
    static const char *const problems[] = {
        "gemm bf16 nn 600x200x40 bias=row activation=relu",
        "gemm f16 nt 60x200x400 out=f32 bias=row activation=gelu",
        "gemm f32 tn 60x20x4000 bias=row activation=gelu_tanh",
        "gemm f8e4m3 tt 60x200x400 out=f16 bias=row activation=silu",
        "gemm f8e5m2 nn 60x200x40000 bias=row",
        "gemm tf32 nt 60x200x400 bias=row",
        "gemm i8 nt 60x200x400 bias=row activation=relu",
        "gemm bf16 nn 60x200x3000 batch=3 bias=row",
    };

    install_fault("");
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct mmt_session *session = open_problem(device, problems[i]);
        struct mmt_judgement verdict = judge_fused(session);
        CHECK(verdict.right);
        CHECK_EQ_STR(verdict.reason, "");
        mmt_session_free(session);
    }
}

static void check_wrong(struct mmt_session *session, const struct fault *list,
                        struct mmt_judgement (*judge_one)(struct mmt_session *))
{
    for (int i = 0; list[i].name; i++) {
        install_fault(list[i].name);
        struct mmt_judgement verdict = judge_one(session);
        printf("%-22s %-10s %s\n", list[i].name, verdict.check, verdict.reason);
        CHECK(!verdict.right);
        CHECK(verdict.reason[0]);
        CHECK_EQ_STR(verdict.check, list[i].check);
    }
    /* One that is wrong leaves nothing behind that harms the next. */
    install_fault("");
    CHECK(judge_one(session).right);
    mmt_session_free(session);
}

static void test_wrong(mmt_device *device)
{
    struct mmt_session *session = open_session(device, MMT_F32, 0, 0);
    check_wrong(session, faults, judge);
    session = open_problem(device, "gemm bf16 nn 600x200x40 bias=row activation=relu");
    check_wrong(session, fused_faults, judge_fused);
}

static struct mmt_session *follow(struct mmt_session *session, const char *spelled)
{
    mmt_problem problem = problem_of(spelled);
    session = mmt_session_follow(session, &problem, &err);
    CHECK_MADE(session);
    return session;
}

/* A session that follows another knows what is right and what is wrong for its own
 * problem: a smaller one, whose memory is there, a larger one, and one of another kind.
 */
static void test_follow(mmt_device *device)
{
    static const char *const problems[] = { "gemm f32 nn 30x20x50",
                                            "gemm f32 nn 600x300x40",
                                            "gemm f32 tt 600x200x40",
                                            "gemm i32 tt 500x100x90" };
    struct mmt_session *session = open_session(device, MMT_F32, 0, 0);

    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        session = follow(session, problems[i]);
        install_fault("");
        CHECK_EQ_STR(judge(session).reason, "");
        install_fault("beta_ignored");
        CHECK_EQ_STR(judge(session).check, "beta");
        install_fault("far_rows");
        CHECK_EQ_STR(judge(session).check,
                     mmt_session_problem(session)->m > 512 ? "shape" : "");
    }
    mmt_session_free(session);

    mmt_problem empty = mmt_gemm_problem(MMT_F32, 5, 0, 7);
    session = open_session(device, MMT_F32, 0, 0);
    CHECK(!mmt_session_follow(session, &empty, &err));
    CHECK(err.status == MMT_ERROR_ARGUMENT);
}

/* ---- kernels that ship, made wrong ----------------------------------------------- */

/* Vectors are for the device's kind. */
#define AXPBY  "axpby THREADS=32 WORK=1"
#define DOT    "dot THREADS=32 ROWS=2 WORK=1 PARTS=4"
#define HEAT2D "heat2d THREADS_M=1 THREADS_N=8 THREAD_TILE_M=2 SIDES=memory"
#define NAIVE  "naive ORDER=columns BLOCK_M=16 BLOCK_N=16"
#define JACOBI3D                                                                         \
    "jacobi3d THREADS_N=2 THREADS_K=4 THREAD_TILE_M=4 UNROLL_M=1 SIDES=memory"

#define SYRK "syrk TILE=16 WORK=4 UNROLL_K=4"

static const struct mutant {
    const char *configuration, *problem, *from, *to, *check;
} mutants[] = {
    { AXPBY, "axpby f32 1x70001", "beta * y[w][e]", "beta * y[w][0]", "integers" },
    { AXPBY, "axpby f32 1x70001", "x = alpha == 0 ? 0 : a[i]", "x = a[i]", "alpha zero" },
    { AXPBY, "axpby f32 1x70001", "y = beta == 0 ? 0 : b[i]", "y = b[i]", "beta zero" },
    { AXPBY, "axpby i32 1x70001", "return lda == n &&", "return lda >= n ||", "guard" },
    { DOT, "dot f32 3x70001", "THREAD_X + rest]", "rest]", "integers" },
    { DOT, "dot f32 3x70001", "beta == 0 ? alpha * sum :", "", "poison" },
    { DOT, "dot f64 3x70001", "p < end; p +=", "p < end - 1; p +=", "edges" },
    { DOT, "dot f32 3x70001", "|| alpha == 0;", ";", "alpha zero" },
    { HEAT2D, "heat2d f32 150x300", "product(4, here)", "product(3, here)", "integers" },
    { HEAT2D, "heat2d f32 150x300", "|| e == count - 1", "", "integers" },
    { HEAT2D, "heat2d f32 150x300",
      "return here + product(alpha, around - product(4, here))",
      "return MULTIPLY_ADD(alpha, around - product(4, here), here)", "random" },
    { JACOBI3D, "jacobi3d f32 20x30x90", "row == 0 || at.row == at.n - 1", "row == 0",
      "integers" },
    { JACOBI3D, "jacobi3d f32 20x30x90", "return ((below + above) + (north + south)) +",
      "return ((north + south) + (below + above)) +", "" },
    { JACOBI3D, "jacobi3d f32 20x30x90",
      "return ((below + above) + (north + south)) + (west + east)",
      "return (below + above) + ((north + south) + (west + east))", "random" },
    { SYRK, "syrk f32 150x90", "row < n && column <= row", "row < n && column < n",
      "guard" },
    { SYRK, "syrk f32 150x90", "row < n && column <= row", "row < n && column < row",
      "integers" },
    { SYRK, "syrk f64 150x90", "pair - odd) * TILE", "pair) * TILE", "edges" },
    { SYRK, "syrk f32 150x90", "beta == 0 ? alpha * sum :", "", "poison" },
    { SYRK, "syrk f32 150x90", "if (alpha == 0)", "if (0)", "alpha zero" },
    { SYRK, "syrk f32 150x90", "i < rows && p < depth", "i < rows", "gaps" },
};

/* Matrices of more than MMT_DATA_PERIOD elements, and a change that is wrong behind the
 * period alone, where no smaller problem shows it; none: what ships. */
static const struct mutant far[] = {
    { NAIVE, "gemm f32 nn 60x30x20000", "if (alpha == 0)",
      "if ((wide) row * lda > 1000003) alpha += alpha; if (alpha == 0)", "shape" },
    { NAIVE, "gemm f32 tt 70x60x20000", "", "", "" },
    { AXPBY, "axpby f32 1x1100007", "c += c_start",
      "if (first > 1000003) alpha += alpha; c += c_start", "shape" },
    { DOT, "dot f32 2x500258", "", "", "" },
    { DOT, "dot f32 5x1100007", "at = first +",
      "at = (first > 1000003 ? first - CHUNK : first) +", "shape" },
    { HEAT2D, "heat2d f32 1100x1003", "c += c_start",
      "if (row * lda > 1000003) alpha += alpha; c += c_start", "shape" },
    { JACOBI3D, "jacobi3d f32 110x100x101", "c += c_start",
      "if (first * n * lda > 1000003) alpha += alpha; c += c_start", "shape" },
    { SYRK, "syrk f32 90x20000", "if (alpha == 0)",
      "if ((wide) tile_row * lda > 1000003) alpha += alpha; if (alpha == 0)", "shape" },
    { SYRK, "syrk i32 90x20000", "row < n && column <= row",
      "row < n && (column <= row || row * 20000 > 1000003)", "guard" },
};

static void install_mutant(const char *file, const struct mutant *mutant)
{
    SCOPED_TEXT text = { 0 }, from = { 0 };

    mmt_text_addf(&from, "templates/kernels/%s", file);
    read_source(mmt_text_string(&from), &text);
    char *at = strstr(text.data, mutant->from);
    if (CHECK(at)) {
        SCOPED_TEXT wrong = { 0 };
        mmt_text_add_bytes(&wrong, text.data, (size_t) (at - text.data));
        mmt_text_addf(&wrong, "%s%s", mutant->to, at + strlen(mutant->from));
        CHECK_OK(mmt_file_replace(in_folder(file), wrong.data, wrong.length, &err), err);
    }
}

/* What ships is right, where a changed one was not: once for each problem. */
static bool is_last_of(const struct mutant *list, size_t count, size_t at)
{
    return at + 1 == count || strcmp(list[at].problem, list[at + 1].problem) ||
           strcmp(list[at].configuration, list[at + 1].configuration);
}

/* An empty check: the change makes no difference. */
static void test_mutants(mmt_device *device, const struct mutant *list, size_t count)
{
    const char *vector =
        mmt_device_caps(device)->kind == MMT_CPU ? " VECTOR=8" : " VECTOR=2";

    for (size_t i = 0; i < count; i++) {
        const struct mutant *m = &list[i];
        const char *template = m->configuration;
        bool has_vector = strcmp(template, NAIVE) && strcmp(template, SYRK);
        char name[32], configuration[128];
        if (strstr(m->problem, "f64") && !mmt_device_caps(device)->f64)
            continue;
        snprintf(name, sizeof name, "%.*s.cl", (int) strcspn(template, " "), template);
        snprintf(configuration, sizeof configuration, "%s%s", template,
                 has_vector ? vector : "");
        struct mmt_session *session = open_problem(device, m->problem);
        install_mutant(name, m);
        struct mmt_judgement verdict = judge_as(session, configuration);
        printf("%-22s %-10s %s\n", m->to, verdict.check, verdict.reason);
        CHECK_EQ_STR(verdict.check, m->check);
        install_mutant(name, &(struct mutant){ .from = "", .to = "" });
        if (is_last_of(list, count, i) && m->check[0])
            CHECK(judge_as(session, configuration).right);
        mmt_session_free(session);
    }
}

/* ---- many dot products at once --------------------------------------------------- */

enum { LENGTH = 100003 };

static double dot_of(const float *x, const float *y)
{
    double sum = 0;
    for (int i = 0; i < LENGTH; i++)
        sum += (double) x[i] * y[i];
    return sum;
}

/* Six products of four vectors in one launch, as mmtune.h lays them out, and twice the
 * same bits. */
static void test_dots(mmt_device *device)
{
    static float x[4 * LENGTH];
    struct mmt_data data = { MMT_F32, 1, 0, 0 };
    mmt_problem problem = mmt_dot_problem(MMT_F32, 2, LENGTH);
    mmt_args args = mmt_args_defaults();
    float found[2][6];

    install("templates/kernels/dot.cl", "dot.cl");
    problem.batch = 3, problem.stride_a = LENGTH;
    mmt_data_fill(&data, 0, x, 4 * LENGTH);
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, &problem, NULL, &err);
    if (!CHECK(plan != NULL))
        return;
    size_t workspace = mmt_plan_workspace(plan) + 1;
    CHECK_OK(mmt_buffer_create(device, sizeof x, &args.a, &err), err);
    CHECK_OK(mmt_buffer_create(device, sizeof found[0], &args.c, &err), err);
    CHECK_OK(mmt_buffer_create(device, workspace, &args.workspace, &err), err);
    CHECK_OK(mmt_buffer_write(device, args.a, x, sizeof x, &err), err);
    args.b = args.a;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mmt_execute(plan, &args, NULL, &err), err);
        CHECK_OK(mmt_buffer_read(device, found[i], args.c, sizeof found[i], &err), err);
    }
    for (int z = 0; z < 3; z++)
        for (int i = 0; i < 2; i++)
            CHECK(fabs(found[0][2 * z + i] -
                       dot_of(x + (z + i) * LENGTH, x + i * LENGTH)) < 0.05);
    CHECK(!memcmp(found[0], found[1], sizeof found[0]));
    mmt_buffer_free(device, args.a);
    mmt_buffer_free(device, args.c);
    mmt_buffer_free(device, args.workspace);
}

static void test_no_verdict(mmt_device *device)
{
    struct mmt_session *session = open_session(device, MMT_F32, 0, 0);
    struct mmt_judgement verdict;

    struct mmt_config config = config_of("tiled TILE=16 WORK=1 WORK_ALONG=rows");
    CHECK_OK(mmt_file_replace(in_folder("tiled.cl"), "KERNEL nonsense", 15, &err), err);
    CHECK_FAILS(mmt_verify(session, &config, MMT_PASS_QUICK, &verdict, &err), err,
                MMT_ERROR_COMPILE, "tiled.cl");
    mmt_session_free(session);
}

static void test_no_session(mmt_device *device)
{
    mmt_problem empty = mmt_gemm_problem(MMT_F32, 5, 0, 7);

    CHECK(!mmt_session_create(device, &empty, 1, &err));
    CHECK(err.status == MMT_ERROR_ARGUMENT && strstr(err.text, "nothing to time"));
    SCOPED_DEVICE *null = mmt_device_open("null:sm_90", &err);
    if (!null)
        return;
    mmt_problem problem = mmt_gemm_problem(MMT_F32, 5, 6, 7);
    CHECK(!mmt_session_create(null, &problem, 1, &err));
    CHECK(err.status == MMT_ERROR_UNSUPPORTED && strstr(err.text, "executes nothing"));
}

/* ---- the device ------------------------------------------------------------------ */

static mmt_device *open_device(const char *name)
{
    struct mmt_device_info *list = NULL;
    size_t count = 0;
    mmt_device *device;

    if (!name && mmt_device_list(&list, &count, NULL, &err) == MMT_OK)
        for (size_t i = 0; i < count && !name; i++)
            if (!strcmp(list[i].caps.backend, "opencl") && list[i].caps.kind == MMT_CPU)
                name = list[i].id;
    device = mmt_device_open(name, &err);
    free(list);
    if (!device)
        SKIP("%s", err.text);
    return device;
}

int main(int argc, char **argv)
{
    mmt_device *device = open_device(argc > 1 ? argv[1] : NULL);

    source_root = getenv("MMT_SOURCE_ROOT");
    if (!source_root)
        SKIP("MMT_SOURCE_ROOT does not name the source tree");
    make_folder();
    install("templates/kernels/prelude_cuda.h", "prelude_cuda.h");
    install("templates/kernels/prelude_opencl.h", "prelude_opencl.h");
    install("templates/kernels/numbers.h", "numbers.h");
    setenv("MMTUNE_TEMPLATE_DIR", folder, 1);

    test_right(device);
    test_fused_right(device);
    test_wrong(device);
    test_follow(device);
    test_mutants(device, mutants, sizeof mutants / sizeof *mutants);
    test_mutants(device, far, sizeof far / sizeof *far);
    test_dots(device);
    test_no_verdict(device);
    test_no_session(device);
    mmt_device_close(device);
    return test_end("verify");
}
