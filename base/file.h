/* Files: whole reads, writes that a power cut cannot tear, and where our files live.
 *
 * What is made has mode 0600, folders 0700, whatever the umask. A program that is setuid
 * finds no folder by its environment. */
#ifndef MMT_BASE_FILE_H
#define MMT_BASE_FILE_H

#include "base/error.h"
#include "base/text.h"

/* ---- files that the user names --------------------------------------------------- */

/* Reads a whole regular file of at most `limit` bytes into *text, which it replaces.
 * Links are followed. Never waits: a pipe is refused. */
mmt_status mmt_file_read(const char *path, size_t limit, struct mmt_text *text,
                         mmt_error *err);

/* Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the
 * folder: afterwards the file is whole, the old or the new. Makes missing folders. A
 * symbolic link of this user or of root stays, and what it leads to is replaced;
 * another's is refused. What is no file (a terminal, a pipe with a reader) is written
 * into. A file that is replaced stays readable to whom it was. */
mmt_status mmt_file_replace(const char *path, const void *bytes, size_t length,
                            mmt_error *err);

/* Whether it would replace a file, or make one, tried with a file beside it; refuses what
 * is no file. */
mmt_status mmt_file_may_replace(const char *path, mmt_error *err);

/* Makes a folder and its missing parents, mode 0700 where it makes them. */
mmt_status mmt_file_make_folder(const char *path, mmt_error *err);

/* ---- files of our own ------------------------------------------------------------- */

/* Opens a folder; refuses one of another user, or that others may write. A link that is
 * this user's or root's is followed. The other makes it first; `out` may be NULL there.
 */
mmt_status mmt_file_open_own_folder(const char *path, int *out, mmt_error *err);
mmt_status mmt_file_make_own_folder(const char *path, int *out, mmt_error *err);

/* Makes the folder that a file is to stand in: with `own`, one as above. */
mmt_status mmt_file_make_parent(const char *path, bool own, mmt_error *err);

/* In such a folder: read a regular file that this user alone may write, and replace
 * whatever stands under the name. No link is followed. */
mmt_status mmt_file_read_own(int folder, const char *name, size_t limit,
                             struct mmt_text *text, mmt_error *err);
mmt_status mmt_file_replace_own(int folder, const char *name, const void *bytes,
                                size_t length, mmt_error *err);

/* Opens, or makes, a file to read and append to: no link, and of this user or of whoever
 * has the folder. The other reads it from its beginning. */
mmt_status mmt_file_open_log(const char *path, int *out, mmt_error *err);
mmt_status mmt_file_read_open(int fd, const char *path, size_t limit,
                              struct mmt_text *text, mmt_error *err);

/* ---- where they live -------------------------------------------------------------- */

/* Add "$XDG_DATA_HOME/mmtune" (where profiles live), "$XDG_CACHE_HOME/mmtune" or
 * "$XDG_STATE_HOME/mmtune" (where recordings live) to *text, with the defaults of the XDG
 * base directory specification. */
void mmt_file_data_folder(struct mmt_text *text);
void mmt_file_cache_folder(struct mmt_text *text);
void mmt_file_state_folder(struct mmt_text *text);

#endif
