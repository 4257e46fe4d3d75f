/*
 * Fourier transforms along one axis, a lane at a time, in float64 whatever the operand: results of
 * float32 are rounded once.
 *
 * Real transforms of even length take two numbers for one complex number and split the result; of
 * odd length they are complex ones.  Error: O(eps log n) of the lane's norm.  Lanes side by side
 * (an axis that is not the last) go eight at a time, so that a line of the cache is read once.
 * Scratch: one lane of the operand and of the result where they are not complex128 in a row (eight
 * side by side), and one lane of work (lengths with a prime factor above 61: six to twelve).
 */
#include "calibrax/array/reference/fft.h"

#include <string.h>

#include "calibrax/array/reference/reference.h"
#include "calibrax/base/idioms.h"

/* What one transform is made of; in, out: a lane in float64, work: of the plan and of this file. */
typedef struct lane {
    const cbx__fft_plan *plan;
    size_t n; /* of the real side, or of both */
    bool inverse;
    double factor;
    cbx__cx *work;
} lane;

typedef void (*transform)(const lane *l, const double *in, double *out);

static void complex_lane(const lane *l, const double *in, double *out)
{
    cbx__fft_run(l->plan, (const cbx__cx *)in, (cbx__cx *)out, l->work, l->inverse);
}

/* Z of x[2k] + i x[2k+1] is E + i O, both with X[k] = E[k] + w^k O[k] and E, O of real numbers. */
static void real_even_lane(const lane *l, const double *in, double *out)
{
    const size_t h = l->n / 2;
    cbx__cx *x = (cbx__cx *)out;
    cbx__v2 first;

    cbx__fft_run(l->plan, (const cbx__cx *)in, x, l->work, false);
    first = x[0];
    for (size_t k = 1; k <= h / 2; k++) {
        const cbx__v2 a = x[k], b = cbx__v2_conj(x[h - k]);
        const cbx__v2 even = 0.5 * (a + b), odd = cbx__v2_rotate(0.5 * (a - b), false);
        const cbx__v2 rotated = cbx__v2_mul(odd, l->plan->split[k], false);
        x[k] = even + rotated;
        x[h - k] = cbx__v2_conj(even - rotated);
    }
    x[0] = (cbx__v2){ first[0] + first[1], 0 };
    x[h] = (cbx__v2){ first[0] - first[1], 0 };
}

static void real_odd_lane(const lane *l, const double *in, double *out)
{
    cbx__cx *x = l->work, *y = x + l->n;

    for (size_t i = 0; i < l->n; i++) x[i] = (cbx__v2){ in[i], 0 };
    cbx__fft_run(l->plan, x, y, y + l->n, false);
    memcpy(out, y, (l->n / 2 + 1) * sizeof *y);
    out[1] = 0;
}

/* Inverse; imaginary parts at both ends are ignored. */
static void to_real_even_lane(const lane *l, const double *in, double *out)
{
    const size_t h = l->n / 2;
    const cbx__cx *x = (const cbx__cx *)in;
    cbx__cx *z = l->work;

    z[0] = (cbx__v2){ x[0][0] + x[h][0], x[0][0] - x[h][0] };
    for (size_t k = 1; k <= h / 2; k++) {
        const cbx__v2 a = x[k], b = cbx__v2_conj(x[h - k]);
        const cbx__v2 even = a + b, odd = cbx__v2_mul(a - b, l->plan->split[k], true);
        const cbx__v2 rotated = cbx__v2_rotate(odd, true);
        z[k] = even + rotated;
        z[h - k] = cbx__v2_conj(even - rotated);
    }
    cbx__fft_run(l->plan, z, (cbx__cx *)out, z + h, true);
}

static void to_real_odd_lane(const lane *l, const double *in, double *out)
{
    const cbx__cx *x = (const cbx__cx *)in;
    cbx__cx *full = l->work, *y = full + l->n;

    full[0] = (cbx__v2){ x[0][0], 0 };
    for (size_t k = 1; k <= l->n / 2; k++) {
        full[k] = x[k];
        full[l->n - k] = cbx__v2_conj(x[k]);
    }
    cbx__fft_run(l->plan, full, y, y + l->n, true);
    for (size_t i = 0; i < l->n; i++) out[i] = y[i][0];
}

/* One side of a lane: where it lies as wanted it is used in place. */
typedef struct side {
    size_t count, size;   /* numbers, and bytes of one in float64 */
    ptrdiff_t step, next; /* [bytes] along the lane, and from lane to lane along the axis that is walked first */
    bool direct;
    cbx__loop convert;
    double *buffer;
} side;

enum { GROUP = 8 };

static side side_of(const cbx_array *a, int axis, bool load)
{
    const cbx_dtype t = a->desc.dtype, wide = cbx__ref_wide(t);
    side s = { .count = a->desc.shape[axis], .size = cbx_dtype_size(wide) };

    s.step = a->strides[axis] * (ptrdiff_t)cbx_dtype_size(t);
    s.direct = t == wide && s.step == (ptrdiff_t)s.size;
    s.convert = load ? cbx__move_loop(t, wide) : cbx__move_loop(wide, t);
    return s;
}

static void run_lane(const lane *l, transform f, const side *from, const side *to, char *src, char *dst)
{
    const ptrdiff_t in_size = (ptrdiff_t)from->size, out_size = (ptrdiff_t)to->size;
    double *in = from->direct ? (double *)(void *)src : from->buffer;
    double *out = to->direct ? (double *)(void *)dst : to->buffer;
    const size_t reals = to->count * to->size / sizeof(double);

    if (!from->direct) cbx__move(from->convert, from->count, in, in_size, src, from->step);
    f(l, in, out);
    if (l->factor != 1)
        for (size_t i = 0; i < reals; i++) out[i] *= l->factor;
    if (!to->direct) cbx__move(to->convert, to->count, dst, to->step, out, out_size);
}

/* The same for g lanes side by side: row by row in, row by row out. */
static void run_group(const lane *l, transform f, const side *from, const side *to, char *src, char *dst, size_t g)
{
    const size_t in_reals = from->count * from->size / sizeof(double),
                 out_reals = to->count * to->size / sizeof(double);
    const ptrdiff_t in_size = (ptrdiff_t)from->size, out_size = (ptrdiff_t)to->size;
    char *in = (char *)from->buffer, *out = (char *)to->buffer;

    for (size_t i = 0; i < from->count; i++)
        cbx__move(from->convert, g, in + (ptrdiff_t)i * in_size, (ptrdiff_t)from->count * in_size,
                  src + (ptrdiff_t)i * from->step, from->next);
    for (size_t q = 0; q < g; q++) f(l, from->buffer + q * in_reals, to->buffer + q * out_reals);
    if (l->factor != 1)
        for (size_t i = 0; i < g * out_reals; i++) to->buffer[i] *= l->factor;
    for (size_t i = 0; i < to->count; i++)
        cbx__move(to->convert, g, dst + (ptrdiff_t)i * to->step, to->next, out + (ptrdiff_t)i * out_size,
                  (ptrdiff_t)to->count * out_size);
}

/* Buffers, where a lane does not lie as wanted, and the work are one block of scratch. */
static cbx_status each_lane(const cbx_call *call, lane *l, transform f, size_t own_work, cbx_array **out, cbx_err *err)
{
    const cbx_array *x = call->in[0], *r = *out;
    const int axis = call->attrs->axis, last = x->desc.ndim - 1;
    CBX_SCOPED(cbx__scratch, scratch, call->ctx);
    cbx__places at;

    if (r->count == 0) return CBX_OK;
    side from = side_of(x, axis, true), to = side_of(r, axis, false);
    /* how many lanes that lie side by side in both arrays go together */
    const bool beside = axis != last && !from.direct && !to.direct && x->strides[last] == 1;
    const size_t row = beside ? x->desc.shape[last] : 1, group = row < GROUP ? row : GROUP;
    const size_t in_bytes = from.direct ? 0 : (group * from.count * from.size + 63) / 64 * 64;
    const size_t out_bytes = to.direct ? 0 : (group * to.count * to.size + 63) / 64 * 64;
    const cbx_status st = cbx__scratch_get(&scratch,
                                           in_bytes + out_bytes + (l->plan->work + own_work) * sizeof *l->work, err);

    if (st) return st;
    from.next = (ptrdiff_t)cbx_dtype_size(x->desc.dtype);
    to.next = (ptrdiff_t)cbx_dtype_size(r->desc.dtype);
    from.buffer = scratch.data;
    to.buffer = (double *)(void *)((char *)scratch.data + in_bytes);
    l->work = (cbx__cx *)(void *)((char *)scratch.data + in_bytes + out_bytes);
    cbx__places_init(&at, x->desc.ndim, x->desc.shape, axis, 2,
                     (const cbx__strided[]){ cbx__ref_strided(x), cbx__ref_strided(r) });
    for (size_t i = 0, lanes = r->count / to.count; i < lanes;) {
        size_t g = row - i % row < group ? row - i % row : group;
        if (group > 1)
            run_group(l, f, &from, &to, at.op[0].data, at.op[1].data, g);
        else
            run_lane(l, f, &from, &to, at.op[0].data, at.op[1].data);
        for (; g > 0; g--, i++) cbx__places_next(&at);
    }
    return CBX_OK;
}

CBX__RUN(fft)
{
    lane l = { .n = call->results->shape[call->attrs->axis],
               .inverse = call->attrs->mode,
               .factor = call->attrs->value.v.f };
    cbx_status st = cbx__fft_plan_get(call->ctx, l.n, false, &l.plan, err);

    return st ? st : each_lane(call, &l, complex_lane, 0, out, err);
}

/* n: of the real side. */
static cbx_status run_real(const cbx_call *call, size_t n, transform even, transform odd, cbx_array **out, cbx_err *err)
{
    lane l = { .n = n, .factor = call->attrs->value.v.f };
    const bool halves = n % 2 == 0;
    cbx_status st = cbx__fft_plan_get(call->ctx, halves ? n / 2 : n, halves, &l.plan, err);

    return st ? st : each_lane(call, &l, halves ? even : odd, halves ? n / 2 : 2 * n, out, err);
}

CBX__RUN(rfft)
{
    return run_real(call, call->in[0]->desc.shape[call->attrs->axis], real_even_lane, real_odd_lane, out, err);
}

CBX__RUN(irfft) { return run_real(call, call->attrs->shape[0], to_real_even_lane, to_real_odd_lane, out, err); }
