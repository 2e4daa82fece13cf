/* How a profile begins and ends. */
#include "profiles/fields.h"

#include <stdlib.h>

struct mmt_profile *mmt_profile_create(void)
{
    struct mmt_profile *profile = calloc(1, sizeof *profile);
    if (profile && !(profile->learned = mmt_learned_create())) {
        free(profile);
        return NULL;
    }
    return profile;
}

void mmt_profile_free(mmt_profile *profile)
{
    if (!profile)
        return;
    free(profile->entries);
    free(profile->ranges);
    free(profile->verdicts);
    free(profile->unlisted);
    free(profile->models);
    free(profile->pruning);
    free(profile->published);
    free(profile->layers);
    mmt_text_finish(&profile->warnings);
    mmt_learned_free(profile->learned);
    for (size_t i = 0; i < profile->num_targets; i++)
        mmt_profile_free(profile->targets[i]);
    free(profile->targets);
    mmt_bundle_close(profile->bundle);
    free(profile);
}
