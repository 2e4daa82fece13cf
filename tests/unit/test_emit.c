/* Emitted sources: the goldens, what cannot be emitted, the hash of a template's source,
 * and that what was embedded is what stands in the folder. */
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/sample.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

/* Copies the goldens' kernels and preludes. */
static void fill_folder(const char *folder, const char *root)
{
    static const char *const files[] = {
        "tests/unit/golden/sample.cl",      "tests/unit/golden/sample.cu",
        "tests/unit/golden/prelude_cuda.h", "tests/unit/golden/prelude_opencl.h",
        "tests/unit/golden/numbers.h",
    };
    for (int i = 0; i < 5; i++) {
        char from[1024], to[1024];
        SCOPED_TEXT text = { 0 };
        snprintf(from, sizeof(from), "%s/%s", root, files[i]);
        snprintf(to, sizeof(to), "%s%s", folder, strrchr(files[i], '/'));
        CHECK_OK(mmt_file_read(from, 1 << 20, &text, &err), err);
        CHECK_OK(mmt_file_replace(to, mmt_text_string(&text), text.length, &err), err);
    }
}

/* The sources' first line names the version, which a release changes; "VERSION" stands
 * for it. */
static void hide_version(struct mmt_text *text)
{
    struct mmt_text hidden = { 0 };
    char title[64];
    int length = snprintf(title, sizeof(title), "// mmtune %s:", mmt_version());
    if (!CHECK(!strncmp(mmt_text_string(text), title, (size_t) length)))
        return;
    mmt_text_addf(&hidden, "// mmtune VERSION:%s", text->data + length);
    mmt_text_finish(text);
    *text = hidden;
}

static void compare(const char *path, const struct mmt_text *text)
{
    SCOPED_TEXT golden = { 0 };
    if (getenv("MMT_WRITE_GOLDENS"))
        CHECK_OK(mmt_file_replace(path, mmt_text_string(text), text->length, &err), err);
    CHECK_OK(mmt_file_read(path, 1 << 20, &golden, &err), err);
    if (!CHECK(!strcmp(mmt_text_string(&golden), mmt_text_string(text))))
        fprintf(
            stderr,
            "    the emitted text is not %s\n%s    if it is right, run this test with "
            "MMT_WRITE_GOLDENS=1 and read the difference\n",
            path, mmt_text_string(text));
}

static void test_golden(const char *root, const char *name,
                        const struct mmt_config *config,
                        const struct mmt_variant *variant, enum mmt_dialect dialect,
                        enum mmt_kind kind)
{
    char path[1024];
    SCOPED_TEXT text = { 0 };
    snprintf(path, sizeof(path), "%s/tests/unit/golden/%s", root, name);
    mmt_text_add(&text, "replaced");
    if (CHECK_OK(mmt_emit(config, variant, dialect, kind, &text, &err), err)) {
        hide_version(&text);
        compare(path, &text);
    }
}

static void test_goldens(const char *root)
{
    struct mmt_variant nn = { .type = MMT_F32, .out = MMT_F32, .aligned = true };
    struct mmt_variant tn = { .type = MMT_F64, .out = MMT_F64, .trans_a = true };
    struct mmt_variant tt = {
        .type = MMT_I32, .out = MMT_I32, .trans_a = true, .trans_b = true
    };
    struct mmt_variant fused = { .type = MMT_F8E4M3,
                                 .out = MMT_F16,
                                 .bias = MMT_BIAS_M,
                                 .activation = MMT_GELU_TANH };
    struct mmt_config config = { &sample, { 4, 5, 16 } };
    struct mmt_template cuda = sample;
    cuda.types = 1 << MMT_I32;
    cuda.dialects = MMT_CUDA_CXX;
    cuda.file = "sample.cu";
    cuda.num_knobs = 1;

    test_golden(root, "f32_nn.cuda.txt", &config, &nn, MMT_CUDA_CXX, MMT_GPU);
    test_golden(root, "f64_tn.opencl.txt", &config, &tn, MMT_OPENCL_C, MMT_CPU);
    config.template = &cuda;
    test_golden(root, "i32_tt.cuda.txt", &config, &tt, MMT_CUDA_CXX, MMT_GPU);
    cuda.types = 1 << MMT_F8E4M3;
    cuda.fused = true;
    test_golden(root, "f8e4m3_nn_fused.cuda.txt", &config, &fused, MMT_CUDA_CXX, MMT_GPU);
}

static void test_emit_fails(void)
{
    SCOPED_TEXT text = { 0 };
    struct mmt_variant f32 = { .type = MMT_F32 },
                       i32 = { .type = MMT_I32, .out = MMT_I32 },
                       relu = { .type = MMT_F32, .activation = MMT_RELU },
                       odd = { .type = MMT_F32, .out = MMT_F64 };
    struct mmt_template broken = sample;
    struct mmt_config config = { &broken, { 4, 0, 16 } };

    CHECK_FAILS(mmt_emit(&config, &i32, MMT_CUDA_CXX, MMT_GPU, &text, &err), err,
                MMT_ERROR_UNSUPPORTED, "sample does not serve the type i32");
    CHECK_FAILS(mmt_emit(&config, &relu, MMT_CUDA_CXX, MMT_GPU, &text, &err), err,
                MMT_ERROR_UNSUPPORTED, "sample serves neither bias nor activation");
    CHECK_FAILS(mmt_emit(&config, &odd, MMT_CUDA_CXX, MMT_GPU, &text, &err), err,
                MMT_ERROR_ARGUMENT, "C of a product of f32 cannot be f64");
    broken.dialects = MMT_CUDA_CXX;
    CHECK_FAILS(mmt_emit(&config, &f32, MMT_OPENCL_C, MMT_GPU, &text, &err), err,
                MMT_ERROR_UNSUPPORTED, "sample has no OpenCL text, only CUDA");
    broken.file = "absent.cl";
    mmt_text_add(&text, "replaced");
    CHECK_FAILS(mmt_emit(&config, &f32, MMT_CUDA_CXX, MMT_GPU, &text, &err), err,
                MMT_ERROR_NOT_FOUND, "absent.cl");
    CHECK(!text.data);
}

static struct mmt_hash hash_of(const struct mmt_template *template)
{
    struct mmt_hash hash = { 0, 0 };
    CHECK_OK(mmt_template_hash(template, &hash, &err), err);
    return hash;
}

static void test_hash(void)
{
    struct mmt_hash before = hash_of(&sample), again = hash_of(&sample);
    CHECK(before.high == again.high && before.low == again.low);

    CHECK_OK(mmt_file_replace(in_folder("prelude_opencl.h"), "// changed\n", 11, &err),
             err);
    CHECK(hash_of(&sample).low != before.low);

    struct mmt_template absent = sample;
    absent.file = "absent.cl";
    CHECK_FAILS(mmt_template_hash(&absent, &before, &err), err, MMT_ERROR_NOT_FOUND,
                "absent.cl");
}

/* The files of the folder and what was embedded from them are one text. */
static void test_embedded_is_file(const char *root, const struct mmt_template *template)
{
    char kernels[1024];
    struct mmt_hash embedded = hash_of(template);
    snprintf(kernels, sizeof(kernels), "%s/templates/kernels", root);
    setenv("MMTUNE_TEMPLATE_DIR", kernels, 1);
    struct mmt_hash file = hash_of(template);
    unsetenv("MMTUNE_TEMPLATE_DIR");
    CHECK(embedded.high == file.high && embedded.low == file.low);
}

/* Definitions, then the prelude, then the kernel, each as it was embedded. */
static void test_emit_embedded(const struct mmt_template *template,
                               enum mmt_dialect dialect)
{
    SCOPED_TEXT text = { 0 }, prelude = { 0 }, kernel = { 0 };
    struct mmt_config config = { .template = template };
    struct mmt_variant variant = { .aligned = true };
    while (!mmt_type_in(variant.type, template->types))
        variant.type++;
    variant.out = mmt_type_own_output(variant.type);
    memcpy(config.values, template->seeds[0], sizeof(config.values));
    const mmt_problem element = mmt_variant_element(&variant);
    const struct mmt_caps caps = { .kind = MMT_GPU, .dialect = dialect };
    const struct mmt_config resolved = mmt_config_resolve(&config, &element, &caps);
    const struct mmt_config seen = mmt_config_in_text(&resolved);
    const char *file = dialect == MMT_CUDA_CXX ? "prelude_cuda.h" : "prelude_opencl.h";

    CHECK_OK(mmt_emit(&config, &variant, dialect, MMT_GPU, &text, &err), err);
    CHECK_OK(mmt_template_text(file, &prelude, &err), err);
    CHECK_OK(mmt_template_text(template->file, &kernel, &err), err);
    const char *first = strstr(mmt_text_string(&text), mmt_text_string(&prelude));
    CHECK(first && prelude.length > 0 && kernel.length > 0);
    CHECK(text.length > kernel.length &&
          !strcmp(text.data + text.length - kernel.length, kernel.data));

    for (int i = 0; i < template->num_knobs && first; i++) {
        char define[128];
        snprintf(define, sizeof(define), "\n#define %s %d", template->knobs[i].name,
                 seen.values[i]);
        const char *found = strstr(text.data, define);
        CHECK(found && found < first && strchr("\n ", found[strlen(define)]));
    }
}

static void emit_first(const char *words, struct mmt_text *text)
{
    const struct mmt_variant variant = { .type = MMT_F32, .out = MMT_F32 };
    struct mmt_config config;
    if (CHECK_OK(mmt_config_parse(words, &config, &err), err))
        CHECK_OK(mmt_emit(&config, &variant, MMT_CUDA_CXX, MMT_GPU, text, &err), err);
}

/* Where the launch tells how many splits k has, all sources are one but, for some
 * templates, that for a whole k. */
static void test_one_text(const char *template, bool also_for_one)
{
    const char *const values[] = { "1", "2", "8", "64" };
    struct mmt_text text[4] = { 0 };
    for (int i = 0; i < 4; i++) {
        char words[64];
        snprintf(words, sizeof words, "%s SPLIT_K=%s", template, values[i]);
        emit_first(words, &text[i]);
    }
    CHECK(!strcmp(mmt_text_string(&text[0]), mmt_text_string(&text[1])) == also_for_one);
    CHECK(!strcmp(mmt_text_string(&text[1]), mmt_text_string(&text[2])));
    CHECK(!strcmp(mmt_text_string(&text[1]), mmt_text_string(&text[3])));
    CHECK(strstr(mmt_text_string(&text[3]),
                 also_for_one ? "SPLIT_K 1  // or more" : "SPLIT_K 2  // or more"));
    for (int i = 0; i < 4; i++)
        mmt_text_finish(&text[i]);
}

static void test_templates(const char *root)
{
    struct mmt_text text = { 0 };
    CHECK_FAILS(mmt_template_text("nonesuch.cl", &text, &err), err, MMT_ERROR_NOT_FOUND,
                "nonesuch.cl");
    for (int i = 0; mmt_templates[i]; i++) {
        const struct mmt_template *template = mmt_templates[i];
        test_embedded_is_file(root, template);
        if (template->dialects & MMT_CUDA_CXX)
            test_emit_embedded(template, MMT_CUDA_CXX);
        if (template->dialects & MMT_OPENCL_C)
            test_emit_embedded(template, MMT_OPENCL_C);
    }
}

int main(void)
{
    const char *root = getenv("MMT_SOURCE_ROOT");
    unsetenv("MMTUNE_TEMPLATE_DIR");
    if (!root)
        SKIP("MMT_SOURCE_ROOT does not say where the goldens are");
    make_folder();

    test_templates(root);
    test_one_text("simt", false);
    test_one_text("simt COPY=cp_async", false);
    test_one_text("simt COPY=tma", false);
    test_one_text("skinny", true);

    fill_folder(folder, root);
    setenv("MMTUNE_TEMPLATE_DIR", folder, 1);
    test_goldens(root);
    test_emit_fails();
    test_hash();
    return test_end("emit");
}
