/**
 * Any commands, measured like baselines: interleaved runs, intervals over runs, paired ratios to the first command, a verdict.
 *
 * A run is one launch: `sh -c command`, timed by the parent from start to exit.  Without a fixed number of runs the rule is that of the sweep
 * (stopping.h): looks after 11, 16, 24 ... rounds, up to what the budget allows, at which a command whose verdict is decided or whose interval is
 * narrow enough is run no more; the error over all looks is 5 %.
 *
 * Verdicts of several commands are one table, corrected by Holm as those of a case are (table.h): p_holm, holm_rows, verdict_holm.
 */
#ifndef CALIBRAX_PERF_SWEEP_EXEC_H
#define CALIBRAX_PERF_SWEEP_EXEC_H

#include "calibrax/perf/sweep/measure.h"

CBX_BEGIN_DECLS

typedef struct cbx_exec_command {
    const char *name;    /* in rows and tables; may hold {parameters} */
    const char *command; /* for sh -c; NULL: name */
    /* Not run, but told in a row that is skipped: SKIPPED_BY_CONFIG or SLOW_SKIPPED, with a reason and what to do about it, which may be
     * NULL.  Such ones come last.  NONE: it is run. */
    cbx_failure left_out;
    const char *why, *remedy;
} cbx_exec_command;

typedef struct cbx_exec_param {
    const char *name; /* {name} is replaced by each value in turn */
    const char *const *values;
    size_t nvalues;
} cbx_exec_param;

typedef struct cbx_exec_opts {
    uint32_t struct_size;
    const cbx_exec_command *commands; /* the first one is the ratio's reference */
    size_t ncommands;
    const cbx_exec_param *params; /* every combination is measured */
    size_t nparams;
    const char *setup;   /* run before every run, not timed; NULL: none */
    int warmup;          /* untimed runs of each command; < 0: 1 */
    size_t launches;     /* 0: as many as the rule needs, at least 6 */
    double budget_s;     /* no more runs after so long, once there are 6; 0: 60 where the rule decides, else none */
    double half_width;   /* relative half width of an interval that is good enough; 0: 0.02 */
    bool ignore_failure; /* an exit status other than 0 counts as a run */
    bool show_output;
    double timeout_s; /* of one run; 0: 3600 */
    double
        lock_wait_s; /* for the cores, held from the first run to the last (calibrax/perf/schedule/claim.h); 0: timeout_s */
    const struct cbx_claim *claim; /* held by the caller already; NULL: they are claimed here */
    uint64_t seed;
    const char *out_path; /* row file; NULL: none */
    const cbx_stop_flag *stop;
    void (*progress)(void *user, const cbx_measure_progress *p);
    void *user;
    /* what the rows say; NULL: "exec", "{}", "commands" */
    const char *case_name, *point, *label;
    bool representative;
    /** Optional: looks at what a run left behind, untimed; a failure makes the command fidelity_failed, with the message. */
    cbx_status (*check)(void *check_user, cbx_err *err);
    void *check_user;
} cbx_exec_opts;

#define CBX_EXEC_OPTS_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(cbx_exec_opts), .warmup = -1                                                                            \
    }

/** Most commands after parameters are put in. */
#define CBX_EXEC_MAX_COMMANDS 256

/**
 * Measures.  Rows that result holds already stay; those of the same case are corrected again, together with the new ones.
 * Rows have case "exec", platform "cpu", framework "command", the expanded name as baseline.
 * @param result  initialised; points is the number of expanded commands that are run, points_good of those that ran well
 * @return CBX_OK, also when commands failed or the stop flag ended it; CBX_EINVAL (no command, unknown {parameter} kind, too many
 *         combinations); CBX_EBUSY (another invocation holds cores); CBX_EPERM, CBX_ENOSPC, CBX_EIO (row file, locks); CBX_ENOMEM
 */
CBX_API cbx_status cbx_exec_run(cbx_ctx *ctx, const cbx_exec_opts *opts, cbx_measure_result *result, cbx_err *err);
/** "`sleep 0.01` is 1.95x faster than `sleep 0.02` [1.94, 1.97]", a sentence for each command but the first, and one for each failure. */
CBX_API void cbx_exec_sentence(const cbx_rows *rows, cbx_text *out);

CBX_END_DECLS
#endif
