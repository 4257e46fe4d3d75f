/* Inner loops of two and three operands, in tables by primitive and dtype; built for each
 * instruction set. */
#include "calibrax/array/kernels/elementary.h"
#include "calibrax/array/kernels/isa_name.h"
#include "calibrax/array/kernels/scalar.h"
#include "calibrax/base/threefry.h"

/* Integers wrap: computed without sign, where C defines it. */
#define ARITH_INT(D, T, a)                                                                                             \
    CBX__LOOP2(add_##D, T, T, (uint64_t)x + (uint64_t)y)                                                               \
    CBX__LOOP2(sub_##D, T, T, (uint64_t)x - (uint64_t)y)                                                               \
    CBX__LOOP2(mul_##D, T, T, (uint64_t)x *(uint64_t)y)                                                                \
    CBX__LOOP2(pow_##D, T, T, cbx__pow_u64((uint64_t)x, (uint64_t)y))                                                  \
    CBX__LOOP2(and_##D, T, T, x &y)                                                                                    \
    CBX__LOOP2(or_##D, T, T, x | y)                                                                                    \
    CBX__LOOP2(xor_##D, T, T, x ^ y)
#define DIV_SIGNED(D, T, a)                                                                                            \
    CBX__LOOP2(floor_div_##D, T, T, cbx__floor_div_i64(x, y))                                                          \
    CBX__LOOP2(rem_##D, T, T, cbx__rem_i64(x, y))
#define DIV_UNSIGNED(D, T, a) CBX__LOOP2(floor_div_##D, T, T, y ? x / y : 0) CBX__LOOP2(rem_##D, T, T, y ? x % y : 0)
/* A shift by the width or more empties the number, a negative one too: it counts as a huge one. */
#define SHIFT(D, T, a)                                                                                                 \
    CBX__LOOP2(shl_##D, T, T, (uint64_t)y < 8 * sizeof(T) ? (uint64_t)x << y : 0)                                      \
    CBX__LOOP2(shr_##D, T, T, (uint64_t)y < 8 * sizeof(T) ? x >> y : x >> (8 * sizeof(T) - 1) >> 1 * (x > 0))
#define ARITH_FLOAT(D, T, a)                                                                                           \
    CBX__LOOP2(add_##D, T, T, x + y)                                                                                   \
    CBX__LOOP2(sub_##D, T, T, x - y)                                                                                   \
    CBX__LOOP2(mul_##D, T, T, x *y)                                                                                    \
    CBX__LOOP2(div_##D, T, T, x / y)
CBX__INTS(ARITH_INT, )
DIV_SIGNED(I8, int8_t, )
DIV_SIGNED(I16, int16_t, )
DIV_SIGNED(I32, int32_t, )
DIV_UNSIGNED(U8, uint8_t, )
DIV_UNSIGNED(U16, uint16_t, )
DIV_UNSIGNED(U32, uint32_t, )
CBX__INTS(SHIFT, )
CBX__FLOATS(ARITH_FLOAT, )

/* Division of 64 bits by way of float64, which vectors have and which takes a third of the time.
 * Of integers below 2^52 it is exact: a quotient that is no integer is further from the next one
 * than its rounding error, since that is below 2^-53 of it and the distance is 1 / y or more. */
enum { DIV_BLOCK = 256 };

static const int64_t *lined_up(size_t n, const char *a, ptrdiff_t step, int64_t *buf)
{
    if (step == (ptrdiff_t)sizeof *buf) return (const int64_t *)(const void *)a;
    for (size_t i = 0; i < n; i++) buf[i] = *(const int64_t *)(const void *)(a + (ptrdiff_t)i * step);
    return buf;
}

/* All below 2^52, and no divisor 0. */
static bool divides_exactly(size_t n, const int64_t *x, const int64_t *y)
{
    uint64_t high = 0;
    int64_t zero = 0;

    for (size_t i = 0; i < n; i++) {
        high |= (uint64_t)(x[i] ^ x[i] >> 63) | (uint64_t)(y[i] ^ y[i] >> 63);
        zero |= y[i] == 0;
    }
    return high >> 52 == 0 && !zero;
}

/* q: the quotient towards zero, r: what is left of x. */
#define DIV_I64(name, floored, slow)                                                                                   \
    static void name(size_t n, char *const *p, const ptrdiff_t *s)                                                     \
    {                                                                                                                  \
        int64_t xs[DIV_BLOCK], ys[DIV_BLOCK], results[DIV_BLOCK];                                                      \
        for (size_t done = 0; done < n; done += DIV_BLOCK) {                                                           \
            const size_t m = n - done < DIV_BLOCK ? n - done : DIV_BLOCK;                                              \
            const int64_t *x = lined_up(m, p[1] + (ptrdiff_t)done * s[1], s[1], xs);                                   \
            const int64_t *y = lined_up(m, p[2] + (ptrdiff_t)done * s[2], s[2], ys);                                   \
            char *to = p[0] + (ptrdiff_t)done * s[0];                                                                  \
            if (divides_exactly(m, x, y))                                                                              \
                for (size_t i = 0; i < m; i++) {                                                                       \
                    const double quotient = (double)x[i] / (double)y[i];                                               \
                    const int64_t q = (int64_t)quotient, r = x[i] - q * y[i];                                          \
                    results[i] = floored;                                                                              \
                }                                                                                                      \
            else                                                                                                       \
                for (size_t i = 0; i < m; i++) results[i] = slow(x[i], y[i]);                                          \
            for (size_t i = 0; i < m; i++) *(int64_t *)(void *)(to + (ptrdiff_t)i * s[0]) = results[i];                \
        }                                                                                                              \
    }
DIV_I64(floor_div_I64, q - (r != 0 && (r ^ y[i]) < 0), cbx__floor_div_i64)
DIV_I64(rem_I64, r + (r != 0 && (r ^ y[i]) < 0 ? y[i] : 0), cbx__rem_i64)

/* Many uint64 by one number: a product with its inverse, rounded down, whose high half is the
 * quotient or one less. */
DIV_UNSIGNED(U64_each, uint64_t, )
#define DIV_U64(name, result)                                                                                          \
    static void name##_U64(size_t n, char *const *p, const ptrdiff_t *s)                                               \
    {                                                                                                                  \
        const uint64_t y = n && s[2] == 0 ? *(const uint64_t *)(const void *)p[2] : 0,                                 \
                       inverse = y ? UINT64_MAX / y : 0;                                                               \
        if (y == 0) {                                                                                                  \
            name##_U64_each(n, p, s);                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint64_t x = *(const uint64_t *)(const void *)(p[1] + (ptrdiff_t)i * s[1]);                          \
            const uint64_t low = (uint64_t)((unsigned __int128)x * inverse >> 64), over = x - low * y >= y;            \
            *(uint64_t *)(void *)(p[0] + (ptrdiff_t)i * s[0]) = result;                                                \
        }                                                                                                              \
    }
DIV_U64(floor_div, low + over)
DIV_U64(rem, x - (low + over) * y)

/* bool as bytes, 0 or 1, which vectors have */
CBX__LOOP2(add_BOOL, uint8_t, uint8_t, x | y)
CBX__LOOP2(mul_BOOL, uint8_t, uint8_t, x &y)
CBX__LOOP2(and_BOOL, uint8_t, uint8_t, x &y)
CBX__LOOP2(or_BOOL, uint8_t, uint8_t, x | y)
CBX__LOOP2(xor_BOOL, uint8_t, uint8_t, x ^ y)

/* Products by the school formula, quotients by Smith's (Comm. ACM 5 (1962) 435), each in its own
 * precision: as NumPy. */
#define COMPLEX_RULES(D, C, T, make, re, im, size)                                                                     \
    static C times_##D(C x, C y) { return make(re(x) * re(y) - im(x) * im(y), re(x) * im(y) + im(x) * re(y)); }        \
    static C over_##D(C x, C y)                                                                                        \
    {                                                                                                                  \
        const T a = re(y), b = im(y);                                                                                  \
        if (a == 0 && b == 0) return make(re(x) / size(a), im(x) / size(a));                                           \
        if (size(a) >= size(b)) {                                                                                      \
            const T ratio = b / a, scale = 1 / (a + b * ratio);                                                        \
            return make((re(x) + im(x) * ratio) * scale, (im(x) - re(x) * ratio) * scale);                             \
        }                                                                                                              \
        const T ratio = a / b, scale = 1 / (b + a * ratio);                                                            \
        return make((re(x) * ratio + im(x)) * scale, (im(x) * ratio - re(x)) * scale);                                 \
    }
COMPLEX_RULES(C64, cbx__c64, float, cbx__make_c64, crealf, cimagf, fabsf)
COMPLEX_RULES(C128, cbx__c128, double, cbx__make_c128, creal, cimag, fabs)
/* Powers as NumPy has them: of whole exponents below 100 by squaring, so that Gaussian integers
 * stay exact; 0 to a power whose real part is not above 0 is NaN.  cpow alone gives NaN of 0 and of
 * infinities to the power 0. */
#define COMPLEX_POWER(D, C, T, make, re, im)                                                                           \
    static C squared_##D(C x, int n)                                                                                   \
    {                                                                                                                  \
        C r = make(1, 0);                                                                                              \
        for (;; x = times_##D(x, x)) {                                                                                 \
            if (n & 1) r = times_##D(r, x);                                                                            \
            n >>= 1;                                                                                                   \
            if (n == 0) return r;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static C raised_##D(C x, C y)                                                                                      \
    {                                                                                                                  \
        const T n = re(y);                                                                                             \
        if (y == 0) return make(1, 0);                                                                                 \
        if (x == 0) return n > 0 ? make(0, 0) : make((T)NAN, (T)NAN);                                                  \
        if (im(y) != 0 || !(n > -100 && n < 100) || (T)(int)n != n) return (C)cpow(x, y);                              \
        if (n == 1) return x;                                                                                          \
        if (n == 2 || n == 3) return n == 2 ? times_##D(x, x) : times_##D(times_##D(x, x), x);                         \
        return n > 0 ? squared_##D(x, (int)n) : over_##D(make(1, 0), squared_##D(x, -(int)n));                         \
    }
COMPLEX_POWER(C64, cbx__c64, float, cbx__make_c64, crealf, cimagf)
COMPLEX_POWER(C128, cbx__c128, double, cbx__make_c128, creal, cimag)
#define ARITH_COMPLEX(D, T, a)                                                                                         \
    CBX__LOOP2(add_##D, T, T, x + y)                                                                                   \
    CBX__LOOP2(sub_##D, T, T, x - y)                                                                                   \
    CBX__LOOP2(mul_##D, T, T, times_##D(x, y))                                                                         \
    CBX__LOOP2(div_##D, T, T, over_##D(x, y))                                                                          \
    CBX__LOOP2(pow_##D, T, T, raised_##D(x, y))
CBX__COMPLEXES(ARITH_COMPLEX, )

/* The remainder of C is exact, so every way to it gives the same bits. */
#define MODULO(D, d, T, f)                                                                                             \
    INLINE T rem_fast_##d(T x, T y) { return cbx__rem_of_##d(x, y, fmod_##d(x, y)); }                                  \
    INLINE T floor_div_fast_##d(T x, T y) { return cbx__floor_div_of_##d(x, y, fmod_##d(x, y)); }                      \
    CBX__VECTOR2(rem_##D, T, d, rem_fast_##d, fmod_in_##d, cbx__rem_##d)                                               \
    CBX__VECTOR2(floor_div_##D, T, d, floor_div_fast_##d, fmod_in_##d, cbx__floor_div_##d)
MODULO(F32, f32, float, f)
MODULO(F64, f64, double, )
#define VECTOR_MAP(X) X(POW, pow) X(ATAN2, atan2) X(HYPOT, hypot)
#define VECTOR(P, g)                                                                                                   \
    CBX__VECTOR2(g##_F32, float, f32, g##_f32, g##_in_f32, g##f)                                                       \
    CBX__VECTOR2(g##_F64, double, f64, g##_f64, g##_in_f64, g)
VECTOR_MAP(VECTOR)
CBX__VECTOR2(logaddexp_F32, float, f32, logaddexp_f32, logaddexp_in_f32, cbx__logaddexp)
/* logaddexp_f64 of whole blocks. */
static inline int logaddexp_all_f64(size_t n, const double *x, const double *z, double *restrict y)
{
    double e[CBX__BLOCK];
    int rare = 0;

    for (size_t i = 0; i < n; i++) e[i] = -fabs(x[i] - z[i]);
    exp_all_f64(n, e, e);
    for (size_t i = 0; i < n; i++) {
        y[i] = (x[i] > z[i] ? x[i] : z[i]) + log1p_f64(e[i]);
        rare |= !logaddexp_in_f64(x[i], z[i]);
    }
    return rare;
}
#define CBX__OWN_logaddexp_f64 ~, rare = logaddexp_all_f64(whole, x, z, y);
CBX__VECTOR2(logaddexp_F64, double, f64, logaddexp_f64, logaddexp_in_f64, cbx__logaddexp)
CBX__LOOP2(join_F32, cbx__c64, float, cbx__make_c64(x, y))
CBX__LOOP2(join_F64, cbx__c128, double, cbx__make_c128(x, y))
#define LIBM_MAP(X) X(NEXTAFTER, nextafter) X(COPYSIGN, copysign)
#define LIBM(P, g)  CBX__LOOP2(g##_F32, float, float, g##f(x, y)) CBX__LOOP2(g##_F64, double, double, g(x, y))
LIBM_MAP(LIBM)

/* The first NaN wins; of two equal values the first. */
#define ORDER_INT(D, T, a) CBX__LOOP2(max_##D, T, T, x >= y ? x : y) CBX__LOOP2(min_##D, T, T, x <= y ? x : y)
#define ORDER_FLOAT(D, T, a)                                                                                           \
    CBX__LOOP2(max_##D, T, T, x >= y || x != x ? x : y)                                                                \
    CBX__LOOP2(min_##D, T, T, x <= y || x != x ? x : y)
ORDER_INT(BOOL, bool, )
CBX__INTS(ORDER_INT, )
CBX__FLOATS(ORDER_FLOAT, )

#define EQUAL(D, T, a) CBX__LOOP2(eq_##D, bool, T, x == y) CBX__LOOP2(ne_##D, bool, T, x != y)
#define COMPARE(D, T, a)                                                                                               \
    EQUAL(D, T, a)                                                                                                     \
    CBX__LOOP2(lt_##D, bool, T, x < y)                                                                                 \
    CBX__LOOP2(le_##D, bool, T, x <= y)                                                                                \
    CBX__LOOP2(gt_##D, bool, T, x > y)                                                                                 \
    CBX__LOOP2(ge_##D, bool, T, x >= y)
COMPARE(BOOL, bool, )
CBX__INTS(COMPARE, )
CBX__FLOATS(COMPARE, )
CBX__COMPLEXES(EQUAL, )

/* clip: NaN stays, of low > high the result is high; NaN bounds give NaN. */
#define CLAMP_INT(D, T, a) CBX__LOOP3(clamp_##D, T, T, T, (x < y ? y : x) > z ? z : (x < y ? y : x))
CLAMP_INT(BOOL, bool, )
CBX__INTS(CLAMP_INT, )
#define CLAMP_FLOAT(D, T, a)                                                                                           \
    INLINE T clamp_of_##D(T x, T low, T high)                                                                          \
    {                                                                                                                  \
        const T r = x < low ? low : x, s = r > high ? high : r, t = low != low ? low : s;                              \
        return high != high ? high : t;                                                                                \
    }                                                                                                                  \
    CBX__LOOP3(clamp_##D, T, T, T, clamp_of_##D(x, y, z))
CBX__FLOATS(CLAMP_FLOAT, )
CBX__LOOP3(fma_F32, float, float, float, fmaf(x, y, z))
CBX__LOOP3(fma_F64, double, double, double, fma(x, y, z))

/* By size, in bits and without a branch, which random conditions would make slow. */
#define SELECT(bytes, U) CBX__LOOP3(select_##bytes, U, uint8_t, U, z ^ ((y ^ z) & (U)(0 - (U)x)))
SELECT(1, uint8_t)
SELECT(2, uint16_t)
SELECT(4, uint32_t)
SELECT(8, uint64_t)
CBX__LOOP3(select_16, cbx__c128, bool, cbx__c128, x ? y : z)

#define ENTRY(D, T, f) [CBX_##D] = f##_##D,
#define FLT(P, f)      [CBX_PRIM_##P] = { CBX__FLOATS(ENTRY, f) },
#define INT(P, f)      [CBX_PRIM_##P] = { CBX__INTS(ENTRY, f) },
#define IB(P, f)       [CBX_PRIM_##P] = { [CBX_BOOL] = f##_BOOL, CBX__INTS(ENTRY, f) },
#define REAL(P, f)     [CBX_PRIM_##P] = { CBX__INTS(ENTRY, f) CBX__FLOATS(ENTRY, f) },
#define RB(P, f)       [CBX_PRIM_##P] = { [CBX_BOOL] = f##_BOOL, CBX__INTS(ENTRY, f) CBX__FLOATS(ENTRY, f) },
#define NUM(P, f)      [CBX_PRIM_##P] = { CBX__INTS(ENTRY, f) CBX__FLOATS(ENTRY, f) CBX__COMPLEXES(ENTRY, f) },
#define ALL(P, f)                                                                                                      \
    [CBX_PRIM_##P] = { [CBX_BOOL] = f##_BOOL, CBX__INTS(ENTRY, f) CBX__FLOATS(ENTRY, f) CBX__COMPLEXES(ENTRY, f) },

CBX__LOOP2(threefry_U64, uint64_t, uint64_t, cbx__threefry(x, y))

static const cbx__loop two[CBX_PRIM_LIMIT][CBX_DTYPE_COUNT] = {
    [CBX_PRIM_THREEFRY] = { [CBX_U64] = threefry_U64 },
    ALL(ADD, add) NUM(SUB, sub) ALL(MUL, mul)
        NUM(POW, pow)[CBX_PRIM_DIV] = { CBX__FLOATS(ENTRY, div) CBX__COMPLEXES(ENTRY, div) },
    REAL(FLOOR_DIV, floor_div) REAL(REM, rem) FLT(ATAN2, atan2) FLT(HYPOT, hypot) FLT(NEXTAFTER, nextafter)
        FLT(COPYSIGN, copysign) FLT(LOGADDEXP, logaddexp) FLT(COMPLEX, join) RB(MAX, max) RB(MIN, min) ALL(EQ, eq)
            ALL(NE, ne) RB(LT, lt) RB(LE, le) RB(GT, gt) RB(GE, ge) IB(AND, and) IB(OR, or) IB(XOR, xor) INT(SHL, shl)
                INT(SHR, shr)
};

static const cbx__loop three[CBX_PRIM_LIMIT][CBX_DTYPE_COUNT] = { RB(CLAMP, clamp) FLT(FMA, fma) };

cbx__loop PASTE(cbx__binary_, ISA_NAME)(cbx_prim p, cbx_dtype t)
{
    static const cbx__loop selects[] = {
        [1] = select_1, [2] = select_2, [4] = select_4, [8] = select_8, [16] = select_16
    };
    if (p == CBX_PRIM_SELECT) return selects[cbx__dtype_size(t)];
    return three[p][t] ? three[p][t] : two[p][t];
}
