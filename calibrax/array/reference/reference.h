/*
 * Inside the reference backend: operands as raw strided memory, the walk over them, and the tables
 * of inner loops.
 */
#ifndef CALIBRAX_ARRAY_REFERENCE_REFERENCE_H
#define CALIBRAX_ARRAY_REFERENCE_REFERENCE_H

#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/kernels/convolve.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/rules.h"
#include "calibrax/array/scratch.h"

extern const cbx_backend cbx__reference_backend;

#define CBX__OPERANDS_MAX 4

/** Elements of an array without its handle; strides in bytes. */
typedef struct cbx__strided {
    char *data;
    ptrdiff_t strides[CBX_MAX_RANK];
} cbx__strided;

cbx__strided cbx__ref_strided(const cbx_array *a);
/** Runs loop over n operands of one shape, axes merged where all strides allow. */
void cbx__ref_walk(int ndim, const size_t *shape, size_t n, const cbx__strided *op, cbx__loop loop);

/** Of ERFINV and RANDOM_GAMMA. */
cbx__loop cbx__ref_random(cbx_prim p, cbx_dtype t);

/** psi^(n)(x). */
double cbx__ref_polygamma(int n, double x);

/** Inverse of erf; +-infinity at +-1, NaN beyond.  Within 2 units of the last place. */
double cbx__ref_erfinv(double x);

/** Writes a scalar as an element of dtype t. */
void cbx__ref_store_scalar(const cbx_scalar *v, cbx_dtype t, void *out);

/* The widest type of a kind: what reductions, sums and keys are computed in. */
cbx_dtype cbx__ref_wide(cbx_dtype t);

/** Elements of an array in row-major order, converted to another dtype on the way. */
typedef struct cbx__stream {
    int ndim;
    size_t shape[CBX_MAX_RANK], index[CBX_MAX_RANK];
    ptrdiff_t strides[CBX_MAX_RANK]; /* [bytes] */
    const char *first, *at;
    size_t size; /* bytes of an element as delivered */
    bool direct; /* delivered as stored */
    cbx__loop load;
} cbx__stream;

/** Over ndim axes from data on, merged where possible. */
void cbx__stream_init(cbx__stream *s, int ndim, const size_t *shape, const ptrdiff_t *strides_bytes, cbx_dtype from,
                      cbx_dtype to);
void cbx__stream_start(cbx__stream *s, const void *data);
/** The next n elements: in place if they lie there as wanted, else copied to buf. */
const void *cbx__stream_next(cbx__stream *s, size_t n, void *buf);

/** Order-preserving keys of n elements of a wide dtype: NaN above all, -0 equal to 0. */
void cbx__ref_keys(cbx_dtype wide, size_t n, const void *values, uint64_t *keys);

/** Places of operands that advance together over the axes that are walked: one lane, one matrix
 * at a time. */
typedef struct cbx__places {
    int ndim;
    size_t n, shape[CBX_MAX_RANK], index[CBX_MAX_RANK];
    cbx__strided op[CBX__OPERANDS_MAX]; /* data: where the operand is now */
} cbx__places;

/** Over every axis of shape but one (axis); -1: over all of them.  op may have other axes
 * behind. */
void cbx__places_init(cbx__places *p, int ndim, const size_t *shape, int axis, size_t n, const cbx__strided *op);
void cbx__places_next(cbx__places *p);

/** In *out a itself or, if it has gaps, *copy, which was NULL: a reference to a would be an atomic
 * operation. */
cbx_status cbx__ref_packed(cbx_ctx *ctx, const cbx_array *a, cbx_array **copy, const cbx_array **out, cbx_err *err);

/** Elements of an array without gaps; never NULL: none have an address, too. */
static inline const void *cbx__ref_elements(const cbx_array *a) { return a->data ? a->data : ""; }
static inline void cbx__ref_zero(size_t n, cbx_array *const *out)
{
    for (size_t i = 0; i < n; i++) memset(out[i]->data, 0, cbx_array_bytes(out[i]));
}

/** Products c of stacks (batch, m, k) by (batch, k, n) over an algebra, also one given by
 * functions. */
cbx_status cbx__ref_semiring_stack(cbx_ctx *ctx, const cbx_semiring *semiring, bool raw, const cbx_array *a,
                                   const cbx_array *b, cbx_array *c, cbx_err *err);

/** Threads that share `batch` products of one shape, of min_steps or more together; 1: each product
 * is for all threads. */
int cbx__ref_stack_team(double m, double k, double n, size_t batch, double min_steps);

/** A convolution of dense arrays as the kernel takes it. */
cbx__conv cbx__ref_conv_of(const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *x, const cbx_array *w,
                           const cbx_array *y);
/** A convolution of dense arrays, attributes as of SEMIRING_CONV (but mode), over any algebra; y
 * has data. */
cbx_status cbx__ref_conv(cbx_ctx *ctx, const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *x,
                         const cbx_array *w, cbx_array *y, cbx_err *err);

/*
 * One function for each group of primitives; it fills the results, which VIEW and CONTROL
 * primitives make themselves. _each: element by element.
 */
typedef cbx_status (*cbx__ref_run)(const cbx_call *call, cbx_array **out, cbx_err *err);

#define CBX__RUN(name)                                                                                                 \
    cbx_status cbx__ref_run_##name(const cbx_call *call, CBX__UNUSED cbx_array **out, CBX__UNUSED cbx_err *err)
#define CBX__DECLARE_RUN(name, run, ...) CBX__RUN(run);
CBX__RULES_MAP(CBX__DECLARE_RUN)

#endif
