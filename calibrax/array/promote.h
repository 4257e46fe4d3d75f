/**
 * Which dtype two operands meet in: the array API's rules within a kind, NumPy 2's across kinds and for scalars.
 *
 * A scalar of the host language is weak: it takes the dtype of the array beside it unless its kind is higher.
 */
#ifndef CALIBRAX_ARRAY_PROMOTE_H
#define CALIBRAX_ARRAY_PROMOTE_H

#include <stdbool.h>

#include "calibrax/array/dtype.h"

CBX_BEGIN_DECLS

/** Kinds in rising order; signed and unsigned integers share one. */
typedef enum cbx_kind { CBX_KIND_BOOL, CBX_KIND_INT, CBX_KIND_FLOAT, CBX_KIND_COMPLEX } cbx_kind;

CBX_API cbx_kind cbx_dtype_kind(cbx_dtype t);
CBX_API bool cbx_dtype_is_unsigned(cbx_dtype t);

/**
 * dtype of the result of a binary operation; commutative.  int64 with uint64 is float64, as in NumPy.
 * @return the dtype; CBX_DTYPE_COUNT if a or b is invalid
 */
CBX_API cbx_dtype cbx_dtype_promote(cbx_dtype a, cbx_dtype b);

/** dtype in which an array of a meets a weak scalar of a kind: int8 with an int stays int8, with a float is float64. */
CBX_API cbx_dtype cbx_dtype_promote_weak(cbx_dtype a, cbx_kind scalar);

CBX_END_DECLS
#endif
