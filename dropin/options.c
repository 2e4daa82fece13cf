/* What `mmtune run` tells the libraries below its program, by the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dropin/calls.h"

enum { DEFAULT_WORKSPACE = 256 << 20, MOST_SECONDS = 24 * 60 * 60 };

/* Set to anything but nothing and 0. */
static bool is_on(const char *value)
{
    return value && *value && strcmp(value, "0");
}

static size_t read_workspace(const char *value)
{
    int64_t bytes;
    if (!value || !*value)
        return DEFAULT_WORKSPACE;
    if (mmt_text_read_size(value, &bytes))
        return (size_t) bytes;
    fprintf(stderr,
            "mmtune: MMTUNE_RUN_WORKSPACE is '%s'; it must be a whole number of bytes, "
            "or of K, M or G, such as 256M, which is taken instead\n",
            value);
    return DEFAULT_WORKSPACE;
}

static double read_wait(const char *value)
{
    char *end = NULL;
    if (!value || !*value)
        return 0;
    const double seconds = mmt_text_read_number(value, &end);
    if (end != value && !*end && seconds >= 0 && seconds <= MOST_SECONDS)
        return seconds;
    fprintf(stderr,
            "mmtune: MMTUNE_RUN_WAIT is '%s'; it must be a number of seconds from 0 to "
            "%d; nothing is waited for\n",
            value, MOST_SECONDS);
    return 0;
}

void mmt_calls_read_options(struct mmt_calls_options *options)
{
    const char *f32 = secure_getenv("MMTUNE_RUN_F32");
    const char *run = secure_getenv("MMTUNE_RUN_ID");
    const char *wait = secure_getenv("MMTUNE_RUN_WAIT");

    *options = (struct mmt_calls_options){
        .record = is_on(secure_getenv("MMTUNE_RUN_RECORD")),
        .f32_mode = f32 && !strcmp(f32, "emulated") ? MMT_F32_EMULATED : MMT_F32_STRICT,
        .check = is_on(secure_getenv("MMTUNE_RUN_CHECK")),
        .verbose = is_on(secure_getenv("MMTUNE_RUN_VERBOSE")),
        .ranges = is_on(secure_getenv("MMTUNE_RUN_NVTX")),
        .workspace = read_workspace(secure_getenv("MMTUNE_RUN_WORKSPACE")),
        .waits = wait && *wait,
        .wait = read_wait(wait),
        .awaited = run && *run,
    };
    if (run && *run)
        snprintf(options->run, sizeof options->run, "%s", run);
    else
        snprintf(options->run, sizeof options->run, "%ld", (long) getpid());
}
