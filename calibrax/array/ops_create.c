/* Making arrays: constants and ranges out of two primitives, full and iota. */
#include <math.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"

cbx_array *cbx_asarray(cbx_ctx *ctx, const cbx_array_desc *desc, const void *data)
{
    cbx_array *a = NULL;

    if (!cbx__given(ctx, "asarray", "desc", 1, desc)) return cbx__array_failed();
    if (cbx_array_create(ctx, desc, &a, cbx__sticky(ctx))) return cbx__array_failed();
    if (!cbx__given(ctx, "asarray", "data", (int64_t)a->count, data)) {
        cbx_array_free(a);
        return cbx__array_failed();
    }
    if (a->count) memcpy(a->data, data, cbx_array_bytes(a));
    return cbx_scope_hold(ctx, a);
}

static cbx_array *filled(cbx_ctx *ctx, const char *name, int ndim, const size_t *shape, cbx_dtype dtype, cbx_scalar v)
{
    cbx_attrs attrs = { .dtype = dtype, .ndim = ndim, .value = v };

    if (ndim < 0 || ndim > CBX_MAX_RANK)
        return cbx__refuse(ctx, CBX_EINVAL, "rank %d of '%s' is outside 0..%d", ndim, name, CBX_MAX_RANK);
    if (!cbx__given(ctx, name, "shape", ndim, shape)) return cbx__array_failed();
    if (ndim) memcpy(attrs.shape, shape, (size_t)ndim * sizeof *shape);
    return cbx_apply(ctx, CBX_PRIM_FULL, 0, NULL, &attrs);
}

cbx_array *cbx_full(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype, cbx_scalar v)
{
    return filled(ctx, "full", ndim, shape, dtype, v);
}
cbx_array *cbx_zeros(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype)
{
    return filled(ctx, "zeros", ndim, shape, dtype, cbx_int(0));
}
cbx_array *cbx_ones(cbx_ctx *ctx, int ndim, const size_t *shape, cbx_dtype dtype)
{
    return filled(ctx, "ones", ndim, shape, dtype, cbx_int(1));
}

cbx_array *cbx_full_like(cbx_ctx *ctx, const cbx_array *x, cbx_scalar v)
{
    if (cbx__unusable(ctx, "full_like", 1, &x)) return cbx__array_failed();
    return cbx_full(ctx, x->desc.ndim, x->desc.shape, x->desc.dtype, v);
}

cbx_array *cbx_zeros_like(cbx_ctx *ctx, const cbx_array *x) { return cbx_full_like(ctx, x, cbx_int(0)); }
cbx_array *cbx_ones_like(cbx_ctx *ctx, const cbx_array *x) { return cbx_full_like(ctx, x, cbx_int(1)); }

static cbx_array *iota(cbx_ctx *ctx, size_t n, cbx_dtype dtype)
{
    return cbx_apply(ctx, CBX_PRIM_IOTA, 0, NULL, &(cbx_attrs){ .dtype = dtype, .ndim = 1, .shape = { n } });
}

static cbx_array *arange_steps(cbx_ctx *ctx, double start, double stop, double step, cbx_dtype dtype)
{
    double n = ceil((stop - start) / step), delta = (start + step) - start;

    if (step == 0 || isnan(n))
        return cbx__refuse(ctx, CBX_EINVAL, "'arange' from %g to %g by %g has no length", start, stop, step);
    if (n > 0x1p52)
        return cbx__refuse(ctx, CBX_EOVERFLOW, "'arange' from %g to %g by %g is too long", start, stop, step);
    return cbx__as(
        ctx, cbx_add_scalar(ctx, cbx_multiply_scalar(ctx, iota(ctx, n > 0 ? (size_t)n : 0, CBX_F64), delta), start),
        dtype);
}

cbx_array *cbx_arange(cbx_ctx *ctx, double start, double stop, double step, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, arange_steps(ctx, start, stop, step, dtype));
}

static cbx_array *arange_int_steps(cbx_ctx *ctx, int64_t start, int64_t stop, int64_t step, cbx_dtype dtype)
{
    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    cbx_array *i;

    if (step == 0) return cbx__refuse(ctx, CBX_EINVAL, "'arange' by 0 has no length");
    if (step > 0 ? stop <= start : stop >= start) span = 0;
    i = iota(ctx, (size_t)(span / by + (span % by != 0)), CBX_I64);
    i = cbx_multiply(ctx, i, cbx_weak(ctx, i, cbx_int(step)));
    return cbx__as(ctx, cbx_add(ctx, i, cbx_weak(ctx, i, cbx_int(start))), dtype);
}

cbx_array *cbx_arange_int(cbx_ctx *ctx, int64_t start, int64_t stop, int64_t step, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, arange_int_steps(ctx, start, stop, step, dtype));
}

/* Source of the order of operations: NumPy 2.3 function_base.py (linspace). */
static cbx_array *linspace_steps(cbx_ctx *ctx, double start, double stop, size_t num, bool endpoint, cbx_dtype dtype)
{
    double parts = (double)(endpoint && num > 0 ? num - 1 : num), delta = stop - start, step = delta / parts;
    cbx_array *i = iota(ctx, num, CBX_F64), *y;

    if (parts > 0) {
        y = step == 0 ? cbx_multiply_scalar(ctx, cbx_divide_scalar(ctx, i, parts), delta)
                      : cbx_multiply_scalar(ctx, i, step);
        y = cbx_add_scalar(ctx, y, start);
        if (endpoint && num > 1)
            y = cbx_where(ctx, cbx_equal_scalar(ctx, i, parts), cbx_weak(ctx, i, cbx_float(stop)), y);
    } else {
        y = cbx_add_scalar(ctx, cbx_multiply_scalar(ctx, i, delta), start);
    }
    return cbx__as(ctx, cbx_dtype_kind(dtype) == CBX_KIND_INT ? cbx_floor(ctx, y) : y, dtype);
}

cbx_array *cbx_linspace(cbx_ctx *ctx, double start, double stop, size_t num, bool endpoint, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, linspace_steps(ctx, start, stop, num, endpoint, dtype));
}

static cbx_array *logspace_steps(cbx_ctx *ctx, double start, double stop, size_t num, cbx_dtype dtype)
{
    cbx_array *y = cbx_linspace(ctx, start, stop, num, true, CBX_F64);
    return cbx__as(ctx, cbx_pow(ctx, cbx_weak(ctx, y, cbx_float(10.0)), y), dtype);
}

cbx_array *cbx_logspace(cbx_ctx *ctx, double start, double stop, size_t num, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, logspace_steps(ctx, start, stop, num, dtype));
}

/* column - row, n by m */
static cbx_array *offsets(cbx_ctx *ctx, size_t n, size_t m)
{
    cbx_attrs attrs = { .dtype = CBX_I64, .axis = 1, .ndim = 2, .shape = { n, m } };
    cbx_array *column = cbx_apply(ctx, CBX_PRIM_IOTA, 0, NULL, &attrs);

    attrs.axis = 0;
    return cbx_subtract(ctx, column, cbx_apply(ctx, CBX_PRIM_IOTA, 0, NULL, &attrs));
}

static cbx_array *eye_steps(cbx_ctx *ctx, size_t n, size_t m, ptrdiff_t k, cbx_dtype dtype)
{
    cbx_array *d = offsets(ctx, n, m);
    return cbx__as(ctx, cbx_equal(ctx, d, cbx_weak(ctx, d, cbx_int(k))), dtype);
}

cbx_array *cbx_eye(cbx_ctx *ctx, size_t n, size_t m, ptrdiff_t k, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, eye_steps(ctx, n, m, k, dtype));
}

static cbx_array *triangle(cbx_ctx *ctx, const char *name, cbx_prim keep, const cbx_array *x, ptrdiff_t k)
{
    cbx_array *d;

    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2) return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'%s' needs two axes, not %d", name, x->desc.ndim);
    d = offsets(ctx, x->desc.shape[x->desc.ndim - 2], x->desc.shape[x->desc.ndim - 1]);
    d = cbx__apply2(ctx, keep, d, cbx_weak(ctx, d, cbx_int(k)));
    return cbx_where(ctx, d, x, cbx_full(ctx, 0, NULL, x->desc.dtype, cbx_int(0)));
}

static cbx_array *tril_steps(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k)
{
    return triangle(ctx, "tril", CBX_PRIM_LE, x, k);
}

cbx_array *cbx_tril(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, tril_steps(ctx, x, k));
}
static cbx_array *triu_steps(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k)
{
    return triangle(ctx, "triu", CBX_PRIM_GE, x, k);
}

cbx_array *cbx_triu(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k)
{
    size_t mark = cbx__mark(ctx);
    return cbx__tidy(ctx, mark, triu_steps(ctx, x, k));
}

void cbx_meshgrid(cbx_ctx *ctx, size_t n, const cbx_array *const *in, bool xy, cbx_array **out)
{
    size_t shape[CBX_MAX_RANK];
    bool bad = cbx__unusable(ctx, "meshgrid", n, in);

    if (!cbx__given(ctx, "meshgrid", "out", (int64_t)n, out)) return;
    if (!bad && n > CBX_MAX_RANK)
        bad = cbx__refuse(ctx, CBX_EINVAL, "'meshgrid' of %zu arrays has more than %d axes", n, CBX_MAX_RANK) != NULL;
    for (size_t i = 0; !bad && i < n; i++) {
        if (in[i]->desc.ndim != 1)
            bad = cbx__refuse_of(ctx, in[i], CBX_ESHAPE, "'meshgrid' takes arrays of rank 1, not %d",
                                 in[i]->desc.ndim) != NULL;
        shape[xy && n > 1 && i < 2 ? 1 - i : i] = in[i]->desc.shape[0];
    }
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t line[CBX_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        if (!bad) line[xy && n > 1 && i < 2 ? 1 - i : i] = (ptrdiff_t)in[i]->desc.shape[0];
        out[i] = bad ? cbx__array_failed()
                     : cbx_copy(ctx, cbx__to_shape(ctx, cbx_reshape(ctx, in[i], (int)n, line), (int)n, shape));
    }
}

cbx_array *cbx_astype(cbx_ctx *ctx, const cbx_array *x, cbx_dtype dtype)
{
    if (cbx__unusable(ctx, "astype", 1, &x)) return cbx__array_failed();
    return x->desc.dtype == dtype ? cbx__same(ctx, x) : cbx__as(ctx, x, dtype);
}

cbx_array *cbx_copy(cbx_ctx *ctx, const cbx_array *x) { return cbx__apply1(ctx, CBX_PRIM_COPY, x, NULL); }
