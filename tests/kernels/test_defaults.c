/* What a device gets that was never tuned: a legal kernel for every operation and type,
 * however few threads its blocks may have.
 *
 *     test_defaults                 on devices that are made up
 *     test_defaults THREADS [all]   plans, runs and checks each type on PoCL, told to
 *                                   have blocks of at most so many threads, with one
 *                                   pair of transposes, or with all */
#include <stdint.h>

#include "base/op.h"
#include "device/device.h"
#include "runtime/runtime.h"
#include "tests/support/exact.h"
#include "tests/support/test.h"

#define COUNT(array) (int) (sizeof(array) / sizeof(*(array)))

static const unsigned limits[] = { 1024, 256, 255, 128, 64, 32, 8, 1 };

/* ---- devices that are made up ---------------------------------------------------- */

struct synthetic {
    const char *what;
    enum mmt_kind kind;
    bool in_line; /* blocks have one row of threads */
    size_t shared;
    unsigned vector_bytes;
};

static const struct synthetic kinds[] = {
    { "GPU", MMT_GPU, false, 64 << 10, 0 },
    { "GPU that tells nothing", MMT_GPU, false, 0, 0 },
    { "GPU of little shared memory", MMT_GPU, false, 1 << 10, 0 },
    { "CPU", MMT_CPU, false, 32 << 10, 64 },
    { "CPU of short vectors", MMT_CPU, false, 32 << 10, 4 },
    { "CPU with blocks in one line", MMT_CPU, true, 32 << 10, 32 },
};

static struct mmt_caps device_of(const struct synthetic *kind, unsigned limit)
{
    const unsigned across = kind->in_line ? 1 : limit;
    return (struct mmt_caps){
        .name = "a device that is made up",
        .dialect = MMT_OPENCL_C,
        .kind = kind->kind,
        .f64 = true,
        .max_threads = limit,
        .max_block = { limit, across, across },
        .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX },
        .shared = kind->shared,
        .vector_bytes = kind->vector_bytes,
        .sms = 4,
        .memory = (size_t) 8 << 30,
    };
}

/* ---- problems -------------------------------------------------------------------- */

static const int64_t shapes[][3] = {
    { 64, 64, 64 }, { 37, 65, 41 }, { 1, 300, 200 }, { 300, 1, 200 }, { 4096, 4096, 4096 }
};

static mmt_problem problem_of(mmt_op op, mmt_type type, const int64_t shape[3],
                              int transposes)
{
    mmt_problem problem = mmt_op_problem(op, type, shape[0], shape[1], shape[2]), out;

    problem.trans_a = transposes & 1;
    problem.trans_b = transposes >> 1;
    CHECK_OK(mmt_problem_normalise(&problem, &out, &err), err);
    return out;
}

/* The n-th of every operation, type and pair of transposes; false behind the last. */
static bool next_kind(int n, mmt_op *op, mmt_type *type, int *transposes)
{
    *transposes = n % 4;
    *type = (mmt_type) (n / 4 % MMT_NUM_TYPES);
    *op = (mmt_op) (n / 4 / MMT_NUM_TYPES);
    return (int) *op < MMT_NUM_OPS;
}

static bool is_one(mmt_op op, mmt_type type, int transposes)
{
    const struct mmt_op_row *row = mmt_op_row(op);
    return mmt_type_in(type, row->types) && (row->transposes || !transposes);
}

/* ---- the checks ------------------------------------------------------------------ */

static bool fits(const struct mmt_launch *launch, const struct mmt_caps *caps)
{
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        threads *= launch->block[i];
        if (launch->block[i] > caps->max_block[i])
            return false;
    }
    return threads <= caps->max_threads;
}

static void check_default(const struct synthetic *kind, const struct mmt_caps *caps,
                          const mmt_problem *problem)
{
    struct mmt_launches launches = { 0 };
    struct mmt_selection selection;
    SCOPED_TEXT text = { 0 };
    bool right = !mmt_select(NULL, problem, caps, NULL, &selection, &err);

    if (right) {
        right = !mmt_config_check_problem(&selection.config, problem, caps);
        mmt_config_launch(&selection.config, problem, caps, &launches);
        for (int i = 0; i < launches.count; i++)
            right = right && fits(&launches.launch[i], caps);
        mmt_config_print(&selection.config, &text);
    }
    mmt_text_add(&text, " for ");
    mmt_problem_print(problem, &text);
    if (!CHECK(right))
        fprintf(stderr, "    %s, %u threads: %s; %s\n", kind->what, caps->max_threads,
                mmt_text_string(&text), err.text);
}

static void check_synthetic(const struct synthetic *kind, unsigned limit)
{
    const struct mmt_caps caps = device_of(kind, limit);
    mmt_op op;
    mmt_type type;
    int transposes;

    for (int n = 0; next_kind(n, &op, &type, &transposes); n++)
        for (int s = 0; s < COUNT(shapes) && is_one(op, type, transposes); s++) {
            const mmt_problem problem = problem_of(op, type, shapes[s], transposes);
            check_default(kind, &caps, &problem);
        }
}

/* Where nothing serves, no cap is named that nobody set. */
static void check_words(void)
{
    struct mmt_caps caps = device_of(&kinds[0], 256);
    const mmt_problem problem = problem_of(MMT_GEMM, MMT_BF16, shapes[0], 0);
    const struct mmt_terms capped = { .max_workspace = 4096 };
    struct mmt_selection selection;
    mmt_error err;

    caps.max_threads = 0, caps.max_block[0] = 0;
    CHECK_OK(mmt_select(NULL, &problem, &caps, NULL, &selection, &err), err);
    caps.dialect = (enum mmt_dialect) 0;
    CHECK_FAILS(mmt_select(NULL, &problem, &caps, NULL, &selection, &err), err,
                MMT_ERROR_UNSUPPORTED, "no template serves bf16");
    CHECK(!strstr(err.text, "workspace"));
    CHECK_FAILS(mmt_select(NULL, &problem, &caps, &capped, &selection, &err), err,
                MMT_ERROR_UNSUPPORTED, "with at most 4096 bytes of workspace");
}

static size_t workspace_of(const mmt_problem *problem, const struct mmt_caps *caps)
{
    struct mmt_launches launches = { 0 };
    struct mmt_selection selection;

    if (!CHECK_OK(mmt_select(NULL, problem, caps, NULL, &selection, &err), err))
        return SIZE_MAX;
    mmt_config_launch(&selection.config, problem, caps, &launches);
    return launches.workspace;
}

/* A workspace fits beside the operands, and into a buffer. */
static void check_memory(void)
{
    static const int64_t deep[3] = { 8, 8, 2147418112 }; /* 137 GB of operands */
    static const int64_t square[3] = { 2000, 2000, 2000 };
    struct mmt_caps caps = device_of(&kinds[3], 4096);
    const size_t gib = (size_t) 1 << 30;

    for (int transposes = 0; transposes < 4; transposes++) {
        const mmt_problem large = problem_of(MMT_GEMM, MMT_F32, deep, transposes);
        const mmt_problem usual = problem_of(MMT_GEMM, MMT_F32, square, transposes);
        caps.memory = 200 * gib;
        CHECK(workspace_of(&large, &caps) <= 72 * gib);
        CHECK(workspace_of(&usual, &caps) > 0);
        caps.max_buffer = 1 << 20;
        CHECK(workspace_of(&usual, &caps) <= caps.max_buffer);
        caps.max_buffer = 0, caps.memory = 1000 * gib;
        CHECK(workspace_of(&large, &caps) <= 872 * gib);
    }
}

/* An operand that the whole batch shares is packed once. */
static void check_shared(void)
{
    static const int64_t tall[3] = { 500, 400, 300 };
    const struct mmt_caps caps = device_of(&kinds[3], 4096);
    const mmt_problem one = problem_of(MMT_GEMM, MMT_F32, tall, 2);
    mmt_problem many = one;
    struct mmt_launches of_one = { 0 }, of_many = { 0 };
    struct mmt_selection selection;

    many.batch = 100, many.stride_b = 0;
    CHECK_OK(mmt_select(NULL, &one, &caps, NULL, &selection, &err), err);
    mmt_config_launch(&selection.config, &one, &caps, &of_one);
    mmt_config_launch(&selection.config, &many, &caps, &of_many);
    CHECK(of_one.workspace > 0);
    CHECK_EQ_INT(of_many.workspace, of_one.workspace);
    many.stride_b = one.n * one.k;
    mmt_config_launch(&selection.config, &many, &caps, &of_many);
    CHECK_EQ_INT(of_many.workspace, 100 * of_one.workspace);
}

/* ---- a device that is there ------------------------------------------------------ */

static bool run_one(mmt_device *device, const mmt_problem *problem, char *why,
                    size_t size)
{
    const struct exact_call call = { .alpha = 2, .beta = 1, .guard = 64 };
    SCOPED_PLAN *plan = mmt_plan_create(device, NULL, problem, NULL, &err);

    snprintf(why, size, "%s", err.text);
    return plan && exact_run(device, plan, problem, &call, why, size);
}

static mmt_device *open_pocl(void)
{
    struct mmt_device_info *list = NULL;
    mmt_device *device = NULL;
    size_t count = 0;

    CHECK_OK(mmt_device_list(&list, &count, NULL, &err), err);
    for (size_t i = 0; i < count && !device; i++)
        if (!strncmp(list[i].caps.compiler, "PoCL", 4))
            device = mmt_device_open(list[i].id, &err);
    free(list);
    return device;
}

/* A batch that shares B, of rows that follow each other and of rows that do not. */
static void check_folded(mmt_device *device)
{
    mmt_problem shared = problem_of(MMT_GEMM, MMT_F32, shapes[1], 2);
    char why[1200];

    shared.batch = 3;
    shared.stride_a = shared.m * shared.lda, shared.stride_c = shared.m * shared.ldc;
    CHECK(mmt_problem_fold(&shared).m == 3 * shared.m);
    CHECK(run_one(device, &shared, why, sizeof why));
    shared.stride_c += 2 * shared.ldc;
    CHECK(mmt_problem_fold(&shared).m == shared.m);
    CHECK(run_one(device, &shared, why, sizeof why));
}

static void check_pocl(unsigned limit, bool all)
{
    char word[16];
    snprintf(word, sizeof word, "%u", limit);
    setenv("POCL_MAX_WORK_GROUP_SIZE", word, 1);
    SCOPED_DEVICE *device = open_pocl();
    mmt_op op;
    mmt_type type;
    int transposes;
    char why[1200];

    if (!device)
        SKIP("PoCL is not installed");
    const struct mmt_caps *caps = mmt_device_caps(device);
    CHECK_EQ_INT(caps->max_threads, limit);
    for (int n = 0; next_kind(n, &op, &type, &transposes); n++) {
        const bool drawn = (unsigned) transposes == (type + limit) % 4;
        if (!is_one(op, type, transposes) || (type == MMT_F64 && !caps->f64))
            continue;
        if (mmt_op_row(op)->transposes && !drawn && !all)
            continue;
        const mmt_problem problem = problem_of(op, type, shapes[1], transposes);
        const bool right = CHECK(run_one(device, &problem, why, sizeof why));
        printf("%s %s: %s\n", mmt_op_row(op)->name, mmt_type_name(type),
               right ? "right" : why);
        fflush(stdout);
    }
    check_folded(device);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        check_pocl((unsigned) atoi(argv[1]), argc > 2);
        return test_end("defaults on PoCL");
    }
    for (int k = 0; k < COUNT(kinds); k++)
        for (int i = 0; i < COUNT(limits); i++)
            check_synthetic(&kinds[k], limits[i]);
    check_words();
    check_memory();
    check_shared();
    return test_end("defaults");
}
