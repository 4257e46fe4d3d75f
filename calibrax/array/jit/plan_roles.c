/* Roles of nodes, from the beginning of a graph on: what kernels can compute, and at what cost. */
#include "calibrax/array/jit/lower.h"
#include "calibrax/array/jit/plan_internal.h"
#include "calibrax/array/trace/cost.h"

enum { SLOW = 4, DEAR = 20 }; /* instructions that a division, and a transcendental function, count as */

int cbx__long_axes(const cbx_array_desc *d, size_t *shape)
{
    int n = 0;
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] != 1) shape[n++] = d->shape[i];
    return n;
}

int cbx__space_of(const cbx_array_desc *d, size_t *shape)
{
    const int n = cbx__long_axes(d, shape);
    return n > 1 && shape[n - 1] <= CBX__SMALL && d->shape[d->ndim - 1] > 1 ? n - 1 : n;
}

bool cbx__reshapes_units(const cbx_array_desc *from, const cbx_array_desc *to)
{
    size_t a[CBX_MAX_RANK], b[CBX_MAX_RANK];
    const int n = cbx__long_axes(from, a), m = cbx__long_axes(to, b);
    return cbx__same_lengths(n, a, m, b);
}

/* An operation of a node by descriptions; false without memory. */
static bool op_of(cbx__planner *p, const cbx__node *node, cbx_op *op)
{
    const cbx_array_desc **in = cbx_arena_calloc(p->arena, node->nin + 1, sizeof *in);

    if (!in) return false;
    for (uint32_t i = 0; i < node->nin; i++) in[i] = cbx__desc(p, node->in[i]);
    *op = (cbx_op){ node->prim, node->nin, in, node->attrs, node->nout, cbx__desc(p, node->out) };
    return true;
}

bool cbx__can_fold(const cbx__graph *g, const cbx__node *node)
{
    switch (node->prim) {
    case CBX_PRIM_SUM:
    case CBX_PRIM_PROD:
    case CBX_PRIM_REDUCE_MAX:
    case CBX_PRIM_REDUCE_MIN:
    case CBX_PRIM_ANY:
    case CBX_PRIM_ALL:
        return cbx__kernel_has(g->values.items[node->in[0]].desc.dtype) &&
               cbx__kernel_has(g->values.items[node->out].desc.dtype);
    default: return false;
    }
}

bool cbx__folds_small(const cbx__graph *g, const cbx__node *node)
{
    const cbx_array_desc *d = &g->values.items[node->in[0]].desc;
    const int last = d->ndim - 1;
    size_t rest = 1;

    for (int i = 0; i < last; i++) rest *= d->shape[i];
    return node->attrs->naxes == 1 && node->attrs->axes[0] == last && d->shape[last] > 0 &&
           d->shape[last] <= CBX__SMALL && rest > 1;
}

/* Instructions that an element of the result counts as. */
static uint8_t weight(const cbx_op *op)
{
    uint64_t n = 1;
    cbx_cost c;

    switch (op->prim) {
    case CBX_PRIM_DIV:
    case CBX_PRIM_SQRT:
    case CBX_PRIM_FLOOR_DIV:
    case CBX_PRIM_REM: return SLOW;
    default: break;
    }
    if (cbx_prim_get_info(op->prim)->kind != CBX_CLASS_MAP) return 1;
    for (int i = 0; i < op->results->ndim; i++) n *= op->results->shape[i];
    c = cbx_cost_of_op(op);
    return c.transcendental > 0 || c.int_op / (n ? n : 1) >= DEAR ? DEAR : 1;
}

/*
 * A view of what is in memory, larger than caches, whose last axis is another one there: a kernel
 * would walk from line to line, while one that is packed first (calibrax/array/pack.c) has each
 * line read once.
 */
static bool is_packed_first(const cbx__planner *p, const cbx__node *node, const cbx_op *op)
{
    enum { CACHE = 1 << 20, SHORT = 16 };
    const cbx_array_desc *d = op->results;
    size_t bytes = cbx_dtype_size(d->dtype);

    if (node->prim != CBX_PRIM_TRANSPOSE || p->gpu || !p->value[node->in[0]].in_memory) return false;
    for (int i = 0; i < d->ndim; i++) bytes *= d->shape[i];
    return bytes > CACHE && node->attrs->axes[d->ndim - 1] != d->ndim - 1 && d->shape[d->ndim - 1] >= SHORT &&
           op->in[0]->shape[d->ndim - 1] >= SHORT;
}

static cbx__role role_of(const cbx__planner *p, const cbx__node *node, const cbx_op *op)
{
    const cbx_prim_class kind = cbx_prim_get_info(node->prim)->kind;
    const cbx__vid x = node->nin ? node->in[0] : 0;
    const uint32_t maker = node->nin ? p->plan->maker[x] : CBX__NO_INDEX;
    const bool number = node->nin && maker != CBX__NO_INDEX && p->plan->role[maker] == CBX__ROLE_NUMBER;

    if (node->nout != 1 || !cbx__kernel_has(op->results->dtype)) return CBX__ROLE_APPLY;
    if (node->prim == CBX_PRIM_FULL) return CBX__ROLE_NUMBER;
    if (node->prim == CBX_PRIM_IOTA) return CBX__ROLE_COUNT;
    if (!number && is_packed_first(p, node, op)) return CBX__ROLE_APPLY;
    if (kind == CBX_CLASS_VIEW) return number ? CBX__ROLE_NUMBER : CBX__ROLE_VIEW;
    if (node->prim == CBX_PRIM_COPY || (kind == CBX_CLASS_MAP && cbx__can_lower(op))) return CBX__ROLE_MAP;
    if (!cbx__can_fold(p->g, node)) return CBX__ROLE_APPLY;
    if (cbx__folds_small(p->g, node)) return CBX__ROLE_SMALL;
    return p->value[x].in_memory && !p->gpu ? CBX__ROLE_APPLY : CBX__ROLE_FOLD;
}

/* The end of a chain of views. */
static bool lies_in_memory(const cbx__planner *p, const cbx__node *node, cbx__role role)
{
    return role == CBX__ROLE_APPLY || role == CBX__ROLE_FOLD ||
           (role == CBX__ROLE_VIEW && p->value[node->in[0]].in_memory && !p->gpu);
}

/* What a reader of v has to repeat: nothing before a function that is dear, which is rather
 * stored itself. */
static uint64_t near_cost(const cbx__planner *p, cbx__vid v)
{
    const uint32_t maker = p->plan->maker[v];
    return maker != CBX__NO_INDEX && p->node[maker].weight == DEAR ? 0 : p->value[v].cost;
}

/* Begins a plan. */
static bool new_plan(cbx__planner *p, cbx__plan *out)
{
    const size_t n = p->g->values.n + 1, m = p->g->nodes.n + 1;

    *out = (cbx__plan){ .graph = p->g };
    out->maker = cbx_arena_calloc(p->arena, n, sizeof *out->maker);
    out->role = cbx_arena_calloc(p->arena, m, sizeof *out->role);
    out->stored = cbx_arena_calloc(p->arena, n, sizeof *out->stored);
    out->computed = cbx_arena_calloc(p->arena, n, sizeof *out->computed);
    p->value = cbx_arena_calloc(p->arena, n, sizeof *p->value);
    p->node = cbx_arena_calloc(p->arena, m, sizeof *p->node);
    if (!out->maker || !out->role || !out->stored || !out->computed || !p->value || !p->node) return false;
    for (size_t v = 0; v < n; v++) out->maker[v] = CBX__NO_INDEX;
    p->plan = out;
    return true;
}

bool cbx__plan_roles(cbx__planner *p, cbx__plan *out)
{
    if (!new_plan(p, out)) return false;
    for (size_t v = 0; v < p->g->values.n; v++) p->value[v].in_memory = true;
    for (uint32_t k = 0; k < p->g->nodes.n; k++) {
        const cbx__node *node = &p->g->nodes.items[k];
        cbx_op op;

        if (!op_of(p, node, &op)) return false;
        const cbx__role role = p->longest > 0 ? role_of(p, node, &op) : CBX__ROLE_APPLY;
        uint64_t cost = p->node[k].weight = weight(&op);
        p->plan->role[k] = (uint8_t)role;
        for (uint32_t i = 0; i < node->nin; i++) cost += near_cost(p, node->in[i]);
        if (role == CBX__ROLE_SMALL) cost *= cbx__desc(p, node->in[0])->shape[cbx__desc(p, node->in[0])->ndim - 1];
        if (role == CBX__ROLE_VIEW) cost -= p->node[k].weight;
        if (cost > 100000) cost = 100000;
        for (cbx__vid v = node->out; v < node->out + node->nout; v++) {
            p->plan->maker[v] = k;
            p->value[v].in_memory = lies_in_memory(p, node, role);
            p->value[v].cost = p->value[v].in_memory || role <= CBX__ROLE_COUNT ? 0 : (uint32_t)cost;
        }
    }
    return true;
}

/* A value of one shape with `of`, or of one element. */
static bool is_one_or(const cbx_array_desc *d, const cbx_array_desc *of)
{
    size_t shape[CBX_MAX_RANK];
    return cbx__long_axes(d, shape) == 0 || cbx__reshapes_units(d, of);
}

/* Whether kernels compute node k, whose role is written. */
static bool works_by_elements(const cbx__planner *p, uint32_t k, const cbx_op *op)
{
    const cbx__node *node = &p->g->nodes.items[k];
    const cbx__role role = role_of(p, node, op);

    p->plan->role[k] = (uint8_t)role;
    if (role == CBX__ROLE_VIEW) return node->prim == CBX_PRIM_BROADCAST || node->prim == CBX_PRIM_RESHAPE;
    return role == CBX__ROLE_NUMBER || role == CBX__ROLE_MAP;
}

cbx_status cbx__plan_elements(cbx_arena *arena, const cbx__graph *g, const cbx_array_desc *of, bool *fits,
                              cbx__plan *out, cbx_err *err)
{
    cbx__planner p = { .arena = arena, .g = g };

    *fits = false;
    if (!new_plan(&p, out)) return cbx_fail(err, CBX_ENOMEM, "no memory to plan '%s'", g->name);
    for (size_t v = 0; v < g->values.n; v++) {
        const cbx__value *x = &g->values.items[v];
        if (!is_one_or(&x->desc, of) || !cbx__kernel_has(x->desc.dtype)) return CBX_OK;
        if (x->constant && cbx_array_count(x->constant) != 1) return CBX_OK;
    }
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        cbx_op op;
        if (node->nout != 1) return CBX_OK;
        if (!op_of(&p, node, &op)) return cbx_fail(err, CBX_ENOMEM, "no memory to plan '%s'", g->name);
        out->maker[node->out] = k;
        out->computed[node->out] = true;
        if (!works_by_elements(&p, k, &op)) return CBX_OK;
    }
    *fits = true;
    return CBX_OK;
}
