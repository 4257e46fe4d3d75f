/* Learning losses where they are not smooth, miners that draw, and a user's loss. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/transform.h"
#include "calibrax/metrics/learning/loss.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { ROWS = 6 };

/* A loss of these embeddings and labels, and its gradient: finite numbers all. */
static void all_finite(const cbx_metric_function *m, const double *x, const double *labels, const char *why)
{
    const double w[] = { 1, 0, 0, 1, 0, 0 };
    cbx_array *in[3], *g = NULL;
    cbx_fn *f = NULL, *grad = NULL;
    const size_t nin = m->operands[2].kind == CBX_OPERAND_CLASS_VECTORS ? 3 : 2;

    in[0] = array_of(ctx, 2, (const size_t[]){ ROWS, 2 }, x, false);
    in[1] = m->operands[1].kind == CBX_OPERAND_LABELS ? array_of(ctx, 1, (const size_t[]){ ROWS }, labels, true)
                                                      : cbx_array_ref(in[0]);
    in[2] = array_of(ctx, 2, (const size_t[]){ 3, 2 }, w, false);
    CHECK(isfinite(value_of(ctx, m, nin, in, NULL)), m->name);
    CHECK_OK(cbx_metric_fn(ctx, m, nin, NULL, &f, &err), &err, m->name);
    CHECK_OK(cbx_grad(ctx, f, 1, (const size_t[]){ 0 }, &grad, &err), &err, m->name);
    CHECK_OK(cbx_fn_run(ctx, grad, nin, in, 1, &g, &err), &err, m->name);
    double *v = read_all(g);
    for (size_t k = 0; k < cbx_array_count(g); k++)
        if (!isfinite(v[k])) fail_msg("%s: derivative [%zu] of %s is %g", m->name, k, why, v[k]);
    free(v);
    cbx_array_free(g);
    for (size_t i = 0; i < 3; i++) cbx_array_free(in[i]);
    cbx_fn_free(grad);
    cbx_fn_free(f);
}

/* Distances of 0, angles of 0 and pi, vectors of zeros, huge and tiny ones; no positives, no
 * negatives. */
TEST(gradients_are_finite)
{
    static const struct {
        const char *why;
        double x[2 * ROWS], labels[ROWS];
    } cases[] = {
        { "equal embeddings", { 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 }, { 0, 0, 1, 1, 2, 2 } },
        { "zeros", { 0 }, { 0, 0, 1, 1, 2, 2 } },
        { "opposite embeddings", { 1, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1, 0 }, { 0, 0, 1, 1, 2, 2 } },
        { "one class", { 1, 0, 2, 1, 0, 1, 1, 1, 3, 0, 0, 2 }, { 1, 1, 1, 1, 1, 1 } },
        { "no pair of one class", { 1, 0, 2, 1, 0, 1, 1, 1, 3, 0, 0, 2 }, { 0, 1, 2, 0, 1, 2 } },
        { "numbers of all sizes",
          { 1e120, 0, 1e-120, 1, 1, 1e100, 3, 3, -1e-100, 1e-100, 2, 0 },
          { 0, 0, 1, 1, 2, 2 } },
    };
    const cbx_metric_function *m;
    size_t losses = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        if (strcmp(m->domain, "learning") != 0 || !(m->flags & CBX_METRIC_DIFFERENTIABLE)) continue;
        losses++;
        for (size_t k = 0; k < CBX_LEN(cases); k++) {
            const bool sizes = k + 1 == CBX_LEN(cases); /* products of raw numbers overflow */
            if (sizes && (strcmp(m->name, "n_pairs_loss") == 0 || strcmp(m->name, "sphereface_loss") == 0)) continue;
            all_finite(m, cases[k].x, cases[k].labels, cases[k].why);
        }
    }
    cbx_ctx_free(ctx);
    CHECK_GT(losses, 15, "losses");
}

/* Frequencies of drawn negatives against the weights of their distances. */
TEST(draws_follow_the_weights)
{
    enum { N = 40, DIMS = 4 };
    double x[N * DIMS], labels[N], w[N], sum = 0, chi_square = 0;
    size_t counts[N] = { 0 }, draws = 0, cells = 0;
    cbx_rng rng = cbx_rng_make(3, 1);
    const cbx_metric_function *m;
    cbx_array *in[2];

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    CHECK_OK(cbx_metric_find(ctx, "mine_distance_weighted_negatives", &m, &err), &err, "the row");
    for (size_t i = 0; i < N * DIMS; i++) x[i] = cbx_rng_normal(&rng);
    for (size_t i = 0; i < N; i++) labels[i] = i < N / 2 ? 0 : 1;
    in[0] = array_of(ctx, 2, (const size_t[]){ N, DIMS }, x, false);
    in[1] = array_of(ctx, 1, (const size_t[]){ N }, labels, true);
    for (size_t seed = 0; seed < 400; seed++) {
        const double parameters[] = { 0.5, 1.4, (double)seed, 0 };
        const cbx_metric_options o = { .parameters = parameters };
        size_t n;
        double *v = values_of(ctx, m, 2, in, &o, &n);
        for (size_t p = 1; p < N / 2; p++) counts[(size_t)v[p]]++, draws++; /* those of anchor 0 */
        free(v);
    }
    for (size_t i = 0; i < N; i++) {
        double xx = 0, yy = 0, xy = 0, d;
        for (size_t k = 0; k < DIMS; k++) {
            xx += x[k] * x[k];
            yy += x[i * DIMS + k] * x[i * DIMS + k];
            xy += x[k] * x[i * DIMS + k];
        }
        d = fmax(0.5, sqrt(2 - 2 * xy / sqrt(xx * yy)));
        w[i] = labels[i] != labels[0] && d < 1.4 ? pow(d, 2.0 - DIMS) * pow(1 - d * d / 4, (3.0 - DIMS) / 2) : 0;
        sum += w[i];
    }
    for (size_t i = 0; i < N; i++) {
        const double expected = (double)draws * w[i] / sum;
        if (expected == 0) CHECK_INT(counts[i], 0, "no weight, no draw");
        if (expected == 0) continue;
        chi_square += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
        cells++;
    }
    /* mean cells - 1, standard deviation sqrt(2 (cells - 1)): five of them */
    CHECK_GT(cells, 5, "negatives");
    CHECK_LE(chi_square, (double)cells - 1 + 5 * sqrt(2 * ((double)cells - 1)), "frequencies");
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* Mean over items of (|x|^2 - target of the label)^2, the target is the user's. */
static cbx_array *spread(cbx_ctx *c, const cbx_array *x, const cbx_array *labels, void *user)
{
    const cbx_array *norms = cbx_sum(c, cbx_square(c, x), CBX_AXIS(-1));
    const cbx_array *targets = cbx_multiply_scalar(c, cbx_astype(c, labels, CBX_F64), *(const double *)user);

    return cbx_mean(c, cbx_square(c, cbx_subtract(c, norms, targets)), NULL);
}

TEST(users_register_losses)
{
    double target = 3;
    const cbx_learning_loss mine = { "spread_loss", NULL, spread, &target };
    const double x[] = { 1, 2, 0, 1 }, labels[] = { 1, 2 };
    const cbx_metric_function *m;
    cbx_metric_function row, nameless;
    cbx_array *in[2], *g = NULL;
    cbx_fn *f = NULL, *grad = NULL, *fast = NULL;
    double v;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    cbx_learning_loss_row(&mine, &row);
    CHECK_OK(cbx_metric_register(ctx, &row, false, &err), &err, "the loss");
    CHECK_STATUS(cbx_metric_register(ctx, &row, false, &err), CBX_EEXIST, "twice");
    cbx_learning_loss_row(&(cbx_learning_loss){ "no_code", NULL, NULL, NULL }, &nameless);
    CHECK_STATUS(cbx_metric_register(ctx, &nameless, false, &err), CBX_EINVAL, "without code");
    CHECK_OK(cbx_metric_find(ctx, "spread_loss", &m, &err), &err, "by name");
    CHECK_STR(m->domain, "learning", "its domain");
    in[0] = array_of(ctx, 2, (const size_t[]){ 2, 2 }, x, false);
    in[1] = array_of(ctx, 1, (const size_t[]){ 2 }, labels, true);
    CHECK_OK(cbx_metric_value(ctx, "spread_loss", 2, in, NULL, &v, &err), &err, "a call");
    CHECK(v == (4 + 25) / 2.0, "its value"); /* (5 - 3)^2 and (1 - 6)^2 */
    CHECK_OK(cbx_metric_fn(ctx, m, 2, NULL, &f, &err), &err, "as a function");
    CHECK_OK(cbx_grad(ctx, f, 1, (const size_t[]){ 0 }, &grad, &err), &err, "its gradient");
    CHECK_OK(cbx_jit(ctx, grad, &fast, &err), &err, "compiled");
    CHECK_OK(cbx_fn_run(ctx, fast, 2, in, 1, &g, &err), &err, "a gradient");
    double *d = read_all(g);
    CHECK(d[0] == 4 && d[1] == 8 && d[2] == 0 && d[3] == -10, "2 (|x|^2 - target) x");
    CHECK_STATUS(cbx_metric_value(ctx, "spread_loss", 1, in, NULL, &v, &err), CBX_EINVAL, "no labels");
    free(d);
    cbx_array_free(g);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_fn_free(fast);
    cbx_fn_free(grad);
    cbx_fn_free(f);
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 120)
