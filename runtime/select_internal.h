/* Parts of kernel selection. Inside select*.c. */
#ifndef MMT_RUNTIME_SELECT_INTERNAL_H
#define MMT_RUNTIME_SELECT_INTERNAL_H

#include "runtime/runtime.h"

/* ---- within the terms (select_terms.c) ----------------------------------------------
 */

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

/* ---- what nobody timed (select_untimed.c) -------------------------------------------
 */

/* Of a template's candidates those that are usable, with the seconds that they should
 * take; returns how many, at most `most`. */
int mmt_usable_candidates(const struct mmt_template *template, const mmt_problem *problem,
                          const struct mmt_caps *caps, const struct mmt_terms *terms,
                          struct mmt_config *out, double *seconds, int most);

/* The first candidate of all templates, where it should take less than so many seconds;
 * else *out stays as it is. */
bool mmt_select_untimed(double seconds, const mmt_problem *problem,
                        const struct mmt_caps *caps, const struct mmt_terms *terms,
                        struct mmt_selection *out);

/* A template's starting point within the terms, and what it is bound to; false where it
 * does not serve the problem. */
bool mmt_seed_within(const struct mmt_template *template, int seed,
                     const mmt_problem *problem, const struct mmt_caps *caps,
                     const struct mmt_terms *terms, struct mmt_config *out,
                     struct mmt_bound *bound);

/* The default's template, or, on a GPU, one that is estimated at half of it; or where its
 * workspace is more than the cap, the next. */
bool mmt_select_default(const mmt_problem *problem, const struct mmt_caps *caps,
                        const struct mmt_terms *terms, struct mmt_config *out);

#endif
