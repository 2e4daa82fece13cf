/* Parts of kernel selection. Inside select*.c. */
#ifndef MMT_RUNTIME_SELECT_INTERNAL_H
#define MMT_RUNTIME_SELECT_INTERNAL_H

#include "runtime/runtime.h"

/* ---- within the terms (select_terms.c) ------------------------------------------- */

/* With fewer splits of k where the terms leave less workspace. */
struct mmt_config mmt_within_terms(const struct mmt_config *config,
                                   const mmt_problem *problem,
                                   const struct mmt_caps *caps,
                                   const struct mmt_terms *terms);

/* Binds what is within the terms; whether the device, the shape and the terms allow it.
 */
bool mmt_bind_within(const struct mmt_config *config, const mmt_problem *problem,
                     const struct mmt_caps *caps, const struct mmt_terms *terms,
                     struct mmt_bound *out);

bool mmt_is_usable(const struct mmt_config *config, const mmt_problem *problem,
                   const struct mmt_caps *caps, const struct mmt_terms *terms);

/* ---- the nearest shape that was tuned (select_near.c) ---------------------------- */

/* The entry of the nearest shape that was tuned here and is usable, of those not as far
 * away as `within`, in squared octaves; NULL where there is none. */
const struct mmt_entry *mmt_find_nearest(const struct mmt_profile *profile,
                                         const mmt_problem *problem,
                                         const struct mmt_caps *caps,
                                         const struct mmt_terms *terms, double within);

/* ---- where nothing is ranked (select_default.c) ---------------------------------- */

/* A template's starting point within the terms, and what it is bound to; false where it
 * does not serve the problem. */
bool mmt_seed_within(const struct mmt_template *template, int seed,
                     const mmt_problem *problem, const struct mmt_caps *caps,
                     const struct mmt_terms *terms, struct mmt_config *out,
                     struct mmt_bound *bound);

/* The best starting point within the terms of the first template that has one: of those
 * that are meant for the device, or where these have none, of any. */
bool mmt_select_default(const mmt_problem *problem, const struct mmt_caps *caps,
                        const struct mmt_terms *terms, struct mmt_config *out);

#endif
