/* Random operands of metric functions. */
#include "draw.h"

#include <math.h>
#include <stdlib.h>

static cbx_err err;

enum { CLASSES = 3, MEMBERS = 5, VERTICES = 6, PIXELS = 176, MOST = 1 << 17 };

cbx_array *array_of(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole)
{
    cbx_array_desc d = { .dtype = CBX_F64, .ndim = ndim };
    cbx_array *a = NULL, *out;
    cbx_scope scope;

    for (int k = 0; k < ndim; k++) d.shape[k] = shape[k];
    CHECK_OK(cbx_array_create(ctx, &d, &a, &err), &err, "an operand");
    memcpy(cbx_array_data_mut(a), v, cbx_array_bytes(a));
    if (!whole) return a;
    cbx_scope_open(ctx, &scope);
    out = cbx_astype(ctx, a, CBX_I64);
    CHECK_OK(cbx_scope_close_keep(&scope, 1, &out, &err), &err, "an operand");
    cbx_array_free(a);
    return out;
}

/* ---- values ---- */

static void fill_normal(cbx_rng *rng, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] = cbx_rng_normal(rng);
}

static void fill_uniform(cbx_rng *rng, double *v, size_t n, double low, double high)
{
    for (size_t i = 0; i < n; i++) v[i] = low + (high - low) * cbx_rng_uniform(rng);
}

static void fill_below(cbx_rng *rng, double *v, size_t n, size_t limit)
{
    for (size_t i = 0; i < n; i++) v[i] = (double)(i < limit ? i : cbx_rng_below(rng, limit)); /* each occurs */
}

/* Rows of n positive numbers with sum 1. */
static void fill_distributions(cbx_rng *rng, double *v, size_t rows, size_t n)
{
    fill_uniform(rng, v, rows * n, 0.05, 1);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += v[r * n + i];
        for (size_t i = 0; i < n; i++) v[r * n + i] /= sum;
    }
}

static void fill_definite(cbx_rng *rng, double *v, size_t n)
{
    double a[64];

    fill_normal(rng, a, n * n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = i == j;
            for (size_t k = 0; k < n; k++) sum += a[i * n + k] * a[j * n + k];
            v[i * n + j] = sum;
        }
}

/* Orthonormal columns, by Gram-Schmidt. */
static void fill_frame(cbx_rng *rng, double *v, size_t n, size_t p)
{
    fill_normal(rng, v, n * p);
    for (size_t j = 0; j < p; j++) {
        double norm = 0;
        for (size_t k = 0; k < j; k++) {
            double dot = 0;
            for (size_t i = 0; i < n; i++) dot += v[i * p + j] * v[i * p + k];
            for (size_t i = 0; i < n; i++) v[i * p + j] -= dot * v[i * p + k];
        }
        for (size_t i = 0; i < n; i++) norm += v[i * p + j] * v[i * p + j];
        for (size_t i = 0; i < n; i++) v[i * p + j] /= sqrt(norm);
    }
}

static void fill_adjacency(cbx_rng *rng, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const bool edge = i != j && (i == j + 1 || cbx_rng_below(rng, 2)); /* connected */
            v[i * n + j] = v[j * n + i] = edge ? 0.5 + cbx_rng_uniform(rng) : 0;
        }
}

/* Rows of n numbers of a norm below 1, or with -x0^2 + x1^2 + ... = -1. */
static void fill_curved(cbx_rng *rng, double *v, size_t rows, size_t n, bool ball)
{
    fill_normal(rng, v, rows * n);
    for (size_t r = 0; r < rows; r++) {
        double *x = v + r * n, square = 0;
        for (size_t i = ball ? 0 : 1; i < n; i++) square += x[i] * x[i];
        if (!ball) x[0] = sqrt(1 + square);
        for (size_t i = 0; i < n && ball; i++) x[i] *= 0.95 / (1 + sqrt(square));
    }
}

/* ---- operands ---- */

static bool is_whole(cbx_operand_kind kind)
{
    return kind == CBX_OPERAND_LABELS || kind == CBX_OPERAND_TOKENS || kind == CBX_OPERAND_TEXTS ||
           kind == CBX_OPERAND_INDICES;
}

typedef struct form {
    int ndim;
    size_t shape[3];
} form;

static form form_of(cbx_operand_kind kind, size_t n)
{
    switch (kind) {
    case CBX_OPERAND_JOINT: return (form){ 2, { CLASSES, WIDTH } };
    case CBX_OPERAND_CLASS_PROBABILITIES:
    case CBX_OPERAND_LOGITS: return (form){ 2, { n, CLASSES } };
    case CBX_OPERAND_VECTORS:
    case CBX_OPERAND_BALL:
    case CBX_OPERAND_HYPERBOLOID:
    case CBX_OPERAND_NONNEGATIVE: return (form){ 2, { n, WIDTH } };
    case CBX_OPERAND_POINTS: return (form){ 2, { n, 2 } };
    case CBX_OPERAND_ENSEMBLE: return (form){ 2, { n, MEMBERS } };
    case CBX_OPERAND_VECTOR_ENSEMBLE: return (form){ 3, { n, MEMBERS, 2 } };
    case CBX_OPERAND_CLASS_ENSEMBLE: return (form){ 3, { n, MEMBERS, CLASSES } };
    case CBX_OPERAND_IMAGE: return (form){ 2, { PIXELS, PIXELS } };
    case CBX_OPERAND_SPD: return (form){ 2, { WIDTH, WIDTH } };
    case CBX_OPERAND_FRAME: return (form){ 2, { WIDTH, 2 } };
    case CBX_OPERAND_ADJACENCY: return (form){ 2, { VERTICES, VERTICES } };
    case CBX_OPERAND_TEXTS: return (form){ 2, { 2, n } };
    case CBX_OPERAND_MATRICES: return (form){ 3, { n, WIDTH, WIDTH } };
    case CBX_OPERAND_CLASS_VECTORS: return (form){ 2, { CLASSES, 2 } };
    case CBX_OPERAND_BATCH: return (form){ 2, { n, 2 } };
    case CBX_OPERAND_TOKEN_VECTORS: return (form){ 3, { n, MEMBERS, 2 } };
    default: return (form){ 1, { n } };
    }
}

static void fill(cbx_rng *rng, cbx_operand_kind kind, bool many, const form *f, double *v)
{
    size_t n = 1;

    for (int k = 0; k < f->ndim; k++) n *= f->shape[k];
    switch (kind) {
    case CBX_OPERAND_LABELS: fill_below(rng, v, n, many ? CLASSES : 2); break;
    case CBX_OPERAND_BINARY: fill_below(rng, v, n, 2); break;
    case CBX_OPERAND_TOKENS:
    case CBX_OPERAND_TEXTS: fill_below(rng, v, n, 4); break;
    case CBX_OPERAND_PROBABILITY:
    case CBX_OPERAND_IMAGE: fill_uniform(rng, v, n, 0.02, 0.98); break;
    case CBX_OPERAND_RELEVANCE: fill_below(rng, v, n, 4); break;
    case CBX_OPERAND_NONNEGATIVE:
    case CBX_OPERAND_POSITIVE: fill_uniform(rng, v, n, 0.1, 2); break;
    case CBX_OPERAND_DISTRIBUTION:
    case CBX_OPERAND_JOINT: fill_distributions(rng, v, 1, n); break;
    case CBX_OPERAND_CLASS_PROBABILITIES: fill_distributions(rng, v, f->shape[0], f->shape[1]); break;
    case CBX_OPERAND_CLASS_ENSEMBLE: fill_distributions(rng, v, f->shape[0] * f->shape[1], f->shape[2]); break;
    case CBX_OPERAND_SPD: fill_definite(rng, v, f->shape[0]); break;
    case CBX_OPERAND_MATRICES:
        for (size_t i = 0; i < f->shape[0]; i++) fill_definite(rng, v + WIDTH * WIDTH * i, WIDTH);
        break;
    case CBX_OPERAND_BALL: fill_curved(rng, v, f->shape[0], f->shape[1], true); break;
    case CBX_OPERAND_HYPERBOLOID: fill_curved(rng, v, f->shape[0], f->shape[1], false); break;
    case CBX_OPERAND_FRAME: fill_frame(rng, v, f->shape[0], f->shape[1]); break;
    case CBX_OPERAND_ADJACENCY: fill_adjacency(rng, v, f->shape[0]); break;
    default: fill_normal(rng, v, n);
    }
}

bool is_shared(cbx_operand_kind kind) { return kind == CBX_OPERAND_CLASS_VECTORS; }

/* Labels are 0 and 1, and one more where the metric has a number or a vector for each class. */
bool has_many_classes(const cbx_metric_function *m)
{
    for (size_t i = 0; i < cbx_metric_operands(m); i++)
        if (m->operands[i].kind == CBX_OPERAND_CLASS_PROBABILITIES || m->operands[i].kind == CBX_OPERAND_LOGITS ||
            m->operands[i].kind == CBX_OPERAND_CLASS_VECTORS)
            return true;
    return false;
}

void draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, drawn *out)
{
    static double v[MOST];
    const bool many = has_many_classes(m);

    *out = (drawn){ 0 };
    for (size_t i = 0; i < cbx_metric_operands(m) && !m->operands[i].optional; i++) {
        const cbx_operand_kind kind = m->operands[i].kind;
        const form f = form_of(kind, items ? items : ITEMS);
        fill(rng, kind, many, &f, v);
        out->in[out->nin++] = array_of(ctx, f.ndim, f.shape, v, is_whole(kind));
    }
}

void drawn_free(drawn *d)
{
    for (size_t i = 0; i < d->nin; i++) cbx_array_free(d->in[i]);
    *d = (drawn){ 0 };
}

/* ---- values ---- */

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

bool counts_labels(const char *name)
{
    static const char *const names[] = { "num_classes", "num_groups", "num_clusters", "catalog_size" };

    for (size_t i = 0; i < CBX_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
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
    };
    static double parameters[CBX_METRIC_MAX_PARAMETERS];

    for (size_t i = 0; i < CBX_METRIC_MAX_PARAMETERS; i++) {
        const char *name = i < cbx_metric_parameters(m) ? m->parameters[i].name : "";
        parameters[i] = counts_labels(name) ? (has_many_classes(m) ? CLASSES : 2) : NAN;
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
