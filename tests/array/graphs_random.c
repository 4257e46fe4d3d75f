/* Each step takes arrays that are there and adds one; those that an operation refuses are left out
 * by asking first. */
#include "graphs_random.h"

#include <math.h>

#include "check.h"

#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"

enum { MOST = 64 };

typedef struct pool {
    cbx_ctx *c;
    cbx_rng rng;
    size_t n;
    cbx_array *a[MOST];
} pool;

static uint64_t below(pool *p, uint64_t n) { return cbx_rng_below(&p->rng, n); }
static const cbx_array_desc *d(const cbx_array *a) { return cbx_array_get_desc(a); }

/* Recent arrays more often than old ones. */
static cbx_array *any(pool *p)
{
    const uint64_t back = below(p, 2) ? below(p, p->n < 4 ? p->n : 4) : below(p, p->n);
    return p->a[p->n - 1 - back];
}

static cbx_array *as_float(pool *p, cbx_array *x)
{
    return cbx_dtype_kind(d(x)->dtype) == CBX_KIND_FLOAT ? x : cbx_astype(p->c, x, CBX_F64);
}

static bool broadcasts(const cbx_array_desc *x, const cbx_array_desc *y)
{
    for (int i = 1; i <= x->ndim && i <= y->ndim; i++) {
        const size_t a = x->shape[x->ndim - i], b = y->shape[y->ndim - i];
        if (a != b && a != 1 && b != 1) return false;
    }
    return true;
}

/* One that joins x by broadcasting; x itself if none is found. */
static cbx_array *partner(pool *p, cbx_array *x)
{
    for (int tries = 0; tries < 6; tries++) {
        cbx_array *y = any(p);
        if (broadcasts(d(x), d(y)) && cbx_array_count(x) * cbx_array_count(y) < 4000000) return y;
    }
    return x;
}

static cbx_array *unary(pool *p)
{
    static cbx_array *(*const f[])(cbx_ctx *, const cbx_array *) = {
        cbx_negative, cbx_abs,   cbx_sign,  cbx_exp,   cbx_sqrt,     cbx_log1p, cbx_sin,         cbx_tanh,
        cbx_square,   cbx_floor, cbx_isnan, cbx_isinf, cbx_isfinite, cbx_atan,  cbx_logical_not,
    };
    cbx_array *x = any(p);
    const uint64_t i = below(p, CBX_LEN(f));
    if (d(x)->dtype == CBX_BOOL) x = as_float(p, x);
    return f[i](p->c, x);
}

static cbx_array *binary(pool *p)
{
    static cbx_array *(*const f[])(cbx_ctx *, const cbx_array *, const cbx_array *) = {
        cbx_add,   cbx_subtract,      cbx_multiply, cbx_divide,    cbx_maximum, cbx_minimum,   cbx_less,
        cbx_equal, cbx_greater_equal, cbx_hypot,    cbx_remainder, cbx_atan2,   cbx_not_equal, cbx_floor_divide,
    };
    const uint64_t i = below(p, CBX_LEN(f));
    cbx_array *x = any(p), *y = partner(p, x);
    return f[i](p->c, as_float(p, x), below(p, 2) ? as_float(p, y) : y);
}

static cbx_array *scalar(pool *p)
{
    const double v = floor(8 * cbx_rng_uniform(&p->rng)) / 4 - 1;
    cbx_array *x = as_float(p, any(p));

    switch (below(p, 4)) {
    case 0: return cbx_add_scalar(p->c, x, v);
    case 1: return cbx_multiply_scalar(p->c, x, v);
    case 2: return cbx_greater_scalar(p->c, x, v);
    default: return cbx_clip_scalar(p->c, x, cbx_float(-fabs(v)), cbx_float(fabs(v)));
    }
}

static cbx_array *choice(pool *p)
{
    cbx_array *x = any(p), *y = partner(p, x), *t = cbx_greater_scalar(p->c, as_float(p, x), 0);
    return cbx_where(p->c, t, as_float(p, y), as_float(p, x));
}

static cbx_array *reduction(pool *p)
{
    cbx_array *x = any(p);
    cbx_axes axes = { .keep = below(p, 2) != 0 };
    const int n = d(x)->ndim;
    const bool all = n == 0 || below(p, 4) == 0;

    for (int i = 0; i < n && !all; i++)
        if (below(p, 2) || (i == n - 1 && axes.n == 0)) axes.axis[axes.n++] = i;
    switch (below(p, 9)) {
    case 0:
    case 1: return cbx_sum(p->c, x, all ? NULL : &axes);
    case 2: return cbx_max(p->c, x, all ? NULL : &axes);
    case 3: return cbx_min(p->c, x, all ? NULL : &axes);
    case 4: return cbx_any(p->c, x, all ? NULL : &axes);
    case 5: return cbx_all(p->c, x, all ? NULL : &axes);
    case 6: return cbx_mean(p->c, as_float(p, x), all ? NULL : &axes);
    case 7: return cbx_nanmax(p->c, as_float(p, x), all ? NULL : &axes);
    default: return cbx_prod(p->c, x, all ? NULL : &axes);
    }
}

static cbx_array *movement(pool *p)
{
    cbx_array *x = any(p);
    const int n = d(x)->ndim;
    int order[CBX_MAX_RANK];
    size_t shape[CBX_MAX_RANK], all[CBX_MAX_RANK] = { 0 };

    switch (n ? below(p, 8) : 7) {
    case 0:
        for (int i = 0; i < n; i++) order[i] = (i + 1) % n;
        return cbx_permute_dims(p->c, x, order);
    case 1: return cbx_flip(p->c, x, (int)below(p, (uint64_t)n));
    case 2: {
        const int axis = (int)below(p, (uint64_t)n);
        const ptrdiff_t length = (ptrdiff_t)d(x)->shape[axis];
        return length < 2 ? x : cbx_slice(p->c, x, axis, (ptrdiff_t)below(p, 2), length, 1 + (ptrdiff_t)below(p, 2));
    }
    case 3: return cbx_flatten(p->c, x);
    case 4: return n < 5 ? cbx_expand_dims(p->c, x, (int)below(p, (uint64_t)n + 1)) : x;
    case 5: {
        const ptrdiff_t last = (ptrdiff_t)d(x)->shape[n - 1];
        ptrdiff_t split[CBX_MAX_RANK];
        if (n > 4 || last % 2) return x;
        for (int i = 0; i < n - 1; i++) split[i] = (ptrdiff_t)d(x)->shape[i];
        split[n - 1] = last / 2;
        split[n] = 2;
        return cbx_reshape(p->c, x, n + 1, split);
    }
    case 6: return cbx_index(p->c, x, 0, 0);
    default:
        if (n > 4 || cbx_array_count(x) > 2000) return x;
        shape[0] = 1 + below(p, 9);
        for (int i = 0; i < n; i++) shape[i + 1] = d(x)->shape[i];
        (void)all;
        return cbx_broadcast_to(p->c, x, n + 1, shape);
    }
}

static cbx_array *other(pool *p)
{
    cbx_array *x = any(p);
    const size_t length = d(x)->ndim ? d(x)->shape[d(x)->ndim - 1] : 0;

    switch (below(p, 6)) {
    case 0: return length ? cbx_cumulative_sum(p->c, x, -1) : x;
    case 1: return length ? cbx_sort(p->c, as_float(p, x), -1, false) : x;
    case 2: return length ? cbx_arange_int(p->c, 0, (int64_t)length, 1, below(p, 2) ? CBX_F64 : CBX_I64) : x;
    case 3: return cbx_full_like(p->c, x, cbx_float(3));
    case 4: return cbx_astype(p->c, x, below(p, 2) ? CBX_F32 : CBX_I32);
    default: return d(x)->ndim ? cbx_concat(p->c, 2, (const cbx_array *const[]){ x, x }, 0) : x;
    }
}

cbx_status graph_function(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const graph_trial *t = user;
    pool p = { .c = c, .rng = cbx_rng_make(t->seed, 1) };

    for (size_t i = 0; i < nin; i++) p.a[p.n++] = in[i];
    for (unsigned s = 0; s < t->steps && p.n < MOST; s++) {
        static cbx_array *(*const kinds[])(pool *) = { unary,  unary,     binary,    binary,   binary,   scalar, scalar,
                                                       choice, reduction, reduction, movement, movement, other };
        cbx_array *r = kinds[below(&p, CBX_LEN(kinds))](&p);
        if (cbx_array_is_failed(r)) return cbx_ctx_pending(c, NULL);
        if (cbx_array_count(r) < 1000000) p.a[p.n++] = r;
    }
    for (size_t i = 0; i < nout; i++) out[i] = i ? any(&p) : p.a[p.n - 1];
    return CBX_OK;
}

void graph_inputs(cbx_ctx *c, const graph_trial *t, cbx_array *in[GRAPH_INPUTS])
{
    cbx_rng rng = cbx_rng_make(t->seed, 2);
    const size_t n = 1 + cbx_rng_below(&rng, 40), m = 1 + cbx_rng_below(&rng, 300), k = 1 + cbx_rng_below(&rng, 9);
    const cbx_array_desc descs[GRAPH_INPUTS] = {
        { CBX_F64, 2, { n, m } }, { CBX_F64, 1, { m } }, { CBX_F32, 3, { n, m, k } }, { CBX_I64, 2, { n, 1 } }
    };

    for (size_t i = 0; i < GRAPH_INPUTS; i++) {
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_array_create(c, &descs[i], &in[i], &err), &err, "an operand");
        for (size_t e = 0; e < cbx_array_count(in[i]); e++) {
            static const double special[] = { 0.0, -0.0, 1, NAN, INFINITY, -INFINITY, -1, 1e300 };
            const double v = cbx_rng_below(&rng, 40) ? 3 * cbx_rng_normal(&rng) : special[cbx_rng_below(&rng, 8)];
            void *to = (void *)(uintptr_t)cbx_array_data(in[i]);
            if (descs[i].dtype == CBX_F64) ((double *)to)[e] = v;
            if (descs[i].dtype == CBX_F32) ((float *)to)[e] = (float)v;
            if (descs[i].dtype == CBX_I64) ((int64_t *)to)[e] = (int64_t)cbx_rng_below(&rng, 9) - 4;
        }
    }
}
