/* Finds the store of a command, and opens it. */
#include "programs/common/store_path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file.h"

const char *store_path(const opt_run *run, const char *data)
{
    const char *named = getenv("CALIBRAX_DATA"), *path = ".calibrax";
    char here[PATH_MAX];

    if (data) return data;
    if (named && *named) return named;
    if (!getcwd(here, sizeof here)) {
        opt_fail(run->program, "cannot find the working folder (%s): name the store with --data", strerror(errno));
        return NULL;
    }
    for (size_t depth = 0;; depth++) {
        const char *git = cbx_path_join(run->arena, here, ".git"); /* a folder, or a file in a work tree of its own */
        char *end = strrchr(here, '/');

        if (cbx_path_exists(git)) {
            if (depth) path = cbx_path_join(run->arena, here, ".calibrax");
            break;
        }
        if (!end || !end[1]) break;
        end[end == here] = '\0';
    }
    return path;
}

int store_open(const opt_run *run, const char *data, const cbx_store_opts *opts, cbx_store **out)
{
    const char *path = store_path(run, data);
    cbx_status st;

    if (!path) return EXIT_ERROR;
    st = cbx_store_open(run->ctx, path, opts, out, run->err);
    if (st == CBX_ENOENT && !data)
        return opt_fail(run->program, "%s: name one with --data or CALIBRAX_DATA, or make it with 'calibrax ingest'",
                        run->err->message);
    if (st) return opt_check(run, st);
    if (!data) fprintf(stderr, "%s: store '%s'\n", run->program->name, path);
    return EXIT_PASS;
}
