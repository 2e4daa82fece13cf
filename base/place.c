/* Finds the prefix that this code was installed in, by the file that it
 * was loaded from. */
#include "base/place.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "own_paths.h"

/* The file that this code was loaded from; the loader has no name for a program itself.
 */
static bool own_file(char path[PATH_MAX])
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((void *) mmt_place_prefix, &info, (void **) &map, RTLD_DL_LINKMAP) ||
        !map)
        return false;
    return realpath(*map->l_name ? map->l_name : "/proc/self/exe", path) != NULL;
}

/* Cuts "/FOLDER" from the end of a path; false where it ends otherwise. */
static bool cut_folder(char *path, const char *folder)
{
    const size_t length = strlen(path), cut = strlen(folder) + 1;
    if (*folder == '/' || length <= cut || path[length - cut] != '/' ||
        strcmp(path + length - cut + 1, folder))
        return false;
    path[length - cut] = '\0';
    return true;
}

bool mmt_place_prefix(struct mmt_text *prefix)
{
    char path[PATH_MAX];
    if (getauxval(AT_SECURE) || !own_file(path))
        return false;
    *strrchr(path, '/') = '\0';
    if (!cut_folder(path, MMT_LIBDIR) && !cut_folder(path, MMT_BINDIR))
        return false;
    mmt_text_add(prefix, path);
    return true;
}
