/* mmtune show, of a bundle: what its manifest says, once every part was found whole. */
#include "tuner/report/bundle.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}

static double kib_of(const json_t *kernel)
{
    return (double) json_integer_value(json_object_get(kernel, "bytes")) / 1024;
}

static void print_target(const json_t *target)
{
    const json_t *kernels = json_object_get(target, "kernels"),
                 *problems = json_object_get(target, "problems");
    const char *device = word_of(target, "device"), *driver = word_of(target, "driver");
    double kib = 0;
    for (size_t i = 0; i < json_array_size(kernels); i++)
        kib += kib_of(json_array_get(kernels, i));
    printf("\n%s, for %s%s%s: %zu problems, %zu kernels (%s, by %s), %.0f KiB\n",
           word_of(target, "architecture"),
           *device                                      ? device
           : strcmp(word_of(target, "binaries"), "PTX") ? "any such card"
                                                        : "any such card or a newer one",
           *driver ? ", driver " : "", driver, json_array_size(problems),
           json_array_size(kernels), word_of(target, "binaries"),
           word_of(target, "compiler"), kib);
    for (size_t i = 0; i < json_array_size(problems); i++)
        printf("  %s\n", json_string_value(json_array_get(problems, i)));
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *kernel = json_array_get(kernels, i);
        printf("  %6.1f KiB  %.8s  %s, %s: %s\n", kib_of(kernel), word_of(kernel, "hash"),
               word_of(kernel, "of"), word_of(kernel, "operands"),
               word_of(kernel, "configuration"));
    }
}

static void print_people(const struct mmt_bundle *bundle, const json_t *manifest)
{
    const struct mmt_bundle_header *header = mmt_bundle_header(bundle);
    const json_t *targets = json_object_get(manifest, "targets");
    struct mmt_text changed = { 0 };
    char hash[33];
    mmt_hash_print(header->hash, hash);
    printf("a bundle of %.0f KiB, made by mmtune %s on %s\n  hash %s\n",
           (double) header->size / 1024, word_of(manifest, "mmtune"),
           word_of(manifest, "date"), hash);
    mmt_bundle_print_changed(bundle, &changed);
    printf("%s", mmt_text_string(&changed));
    for (size_t i = 0; i < json_array_size(targets); i++)
        print_target(json_array_get(targets, i));
    mmt_text_finish(&changed);
}

mmt_status mmt_bundle_show(const struct mmt_bundle *bundle, bool json, mmt_error *err)
{
    void *text = NULL;
    size_t size;
    json_t *manifest = NULL;
    mmt_status status = mmt_bundle_check(bundle, err);
    if (!status)
        status = mmt_bundle_part(bundle, 0, &text, &size, err);
    if (status)
        return status;
    if (json)
        fwrite(text, 1, size, stdout); /* main tells where that fails */
    else if ((manifest = json_loadb(text, size, 0, NULL)))
        print_people(bundle, manifest);
    else
        status = mmt_fail(err, MMT_ERROR_FORMAT, "the bundle's manifest is no JSON");
    json_decref(manifest);
    free(text);
    return status;
}
