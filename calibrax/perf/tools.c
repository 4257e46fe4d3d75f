/*
 * Where the helper programs are.  First a variable that names the program itself, then the folder NPERF_LIBEXEC, then places
 * relative to the running program and to this library: the build tree and the installed tree have fixed shapes, so no binary
 * needs to carry the path it was built or installed at, and a moved tree still works.
 */
#include "calibrax/perf/tools.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tool_spec {
    const char *name;
    const char *variable; /* names the program, or a folder that holds it */
    const char *places[8]; /* relative to the folder of the program and of the library, NULL-terminated */
    int mode;              /* for access() */
} tool_spec;

/* build tree: programs/nperf/nperf, tests/perf/test_x and calibrax library in the top folder, the build folder two below the source */
static const tool_spec specs[CBX__TOOL_COUNT] = {
    [CBX__TOOL_LAUNCH] = { "nperf-launch", "NPERF_LAUNCH",
                           { ".", "../launcher", "../../programs/launcher", "programs/launcher", "../libexec/calibrax",
                             "../../libexec/calibrax" }, X_OK },
    [CBX__TOOL_WORKER] = { "nperf-worker", "NPERF_WORKER",
                           { ".", "../workers", "../../programs/workers", "programs/workers", "../libexec/calibrax",
                             "../../libexec/calibrax" }, X_OK },
    [CBX__TOOL_PYTHON_WORKER] = { "worker.py", "NPERF_WORKERS_PYTHON",
                                  { "../share/calibrax/workers/python", "../../share/calibrax/workers/python",
                                    "../../../../workers/python", "../../workers/python", "../../../workers/python" }, R_OK },
};

static const char *join_if_there(cbx_arena *arena, const char *folder, const char *place, const tool_spec *spec)
{
    const char *path = strcmp(place, ".") == 0 ? cbx_arena_printf(arena, "%s/%s", folder, spec->name)
                                               : cbx_arena_printf(arena, "%s/%s/%s", folder, place, spec->name);
    return path && access(path, spec->mode) == 0 ? path : NULL;
}

static const char *folder_of(cbx_arena *arena, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? cbx_arena_strndup(arena, path, (size_t)(slash - path)) : NULL;
}

static const char *program_folder(cbx_arena *arena)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return NULL;
    path[n] = '\0';
    return folder_of(arena, path);
}

static const char *library_folder(cbx_arena *arena)
{
    Dl_info info;
    if (!dladdr((const void *)specs, &info) || !info.dli_fname) return NULL;
    char *path = realpath(info.dli_fname, NULL);
    const char *folder = folder_of(arena, path);
    free(path);
    return folder;
}

static cbx_status from_variable(const tool_spec *spec, const char *value, cbx_arena *arena, const char **path, cbx_err *err)
{
    const char *inside = join_if_there(arena, value, ".", spec);
    if (!inside && access(value, spec->mode) == 0) inside = cbx_arena_strdup(arena, value);
    if (!inside) return cbx_fail(err, CBX_ENOENT, "%s names '%s', which is not there: set it to '%s' or unset it", spec->variable, value, spec->name);
    *path = inside;
    return CBX_OK;
}

cbx_status cbx__tool_find(cbx__tool tool, cbx_arena *arena, const char **path, cbx_err *err)
{
    const tool_spec *spec = &specs[tool];
    const char *value = getenv(spec->variable), *libexec = getenv("NPERF_LIBEXEC"), *found = NULL;
    if (value && *value) return from_variable(spec, value, arena, path, err);
    if (libexec && *libexec) found = join_if_there(arena, libexec, ".", spec);
    const char *folders[] = { program_folder(arena), library_folder(arena) };
    for (size_t f = 0; f < CBX_LEN(folders) && !found; f++) {
        for (size_t i = 0; folders[f] && !found && spec->places[i]; i++) found = join_if_there(arena, folders[f], spec->places[i], spec);
    }
    if (!found) return cbx_fail(err, CBX_ENOENT, "cannot find '%s': build or install it, or let %s name it", spec->name, spec->variable);
    *path = found;
    return CBX_OK;
}
