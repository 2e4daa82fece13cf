/* Two cards compared by what `mmtune study` wrote on each. */
#ifndef MMT_STUDIES_CARDS_RUNS_H
#define MMT_STUDIES_CARDS_RUNS_H

#include "study.h"

bool mmt_cards_is_folder(const char *path);

/* Shows semenenko's Tables 1.3 and 1.4 and Fig. 1.3 of the cards whose results lie in the
 * two folders that options->words names, and what the paper concludes.
 * MMT_ERROR_NOT_FOUND where they have nothing in common. */
mmt_status mmt_cards_compare_runs(const struct mmt_study_options *options,
                                  mmt_error *err);

#endif
