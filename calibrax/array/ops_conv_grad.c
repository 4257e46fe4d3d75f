/*
 * Derivatives of convolutions over an algebra: real ones are convolutions again, the filter's a kernel of its own; the others are the
 * product's, on windows of a block of positions at a time, laid out as the rows of a matrix.
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

typedef struct workspace {
    size_t rows; /* of a block */
    size_t bytes[PARTS];
    char *at[PARTS];
} workspace;

/* Windows of a block stay in the caches, and there are enough of them for what is done once a block. */
static size_t block_rows(const cbx__conv *v)
{
    const size_t row = cbx__conv_terms(v) * cbx_dtype_size(v->dtype), all = cbx__conv_rows(v),
                 fit = ((size_t)4 << 20) / row, minimum = 512;
    return min_size(all, fit > minimum ? fit : minimum);
}

static workspace workspace_of(const derivative *d, cbx__grad *q)
{
    workspace r = { .rows = block_rows(&d->v) };
    size_t last;

    q->m = (cbx__conv_rows(&d->v) - 1) % r.rows + 1; /* a smaller block may ask for more: its parts are other ones */
    last = cbx__semiring_grad_bytes(q);
    q->m = r.rows;
    r.bytes[WINDOWS] = r.bytes[OTHERS] = q->m * q->k * cbx_dtype_size(q->dtype);
    r.bytes[OF_W] = d->g ? q->k * q->n * cbx_dtype_size(q->dtype) : 0;
    r.bytes[WALK] = cbx__conv_windows_bytes(&d->v, q->threads);
    r.bytes[SCRATCH] = cbx__semiring_grad_bytes(q);
    if (last > r.bytes[SCRATCH]) r.bytes[SCRATCH] = last;
    return r;
}

/* Rows [first, first + q->m). */
static void block_backward(const derivative *d, cbx__grad *q, const workspace *r, size_t first)
{
    const size_t row = q->n * cbx_dtype_size(q->dtype);

    q->g = (const char *)cbx_array_data(d->g) + first * row;
    q->da = r->at[OTHERS], q->db = r->at[OF_W];
    cbx__semiring_backward(q);
    cbx__conv_scatter(&d->v, q->da, first, q->m, q->threads, r->at[WALK], cbx_array_data_mut(d->dx));
    void *to = cbx_array_data_mut(d->dw);
    const ptrdiff_t last = (ptrdiff_t)(q->k * q->n);

#if defined(_OPENMP)
#pragma omp parallel for schedule(static) num_threads(q->threads) if (q->threads > 1)
#else
    (void)q->threads;
#endif
    for (ptrdiff_t i = 0; i < last; i++)
        if (q->dtype == CBX_F32)
            ((float *)to)[i] += ((const float *)q->db)[i];
        else
            ((double *)to)[i] += ((const double *)q->db)[i];
}

/* Padding does not move. */
static void block_forward(const derivative *d, cbx__grad *q, const workspace *r, size_t first)
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
    cbx_block space = { 0 };
    size_t bytes = 0;
    workspace r;

    q.threads = cbx__semiring_grad_threads(&q);
    r = workspace_of(d, &q);
    for (int i = 0; i < PARTS; i++) bytes += round_up(r.bytes[i], 64);
    if (cbx_pool_get(cbx_ctx_pool(ctx), bytes, &space, cbx__sticky(ctx))) return false;
    r.at[0] = space.data;
    for (int i = 1; i < PARTS; i++) r.at[i] = r.at[i - 1] + round_up(r.bytes[i - 1], 64);
    q.b = d->v.w, q.scratch = r.at[SCRATCH];
    for (size_t first = 0; first < all; first += r.rows) {
        q.m = min_size(r.rows, all - first);
        cbx__conv_gather(&d->v, d->v.semiring->identity, first, q.m, q.threads, r.at[WALK], r.at[WINDOWS]);
        q.a = r.at[WINDOWS], q.c = (const char *)d->v.y + first * q.n * cbx_dtype_size(q.dtype);
        (d->g ? block_backward : block_forward)(d, &q, &r, first);
    }
    cbx_pool_put(cbx_ctx_pool(ctx), space);
    return true;
}

/* --- real: dx --- */

/* What reaches the places r, r + stride, ... of one axis of x: every `step`-th tap from `first` on. */
typedef struct phase {
    size_t first, taps, step, positions, dilation;
    ptrdiff_t low; /* of the convolution of g with those taps, reversed */
} phase;

static size_t common(size_t a, size_t b) { return b ? common(b, a % b) : a; }

/* dx[r + s j] = sum over m of g[j + (r + low - first d) / s - m d step / s] w[first + m step] */
static phase phase_of(const cbx__conv *v, int axis, size_t r)
{
    const size_t s = v->stride[axis], d = v->dilation[axis], shared = common(d, s);
    const ptrdiff_t to = (ptrdiff_t)r + v->low[axis];
    phase p = { .step = s / shared, .dilation = d / shared, .positions = (v->length[axis] - r + s - 1) / s };

    while (p.first < min_size(p.step, v->taps[axis]) && (to - (ptrdiff_t)(p.first * d)) % (ptrdiff_t)s != 0) p.first++;
    if (p.first >= min_size(p.step, v->taps[axis])) return p;
    p.taps = (v->taps[axis] - p.first - 1) / p.step + 1;
    p.low = (ptrdiff_t)((p.taps - 1) * p.dilation) - (to - (ptrdiff_t)(p.first * d)) / (ptrdiff_t)s;
    return p;
}

/* The results of a phase to their places in dx, a line at a time. */
static void spread(const cbx__conv *v, const phase *p, const size_t *r, const char *from, char *dx)
{
    const int last = v->ndim - 1;
    const size_t run = v->channels * cbx_dtype_size(v->dtype);
    size_t lines = v->images;

    for (int i = 0; i < last; i++) lines *= p[i].positions;
    for (size_t line = 0; line < lines; line++) {
        size_t left = line, at = 0, across = v->length[last];
        for (int i = last - 1; i >= 0; i--) {
            at += (r[i] + left % p[i].positions * v->stride[i]) * across;
            across *= v->length[i];
            left /= p[i].positions;
        }
        char *to = dx + (at + left * across + r[last]) * run;
        for (size_t j = 0; j < p[last].positions; j++, from += run, to += v->stride[last] * run) memcpy(to, from, run);
    }
}

/* One phase, r along each axis, of dx, which is 0 before if there is more than this one. */
static bool phase_backward(cbx_ctx *ctx, const derivative *d, const size_t *r, bool alone)
{
    const cbx__conv *v = &d->v;
    const size_t size = cbx_dtype_size(v->dtype);
    cbx__conv q = *v;
    phase p[CBX__CONV_AXES];
    size_t rows = v->images, taps = 1, bytes[3];
    cbx_block space = { 0 };

    for (int i = 0; i < v->ndim; i++) {
        p[i] = phase_of(v, i, r[i]);
        q.length[i] = v->positions[i], q.taps[i] = p[i].taps, q.positions[i] = p[i].positions;
        q.stride[i] = 1, q.dilation[i] = p[i].dilation, q.low[i] = p[i].low;
        rows *= p[i].positions, taps *= p[i].taps;
    }
    if (taps == 0 || rows == 0) return true;
    q.channels = v->outs, q.outs = v->channels, q.x = cbx_array_data(d->g);
    bytes[0] = round_up(taps * v->channels * v->outs * size, 64);
    bytes[1] = alone ? 0 : round_up(rows * v->channels * size, 64);
    bytes[2] = cbx__conv_workspace(&q);
    if (cbx_pool_get(cbx_ctx_pool(ctx), bytes[0] + bytes[1] + bytes[2], &space, cbx__sticky(ctx))) return false;
    /* The taps of a phase in falling order, each (outs, channels). */
    char *out = space.data;
    const size_t of_tap = v->channels * v->outs * cbx_dtype_size(v->dtype);
    size_t count = 1;

    for (int i = 0; i < v->ndim; i++) count *= p[i].taps;
    for (size_t t = 0; t < count; t++, out += of_tap) {
        size_t left = count - 1 - t, tap = 0, across = 1;
        for (int i = v->ndim - 1; i >= 0; i--) {
            tap += (p[i].first + left % p[i].taps * p[i].step) * across;
            across *= v->taps[i];
            left /= p[i].taps;
        }
        cbx__semiring_best()->transpose(v->dtype, v->channels, v->outs, (const char *)v->w + tap * of_tap, out);
    }
    q.w = space.data, q.workspace = (char *)space.data + bytes[0] + bytes[1];
    q.y = alone ? cbx_array_data_mut(d->dx) : (char *)space.data + bytes[0];
    cbx__conv_run(&q);
    if (!alone) spread(v, p, r, q.y, cbx_array_data_mut(d->dx));
    cbx_pool_put(cbx_ctx_pool(ctx), space);
    return true;
}

/* dx in phases: places of x that the same taps reach. */
static bool vjp_x(cbx_ctx *ctx, const derivative *d)
{
    const cbx__conv *v = &d->v;
    size_t phases = 1;

    for (int i = 0; i < v->ndim; i++) phases *= min_size(v->stride[i], v->length[i]);
    for (size_t f = 0; f < phases; f++) {
        size_t r[CBX__CONV_AXES], left = f;
        bool alone = true;
        for (int i = 0; i < v->ndim; i++) {
            r[i] = left % min_size(v->stride[i], v->length[i]);
            left /= min_size(v->stride[i], v->length[i]);
            alone = alone && v->stride[i] == 1;
        }
        if (!phase_backward(ctx, d, r, alone)) return false;
    }
    return true;
}

static bool vjp_w(cbx_ctx *ctx, const derivative *d)
{
    cbx__conv v = d->v;
    cbx_block space = { 0 };

    if (cbx_pool_get(cbx_ctx_pool(ctx), cbx__conv_pull_workspace(&v), &space, cbx__sticky(ctx))) return false;
    v.workspace = space.data;
    cbx__conv_vjp(&v, cbx_array_data(d->g), cbx_array_data_mut(d->dw));
    cbx_pool_put(cbx_ctx_pool(ctx), space);
    return true;
}

#define ALL_FINITE(T, name)                                                                                            \
    static bool name(const T *x, size_t n)                                                                             \
    {                                                                                                                  \
        int odd = 0;                                                                                                   \
        for (size_t i = 0; i < n; i++) odd |= x[i] - x[i] != 0;                                                        \
        return odd == 0;                                                                                               \
    }
ALL_FINITE(float, all_finite_f32)
ALL_FINITE(double, all_finite_f64)

/* What lies outside of g is 0 there and would meet the filter: one with NaN or an infinity has blocks of windows instead; so has x with
 * few channels. */
static bool is_direct(const derivative *d)
{
    const cbx__conv *v = &d->v;
    const size_t n = cbx__conv_terms(v) * v->outs;

    return cbx__conv_has_vjp(v) && (v->dtype == CBX_F32 ? all_finite_f32(v->w, n) : all_finite_f64(v->w, n));
}

/* --- both directions --- */

/* x as a dense array that the scope holds. */
static const cbx_array *dense(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *copy = NULL;

    if (cbx_array_is_failed(x) || cbx__ref_dense(ctx, x, &copy, cbx__sticky(ctx))) return cbx__array_failed();
    return cbx_scope_hold(ctx, copy);
}

/* Zeros of the shape of x. */
static cbx_array *blank(cbx_ctx *ctx, const cbx_array *x)
{
    cbx_array *zeros = NULL;

    if (cbx_array_create(ctx, &x->desc, &zeros, cbx__sticky(ctx))) return cbx__array_failed();
    memset(zeros->data, 0, cbx_array_bytes(zeros));
    return cbx_scope_hold(ctx, zeros);
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
        d->ty = blank(ctx, in[2]);
        return !cbx_array_is_failed(d->ty);
    }
    d->g = more;
    d->dx = blank(ctx, in[0]);
    d->dw = blank(ctx, in[1]);
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

    if (!derivative_of(ctx, s, attrs, in, false, &v)) return;
    if (has_work(&v.v) && !(is_direct(&v) ? vjp_x(ctx, &v) && vjp_w(ctx, &v) : by_blocks(ctx, &v))) return;
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
    /* The convolutions of the tangent of x with w, and of x with that of w; padding of a tangent is 0, as that of x. */
    return cbx__tidy(ctx, mark,
                     s->id == CBX_ALGEBRA_REAL ? cbx_add(ctx, cbx_semiring_conv(ctx, in[3], in[1], s, options),
                                                         cbx_semiring_conv(ctx, in[0], in[4], s, options))
                                               : jvp_steps(ctx, s, &attrs, in));
}
