/**
 * The sweep: points x platforms x baselines x variants of one case, measured by interleaved
 * launches, written as rows.
 *
 * Round r launches every attempt once, in the order of a Williams square (two attempts: A B, B A);
 * so every round gives one paired ratio.  The first round calibrates the calls of an epoch, which
 * are the same for the rest; the first three are the pilot, from which the counts of the others
 * follow where a budget or a goal asks for them (stopping.h); with a goal, rounds end by a
 * sequential rule that keeps the level of every interval (stopping.h).  Whatever happens to one
 * attempt is a row; the sweep goes on.  The row file is rewritten, as one step, after each point.
 */
#ifndef CALIBRAX_PERF_SWEEP_MEASURE_H
#define CALIBRAX_PERF_SWEEP_MEASURE_H

#include "calibrax/base/ctx.h"
#include "calibrax/base/text.h"
#include "calibrax/perf/sweep/measure_opts.h"
#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

typedef struct cbx_measure_result {
    /* in point order, then platform, then the case's baseline order; what resume carried over
     * comes with them */
    cbx_rows rows;
    cbx_text raw;       /* one JSON line a launch: {"schema":"nperf-launch","version":1,...} */
    size_t points;      /* asked for */
    size_t points_good; /* of these, with at least one good row */
    size_t points_kept; /* of these, taken over by resume */
    bool interrupted;
    char run_id[CBX_RUN_ID_SIZE];
} cbx_measure_result;

CBX_API void cbx_measure_result_init(cbx_measure_result *r, const cbx_allocator *al);
CBX_API void cbx_measure_result_clear(cbx_measure_result *r);

/**
 * Runs the sweep.  result is filled with everything finished also when the call fails.
 * @param result  initialised; rows are added to it
 * @return CBX_OK, also when attempts failed and when the stop flag ended it (result->interrupted);
 *         CBX_EINVAL (unknown case member, baseline or platform, with the nearest known one; bad
 *         numbers), CBX_EFORMAT (a point is no JSON); CBX_EIO, CBX_EPERM, CBX_ENOSPC (row file or
 *         store; the rows of earlier points are intact), CBX_EBUSY (cores or devices in use),
 *         CBX_ENOMEM
 * Starts a thread for each CPU slot and device but one, each with its own context.
 */
CBX_API cbx_status cbx_measure_run(cbx_ctx *ctx, const cbx_measure_opts *opts, cbx_measure_result *result,
                                   cbx_err *err);

CBX_END_DECLS
#endif
