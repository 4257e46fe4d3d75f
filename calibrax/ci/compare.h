/**
 * Two revisions against each other: each built in a worktree of its own, then launched in turns.
 *
 * Round r launches A then B, round r + 1 B then A, so that drift cancels; environment and stack are
 * shifted by random amounts for each launch.  A value is the wall time of a launch, or the last
 * number behind a name in what it prints.  Verdict: median of B / A over the rounds with its
 * order-statistic interval (statistics/estimate.h), by the engine behind every gate
 * (analysis/verdict.h).
 *
 * The user's repository is only read, as in bisect_run.h, and commands run as there, with
 * CALIBRAX_BISECT_COMMIT set.  The first launch of each revision warms caches and is not counted.
 * Since 0.1.
 */
#ifndef CALIBRAX_CI_COMPARE_H
#define CALIBRAX_CI_COMPARE_H

#include "calibrax/analysis/verdict.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/json.h"
#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

typedef struct cbx_compare_opts {
    uint32_t struct_size;
    const char *repository; /* in it or below; NULL: the current folder */
    const char *a, *b;      /* revisions, as git names them; the same one twice measures the noise */
    const char *build;      /* NULL: nothing to build */
    const char *bench;
    const char *metric;                      /* a cost; NULL: [s] wall time of the launch */
    size_t launches;                         /* of each; 0: 25; at least 6 */
    double level;                            /* of the interval; 0: 0.95 */
    double margin;                           /* for equivalent; NaN: CBX_VERDICT_MARGIN */
    double build_timeout_s, bench_timeout_s; /* 0: 3600 */
    double
        lock_wait_s; /* for the cores, held while builds and launches run (calibrax/perf/schedule/claim.h); 0: 3600 */
    uint64_t seed;   /* of the layout */
    const char *scratch;                                                        /* NULL: the user's cache folder */
    const cbx_stop_flag *stop;                                                  /* may be NULL */
    void (*progress)(void *user, const char *words, size_t done, size_t total); /* may be NULL */
    void *user;
} cbx_compare_opts;

#define CBX_COMPARE_OPTS_INIT                                                                                          \
    {                                                                                                                  \
        .struct_size = sizeof(cbx_compare_opts), .margin = __builtin_nan("")                                           \
    }

typedef struct cbx_compare_result {
    const char *hash[2];     /* A, B */
    const double *values[2]; /* one a round */
    size_t rounds;
    cbx_interval median[2];
    cbx_interval ratio;  /* B over A */
    double p;            /* exact, of what the verdict claims: sign test, or two one-sided ones for equivalent */
    cbx_verdict verdict; /* of B */
} cbx_compare_result;

/**
 * @param out  lives in the arena
 * @return CBX_OK; CBX_EINVAL (an option); CBX_ENOENT (no such revision or repository; no launcher);
 *         CBX_ECHILD (a build or a benchmark failed, or git did: the message names the revision and
 *         holds its last words); CBX_EDOM (a value that is not > 0); CBX_EBUSY (another invocation
 *         holds cores); CBX_EINTERRUPTED; CBX_EUNAVAILABLE (no git); CBX_EIO, CBX_ENOSPC,
 *         CBX_EPERM, CBX_ENOMEM
 */
CBX_API cbx_status cbx_revisions_compare(cbx_ctx *ctx, const cbx_compare_opts *opts, cbx_arena *arena,
                                         cbx_compare_result *out, cbx_err *err);
/** {"schema":"nperf-compare","version":1,...}; NULL: out of memory. */
CBX_API cbx_json *cbx_compare_json(const cbx_compare_opts *opts, const cbx_compare_result *r);

CBX_END_DECLS
#endif
