/*
 * Files: read whole, write atomically, folders, a cache folder.
 *
 * Atomic writing: temporary file in the same folder, fsync, rename, fsync of the folder.  rename() replaces in one step
 * for every reader (POSIX), the first fsync keeps an empty file from taking the name after a crash, the second makes
 * the name last. A symbolic link stays: what it leads to is replaced, beside itself.  What is there and is no regular
 * file (/dev/null, a pipe) is opened and written, never replaced: a rename would put a file in the place of the device.
 * A temporary is called ".cbx-<16 hex digits>.tmp"; a killed process may leave one, which no reader ever
 * looks at.
 */
#include "calibrax/base/file.h"

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

#define READ_MOST_DEFAULT ((size_t)1 << 30)
#define READ_FIRST        ((size_t)4096)
#define TEMPORARY_SIZE    32
#define TEMPORARY_TRIES   16
#define MAX_LINKS         40 /* as Linux follows, path_resolution(7) */

/* --- reading --- */

/* Everything from fd in a buffer of *cap bytes; it grows, since a size of 0 may lie (/proc) and a file may grow
 * meanwhile. */
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
    char *buffer = NULL;
    size_t used = 0, cap = 0;
    struct stat info;
    cbx_status st;

    if (max_bytes == 0) max_bytes = READ_MOST_DEFAULT;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &info)) {
        st = cbx_fail_errno(err, errno, "cannot look at '%s'", path);
        goto done;
    }
    if (info.st_size > 0 && (uint64_t)info.st_size > max_bytes) {
        st = cbx_fail(err, CBX_EOVERFLOW, "'%s' has %lld bytes, at most %zu are read", path, (long long)info.st_size,
                      max_bytes);
        goto done;
    }
    size_t first = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size + 2 : READ_FIRST;
    buffer = cbx_mem_alloc(al, first);
    if (!buffer) {
        st = cbx_fail_nomem(err, path);
        goto done;
    }
    cap = first;
    st = read_all(al, fd, path, max_bytes, &buffer, &used, &cap, err);
    if (st) goto done;
    char *fitted = cbx_mem_resize(al, buffer, cap, used + 1);
    if (!fitted) {
        st = cbx_fail_nomem(err, path);
        goto done;
    }
    fitted[used] = 0;
    *data = fitted;
    *len = used;
    buffer = NULL;
done:
    cbx_mem_free(al, buffer, cap);
    close(fd);
    return st;
}

/* --- writing --- */

/* Length of the folder part of a path without its last '/', 1 for "/x", 0 if there is none. */
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
    return cbx_fail_errno(err, errno, "cannot make a temporary file beside '%s'", path);
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        data += n;
        len -= (size_t)n;
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

/* What stands at a path, links followed; kinds that must not be replaced are told apart here once. */
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

/* The name behind all symbolic links of the last part, in the arena; that of a link to nothing is the file to make. */
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

/* A device or a pipe.  A pipe that nobody reads is an error at once, not a wait for a reader. */
static cbx_status write_stream(const char *path, const void *data, size_t len, cbx_err *err)
{
    cbx_status st = CBX_OK;
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO) return cbx_fail(err, CBX_EIO, "cannot write '%s': nobody reads it", path);
    if (fd < 0) return cbx_fail_errno(err, errno, "cannot open '%s'", path);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) || !write_all(fd, data, len))
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

static cbx_status replacement_open(cbx_ctx *ctx, cbx_replacement *r, const char *path, cbx_err *err)
{
    cbx_arena_init(&r->arena, cbx_ctx_allocator(ctx));
    r->folder = ".";
    cbx_status st = follow_links(&r->arena, path, &r->target, err);
    /* all memory is taken before the rename: behind it nothing may fail but the disk */
    if (!st && r->target == path) r->target = cbx_arena_strdup(&r->arena, path);
    if (!st && r->target && folder_length(r->target))
        r->folder = cbx_arena_strndup(&r->arena, r->target, folder_length(r->target));
    if (!st && (!r->target || !r->folder)) st = cbx_fail_nomem(err, path);
    if (!st) st = temporary_create(&r->arena, r->target, &r->temporary, &r->fd, err);
    if (st) cbx_arena_clear(&r->arena);
    return st;
}

static void replacement_drop(cbx_replacement *r)
{
    if (r->fd >= 0) close(r->fd);
    unlink(r->temporary);
    cbx_arena_clear(&r->arena);
}

/* By name, since a library may have replaced the file itself. */
static cbx_status temporary_open(const cbx_replacement *r, int *fd, cbx_err *err)
{
    *fd = open(r->temporary, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? cbx_fail_errno(err, errno, "cannot write '%s'", r->target) : CBX_OK;
}

cbx_status cbx__replacement_settle(cbx_replacement *r, dev_t *device, cbx_err *err)
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

cbx_status cbx__replacement_sync(const cbx_replacement *r, bool all, cbx_err *err)
{
    int fd;
    cbx_status st = temporary_open(r, &fd, err);
    if (st) return st;
    if (all ? syncfs(fd) : fsync(fd)) st = cbx_fail_errno(err, errno, "cannot write '%s'", r->target);
    close(fd);
    return st;
}

cbx_status cbx__replacement_place(const cbx_replacement *r, cbx_err *err)
{
    return rename(r->temporary, r->target) ? cbx_fail_errno(err, errno, "cannot replace '%s'", r->target) : CBX_OK;
}

cbx_status cbx__replacement_sync_folder(const cbx_replacement *r, cbx_err *err)
{
    return sync_folder(r->folder, r->target, err);
}

void cbx__replacement_free(cbx_replacement *r)
{
    cbx_allocator al = r->arena.al;
    cbx_arena_clear(&r->arena);
    cbx_mem_free(&al, r, sizeof *r);
}

const char *cbx__replacement_target(const cbx_replacement *r) { return r->target; }
const char *cbx__replacement_folder(const cbx_replacement *r) { return r->folder; }

static cbx_status replacement_finish(cbx_replacement *r, cbx_err *err)
{
    dev_t device;
    cbx_status st = cbx__replacement_settle(r, &device, err);
    if (!st) st = cbx__replacement_sync(r, false, err);
    if (!st) st = cbx__replacement_place(r, err);
    if (st) {
        replacement_drop(r);
        return st;
    }
    st = cbx__replacement_sync_folder(r, err);
    cbx_arena_clear(&r->arena);
    return st;
}

static cbx_status replace_file(cbx_ctx *ctx, const char *path, const void *data, size_t len, cbx_err *err)
{
    cbx_replacement r;
    cbx_status st = replacement_open(ctx, &r, path, err);
    if (st) return st;
    if (write_all(r.fd, data, len)) return replacement_finish(&r, err);
    st = cbx_fail_errno(err, errno, "cannot write '%s'", path);
    replacement_drop(&r);
    return st;
}

cbx_status cbx_file_write_atomic(cbx_ctx *ctx, const char *path, const void *data, size_t len, cbx_err *err)
{
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: return replace_file(ctx, path, data, len, err);
    case KIND_STREAM: return write_stream(path, data, len, err);
    default: return st;
    }
}

cbx_status cbx_replacement_begin(cbx_ctx *ctx, const char *path, cbx_replacement **out, cbx_err *err)
{
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: break;
    case KIND_STREAM: return cbx_fail(err, CBX_EIO, "cannot write '%s': it is a device or a pipe, name a file", path);
    default: return st;
    }
    cbx_replacement *r = cbx_mem_alloc(cbx_ctx_allocator(ctx), sizeof *r);
    if (!r) return cbx_fail_nomem(err, path);
    st = replacement_open(ctx, r, path, err);
    if (st) {
        cbx_mem_free(cbx_ctx_allocator(ctx), r, sizeof *r);
        return st;
    }
    *out = r;
    return CBX_OK;
}

const char *cbx_replacement_path(const cbx_replacement *r) { return r->temporary; }

cbx_status cbx_replacement_commit(cbx_replacement *r, cbx_err *err)
{
    cbx_allocator al = r->arena.al;
    cbx_status st = replacement_finish(r, err);
    cbx_mem_free(&al, r, sizeof *r);
    return st;
}

void cbx_replacement_discard(cbx_replacement *r)
{
    if (!r) return;
    cbx_allocator al = r->arena.al;
    replacement_drop(r);
    cbx_mem_free(&al, r, sizeof *r);
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
    cbx_arena arena;
    char *name = NULL;
    int fd = -1;
    cbx_status st = CBX_OK;
    switch (kind_of(path, &st, err)) {
    case KIND_FILE: break;
    case KIND_STREAM: return access(path, W_OK) ? cbx_fail_errno(err, errno, "cannot write '%s'", path) : CBX_OK;
    default: return st;
    }
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    st = follow_links(&arena, path, &path, err);
    if (!st) st = cbx_dir_create_parent(ctx, path, err);
    if (!st) st = temporary_create(&arena, path, &name, &fd, err);
    if (!st) {
        close(fd);
        unlink(name);
    }
    cbx_arena_clear(&arena);
    return st;
}

/* --- folders --- */

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Makes path, which is scratch, and what is missing above it. */
static cbx_status make_folders(char *path, mode_t mode, cbx_err *err)
{
    for (char *p = path + 1;; p++) {
        if (*p && *p != '/') continue;
        char kept = *p;
        *p = 0;
        if (mkdir(path, mode)) {
            int saved = errno;
            if (!is_folder(path))
                return cbx_fail_errno(err, saved == EEXIST ? ENOTDIR : saved, "cannot make the folder '%s'", path);
        }
        *p = kept;
        if (!kept) return CBX_OK;
    }
}

/* Makes the first n bytes of path as a folder. */
static cbx_status make_prefix(cbx_ctx *ctx, const char *path, size_t n, mode_t mode, cbx_err *err)
{
    cbx_arena arena;
    if (n == 0) return CBX_OK;
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    char *copy = cbx_arena_strndup(&arena, path, n);
    cbx_status st = copy ? make_folders(copy, mode, err)
                         : cbx_fail(err, CBX_ENOMEM, "out of memory for the folder '%s'", path);
    cbx_arena_clear(&arena);
    return st;
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

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool name_wanted(const char *name, const char *suffix)
{
    size_t n = strlen(name), tail = suffix ? strlen(suffix) : 0;
    if (!strcmp(name, ".") || !strcmp(name, "..")) return false;
    return n >= tail && memcmp(name + n - tail, suffix ? suffix : "", tail) == 0;
}

typedef struct name_list {
    const char **names;
    size_t count, cap;
} name_list;

static bool name_list_add(const cbx_allocator *al, name_list *list, const char *name)
{
    if (!name) return false;
    if (list->count == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        const char **names = cbx_mem_resize(al, list->names, list->cap * sizeof *names, cap * sizeof *names);
        if (!names) return false;
        list->names = names;
        list->cap = cap;
    }
    list->names[list->count++] = name;
    return true;
}

cbx_status cbx_dir_list(cbx_ctx *ctx, const char *path, const char *suffix, cbx_arena *arena, const char *const **names,
                        size_t *count, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    name_list list = { NULL, 0, 0 };
    cbx_status st = CBX_OK;
    DIR *dir = opendir(path);
    if (!dir) return cbx_fail_errno(err, errno, "cannot open the folder '%s'", path);
    for (struct dirent *entry; errno = 0, entry = readdir(dir);) {
        if (!name_wanted(entry->d_name, suffix)) continue;
        if (name_list_add(al, &list, cbx_arena_strdup(arena, entry->d_name))) continue;
        st = cbx_fail_nomem(err, path);
        goto done;
    }
    if (errno) {
        st = cbx_fail_errno(err, errno, "cannot list the folder '%s'", path);
        goto done;
    }
    const char **kept = cbx_arena_calloc(arena, list.count + 1, sizeof *kept);
    if (!kept) {
        st = cbx_fail_nomem(err, path);
        goto done;
    }
    if (list.count) {
        memcpy(kept, list.names, list.count * sizeof *kept);
        qsort(kept, list.count, sizeof *kept, compare_names);
    }
    *names = kept;
    *count = list.count;
done:
    cbx_mem_free(al, list.names, list.cap * sizeof *list.names);
    closedir(dir);
    return st;
}

/* --- paths --- */

bool cbx_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

/* The i-th place for a cache folder, in the arena; false if the environment names none. */
static bool cache_place(cbx_arena *arena, int i, const char *name, char **place)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    switch (i) {
    case 0:
        if (!xdg || xdg[0] != '/') return false;
        *place = cbx_arena_printf(arena, "%s/calibrax/%s", xdg, name);
        return true;
    case 1:
        if (!home || home[0] != '/') return false;
        *place = cbx_arena_printf(arena, "%s/.cache/calibrax/%s", home, name);
        return true;
    default: *place = cbx_arena_printf(arena, "/tmp/calibrax-%u/%s", (unsigned)geteuid(), name); return true;
    }
}

/* /tmp is everybody's: a folder that another user made there in our name is refused. */
static bool is_ours(const char *path, size_t parent_length)
{
    char parent[64];
    struct stat info;
    snprintf(parent, sizeof parent, "%.*s", (int)parent_length, path);
    return lstat(parent, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
}

cbx_status cbx_cache_dir(cbx_ctx *ctx, const char *name, cbx_arena *arena, const char **path, cbx_err *err)
{
    cbx_status st = CBX_OK;
    for (int i = 0; i < 3; i++) {
        char *place = NULL;
        if (!cache_place(arena, i, name, &place)) continue;
        if (!place) return cbx_fail(err, CBX_ENOMEM, "out of memory for the cache folder '%s'", name);
        st = make_prefix(ctx, place, strlen(place), 0700, err);
        if (st == CBX_ENOMEM) return st;
        if (st) continue;
        if (i == 2 && !is_ours(place, folder_length(place)))
            return cbx_fail(err, CBX_EPERM, "'%s' belongs to another user: set XDG_CACHE_HOME to a folder of your own",
                            place);
        *path = place;
        return CBX_OK;
    }
    return st;
}
