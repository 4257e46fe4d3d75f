/*
 * Inside regression: what matching, judging and concluding share.
 */
#ifndef CALIBRAX_ANALYSIS_REGRESSION_PARTS_H
#define CALIBRAX_ANALYSIS_REGRESSION_PARTS_H

#include "calibrax/analysis/regression.h"
#include "calibrax/base/words.h"
#include "calibrax/statistics/whitney.h"

struct cbx_regression {
    cbx_allocator al;
    cbx_arena arena;
    cbx__words words; /* what stands in many findings */
    cbx_finding *findings;
    size_t nfindings;
    const cbx_point *named; /* whose names the last finding has */
    size_t nkeys_run, nkeys_baseline;
    const char *run_id, *baseline_id, *label, *idle_rule;
    cbx_same_machine machines;
    cbx_gate_reason refused; /* NONE: compared */
    bool allow_dropped, undecided_passes;
};

/** One metric of one point of a run. */
typedef struct cbx__keyed {
    const cbx_point *point;
    const cbx_named_metric *metric;
    struct cbx__keyed *other; /* of the same key in the other run */
    uint32_t count;           /* how often the key stands in the run; 0: not its first place */
} cbx__keyed;

/** Those of a run, which outlives them. */
typedef struct cbx__keys {
    cbx__keyed *all; /* in the order of the run */
    size_t n, room;
    uint32_t *slots; /* open addressing, at most half taken: 1 + index; 0: free */
    size_t nslots;
} cbx__keys;

/** On failure there is nothing to clear.  @return CBX_OK or CBX_ENOMEM */
cbx_status cbx__keys_init(const cbx_allocator *al, const cbx_run *run, cbx__keys *k, cbx_err *err);
/** Of zeros, too, which they are afterwards. */
void cbx__keys_clear(const cbx_allocator *al, cbx__keys *k);
/** The first with the same point, scenario, tags in any order and metric; NULL: none. */
cbx__keyed *cbx__keys_find(const cbx__keys *k, const cbx__keyed *like);

/** Outcome, change, threshold, interval and p of a key in both runs, definition and finiteness settled.
 * @param counts  kept from one key to the next, by the caller */
cbx_status cbx__regression_judge(cbx_ctx *ctx, const cbx_regression_opts *opts, cbx__whitney *counts,
                                 const cbx_metric *now, const cbx_metric *base, cbx_finding *f, cbx_err *err);
/** Order-statistic intervals of both medians (now, base) at level sqrt(level); level 0 where samples do not suffice. */
cbx_status cbx__intervals_of_samples(cbx_ctx *ctx, double level, const cbx_metric *now, const cbx_metric *base,
                                     cbx_interval out[2], cbx_err *err);
/** Interval of the change from intervals of both sides: quotient less 1 if relative and all ends > 0, else difference over scale. */
cbx_interval cbx__change_of(const cbx_interval *now, const cbx_interval *base, double scale, bool relative);
/** Holm over the findings that have a p; what does not stand becomes undecided. */
cbx_status cbx__regression_correct(cbx_ctx *ctx, double level, cbx_finding *f, size_t n, cbx_err *err);
/** Fills sentence; false: out of memory. */
bool cbx__regression_say(cbx_arena *arena, cbx_finding *f);

#endif
