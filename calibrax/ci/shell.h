/*
 * Commands in a folder, with their output kept; git through them; and worktrees of a
 * repository.
 */
#ifndef CALIBRAX_CI_SHELL_H
#define CALIBRAX_CI_SHELL_H

#include "calibrax/base/arena.h"
#include "calibrax/base/file.h"
#include "calibrax/perf/launch/launch.h"

/* A scratch folder of our own, what runs in it, and the repository that it is about. */
typedef struct cbx__shell {
    cbx_ctx *ctx;
    cbx_arena *arena;
    const char *folder;
    const char *repository; /* without links */
    const char *mirror;     /* a clone in the folder; NULL: not made yet */
    const cbx_stop_flag *stop;
    cbx_lock *lock; /* of the folder */
    int output;     /* of the last run; 0: there was none */
} cbx__shell;

typedef struct cbx__shell_job {
    const char *command;                   /* for sh -c */
    const char *dir;                       /* NULL: the scratch folder */
    const char *commit;                    /* for CALIBRAX_BISECT_COMMIT; NULL: left out */
    double timeout_s;                      /* 0: 3600 */
    size_t env_pad_bytes, stack_pad_bytes; /* layout, as cbx_command_opts */
    const struct cbx_claim *claim;         /* cores held for it; NULL: none */
} cbx__shell_job;

typedef struct cbx__shell_end {
    cbx_failure failure;
    int exit_code;
    double wall_s;
    char message[CBX_ERR_MESSAGE_SIZE]; /* of a failure: the cause, and the last line of standard error */
} cbx__shell_end;

/* Makes the folder below scratch (NULL: the user's cache folder), where it removes what killed ones
 * left.  @param repository  NULL: the current folder.  CBX_ENOENT: there is no such folder */
cbx_status cbx__shell_open(cbx_ctx *ctx, const char *repository, const char *scratch, const cbx_stop_flag *stop,
                           cbx_arena *arena, cbx__shell *out, cbx_err *err);
/* Removes the folder; a zeroed one, never opened, is fine. */
void cbx__shell_close(cbx__shell *sh);

/* @return CBX_OK: look at end; CBX_EINTERRUPTED: the stop flag; as cbx_command_run */
cbx_status cbx__shell_run(cbx__shell *sh, const cbx__shell_job *job, cbx__shell_end *end, cbx_err *err);

/*
 * `git -C dir WORDS`, up to a NULL; what it printed, 64 MiB at most, goes to the arena.
 * @param exit_code  NULL: any but 0 is CBX_ECHILD with git's own words
 */
cbx_status cbx__git(cbx__shell *sh, const char *dir, const char **output, int *exit_code, cbx_err *err, ...)
    __attribute__((sentinel));

/*
 * Runs a benchmark: its value is the wall time, or the last number behind a metric's name in what
 * it printed.
 * @param metric  NULL: the wall time
 * @param end     its message is "" if there is a value
 */
cbx_status cbx__shell_measure(cbx__shell *sh, const cbx__shell_job *job, const char *metric, double *value,
                              cbx__shell_end *end, cbx_err *err);
/* Last number behind a name that is a whole word ("name": 1.5, name=1.5, name 1.5 ms); false: no
 * number, or not a finite one. */
bool cbx__metric_scan(const char *text, const char *name, double *value);

/*
 * Revisions of a repository in folders of their own: a clone that borrows the user's objects, and
 * worktrees of it in a scratch folder.  The user's repository and checkout are only read.
 */

/* Full hash of a revision.  @param what  who asks, for messages ("bisection") */
cbx_status cbx__repository_resolve(cbx__shell *sh, const char *rev, const char *what, const char **hash, cbx_err *err);
/* `git clone --shared` into the scratch folder. */
cbx_status cbx__mirror_make(cbx__shell *sh, cbx_err *err);
/* A worktree of the mirror at a commit, in the scratch folder as name; hooks do not run. */
cbx_status cbx__worktree_add(cbx__shell *sh, const char *name, const char *hash, const char **path, cbx_err *err);
/* Its files, and its references in the mirror. */
void cbx__worktree_remove(cbx__shell *sh, const char *path);

#endif
