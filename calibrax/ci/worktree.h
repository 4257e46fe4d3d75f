/*
 * Revisions of a repository in folders of their own: a clone that borrows the user's objects, and worktrees of it in a scratch folder.  The user's
 * repository and checkout are only read.
 */
#ifndef CALIBRAX_CI_WORKTREE_H
#define CALIBRAX_CI_WORKTREE_H

#include "calibrax/ci/shell.h"

/* The folder without links; NULL: the current one.  CBX_ENOENT: there is none. */
cbx_status cbx__repository_find(const char *path, cbx_arena *arena, const char **out, cbx_err *err);
/* Full hash of a revision.  @param what  who asks, for messages ("bisection") */
cbx_status cbx__repository_resolve(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *rev,
                                   const char *what, const char **hash, cbx_err *err);
/* `git clone --shared` into the scratch folder. */
cbx_status cbx__mirror_make(cbx__shell *sh, cbx_arena *arena, const char *repository, const char **mirror,
                            cbx_err *err);
/* A worktree at a commit, in the scratch folder as name; hooks do not run. */
cbx_status cbx__worktree_add(cbx__shell *sh, cbx_arena *arena, const char *mirror, const char *name, const char *hash,
                             const char **path, cbx_err *err);
/* Its files, and what the clone knows of it. */
void cbx__worktree_remove(cbx__shell *sh, cbx_arena *arena, const char *mirror, const char *path);

#endif
