/*
 * Operands, and the turn of them that makes another problem with a known answer.
 *
 * Floats are normal numbers about 1, so that sums do not cancel and a lost element shows; integers
 * are small enough for a double to represent every sum of every rotation: 2^10 times 2^16 times
 * 2^24 elements.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suites/array/array_ops/ops.h"
#include "suites/common/arrays.h"

#define LARGEST_POWER 16

static int64_t whole(cbx__ao_kind kind, size_t n, cbx_rng *rng)
{
    if (kind == CBX__AO_INDICES) return (int64_t)cbx_rng_below(rng, n);
    if (kind == CBX__AO_LABELS) return (int64_t)cbx_rng_below(rng, CBX__AO_BINS);
    return (int64_t)cbx_rng_below(rng, 2048) - 900;
}

/* Edges at equal steps over where the numbers lie. */
static double edge(size_t i) { return 1.0 + 4.0 * ((double)i / (CBX__AO_EDGES - 1) - 0.5); }

/* Parameters of a stretched exponential: relaxation time, exponent, contrast, baseline; lowest, and
 * how far they spread. */
static const double fit[CBX__AO_FITTED][2] = { { 1, 1 }, { 0.5, 0.5 }, { 0.1, 0.3 }, { 1, 0.1 } };

static double number(cbx__ao_kind kind, size_t i, cbx_rng *rng)
{
    const double *f = fit[i % CBX__AO_FITTED];

    switch (kind) {
    case CBX__AO_RISING: return edge(i);
    case CBX__AO_GAPS: return i % 8 == 3 ? NAN : 1.0 + cbx_rng_normal(rng);
    case CBX__AO_GRID: return (double)cbx_rng_below(rng, CBX__AO_CELLS << 20) * 0x1p-20;
    case CBX__AO_AMOUNT:
    case CBX__AO_FOUR:
    case CBX__AO_UNIT: return 0.5 + cbx_rng_uniform(rng);
    case CBX__AO_FACTOR: return 0.5 + 0.5 * cbx_rng_uniform(rng);
    case CBX__AO_FITS: return f[0] + f[1] * cbx_rng_uniform(rng);
    case CBX__AO_TIMES: return 0.01 * pow(10, 3.0 * (double)i / (CBX__AO_DELAYS - 1));
    case CBX__AO_CURVES: return 1.1 + 0.1 * cbx_rng_normal(rng);
    case CBX__AO_POINTS: return cbx_rng_normal(rng);
    default: return 1.0 + cbx_rng_normal(rng);
    }
}

static void fill(cbx_array *a, cbx__ao_kind kind, cbx_rng *rng)
{
    const size_t n = cbx_array_count(a);
    void *data = cbx_array_data_mut(a);

    for (size_t i = 0; i < n; i++) {
        switch (cbx_array_dtype(a)) {
        case CBX_BOOL: ((uint8_t *)data)[i] = cbx_rng_uniform(rng) < 0.5; break;
        case CBX_I64: ((int64_t *)data)[i] = whole(kind, n, rng); break;
        case CBX_F32: ((float *)data)[i] = (float)number(kind, i, rng); break;
        default: ((double *)data)[i] = number(kind, i, rng);
        }
    }
}

cbx_status cbx__ao_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_rng rng = cbx_rng_make(p.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array_desc d[CBX__AO_INPUTS];

    for (size_t i = 0; i < CBX__AO_INPUTS; i++) cbx__ao_input(&p, i, &d[i]);
    const cbx_status st = cbx__suite_arrays(ctx, d, CBX__AO_INPUTS, in, err);
    for (size_t i = 0; i < CBX__AO_INPUTS && !st; i++) fill(in[i], p.op->in[i], &rng);
    return st;
}

/* Elements to shift n of them by in rotation r: 1..n-1, or 0 of a single one. */
static size_t shift_of(const cbx__ao_point *p, uint64_t r, size_t n)
{
    cbx_rng rng = cbx_rng_make(p->seed, CBX__SUITE_STREAM_ROTATIONS + r);
    return n > 1 ? 1 + (size_t)cbx_rng_below(&rng, n - 1) : 0;
}

static double power_of(const cbx__ao_point *p, uint64_t r)
{
    cbx_rng rng = cbx_rng_make(p->seed, CBX__SUITE_STREAM_ROTATIONS + r);
    return ldexp(1.0, 1 + (int)cbx_rng_below(&rng, LARGEST_POWER));
}

/* out[i] = a[(i + shift) mod n], elements or rows */
static void shift_into(const cbx_array *a, size_t shift, void *out)
{
    const cbx_array_desc *d = cbx_array_get_desc(a);
    const size_t all = cbx_array_bytes(a), head = shift ? shift * (all / d->shape[0]) : 0;
    const char *data = cbx_array_data(a);

    if (all == 0) return;
    memcpy(out, data + head, all - head);
    memcpy((char *)out + (all - head), data, head);
}

static void scale_into(const cbx_array *a, double by, void *out)
{
    const void *data = cbx_array_data(a);

    for (size_t i = 0; i < cbx_array_count(a); i++) {
        switch (cbx_array_dtype(a)) {
        case CBX_F32: ((float *)out)[i] = ((const float *)data)[i] * (float)by; break;
        case CBX_I64: ((int64_t *)out)[i] = ((const int64_t *)data)[i] * (int64_t)by; break;
        default: ((double *)out)[i] = ((const double *)data)[i] * by;
        }
    }
}

/* Bins that labels, or numbers of a grid, move around. */
static size_t bins_of(const cbx__ao_point *p) { return p->op->in[0] == CBX__AO_GRID ? CBX__AO_CELLS : CBX__AO_BINS; }

static void relabel_into(const cbx_array *a, size_t shift, void *out)
{
    const void *data = cbx_array_data(a);

    for (size_t i = 0; i < cbx_array_count(a); i++)
        if (cbx_array_dtype(a) == CBX_I64)
            ((int64_t *)out)[i] = (((const int64_t *)data)[i] + (int64_t)shift) % CBX__AO_BINS;
        else
            ((double *)out)[i] = fmod(((const double *)data)[i] + (double)shift, CBX__AO_CELLS);
}

static bool has_scale(cbx__ao_kind kind)
{
    return kind == CBX__AO_NUMBERS || kind == CBX__AO_MATRIX || kind == CBX__AO_GAPS || kind == CBX__AO_AMOUNT;
}

/* As many elements, or rows, as the point has, and in its order. */
static bool has_order(cbx__ao_kind kind)
{
    return kind == CBX__AO_NUMBERS || kind == CBX__AO_CONDITION || kind == CBX__AO_INDICES || kind == CBX__AO_FITS ||
           kind == CBX__AO_CURVES;
}

static void turn_input(const cbx__ao_point *p, uint64_t r, cbx__ao_kind kind, const cbx_array *a, cbx_array *out)
{
    void *to = cbx_array_data_mut(out);

    if (p->op->turn == CBX__AO_SCALE && has_scale(kind))
        scale_into(a, power_of(p, r), to);
    else if (p->op->turn == CBX__AO_RELABEL && (kind == CBX__AO_LABELS || kind == CBX__AO_GRID))
        relabel_into(a, shift_of(p, r, bins_of(p)), to);
    else
        shift_into(a, p->op->turn == CBX__AO_SHIFT && has_order(kind) ? shift_of(p, r, p->n) : 0, to);
}

cbx_status cbx__ao_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_array_desc d[CBX__AO_INPUTS];

    for (size_t i = 0; i < CBX__AO_INPUTS; i++) d[i] = *cbx_array_get_desc(in[i]);
    const cbx_status st = cbx__suite_arrays(ctx, d, CBX__AO_INPUTS, rotated, err);
    for (size_t i = 0; i < CBX__AO_INPUTS && !st; i++) turn_input(&p, r, p.op->in[i], in[i], rotated[i]);
    return st;
}

cbx_status cbx__ao_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_array *out = NULL;
    cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(a), &out, err);

    (void)output;
    if (st) return st;
    if (p.op->turn == CBX__AO_SCALE)
        scale_into(a, power_of(&p, r), cbx_array_data_mut(out));
    else if (p.op->turn == CBX__AO_RELABEL) /* label b becomes b + shift */
        shift_into(a, bins_of(&p) - shift_of(&p, r, bins_of(&p)), cbx_array_data_mut(out));
    else
        shift_into(a, shift_of(&p, r, p.n), cbx_array_data_mut(out));
    *rotated = out;
    return CBX_OK;
}
