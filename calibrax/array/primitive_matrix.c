/*
 * Shapes of products, over an algebra too, of linear algebra and of Fourier transforms.
 */
#include <string.h>

#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/primitive_rules.h"

cbx_status cbx__rule_matmul(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *a = o->d[0], *b = o->d[1];

    if (a->ndim != 3 || b->ndim != 3 || a->shape[0] != b->shape[0] || a->shape[2] != b->shape[1])
        return cbx__rule_differ(o, a, b, err);
    cbx__rule_set_shape(out, 3, (const size_t[]){ a->shape[0], a->shape[1], b->shape[2] });
    return CBX_OK;
}

/* ---- products over an algebra ---- */

static cbx_status check_semiring(const cbx__operands *o, cbx_err *err)
{
    const cbx_semiring *s = cbx_semiring_get((cbx_algebra)o->attrs->mode);

    if (!s) return cbx_fail(err, CBX_EINVAL, "'%s' has no algebra %d", o->name, o->attrs->mode);
    if (!cbx_semiring_takes(s, o->d[0]->dtype))
        return cbx_fail(err, CBX_EDTYPE, "'%s' over '%s' takes %s, not %s", o->name, s->name,
                        cbx__traits_of[s->id].of_bool ? "bool" : "float32 or float64", cbx_dtype_name(o->d[0]->dtype));
    if (o->attrs->keep && !cbx__traits_of[s->id].has_raw)
        return cbx_fail(err, CBX_EINVAL, "algebra '%s' has no raw form: only euclidean has", s->name);
    return CBX_OK;
}

cbx_status cbx__rule_semiring_matmul(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_status st = check_semiring(o, err);
    return st ? st : cbx__rule_matmul(o, out, err);
}

/* (b, lengths..., channels) by (lengths..., channels, out) is (b, positions..., out). */
cbx_status cbx__rule_semiring_conv(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *x = o->d[0], *w = o->d[1];
    const cbx_attrs *a = o->attrs;
    const int n = a->ndim;
    cbx_status st = check_semiring(o, err);

    if (st) return st;
    if (n < 1 || n > CBX_MAX_RANK - 2 || x->ndim != n + 2 || w->ndim != n + 2 || x->shape[n + 1] != w->shape[n])
        return cbx__rule_differ(o, x, w, err);
    for (int i = 0; i < n; i++)
        if (a->step[i] < 1 || a->axes[i] < 1 || a->start[i] < 0)
            return cbx_fail(err, CBX_EINVAL,
                            "'semiring_conv' along axis %d has stride %td, dilation %d, padding %td: strides and "
                            "dilations are at least 1, padding 0",
                            i, a->step[i], a->axes[i], a->start[i]);
    out->ndim = n + 2;
    out->shape[0] = x->shape[0];
    memcpy(out->shape + 1, a->shape, (size_t)n * sizeof *a->shape);
    out->shape[n + 1] = w->shape[n + 1];
    return CBX_OK;
}

/* ---- linear algebra: the last two axes; what is before them must be equal ---- */

static size_t rows(const cbx_array_desc *d) { return d->shape[d->ndim - 2]; }
static size_t columns(const cbx_array_desc *d) { return d->shape[d->ndim - 1]; }
static size_t shorter(const cbx_array_desc *d) { return rows(d) < columns(d) ? rows(d) : columns(d); }

static cbx_status check_matrix(const cbx__operands *o, bool square, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    char buf[160];

    if (d->ndim < 2) return cbx_fail(err, CBX_ESHAPE, "'%s' needs a matrix, not %s", o->name, cbx__rule_text(d, buf));
    if (!square || rows(d) == columns(d)) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "'%s' needs square matrices, not %s", o->name, cbx__rule_text(d, buf));
}

cbx_status cbx__rule_square(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx__rule_set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return check_matrix(o, true, err);
}

/* (..., n, n) with (..., n, k) is (..., n, k). */
cbx_status cbx__rule_solve(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *a = o->d[0], *b = o->d[1];
    cbx_status st = check_matrix(o, true, err);

    if (st) return st;
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, (size_t)(a->ndim - 1) * sizeof *a->shape) != 0)
        return cbx__rule_differ(o, a, b, err);
    cbx__rule_set_shape(out, b->ndim, b->shape);
    return CBX_OK;
}

/* (..., n, n) is (..., n, n + 1): one more column for what is one number a row. */
cbx_status cbx__rule_wider(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = cbx__rule_square(o, out, err);

    if (!st) out->shape[out->ndim - 1]++;
    return st;
}

cbx_status cbx__rule_eigvalsh(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = cbx__rule_square(o, out, err);

    if (!st) out->ndim--;
    return st;
}

/* a * b + c * d + e, the length of parts one behind another. */
static cbx_status packed(const cbx__operands *o, const size_t part[5], cbx_array_desc *out, cbx_err *err)
{
    size_t x, y, total;
    char buf[160];

    cbx__rule_set_shape(out, o->d[0]->ndim - 1, o->d[0]->shape);
    if (__builtin_mul_overflow(part[0], part[1], &x) || __builtin_mul_overflow(part[2], part[3], &y) ||
        __builtin_add_overflow(x, y, &total) || __builtin_add_overflow(total, part[4], &total))
        return cbx_fail(err, CBX_EOVERFLOW, "the factors of '%s' of %s have more elements than memory can address",
                        o->name, cbx__rule_text(o->d[0], buf));
    out->shape[out->ndim - 1] = total;
    return CBX_OK;
}

cbx_status cbx__rule_qr(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = check_matrix(o, false, err);
    size_t k;

    if (st) return st;
    k = o->attrs->mode ? rows(d) : shorter(d);
    return packed(o, (const size_t[5]){ rows(d), k, k, columns(d), 0 }, out, err);
}

cbx_status cbx__rule_svd(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = check_matrix(o, false, err);
    size_t k;

    if (st) return st;
    k = shorter(d);
    if (o->attrs->mode) return packed(o, (const size_t[5]){ rows(d), rows(d), columns(d), columns(d), k }, out, err);
    return packed(o, (const size_t[5]){ rows(d), k, k, columns(d), k }, out, err);
}

cbx_status cbx__rule_svdvals(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = check_matrix(o, false, err);

    if (st) return st;
    cbx__rule_set_shape(out, d->ndim - 1, d->shape);
    out->shape[d->ndim - 2] = shorter(d);
    return CBX_OK;
}

/* ---- Fourier transforms along one axis ---- */

cbx_status cbx__rule_fft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = cbx__rule_along(o, out, err);
    char buf[160];

    if (st || out->shape[o->attrs->axis] > 0) return st;
    return cbx_fail(err, CBX_ESHAPE, "'%s' along an axis of no elements has no frequencies: %s", o->name,
                    cbx__rule_text(o->d[0], buf));
}

cbx_status cbx__rule_rfft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = cbx__rule_fft(o, out, err);

    if (!st) out->shape[o->attrs->axis] = out->shape[o->attrs->axis] / 2 + 1;
    return st;
}

/* The length of the result does not follow from n / 2 + 1 frequencies: it is given. */
cbx_status cbx__rule_irfft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)
{
    cbx_status st = cbx__rule_along(o, out, err);
    size_t n = o->attrs->shape[0];

    if (st) return st;
    if (n == 0 || out->shape[o->attrs->axis] != n / 2 + 1)
        return cbx_fail(err, CBX_ESHAPE, "'%s' to %zu numbers takes %zu frequencies, not %zu", o->name, n, n / 2 + 1,
                        out->shape[o->attrs->axis]);
    out->shape[o->attrs->axis] = n;
    return CBX_OK;
}
