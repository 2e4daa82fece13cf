/* f32 as three bf16 slices on the tensor cores, `mma_bf16x3`, on an emulated card of
 * sm_80. The whole numbers of test_emulate.c need no lower slice. Here C must be near the
 * exact product, as tests/support/near.h says; sums of operands that slices cannot have
 * must be those of FFMA. Faults planted into the source must be found. */
#include "device/device.h"
#include "generator/generator.h"
#include "runtime/runtime.h"
#include "tests/emulation/cuda/emulate.h"
#include "tests/support/near.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

#define COUNT(array) (int) (sizeof(array) / sizeof(*(array)))

enum { SPLIT, TALL, WHOLE, CONFIGURATIONS };
static const char *const configurations[CONFIGURATIONS] = {
    [SPLIT] = "mma_bf16x3 TILE_M=16 TILE_N=64 TILE_K_BYTES=128 WARPS_M=1 WARPS_N=2 "
              "STAGES=3 REGISTER_STAGES=1 SPLIT_K=3",
    [TALL] = "mma_bf16x3 TILE_M=64 TILE_N=32 TILE_K_BYTES=64 WARPS_M=1 WARPS_N=2 "
             "STAGES=2 REGISTER_STAGES=1 SPLIT_K=2",
    [WHOLE] = "mma_bf16x3 TILE_M=64 TILE_N=32 TILE_K_BYTES=128 WARPS_M=2 WARPS_N=1 "
              "STAGES=3 REGISTER_STAGES=2 SPLIT_K=1",
};

static const int splits[CONFIGURATIONS] = { [SPLIT] = 3, [TALL] = 2, [WHOLE] = 1 };

/* Their sides end inside a tile, and k of 200 inside a step. */
static const char *const problems[] = {
    "gemm f32 nn 33x40x200 bias=column",
    "gemm f32 nt 33x39x200 bias=column batch=2",
    "gemm f32 tn 67x40x16 bias=column",
};

/* All memory of a product, without gaps in the matrices. */
enum { MOST = 2 * 40 * 200 };
struct memory {
    float a[MOST], b[MOST], c[MOST], bias[MOST], workspace[MOST];
};
_Static_assert(sizeof(float[MOST]) % 256 == 0, "a workspace is 256-byte aligned");

struct product {
    mmt_device *device;
    mmt_plan *plan;
    mmt_problem problem;
    int splits;
    bool tell;             /* what is wrong */
    struct memory in, out; /* before and after its execution */
};

static void execute(struct product *x, float alpha, float beta)
{
    mmt_args args = mmt_args_defaults();
    mmt_operand memory = { 0 };

    CHECK(mmt_plan_workspace(x->plan) <= sizeof x->in.workspace);
    CHECK_OK(mmt_buffer_create(x->device, sizeof x->in, &memory, &err), err);
    CHECK_OK(mmt_buffer_write(x->device, memory, &x->in, sizeof x->in, &err), err);
    args.a = args.b = args.c = args.bias = args.workspace = memory;
    args.b.offset = offsetof(struct memory, b);
    args.c.offset = offsetof(struct memory, c);
    args.bias.offset = offsetof(struct memory, bias);
    args.workspace.offset = offsetof(struct memory, workspace);
    args.alpha = alpha, args.beta = beta;
    CHECK_OK(mmt_execute(x->plan, &args, NULL, &err), err);
    CHECK_OK(mmt_buffer_read(x->device, &x->out, memory, sizeof x->out, &err), err);
    mmt_buffer_free(x->device, memory);
}

/* An element of A, or with `of_b` of B: of a line along k, at that depth. */
static float *at(struct product *x, int64_t z, bool of_b, int64_t line, int64_t depth)
{
    const mmt_problem *p = &x->problem;
    const bool deep = of_b ? p->trans_b : !p->trans_a;
    const int64_t ld = of_b ? p->ldb : p->lda;
    float *first = of_b ? x->in.b + z * p->stride_b : x->in.a + z * p->stride_a;
    return first + (deep ? line * ld + depth : depth * ld + line);
}

static int64_t lines(const struct product *x, bool of_b)
{
    return of_b ? x->problem.n : x->problem.m;
}

/* C and the bias are small multiples of these. */
static void fill(struct product *x, int kind, float c, float bias)
{
    const int64_t k = x->problem.k;

    for (int64_t i = 0; i < x->problem.batch * 2 * k; i++)
        for (int64_t line = 0; line < lines(x, i % 2); line++)
            *at(x, i / 2 / k, i % 2, line, i / 2 % k) =
                near_element(kind, i % 2, line, lines(x, i % 2), i / 2 % k);
    for (int i = 0; i < MOST; i++) {
        x->in.c[i] = c * (float) (i % 7 - 3);
        x->in.bias[i] = bias * (float) (i % 5);
    }
}

/* Of A and of B an element each at the same depth, so that some meet each other. */
static void add_not_finite(struct product *x)
{
    static const float numbers[] = { INFINITY, -INFINITY, NAN, 0x1p127f, -0x1p127f };

    for (int z = 0; z < x->problem.batch; z++)
        for (int i = 0; i < 2 * COUNT(numbers); i++) {
            const int64_t line = (i / 2 * (i % 2 ? 9 : 7) + z) % lines(x, i % 2);
            *at(x, z, i % 2, line, (37 * (i / 2) + 5) % x->problem.k) =
                numbers[(i / 2 + i % 2 * z) % COUNT(numbers)];
        }
}

/* C's element of that number, row by row. */
static struct near_element element(struct product *x, int64_t number)
{
    const mmt_problem *p = &x->problem;
    const int64_t z = number / p->n / p->m, i = number / p->n % p->m, j = number % p->n;
    struct near_element e = { .found = x->out.c[number] };
    float ffma = 0;

    for (int64_t q = 0; q < p->k; q++) {
        const float left = *at(x, z, false, i, q), right = *at(x, z, true, j, q);
        ffma = fmaf(left, right, ffma);
        e.exact += (double) left * right;
        e.size += fabs((double) left * right);
    }
    e.ffma = ffma;
    return e;
}

/* As near.h says. */
static bool is_near(struct product *x, int kind)
{
    const struct near_bound bound = near_of_mma(x->problem.k, x->splits);
    struct near_sums ours = { 0 }, of_ffma = { 0 };

    fill(x, kind, NAN, 0);
    execute(x, 1, 0);
    for (int64_t i = 0; i < x->problem.batch * x->problem.m * x->problem.n; i++) {
        struct near_element e = element(x, i);
        near_add(&ours, &e, bound);
        e.found = e.ffma;
        near_add(&of_ffma, &e, bound);
    }
    const bool nearer = ours.most <= of_ffma.most && ours.squares <= of_ffma.squares;
    const bool right = ours.far == 0 && (nearer || kind >= NEAR_LIKE);
    if (!right && x->tell)
        fprintf(stderr, "    %s: %d far, off by at most %g, FFMA by %g\n",
                near_kinds[kind], (int) ours.far, ours.most, of_ffma.most);
    return right;
}

/* Sums with an operand that slices cannot have must be FFMA's, the others about so. */
static bool is_ffma(struct product *x, float alpha, float beta)
{
    fill(x, 0, beta != 0 ? 1 : NAN, beta);
    add_not_finite(x);
    execute(x, alpha, beta);
    for (int64_t i = 0; i < x->problem.batch * x->problem.m * x->problem.n; i++) {
        const struct near_element e = element(x, i);
        const double slack = e.size < 0x1p100 && alpha != 0 ? 1e-3 : 0;
        float right = alpha != 0 ? alpha * (float) e.ffma : 0;
        right += beta != 0 ? beta * x->in.c[i] : 0;
        right += x->in.bias[i % x->problem.n];
        if (e.found == right || fabs(e.found - right) <= slack ||
            (isnan(e.found) && isnan(right)))
            continue;
        if (x->tell)
            fprintf(stderr, "    alpha %g, beta %g: element %d is %g, not %g\n", alpha,
                    beta, (int) i, e.found, right);
        return false;
    }
    return true;
}

/* How many executions were wrong; `tell` says which. */
static int count_wrong(mmt_device *device, int configuration, int problem, bool tell)
{
    static struct product x;
    mmt_plan_options options = mmt_plan_defaults();
    int wrong = 0;

    x.device = device, x.problem = problem_of(problems[problem]), x.tell = tell;
    options.configuration = configurations[configuration];
    x.splits = splits[configuration];
    x.plan = mmt_plan_create(device, NULL, &x.problem, &options, &err);
    if (!CHECK_MADE(x.plan))
        return 0;
    for (int kind = 0; kind < NEAR_KINDS; kind++)
        wrong += !is_near(&x, kind);
    wrong += !is_ffma(&x, 1, 0) + !is_ffma(&x, -2, 3) + !is_ffma(&x, 0, 0);
    if (wrong && tell)
        fprintf(stderr, "    %s, %s\n", configurations[configuration], problems[problem]);
    mmt_plan_free(x.plan);
    return wrong;
}

static void check_few_steps(mmt_device *device)
{
    const mmt_problem few = problem_of("gemm f32 nn 33x40x15"),
                      enough = problem_of(problems[2]);

    struct mmt_config config = config_of(configurations[WHOLE]);
    const char *why = mmt_config_check_problem(&config, &few, mmt_device_caps(device));
    CHECK(why && strstr(why, "k is less than 16"));
    CHECK(!mmt_config_check_problem(&config, &enough, mmt_device_caps(device)));
}

static const struct fault {
    const char *name, *what, *into;
    int configuration;
} faults[] = {
    { "no lowest slices", "least = SLICES - 1", "least = SLICES - 2", WHOLE },
    { "B has its first slice thrice", "b[s] + (", "b[0] + (", WHOLE },
    { "sums of splits stay NaN", "if (!all_finite(acc, 2))", "if (false)", SPLIT },
    { "sums stay NaN", "SPLIT_K == 1 && !all_finite(", "false && !all_finite(", WHOLE },
    { "the least numbers lose slices", "SCALE  0x1p23f", "SCALE  1.0f", WHOLE },
};

static void check_fault(mmt_device *device, const struct fault *f)
{
    emulate_plant(f->what, f->into);
    const int wrong = count_wrong(device, f->configuration, 0, false);
    if (!CHECK(wrong > 0) || !CHECK(emulate_planted() > 0))
        fprintf(stderr, "    not found: %s\n", f->name);
    emulate_plant(NULL, NULL);
}

int main(void)
{
    SCOPED_DEVICE *device = emulate_open(80, &err);

    if (!CHECK_MADE(device))
        return test_end("slices");
    for (int i = 0; i < CONFIGURATIONS * COUNT(problems); i++)
        CHECK(count_wrong(device, i % CONFIGURATIONS, i / CONFIGURATIONS, true) == 0);
    check_few_steps(device);
    for (int i = 0; i < COUNT(faults); i++)
        check_fault(device, &faults[i]);
    return test_end("slices");
}
