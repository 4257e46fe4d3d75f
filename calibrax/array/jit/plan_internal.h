/*
 * Inside plan*.c: what is known of the values of a graph before it is decided which of them are stored.
 */
#ifndef CALIBRAX_ARRAY_JIT_PLAN_INTERNAL_H
#define CALIBRAX_ARRAY_JIT_PLAN_INTERNAL_H

#include "calibrax/array/jit/plan.h"

typedef struct cbx__values {
    cbx_arena *arena;
    const cbx__graph *g;
    cbx__plan *plan; /* maker and role are written */
    uint32_t *cost;  /* of each value, computed from memory or from what is dear */
    uint8_t *weight; /* of each node: instructions of an element; set with the roles */
    bool *in_memory; /* of each value: it is there without a kernel */
    bool gpu;        /* kernels fold and copy that, too */
} cbx__values;

/** Roles of all nodes; fuse false: the backend carries out each.  false: out of memory. */
bool cbx__plan_roles(cbx__values *p, bool fuse);

/** True of a fold that kernels can carry out, wherever its operand is. */
bool cbx__plan_can_fold(const cbx__graph *g, const cbx__node *node);

static inline bool cbx__same_lengths(int n, const size_t *a, int m, const size_t *b)
{
    bool same = n == m;
    for (int i = 0; same && i < n; i++) same = a[i] == b[i];
    return same;
}

#endif
