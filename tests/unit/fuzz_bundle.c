/* The reader of bundles against bytes that nobody meant, with sizes and hashes made right
 * again, so that tables are read: fuzz_bundle [--rounds N] [--seed N] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "tests/support/fuzz.h"

/* A bundle of two kernels. */
struct small {
    struct mmt_bundle_header header;
    struct mmt_bundle_part parts[3];
    struct mmt_bundle_target target;
    struct mmt_bundle_template template;
    struct mmt_bundle_kernel kernels[2];
    _Alignas(MMT_BUNDLE_ALIGN) char bytes[3][MMT_BUNDLE_ALIGN];
};

static void mend(struct mmt_bundle_header *header, size_t size)
{
    memcpy(header->magic, MMT_BUNDLE_MAGIC, sizeof header->magic);
    header->format = MMT_BUNDLE_FORMAT;
    header->order = MMT_BUNDLE_ORDER;
    header->size = size;
    strcpy(header->version, mmt_version());
    const uint64_t tables =
        header->num_parts * (uint64_t) sizeof(struct mmt_bundle_part) +
        header->num_targets * (uint64_t) sizeof(struct mmt_bundle_target) +
        header->num_templates * (uint64_t) sizeof(struct mmt_bundle_template) +
        header->num_kernels * (uint64_t) sizeof(struct mmt_bundle_kernel);
    if (tables <= size - sizeof *header)
        header->hash =
            mmt_hash_add(mmt_hash_add(mmt_hash_start(), header,
                                      offsetof(struct mmt_bundle_header, hash)),
                         header + 1, tables);
}

/* Everything that a bundle is asked for. */
static void use(struct mmt_bundle *bundle)
{
    mmt_error err = { 0 };
    for (unsigned i = 0; i < mmt_bundle_header(bundle)->num_targets; i++)
        mmt_bundle_find(&(struct mmt_bundled){ bundle, i }, mmt_hash_start());
    mmt_bundle_check(bundle, &err);
}

/* The same bytes as a file, which is cut off and written over once it is open. */
static void try_file(const char *bytes, size_t size, bool taken)
{
    static int fd = -1;
    static unsigned tries;
    char path[40], noise[256];
    mmt_error err = { 0 };
    struct mmt_bundle *bundle;
    if (fd < 0)
        fd = memfd_create("bundle", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t) size)
        fuzz_fail("file", "cannot be written");
    const mmt_status status = mmt_bundle_load(path, &bundle, &err);
    if (taken != (!status && bundle) && mmt_bundle_is(bytes, size))
        fuzz_fail("file", "is not what its bytes are");
    if (!bundle)
        return;
    const size_t at = tries++ * (size_t) 97 % size;
    memset(noise, (int) tries, sizeof noise);
    if (tries % 2 ? ftruncate(fd, (off_t) at)
                  : pwrite(fd, noise, sizeof noise, (off_t) at) < 0)
        fuzz_fail("file", "cannot be changed");
    use(bundle);
    mmt_bundle_close(bundle);
}

static bool accepts(const char *data, size_t size)
{
    static unsigned count;
    mmt_error err = { 0 };
    struct mmt_bundle *bundle = NULL;
    char *bytes =
        aligned_alloc(MMT_BUNDLE_ALIGN, (size / MMT_BUNDLE_ALIGN + 1) * MMT_BUNDLE_ALIGN);
    memcpy(bytes, data, size);
    if (size >= sizeof(struct mmt_bundle_header))
        mend((struct mmt_bundle_header *) bytes, size);
    const bool taken = !mmt_bundle_open(bytes, size, &bundle, &err);
    if (!taken && !err.text[0])
        fuzz_fail("refused", "without a reason");
    if (taken)
        use(bundle);
    mmt_bundle_close(bundle);
    if (count++ % 40 == 0)
        try_file(bytes, size, taken);
    free(bytes);
    return taken;
}

int main(int argc, char **argv)
{
    const struct fuzz_options options = fuzz_options(argc, argv);
    struct small small = {
        .header = { .num_parts = 3,
                    .num_targets = 1,
                    .num_templates = 1,
                    .num_kernels = 2 },
        .target = { .sm = 90, .profile = 0, .first = 0, .count = 2 },
        .template = { .name = "naive" },
        .kernels = { { { 1, 1 }, 1, 0 }, { { 1, 2 }, 2, 0 } },
    };
    for (unsigned i = 0; i < 3; i++)
        small.parts[i].offset = offsetof(struct small, bytes) + i * MMT_BUNDLE_ALIGN,
        small.parts[i].size = 40;
    struct fuzz_input corpus = { sizeof small, malloc(FUZZ_MAX_INPUT) };
    memcpy(corpus.bytes, &small, sizeof small);
    const bool passed =
        fuzz("bundle", &corpus, 1, accepts, 20 * options.rounds, options.seed);
    free(corpus.bytes);
    return !passed;
}
