/*
 * Naive evaluators: element by element with promotion and broadcasting, and movement.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "naive_ops.h"

/* ---- element by element ---- */

typedef struct joined {
    int ndim;
    size_t shape[CBX_MAX_RANK];
} joined;

static bool join(const nv *a, const nv *b, joined *j)
{
    j->ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < j->ndim; i++) {
        const int ka = i - (j->ndim - a->ndim), kb = i - (j->ndim - b->ndim);
        const size_t da = ka < 0 ? 1 : a->shape[ka], db = kb < 0 ? 1 : b->shape[kb];
        if (da != db && da != 1 && db != 1) return false;
        j->shape[i] = da == 1 ? db : da;
    }
    return true;
}

/* The element of x that stands at an index of the joined shape. */
static num from(const nv *x, int ndim, const size_t *index)
{
    size_t own[CBX_MAX_RANK];

    for (int i = 0; i < x->ndim; i++) own[i] = x->shape[i] == 1 ? 0 : index[ndim - x->ndim + i];
    return x->e[naive_at(x, own)];
}

typedef num (*pair_fn)(num x, num y, cbx_dtype t);

static cbx_status pairwise(nv *const *in, cbx_dtype t, cbx_dtype result, pair_fn f, nv **out)
{
    nv *x = naive_cast(in[0], t), *y = naive_cast(in[1], t), *r;
    joined j;

    if (!join(x, y, &j)) return CBX_ESHAPE;
    r = naive_new(result, j.ndim, j.shape);
    for (size_t i = 0; i < r->n; i++) {
        size_t index[CBX_MAX_RANK];
        naive_index_of(r, i, index);
        r->e[i] = f(from(x, j.ndim, index), from(y, j.ndim, index), t);
        if (result == t) r->e[i] = naive_fit(r->e[i], t);
    }
    *out = r;
    return CBX_OK;
}

static bool numbers(cbx_dtype t) { return naive_is_float(t) || naive_is_complex(t); }

static double in(double x, cbx_dtype t) { return naive_fit((num){ 0, x, 0 }, t).re; }

num naive_plus(num x, num y, cbx_dtype t)
{
    if (t == CBX_BOOL) return (num){ x.i | y.i, 0, 0 };
    return (num){ x.i + y.i, x.re + y.re, x.im + y.im };
}
static num minus(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ x.i - y.i, x.re - y.re, x.im - y.im };
}
num naive_times(num x, num y, cbx_dtype t)
{
    num r = { (wide)((wide_bits)x.i * (wide_bits)y.i), x.re * y.re, 0 }; /* the low bits count */

    if (naive_is_complex(t)) {
        r.re = in(in(x.re * y.re, t) - in(x.im * y.im, t), t);
        r.im = in(in(x.re * y.im, t) + in(x.im * y.re, t), t);
    }
    return r;
}
static num quotient(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ 0, x.re / y.re, 0 };
}
static num floor_quotient(num x, num y, cbx_dtype t)
{
    wide q;

    (void)t;
    if (y.i == 0) return (num){ 0, 0, 0 };
    q = x.i / y.i;
    return (num){ q - (x.i % y.i != 0 && (x.i < 0) != (y.i < 0)), 0, 0 };
}
static num remainder_of(num x, num y, cbx_dtype t)
{
    double m;

    if (!numbers(t)) return (num){ y.i == 0 ? 0 : x.i - y.i * floor_quotient(x, y, t).i, 0, 0 };
    m = fmod(x.re, y.re);
    if (m == 0 && y.re != 0) m = copysign(0.0, y.re);
    if (m != 0 && (m < 0) != (y.re < 0) && y.re != 0) m += y.re;
    return (num){ 0, m, 0 };
}
static num whole_power(num x, num y, cbx_dtype t)
{
    num r = { 1, 0, 0 };
    wide n = y.i;

    for (num p = x; n > 0; n /= 2) {
        if (n % 2) r = naive_fit(naive_times(r, p, t), t);
        p = naive_fit(naive_times(p, p, t), t);
    }
    return r;
}
num naive_larger(num x, num y, cbx_dtype t) { return naive_nan(x, t) || naive_order(x, y, t) >= 0 ? x : y; }
num naive_smaller(num x, num y, cbx_dtype t)
{
    if (naive_nan(x, t) || naive_nan(y, t)) return naive_nan(x, t) ? x : y;
    return naive_order(x, y, t) <= 0 ? x : y;
}
num naive_more(num x, num y, cbx_dtype t)
{
    if (naive_nan(x, t) || naive_nan(y, t)) return naive_nan(x, t) ? x : y;
    return naive_larger(x, y, t);
}
static num same(num x, num y, cbx_dtype t)
{
    return (num){ numbers(t) ? x.re == y.re && (!naive_is_complex(t) || x.im == y.im) : x.i == y.i, 0, 0 };
}
static num differs(num x, num y, cbx_dtype t) { return (num){ !same(x, y, t).i, 0, 0 }; }
#define ORDERING(name, op)                                                                                             \
    static num name(num x, num y, cbx_dtype t) { return (num){ naive_is_float(t) ? x.re op y.re : x.i op y.i, 0, 0 }; }
ORDERING(below, <)
ORDERING(at_most, <=)
ORDERING(above, >)
ORDERING(at_least, >=)
#define BITWISE(name, op)                                                                                              \
    static num name(num x, num y, cbx_dtype t)                                                                         \
    {                                                                                                                  \
        (void)t;                                                                                                       \
        return (num){ x.i op y.i, 0, 0 };                                                                              \
    }
BITWISE(both_bits, &)
BITWISE(either_bits, |)
BITWISE(one_bit, ^)
static num shifted_left(num x, num y, cbx_dtype t)
{
    if (y.i < 0 || y.i >= 8 * (wide)naive_bytes(t)) return (num){ 0, 0, 0 };
    return (num){ x.i * ((wide)1 << y.i), 0, 0 };
}
static num shifted_right(num x, num y, cbx_dtype t)
{
    if (y.i < 0 || y.i >= 8 * (wide)naive_bytes(t)) return (num){ x.i < 0 ? -1 : 0, 0, 0 };
    return (num){ x.i >> y.i, 0, 0 };
}
static num with_sign(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ 0, copysign(x.re, y.re), 0 };
}

static bool none(cbx_dtype t)
{
    (void)t;
    return false;
}
static bool not_bool(cbx_dtype t) { return t != CBX_BOOL; }
static bool whole_only(cbx_dtype t) { return naive_is_whole(t) || t == CBX_BOOL; }
static bool real_only(cbx_dtype t) { return !naive_is_complex(t); }
static bool any(cbx_dtype t) { return !none(t); }

enum { SAME, INEXACT, NO_BOOL, TRUTH };

/* name, function, dtypes it takes once promoted, what becomes of the dtype, whether the sign of
 * zero is free */
#define PAIRS(X)                                                                                                       \
    X(add, naive_plus, any, SAME, false)                                                                               \
    X(subtract, minus, not_bool, SAME, false)                                                                          \
    X(multiply, naive_times, any, SAME, false)                                                                         \
    X(divide, quotient, any, INEXACT, false)                                                                           \
    X(floor_divide, floor_quotient, real_only, NO_BOOL, false)                                                         \
    X(remainder, remainder_of, real_only, NO_BOOL, false)                                                              \
    X(maximum, naive_more, real_only, SAME, true)                                                                      \
    X(minimum, naive_smaller, real_only, SAME, true)                                                                   \
    X(copysign, with_sign, real_only, INEXACT, false)                                                                  \
    X(equal, same, any, TRUTH, false)                                                                                  \
    X(not_equal, differs, any, TRUTH, false)                                                                           \
    X(less, below, real_only, TRUTH, false)                                                                            \
    X(less_equal, at_most, real_only, TRUTH, false)                                                                    \
    X(greater, above, real_only, TRUTH, false)                                                                         \
    X(greater_equal, at_least, real_only, TRUTH, false)                                                                \
    X(bitwise_and, both_bits, whole_only, SAME, false)                                                                 \
    X(bitwise_or, either_bits, whole_only, SAME, false)                                                                \
    X(bitwise_xor, one_bit, whole_only, SAME, false)                                                                   \
    X(bitwise_left_shift, shifted_left, whole_only, NO_BOOL, false)                                                    \
    X(bitwise_right_shift, shifted_right, whole_only, NO_BOOL, false)

#define PAIR(name, f, takes, rule, free_zeros)                                                                         \
    cbx_status naive_##name(nv *const *x, const int *a, nv **out)                                                      \
    {                                                                                                                  \
        cbx_dtype t = naive_promote(x[0]->t, x[1]->t);                                                                 \
        cbx_status st;                                                                                                 \
        (void)a;                                                                                                       \
        if (rule == INEXACT && !numbers(t)) t = CBX_F64;                                                               \
        if (rule == NO_BOOL && t == CBX_BOOL) t = CBX_I8;                                                              \
        if (NAIVE_UNSURE(#name, t)) return NAIVE_SKIP;                                                                 \
        if (!takes(t)) return joins(x) ? CBX_EDTYPE : NAIVE_ANY_FAILURE;                                               \
        st = pairwise(x, t, rule == TRUTH ? CBX_BOOL : t, f, out);                                                     \
        if (!st) (*out)->zeros = free_zeros;                                                                           \
        return st;                                                                                                     \
    }
/* Complex quotients and the floors of float quotients are held against NumPy elsewhere: here they
 * would need tolerances. */
#define NAIVE_UNSURE(name, t)                                                                                          \
    ((strcmp(name, "divide") == 0 && naive_is_complex(t)) || (strcmp(name, "floor_divide") == 0 && numbers(t)))

static bool joins(nv *const *x)
{
    joined j;
    return join(x[0], x[1], &j);
}
PAIRS(PAIR)

cbx_status naive_pow(nv *const *x, const int *a, nv **out)
{
    cbx_dtype t = naive_promote(x[0]->t, x[1]->t);

    (void)a;
    if (t == CBX_BOOL) t = CBX_I8;
    if (!naive_is_whole(t)) return NAIVE_SKIP;
    if (!joins(x)) return CBX_ESHAPE;
    if (!naive_is_unsigned(t)) {
        nv *power = naive_cast(x[1], t), *r;
        joined j;
        join(x[0], x[1], &j);
        r = naive_new(CBX_BOOL, j.ndim, j.shape);
        for (size_t i = 0; i < power->n && r->n > 0; i++)
            if (power->e[i].i < 0) return CBX_EDOM;
    }
    return pairwise(x, t, t, whole_power, out);
}

static num and_of(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ x.i && y.i, 0, 0 };
}
static num or_of(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ x.i || y.i, 0, 0 };
}
static num xor_of(num x, num y, cbx_dtype t)
{
    (void)t;
    return (num){ x.i != y.i, 0, 0 };
}
#define LOGICAL(name, f)                                                                                               \
    cbx_status naive_##name(nv *const *x, const int *a, nv **out)                                                      \
    {                                                                                                                  \
        (void)a;                                                                                                       \
        return pairwise(x, CBX_BOOL, CBX_BOOL, f, out);                                                                \
    }
LOGICAL(logical_and, and_of)
LOGICAL(logical_or, or_of)
LOGICAL(logical_xor, xor_of)

/* ---- one operand ---- */

typedef num (*single_fn)(num x, cbx_dtype t);

static num negative(num x, cbx_dtype t)
{
    (void)t;
    return (num){ -x.i, -x.re, -x.im };
}
static num size_of(num x, cbx_dtype t)
{
    (void)t;
    return (num){ x.i < 0 ? -x.i : x.i, fabs(x.re), 0 };
}
static num sign_of(num x, cbx_dtype t)
{
    if (!numbers(t)) return (num){ (x.i > 0) - (x.i < 0), 0, 0 };
    return (num){ 0, isnan(x.re) ? x.re : (double)((x.re > 0) - (x.re < 0)), 0 };
}
static num inverted(num x, cbx_dtype t) { return (num){ t == CBX_BOOL ? !x.i : -x.i - 1, 0, 0 }; }
#define MATH(name, f)                                                                                                  \
    static num name(num x, cbx_dtype t)                                                                                \
    {                                                                                                                  \
        (void)t;                                                                                                       \
        return (num){ x.i, f(x.re), 0 };                                                                               \
    }
MATH(floored, floor)
MATH(ceiled, ceil)
MATH(truncated, trunc)
MATH(nearest, nearbyint)
MATH(rooted, sqrt)
static num nan_of(num x, cbx_dtype t) { return (num){ naive_nan(x, t), 0, 0 }; }
static num inf_of(num x, cbx_dtype t) { return (num){ numbers(t) && (isinf(x.re) || isinf(x.im)), 0, 0 }; }
static num finite_of(num x, cbx_dtype t) { return (num){ !numbers(t) || (isfinite(x.re) && isfinite(x.im)), 0, 0 }; }
static num minus_of(num x, cbx_dtype t)
{
    (void)t;
    return (num){ signbit(x.re) != 0, 0, 0 };
}
static num squared(num x, cbx_dtype t) { return naive_times(x, x, t); }
static num inverse_truth(num x, cbx_dtype t) { return (num){ !naive_truth(x, t), 0, 0 }; }
static num part_re(num x, cbx_dtype t)
{
    (void)t;
    return (num){ x.i, x.re, 0 };
}
static num part_im(num x, cbx_dtype t)
{
    (void)t;
    return (num){ 0, x.im, 0 };
}
static num mirrored(num x, cbx_dtype t)
{
    (void)t;
    return (num){ x.i, x.re, naive_is_complex(t) ? -x.im : 0 };
}
static num itself(num x, cbx_dtype t)
{
    (void)t;
    return x;
}

/* name, function, dtypes it takes, what becomes of the dtype (TRUTH as above) */
#define SINGLES(X)                                                                                                     \
    X(negative, negative, not_bool, SAME)                                                                              \
    X(abs, size_of, real_only, SAME)                                                                                   \
    X(sign, sign_of, real_not_bool, SAME)                                                                              \
    X(bitwise_invert, inverted, whole_only, SAME)                                                                      \
    X(floor, floored, real_only, SAME)                                                                                 \
    X(ceil, ceiled, real_only, SAME)                                                                                   \
    X(trunc, truncated, real_only, SAME)                                                                               \
    X(rint, nearest, real_only, SAME)                                                                                  \
    X(sqrt, rooted, real_only, INEXACT)                                                                                \
    X(isnan, nan_of, any, TRUTH)                                                                                       \
    X(isinf, inf_of, any, TRUTH)                                                                                       \
    X(isfinite, finite_of, any, TRUTH)                                                                                 \
    X(square, squared, any, SAME)                                                                                      \
    X(logical_not, inverse_truth, any, TRUTH)                                                                          \
    X(real, part_re, any, REAL_OF)                                                                                     \
    X(imag, part_im, any, REAL_OF)                                                                                     \
    X(conj, mirrored, any, SAME)                                                                                       \
    X(copy, itself, any, SAME)                                                                                         \
    X(signbit, minus_of, real_only, SIGN_BIT)
enum { REAL_OF = 10, SIGN_BIT };
static bool real_not_bool(cbx_dtype t) { return real_only(t) && t != CBX_BOOL; }

static cbx_dtype real_dtype(cbx_dtype t) { return t == CBX_C64 ? CBX_F32 : t == CBX_C128 ? CBX_F64 : t; }

/* Complex numbers have these, with roundings or rules that are held against NumPy elsewhere. */
static bool inexact_if_complex(const char *name)
{
    static const char *const names[] = { "abs", "sign", "rint", "sqrt" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static cbx_status single(const char *name, const nv *x, single_fn f, bool (*takes)(cbx_dtype), int rule, nv **out)
{
    cbx_dtype t = x->t, result;
    nv *r;

    if (naive_is_complex(t) && inexact_if_complex(name)) return NAIVE_SKIP;
    if (!takes(t)) return CBX_EDTYPE;
    if ((rule == INEXACT || rule == SIGN_BIT) && !numbers(t)) t = CBX_F64;
    result = rule == TRUTH || rule == SIGN_BIT ? CBX_BOOL : rule == REAL_OF ? real_dtype(t) : t;
    x = naive_cast(x, t);
    r = naive_new(result, x->ndim, x->shape);
    for (size_t i = 0; i < x->n; i++) r->e[i] = result == t ? naive_fit(f(x->e[i], t), t) : f(x->e[i], t);
    *out = r;
    return CBX_OK;
}

#define SINGLE(name, f, takes, rule)                                                                                   \
    cbx_status naive_##name(nv *const *x, const int *a, nv **out)                                                      \
    {                                                                                                                  \
        (void)a;                                                                                                       \
        return single(#name, x[0], f, takes, rule, out);                                                               \
    }
SINGLES(SINGLE)

cbx_status naive_astype(nv *const *x, const int *a, nv **out)
{
    const cbx_dtype t = (cbx_dtype)((unsigned)a[0] % CBX_DTYPE_COUNT);

    if (naive_is_complex(x[0]->t) && !naive_is_complex(t) && t != CBX_BOOL) return CBX_EDTYPE;
    *out = naive_cast(x[0], t);
    return CBX_OK;
}

/* ---- three operands ---- */

static cbx_status three(nv *const *x, cbx_dtype t, num (*f)(num, num, num, cbx_dtype), bool condition, nv **out)
{
    nv *y[3], *r;
    joined j, k;

    for (int i = 0; i < 3; i++) y[i] = naive_cast(x[i], condition && i == 0 ? CBX_BOOL : t);
    if (!join(y[0], y[1], &j)) return CBX_ESHAPE;
    r = naive_new(t, j.ndim, j.shape);
    if (!join(r, y[2], &k)) return CBX_ESHAPE;
    r = naive_new(t, k.ndim, k.shape);
    for (size_t i = 0; i < r->n; i++) {
        size_t index[CBX_MAX_RANK];
        naive_index_of(r, i, index);
        r->e[i] = f(from(y[0], k.ndim, index), from(y[1], k.ndim, index), from(y[2], k.ndim, index), t);
    }
    *out = r;
    return CBX_OK;
}

static num chosen(num c, num x, num y, cbx_dtype t)
{
    (void)t;
    return c.i ? x : y;
}

/* min(max(x, low), high); NaN stays */
static num clipped(num x, num low, num high, cbx_dtype t) { return naive_smaller(naive_more(x, low, t), high, t); }

cbx_status naive_where(nv *const *x, const int *a, nv **out)
{
    (void)a;
    return three(x, naive_promote(x[1]->t, x[2]->t), chosen, true, out);
}

cbx_status naive_clip(nv *const *x, const int *a, nv **out)
{
    const cbx_dtype t = naive_promote(x[0]->t, naive_promote(x[1]->t, x[2]->t));
    cbx_status st;

    (void)a;
    if (naive_is_complex(t)) return NAIVE_ANY_FAILURE;
    st = three(x, t, clipped, false, out);
    if (!st) (*out)->zeros = true;
    return st;
}
