/* Profiles of one device, or of several of one kind, as one. */
#ifndef MMT_TUNER_REPORT_MERGE_H
#define MMT_TUNER_REPORT_MERGE_H

#include "base/error.h"

#include <stdbool.h>

struct mmt_merge {
    char **paths;
    int count;
    bool again;      /* the first is what was made of the others before: what it counts is
                      * counted in these */
    bool quiet;      /* says nothing of how they differ */
    bool fits;       /* the models are fitted to the times in the journals beside them */
    const char *out; /* NULL: standard output */
};

/* Writes one profile of all. */
mmt_status mmt_merge_files(const struct mmt_merge *merge, mmt_error *err);

#endif
