/* Null distributions of the two rank sums, by counting; without ties. */
#include "calibrax/statistics/rank_limits.h"

#include <string.h>

#include "calibrax/statistics/sample.h"

/* Largest r with 2 P(S < r) <= 1 - level, by the ways of each S = 0, 1, ...; 0 if no r has it. */
static double rank_of_ways(const double *ways, size_t length, double level, double *achieved)
{
    double total = 0, below = 0;
    size_t r = 0;

    for (size_t i = 0; i < length; i++) total += ways[i];
    while (r < length / 2 && 2 * (below + ways[r]) / total <= (1 - level) * (1 + 1e-14)) below += ways[r++];
    *achieved = r ? 1 - 2 * below / total : 0;
    return (double)r;
}

/* Signs of ranks 1..n. */
cbx_status cbx__signed_rank_limit(cbx_ctx *ctx, size_t n, double level, double *rank, double *achieved, cbx_err *err)
{
    size_t length = n * (n + 1) / 2 + 1;
    double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, length, &ways, err);

    if (st) return st;
    memset(ways, 0, length * sizeof(double));
    ways[0] = 1;
    for (size_t i = 1; i <= n; i++)
        for (size_t s = length; s-- > i;) ways[s] += ways[s - i];
    *rank = rank_of_ways(ways, length, level, achieved);
    cbx__doubles_free(ctx, ways, length);
    return CBX_OK;
}

/* Pairs above in all splits of n + m: U_{n,m}, as the coefficients of the Gauss binomial, built by
 * multiplying and dividing. */
cbx_status cbx__shift_limit(cbx_ctx *ctx, size_t n, size_t m, double level, double *rank, double *achieved,
                            cbx_err *err)
{
    size_t length = n * m + 1, k = n < m ? n : m, other = n < m ? m : n;
    double *ways = NULL;
    cbx_status st = cbx__doubles(ctx, (k + 1) * length, &ways, err);

    if (st) return st;
    memset(ways, 0, (k + 1) * length * sizeof(double));
    ways[0] = 1;                        /* ways[j][u]: j of the smaller sample placed, u pairs above */
    for (size_t i = 0; i <= other; i++) /* values of the other sample that lie below the next ones placed */
        for (size_t j = 1; j <= k; j++)
            for (size_t u = i; u < length; u++) ways[j * length + u] += ways[(j - 1) * length + u - i];
    *rank = rank_of_ways(ways + k * length, length, level, achieved);
    cbx__doubles_free(ctx, ways, (k + 1) * length);
    return CBX_OK;
}
