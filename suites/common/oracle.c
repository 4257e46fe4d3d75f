/* The frame of an oracle; see oracle.h. */
#include "suites/common/oracle.h"

#include <math.h>
#include <string.h>

#include "suites/common/arrays.h"
#include "suites/common/bounds.h"

cbx_status cbx__suite_problem_begin(cbx_ctx *ctx, const cbx_case_ops *c, const cbx_params *given, cbx_array *const *in,
                                    size_t scratch, cbx__suite_problem *q, cbx_err *err)
{
    cbx_array_desc outputs[CBX_CASE_MAX_ARRAYS];
    c->outputs(given, outputs);
    const bool boolean = outputs[0].dtype == CBX_BOOL;
    cbx_array_desc descs[] = { outputs[0], outputs[0], { CBX_F64, 1, { scratch } } };

    *q = (cbx__suite_problem){ 0 };
    descs[0].dtype = boolean ? CBX_BOOL : CBX_F64;
    descs[1].dtype = CBX_F64;
    for (size_t i = 0; i < c->ninputs; i++) descs[2].shape[0] += cbx_array_count(in[i]);
    const cbx_status st = cbx__suite_arrays(ctx, descs, CBX_LEN(descs), q->made, err);
    if (st) return st;
    if (boolean)
        q->truth = cbx_array_data_mut(q->made[0]);
    else
        q->answer = cbx_array_data_mut(q->made[0]);
    q->bound = cbx_array_data_mut(q->made[1]);
    q->scratch = cbx_array_data_mut(q->made[2]);
    if (cbx_array_bytes(q->made[1])) memset(q->bound, 0, cbx_array_bytes(q->made[1]));
    double *to = q->scratch + scratch;
    for (size_t i = 0; i < c->ninputs; to += cbx_array_count(in[i++])) {
        q->in[i] = to;
        cbx__suite_widen(in[i], to);
    }
    return CBX_OK;
}

void cbx__suite_problem_end(cbx__suite_problem *q, cbx_array **answer, cbx_array **bound)
{
    answer[0] = q->made[0];
    bound[0] = q->made[1];
    cbx_array_free(q->made[2]);
}

/* --- one element --- */

/* A non-finite plain sum is what it is. */
static long double value_of(const cbx__suite_total *t) { return isfinite(t->plain) ? t->sum + t->lost : t->plain; }

static void sum(bool squares, double u, size_t k, const double *a, const double *b, double *answer, double *bound)
{
    cbx__suite_total t = { 0 };
    long double c;

    for (size_t i = 0; i < k; i++) {
        const long double x = a[i], y = b[i];
        cbx__suite_include(&t, squares ? (x - y) * (x - y) : x * y);
    }
    c = squares ? sqrtl(value_of(&t)) : value_of(&t);
    *answer = (double)c;
    if (!isfinite(*answer))
        *bound = 0;
    else if (squares)
        *bound = ((fmin((double)k, cbx__suite_chance((double)k)) + 4) / 2 + 1) * u * *answer;
    else
        *bound = cbx__suite_sum_error((double)k, u) * (double)t.size;
}

static void extreme(bool max, bool narrow, double empty, size_t k, const double *a, const double *b, double *answer)
{
    double c = empty;

    for (size_t i = 0; i < k && !isnan(c); i++) {
        /* a float sum through double is still correctly rounded: 53 >= 2 * 24 + 2 (Figueroa, SIGNUM
         * Newsl. 30 (1995) 21-26) */
        const double t = narrow ? (double)(float)(a[i] + b[i]) : a[i] + b[i];
        if (isnan(t) || (max ? t > c : t < c)) c = t;
    }
    *answer = c;
}

double cbx__suite_log_bound(double u, double k, double amax, double bmax, double answer)
{
    const double rises = fmin(k, 32);
    const double sum_error = fmin(2 * (k + 5 * rises), CBX__SUITE_LAMBDA * sqrt(k + 17 * rises));
    return isfinite(answer) ? u * (sum_error + 30 + 6 * (amax + bmax) + 4 * fabs(answer)) : 0;
}

static double larger(double max, double x) { return isfinite(x) ? fmax(max, fabs(x)) : max; }

static void logsumexp(double u, size_t k, const double *a, const double *b, double *answer, double *bound)
{
    long double top = -INFINITY;
    double amax = 0, bmax = 0;
    cbx__suite_total t = { 0 };

    for (size_t i = 0; i < k && !isnan(top); i++) {
        const long double x = (long double)a[i] + (long double)b[i];
        if (isnan(x) || x > top) top = x;
    }
    for (size_t i = 0; i < k && isfinite(top); i++) {
        cbx__suite_include(&t, expl(((long double)a[i] + (long double)b[i]) - top));
        amax = larger(amax, a[i]);
        bmax = larger(bmax, b[i]);
    }
    *answer = (double)(isfinite(top) ? top + logl(value_of(&t)) : top);
    *bound = cbx__suite_log_bound(u, (double)k, amax, bmax, *answer);
}

static double any(size_t k, const double *a, const double *b)
{
    size_t i = 0;
    while (i < k && !(a[i] != 0 && b[i] != 0)) i++;
    return i < k;
}

void cbx__suite_problem_fold(const cbx__suite_problem *q, size_t at, const cbx_semiring *s, cbx_dtype dtype, size_t k,
                             const double *a, const double *b)
{
    const double u = cbx__suite_unit(dtype);
    double y = s->empty, *bound = &q->bound[at];

    *bound = 0;
    switch (k ? s->id : CBX_ALGEBRA_COUNT) {
    case CBX_ALGEBRA_REAL: sum(false, u, k, a, b, &y, bound); break;
    case CBX_ALGEBRA_EUCLIDEAN: sum(true, u, k, a, b, &y, bound); break;
    case CBX_ALGEBRA_LOG: logsumexp(u, k, a, b, &y, bound); break;
    case CBX_ALGEBRA_TROPICAL_MAX_PLUS: extreme(true, dtype == CBX_F32, s->empty, k, a, b, &y); break;
    case CBX_ALGEBRA_TROPICAL_MIN_PLUS: extreme(false, dtype == CBX_F32, s->empty, k, a, b, &y); break;
    case CBX_ALGEBRA_BOOLEAN: y = any(k, a, b); break;
    case CBX_ALGEBRA_COUNT: break;
    }
    if (q->truth)
        q->truth[at] = y != 0;
    else
        q->answer[at] = y;
}
