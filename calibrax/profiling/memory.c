/*
 * Memory over time and of a call.  The thresholds are those of the Python package; a leak must also
 * rise throughout.
 */
#include "calibrax/profiling/memory.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "calibrax/profiling/procfs.h"

#define MIB       1048576.0
#define MAX_PAIRS 4096

/* Of a pattern or a call. */
#define ADD_HINT(r, ...) snprintf((r)->hint[(r)->nhints++], sizeof(r)->hint[0], __VA_ARGS__)

cbx_status cbx_memory_pattern_of(const cbx_memory_reading *r, size_t n, cbx_memory_pattern *out, cbx_err *err)
{
    cbx_memory_pattern p = { .nreadings = n, .growth_mb = NAN, .max_occupancy = NAN };
    double sum = 0;
    size_t known = 0;

    if (n == 0) return cbx_fail(err, CBX_EINVAL, "no reading of memory");
    for (size_t i = 0; i < n; i++) {
        if (!(isfinite(r[i].used_mb) && r[i].used_mb >= 0))
            return cbx_fail(err, CBX_EDOM, "reading %zu is %g MiB: must be at least 0", i, r[i].used_mb);
        p.peak_mb = fmax(p.peak_mb, r[i].used_mb);
        p.mean_mb += r[i].used_mb / (double)n;
        if (!(r[i].total_mb > 0)) continue;
        p.max_occupancy = fmax(p.max_occupancy, r[i].used_mb / r[i].total_mb);
        sum += r[i].used_mb / r[i].total_mb;
        known++;
    }
    if (n > 1) p.growth_mb = (r[n - 1].used_mb - r[0].used_mb) / (double)(n - 1);
    size_t m = n < MAX_PAIRS ? n : MAX_PAIRS;
    double rises = 0;
    for (size_t j = 1; j < m; j++)
        for (size_t i = 0; i < j; i++) rises += r[j * (n - 1) / (m - 1)].used_mb > r[i * (n - 1) / (m - 1)].used_mb;
    p.rising = m > 1 ? rises / ((double)m * (double)(m - 1) / 2) : NAN;
    p.mean_occupancy = known ? sum / (double)known : NAN;
    p.leaks = n >= 3 && p.growth_mb > CBX_MEMORY_LEAK_MB && p.rising >= CBX_MEMORY_LEAK_RISING;
    p.nearly_full = p.max_occupancy > CBX_MEMORY_NEARLY_FULL;
    p.highly_used = !p.nearly_full && p.mean_occupancy > CBX_MEMORY_HIGHLY_USED;
    if (p.leaks) ADD_HINT(&p, "grows by %.3g MiB a reading, and rises throughout: memory may leak", p.growth_mb);
    if (p.nearly_full)
        ADD_HINT(&p, "%.0f %% were used at the peak: make batches smaller", 100 * p.max_occupancy);
    else if (p.highly_used)
        ADD_HINT(&p, "%.0f %% are used on average: little is left", 100 * p.mean_occupancy);
    *out = p;
    return CBX_OK;
}

/* --- a call --- */

static cbx_status read_memory(cbx__proc_memory *m, cbx_err *err)
{
    malloc_trim(0);
    if (cbx__proc_memory_read(getpid(), m) && m->rss_bytes) return CBX_OK;
    return cbx_fail(err, CBX_EIO, "the memory of this process is unknown: mount /proc");
}

/* Peak of the call: by the kernel's mark if it can be reset, else by samples. */
static cbx_status run_watched(cbx_ctx *ctx, cbx_timed_fn fn, void *user, cbx_memory_of_call *m, cbx_err *err)
{
    const cbx_resource_opts o = { sizeof o, .interval_s = 0.001, .alone = true, .max_samples = 2 };
    cbx_resource_monitor *monitor = NULL;
    cbx_resource_report report;
    cbx__proc_memory after;

    m->peak_by_kernel = cbx__proc_reset_hwm(getpid());
    if (m->peak_by_kernel) {
        fn(user);
        if (!cbx__proc_memory_read(getpid(), &after))
            return cbx_fail(err, CBX_EIO, "the memory of this process became unknown");
        m->peak_mb = (double)after.hwm_bytes / MIB;
        return CBX_OK;
    }
    cbx_status st = cbx_resource_monitor_start(ctx, &o, &monitor, err);
    if (st) return st;
    fn(user);
    st = cbx_resource_monitor_stop(monitor, &report, err);
    if (!st) m->peak_mb = report.summary.peak_rss_mb;
    cbx_resource_monitor_free(monitor);
    return st;
}

cbx_status cbx_memory_measure(cbx_ctx *ctx, cbx_timed_fn fn, void *user, cbx_memory_of_call *out, cbx_err *err)
{
    cbx_memory_of_call m = { 0 };
    cbx__proc_memory before, after;
    cbx_status st = fn ? read_memory(&before, err) : cbx_fail(err, CBX_EINVAL, "no function to watch");

    if (!st) st = run_watched(ctx, fn, user, &m, err);
    if (!st) st = read_memory(&after, err);
    if (st) return st;
    m.baseline_mb = (double)before.rss_bytes / MIB;
    m.peak_mb = fmax(m.peak_mb, m.baseline_mb);
    m.usage_mb = m.peak_mb - m.baseline_mb;
    m.retained_mb = fmax(0, (double)after.rss_bytes / MIB - m.baseline_mb);
    m.freed = m.usage_mb > 0 ? fmax(0, (m.usage_mb - m.retained_mb) / m.usage_mb) : 1;
    if (m.usage_mb > CBX_MEMORY_MUCH_MB) ADD_HINT(&m, "uses %.0f MiB at its peak: process parts", m.usage_mb);
    if (m.freed < CBX_MEMORY_MIN_FREED && m.retained_mb >= CBX_MEMORY_MIN_KEPT)
        ADD_HINT(&m, "retains %.0f %% of its memory: free what is no longer needed", 100 * (1 - m.freed));
    *out = m;
    return CBX_OK;
}
