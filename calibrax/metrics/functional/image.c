/* Images: noise, structure, and the diversity of sets. */
#include "calibrax/array/internal.h"
#include "calibrax/metrics/internal.h"

enum { SCALES = 5, MAX_SCALES = 12 };

/* ---- noise ---- */

CBX__OF_STATE(decibels, mse)
{
    const double peak = c->parameters[0] * c->parameters[0];
    return cbx_multiply_scalar(ctx, cbx_log10(ctx, cbx_divide(ctx, cbx__number(ctx, peak), mse)), 10);
}

/* ---- structure ---- */

/* What ssim and ms_ssim have in common: their first parameters. */
enum { MAX_VAL, FILTER_SIZE, FILTER_SIGMA, K1, K2 };

/* Sums of a window along an axis, where it lies inside: shorter by its size - 1. */
static cbx_array *windowed(cbx_ctx *ctx, const cbx_array *x, const double *p, int axis)
{
    const ptrdiff_t size = (ptrdiff_t)p[FILTER_SIZE], places = (ptrdiff_t)cbx_array_dim(x, axis) - size + 1;
    const double half = 0.5 * (double)(size - 1);
    double total = 0;
    cbx_array *sum = NULL;

    for (ptrdiff_t k = 0; k < size; k++) total += exp(-0.5 * pow(((double)k - half) / p[FILTER_SIGMA], 2));
    for (ptrdiff_t k = 0; 2 * k < size; k++) {
        const double w = exp(-0.5 * pow(((double)k - half) / p[FILTER_SIGMA], 2)) / total;
        const ptrdiff_t mirror = size - 1 - k;
        cbx_array *term = cbx_slice(ctx, x, axis, k, k + places, 1);
        if (mirror != k) term = cbx_add(ctx, term, cbx_slice(ctx, x, axis, mirror, mirror + places, 1));
        term = cbx_multiply_scalar(ctx, term, w);
        sum = sum ? cbx_add(ctx, sum, term) : term;
    }
    return sum;
}

/* (2 a + k) / (b + k) */
static cbx_array *stable_ratio(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b, double k)
{
    return cbx_divide(ctx, cbx_add_scalar(ctx, cbx_multiply_scalar(ctx, a, 2), k), cbx_add_scalar(ctx, b, k));
}

/* Means over all windows of contrast and structure alone, and with luminance. */
static void similarity(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y, const double *p, cbx_array **structure,
                       cbx_array **all)
{
    const double c1 = pow(p[K1] * p[MAX_VAL], 2), c2 = pow(p[K2] * p[MAX_VAL], 2);
    const cbx_array *maps[] = { x, y, cbx_add(ctx, cbx_square(ctx, x), cbx_square(ctx, y)), cbx_multiply(ctx, x, y) };
    cbx_array *m[4];
    const cbx_array *squares, *product, *cs, *luminance;

    cbx_unstack(ctx, windowed(ctx, windowed(ctx, cbx_stack(ctx, 4, maps, 0), p, 1), p, 2), 0, 4, m);
    squares = cbx_add(ctx, cbx_square(ctx, m[0]), cbx_square(ctx, m[1]));
    product = cbx_multiply(ctx, m[0], m[1]);
    cs = stable_ratio(ctx, cbx_subtract(ctx, m[3], product), cbx_subtract(ctx, m[2], squares), c2);
    luminance = stable_ratio(ctx, product, squares, c1);
    *structure = cbx_mean(ctx, cs, NULL);
    *all = cbx_mean(ctx, cbx_multiply(ctx, luminance, cs), NULL);
}

/* Refuses images in which no window has place after some halvings. */
static bool large_enough(cbx_ctx *ctx, const cbx_metric_call *c, size_t halvings)
{
    const size_t h = cbx_array_dim(c->in[0], 0), w = cbx_array_dim(c->in[0], 1);
    const size_t needed = (size_t)c->parameters[FILTER_SIZE] << halvings;

    if (h >= needed && w >= needed) return true;
    return cbx__metric_refused(
        ctx, c, CBX_ESHAPE,
        "images must have at least %zu by %zu pixels, not %zu by %zu: use a smaller 'filter_size'%s", needed, needed, h,
        w, halvings ? " or fewer scales" : "");
}

CBX__OF_CALL(ssim)
{
    cbx_array *structure, *all;

    if (!large_enough(ctx, c, 0)) return cbx__array_failed();
    similarity(ctx, c->in[0], c->in[1], c->parameters, &structure, &all);
    return all;
}

/* Means of two by two pixels; a last row or column without a partner is dropped. */
static cbx_array *halved(cbx_ctx *ctx, const cbx_array *x)
{
    for (int axis = 0; axis < 2; axis++) {
        const ptrdiff_t even = (ptrdiff_t)(cbx_array_dim(x, axis) / 2 * 2);
        const cbx_array *a = cbx_slice(ctx, x, axis, 0, even, 2), *b = cbx_slice(ctx, x, axis, 1, even, 2);
        x = cbx_multiply_scalar(ctx, cbx_add(ctx, a, b), 0.5);
    }
    return (cbx_array *)x;
}

/* max(x, 0)^y, whose derivative at negative x is 0. */
static cbx_array *positive_power(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *positive = cbx_logical_not(ctx, cbx_less_equal_scalar(ctx, x, 0)), *one = cbx__number(ctx, 1);
    const cbx_array *counts = cbx_logical_or(ctx, positive, cbx_equal_scalar(ctx, y, 0));
    cbx_array *safe = cbx_where(ctx, positive, x, one);

    return cbx_where(ctx, counts, cbx_pow(ctx, safe, y), cbx__number(ctx, 0));
}

CBX__OF_CALL(ms_ssim)
{
    static const double published[SCALES] = { 0.0448, 0.2856, 0.3001, 0.2363, 0.1333 };
    const cbx_array *x = c->in[0], *y = c->in[1], *powers = c->in[2];
    const size_t scales = powers ? cbx_array_count(powers) : SCALES;
    const cbx_array *factor[MAX_SCALES];

    if (!cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(y)))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'%s' and '%s' must have one shape: %s and %s", "predictions",
                                  "targets", CBX__TEXT_OF(x), CBX__TEXT_OF(y));
    if (powers && (cbx_array_ndim(powers) != 1 || scales > MAX_SCALES))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "'power_factors' must be a vector of at most %d, not %s",
                                  MAX_SCALES, CBX__TEXT_OF(powers));
    if (!large_enough(ctx, c, scales - 1)) return cbx__array_failed();
    if (!powers) powers = cbx__vector(ctx, SCALES, published);
    for (size_t i = 0; i < scales; i++) {
        cbx_array *structure, *all;
        similarity(ctx, x, y, c->parameters, &structure, &all);
        factor[i] = i + 1 < scales ? structure : all;
        if (i + 1 < scales) x = halved(ctx, x), y = halved(ctx, y);
    }
    return cbx_prod(ctx, positive_power(ctx, cbx__pack(ctx, scales, factor), powers), NULL);
}

/* ---- diversity ---- */

/* The number of equally likely kinds that has the entropy of the eigenvalues; those within rounding
 * of 0 do not count. */
CBX__OF_CALL(vendi)
{
    const double q = c->parameters[0], n = (double)cbx_array_dim(c->in[0], 0);
    const cbx_array *values, *positive, *p, *zero = cbx__number(ctx, 0), *legal;

    if (!cbx__metric_symmetric(ctx, c, 0)) return cbx__array_failed();
    values = cbx_eigvalsh(ctx, c->in[0]);
    if (cbx__metric_has_data(ctx, c)) {
        const double lowest = cbx__metric_element(values, 0), highest = cbx__metric_element(values, (size_t)n - 1);
        if (lowest < -1e-8 * highest)
            return cbx__metric_refuse(ctx, c, CBX_EDOM, "'%s' must have no negative eigenvalue, and one is %s",
                                      c->metric->operands[0].name, CBX__TEXT_NUMBER(lowest));
    }
    legal = cbx_multiply_scalar(ctx, cbx_index(ctx, values, 0, -1), -1e-8);
    legal = cbx_greater_equal(ctx, cbx_index(ctx, values, 0, 0), legal);
    positive = cbx_greater(ctx, values, cbx_multiply_scalar(ctx, cbx_max(ctx, values, NULL), n * 0x1p-52));
    p = cbx_where(ctx, positive, values, zero);
    p = cbx_divide(ctx, p, cbx_sum(ctx, p, NULL));
    if (q == 1) {
        p = cbx_exp(ctx, cbx__entropy(ctx, p, NULL));
    } else if (isinf(q)) {
        p = cbx_reciprocal(ctx, cbx_max(ctx, p, NULL));
    } else {
        p = cbx_where(ctx, positive, cbx_pow_scalar(ctx, cbx_where(ctx, positive, p, cbx__number(ctx, 1)), q), zero);
        p = cbx__nan_or(ctx, c, cbx_pow_scalar(ctx, cbx_sum(ctx, p, NULL), 1 / (1 - q)));
    }
    return cbx__nan_unless(ctx, c, legal, p);
}

#define IMAGES .domain = "image", .direction = CBX_DIRECTION_HIGHER
#define PAIR   .operands = CBX__PAIR("predictions", "targets", IMAGE)
/* Values are checked in the code, which a compiled call would not do. */
#define CHECKED .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_EAGER
#define FUSED   .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_COMPILED
#define MAX_VAL_ROW                                                                                                    \
    CBX__REAL("max_val", "largest value that a pixel may have, less the smallest", 1, 0x1p-1022, 0x1p511)
#define WINDOW_ROWS                                                                                                    \
    CBX__INTEGER("filter_size", "pixels of the window along each axis", 11, 1, 1025),                                  \
        CBX__REAL("filter_sigma", "standard deviation of the Gaussian window in pixels", 1.5, 0x1p-10, 0x1p20),        \
        CBX__REAL("k1", "stabilises the luminance: (k1 max_val)^2", 0.01, 0, 1),                                       \
        CBX__REAL("k2", "stabilises contrast and structure: (k2 max_val)^2", 0.03, 0, 1)

/* clang-format off */
CBX__METRIC_TABLE(image,
    { .name = "psnr", .summary = "Peak signal-to-noise ratio", .formula = "10 log10(max_val^2 / mean((predictions - targets)^2))", IMAGES, PAIR,
      .low = -INFINITY, .high = INFINITY, .parameters = { MAX_VAL_ROW }, .axioms = CBX_AXIOM_SYMMETRIC, .invariances = CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER,
      .items = cbx__squared_error, .finish = decibels, CBX__SMOOTH,
      .notes = "In decibels. Infinite of equal images. Of several images: of the mean error of all pixels, which is not the mean of their ratios.",
      .source = "scikit-image peak_signal_noise_ratio", .example = "[[0.1, 0.9], [0.5, 0.4]], [[0.0, 1.0], [0.5, 0.5]]" },
    { .name = "ssim", .summary = "Structural similarity",
      .formula = "mean over windows of (2 mx my + c1) (2 cov + c2) / ((mx^2 + my^2 + c1) (vx + vy + c2)), c1 = (k1 max_val)^2, c2 = (k2 max_val)^2", IMAGES, PAIR,
      .low = -1, .high = 1, .parameters = { MAX_VAL_ROW, WINDOW_ROWS }, .axioms = CBX_AXIOM_SYMMETRIC, .items = ssim, FUSED,
      .notes = "Means, variances and covariances of Gaussian windows that lie inside the image; the mean over windows and channels is the item: batches are averaged image by image.",
      .source = "Wang et al. (2004); scikit-image structural_similarity(gaussian_weights=True, use_sample_covariance=False)",
      .example = "[[0.1, 0.9, 0.2], [0.5, 0.4, 0.3], [0.2, 0.6, 0.7]], [[0.0, 1.0, 0.2], [0.5, 0.5, 0.3], [0.1, 0.6, 0.9]], filter_size=3" },
    { .name = "ms_ssim", .summary = "Structural similarity at several scales",
      .formula = "product over scales of mean(contrast and structure)^power, at the last scale of mean(ssim)^power", IMAGES,
      .operands = { { "predictions", CBX_OPERAND_IMAGE }, { "targets", CBX_OPERAND_IMAGE }, { "power_factors", CBX_OPERAND_NONNEGATIVE, true } },
      .shapes = CBX_SHAPES_FREE, .low = 0, .high = 1, .parameters = { MAX_VAL_ROW, WINDOW_ROWS }, .axioms = CBX_AXIOM_SYMMETRIC, .items = ms_ssim, FUSED,
      .notes = "Each scale halves the images by means of two by two pixels; windows lie inside. power_factors has a power for each scale; left out, those of the paper, 0.0448, 0.2856, 0.3001, 0.2363 and 0.1333. A scale whose mean is negative counts as 0. With 5 scales and windows of 11 images need 176 by 176 pixels.",
      .source = "Wang, Simoncelli & Bovik (2003)", .example = "[[0.1, 0.9], [0.5, 0.4]], [[0.0, 1.0], [0.5, 0.5]], [0.5, 0.5], filter_size=1" },
    { .name = "vendi_score", .summary = "Vendi score: effective number of distinct items", .formula = "exp(-sum(p log p)), p: eigenvalues of similarity, divided by their sum", IMAGES,
      .operands = { { "similarity", CBX_OPERAND_SPD } },
      .parameters = { CBX__REAL("order", "order of the entropy: 1 Shannon's, infinity the largest eigenvalue alone; lower orders count rare kinds more", 1, 0x1p-10, INFINITY) },
      .low = 1, .high = INFINITY, .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_ORTHOGONAL, .items = vendi, CHECKED,
      .notes = "similarity (n, n) of n items, 1 of an item with itself; it may be singular, and a negative eigenvalue (below -1e-8 of the largest) is refused. Between 1, all alike, and n, nothing in common.",
      .source = "Friedman & Dieng (2023); Pasarkar & Dieng (2024) for orders", .example = "[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]" },
)
/* clang-format on */
