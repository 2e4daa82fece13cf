/* What `--fresh` forgets: all that was learned of some types, of an op, and of a template
 * alone where one is named. A line of the journal says so, so that nothing is lost from
 * the file, and what comes after it is known again. */
#ifndef MMT_TUNER_JOURNAL_FORGET_H
#define MMT_TUNER_JOURNAL_FORGET_H

#include <jansson.h>

#include "generator/generator.h"

struct mmt_forget {
    mmt_op op;
    bool types[MMT_NUM_TYPES];
    const char *template; /* a name; NULL: all that compute the op */
};

bool mmt_forgets(const struct mmt_forget *forget, const mmt_problem *problem,
                 const struct mmt_config *config);

/* NULL where memory is exhausted. */
json_t *mmt_forget_json(const struct mmt_forget *forget);

/* False where the line is none of these, or names what this version does not have. */
bool mmt_forget_read(const json_t *line, struct mmt_forget *out);

#endif
