/* libmmtune-audit.so, for LD_AUDIT: programs that find cuBLAS by dlopen and dlsym pass a
 * preloaded library by. The dynamic linker asks here for each symbol that it binds. What
 * is bound to cuBLAS and libmmtune-cublas.so defines, too, is bound to that instead;
 * cuBLAS itself and libmmtune-cublas.so get what they ask for.
 *
 * An auditor lives in a namespace of its own, before any other code runs. This one needs
 * no library there, not the C library either: it has no state but `ours`, calls nothing
 * and allocates nothing. Objects are what glibc's rtld-audit(7) says, from 2.35 on also
 * for programs that are bound when they are loaded. */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* An object's cookie: what it is. */
enum { ANOTHER, CUBLAS, OURS };

/* libmmtune-cublas.so of the program's namespace; NULL until it is loaded. It is
 * preloaded, so never unloaded. */
static const struct link_map *ours;

static bool starts_with(const char *text, const char *start)
{
    while (*start && *text == *start)
        text++, start++;
    return !*start;
}

static bool is_same(const char *a, const char *b)
{
    return starts_with(a, b) && starts_with(b, a);
}

static const char *base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

static uintptr_t identify(const char *path)
{
    const char *name = base_name(path);
    if (is_same(name, "libmmtune-cublas.so"))
        return OURS;
    return starts_with(name, "libcublas.so") || starts_with(name, "libcublasLt.so")
               ? CUBLAS
               : ANOTHER;
}

/* ---- the symbols of ours ----------------------------------------------------------- */

/* An entry of the dynamic section that is an address; NULL: there is none. glibc adds the
 * base to it on most machines. */
static const void *find_table(const struct link_map *map, Elf64_Sxword tag)
{
    for (const Elf64_Dyn *it = map->l_ld; it->d_tag != DT_NULL; it++)
        if (it->d_tag == tag)
            return (const void *) (it->d_un.d_ptr < map->l_addr
                                       ? it->d_un.d_ptr + map->l_addr
                                       : it->d_un.d_ptr);
    return NULL;
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char) *name;
    return hash;
}

/* By the table of DT_GNU_HASH: counts, a filter of 64-bit words, buckets, chains whose
 * last hash is odd. 0: not defined. */
static uintptr_t find_symbol(const struct link_map *map, const char *name)
{
    const uint32_t *head = find_table(map, DT_GNU_HASH);
    const Elf64_Sym *symbols = find_table(map, DT_SYMTAB);
    const char *names = find_table(map, DT_STRTAB);
    if (!head || !symbols || !names || !head[0])
        return 0;
    const uint32_t *buckets = head + 4 + 2 * head[2], *chains = buckets + head[0];
    const uint32_t hash = hash_name(name), first = buckets[hash % head[0]];
    for (uint32_t i = first; i && i >= head[1]; i++) {
        const uint32_t other = chains[i - head[1]];
        if ((other | 1) == (hash | 1) && is_same(names + symbols[i].st_name, name))
            return map->l_addr + symbols[i].st_value;
        if (other & 1)
            break;
    }
    return 0;
}

/* ---- what the dynamic linker asks -------------------------------------------------- */

EXPORT unsigned la_version(unsigned version)
{
    return version;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    const uintptr_t is = identify(map->l_name);
    *cookie = is == ANOTHER ? (uintptr_t) map : is;
    if (is == OURS && namespace == LM_ID_BASE)
        ours = map;
    return is == CUBLAS ? LA_FLG_BINDTO : is == ANOTHER ? LA_FLG_BINDFROM : 0;
}

/* Who has the name itself, a tracer say, wants cuBLAS's: ours would ask it again. */
static uintptr_t find_ours(uintptr_t from, uintptr_t to, const char *name)
{
    if (!ours || to != CUBLAS || from == OURS || from == CUBLAS ||
        find_symbol((const struct link_map *) from, name))
        return 0;
    return find_symbol(ours, name);
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from,
                              uintptr_t *to, unsigned *flags, const char *name)
{
    const uintptr_t instead = find_ours(*from, *to, name);
    return instead ? instead : symbol->st_value;
}
