/*
 * Perceptual distance of pairs of images: differences of the features of several layers of a model,
 * each with the direction of its channels alone.
 */
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/vectors.h"

enum { IMAGES, REFERENCES, LINEAR, MAX_LAYERS = 64 };

/* Mean over places of sum over channels of w (a - b)^2 of each pair, a and b (n, channels, ...) of
 * norm 1 along the channels. */
static cbx_array *layer(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *a, const cbx_array *b,
                        const cbx_array *w)
{
    const int rank = cbx_array_ndim(a);
    const cbx_array *gap;
    cbx_axes places = { 0 };

    if (rank < 2 || !cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE, "features of both must be (n, channels, ...), not %s and %s",
                                  CBX__TEXT_OF(a), CBX__TEXT_OF(b));
    gap = cbx_subtract(ctx, cbx__unit_vectors(ctx, a, 1 - rank), cbx__unit_vectors(ctx, b, 1 - rank));
    gap = cbx_square(ctx, gap);
    if (w) {
        for (int k = 2; k < rank; k++) w = cbx_expand_dims(ctx, w, -1);
        gap = cbx_multiply(ctx, gap, w);
    }
    gap = cbx_sum(ctx, gap, CBX_AXIS(1));
    for (int k = 1; k < rank - 1; k++) places.axis[places.n++] = k;
    return places.n ? cbx_mean(ctx, gap, &places) : (cbx_array *)gap;
}

/* Features of all layers; the number of layers, 0 where something failed. */
static size_t layers_of(cbx_ctx *ctx, const cbx_metric_call *c, size_t i, cbx_array **out)
{
    const size_t n = c->function ? c->function->nout : 1;

    if (n > MAX_LAYERS)
        return cbx__metric_refused(ctx, c, CBX_EINVAL, "the function has %zu results: at most %d layers", n,
                                   MAX_LAYERS);
    out[0] = c->in[i];
    if (c->function && cbx_fn_call(ctx, c->function, 1, &c->in[i], n, out)) return 0;
    for (size_t k = 0; c->function && k < n; k++) {
        out[k] = cbx_astype(ctx, out[k], CBX_F64);
        if (cbx__metric_parameter(c, "gradient") == 0) out[k] = cbx_stop_gradient(ctx, out[k]);
    }
    return cbx_ctx_pending(ctx, NULL) ? 0 : n;
}

CBX__OF_CALL(lpips)
{
    cbx_array *a[MAX_LAYERS], *b[MAX_LAYERS];
    const cbx_array *sum = NULL, *linear = c->in[LINEAR];
    const size_t n = layers_of(ctx, c, IMAGES, a), m = layers_of(ctx, c, REFERENCES, b);
    size_t at = 0;

    if (!n || !m) return cbx__array_failed();
    for (size_t k = 0; k < n; k++) {
        const size_t channels = cbx_array_ndim(a[k]) > 1 ? cbx_array_dim(a[k], 1) : 0;
        const cbx_array *w = NULL, *each;
        if (linear && at + channels <= cbx_array_dim(linear, 0))
            w = cbx_slice(ctx, linear, 0, (ptrdiff_t)at, (ptrdiff_t)(at + channels), 1);
        each = layer(ctx, c, a[k], b[k], w);
        sum = sum ? cbx_add(ctx, sum, each) : each;
        at += channels;
    }
    if (linear && (cbx_array_ndim(linear) != 1 || at != cbx_array_dim(linear, 0)))
        return cbx__metric_refuse(ctx, c, CBX_ESHAPE,
                                  "'linear' must have a weight for each of %zu channels, it has %zu", at,
                                  cbx_array_count(linear));
    return (cbx_array *)sum;
}

/* clang-format off */
CBX__METRIC_TABLE(features_perceptual,
    { .name = "lpips", .summary = "Learned perceptual image patch similarity", .domain = "features", .tier = CBX_METRIC_TIER_LEARNED, .function = "images, a batch of them, to features (n, channels, ...) of one or several layers",
      .operands = { { "images", CBX_OPERAND_BATCH }, { "references", CBX_OPERAND_BATCH }, { "linear", CBX_OPERAND_NONNEGATIVE, true } },
      .shapes = CBX_SHAPES_FREE, .direction = CBX_DIRECTION_LOWER, .low = 0, .high = INFINITY, .items = lpips,
      .flags = CBX_METRIC_FEATURES | CBX_METRIC_DIFFERENTIABLE, .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOM_IDENTITY, .invariances = CBX_INVARIANT_ORDER,
      .parameters = { CBX__FLAG("gradient", "derivatives go through the function, too", 0) },
      .formula = "mean over pairs of sum over layers of mean over places of sum over channels of linear[channel] (a - b)^2, a and b: features of norm 1 along the channels",
      .notes = "linear has the weights of the channels, those of all layers behind each other; without it they are 1. Where all channels are 0 the direction is 0, too: other packages add an epsilon to norms.",
      .source = "Zhang, Isola, Efros, Shechtman & Wang (2018)", .example = "[[1.0, 0.0], [3.0, 4.0]], [[2.0, 0.0], [4.0, 3.0]]" },
)
/* clang-format on */
