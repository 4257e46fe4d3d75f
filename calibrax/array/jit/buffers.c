/* The memory of values: which steps they live for, whose memory one takes over, and where the
 * others lie. */
#include "calibrax/array/jit/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/program.h"
#include "calibrax/array/state.h"

/* ---- spans ---- */

enum { ALIGNED = 64 };

/* Puts a span at the lowest free place of a region; spans there are in the order of their places.
 * false: it is full. */
static bool fit(cbx__span *spans, uint32_t i, cbx__region *r)
{
    cbx__span *s = &spans[i];
    uint32_t *link = &r->head;
    size_t at = 0;

    while (*link != CBX__NO_INDEX) {
        const cbx__span *o = &spans[*link];
        if (o->first > s->last) { /* of what comes from here on, too */
            *link = o->next;
            continue;
        }
        if (o->at >= at && o->at - at >= s->bytes) break;
        at = (o->at + o->bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
        link = &spans[*link].next;
    }
    if (at > r->bytes || r->bytes - at < s->bytes) return false;
    s->at = at;
    s->next = *link;
    *link = i;
    if (at + s->bytes > r->used) r->used = at + s->bytes;
    return true;
}

static int by_end(const void *a, const void *b)
{
    const cbx__span *x = *(const cbx__span *const *)a, *y = *(const cbx__span *const *)b;
    if (x->last != y->last) return x->last < y->last ? 1 : -1;
    return (x > y) - (x < y);
}

void cbx__spans_place(size_t n, cbx__span *spans, size_t nregions, cbx__region *regions, cbx__span **order)
{
    for (size_t r = 0; r < nregions; r++) {
        regions[r].head = CBX__NO_INDEX;
        regions[r].used = 0;
    }
    for (size_t i = 0; i < n; i++) order[i] = &spans[i];
    if (n > 0) qsort(order, n, sizeof *order, by_end);
    for (size_t i = 0; i < n; i++) {
        uint32_t r = 0;
        while (order[i]->last >= regions[r].until || !fit(spans, (uint32_t)(order[i] - spans), &regions[r])) r++;
        order[i]->region = r;
    }
}

/* ---- lives ---- */

typedef struct lives {
    cbx__program *p;
    cbx_allocator al; /* of the program's arena */
    uint32_t *last;   /* step that reads each value last; CBX__NO_INDEX: none does */
    bool *made;
    bool *whole; /* values that are arrays, whoever makes them: results, and what operations read */
    CBX_LIST(cbx__vid) list;
    bool failed; /* out of memory */
} lives;

/* A copy of the list in the arena, which is then empty; NULL without memory. */
static const cbx__vid *take_list(lives *m, size_t *n)
{
    cbx__vid *copy = cbx_arena_calloc(&m->p->arena, m->list.n + 1, sizeof *copy);
    if (copy && m->list.n) memcpy(copy, m->list.items, m->list.n * sizeof *copy);
    *n = m->list.n;
    m->list.n = 0;
    return copy;
}

/* Calls back with each value that step s reads or makes. */
static void each_value(lives *m, uint32_t s, void (*fn)(lives *m, uint32_t s, cbx__vid v, bool makes))
{
    const cbx__step *step = &m->p->steps[s];
    const cbx__graph *g = m->p->graph;

    if (step->node != CBX__NO_INDEX) {
        const cbx__node *node = &g->nodes.items[step->node];
        for (uint32_t i = 0; i < node->nin; i++) fn(m, s, node->in[i], false);
        for (uint32_t r = 0; r < node->nout; r++) fn(m, s, node->out + r, true);
        return;
    }
    const cbx__nest *n = &m->p->nests[step->nest];
    for (size_t i = 0; i < n->kernel.streams.n; i++)
        if (n->sites[i].base != CBX__NO_VALUE) fn(m, s, n->sites[i].base, i < n->kernel.nout);
    for (size_t f = 0; f < n->nfolds; f++) fn(m, s, n->folds[f].result.base, true);
}

static void note_last(lives *m, uint32_t s, cbx__vid v, CBX__UNUSED bool makes)
{
    m->last[v] = s;
    m->whole[v] |= m->p->steps[s].node != CBX__NO_INDEX;
}

static void list_made(lives *m, CBX__UNUSED uint32_t s, cbx__vid v, bool makes)
{
    if (!makes || m->made[v]) return;
    m->made[v] = true;
    if (!cbx_list_push(&m->al, &m->list, v)) m->failed = true;
}

static void list_done(lives *m, uint32_t s, cbx__vid v, CBX__UNUSED bool makes)
{
    if (m->last[v] != s || m->p->graph->values.items[v].constant ||
        m->p->graph->values.items[v].last == CBX__NO_VALUE) /* a result */
        return;
    for (size_t i = 0; i < m->list.n; i++)
        if (m->list.items[i] == v) return;
    if (!cbx_list_push(&m->al, &m->list, v)) m->failed = true;
}

/* ---- values that are written over others ---- */

/* The number of the only stream at a value; streams.n: there are several. */
static size_t only_stream(const cbx__nest *n, cbx__vid v)
{
    size_t found = n->kernel.streams.n;

    for (size_t s = 0; s < n->kernel.streams.n; s++) {
        if (n->sites[s].base != v) continue;
        if (found < n->kernel.streams.n) return n->kernel.streams.n;
        found = s;
    }
    return found;
}

static bool same_places(const cbx__nest *n, size_t a, size_t b)
{
    const cbx__site *x = &n->sites[a], *y = &n->sites[b];
    return x->offset == y->offset && memcmp(x->strides, y->strides, (size_t)n->ndim * sizeof *x->strides) == 0;
}

/*
 * A value in whose memory a kernel may write v: of the same shape and dtype, read here for the last
 * time, and each element where that of v is written.  Kernels load an element before they store it,
 * and no other one is there.
 */
static cbx__vid find_reusable(const lives *m, const cbx__step *step, cbx__nest *n, cbx__vid v, const cbx__vid *taken,
                              size_t ntaken)
{
    const cbx__value *values = m->p->graph->values.items;
    const size_t out = only_stream(n, v);

    if (n->nfolds || n->kernel.carries.n || out >= n->kernel.nout) return CBX__NO_VALUE;
    for (size_t i = 0; i < step->ndone; i++) {
        const cbx__vid u = step->done[i];
        const size_t in = only_stream(n, u);
        bool is_taken = false;
        for (size_t t = 0; t < ntaken; t++) is_taken |= taken[t] == u;
        if (is_taken || in < n->kernel.nout || in == n->kernel.streams.n || !same_places(n, in, out)) continue;
        if (!cbx__program_owns(m->p, u) || !cbx_array_desc_equal(&values[u].desc, &values[v].desc)) continue;
        n->kernel.streams.items[out].nontemporal = false; /* it is in the caches */
        return u;
    }
    return CBX__NO_VALUE;
}

static const cbx__vid *list_reused(lives *m, const cbx__step *step)
{
    cbx__vid *over = cbx_arena_calloc(&m->p->arena, step->nmade + 1, sizeof *over);

    for (size_t i = 0; over && i < step->nmade; i++)
        over[i] = step->node != CBX__NO_INDEX
                      ? CBX__NO_VALUE
                      : find_reusable(m, step, &m->p->nests[step->nest], step->made[i], over, i);
    return over;
}

static bool list_values(lives *m)
{
    cbx__program *p = m->p;

    for (uint32_t s = 0; s < p->nsteps; s++) each_value(m, s, note_last);
    for (size_t i = 0; i < p->graph->out.n; i++) m->whole[p->graph->out.items[i]] = true;
    for (uint32_t s = 0; s < p->nsteps; s++) {
        cbx__step *step = &p->steps[s];
        each_value(m, s, list_made);
        step->made = take_list(m, &step->nmade);
        each_value(m, s, list_done);
        step->done = take_list(m, &step->ndone);
        if (!step->made || !step->done || m->failed) return false;
        step->over = list_reused(m, step);
        if (!step->over) return false;
    }
    return true;
}

/* ---- places ---- */

enum { MAX_HOSTS = 8 };

/* Arrays in which other values may lie before they are made: the largest ones. */
typedef struct hosts {
    size_t n;
    cbx__vid v[MAX_HOSTS];
    cbx__region at[MAX_HOSTS + 1]; /* the last one: the workspace */
} hosts;

static void add_host(hosts *h, cbx__vid v, size_t bytes, uint32_t until)
{
    size_t i = h->n < MAX_HOSTS ? h->n++ : MAX_HOSTS - 1;

    if (i == MAX_HOSTS - 1 && h->n == MAX_HOSTS && h->at[i].bytes > bytes) return;
    for (; i > 0 && h->at[i - 1].bytes < bytes; i--) {
        h->v[i] = h->v[i - 1];
        h->at[i] = h->at[i - 1];
    }
    h->v[i] = v;
    h->at[i] = (cbx__region){ .bytes = bytes, .until = until };
}

/* Values that are written one over the other are one span; the last of them may be an array, in
 * which all of them lie then. */
typedef struct chains {
    CBX_LIST(cbx__span) spans;
    CBX_LIST(cbx__vid) arrays; /* of each span; CBX__NO_VALUE: none */
    uint32_t *of;              /* of each value, counted from 1; 0: none */
} chains;

static bool add_value(lives *m, chains *c, hosts *h, uint32_t s, cbx__vid v, cbx__vid over)
{
    const size_t bytes = cbx__desc_bytes(&m->p->graph->values.items[v].desc);
    const uint32_t chain = over == CBX__NO_VALUE ? 0 : c->of[over];

    if (over != CBX__NO_VALUE && !chain) return true; /* over what an operation made, as it is when the program runs */
    if (m->whole[v]) {
        if (chain) c->arrays.items[chain - 1] = v;
        add_host(h, v, bytes, chain ? c->spans.items[chain - 1].first : s);
        return true;
    }
    if (!chain && (!cbx_list_push(&m->al, &c->spans, (cbx__span){ .first = s, .bytes = bytes }) ||
                   !cbx_list_push(&m->al, &c->arrays, CBX__NO_VALUE)))
        return false;
    c->of[v] = chain ? chain : (uint32_t)c->spans.n;
    c->spans.items[c->of[v] - 1].last = m->last[v];
    return true;
}

static bool place(lives *m)
{
    cbx__program *p = m->p;
    const size_t n = p->graph->values.n;
    chains c = { .of = cbx_arena_calloc(&p->arena, n + 1, sizeof *c.of) };
    cbx__span **order;
    hosts h = { 0 };

    p->places = cbx_arena_calloc(&p->arena, n + 1, sizeof *p->places);
    if (!p->places || !c.of) return false;
    for (uint32_t s = 0; s < p->nsteps; s++)
        for (size_t i = 0; p->steps[s].node == CBX__NO_INDEX && i < p->steps[s].nmade; i++)
            if (!add_value(m, &c, &h, s, p->steps[s].made[i], p->steps[s].over[i])) return false;
    for (size_t i = 0; i < c.spans.n; i++)
        if (c.arrays.items[i] != CBX__NO_VALUE) c.spans.items[i].bytes = 0; /* it has its place */
    order = cbx_arena_calloc(&p->arena, c.spans.n + 1, sizeof(cbx__span *));
    if (!order) return false;
    h.at[h.n] = (cbx__region){ .bytes = SIZE_MAX, .until = CBX__NO_INDEX };
    cbx__spans_place(c.spans.n, c.spans.items, h.n + 1, h.at, order);
    p->work_bytes = h.at[h.n].used;
    p->work_first = CBX__NO_INDEX;
    for (size_t i = 0; i < c.spans.n; i++) {
        const cbx__span *s = &c.spans.items[i];
        if (s->region < h.n || s->bytes == 0) continue;
        if (s->first < p->work_first) p->work_first = s->first;
        if (s->last > p->work_last) p->work_last = s->last;
    }
    for (cbx__vid v = 0; v < n; v++) {
        p->places[v].in = v;
        if (!c.of[v]) continue;
        const cbx__span *s = &c.spans.items[c.of[v] - 1];
        const cbx__vid array = c.arrays.items[c.of[v] - 1];
        p->places[v] = array != CBX__NO_VALUE ? (cbx__place){ array, 0 }
                                              : (cbx__place){ s->region < h.n ? h.v[s->region] : CBX__NO_VALUE, s->at };
    }
    return true;
}

bool cbx__buffers_plan(cbx__program *p)
{
    const size_t n = p->graph->values.n + 1;
    lives m = { .p = p, .al = cbx_arena_allocator(&p->arena) };

    m.last = cbx_arena_calloc(&p->arena, n, sizeof *m.last);
    m.made = cbx_arena_calloc(&p->arena, n, sizeof *m.made);
    m.whole = cbx_arena_calloc(&p->arena, n, sizeof *m.whole);
    return m.last && m.made && m.whole && list_values(&m) && place(&m);
}
