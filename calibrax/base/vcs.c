/*
 * Version-control facts through libgit2 (1.x; GPL-2.0 with linking exception), loaded on first use;
 * its types stay in this file.
 *
 * Facts are read only, so a work tree that belongs to another user is read all the same (owner
 * validation is switched off while we look and put back): a container's mounted source is the usual
 * case.
 */
#include "calibrax/base/vcs.h"

#include <git2.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/library.h"

/* name, symbol, result, arguments: the part of libgit2 that is used here. */
#define GIT_CALLS(X)                                                                                                   \
    X(libgit2_init, "git_libgit2_init", int, (void))                                                                   \
    X(libgit2_shutdown, "git_libgit2_shutdown", int, (void))                                                           \
    X(repository_open_ext, "git_repository_open_ext", int, (git_repository **, const char *, unsigned, const char *))  \
    X(repository_free, "git_repository_free", void, (git_repository *))                                                \
    X(repository_head, "git_repository_head", int, (git_reference **, git_repository *))                               \
    X(repository_head_detached, "git_repository_head_detached", int, (git_repository *))                               \
    X(reference_free, "git_reference_free", void, (git_reference *))                                                   \
    X(reference_target, "git_reference_target", const git_oid *, (const git_reference *))                              \
    X(reference_shorthand, "git_reference_shorthand", const char *, (const git_reference *))                           \
    X(oid_tostr, "git_oid_tostr", char *, (char *, size_t, const git_oid *))                                           \
    X(status_options_init, "git_status_options_init", int, (git_status_options *, unsigned))                           \
    X(status_list_new, "git_status_list_new", int, (git_status_list **, git_repository *, const git_status_options *)) \
    X(status_list_entrycount, "git_status_list_entrycount", size_t, (git_status_list *))                               \
    X(status_list_free, "git_status_list_free", void, (git_status_list *))                                             \
    X(libgit2_opts, "git_libgit2_opts", int, (int option, ...))

typedef struct git_calls {
    GIT_CALLS(CBX_CALL_MEMBER)
} git_calls;

/* Sets owner validation and returns what it was; 1 (libgit2's default) where the library does not
 * know the option. */
static int set_owner_validation(const git_calls *git, int enabled)
{
    int before = 1;
#if LIBGIT2_VER_MAJOR > 1 || (LIBGIT2_VER_MAJOR == 1 && LIBGIT2_VER_MINOR >= 5)
    git->libgit2_opts(GIT_OPT_GET_OWNER_VALIDATION, &before);
    git->libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, enabled);
#else
    (void)git;
    (void)enabled;
#endif
    return before;
}

cbx_status cbx_vcs_read(cbx_ctx *ctx, const char *path, cbx_vcs_facts *out, cbx_err *err)
{
    static const char *const names[] = { GIT_CALLS(CBX_CALL_NAME) };
    cbx_library *lib = NULL;
    git_calls git;
    memset(out, 0, sizeof *out);
    cbx_status st = cbx_library_open_calls(ctx, CBX_LIBRARY_GIT2, NULL, names, CBX_LEN(names), &git, &lib, err);
    if (st) return st;
    if (git.libgit2_init() > 0) {
        int before = set_owner_validation(&git, 0);
        git_repository *repo = NULL;
        git_reference *head = NULL;
        if (git.repository_open_ext(&repo, path ? path : ".", 0, NULL)) goto done;
        if (git.repository_head(&head, repo)) goto done;
        const git_oid *target = git.reference_target(head);
        if (!target) goto done;
        git.oid_tostr(out->commit, sizeof out->commit, target);
        if (git.repository_head_detached(repo) != 1)
            snprintf(out->branch, sizeof out->branch, "%s", git.reference_shorthand(head));
        /* Tracked files against the commit: index and work tree, untracked and ignored files left
         * out. */
        git_status_options opts;
        git_status_list *list = NULL;
        bool dirty = true; /* a tree that cannot be compared is not known to be clean */
        git.status_options_init(&opts, GIT_STATUS_OPTIONS_VERSION);
        opts.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
        opts.flags = GIT_STATUS_OPT_EXCLUDE_SUBMODULES;
        if (git.status_list_new(&list, repo, &opts) == 0) dirty = git.status_list_entrycount(list) > 0;
        git.status_list_free(list);
        out->dirty = dirty;
        out->known = true;
    done:
        git.reference_free(head);
        git.repository_free(repo);
        set_owner_validation(&git, before);
    }
    git.libgit2_shutdown();
    cbx_library_close(lib);
    return CBX_OK;
}
