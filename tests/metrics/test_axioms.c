/* What the rows of the table declare, on random operands of every metric: range, axioms,
 * invariances, proper scores. */
#include "draw.h"

#include <math.h>

#include "fail_alloc.h"

static cbx_err err;
static cbx_ctx *ctx;

enum { DRAWS = 20 };

TEST(rows_have_their_properties)
{
    const cbx_metric_function *m;
    size_t untried = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_metric_options o = { 0 };
        set_needs(m, &o);
        const cbx_status st = cbx_metric_check_properties(ctx, m, &o, DRAWS, 7 + i, &err);
        if (st != CBX_EUNSUPPORTED) {
            CHECK_OK(st, &err, m->name);
            continue;
        }
        CHECK(m->axioms & CBX_AXIOM_PROPER, m->name); /* scores_are_proper tries these */
        CHECK(strstr(err.message, "'proper' was not tried"), err.message);
        untried++;
    }
    CHECK_INT(untried, 7, "scores whose forecasts are not probabilities of classes");
    cbx_ctx_free(ctx);
}

/* Rows with parameters or with operands that may be left out are tried with others, too. */
TEST(no_row_is_tried_with_defaults_alone)
{
    static const char *const others[] = { "inception_score", "inception_score_per_split", "sinkhorn_divergence",
                                          "shortest_path_distance", "ultrahyperbolic_distance" };
    const cbx_metric_function *m, *other;
    size_t rows = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    while (cbx_metric_at(ctx, rows)) rows++;
    for (size_t i = 0; (m = cbx_metric_at(ctx, i)); i++) {
        bool more = false, tried = false;
        for (size_t k = 0; k < cbx_metric_operands(m); k++) more |= m->operands[k].optional;
        for (size_t k = 0; k < cbx_metric_parameters(m); k++) more |= !counts_labels(m->parameters[k].name);
        for (size_t k = rows; (other = metric_at(ctx, k)); k++) tried |= strcmp(other->name, m->name) == 0;
        for (size_t k = 0; k < CBX_LEN(others); k++) tried |= strcmp(others[k], m->name) == 0; /* set_needs, points */
        CHECK(tried || !more, m->name);
    }
    cbx_ctx_free(ctx);
}

/* What a property is not defined for is refused, and does not pass. */
TEST(what_cannot_be_tried_does_not_pass)
{
    static const struct {
        const char *metric;
        unsigned axioms, invariances;
        cbx_status status;
        const char *sentence;
    } cases[] = {
        { "mse", 0, CBX_INVARIANT_ORTHOGONAL, CBX_EINVAL,
          "mse: the invariance 'orthogonal' is not defined for 'predictions', of the kind real: it needs one of the "
          "kinds positive definite matrix, frame" },
        { "mse", 0, CBX_INVARIANT_CONGRUENCE, CBX_EINVAL, "the invariance 'congruence' is not defined for" },
        { "lpips", 0, CBX_INVARIANT_CONGRUENCE, CBX_EINVAL, "the invariance 'congruence' is not defined for" },
        { "accuracy", 0, CBX_INVARIANT_ORTHOGONAL, CBX_EINVAL, "the invariance 'orthogonal' is not defined for" },
        { "mse", 0, CBX_INVARIANT_RELABEL, CBX_EINVAL,
          "mse: the invariance 'relabel' needs an operand of one of the kinds labels, adjacency matrix" },
        { "mse", 0, CBX_INVARIANT_ROTATION, CBX_EINVAL, "'rotation' is not defined for" },
        { "mse", 0, CBX_INVARIANT_LORENTZ, CBX_EINVAL, "'Lorentz' is not defined for" },
        { "accuracy", 0, CBX_INVARIANT_SCALE, CBX_EINVAL, "'scale' needs an operand" },
        { "kl_divergence", 0, CBX_INVARIANT_SCALE, CBX_EINVAL,
          "'scale' is not defined for 'p', of the kind distribution" },
        { "brier_score", 0, CBX_INVARIANT_SHIFT, CBX_EINVAL, "'shift' is not defined for" },
        { "ndcg", 0, CBX_INVARIANT_SHIFT, CBX_EINVAL, "'shift' is not defined for 'targets', of the kind relevance" },
        { "accuracy", 0, CBX_INVARIANT_MONOTONE, CBX_EINVAL, "'monotone' is not defined for" },
        { "spd_log_euclidean_distance", 0, CBX_INVARIANT_ORDER, CBX_EINVAL, "'order' is not defined for" },
        { "mse", CBX_AXIOM_PROPER, 0, CBX_EUNSUPPORTED,
          "mse: everything else holds, but 'proper' was not tried: the forecasts must be probabilities or logits of "
          "classes, and the targets labels" },
        { "skewness", CBX_AXIOM_SYMMETRIC, 0, CBX_EINVAL, "has axioms of two operands, and takes 1" },
    };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_metric_function *m;
        CHECK_OK(cbx_metric_find(ctx, cases[i].metric, &m, &err), &err, cases[i].metric);
        cbx_metric_function row = *m;
        row.axioms = cases[i].axioms;
        row.invariances = cases[i].invariances;
        CHECK_STATUS(cbx_metric_check_properties(ctx, &row, NULL, 2, 7, &err), cases[i].status, cases[i].sentence);
        if (!strstr(err.message, cases[i].sentence)) fail_msg("'%s', not '%s'", err.message, cases[i].sentence);
        CHECK_STATUS(cbx_metric_check_properties(ctx, m, NULL, 0, 7, &err), CBX_EINVAL, "no draws");
    }
    cbx_ctx_free(ctx);
}

static cbx_status check_it(cbx_ctx *c, void *user)
{
    cbx_err e = CBX_ERR_INIT;
    return cbx_metric_check_properties(c, user, NULL, 1, 7, &e);
}

TEST(memory_may_end)
{
    static const char *const names[] = { "mse",
                                         "spd_affine_invariant_distance",
                                         "stiefel_distance",
                                         "log_loss",
                                         "spectral_distance",
                                         "lorentz_distance",
                                         "mmd",
                                         "triplet_margin_loss",
                                         "roc_auc",
                                         "spearman_rank_correlation" };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_metric_function *m;
        CHECK_OK(cbx_metric_find(ctx, names[i], &m, &err), &err, names[i]);
        cbx_metric_function row = *m;
        cbx_test_fail_each(check_it, &row, names[i]);
    }
    cbx_ctx_free(ctx);
}

/* A row that is right, with one property that it does not have. */
TEST(false_properties_are_seen)
{
    static const struct {
        const char *metric;
        double low;
        unsigned axioms, invariances;
        const char *sentence;
    } cases[] = {
        { "mse", 100, 0, 0, "mse is 1.2" },
        { "relative_l2_error", 0, CBX_AXIOM_SYMMETRIC, 0, "is not symmetric" },
        { "cosine_distance", 0, CBX_AXIOM_TRIANGLE, 0, "breaks the triangle inequality" },
        { "pearson_correlation", -1, CBX_AXIOM_IDENTITY, 0, "of x and x is 1, not 0" },
        { "log_cosh_loss", 0, 0, CBX_INVARIANT_SCALE, "is not invariant (scale)" },
        { "euclidean_distance", 0, 0, CBX_INVARIANT_MONOTONE, "is not invariant (monotone)" },
        { "wasserstein_1d", 0, 0, CBX_INVARIANT_MONOTONE, "is not invariant (monotone)" },
        { "manhattan_distance", 0, 0, CBX_INVARIANT_ROTATION, "is not invariant (rotation)" },
        { "spectral_distance", 0, 0, CBX_INVARIANT_COMMON_SCALE, "is not invariant (common scale)" },
        { "mse", 0, 0, CBX_INVARIANT_SAMPLE_ORDER, "is not invariant (order of each sample)" },
        { "euclidean_distance", 0, 0, CBX_INVARIANT_SHIFT | CBX_INVARIANT_LORENTZ, "is not invariant (Lorentz)" },
        { "stiefel_distance", 0, 0, CBX_INVARIANT_ORDER, NULL }, /* of rows: true, too */
        { "smape", 0, 0, CBX_INVARIANT_SHIFT, "is not invariant (shift)" },
        { "f1_score", 0, 0, CBX_INVARIANT_RELABEL, "is not invariant (relabel)" },
        { "spd_log_euclidean_distance", 0, 0, CBX_INVARIANT_CONGRUENCE, "is not invariant (congruence)" },
        { "brier_score", 0, CBX_AXIOM_POSITIVE, 0, NULL },
        { "expected_calibration_error", 0, CBX_AXIOM_PROPER, 0, NULL }, /* least, though not only, for the truth */
        { "mae_of_probabilities", 0, CBX_AXIOM_PROPER, 0, "is not proper" },
    };

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const bool improper = strcmp(cases[i].metric, "mae_of_probabilities") == 0;
        const cbx_metric_function *m;
        cbx_metric_function row;
        CHECK_OK(cbx_metric_find(ctx, improper ? "mae" : cases[i].metric, &m, &err), &err, cases[i].metric);
        row = *m;
        row.low = cases[i].low;
        row.axioms = cases[i].axioms;
        row.invariances = cases[i].invariances;
        if (improper) row.operands[0].kind = CBX_OPERAND_PROBABILITY, row.operands[1].kind = CBX_OPERAND_BINARY;
        CHECK_STATUS(cbx_metric_check_properties(ctx, &row, NULL, DRAWS, 7, &err),
                     cases[i].sentence ? CBX_EDOM : CBX_OK, cases[i].metric);
        if (cases[i].sentence && !strstr(err.message, cases[i].sentence))
            fail_msg("%s: '%s', not '%s'", cases[i].metric, err.message, cases[i].sentence);
    }
    cbx_ctx_free(ctx);
}

/* ---- proper scores whose forecasts are no probabilities of classes ---- */

enum { SUPPORT = 5, PAIRS = SUPPORT * SUPPORT * SUPPORT };

static double score_of(const char *name, size_t nin, cbx_array **in, const double *parameters, const double *w)
{
    const size_t n = PAIRS;
    const cbx_metric_function *m;
    cbx_metric_options o = { .parameters = parameters };
    double v;

    CHECK_OK(cbx_metric_find(ctx, name, &m, &err), &err, name);
    if (w) o.weights = array_of(ctx, 1, &n, w, false);
    v = value_of(ctx, m, nin, in, &o);
    cbx_array_free((cbx_array *)(uintptr_t)o.weights);
    for (size_t i = 0; i < nin; i++) cbx_array_free(in[i]);
    return v;
}

/* Outcomes a[k] with probabilities q[k], as many items as there are pairs of members (i, j) and
 * outcomes (k). */
static double drawn_members(const char *name, const double *a, const double *f, const double *q)
{
    double members[2 * PAIRS], y[PAIRS], w[PAIRS];
    const double at[] = { -0.5, 0, 0.5 };
    size_t n = 0;

    for (size_t i = 0; i < SUPPORT; i++)
        for (size_t j = 0; j < SUPPORT; j++)
            for (size_t k = 0; k < SUPPORT; k++, n++) {
                members[2 * n] = a[i];
                members[2 * n + 1] = a[j];
                y[n] = a[k];
                w[n] = f[i] * f[j] * q[k];
            }
    cbx_array *in[] = { array_of(ctx, 2, (const size_t[]){ PAIRS, 2 }, members, false), array_of(ctx, 1, &n, y, false),
                        array_of(ctx, 1, (const size_t[]){ 3 }, at, false) };
    const bool thresholds = strcmp(name, "fair_crps") != 0;
    if (!thresholds) cbx_array_free(in[2]);
    return score_of(name, thresholds ? 3 : 2, in, NULL, w);
}

/* The ensemble is the distribution: each outcome of a, against members of b. */
static double as_distribution(const char *name, size_t d, const double *a, const double *b)
{
    double members[2 * SUPPORT * SUPPORT];
    const size_t shape[] = { SUPPORT, SUPPORT, d };

    for (size_t i = 0; i < SUPPORT; i++) memcpy(members + i * d * SUPPORT, b, d * SUPPORT * sizeof *b);
    cbx_array *in[] = { array_of(ctx, d > 1 ? 3 : 2, shape, members, false),
                        array_of(ctx, d > 1 ? 2 : 1, (const size_t[]){ SUPPORT, d }, a, false) };
    return score_of(name, 2, in, NULL, NULL);
}

/* A forecast of two numbers for all outcomes. */
static double of_numbers(const char *name, const double *y, double a, double b)
{
    enum { N = 12 };
    const size_t n = N;
    const double half = 0.5;
    double x[2][N];

    for (size_t i = 0; i < N; i++) x[0][i] = a, x[1][i] = b;
    cbx_array *in[] = { array_of(ctx, 1, &n, x[0], false), array_of(ctx, 1, &n, x[1], false),
                        array_of(ctx, 1, &n, y, false) };
    return score_of(name, 3, in, strcmp(name, "interval_score") ? NULL : &half, NULL);
}

TEST(scores_are_proper)
{
    static const double y[] = { -2.5, -2, -1.25, -1, -0.5, 0, 0.25, 0.5, 1.5, 2, 3, 5 };
    double mean = 0, variance = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "ctx");
    for (size_t i = 0; i < CBX_LEN(y); i++) mean += y[i] / CBX_LEN(y);
    for (size_t i = 0; i < CBX_LEN(y); i++) variance += (y[i] - mean) * (y[i] - mean) / CBX_LEN(y);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        cbx_rng rng = cbx_rng_make(11, draw);
        double a[2 * SUPPORT], b[2 * SUPPORT], f[SUPPORT], q[SUPPORT], sum[2] = { 0 };
        const double by[] = { cbx_rng_normal(&rng), cbx_rng_normal(&rng) };
        for (size_t i = 0; i < CBX_LEN(a); i++) a[i] = cbx_rng_normal(&rng), b[i] = cbx_rng_normal(&rng);
        for (size_t i = 0; i < SUPPORT; i++)
            sum[0] += f[i] = cbx_rng_uniform(&rng), sum[1] += q[i] = cbx_rng_uniform(&rng);
        for (size_t i = 0; i < SUPPORT; i++) f[i] /= sum[0], q[i] /= sum[1];
        CHECK_LE(drawn_members("fair_crps", a, q, q), drawn_members("fair_crps", a, f, q) + 1e-12, "fair_crps");
        CHECK_LE(drawn_members("ensemble_ranked_probability_score", a, q, q),
                 drawn_members("ensemble_ranked_probability_score", a, f, q) + 1e-12, "ensemble rps");
        CHECK_LE(as_distribution("crps", 1, a, a), as_distribution("crps", 1, a, b), "crps");
        CHECK_LE(as_distribution("energy_score", 2, a, a), as_distribution("energy_score", 2, a, b), "energy_score");
        /* quartiles: between the third and the fourth outcome, the ninth and the tenth */
        CHECK_LE(of_numbers("interval_score", y, -1.1, 1.75),
                 of_numbers("interval_score", y, -1.1 + by[0], 1.75 + by[1]) + 1e-12, "interval_score");
        CHECK_LE(of_numbers("gaussian_nll", y, mean, variance),
                 of_numbers("gaussian_nll", y, mean + by[0], variance * exp(by[1])), "gaussian_nll");
    }
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 600)
