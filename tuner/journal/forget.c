/* Writes and reads the line by which `--fresh` makes older records forgotten; deletes
 * nothing. */
#include "tuner/journal/forget.h"

bool mmt_forgets(const struct mmt_forget *forget, const mmt_problem *problem,
                 const struct mmt_config *config)
{
    return problem->op == forget->op && forget->types[problem->type] &&
           (!forget->template || mmt_template_is(config->template, forget->template));
}

json_t *mmt_forget_json(const struct mmt_forget *forget)
{
    json_t *types = json_array();
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (forget->types[type])
            json_array_append_new(types, json_string(mmt_type_name((mmt_type) type)));
    return json_pack("{s:{s:s, s:o, s:s?}}", "forget", "op", mmt_op_row(forget->op)->name,
                     "types", types, "template", forget->template);
}

static bool read_types(const json_t *names, bool types[MMT_NUM_TYPES])
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const int type = name ? mmt_type_parse(name) : -1;
        if (type < 0)
            return false;
        types[type] = true;
    }
    return json_is_array(names);
}

bool mmt_forget_read(const json_t *line, struct mmt_forget *out)
{
    const json_t *said = json_object_get(line, "forget");
    const char *template = json_string_value(json_object_get(said, "template"));
    const char *name = json_string_value(json_object_get(said, "op"));
    const int op = name ? mmt_op_parse(name) : -1;

    *out = (struct mmt_forget){ .op = (mmt_op) op };
    if (op < 0 || !read_types(json_object_get(said, "types"), out->types))
        return false;
    out->template = template ? mmt_config_template_name(template, NULL) : NULL;
    return !template || out->template;
}
