/* Element types: sizes from the one table of dtype.h, names from the array API standard. */
#include "calibrax/array/dtype.h"

#include <string.h>

#include "calibrax/array/internal.h"

static const char *const names[CBX_DTYPE_COUNT] = {
    [CBX_BOOL] = "bool",       [CBX_I8] = "int8",     [CBX_I16] = "int16",   [CBX_I32] = "int32",
    [CBX_I64] = "int64",       [CBX_U8] = "uint8",    [CBX_U16] = "uint16",  [CBX_U32] = "uint32",
    [CBX_U64] = "uint64",      [CBX_F32] = "float32", [CBX_F64] = "float64", [CBX_C64] = "complex64",
    [CBX_C128] = "complex128",
};

size_t cbx_dtype_size(cbx_dtype t) { return (unsigned)t < CBX_DTYPE_COUNT ? cbx__dtype_size(t) : 0; }

const char *cbx_dtype_name(cbx_dtype t) { return (unsigned)t < CBX_DTYPE_COUNT ? names[t] : "?"; }

cbx_status cbx_dtype_parse(const char *name, cbx_dtype *out, cbx_err *err)
{
    for (size_t i = 0; name && i < CBX_DTYPE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (cbx_dtype)i;
            return CBX_OK;
        }
    }
    return cbx_fail(
        err, CBX_EDTYPE,
        "unknown dtype '%s': use bool, int8..int64, uint8..uint64, float32, float64, complex64 or complex128",
        name ? name : "(null)");
}

/*
 * The one promotion table; checked cell by cell against numpy.result_type (tests/array/fixtures).
 */
enum {
    b1 = CBX_BOOL,
    i1 = CBX_I8,
    i2 = CBX_I16,
    i4 = CBX_I32,
    i8 = CBX_I64,
    u1 = CBX_U8,
    u2 = CBX_U16,
    u4 = CBX_U32,
    u8 = CBX_U64,
    f4 = CBX_F32,
    f8 = CBX_F64,
    c8 = CBX_C64,
    c16 = CBX_C128
};

/* clang-format off */
static const unsigned char together[CBX_DTYPE_COUNT][CBX_DTYPE_COUNT] = {
    /*          b1   i1   i2   i4   i8   u1   u2   u4   u8   f4   f8   c8   c16 */
    [b1]  = {   b1,  i1,  i2,  i4,  i8,  u1,  u2,  u4,  u8,  f4,  f8,  c8,  c16 },
    [i1]  = {   i1,  i1,  i2,  i4,  i8,  i2,  i4,  i8,  f8,  f4,  f8,  c8,  c16 },
    [i2]  = {   i2,  i2,  i2,  i4,  i8,  i2,  i4,  i8,  f8,  f4,  f8,  c8,  c16 },
    [i4]  = {   i4,  i4,  i4,  i4,  i8,  i4,  i4,  i8,  f8,  f8,  f8,  c16, c16 },
    [i8]  = {   i8,  i8,  i8,  i8,  i8,  i8,  i8,  i8,  f8,  f8,  f8,  c16, c16 },
    [u1]  = {   u1,  i2,  i2,  i4,  i8,  u1,  u2,  u4,  u8,  f4,  f8,  c8,  c16 },
    [u2]  = {   u2,  i4,  i4,  i4,  i8,  u2,  u2,  u4,  u8,  f4,  f8,  c8,  c16 },
    [u4]  = {   u4,  i8,  i8,  i8,  i8,  u4,  u4,  u4,  u8,  f8,  f8,  c16, c16 },
    [u8]  = {   u8,  f8,  f8,  f8,  f8,  u8,  u8,  u8,  u8,  f8,  f8,  c16, c16 },
    [f4]  = {   f4,  f4,  f4,  f8,  f8,  f4,  f4,  f8,  f8,  f4,  f8,  c8,  c16 },
    [f8]  = {   f8,  f8,  f8,  f8,  f8,  f8,  f8,  f8,  f8,  f8,  f8,  c16, c16 },
    [c8]  = {   c8,  c8,  c8,  c16, c16, c8,  c8,  c16, c16, c8,  c16, c8,  c16 },
    [c16] = {   c16, c16, c16, c16, c16, c16, c16, c16, c16, c16, c16, c16, c16 },
};
/* clang-format on */

static const unsigned char kinds[CBX_DTYPE_COUNT] = {
    [CBX_I8] = CBX_KIND_INT,    [CBX_I16] = CBX_KIND_INT,   [CBX_I32] = CBX_KIND_INT,     [CBX_I64] = CBX_KIND_INT,
    [CBX_U8] = CBX_KIND_INT,    [CBX_U16] = CBX_KIND_INT,   [CBX_U32] = CBX_KIND_INT,     [CBX_U64] = CBX_KIND_INT,
    [CBX_F32] = CBX_KIND_FLOAT, [CBX_F64] = CBX_KIND_FLOAT, [CBX_C64] = CBX_KIND_COMPLEX, [CBX_C128] = CBX_KIND_COMPLEX,
};

/* What a scalar becomes beside an array of a lower kind. */
static const unsigned char alone[] = {
    [CBX_KIND_BOOL] = b1, [CBX_KIND_INT] = i8, [CBX_KIND_FLOAT] = f8, [CBX_KIND_COMPLEX] = c16
};

cbx_kind cbx_dtype_kind(cbx_dtype t) { return (unsigned)t < CBX_DTYPE_COUNT ? (cbx_kind)kinds[t] : CBX_KIND_BOOL; }

bool cbx_dtype_is_unsigned(cbx_dtype t) { return t >= CBX_U8 && t <= CBX_U64; }

cbx_dtype cbx_dtype_promote(cbx_dtype a, cbx_dtype b)
{
    if ((unsigned)a >= CBX_DTYPE_COUNT || (unsigned)b >= CBX_DTYPE_COUNT) return CBX_DTYPE_COUNT;
    return (cbx_dtype)together[a][b];
}

cbx_dtype cbx_dtype_promote_weak(cbx_dtype a, cbx_kind scalar)
{
    if ((unsigned)a >= CBX_DTYPE_COUNT) return CBX_DTYPE_COUNT;
    if (scalar <= cbx_dtype_kind(a)) return a;
    if (scalar == CBX_KIND_COMPLEX && a == CBX_F32) return CBX_C64;
    return (cbx_dtype)alone[scalar];
}
