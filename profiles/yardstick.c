/* What a profile knows of the vendor's library. */
#include "profiles/profile.h"

#include <string.h>

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

enum mmt_faster mmt_profile_faster(const struct mmt_profile *profile,
                                   const mmt_problem *problem, const char *driver,
                                   const char *library)
{
    const struct mmt_yardstick *it = mmt_profile_yardstick(profile, problem);

    if (!it || strcmp(it->driver, driver) || strcmp(it->library, library))
        return MMT_FASTER_UNKNOWN;
    return it->first >= (1 + MMT_FASTER_MARGIN) * it->ours ? MMT_FASTER_OURS
                                                           : MMT_FASTER_THEIRS;
}
