#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "runtime/runtime.h"

/* A file is a head, the key, the log as a string ("" where there is none), the binary.
 * Numbers are in host order: the folder belongs to one machine. */
static const char magic[8] = "mmtune3";

struct head {
    char magic[8];
    uint64_t key_length;
    struct mmt_hash hash; /* of all that follows */
};

enum { MAX_FILE = 64 << 20, SUFFIX = 4 };
static const char suffix[] = ".bin";
static const char unfinished[] = ".tmp"; /* of a process that was killed while writing */

static void add_path(const char *key, struct mmt_text *path)
{
    char name[33];
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), key, strlen(key)), name);
    mmt_file_cache_folder(path);
    mmt_text_addf(path, "/%s%s", name, suffix);
}

/* Only what this user alone could have written is ever loaded. */
static bool is_ours(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The log inside a file's bytes, with the binary behind it, `size` bytes; NULL where they
 * are not a whole file of this key. A driver would crash on a damaged one, or run it. */
static const char *find_log(const struct mmt_text *file, const char *key, size_t *size)
{
    struct head head;
    const size_t key_length = strlen(key);
    if (file->length <= sizeof head + key_length)
        return NULL;
    memcpy(&head, file->data, sizeof head);
    const char *body = file->data + sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) || head.key_length != key_length ||
        memcmp(body, key, key_length))
        return NULL;
    const struct mmt_hash hash =
        mmt_hash_add(mmt_hash_start(), body, file->length - sizeof head);
    if (hash.high != head.hash.high || hash.low != head.hash.low)
        return NULL;
    const char *log = body + key_length, *end = file->data + file->length;
    const char *last = memchr(log, 0, (size_t) (end - log));
    if (!last || last + 1 == end)
        return NULL;
    *size = (size_t) (end - last - 1);
    return log;
}

static bool take(struct mmt_binary *binary, const char *log, size_t size)
{
    const size_t length = strlen(log);
    binary->data = malloc(size);
    binary->log = length ? malloc(length + 1) : NULL;
    if (!binary->data || (length && !binary->log)) {
        mmt_binary_finish(binary);
        return false;
    }
    memcpy(binary->data, log + length + 1, size);
    if (length)
        memcpy(binary->log, log, length + 1);
    binary->size = size;
    return true;
}

bool mmt_cache_get(const char *key, struct mmt_binary *binary)
{
    struct mmt_text path = { 0 }, file = { 0 };
    bool found = false;
    size_t size;

    add_path(key, &path);
    *binary = (struct mmt_binary){ 0 };
    if (path.failed || !is_ours(path.data) ||
        mmt_file_read(path.data, MAX_FILE, &file, NULL) != MMT_OK)
        goto done;
    const char *log = find_log(&file, key, &size);
    if (!log || !take(binary, log, size))
        goto done;
    utimensat(AT_FDCWD, path.data, NULL, 0); /* used now: the last to be removed */
    found = true;
done:
    mmt_text_finish(&path);
    mmt_text_finish(&file);
    return found;
}

struct cached {
    char name[80];
    struct timespec used;
    off_t size;
};

static int older_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct cached *) a)->used;
    const struct timespec *y = &((const struct cached *) b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Also one that was never finished. */
static bool is_binary(const char *name, size_t length)
{
    return length > SUFFIX && (!strcmp(name + length - SUFFIX, suffix) ||
                               !strcmp(name + length - SUFFIX, unfinished));
}

/* The binaries of a folder; malloc'ed. */
static struct cached *list_binaries(DIR *folder, size_t *count, off_t *total)
{
    struct cached *list = NULL;
    struct dirent *entry;
    size_t capacity = 0;

    *count = 0;
    *total = 0;
    while ((entry = readdir(folder))) {
        struct stat st;
        size_t length = strlen(entry->d_name);
        if (length >= sizeof list->name || !is_binary(entry->d_name, length) ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        if (*count == capacity) {
            struct cached *more = realloc(list, (capacity += 256) * sizeof *list);
            if (!more)
                break;
            list = more;
        }
        struct cached *c = &list[(*count)++];
        memcpy(c->name, entry->d_name, length + 1);
        c->used = st.st_mtim;
        c->size = st.st_size;
        *total += st.st_size;
    }
    return list;
}

static off_t size_limit(void)
{
    const char *text = getenv("MMTUNE_CACHE_LIMIT");
    char *end;
    long long limit = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && limit >= 0 ? (off_t) limit : (off_t) 256 << 20;
}

/* Removes the least recently used binaries until the rest is within the limit. */
static void trim(void)
{
    struct mmt_text path = { 0 };
    mmt_file_cache_folder(&path);
    DIR *folder = path.failed ? NULL : opendir(path.data);
    mmt_text_finish(&path);
    if (!folder)
        return;

    size_t count;
    off_t total, limit = size_limit();
    struct cached *list = list_binaries(folder, &count, &total);
    if (total > limit) {
        qsort(list, count, sizeof *list, older_first);
        for (size_t i = 0; i < count && total > limit; i++)
            if (unlinkat(dirfd(folder), list[i].name, 0) == 0)
                total -= list[i].size;
    }
    free(list);
    closedir(folder);
}

void mmt_cache_put(const char *key, const struct mmt_binary *binary)
{
    struct mmt_text path = { 0 }, file = { 0 };
    struct head head = { .key_length = strlen(key) };
    const char *log = binary->log ? binary->log : "";

    memcpy(head.magic, magic, sizeof magic);
    head.hash = mmt_hash_add(mmt_hash_start(), key, strlen(key));
    head.hash = mmt_hash_add(head.hash, log, strlen(log) + 1);
    head.hash = mmt_hash_add(head.hash, binary->data, binary->size);
    add_path(key, &path);
    mmt_text_add_bytes(&file, &head, sizeof head);
    mmt_text_add(&file, key);
    mmt_text_add_bytes(&file, log, strlen(log) + 1);
    mmt_text_add_bytes(&file, binary->data, binary->size);
    if (!path.failed && !file.failed &&
        mmt_file_replace(path.data, file.data, file.length, NULL) == MMT_OK)
        trim();
    mmt_text_finish(&path);
    mmt_text_finish(&file);
}
