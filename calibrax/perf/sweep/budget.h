/**
 * The time of a run, divided over its jobs as they begin.  Internal to perf.
 *
 * A job that begins when L seconds of the run are left gets L / ceil(U / l), U being the jobs of
 * its queue that have not begun, itself among them, and l how many are done side by side: as if
 * they were done in so many turns that take equally long.  What a job does not use is shared by
 * those that begin later, and what one takes too much is taken from them.  No share is longer than
 * what is left.
 *
 * Queues have times of their own where each has its own cores and devices; where they share them
 * they are one queue.  Not for two threads at a time.
 */
#ifndef CALIBRAX_PERF_SWEEP_BUDGET_H
#define CALIBRAX_PERF_SWEEP_BUDGET_H

#include "calibrax/perf/schedule/slots.h"

typedef struct cbx__budget {
    double total_s;                                                /* 0: no end */
    bool pooled;                                                   /* all queues are one, the first */
    size_t lanes[CBX__MAX_PLATFORMS], waiting[CBX__MAX_PLATFORMS]; /* of each queue */
    size_t begun;
} cbx__budget;

/** No jobs yet.  @param r  the resources that will do them; total_s 0: there is no budget */
void cbx__budget_init(cbx__budget *b, double total_s, const cbx__resources *r);
/** One more job to come, of a queue below CBX__MAX_PLATFORMS. */
void cbx__budget_add(cbx__budget *b, size_t queue);
/**
 * A job begins.
 * @param elapsed_s  of the run
 * @param share_s    what it may take; INFINITY without a budget, 0 where nothing is left
 * @return false: nothing is left, and an earlier job of the run has begun, so that this one is to
 *   be left out
 */
bool cbx__budget_begin(cbx__budget *b, size_t queue, double elapsed_s, double *share_s);

#endif
