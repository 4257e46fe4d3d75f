/*
 * Inside the metrics: a sketch of a sample, which keeps few of its values and a bound of the error
 * of its ranks.
 *
 * Level h holds ascending values of weight 2^h.  A level that has `size` values is halved: of each
 * two neighbours one moves to the next level, with twice the weight, the lower one or the upper one
 * as a hash of the number of halvings decides.  A halving at level h changes the rank of any number
 * by at most 2^h, so that the sum of these is a bound, which the sketch keeps: for any data, in any
 * order, merged in any tree.  At level h there are at most n / (size 2^h) halvings, of at least
 * `size` values each, hence
 *
 *     |rank - rank in the sketch| <= error <= n / size (1 + floor(log2(n / size))),
 *
 * and 0 while n < size.  The choices of neighbours cancel: the usual error is below n / size.
 * Sources: Manku, Rajagopalan & Lindsay, SIGMOD 1998; Agarwal, Cormode, Huang, Phillips, Wei & Yi,
 * Mergeable Summaries, ACM Trans. Database Syst. 38 (2013), section 3; Karnin, Lang & Liberty, FOCS
 * 2016, whose smaller lower levels would save memory and lose the bound.
 */
#ifndef CALIBRAX_METRICS_STATEFUL_SKETCH_H
#define CALIBRAX_METRICS_STATEFUL_SKETCH_H

#include "calibrax/base/list.h"

enum { CBX__SKETCH_LEVELS = 54, CBX__SKETCH_MIN_SIZE = 8, CBX__SKETCH_MAX_SIZE = 1 << 24 };

typedef CBX_LIST(double) cbx__values;

/** Numbers without NaN; integers are kept in doubles, which hold them below 2^53. */
typedef struct cbx__sketch {
    cbx_allocator al;
    size_t size;
    double count;     /* values seen */
    double error;     /* [ranks] */
    double halvings;  /* so many */
    double low, high; /* minimum and maximum; infinite while there are no values */
    cbx__values level[CBX__SKETCH_LEVELS];
} cbx__sketch;

/** @param size  even, CBX__SKETCH_MIN_SIZE..CBX__SKETCH_MAX_SIZE */
void cbx__sketch_init(cbx__sketch *s, const cbx_allocator *al, size_t size);
void cbx__sketch_clear(cbx__sketch *s);
/** Adds ascending values.  false: out of memory, or more than 2^53 values in all; s can only be
 * cleared then. */
bool cbx__sketch_add(cbx__sketch *s, const double *values, size_t n);
/** Adds what another sketch, of the same size, has seen.  false: as cbx__sketch_add */
bool cbx__sketch_merge(cbx__sketch *s, const cbx__sketch *other);

/** Numbers that cbx__sketch_write writes. */
size_t cbx__sketch_length(const cbx__sketch *s);
void cbx__sketch_write(const cbx__sketch *s, double *out);
/**
 * Reads n numbers into an initialised sketch of the same size, and believes none of them.
 * After a failure it can only be cleared.
 * @return CBX_OK; CBX_EFORMAT: no sketch of that size; CBX_ENOMEM
 */
cbx_status cbx__sketch_read(cbx__sketch *s, const double *v, size_t n, cbx_err *err);

typedef struct cbx__weighted {
    double value, weight;
} cbx__weighted;
typedef CBX_LIST(cbx__weighted) cbx__weighted_values;
/** All values with their weights, ascending; `out` is the caller's to clear.  false: out of
 * memory */
bool cbx__sketch_values(const cbx__sketch *s, cbx__weighted_values *out);
/** The least value that a share of q of the sample does not exceed; the sample has values. */
double cbx__sketch_quantile(const cbx__sketch *s, const cbx__weighted_values *values, double q);

#endif
