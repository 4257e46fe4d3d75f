/*
 * Orders of a graph's vertices: reverse Cuthill-McKee, and the graph under other names.
 */
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"

/* Neighbours of a vertex along edges and against them; some come twice. */
static size_t degree_of(const cbx_ell *g, int32_t v)
{
    return g->start[v + 1] - g->start[v] + g->t_start[v + 1] - g->t_start[v];
}
/* seen: number of the last sweep that came by. */
typedef struct sweep {
    const cbx_ell *g;
    int32_t *order;
    uint32_t *seen, number;
} sweep;

typedef struct ranked {
    size_t degree;
    int32_t vertex;
} ranked;

static void sort_by_degree(const cbx_ell *g, int32_t *v, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2) /* Shell's: lists are short, and equal ones fall by number */
        for (size_t i = gap; i < n; i++) {
            const ranked x = { degree_of(g, v[i]), v[i] };
            size_t j = i;
            for (; j >= gap; j -= gap) {
                const size_t d = degree_of(g, v[j - gap]);
                if (d < x.degree || (d == x.degree && v[j - gap] < x.vertex)) break;
                v[j] = v[j - gap];
            }
            v[j] = x.vertex;
        }
}

/*
 * Breadth first from root into order[first..]; returns how many, *levels how deep, *last where the
 * deepest level starts.
 */
static size_t breadth_first(sweep *s, size_t first, int32_t root, size_t *levels, size_t *last)
{
    size_t end = first + 1, level_end = end;

    s->number++;
    s->order[first] = root;
    s->seen[root] = s->number;
    *levels = 0, *last = first;
    for (size_t at = first; at < end; at++) {
        const int32_t v = s->order[at];
        const size_t from = end, n = degree_of(s->g, v);
        if (at == level_end) *last = at, ++*levels, level_end = end;
        for (size_t q = 0; q < n; q++) {
            const size_t out = s->g->start[v + 1] - s->g->start[v];
            const int32_t w = q < out ? s->g->index[s->g->start[v] + q] : s->g->t_index[s->g->t_start[v] + q - out];
            if (s->seen[w] == s->number) continue;
            s->seen[w] = s->number;
            s->order[end++] = w;
        }
        sort_by_degree(s->g, s->order + from, end - from);
    }
    return end - first;
}

/* Number of vertices in the part of root, from one of them that is far from another. */
static size_t order_part(sweep *s, size_t first, int32_t root)
{
    size_t depth = 0, last = 0, n = breadth_first(s, first, root, &depth, &last);

    for (;;) {
        size_t deeper = 0;
        int32_t best = s->order[last];
        for (size_t i = last; i < first + n; i++)
            if (degree_of(s->g, s->order[i]) < degree_of(s->g, best)) best = s->order[i];
        n = breadth_first(s, first, best, &deeper, &last);
        if (deeper <= depth) return n;
        depth = deeper;
    }
}

cbx_status cbx_ell_rcm(cbx_ctx *ctx, const cbx_ell *g, int32_t *order, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    sweep s = { .g = g, .order = order };
    size_t done = 0;

    if (g->rows != g->cols)
        return cbx_fail(err, CBX_ESHAPE, "a graph of %zu rows and %zu columns cannot be ordered: it is not square",
                        g->rows, g->cols);
    s.seen = cbx_mem_calloc(al, g->rows + 1, sizeof *s.seen);
    if (!s.seen) return cbx_fail(err, CBX_ENOMEM, "no memory to order %zu vertices", g->rows);
    for (size_t v = 0; v < g->rows; v++)
        if (s.seen[v] == 0) done += order_part(&s, done, (int32_t)v);
    for (size_t i = 0; i < g->rows / 2; i++) {
        const int32_t x = order[i];
        order[i] = order[g->rows - 1 - i];
        order[g->rows - 1 - i] = x;
    }
    cbx_mem_free(al, s.seen, (g->rows + 1) * sizeof *s.seen);
    return CBX_OK;
}

/* --- other names --- */

static cbx_status invert(const int32_t *order, size_t n, int32_t *name, cbx_err *err)
{
    memset(name, -1, n * sizeof *name);
    for (size_t i = 0; i < n; i++) {
        if (order[i] < 0 || (size_t)order[i] >= n || name[order[i]] >= 0)
            return cbx_fail(err, CBX_EDOM, "the order is not a permutation: element %zu is %d", i, order[i]);
        name[order[i]] = (int32_t)i;
    }
    return CBX_OK;
}

cbx_status cbx_ell_reorder(cbx_ctx *ctx, const cbx_ell *g, const int32_t *order, cbx_ell **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const size_t places = g->rows * g->width + 1;
    int32_t *name, *index;
    uint8_t *bitmap;
    cbx_status st;

    if (g->rows != g->cols)
        return cbx_fail(err, CBX_ESHAPE, "a graph of %zu rows and %zu columns cannot be reordered: it is not square",
                        g->rows, g->cols);
    name = cbx_arena_calloc(&arena, g->rows, sizeof *name);
    index = cbx_arena_calloc(&arena, places, sizeof *index);
    bitmap = cbx_arena_calloc(&arena, places / 8 + 1, 1);
    if (!name || !index || !bitmap) return cbx_fail(err, CBX_ENOMEM, "no memory to reorder %zu vertices", g->rows);
    st = invert(order, g->rows, name, err);
    if (st) return st;
    /* The table of the graph under other names; places that are edges as bits. */
    for (size_t i = 0; i < g->rows; i++) {
        const size_t old = (size_t)order[i];
        for (size_t e = g->start[old]; e < g->start[old + 1]; e++) {
            const size_t n = (g->place ? g->place[e] : e) - old * g->width + i * g->width;
            index[n] = name[g->index[e]];
            bitmap[n / 8] |= (uint8_t)(1u << n % 8);
        }
    }
    return cbx_ell_create(ctx,
                          &(cbx_ell_source){ .struct_size = sizeof(cbx_ell_source),
                                             .rows = g->rows,
                                             .cols = g->cols,
                                             .width = g->width,
                                             .index = index,
                                             .bitmap = bitmap },
                          out, err);
}
