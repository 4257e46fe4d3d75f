/*
 * Inside the library: what the attributes of products point to: algebras given by functions,
 * graphs, functions of an edge.
 */
#ifndef CALIBRAX_ARRAY_ALGEBRA_OBJECT_H
#define CALIBRAX_ARRAY_ALGEBRA_OBJECT_H

#include "calibrax/array/ell.h"
#include "calibrax/array/object.h"
#include "calibrax/array/primitive.h"

/** The mode of attributes whose algebra is in their object. */
enum { CBX__OF_OBJECT = -1 };

/** The algebra of SEMIRING_..., ELL_MATMUL, ELL_EDGE and their derivatives; NULL: mode is no number
 * of one. */
const cbx_semiring *cbx__algebra_of(const cbx_attrs *attrs);
/** The graph of ELL_...; NULL: they have no graph. */
const cbx_ell *cbx__ell_of(const cbx_attrs *attrs);
/** The functions of ELL_EDGE; NULL: they have no functions. */
const cbx_ell_edge_functions *cbx__ell_edge_of(const cbx_attrs *attrs);

/**
 * Sets mode and object of attributes.  The caller drops attrs->object, which may be NULL.
 * @param s     by its number, or copied if it is given by functions
 * @param g     NULL: none; kept by a reference
 * @param edge  NULL: none; copied, with s
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__algebra_put(cbx_ctx *ctx, const cbx_semiring *s, const cbx_ell *g, const cbx_ell_edge_functions *edge,
                            cbx_attrs *attrs, cbx_err *err);

/** False, with a failure recorded, unless n operands are arrays and products over s have
 * derivatives as operations. */
bool cbx__has_derivative(cbx_ctx *ctx, const char *name, const cbx_semiring *s, size_t n, const cbx_array *const *in);

#endif
