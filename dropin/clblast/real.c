/* Finding the real CLBlast: the one that the program loaded, or one where the loader
 * would look. This library may stand in its place under its name, so a libclblast counts
 * only if no name of ours is found through it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dropin/clblast/call.h"

static const char file_name[] = "libclblast.so.1";
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *real;

/* The handle, where it is the real one; else NULL, and it is closed. */
static void *accept(void *handle)
{
    if (handle && !dlsym(handle, "mmt_clblast_real"))
        return handle;
    if (handle)
        dlclose(handle);
    return NULL;
}

static void *open_in(const char *folder)
{
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, file_name);
    return length < (int) sizeof path ? accept(dlopen(path, RTLD_LAZY | RTLD_LOCAL))
                                      : NULL;
}

/* LD_LIBRARY_PATH, and where the system has its libraries. */
static void *open_where_loaders_look(void)
{
    Dl_serinfo size, *paths;
    Dl_info self;
    void *own, *found = NULL;

    if (!dladdr(file_name, &self) ||
        !(own = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
        return NULL;
    if (!dlinfo(own, RTLD_DI_SERINFOSIZE, &size) && (paths = malloc(size.dls_size))) {
        paths->dls_size = size.dls_size;
        paths->dls_cnt = size.dls_cnt;
        if (!dlinfo(own, RTLD_DI_SERINFO, paths))
            for (unsigned i = 0; i < paths->dls_cnt && !found; i++)
                found = open_in(paths->dls_serpath[i].dls_name);
        free(paths);
    }
    dlclose(own);
    return found ? found : open_in("/usr/local/lib");
}

static void find_real(void)
{
    const char *named = secure_getenv("MMTUNE_CLBLAST");

    if (named && !strcmp(named, "none"))
        return;
    if (named && *named) {
        real = accept(dlopen(named, RTLD_LAZY | RTLD_LOCAL));
        if (!real)
            fprintf(stderr,
                    "mmtune-clblast: MMTUNE_CLBLAST is %s, which is no libclblast that "
                    "can be loaded; it must be the path of one, or none\n",
                    named);
        return;
    }
    real = accept(dlopen(file_name, RTLD_LAZY | RTLD_NOLOAD));
    if (!real)
        real = open_where_loaders_look();
}

void *mmt_clblast_real(const char *name)
{
    pthread_once(&once, find_real);
    return real ? dlsym(real, name) : NULL;
}
