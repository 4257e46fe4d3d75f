/*
 * A sweep in the making: what its options mean, its jobs with their plans, and the rows that an earlier run left.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_SWEEP_H
#define CALIBRAX_PERF_SWEEP_SWEEP_H

#include "calibrax/perf/sweep/budget.h"
#include "calibrax/perf/sweep/measure.h"
#include "calibrax/perf/sweep/session.h"

/* The sweep's own state around the session: the points and what came of them. */
typedef struct cbx__sweep {
    cbx__session s;
    cbx_ctx *ctx;
    cbx__point *jobs; /* by point, then platform */
    cbx_rows *rows;   /* of each job, once it is done */
    bool *done;
    size_t *queues; /* of each job: its platform */
    size_t *live;   /* jobs that are dispatched */
    size_t njobs, npoints;
    pthread_mutex_t *making; /* of each point */
    size_t nmaking;
    cbx__resources resources;
    cbx_rows kept;      /* what resume read */
    cbx_rows older;     /* without resume: what the row file had, of which other keys stay */
    cbx__budget budget; /* under the session's lock */
    cbx_measure_result *result;
} cbx__sweep;

/* Checks the options, makes a job of each point and platform, and sees that what is to be written can be.  Rows that are resumed are
 * taken over, and launches are promised to whoever follows the progress.
 * @param w  zeroed, but for context, result, and an initialised session and `kept`; clear it in any case */
cbx_status cbx__sweep_prepare(cbx__sweep *w, cbx_err *err);
void cbx__sweep_clear(cbx__sweep *w);

#endif
