/* Temporary folders.  See temporary.h. */
#include "calibrax/base/temporary.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_FOLDERS 16

cbx_status cbx__temporary_make(const char *what, char path[CBX__TEMPORARY_SIZE], cbx_err *err)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(path, CBX__TEMPORARY_SIZE, "%s/calibrax-%s-XXXXXX", tmp && *tmp ? tmp : "/tmp", what);
    cbx_status st = CBX_OK;

    if (n < 0 || n >= CBX__TEMPORARY_SIZE)
        st = cbx_fail(err, CBX_EIO, "the name of the scratch folder in '%.120s' is too long: set TMPDIR", tmp);
    else if (!mkdtemp(path))
        st = cbx_fail(err, CBX_EIO,
                      "cannot make a scratch folder in '%s': %s; set TMPDIR to a folder that can be written",
                      tmp && *tmp ? tmp : "/tmp", strerror(errno));
    if (st) path[0] = 0;
    return st;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

void cbx__temporary_remove(const char *path)
{
    if (path[0]) nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
