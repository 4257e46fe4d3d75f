/*
 * The plan is made from the end of the graph to its beginning: when a node is looked at, all that reads its result is decided.
 *
 * A value that several kernels read, or one kernel at several places, is stored unless it is cheap to compute again.  Kernels over
 * one space that read the same computed value, or the same array, become one, unless one of them needs what the other stores.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/jit/plan_internal.h"

enum {
    CHEAP = 3,             /* instructions that are rather repeated than stored */
    MAX_USES = 8,          /* places where a value is computed again, at most */
    PAST_CACHES = 1 << 20, /* [bytes] */
    MAX_SHARED = 8,        /* roots of kernels that become one for what they read alone */
};

/* Where a value is read: by which kernel, and which elements at a point of it. */
typedef struct use {
    uint32_t kernel;
    uint32_t other;             /* a number of the views on the way that do more than move axes; 0: none */
    uint8_t axis[CBX_MAX_RANK]; /* of each axis of the value: the root's along which it moves, from 1; 0: none */
} use;

typedef struct uses {
    unsigned n;
    bool many; /* more than there is space for */
    use at[MAX_USES];
} uses;

/* A kernel in the making; joined ones name the one that they are part of.  Its roots are a list in no order. */
typedef struct making {
    uint32_t joined, first, last; /* roots */
    uint32_t seen;                /* the search that had its roots last */
    size_t nodes;
    int ndim;
    size_t shape[CBX_MAX_RANK];
} making;

typedef struct planner {
    cbx_arena *arena;
    cbx_allocator al; /* of the arena */
    const cbx__graph *g;
    size_t longest; /* nodes of a kernel */
    cbx__plan *plan;
    uint32_t *first_reader, *readers; /* nodes that read each value */
    uint32_t *cost;                   /* of each value, computed from memory or from what is dear */
    bool *in_memory;                  /* of each value: it is there without a kernel */
    bool *wanted;                     /* of each value: as an array */
    uses *use;                        /* of each value */
    uint32_t *kernel_of, *next_root;  /* of each node that is a root, else CBX__NO_INDEX */
    CBX_LIST(making) kernels;
    uint32_t *mark, marks; /* of each node, for searches */
    uint32_t *stack;
} planner;

static const cbx_array_desc *desc(const planner *p, cbx__vid v) { return &p->g->values.items[v].desc; }

static bool list_readers(planner *p)
{
    const size_t n = p->g->values.n;
    size_t total = 0;

    for (size_t k = 0; k < p->g->nodes.n; k++) total += p->g->nodes.items[k].nin;
    p->first_reader = cbx_arena_calloc(p->arena, n + 2, sizeof *p->first_reader);
    p->readers = cbx_arena_calloc(p->arena, total + 1, sizeof *p->readers);
    if (!p->first_reader || !p->readers) return false;
    for (size_t k = 0; k < p->g->nodes.n; k++)
        for (uint32_t i = 0; i < p->g->nodes.items[k].nin; i++) p->first_reader[p->g->nodes.items[k].in[i] + 2]++;
    for (size_t v = 1; v < n + 2; v++) p->first_reader[v] += p->first_reader[v - 1];
    for (uint32_t k = 0; k < p->g->nodes.n; k++)
        for (uint32_t i = 0; i < p->g->nodes.items[k].nin; i++)
            p->readers[p->first_reader[p->g->nodes.items[k].in[i] + 1]++] = k;
    return true;
}

/* ---- kernels ---- */

static uint32_t find(planner *p, uint32_t kernel)
{
    while (p->kernels.items[kernel].joined != kernel) {
        p->kernels.items[kernel].joined = p->kernels.items[p->kernels.items[kernel].joined].joined;
        kernel = p->kernels.items[kernel].joined;
    }
    return kernel;
}

/* Over the space of d; CBX__NO_INDEX without memory. */
static uint32_t new_kernel(planner *p, const cbx_array_desc *d)
{
    making m = { .joined = (uint32_t)p->kernels.n, .first = CBX__NO_INDEX, .last = CBX__NO_INDEX };
    m.ndim = cbx__space_of(d, m.shape);
    return cbx_list_push(&p->al, &p->kernels, m) ? m.joined : CBX__NO_INDEX;
}

/* True if a kernel can follow a view through to elements that it computes. */
static bool can_follow(const planner *p, const cbx__node *node)
{
    return node->prim != CBX_PRIM_RESHAPE || cbx__reshapes_units(desc(p, node->in[0]), desc(p, node->out));
}

/* Of a node in a search: its result is awaited in memory alone, or what it is computed of is awaited, too. */
enum { STORED = 1, COMPUTED = 2 };

static size_t push(planner *p, size_t n, uint32_t k, uint32_t how)
{
    if (p->mark[k] >= 3 * p->marks + how) return n;
    p->mark[k] = 3 * p->marks + how;
    p->stack[n] = k;
    return n + 1;
}

static size_t push_roots(planner *p, size_t n, uint32_t kernel)
{
    making *m = &p->kernels.items[kernel];

    if (m->seen == p->marks) return n;
    m->seen = p->marks;
    for (uint32_t k = m->first; k != CBX__NO_INDEX; k = p->next_root[k]) n = push(p, n, k, STORED);
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
        const bool stored = p->mark[k] == 3 * p->marks + STORED;
        for (uint32_t r = 0; r < node->nout; r++)
            for (uint32_t i = p->first_reader[node->out + r]; i < p->first_reader[node->out + r + 1]; i++) {
                const uint32_t reader = p->readers[i];
                if (stored && !reads_memory(p, reader, node->out + r)) continue;
                n = push(p, n, reader, COMPUTED);
                if (p->kernel_of[reader] == CBX__NO_INDEX) continue;
                if (find(p, p->kernel_of[reader]) == to) return true;
                n = push_roots(p, n, find(p, p->kernel_of[reader])); /* ready with it */
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
    making *x = &p->kernels.items[a], *y = &p->kernels.items[b];
    if (!cbx__same_lengths(x->ndim, x->shape, y->ndim, y->shape) || x->nodes + y->nodes > p->longest) return false;
    if (reaches(p, a, b) || reaches(p, b, a)) return false;
    y->joined = a;
    x->nodes += y->nodes;
    if (x->first == CBX__NO_INDEX)
        x->first = y->first;
    else
        p->next_root[x->last] = y->first;
    if (y->last != CBX__NO_INDEX) x->last = y->last;
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
    const cbx_array_desc *from = desc(p, node->in[0]), *to = desc(p, node->out);
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

/* True if a kernel computes v where it reads it: its space is that of v, and their axes are the same. */
static bool in_place(planner *p, const use *u, cbx__vid v)
{
    const cbx_array_desc *d = desc(p, v);
    const making *m = &p->kernels.items[find(p, u->kernel)];
    size_t shape[CBX_MAX_RANK];
    const int n = cbx__space_of(d, shape);

    if (u->other || !cbx__same_lengths(n, shape, m->ndim, m->shape)) return false;
    for (int a = 0, next = 1; next <= n; a++)
        if (d->shape[a] != 1 && u->axis[a] != next++) return false;
    return true;
}

static void add_use(planner *p, cbx__vid v, use u)
{
    uses *list = &p->use[v];

    for (unsigned i = 0; i < list->n; i++)
        if (list->at[i].other == u.other && memcmp(list->at[i].axis, u.axis, sizeof u.axis) == 0 &&
            find(p, list->at[i].kernel) == find(p, u.kernel))
            return;
    if (list->n == MAX_USES)
        list->many = true;
    else
        list->at[list->n++] = u;
}

/* ---- decisions, from the end on ---- */

/* The kernels that read v at the place that they compute become one, if they may. */
static bool meet(planner *p, cbx__vid v)
{
    const uses *u = &p->use[v];

    if (u->n == 0 || u->many) return false;
    for (unsigned i = 0; i < u->n; i++)
        if (!in_place(p, &u->at[i], v)) return false;
    for (unsigned i = 1; i < u->n; i++)
        if (!join(p, u->at[0].kernel, u->at[i].kernel)) return false;
    return true;
}

/* The result of node k becomes the root of a new kernel. */
static bool set_root(planner *p, uint32_t k, const cbx_array_desc *space)
{
    const uint32_t kernel = new_kernel(p, space);

    if (kernel == CBX__NO_INDEX) return false;
    making *m = &p->kernels.items[kernel];
    p->kernel_of[k] = kernel;
    p->next_root[k] = CBX__NO_INDEX;
    m->first = m->last = k;
    m->nodes++;
    p->plan->stored[p->g->nodes.items[k].out] = true;
    return true;
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
    const making *m = &p->kernels.items[find(p, kernel)];
    size_t own[CBX_MAX_RANK];
    const int n = cbx__space_of(desc(p, v), own);
    return elements(m->ndim, m->shape) > elements(n, own);
}

/* Whether the kernels that read v compute it; one: they are one, at the places that it computes. */
static bool is_computed(planner *p, cbx__vid v, bool *one)
{
    const uses *u = &p->use[v];

    *one = meet(p, v);
    if (*one) return p->kernels.items[find(p, u->at[0].kernel)].nodes < p->longest;
    if (u->n == 0 || u->many) return false;
    for (unsigned i = 0; i < u->n; i++)
        if (p->cost[v] > CHEAP && (u->n > 1 || repeats(p, u->at[i].kernel, v))) return false;
    return true;
}

/* A node whose result kernels can compute: whether they do, or it is stored, or both. */
static bool decide(planner *p, uint32_t k)
{
    const cbx__node *node = &p->g->nodes.items[k];
    const cbx__vid v = node->out;
    const bool view = p->plan->role[k] == CBX__ROLE_VIEW;
    uses *u = &p->use[v];
    bool computed, one;

    if (!p->wanted[v] && u->n == 0) return true;
    computed = is_computed(p, v, &one);
    p->plan->computed[v] = computed;
    if (p->wanted[v] || !computed) {
        if (!set_root(p, k, desc(p, v))) return false;
        if (one && computed) join(p, u->at[0].kernel, p->kernel_of[k]);
    }
    if (view && !can_follow(p, node)) { /* read from memory as it lies there */
        p->wanted[node->in[0]] = true;
        return true;
    }
    for (uint32_t i = 0; i < node->nin; i++) {
        if (p->kernel_of[k] != CBX__NO_INDEX)
            add_use(p, node->in[i], use_below(p, k, use_at_root(p->kernel_of[k], desc(p, v))));
        for (unsigned at = 0; computed && at < u->n; at++) {
            p->kernels.items[find(p, u->at[at].kernel)].nodes += i == 0;
            add_use(p, node->in[i], use_below(p, k, u->at[at]));
        }
        if (computed && u->many) p->use[node->in[i]].many = true;
    }
    return true;
}

static bool decide_all(planner *p)
{
    for (size_t i = 0; i < p->g->out.n; i++) p->wanted[p->g->out.items[i]] = true;
    for (uint32_t k = (uint32_t)p->g->nodes.n; k-- > 0;) {
        const cbx__node *node = &p->g->nodes.items[k];
        const cbx__vid v = node->out;

        switch (p->plan->role[k]) {
        case CBX__ROLE_NUMBER:
        case CBX__ROLE_COUNT:
            p->plan->computed[v] = true;
            p->plan->stored[v] = p->wanted[v];
            break;
        case CBX__ROLE_FOLD:
            if (!p->wanted[v] && p->use[v].n == 0) break;
            if (!set_root(p, k, desc(p, node->in[0]))) return false;
            add_use(p, node->in[0], use_at_root(p->kernel_of[k], desc(p, node->in[0])));
            break;
        case CBX__ROLE_APPLY:
            for (uint32_t r = 0; r < node->nout; r++) p->plan->stored[v + r] = true;
            for (uint32_t i = 0; i < node->nin; i++) p->wanted[node->in[i]] = true;
            break;
        case CBX__ROLE_VIEW:
            if (p->in_memory[v]) { /* nothing to compute: kernels read what it is a view of */
                p->plan->computed[v] = true;
                p->plan->stored[v] = p->wanted[v];
                if (p->wanted[v] || !can_follow(p, node)) p->wanted[node->in[0]] = true;
                for (unsigned i = 0; i < p->use[v].n; i++) add_use(p, node->in[0], use_below(p, k, p->use[v].at[i]));
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

/* Of a kernel: how many roots it has, and one of them. */
static size_t roots_of(planner *p, uint32_t kernel, uint32_t *one)
{
    size_t n = 0;

    *one = p->kernels.items[find(p, kernel)].first;
    for (uint32_t k = *one; k != CBX__NO_INDEX; k = p->next_root[k]) n++;
    return n;
}

/* True if one loop carries out both: what they fold goes along the same axes, or neither folds. */
static bool same_loop(const planner *p, uint32_t a, uint32_t b)
{
    const cbx__node *x = &p->g->nodes.items[a], *y = &p->g->nodes.items[b];
    const bool folds = p->plan->role[a] == CBX__ROLE_FOLD;
    const cbx_array_desc *from = desc(p, x->in[0]), *other = desc(p, y->in[0]);

    if (folds != (p->plan->role[b] == CBX__ROLE_FOLD)) return false;
    if (!folds) return true;
    return cbx__same_lengths(from->ndim, from->shape, other->ndim, other->shape) &&
           x->attrs->naxes == y->attrs->naxes &&
           memcmp(x->attrs->axes, y->attrs->axes, (size_t)x->attrs->naxes * sizeof *x->attrs->axes) == 0;
}

/* Kernels that read v, which is in memory, where it is computed, become one if one loop carries them out. */
static void share_reading(planner *p, cbx__vid v)
{
    const uses *u = &p->use[v];

    for (unsigned i = 1; i < u->n; i++)
        for (unsigned j = 0; j < i; j++) {
            uint32_t a, b;
            if (find(p, u->at[i].kernel) == find(p, u->at[j].kernel)) continue;
            if (!in_place(p, &u->at[i], v) || !in_place(p, &u->at[j], v)) continue;
            if (roots_of(p, u->at[i].kernel, &a) + roots_of(p, u->at[j].kernel, &b) > MAX_SHARED) continue;
            if (a != CBX__NO_INDEX && b != CBX__NO_INDEX && same_loop(p, a, b))
                join(p, u->at[j].kernel, u->at[i].kernel);
        }
}

/* The fold k of v, the root of a new kernel, becomes part of one that goes through v in the same loop; false: no such kernel. */
static bool finds_company(planner *p, uint32_t k, cbx__vid v)
{
    const uses *u = &p->use[v];
    uint32_t root;

    for (unsigned i = 0; i < u->n; i++)
        if (in_place(p, &u->at[i], v) && roots_of(p, u->at[i].kernel, &root) < MAX_SHARED && root != CBX__NO_INDEX &&
            same_loop(p, k, root) && join(p, u->at[i].kernel, p->kernel_of[k]))
            return true;
    return false;
}

/* Sums in kernels are as fast as the backend's; other folds are slower, and pay where reading takes the time. */
static bool pays(const planner *p, const cbx__node *node)
{
    const cbx_array_desc *d = desc(p, node->in[0]);
    return node->prim == CBX_PRIM_SUM || elements(d->ndim, d->shape) * cbx_dtype_size(d->dtype) >= PAST_CACHES;
}

/* Folds of arrays are the backend's, unless a kernel goes through the same array anyway. */
static bool share_folds(planner *p)
{
    for (uint32_t k = 0; k < p->g->nodes.n; k++) {
        const cbx__node *node = &p->g->nodes.items[k];
        if (p->plan->role[k] != CBX__ROLE_APPLY || !p->plan->stored[node->out]) continue;
        if (!cbx__plan_can_fold(p->g, node) || p->plan->computed[node->in[0]] || !pays(p, node)) continue;
        p->plan->role[k] = CBX__ROLE_FOLD;
        if (!set_root(p, k, desc(p, node->in[0]))) return false;
        if (finds_company(p, k, node->in[0])) continue;
        p->plan->role[k] = CBX__ROLE_APPLY;
        p->kernel_of[k] = CBX__NO_INDEX;
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

typedef struct ordering {
    planner *p;
    bool *done; /* nodes */
} ordering;

static bool emit_node(ordering *o, uint32_t k);
static bool emit_value(ordering *o, cbx__vid v);

/* What node k reads when a kernel computes it. */
static bool emit_operands(ordering *o, uint32_t k)
{
    planner *p = o->p;
    const cbx__node *node = &p->g->nodes.items[k];

    if (p->plan->role[k] == CBX__ROLE_VIEW && !can_follow(p, node)) {
        const uint32_t maker = p->plan->maker[node->in[0]];
        return maker == CBX__NO_INDEX || emit_node(o, maker);
    }
    for (uint32_t i = 0; i < node->nin; i++)
        if (!emit_value(o, node->in[i])) return false;
    return true;
}

/* All that must be in memory before v is read: v, or what it is computed from. */
static bool emit_value(ordering *o, cbx__vid v)
{
    planner *p = o->p;
    const uint32_t k = p->plan->maker[v];

    if (k == CBX__NO_INDEX) return true;
    if (p->plan->stored[v] && !p->plan->computed[v]) return emit_node(o, k);
    if (p->mark[k] == p->marks) return true;
    p->mark[k] = p->marks;
    return emit_operands(o, k);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool emit_kernel(ordering *o, uint32_t kernel)
{
    planner *p = o->p;
    const uint32_t first = p->kernels.items[kernel].first;
    uint32_t *roots;
    size_t nroots = 0;

    for (uint32_t k = first; k != CBX__NO_INDEX; k = p->next_root[k]) {
        nroots++;
        o->done[k] = true;
    }
    roots = cbx_arena_calloc(p->arena, nroots, sizeof *roots);
    if (!roots) return false;
    nroots = 0;
    for (uint32_t k = first; k != CBX__NO_INDEX; k = p->next_root[k]) roots[nroots++] = k;
    qsort(roots, nroots, sizeof *roots, by_number);
    for (size_t i = 0; i < nroots; i++) {
        p->marks++;
        if (!emit_operands(o, roots[i])) return false;
    }
    p->plan->units[p->plan->nunits++] = (cbx__unit){ CBX__NO_INDEX, nroots, roots };
    return true;
}

static bool emit_node(ordering *o, uint32_t k)
{
    planner *p = o->p;
    const cbx__node *node = &p->g->nodes.items[k];

    if (o->done[k]) return true;
    if (p->kernel_of[k] != CBX__NO_INDEX) return emit_kernel(o, find(p, p->kernel_of[k]));
    o->done[k] = true;
    for (uint32_t i = 0; i < node->nin; i++) {
        const uint32_t maker = p->plan->maker[node->in[i]];
        if (maker != CBX__NO_INDEX && !emit_node(o, maker)) return false;
    }
    p->plan->units[p->plan->nunits++] = (cbx__unit){ .apply = k };
    return true;
}

static bool order(planner *p)
{
    ordering o = { .p = p };

    o.done = cbx_arena_calloc(p->arena, p->g->nodes.n + 1, sizeof *o.done);
    p->plan->units = cbx_arena_calloc(p->arena, p->g->nodes.n + 1, sizeof *p->plan->units);
    if (!o.done || !p->plan->units) return false;
    memset(p->mark, 0, (p->g->nodes.n + 1) * sizeof *p->mark);
    p->marks = 0;
    for (uint32_t k = 0; k < p->g->nodes.n; k++)
        if (p->plan->stored[p->g->nodes.items[k].out] && !emit_node(&o, k)) return false;
    return true;
}

cbx_status cbx__plan_create(cbx_arena *arena, const cbx__graph *g, size_t longest, bool gpu, cbx__plan *out,
                            cbx_err *err)
{
    const size_t n = g->values.n + 1, m = g->nodes.n + 1;
    planner p = { .arena = arena, .al = cbx_arena_allocator(arena), .g = g, .longest = longest, .plan = out };

    *out = (cbx__plan){ .graph = g };
    out->maker = cbx_arena_calloc(arena, n, sizeof *out->maker);
    out->role = cbx_arena_calloc(arena, m, sizeof *out->role);
    out->stored = cbx_arena_calloc(arena, n, sizeof *out->stored);
    out->computed = cbx_arena_calloc(arena, n, sizeof *out->computed);
    p.cost = cbx_arena_calloc(arena, n, sizeof *p.cost);
    p.in_memory = cbx_arena_calloc(arena, n, sizeof *p.in_memory);
    p.wanted = cbx_arena_calloc(arena, n, sizeof *p.wanted);
    p.use = cbx_arena_calloc(arena, n, sizeof *p.use);
    p.kernel_of = cbx_arena_calloc(arena, m, sizeof *p.kernel_of);
    p.next_root = cbx_arena_calloc(arena, m, sizeof *p.next_root);
    p.mark = cbx_arena_calloc(arena, m, sizeof *p.mark);
    p.stack = cbx_arena_calloc(arena, 2 * m, sizeof *p.stack);
    if (out->maker && out->role && out->stored && out->computed && p.cost && p.in_memory && p.wanted && p.use &&
        p.kernel_of && p.next_root && p.mark && p.stack) {
        memset(p.kernel_of, 0xff, m * sizeof *p.kernel_of);
        if (cbx__plan_roles(&(cbx__values){ arena, g, out, p.cost, NULL, p.in_memory, gpu }, longest > 0) &&
            list_readers(&p) && decide_all(&p) && share(&p) && order(&p))
            return CBX_OK;
    }
    return cbx_fail(err, CBX_ENOMEM, "no memory to plan '%s'", g->name);
}
