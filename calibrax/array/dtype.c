/* Element types: sizes from the one table of dtype.h, names from the array API standard. */
#include "calibrax/array/dtype.h"

#include <string.h>

static const size_t sizes[CBX_DTYPE_COUNT] = {
#define SIZE(name, number, bytes, kind) [number] = (bytes),
    CBX_DTYPE_MAP(SIZE)
#undef SIZE
};

static const char *const names[CBX_DTYPE_COUNT] = {
    [CBX_BOOL] = "bool",       [CBX_I8] = "int8",     [CBX_I16] = "int16",   [CBX_I32] = "int32",
    [CBX_I64] = "int64",       [CBX_U8] = "uint8",    [CBX_U16] = "uint16",  [CBX_U32] = "uint32",
    [CBX_U64] = "uint64",      [CBX_F32] = "float32", [CBX_F64] = "float64", [CBX_C64] = "complex64",
    [CBX_C128] = "complex128",
};

size_t cbx_dtype_size(cbx_dtype t) { return (unsigned)t < CBX_DTYPE_COUNT ? sizes[t] : 0; }

const char *cbx_dtype_name(cbx_dtype t) { return (unsigned)t < CBX_DTYPE_COUNT ? names[t] : "?"; }

cbx_status cbx_dtype_parse(const char *name, cbx_dtype *out, cbx_err *err)
{
    for (size_t i = 0; name && i < CBX_DTYPE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (cbx_dtype)i;
            return CBX_OK;
        }
    }
    return cbx_fail(err, CBX_EDTYPE,
                    "no dtype '%s': use bool, int8..int64, uint8..uint64, float32, float64, complex64 or complex128",
                    name ? name : "(null)");
}
