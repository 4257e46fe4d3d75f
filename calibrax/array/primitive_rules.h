/*
 * Inside the library: shape rules, and what they are written with; those of products are in
 * primitive_products.c.
 */
#ifndef CALIBRAX_ARRAY_PRIMITIVE_RULES_H
#define CALIBRAX_ARRAY_PRIMITIVE_RULES_H

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/primitive.h"

/** Operands of a call by descriptions. */
typedef struct cbx__operands {
    const char *name;
    size_t n;
    const cbx_array_desc *const *d;
    const cbx_attrs *attrs;
} cbx__operands;

/** Writes rank and shape of each result, not its dtype; operand count and dtypes have been
 * checked. */
typedef cbx_status (*cbx__shape_rule)(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);

static inline void set_shape(cbx_array_desc *out, int ndim, const size_t *shape)
{
    out->ndim = ndim;
    for (int i = 0; i < ndim; i++) out->shape[i] = shape[i];
}

static inline bool same_shape(const cbx_array_desc *a, const cbx_array_desc *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/** CBX_ESHAPE of two operands. */
static inline cbx_status differ(const cbx__operands *o, const cbx_array_desc *a, const cbx_array_desc *b, cbx_err *err)
{
    return cbx_fail(err, CBX_ESHAPE, "'%s' cannot join %s with %s", o->name, CBX__DESC_TEXT(a), CBX__DESC_TEXT(b));
}

/* A shape rule, declared or defined. */
#define RULE(name) cbx_status cbx__rule_##name(const cbx__operands *o, cbx_array_desc *out, cbx_err *err)

/* Those that the table names. */
#define CBX__DECLARE_RULE(name, number, word, function, letters, dtypes, results, kind, shape) RULE(shape);
CBX_PRIM_MAP(CBX__DECLARE_RULE)

/** True if a primitive has more results than one, or as many as its attributes decide. */
bool cbx__has_several_results(cbx_prim p);

#endif
