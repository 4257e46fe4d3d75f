/*
 * Inside the library: steps that array functions are written in.
 */
#ifndef CALIBRAX_ARRAY_OPS_INTERNAL_H
#define CALIBRAX_ARRAY_OPS_INTERNAL_H

#include "calibrax/array/ops.h"
#include "calibrax/array/state.h"

/**
 * Functions made of steps keep none of them: mark before the first, tidy after the last drops every result since but r.
 *     size_t mark = cbx__mark(ctx);
 *     return cbx__tidy(ctx, mark, steps(ctx, x));
 */
size_t cbx__mark(cbx_ctx *ctx);
cbx_array *cbx__tidy(cbx_ctx *ctx, size_t mark, cbx_array *r);

/** True if an operand is failed; a NULL one is recorded as a failure of the named function. */
bool cbx__unusable(cbx_ctx *ctx, const char *name, size_t n, const cbx_array *const *in);

cbx_array *cbx__apply1(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, const cbx_attrs *attrs);
/** Of two operands that need promotion and broadcasting. */
cbx_array *cbx__apply2(cbx_ctx *ctx, cbx_prim p, const cbx_array *a, const cbx_array *b);

/** x itself if it has the dtype, else converted. */
cbx_array *cbx__as(cbx_ctx *ctx, const cbx_array *x, cbx_dtype t);
/** x itself if it has the shape, else broadcast. */
cbx_array *cbx__to_shape(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape);
/** dtype in which x is a real or complex number: float64 for whole numbers and bool. */
cbx_dtype cbx__inexact(cbx_dtype t);
/** An operand that is handed on as a result: one more reference, held by the scope. */
cbx_array *cbx__same(cbx_ctx *ctx, const cbx_array *x);
/** Negative axes counted from the end; false, with a failure recorded, outside -ndim..ndim-1. */
bool cbx__axis(cbx_ctx *ctx, const char *name, int axis, int ndim, int *out);
/** Fills naxes, axes and keep. */
bool cbx__reduced(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_axes *axes, cbx_attrs *attrs);
/** Elements to one result. */
size_t cbx__reduced_count(const cbx_array *x, const cbx_attrs *attrs);
/** The one element of x as int64; false, with a failure recorded, if it has no data. */
bool cbx__item(cbx_ctx *ctx, const char *name, const cbx_array *x, int64_t *out);

#endif
