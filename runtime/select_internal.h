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

/* ---- ranking -------------------------------------------------------------------------
 */

/* Puts one into its place among so many (select_model.c). */
void mmt_insert_ranked(struct mmt_ranked *ranked, int count,
                       const struct mmt_ranked *next);

/* The best, the first of them first; return how many: of what templates name for a
 * problem, by the law of time (select_law.c); of the kernels of the family's portfolio,
 * by its model (select_model.c). */
int mmt_rank_by_law(const struct mmt_profile *profile, const mmt_problem *problem,
                    const struct mmt_caps *caps, const struct mmt_terms *terms,
                    struct mmt_ranked ranked[MMT_MOST_RANKED]);
int mmt_rank_by_model(const struct mmt_profile *profile, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      struct mmt_ranked ranked[MMT_MOST_RANKED]);

/* ---- the nearest shape that was tuned (select_near.c) --------------------------------
 */

/* The entry of the nearest shape that was tuned here, of those not as far away as
 * `within`; NULL where there is none. With `caps`, of those that are usable. */
const struct mmt_entry *mmt_find_nearest(const struct mmt_profile *profile,
                                         const mmt_problem *problem,
                                         const struct mmt_caps *caps,
                                         const struct mmt_terms *terms, double within);
double mmt_out_of_reach(const struct mmt_caps *caps);

/* The entry of the nearest shape that tells something of this one. */
const struct mmt_entry *mmt_find_telling(const struct mmt_profile *profile,
                                         const mmt_problem *problem);

/* Corrects what is expected by the nearest entry, and orders anew: all kernels, or those
 * alone that may be the fastest then, as others' times only grow. */
void mmt_correct_ranking(struct mmt_ranked *ranked, int count, bool all,
                         const struct mmt_entry *near, const mmt_problem *problem,
                         const struct mmt_caps *caps);

/* Whether the nearest problem's kernel was not ranked, and should not be slower here than
 * those that were. */
bool mmt_stands_apart(const struct mmt_entry *near, const mmt_problem *problem,
                      const struct mmt_caps *caps, const struct mmt_terms *terms,
                      const struct mmt_ranked *ranked, int count);

/* ---- where nothing is ranked (select_default.c) --------------------------------------
 */

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
