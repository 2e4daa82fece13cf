/* Making a recording small again. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "recording/lines.h"

typedef bool keeps(void *context, const struct mmt_recorded *it);

static mmt_status rewrite(const char *path, const struct mmt_recording *recording,
                          const struct mmt_text *others, keeps *keep, void *context,
                          mmt_error *err)
{
    struct mmt_text text = { 0 };
    mmt_text_add(&text, mmt_text_string(others));
    for (size_t i = 0; i < recording->count; i++)
        if (!keep || keep(context, &recording->list[i]))
            mmt_recorded_print(&recording->list[i], &text);
    mmt_status status =
        text.failed ? mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing '%s'", path)
                    : mmt_file_replace(path, mmt_text_string(&text), text.length, err);
    mmt_text_finish(&text);
    return status;
}

/* The lock is held until the file is replaced: who appends behind it finds the new one.
 */
static mmt_status add_up(const char *path, bool by_run, keeps *keep, void *context,
                         mmt_error *err)
{
    struct mmt_recording recording = { 0 };
    struct mmt_text others = { 0 };
    struct mmt_log log;
    mmt_status status = mmt_log_open(&log, path, MMT_LOG_REPLACE, NULL, err);
    if (status)
        return status;
    status = mmt_recording_read_apart(path, by_run, &others, &recording, err);
    if (!status)
        status = rewrite(path, &recording, &others, keep, context, err);
    mmt_recording_free(&recording);
    mmt_text_finish(&others);
    mmt_log_close(&log);
    return status;
}

mmt_status mmt_recording_prune(const char *path,
                               bool (*keep)(void *context, const struct mmt_recorded *it),
                               void *context, mmt_error *err)
{
    if (access(path, F_OK))
        return mmt_fail_native(err, MMT_ERROR_NOT_FOUND, errno,
                               "cannot read the recording '%s': %s", path,
                               strerror(errno));
    return add_up(path, false, keep, context, err);
}

static bool is_longer(const char *path, size_t bytes)
{
    struct stat found;
    return !stat(path, &found) && found.st_size > 0 && (size_t) found.st_size > bytes;
}

mmt_status mmt_recording_compact(const char *path, size_t bytes, mmt_error *err)
{
    if (!is_longer(path, bytes))
        return MMT_OK;
    mmt_status status = add_up(path, true, NULL, NULL, err);
    if (!status && is_longer(path, bytes / 2)) /* of very many runs */
        status = add_up(path, false, NULL, NULL, err);
    return status;
}
