/*
 * Graphs in ELL form: made from tables, compressed rows and lists of entries; checked and
 * transposed once.
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"

#define MAX_VERTICES ((size_t)INT32_MAX)
#define MAX_PLACES   ((size_t)UINT32_MAX - 1)

cbx_status cbx__ell_check_size(size_t rows, size_t cols, size_t width, cbx_err *err)
{
    size_t places;

    if (rows > MAX_VERTICES || cols > MAX_VERTICES)
        return cbx_fail(err, CBX_EOVERFLOW, "a graph of %zu rows and %zu columns is too large for 32-bit indices", rows,
                        cols);
    if (__builtin_mul_overflow(rows, width, &places) || places > MAX_PLACES)
        return cbx_fail(err, CBX_EOVERFLOW, "%zu rows of %zu places are too many for 32-bit numbers: split the rows",
                        rows, width);
    return CBX_OK;
}

static void ell_free(cbx_object *o)
{
    cbx_ell *g = (cbx_ell *)(void *)o;
    const cbx_allocator al = g->al;
    const size_t e = g->edges ? g->edges : 1;

    cbx_mem_free(&al, g->start, (g->rows + 1) * sizeof *g->start);
    cbx_mem_free(&al, g->t_start, (g->cols + 1) * sizeof *g->t_start);
    cbx_mem_free(&al, g->index, e * sizeof *g->index);
    cbx_mem_free(&al, g->t_index, e * sizeof *g->t_index);
    cbx_mem_free(&al, g->place, e * sizeof *g->place);
    cbx_mem_free(&al, g->t_place, e * sizeof *g->t_place);
    cbx_mem_free(&al, g->entry, g->entries * sizeof *g->entry);
    cbx_mem_free(&al, g, sizeof *g);
}

static cbx_status make(cbx_ctx *ctx, size_t rows, size_t cols, size_t width, size_t edges, bool full, size_t entries,
                       cbx_ell **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_ell *g = cbx_mem_calloc(al, 1, sizeof *g);
    const size_t e = edges ? edges : 1;

    if (!g) return cbx_fail(err, CBX_ENOMEM, "no memory for a graph");
    *g = (cbx_ell){ .object.free = ell_free,
                    .al = *al,
                    .rows = rows,
                    .cols = cols,
                    .width = width,
                    .edges = edges,
                    .entries = entries };
    atomic_init(&g->object.refs, 1);
    g->start = cbx_mem_calloc(al, rows + 1, sizeof *g->start);
    g->t_start = cbx_mem_calloc(al, cols + 1, sizeof *g->t_start);
    g->index = cbx_mem_calloc(al, e, sizeof *g->index);
    g->t_index = cbx_mem_calloc(al, e, sizeof *g->t_index);
    g->t_place = cbx_mem_calloc(al, e, sizeof *g->t_place);
    if (!full) g->place = cbx_mem_calloc(al, e, sizeof *g->place);
    if (entries) g->entry = cbx_mem_calloc(al, entries, sizeof *g->entry);
    if (!g->start || !g->t_start || !g->index || !g->t_index || !g->t_place || (!full && !g->place) ||
        (entries && !g->entry)) {
        cbx_ell_free(g);
        return cbx_fail(err, CBX_ENOMEM, "no memory for a graph of %zu edges", edges);
    }
    *out = g;
    return CBX_OK;
}

void cbx_ell_free(cbx_ell *g)
{
    if (g) cbx__object_unref(&g->object);
}

/*
 * Edges by column from edges by row: counted, summed, dealt; t_start ends where the next column's
 * edges begin.
 */
static void transpose(cbx_ell *g)
{
    for (size_t e = 0; e < g->edges; e++) g->t_start[(size_t)g->index[e] + 1]++;
    for (size_t j = 0; j < g->cols; j++) g->t_start[j + 1] += g->t_start[j];
    for (size_t i = 0; i < g->rows; i++)
        for (size_t e = g->start[i]; e < g->start[i + 1]; e++) {
            const size_t at = g->t_start[g->index[e]]++;
            g->t_index[at] = (int32_t)i;
            g->t_place[at] = g->place ? g->place[e] : (uint32_t)e;
        }
    memmove(g->t_start + 1, g->t_start, g->cols * sizeof *g->t_start);
    g->t_start[0] = 0;
}

/* --- from a table --- */

static bool is_edge(const cbx_ell_source *s, size_t i, size_t q)
{
    const size_t n = i * s->width + q;
    return (!s->degree || q < (size_t)s->degree[i]) && (!s->mask || s->mask[n]) &&
           (!s->bitmap || (s->bitmap[n / 8] >> n % 8 & 1));
}

static cbx_status check_table(const cbx_ell_source *s, size_t *edges, cbx_err *err)
{
    cbx_status st = cbx__ell_check_size(s->rows, s->cols, s->width, err);

    if (st) return st;
    if (!s->index && s->rows && s->width)
        return cbx_fail(err, CBX_EINVAL, "a graph of %zu rows of %zu places needs indices", s->rows, s->width);
    *edges = 0;
    for (size_t i = 0; i < s->rows; i++) {
        if (s->degree && (s->degree[i] < 0 || (size_t)s->degree[i] > s->width))
            return cbx_fail(err, CBX_EDOM, "row %zu has degree %d, outside 0 .. %zu", i, s->degree[i], s->width);
        for (size_t q = 0; q < s->width; q++) {
            const int32_t j = s->index[i * s->width + q];
            if (!is_edge(s, i, q)) continue;
            if (j < 0 || (size_t)j >= s->cols)
                return cbx_fail(err, CBX_EDOM, "row %zu, place %zu refers to column %d of %zu: columns are 0 .. cols-1",
                                i, q, j, s->cols);
            ++*edges;
        }
    }
    return CBX_OK;
}

cbx_status cbx_ell_create(cbx_ctx *ctx, const cbx_ell_source *s, cbx_ell **out, cbx_err *err)
{
    cbx_ell *g = NULL;
    size_t edges = 0, e = 0;
    cbx_status st;

    if (s->struct_size != sizeof *s)
        return cbx_fail(err, CBX_EINVAL, "cbx_ell_source has %u bytes, not %zu: set struct_size to its size",
                        s->struct_size, sizeof *s);
    st = check_table(s, &edges, err);
    if (!st) st = make(ctx, s->rows, s->cols, s->width, edges, edges == s->rows * s->width, 0, &g, err);
    if (st) return st;
    for (size_t i = 0; i < s->rows; i++) {
        for (size_t q = 0; q < s->width; q++) {
            if (!is_edge(s, i, q)) continue;
            g->index[e] = s->index[i * s->width + q];
            if (g->place) g->place[e] = (uint32_t)(i * s->width + q);
            e++;
        }
        g->start[i + 1] = e;
    }
    transpose(g);
    *out = g;
    return CBX_OK;
}

/* --- from entries, whose rows are counted in start[i + 1] --- */

static cbx_status check_entry(size_t e, int64_t i, int64_t j, size_t rows, size_t cols, cbx_err *err)
{
    if (i >= 0 && (uint64_t)i < rows && j >= 0 && (uint64_t)j < cols) return CBX_OK;
    return cbx_fail(err, CBX_EDOM, "entry %zu is in row %lld, column %lld of a matrix of %zu rows and %zu columns", e,
                    (long long)i, (long long)j, rows, cols);
}

/* The row of entry e: of a list, or by where compressed rows start. */
typedef struct entries {
    size_t rows, cols, n;
    const int64_t *start;
    const int32_t *row, *col;
} entries;

/* Deals entries to their rows in order; count: rows + 1 zeros that become where each row starts. */
static cbx_status build(cbx_ctx *ctx, const entries *x, size_t *count, cbx_ell **out, cbx_err *err)
{
    cbx_ell *g = NULL;
    size_t width = 0, at = 0;
    cbx_status st = cbx__ell_check_size(x->rows, x->cols, 0, err);

    for (size_t e = 0, i = 0; e < x->n && !st; e++) {
        while (!x->row && (uint64_t)x->start[i + 1] <= e) i++;
        st = check_entry(e, x->row ? x->row[e] : (int64_t)i, x->col[e], x->rows, x->cols, err);
        if (!st) count[(x->row ? (size_t)x->row[e] : i) + 1]++;
    }
    for (size_t i = 0; i < x->rows && !st; i++) width = count[i + 1] > width ? count[i + 1] : width;
    if (!st) st = cbx__ell_check_size(x->rows, x->cols, width, err);
    if (!st) st = make(ctx, x->rows, x->cols, width, x->n, x->n == x->rows * width, x->n, &g, err);
    if (st) return st;
    for (size_t i = 0; i < x->rows; i++) count[i + 1] += count[i];
    memcpy(g->start, count, (x->rows + 1) * sizeof *count);
    for (size_t e = 0, i = 0; e < x->n; e++) {
        while (!x->row && (uint64_t)x->start[i + 1] <= e) i++;
        const size_t r = x->row ? (size_t)x->row[e] : i;
        at = count[r]++;
        g->index[at] = x->col[e];
        g->entry[e] = (uint32_t)(r * width + (at - g->start[r]));
        if (g->place) g->place[at] = g->entry[e];
    }
    transpose(g);
    *out = g;
    return CBX_OK;
}

static cbx_status build_with_capacity(cbx_ctx *ctx, const entries *x, cbx_ell **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t rows = x->rows < MAX_VERTICES ? x->rows : MAX_VERTICES;

    if (x->n > MAX_PLACES) /* before one of them is read */
        return cbx_fail(err, CBX_EOVERFLOW, "%zu entries are too many for 32-bit numbers: split the rows", x->n);
    size_t *count = cbx_mem_calloc(al, rows + 1, sizeof *count);
    cbx_status st = count ? build(ctx, x, count, out, err) : cbx_fail(err, CBX_ENOMEM, "no memory for %zu rows", rows);

    cbx_mem_free(al, count, (rows + 1) * sizeof *count);
    return st;
}

cbx_status cbx_ell_from_csr(cbx_ctx *ctx, size_t rows, size_t cols, const int64_t *start, const int32_t *col,
                            cbx_ell **out, cbx_err *err)
{
    const cbx_status st = cbx__ell_check_size(rows, cols, 0, err);

    if (st) return st;
    if (start[0] != 0) return cbx_fail(err, CBX_EDOM, "row 0 starts at entry %lld, not 0", (long long)start[0]);
    for (size_t i = 0; i < rows; i++)
        if (start[i + 1] < start[i])
            return cbx_fail(err, CBX_EDOM, "row %zu ends at entry %lld, before its start %lld", i,
                            (long long)start[i + 1], (long long)start[i]);
    return build_with_capacity(ctx, &(entries){ rows, cols, (size_t)start[rows], start, NULL, col }, out, err);
}

cbx_status cbx_ell_from_coo(cbx_ctx *ctx, size_t rows, size_t cols, size_t n, const int32_t *row, const int32_t *col,
                            cbx_ell **out, cbx_err *err)
{
    return build_with_capacity(ctx, &(entries){ rows, cols, n, NULL, row, col }, out, err);
}

/* --- what it says --- */

size_t cbx_ell_rows(const cbx_ell *g) { return g->rows; }
size_t cbx_ell_cols(const cbx_ell *g) { return g->cols; }
size_t cbx_ell_width(const cbx_ell *g) { return g->width; }
size_t cbx_ell_edges(const cbx_ell *g) { return g->edges; }

void cbx_ell_view(const cbx_ell *g, bool transposed, cbx_ell_product *out)
{
    *out = (cbx_ell_product)CBX_ELL_PRODUCT_INIT;
    out->threads = 0;
    out->rows = transposed ? g->cols : g->rows;
    out->cols = transposed ? g->rows : g->cols;
    out->width = transposed ? 0 : g->width;
    out->start = transposed ? g->t_start : g->start;
    out->index = transposed ? g->t_index : g->index;
    out->place = transposed ? g->t_place : g->place;
}
