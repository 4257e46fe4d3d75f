/* The definition of the product, term by term, and the product over algebras that are given by
 * functions. */
#include <stdatomic.h>
#include <string.h>

#include "calibrax/array/kernels/define.h"
#include "calibrax/array/kernels/semiring_kernel.h"

/* --- the definition --- */

#define AT(i, across, j, along) ((ptrdiff_t)(i) * (across) + (ptrdiff_t)(j) * (along))

#define DEFINE(T, SFX, EXP, LOG)                                                                                       \
    static T fold_##SFX(const cbx_matmul *p, size_t i, size_t j)                                                       \
    {                                                                                                                  \
        const T *a = p->a, *b = p->b;                                                                                  \
        T acc = (T)p->semiring->identity, sum = 0;                                                                     \
        for (size_t kk = 0; kk < p->k; kk++)                                                                           \
            acc = update_##SFX(                                                                                        \
                p->semiring->id, acc,                                                                                  \
                term_##SFX(p->semiring->id, a[AT(i, p->lda, kk, p->a_step)], b[AT(kk, p->ldb, j, p->b_step)]));        \
        if (p->semiring->id != CBX_ALGEBRA_LOG) return p->raw ? acc : finish_##SFX(p->semiring->id, acc);              \
        if (isnan(acc) || isinf(acc)) return acc;                                                                      \
        for (size_t kk = 0; kk < p->k; kk++)                                                                           \
            sum += EXP(a[AT(i, p->lda, kk, p->a_step)] + b[AT(kk, p->ldb, j, p->b_step)] - acc);                       \
        return acc + LOG(sum);                                                                                         \
    }                                                                                                                  \
    static void define_##SFX(const cbx_matmul *p)                                                                      \
    {                                                                                                                  \
        const T *d = p->d;                                                                                             \
        T *c = p->c;                                                                                                   \
        for (size_t i = 0; i < p->m; i++)                                                                              \
            for (size_t j = 0; j < p->n; j++) {                                                                        \
                T x = fold_##SFX(p, i, j);                                                                             \
                const T y = d ? d[AT(i, p->ldd, j, p->d_step)] : 0;                                                    \
                if (d) x = p->raw ? y + x : merge_##SFX(p->semiring->id, y, x);                                        \
                if (p->mask && (p->mask[AT(i, p->ldm, j, p->m_step)] != 0) == p->mask_complement)                      \
                    x = (T)p->semiring->empty;                                                                         \
                c[AT(i, p->ldc, j, p->c_step)] = x;                                                                    \
            }                                                                                                          \
    }
DEFINE(float, f32, expf, logf)
DEFINE(double, f64, exp, log)

static void define_bool(const cbx_matmul *p)
{
    const uint8_t *a = p->a, *b = p->b, *d = p->d;
    uint8_t *c = p->c;

    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            bool x = d && d[AT(i, p->ldd, j, p->d_step)] != 0;
            for (size_t kk = 0; kk < p->k && !x; kk++)
                x = a[AT(i, p->lda, kk, p->a_step)] && b[AT(kk, p->ldb, j, p->b_step)];
            if (p->mask && (p->mask[AT(i, p->ldm, j, p->m_step)] != 0) == p->mask_complement) x = false;
            c[AT(i, p->ldc, j, p->c_step)] = x;
        }
}

static void define_user(const cbx_matmul *p)
{
    const cbx_semiring_functions *f = p->semiring->functions;
    const ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(p->dtype);
    char state[256] __attribute__((aligned(16))), nothing[16] = { 0 };

    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            char *c = (char *)p->c + AT(i, p->ldc, j, p->c_step) * size;
            f->start(f->user, 1, state);
            for (size_t kk = 0; kk < p->k; kk++)
                f->step(f->user, 1, (const char *)p->a + AT(i, p->lda, kk, p->a_step) * size,
                        (const char *)p->b + AT(kk, p->ldb, j, p->b_step) * size, state);
            f->finish(f->user, 1, state, c);
            if (p->mask && (p->mask[AT(i, p->ldm, j, p->m_step)] != 0) == p->mask_complement)
                memcpy(c, nothing, (size_t)size);
        }
}

void cbx__semiring_by_definition(const cbx_matmul *p)
{
    if (p->semiring->functions)
        define_user(p);
    else if (p->dtype == CBX_BOOL)
        define_bool(p);
    else if (p->dtype == CBX_F32)
        define_f32(p);
    else
        define_f64(p);
}

/* --- algebras given by functions --- */

/* A tile of states, ROWS by COLUMNS, stays in the second-level cache; a row of B in the first while
 * ROWS steps use it. */
enum { ROWS = 8, COLUMNS = 256 };

static size_t tile_bytes(const cbx_matmul *p)
{
    const size_t size = cbx_dtype_size(p->dtype);
    return (ROWS * COLUMNS * p->semiring->functions->state_bytes + (1 + 1) * COLUMNS * size + 63) / 64 * 64;
}

size_t cbx__semiring_user_workspace(const cbx__semiring_plan *plan)
{
    return (size_t)plan->threads * tile_bytes(plan->p);
}

/* n elements as neighbours: where they lie, or copied to buf. */
static const char *neighbours(const char *x, size_t n, ptrdiff_t step, size_t size, char *buf)
{
    if (step == 1) return x;
    for (size_t i = 0; i < n; i++) memcpy(buf + i * size, x + (ptrdiff_t)i * step * (ptrdiff_t)size, size);
    return buf;
}

static void store_user(const cbx_matmul *p, size_t i, size_t j0, size_t n, const char *row)
{
    const size_t size = cbx_dtype_size(p->dtype);
    char *c = p->c;

    for (size_t j = j0; j < j0 + n; j++, row += size) {
        char *to = c + AT(i, p->ldc, j, p->c_step) * (ptrdiff_t)size;
        if (p->mask && (p->mask[AT(i, p->ldm, j, p->m_step)] != 0) == p->mask_complement)
            memset(to, 0, size);
        else
            memcpy(to, row, size);
    }
}

static void user_tile(const cbx_matmul *p, size_t i0, size_t rows, size_t j0, size_t n, char *space)
{
    const cbx_semiring_functions *f = p->semiring->functions;
    const size_t size = cbx_dtype_size(p->dtype), line = COLUMNS * f->state_bytes;
    char *states = space, *b_row = space + ROWS * line, *c_row = b_row + COLUMNS * size;

    for (size_t r = 0; r < rows; r++) f->start(f->user, n, states + r * line);
    for (size_t kk = 0; kk < p->k; kk++) {
        const char *b = neighbours((const char *)p->b + AT(kk, p->ldb, j0, p->b_step) * (ptrdiff_t)size, n, p->b_step,
                                   size, b_row);
        for (size_t r = 0; r < rows; r++)
            f->step(f->user, n, (const char *)p->a + AT(i0 + r, p->lda, kk, p->a_step) * (ptrdiff_t)size, b,
                    states + r * line);
    }
    for (size_t r = 0; r < rows; r++) {
        f->finish(f->user, n, states + r * line, c_row);
        store_user(p, i0 + r, j0, n, c_row);
    }
}

typedef struct user_job {
    const cbx_matmul *p;
    atomic_size_t next; /* tile */
} user_job;

static void user_tiles(void *job, size_t id, size_t nt)
{
    user_job *j = job;
    const cbx_matmul *p = j->p;
    const size_t across = (p->n + COLUMNS - 1) / COLUMNS, down = (p->m + ROWS - 1) / ROWS;
    char *space = (char *)p->workspace + id * tile_bytes(p);

    (void)nt;
    for (size_t t; (t = atomic_fetch_add(&j->next, 1)) < across * down;) {
        const size_t i0 = t / across * ROWS, j0 = t % across * COLUMNS;
        user_tile(p, i0, p->m - i0 < ROWS ? p->m - i0 : ROWS, j0, p->n - j0 < COLUMNS ? p->n - j0 : COLUMNS, space);
    }
}

void cbx__semiring_user_run(const cbx__semiring_plan *plan)
{
    cbx__team_run(plan->threads, user_tiles, &(user_job){ .p = plan->p });
}
