/* Folds: what they hold, how parts are joined, and where a nest's results are. */
#include "calibrax/array/jit/folds.h"

#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/reference/reference.h"

cbx__held cbx__fold_beginning(const cbx__nest_fold *f)
{
    const bool flt = f->wide == CBX_F64, max = f->prim == CBX_PRIM_REDUCE_MAX;

    switch (f->prim) {
    case CBX_PRIM_PROD: return flt ? (cbx__held){ .f = 1 } : (cbx__held){ .u = 1 };
    case CBX_PRIM_ALL: return (cbx__held){ .u = 1 };
    case CBX_PRIM_REDUCE_MAX:
    case CBX_PRIM_REDUCE_MIN:
        if (flt) return (cbx__held){ .f = f->skips_nan ? (double)NAN : max ? -HUGE_VAL : HUGE_VAL };
        if (f->wide == CBX_I64) return (cbx__held){ .i = max ? INT64_MIN : INT64_MAX };
        return (cbx__held){ .u = max ? 0 : UINT64_MAX };
    default: return (cbx__held){ .u = 0 }; /* SUM, ANY */
    }
}

static double better(const cbx__nest_fold *f, double t, double x)
{
    const bool keeps = f->prim == CBX_PRIM_REDUCE_MAX ? t >= x : t <= x;
    return keeps || (f->skips_nan ? x != x : t != t) ? t : x;
}

/* Two parts of a row, the first and the second. */
cbx__held cbx__fold_joined(const cbx__nest_fold *f, cbx__held t, cbx__held x)
{
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;

    switch (f->prim) {
    case CBX_PRIM_SUM: return (cbx__held){ .u = t.u + x.u };
    case CBX_PRIM_PROD: return f->wide == CBX_F64 ? (cbx__held){ .f = t.f * x.f } : (cbx__held){ .u = t.u * x.u };
    case CBX_PRIM_ANY: return (cbx__held){ .u = t.u | x.u };
    case CBX_PRIM_ALL: return (cbx__held){ .u = t.u & x.u };
    default: break;
    }
    if (f->wide == CBX_F64) return (cbx__held){ .f = better(f, t.f, x.f) };
    if (f->wide == CBX_I64) return (cbx__held){ .i = (max ? x.i > t.i : x.i < t.i) ? x.i : t.i };
    return (cbx__held){ .u = (max ? x.u > t.u : x.u < t.u) ? x.u : t.u };
}

static double extreme_of(const cbx__nest_fold *f, const double *a, size_t n)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;

    if (f->skips_nan) return max ? k->run_nanmax_f64(a, n) : k->run_nanmin_f64(a, n);
    return max ? k->run_max_f64(a, n) : k->run_min_f64(a, n);
}

/* n > 0 elements of a tile behind those that were before. */
cbx__held cbx__folded(const cbx__nest_fold *f, cbx__held t, const void *tile, size_t n)
{
    const double *d = tile;
    const uint64_t *u = tile;
    const uint8_t *b = tile;

    if (f->wide == CBX_BOOL && (f->prim == CBX_PRIM_ANY || f->prim == CBX_PRIM_ALL)) {
        uint8_t any = 0, all = 1;
        for (size_t i = 0; i < n; i++) any |= b[i], all &= b[i];
        t = cbx__fold_joined(f, t, (cbx__held){ .u = f->prim == CBX_PRIM_ANY ? any : all });
    } else if (f->wide == CBX_BOOL) {
        for (size_t i = 0; i < n; i++) t = cbx__fold_joined(f, t, (cbx__held){ .u = b[i] });
    } else if (f->wide == CBX_F64 && f->prim != CBX_PRIM_PROD) {
        t = cbx__fold_joined(f, t, (cbx__held){ .f = extreme_of(f, d, n) });
    } else if (f->prim == CBX_PRIM_SUM) {
        for (size_t i = 0; i < n; i++) t.u += u[i];
    } else {
        for (size_t i = 0; i < n; i++) t = cbx__fold_joined(f, t, (cbx__held){ .u = u[i] });
    }
    return t;
}

void cbx__fold_store(const cbx__nest_fold *f, cbx__held t, char *to)
{
    const cbx_dtype given = f->wide;
    cbx__loop put = given == f->to ? cbx__copy_loop(given) : cbx__loops_get()->cast(given, f->to);
    uint8_t b = (uint8_t)t.u;
    put(1, (char *const[]){ to, given == CBX_BOOL ? (char *)&b : (char *)&t }, (const ptrdiff_t[]){ 0, 0 });
}

size_t cbx__nest_points(const cbx__nest *n, bool gone)
{
    size_t count = 1;
    for (int i = 0; i < n->ndim; i++)
        if ((n->gone >> i & 1) == gone) count *= n->shape[i];
    return count;
}

/* To result number `at`: where its streams begin and where each fold's result is. */
void cbx__nest_seek(const cbx__nest_call *c, size_t at, int last, char **p, char **to)
{
    const cbx__nest *n = c->nest;

    memcpy(p, c->at, n->kernel.streams.n * sizeof *p);
    memcpy(to, c->results, n->nfolds * sizeof *to);
    cbx__nest_move(n, at, last, false, p);
    for (int i = last; i >= 0; i--) {
        if (n->gone >> i & 1) continue;
        const ptrdiff_t index = (ptrdiff_t)(at % n->shape[i]);
        at /= n->shape[i];
        for (size_t f = 0; index && f < n->nfolds; f++) to[f] += index * n->folds[f].result.strides[i];
    }
}

void cbx__nest_steps(const cbx__nest *n, int dim, int64_t *steps)
{
    for (size_t s = 0; s < n->kernel.streams.n; s++) steps[s] = dim < 0 ? 0 : n->sites[s].strides[dim];
}

void cbx__nest_move(const cbx__nest *n, size_t at, int last, bool gone, char **p)
{
    for (int i = last; i >= 0; i--) {
        if ((n->gone >> i & 1) != gone) continue;
        const ptrdiff_t index = (ptrdiff_t)(at % n->shape[i]);
        at /= n->shape[i];
        for (size_t s = 0; index && s < n->kernel.streams.n; s++) p[s] += index * n->sites[s].strides[i];
    }
}
