/*
 * Conversions between all dtypes, and plain copies by element size.
 *
 * Whole numbers wrap; floats go towards zero and are clamped, NaN becomes 0; bool is "not zero", NaN is true.
 */
#include <string.h>

#include "calibrax/array/promote.h"
#include "calibrax/array/reference/loops.h"
#include "calibrax/array/reference/scalar.h"

#define LEAST_I8  INT8_MIN
#define LEAST_I16 INT16_MIN
#define LEAST_I32 INT32_MIN
#define LEAST_I64 INT64_MIN
#define LEAST_U8  0
#define LEAST_U16 0
#define LEAST_U32 0
#define LEAST_U64 0
#define MOST_I8   INT8_MAX
#define MOST_I16  INT16_MAX
#define MOST_I32  INT32_MAX
#define MOST_I64  INT64_MAX
#define MOST_U8   UINT8_MAX
#define MOST_U16  UINT16_MAX
#define MOST_U32  UINT32_MAX
#define MOST_U64  UINT64_MAX

/* The inner lists have names of their own, as a macro does not expand within itself. */
#define TO_INTS(X, F, FT)                                                                                              \
    X(I8, int8_t, F, FT)                                                                                               \
    X(I16, int16_t, F, FT)                                                                                             \
    X(I32, int32_t, F, FT)                                                                                             \
    X(I64, int64_t, F, FT)                                                                                             \
    X(U8, uint8_t, F, FT)                                                                                              \
    X(U16, uint16_t, F, FT)                                                                                            \
    X(U32, uint32_t, F, FT)                                                                                            \
    X(U64, uint64_t, F, FT)
#define TO_FLOATS(X, F, FT)    X(F32, float, F, FT) X(F64, double, F, FT)
#define TO_COMPLEXES(X, F, FT) X(C64, cbx__c64, F, FT) X(C128, cbx__c128, F, FT)

#define PLAIN(D, T, F, FT)   CBX__LOOP1(F##_to_##D, T, FT, x)
#define CLAMPED(D, T, F, FT) CBX__LOOP1(F##_to_##D, T, FT, CBX__TRUNCATE(T, LEAST_##D, MOST_##D, x))
#define TRUTH(F, FT)         CBX__LOOP1(F##_to_BOOL, bool, FT, x != 0)

#define FROM_INT(F, FT, a)     TRUTH(F, FT) TO_INTS(PLAIN, F, FT) TO_FLOATS(PLAIN, F, FT) TO_COMPLEXES(PLAIN, F, FT)
#define FROM_FLOAT(F, FT, a)   TRUTH(F, FT) TO_INTS(CLAMPED, F, FT) TO_FLOATS(PLAIN, F, FT) TO_COMPLEXES(PLAIN, F, FT)
#define FROM_COMPLEX(F, FT, a) TRUTH(F, FT) TO_COMPLEXES(PLAIN, F, FT)
FROM_INT(BOOL, bool, )
CBX__INTS(FROM_INT, )
CBX__FLOATS(FROM_FLOAT, )
CBX__COMPLEXES(FROM_COMPLEX, )

#define ENTRY(D, T, F, FT) [CBX_##D] = F##_to_##D,
#define ROW(F, FT, a)                                                                                                  \
    [CBX_##F] = { [CBX_BOOL] = F##_to_BOOL, TO_INTS(ENTRY, F, FT) TO_FLOATS(ENTRY, F, FT) TO_COMPLEXES(ENTRY, F, FT) },
#define COMPLEX_ROW(F, FT, a) [CBX_##F] = { [CBX_BOOL] = F##_to_BOOL, TO_COMPLEXES(ENTRY, F, FT) },
static const cbx__loop table[CBX_DTYPE_COUNT][CBX_DTYPE_COUNT] = { ROW(BOOL, bool, ) CBX__INTS(ROW, ) CBX__FLOATS(ROW, )
                                                                       CBX__COMPLEXES(COMPLEX_ROW, ) };

cbx__loop cbx__ref_cast(cbx_dtype from, cbx_dtype to) { return table[from][to]; }

/* Bits, not values: NaN payloads and signalling NaNs stay. */
typedef struct sixteen {
    uint64_t half[2];
} sixteen;
#define COPY(fn, T)                                                                                                    \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s)                                                       \
    {                                                                                                                  \
        char *o = p[0];                                                                                                \
        const char *a = p[1];                                                                                          \
        if (s[0] == (ptrdiff_t)sizeof(T) && s[1] == s[0]) {                                                            \
            memcpy(o, a, n * sizeof(T));                                                                               \
            return;                                                                                                    \
        }                                                                                                              \
        for (; n > 0; n--, o += s[0], a += s[1]) memcpy(o, a, sizeof(T));                                              \
    }
COPY(copy_1, uint8_t)
COPY(copy_2, uint16_t)
COPY(copy_4, uint32_t)
COPY(copy_8, uint64_t)
COPY(copy_16, sixteen)

cbx__loop cbx__ref_copy(cbx_dtype t)
{
    static const cbx__loop by_size[] = { [1] = copy_1, [2] = copy_2, [4] = copy_4, [8] = copy_8, [16] = copy_16 };
    return by_size[cbx_dtype_size(t)];
}

void cbx__ref_store_scalar(const cbx_scalar *v, cbx_dtype t, void *out)
{
    uint64_t bits[2] = { 0 };
    cbx__loop loop = v->dtype == t ? cbx__ref_copy(t) : cbx__ref_cast(v->dtype, t);

    if (v->dtype == CBX_BOOL)
        memcpy(bits, &(bool){ v->v.i != 0 }, sizeof(bool));
    else
        memcpy(bits, &v->v, cbx_dtype_size(v->dtype));
    loop(1, (char *const[]){ out, (char *)bits }, (const ptrdiff_t[]){ 0, 0 });
}

cbx_dtype cbx__ref_wide(cbx_dtype t)
{
    static const unsigned char wide[] = { CBX_I64, CBX_I64, CBX_F64, CBX_C128 };
    return cbx_dtype_is_unsigned(t) ? CBX_U64 : t == CBX_BOOL ? CBX_U64 : (cbx_dtype)wide[cbx_dtype_kind(t)];
}
