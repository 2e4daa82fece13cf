/* What a comparison tells of both cards: facts of their profiles, and how far the best
 * kernels are from what the rooflines allow. */
#include <math.h>
#include <stdio.h>

#include "tuner/common/options.h"
#include "tuner/report/diff.h"

static void add_name(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_add_card(profile, text);
}

static void add_architecture(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.architecture);
}

static void add_driver(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.driver);
}

static void add_compiler(const struct mmt_profile *profile, struct mmt_text *text)
{
    mmt_text_add(text, profile->caps.compiler);
}

static void add_size(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (profile->caps.sms)
        mmt_text_addf(text, "%u %s, %.2f GHz", profile->caps.sms,
                      profile->caps.kind == MMT_CPU ? "cores" : "multiprocessors",
                      profile->caps.clock_khz / 1e6);
}

static void add_memory(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (profile->caps.memory)
        mmt_text_addf(text, "%.1f GiB", (double) profile->caps.memory / (1 << 30));
    if (profile->roofline.bandwidth > 0)
        mmt_text_addf(text, "%s%.0f GB/s %s", text->length ? ", " : "",
                      profile->roofline.bandwidth / 1e9,
                      *profile->citation ? "by its vendor" : "measured");
}

static void add_peaks(const struct mmt_profile *profile, struct mmt_text *text)
{
    char rate[32];
    for (int type = 0; type < MMT_NUM_TYPES; type++)
        if (profile->roofline.peak_flops[type] > 0)
            mmt_text_addf(text, "%s%s %s", text->length ? ", " : "",
                          mmt_type_name((mmt_type) type),
                          mmt_print_rate(profile->roofline.peak_flops[type],
                                         (mmt_type) type, rate));
}

static void add_made(const struct mmt_profile *profile, struct mmt_text *text)
{
    if (*profile->citation)
        mmt_text_add(text, profile->citation);
    else
        mmt_text_addf(text, "mmtune %s, %s", profile->made.version, profile->made.date);
}

const struct mmt_fact mmt_diff_facts[] = {
    { "card", add_name },     { "architecture", add_architecture },
    { "driver", add_driver }, { "compiler", add_compiler },
    { "size", add_size },     { "memory", add_memory },
    { "at most", add_peaks }, { "made by", add_made },
};
const size_t mmt_diff_num_facts = sizeof mmt_diff_facts / sizeof *mmt_diff_facts;

/* ---- rooflines --------------------------------------------------------------------- */

/* The least time by the peak of the type and by the bandwidth; NAN: not known. */
struct least {
    double computing, memory;
};

static struct least least_of(const struct mmt_diff *diff, int side,
                             const mmt_problem *problem)
{
    const struct mmt_roofline *roofline = &diff->rows[side].profile->roofline;
    const double peak = roofline->peak_flops[problem->type];
    if (peak <= 0 || roofline->bandwidth <= 0)
        return (struct least){ NAN, NAN };
    return (struct least){ mmt_problem_flops(problem) / peak,
                           mmt_problem_bytes(problem) / roofline->bandwidth };
}

/* "\t812\t78 %\tpeak". */
static void add_rate(const struct mmt_both *both, int side, struct least least,
                     struct mmt_text *row)
{
    const double seconds = both->best[side]->seconds;
    const double bound = fmax(least.computing, least.memory);
    const double rate = mmt_problem_flops(both->best[side]->problem) / seconds / 1e9;
    mmt_text_addf(row, rate < 1000 ? "\t%.3g\t" : "\t%.0f\t", rate);
    if (isnan(bound))
        mmt_text_add(row, "-\t-");
    else
        mmt_text_addf(row, "%.0f %%\t%s", 100 * bound / seconds,
                      least.computing > least.memory ? "peak" : "memory");
}

struct mmt_table mmt_diff_list_rates(const struct mmt_diff *diff, size_t most)
{
    struct mmt_table table =
        mmt_table_of("GFLOP/s, their share of the roofline and what bounds them; "
                     "expected: by rooflines",
                     "problem\t>A\t>share\tby\t>B\t>share\tby\t>A over B\t>expected");
    table.columns[0].most = 27;
    for (size_t i = 0; i < diff->num_both && (size_t) table.num_rows < most; i++) {
        const struct mmt_both *both = diff->ranked[i];
        const mmt_problem *problem = both->best[0]->problem;
        const struct least a = least_of(diff, 0, problem), b = least_of(diff, 1, problem);
        const double expected = fmax(a.computing, a.memory) / fmax(b.computing, b.memory);
        struct mmt_text row = { 0 };
        if (isnan(a.memory) && isnan(b.memory))
            continue;
        mmt_diff_add_problem(problem, &row);
        add_rate(both, 0, a, &row);
        add_rate(both, 1, b, &row);
        mmt_text_addf(&row, "\t%.3g", mmt_diff_ratio(both));
        mmt_text_addf(&row, isnan(expected) ? "\t-" : "\t%.3g", expected);
        mmt_table_take(&table, &row);
    }
    return table;
}
