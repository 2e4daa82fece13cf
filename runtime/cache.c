/* The cache of compiled kernels on disk: loads only files that this user alone could have
 * written, and keeps within a limit. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

enum { NAME_LENGTH = 32 + SUFFIX };

static void name_of(const char *key, char name[NAME_LENGTH + 1])
{
    mmt_hash_print(mmt_hash_add(mmt_hash_start(), key, strlen(key)), name);
    memcpy(name + NAME_LENGTH - SUFFIX, suffix, sizeof suffix);
}

/* The folder's descriptor, or -1. Only what this user alone could have written is ever
 * loaded: the folder is opened once, looked at, and all files through it. */
static int open_folder(bool make, mmt_error *err)
{
    struct mmt_text path = { 0 };
    int folder = -1;
    mmt_file_cache_folder(&path);
    if (path.failed)
        mmt_fail(err, MMT_ERROR_MEMORY, "no memory for a path");
    else if (make)
        mmt_file_make_own_folder(path.data, &folder, err);
    else
        mmt_file_open_own_folder(path.data, &folder, err);
    mmt_text_finish(&path);
    return folder;
}

/* ---- what went wrong ------------------------------------------------------------- */

static pthread_mutex_t trouble_lock = PTHREAD_MUTEX_INITIALIZER;
static char trouble[sizeof((mmt_error *) 0)->text]; /* of the last write; "": none */

static void remember_trouble(const char *text)
{
    pthread_mutex_lock(&trouble_lock);
    snprintf(trouble, sizeof trouble, "%s", text);
    pthread_mutex_unlock(&trouble_lock);
}

bool mmt_cache_trouble(struct mmt_text *text)
{
    pthread_mutex_lock(&trouble_lock);
    const bool any = *trouble;
    mmt_text_add(text, trouble);
    pthread_mutex_unlock(&trouble_lock);
    return any;
}

static bool is_full(int code)
{
    return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

/* Says in the cache's words why nothing can be stored in it. */
static mmt_status fail_keeping(const mmt_error *why, mmt_error *err)
{
    struct mmt_text path = { 0 };
    mmt_status status = MMT_ERROR_IO;
    mmt_file_cache_folder(&path);
    if (is_full(why->native))
        mmt_fail_native(err, status, why->native,
                        "compiled kernels are not stored: there is no room left in '%s' "
                        "(%s); make room, or name another folder with XDG_CACHE_HOME",
                        mmt_text_string(&path), strerror(why->native));
    else
        mmt_fail_native(err, status, why->native,
                        "compiled kernels are not stored in '%s': %s; XDG_CACHE_HOME may "
                        "name another folder",
                        mmt_text_string(&path), why->text);
    mmt_text_finish(&path);
    return status;
}

/* ---- looking up ------------------------------------------------------------------ */

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

static bool take_binary(struct mmt_binary *binary, const char *log, size_t size)
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

static bool touch(int folder, const char *name)
{
    return !utimensat(folder, name, NULL, AT_SYMLINK_NOFOLLOW);
}

bool mmt_cache_touch(const char *key)
{
    char name[NAME_LENGTH + 1];
    const int folder = open_folder(false, NULL);
    if (folder < 0)
        return false;
    name_of(key, name);
    const bool found = touch(folder, name);
    close(folder);
    return found;
}

bool mmt_cache_get(const char *key, struct mmt_binary *binary)
{
    struct mmt_text file = { 0 };
    char name[NAME_LENGTH + 1];
    const char *log = NULL;
    size_t size;
    int folder = open_folder(false, NULL);

    *binary = (struct mmt_binary){ 0 };
    if (folder < 0)
        return false;
    name_of(key, name);
    if (mmt_file_read_own(folder, name, MAX_FILE, &file, NULL) == MMT_OK)
        log = find_log(&file, key, &size);
    bool found = log && take_binary(binary, log, size);
    if (found) /* used now: the last to be removed */
        touch(folder, name);
    mmt_text_finish(&file);
    close(folder);
    return found;
}

/* ---- what it may take ------------------------------------------------------------ */

static const off_t default_limit = (off_t) 256 << 20;

mmt_status mmt_cache_limit(off_t *bytes, mmt_error *err)
{
    const char *text = secure_getenv("MMTUNE_CACHE_LIMIT");
    int64_t number;

    *bytes = default_limit;
    if (!text || !*text)
        return MMT_OK;
    if (!mmt_text_read_size(text, &number))
        return mmt_fail(err, MMT_ERROR_ARGUMENT,
                        "MMTUNE_CACHE_LIMIT is '%s'; it must be a whole number of bytes, "
                        "or of K, M or G (1024, 1024^2 or 1024^3 bytes), such as 512M",
                        text);
    *bytes = (off_t) number;
    return MMT_OK;
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

/* Also one that was never finished. Nothing else in the folder is removed. */
static bool is_binary(const char *name, size_t length)
{
    return strspn(name, "0123456789abcdef") == NAME_LENGTH - SUFFIX &&
           !strncmp(name + NAME_LENGTH - SUFFIX, suffix, SUFFIX) &&
           (length == NAME_LENGTH || !strcmp(name + length - SUFFIX, unfinished));
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

/* Removes the least recently used binaries until the rest is within the limit. */
static void trim_folder(int from, off_t limit)
{
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = own < 0 ? NULL : fdopendir(own);
    size_t count;
    off_t total;

    if (!folder) {
        if (own >= 0)
            close(own);
        return;
    }
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

/* ---- keeping --------------------------------------------------------------------- */

static void print_file(const char *key, const struct mmt_binary *binary,
                       struct mmt_text *file)
{
    struct head head = { .key_length = strlen(key) };
    const char *log = binary->log ? binary->log : "";

    memcpy(head.magic, magic, sizeof magic);
    head.hash = mmt_hash_add(mmt_hash_start(), key, strlen(key));
    head.hash = mmt_hash_add(head.hash, log, strlen(log) + 1);
    head.hash = mmt_hash_add(head.hash, binary->data, binary->size);
    mmt_text_add_bytes(file, &head, sizeof head);
    mmt_text_add(file, key);
    mmt_text_add_bytes(file, log, strlen(log) + 1);
    mmt_text_add_bytes(file, binary->data, binary->size);
}

/* Writes one file into the folder, which stays within its limit. */
static mmt_status write_entry(const char *name, const struct mmt_text *file,
                              mmt_error *err)
{
    mmt_error why = { 0 };
    off_t limit;
    int folder = open_folder(true, &why);
    if (folder < 0)
        return fail_keeping(&why, err);
    mmt_status status =
        file->failed ? mmt_fail(&why, MMT_ERROR_MEMORY, "no memory for %s", name)
                     : mmt_file_replace_own(folder, name, file->data, file->length, &why);
    status = status ? fail_keeping(&why, err) : mmt_cache_limit(&limit, err);
    if (why.status == MMT_OK)
        trim_folder(folder, limit);
    close(folder);
    return status;
}

void mmt_cache_put(const char *key, const struct mmt_binary *binary)
{
    struct mmt_text file = { 0 };
    char name[NAME_LENGTH + 1];
    mmt_error err = { 0 };

    name_of(key, name);
    print_file(key, binary, &file);
    write_entry(name, &file, &err);
    remember_trouble(err.text);
    mmt_text_finish(&file);
}

/* A file of a mebibyte: with less room than that a cache is as good as full. Its name is
 * a binary's, so that one that a killed process has left is removed in time. */
mmt_status mmt_cache_check(mmt_error *err)
{
    enum { ROOM = 1 << 20 };
    static const char name[] = "00000000000000000000000000000000.bin";
    mmt_error why = { 0 };
    off_t limit;
    mmt_status status = mmt_cache_limit(&limit, err);
    if (status)
        return status;
    int folder = open_folder(true, &why);
    if (folder < 0)
        return fail_keeping(&why, err);
    char *zeros = calloc(1, ROOM);
    status = zeros ? mmt_file_replace_own(folder, name, zeros, ROOM, &why)
                   : mmt_fail(&why, MMT_ERROR_MEMORY, "no memory to try it");
    unlinkat(folder, name, 0);
    free(zeros);
    close(folder);
    return status ? fail_keeping(&why, err) : MMT_OK;
}

bool mmt_cache_is_full(mmt_error *err)
{
    mmt_error why = { 0 };
    bool full = mmt_cache_check(&why) != MMT_OK && is_full(why.native);
    if (full && err)
        *err = why;
    return full;
}
