/* Facts about dtypes, from the one table of dtype.h and the promotion table of dtype.c. */
#include "calibrax/array/info.h"

#include <float.h>
#include <string.h>

cbx_status cbx_dtype_finfo(cbx_dtype t, cbx_finfo *out, cbx_err *err)
{
    static const cbx_finfo single = { CBX_F32, 32, FLT_EPSILON, -FLT_MAX, FLT_MAX, FLT_MIN },
                           wide = { CBX_F64, 64, DBL_EPSILON, -DBL_MAX, DBL_MAX, DBL_MIN };

    if (cbx_dtype_kind(t) < CBX_KIND_FLOAT)
        return cbx_fail(err, CBX_EDTYPE, "'finfo' takes a real or complex dtype, not %s", cbx_dtype_name(t));
    *out = t == CBX_F32 || t == CBX_C64 ? single : wide;
    return CBX_OK;
}

cbx_status cbx_dtype_iinfo(cbx_dtype t, cbx_iinfo *out, cbx_err *err)
{
    int bits = (int)cbx_dtype_size(t) * 8, shift = 64 - bits;

    if (cbx_dtype_kind(t) != CBX_KIND_INT)
        return cbx_fail(err, CBX_EDTYPE, "'iinfo' takes an integer dtype, not %s", cbx_dtype_name(t));
    *out = (cbx_iinfo){ .dtype = t, .bits = bits };
    out->min = cbx_dtype_is_unsigned(t) ? 0 : INT64_MIN >> shift;
    out->max = cbx_dtype_is_unsigned(t) ? UINT64_MAX >> shift : (uint64_t)INT64_MAX >> shift;
    return CBX_OK;
}

/* Which of the kinds a dtype is. */
static bool is_kind(cbx_dtype t, int kind)
{
    switch (kind) {
    case 0: return t == CBX_BOOL;
    case 1: return cbx_dtype_kind(t) == CBX_KIND_INT && !cbx_dtype_is_unsigned(t);
    case 2: return cbx_dtype_is_unsigned(t);
    case 3: return cbx_dtype_kind(t) == CBX_KIND_INT;
    case 4: return cbx_dtype_kind(t) == CBX_KIND_FLOAT;
    case 5: return cbx_dtype_kind(t) == CBX_KIND_COMPLEX;
    default: return cbx_dtype_kind(t) > CBX_KIND_BOOL;
    }
}

cbx_status cbx_dtype_isdtype(cbx_dtype t, const char *kind, bool *out, cbx_err *err)
{
    static const char *const kinds[] = { "bool",          "signed integer",   "unsigned integer", "integral",
                                         "real floating", "complex floating", "numeric" };

    for (int i = 0; kind && i < (int)CBX_LEN(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0) {
            *out = (unsigned)t < CBX_DTYPE_COUNT && is_kind(t, i);
            return CBX_OK;
        }
    return cbx_fail(err, CBX_EINVAL,
                    "unknown kind '%s': use bool, signed integer, unsigned integer, integral, real floating, complex "
                    "floating or numeric",
                    kind ? kind : "(null)");
}

bool cbx_can_cast(cbx_dtype from, cbx_dtype to)
{
    cbx_dtype t = cbx_dtype_promote(from, to);
    return t < CBX_DTYPE_COUNT && t == to;
}

cbx_status cbx_result_type(size_t n, const cbx_array *const *arrays, size_t nscalars, const cbx_scalar *scalars,
                           cbx_dtype *out, cbx_err *err)
{
    cbx_dtype t = CBX_BOOL;
    cbx_kind top = CBX_KIND_BOOL;

    if (n + nscalars == 0) return cbx_fail(err, CBX_EINVAL, "'result_type' needs at least one operand");
    if ((n && !arrays) || (nscalars && !scalars))
        return cbx_fail(err, CBX_EINVAL, "'%s' of 'result_type' is NULL", n && !arrays ? "arrays" : "scalars");
    for (size_t i = 0; i < n; i++) {
        if (cbx_array_is_failed(arrays[i]))
            return cbx_fail(err, CBX_EINVAL, "operand %zu of 'result_type' is not an array", i + 1);
        if (cbx_dtype_kind(cbx_array_dtype(arrays[i])) > top) top = cbx_dtype_kind(cbx_array_dtype(arrays[i]));
    }
    /* the highest kind first, as NumPy: int8, uint16 and float32 are float32 in any order */
    for (int lower = 0; lower < 2; lower++)
        for (size_t i = 0; i < n; i++)
            if ((cbx_dtype_kind(cbx_array_dtype(arrays[i])) < top) == lower)
                t = cbx_dtype_promote(t, cbx_array_dtype(arrays[i]));
    for (size_t i = 0; i < nscalars; i++) t = cbx_dtype_promote_weak(t, cbx_dtype_kind(scalars[i].dtype));
    *out = t;
    return CBX_OK;
}
