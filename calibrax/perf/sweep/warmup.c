/**
 * Epochs before the steady state; see warmup.h.
 */
#include "calibrax/perf/sweep/warmup.h"

#include "calibrax/statistics/estimate.h"

cbx_status cbx__launch_settle(cbx_ctx *ctx, cbx__launch *l, cbx_err *err)
{
    const cbx_launch_record *r = &l->record;
    cbx_steady s;
    cbx_status st = cbx_stat_steady(ctx, r->epoch_ns, r->epochs, NULL, &s, NULL, 0, err);

    if (st) return st;
    l->steady = s.kind;
    l->steady_from = s.kind == CBX_STEADY_NONE ? 0 : s.start;
    st = cbx_stat_median(ctx, r->epoch_ns + l->steady_from, r->epochs - l->steady_from, &l->median_s, err);
    l->median_s *= 1e-9;
    return st;
}
