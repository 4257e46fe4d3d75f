/* Agreement of two series: correlations, concordance; skewness of one. */
#include <string.h>

#include "calibrax/array/fft.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/functional/counts.h"

/* ---- second moments ---- */

/* [sum w, mean x, sum w dx^2, mean y, sum w dy^2, sum w dx dy]. */
CBX__OF_CALL(moments)
{
    const cbx_array *x = c->in[0], *y = c->in[1], *mx = cbx__weighted_mean(ctx, c, x),
                    *my = cbx__weighted_mean(ctx, c, y);
    const cbx_array *dx = cbx_subtract(ctx, x, mx), *dy = cbx_subtract(ctx, y, my);
    const cbx_array *parts[] = { cbx__total_weight(ctx, c, x),
                                 mx,
                                 cbx__weighted_sum(ctx, c, cbx_square(ctx, dx)),
                                 my,
                                 cbx__weighted_sum(ctx, c, cbx_square(ctx, dy)),
                                 cbx__weighted_sum(ctx, c, cbx_multiply(ctx, dx, dy)) };

    return cbx__pack(ctx, 6, parts);
}

/* With the products of both series. */
CBX__OF_STATES(join_moments, first, second)
{
    CBX__JOINT(6, ctx, first, second);
    const cbx_array *dx = cbx__join_spread(ctx, &j, a + 1, b + 1, out + 1);
    const cbx_array *dy = cbx__join_spread(ctx, &j, a + 3, b + 3, out + 3);
    out[5] = cbx__join_products(ctx, &j, a[5], b[5], cbx_multiply(ctx, dx, dy));
    return cbx__pack(ctx, 6, out);
}

static cbx_array *correlation(cbx_ctx *ctx, const cbx_array *xx, const cbx_array *yy, const cbx_array *xy)
{
    const cbx_array *r = cbx_divide(ctx, cbx_divide(ctx, xy, cbx_sqrt(ctx, xx)), cbx_sqrt(ctx, yy));
    return cbx_clip_scalar(ctx, r, cbx_float(-1), cbx_float(1));
}

CBX__OF_STATE(pearson, state)
{
    const cbx_array *nan = cbx__number(ctx, NAN);

    CBX__PARTS(s, 6, ctx, state);
    for (int i = 1; i < 5; i += 2)
        s[i + 1] = cbx_where(ctx, cbx__is_constant(ctx, s[0], s[i], s[i + 1]), nan, s[i + 1]);
    return correlation(ctx, s[2], s[4], s[5]);
}

/* 2 cov / (var x + var y + (mean x - mean y)^2); of equal constants 1. */
CBX__OF_STATE(concordance, state)
{
    CBX__PARTS(s, 6, ctx, state);
    const cbx_array *gap = cbx_multiply(ctx, s[0], cbx_square(ctx, cbx_subtract(ctx, s[1], s[3])));
    return cbx__ratio_or(ctx, cbx_multiply_scalar(ctx, s[5], 2), cbx_add(ctx, cbx_add(ctx, s[2], s[4]), gap), 1);
}

/* ---- ranks ---- */

/* Ranks from 1, of ties their mean. */
static cbx_array *ranks(cbx_ctx *ctx, const cbx_array *x)
{
    const cbx__ordered o = cbx__order_scores(ctx, x);
    const cbx_array *sum = cbx_astype(ctx, cbx_add(ctx, o.first, o.end), CBX_F64);
    const cbx_array *rank = cbx_multiply_scalar(ctx, cbx_add_scalar(ctx, sum, 1), 0.5);

    return cbx_scatter(ctx, cbx_zeros_like(ctx, rank), o.order, rank, 0, CBX_SCATTER_SET);
}

CBX__OF_CALL(spearman)
{
    const cbx_array *x = ranks(ctx, c->in[0]), *y = ranks(ctx, c->in[1]);
    const cbx_array *dx = cbx_subtract(ctx, x, cbx_mean(ctx, x, NULL)),
                    *dy = cbx_subtract(ctx, y, cbx_mean(ctx, y, NULL));

    return correlation(ctx, cbx_sum(ctx, cbx_square(ctx, dx), NULL), cbx_sum(ctx, cbx_square(ctx, dy), NULL),
                       cbx_sum(ctx, cbx_multiply(ctx, dx, dy), NULL));
}

/* Inversions of n ranks: pairs whose first element is the larger one.  Merge sort: v is sorted, t
 * is scratch. */
static double inversions(int64_t *v, int64_t *t, size_t n)
{
    const size_t half = n / 2;
    double count;
    size_t i = 0, j = half;

    if (n < 2) return 0;
    count = inversions(v, t, half) + inversions(v + half, t, n - half);
    for (size_t k = 0; k < n; k++) {
        const bool right = i == half || (j < n && v[j] < v[i]);
        if (right && i < half) count += (double)(half - i);
        t[k] = right ? v[j++] : v[i++];
    }
    memcpy(v, t, n * sizeof *v);
    return count;
}

/* Pairs that tie, in runs of equal keys of a sorted sequence. */
static double ties(const int64_t *keys, size_t n)
{
    double pairs = 0, run = 1;

    for (size_t i = 1; i <= n; i++) {
        if (i < n && keys[i] == keys[i - 1]) {
            run++;
            continue;
        }
        pairs += run * (run - 1) / 2;
        run = 1;
    }
    return pairs;
}

/* Dense ranks of x in the order of the items: equal values have equal numbers. */
static cbx_array *places(cbx_ctx *ctx, const cbx_array *x)
{
    const cbx__ordered o = cbx__order_scores(ctx, x);
    return cbx_scatter(ctx, cbx_zeros_like(ctx, o.first), o.order, o.first, 0, CBX_SCATTER_SET);
}

/* Knight (1966): items in the order of x and then y; the pairs that y has in the other order are
 * its inversions. */
CBX__OF_CALL(kendall)
{
    const size_t n = cbx_array_count(c->in[0]);
    const cbx_array *x = places(ctx, c->in[0]), *y = places(ctx, c->in[1]),
                    *scale = cbx_weak(ctx, x, cbx_int((int64_t)n));
    const cbx_array *keys = cbx_sort(ctx, cbx_add(ctx, cbx_multiply(ctx, x, scale), y), 0, false);
    cbx_array *firsts = cbx_copy(ctx, cbx_floor_divide(ctx, keys, scale)),
              *seconds = cbx_copy(ctx, cbx_remainder(ctx, keys, scale));
    cbx_array *scratch = cbx_copy(ctx, cbx_zeros_like(ctx, keys));
    double both, of_x, of_y, swapped;

    keys = cbx_copy(ctx, keys);
    if (cbx_ctx_pending(ctx, NULL)) return cbx__array_failed();
    both = ties(cbx_array_data(keys), n);
    of_x = ties(cbx_array_data(firsts), n);
    swapped = inversions(cbx_array_data_mut(seconds), cbx_array_data_mut(scratch), n);
    of_y = ties(cbx_array_data(seconds), n);
    const double pairs = 0.5 * (double)n * ((double)n - 1);
    const double tau = (pairs - of_x - of_y + both - 2 * swapped) / sqrt(pairs - of_x) / sqrt(pairs - of_y);
    return cbx__number(ctx, tau > 1 ? 1 : tau < -1 ? -1 : tau); /* NaN of a constant */
}

/* ---- others ---- */

CBX__OF_STATE(adjusted, state)
{
    const double k = c->parameters[0];
    const cbx_array *one = cbx__number(ctx, 1), *share, *rest, *freedom;

    CBX__PARTS(s, 4, ctx, state);
    s[2] = cbx_where(ctx, cbx__is_constant(ctx, s[0], s[1], s[2]), cbx__number(ctx, 0), s[2]);
    share = cbx_divide(ctx, s[3], s[2]);
    rest = cbx_subtract_scalar(ctx, s[0], k + 1);
    rest = cbx_where(ctx, cbx_less_scalar(ctx, rest, 0), cbx__number(ctx, NAN), rest);
    freedom = cbx_divide(ctx, cbx_subtract_scalar(ctx, s[0], 1), rest);
    return cbx_subtract(ctx, one, cbx_multiply(ctx, share, freedom));
}

/* [n, mean t, sum (t - mean t)^2, sum (t - p)^2]. */
CBX__OF_CALL(fit_parts)
{
    const cbx_array *t = c->in[1], *mean = cbx_mean(ctx, t, NULL);
    const cbx_array *parts[] = { cbx__number(ctx, (double)cbx_array_count(t)), mean,
                                 cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, t, mean)), NULL),
                                 cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, t, c->in[0])), NULL) };

    return cbx__pack(ctx, 4, parts);
}

CBX__OF_STATES(join_fits, first, second)
{
    CBX__JOINT(4, ctx, first, second);
    cbx__join_spread(ctx, &j, a + 1, b + 1, out + 1);
    out[3] = cbx_add(ctx, a[3], b[3]);
    return cbx__pack(ctx, 4, out);
}

/* [sum w, mean, sum w d^2, sum w d^3] with d = x - mean. */
CBX__OF_CALL(third_moments)
{
    const cbx_array *x = c->in[0], *mean = cbx__weighted_mean(ctx, c, x), *d = cbx_subtract(ctx, x, mean);
    const cbx_array *square = cbx_square(ctx, d);
    const cbx_array *parts[] = { cbx__total_weight(ctx, c, x), mean, cbx__weighted_sum(ctx, c, square),
                                 cbx__weighted_sum(ctx, c, cbx_multiply(ctx, square, d)) };

    return cbx__pack(ctx, 4, parts);
}

/* Pebay (2008), equations 1.5 and 1.6. */
CBX__OF_STATES(join_third_moments, first, second)
{
    CBX__JOINT(4, ctx, first, second);
    const cbx_array *d = cbx__join_spread(ctx, &j, a + 1, b + 1, out + 1), *square = cbx_square(ctx, d);
    const cbx_array *pa = cbx__ratio_or(ctx, a[0], j.n, 0), *pb = j.share;
    const cbx_array *cube = cbx_multiply(ctx, cbx_multiply(ctx, cbx_multiply(ctx, square, j.between), d),
                                         cbx_subtract(ctx, pa, pb));
    const cbx_array *mixed = cbx_subtract(ctx, cbx_multiply(ctx, pa, b[2]), cbx_multiply(ctx, pb, a[2]));
    out[3] = cbx_add(ctx, cbx_add(ctx, cbx_add(ctx, a[3], b[3]), cube),
                     cbx_multiply(ctx, cbx_multiply_scalar(ctx, d, 3), mixed));
    return cbx__pack(ctx, 4, out);
}

CBX__OF_STATE(skewness, state)
{
    CBX__PARTS(s, 4, ctx, state);
    s[2] = cbx_where(ctx, cbx__is_constant(ctx, s[0], s[1], s[2]), cbx__number(ctx, 0), s[2]);
    const cbx_array *spread = cbx__root(ctx, s[2]), *third = cbx__ratio_or(ctx, s[3], spread, 0);
    return cbx_multiply(ctx, cbx__ratio_or(ctx, third, s[2], 0), cbx_sqrt(ctx, s[0]));
}

/* An even number, n at least, without prime factors above 5. */
static size_t smooth_length(size_t n)
{
    static const size_t factor[] = { 2, 3, 5 };

    for (n += n % 2;; n += 2) {
        size_t rest = n;
        for (size_t i = 0; i < CBX_LEN(factor); i++)
            while (rest % factor[i] == 0) rest /= factor[i];
        if (rest == 1) return n;
    }
}

/*
 * Mean products of what is a number of steps apart, of series centred each, over their value at no
 * distance: by the power spectra of series with so many zeros behind them that no lag reaches
 * round.
 */
CBX__OF_CALL(autocorrelation)
{
    const size_t length = cbx_array_dim(c->in[0], 1);
    const size_t lags = c->parameters[0] > 0 ? (size_t)c->parameters[0] : length, n = smooth_length(length + lags);
    const cbx_axes all = { .n = 2, .axis = { 0, 1 } };
    const cbx_array *x = cbx_copy(ctx, cbx_moveaxis(ctx, c->in[0], 1, 2)), *f, *power, *sums; /* a series in a row */
    const cbx_array *one = cbx__number(ctx, 1), *mean, *size, *whole;

    if (lags > length)
        return cbx__metric_refuse(ctx, c, CBX_EINVAL,
                                  "'max_lag' must be at most %zu, the length of the series, got %zu", length, lags);
    mean = cbx_mean(ctx, x, CBX_AXIS_KEEP(2));
    x = cbx_subtract(ctx, x, mean);
    f = cbx_rfft(ctx, x, n, 2, CBX_FFT_BACKWARD);
    power = cbx_add(ctx, cbx_square(ctx, cbx_real(ctx, f)), cbx_square(ctx, cbx_imag(ctx, f)));
    sums = cbx_slice(ctx, cbx_irfft(ctx, cbx_sum(ctx, power, &all), n, 0, CBX_FFT_BACKWARD), 0, 0, (ptrdiff_t)lags, 1);
    sums = cbx_divide(ctx, sums, cbx_arange(ctx, (double)length, (double)length - (double)lags, -1, CBX_F64));
    whole = cbx_index(ctx, sums, 0, 0);
    size = cbx_sqrt(ctx, cbx_sum(ctx, cbx_square(ctx, cbx_stop_gradient(ctx, mean)), NULL));
    whole = cbx_where(ctx, cbx__is_constant(ctx, one, size, whole), cbx__number(ctx, 0), whole);
    return cbx__ratio_or(ctx, sums, whole, 0);
}

#define STATISTICAL(...) CBX__ROW("statistical", __VA_ARGS__)
#define CORRELATION(kind)                                                                                              \
    STATISTICAL(HIGHER, -1, 1), .operands = CBX__PAIR("x", "y", kind), .axioms = CBX_AXIOM_SYMMETRIC
#define OF_MOMENTS(finish_)                                                                                            \
    .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED, .parts = moments, .merge = join_moments, .finish = finish_

/* clang-format off */
CBX__METRIC_TABLE(statistical,
    { .name = "pearson_correlation", .summary = "Pearson correlation", .formula = "cov(x, y) / (std(x) std(y))", CORRELATION(REAL), OF_MOMENTS(pearson),
      .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .notes = "NaN where x or y is constant, or deviates from its mean by no more than the rounding of a sum (16 2^-52 of it). All elements count as one series. Squares of deviations must be within float64: sizes of 1e-150 to 1e150.",
      .source = "scipy.stats.pearsonr", .example = "[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]" },
    { .name = "spearman_rank_correlation", .summary = "Spearman rank correlation", .formula = "Pearson correlation of the ranks", CORRELATION(SAMPLE), .whole = spearman,
      .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE, .notes = "Ties have their mean rank. NaN where x or y is constant.",
      .source = "scipy.stats.spearmanr", .example = "[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 50.0]" },
    { .name = "kendall_tau", .summary = "Kendall's tau-b", .formula = "(concordant - discordant) / sqrt((pairs - ties of x) (pairs - ties of y))", CORRELATION(SAMPLE),
      .flags = CBX_METRIC_DATA_SHAPED, .whole = kendall, .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER | CBX_INVARIANT_MONOTONE,
      .notes = "In n log n steps. NaN where x or y is constant.", .source = "Knight (1966); scipy.stats.kendalltau", .example = "[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 50.0]" },
    { .name = "concordance_correlation", .summary = "Concordance correlation", .formula = "2 cov(x, y) / (var(x) + var(y) + (mean(x) - mean(y))^2)", CORRELATION(REAL), OF_MOMENTS(concordance),
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .notes = "1 where x and y are the same constant.", .source = "Lin (1989)", .example = "[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 5.0]" },
    { .name = "r_squared_adjusted", .summary = "Adjusted coefficient of determination", .formula = "1 - (1 - r_squared) (n - 1) / (n - num_predictors - 1)", STATISTICAL(HIGHER, -INFINITY, 1),
      .operands = CBX__PAIR("predictions", "targets", REAL), .flags = CBX_METRIC_DIFFERENTIABLE, .parts = fit_parts, .merge = join_fits, .finish = adjusted,
      .parameters = { CBX__INTEGER("num_predictors", "parameters of the model without its constant", 1, 0, 0x1p52) },
      .invariances = CBX_INVARIANT_COMMON_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .notes = "Of n = num_predictors + 1 items it is minus infinity or NaN, and NaN of fewer; constant targets give minus infinity or NaN, too.",
      .source = "Ezekiel (1930)", .example = "[2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]" },
    { .name = "skewness", .summary = "Skewness", .formula = "mean((x - mean(x))^3) / mean((x - mean(x))^2)^(3/2)", STATISTICAL(INFO, -INFINITY, INFINITY),
      .operands = { { "x", CBX_OPERAND_REAL } }, .flags = CBX_METRIC_DIFFERENTIABLE | CBX_METRIC_WEIGHTED, .parts = third_moments, .merge = join_third_moments, .finish = skewness,
      .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER, .notes = "Of the sample itself, not corrected for its size (biased). 0 of a constant series.",
      .source = "scipy.stats.skew", .example = "[1.0, 2.0, 2.0, 9.0]" },
    { .name = "autocorrelation", .summary = "Autocorrelation function", .formula = "out[k] = mean(d[:, t] d[:, t + k]) / mean(d^2), d: series less the mean of each", STATISTICAL(INFO, -INFINITY, INFINITY),
      .operands = { { "series", CBX_OPERAND_VECTOR_ENSEMBLE } }, .flags = CBX_METRIC_DIFFERENTIABLE, .whole = autocorrelation,
      .parameters = { CBX__INTEGER("max_lag", "number of lags, 0 included; 0: as many as steps", 0, 0, 0x1p31) }, .invariances = CBX_INVARIANT_SCALE | CBX_INVARIANT_SHIFT | CBX_INVARIANT_ORDER,
      .notes = "series (batch, steps, features); the result (max_lag) starts with 1. Each lag has the mean of the products that there are (not divided by the number of steps), so that large lags are noisy and may leave -1..1. 0 of constant series.",
      .source = "Box & Jenkins (1976), unbiased covariances", .example = "[[[1.0], [2.0], [1.0], [2.0]]], max_lag=2" },
)
/* clang-format on */
