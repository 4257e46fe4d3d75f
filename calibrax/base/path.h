/**
 * Names of files and folders, taken apart and put together as text; none of these looks at the
 * disk.
 */
#ifndef CALIBRAX_BASE_PATH_H
#define CALIBRAX_BASE_PATH_H

#include "calibrax/base/arena.h"

CBX_BEGIN_DECLS

/** "dir/name" in the arena; dir "" gives name; NULL: out of memory. */
CBX_API const char *cbx_path_join(cbx_arena *arena, const char *dir, const char *name);
/** The folder of a path, in the arena: "a" of "a/b", "/" of "/b", "." of "b"; NULL: out of
 * memory. */
CBX_API const char *cbx_path_parent(cbx_arena *arena, const char *path);
/** A name in the folder of a path, in the arena: "a/name" of "a/b", "name" of "b"; NULL: out of
 * memory. */
CBX_API const char *cbx_path_beside(cbx_arena *arena, const char *path, const char *name);
/** The last part, as a pointer into the path: "c.json" of "a/c.json"; the whole path if it ends in
 * '/'. */
CBX_API const char *cbx_path_base(const char *path);

CBX_END_DECLS
#endif
