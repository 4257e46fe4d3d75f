/* Derivatives of views, and of what moves elements. */
#include <string.h>

#include "calibrax/array/trace/derive.h"
#include "calibrax/array/transform.h"

/* ---- views ---- */

void cbx__transpose_reshape(cbx__transpose *r)
{
    r->din[0] = cbx__reshaped(r->ctx, r->ct[0], r->desc[0]->ndim, r->desc[0]->shape);
}

void cbx__transpose_permute(cbx__transpose *r)
{
    cbx_attrs back = { .naxes = r->attrs->naxes };

    for (int i = 0; i < back.naxes; i++) back.axes[r->attrs->axes[i]] = i;
    r->din[0] = cbx__apply1(r->ctx, CBX_PRIM_TRANSPOSE, r->ct[0], &back);
}

/* Summed over the axes that it was spread along. */
void cbx__transpose_broadcast(cbx__transpose *r)
{
    const cbx_array_desc *d = r->desc[0];
    const int extra = r->attrs->ndim - d->ndim;
    cbx_axes axes = { .keep = true };

    for (int i = 0; i < r->attrs->ndim; i++)
        if (i < extra || (d->shape[i - extra] == 1 && r->attrs->shape[i] != 1)) axes.axis[axes.n++] = i;
    r->din[0] = axes.n ? cbx_sum(r->ctx, r->ct[0], &axes) : r->ct[0];
    r->din[0] = cbx__reshaped(r->ctx, r->din[0], d->ndim, d->shape);
    if (r->din[0] == r->ct[0]) r->din[0] = cbx__same(r->ctx, r->ct[0]);
}

/*
 * Zeros with the cotangent where the slice took from; steps backward are turned first, wide ones
 * filled up.
 */
void cbx__transpose_slice(cbx__transpose *r)
{
    const cbx_attrs *a = r->attrs;
    const cbx_array_desc *d = r->desc[0];
    cbx_ctx *c = r->ctx;
    cbx_attrs pad = { .ndim = d->ndim, .value = { d->dtype, { 0 } } }, flip = { .ndim = d->ndim };
    bool plain = true, turns = false;

    for (int i = 0; i < d->ndim; i++) {
        const ptrdiff_t n = (ptrdiff_t)a->shape[i], last = n ? a->start[i] + (n - 1) * a->step[i] : a->start[i];
        pad.shape[i] = d->shape[i];
        pad.start[i] = n == 0 ? 0 : a->step[i] < 0 ? last : a->start[i];
        flip.shape[i] = a->shape[i];
        flip.step[i] = a->step[i] < 0 ? -1 : 1;
        flip.start[i] = a->step[i] < 0 && n ? n - 1 : 0;
        turns |= a->step[i] < 0;
        plain &= a->step[i] == 1 || a->step[i] == -1 || n <= 1;
    }
    cbx_array *ct = r->ct[0];
    if (turns) ct = cbx__apply1(c, CBX_PRIM_SLICE, ct, &flip);
    for (int i = 0; !plain && i < d->ndim; i++) { /* step - 1 zeros behind every element, cut at the end */
        const size_t n = a->shape[i], step = (size_t)(a->step[i] < 0 ? -a->step[i] : a->step[i]);
        cbx_attrs spread = { .ndim = d->ndim + 1, .value = pad.value }, cut = { .ndim = d->ndim };
        size_t shape[CBX_MAX_RANK + 1];
        if (step == 1 || n <= 1) continue;
        if (d->ndim == CBX_MAX_RANK) { /* no axis is left to put the zeros on */
            cbx_array_desc to = ct->desc;
            to.shape[i] = (n - 1) * step + 1;
            const cbx_array *at[3] = { cbx__zeros_of(c, &to), NULL, ct };
            at[1] = cbx_arange_int(c, 0, (int64_t)to.shape[i], (int64_t)step, CBX_I64);
            ct = cbx_apply(c, CBX_PRIM_SCATTER, 3, at, &(cbx_attrs){ .axis = i, .mode = CBX_SCATTER_ADD });
            continue;
        }
        memcpy(shape, ct->desc.shape, (size_t)d->ndim * sizeof *shape);
        memmove(shape + i + 2, shape + i + 1, (size_t)(d->ndim - i - 1) * sizeof *shape);
        shape[i + 1] = 1;
        ct = cbx__reshaped(c, ct, d->ndim + 1, shape);
        shape[i + 1] = step;
        memcpy(spread.shape, shape, (size_t)(d->ndim + 1) * sizeof *shape);
        ct = cbx__apply1(c, CBX_PRIM_PAD, ct, &spread);
        shape[i] = n * step;
        memmove(shape + i + 1, shape + i + 2, (size_t)(d->ndim - i - 1) * sizeof *shape);
        ct = cbx__reshaped(c, ct, d->ndim, shape);
        shape[i] = (n - 1) * step + 1;
        for (int k = 0; k < d->ndim; k++) cut.shape[k] = shape[k], cut.step[k] = 1;
        ct = cbx__apply1(c, CBX_PRIM_SLICE, ct, &cut);
    }
    r->din[0] = cbx__apply1(c, CBX_PRIM_PAD, ct, &pad);
}

/* ---- moves ---- */

void cbx__jvp_pad(cbx__jvp *r)
{
    cbx_attrs zeros = *r->attrs;

    zeros.value = (cbx_scalar){ r->t[0]->desc.dtype, { 0 } };
    r->dt[0] = cbx__apply1(r->ctx, CBX_PRIM_PAD, r->t[0], &zeros);
}

static cbx_array *cut_out(cbx_ctx *c, const cbx_array *x, const ptrdiff_t *start, const size_t *shape)
{
    cbx_attrs a = { .ndim = x->desc.ndim };

    if (cbx_array_is_failed(x)) return cbx__array_failed();
    for (int i = 0; i < a.ndim; i++) {
        a.start[i] = shape[i] ? start[i] : 0;
        a.step[i] = 1;
        a.shape[i] = shape[i];
    }
    return cbx__apply1(c, CBX_PRIM_SLICE, x, &a);
}

void cbx__transpose_pad(cbx__transpose *r)
{
    r->din[0] = cut_out(r->ctx, r->ct[0], r->attrs->start, r->desc[0]->shape);
}

void cbx__jvp_concat(cbx__jvp *r)
{
    const cbx_allocator *al = cbx_ctx_allocator(r->ctx);
    const cbx_array **parts = cbx_mem_calloc(al, r->nin, sizeof *parts);

    if (!parts) {
        cbx__refuse(r->ctx, CBX_ENOMEM, "no memory for the tangents of 'concat'");
        return;
    }
    for (size_t i = 0; i < r->nin; i++) parts[i] = r->t[i] ? r->t[i] : cbx_zeros_like(r->ctx, r->in[i]);
    r->dt[0] = cbx_apply(r->ctx, CBX_PRIM_CONCAT, r->nin, parts, r->attrs);
    cbx_mem_free(al, parts, r->nin * sizeof *parts);
}
void cbx__transpose_concat(cbx__transpose *r)
{
    ptrdiff_t start[CBX_MAX_RANK] = { 0 };

    for (size_t i = 0; i < r->nin; i++) {
        if (!r->in[i]) r->din[i] = cut_out(r->ctx, r->ct[0], start, r->desc[i]->shape);
        start[r->attrs->axis] += (ptrdiff_t)r->desc[i]->shape[r->attrs->axis];
    }
}

/* ---- by indices ---- */

static cbx_array *scatter(cbx_ctx *c, const cbx_array *x, const cbx_array *index, const cbx_array *updates, int axis,
                          cbx_scatter_mode mode)
{
    return cbx_apply(c, CBX_PRIM_SCATTER, 3, (const cbx_array *const[]){ x, index, updates },
                     &(cbx_attrs){ .axis = axis, .mode = mode });
}

void cbx__jvp_take(cbx__jvp *r)
{
    if (r->t[0]) r->dt[0] = cbx__apply_at(r->ctx, r->prim, r->t[0], r->in[1], r->attrs);
}
void cbx__transpose_take(cbx__transpose *r)
{
    r->din[0] = scatter(r->ctx, cbx__zeros_of(r->ctx, r->desc[0]), r->in[1], r->ct[0], r->attrs->axis, CBX_SCATTER_ADD);
}

/* Where each element came from, counted in row-major order: that is where its cotangent goes. */
void cbx__transpose_take_along(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array_desc *x = r->desc[0], *d = r->desc[1];
    const int axis = r->attrs->axis;
    cbx_array *place = NULL;
    int64_t step = 1;
    size_t count = 1;

    for (int i = x->ndim - 1; i >= 0; i--) {
        cbx_attrs a = { .dtype = CBX_I64, .axis = i, .ndim = d->ndim };
        const cbx_array *at = r->in[1];
        memcpy(a.shape, d->shape, sizeof a.shape);
        if (i != axis) at = cbx_apply(c, CBX_PRIM_IOTA, 0, NULL, &a);
        /* negative indices count from the end */
        if (i == axis) at = cbx_remainder(c, at, cbx_full(c, 0, NULL, CBX_I64, cbx_int((int64_t)x->shape[i])));
        at = cbx_multiply(c, at, cbx_full(c, 0, NULL, CBX_I64, cbx_int(step)));
        place = place ? cbx_add(c, place, at) : (cbx_array *)(uintptr_t)at;
        step *= (int64_t)x->shape[i];
        count *= x->shape[i];
    }
    size_t all = 1;
    for (int i = 0; i < d->ndim; i++) all *= d->shape[i];
    cbx_array *flat = scatter(c, cbx_zeros(c, 1, &count, x->dtype), cbx__reshaped(c, place, 1, &all),
                              cbx__reshaped(c, r->ct[0], 1, &all), 0, CBX_SCATTER_ADD);
    r->din[0] = cbx__reshaped(c, flat, x->ndim, x->shape);
}

/*
 * What an update or an old element contributes to its place, as a factor of its tangent:
 *   SET       1 for the last update of a place, 0 for what it covers
 *   ADD       1
 *   MUL       the product of all others at the place
 *   MIN, MAX  a share for each that equals the result
 */
typedef struct factors {
    cbx_array *old, *update; /* NULL: 1 */
} factors;

/*
 * Products of what is before each element along an axis within runs of equal numbers (n): by
 * doubling, without division.
 */
static cbx_array *products_in_run(cbx_ctx *c, cbx_array *x, const cbx_array *number, int axis)
{
    const ptrdiff_t n = (ptrdiff_t)x->desc.shape[axis];
    size_t wide[CBX_MAX_RANK];
    cbx_array *product = x, *before = x;

    for (int i = 0; i < x->desc.ndim; i++) wide[i] = i == axis ? (size_t)n : 1;
    for (ptrdiff_t k = 1; k == 1 || k < n; k *= 2) {
        const ptrdiff_t step = k < n ? k : n;
        cbx_array *others = cbx_full(c, 1, (const size_t[]){ (size_t)step }, CBX_I64, cbx_int(-1)), *same, *ones,
                  *shifted;
        others = cbx_concat(c, 2, (const cbx_array *const[]){ others, cbx_slice(c, number, 0, 0, n - step, 1) }, 0);
        same = cbx__reshaped(c, cbx_equal(c, number, others), x->desc.ndim, wide);
        ones = cbx_ones_like(c, cbx_slice(c, x, axis, 0, step, 1));
        shifted = cbx_concat(c, 2, (const cbx_array *const[]){ ones, cbx_slice(c, product, axis, 0, n - step, 1) },
                             axis);
        product = cbx_multiply(c, product, cbx_where(c, same, shifted, cbx_ones_like(c, x)));
    }
    cbx_array *first = cbx_full(c, 1, (const size_t[]){ 1 }, CBX_I64, cbx_int(-1)), *same;
    first = cbx_concat(c, 2, (const cbx_array *const[]){ first, cbx_slice(c, number, 0, 0, n - 1, 1) }, 0);
    same = cbx__reshaped(c, cbx_equal(c, number, first), x->desc.ndim, wide);
    before = cbx_concat(c, 2,
                        (const cbx_array *const[]){ cbx_ones_like(c, cbx_slice(c, x, axis, 0, 1, 1)),
                                                    cbx_slice(c, product, axis, 0, n - 1, 1) },
                        axis);
    return cbx_where(c, same, before, cbx_ones_like(c, x));
}

/*
 * The product of all others at the place of each update: of those before and behind it in the order
 * of their places.
 */
static cbx_array *product_of_others(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0], *u = r->in[2];
    const int axis = r->attrs->axis, many = r->in[1]->desc.ndim;
    size_t n = 1, flat[CBX_MAX_RANK];
    int rank = 0;

    for (int i = 0; i < many; i++) n *= r->in[1]->desc.shape[i];
    if (n == 0) return cbx_ones_like(c, u);
    for (int i = 0; i < axis; i++) flat[rank++] = u->desc.shape[i];
    flat[rank++] = n;
    for (int i = axis + many; i < u->desc.ndim; i++) flat[rank++] = u->desc.shape[i];
    cbx_array *number = cbx_remainder(c, cbx__reshaped(c, r->in[1], 1, &n),
                                      cbx_full(c, 0, NULL, CBX_I64, cbx_int((int64_t)x->desc.shape[axis])));
    cbx_array *order = cbx_argsort(c, number, 0, false), *back = cbx_argsort(c, order, 0, false), *before, *behind,
              *all;
    number = cbx_take(c, number, order, 0);
    all = cbx_take(c, cbx__reshaped(c, u, rank, flat), order, axis);
    before = products_in_run(c, all, number, axis);
    behind = cbx_flip(c, products_in_run(c, cbx_flip(c, all, axis), cbx_flip(c, number, 0), axis), axis);
    all = cbx_multiply(c, cbx_take(c, x, number, axis), cbx_multiply(c, before, behind));
    return cbx__reshaped(c, cbx_take(c, all, back, axis), u->desc.ndim, u->desc.shape);
}

static factors scatter_factors(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const cbx_array *x = r->in[0], *index = r->in[1], *u = r->in[2];
    const int axis = r->attrs->axis;
    const cbx_dtype t = x->desc.dtype;
    const cbx_attrs at = { .axis = axis };
    factors f = { NULL, NULL };

    switch (r->attrs->mode) {
    case CBX_SCATTER_SET: {
        /* the number of each update, written to its place: the last one finds its own again */
        size_t n = 1;
        for (int i = 0; i < index->desc.ndim; i++) n *= index->desc.shape[i];
        size_t wide[CBX_MAX_RANK] = { 0 };
        cbx_array *number = cbx_arange_int(c, 0, (int64_t)n, 1, CBX_I64), *last;
        number = cbx__reshaped(c, number, index->desc.ndim, index->desc.shape);
        last = scatter(c, cbx_full(c, 1, &x->desc.shape[axis], CBX_I64, cbx_int(-1)), index, number, 0,
                       CBX_SCATTER_SET);
        cbx_array *mine = cbx_equal(c, cbx__apply_at(c, CBX_PRIM_TAKE, last, index, &(cbx_attrs){ 0 }), number);
        /* along the axes of the indices in u, and along the axis in x */
        for (int i = 0; i < u->desc.ndim; i++)
            wide[i] = i >= axis && i < axis + index->desc.ndim ? u->desc.shape[i] : 1;
        f.update = cbx__to_shape(c, cbx__as(c, cbx__reshaped(c, mine, u->desc.ndim, wide), t), u->desc.ndim,
                                 u->desc.shape);
        for (int i = 0; i < x->desc.ndim; i++) wide[i] = i == axis ? x->desc.shape[i] : 1;
        f.old = cbx__reshaped(c, cbx_less_scalar(c, last, 0), x->desc.ndim, wide);
        f.old = cbx__to_shape(c, cbx__as(c, f.old, t), x->desc.ndim, x->desc.shape);
        break;
    }
    case CBX_SCATTER_MUL:
        f.old = scatter(c, cbx_ones_like(c, x), index, u, axis, CBX_SCATTER_MUL);
        f.update = product_of_others(r);
        break;
    case CBX_SCATTER_MIN:
    case CBX_SCATTER_MAX: {
        const cbx_array *won = cbx__as(c, cbx_equal(c, u, cbx__apply_at(c, CBX_PRIM_TAKE, r->out[0], index, &at)), t),
                        *count;
        f.old = cbx__as(c, cbx_equal(c, x, r->out[0]), t);
        count = scatter(c, f.old, index, won, axis, CBX_SCATTER_ADD);
        f.old = cbx_divide(c, f.old, cbx_maximum_scalar(c, count, 1));
        f.update = cbx_divide(c, won, cbx__apply_at(c, CBX_PRIM_TAKE, count, index, &at));
        break;
    }
    default: break;
    }
    return f;
}

void cbx__jvp_scatter(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    const factors f = scatter_factors(r);
    cbx_array *old = r->t[0] ? r->t[0] : cbx_zeros_like(c, r->in[0]), *update = r->t[2];

    if (r->t[0] && f.old) old = cbx_multiply(c, old, f.old);
    if (update && f.update) update = cbx_multiply(c, update, f.update);
    r->dt[0] = update ? scatter(c, old, r->in[1], update, r->attrs->axis, CBX_SCATTER_ADD) : old;
}
/* Of ADD, which is all that jvp makes. */
void cbx__transpose_scatter(cbx__transpose *r)
{
    if (!r->in[0]) r->din[0] = cbx__same(r->ctx, r->ct[0]);
    if (!r->in[2])
        r->din[2] = cbx__apply_at(r->ctx, CBX_PRIM_TAKE, r->ct[0], r->in[1], &(cbx_attrs){ .axis = r->attrs->axis });
}
