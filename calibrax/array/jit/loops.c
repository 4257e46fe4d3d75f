/* Nests run by rows of their last dimension; threads share rows, or parts of long ones. */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/folds.h"
#include "calibrax/array/kernels/threads.h"

enum {
    MIN_WORK = 1 << 20,  /* instructions that are worth a second thread */
    STOP_WORK = 1 << 24, /* after which a scan looks whether it is to stop: some milliseconds */
};

/* Elements of the only row; a block at a time of those that are packed, which stays in the
 * caches. */
static void map_packed(const cbx__nest_call *c, size_t first, size_t count)
{
    enum { BLOCK = 2048 };
    const cbx__nest *n = c->nest;
    _Alignas(64) char blocks[CBX__MAX_PACKED][BLOCK * sizeof(double)];
    char *p[CBX__MAX_STREAMS];
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];

    cbx__nest_steps(n, -1, outer);
    cbx__nest_steps(n, 0, inner);
    for (size_t end = first + count, m; first < end; first += m) {
        m = end - first < BLOCK ? end - first : BLOCK;
        for (size_t s = 0, k = 0; s < n->kernel.streams.n; s++) {
            p[s] = c->packed[s] ? blocks[k++] : c->at[s] + (ptrdiff_t)first * inner[s];
            if (c->packed[s]) cbx__array_pack(c->packed[s], (size_t)(n->sites[s].offset / inner[s]) + first, m, p[s]);
        }
        c->fn(c->self, 1, (int64_t)m, p, outer, inner);
    }
}

/* Rows row .. row + rows - 1, of each the elements from first on. */
static void map_rows(const cbx__nest_call *c, size_t row, size_t rows, size_t first, size_t count)
{
    const cbx__nest *n = c->nest;
    const int last = n->ndim - 1;
    const size_t run = last > 0 ? n->shape[last - 1] : 1;
    char *p[CBX__MAX_STREAMS];
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];

    if (c->packed) {
        map_packed(c, first, count);
        return;
    }
    cbx__nest_steps(n, last - 1, outer);
    cbx__nest_steps(n, last, inner);
    while (rows > 0) {
        const size_t left = run - row % run, m = left < rows ? left : rows;
        memcpy(p, c->at, n->kernel.streams.n * sizeof *p);
        cbx__nest_move(n, row, last - 1, false, p);
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

/*
 * All steps of some elements; in parts, if a flag may stop them between: each begins with the
 * carries that the one before left in the outputs, which are the first streams, in the order of the
 * carries.  Elements share a carry of one element: it waits in a place of this thread, another one
 * for each part, since all elements of a part begin with it.  false: stopped.
 */
static bool scan_elements(const cbx__nest_call *c, size_t from, size_t count, const int64_t *outer,
                          const int64_t *inner)
{
    const cbx__nest *n = c->nest;
    const size_t rows = n->shape[0], streams = n->kernel.streams.n;
    const size_t part = c->stop ? 1 + STOP_WORK / (count * n->work + 1) : rows;
    char *start[CBX__MAX_STREAMS], *p[CBX__MAX_STREAMS], *left[CBX__MAX_CARRIES];
    uint64_t shared[2][CBX__MAX_CARRIES];

    for (size_t s = 0; s < streams; s++) start[s] = c->at[s] + (ptrdiff_t)from * inner[s];
    for (size_t row = 0; row < rows; row += part) {
        const size_t m = rows - row < part ? rows - row : part;
        if (c->stop && *c->stop) return false;
        for (size_t s = 0; s < streams; s++) p[s] = start[s] + (ptrdiff_t)row * outer[s];
        for (size_t k = 0; k < n->kernel.carries.n; k++) {
            if (row) p[n->kernel.carries.items[k].first] = left[k];
            if (row + m < rows && inner[k] == 0) p[k] = (char *)&shared[row / part % 2][k];
            left[k] = p[k];
        }
        c->fn(c->self, (int64_t)m, (int64_t)count, p, outer, inner);
    }
    return true;
}

/* A scan: steps in order; threads share its elements. */
static bool scan(const cbx__nest_call *c, int threads)
{
    const cbx__nest *n = c->nest;
    const size_t pieces = (n->shape[1] + 63) / 64;
    int64_t outer[CBX__MAX_STREAMS], inner[CBX__MAX_STREAMS];
    bool stopped = false;

    cbx__nest_steps(n, 0, outer);
    cbx__nest_steps(n, 1, inner);
    if (pieces < 2) threads = 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : stopped)
    for (int t = 0; t < threads; t++) {
        const size_t from = pieces * (size_t)t / (size_t)threads * 64;
        size_t to = pieces * ((size_t)t + 1) / (size_t)threads * 64;
        if (to > n->shape[1]) to = n->shape[1];
        if (to > from) stopped = !scan_elements(c, from, to - from, outer, inner) || stopped;
    }
    return !stopped;
}

/* Rows of the last dimension, which is folded, and so many results; the last dimension of columns
 * is kept. */
static bool by_rows(const cbx__nest *n) { return n->ndim == 0 || n->gone >> (n->ndim - 1) & 1; }

size_t cbx__nest_scratch(const cbx__nest *n, int threads)
{
    if (n->nfolds == 0) return 0;
    return by_rows(n) ? cbx__fold_rows_bytes(n, threads) : cbx__fold_columns_bytes(n, threads);
}

int cbx__nest_threads(const cbx__nest *n, int threads)
{
    return (uint64_t)cbx__nest_points(n, false) * cbx__nest_points(n, true) * n->work < MIN_WORK ? 1 : threads;
}

bool cbx__nest_run(const cbx__nest_call *c)
{
    const cbx__nest *n = c->nest;
    const int threads = cbx__nest_threads(n, c->threads);

    if (n->kernel.carries.n) return scan(c, threads);
    if (n->nfolds == 0)
        map(c, threads);
    else if (by_rows(n))
        cbx__fold_rows(c, threads);
    else
        cbx__fold_columns(c, threads);
    return true;
}
