/*
 * Derivatives of convolutions over an algebra: real ones are convolutions again, the filter's a
 * kernel of its own; the others are the product's, on windows of a block of positions at a time,
 * laid out as the rows of a matrix.
 */
#include <string.h>

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/kernels/convolve.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/reference/reference.h"

/* One derivative: dense operands; backward g, dx, dw, forward tx, tw, ty, the others NULL. */
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

/* Windows of a block stay in the caches, and there are enough of them for what is done once
 * a block. */
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

    CBX__EACH_OF_TEAM(q->threads, schedule(static))
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

static cbx_status by_blocks(cbx_ctx *ctx, const derivative *d, cbx_err *err)
{
    const size_t all = cbx__conv_rows(&d->v);
    cbx__grad q = {
        .semiring = d->v.semiring, .dtype = d->v.dtype, .m = all, .k = cbx__conv_terms(&d->v), .n = d->v.outs
    };
    CBX_SCOPED(cbx__scratch, space, ctx);
    size_t bytes = 0;
    cbx_status st;
    workspace r;

    q.threads = cbx__semiring_grad_threads(&q);
    r = workspace_of(d, &q);
    for (int i = 0; i < PARTS; i++) bytes += round_up(r.bytes[i], 64);
    st = cbx__scratch_get(&space, bytes, err);
    if (st) return st;
    r.at[0] = space.data;
    for (int i = 1; i < PARTS; i++) r.at[i] = r.at[i - 1] + round_up(r.bytes[i - 1], 64);
    q.b = d->v.w, q.scratch = r.at[SCRATCH];
    for (size_t first = 0; first < all; first += r.rows) {
        q.m = min_size(r.rows, all - first);
        cbx__conv_gather(&d->v, d->v.semiring->identity, first, q.m, q.threads, r.at[WALK], r.at[WINDOWS]);
        q.a = r.at[WINDOWS], q.c = (const char *)d->v.y + first * q.n * cbx_dtype_size(q.dtype);
        (d->g ? block_backward : block_forward)(d, &q, &r, first);
    }
    return CBX_OK;
}

/* --- real: dx --- */

/* What reaches the places r, r + stride, ... of one axis of x: every `step`-th tap from
 * `first` on. */
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
static cbx_status phase_backward(cbx_ctx *ctx, const derivative *d, const size_t *r, bool alone, cbx_err *err)
{
    const cbx__conv *v = &d->v;
    const size_t size = cbx_dtype_size(v->dtype);
    cbx__conv q = *v;
    phase p[CBX__CONV_AXES];
    size_t rows = v->images, taps = 1, bytes[3];
    CBX_SCOPED(cbx__scratch, space, ctx);
    cbx_status st;

    for (int i = 0; i < v->ndim; i++) {
        p[i] = phase_of(v, i, r[i]);
        q.length[i] = v->positions[i], q.taps[i] = p[i].taps, q.positions[i] = p[i].positions;
        q.stride[i] = 1, q.dilation[i] = p[i].dilation, q.low[i] = p[i].low;
        rows *= p[i].positions, taps *= p[i].taps;
    }
    if (taps == 0 || rows == 0) return CBX_OK;
    q.channels = v->outs, q.outs = v->channels, q.x = cbx_array_data(d->g);
    bytes[0] = round_up(taps * v->channels * v->outs * size, 64);
    bytes[1] = alone ? 0 : round_up(rows * v->channels * size, 64);
    bytes[2] = cbx__conv_workspace(&q);
    st = cbx__scratch_get(&space, bytes[0] + bytes[1] + bytes[2], err);
    if (st) return st;
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
        cbx__semiring_best(v->dtype)->transpose(v->channels, v->outs, 1, (const char *)v->w + tap * of_tap, out);
    }
    q.w = space.data, q.workspace = (char *)space.data + bytes[0] + bytes[1];
    q.y = alone ? cbx_array_data_mut(d->dx) : (char *)space.data + bytes[0];
    cbx__conv_run(&q);
    if (!alone) spread(v, p, r, q.y, cbx_array_data_mut(d->dx));
    return CBX_OK;
}

/* dx in phases: places of x that the same taps reach. */
static cbx_status vjp_x(cbx_ctx *ctx, const derivative *d, cbx_err *err)
{
    const cbx__conv *v = &d->v;
    size_t phases = 1;
    cbx_status st = CBX_OK;

    for (int i = 0; i < v->ndim; i++) phases *= min_size(v->stride[i], v->length[i]);
    for (size_t f = 0; !st && f < phases; f++) {
        size_t r[CBX__CONV_AXES], left = f;
        bool alone = true;
        for (int i = 0; i < v->ndim; i++) {
            r[i] = left % min_size(v->stride[i], v->length[i]);
            left /= min_size(v->stride[i], v->length[i]);
            alone = alone && v->stride[i] == 1;
        }
        st = phase_backward(ctx, d, r, alone, err);
    }
    return st;
}

static cbx_status vjp_w(cbx_ctx *ctx, const derivative *d, cbx_err *err)
{
    cbx__conv v = d->v;
    CBX_SCOPED(cbx__scratch, space, ctx);
    const cbx_status st = cbx__scratch_get(&space, cbx__conv_pull_workspace(&v), err);

    v.workspace = space.data;
    if (!st) cbx__conv_vjp(&v, cbx_array_data(d->g), cbx_array_data_mut(d->dw));
    return st;
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

/* What lies outside of g is 0 there and would meet the filter: one with NaN or an infinity has
 * blocks of windows instead; so has x with few channels. */
static bool is_direct(const derivative *d)
{
    const cbx__conv *v = &d->v;
    const size_t n = cbx__conv_terms(v) * v->outs;

    return cbx__conv_has_vjp(v) && (v->dtype == CBX_F32 ? all_finite_f32(v->w, n) : all_finite_f64(v->w, n));
}

/* --- both directions --- */

static bool has_work(const cbx__conv *v) { return cbx__conv_rows(v) > 0 && cbx__conv_terms(v) > 0 && v->outs > 0; }

enum { X, W, Y, MORE, OF_FILTER }; /* MORE: g, or the tangent of x */

/* Of a real one, the convolutions of the tangent of x with w, and of x with that of w; padding of a
 * tangent is 0, as that of x. */
static cbx_status two_convolutions(const cbx_call *call, const derivative *d, cbx_err *err)
{
    const cbx_array *const *in = call->in;
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(d->v.dtype);
    CBX_OWNED(cbx_array) *more = NULL;
    cbx_status st = cbx__ref_conv(call->ctx, d->v.semiring, call->attrs, in[MORE], in[W], d->ty, err);

    if (!st) st = cbx_array_create(call->ctx, call->results, &more, err);
    if (!st) st = cbx__ref_conv(call->ctx, d->v.semiring, call->attrs, in[X], in[OF_FILTER], more, err);
    if (!st && more->count)
        cbx__loops_get()->binary(CBX_PRIM_ADD, d->v.dtype)(more->count,
                                                           (char *const[]){ d->ty->data, d->ty->data, more->data },
                                                           (const ptrdiff_t[]){ size, size, size });
    return st;
}

CBX__RUN(semiring_conv_grad)
{
    const bool forward = call->prim == CBX_PRIM_SEMIRING_CONV_JVP;
    const cbx_array *const *in = call->in;
    derivative d = { .v = cbx__ref_conv_of(cbx__algebra_of(call->attrs), call->attrs, in[X], in[W], in[Y]) };
    cbx_status st;

    cbx__ref_zero(call->nout, out);
    if (forward)
        d.tx = in[MORE], d.tw = in[OF_FILTER], d.ty = out[0];
    else
        d.g = in[MORE], d.dx = out[0], d.dw = out[1];
    if (!has_work(&d.v)) return CBX_OK;
    if (forward && d.v.semiring->id == CBX_ALGEBRA_REAL) return two_convolutions(call, &d, err);
    if (forward || !is_direct(&d)) return by_blocks(call->ctx, &d, err);
    st = vjp_x(call->ctx, &d, err);
    return st ? st : vjp_w(call->ctx, &d, err);
}
