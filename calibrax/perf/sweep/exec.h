/**
 * Any commands, measured like baselines: interleaved runs, intervals over runs, paired ratios to
 * the first command, a verdict.
 *
 * A run is one launch of a shell with the command, or of the command itself, timed by the launcher
 * from start to exit.  The time of a shell alone can be measured first and subtracted.  Without a
 * fixed number of runs the rule is that of the sweep (stopping.h): looks after 11, 16, 24 ...
 * rounds, up to what the budget allows, at which a command whose verdict is decided, also over the
 * table of all verdicts, is run no more; a single command until its interval is narrow enough.  The
 * error over all looks is 5 %.  When a command fails, the others get at most 6 runs or three
 * seconds more.
 *
 * Verdicts of several commands are one table, corrected by Holm as those of a case are
 * (run_table.h): p_holm, holm_rows, verdict_holm.
 */
#ifndef CALIBRAX_PERF_SWEEP_EXEC_H
#define CALIBRAX_PERF_SWEEP_EXEC_H

#include "calibrax/perf/sweep/measure.h"

CBX_BEGIN_DECLS

/** Commands for the shell that are run around others, not timed; what fails in them fails the
 * command, but not after its last run. */
typedef enum cbx_exec_hook {
    CBX_EXEC_SETUP,    /* once, before the first run of the command, untimed ones too */
    CBX_EXEC_PREPARE,  /* before every run */
    CBX_EXEC_CONCLUDE, /* after every run */
    CBX_EXEC_CLEANUP,  /* once, after the last run */
    CBX_EXEC_HOOKS
} cbx_exec_hook;

typedef struct cbx_exec_command {
    const char *name;    /* in rows and tables; may hold {parameters} */
    const char *command; /* NULL: name */
    /* Not run, but in a row that is skipped: SKIPPED_BY_CONFIG or SLOW_SKIPPED, with a reason and a
     * remedy, which may be NULL.  Such ones come last.  NONE: it is run. */
    cbx_failure left_out;
    const char *why, *remedy;
    const char *hooks[CBX_EXEC_HOOKS]; /* its own in place of those of the options; may hold {parameters} */
} cbx_exec_command;

typedef struct cbx_exec_param {
    const char *name; /* {name} is replaced by each value in turn */
    const char *const *values;
    size_t nvalues;
} cbx_exec_param;

typedef struct cbx_exec_opts {
    uint32_t struct_size;
    /* Read are: launches (0: as many as the rule needs, at least 6), warmup (untimed runs of each
     * command; < 0: 1), budget_s (no more runs after so long, once there are 6; 0: 60 where the
     * rule decides, else none), precision (0: 0.02 of a single command, else none is good enough),
     * worker_timeout_s (of one run), lock_wait_s (for the cores, held from the first run to the
     * last: calibrax/perf/schedule/claim.h), seed, out_path, stop, progress, user. */
    cbx_measure_opts measure;
    const cbx_exec_command *commands; /* the first one is the reference of ratios */
    size_t ncommands;
    const cbx_exec_param *params; /* every combination is measured */
    size_t nparams;
    const char *hooks[CBX_EXEC_HOOKS]; /* NULL: none */
    const char *shell;                 /* "bash"; NULL: sh */
    bool direct;                       /* no shell: words are split at blanks and quotes */
    /* measure the time of a shell alone and subtract it from each run; provenance has it with
     * its interval */
    bool shell_cost;
    bool ignore_failure; /* an exit status other than 0 counts as a run */
    bool show_output;
    const struct cbx_claim *claim; /* held by the caller already; NULL: they are claimed here */
    /* what the rows say; NULL: "exec", "{}", "commands" */
    const char *case_name, *point, *label;
    bool representative;
    /** Optional: looks at what a run left behind, untimed; a failure makes the command
     * fidelity_failed, with the message. */
    cbx_status (*check)(void *check_user, cbx_err *err);
    void *check_user;
} cbx_exec_opts;

#define CBX_EXEC_OPTS_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(cbx_exec_opts), .measure = CBX_MEASURE_OPTS_INIT                                                        \
    }

/** Most commands after parameters are put in. */
#define CBX_EXEC_MAX_COMMANDS 256

/**
 * Measures.  Rows that result holds already stay; those of the same case are corrected again,
 * together with the new ones.  Rows have case "exec", platform "cpu", framework "command", the
 * expanded name as baseline.
 * @param result  initialised; points is the number of expanded commands that are run, points_good
 *   of those that ran well
 * @return CBX_OK, also when commands failed or the stop flag ended it; CBX_EINVAL (no command,
 *         unknown {parameter} kind, too many combinations); CBX_EBUSY (another invocation holds
 *         cores); CBX_EPERM, CBX_ENOSPC, CBX_EIO (row file, locks); CBX_ENOMEM
 */
CBX_API cbx_status cbx_exec_run(cbx_ctx *ctx, const cbx_exec_opts *opts, cbx_measure_result *result, cbx_err *err);
/** "'sleep 0.02' takes 1.95 times as long as 'sleep 0.01' [1.94, 1.97]: slower", a sentence for
 * each command but the first, and one for each failure. */
CBX_API void cbx_exec_sentence(const cbx_rows *rows, cbx_text *out);
/** Good rows, the fastest first, a line each: "2. 1.95 [1.94, 1.97] 'sleep 0.02'", the time over
 * the fastest's, paired, with its 95 % interval. */
CBX_API cbx_status cbx_exec_ranking(cbx_ctx *ctx, const cbx_rows *rows, cbx_text *out, cbx_err *err);

CBX_END_DECLS
#endif
