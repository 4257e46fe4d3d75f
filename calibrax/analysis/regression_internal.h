/* Shared by regression, comparison and change points. */
#ifndef CALIBRAX_ANALYSIS_REGRESSION_INTERNAL_H
#define CALIBRAX_ANALYSIS_REGRESSION_INTERNAL_H

#include "calibrax/analysis/regression.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/statistics/rank_internal.h"

struct cbx_regression {
    cbx_arena arena;
    cbx_names words; /* texts that many findings share */
    cbx_finding *findings;
    size_t nfindings;
    const cbx_point *named; /* whose names the last finding has */
    size_t nkeys_run, nkeys_baseline;
    const char *run_id, *baseline_id, *label, *idle_rule;
    cbx_same_machine machines;
    cbx_gate_reason refused; /* NONE: compared */
    bool allow_dropped, undecided_passes;
};

/** Outcome, change, threshold, interval and p of a key in both runs, with valid definitions and
 * numbers.
 * @param counts  kept from one key to the next, by the caller */
cbx_status cbx__regression_judge(cbx_ctx *ctx, const cbx_regression_opts *opts, cbx__whitney *counts,
                                 const cbx_metric *now, const cbx_metric *base, cbx_finding *f, cbx_err *err);
/** The Hodges-Lehmann shift of logarithms less 1, with its interval; of the samples over *scale
 * unless all are > 0.
 * @param scale  |median of the baseline|; a scale of 0 leaves the difference as it is
 * @param out    level 0 and infinite ends: too few samples */
cbx_status cbx__change_of_samples(cbx_ctx *ctx, const double *now, size_t n, const double *base, size_t m, double level,
                                  double *scale, cbx_interval *out, cbx_err *err);
/** Interval of the change from bounds of both sides: quotient less 1 if all ends are > 0, else
 * difference over scale.  Level 0. */
cbx_interval cbx__change_of(const cbx_interval *now, const cbx_interval *base, double scale);
/** Holm over the findings that have a p; a claim with a corrected p above 1 - level becomes
 * undecided. */
cbx_status cbx__regression_correct(cbx_ctx *ctx, double level, cbx_finding *f, size_t n, cbx_err *err);
/** CBX_EDOM for a point that is not finite. */
cbx_status cbx__series_check(const double *x, size_t n, cbx_err *err);
/** Fills sentence; false: out of memory. */
bool cbx__regression_report(cbx_arena *arena, cbx_finding *f);

#endif
