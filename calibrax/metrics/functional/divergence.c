/* Divergences: how far one distribution is from another, given as probabilities or as samples. */
#include "calibrax/array/random.h"
#include "calibrax/metrics/functional/samples.h"

/* ---- of probabilities p and q ---- */

CBX__OF_CALL(kl) { return cbx_sum(ctx, cbx__kl_terms(ctx, c->in[0], c->in[1]), NULL); }

CBX__OF_CALL(reverse_kl) { return cbx_sum(ctx, cbx__kl_terms(ctx, c->in[1], c->in[0]), NULL); }

CBX__OF_CALL(jensen_shannon)
{
    const cbx_array *p = c->in[0], *q = c->in[1];
    const cbx_array *m = cbx_multiply_scalar(ctx, cbx_add(ctx, p, q), 0.5);
    const cbx_array *both = cbx_add(ctx, cbx__kl_terms(ctx, p, m), cbx__kl_terms(ctx, q, m));

    return cbx_maximum_scalar(ctx, cbx_multiply_scalar(ctx, cbx_sum(ctx, both, NULL), 0.5), 0);
}

CBX__OF_CALL(total_variation)
{
    return cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_abs(ctx, cbx_subtract(ctx, c->in[0], c->in[1])), NULL), 0.5);
}

CBX__OF_CALL(hellinger)
{
    const cbx_array *d = cbx_subtract(ctx, cbx__root(ctx, c->in[0]), cbx__root(ctx, c->in[1]));
    return cbx__root(ctx, cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_square(ctx, d), NULL), 0.5));
}

/* (p - q)^2 / q, 0 where both are 0. */
CBX__OF_CALL(chi_squared)
{
    const cbx_array *d = cbx_subtract(ctx, c->in[0], c->in[1]), *one = cbx__number(ctx, 1);
    const cbx_array *equal = cbx_equal_scalar(ctx, d, 0);

    return cbx_sum(ctx, cbx_divide(ctx, cbx_square(ctx, d), cbx_where(ctx, equal, one, c->in[1])), NULL);
}

/* log(sum p^a q^(1 - a)) / (a - 1), of logarithms, which neither overflow nor vanish; at 1 and
 * infinity its limits. */
CBX__OF_CALL(renyi)
{
    const double a = c->parameters[0];
    const cbx_array *p = c->in[0], *q = c->in[1], *zero = cbx__number(ctx, 0), *one = cbx__number(ctx, 1);
    const cbx_array *no_p = cbx_equal_scalar(ctx, p, 0), *no_q = cbx_equal_scalar(ctx, q, 0), *none, *t, *high;

    if (a == 1) return kl(ctx, c);
    if (a == 0.5) { /* of Bhattacharyya's coefficient, whose terms do not vanish */
        t = cbx_sum(ctx, cbx_multiply(ctx, cbx__root(ctx, p), cbx__root(ctx, q)), NULL);
        t = cbx_subtract(ctx, zero, cbx_multiply_scalar(ctx, cbx_log(ctx, t), 2)); /* 0 of equal ones, not -0 */
        return cbx_maximum_scalar(ctx, t, 0);
    }
    none = a < 1 ? cbx_logical_or(ctx, no_p, no_q) : no_p;
    p = cbx_log(ctx, cbx_where(ctx, none, one, p));
    q = cbx_log(ctx, cbx_where(ctx, none, one, q));
    if (isinf(a))
        t = cbx_subtract(ctx, p, q);
    else
        t = cbx_add(ctx, cbx_multiply_scalar(ctx, p, a), cbx_multiply_scalar(ctx, q, 1 - a));
    t = cbx_where(ctx, none, cbx__number(ctx, -INFINITY), t);
    if (isinf(a)) return cbx_maximum_scalar(ctx, cbx_max(ctx, t, NULL), 0);
    high = cbx_max(ctx, cbx_stop_gradient(ctx, t), NULL);
    high = cbx_where(ctx, cbx_isfinite(ctx, high), high, zero);
    t = cbx_log(ctx, cbx_sum(ctx, cbx_exp(ctx, cbx_subtract(ctx, t, high)), NULL));
    t = cbx_subtract(ctx, zero, cbx_divide(ctx, cbx_add(ctx, t, high), cbx__number(ctx, 1 - a)));
    return cbx_maximum_scalar(ctx, t, 0);
}

/*
 * sum q f(p / q), where f is the user's; q f(p / q) tends to p times the slope of f at infinity
 * where q tends to 0.
 */
CBX__OF_CALL(f_divergence)
{
    const double slope = c->parameters[0];
    const cbx_array *p = c->in[0], *q = c->in[1], *one = cbx__number(ctx, 1), *zero = cbx__number(ctx, 0);
    const cbx_array *no_q = cbx_equal_scalar(ctx, q, 0), *no_p = cbx_equal_scalar(ctx, p, 0), *singular;
    cbx_array *ratio = cbx_divide(ctx, cbx_where(ctx, no_q, one, p), cbx_where(ctx, no_q, one, q)), *f = NULL;

    if (cbx_fn_call(ctx, c->function, 1, &ratio, 1, &f)) return cbx__array_failed();
    if (cbx_array_ndim(f) != cbx_array_ndim(p) || cbx_array_count(f) != cbx_array_count(p))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE,
                                  "the function must give a number for each of %zu ratios, it gives %zu",
                                  cbx_array_count(p), cbx_array_count(f));
    singular = isinf(slope) ? cbx__number(ctx, slope) : cbx_multiply_scalar(ctx, p, slope);
    singular = cbx_where(ctx, no_p, zero, singular);
    return cbx_sum(ctx, cbx_where(ctx, no_q, singular, cbx_multiply(ctx, q, f)), NULL);
}

/* psi(x) - psi(y) - <grad psi(y), x - y>. */
CBX__OF_CALL(bregman)
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

/* ---- of samples of numbers ---- */

/* The share of a sample, by weight, that is at or below each number. */
static cbx_array *share_below(cbx_ctx *ctx, const cbx_array *x, const cbx_array *w, const cbx_array *at)
{
    const cbx_array *order = cbx_argsort(ctx, x, 0, false), *sorted = cbx_take(ctx, x, order, 0);
    const cbx_array *place = cbx_searchsorted(ctx, sorted, at, true), *sums;

    if (!w) return cbx_divide_scalar(ctx, cbx_astype(ctx, place, CBX_F64), (double)cbx_array_count(x));
    sums = cbx_cumulative_sum_initial(ctx, cbx_take(ctx, w, order, 0), 0);
    return cbx_divide(ctx, cbx_take(ctx, sums, place, 0), cbx_index(ctx, sums, 0, -1));
}

cbx_array *cbx__metric_wasserstein(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *x = c->in[0], *y = c->in[1], *w[2] = { c->in[2], c->in[3] }, *at, *from, *gap;

    for (int i = 0; i < 2; i++)
        if (w[i] && cbx_array_ndim(w[i]) != 1)
            return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'%s' must have one axis, not %d",
                                      c->metric->operands[2 + i].name, cbx_array_ndim(w[i]));
    if (!w[0] && !w[1]) return cbx__quantile_gap(ctx, c->metric, x, y, 1);
    /* the area between the distribution functions, which change at the values of either sample */
    at = cbx_sort(ctx, cbx_concat(ctx, 2, (const cbx_array *[]){ x, y }, 0), 0, false);
    from = cbx_stop_gradient(ctx, cbx_slice(ctx, at, 0, 0, -1, 1));
    gap = cbx_subtract(ctx, share_below(ctx, x, w[0], from), share_below(ctx, y, w[1], from));
    return cbx_sum(ctx, cbx_multiply(ctx, cbx_abs(ctx, gap), cbx_diff(ctx, at, 0)), NULL);
}

/* The largest gap between the distribution functions of two sorted samples. */
static double largest_gap(const double *x, size_t n, const double *y, size_t m)
{
    size_t i = 0, j = 0;
    double gap = 0;

    while (i < n && j < m) {
        const double at = x[i] < y[j] ? x[i] : y[j];
        while (i < n && x[i] == at) i++;
        while (j < m && y[j] == at) j++;
        gap = fmax(gap, fabs((double)i / (double)n - (double)j / (double)m));
    }
    return gap;
}

CBX__OF_CALL(kolmogorov_smirnov)
{
    const cbx_array *x = c->in[0], *y = c->in[1], *at;
    const double *a, *b;

    if (!cbx__metric_has_data(ctx, c)) {
        at = cbx_concat(ctx, 2, (const cbx_array *[]){ x, y }, 0);
        at = cbx_subtract(ctx, share_below(ctx, x, NULL, at), share_below(ctx, y, NULL, at));
        return cbx_max(ctx, cbx_abs(ctx, at), NULL);
    }
    a = cbx__host_view(ctx, cbx_sort(ctx, x, 0, false));
    b = cbx__host_view(ctx, cbx_sort(ctx, y, 0, false));
    return a && b ? cbx__number(ctx, largest_gap(a, cbx_array_count(x), b, cbx_array_count(y))) : cbx__array_failed();
}

/* ---- of samples of points ---- */

enum { RBF, LAPLACE }; /* kernels */

/* Sums over y of the kernel of rows first..last-1 of x with y. */
static cbx_array *kernel_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const double b = c->parameters[1];
    const cbx_array *some = cbx_slice(ctx, c->in[0], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1), *t;
    const cbx_array *e = cbx_subtract(ctx, cbx_expand_dims(ctx, some, 1), cbx_expand_dims(ctx, c->in[1], 0));

    e = cbx_divide_scalar(ctx, e, b);
    if ((int)c->parameters[0] == RBF)
        t = cbx_multiply_scalar(ctx, cbx_sum(ctx, cbx_square(ctx, e), CBX_AXIS(-1)), -0.5);
    else
        t = cbx_negative(ctx, cbx_sum(ctx, cbx_abs(ctx, e), CBX_AXIS(-1)));
    return cbx_sum(ctx, cbx_exp(ctx, t), CBX_AXIS(1));
}

static cbx_array *kernel_sum(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array *x, cbx_array *y)
{
    cbx_array *in[] = { x, y, NULL };
    const cbx_metric_call call = { .metric = c->metric, .in = in, .parameters = c->parameters };

    return cbx_sum(ctx, cbx__by_rows(ctx, &call, cbx_array_dim(x, 0), cbx_array_count(y), kernel_rows), NULL);
}

/* Mean kernel within x and within y less twice that between them; without: pairs of a point with
 * itself do not count. */
static cbx_array *squared_discrepancy(cbx_ctx *ctx, const cbx_metric_call *c, bool without)
{
    const double n = (double)cbx_array_dim(c->in[0], 0), m = (double)cbx_array_dim(c->in[1], 0);
    const cbx_array *xx = kernel_sum(ctx, c, c->in[0], c->in[0]), *yy = kernel_sum(ctx, c, c->in[1], c->in[1]);
    const cbx_array *xy = kernel_sum(ctx, c, c->in[0], c->in[1]);

    if (without) {
        xx = cbx_subtract_scalar(ctx, xx, n);
        yy = cbx_subtract_scalar(ctx, yy, m);
    }
    xx = cbx_divide_scalar(ctx, xx, n * (n - without));
    yy = cbx_divide_scalar(ctx, yy, m * (m - without));
    return cbx_subtract(ctx, cbx_add(ctx, xx, yy), cbx_divide_scalar(ctx, xy, n * m / 2));
}

CBX__OF_CALL(mmd) { return cbx__root(ctx, cbx_maximum_scalar(ctx, squared_discrepancy(ctx, c, false), 0)); }

CBX__OF_CALL(mmd_unbiased)
{
    for (int i = 0; i < 2; i++)
        if (cbx_array_dim(c->in[i], 0) < 2)
            return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'%s' must have at least 2 points, got 1",
                                      c->metric->operands[i].name);
    return squared_discrepancy(ctx, c, true);
}

enum { PROJECTIONS, ORDER, SEED };

/* Of directions first..last-1 the transport costs of the points on them. */
static cbx_array *sliced_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const size_t shape[] = { (size_t)c->parameters[PROJECTIONS], cbx_array_dim(c->in[0], 1) };
    const cbx_array *key = cbx_random_key(ctx, (uint64_t)c->parameters[SEED]);
    const cbx_array *all = cbx_random_normal(ctx, key, 2, shape, CBX_F64);
    const cbx_array *some = cbx_slice(ctx, all, 0, (ptrdiff_t)first, (ptrdiff_t)last, 1), *along;

    some = cbx_divide(ctx, some, cbx_sqrt(ctx, cbx_sum(ctx, cbx_square(ctx, some), CBX_AXIS_KEEP(1))));
    along = cbx_matrix_transpose(ctx, some);
    return cbx__quantile_gap(ctx, c->metric, cbx_matrix_product(ctx, c->in[0], along),
                             cbx_matrix_product(ctx, c->in[1], along), c->parameters[ORDER]);
}

CBX__OF_CALL(sliced_wasserstein)
{
    const size_t points = cbx_array_dim(c->in[0], 0) + cbx_array_dim(c->in[1], 0);
    const cbx_array *costs = cbx__by_rows(ctx, c, (size_t)c->parameters[PROJECTIONS], points, sliced_rows);

    return cbx__root_of(ctx, cbx_mean(ctx, costs, NULL), c->parameters[ORDER]);
}

#define DISTRIBUTIONS(high_)                                                                                           \
    .domain = "divergence", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_,                                 \
    .operands = CBX__PAIR("p", "q", DISTRIBUTION), .flags = CBX_METRIC_DIFFERENTIABLE,                                 \
    .invariances = CBX_INVARIANT_ORDER
#define OF_NUMBERS(high_)                                                                                              \
    .domain = "divergence", .direction = CBX_DIRECTION_LOWER, .low = 0, .high = high_, .shapes = CBX_SHAPES_ROWS,      \
    .axioms = CBX_AXIOMS_METRIC
#define OF_POINTS(low_)                                                                                                \
    .domain = "divergence", .direction = CBX_DIRECTION_LOWER, .low = low_, .high = INFINITY,                           \
    .operands = CBX__PAIR("x", "y", POINTS), .shapes = CBX_SHAPES_ROWS
#define KERNEL                                                                                                         \
    CBX__CHOICE("kernel", "rbf: exp(-||a - b||^2 / (2 bandwidth^2)), or laplace: exp(-||a - b||_1 / bandwidth)", 0, 1, \
                "rbf|laplace"),                                                                                        \
        CBX__REAL("bandwidth", "distance at which points count as close", 1, 0x1p-500, 0x1p500)
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
      .notes = "At most 1, where p and q have no outcome in common; all such pairs are equally far. Some authors leave out the division by 2: their distance is sqrt(2) times this one.",
      .source = "Hellinger (1909)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "chi_squared_divergence", .summary = "Chi-squared divergence", .formula = "sum((p - q)^2 / q)", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = chi_squared,
      .notes = "Infinite where q is 0 and p is not.", .source = "Pearson (1900)", .example = "[0.5, 0.5], [0.9, 0.1]" },
    { .name = "renyi_divergence", .summary = "Renyi divergence", .formula = "log(sum(p^alpha q^(1 - alpha))) / (alpha - 1)", DISTRIBUTIONS(INFINITY), DIVERGENCE, .whole = renyi,
      .parameters = { CBX__REAL("alpha", "order; 1 gives the Kullback-Leibler divergence, infinity log(max(p / q))", 0.5, 0x1p-1022, INFINITY) },
      .notes = NATURAL " Infinite where p and q have no outcome in common, and for alpha above 1 where q alone is 0.", .source = "van Erven & Harremoes (2014)", .example = "[0.5, 0.5], [0.9, 0.1], alpha=2" },
    { .name = "f_divergence", .summary = "f-divergence", .formula = "sum(q f(p / q))", DISTRIBUTIONS(INFINITY), .axioms = CBX_AXIOM_IDENTITY, .whole = f_divergence,
      .function = "ratios p / q, all at once, to their values f: convex, 0 at 1", .parameters = { CBX__REAL("slope", "limit of f(t) / t for large t: what p counts where q is 0", INFINITY, 0, INFINITY) },
      .notes = "Where both are 0 the term is 0, where q alone is it is slope times p. f may be negative below 1, as t log(t); the divergence is not.",
      .source = "Csiszar (1967); Liese & Vajda (2006)", .example = "[0.5, 0.5], [0.9, 0.1], function=lambda t: abs(t - 1) / 2" },
    { .name = "wasserstein_1d", .summary = "Wasserstein distance of samples", .formula = "area between the distribution functions of x and y", OF_NUMBERS(INFINITY),
      .operands = { { "x", CBX_OPERAND_SAMPLE }, { "y", CBX_OPERAND_SAMPLE }, { "x_weights", CBX_OPERAND_NONNEGATIVE, true, CBX_ITEMS_FIRST }, { "y_weights", CBX_OPERAND_NONNEGATIVE, true, CBX_ITEMS_SECOND } },
      .whole = cbx__metric_wasserstein, .flags = CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SAMPLE_ORDER | CBX_INVARIANT_SHIFT,
      .notes = "Also known as earth mover's distance, of order 1. The samples may differ in size; weights are divided by their sum, left out they are equal.",
      .source = "scipy.stats.wasserstein_distance", .example = "[0.0, 1.0, 3.0], [5.0, 6.0, 8.0]" },
    { .name = "kolmogorov_smirnov_distance", .summary = "Kolmogorov-Smirnov distance", .formula = "largest difference of the distribution functions of x and y", OF_NUMBERS(1),
      .operands = CBX__PAIR("x", "y", SAMPLE), .flags = CBX_METRIC_EAGER, .whole = kolmogorov_smirnov,
      .invariances = CBX_INVARIANT_SAMPLE_ORDER | CBX_INVARIANT_SHIFT | CBX_INVARIANT_COMMON_SCALE, .notes = "The samples may differ in size.",
      .source = "scipy.stats.ks_2samp", .example = "[0.0, 1.0, 3.0], [2.0, 6.0, 8.0]" },
    { .name = "mmd", .summary = "Maximum mean discrepancy", .formula = "sqrt(mean k(x, x') + mean k(y, y') - 2 mean k(x, y))", OF_POINTS(0), .axioms = CBX_AXIOMS_METRIC, .whole = mmd,
      .parameters = { KERNEL }, .flags = CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_SAMPLE_ORDER,
      .notes = "Means over all pairs, those of a point with itself included. It is a difference of means near 1: below 1e-8 it is rounding.",
      .source = "Gretton et al. (2012)", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "mmd_squared_unbiased", .summary = "Unbiased squared maximum mean discrepancy", .formula = "mean k(x, x') + mean k(y, y') - 2 mean k(x, y), without pairs of a point with itself", OF_POINTS(-INFINITY),
      .axioms = CBX_AXIOM_SYMMETRIC, .whole = mmd_unbiased, .parameters = { KERNEL }, .flags = CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_SAMPLE_ORDER,
      .notes = "Its expectation is 0 for samples of one distribution, so that it may be negative. Each sample needs 2 points.",
      .source = "Gretton et al. (2012), lemma 6", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "sinkhorn_divergence", .summary = "Sinkhorn divergence", .formula = "OT(x, y) - (OT(x, x) + OT(y, y)) / 2, OT: transport cost of ||x - y||^2 with entropy times regularization", OF_POINTS(0),
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOMS_DIVERGENCE, .whole = cbx__sinkhorn_divergence, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .parameters = { CBX__REAL("regularization", "weight of the entropy, in squared units of x", 0.1, 0x1p-500, 0x1p500),
                      CBX__INTEGER("max_iter", "updates at most", 1000, 1, 0x1p40),
                      CBX__REAL("threshold", "error of the marginals at which it ends", 1e-4, 0x1p-52, 1) },
      .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ROTATION | CBX_INVARIANT_SAMPLE_ORDER,
      .notes = "Tends to the squared Wasserstein distance of order 2 for small regularization. Updates that do not converge are an error; in a trace the result is NaN. The error of the value is of the order of the square of threshold, that of gradients of threshold itself. The entropy is relative to the product of both samples.",
      .source = "Feydy et al. (2019)", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "sliced_wasserstein", .summary = "Sliced Wasserstein distance", .formula = "mean over directions of the p-th power of the Wasserstein distance along it, to the power 1 / p", OF_POINTS(0),
      .axioms = CBX_AXIOMS_PSEUDO, .whole = sliced_wasserstein, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER,
      .parameters = { CBX__INTEGER("num_projections", "directions", 256, 1, 0x1p20), CBX__REAL("p", "order", 2, 1, 100),
                      CBX__INTEGER("seed", "of the random directions", 0, 0, 0x1p52) },
      .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_SAMPLE_ORDER,
      .notes = "An estimate from random directions, the same ones for one seed; its relative error falls as 1 / sqrt(num_projections). The samples may differ in size.",
      .source = "Bonneel et al. (2015); POT sliced_wasserstein_distance", .example = "[[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [3.0, 0.0]]" },
    { .name = "bregman_divergence", .summary = "Bregman divergence", .formula = "psi(x) - psi(y) - <grad psi(y), x - y>", .domain = "divergence", .direction = CBX_DIRECTION_LOWER,
      .low = 0, .high = INFINITY, .operands = CBX__PAIR("x", "y", REAL), .axioms = CBX_AXIOM_IDENTITY, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_COMPILED, .whole = bregman,
      .function = "an array to one number: convex and differentiable", .notes = "psi is the function; its gradient is computed.", .source = "Bregman (1967)",
      .example = "[1.0, 2.0], [0.0, 4.0], function=lambda x: (x * x).sum()" },
)
/* clang-format on */
