/* Inside the library: fits that minimise sum (1 - model/y)^2, with profile-likelihood intervals. */
#ifndef CALIBRAX_STATISTICS_RELATIVE_FIT_H
#define CALIBRAX_STATISTICS_RELATIVE_FIT_H

#include <stdbool.h>

#include "calibrax/statistics/estimate.h"

/* A fit this good is exact; logarithms of less mean nothing. */
#define CBX__FIT_MIN_SQUARE 1e-26

typedef struct cbx__fit_data {
    const double *x, *y;
    size_t n;
    double x_scale; /* geometric mean of x, so that powers stay near 1 */
} cbx__fit_data;

typedef struct cbx__fit_linear {
    double a, c, square; /* y = a + c g, sum of squared relative residuals */
} cbx__fit_linear;

typedef double (*cbx__fit_shape)(double x, const double *theta);

typedef struct cbx__fit_profile {
    const cbx__fit_data *d;
    cbx__fit_shape g;
    bool intercept;
    double theta[2];
    int which, others; /* the parameter searched; others: how many more there are */
    double lo[2], hi[2];
} cbx__fit_profile;

cbx__fit_linear cbx__fit_solve(const cbx__fit_data *d, cbx__fit_shape g, const double *theta, bool intercept);
/* Where the sum of squares is least over the parameter searched. */
double cbx__fit_minimise(const cbx__fit_profile *p, double lo, double hi);
/* The least over the other parameter with this one held. */
double cbx__fit_other(const cbx__fit_profile *p, double value, double *other);
/* Values of the parameter whose best fit has a sum of at most S (1 + t^2/(n - k)). */
cbx_interval cbx__fit_interval(const cbx__fit_profile *p, double best, size_t nparameters, double level);

size_t cbx__fit_different(const double *x, size_t n);
/* CBX_EINVAL, CBX_EDOM: level, points that are not positive and finite, fewer than `min`
 * different sizes. */
cbx_status cbx__fit_check(const double *x, const double *y, size_t n, size_t min, double level, cbx_err *err);

#endif
