/* The cache of kernel selections, of all profiles and devices of the process. A selection
 * depends on nothing but the profile's edition, what the device can do, the problem and
 * the terms, so that none is ever out of date: one that is not asked for any more gives
 * way to another. */
#include <pthread.h>

#include "base/hash.h"
#include "runtime/runtime.h"

struct key {
    uint64_t edition; /* the profile's */
    struct mmt_hash caps;
    mmt_problem problem;
    size_t max_workspace;
    bool strict_f32;
    bool built; /* of mmt_select_built */
};

enum { PLACES = 512 };

static const uint64_t no_profile = UINT64_MAX; /* its edition */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct key key; /* edition 0: free */
    struct mmt_selection selection;
} places[PLACES];

/* Edition 0 where what is selected is not to be remembered: kernels that a driver refused
 * are few, and of this plan alone. */
static struct key key_of(const struct mmt_profile *profile, const mmt_problem *problem,
                         const struct mmt_caps *caps, const struct mmt_terms *terms)
{
    struct key key = { .edition = profile ? mmt_profile_edition(profile) : no_profile,
                       .caps = mmt_hash_add(mmt_hash_start(), caps, sizeof *caps),
                       .problem = *problem,
                       .max_workspace = terms ? terms->max_workspace : SIZE_MAX,
                       .strict_f32 = terms && terms->strict_f32 };
    if (terms && terms->num_refused)
        key.edition = 0;
    return key;
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->edition == b->edition && a->caps.high == b->caps.high &&
           a->caps.low == b->caps.low && a->max_workspace == b->max_workspace &&
           a->strict_f32 == b->strict_f32 && a->built == b->built &&
           mmt_problem_equal(&a->problem, &b->problem);
}

static unsigned place_of(const struct key *key)
{
    const mmt_problem *p = &key->problem;
    const int64_t told[] = { p->m,          p->n,       p->k,       p->batch,  p->lda,
                             (int) p->type, p->trans_a, p->trans_b, key->built };
    return (unsigned) (mmt_hash_add(mmt_hash_start(), told, sizeof told).low % PLACES);
}

static void keep(const struct key *key, const struct mmt_selection *selection)
{
    const unsigned at = place_of(key);
    if (!key->edition)
        return;
    pthread_mutex_lock(&lock);
    places[at].key = *key;
    places[at].selection = *selection;
    pthread_mutex_unlock(&lock);
}

static bool recall(const struct key *key, struct mmt_selection *out)
{
    const unsigned at = place_of(key);
    pthread_mutex_lock(&lock);
    const bool known = key->edition && is_same(&places[at].key, key);
    if (known)
        *out = places[at].selection;
    pthread_mutex_unlock(&lock);
    return known;
}

mmt_status mmt_select_cached(const struct mmt_profile *profile,
                             const mmt_problem *problem, const struct mmt_caps *caps,
                             const struct mmt_terms *terms, struct mmt_selection *out,
                             mmt_error *err)
{
    const struct key key = key_of(profile, problem, caps, terms);
    if (recall(&key, out))
        return MMT_OK;
    const mmt_status status = mmt_select(profile, problem, caps, terms, out, err);
    if (!status)
        keep(&key, out);
    return status;
}

/* ---- of kernels that are compiled ------------------------------------------------ */

static bool is_built(mmt_device *device, const struct mmt_config *config,
                     const mmt_problem *problem, const struct mmt_caps *caps,
                     bool aligned_only)
{
    struct mmt_bound bound;
    mmt_bind_known(config, problem, caps, &bound);
    const bool aligns = mmt_bound_aligns(&bound);
    return (!aligns || mmt_kernel_is_built(device, &bound, true)) &&
           (!bound.has_any || (aligns && aligned_only) ||
            mmt_kernel_is_built(device, &bound, false));
}

/* The law is no surer than that; and what compiling is worth: eight are looked for. */
static void prefer_built(mmt_device *device, const struct mmt_profile *profile,
                         const mmt_problem *problem, const struct mmt_caps *caps,
                         const struct mmt_terms *terms, bool aligned_only,
                         struct mmt_selection *selection)
{
    enum { MOST = 8 };
    static const double as_good = 1.03;
    struct mmt_ranked ranked[MMT_MOST_RANKED];
    if (is_built(device, &selection->config, problem, caps, aligned_only))
        return;
    const int count = mmt_select_rank(profile, problem, caps, terms, ranked);
    for (int i = 1;
         i < count && i < MOST && ranked[i].seconds <= as_good * selection->seconds; i++)
        if (is_built(device, &ranked[i].config, problem, caps, aligned_only)) {
            selection->config = ranked[i].config;
            selection->seconds = ranked[i].seconds;
            selection->compiled = true;
            return;
        }
}

mmt_status mmt_select_built(mmt_device *device, const struct mmt_profile *profile,
                            const mmt_problem *problem, const struct mmt_caps *caps,
                            const struct mmt_terms *terms, bool aligned_only,
                            struct mmt_selection *out, mmt_error *err)
{
    struct key key = key_of(profile, problem, caps, terms);
    key.built = true;
    if (recall(&key, out))
        return MMT_OK;
    const mmt_status status = mmt_select_cached(profile, problem, caps, terms, out, err);
    const bool in_bundle = terms && terms->in;
    if (status || in_bundle || out->why != MMT_SELECTION_LAW)
        return status;
    prefer_built(device, profile, problem, caps, terms, aligned_only, out);
    keep(&key, out);
    return MMT_OK;
}
