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

/*
 * 0, 1, 2 ... along an axis, recorded where a function is traced; elsewhere arrays are filled at
 * once, to the same bits.
 */
static cbx_array *iota(cbx_ctx *ctx, int ndim, size_t n, size_t m, int axis, cbx_dtype dtype)
{
    return cbx_apply(ctx, CBX_PRIM_IOTA, 0, NULL,
                     &(cbx_attrs){ .dtype = dtype, .ndim = ndim, .shape = { n, m }, .axis = axis });
}

/* A new array for its maker to fill; failed without memory. */
static cbx_array *made(cbx_ctx *ctx, cbx_dtype dtype, int ndim, size_t n, size_t m)
{
    const cbx_array_desc d = { dtype, ndim, { n, m } };
    cbx_array *a = NULL;

    return cbx_array_create(ctx, &d, &a, cbx__sticky(ctx)) ? cbx__array_failed() : cbx_scope_hold(ctx, a);
}

/*
 * o[i] = i / parts * by + start, or i * by + start if parts is 0; in eights, which compilers make
 * vectors of.
 */
#define RAMP(name, T)                                                                                                  \
    static void name(T *o, size_t n, double start, double by, double parts)                                            \
    {                                                                                                                  \
        double at[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };                                                                     \
        size_t i = 0;                                                                                                  \
        for (; parts == 0 && i + 8 <= n; i += 8)                                                                       \
            for (int k = 0; k < 8; k++) {                                                                              \
                o[i + (size_t)k] = (T)(at[k] * by + start);                                                            \
                at[k] += 8;                                                                                            \
            }                                                                                                          \
        for (; i < n; i++) o[i] = (T)((parts != 0 ? (double)i / parts : (double)i) * by + start);                      \
    }
RAMP(ramp_f64, double)
RAMP(ramp_f32, float)

/* n numbers of a dtype, computed in float64. */
static cbx_array *ramp(cbx_ctx *ctx, size_t n, double start, double by, double parts, cbx_dtype dtype)
{
    cbx_array *a;

    if (cbx__is_traced(ctx)) {
        a = iota(ctx, 1, n, 0, 0, CBX_F64);
        if (parts != 0) a = cbx_divide_scalar(ctx, a, parts);
        a = cbx_add_scalar(ctx, cbx_multiply_scalar(ctx, a, by), start);
        return dtype == CBX_F32 ? cbx__as(ctx, a, dtype) : a;
    }
    a = made(ctx, dtype == CBX_F32 ? CBX_F32 : CBX_F64, 1, n, 0);
    if (cbx_array_is_failed(a)) return a;
    if (dtype == CBX_F32)
        ramp_f32(a->data, n, start, by, parts);
    else
        ramp_f64(a->data, n, start, by, parts);
    return a;
}

cbx_array *cbx_arange(cbx_ctx *ctx, double start, double stop, double step, cbx_dtype dtype)
{
    const size_t mark = cbx__mark(ctx);
    const double n = ceil((stop - start) / step), delta = (start + step) - start;

    if (step == 0 || isnan(n))
        return cbx__refuse(ctx, CBX_EINVAL, "'arange' from %g to %g by %g has no finite length", start, stop, step);
    if (n > 0x1p52)
        return cbx__refuse(ctx, CBX_EOVERFLOW, "'arange' from %g to %g by %g is too long", start, stop, step);
    return cbx__tidy(ctx, mark, cbx__as(ctx, ramp(ctx, n > 0 ? (size_t)n : 0, start, delta, 0, dtype), dtype));
}

cbx_array *cbx_arange_int(cbx_ctx *ctx, int64_t start, int64_t stop, int64_t step, cbx_dtype dtype)
{
    const size_t mark = cbx__mark(ctx);
    uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    const uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    cbx_array *a;

    if (step == 0) return cbx__refuse(ctx, CBX_EINVAL, "the step of 'arange' must not be 0");
    if (step > 0 ? stop <= start : stop >= start) span = 0;
    const size_t n = (size_t)(span / by + (span % by != 0));
    if (cbx__is_traced(ctx)) {
        a = cbx_multiply(ctx, iota(ctx, 1, n, 0, 0, CBX_I64), cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(step)));
        a = cbx_add(ctx, a, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(start)));
        return cbx__tidy(ctx, mark, cbx__as(ctx, a, dtype));
    }
    a = made(ctx, CBX_I64, 1, n, 0);
    for (size_t i = 0; i < a->count; i++) ((uint64_t *)a->data)[i] = (uint64_t)start + i * (uint64_t)step;
    return cbx__tidy(ctx, mark, cbx__as(ctx, a, dtype));
}

/* Source of the order of operations: NumPy 2.3 function_base.py (linspace). */
cbx_array *cbx_linspace(cbx_ctx *ctx, double start, double stop, size_t num, bool endpoint, cbx_dtype dtype)
{
    const size_t mark = cbx__mark(ctx);
    const double parts = (double)(endpoint && num > 0 ? num - 1 : num), delta = stop - start, step = delta / parts;
    const bool tiny = parts > 0 && step == 0; /* the step is lost to underflow */
    cbx_array *y = ramp(ctx, num, start, parts > 0 && !tiny ? step : delta, tiny ? parts : 0, dtype);

    if (endpoint && num > 1 && cbx__is_traced(ctx)) {
        const cbx_array *last = cbx_equal_scalar(ctx, iota(ctx, 1, num, 0, 0, CBX_F64), (double)(num - 1));
        y = cbx_where(ctx, last, cbx_weak(ctx, y, cbx_float(stop)), y);
    } else if (endpoint && num > 1 && !cbx_array_is_failed(y)) {
        if (dtype == CBX_F32)
            ((float *)y->data)[num - 1] = (float)stop;
        else
            ((double *)y->data)[num - 1] = stop;
    }
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_dtype_kind(dtype) == CBX_KIND_INT ? cbx_floor(ctx, y) : y, dtype));
}

cbx_array *cbx_logspace(cbx_ctx *ctx, double start, double stop, size_t num, cbx_dtype dtype)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *y = cbx_linspace(ctx, start, stop, num, true, CBX_F64);
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_pow(ctx, cbx_weak(ctx, y, cbx_float(10.0)), y), dtype));
}

cbx_array *cbx_eye(cbx_ctx *ctx, size_t n, size_t m, ptrdiff_t k, cbx_dtype dtype)
{
    const size_t mark = cbx__mark(ctx), size[2] = { n, m };
    cbx_array *r, *one;
    size_t row = k < 0 ? 0 - (size_t)k : 0, bytes;

    if (cbx__is_traced(ctx)) {
        r = cbx_add(ctx, iota(ctx, 2, n, m, 0, CBX_I64), cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(k)));
        return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_equal(ctx, iota(ctx, 2, n, m, 1, CBX_I64), r), dtype));
    }
    r = cbx_zeros(ctx, 2, size, dtype);
    one = cbx_ones(ctx, 0, NULL, dtype);
    if (cbx_array_is_failed(r) || cbx_array_is_failed(one)) return cbx__array_failed();
    bytes = cbx__dtype_size(dtype);
    for (size_t column = k > 0 ? (size_t)k : 0; row < n && column < m; row++, column++)
        memcpy((char *)r->data + (row * m + column) * bytes, one->data, bytes);
    return cbx__tidy(ctx, mark, r);
}

/* x where the column is at most the row plus k (lower), or at least; 0 elsewhere. */
static cbx_array *triangle(cbx_ctx *ctx, const char *name, bool lower, const cbx_array *x, ptrdiff_t k)
{
    const size_t mark = cbx__mark(ctx);
    cbx_array *kept;
    ptrdiff_t rows, columns;

    if (cbx__unusable(ctx, name, 1, &x)) return cbx__array_failed();
    if (x->desc.ndim < 2) return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'%s' needs two axes, not %d", name, x->desc.ndim);
    rows = (ptrdiff_t)x->desc.shape[x->desc.ndim - 2];
    columns = (ptrdiff_t)x->desc.shape[x->desc.ndim - 1];
    k = k > columns ? columns : k < -rows ? -rows - 1 : k;
    if (cbx__is_traced(ctx)) {
        const cbx_array *limit = cbx_add(ctx, iota(ctx, 2, (size_t)rows, (size_t)columns, 0, CBX_I64),
                                         cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(k)));
        const cbx_array *column = iota(ctx, 2, (size_t)rows, (size_t)columns, 1, CBX_I64);
        kept = lower ? cbx_less_equal(ctx, column, limit) : cbx_greater_equal(ctx, column, limit);
        return cbx__tidy(ctx, mark, cbx_where(ctx, kept, x, cbx_zeros(ctx, 0, NULL, x->desc.dtype)));
    }
    kept = made(ctx, CBX_BOOL, 2, (size_t)rows, (size_t)columns);
    if (cbx_array_is_failed(kept)) return kept;
    for (ptrdiff_t i = 0; kept->count && i < rows; i++) {
        bool *row = (bool *)kept->data + i * columns;
        ptrdiff_t first = i + k + lower; /* of the columns beyond the diagonal (lower), or from it on */
        first = first < 0 ? 0 : first > columns ? columns : first;
        memset(row, lower, (size_t)first);
        memset(row + first, !lower, (size_t)(columns - first));
    }
    return cbx__tidy(ctx, mark, cbx_where(ctx, kept, x, cbx_zeros(ctx, 0, NULL, x->desc.dtype)));
}

cbx_array *cbx_tril(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k) { return triangle(ctx, "tril", true, x, k); }
cbx_array *cbx_triu(cbx_ctx *ctx, const cbx_array *x, ptrdiff_t k) { return triangle(ctx, "triu", false, x, k); }

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
        ptrdiff_t line[CBX_MAX_RANK];
        for (size_t k = 0; k < CBX_MAX_RANK; k++) line[k] = 1;
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

cbx_array *cbx_to_device(cbx_ctx *ctx, const cbx_array *x, cbx_device_id device)
{
    const cbx_backend *b = cbx_ctx_backend(ctx);
    const bool back = device.kind == CBX_DEVICE_CPU && device.index == 0;
    char from[32], to[32];
    cbx_err err = CBX_ERR_INIT;
    cbx_array *out = NULL;
    cbx_status st;

    if (cbx__unusable(ctx, "to_device", 1, &x)) return cbx__array_failed();
    if (cbx_device_id_equal(x->device, device)) return cbx__same(ctx, x);
    if (cbx_array_is_abstract(x))
        return cbx__refuse(ctx, CBX_EINVAL, "'to_device' of a traced array: move the operands before the call");
    if (back ? !x->memory : !b->to_device)
        return cbx__refuse(ctx, CBX_EUNAVAILABLE, "the backend '%s' has no way from %s to %s", b->name,
                           cbx_device_id_text(x->device, from, sizeof from), cbx_device_id_text(device, to, sizeof to));
    st = back ? cbx__array_fetch(ctx, x, &out, &err) : b->to_device(b, ctx, x, device, &out, &err);
    return st ? cbx__refuse(ctx, st, "%s", err.message) : cbx_scope_hold(ctx, out);
}

cbx_array *cbx_copy(cbx_ctx *ctx, const cbx_array *x) { return cbx__apply1(ctx, CBX_PRIM_COPY, x, NULL); }
