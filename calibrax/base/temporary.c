/*
 * Temporary folders; see temporary.h.
 *
 * What is in one may have been made by a program that means ill: names that are links, folders
 * without rights, trees deeper than a path is long.
 */
#include "calibrax/base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/file.h"

#define DEPTH_MAX  16    /* below, folders are moved up before they are emptied */
#define ROUNDS_MAX 65536 /* of moving up */

cbx_status cbx__temporary_make(const char *what, char path[CBX__TEMPORARY_SIZE], cbx_err *err)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, CBX__TEMPORARY_SIZE, "%s/calibrax-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", what);
    cbx_status st = CBX_OK;

    if (n < 0 || n >= CBX__TEMPORARY_SIZE)
        st = cbx_fail(err, CBX_EIO, "the name of the scratch folder in '%.120s' is too long: set TMPDIR", tmp);
    else if (!mkdtemp(path))
        st = cbx_fail(err, CBX_EIO, "cannot create a scratch folder in '%s': %s; set TMPDIR to a writable folder",
                      tmp && *tmp ? tmp : "/tmp", strerror(errno));
    if (st) path[0] = 0;
    return st;
}

cbx_status cbx__temporary_make_in(cbx_ctx *ctx, const char *folder, const char *what, cbx_arena *arena,
                                  const char **path, cbx_err *err)
{
    cbx_status st = cbx_dir_create(ctx, folder, err);
    char *whole, *made;

    if (st) return st;
    whole = realpath(folder, NULL);
    if (!whole) return cbx_fail(err, CBX_EIO, "cannot use the scratch folder '%s': %s", folder, strerror(errno));
    made = cbx_arena_printf(arena, "%s/%s-XXXXXX", whole, what);
    free(whole);
    if (!made) return cbx_fail_nomem(err, "the name of a scratch folder");
    if (!mkdtemp(made))
        return cbx_fail(err, CBX_EIO, "cannot create a scratch folder in '%s': %s", folder, strerror(errno));
    *path = made;
    return CBX_OK;
}

/* --- removing --- */

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

typedef struct removal {
    int top;
    unsigned long moved; /* folders that were moved up, which gives them their names */
} removal;

static void empty(removal *r, int folder, int depth);

static void remove_folder(removal *r, int at, const char *name, int depth)
{
    char up[32];
    int fd;

    fchmodat(at, name, 0700, 0); /* a folder, never a link */
    if (depth >= DEPTH_MAX) {
        snprintf(up, sizeof up, ".up-%lu", r->moved++);
        renameat(at, name, r->top, up);
        return;
    }
    fd = open_folder(at, name);
    if (fd >= 0) empty(r, fd, depth + 1);
    unlinkat(at, name, AT_REMOVEDIR);
}

/* Empties an open folder, and closes it. */
static void empty(removal *r, int folder, int depth)
{
    DIR *dir = fdopendir(folder);
    struct dirent *e;

    if (!dir) {
        close(folder);
        return;
    }
    while ((e = readdir(dir))) {
        struct stat info;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (S_ISDIR(info.st_mode))
            remove_folder(r, dirfd(dir), e->d_name, depth);
        else
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
}

void cbx__temporary_remove(const char *path)
{
    removal r = { open_folder(AT_FDCWD, path), 0 };

    if (r.top < 0 && errno == EACCES && chmod(path, 0700) == 0) r.top = open_folder(AT_FDCWD, path);
    if (r.top < 0) return;
    fchmod(r.top, 0700);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        const unsigned long before = r.moved;
        const int again = open_folder(r.top, ".");
        if (again >= 0) empty(&r, again, 0);
        if (rmdir(path) == 0 || errno == ENOENT || r.moved == before) break;
    }
    close(r.top);
}
