/*
 * The plan is made from the end of the graph to its beginning: when a node is looked at, all that
 * reads its result is decided.
 *
 * A value that several kernels read, or one kernel at several places, is stored unless it is cheap
 * to compute again.  Kernels over one space that read the same computed value, or the same array,
 * become one, unless one of them needs what the other stores.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/jit/plan_internal.h"
#include "calibrax/base/idioms.h"

enum {
    CHEAP = 3,             /* instructions that are rather repeated than stored */
    PAST_CACHES = 1 << 20, /* [bytes] */
    MAX_SHARED = 8,        /* roots of kernels that become one for what they read alone */
};

typedef cbx__planner planner;
typedef cbx__use use;

/* ---- kernels ---- */

static uint32_t find(planner *p, uint32_t kernel)
{
    cbx__making *all = p->kernels.items;

    while (all[kernel].joined != kernel) kernel = all[kernel].joined = all[all[kernel].joined].joined;
    return kernel;
}

/* The one that a kernel is part of now. */
static cbx__making *making_of(planner *p, uint32_t kernel) { return &p->kernels.items[find(p, kernel)]; }

/* True if a kernel can follow a view through to elements that it computes. */
static bool can_follow(const planner *p, const cbx__node *node)
{
    return node->prim != CBX_PRIM_RESHAPE || cbx__reshapes_units(cbx__desc(p, node->in[0]), cbx__desc(p, node->out));
}

/* Of a node in a search: its result is awaited in memory alone, or what it is computed of is
 * awaited, too. */
enum { STORED = 1, COMPUTED = 2 };

static size_t push(planner *p, size_t n, uint32_t k, uint32_t how)
{
    if (p->node[k].mark >= 3 * p->marks + how) return n;
    p->node[k].mark = 3 * p->marks + how;
    p->stack[n] = k;
    return n + 1;
}

static size_t push_roots(planner *p, size_t n, uint32_t kernel)
{
    cbx__making *m = &p->kernels.items[kernel];

    if (m->seen == p->marks) return n;
    m->seen = p->marks;
    for (uint32_t k = m->first; k != CBX__NO_INDEX; k = p->node[k].next_root) n = push(p, n, k, STORED);
    return n;
}

/* True if node k reads v from memory. */
static bool reads_memory(const planner *p, uint32_t k, cbx__vid v)
{
    const cbx__role role = (cbx__role)p->plan->role[k];
    if (!p->plan->computed[v] || role == CBX__ROLE_APPLY) return true;
    return role == CBX__ROLE_VIEW && !can_follow(p, &p->g->nodes.items[k]);
}

/* True if `to` needs something that `from` stores, perhaps through other kernels. */
static bool reaches(planner *p, uint32_t from, uint32_t to)
{
    size_t n;

    p->marks++;
    n = push_roots(p, 0, from);
    while (n > 0) {
        const uint32_t k = p->stack[--n];
        const cbx__node *node = &p->g->nodes.items[k];
        const bool stored = p->node[k].mark == 3 * p->marks + STORED;
        for (uint32_t r = 0; r < node->nout; r++)
            for (uint32_t i = p->value[node->out + r].reader; i; i = p->readers[i].next) {
                const uint32_t reader = p->readers[i].node;
                if (stored && !reads_memory(p, reader, node->out + r)) continue;
                n = push(p, n, reader, COMPUTED);
                if (p->node[reader].kernel == CBX__NO_INDEX) continue;
                if (find(p, p->node[reader].kernel) == to) return true;
                n = push_roots(p, n, find(p, p->node[reader].kernel)); /* ready with it */
            }
    }
    return false;
}

/* Makes one of both; false: they must stay apart. */
static bool join(planner *p, uint32_t a, uint32_t b)
{
    a = find(p, a);
    b = find(p, b);
    if (a == b) return true;
    cbx__making *x = &p->kernels.items[a], *y = &p->kernels.items[b];
    if (!cbx__same_lengths(x->ndim, x->shape, y->ndim, y->shape) || x->nodes + y->nodes > p->longest) return false;
    if (reaches(p, a, b) || reaches(p, b, a)) return false;
    y->joined = a;
    x->nodes += y->nodes;
    x->nroots += y->nroots;
    p->node[x->last].next_root = y->first;
    x->last = y->last;
    return true;
}

/* ---- places ---- */

/* Of a value of the root's shape. */
static use use_at_root(uint32_t kernel, const cbx_array_desc *d)
{
    use u = { .kernel = kernel };
    uint8_t n = 0;

    for (int a = 0; a < d->ndim; a++)
        if (d->shape[a] != 1) u.axis[a] = ++n;
    return u;
}

/* Of an operand of node k, whose result is read so. */
static use use_below(const planner *p, uint32_t k, use at)
{
    const cbx__node *node = &p->g->nodes.items[k];
    const cbx_array_desc *from = cbx__desc(p, node->in[0]), *to = cbx__desc(p, node->out);
    use u = { .kernel = at.kernel, .other = at.other };

    if (p->plan->role[k] != CBX__ROLE_VIEW || node->prim == CBX_PRIM_STOP_GRADIENT) return at;
    if (node->prim == CBX_PRIM_TRANSPOSE) {
        for (int a = 0; a < to->ndim; a++) u.axis[node->attrs->axes[a]] = at.axis[a];
    } else if (node->prim == CBX_PRIM_BROADCAST) {
        for (int a = 0; a < from->ndim; a++)
            if (from->shape[a] != 1) u.axis[a] = at.axis[a + to->ndim - from->ndim];
    } else if (node->prim == CBX_PRIM_RESHAPE && can_follow(p, node)) {
        for (int a = 0, b = 0; a < from->ndim; a++) {
            if (from->shape[a] == 1) continue;
            while (to->shape[b] == 1) b++;
            u.axis[a] = at.axis[b++];
        }
    } else {
        at.other = (at.other * 31 + k) << 1 | 1; /* not 0 */
        return at;
    }
    return u;
}

/* True if a kernel computes v where it reads it: its space is that of v, and their axes are
 * the same. */
static bool in_place(planner *p, const use *u, cbx__vid v)
{
    const cbx_array_desc *d = cbx__desc(p, v);
    const cbx__making *m = making_of(p, u->kernel);
    size_t shape[CBX_MAX_RANK];
    const int n = cbx__space_of(d, shape);

    if (u->other || !cbx__same_lengths(n, shape, m->ndim, m->shape)) return false;
    for (int a = 0, next = 1; next <= n; a++)
        if (d->shape[a] != 1 && u->axis[a] != next++) return false;
    return true;
}

static void add_use(planner *p, cbx__vid v, use u)
{
    cbx__planned *list = &p->value[v];

    for (unsigned i = 0; i < list->nuses; i++)
        if (list->use[i].other == u.other && memcmp(list->use[i].axis, u.axis, sizeof u.axis) == 0 &&
            find(p, list->use[i].kernel) == find(p, u.kernel))
            return;
    if (list->nuses == CBX__MAX_USES)
        list->many = true;
    else
        list->use[list->nuses++] = u;
}

/* ---- decisions, from the end on ---- */

/* The kernels that read v at the place that they compute become one, if they may. */
static bool meet(planner *p, cbx__vid v)
{
    const cbx__planned *u = &p->value[v];

    if (u->nuses == 0 || u->many) return false;
    for (unsigned i = 0; i < u->nuses; i++)
        if (!in_place(p, &u->use[i], v)) return false;
    for (unsigned i = 1; i < u->nuses; i++)
        if (!join(p, u->use[0].kernel, u->use[i].kernel)) return false;
    return true;
}

/* The result of node k becomes the root of a new kernel, over the space of an array. */
static bool set_root(planner *p, uint32_t k, const cbx_array_desc *of)
{
    const uint32_t kernel = (uint32_t)p->kernels.n;
    cbx__making m = { .joined = kernel, .first = k, .last = k, .nroots = 1, .nodes = 1 };

    m.ndim = cbx__space_of(of, m.shape);
    p->node[k].kernel = kernel;
    p->node[k].next_root = CBX__NO_INDEX;
    p->plan->stored[p->g->nodes.items[k].out] = true;
    return cbx_list_push(&p->al, &p->kernels, m);
}

static size_t elements(int n, const size_t *shape)
{
    size_t count = 1;
    for (int i = 0; i < n; i++) count *= shape[i];
    return count;
}

/* True if a kernel has more points than v has elements: each would be computed several times. */
static bool repeats(planner *p, uint32_t kernel, cbx__vid v)
{
    const cbx__making *m = making_of(p, kernel);
    size_t own[CBX_MAX_RANK];
    const int n = cbx__space_of(cbx__desc(p, v), own);
    return elements(m->ndim, m->shape) > elements(n, own);
}

/* Whether the kernels that read v compute it; one: they are one, at the places that it computes. */
static bool is_computed(planner *p, cbx__vid v, bool *one)
{
    const cbx__planned *u = &p->value[v];

    *one = meet(p, v);
    if (*one) return making_of(p, u->use[0].kernel)->nodes < p->longest;
    if (u->nuses == 0 || u->many) return false;
    for (unsigned i = 0; i < u->nuses; i++)
        if (p->value[v].cost > CHEAP && (u->nuses > 1 || repeats(p, u->use[i].kernel, v))) return false;
    return true;
}

/* A node whose result kernels can compute: whether they do, or it is stored, or both. */
static bool decide(planner *p, uint32_t k)
{
    const cbx__node *node = &p->g->nodes.items[k];
    const cbx__vid v = node->out;
    const bool view = p->plan->role[k] == CBX__ROLE_VIEW;
    cbx__planned *u = &p->value[v];
    bool computed, one;

    if (!u->wanted && u->nuses == 0) return true;
    computed = is_computed(p, v, &one);
    p->plan->computed[v] = computed;
    if (u->wanted || !computed) {
        if (!set_root(p, k, cbx__desc(p, v))) return false;
        if (one && computed) join(p, u->use[0].kernel, p->node[k].kernel);
    }
    if (view && !can_follow(p, node)) { /* read from memory as it lies there */
        p->value[node->in[0]].wanted = true;
        return true;
    }
    for (uint32_t i = 0; i < node->nin; i++) {
        if (p->node[k].kernel != CBX__NO_INDEX)
            add_use(p, node->in[i], use_below(p, k, use_at_root(p->node[k].kernel, cbx__desc(p, v))));
        for (unsigned at = 0; computed && at < u->nuses; at++) {
            making_of(p, u->use[at].kernel)->nodes += i == 0;
            add_use(p, node->in[i], use_below(p, k, u->use[at]));
        }
        if (computed && u->many) p->value[node->in[i]].many = true;
    }
    return true;
}

static bool decide_all(planner *p)
{
    for (size_t i = 0; i < p->g->out.n; i++) p->value[p->g->out.items[i]].wanted = true;
    for (uint32_t k = (uint32_t)p->g->nodes.n; k-- > 0;) {
        const cbx__node *node = &p->g->nodes.items[k];
        const cbx__vid v = node->out;

        switch (p->plan->role[k]) {
        case CBX__ROLE_NUMBER:
        case CBX__ROLE_COUNT:
            p->plan->computed[v] = true;
            p->plan->stored[v] = p->value[v].wanted;
            break;
        case CBX__ROLE_FOLD:
            if (!p->value[v].wanted && p->value[v].nuses == 0) break;
            if (!set_root(p, k, cbx__desc(p, node->in[0]))) return false;
            add_use(p, node->in[0], use_at_root(p->node[k].kernel, cbx__desc(p, node->in[0])));
            break;
        case CBX__ROLE_APPLY:
            for (uint32_t r = 0; r < node->nout; r++) p->plan->stored[v + r] = true;
            for (uint32_t i = 0; i < node->nin; i++) p->value[node->in[i]].wanted = true;
            break;
        case CBX__ROLE_VIEW:
            if (p->value[v].in_memory) { /* nothing to compute: kernels read what it is a view of */
                p->plan->computed[v] = true;
                p->plan->stored[v] = p->value[v].wanted;
                if (p->value[v].wanted || !can_follow(p, node)) p->value[node->in[0]].wanted = true;
                for (unsigned i = 0; i < p->value[v].nuses; i++)
                    add_use(p, node->in[0], use_below(p, k, p->value[v].use[i]));
                break;
            }
            /* fall through */
        default:
            if (!decide(p, k)) return false;
        }
    }
    return true;
}

/* ---- what is read once for several kernels ---- */

/* True if one loop carries out both kernels: what they fold goes along the same axes, or
 * neither folds. */
static bool same_loop(const planner *p, const cbx__making *a, const cbx__making *b)
{
    const cbx__node *x = &p->g->nodes.items[a->first], *y = &p->g->nodes.items[b->first];
    const bool folds = p->plan->role[a->first] == CBX__ROLE_FOLD;
    const cbx_array_desc *from = cbx__desc(p, x->in[0]), *other = cbx__desc(p, y->in[0]);

    if (folds != (p->plan->role[b->first] == CBX__ROLE_FOLD)) return false;
    if (!folds) return true;
    return cbx__same_lengths(from->ndim, from->shape, other->ndim, other->shape) &&
           x->attrs->naxes == y->attrs->naxes &&
           memcmp(x->attrs->axes, y->attrs->axes, (size_t)x->attrs->naxes * sizeof *x->attrs->axes) == 0;
}

/* Kernels that read v, which is in memory, where it is computed, become one if one loop carries
 * them out. */
static void share_reading(planner *p, cbx__vid v)
{
    const cbx__planned *u = &p->value[v];

    for (unsigned i = 1; i < u->nuses; i++)
        for (unsigned j = 0; j < i; j++) {
            const cbx__making *a = making_of(p, u->use[i].kernel), *b = making_of(p, u->use[j].kernel);
            if (a != b && in_place(p, &u->use[i], v) && in_place(p, &u->use[j], v) &&
                a->nroots + b->nroots <= MAX_SHARED && same_loop(p, a, b))
                join(p, u->use[j].kernel, u->use[i].kernel);
        }
}

/* The fold k of v, the root of a new kernel, becomes part of one that goes through v in the same
 * loop; false: no such kernel. */
static bool finds_company(planner *p, uint32_t k, cbx__vid v)
{
    const cbx__planned *u = &p->value[v];

    for (unsigned i = 0; i < u->nuses; i++) {
        const cbx__making *m = making_of(p, u->use[i].kernel);
        if (in_place(p, &u->use[i], v) && m->nroots < MAX_SHARED && same_loop(p, making_of(p, p->node[k].kernel), m) &&
            join(p, u->use[i].kernel, p->node[k].kernel))
            return true;
    }
    return false;
}

/* Sums in kernels are as fast as the backend's; other folds are slower, and pay where reading takes
 * the time. */
static bool pays(const planner *p, const cbx__node *node)
{
    const cbx_array_desc *d = cbx__desc(p, node->in[0]);
    return node->prim == CBX_PRIM_SUM || elements(d->ndim, d->shape) * cbx_dtype_size(d->dtype) >= PAST_CACHES;
}

/* Folds of arrays are the backend's, unless a kernel goes through the same array anyway. */
static bool share_folds(planner *p)
{
    for (uint32_t k = 0; k < p->g->nodes.n; k++) {
        const cbx__node *node = &p->g->nodes.items[k];
        if (p->plan->role[k] != CBX__ROLE_APPLY || !p->plan->stored[node->out]) continue;
        if (!cbx__can_fold(p->g, node) || cbx__folds_small(p->g, node) || p->plan->computed[node->in[0]] ||
            !pays(p, node))
            continue;
        p->plan->role[k] = CBX__ROLE_FOLD;
        if (!set_root(p, k, cbx__desc(p, node->in[0]))) return false;
        if (finds_company(p, k, node->in[0])) continue;
        p->plan->role[k] = CBX__ROLE_APPLY;
        p->node[k].kernel = CBX__NO_INDEX;
    }
    return true;
}

static bool share(planner *p)
{
    if (p->longest == 0) return true;
    if (!share_folds(p)) return false;
    for (cbx__vid v = 0; v < p->g->values.n; v++)
        if (!p->plan->computed[v]) share_reading(p, v);
    return true;
}

/* ---- units, in order ---- */

static bool emit_node(planner *p, uint32_t k);
static bool emit_value(planner *p, cbx__vid v);

/* What node k reads when a kernel computes it. */
static bool emit_operands(planner *p, uint32_t k)
{
    const cbx__node *node = &p->g->nodes.items[k];

    if (p->plan->role[k] == CBX__ROLE_VIEW && !can_follow(p, node)) {
        const uint32_t maker = p->plan->maker[node->in[0]];
        return maker == CBX__NO_INDEX || emit_node(p, maker);
    }
    for (uint32_t i = 0; i < node->nin; i++)
        if (!emit_value(p, node->in[i])) return false;
    return true;
}

/* All that must be in memory before v is read: v, or what it is computed from. */
static bool emit_value(planner *p, cbx__vid v)
{
    const uint32_t k = p->plan->maker[v];

    if (k == CBX__NO_INDEX) return true;
    if (p->plan->stored[v] && !p->plan->computed[v]) return emit_node(p, k);
    if (p->node[k].mark == p->marks) return true;
    p->node[k].mark = p->marks;
    return emit_operands(p, k);
}

CBX_BY_VALUE(by_number, uint32_t)

static bool emit_kernel(planner *p, const cbx__making *m)
{
    uint32_t *roots = cbx_arena_calloc(p->arena, m->nroots, sizeof *roots);
    size_t n = 0;

    if (!roots) return false;
    for (uint32_t k = m->first; k != CBX__NO_INDEX; k = p->node[k].next_root) {
        roots[n++] = k;
        p->node[k].done = true;
    }
    qsort(roots, n, sizeof *roots, by_number);
    for (size_t i = 0; i < n; i++) {
        p->marks++;
        if (!emit_operands(p, roots[i])) return false;
    }
    p->plan->units[p->plan->nunits++] = (cbx__unit){ CBX__NO_INDEX, n, roots };
    return true;
}

static bool emit_node(planner *p, uint32_t k)
{
    const cbx__node *node = &p->g->nodes.items[k];

    if (p->node[k].done) return true;
    if (p->node[k].kernel != CBX__NO_INDEX) return emit_kernel(p, making_of(p, p->node[k].kernel));
    p->node[k].done = true;
    for (uint32_t i = 0; i < node->nin; i++) {
        const uint32_t maker = p->plan->maker[node->in[i]];
        if (maker != CBX__NO_INDEX && !emit_node(p, maker)) return false;
    }
    p->plan->units[p->plan->nunits++] = (cbx__unit){ .apply = k };
    return true;
}

static bool order(planner *p)
{
    p->plan->units = cbx_arena_calloc(p->arena, p->g->nodes.n + 1, sizeof *p->plan->units);
    if (!p->plan->units) return false;
    for (uint32_t k = 0; k < p->g->nodes.n; k++) p->node[k].mark = 0;
    p->marks = 0;
    for (uint32_t k = 0; k < p->g->nodes.n; k++)
        if (p->plan->stored[p->g->nodes.items[k].out] && !emit_node(p, k)) return false;
    return true;
}

/* Readers of all values; nodes are roots of no kernel. */
static bool begin(planner *p)
{
    size_t n = 0;

    for (uint32_t k = 0; k < p->g->nodes.n; k++) {
        n += p->g->nodes.items[k].nin;
        p->node[k].kernel = CBX__NO_INDEX;
    }
    p->readers = cbx_arena_calloc(p->arena, n + 1, sizeof *p->readers);
    p->stack = cbx_arena_calloc(p->arena, 2 * p->g->nodes.n + 1, sizeof *p->stack);
    if (!p->readers || !p->stack) return false;
    n = 0;
    for (uint32_t k = 0; k < p->g->nodes.n; k++)
        for (uint32_t i = 0; i < p->g->nodes.items[k].nin; i++) {
            uint32_t *first = &p->value[p->g->nodes.items[k].in[i]].reader;
            p->readers[++n] = (cbx__reader){ k, *first };
            *first = (uint32_t)n;
        }
    return true;
}

cbx_status cbx__plan_create(cbx_arena *arena, const cbx__graph *g, size_t longest, bool gpu, cbx__plan *out,
                            cbx_err *err)
{
    planner p = { .arena = arena, .al = cbx_arena_allocator(arena), .g = g, .longest = longest, .gpu = gpu };

    if (cbx__plan_roles(&p, out) && begin(&p) && decide_all(&p) && share(&p) && order(&p)) return CBX_OK;
    return cbx_fail(err, CBX_ENOMEM, "no memory to plan '%s'", g->name);
}
