/* What a bundle says of itself, for people and programs. */
#include <jansson.h>
#include <stdlib.h>

#include "tuner/bundle/make.h"

void mmt_bundle_print_kind(const struct mmt_variant *variant, struct mmt_text *text)
{
    mmt_text_addf(text, "%s %s", mmt_op_row(variant->op)->name,
                  mmt_type_name(variant->type));
    if (mmt_op_row(variant->op)->transposes)
        mmt_text_addf(text, " %c%c", variant->trans_a ? 't' : 'n',
                      variant->trans_b ? 't' : 'n');
    if (variant->out != mmt_type_own_output(variant->type))
        mmt_text_addf(text, " out=%s", mmt_type_name(variant->out));
    if (variant->bias)
        mmt_text_addf(text, " bias=%s", mmt_bias_name(variant->bias));
    if (variant->activation)
        mmt_text_addf(text, " activation=%s", mmt_activation_name(variant->activation));
    if (variant->batch_by)
        mmt_text_addf(text, " batch_by=%s", mmt_batch_by_name(variant->batch_by));
}

/* The knobs that the binary fixes: a launch has its own values of the others. */
static void print_fixed(const struct mmt_config *config, struct mmt_text *text)
{
    char buffer[16];
    mmt_text_add(text, config->template->name);
    for (int i = 0; i < config->template->num_knobs; i++) {
        const struct mmt_knob *knob = &config->template->knobs[i];
        if (!knob->launch_time || config->values[i] < knob->launch_time)
            mmt_text_addf(text, " %s=%s", knob->name,
                          mmt_config_value(config, i, buffer));
    }
}

static json_t *kernel_json(const struct mmt_bundle_need *need, unsigned part)
{
    struct mmt_text config = { 0 }, kind = { 0 };
    char hash[33];
    print_fixed(&need->config, &config);
    mmt_bundle_print_kind(&need->variant, &kind);
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), need->binary.data, need->binary.size),
                   hash);
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:i, s:I, s:s}", "configuration",
                  mmt_text_string(&config), "of", mmt_text_string(&kind), "operands",
                  need->variant.aligned ? "aligned" : "any alignment", "part", (int) part,
                  "bytes", (json_int_t) need->binary.size, "hash", hash);
    mmt_text_finish(&config);
    mmt_text_finish(&kind);
    return json;
}

static json_t *problems_json(const struct mmt_bundle_problems *problems)
{
    json_t *list = json_array();
    for (size_t i = 0; i < problems->count; i++) {
        struct mmt_text text = { 0 };
        mmt_problem_print(&problems->list[i], &text);
        json_array_append_new(list, json_string(mmt_text_string(&text)));
        mmt_text_finish(&text);
    }
    return list;
}

/* *part is the first kernel's place in the list of parts. */
static json_t *target_json(const struct mmt_bundle_goal *goal, const unsigned **part)
{
    const struct mmt_caps *caps = &goal->profile->caps;
    json_t *kernels = json_array();
    for (size_t i = 0; i < goal->needs.count; i++)
        if (mmt_bundle_has(&goal->needs.list[i]))
            json_array_append_new(kernels, kernel_json(&goal->needs.list[i], *(*part)++));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "architecture",
                     caps->architecture, "binaries",
                     goal->flags & MMT_BUNDLE_OPENCL ? "OpenCL"
                     : goal->flags & MMT_BUNDLE_PTX  ? "PTX"
                                                     : "cubin",
                     "device", caps->name, "driver",
                     goal->flags & MMT_BUNDLE_OPENCL ? caps->driver : "", "compiler",
                     goal->compiler, "tuned", goal->profile->made.date, "problems",
                     problems_json(&goal->problems), "kernels", kernels);
}

/* Each template that a kernel is of, with the hash of its source. */
static json_t *templates_json(const struct mmt_bundle_goals *goals)
{
    json_t *all = json_object();
    for (size_t i = 0; i < goals->count; i++)
        for (size_t j = 0; j < goals->list[i].needs.count; j++) {
            const struct mmt_template *template =
                goals->list[i].needs.list[j].config.template;
            struct mmt_hash hash;
            char text[33];
            if (json_object_get(all, template->name) ||
                mmt_template_hash(template, &hash, NULL))
                continue;
            mmt_hash_print(hash, text);
            json_object_set_new(all, template->name, json_string(text));
        }
    return all;
}

mmt_status mmt_bundle_print_manifest(const struct mmt_bundle_goals *goals,
                                     const unsigned *part_of, struct mmt_text *out,
                                     mmt_error *err)
{
    char date[32];
    json_t *targets = json_array();
    mmt_profile_now(date);
    for (size_t i = 0; i < goals->count; i++)
        json_array_append_new(targets, target_json(&goals->list[i], &part_of));
    json_t *root = json_pack("{s:i, s:s, s:s, s:o, s:o}", "format", MMT_BUNDLE_FORMAT,
                             "mmtune", mmt_version(), "date", date, "templates",
                             templates_json(goals), "targets", targets);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    if (text)
        mmt_text_addf(out, "%s\n", text);
    free(text);
    json_decref(root);
    if (text && !out->failed)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a manifest");
}
