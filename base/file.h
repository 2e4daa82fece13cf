/* Files: whole reads, writes that a power cut cannot tear, and where our files live. */
#ifndef MMT_BASE_FILE_H
#define MMT_BASE_FILE_H

#include "base/error.h"
#include "base/text.h"

/* Reads a whole file of at most `limit` bytes into *text, which it replaces. */
mmt_status mmt_file_read(const char *path, size_t limit, struct mmt_text *text,
                         mmt_error *err);

/* Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the
 * folder: afterwards the file is whole, the old or the new. Makes missing folders. A
 * symbolic link stays, and what it leads to is replaced; what is no file (a terminal, a
 * pipe) is written into. */
mmt_status mmt_file_replace(const char *path, const void *bytes, size_t length,
                            mmt_error *err);

/* Makes a folder and its missing parents, mode 0700 where it makes them. */
mmt_status mmt_file_make_folder(const char *path, mmt_error *err);

/* Add "$XDG_DATA_HOME/mmtune" (where profiles live) or "$XDG_CACHE_HOME/mmtune" to *text,
 * with the defaults of the XDG base directory specification. */
void mmt_file_data_folder(struct mmt_text *text);
void mmt_file_cache_folder(struct mmt_text *text);

#endif
