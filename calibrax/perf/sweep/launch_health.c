/**
 * Steady epochs of a launch, and complaints about the machine; see launch_health.h.
 */
#include "calibrax/perf/sweep/launch_health.h"

#include <math.h>
#include <unistd.h>

#include "calibrax/statistics/estimate.h"

#define MAX_STOLEN 0.1 /* share of the launch's time */
#define MIN_TICKS  2   /* one tick is the grain of the counter */

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

const char *cbx__launch_complaint(const cbx__launch *l)
{
    const cbx_launch_record *r = &l->record;
    double cpus = fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN)); /* the counter is of all of them */
    double stolen_s = (double)r->steal_ticks / (double)sysconf(_SC_CLK_TCK) / cpus;

    if (isnan(l->median_s)) return NULL;
    if (r->throttles && r->throttles != UINT64_MAX) return "throttled";
    return r->steal_ticks >= MIN_TICKS && stolen_s > MAX_STOLEN * l->wall_s ? "stolen" : NULL;
}

bool cbx__launch_repeats(const cbx__attempt *a)
{
    size_t before = 0;

    for (const cbx__launch *l = a->first; l; l = l->next) before += l->unhealthy && l->next && l->next->retry;
    return 3 * (before + 1) <= a->nlaunches + 2;
}
