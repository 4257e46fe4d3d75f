/* Whether matrices are symmetric, and without eigenvalues that are negative, or not positive. */
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/metrics/internal.h"

/* Of a matrix, or one of a stack, for messages. */
typedef struct subject {
    const cbx_metric_function *metric;
    const char *name;
    char place[160]; /* "[3]", empty of a matrix alone */
} subject;

/* Largest |x - x^T| and |x| of n by n numbers, by tiles that stay in the cache; NaN if one is. */
static void asymmetry(const double *x, size_t n, double *gap, double *size)
{
    enum { TILE = 32 };
    double nan = 0, off = 0, largest = 0;

    for (size_t r = 0; r < n; r += TILE)
        for (size_t c = 0; c <= r; c += TILE)
            for (size_t i = r; i < n && i < r + TILE; i++)
                for (size_t j = c; j <= i && j < c + TILE; j++) {
                    const double a = x[i * n + j], b = x[j * n + i];
                    off = fabs(a - b) > off ? fabs(a - b) : off;
                    largest = fabs(a) > largest ? fabs(a) : largest;
                    largest = fabs(b) > largest ? fabs(b) : largest;
                    nan += a - b;
                }
    *gap = isnan(nan) ? NAN : off;
    *size = largest;
}

static bool is_symmetric(cbx_ctx *ctx, const subject *s, const double *x, size_t n)
{
    char a[CBX_FORMAT_SIZE], b[CBX_FORMAT_SIZE];
    double gap, size;
    size_t i = 0, j = 0;

    asymmetry(x, n, &gap, &size);
    if (!(gap > 1e-8 * size)) return true;
    while (fabs(x[i * n + j] - x[j * n + i]) < gap)
        if (++j == n) i++, j = 0;
    cbx__refuse(ctx, CBX_EDOM,
                "%s: '%s'%s must be symmetric, and [%zu, %zu] is %s, [%zu, %zu] is %s: use (x + x^T) / 2",
                s->metric->name, s->name, s->place, i, j, cbx_format_double(x[i * n + j], a), j, i,
                cbx_format_double(x[j * n + i], b));
    return false;
}

bool cbx__metric_symmetric(cbx_ctx *ctx, const cbx_metric_call *call, size_t i)
{
    const cbx_array *x = call->in[i];
    const subject s = { call->metric, call->metric->operands[i].name, "" };
    cbx__host h = { 0 };
    const double *v;
    bool fine;

    if (cbx_array_dim(x, 0) != cbx_array_dim(x, 1)) {
        cbx__metric_refuse(ctx, call, CBX_ESHAPE, "'%s' must be square, not %zu by %zu", s.name, cbx_array_dim(x, 0),
                           cbx_array_dim(x, 1));
        return false;
    }
    if (!cbx__metric_has_data(ctx, call)) return true;
    v = cbx__host_view(ctx, x, &h);
    fine = v && is_symmetric(ctx, &s, v, cbx_array_dim(x, 0));
    cbx__host_free(ctx, &h);
    return fine;
}

/*
 * Cholesky's factor l of n by n numbers with shift added to the diagonal, up to the first row whose
 * pivot is not positive: it is returned, with the pivot; n where all are positive.
 */
static size_t factor(const double *x, size_t n, double shift, double *l, double *pivot)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = l + i * n, *b = l + j * n;
            double sum = x[i * n + j] + (i == j ? shift : 0);
            if (j < 16)
                for (size_t p = 0; p < j; p++) sum -= a[p] * b[p];
            else
                sum -= k->run_dot_f64(a, b, j);
            *pivot = sum - shift;
            if (i == j && sum <= 0) return i;
            l[i * n + j] = i == j ? sqrt(sum) : sum / b[j];
        }
    return n;
}

static bool is_definite(cbx_ctx *ctx, const subject *s, const double *x, size_t n, bool strictly, double *scratch)
{
    double largest = 0, pivot;
    char v[CBX_FORMAT_SIZE];
    size_t row;

    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i * n + i]));
    row = factor(x, n, strictly ? 0 : 1e-8 * largest + 0x1p-1022, scratch, &pivot);
    if (row == n) return true;
    cbx__refuse(ctx, CBX_EDOM, "%s: '%s'%s must be positive %s: pivot %zu of its Cholesky factor is %s",
                s->metric->name, s->name, s->place, strictly ? "definite" : "semidefinite", row,
                cbx_format_double(pivot, v));
    return false;
}

bool cbx__check_definite(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x,
                         const cbx_array *kept, cbx__definiteness definiteness)
{
    const int rank = cbx_array_ndim(x);
    const size_t n = cbx_array_dim(x, rank - 1), count = rank > 2 ? cbx_array_dim(x, 0) : 1;
    const size_t bytes = n * n * sizeof(double);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    subject s = { m, m->operands[i].name, "" };
    double *scratch = NULL;
    const double *v = NULL;
    cbx__host h = { 0 };
    bool fine;

    if (cbx_array_dim(x, rank - 2) != n) {
        cbx__refuse(ctx, CBX_ESHAPE, "%s: '%s' must be square, not %zu by %zu", m->name, s.name,
                    cbx_array_dim(x, rank - 2), n);
        return false;
    }
    scratch = cbx_mem_alloc(al, bytes);
    if (scratch)
        v = cbx__host_view(ctx, cbx_astype(ctx, x, CBX_F64), &h);
    else
        cbx__refuse(ctx, CBX_ENOMEM, "%s: no memory for a factor of '%s'", m->name, s.name);
    fine = v != NULL;
    for (size_t k = 0; fine && k < count; k++) {
        if (rank > 2) cbx__place(x, 1, k, kept, s.place, sizeof s.place);
        fine = is_symmetric(ctx, &s, v + k * n * n, n) &&
               is_definite(ctx, &s, v + k * n * n, n, definiteness == CBX__DEFINITE, scratch);
    }
    cbx__host_free(ctx, &h);
    cbx_mem_free(al, scratch, bytes);
    return fine;
}
