/**
 * Element types of arrays: sizes and array-API names.  Returned text is static; all is safe from any thread.
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
/** Array-API name: "bool", "int8" ... "float32", "complex128"; "?" for a number outside the list. */
CBX_API const char *cbx_dtype_name(cbx_dtype t);
/**
 * Reads an array-API name, exactly as cbx_dtype_name writes it.
 * @param out  written on success only
 * @param err  may be NULL
 * @return CBX_OK; CBX_EDTYPE: an unknown word, or NULL; the message lists the known ones
 */
CBX_API cbx_status cbx_dtype_parse(const char *name, cbx_dtype *out, cbx_err *err);

/** A number with its kind: BOOL, I64 and U64 are in i or u, F64 in f, C128 in c (real, imaginary). */
typedef struct cbx_scalar {
    cbx_dtype dtype;
    union {
        int64_t i;
        uint64_t u;
        double f;
        double c[2];
    } v;
} cbx_scalar;

CBX_END_DECLS
#endif
