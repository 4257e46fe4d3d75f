/** Bootstrap intervals: percentile, basic, BCa and studentised, of one sample, two samples or
 * pairs, and of launches with epochs.
 *
 * The same bits for any number of threads and on every machine: resample b draws from the stream
 * (seed, b).  Memory is O(n) a thread and 8 bytes a resample.  At benchmark sizes a percentile
 * bootstrap covers less than it says (docs/reference/statistics.md has the table): prefer
 * cbx_stat_mean_interval or the order-statistic intervals where they apply, BCa where they do not.
 * Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapters 12-14; Davison &
 * Hinkley (1997), sections 3.8 and 5. */
#ifndef CALIBRAX_STATISTICS_BOOTSTRAP_H
#define CALIBRAX_STATISTICS_BOOTSTRAP_H

#include <signal.h>

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

typedef enum cbx_boot_statistic {
    CBX_BOOT_MEAN,
    CBX_BOOT_MEDIAN,
    CBX_BOOT_QUANTILE,     /* type 7, at `parameter` in [0, 1] */
    CBX_BOOT_TRIMMED_MEAN, /* floor(parameter n) cut from each end, 0 <= parameter < 1/2 */
    CBX_BOOT_STDDEV        /* n - 1; 0 for n = 1 */
} cbx_boot_statistic;

/** How two samples meet. */
typedef enum cbx_boot_compare {
    CBX_BOOT_DIFFERENCE, /* statistic of x minus that of y */
    CBX_BOOT_RATIO       /* over that of y; CBX_EDOM where a resample makes it 0 */
} cbx_boot_compare;

typedef enum cbx_boot_method {
    CBX_BOOT_PERCENTILE, /* quantiles (1 -+ level)/2 of the resampled values */
    CBX_BOOT_BASIC,      /* the same, mirrored at the estimate */
    CBX_BOOT_BCA,        /* corrected for bias and skewness (jackknife) */
    /* of a mean or a difference of means: each resample is measured by its own standard error */
    CBX_BOOT_STUDENTISED
} cbx_boot_method;

/** A statistic of one's own; y is NULL with one sample.  Called from several threads at once; must
 * be finite and must not depend on the order. */
typedef double (*cbx_boot_fn)(const double *x, size_t n, const double *y, size_t m, void *user);

typedef struct cbx_boot_opts {
    unsigned struct_size;
    cbx_boot_statistic statistic;
    double parameter;
    cbx_boot_fn fn; /* if not NULL, instead of statistic and compare */
    void *user;
    cbx_boot_compare compare;
    bool paired; /* x_i and y_i are drawn together; needs m = n */
    cbx_boot_method method;
    double level;     /* 0 < level < 1; 0.95 */
    size_t resamples; /* >= 1; 10000 */
    uint64_t seed;
    size_t threads; /* 0: one for each CPU that the process may use; at most 64 */
    /* not NULL: receives the value of each resample, in the order of their numbers */
    double *distribution;
    /* set to 1 by another thread or a signal handler: ends at the next resample; NULL: never */
    const volatile sig_atomic_t *stop;
} cbx_boot_opts;

#define CBX_BOOT_OPTS_INIT                                                                                             \
    CBX_OPTS(cbx_boot_opts, CBX_BOOT_MEAN, 0, 0, 0, CBX_BOOT_DIFFERENCE, false, CBX_BOOT_BCA, 0.95, 10000, 0, 0, 0, 0)

/** @param x, n  1 <= n <= 2^31 finite values
 * @param y, m  NULL and 0: one sample
 * @param opts  NULL: BCa interval of the mean at 95 %
 * @param out   value is the statistic of the samples themselves; level the one asked for
 *              (nominal).  A constant sample gives its value as both ends.
 * @return CBX_OK; CBX_EINVAL (options); CBX_EDOM (a value that is not finite, given or computed);
 *   CBX_EINTERRUPTED (stop); CBX_ENOMEM
 * Studentised: a resample without spread is infinitely far, so n below 8 often has infinite ends.
 * Since 0.1. */
CBX_API cbx_status cbx_stat_bootstrap(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                      const cbx_boot_opts *opts, cbx_interval *out, cbx_err *err);

/** Launches with their epochs, one behind the other. */
typedef struct cbx_nested {
    const double *x;     /* sum of sizes values */
    const size_t *sizes; /* epochs of each launch, each >= 1 */
    size_t groups;       /* launches, >= 1 */
} cbx_nested;

/** Hierarchical: launches are drawn, then epochs within each drawn launch; the mean of launch
 * means, or the median of launch medians.
 * @param y     NULL: of one; else difference or ratio of two
 * @param opts  statistic CBX_BOOT_MEAN or CBX_BOOT_MEDIAN, method CBX_BOOT_PERCENTILE or
 *   CBX_BOOT_BASIC; fn and paired unused
 * Otherwise as cbx_stat_bootstrap.  With few launches it is too narrow, as every bootstrap is;
 * epochs never count as samples of their own. Source: Davison & Hinkley (1997), section 3.8;
 * Kalibera & Jones, ISMM 2013. */
CBX_API cbx_status cbx_stat_bootstrap_nested(cbx_ctx *ctx, const cbx_nested *x, const cbx_nested *y,
                                             const cbx_boot_opts *opts, cbx_interval *out, cbx_err *err);

CBX_END_DECLS
#endif
