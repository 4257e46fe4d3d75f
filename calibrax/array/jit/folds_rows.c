/*
 * Folds of the last dimension.  Elements come a tile at a time and follow the tree of the reference
 * backend (reference/reduce.c), so that sums have its bits: halves, the first rounded down to a
 * multiple of 8, until 128 or fewer are left; these in 8 sums, joined pairwise.
 * Threads share results, or branches of the tree of one result.
 */
#include <string.h>

#include "calibrax/array/jit/folds.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/array/reference/reduce.h"

enum {
    TILE = 1024,  /* elements of a branch that is computed at once */
    SHORT = 256,  /* elements of a row; of shorter ones a tile holds several */
    LEVELS = 56,  /* of a tree of any length in memory */
    BRANCHES = 64 /* of the tree of one result, for threads */
};

/* Memory of one thread that folds rows. */
typedef struct rows_work {
    const cbx__nest_call *c;
    char *p[CBX__MAX_STREAMS]; /* first element of the row of this result */
    char *tiles;               /* TILE elements of each fold */
    double *sums;              /* of each level of the tree, of each fold */
    cbx__held *held;           /* of each fold */
} rows_work;

static size_t tile_bytes(const cbx__nest *n) { return n->nfolds * TILE * sizeof(double); }
static size_t rows_bytes(const cbx__nest *n)
{
    return cbx__padded(tile_bytes(n)) + cbx__padded((LEVELS + 1) * n->nfolds * sizeof(double)) +
           cbx__padded(n->nfolds * sizeof(cbx__held));
}

static rows_work rows_init(const cbx__nest_call *c, size_t thread)
{
    rows_work w = { .c = c };
    char *at = c->scratch + thread * rows_bytes(c->nest);

    w.tiles = at;
    w.sums = (double *)(void *)(at += cbx__padded(tile_bytes(c->nest)));
    w.held = (cbx__held *)(void *)(at + cbx__padded((LEVELS + 1) * c->nest->nfolds * sizeof(double)));
    return w;
}

/* Runs of the last dimension from element `at` on that one call takes: a part of one, or some whole
 * ones along the next folded dimension. */
static size_t runs_from(const cbx__nest *n, int next, size_t at, size_t count, size_t *run)
{
    const size_t length = n->ndim ? n->shape[n->ndim - 1] : 1;
    size_t runs = 1;

    *run = length - at % length;
    if (*run > count) *run = count;
    if (next >= 0 && *run == length) runs = n->shape[next] - at / length % n->shape[next];
    return runs < count / *run ? runs : count / *run;
}

/* Elements pos .. pos + count - 1 of the row, which runs over all folded dimensions, to the
 * tiles. */
static void produce(const rows_work *w, size_t pos, size_t count)
{
    const cbx__nest *n = w->c->nest;
    const int last = n->ndim - 1;
    int64_t inner[CBX__MAX_STREAMS], outer[CBX__MAX_STREAMS];
    int next = last - 1;

    while (next >= 0 && !(n->gone >> next & 1)) next--;
    cbx__nest_steps(n, last, inner);
    cbx__nest_steps(n, next, outer);
    for (size_t done = 0, run, runs; done < count; done += runs * run) {
        char *p[CBX__MAX_STREAMS];

        runs = runs_from(n, next, pos + done, count - done, &run);
        memcpy(p, w->p, n->kernel.streams.n * sizeof *p);
        cbx__nest_move(n, pos + done, last, true, p);
        for (size_t f = 0; f < n->nfolds; f++) {
            const size_t size = n->folds[f].wide == CBX_BOOL ? 1 : sizeof(double);
            p[n->folds[f].stream] = w->tiles + f * TILE * sizeof(double) + done * size;
            outer[n->folds[f].stream] = (int64_t)(run * size);
        }
        w->c->fn(w->c->self, (int64_t)runs, (int64_t)run, p, outer, inner);
    }
}

/* Sums of `count` elements from pos on to the numbers of this level; other folds go on. */
static void tree(const rows_work *w, size_t pos, size_t count, unsigned level)
{
    const cbx__nest *n = w->c->nest;
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    double *sums = w->sums + level * n->nfolds;
    const double *right = sums + n->nfolds;
    const size_t half = count / 2 - count / 2 % 8;

    if (count > TILE) {
        tree(w, pos, half, level);
        tree(w, pos + half, count - half, level + 1);
        for (size_t f = 0; f < n->nfolds; f++) sums[f] += right[f];
        return;
    }
    produce(w, pos, count);
    for (size_t f = 0; f < n->nfolds; f++) {
        const void *tile = w->tiles + f * TILE * sizeof(double);
        if (cbx__in_tree(&n->folds[f]))
            sums[f] = k->run_sum_f64(tile, count);
        else
            w->held[f] = cbx__folded(&n->folds[f], w->held[f], tile, count);
    }
}

static void begin(const rows_work *w)
{
    for (size_t f = 0; f < w->c->nest->nfolds; f++) w->held[f] = cbx__fold_beginning(&w->c->nest->folds[f]);
}

/* The elements of one result. */
static void fold_row(const rows_work *w, size_t length)
{
    const cbx__nest *n = w->c->nest;
    const size_t chunk = n->chunked ? CBX__CHUNK : length;

    begin(w);
    for (size_t done = 0; done < length; done += chunk) {
        tree(w, done, length - done < chunk ? length - done : chunk, 0);
        for (size_t f = 0; f < n->nfolds; f++)
            if (cbx__in_tree(&n->folds[f])) w->held[f].f += w->sums[f];
    }
}

/* Where the streams of one row end those of the next one begin. */
static bool rows_adjoin(const cbx__nest *n, const int64_t *outer, const int64_t *inner, size_t length)
{
    for (size_t s = 0; s < n->kernel.streams.n; s++)
        if (outer[s] != inner[s] * (int64_t)length) return false;
    return true;
}

/* Rows of which a tile holds several: one call of the kernel for as many as there is space for. */
static void fold_short_rows(const cbx__nest_call *c, size_t thread, size_t from, size_t end, size_t length)
{
    const rows_work w = rows_init(c, thread);
    const cbx__nest *n = c->nest;
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const int last = n->ndim - 1;
    const size_t run = n->shape[last - 1];
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];

    cbx__nest_steps(n, last - 1, outer);
    cbx__nest_steps(n, last, inner);
    for (size_t f = 0; f < n->nfolds; f++) {
        inner[n->folds[f].stream] = n->folds[f].wide == CBX_BOOL ? 1 : sizeof(double);
        outer[n->folds[f].stream] = inner[n->folds[f].stream] * (int64_t)length;
    }
    const bool flat = rows_adjoin(n, outer, inner, length);
    for (size_t r = from, m; r < end; r += m) {
        char *p[CBX__MAX_STREAMS], *to[CBX__MAX_STREAMS];
        m = run - r % run;
        if (m > end - r) m = end - r;
        if (m > TILE / length) m = TILE / length;
        cbx__nest_seek(c, r, last, p, to);
        for (size_t f = 0; f < n->nfolds; f++) p[n->folds[f].stream] = w.tiles + f * TILE * sizeof(double);
        c->fn(c->self, flat ? 1 : (int64_t)m, (int64_t)(flat ? m * length : length), p, outer, inner);
        for (size_t f = 0; f < n->nfolds; f++) {
            const cbx__nest_fold *fold = &n->folds[f];
            const char *row = w.tiles + f * TILE * sizeof(double);
            const cbx__held none = cbx__fold_beginning(fold);
            for (size_t i = 0; i < m; i++, row += outer[fold->stream], to[f] += fold->result.strides[last - 1])
                if (!cbx__in_tree(fold))
                    cbx__fold_store(fold, cbx__folded(fold, none, row, length), to[f]);
                else if (fold->to == CBX_F64)
                    *(double *)(void *)to[f] = 0.0 + k->run_sum_f64((const double *)(const void *)row, length);
                else
                    cbx__fold_store(fold,
                                    (cbx__held){ .f = 0.0 + k->run_sum_f64((const double *)(const void *)row, length) },
                                    to[f]);
        }
    }
}

static void fold_rows(const cbx__nest_call *c, size_t thread, size_t from, size_t end, size_t length)
{
    rows_work w = rows_init(c, thread);

    if (c->nest->ndim > 1 && c->nest->gone == 1u << (c->nest->ndim - 1) && length > 0 && length <= SHORT) {
        fold_short_rows(c, thread, from, end, length);
        return;
    }

    for (size_t r = from; r < end; r++) {
        char *to[CBX__MAX_STREAMS];
        cbx__nest_seek(c, r, c->nest->ndim - 1, w.p, to);
        fold_row(&w, length);
        for (size_t f = 0; f < c->nest->nfolds; f++) cbx__fold_store(&c->nest->folds[f], w.held[f], to[f]);
    }
}

/* ---- one long row, by threads: branches of its tree ---- */

typedef struct branch {
    size_t pos, count;
} branch;

typedef struct branches {
    size_t n, min; /* min: elements that are not divided further */
    branch at[2 * BRANCHES];
} branches;

static void divide(branches *b, size_t pos, size_t count)
{
    const size_t half = count / 2 - count / 2 % 8;

    if (count <= b->min || count <= TILE) {
        b->at[b->n++] = (branch){ pos, count };
        return;
    }
    divide(b, pos, half);
    divide(b, pos + half, count - half);
}

/* The sums of the branches joined as the tree joins them. */
static void join_sums(const branches *b, size_t *next, size_t count, size_t nfolds, const double *sums, double *out,
                      double *spare)
{
    const size_t half = count / 2 - count / 2 % 8;

    if (count <= b->min || count <= TILE) {
        memcpy(out, sums + (*next)++ * nfolds, nfolds * sizeof *out);
        return;
    }
    join_sums(b, next, half, nfolds, sums, out, spare);
    join_sums(b, next, count - half, nfolds, sums, spare, spare + nfolds);
    for (size_t f = 0; f < nfolds; f++) out[f] += spare[f];
}

static size_t branches_bytes(const cbx__nest *n)
{
    return cbx__padded(2 * BRANCHES * n->nfolds * (sizeof(double) + sizeof(cbx__held))) +
           cbx__padded((LEVELS + 2) * n->nfolds * sizeof(double));
}

static void fold_long_row(const cbx__nest_call *c, size_t length, int threads)
{
    const cbx__nest *n = c->nest;
    branches b = { .min = length / BRANCHES + 1 };
    char *shared = c->scratch + (size_t)threads * rows_bytes(n);
    double *sums = (double *)(void *)shared;
    cbx__held *parts = (cbx__held *)(void *)(sums + 2 * BRANCHES * n->nfolds), total;
    double *out = (double *)(void *)(shared +
                                     cbx__padded(2 * BRANCHES * n->nfolds * (sizeof(double) + sizeof(cbx__held))));
    char *p[CBX__MAX_STREAMS], *to[CBX__MAX_STREAMS];
    size_t next = 0;

    divide(&b, 0, length);
    cbx__nest_seek(c, 0, n->ndim - 1, p, to);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < b.n; i++) {
        rows_work w = rows_init(c, cbx__omp_thread());
        memcpy(w.p, p, sizeof w.p);
        begin(&w);
        tree(&w, b.at[i].pos, b.at[i].count, 0);
        memcpy(sums + i * n->nfolds, w.sums, n->nfolds * sizeof *sums);
        memcpy(parts + i * n->nfolds, w.held, n->nfolds * sizeof *parts);
    }
    join_sums(&b, &next, length, n->nfolds, sums, out, out + n->nfolds);
    for (size_t f = 0; f < n->nfolds; f++) {
        total = parts[f];
        for (size_t i = 1; i < b.n; i++) total = cbx__fold_joined(&n->folds[f], total, parts[i * n->nfolds + f]);
        if (cbx__in_tree(&n->folds[f])) total.f = 0.0 + out[f];
        cbx__fold_store(&n->folds[f], total, to[f]);
    }
}

/* Products of floats have an order, and chunks begin again. */
static bool divides(const cbx__nest *n)
{
    for (size_t f = 0; f < n->nfolds; f++)
        if (n->folds[f].prim == CBX_PRIM_PROD && n->folds[f].wide == CBX_F64) return false;
    return !n->chunked;
}

size_t cbx__fold_rows_bytes(const cbx__nest *n, int threads)
{
    return (size_t)threads * rows_bytes(n) + branches_bytes(n);
}

void cbx__fold_rows(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t results = cbx__nest_points(n, false), length = cbx__nest_points(n, true);

    if (threads > 1 && results < (size_t)threads * 2 && length > 8 * TILE && divides(n)) {
        for (size_t r = 0; r < results; r++) {
            cbx__nest_call one = *c;
            char *to[CBX__MAX_STREAMS];
            cbx__nest_seek(c, r, n->ndim - 1, one.at, to);
            one.results = to;
            fold_long_row(&one, length, threads);
        }
        return;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++)
        fold_rows(c, (size_t)t, results * (size_t)t / (size_t)threads, results * ((size_t)t + 1) / (size_t)threads,
                  length);
}
