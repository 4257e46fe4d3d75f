/** Where the variance sits (launches, epochs), how often to repeat at each level, and what a plan
 * can detect.
 *
 * Since 0.1.  @return of all: CBX_OK; CBX_EINVAL (too few groups, options); CBX_EDOM (not finite);
 * CBX_ENOMEM. */
#ifndef CALIBRAX_STATISTICS_VARIANCE_H
#define CALIBRAX_STATISTICS_VARIANCE_H

#include "calibrax/statistics/bootstrap.h"

CBX_BEGIN_DECLS

typedef struct cbx_components {
    double mean;        /* of launch means, each of one weight */
    double within;      /* variance of epochs inside a launch; 0 where every launch has one epoch */
    double between;     /* variance of launches beyond what epochs explain, >= 0 */
    double between_raw; /* before it is cut at 0: negative means that launches vary less than epochs would make them */
    double share;       /* between / (between + within); 0 where both are 0 */
    double epochs;      /* harmonic kind of mean of epochs a launch: (N - sum n_i^2 / N) / (groups - 1) */
    size_t groups, values;
} cbx_components;

/** One-way random effects by analysis of variance, launches of any sizes: within = MS_within,
 * between = (MS_between - MS_within) / n_0. At least 2 launches.  A variance beyond the range of
 * double is infinite, one below it 0; mean and share are right there, too. Source: Searle, Casella
 * & McCulloch, Variance Components (1992), section 3.6; Kalibera & Jones, ISMM 2013. */
CBX_API cbx_status cbx_stat_components(const cbx_nested *x, cbx_components *out, cbx_err *err);

/** Kalibera & Jones: repetitions below the top level that make the interval narrowest for the time,
 * r_i = ceil(sqrt(c_{i+1} / c_i * T_i^2 / T_{i+1}^2)), at least 1, at most `max`; level 0 is the
 * lowest (epochs). A level above without variance takes `max`; a level without variance of its own
 * takes 1.
 * @param variance  T_i^2 >= 0 of each level, lowest first
 * @param cost      c_i > 0: of one repetition at each level without those below it, in one unit
 * @param levels    >= 2
 * @param counts    levels - 1 counts */
CBX_API cbx_status cbx_stat_repetitions(const double *variance, const double *cost, size_t levels, size_t max,
                                        size_t *counts, cbx_err *err);

/** Launches for which the t interval of their mean is expected to be at most `half` to each side.
 * @param variance  of one launch mean: between + within / epochs
 * @param half      > 0, in the samples' unit
 * @return at least 2; CBX_EINVAL if more than 10^6 would be needed */
CBX_API cbx_status cbx_stat_launches_for(double variance, double half, double level, size_t *out, cbx_err *err);

/* ---- power of t tests, two-sided.  d: difference in units of the standard deviation ---- */

/** Two samples of n each.  n >= 2, 0 < alpha < 1; NaN otherwise.  |d| sqrt(n/2) beyond 37 is
 * certain: 1. */
CBX_API double cbx_stat_power_two(size_t n, double d, double alpha);
/** One sample of n, or n pairs with d in units of their differences' deviation. */
CBX_API double cbx_stat_power_one(size_t n, double d, double alpha);
/** Smallest d > 0 that is found with the given power: the minimum detectable effect.  alpha < power
 * < 1; NaN otherwise. */
CBX_API double cbx_stat_detectable_two(size_t n, double alpha, double power);
CBX_API double cbx_stat_detectable_one(size_t n, double alpha, double power);

typedef struct cbx_detectable_opts {
    unsigned struct_size;
    double alpha; /* 0 < alpha < 1; 0.05 */
    double power; /* 0 < power < 1; 0.9 */
    size_t runs;  /* simulated experiments, >= 1; 2000 */
    uint64_t seed;
    size_t threads; /* 0: one for each CPU; the same answer for any number */
} cbx_detectable_opts;

#define CBX_DETECTABLE_OPTS_INIT CBX_OPTS(cbx_detectable_opts, 0.05, 0.9, 2000, 0, 0)

/** Smallest relative slow-down that n launches a side would show by Mann-Whitney's test, by
 * simulation from a pilot: both sides draw from the pilot, one is multiplied by 1 + effect;
 * bisection over the effect with the same draws.  No distribution is assumed, and the answer is
 * good to what the pilot shows: values between its order statistics are drawn, too (linear
 * interpolation), none beyond its ends.
 * @param pilot  k launch values, each finite and > 0, k >= 2
 * @param n      launches a side, 2 <= n <= 50
 * @param out    relative effect; 0 for a pilot without spread; infinite where no effect reaches the
 *   power (n too small for alpha) */
CBX_API cbx_status cbx_stat_detectable_ratio(cbx_ctx *ctx, const double *pilot, size_t k, size_t n,
                                             const cbx_detectable_opts *opts, double *out, cbx_err *err);

CBX_END_DECLS
#endif
