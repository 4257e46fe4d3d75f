/*
 * Functions that are made of many operations, as a user writes them: formulas, a model and its
 * gradients, loops, curves that are fitted in a batch, sums over all pairs.  The same code runs
 * operation by operation, and is traced and compiled.
 */
#include "calibrax/array/transform.h"
#include "suites/array/array_ops/ops.h"

#define BODY(name)                                                                                                     \
    static cbx_status name(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
#define UNUSED (void)nin, (void)nout, (void)user

/* exp(-(a b + 0.5) 0.7) + a */
cbx_array *cbx__ao_expression(cbx_ctx *c, cbx_array *const *in)
{
    cbx_array *t = cbx_add_scalar(c, cbx_multiply(c, in[0], in[1]), 0.5);
    return cbx_add(c, cbx_exp(c, cbx_multiply_scalar(c, cbx_negative(c, t), 0.7)), in[0]);
}

/* 50 times s = 0.9 s + y, from s = x */
cbx_array *cbx__ao_chain100(cbx_ctx *c, cbx_array *const *in)
{
    cbx_array *s = in[0];
    for (int i = 0; i < 50; i++) s = cbx_add(c, cbx_multiply_scalar(c, s, 0.9), in[1]);
    return s;
}

cbx_array *cbx__ao_histogram(cbx_ctx *c, cbx_array *const *in)
{
    return cbx_histogram(c, in[0], cbx_linspace(c, 0, CBX__AO_CELLS, CBX__AO_CELLS + 1, true, CBX_F64), NULL);
}

/* --- bins by functions that can be traced --- */

cbx_array *cbx__ao_traced_digitize(cbx_ctx *c, cbx_array *const *in) { return cbx_searchsorted(c, in[1], in[0], true); }

cbx_array *cbx__ao_traced_bincount(cbx_ctx *c, cbx_array *const *in)
{
    return cbx_segment_sum(c, cbx_ones_like(c, in[0]), in[0], CBX__AO_BINS);
}

cbx_array *cbx__ao_traced_bincount_weights(cbx_ctx *c, cbx_array *const *in)
{
    return cbx_segment_sum(c, in[1], in[0], CBX__AO_BINS);
}

/* Of numbers from 0 to below CBX__AO_CELLS: the cell is how many upper edges lie at or below. */
cbx_array *cbx__ao_traced_histogram(cbx_ctx *c, cbx_array *const *in)
{
    cbx_array *upper = cbx_linspace(c, 1, CBX__AO_CELLS, CBX__AO_CELLS, true, CBX_F64);
    cbx_array *cell = cbx_searchsorted(c, upper, in[0], true);
    return cbx_segment_sum(c, cbx_ones_like(c, cell), cell, CBX__AO_CELLS);
}

/* --- functions of one result, and their gradients in one operand --- */

static cbx_array *value(cbx_ctx *c, const cbx_fn *f, cbx_array *const *in)
{
    cbx_array *out = NULL;
    (void)cbx_fn_call(c, f, f->nin, in, 1, &out);
    return out;
}

static cbx_array *gradient(cbx_ctx *c, const cbx_fn *f, size_t operand, cbx_array *const *in)
{
    cbx_fn *g = NULL;

    if (cbx_grad(c, f, 1, &operand, &g, NULL)) return NULL;
    cbx_array *out = value(c, g, in);
    cbx_fn_free(g);
    return out;
}

/* --- a model of 20 operations with four parameters, summed over x --- */

BODY(model)
{
    UNUSED;
    cbx_array *x = in[0], *p[CBX__AO_FITTED];

    for (int i = 0; i < CBX__AO_FITTED; i++) p[i] = cbx_index(c, in[1], 0, i);
    cbx_array *a = cbx_multiply(c, p[0], x), *sine = cbx_sin(c, cbx_add(c, a, p[1]));
    cbx_array *d = cbx_multiply(c, sine, sine);
    cbx_array *g = cbx_add(c, d, cbx_multiply(c, cbx_exp(c, cbx_negative(c, a)), p[2]));
    cbx_array *j = cbx_sqrt(c, cbx_add_scalar(c, cbx_multiply(c, g, g), 1));
    cbx_array *l = cbx_multiply(c, cbx_log(c, j), p[3]);
    cbx_array *q = cbx_add(c, cbx_multiply(c, cbx_cos(c, cbx_multiply(c, p[1], x)), l), g);
    cbx_array *s = cbx_multiply_scalar(c, cbx_subtract(c, cbx_multiply(c, q, j), d), 0.5);
    out[0] = cbx_multiply(c, cbx_sum(c, s, NULL), in[2]);
    return CBX_OK;
}

#define MODEL CBX_FN(model, NULL, 3, 1)
cbx_array *cbx__ao_model(cbx_ctx *c, cbx_array *const *in) { return value(c, MODEL, in); }
cbx_array *cbx__ao_model_grad_p(cbx_ctx *c, cbx_array *const *in) { return gradient(c, MODEL, 1, in); }
cbx_array *cbx__ao_model_grad_x(cbx_ctx *c, cbx_array *const *in) { return gradient(c, MODEL, 0, in); }

/* --- loops over scalars --- */

BODY(step) /* (s, x): sqrt(s s + log(1 + x)) */
{
    UNUSED;
    out[0] = cbx_sqrt(c, cbx_add(c, cbx_multiply(c, in[0], in[0]), cbx_log(c, cbx_add_scalar(c, in[1], 1))));
    return CBX_OK;
}

BODY(walk) /* (x, y): y times the last s, from s = 1 */
{
    UNUSED;
    cbx_array *first = cbx_ones(c, 0, NULL, CBX_F64), *last = NULL;

    (void)cbx_scan(c, CBX_FN(step, NULL, 2, 1), 1, &first, 1, in, CBX_LENGTH_OF_XS, false, &last);
    out[0] = cbx_multiply(c, last, in[1]);
    return CBX_OK;
}

cbx_array *cbx__ao_scan(cbx_ctx *c, cbx_array *const *in) { return value(c, CBX_FN(walk, NULL, 2, 1), in); }
cbx_array *cbx__ao_scan_grad(cbx_ctx *c, cbx_array *const *in) { return gradient(c, CBX_FN(walk, NULL, 2, 1), 0, in); }

BODY(multiply_add) /* (i, s, b, a): s a + b */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[1], in[3]), in[2]);
    out[1] = in[2];
    out[2] = in[3];
    return CBX_OK;
}

cbx_array *cbx__ao_fori(cbx_ctx *c, cbx_array *const *in, size_t n)
{
    cbx_array *out[3] = { NULL };
    (void)cbx_fori_loop(c, 0, (int64_t)n, CBX_FN(multiply_add, NULL, 4, 3), 3, in, out);
    return out[0];
}

/* --- residuals of stretched exponentials, B + C exp(-(2 t / tau)^beta), in a batch of curves
 * --- */

BODY(residuals) /* ((tau, beta, C, B), t, values) */
{
    UNUSED;
    cbx_array *p[CBX__AO_FITTED];

    for (int i = 0; i < CBX__AO_FITTED; i++) p[i] = cbx_index(c, in[0], 0, i);
    cbx_array *u = cbx_divide(c, cbx_multiply_scalar(c, in[1], 2), p[0]);
    cbx_array *decay = cbx_exp(c, cbx_negative(c, cbx_pow(c, u, p[1])));
    out[0] = cbx_subtract(c, in[2], cbx_add(c, p[3], cbx_multiply(c, p[2], decay)));
    return CBX_OK;
}

BODY(squares)
{
    cbx_array *r[1];
    (void)residuals(c, nin, in, nout, r, user);
    out[0] = cbx_sum(c, cbx_square(c, r[0]), NULL);
    return CBX_OK;
}

static cbx_array *of_each_curve(cbx_ctx *c, const cbx_fn *f, cbx_array *const *in)
{
    cbx_fn *batch = NULL;

    if (cbx_vmap(c, f, (const int[]){ 0, CBX_NOT_MAPPED, 0 }, NULL, &batch, NULL)) return NULL;
    cbx_array *out = value(c, batch, in);
    cbx_fn_free(batch);
    return out;
}

cbx_array *cbx__ao_kww(cbx_ctx *c, cbx_array *const *in) { return of_each_curve(c, CBX_FN(squares, NULL, 3, 1), in); }

cbx_array *cbx__ao_kww_grad(cbx_ctx *c, cbx_array *const *in)
{
    cbx_fn *g = NULL;

    if (cbx_grad(c, CBX_FN(squares, NULL, 3, 1), 0, NULL, &g, NULL)) return NULL;
    cbx_array *out = of_each_curve(c, g, in);
    cbx_fn_free(g);
    return out;
}

cbx_array *cbx__ao_kww_jac(cbx_ctx *c, cbx_array *const *in)
{
    cbx_fn *j = NULL;

    if (cbx_jacfwd(c, CBX_FN(residuals, NULL, 3, 1), 0, &j, NULL)) return NULL;
    cbx_array *out = of_each_curve(c, j, in);
    cbx_fn_free(j);
    return out;
}

/* --- sums over all pairs of points: w_j exp(-|x_i - y_j|^2 / 2) over j --- */

BODY(pairs)
{
    UNUSED;
    cbx_array *d = cbx_subtract(c, cbx_expand_dims(c, in[0], 1), cbx_expand_dims(c, in[1], 0));
    cbx_array *r = cbx_sum(c, cbx_square(c, d), CBX_AXIS(-1));
    cbx_array *e = cbx_exp(c, cbx_multiply_scalar(c, r, -0.5));
    out[0] = cbx_sum(c, cbx_multiply(c, e, in[2]), CBX_AXIS(1));
    return CBX_OK;
}

BODY(total_of_pairs)
{
    cbx_array *rows[1];
    (void)pairs(c, nin, in, nout, rows, user);
    out[0] = cbx_sum(c, rows[0], NULL);
    return CBX_OK;
}

cbx_array *cbx__ao_rbf(cbx_ctx *c, cbx_array *const *in) { return value(c, CBX_FN(pairs, NULL, 3, 1), in); }

cbx_array *cbx__ao_rbf_grad(cbx_ctx *c, cbx_array *const *in)
{
    return gradient(c, CBX_FN(total_of_pairs, NULL, 3, 1), 0, in);
}
