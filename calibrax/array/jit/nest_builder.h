/*
 * Inside nest*.c: a nest in the making.
 */
#ifndef CALIBRAX_ARRAY_JIT_NEST_BUILDER_H
#define CALIBRAX_ARRAY_JIT_NEST_BUILDER_H

#include "calibrax/array/jit/nest.h"
#include "calibrax/base/hash_table.h"

/** An element that is computed already. */
typedef struct cbx__known_element {
    cbx__vid value;
    const cbx__form *at;
    cbx__kid kid;
} cbx__known_element;

typedef struct cbx__builder {
    cbx_arena *arena;
    cbx_allocator al; /* of the arena */
    const cbx__plan *plan;
    cbx__nest *nest;
    CBX_LIST(cbx__site) sites;
    CBX_LIST(cbx__known_element) knowns;
    cbx_table table;
    const cbx__kid *given; /* of values that are there whatever their form, else CBX__NO_KID; NULL: none */
    bool failed;           /* out of memory */
} cbx__builder;

static inline const cbx_array_desc *cbx__builder_desc(const cbx__builder *b, cbx__vid v)
{
    return &b->plan->graph->values.items[v].desc;
}

/** Zeroed, of n axes; NULL without memory. */
cbx__form *cbx__new_forms(cbx__builder *b, int n);
uint32_t cbx__add_stream(cbx__builder *b, cbx__kstream s, const cbx__site *site);
/** An element of memory, or of a count. */
cbx__kid cbx__add_load(cbx__builder *b, cbx_dtype t, bool count, const cbx__site *site);
/** Where the element of a value in memory is; forms of all its axes. */
cbx__site cbx__site_of(const cbx__builder *b, cbx__vid v, const cbx__form *at);
/** The element of a value: computed, or loaded. */
cbx__kid cbx__element(cbx__builder *b, cbx__vid v, const cbx__form *at);
/** The element of a node's result from those of its operands. */
cbx__kid cbx__compute(cbx__builder *b, const cbx__node *node, cbx__role role, const cbx__form *at);
/** In which dtype a fold is carried out. */
cbx_dtype cbx__wide_of(const cbx__node *node, cbx_dtype from, cbx_dtype to);
/** A new output; false: out of memory, which the builder notes. */
bool cbx__add_output(cbx__builder *b, cbx__kid value, cbx_dtype t, const cbx__site *site);
/** Outputs first: the order of streams that kernels have. */
bool cbx__sort_streams(cbx__builder *b);
/** Kinds of streams by their steps along the last dimension. */
void cbx__set_kinds(cbx__nest *n);
/** x itself, or converted. */
static inline cbx__kid cbx__kernel_cast(cbx__kernel *k, cbx_dtype from, cbx_dtype to, cbx__kid x)
{
    return from == to ? x : cbx__k1(k, CBX__K_CAST, to, x);
}

#endif
