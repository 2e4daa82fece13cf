/* Finds the vendor's function behind one of ours, and the file and version of its
 * library. */
#include "dropin/cublas/real.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/call.h"
#include "dropin/pin.h"

_Atomic(void *) mmt_real_found[MMT_NUM_REAL];

static const char *const names[MMT_NUM_REAL] = {
#define REAL(name) [MMT_REAL_##name] = #name,
    MMT_REAL_ALL(REAL)
#undef REAL
};

/* ---- where it is ----------------------------------------------------------------- */

struct search {
    const char *file; /* how its name begins */
    char path[PATH_MAX];
};

static int is_it(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;
    const char *slash = strrchr(object->dlpi_name, '/');
    const char *name = slash ? slash + 1 : object->dlpi_name;

    if (strncmp(name, search->file, strlen(search->file)) ||
        strlen(object->dlpi_name) >= sizeof search->path)
        return 0;
    strcpy(search->path, object->dlpi_name);
    return 1;
}

static bool find_loaded(const char *file, char path[PATH_MAX])
{
    struct search search = { .file = file };
    const bool found = dl_iterate_phdr(is_it, &search) != 0;
    memcpy(path, search.path, sizeof search.path);
    return found;
}

static void *find_in_loaded(const char *name)
{
    const bool lt = !strncmp(name, "cublasLt", 8);
    char path[PATH_MAX];
    void *library, *found;

    if (!find_loaded(lt ? "libcublasLt.so" : "libcublas.so", path) ||
        !(library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD)))
        return NULL;
    found = dlsym(library, name);
    dlclose(library);
    return found;
}

void *mmt_real_find(enum mmt_real which)
{
    void *found = dlsym(RTLD_NEXT, names[which]);
    if (!found)
        found = find_in_loaded(names[which]);
    mmt_object_pin(found);
    if (found)
        atomic_store_explicit(&mmt_real_found[which], found, memory_order_relaxed);
    return found;
}

/* ---- which it is ----------------------------------------------------------------- */

/* A recording has no longer ones. */
void mmt_real_path(char path[256])
{
    char whole[PATH_MAX];
    if (!find_loaded("libcublas.so", whole))
        find_loaded("libcublasLt.so", whole);
    path[0] = '\0';
    if (strlen(whole) < 256)
        strcpy(path, whole);
}

void mmt_real_name(char name[48])
{
    __typeof__(&cublasLtGetVersion) version = MMT_REAL(cublasLtGetVersion);
    __typeof__(&cublasGetProperty) property = MMT_REAL(cublasGetProperty);
    int parts[3] = { 0, 0, 0 };

    *name = 0;
    if (version)
        mmt_call_cublas_name(version(), name);
    else if (property && !property(0, &parts[0]) && !property(1, &parts[1]) &&
             !property(2, &parts[2]))
        mmt_call_cublas_name((size_t) (parts[0] * 10000 + parts[1] * 100 + parts[2]),
                             name);
}
