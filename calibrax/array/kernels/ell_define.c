/* The definition of an ELL product, term by term, and the product over algebras that are given by
 * functions. */
#include "calibrax/array/kernels/define.h"
#include "calibrax/array/kernels/ell_isa.h"

/* --- the definition --- */

#define DEFINE(T, SFX, EXP, LOG)                                                                                       \
    static T at_##SFX(const cbx_ell_product *p, size_t e, size_t j)                                                    \
    {                                                                                                                  \
        const T a = ((const T *)p->values)[p->place ? p->place[e] : e];                                                \
        const T b = ((const T *)p->b)[(size_t)p->index[e] * p->ldb + j];                                               \
        return p->scaled ? a * b : term_##SFX(p->semiring->id, a, b);                                                  \
    }                                                                                                                  \
    static T element_##SFX(const cbx_ell_product *p, size_t i, size_t j)                                               \
    {                                                                                                                  \
        const size_t first = cbx__ell_first(p, i), end = first + cbx__ell_degree(p, i);                                \
        T acc = (T)p->semiring->identity, sum = 0;                                                                     \
        for (size_t e = first; e < end; e++) acc = update_##SFX(p->semiring->id, acc, at_##SFX(p, e, j));              \
        if (p->semiring->id != CBX_ALGEBRA_LOG) return p->scaled ? acc : finish_##SFX(p->semiring->id, acc);           \
        if (isnan(acc) || isinf(acc)) return acc;                                                                      \
        for (size_t e = first; e < end; e++) sum += EXP(at_##SFX(p, e, j) - acc);                                      \
        return acc + LOG(sum);                                                                                         \
    }
DEFINE(float, f32, expf, logf)
DEFINE(double, f64, exp, log)

static uint8_t element_bool(const cbx_ell_product *p, size_t i, size_t j)
{
    const size_t first = cbx__ell_first(p, i), end = first + cbx__ell_degree(p, i);

    for (size_t e = first; e < end; e++)
        if (((const uint8_t *)p->values)[p->place ? p->place[e] : e] &&
            ((const uint8_t *)p->b)[(size_t)p->index[e] * p->ldb + j])
            return 1;
    return 0;
}

/* One column of a product by functions. */
static void element_user(const cbx_ell_product *p, size_t i, size_t j, void *c)
{
    const cbx_semiring_functions *f = p->semiring->functions;
    const size_t size = cbx_dtype_size(p->dtype), first = cbx__ell_first(p, i), end = first + cbx__ell_degree(p, i);
    char state[256] __attribute__((aligned(16)));

    f->start(f->user, 1, state);
    for (size_t e = first; e < end; e++) {
        const char *a = (const char *)p->values + (p->place ? p->place[e] : e) * size;
        const char *b = (const char *)p->b + ((size_t)p->index[e] * p->ldb + j) * size;
        const float t32 = p->scaled && size == 4 ? *(const float *)(const void *)a * *(const float *)(const void *)b
                                                 : 0;
        const double t64 = p->scaled && size == 8 ? *(const double *)(const void *)a * *(const double *)(const void *)b
                                                  : 0;
        if (p->scaled)
            f->update(f->user, 1, size == 4 ? (const void *)&t32 : &t64, state);
        else
            f->step(f->user, 1, a, b, state);
    }
    f->finish(f->user, 1, state, c);
}

cbx_status cbx_ell_product_define(const cbx_ell_product *p, cbx_err *err)
{
    const cbx_status st = cbx__ell_check(p, CBX__ELL_PRODUCT, err);

    for (size_t i = 0; !st && i < p->rows; i++)
        for (size_t j = 0; j < p->d; j++) {
            const size_t at = i * p->ldc + j;
            if (p->semiring->functions)
                element_user(p, i, j, (char *)p->c + at * cbx_dtype_size(p->dtype));
            else if (p->dtype == CBX_F32)
                ((float *)p->c)[at] = element_f32(p, i, j);
            else if (p->dtype == CBX_F64)
                ((double *)p->c)[at] = element_f64(p, i, j);
            else
                ((uint8_t *)p->c)[at] = element_bool(p, i, j);
        }
    return st;
}

/* --- algebras given by functions --- */

/* Columns whose states a thread holds on its stack; rows of B that are asked for some edges ahead,
 * so much of them. */
enum { STATES = 16 << 10, MAX_COLUMNS = 1024, AHEAD = 8, ANNOUNCED = 512 };

static size_t columns_of(const cbx_semiring_functions *f)
{
    const size_t n = STATES / f->state_bytes;
    return n < MAX_COLUMNS ? n : MAX_COLUMNS;
}

static void scale(cbx_dtype dtype, size_t n, const void *a, const void *b, void *out)
{
    if (dtype == CBX_F32)
        for (size_t j = 0; j < n; j++) ((float *)out)[j] = *(const float *)a * ((const float *)b)[j];
    else
        for (size_t j = 0; j < n; j++) ((double *)out)[j] = *(const double *)a * ((const double *)b)[j];
}

static void announce(const char *row, size_t bytes)
{
    for (size_t l = 0; l < bytes && l < ANNOUNCED; l += 64) __builtin_prefetch(row + l);
}

/* n columns of row i, from column j0 on; edges: of all rows. */
static void user_columns(const cbx_ell_product *p, size_t i, size_t j0, size_t n, size_t edges)
{
    const cbx_semiring_functions *f = p->semiring->functions;
    const size_t size = cbx_dtype_size(p->dtype), first = cbx__ell_first(p, i), end = first + cbx__ell_degree(p, i);
    const char *b = (const char *)p->b + j0 * size;
    char states[STATES] __attribute__((aligned(64)));
    double terms[MAX_COLUMNS];

    f->start(f->user, n, states);
    for (size_t e = first; e < end; e++) {
        const char *value = (const char *)p->values + (p->place ? p->place[e] : e) * size;
        const char *row = b + (size_t)p->index[e] * p->ldb * size;
        if (e + AHEAD < edges && (p->start || e + AHEAD < end))
            announce(b + (size_t)p->index[e + AHEAD] * p->ldb * size, n * size);
        if (p->scaled) {
            scale(p->dtype, n, value, row, terms);
            f->update(f->user, n, terms, states);
        } else {
            f->step(f->user, n, value, row, states);
        }
    }
    f->finish(f->user, n, states, (char *)p->c + (i * p->ldc + j0) * size);
}

static void user_rows(const void *job, size_t from, size_t to)
{
    const cbx_ell_product *p = job;
    const size_t some = columns_of(p->semiring->functions);
    const size_t edges = p->start ? p->start[p->rows] : p->rows * p->width;

    for (size_t i = from; i < to; i++)
        for (size_t j0 = 0; j0 < p->d; j0 += some) user_columns(p, i, j0, p->d - j0 < some ? p->d - j0 : some, edges);
}

void cbx__ell_user_run(const cbx_ell_product *p, int threads)
{
    const cbx__ell_rows rows = cbx__ell_rows_of(p);
    cbx__ell_share(&rows, threads, user_rows, p);
}
