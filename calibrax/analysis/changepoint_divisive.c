/* E-divisive: the split of a segment with the largest energy distance between its parts, q = n m /
 * (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|), kept if few permutations of the segment reach as
 * much. Sums of distances follow the split point by point, so a segment takes n^2 steps and no
 * matrix. */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/changepoint_parts.h"
#include "calibrax/base/rng.h"

typedef struct divide {
    const cbx_changepoint_opts *o;
    double *work; /* a permuted segment */
    size_t *order;
    uint64_t stream; /* one a permutation test */
    size_t *index, count;
} divide;

static double energy(double within_x, double within_y, double between, double n, double m)
{
    double x = n > 1 ? 2 * within_x / (n * (n - 1)) : 0, y = m > 1 ? 2 * within_y / (m * (m - 1)) : 0;
    return n * m / (n + m) * (2 * between / (n * m) - x - y);
}

/* Sums over pairs: all to the right at first, then point t goes to the left. */
static double best_energy(const double *x, size_t n, size_t min, size_t *at)
{
    double left = 0, right = 0, between = 0, best = -INFINITY;

    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) right += fabs(x[i] - x[k]);
    for (size_t t = 0; t + min < n; t++) {
        double to_left = 0, to_right = 0, q;
        for (size_t k = 0; k < t; k++) to_left += fabs(x[t] - x[k]);
        for (size_t k = t + 1; k < n; k++) to_right += fabs(x[t] - x[k]);
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if (t + 1 < min) continue;
        q = energy(left, right, between, (double)(t + 1), (double)(n - t - 1));
        if (q > best) {
            best = q;
            *at = t + 1;
        }
    }
    return best;
}

/* Stops as soon as too many permutations have reached q. */
static bool significant(divide *d, const double *x, size_t n, double q)
{
    size_t reached = 0, allowed = (size_t)floor(d->o->alpha * (double)(d->o->permutations + 1) + 1e-9), at;

    if (!allowed) return false; /* even p = 1 / (permutations + 1) is more than alpha */
    for (size_t k = 0; k < d->o->permutations; k++) {
        cbx_rng rng = cbx_rng_make(d->o->seed, d->stream++);
        cbx_rng_permutation(&rng, n, d->order);
        for (size_t i = 0; i < n; i++) d->work[i] = x[d->order[i]];
        reached += best_energy(d->work, n, d->o->min_segment, &at) >= q;
        if (reached + 1 > allowed) return false;
    }
    return true;
}

static void divide_segment(divide *d, const double *x, size_t a, size_t b)
{
    while (b - a >= 2 * d->o->min_segment && b - a >= 2) {
        size_t t = 0;
        double q = best_energy(x + a, b - a, d->o->min_segment, &t);
        if (!(q > 0) || !significant(d, x + a, b - a, q)) return;
        t += a;
        d->index[d->count++] = t;
        if (t - a < b - t) {
            divide_segment(d, x, a, t);
            a = t;
        } else {
            divide_segment(d, x, t, b);
            b = t;
        }
    }
}

cbx_status cbx__e_divisive(cbx_ctx *ctx, const double *x, size_t n, const cbx_changepoint_opts *o, size_t *index,
                           size_t *count, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    divide d = { .o = o, .index = index };
    cbx_status st = CBX_OK;

    d.work = cbx_mem_calloc(al, n, sizeof(*d.work));
    d.order = cbx_mem_calloc(al, n, sizeof(*d.order));
    if (d.work && d.order) {
        divide_segment(&d, x, 0, n);
        cbx__sort_indices(index, d.count);
        *count = d.count;
    } else {
        st = cbx_fail(err, CBX_ENOMEM, "out of memory for a series of %zu points", n);
    }
    cbx_mem_free(al, d.work, n * sizeof(*d.work));
    cbx_mem_free(al, d.order, n * sizeof(*d.order));
    return st;
}
