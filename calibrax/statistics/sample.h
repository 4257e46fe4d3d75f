/*
 * Inside statistics: checks, scratch memory, moments and ranks that the files share.
 */
#ifndef CALIBRAX_STATISTICS_SAMPLE_H
#define CALIBRAX_STATISTICS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/ctx.h"

/** CBX_EINVAL below `least` values, CBX_EDOM for one that is not finite. */
cbx_status cbx__sample_check(const double *x, size_t n, size_t least, cbx_err *err);
/** 0 < level < 1. */
cbx_status cbx__level_check(double level, cbx_err *err);

/** n doubles of scratch; freed with cbx__doubles_free, where NULL is fine. */
cbx_status cbx__doubles(cbx_ctx *ctx, size_t n, double **out, cbx_err *err);
void cbx__doubles_free(cbx_ctx *ctx, double *work, size_t n);
/** Checked as above, copied and sorted ascending. */
cbx_status cbx__sorted_copy(cbx_ctx *ctx, const double *x, size_t n, size_t least, double **out, cbx_err *err);
/** Both samples in one array, x first. */
cbx_status cbx__joined_copy(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m, double **out,
                            cbx_err *err);

/**
 * Mean = origin + offset with origin the first value, so that a clock's 10^9 costs no digit of the spread; a constant sample has a
 * variance of exactly 0.  variance: n - 1 in the denominator, 0 for n = 1.
 */
typedef struct cbx__moments {
    size_t n;
    double origin, offset, variance;
} cbx__moments;
cbx__moments cbx__moments_of(const double *x, size_t n);
double cbx__mean_of(const cbx__moments *a);
/** mean a - mean b */
double cbx__mean_difference(const cbx__moments *a, const cbx__moments *b);

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
