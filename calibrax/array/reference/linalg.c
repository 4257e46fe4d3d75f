/*
 * Linear algebra by LAPACK, a matrix at a time: a column-major copy of the operand goes in, the
 * factors come out as row-major results.
 *
 * A matrix with a NaN or an infinity has no factors: everything of it is NaN, and LAPACK, whose
 * iterations may not end on such input, is not asked.  Systems of equations take such numbers as
 * arithmetic does.  float32 is computed in float64 and rounded once, as everywhere in this backend.
 * Scratch: the operands of one matrix, its factors, and what LAPACK asks for.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/reference/lapack.h"
#include "calibrax/array/reference/reference.h"

enum { PARTS = 8, ALIGN = 64, RESULTS = 3 };

typedef struct job {
    const cbx_call *call;
    const cbx__lapack *lapack;
    int type;        /* 0 real, 1 complex */
    int m, n;        /* of the first operand */
    int k;           /* columns of the second operand, or min(m, n) */
    size_t size;     /* bytes of a number in the scratch: float64 or complex128 */
    size_t out_size; /* bytes of an element of a result of numbers like the operand's */
    cbx__loop load, store, store_real;
    cbx__places at; /* operands at the matrix in work */
    const ptrdiff_t *step[2];
    char *result[RESULTS]; /* of the matrix in work */
    size_t number, count;
    double *part[PARTS]; /* of the scratch */
    int lwork, lrwork, liwork;
} job;

/* plan states how many bytes each part of the scratch takes; one does a matrix. */
typedef struct method {
    void (*plan)(job *j, size_t want[PARTS]);
    cbx_status (*one)(job *j, cbx_err *err);
} method;

static bool is_complex(const job *j) { return j->type == 1; }
/* Of eigenvalues and singular values. */
static bool wants_vectors(const job *j) { return j->call->nout > 1; }
static size_t parts(const job *j) { return j->size / sizeof(double); }

/* What a routine left in work[0]: a count. */
static int asked_for(const double *work) { return *work < 1 ? 1 : *work > INT_MAX ? INT_MAX : (int)*work; }

/* "the matrix" if there is but one. */
static const char *which(const job *j, char buf[48])
{
    if (j->count == 1) return "the matrix";
    snprintf(buf, 48, "matrix %zu", j->number);
    return buf;
}

/* ---- between row-major strides and column-major copies ---- */

enum { ALL, LOWER, UPPER };

/* One side of a copy: steps in bytes from row to row and from column to column. */
typedef struct grid {
    char *data;
    ptrdiff_t row, column;
} grid;

/*
 * Rows by columns, or a triangle of them.  Whole columns where both sides have them in a row; else
 * runs of eight columns, so that lines of the cache are used while they are there.
 */
static void copy_grid(cbx__loop loop, int rows, int columns, int half, grid to, grid from)
{
    const bool along = labs(from.row) <= labs(from.column) && labs(to.row) <= labs(to.column);
    const int width = along ? 1 : 8;

    for (int c = 0; c < columns; c += width) {
        const int top = half == LOWER ? c : 0, bottom = half == UPPER && c + width < rows ? c + width : rows;
        const int end = c + width < columns ? c + width : columns;
        if (along) {
            loop(
                (size_t)(bottom > top ? bottom - top : 0),
                (char *const[]){ to.data + c * to.column + top * to.row, from.data + c * from.column + top * from.row },
                (const ptrdiff_t[]){ to.row, from.row });
            continue;
        }
        for (int r = top; r < bottom; r++) {
            const int first = half == UPPER && r > c ? r : c, past = half == LOWER && r + 1 < end ? r + 1 : end;
            if (past <= first) continue;
            loop((size_t)(past - first),
                 (char *const[]){ to.data + first * to.column + r * to.row,
                                  from.data + first * from.column + r * from.row },
                 (const ptrdiff_t[]){ to.column, from.column });
        }
    }
}

/* A matrix of an operand to columns in a row; LOWER and UPPER: the rest is 0. */
static void load(const job *j, int operand, int rows, int columns, int half, double *numbers)
{
    const ptrdiff_t size = (ptrdiff_t)j->size, *step = j->step[operand];

    if (half != ALL) memset(numbers, 0, (size_t)rows * (size_t)columns * j->size);
    copy_grid(j->load, rows, columns, half, (grid){ (char *)numbers, size, rows * size },
              (grid){ j->at.op[operand].data, step[0], step[1] });
}

/* rows-by-columns out of column-major a to a row-major result; LOWER and UPPER: the rest is
 * left alone. */
static void store(const job *j, const double *a, int lda, int rows, int columns, int half, char *to)
{
    const ptrdiff_t size = (ptrdiff_t)j->size, out_size = (ptrdiff_t)j->out_size;

    copy_grid(j->store, rows, columns, half, (grid){ to, columns * out_size, out_size },
              (grid){ (char *)(uintptr_t)a, size, lda * size });
}

/* n real numbers to a result of such. */
static void store_reals(const job *j, const double *x, int n, char *to)
{
    const ptrdiff_t real_size = (ptrdiff_t)(j->type ? j->out_size / 2 : j->out_size);
    j->store_real((size_t)n, (char *const[]){ to, (char *)(uintptr_t)x },
                  (const ptrdiff_t[]){ real_size, sizeof(double) });
}

static bool is_finite(const job *j, const double *a, size_t count)
{
    enum { SUMS = 16 };
    const size_t n = count * parts(j);
    double sum[SUMS] = { 0 }, all = 0; /* of zeros, or NaN */
    size_t i = 0;

    for (; i + SUMS <= n; i += SUMS)
        for (size_t k = 0; k < SUMS; k++) sum[k] += a[i + k] * 0.0;
    for (; i < n; i++) all += a[i] * 0.0;
    for (size_t k = 0; k < SUMS; k++) all += sum[k];
    return all == 0;
}

/* n real numbers. */
static void fill_nan(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = (double)NAN;
}

static void put_identity(const job *j, char *to, int n)
{
    const double one[2] = { 1, 0 };

    memset(to, 0, (size_t)n * (size_t)n * j->out_size);
    for (int i = 0; i < n; i++, to += (size_t)(n + 1) * j->out_size)
        j->store(1, (char *const[]){ to, (char *)(uintptr_t)one }, (const ptrdiff_t[]){ 0, 0 });
}

/* ---- factors and systems of equations ---- */

static size_t elements(const job *j) { return (size_t)j->m * (size_t)j->n; }

static void plan_matrix(job *j, size_t want[PARTS]) { want[0] = elements(j) * j->size; }

static cbx_status one_cholesky(job *j, cbx_err *err)
{
    int half = j->call->attrs->mode ? UPPER : LOWER, info = 0;
    double *a = j->part[0];
    char buf[48];

    load(j, 0, j->n, j->n, half, a);
    if (is_finite(j, a, elements(j)))
        j->lapack->potrf[j->type](half == UPPER ? "U" : "L", &j->n, a, &j->n, &info, 1);
    else
        fill_nan(a, elements(j) * parts(j));
    if (info > 0)
        return cbx_fail(err, CBX_EDOM,
                        "%s of 'cholesky' is not positive definite: its leading part of order %d is not; use 'eigh'",
                        which(j, buf), info);
    memset(j->result[0], 0, elements(j) * j->out_size);
    store(j, a, j->n, j->n, j->n, half, j->result[0]);
    return CBX_OK;
}

static void plan_solve(job *j, size_t want[PARTS])
{
    want[0] = elements(j) * j->size;
    want[1] = (size_t)j->n * (size_t)j->k * j->size;
    want[2] = (size_t)j->n * sizeof(int);
}

static cbx_status is_singular(const job *j, int at, cbx_err *err)
{
    char buf[48];
    return cbx_fail(err, CBX_EDOM, "%s of 'triangular_solve' is singular: element %d of its diagonal is 0",
                    which(j, buf), at);
}

/* float64 and several columns: the rows of the result are columns to BLAS, and the triangle is read
 * where it lies. */
static cbx_status solve_in_rows(job *j, cbx_err *err)
{
    const int mode = j->call->attrs->mode, n = j->n;
    const ptrdiff_t size = sizeof(double), row = j->step[0][0] / size, column = j->step[0][1] / size;
    const bool rows = column == 1 && row >= n && row <= INT_MAX, columns = row == 1 && column >= n && column <= INT_MAX;
    const bool upper = mode & CBX_TRIANGLE_UPPER, flipped = mode & (CBX_TRIANGLE_TRANSPOSE | CBX_TRIANGLE_ADJOINT);
    const int lda = rows ? (int)row : columns ? (int)column : n;
    const double *a = rows || columns ? (const double *)(void *)j->at.op[0].data : j->part[0], one = 1;

    if (a == j->part[0]) load(j, 0, n, n, upper ? UPPER : LOWER, j->part[0]);
    for (int i = 0; i < n && !(mode & CBX_TRIANGLE_UNIT); i++)
        if (a[(size_t)i * ((size_t)lda + 1)] == 0) return is_singular(j, i, err);
    copy_grid(j->load, n, j->k, ALL, (grid){ j->result[0], j->k * size, size },
              (grid){ j->at.op[1].data, j->step[1][0], j->step[1][1] });
    j->lapack->dtrsm("R", upper != rows ? "U" : "L", flipped == rows ? "T" : "N", mode & CBX_TRIANGLE_UNIT ? "U" : "N",
                     &j->k, &n, &one, a, &lda, j->result[0], &j->k, 1, 1, 1, 1);
    return CBX_OK;
}

static cbx_status one_triangular_solve(job *j, cbx_err *err)
{
    int mode = j->call->attrs->mode, info = 0;
    const char *trans = mode & CBX_TRIANGLE_ADJOINT ? "C" : mode & CBX_TRIANGLE_TRANSPOSE ? "T" : "N";

    if (j->k > 1 && j->call->results->dtype == CBX_F64) return solve_in_rows(j, err);
    load(j, 0, j->n, j->n, mode & CBX_TRIANGLE_UPPER ? UPPER : LOWER, j->part[0]);
    load(j, 1, j->n, j->k, ALL, j->part[1]);
    j->lapack->trtrs[j->type](mode & CBX_TRIANGLE_UPPER ? "U" : "L", trans, mode & CBX_TRIANGLE_UNIT ? "U" : "N", &j->n,
                              &j->k, j->part[0], &j->n, j->part[1], &j->n, &info, 1, 1, 1);
    if (info > 0) return is_singular(j, info - 1, err);
    store(j, j->part[1], j->n, j->n, j->k, ALL, j->result[0]);
    return CBX_OK;
}

static cbx_status one_solve(job *j, cbx_err *err)
{
    int info = 0;
    char buf[48];

    load(j, 0, j->n, j->n, ALL, j->part[0]);
    load(j, 1, j->n, j->k, ALL, j->part[1]);
    j->lapack->gesv[j->type](&j->n, &j->k, j->part[0], &j->n, (int *)j->part[2], j->part[1], &j->n, &info);
    if (info > 0)
        return cbx_fail(err, CBX_EDOM, "%s of 'solve' is singular: pivot %d is 0; use 'lstsq' or 'pinv'", which(j, buf),
                        info - 1);
    store(j, j->part[1], j->n, j->n, j->k, ALL, j->result[0]);
    return CBX_OK;
}

/* A singular matrix has factors, too. */
static cbx_status one_lu(job *j, CBX__UNUSED cbx_err *err)
{
    int info = 0, *pivot = (int *)j->part[2];

    load(j, 0, j->n, j->n, ALL, j->part[0]);
    j->lapack->getrf[j->type](&j->n, &j->n, j->part[0], &j->n, pivot, &info);
    store(j, j->part[0], j->n, j->n, j->n, ALL, j->result[0]);
    for (int i = 0; i < j->n; i++) ((int64_t *)(void *)j->result[1])[i] = pivot[i] - 1;
    return CBX_OK;
}

/* ---- QR ---- */

static int q_columns(const job *j) { return j->call->attrs->mode ? j->m : j->k; }

static void plan_qr(job *j, size_t want[PARTS])
{
    const int ask = -1, lda = j->m > 0 ? j->m : 1, q = q_columns(j);
    double work[2] = { 0 }, more[2] = { 0 }, none[2];
    int info;

    if (j->k > 0) {
        j->lapack->geqrf[j->type](&j->m, &j->n, none, &lda, none, work, &ask, &info);
        j->lapack->orgqr[j->type](&j->m, &q, &j->k, none, &lda, none, more, &ask, &info);
    }
    j->lwork = asked_for(work) > asked_for(more) ? asked_for(work) : asked_for(more);
    want[0] = (size_t)j->m * (size_t)(q > j->n ? q : j->n) * j->size;
    want[1] = (size_t)j->k * j->size;
    want[2] = (size_t)j->lwork * j->size;
}

static cbx_status one_qr(job *j, CBX__UNUSED cbx_err *err)
{
    int q = q_columns(j), info;
    double *a = j->part[0];
    bool finite;

    if (j->k == 0) {
        if (q) put_identity(j, j->result[0], q);
        return CBX_OK;
    }
    memset(j->result[1], 0, (size_t)q * (size_t)j->n * j->out_size);
    load(j, 0, j->m, j->n, ALL, a);
    finite = is_finite(j, a, elements(j));
    if (finite)
        j->lapack->geqrf[j->type](&j->m, &j->n, a, &j->m, j->part[1], j->part[2], &j->lwork, &info);
    else
        fill_nan(a, elements(j) * parts(j));
    store(j, a, j->m, j->k, j->n, UPPER, j->result[1]);
    if (finite)
        j->lapack->orgqr[j->type](&j->m, &q, &j->k, a, &j->m, j->part[1], j->part[2], &j->lwork, &info);
    else
        fill_nan(a, (size_t)j->m * (size_t)q * parts(j));
    store(j, a, j->m, j->m, q, ALL, j->result[0]);
    return CBX_OK;
}

/* ---- eigenvalues of Hermitian matrices ---- */

enum { E_A, E_W, E_WORK, E_RWORK, E_IWORK };

static void call_eigh(job *j, void *a, void *w, void *work, void *rwork, int *iwork, int *info)
{
    const char *jobz = wants_vectors(j) ? "V" : "N";

    if (is_complex(j))
        j->lapack->zheevd(jobz, "L", &j->n, a, &j->n, w, work, &j->lwork, rwork, &j->lrwork, iwork, &j->liwork, info, 1,
                          1);
    else
        j->lapack->dsyevd(jobz, "L", &j->n, a, &j->n, w, work, &j->lwork, iwork, &j->liwork, info, 1, 1);
}

static void plan_eigh(job *j, size_t want[PARTS])
{
    double none[2] = { 0 }, work[2] = { 0 }, rwork[2] = { 0 };
    int iwork = 1, info = 0;

    j->lwork = j->lrwork = j->liwork = -1;
    call_eigh(j, none, none, work, rwork, &iwork, &info);
    j->lwork = asked_for(work);
    j->lrwork = asked_for(rwork);
    j->liwork = iwork > 1 ? iwork : 1;
    want[E_A] = elements(j) * j->size;
    want[E_W] = (size_t)j->n * sizeof(double);
    want[E_WORK] = (size_t)j->lwork * j->size;
    want[E_RWORK] = (size_t)j->lrwork * sizeof(double);
    want[E_IWORK] = (size_t)j->liwork * sizeof(int);
}

static cbx_status one_eigh(job *j, cbx_err *err)
{
    double *a = j->part[E_A], *w = j->part[E_W];
    char buf[48];
    int info = 0;

    load(j, 0, j->n, j->n, LOWER, a);
    if (is_finite(j, a, elements(j))) {
        call_eigh(j, a, w, j->part[E_WORK], j->part[E_RWORK], (int *)j->part[E_IWORK], &info);
    } else {
        fill_nan(a, elements(j) * parts(j));
        fill_nan(w, (size_t)j->n);
    }
    if (info > 0) return cbx_fail(err, CBX_EDOM, "the eigenvalues of %s did not converge", which(j, buf));
    store_reals(j, w, j->n, j->result[0]);
    if (wants_vectors(j)) store(j, a, j->n, j->n, j->n, ALL, j->result[1]);
    return CBX_OK;
}

/* ---- singular values ---- */

enum { S_A, S_S, S_U, S_V, S_WORK, S_RWORK, S_IWORK };

static int u_columns(const job *j) { return j->call->attrs->mode ? j->m : j->k; }
static int v_rows(const job *j) { return j->call->attrs->mode ? j->n : j->k; }

static void call_svd(job *j, void *const part[PARTS], int *info)
{
    const char *jobz = !wants_vectors(j) ? "N" : j->call->attrs->mode ? "A" : "S";
    const int ldv = wants_vectors(j) ? v_rows(j) : 1;

    if (is_complex(j))
        j->lapack->zgesdd(jobz, &j->m, &j->n, part[S_A], &j->m, part[S_S], part[S_U], &j->m, part[S_V], &ldv,
                          part[S_WORK], &j->lwork, part[S_RWORK], part[S_IWORK], info, 1);
    else
        j->lapack->dgesdd(jobz, &j->m, &j->n, part[S_A], &j->m, part[S_S], part[S_U], &j->m, part[S_V], &ldv,
                          part[S_WORK], &j->lwork, part[S_IWORK], info, 1);
}

/* Real scratch of the complex routine, by its documentation. */
static size_t svd_reals(const job *j)
{
    size_t low = (size_t)j->k, high = (size_t)(j->m > j->n ? j->m : j->n), a, b;

    if (!wants_vectors(j)) return 7 * low;
    a = 5 * low * low + 5 * low;
    b = 2 * high * low + 2 * low * low + low;
    return a > b ? a : b;
}

static void plan_svd(job *j, size_t want[PARTS])
{
    double none[PARTS][2] = { { 0 } };
    void *part[PARTS];
    int info = 0;

    want[S_A] = elements(j) * j->size;
    if (j->k == 0) return;
    for (int i = 0; i < PARTS; i++) part[i] = none[i];
    j->lwork = -1;
    call_svd(j, part, &info);
    j->lwork = asked_for(none[S_WORK]);
    want[S_S] = (size_t)j->k * sizeof(double);
    want[S_U] = wants_vectors(j) ? (size_t)j->m * (size_t)u_columns(j) * j->size : j->size;
    want[S_V] = wants_vectors(j) ? (size_t)v_rows(j) * (size_t)j->n * j->size : j->size;
    want[S_WORK] = (size_t)j->lwork * j->size;
    want[S_RWORK] = is_complex(j) ? svd_reals(j) * sizeof(double) : 1;
    want[S_IWORK] = 8 * (size_t)j->k * sizeof(int);
}

static cbx_status one_svd(job *j, cbx_err *err)
{
    char buf[48];
    int info = 0;

    if (j->k == 0) { /* one of both factors has elements, if any */
        if (j->call->attrs->mode) put_identity(j, j->result[j->m ? 0 : 2], j->m ? j->m : j->n);
        return CBX_OK;
    }
    load(j, 0, j->m, j->n, ALL, j->part[S_A]);
    if (is_finite(j, j->part[S_A], elements(j))) {
        call_svd(j, (void *const *)j->part, &info);
    } else {
        fill_nan(j->part[S_S], (size_t)j->k);
        if (wants_vectors(j)) fill_nan(j->part[S_U], (size_t)j->m * (size_t)u_columns(j) * parts(j));
        if (wants_vectors(j)) fill_nan(j->part[S_V], (size_t)v_rows(j) * (size_t)j->n * parts(j));
    }
    if (info != 0) return cbx_fail(err, CBX_EDOM, "the singular values of %s did not converge", which(j, buf));
    store_reals(j, j->part[S_S], j->k, j->result[wants_vectors(j) ? 1 : 0]);
    if (!wants_vectors(j)) return CBX_OK;
    store(j, j->part[S_U], j->m, j->m, u_columns(j), ALL, j->result[0]);
    store(j, j->part[S_V], v_rows(j), v_rows(j), j->n, ALL, j->result[2]);
    return CBX_OK;
}

/* ---- the walk over the matrices of a stack ---- */

static cbx_status describe(job *j, const cbx_call *call, cbx_err *err)
{
    const cbx_array_desc *a = &call->in[0]->desc, *last = &call->in[call->nin - 1]->desc;
    size_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1], k = last->shape[last->ndim - 1];
    cbx_dtype wide;

    if (call->nin == 1) k = m < n ? m : n;
    if (m > INT_MAX - 1 || n > INT_MAX - 1 || k > INT_MAX - 1)
        return cbx_fail(err, CBX_EOVERFLOW, "'%s' of %s: LAPACK counts rows and columns in 31 bits",
                        cbx_prim_name(call->prim), CBX__DESC_TEXT(k == n ? a : last));
    j->call = call;
    wide = cbx__ref_wide(a->dtype);
    j->type = wide == CBX_C128;
    j->size = cbx_dtype_size(wide);
    j->out_size = cbx_dtype_size(a->dtype);
    j->load = cbx__move_loop(a->dtype, wide);
    j->store = cbx__move_loop(wide, a->dtype);
    j->store_real = cbx__move_loop(CBX_F64, a->dtype == CBX_F32 || a->dtype == CBX_C64 ? CBX_F32 : CBX_F64);
    j->m = (int)m;
    j->n = (int)n;
    j->k = (int)k;
    j->count = 1;
    for (int i = 0; i < a->ndim - 2; i++) j->count *= a->shape[i];
    return cbx__lapack_get(call->ctx, &j->lapack, err);
}

static cbx_status each_matrix(const cbx_call *call, const method *how, cbx_array **out, cbx_err *err)
{
    const int lead = call->in[0]->desc.ndim - 2;
    cbx__strided op[2] = { { 0 } };
    CBX_SCOPED(cbx__scratch, scratch, call->ctx);
    size_t elements_out = 0, want[PARTS] = { 0 }, at[PARTS + 1] = { 0 };
    job j = { 0 };
    cbx_status st;

    for (size_t i = 0; i < call->nout; i++) elements_out += out[i]->count;
    if (elements_out == 0) return CBX_OK;
    st = describe(&j, call, err);
    if (st) return st;
    how->plan(&j, want);
    for (int i = 0; i < PARTS; i++) at[i + 1] = at[i] + (want[i] + ALIGN - 1) / ALIGN * ALIGN;
    st = cbx__scratch_get(&scratch, at[PARTS], err);
    if (st) return st;
    for (int i = 0; i < PARTS; i++) j.part[i] = (double *)(void *)((char *)scratch.data + at[i]);
    for (size_t i = 0; i < call->nin; i++) {
        op[i] = cbx__ref_strided(call->in[i]);
        j.step[i] = &op[i].strides[lead];
    }
    cbx__places_init(&j.at, lead, call->in[0]->desc.shape, -1, call->nin, op);
    for (j.number = 0; !st && j.number < j.count; j.number++, cbx__places_next(&j.at)) {
        for (size_t i = 0; i < call->nout; i++)
            j.result[i] = (char *)out[i]->data + j.number * (cbx_array_bytes(out[i]) / j.count);
        st = how->one(&j, err);
    }
    return st;
}

#define RUN(name, plan_, one_)                                                                                         \
    CBX__RUN(name) { return each_matrix(call, &(const method){ plan_, one_ }, out, err); }
RUN(cholesky, plan_matrix, one_cholesky)
RUN(triangular_solve, plan_solve, one_triangular_solve)
RUN(solve, plan_solve, one_solve)
RUN(lu, plan_solve, one_lu)
RUN(qr, plan_qr, one_qr)
RUN(eigh, plan_eigh, one_eigh)
RUN(svd, plan_svd, one_svd)
