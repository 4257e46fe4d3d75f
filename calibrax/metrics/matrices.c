/* Whether matrices are symmetric, and without eigenvalues that are negative, or not positive. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/internal.h"

/* A matrix of n by n numbers, or one of a stack. */
typedef struct matrix {
    const cbx_metric_function *metric;
    const char *name;       /* of the operand */
    const cbx_array *kept;  /* places of matrices of a stack in the caller's, NULL: as they are */
    const cbx_array *stack; /* NULL of a matrix alone */
    size_t place, n;
    const double *x;
} matrix;

/* "anees: 'covariance'[1]" */
static const char *name_of(const matrix *m, char *buf, size_t size)
{
    char place[160] = "";

    if (m->stack) cbx__place(m->stack, 1, m->place, m->kept, place, sizeof place);
    snprintf(buf, size, "%s: '%s'%s", m->metric->name, m->name, place);
    return buf;
}

/*
 * Largest |x - x^T| and |x| of n by n numbers, by tiles that stay in the cache; NaN, whose bits are
 * above those of numbers, if one is.
 */
static void asymmetry(const double *x, size_t n, double *gap, double *size)
{
    enum { TILE = 32 };
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    double gaps[TILE * TILE];
    uint64_t largest = 0;

    for (size_t r = 0; r < n; r += TILE)
        for (size_t c = 0; c <= r; c += TILE) {
            size_t count = 0;
            for (size_t i = r; i < n && i < r + TILE; i++)
                for (size_t j = c; j <= i && j < c + TILE; j++) gaps[count++] = fabs(x[i * n + j] - x[j * n + i]);
            const uint64_t bits = k->run_max_u64((const void *)gaps, count);
            largest = bits > largest ? bits : largest;
        }
    memcpy(gap, &largest, sizeof *gap);
    *size = fmax(k->run_max_f64(x, n * n), -k->run_min_f64(x, n * n));
}

static bool is_symmetric(cbx_ctx *ctx, const matrix *m)
{
    const double *x = m->x;
    char name[256];
    double gap, size;
    size_t i = 0, j = 0;

    asymmetry(x, m->n, &gap, &size);
    if (!(gap > 1e-8 * size)) return true;
    while (fabs(x[i * m->n + j] - x[j * m->n + i]) < gap)
        if (++j == m->n) i++, j = 0;
    return cbx__refused(ctx, CBX_EDOM,
                        "%s must be symmetric, and [%zu, %zu] is %s, [%zu, %zu] is %s: use (x + x^T) / 2",
                        name_of(m, name, sizeof name), i, j, CBX__TEXT_NUMBER(x[i * m->n + j]), j, i,
                        CBX__TEXT_NUMBER(x[j * m->n + i]));
}

bool cbx__metric_square(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x)
{
    const size_t rows = cbx_array_dim(x, cbx_array_ndim(x) - 2), columns = cbx_array_dim(x, cbx_array_ndim(x) - 1);

    return rows == columns || cbx__refused(ctx, CBX_ESHAPE, "%s: '%s' must be square, not %zu by %zu", m->name,
                                           m->operands[i].name, rows, columns);
}

bool cbx__metric_symmetric(cbx_ctx *ctx, const cbx_metric_call *call, size_t i)
{
    const cbx_array *x = call->in[i];
    matrix m = { .metric = call->metric, .name = call->metric->operands[i].name, .n = cbx_array_dim(x, 0) };

    if (!cbx__metric_square(ctx, call->metric, i, x)) return false;
    return !cbx__metric_has_data(ctx, call) || ((m.x = cbx__host_view(ctx, x)) && is_symmetric(ctx, &m));
}

/* Whether the determinants of one and two rows are not negative, but for rounding. */
static bool has_minors(cbx_ctx *ctx, const matrix *m, double *diagonal)
{
    char name[256];
    size_t i, j = 0;

    for (i = 0; i < m->n; i++) diagonal[i] = m->x[i * m->n + i];
    for (i = 0; i < m->n; i++) {
        const double *row = m->x + i * m->n, own = diagonal[i], limit = own * (1 + 1e-8);
        bool fine = !(own < 0);
        for (j = 0; j < i; j++) fine &= !(row[j] * row[j] > limit * diagonal[j]);
        if (!fine) break;
    }
    if (i == m->n) return true;
    name_of(m, name, sizeof name);
    const double *row = m->x + i * m->n;
    for (j = 0; j < i && !(row[j] * row[j] > row[i] * (1 + 1e-8) * diagonal[j]); j++) continue;
    if (j == i)
        return cbx__refused(ctx, CBX_EDOM, "%s must be positive semidefinite, and its minor of row %zu is %s", name, i,
                            CBX__TEXT_NUMBER(row[i]));
    return cbx__refused(ctx, CBX_EDOM, "%s must be positive semidefinite, and its minor of rows %zu and %zu is %s",
                        name, j, i, CBX__TEXT_NUMBER(row[i] * diagonal[j] - row[j] * row[j]));
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

static bool is_definite(cbx_ctx *ctx, const matrix *m, bool strictly, double *scratch)
{
    double largest = 0, pivot;
    char name[256];
    size_t row;

    for (size_t i = 0; i < m->n; i++) largest = fmax(largest, fabs(m->x[i * m->n + i]));
    row = factor(m->x, m->n, strictly ? 0 : 1e-8 * largest + 0x1p-1022, scratch, &pivot);
    if (row == m->n) return true;
    return cbx__refused(ctx, CBX_EDOM, "%s must be positive %s: pivot %zu of its Cholesky factor is %s",
                        name_of(m, name, sizeof name), strictly ? "definite" : "semidefinite", row,
                        CBX__TEXT_NUMBER(pivot));
}

bool cbx__check_definite(cbx_ctx *ctx, const cbx_metric_function *metric, size_t i, const cbx_array *x,
                         const cbx_array *kept, cbx__definiteness definiteness)
{
    const int rank = cbx_array_ndim(x);
    const size_t n = cbx_array_dim(x, rank - 1), count = rank > 2 ? cbx_array_dim(x, 0) : 1;
    const size_t mark = cbx__mark(ctx), numbers = n * (definiteness == CBX__SYMMETRIC ? 1 : n);
    matrix m = {
        .metric = metric, .name = metric->operands[i].name, .kept = kept, .stack = rank > 2 ? x : NULL, .n = n
    };
    double *scratch;
    const double *v;
    bool fine;

    if (!cbx__metric_square(ctx, metric, i, x)) return false;
    scratch = cbx__scratch(ctx, metric, numbers, sizeof *scratch, "a factor of '%s'", m.name);
    v = cbx__host_view(ctx, cbx_astype(ctx, x, CBX_F64));
    fine = scratch && v;
    for (m.place = 0; fine && m.place < count; m.place++) {
        m.x = v + m.place * n * n;
        fine = is_symmetric(ctx, &m) &&
               (definiteness == CBX__SYMMETRIC ? has_minors(ctx, &m, scratch)
                                               : is_definite(ctx, &m, definiteness == CBX__DEFINITE, scratch));
    }
    cbx__tidy_list(ctx, mark, 0, NULL);
    return fine;
}

cbx_array *cbx__factor(cbx_ctx *ctx, const cbx_array *x, cbx_err *err)
{
    cbx_array *l;
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    l = cbx_cholesky(ctx, x, false);
    return cbx_scope_close_keep(&scope, 1, &l, err) ? NULL : cbx_scope_hold(ctx, l);
}

/* A number is refused with data only where it is known to be wrong: what is NaN passes. */
cbx_array *cbx__matrix_legal(cbx_ctx *ctx, const cbx_array *x, cbx__definiteness definiteness)
{
    const int rank = cbx_array_ndim(x);
    const cbx_axes both = { .n = 2, .axis = { -2, -1 } };
    const cbx_array *wrong, *size, *gap, *diagonal, *minors, *values;

    if (cbx_array_dim(x, rank - 2) != cbx_array_dim(x, rank - 1)) return NULL;
    x = cbx_stop_gradient(ctx, x);
    size = cbx_multiply_scalar(ctx, cbx_max(ctx, cbx_abs(ctx, x), &both), 1e-8);
    gap = cbx_abs(ctx, cbx_subtract(ctx, x, cbx_matrix_transpose(ctx, x)));
    wrong = cbx_greater(ctx, cbx_max(ctx, gap, &both), size);
    diagonal = cbx_diagonal(ctx, x, 0);
    if (definiteness == CBX__SYMMETRIC) {
        minors = cbx_multiply(ctx, cbx_expand_dims(ctx, diagonal, -1), cbx_expand_dims(ctx, diagonal, -2));
        minors = cbx_greater(ctx, cbx_square(ctx, x), cbx_multiply_scalar(ctx, minors, 1 + 1e-8));
        wrong = cbx_logical_or(ctx, wrong, cbx_any(ctx, minors, &both));
        wrong = cbx_logical_or(ctx, wrong, cbx_any(ctx, cbx_less_scalar(ctx, diagonal, 0), CBX_AXIS(-1)));
    } else {
        values = cbx_index(ctx, cbx_eigvalsh(ctx, x), -1, 0);
        size = cbx_multiply_scalar(ctx, cbx_max(ctx, cbx_abs(ctx, diagonal), CBX_AXIS(-1)), -1e-8);
        wrong = cbx_logical_or(ctx, wrong,
                               definiteness == CBX__DEFINITE ? cbx_less_equal_scalar(ctx, values, 0)
                                                             : cbx_less(ctx, values, size));
    }
    return cbx_logical_not(ctx, wrong);
}
