/*
 * Naive evaluators of reductions, running folds, counts and products: sums of floats in long
 * double, with room for any order.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "naive_ops.h"

#define U(v) ((unsigned)(v))

/* Which axes go; a: how many (0: all, 3: none), the axes, keep. */
static bool read_axes(const nv *x, const int *a, bool gone[CBX_MAX_RANK])
{
    const unsigned how = U(a[0]) % 4;

    for (int i = 0; i < CBX_MAX_RANK; i++) gone[i] = how == 0 && i < x->ndim;
    for (unsigned i = 0; how < 3 && i < how; i++) {
        int axis;
        if (!naive_axis(naive_axis_of(a[1 + i]), x->ndim, &axis) || gone[axis]) return false;
        gone[axis] = true;
    }
    return true;
}

static bool keeps(const int *a) { return U(a[0]) % 4 != 0 && (a[3] & 1); }

static nv *reduced_shape(const nv *x, const int *a, const bool *gone, cbx_dtype t)
{
    size_t shape[CBX_MAX_RANK];
    int n = 0;

    for (int i = 0; i < x->ndim; i++) {
        if (!gone[i])
            shape[n++] = x->shape[i];
        else if (keeps(a))
            shape[n++] = 1;
    }
    return naive_new(t, n, shape);
}

/* The result that element i of x goes into, and its row-major number among the axes that go. */
static size_t bucket(const nv *x, const nv *r, const int *a, const bool *gone, size_t i, size_t *number)
{
    size_t at[CBX_MAX_RANK], to[CBX_MAX_RANK];
    int n = 0;

    naive_index_of(x, i, at);
    *number = 0;
    for (int k = 0; k < x->ndim; k++) {
        if (gone[k]) *number = *number * x->shape[k] + at[k];
        if (!gone[k])
            to[n++] = at[k];
        else if (keeps(a))
            to[n++] = 0;
    }
    return naive_at(r, to);
}

static cbx_dtype sum_dtype(cbx_dtype t)
{
    if (naive_is_unsigned(t)) return CBX_U64;
    return naive_is_whole(t) || t == CBX_BOOL ? CBX_I64 : t;
}

static double unit_of(cbx_dtype t) { return t == CBX_F32 || t == CBX_C64 ? (double)FLT_EPSILON : DBL_EPSILON; }

static void allow(nv *r, size_t i, double d)
{
    size_t n = r->n;
    nv *room;

    if (!r->tol) {
        room = naive_new(CBX_F64, 1, &n); /* its elements are larger than a double each */
        r->tol = (double *)(void *)room->e;
    }
    r->tol[i] += d;
}

typedef struct sum {
    long double re, im, size;
} sum;

static cbx_status summed(const nv *x, const int *a, cbx_dtype t, bool mean, nv **out)
{
    bool gone[CBX_MAX_RANK];
    nv *r, *sums;
    sum *s;
    size_t each = 1, number;

    if (!read_axes(x, a, gone)) return CBX_EINVAL;
    r = reduced_shape(x, a, gone, t);
    sums = naive_new(CBX_F64, 1, &r->n);
    s = calloc(r->n + 1, sizeof *s);
    if (!s || !sums) abort();
    for (int i = 0; i < x->ndim; i++) each *= gone[i] ? x->shape[i] : 1;
    for (size_t i = 0; i < x->n; i++) {
        const size_t to = bucket(x, r, a, gone, i, &number);
        const num v = naive_convert(x->e[i], x->t, mean ? (naive_is_complex(t) ? CBX_C128 : CBX_F64) : t);
        if (naive_is_whole(t)) r->e[to] = naive_fit((num){ r->e[to].i + v.i, 0, 0 }, t);
        s[to].re += (long double)v.re;
        s[to].im += (long double)v.im;
        s[to].size += fabsl((long double)v.re) + fabsl((long double)v.im);
    }
    for (size_t i = 0; i < r->n && !naive_is_whole(t); i++) {
        const long double n = mean ? (long double)each : 1;
        r->e[i] = naive_fit((num){ 0, (double)(s[i].re / n), naive_is_complex(t) ? (double)(s[i].im / n) : 0 }, t);
        allow(r, i, (double)(s[i].size / n) * ((double)each * DBL_EPSILON + 2 * unit_of(t)));
    }
    free(s);
    *out = r;
    return CBX_OK;
}

cbx_status naive_sum(nv *const *in, const int *a, nv **out)
{
    return summed(in[0], a, sum_dtype(in[0]->t), false, out);
}

cbx_status naive_mean(nv *const *in, const int *a, nv **out)
{
    const bool whole = naive_is_whole(in[0]->t) || in[0]->t == CBX_BOOL;
    return summed(in[0], a, whole ? CBX_F64 : in[0]->t, true, out);
}

/* One fold for every reduction whose steps are exact. */
typedef num (*fold_fn)(num state, num x, cbx_dtype t);

static cbx_status folded(const nv *x, const int *a, cbx_dtype t, num begin, fold_fn f, nv **out)
{
    bool gone[CBX_MAX_RANK];
    size_t number;

    if (!read_axes(x, a, gone)) return CBX_EINVAL;
    *out = reduced_shape(x, a, gone, t);
    for (size_t i = 0; i < (*out)->n; i++) (*out)->e[i] = begin;
    for (size_t i = 0; i < x->n; i++) {
        num *state = &(*out)->e[bucket(x, *out, a, gone, i, &number)];
        *state = f(*state, x->e[i], x->t);
    }
    return CBX_OK;
}

static num product_step(num state, num x, cbx_dtype t) { return naive_fit(naive_times(state, x, t), t); }
static num any_step(num state, num x, cbx_dtype t) { return (num){ state.i || naive_truth(x, t), 0, 0 }; }
static num all_step(num state, num x, cbx_dtype t) { return (num){ state.i && naive_truth(x, t), 0, 0 }; }
static num count_step(num state, num x, cbx_dtype t) { return (num){ state.i + naive_truth(x, t), 0, 0 }; }

cbx_status naive_prod(nv *const *in, const int *a, nv **out)
{
    const cbx_dtype t = sum_dtype(in[0]->t);

    if (!naive_is_whole(t)) return NAIVE_SKIP;
    return folded(naive_cast(in[0], t), a, t, (num){ 1, 0, 0 }, product_step, out);
}
cbx_status naive_any(nv *const *in, const int *a, nv **out)
{
    return folded(in[0], a, CBX_BOOL, (num){ 0, 0, 0 }, any_step, out);
}
cbx_status naive_all(nv *const *in, const int *a, nv **out)
{
    return folded(in[0], a, CBX_BOOL, (num){ 1, 0, 0 }, all_step, out);
}
cbx_status naive_count_nonzero(nv *const *in, const int *a, nv **out)
{
    return folded(in[0], a, CBX_I64, (num){ 0, 0, 0 }, count_step, out);
}

/* Extremes and their places: the first of equals, the first NaN before everything. */
static cbx_status extreme(const nv *x, const int *a, bool least, bool place, nv **out)
{
    bool gone[CBX_MAX_RANK];
    nv *r, *best;
    size_t number;

    if (naive_is_complex(x->t)) return NAIVE_ANY_FAILURE;
    if (!read_axes(x, a, gone)) return CBX_EINVAL;
    r = reduced_shape(x, a, gone, place ? CBX_I64 : x->t);
    if (x->n == 0 && r->n > 0) return CBX_ESHAPE;
    best = naive_new(x->t, r->ndim, r->shape);
    for (size_t i = 0; i < r->n; i++) r->e[i].i = -1;
    for (size_t i = 0; i < x->n; i++) {
        const size_t to = bucket(x, r, a, gone, i, &number);
        const bool nan_before = naive_nan(best->e[to], x->t), nan_now = naive_nan(x->e[i], x->t);
        const int c = naive_order(x->e[i], best->e[to], x->t);
        const bool first = number == 0;
        if (first || (!nan_before && (nan_now || (least ? c < 0 : c > 0)))) {
            best->e[to] = x->e[i];
            r->e[to].i = (wide)number;
        }
    }
    if (!place) memcpy(r->e, best->e, r->n * sizeof *r->e);
    r->zeros = true;
    *out = r;
    return CBX_OK;
}

cbx_status naive_max(nv *const *in, const int *a, nv **out) { return extreme(in[0], a, false, false, out); }
cbx_status naive_min(nv *const *in, const int *a, nv **out) { return extreme(in[0], a, true, false, out); }
cbx_status naive_argmax(nv *const *in, const int *a, nv **out) { return extreme(in[0], a, false, true, out); }
cbx_status naive_argmin(nv *const *in, const int *a, nv **out) { return extreme(in[0], a, true, true, out); }

/* ---- along one axis ---- */

static cbx_status running(const nv *x, int axis, cbx_dtype t, fold_fn f, nv **out)
{
    nv *r;

    if (!naive_axis(axis, x->ndim, &axis)) return CBX_EINVAL;
    r = naive_cast(x, t);
    for (size_t i = 0; i < r->n; i++) {
        size_t at[CBX_MAX_RANK];
        naive_index_of(r, i, at);
        if (at[axis]-- == 0) continue;
        r->e[i] = f(r->e[naive_at(r, at)], r->e[i], t);
    }
    *out = r;
    return CBX_OK;
}

static num sum_step(num state, num x, cbx_dtype t) { return naive_fit(naive_plus(state, x, t), t); }

cbx_status naive_cumulative_sum(nv *const *in, const int *a, nv **out)
{
    const cbx_dtype t = sum_dtype(in[0]->t);

    if (t == CBX_F32 || t == CBX_C64) return NAIVE_SKIP; /* rounded once, not at each step */
    return running(in[0], naive_axis_of(a[0]), t, sum_step, out);
}
cbx_status naive_cumulative_prod(nv *const *in, const int *a, nv **out)
{
    const cbx_dtype t = sum_dtype(in[0]->t);

    if (!naive_is_whole(t) && t != CBX_F64) return NAIVE_SKIP;
    return running(in[0], naive_axis_of(a[0]), t, product_step, out);
}
static cbx_status running_extreme(const nv *x, int axis, fold_fn f, nv **out)
{
    cbx_status st;

    if (naive_is_complex(x->t)) return NAIVE_ANY_FAILURE;
    st = running(x, axis, x->t, f, out);
    if (!st) (*out)->zeros = true;
    return st;
}
cbx_status naive_cumulative_max(nv *const *in, const int *a, nv **out)
{
    return running_extreme(in[0], naive_axis_of(a[0]), naive_more, out);
}
cbx_status naive_cumulative_min(nv *const *in, const int *a, nv **out)
{
    return running_extreme(in[0], naive_axis_of(a[0]), naive_smaller, out);
}

cbx_status naive_diff(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0];
    size_t shape[CBX_MAX_RANK];
    int axis;

    if (!naive_axis(naive_axis_of(a[0]), x->ndim, &axis)) return CBX_EINVAL;
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] -= shape[axis] > 0;
    *out = naive_new(x->t, x->ndim, shape);
    for (size_t i = 0; i < (*out)->n; i++) {
        size_t at[CBX_MAX_RANK];
        num before, after;
        naive_index_of(*out, i, at);
        before = x->e[naive_at(x, at)];
        at[axis]++;
        after = x->e[naive_at(x, at)];
        (*out)->e[i] = x->t == CBX_BOOL
                           ? (num){ before.i != after.i, 0, 0 }
                           : naive_fit((num){ after.i - before.i, after.re - before.re, after.im - before.im }, x->t);
    }
    return CBX_OK;
}

/* Of the operand's remainder by 40, which the program takes first (of bool that is int64): no count
 * may ask for memory without end. */
cbx_status naive_bincount(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0];
    size_t n = U(a[0]) % 6;

    if (!naive_is_whole(x->t) && x->t != CBX_BOOL) return NAIVE_ANY_FAILURE;
    if (x->ndim != 1) return CBX_ESHAPE;
    for (size_t i = 0; i < x->n; i++) {
        const size_t bin = (size_t)(((x->e[i].i % 40) + 40) % 40);
        if (bin + 1 > n) n = bin + 1;
    }
    *out = naive_new(CBX_I64, 1, &n);
    for (size_t i = 0; i < x->n; i++) (*out)->e[(size_t)(((x->e[i].i % 40) + 40) % 40)].i++;
    return CBX_OK;
}

/* ---- products ---- */

cbx_status naive_outer(nv *const *in, const int *a, nv **out)
{
    const cbx_dtype t = naive_promote(in[0]->t, in[1]->t);
    const nv *x = naive_cast(in[0], t), *y = naive_cast(in[1], t);

    (void)a;
    *out = naive_new(t, 2, (const size_t[]){ x->n, y->n });
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < y->n; k++) (*out)->e[i * y->n + k] = naive_fit(naive_times(x->e[i], y->e[k], t), t);
    return CBX_OK;
}

/* Operands of rank 1 and 2, whole numbers and bool (or of and); the others are held against
 * NumPy. */
cbx_status naive_matrix_product(nv *const *in, const int *a, nv **out)
{
    const cbx_dtype t = naive_promote(in[0]->t, in[1]->t);
    const nv *x = naive_cast(in[0], t), *y = naive_cast(in[1], t);
    size_t m, n, k, shape[2];
    int rank = 0;

    (void)a;
    if (x->ndim == 0 || y->ndim == 0) return CBX_ESHAPE;
    if (x->ndim > 2 || y->ndim > 2 || !(naive_is_whole(t) || t == CBX_BOOL)) return NAIVE_SKIP;
    m = x->ndim == 2 ? x->shape[0] : 1;
    k = x->shape[x->ndim - 1];
    n = y->ndim == 2 ? y->shape[1] : 1;
    if (y->shape[0] != k) return CBX_ESHAPE;
    if (x->ndim == 2) shape[rank++] = m;
    if (y->ndim == 2) shape[rank++] = n;
    *out = naive_new(t, rank, shape);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++) {
                num *c = &(*out)->e[i * n + j];
                *c = naive_fit(naive_plus(*c, naive_times(x->e[i * k + l], y->e[l * n + j], t), t), t);
            }
    return CBX_OK;
}

static const struct {
    const char *name;
    naive_fn fn;
} evaluators[] = {
#define ROW(name) { #name, naive_##name },
    NAIVE_LIST(ROW)
#undef ROW
};

naive_fn naive_find(const char *name)
{
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++)
        if (strcmp(evaluators[i].name, name) == 0) return evaluators[i].fn;
    return NULL;
}
