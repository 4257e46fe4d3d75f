/* Functions element by element: promotion and broadcasting around primitives. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/info.h"
#include "calibrax/array/ops_internal.h"

bool cbx__given(cbx_ctx *ctx, const char *name, const char *argument, int64_t n, const void *p)
{
    if (p || n <= 0) return true;
    return cbx__refused(ctx, CBX_EINVAL, "'%s' of '%s' is NULL", argument, name);
}

bool cbx__unusable(cbx_ctx *ctx, const char *name, size_t n, const cbx_array *const *in)
{
    if (!cbx__given(ctx, name, "in", (int64_t)n, in)) return true;
    for (size_t i = 0; i < n; i++) {
        if (!in[i]) cbx__refuse(ctx, CBX_EINVAL, "operand %zu of '%s' is NULL", i + 1, name);
        if (!in[i] || in[i]->flags & CBX__FAILED) return true;
        if (in[i]->flags & CBX__DONATED) return cbx__array_present(name, in[i], cbx__sticky(ctx)) != CBX_OK;
    }
    return false;
}

cbx_array *cbx__apply1(cbx_ctx *ctx, cbx_prim p, const cbx_array *x, const cbx_attrs *attrs)
{
    return cbx_apply(ctx, p, 1, &x, attrs);
}

/*
 * The functions take const operands and return what the scope owns: handing one on needs a
 * reference of the scope's own.
 */
cbx_array *cbx__same(cbx_ctx *ctx, const cbx_array *x) { return cbx_scope_hold(ctx, cbx_array_ref(x)); }

cbx_array *cbx__as(cbx_ctx *ctx, const cbx_array *x, cbx_dtype t)
{
    if (cbx_array_is_failed(x) || x->desc.dtype == t) return (cbx_array *)(uintptr_t)x;
    return cbx__apply1(ctx, CBX_PRIM_CAST, x, &(cbx_attrs){ .dtype = t });
}

cbx_array *cbx__packed(cbx_ctx *ctx, const cbx_array *x)
{
    return cbx_array_is_failed(x) || x->flags & CBX__CONTIGUOUS ? (cbx_array *)(uintptr_t)x : cbx_copy(ctx, x);
}

cbx_array *cbx__to_shape(cbx_ctx *ctx, const cbx_array *x, int ndim, const size_t *shape)
{
    cbx_attrs attrs = { .ndim = ndim };

    if (cbx_array_is_failed(x)) return cbx__array_failed();
    if (x->desc.ndim == ndim && memcmp(x->desc.shape, shape, (size_t)ndim * sizeof *shape) == 0)
        return (cbx_array *)(uintptr_t)x;
    if (ndim > CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "a shape of %d axes has more than %d", ndim, CBX_MAX_RANK);
    memcpy(attrs.shape, shape, (size_t)ndim * sizeof *shape);
    return cbx__apply1(ctx, CBX_PRIM_BROADCAST, x, &attrs);
}

bool cbx__mixed(cbx_dtype a, cbx_dtype b)
{
    return cbx_dtype_kind(a) == CBX_KIND_INT && cbx_dtype_kind(b) == CBX_KIND_INT &&
           cbx_dtype_kind(cbx_dtype_promote(a, b)) == CBX_KIND_FLOAT;
}

cbx_dtype cbx__inexact(cbx_dtype t) { return cbx_dtype_kind(t) < CBX_KIND_FLOAT ? CBX_F64 : t; }

static cbx_status joined_shape(const char *what, size_t n, const cbx_array *const *in, int *ndim, size_t *shape,
                               cbx_err *err)
{
    size_t common[CBX_MAX_RANK];
    int rank = 0;

    if (n && !in) return cbx_fail(err, CBX_EINVAL, "'in' of '%s' is NULL", what);
    for (size_t i = 0; i < n; i++)
        if (!in[i]) return cbx_fail(err, CBX_EINVAL, "operand %zu of '%s' is NULL", i + 1, what);
    for (size_t i = 0; i < n; i++)
        if (in[i]->desc.ndim > rank) rank = in[i]->desc.ndim;
    for (int k = 0; k < rank; k++) common[k] = 1;
    for (size_t i = 0; i < n; i++) {
        const cbx_array_desc *d = &in[i]->desc;
        for (int k = 0; k < d->ndim; k++) {
            size_t *have = &common[rank - d->ndim + k];
            if (*have == 1)
                *have = d->shape[k];
            else if (d->shape[k] != 1 && d->shape[k] != *have)
                return cbx_fail(err, CBX_ESHAPE, "shapes of '%s' do not broadcast: %s with %s", what,
                                CBX__DESC_TEXT(&in[0]->desc), CBX__DESC_TEXT(d));
        }
    }
    *ndim = rank;
    memcpy(shape, common, (size_t)rank * sizeof *shape);
    return CBX_OK;
}

cbx_status cbx_broadcast_shapes(size_t n, const cbx_array *const *in, int *ndim, size_t *shape, cbx_err *err)
{
    return joined_shape("broadcast_shapes", n, in, ndim, shape, err);
}

/* n operands in dtype t (but for the first, if it is a condition) and their common shape. */
static cbx_array *apply_joined(cbx_ctx *ctx, cbx_prim p, size_t n, const cbx_array **in, cbx_dtype t)
{
    const size_t lead = cbx_prim_get_info(p)->operands[0] == 'c';
    size_t shape[CBX_MAX_RANK];
    int ndim = 0;

    if (joined_shape(cbx_prim_name(p), n, in, &ndim, shape, cbx__sticky(ctx))) return cbx__array_failed();
    for (size_t i = 0; i < n; i++) {
        in[i] = cbx__to_shape(ctx, i < lead ? in[i] : cbx__as(ctx, in[i], t), ndim, shape);
        if (cbx_array_is_failed(in[i])) return cbx__array_failed();
    }
    return cbx_apply(ctx, p, n, in, NULL);
}

/*
 * Of uint64 with a signed dtype, exactly: a negative number is below every other, the rest are
 * compared without sign.
 */
static cbx_array *compare_mixed(cbx_ctx *ctx, cbx_prim p, const cbx_array *a, const cbx_array *b)
{
    const bool mirrored = cbx_dtype_is_unsigned(a->desc.dtype);
    const cbx_array *whole = mirrored ? b : a;
    cbx_array *below = cbx_less(ctx, whole, cbx_weak(ctx, whole, cbx_int(0))), *rest;

    rest = cbx__apply2(ctx, p, cbx__as(ctx, a, CBX_U64), cbx__as(ctx, b, CBX_U64));
    if (p == CBX_PRIM_NE || (mirrored ? p == CBX_PRIM_GT || p == CBX_PRIM_GE : p == CBX_PRIM_LT || p == CBX_PRIM_LE))
        return cbx_logical_or(ctx, below, rest);
    return cbx_logical_and(ctx, cbx_logical_not(ctx, below), rest);
}

cbx_array *cbx__apply2(cbx_ctx *ctx, cbx_prim p, const cbx_array *a, const cbx_array *b)
{
    const cbx_array *in[2] = { a, b };
    const cbx_promotion how = cbx_prim_get_info(p)->promotion;
    size_t mark;
    cbx_dtype t;

    /* nothing to promote or to broadcast */
    if (a && b && a->desc.dtype >= (how == CBX_PROMOTE_FLOAT ? CBX_F32 : CBX_I8) &&
        cbx_array_desc_equal(&a->desc, &b->desc))
        return cbx_apply(ctx, p, 2, in, NULL);
    mark = cbx__mark(ctx);
    if (cbx__unusable(ctx, cbx_prim_name(p), 2, in)) return cbx__array_failed();
    t = cbx_dtype_promote(a->desc.dtype, b->desc.dtype);
    if (how == CBX_PROMOTE_COMPARE && cbx__mixed(a->desc.dtype, b->desc.dtype))
        return cbx__tidy(ctx, mark, compare_mixed(ctx, p, a, b));
    if (how == CBX_PROMOTE_FLOAT) t = cbx__inexact(t);
    if (how == CBX_PROMOTE_WIDE && t == CBX_BOOL) t = CBX_I8;
    return cbx__tidy(ctx, mark, apply_joined(ctx, p, 2, in, t));
}

bool cbx__fits(cbx_dtype t, cbx_scalar v)
{
    int bits = (int)cbx_dtype_size(t) * 8;

    if (v.dtype != CBX_I64 || cbx_dtype_kind(t) != CBX_KIND_INT) return true;
    if (cbx_dtype_is_unsigned(t)) return v.v.i >= 0 && (bits == 64 || v.v.i >> bits == 0);
    return bits == 64 || (v.v.i >= -((int64_t)1 << (bits - 1)) && v.v.i < (int64_t)1 << (bits - 1));
}

cbx_array *cbx_weak(cbx_ctx *ctx, const cbx_array *x, cbx_scalar v)
{
    cbx_dtype t;

    if (!(x && x->flags & CBX__DONATED) && cbx__unusable(ctx, "weak scalar", 1, &x)) /* which the operation refuses */
        return cbx__array_failed();
    t = cbx_dtype_promote_weak(x->desc.dtype, cbx_dtype_kind(v.dtype));
    if (!cbx__fits(t, v))
        return cbx__refuse_of(ctx, x, CBX_EOVERFLOW, "%lld is out of the range of %s", (long long)v.v.i,
                              cbx_dtype_name(t));
    return cbx_full(ctx, 0, NULL, t, v);
}

static bool is_complex(const cbx_array *x) { return cbx_dtype_kind(x->desc.dtype) == CBX_KIND_COMPLEX; }

#define UNARY(prim, name, before, operand)                                                                             \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x)                                                            \
    {                                                                                                                  \
        if (cbx__unusable(ctx, #name, 1, &x)) return cbx__array_failed();                                              \
        if (is_complex(x)) return cbx__apply_complex(ctx, CBX_PRIM_##prim, x);                                         \
        before return cbx__apply1(ctx, CBX_PRIM_##prim, operand, NULL);                                                \
    }
#define DEFINE_FLOAT(prim, name, loop) UNARY(prim, name, , cbx__as(ctx, x, cbx__inexact(x->desc.dtype)))
#define DEFINE_KEEP(prim, name, loop)  UNARY(prim, name, , x)
#define DEFINE_ROUND(prim, name, loop)                                                                                 \
    UNARY(prim, name, if (cbx_dtype_kind(x->desc.dtype) < CBX_KIND_FLOAT) return cbx__same(ctx, x);, x)
#define DEFINE_BINARY(prim, name)                                                                                      \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)                                        \
    {                                                                                                                  \
        return cbx__apply2(ctx, CBX_PRIM_##prim, a, b);                                                                \
    }                                                                                                                  \
    cbx_array *cbx_##name##_scalar(cbx_ctx *ctx, const cbx_array *a, double b)                                         \
    {                                                                                                                  \
        return cbx__apply2(ctx, CBX_PRIM_##prim, a, cbx_weak(ctx, a, cbx_float(b)));                                   \
    }
#define DEFINE_NO
#define DEFINE_BINARY_FLOAT                       DEFINE_BINARY
#define DEFINE_BINARY_WIDE                        DEFINE_BINARY
#define DEFINE_COMPARE                            DEFINE_BINARY
#define DEFINE(prim, number, word, function, ...) DEFINE_##function
CBX_PRIM_MAP(DEFINE)

cbx_array *cbx_polygamma(cbx_ctx *ctx, int n, const cbx_array *x)
{
    if (cbx__unusable(ctx, "polygamma", 1, &x)) return cbx__array_failed();
    if (n < 0) return cbx__refuse(ctx, CBX_EINVAL, "the order of 'polygamma' must be at least 0, got %d", n);
    return cbx__apply1(ctx, CBX_PRIM_POLYGAMMA, cbx__as(ctx, x, cbx__inexact(x->desc.dtype)),
                       &(cbx_attrs){ .mode = n });
}

cbx_array *cbx_digamma(cbx_ctx *ctx, const cbx_array *x) { return cbx_polygamma(ctx, 0, x); }

/* As NumPy: by multiplying with 10^d, or dividing by 10^-d, both exact up to 10^22. */
cbx_array *cbx_round(cbx_ctx *ctx, const cbx_array *x, int decimals)
{
    size_t mark = cbx__mark(ctx);
    double scale = pow(10.0, abs(decimals));

    if (cbx__unusable(ctx, "round", 1, &x)) return cbx__array_failed();
    if (decimals == 0 || (decimals > 0 && cbx_dtype_kind(x->desc.dtype) < CBX_KIND_FLOAT))
        return cbx__tidy(ctx, mark, cbx_rint(ctx, x));
    if (cbx_dtype_kind(x->desc.dtype) < CBX_KIND_FLOAT)
        return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_round(ctx, cbx__as(ctx, x, CBX_F64), decimals), x->desc.dtype));
    if (decimals > 0)
        return cbx__tidy(ctx, mark, cbx_divide_scalar(ctx, cbx_rint(ctx, cbx_multiply_scalar(ctx, x, scale)), scale));
    return cbx__tidy(ctx, mark, cbx_multiply_scalar(ctx, cbx_rint(ctx, cbx_divide_scalar(ctx, x, scale)), scale));
}

cbx_array *cbx_square(cbx_ctx *ctx, const cbx_array *x) { return cbx_multiply(ctx, x, x); }

cbx_array *cbx_positive(cbx_ctx *ctx, const cbx_array *x)
{
    if (cbx__unusable(ctx, "positive", 1, &x)) return cbx__array_failed();
    if (x->desc.dtype == CBX_BOOL) return cbx__refuse(ctx, CBX_EDTYPE, "'positive' does not take bool");
    return cbx__same(ctx, x);
}

/* One product; the factor is a quotient in the precision of x, as in NumPy. */
static cbx_array *scaled(cbx_ctx *ctx, const cbx_array *x, const char *name, double over, double under)
{
    double by;

    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    by = x->desc.dtype == CBX_F32 ? (double)((float)over / (float)under) : over / under;
    return cbx_multiply_scalar(ctx, cbx__as(ctx, x, cbx__inexact(x->desc.dtype)), by);
}

#define OF_ONE(name, expr)                                                                                             \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x) { return cbx__tidied(ctx, expr); }
OF_ONE(reciprocal, cbx_divide(ctx, cbx_weak(ctx, x, cbx_float(1.0)), x))
OF_ONE(deg2rad, scaled(ctx, x, "deg2rad", M_PI, 180.0))
OF_ONE(rad2deg, scaled(ctx, x, "rad2deg", 180.0, M_PI))
OF_ONE(logical_not, cbx__apply1(ctx, CBX_PRIM_NOT, cbx__as(ctx, x, CBX_BOOL), NULL))

#define LOGICAL(name, prim)                                                                                            \
    cbx_array *cbx_logical_##name(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)                                \
    {                                                                                                                  \
        return cbx__tidied(ctx, cbx__apply2(ctx, prim, cbx__as(ctx, a, CBX_BOOL), cbx__as(ctx, b, CBX_BOOL)));         \
    }
LOGICAL(and, CBX_PRIM_AND)
LOGICAL(or, CBX_PRIM_OR)
LOGICAL(xor, CBX_PRIM_XOR)

static cbx_array *complex_part(cbx_ctx *ctx, cbx_prim p, const cbx_array *x)
{
    if (cbx__unusable(ctx, cbx_prim_name(p), 1, &x)) return cbx__array_failed();
    if (cbx_dtype_kind(x->desc.dtype) == CBX_KIND_COMPLEX) return cbx__apply1(ctx, p, x, NULL);
    return p == CBX_PRIM_IMAG ? cbx_zeros_like(ctx, x) : cbx__same(ctx, x);
}
cbx_array *cbx_real(cbx_ctx *ctx, const cbx_array *x) { return complex_part(ctx, CBX_PRIM_REAL, x); }
cbx_array *cbx_imag(cbx_ctx *ctx, const cbx_array *x) { return complex_part(ctx, CBX_PRIM_IMAG, x); }
cbx_array *cbx_conj(cbx_ctx *ctx, const cbx_array *x) { return complex_part(ctx, CBX_PRIM_CONJ, x); }

cbx_array *cbx_where(cbx_ctx *ctx, const cbx_array *condition, const cbx_array *x, const cbx_array *y)
{
    size_t mark = cbx__mark(ctx);
    const cbx_array *in[3] = { condition, x, y };

    if (cbx__unusable(ctx, "where", 3, in)) return cbx__array_failed();
    in[0] = cbx__as(ctx, condition, CBX_BOOL);
    if (cbx_array_is_failed(in[0])) return cbx__array_failed();
    return cbx__tidy(ctx, mark,
                     apply_joined(ctx, CBX_PRIM_SELECT, 3, in, cbx_dtype_promote(x->desc.dtype, y->desc.dtype)));
}

static cbx_array *clip_steps(cbx_ctx *ctx, const cbx_array *x, const cbx_array *low, const cbx_array *high)
{
    const cbx_array *in[3] = { x, low, high };

    if (!low && !high) return cbx__unusable(ctx, "clip", 1, &x) ? cbx__array_failed() : cbx__same(ctx, x);
    if (!low) return cbx_minimum(ctx, x, high);
    if (!high) return cbx_maximum(ctx, x, low);
    if (cbx__unusable(ctx, "clip", 3, in)) return cbx__array_failed();
    return apply_joined(ctx, CBX_PRIM_CLAMP, 3, in,
                        cbx_dtype_promote(x->desc.dtype, cbx_dtype_promote(low->desc.dtype, high->desc.dtype)));
}

cbx_array *cbx_clip(cbx_ctx *ctx, const cbx_array *x, const cbx_array *low, const cbx_array *high)
{
    return cbx__tidied(ctx, clip_steps(ctx, x, low, high));
}

/* NULL: no element of x is beyond the bound, since its dtype ends before it. */
static cbx_array *bound_of(cbx_ctx *ctx, const cbx_array *x, cbx_scalar v, bool above)
{
    cbx_iinfo range;
    bool whole = cbx_dtype_kind(v.dtype) == CBX_KIND_INT;

    if (!cbx_array_is_failed(x) && whole && !cbx_dtype_iinfo(x->desc.dtype, &range, NULL)) {
        bool minus = v.dtype == CBX_I64 && v.v.i < 0;
        if (above ? !minus && v.v.u >= range.max : v.dtype == CBX_I64 && v.v.i <= range.min) return NULL;
    }
    return cbx_weak(ctx, x, v);
}

cbx_array *cbx_clip_scalar(cbx_ctx *ctx, const cbx_array *x, cbx_scalar low, cbx_scalar high)
{
    return cbx__tidied(ctx, clip_steps(ctx, x, bound_of(ctx, x, low, false), bound_of(ctx, x, high, true)));
}
