/*
 * Folds of outer dimensions: rows of a block of columns, joined in the tree of the reference
 * backend (reference/columns.c).  Threads share blocks.
 */
#include <string.h>

#include "calibrax/array/jit/folds.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/threads.h"
#include "calibrax/array/reference/reduce.h"

enum {
    LEAF = CBX__LEAF,
    ROWS = 8,    /* that a kernel computes at once */
    WIDTH = 128, /* of a block of columns */
    LEVELS = 56  /* of a tree of any length in memory */
};

/* Memory of one thread: of each fold WIDTH numbers a row. */
typedef struct block {
    const cbx__nest_call *c;
    char *p[CBX__MAX_STREAMS];
    size_t width;
    char *tiles;     /* ROWS rows of each fold */
    double *eights;  /* 8 rows of each fold */
    double *sums;    /* a row of each fold, of each level */
    cbx__held *held; /* a row of each fold */
} block;

static size_t row_bytes(const cbx__nest *n) { return n->nfolds * WIDTH * sizeof(double); }
static size_t block_bytes(const cbx__nest *n) { return (ROWS + 8 + LEVELS + 2) * row_bytes(n); }

static block block_init(const cbx__nest_call *c, size_t thread)
{
    block b = { .c = c };
    char *at = c->scratch + thread * block_bytes(c->nest);

    b.tiles = at;
    b.eights = (double *)(void *)(at += ROWS * row_bytes(c->nest));
    b.held = (cbx__held *)(void *)(at += 8 * row_bytes(c->nest));
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
    cbx__nest_steps(n, n->ndim - 1, inner);
    cbx__nest_steps(n, innermost, outer);
    for (size_t f = 0; f < n->nfolds; f++) outer[n->folds[f].stream] = WIDTH * sizeof(double);
    while (done < count) {
        char *p[CBX__MAX_STREAMS];
        const size_t at = row + done;
        size_t run = innermost < 0 ? 1 : n->shape[innermost] - at % n->shape[innermost];

        memcpy(p, b->p, streams * sizeof *p);
        cbx__nest_move(n, at, innermost, true, p);
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
    cbx__held *t = b->held + f * WIDTH;

    for (size_t r = 0; r < count; r++) {
        const char *row = b->tiles + (f * ROWS + r) * WIDTH * sizeof(double);
        const cbx__held *x = (const cbx__held *)(const void *)row;
        for (size_t i = 0; i < b->width; i++)
            t[i] = cbx__fold_joined(fold, t[i], fold->wide == CBX_BOOL ? (cbx__held){ .u = (uint8_t)row[i] } : x[i]);
    }
}

/* A leaf of up to LEAF rows: the k-th of 8 sums takes rows k, k + 8 ..., the last n % 8 rows follow
 * the joined sums. */
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
            if (!cbx__in_tree(&n->folds[f])) {
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
        if (cbx__in_tree(&n->folds[f]))
            cbx__fold_get(cbx_isa_best())->add_f64(b->width, sums + f * WIDTH, right + f * WIDTH);
}

/* Columns first .. first + width - 1 of the last dimension, of result `outer` of the kept
 * dimensions outside of it. */
static void fold_block(block *b, size_t outer, size_t first, size_t rows)
{
    const cbx__nest *n = b->c->nest;
    const int last = n->ndim - 1;
    const size_t chunk = n->chunked ? CBX__CHUNK : rows;
    char *to[CBX__MAX_STREAMS];

    cbx__nest_seek(b->c, outer, last - 1, b->p, to);
    for (size_t s = 0; s < n->kernel.streams.n; s++) b->p[s] += (ptrdiff_t)first * n->sites[s].strides[last];
    for (size_t f = 0; f < n->nfolds; f++)
        for (size_t i = 0; i < b->width; i++) b->held[f * WIDTH + i] = cbx__fold_beginning(&n->folds[f]);
    for (size_t done = 0; done < rows; done += chunk) {
        tree_rows(b, done, rows - done < chunk ? rows - done : chunk, b->sums);
        for (size_t f = 0; f < n->nfolds; f++)
            for (size_t i = 0; cbx__in_tree(&n->folds[f]) && i < b->width; i++)
                b->held[f * WIDTH + i].f += b->sums[f * WIDTH + i];
    }
    for (size_t f = 0; f < n->nfolds; f++)
        for (size_t i = 0; i < b->width; i++)
            cbx__fold_store(&n->folds[f], b->held[f * WIDTH + i],
                            to[f] + (ptrdiff_t)(first + i) * n->folds[f].result.strides[last]);
}

void cbx__fold_columns(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t rows = cbx__nest_points(n, true), columns = n->shape[n->ndim - 1];
    const size_t blocks = (columns + WIDTH - 1) / WIDTH,
                 all = columns ? cbx__nest_points(n, false) / columns * blocks : 0;

#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (size_t i = 0; i < all; i++) {
        block b = block_init(c, threads > 1 ? cbx__omp_thread() : 0);
        const size_t first = i % blocks * WIDTH;
        b.width = columns - first < WIDTH ? columns - first : WIDTH;
        fold_block(&b, i / blocks, first, rows);
    }
}

size_t cbx__fold_columns_bytes(const cbx__nest *n, int threads) { return (size_t)threads * block_bytes(n); }
