/* Steps that the formulas of metrics are written in. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/ops_internal.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/internal.h"

double cbx__metric_parameter(const cbx_metric_call *c, const char *name)
{
    for (size_t i = 0; i < cbx_metric_parameters(c->metric); i++)
        if (strcmp(c->metric->parameters[i].name, name) == 0) return c->parameters[i];
    return NAN;
}

bool cbx__metric_has_data(cbx_ctx *ctx, const cbx_metric_call *call)
{
    if (cbx__is_traced(ctx)) return false;
    for (size_t i = 0; call->in[i]; i++)
        if (cbx_array_is_abstract(call->in[i])) return false;
    return true;
}

static double value_at(const void *data, cbx_dtype type)
{
    switch (type) {
    case CBX_BOOL: return *(const unsigned char *)data != 0;
    case CBX_I8: return *(const int8_t *)data;
    case CBX_I16: return *(const int16_t *)data;
    case CBX_I32: return *(const int32_t *)data;
    case CBX_I64: return (double)*(const int64_t *)data;
    case CBX_U8: return *(const uint8_t *)data;
    case CBX_U16: return *(const uint16_t *)data;
    case CBX_U32: return *(const uint32_t *)data;
    case CBX_U64: return (double)*(const uint64_t *)data;
    case CBX_F32: return (double)*(const float *)data;
    case CBX_F64: return *(const double *)data;
    default: return NAN;
    }
}

/* Of an array on a device: all of it is copied, and it is one value but for a message. */
static double element_on_device(const cbx_array *x, size_t i)
{
    const cbx_allocator *al = cbx_allocator_default();
    const size_t bytes = cbx_array_bytes(x);
    char *copy = cbx_mem_alloc(al, bytes);
    double value = NAN;

    if (copy && !cbx_array_read(x, copy, bytes, NULL))
        value = value_at(copy + i * cbx_dtype_size(cbx_array_dtype(x)), cbx_array_dtype(x));
    cbx_mem_free(al, copy, bytes);
    return value;
}

double cbx__metric_element(const cbx_array *x, size_t i)
{
    ptrdiff_t at = 0;

    if (!x || cbx_array_is_failed(x) || cbx_array_is_abstract(x) || i >= cbx_array_count(x)) return NAN;
    if (cbx_array_device(x).kind != CBX_DEVICE_CPU) return element_on_device(x, i);
    for (int k = cbx_array_ndim(x) - 1; k >= 0; k--) {
        at += (ptrdiff_t)(i % cbx_array_dim(x, k)) * cbx_array_strides(x)[k];
        i /= cbx_array_dim(x, k);
    }
    return value_at((const char *)cbx_array_data(x) + at * (ptrdiff_t)cbx_dtype_size(cbx_array_dtype(x)),
                    cbx_array_dtype(x));
}

bool cbx__differ(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return !cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)) ||
           cbx__metric_element(cbx_all(ctx, cbx_equal(ctx, a, b), NULL), 0) == 0;
}

const void *cbx__host_view(cbx_ctx *ctx, const cbx_array *x)
{
    x = cbx__packed(ctx, cbx_to_device(ctx, x, (cbx_device_id){ CBX_DEVICE_CPU, 0 }));
    if (cbx_ctx_pending(ctx, NULL)) return NULL;
    return cbx_array_count(x) ? cbx_array_data(x) : x; /* no elements may be at NULL */
}

void *cbx__host_copy(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *copy = cbx_copy(ctx, cbx_to_device(ctx, x, (cbx_device_id){ CBX_DEVICE_CPU, 0 }));
    return cbx_ctx_pending(ctx, NULL) ? NULL : cbx_array_data_mut(copy);
}

void *cbx__scratch(cbx_ctx *ctx, const cbx_metric_function *m, size_t count, size_t size, const char *what, ...)
{
    cbx_array *a = NULL;
    char text[128];
    size_t bytes;
    va_list args;

    if (!__builtin_mul_overflow(count, size, &bytes) &&
        !cbx_array_create(ctx, &(cbx_array_desc){ CBX_U8, 1, { bytes } }, &a, NULL))
        a = cbx_scope_hold(ctx, a);
    if (!cbx_array_is_failed(a)) return memset(cbx_array_data_mut(a), 0, bytes);
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for %s", m->name, text);
    return NULL;
}

cbx_array *cbx__fresh(cbx_ctx *ctx, const cbx_array_desc *d)
{
    cbx_array *a;
    return cbx_array_create(ctx, d, &a, cbx__sticky(ctx)) ? cbx__array_failed() : cbx_scope_hold(ctx, a);
}

cbx_array *cbx__vector(cbx_ctx *ctx, size_t n, const double *v)
{
    return cbx_asarray(ctx, &(cbx_array_desc){ CBX_F64, 1, { n } }, v);
}

cbx_array *cbx__by_rows(cbx_ctx *ctx, const cbx_metric_call *call, size_t n, size_t cost, cbx__rows_fn *f)
{
    enum { BLOCK = 1 << 17 };
    const size_t step = cost < BLOCK ? BLOCK / (cost ? cost : 1) : 1, blocks = (n + step - 1) / step;
    const cbx_array **list;

    if (blocks <= 1 || !cbx__metric_has_data(ctx, call)) return f(ctx, call, 0, n);
    list = cbx__scratch(ctx, call->metric, blocks, sizeof(cbx_array *), "%zu rows", n);
    for (size_t i = 0; list && i < blocks; i++) {
        const size_t mark = cbx__mark(ctx), first = i * step;
        list[i] = cbx__tidy(ctx, mark, f(ctx, call, first, first + step < n ? first + step : n));
    }
    return list ? cbx_concat(ctx, blocks, list, 0) : cbx__array_failed();
}

cbx_array *cbx__weighted_sum(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x)
{
    return cbx_sum(ctx, call->weights ? cbx_multiply(ctx, call->weights, x) : x, NULL);
}

cbx_array *cbx__weighted_mean(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x)
{
    if (!call->weights) return cbx_mean(ctx, x, NULL);
    return cbx_divide(ctx, cbx__weighted_sum(ctx, call, x), cbx_sum(ctx, call->weights, NULL));
}

cbx_array *cbx__total_weight(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x)
{
    return call->weights ? cbx_sum(ctx, call->weights, NULL) : cbx__number(ctx, (double)cbx_array_count(x));
}

/* By roots: squares of large means would be infinite. */
cbx_array *cbx__is_constant(cbx_ctx *ctx, const cbx_array *n, const cbx_array *mean, const cbx_array *squares)
{
    const double rounding = 16 * 0x1p-52; /* of a sum in the order of cbx_sum, and of its share of batches */
    const cbx_array *size = cbx_abs(ctx, cbx_stop_gradient(ctx, mean)), *root = cbx_stop_gradient(ctx, squares);
    const cbx_array *limit = cbx_multiply(ctx, cbx_multiply_scalar(ctx, size, rounding), cbx_sqrt(ctx, n));

    return cbx_less_equal(ctx, cbx_sqrt(ctx, root), limit);
}

cbx_array *cbx__ratio_or(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, double value)
{
    const cbx_array *zero = cbx_equal_scalar(ctx, b, 0);
    cbx_array *safe = cbx_where(ctx, zero, cbx__number(ctx, 1), b);

    return cbx_where(ctx, zero, cbx__number(ctx, value), cbx_divide(ctx, a, safe));
}

/* The largest element is NaN if one is. */
cbx_array *cbx__nan_or(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *x)
{
    for (size_t i = 0; call->in[i]; i++) {
        const cbx_array *nan = cbx_isnan(ctx, cbx_max(ctx, call->in[i], NULL));
        x = cbx_where(ctx, nan, cbx__number(ctx, NAN), x);
    }
    return (cbx_array *)x;
}

cbx_array *cbx__nan_unless(cbx_ctx *ctx, const cbx_metric_call *call, const cbx_array *legal, const cbx_array *x)
{
    return cbx__metric_has_data(ctx, call) ? (cbx_array *)x : cbx_where(ctx, legal, x, cbx__number(ctx, NAN));
}

cbx_array *cbx__number(cbx_ctx *ctx, double v) { return cbx_full(ctx, 0, NULL, CBX_F64, cbx_float(v)); }

cbx_array *cbx__root(cbx_ctx *ctx, const cbx_array *x)
{
    const cbx_array *zero = cbx_equal_scalar(ctx, x, 0);
    cbx_array *safe = cbx_where(ctx, zero, cbx__number(ctx, 1), x);

    return cbx_where(ctx, zero, cbx__number(ctx, 0), cbx_sqrt(ctx, safe));
}

cbx_array *cbx__xlogy(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *zero = cbx_equal_scalar(ctx, x, 0);
    cbx_array *safe = cbx_where(ctx, zero, cbx__number(ctx, 1), y);

    return cbx_multiply(ctx, x, cbx_log(ctx, safe));
}

cbx_array *cbx__entropy(cbx_ctx *ctx, const cbx_array *p, const cbx_axes *axes)
{
    return cbx_negative(ctx, cbx_sum(ctx, cbx__xlogy(ctx, p, p), axes));
}

cbx_array *cbx__kl_terms(cbx_ctx *ctx, const cbx_array *p, const cbx_array *q)
{
    const cbx_array *empty = cbx_equal_scalar(ctx, p, 0), *one = cbx__number(ctx, 1);
    const cbx_array *ratio = cbx_divide(ctx, cbx_where(ctx, empty, one, p), cbx_where(ctx, empty, one, q));

    return cbx_multiply(ctx, p, cbx_log(ctx, ratio));
}

cbx_array *cbx__difference(cbx_ctx *ctx, const cbx_metric_call *c) { return cbx_subtract(ctx, c->in[0], c->in[1]); }

cbx_array *cbx__squared_error(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_square(ctx, cbx__difference(ctx, c));
}

cbx_array *cbx__equality(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_astype(ctx, cbx_equal(ctx, c->in[0], c->in[1]), CBX_F64);
}

cbx_array *cbx__state_itself(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *state)
{
    (void)ctx, (void)c;
    return (cbx_array *)state;
}

cbx__joint cbx__join_weights(cbx_ctx *ctx, const cbx_array *na, const cbx_array *nb)
{
    const cbx_array *n = cbx_add(ctx, na, nb), *share = cbx__ratio_or(ctx, nb, n, 0);
    return (cbx__joint){ n, share, cbx_multiply(ctx, na, share) };
}

cbx_array *cbx__join_means(cbx_ctx *ctx, const cbx__joint *j, const cbx_array *mean, const cbx_array *gap)
{
    return cbx_add(ctx, mean, cbx_multiply(ctx, gap, j->share));
}

cbx_array *cbx__join_products(cbx_ctx *ctx, const cbx__joint *j, const cbx_array *a, const cbx_array *b,
                              const cbx_array *gaps)
{
    return cbx_add(ctx, cbx_add(ctx, a, b), cbx_multiply(ctx, gaps, j->between));
}

const cbx_array *cbx__join_spread(cbx_ctx *ctx, const cbx__joint *j, cbx_array *const a[2], cbx_array *const b[2],
                                  const cbx_array *out[2])
{
    const cbx_array *gap = cbx_subtract(ctx, b[0], a[0]);

    out[0] = cbx__join_means(ctx, j, a[0], gap);
    out[1] = cbx__join_products(ctx, j, a[1], b[1], cbx_square(ctx, gap));
    return gap;
}

cbx_array *cbx__pack(cbx_ctx *ctx, size_t n, const cbx_array *const *in) { return cbx_stack(ctx, n, in, 0); }
