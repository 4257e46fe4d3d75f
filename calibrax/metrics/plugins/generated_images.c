/*
 * Generated images against real ones by features of a model: Frechet distance of normal
 * distributions, maximum mean discrepancy, Inception score.  Batches may have real or generated
 * images alone, and come in any order: draws are of rows in an order that their values decide.
 */
#include "calibrax/array/random.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/functional/moments.h"
#include "calibrax/metrics/vectors.h"

enum { REAL, GENERATED, MAX_SETS = 1024 };

/* ---- Frechet distance ---- */

CBX__OF_CALL(both_moments)
{
    const cbx_array *of[2] = { NULL, NULL };

    for (size_t i = REAL; i <= GENERATED; i++)
        if (c->in[i]) of[i] = cbx__moments(ctx, c->in[i]);
    if (!of[REAL] && !of[GENERATED])
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'%s' and '%s' are both left out", c->metric->operands[REAL].name,
                                  c->metric->operands[GENERATED].name);
    for (size_t i = REAL; i <= GENERATED; i++)
        if (!of[i]) of[i] = cbx_zeros_like(ctx, of[!i]);
    return cbx_stack(ctx, 2, of, 0);
}

CBX__OF_STATE(frechet, state)
{
    for (int i = REAL; i <= GENERATED; i++) {
        const double n = cbx__metric_element(cbx_index(ctx, cbx_index(ctx, state, 0, i), 0, 0), 0);
        if (n < 2)
            return cbx__metric_refuse(ctx, c, CBX_EINVAL, "a covariance needs at least 2 items, '%s' has %.0f",
                                      c->metric->operands[i].name, n);
    }
    return cbx__frechet(ctx, c, state);
}

/* ---- draws ---- */

/* The places of rows in an order that does not depend on where they are: of products with a vector
 * of random numbers. */
static cbx_array *order_of(cbx_ctx *ctx, const cbx_array *x)
{
    const size_t d = cbx_array_dim(x, 1);
    const cbx_array *by = cbx_random_normal(ctx, cbx_random_key(ctx, 0), 1, &d, CBX_F64);

    return cbx_argsort(ctx, cbx_stop_gradient(ctx, cbx_matrix_product(ctx, x, by)), 0, false);
}

/* Rows that a key draws, without replacement: the first of a permutation of the ordered rows. */
static cbx_array *drawn(cbx_ctx *ctx, const cbx_array *x, const cbx_array *order, const cbx_array *key, size_t count)
{
    const cbx_array *permutation = cbx_random_permutation(ctx, key, cbx_array_dim(x, 0));
    const cbx_array *first = cbx_slice(ctx, permutation, 0, 0, (ptrdiff_t)count, 1);

    return cbx_take(ctx, x, cbx_take(ctx, order, first, 0), 0);
}

enum { RESULT_MEAN, RESULT_STD };

static cbx_array *mean_or_std(cbx_ctx *ctx, const cbx_metric_call *c, size_t n, const cbx_array *const *scores)
{
    const cbx_array *all = cbx_stack(ctx, n, scores, 0);
    return cbx__metric_parameter(c, "result") == RESULT_STD ? cbx_std(ctx, all, NULL, 0) : cbx_mean(ctx, all, NULL);
}

/* ---- maximum mean discrepancy ---- */

/* (gamma <x, y> + coef)^degree of all rows. */
static cbx_array *kernel(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *y)
{
    const double gamma = cbx__metric_parameter(c, "gamma"), degree = cbx__metric_parameter(c, "degree");
    const cbx_array *products = cbx__rows_times_rows(ctx, x, y), *base;
    cbx_array *power;

    base = cbx_multiply_scalar(ctx, products, gamma > 0 ? gamma : 1 / (double)cbx_array_dim(x, 1));
    base = cbx_add_scalar(ctx, base, cbx__metric_parameter(c, "coef"));
    power = (cbx_array *)base;
    for (int i = 1; i < (int)degree; i++) power = cbx_multiply(ctx, power, base);
    return power;
}

/* The mean over pairs of different rows of one set. */
static cbx_array *mean_of_pairs(cbx_ctx *ctx, const cbx_array *k)
{
    const double n = (double)cbx_array_dim(k, 0);
    return cbx_divide_scalar(ctx, cbx_subtract(ctx, cbx_sum(ctx, k, NULL), cbx_trace(ctx, k, 0)), n * (n - 1));
}

static cbx_array *discrepancy(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *within = cbx_add(ctx, mean_of_pairs(ctx, kernel(ctx, c, x, x)),
                                      mean_of_pairs(ctx, kernel(ctx, c, y, y)));
    const cbx_array *between = cbx_mean(ctx, kernel(ctx, c, x, y), NULL);

    return cbx_subtract(ctx, within, cbx_multiply_scalar(ctx, between, 2));
}

CBX__OF_CALL(kid)
{
    const size_t sets = (size_t)cbx__metric_parameter(c, "subsets"),
                 size = (size_t)cbx__metric_parameter(c, "subset_size");
    const cbx_array *keys, *order[2], *scores[MAX_SETS];

    for (size_t i = REAL; i <= GENERATED; i++) {
        const size_t n = c->in[i] ? cbx_array_dim(c->in[i], 0) : 0;
        if (n < size)
            return cbx__metric_refuse(ctx, c, CBX_EINVAL,
                                      "'subset_size' is %zu: it must be at most %zu, the number of items of '%s'", size,
                                      n, c->metric->operands[i].name);
        order[i] = order_of(ctx, c->in[i]);
    }
    keys = cbx_random_split(ctx, cbx_random_key(ctx, (uint64_t)cbx__metric_parameter(c, "seed")), 2 * sets);
    for (size_t s = 0; s < sets; s++) {
        const size_t mark = cbx__mark(ctx);
        const cbx_array *x = drawn(ctx, c->in[REAL], order[REAL], cbx_index(ctx, keys, 0, (ptrdiff_t)(2 * s)), size);
        const cbx_array *y = drawn(ctx, c->in[GENERATED], order[GENERATED],
                                   cbx_index(ctx, keys, 0, (ptrdiff_t)(2 * s + 1)), size);
        scores[s] = cbx__tidy(ctx, mark, discrepancy(ctx, c, x, y));
    }
    return mean_or_std(ctx, c, sets, scores);
}

/* ---- Inception score ---- */

/* exp of the mean divergence of the distributions from their mean. */
static cbx_array *score_of(cbx_ctx *ctx, const cbx_array *logs)
{
    const cbx_array *p = cbx_exp(ctx, logs), *mean = cbx_mean(ctx, p, CBX_AXIS_KEEP(0)), *gap;

    mean = cbx_log(ctx, cbx_where(ctx, cbx_equal_scalar(ctx, mean, 0), cbx__number(ctx, 1), mean));
    gap = cbx_multiply(ctx, p, cbx_subtract(ctx, logs, mean));
    return cbx_exp(ctx, cbx_mean(ctx, cbx_sum(ctx, gap, CBX_AXIS(-1)), NULL));
}

CBX__OF_CALL(inception)
{
    const size_t splits = (size_t)cbx__metric_parameter(c, "splits"), n = cbx_array_dim(c->in[0], 0);
    const cbx_array *scores[MAX_SETS], *key, *x, *high;

    if (splits > n)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL, "'splits' is %zu: it must be at most the number of items, %zu",
                                  splits, n);
    key = cbx_random_key(ctx, (uint64_t)cbx__metric_parameter(c, "seed"));
    x = drawn(ctx, c->in[0], order_of(ctx, c->in[0]), key, n);
    high = cbx_max(ctx, cbx_stop_gradient(ctx, x), CBX_AXIS_KEEP(-1));
    x = cbx_subtract(ctx, x, high);
    x = cbx_subtract(ctx, x, cbx_log(ctx, cbx_sum(ctx, cbx_exp(ctx, x), CBX_AXIS_KEEP(-1))));
    for (size_t i = 0; i < splits; i++)
        scores[i] = score_of(ctx,
                             cbx_slice(ctx, x, 0, (ptrdiff_t)(i * n / splits), (ptrdiff_t)((i + 1) * n / splits), 1));
    return mean_or_std(ctx, c, splits, scores);
}

#define IMAGES                                                                                                         \
    .domain = "features", .tier = CBX_METRIC_TIER_FEATURES, .function = "images, a batch of them, to features (n, d)"
#define SETS                                                                                                           \
    IMAGES, .operands = CBX__PAIR("real", "generated", FEATURES), .shapes = CBX_SHAPES_ROWS,                           \
            .direction = CBX_DIRECTION_LOWER
#define SEED     CBX__INTEGER("seed", "of the draws", 0, 0, 0x1p53)
#define RESULT   CBX__CHOICE("result", "the mean over the parts, or their standard deviation (over n)", 0, 1, "mean|std")
#define GRADIENT CBX__FLAG("gradient", "derivatives go through the function, too", 0)

/* clang-format off */
CBX__METRIC_TABLE(features_generated,
    { .name = "fid", .summary = "Frechet inception distance", SETS, .low = 0, .high = INFINITY, .parts = both_moments, .merge = cbx__moments_merge, .finish = frechet,
      .flags = CBX_METRIC_FEATURES | CBX_METRIC_APART | CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, .axioms = CBX_AXIOM_SYMMETRIC, .invariances = CBX_INVARIANT_SAMPLE_ORDER, .parameters = { GRADIENT },
      .formula = "|m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), m and S: means and covariances (n - 1) of the features",
      .notes = "A state keeps means and covariances; its batches may have real or generated images alone. The value depends on the model and on the number of images: compare values of equal ones. Below d images the covariances are singular and the distance is too large.",
      .source = "Heusel et al. (2017)", .example = "[[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]], [[1.0, 1.0], [3.0, 0.0], [1.0, 4.0]]" },
    { .name = "kid", .summary = "Kernel inception distance", SETS, .low = -INFINITY, .high = INFINITY, .whole = kid,
      .flags = CBX_METRIC_FEATURES | CBX_METRIC_APART | CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SAMPLE_ORDER,
      .formula = "mean over subsets of mean k(x, x') + mean k(y, y') - 2 mean k(x, y), pairs of different rows within a set, k(x, y) = (gamma <x, y> + coef)^degree",
      .parameters = { CBX__INTEGER("subsets", "number of draws", 100, 1, MAX_SETS), CBX__INTEGER("subset_size", "images of each set in a draw", 1000, 2, 0x1p31),
                      CBX__INTEGER("degree", "power of the kernel", 3, 1, 16), CBX__REAL("gamma", "factor of the product; 0: 1 / d", 0, 0, INFINITY),
                      CBX__REAL("coef", "summand of the product", 1, -INFINITY, INFINITY), SEED, RESULT, GRADIENT },
      .notes = "Unbiased: it may be below 0 of like sets. Each subset is drawn without replacement. The same for any order of the images, and of batches of a state, which may have real or generated images alone.",
      .source = "Binkowski, Sutherland, Arbel & Gretton (2018); torchmetrics.image.KernelInceptionDistance", .example = "[[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]], [[1.0, 1.0], [3.0, 0.0], [1.0, 4.0]], subsets=2, subset_size=3" },
    { .name = "image_inception_score", .summary = "Inception score of images", IMAGES, .operands = { { "images", CBX_OPERAND_FEATURES } }, .direction = CBX_DIRECTION_HIGHER,
      .low = 0, .high = INFINITY, .whole = inception, .flags = CBX_METRIC_FEATURES | CBX_METRIC_EAGER | CBX_METRIC_DIFFERENTIABLE, .invariances = CBX_INVARIANT_SAMPLE_ORDER,
      .formula = "mean over splits of exp(mean KL(p, mean of p)), p: softmax of the features, which are logits of classes",
      .parameters = { CBX__INTEGER("splits", "parts of the images", 10, 1, MAX_SETS), SEED, RESULT, GRADIENT },
      .notes = "The seed shuffles the images in front of the splits; the same for any order of them. inception_score takes probabilities, in order.",
      .source = "Salimans et al. (2016); torchmetrics.image.InceptionScore", .example = "[[2.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 3.0]], splits=2" },
)
/* clang-format on */
