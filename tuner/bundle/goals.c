/* Which devices a bundle is for, and what it knows of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costmodel/costmodel.h"
#include "tuner/bundle/make.h"

/* ---- profiles -------------------------------------------------------------------- */

/* Those that --profile names, and which of them a target took. */
struct profiles {
    struct mmt_profile **list;
    bool *used;
    int count;
};

static void profiles_finish(struct profiles *profiles)
{
    for (int i = 0; i < profiles->count; i++)
        mmt_profile_free(profiles->list[i]);
    free(profiles->list);
    free(profiles->used);
}

static mmt_status load_profile(struct profiles *profiles, const char *path,
                               mmt_error *err)
{
    struct mmt_profile *profile = mmt_profile_load_plain(path, err);
    if (!profile)
        return err->status;
    profiles->list[profiles->count++] = profile;
    fputs(mmt_profile_warnings(profile), stderr);
    if (*profile->citation)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "--profile %s has a paper's figures, which nothing executes",
                        path);
    return MMT_OK;
}

static mmt_status load_profiles(const struct mmt_words *paths, struct profiles *profiles,
                                mmt_error *err)
{
    mmt_status status = MMT_OK;
    profiles->list = calloc((size_t) paths->count + 1, sizeof *profiles->list);
    profiles->used = calloc((size_t) paths->count + 1, sizeof *profiles->used);
    if (!profiles->list || !profiles->used)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for profiles");
    for (int i = 0; i < paths->count && !status; i++)
        status = load_profile(profiles, paths->each[i], err);
    return status;
}

static mmt_status check_used(const struct profiles *profiles,
                             const struct mmt_words *paths, mmt_error *err)
{
    for (int i = 0; i < profiles->count; i++)
        if (!profiles->used[i])
            return mmt_fail(err, MMT_ERROR_ARGUMENT,
                            "--profile %s is of %s (%s), for which nothing is made: "
                            "name its --arch, or its --device",
                            paths->each[i], profiles->list[i]->caps.name,
                            profiles->list[i]->caps.architecture);
    return MMT_OK;
}

/* ---- what a target stores --------------------------------------------------------- */

static bool has_type(const struct mmt_bundle_problems *problems, mmt_op op, mmt_type type)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->list[i].op == op && problems->list[i].type == type)
            return true;
    return false;
}

static bool has_family(const struct mmt_bundle_problems *problems, mmt_type family)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->list[i].op == MMT_GEMM &&
            mmt_type_family(problems->list[i].type) == family)
            return true;
    return false;
}

/* Entries and ranges of the types that are listed, as near ones tell of others. */
static mmt_status copy_tuned(const struct mmt_profile *from,
                             const struct mmt_bundle_problems *problems,
                             struct mmt_profile *to, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_entries && !status; i++)
        if (!*from->entries[i].source && has_type(problems, from->entries[i].problem.op,
                                                  from->entries[i].problem.type))
            status = mmt_profile_add_entry(to, &from->entries[i], err);
    for (size_t i = 0; i < from->num_ranges && !status; i++)
        if (has_type(problems, from->ranges[i].problem.op, from->ranges[i].problem.type))
            status = mmt_profile_add_range(to, &from->ranges[i], err);
    for (size_t i = 0; i < from->num_verdicts && !status; i++)
        if (has_type(problems, from->verdicts[i].call.problem.op,
                     from->verdicts[i].call.problem.type))
            status = mmt_profile_replace_verdict(to, &from->verdicts[i], err);
    return status;
}

/* The models of the problems' families: one of each is stored, as a file has no layers.
 */
static mmt_status copy_models(const struct mmt_profile *from,
                              const struct mmt_bundle_problems *problems,
                              struct mmt_profile *to, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (size_t i = 0; i < from->num_models && !status; i++) {
        const struct mmt_model *model = &from->models[i];
        if (has_family(problems, model->family) &&
            mmt_profile_model(from, model->family) == model)
            status = mmt_profile_add_model(to, model, err);
    }
    return status;
}

static struct mmt_profile *copy_profile(const struct mmt_profile *from,
                                        const struct mmt_caps *caps,
                                        const struct mmt_bundle_problems *problems,
                                        mmt_error *err)
{
    struct mmt_profile *to = mmt_profile_create();
    mmt_status status = MMT_OK;
    if (!to) {
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a profile");
        return NULL;
    }
    to->caps = *caps;
    snprintf(to->made.version, sizeof to->made.version, "%s", mmt_version());
    mmt_profile_now(to->made.date);
    if (from) {
        to->made = from->made;
        to->roofline = from->roofline;
        status = copy_tuned(from, problems, to, err);
        if (!status)
            status = copy_models(from, problems, to, err);
    }
    if (!status)
        return to;
    mmt_profile_free(to);
    return NULL;
}

/* ---- targets ---------------------------------------------------------------------- */

static bool is_known(const struct mmt_bundle_goals *goals, const struct mmt_caps *caps)
{
    for (size_t i = 0; i < goals->count; i++)
        if (!strcmp(goals->list[i].profile->caps.name, caps->name) &&
            !strcmp(goals->list[i].profile->caps.architecture, caps->architecture))
            return true;
    return false;
}

static unsigned flags_of(const struct mmt_caps *caps)
{
    const size_t length = strlen(caps->architecture);
    if (caps->dialect == MMT_OPENCL_C)
        return MMT_BUNDLE_OPENCL;
    return (strncmp(caps->architecture, "compute_", 8) ? 0 : MMT_BUNDLE_PTX) |
           (length && caps->architecture[length - 1] == 'a' ? MMT_BUNDLE_ARCH_SPECIFIC
                                                            : 0);
}

/* `profile` may be NULL. */
static mmt_status add_goal(const struct mmt_bundle_options *options,
                           struct mmt_bundle_goals *goals, const char *device,
                           const struct mmt_caps *caps, const struct mmt_profile *profile,
                           mmt_error *err)
{
    struct mmt_bundle_goal goal = { .flags = flags_of(caps) };
    struct mmt_bundle_goal *grown =
        reallocarray(goals->list, goals->count + 1, sizeof *grown);
    if (!grown)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a target");
    goals->list = grown;
    if (is_known(goals, caps))
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "%s%s is named twice", caps->name,
                        *caps->name ? "" : caps->architecture);
    snprintf(goal.device, sizeof goal.device, "%s", device);
    snprintf(goal.compiler, sizeof goal.compiler, "%s", caps->compiler);
    mmt_status status = mmt_bundle_list(options, caps, profile, &goal.problems, err);
    if (!status) {
        goal.profile = copy_profile(profile, caps, &goal.problems, err);
        status = goal.profile ? MMT_OK : err->status;
    }
    if (!status)
        status = mmt_bundle_choose(goal.profile, &goal.problems, err);
    if (!status)
        status = mmt_bundle_collect(goal.profile, &goal.profile->caps, &goal.problems,
                                    &goal.needs, err);
    goals->list[goals->count++] = goal; /* freed with the others */
    return status;
}

/* A profile's limits, and what the compiler here makes for such a card. */
static struct mmt_caps caps_for(const struct mmt_profile *profile,
                                const struct mmt_caps *null)
{
    struct mmt_caps caps = profile ? profile->caps : *null;
    memcpy(caps.architecture, null->architecture, sizeof caps.architecture);
    memcpy(caps.compiler, null->compiler, sizeof caps.compiler);
    if (!profile) {
        memset(caps.name, 0, sizeof caps.name);
        snprintf(caps.backend, sizeof caps.backend, "cuda");
        snprintf(caps.vendor, sizeof caps.vendor, "NVIDIA");
    }
    return caps;
}

/* For an architecture that its compiler does not know the null device takes one near. */
static mmt_status check_arch(const char *arch, const struct mmt_caps *null,
                             mmt_error *err)
{
    const size_t length = strlen(arch);
    if (!strncmp(null->architecture, arch, length) &&
        (!null->architecture[length] || !strcmp(null->architecture + length, "a")))
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_ARGUMENT,
                    "%s does not compile for %s; the nearest that it has is %s",
                    null->compiler, arch, null->architecture);
}

/* An architecture: a target for each profile of such a card, or one for any card. */
static mmt_status add_arch(const struct mmt_bundle_options *options, const char *arch,
                           struct profiles *profiles, struct mmt_bundle_goals *goals,
                           mmt_error *err)
{
    char name[32];
    int taken = 0;
    mmt_status status = MMT_OK;
    snprintf(name, sizeof name, "null:%.24s", arch);
    mmt_device *device = mmt_device_open(name, err);
    if (!device)
        return err->status;
    const struct mmt_caps *null = mmt_device_caps(device);
    status = check_arch(arch, null, err);
    for (int i = 0; i < profiles->count && !status; i++) {
        const struct mmt_caps *of = &profiles->list[i]->caps;
        if (of->dialect != MMT_CUDA_CXX || of->sm != null->sm)
            continue;
        const struct mmt_caps caps = caps_for(profiles->list[i], null);
        status = add_goal(options, goals, device->id, &caps, profiles->list[i], err);
        profiles->used[i] = true;
        taken++;
    }
    const struct mmt_caps any = caps_for(NULL, null);
    if (!status && !taken)
        status = add_goal(options, goals, device->id, &any, NULL, err);
    mmt_device_close(device);
    return status;
}

/* Each architecture of the profiles, once. */
static mmt_status add_archs_of(const struct mmt_bundle_options *options,
                               struct profiles *profiles, struct mmt_bundle_goals *goals,
                               mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (int i = 0; i < profiles->count && !status; i++) {
        char arch[32];
        if (profiles->used[i] || profiles->list[i]->caps.dialect != MMT_CUDA_CXX)
            continue;
        snprintf(arch, sizeof arch, "sm_%d", profiles->list[i]->caps.sm);
        status = add_arch(options, arch, profiles, goals, err);
    }
    return status;
}

/* The device of this machine, by the profiles that are of it, or by its own. */
static mmt_status add_device(const struct mmt_bundle_options *options,
                             struct profiles *profiles, struct mmt_bundle_goals *goals,
                             mmt_error *err)
{
    char why[512];
    struct mmt_profile *own = NULL;
    const struct mmt_profile *profile = NULL;
    mmt_device *device = mmt_device_open(options->device ? options->device : "0", err);
    if (!device)
        return err->status;
    for (int i = 0; i < profiles->count && !profile; i++)
        if (!mmt_profile_foreign(profiles->list[i], mmt_device_caps(device), why)) {
            profile = profiles->list[i];
            profiles->used[i] = true;
        }
    if (!profile && !profiles->count)
        profile = own = mmt_profile_find(device, NULL);
    mmt_status status =
        add_goal(options, goals, device->id, mmt_device_caps(device), profile, err);
    mmt_profile_free(own);
    mmt_device_close(device);
    return status;
}

/* PTX for what is newer than the newest of machine code. What needs machine code of one
 * architecture, wgmma, is not among it. */
static mmt_status add_newer(const struct mmt_bundle_options *options,
                            struct mmt_bundle_goals *goals, mmt_error *err)
{
    const struct mmt_bundle_goal *newest = NULL;
    char name[32];
    for (size_t i = 0; i < goals->count; i++)
        if (!strncmp(goals->list[i].profile->caps.architecture, "sm_", 3) &&
            (!newest || goals->list[i].profile->caps.sm > newest->profile->caps.sm))
            newest = &goals->list[i];
    if (!newest)
        return MMT_OK;
    const struct mmt_profile *profile = newest->profile;
    snprintf(name, sizeof name, "null:compute_%d", profile->caps.sm);
    mmt_device *device = mmt_device_open(name, err);
    if (!device)
        return err->status;
    struct mmt_caps caps = caps_for(profile, mmt_device_caps(device));
    memset(caps.name, 0, sizeof caps.name);
    memset(caps.uuid, 0, sizeof caps.uuid);
    const mmt_status status = add_goal(options, goals, device->id, &caps, profile, err);
    mmt_device_close(device);
    return status;
}

mmt_status mmt_bundle_set_goals(const struct mmt_bundle_options *options,
                                struct mmt_bundle_goals *goals, mmt_error *err)
{
    struct profiles profiles = { 0 };
    mmt_status status = load_profiles(&options->profiles, &profiles, err);
    for (int i = 0; i < options->archs.count && !status; i++)
        status = add_arch(options, options->archs.each[i], &profiles, goals, err);
    if (!status && !options->archs.count && !options->device)
        status = add_archs_of(options, &profiles, goals, err);
    if (!status && (options->device || !goals->count))
        status = add_device(options, &profiles, goals, err);
    if (!status)
        status = check_used(&profiles, &options->profiles, err);
    if (!status)
        status = add_newer(options, goals, err);
    profiles_finish(&profiles);
    return status;
}

void mmt_bundle_goals_finish(struct mmt_bundle_goals *goals)
{
    for (size_t i = 0; i < goals->count; i++) {
        mmt_profile_free(goals->list[i].profile);
        free(goals->list[i].problems.list);
        mmt_bundle_needs_finish(&goals->list[i].needs);
    }
    free(goals->list);
    *goals = (struct mmt_bundle_goals){ 0 };
}
