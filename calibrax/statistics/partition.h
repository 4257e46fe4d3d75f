/* Inside the library: the optimal partition of a growing series into levels, the least sum of (x -
 * level)^2 plus a penalty a change, in about log n steps a point (partition.c). */
#ifndef CALIBRAX_STATISTICS_PARTITION_H
#define CALIBRAX_STATISTICS_PARTITION_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

/** On lo..hi the change at `last` is best: a mu^2 - 2 b mu + c. */
typedef struct cbx__piece {
    double lo, hi;
    double a, b, c;
    size_t last;
} cbx__piece;

/** The best partition of the first i points: F, with F(0) = -penalty, and its last change. */
typedef struct cbx__node {
    double best;
    size_t last;
} cbx__node;

typedef struct cbx__partition {
    cbx_allocator al;
    size_t min_segment; /* >= 1 */
    double penalty;     /* infinite: points are only kept */
    double *x;
    cbx__node *nodes; /* n + 1 in use */
    size_t n, x_capacity, node_capacity;
    cbx__piece *store, *pieces, *spare; /* the halves of one block change places */
    size_t npieces, piece_capacity;     /* of each half */
} cbx__partition;

/** Allocates nothing yet. */
void cbx__partition_init(cbx__partition *p, const cbx_allocator *al, size_t min_segment, double penalty);
void cbx__partition_clear(cbx__partition *p);
/** Capacity for one more point, and with `again` for one of another penalty; x[n] may then be
 * written.  false: out of memory, and nothing has changed. */
bool cbx__partition_reserve(cbx__partition *p, bool again);
/** Adds a point, for which capacity is reserved; a penalty other than before applies to all
 * points. */
void cbx__partition_append(cbx__partition *p, double x, double penalty);
/** All points of a series, to a partition without any.  false: out of memory. */
bool cbx__partition_fill(cbx__partition *p, const double *x, size_t n);
/** The changes, ascending; returns their number.  @param index  capacity n */
size_t cbx__partition_changes(const cbx__partition *p, size_t *index);

#endif
