/* Making a recording small again. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/lock.h"

static mmt_status rewrite(const char *path, const struct mmt_recording *recording,
                          bool (*keep)(void *context, const struct mmt_recorded *it),
                          void *context, mmt_error *err)
{
    struct mmt_text text = { 0 };
    for (size_t i = 0; i < recording->count; i++)
        if (keep(context, &recording->list[i]))
            mmt_recorded_print(&recording->list[i], &text);
    mmt_status status =
        text.failed ? mmt_fail(err, MMT_ERROR_MEMORY, "out of memory writing '%s'", path)
                    : mmt_file_replace(path, mmt_text_string(&text), text.length, err);
    mmt_text_finish(&text);
    return status;
}

mmt_status mmt_recording_prune(const char *path,
                               bool (*keep)(void *context, const struct mmt_recorded *it),
                               void *context, mmt_error *err)
{
    struct mmt_recording recording = { 0 };
    int fd;
    if (access(path, F_OK))
        return mmt_fail_native(err, MMT_ERROR_NOT_FOUND, errno,
                               "cannot read the recording '%s': %s", path,
                               strerror(errno));
    mmt_status status = mmt_recording_open(path, true, &fd, err);
    if (status)
        return status;
    /* The lock is held until it is replaced: who appends behind it finds the new file. */
    status = mmt_recording_read(path, false, &recording, err);
    if (!status)
        status = rewrite(path, &recording, keep, context, err);
    mmt_recording_free(&recording);
    close(fd);
    return status;
}
