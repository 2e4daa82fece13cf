/* A bundle's bytes. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/bundle/make.h"

/* A part and where its bytes are. */
struct piece {
    const void *bytes;
    size_t size;
    struct mmt_hash hash;
};

/* What is written, table by table. */
struct writing {
    const struct mmt_bundle_goals *goals;
    struct mmt_bundle_header header;
    struct piece *pieces; /* the manifest, a profile for each target, the binaries */
    struct mmt_bundle_target *targets;
    struct mmt_bundle_template *templates;
    struct mmt_bundle_kernel *kernels;
    unsigned *part_of; /* of each kernel */
    struct mmt_text manifest, *profiles;
};

static size_t count_kernels(const struct mmt_bundle_goals *goals)
{
    size_t count = 0;
    for (size_t i = 0; i < goals->count; i++)
        for (size_t j = 0; j < goals->list[i].needs.count; j++)
            count += mmt_bundle_has(&goals->list[i].needs.list[j]);
    return count;
}

static mmt_status allocate(struct writing *w, mmt_error *err)
{
    const size_t kernels = count_kernels(w->goals), targets = w->goals->count;
    size_t templates = 0;
    while (mmt_templates[templates])
        templates++;
    w->pieces = calloc(1 + targets + kernels, sizeof *w->pieces);
    w->targets = calloc(targets + 1, sizeof *w->targets);
    w->profiles = calloc(targets + 1, sizeof *w->profiles);
    w->templates = calloc(templates + 1, sizeof *w->templates);
    w->kernels = calloc(kernels + 1, sizeof *w->kernels);
    w->part_of = calloc(kernels + 1, sizeof *w->part_of);
    if (w->pieces && w->targets && w->profiles && w->templates && w->kernels &&
        w->part_of)
        return MMT_OK;
    return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a bundle");
}

static void finish(struct writing *w)
{
    for (size_t i = 0; w->profiles && i < w->goals->count; i++)
        mmt_text_finish(&w->profiles[i]);
    mmt_text_finish(&w->manifest);
    free(w->pieces);
    free(w->targets);
    free(w->profiles);
    free(w->templates);
    free(w->kernels);
    free(w->part_of);
}

/* ---- parts and rows -------------------------------------------------------------- */

static struct piece make_piece(const void *bytes, size_t size)
{
    return (struct piece){ bytes, size, mmt_hash_add(mmt_hash_start(), bytes, size) };
}

/* The part of these bytes, which two kernels may share. */
static unsigned add_piece(struct writing *w, const void *bytes, size_t size)
{
    const struct piece piece = make_piece(bytes, size);
    unsigned i = 1 + (unsigned) w->goals->count;
    while (i < w->header.num_parts &&
           (w->pieces[i].size != size || memcmp(w->pieces[i].bytes, bytes, size)))
        i++;
    if (i == w->header.num_parts)
        w->pieces[w->header.num_parts++] = piece;
    return i;
}

static mmt_status add_template(struct writing *w, const struct mmt_template *template,
                               unsigned *out, mmt_error *err)
{
    unsigned i = 0;
    while (i < w->header.num_templates &&
           strcmp(w->templates[i].name, mmt_template_key(template)))
        i++;
    *out = i;
    if (i < w->header.num_templates)
        return MMT_OK;
    w->header.num_templates++;
    snprintf(w->templates[i].name, sizeof w->templates[i].name, "%s",
             mmt_template_key(template));
    return mmt_template_hash(template, &w->templates[i].hash, err);
}

static mmt_status add_kernel(struct writing *w, const struct mmt_bundle_need *need,
                             mmt_error *err)
{
    struct mmt_bundle_kernel *kernel = &w->kernels[w->header.num_kernels];
    kernel->key = need->key;
    kernel->part = w->part_of[w->header.num_kernels++] =
        add_piece(w, need->binary.data, need->binary.size);
    return add_template(w, need->config.template, &kernel->template, err);
}

static mmt_status add_target(struct writing *w, size_t number, mmt_error *err)
{
    const struct mmt_bundle_goal *goal = &w->goals->list[number];
    struct mmt_bundle_target *target = &w->targets[number];
    mmt_status status = MMT_OK;

    *target = (struct mmt_bundle_target){ .sm = goal->profile->caps.sm,
                                          .flags = goal->flags,
                                          .profile = 1 + (unsigned) number,
                                          .first = w->header.num_kernels };
    for (size_t i = 0; i < goal->needs.count && !status; i++)
        if (mmt_bundle_has(&goal->needs.list[i]))
            status = add_kernel(w, &goal->needs.list[i], err);
    target->count = w->header.num_kernels - target->first;
    if (!status)
        status = mmt_profile_print(goal->profile, &w->profiles[number], err);
    if (!status)
        w->pieces[target->profile] =
            make_piece(w->profiles[number].data, w->profiles[number].length);
    return status;
}

/* ---- the file -------------------------------------------------------------------- */

static size_t align(size_t offset)
{
    return (offset + MMT_BUNDLE_ALIGN - 1) / MMT_BUNDLE_ALIGN * MMT_BUNDLE_ALIGN;
}

static void add_tables(const struct writing *w, struct mmt_text *out)
{
    size_t at = sizeof w->header + w->header.num_parts * sizeof(struct mmt_bundle_part) +
                w->header.num_targets * sizeof *w->targets +
                w->header.num_templates * sizeof *w->templates +
                w->header.num_kernels * sizeof *w->kernels;
    for (unsigned i = 0; i < w->header.num_parts; i++) {
        const struct mmt_bundle_part part = { align(at), w->pieces[i].size,
                                              w->pieces[i].hash };
        mmt_text_add_bytes(out, &part, sizeof part);
        at = part.offset + part.size;
    }
    mmt_text_add_bytes(out, w->targets, w->header.num_targets * sizeof *w->targets);
    mmt_text_add_bytes(out, w->templates, w->header.num_templates * sizeof *w->templates);
    mmt_text_add_bytes(out, w->kernels, w->header.num_kernels * sizeof *w->kernels);
}

static void add_parts(const struct writing *w, struct mmt_text *out)
{
    static const char zeros[MMT_BUNDLE_ALIGN];
    for (unsigned i = 0; i < w->header.num_parts; i++) {
        mmt_text_add_bytes(out, zeros, align(out->length) - out->length);
        mmt_text_add_bytes(out, w->pieces[i].bytes, w->pieces[i].size);
    }
}

/* The header at last: it has the size of all and the hash of the tables. */
static mmt_status add_file(struct writing *w, struct mmt_text *out, mmt_error *err)
{
    mmt_text_add_bytes(out, &w->header, sizeof w->header);
    add_tables(w, out);
    const size_t tables = out->length;
    add_parts(w, out);
    if (out->failed)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a bundle");
    w->header.size = out->length;
    struct mmt_hash hash = mmt_hash_start();
    hash = mmt_hash_add(hash, &w->header, offsetof(struct mmt_bundle_header, hash));
    w->header.hash =
        mmt_hash_add(hash, out->data + sizeof w->header, tables - sizeof w->header);
    memcpy(out->data, &w->header, sizeof w->header);
    return MMT_OK;
}

mmt_status mmt_bundle_print(const struct mmt_bundle_goals *goals, struct mmt_text *out,
                            mmt_error *err)
{
    struct writing w = { .goals = goals };
    w.header = (struct mmt_bundle_header){ .format = MMT_BUNDLE_FORMAT,
                                           .order = MMT_BUNDLE_ORDER,
                                           .num_parts = 1 + (unsigned) goals->count,
                                           .num_targets = (unsigned) goals->count };
    memcpy(w.header.magic, MMT_BUNDLE_MAGIC, sizeof w.header.magic);
    snprintf(w.header.version, sizeof w.header.version, "%s", mmt_version());
    mmt_status status = allocate(&w, err);
    for (size_t i = 0; i < goals->count && !status; i++)
        status = add_target(&w, i, err);
    if (!status)
        status = mmt_bundle_print_manifest(goals, w.part_of, &w.manifest, err);
    if (!status) {
        w.pieces[0] = make_piece(w.manifest.data, w.manifest.length);
        status = add_file(&w, out, err);
    }
    finish(&w);
    return status;
}

/* ---- as C ------------------------------------------------------------------------ */

/* "app" from "build/app.c": a name of C. */
static void name_array(const char *path, char name[64])
{
    const char *begin = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t length = 0;
    if (isdigit((unsigned char) *begin))
        name[length++] = '_';
    for (; *begin && *begin != '.' && length < 63; begin++)
        name[length++] = isalnum((unsigned char) *begin) ? *begin : '_';
    name[length] = 0;
}

void mmt_bundle_print_array(const struct mmt_text *bundle, const char *path,
                            struct mmt_text *out)
{
    char name[64];
    name_array(path, name);
    mmt_text_addf(out,
                  "/* Made by `mmtune bundle`, mmtune %s. A program uses it so:\n"
                  " *     extern const uint64_t %s[];\n"
                  " *     extern const size_t %s_size; // bytes\n"
                  " *     mmt_profile_parse((const char *) %s, %s_size, &err)\n"
                  " */\n"
                  "#include <stddef.h>\n#include <stdint.h>\n\n"
                  "extern const uint64_t %s[];\nextern const size_t %s_size;\n\n"
                  "const size_t %s_size = %zu;\n"
                  "const uint64_t %s[] = {",
                  mmt_version(), name, name, name, name, name, name, name, bundle->length,
                  name);
    for (size_t at = 0; at < bundle->length; at += 8) {
        uint64_t word = 0;
        const size_t left = bundle->length - at;
        memcpy(&word, bundle->data + at, left < 8 ? left : 8);
        mmt_text_addf(out, "%s0x%" PRIx64 ",", at % 40 ? " " : "\n    ", word);
    }
    mmt_text_add(out, "\n};\n");
}
