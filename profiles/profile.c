/* Holds a profile in memory: entries, ranges and models to add, replace and free, and the
 * name of its file. */
#include "profiles/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"

const char *mmt_profile_warnings(const mmt_profile *profile)
{
    return profile ? mmt_text_string(&profile->warnings) : "";
}

size_t mmt_profile_files(const mmt_profile *profile, char *text, size_t size)
{
    size_t length = 0;
    if (text && size)
        *text = '\0';
    for (size_t i = 0; profile && i < profile->num_layers; i++) {
        const char *path = profile->layers[i].path;
        if (*path && text && length < size)
            snprintf(text + length, size - length, "%s\n", path);
        length += *path ? strlen(path) + 1 : 0;
    }
    return length;
}

/* The array doubles whenever its count is a power of two. */
mmt_status mmt_profile_append(void *array, size_t *count, const void *item, size_t size,
                              mmt_error *err)
{
    char *room;
    memcpy(&room, array, sizeof room);
    if (!(*count & (*count - 1)))
        room = reallocarray(room, *count ? 2 * *count : 1, size);
    if (!room)
        return mmt_fail(err, MMT_ERROR_MEMORY, "out of memory adding to a profile");
    memcpy(room + *count * size, item, size);
    memcpy(array, &room, sizeof room);
    ++*count;
    return MMT_OK;
}

mmt_status mmt_profile_add_entry(struct mmt_profile *profile,
                                 const struct mmt_entry *entry, mmt_error *err)
{
    return mmt_profile_append(&profile->entries, &profile->num_entries, entry,
                              sizeof *entry, err);
}

void mmt_profile_remove_entries(struct mmt_profile *profile, const mmt_problem *problem,
                                const char *source)
{
    size_t left = 0;
    for (size_t i = 0; i < profile->num_entries; i++)
        if (strcmp(profile->entries[i].source, source) ||
            !mmt_problem_equal(&profile->entries[i].problem, problem))
            profile->entries[left++] = profile->entries[i];
    profile->num_entries = left;
}

mmt_status mmt_profile_replace_entry(struct mmt_profile *profile,
                                     const struct mmt_entry *entry, mmt_error *err)
{
    mmt_profile_remove_entries(profile, &entry->problem, entry->source);
    return mmt_profile_add_entry(profile, entry, err);
}

mmt_status mmt_profile_add_range(struct mmt_profile *profile,
                                 const struct mmt_range *range, mmt_error *err)
{
    return mmt_profile_append(&profile->ranges, &profile->num_ranges, range,
                              sizeof *range, err);
}

mmt_status mmt_profile_add_unlisted(struct mmt_profile *profile,
                                    const struct mmt_unlisted_kernel *kernel,
                                    mmt_error *err)
{
    return mmt_profile_append(&profile->unlisted, &profile->num_unlisted, kernel,
                              sizeof *kernel, err);
}

mmt_status mmt_profile_add_model(struct mmt_profile *profile,
                                 const struct mmt_model *model, mmt_error *err)
{
    return mmt_profile_append(&profile->models, &profile->num_models, model,
                              sizeof *model, err);
}

mmt_status mmt_profile_add_pruning(struct mmt_profile *profile,
                                   const struct mmt_pruning *pruning, mmt_error *err)
{
    return mmt_profile_append(&profile->pruning, &profile->num_pruning, pruning,
                              sizeof *pruning, err);
}

void mmt_profile_now(char date[32])
{
    const time_t now = time(NULL);
    struct tm utc;
    strftime(date, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* Runs of what is neither letter, digit, point nor underscore become one '-'. */
static void add_file_name(const char *name, struct mmt_text *path)
{
    bool begun = false, gap = false;
    for (const char *c = name; *c; c++) {
        bool plain = mmt_text_is_alnum(*c) || *c == '.' || *c == '_';
        if (plain && gap)
            mmt_text_add(path, "-");
        if (plain)
            mmt_text_addf(path, "%c", mmt_text_lower(*c));
        begun |= plain;
        gap = begun && !plain;
    }
}

void mmt_profile_stem(const struct mmt_caps *caps, struct mmt_text *stem)
{
    add_file_name(caps->backend, stem);
    mmt_text_add(stem, "-");
    add_file_name(caps->name, stem);
}

void mmt_profile_path(const struct mmt_caps *caps, struct mmt_text *path)
{
    mmt_file_data_folder(path);
    mmt_text_add(path, "/");
    mmt_profile_stem(caps, path);
    mmt_text_add(path, ".json");
}

/* Drivers and firmware keep a little of a GPU's memory; a CPU's is the host's. */
static bool is_other_memory(const struct mmt_caps *a, const struct mmt_caps *b)
{
    const size_t more = a->memory > b->memory ? a->memory : b->memory;
    const size_t less = a->memory > b->memory ? b->memory : a->memory;
    return a->kind == MMT_GPU && less && more - less > more / 8;
}

const char *mmt_caps_differ(const struct mmt_caps *made_on, const struct mmt_caps *caps,
                            char buffer[512])
{
    if (made_on->sms && caps->sms && made_on->sms != caps->sms) {
        snprintf(buffer, 512,
                 "the profile was made on a device with %u multiprocessors, and this one "
                 "has %u",
                 made_on->sms, caps->sms);
        return buffer;
    }
    if (is_other_memory(made_on, caps)) {
        mmt_text_print(
            buffer, 512,
            "the profile was made on a device with %.1f GiB of memory, and this one "
            "has %.1f GiB",
            (double) made_on->memory / (1 << 30), (double) caps->memory / (1 << 30));
        return buffer;
    }
    return NULL;
}

const char *mmt_caps_foreign(const struct mmt_caps *made_on, const struct mmt_caps *caps,
                             char buffer[512])
{
    const char *const pairs[][3] = {
        { "backend", made_on->backend, caps->backend },
        { "device", made_on->name, caps->name },
        { "architecture", made_on->architecture, caps->architecture },
    };
    for (int i = 0; i < 3; i++) {
        if (strcmp(pairs[i][1], pairs[i][2]) == 0)
            continue;
        snprintf(buffer, 512, "the profile was made on %s '%s', and this one is '%s'",
                 pairs[i][0], pairs[i][1], pairs[i][2]);
        return buffer;
    }
    return mmt_caps_differ(made_on, caps, buffer);
}
