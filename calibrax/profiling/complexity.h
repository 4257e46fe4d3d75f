/**
 * How the time of a call grows with its size: measured over sizes, the order chosen by model
 * selection, undecided where the points do not suffice.
 */
#ifndef CALIBRAX_PROFILING_COMPLEXITY_H
#define CALIBRAX_PROFILING_COMPLEXITY_H

#include "calibrax/profiling/timing.h"
#include "calibrax/statistics/growth.h"

CBX_BEGIN_DECLS

typedef struct cbx_complexity_opts {
    uint32_t struct_size;
    double level;      /* of intervals */
    double min_weight; /* Akaike weight from which an order is decided, in (0, 1] */
    double min_span;   /* largest over smallest size from which any order is decided; >= 1 */
    double max_error;  /* relative error of the fit up to which any order is decided */
    size_t resamples;  /* of the exponent, >= 1; 2000 */
    uint64_t seed;
} cbx_complexity_opts;

#define CBX_COMPLEXITY_OPTS_INIT CBX_OPTS(cbx_complexity_opts, 0.95, 0.9, 8, 0.25, 2000, 1)

typedef struct cbx_complexity_report {
    cbx_growth growth;
    bool decided;
    bool is_power;               /* growth.free_exponent: no order of the list explains the points */
    char order[CBX_GROWTH_TEXT]; /* "O(n log n)", "O(n^1.27)"; of the best one, decided or not */
    char why[256];               /* why undecided; "" where decided */
    cbx_interval exponent;       /* by resampling points; level 0 and infinite ends below eight points */
    size_t npoints;
} cbx_complexity_report;

/**
 * @param sizes  > 0, at least four different ones; repeated sizes are points of their own
 * @param times  > 0 [any unit]
 * @param opts   NULL: all defaults
 * @param out    written on success only
 * @return CBX_OK, also where it is undecided; CBX_EINVAL; CBX_EDOM; CBX_ENOMEM
 */
CBX_API cbx_status cbx_complexity_of_points(cbx_ctx *ctx, const double *sizes, const double *times, size_t n,
                                            const cbx_complexity_opts *opts, cbx_complexity_report *out, cbx_err *err);

/** Something that runs at any size.  setup and teardown are not timed. */
typedef struct cbx_sized_call {
    cbx_status (*setup)(size_t size, void *user, void **state, cbx_err *err); /* NULL: state is user */
    cbx_timed_fn run;                                                         /* run(state) */
    void (*teardown)(void *state);                                            /* NULL: nothing to do */
    void *user;
} cbx_sized_call;

/** One size, timed. */
typedef struct cbx_complexity_point {
    size_t size;
    cbx_interval time; /* [s] median of a call */
} cbx_complexity_point;

/**
 * Times the call at each size, in the order given: cbx_time_calls, the median of each size a point.
 * @param timing  NULL: all defaults
 * @param points  n, written on success only
 * @return as cbx_time_calls and as setup, the size named; CBX_EINVAL: a size of 0
 */
CBX_API cbx_status cbx_complexity_measure(cbx_ctx *ctx, const cbx_sized_call *call, const size_t *sizes, size_t n,
                                          const cbx_timing_opts *timing, cbx_complexity_point *points, cbx_err *err);
/** cbx_complexity_of_points of the points of cbx_complexity_measure. */
CBX_API cbx_status cbx_complexity_of_measured(cbx_ctx *ctx, const cbx_complexity_point *points, size_t n,
                                              const cbx_complexity_opts *opts, cbx_complexity_report *out,
                                              cbx_err *err);

CBX_END_DECLS
#endif
