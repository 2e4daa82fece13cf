/* Configurations, what is legal where, spaces, the table of templates. */
#include "generator/generator.h"
#include "tests/sample.h"
#include "tests/test.h"

static const struct mmt_caps gpu = {
    .dialect = MMT_CUDA_CXX,
    .kind = MMT_GPU,
    .sm = 90,
    .f64 = true,
    .max_threads = 1024,
    .max_block = { 1024, 1024, 64 },
    .max_grid = { 2147483647, 65535, 65535 },
    .shared = 227 << 10,
    .shared_per_sm = 228 << 10,
    .registers = 65536,
    .registers_per_thread = 255,
    .registers_per_sm = 65536,
    .threads_per_sm = 2048,
    .blocks_per_sm = 32,
    .sms = 132,
    .warp = 32,
    .buffer_align = 256,
};

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

static mmt_problem problem_of(const char *string)
{
    mmt_error err;
    mmt_problem problem = { 0 };
    CHECK_OK(mmt_problem_parse(string, &problem, &err), err);
    return problem;
}

/* ---- configurations -------------------------------------------------------------- */

static void test_print(void)
{
    struct mmt_config config = { &sample, { 8, 5, 16 } };
    struct mmt_text text = { 0 };
    char buffer[16];
    mmt_config_print(&config, &text);
    CHECK_EQ_STR(mmt_text_string(&text), "sample ROWS=8 LAYOUT=xor DEPTH=16");
    CHECK_EQ_STR(mmt_config_value(&config, ROWS, buffer), "8");
    CHECK_EQ_STR(mmt_config_value(&config, LAYOUT, buffer), "xor");
    mmt_text_finish(&text);
}

static void test_set(void)
{
    mmt_error err;
    struct mmt_config config = { &sample, { 8, 5, 16 } }, same = config;
    CHECK_OK(mmt_config_set(&config, "LAYOUT", "pad", &err), err);
    CHECK_OK(mmt_config_set(&config, "ROWS", "2", &err), err);
    CHECK(config.values[ROWS] == 2 && config.values[LAYOUT] == 1 &&
          config.values[DEPTH] == 16);
    CHECK(!mmt_config_equal(&config, &same));

    same = config;
    CHECK_FAILS(mmt_config_set(&config, "COLS", "2", &err), err, MMT_ERROR_ARGUMENT,
                "sample has no knob 'COLS'; it has ROWS, LAYOUT, DEPTH");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "3", &err), err, MMT_ERROR_ARGUMENT,
                "ROWS of sample cannot be '3'; it may be 1, 2, 4, 8");
    CHECK_FAILS(mmt_config_set(&config, "LAYOUT", "1", &err), err, MMT_ERROR_ARGUMENT,
                "LAYOUT of sample cannot be '1'; it may be plain, pad, xor");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "", &err), err, MMT_ERROR_ARGUMENT, "''");
    CHECK_FAILS(mmt_config_set(&config, "ROWS", "08", &err), err, MMT_ERROR_ARGUMENT,
                "'08'");
    CHECK(mmt_config_equal(&config, &same));
}

/* Every template's every seed, printed and read back, also with its knobs reversed. */
static void test_parse_seeds(const struct mmt_template *template)
{
    mmt_error err;
    for (int s = 0; s < template->num_seeds; s++) {
        struct mmt_config config = { .template = template }, read;
        memcpy(config.values, template->seeds[s], sizeof(config.values));
        struct mmt_text text = { 0 }, reversed = { 0 };
        char buffer[16];
        mmt_config_print(&config, &text);
        mmt_text_addf(&reversed, "  %s", template->name);
        for (int i = template->num_knobs - 1; i >= 0; i--)
            mmt_text_addf(&reversed, "\t %s=%s ", template->knobs[i].name,
                          mmt_config_value(&config, i, buffer));

        CHECK_OK(mmt_config_parse(mmt_text_string(&text), &read, &err), err);
        CHECK(mmt_config_equal(&config, &read));
        CHECK_OK(mmt_config_parse(mmt_text_string(&reversed), &read, &err), err);
        CHECK(mmt_config_equal(&config, &read));
        mmt_text_finish(&text);
        mmt_text_finish(&reversed);
    }

    struct mmt_config first = { .template = template }, read;
    memcpy(first.values, template->seeds[0], sizeof(first.values));
    CHECK_OK(mmt_config_parse(template->name, &read, &err), err);
    CHECK(mmt_config_equal(&first, &read));
}

static void fails_with(const char *string, const char *words)
{
    mmt_error err;
    struct mmt_config out = { &sample, { 1, 1, 16 } };
    CHECK_FAILS(mmt_config_parse(string, &out, &err), err, MMT_ERROR_ARGUMENT, words);
    CHECK(out.template == &sample && out.values[DEPTH] == 16);
}

static void test_parse_fails(void)
{
    const struct mmt_template *template = mmt_templates[0];
    const struct mmt_knob *knob = &template->knobs[0];
    char string[256], words[256];

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
    CHECK(v.bias == MMT_BIAS_COLUMN && v.activation == MMT_SILU);
}

static void test_reject(void)
{
    struct mmt_variant f64 = { .type = MMT_F64, .out = MMT_F64, .aligned = true };
    struct mmt_variant i32 = { .type = MMT_I32, .out = MMT_I32 };
    struct mmt_config config = { &sample, { 4, 0, 16 } };
    struct mmt_caps single = gpu, caps = opencl_cpu();
    single.f64 = false;

    CHECK(!mmt_config_reject(&config, &f64, &gpu) &&
          !mmt_config_reject(&config, &f64, &caps));
    CHECK_EQ_STR(mmt_config_reject(&config, &i32, &gpu),
                 "the template does not serve this type");
    CHECK_EQ_STR(mmt_config_reject(&config, &f64, &single),
                 "the device has no double precision");

    struct mmt_variant biased = f64, active = f64;
    struct mmt_template cuda = sample;
    biased.bias = MMT_BIAS_ROW;
    active.activation = MMT_RELU;
    CHECK_EQ_STR(mmt_config_reject(&config, &biased, &gpu),
                 "the template serves neither bias nor activation");
    CHECK_EQ_STR(mmt_config_reject(&config, &active, &gpu),
                 "the template serves neither bias nor activation");
    cuda.dialects = MMT_CUDA_CXX;
    cuda.fused = true;
    config.template = &cuda;
    CHECK(!mmt_config_reject(&config, &f64, &gpu));
    CHECK(!mmt_config_reject(&config, &biased, &gpu));
    CHECK(!mmt_config_reject(&config, &active, &gpu));
    CHECK_EQ_STR(mmt_config_reject(&config, &f64, &caps),
                 "the template is written for CUDA alone");

    caps = tiny(3);
    config.template = &sample;
    CHECK_EQ_STR(mmt_config_reject(&config, &f64, &caps), "more rows than threads");
    config.values[LAYOUT] = 5;
    CHECK_EQ_STR(mmt_config_reject(&config, &f64, &gpu), "xor is for any alignment");
}

static void test_refuse(void)
{
    struct mmt_config config = { &sample, { 4, 5, 16 } };
    mmt_problem few = problem_of("gemm f32 nn 3x8x8"),
                some = problem_of("gemm f32 nn 4x8x8");
    mmt_problem whole = problem_of("gemm i32 nn 4x8x8");
    CHECK(!mmt_config_refuse(&config, &some, &gpu));
    CHECK_EQ_STR(mmt_config_refuse(&config, &few, &gpu),
                 "fewer rows than a thread takes");
    CHECK_EQ_STR(mmt_config_refuse(&config, &whole, &gpu),
                 "the template does not serve this type");

    /* Without an alignment of its own, the aligned text is the only one. */
    struct mmt_template plain = sample;
    plain.alignment = NULL;
    config.template = &plain;
    CHECK_EQ_STR(mmt_config_refuse(&config, &some, &gpu), "xor is for any alignment");
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
        if (!mmt_config_refuse(&config, problem, caps))
            return true;
    }
    return false;
}

static bool is_meant(const struct mmt_template *template, const mmt_problem *problem,
                     const struct mmt_caps *caps)
{
    return template->kinds & caps->kind && has_legal_seed(template, problem, caps);
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
            CHECK(!mmt_config_refuse(&config, &problem, devices[i]));
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
    struct mmt_text text = { 0 };
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
    mmt_text_finish(&text);
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
    CHECK(mmt_template_find(template->name) == template);
    CHECK(template->what && template->reject && template->launch);
    CHECK(template->types && template->dialects);
    CHECK(!(template->kinds & ~(unsigned) (MMT_GPU | MMT_CPU)));
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

/* ---- knobs that are left to the problem -------------------------------------------- */

static int settled(const char *words, int64_t n, mmt_type type)
{
    const struct mmt_caps caps = { .dialect = MMT_CUDA_CXX,
                                   .kind = MMT_GPU,
                                   .f64 = true,
                                   .warp = 32,
                                   .shared = 49152,
                                   .registers_per_thread = 255 };
    mmt_problem problem = mmt_gemm_problem(type, 1000, n, 3000);
    struct mmt_config config;
    mmt_error err = { 0 };
    CHECK_OK(mmt_problem_normalise(&problem, &problem, &err), err);
    CHECK_OK(mmt_config_parse(words, &config, &err), err);
    const struct mmt_config once = mmt_config_settle(&config, &problem, &caps);
    const struct mmt_config twice = mmt_config_settle(&once, &problem, &caps);
    CHECK(mmt_config_equal(&once, &twice));
    CHECK((mmt_config_refuse(&config, &problem, &caps) == NULL) ==
          (mmt_config_refuse(&once, &problem, &caps) == NULL));
    return once.values[1];
}

/* WORK_SHORT=0 of skinny covers the short side, as far as registers and shared memory
 * go; what is given stays. */
static void test_settle(void)
{
#define SKINNY "skinny SHORT=columns WORK_LONG=2 WORK_K=4 THREADS_LONG=4 THREADS_K=32 "
    CHECK_EQ_INT(settled(SKINNY "TILE_K=512 WORK_SHORT=0", 1, MMT_F32), 1);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=512 WORK_SHORT=0", 3, MMT_F32), 4);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=512 WORK_SHORT=0", 16, MMT_F32), 16);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=512 WORK_SHORT=0", 17, MMT_F32), 16);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=1024 WORK_SHORT=0", 16, MMT_F32), 8);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=1024 VECTOR=2 WORK_SHORT=0", 16, MMT_F64), 4);
    CHECK_EQ_INT(settled(SKINNY "TILE_K=512 WORK_SHORT=2", 8, MMT_F32), 2);
#undef SKINNY
}

static struct mmt_caps large_gpu(void)
{
    return (struct mmt_caps){ .dialect = MMT_CUDA_CXX,
                              .kind = MMT_GPU,
                              .f64 = true,
                              .max_threads = 1024,
                              .shared = 232448,
                              .shared_per_sm = 233472,
                              .registers = 65536,
                              .registers_per_thread = 255,
                              .registers_per_sm = 65536,
                              .threads_per_sm = 2048,
                              .sms = 132,
                              .warp = 32 };
}

static mmt_problem product(int64_t m, int64_t n, int64_t k)
{
    mmt_problem problem = mmt_gemm_problem(MMT_F32, m, n, k);
    mmt_error err = { 0 };
    CHECK_OK(mmt_problem_normalise(&problem, &problem, &err), err);
    return problem;
}

static int knob_of(const struct mmt_config *config, const char *name)
{
    int i = 0;
    while (strcmp(config->template->knobs[i].name, name))
        i++;
    return config->values[i];
}

static int parts(const char *words, int64_t m, int64_t n, int64_t k)
{
    const struct mmt_caps caps = large_gpu();
    const mmt_problem problem = product(m, n, k);
    struct mmt_config config;
    mmt_error err = { 0 };
    CHECK_OK(mmt_config_parse(words, &config, &err), err);
    const struct mmt_config once = mmt_config_settle(&config, &problem, &caps);
    const struct mmt_config twice = mmt_config_settle(&once, &problem, &caps);
    CHECK(mmt_config_equal(&once, &twice));
    return knob_of(&once, "SPLIT_K");
}

/* SPLIT_K=0 is 1 where C has tiles for all multiprocessors, and more the fewer it has and
 * the longer k is; what is given stays, and blocks that stay share k without. */
static void test_settle_parts(void)
{
    const char *const words[] = { "simt SPLIT_K=0", "simt_async SPLIT_K=0",
                                  "simt_tma SPLIT_K=0" };
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(parts(words[i], 8192, 8192, 8192), 1);
        CHECK_EQ_INT(parts(words[i], 64, 64, 16), 1);
        CHECK_EQ_INT(parts(words[i], 64, 64, 0), 1);
        const int some = parts(words[i], 500, 500, 4000);
        const int many = parts(words[i], 64, 64, 100000);
        CHECK(some > 1 && some < many);
        CHECK(many >= 64);
    }
    CHECK_EQ_INT(parts("simt SPLIT_K=12", 64, 64, 100000), 12);
    CHECK_EQ_INT(parts("simt SPLIT_K=0 DEAL=runs", 64, 64, 100000), 1);
    CHECK_EQ_INT(parts("skinny SHORT=columns WORK_SHORT=0 SPLIT_K=0", 1 << 20, 4, 64), 1);
    CHECK(parts("skinny SHORT=columns WORK_SHORT=0 SPLIT_K=0", 200, 4, 50000) > 4);
    CHECK(parts("skinny SHORT=columns WORK_SHORT=4 SPLIT_K=0", 200, 4, 50000) ==
          parts("skinny SHORT=columns WORK_SHORT=0 SPLIT_K=0", 200, 4, 50000));
}

static mmt_problem product_of(mmt_type type, int transposes, int64_t m, int64_t n,
                              int64_t k)
{
    mmt_problem problem = mmt_gemm_problem(type, m, n, k);
    mmt_error err = { 0 };
    problem.trans_a = transposes / 2;
    problem.trans_b = transposes % 2;
    CHECK_OK(mmt_problem_normalise(&problem, &problem, &err), err);
    return problem;
}

static struct mmt_config left_of(const char *works, int transposes, bool rows)
{
    const bool alike = transposes == 1 || transposes == 2;
    struct mmt_config config;
    mmt_error err = { 0 };
    char words[256];
    snprintf(words, sizeof words,
             "skinny SHORT=%s WORK_SHORT=0 THREADS_LONG=0 THREADS_K=0 TILE_K=0 SPLIT_K=0 "
             "MIN_BLOCKS=1 %s",
             alike  ? "either"
             : rows ? "rows"
                    : "columns",
             works);
    CHECK_OK(mmt_config_parse(words, &config, &err), err);
    return config;
}

/* Threads that are left to the problem are those that a device can run, the same when
 * settled twice, and the alignment is what it was before. Adds its text to those that the
 * configuration has become, and returns how many there are. */
static int check_left(const struct mmt_config *left, const mmt_problem *problem,
                      const struct mmt_caps *caps, struct mmt_config *texts, int count)
{
    const struct mmt_config once = mmt_config_settle(left, problem, caps);
    const struct mmt_config twice = mmt_config_settle(&once, problem, caps);
    const struct mmt_config seen = mmt_config_in_text(&once);
    struct mmt_alignment before, after;
    CHECK(mmt_config_equal(&once, &twice));
    CHECK(knob_of(&once, "WORK_SHORT") > 0 && knob_of(&once, "THREADS_LONG") > 0 &&
          knob_of(&once, "THREADS_K") > 0 && knob_of(&once, "TILE_K") > 0 &&
          knob_of(&once, "SPLIT_K") > 0);
    const char *why = mmt_config_refuse(left, problem, caps);
    if (!CHECK(!why))
        fprintf(stderr, "%s\n", why);
    mmt_config_may_align(left, problem, &before);
    mmt_config_may_align(&once, problem, &after);
    CHECK(before.a == after.a && before.b == after.b && before.c == after.c);
    int i = 0;
    while (i < count && !mmt_config_equal(&texts[i], &seen))
        i++;
    texts[i] = seen;
    return i == count ? count + 1 : count;
}

static struct mmt_caps small_gpu(void)
{
    return (struct mmt_caps){ .dialect = MMT_OPENCL_C,
                              .kind = MMT_GPU,
                              .f64 = true,
                              .max_threads = 256,
                              .shared = 32768,
                              .sms = 8,
                              .warp = 64 };
}

static struct mmt_caps cpu(void)
{
    return (struct mmt_caps){ .dialect = MMT_OPENCL_C,
                              .kind = MMT_CPU,
                              .f64 = true,
                              .max_threads = 4096,
                              .shared = 1 << 20,
                              .sms = 2,
                              .warp = 1 };
}

/* Whatever the device, type, transposes and shape; and of a kernel there are few texts,
 * which a calibration compiles all. */
static void test_settle_threads(void)
{
    enum { SHAPES = 6 * 6 * 6, MOST_TEXTS = 32 };
    const int64_t shorts[] = { 1, 2, 3, 5, 8, 16 },
                  sizes[] = { 1, 20, 180, 601, 2505, 8000 };
    const mmt_type types[] = { MMT_F32, MMT_F64, MMT_I32 };
    const struct mmt_caps devices[] = { large_gpu(), small_gpu(), cpu() };
    struct mmt_config texts[SHAPES];

    for (int all = 0; all < 3 * 3 * 4; all++) {
        const struct mmt_caps *caps = &devices[all / 12];
        const mmt_type type = types[all / 4 % 3];
        const int transposes = all % 4;
        const struct mmt_config left =
            left_of("WORK_LONG=2 WORK_K=16 VECTOR=2", transposes, true);
        int count = 0;
        for (int i = 0; i < SHAPES; i++) {
            const int64_t m = shorts[i % 6], n = sizes[i / 6 % 6] * 16;
            const mmt_problem problem = product_of(type, transposes, m, n, sizes[i / 36]);
            count = check_left(&left, &problem, caps, texts, count);
        }
        CHECK(count <= MOST_TEXTS);
        CHECK((count > 5) == (caps->kind == MMT_GPU)); /* a CPU's differ in WORK_SHORT */
    }
}

static int threads_k(const char *along, int transposes, int64_t m, int64_t n, int64_t k)
{
    const struct mmt_caps caps = large_gpu();
    const mmt_problem problem = product_of(MMT_F32, transposes, m, n, k);
    struct mmt_config left = left_of("WORK_LONG=4 WORK_K=8 VECTOR=4", transposes, m <= n);
    mmt_error err = { 0 };
    CHECK_OK(mmt_config_set(&left, "THREADS_K", along, &err), err);
    const struct mmt_config once = mmt_config_settle(&left, &problem, &caps);
    return knob_of(&once, "THREADS_K");
}

/* Many threads go along k where C is short and k is long, few where C has many sums or k
 * few elements; what is given stays. */
static void test_threads_suit(void)
{
    CHECK(threads_k("0", 3, 1, 180, 2505) > 64);
    CHECK(threads_k("0", 1, 1, 2960, 8000) > 16);
    CHECK(threads_k("0", 0, 16, 8000, 300) <= 16);
    CHECK(threads_k("0", 0, 4, 5000, 8) <= 4);
    CHECK_EQ_INT(threads_k("32", 0, 4, 5000, 8), 32);
}

static size_t workspace_of(const struct mmt_config *config, const mmt_problem *problem,
                           const struct mmt_caps *caps)
{
    struct mmt_launches launches = { 0 };
    mmt_config_launch(config, problem, caps, &launches);
    return launches.workspace;
}

/* Where the caller has less room than the parts need, there are fewer. */
static void test_within(void)
{
    const struct mmt_caps caps = large_gpu();
    const mmt_problem problem = product(64, 64, 100000);
    struct mmt_config left, named;
    mmt_error err = { 0 };
    CHECK_OK(mmt_config_parse("simt SPLIT_K=0", &left, &err), err);
    CHECK_OK(mmt_config_parse("simt SPLIT_K=8", &named, &err), err);
    const size_t all = workspace_of(&left, &problem, &caps);
    const size_t eight = workspace_of(&named, &problem, &caps);
    CHECK(all > eight && eight == 8 * 64 * 64 * 4);

    struct mmt_config within = mmt_config_within(&left, &problem, &caps, SIZE_MAX);
    CHECK(mmt_config_equal(&within, &left));
    within = mmt_config_within(&left, &problem, &caps, all);
    CHECK(mmt_config_equal(&within, &left));
    within = mmt_config_within(&left, &problem, &caps, eight + 1);
    CHECK(mmt_config_equal(&within, &named));
    within = mmt_config_within(&left, &problem, &caps, 0);
    CHECK_EQ_INT(knob_of(&within, "SPLIT_K"), 1);
    within = mmt_config_within(&named, &problem, &caps, 0);
    CHECK(mmt_config_equal(&within, &named));
}

int main(void)
{
    test_settle();
    test_settle_parts();
    test_settle_threads();
    test_threads_suit();
    test_within();
    test_print();
    test_set();
    test_parse_fails();
    test_variant();
    test_reject();
    test_refuse();
    test_align();
    test_default();
    test_meant();
    test_space_order();
    test_templates();
    return test_end("generator");
}
