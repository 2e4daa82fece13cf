/* Bundles: one file of profiles and compiled kernels, which a program ships. The public
 * header of the module `bundle`, which reads; `mmtune bundle` writes.
 *
 * A file is a header, four tables, and parts, each of which begins at a multiple of
 * MMT_BUNDLE_ALIGN bytes. All numbers are of 32 or 64 bits, little-endian. The header's
 * hash is of the header and the tables, a part's hash stands in the table of parts: so
 * the first holds all of the file together, and each part is checked when it is used. The
 * first part is the manifest, JSON for people; nothing is selected by it. */
#ifndef MMT_BUNDLE_BUNDLE_H
#define MMT_BUNDLE_BUNDLE_H

#include "base/caps.h"
#include "base/error.h"
#include "base/hash.h"
#include "generator/generator.h"

/* ---- the file -------------------------------------------------------------------- */

#define MMT_BUNDLE_MAGIC "\211mmb\r\n\032\n"
enum {
    MMT_BUNDLE_FORMAT = 1,
    MMT_BUNDLE_ORDER = 0x01020304, /* tells a machine of another byte order */
    MMT_BUNDLE_ALIGN = 64,         /* bytes */
    MMT_BUNDLE_MOST = 1 << 20,     /* parts, and kernels */
    MMT_BUNDLE_MOST_TARGETS = 1024,
    MMT_BUNDLE_MOST_TEMPLATES = 1024,
};

struct mmt_bundle_header {
    char magic[8];
    uint32_t format, order;
    uint64_t size; /* bytes of the file */
    uint32_t num_parts, num_targets, num_templates, num_kernels;
    char version[32];     /* of the mmtune that made it: its kernels' arguments are known
                           * to that version alone */
    struct mmt_hash hash; /* of all before it, then of the tables */
};

struct mmt_bundle_part {
    uint64_t offset, size; /* bytes */
    struct mmt_hash hash;
};

/* What a target's binaries run on. */
enum {
    MMT_BUNDLE_OPENCL = 1 << 0,       /* one driver, by its profile's device */
    MMT_BUNDLE_PTX = 1 << 1,          /* its compute capability and newer ones */
    MMT_BUNDLE_ARCH_SPECIFIC = 1 << 2 /* "sm_90a": that compute capability alone */
};

/* A profile and the kernels that it selects among. */
struct mmt_bundle_target {
    int32_t sm; /* 90 for compute capability 9.0; 0 for OpenCL */
    uint32_t flags;
    uint32_t profile;      /* its part */
    uint32_t first, count; /* its kernels, behind those of the target before; their keys
                            * ascend */
    uint32_t zero;
};

/* A template whose kernels are inside. */
struct mmt_bundle_template {
    char name[32];
    struct mmt_hash hash; /* mmt_template_hash */
};

struct mmt_bundle_kernel {
    struct mmt_hash key; /* mmt_config_hash */
    uint32_t part, template;
};

/* ---- reading --------------------------------------------------------------------- */

/* Immutable once open, but for mmt_bundle_close: threads may share it. */
struct mmt_bundle;

/* Whether these bytes begin as a bundle does, also one that is cut off or was copied as
 * text. */
bool mmt_bundle_is(const void *bytes, size_t size);

/* Reads header and tables; parts stay where they are. `bytes` begin at a multiple of 8
 * and stay, unchanged, until the bundle is closed; *out is the caller's to close.
 * MMT_ERROR_FORMAT for what is damaged, shorter than it says, or of another version. */
mmt_status mmt_bundle_open(const void *bytes, size_t size, struct mmt_bundle **out,
                           mmt_error *err);

/* The same of a file, which stays open, and may be written into or cut off meanwhile:
 * header and tables are copied, a part is read when it is asked for. *out is NULL, and
 * MMT_OK, where the file is no bundle. */
mmt_status mmt_bundle_load(const char *path, struct mmt_bundle **out, mmt_error *err);
void mmt_bundle_close(struct mmt_bundle *bundle);

const struct mmt_bundle_header *mmt_bundle_header(const struct mmt_bundle *bundle);
const struct mmt_bundle_target *mmt_bundle_target(const struct mmt_bundle *bundle,
                                                  unsigned number);

/* A copy of a part, whose hash was found right; the caller frees it. *out is NULL and the
 * status MMT_ERROR_FORMAT where it is damaged, or MMT_ERROR_MEMORY. */
mmt_status mmt_bundle_part(const struct mmt_bundle *bundle, unsigned number, void **out,
                           size_t *size, mmt_error *err);

/* Checks every part. */
mmt_status mmt_bundle_check(const struct mmt_bundle *bundle, mmt_error *err);

/* Adds a sentence a line for each template that has changed since: its kernels are passed
 * over. */
void mmt_bundle_print_changed(const struct mmt_bundle *bundle, struct mmt_text *text);

/* ---- what is inside -------------------------------------------------------------- */

/* Whether a device's driver can load a target's binaries. The OpenCL driver that they are
 * of is `made_on`'s, the device of the target's profile. */
bool mmt_bundle_runs(const struct mmt_bundle_target *target,
                     const struct mmt_caps *made_on, const struct mmt_caps *caps);

/* The kernels of one target. */
struct mmt_bundled {
    const struct mmt_bundle *bundle; /* NULL: there are none, kernels are compiled */
    unsigned target;
};

/* The kernel's number; -1: it is not inside. */
int mmt_bundle_find(const struct mmt_bundled *in, struct mmt_hash key);

/* Its binary, as mmt_bundle_part. */
mmt_status mmt_bundle_binary(const struct mmt_bundled *in, int kernel, void **out,
                             size_t *size, mmt_error *err);

/* Whether all is inside that a plan of a bound configuration takes of it. */
bool mmt_bundle_serves(const struct mmt_bundled *in, const struct mmt_bound *bound);

#endif
