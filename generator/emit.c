/* Writes a configuration's source: the defines, the prelude, the shared files, the
 * kernel. It compiles nothing. */
#include "generator/generator.h"

#include <stdatomic.h>
#include <string.h>

static const char *prelude_of(enum mmt_dialect dialect)
{
    return dialect == MMT_CUDA_CXX ? "prelude_cuda.h" : "prelude_opencl.h";
}

static const char *language_of(enum mmt_dialect dialect)
{
    return dialect == MMT_CUDA_CXX ? "CUDA" : "OpenCL";
}

static mmt_status fail_type(const struct mmt_template *template, mmt_type type,
                            mmt_error *err)
{
    struct mmt_text right = { 0 };
    mmt_type_list(template->types, &right);
    mmt_fail(err, MMT_ERROR_UNSUPPORTED, "%s does not serve the type %s; it serves %s",
             mmt_template_key(template), mmt_type_name(type), mmt_text_string(&right));
    mmt_text_finish(&right);
    return MMT_ERROR_UNSUPPORTED;
}

static mmt_status check(const struct mmt_template *template,
                        const struct mmt_variant *variant, enum mmt_dialect dialect,
                        mmt_error *err)
{
    if (!(template->dialects & dialect))
        return mmt_fail(
            err, MMT_ERROR_UNSUPPORTED, "%s has no %s text, only %s",
            mmt_template_key(template), language_of(dialect),
            language_of(template->dialects & MMT_CUDA_CXX ? MMT_CUDA_CXX : MMT_OPENCL_C));
    if (!(template->types & 1u << variant->type))
        return fail_type(template, variant->type, err);
    if (!template->fused && (variant->bias || variant->activation))
        return mmt_fail(err, MMT_ERROR_UNSUPPORTED,
                        "%s serves neither bias nor activation", template->name);
    if (!mmt_type_in(variant->out, mmt_type_outputs(variant->type)))
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "C of a product of %s cannot be %s",
                        mmt_type_name(variant->type), mmt_type_name(variant->out));
    return MMT_OK;
}

static void add_title(const struct mmt_config *config, const struct mmt_variant *variant,
                      struct mmt_text *text)
{
    mmt_text_addf(text, "// mmtune %s: ", mmt_version());
    mmt_config_print(config, text);
    mmt_text_addf(text, "; %s %c%c ", mmt_type_name(variant->type),
                  variant->trans_a ? 't' : 'n', variant->trans_b ? 't' : 'n');
    if (variant->out != mmt_type_own_output(variant->type))
        mmt_text_addf(text, "out=%s ", mmt_type_name(variant->out));
    if (variant->bias)
        mmt_text_addf(text, "bias=%s ", mmt_bias_name(variant->bias));
    if (variant->activation)
        mmt_text_addf(text, "activation=%s ", mmt_activation_name(variant->activation));
    if (variant->batch_by)
        mmt_text_addf(text, "batch_by=%s ", mmt_batch_by_name(variant->batch_by));
    mmt_text_addf(text, "%s\n", variant->aligned ? "aligned" : "any alignment");
}

/* "#define TYPE_BF16 1" */
static void add_type(const char *prefix, mmt_type type, struct mmt_text *text)
{
    mmt_text_addf(text, "#define %s_", prefix);
    for (const char *c = mmt_type_name(type); *c; c++)
        mmt_text_addf(text, "%c", mmt_text_upper(*c));
    mmt_text_add(text, " 1\n");
}

static void add_knobs(const struct mmt_config *config, struct mmt_text *text)
{
    char buffer[16];
    for (int i = 0; i < config->template->num_knobs; i++) {
        const struct mmt_knob *knob = &config->template->knobs[i];
        mmt_text_addf(text, "#define %s %d", knob->name, config->values[i]);
        if (knob->names)
            mmt_text_addf(text, "  // %s", mmt_config_value(config, i, buffer));
        if (knob->launch_time && config->values[i] >= knob->launch_time)
            mmt_text_add(text, "  // or more: the launch tells");
        mmt_text_add(text, "\n");
    }
}

static void add_definitions(const struct mmt_config *config,
                            const struct mmt_variant *variant, enum mmt_kind kind,
                            struct mmt_text *text)
{
    add_type("TYPE", variant->type, text);
    add_type("OUT", variant->out, text);
    mmt_text_addf(text, "#define BIAS %d\n", variant->bias);
    mmt_text_addf(text, "#define ACTIVATION %d\n", variant->activation);
    mmt_text_addf(text, "#define TRANS_A %d\n", variant->trans_a);
    mmt_text_addf(text, "#define TRANS_B %d\n", variant->trans_b);
    mmt_text_addf(text, "#define ALIGNED %d\n", variant->aligned);
    if (variant->batch_by == MMT_BY_POINTERS)
        mmt_text_add(text, "#define BATCH_BY_POINTERS 1\n");
    mmt_text_addf(text, "#define DEVICE_IS_CPU %d\n", kind == MMT_CPU);
    add_knobs(config, text);
    if (config->template->define)
        config->template->define(config->values, variant, text);
}

static mmt_status add_file(const char *file, struct mmt_text *text, mmt_error *err)
{
    struct mmt_text body = { 0 };
    mmt_status status = mmt_template_text(file, &body, err);
    if (!status) {
        mmt_text_addf(text, "#line 1 \"%s\"\n", file);
        mmt_text_add(text, mmt_text_string(&body));
        if (body.length && body.data[body.length - 1] != '\n')
            mmt_text_add(text, "\n");
    }
    mmt_text_finish(&body);
    return status;
}

mmt_status mmt_emit(const struct mmt_config *config, const struct mmt_variant *variant,
                    enum mmt_dialect dialect, enum mmt_kind kind, struct mmt_text *text,
                    mmt_error *err)
{
    mmt_text_finish(text);
    mmt_status status = check(config->template, variant, dialect, err);
    if (status)
        return status;

    const mmt_problem element = mmt_variant_element(variant);
    const struct mmt_caps any = { .kind = kind, .dialect = dialect };
    const struct mmt_config resolved = mmt_config_resolve(config, &element, &any);
    const struct mmt_config seen = mmt_config_in_text(&resolved);
    add_title(&seen, variant, text);
    add_definitions(&seen, variant, kind, text);
    status = add_file(prelude_of(dialect), text, err);
    if (!status)
        status = add_file("numbers.h", text, err);
    for (int i = 0; i < MMT_MAX_HELPERS && !status && config->template->helpers[i]; i++)
        status = add_file(config->template->helpers[i], text, err);
    if (!status)
        status = add_file(config->template->file, text, err);
    if (!status && text->failed)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing the text of %s",
                          config->template->name);
    if (status)
        mmt_text_finish(text);
    return status;
}

/* ---- hash ------------------------------------------------------------------------ */

static mmt_status hash_file(const char *file, struct mmt_hash *hash, mmt_error *err)
{
    struct mmt_text body = { 0 };
    mmt_status status = mmt_template_text(file, &body, err);
    if (!status) {
        *hash = mmt_hash_add(*hash, file, strlen(file) + 1);
        *hash = mmt_hash_add(*hash, mmt_text_string(&body), body.length + 1);
    }
    mmt_text_finish(&body);
    return status;
}

static mmt_status hash_template(const struct mmt_template *template,
                                struct mmt_hash *hash, mmt_error *err)
{
    const enum mmt_dialect dialects[] = { MMT_CUDA_CXX, MMT_OPENCL_C };
    struct mmt_hash h = mmt_hash_start();
    mmt_status status = hash_file(template->file, &h, err);

    if (!status)
        status = hash_file("numbers.h", &h, err);
    for (int i = 0; i < MMT_MAX_HELPERS && !status && template->helpers[i]; i++)
        status = hash_file(template->helpers[i], &h, err);
    for (int i = 0; i < 2 && !status; i++)
        if (template->dialects & dialects[i])
            status = hash_file(prelude_of(dialects[i]), &h, err);
    if (!status)
        *hash = h;
    return status;
}

/* Texts that are built in are hashed once: there are some hundred KiB of them, and each
 * profile that is read asks for all. */
mmt_status mmt_template_hash(const struct mmt_template *template, struct mmt_hash *hash,
                             mmt_error *err)
{
    enum { MOST_KEPT = 64 };
    static struct {
        atomic_ullong high, low;
        atomic_bool known;
    } kept[MOST_KEPT];
    int at = 0;

    while (at < MOST_KEPT && mmt_templates[at] && mmt_templates[at] != template)
        at++;
    if (at == MOST_KEPT || !mmt_templates[at] || !mmt_template_is_built_in())
        return hash_template(template, hash, err);
    if (!atomic_load(&kept[at].known)) {
        const mmt_status status = hash_template(template, hash, err);
        if (status)
            return status;
        atomic_store(&kept[at].high, hash->high);
        atomic_store(&kept[at].low, hash->low);
        atomic_store(&kept[at].known, true);
    }
    *hash = (struct mmt_hash){ atomic_load(&kept[at].high), atomic_load(&kept[at].low) };
    return MMT_OK;
}
