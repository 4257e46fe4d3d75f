/* Selection among all pairs.  Rows of the pairs' matrix are sorted, so the pairs at most v are
 * counted in one walk along its edge; bisection over the 2^64 ordered doubles then ends at the
 * wanted pair itself.
 *
 * Johnson & Mizoguchi, SIAM J. Comput. 7 (1978) 147-153, select in such matrices; the bisection is
 * simpler and takes 64 walks. */
#include "calibrax/statistics/pairs.h"

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

static double count_differences(const double *x, size_t n, const double *y, size_t m, double v)
{
    double count = 0;
    size_t j = 0; /* x_i - y_j <= v from j on */

    for (size_t i = 0; i < n; i++) {
        while (j < m && x[i] - y[j] > v) j++;
        count += (double)(m - j);
    }
    return count;
}

static double count_gaps(const double *x, size_t n, double v)
{
    double count = 0;
    size_t i = 0;

    for (size_t j = 1; j < n; j++) {
        while (i < j && x[j] - x[i] > v) i++;
        count += (double)(j - i);
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
    uint64_t low, high; /* the pair wanted lies in [low, high] */

    switch (kind) {
    case CBX__PAIR_MEAN:
        low = order_of(x[0]);
        high = order_of(x[n - 1]);
        break;
    case CBX__PAIR_DIFFERENCE:
        low = order_of(x[0] - y[m - 1]);
        high = order_of(x[n - 1] - y[0]);
        break;
    default: low = order_of(0.0); high = order_of(x[n - 1] - x[0]);
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        double v = at_order(middle);
        double count = kind == CBX__PAIR_MEAN         ? count_means(x, n, v)
                       : kind == CBX__PAIR_DIFFERENCE ? count_differences(x, n, y, m, v)
                                                      : count_gaps(x, n, v);
        if (count >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return at_order(low) + 0.0;
}
