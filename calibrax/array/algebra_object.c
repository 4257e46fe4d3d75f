/* Algebras, graphs and functions of an edge as attributes of operations. */
#include "calibrax/array/algebra_object.h"

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/semiring.h"

typedef struct algebra {
    cbx_object object; /* first */
    cbx_allocator al;
    cbx_semiring semiring;
    const cbx_ell *graph; /* counted; NULL: none */
    cbx_ell_edge_functions edge;
} algebra;

static void algebra_free(cbx_object *o)
{
    algebra *a = (algebra *)(void *)o;
    const cbx_allocator al = a->al;

    if (a->graph) cbx__object_unref(&a->graph->object);
    cbx_mem_free(&al, a, sizeof *a);
}

/* NULL where mode says all about the algebra. */
static const algebra *object_of(const cbx_attrs *attrs)
{
    return attrs->mode == CBX__OF_OBJECT ? (const algebra *)(const void *)attrs->object : NULL;
}

const cbx_semiring *cbx__algebra_of(const cbx_attrs *attrs)
{
    const algebra *a = object_of(attrs);
    return a ? &a->semiring : cbx_semiring_get((cbx_algebra)attrs->mode);
}

const cbx_ell *cbx__ell_of(const cbx_attrs *attrs)
{
    const algebra *a = object_of(attrs);
    return a ? a->graph : (const cbx_ell *)(const void *)attrs->object;
}

const cbx_ell_edge_functions *cbx__ell_edge_of(const cbx_attrs *attrs)
{
    const algebra *a = object_of(attrs);
    return a && a->edge.message ? &a->edge : NULL;
}

cbx_status cbx__algebra_put(cbx_ctx *ctx, const cbx_semiring *s, const cbx_ell *g, const cbx_ell_edge_functions *edge,
                            cbx_attrs *attrs, cbx_err *err)
{
    algebra *a;

    attrs->mode = (int)s->id;
    attrs->object = g ? cbx__object_ref(&g->object) : NULL;
    if (!s->functions && !edge) return CBX_OK;
    a = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *a);
    if (!a) {
        cbx__object_unref(attrs->object);
        attrs->object = NULL;
        return cbx_fail(err, CBX_ENOMEM, "no memory for algebra '%s'", s->name);
    }
    atomic_init(&a->object.refs, 1);
    a->object.free = algebra_free;
    a->al = *cbx_ctx_allocator(ctx);
    a->semiring = *s;
    a->graph = g;
    if (edge) a->edge = *edge;
    attrs->mode = CBX__OF_OBJECT;
    attrs->object = &a->object;
    return CBX_OK;
}
