/* Selection among all pairs.  Rows of the pairs' matrix are sorted, so the pairs at most v are
 * counted in one walk along its edge; bisection over the 2^64 ordered doubles then ends at the
 * wanted pair itself.
 *
 * Johnson & Mizoguchi, SIAM J. Comput. 7 (1978) 147-153, select in such matrices; the bisection is
 * simpler and takes 64 walks. */
#include "calibrax/statistics/pairs.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

double cbx__pair_count(cbx__pair_kind kind, size_t n, size_t m)
{
    switch (kind) {
    case CBX__PAIR_MEAN: return (double)n * ((double)n + 1) / 2;
    case CBX__PAIR_DIFFERENCE: return (double)n * (double)m;
    case CBX__PAIR_GAP: break;
    }
    return (double)n * ((double)n - 1) / 2;
}

static double count_means(const double *x, size_t n, double v)
{
    double count = 0;
    size_t j = n; /* pairs (i, j-1) and before are at most v */

    for (size_t i = 0; i < n && j > i; i++) {
        while (j > i && 0.5 * x[i] + 0.5 * x[j - 1] > v) j--;
        count += (double)(j - i);
    }
    return count;
}

/* Gaps are the differences x_i - x_j with j < i. */
static double count_differences(const double *x, size_t n, const double *y, size_t m, bool gaps, double v)
{
    double count = 0;
    size_t j = 0; /* x_i - y_j <= v from j on */

    for (size_t i = 0; i < n; i++) {
        const size_t end = gaps ? i : m;
        while (j < end && x[i] - y[j] > v) j++;
        count += (double)(end - j);
    }
    return count;
}

/* Doubles as integers in the same order; -0 and +0 are neighbours. */
static uint64_t order_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double at_order(uint64_t order)
{
    uint64_t bits = order >> 63 ? order & ~((uint64_t)1 << 63) : ~order;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

double cbx__pair_select(cbx__pair_kind kind, const double *x, size_t n, const double *y, size_t m, double k)
{
    const bool means = kind == CBX__PAIR_MEAN, gaps = kind == CBX__PAIR_GAP;

    if (gaps) y = x;
    /* The pair wanted lies in [low, high]. */
    uint64_t low = order_of(means ? x[0] : gaps ? 0 : x[0] - y[m - 1]);
    uint64_t high = order_of(means ? x[n - 1] : x[n - 1] - y[0]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        double v = at_order(middle);
        if ((means ? count_means(x, n, v) : count_differences(x, n, y, m, gaps, v)) >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return at_order(low) + 0.0;
}
