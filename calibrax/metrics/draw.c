/* Random operands of metric functions, for the kind of each operand and the rule of shapes of the
 * row. */
#include "calibrax/metrics/draw.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"

enum { CLASSES = 3, MEMBERS = 5, VERTICES = 6, PIXELS = 176 };

cbx_status cbx__draw_array(cbx_ctx *ctx, int ndim, const size_t *shape, const double *v, bool whole, cbx_array **out,
                           cbx_err *err)
{
    cbx_array_desc d = { .dtype = CBX_F64, .ndim = ndim };
    cbx_array *a;
    cbx_scope scope;
    cbx_status st;

    memcpy(d.shape, shape, (size_t)ndim * sizeof *shape);
    cbx_scope_open(ctx, &scope);
    a = cbx_astype(ctx, cbx_asarray(ctx, &d, v), whole ? CBX_I64 : CBX_F64);
    st = cbx_scope_close_keep(&scope, 1, &a, err);
    if (!st) *out = a;
    return st;
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

typedef struct form {
    int ndim;
    size_t shape[3];
} form;

static form form_of(cbx_operand_kind kind, size_t n)
{
    switch (kind) {
    case CBX_OPERAND_JOINT: return (form){ 2, { CLASSES, CBX__DRAWN_WIDTH } };
    case CBX_OPERAND_CLASS_PROBABILITIES:
    case CBX_OPERAND_LOGITS: return (form){ 2, { n, CLASSES } };
    case CBX_OPERAND_VECTORS:
    case CBX_OPERAND_BALL:
    case CBX_OPERAND_HYPERBOLOID:
    case CBX_OPERAND_NONNEGATIVE: return (form){ 2, { n, CBX__DRAWN_WIDTH } };
    case CBX_OPERAND_POINTS:
    case CBX_OPERAND_EMBEDDINGS: return (form){ 2, { n, 2 } };
    case CBX_OPERAND_ENSEMBLE: return (form){ 2, { n, MEMBERS } };
    case CBX_OPERAND_VECTOR_ENSEMBLE: return (form){ 3, { n, MEMBERS, 2 } };
    case CBX_OPERAND_CLASS_ENSEMBLE: return (form){ 3, { n, MEMBERS, CLASSES } };
    case CBX_OPERAND_IMAGE: return (form){ 2, { PIXELS, PIXELS } };
    case CBX_OPERAND_SPD: return (form){ 2, { CBX__DRAWN_WIDTH, CBX__DRAWN_WIDTH } };
    case CBX_OPERAND_FRAME: return (form){ 2, { CBX__DRAWN_WIDTH, 2 } };
    case CBX_OPERAND_ADJACENCY: return (form){ 2, { VERTICES, VERTICES } };
    case CBX_OPERAND_TEXTS: return (form){ 2, { 2, n } };
    case CBX_OPERAND_MATRICES:
    case CBX_OPERAND_SYMMETRIC:
    case CBX_OPERAND_SEMIDEFINITE:
    case CBX_OPERAND_DEFINITE: return (form){ 3, { n, CBX__DRAWN_WIDTH, CBX__DRAWN_WIDTH } };
    case CBX_OPERAND_CLASS_VECTORS: return (form){ 2, { CLASSES, 2 } };
    case CBX_OPERAND_FEATURES:
    case CBX_OPERAND_BATCH: return (form){ 2, { n, 2 } };
    case CBX_OPERAND_TOKEN_VECTORS: return (form){ 3, { n, MEMBERS, 2 } };
    default: return (form){ 1, { n } };
    }
}

/* Of operand i of a row: by its kind, and by what its numbers belong to. */
static form form_of_operand(const cbx_metric_function *m, size_t i, size_t n)
{
    const cbx_metric_operand *o = &m->operands[i];
    const cbx_operand_items items = cbx_metric_operand_items(m, i);
    form f = form_of(o->kind, n);

    if (items == CBX_ITEMS_PAIRS) return (form){ 2, { n, n } };
    if (o->kind == CBX_OPERAND_NONNEGATIVE && o->items == CBX_ITEMS_NONE) return (form){ 1, { 2 } }; /* of features */
    if (o->kind == CBX_OPERAND_NONNEGATIVE && o->items) { /* weights of elements of another operand */
        f = form_of(m->operands[items == CBX_ITEMS_SECOND].kind, n);
        f.ndim -= f.ndim > 1;
    } else if (o->items == CBX_ITEMS_NONE && f.ndim > 1) { /* what one item has */
        f.ndim--;
        memmove(f.shape, f.shape + 1, (size_t)f.ndim * sizeof *f.shape);
    }
    return f;
}

static size_t elements(const form *f)
{
    size_t n = 1;
    for (int k = 0; k < f->ndim; k++) n *= f->shape[k];
    return n;
}

static void fill(cbx_rng *rng, cbx_operand_kind kind, bool many, const form *f, double *v)
{
    const size_t n = elements(f);

    switch (kind) {
    case CBX_OPERAND_LABELS: fill_below(rng, v, n, many ? CLASSES : 2); break;
    case CBX_OPERAND_BINARY: fill_below(rng, v, n, 2); break;
    case CBX_OPERAND_INDICES: fill_below(rng, v, n, f->shape[0]); break;
    case CBX_OPERAND_TOKENS:
    case CBX_OPERAND_TEXTS: fill_below(rng, v, n, 4); break;
    case CBX_OPERAND_PROBABILITY:
    case CBX_OPERAND_IMAGE: fill_uniform(rng, v, n, 0.02, 0.98); break;
    case CBX_OPERAND_LOG_PROBABILITY: fill_uniform(rng, v, n, -4, -0.02); break;
    case CBX_OPERAND_RELEVANCE: fill_below(rng, v, n, 4); break;
    case CBX_OPERAND_NONNEGATIVE:
    case CBX_OPERAND_POSITIVE: fill_uniform(rng, v, n, 0.1, 2); break;
    case CBX_OPERAND_DISTRIBUTION:
    case CBX_OPERAND_JOINT: fill_distributions(rng, v, 1, n); break;
    case CBX_OPERAND_CLASS_PROBABILITIES: fill_distributions(rng, v, f->shape[0], f->shape[1]); break;
    case CBX_OPERAND_CLASS_ENSEMBLE: fill_distributions(rng, v, f->shape[0] * f->shape[1], f->shape[2]); break;
    case CBX_OPERAND_SPD: fill_definite(rng, v, f->shape[0]); break;
    case CBX_OPERAND_MATRICES:
    case CBX_OPERAND_SYMMETRIC:
    case CBX_OPERAND_SEMIDEFINITE:
    case CBX_OPERAND_DEFINITE:
        for (size_t i = 0; i < n; i += CBX__DRAWN_WIDTH * CBX__DRAWN_WIDTH) fill_definite(rng, v + i, CBX__DRAWN_WIDTH);
        break;
    case CBX_OPERAND_BALL: fill_curved(rng, v, f->shape[0], f->shape[1], true); break;
    case CBX_OPERAND_HYPERBOLOID: fill_curved(rng, v, f->shape[0], f->shape[1], false); break;
    case CBX_OPERAND_FRAME: fill_frame(rng, v, f->shape[0], f->shape[1]); break;
    case CBX_OPERAND_ADJACENCY: fill_adjacency(rng, v, f->shape[0]); break;
    default: fill_normal(rng, v, n);
    }
}

/* Labels are 0 and 1, and one more where the metric has a number or a vector for each class. */
bool cbx__draws_many_classes(const cbx_metric_function *m)
{
    for (size_t i = 0; i < cbx_metric_operands(m); i++)
        if (m->operands[i].kind == CBX_OPERAND_CLASS_PROBABILITIES || m->operands[i].kind == CBX_OPERAND_LOGITS ||
            m->operands[i].kind == CBX_OPERAND_CLASS_VECTORS)
            return true;
    return false;
}

cbx_status cbx__draw_operands(cbx_ctx *ctx, cbx_rng *rng, const cbx_metric_function *m, size_t items, cbx__drawn *out,
                              cbx_err *err)
{
    const bool many = cbx__draws_many_classes(m);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_status st = CBX_OK;

    *out = (cbx__drawn){ 0 };
    for (size_t i = 0; !st && i < cbx_metric_operands(m) && !m->operands[i].optional; i++) {
        const cbx_operand_kind kind = m->operands[i].kind;
        const form f = form_of_operand(m, i, items ? items : CBX__DRAWN_ITEMS);
        double *v = cbx_arena_calloc(&arena, elements(&f), sizeof *v);
        if (v) fill(rng, kind, many, &f, v);
        st = v ? cbx__draw_array(ctx, f.ndim, f.shape, v, cbx_operand_kind_dtype(kind) == CBX_I64, &out->in[i], err)
               : cbx_fail_nomem(err, "random operands");
        out->nin = i + 1;
    }
    if (st) cbx__drawn_free(out);
    return st;
}

void cbx__drawn_free(cbx__drawn *d)
{
    for (size_t i = 0; i < d->nin; i++) cbx_array_free(d->in[i]);
    *d = (cbx__drawn){ 0 };
}
