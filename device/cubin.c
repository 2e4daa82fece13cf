/* Reads from a cubin how many registers, and how much shared and local memory, one kernel
 * takes. The file's sizes are checked, not trusted. */
#include "device/cubin.h"

#include <elf.h>
#include <string.h>

/* Attributes of the sections .nv.info (all kernels, by symbol) and .nv.info.<kernel>.
 * Each is a format, a name and 16 bits: a value, or with FORMAT_SIZED the bytes that
 * follow. */
enum {
    FORMAT_SIZED = 4,
    INFO_MAX_THREADS = 0x05, /* three words: the block of __launch_bounds__ */
    INFO_FRAME_SIZE = 0x11,  /* symbol, bytes of local memory a thread */
    INFO_REGCOUNT = 0x2f,    /* symbol, registers a thread */
};

/* Shared memory that the system keeps in each block where .nv.shared.reserved.0 exists;
 * sections count it in. Bytes. */
enum { RESERVED_SHARED = 1024 };

enum { MAX_THREADS = 1024, REGISTER_FILE = 65536, WARP = 32 };

struct file {
    const unsigned char *data;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names;
};

static bool inside(const struct file *file, uint64_t offset, uint64_t length)
{
    return offset <= file->size && length <= file->size - offset;
}

static bool section_at(const struct file *file, unsigned index, Elf64_Shdr *out)
{
    uint64_t offset = file->header.e_shoff + (uint64_t) index * sizeof(*out);
    if (index >= file->header.e_shnum || !inside(file, offset, sizeof(*out)))
        return false;
    memcpy(out, file->data + offset, sizeof(*out));
    return out->sh_type == SHT_NOBITS || inside(file, out->sh_offset, out->sh_size);
}

/* A string of a table of strings; "" where there is none. */
static const char *string_at(const struct file *file, const Elf64_Shdr *table,
                             uint64_t at)
{
    if (at >= table->sh_size || table->sh_type == SHT_NOBITS)
        return "";
    const char *string = (const char *) file->data + table->sh_offset + at;
    return memchr(string, 0, table->sh_size - at) ? string : "";
}

static bool open_file(struct file *file, const void *data, size_t size)
{
    if (!mmt_cubin_is(data, size))
        return false;
    file->data = data;
    file->size = size;
    memcpy(&file->header, data, sizeof(file->header));
    return file->header.e_ident[EI_CLASS] == ELFCLASS64 &&
           file->header.e_shentsize == sizeof(Elf64_Shdr) &&
           section_at(file, file->header.e_shstrndx, &file->names);
}

static bool find_section(const struct file *file, const char *prefix, const char *entry,
                         Elf64_Shdr *out)
{
    size_t length = strlen(prefix);
    for (unsigned i = 0; i < file->header.e_shnum; i++) {
        if (!section_at(file, i, out))
            return false;
        const char *name = string_at(file, &file->names, out->sh_name);
        if (!strncmp(name, prefix, length) && !strcmp(name + length, entry))
            return true;
    }
    return false;
}

static bool find_symbol(const struct file *file, const char *entry, uint32_t *out)
{
    Elf64_Shdr table, strings;
    if (!find_section(file, ".symtab", "", &table) || table.sh_type == SHT_NOBITS ||
        !section_at(file, table.sh_link, &strings))
        return false;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, file->data + table.sh_offset + i * sizeof(symbol),
               sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            !strcmp(string_at(file, &strings, symbol.st_name), entry)) {
            *out = (uint32_t) i;
            return true;
        }
    }
    return false;
}

/* Finds an attribute of at least `count` words; `symbol`, where it is not 0, must be the
 * first of them. */
static bool find_info(const struct file *file, const Elf64_Shdr *section,
                      unsigned char name, uint32_t symbol, uint32_t *words, size_t count)
{
    const unsigned char *at = file->data + section->sh_offset;
    const unsigned char *end =
        at + (section->sh_type == SHT_NOBITS ? 0 : section->sh_size);
    while (end - at >= 4) {
        unsigned length = at[0] == FORMAT_SIZED ? at[2] | at[3] << 8 : 0;
        if (length > (size_t) (end - at - 4))
            return false;
        if (at[0] == FORMAT_SIZED && at[1] == name && length >= count * sizeof(*words)) {
            memcpy(words, at + 4, count * sizeof(*words));
            if (symbol == 0 || words[0] == symbol)
                return true;
        }
        at += 4 + length;
    }
    return false;
}

/* Blocks are given registers by the warp, eight a thread at a time. */
static int threads_for_registers(int registers)
{
    int rounded = (registers + 7) / 8 * 8;
    int threads = rounded > 0 ? REGISTER_FILE / rounded / WARP * WARP : MAX_THREADS;
    return threads < MAX_THREADS ? threads : MAX_THREADS;
}

static long long static_shared(const struct file *file, const char *entry)
{
    Elf64_Shdr shared, reserved;
    if (!find_section(file, ".nv.shared.", entry, &shared))
        return 0;
    bool keeps = find_section(file, ".nv.shared.reserved.0", "", &reserved);
    long long bytes = (long long) shared.sh_size - (keeps ? RESERVED_SHARED : 0);
    return bytes > 0 ? bytes : 0;
}

bool mmt_cubin_is(const void *data, size_t size)
{
    return size >= sizeof(Elf64_Ehdr) && !memcmp(data, ELFMAG, SELFMAG);
}

bool mmt_cubin_usage(const void *data, size_t size, const char *entry,
                     struct mmt_usage *out)
{
    struct file file;
    Elf64_Shdr text, all, own;
    uint32_t symbol, words[3];
    if (!open_file(&file, data, size) || !find_section(&file, ".text.", entry, &text) ||
        !find_symbol(&file, entry, &symbol) || !find_section(&file, ".nv.info", "", &all))
        return false;

    *out = (struct mmt_usage){ -1, -1, static_shared(&file, entry), MAX_THREADS };
    if (find_info(&file, &all, INFO_REGCOUNT, symbol, words, 2))
        out->registers = (int) words[1];
    if (find_info(&file, &all, INFO_FRAME_SIZE, symbol, words, 2))
        out->spill_bytes = (int) words[1];
    out->max_threads = threads_for_registers(out->registers);
    if (find_section(&file, ".nv.info.", entry, &own) &&
        find_info(&file, &own, INFO_MAX_THREADS, 0, words, 3)) {
        uint64_t bound = (uint64_t) words[0] * words[1] * words[2];
        if (bound < (uint64_t) out->max_threads)
            out->max_threads = (int) bound;
    }
    return true;
}
