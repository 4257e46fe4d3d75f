/*
 * What a row declares, tried on random operands: its range, its axioms, its invariances.  The first
 * draw where one of them does not hold ends the trial, with the numbers that show it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/metrics/draw.h"

typedef struct trial {
    cbx_ctx *ctx;
    const cbx_metric_function *m;
    const cbx_metric_options *options;
    cbx_rng rng;
    const cbx__drawn *rest; /* its operands after the second belong to all calls of axioms; or NULL */
    cbx_err *err;
} trial;

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fmax(1, fmax(fabs(a), fabs(b))) || a == b; }

#define REFUSE(t, fmt, ...) cbx_fail((t)->err, CBX_EDOM, "%s " fmt, (t)->m->name, __VA_ARGS__)

static cbx_status draw(trial *t, cbx__drawn *out) { return cbx__draw_operands(t->ctx, &t->rng, t->m, 0, out, t->err); }

/* The result as float64; the caller's. */
static cbx_status result_of(const trial *t, size_t nin, cbx_array *const *in, cbx_array **out)
{
    cbx_array *r;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(t->ctx, &scope);
    r = cbx_copy(t->ctx, cbx_astype(t->ctx, cbx_metric_apply(t->ctx, t->m, nin, in, t->options), CBX_F64));
    st = cbx_scope_close_keep(&scope, 1, &r, t->err);
    if (!st) *out = r;
    return st;
}

/* The metric of two operands, and of the rest, as one number. */
static cbx_status number_of(const trial *t, cbx_array *x, cbx_array *y, double *out)
{
    cbx_array *in[CBX_METRIC_MAX_OPERANDS] = { x, y }, *r = NULL;
    const size_t nin = t->rest ? t->rest->nin : 2;
    cbx_status st;

    for (size_t i = 2; i < nin; i++) in[i] = t->rest->in[i];
    st = result_of(t, nin, in, &r);

    if (!st && cbx_array_count(r) != 1)
        st = cbx_fail(t->err, CBX_ESHAPE, "%s has axioms, and its result is not a single number", t->m->name);
    if (!st) *out = cbx__metric_element(r, 0);
    cbx_array_free(r);
    return st;
}

/* ---- range ---- */

static cbx_status try_range(trial *t)
{
    cbx_array *r = NULL;
    cbx__drawn d;
    cbx_status st = draw(t, &d);

    if (!st) st = result_of(t, d.nin, d.in, &r);
    for (size_t i = 0; !st && i < cbx_array_count(r); i++) {
        const double x = cbx__metric_element(r, i);
        if (!(x >= t->m->low - 1e-12 && x <= t->m->high + 1e-12))
            st = REFUSE(t, "is %.17g, outside %g to %g", x, t->m->low, t->m->high);
    }
    cbx_array_free(r);
    cbx__drawn_free(&d);
    return st;
}

/* ---- axioms ---- */

/* Half way between two operands, where it is one: there the triangle inequality is tight, or
 * broken. */
static cbx_status middle(const trial *t, const cbx_array *x, const cbx_array *z, cbx_array **out)
{
    const cbx_operand_kind kind = t->m->operands[0].kind;
    cbx_array *r;
    cbx_scope scope;

    *out = NULL;
    if (kind == CBX_OPERAND_FRAME || kind == CBX_OPERAND_HYPERBOLOID || cbx_array_dtype(x) != CBX_F64 ||
        !cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(z))) {
        *out = cbx_array_ref((cbx_array *)(uintptr_t)z);
        return CBX_OK;
    }
    cbx_scope_open(t->ctx, &scope);
    r = cbx_multiply_scalar(t->ctx, cbx_add(t->ctx, x, z), 0.5);
    const cbx_status st = cbx_scope_close_keep(&scope, 1, &r, t->err);
    if (!st) *out = r;
    return st;
}

static cbx_status triangle(const trial *t, cbx_array *x, cbx_array *y, cbx_array *z)
{
    double xy = 0, yz = 0, xz = 0;
    cbx_status st = number_of(t, x, y, &xy);

    if (!st) st = number_of(t, y, z, &yz);
    if (!st) st = number_of(t, x, z, &xz);
    if (!st && !(xz <= (xy + yz) * (1 + 1e-9) + 1e-12))
        st = REFUSE(t, "breaks the triangle inequality: %.17g > %.17g + %.17g", xz, xy, yz);
    return st;
}

/* Whether an operand belongs to no item, as the row says, not its kind: what is true of operands is
 * not of it. */
static bool is_apart(const cbx_metric_function *m, size_t i) { return m->operands[i].items == CBX_ITEMS_NONE; }

static cbx_status try_axioms(trial *t)
{
    const unsigned axioms = t->m->axioms;
    cbx_array *half = NULL;
    double xy = 0, yx = 0, xx = 0;
    cbx__drawn x, y = { 0 };
    cbx_status st = CBX_OK;

    if (!(axioms & CBX_AXIOMS_METRIC)) return CBX_OK;
    st = draw(t, &x);
    if (!st) st = draw(t, &y);
    bool two = x.nin >= 2;
    for (size_t i = 2; i < x.nin; i++) two &= is_apart(t->m, i);
    t->rest = &x;
    if (!st && !two)
        st = cbx_fail(t->err, CBX_EINVAL, "%s has axioms of two operands, and takes %zu", t->m->name, x.nin);
    if (!st) st = number_of(t, x.in[0], x.in[1], &xy);
    if (!st && axioms & CBX_AXIOM_SYMMETRIC) st = number_of(t, x.in[1], x.in[0], &yx);
    if (!st && axioms & CBX_AXIOM_IDENTITY) st = number_of(t, x.in[0], x.in[0], &xx);
    if (!st && axioms & CBX_AXIOM_SYMMETRIC && !near(xy, yx))
        st = REFUSE(t, "is not symmetric: %.17g and %.17g", xy, yx);
    if (!st && axioms & CBX_AXIOM_IDENTITY && !(fabs(xx) <= 1e-9)) st = REFUSE(t, "of x and x is %.17g, not 0", xx);
    if (!st && axioms & CBX_AXIOM_POSITIVE && !(xy > 0)) st = REFUSE(t, "of x and another y is %.17g", xy);
    if (!st && axioms & CBX_AXIOM_TRIANGLE) {
        st = triangle(t, x.in[0], x.in[1], y.in[1]);
        if (!st) st = middle(t, x.in[0], y.in[1], &half);
        if (!st) st = triangle(t, x.in[0], half, y.in[1]);
    }
    t->rest = NULL;
    cbx_array_free(half);
    cbx__drawn_free(&x);
    cbx__drawn_free(&y);
    return st;
}

/* ---- invariances ---- */

/* An operand that is changed. */
typedef struct operand {
    cbx_operand_kind kind;
    bool pairs;   /* of items, along the first two axes */
    size_t place; /* among the operands */
    const cbx_array_desc *d;
    double *v; /* n elements, row-major */
    size_t n;
    double *work;          /* scratch: n elements, then a square matrix of the first axis */
    cbx_rng *own, *common; /* a random stream of this operand, and the same one for all */
} operand;

typedef struct change {
    unsigned bit;
    const char *name;
    uint64_t accepts; /* kinds that it changes, one of which an operand must have */
    uint64_t leaves;  /* kinds that stay as they are; those of neither list are refused */
    void (*apply)(const operand *x);
} change;

static void multiply(const operand *x, double s)
{
    for (size_t k = 0; k < x->n; k++) x->v[k] *= s;
}
static void scale(const operand *x) { multiply(x, exp(cbx_rng_normal(x->own))); }
static void common_scale(const operand *x) { multiply(x, exp(cbx_rng_normal(x->common))); }

/* Elements of one item along the last axis, if the kind has any. */
static size_t item_width(const operand *x)
{
    const bool rows = x->kind == CBX_OPERAND_VECTORS || x->kind == CBX_OPERAND_POINTS ||
                      x->kind == CBX_OPERAND_VECTOR_ENSEMBLE || x->kind == CBX_OPERAND_BALL ||
                      x->kind == CBX_OPERAND_CLASS_VECTORS;
    return rows ? x->d->shape[x->d->ndim - 1] : 1;
}

static void shift(const operand *x)
{
    const size_t width = item_width(x);
    for (size_t k = 0; k < width; k++) x->work[k] = cbx_rng_normal(x->common);
    for (size_t k = 0; k < x->n; k++) x->v[k] += x->work[k % width];
}

static void rotation(const operand *x)
{
    const size_t width = item_width(x);
    const double angle = 6 * cbx_rng_uniform(x->common), c = cos(angle), s = sin(angle);
    for (double *v = x->v; v + width <= x->v + x->n; v += width)
        for (size_t j = 0; j + 1 < width; j++) {
            const double a = v[j], b = v[j + 1];
            v[j] = c * a - s * b;
            v[j + 1] = s * a + c * b;
        }
}

/* n numbers of v from place a on, `step` apart, and as many from place b on change their places. */
static void swap(double *v, size_t a, size_t b, size_t n, size_t step)
{
    for (size_t k = 0; k < n * step; k += step) {
        const double x = v[a + k];
        v[a + k] = v[b + k];
        v[b + k] = x;
    }
}

static void permute(const operand *x, cbx_rng *rng)
{
    const size_t rows = x->d->shape[0], width = x->n / rows;

    for (size_t left = rows; left > 1; left--) {
        const size_t last = left - 1, other = cbx_rng_below(rng, left);
        swap(x->v, last * width, other * width, width, 1);
        if (x->pairs) swap(x->v, last, other, rows, width);
    }
}
static void order(const operand *x) { permute(x, x->common); }
static void sample_order(const operand *x) { permute(x, x->own); }

static void monotone(const operand *x)
{
    const bool probability = x->kind == CBX_OPERAND_PROBABILITY;
    if (x->place > 0) return;
    for (size_t k = 0; k < x->n; k++) x->v[k] = probability ? x->v[k] * x->v[k] : x->v[k] * x->v[k] * x->v[k] + x->v[k];
}

static void relabel(const operand *x)
{
    double *was = x->work, *v = x->v;
    size_t *p = (size_t *)(void *)(x->work + x->n), labels = 1;
    if (x->kind == CBX_OPERAND_ADJACENCY) {
        const size_t rows = x->d->shape[0];
        memcpy(was, v, x->n * sizeof *v);
        cbx_rng_permutation(x->own, rows, p);
        for (size_t a = 0; a < rows; a++)
            for (size_t b = 0; b < rows; b++) v[a * rows + b] = was[p[a] * rows + p[b]];
    } else {
        for (size_t k = 0; k < x->n; k++) labels = v[k] + 1 > (double)labels ? (size_t)v[k] + 1 : labels;
        cbx_rng_permutation(x->own, labels, p); /* each of them occurs: there are no more than items */
        for (size_t k = 0; k < x->n; k++) v[k] = (double)p[(size_t)v[k]];
    }
}

/* G A of a matrix A, of n rows; right: A G^T of a square one. */
static void multiply_by(const operand *x, const double *g, bool right)
{
    const size_t n = x->d->shape[0], p = x->d->shape[1];
    double *t = x->work;

    memset(t, 0, x->n * sizeof *t);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            for (size_t k = 0; k < n; k++)
                t[i * p + j] += right ? x->v[i * p + k] * g[j * n + k] : g[i * n + k] * x->v[k * p + j];
    memcpy(x->v, t, x->n * sizeof *t);
}

static void congruence(const operand *x)
{
    const size_t rows = x->d->shape[0];
    double *g = x->work + x->n;
    for (size_t k = 0; k < rows * rows; k++) g[k] = cbx_rng_normal(x->common) + 2 * (k % (rows + 1) == 0);
    multiply_by(x, g, false);
    multiply_by(x, g, true);
}

static void orthogonal(const operand *x)
{
    const size_t rows = x->d->shape[0];
    double *g = x->work + x->n;
    for (size_t k = 0; k < rows * rows; k++) g[k] = k % (rows + 1) == 0;
    for (size_t k = 0; k + 1 < rows; k++) { /* a product of rotations */
        const double angle = 6 * cbx_rng_uniform(x->common), c = cos(angle), s = sin(angle);
        for (size_t j = 0; j < rows; j++) {
            const double a = g[k * rows + j], b = g[(k + 1) * rows + j];
            g[k * rows + j] = c * a - s * b;
            g[(k + 1) * rows + j] = s * a + c * b;
        }
    }
    multiply_by(x, g, false);
    if (x->kind == CBX_OPERAND_SPD) multiply_by(x, g, true);
}

static void lorentz(const operand *x)
{
    const size_t width = x->d->shape[x->d->ndim - 1];
    const double r = cbx_rng_normal(x->common), c = cosh(r), s = sinh(r);
    for (size_t k = 0; k + width <= x->n; k += width) {
        const double a = x->v[k], b = x->v[k + 1];
        x->v[k] = c * a + s * b;
        x->v[k + 1] = s * a + c * b;
    }
}

/* Sets of kinds. */
#define KIND(name) (UINT64_C(1) << CBX_OPERAND_##name)
#define ALL        ((UINT64_C(1) << CBX_OPERAND_KINDS) - 1)
#define ROWS       (KIND(VECTORS) | KIND(POINTS) | KIND(EMBEDDINGS) | KIND(VECTOR_ENSEMBLE) | KIND(CLASS_VECTORS))
#define MATRICES   (KIND(SPD) | KIND(SYMMETRIC) | KIND(SEMIDEFINITE) | KIND(DEFINITE))
#define REALS                                                                                                          \
    (ROWS | KIND(REAL) | KIND(LOGITS) | KIND(SCORES) | KIND(SAMPLE) | KIND(ENSEMBLE) | KIND(SIGNAL) | KIND(IMAGE) |    \
     KIND(MATRICES) | KIND(BATCH) | KIND(TOKEN_VECTORS))
#define POSITIVES  (KIND(RELEVANCE) | KIND(POSITIVE) | KIND(NONNEGATIVE))
#define CATEGORIES (KIND(LABELS) | KIND(BINARY) | KIND(TOKENS) | KIND(TEXTS) | KIND(INDICES))
#define ITEMS      (ALL & ~(KIND(SPD) | KIND(ADJACENCY) | KIND(CLASS_VECTORS)))

static const change changes[] = {
    { CBX_INVARIANT_SCALE, "scale", REALS | POSITIVES | MATRICES | KIND(ADJACENCY), CATEGORIES, scale },
    { CBX_INVARIANT_COMMON_SCALE, "common scale", REALS | POSITIVES | MATRICES | KIND(ADJACENCY), CATEGORIES,
      common_scale },
    { CBX_INVARIANT_SHIFT, "shift", REALS, CATEGORIES, shift },
    { CBX_INVARIANT_ROTATION, "rotation", ROWS | KIND(BALL), CATEGORIES, rotation },
    { CBX_INVARIANT_ORDER, "order", ITEMS, KIND(CLASS_VECTORS), order },
    { CBX_INVARIANT_SAMPLE_ORDER, "order of each sample", ITEMS, KIND(CLASS_VECTORS), sample_order },
    { CBX_INVARIANT_MONOTONE, "monotone", REALS | POSITIVES | KIND(PROBABILITY), 0, monotone },
    { CBX_INVARIANT_RELABEL, "relabel", KIND(LABELS) | KIND(ADJACENCY), ALL, relabel },
    { CBX_INVARIANT_CONGRUENCE, "congruence", KIND(SPD), 0, congruence },
    { CBX_INVARIANT_ORTHOGONAL, "orthogonal", KIND(SPD) | KIND(FRAME), 0, orthogonal },
    { CBX_INVARIANT_LORENTZ, "Lorentz", KIND(HYPERBOLOID) | KIND(VECTORS) | KIND(POINTS), 0, lorentz },
};

/* The words of a set of kinds. */
static const char *kinds_text(uint64_t kinds, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int k = 0; k < CBX_OPERAND_KINDS && used < size; k++)
        if (kinds >> k & 1)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
                                     cbx_operand_kind_name((cbx_operand_kind)k));
    return buf;
}

/* Whether operands are such that the change can be tried on them. */
static cbx_status check_kinds(const trial *t, const change *how)
{
    const cbx_metric_operand *o = t->m->operands;
    char kinds[512];
    bool some = false;

    for (size_t i = 0; o[i].name && !o[i].optional && !(i > 0 && how->apply == monotone); i++) {
        const uint64_t kind = UINT64_C(1) << o[i].kind;
        if (is_apart(t->m, i)) continue;
        some |= (how->accepts & kind) != 0;
        if (!((how->accepts | how->leaves) & kind))
            return cbx_fail(
                t->err, CBX_EINVAL,
                "%s: the invariance '%s' is not defined for '%s', of the kind %s: it needs one of the kinds "
                "%s",
                t->m->name, how->name, o[i].name, cbx_operand_kind_name(o[i].kind),
                kinds_text(how->accepts, kinds, sizeof kinds));
    }
    if (some) return CBX_OK;
    return cbx_fail(t->err, CBX_EINVAL, "%s: the invariance '%s' needs an operand of one of the kinds %s", t->m->name,
                    how->name, kinds_text(how->accepts, kinds, sizeof kinds));
}

static cbx_status changed(const trial *t, const change *how, size_t i, cbx_array *x, cbx_rng *own, cbx_rng common,
                          cbx_array **out)
{
    const cbx_array_desc *d = cbx_array_get_desc(x);
    const size_t n = cbx_array_count(x), rows = d->ndim ? d->shape[0] : 1;
    const cbx_operand_kind kind = t->m->operands[i].kind;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(t->ctx));
    double *v;

    if (!(how->accepts >> kind & 1) || is_apart(t->m, i)) return *out = cbx_array_ref(x), CBX_OK;
    v = cbx_arena_calloc(&arena, 2 * n + rows * rows, sizeof *v);
    if (!v) return cbx_fail_nomem(t->err, "changed operands");
    for (size_t k = 0; k < n; k++) v[k] = cbx__metric_element(x, k);
    how->apply(
        &(operand){ kind, cbx_metric_operand_items(t->m, i) == CBX_ITEMS_PAIRS, i, d, v, n, v + n, own, &common });
    return cbx__draw_array(t->ctx, d->ndim, d->shape, v, d->dtype == CBX_I64, out, t->err);
}

static cbx_status try_change(trial *t, const change *how)
{
    cbx_array *a = NULL, *b = NULL;
    cbx__drawn d, e = { 0 };
    cbx_status st = draw(t, &d);
    const cbx_rng common = cbx_rng_make(cbx_rng_u64(&t->rng), 1);

    for (; !st && e.nin < d.nin; e.nin++) st = changed(t, how, e.nin, d.in[e.nin], &t->rng, common, &e.in[e.nin]);
    if (!st) st = result_of(t, d.nin, d.in, &a);
    if (!st) st = result_of(t, e.nin, e.in, &b);
    for (size_t i = 0; !st && i < cbx_array_count(a); i++) {
        const double x = cbx__metric_element(a, i), y = cbx__metric_element(b, i);
        if (!near(x, y)) st = REFUSE(t, "is not invariant (%s): %.17g becomes %.17g", how->name, x, y);
    }
    cbx_array_free(a);
    cbx_array_free(b);
    cbx__drawn_free(&d);
    cbx__drawn_free(&e);
    return st;
}

/* ---- proper scores ---- */

/* Frequencies of k outcomes among n items, each at least one; places: the outcome of each item. */
static void outcomes(cbx_rng *rng, size_t n, size_t k, double *places)
{
    for (size_t i = 0; i < n; i++) places[i] = (double)(i < k ? i : cbx_rng_below(rng, k));
}

/* Whether forecasts are distributions of classes, which can be drawn. */
static bool can_try_proper(const cbx_metric_function *m)
{
    const cbx_operand_kind kind = m->operands[0].kind, of = m->operands[1].kind;
    const bool binary = kind == CBX_OPERAND_PROBABILITY;

    if (cbx_metric_operands(m) != 2) return false;
    if (of != CBX_OPERAND_LABELS && !(binary && of == CBX_OPERAND_BINARY)) return false;
    return binary || kind == CBX_OPERAND_LOGITS || kind == CBX_OPERAND_CLASS_PROBABILITIES;
}

/*
 * A score of a forecast for each of n items, the same for all: q, against the frequencies p of what
 * happens to them.  The mean is the expected score, which no q may better than p does.
 */
static cbx_status try_proper(trial *t)
{
    enum { N = CBX__DRAWN_ITEMS, K = 3 };
    const cbx_metric_function *m = t->m;
    const cbx_operand_kind kind = m->operands[0].kind, of = m->operands[1].kind;
    const bool binary = kind == CBX_OPERAND_PROBABILITY, logits = kind == CBX_OPERAND_LOGITS;
    const size_t k = binary ? 2 : K;
    double y[N], p[K] = { 0 }, score[2] = { 0 };
    cbx_status st = CBX_OK;

    if (!(m->axioms & CBX_AXIOM_PROPER) || !can_try_proper(m)) return CBX_OK;
    outcomes(&t->rng, N, k, y);
    for (size_t i = 0; i < N; i++) p[(size_t)y[i]] += 1.0 / N;
    for (int other = 0; !st && other < 2; other++) {
        cbx_array *in[2] = { NULL, NULL };
        double q[K], sum = 0, v[N * K];
        for (size_t c = 0; c < k; c++) sum += q[c] = other ? p[c] * exp(cbx_rng_normal(&t->rng)) : p[c];
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < k; c++) v[binary ? i : i * k + c] = logits ? log(q[c]) : q[c] / sum;
        st = cbx__draw_array(t->ctx, binary ? 1 : 2, (const size_t[]){ N, K }, v, false, &in[0], t->err);
        if (!st) st = cbx__draw_array(t->ctx, 1, (const size_t[]){ N }, y, of == CBX_OPERAND_LABELS, &in[1], t->err);
        if (!st) st = number_of(t, in[0], in[1], &score[other]);
        for (int i = 0; i < 2; i++) cbx_array_free(in[i]);
    }
    const double worse = m->direction == CBX_DIRECTION_HIGHER ? score[0] - score[1] : score[1] - score[0];
    if (!st && !(worse >= -1e-12 * fmax(1, fabs(score[0]))))
        st = REFUSE(t, "is not proper: %.17g of the frequencies, %.17g of other probabilities", score[0], score[1]);
    return st;
}

/* ---- all ---- */

cbx_status cbx_metric_check_properties(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_metric_options *options,
                                       size_t draws, uint64_t seed, cbx_err *err)
{
    cbx_status st = m ? cbx_metric_row_check(m, err) : cbx_fail(err, CBX_EINVAL, "the metric is NULL");
    trial t = { .ctx = ctx, .m = m, .options = options, .err = err };

    if (!st && draws == 0) st = cbx_fail(err, CBX_EINVAL, "%s: the number of draws must be at least 1", m->name);
    for (size_t k = 0; !st && k < CBX_LEN(changes); k++)
        if (m->invariances & changes[k].bit) st = check_kinds(&t, &changes[k]);
    for (size_t i = 0; !st && i < draws; i++) {
        t.rng = cbx_rng_make(seed, i);
        st = try_range(&t);
        if (!st) st = try_axioms(&t);
        if (!st) st = try_proper(&t);
        for (size_t k = 0; !st && k < CBX_LEN(changes); k++)
            if (m->invariances & changes[k].bit) st = try_change(&t, &changes[k]);
    }
    if (!st && m->axioms & CBX_AXIOM_PROPER && !can_try_proper(m))
        st = cbx_fail(err, CBX_EUNSUPPORTED,
                      "%s: everything else holds, but 'proper' was not tried: the forecasts must be probabilities or "
                      "logits of classes, and the targets labels",
                      m->name);
    return st;
}
