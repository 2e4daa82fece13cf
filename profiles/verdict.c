/* Verdicts: whose kernel a program's call goes to. */
#include "profiles/profile.h"

#include <string.h>

#include "profiles/fields.h"

static bool is_same(const struct mmt_verdict *a, const struct mmt_verdict *b)
{
    return a->f32_mode == b->f32_mode && mmt_call_equal(&a->call, &b->call) &&
           !strcmp(a->library, b->library);
}

mmt_status mmt_profile_replace_verdict(struct mmt_profile *profile,
                                       const struct mmt_verdict *verdict, mmt_error *err)
{
    for (size_t i = 0; i < profile->num_verdicts; i++)
        if (is_same(&profile->verdicts[i], verdict)) {
            profile->verdicts[i] = *verdict;
            return MMT_OK;
        }
    return mmt_profile_append(&profile->verdicts, &profile->num_verdicts, verdict,
                              sizeof *verdict, err);
}

static bool is_current(const struct mmt_verdict *it, const char *driver,
                       const char *library)
{
    return !strcmp(it->driver, driver) && !strcmp(it->library, library);
}

/* A mode's kernels serve a caller of that mode, and strict ones every caller. */
static bool is_allowed(const struct mmt_verdict *it, mmt_f32_mode f32_mode)
{
    return it->f32_mode == MMT_F32_STRICT || it->f32_mode == f32_mode;
}

enum mmt_fate mmt_profile_verdict(const struct mmt_profile *profile,
                                  const struct mmt_call *call, mmt_f32_mode f32_mode,
                                  const char *driver, const char *library,
                                  const struct mmt_verdict **out)
{
    const struct mmt_verdict *best = NULL;
    enum mmt_fate fate = MMT_FATE_UNKNOWN;

    *out = NULL;
    for (size_t i = 0; i < profile->num_verdicts; i++) {
        const struct mmt_verdict *it = &profile->verdicts[i];
        if (!mmt_call_equal(&it->call, call) || !is_allowed(it, f32_mode))
            continue;
        if (!is_current(it, driver, library))
            fate = fate == MMT_FATE_UNKNOWN ? MMT_FATE_STALE : fate;
        else if (!best || it->ours < best->ours)
            best = it;
    }
    if (!best)
        return fate;
    *out = best;
    return best->theirs >= (1 + MMT_FASTER_MARGIN) * best->ours ? MMT_FATE_TAKEN
                                                                : MMT_FATE_SLOWER;
}
