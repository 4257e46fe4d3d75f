/* Hartigan's dip: the distribution with one mode that is nearest to the sample lies under a convex
 * curve up to the mode and a concave one from there.  Both are hulls of the steps of the sample's
 * distribution; the interval that holds the mode is narrowed until the hulls are no farther apart
 * in it than the curves outside are from the steps.  All heights are counted in steps of 1/n.
 *
 * Source: Hartigan & Hartigan, Ann. Statist. 13 (1985) 70-84; the algorithm, P. M. Hartigan, Appl.
 * Statist. 34 (1985) 320-325. */
#include <math.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/sample.h"
#include "calibrax/statistics/series.h"

enum { MAX_DRAWS = 10000000, MAX_VALUES = 1000000 };

/* A hull as the places in the sample that it touches, ascending. */
typedef struct hull {
    size_t *at, n;
} hull;

typedef struct dip_work {
    const double *x; /* sorted */
    hull below, above;
} dip_work;

/* The part of the sample where the mode may be, and a narrower one. */
typedef struct modal {
    size_t low, high, next_low, next_high;
    double apart; /* of the hulls, at most */
} modal;

static void make_hull(const double *x, size_t low, size_t high, bool concave, hull *h)
{
    h->n = 0;
    for (size_t i = low; i <= high; i++) {
        for (; h->n > 1; h->n--) { /* while b is on or beyond the line from a to i */
            size_t a = h->at[h->n - 2], b = h->at[h->n - 1];
            double turn = (double)(b - a) * (x[i] - x[a]) - (double)(i - a) * (x[b] - x[a]);
            if (concave ? turn > 0 : turn < 0) break;
        }
        h->at[h->n++] = i;
    }
}

/* Height of the line from a to b at i, above the step of a. */
static double rise(const double *x, size_t a, size_t b, size_t i)
{
    return x[b] > x[a] ? (double)(b - a) * ((x[i] - x[a]) / (x[b] - x[a])) : 0;
}

/* How far the hulls are apart, seen from each place that one of them touches. */
static void look_apart(const dip_work *w, modal *m)
{
    const hull *g = &w->below, *l = &w->above;
    size_t i = 0, j = 0;

    m->apart = 0;
    while (i + 1 < g->n || j + 1 < l->n) {
        size_t a = g->at[i], b = l->at[j];
        bool take_below = j + 1 == l->n || (i + 1 < g->n && g->at[i + 1] <= l->at[j + 1]);
        double d;
        if (take_below) { /* the next place below, under the stretch above that holds it */
            size_t p = g->at[++i], end = j + 1 < l->n ? l->at[j + 1] : b;
            d = rise(w->x, b, end, p) - ((double)p - (double)b) + 1;
            if (d >= m->apart) *m = (modal){ m->low, m->high, p, end, d };
        } else {
            size_t p = l->at[++j], end = i + 1 < g->n ? g->at[i + 1] : a;
            d = (double)(p - a) + 1 - rise(w->x, a, end, p);
            if (d >= m->apart) *m = (modal){ m->low, m->high, a, p, d };
        }
    }
}

/* The largest distance of the steps from a hull between two places: from the one below before the
 * mode, from the one above behind it. */
static double out_of(const double *x, const hull *h, bool above, size_t from, size_t until)
{
    double max = 1;

    for (size_t k = 0; k + 1 < h->n; k++) {
        size_t a = h->at[k], b = h->at[k + 1];
        if (a < from || b > until) continue;
        for (size_t i = a; i <= b && x[b] > x[a]; i++) {
            double steps = (double)(i - a), r = rise(x, a, b, i);
            max = fmax(max, above ? r - steps + 1 : steps + 1 - r);
        }
    }
    return max;
}

static double dip_of_sorted(dip_work *w, size_t n)
{
    modal m = { .high = n - 1 };
    double max = 1;

    if (n < 4 || w->x[0] == w->x[n - 1]) return 0.5 / (double)n;
    for (;;) {
        make_hull(w->x, m.low, m.high, false, &w->below);
        make_hull(w->x, m.low, m.high, true, &w->above);
        look_apart(w, &m);
        if (m.apart <= max) break;
        max = fmax(max,
                   fmax(out_of(w->x, &w->below, false, 0, m.next_low), out_of(w->x, &w->above, true, m.next_high, n)));
        if (m.next_low <= m.low && m.next_high >= m.high) break;
        m.low = m.next_low;
        m.high = m.next_high;
    }
    return max / (2 * (double)n);
}

cbx_status cbx_stat_test_dip(cbx_ctx *ctx, const double *x, size_t n, size_t draws, uint64_t seed, cbx_test *out,
                             cbx_err *err)
{
    double *sorted, *drawn;
    size_t *hulls, as_large = 0;

    if (!draws || draws > MAX_DRAWS || n > MAX_VALUES)
        return cbx_fail(err, CBX_EINVAL, "the dip test takes 1 to %d draws and at most %d values", MAX_DRAWS,
                        MAX_VALUES);
    cbx_status st = cbx__sample_check(x, n, 1, err);
    if (st) return st;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    if (!cbx_arena_arrays(&arena, CBX_ARRAY(sorted, n), CBX_ARRAY(drawn, n), CBX_ARRAY(hulls, 2 * n)))
        return cbx_fail_nomem(err, "the dip test");
    dip_work w = { sorted, { hulls, 0 }, { hulls + n, 0 } };
    memcpy(sorted, x, n * sizeof *x);
    cbx_stat_sort(sorted, n);
    const double dip = dip_of_sorted(&w, n);
    w.x = drawn;
    for (size_t d = 0; d < draws; d++) {
        /* Sorted uniform values: sums of exponential ones, which need no sorting; the dip does not
         * ask for their scale. */
        cbx_rng rng = cbx_rng_make(seed, d);
        double sum = 0;
        for (size_t i = 0; i < n; i++) drawn[i] = sum -= log1p(-cbx_rng_uniform(&rng));
        as_large += dip_of_sorted(&w, n) >= dip * (1 - 1e-12);
    }
    const double p = (double)(as_large + 1) / (double)(draws + 1);
    *out = (cbx_test){ "hartigan dip", dip, 0, p, 1, p, false };
    return CBX_OK;
}
