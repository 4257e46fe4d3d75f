/* Divergences: how far one distribution is from another, given as probabilities or as samples. */
#include "calibrax/metrics/functional/counts.h"

/* ---- of probabilities p and q ---- */

/* p log(p / q): 0 where p is 0, infinite where q alone is. */
static cbx_array *kl_terms(cbx_ctx *ctx, const cbx_array *p, const cbx_array *q)
{
    const cbx_array *empty = cbx_equal_scalar(ctx, p, 0), *one = cbx__number(ctx, 1);
    const cbx_array *ratio = cbx_divide(ctx, cbx_where(ctx, empty, one, p), cbx_where(ctx, empty, one, q));

    return cbx_multiply(ctx, p, cbx_log(ctx, ratio));
}

static cbx_array *kl(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_sum(ctx, kl_terms(ctx, c->in[0], c->in[1]), NULL);
}

static cbx_array *reverse_kl(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_sum(ctx, kl_terms(ctx, c->in[1], c->in[0]), NULL);
}

static cbx_array *jensen_shannon(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *p = c->in[0], *q = c->in[1];
    const cbx_array *m = cbx_multiply_scalar(ctx, cbx_add(ctx, p, q), 0.5);
    const cbx_array *both = cbx_add(ctx, kl_terms(ctx, p, m), kl_terms(ctx, q, m));

    return cbx_maximum_scalar(ctx, cbx_multiply_scalar(ctx, cbx_sum(ctx, both, NULL), 0.5), 0);
}

static cbx_array *total_variation(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_abs(ctx, cbx_subtract(ctx, c->in[0], c->in[1])), NULL), 0.5);
}

static cbx_array *hellinger(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *d = cbx_subtract(ctx, cbx__root(ctx, c->in[0]), cbx__root(ctx, c->in[1]));
    return cbx__root(ctx, cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_square(ctx, d), NULL), 0.5));
}

/* (p - q)^2 / q, 0 where both are 0. */
static cbx_array *chi_squared(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *d = cbx_subtract(ctx, c->in[0], c->in[1]), *one = cbx__number(ctx, 1);
    const cbx_array *equal = cbx_equal_scalar(ctx, d, 0);

    return cbx_sum(ctx, cbx_divide(ctx, cbx_square(ctx, d), cbx_where(ctx, equal, one, c->in[1])), NULL);
}

/* log(sum p^a q^(1 - a)) / (a - 1); at a = 1 its limit, the Kullback-Leibler divergence. */
static cbx_array *renyi(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const double a = c->parameters[0];
    const cbx_array *p = c->in[0], *q = c->in[1], *zero = cbx__number(ctx, 0), *one = cbx__number(ctx, 1), *terms;
    const cbx_array *no_p = cbx_equal_scalar(ctx, p, 0), *no_q = cbx_equal_scalar(ctx, q, 0);
    const cbx_array *none = a < 1 ? cbx_logical_or(ctx, no_p, no_q) : no_p;

    if (a == 1) return kl(ctx, c);
    p = cbx_where(ctx, none, one, p);
    q = cbx_where(ctx, none, one, q);
    terms = cbx_multiply(ctx, cbx_pow_scalar(ctx, p, a), cbx_pow_scalar(ctx, q, 1 - a));
    terms = cbx_where(ctx, none, zero, terms);
    return cbx_divide(ctx, cbx_log(ctx, cbx_sum(ctx, terms, NULL)), cbx__number(ctx, a - 1));
}

/* sum q f(p / q), where f is the user's. */
static cbx_array *f_divergence(cbx_ctx *ctx, const cbx_metric_call *c)
{
    cbx_array *ratio = cbx_divide(ctx, c->in[0], c->in[1]), *f = NULL;

    cbx_fn_call(ctx, c->function, 1, &ratio, 1, &f);
    return cbx_sum(ctx, cbx_multiply(ctx, c->in[1], f), NULL);
}

/* psi(x) - psi(y) - <grad psi(y), x - y>. */
static cbx_array *bregman(cbx_ctx *ctx, const cbx_metric_call *c)
{
    cbx_array *at_x = NULL, *at_y[2] = { NULL, NULL };
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *slope = NULL;

    if (cbx_value_and_grad(ctx, c->function, 1, NULL, &slope, &err))
        return cbx__refuse(ctx, err.status, "%s: %s", c->metric->name, err.message);
    cbx_fn_call(ctx, c->function, 1, &c->in[0], 1, &at_x);
    cbx_fn_call(ctx, slope, 1, &c->in[1], 2, at_y);
    cbx_fn_free(slope);
    const cbx_array *linear = cbx_sum(ctx, cbx_multiply(ctx, at_y[1], cbx_subtract(ctx, c->in[0], c->in[1])), NULL);
    return cbx_subtract(ctx, cbx_subtract(ctx, at_x, at_y[0]), linear);
}

/* ---- of samples ---- */

/* Places of all values in order, and for each the share of x and of y at or below it. */
typedef struct shares {
    cbx_array *values, *x, *y;
} shares;

static shares distributions(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *x = cbx_sort(ctx, c->in[0], 0, false), *y = cbx_sort(ctx, c->in[1], 0, false);
    cbx_array *all = cbx_sort(ctx, cbx_concat(ctx, 2, (const cbx_array *[]){ x, y }, 0), 0, false);
    const cbx_array *below_x = cbx_searchsorted(ctx, x, all, true), *below_y = cbx_searchsorted(ctx, y, all, true);

    return (shares){ all, cbx_divide_scalar(ctx, cbx_astype(ctx, below_x, CBX_F64), (double)cbx_array_count(x)),
                     cbx_divide_scalar(ctx, cbx_astype(ctx, below_y, CBX_F64), (double)cbx_array_count(y)) };
}

/* The area between the two distribution functions; of samples of one size the mean distance of their sorted values. */
cbx_array *cbx__metric_wasserstein(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *gap;
    shares s;

    if (cbx_array_count(c->in[0]) == cbx_array_count(c->in[1])) {
        gap = cbx_subtract(ctx, cbx_sort(ctx, c->in[0], 0, false), cbx_sort(ctx, c->in[1], 0, false));
        return cbx_mean(ctx, cbx_abs(ctx, gap), NULL);
    }
    s = distributions(ctx, c);
    gap = cbx_abs(ctx, cbx_slice(ctx, cbx_subtract(ctx, s.x, s.y), 0, 0, -1, 1));
    return cbx_sum(ctx, cbx_multiply(ctx, gap, cbx_diff(ctx, s.values, 0)), NULL);
}

static cbx_array *kolmogorov_smirnov(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const shares s = distributions(ctx, c);
    return cbx_max(ctx, cbx_abs(ctx, cbx_subtract(ctx, s.x, s.y)), NULL);
}

#define DISTRIBUTIONS(high_)                                                                                           \
    .domain = "divergence", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_,                                 \
    .operands = CBX__PAIR("p", "q", DISTRIBUTION), .flags = CBX_METRIC_DIFFERENTIABLE,                                 \
    .invariances = CBX_INVARIANT_ORDER
#define OF_SAMPLES(high_)                                                                                              \
    .domain = "divergence", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_,                                 \
    .operands = CBX__PAIR("x", "y", SAMPLE), .shapes = CBX_SHAPES_FREE, .axioms = CBX_AXIOMS_METRIC
#define DIVERGENCE .axioms = CBX_AXIOMS_DIVERGENCE
#define NATURAL    "Natural logarithm. p and q are probabilities of the same outcomes; they are not divided by their sums."

/* clang-format off */
CBX__METRIC_TABLE(divergence,
    { .name = "kl_divergence", .summary = "Kullback-Leibler divergence", .formula = "sum(p log(p / q))", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = kl,
      .notes = NATURAL " Infinite where q is 0 and p is not. p is the true distribution.", .source = "scipy.stats.entropy(p, q)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "reverse_kl_divergence", .summary = "Reverse Kullback-Leibler divergence", .formula = "sum(q log(q / p))", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = reverse_kl,
      .notes = NATURAL " Infinite where p is 0 and q is not.", .source = "scipy.stats.entropy(q, p)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "js_divergence", .summary = "Jensen-Shannon divergence", .formula = "(KL(p, m) + KL(q, m)) / 2 with m = (p + q) / 2", DISTRIBUTIONS(M_LN2),
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .whole = jensen_shannon, .notes = NATURAL " At most log 2. Its square root is a metric, it is not.",
      .source = "Lin (1991); the square of scipy.spatial.distance.jensenshannon", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "total_variation", .summary = "Total variation distance", .formula = "sum(|p - q|) / 2", DISTRIBUTIONS(1), .axioms = CBX_AXIOMS_METRIC, .whole = total_variation,
      .notes = "The largest difference of the probabilities of one event.", .source = "Levin, Peres & Wilmer, Markov Chains and Mixing Times, 4.1", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "hellinger_distance", .summary = "Hellinger distance", .formula = "sqrt(sum((sqrt(p) - sqrt(q))^2) / 2)", DISTRIBUTIONS(1), .axioms = CBX_AXIOMS_METRIC, .whole = hellinger,
      .source = "Hellinger (1909)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "chi_squared_divergence", .summary = "Chi-squared divergence", .formula = "sum((p - q)^2 / q)", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = chi_squared,
      .notes = "Infinite where q is 0 and p is not.", .source = "Pearson (1900)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "renyi_divergence", .summary = "Renyi divergence", .formula = "log(sum(p^alpha q^(1 - alpha))) / (alpha - 1)", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = renyi,
      .parameters = { { "alpha", "order; 1 gives the Kullback-Leibler divergence", 0.5, 0x1p-1022, INFINITY, CBX_PARAMETER_REAL, NULL } },
      .notes = NATURAL " Infinite where p and q have no outcome in common, and for alpha above 1 where q alone is 0.", .source = "van Erven & Harremoes (2014)", .example = "[0.5, 0.5], [0.9, 0.1], alpha=2" },
    { .name = "f_divergence", .summary = "f-divergence", .formula = "sum(q f(p / q))", DISTRIBUTIONS(INFINITY), .axioms = CBX_AXIOM_IDENTITY, .whole = f_divergence,
      .function = "ratios to numbers, element by element, convex, 0 at 1", .notes = "q must not be 0 anywhere.", .source = "Csiszar (1967)",
      .example = "[0.5, 0.5], [0.9, 0.1], function=lambda r: abs(r - 1) / 2" },
    { .name = "wasserstein_1d", .summary = "Wasserstein distance of samples", .formula = "area between the distribution functions of x and y", OF_SAMPLES(INFINITY),
      .whole = cbx__metric_wasserstein, .flags = CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SAMPLE_ORDER | CBX_INVARIANT_SHIFT,
      .notes = "Also known as earth mover's distance, of order 1. The samples may have any sizes.", .source = "scipy.stats.wasserstein_distance", .example = "[0.0, 1.0, 3.0], [5.0, 6.0, 8.0]" },
    { .name = "kolmogorov_smirnov_distance", .summary = "Kolmogorov-Smirnov distance", .formula = "largest difference of the distribution functions of x and y", OF_SAMPLES(1),
      .whole = kolmogorov_smirnov, .invariances = CBX_INVARIANT_SAMPLE_ORDER | CBX_INVARIANT_SHIFT | CBX_INVARIANT_COMMON_SCALE,
      .source = "scipy.stats.ks_2samp", .example = "[0.0, 1.0, 3.0], [2.0, 6.0, 8.0]" },
    { .name = "bregman_divergence", .summary = "Bregman divergence", .formula = "psi(x) - psi(y) - <grad psi(y), x - y>", .domain = "divergence", .direction = CBX_DIRECTION_LOWER,
      .low = 0, .high = INFINITY, .operands = CBX__PAIR("x", "y", REAL), .axioms = CBX_AXIOM_IDENTITY, .flags = CBX_METRIC_DIFFERENTIABLE, .whole = bregman,
      .function = "an array to a number, convex and differentiable", .notes = "psi is the function; its gradient is computed.", .source = "Bregman (1967)",
      .example = "[1.0, 2.0], [0.0, 4.0], function=lambda x: (x * x).sum()" },
)
/* clang-format on */
