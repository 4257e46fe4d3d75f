/*
 * Derivatives of convolutions over an algebra: the product's, on windows of a block of positions at a time, laid out as the rows of a matrix.
 */
#include <string.h>

#include "calibrax/array/kernels/convolve.h"
#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/semiring.h"
#include "calibrax/base/pool.h"

/* One derivative: dense operands in the scope; backward g, dx, dw, forward tx, tw, ty, the others NULL. */
typedef struct derivative {
    cbx__conv v; /* x, w, y */
    const cbx_array *tx, *tw, *g;
    cbx_array *dx, *dw, *ty;
} derivative;

/* --- blocks --- */

/* Bytes of the parts of a block's memory, each behind the one before. */
enum { WINDOWS, OTHERS, OF_W, WALK, SCRATCH, PARTS };

typedef struct rooms {
    size_t rows; /* of a block */
    size_t bytes[PARTS];
    char *at[PARTS];
} rooms;

/* Windows of a block stay in the caches, and there are enough of them for what is done once a block. */
static size_t block_rows(const cbx__conv *v)
{
    const size_t row = cbx__conv_terms(v) * cbx_dtype_size(v->dtype), all = cbx__conv_rows(v),
                 fit = ((size_t)4 << 20) / row, least = 512;
    return min_size(all, fit > least ? fit : least);
}

static rooms rooms_of(const derivative *d, cbx__grad *q)
{
    rooms r = { .rows = block_rows(&d->v) };

    q->m = r.rows;
    r.bytes[WINDOWS] = r.bytes[OTHERS] = q->m * q->k * cbx_dtype_size(q->dtype);
    r.bytes[OF_W] = d->g ? q->k * q->n * cbx_dtype_size(q->dtype) : 0;
    r.bytes[WALK] = cbx__conv_windows_bytes(&d->v, q->threads);
    r.bytes[SCRATCH] = cbx__semiring_grad_bytes(q);
    return r;
}

static void add_to(cbx_dtype t, size_t n, int threads, const void *from, void *to)
{
    const ptrdiff_t last = (ptrdiff_t)n;

#if defined(_OPENMP)
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
#else
    (void)threads;
#endif
    for (ptrdiff_t i = 0; i < last; i++)
        if (t == CBX_F32)
            ((float *)to)[i] += ((const float *)from)[i];
        else
            ((double *)to)[i] += ((const double *)from)[i];
}

/* Rows [first, first + q->m). */
static void block_back(const derivative *d, cbx__grad *q, const rooms *r, size_t first)
{
    const size_t row = q->n * cbx_dtype_size(q->dtype);

    q->g = (const char *)cbx_array_data(d->g) + first * row;
    q->da = r->at[OTHERS], q->db = r->at[OF_W];
    cbx__semiring_backward(q);
    cbx__conv_scatter(&d->v, q->da, first, q->m, q->threads, r->at[WALK], cbx_array_data_mut(d->dx));
    add_to(q->dtype, q->k * q->n, q->threads, q->db, cbx_array_data_mut(d->dw));
}

/* Padding does not move. */
static void block_forward(const derivative *d, cbx__grad *q, const rooms *r, size_t first)
{
    cbx__conv moves = d->v;

    moves.x = cbx_array_data(d->tx);
    cbx__conv_gather(&moves, 0, first, q->m, q->threads, r->at[WALK], r->at[OTHERS]);
    q->ta = r->at[OTHERS], q->tb = cbx_array_data(d->tw);
    q->tc = (char *)cbx_array_data_mut(d->ty) + first * q->n * cbx_dtype_size(q->dtype);
    cbx__semiring_forward(q);
}

static bool by_blocks(cbx_ctx *ctx, const derivative *d)
{
    const size_t all = cbx__conv_rows(&d->v);
    cbx__grad q = {
        .semiring = d->v.semiring, .dtype = d->v.dtype, .m = all, .k = cbx__conv_terms(&d->v), .n = d->v.outs
    };
    cbx_block room = { 0 };
    size_t bytes = 0;
    rooms r;

    q.threads = cbx__semiring_grad_threads(&q);
    r = rooms_of(d, &q);
    for (int i = 0; i < PARTS; i++) bytes += round_up(r.bytes[i], 64);
    if (cbx_pool_get(cbx_ctx_pool(ctx), bytes, &room, cbx__sticky(ctx))) return false;
    r.at[0] = room.data;
    for (int i = 1; i < PARTS; i++) r.at[i] = r.at[i - 1] + round_up(r.bytes[i - 1], 64);
    q.b = d->v.w, q.scratch = r.at[SCRATCH];
    for (size_t first = 0; first < all; first += r.rows) {
        q.m = min_size(r.rows, all - first);
        cbx__conv_gather(&d->v, d->v.semiring->identity, first, q.m, q.threads, r.at[WALK], r.at[WINDOWS]);
        q.a = r.at[WINDOWS], q.c = (const char *)d->v.y + first * q.n * cbx_dtype_size(q.dtype);
        (d->g ? block_back : block_forward)(d, &q, &r, first);
    }
    cbx_pool_put(cbx_ctx_pool(ctx), room);
    return true;
}

/* --- both directions --- */

/* x as a dense array that the scope holds. */
static const cbx_array *dense(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *copy = NULL;

    if (cbx_array_is_failed(x) || cbx__ref_dense(ctx, x, &copy, cbx__sticky(ctx))) return cbx__array_failed();
    return cbx_scope_hold(ctx, copy);
}

/* in: x, w, y, then g, or tangents of x and w.  False, with a failure recorded, without memory. */
static bool derivative_of(cbx_ctx *ctx, const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *const *in,
                          bool forward, derivative *d)
{
    const cbx_array *x = dense(ctx, cbx__conv_images(ctx, in[0], attrs->ndim)), *w = dense(ctx, in[1]),
                    *y = dense(ctx, in[2]),
                    *more = forward ? dense(ctx, cbx__conv_images(ctx, in[3], attrs->ndim)) : dense(ctx, in[3]);
    const cbx_array *of_w = forward ? dense(ctx, in[4]) : more;

    *d = (derivative){ 0 };
    if (cbx_array_is_failed(x) || cbx_array_is_failed(w) || cbx_array_is_failed(y) || cbx_array_is_failed(more) ||
        cbx_array_is_failed(of_w))
        return false;
    d->v = cbx__ref_conv_of(s, attrs, x, w, y);
    if (forward) {
        d->tx = more, d->tw = of_w;
        d->ty = cbx_copy(ctx, cbx_zeros_like(ctx, in[2]));
        return !cbx_array_is_failed(d->ty);
    }
    d->g = more;
    d->dx = cbx_copy(ctx, cbx_zeros_like(ctx, in[0]));
    d->dw = cbx_copy(ctx, cbx_zeros_like(ctx, in[1]));
    return !cbx_array_is_failed(d->dx) && !cbx_array_is_failed(d->dw);
}

static bool has_work(const cbx__conv *v) { return cbx__conv_rows(v) > 0 && cbx__conv_terms(v) > 0 && v->outs > 0; }

/* Attributes of a convolution; y and, of the backward direction, g must have its shape. */
static bool conv_fits(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_array *w,
                      const cbx_array *const like_y[2], const cbx_semiring *s, const cbx_conv_options *options,
                      cbx_attrs *attrs)
{
    size_t shape[CBX_MAX_RANK];
    cbx_dtype t;
    char text[160];
    int lead;

    if (!cbx__conv_attrs(ctx, x, w, s, options, attrs, &t)) return false;
    lead = x->desc.ndim - 1 - attrs->ndim;
    memcpy(shape, x->desc.shape, (size_t)lead * sizeof *shape);
    memcpy(shape + lead, attrs->shape, (size_t)attrs->ndim * sizeof *shape);
    shape[lead + attrs->ndim] = w->desc.shape[attrs->ndim + 1];
    for (int i = 0; i < 2; i++) {
        if (!like_y[i] || cbx__same_shape(like_y[i], x->desc.ndim, shape)) continue;
        cbx__refuse(ctx, CBX_ESHAPE, "operand %d of '%s' is %s, which is not the convolution's shape", i + 3, name,
                    cbx_array_desc_text(&like_y[i]->desc, text, sizeof text));
        return false;
    }
    return true;
}

static void vjp_steps(cbx_ctx *ctx, const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *const in[4],
                      cbx_array *d[2])
{
    derivative v;

    if (!derivative_of(ctx, s, attrs, in, false, &v) || (has_work(&v.v) && !by_blocks(ctx, &v))) return;
    d[0] = v.dx, d[1] = v.dw;
}

void cbx_semiring_conv_vjp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y, const cbx_array *g,
                           const cbx_semiring *s, const cbx_conv_options *options, cbx_array *d[2])
{
    const cbx_array *const in[4] = { x, w, y, g };
    const size_t mark = cbx__mark(ctx);
    cbx_attrs attrs;

    cbx__fail_both(d);
    if (!cbx__check_derivative(ctx, "semiring_conv_vjp", s, 4, in) ||
        !conv_fits(ctx, "semiring_conv_vjp", x, w, in + 2, s, options, &attrs))
        return;
    vjp_steps(ctx, s, &attrs, in, d);
    cbx__tidy_list(ctx, mark, 2, d);
}

static cbx_array *jvp_steps(cbx_ctx *ctx, const cbx_semiring *s, const cbx_attrs *attrs, const cbx_array *const in[5])
{
    derivative v;

    if (!derivative_of(ctx, s, attrs, in, true, &v) || (has_work(&v.v) && !by_blocks(ctx, &v)))
        return cbx__array_failed();
    return v.ty;
}

cbx_array *cbx_semiring_conv_jvp(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *y,
                                 const cbx_array *tx, const cbx_array *tw, const cbx_semiring *s,
                                 const cbx_conv_options *options)
{
    const cbx_array *const in[5] = { x, w, y, tx, tw }, *const like_y[2] = { y, NULL };
    const size_t mark = cbx__mark(ctx);
    char tangent[160], operand[160];
    cbx_attrs attrs;

    if (!cbx__check_derivative(ctx, "semiring_conv_jvp", s, 5, in) ||
        !conv_fits(ctx, "semiring_conv_jvp", x, w, like_y, s, options, &attrs))
        return cbx__array_failed();
    for (int i = 0; i < 2; i++)
        if (!cbx__same_shape(in[3 + i], in[i]->desc.ndim, in[i]->desc.shape))
            return cbx__refuse(ctx, CBX_ESHAPE, "a tangent of 'semiring_conv_jvp' is %s, its operand %s",
                               cbx_array_desc_text(&in[3 + i]->desc, tangent, sizeof tangent),
                               cbx_array_desc_text(&in[i]->desc, operand, sizeof operand));
    return cbx__tidy(ctx, mark, jvp_steps(ctx, s, &attrs, in));
}
