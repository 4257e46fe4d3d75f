/*
 * Operands, and the turn of them that makes another problem with a known answer.
 *
 * Floats are normal numbers about 1, so that sums do not cancel and a lost element shows; integers are small enough
 * for a double to represent every sum of every rotation: 2^10 times 2^16 times 2^24 elements.
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

static void fill(cbx_array *a, cbx__ao_kind kind, cbx_rng *rng)
{
    const size_t n = cbx_array_count(a);
    void *data = cbx_array_data_mut(a);

    for (size_t i = 0; i < n; i++) {
        switch (cbx_array_dtype(a)) {
        case CBX_BOOL: ((uint8_t *)data)[i] = cbx_rng_uniform(rng) < 0.5; break;
        case CBX_I64: ((int64_t *)data)[i] = whole(kind, n, rng); break;
        case CBX_F32: ((float *)data)[i] = (float)(kind == CBX__AO_RISING ? edge(i) : 1.0 + cbx_rng_normal(rng)); break;
        default: ((double *)data)[i] = kind == CBX__AO_RISING ? edge(i) : 1.0 + cbx_rng_normal(rng);
        }
    }
}

cbx_status cbx__ao_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_rng rng = cbx_rng_make(p.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array *a[CBX__AO_INPUTS] = { NULL };
    cbx_array_desc d;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < CBX__AO_INPUTS && !st; i++) {
        cbx__ao_input(&p, i, &d);
        st = cbx_array_create(ctx, &d, &a[i], err);
        if (!st) fill(a[i], p.op->in[i], &rng);
    }
    if (st)
        cbx__suite_arrays_free(a, CBX__AO_INPUTS);
    else
        memcpy(in, a, sizeof a);
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

/* out[i] = a[(i + shift) mod n] */
static void shift_into(const cbx_array *a, size_t shift, void *out)
{
    const size_t size = cbx_dtype_size(cbx_array_dtype(a)), head = shift * size, all = cbx_array_bytes(a);
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

static void relabel_into(const cbx_array *a, size_t shift, int64_t *out)
{
    const int64_t *data = cbx_array_data(a);
    for (size_t i = 0; i < cbx_array_count(a); i++) out[i] = (data[i] + (int64_t)shift) % CBX__AO_BINS;
}

static void turn_input(const cbx__ao_point *p, uint64_t r, cbx__ao_kind kind, const cbx_array *a, cbx_array *out)
{
    void *to = cbx_array_data_mut(out);
    bool moves = kind != CBX__AO_TABLE && kind != CBX__AO_RISING;

    if (p->op->turn == CBX__AO_SCALE)
        scale_into(a, power_of(p, r), to);
    else if (p->op->turn == CBX__AO_RELABEL && kind == CBX__AO_LABELS)
        relabel_into(a, shift_of(p, r, CBX__AO_BINS), to);
    else if (p->op->turn == CBX__AO_SHIFT && moves && kind != CBX__AO_NONE)
        shift_into(a, shift_of(p, r, p->n), to);
    else
        shift_into(a, 0, to);
}

cbx_status cbx__ao_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_array *a[CBX__AO_INPUTS] = { NULL };
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < CBX__AO_INPUTS && !st; i++) {
        st = cbx_array_create(ctx, cbx_array_get_desc(in[i]), &a[i], err);
        if (!st) turn_input(&p, r, p.op->in[i], in[i], a[i]);
    }
    if (st)
        cbx__suite_arrays_free(a, CBX__AO_INPUTS);
    else
        memcpy(rotated, a, sizeof a);
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
        shift_into(a, CBX__AO_BINS - shift_of(&p, r, CBX__AO_BINS), cbx_array_data_mut(out));
    else
        shift_into(a, shift_of(&p, r, p.n), cbx_array_data_mut(out));
    *rotated = out;
    return CBX_OK;
}
