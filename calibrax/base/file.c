/*
 * Files: read whole, write atomically, folders, a cache folder.
 *
 * Atomic writing: temporary file in the same folder, fsync, rename, fsync of the folder.  rename()
 * replaces in one step for every reader (POSIX), the first fsync keeps an empty file from taking
 * the name after a crash, the second makes the name last. A symbolic link stays: what it leads to
 * is replaced, beside itself.  What is there and is not a regular file (/dev/null, a pipe) is
 * opened and written, never replaced: a rename would put a file in the place of the device.  A
 * temporary is called ".cbx-<16 hex digits>.tmp"; a killed process may leave one, which no reader
 * ever looks at.
 */
#include "calibrax/base/file_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file_batch.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"

#define MAX_READ_DEFAULT ((size_t)1 << 30)
#define READ_FIRST       ((size_t)4096)
#define TEMPORARY_TRIES  16
#define MAX_LINKS        40 /* as Linux follows, path_resolution(7) */

/* --- reading --- */

/* Everything from fd in a buffer of *cap bytes, which grows: sizes in /proc are 0, and a file may
 * grow meanwhile. */
static cbx_status read_all(const cbx_allocator *al, int fd, const char *path, size_t max_bytes, char **data,
                           size_t *len, size_t *cap, cbx_err *err)
{
    for (;;) {
        if (*len + 1 >= *cap) {
            char *grown = cbx_mem_resize(al, *data, *cap, 2 * *cap);
            if (!grown) return cbx_fail_nomem(err, path);
            *data = grown;
            *cap *= 2;
        }
        ssize_t n = read(fd, *data + *len, *cap - *len - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cbx_fail_errno(err, errno, "cannot read '%s'", path);
        if (n == 0) return CBX_OK;
        *len += (size_t)n;
        if (*len > max_bytes) return cbx_fail(err, CBX_EOVERFLOW, "'%s' is larger than %zu bytes", path, max_bytes);
    }
}

cbx_status cbx_file_read(cbx_ctx *ctx, const char *path, size_t max_bytes, char **data, size_t *len, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    char *buffer = NULL, *fitted;
    size_t used = 0, cap = READ_FIRST;
    struct stat info;
    cbx_status st = CBX_OK;

    if (max_bytes == 0) max_bytes = MAX_READ_DEFAULT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &info))
        st = cbx_fail_errno(err, errno, "cannot read the attributes of '%s'", path);
    else if (info.st_size > 0 && (uint64_t)info.st_size > max_bytes)
        st = cbx_fail(err, CBX_EOVERFLOW, "'%s' has %lld bytes, at most %zu are read", path, (long long)info.st_size,
                      max_bytes);
    else if (S_ISREG(info.st_mode) && info.st_size > 0)
        cap = (size_t)info.st_size + 2;
    if (!st && !(buffer = cbx_mem_alloc(al, cap))) st = cbx_fail_nomem(err, path);
    if (!st) st = read_all(al, fd, path, max_bytes, &buffer, &used, &cap, err);
    close(fd);
    fitted = st ? NULL : cbx_mem_resize(al, buffer, cap, used + 1);
    if (!st && !fitted) st = cbx_fail_nomem(err, path);
    if (st) {
        cbx_mem_free(al, buffer, cap);
        return st;
    }
    fitted[used] = 0;
    *data = fitted;
    *len = used;
    return CBX_OK;
}

/* --- writing --- */

/* Length of the folder part of a path without its last '/', 1 for "/x", 0 for a bare name. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return 0;
    return slash == path ? 1 : (size_t)(slash - path);
}

/* A new file beside path; its name goes to *name, in the arena. */
static cbx_status temporary_create(cbx_arena *arena, const char *path, char **name, int *out_fd, cbx_err *err)
{
    size_t folder = folder_length(path);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        uint64_t bits = 0;
        if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits)
            bits = cbx_clock_ns() * 0x9E3779B97F4A7C15u + (uint64_t)getpid();
        *name = cbx_arena_printf(arena, "%.*s%s.cbx-%016llx.tmp", (int)folder, path, folder ? "/" : "",
                                 (unsigned long long)bits);
        if (!*name) return cbx_fail_nomem(err, path);
        *out_fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*out_fd >= 0) return CBX_OK;
        if (errno != EEXIST) break;
    }
    return cbx_fail_errno(err, errno, "cannot create a temporary file next to '%s'", path);
}

size_t cbx__write_all(int fd, const char *data, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(fd, data + done, len - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        done += (size_t)n;
    }
    return done;
}

bool cbx__read_all(int fd, char *data, size_t n, off_t at)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, data + done, n - done, at + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

static cbx_status sync_folder(const char *name, const char *path, cbx_err *err)
{
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return CBX_OK; /* a folder that may be written but not read cannot be synced by name */
    int failed = fsync(fd), saved = errno;
    close(fd);
    /* some file systems cannot sync a folder, and say EINVAL */
    return failed && saved != EINVAL ? cbx_fail_errno(err, saved, "cannot sync the folder of '%s'", path) : CBX_OK;
}

/* What a path names, links followed. */
typedef enum path_kind { KIND_FILE, KIND_STREAM, KIND_REFUSED } path_kind;

static path_kind kind_of(const char *path, cbx_status *st, cbx_err *err)
{
    struct stat info;
    if (stat(path, &info) || S_ISREG(info.st_mode)) return KIND_FILE;
    if (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode)) return KIND_STREAM;
    *st = S_ISDIR(info.st_mode)
              ? cbx_fail_errno(err, EISDIR, "cannot write '%s'", path)
              : cbx_fail(err, CBX_EIO, "cannot write '%s': it is a block device or a socket, name a file", path);
    return KIND_REFUSED;
}

/* The name behind all symbolic links of the last part, in the arena; that of a link to nothing is
 * the file to make. */
static cbx_status follow_links(cbx_arena *arena, const char *path, const char **out, cbx_err *err)
{
    const char *at = path;
    char link[PATH_MAX];
    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t n = readlink(at, link, sizeof link);
        if (n < 0 || (size_t)n == sizeof link) { /* no link, or nothing there */
            *out = at;
            return CBX_OK;
        }
        size_t folder = link[0] == '/' ? 0 : folder_length(at);
        at = cbx_arena_printf(arena, "%.*s%s%.*s", (int)folder, at, folder ? "/" : "", (int)n, link);
        if (!at) return cbx_fail_nomem(err, path);
    }
    return cbx_fail_errno(err, ELOOP, "cannot write '%s'", path);
}

/* A device or a pipe.  A pipe without a reader is an error at once. */
static cbx_status write_stream(const char *path, const void *data, size_t len, cbx_err *err)
{
    cbx_status st = CBX_OK;
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO) return cbx_fail(err, CBX_EIO, "cannot write '%s': the pipe has no reader", path);
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) || cbx__write_all(fd, data, len) < len)
        st = cbx_fail_errno(err, errno, "cannot write '%s'", path);
    if (close(fd) && !st) st = cbx_fail_errno(err, errno, "cannot write '%s'", path);
    return st;
}

/* --- replacing --- */

struct cbx_replacement {
    cbx_arena arena;
    const char *target, *folder; /* links followed */
    char *temporary;
    int fd; /* of the temporary as it was made */
};

static void replacement_free(cbx_replacement *r)
{
    cbx_arena_clear(&r->arena);
    cbx_mem_free(&r->arena.al, r, sizeof *r);
}

static cbx_status replacement_open(cbx_ctx *ctx, const char *path, cbx_replacement **out, cbx_err *err)
{
    cbx_replacement *r = cbx_mem_alloc(cbx_ctx_allocator(ctx), sizeof *r);
    if (!r) return cbx_fail_nomem(err, path);
    cbx_arena_init(&r->arena, cbx_ctx_allocator(ctx));
    r->folder = ".";
    cbx_status st = follow_links(&r->arena, path, &r->target, err);
    /* all memory is taken before the rename: behind it nothing may fail but the disk */
    if (!st && r->target == path) r->target = cbx_arena_strdup(&r->arena, path);
    if (!st && r->target && folder_length(r->target))
        r->folder = cbx_arena_strndup(&r->arena, r->target, folder_length(r->target));
    if (!st && (!r->target || !r->folder)) st = cbx_fail_nomem(err, path);
    if (!st) st = temporary_create(&r->arena, r->target, &r->temporary, &r->fd, err);
    return CBX_FINISH(st, *out = r, replacement_free(r));
}

void cbx_replacement_discard(cbx_replacement *r)
{
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    unlink(r->temporary);
    replacement_free(r);
}

/* By name, since a library may have replaced the file itself. */
static cbx_status temporary_open(const cbx_replacement *r, int *fd, cbx_err *err)
{
    *fd = open(r->temporary, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? cbx_fail_errno(err, errno, "cannot write '%s'", r->target) : CBX_OK;
}

/* Nothing more is written: permissions of the file that it replaces; *device: where it is. */
static cbx_status replacement_close(cbx_replacement *r, dev_t *device, cbx_err *err)
{
    int failed = close(r->fd), saved = errno, fd;
    struct stat old, made;
    r->fd = -1;
    if (failed) return cbx_fail_errno(err, saved, "cannot write '%s'", r->target);
    cbx_status st = temporary_open(r, &fd, err);
    if (st) return st;
    if (stat(r->target, &old) == 0 && S_ISREG(old.st_mode) && fchmod(fd, old.st_mode & 0777))
        st = cbx_fail_errno(err, errno, "cannot keep the permissions of '%s'", r->target);
    else if (fstat(fd, &made))
        st = cbx_fail_errno(err, errno, "cannot write '%s'", r->target);
    else
        *device = made.st_dev;
    close(fd);
    return st;
}

/* Its content goes to the disk; with `all`, that of every file on the file system, which may cost
 * the same. */
static cbx_status replacement_sync(const cbx_replacement *r, bool all, cbx_err *err)
{
    int fd;
    cbx_status st = temporary_open(r, &fd, err);
    if (st) return st;
    if (all ? syncfs(fd) : fsync(fd)) st = cbx_fail_errno(err, errno, "cannot write '%s'", r->target);
    close(fd);
    return st;
}

static cbx_status replacement_place(const cbx_replacement *r, cbx_err *err)
{
    return rename(r->temporary, r->target) ? cbx_fail_errno(err, errno, "cannot replace '%s'", r->target) : CBX_OK;
}

cbx_status cbx_replacement_commit(cbx_replacement *r, cbx_err *err)
{
    dev_t device;
    cbx_status st = replacement_close(r, &device, err);
    if (!st) st = replacement_sync(r, false, err);
    if (!st) st = replacement_place(r, err);
    if (st) {
        cbx_replacement_discard(r);
        return st;
    }
    st = sync_folder(r->folder, r->target, err);
    replacement_free(r);
    return st;
}

cbx_status cbx_file_write_atomic(cbx_ctx *ctx, const char *path, const void *data, size_t len, cbx_err *err)
{
    cbx_replacement *r;
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: break;
    case KIND_STREAM: return write_stream(path, data, len, err);
    default: return st;
    }
    st = replacement_open(ctx, path, &r, err);
    if (st) return st;
    if (cbx__write_all(r->fd, data, len) == len) return cbx_replacement_commit(r, err);
    st = cbx_fail_errno(err, errno, "cannot write '%s'", path);
    cbx_replacement_discard(r);
    return st;
}

cbx_status cbx_replacement_begin(cbx_ctx *ctx, const char *path, cbx_replacement **out, cbx_err *err)
{
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: return replacement_open(ctx, path, out, err);
    case KIND_STREAM: return cbx_fail(err, CBX_EIO, "cannot write '%s': it is a device or a pipe, name a file", path);
    default: return st;
    }
}

const char *cbx_replacement_path(const cbx_replacement *r) { return r->temporary; }

/*
 * --- many files, one wait for the disk: syncfs(2) instead of an fsync(2) each ---
 *
 * Workload: 10,000 files of 10 KB.  On ext4 each fsync commits the journal: 4 ms with a busy disk,
 * half of it for the file and half for its folder; 512 files together take as long as a single one.
 */

#define SYNCED_TOGETHER 8 /* minimum number of files for syncfs, which also waits for the writes of others */

static cbx_status sync_all(const cbx__file_batch *b, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (b->n >= SYNCED_TOGETHER) return replacement_sync(b->list[0], true, err);
    for (size_t i = 0; !st && i < b->n; i++) st = replacement_sync(b->list[i], false, err);
    return st;
}

static cbx_status place_all(cbx__file_batch *b, size_t *placed, cbx_err *err)
{
    cbx_status st = CBX_OK, late = CBX_OK;

    for (*placed = 0; !st && *placed < b->n; *placed += !st) st = replacement_place(b->list[*placed], err);
    for (size_t i = 0; i < *placed; i++) {
        const cbx_replacement *r = b->list[i];
        bool last = i + 1 == *placed || strcmp(r->folder, b->list[i + 1]->folder) != 0;
        if (last && !late) late = sync_folder(r->folder, r->target, st ? NULL : err);
    }
    return st ? st : late;
}

cbx_status cbx__file_batch_commit(cbx__file_batch *b, cbx_err *err)
{
    size_t placed = 0;
    cbx_status st = b->n ? sync_all(b, err) : CBX_OK;

    if (!st) st = place_all(b, &placed, err);
    for (size_t i = 0; i < placed; i++) replacement_free(b->list[i]);
    memmove(b->list, b->list + placed, (b->n - placed) * sizeof *b->list);
    b->n -= placed;
    cbx__file_batch_clear(b);
    return st;
}

void cbx__file_batch_clear(cbx__file_batch *b)
{
    for (size_t i = 0; i < b->n; i++) cbx_replacement_discard(b->list[i]);
    b->n = 0;
}

cbx_status cbx__file_batch_add(cbx__file_batch *b, cbx_replacement *r, cbx_err *err)
{
    dev_t device = 0;
    cbx_status st = replacement_close(r, &device, err);

    if (!st && (b->n == CBX__BATCH_MAX || (b->n && device != b->device))) st = cbx__file_batch_commit(b, err);
    if (st) {
        cbx_replacement_discard(r);
        return st;
    }
    b->device = device;
    b->list[b->n++] = r;
    return CBX_OK;
}

bool cbx__file_batch_has(const cbx__file_batch *b, const char *path)
{
    for (size_t i = 0; i < b->n; i++)
        if (!strcmp(b->list[i]->target, path)) return true;
    return false;
}

cbx_status cbx_file_remove(const char *path, cbx_err *err)
{
    char folder[PATH_MAX] = ".";
    size_t n = folder_length(path);
    if (unlink(path)) return cbx_fail_errno(err, errno, "cannot remove '%s'", path);
    if (n && n < sizeof folder) snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    return sync_folder(folder, path, err);
}

cbx_status cbx_file_check_writable(cbx_ctx *ctx, const char *path, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    char *name = NULL;
    int fd = -1;
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: break;
    case KIND_STREAM: return access(path, W_OK) ? cbx_fail_errno(err, errno, "cannot write '%s'", path) : CBX_OK;
    default: return st;
    }
    st = follow_links(&arena, path, &path, err);
    if (!st) st = cbx_dir_create_parent(ctx, path, err);
    if (!st) st = temporary_create(&arena, path, &name, &fd, err);
    if (!st) {
        close(fd);
        unlink(name);
    }
    return st;
}

/* --- folders --- */

/* Makes path, which is scratch, and what is missing above it. */
static cbx_status make_folders(char *path, mode_t mode, cbx_err *err)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char kept = *p;
        *p = 0;
        if (mkdir(path, mode)) {
            int saved = errno;
            if (!cbx_path_is_folder(path))
                return cbx_fail_errno(err, saved == EEXIST ? ENOTDIR : saved, "cannot create the folder '%s'", path);
        }
        *p = kept;
        if (!kept) return CBX_OK;
    }
}

/* Makes the first n bytes of path as a folder. */
static cbx_status make_prefix(cbx_ctx *ctx, const char *path, size_t n, mode_t mode, cbx_err *err)
{
    if (n == 0) return CBX_OK;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    char *copy = cbx_arena_strndup(&arena, path, n);
    return copy ? make_folders(copy, mode, err) : cbx_fail(err, CBX_ENOMEM, "out of memory for the folder '%s'", path);
}

cbx_status cbx_dir_create(cbx_ctx *ctx, const char *path, cbx_err *err)
{
    if (!*path) return cbx_fail(err, CBX_EINVAL, "the name of a folder is empty");
    return make_prefix(ctx, path, strlen(path), 0777, err);
}

cbx_status cbx_dir_create_parent(cbx_ctx *ctx, const char *path, cbx_err *err)
{
    return make_prefix(ctx, path, folder_length(path), 0777, err);
}

cbx_status cbx_dir_list(cbx_ctx *ctx, const char *path, const char *suffix, cbx_arena *arena, const char *const **names,
                        size_t *count, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    CBX_LIST(const char *) list = { 0 };
    const char **kept = NULL;
    cbx_status st = CBX_OK;
    DIR *dir = opendir(path);
    if (!dir) return cbx_fail_errno(err, errno, "cannot open the folder '%s'", path);
    for (struct dirent *entry; !st && (errno = 0, entry = readdir(dir));) {
        size_t n = strlen(entry->d_name), tail = suffix ? strlen(suffix) : 0;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (n < tail || (tail && memcmp(entry->d_name + n - tail, suffix, tail) != 0)) continue;
        const char *name = cbx_arena_strdup(arena, entry->d_name);
        if (!name || !cbx_list_push(al, &list, name)) st = cbx_fail_nomem(err, path);
    }
    if (!st && errno) st = cbx_fail_errno(err, errno, "cannot list the folder '%s'", path);
    if (!st && !(kept = cbx_arena_calloc(arena, list.n, sizeof *kept))) st = cbx_fail_nomem(err, path);
    if (!st && list.n) {
        memcpy(kept, list.items, list.n * sizeof *kept);
        qsort(kept, list.n, sizeof *kept, cbx_compare_texts);
    }
    if (!st) {
        *names = kept;
        *count = list.n;
    }
    cbx_list_clear(al, &list);
    closedir(dir);
    return st;
}

/* --- paths --- */

bool cbx_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

bool cbx_path_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* /tmp is shared: a folder that another user made there in our name is refused. */
static bool is_ours(const char *path, size_t parent_length)
{
    char parent[64];
    struct stat info;
    snprintf(parent, sizeof parent, "%.*s", (int)parent_length, path);
    return lstat(parent, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
}

cbx_status cbx_cache_dir(cbx_ctx *ctx, const char *name, cbx_arena *arena, const char **path, cbx_err *err)
{
    char ours[32];
    enum { GIVEN, SHARED = 3 };
    const char *const places[][2] = { [GIVEN] = { getenv("CALIBRAX_CACHE_DIR"), "" },
                                      { getenv("XDG_CACHE_HOME"), "calibrax/" },
                                      { getenv("HOME"), ".cache/calibrax/" },
                                      [SHARED] = { "/tmp", ours } };
    cbx_status st = CBX_OK;
    snprintf(ours, sizeof ours, "calibrax-%u/", (unsigned)geteuid());
    for (int i = 0; i < (int)CBX_LEN(places); i++) {
        const char *root = places[i][0], *place;
        if (!root || root[0] != '/') continue;
        place = cbx_arena_printf(arena, "%s/%s%s", root, places[i][1], name);
        if (!place) return cbx_fail_nomem(err, "a cache folder");
        st = make_prefix(ctx, place, strlen(place), 0700, err);
        if (st == CBX_ENOMEM || (st && i == GIVEN)) return st;
        if (st) continue;
        if (i == SHARED && !is_ours(place, folder_length(place)))
            return cbx_fail(err, CBX_EPERM, "'%s' belongs to another user: set XDG_CACHE_HOME to a folder of your own",
                            place);
        *path = place;
        return CBX_OK;
    }
    return st;
}
