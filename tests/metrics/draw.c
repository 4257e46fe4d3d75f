/* Random operands of metric functions, and values of them. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

static cbx_err err;

cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole)
{
    cbx_array *a = NULL;

    CHECK_OK(cbx__draw_array(ctx, ndim, shape, v, whole, &a, &err), &err, "an operand");
    return a;
}

/* ---- rows with other parameters and all operands ---- */

enum { MAX_OTHERS = 4 };

typedef struct variant {
    const char *metric;
    bool all; /* operands that may be left out are given */
    struct {
        const char *name;
        double value;
    } others[MAX_OTHERS];
    unsigned lost; /* axioms of the defaults alone */
} variant;

static const variant variants[] = {
    { "mahalanobis_distance", true, { { 0 } }, 0 },
    { "randers_distance", true, { { "magnitude", 0.75 } }, 0 },
    { "wasserstein_1d", true, { { 0 } }, 0 },
    { "minkowski_distance", false, { { "p", 3 } }, 0 },
    { "minkowski_distance", false, { { "p", INFINITY } }, 0 },
    { "poincare_distance", false, { { "curvature", 0.25 } }, 0 },
    { "huber_loss", false, { { "delta", 0.25 } }, 0 },
    { "charbonnier_loss", false, { { "epsilon", 0.5 }, { "alpha", 1.5 } }, 0 },
    { "quantile_loss", false, { { "quantile", 0.9 } }, 0 },
    { "expected_calibration_error", false, { { "num_bins", 3 } }, 0 },
    { "brier_decomposition", false, { { "num_bins", 4 } }, 0 },
    { "f1_score", false, { { "average", 2 } }, 0 },
    { "fbeta_score", false, { { "average", 3 }, { "beta", 2 } }, 0 },
    { "iou", false, { { "average", 1 } }, 0 },
    { "dice_coefficient", false, { { "average", 2 } }, 0 },
    { "normalized_mutual_information_clustering", false, { { "average", 1 } }, 0 },
    { "adjusted_mutual_information", false, { { "average", 3 } }, 0 },
    { "v_measure", false, { { "beta", 0.5 } }, CBX_AXIOM_SYMMETRIC },
    { "renyi_divergence", false, { { "alpha", 1 } }, 0 },
    { "renyi_divergence", false, { { "alpha", 2 } }, 0 },
    { "mmd", false, { { "kernel", 1 }, { "bandwidth", 2 } }, 0 },
    { "mmd_squared_unbiased", false, { { "kernel", 1 }, { "bandwidth", 2 } }, 0 },
    { "sliced_wasserstein", false, { { "num_projections", 16 }, { "p", 1 }, { "seed", 5 } }, 0 },
    { "fid", false, { { "gradient", 1 } }, 0 },
    { "kid", false, { { "degree", 2 }, { "gamma", 0.5 }, { "coef", 2 }, { "result", 1 } }, 0 },
    { "lpips", true, { { 0 } }, 0 },
    { "bert_score", true, { { "result", 1 } }, 0 },
    { "bert_score", false, { { "result", 2 }, { "recall_baseline", 0.25 } }, 0 },
    { "ensemble_ranked_probability_score", true, { { "fair", 0 } }, CBX_AXIOM_PROPER },
    { "regression_calibration_error", true, { { 0 } }, 0 },
    { "event_reliability", false, { { "num_bins", 4 } }, 0 },
    { "pit_histogram", false, { { "num_bins", 4 } }, 0 },
    { "manifold_precision", false, { { "k", 1 } }, 0 },
    { "density_weighted_recall", false, { { "k", 2 } }, 0 },
    { "pairwise_rmsd", false, { { "centre", 0 } }, 0 },
    { "spectral_distance", false, { { "num_eigenvalues", 3 } }, 0 },
    { "psnr", false, { { "max_val", 2 } }, 0 },
    { "ssim", false, { { "max_val", 2 }, { "filter_size", 7 }, { "filter_sigma", 1 } }, 0 },
    { "vendi_score", false, { { "order", 2 } }, 0 },
    { "vendi_score", false, { { "order", INFINITY } }, 0 },
    { "contrastive_loss", true, { { "margin", 2 }, { "normalize", 1 } }, 0 },
    { "lifted_structure_loss", true, { { "margin", 2 }, { "normalize", 1 } }, 0 },
    { "nt_xent_loss", true, { { "temperature", 0.25 } }, 0 },
    { "supervised_contrastive_loss", true, { { "temperature", 0.5 } }, 0 },
    { "multi_similarity_loss", true, { { "alpha", 1 }, { "beta", 10 }, { "base", 0.25 } }, 0 },
    { "circle_loss", true, { { "margin", 0.25 }, { "scale", 16 } }, 0 },
    { "info_nce_loss", false, { { "temperature", 0.5 }, { "symmetric", 1 } }, 0 },
    { "ms_ssim", true, { { "filter_size", 7 } }, 0 },
    { "mine_distance_weighted_negatives", true, { { "cutoff", 0.25 } }, 0 },
    { "triplet_margin_loss", true, { { 0 } }, 0 },
    { "margin_based_loss", true, { { 0 } }, 0 },
    { "triplet_margin_loss", false, { { "margin", 1 }, { "average", 1 }, { "normalize", 1 } }, 0 },
    { "triplet_soft_margin_loss", false, { { "margin", 0.5 }, { "normalize", 1 } }, 0 },
    { "margin_based_loss", false, { { "margin", 0.5 }, { "boundary", 1 }, { "normalize", 0 } }, 0 },
    { "normalized_softmax_loss", false, { { "temperature", 0.5 } }, 0 },
    { "arcface_loss", false, { { "margin", 0.25 }, { "scale", 8 } }, 0 },
    { "cosface_loss", false, { { "margin", 0.1 }, { "scale", 8 } }, 0 },
    { "sphereface_loss", false, { { "margin", 2 }, { "scale", 4 } }, 0 },
    { "proxy_nca_loss", false, { { "scale", 3 }, { "positive_in_sum", 0 } }, 0 },
    { "proxy_anchor_loss", false, { { "margin", 0.5 }, { "scale", 8 } }, 0 },
    { "ndcg", false, { { "gains", 1 } }, 0 },
    { "ndcg_at_k", false, { { "k", 3 }, { "gains", 1 } }, 0 },
    { "precision_at_k", false, { { "k", 3 } }, 0 },
    { "recall_at_k", false, { { "k", 3 } }, 0 },
    { "hit_rate", false, { { "k", 2 } }, 0 },
    { "r_squared_adjusted", false, { { "num_predictors", 3 } }, 0 },
    { "autocorrelation", false, { { "max_lag", 3 } }, 0 },
    { "quantile", false, { { "q", 0.9 } }, 0 },
    { "bleu", false, { { "max_n", 2 }, { "smoothing", 2 } }, 0 },
    { "rouge_n", false, { { "n", 2 }, { "measure", 2 } }, 0 },
    { "rouge_l", false, { { "measure", 0 } }, 0 },
    { "distinct_n", false, { { "n", 2 } }, 0 },
    { "maximum_calibration_error", false, { { "num_bins", 3 } }, 0 },
    { "adaptive_calibration_error", false, { { "num_bins", 3 } }, 0 },
    { "classwise_ece", false, { { "num_bins", 3 } }, 0 },
    { "reliability_diagram_bins", false, { { "num_bins", 4 } }, 0 },
    { "precision", false, { { "average", 3 } }, 0 },
    { "recall", false, { { "average", 2 } }, 0 },
    { "log_loss", false, { { "eps", 1e-3 } }, 0 },
    { "manifold_recall", false, { { "k", 1 } }, 0 },
    { "manifold_radii", false, { { "k", 1 } }, 0 },
    { "density_weighted_precision", false, { { "k", 2 } }, 0 },
    { "mine_hard_negatives", false, { { "positives", 1 }, { "normalize", 1 } }, 0 },
    { "mine_semi_hard_negatives", false, { { "margin", 0.5 }, { "positives", 2 }, { "normalize", 1 } }, 0 },
    { "mine_multi_similarity_pairs", false, { { "epsilon", 0.5 } }, 0 },
    { "streaming_quantile", false, { { "q", 0.9 } }, 0 },
    { "streaming_roc_auc", false, { { "size", 1024 } }, 0 },
    { "streaming_average_precision", false, { { "size", 1024 } }, 0 },
    { "chi2_confidence_interval", false, { { "percentile", 0.9 } }, 0 },
    { "chemical_validity", false, { { "min_length", 0.1 }, { "max_length", 4 }, { "min_angle", 0.5 } }, 0 },
    { "f_divergence", false, { { "slope", 2 } }, 0 },
    { "spectral_convergence", false, { { "fft_size", 8 }, { "hop_length", 4 } }, 0 },
    { "mel_cepstral_distortion",
      false,
      { { "fft_size", 64 }, { "hop_length", 4 }, { "num_mels", 8 }, { "num_coefficients", 4 } },
      0 },
    { "image_inception_score", false, { { "seed", 3 }, { "result", 1 } }, 0 },
    { "interval_score", false, { { "alpha", 0.5 } }, 0 },
};

/* The row of a variant: with other defaults, and with operands that must be given. */
static void set_variant(cbx_ctx *ctx, const variant *v, cbx_metric_function *row)
{
    const cbx_metric_function *m;

    CHECK_OK(cbx_metric_find(ctx, v->metric, &m, &err), &err, v->metric);
    *row = *m;
    row->axioms &= ~v->lost;
    for (size_t i = 0; v->all && i < cbx_metric_operands(m); i++) {
        cbx_metric_operand *o = &row->operands[i];
        if (!o->optional) continue;
        o->items = cbx_metric_operand_items(m, i);
        o->optional = false;
        if (o->kind == CBX_OPERAND_INDICES) row->invariances &= ~(unsigned)CBX_INVARIANT_ORDER; /* they are places */
        /* a weight goes with its item, which changes of one operand at a time part from it */
        if (o->items != CBX_ITEMS_NONE && o->items != CBX_ITEMS_PAIRS) row->axioms = row->invariances = 0;
    }
    for (size_t i = 0; i < MAX_OTHERS && v->others[i].name; i++) {
        size_t at = 0;
        while (at < cbx_metric_parameters(m) && strcmp(m->parameters[at].name, v->others[i].name) != 0) at++;
        CHECK(at < cbx_metric_parameters(m), v->others[i].name);
        CHECK(row->parameters[at].value != v->others[i].value, v->metric);
        row->parameters[at].value = v->others[i].value;
    }
}

const cbx_metric_function *metric_at(cbx_ctx *ctx, size_t i)
{
    static cbx_metric_function rows[CBX_LEN(variants)];
    size_t registered = 0;

    while (cbx_metric_at(ctx, registered)) registered++;
    if (i < registered) return cbx_metric_at(ctx, i);
    if ((i -= registered) >= CBX_LEN(variants)) return NULL;
    set_variant(ctx, &variants[i], &rows[i]);
    return &rows[i];
}

/* ---- operands ---- */

void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out)
{
    CHECK_OK(cbx__draw_operands(ctx, rng, m, items, out, &err), &err, m->name);
}

void pick(cbx_ctx *ctx, const cbx_metric_function *m, const drawn *d, size_t n, const double *places, drawn *out)
{
    cbx_array *at = array_of(ctx, 1, &n, places, true);

    *out = (drawn){ .nin = d->nin };
    for (size_t i = 0; i < d->nin; i++) {
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        out->in[i] = cbx_copy(ctx, cbx__operand_at(ctx, m, i, d->in[i], (const cbx_array *[]){ at, at }));
        CHECK_OK(cbx_scope_close_keep(&scope, 1, &out->in[i], &err), &err, "items");
    }
    cbx_array_free(at);
}

bool has_items(const cbx_metric_function *m)
{
    if (m->shapes == CBX_SHAPES_ROWS) return false;
    for (size_t i = 0; i < cbx_metric_operands(m) && !m->operands[i].optional; i++) {
        const cbx_operand_kind k = m->operands[i].kind;
        if (i > 1 && is_shared(m, i)) continue;
        if (k == CBX_OPERAND_DISTRIBUTION || k == CBX_OPERAND_JOINT || k == CBX_OPERAND_IMAGE || k == CBX_OPERAND_SPD ||
            k == CBX_OPERAND_FRAME || k == CBX_OPERAND_ADJACENCY || k == CBX_OPERAND_TEXTS || k == CBX_OPERAND_TOKENS ||
            k == CBX_OPERAND_SIGNAL)
            return false;
    }
    return true;
}

cbx_metric_state *through_bytes(cbx_ctx *ctx, cbx_metric_state *s, const cbx_fn *function)
{
    cbx_metric_state *out = NULL;
    cbx_text bytes;

    cbx_text_init(&bytes, cbx_ctx_allocator(ctx));
    CHECK_OK(cbx_metric_state_pack(ctx, s, &bytes, &err), &err, "to bytes");
    CHECK_OK(cbx_metric_state_unpack(ctx, NULL, bytes.data, bytes.len, function, &out, &err), &err, "from bytes");
    cbx_text_clear(&bytes);
    cbx_metric_state_free(s);
    return out;
}

size_t counted_runs;

static cbx_array *counted_items(cbx_ctx *ctx, const cbx_metric_call *call)
{
    counted_runs++;
    return cbx_abs(ctx, cbx_subtract(ctx, call->in[0], call->in[1]));
}

const cbx_metric_function counted_error = { .name = "counted_error",
                                            .domain = "general",
                                            .summary = "Counted error",
                                            .formula = "mean(|x - y|)",
                                            .operands = CBX__PAIR("x", "y", REAL),
                                            .high = INFINITY,
                                            .items = counted_items };

/* x log x - x + 1 of each element, a generator of f-divergences. */
static cbx_status of_elements(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_array *x = in[0];

    (void)nin, (void)nout, (void)user;
    out[0] = cbx_add_scalar(ctx, cbx_subtract(ctx, cbx_multiply(ctx, x, cbx_log(ctx, x)), x), 1);
    return CBX_OK;
}

/* sum(x^4), a generator of Bregman divergences. */
static cbx_status of_arrays(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(ctx, cbx_square(ctx, cbx_square(ctx, in[0])), NULL);
    return CBX_OK;
}

void set_needs(const cbx_metric_function *m, cbx_metric_options *o)
{
    static const cbx_fn elements = { "generator", of_elements, NULL, 1, 1, NULL };
    static const cbx_fn arrays = { "generator", of_arrays, NULL, 1, 1, NULL };
    static const struct {
        const char *parameter;
        double value;
    } values[] = {
        { "splits", 2 }, /* there are few items */
        { "subsets", 3 },    { "subset_size", 5 },   { "regularization", 4 },
        { "max_iter", 1e5 }, { "threshold", 1e-10 }, /* gradients have the error of the iterations */
        { "weighted", 1 },                           /* else lengths do not move */
    };
    static double parameters[CBX_METRIC_MAX_PARAMETERS];

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) {
        const char *name = i < cbx_metric_parameters(m) ? m->parameters[i].name : "";
        parameters[i] = counts_labels(name) ? (has_many_classes(m) ? 3 : 2) : NAN;
        for (size_t k = 0; k < CBX_LEN(values); k++)
            if (strcmp(name, values[k].parameter) == 0) parameters[i] = values[k].value;
    }
    if (!o->parameters) o->parameters = parameters;
    if (m->function && !(m->flags & CBX_METRIC_FEATURES))
        o->function = strcmp(m->name, "f_divergence") == 0 ? &elements : &arrays;
}

double *read_all(const cbx_array *r)
{
    const size_t n = cbx_array_count(r);
    double *v = malloc(n * sizeof *v + 1);

    CHECK_OK(cbx_array_read(r, v, n * sizeof *v, &err), &err, "a result");
    if (cbx_array_dtype(r) == CBX_I64)
        for (size_t i = 0; i < n; i++) {
            int64_t k;
            memcpy(&k, &v[i], sizeof k);
            v[i] = (double)k;
        }
    return v;
}

void give_classes(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in, double *parameters)
{
    double largest = 0;

    for (size_t i = 0; i < nin; i++) {
        cbx_scope scope;
        if (m->operands[i].kind != CBX_OPERAND_LABELS) continue;
        cbx_scope_open(ctx, &scope);
        largest = fmax(largest, cbx__metric_element(cbx_max(ctx, in[i], NULL), 0));
        CHECK_OK(cbx_scope_close(&scope, &err), &err, m->name);
    }
    for (size_t i = 0; i < cbx_metric_parameters(m); i++)
        if (counts_labels(m->parameters[i].name) && !(parameters[i] > 0)) parameters[i] = largest + 1;
}

double *values_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                  const cbx_metric_options *o, size_t *count)
{
    cbx_metric_options with = o ? *o : (cbx_metric_options){ 0 };
    cbx_scope scope;
    cbx_array *r;
    double *v;

    set_needs(m, &with);
    cbx_scope_open(ctx, &scope);
    r = cbx_copy(ctx, cbx_astype(ctx, cbx_metric_apply(ctx, m, nin, in, &with), CBX_F64));
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &r, &err), &err, m->name);
    *count = cbx_array_count(r);
    v = malloc(*count * sizeof *v + 1);
    CHECK(v, m->name);
    CHECK_OK(cbx_array_read(r, v, *count * sizeof *v, &err), &err, m->name);
    cbx_array_free(r);
    return v;
}

double value_of(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                const cbx_metric_options *o)
{
    size_t n;
    double *v = values_of(ctx, m, nin, in, o, &n);
    const double first = n == 1 ? v[0] : NAN;

    free(v);
    return first;
}
