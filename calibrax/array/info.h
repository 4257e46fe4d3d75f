/**
 * What dtypes can hold and become: the array API's data type functions and constants.
 *
 * The functions of dtypes need no context and are safe from any thread.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_INFO_H
#define CALIBRAX_ARRAY_INFO_H

#include "calibrax/array/primitive.h"

CBX_BEGIN_DECLS

#define CBX_E  2.718281828459045235360287471352662498
#define CBX_PI 3.141592653589793238462643383279502884

/** Of a real dtype, or of the parts of a complex one. */
typedef struct cbx_finfo {
    cbx_dtype dtype; /* the real one */
    int bits;
    double eps;             /* from 1 to the next number */
    double min, max;        /* finite ones */
    double smallest_normal; /* positive */
} cbx_finfo;
/** @return CBX_OK; CBX_EDTYPE: not a real or complex dtype */
CBX_API cbx_status cbx_dtype_finfo(cbx_dtype t, cbx_finfo *out, cbx_err *err);

typedef struct cbx_iinfo {
    cbx_dtype dtype;
    int bits;
    int64_t min;
    uint64_t max;
} cbx_iinfo;
/** @return CBX_OK; CBX_EDTYPE: not a dtype of integers */
CBX_API cbx_status cbx_dtype_iinfo(cbx_dtype t, cbx_iinfo *out, cbx_err *err);

/**
 * If a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral", "real
 * floating", "complex floating" or "numeric" (all but bool).
 * @return CBX_OK; CBX_EINVAL: no such kind, the message lists them
 */
CBX_API cbx_status cbx_dtype_isdtype(cbx_dtype t, const char *kind, bool *out, cbx_err *err);
/** If from promotes to to: no value changes its kind, none of a smaller range.  False if one is no
 * dtype. */
CBX_API bool cbx_can_cast(cbx_dtype from, cbx_dtype to);
/**
 * dtype in which arrays and weak scalars meet; order does not matter among the arrays.  Scalars
 * alone are the dtypes of their kinds: bool, int64, float64, complex128.
 * @param arrays  n of them, may be abstract; NULL if n is 0
 * @return CBX_OK; CBX_EINVAL: nothing at all, or an array that is NULL or failed
 */
CBX_API cbx_status cbx_result_type(size_t n, const cbx_array *const *arrays, size_t nscalars, const cbx_scalar *scalars,
                                   cbx_dtype *out, cbx_err *err);

CBX_END_DECLS
#endif
