/*
 * Inside the compiler: how a graph is carried out.
 *
 * A unit is a kernel, which computes roots in one go through one space, or one operation that the
 * backend carries out.  What a kernel needs it loads from memory or computes on the way; so a value
 * can be stored, computed where it is read, or both.
 */
#ifndef CALIBRAX_ARRAY_JIT_PLAN_H
#define CALIBRAX_ARRAY_JIT_PLAN_H

#include "calibrax/array/trace/graph.h"

/** What is done with a node. */
typedef enum cbx__role {
    CBX__ROLE_NUMBER, /* one number everywhere: FULL and views of it */
    CBX__ROLE_COUNT,  /* IOTA */
    CBX__ROLE_MAP,    /* element by element */
    CBX__ROLE_VIEW,   /* elements of its operand at other places */
    CBX__ROLE_SMALL,  /* a fold of so short a last axis that it is written out: as MAP */
    CBX__ROLE_FOLD,   /* a fold of what a kernel computes */
    CBX__ROLE_APPLY   /* carried out by the backend */
} cbx__role;

#define CBX__NO_INDEX UINT32_MAX
enum { CBX__SMALL = 8 }; /* the longest axis that is written out */

typedef struct cbx__unit {
    uint32_t apply; /* the node; CBX__NO_INDEX: a kernel */
    size_t nroots;  /* nodes whose results a kernel stores or folds, in order */
    const uint32_t *roots;
} cbx__unit;

/** Lives in an arena. */
typedef struct cbx__plan {
    const cbx__graph *graph;
    uint32_t *maker; /* node of each value; CBX__NO_INDEX: an input or constant */
    uint8_t *role;   /* cbx__role of each node */
    bool *stored;    /* of each value: it is an array when a later unit reads it */
    bool *computed;  /* of each value: kernels that read it compute it, though it may be stored, too */
    size_t nunits;
    cbx__unit *units; /* in the order in which they are carried out */
} cbx__plan;

/**
 * @param longest  operations of one kernel; 0: the backend carries out every node
 * @param gpu      kernels also fold and copy what is in memory, which the CPU's backend does itself
 */
cbx_status cbx__plan_create(cbx_arena *arena, const cbx__graph *g, size_t longest, bool gpu, cbx__plan *out,
                            cbx_err *err);

/**
 * A plan under which kernels compute every node of a graph, element by element of one shape: `of`,
 * or a single number.
 * @param fits  false: one of them does not work so
 */
cbx_status cbx__plan_elements(cbx_arena *arena, const cbx__graph *g, const cbx_array_desc *of, bool *fits,
                              cbx__plan *out, cbx_err *err);

/** True of a fold that kernels can carry out, wherever its operand is. */
bool cbx__can_fold(const cbx__graph *g, const cbx__node *node);
/** Lengths of a shape without axes of length 1; returns how many. */
int cbx__long_axes(const cbx_array_desc *d, size_t *shape);
/** The same without a last axis that is written out: the space of a kernel that computes such
 * an array. */
int cbx__space_of(const cbx_array_desc *d, size_t *shape);
/** True of a reshape that only adds and removes axes of length 1. */
bool cbx__reshapes_units(const cbx_array_desc *from, const cbx_array_desc *to);

#endif
