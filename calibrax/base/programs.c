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

/* Cuts the last part off; "" for a bare name. */
static void keep_folder(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

static void program_folder(char folder[PATH_SIZE])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_SIZE - 1);
    folder[n > 0 ? n : 0] = '\0';
    keep_folder(folder);
}

static void library_folder(char folder[PATH_SIZE])
{
    Dl_info info;
    folder[0] = '\0';
    if (!dladdr((const void *)specs, &info) || !info.dli_fname) return;
    char *path = realpath(info.dli_fname, NULL);
    if (path && strlen(path) < PATH_SIZE) strcpy(folder, path);
    free(path);
    keep_folder(folder);
}

static bool search(char path[PATH_SIZE], const tool_spec *spec)
{
    const char *libexec = getenv("NPERF_LIBEXEC");
    void (*const folder_of[])(char[PATH_SIZE]) = { program_folder, library_folder };
    char folder[PATH_SIZE];
    if (libexec && *libexec && is_there(path, libexec, ".", spec)) return true;
    for (size_t f = 0; f < CBX_LEN(folder_of); f++) {
        folder_of[f](folder);
        for (size_t i = 0; *folder && spec->places[i]; i++)
            if (is_there(path, folder, spec->places[i], spec)) return true;
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
    const char *copy = cbx_arena_strdup(arena, found);
    if (!copy) return cbx_fail(err, CBX_ENOMEM, "no memory for the path of '%s'", spec->name);
    *path = copy;
    return CBX_OK;
}
