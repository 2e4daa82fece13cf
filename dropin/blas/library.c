/* Finds the program's own BLAS behind ours, and names it by its version and number of
 * threads. */
#include "dropin/blas/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dropin/pin.h"

/* ---- finding functions ------------------------------------------------------------ */

static const void *object_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

struct finding {
    const char *name;
    const void *own; /* where the object that asks begins */
    void *found;
};

/* The program itself has no name, and a look-up there finds what was preloaded. */
static int find_in_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct finding *finding = context;
    void *handle = object->dlpi_name && *object->dlpi_name
                       ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD)
                       : NULL;
    if (!handle)
        return 0;
    void *symbol = dlsym(handle, finding->name);
    if (symbol && object_of(symbol) != finding->own)
        finding->found = symbol;
    dlclose(handle);
    return finding->found != NULL;
}

void *mmt_blas_find(const char *name, const void *own)
{
    struct finding finding = { name, object_of(own), dlsym(RTLD_NEXT, name) };

    if (finding.found && object_of(finding.found) == finding.own)
        finding.found = NULL;
    if (!finding.found)
        dl_iterate_phdr(find_in_object, &finding);
    mmt_object_pin(finding.found);
    return finding.found;
}

void mmt_blas_path(const void *function, char path[256])
{
    Dl_info info;
    char real[PATH_MAX];

    path[0] = '\0';
    if (dladdr(function, &info) && info.dli_fname && realpath(info.dli_fname, real))
        snprintf(path, 256, "%.255s", real);
}

/* ---- naming libraries -------------------------------------------------------------- */

/* A symbol as a pointer to a function. */
#define FUNCTION(type, handle, name)                                                     \
    ((__typeof__(type) *) (uintptr_t) dlsym(handle, name))

static void add_threads(int threads, char name[48])
{
    const size_t length = strlen(name);
    if (threads > 0)
        snprintf(name + length, 48 - length, ", %d thread%s", threads,
                 threads == 1 ? "" : "s");
}

static bool name_flexiblas(void *handle, char name[48])
{
    int (*backend)(char *, size_t) =
        FUNCTION(int(char *, size_t), handle, "flexiblas_current_backend");
    int (*threads)(void) = FUNCTION(int(void), handle, "flexiblas_get_num_threads");
    char which[24] = "";

    if (!backend)
        return false;
    backend(which, sizeof which);
    snprintf(name, 48, "FlexiBLAS %.23s", which);
    add_threads(threads ? threads() : 0, name);
    return true;
}

static bool name_openblas(void *handle, char name[48])
{
    char *(*config)(void) = FUNCTION(char *(void), handle, "openblas_get_config");
    int (*threads)(void) = FUNCTION(int(void), handle, "openblas_get_num_threads");
    char version[16] = "";

    if (!config)
        return false;
    if (sscanf(config(), "OpenBLAS %15s", version) != 1)
        strcpy(version, "of no version");
    snprintf(name, 48, "OpenBLAS %s", version);
    add_threads(threads ? threads() : 0, name);
    return true;
}

/* BLIS's own integers are of 64 bits, as it is built by default. */
static bool name_blis(void *handle, char name[48])
{
    const char *(*version)(void) =
        FUNCTION(const char *(void), handle, "bli_info_get_version_str");
    int64_t (*threads)(void) =
        FUNCTION(int64_t(void), handle, "bli_thread_get_num_threads");

    if (!version)
        return false;
    snprintf(name, 48, "BLIS %.15s", version());
    add_threads(threads ? (int) threads() : 0, name);
    return true;
}

static bool name_mkl(void *handle, char name[48])
{
    void (*version)(char *, int) =
        FUNCTION(void(char *, int), handle, "MKL_Get_Version_String");
    int (*threads)(void) = FUNCTION(int(void), handle, "MKL_Get_Max_Threads");
    char text[200] = "", number[16] = "";

    if (!version)
        return false;
    version(text, sizeof text - 1);
    const char *at = strstr(text, "Version ");
    if (!at || sscanf(at, "Version %15s", number) != 1)
        strcpy(number, "of no version");
    snprintf(name, 48, "MKL %s", number);
    add_threads(threads ? threads() : 0, name);
    return true;
}

/* The first bytes of the note that the linker leaves in a file, which differs for each
 * build. */
struct build {
    const void *object;
    uint32_t id;
};

static uint32_t read_build_id(const char *at, const char *end)
{
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const ElfW(Nhdr) *note = (const void *) at;
        const char *owner = at + sizeof *note;
        const char *bytes = owner + (note->n_namesz + 3) / 4 * 4;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz >= 4 && bytes + 4 <= end &&
            !memcmp(owner, "GNU", 4))
            return (uint32_t) (uint8_t) bytes[0] << 24 |
                   (uint32_t) (uint8_t) bytes[1] << 16 |
                   (uint32_t) (uint8_t) bytes[2] << 8 | (uint8_t) bytes[3];
        at = bytes + (note->n_descsz + 3) / 4 * 4;
    }
    return 0;
}

static int find_build_id(struct dl_phdr_info *object, size_t size, void *context)
{
    struct build *build = context;
    bool same = false;

    for (int i = 0; i < object->dlpi_phnum && !same; i++)
        same = object->dlpi_phdr[i].p_type == PT_LOAD &&
               object_of((const char *) object->dlpi_addr +
                         object->dlpi_phdr[i].p_vaddr) == build->object;
    for (int i = 0; same && i < object->dlpi_phnum && !build->id; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const char *at = (const char *) object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_NOTE)
            build->id = read_build_id(at, at + part->p_memsz);
    }
    return same;
}

static void name_file(const char *path, void *handle, char name[48])
{
    const void *function = dlsym(handle, "sgemm_");
    const char *slash = strrchr(path, '/');
    struct build build = { function ? object_of(function) : NULL };

    if (build.object)
        dl_iterate_phdr(find_build_id, &build);
    const int length = snprintf(name, 48, "%.36s", slash ? slash + 1 : path);
    if (build.id)
        snprintf(name + length, 48 - (size_t) length, " %08x", build.id);
}

void mmt_blas_name(const char *path, char name[48])
{
    void *handle = *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    if (!handle)
        snprintf(name, 48, "a BLAS of no known file");
    else if (!name_flexiblas(handle, name) && !name_openblas(handle, name) &&
             !name_blis(handle, name) && !name_mkl(handle, name))
        name_file(path, handle, name);
    if (handle)
        dlclose(handle);
}
