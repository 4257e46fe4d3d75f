/*
 * Nests run by rows of their last dimension.  Folds get their elements a tile at a time and follow the trees of the reference backend
 * (reference/reduce.c, columns.c), so that they give its bits: halves, the first rounded down to a multiple of 8, until 128 or fewer are
 * left; these in 8 sums, joined pairwise.  Threads share rows, results, or branches of the tree of one result.
 */
#include "calibrax/array/jit/loops.h"

#include <math.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/array/reference/reduce.h"

enum {
    LEAF = CBX__LEAF,
    ROWS = 8,          /* of columns that a kernel computes at once */
    WIDTH = 128,       /* of a block of columns */
    LEVELS = 56,       /* of a tree of any length in memory */
    BRANCHES = 64,     /* of the tree of one result, for threads */
    MIN_WORK = 1 << 20 /* instructions that are worth a second thread */
};

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- without folds ---- */

/* Pointers of all streams at row r of the nest, counted over all dimensions but the last. */
static void seek(const cbx__nest_call *c, size_t row, char **p)
{
    const cbx__nest *n = c->nest;

    memcpy(p, c->at, n->kernel.streams.n * sizeof *p);
    for (int i = n->ndim - 2; i >= 0; i--) {
        const ptrdiff_t at = (ptrdiff_t)(row % n->shape[i]);
        row /= n->shape[i];
        for (size_t s = 0; at && s < n->kernel.streams.n; s++) p[s] += at * n->sites[s].strides[i];
    }
}

static void steps_of(const cbx__nest *n, int dim, int64_t *steps)
{
    for (size_t s = 0; s < n->kernel.streams.n; s++) steps[s] = dim < 0 ? 0 : n->sites[s].strides[dim];
}

/* Rows row .. row + rows - 1, of each the elements from first on. */
static void map_rows(const cbx__nest_call *c, size_t row, size_t rows, size_t first, size_t count)
{
    const cbx__nest *n = c->nest;
    const int last = n->ndim - 1;
    const size_t run = last > 0 ? n->shape[last - 1] : 1;
    char *p[CBX__MAX_STREAMS];
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];

    steps_of(n, last - 1, outer);
    steps_of(n, last, inner);
    while (rows > 0) {
        const size_t left = run - row % run, m = left < rows ? left : rows;
        seek(c, row, p);
        for (size_t s = 0; first && s < n->kernel.streams.n; s++) p[s] += (ptrdiff_t)first * inner[s];
        c->fn(c->self, (int64_t)m, (int64_t)count, p, outer, inner);
        row += m;
        rows -= m;
    }
}

static void map(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t length = n->ndim ? n->shape[n->ndim - 1] : 1;
    size_t rows = 1;

    for (int i = 0; i < n->ndim - 1; i++) rows *= n->shape[i];
    if (rows == 0 || length == 0) return;
    if (threads < 2) {
        map_rows(c, 0, rows, 0, length);
    } else if (rows >= (size_t)threads * 4) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int t = 0; t < threads; t++) {
            const size_t from = rows * (size_t)t / (size_t)threads, to = rows * ((size_t)t + 1) / (size_t)threads;
            map_rows(c, from, to - from, 0, length);
        }
    } else {
        const size_t pieces = (length + 63) / 64;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int t = 0; t < threads; t++) {
            const size_t from = pieces * (size_t)t / (size_t)threads * 64;
            size_t to = pieces * ((size_t)t + 1) / (size_t)threads * 64;
            if (to > length) to = length;
            if (to > from) map_rows(c, 0, rows, from, to - from);
        }
    }
}

/* A scan: steps in order; threads share its elements. */
static void scan(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t pieces = (n->shape[1] + 63) / 64;
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];

    steps_of(n, 0, outer);
    steps_of(n, 1, inner);
    if (pieces < 2) threads = 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        const size_t from = pieces * (size_t)t / (size_t)threads * 64;
        size_t to = pieces * ((size_t)t + 1) / (size_t)threads * 64;
        char *p[CBX__MAX_STREAMS];
        if (to > n->shape[1]) to = n->shape[1];
        if (to <= from) continue;
        for (size_t s = 0; s < n->kernel.streams.n; s++) p[s] = c->at[s] + (ptrdiff_t)from * inner[s];
        c->fn(c->self, (int64_t)n->shape[0], (int64_t)(to - from), p, outer, inner);
    }
}

/* ---- folds of elements in a row ---- */

/* What a fold holds on its way; of float sums the numbers are in the tree. */
typedef union held {
    int64_t i;
    uint64_t u;
    double f;
} held;

static bool in_tree(const cbx__nest_fold *f) { return f->prim == CBX_PRIM_SUM && f->wide == CBX_F64; }

static held beginning(const cbx__nest_fold *f)
{
    const bool flt = f->wide == CBX_F64, max = f->prim == CBX_PRIM_REDUCE_MAX;

    switch (f->prim) {
    case CBX_PRIM_PROD: return flt ? (held){ .f = 1 } : (held){ .u = 1 };
    case CBX_PRIM_ALL: return (held){ .u = 1 };
    case CBX_PRIM_REDUCE_MAX:
    case CBX_PRIM_REDUCE_MIN:
        if (flt) return (held){ .f = f->skips_nan ? (double)NAN : max ? -HUGE_VAL : HUGE_VAL };
        if (f->wide == CBX_I64) return (held){ .i = max ? INT64_MIN : INT64_MAX };
        return (held){ .u = max ? 0 : UINT64_MAX };
    default: return (held){ .u = 0 }; /* SUM, ANY */
    }
}

static double better(const cbx__nest_fold *f, double t, double x)
{
    const bool keeps = f->prim == CBX_PRIM_REDUCE_MAX ? t >= x : t <= x;
    return keeps || (f->skips_nan ? x != x : t != t) ? t : x;
}

/* Two parts of a row, the first and the second. */
static held joined(const cbx__nest_fold *f, held t, held x)
{
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;

    switch (f->prim) {
    case CBX_PRIM_SUM: return (held){ .u = t.u + x.u };
    case CBX_PRIM_PROD: return f->wide == CBX_F64 ? (held){ .f = t.f * x.f } : (held){ .u = t.u * x.u };
    case CBX_PRIM_ANY: return (held){ .u = t.u | x.u };
    case CBX_PRIM_ALL: return (held){ .u = t.u & x.u };
    default: break;
    }
    if (f->wide == CBX_F64) return (held){ .f = better(f, t.f, x.f) };
    if (f->wide == CBX_I64) return (held){ .i = (max ? x.i > t.i : x.i < t.i) ? x.i : t.i };
    return (held){ .u = (max ? x.u > t.u : x.u < t.u) ? x.u : t.u };
}

static double extreme_of(const cbx__nest_fold *f, const double *a, size_t n)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const bool max = f->prim == CBX_PRIM_REDUCE_MAX;

    if (f->skips_nan) return max ? k->run_nanmax_f64(a, n) : k->run_nanmin_f64(a, n);
    return max ? k->run_max_f64(a, n) : k->run_min_f64(a, n);
}

/* n > 0 elements of a tile behind those that were before. */
static held folded(const cbx__nest_fold *f, held t, const void *tile, size_t n)
{
    const double *d = tile;
    const uint64_t *u = tile;
    const uint8_t *b = tile;

    if (f->wide == CBX_BOOL) {
        for (size_t i = 0; i < n; i++) t = joined(f, t, (held){ .u = b[i] });
    } else if (f->wide == CBX_F64 && f->prim != CBX_PRIM_PROD) {
        t = joined(f, t, (held){ .f = extreme_of(f, d, n) });
    } else if (f->prim == CBX_PRIM_SUM) {
        for (size_t i = 0; i < n; i++) t.u += u[i];
    } else {
        for (size_t i = 0; i < n; i++) t = joined(f, t, (held){ .u = u[i] });
    }
    return t;
}

/* Memory of one thread that folds rows. */
typedef struct rows_work {
    const cbx__nest_call *c;
    char *p[CBX__MAX_STREAMS]; /* first element of the row of this result */
    char *tiles;               /* LEAF elements of each fold */
    double *sums;              /* of each level of the tree, of each fold */
    held *held;                /* of each fold */
} rows_work;

static size_t tile_bytes(const cbx__nest *n) { return n->nfolds * LEAF * sizeof(double); }
static size_t rows_bytes(const cbx__nest *n)
{
    return padded(tile_bytes(n)) + padded((LEVELS + 1) * n->nfolds * sizeof(double)) + padded(n->nfolds * sizeof(held));
}

static rows_work rows_init(const cbx__nest_call *c, size_t thread)
{
    rows_work w = { .c = c };
    char *at = c->scratch + thread * rows_bytes(c->nest);

    w.tiles = at;
    w.sums = (double *)(void *)(at += padded(tile_bytes(c->nest)));
    w.held = (held *)(void *)(at + padded((LEVELS + 1) * c->nest->nfolds * sizeof(double)));
    return w;
}

/* Elements pos .. pos + count - 1 of the row, which runs over all folded dimensions, to the tiles. */
static void produce(const rows_work *w, size_t pos, size_t count)
{
    const cbx__nest *n = w->c->nest;
    const size_t streams = n->kernel.streams.n;
    const int last = n->ndim - 1;
    int64_t inner[CBX__MAX_STREAMS], outer[CBX__MAX_STREAMS] = { 0 };
    size_t done = 0;

    steps_of(n, last, inner);
    while (done < count) {
        char *p[CBX__MAX_STREAMS];
        size_t at = pos + done, run = last < 0 ? 1 : n->shape[last] - at % n->shape[last];

        memcpy(p, w->p, streams * sizeof *p);
        for (int i = last; i >= 0; i--) {
            if (!(n->gone >> i & 1)) continue;
            const ptrdiff_t index = (ptrdiff_t)(at % n->shape[i]);
            at /= n->shape[i];
            for (size_t s = 0; index && s < streams; s++) p[s] += index * n->sites[s].strides[i];
        }
        if (run > count - done) run = count - done;
        for (size_t f = 0; f < n->nfolds; f++)
            p[n->folds[f].stream] = w->tiles + (f * LEAF + done) * sizeof(double) -
                                    (n->folds[f].wide == CBX_BOOL ? done * (sizeof(double) - 1) : 0);
        w->c->fn(w->c->self, 1, (int64_t)run, p, outer, inner);
        done += run;
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

    if (count > LEAF) {
        tree(w, pos, half, level);
        tree(w, pos + half, count - half, level + 1);
        for (size_t f = 0; f < n->nfolds; f++) sums[f] += right[f];
        return;
    }
    produce(w, pos, count);
    for (size_t f = 0; f < n->nfolds; f++) {
        const void *tile = w->tiles + f * LEAF * sizeof(double);
        if (in_tree(&n->folds[f]))
            sums[f] = k->run_sum_f64(tile, count);
        else
            w->held[f] = folded(&n->folds[f], w->held[f], tile, count);
    }
}

static void store(const cbx__nest_fold *f, held t, char *to)
{
    const cbx_dtype given = f->wide;
    cbx__loop put = given == f->to ? cbx__copy_loop(given) : cbx__loops_get()->cast(given, f->to);
    uint8_t b = (uint8_t)t.u;
    put(1, (char *const[]){ to, given == CBX_BOOL ? (char *)&b : (char *)&t }, (const ptrdiff_t[]){ 0, 0 });
}

static void begin(const rows_work *w)
{
    for (size_t f = 0; f < w->c->nest->nfolds; f++) w->held[f] = beginning(&w->c->nest->folds[f]);
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
            if (in_tree(&n->folds[f])) w->held[f].f += w->sums[f];
    }
}

static size_t product(const cbx__nest *n, bool gone)
{
    size_t count = 1;
    for (int i = 0; i < n->ndim; i++)
        if ((n->gone >> i & 1) == gone) count *= n->shape[i];
    return count;
}

/* To result number `at`: where its streams begin and where each fold's result is. */
static void seek_result(const cbx__nest_call *c, size_t at, int last, char **p, char **to)
{
    const cbx__nest *n = c->nest;

    memcpy(p, c->at, n->kernel.streams.n * sizeof *p);
    memcpy(to, c->results, n->nfolds * sizeof *to);
    for (int i = last; i >= 0; i--) {
        if (n->gone >> i & 1) continue;
        const ptrdiff_t index = (ptrdiff_t)(at % n->shape[i]);
        at /= n->shape[i];
        for (size_t s = 0; index && s < n->kernel.streams.n; s++) p[s] += index * n->sites[s].strides[i];
        for (size_t f = 0; index && f < n->nfolds; f++) to[f] += index * n->folds[f].result.strides[i];
    }
}

static void fold_rows(const cbx__nest_call *c, size_t thread, size_t from, size_t end, size_t length)
{
    rows_work w = rows_init(c, thread);

    for (size_t r = from; r < end; r++) {
        char *to[CBX__MAX_STREAMS];
        seek_result(c, r, c->nest->ndim - 1, w.p, to);
        fold_row(&w, length);
        for (size_t f = 0; f < c->nest->nfolds; f++) store(&c->nest->folds[f], w.held[f], to[f]);
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

    if (count <= b->min || count <= LEAF) {
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

    if (count <= b->min || count <= LEAF) {
        memcpy(out, sums + (*next)++ * nfolds, nfolds * sizeof *out);
        return;
    }
    join_sums(b, next, half, nfolds, sums, out, spare);
    join_sums(b, next, count - half, nfolds, sums, spare, spare + nfolds);
    for (size_t f = 0; f < nfolds; f++) out[f] += spare[f];
}

static size_t branches_bytes(const cbx__nest *n)
{
    return padded(2 * BRANCHES * n->nfolds * (sizeof(double) + sizeof(held))) +
           padded((LEVELS + 2) * n->nfolds * sizeof(double));
}

static void fold_long_row(const cbx__nest_call *c, size_t length, int threads)
{
    const cbx__nest *n = c->nest;
    branches b = { .min = length / BRANCHES + 1 };
    char *shared = c->scratch + (size_t)threads * rows_bytes(n);
    double *sums = (double *)(void *)shared;
    held *parts = (held *)(void *)(sums + 2 * BRANCHES * n->nfolds), total;
    double *out = (double *)(void *)(shared + padded(2 * BRANCHES * n->nfolds * (sizeof(double) + sizeof(held))));
    char *p[CBX__MAX_STREAMS], *to[CBX__MAX_STREAMS];
    size_t next = 0;

    divide(&b, 0, length);
    seek_result(c, 0, n->ndim - 1, p, to);
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
        for (size_t i = 1; i < b.n; i++) total = joined(&n->folds[f], total, parts[i * n->nfolds + f]);
        if (in_tree(&n->folds[f])) total.f = 0.0 + out[f];
        store(&n->folds[f], total, to[f]);
    }
}

/* Products of floats have an order, and chunks begin again. */
static bool divides(const cbx__nest *n)
{
    for (size_t f = 0; f < n->nfolds; f++)
        if (n->folds[f].prim == CBX_PRIM_PROD && n->folds[f].wide == CBX_F64) return false;
    return !n->chunked;
}

/* ---- folds of rows: many results side by side ---- */

/* Memory of one thread: of each fold WIDTH numbers a row. */
typedef struct block {
    const cbx__nest_call *c;
    char *p[CBX__MAX_STREAMS];
    size_t width;
    char *tiles;    /* ROWS rows of each fold */
    double *eights; /* 8 rows of each fold */
    double *sums;   /* a row of each fold, of each level */
    held *held;     /* a row of each fold */
} block;

static size_t row_bytes(const cbx__nest *n) { return n->nfolds * WIDTH * sizeof(double); }
static size_t block_bytes(const cbx__nest *n) { return (ROWS + 8 + LEVELS + 2) * row_bytes(n); }

static block block_init(const cbx__nest_call *c, size_t thread)
{
    block b = { .c = c };
    char *at = c->scratch + thread * block_bytes(c->nest);

    b.tiles = at;
    b.eights = (double *)(void *)(at += ROWS * row_bytes(c->nest));
    b.held = (held *)(void *)(at += 8 * row_bytes(c->nest));
    b.sums = (double *)(void *)(at + row_bytes(c->nest));
    return b;
}

/* Rows row .. row + count - 1 over all folded dimensions to the tiles; count <= ROWS. */
static void produce_rows(const block *b, size_t row, size_t count)
{
    const cbx__nest *n = b->c->nest;
    const size_t streams = n->kernel.streams.n;
    int innermost = n->ndim - 2;
    int64_t inner[CBX__MAX_STREAMS], outer[CBX__MAX_STREAMS];
    size_t done = 0;

    while (innermost >= 0 && !(n->gone >> innermost & 1)) innermost--;
    steps_of(n, n->ndim - 1, inner);
    steps_of(n, innermost, outer);
    for (size_t f = 0; f < n->nfolds; f++) outer[n->folds[f].stream] = WIDTH * sizeof(double);
    while (done < count) {
        char *p[CBX__MAX_STREAMS];
        size_t at = row + done, run = innermost < 0 ? 1 : n->shape[innermost] - at % n->shape[innermost];

        memcpy(p, b->p, streams * sizeof *p);
        for (int i = innermost; i >= 0; i--) {
            if (!(n->gone >> i & 1)) continue;
            const ptrdiff_t index = (ptrdiff_t)(at % n->shape[i]);
            at /= n->shape[i];
            for (size_t s = 0; index && s < streams; s++) p[s] += index * n->sites[s].strides[i];
        }
        if (run > count - done) run = count - done;
        for (size_t f = 0; f < n->nfolds; f++)
            p[n->folds[f].stream] = b->tiles + (f * ROWS + done) * WIDTH * sizeof(double);
        b->c->fn(b->c->self, (int64_t)run, (int64_t)b->width, p, outer, inner);
        done += run;
    }
}

static void fold_held(const block *b, size_t f, size_t count)
{
    const cbx__nest_fold *fold = &b->c->nest->folds[f];
    held *t = b->held + f * WIDTH;

    for (size_t r = 0; r < count; r++) {
        const char *row = b->tiles + (f * ROWS + r) * WIDTH * sizeof(double);
        const held *x = (const held *)(const void *)row;
        for (size_t i = 0; i < b->width; i++)
            t[i] = joined(fold, t[i], fold->wide == CBX_BOOL ? (held){ .u = (uint8_t)row[i] } : x[i]);
    }
}

/* A leaf of up to LEAF rows: the k-th of 8 sums takes rows k, k + 8 ..., the last n % 8 rows follow the joined sums. */
static void leaf_rows(const block *b, size_t row, size_t count, double *sums)
{
    const cbx__nest *n = b->c->nest;
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const size_t whole = count < 8 ? 0 : count - count % 8, w = b->width;

    for (size_t f = 0; f < n->nfolds && whole == 0; f++)
        for (size_t i = 0; i < w; i++) sums[f * WIDTH + i] = -0.0;
    for (size_t done = 0; done < count; done += ROWS) {
        const size_t m = count - done < ROWS ? count - done : ROWS;
        produce_rows(b, row + done, m);
        for (size_t f = 0; f < n->nfolds; f++) {
            const double *tile = (const double *)(const void *)(b->tiles + f * ROWS * WIDTH * sizeof(double));
            double *r = b->eights + f * 8 * WIDTH, *sum = sums + f * WIDTH;
            if (!in_tree(&n->folds[f])) {
                fold_held(b, f, m);
                continue;
            }
            for (size_t i = 0; i < m; i++) {
                if (done >= whole)
                    k->add_f64(w, sum, tile + i * WIDTH);
                else if (done == 0)
                    memcpy(r + i * WIDTH, tile + i * WIDTH, w * sizeof *r);
                else
                    k->add_f64(w, r + i * WIDTH, tile + i * WIDTH);
            }
            if (done + ROWS != whole) continue;
            for (size_t i = 0; i < w; i++) {
                const double *x = r + i;
                sum[i] = ((x[0] + x[WIDTH]) + (x[2 * WIDTH] + x[3 * WIDTH])) +
                         ((x[4 * WIDTH] + x[5 * WIDTH]) + (x[6 * WIDTH] + x[7 * WIDTH]));
            }
        }
    }
}

static void tree_rows(const block *b, size_t row, size_t count, double *sums)
{
    const cbx__nest *n = b->c->nest;
    const size_t half = count / 2 - count / 2 % 8;
    double *right = sums + n->nfolds * WIDTH;

    if (count <= LEAF) {
        leaf_rows(b, row, count, sums);
        return;
    }
    tree_rows(b, row, half, sums);
    tree_rows(b, row + half, count - half, right);
    for (size_t f = 0; f < n->nfolds; f++)
        if (in_tree(&n->folds[f]))
            cbx__fold_get(cbx_isa_best())->add_f64(b->width, sums + f * WIDTH, right + f * WIDTH);
}

/* Columns first .. first + width - 1 of the last dimension, of result `outer` of the kept dimensions outside of it. */
static void fold_block(block *b, size_t outer, size_t first, size_t rows)
{
    const cbx__nest *n = b->c->nest;
    const int last = n->ndim - 1;
    const size_t chunk = n->chunked ? CBX__CHUNK : rows;
    char *to[CBX__MAX_STREAMS];

    seek_result(b->c, outer, last - 1, b->p, to);
    for (size_t s = 0; s < n->kernel.streams.n; s++) b->p[s] += (ptrdiff_t)first * n->sites[s].strides[last];
    for (size_t f = 0; f < n->nfolds; f++)
        for (size_t i = 0; i < b->width; i++) b->held[f * WIDTH + i] = beginning(&n->folds[f]);
    for (size_t done = 0; done < rows; done += chunk) {
        tree_rows(b, done, rows - done < chunk ? rows - done : chunk, b->sums);
        for (size_t f = 0; f < n->nfolds; f++)
            for (size_t i = 0; in_tree(&n->folds[f]) && i < b->width; i++)
                b->held[f * WIDTH + i].f += b->sums[f * WIDTH + i];
    }
    for (size_t f = 0; f < n->nfolds; f++)
        for (size_t i = 0; i < b->width; i++)
            store(&n->folds[f], b->held[f * WIDTH + i],
                  to[f] + (ptrdiff_t)(first + i) * n->folds[f].result.strides[last]);
}

static void fold_columns(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t rows = product(n, true), columns = n->shape[n->ndim - 1];
    const size_t blocks = (columns + WIDTH - 1) / WIDTH, all = columns ? product(n, false) / columns * blocks : 0;

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (size_t i = 0; i < all; i++) {
        block b = block_init(c, threads > 1 ? cbx__omp_thread() : 0);
        const size_t first = i % blocks * WIDTH;
        b.width = columns - first < WIDTH ? columns - first : WIDTH;
        fold_block(&b, i / blocks, first, rows);
    }
}

/* ---- all ---- */

/* Rows of the last dimension, which is folded, and so many results; the last dimension of columns is kept. */
static bool by_rows(const cbx__nest *n) { return n->ndim == 0 || n->gone >> (n->ndim - 1) & 1; }

size_t cbx__nest_scratch(const cbx__nest *n, int threads)
{
    if (n->nfolds == 0) return 0;
    return by_rows(n) ? (size_t)threads * rows_bytes(n) + branches_bytes(n) : (size_t)threads * block_bytes(n);
}

int cbx__nest_threads(const cbx__nest *n, int threads)
{
    return (uint64_t)product(n, false) * product(n, true) * n->work < MIN_WORK ? 1 : threads;
}

void cbx__nest_run(const cbx__nest_call *c)
{
    const cbx__nest *n = c->nest;
    const size_t results = product(n, false), length = product(n, true);
    const int threads = cbx__nest_threads(n, c->threads);

    if (n->kernel.carries.n) {
        scan(c, threads);
    } else if (n->nfolds == 0) {
        map(c, threads);
    } else if (!by_rows(n)) {
        fold_columns(c, threads);
    } else if (threads > 1 && results < (size_t)threads * 2 && length > 8 * LEAF && divides(n)) {
        for (size_t r = 0; r < results; r++) {
            cbx__nest_call one = *c;
            char *to[CBX__MAX_STREAMS];
            seek_result(c, r, n->ndim - 1, one.at, to);
            one.results = to;
            fold_long_row(&one, length, threads);
        }
    } else if (threads > 1) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int t = 0; t < threads; t++)
            fold_rows(c, (size_t)t, results * (size_t)t / (size_t)threads, results * ((size_t)t + 1) / (size_t)threads,
                      length);
    } else {
        fold_rows(c, 0, 0, results, length);
    }
}
