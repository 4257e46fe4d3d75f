/* What the rows of the table declare, on random operands of every metric: range, axioms, invariances. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 20 };

/* A check of one metric with fresh operands. */
typedef void check(const cbx_metric_function *m, cbx_rng *rng);

static void every_metric(check *f)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(7, i);
        for (size_t k = 0; k < DRAWS; k++) f(m, &rng);
    }
    cbx_ctx_free(ctx);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))); }

/* ---- range ---- */

static void in_range(const cbx_metric_function *m, cbx_rng *rng)
{
    size_t n;
    double *v;
    drawn d;

    draw_operands(ctx, rng, m, 0, &d);
    v = values_of(ctx, m, d.nin, d.in, NULL, &n);
    for (size_t i = 0; i < n; i++)
        if (!(v[i] >= m->low - 1e-12 && v[i] <= m->high + 1e-12))
            fail_msg("%s: [%zu] is %.17g, outside %g..%g", m->name, i, v[i], m->low, m->high);
    free(v);
    drawn_free(&d);
}

static void results_lie_in_their_range(void **state)
{
    (void)state;
    every_metric(in_range);
}

/* ---- axioms ---- */

/* Half way between two operands, where it is one: there the triangle inequality is tight, or broken. */
static cbx_array *middle(cbx_operand_kind kind, const cbx_array *x, const cbx_array *z)
{
    cbx_array *r;
    cbx_scope scope;

    if (kind == CBX_OPERAND_FRAME || kind == CBX_OPERAND_HYPERBOLOID || cbx_array_dtype(x) != CBX_F64 ||
        !cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(z)))
        return cbx_array_ref(z);
    cbx_scope_open(ctx, &scope);
    r = cbx_multiply_scalar(ctx, cbx_add(ctx, x, z), 0.5);
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &r, &err), &err, "the middle");
    return r;
}

static void triangle(const cbx_metric_function *m, cbx_array *x, cbx_array *y, cbx_array *z)
{
    const double xy = value_of(ctx, m, 2, (cbx_array *[]){ x, y }, NULL);
    const double yz = value_of(ctx, m, 2, (cbx_array *[]){ y, z }, NULL);
    const double xz = value_of(ctx, m, 2, (cbx_array *[]){ x, z }, NULL);

    if (!(xz <= (xy + yz) * (1 + 1e-9) + 1e-12)) fail_msg("%s: %.17g > %.17g + %.17g", m->name, xz, xy, yz);
}

static void axioms(const cbx_metric_function *m, cbx_rng *rng)
{
    drawn x, y;
    double xy, yx, xx;
    cbx_array *z, *half;

    if (!(m->axioms & 15)) return;
    draw_operands(ctx, rng, m, 0, &x);
    draw_operands(ctx, rng, m, 0, &y);
    CHECK(x.nin == 2, m->name);
    z = y.in[1];
    xy = value_of(ctx, m, 2, x.in, NULL);
    yx = value_of(ctx, m, 2, (cbx_array *[]){ x.in[1], x.in[0] }, NULL);
    xx = value_of(ctx, m, 2, (cbx_array *[]){ x.in[0], x.in[0] }, NULL);
    if (m->axioms & CBX_AXIOM_SYMMETRIC && !near(xy, yx))
        fail_msg("%s is not symmetric: %.17g and %.17g", m->name, xy, yx);
    if (m->axioms & CBX_AXIOM_IDENTITY && !(fabs(xx) <= 1e-9)) fail_msg("%s of x and x is %.17g", m->name, xx);
    if (m->axioms & CBX_AXIOM_POSITIVE && !(xy > 0)) fail_msg("%s of x and y is %.17g", m->name, xy);
    if (m->axioms & CBX_AXIOM_TRIANGLE) {
        half = middle(m->operands[0].kind, x.in[0], z);
        triangle(m, x.in[0], x.in[1], z);
        triangle(m, x.in[0], half, z);
        cbx_array_free(half);
    }
    drawn_free(&x);
    drawn_free(&y);
}

static void axioms_hold(void **state)
{
    (void)state;
    every_metric(axioms);
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
    size_t p[256];
    double *was = malloc(n * sizeof *was);

    memcpy(was, v, n * sizeof *was);
    cbx_rng_permutation(rng, rows, p);
    for (size_t k = 0; k < rows; k++) memcpy(v + k * width, was + p[k] * width, width * sizeof *v);
    free(was);
}
CHANGE(order)
{
    (void)own;
    if (is_shared(m->operands[i].kind)) return;
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

static cbx_array *changed(const change *how, const cbx_metric_function *m, size_t i, cbx_array *x, cbx_rng *own,
                          cbx_rng common)
{
    const cbx_array_desc *d = cbx_array_get_desc(x);
    const size_t n = cbx_array_count(x);
    double *v = malloc(n * sizeof *v);
    cbx_array *wide, *out;
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    wide = cbx_copy(ctx, cbx_astype(ctx, x, CBX_F64));
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &wide, &err), &err, m->name);
    memcpy(v, cbx_array_data(wide), n * sizeof *v);
    how->apply(m, i, d, v, n, own, &common);
    out = array_of(ctx, d->ndim, d->shape, v, d->dtype == CBX_I64);
    cbx_array_free(wide);
    free(v);
    return out;
}

static void invariances(const cbx_metric_function *m, cbx_rng *rng)
{
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        drawn d, e = { 0 };
        size_t na, nb;
        double *a, *b;
        if (!(m->invariances & changes[k].bit)) continue;
        draw_operands(ctx, rng, m, 0, &d);
        const cbx_rng common = cbx_rng_make(cbx_rng_u64(rng), 1);
        for (size_t i = 0; i < d.nin; i++) e.in[e.nin++] = changed(&changes[k], m, i, d.in[i], rng, common);
        a = values_of(ctx, m, d.nin, d.in, NULL, &na);
        b = values_of(ctx, m, e.nin, e.in, NULL, &nb);
        CHECK_INT(nb, na, m->name);
        for (size_t i = 0; i < na; i++)
            if (!near(a[i], b[i]))
                fail_msg("%s is not invariant (%s): %.17g becomes %.17g", m->name, changes[k].name, a[i], b[i]);
        free(a);
        free(b);
        drawn_free(&d);
        drawn_free(&e);
    }
}

static void invariances_hold(void **state)
{
    (void)state;
    every_metric(invariances);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_lie_in_their_range),
        cmocka_unit_test(axioms_hold),
        cmocka_unit_test(invariances_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
