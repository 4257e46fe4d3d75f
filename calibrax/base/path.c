/* Names of files and folders, as text. */
#include "calibrax/base/path.h"

#include <string.h>

const char *cbx_path_join(cbx_arena *arena, const char *dir, const char *name)
{
    size_t n = strlen(dir);

    if (n == 0) return cbx_arena_strdup(arena, name);
    return cbx_arena_printf(arena, "%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

const char *cbx_path_parent(cbx_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) return cbx_arena_strdup(arena, ".");
    return cbx_arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

const char *cbx_path_beside(cbx_arena *arena, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return cbx_arena_printf(arena, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name);
}

const char *cbx_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}
