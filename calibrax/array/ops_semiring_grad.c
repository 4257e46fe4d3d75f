/*
 * Derivatives of products over an algebra: stacks of dense matrices, one after the other.
 */
#include <string.h>

#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/array/semiring.h"
#include "calibrax/base/pool.h"

/* What a derivative works on: operands of one lead, dense; out has no data yet. */
typedef struct stacks {
    const cbx_semiring *semiring;
    int lead;
    size_t batch, m, k, n;
    size_t shape[3][CBX_MAX_RANK]; /* with the common lead: of A, B and C */
} stacks;

enum { A, B, C };

#define MAX_TERMS ((size_t)INT32_MAX) /* the place of an optimum is a number of 32 bits in float32 */

bool cbx__check_derivative(cbx_ctx *ctx, const char *name, const cbx_semiring *s, size_t n, const cbx_array *const *in)
{
    if (cbx__unusable(ctx, name, n, in)) return false;
    if (!s || s->functions || cbx__traits_of[s->id].derivative == CBX__NO_DERIVATIVE) {
        cbx__refuse(ctx, !s || s->functions ? CBX_EINVAL : CBX_EDTYPE, "'%s' over '%s' has no derivative", name,
                    s ? s->name : "no algebra");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!cbx_semiring_takes(s, in[i]->desc.dtype) || in[i]->desc.dtype != in[0]->desc.dtype) {
            cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes one of float32 and float64, not %s with %s", name,
                        cbx_dtype_name(in[0]->desc.dtype), cbx_dtype_name(in[i]->desc.dtype));
            return false;
        }
        if (in[i]->flags & CBX__ABSTRACT) {
            cbx__refuse(ctx, CBX_EINVAL, "'%s' needs data, operand %zu is abstract", name, i + 1);
            return false;
        }
    }
    return true;
}

bool cbx__same_shape(const cbx_array *x, int ndim, const size_t *shape)
{
    return x->desc.ndim == ndim && memcmp(x->desc.shape, shape, (size_t)ndim * sizeof *shape) == 0;
}

/* Shapes of a product's operands under their common lead; c and others must have the product's. */
static bool stacks_of(cbx_ctx *ctx, const char *name, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                      stacks *s)
{
    char ta[160], tb[160], tc[160];
    bool fits = a->desc.ndim >= 2 && b->desc.ndim >= 2;

    if (fits) {
        const size_t *ea = a->desc.shape + a->desc.ndim - 2, *eb = b->desc.shape + b->desc.ndim - 2;
        fits = cbx__common_lead(a, b, &s->lead, s->shape[A]) && ea[1] == eb[0];
        s->m = ea[0], s->k = ea[1], s->n = eb[1];
    }
    s->batch = 1;
    for (int i = 0; fits && i < s->lead; i++) {
        s->batch *= s->shape[A][i];
        s->shape[B][i] = s->shape[C][i] = s->shape[A][i];
    }
    if (fits) {
        s->shape[A][s->lead] = s->shape[C][s->lead] = s->m;
        s->shape[A][s->lead + 1] = s->shape[B][s->lead] = s->k;
        s->shape[B][s->lead + 1] = s->shape[C][s->lead + 1] = s->n;
        fits = cbx__same_shape(c, s->lead + 2, s->shape[C]);
    }
    if (fits && s->k > MAX_TERMS) {
        cbx__refuse(ctx, CBX_EOVERFLOW, "'%s' counts %zu terms by 32 bits, which reach %zu: split k", name, s->k,
                    MAX_TERMS);
        return false;
    }
    if (!fits)
        cbx__refuse(ctx, CBX_ESHAPE, "'%s' cannot join %s with %s to %s", name,
                    cbx_array_desc_text(&a->desc, ta, sizeof ta), cbx_array_desc_text(&b->desc, tb, sizeof tb),
                    cbx_array_desc_text(&c->desc, tc, sizeof tc));
    return fits;
}

/* x with the lead of the others, dense; the scope holds it.  NULL, with a failure recorded, without memory. */
static const void *dense(cbx_ctx *ctx, const stacks *s, const cbx_array *x, int role)
{
    const cbx_array *wide = cbx__to_shape(ctx, x, s->lead + 2, s->shape[role]);
    cbx_array *copy = NULL;

    if (cbx_array_is_failed(wide)) return NULL;
    if (cbx__ref_dense(ctx, wide, &copy, cbx__sticky(ctx))) return NULL;
    return cbx_array_is_failed(cbx_scope_hold(ctx, copy)) ? NULL : copy->data;
}

static cbx_array *space_for(cbx_ctx *ctx, const stacks *s, int role, cbx_dtype t)
{
    cbx_array_desc d = { t, s->lead + 2, { 0 } };
    cbx_array *x = NULL;

    memcpy(d.shape, s->shape[role], (size_t)d.ndim * sizeof *d.shape);
    return cbx_array_create(ctx, &d, &x, cbx__sticky(ctx)) ? cbx__array_failed() : cbx_scope_hold(ctx, x);
}

/* --- each matrix of a stack: small ones one a thread, large ones by all threads together --- */

typedef void direction(cbx__grad *q);

typedef struct run {
    const stacks *s;
    cbx__grad first; /* of the first matrix */
    direction *go;
    size_t own; /* scratch of a thread [bytes] */
    int team;   /* threads that share the stack; 1: each matrix is for all */
} run;

static void run_one(const run *r, size_t i, char *space)
{
    const size_t size = cbx_dtype_size(r->first.dtype), ma = i * r->s->m * r->s->k * size,
                 mb = i * r->s->k * r->s->n * size, mc = i * r->s->m * r->s->n * size;
    cbx__grad q = r->first;

    q.scratch = space;
    q.a = (const char *)q.a + ma, q.b = (const char *)q.b + mb, q.c = (const char *)q.c + mc;
    if (q.g) q.g = (const char *)q.g + mc, q.da = (char *)q.da + ma, q.db = (char *)q.db + mb;
    if (q.ta) q.ta = (const char *)q.ta + ma, q.tb = (const char *)q.tb + mb, q.tc = (char *)q.tc + mc;
    r->go(&q);
}

static int team_of(const stacks *s)
{
    const double steps = (double)s->m * (double)s->k * (double)s->n;
    const size_t maximum = (size_t)cbx__omp_threads();

    if (s->batch < 2 || steps > 1e8 || steps * (double)s->batch < 1e6) return 1;
    return (int)(s->batch < maximum ? s->batch : maximum);
}

static bool run_all(cbx_ctx *ctx, const stacks *s, const cbx__grad *operands, direction *go)
{
    run r = { .s = s, .first = *operands, .go = go, .team = team_of(s) };
    cbx_block space = { 0 };

    r.first.semiring = s->semiring;
    r.first.m = s->m, r.first.k = s->k, r.first.n = s->n;
    r.first.threads = r.team > 1 ? 1 : cbx__semiring_grad_threads(&r.first);
    r.own = (cbx__semiring_grad_bytes(&r.first) + 63) / 64 * 64;
    if (cbx_pool_get(cbx_ctx_pool(ctx), (size_t)r.team * r.own, &space, cbx__sticky(ctx))) return false;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(r.team) schedule(dynamic) if (r.team > 1)
    for (size_t i = 0; i < r.s->batch; i++)
        run_one(&r, i, (char *)space.data + (r.team > 1 ? (size_t)omp_get_thread_num() * r.own : 0));
#else
    for (size_t i = 0; i < r.s->batch; i++) run_one(&r, i, space.data);
#endif
    cbx_pool_put(cbx_ctx_pool(ctx), space);
    return true;
}

/* A cotangent summed over the axes that its operand was broadcast along. */
static cbx_array *narrowed(cbx_ctx *ctx, cbx_array *d, const cbx_array *like)
{
    cbx_axes axes = { .keep = true };
    const int extra = d->desc.ndim - like->desc.ndim;

    if (cbx_array_is_failed(d)) return d;
    for (int i = 0; i < d->desc.ndim; i++)
        if (i < extra || like->desc.shape[i - extra] != d->desc.shape[i]) axes.axis[axes.n++] = i;
    if (axes.n > 0) d = cbx_sum(ctx, d, &axes);
    return cbx__reshaped(ctx, d, like->desc.ndim, like->desc.shape);
}

void cbx__fail_both(cbx_array *d[2]) { d[0] = d[1] = cbx__array_failed(); }

static void vjp_steps(cbx_ctx *ctx, stacks *s, const cbx_array *const in[4], cbx_array *d[2])
{
    const cbx_dtype t = in[0]->desc.dtype;
    cbx__grad q = { .dtype = t };
    cbx_array *da, *db;

    cbx__fail_both(d);
    q.a = dense(ctx, s, in[0], A), q.b = dense(ctx, s, in[1], B), q.c = dense(ctx, s, in[2], C),
    q.g = dense(ctx, s, in[3], C);
    da = space_for(ctx, s, A, t), db = space_for(ctx, s, B, t);
    if (!q.a || !q.b || !q.c || !q.g || cbx_array_is_failed(da) || cbx_array_is_failed(db)) return;
    q.da = da->data, q.db = db->data;
    if (s->m == 0 || s->k == 0 || s->n == 0) {
        memset(q.da, 0, cbx_array_bytes(da));
        memset(q.db, 0, cbx_array_bytes(db));
    } else if (!run_all(ctx, s, &q, cbx__semiring_backward)) {
        return;
    }
    d[0] = narrowed(ctx, da, in[0]);
    d[1] = narrowed(ctx, db, in[1]);
}

void cbx_semiring_matmul_vjp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                             const cbx_array *g, const cbx_semiring *s, cbx_array *d[2])
{
    const cbx_array *const in[4] = { a, b, c, g };
    const size_t mark = cbx__mark(ctx);
    stacks k = { .semiring = s };

    cbx__fail_both(d);
    if (!cbx__check_derivative(ctx, "semiring_matmul_vjp", s, 4, in) ||
        !stacks_of(ctx, "semiring_matmul_vjp", a, b, c, &k) || !stacks_of(ctx, "semiring_matmul_vjp", a, b, g, &k))
        return;
    vjp_steps(ctx, &k, in, d);
    cbx__tidy_list(ctx, mark, 2, d);
}

cbx_array *cbx_semiring_matmul_jvp(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, const cbx_array *c,
                                   const cbx_array *ta, const cbx_array *tb, const cbx_semiring *s)
{
    const cbx_array *const in[5] = { a, b, c, ta, tb };
    const size_t mark = cbx__mark(ctx);
    char tx[160], ty[160];
    stacks k = { .semiring = s };

    if (!cbx__check_derivative(ctx, "semiring_matmul_jvp", s, 5, in) ||
        !stacks_of(ctx, "semiring_matmul_jvp", a, b, c, &k))
        return cbx__array_failed();
    for (int i = 0; i < 2; i++)
        if (!cbx__same_shape(in[3 + i], in[i]->desc.ndim, in[i]->desc.shape))
            return cbx__refuse(ctx, CBX_ESHAPE, "a tangent of 'semiring_matmul_jvp' is %s, its operand %s",
                               cbx_array_desc_text(&in[3 + i]->desc, tx, sizeof tx),
                               cbx_array_desc_text(&in[i]->desc, ty, sizeof ty));
    cbx__grad q = { .dtype = in[0]->desc.dtype };
    cbx_array *tc = space_for(ctx, &k, C, q.dtype);

    q.a = dense(ctx, &k, in[0], A), q.b = dense(ctx, &k, in[1], B), q.c = dense(ctx, &k, in[2], C);
    q.ta = dense(ctx, &k, in[3], A), q.tb = dense(ctx, &k, in[4], B);
    if (cbx_array_is_failed(tc) || !q.a || !q.b || !q.c || !q.ta || !q.tb) return cbx__array_failed();
    q.tc = tc->data;
    if (k.m == 0 || k.k == 0 || k.n == 0)
        memset(q.tc, 0, cbx_array_bytes(tc));
    else if (!run_all(ctx, &k, &q, cbx__semiring_forward))
        return cbx__array_failed();
    return cbx__tidy(ctx, mark, tc);
}
