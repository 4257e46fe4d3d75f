/*
 * Inside the compiler: loop nests, each a kernel over a space, where its streams lie, and what is
 * folded of its results.
 */
#ifndef CALIBRAX_ARRAY_JIT_NEST_H
#define CALIBRAX_ARRAY_JIT_NEST_H

#include "calibrax/array/jit/kernel.h"
#include "calibrax/array/jit/plan.h"

/** The index along one axis of a value: start + sum of i * steps over the space's dimensions. */
typedef struct cbx__form {
    ptrdiff_t start, steps[CBX_MAX_RANK];
} cbx__form;

/** Where a stream of the kernel lies: element (i0, i1, ...) of the space is at offset + sum of i *
 * strides. */
typedef struct cbx__site {
    cbx__vid base; /* CBX__NO_VALUE: of a count, whose numbers are that sum; of a fold's tile */
    ptrdiff_t offset, strides[CBX_MAX_RANK]; /* [bytes], of a count [1]; of a value without gaps */
    /* of each axis of the value, dimensions not merged; NULL: it is read without gaps only */
    const cbx__form *at;
} cbx__site;

/** A fold of output stream `stream`, whose elements have the dtype that is folded in: bool, int64,
 * uint64 or float64. */
typedef struct cbx__nest_fold {
    cbx_prim prim;
    bool skips_nan;
    uint32_t stream;
    cbx_dtype wide, to; /* of the elements, of the result */
    cbx__site result;   /* strides along the kept dimensions */
} cbx__nest_fold;

typedef struct cbx__nest {
    int ndim; /* of the space, merged where possible */
    size_t shape[CBX_MAX_RANK];
    unsigned gone; /* dimensions that are folded, a bit each; 0: nothing is */
    bool chunked;  /* sums begin again after CBX__CHUNK elements, as those of converted elements do */
    cbx__kernel kernel;
    cbx__site *sites; /* of each stream */
    size_t nfolds;
    cbx__nest_fold *folds;
    uint64_t work; /* instructions of an element, functions counted as 20 */
    /* its space, sites and folds before dimensions were merged; NULL: of a scan */
    const struct cbx__nest *open;
} cbx__nest;

/**
 * The nests of a kernel of a plan; more than one where its roots are folded along different axes.
 * @param out  in the arena; their kernels are for cbx__kernel_clear
 */
cbx_status cbx__nests_create(cbx_arena *arena, const cbx_allocator *al, const cbx__plan *plan, const cbx__unit *unit,
                             size_t *n, cbx__nest **out, cbx_err *err);

/** Bytes of sites and folds of a nest that reads arrays with gaps. */
size_t cbx__nest_bound_bytes(const cbx__nest *n);
/**
 * The nest with its operands where they lie, dimensions merged as far as they permit it.
 * @param arrays  of each value; NULL, or without gaps: the value is as the nest expects it
 * @param work    cbx__nest_bound_bytes of it, in which out's sites and folds are
 * @return false: the kernel needs operands without gaps, or rows would be short
 */
bool cbx__nest_bind(const cbx__nest *n, cbx_array *const *arrays, void *work, cbx__nest *out);

/**
 * A scan as one nest, if its function works element by element: its dimensions are steps and
 * elements, its kernel has carries.
 * @param done  false: it does not
 */
cbx_status cbx__scan_nest(cbx_arena *arena, const cbx_allocator *al, const cbx__node *node, bool *done, cbx__nest *out,
                          cbx_err *err);

#endif
