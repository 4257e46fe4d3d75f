/**
 * Time of an iteration over batches: fetching a batch and processing it, warm-up excluded.
 *
 * fetch is the time of next, batch that of process and sync together, for every batch that counts,
 * less the clock's own cost.  Wall time is their sum, without the work of the collector between
 * batches.  Nothing is allocated while a clock runs.
 */
#ifndef CALIBRAX_PROFILING_BATCHES_H
#define CALIBRAX_PROFILING_BATCHES_H

#include "calibrax/profiling/timing.h"

CBX_BEGIN_DECLS

/** Where batches come from and what is done with them. */
typedef struct cbx_batches {
    cbx_status (*next)(void *user, void **batch, cbx_err *err);   /* *batch stays NULL at the end */
    cbx_status (*process)(void *user, void *batch, cbx_err *err); /* NULL: batches are only fetched */
    uint64_t (*count)(void *user, const void *batch);             /* elements; not timed; NULL: 1 each */
    void (*sync)(void *user); /* waits for a device; part of the batch's time; NULL: nothing to wait for */
    void *user;
} cbx_batches;

typedef struct cbx_batches_opts {
    uint32_t struct_size;
    size_t warmup;              /* first batches that do not count */
    size_t max_batches;         /* batches that count; SIZE_MAX: until the end */
    double level;               /* of the median's interval, in (0, 1) */
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
} cbx_batches_opts;

#define CBX_BATCHES_OPTS_INIT CBX_OPTS(cbx_batches_opts, 0, SIZE_MAX, 0.95, 0)

typedef struct cbx_batches_timing {
    double wall_s;             /* of the batches that count: fetch and batch */
    double warmup_s;           /* of those before */
    double first_batch_s;      /* from the start until the first batch is done, be it warm-up */
    double fetch_share;        /* of wall_s, 0..1 */
    cbx_interval batch;        /* [s] median and its order-statistic interval */
    cbx_summary summary;       /* of batch times [s] */
    double *batch_s, *fetch_s; /* in order; owned: cbx_batches_timing_clear */
    size_t nbatches;           /* that count */
    size_t warmup_batches;     /* before those that count */
    uint64_t elements, warmup_elements;
    double elements_per_s; /* of those that count, over wall_s */
    double clock_cost_ns;
    double clock_share; /* of a median batch that the clock's step or cost may still move */
    size_t capacity, fetch_capacity;
    cbx_allocator al;
} cbx_batches_timing;

/**
 * @param opts  NULL: all defaults
 * @param out   written on success only; the caller clears it
 * @return CBX_OK; CBX_EINVAL (no next, an option outside its range); CBX_ENOENT: no batch after the
 *         warm-up; CBX_ENOMEM; CBX_EDOM: a clock that ran backwards; what next and process return
 */
CBX_API cbx_status cbx_batches_time(cbx_ctx *ctx, const cbx_batches *b, const cbx_batches_opts *opts,
                                    cbx_batches_timing *out, cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_batches_timing_clear(cbx_batches_timing *t);

CBX_END_DECLS
#endif
