/* A bundle's header, tables and parts. Whatever they say is checked before it is used:
 * a file may be damaged anywhere, and another process may write into it at any time. So
 * nothing of a file is believed but copies of it that were found right. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle.h"

struct mmt_bundle {
    const char *bytes; /* NULL: a file, which fd reads */
    int fd;            /* -1: none */
    size_t size;
    void *copy; /* of a file: its header and tables */
    const struct mmt_bundle_header *header;
    const struct mmt_bundle_part *parts;
    const struct mmt_bundle_target *targets;
    const struct mmt_bundle_template *templates;
    const struct mmt_bundle_kernel *kernels;
    bool *usable; /* of each template: it is the library's own */
};

/* Tables of 64-bit numbers follow each other without a gap. */
_Static_assert(sizeof(struct mmt_bundle_header) == 88 &&
                   sizeof(struct mmt_bundle_part) == 32 &&
                   sizeof(struct mmt_bundle_target) == 24 &&
                   sizeof(struct mmt_bundle_template) == 48 &&
                   sizeof(struct mmt_bundle_kernel) == 24,
               "the file is the same everywhere");

/* The magic's first bytes name the format; those after them, line ends, are the first to
 * change where a file is carried as text. No JSON begins with any of them. */
enum { NAMED = 4 };

bool mmt_bundle_is(const void *bytes, size_t size)
{
    return size && !memcmp(bytes, MMT_BUNDLE_MAGIC, size < NAMED ? size : NAMED);
}

/* ---- checking -------------------------------------------------------------------- */

static mmt_status fail_damaged(mmt_error *err, const char *what)
{
    return mmt_fail(err, MMT_ERROR_FORMAT,
                    "the bundle is damaged: %s; make it anew with `mmtune bundle`", what);
}

/* Bytes of the tables; 0: a count is out of all reason. */
static size_t size_of_tables(const struct mmt_bundle_header *header)
{
    if (header->num_parts > MMT_BUNDLE_MOST || header->num_kernels > MMT_BUNDLE_MOST ||
        header->num_targets > MMT_BUNDLE_MOST_TARGETS ||
        header->num_templates > MMT_BUNDLE_MOST_TEMPLATES)
        return 0;
    return header->num_parts * sizeof(struct mmt_bundle_part) +
           header->num_targets * sizeof(struct mmt_bundle_target) +
           header->num_templates * sizeof(struct mmt_bundle_template) +
           header->num_kernels * sizeof(struct mmt_bundle_kernel);
}

static mmt_status check_header(const struct mmt_bundle_header *header, size_t size,
                               mmt_error *err)
{
    if (memcmp(header->magic, MMT_BUNDLE_MAGIC, sizeof header->magic))
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the bundle is damaged in its first bytes, as a copy that was "
                        "made as text is; copy it again as binary");
    if (header->order != MMT_BUNDLE_ORDER)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the bundle was made on a machine of another byte order");
    if (header->format != MMT_BUNDLE_FORMAT)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the bundle's format is %u; this mmtune reads format %d",
                        header->format, MMT_BUNDLE_FORMAT);
    if (header->size != size)
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the bundle is damaged: it has %zu bytes, and says %llu", size,
                        (unsigned long long) header->size);
    if (!memchr(header->version, 0, sizeof header->version))
        return fail_damaged(err, "its version does not end");
    if (strcmp(header->version, mmt_version()))
        return mmt_fail(err, MMT_ERROR_FORMAT,
                        "the bundle was made by mmtune %.31s, and this is %s, whose "
                        "kernels may differ; make it anew with `mmtune bundle`",
                        header->version, mmt_version());
    const size_t tables = size_of_tables(header);
    if (!tables || tables > size - sizeof *header)
        return fail_damaged(err, "its tables are longer than the file");
    return MMT_OK;
}

static int compare_keys(struct mmt_hash a, struct mmt_hash b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

static bool parts_are_whole(const struct mmt_bundle *bundle, size_t tables)
{
    const size_t first = sizeof *bundle->header + tables;
    for (unsigned i = 0; i < bundle->header->num_parts; i++) {
        const struct mmt_bundle_part *part = &bundle->parts[i];
        if (part->offset < first || part->offset % MMT_BUNDLE_ALIGN ||
            part->offset > bundle->size || part->size > bundle->size - part->offset)
            return false;
    }
    return bundle->header->num_parts > 0;
}

/* `first`: behind the kernels of the targets before it. */
static bool target_is_whole(const struct mmt_bundle *bundle,
                            const struct mmt_bundle_target *target, unsigned first)
{
    const struct mmt_bundle_header *header = bundle->header;
    if (target->profile >= header->num_parts || target->first != first ||
        target->count > header->num_kernels - first)
        return false;
    for (unsigned i = 1; i < target->count; i++)
        if (compare_keys(bundle->kernels[target->first + i - 1].key,
                         bundle->kernels[target->first + i].key) >= 0)
            return false;
    return true;
}

static bool rows_are_whole(const struct mmt_bundle *bundle)
{
    const struct mmt_bundle_header *header = bundle->header;
    unsigned first = 0;
    for (unsigned i = 0; i < header->num_kernels; i++)
        if (bundle->kernels[i].part >= header->num_parts ||
            bundle->kernels[i].template >= header->num_templates)
            return false;
    for (unsigned i = 0; i < header->num_templates; i++)
        if (!memchr(bundle->templates[i].name, 0, sizeof bundle->templates[i].name))
            return false;
    for (unsigned i = 0; i < header->num_targets; first += bundle->targets[i++].count)
        if (!target_is_whole(bundle, &bundle->targets[i], first))
            return false;
    return header->num_targets > 0 && first == header->num_kernels;
}

static struct mmt_hash hash_tables(const struct mmt_bundle_header *header, size_t tables)
{
    const size_t before = offsetof(struct mmt_bundle_header, hash);
    return mmt_hash_add(mmt_hash_add(mmt_hash_start(), header, before), header + 1,
                        tables);
}

static mmt_status check_tables(struct mmt_bundle *bundle, mmt_error *err)
{
    const struct mmt_bundle_header *header = bundle->header;
    const size_t tables = size_of_tables(header);
    if (compare_keys(header->hash, hash_tables(header, tables)))
        return fail_damaged(err, "its tables have another hash");
    bundle->parts = (const void *) (header + 1);
    bundle->targets = (const void *) (bundle->parts + header->num_parts);
    bundle->templates = (const void *) (bundle->targets + header->num_targets);
    bundle->kernels = (const void *) (bundle->templates + header->num_templates);
    if (!parts_are_whole(bundle, tables) || !rows_are_whole(bundle))
        return fail_damaged(err, "its tables point outside");
    return MMT_OK;
}

/* Kernels of a template that has changed may take other arguments. */
static mmt_status compare_templates(struct mmt_bundle *bundle, mmt_error *err)
{
    const unsigned count = bundle->header->num_templates;
    bundle->usable = calloc(count + 1, sizeof *bundle->usable);
    if (!bundle->usable)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a bundle");
    for (unsigned i = 0; i < count; i++) {
        const struct mmt_template *template =
            mmt_template_find(bundle->templates[i].name);
        struct mmt_hash now;
        bundle->usable[i] = template && !mmt_template_hash(template, &now, NULL) &&
                            !compare_keys(now, bundle->templates[i].hash);
    }
    return MMT_OK;
}

/* ---- opening --------------------------------------------------------------------- */

static void release(struct mmt_bundle *bundle)
{
    if (bundle->fd >= 0)
        close(bundle->fd);
    free(bundle->copy);
    free(bundle->usable);
}

/* Takes over what `like` holds, also where it fails. The tables stand behind its header,
 * which has been checked. */
static mmt_status open_checked(struct mmt_bundle *like, struct mmt_bundle **out,
                               mmt_error *err)
{
    mmt_status status = check_tables(like, err);
    if (!status)
        status = compare_templates(like, err);
    struct mmt_bundle *bundle = status ? NULL : malloc(sizeof *bundle);
    if (bundle) {
        *bundle = *like;
        *out = bundle;
        return MMT_OK;
    }
    release(like);
    return status ? status
                  : mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a bundle");
}

mmt_status mmt_bundle_open(const void *bytes, size_t size, struct mmt_bundle **out,
                           mmt_error *err)
{
    struct mmt_bundle like = { .bytes = bytes, .fd = -1, .size = size, .header = bytes };
    if (!mmt_bundle_is(bytes, size) || size < sizeof(struct mmt_bundle_header))
        return fail_damaged(err, "it is shorter than its header");
    if ((uintptr_t) bytes % sizeof(uint64_t))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "the bundle begins at address %p; it must be a multiple of 8",
                        bytes);
    mmt_status status = check_header(like.header, size, err);
    return status ? status : open_checked(&like, out, err);
}

/* False where the file ends before, or cannot be read. */
static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got =
            pread(fd, (char *) to + done, size - done, (off_t) (offset + done));
        if (got <= 0 && (!got || errno != EINTR))
            return false;
        done += got > 0 ? (size_t) got : 0;
    }
    return true;
}

/* The header and, behind it, the tables; malloc'ed. *out stays NULL, with MMT_OK, where
 * the file is no bundle. */
static mmt_status read_head(int fd, size_t size, void **out, mmt_error *err)
{
    struct mmt_bundle_header header = { 0 };
    const size_t first = size < sizeof header ? size : sizeof header;
    if (!read_at(fd, 0, &header, first) || !mmt_bundle_is(&header, first))
        return MMT_OK;
    if (first < sizeof header)
        return fail_damaged(err, "it is shorter than its header");
    mmt_status status = check_header(&header, size, err);
    if (status)
        return status;
    const size_t tables = size_of_tables(&header);
    char *head = *out = malloc(sizeof header + tables);
    if (!head)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for a bundle");
    memcpy(head, &header, sizeof header);
    return read_at(fd, sizeof header, head + sizeof header, tables)
               ? MMT_OK
               : fail_damaged(err, "it is shorter than its tables");
}

/* What cannot be opened is said by whoever reads it as JSON. */
mmt_status mmt_bundle_load(const char *path, struct mmt_bundle **out, mmt_error *err)
{
    struct mmt_bundle like = { .fd = open(path,
                                          O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) };
    struct stat file;
    mmt_status status = MMT_OK;

    *out = NULL;
    if (like.fd >= 0 && !fstat(like.fd, &file) && S_ISREG(file.st_mode)) {
        like.size = (size_t) file.st_size;
        status = read_head(like.fd, like.size, &like.copy, err);
    }
    like.header = like.copy;
    if (!status && like.copy)
        return open_checked(&like, out, err);
    release(&like);
    return status;
}

void mmt_bundle_close(struct mmt_bundle *bundle)
{
    if (bundle)
        release(bundle);
    free(bundle);
}

/* ---- what it says ---------------------------------------------------------------- */

const struct mmt_bundle_header *mmt_bundle_header(const struct mmt_bundle *bundle)
{
    return bundle->header;
}

const struct mmt_bundle_target *mmt_bundle_target(const struct mmt_bundle *bundle,
                                                  unsigned number)
{
    return &bundle->targets[number];
}

mmt_status mmt_bundle_part(const struct mmt_bundle *bundle, unsigned number, void **out,
                           size_t *size, mmt_error *err)
{
    const struct mmt_bundle_part *part = &bundle->parts[number];
    *size = (size_t) part->size;
    *out = malloc(*size + 1);
    if (!*out)
        return mmt_fail(err, MMT_ERROR_MEMORY, "no memory left for %zu bytes of a bundle",
                        *size);
    if (bundle->bytes)
        memcpy(*out, bundle->bytes + part->offset, *size);
    if ((bundle->bytes || read_at(bundle->fd, part->offset, *out, *size)) &&
        !compare_keys(mmt_hash_add(mmt_hash_start(), *out, *size), part->hash))
        return MMT_OK;
    free(*out);
    *out = NULL;
    return mmt_fail(err, MMT_ERROR_FORMAT,
                    "the bundle is damaged: its part %u, %zu bytes at %llu, has another "
                    "hash; a file must not be written into while it is loaded",
                    number, *size, (unsigned long long) part->offset);
}

mmt_status mmt_bundle_check(const struct mmt_bundle *bundle, mmt_error *err)
{
    mmt_status status = MMT_OK;
    for (unsigned i = 0; i < bundle->header->num_parts && !status; i++) {
        void *part;
        size_t size;
        status = mmt_bundle_part(bundle, i, &part, &size, err);
        free(part);
    }
    return status;
}

static unsigned count_of_template(const struct mmt_bundle *bundle, unsigned template)
{
    unsigned count = 0;
    for (unsigned i = 0; i < bundle->header->num_kernels; i++)
        count += bundle->kernels[i].template == template;
    return count;
}

void mmt_bundle_print_changed(const struct mmt_bundle *bundle, struct mmt_text *text)
{
    for (unsigned i = 0; i < bundle->header->num_templates; i++)
        if (!bundle->usable[i])
            mmt_text_addf(text,
                          "template %s has changed since the bundle was made, whose %u "
                          "binaries of it are passed over; make it anew\n",
                          bundle->templates[i].name, count_of_template(bundle, i));
}

/* ---- what is inside -------------------------------------------------------------- */

bool mmt_bundle_runs(const struct mmt_bundle_target *target,
                     const struct mmt_caps *made_on, const struct mmt_caps *caps)
{
    if (target->flags & MMT_BUNDLE_OPENCL)
        return caps->dialect == MMT_OPENCL_C && !strcmp(made_on->name, caps->name) &&
               !strcmp(made_on->driver, caps->driver) &&
               !strcmp(made_on->compiler, caps->compiler);
    if (caps->dialect != MMT_CUDA_CXX)
        return false;
    if (target->flags & MMT_BUNDLE_ARCH_SPECIFIC)
        return target->sm == caps->sm;
    if (target->flags & MMT_BUNDLE_PTX)
        return target->sm <= caps->sm;
    return target->sm / 10 == caps->sm / 10 && target->sm <= caps->sm;
}

int mmt_bundle_find(const struct mmt_bundled *in, struct mmt_hash key)
{
    const struct mmt_bundle *bundle = in->bundle;
    const struct mmt_bundle_target *target = &bundle->targets[in->target];
    unsigned from = target->first, to = target->first + target->count;
    while (from < to) {
        const unsigned middle = from + (to - from) / 2;
        const int order = compare_keys(bundle->kernels[middle].key, key);
        if (!order)
            return bundle->usable[bundle->kernels[middle].template] ? (int) middle : -1;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return -1;
}

mmt_status mmt_bundle_binary(const struct mmt_bundled *in, int kernel, void **out,
                             size_t *size, mmt_error *err)
{
    return mmt_bundle_part(in->bundle, in->bundle->kernels[kernel].part, out, size, err);
}

static bool has(const struct mmt_bundled *in, const struct mmt_bound *bound, bool aligned)
{
    const struct mmt_variant variant = mmt_variant_of(bound->problem, aligned);
    return mmt_bundle_find(in, mmt_config_hash(&bound->config, &variant)) >= 0;
}

bool mmt_bundle_serves(const struct mmt_bundled *in, const struct mmt_bound *bound)
{
    return (!mmt_bound_aligns(bound) || has(in, bound, true)) &&
           (!bound->has_any || has(in, bound, false));
}
