/* Temporary folders that are locked by the process that uses them. */
#ifndef MMT_TUNER_JOURNAL_OWN_FOLDER_H
#define MMT_TUNER_JOURNAL_OWN_FOLDER_H

#include "base/log.h"

/* A folder "PARENT/PREFIX-XXXXXX" that nobody else uses while this process lives. */
struct mmt_own_folder {
    char *path;          /* NULL: there is none */
    struct mmt_log lock; /* the file in it that is locked */
};

/* Makes one, and the folders above it. Before that, those of processes that are gone are
 * swept away: whose lock can be taken, or that never had one and are a day old. */
mmt_status mmt_own_folder_make(struct mmt_own_folder *folder, const char *parent,
                               const char *prefix, mmt_error *err);

/* Removes it with all that is in it; harmless where there is none. */
void mmt_own_folder_remove(struct mmt_own_folder *folder);

#endif
