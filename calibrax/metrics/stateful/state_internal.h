/*
 * Inside the metrics: what a state holds, for those that write it out and for collections, where
 * metrics share states.
 */
#ifndef CALIBRAX_METRICS_STATEFUL_STATE_INTERNAL_H
#define CALIBRAX_METRICS_STATEFUL_STATE_INTERNAL_H

#include "calibrax/base/list.h"
#include "calibrax/metrics/call.h"
#include "calibrax/metrics/stateful/state.h"

/** Operands of one batch, kept by metrics that need all data; arrays that are left out are NULL. */
typedef struct cbx__batch {
    cbx_array *in[CBX_METRIC_MAX_OPERANDS + 1]; /* operands, then weights */
} cbx__batch;

struct cbx_metric_state {
    cbx_allocator al;
    cbx__bound b;
    cbx_fn *function; /* kept; b.function points to it */
    bool mapped;      /* a function made the features that it keeps, or would */
    bool lost;        /* and it was not among the bytes that the state is from */
    double
        resolved[CBX_METRIC_MAX_PARAMETERS]; /* the largest of all batches: numbers of classes come from the labels */
    size_t updates;
    cbx_array *sum, *rest; /* of items and parts; rest: what rounding lost of a sum; NULL: nothing yet */
    CBX_LIST(cbx__batch) batches;
};

static inline bool cbx__state_keeps_all(const cbx_metric_state *s) { return s->b.metric->whole != NULL; }

/** The result of another metric that keeps the same. */
cbx_status cbx__state_compute_as(cbx_ctx *ctx, const cbx_metric_state *s, const cbx_metric_function *m, cbx_array **out,
                                 cbx_err *err);

/** Bytes that are read: a number has 8 of them, least first, and other things their length before
 * them.  After a failure, status, all of them are empty. */
typedef struct cbx__reader {
    const unsigned char *at;
    size_t left;
    const char *what;
    cbx_err *err;
    cbx_status status;
} cbx__reader;
const void *cbx__get_bytes(cbx__reader *r, size_t *n);
/** Written with their length. */
void cbx__put_bytes(cbx_text *t, const void *bytes, size_t n);

/** What a state was before a change that others must not survive. */
typedef struct cbx__state_mark {
    cbx_array *sum, *rest; /* ours */
    size_t batches, updates;
    double resolved[CBX_METRIC_MAX_PARAMETERS];
} cbx__state_mark;
cbx__state_mark cbx__state_remember(const cbx_metric_state *s);
/** The state as it was, unless s is NULL; the mark ends. */
void cbx__state_return(cbx_metric_state *s, cbx__state_mark *mark);

#endif
