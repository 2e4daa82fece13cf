/* Template searches: one for each template of a problem. */
#ifndef MMT_TUNER_TUNE_TEMPLATE_SEARCH_H
#define MMT_TUNER_TUNE_TEMPLATE_SEARCH_H

#include "tuner/tune/state.h"

enum { MMT_MAX_TEMPLATES = 64 };

struct mmt_template_search;

struct mmt_template_searches {
    struct mmt_run *run;
    const mmt_problem *problem;
    struct mmt_template_search *list;
    int count;
    double best;     /* INFINITY: none was timed */
    double best_mhz; /* the device's clock then; 0: unknown */
    struct mmt_config best_config;
};

/* Starts a search for each template; tells them what the journal knows of the problem. */
mmt_status mmt_searches_create(struct mmt_run *run, const mmt_problem *problem,
                               struct mmt_template_searches *out, mmt_error *err);
void mmt_searches_free(struct mmt_template_searches *searches);

/* Whether no template but that one is tried. */
bool mmt_searches_only(const struct mmt_template_searches *searches,
                       const char *template);

/* The next candidate of the template that promises most. False where all are exhausted
 * or must hear of what is under way. */
bool mmt_searches_ask(struct mmt_template_searches *searches, struct mmt_config *out);

/* Whether a configuration's template was far behind so far, or is new to this problem
 * while another one is not. */
bool mmt_searches_is_low_priority(const struct mmt_template_searches *searches,
                                  const struct mmt_config *config);

/* What became of a configuration, whoever proposed it. */
void mmt_searches_tell(struct mmt_template_searches *searches,
                       const struct mmt_config *config, const struct mmt_result *result);

#endif
