/*
 * The right answers of functions.c, by formulas of their own (derivatives by hand, loops in closed
 * form), and how far from them a right implementation may be: u = 2^-53, elementary functions err
 * by 4 ulp at most, powers through exp and log, sums as in oracle.c.
 */
#include <math.h>
#include <string.h>

#include "suites/array/array_ops/ops.h"
#include "suites/common/bounds.h"

/* In units of u S: a sum of k terms in any order. */
static double growth(double k, double u) { return fmin(cbx__suite_gamma(k, u) / u, CBX__SUITE_LAMBDA * sqrt(k)) + 1; }

void cbx__ao_solve_nanmean(const cbx__ao_problem *q)
{
    cbx__suite_total t = { 0 };

    for (size_t i = 0; i < q->p->n; i++)
        if (!isnan(q->in[0][i])) cbx__suite_include(&t, q->in[0][i]);
    const double n = (double)t.count;
    q->answer[0] = (double)((t.sum + t.lost) / (long double)n);
    q->bound[0] = growth(n, q->u) * q->u * (double)t.size / n + 2 * q->u * fabs(q->answer[0]);
}

void cbx__ao_solve_histogram(const cbx__ao_problem *q)
{
    memset(q->answer, 0, CBX__AO_CELLS * sizeof *q->answer);
    for (size_t i = 0; i < q->p->n; i++) q->answer[(size_t)q->in[0][i]] += 1;
}

/* The exponent errs by 4 u (|a b| + 1). */
void cbx__ao_solve_expression(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) {
        const long double a = q->in[0][i], b = q->in[1][i], e = expl(-(a * b + 0.5L) * 0.7L);
        q->answer[i] = (double)(e + a);
        q->bound[i] = q->u * (double)(e * (8 + 4 * (fabsl(a * b) + 1)) + 2 * (e + fabsl(a)));
    }
}

/* The error of a step is the one before times 0.9, and two roundings. */
void cbx__ao_solve_chain100(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) {
        long double s = q->in[0][i], err = 0;
        for (int k = 0; k < 50; k++) {
            err = 0.9L * err + q->u * 2 * fabsl(s);
            s = 0.9 * s + (long double)q->in[1][i];
            err += q->u * fabsl(s);
        }
        q->answer[i] = (double)s;
        q->bound[i] = (double)err + q->u * fabs(q->answer[i]);
    }
}

/* --- the model: every number of it is below 16, and 20 operations err by 4 u of it, times the
 * gradients behind them --- */

#define MODEL_ERROR 4000.0

typedef struct gradients {
    long double value, p[CBX__AO_FITTED], x;
} gradients;

/* Reverse mode by hand, in the names of its steps. */
static gradients model_at(long double x, const double *p)
{
    const long double a = p[0] * x, b = a + p[1], c = sinl(b), d = c * c, e = expl(-a), g = d + e * p[2],
                      j = sqrtl(g * g + 1);
    const long double k = logl(j), m = p[1] * x, n = cosl(m), l = k * p[3], s = n * l + g;
    const long double to_s = j / 2, to_n = to_s * l, to_l = to_s * n, to_m = -sinl(m) * to_n;
    const long double to_j = s / 2 + to_l * p[3] / j, to_g = to_s + to_j * g / j, to_d = to_g - 0.5L;
    const long double to_e = to_g * p[2], to_b = cosl(b) * 2 * c * to_d, to_a = to_b - e * to_e;

    return (gradients){ (s * j - d) / 2, { to_a * x, to_b + to_m * x, to_g * e, to_l * k }, to_a * p[0] + to_m * p[1] };
}

static void sum_of_model(const cbx__ao_problem *q, int in)
{
    const double z = q->in[2][0], n = (double)q->p->n;
    cbx__suite_total t = { 0 };

    for (size_t i = 0; i < q->p->n; i++) {
        const gradients m = model_at(q->in[0][i], q->in[1]);
        cbx__suite_include(&t, in < 0 ? m.value : m.p[in]);
    }
    const size_t at = in < 0 ? 0 : (size_t)in;
    q->answer[at] = (double)(t.sum + t.lost) * z;
    q->bound[at] = fabs(z) * q->u * (MODEL_ERROR * n + growth(n, q->u) * (double)t.size);
}

void cbx__ao_solve_model(const cbx__ao_problem *q) { sum_of_model(q, -1); }

void cbx__ao_solve_model_grad_p(const cbx__ao_problem *q)
{
    for (int i = 0; i < CBX__AO_FITTED; i++) sum_of_model(q, i);
}

void cbx__ao_solve_model_grad_x(const cbx__ao_problem *q)
{
    const double z = q->in[2][0];

    for (size_t i = 0; i < q->p->n; i++) {
        q->answer[i] = (double)model_at(q->in[0][i], q->in[1]).x * z;
        q->bound[i] = fabs(z) * q->u * MODEL_ERROR;
    }
}

/* --- loops: s_n^2 = 1 + sum log(1 + x), each step errs by 4 u, ds_n / dx = 1 / (2 s_n (1 + x))
 * --- */

static double last_s(const cbx__ao_problem *q)
{
    cbx__suite_total t = { 0 };

    cbx__suite_include(&t, 1);
    for (size_t i = 0; i < q->p->n; i++) cbx__suite_include(&t, log1pl((long double)q->in[0][i]));
    return (double)sqrtl(t.sum + t.lost);
}

static double scan_error(const cbx__ao_problem *q) { return (4 * growth((double)q->p->n, q->u) + 16) * q->u; }

void cbx__ao_solve_scan(const cbx__ao_problem *q)
{
    q->answer[0] = last_s(q) * q->in[1][0];
    q->bound[0] = scan_error(q) * fabs(q->answer[0]);
}

void cbx__ao_solve_scan_grad(const cbx__ao_problem *q)
{
    const double s = last_s(q);

    for (size_t i = 0; i < q->p->n; i++) {
        q->answer[i] = q->in[1][0] / (2 * s * (1 + q->in[0][i]));
        q->bound[i] = 2 * scan_error(q) * fabs(q->answer[i]);
    }
}

void cbx__ao_solve_fori(const cbx__ao_problem *q)
{
    const long double b = q->in[1][0], a = q->in[2][0];
    long double s = q->in[0][0], err = 0;

    for (size_t i = 0; i < q->p->n; i++) {
        err = fabsl(a) * err + q->u * fabsl(s * a);
        s = s * a + b;
        err += q->u * fabsl(s);
    }
    q->answer[0] = (double)s;
    q->bound[0] = (double)err + q->u * fabs(q->answer[0]);
}

/* --- stretched exponentials --- */

typedef struct value {
    long double r, dr[CBX__AO_FITTED]; /* the residual, and its gradients in tau, beta, C, B */
    double err, err_dr[CBX__AO_FITTED];
} value;

/* A power errs by u (8 + 4 |beta log v|) of itself, so the decay by k of itself; log v near 0 by
 * u. */
static value value_at(const double *p, double t, double y, double u)
{
    const long double tau = p[0], beta = p[1], contrast = p[2], v = 2 * (long double)t / tau, log_v = logl(v);
    const long double power = expl(beta * log_v), decay = expl(-power), part = contrast * decay * power;
    const double k = 16 * u * (double)((1 + power) * (1 + fabsl(beta * log_v)));
    value out = { .r = y - (p[3] + contrast * decay), .dr = { -part * beta / tau, part * log_v, -decay, -1 } };

    out.err = u * (fabs(y) + 4 * fabs(p[3]) + 4 * (double)(contrast * decay)) + k * (double)(contrast * decay);
    for (int i = 0; i < CBX__AO_FITTED; i++) out.err_dr[i] = 2 * k * (double)fabsl(out.dr[i]);
    out.err_dr[1] += 4 * u * (double)part;
    return out;
}

static value value_of(const cbx__ao_problem *q, size_t curve, size_t j)
{
    return value_at(q->in[0] + curve * CBX__AO_FITTED, q->in[1][j], q->in[2][curve * CBX__AO_DELAYS + j], q->u);
}

void cbx__ao_solve_kww(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n; i++) {
        cbx__suite_total t = { 0 };
        double err = 0;
        for (size_t j = 0; j < CBX__AO_DELAYS; j++) {
            const value v = value_of(q, i, j);
            cbx__suite_include(&t, v.r * v.r);
            err += 2 * (double)fabsl(v.r) * v.err + v.err * v.err;
        }
        q->answer[i] = (double)(t.sum + t.lost);
        q->bound[i] = err + growth(CBX__AO_DELAYS, q->u) * q->u * (double)t.size;
    }
}

void cbx__ao_solve_kww_grad(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n * CBX__AO_FITTED; i++) {
        const size_t curve = i / CBX__AO_FITTED, k = i % CBX__AO_FITTED;
        cbx__suite_total t = { 0 };
        double err = 0;
        for (size_t j = 0; j < CBX__AO_DELAYS; j++) {
            const value v = value_of(q, curve, j);
            cbx__suite_include(&t, 2 * v.r * v.dr[k]);
            err += 2 * (v.err * (double)fabsl(v.dr[k]) + (double)fabsl(v.r) * v.err_dr[k] + v.err * v.err_dr[k]);
        }
        q->answer[i] = (double)(t.sum + t.lost);
        q->bound[i] = err + (growth(CBX__AO_DELAYS, q->u) + 4) * q->u * (double)t.size;
    }
}

void cbx__ao_solve_kww_jac(const cbx__ao_problem *q)
{
    for (size_t i = 0; i < q->p->n * CBX__AO_DELAYS; i++) {
        const value v = value_of(q, i / CBX__AO_DELAYS, i % CBX__AO_DELAYS);
        for (size_t k = 0; k < CBX__AO_FITTED; k++) {
            q->answer[i * CBX__AO_FITTED + k] = (double)v.dr[k];
            q->bound[i * CBX__AO_FITTED + k] = v.err_dr[k];
        }
    }
}

/* --- pairs: the exponent d errs by 4 u d, exp by 4 u, libm's own by less --- */

/* Vector 0: 1; else x - y in coordinate vector - 1. */
static void pairs_of(const cbx__ao_problem *q, size_t i, size_t ncolumns, long double *sum, double *size, double *err)
{
    const double *x = q->in[0] + i * CBX__AO_SPACE;

    for (size_t j = 0; j < q->p->n; j++) {
        const double *y = q->in[1] + j * CBX__AO_SPACE, w = q->in[2][j];
        const double d[CBX__AO_SPACE] = { x[0] - y[0], x[1] - y[1], x[2] - y[2] };
        const double r = 0.5 * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), e = w * exp(-r);
        for (size_t k = 0; k < ncolumns; k++) {
            const double term = ncolumns == 1 ? e : -e * d[k];
            sum[k] += (long double)term;
            size[k] += fabs(term);
            err[k] += fabs(term) * (12 + 8 * r);
        }
    }
}

static void solve_pairs(const cbx__ao_problem *q, size_t ncolumns)
{
    const double g = growth((double)q->p->n, q->u);

    for (size_t i = 0; i < q->p->n; i++) {
        long double sum[CBX__AO_SPACE] = { 0 };
        double size[CBX__AO_SPACE] = { 0 }, err[CBX__AO_SPACE] = { 0 };
        pairs_of(q, i, ncolumns, sum, size, err);
        for (size_t k = 0; k < ncolumns; k++) {
            q->answer[i * ncolumns + k] = (double)sum[k];
            q->bound[i * ncolumns + k] = q->u * (g * size[k] + err[k]);
        }
    }
}

void cbx__ao_solve_rbf(const cbx__ao_problem *q) { solve_pairs(q, 1); }
void cbx__ao_solve_rbf_grad(const cbx__ao_problem *q) { solve_pairs(q, CBX__AO_SPACE); }
