/* mmtune profiles */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "runtime/runtime.h"
#include "tuner/common/options.h"

static const char about[] =
    "usage: mmtune profiles [--json]\n\n"
    "Lists the profiles that are found where programs look: the user's folder, those of\n"
    "MMTUNE_PROFILE_PATH, of XDG_DATA_DIRS, and what was installed with mmtune. Says of\n"
    "each for which card, by which version and when it was made, and for which devices "
    "of\n"
    "this machine a program would use it.\n";

/* A device of this machine, and what a program has for it; NULL: nothing. */
struct served {
    const struct mmt_device_info *info;
    struct mmt_profile *profile;
};

struct listing {
    struct served *devices;
    size_t count;
    json_t *files; /* an object each */
};

/* ---- what is used ------------------------------------------------------------------ */

/* A layer has the end of a path that is too long for it. */
static bool is_path(const struct mmt_layer *layer, const char *path)
{
    const size_t length = strlen(path), own = strlen(layer->path);
    return own && length >= own && !strcmp(path + length - own, layer->path);
}

/* How a program on the device uses that layer. */
static const char *use_of(const struct mmt_layer *layer, const struct mmt_caps *caps)
{
    static char why[512];
    const char *other = mmt_caps_other_card(&layer->caps, caps);
    if (caps->kind == MMT_GPU && mmt_caps_foreign(&layer->caps, caps, why))
        return "models alone, as it is of another card of this architecture";
    return layer->own ? "measured on this very device"
           : other    ? other
                      : "a device of this kind";
}

static json_t *uses_json(const struct listing *listing, const char *path)
{
    json_t *uses = json_array();
    for (size_t i = 0; i < listing->count; i++) {
        const struct served *device = &listing->devices[i];
        const size_t layers = device->profile ? device->profile->num_layers : 0;
        for (size_t j = 0; j < layers; j++)
            if (is_path(&device->profile->layers[j], path))
                json_array_append_new(
                    uses,
                    json_pack("{s:s, s:I, s:s}", "device", device->info->id, "layer",
                              (json_int_t) j + 1, "as",
                              use_of(&device->profile->layers[j], &device->info->caps)));
    }
    return uses;
}

/* ---- what is there ----------------------------------------------------------------- */

static json_t *profile_json(const struct mmt_profile *profile)
{
    const struct mmt_caps *caps = &profile->caps;
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:I, s:I, s:I}", "device", caps->name,
        "backend", caps->backend, "architecture", caps->architecture, "multiprocessors",
        (json_int_t) caps->sms, "memory", (json_int_t) caps->memory, "uuid", caps->uuid,
        "version", profile->made.version, "date", profile->made.date, "entries",
        (json_int_t) profile->num_entries, "models", (json_int_t) profile->num_models,
        "verdicts", (json_int_t) profile->num_verdicts);
}

static void add_file(void *self, const char *path)
{
    struct listing *listing = self;
    mmt_error err = { 0 };
    struct mmt_profile *profile = mmt_profile_load_plain(path, &err);
    json_t *file =
        profile ? profile_json(profile) : json_pack("{s:s}", "unusable", err.text);
    json_object_set_new(file, "path", json_string(path));
    json_object_set_new(file, "used", uses_json(listing, path));
    json_array_append_new(listing->files, file);
    mmt_profile_free(profile);
}

/* ---- printing ---------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static long long count_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void print_file(const json_t *file)
{
    const json_t *use, *uses = json_object_get(file, "used");
    size_t i;
    printf("%s\n", text_of(file, "path"));
    if (json_object_get(file, "unusable")) {
        printf("  %s\n", text_of(file, "unusable"));
        return;
    }
    printf("  %s (%s, %s), %lld multiprocessors, %.0f GiB; made by mmtune %s on %s\n",
           text_of(file, "device"), text_of(file, "backend"),
           text_of(file, "architecture"), count_of(file, "multiprocessors"),
           (double) count_of(file, "memory") / (1 << 30), text_of(file, "version"),
           text_of(file, "date"));
    printf("  %lld problems, %lld models of other shapes, %lld verdicts\n",
           count_of(file, "entries"), count_of(file, "models"),
           count_of(file, "verdicts"));
    json_array_foreach(uses, i, use)
        printf("  used for %s, layer %lld: %s\n", text_of(use, "device"),
               count_of(use, "layer"), text_of(use, "as"));
    if (!json_array_size(uses))
        printf("  used for no device of this machine\n");
}

static void print_unserved(const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        if (!listing->devices[i].profile)
            printf("%s, %s: there is no profile; `mmtune --device %s` makes one\n",
                   listing->devices[i].info->id, listing->devices[i].info->caps.name,
                   listing->devices[i].info->id);
}

static void print_listing(const struct listing *listing, bool json)
{
    const json_t *file;
    size_t i;
    if (json) {
        json_dumpf(listing->files, stdout, JSON_INDENT(2));
        printf("\n");
        return;
    }
    json_array_foreach(listing->files, i, file) print_file(file);
    print_unserved(listing);
}

static mmt_status list_profiles(bool json, mmt_error *err)
{
    struct mmt_device_info *devices = NULL;
    struct listing listing = { .files = json_array() };
    mmt_status status = mmt_device_list(&devices, &listing.count, NULL, err);
    if (!status)
        listing.devices = calloc(listing.count + 1, sizeof *listing.devices);
    if (!status && !listing.devices)
        status = mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a list of devices");
    for (size_t i = 0; i < listing.count && !status; i++)
        listing.devices[i] =
            (struct served){ &devices[i], mmt_profile_find_for(&devices[i].caps,
                                                               devices[i].id, NULL) };
    if (!status)
        status = mmt_profile_visit(add_file, &listing, err);
    if (!status)
        print_listing(&listing, json);
    for (size_t i = 0; listing.devices && i < listing.count; i++)
        mmt_profile_free(listing.devices[i].profile);
    free(listing.devices);
    free(devices);
    json_decref(listing.files);
    return status;
}

int mmt_verb_profiles(int argc, char **argv)
{
    bool json = false;
    const struct mmt_take takes[] = { { .option = MMT_OPTION_JSON, .out = &json } };
    const struct mmt_command command = { argv[0], about, MMT_TAKES(takes), 0 };
    const int code = mmt_command_read(&command, argc, argv);
    mmt_error err = { 0 };
    if (code >= 0)
        return code;
    return list_profiles(json, &err) ? mmt_failed(argv[0], &err) : MMT_EXIT_DONE;
}
