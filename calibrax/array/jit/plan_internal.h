/*
 * Inside plan*.c: what is known of the values and nodes of a graph until it is decided which of
 * them are stored.
 */
#ifndef CALIBRAX_ARRAY_JIT_PLAN_INTERNAL_H
#define CALIBRAX_ARRAY_JIT_PLAN_INTERNAL_H

#include "calibrax/array/jit/plan.h"
#include "calibrax/base/list.h"

enum { CBX__MAX_USES = 8 }; /* places where a value is computed again, at most */

/** Where a value is read: by which kernel, and which elements at a point of it. */
typedef struct cbx__use {
    uint32_t kernel;
    uint32_t other;             /* a number of the views on the way that do more than move axes; 0: none */
    uint8_t axis[CBX_MAX_RANK]; /* of each axis of the value: the root's along which it moves, from 1; 0: none */
} cbx__use;

typedef struct cbx__planned {
    uint32_t cost;  /* computed from memory or from what is dear */
    bool in_memory; /* it is there without a kernel */
    bool wanted;    /* as an array */
    bool many;      /* there are more uses than space */
    unsigned nuses;
    uint32_t reader; /* the last that reads it; 0: none */
    cbx__use use[CBX__MAX_USES];
} cbx__planned;

typedef struct cbx__reader {
    uint32_t node, next; /* reader of the same value; 0: none */
} cbx__reader;

typedef struct cbx__planned_node {
    uint8_t weight;             /* instructions of an element */
    bool done;                  /* it is part of a unit */
    uint32_t mark;              /* of searches */
    uint32_t kernel, next_root; /* of a root, else CBX__NO_INDEX */
} cbx__planned_node;

/** A kernel in the making; joined ones name the one that they are part of.  Its roots are a list in
 * no order. */
typedef struct cbx__making {
    uint32_t joined, first, last; /* roots */
    uint32_t seen;                /* the search that had its roots last */
    size_t nroots, nodes;
    int ndim;
    size_t shape[CBX_MAX_RANK];
} cbx__making;

typedef struct cbx__planner {
    cbx_arena *arena;
    cbx_allocator al; /* of the arena */
    const cbx__graph *g;
    size_t longest; /* nodes of a kernel; 0: the backend carries out each */
    bool gpu;       /* kernels fold and copy what is in memory, too */
    cbx__plan *plan;
    cbx__planned *value;     /* of each */
    cbx__planned_node *node; /* of each */
    cbx__reader *readers;
    CBX_LIST(cbx__making) kernels;
    uint32_t *stack, marks; /* of searches */
} cbx__planner;

/** Roles of all nodes, with what they cost, in a new plan.  false: out of memory. */
bool cbx__plan_roles(cbx__planner *p, cbx__plan *out);

/** True of a fold of the last axis alone, short enough to be written out, with enough results
 * to pay. */
bool cbx__folds_small(const cbx__graph *g, const cbx__node *node);

static inline const cbx_array_desc *cbx__desc(const cbx__planner *p, cbx__vid v) { return &p->g->values.items[v].desc; }

static inline bool cbx__same_lengths(int n, const size_t *a, int m, const size_t *b)
{
    bool same = n == m;
    for (int i = 0; same && i < n; i++) same = a[i] == b[i];
    return same;
}

#endif
