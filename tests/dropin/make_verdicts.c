/* Writes a device's profile with verdicts, where mmt_profile_find has it; cuda:0 where no
 * other is named:
 *
 *   make_verdicts [-d DEVICE] VERDICT...
 *   make_verdicts -c                     adds counts of processes to recordings
 *
 * One is words with commas between: client, problem, whether C is added to (0, 1), bytes
 * of workspace, configuration, library, driver (empty: the one that is there), our and
 * the library's time in microseconds, how f32 is multiplied (strict, emulated), and what
 * the library accumulates in (usual, where it is left out), and in how many bytes its
 * operands begin at multiples of (16). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "recording/counts.h"
#include "runtime/runtime.h"

static mmt_error err;

static void need(mmt_status status)
{
    if (!status)
        return;
    fprintf(stderr, "%s\n", err.text);
    exit(1);
}

static void parse(char *line, const struct mmt_caps *caps, struct mmt_verdict *out)
{
    enum { WORDS = 12 };
    const char *words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = line ? strsep(&line, ",") : "";

    memset(out, 0, sizeof *out);
    out->f32_mode = !strcmp(words[9], "emulated") ? MMT_F32_EMULATED : MMT_F32_STRICT;
    out->call.client = (enum mmt_client) mmt_client_parse(words[0]);
    need(mmt_problem_parse(words[1], &out->call.problem, &err));
    out->call.adds = atoi(words[2]);
    out->call.compute =
        *words[10] ? (enum mmt_compute) mmt_compute_parse(words[10]) : MMT_COMPUTE_USUAL;
    out->call.workspace = (size_t) atoll(words[3]);
    out->call.alignment = (size_t) atoll(words[11]);
    need(mmt_config_parse_for(words[4], &out->call.problem, caps, &out->config, &err));
    snprintf(out->library, sizeof out->library, "%s", words[5]);
    snprintf(out->driver, sizeof out->driver, "%s", *words[6] ? words[6] : caps->driver);
    mmt_profile_now(out->date);
    out->ours = atof(words[7]) * 1e-6;
    out->theirs = atof(words[8]) * 1e-6;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "-c")) {
        mmt_counts_collect(NULL, NULL);
        return 0;
    }
    struct mmt_profile *profile = mmt_profile_create();
    struct mmt_text path = { 0 };
    struct mmt_hash hash;
    const bool named = argc > 2 && !strcmp(argv[1], "-d");
    mmt_device *device = mmt_device_open(named ? argv[2] : "cuda:0", &err);

    need(device ? MMT_OK : err.status);
    profile->caps = *mmt_device_caps(device);
    mmt_profile_now(profile->made.date);
    for (int i = named ? 3 : 1; i < argc; i++) {
        struct mmt_verdict verdict;
        parse(argv[i], &profile->caps, &verdict);
        need(mmt_template_hash(verdict.config.template, &hash, &err));
        mmt_hash_print(hash, verdict.template_hash);
        need(mmt_profile_replace_verdict(profile, &verdict, &err));
    }
    mmt_profile_path(&profile->caps, &path);
    need(mmt_profile_save(profile, mmt_text_string(&path), &err));
    mmt_text_finish(&path);
    mmt_profile_free(profile);
    mmt_device_close(device);
    return 0;
}
