/* Which kernel makes a convolution, its workspace, and convolutions over algebras that are given by
 * functions. */
#include "calibrax/array/kernels/convolve.h"

#include <stdatomic.h>
#include <string.h>

#include "calibrax/array/kernels/inline.h"
#include "calibrax/array/kernels/semiring_kernel.h"

#define TILE_ROWS 8
#include "calibrax/array/kernels/convolve_rows.h"

size_t cbx__conv_rows(const cbx__conv *v)
{
    size_t n = v->images;
    for (int i = 0; i < v->ndim; i++) n *= v->positions[i];
    return n;
}

size_t cbx__conv_terms(const cbx__conv *v)
{
    size_t n = v->channels;
    for (int i = 0; i < v->ndim; i++) n *= v->taps[i];
    return n;
}

bool cbx__conv_is_direct(const cbx__conv *v)
{
    return v->semiring->functions || (v->semiring->id != CBX_ALGEBRA_LOG && v->semiring->id != CBX_ALGEBRA_BOOLEAN);
}

static cbx__conv_plan plan_of(const cbx__conv *v)
{
    const double steps = (double)cbx__conv_rows(v) * (double)cbx__conv_terms(v) * (double)v->outs;
    return (cbx__conv_plan){ .v = v, .threads = cbx__semiring_threads(steps, v->threads) };
}

/* --- windows --- */

static size_t table_bytes(const cbx__conv *v)
{
    return round_up((cbx__conv_terms(v) / v->channels * TILE_ROWS + ADDRESSES_BEHIND) * sizeof(void *), 64);
}

static size_t pad_bytes(const cbx__conv *v) { return round_up(walk_run(v) * cbx_dtype_size(v->dtype), 64); }

size_t cbx__conv_windows_bytes(const cbx__conv *v, int threads)
{
    return walk_tables(v) + pad_bytes(v) + (size_t)threads * table_bytes(v);
}

/* TILE_ROWS windows or fewer from row on, to `out`. */
static void gather_rows(const walk *k, size_t row, size_t rows, const void **table, char *out)
{
    const size_t size = cbx_dtype_size(k->v->dtype), wide = cbx__conv_terms(k->v) * size;
    place p = place_at(k, row);
    const size_t run = fill_table(k, &p, rows, table) * size;

    for (size_t at = 0; at < wide; at += run, table += TILE_ROWS)
        for (size_t i = 0; i < rows; i++) memcpy(out + i * wide + at, table[i], run);
}

void cbx__conv_gather(const cbx__conv *v, double outside, size_t first, size_t rows, int threads, void *scratch,
                      void *windows)
{
    char *pad = (char *)scratch + walk_tables(v), *tables = pad + pad_bytes(v);
    const size_t wide = cbx__conv_terms(v) * cbx_dtype_size(v->dtype);
    const walk k = walk_of(v, pad, scratch);

    for (size_t i = 0; i < walk_run(v); i++)
        if (v->dtype == CBX_F32)
            ((float *)pad)[i] = (float)outside;
        else if (v->dtype == CBX_F64)
            ((double *)pad)[i] = outside;
        else
            ((uint8_t *)pad)[i] = outside != 0;
    CBX__EACH_OF_TEAM(threads, schedule(static))
    for (size_t r = 0; r < rows; r += TILE_ROWS) {
        char *mine = tables + (threads > 1 ? cbx__omp_thread() : 0) * table_bytes(v);
        gather_rows(&k, first + r, min_size(TILE_ROWS, rows - r), (const void **)(void *)mine,
                    (char *)windows + r * wide);
    }
}

static void add_run(cbx_dtype dtype, size_t n, const void *from, void *to)
{
    if (dtype == CBX_F32)
        for (size_t i = 0; i < n; i++) ((float *)to)[i] += ((const float *)from)[i];
    else
        for (size_t i = 0; i < n; i++) ((double *)to)[i] += ((const double *)from)[i];
}

/* What windows from row on add to bytes [low, high) of x. */
static void scatter_rows(const walk *k, const char *windows, size_t row, size_t rows, const void **table, size_t low,
                         size_t high)
{
    const size_t size = cbx_dtype_size(k->v->dtype), terms = cbx__conv_terms(k->v);
    place p = place_at(k, row);
    const size_t run = fill_table(k, &p, rows, table);

    for (size_t i = 0; i < rows; i++)
        for (size_t t = 0; t * run < terms; t++, windows += run * size) {
            const char *to = table[t * TILE_ROWS + i];
            if (to == k->pad || (size_t)(to - (const char *)k->v->x) < low ||
                (size_t)(to - (const char *)k->v->x) >= high)
                continue;
            add_run(k->v->dtype, run, windows, (char *)(uintptr_t)to);
        }
}

/* Threads share x by the first axis: the images' lines in equal parts. */
void cbx__conv_scatter(const cbx__conv *v, const void *windows, size_t first, size_t rows, int threads, void *scratch,
                       void *dx)
{
    const size_t wide = cbx__conv_terms(v) * cbx_dtype_size(v->dtype), lines = v->images * v->length[0];
    char *tables = (char *)scratch + walk_tables(v) + pad_bytes(v);
    cbx__conv to = *v;
    walk k;

    to.x = dx;
    k = walk_of(&to, scratch, scratch); /* the padding is no place in dx */
    k.joins = k.joins && v->ndim > 1;   /* a run stays in a line */
    CBX__EACH_OF_TEAM(threads, schedule(static))
    for (int i = 0; i < threads; i++) {
        const size_t line = lines ? k.image / v->length[0] : 0;
        const void **mine = (const void **)(void *)(tables + (size_t)i * table_bytes(v));
        for (size_t r = 0; lines && r < rows; r += TILE_ROWS)
            scatter_rows(&k, (const char *)windows + r * wide, first + r, min_size(TILE_ROWS, rows - r), mine,
                         lines * (size_t)i / (size_t)threads * line, lines * ((size_t)i + 1) / (size_t)threads * line);
    }
}

/* --- algebras given by functions --- */

enum { COLUMNS = 256 }; /* TILE_ROWS rows of so many states stay in the second-level cache */

/* A thread's: its table, states, and a row of results. */
static size_t user_bytes(const cbx__conv *v)
{
    const size_t states = TILE_ROWS * v->semiring->functions->state_bytes;
    return table_bytes(v) + round_up(COLUMNS * (states + cbx_dtype_size(v->dtype)), 64);
}

typedef struct user_job {
    const cbx__conv *v;
    walk walk;
    size_t m, k;
    char *own;          /* memory of each thread */
    atomic_size_t next; /* row */
} user_job;

/* All terms of `rows` rows in n columns from j0 on; a tap that is outside of x has no terms. */
static void user_fold(const user_job *j, const void *const *line, size_t run, size_t rows, size_t j0, size_t n,
                      char *states)
{
    const cbx_semiring_functions *f = j->v->semiring->functions;
    const size_t size = cbx_dtype_size(j->v->dtype), wide = COLUMNS * f->state_bytes;
    const char *b = (const char *)j->v->w + j0 * size;

    for (size_t r = 0; r < rows; r++) f->start(f->user, n, states + r * wide);
    for (size_t kk = 0; kk < j->k; kk += run, line += TILE_ROWS)
        for (size_t at = 0; at < run; at++, b += j->v->outs * size)
            for (size_t r = 0; r < rows; r++)
                if (line[r] != j->walk.pad)
                    f->step(f->user, n, (const char *)line[r] + at * size, b, states + r * wide);
}

static void user_rows(const user_job *j, size_t row, size_t rows, char *own)
{
    const cbx__conv *v = j->v;
    const cbx_semiring_functions *f = v->semiring->functions;
    const size_t size = cbx_dtype_size(v->dtype), wide = COLUMNS * f->state_bytes;
    const void **table = (const void **)(void *)own;
    char *states = own + table_bytes(v), *result = states + TILE_ROWS * wide;
    place p = place_at(&j->walk, row);
    const size_t run = fill_table(&j->walk, &p, rows, table);

    for (size_t j0 = 0; j0 < v->outs; j0 += COLUMNS) {
        const size_t n = min_size(COLUMNS, v->outs - j0);
        user_fold(j, table, run, rows, j0, n, states);
        for (size_t r = 0; r < rows; r++) {
            f->finish(f->user, n, states + r * wide, result);
            memcpy((char *)v->y + ((row + r) * v->outs + j0) * size, result, n * size);
        }
    }
}

static void user_work(void *job, size_t id, size_t nt)
{
    user_job *j = job;

    (void)nt;
    for (size_t row; (row = atomic_fetch_add(&j->next, TILE_ROWS)) < j->m;)
        user_rows(j, row, min_size(TILE_ROWS, j->m - row), j->own + id * user_bytes(j->v));
}

static void user_run(const cbx__conv_plan *plan)
{
    static const char outside;
    const cbx__conv *v = plan->v;
    char *scratch = v->workspace;
    user_job j = { .v = v, .walk = walk_of(v, &outside, scratch), .m = cbx__conv_rows(v), .k = cbx__conv_terms(v) };

    j.own = scratch + walk_tables(v);
    cbx__team_run(plan->threads, user_work, &j);
}

/* --- all --- */

size_t cbx__conv_workspace(const cbx__conv *v)
{
    const cbx__conv_plan plan = plan_of(v);

    if (v->semiring->functions) return walk_tables(v) + (size_t)plan.threads * user_bytes(v);
    return cbx__semiring_best(v->dtype)->conv_workspace(&plan);
}

void cbx__conv_run(const cbx__conv *v)
{
    cbx__conv_plan plan = plan_of(v);

    if (v->semiring->functions) {
        user_run(&plan);
        return;
    }
    plan.add_by_fma = cbx__semiring_adds_by_fma(v->semiring, v->dtype);
    cbx__semiring_best(v->dtype)->conv_run(&plan);
}

bool cbx__conv_has_vjp(const cbx__conv *v)
{
    return v->semiring->id == CBX_ALGEBRA_REAL && v->channels >= TILE_ROWS; /* no tile has more rows */
}

size_t cbx__conv_pull_workspace(const cbx__conv *v)
{
    const cbx__conv_plan plan = plan_of(v);
    return cbx__semiring_best(v->dtype)->vjp_workspace(&plan);
}

void cbx__conv_vjp(const cbx__conv *v, const void *g, void *dw)
{
    cbx__conv_plan plan = plan_of(v);

    plan.g = g, plan.dw = dw;
    cbx__semiring_best(v->dtype)->vjp_run(&plan);
}
