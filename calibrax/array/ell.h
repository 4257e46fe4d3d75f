/**
 * Sparse matrices in ELL form: graphs as objects, products over an algebra, aggregation over edges,
 * softmax of rows, derivatives.
 *
 *     cbx_ell *graph;
 *     cbx_ell_source source = { sizeof source, n, n, k, index, degree };
 *     cbx_ell_create(ctx, &source, &graph, err);
 *     y = cbx_ell_matmul(ctx, graph, weights, x, cbx_semiring_find("tropical_max_plus"));
 *     cbx_ell_free(graph);
 *
 * A graph lists which places (i, q) of a rows-by-width table are edges, and to which column each
 * leads.  Its indices are checked once, when it is made; its transpose is made then, too, so that
 * what would scatter gathers: no atomics, the same bits for any number of threads.  Values are
 * arrays (rows, width) of their own; what lies at a place that is no edge is never read, neither
 * the value nor a row of B, so that padding cannot leak a NaN or an infinity, over any algebra.
 *
 * A graph never changes and is shared by counting: any number of threads may use one, and what is
 * traced with it keeps it.  The functions of arrays are as those of ops.h: results belong to the
 * scope, failures travel; operands have one dtype that the algebra takes (CBX_EDTYPE).  They are
 * traced, derived any number of times and batched as the others; over an algebra given by
 * functions by its formulas, else CBX_EUNSUPPORTED.  Functions of an edge are derived by their own
 * vjp (reverse mode) and jvp (forward mode), once, and any number of times by their formula.
 * Algebras, rules and accuracy: kernels/semiring.h and kernels/ell.h, where the product of plain
 * memory is.
 */
#ifndef CALIBRAX_ARRAY_ELL_H
#define CALIBRAX_ARRAY_ELL_H

#include "calibrax/array/semiring.h"

CBX_BEGIN_DECLS

typedef struct cbx_ell cbx_ell;

/** What a graph is made of; all is copied. */
typedef struct cbx_ell_source {
    uint32_t struct_size;
    size_t rows, cols, width;
    /* rows-by-width: the column of a place; read only where there is an edge */
    const int32_t *index;
    const int32_t *degree; /* row i has its first degree[i] places; NULL: all */
    const uint8_t *mask;   /* rows-by-width, a byte a place: 0 is no edge; NULL: none is hidden */
    /* The same, a bit a place: place q of row i is bit n % 8 of byte n / 8, n = i * width + q, the
     * lowest bit first, as in Arrow and in NumPy's packbits(..., bitorder="little"); read where it
     * lies, its last bits past the table ignored.  NULL: none is hidden. */
    const uint8_t *bitmap;
} cbx_ell_source;

/**
 * Edges are the places that degree, mask and bitmap all leave.
 * @param out  the caller frees it; memory by the allocator of ctx, which it may outlive
 * @return CBX_OK; CBX_EINVAL (struct_size; no indices); CBX_EDOM (a column outside 0 .. cols-1 or a
 *         degree outside 0 .. width: row and place are named); CBX_EOVERFLOW (more than 2^31 - 1
 *         rows or columns, more than 2^32 - 2 places); CBX_ENOMEM
 */
CBX_API cbx_status cbx_ell_create(cbx_ctx *ctx, const cbx_ell_source *source, cbx_ell **out, cbx_err *err);
/**
 * From compressed rows: entries start[i] .. start[i+1]-1 of row i are in columns col[e].  The width
 * is that of the longest row.
 * @return as cbx_ell_create; CBX_EDOM of a start that does not ascend from 0; CBX_EOVERFLOW of more
 *   than 2^32 - 2 entries
 */
CBX_API cbx_status cbx_ell_from_csr(cbx_ctx *ctx, size_t rows, size_t cols, const int64_t *start, const int32_t *col,
                                    cbx_ell **out, cbx_err *err);
/** From n entries (row[e], col[e]) in any order; those of a row keep theirs, and pairs that come
 * twice are two edges. */
CBX_API cbx_status cbx_ell_from_coo(cbx_ctx *ctx, size_t rows, size_t cols, size_t n, const int32_t *row,
                                    const int32_t *col, cbx_ell **out, cbx_err *err);
/** Drops the caller's reference; the last one, also of a traced function, ends the graph.  NULL is
 * fine. */
CBX_API void cbx_ell_free(cbx_ell *g);

CBX_API size_t cbx_ell_rows(const cbx_ell *g);
CBX_API size_t cbx_ell_cols(const cbx_ell *g);
CBX_API size_t cbx_ell_width(const cbx_ell *g);
CBX_API size_t cbx_ell_edges(const cbx_ell *g);

/** Values (entries) of a graph made by cbx_ell_from_csr or _coo, in their order there, as (rows,
 * width); 0 where there is no edge. */
CBX_API cbx_array *cbx_ell_pack(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *entries);

/**
 * Reverse Cuthill-McKee: an order of the vertices of a square graph (edges taken both ways) in
 * which neighbours have near numbers, so that the gathers of a product hit caches.  Source: Cuthill
 * & McKee, ACM '69, 157-172; George (1971); each part starts from a vertex that is far from another
 * (George & Liu, ACM TOMS 5 (1979) 284-295).
 * @param order  rows of them: vertex order[i] is to be called i
 * @return CBX_OK; CBX_ESHAPE (not square); CBX_ENOMEM
 */
CBX_API cbx_status cbx_ell_rcm(cbx_ctx *ctx, const cbx_ell *g, int32_t *order, cbx_err *err);
/** The same square graph with vertex order[i] called i; row i of values is row order[i] of the old
 * ones, places as they were.
 * @return as cbx_ell_create; CBX_ESHAPE (not square); CBX_EDOM (order is no permutation) */
CBX_API cbx_status cbx_ell_reorder(cbx_ctx *ctx, const cbx_ell *g, const int32_t *order, cbx_ell **out, cbx_err *err);

/* ---- products ---- */

/** (rows, width) values by (cols, d) is (rows, d).  Errors: CBX_ESHAPE, CBX_EDTYPE, CBX_EINVAL,
 * CBX_EOVERFLOW, CBX_ENOMEM. */
CBX_API cbx_array *cbx_ell_matmul(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                  const cbx_semiring *s);
/** The transposed matrix, with the same values (rows, width), by (rows, d): (cols, d).  Edges of a
 * column by row, then place. */
CBX_API cbx_array *cbx_ell_matmul_transposed(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values,
                                             const cbx_array *b, const cbx_semiring *s);
/** Weighted messages: sum, maximum or minimum (real, max-plus, min-plus), or the `update` of an
 * algebra given by functions, over edges of values * b; -inf or +inf without edges, or what those
 * functions say. */
CBX_API cbx_array *cbx_ell_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                     const cbx_semiring *s);
/** Softmax of each row of values over its edges; 0 elsewhere.  Rules: cbx_ell_softmax_run. */
CBX_API cbx_array *cbx_ell_softmax(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values);

/* ---- derivatives ---- */

/**
 * Backward: from the cotangent h of c = cbx_ell_matmul(values, b) those of values and b, into d[0]
 * and d[1]; 0 at places without an edge.  Rules of cbx_semiring_matmul_vjp: log weights exp(value +
 * b - c); tropical the first optimum in order of places; euclidean 0 at distance 0.  boolean:
 * CBX_EDTYPE; algebras given by functions: CBX_EINVAL.
 */
CBX_API void cbx_ell_matmul_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                const cbx_array *c, const cbx_array *h, const cbx_semiring *s, cbx_array *d[2]);
/** Forward: from the tangents of values and b that of c. */
CBX_API cbx_array *cbx_ell_matmul_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                      const cbx_array *c, const cbx_array *tv, const cbx_array *tb,
                                      const cbx_semiring *s);
/** Backward and forward of c = cbx_ell_matmul_transposed(values, b): c and h are (cols, d); the
 * first optimum in order of rows, then places. */
CBX_API void cbx_ell_matmul_transposed_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                           const cbx_array *c, const cbx_array *h, const cbx_semiring *s,
                                           cbx_array *d[2]);
CBX_API cbx_array *cbx_ell_matmul_transposed_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values,
                                                 const cbx_array *b, const cbx_array *c, const cbx_array *tv,
                                                 const cbx_array *tb, const cbx_semiring *s);
/** Backward and forward of c = cbx_ell_aggregate(values, b); of a maximum or minimum the first edge
 * that reaches it takes all.  CBX_EINVAL: another algebra than real, max-plus and min-plus. */
CBX_API void cbx_ell_aggregate_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                   const cbx_array *c, const cbx_array *h, const cbx_semiring *s, cbx_array *d[2]);
CBX_API cbx_array *cbx_ell_aggregate_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *values, const cbx_array *b,
                                         const cbx_array *c, const cbx_array *tv, const cbx_array *tb,
                                         const cbx_semiring *s);
/** Backward and forward (the map is symmetric) of y = cbx_ell_softmax(values): y (h - sum over the
 * row of y h). */
CBX_API cbx_array *cbx_ell_softmax_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *y, const cbx_array *h);

/* ---- aggregation by a function of an edge ---- */

/** One edge, as its function sees it. */
typedef struct cbx_ell_edge {
    size_t row, col, place; /* place: q of (row, q) */
    const void *x_row;      /* features of the row's vertex; NULL without them */
    const void *x_col;      /* of the column's */
    const void *attr;       /* of the edge; NULL without them */
} cbx_ell_edge;

/** A function of an edge and its derivative.  Called from several threads at a time.  Copied; user
 * and the code must outlive what is traced with them. */
typedef struct cbx_ell_edge_functions {
    uint32_t struct_size;
    size_t d_out;
    void *user;
    /** m[0..d_out) of an edge; elements of the operands' dtype. */
    void (*message)(void *user, const cbx_ell_edge *e, void *m);
    /** Adds to the cotangents of x_row, x_col and attr, each of which may be NULL, what h of the
     * message gives.  NULL: has none. */
    void (*vjp)(void *user, const cbx_ell_edge *e, const void *h, void *d_row, void *d_col, void *d_attr);
    /** t[0..d_out): what the tangents of x_row, x_col and attr (NULL where those are) make of the
     * message's.  NULL: has none. */
    void (*jvp)(void *user, const cbx_ell_edge *e, const void *t_row, const void *t_col, const void *t_attr, void *t);
    /** The message as array expressions, called with user: (x_row, x_col, attr, without those that
     * are NULL), vectors of an edge, to a vector of d_out.  Derivatives beyond the first ones of
     * vjp and jvp are made of it, and those without them; they keep all messages, (edges, d_out).
     * NULL: such derivatives are refused. */
    cbx_array_fn formula;
} cbx_ell_edge_functions;

/**
 * out[i, :] = sum, maximum or minimum (real, max-plus, min-plus) over the edges of row i of
 * message(x_row[i], x_col[j], attr[i, q]).  Messages are folded as they are made: beyond the result
 * a thread holds one message, never all of them.  An algebra given by functions folds them by its
 * `update`, a row's states at a time.
 * @param x_row  (rows, any) or NULL  @param x_col (cols, any)  @param attr (rows, width, any) or
 *   NULL; float32 or float64, one dtype
 * Errors: CBX_EINVAL (struct_size, message NULL, another algebra), CBX_ESHAPE, CBX_EDTYPE,
 * CBX_ENOMEM.
 */
CBX_API cbx_array *cbx_ell_edge_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row,
                                          const cbx_array *x_col, const cbx_array *attr,
                                          const cbx_ell_edge_functions *f, const cbx_semiring *s);
/** Backward: cotangents of x_row, x_col and attr into d[0..2] (NULL for an operand that is NULL).
 * Messages are made again, by rows and by columns; of a maximum the first edge that reaches it
 * takes all. */
CBX_API void cbx_ell_edge_aggregate_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                        const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                        const cbx_array *h, cbx_array *d[3]);
/** Forward: from the tangents of x_row, x_col and attr (NULL where those are) that of the
 * aggregation, by `jvp`.  Of a maximum the first edge that reaches it counts alone; a row without
 * edges does not move. */
CBX_API cbx_array *cbx_ell_edge_aggregate_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row,
                                              const cbx_array *x_col, const cbx_array *attr,
                                              const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                              const cbx_array *t_row, const cbx_array *t_col, const cbx_array *t_attr);

CBX_END_DECLS
#endif
