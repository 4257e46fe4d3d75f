/**
 * Shares of a run's time; see budget.h.
 */
#include "calibrax/perf/sweep/budget.h"

#include <math.h>

void cbx__budget_init(cbx__budget *b, double total_s, const cbx__resources *r)
{
    *b = (cbx__budget){ .total_s = total_s, .pooled = r->shared || r->parallel < r->n };
    for (size_t i = 0; i < r->n && !b->pooled; i++) b->lanes[r->list[i].queue]++;
    if (b->pooled) b->lanes[0] = r->shared || !r->parallel ? 1 : r->parallel;
}

void cbx__budget_add(cbx__budget *b, size_t queue) { b->waiting[b->pooled ? 0 : queue]++; }

bool cbx__budget_begin(cbx__budget *b, size_t queue, double elapsed_s, double *share_s)
{
    size_t q = b->pooled ? 0 : queue, lanes = b->lanes[q] ? b->lanes[q] : 1;
    size_t turns = (b->waiting[q] + lanes - 1) / lanes;
    double left = fmax(0, b->total_s - elapsed_s);

    *share_s = !(b->total_s > 0) ? INFINITY : left / (double)(turns ? turns : 1);
    if (b->waiting[q]) b->waiting[q]--;
    return b->begun++ == 0 || *share_s > 0;
}
