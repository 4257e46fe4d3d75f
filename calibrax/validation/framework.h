/**
 * Values of competitors: one table of a run's points, a row a framework and a column a metric.
 *
 * A point belongs to the framework in its group tag, without the tag to that of its own name.  Both
 * are in the order of first appearance; missing values are NaN and not measured.  Two values of one
 * framework and metric are refused, unless `last` is set (the Python package calibrax,
 * extract_framework_metrics, uses the last one).  The values are an input of cbx_score
 * (analysis/ranking.h).  Since 0.1.
 */
#ifndef CALIBRAX_VALIDATION_FRAMEWORK_H
#define CALIBRAX_VALIDATION_FRAMEWORK_H

#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

typedef struct cbx_framework_opts {
    uint32_t struct_size;
    const char *group_tag; /* NULL: "framework" */
    const char *const
        *metrics; /* columns, in this order; a name that no point has is a column of NaN; NULL: all metrics */
    size_t nmetrics;
    bool last; /* of several values for one cell the last counts */
} cbx_framework_opts;

#define CBX_FRAMEWORK_OPTS_INIT CBX_OPTS(cbx_framework_opts, 0, 0, 0, 0)

typedef struct cbx_framework_metrics cbx_framework_metrics;

/**
 * @param opts  NULL: all defaults
 * @param out   the caller frees it; independent of run and ctx, but for the allocator of ctx
 * @return CBX_OK, also for a run without points; CBX_EINVAL (struct_size, a metric named twice);
 *         CBX_EEXIST (two values for one cell: both named); CBX_EOVERFLOW; CBX_ENOMEM
 */
CBX_API cbx_status cbx_framework_metrics_create(cbx_ctx *ctx, const cbx_run *run, const cbx_framework_opts *opts,
                                                cbx_framework_metrics **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_framework_metrics_free(cbx_framework_metrics *f);

CBX_API size_t cbx_framework_metrics_nframeworks(const cbx_framework_metrics *f);
CBX_API size_t cbx_framework_metrics_nmetrics(const cbx_framework_metrics *f);
/** NULL past the end; text lives as long as f. */
CBX_API const char *cbx_framework_metrics_framework(const cbx_framework_metrics *f, size_t i);
CBX_API const char *cbx_framework_metrics_metric(const cbx_framework_metrics *f, size_t m);
/** [framework n][metric m], row-major; NaN where nothing was measured, or the value is NaN. */
CBX_API const double *cbx_framework_metrics_values(const cbx_framework_metrics *f);
/** Whether a value was measured, even NaN; false past the end. */
CBX_API bool cbx_framework_metrics_measured(const cbx_framework_metrics *f, size_t m, size_t i);

CBX_END_DECLS
#endif
