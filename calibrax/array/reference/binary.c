/* Inner loops of two and three operands, in tables by primitive and dtype. */
#include "calibrax/array/reference/loops.h"
#include "calibrax/array/reference/scalar.h"

/* Integers wrap: computed without sign, where C says how. */
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
CBX__SIGNED(DIV_SIGNED, )
CBX__UNSIGNED(DIV_UNSIGNED, )
CBX__INTS(SHIFT, )
CBX__FLOATS(ARITH_FLOAT, )
CBX__LOOP2(add_BOOL, bool, bool, x | y)
CBX__LOOP2(mul_BOOL, bool, bool, x &y)
CBX__LOOP2(and_BOOL, bool, bool, x &y)
CBX__LOOP2(or_BOOL, bool, bool, x | y)
CBX__LOOP2(xor_BOOL, bool, bool, x ^ y)

/* Products by the school formula, quotients by Smith's (Comm. ACM 5 (1962) 435), each in its own precision: as NumPy. */
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
/* Powers as NumPy has them: of whole exponents below 100 by squaring, so that Gaussian integers stay exact; 0 to a power
 * that is not above 0 and real is NaN.  cpow alone gives NaN of 0 and of infinities to the power 0. */
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
        if (x == 0) return n > 0 && im(y) == 0 ? make(0, 0) : make((T)NAN, (T)NAN);                                    \
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

CBX__LOOP2(floor_div_F32, float, float, cbx__floor_div_f32(x, y))
CBX__LOOP2(floor_div_F64, double, double, cbx__floor_div_f64(x, y))
CBX__LOOP2(rem_F32, float, float, cbx__rem_f32(x, y))
CBX__LOOP2(rem_F64, double, double, cbx__rem_f64(x, y))
CBX__LOOP2(logaddexp_F32, float, float, cbx__logaddexp(x, y))
CBX__LOOP2(logaddexp_F64, double, double, cbx__logaddexp(x, y))
CBX__LOOP2(join_F32, cbx__c64, float, cbx__make_c64(x, y))
CBX__LOOP2(join_F64, cbx__c128, double, cbx__make_c128(x, y))
#define LIBM_MAP(X) X(POW, pow) X(ATAN2, atan2) X(HYPOT, hypot) X(NEXTAFTER, nextafter) X(COPYSIGN, copysign)
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
static double clamp_of(double x, double low, double high)
{
    double r = x >= low || x != x ? x : low;
    return r <= high || r != r ? r : high;
}
CBX__LOOP3(clamp_F32, float, float, float, clamp_of(x, y, z))
CBX__LOOP3(clamp_F64, double, double, double, clamp_of(x, y, z))
CBX__LOOP3(fma_F32, float, float, float, fmaf(x, y, z))
CBX__LOOP3(fma_F64, double, double, double, fma(x, y, z))

/* By size, in bits and without a branch, which random conditions would make slow. */
#define SELECT(bytes, U) CBX__LOOP3(select_##bytes, U, bool, U, z ^ ((y ^ z) & (U)(0 - (U)x)))
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

static const cbx__loop two[CBX_PRIM_LIMIT][CBX_DTYPE_COUNT] = {
    ALL(ADD, add) NUM(SUB, sub) ALL(MUL, mul)
        NUM(POW, pow)[CBX_PRIM_DIV] = { CBX__FLOATS(ENTRY, div) CBX__COMPLEXES(ENTRY, div) },
    REAL(FLOOR_DIV, floor_div) REAL(REM, rem) FLT(ATAN2, atan2) FLT(HYPOT, hypot) FLT(NEXTAFTER, nextafter)
        FLT(COPYSIGN, copysign) FLT(LOGADDEXP, logaddexp) FLT(COMPLEX, join) RB(MAX, max) RB(MIN, min) ALL(EQ, eq)
            ALL(NE, ne) RB(LT, lt) RB(LE, le) RB(GT, gt) RB(GE, ge) IB(AND, and) IB(OR, or) IB(XOR, xor) INT(SHL, shl)
                INT(SHR, shr)
};

static const cbx__loop three[CBX_PRIM_LIMIT][CBX_DTYPE_COUNT] = { RB(CLAMP, clamp) FLT(FMA, fma) };

cbx__loop cbx__ref_binary(cbx_prim p, cbx_dtype t) { return two[p][t]; }

cbx__loop cbx__ref_ternary(cbx_prim p, cbx_dtype t)
{
    static const cbx__loop selects[] = {
        [1] = select_1, [2] = select_2, [4] = select_4, [8] = select_8, [16] = select_16
    };
    return p == CBX_PRIM_SELECT ? selects[cbx__dtype_size(t)] : three[p][t];
}

/* A whole number to a negative power is no whole number: refused before anything is computed. */
cbx_status cbx__ref_run_pow(const cbx_call *call, cbx_array **out, cbx_err *err)
{
    const cbx_array *n = call->in[1];
    cbx__strided op[3];
    cbx_status st;

    if (n->desc.dtype >= CBX_I8 && n->desc.dtype <= CBX_I64) {
        cbx__stream s;
        int64_t power;
        op[0] = cbx__ref_strided(n);
        cbx__stream_init(&s, n->desc.ndim, n->desc.shape, op[0].strides, n->desc.dtype, CBX_I64);
        cbx__stream_start(&s, n->data);
        for (size_t i = 0; i < n->count; i++)
            if (*(const int64_t *)cbx__stream_next(&s, 1, &power) < 0)
                return cbx_fail(err, CBX_EDOM, "'pow' of %s to a negative power: convert to float64 first",
                                cbx_dtype_name(n->desc.dtype));
    }
    st = cbx_array_create(call->ctx, call->result, out, err);
    if (st) return st;
    op[0] = cbx__ref_strided(*out);
    op[1] = cbx__ref_strided(call->in[0]);
    op[2] = cbx__ref_strided(n);
    cbx__ref_walk(call->result->ndim, call->result->shape, 3, op, two[CBX_PRIM_POW][n->desc.dtype]);
    return CBX_OK;
}
