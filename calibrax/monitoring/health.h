/**
 * Health of pipelines in production: failures and durations over a window of each, against a
 * baseline.
 *
 * critical: failure rate > critical_rate, or p95 duration > critical_slow baselines.  degraded:
 * failure rate > degraded_rate, or mean duration > degraded_slow baselines.  unknown: fewer than
 * `min_executions` executions in the window.  healthy otherwise.  Only the window counts: a
 * pipeline that has recovered is healthy again, however it began.
 *
 * With hysteresis h a limit that has been exceeded stays so until the rate or duration is at most
 * (1 - h) of it, so that variation about a limit is not reported each time.
 *
 * A duration below 0 s is of a clock that jumped: its execution counts as a failure.
 *
 * Time is the caller's, in ns.  One thread uses a cbx_health at a time.  Since 0.1.
 */
#ifndef CALIBRAX_MONITORING_HEALTH_H
#define CALIBRAX_MONITORING_HEALTH_H

#include "calibrax/monitoring/alert.h"
#include "calibrax/monitoring/window.h"

CBX_BEGIN_DECLS

typedef enum cbx_health_state {
    CBX_HEALTH_UNKNOWN,
    CBX_HEALTH_HEALTHY,
    CBX_HEALTH_DEGRADED,
    CBX_HEALTH_CRITICAL
} cbx_health_state;

/** "unknown", "healthy", "degraded", "critical"; "?" outside the list. */
CBX_API const char *cbx_health_state_name(cbx_health_state s);

typedef struct cbx_health_opts {
    uint32_t struct_size;
    size_t window;                       /* executions of each pipeline, >= 1; 100 */
    uint64_t age_ns;                     /* older ones do not count; 0: any age */
    size_t min_executions;               /* 1 <= min_executions <= window; 3 */
    double degraded_rate, critical_rate; /* 0 <= degraded <= critical < 1; 0.2 and 0.5 */
    double degraded_slow, critical_slow; /* times the baseline, 1 <= degraded <= critical; 1.2 and 2 */
    double hysteresis;                   /* share of each limit, 0 <= h < 1 */
} cbx_health_opts;

#define CBX_HEALTH_OPTS_INIT CBX_OPTS(cbx_health_opts, 100, 0, 3, 0.2, 0.5, 1.2, 2, 0)

typedef struct cbx_health_report {
    const char *pipeline; /* lives as long as the cbx_health */
    cbx_health_state state;
    cbx_window_facts window; /* durations [s] */
    double baseline_s;       /* NaN: none */
    uint64_t executions;     /* of all time */
    char reason[120];        /* why it is not healthy; "" if it is */
} cbx_health_report;

typedef struct cbx_health cbx_health;

/** @param opts  NULL: all defaults.  @return CBX_OK; CBX_EINVAL (an option out of range);
 *   CBX_ENOMEM */
CBX_API cbx_status cbx_health_create(cbx_ctx *ctx, const cbx_health_opts *opts, cbx_health **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_health_free(cbx_health *h);
/** [s] Duration that a pipeline should have, > 0.  @return CBX_OK; CBX_EDOM; CBX_ENOMEM */
CBX_API cbx_status cbx_health_set_baseline(cbx_health *h, const char *pipeline, double seconds, cbx_err *err);
/** One execution.  A pipeline is made by its first one.  @return CBX_OK; CBX_EINVAL (no name);
 * CBX_ENOMEM (first only) */
CBX_API cbx_status cbx_health_record(cbx_health *h, const char *pipeline, double seconds, bool success, uint64_t now_ns,
                                     cbx_err *err);
CBX_API size_t cbx_health_count(const cbx_health *h);
/** i-th pipeline, in the order of their first mention; i < cbx_health_count. */
CBX_API void cbx_health_read(cbx_health *h, size_t i, uint64_t now_ns, cbx_health_report *out);
/** The worst of the known states; unknown if there are none. */
CBX_API cbx_health_state cbx_health_overall(cbx_health *h, uint64_t now_ns);

CBX_END_DECLS
#endif
