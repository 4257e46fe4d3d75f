/*
 * Compiled objects on disk; see cache.h.
 *
 * A file: header, key, data.  Its name is the hash of the key.  Nothing is synced: after a crash of
 * the machine the hash of the content finds what was not written.
 */
#include "calibrax/array/jit/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"

#define MAGIC         "calibrax jit 1\n"
#define SUFFIX        ".o"
#define DEFAULT_BYTES ((uint64_t)256 << 20)
#define USED_AGAIN_S  3600 /* the time of a file is set on use if it is older than that */
#define ABANDONED_S   3600 /* a temporary file of a writer that is gone */

typedef struct header {
    char magic[16];
    uint64_t key_len, data_len;
    char hash[40]; /* of key and data */
} header;

static uint64_t limit_bytes(void)
{
    const char *text = getenv("CALIBRAX_JIT_CACHE_BYTES");
    char *end = NULL;

    /* not every context checked it: options may give all settings, and it may be set later */
    if (!text || *text < '0' || *text > '9') return DEFAULT_BYTES;
    errno = 0;
    const unsigned long long bytes = strtoull(text, &end, 10);
    return *end || errno ? DEFAULT_BYTES : bytes;
}

/* The folder, and the path of the entry of a key; NULL: there is no caching, or no memory. */
static const char *entry_path(cbx_ctx *ctx, cbx_arena *arena, const void *key, size_t key_len, const char **folder,
                              cbx_status *st, cbx_err *err)
{
    char name[CBX_HASH_SIZE];
    const char *path;

    *st = CBX_OK;
    if (!limit_bytes()) return NULL;
    *st = cbx_cache_dir(ctx, "jit", arena, folder, err);
    if (*st) {
        if (*st != CBX_ENOMEM) *st = CBX_OK;
        return NULL;
    }
    cbx_hash_bytes(key, key_len, name);
    path = cbx_arena_printf(arena, "%s/%s" SUFFIX, *folder, name);
    if (!path) *st = cbx_fail_nomem(err, "a path of the cache");
    return path;
}

/* Machine code is executed, so that only files count that no other user could have written. */
static bool is_ours(const struct stat *s)
{
    return S_ISREG(s->st_mode) && s->st_uid == geteuid() && !(s->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_entry(const char *file, size_t size, const void *key, size_t key_len, header *h)
{
    char hash[CBX_HASH_SIZE];

    if (size < sizeof *h) return false;
    memcpy(h, file, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0 || h->key_len != key_len) return false;
    if (h->data_len == 0 || h->data_len != size - sizeof *h - key_len || size - sizeof *h < key_len) return false;
    if (memcmp(file + sizeof *h, key, key_len) != 0) return false;
    cbx_hash_bytes(file + sizeof *h, size - sizeof *h, hash);
    return memcmp(h->hash, hash, sizeof hash) == 0;
}

static cbx_status read_entry(cbx_ctx *ctx, int fd, const struct stat *s, const void *key, size_t key_len, bool *hit,
                             char **data, size_t *len, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t size = (size_t)s->st_size;
    cbx_status st = CBX_OK;
    char *file = cbx_mem_alloc(al, size), *copy = NULL;
    header h;

    if (!file) return cbx_fail_nomem(err, "an entry of the cache");
    if (cbx__read_all(fd, file, size, 0) && is_entry(file, size, key, key_len, &h)) {
        copy = cbx_mem_alloc(al, (size_t)h.data_len);
        if (copy) {
            *data = memcpy(copy, file + sizeof h + key_len, (size_t)h.data_len);
            *len = (size_t)h.data_len;
            *hit = true;
        } else {
            st = cbx_fail_nomem(err, "an entry of the cache");
        }
    }
    cbx_mem_free(al, file, size);
    return st;
}

cbx_status cbx__jit_cache_load(cbx_ctx *ctx, const void *key, size_t key_len, bool *hit, char **data, size_t *len,
                               cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st;
    const char *folder = NULL, *path;
    struct stat s;

    *hit = false;
    path = entry_path(ctx, &arena, key, key_len, &folder, &st, err);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd >= 0) {
        if (fstat(fd, &s) == 0 && is_ours(&s) && s.st_size > (off_t)sizeof(header) &&
            (uint64_t)s.st_size <= limit_bytes())
            st = read_entry(ctx, fd, &s, key, key_len, hit, data, len, err);
        if (*hit && s.st_mtime < time(NULL) - USED_AGAIN_S) (void)futimens(fd, NULL);
        close(fd);
    }
    return st;
}

/* ---- bounding the size ---- */

typedef struct found {
    struct timespec used;
    uint64_t bytes;
    const char *name;
} found;

static int older_first(const void *a, const void *b)
{
    const found *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Removes the files that were used least recently until an eighth of the limit is free. */
static cbx_status trim(cbx_ctx *ctx, cbx_arena *arena, const char *folder, uint64_t limit, cbx_err *err)
{
    const int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *const *names = NULL;
    size_t n = 0, files = 0;
    uint64_t total = 0;
    cbx_status st = at < 0 ? CBX_EIO : cbx_dir_list(ctx, folder, NULL, arena, &names, &n, err);
    found *list = st ? NULL : cbx_arena_calloc(arena, n, sizeof *list);

    if (!st && !list) st = cbx_fail_nomem(err, "the entries of the cache");
    for (size_t i = 0; !st && i < n; i++) {
        struct stat s;
        const size_t length = strlen(names[i]);
        if (fstatat(at, names[i], &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode)) continue;
        const bool entry = length > strlen(SUFFIX) && strcmp(names[i] + length - strlen(SUFFIX), SUFFIX) == 0;
        if (!entry) {
            if (names[i][0] == '.' && s.st_mtime < time(NULL) - ABANDONED_S) (void)unlinkat(at, names[i], 0);
            continue;
        }
        list[files++] = (found){ s.st_mtim, (uint64_t)s.st_size, names[i] };
        total += (uint64_t)s.st_size;
    }
    if (!st && total > limit) {
        qsort(list, files, sizeof *list, older_first);
        for (size_t i = 0; i < files && total > limit - limit / 8; i++)
            if (unlinkat(at, list[i].name, 0) == 0) total -= list[i].bytes;
    }
    if (at >= 0) close(at);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

/* Looking at all files is slow, so that one in many stores does it: the more often, the more
 * is stored. */
static bool is_time_to_trim(const char *name, uint64_t bytes, uint64_t limit)
{
    const uint64_t every = limit / 16 / (bytes ? bytes : 1);
    char digits[9] = { 0 };

    memcpy(digits, name, 8);
    return every <= 1 || strtoul(digits, NULL, 16) % every == 0;
}

/* A new file in the folder with the entry; 0: it is there, under temporary. */
static int write_entry(const char *temporary, const header *h, const void *key, size_t key_len, const void *data,
                       size_t len)
{
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool whole;

    if (fd < 0) return -1;
    whole = cbx__write_all(fd, (const char *)h, sizeof *h) == sizeof *h &&
            cbx__write_all(fd, key, key_len) == key_len && cbx__write_all(fd, data, len) == len;
    if (close(fd) != 0) whole = false;
    if (!whole) (void)unlink(temporary);
    return whole ? 0 : -1;
}

cbx_status cbx__jit_cache_store(cbx_ctx *ctx, const void *key, size_t key_len, const void *data, size_t len,
                                cbx_err *err)
{
    static atomic_uint written; /* two temporaries of one process have two names */
    const uint64_t limit = limit_bytes(), bytes = sizeof(header) + key_len + len;
    header h = { .key_len = key_len, .data_len = len };
    char hash[CBX_HASH_SIZE];
    const char *folder = NULL, *path, *temporary = NULL;
    cbx_hasher *hasher = NULL;
    cbx_status st;

    if (bytes > limit / 4) return CBX_OK;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    path = entry_path(ctx, &arena, key, key_len, &folder, &st, err);
    if (path) {
        temporary = cbx_arena_printf(&arena, "%s/.%ld-%u", folder, (long)getpid(), atomic_fetch_add(&written, 1));
        hasher = cbx_hasher_create();
        if (!temporary || !hasher) st = cbx_fail_nomem(err, "an entry of the cache");
    }
    if (path && !st) {
        memcpy(h.magic, MAGIC, sizeof h.magic);
        cbx_hasher_add(hasher, key, key_len);
        cbx_hasher_add(hasher, data, len);
        cbx_hasher_end(hasher, hash);
        hasher = NULL;
        memcpy(h.hash, hash, sizeof hash);
        if (write_entry(temporary, &h, key, key_len, data, len) == 0 && rename(temporary, path) != 0)
            (void)unlink(temporary);
        if (is_time_to_trim(path + strlen(folder) + 1, bytes, limit)) st = trim(ctx, &arena, folder, limit, err);
    }
    cbx_hasher_end(hasher, hash);
    return st;
}
