/* The lock that tells a program's processes that kernels are compiled beside them. */
#include "recording/building.h"

#include <errno.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/counts.h"

static int open_folder(void)
{
    struct mmt_text path = { 0 };
    int folder = -1;
    mmt_counts_folder(&path);
    mmt_file_open_own_folder(mmt_text_string(&path), &folder, NULL);
    mmt_text_finish(&path);
    return folder;
}

int mmt_building_begin(void)
{
    const int folder = open_folder();
    if (folder < 0 || !flock(folder, LOCK_SH)) /* who asks holds it for no time */
        return folder;
    close(folder);
    return -1;
}

bool mmt_building_goes_on(void)
{
    const int folder = open_folder();
    const bool goes_on =
        folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    if (folder >= 0)
        close(folder);
    return goes_on;
}
