/*
 * Where the worker and launcher programs are.  First a variable that names the program itself, then
 * the folder NPERF_LIBEXEC, then places relative to the running program and to this library: the
 * build tree and the installed tree have fixed shapes, so no binary needs to carry the path it was
 * built or installed at, and a moved tree still works.
 */
#include "calibrax/base/programs.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calibrax/base/path.h"

typedef struct tool_spec {
    const char *name;
    const char *variable;   /* names the program, or a folder that holds it */
    const char *places[12]; /* relative to the folder of the program and of the library, NULL-terminated */
    int mode;               /* for access() */
} tool_spec;

/* build tree: programs/nperf/nperf, tests/perf/test_x, python/ with the extension, and calibrax
 * library in the top folder, the build folder two below the source; a Python environment: the
 * extension in lib/pythonX.Y/site-packages, with what its package brings beside it */
#define PROGRAM_PLACES(folder)                                                                                         \
    {                                                                                                                  \
        ".", "../" folder, "../../programs/" folder, "programs/" folder, "../programs/" folder, "tools",               \
            "../libexec/calibrax", "../../libexec/calibrax", "../../../libexec/calibrax"                               \
    }
#define PYTHON_PLACES                                                                                                  \
    {                                                                                                                  \
        ".", "../share/calibrax/workers/python", "../../share/calibrax/workers/python", "../../../../workers/python",  \
            "../../workers/python", "../../../workers/python", "tools", "../../../share/calibrax/workers/python"       \
    }

static const tool_spec specs[CBX__TOOL_COUNT] = {
    [CBX__TOOL_LAUNCH] = { "nperf-launch", "NPERF_LAUNCH", PROGRAM_PLACES("launcher"), X_OK },
    [CBX__TOOL_WORKER] = { "nperf-worker", "NPERF_WORKER", PROGRAM_PLACES("workers"), X_OK },
    [CBX__TOOL_PYTHON_WORKER] = { "worker.py", "NPERF_WORKERS_PYTHON", PYTHON_PLACES, R_OK },
    [CBX__TOOL_PYTHON_CALL] = { "call.py", "CALIBRAX_CALL_PYTHON", PYTHON_PLACES, R_OK },
    [CBX__TOOL_PYTHON_WANDB] = { "wandb_files.py", "CALIBRAX_WANDB_PYTHON", PYTHON_PLACES, R_OK },
};

#define PATH_SIZE 4096

static bool is_there(char path[PATH_SIZE], const char *folder, const char *place, const tool_spec *spec)
{
    const char *inside = strcmp(place, ".") == 0 ? "" : place;
    int n = snprintf(path, PATH_SIZE, "%s/%s%s%s", folder, inside, *inside ? "/" : "", spec->name);
    return n > 0 && n < PATH_SIZE && access(path, spec->mode) == 0;
}

static bool search(char path[PATH_SIZE], const tool_spec *spec)
{
    const char *libexec = getenv("NPERF_LIBEXEC");
    char folders[2][PATH_SIZE] = { "", "" }; /* of the program, and of the library */
    ssize_t n = readlink("/proc/self/exe", folders[0], PATH_SIZE - 1);
    Dl_info info;
    char *library = dladdr((const void *)specs, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    folders[0][n > 0 ? n : 0] = '\0';
    if (library && strlen(library) < PATH_SIZE) strcpy(folders[1], library);
    free(library);
    if (libexec && *libexec && is_there(path, libexec, ".", spec)) return true;
    for (size_t f = 0; f < CBX_LEN(folders); f++) {
        char *slash = strrchr(folders[f], '/');
        *(slash ? slash : folders[f]) = '\0';
        for (size_t i = 0; *folders[f] && spec->places[i]; i++)
            if (is_there(path, folders[f], spec->places[i], spec)) return true;
    }
    return false;
}

cbx_status cbx__tool_find(cbx__tool tool, cbx_arena *arena, const char **path, cbx_err *err)
{
    const tool_spec *spec = &specs[tool];
    const char *value = getenv(spec->variable);
    struct stat info;
    char found[PATH_SIZE];
    bool named = value && *value;
    if (named && !is_there(found, value, ".", spec)) {
        if (stat(value, &info) || !S_ISREG(info.st_mode) || access(value, spec->mode) || strlen(value) >= PATH_SIZE)
            return cbx_fail(
                err, CBX_ENOENT,
                "%s names '%s', which is missing or cannot be used: set it to the path of '%s', or unset it",
                spec->variable, cbx_path_base(value), spec->name);
        strcpy(found, value);
    }
    if (!named && !search(found, spec))
        return cbx_fail(err, CBX_ENOENT, "cannot find '%s': build or install it, or set %s to its path", spec->name,
                        spec->variable);
    char *whole = realpath(found, NULL); /* it may be started from another folder */
    const char *copy = cbx_arena_strdup(arena, found[0] == '/' || !whole ? found : whole);
    free(whole);
    if (!copy) return cbx_fail(err, CBX_ENOMEM, "no memory for the path of '%s'", spec->name);
    *path = copy;
    return CBX_OK;
}
