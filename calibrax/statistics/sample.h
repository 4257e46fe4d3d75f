/* Inside statistics: checks, scratch memory, moments and ranks that the files share. */
#ifndef CALIBRAX_STATISTICS_SAMPLE_H
#define CALIBRAX_STATISTICS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/options.h"

/** CBX_EINVAL below `min` values, CBX_EDOM for one that is not finite. */
cbx_status cbx__sample_check(const double *x, size_t n, size_t min, cbx_err *err);

/** n doubles of scratch, all 0; freed with cbx__doubles_free, where NULL is fine, or where the
 * scope of a variable ends:
 *     cbx__scratch double *work = NULL; */
cbx_status cbx__doubles(cbx_ctx *ctx, size_t n, double **out, cbx_err *err);
void cbx__doubles_free(double **work);
#define cbx__scratch __attribute__((cleanup(cbx__doubles_free)))
/** Checked as above, copied and sorted ascending. */
cbx_status cbx__sorted_copy(cbx_ctx *ctx, const double *x, size_t n, size_t min, double **out, cbx_err *err);
/** Both samples in one array, x first. */
cbx_status cbx__joined_copy(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, double **out,
                            cbx_err *err);

/** Mean = origin + offset with origin the first value, so that a clock's 10^9 costs no digit of the
 * spread; a constant sample has a spread of exactly 0.  n - 1 in the denominator, 0 for n = 1.
 * variance overflows or vanishes where squares leave the range of double (values beyond about
 * 10^153, or spreads below 10^-154); stddev is right there as well, and so is `scaled`, which
 * ratios of sums of squares are to use, with each value taken times `factor`. */
typedef struct cbx__moments {
    size_t n;
    double origin, offset, variance, stddev;
    double factor, scaled; /* a power of two, nearly always 1, under which squares fit; variance of factor * x */
} cbx__moments;
cbx__moments cbx__moments_of(const double *x, size_t n);
double cbx__mean_of(const cbx__moments *a);
/** mean a - mean b */
double cbx__mean_difference(const cbx__moments *a, const cbx__moments *b);
/** Of two samples, which are checked for so many values. */
cbx_status cbx__moments_of_two(const double *x, size_t n, size_t min_x, const double *y, size_t m, size_t min_y,
                               cbx__moments *a, cbx__moments *b, cbx_err *err);
/** Of samples of one spread; n + m > 2. */
double cbx__pooled_stddev(const cbx__moments *a, const cbx__moments *b);

/** How many of the sorted values are below v; and at most v. */
size_t cbx__count_below(const double *sorted, size_t n, double v);
size_t cbx__count_upto(const double *sorted, size_t n, double v);
/** Twice the midrank of v, which is whole: ranks run from 1, ties share the mean of theirs. */
size_t cbx__midrank2(const double *sorted, size_t n, double v);
/** Sum of t^3 - t over groups of ties. */
double cbx__tie_sum(const double *sorted, size_t n);

/** The k-th smallest (from 0) of x, which is rearranged. */
double cbx__select(double *x, size_t n, size_t k);
/** Type-7 quantile by selection; x is rearranged. */
double cbx__quantile_select(double *x, size_t n, double p);

#endif
