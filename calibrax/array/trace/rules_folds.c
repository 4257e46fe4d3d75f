/* Derivatives of folds of axes, of what runs along one, and of Fourier transforms. */
#include <string.h>

#include "calibrax/array/trace/derive.h"
#include "calibrax/array/transform.h"

/* ---- folds of axes ---- */

/* A result of a reduction spread over the operand again. */
static cbx_array *spread(cbx_ctx *c, const cbx_array *y, const cbx_array_desc *x, const cbx_attrs *a)
{
    cbx_array_desc kept = *x;

    for (int i = 0; i < a->naxes; i++) kept.shape[a->axes[i]] = 1;
    return cbx__to_shape(c, cbx__reshaped(c, y, kept.ndim, kept.shape), x->ndim, x->shape);
}

static cbx_array *sum_as(cbx_ctx *c, const cbx_array *x, const cbx_attrs *like, cbx_dtype t)
{
    cbx_attrs a = *like;

    a.dtype = t;
    a.mode = 0;
    return cbx__apply1(c, CBX_PRIM_SUM, x, &a);
}

void cbx__transpose_sum(cbx__transpose *r)
{
    cbx_array *ct = spread(r->ctx, r->ct[0], r->desc[0], r->attrs);

    if (cbx_dtype_kind(r->desc[0]->dtype) < CBX_KIND_COMPLEX) ct = cbx_real(r->ctx, ct);
    r->din[0] = cbx__as(r->ctx, ct, r->desc[0]->dtype);
}

/* Products of what is before each element of the last axis. */
static cbx_array *products_before(cbx_ctx *c, const cbx_array *x)
{
    const int last = x->desc.ndim - 1;
    const ptrdiff_t n = (ptrdiff_t)x->desc.shape[last];
    const cbx_attrs a = { .axis = last, .dtype = x->desc.dtype };
    const cbx_array *start = cbx_ones_like(c, cbx_slice(c, x, last, 0, 1, 1));

    return cbx_concat(
        c, 2,
        (const cbx_array *const[]){ start, cbx_slice(c, cbx__apply1(c, CBX_PRIM_CUMPROD, x, &a), last, 0, n - 1, 1) },
        last);
}

/* t times the product of all others, which is that of what is before and of what is behind. */
void cbx__jvp_prod(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_attrs *a = r->attrs;
    const cbx_array_desc *d = &r->in[0]->desc;
    int to[CBX_MAX_RANK], rank = 0;
    size_t shape[CBX_MAX_RANK], folded = 1;
    const cbx_array *x = cbx__as(c, r->in[0], a->dtype), *t = cbx__as(c, r->t[0], a->dtype), *others;

    for (int i = 0; i < a->naxes; i++) {
        to[i] = d->ndim - a->naxes + i;
        folded *= d->shape[a->axes[i]];
    }
    if (a->naxes == 0) {
        r->dt[0] = cbx__same(c, t);
        return;
    }
    if (folded == 0) return;
    for (int i = 0; i < d->ndim; i++) {
        bool gone = false;
        for (int k = 0; k < a->naxes; k++) gone |= a->axes[k] == i;
        if (!gone) shape[rank++] = d->shape[i];
    }
    shape[rank++] = folded;
    x = cbx__reshaped(c, cbx_moveaxes(c, x, a->naxes, a->axes, to), rank, shape);
    t = cbx__reshaped(c, cbx_moveaxes(c, t, a->naxes, a->axes, to), rank, shape);
    if (cbx_array_is_failed(x) || cbx_array_is_failed(t)) return;
    others = cbx_flip(c, products_before(c, cbx_flip(c, x, rank - 1)), rank - 1);
    others = cbx_multiply(c, products_before(c, x), others);
    t = sum_as(c, cbx_multiply(c, t, others), &(const cbx_attrs){ .naxes = 1, .axes = { rank - 1 } }, a->dtype);
    r->dt[0] = cbx__reshaped(c, t, r->out[0]->desc.ndim, r->out[0]->desc.shape);
}

/* 2 sum (x - centre)(t - t of the centre) */
void cbx__jvp_squares(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = cbx__as(c, r->in[0], CBX_F64), *t;
    const cbx_array *d = cbx_subtract(c, x, cbx__to_shape(c, r->in[1], x->desc.ndim, x->desc.shape));

    if (r->attrs->mode) d = cbx_where(c, cbx_isnan(c, x), cbx_zeros_like(c, d), d);
    t = r->t[0] ? cbx__as(c, r->t[0], CBX_F64) : cbx_zeros_like(c, x);
    if (r->t[1]) t = cbx_subtract(c, t, cbx__to_shape(c, r->t[1], x->desc.ndim, x->desc.shape));
    r->dt[0] = sum_as(c, cbx_multiply(c, t, cbx_multiply_scalar(c, d, 2)), r->attrs, CBX_F64);
}

/* Elements that equal the result share. */
void cbx__jvp_optimum(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0];
    const cbx_array *won = cbx__as(c, cbx_equal(c, x, spread(c, r->out[0], &x->desc, r->attrs)), x->desc.dtype);
    const cbx_array *count = sum_as(c, won, r->attrs, x->desc.dtype);

    r->dt[0] = cbx_divide(c, sum_as(c, cbx_multiply(c, r->t[0], won), r->attrs, x->desc.dtype), count);
}

/* ---- along one axis ---- */

void cbx__transpose_cumsum(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    const int axis = r->attrs->axis;
    const cbx_attrs a = { .axis = axis, .dtype = r->ct[0]->desc.dtype };
    cbx_array *ct = cbx_flip(c, cbx__apply1(c, CBX_PRIM_CUMSUM, cbx_flip(c, r->ct[0], axis), &a), axis);

    if (cbx_dtype_kind(r->desc[0]->dtype) < CBX_KIND_COMPLEX) ct = cbx_real(c, ct);
    r->din[0] = cbx__as(c, ct, r->desc[0]->dtype);
}

/*
 * p' = p x, d' = d x + p t, where p is the product of what is before: right where elements are 0,
 * too.
 */
static CBX__CODE(c, product_step)
{
    out[0] = cbx_add(c, cbx_multiply(c, in[0], in[1]), in[2]);
    out[1] = cbx__same(c, out[0]);
    return CBX_OK;
}

void cbx__jvp_cumprod(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const int axis = r->attrs->axis;
    const cbx_dtype to = r->attrs->dtype;
    cbx_array *x = cbx_moveaxis(c, cbx__as(c, r->in[0], to), axis, 0), *y = cbx_moveaxis(c, r->out[0], axis, 0);
    cbx_array *t = cbx_moveaxis(c, cbx__as(c, r->t[0], to), axis, 0), *before, *init, *both[2];

    if (cbx_array_is_failed(x) || x->desc.shape[0] == 0) return;
    init = cbx_zeros_like(c, cbx_index(c, x, 0, 0));
    before = cbx_concat(c, 2,
                        (const cbx_array *const[]){ cbx_expand_dims(c, cbx_ones_like(c, init), 0),
                                                    cbx_slice(c, y, 0, 0, (ptrdiff_t)x->desc.shape[0] - 1, 1) },
                        0);
    cbx_scan(c, CBX_FN(product_step, NULL, 3, 2), 1, &init, 2, (cbx_array *const[]){ x, cbx_multiply(c, t, before) },
             CBX_LENGTH_OF_XS, false, both);
    r->dt[0] = cbx_moveaxis(c, both[1], 0, axis);
}

/* The place of the last element that equals the running optimum. */
void cbx__jvp_running(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0];
    cbx_attrs a = { .dtype = CBX_I64, .axis = r->attrs->axis, .ndim = x->desc.ndim };
    cbx_array *place;

    memcpy(a.shape, x->desc.shape, sizeof a.shape);
    place = cbx_apply(c, CBX_PRIM_IOTA, 0, NULL, &a);
    place = cbx_where(c, cbx_equal(c, x, r->out[0]), place, cbx_zeros_like(c, place));
    place = cbx__apply1(c, CBX_PRIM_CUMMAX, place, &(cbx_attrs){ .axis = a.axis });
    r->dt[0] = cbx__apply_at(c, CBX_PRIM_TAKE_ALONG, r->t[0], place, &(cbx_attrs){ .axis = a.axis });
}

void cbx__jvp_sort(cbx__jvp *r)
{
    const cbx_array *order = cbx__apply1(r->ctx, CBX_PRIM_ARGSORT, r->in[0], r->attrs);
    r->dt[0] = cbx__apply_at(r->ctx, CBX_PRIM_TAKE_ALONG, r->t[0], order, &(cbx_attrs){ .axis = r->attrs->axis });
}

/* The elements that a sort would put at the ranks. */
void cbx__jvp_ranked(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const int axis = r->attrs->axis;
    const size_t n = (size_t)r->attrs->ndim;
    int64_t ranks[CBX_MAX_RANK];
    const cbx_array *order = cbx__apply1(c, CBX_PRIM_ARGSORT, r->in[0], &(cbx_attrs){ .axis = axis });

    for (size_t i = 0; i < n; i++) ranks[i] = (int64_t)r->attrs->shape[i];
    order = cbx__apply_at(c, CBX_PRIM_TAKE, order, cbx_asarray(c, &(const cbx_array_desc){ CBX_I64, 1, { n } }, ranks),
                          &(cbx_attrs){ .axis = axis });
    r->dt[0] = cbx__apply_at(c, CBX_PRIM_TAKE_ALONG, r->t[0], order, &(cbx_attrs){ .axis = axis });
}

/* ---- Fourier transforms ---- */

/* sum_j x_j w^(jk) is its own transpose. */
void cbx__transpose_fft(cbx__transpose *r) { r->din[0] = cbx__apply1(r->ctx, CBX_PRIM_FFT, r->ct[0], r->attrs); }

/* Re(sum_(k <= n/2) ct_k w^(jk)): the half is filled up with zeros. */
void cbx__transpose_rfft(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_dtype t = r->ct[0]->desc.dtype;
    cbx_attrs pad = { .ndim = r->desc[0]->ndim, .value = { t, { 0 } } };
    const cbx_attrs fft = { .axis = r->attrs->axis, .value = r->attrs->value };

    memcpy(pad.shape, r->desc[0]->shape, sizeof pad.shape);
    r->din[0] = cbx_real(c, cbx__apply1(c, CBX_PRIM_FFT, cbx__apply1(c, CBX_PRIM_PAD, r->ct[0], &pad), &fft));
}

/*
 * x_j = f sum_k w_k Re(X_k e^(i j k)) with w_k = 1 for k = 0 and n/2, 2 elsewhere: conj(rfft(ct)) w
 * f.
 */
void cbx__transpose_irfft(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    const int axis = r->attrs->axis;
    const size_t n = r->attrs->shape[0], m = n / 2 + 1;
    const cbx_attrs rfft = { .axis = axis, .value = r->attrs->value };
    cbx_array *g = cbx_conj(c, cbx__apply1(c, CBX_PRIM_RFFT, r->ct[0], &rfft));
    cbx_array *k = cbx_arange_int(c, 0, (int64_t)m, 1, CBX_I64);
    cbx_array *edge = cbx_equal_scalar(c, k, 0), *two = cbx_full(c, 1, &m, r->ct[0]->desc.dtype, cbx_float(2));
    size_t shape[CBX_MAX_RANK];

    if (n % 2 == 0) edge = cbx_logical_or(c, edge, cbx_equal_scalar(c, k, (double)(n / 2)));
    for (int i = 0; i < r->desc[0]->ndim; i++) shape[i] = i == axis ? m : 1;
    two = cbx_where(c, edge, cbx_ones_like(c, two), two);
    r->din[0] = cbx_multiply(c, g, cbx__as(c, cbx__reshaped(c, two, r->desc[0]->ndim, shape), g->desc.dtype));
}
