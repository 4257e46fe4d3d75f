/* Numbers, dtypes and multi-indices of the naive evaluator. */
#include "naive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MOST 4096

static void *kept[KEPT_MOST];
static size_t nkept;

static void *keep(size_t bytes)
{
    if (nkept == KEPT_MOST) abort();
    kept[nkept] = calloc(1, bytes + 1);
    if (!kept[nkept]) abort();
    return kept[nkept++];
}

void naive_forget(void)
{
    while (nkept > 0) free(kept[--nkept]);
}

nv *naive_new(cbx_dtype t, int ndim, const size_t *shape)
{
    nv *x = keep(sizeof *x);

    *x = (nv){ .t = t, .ndim = ndim, .n = 1 };
    for (int i = 0; i < ndim; i++) {
        x->shape[i] = shape[i];
        x->n *= shape[i];
    }
    x->e = keep(x->n * sizeof *x->e);
    return x;
}

bool naive_is_complex(cbx_dtype t) { return t == CBX_C64 || t == CBX_C128; }
bool naive_is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }
bool naive_is_unsigned(cbx_dtype t) { return t == CBX_U8 || t == CBX_U16 || t == CBX_U32 || t == CBX_U64; }
bool naive_is_whole(cbx_dtype t) { return t != CBX_BOOL && !naive_is_float(t) && !naive_is_complex(t); }

size_t naive_bytes(cbx_dtype t)
{
    switch (t) {
    case CBX_BOOL:
    case CBX_I8:
    case CBX_U8: return 1;
    case CBX_I16:
    case CBX_U16: return 2;
    case CBX_I32:
    case CBX_U32:
    case CBX_F32: return 4;
    case CBX_C128: return 16;
    default: return 8;
    }
}

static cbx_dtype whole_of(bool is_unsigned, size_t bytes)
{
    static const cbx_dtype with_sign[] = { CBX_I8, CBX_I16, CBX_I32, CBX_I64 },
                           without[] = { CBX_U8, CBX_U16, CBX_U32, CBX_U64 };
    const int at = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    return is_unsigned ? without[at] : with_sign[at];
}

/* The float in which whole numbers of t are taken: float32 has room for those of two bytes. */
static bool fits_float32(cbx_dtype t) { return naive_bytes(t) <= 2; }

cbx_dtype naive_promote(cbx_dtype a, cbx_dtype b)
{
    bool single = true;

    if (a == b || b == CBX_BOOL) return a;
    if (a == CBX_BOOL) return b;
    if (naive_is_whole(a) && naive_is_whole(b)) {
        const cbx_dtype s = naive_is_unsigned(a) ? b : a, u = naive_is_unsigned(a) ? a : b;
        const size_t larger = naive_bytes(a) > naive_bytes(b) ? naive_bytes(a) : naive_bytes(b);
        if (naive_is_unsigned(a) == naive_is_unsigned(b)) return whole_of(naive_is_unsigned(a), larger);
        if (naive_bytes(s) > naive_bytes(u)) return s;
        return naive_bytes(u) == 8 ? CBX_F64 : whole_of(false, 2 * naive_bytes(u));
    }
    for (int i = 0; i < 2; i++) {
        const cbx_dtype t = i ? b : a;
        single = single && (naive_is_whole(t) ? fits_float32(t) : t == CBX_F32 || t == CBX_C64);
    }
    if (naive_is_complex(a) || naive_is_complex(b)) return single ? CBX_C64 : CBX_C128;
    return single ? CBX_F32 : CBX_F64;
}

/* By way of memory: gcc 12 takes a pair of (double)(float) conversions for no conversion at all
 * when it vectorises them. */
static double to_single(double x)
{
    volatile float f = (float)x;
    return (double)f;
}

num naive_fit(num x, cbx_dtype t)
{
    const int bits = 8 * (int)naive_bytes(t);

    if (t == CBX_BOOL) {
        x.i = x.i != 0;
    } else if (naive_is_whole(t)) {
        const wide size = (wide)1 << bits;
        x.i = ((x.i % size) + size) % size;
        if (!naive_is_unsigned(t) && x.i >= size / 2) x.i -= size;
    } else if (t == CBX_F32 || t == CBX_C64) {
        x.re = to_single(x.re);
        x.im = to_single(x.im);
    }
    return x;
}

static wide most_of(cbx_dtype t)
{
    const int bits = 8 * (int)naive_bytes(t);
    return ((wide)1 << (naive_is_unsigned(t) ? bits : bits - 1)) - 1;
}
static wide least_of(cbx_dtype t) { return naive_is_unsigned(t) ? 0 : -most_of(t) - 1; }

num naive_convert(num x, cbx_dtype from, cbx_dtype to)
{
    const bool numbers = naive_is_float(from) || naive_is_complex(from);
    num r = { 0, 0, 0 };

    if (to == CBX_BOOL) {
        r.i = naive_truth(x, from);
        return r;
    }
    if (naive_is_whole(to)) {
        if (!numbers) return naive_fit((num){ x.i, 0, 0 }, to);
        if (isnan(x.re)) return r;
        r.i = x.re >= (double)most_of(to) ? most_of(to) : x.re <= (double)least_of(to) ? least_of(to) : (wide)x.re;
        return r;
    }
    if (numbers) return naive_fit(x, to);
    r.re = to == CBX_F32 || to == CBX_C64 ? (double)(float)x.i : (double)x.i;
    return r;
}

nv *naive_cast(const nv *x, cbx_dtype t)
{
    nv *r = naive_new(t, x->ndim, x->shape);

    for (size_t i = 0; i < x->n; i++) r->e[i] = x->t == t ? x->e[i] : naive_convert(x->e[i], x->t, t);
    return r;
}

size_t naive_at(const nv *x, const size_t *index)
{
    size_t at = 0;

    for (int i = 0; i < x->ndim; i++) at = at * x->shape[i] + index[i];
    return at;
}

void naive_index_of(const nv *x, size_t at, size_t *index)
{
    for (int i = x->ndim - 1; i >= 0; i--) {
        index[i] = at % x->shape[i];
        at /= x->shape[i];
    }
}

bool naive_truth(num x, cbx_dtype t)
{
    return naive_is_complex(t) ? x.re != 0 || x.im != 0 : naive_is_float(t) ? x.re != 0 : x.i != 0;
}

bool naive_nan(num x, cbx_dtype t)
{
    return naive_is_complex(t) ? isnan(x.re) || isnan(x.im) : naive_is_float(t) && isnan(x.re);
}

int naive_order(num a, num b, cbx_dtype t)
{
    if (!naive_is_float(t)) return (a.i > b.i) - (a.i < b.i);
    if (isnan(a.re) || isnan(b.re)) return (isnan(a.re) != 0) - (isnan(b.re) != 0);
    return (a.re > b.re) - (a.re < b.re);
}
