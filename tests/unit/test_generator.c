/* Configurations, what is legal where, spaces, the table of templates. */
#include <string.h>

#include "generator/generator.h"
#include "tests/support/sample.h"
#include "tests/support/caps.h"
#include "tests/support/made.h"
#include "tests/support/test.h"

static struct mmt_caps gpu;

static struct mmt_caps opencl_cpu(void)
{
    struct mmt_caps caps = gpu;
    caps.dialect = MMT_OPENCL_C;
    caps.kind = MMT_CPU;
    caps.sm = 0;
    caps.warp = 1;
    return caps;
}

/* A device on which nothing runs but a block of so few threads. */
static struct mmt_caps tiny(unsigned threads)
{
    struct mmt_caps caps = opencl_cpu();
    caps.max_threads = threads;
    return caps;
}

/* ---- configurations -------------------------------------------------------------- */

static void test_print(void)
{
    struct mmt_config config = { &sample, { 8, 5, 16 } };
    SCOPED_TEXT text = { 0 };
    char buffer[16];
    mmt_config_print(&config, &text);
    CHECK_EQ_STR(mmt_text_string(&text), "sample ROWS=8 LAYOUT=xor DEPTH=16");
    CHECK_EQ_STR(mmt_config_value(&config, ROWS, buffer), "8");
    CHECK_EQ_STR(mmt_config_value(&config, LAYOUT, buffer), "xor");
}

static void test_set(void)
{
    struct mmt_config config = { &sample, { 8, 5, 16 } }, same = config;
    CHECK_OK(mmt_config_set(&config, "LAYOUT", "pad", &err), err);
    CHECK_OK(mmt_config_set(&config, "ROWS", "2", &err), err);
    CHECK(config.values[ROWS] == 2 && config.values[LAYOUT] == 1 &&
          config.values[DEPTH] == 16);
    CHECK(!mmt_config_equal(&config, &same));

    same = config;
    CHECK_FAILS(
        mmt_config_set(&config, "COLS", "2", &err), err, MMT_ERROR_ARGUMENT,
        "sample has no knob 'COLS' (did you mean 'ROWS'?); it has ROWS, LAYOUT and "
        "DEPTH");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "3", &err), err, MMT_ERROR_ARGUMENT,
                "ROWS of sample cannot be '3'; it may be 1, 2, 4 and 8");
    CHECK_FAILS(mmt_config_set(&config, "LAYOUT", "1", &err), err, MMT_ERROR_ARGUMENT,
                "LAYOUT of sample cannot be '1'; it may be plain, pad and xor");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "", &err), err, MMT_ERROR_ARGUMENT, "''");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "08", &err), err, MMT_ERROR_ARGUMENT,
                "'08'");
    CHECK(mmt_config_equal(&config, &same));
}

/* Every template's every seed, printed and read back, also with its knobs reversed. */
/* What earlier versions wrote is read as what it is called today. */
static void test_aliases(void)
{
    static const char *const pairs[][2] = {
        { "wgmma DEPTH=2 DEAL=runs WALK=hilbert GROUP=4 IN_FLIGHT=0 STORE_SLOTS=0 TURN=1",
          "wgmma TILE_K_BYTES=256 TILE_SCHEDULER=stream_k RASTER_ORDER=hilbert "
          "RASTER_GROUP=4 WGMMA_PENDING=0 EPILOGUE_STAGES=0 TRANSPOSE_IN_REGISTERS=1" },
        { "mma DEPTH=4 FRAGMENTS=2", "mma TILE_K_BYTES=128 REGISTER_STAGES=2" },
        { "simt BUFFERS=1 WORK_M=4 SHARED_LAYOUT=xor DEAL=tiles",
          "simt STAGES=1 THREAD_TILE_M=4 SHARED_LAYOUT=swizzle "
          "TILE_SCHEDULER=data_parallel" },
        { "thin WORK_N=2 C_VECTOR=1", "small_k THREAD_TILE_N=2 C_VECTOR=1" },
        { "simt DEAL=rounds", "simt COPY=registers TILE_SCHEDULER=persistent" },
        { "simt_async STAGES=2 WORK_M=4", "simt STAGES=2 THREAD_TILE_M=4 COPY=cp_async" },
        { "simt_tma PACK_A=1", "simt PACK_A=1 COPY=tma" },
        { "dmma SYNC=slots DEAL=rounds", "dmma SYNC=stages TILE_SCHEDULER=persistent" },
    };
    struct mmt_config before, now;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        before = config_of(pairs[i][0]);
        now = config_of(pairs[i][1]);
        CHECK(mmt_config_equal(&before, &now));
    }
    CHECK(mmt_config_parse("wgmma DEPTH=3", &now, &err) == MMT_ERROR_ARGUMENT);
    CHECK(mmt_config_parse("wgmma GROUP=4 RASTER_GROUP=8", &now, &err) ==
          MMT_ERROR_ARGUMENT);
}

static void test_parse_seeds(const struct mmt_template *template)
{
    for (int s = 0; s < template->num_seeds; s++) {
        struct mmt_config config = { .template = template }, read;
        memcpy(config.values, template->seeds[s], sizeof(config.values));
        SCOPED_TEXT text = { 0 }, reversed = { 0 };
        char buffer[16];
        mmt_config_print(&config, &text);
        mmt_text_addf(&reversed, "  %s", template->name);
        for (int i = template->num_knobs - 1; i >= 0; i--)
            mmt_text_addf(&reversed, "\t %s=%s ", template->knobs[i].name,
                          mmt_config_value(&config, i, buffer));

        read = config_of(mmt_text_string(&text));
        CHECK(mmt_config_equal(&config, &read));
        read = config_of(mmt_text_string(&reversed));
        CHECK(mmt_config_equal(&config, &read));
    }

    struct mmt_config first = { .template = template }, read;
    memcpy(first.values, template->seeds[0], sizeof(first.values));
    read = config_of(mmt_template_key(template));
    CHECK(mmt_config_equal(&first, &read));
}

static void fails_with(const char *string, const char *words)
{
    struct mmt_config out = { &sample, { 1, 1, 16 } };
    CHECK_FAILS(mmt_config_parse(string, &out, &err), err, MMT_ERROR_ARGUMENT, words);
    CHECK(out.template == &sample && out.values[DEPTH] == 16);
}

static void test_parse_fails(void)
{
    const struct mmt_template *template = mmt_templates[0];
    const struct mmt_knob *knob = &template->knobs[0];
    char string[256], words[256];

    for (int i = 0; mmt_templates[i]; i++)
        CHECK(mmt_template_find(mmt_template_names[i]) == mmt_templates[i]);
    fails_with("", "is empty");
    fails_with(" \t", "is empty");
    snprintf(words, sizeof(words), "there is no template 'nonesuch'; there are %s, ",
             template->name);
    fails_with("nonesuch TILE_M=16", words);

    snprintf(string, sizeof(string), "%s NO_KNOB=1", template->name);
    snprintf(words, sizeof(words), "%s has no knob 'NO_KNOB'; it has %s", template->name,
             knob->name);
    fails_with(string, words);

    snprintf(string, sizeof(string), "%s %s=banana", template->name, knob->name);
    snprintf(words, sizeof(words), "%s of %s cannot be 'banana'; it may be ", knob->name,
             template->name);
    fails_with(string, words);

    snprintf(string, sizeof(string), "%s %s", template->name, knob->name);
    fails_with(string, "must be KNOB=VALUE");

    struct mmt_config seed = { .template = template };
    char buffer[16];
    memcpy(seed.values, template->seeds[0], sizeof(seed.values));
    const char *value = mmt_config_value(&seed, 0, buffer);
    snprintf(string, sizeof(string), "%s %s=%s %s=%s", template->name, knob->name, value,
             knob->name, value);
    fails_with(string, "is given twice");
}

/* ---- which is legal where -------------------------------------------------------- */

static void test_variant(void)
{
    mmt_problem problem = problem_of("gemm f64 tn 8x8x8");
    struct mmt_variant v = mmt_variant_of(&problem, true);
    CHECK(v.op == MMT_GEMM && v.type == MMT_F64 && v.trans_a && !v.trans_b && v.aligned);
    CHECK(v.out == MMT_F64 && !v.bias && !v.activation);
    CHECK(!mmt_variant_of(&problem, false).aligned);

    problem = problem_of("gemm bf16 nn 8x8x8 out=f32 bias=column activation=silu");
    v = mmt_variant_of(&problem, true);
    CHECK(v.type == MMT_BF16 && v.out == MMT_F32);
    CHECK(v.bias == MMT_BIAS_N && v.activation == MMT_SILU);
}

static void test_reject(void)
{
    struct mmt_variant f64 = { .type = MMT_F64, .out = MMT_F64, .aligned = true };
    struct mmt_variant i32 = { .type = MMT_I32, .out = MMT_I32 };
    struct mmt_config config = { &sample, { 4, 0, 16 } };
    struct mmt_caps single = gpu, caps = opencl_cpu();
    single.f64 = false;

    CHECK(!mmt_config_check_device(&config, &f64, &gpu) &&
          !mmt_config_check_device(&config, &f64, &caps));
    CHECK_EQ_STR(mmt_config_check_device(&config, &i32, &gpu),
                 "the template does not serve this type");
    CHECK_EQ_STR(mmt_config_check_device(&config, &f64, &single),
                 "the device has no double precision");

    struct mmt_variant biased = f64, active = f64;
    struct mmt_template cuda = sample;
    biased.bias = MMT_BIAS_M;
    active.activation = MMT_RELU;
    CHECK_EQ_STR(mmt_config_check_device(&config, &biased, &gpu),
                 "the template serves neither bias nor activation");
    CHECK_EQ_STR(mmt_config_check_device(&config, &active, &gpu),
                 "the template serves neither bias nor activation");
    cuda.dialects = MMT_CUDA_CXX;
    cuda.fused = true;
    config.template = &cuda;
    CHECK(!mmt_config_check_device(&config, &f64, &gpu));
    CHECK(!mmt_config_check_device(&config, &biased, &gpu));
    CHECK(!mmt_config_check_device(&config, &active, &gpu));
    CHECK_EQ_STR(mmt_config_check_device(&config, &f64, &caps),
                 "the template is written for CUDA alone");

    caps = tiny(3);
    config.template = &sample;
    CHECK_EQ_STR(mmt_config_check_device(&config, &f64, &caps), "more rows than threads");
    config.values[LAYOUT] = 5;
    CHECK_EQ_STR(mmt_config_check_device(&config, &f64, &gpu),
                 "xor is for any alignment");
}

/* TMA takes rows that begin at multiples of 16 bytes: unpacked, `wgmma` has
 * no specialisation for others, and yet suits all transposes. */
static void test_suits(void)
{
    struct mmt_caps hopper = gpu, cpu = opencl_cpu();
    strcpy(hopper.architecture, "sm_90a");
    struct mmt_config config = config_of("wgmma TILE_M=128 TILE_N=128");
    const char *transposes[] = { "nn", "nt", "tn", "tt" };
    for (int i = 0; i < 4; i++) {
        char text[64];
        snprintf(text, sizeof text, "gemm bf16 %s 512x512x512", transposes[i]);
        const mmt_problem kind = problem_of(text);
        const struct mmt_variant any = mmt_variant_of(&kind, false);
        CHECK(mmt_config_check_device(&config, &any, &hopper));
        CHECK(mmt_config_suits(&config, &kind, &hopper));
        CHECK(!mmt_config_suits(&config, &kind, &cpu));
    }
    const mmt_problem f64 = problem_of("gemm f64 nn 512x512x512");
    CHECK(!mmt_config_suits(&config, &f64, &hopper));
}

static const char *refusal_of(const char *configuration, const char *problem,
                              const struct mmt_caps *caps)
{
    const mmt_problem p = problem_of(problem);

    struct mmt_config config = config_of(configuration);
    const char *why = mmt_config_check_problem(&config, &p, caps);
    return why ? why : "";
}

/* No tensor map has rows that overlap: they are packed, or another kernel serves. */
static void test_overlap(void)
{
    struct mmt_caps hopper = gpu;
    const char *as_stored = "wgmma TILE_M=128 TILE_N=128",
               *packs = "wgmma TILE_M=128 TILE_N=128 PACK_A=1 PACK_B=1 STORE_SLOTS=0";

    strcpy(hopper.architecture, "sm_90a");
    hopper.sm = 90, hopper.shared = 232448, hopper.sms = 132;
    CHECK_EQ_STR(refusal_of(as_stored, "gemm bf16 nn 512x512x512", &hopper), "");
    CHECK(strstr(refusal_of(as_stored, "gemm bf16 nn 512x512x512 lda=8", &hopper),
                 "rows of A overlap"));
    CHECK(strstr(refusal_of(as_stored, "gemm bf16 nn 512x512x512 ldb=8", &hopper),
                 "rows of B overlap"));
    CHECK_EQ_STR(refusal_of(packs, "gemm bf16 nn 512x512x512 lda=8", &hopper), "");
    CHECK(strstr(
        refusal_of("simt COPY=tma PACK_A=0", "gemm f32 tn 512x512x512 lda=8", &hopper),
        "rows of A overlap"));
    CHECK(strstr(
        refusal_of("simt COPY=tma PACK_B=0", "gemm f32 nn 512x512x512 ldb=8", &hopper),
        "rows of B overlap"));
}

/* Copies of `b` matrices B beside those of A, in the workspace, and the launches. */
static void check_copies(const char *problem, int b, int launches)
{
    const mmt_problem p = problem_of(problem);
    struct mmt_caps hopper = gpu;
    struct mmt_launches out;

    strcpy(hopper.architecture, "sm_90a");
    hopper.shared = 232448, hopper.sms = 132;
    struct mmt_config config =
        config_of("wgmma TILE_M=64 TILE_N=32 PACK_A=1 PACK_B=1 STORE_SLOTS=0");
    mmt_config_launch(&config, &p, &hopper, &out);
    CHECK_EQ_INT(out.count, launches);
    CHECK_EQ_INT(out.workspace, (5 * 64 * 128 + b * 32 * 128) * sizeof(uint16_t));
}

static void test_packed_once(void)
{
    check_copies("gemm bf16 nn 64x32x128 lda=129 batch=5", 5, 2);
    check_copies("gemm bf16 nn 64x32x128 lda=129 batch=5 stride_b=0", 1, 3);
}

static void test_refuse(void)
{
    struct mmt_config config = { &sample, { 4, 5, 16 } };
    mmt_problem few = problem_of("gemm f32 nn 3x8x8"),
                some = problem_of("gemm f32 nn 4x8x8");
    mmt_problem whole = problem_of("gemm i32 nn 4x8x8");
    CHECK(!mmt_config_check_problem(&config, &some, &gpu));
    CHECK_EQ_STR(mmt_config_check_problem(&config, &few, &gpu),
                 "fewer rows than a thread takes");
    CHECK_EQ_STR(mmt_config_check_problem(&config, &whole, &gpu),
                 "the template does not serve this type");

    /* Without an alignment of its own, the aligned source is the only one. */
    struct mmt_template plain = sample;
    plain.alignment = NULL;
    config.template = &plain;
    CHECK_EQ_STR(mmt_config_check_problem(&config, &some, &gpu),
                 "xor is for any alignment");
}

static bool may_align(const struct mmt_template *template, const char *string)
{
    struct mmt_config config = { template, { 2, 0, 16 } };
    struct mmt_alignment at = { 0 };
    mmt_problem problem = problem_of(string);
    bool may = mmt_config_may_align(&config, &problem, &at);
    unsigned size = (unsigned) mmt_type_size(problem.type);
    if (template->alignment)
        CHECK(at.a == 16 && at.b == 2 * size && at.c == 2 * size);
    else
        CHECK(at.a == size && at.b == size && at.c == size);
    return may;
}

static void test_align(void)
{
    CHECK(may_align(&sample, "gemm f32 nn 7x6x8"));
    CHECK(!may_align(&sample, "gemm f32 nn 7x6x6"));
    CHECK(may_align(&sample, "gemm f64 nn 7x6x6"));
    CHECK(!may_align(&sample, "gemm f32 nn 8x7x8"));
    CHECK(may_align(&sample, "gemm f32 nn 8x7x8 ldb=8 ldc=8"));
    CHECK(!may_align(&sample, "gemm f32 nn 8x7x8 ldb=8"));
    CHECK(may_align(&sample, "gemm f32 nn 8x8x8 batch=2"));
    CHECK(may_align(&sample, "gemm f32 nn 8x8x8 batch=2 stride_a=0"));
    CHECK(!may_align(&sample, "gemm f32 nn 8x8x8 batch=2 stride_a=66"));
    CHECK(!may_align(&sample, "gemm f32 nn 8x8x8 batch=2 stride_b=65"));
    CHECK(!may_align(&sample, "gemm f32 nn 8x8x8 batch=2 stride_c=65"));

    struct mmt_template plain = sample;
    plain.alignment = NULL;
    CHECK(may_align(&plain, "gemm f32 nn 7x7x7 batch=3"));
}

static bool has_legal_seed(const struct mmt_template *template,
                           const mmt_problem *problem, const struct mmt_caps *caps)
{
    struct mmt_config config = { .template = template };
    for (int i = 0; i < template->num_seeds; i++) {
        memcpy(config.values, template->seeds[i], sizeof(config.values));
        if (!mmt_config_check_problem(&config, problem, caps))
            return true;
    }
    return false;
}

static bool is_meant(const struct mmt_template *template, const mmt_problem *problem,
                     const struct mmt_caps *caps)
{
    return template->preferred_on & caps->kind && has_legal_seed(template, problem, caps);
}

/* The first template for the kind of device that serves the type; then whichever has a
 * legal seed. */
static void test_default(void)
{
    struct mmt_caps cpu = opencl_cpu(), opencl_gpu = gpu, none = tiny(0);
    const struct mmt_caps *devices[] = { &gpu, &cpu, &opencl_gpu };
    opencl_gpu.dialect = MMT_OPENCL_C;
    struct mmt_config config;

    for (int type = 0; type < MMT_NUM_TYPES; type++)
        for (int i = 0; i < 3; i++) {
            mmt_problem p = mmt_gemm_problem((mmt_type) type, 100, 100, 100), problem;
            mmt_problem_normalise(&p, &problem, NULL);
            if (!CHECK(mmt_config_default(&problem, devices[i], &config)))
                continue;
            CHECK(!mmt_config_check_problem(&config, &problem, devices[i]));
            const struct mmt_template *first = mmt_templates[0];
            for (int t = 0; first && !is_meant(first, &problem, devices[i]); t++)
                first = mmt_templates[t];
            CHECK_EQ_STR(config.template->name, first ? first->name : "naive");
        }

    mmt_problem problem = problem_of("gemm f64 nn 8x8x8");
    none.dialect = (enum mmt_dialect) 0;
    CHECK(!mmt_config_default(&problem, &none, &config));
    cpu.f64 = false;
    CHECK(!mmt_config_default(&problem, &cpu, &config));
}

/* What multiplies elements of 16 bits one by one gives way to what is made for them. */
static void test_yields(void)
{
    static const char *const names[] = { "simt", "skinny", "small_k", "small" };
    const mmt_problem problem = problem_of("gemm bf16 nn 4096x4096x4096");
    const struct mmt_caps cpu = opencl_cpu();
    struct mmt_caps opencl = gpu, older = gpu;
    struct mmt_config config;

    opencl.dialect = MMT_OPENCL_C, opencl.sm = 0;
    older.sm = 70;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct mmt_template *template = mmt_template_find(names[i]);
        CHECK(!mmt_config_meant(template, &problem, &gpu));
        CHECK(!mmt_config_meant(template, &problem, &cpu));
        CHECK(mmt_config_meant(template, &problem, &opencl));
        CHECK(mmt_config_meant(template, &problem, &older));
    }
    CHECK(mmt_config_default(&problem, &gpu, &config) && !config.template->yields &&
          !config.template->last_resort);
    CHECK(mmt_config_default(&problem, &older, &config) && config.template->yields);
}

/* Some templates are worth trying for some problems alone. */
static void test_meant(void)
{
    const struct mmt_template *tma = mmt_template_find("simt_tma");
    const mmt_problem large = problem_of("gemm f32 nn 4096x4096x4096");
    const mmt_problem narrow = problem_of("gemm f32 nn 4096x64x4096");
    const mmt_problem tensor_cores = problem_of("gemm f64 nn 4096x4096x4096");
    const struct mmt_caps cpu = opencl_cpu();

    CHECK(mmt_config_meant(tma, &large, &gpu));
    CHECK(!mmt_config_meant(tma, &narrow, &gpu));
    CHECK(!mmt_config_meant(tma, &tensor_cores, &gpu));
    CHECK(!mmt_config_meant(tma, &large, &cpu));
    CHECK(mmt_config_meant(mmt_template_find("simt"), &narrow, &gpu));
}

/* ---- spaces ---------------------------------------------------------------------- */

static void check_place(const struct mmt_template *template, uint64_t index)
{
    struct mmt_config config;
    mmt_space_at(template, index, &config);
    if (mmt_space_index(&config) != index)
        CHECK_EQ_INT(mmt_space_index(&config), index);
}

static void test_space(const struct mmt_template *template)
{
    uint64_t size = mmt_space_size(template), step = size / 1000 + 1;
    CHECK(size > 0);
    for (uint64_t i = 0; i < size; i += step)
        check_place(template, i);
    check_place(template, size - 1);
}

static void test_space_order(void)
{
    struct mmt_config config;
    SCOPED_TEXT text = { 0 };
    CHECK_EQ_INT(mmt_space_size(&sample), 24);
    mmt_space_at(&sample, 0, &config);
    mmt_config_print(&config, &text);
    mmt_space_at(&sample, 1, &config);
    mmt_text_add(&text, "; ");
    mmt_config_print(&config, &text);
    mmt_space_at(&sample, 23, &config);
    mmt_text_add(&text, "; ");
    mmt_config_print(&config, &text);
    CHECK_EQ_STR(
        mmt_text_string(&text),
        "sample ROWS=1 LAYOUT=plain DEPTH=16; sample ROWS=1 LAYOUT=plain DEPTH=32; "
        "sample ROWS=8 LAYOUT=xor DEPTH=32");
}

/* ---- the table ------------------------------------------------------------------- */

static void check_knob(const struct mmt_template *template, const struct mmt_knob *knob)
{
    CHECK(knob->what && knob->num_values >= 1 && knob->num_values <= MMT_MAX_VALUES);
    CHECK(strspn(knob->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") ==
          strlen(knob->name));
    for (const struct mmt_knob *k = template->knobs; k < knob; k++)
        CHECK(strcmp(k->name, knob->name));
    for (int i = 0; i < knob->num_values; i++)
        for (int j = 0; j < i; j++) {
            CHECK(knob->values[i] != knob->values[j]);
            CHECK(!knob->names || strcmp(knob->names[i], knob->names[j]));
        }
}

static void test_table(const struct mmt_template *template)
{
    CHECK(mmt_template_find(mmt_template_key(template)) == template);
    CHECK(mmt_template_is(mmt_template_find(template->name), template->name));
    CHECK(template->what && template->check_device && template->launch);
    CHECK(template->types && template->dialects);
    CHECK(!(template->preferred_on & ~(unsigned) (MMT_GPU | MMT_CPU)));
    CHECK(template->num_knobs <= MMT_MAX_KNOBS && template->num_seeds >= 1);
    for (int i = 0; i < template->num_knobs; i++)
        check_knob(template, &template->knobs[i]);
}

static void test_templates(void)
{
    CHECK(!mmt_template_find("nonesuch"));
    for (int i = 0; mmt_templates[i]; i++) {
        test_table(mmt_templates[i]);
        test_parse_seeds(mmt_templates[i]);
        test_space(mmt_templates[i]);
    }
}

/* Why the first starting point of such a configuration cannot be; "" where it can. */
static const char *copy_refused(const char *words, int sm, enum mmt_dialect dialect)
{
    const struct mmt_variant f32 = {
        .op = MMT_GEMM, .type = MMT_F32, .out = MMT_F32, .aligned = true
    };
    struct mmt_caps card = gpu;
    struct mmt_config config;
    mmt_error err;
    card.sm = sm, card.dialect = dialect;
    if (!CHECK_OK(mmt_config_parse(words, &config, &err), err))
        return NULL;
    const char *why = mmt_config_check_device(&config, &f32, &card);
    return why ? why : "";
}

/* A device that has no such copies compiles none. */
static void test_copies(void)
{
    static const struct {
        const char *words;
        int sm;
        enum mmt_dialect dialect;
        const char *refused;
    } rows[] = {
        { "simt", 61, MMT_CUDA_CXX, "" },
        { "simt", 0, MMT_OPENCL_C, "" },
        { "simt COPY=cp_async", 75, MMT_CUDA_CXX, "need sm_80" },
        { "simt COPY=cp_async", 80, MMT_CUDA_CXX, "" },
        { "simt COPY=cp_async", 80, MMT_OPENCL_C, "in OpenCL it must be registers" },
        { "simt COPY=tma", 80, MMT_CUDA_CXX, "comes with sm_90" },
        { "simt COPY=tma", 90, MMT_CUDA_CXX, "" },
        { "simt COPY=tma", 90, MMT_OPENCL_C, "in OpenCL it must be registers" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *why = copy_refused(rows[i].words, rows[i].sm, rows[i].dialect);
        CHECK(why && (*rows[i].refused ? strstr(why, rows[i].refused) != NULL : !*why));
    }
    fails_with("simt COPY=tmb", "it may be registers, cp_async and tma");
    fails_with("simt A_VECTOR=2 COPY=tma", "simt_tma has no knob 'A_VECTOR'");
}

int main(void)
{
    gpu = gpu_caps();
    gpu.sm = 90;
    gpu.buffer_align = 256;
    test_print();
    test_set();
    test_aliases();
    test_parse_fails();
    test_variant();
    test_reject();
    test_copies();
    test_suits();
    test_packed_once();
    test_overlap();
    test_refuse();
    test_align();
    test_default();
    test_meant();
    test_yields();
    test_space_order();
    test_templates();
    return test_end("generator");
}
