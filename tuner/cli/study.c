/* mmtune study: becomes the program mmtune-study. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/common/options.h"

#define PROGRAM "mmtune-study"

/* This program's folder; "" where it cannot be told. */
static void find_folder(char folder[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

/* Beside this program, where a build has it, and on PATH. Returns where it is nowhere. */
int mmt_verb_study(int argc, char **argv)
{
    static const char *const places[] = { "%s/" PROGRAM, "%s/../studies/" PROGRAM };
    char folder[PATH_MAX], path[PATH_MAX + 32];
    find_folder(folder);
    for (int i = 0; *folder && i < 2; i++) {
        snprintf(path, sizeof path, places[i], folder);
        execv(path, argv);
    }
    execvp(PROGRAM, argv);
    const int code = errno;
    fprintf(stderr,
            "mmtune study: the program " PROGRAM " is neither in %s nor on PATH: %s; "
            "install it, or build it with Meson's -Dstudies=true\n",
            folder, strerror(code));
    return MMT_EXIT_FAILED;
}
