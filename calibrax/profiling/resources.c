/* Resources of a process and its descendants, sampled by a thread at a set rate. */
#include "calibrax/profiling/resources.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/profiling/ticker.h"
#include "calibrax/profiling/tree_watch.h"

struct cbx_resource_monitor {
    cbx_allocator al;
    size_t bytes; /* of this block: the struct, the watch's memory, the samples */
    cbx__watch watch;
    cbx__thinned samples;
    cbx__ticker ticker;
    bool stopped;
    cbx_resource_report report;
};

static bool take_sample(void *monitor)
{
    cbx_resource_monitor *m = monitor;
    cbx_resource_sample s;
    bool alive = cbx__watch_sample(&m->watch, cbx_clock_ns(), &s);
    cbx_resource_sample *place = alive ? cbx__thinned_place(&m->samples) : NULL;
    if (place) *place = s;
    return alive;
}

/* One block: struct, members and numbers, samples, the copy of the folder's name. */
static cbx_resource_monitor *create(const cbx_allocator *al, cbx_resource_opts *o)
{
    size_t watch = (cbx__watch_bytes(o) + 15) / 16 * 16, samples = o->max_samples * sizeof(cbx_resource_sample);
    size_t head = (sizeof(cbx_resource_monitor) + 15) / 16 * 16, text = strlen(o->proc) + 1;
    size_t bytes = head + watch + samples + text;
    cbx_resource_monitor *m = cbx_mem_zalloc(al, bytes);
    char *at = (char *)m;

    if (!m) return NULL;
    m->al = *al;
    m->bytes = bytes;
    m->samples = (cbx__thinned){ at + head + watch, sizeof(cbx_resource_sample), o->max_samples, 0, 1, 0 };
    o->proc = memcpy(at + head + watch + samples, o->proc, text);
    cbx__watch_init(&m->watch, o, at + head);
    return m;
}

cbx_status cbx_resource_monitor_start(cbx_ctx *ctx, const cbx_resource_opts *opts, cbx_resource_monitor **out,
                                      cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_resource_opts o = (cbx_resource_opts)CBX_RESOURCE_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_resource_opts", err);
    if (o.interval_s == 0) o.interval_s = 0.1;
    if (o.max_samples == 0) o.max_samples = 4096;
    if (o.max_processes == 0) o.max_processes = 1024;
    if (o.pid == 0) o.pid = getpid();
    if (!o.proc) o.proc = "/proc";
    if (!st) st = cbx_check_range("interval_s", o.interval_s, 0.001, 3600, err);
    if (!st) st = cbx_check_range("max_samples", (double)o.max_samples, 2, 1 << 24, err);
    if (!st) st = cbx_check_range("max_processes", (double)o.max_processes, 1, 1 << 20, err);

    if (st) return st;
    cbx_resource_monitor *m = create(al, &o);
    if (!m) return cbx_fail_nomem(err, "samples");
    if (!take_sample(m))
        st = cbx_fail(err, CBX_ENOENT, "process %d does not exist", (int)o.pid);
    else
        st = cbx__ticker_start(&m->ticker, m->watch.first_ns, o.interval_s, take_sample, m, err);
    return CBX_FINISH(st, *out = m, cbx_mem_free(al, m, m->bytes));
}

static void stop(cbx_resource_monitor *m)
{
    cbx_resource_report *r = &m->report;

    if (m->stopped) return;
    cbx__ticker_stop(&m->ticker);
    cbx__watch_sum(&m->watch, r);
    r->late = m->ticker.late;
    r->overhead_cpu_s = m->ticker.cpu_s;
    r->overhead_percent = r->summary.duration_sec > 0 ? 100 * m->ticker.cpu_s / r->summary.duration_sec : NAN;
    r->samples = m->samples.rows;
    r->nsamples = m->samples.n;
    m->stopped = true;
}

cbx_status cbx_resource_monitor_stop(cbx_resource_monitor *m, cbx_resource_report *out, cbx_err *err)
{
    (void)err;
    stop(m);
    *out = m->report;
    return CBX_OK;
}

void cbx_resource_monitor_free(cbx_resource_monitor *m)
{
    if (!m) return;
    stop(m);
    cbx_mem_free(&m->al, m, m->bytes);
}
