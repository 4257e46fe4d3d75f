/*
 * Inside loops.c and folds_*.c: what a fold holds on its way, and where a nest's rows and
 * results are.
 */
#ifndef CALIBRAX_ARRAY_JIT_FOLDS_H
#define CALIBRAX_ARRAY_JIT_FOLDS_H

#include "calibrax/array/jit/loops.h"

/** Of float sums the numbers are in the tree. */
typedef union cbx__held {
    int64_t i;
    uint64_t u;
    double f;
} cbx__held;

/** True of folds that follow the tree of sums, numbers aside. */
static inline bool cbx__in_tree(const cbx__nest_fold *f) { return f->prim == CBX_PRIM_SUM && f->wide == CBX_F64; }
static inline size_t cbx__padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/** Of no elements. */
cbx__held cbx__fold_beginning(const cbx__nest_fold *f);
/** Two parts, the first and the second. */
cbx__held cbx__fold_joined(const cbx__nest_fold *f, cbx__held t, cbx__held x);
/** n > 0 elements of a tile behind those that were before. */
cbx__held cbx__folded(const cbx__nest_fold *f, cbx__held t, const void *tile, size_t n);
void cbx__fold_store(const cbx__nest_fold *f, cbx__held t, char *to);

/** Points of the folded dimensions, or of the others. */
size_t cbx__nest_points(const cbx__nest *n, bool gone);
/** Steps of all streams along a dimension; -1: 0. */
void cbx__nest_steps(const cbx__nest *n, int dim, int64_t *steps);
/** Moves streams to point number `at`, counted over the folded (gone) or kept dimensions up
 * to last. */
void cbx__nest_move(const cbx__nest *n, size_t at, int last, bool gone, char **p);
/** To result number `at`, counted over dimensions up to last: where its streams begin and where
 * each fold's result is. */
void cbx__nest_seek(const cbx__nest_call *c, size_t at, int last, char **p, char **to);

/** Folds of the last dimension: rows.  Bytes of memory with so many threads. */
size_t cbx__fold_rows_bytes(const cbx__nest *n, int threads);
void cbx__fold_rows(const cbx__nest_call *c, int threads);
/** Folds of other dimensions: columns, many results side by side. */
size_t cbx__fold_columns_bytes(const cbx__nest *n, int threads);
void cbx__fold_columns(const cbx__nest_call *c, int threads);

#endif
