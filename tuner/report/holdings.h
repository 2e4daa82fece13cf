/* What a profile holds for each type and transposes, for `show`. */
#ifndef MMT_TUNER_REPORT_HOLDINGS_H
#define MMT_TUNER_REPORT_HOLDINGS_H

#include <jansson.h>

#include "base/text.h"
#include "profiles/profile.h"

/* Adds a line for each type of which it holds anything. */
void mmt_holdings_print(const struct mmt_profile *profile, struct mmt_text *text);

/* The same, an object for each type. The caller owns it. */
json_t *mmt_holdings_json(const struct mmt_profile *profile);

#endif
