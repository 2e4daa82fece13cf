/* The format, as tables that the reader and the writer share. schema.json says the same
 * for other programs, and a test holds the two together. */
#include "profiles/fields.h"

/* Times are in microseconds in the file, rates in GFLOP/s and GB/s; in memory all are in
 * the plain units. */
#define MICRO .scale = 1e6
#define GIGA  .scale = 1e-9
#define PLAIN .scale = 1

/* clang-format off */
#define ROW(what, name, member, ...) \
    { .key = name, .kind = MMT_FIELD_##what, MMT_MEMBER(OF, member), __VA_ARGS__ }
#define SELF(what, name, ...) \
    { .key = name, .kind = MMT_FIELD_##what, .size = sizeof(OF), __VA_ARGS__ }
#define ELSEWHERE(name, ...) { .key = name, .kind = MMT_FIELD_ELSEWHERE, __VA_ARGS__ }
/* clang-format on */

static const struct mmt_word dialects[] = { { MMT_CUDA_CXX, "cuda" },
                                            { MMT_OPENCL_C, "opencl" },
                                            { 0 } };
static const struct mmt_word kinds[] = { { MMT_GPU, "gpu" }, { MMT_CPU, "cpu" }, { 0 } };
static const struct mmt_word biases[] = {
    { MMT_BIAS_NONE, "none" }, { MMT_BIAS_M, "row" }, { MMT_BIAS_N, "column" }, { 0 }
};
static const struct mmt_word activations[] = {
    { MMT_ACTIVATION_NONE, "none" }, { MMT_RELU, "relu" }, { MMT_GELU, "gelu" },
    { MMT_GELU_TANH, "gelu_tanh" },  { MMT_SILU, "silu" }, { 0 }
};
static const struct mmt_word batch_bys[] = { { MMT_BY_STRIDE, "stride" },
                                             { MMT_BY_POINTERS, "pointers" },
                                             { 0 } };
static const struct mmt_word clients[] = { { MMT_CLIENT_CUBLAS, "cublas" },
                                           { MMT_CLIENT_CUBLASLT, "cublaslt" },
                                           { MMT_CLIENT_BLAS, "blas" },
                                           { 0 } };
static const struct mmt_word computes[] = { { MMT_COMPUTE_USUAL, "usual" },
                                            { MMT_COMPUTE_16F, "16f" },
                                            { MMT_COMPUTE_16F_PEDANTIC, "16f_pedantic" },
                                            { 0 } };
static const struct mmt_word f32_modes[] = { { MMT_F32_STRICT, "strict" },
                                             { MMT_F32_EMULATED, "emulated" },
                                             { 0 } };
static const struct mmt_word ops[] = {
    { MMT_GEMM, "gemm" },
    { MMT_AXPBY, "axpby" },
    { MMT_DOT, "dot" },
    { MMT_HEAT2D, "heat2d" },
    { MMT_JACOBI3D, "jacobi3d" },
    { MMT_SYRK, "syrk" },
    { 0 },
};

#define MAY_LACK .may_lack = true
#define OF       struct mmt_caps
static const struct mmt_field limits[] = {
    ROW(WORD, "dialect", dialect, .words = dialects),
    ROW(WORD, "kind", kind, .words = kinds),
    ROW(INT, "sm", sm),
    ROW(BOOL, "f64", f64),
    ROW(UNSIGNED, "max_threads", max_threads),
    ROW(THREE, "max_block", max_block),
    ROW(THREE, "max_grid", max_grid),
    ROW(SIZE, "shared_bytes", shared),
    ROW(SIZE, "shared_per_sm_bytes", shared_per_sm),
    ROW(UNSIGNED, "registers", registers),
    ROW(UNSIGNED, "registers_per_thread", registers_per_thread),
    ROW(UNSIGNED, "registers_per_sm", registers_per_sm),
    ROW(UNSIGNED, "threads_per_sm", threads_per_sm),
    ROW(UNSIGNED, "blocks_per_sm", blocks_per_sm),
    ROW(UNSIGNED, "sms", sms),
    ROW(UNSIGNED, "warp", warp),
    ROW(UNSIGNED, "subgroups", subgroups, MAY_LACK),
    ROW(UNSIGNED, "dpas", dpas, MAY_LACK),
    ROW(UNSIGNED, "vector_bytes", vector_bytes),
    ROW(SIZE, "cache_bytes", cache),
    ROW(SIZE, "memory_bytes", memory),
    ROW(UNSIGNED, "clock_khz", clock_khz),
    ROW(SIZE, "memory_bytes_per_s", memory_rate, MAY_LACK),
    ROW(SIZE, "buffer_align_bytes", buffer_align),
    { 0 },
};

/* A paper names its card, but not the card's limits. */
#define NAMES                                                                            \
    ROW(STRING, "backend", backend), ROW(STRING, "name", name),                          \
        ROW(STRING, "vendor", vendor), ROW(STRING, "architecture", architecture),        \
        ROW(STRING, "driver", driver), ROW(STRING, "compiler", compiler)
static const struct mmt_field device[] = { NAMES,
                                           ROW(STRING, "uuid", uuid, MAY_LACK),
                                           SELF(OBJECT, "limits", .fields = limits),
                                           { 0 } };
static const struct mmt_field published_device[] = { NAMES, { 0 } };
#undef OF

#define OF struct mmt_made_health
static const struct mmt_field health[] = {
    ROW(NUMBER, "hottest_celsius", hottest, PLAIN),
    ROW(NUMBER, "slowest_mhz", slowest, PLAIN),
    ROW(NUMBER, "fastest_mhz", fastest, PLAIN),
    ROW(INT, "throttled", throttled),
    ROW(STRING, "throttled_by", by),
    { 0 },
};
#undef OF

#define OF struct mmt_profile
static const struct mmt_field made[] = {
    ROW(STRING, "version", made.version),
    ROW(STRING, "date", made.date),
    ROW(DIGITS, "seed", made.seed),
    ROW(NUMBER, "budget_s", made.budget, PLAIN),
    ROW(INT, "tried", made.tried),
    ROW(INT, "skipped", made.skipped),
    ROW(INT, "wrong", made.wrong),
    ROW(INT, "failed", made.failed),
    ROW(OBJECT, "health", made.health, .fields = health, MAY_LACK),
    { 0 },
};
#undef OF

_Static_assert(MMT_NUM_TYPES == 9, "every type has a row in `peaks`, and in schema.json");
#define OF struct mmt_roofline
static const struct mmt_field peaks[] = {
    ROW(NUMBER, "f32", peak_flops[MMT_F32], GIGA),
    ROW(NUMBER, "f64", peak_flops[MMT_F64], GIGA),
    ROW(NUMBER, "i32", peak_flops[MMT_I32], GIGA),
    ROW(NUMBER, "bf16", peak_flops[MMT_BF16], GIGA, MAY_LACK),
    ROW(NUMBER, "f16", peak_flops[MMT_F16], GIGA, MAY_LACK),
    ROW(NUMBER, "tf32", peak_flops[MMT_TF32], GIGA, MAY_LACK),
    ROW(NUMBER, "f8e4m3", peak_flops[MMT_F8E4M3], GIGA, MAY_LACK),
    ROW(NUMBER, "f8e5m2", peak_flops[MMT_F8E5M2], GIGA, MAY_LACK),
    ROW(NUMBER, "i8", peak_flops[MMT_I8], GIGA, MAY_LACK),
    { 0 },
};

#define SPREAD(name, type)                                                               \
    {                                                                                    \
        .key = name, .kind = MMT_FIELD_NUMBER, .offset = (type) * sizeof(double),        \
        .size = sizeof(double), PLAIN, MAY_LACK                                          \
    }
static const struct mmt_field spreads[] = {
    SPREAD("f32", MMT_F32),       SPREAD("f64", MMT_F64),
    SPREAD("i32", MMT_I32),       SPREAD("bf16", MMT_BF16),
    SPREAD("f16", MMT_F16),       SPREAD("tf32", MMT_TF32),
    SPREAD("f8e4m3", MMT_F8E4M3), SPREAD("f8e5m2", MMT_F8E5M2),
    SPREAD("i8", MMT_I8),         { 0 },
};
#undef SPREAD

static const struct mmt_field roofline[] = {
    SELF(OBJECT, "peak_gflops", .fields = peaks),
    ROW(NUMBER, "bandwidth_gbs", bandwidth, GIGA),
    ROW(OBJECT, "peak_spread", peak_spread, .fields = spreads, MAY_LACK),
    ROW(NUMBER, "bandwidth_spread", bandwidth_spread, PLAIN, MAY_LACK),
    { 0 },
};
#undef OF

#define OF struct mmt_profile
const struct mmt_field mmt_fields_own[] = {
    ELSEWHERE("format"),
    ROW(OBJECT, "device", caps, .fields = device),
    SELF(OBJECT, "made", .fields = made),
    ROW(OBJECT, "roofline", roofline, .fields = roofline),
    ELSEWHERE("entries"),
    ELSEWHERE("ranges", MAY_LACK),
    ELSEWHERE("verdicts", MAY_LACK),
    ELSEWHERE("unlisted", MAY_LACK),
    ELSEWHERE("portfolio", MAY_LACK), /* of earlier versions: not read */
    ELSEWHERE("models", MAY_LACK),
    ELSEWHERE("guides", MAY_LACK),
    { 0 },
};

const struct mmt_field mmt_fields_paper[] = {
    ELSEWHERE("format"),
    ROW(STRING, "citation", citation),
    ROW(OBJECT, "device", caps, .fields = published_device),
    /* by the card's vendor */
    ROW(OBJECT, "roofline", roofline, .fields = roofline, MAY_LACK),
    ELSEWHERE("published"),
    { 0 },
};
#undef OF

#define OF mmt_problem
static const struct mmt_field problem[] = {
    ROW(WORD, "op", op, .words = ops),
    ROW(TYPE, "type", type),
    SELF(OUT, "out", MAY_LACK),
    ROW(FLAG, "trans_a", trans_a),
    ROW(FLAG, "trans_b", trans_b),
    ROW(LONG, "m", m),
    ROW(LONG, "n", n),
    ROW(LONG, "k", k),
    ROW(LONG, "lda", lda),
    ROW(LONG, "ldb", ldb),
    ROW(LONG, "ldc", ldc),
    ROW(LONG, "batch", batch),
    ROW(LONG, "stride_a", stride_a),
    ROW(LONG, "stride_b", stride_b),
    ROW(LONG, "stride_c", stride_c),
    ROW(WORD, "bias", bias, .words = biases, MAY_LACK),
    ROW(WORD, "activation", activation, .words = activations, MAY_LACK),
    ROW(WORD, "batch_by", batch_by, .words = batch_bys, MAY_LACK),
    { 0 },
};
#undef OF

static mmt_status check_problem(void *object, mmt_error *err)
{
    mmt_problem *read = object;
    read->size = sizeof *read;
    mmt_problem copy = *read;
    return mmt_problem_normalise(&copy, read, err);
}

#define OF struct mmt_timing
static const struct mmt_field timing[] = {
    ROW(POSITIVE, "median_us", median, MICRO),
    ROW(NUMBER, "spread_us", spread, MICRO),
    ROW(INT, "samples", samples),
    { 0 },
};
#undef OF

#define OF struct mmt_yardstick
static const struct mmt_field yardstick[] = {
    ROW(STRING, "library", library),
    ROW(STRING, "driver", driver),
    ROW(STRING, "date", date),
    ROW(POSITIVE, "ours_us", ours, MICRO),
    ROW(POSITIVE, "first_us", first, MICRO),
    ROW(POSITIVE, "best_us", best, MICRO, MAY_LACK),
    { 0 },
};
#undef OF

#define OF struct mmt_entry
const struct mmt_field mmt_fields_entry[] = {
    ROW(OBJECT, "problem", problem, .fields = problem, .finish = check_problem),
    ROW(TEMPLATE, "template", config),
    ROW(STRING, "template_hash", template_hash),
    ROW(KNOBS, "knobs", config),
    ROW(OBJECT, "time", time, .fields = timing),
    ROW(NUMBER, "gflops", gflops, PLAIN),
    ROW(NUMBER, "roofline_fraction", roofline, PLAIN),
    ROW(NUMBER, "naive_us", naive, MICRO),
    ROW(STRING, "source", source),
    ROW(OBJECT, "yardstick", yardstick, .fields = yardstick, MAY_LACK),
    { 0 },
};
#undef OF

#define OF struct mmt_segment
static const struct mmt_field segment[] = {
    ROW(LONG, "m_to", m_to),
    ROW(TEMPLATE, "template", config),
    ROW(STRING, "template_hash", template_hash),
    ROW(KNOBS, "knobs", config),
    { 0 },
};
#undef OF

#define OF struct mmt_range_time
static const struct mmt_field range_time[] = {
    ROW(LONG, "m", m),
    ROW(POSITIVE, "us", seconds, MICRO),
    ROW(POSITIVE, "best_us", best, MICRO),
    { 0 },
};
#undef OF

/* Begins at the struct, in which its array and the number of its items are. */
#define ITEMS(name, member, row_fields)                                                  \
    {                                                                                    \
        .key = name, .kind = MMT_FIELD_LIST, .fields = row_fields,                       \
        .size = sizeof(((OF *) 0)->member), .array = offsetof(OF, member),               \
        .item = sizeof(*((OF *) 0)->member), .count = offsetof(OF, num_##member)         \
    }
#define OF struct mmt_range
const struct mmt_field mmt_fields_range[] = {
    ROW(OBJECT, "problem", problem, .fields = problem, .finish = check_problem),
    ITEMS("segments", segments, segment),
    ITEMS("times", times, range_time),
    { 0 },
};
#undef OF

#define OF struct mmt_verdict
const struct mmt_field mmt_fields_verdict[] = {
    ROW(WORD, "client", call.client, .words = clients),
    ROW(OBJECT, "problem", call.problem, .fields = problem, .finish = check_problem),
    ROW(BOOL, "adds", call.adds, MAY_LACK),
    ROW(WORD, "compute", call.compute, .words = computes, MAY_LACK),
    ROW(SIZE, "alignment_bytes", call.alignment, MAY_LACK),
    ROW(SIZE, "workspace_bytes", call.workspace, MAY_LACK),
    ROW(SIZE, "most_workspace_bytes", call.most_workspace, MAY_LACK),
    ROW(WORD, "f32_mode", f32_mode, .words = f32_modes),
    ROW(TEMPLATE, "template", config),
    ROW(STRING, "template_hash", template_hash),
    ROW(KNOBS, "knobs", config),
    ROW(STRING, "library", library),
    ROW(STRING, "driver", driver),
    ROW(STRING, "date", date),
    ROW(POSITIVE, "ours_us", ours, MICRO),
    ROW(POSITIVE, "library_us", theirs, MICRO),
    ROW(NUMBER, "ours_joules", our_joules, PLAIN, MAY_LACK),
    ROW(NUMBER, "library_joules", their_joules, PLAIN, MAY_LACK),
    { 0 },
};
#undef OF

#define OF struct mmt_unlisted_kernel
const struct mmt_field mmt_fields_unlisted[] = {
    ROW(TYPE, "family", family),
    ROW(TEMPLATE, "template", config),
    ROW(KNOBS, "knobs", config),
    ROW(KINDS, "right", right),
    { 0 },
};
#undef OF

#define OF struct mmt_model
const struct mmt_field mmt_fields_model[] = {
    ROW(TYPE, "family", family),
    ROW(INT, "law", law, MAY_LACK),
    ROW(INT, "shapes", shapes),
    ROW(NUMBER, "residual", residual, PLAIN),
    ROW(NUMBER, "heeded", heeded, PLAIN),
    ROW(STRING, "features", features, MAY_LACK),
    ROW(STRING, "types", types, MAY_LACK),
    ROW(STRING, "templates", templates, MAY_LACK),
    SELF(TREES, "trees"),
    { 0 },
};
#undef OF

#define OF struct mmt_pruning
const struct mmt_field mmt_fields_pruning[] = {
    ROW(TYPE, "type", type),
    ROW(STRING, "template", template),
    ROW(NUMBER, "rank_correlation", correlation, PLAIN),
    ROW(INT, "samples", samples),
    { 0 },
};
#undef OF

#define OF struct mmt_published
const struct mmt_field mmt_fields_published[] = {
    ROW(OBJECT, "problem", problem, .fields = problem, .finish = check_problem),
    ROW(STRING, "kernel", kernel),
    ROW(STRING, "configuration", knobs),
    ROW(POSITIVE, "time_us", seconds, MICRO),
    ROW(STRING, "where", where),
    ROW(BOOL, "suspect", suspect),
    ROW(BOOL, "with_copying", copying, MAY_LACK),
    ROW(STRING, "note", note),
    { 0 },
};
#undef OF
