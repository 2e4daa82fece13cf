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

bool mmt_verdict_is_for_ours(const struct mmt_verdict *verdict)
{
    const bool is_cooler =
        verdict->our_joules > 0 &&
        verdict->our_joules <= (1 - MMT_COOLER_MARGIN) * verdict->their_joules;
    return verdict->theirs >= (1 + MMT_FASTER_MARGIN) * verdict->ours ||
           (verdict->theirs >= verdict->ours && is_cooler);
}

/* ---- its kernel -------------------------------------------------------------------- */

size_t mmt_verdict_workspace(const struct mmt_verdict *verdict, size_t otherwise)
{
    const struct mmt_call *call = &verdict->call;
    const bool most = verdict->f32_mode == MMT_F32_EMULATED && call->most_workspace;
    const size_t given = most ? call->most_workspace : call->workspace;
    return given ? given : otherwise;
}

bool mmt_verdict_bind(const struct mmt_verdict *verdict, const struct mmt_caps *caps,
                      size_t workspace, struct mmt_bound *out)
{
    const mmt_problem *problem = &verdict->call.problem;
    if (mmt_config_check_problem(&verdict->config, problem, caps))
        return false;
    const struct mmt_config config =
        mmt_config_within(&verdict->config, problem, caps, workspace);
    return mmt_bind(&config, problem, caps, out);
}

/* ---- reading and layers ------------------------------------------------------------ */

void mmt_verdict_drop_changed(struct mmt_profile *profile,
                              const struct mmt_template *template, const char *now)
{
    size_t left = 0;
    for (size_t i = 0; i < profile->num_verdicts; i++) {
        const struct mmt_verdict *it = &profile->verdicts[i];
        if (it->config.template != template || !it->template_hash[0] ||
            !strcmp(it->template_hash, now))
            profile->verdicts[left++] = *it;
    }
    const size_t dropped = profile->num_verdicts - left;
    profile->num_verdicts = left;
    if (dropped)
        mmt_json_warn(&profile->warnings,
                      "template %s has changed since it was timed for %zu %s, which %s "
                      "left out; tune what was recorded again",
                      template->name, dropped, dropped == 1 ? "verdict" : "verdicts",
                      dropped == 1 ? "is" : "are");
}

/* Whether a verdict that counts more stands for the same: of the driver that is there, or
 * both of others. */
static bool has_verdict(const struct mmt_profile *into, const struct mmt_verdict *it)
{
    const bool current = !strcmp(it->driver, into->caps.driver);
    for (size_t i = 0; i < into->num_verdicts; i++) {
        const struct mmt_verdict *known = &into->verdicts[i];
        if (is_same(known, it) && (!current || !strcmp(known->driver, into->caps.driver)))
            return true;
    }
    return false;
}

mmt_status mmt_verdict_add_layer(struct mmt_profile *into, const struct mmt_profile *from,
                                 int layer, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_verdicts && !status; i++) {
        struct mmt_verdict verdict = from->verdicts[i];
        verdict.layer = layer;
        if (!has_verdict(into, &verdict))
            status = mmt_profile_append(&into->verdicts, &into->num_verdicts, &verdict,
                                        sizeof verdict, err);
    }
    return status;
}

/* ---- what becomes of a call ------------------------------------------------------ */

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
    return mmt_verdict_is_for_ours(best) ? MMT_FATE_TAKEN : MMT_FATE_SLOWER;
}
