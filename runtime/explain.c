/* Prints why a kernel is selected for a problem, and the ranking behind it; selects
 * nothing by itself. */
#include <inttypes.h>

#include "costmodel/costmodel.h"
#include "runtime/runtime.h"

const struct mmt_layer *mmt_selection_layer(const struct mmt_profile *profile,
                                            const struct mmt_selection *selection)
{
    return profile && selection->layer >= 0 &&
                   (size_t) selection->layer < profile->num_layers
               ? &profile->layers[selection->layer]
               : NULL;
}

/* Profiles that count together are of the device as one: each file is asked itself. */
const char *mmt_selection_foreign(const struct mmt_profile *profile,
                                  const struct mmt_selection *selection,
                                  const struct mmt_caps *caps, char buffer[512])
{
    const struct mmt_layer *layer = mmt_selection_layer(profile, selection);
    if (profile && mmt_profile_foreign(profile, caps, buffer))
        return buffer;
    return layer && !profile->kernels.bundle
               ? mmt_caps_foreign(&layer->caps, caps, buffer)
               : NULL;
}

bool mmt_selection_is_known(const struct mmt_selection *selection)
{
    return selection->why == MMT_SELECTION_EXACT ||
           selection->why == MMT_SELECTION_MEASURED ||
           selection->why == MMT_SELECTION_RANGE;
}

static void print_range(const struct mmt_selection *selection, const mmt_problem *problem,
                        struct mmt_text *text)
{
    const mmt_problem first = mmt_problem_with_m(problem, selection->range.from);
    mmt_text_add(text, "tuned for ");
    mmt_range_print_to(&first, selection->range.to, text);
    mmt_text_addf(text, ", kernel %d of %d, m up to %" PRId64,
                  selection->range.segment + 1, selection->range.count,
                  selection->range.segment_to);
}

void mmt_selection_print(const struct mmt_selection *selection,
                         const mmt_problem *problem, bool foreign, struct mmt_text *text)
{
    const double us = selection->seconds * 1e6;

    switch (selection->why) {
    case MMT_SELECTION_EXACT:
        mmt_text_addf(text, "tuned for this %s, %.1f us",
                      foreign ? "problem on another device" : "very problem", us);
        break;
    case MMT_SELECTION_MEASURED:
        mmt_text_addf(text, "measured at planning, %.1f us", us);
        if (selection->compared)
            mmt_text_addf(text, ", the fastest of %d", selection->compared);
        break;
    case MMT_SELECTION_RANGE:
        print_range(selection, problem, text);
        break;
    case MMT_SELECTION_LAW:
        mmt_text_addf(text, "by the law of time %s, about %.1f us",
                      selection->compiled
                          ? "within 3 % of the fastest, and compiled already"
                          : "the fastest",
                      us);
        break;
    case MMT_SELECTION_NEAREST:
        mmt_text_add(text, "tuned for the nearest problem, ");
        mmt_problem_print(&selection->nearest, text);
        break;
    case MMT_SELECTION_DEFAULT:
        mmt_text_add(text, "a default: nothing that is tuned serves it");
        break;
    case MMT_SELECTION_GIVEN:
        mmt_text_add(text, "named by the caller");
        break;
    }
}

void mmt_passed_over_print(const struct mmt_profile *profile, const mmt_problem *problem,
                           const struct mmt_caps *caps, const char *lead,
                           struct mmt_text *text)
{
    for (size_t i = 0; profile && i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (entry->source[0] || !mmt_same_kind(&entry->problem, problem) ||
            !mmt_problem_equal(&entry->problem, problem))
            continue;
        const char *why = mmt_config_check_problem(&entry->config, problem, caps);
        if (!why)
            return;
        mmt_text_addf(text, "%sits entry is passed over, ", lead);
        mmt_config_print(&entry->config, text);
        mmt_text_addf(text, ": %s", why);
        return;
    }
}

/* One line: what is expected, against the first, what it is made of, and the kernel. */
static void print_ranked(const struct mmt_ranked *ranked, double first,
                         const mmt_problem *problem, const struct mmt_caps *caps,
                         struct mmt_text *text)
{
    struct mmt_bound bound;
    mmt_bind_known(&ranked->config, problem, caps, &bound);
    const struct mmt_load load = mmt_cost_load(&bound);

    mmt_text_addf(text, "%12.1f us  %5.2f  %6.0f  %6.0f  ", ranked->seconds * 1e6,
                  ranked->seconds / first, load.blocks, load.steps);
    mmt_config_print(&bound.config, text);
    mmt_text_add(text, load.unaligned ? "  (any alignment)\n" : "\n");
}

mmt_status mmt_explain(const struct mmt_profile *profile, const mmt_problem *problem,
                       const struct mmt_caps *caps, struct mmt_text *text, mmt_error *err)
{
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    struct mmt_selection selection;
    char why[512];
    mmt_status status = mmt_select(profile, problem, caps, NULL, &selection, err);

    if (status != MMT_OK)
        return status;
    mmt_problem_print(problem, text);
    mmt_text_add(text, "\nselected: ");
    mmt_config_print(&selection.config, text);
    mmt_text_add(text, "\nwhy:    ");
    const char *foreign = mmt_selection_foreign(profile, &selection, caps, why);
    mmt_selection_print(&selection, problem, foreign != NULL, text);
    if (foreign)
        mmt_text_addf(text, "; %s", foreign);
    mmt_passed_over_print(profile, problem, caps, "\n        ", text);
    int count = mmt_select_rank(profile, problem, caps, NULL, ranked);
    mmt_text_addf(text, "\n\n%12s     %5s  %6s  %6s  %s\n", "expected", "ratio", "blocks",
                  "steps", "kernel");
    for (int i = 0; i < count; i++)
        print_ranked(&ranked[i], ranked[0].seconds, problem, caps, text);
    if (!count)
        mmt_text_add(text, "         nothing is ranked for it\n");
    return text->failed ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory left to explain")
                        : MMT_OK;
}
