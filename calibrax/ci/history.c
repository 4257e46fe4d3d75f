/* The history between two revisions.  See history.h. */
#include "calibrax/ci/history.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/ci/worktree.h"

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "no memory for a history"); }

/* --- the ends --- */

static cbx_status is_ancestor(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *older,
                              const char *newer, bool *yes, cbx_err *err)
{
    const char *args = cbx_arena_printf(arena, "merge-base --is-ancestor %s %s", older, newer);
    int code = 0;
    cbx_status st = args ? cbx__git(sh, arena, repository, args, NULL, &code, err) : no_memory(err);

    if (!st && code > 1) return cbx_fail(err, CBX_ECHILD, "git cannot compare '%s' and '%s'", older, newer);
    *yes = code == 0;
    return st;
}

cbx_status cbx__history_ends(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *good_rev,
                             const char *bad_rev, const char **good, const char **bad, cbx_err *err)
{
    bool forward = false, backward = false;
    cbx_status st = cbx__repository_resolve(sh, arena, repository, good_rev, "bisection", good, err);

    if (!st) st = cbx__repository_resolve(sh, arena, repository, bad_rev, "bisection", bad, err);
    if (st) return st;
    if (!strcmp(*good, *bad))
        return cbx_fail(err, CBX_EINVAL, "'%s' and '%s' are the same commit: there is nothing between them", good_rev,
                        bad_rev);
    st = is_ancestor(sh, arena, repository, *good, *bad, &forward, err);
    if (!st && !forward) st = is_ancestor(sh, arena, repository, *bad, *good, &backward, err);
    if (st || forward) return st;
    if (backward)
        return cbx_fail(err, CBX_EINVAL,
                        "the ends are swapped: the bad one, '%s', is an ancestor of the good one, '%s'", bad_rev,
                        good_rev);
    return cbx_fail(err, CBX_EINVAL,
                    "the good end '%s' is no ancestor of the bad end '%s': take `git merge-base %s %s` as the good end",
                    good_rev, bad_rev, good_rev, bad_rev);
}

/* --- the graph --- */

typedef struct lines {
    char *text; /* cut into words */
    const char **names;
    size_t *first, *parents, n, nparents;
} lines;

typedef struct named {
    const char *name;
    size_t number;
} named;

static int by_text(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

static bool make_lines(cbx_arena *arena, const char *text, lines *l)
{
    size_t words = 0;

    l->n = 0;
    for (const char *c = text; *c; c++) {
        l->n += *c == '\n';
        words += *c == '\n' || *c == ' ';
    }
    l->text = cbx_arena_strdup(arena, text);
    l->names = cbx_arena_calloc(arena, l->n + 1, sizeof *l->names);
    l->first = cbx_arena_calloc(arena, l->n + 1, sizeof *l->first);
    l->parents = cbx_arena_calloc(arena, words + 1, sizeof *l->parents);
    return l->text && l->names && l->first && l->parents;
}

/* "hash parent parent ..." lines, parents first.  Parents that are not among the lines lie on the good side. */
static bool read_lines(cbx_arena *arena, const char *text, lines *l)
{
    char *save = NULL, *word, *row;
    named *sorted;

    if (!make_lines(arena, text, l)) return false;
    sorted = cbx_arena_calloc(arena, l->n + 1, sizeof *sorted);
    if (!sorted) return false;
    row = strtok_r(l->text, "\n", &save);
    for (size_t i = 0; i < l->n && row; i++, row = strtok_r(NULL, "\n", &save)) {
        l->names[i] = row;
        sorted[i] = (named){ cbx_arena_strndup(arena, row, strcspn(row, " ")), i };
        if (!sorted[i].name) return false;
    }
    qsort(sorted, l->n, sizeof *sorted, by_text);
    for (size_t i = 0; i < l->n; i++) {
        char *within = NULL;
        l->first[i] = l->nparents;
        (void)strtok_r((char *)(uintptr_t)l->names[i], " ", &within);
        while ((word = strtok_r(NULL, " ", &within))) {
            named key = { word, 0 }, *hit = bsearch(&key, sorted, l->n, sizeof *sorted, by_text);
            if (hit) l->parents[l->nparents++] = hit->number;
        }
    }
    l->first[l->n] = l->nparents;
    return true;
}

cbx_status cbx__history_graph(cbx__shell *sh, cbx_arena *arena, const char *repository, const char *good,
                              const char *bad, cbx_bisect_graph *out, cbx_err *err)
{
    const char *args = cbx_arena_printf(arena, "rev-list --topo-order --reverse --parents %s..%s", good, bad), *text;
    lines l = { 0 };
    cbx_status st = args ? cbx__git(sh, arena, repository, args, &text, NULL, err) : no_memory(err);

    if (st) return st;
    if (!read_lines(arena, text, &l)) return no_memory(err);
    *out = (cbx_bisect_graph){ l.n, good, l.names, l.first, l.parents };
    return CBX_OK;
}

/* --- without a search --- */

cbx_status cbx_bisect_history(cbx_ctx *ctx, const char *repository, const char *good, const char *bad, cbx_arena *arena,
                              cbx_bisect_graph *out, cbx_err *err)
{
    const char *path, *first, *last;
    cbx__shell sh = { 0 };
    cbx_status st = cbx__repository_find(repository, arena, &path, err);

    if (st) return st;
    st = cbx__shell_open(ctx, NULL, NULL, arena, &sh, err);
    if (st) return st;
    st = cbx__history_ends(&sh, arena, path, good, bad, &first, &last, err);
    if (!st) st = cbx__history_graph(&sh, arena, path, first, last, out, err);
    cbx__shell_close(&sh);
    return st;
}

cbx_status cbx_bisect_subject(cbx_ctx *ctx, const char *repository, const char *commit, cbx_arena *arena,
                              const char **subject, cbx_err *err)
{
    cbx__shell sh = { 0 };
    const char *quoted = cbx__shell_quote(arena, commit), *args, *path, *out = "";
    int code = 0;
    cbx_status st;

    args = quoted ? cbx_arena_printf(arena, "log -1 --format=%%s %s --", quoted) : NULL;
    if (!args) return no_memory(err);
    st = cbx__repository_find(repository, arena, &path, err);
    if (st) return st;
    st = cbx__shell_open(ctx, NULL, NULL, arena, &sh, err);
    if (st) return st;
    st = cbx__git(&sh, arena, path, args, &out, &code, err);
    cbx__shell_close(&sh);
    if (st) return st;
    *subject = cbx_arena_strndup(arena, code ? "" : out, strcspn(out, "\n"));
    return *subject ? CBX_OK : no_memory(err);
}
