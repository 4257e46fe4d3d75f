/**
 * Growth: how the time of each baseline grows with the work of a point, and what that predicts for
 * sizes that were not measured.
 *
 * A line is one (case, machine, platform, baseline, variant, variety), variety being the parameters
 * that are not integers; its points are scaled copies of one shape, or, where there are four of
 * them, points that differ in one parameter only (the rows of a graph).  Work is the product of the
 * integer parameters but the seed and those that are 0.  Fit: t = a + b work^p
 * (analysis/scaling.h), p with its interval, from four sizes on.
 *
 * A projection is given only where it was validated: the fit without the largest size must predict
 * that size's time within a factor of 2, which needs five sizes, and p must not differ by more than
 * 0.3 from the exponent of the declared steps (gmac_per_s * median).
 */
#ifndef CALIBRAX_PERF_REPORT_GROWTH_LINES_H
#define CALIBRAX_PERF_REPORT_GROWTH_LINES_H

#include "calibrax/analysis/scaling.h"
#include "calibrax/storage/row.h"

CBX_BEGIN_DECLS

/* name, what it is called */
#define CBX_GROWTH_TRUST_MAP(X)                                                                                        \
    X(TOO_FEW, "too few sizes") /* fewer than four: no fit */                                                          \
    X(UNTESTED, "untested")     /* four: a fit, and nothing left to test it on */                                      \
    X(MISSES, "misses")         /* the largest size is not within a factor of 2 of what the others predict */          \
    X(DIVERGES, "diverges")     /* p is more than 0.3 from the declared steps' */                                      \
    X(VALIDATED, "validated")

typedef enum cbx_growth_trust {
#define CBX_GROWTH_TRUST_ENUM(name, words) CBX_GROWTH_##name,
    CBX_GROWTH_TRUST_MAP(CBX_GROWTH_TRUST_ENUM)
#undef CBX_GROWTH_TRUST_ENUM
} cbx_growth_trust;
CBX_API const char *cbx_growth_trust_name(cbx_growth_trust t);

typedef struct cbx_growth_line {
    const cbx_row *row; /* of the largest size */
    const char *variety;
    const char *grows; /* the one parameter in which its points differ; NULL: all grow in proportion */
    size_t nsizes;
    double smallest, largest; /* work */
    cbx_interval exponent;    /* NaN without a fit */
    double declared_exponent; /* of the declared steps; NaN: none declared */
    double held_out; /* time that the fit without the largest size predicts, over the time measured; NaN: untested */
    double memory_exponent; /* of the growth of resident memory by least squares on logarithms; NaN: unknown */
    cbx_growth_trust trust;
    double projected_work;    /* 100 times the largest; NaN unless validated */
    cbx_interval projected_s; /* from the largest size on, by p and its ends */
} cbx_growth_line;

/**
 * @param rows   one row a key (cbx_rows_latest); good ones count
 * @param level  of the intervals, 0.95
 * @param lines  in the arena, in the order of first appearance; borrow the rows
 * @return CBX_OK; CBX_EINVAL (level); CBX_ENOMEM
 */
CBX_API cbx_status cbx_growth_of_rows(cbx_ctx *ctx, const cbx_rows *rows, double level, cbx_arena *arena,
                                      cbx_growth_line **lines, size_t *count, cbx_err *err);
/** {"schema":"nperf-growth","version":1,"lines":[...]}; NULL: out of memory. */
CBX_API cbx_json *cbx_growth_json(const cbx_growth_line *lines, size_t count);

CBX_END_DECLS
#endif
