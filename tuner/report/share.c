/* mmtune share */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "tuner/common/options.h"
#include "tuner/report/rows.h"

static const char about[] =
    "usage: mmtune share PROFILE.json -o FILE\n\n"
    "Writes a profile as a file to send to others: without the card's UUID, without\n"
    "verdicts on programs' calls and without what was tried from other profiles. It "
    "names\n"
    "no person, host or path. Its first line has a hash of the rest, which\n"
    "tools/add_profile.py checks.\n";

/* What says more than how fast the kind of card is. */
static void leave_private_out(struct mmt_profile *profile)
{
    size_t left = 0;
    memset(profile->caps.uuid, 0, sizeof profile->caps.uuid);
    profile->num_verdicts = 0;
    for (size_t i = 0; i < profile->num_entries; i++)
        if (!profile->entries[i].source[0])
            profile->entries[left++] = profile->entries[i];
    profile->num_entries = left;
}

static mmt_status check_sharable(const struct mmt_profile *profile, mmt_error *err)
{
    if (profile->citation[0])
        return mmt_fail(err, MMT_ERROR_ARGUMENT, "it is a paper's profile, not a card's");
    if (!profile->num_entries && !profile->num_models)
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "the profile has no kernel that was timed");
    return MMT_OK;
}

static mmt_status write_shared(const struct mmt_profile *profile, const char *out,
                               mmt_error *err)
{
    struct mmt_text body = { 0 }, file = { 0 };
    char check[33];
    mmt_status status = mmt_profile_print(profile, &body, err);
    if (!status) {
        mmt_hash_print(mmt_hash_add(mmt_hash_start(), body.data, body.length), check);
        mmt_text_addf(&file, "{\"mmtune_share\": 1, \"bytes\": %zu, \"check\": \"%s\"}\n",
                      body.length, check);
        mmt_text_add(&file, mmt_text_string(&body));
        status = file.failed ? mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a file")
                             : mmt_file_replace(out, file.data, file.length, err);
    }
    mmt_text_finish(&body);
    mmt_text_finish(&file);
    return status;
}

static int share(const char *verb, const char *path, const char *out)
{
    mmt_error err = { 0 };
    struct mmt_profile *profile = mmt_profile_of(path, NULL, &err);
    mmt_status status = profile ? MMT_OK : err.status;
    if (!status) {
        leave_private_out(profile);
        status = check_sharable(profile, &err);
    }
    if (!status)
        status = write_shared(profile, out, &err);
    if (!status)
        printf("%s: %s, %zu problems, %zu models; CONTRIBUTING.md says how to send it\n",
               out, profile->caps.name, profile->num_entries, profile->num_models);
    mmt_profile_free(profile);
    return status ? mmt_failed_or_usage(verb, &err) : MMT_EXIT_DONE;
}

int mmt_verb_share(int argc, char **argv)
{
    const char *out = NULL;
    const struct mmt_take takes[] = {
        { .option = MMT_OPTION_OUTPUT, .out = &out, .what = "the file to send" },
    };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 1 };
    const int code = mmt_command_read(&command, argc, argv);
    if (code >= 0)
        return code;
    if (!out || optind == argc)
        return mmt_wrong_usage(argv[0], "it must be PROFILE.json and -o FILE");
    return share(argv[0], argv[optind], out);
}
