/* What plans measured while a program runs: beside a profile that is otherwise immutable.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "profiles/fields.h"

struct mmt_learned {
    pthread_mutex_t lock;
    struct mmt_entry *entries; /* one a problem */
    size_t count;
    uint64_t edition; /* 0 until the profile is finished */
};

/* No two profiles of a process have had the same. */
static uint64_t next_edition(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

struct mmt_learned *mmt_learned_create(void)
{
    struct mmt_learned *learned = calloc(1, sizeof *learned);
    if (learned)
        pthread_mutex_init(&learned->lock, NULL);
    return learned;
}

void mmt_learned_free(struct mmt_learned *learned)
{
    if (!learned)
        return;
    pthread_mutex_destroy(&learned->lock);
    free(learned->entries);
    free(learned);
}

/* NULL where there is none; the lock is held. */
static struct mmt_entry *find_entry(const struct mmt_learned *learned,
                                    const mmt_problem *problem)
{
    for (size_t i = 0; i < learned->count; i++)
        if (mmt_problem_equal(&learned->entries[i].problem, problem))
            return &learned->entries[i];
    return NULL;
}

mmt_status mmt_profile_learn(const struct mmt_profile *profile,
                             const struct mmt_entry *entry, mmt_error *err)
{
    struct mmt_learned *learned = profile->learned;
    mmt_status status = MMT_OK;

    if (!learned)
        return MMT_OK;
    pthread_mutex_lock(&learned->lock);
    struct mmt_entry *known = find_entry(learned, &entry->problem);
    if (known)
        *known = *entry;
    else
        status = mmt_profile_append(&learned->entries, &learned->count, entry,
                                    sizeof *entry, err);
    if (learned->edition)
        learned->edition = next_edition();
    pthread_mutex_unlock(&learned->lock);
    return status;
}

void mmt_profile_finish(struct mmt_profile *profile)
{
    if (profile->learned)
        profile->learned->edition = next_edition();
}

uint64_t mmt_profile_edition(const struct mmt_profile *profile)
{
    struct mmt_learned *learned = profile->learned;

    if (!learned)
        return 0;
    pthread_mutex_lock(&learned->lock);
    const uint64_t edition = learned->edition;
    pthread_mutex_unlock(&learned->lock);
    return edition;
}

bool mmt_profile_learned(const struct mmt_profile *profile, const mmt_problem *problem,
                         struct mmt_entry *out)
{
    struct mmt_learned *learned = profile->learned;

    if (!learned)
        return false;
    pthread_mutex_lock(&learned->lock);
    const struct mmt_entry *known = find_entry(learned, problem);
    if (known)
        *out = *known;
    pthread_mutex_unlock(&learned->lock);
    return known != NULL;
}

mmt_status mmt_profile_take_learned(struct mmt_profile *into,
                                    const struct mmt_profile *from, mmt_error *err)
{
    struct mmt_learned *learned = from->learned;
    mmt_status status = MMT_OK;

    if (!learned)
        return MMT_OK;
    pthread_mutex_lock(&learned->lock);
    for (size_t i = 0; i < learned->count && !status; i++)
        status = mmt_profile_replace_entry(into, &learned->entries[i], err);
    pthread_mutex_unlock(&learned->lock);
    return status;
}

size_t mmt_profile_count_learned(const struct mmt_profile *profile)
{
    struct mmt_learned *learned = profile->learned;

    if (!learned)
        return 0;
    pthread_mutex_lock(&learned->lock);
    const size_t count = learned->count;
    pthread_mutex_unlock(&learned->lock);
    return count;
}
