/* Group-sequential sign tests: the fair walk with absorbing looks, and the scale that makes its
 * error what was asked for. */
#include "calibrax/statistics/looks.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/base/options.h"
#include "calibrax/statistics/estimate.h"

#define GROWTH     1.5
#define FLATNESS   0.25  /* weights grow as n_j to this power: 0 is Pocock's design, 1/2 and more favour the end */
#define NEGLIGIBLE 1e-25 /* mass at an end of the walk; it is counted as error */
#define STEPS      60    /* of the bisection */
#define MIN        1e-15 /* no interval exists at such a level, and 1 less it is not 1 */
#define SLACK      1e-12 /* so that a p-value stays within its own nominal level, however the product rounds */

/* Largest k with 2 P(Bin(n, 1/2) <= k) <= nominal; -1: none. */
static long boundary(size_t n, double nominal)
{
    long low = -1, high = (long)n;

    while (high - low > 1) {
        long middle = low + (high - low) / 2;
        if (2 * cbx_stat_binomial_half_cdf(middle, n) <= nominal)
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct walk {
    double mass[CBX_LOOKS_PAIRS + 1]; /* of k pairs below 1, low <= k <= high */
    size_t n;
    long low, high;
    double absorbed;
} walk;

static void step(walk *w)
{
    w->mass[w->high + 1] = 0;
    for (long k = ++w->high; k > w->low; k--) w->mass[k] = (w->mass[k] + w->mass[k - 1]) / 2;
    w->mass[w->low] /= 2;
    w->n++;
    for (; w->low < w->high && w->mass[w->low] < NEGLIGIBLE; w->low++) w->absorbed += w->mass[w->low];
    for (; w->low < w->high && w->mass[w->high] < NEGLIGIBLE; w->high--) w->absorbed += w->mass[w->high];
}

/* Chance that any look errs. */
static double error_of(const cbx_looks *l, double scale)
{
    walk w = { .n = 0, .low = 0, .high = 0, .absorbed = 0 };

    w.mass[0] = 1;
    for (size_t j = 0; j < l->count; j++) {
        while (w.n < l->pairs[j]) step(&w);
        long b = boundary(w.n, fmin(1, scale * l->weight[j])); /* what lies at or beyond it goes */
        for (; w.low <= w.high && w.low <= b; w.low++) w.absorbed += w.mass[w.low];
        for (; w.low <= w.high && w.high >= (long)w.n - b; w.high--) w.absorbed += w.mass[w.high];
        if (w.low > w.high) return 1;
    }
    return fmin(1, w.absorbed);
}

cbx_status cbx_looks_plan(size_t first, size_t last, double alpha, cbx_looks *out, cbx_err *err)
{
    cbx_looks l = { .alpha = alpha };
    double next = (double)first;

    if (first < 1 || last < first || last > CBX_LOOKS_PAIRS)
        return cbx_fail(err, CBX_EINVAL, "looks from %zu to %zu pairs: 1 <= first <= last <= %d", first, last,
                        CBX_LOOKS_PAIRS);
    cbx_status st = cbx_check_level("alpha", alpha, err);
    if (st) return st;
    double growth = fmax(GROWTH, pow((double)last / (double)first, 1.0 / (CBX_LOOKS_MAX - 1)));
    for (; l.count + 1 < CBX_LOOKS_MAX && next < (double)last; next *= growth) l.pairs[l.count++] = (size_t)next;
    if (l.count && l.pairs[l.count - 1] == last) l.count--;
    l.pairs[l.count++] = last;
    for (size_t j = 0; j < l.count; j++) l.weight[j] = pow((double)l.pairs[j] / (double)last, FLATNESS);
    /* Largest value for which `error` of it is at most alpha; it rises with it. */
    double low = 0, high = 1 / l.weight[0];
    for (size_t j = 1; j < l.count; j++) high = fmin(high, 1 / l.weight[j]);
    for (int i = 0; i < STEPS && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (error_of(&l, middle) <= l.alpha)
            low = middle;
        else
            high = middle;
    }
    l.scale = low;
    l.error = error_of(&l, low);
    *out = l;
    return CBX_OK;
}

cbx_status cbx_looks_end(cbx_looks *l, size_t done, size_t pairs, cbx_err *err)
{
    cbx_looks e = *l;
    double low = 0, high = 1 / e.scale;

    if (done >= CBX_LOOKS_MAX || done > l->count || pairs > CBX_LOOKS_PAIRS || pairs < 1 ||
        (done && pairs <= l->pairs[done - 1]))
        return cbx_fail(err, CBX_EINVAL, "%zu looks cannot be ended at %zu pairs", done, pairs);
    e.pairs[done] = pairs;
    e.count = done + 1;
    for (int i = 0; i < STEPS; i++) {
        e.weight[done] = (low + high) / 2;
        if (error_of(&e, e.scale) <= e.alpha)
            low = e.weight[done];
        else
            high = e.weight[done];
    }
    e.weight[done] = fmax(low, MIN);
    e.error = error_of(&e, e.scale);
    *l = e;
    return CBX_OK;
}

double cbx_looks_level(const cbx_looks *l, size_t j)
{
    /* no p-value lies between alpha and a nominal level above it: one look alone would err more
     * often than all may */
    return j < l->count ? 1 - fmin(l->alpha, fmax(l->scale * l->weight[j], MIN)) : 1;
}

double cbx_looks_p(const cbx_looks *l, size_t j, double p)
{
    return j < l->count ? error_of(l, p / l->weight[j] * (1 + SLACK)) : 1;
}
