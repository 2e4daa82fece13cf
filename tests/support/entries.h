/* Entries of profiles, by their words. */
#ifndef MMT_TESTS_ENTRIES_H
#define MMT_TESTS_ENTRIES_H

#include "profiles/profile.h"
#include "tests/support/made.h"

static inline struct mmt_entry entry_of(mmt_problem problem, const char *configuration,
                                        double seconds)
{
    return (struct mmt_entry){ .problem = normal_of(problem),
                               .config = config_of(configuration),
                               .time = { .median = seconds, .samples = 5 } };
}

static inline void add_entry(struct mmt_profile *profile, mmt_problem problem,
                             const char *configuration, double seconds)
{
    const struct mmt_entry entry = entry_of(problem, configuration, seconds);
    CHECK_OK(mmt_profile_add_entry(profile, &entry, &err), err);
}

#endif
