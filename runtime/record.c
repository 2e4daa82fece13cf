/* What this library's own callers plan and no entry serves, written down where
 * MMTUNE_RECORD asks for it: `mmtune --recorded` tunes it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/recording.h"
#include "runtime/runtime.h"

/* Problems of this process that were written down; one that finds the table full is not.
 */
enum { MOST_NOTED = 4096 };
static struct {
    pthread_mutex_t lock;
    uint64_t hashes[MOST_NOTED];
    int count;
} noted = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_wanted(void)
{
    const char *value = secure_getenv("MMTUNE_RECORD");
    return value && *value && strcmp(value, "0");
}

/* Under the lock. Devices of one name have one recording. */
static bool is_new(uint64_t hash)
{
    for (int i = 0; i < noted.count; i++)
        if (noted.hashes[i] == hash)
            return false;
    return noted.count < MOST_NOTED;
}

static uint64_t hash_of(const struct mmt_call *call, const char *stem)
{
    const struct mmt_hash hash = mmt_hash_add(mmt_hash_start(), stem, strlen(stem));
    return mmt_call_hash(call) ^ hash.low;
}

/* What cannot be written is written with the next plan of the problem. */
static void append(const struct mmt_recorded *it, const char *stem)
{
    const uint64_t hash = hash_of(&it->call, stem);
    struct mmt_text path = { 0 };
    mmt_recording_path(stem, &path);
    pthread_mutex_lock(&noted.lock);
    if (is_new(hash) && !path.failed &&
        !mmt_recording_append(mmt_text_string(&path), it, 1, NULL))
        noted.hashes[noted.count++] = hash;
    pthread_mutex_unlock(&noted.lock);
    mmt_text_finish(&path);
}

void mmt_record_unserved(const struct mmt_caps *caps, const mmt_problem *problem,
                         size_t max_workspace)
{
    if (!is_wanted() || !strcmp(caps->backend, "null"))
        return;
    const char *run = secure_getenv("MMTUNE_RUN_ID");
    struct mmt_text stem = { 0 };
    struct mmt_recorded it = { .call = { .client = MMT_CLIENT_MMTUNE,
                                         .problem = *problem } };
    it.call.workspace = max_workspace == SIZE_MAX ? 0 : max_workspace;
    it.fates[MMT_FATE_UNKNOWN] = 1;
    if (run && *run)
        snprintf(it.run, sizeof it.run, "%s", run);
    else
        snprintf(it.run, sizeof it.run, "%ld", (long) getpid());
    mmt_profile_stem(caps, &stem);
    if (!stem.failed)
        append(&it, mmt_text_string(&stem));
    mmt_text_finish(&stem);
}
