/* A clone that borrows objects, and worktrees of it. */
#include "calibrax/ci/worktree.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "no memory for a worktree"); }

cbx_status cbx__repository_find(const char *path, cbx_arena *arena, const char **out, cbx_err *err)
{
    char *whole = realpath(path ? path : ".", NULL);

    if (!whole) return cbx_fail(err, CBX_ENOENT, "there is no folder '%s'", path ? path : ".");
    *out = cbx_arena_strdup(arena, whole);
    free(whole);
    return *out ? CBX_OK : no_memory(err);
}

cbx_status cbx__repository_resolve(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *rev,
                                   const char *what, const char **hash, cbx_err *err)
{
    const char *wanted = cbx_arena_printf(arena, "%s^{commit}", rev), *quoted, *args, *out;
    int code = 0;
    cbx_status st;

    quoted = wanted ? cbx__shell_quote(arena, wanted) : NULL;
    args = quoted ? cbx_arena_printf(arena, "rev-parse --verify --quiet --end-of-options %s", quoted) : NULL;
    if (!args) return no_memory(err);
    st = cbx__git(sh, arena, repository, args, &out, &code, err);
    if (st) return st;
    if (code == 127) return cbx_fail(err, CBX_EUNAVAILABLE, "%s needs git: apt-get install git", what);
    if (code == 128) return cbx_fail(err, CBX_ENOENT, "'%s' is in no git repository", repository);
    if (code != 0) return cbx_fail(err, CBX_ENOENT, "'%s' names no commit of the repository at '%s'", rev, repository);
    *hash = cbx_arena_strndup(arena, out, strcspn(out, "\n"));
    return *hash ? CBX_OK : no_memory(err);
}

cbx_status cbx__mirror_make(cbx__shell *sh, cbx_arena *arena, const char *repository, const char **mirror, cbx_err *err)
{
    const char *place, *from, *to, *args;
    cbx_status st = cbx__git(sh, arena, repository, "rev-parse --path-format=absolute --git-common-dir", &place, NULL,
                             err);

    if (st) return st;
    place = cbx_arena_strndup(arena, place, strcspn(place, "\n"));
    from = place ? cbx__shell_quote(arena, place) : NULL;
    *mirror = cbx_path_join(arena, sh->folder, "mirror");
    to = *mirror ? cbx__shell_quote(arena, *mirror) : NULL;
    args = from && to ? cbx_arena_printf(arena, "clone --quiet --shared --no-checkout %s %s", from, to) : NULL;
    if (!args) return no_memory(err);
    return cbx__git(sh, arena, repository, args, NULL, NULL, err);
}

cbx_status cbx__worktree_add(cbx__shell *sh, cbx_arena *arena, const char *mirror, const char *name, const char *hash,
                             const char **path, cbx_err *err)
{
    const char *quoted, *args;

    *path = cbx_path_join(arena, sh->folder, name);
    quoted = *path ? cbx__shell_quote(arena, *path) : NULL;
    args = quoted ? cbx_arena_printf(arena, "-c core.hooksPath=/dev/null worktree add --quiet --force --detach %s %s",
                                     quoted, hash)
                  : NULL;
    if (!args) return no_memory(err);
    return cbx__git(sh, arena, mirror, args, NULL, NULL, err);
}

void cbx__worktree_remove(cbx__shell *sh, cbx_arena *arena, const char *mirror, const char *path)
{
    cbx__temporary_remove(path);
    (void)cbx__git(sh, arena, mirror, "worktree prune", NULL, NULL, NULL);
}
