/* The optimal partition of a growing series: least sum of (x - level)^2 plus a penalty a change, as
 * a function of the last level.
 *
 * f_t(mu) = min over last changes s of F(s) + penalty + sum_{i=s..t-1} (x_i - mu)^2 is a chain of
 * pieces of parabolas over mu.  A new point adds the same parabola to all pieces; the change at t -
 * min_segment joins as one more parabola, flatter than all others, so it takes what lies outside
 * the roots of the difference.  A change that owns no piece can never be the last one again.
 * Source: Maidstone, Hocking, Rigaill & Fearnhead, Stat. Comput. 27 (2017) 519-533. */
#include "calibrax/statistics/partition.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/list.h"

void cbx__partition_init(cbx__partition *s, const cbx_allocator *al, size_t min_segment, double penalty)
{
    *s = (cbx__partition){ .al = *al, .min_segment = min_segment, .penalty = penalty };
}

void cbx__partition_clear(cbx__partition *s)
{
    cbx_mem_free(&s->al, s->x, s->x_capacity * sizeof(*s->x));
    cbx_mem_free(&s->al, s->nodes, s->node_capacity * sizeof(*s->nodes));
    cbx_mem_free(&s->al, s->store, 2 * s->piece_capacity * sizeof(*s->store));
}

/* A parabola more makes two pieces more of each at most, and k parabolas 2 k - 1 in all. */
bool cbx__partition_reserve(cbx__partition *s, bool again)
{
    size_t want = again ? 2 * s->n + 8 : 2 * s->npieces + 4;

    if (!cbx_grow(&s->al, &s->x, &s->x_capacity, s->n + 1, sizeof(*s->x)) ||
        !cbx_grow(&s->al, &s->nodes, &s->node_capacity, s->n + 2, sizeof(*s->nodes)))
        return false;
    if (want <= s->piece_capacity) return true;
    want += want / 2;
    cbx__piece *store = cbx_mem_alloc(&s->al, 2 * want * sizeof(*store));
    if (!store) return false;
    if (s->npieces) memcpy(store, s->pieces, s->npieces * sizeof(*store));
    cbx_mem_free(&s->al, s->store, 2 * s->piece_capacity * sizeof(*store));
    s->store = s->pieces = store;
    s->spare = store + want;
    s->piece_capacity = want;
    return true;
}

/* Puts lo..hi of p behind the chain, joined to its end if that is the same parabola. */
static void put(cbx__piece *chain, size_t *n, const cbx__piece *p, double lo, double hi)
{
    if (!(lo < hi)) return;
    if (*n && chain[*n - 1].last == p->last) {
        chain[*n - 1].hi = hi;
        return;
    }
    chain[*n] = *p;
    chain[*n].lo = lo;
    chain[(*n)++].hi = hi;
}

static void join(cbx__partition *s, const cbx__piece *new)
{
    cbx__piece *chain = s->spare;
    size_t n = 0;

    if (!s->npieces) put(chain, &n, new, -INFINITY, INFINITY);
    for (size_t i = 0; i < s->npieces; i++) {
        const cbx__piece *p = &s->pieces[i];
        /* Where p - new <= 0, an interval since p is the steeper one; empty: lo > hi.  With a = 0
         * no point is between them: the difference is the constant c, and b is 0. */
        double a = p->a - new->a, b = p->b - new->b, c = p->c - new->c, d = b *b - a *c;
        bool whole = a <= 0 && c <= 0, part = a > 0 && d > 0;
        double lo = fmax(whole ? -INFINITY : part ? (b - sqrt(d)) / a : INFINITY, p->lo);
        double hi = fmin(whole ? INFINITY : part ? (b + sqrt(d)) / a : -INFINITY, p->hi);
        if (!(lo < hi)) {
            put(chain, &n, new, p->lo, p->hi);
            continue;
        }
        put(chain, &n, new, p->lo, lo);
        put(chain, &n, p, lo, hi);
        put(chain, &n, new, hi, p->hi);
    }
    s->spare = s->pieces;
    s->pieces = chain;
    s->npieces = n;
}

/* Adds (v - mu)^2. */
static void add_parabola(cbx__piece *p, double v)
{
    p->a += 1;
    p->b += v;
    p->c += v * v;
}

/* The last of x is new; room is reserved. */
static void step(cbx__partition *s)
{
    double v = s->x[s->n - 1] - s->x[0], best = INFINITY;
    size_t last = 0, change = s->n - s->min_segment;

    for (size_t i = 0; i < s->npieces; i++) add_parabola(&s->pieces[i], v);
    if (s->n >= s->min_segment && isfinite(s->nodes[change].best)) {
        cbx__piece p = { 0, 0, 0, 0, s->nodes[change].best + s->penalty, change };
        for (size_t i = change; i < s->n; i++) add_parabola(&p, s->x[i] - s->x[0]);
        join(s, &p);
    }
    for (size_t i = 0; i < s->npieces; i++) {
        const cbx__piece *p = &s->pieces[i];
        double mu = fmin(fmax(p->b / p->a, p->lo), p->hi), f = (p->a * mu - 2 * p->b) * mu + p->c;
        if (f < best) {
            best = f;
            last = p->last;
        }
    }
    s->nodes[s->n] = (cbx__node){ best, last }; /* infinite while the series is shorter than a segment */
}

void cbx__partition_append(cbx__partition *s, double x, double penalty)
{
    size_t from = penalty == s->penalty ? s->n + 1 : 1, n = s->n + 1;

    s->x[s->n] = x;
    s->penalty = penalty;
    if (from == 1) s->npieces = 0;
    s->nodes[0] = (cbx__node){ -penalty, 0 };
    for (s->n = from; isfinite(penalty) && s->n <= n; s->n++) step(s);
    s->n = n;
}

bool cbx__partition_fill(cbx__partition *s, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!cbx__partition_reserve(s, false)) return false;
        cbx__partition_append(s, x[i], s->penalty);
    }
    return true;
}

size_t cbx__partition_changes(const cbx__partition *s, size_t *index)
{
    size_t n = 0;

    if (!isfinite(s->penalty) || s->n < s->min_segment) return 0;
    for (size_t t = s->nodes[s->n].last; t; t = s->nodes[t].last) index[n++] = t;
    for (size_t i = 0; i < n / 2; i++) {
        size_t swap = index[i];
        index[i] = index[n - 1 - i];
        index[n - 1 - i] = swap;
    }
    return n;
}
