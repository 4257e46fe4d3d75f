/**
 * Paired ratios: the median of quotients with its interval, the verdict on it, and the p-value of
 * what the verdict claims.
 */
#include "calibrax/perf/sweep/pairing.h"

#include <math.h>

#include "calibrax/analysis/verdict.h"
#include "calibrax/statistics/multiplicity.h"

cbx_row_interval cbx__row_interval(const cbx_interval *iv, const char **reason)
{
    if (iv->level > 0) return (cbx_row_interval){ iv->value, iv->lower, iv->upper, iv->level };
    *reason = "too few launches for an interval";
    return (cbx_row_interval){ iv->value, NAN, NAN, 0 };
}

cbx_status cbx__row_pair(cbx_ctx *ctx, const double *mine, const double *theirs, size_t n, double level, cbx_row *row,
                         cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    size_t below = 0, above = 0;
    cbx_interval iv;
    const cbx_status st = cbx_stat_paired_ratio(ctx, mine, theirs, n, level, &iv, err);

    if (st) return st;
    double *q = cbx_mem_alloc(al, n * sizeof *q);
    if (!q) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu quotients", n);
    for (size_t i = 0; i < n; i++) {
        q[i] = mine[i] / theirs[i];
        below += q[i] < 1;
        above += q[i] > 1;
    }
    /* two-sided for a difference, two one-sided tests for equivalence */
    const cbx_verdict verdict = cbx_verdict_of_ratio(&iv, CBX_VERDICT_MARGIN);
    row->margin_equal = CBX_VERDICT_MARGIN;
    row->p_difference = cbx_stat_sign_test_p(below, above);
    row->p_equivalence = cbx_stat_equivalence_p(q, n, 1 / (1 + CBX_VERDICT_MARGIN), 1 + CBX_VERDICT_MARGIN);
    row->paired = cbx__row_interval(&iv, &row->paired_reason);
    row->verdict = cbx_verdict_name(verdict);
    row->pairs = n;
    row->paired_p = verdict == CBX_VERDICT_EQUIVALENT ? row->p_equivalence : row->p_difference;
    cbx_mem_free(al, q, n * sizeof *q);
    return CBX_OK;
}

/* *l becomes the first launch after its round, of which the median is read. */
static void take_round(const cbx__launch **l, double *median)
{
    const size_t round = (*l)->round;

    *median = NAN;
    for (; *l && (*l)->round == round; *l = (*l)->next)
        if (!isnan((*l)->median_s)) *median = (*l)->median_s;
}

size_t cbx__pair_rounds(const cbx__attempt *a, const cbx__attempt *rival, double *mine, double *theirs)
{
    const cbx__launch *l = a->first, *m = rival->first;
    size_t n = 0;

    while (l && m) {
        double x = NAN, y = NAN;
        if (l->round < m->round)
            take_round(&l, &x);
        else if (m->round < l->round)
            take_round(&m, &y);
        else {
            take_round(&l, &x);
            take_round(&m, &y);
        }
        if (!(x > 0) || !(y > 0)) continue;
        mine[n] = x;
        theirs[n++] = y;
    }
    return n;
}
