/* Every metric under the transforms: gradients against central differences, compiled and batched
 * calls against single ones. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/transform.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 4, BATCH = 3 };

static bool moves(const cbx_metric_function *m, size_t i)
{
    const cbx_operand_kind kind = m->operands[i].kind;
    return kind != CBX_OPERAND_LABELS && kind != CBX_OPERAND_BINARY && kind != CBX_OPERAND_TOKENS &&
           kind != CBX_OPERAND_TEXTS && kind != CBX_OPERAND_RELEVANCE && kind != CBX_OPERAND_INDICES;
}

/* Of probabilities whose sum is 1: the element that falls as element k rises; else k. */
static size_t partner(cbx_operand_kind kind, const cbx_array *x, size_t k)
{
    const size_t n = cbx_array_count(x), last = cbx_array_dim(x, cbx_array_ndim(x) - 1);

    if (kind == CBX_OPERAND_DISTRIBUTION || kind == CBX_OPERAND_JOINT) return (k + 1) % n;
    if (kind == CBX_OPERAND_CLASS_PROBABILITIES || kind == CBX_OPERAND_CLASS_ENSEMBLE)
        return k - k % last + (k + 1) % last;
    return k;
}

/* The sum of the metric's numbers: itself where it is one. */
static cbx_status total_of(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_metric_function *m = user;
    cbx_metric_options o = { 0 };

    (void)nout;
    set_needs(m, &o);
    out[0] = cbx_sum(c, cbx_metric_apply(c, m, nin, in, &o), NULL);
    return CBX_OK;
}

static double total(const cbx_metric_function *m, size_t nin, cbx_array *const *in)
{
    size_t n;
    double *v = values_of(ctx, m, nin, in, NULL, &n), sum = 0;

    for (size_t i = 0; i < n; i++) sum += v[i];
    free(v);
    return sum;
}

/* The metric with element k of operand i moved by h, and its partner by -h. */
static double moved(const cbx_metric_function *m, const drawn *d, size_t i, size_t k, double h)
{
    cbx_array *in[CBX_METRIC_MAX_OPERANDS];
    const cbx_array_desc *desc = cbx_array_get_desc(d->in[i]);
    const size_t n = cbx_array_count(d->in[i]);
    double *v = malloc(n * sizeof *v), y;

    memcpy(in, d->in, sizeof in);
    memcpy(v, cbx_array_data(d->in[i]), n * sizeof *v);
    const size_t other = partner(m->operands[i].kind, d->in[i], k);
    v[k] += h;
    if (other != k) v[other] -= h;
    in[i] = array_of(ctx, desc->ndim, desc->shape, v, false);
    y = total(m, d->nin, in);
    cbx_array_free(in[i]);
    free(v);
    return y;
}

/* ---- operands that are points of a curved space: along curves in it ---- */

static bool is_definite(cbx_operand_kind kind)
{
    return kind == CBX_OPERAND_SPD || kind == CBX_OPERAND_DEFINITE || kind == CBX_OPERAND_SEMIDEFINITE ||
           kind == CBX_OPERAND_SYMMETRIC;
}

static bool is_curved(cbx_operand_kind kind)
{
    return kind == CBX_OPERAND_FRAME || kind == CBX_OPERAND_ADJACENCY || kind == CBX_OPERAND_HYPERBOLOID ||
           is_definite(kind);
}

/* x[i] and x[j] by the rotation, or, of a hyperboloid, the boost with these (co)sine and sine. */
static void turn(double *x, double *y, double c, double s, double sign)
{
    const double a = *x, b = *y;
    *x = c * a + sign * s * b;
    *y = s * a + c * b;
}

/*
 * v, of rows of n numbers, t away along curve number k of those through it: rows i and j of a frame
 * turn, the first number of a point of the hyperboloid and another one are boosted, of a symmetric
 * matrix, the first of a stack, two elements change.  False: there is no such curve.
 */
static bool along(cbx_operand_kind kind, double *v, size_t rows, size_t n, size_t k, double t)
{
    const size_t i = k % rows, j = k / rows;

    if (kind == CBX_OPERAND_HYPERBOLOID) {
        if (j + 1 >= n) return false;
        turn(&v[i * n], &v[i * n + j + 1], cosh(t), sinh(t), 1);
        return true;
    }
    if (j >= rows || i > j || (i == j && !is_definite(kind))) return false;
    if (kind == CBX_OPERAND_FRAME) {
        for (size_t c = 0; c < n; c++) turn(&v[i * n + c], &v[j * n + c], cos(t), sin(t), -1);
        return true;
    }
    if (kind == CBX_OPERAND_ADJACENCY && v[i * n + j] == 0) return false; /* an edge that is not there */
    v[i * n + j] += t;
    if (i != j) v[j * n + i] += t;
    return true;
}

/* The metric with operand i t away along curve k. */
static double value_along(const cbx_metric_function *m, const drawn *d, size_t i, size_t k, double t)
{
    cbx_array *in[CBX_METRIC_MAX_OPERANDS];
    const cbx_array_desc *desc = cbx_array_get_desc(d->in[i]);
    double v[256], y;

    memcpy(in, d->in, sizeof in);
    memcpy(v, cbx_array_data(d->in[i]), cbx_array_bytes(d->in[i]));
    along(m->operands[i].kind, v, desc->shape[desc->ndim - 2], desc->shape[desc->ndim - 1], k, t);
    in[i] = array_of(ctx, desc->ndim, desc->shape, v, false);
    y = total(m, d->nin, in);
    cbx_array_free(in[i]);
    return y;
}

/* Gradient and the velocity of each curve, against the difference of values along it; how
 * many curves. */
static size_t check_along(const cbx_metric_function *m, const drawn *d, size_t i, const double *gradient)
{
    const cbx_array_desc *desc = cbx_array_get_desc(d->in[i]);
    const size_t count = cbx_array_count(d->in[i]), rows = desc->shape[desc->ndim - 2], n = desc->shape[desc->ndim - 1];
    const double h = 1e-6;
    size_t curves = 0;

    CHECK(count <= 256, m->name);
    for (size_t k = 0; k < rows * (rows > n ? rows : n); k++) {
        double ahead[256], behind[256], x = 0;
        memcpy(ahead, cbx_array_data(d->in[i]), cbx_array_bytes(d->in[i]));
        memcpy(behind, ahead, cbx_array_bytes(d->in[i]));
        if (!along(m->operands[i].kind, ahead, rows, n, k, h)) continue;
        along(m->operands[i].kind, behind, rows, n, k, -h);
        for (size_t e = 0; e < count; e++) x += gradient[e] * (ahead[e] - behind[e]) / (2 * h);
        const double y = (value_along(m, d, i, k, h) - value_along(m, d, i, k, -h)) / (2 * h);
        if (!(fabs(x - y) <= 2e-5 * fmax(1, fabs(y))))
            fail_msg("%s: derivative in %s along curve %zu is %.9g, the difference quotient %.9g", m->name,
                     m->operands[i].name, k, x, y);
        curves++;
    }
    return curves;
}

static void check_gradient(const cbx_metric_function *m, const drawn *d, size_t i)
{
    const cbx_fn f = { m->name, total_of, (void *)m, d->nin, 1, NULL };
    cbx_fn *grad = NULL;
    cbx_array *g = NULL;
    double *values; /* of a gradient that may be one number, repeated */

    CHECK_OK(cbx_grad(ctx, &f, 1, &i, &grad, &err), &err, m->name);
    CHECK_OK(cbx_fn_run(ctx, grad, d->nin, d->in, 1, &g, &err), &err, m->name);
    values = malloc(cbx_array_bytes(g));
    CHECK_OK(cbx_array_read(g, values, cbx_array_bytes(g), &err), &err, m->name);
    const bool curved = is_curved(m->operands[i].kind);
    if (curved) CHECK_GT(check_along(m, d, i, values), 0, m->name);
    for (size_t k = 0; !curved && k < cbx_array_count(g); k += 1 + cbx_array_count(g) / 16) {
        const size_t other = partner(m->operands[i].kind, d->in[i], k);
        const double h = 1e-6, x = values[k] - (other == k ? 0 : values[other]);
        const double y = (moved(m, d, i, k, h) - moved(m, d, i, k, -h)) / (2 * h);
        if (!(fabs(x - y) <= 2e-5 * fmax(1, fabs(y))))
            fail_msg("%s: derivative in %s[%zu] is %.9g, the difference quotient %.9g", m->name, m->operands[i].name, k,
                     x, y);
    }
    free(values);
    cbx_array_free(g);
    cbx_fn_free(grad);
}

TEST(gradients_are_derivatives)
{
    const cbx_metric_function *m;
    size_t checked = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(8, i);
        if (!(m->flags & CBX_METRIC_DIFFERENTIABLE)) continue;
        CHECK(!(m->flags & CBX_METRIC_DATA_SHAPED), m->name);
        for (size_t k = 0; k < DRAWS; k++) {
            drawn d;
            draw_operands(ctx, &rng, m, 0, &d);
            for (size_t j = 0; j < d.nin; j++)
                if (moves(m, j) && isfinite(total(m, d.nin, d.in))) check_gradient(m, &d, j), checked++;
            drawn_free(&d);
        }
    }
    cbx_ctx_free(ctx);
    CHECK_GT(checked, 100, "gradients");
}

/* Batches of operands along a new first axis. */
static void check_batch(const cbx_metric_function *m, cbx_rng *rng)
{
    cbx_metric_options o = { 0 };
    cbx_array *in[CBX_METRIC_MAX_OPERANDS], *r = NULL;
    cbx_fn *f = NULL, *batched = NULL;
    drawn d[BATCH];

    for (size_t b = 0; b < BATCH; b++) draw_operands(ctx, rng, m, 0, &d[b]);
    for (size_t i = 0; i < d[0].nin; i++) {
        const cbx_array *rows[BATCH];
        cbx_scope scope;
        for (size_t b = 0; b < BATCH; b++) rows[b] = d[b].in[i];
        cbx_scope_open(ctx, &scope);
        in[i] = cbx_stack(ctx, BATCH, rows, 0);
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &in[i], &err), &err, m->name);
    }
    set_needs(m, &o);
    CHECK_OK(cbx_metric_fn(ctx, m, d[0].nin, &o, &f, &err), &err, m->name);
    CHECK_OK(cbx_vmap(ctx, f, NULL, NULL, &batched, &err), &err, m->name);
    CHECK_OK(cbx_fn_run(ctx, batched, d[0].nin, in, 1, &r, &err), &err, m->name);
    double *all = read_all(r);
    for (size_t b = 0; b < BATCH; b++) {
        size_t n;
        double *y = values_of(ctx, m, d[b].nin, d[b].in, NULL, &n);
        const double *x = all + b * n;
        CHECK_INT(cbx_array_count(r), BATCH * n, m->name);
        for (size_t i = 0; i < n; i++)
            if (!(fabs(x[i] - y[i]) <= 1e-9 * fmax(1, fabs(y[i]))) && !(isnan(x[i]) && isnan(y[i])))
                fail_msg("%s: of a batch it is %.17g, alone %.17g", m->name, x[i], y[i]);
        free(y);
    }
    free(all);
    cbx_array_free(r);
    for (size_t i = 0; i < d[0].nin; i++) cbx_array_free(in[i]);
    for (size_t b = 0; b < BATCH; b++) drawn_free(&d[b]);
    cbx_fn_free(batched);
    cbx_fn_free(f);
}

/* Compiled calls have the bits of those with data. */
static void check_compiled(const cbx_metric_function *m, cbx_rng *rng)
{
    cbx_metric_options o = { 0 };
    cbx_fn *f = NULL, *jitted = NULL;
    cbx_array *r = NULL;
    drawn d;
    size_t n;

    draw_operands(ctx, rng, m, 0, &d);
    set_needs(m, &o);
    CHECK_OK(cbx_metric_fn(ctx, m, d.nin, &o, &f, &err), &err, m->name);
    CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, m->name);
    CHECK_OK(cbx_fn_run(ctx, jitted, d.nin, d.in, 1, &r, &err), &err, m->name);
    double *x = read_all(r), *y = values_of(ctx, m, d.nin, d.in, NULL, &n);
    CHECK_INT(cbx_array_count(r), n, m->name);
    for (size_t i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])) && !rounds_otherwise(m, x[i], y[i]))
            fail_msg("%s: compiled [%zu] is %.17g, not %.17g", m->name, i, x[i], y[i]);
    free(x);
    free(y);
    cbx_array_free(r);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
    drawn_free(&d);
}

TEST(compiled_calls_have_the_same_bits)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_ctx_set_backend(ctx, cbx_backend_jit(), &err), &err, "the backend");
    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(10, i);
        check_compiled(m, &rng);
    }
    cbx_ctx_free(ctx);
}

/* What reads values in C has the derivative 0 if it depends on the order of numbers alone,
 * else none. */
TEST(derivatives_of_metrics_that_read_values)
{
    const cbx_metric_function *m;
    size_t zero = 0, refused = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(12, i);
        const cbx_fn f = { m->name, total_of, (void *)m, 0, 1, NULL };
        cbx_array *g = NULL;
        cbx_fn *grad = NULL;
        drawn d;
        if (!(m->flags & CBX_METRIC_DATA_SHAPED) || cbx_operand_kind_dtype(m->operands[0].kind) != CBX_F64) continue;
        draw_operands(ctx, &rng, m, 0, &d);
        CHECK_OK(cbx_grad(ctx, &(cbx_fn){ f.name, f.call, f.user, d.nin, 1, NULL }, 1, &(size_t){ 0 }, &grad, &err),
                 &err, m->name);
        if (m->invariances & CBX_INVARIANT_MONOTONE) {
            CHECK_OK(cbx_fn_run(ctx, grad, d.nin, d.in, 1, &g, &err), &err, m->name);
            double *v = read_all(g);
            for (size_t k = 0; k < cbx_array_count(g); k++) CHECK(v[k] == 0, m->name);
            free(v);
            cbx_array_free(g);
            zero++;
        } else {
            CHECK_STATUS(cbx_fn_run(ctx, grad, d.nin, d.in, 1, &g, &err), CBX_EUNSUPPORTED, m->name);
            CHECK(strstr(err.message, "has no derivative"), err.message);
            refused++;
        }
        cbx_fn_free(grad);
        drawn_free(&d);
    }
    cbx_ctx_free(ctx);
    CHECK_INT(zero, 3, "kendall_tau and the areas under curves of streams");
    CHECK_INT(refused, 2, "streaming_quantile and chi2_confidence_interval");
}

/* Values are checked when the function runs; optional operands may be left out, masks be operands
 * of the function. */
static cbx_status masked(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_metric_options o = { .mask = in[2] };

    (void)nin, (void)nout;
    out[0] = cbx_metric_apply(c, user, 2, in, &o);
    return CBX_OK;
}

TEST(values_are_read_when_a_function_runs)
{
    const double x[] = { 3, 1, 2, 4 }, y[] = { 1, 0, 1, NAN }, counts[] = { 1, 1, 1, 0 };
    const size_t n = 4;
    const cbx_metric_function *m;
    cbx_metric_options o = { 0 };
    cbx_metric_state *s = NULL;
    cbx_array *in[3], *r = NULL;
    cbx_fn *f = NULL, *jitted = NULL;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "kendall_tau", &m, &err), &err, "kendall_tau");
    in[0] = array_of(ctx, 1, &n, x, false);
    in[1] = array_of(ctx, 1, &n, y, false);
    in[2] = array_of(ctx, 1, &n, counts, true);
    CHECK_OK(cbx_metric_fn(ctx, m, 2, NULL, &f, &err), &err, "kendall_tau");
    CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, "kendall_tau");
    CHECK_STATUS(cbx_fn_run(ctx, jitted, 2, in, 1, &r, &err), CBX_EDOM, "NaN");
    CHECK_STR(err.message, "kendall_tau: 'y'[3] is nan: it must be a number", "which");
    cbx_fn_free(jitted);
    CHECK_OK(cbx_jit(ctx, &(cbx_fn){ m->name, masked, (void *)m, 3, 1, NULL }, &jitted, &err), &err, "a mask");
    CHECK_OK(cbx_fn_run(ctx, jitted, 3, in, 1, &r, &err), &err, "a mask");
    o.mask = in[2];
    double *v = read_all(r), alone = value_of(ctx, m, 2, in, &o);
    CHECK(*v == alone, "masked");
    free(v);
    cbx_array_free(r);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
    CHECK_STATUS(cbx_metric_fn(ctx, m, CBX_METRIC_MAX_OPERANDS + 1, NULL, &f, &err), CBX_EINVAL, "operands");
    CHECK_OK(cbx_metric_state_create(ctx, m, NULL, &s, &err), &err, "a state");
    r = NULL;
    CHECK_OK(cbx_array_create_abstract(ctx, cbx_array_get_desc(in[0]), &r, &err), &err, "abstract");
    CHECK_STATUS(cbx_metric_state_update(ctx, s, 2, (cbx_array *[]){ r, in[0] }, NULL, &err), CBX_EUNSUPPORTED,
                 "a state of arrays without data");
    CHECK_STR(err.message, "kendall_tau: a state takes arrays with data: update it outside of traced functions", "");
    cbx_array_free(r);
    cbx_metric_state_free(s);
    for (size_t i = 0; i < 3; i++) cbx_array_free(in[i]);
    cbx_ctx_free(ctx);
}

TEST(batches_are_single_calls)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(9, i);
        check_batch(m, &rng);
    }
    cbx_ctx_free(ctx);
}

static size_t cubes; /* calls of the function below */

/* -factor sum(x^3), with the factor 1 where there are no data. */
static cbx_status cube(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const double factor = user ? *(double *)user : 1;

    (void)nin, (void)nout;
    cubes++;
    out[0] = cbx_multiply_scalar(c, cbx_sum(c, cbx_multiply(c, cbx_square(c, in[0]), in[0]), NULL), -factor);
    return CBX_OK;
}

/* A call that comes again is compiled with a function that cannot change; others are called each
 * time. */
TEST(functions_without_data_are_compiled)
{
    const double at[] = { 1, 2 }, three = 3;
    double factor = 1;
    const cbx_metric_function *m;
    size_t before;

    ctx = cbx_test_context();
    CHECK_OK(cbx_metric_find(ctx, "fisher_information_matrix", &m, &err), &err, "the metric");
    cbx_array *x = cbx_asarray(ctx, &(const cbx_array_desc){ CBX_F64, 1, { 2 } }, at);
    for (size_t k = 0; k < 3; k++) {
        const cbx_metric_options plain = { .function = CBX_FN(cube, NULL, 1, 1) };
        before = cubes;
        const cbx_array *r = cbx_metric_apply(ctx, m, 1, &x, &plain);
        CHECK(((const double *)cbx_array_data(r))[3] == 12, "6 x");
        CHECK((cubes > before) == (k < 2 || !cbx_ctx_backend(ctx)->compile), "traced by the first and the second call");
    }
    for (size_t k = 0; k < 3; k++, factor *= three) {
        const cbx_metric_options data = { .function = CBX_FN(cube, &factor, 1, 1) };
        const cbx_array *r = cbx_metric_apply(ctx, m, 1, &x, &data);
        CHECK(((const double *)cbx_array_data(r))[3] == 12 * factor, "with the factor of this call");
    }
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 600)
