/**
 * Element types of arrays: sizes, array-API names, and the dtype in which two operands meet.
 * Returned text is static; all is safe from any thread.
 */
#ifndef CALIBRAX_ARRAY_DTYPE_H
#define CALIBRAX_ARRAY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/base/status.h"

CBX_BEGIN_DECLS

/* name, number, bytes, NPY kind character */
#define CBX_DTYPE_MAP(X)                                                                                               \
    X(BOOL, 0, 1, 'b')                                                                                                 \
    X(I8, 1, 1, 'i')                                                                                                   \
    X(I16, 2, 2, 'i')                                                                                                  \
    X(I32, 3, 4, 'i')                                                                                                  \
    X(I64, 4, 8, 'i')                                                                                                  \
    X(U8, 5, 1, 'u')                                                                                                   \
    X(U16, 6, 2, 'u')                                                                                                  \
    X(U32, 7, 4, 'u')                                                                                                  \
    X(U64, 8, 8, 'u')                                                                                                  \
    X(F32, 9, 4, 'f')                                                                                                  \
    X(F64, 10, 8, 'f')                                                                                                 \
    X(C64, 11, 8, 'c')                                                                                                 \
    X(C128, 12, 16, 'c')

typedef enum cbx_dtype {
#define CBX_DTYPE_ENUM(name, number, bytes, kind) CBX_##name = number,
    CBX_DTYPE_MAP(CBX_DTYPE_ENUM)
#undef CBX_DTYPE_ENUM
        CBX_DTYPE_COUNT
} cbx_dtype;

/** Bytes of one element; 0 for a number outside the list. */
CBX_API size_t cbx_dtype_size(cbx_dtype t);
/** Array-API name: "bool", "int8" ... "float32", "complex128"; "?" for a number outside the
 * list. */
CBX_API const char *cbx_dtype_name(cbx_dtype t);
/**
 * Reads an array-API name, exactly as cbx_dtype_name writes it.
 * @param out  written on success only
 * @param err  may be NULL
 * @return CBX_OK; CBX_EDTYPE: an unknown word, or NULL; the message lists the known ones
 */
CBX_API cbx_status cbx_dtype_parse(const char *name, cbx_dtype *out, cbx_err *err);

/** A number with its kind: BOOL, I64 and U64 are in i or u, F64 in f, C128 in c (real,
 * imaginary). */
typedef struct cbx_scalar {
    cbx_dtype dtype;
    union {
        int64_t i;
        uint64_t u;
        double f;
        double c[2];
    } v;
} cbx_scalar;

/* Promotion: the array API's rules within a kind, NumPy 2's across kinds and for scalars.  A scalar
 * of the host language is weak: it takes the dtype of the array beside it unless its kind is
 * higher. */

/** Kinds in rising order; signed and unsigned integers share one. */
typedef enum cbx_kind { CBX_KIND_BOOL, CBX_KIND_INT, CBX_KIND_FLOAT, CBX_KIND_COMPLEX } cbx_kind;

CBX_API cbx_kind cbx_dtype_kind(cbx_dtype t);
CBX_API bool cbx_dtype_is_unsigned(cbx_dtype t);

/**
 * dtype of the result of a binary operation; commutative.  int64 with uint64 is float64, as in
 * NumPy.
 * @return the dtype; CBX_DTYPE_COUNT if a or b is invalid
 */
CBX_API cbx_dtype cbx_dtype_promote(cbx_dtype a, cbx_dtype b);

/** dtype in which an array of a meets a weak scalar of a kind: int8 with an int stays int8, with a
 * float is float64. */
CBX_API cbx_dtype cbx_dtype_promote_weak(cbx_dtype a, cbx_kind scalar);

CBX_END_DECLS
#endif
