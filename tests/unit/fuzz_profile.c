/* The profile's reader against sources that nobody meant. What it accepts must be
 * written, read and written again the same.
 *
 *   clang: a libFuzzer target (MMT_LIBFUZZER), fuzz_profile CORPUS...
 *   else:  fuzz_profile [--rounds N] [--seed N] FILE..., which mutates the files */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiles/profile.h"
#include "tests/support/fuzz.h"
#include "tests/support/scoped.h"

static struct mmt_text print(const struct mmt_profile *profile)
{
    struct mmt_text text = { 0 };
    mmt_error err = { 0 };
    if (mmt_profile_print(profile, &text, &err))
        fuzz_fail("what was read cannot be written", err.text);
    return text;
}

static bool accepts(const char *data, size_t size)
{
    mmt_error err = { 0 };
    SCOPED_PROFILE *profile = mmt_profile_read(data, size, &err);
    if (!profile) {
        if (err.status == MMT_OK || !err.text[0])
            fuzz_fail("refused", "without a reason");
        return false;
    }
    SCOPED_TEXT first = print(profile);
    SCOPED_PROFILE *again = mmt_profile_read(first.data, first.length, &err);
    if (!again)
        fuzz_fail("what was written is refused", err.text);
    SCOPED_TEXT second = print(again);
    if (strcmp(first.data, second.data) != 0)
        fuzz_fail("what was read twice differs", second.data);
    return true;
}

#ifdef MMT_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    accepts((const char *) data, size);
    return 0;
}

#else

int main(int argc, char **argv)
{
    const struct fuzz_options options = fuzz_options(argc, argv);
    const size_t count = (size_t) (argc - options.first);
    struct fuzz_input *corpus = calloc(count + 1, sizeof *corpus);
    for (size_t i = 0; i < count; i++)
        corpus[i] = fuzz_file(argv[options.first + (int) i]);
    const bool passed =
        fuzz("profile", corpus, count, accepts, options.rounds, options.seed);
    for (size_t i = 0; i < count; i++)
        free(corpus[i].bytes);
    free(corpus);
    return !passed;
}

#endif
