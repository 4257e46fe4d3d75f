/*
 * Graphs as rows of neighbours (ELL): row i of an n-by-k array of 32-bit indices holds the
 * neighbours of vertex i in its first degree[i] places; the rest is padding, which points at the
 * row itself so that nothing reads out of range.
 *
 *   uniform      k neighbours each, drawn with replacement: duplicates and self loops come
 *   mesh2d       the k nearest points of a 2-D grid (the vertex first), cut at its borders; rows by
 *                columns as square as n allows
 *   power_law    degrees d with P(D >= d) = d^-1.1, at most k; neighbours drawn with density
 *                t^(-2/3), so that a few are hubs
 *   skewed       one row in 64 is full, the others hold 1 to k/8
 *   empty_rows   a quarter of the rows is empty, the others are full
 *
 * Orders: natural, as made; shuffled, labels permuted at random; rcm, shuffled and then put in
 * reverse Cuthill-McKee order (E. Cuthill & J. McKee, Proc. 24th ACM Nat. Conf. (1969) 157-172),
 * which brings neighbours of a mesh together again.
 */
#ifndef SUITES_COMMON_GRAPH_H
#define SUITES_COMMON_GRAPH_H

#include "calibrax/base/arena.h"
#include "calibrax/perf/case/params.h"

typedef enum cbx__suite_graph_kind {
    CBX__SUITE_UNIFORM,
    CBX__SUITE_MESH2D,
    CBX__SUITE_POWER_LAW,
    CBX__SUITE_SKEWED,
    CBX__SUITE_EMPTY_ROWS
} cbx__suite_graph_kind;

typedef enum cbx__suite_graph_order { CBX__SUITE_NATURAL, CBX__SUITE_SHUFFLED, CBX__SUITE_RCM } cbx__suite_graph_order;

/* Words of the parameters "graph" and "order", in the order of the enums. */
extern const char *const cbx__suite_graph_words[], *const cbx__suite_order_words[];

/* Most neighbours of a vertex. */
#define CBX__SUITE_MAX_NEIGHBOURS 256

typedef struct cbx__suite_graph {
    cbx__suite_graph_kind kind;
    cbx__suite_graph_order order;
    size_t n, k;
    uint64_t seed;
} cbx__suite_graph;

/* Of the parameters "graph", "order" and "seed". */
cbx__suite_graph cbx__suite_graph_read(const cbx_params *params, size_t n, size_t k);

/* @param indices  n-by-k  @param degree  n */
cbx_status cbx__suite_graph_make(cbx_ctx *ctx, const cbx__suite_graph *g, int32_t *indices, int32_t *degree,
                                 cbx_err *err);
/* Sum of the degrees, the same for every order. */
size_t cbx__suite_graph_edges(const cbx__suite_graph *g);

/* Relabelling number r that costs a kernel what the graph itself does: any permutation where labels
 * carry no neighbourhood, a rotation of all labels where they do.  order[new] = old. */
cbx_status cbx__suite_graph_rotate(cbx_arena *arena, const cbx__suite_graph *g, uint64_t r, size_t **order,
                                   cbx_err *err);
/* The graph with vertex order[i] called i: rows move, and what they hold is renamed.  out must not
 * be in. */
cbx_status cbx__suite_graph_relabel(cbx_ctx *ctx, size_t n, size_t k, const size_t *order, const int32_t *indices,
                                    const int32_t *degree, int32_t *out_indices, int32_t *out_degree, cbx_err *err);

/* The reverse Cuthill-McKee order of a graph taken as undirected: order[new] = old, n places
 * (rcm.c). */
cbx_status cbx__suite_rcm(cbx_ctx *ctx, size_t n, size_t k, const int32_t *indices, const int32_t *degree,
                          size_t *order, cbx_err *err);

#endif
