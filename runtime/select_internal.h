/* Parts of kernel selection. Inside select*.c. */
#ifndef MMT_RUNTIME_SELECT_INTERNAL_H
#define MMT_RUNTIME_SELECT_INTERNAL_H

#include "runtime/runtime.h"

/* Which kernel for a normalised problem, on which device, by which profile, within which
 * terms; the profile and the terms may be NULL. */
struct mmt_question {
    const struct mmt_profile *profile;
    const mmt_problem *problem;
    const struct mmt_caps *caps;
    const struct mmt_terms *terms;
};

/* ---- within the terms (select_terms.c) --------------------------------------------- */

/* With fewer splits of k where the terms leave less workspace. */
struct mmt_config mmt_within_terms(const struct mmt_question *q,
                                   const struct mmt_config *config);

/* Binds what is within the terms; whether the device, the shape and the terms allow it.
 */
bool mmt_bind_within(const struct mmt_question *q, const struct mmt_config *config,
                     struct mmt_bound *out);

bool mmt_is_usable(const struct mmt_question *q, const struct mmt_config *config);

/* ---- what may be chosen ------------------------------------------------------------ */

/* mmt_select_rank of a question (select_law.c). */
int mmt_rank(const struct mmt_question *q, struct mmt_ranked ranked[MMT_MOST_RANKED]);

/* The entry of the nearest shape that was tuned here and is usable, of those not as far
 * away as `within`, in squared octaves; NULL where there is none (select_near.c). */
const struct mmt_entry *mmt_find_nearest(const struct mmt_question *q, double within);

/* A template's starting point within the terms, and what it is bound to; false where it
 * does not serve the problem (select.c). */
bool mmt_seed_within(const struct mmt_question *q, const struct mmt_template *template,
                     int seed, struct mmt_config *out, struct mmt_bound *bound);

#endif
