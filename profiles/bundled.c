/* A bundle as a profile: those of its targets, of which a device takes one. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------- */

static mmt_status read_target(struct mmt_profile *all, unsigned number, const char *path,
                              mmt_error *err)
{
    const unsigned part = mmt_bundle_target(all->bundle, number)->profile;
    void *json;
    size_t size;
    mmt_status status = mmt_bundle_part(all->bundle, part, &json, &size, err);
    struct mmt_profile *profile = status ? NULL : mmt_profile_read(json, size, err);

    free(json);
    if (!profile)
        return status ? status : MMT_ERROR_FORMAT;
    profile->kernels = (struct mmt_bundled){ all->bundle, number };
    mmt_text_add(&all->warnings, mmt_text_string(&profile->warnings));
    status = mmt_profile_name_layer(profile, path, err);
    if (!status)
        status = mmt_profile_append(&all->targets, &all->num_targets, &profile,
                                    sizeof profile, err);
    if (status)
        mmt_profile_free(profile);
    else
        mmt_profile_finish(profile);
    return status;
}

struct mmt_profile *mmt_profile_of_bundle(struct mmt_bundle *bundle, const char *path,
                                          mmt_error *err)
{
    struct mmt_profile *all = mmt_profile_create();
    mmt_status status = MMT_OK;

    if (!all) {
        mmt_bundle_close(bundle);
        mmt_fail(err, MMT_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    all->bundle = bundle;
    mmt_bundle_print_changed(bundle, &all->warnings);
    for (unsigned i = 0; i < mmt_bundle_header(bundle)->num_targets && !status; i++)
        status = read_target(all, i, path, err);
    if (status) {
        mmt_profile_free(all);
        return NULL;
    }
    all->caps = all->targets[0]->caps;
    mmt_profile_finish(all);
    return all;
}

/* ---- which target ---------------------------------------------------------------- */

/* How well a target suits a device; the greater, the better. */
enum suits { RUNS_NOT, OF_ANOTHER, OF_ANY, OF_THIS };

static enum suits judge_target(const struct mmt_profile *profile,
                               const struct mmt_caps *caps)
{
    const struct mmt_bundled *in = &profile->kernels;
    char unused[512];
    if (!mmt_bundle_runs(mmt_bundle_target(in->bundle, in->target), &profile->caps, caps))
        return RUNS_NOT;
    if (!*profile->caps.name)
        return OF_ANY;
    return strcmp(profile->caps.name, caps->name) ||
                   mmt_caps_differ(&profile->caps, caps, unused)
               ? OF_ANOTHER
               : OF_THIS;
}

/* Of two that suit alike the one of the newer architecture is first, then one of machine
 * code. */
static bool is_nearer(const struct mmt_profile *a, const struct mmt_profile *b)
{
    const struct mmt_bundle_target *x =
        mmt_bundle_target(a->kernels.bundle, a->kernels.target);
    const struct mmt_bundle_target *y =
        mmt_bundle_target(b->kernels.bundle, b->kernels.target);
    if (x->sm != y->sm)
        return x->sm > y->sm;
    return !(x->flags & MMT_BUNDLE_PTX) && y->flags & MMT_BUNDLE_PTX;
}

/* Who asks for a foreign profile has its machine code rather than what is for any card,
 * such as PTX. */
static int rank(enum suits how, bool foreign)
{
    return foreign && how == OF_ANOTHER ? 2 * OF_ANY + 1 : 2 * (int) how;
}

/* The best, with how well it suits; NULL where none runs. */
static const struct mmt_profile *find_target(const struct mmt_profile *all,
                                             const struct mmt_caps *caps, bool foreign,
                                             enum suits *found)
{
    const struct mmt_profile *best = NULL;
    *found = RUNS_NOT;
    for (size_t i = 0; i < all->num_targets; i++) {
        const struct mmt_profile *next = all->targets[i];
        const enum suits how = judge_target(next, caps);
        const int better = rank(how, foreign) - rank(*found, foreign);
        if (how && (better > 0 || (!better && is_nearer(next, best)))) {
            best = next;
            *found = how;
        }
    }
    return best;
}

/* "NVIDIA H200 (sm_90a), any of compute_90 and newer" */
static void print_targets(const struct mmt_profile *all, struct mmt_text *text)
{
    for (size_t i = 0; i < all->num_targets; i++) {
        const struct mmt_caps *caps = &all->targets[i]->caps;
        const unsigned flags = mmt_bundle_target(all->bundle, (unsigned) i)->flags;
        mmt_text_add(text, i ? ", " : "");
        if (*caps->name)
            mmt_text_addf(text, "%s (%s)", caps->name, caps->architecture);
        else
            mmt_text_addf(text, "any of %s%s", caps->architecture,
                          flags & MMT_BUNDLE_PTX ? " and newer" : "");
        if (flags & MMT_BUNDLE_OPENCL)
            mmt_text_addf(text, " under driver %s", caps->driver);
    }
}

static void print_foreign(const struct mmt_profile *all, const struct mmt_caps *caps,
                          char buffer[512])
{
    struct mmt_text text = { 0 };
    mmt_text_add(&text, "the bundle was made for ");
    print_targets(all, &text);
    mmt_text_addf(&text, ", and this one is %s (%s)", caps->name, caps->architecture);
    if (caps->dialect == MMT_OPENCL_C)
        mmt_text_addf(&text, " under driver %s", caps->driver);
    snprintf(buffer, 512, "%s", mmt_text_string(&text));
    mmt_text_finish(&text);
}

static const char *foreign_bundle(const struct mmt_profile *profile,
                                  const struct mmt_caps *caps, char buffer[512])
{
    enum suits found = OF_THIS;
    if (profile->bundle)
        find_target(profile, caps, false, &found);
    else
        found = judge_target(profile, caps);
    if (found >= OF_ANY)
        return NULL;
    if (profile->bundle)
        print_foreign(profile, caps, buffer);
    else if (strcmp(profile->caps.name, caps->name) ||
             !mmt_caps_differ(&profile->caps, caps, buffer))
        snprintf(buffer, 512, "the bundle has kernels for %.100s, and this one is %.100s",
                 profile->caps.name, caps->name);
    return buffer;
}

const char *mmt_profile_foreign(const struct mmt_profile *profile,
                                const struct mmt_caps *caps, char buffer[512])
{
    if (profile->bundle || profile->kernels.bundle)
        return foreign_bundle(profile, caps, buffer);
    if (!*profile->citation)
        return mmt_caps_foreign(&profile->caps, caps, buffer);
    snprintf(buffer, 512,
             "the profile holds published figures for %s, which nothing executes",
             profile->caps.name);
    return buffer;
}

const struct mmt_profile *mmt_profile_for(const struct mmt_profile *profile,
                                          const struct mmt_caps *caps, bool foreign,
                                          mmt_error *err)
{
    enum suits found;
    char why[512];
    if (!profile || !profile->bundle)
        return profile;
    const struct mmt_profile *target = find_target(profile, caps, foreign, &found);
    if (found >= OF_ANY || (foreign && found == OF_ANOTHER))
        return target;
    print_foreign(profile, caps, why);
    mmt_fail(err, MMT_ERROR_ARGUMENT, "%s%s", why,
             found == OF_ANOTHER ? "; set foreign_profile to use it all the same" : "");
    return NULL;
}
