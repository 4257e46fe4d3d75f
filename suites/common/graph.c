/* Makers of graphs; see graph.h.  Degrees and neighbours come from streams of their own, so that
 * degrees can be counted alone. */
#include "suites/common/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "suites/common/arrays.h"

const char *const cbx__suite_graph_words[] = { "uniform", "mesh2d", "power_law", "skewed", "empty_rows", NULL };
const char *const cbx__suite_order_words[] = { "natural", "shuffled", "rcm", NULL };

/* Streams of the seed, between those of the inputs (0) and of turns (16 and above). */
enum { STREAM_DEGREES = 1, STREAM_NEIGHBOURS, STREAM_HUBS, STREAM_SHUFFLE };

#define FULL_ROW_EVERY 64
#define REACH          12 /* of a mesh's neighbours along an axis: the disc holds more points than CBX__SUITE_MAX_NEIGHBOURS */
#define SPAN           (2 * REACH + 1)

static size_t index_of(const char *const *words, const char *word)
{
    size_t i = 0;
    while (words[i + 1] && strcmp(words[i], word) != 0) i++;
    return i;
}

cbx__suite_graph cbx__suite_graph_read(const cbx_params *params, size_t n, size_t k)
{
    return (cbx__suite_graph){
        .kind = (cbx__suite_graph_kind)index_of(cbx__suite_graph_words, cbx_params_word(params, "graph")),
        .order = (cbx__suite_graph_order)index_of(cbx__suite_order_words, cbx_params_word(params, "order")),
        .n = n,
        .k = k,
        .seed = (uint64_t)cbx_params_int(params, "seed"),
    };
}

/* --- the mesh --- */

typedef struct offset {
    int down, right;
} offset;

typedef struct mesh {
    size_t rows, columns, k;
    offset near[SPAN * SPAN];
} mesh;

/* Nearer first, then higher up, then further left. */
static int compare_offsets(const void *x, const void *y)
{
    const offset *a = x, *b = y;
    const int da = a->down * a->down + a->right * a->right, db = b->down * b->down + b->right * b->right;
    if (da != db) return da - db;
    return a->down != b->down ? a->down - b->down : a->right - b->right;
}

static void mesh_init(mesh *m, const cbx__suite_graph *g)
{
    m->rows = 1;
    for (size_t r = 1; r * r <= g->n; r++)
        if (g->n % r == 0) m->rows = r;
    m->columns = g->n / m->rows;
    m->k = g->k;
    for (int i = 0; i < SPAN * SPAN; i++) m->near[i] = (offset){ i / SPAN - REACH, i % SPAN - REACH };
    qsort(m->near, SPAN * SPAN, sizeof *m->near, compare_offsets);
}

/* Neighbours of vertex i; row NULL: only counted. */
static size_t mesh_row(const mesh *m, size_t i, int32_t *row)
{
    const long y = (long)(i / m->columns), x = (long)(i % m->columns);
    size_t found = 0;

    for (size_t p = 0; p < m->k; p++) {
        const long v = y + m->near[p].down, w = x + m->near[p].right;
        if (v < 0 || w < 0 || v >= (long)m->rows || w >= (long)m->columns) continue;
        if (row) row[found] = (int32_t)(v * (long)m->columns + w);
        found++;
    }
    return found;
}

/* --- degrees and neighbours of the others --- */

static size_t draw_degree(const cbx__suite_graph *g, size_t i, cbx_rng *rng)
{
    const size_t few = g->k / 8 ? g->k / 8 : 1;
    double d;

    switch (g->kind) {
    case CBX__SUITE_POWER_LAW:
        d = floor(pow(1 - cbx_rng_uniform(rng), -1 / 1.1));
        return d < (double)g->k ? (size_t)d : g->k;
    case CBX__SUITE_SKEWED: return i % FULL_ROW_EVERY == 0 ? g->k : 1 + (size_t)cbx_rng_below(rng, few);
    case CBX__SUITE_EMPTY_ROWS: return cbx_rng_uniform(rng) < 0.25 ? 0 : g->k;
    default: return g->k;
    }
}

static size_t draw_neighbour(const cbx__suite_graph *g, const size_t *hubs, cbx_rng *rng)
{
    const double u = cbx_rng_uniform(rng);
    return hubs ? hubs[(size_t)((double)g->n * u * u * u)] : (size_t)cbx_rng_below(rng, g->n);
}

static cbx_status fill_random(cbx_ctx *ctx, const cbx__suite_graph *g, int32_t *indices, int32_t *degree, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_rng degrees = cbx_rng_make(g->seed, STREAM_DEGREES), neighbours = cbx_rng_make(g->seed, STREAM_NEIGHBOURS),
            names = cbx_rng_make(g->seed, STREAM_HUBS);
    size_t *hubs = NULL;

    if (g->kind == CBX__SUITE_POWER_LAW) {
        hubs = cbx_arena_calloc(&arena, g->n, sizeof *hubs);
        if (!hubs) return cbx_fail(err, CBX_ENOMEM, "out of memory for a graph of %zu vertices", g->n);
        cbx_rng_permutation(&names, g->n, hubs);
    }
    for (size_t i = 0; i < g->n; i++) {
        degree[i] = (int32_t)draw_degree(g, i, &degrees);
        for (size_t p = 0; p < (size_t)degree[i]; p++)
            indices[i * g->k + p] = (int32_t)draw_neighbour(g, hubs, &neighbours);
    }
    return CBX_OK;
}

/* --- the whole --- */

/* Renames in place, by way of copies; rcm: by the order that Cuthill and McKee find. */
static cbx_status reorder(cbx_ctx *ctx, const cbx__suite_graph *g, bool rcm, int32_t *indices, int32_t *degree,
                          cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    const size_t places = g->n * g->k;
    cbx_rng rng = cbx_rng_make(g->seed, STREAM_SHUFFLE);
    size_t *order = cbx_arena_calloc(&arena, g->n, sizeof *order);
    int32_t *copy = cbx_arena_calloc(&arena, places + g->n, sizeof *copy);
    cbx_status st = CBX_OK;

    if (!order || !copy) return cbx_fail(err, CBX_ENOMEM, "out of memory for a graph of %zu vertices", g->n);
    if (rcm)
        st = cbx__suite_rcm(ctx, g->n, g->k, indices, degree, order, err);
    else
        cbx_rng_permutation(&rng, g->n, order);
    if (st) return st;
    memcpy(copy, indices, places * sizeof *copy);
    memcpy(copy + places, degree, g->n * sizeof *copy);
    return cbx__suite_graph_relabel(ctx, g->n, g->k, order, copy, copy + places, indices, degree, err);
}

cbx_status cbx__suite_graph_make(cbx_ctx *ctx, const cbx__suite_graph *g, int32_t *indices, int32_t *degree,
                                 cbx_err *err)
{
    cbx_status st = CBX_OK;
    mesh m;

    if (g->kind == CBX__SUITE_MESH2D) {
        mesh_init(&m, g);
        for (size_t i = 0; i < g->n; i++) degree[i] = (int32_t)mesh_row(&m, i, indices + i * g->k);
    } else {
        st = fill_random(ctx, g, indices, degree, err);
    }
    if (st) return st;
    for (size_t i = 0; i < g->n; i++)
        for (size_t p = (size_t)degree[i]; p < g->k; p++) indices[i * g->k + p] = (int32_t)i;
    if (g->order != CBX__SUITE_NATURAL) st = reorder(ctx, g, false, indices, degree, err);
    if (!st && g->order == CBX__SUITE_RCM) st = reorder(ctx, g, true, indices, degree, err);
    return st;
}

size_t cbx__suite_graph_edges(const cbx__suite_graph *g)
{
    cbx_rng degrees = cbx_rng_make(g->seed, STREAM_DEGREES);
    size_t edges = 0;
    mesh m;

    if (g->kind == CBX__SUITE_UNIFORM) return g->n * g->k;
    if (g->kind == CBX__SUITE_MESH2D) mesh_init(&m, g);
    for (size_t i = 0; i < g->n; i++)
        edges += g->kind == CBX__SUITE_MESH2D ? mesh_row(&m, i, NULL) : draw_degree(g, i, &degrees);
    return edges;
}

/* --- other names --- */

cbx_status cbx__suite_graph_rotate(cbx_arena *arena, const cbx__suite_graph *g, uint64_t r, size_t **order,
                                   cbx_err *err)
{
    const bool local = g->order == CBX__SUITE_RCM || (g->kind == CBX__SUITE_MESH2D && g->order == CBX__SUITE_NATURAL);
    cbx_rng rng = cbx_rng_make(g->seed, CBX__SUITE_STREAM_ROTATIONS + CBX__SUITE_ROTATION_STREAMS * r);
    const cbx_status st = cbx__suite_order(arena, g->seed, r, 0, g->n, order, err);
    const size_t shift = g->n > 1 ? 1 + (size_t)cbx_rng_below(&rng, g->n - 1) : 0;

    for (size_t i = 0; !st && local && i < g->n; i++) (*order)[i] = (i + shift) % g->n;
    return st;
}

cbx_status cbx__suite_graph_relabel(cbx_ctx *ctx, size_t n, size_t k, const size_t *order, const int32_t *indices,
                                    const int32_t *degree, int32_t *out_indices, int32_t *out_degree, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    int32_t *name = cbx_arena_calloc(&arena, n, sizeof *name);

    if (!name) return cbx_fail(err, CBX_ENOMEM, "out of memory for a graph of %zu vertices", n);
    for (size_t i = 0; i < n; i++) name[order[i]] = (int32_t)i;
    for (size_t i = 0; i < n; i++) {
        out_degree[i] = degree[order[i]];
        for (size_t p = 0; p < k; p++) out_indices[i * k + p] = name[indices[order[i] * k + p]];
    }
    return CBX_OK;
}
