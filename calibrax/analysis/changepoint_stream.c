/* The optimal partition of a growing series: least sum of (x - level)^2 plus a penalty a change, as
 * a function of the last level.
 *
 * f_t(mu) = min over last changes s of F(s) + penalty + sum_{i=s..t-1} (x_i - mu)^2 is a chain of
 * pieces of parabolas over mu.  A new point adds the same parabola to all pieces; the change at t -
 * min_segment joins as one more parabola, flatter than all others, so it takes what lies outside
 * the roots of the difference.  A change that owns no piece can never be the last one again.
 * Source: Maidstone, Hocking, Rigaill & Fearnhead, Stat. Comput. 27 (2017) 519-533. */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/changepoint_parts.h"

/** On lo..hi the change at `last` is best: a mu^2 - 2 b mu + c. */
typedef struct piece {
    double lo, hi;
    double a, b, c;
    size_t last;
} piece;

/** The best partition of the first i points: F, with F(0) = -penalty, and its last change. */
typedef struct node {
    double best;
    size_t last;
} node;

struct cbx_changepoint_stream {
    cbx_ctx *ctx;
    cbx_allocator al;
    cbx_changepoint_opts opts;
    double penalty;
    size_t next_estimate; /* length at which an automatic penalty is estimated again */
    double *x;
    node *nodes; /* n + 1 in use */
    size_t n, x_cap, node_cap;
    piece *store, *pieces, *spare; /* the halves of one block change places */
    size_t npieces, piece_cap;     /* of each half */
};

static bool grow(const cbx_allocator *al, void **p, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap) return true;
    want += want / 2;
    void *q = cbx_mem_resize(al, *p, *cap * size, want * size);
    if (!q) return false;
    *p = q;
    *cap = want;
    return true;
}

static bool reserve_pieces(cbx_changepoint_stream *s, size_t want)
{
    if (want <= s->piece_cap) return true;
    want += want / 2;
    piece *store = cbx_mem_alloc(&s->al, 2 * want * sizeof(*store));
    if (!store) return false;
    if (s->npieces) memcpy(store, s->pieces, s->npieces * sizeof(*store));
    cbx_mem_free(&s->al, s->store, 2 * s->piece_cap * sizeof(*store));
    s->store = s->pieces = store;
    s->spare = store + want;
    s->piece_cap = want;
    return true;
}

/* Capacity for one more point; a parabola more makes two pieces more of each at most, and k parabolas 2
 * k - 1 in all. */
static cbx_status reserve(cbx_changepoint_stream *s, bool again, cbx_err *err)
{
    size_t pieces = again ? 2 * s->n + 8 : 2 * s->npieces + 4;

    if (grow(&s->al, (void **)&s->x, &s->x_cap, s->n + 1, sizeof(*s->x)) &&
        grow(&s->al, (void **)&s->nodes, &s->node_cap, s->n + 2, sizeof(*s->nodes)) && reserve_pieces(s, pieces))
        return CBX_OK;
    return cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", s->n + 1);
}

/* Puts lo..hi of p behind the chain, joined to its end if that is the same parabola. */
static void put(piece *chain, size_t *n, const piece *p, double lo, double hi)
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

/* Where old - new <= 0, an interval since old is the steeper one; empty: lo > hi. */
static void kept_range(const piece *old, const piece *new, double *lo, double *hi)
{
    double a = old->a - new->a, b = old->b - new->b, c = old->c - new->c;

    *lo = INFINITY;
    *hi = -INFINITY;
    if (a <= 0) { /* no point between them: the difference is the constant c, and b is 0 */
        if (c <= 0) *lo = -INFINITY, *hi = INFINITY;
        return;
    }
    double d = b * b - a * c;
    if (!(d > 0)) return;
    double root = sqrt(d);
    *lo = (b - root) / a;
    *hi = (b + root) / a;
}

static void join(cbx_changepoint_stream *s, const piece *new)
{
    piece *chain = s->spare;
    size_t n = 0;

    if (!s->npieces) put(chain, &n, new, -INFINITY, INFINITY);
    for (size_t i = 0; i < s->npieces; i++) {
        const piece *p = &s->pieces[i];
        double lo, hi;
        kept_range(p, new, &lo, &hi);
        lo = fmax(lo, p->lo);
        hi = fmin(hi, p->hi);
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

static void enter(cbx_changepoint_stream *s, size_t change)
{
    piece p = { 0, 0, 0, 0, s->nodes[change].best + s->penalty, change };

    for (size_t i = change; i < s->n; i++) {
        double v = s->x[i] - s->x[0];
        p.a += 1;
        p.b += v;
        p.c += v * v;
    }
    join(s, &p);
}

/* The last of x is new; room is reserved. */
static void step(cbx_changepoint_stream *s)
{
    double v = s->x[s->n - 1] - s->x[0], best = INFINITY;
    size_t last = 0;

    for (size_t i = 0; i < s->npieces; i++) {
        piece *p = &s->pieces[i];
        p->a += 1;
        p->b += v;
        p->c += v * v;
    }
    if (s->n >= s->opts.min_segment) {
        size_t change = s->n - s->opts.min_segment;
        if (isfinite(s->nodes[change].best)) enter(s, change);
    }
    for (size_t i = 0; i < s->npieces; i++) {
        const piece *p = &s->pieces[i];
        double mu = fmin(fmax(p->b / p->a, p->lo), p->hi), f = (p->a * mu - 2 * p->b) * mu + p->c;
        if (f < best) {
            best = f;
            last = p->last;
        }
    }
    s->nodes[s->n] = (node){ best, last }; /* infinite while the series is shorter than a segment */
}

static void restart(cbx_changepoint_stream *s)
{
    size_t n = s->n;

    s->npieces = 0;
    s->nodes[0] = (node){ -s->penalty, 0 };
    for (s->n = 1; s->n <= n; s->n++) step(s);
    s->n = n;
}

cbx_status cbx_changepoint_stream_create(cbx_ctx *ctx, const cbx_changepoint_opts *opts, cbx_changepoint_stream **out,
                                         cbx_err *err)
{
    cbx_changepoint_opts defaults = CBX_CHANGEPOINT_OPTS_INIT;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    if (!opts) opts = &defaults;
    cbx_status st = cbx__changepoint_opts_check(opts, err);
    if (st) return st;
    if (opts->method != CBX_CHANGEPOINT_PELT || opts->cost != CBX_CHANGEPOINT_MEAN)
        return cbx_fail(err, CBX_EUNSUPPORTED, "only PELT of the mean grows with its series");
    cbx_changepoint_stream *s = cbx_mem_zalloc(al, sizeof(*s));
    if (!s) return cbx_fail(err, CBX_ENOMEM, "out of memory for a series");
    s->ctx = ctx;
    s->al = *al;
    s->opts = *opts;
    s->penalty = isnan(opts->penalty) ? INFINITY : opts->penalty;
    s->next_estimate = isnan(opts->penalty) ? 16 : SIZE_MAX;
    st = reserve(s, false, err);
    if (st) {
        cbx_changepoint_stream_free(s);
        return st;
    }
    s->nodes[0] = (node){ -s->penalty, 0 };
    *out = s;
    return CBX_OK;
}

void cbx_changepoint_stream_free(cbx_changepoint_stream *s)
{
    if (!s) return;
    cbx_allocator al = s->al;
    cbx_mem_free(&al, s->x, s->x_cap * sizeof(*s->x));
    cbx_mem_free(&al, s->nodes, s->node_cap * sizeof(*s->nodes));
    cbx_mem_free(&al, s->store, 2 * s->piece_cap * sizeof(*s->store));
    cbx_mem_free(&al, s, sizeof(*s));
}

/* Before the first estimate there is no penalty, and no change either. */
cbx_status cbx_changepoint_stream_append(cbx_changepoint_stream *s, double x, cbx_err *err)
{
    bool again = s->n + 1 >= s->next_estimate;

    if (!isfinite(x)) return cbx_fail(err, CBX_EDOM, "point %zu is not finite", s->n);
    cbx_status st = reserve(s, again, err);
    if (st) return st;
    s->x[s->n] = x;
    if (again) {
        st = cbx__changepoint_penalty(s->ctx, s->x, s->n + 1, &s->opts, &s->penalty, err);
        if (st) return st;
        s->next_estimate = 2 * (s->n + 1);
    }
    s->n++;
    if (again)
        restart(s);
    else if (isfinite(s->penalty))
        step(s);
    return CBX_OK;
}

size_t cbx_changepoint_stream_length(const cbx_changepoint_stream *s) { return s->n; }

void cbx_changepoint_stream_changes(const cbx_changepoint_stream *s, size_t *index, size_t *count)
{
    size_t n = 0;

    if (isfinite(s->penalty) && s->n >= s->opts.min_segment)
        for (size_t t = s->nodes[s->n].last; t; t = s->nodes[t].last) index[n++] = t;
    for (size_t i = 0; i < n / 2; i++) {
        size_t swap = index[i];
        index[i] = index[n - 1 - i];
        index[n - 1 - i] = swap;
    }
    *count = n;
}
