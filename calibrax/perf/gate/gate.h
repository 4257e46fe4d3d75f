/**
 * The gate over rows: a table of rows against a baseline table, decided by the verdict engine
 * (analysis/regression.h).
 *
 * Keys are those of the store (cbx_row_key), the machine with them: rows of different machines meet
 * only where that is allowed, with a note.  The newest attempt of a key decides, good or not; where
 * that is a row that was not measured (its environment is not here), or all were skipped, the key
 * is missing.  For keys in both tables the findings are
 *
 *   ok             1 or 0: is the row good, with an answer that was checked (if the baseline's was)
 *                  and lies within its bound; 1 -> 0 regressed, 0 -> 1 improved
 *   time           median of launch medians, by the launches of both sides: intervals,
 *                  Mann-Whitney, Holm over the table.  Regressed: more than `threshold` and proven;
 *                  equivalent: surely within `margin`; else undecided.  Too few launches (fewer
 *                  than 7 a side at 95 %) are undecided
 *   time_min, time_p95   minimum and 95th percentile by their values: where a side has no launches
 *                  (rows of other writers), or where a ratio was given
 *   compile_time (cold), compile_time_warm, memory (growth), device_memory, error_to_tolerance as
 *                  time, by their launches, against a threshold and a least change each (0.1 s, 8
 *                  MB, 0.05 of the bound); by their values where a side does not hold its launches
 *                  (rows of schema version 1, and of other writers)
 *
 * and a key in one table only has the finding `ok` as new or dropped; so has a metric that one row
 * of a pair lacks.  "Both good" is what all but `ok` need.
 */
#ifndef CALIBRAX_PERF_GATE_GATE_H
#define CALIBRAX_PERF_GATE_GATE_H

#include "calibrax/analysis/regression.h"
#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

typedef struct cbx_row_gate_opts {
    uint32_t struct_size;
    double threshold;                 /* of time, relative; 0.01 */
    double margin;                    /* of time, relative; 0.05 */
    double min_ratio, p95_ratio;      /* > 1; NaN: 1.10 and 1.25, and only where a side has no launches */
    double memory, compile, fidelity; /* relative; 0.10, 0.50, 1.0 */
    double level;
    bool allow_dropped, allow_machines, undecided_passes;
    bool allow_older; /* rows under test that are older than the baseline's */
} cbx_row_gate_opts;

#define CBX_ROW_GATE_OPTS_INIT                                                                                         \
    CBX_OPTS(cbx_row_gate_opts, 0.01, 0.05, __builtin_nan(""), __builtin_nan(""), 0.10, 0.50, 1.0, 0.95, 0, 0, 0, 0)

/** What was laid side by side. */
typedef struct cbx_row_gate_facts {
    size_t nbaseline, ncurrent, nboth; /* keys */
    size_t other_machines; /* keys of the baseline left out: their machine has no row in the current table */
    bool same_rows;  /* every key in both has the same run on both sides: a table against itself, which is refused */
    char apart[512]; /* no key in both: a sentence that lists the first names of both sides; else "" */
} cbx_row_gate_facts;

/**
 * @param baseline, current  of several rows of a key the newest attempt counts, good or not
 *   (cbx_row_index_attempts)
 * @param opts   NULL: all defaults
 * @param out    the findings, to be laid before a guard (ci/guard.h); the caller frees it
 * @param facts  may be NULL
 * @return CBX_OK, whatever was found; CBX_EINVAL (an option; a key twice with one run id; a run id
 *         that does not begin with a time in UTC, or is in the future; a row under test that is
 *         older than the baseline's, unless allowed); CBX_ENOMEM
 */
CBX_API cbx_status cbx_row_gate(cbx_ctx *ctx, const cbx_rows *baseline, const cbx_rows *current,
                                const cbx_row_gate_opts *opts, cbx_regression **out, cbx_row_gate_facts *facts,
                                cbx_err *err);

CBX_END_DECLS
#endif
