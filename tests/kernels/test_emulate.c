/* The tensor-core products of `mma` and `dmma`, `simt`'s of such types, the shuffles of
 * `skinny` and Intel's matrix units of `dpas`, on the host, a block's threads taking
 * turns: every type on each generation of cards that multiplies it otherwise, all
 * transposes, both specialisations, odd sizes, split-K, the whole epilogue. Data are
 * whole numbers, so results must be exact. Batches by pointers, by every template that
 * takes them. Faults planted into the source must be found.
 *
 *     test_emulate [--sample]
 *     test_emulate SM CONFIGURATION      one of any CUDA template, all types
 *
 * --sample takes each type with two pairs of transposes: each operand both ways. */
#include "device/device.h"
#include "generator/generator.h"
#include "runtime/runtime.h"
#include "tests/emulation/cuda/emulate.h"
#include "tests/support/exact.h"
#include "tests/support/test.h"

enum { WORDS = 256, WHY = sizeof(((mmt_error *) 0)->text) };

#define COUNT(array) (int) (sizeof(array) / sizeof(*(array)))

static const char *const configurations[] = {
    "mma TILE_M=64 TILE_N=32 TILE_K_BYTES=64 WARPS_M=2 WARPS_N=1 STAGES=3 "
    "REGISTER_STAGES=2 SPLIT_K=1",
    "mma TILE_M=32 TILE_N=64 TILE_K_BYTES=128 WARPS_M=1 WARPS_N=2 STAGES=2 "
    "REGISTER_STAGES=1 SPLIT_K=3",
    "mma TILE_M=32 TILE_N=96 TILE_K_BYTES=32 WARPS_M=2 WARPS_N=2 STAGES=4 "
    "REGISTER_STAGES=1 SPLIT_K=1",
    "mma TILE_M=128 TILE_N=64 TILE_K_BYTES=64 WARPS_M=2 WARPS_N=2 STAGES=2 "
    "REGISTER_STAGES=2 RASTER_GROUP=1",
    "mma TILE_M=16 TILE_N=32 TILE_K_BYTES=128 WARPS_M=1 WARPS_N=1 STAGES=3 "
    "REGISTER_STAGES=2 SPLIT_K=2",
};

/* Each once, with transposes in turn: on sm_80 those of 8x8x4. */
static const char *const f64_configurations[] = {
    "dmma TILE_M=32 TILE_N=32 TILE_K=8 WARPS_M=1 WARPS_N=1 MMA=8x8x4 STAGES=2 "
    "REGISTER_STAGES=2"
    " SYNC=block TILE_SCHEDULER=data_parallel",
    "dmma TILE_M=64 TILE_N=32 TILE_K=16 WARPS_M=2 WARPS_N=1 MMA=8x8x4 STAGES=3 "
    "REGISTER_STAGES=4"
    " SYNC=stages TILE_SCHEDULER=data_parallel",
    "dmma TILE_M=48 TILE_N=64 TILE_K=8 WARPS_M=1 WARPS_N=2 MMA=8x8x4 STAGES=4 "
    "REGISTER_STAGES=1"
    " SYNC=stages TILE_SCHEDULER=stream_k RASTER_GROUP=4",
    "dmma TILE_M=32 TILE_N=64 TILE_K=16 WARPS_M=2 WARPS_N=2 MMA=8x8x4 STAGES=2 "
    "REGISTER_STAGES=2"
    " SYNC=block TILE_SCHEDULER=stream_k MIN_BLOCKS=2",
    "dmma TILE_M=64 TILE_N=64 TILE_K=16 WARPS_M=2 WARPS_N=2 MMA=16x8x8 STAGES=3 "
    "REGISTER_STAGES=4"
    " SYNC=stages TILE_SCHEDULER=data_parallel SPLIT_K=3",
    "dmma TILE_M=32 TILE_N=48 TILE_K=32 WARPS_M=2 WARPS_N=1 MMA=16x8x16 STAGES=3"
    " REGISTER_STAGES=2 SYNC=stages TILE_SCHEDULER=stream_k",
    "dmma TILE_M=96 TILE_N=32 TILE_K=8 WARPS_M=2 WARPS_N=2 MMA=16x8x4 STAGES=5 "
    "REGISTER_STAGES=2"
    " SYNC=stages TILE_SCHEDULER=persistent",
    "dmma TILE_M=32 TILE_N=128 TILE_K=16 WARPS_M=1 WARPS_N=4 MMA=16x8x8 STAGES=2"
    " REGISTER_STAGES=2 SYNC=block TILE_SCHEDULER=persistent",
    "dmma TILE_M=16 TILE_N=16 TILE_K=8 WARPS_M=1 WARPS_N=1 MMA=16x8x8 STAGES=6 "
    "REGISTER_STAGES=1"
    " SYNC=stages TILE_SCHEDULER=stream_k RASTER_GROUP=1",
    /* operands of whole steps */
    "dmma TILE_M=64 TILE_N=64 TILE_K=16 WARPS_M=2 WARPS_N=2 MMA=16x8x8 STAGES=4 "
    "REGISTER_STAGES=8"
    " SYNC=block TILE_SCHEDULER=data_parallel",
    "dmma TILE_M=96 TILE_N=32 TILE_K=16 WARPS_M=2 WARPS_N=2 MMA=16x8x4 STAGES=3 "
    "REGISTER_STAGES=4"
    " SYNC=stages TILE_SCHEDULER=stream_k",
    "dmma TILE_M=32 TILE_N=64 TILE_K=8 WARPS_M=2 WARPS_N=1 MMA=8x8x4 STAGES=2 "
    "REGISTER_STAGES=16"
    " SYNC=block TILE_SCHEDULER=persistent",
};

/* f32 in slices: whole numbers, with the epilogue; test_slices.c has others. */
static const char slices_configuration[] =
    "mma_bf16x3 TILE_M=32 TILE_N=64 TILE_K_BYTES=128 WARPS_M=1 WARPS_N=2 STAGES=3 "
    "REGISTER_STAGES=2 SPLIT_K=1";

/* Asynchronous copies without tensor cores, f32, f64 and i32. */
static const char async_configuration[] =
    "simt COPY=cp_async TILE_M=32 TILE_N=64 TILE_K=8 THREAD_TILE_M=4 THREAD_TILE_N=4 "
    "WARP_M=4 WARP_N=8 LANES=rows C_VECTOR=2 STAGES=3 REGISTER_STAGES=2 RASTER_GROUP=4 "
    "TILE_SCHEDULER=stream_k MIN_BLOCKS=1";

/* The same, whose warps hand their sums on wherever rows of C begin. */
static const char store_configuration[] =
    "simt COPY=cp_async TILE_M=64 TILE_N=64 TILE_K=8 THREAD_TILE_M=4 THREAD_TILE_N=8 "
    "WARP_M=8 WARP_N=4 LANES=rows C_VECTOR=1 STAGES=3 REGISTER_STAGES=2 RASTER_GROUP=4 "
    "TILE_SCHEDULER=persistent MIN_BLOCKS=1";

/* Types of 16 and 8 bits and tf32 without tensor cores, whose blocks share tiles. */
static const char *const fma_configurations[] = {
    "simt TILE_M=16 TILE_N=16 TILE_K=8 THREAD_TILE_M=2 THREAD_TILE_N=4 WARP_M=8 WARP_N=4 "
    "LANES=pairs C_VECTOR=4 REGISTER_STAGES=1 FMA_ORDER=rows RASTER_GROUP=1 SPLIT_K=3 "
    "TILE_SCHEDULER=data_parallel STAGES=1 A_VECTOR=2 B_VECTOR=4 SHARED_LAYOUT=pad "
    "K_UNROLL=2",
    "simt TILE_M=16 TILE_N=16 TILE_K=8 THREAD_TILE_M=4 THREAD_TILE_N=2 WARP_M=4 WARP_N=8 "
    "LANES=rows C_VECTOR=2 REGISTER_STAGES=2 FMA_ORDER=columns RASTER_GROUP=4 "
    "TILE_SCHEDULER=stream_k STAGES=2 A_VECTOR=4 B_VECTOR=1 SHARED_LAYOUT=swap "
    "K_UNROLL=2",
};

/* The generations whose instructions differ, and what is new there. */
static const struct {
    int sm;
    unsigned types;
} cards[] = {
    { 75, 1 << MMT_F16 | 1 << MMT_I8 },
    { 80, 1 << MMT_F16 | 1 << MMT_BF16 | 1 << MMT_TF32 | 1 << MMT_I8 | 1 << MMT_F64 },
    { 89, 1 << MMT_F8E4M3 | 1 << MMT_F8E5M2 },
    { 90, 1 << MMT_F64 },
};

/* Leading dimensions and strides are made multiples of `step` elements: those of 4 are of
 * whole words, but not aligned. */
static const struct shape {
    int m, n, k, step, batch;
} shapes[] = {
    { 70, 50, 90, 16, 2 }, { 33, 17, 133, 1, 1 }, { 130, 134, 200, 16, 1 },
    { 1, 1, 1, 1, 1 },     { 19, 35, 0, 16, 1 },  { 5, 100, 67, 16, 1 },
    { 50, 42, 74, 4, 1 },  { 21, 40, 33, 16, 8 },
};

static const struct exact_call calls[] = {
    { 1, 0, false, 0, 4096 },
    { -2, 3, false, 1, 4096 },
    { 3, -1, true, 0, 4096 },
    { 0, 2, true, 0, 4096 },
};

/* ---- problems --------------------------------------------------------------------- */

static int64_t rounded(int64_t size, int step)
{
    return (size + step - 1) / step * step;
}

static mmt_problem make_problem(const struct shape *s, const struct mmt_variant *variant)
{
    mmt_problem p = mmt_op_problem(MMT_GEMM, variant->type, s->m, s->n, s->k), whole;

    p.out = variant->out;
    p.bias = variant->bias;
    p.activation = variant->activation;
    p.trans_a = variant->trans_a;
    p.trans_b = variant->trans_b;
    p.batch = s->batch;
    p.lda = rounded(p.trans_a ? s->m : s->k, s->step) + (s->step == 1);
    p.ldb = rounded(p.trans_b ? s->k : s->n, s->step) + (s->step == 1);
    p.ldc = rounded(s->n, s->step) + (s->step == 1);
    p.stride_a = p.lda * (p.trans_a ? s->k : s->m);
    p.stride_b = p.ldb * (p.trans_b ? s->n : s->k);
    p.stride_c = p.ldc * s->m;
    mmt_problem_normalise(&p, &whole, NULL);
    return whole;
}

/* ---- one configuration ----------------------------------------------------------- */

static void describe(const char *configuration, const mmt_problem *problem,
                     const struct exact_call *call, const char *why)
{
    struct mmt_text text = { 0 };
    mmt_problem_print(problem, &text);
    fprintf(stderr, "    %s, %s, alpha %d beta %d offset %d: %s\n", configuration,
            mmt_text_string(&text), call->alpha, call->beta, call->offset, why);
    mmt_text_finish(&text);
}

static bool is_refused(mmt_device *device, const char *configuration,
                       const mmt_problem *problem)
{
    struct mmt_config config;
    CHECK_OK(mmt_config_parse(configuration, &config, &err), err);
    return mmt_config_check_problem(&config, problem, mmt_device_caps(device)) != NULL;
}

/* How many executions were wrong; `tell` says which. Few shapes may be refused. */
static int count_wrong(mmt_device *device, const char *configuration,
                       const struct mmt_variant *variant, bool tell)
{
    mmt_plan_options options = mmt_plan_defaults();
    char why[WHY];
    int wrong = 0, refused = 0;

    options.configuration = configuration;
    for (int s = 0; s < COUNT(shapes); s++) {
        const mmt_problem problem = make_problem(&shapes[s], variant);
        if (is_refused(device, configuration, &problem) && ++refused)
            continue;
        mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
        CHECK_MADE(plan);
        for (int i = 0; plan && i < 2; i++) {
            const struct exact_call *call = &calls[(s + i) % COUNT(calls)];
            if (exact_run(device, plan, &problem, call, why, WHY))
                continue;
            wrong++;
            if (tell)
                describe(configuration, &problem, call, why);
        }
        mmt_plan_free(plan);
    }
    CHECK(refused <= 2);
    return wrong;
}

/* Transposes, outputs, biases and activations take turns; of the latter RELU is exact. */
static struct mmt_variant variant_at(mmt_type type, int index)
{
    struct mmt_variant variant = { .op = MMT_GEMM,
                                   .type = type,
                                   .out = mmt_type_own_output(type),
                                   .trans_a = index & 2,
                                   .trans_b = index & 1,
                                   .bias = (mmt_bias) (index % MMT_NUM_BIASES),
                                   .activation =
                                       index / 2 ? MMT_RELU : MMT_ACTIVATION_NONE };
    if (index % 2 && mmt_type_in(MMT_F32, mmt_type_outputs(type)))
        variant.out = MMT_F32;
    return variant;
}

static bool sample;

/* Of types that follow each other one has nn and tt, the other nt and tn. */
static bool is_left_out(const struct mmt_variant *variant)
{
    return sample && (variant->trans_a != variant->trans_b) != variant->type % 2;
}

/* Configurations take turns; f8 says when sums go to full precision. */
static void configuration_at(mmt_type type, int index, char words[WORDS])
{
    const bool f8 = type == MMT_F8E4M3 || type == MMT_F8E5M2;
    snprintf(words, WORDS, "%s%s", configurations[index % COUNT(configurations)],
             f8 ? " PROMOTE=2" : "");
}

static void check_f64(mmt_device *device)
{
    static int turn;
    for (int i = 0; i < COUNT(f64_configurations); i++) {
        const char *configuration = f64_configurations[i];
        const struct mmt_variant variant = variant_at(MMT_F64, turn++ % 4);
        const bool old = strstr(configuration, "MMA=8x8x4") != NULL;
        if (old == (mmt_device_caps(device)->sm == 80))
            CHECK_EQ_INT(count_wrong(device, configuration, &variant, true), 0);
    }
}

static void check_card(int sm, unsigned types)
{
    static int turn;
    mmt_device *device = emulate_open(sm, &err);

    if (!CHECK(device != NULL))
        return;
    device->caps.max_grid[2] = 3; /* batches of more take several launches */
    if (mmt_type_in(MMT_F64, types))
        check_f64(device);
    for (int i = 0; i < 4 * MMT_NUM_TYPES; i++) {
        const struct mmt_variant variant = variant_at((mmt_type) (i / 4), i % 4);
        char configuration[WORDS];
        if (variant.type == MMT_F64 || !mmt_type_in(variant.type, types) ||
            is_left_out(&variant))
            continue;
        configuration_at(variant.type, turn, configuration);
        CHECK_EQ_INT(count_wrong(device, configuration, &variant, true), 0);
        turn++;
    }
    mmt_device_close(device);
}

static void check_fmas(void)
{
    mmt_device *device = emulate_open(70, &err);
    int turn = 0;

    if (!CHECK(device != NULL))
        return;
    for (int i = 0; i < 4 * MMT_NUM_TYPES; i++) {
        const struct mmt_variant variant = variant_at((mmt_type) (i / 4), i % 4);
        if (!mmt_type_in(variant.type, MMT_CONVERTED_TYPES) || is_left_out(&variant))
            continue;
        const char *configuration =
            fma_configurations[turn++ % COUNT(fma_configurations)];
        CHECK_EQ_INT(count_wrong(device, configuration, &variant, true), 0);
    }
    mmt_device_close(device);
}

/* ---- faults ---------------------------------------------------------------------- */

static const struct fault {
    const char *name, *what, *into;
    mmt_type type;
} faults[] = {
    { "a fragment's words are exchanged", "of_b ? i / 2 : i % 2", "of_b ? i % 2 : i / 2",
      MMT_BF16 },
    { "a stage is fetched before it has arrived", "AWAIT_COPIES(STAGES - 2)",
      "AWAIT_COPIES(STAGES - 1)", MMT_F16 },
    { "threads do not wait for each other", "        BARRIER();", "", MMT_F16 },
    { "4-byte elements are taken from other depths", "(of_b ? w % 2 : w / 2) * 4",
      "(of_b ? w / 2 : w % 2) * 4", MMT_TF32 },
    { "bytes are turned otherwise", "0x5140", "0x5410", MMT_I8 },
    { "sums of the lower rows are stored above", "16 + s % 2 * 8", "16 + (1 - s % 2) * 8",
      MMT_TF32 },
    { "a stage is copied to where others fetch", "(STAGES - 1) * SPACE ? 0",
      "(STAGES - 2) * SPACE ? 0", MMT_BF16 },
    { "whole words are copied to the wrong chunk", "copy_4(at, from",
      "copy_4(at ^ 16, from", MMT_F16 },
    { "tf32 is cut off", "bits + 0x1000u : bits", "bits : bits", MMT_TF32 },
    { "what went to full precision is added again", "    clear(t->part);", "",
      MMT_F8E4M3 },
};

/* Those of dmma, with the configuration that shows them. */
static const struct f64_fault {
    const char *name, *what, *into;
    int configuration;
} f64_faults[] = {
    { "a stage is fetched before it is full",
      "barrier_wait(full(w, 8 * w->out), w->parity);", "", 1 },
    { "a stage is copied to before it is empty",
      "barrier_wait(empty(w, w->in), w->parity);", "", 1 },
    { "the first warp that has left a stage frees it", "THREADS / 32)", "1)", 1 },
    { "a stage is left before it has been fetched", "THREAD_X % 32 == 0", "THREAD_X == 0",
      1 },
    { "a stage's copies are said to be done too early", "arrive_when_copied(",
      "barrier_arrive(", 1 },
    { "parities do not change", "w->parity ^=", "w->parity |=", 1 },
    { "a stage's barrier of the block is not met",
      "AWAIT_COPIES(STAGES - 2);\n        BARRIER();", "AWAIT_COPIES(STAGES - 2);", 3 },
    { "late copies of a job reach the next one's stages", "while (SYNC &&",
      "while (false &&", 2 },
    { "the parts of a run are stored over each other", "* 2 + part", "* 2", 2 },
    { "the last part of a tile is left out", "b + i < end &&", "b + i < end - 1 &&", 3 },
};

/* Those of storing with unaligned leading dimensions, by COPY=cp_async of simt. */
static const struct fault store_faults[] = {
    { "sums are taken before they are handed on", "        MEET();\n        UNROLL",
      "        UNROLL", MMT_F32 },
    { "sums are handed on while others take the last ones", "i % 2 * ROW_OF_ACC", "0",
      MMT_F32 },
    { "sums are handed on where a tile is still read", "BARRIER(); // tiles", "// tiles",
      MMT_F32 },
};

static void check_fault(mmt_device *device, const char *configuration, mmt_type type,
                        const char *name, const char *what, const char *into)
{
    const struct mmt_variant variant = variant_at(type, 0);

    emulate_plant(what, into);
    const int wrong = count_wrong(device, configuration, &variant, false);
    if (!CHECK(wrong > 0) || !CHECK(emulate_planted() > 0))
        fprintf(stderr, "    not found: %s\n", name);
    emulate_plant(NULL, NULL);
}

static void check_faults(void)
{
    mmt_device *device = emulate_open(89, &err), *older = emulate_open(80, &err);

    if (!CHECK(device != NULL) || !CHECK(older != NULL))
        return;
    for (int i = 0; i < COUNT(faults); i++) {
        const struct fault *f = &faults[i];
        char configuration[WORDS];
        configuration_at(f->type, 0, configuration);
        check_fault(device, configuration, f->type, f->name, f->what, f->into);
    }
    for (int i = 0; i < COUNT(f64_faults); i++) {
        const struct f64_fault *f = &f64_faults[i];
        check_fault(older, f64_configurations[f->configuration], MMT_F64, f->name,
                    f->what, f->into);
    }
    for (int i = 0; i < COUNT(store_faults); i++) {
        const struct fault *f = &store_faults[i];
        check_fault(older, store_configuration, f->type, f->name, f->what, f->into);
    }
    mmt_device_close(older);
    mmt_device_close(device);
}

/* ---- kernel selection ------------------------------------------------------------ */

/* f32 and i32 have tensor cores, too, unless a program wants f32 plain. */
static void check_default_in_digits(mmt_type type, const struct shape *shape,
                                    const struct mmt_caps *hopper)
{
    const struct mmt_terms plain = { .max_workspace = SIZE_MAX, .strict_f32 = true };
    const struct mmt_variant variant = variant_at(type, 0);
    const mmt_problem problem = make_problem(shape, &variant);
    struct mmt_selection selection;

    CHECK_OK(mmt_select(NULL, &problem, hopper, NULL, &selection, &err), err);
    CHECK_EQ_STR(selection.config.template->name, "wgmma");
    CHECK_OK(mmt_select(NULL, &problem, hopper, &plain, &selection, &err), err);
    CHECK(mmt_config_in_slices(&selection.config, type) == (type != MMT_F32));
}

/* Without a profile another kernel is first, which packs rows that the TMA cannot
 * take; where there is no workspace for that, as beside a kernel that needs none, it is
 * this one. */
static void check_default(void)
{
    mmt_device *device = emulate_open(90, &err);
    struct mmt_selection selection;

    if (!CHECK(device != NULL))
        return;
    struct mmt_caps hopper = *mmt_device_caps(device);
    snprintf(hopper.architecture, sizeof(hopper.architecture), "sm_90a");
    for (int odd = 0; odd < 2; odd++) {
        const struct shape shape = { 2048, 2048, 2048, odd ? 1 : 16, 1 };
        const struct mmt_variant variant = variant_at(MMT_BF16, 0);
        const mmt_problem problem = make_problem(&shape, &variant);
        CHECK_OK(mmt_select(NULL, &problem, &hopper, NULL, &selection, &err), err);
        CHECK_EQ_STR(selection.config.template->name, "wgmma");
        const struct mmt_terms no_workspace = { .max_workspace = 0 };
        CHECK_OK(mmt_select(NULL, &problem, &hopper, &no_workspace, &selection, &err),
                 err);
        CHECK_EQ_STR(selection.config.template->name, odd ? "mma" : "wgmma");
        check_default_in_digits(MMT_F32, &shape, &hopper);
        check_default_in_digits(MMT_I32, &shape, &hopper);
    }
    mmt_device_close(device);
}

/* ---- batches by pointers --------------------------------------------------------- */

static const struct pointed {
    const char *configuration;
    mmt_type type;
    int m, n, k;
} pointed[] = {
    { "naive ORDER=columns BLOCK_M=4 BLOCK_N=8", MMT_F16, 9, 17, 21 },
    { "block_dot", MMT_F32, 5, 9, 21 },
    { "row_cached", MMT_F32, 5, 9, 21 },
    { "col_cached", MMT_F32, 5, 9, 21 },
    { "tiled", MMT_F64, 20, 33, 21 },
    { "split_naive SPLIT_K=2", MMT_F32, 9, 17, 61 },
    { "skinny SHORT=either THREAD_TILE_SHORT=2 THREAD_TILE_LONG=4 THREAD_TILE_K=4 "
      "THREADS_LONG=8 THREADS_K=8 TILE_K=64 SPLIT_K=2 SUBGROUP=32 VECTOR=4",
      MMT_F32, 7, 100, 267 },
    { "small TILE_M=16 TILE_N=16 TILE_K=16 THREAD_TILE_M=2 THREAD_TILE_N=1 MATRICES=4 "
      "TURNS=1 VECTOR=4 AHEAD=1 K_UNROLL=4 MIN_BLOCKS=1",
      MMT_BF16, 24, 20, 40 },
    { "small_k", MMT_F32, 50, 60, 8 },
    { "mma TILE_M=64 TILE_N=32 TILE_K_BYTES=64 WARPS_M=2 WARPS_N=1 STAGES=3 "
      "REGISTER_STAGES=2 SPLIT_K=1",
      MMT_BF16, 70, 50, 90 },
    { "mma TILE_M=32 TILE_N=64 TILE_K_BYTES=128 WARPS_M=1 WARPS_N=2 STAGES=2 "
      "REGISTER_STAGES=1 SPLIT_K=3",
      MMT_F16, 50, 70, 200 },
    { slices_configuration, MMT_F32, 50, 70, 90 },
    { "dmma TILE_M=64 TILE_N=32 TILE_K=16 WARPS_M=2 WARPS_N=1 MMA=8x8x4 STAGES=3 "
      "REGISTER_STAGES=4 SYNC=stages TILE_SCHEDULER=persistent",
      MMT_F64, 70, 50, 40 },
    { store_configuration, MMT_F32, 70, 50, 40 },
    { "simt TILE_M=16 TILE_N=16 TILE_K=8 THREAD_TILE_M=2 THREAD_TILE_N=4 WARP_M=8 "
      "WARP_N=4 LANES=pairs C_VECTOR=4 REGISTER_STAGES=1 FMA_ORDER=rows RASTER_GROUP=1 "
      "SPLIT_K=3 TILE_SCHEDULER=data_parallel STAGES=1 A_VECTOR=2 B_VECTOR=4 "
      "SHARED_LAYOUT=pad K_UNROLL=2",
      MMT_I32, 40, 50, 60 },
};

/* Matrices of A, of B, or of none are one. */
enum { SHARED_A, SHARED_B, SHARED_NONE };

/* How many executions of a kernel are wrong, of all that it serves. */
static int count_wrong_pointed(mmt_device *device, const struct pointed *it, int shared,
                               bool aligned, int batch, bool tell)
{
    const struct shape shape = { it->m, it->n, it->k, aligned ? 16 : 1, batch };
    struct mmt_variant variant = variant_at(it->type, (int) (it - pointed) % 4);
    mmt_plan_options options = mmt_plan_defaults();
    mmt_error err = { 0 };
    char why[WHY];
    int wrong = 0;

    variant.bias = MMT_BIAS_NONE, variant.activation = MMT_ACTIVATION_NONE;
    options.configuration = it->configuration;
    options.aligned_only = aligned;
    mmt_problem problem = make_problem(&shape, &variant);
    problem.batch_by = MMT_BY_POINTERS;
    problem.stride_a *= shared != SHARED_A;
    problem.stride_b *= shared != SHARED_B;
    mmt_plan *plan = mmt_plan_create(device, NULL, &problem, &options, &err);
    CHECK_MADE(plan);
    for (int i = 0; plan && i < COUNT(calls); i++) {
        struct exact_call call = calls[i];
        call.offset *= !aligned;
        if (exact_run(device, plan, &problem, &call, why, sizeof why))
            continue;
        wrong++;
        if (tell)
            describe(it->configuration, &problem, &call, why);
    }
    mmt_plan_free(plan);
    return wrong;
}

/* A launch has three matrices at most. */
static void check_pointers(mmt_device *device)
{
    static const int batches[] = { 1, 2, 7 };
    for (int i = 0; i < COUNT(pointed); i++)
        for (int shared = SHARED_A; shared <= SHARED_NONE; shared++)
            for (int b = 0; b < COUNT(batches); b++)
                CHECK_EQ_INT(count_wrong_pointed(device, &pointed[i], shared,
                                                 (i + shared + b) % 2, batches[b], true),
                             0);
}

/* Each operand's array is read at the wrong place: by every kernel, and by what finds a
 * matrix there. */
static void check_pointer_faults(mmt_device *device)
{
    static const char *const faults[][2] = {
        { "FIND_MATRIX(a, BLOCK_Z)", "FIND_MATRIX(a, 0)" },
        { "FIND_MATRIX(b, BLOCK_Z)", "FIND_MATRIX(b, 0)" },
        { "FIND_MATRIX(c, BLOCK_Z)", "FIND_MATRIX(c, 0)" },
        { "array)[number]", "array)[number / 2]" },
    };
    for (int i = 0; i < COUNT(pointed); i++)
        for (int f = 0; f < COUNT(faults); f++) {
            const bool small = !strncmp(pointed[i].configuration, "small ", 6);
            if (small && f < COUNT(faults) - 1)
                continue;
            emulate_plant(faults[f][0], faults[f][1]);
            const bool found =
                count_wrong_pointed(device, &pointed[i], SHARED_NONE, true, 3, false) > 0;
            if (!CHECK(found) || !CHECK(emulate_planted() > 0))
                fprintf(stderr, "    not found: %s in %s\n", faults[f][0],
                        pointed[i].configuration);
            emulate_plant(NULL, NULL);
        }
}

/* TMA takes strides. */
static void check_pointers_refused(void)
{
    static const struct {
        const char *configuration;
        mmt_type type;
    } kernels[] = { { "wgmma", MMT_BF16 }, { "simt COPY=tma", MMT_F32 } };
    mmt_error err = { 0 };
    mmt_device *device = emulate_open(90, &err);
    struct mmt_config config;

    if (!CHECK(device != NULL))
        return;
    struct mmt_caps hopper = *mmt_device_caps(device);
    snprintf(hopper.architecture, sizeof hopper.architecture, "sm_90a");
    for (int i = 0; i < COUNT(kernels); i++)
        for (int by = MMT_BY_STRIDE; by <= MMT_BY_POINTERS; by++) {
            mmt_problem problem =
                mmt_op_problem(MMT_GEMM, kernels[i].type, 512, 512, 512);
            problem.batch = 4;
            problem.batch_by = (mmt_batch_by) by;
            CHECK_OK(mmt_problem_normalise(&problem, &problem, &err), err);
            CHECK_OK(mmt_config_parse_for(kernels[i].configuration, &problem, &hopper,
                                          &config, &err),
                     err);
            const char *why = mmt_config_check_problem(&config, &problem, &hopper);
            CHECK(by == MMT_BY_STRIDE ? !why : why && strstr(why, "not by pointers"));
        }
    mmt_device_close(device);
}

static void check_batches_by_pointers(void)
{
    mmt_error err = { 0 };
    mmt_device *device = emulate_open(80, &err);

    if (!CHECK(device != NULL))
        return;
    device->caps.max_grid[2] = 3;
    check_pointers(device);
    check_pointer_faults(device);
    check_pointers_refused();
    mmt_device_close(device);
}

/* ---- by hand --------------------------------------------------------------------- */

static void check_given(int sm, const char *configuration)
{
    mmt_device *device = emulate_open(sm, &err);
    struct mmt_config config;

    CHECK_MADE(device);
    CHECK_OK(mmt_config_parse(configuration, &config, &err), err);
    for (int i = 0; i < 4 * MMT_NUM_TYPES && !test_failures; i++) {
        const struct mmt_variant variant = variant_at((mmt_type) (i / 4), i % 4);
        const char *why =
            mmt_config_check_device(&config, &variant, mmt_device_caps(device));
        if (is_left_out(&variant))
            continue;
        if (!why)
            CHECK_EQ_INT(count_wrong(device, configuration, &variant, true), 0);
        else if (i % 4 < 2)
            printf("%s: %s\n", mmt_type_name(variant.type), why);
    }
    mmt_device_close(device);
}

static void check_calls(mmt_device *device, const char *configuration,
                        const mmt_problem *problem)
{
    mmt_plan_options options = mmt_plan_defaults();
    char why[WHY];

    options.configuration = configuration;
    mmt_plan *plan = mmt_plan_create(device, NULL, problem, &options, &err);
    CHECK_MADE(plan);
    for (int i = 0; plan && i < COUNT(calls); i++)
        if (!CHECK(exact_run(device, plan, problem, &calls[i], why, WHY)))
            describe(configuration, problem, &calls[i], why);
    mmt_plan_free(plan);
}

/* ---- many blocks for few tiles --------------------------------------------------- */

/* So many that several threads share the parts of a tile that they add up. */
static void check_many_blocks(void)
{
    static const struct shape few[] = { { 20, 30, 1500, 1, 1 }, { 33, 17, 700, 16, 2 } };
    static const struct {
        const char *configuration;
        mmt_type type;
    } kernels[] = { { async_configuration, MMT_F32 },
                    { async_configuration, MMT_I32 },
                    { "dmma TILE_M=48 TILE_N=64 TILE_K=8 WARPS_M=1 WARPS_N=2 MMA=8x8x4 "
                      "STAGES=4 REGISTER_STAGES=1 SYNC=stages TILE_SCHEDULER=stream_k",
                      MMT_F64 } };
    mmt_device *device = emulate_open(80, &err);

    if (!CHECK(device != NULL))
        return;
    emulate_widen(device, 40);
    for (int i = 0; i < COUNT(kernels) * COUNT(few); i++) {
        const struct mmt_variant variant = variant_at(kernels[i / 2].type, 0);
        const mmt_problem problem = make_problem(&few[i % 2], &variant);
        if (is_refused(device, kernels[i / 2].configuration, &problem))
            CHECK(problem.batch > 1); /* a batch has tiles enough */
        else
            check_calls(device, kernels[i / 2].configuration, &problem);
    }
    mmt_device_close(device);
}

/* ---- OpenCL's matrix units ----------------------------------------------------------
 */

static void check_dpas(void)
{
    static const struct {
        int subgroup;
        const char *configuration;
    } kernels[] = {
        { 8, "dpas TILE_M=32 TILE_N=32 SUBGROUPS_M=2 SUBGROUPS_N=4 SUBGROUP=8" },
        { 16, "dpas TILE_M=64 TILE_N=32 SUBGROUPS_M=4 SUBGROUPS_N=1 SUBGROUP=16" },
    };
    static const mmt_type types[] = { MMT_BF16, MMT_F16, MMT_I8 };
    mmt_device *device = emulate_open(70, &err);

    if (!CHECK(device != NULL))
        return;
    device->caps.dialect = MMT_OPENCL_C;
    for (int i = 0; i < COUNT(kernels) * COUNT(types) * 4; i++) {
        const struct mmt_variant variant = variant_at(types[i / 4 % COUNT(types)], i % 4);
        const int turn = i / 4 / COUNT(types);
        device->caps.subgroups = device->caps.dpas = (unsigned) kernels[turn].subgroup;
        if (!is_left_out(&variant))
            CHECK_EQ_INT(count_wrong(device, kernels[turn].configuration, &variant, true),
                         0);
    }
    mmt_device_close(device);
}

/* ---- threads that add up by shuffles ----------------------------------------------- */

/* Those that are near; along k all of them, or those of one subgroup. */
static void check_subgroups(void)
{
    static const char *const kernels[] = {
        "skinny SHORT=either THREAD_TILE_SHORT=2 THREAD_TILE_LONG=4 THREAD_TILE_K=4 "
        "THREADS_LONG=8 THREADS_K=8 TILE_K=64 SPLIT_K=2 SUBGROUP=32",
        "skinny SHORT=either THREAD_TILE_SHORT=4 THREAD_TILE_LONG=4 THREAD_TILE_K=4 "
        "THREADS_LONG=8 THREADS_K=64 TILE_K=256 SPLIT_K=1 SUBGROUP=32",
    };
    static const struct shape narrow[] = { { 7, 100, 267, 16, 1 }, { 90, 5, 300, 1, 2 } };
    mmt_device *device = emulate_open(70, &err);

    if (!CHECK(device != NULL))
        return;
    for (int i = 0; i < 4 * MMT_NUM_TYPES; i++) {
        struct mmt_variant variant = variant_at((mmt_type) (i / 4), i % 4);
        variant.bias = MMT_BIAS_NONE;
        variant.activation = MMT_ACTIVATION_NONE;
        if (is_left_out(&variant))
            continue;
        for (int s = 0; s < COUNT(narrow); s++) {
            const mmt_problem problem = make_problem(&narrow[s], &variant);
            char configuration[WORDS];
            snprintf(configuration, WORDS, "%s VECTOR=%d",
                     kernels[(i / 4 + s) % COUNT(kernels)],
                     variant.type == MMT_F64 ? 2 : 4);
            check_calls(device, configuration, &problem);
        }
    }
    mmt_device_close(device);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        check_given(atoi(argv[1]), argv[2]);
        return test_end("emulate");
    }
    sample = argc == 2 && !strcmp(argv[1], "--sample");
    for (int i = 0; i < COUNT(cards); i++)
        check_card(cards[i].sm, cards[i].types);
    check_faults();
    check_fmas();
    check_given(80, slices_configuration);
    check_given(80, async_configuration);
    check_given(80, store_configuration);
    check_default();
    check_many_blocks();
    check_subgroups();
    check_batches_by_pointers();
    check_dpas();
    return test_end("emulate");
}
