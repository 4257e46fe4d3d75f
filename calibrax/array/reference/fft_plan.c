/*
 * Plans: factors of the length, twiddles, chirps, and the few plans that a context keeps.
 *
 * Roots of unity are rounded once: angles are reduced to an octant in integers, sines and cosines
 * taken in long double for 2 sqrt(n) of them, and the others are long double products of two.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/array/reference/fft.h"
#include "calibrax/array/state.h"

typedef struct root {
    long double re, im;
} root;

/* exp(-2 pi i k / n), k < n: the angle reduced to 0..pi/4 exactly. */
static root exact_root(size_t k, size_t n)
{
    const long double pi = 3.14159265358979323846264338327950288L;
    const bool lower = 2 * k > n, left = 4 * (lower ? n - k : k) > n;
    size_t eighths; /* 8 times the index in the first quarter */
    long double c, s;
    bool swap;

    k = lower ? n - k : k;
    eighths = left ? 4 * n - 8 * k : 8 * k;
    swap = eighths > n;
    if (swap) eighths = 2 * n - eighths;
    c = cosl(pi * (long double)eighths / (4 * (long double)n));
    s = sinl(pi * (long double)eighths / (4 * (long double)n));
    return (root){ (left ? -1 : 1) * (swap ? s : c), (lower ? 1 : -1) * (swap ? c : s) };
}

/* The roots of one n: k = high << shift | low. */
typedef struct rooter {
    const cbx_allocator *al;
    size_t n, nlow, nhigh;
    unsigned shift;
    root *low, *high;
} rooter;

static bool rooter_init(rooter *t, const cbx_allocator *al, size_t n)
{
    *t = (rooter){ .al = al, .n = n };
    while ((size_t)1 << 2 * t->shift < n) t->shift++;
    t->nlow = (size_t)1 << t->shift;
    t->nhigh = (n >> t->shift) + 1;
    t->low = cbx_mem_alloc(al, t->nlow * sizeof *t->low);
    t->high = cbx_mem_alloc(al, t->nhigh * sizeof *t->high);
    if (!t->low || !t->high) return false;
    for (size_t i = 0; i < t->nlow; i++) t->low[i] = exact_root(i % n, n);
    for (size_t i = 0; i < t->nhigh; i++) t->high[i] = exact_root((i << t->shift) % n, n);
    return true;
}

static void rooter_clear(rooter *t)
{
    cbx_mem_free(t->al, t->low, t->nlow * sizeof *t->low);
    cbx_mem_free(t->al, t->high, t->nhigh * sizeof *t->high);
}

static cbx__v2 root_of(const rooter *t, size_t k)
{
    const root *a = &t->low[k & (t->nlow - 1)], *b = &t->high[k >> t->shift];
    return (cbx__v2){ (double)(a->re * b->re - a->im * b->im), (double)(a->re * b->im + a->im * b->re) };
}

/* 4, 2, 3, 5, 7, 11 ...; the largest. */
static size_t factor(size_t n, cbx__fft_stage *stages, int *count)
{
    size_t maximum = 1;

    *count = 0;
    for (size_t r = 4; n > 1; r = r == 4 ? 2 : r == 2 ? 3 : r + 2) {
        if (r > CBX__FFT_RADIX_MAX) return n;
        for (; n % r == 0; n /= r) {
            stages[(*count)++].r = r;
            maximum = r;
        }
    }
    return maximum;
}

static void fill_stages(cbx__fft_plan *p, const rooter *t)
{
    cbx__cx *to = p->table;
    size_t s = 1;

    for (int i = 0; i < p->nstages; i++) {
        cbx__fft_stage *g = &p->stages[i];
        g->s = s;
        g->m = p->n / s / g->r;
        g->twiddles = to;
        for (size_t k = 0; k < g->m; k++)
            for (size_t j = 1; j < g->r; j++)
                to[s == 1 ? (j - 1) * g->m + k : k * (g->r - 1) + j - 1] = root_of(t, k * j * s);
        to += g->m * (g->r - 1);
        g->roots = to;
        for (size_t k = 0; k < g->r; k++) *to++ = root_of(t, p->n / g->r * k);
        s *= g->r;
    }
}

static bool make_stages(cbx__fft_plan *p)
{
    rooter t;
    bool good;

    for (int i = 0; i < p->nstages; i++) p->table_count += p->stages[i].r;
    p->table_count += p->n; /* (r - 1) m of a stage, over all of them: n - 1 */
    p->table = cbx_mem_calloc(&p->al, p->table_count, sizeof *p->table);
    good = rooter_init(&t, &p->al, p->n) && p->table;
    if (good) fill_stages(p, &t);
    rooter_clear(&t);
    p->work = p->n;
    return good;
}

static void plan_free(cbx__fft_plan *p)
{
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    if (p->inner) {
        cbx_mem_free(&al, p->chirp, p->n * sizeof *p->chirp);
        cbx_mem_free(&al, p->chirp_ft, p->inner->n * sizeof *p->chirp_ft);
        plan_free(p->inner);
    }
    cbx_mem_free(&al, p->table, p->table_count * sizeof *p->table);
    cbx_mem_free(&al, p->split, (p->n / 2 + 1) * sizeof *p->split);
    cbx_mem_free(&al, p, sizeof *p);
}

/* The smallest length of factors 2, 3 and 5 from n on. */
static size_t smooth_length(size_t n)
{
    size_t best = 1;

    while (best < n) best *= 2;
    for (size_t five = 1; five < best; five *= 5)
        for (size_t odd = five; odd < best; odd *= 3) {
            size_t x = odd;
            while (x < n) x *= 2;
            if (x < best) best = x;
        }
    return best;
}

static cbx__fft_plan *plan_new(const cbx_allocator *al, size_t n);

/* The conjugate chirp, wrapped around the inner length, and transformed. */
static bool make_chirp(cbx__fft_plan *p)
{
    const size_t n = p->n, m = smooth_length(2 * n - 1);
    cbx__cx *wrapped = cbx_mem_calloc(&p->al, 2 * m, sizeof *wrapped);
    rooter t = { .al = &p->al };
    bool good;

    p->inner = plan_new(&p->al, m);
    if (p->inner) {
        p->chirp = cbx_mem_calloc(&p->al, n, sizeof *p->chirp);
        p->chirp_ft = cbx_mem_calloc(&p->al, m, sizeof *p->chirp_ft);
    }
    good = wrapped && p->inner && p->chirp && p->chirp_ft && rooter_init(&t, &p->al, 2 * n);
    for (size_t k = 0, square = 0; good && k < n; k++) { /* k^2 modulo 2 n, by differences */
        p->chirp[k] = root_of(&t, square);
        wrapped[k] = cbx__v2_conj(p->chirp[k]) / (double)m;
        if (k) wrapped[m - k] = wrapped[k];
        square = (square + 2 * k + 1) % (2 * n);
    }
    if (good) cbx__fft_run(p->inner, wrapped, p->chirp_ft, wrapped + m, false);
    rooter_clear(&t);
    cbx_mem_free(&p->al, wrapped, 2 * m * sizeof *wrapped);
    p->work = 3 * m;
    return good;
}

static cbx__fft_plan *plan_new(const cbx_allocator *al, size_t n)
{
    cbx__fft_plan *p = cbx_mem_zalloc(al, sizeof *p);
    bool good;

    if (!p) return NULL;
    p->al = *al;
    p->n = n;
    good = factor(n, p->stages, &p->nstages) <= CBX__FFT_RADIX_MAX ? make_stages(p) : make_chirp(p);
    if (good) return p;
    plan_free(p);
    return NULL;
}

static bool make_split(cbx__fft_plan *p)
{
    rooter t;
    bool good = rooter_init(&t, &p->al, 2 * p->n);

    if (good) p->split = cbx_mem_calloc(&p->al, p->n / 2 + 1, sizeof *p->split);
    good = p->split != NULL;
    for (size_t k = 0; good && k <= p->n / 2; k++) p->split[k] = root_of(&t, k);
    rooter_clear(&t);
    return good;
}

/* ---- the plans of a context, last used first ---- */

typedef struct cache {
    cbx__fft_plan *plan[CBX__FFT_KEPT];
} cache;

static void cache_clear(void *state, CBX__UNUSED const cbx_allocator *al)
{
    for (int i = 0; i < CBX__FFT_KEPT; i++) plan_free(((cache *)state)->plan[i]);
}

static cbx__fft_plan *find(cache *k, size_t n)
{
    for (int i = 0; i < CBX__FFT_KEPT && k->plan[i]; i++) {
        cbx__fft_plan *p = k->plan[i];
        if (p->n != n) continue;
        memmove(k->plan + 1, k->plan, (size_t)i * sizeof *k->plan);
        k->plan[0] = p;
        return p;
    }
    return NULL;
}

static cbx__fft_plan *add(cache *k, const cbx_allocator *al, size_t n)
{
    cbx__fft_plan *p = plan_new(al, n);

    if (!p) return NULL;
    plan_free(k->plan[CBX__FFT_KEPT - 1]);
    memmove(k->plan + 1, k->plan, (CBX__FFT_KEPT - 1) * sizeof *k->plan);
    k->plan[0] = p;
    return p;
}

cbx_status cbx__fft_plan_get(cbx_ctx *ctx, size_t n, bool split, const cbx__fft_plan **out, cbx_err *err)
{
    cache *kept = cbx__state_of(ctx, sizeof *kept, cache_clear);
    cbx__fft_plan *p;

    if (n > SIZE_MAX / 1024)
        return cbx_fail(err, CBX_EOVERFLOW, "a transform of %zu numbers has more twiddles than memory can address", n);
    if (!kept) return cbx_fail(err, CBX_ENOMEM, "no memory for the plans of transforms");
    p = find(kept, n);
    if (!p) p = add(kept, cbx_ctx_allocator(ctx), n);
    if (!p || (split && !p->split && !make_split(p)))
        return cbx_fail(err, CBX_ENOMEM, "no memory for the plan of a transform of %zu numbers", n);
    *out = p;
    return CBX_OK;
}
