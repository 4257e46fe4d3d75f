/**
 * Bisection of a git history: builds and launches at the commits that a search (bisect.h) asks for.
 *
 * The user's repository is only read: commits are checked out in worktrees of a clone that borrows
 * its objects (`git clone --shared`), in a scratch folder that is removed at the end.  What was
 * measured is kept in a state file after each value, so an interrupted search goes on where it was.
 * The programs git and nperf-launch must be there.
 *
 * Commands run as `sh -c` in the root of the worktree, with CALIBRAX_BISECT_COMMIT set to the
 * commit's hash and without GIT_DIR and its kin.  The first launch after a build warms caches and
 * is not counted.  A commit whose build fails, or whose benchmark fails twice in a row, is broken.
 * Since 0.1.
 */
#ifndef CALIBRAX_CI_BISECT_RUN_H
#define CALIBRAX_CI_BISECT_RUN_H

#include "calibrax/base/arena.h"
#include "calibrax/ci/bisect.h"
#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

typedef enum cbx_bisect_step { CBX_BISECT_BUILDING, CBX_BISECT_LAUNCHED, CBX_BISECT_BROKE } cbx_bisect_step;

typedef struct cbx_bisect_progress {
    cbx_bisect_step step;
    const char *commit;       /* hash */
    const char *reason;       /* of BROKE; else NULL */
    double value;             /* of LAUNCHED; else NaN */
    size_t launches, commits; /* so far; candidates */
    double probability;       /* of the likeliest commits; NaN while the ends are measured */
} cbx_bisect_progress;

typedef struct cbx_bisect_run_opts {
    uint32_t struct_size;
    const char *repository; /* in it or below; NULL: the current folder */
    const char *good, *bad; /* revisions, as git names them */
    const char *build;      /* NULL: nothing to build */
    const char *bench;
    const char
        *metric; /* the last number behind this name in the benchmark's output; NULL: [s] wall time of the launch */
    bool
        paired; /* a value is the ratio to a launch of the good end right beside it: slow drift of the machine cancels */
    double build_timeout_s, bench_timeout_s; /* 0: 3600 */
    size_t keep_builds;        /* worktrees kept at a time, the longest unused go first; 0: 16; at least 2 */
    const char *scratch;       /* NULL: the user's cache folder */
    const char *state_path;    /* NULL: in the user's cache folder, by a hash of ends and commands */
    bool resume;               /* continue with the state file, if there is one; else it is renamed to .before */
    cbx_bisect_opts search;    /* identity is set here; build_launches as measured unless given */
    const cbx_stop_flag *stop; /* may be NULL */
    void (*progress)(void *user, const cbx_bisect_progress *p); /* may be NULL */
    void *user;
} cbx_bisect_run_opts;

#define CBX_BISECT_RUN_OPTS_INIT                                                                                       \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_bisect_run_opts), .search = CBX_BISECT_OPTS_INIT                                     \
    }

/**
 * Searches to the end.
 * @param out  the search, for its result, names (full hashes) and values; the caller frees it
 * @return CBX_OK; CBX_EINVAL (an option; the ends are the same commit, are swapped in history, or
 *         the good one is no ancestor of the bad one); CBX_ENOENT (no such revision or repository;
 *         no launcher); CBX_EINTERRUPTED (the stop flag; the state file says all); CBX_EBUSY
 *         (another search uses the state file); CBX_ECHILD (git failed); as cbx_bisect_create and
 *         cbx_bisect_restore; CBX_EIO, CBX_ENOSPC, CBX_EPERM, CBX_ENOMEM
 */
CBX_API cbx_status cbx_bisect_run(cbx_ctx *ctx, const cbx_bisect_run_opts *opts, cbx_bisect **out, cbx_err *err);
/**
 * The candidates between two revisions, for a search that is driven by the caller (bisect.h):
 * hashes, parents before children.
 * @param good, bad  revisions, as git names them
 * @param arena      holds what *out points to
 * @return CBX_OK; CBX_EINVAL (the ends are the same commit, are swapped in history, or the good one
 *         is no ancestor of the bad one); CBX_ENOENT (no such revision or repository; no launcher);
 *         CBX_ECHILD (git failed); CBX_EIO, CBX_ENOMEM
 */
CBX_API cbx_status cbx_bisect_history(cbx_ctx *ctx, const char *repository, const char *good, const char *bad,
                                      cbx_arena *arena, cbx_bisect_graph *out, cbx_err *err);
/** First line of a commit's message, in the arena; "" if it cannot be read.  @param repository  as
 * above */
CBX_API cbx_status cbx_bisect_subject(cbx_ctx *ctx, const char *repository, const char *commit, cbx_arena *arena,
                                      const char **subject, cbx_err *err);

CBX_END_DECLS
#endif
