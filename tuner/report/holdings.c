/* What a profile holds for each type and transposes: holdings.h. */
#include "tuner/report/holdings.h"

static const char *const transposes[] = { "nn", "nt", "tn", "tt" };

/* Of one type's products. */
struct holding {
    int tuned[4], ranges[4];       /* problems, ranges */
    const struct mmt_model *model; /* NULL: none corrects the law for other shapes */
};

static int transposes_of(const mmt_problem *problem)
{
    return 2 * problem->trans_a + problem->trans_b;
}

/* Of the type's family, whatever it rests on. */
static const struct mmt_model *find_model(const struct mmt_profile *profile,
                                          mmt_type type)
{
    for (size_t i = 0; i < profile->num_models; i++)
        if (profile->models[i].family == mmt_type_family(type))
            return &profile->models[i];
    return NULL;
}

/* False where there is nothing. */
static bool find_holding(const struct mmt_profile *profile, mmt_type type,
                         struct holding *out)
{
    int all = 0;
    *out = (struct holding){ .model = find_model(profile, type) };
    for (size_t i = 0; i < profile->num_entries; i++) {
        const mmt_problem *p = &profile->entries[i].problem;
        if (p->op == MMT_GEMM && p->type == type)
            all += ++out->tuned[transposes_of(p)] > 0;
    }
    for (size_t i = 0; i < profile->num_ranges; i++) {
        const mmt_problem *p = &profile->ranges[i].problem;
        if (p->op == MMT_GEMM && p->type == type)
            all += ++out->ranges[transposes_of(p)] > 0;
    }
    return all || out->model;
}

/* `line`: where the line's text begins. */
static void print_counts(const char *what, const int counts[4], size_t line,
                         struct mmt_text *text)
{
    const char *before = text->length > line ? "; " : "";
    for (int t = 0; t < 4; t++)
        if (counts[t]) {
            mmt_text_addf(text, "%s%s%s %d", before, what, transposes[t], counts[t]);
            before = ", ", what = "";
        }
}

static void print_model(const struct mmt_model *model, struct mmt_text *text)
{
    if (model && model->shapes < MMT_FEWEST_SHAPES)
        mmt_text_addf(text, "; nothing learned for other shapes: %d were timed, of %d",
                      model->shapes, MMT_FEWEST_SHAPES);
    else if (model && model->heeded == 0)
        mmt_text_addf(text,
                      "; other shapes by the law of time alone: what %d taught chose no "
                      "better",
                      model->shapes);
    else if (model)
        mmt_text_addf(text,
                      "; other shapes within %.0f %% by the law of time, learned from %d",
                      100 * model->residual, model->shapes);
}

void mmt_holdings_print(const struct mmt_profile *profile, struct mmt_text *text)
{
    struct holding holding;
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (!find_holding(profile, (mmt_type) type, &holding))
            continue;
        mmt_text_addf(text, "  %-7s ", mmt_type_name((mmt_type) type));
        const size_t line = text->length;
        print_counts("tuned ", holding.tuned, line, text);
        print_counts("ranges ", holding.ranges, line, text);
        if (text->length == line)
            mmt_text_add(text, "none tuned");
        print_model(holding.model, text);
        mmt_text_add(text, "\n");
    }
}

/* ---- for programs ------------------------------------------------------------------ */

static json_t *counts_json(const int counts[4])
{
    json_t *out = json_object();
    for (int t = 0; t < 4; t++)
        if (counts[t])
            json_object_set_new(out, transposes[t], json_integer(counts[t]));
    return out;
}

json_t *mmt_holdings_json(const struct mmt_profile *profile)
{
    json_t *all = json_array();
    struct holding holding;
    for (int type = 0; type < MMT_NUM_TYPES; type++) {
        if (!find_holding(profile, (mmt_type) type, &holding))
            continue;
        json_t *one =
            json_pack("{s:s, s:o, s:o}", "type", mmt_type_name((mmt_type) type), "tuned",
                      counts_json(holding.tuned), "ranges", counts_json(holding.ranges));
        if (holding.model)
            json_object_set_new(
                one, "model",
                json_pack("{s:i, s:f, s:f}", "shapes", holding.model->shapes, "residual",
                          holding.model->residual, "heeded", holding.model->heeded));
        json_array_append_new(all, one);
    }
    return all;
}
