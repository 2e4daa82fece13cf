/* A comparison as one JSON document, for programs. */
#include "tuner/report/diff.h"

static json_t *kernels_json(const struct mmt_group *group)
{
    json_t *list = json_array();
    for (size_t i = 0; i < group->count; i++)
        json_array_append_new(list, mmt_row_json(&group->row[i]));
    return list;
}

static json_t *side_json(const struct mmt_both *both, int side)
{
    const struct mmt_row *best = both->best[side], *others = both->others_best[side];
    json_t *json = json_pack("{s:o, s:b}", "best", mmt_row_json(best), "suspect",
                             both->suspect[side]);
    json_object_set_new(json, "others_best", others ? mmt_row_json(others) : json_null());
    json_object_set_new(json, "cost_of_others_best",
                        others ? json_real(others->seconds / best->seconds)
                               : json_null());
    json_object_set_new(json, "cost_within_spreads",
                        json_boolean(others && mmt_rows_tie(best, others)));
    json_object_set_new(json, "kernels", kernels_json(&both->group[side]));
    return json;
}

static json_t *both_json(const struct mmt_both *both)
{
    return json_pack("{s:o, s:f, s:b, s:b, s:b, s:o, s:o, s:o}", "problem",
                     mmt_problem_json(both->group[0].row->problem), "ratio",
                     mmt_diff_ratio(both), "tie", both->tie, "same_kernel", both->same,
                     "suspect", both->suspect[0] || both->suspect[1], "knobs",
                     mmt_diff_knobs(both->best[0], both->best[1]), "a",
                     side_json(both, 0), "b", side_json(both, 1));
}

static json_t *only_json(const struct mmt_diff *diff, int side)
{
    json_t *list = json_array();
    for (size_t i = 0; i < diff->num_only[side]; i++) {
        const struct mmt_group *group = &diff->only[side][i];
        const struct mmt_row *best = mmt_group_best(group);
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o}", "problem", mmt_problem_json(best->problem),
                            "best", mmt_row_json(best), "kernels", kernels_json(group)));
    }
    return list;
}

static json_t *wins_json(const struct mmt_diff *diff, int side)
{
    struct mmt_wins wins[MMT_MAX_WINS];
    size_t num = mmt_diff_wins(diff, side, wins);
    json_t *list = json_array();
    for (size_t i = 0; i < num; i++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "kernel", wins[i].family,
                                              "problems", (json_int_t) wins[i].count,
                                              "suspect", (json_int_t) wins[i].suspect));
    return list;
}

static json_t *ranges_json(const struct mmt_diff *diff)
{
    const struct mmt_profile *a = diff->rows[0].profile;
    json_t *list = json_array();
    for (size_t i = 0; i < a->num_ranges; i++) {
        const struct mmt_range *other = mmt_diff_range(diff, &a->ranges[i]);
        if (other)
            json_array_append_new(list, json_pack("{s:o, s:o, s:f}", "a",
                                                  mmt_range_json(&a->ranges[i]), "b",
                                                  mmt_range_json(other), "ratio",
                                                  mmt_range_ratio(&a->ranges[i], other)));
    }
    return list;
}

static json_t *lines_json(const struct mmt_diff *diff)
{
    struct mmt_text line[MMT_DIFF_LINES];
    json_t *list = json_array();
    mmt_diff_say(diff, line);
    for (int i = 0; i < MMT_DIFF_LINES; i++) {
        if (line[i].length)
            json_array_append_new(list, json_string(mmt_text_string(&line[i])));
        mmt_text_finish(&line[i]);
    }
    return list;
}

static json_t *sum_json(const struct mmt_sum *sum)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "problems",
                     (json_int_t) sum->problems, "a_faster", (json_int_t) sum->faster[0],
                     "b_faster", (json_int_t) sum->faster[1], "ties",
                     (json_int_t) sum->ties, "suspect", (json_int_t) sum->suspect,
                     "without_spread", (json_int_t) sum->unknown, "ratio", sum->ratio,
                     "ratio_without_suspect",
                     sum->sure > 0 ? json_real(sum->sure) : json_null());
}

static json_t *types_json(const struct mmt_diff *diff)
{
    struct mmt_sum sums[MMT_MAX_SUMS];
    const size_t num = mmt_diff_sums(diff, sums);
    json_t *list = json_array();
    for (size_t i = 0; i < num; i++) {
        json_t *sum = sum_json(&sums[i]);
        json_object_set_new(sum, "op", json_string(mmt_op_row(sums[i].op)->name));
        json_object_set_new(sum, "type", json_string(mmt_type_name(sums[i].type)));
        json_array_append_new(list, sum);
    }
    return list;
}

static json_t *knob_side_json(const struct mmt_knob_sum *sum, int side)
{
    const struct mmt_cost *wrong = &sum->side[side].wrong;
    return json_pack("{s:s, s:I, s:o, s:I}", "prefers", sum->side[side].value, "on",
                     (json_int_t) sum->side[side].count, "wrong_value_costs",
                     wrong->count ? json_real(wrong->ratio) : json_null(), "pairs",
                     (json_int_t) wrong->count);
}

static json_t *knobs_json(const struct mmt_diff *diff)
{
    struct mmt_knob_sum sums[MMT_MAX_KNOB_SUMS];
    const size_t num = mmt_diff_knob_sums(diff, sums);
    json_t *list = json_array();
    for (size_t i = 0; i < num; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:o, s:o}", "knob", sums[i].name, "problems",
                            (json_int_t) sums[i].problems, "differ",
                            (json_int_t) sums[i].differ, "a", knob_side_json(&sums[i], 0),
                            "b", knob_side_json(&sums[i], 1)));
    return list;
}

static json_t *gaps_json(const struct mmt_diff_view *view)
{
    json_t *list = json_array();
    for (int side = 0; side < 2; side++) {
        size_t count;
        struct mmt_gap *gaps = mmt_diff_gaps(view->diff, side, &count);
        for (size_t i = 0; i < count; i++) {
            struct mmt_text command = { 0 };
            mmt_diff_add_command(view, side, &gaps[i], &command);
            json_array_append_new(
                list,
                json_pack("{s:s, s:I, s:o}", "on", side ? "b" : "a", "problems",
                          (json_int_t) gaps[i].problems, "command",
                          gaps[i].options ? json_string(command.data) : json_null()));
            mmt_text_finish(&command);
        }
        mmt_diff_free_gaps(gaps, count);
    }
    return list;
}

void mmt_diff_print_json(const struct mmt_diff_view *view)
{
    const struct mmt_diff *diff = view->diff;
    const struct mmt_sum total = mmt_diff_total(diff);
    json_t *problems = json_array();
    for (size_t i = 0; i < diff->num_both; i++)
        json_array_append_new(problems, both_json(&diff->both[i]));
    json_t *whole =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "lines", lines_json(diff), "a",
                  mmt_card_json(diff->rows[0].profile), "b",
                  mmt_card_json(diff->rows[1].profile), "total", sum_json(&total),
                  "by_type", types_json(diff), "knobs", knobs_json(diff));
    json_object_set_new(whole, "problems", problems);
    json_object_set_new(whole, "left_out_for_copying",
                        json_integer((json_int_t) diff->num_apart));
    json_object_set_new(whole, "ranges", ranges_json(diff));
    json_object_set_new(whole, "only_in_a", only_json(diff, 0));
    json_object_set_new(whole, "only_in_b", only_json(diff, 1));
    json_object_set_new(whole, "wins_on_a", wins_json(diff, 0));
    json_object_set_new(whole, "wins_on_b", wins_json(diff, 1));
    json_object_set_new(whole, "gaps", gaps_json(view));
    mmt_print_json(whole);
}
