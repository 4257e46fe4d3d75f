/**
 * The last values of a stream: mean, quantile and share of failures over a window of fixed memory,
 * however long the stream is.
 *
 * A window has a greatest number of values and, if asked for, a greatest age.  Time is the
 * caller's, in ns, and only its differences count; a clock that goes back removes nothing.  One
 * thread uses a window at a time.  Since 0.1.
 */
#ifndef CALIBRAX_MONITORING_WINDOW_H
#define CALIBRAX_MONITORING_WINDOW_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

#define CBX_WINDOW_MAX 1000000

typedef struct cbx_window cbx_window;

typedef struct cbx_window_facts {
    size_t count, failures;
    double failure_rate;        /* NaN without values */
    double mean, p95, min, max; /* of the finite values that are not failures; NaN without any.  p95: type 7 */
    double last;                /* newest value, finite or not; NaN without any */
} cbx_window_facts;

/**
 * @param capacity  values kept, 1..CBX_WINDOW_MAX: 24 bytes each
 * @param age_ns    values older than this at the time of a reading do not count; 0: any age
 * @return CBX_OK; CBX_EINVAL; CBX_ENOMEM
 */
CBX_API cbx_status cbx_window_create(cbx_ctx *ctx, size_t capacity, uint64_t age_ns, cbx_window **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_window_free(cbx_window *w);
/** A value that is not finite counts as a failure.  Allocates nothing. */
CBX_API void cbx_window_add(cbx_window *w, double value, bool failed, uint64_t now_ns);
/** Allocates nothing; takes capacity * log(capacity) steps. */
CBX_API void cbx_window_read(cbx_window *w, uint64_t now_ns, cbx_window_facts *out);

/** The values of the mean of cbx_window_read, oldest first; returns how many, at most capacity.
 * Allocates nothing. */
CBX_API size_t cbx_window_values(const cbx_window *w, uint64_t now_ns, double *out, size_t capacity);

CBX_END_DECLS
#endif
