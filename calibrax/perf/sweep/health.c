/**
 * Complaints about the machine; see health.h.
 */
#include "calibrax/perf/sweep/health.h"

#include <math.h>
#include <unistd.h>

#define MAX_STOLEN 0.1 /* share of the launch's time */
#define MIN_TICKS  2   /* one tick is the grain of the counter */

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
