/* What a profile knows of the vendor's library. */
#include "profiles/profile.h"

const struct mmt_yardstick *mmt_profile_yardstick(const struct mmt_profile *profile,
                                                  const mmt_problem *problem)
{
    for (size_t i = 0; i < profile->num_entries; i++) {
        const struct mmt_entry *entry = &profile->entries[i];
        if (!entry->source[0] && mmt_problem_equal(&entry->problem, problem) &&
            !mmt_config_check_problem(&entry->config, problem, &profile->caps))
            return entry->yardstick.library[0] ? &entry->yardstick : NULL;
    }
    return NULL;
}
