/* Inner loops of one operand, in a table by primitive and dtype; built for each instruction set. */
#include "calibrax/array/kernels/elementary.h"
#include "calibrax/array/kernels/isa_name.h"
#include "calibrax/array/kernels/scalar.h"

#define LIBM(g) CBX__LOOP1(g##_F32, float, float, g##f(x)) CBX__LOOP1(g##_F64, double, double, g(x))
#define VECTOR(g)                                                                                                      \
    CBX__VECTOR1(g##_F32, float, f32, g##_f32, g##_in_f32, g##f)                                                       \
    CBX__VECTOR1(g##_F64, double, f64, g##_f64, g##_in_f64, g)
#define LIBM_COMPLEX(g)                                                                                                \
    CBX__LOOP1(g##_C64, cbx__c64, cbx__c64, c##g##f(x))                                                                \
    CBX__LOOP1(g##_C128, cbx__c128, cbx__c128, c##g(x))

/* Of each primitive with one operand what DO and its kind, as the table of primitives names it,
 * make: loops here, rows of a table below. */
#define EACH_FLOAT(P, g, kind) PASTE(DO, kind)(P, g)
#define EACH_ROUND             EACH_FLOAT
#define EACH_KEEP              EACH_FLOAT
#define EACH_BINARY(P, g)
#define EACH_NO
#define EACH_BINARY_FLOAT                       EACH_BINARY
#define EACH_BINARY_WIDE                        EACH_BINARY
#define EACH_COMPARE                            EACH_BINARY
#define EACH(name, number, word, function, ...) EACH_##function

#define DO                    LOOPS_
#define LOOPS_libm(P, g)      LIBM(g)
#define LOOPS_libm_cx(P, g)   LIBM(g) LIBM_COMPLEX(g)
#define LOOPS_vector(P, g)    VECTOR(g)
#define LOOPS_vector_cx(P, g) VECTOR(g) LIBM_COMPLEX(g)
#define LOOPS_edge(P, g)      VECTOR(g)
#define LOOPS_own(P, g)
CBX_PRIM_MAP(EACH)
#undef DO

/* tanh(+-inf + iy) is +-1 + i0 with the zero of y's sign, as the array API has it; in C the sign is
 * that of sin(2y). */
#define EDGE_COMPLEX(D, d, T, R, s)                                                                                    \
    static T tanh_edge_##D(T z)                                                                                        \
    {                                                                                                                  \
        R x = creal##s(z), y = cimag##s(z);                                                                            \
        return isinf(x) && isfinite(y) ? cbx__make_##d(copysign##s(1, x), copysign##s(0, y)) : ctanh##s(z);            \
    }                                                                                                                  \
    /* tan z = -i tanh iz */                                                                                           \
    static T tan_edge_##D(T z)                                                                                         \
    {                                                                                                                  \
        R x = creal##s(z), y = cimag##s(z);                                                                            \
        return isinf(y) && isfinite(x) ? cbx__make_##d(copysign##s(0, x), copysign##s(1, y)) : ctan##s(z);             \
    }                                                                                                                  \
    CBX__LOOP1(tanh_##D, T, T, tanh_edge_##D(x))                                                                       \
    CBX__LOOP1(tan_##D, T, T, tan_edge_##D(x))
EDGE_COMPLEX(C64, c64, cbx__c64, float, f)
EDGE_COMPLEX(C128, c128, cbx__c128, double, )

/* lgamma would write the sign to a global. */
static double lgamma_of(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}
static float lgammaf_of(float x)
{
    int sign;
    return lgammaf_r(x, &sign);
}
CBX__LOOP1(lgamma_F32, float, float, lgammaf_of(x))
CBX__LOOP1(lgamma_F64, double, double, lgamma_of(x))

#define NEG_INT(D, T, a)   CBX__LOOP1(neg_##D, T, T, 0 - (uint64_t)x)
#define NEG_FLOAT(D, T, a) CBX__LOOP1(neg_##D, T, T, -x)
CBX__INTS(NEG_INT, )
CBX__FLOATS(NEG_FLOAT, )
CBX__COMPLEXES(NEG_FLOAT, )

#define ABS_INT(D, T, a)  CBX__LOOP1(abs_##D, T, T, x < 0 ? 0 - (uint64_t)x : (uint64_t)x)
#define ABS_SAME(D, T, a) CBX__LOOP1(abs_##D, T, T, x)
CBX__SIGNED(ABS_INT, )
CBX__UNSIGNED(ABS_SAME, )
ABS_SAME(BOOL, bool, )
CBX__LOOP1(abs_F32, float, float, fabsf(x))
CBX__LOOP1(abs_F64, double, double, fabs(x))
CBX__LOOP1(abs_C64, float, cbx__c64, cabsf(x))
CBX__LOOP1(abs_C128, double, cbx__c128, cabs(x))

#define SIGN_SIGNED(D, T, a)   CBX__LOOP1(sign_##D, T, T, (x > 0) - (x < 0))
#define SIGN_UNSIGNED(D, T, a) CBX__LOOP1(sign_##D, T, T, x > 0)
#define SIGN_FLOAT(D, T, a)    CBX__LOOP1(sign_##D, T, T, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
CBX__SIGNED(SIGN_SIGNED, )
CBX__UNSIGNED(SIGN_UNSIGNED, )
CBX__FLOATS(SIGN_FLOAT, )

#define NOT_INT(D, T, a) CBX__LOOP1(not_##D, T, T, ~x)
CBX__INTS(NOT_INT, )
CBX__LOOP1(not_BOOL, uint8_t, uint8_t, x ^ 1) /* as bytes, 0 or 1, which vectors have */

/* Integers are finite. */
#define CLASS_INT(D, T, a)                                                                                             \
    CBX__LOOP1(isnan_##D, bool, T, 0)                                                                                  \
    CBX__LOOP1(isinf_##D, bool, T, 0)                                                                                  \
    CBX__LOOP1(isfinite_##D, bool, T, 1)
#define CLASS_FLOAT(D, T, a)                                                                                           \
    CBX__LOOP1(isnan_##D, bool, T, isnan(x))                                                                           \
    CBX__LOOP1(isinf_##D, bool, T, isinf(x))                                                                           \
    CBX__LOOP1(isfinite_##D, bool, T, isfinite(x))
#define CLASS_COMPLEX(D, T, a)                                                                                         \
    CBX__LOOP1(isnan_##D, bool, T, isnan(creal(x)) || isnan(cimag(x)))                                                 \
    CBX__LOOP1(isinf_##D, bool, T, isinf(creal(x)) || isinf(cimag(x)))                                                 \
    CBX__LOOP1(isfinite_##D, bool, T, isfinite(creal(x)) && isfinite(cimag(x)))
CLASS_INT(BOOL, bool, )
CBX__INTS(CLASS_INT, )
CBX__FLOATS(CLASS_FLOAT, )
CBX__COMPLEXES(CLASS_COMPLEX, )

/* As integers, whose comparison is a vector's. */
CBX__LOOP1(signbit_F32, bool, int32_t, x < 0)
CBX__LOOP1(signbit_F64, bool, int64_t, x < 0)

CBX__LOOP1(real_C64, float, cbx__c64, crealf(x))
CBX__LOOP1(real_C128, double, cbx__c128, creal(x))
CBX__LOOP1(imag_C64, float, cbx__c64, cimagf(x))
CBX__LOOP1(imag_C128, double, cbx__c128, cimag(x))
CBX__LOOP1(conj_C64, cbx__c64, cbx__c64, conjf(x))
CBX__LOOP1(conj_C128, cbx__c128, cbx__c128, conj(x))

static const cbx__loop table[CBX_PRIM_LIMIT][CBX_DTYPE_COUNT] = {
#define ENTRY(D, T, f) [CBX_##D] = f##_##D,
#define REAL_ROW(P, f) [CBX_PRIM_##P] = { CBX__FLOATS(ENTRY, f) },
#define BOTH_ROW(P, f) [CBX_PRIM_##P] = { CBX__FLOATS(ENTRY, f) CBX__COMPLEXES(ENTRY, f) },
#define ALL_ROW(P, f)                                                                                                  \
    [CBX_PRIM_##P] = { [CBX_BOOL] = f##_BOOL, CBX__INTS(ENTRY, f) CBX__FLOATS(ENTRY, f) CBX__COMPLEXES(ENTRY, f) },
#define DO            ROW_
#define ROW_libm      REAL_ROW
#define ROW_libm_cx   BOTH_ROW
#define ROW_vector    REAL_ROW
#define ROW_vector_cx BOTH_ROW
#define ROW_edge      BOTH_ROW
#define ROW_own(P, g)
    CBX_PRIM_MAP(EACH) REAL_ROW(LGAMMA, lgamma) REAL_ROW(SIGNBIT, signbit) ALL_ROW(ABS, abs) ALL_ROW(ISNAN, isnan)
        ALL_ROW(ISINF, isinf) ALL_ROW(ISFINITE, isfinite)[CBX_PRIM_NEG] = { CBX__INTS(ENTRY, neg) CBX__FLOATS(
            ENTRY, neg) CBX__COMPLEXES(ENTRY, neg) },
    [CBX_PRIM_SIGN] = { CBX__INTS(ENTRY, sign) CBX__FLOATS(ENTRY, sign) },
    [CBX_PRIM_NOT] = { [CBX_BOOL] = not_BOOL, CBX__INTS(ENTRY, not ) },
    [CBX_PRIM_REAL] = { CBX__COMPLEXES(ENTRY, real) },
    [CBX_PRIM_IMAG] = { CBX__COMPLEXES(ENTRY, imag) },
    [CBX_PRIM_CONJ] = { CBX__COMPLEXES(ENTRY, conj) },
};

cbx__loop PASTE(cbx__unary_, ISA_NAME)(cbx_prim p, cbx_dtype t) { return table[p][t]; }
