/*
 * What a row declares, tried on random operands: its range, its axioms, its invariances.  The first draw where one of them does not
 * hold ends the trial, with the numbers that show it.
 */
#include <math.h>
#include <string.h>

#include "calibrax/metrics/draw.h"

typedef struct trial {
    cbx_ctx *ctx;
    const cbx_metric_function *m;
    const cbx_metric_options *options;
    cbx_rng rng;
    cbx_err *err;
} trial;

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))) || a == b; }

#define REFUSE(t, fmt, ...) cbx_fail((t)->err, CBX_EDOM, "%s " fmt, (t)->m->name, __VA_ARGS__)

static cbx_status draw(trial *t, cbx__drawn *out) { return cbx__draw_operands(t->ctx, &t->rng, t->m, 0, out, t->err); }

/* The result as float64; the caller's. */
static cbx_status result_of(const trial *t, size_t nin, cbx_array *const *in, cbx_array **out)
{
    cbx_array *r;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(t->ctx, &scope);
    r = cbx_copy(t->ctx, cbx_astype(t->ctx, cbx_metric_apply(t->ctx, t->m, nin, in, t->options), CBX_F64));
    st = cbx_scope_close_keep(&scope, 1, &r, t->err);
    if (!st) *out = r;
    return st;
}

/* The metric of two operands as one number. */
static cbx_status number_of(const trial *t, cbx_array *x, cbx_array *y, double *out)
{
    cbx_array *r = NULL;
    cbx_status st = result_of(t, 2, (cbx_array *[]){ x, y }, &r);

    if (!st && cbx_array_count(r) != 1)
        st = cbx_fail(t->err, CBX_ESHAPE, "%s has axioms, and its result is no single number", t->m->name);
    if (!st) *out = cbx__metric_element(r, 0);
    cbx_array_free(r);
    return st;
}

/* ---- range ---- */

static cbx_status try_range(trial *t)
{
    cbx_array *r = NULL;
    cbx__drawn d;
    cbx_status st = draw(t, &d);

    if (!st) st = result_of(t, d.nin, d.in, &r);
    for (size_t i = 0; !st && i < cbx_array_count(r); i++) {
        const double x = cbx__metric_element(r, i);
        if (!(x >= t->m->low - 1e-12 && x <= t->m->high + 1e-12))
            st = REFUSE(t, "is %.17g, outside %g to %g", x, t->m->low, t->m->high);
    }
    cbx_array_free(r);
    cbx__drawn_free(&d);
    return st;
}

/* ---- axioms ---- */

/* Half way between two operands, where it is one: there the triangle inequality is tight, or broken. */
static cbx_status middle(const trial *t, const cbx_array *x, const cbx_array *z, cbx_array **out)
{
    const cbx_operand_kind kind = t->m->operands[0].kind;
    cbx_array *r;
    cbx_scope scope;

    *out = NULL;
    if (kind == CBX_OPERAND_FRAME || kind == CBX_OPERAND_HYPERBOLOID || cbx_array_dtype(x) != CBX_F64 ||
        !cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(z))) {
        *out = cbx_array_ref((cbx_array *)(uintptr_t)z);
        return CBX_OK;
    }
    cbx_scope_open(t->ctx, &scope);
    r = cbx_multiply_scalar(t->ctx, cbx_add(t->ctx, x, z), 0.5);
    const cbx_status st = cbx_scope_close_keep(&scope, 1, &r, t->err);
    if (!st) *out = r;
    return st;
}

static cbx_status triangle(const trial *t, cbx_array *x, cbx_array *y, cbx_array *z)
{
    double xy = 0, yz = 0, xz = 0;
    cbx_status st = number_of(t, x, y, &xy);

    if (!st) st = number_of(t, y, z, &yz);
    if (!st) st = number_of(t, x, z, &xz);
    if (!st && !(xz <= (xy + yz) * (1 + 1e-9) + 1e-12))
        st = REFUSE(t, "breaks the triangle inequality: %.17g > %.17g + %.17g", xz, xy, yz);
    return st;
}

static cbx_status try_axioms(trial *t)
{
    const unsigned axioms = t->m->axioms;
    cbx_array *half = NULL;
    double xy = 0, yx = 0, xx = 0;
    cbx__drawn x, y = { 0 };
    cbx_status st = CBX_OK;

    if (!(axioms & CBX_AXIOMS_METRIC)) return CBX_OK;
    st = draw(t, &x);
    if (!st) st = draw(t, &y);
    if (!st && x.nin != 2)
        st = cbx_fail(t->err, CBX_EINVAL, "%s has axioms of two operands, and takes %zu", t->m->name, x.nin);
    if (!st) st = number_of(t, x.in[0], x.in[1], &xy);
    if (!st && axioms & CBX_AXIOM_SYMMETRIC) st = number_of(t, x.in[1], x.in[0], &yx);
    if (!st && axioms & CBX_AXIOM_IDENTITY) st = number_of(t, x.in[0], x.in[0], &xx);
    if (!st && axioms & CBX_AXIOM_SYMMETRIC && !near(xy, yx))
        st = REFUSE(t, "is not symmetric: %.17g and %.17g", xy, yx);
    if (!st && axioms & CBX_AXIOM_IDENTITY && !(fabs(xx) <= 1e-9)) st = REFUSE(t, "of x and x is %.17g, not 0", xx);
    if (!st && axioms & CBX_AXIOM_POSITIVE && !(xy > 0)) st = REFUSE(t, "of x and another y is %.17g", xy);
    if (!st && axioms & CBX_AXIOM_TRIANGLE) {
        st = triangle(t, x.in[0], x.in[1], y.in[1]);
        if (!st) st = middle(t, x.in[0], y.in[1], &half);
        if (!st) st = triangle(t, x.in[0], half, y.in[1]);
    }
    cbx_array_free(half);
    cbx__drawn_free(&x);
    cbx__drawn_free(&y);
    return st;
}

/* ---- invariances ---- */

typedef struct change {
    unsigned bit;
    const char *name;
    /* Changes the n elements of operand i; own: a random stream of this operand, common: the same one for all. */
    void (*apply)(const cbx_metric_function *m, size_t i, const cbx_array_desc *d, double *v, size_t n, cbx_rng *own,
                  cbx_rng *common);
} change;

#define CHANGE(name)                                                                                                   \
    static void name(const cbx_metric_function *m, size_t i, const cbx_array_desc *d, double *v, size_t n,             \
                     cbx_rng *own, cbx_rng *common)

CHANGE(scale)
{
    const double s = exp(cbx_rng_normal(own));
    (void)m, (void)i, (void)d, (void)common;
    for (size_t k = 0; k < n; k++) v[k] *= s;
}
CHANGE(common_scale)
{
    const double s = exp(cbx_rng_normal(common));
    (void)m, (void)i, (void)d, (void)own;
    for (size_t k = 0; k < n; k++) v[k] *= s;
}

/* Elements of one item along the last axis, if the kind has any. */
static size_t item_width(cbx_operand_kind kind, const cbx_array_desc *d)
{
    const bool rows = kind == CBX_OPERAND_VECTORS || kind == CBX_OPERAND_POINTS ||
                      kind == CBX_OPERAND_VECTOR_ENSEMBLE || kind == CBX_OPERAND_BALL ||
                      kind == CBX_OPERAND_HYPERBOLOID || kind == CBX_OPERAND_CLASS_VECTORS;
    return rows ? d->shape[d->ndim - 1] : 1;
}

CHANGE(shift)
{
    const size_t width = item_width(m->operands[i].kind, d);
    double by[8];
    (void)own;
    for (size_t k = 0; k < 8; k++) by[k] = cbx_rng_normal(common);
    for (size_t k = 0; k < n; k++) v[k] += by[k % width];
}
CHANGE(rotation)
{
    const size_t width = item_width(m->operands[i].kind, d);
    const double angle = 6 * cbx_rng_uniform(common), c = cos(angle), s = sin(angle);
    (void)own;
    for (size_t k = 0; k + width <= n; k += width)
        for (size_t j = 0; j + 1 < width; j++) {
            const double a = v[k + j], b = v[k + j + 1];
            v[k + j] = c * a - s * b;
            v[k + j + 1] = s * a + c * b;
        }
}

static void permute(double *v, size_t rows, size_t n, cbx_rng *rng)
{
    const size_t width = n / rows;

    for (size_t left = rows; left > 1; left--) {
        const size_t last = (left - 1) * width, other = cbx_rng_below(rng, left) * width;
        for (size_t k = 0; k < width; k++) {
            const double x = v[last + k];
            v[last + k] = v[other + k];
            v[other + k] = x;
        }
    }
}
CHANGE(order)
{
    (void)own;
    if (cbx__operand_is_shared(m->operands[i].kind)) return;
    permute(v, d->shape[0], n, common);
}
CHANGE(sample_order)
{
    (void)m, (void)i, (void)common;
    permute(v, d->shape[0], n, own);
}
CHANGE(monotone)
{
    (void)own, (void)common;
    if (i > 0) return;
    for (size_t k = 0; k < n; k++)
        v[k] = m->operands[0].kind == CBX_OPERAND_PROBABILITY ? v[k] * v[k] : v[k] * v[k] * v[k] + v[k];
    (void)d;
}
CHANGE(relabel)
{
    size_t p[256], labels = 1;
    (void)common;
    if (m->operands[i].kind == CBX_OPERAND_ADJACENCY) {
        double was[64];
        const size_t rows = d->shape[0];
        memcpy(was, v, n * sizeof *v);
        cbx_rng_permutation(own, rows, p);
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < rows; b++) v[a * rows + b] = was[p[a] * rows + p[b]];
    } else if (m->operands[i].kind == CBX_OPERAND_LABELS) {
        for (size_t k = 0; k < n; k++) labels = v[k] + 1 > (double)labels ? (size_t)v[k] + 1 : labels;
        cbx_rng_permutation(own, labels, p);
        for (size_t k = 0; k < n; k++) v[k] = (double)p[(size_t)v[k]];
    }
}

/* G A G^T of a square matrix, or G A where it is not. */
static void transform(double *v, const cbx_array_desc *d, const double *g, bool both)
{
    const size_t n = d->shape[0], p = d->shape[1];
    double t[64] = { 0 };

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            for (size_t k = 0; k < n; k++) t[i * p + j] += g[i * n + k] * v[k * p + j];
    memcpy(v, t, n * p * sizeof *v);
    if (!both) return;
    memset(t, 0, sizeof t);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++) t[i * n + j] += v[i * n + k] * g[j * n + k];
    memcpy(v, t, n * n * sizeof *v);
}
CHANGE(congruence)
{
    double g[64];
    (void)m, (void)i, (void)own, (void)n;
    for (size_t k = 0; k < d->shape[0] * d->shape[0]; k++)
        g[k] = cbx_rng_normal(common) + 2 * (k % (d->shape[0] + 1) == 0);
    transform(v, d, g, true);
}
CHANGE(orthogonal)
{
    const size_t rows = d->shape[0];
    double g[64] = { 0 };
    (void)own, (void)n;
    for (size_t k = 0; k < rows; k++) g[k * rows + k] = 1;
    for (size_t k = 0; k + 1 < rows; k++) { /* a product of rotations */
        const double angle = 6 * cbx_rng_uniform(common), c = cos(angle), s = sin(angle);
        for (size_t j = 0; j < rows; j++) {
            const double a = g[k * rows + j], b = g[(k + 1) * rows + j];
            g[k * rows + j] = c * a - s * b;
            g[(k + 1) * rows + j] = s * a + c * b;
        }
    }
    transform(v, d, g, m->operands[i].kind == CBX_OPERAND_SPD);
}
CHANGE(lorentz)
{
    const size_t width = d->shape[d->ndim - 1];
    const double r = cbx_rng_normal(common), c = cosh(r), s = sinh(r);
    (void)m, (void)i, (void)own;
    for (size_t k = 0; k + width <= n; k += width) {
        const double a = v[k], b = v[k + 1];
        v[k] = c * a + s * b;
        v[k + 1] = s * a + c * b;
    }
}

static const change changes[] = {
    { CBX_INVARIANT_SCALE, "scale", scale },
    { CBX_INVARIANT_COMMON_SCALE, "common scale", common_scale },
    { CBX_INVARIANT_SHIFT, "shift", shift },
    { CBX_INVARIANT_ROTATION, "rotation", rotation },
    { CBX_INVARIANT_ORDER, "order", order },
    { CBX_INVARIANT_SAMPLE_ORDER, "order of each sample", sample_order },
    { CBX_INVARIANT_MONOTONE, "monotone", monotone },
    { CBX_INVARIANT_RELABEL, "relabel", relabel },
    { CBX_INVARIANT_CONGRUENCE, "congruence", congruence },
    { CBX_INVARIANT_ORTHOGONAL, "orthogonal", orthogonal },
    { CBX_INVARIANT_LORENTZ, "Lorentz", lorentz },
};

static cbx_status changed(const trial *t, const change *how, size_t i, cbx_array *x, cbx_rng *own, cbx_rng common,
                          cbx_array **out)
{
    const cbx_array_desc *d = cbx_array_get_desc(x);
    const size_t n = cbx_array_count(x), bytes = n * sizeof(double);
    double *v = cbx_mem_alloc(cbx_ctx_allocator(t->ctx), bytes);
    cbx_status st;

    if (!v) return cbx_fail_nomem(t->err, "changed operands");
    for (size_t k = 0; k < n; k++) v[k] = cbx__metric_element(x, k);
    how->apply(t->m, i, d, v, n, own, &common);
    st = cbx__draw_array(t->ctx, d->ndim, d->shape, v, d->dtype == CBX_I64, out, t->err);
    cbx_mem_free(cbx_ctx_allocator(t->ctx), v, bytes);
    return st;
}

static cbx_status try_change(trial *t, const change *how)
{
    cbx_array *a = NULL, *b = NULL;
    cbx__drawn d, e = { 0 };
    cbx_status st = draw(t, &d);
    const cbx_rng common = cbx_rng_make(cbx_rng_u64(&t->rng), 1);

    for (; !st && e.nin < d.nin; e.nin++) st = changed(t, how, e.nin, d.in[e.nin], &t->rng, common, &e.in[e.nin]);
    if (!st) st = result_of(t, d.nin, d.in, &a);
    if (!st) st = result_of(t, e.nin, e.in, &b);
    for (size_t i = 0; !st && i < cbx_array_count(a); i++) {
        const double x = cbx__metric_element(a, i), y = cbx__metric_element(b, i);
        if (!near(x, y)) st = REFUSE(t, "is not invariant (%s): %.17g becomes %.17g", how->name, x, y);
    }
    cbx_array_free(a);
    cbx_array_free(b);
    cbx__drawn_free(&d);
    cbx__drawn_free(&e);
    return st;
}

/* ---- proper scores ---- */

/* Frequencies of k outcomes among n items, each at least one; places: the outcome of each item. */
static void outcomes(cbx_rng *rng, size_t n, size_t k, double *places)
{
    for (size_t i = 0; i < n; i++) places[i] = (double)(i < k ? i : cbx_rng_below(rng, k));
}

/*
 * A score of a forecast for each of n items, the same for all: q, against the frequencies p of what happens to them.  The mean is the
 * expected score, which no q may better than p does.  Of kinds whose forecasts are such distributions; others are not tried.
 */
static cbx_status try_proper(trial *t)
{
    enum { N = CBX__DRAWN_ITEMS, K = 3 };
    const cbx_metric_function *m = t->m;
    const cbx_operand_kind kind = m->operands[0].kind, of = m->operands[1].kind;
    const bool binary = kind == CBX_OPERAND_PROBABILITY, logits = kind == CBX_OPERAND_LOGITS;
    const size_t k = binary ? 2 : K;
    double y[N], p[K] = { 0 }, score[2] = { 0 };
    cbx_status st = CBX_OK;

    if (!(m->axioms & CBX_AXIOM_PROPER) || cbx_metric_operands(m) != 2) return CBX_OK;
    if (of != CBX_OPERAND_LABELS && !(binary && of == CBX_OPERAND_BINARY)) return CBX_OK;
    if (!binary && !logits && kind != CBX_OPERAND_CLASS_PROBABILITIES) return CBX_OK;
    outcomes(&t->rng, N, k, y);
    for (size_t i = 0; i < N; i++) p[(size_t)y[i]] += 1.0 / N;
    for (int other = 0; !st && other < 2; other++) {
        cbx_array *in[2] = { NULL, NULL };
        double q[K], sum = 0, v[N * K];
        for (size_t c = 0; c < k; c++) sum += q[c] = other ? p[c] * exp(cbx_rng_normal(&t->rng)) : p[c];
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < k; c++) v[binary ? i : i * k + c] = logits ? log(q[c]) : q[c] / sum;
        st = cbx__draw_array(t->ctx, binary ? 1 : 2, (const size_t[]){ N, K }, v, false, &in[0], t->err);
        if (!st) st = cbx__draw_array(t->ctx, 1, (const size_t[]){ N }, y, of == CBX_OPERAND_LABELS, &in[1], t->err);
        if (!st) st = number_of(t, in[0], in[1], &score[other]);
        for (int i = 0; i < 2; i++) cbx_array_free(in[i]);
    }
    const double worse = m->direction == CBX_DIRECTION_HIGHER ? score[0] - score[1] : score[1] - score[0];
    if (!st && !(worse >= -1e-12 * fmax(1, fabs(score[0]))))
        st = REFUSE(t, "is not proper: %.17g of the frequencies, %.17g of other probabilities", score[0], score[1]);
    return st;
}

/* ---- all ---- */

cbx_status cbx_metric_check_properties(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_metric_options *options,
                                       size_t draws, uint64_t seed, cbx_err *err)
{
    cbx_status st = m ? cbx_metric_row_check(m, err) : cbx_fail(err, CBX_EINVAL, "the metric is NULL");
    trial t = { .ctx = ctx, .m = m, .options = options, .err = err };

    for (size_t i = 0; !st && i < draws; i++) {
        t.rng = cbx_rng_make(seed, i);
        st = try_range(&t);
        if (!st) st = try_axioms(&t);
        if (!st) st = try_proper(&t);
        for (size_t k = 0; !st && k < CBX_LEN(changes); k++)
            if (m->invariances & changes[k].bit) st = try_change(&t, &changes[k]);
    }
    return st;
}
