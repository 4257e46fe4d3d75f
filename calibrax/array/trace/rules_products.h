/*
 * Inside the library: what second derivatives of products over algebras and over graphs share.
 */
#ifndef CALIBRAX_ARRAY_TRACE_RULES_PRODUCTS_H
#define CALIBRAX_ARRAY_TRACE_RULES_PRODUCTS_H

#include "calibrax/array/trace/derive.h"

/**
 * Operands of derivatives of products: a, b, the product, its cotangent; or the tangents of a and
 * b.
 */
enum { A, B, C, G, TA = G, TB, OPERANDS };

/** The tangents of a formula that gives the same as the primitive; its user is the attributes. */
void cbx__by_formula(cbx__jvp *r, cbx_array_fn formula);
/** x / y of a distance, 0 where that is not larger than four times the smallest normal number. */
cbx_array *cbx__over_distance(cbx_ctx *c, const cbx_array *x, const cbx_array *y);

/** The formulas of ELL_MATMUL_JVP and ELL_MATMUL_VJP. */
cbx_status cbx__ell_forward(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user);
cbx_status cbx__ell_backward(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user);

#endif
