/*
 * Operands, by a letter each, and other orders of their items, for which the metric is the same.
 *
 * A second operand of a kind resembles the first one, as predictions resemble targets: half of a
 * number, seven of ten labels, a set of points a third to the side.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "suites/common/arrays.h"
#include "suites/metrics/metrics.h"

#define GRADES 5   /* of relevance */
#define LIKELY 0.7 /* that a label or a word is as in the first operand */
#define DEGREE 8.0 /* of a vertex */
#define WORDS  100 /* of a corpus */
#define SHARED 10  /* one of so many points of a second set is in the first one too */

/* --- shapes --- */

/* letter: axes */
static const struct {
    char letter;
    cbx_dtype dtype;
    int ndim;
    char shape[4]; /* n, d, m: CBX__MS_MEMBERS, t: CBX__MS_TEXTS */
} kinds[] = {
    { 'r', CBX_F64, 1, "n" },   /* numbers */
    { 'x', CBX_F64, 1, "n" },   /* a sample */
    { 'w', CBX_F64, 1, "n" },   /* a signal */
    { 's', CBX_F64, 1, "n" },   /* scores */
    { 'p', CBX_F64, 1, "n" },   /* probabilities */
    { 'm', CBX_F64, 1, "n" },   /* variances */
    { 'u', CBX_F64, 1, "n" },   /* upper ends of intervals that begin at operand 0 */
    { 'n', CBX_F64, 1, "n" },   /* logarithms of probabilities */
    { 'g', CBX_F64, 1, "n" },   /* grades of relevance */
    { 'D', CBX_F64, 1, "n" },   /* a distribution */
    { 'e', CBX_F64, 1, "d" },   /* thresholds */
    { 'b', CBX_I64, 1, "n" },   /* 0 or 1, by the scores or probabilities in front of it */
    { 'l', CBX_I64, 1, "n" },   /* labels below d */
    { 'z', CBX_I64, 1, "n" },   /* labels 0 and 1 */
    { 't', CBX_I64, 1, "n" },   /* words below d */
    { 'v', CBX_F64, 2, "nd" },  /* vectors */
    { 'P', CBX_F64, 2, "nd" },  /* points */
    { 'G', CBX_F64, 2, "nd" },  /* observations of an ensemble of vectors */
    { 'L', CBX_F64, 2, "nd" },  /* logits */
    { 'C', CBX_F64, 2, "nd" },  /* class probabilities */
    { 'E', CBX_F64, 2, "nd" },  /* an ensemble of d members */
    { 'J', CBX_F64, 2, "nd" },  /* a joint distribution */
    { 'o', CBX_F64, 2, "nd" },  /* points of the unit ball */
    { 'h', CBX_F64, 2, "nd" },  /* points of the unit hyperboloid */
    { 'F', CBX_F64, 2, "nd" },  /* orthonormal columns */
    { 'Q', CBX_F64, 2, "dd" },  /* a positive definite matrix */
    { 'k', CBX_F64, 2, "dd" },  /* vectors of classes */
    { 'U', CBX_F64, 2, "nn" },  /* random numbers between 0 and 1 */
    { 'S', CBX_F64, 2, "nn" },  /* a positive definite matrix with ones on its diagonal */
    { 'A', CBX_F64, 2, "nn" },  /* a graph */
    { 'i', CBX_F64, 2, "nn" },  /* an image */
    { 'V', CBX_F64, 3, "nmd" }, /* an ensemble of vectors */
    { 'Y', CBX_F64, 3, "mnd" }, /* series of n steps */
    { 'K', CBX_F64, 3, "nmd" }, /* an ensemble of class probabilities */
    { 'M', CBX_F64, 3, "ndd" }, /* covariances */
    { 'X', CBX_I64, 2, "nd" },  /* texts, a row each, of a hundred words */
    { 'T', CBX_I64, 2, "tn" },  /* texts that resemble operand 0 */
};

void cbx__ms_input(const cbx__ms_point *p, size_t i, cbx_array_desc *out)
{
    size_t k = 0;

    *out = (cbx_array_desc){ CBX_F64, 1, { 0 } };
    if (i >= p->operands) return;
    while (kinds[k].letter != p->row->operands[i]) k++;
    *out = (cbx_array_desc){ kinds[k].dtype, kinds[k].ndim, { 0 } };
    for (int a = 0; a < kinds[k].ndim; a++) switch (kinds[k].shape[a]) {
        case 'n': out->shape[a] = p->n; break;
        case 'd': out->shape[a] = p->d; break;
        case 'm': out->shape[a] = CBX__MS_MEMBERS; break;
        default: out->shape[a] = CBX__MS_TEXTS;
        }
}

/* --- values --- */

/* Rows of d positive numbers whose sum is 1. */
static void distributions(double *x, size_t rows, size_t d, cbx_rng *rng)
{
    for (size_t r = 0; r < rows; r++, x += d) {
        double sum = 0;
        for (size_t k = 0; k < d; k++) sum += x[k] = 0.05 - log(1 - cbx_rng_uniform(rng));
        for (size_t k = 0; k < d; k++) x[k] /= sum;
    }
}

/* a = b b^T / d + 1/2, symmetric to the bit; unit: scaled to ones on the diagonal. */
static void definite(double *a, size_t n, bool unit, cbx_rng *rng, double *b)
{
    for (size_t k = 0; k < n * n; k++) b[k] = cbx_rng_normal(rng);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j ? 0.5 * (double)n : 0;
            for (size_t k = 0; k < n; k++) sum += b[i * n + k] * b[j * n + k];
            a[i * n + j] = a[j * n + i] = sum / (double)n;
        }
    if (!unit) return;
    for (size_t i = 0; i < n; i++) b[i] = 1 / sqrt(a[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = i == j ? 1 : a[i * n + j] * b[i] * b[j];
}

/* Orthonormal columns by Gram and Schmidt, twice. */
static void frame(double *a, size_t n, size_t d, cbx_rng *rng)
{
    for (size_t k = 0; k < n * d; k++) a[k] = cbx_rng_normal(rng);
    for (size_t c = 0; c < 2 * d; c++) {
        const size_t j = c / 2;
        double norm = 0;
        for (size_t i = 0; i < j; i++) {
            double dot = 0;
            for (size_t r = 0; r < n; r++) dot += a[r * d + i] * a[r * d + j];
            for (size_t r = 0; r < n; r++) a[r * d + j] -= dot * a[r * d + i];
        }
        for (size_t r = 0; r < n; r++) norm += a[r * d + j] * a[r * d + j];
        for (size_t r = 0; r < n; r++) a[r * d + j] /= sqrt(norm);
    }
}

/* A ring, which keeps it in one piece, and random edges. */
static void graph(double *a, size_t n, cbx_rng *rng)
{
    memset(a, 0, n * n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i] = i - j == 1 || (DEGREE - 2) / (double)n > cbx_rng_uniform(rng);
}

static void hyperboloid(double *x, size_t rows, size_t d, cbx_rng *rng)
{
    for (size_t r = 0; r < rows; r++, x += d) {
        x[0] = 1;
        for (size_t k = 1; k < d; k++) {
            x[k] = cbx_rng_normal(rng);
            x[0] += x[k] * x[k];
        }
        x[0] = sqrt(x[0]);
    }
}

static void ball(double *x, size_t rows, size_t d, cbx_rng *rng)
{
    for (size_t r = 0; r < rows; r++, x += d) {
        double norm = 0;
        for (size_t k = 0; k < d; k++) {
            x[k] = cbx_rng_normal(rng);
            norm += x[k] * x[k];
        }
        for (size_t k = 0; k < d; k++) x[k] *= 0.95 * cbx_rng_uniform(rng) / sqrt(norm);
    }
}

/* The first operand of the same letter, NULL in the first one itself. */
static const double *twin(const cbx__ms_point *p, size_t i, cbx_array *const *in)
{
    for (size_t k = 0; k < i; k++)
        if (p->row->operands[k] == p->row->operands[i]) return cbx_array_data(in[k]);
    return NULL;
}

static double number(const cbx__ms_point *p, size_t i, size_t k, cbx_array *const *in, cbx_rng *rng)
{
    const char kind = p->row->operands[i];
    const double *other = twin(p, i, in);

    switch (kind) {
    case 'p':
    case 'U': return cbx_rng_uniform(rng);
    case 'm': return 0.5 + cbx_rng_uniform(rng);
    case 'u': return ((const double *)cbx_array_data(in[0]))[k] + fabs(cbx_rng_normal(rng));
    case 'n': return log(1 - cbx_rng_uniform(rng));
    case 'g': return (double)cbx_rng_below(rng, GRADES);
    case 'i': return other ? fmin(1, fmax(0, other[k] + 0.1 * cbx_rng_normal(rng))) : cbx_rng_uniform(rng);
    case 'P': return other && k / p->d % SHARED == 0 ? other[k] : cbx_rng_normal(rng) + (other ? 1.0 / 3 : 0);
    case 'x': return cbx_rng_normal(rng) + (other ? 0.5 * other[k] : 0);
    case 'M':
        return k / p->d % p->d == k % p->d ? 1 + cbx_rng_uniform(rng) : 0.1 / (double)(1 + k / p->d % p->d + k % p->d);
    default: return other ? other[k] + 0.5 * cbx_rng_normal(rng) : cbx_rng_normal(rng);
    }
}

static int64_t whole(const cbx__ms_point *p, size_t i, size_t k, cbx_array *const *in, cbx_rng *rng)
{
    const char kind = p->row->operands[i];
    const int64_t *other = kind == 'T' ? cbx_array_data(in[0]) : (const int64_t *)twin(p, i, in);

    if (kind == 'b' && i && strchr("ps", p->row->operands[0])) {
        const double x = ((const double *)cbx_array_data(in[0]))[k];
        return p->row->operands[0] == 'p' ? cbx_rng_uniform(rng) < x : cbx_rng_normal(rng) + x > 0;
    }
    if (kind == 'X') return (int64_t)cbx_rng_below(rng, WORDS);
    if (other && cbx_rng_uniform(rng) < LIKELY) return other[k % p->n];
    return (int64_t)cbx_rng_below(rng, kind == 'b' || kind == 'z' ? 2 : p->d);
}

static cbx_status fill(cbx_ctx *ctx, const cbx__ms_point *p, size_t i, cbx_array *const *in, cbx_rng *rng, cbx_err *err)
{
    const size_t count = cbx_array_count(in[i]), n = p->n, d = p->d;
    const char kind = p->row->operands[i];
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    double *x = cbx_array_data_mut(in[i]), *work;

    switch (kind) {
    case 'D':
    case 'J': distributions(x, 1, count, rng); return CBX_OK;
    case 'C': distributions(x, n, d, rng); return CBX_OK;
    case 'K': distributions(x, n * CBX__MS_MEMBERS, d, rng); return CBX_OK;
    case 'o': ball(x, n, d, rng); return CBX_OK;
    case 'h': hyperboloid(x, n, d, rng); return CBX_OK;
    case 'F': frame(x, n, d, rng); return CBX_OK;
    case 'A': graph(x, n, rng); return CBX_OK;
    case 'S':
    case 'Q':
        work = cbx_arena_calloc(&arena, count, sizeof *work);
        if (!work) return cbx_fail(err, CBX_ENOMEM, "out of memory for a positive definite matrix");
        definite(x, cbx_array_dim(in[i], 0), kind == 'S', rng, work);
        return CBX_OK;
    default: break;
    }
    for (size_t k = 0; k < count; k++)
        if (cbx_array_dtype(in[i]) == CBX_I64)
            ((int64_t *)x)[k] = whole(p, i, k, in, rng);
        else
            x[k] = number(p, i, k, in, rng);
    return CBX_OK;
}

cbx_status cbx__ms_make_inputs(cbx_ctx *ctx, const cbx_params *params, cbx_array **in, cbx_err *err)
{
    const cbx__ms_point p = cbx__ms_read(params);
    cbx_rng rng = cbx_rng_make(p.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_array_desc d[CBX__MS_INPUTS];
    cbx_array *made[CBX__MS_INPUTS] = { NULL };
    cbx_status st;

    for (size_t i = 0; i < CBX__MS_INPUTS; i++) cbx__ms_input(&p, i, &d[i]);
    st = cbx__suite_arrays(ctx, d, CBX__MS_INPUTS, made, err);
    for (size_t i = 0; i < p.operands && !st; i++) st = fill(ctx, &p, i, made, &rng, err);
    return cbx__suite_arrays_give(st, made, CBX__MS_INPUTS, in);
}

/* --- another order of the items --- */

/* Items to shift by; 0: the order counts. */
static size_t shift_of(const cbx__ms_point *p, uint64_t r, cbx_ctx *ctx)
{
    cbx_rng rng = cbx_rng_make(p->seed, CBX__SUITE_STREAM_ROTATIONS + r);
    const cbx_metric_function *m = NULL;

    if (cbx_metric_find(ctx, p->row->name, &m, NULL) || p->row->result != CBX__MS_ONE || p->n < 2) return 0;
    if (!(m->invariances & (CBX_INVARIANT_ORDER | CBX_INVARIANT_SAMPLE_ORDER))) return 0;
    return 1 + (size_t)cbx_rng_below(&rng, p->n - 1);
}

cbx_status cbx__ms_rotate_inputs(cbx_ctx *ctx, const cbx_params *params, uint64_t r, cbx_array *const *in,
                                 cbx_array **rotated, cbx_err *err)
{
    const cbx__ms_point p = cbx__ms_read(params);
    const size_t shift = shift_of(&p, r, ctx);
    cbx_array *made[CBX__MS_INPUTS] = { NULL };
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < CBX__MS_INPUTS && !st; i++) {
        const size_t all = cbx_array_bytes(in[i]), rows = cbx_array_dim(in[i], 0);
        const size_t head = rows == p.n ? all / rows * shift : 0;
        char *to;
        st = cbx_array_create(ctx, cbx_array_get_desc(in[i]), &made[i], err);
        if (st || !all) continue;
        to = cbx_array_data_mut(made[i]);
        memcpy(to, (const char *)cbx_array_data(in[i]) + head, all - head);
        memcpy(to + (all - head), cbx_array_data(in[i]), head);
    }
    return cbx__suite_arrays_give(st, made, CBX__MS_INPUTS, rotated);
}

cbx_status cbx__ms_rotate_output(cbx_ctx *ctx, const cbx_params *params, uint64_t r, size_t output, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err)
{
    (void)params, (void)r, (void)output;
    return cbx__suite_copy(ctx, a, rotated, err);
}
