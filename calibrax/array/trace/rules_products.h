/*
 * Inside the library: what derivatives of products over algebras and over graphs share.
 */
#ifndef CALIBRAX_ARRAY_TRACE_RULES_PRODUCTS_H
#define CALIBRAX_ARRAY_TRACE_RULES_PRODUCTS_H

#include "calibrax/array/ell_internal.h"
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
CBX__CODE(c, cbx__ell_forward);
CBX__CODE(c, cbx__ell_backward);

/* ---- edges of a graph, or of its transpose, one after the other ---- */

typedef enum cbx__edge_number {
    CBX__EDGE_PLACE, /* of its value */
    CBX__EDGE_FROM,  /* row of b */
    CBX__EDGE_TO     /* row of the product */
} cbx__edge_number;

/** A number of each edge: (edges). */
cbx_array *cbx__edge_list(cbx_ctx *c, const cbx_ell_product *g, cbx__edge_number what);
/** The value of each: (edges, 1). */
cbx_array *cbx__edge_values(cbx_ctx *c, const cbx_array *values, const cbx_array *place);
/** x (edges, d) added to the rows of zeros like `like`. */
cbx_array *cbx__edges_added(cbx_ctx *c, const cbx_array *like, const cbx_array *rows, const cbx_array *x);
/** True of the first edge of each row of y, and each column, whose term (edges, d) is y. */
cbx_array *cbx__first_optimum(cbx_ctx *c, const cbx_array *to, const cbx_array *term, const cbx_array *y);

/* ---- formulas beside functions of the user ---- */

/** Whether an algebra is given by functions that have formulas. */
static inline bool cbx__has_formulas(const cbx_semiring *s) { return s->functions && s->functions->formulas; }
/**
 * The product over such an algebra: a (..., m, k), b (..., k, n).
 * @param inside  bool, like a: false where a term is left out; NULL: nowhere
 */
cbx_array *cbx__product_by_formulas(cbx_ctx *c, const cbx_semiring *s, const cbx_array *a, const cbx_array *b,
                                    const cbx_array *inside);
/** SEMIRING_MATMUL and ELL_MATMUL over such an algebra. */
CBX__CODE(c, cbx__matmul_by_formulas);
CBX__CODE(c, cbx__ell_by_formulas);

#endif
