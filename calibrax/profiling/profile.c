/*
 * One run after the other.  The child stays a zombie until the monitor has had its last look, so that its counters are final there.
 *
 * ru_maxrss of wait4 is at least the memory of the process that started the child (exec keeps the mark of the image before), so it
 * tells something of the child only where it is greater than this program's own mark; else the monitor's VmHWM does.
 */
#include "calibrax/profiling/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calibrax/base/clock.h"

extern char **environ;

#define MIB 1048576.0

static cbx_status start(const cbx_profile_opts *o, pid_t *pid, cbx_err *err)
{
    posix_spawn_file_actions_t actions;
    int fault = posix_spawn_file_actions_init(&actions);

    if (fault) return cbx_fail_errno(err, fault, "cannot start '%s'", o->argv[0]);
    fault = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!fault && !o->show_output)
        fault = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!fault) fault = posix_spawnp(pid, o->argv[0], &actions, NULL, (char *const *)o->argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return fault ? cbx_fail_errno(err, fault, "cannot run '%s'", o->argv[0]) : CBX_OK;
}

static void wait_for_end(pid_t pid)
{
    siginfo_t info;
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
}

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double own_mark_mb(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) ? NAN : (double)u.ru_maxrss / 1024;
}

/* What the kernel knows of the child once it is reaped, and only then. */
static void reap(pid_t pid, cbx_profile_run *r)
{
    struct rusage u = { 0 };
    int status = 0;
    double mark, seen = (double)r->resources.hwm_bytes / MIB;

    while (wait4(pid, &status, 0, &u) < 0 && errno == EINTR) {}
    r->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    r->cpu_user_s = fmax(seconds(u.ru_utime), r->resources.cpu_user_s);
    r->cpu_system_s = fmax(seconds(u.ru_stime), r->resources.cpu_system_s);
    mark = (double)u.ru_maxrss / 1024;
    r->max_rss_mb = mark > own_mark_mb() || seen == 0 ? fmax(mark, seen) : seen;
}

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

static cbx_status watch(cbx_ctx *ctx, const cbx_profile_opts *o, pid_t pid, cbx_resource_monitor **m, cbx_err *err)
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

static cbx_status run_once(cbx_ctx *ctx, const cbx_profile_opts *o, cbx_timeline *trace, cbx_profile_run *out,
                           cbx_err *err)
{
    cbx_profile_run r = { 0 };
    cbx_resource_monitor *m = NULL;
    uint64_t start_ns = cbx_clock_ns(), end_ns;
    pid_t pid = 0;
    cbx_status st = start(o, &pid, err);

    if (st) return st;
    st = watch(ctx, o, pid, &m, err);
    if (st) kill(pid, SIGKILL);
    wait_for_end(pid);
    end_ns = cbx_clock_ns();
    if (m) cbx_resource_monitor_stop(m, &r.resources, NULL);
    reap(pid, &r);
    if (!st && trace) trace_run(trace, o->argv[0], start_ns, end_ns, &r.resources);
    r.resources.samples = NULL;
    r.resources.nsamples = 0;
    cbx_resource_monitor_free(m);
    r.wall_s = 1e-9 * (double)(end_ns - start_ns);
    if (!st && r.exit_status != 0 && !o->ignore_failure)
        st = cbx_fail(err, CBX_ECHILD, "'%s' ended with status %d", o->argv[0], r.exit_status);
    if (!st) *out = r;
    return st;
}

static cbx_status check_opts(const cbx_profile_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_profile_opts of another version");
    if (!o->argv || !o->argv[0]) return cbx_fail(err, CBX_EINVAL, "no command to run");
    if (o->runs < 1 || o->runs > 65536) return cbx_fail(err, CBX_EINVAL, "%zu runs: say 1 to 65536", o->runs);
    if (!(o->interval_s == 0 || (o->interval_s >= 0.001 && o->interval_s <= 3600)))
        return cbx_fail(err, CBX_EINVAL, "the time between looks is %g s: say 0.001 to 3600", o->interval_s);
    return CBX_OK;
}

static cbx_status run_all(cbx_ctx *ctx, const cbx_profile_opts *o, cbx_profile_run *runs, cbx_err *err)
{
    cbx_profile_run aside;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < o->warmup + o->runs && !st; i++) {
        bool counts = i >= o->warmup;
        if (o->stop && *o->stop) return cbx_fail(err, CBX_EINTERRUPTED, "stopped after %zu runs", i);
        st = run_once(ctx, o, counts ? o->trace : NULL, counts ? &runs[i - o->warmup] : &aside, err);
        if (!st && counts && o->energy) cbx_energy_meter_see(o->energy);
    }
    if (st == CBX_ECHILD && o->stop && *o->stop)
        st = cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o->argv[0]);
    return st;
}

cbx_status cbx_profile_command(cbx_ctx *ctx, const cbx_profile_opts *opts, cbx_profile *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_profile_opts o;
    cbx_profile_run *runs;
    cbx_status st = check_opts(opts, err);

    if (st) return st;
    o = *opts;
    if (o.interval_s == 0) o.interval_s = 0.01;
    runs = cbx_mem_calloc(al, o.runs, sizeof *runs);
    if (!runs) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu runs", o.runs);
    if (o.trace) cbx_timeline_name(o.trace, &(cbx_timeline_at){ 0, 1, 0 }, "runs", false);
    st = run_all(ctx, &o, runs, err);
    if (st) {
        cbx_mem_free(al, runs, o.runs * sizeof *runs);
        return st;
    }
    *out = (cbx_profile){ runs, o.runs, *al };
    return CBX_OK;
}

void cbx_profile_clear(cbx_profile *p)
{
    if (!p || !p->runs) return;
    cbx_mem_free(&p->al, p->runs, p->nruns * sizeof *p->runs);
    p->runs = NULL;
    p->nruns = 0;
}
