/*
 * The child stays a zombie until the monitor has taken its last sample, so that its counters are final there.
 *
 * ru_maxrss of wait4 is at least the memory of the process that started the child (exec keeps the previous mark), so it is used only
 * if it is greater than this program's own mark, else the monitor's VmHWM.
 */
#include "calibrax/profiling/watched.h"

#include <math.h>
#include <sys/resource.h>

#include "calibrax/base/clock.h"

#define MIB     1048576.0
#define TICK_NS 20000000u

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double own_mark_mb(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) ? NAN : (double)u.ru_maxrss / 1024;
}

static cbx_status watch(cbx_ctx *ctx, const cbx__watched_opts *o, pid_t pid, cbx_resource_monitor **m, cbx_err *err)
{
    cbx_resource_opts r = CBX_RESOURCE_OPTS_INIT;
    cbx_status st;

    r.pid = pid;
    r.interval_s = o->interval_s;
    r.from_start = true;
    r.device = o->gpu ? cbx_gpu_sample : NULL;
    r.device_user = o->gpu;
    st = cbx_resource_monitor_start(ctx, &r, m, err);
    return st == CBX_ENOENT ? CBX_OK : st; /* it has ended already */
}

/* Until it has ended, the time is up, or the stop flag is set. */
static cbx__watched_end wait_for_end(const cbx__watched_opts *o, cbx__process *p, uint64_t start_ns)
{
    while (!cbx__process_wait(p, TICK_NS)) {
        if (o->stop && *o->stop) return CBX__WATCHED_STOPPED;
        if (o->timeout_s > 0 && 1e-9 * (double)(cbx_clock_ns() - start_ns) >= o->timeout_s) return CBX__WATCHED_TIMEOUT;
    }
    return CBX__WATCHED_ITSELF;
}

static void end(const cbx__watched_opts *o, cbx__process *p, cbx__watched *w)
{
    w->end = wait_for_end(o, p, w->start_ns);
    if (w->end == CBX__WATCHED_ITSELF) return;
    cbx__process_signal(p, SIGTERM);
    w->killed = !cbx__process_wait(p, (uint64_t)(1e9 * fmax(o->grace_s, 0)));
    if (!w->killed) return;
    cbx__process_kill(p);
    cbx__process_wait(p, UINT64_MAX);
}

cbx_status cbx__watched_run(cbx_ctx *ctx, const cbx__watched_opts *opts, cbx__watched *out, cbx_err *err)
{
    cbx__watched w = { .start_ns = cbx_clock_ns() };
    cbx__process p;
    cbx_status st;

    cbx__process_init(&p);
    st = cbx__process_start(&opts->process, &p, err);
    if (st) return st;
    st = watch(ctx, opts, p.pid, &w.monitor, err);
    if (st)
        cbx__process_kill(&p);
    else
        end(opts, &p, &w);
    cbx__process_wait(&p, UINT64_MAX);
    w.end_ns = cbx_clock_ns();
    w.run.wall_s = 1e-9 * (double)(w.end_ns - w.start_ns);
    if (w.monitor) cbx_resource_monitor_stop(w.monitor, &w.run.resources, NULL);
    cbx__process_finish(&p);
    /* Available only after the child was reaped. */
    double mark = (double)p.usage.ru_maxrss / 1024, seen = (double)w.run.resources.hwm_bytes / MIB;
    w.run.exit_status = cbx__process_exit_status(&p);
    w.run.cpu_user_s = fmax(seconds(p.usage.ru_utime), w.run.resources.cpu_user_s);
    w.run.cpu_system_s = fmax(seconds(p.usage.ru_stime), w.run.resources.cpu_system_s);
    w.run.max_rss_mb = mark > own_mark_mb() || seen == 0 ? fmax(mark, seen) : seen;
    cbx__process_last_words(&p, w.last_words, sizeof w.last_words);
    if (st)
        cbx__watched_clear(&w);
    else
        *out = w;
    return st;
}

void cbx__watched_clear(cbx__watched *w)
{
    cbx_resource_monitor_free(w->monitor);
    w->monitor = NULL;
    w->run.resources.samples = NULL;
    w->run.resources.nsamples = 0;
}

void cbx__watched_trace(cbx_timeline *t, const char *name, const cbx__watched *w)
{
    const cbx_resource_report *r = &w->run.resources;
    cbx_timeline_at at = { w->start_ns, 1, 0 };

    cbx_timeline_span(t, name, "run", &at, w->end_ns - w->start_ns, NULL, 0);
    for (size_t i = 0; i < r->nsamples; i++) {
        const cbx_resource_sample *s = &r->samples[i];
        const cbx_timeline_arg memory = { "MiB", NULL, (double)s->rss_bytes / MIB },
                               cpu = { "percent", NULL, s->cpu_percent };
        const cbx_timeline_arg counts[] = { { "threads", NULL, s->threads }, { "processes", NULL, s->processes } };
        at.time_ns = s->time_ns;
        cbx_timeline_counter(t, "resident", &at, &memory, 1);
        cbx_timeline_counter(t, "CPU", &at, &cpu, 1);
        cbx_timeline_counter(t, "threads", &at, counts, 2);
    }
}
