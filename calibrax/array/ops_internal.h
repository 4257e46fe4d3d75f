/*
 * Inside the library: steps that array functions are written in.
 */
#ifndef CALIBRAX_ARRAY_OPS_INTERNAL_H
#define CALIBRAX_ARRAY_OPS_INTERNAL_H

#include "calibrax/array/ops.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/array/semiring.h"
#include "calibrax/array/state.h"

/** A failure as a condition: always false. */
#define cbx__refused_of(...) (cbx__refuse_of(__VA_ARGS__), false)
/** The value of an expression, alone of what it made. */
#define cbx__tidied(ctx, ...)                                                                                          \
    ({                                                                                                                 \
        size_t mark_ = cbx__mark(ctx);                                                                                 \
        cbx__tidy(ctx, mark_, __VA_ARGS__);                                                                            \
    })

/** True if an operand is failed; a NULL one, or no list of them, is recorded as a failure of the
 * named function. */
bool cbx__unusable(cbx_ctx *ctx, const char *name, size_t n, const cbx_array *const *in);

/** False, with a failure recorded, if p is NULL and n > 0 elements of the named function's argument
 * are required. */
bool cbx__given(cbx_ctx *ctx, const char *name, const char *argument, int64_t n, const void *p);

cbx_array *cbx__apply1(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, const cbx_attrs *attrs);
/** Of a complex operand: the primitive, or the formula that replaces a missing one. */
cbx_array *cbx__apply_complex(cbx_ctx *ctx, cbx_prim p, const cbx_array *z);
/** Of two operands that need promotion and broadcasting. */
cbx_array *cbx__apply2(cbx_ctx *ctx, cbx_prim p, const cbx_array *a, const cbx_array *b);

/** x itself if it has the dtype, else converted. */
cbx_array *cbx__as(cbx_ctx *ctx, const cbx_array *x, cbx_dtype t);
/** x itself if its elements lie in row-major order without gaps, else a copy: for what reads them
 * several times. */
cbx_array *cbx__packed(cbx_ctx *ctx, const cbx_array *x);
/** x itself if it has the shape, else broadcast. */
cbx_array *cbx__to_shape(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape);
/** x in another shape of as many elements. */
cbx_array *cbx__reshaped(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape);
/** Axes before the last two of both joined by broadcasting; lead: their n lengths.  False: they do
 * not join. */
bool cbx__common_lead(const cbx_array *a, const cbx_array *b, int *n, size_t *lead);
/** A product of stacks of matrices by a primitive, in a dtype; the steps that all of them share. */
typedef struct cbx__product {
    const char *name;
    cbx_prim prim;
    const cbx_attrs *attrs;
    cbx_dtype dtype;
} cbx__product;
/** Attributes of a convolution and the dtype that its operands meet in; false, with a failure
 * recorded. */
bool cbx__conv_attrs(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_semiring *s,
                     const cbx_conv_options *options, cbx_attrs *attrs, cbx_dtype *dtype);
/** (..., lengths, channels) with n lengths as (batch, lengths, channels). */
cbx_array *cbx__conv_images(cbx_ctx *ctx, const cbx_array *x, int n);
cbx_array *cbx__matrix_product(cbx_ctx *ctx, const cbx__product *how, const cbx_array *a, const cbx_array *b);
/** |x|^2 in the real dtype. */
cbx_array *cbx__norm_square(cbx_ctx *ctx, const cbx_array *x);
/** dtype of the absolute values of elements of t. */
cbx_dtype cbx__real_of(cbx_dtype t);
/** dtype in which x is a real or complex number: float64 for integers and bool. */
cbx_dtype cbx__inexact(cbx_dtype t);
/** True of uint64 with a signed dtype: they promote to float64, which does not hold every number of
 * either. */
bool cbx__mixed(cbx_dtype a, cbx_dtype b);
/** True if operations on n operands have no data yet: one of them is abstract, or a function is
 * being traced. */
bool cbx__is_recorded(cbx_ctx *ctx, size_t n, const cbx_array *const *in);
/** An operand that is handed on as a result: one more reference, held by the scope. */
cbx_array *cbx__same(cbx_ctx *ctx, const cbx_array *x);
/** False if t is of integers that do not hold v, a signed one. */
bool cbx__fits(cbx_dtype t, cbx_scalar v);
/** Negative axes counted from the end; false, with a failure recorded, outside -ndim..ndim-1. */
bool cbx__axis(cbx_ctx *ctx, const char *name, int axis, int ndim, int *out);
/** The same of x, which the failure describes; ndim: of x, or one more where an axis is to be
 * added. */
bool cbx__axis_of(cbx_ctx *ctx, const char *name, int axis, const cbx_array *x, int ndim, int *out);
/** Fills naxes, axes and keep. */
bool cbx__reduced(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *attrs);
/** False, with a failure recorded, if an axis is named twice. */
bool cbx__distinct(cbx_ctx *ctx, const char *name, const cbx_attrs *attrs);
/** Elements to one result. */
size_t cbx__reduced_count(const cbx_array *x, const cbx_attrs *attrs);
/** The one element of x as int64; false, with a failure recorded that names what can be traced
 * instead, if it has no data. */
bool cbx__item(cbx_ctx *ctx, const char *name, const char *instead, const cbx_array *x, int64_t *out);

#endif
