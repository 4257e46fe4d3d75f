/** Pareto fronts: the points that no other is at least as good as in everything and better in
 * something. */
#ifndef CALIBRAX_ANALYSIS_PARETO_H
#define CALIBRAX_ANALYSIS_PARETO_H

#include "calibrax/base/ctx.h"
#include "calibrax/core/metric.h"

CBX_BEGIN_DECLS

/** Up to three objectives take O(n log n), more take O(n f d) for a front of f points. Source:
 * Kung, Luccio & Preparata, J. ACM 22 (1975) 469-476; here the third coordinate's minimum over a
 * Fenwick tree of the second.
 * @param x           [point n][objective d], row-major; infinities are fine, a NaN is missing and
 *   takes its point out
 * @param directions  lower or higher, one an objective
 * @param on_front    n flags; equal points are on the front together
 * @param nfront      how many do; may be NULL
 * @param nmissing    points with a NaN; may be NULL
 * @return CBX_OK; CBX_EINVAL (no point, no objective, or one of direction info); CBX_ENOMEM.  Since
 *   0.1. */
CBX_API cbx_status cbx_pareto_front(cbx_ctx *ctx, const double *x, size_t n, size_t d, const cbx_direction *directions,
                                    bool *on_front, size_t *nfront, size_t *nmissing, cbx_err *err);

CBX_END_DECLS
#endif
