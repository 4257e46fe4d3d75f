/*
 * The history between two revisions, a worktree for each commit that is measured, and the loop of
 * the search over them.
 */
#include "calibrax/ci/bisect_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/hash.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/options.h"
#include "calibrax/ci/shell.h"
#include "calibrax/core/owned.h"

#define KEEP_BUILDS 16

/* A worktree that is built. */
typedef struct tree {
    size_t commit;
    const char *path;
    size_t used; /* number of the launch that used it last */
} tree;

typedef struct job {
    cbx_ctx *ctx;
    const cbx_bisect_run_opts *opts;
    cbx_arena arena;
    cbx__shell sh;
    const char *good, *bad, *state_path, *identity;
    cbx_lock *lock;
    cbx_bisect *search;
    tree *trees;
    size_t ntrees, keep, launches;
    double launch_s; /* of the last launch */
} job;

/* --- the history: its ends --- */

static cbx_status is_ancestor(cbx__shell *sh, const char *older, const char *newer, bool *yes, cbx_err *err)
{
    int code = 0;
    cbx_status st = cbx__git(sh, sh->repository, NULL, &code, err, "merge-base", "--is-ancestor", older, newer, NULL);

    if (!st && code > 1) return cbx_fail(err, CBX_ECHILD, "git cannot compare '%s' and '%s'", older, newer);
    *yes = code == 0;
    return st;
}

/* Full hashes of the ends, the good one an ancestor of the bad one. */
static cbx_status find_ends(cbx__shell *sh, const char *good_rev, const char *bad_rev, const char **good,
                            const char **bad, cbx_err *err)
{
    bool forward = false, backward = false;
    cbx_status st = cbx__repository_resolve(sh, good_rev, "bisection", good, err);

    if (!st) st = cbx__repository_resolve(sh, bad_rev, "bisection", bad, err);
    if (st) return st;
    if (!strcmp(*good, *bad)) return cbx_fail(err, CBX_EINVAL, "'%s' and '%s' are the same commit", good_rev, bad_rev);
    st = is_ancestor(sh, *good, *bad, &forward, err);
    if (!st && !forward) st = is_ancestor(sh, *bad, *good, &backward, err);
    if (st || forward) return st;
    if (backward)
        return cbx_fail(err, CBX_EINVAL,
                        "the ends are swapped: the bad one, '%s', is an ancestor of the good one, '%s'", bad_rev,
                        good_rev);
    return cbx_fail(
        err, CBX_EINVAL,
        "the good commit '%s' is not an ancestor of the bad commit '%s': use `git merge-base %s %s` as the good commit",
        good_rev, bad_rev, good_rev, bad_rev);
}

/* --- its graph --- */

/* What can be reached from bad and not from good, two full hashes, in the arena. */
static cbx_status read_graph(cbx__shell *sh, const char *good, const char *bad, cbx_bisect_graph *out, cbx_err *err)
{
    const cbx_allocator al = cbx_arena_allocator(sh->arena);
    const char *text = "";
    CBX_LIST(size_t) first = { 0 }, parents = { 0 };
    cbx_names commits; /* in the arena, as all of the graph */
    const char *range = cbx_arena_printf(sh->arena, "%s..%s", good, bad);
    bool made = range != NULL;
    cbx_status st = !made ? CBX_OK
                          : cbx__git(sh, sh->repository, &text, NULL, err, "rev-list", "--topo-order", "--reverse",
                                     "--parents", range, NULL);

    cbx_names_init(&commits, &al);
    /* "hash parent parent ..." lines, parents first.  Parents that are not among the lines lie on
     * the good side. */
    for (size_t n, i = 0; !st && made && *text; text += n + (text[n] != '\0'), i++) {
        const char *word;
        size_t number;
        n = strcspn(text, " \n");
        word = cbx_arena_strndup(sh->arena, text, n);
        made = word != NULL;
        if (!made) break;
        number = cbx_names_find(&commits, word);
        if (i == 0 || text[-1] == '\n')
            made = cbx_list_push(&al, &first, parents.n) && cbx_names_add(&commits, word) != CBX_NO_NAME;
        else if (number != CBX_NO_NAME)
            made = cbx_list_push(&al, &parents, number);
    }
    made = made && cbx_list_push(&al, &first, parents.n);
    *out = (cbx_bisect_graph){ commits.n, good, commits.list, first.items, parents.items };
    return st || made ? st : cbx_fail_nomem(err, "a bisection");
}

/* --- without a search --- */

cbx_status cbx_bisect_history(cbx_ctx *ctx, const char *repository, const char *good, const char *bad, cbx_arena *arena,
                              cbx_bisect_graph *out, cbx_err *err)
{
    const char *first, *last;
    cbx__shell sh = { 0 };
    cbx_status st = cbx__shell_open(ctx, repository, NULL, NULL, arena, &sh, err);

    if (!st) st = find_ends(&sh, good, bad, &first, &last, err);
    if (!st) st = read_graph(&sh, first, last, out, err);
    cbx__shell_close(&sh);
    return st;
}

cbx_status cbx_bisect_subject(cbx_ctx *ctx, const char *repository, const char *commit, cbx_arena *arena,
                              const char **subject, cbx_err *err)
{
    cbx__shell sh = { 0 };
    const char *out = "";
    int code = 0;
    cbx_status st = cbx__shell_open(ctx, repository, NULL, NULL, arena, &sh, err);

    if (!st) st = cbx__git(&sh, sh.repository, &out, &code, err, "log", "-1", "--format=%s", commit, "--", NULL);
    cbx__shell_close(&sh);
    if (st) return st;
    *subject = cbx_arena_strndup(arena, code ? "" : out, strcspn(out, "\n"));
    return *subject ? CBX_OK : cbx_fail_nomem(err, "a bisection");
}

/* --- the state --- */

/* What the values depend on, in one word. */
static cbx_status identify(job *j, cbx_err *err)
{
    const cbx_bisect_run_opts *o = j->opts;
    char hash[CBX_HASH_SIZE];
    const char *all, *dir;
    cbx_status st;

    j->identity = cbx_arena_printf(&j->arena, "build: %s; bench: %s; metric: %s%s", o->build ? o->build : "none",
                                   o->bench, o->metric ? o->metric : "wall time", o->paired ? "; paired" : "");
    if (!j->identity) return cbx_fail_nomem(err, "a bisection");
    j->state_path = o->state_path;
    if (j->state_path) return cbx_dir_create_parent(j->ctx, j->state_path, err);
    st = cbx_cache_dir(j->ctx, "bisect", &j->arena, &dir, err);
    if (st) return st;
    all = cbx_arena_printf(&j->arena, "%s %s %s %s", j->sh.repository, j->good, j->bad, j->identity);
    if (!all) return cbx_fail_nomem(err, "a bisection");
    cbx_hash_bytes(all, strlen(all), hash);
    j->state_path = cbx_arena_printf(&j->arena, "%s/%s.json", dir, hash);
    return j->state_path ? CBX_OK : cbx_fail_nomem(err, "a bisection");
}

static cbx_status load_state(job *j, cbx_err *err)
{
    cbx_json *state;
    cbx_status st;

    if (!cbx_path_exists(j->state_path)) return CBX_OK;
    if (!j->opts->resume) {
        /* A search that starts again keeps the file of the last one under another name. */
        const char *before = cbx_arena_printf(&j->arena, "%s.before", j->state_path);

        if (!before) return cbx_fail_nomem(err, "a bisection");
        if (rename(j->state_path, before) == 0) return CBX_OK;
        return cbx_fail_errno(err, errno, "cannot rename '%s'", j->state_path);
    }
    st = cbx_json_read(j->ctx, j->state_path, &state, err);
    if (st) return st;
    st = cbx_bisect_restore(j->search, state, j->state_path, err);
    cbx_json_unref(state);
    return st;
}

static cbx_status save_state(job *j, cbx_err *err)
{
    CBX_OWNED(cbx_json) *state = cbx_bisect_state(j->search);
    cbx_status st;

    if (!state) return cbx_fail_nomem(err, "a bisection");
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(j->ctx));
    cbx_json_write(state, CBX_JSON_INDENT2, &text);
    cbx_text_putc(&text, '\n');
    st = cbx_text_check(&text, err);
    if (!st) st = cbx_file_write_atomic(j->ctx, j->state_path, text.data, text.len, err);
    return st;
}

/* --- worktrees --- */

static void report(job *j, cbx_bisect_step step, size_t commit, double value, const char *reason)
{
    cbx_bisect_result r;

    if (!j->opts->progress) return;
    cbx_bisect_read(j->search, &r);
    cbx_bisect_progress p = { step,       cbx_bisect_name(j->search, commit), reason,       value,
                              r.launches, cbx_bisect_count(j->search),        r.probability };
    j->opts->progress(j->opts->user, &p);
}

/* In the place of the longest unused one where there are too many; the good end stays where every
 * launch is paired with it. */
static cbx_status add_tree(job *j, size_t commit, tree **out, cbx_err *err)
{
    const char *hash = cbx_bisect_name(j->search, commit), *name = cbx_arena_strndup(&j->arena, hash, 12), *path;
    size_t oldest = j->ntrees;
    cbx_status st;

    if (!name) return cbx_fail_nomem(err, "a bisection");
    for (size_t i = 0; j->ntrees >= j->keep && i < j->ntrees; i++) {
        if (j->opts->paired && j->trees[i].commit == CBX_BISECT_GOOD_END) continue;
        if (oldest == j->ntrees || j->trees[i].used < j->trees[oldest].used) oldest = i;
    }
    if (oldest < j->ntrees) {
        cbx__worktree_remove(&j->sh, j->trees[oldest].path);
        j->trees[oldest] = j->trees[--j->ntrees];
    }
    st = cbx__worktree_add(&j->sh, name, hash, &path, err);
    if (st) return st;
    *out = &j->trees[j->ntrees++];
    **out = (tree){ commit, path, j->launches };
    return CBX_OK;
}

/* --- builds and launches --- */

/* Runs the benchmark, again if it fails.  reason: "" if there is a value, else why it has no
 * value. */
static cbx_status launch(job *j, tree *t, double *value, char reason[CBX_ERR_MESSAGE_SIZE], cbx_err *err)
{
    const cbx__shell_job bench = { j->opts->bench, t->path, cbx_bisect_name(j->search, t->commit),
                                   j->opts->bench_timeout_s };
    cbx__shell_end end = { .message = "not run" };
    cbx_status st = CBX_OK;

    for (int tries = 0; !st && *end.message && tries < 2; tries++) {
        st = cbx__shell_measure(&j->sh, &bench, j->opts->metric, value, &end, err);
        if (st) return st;
        t->used = ++j->launches;
        if (!end.failure) j->launch_s = end.wall_s;
    }
    snprintf(reason, CBX_ERR_MESSAGE_SIZE, "%s", end.message);
    return st;
}

/* The worktree of a commit, made and built if it is missing.  reason as above. */
static cbx_status need_tree(job *j, size_t commit, tree **out, char reason[CBX_ERR_MESSAGE_SIZE], cbx_err *err)
{
    tree *t = j->trees;
    cbx__shell_end end = { .wall_s = 0 };
    double warm;
    cbx_status st;

    *reason = '\0';
    while (t < j->trees + j->ntrees && t->commit != commit) t++;
    *out = t;
    if (t < j->trees + j->ntrees) return CBX_OK;
    report(j, CBX_BISECT_BUILDING, commit, NAN, NULL);
    st = add_tree(j, commit, &t, err);
    if (st) return st;
    if (j->opts->build) {
        cbx__shell_job build = { j->opts->build, t->path, cbx_bisect_name(j->search, commit),
                                 j->opts->build_timeout_s };
        st = cbx__shell_run(&j->sh, &build, &end, err);
        if (st) return st;
        if (end.failure) snprintf(reason, CBX_ERR_MESSAGE_SIZE, "the build failed: %.400s", end.message);
    }
    if (!*reason) st = launch(j, t, &warm, reason, err);
    if (!st && !*reason && j->opts->search.build_launches == 0 && j->launch_s > 0)
        cbx_bisect_set_build_cost(j->search, fmin(1 + end.wall_s / j->launch_s, 1000));
    *out = t;
    return st;
}

/* A launch of the good end beside one of the commit, in turns first and second. */
static cbx_status launch_pair(job *j, size_t commit, double *value, size_t *failed, char reason[CBX_ERR_MESSAGE_SIZE],
                              cbx_err *err)
{
    size_t order[2] = { CBX_BISECT_GOOD_END, commit };
    double seen[2];
    tree *t;
    cbx_status st = CBX_OK;
    bool swap = j->launches / 2 % 2;

    for (int k = 0; !st && k < 2; k++) {
        int which = swap ? 1 - k : k;
        st = need_tree(j, order[which], &t, reason, err);
        if (!st && !*reason) st = launch(j, t, &seen[which], reason, err);
        *failed = order[which];
        if (st || *reason) return st;
    }
    *value = seen[1] / seen[0];
    if (!st && !isfinite(*value)) snprintf(reason, CBX_ERR_MESSAGE_SIZE, "the good end's value is 0: no ratio");
    return st;
}

static cbx_status search(job *j, cbx_err *err)
{
    size_t commit = 0;
    cbx_bisect_result r;
    cbx_status st = save_state(j, err);

    while (!st && cbx_bisect_next(j->search, &commit) == CBX_BISECT_RUNNING) {
        char reason[CBX_ERR_MESSAGE_SIZE];
        size_t failed = commit;
        double value = NAN;
        tree *t;
        if (j->opts->paired) {
            st = launch_pair(j, commit, &value, &failed, reason, err);
        } else {
            st = need_tree(j, commit, &t, reason, err);
            if (!st && !*reason) st = launch(j, t, &value, reason, err);
        }
        if (!st && *reason) {
            st = cbx_bisect_broken(j->search, failed, reason, err);
            if (!st) report(j, CBX_BISECT_BROKE, failed, NAN, reason);
        } else if (!st) {
            st = cbx_bisect_observe(j->search, commit, value, err);
            if (!st) report(j, CBX_BISECT_LAUNCHED, commit, value, NULL);
        }
        if (!st) st = save_state(j, err);
    }
    if (st == CBX_EINTERRUPTED) {
        cbx_bisect_read(j->search, &r);
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted after %zu launches", r.launches);
    }
    return st;
}

cbx_status cbx_bisect_run(cbx_ctx *ctx, const cbx_bisect_run_opts *opts, cbx_bisect **out, cbx_err *err)
{
    cbx_bisect_run_opts own = CBX_BISECT_RUN_OPTS_INIT;
    job j = { .ctx = ctx, .opts = &own };
    cbx_bisect_graph graph;
    cbx_status st = cbx_take_options(&own, sizeof own, opts, "cbx_bisect_run_opts", err);

    if (st) return st;
    if (!own.good || !own.bad || !own.bench)
        return cbx_fail(err, CBX_EINVAL, "a bisection needs a good end, a bad end and a benchmark");
    if (own.metric && !*own.metric) return cbx_fail(err, CBX_EINVAL, "the metric has no name");
    j.keep = own.keep_builds ? own.keep_builds : KEEP_BUILDS;
    if (j.keep < 2) return cbx_fail(err, CBX_EINVAL, "at least 2 builds have to be kept");
    cbx_arena_init(&j.arena, cbx_ctx_allocator(ctx));
    j.trees = cbx_arena_calloc(&j.arena, j.keep, sizeof *j.trees);
    if (!j.trees) st = cbx_fail_nomem(err, "a bisection");
    if (!st) st = cbx__shell_open(ctx, own.repository, own.scratch, own.stop, &j.arena, &j.sh, err);
    if (!st) st = find_ends(&j.sh, own.good, own.bad, &j.good, &j.bad, err);
    if (!st) st = identify(&j, err);
    if (!st) st = read_graph(&j.sh, j.good, j.bad, &graph, err);
    if (!st) {
        cbx_bisect_opts search = own.search;
        search.identity = j.identity;
        st = cbx_bisect_create(ctx, &graph, &search, &j.search, err);
    }
    if (!st) {
        const char *path = cbx_arena_printf(&j.arena, "%s.lock", j.state_path);
        st = path ? cbx_lock_take(j.ctx, path, 0, &j.lock, err) : cbx_fail_nomem(err, "a bisection");
    }
    if (!st) st = load_state(&j, err);
    if (!st) st = cbx__mirror_make(&j.sh, err);
    if (!st) st = search(&j, err);
    if (!st) {
        *out = j.search;
        j.search = NULL;
    }
    cbx_bisect_free(j.search);
    cbx_lock_release(j.lock);
    cbx__shell_close(&j.sh);
    cbx_arena_clear(&j.arena);
    return st;
}
