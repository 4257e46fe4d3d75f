/*
 * Repeated runs of a command, monitored.
 *
 * The child stays a zombie until the monitor has taken its last sample, so that its counters are
 * final there.
 *
 * ru_maxrss of wait4 is at least the memory of the process that started the child (exec keeps the
 * previous mark), so it is used only if it is greater than this program's own mark, else the
 * monitor's VmHWM.
 */
#include "calibrax/profiling/profile.h"

#include <math.h>
#include <sys/resource.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/process.h"

#define MIB      1048576.0
#define TICK_NS  20000000u
#define GRACE_NS 10000000000u /* between SIGTERM and SIGKILL */

/* A span of its time, and counters of its samples. */
static void trace_run(cbx_timeline *t, const char *name, uint64_t start_ns, uint64_t end_ns,
                      const cbx_resource_report *r)
{
    cbx_timeline_at at = { start_ns, 1, 0 };

    cbx_timeline_span(t, name, "run", &at, end_ns - start_ns, NULL, 0);
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

/* Until it has ended by itself, or the stop flag is set: then it is ended.  Whether it was
 * stopped. */
static bool wait_for_end(const cbx_profile_opts *o, cbx__process *p)
{
    while (!cbx__process_wait(p, TICK_NS)) {
        if (!o->stop || !*o->stop) continue;
        cbx__process_signal(p, SIGTERM);
        if (!cbx__process_wait(p, GRACE_NS)) cbx__process_kill(p);
        cbx__process_wait(p, UINT64_MAX);
        return true;
    }
    return false;
}

static cbx_status run_once(cbx_ctx *ctx, const cbx_profile_opts *o, cbx_timeline *trace, cbx_profile_run *out,
                           cbx_err *err)
{
    cbx__process_opts how = CBX__PROCESS_OPTS_INIT;
    cbx_resource_opts watched = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *monitor = NULL;
    cbx_profile_run r = { 0 };
    bool stopped = false;
    cbx__process p;

    how.argv = o->argv;
    if (o->show_output) how.output = CBX__FD_OURS;
    cbx__process_init(&p);
    uint64_t start_ns = cbx_clock_ns();
    cbx_status st = cbx__process_start(&how, &p, err);
    if (st) return st;
    watched.pid = p.pid;
    watched.interval_s = o->interval_s;
    watched.from_start = true;
    watched.device = o->gpu ? cbx_gpu_sample : NULL;
    watched.device_user = o->gpu;
    st = cbx_resource_monitor_start(ctx, &watched, &monitor, err);
    if (st == CBX_ENOENT) st = CBX_OK; /* it has ended already */
    if (st)
        cbx__process_kill(&p);
    else
        stopped = wait_for_end(o, &p);
    cbx__process_wait(&p, UINT64_MAX);
    uint64_t end_ns = cbx_clock_ns();
    if (monitor) cbx_resource_monitor_stop(monitor, &r.resources, NULL);
    cbx__process_finish(&p);
    /* Available only after the child was reaped. */
    struct rusage own;
    double mark = (double)p.usage.ru_maxrss / 1024, seen = (double)r.resources.hwm_bytes / MIB;
    double own_mark = getrusage(RUSAGE_SELF, &own) ? NAN : (double)own.ru_maxrss / 1024;
    r.wall_s = 1e-9 * (double)(end_ns - start_ns);
    r.exit_status = cbx__process_exit_status(&p);
    r.cpu_user_s = fmax(cbx__seconds_of(p.usage.ru_utime), r.resources.cpu_user_s);
    r.cpu_system_s = fmax(cbx__seconds_of(p.usage.ru_stime), r.resources.cpu_system_s);
    r.max_rss_mb = mark > own_mark || seen == 0 ? fmax(mark, seen) : seen;
    if (!st && trace) trace_run(trace, o->argv[0], start_ns, end_ns, &r.resources);
    cbx_resource_monitor_free(monitor);
    r.resources.samples = NULL;
    r.resources.nsamples = 0;
    if (!st && stopped)
        st = cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o->argv[0]);
    else if (!st && r.exit_status != 0 && !o->ignore_failure)
        st = cbx_fail(err, CBX_ECHILD, "'%s' ended with status %d", o->argv[0], r.exit_status);
    if (!st) *out = r;
    return st;
}

cbx_status cbx_profile_command(cbx_ctx *ctx, const cbx_profile_opts *opts, cbx_profile *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    cbx_profile_run *runs, ignored;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_profile_opts", err);

    if (o.interval_s == 0) o.interval_s = 0.01;
    if (!st && (!o.argv || !o.argv[0])) st = cbx_fail(err, CBX_EINVAL, "no command to run");
    if (!st) st = cbx_check_range("runs", (double)o.runs, 1, 65536, err);
    if (!st) st = cbx_check_range("interval_s", o.interval_s, 0.001, 3600, err);
    if (st) return st;
    runs = cbx_mem_calloc(al, o.runs, sizeof *runs);
    if (!runs) return cbx_fail_nomem(err, "the runs of a command");
    if (o.trace) cbx_timeline_name(o.trace, &(cbx_timeline_at){ 0, 1, 0 }, "runs", false);
    for (size_t i = 0; i < o.warmup + o.runs && !st; i++) {
        bool counts = i >= o.warmup;
        if (o.stop && *o.stop)
            st = cbx_fail(err, CBX_EINTERRUPTED, "stopped after %zu runs", i);
        else
            st = run_once(ctx, &o, counts ? o.trace : NULL, counts ? &runs[i - o.warmup] : &ignored, err);
        if (!st && counts && o.energy) cbx_energy_meter_see(o.energy);
    }
    if (st == CBX_ECHILD && o.stop && *o.stop)
        st = cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o.argv[0]);
    return CBX_FINISH(st, (*out = (cbx_profile){ runs, o.runs, *al }), cbx_mem_free(al, runs, o.runs * sizeof *runs));
}

void cbx_profile_clear(cbx_profile *p)
{
    if (!p || !p->runs) return;
    cbx_mem_free(&p->al, p->runs, p->nruns * sizeof *p->runs);
    p->runs = NULL;
    p->nruns = 0;
}
