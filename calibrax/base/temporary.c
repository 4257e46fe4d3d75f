/* Temporary folders.  See temporary.h. */
#include "calibrax/base/temporary.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"

#define OPEN_FOLDERS 16

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

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

static int open_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)where;
    if (type == FTW_D || type == FTW_DNR) (void)chmod(path, info->st_mode | S_IRWXU);
    return 0;
}

void cbx__temporary_remove(const char *path)
{
    struct stat info;

    if (!path[0]) return;
    nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    if (lstat(path, &info) != 0) return;
    nftw(path, open_one, OPEN_FOLDERS, FTW_PHYS);
    nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
