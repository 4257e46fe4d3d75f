/*
 * The tree and its sums.  Formats: proc(5).  The I/O of a waited-for child is added to its parent's
 * (the kernel's kernel/exit.c, wait_task_zombie), CPU time and faults likewise, as cutime, cstime,
 * cminflt, cmajflt.
 */
#include "calibrax/profiling/tree_watch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/idioms.h"
#include "calibrax/profiling/gpu.h"
#include "calibrax/profiling/procfs.h"

#define MAX_STRANGERS    8192
#define MAX_PENDING      4096
#define SAMPLES_PER_SCAN 16 /* strangers are read again after so many samples */
#define MIB              1048576.0

/* --- counts --- */

#define COUNTS (sizeof(cbx__counts) / sizeof(uint64_t))

static void add_growth(cbx__counts *sum, const cbx__counts *now, const cbx__counts *base)
{
    uint64_t *s = (uint64_t *)sum;
    const uint64_t *n = (const uint64_t *)now, *b = (const uint64_t *)base;
    for (size_t i = 0; i < COUNTS; i++) s[i] += n[i] > b[i] ? n[i] - b[i] : 0;
}

static void raise_to(cbx__counts *max, const cbx__counts *now)
{
    uint64_t *m = (uint64_t *)max;
    const uint64_t *n = (const uint64_t *)now;
    for (size_t i = 0; i < COUNTS; i++) m[i] = n[i] > m[i] ? n[i] : m[i];
}

static cbx__counts counts_so_far(const cbx__watch *w)
{
    cbx__counts sum = w->gone;
    for (size_t i = 0; i < w->nmembers; i++) add_growth(&sum, &w->members[i].own, &w->members[i].base);
    raise_to(&sum, &w->max);
    return sum;
}

/* --- one process --- */

static void add_switches(const char *status, cbx__counts *c)
{
    uint64_t v = 0;
    if (cbx__proc_field(status, "voluntary_ctxt_switches", &v)) c->voluntary += v;
    v = 0;
    if (cbx__proc_field(status, "nonvoluntary_ctxt_switches", &v)) c->involuntary += v;
}

/* The status file of a process has the switches of its first thread only. */
static void read_switches(const cbx__watch *w, pid_t pid, cbx__counts *c)
{
    char path[512], name[64], text[4096];

    snprintf(path, sizeof path, "%.400s/%d/task", w->opts.proc, (int)pid);
    DIR *d = opendir(path);
    for (pid_t task; (task = cbx__proc_next(d));) {
        snprintf(name, sizeof name, "task/%d/status", (int)task);
        if (cbx__proc_read_of(w->opts.proc, pid, name, text, sizeof text)) add_switches(text, c);
    }
}

static void read_io(cbx__watch *w, cbx__member *m)
{
    char text[1024];
    if (!cbx__proc_read_of(w->opts.proc, m->pid, "io", text, sizeof text)) {
        w->io_refused = w->io_refused || m->alive;
        return;
    }
    cbx__proc_field(text, "rchar", &m->with.rchar);
    cbx__proc_field(text, "wchar", &m->with.wchar);
    cbx__proc_field(text, "read_bytes", &m->with.read_bytes);
    cbx__proc_field(text, "write_bytes", &m->with.write_bytes);
}

/* Counters of a member from its stat line and its other files. */
static void read_member(cbx__watch *w, cbx__member *m, const cbx__proc_stat *s)
{
    char text[4096];
    cbx__counts own = { 0 };
    bool waited = !w->opts.alone;

    m->parent = s->parent;
    m->present = true;
    m->alive = s->state != 'Z' && s->state != 'X';
    m->threads = m->alive ? s->threads : 0;
    m->rss_bytes = 0;
    if (m->alive && cbx__proc_read_of(w->opts.proc, m->pid, "status", text, sizeof text)) {
        cbx__proc_status_bytes(text, "VmRSS", &m->rss_bytes);
        cbx__proc_status_bytes(text, "VmHWM", &m->hwm_bytes);
        if (s->threads > 1)
            read_switches(w, m->pid, &own);
        else
            add_switches(text, &own);
    }
    own.user_ticks = s->user_ticks;
    own.system_ticks = s->system_ticks;
    own.minor_faults = s->minor_faults;
    own.major_faults = s->major_faults;
    raise_to(&m->own, &own); /* switches of ended threads stay counted */
    m->with.user_ticks = s->user_ticks + waited * s->child_user_ticks;
    m->with.system_ticks = s->system_ticks + waited * s->child_system_ticks;
    m->with.minor_faults = s->minor_faults + waited * s->child_minor_faults;
    m->with.major_faults = s->major_faults + waited * s->child_major_faults;
    read_io(w, m);
}

/* --- the tree --- */

static void add_member(cbx__watch *w, pid_t pid, const cbx__proc_stat *s)
{
    cbx__member *m = &w->members[w->nmembers];

    w->peaks.processes_seen++;
    *m = (cbx__member){ .pid = pid, .start_ticks = s->start_ticks };
    w->nmembers++;
    read_member(w, m, s);
    if (w->nsamples == 0 && !w->opts.from_start) m->base = m->own;
}

static bool is_member(const cbx__watch *w, pid_t pid)
{
    for (size_t i = 0; i < w->nmembers; i++)
        if (w->members[i].pid == pid) return true;
    return false;
}

/* Members of the last sample that are still the same process; the others are added to gone. */
static void refresh_members(cbx__watch *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->nmembers; i++) {
        cbx__member *m = &w->members[i];
        cbx__proc_stat s;
        if (cbx__proc_stat_of(w->opts.proc, m->pid, &s) && s.start_ticks == m->start_ticks) {
            read_member(w, m, &s);
            w->members[kept++] = *m;
        } else {
            add_growth(&w->gone, &m->own, &m->base);
        }
    }
    w->nmembers = kept;
}

CBX_BY_VALUE(by_number, pid_t)

static void add_stranger(cbx__watch *w, pid_t pid)
{
    pid_t *list = w->strangers[1];
    size_t n = w->nstrangers[1], i = n;
    if (n == MAX_STRANGERS) return;
    for (; i > 0 && list[i - 1] > pid; i--) list[i] = list[i - 1]; /* /proc is nearly always in order */
    list[i] = pid;
    w->nstrangers[1]++;
}

/* A child of a member becomes one; another process waits, as its parent may become one.
 * @return whether it was a child that is watched now */
static bool place(cbx__watch *w, pid_t pid, pid_t parent, uint32_t *left_out)
{
    bool fits = w->nmembers < w->opts.max_processes;
    cbx__proc_stat s;

    if (!is_member(w, parent)) {
        if (w->npending == MAX_PENDING) return false;
        w->pending[2 * w->npending] = pid;
        w->pending[2 * w->npending + 1] = parent;
        w->npending++;
        return false;
    }
    *left_out += !fits;
    if (fits && cbx__proc_stat_of(w->opts.proc, pid, &s)) add_member(w, pid, &s);
    return fits;
}

static void find_children(cbx__watch *w)
{
    uint32_t left_out = 0;
    DIR *d = opendir(w->opts.proc);
    pid_t *old = w->strangers[0];
    bool scans = w->nsamples % SAMPLES_PER_SCAN == 0 || !w->nstrangers[0];

    if (!d) return;
    w->npending = w->nstrangers[1] = 0;
    for (pid_t pid; (pid = cbx__proc_next(d));) {
        cbx__proc_stat s;
        if (is_member(w, pid)) continue;
        if (!scans && bsearch(&pid, old, w->nstrangers[0], sizeof pid, by_number))
            add_stranger(w, pid);
        else if (cbx__proc_stat_of(w->opts.proc, pid,
                                   &s)) /* a new process: a child of a member, or possibly a grandchild */
            place(w, pid, s.parent, &left_out);
    }
    /* Repeats until no more are found: a parent may have a greater number than its child. */
    for (bool found = true; found;) {
        size_t n = w->npending;
        found = false;
        w->npending = 0;
        for (size_t i = 0; i < n; i++) found |= place(w, w->pending[2 * i], w->pending[2 * i + 1], &left_out);
    }
    for (size_t i = 0; i < w->npending; i++) add_stranger(w, w->pending[2 * i]);
    w->strangers[0] = w->strangers[1];
    w->strangers[1] = old;
    w->nstrangers[0] = w->nstrangers[1];
    if (left_out > w->peaks.left_out) w->peaks.left_out = left_out;
}

/* --- one sample --- */

static double read_pss(cbx__watch *w)
{
    uint64_t start = cbx_clock_ns(), bytes, sum = 0;
    char text[2048];

    if (!w->opts.pss || w->pss_stopped) return NAN;
    for (size_t i = 0; i < w->nmembers; i++) {
        if (!w->members[i].alive) continue;
        if (!cbx__proc_read_of(w->opts.proc, w->members[i].pid, "smaps_rollup", text, sizeof text)) continue;
        if (cbx__proc_status_bytes(text, "Pss", &bytes)) sum += bytes;
    }
    w->pss_stopped = (double)(cbx_clock_ns() - start) > 0.1e9 * w->opts.interval_s;
    return sum ? (double)sum : NAN;
}

static void account(cbx__watch *w, cbx_resource_sample *s)
{
    cbx__counts with = { 0 }, growth = { 0 }, none = { 0 }, sum;

    for (size_t i = 0; i < w->nmembers; i++) add_growth(&with, &w->members[i].with, &none);
    if (w->nsamples == 0 && !w->opts.from_start) w->base = with;
    add_growth(&growth, &with, &w->base);
    raise_to(&w->max, &growth);
    sum = counts_so_far(w);
    s->cpu_user_s = w->tick_s * (double)sum.user_ticks;
    s->cpu_system_s = w->tick_s * (double)sum.system_ticks;
    double cpu = s->cpu_user_s + s->cpu_system_s;
    s->cpu_percent = w->nsamples && s->time_ns > w->last_ns
                         ? 100 * (cpu - w->last_cpu_s) / (1e-9 * (double)(s->time_ns - w->last_ns))
                         : NAN;
    w->last_cpu_s = cpu;
}

static void keep_peaks(cbx__watch *w, const cbx_resource_sample *s)
{
    cbx_resource_report *p = &w->peaks;

    if (w->nsamples == 0) {
        w->first_rss = s->rss_bytes;
        w->first_ns = s->time_ns;
    }
    w->last_rss = s->rss_bytes;
    w->rss_sum += (double)s->rss_bytes;
    p->summary.peak_rss_mb = fmax(p->summary.peak_rss_mb, (double)s->rss_bytes / MIB);
    p->peak_pss_bytes = fmax(p->peak_pss_bytes, s->pss_bytes);
    p->peak_cpu_percent = fmax(p->peak_cpu_percent, s->cpu_percent);
    if (s->threads > p->peak_threads) p->peak_threads = s->threads;
    if (s->processes > p->peak_processes) p->peak_processes = s->processes;
    w->nsamples++;
}

bool cbx__watch_sample(cbx__watch *w, uint64_t now_ns, cbx_resource_sample *out)
{
    cbx_resource_sample s = { .time_ns = now_ns };
    cbx__proc_stat root;

    if (w->nsamples == 0) {
        if (!cbx__proc_stat_of(w->opts.proc, w->opts.pid, &root)) return false;
        add_member(w, w->opts.pid, &root);
    } else {
        refresh_members(w);
    }
    if (!w->opts.alone && w->nmembers) find_children(w);
    w->peaks.ended = w->nmembers == 0 || w->members[0].pid != w->opts.pid || !w->members[0].alive;
    for (size_t i = 0; i < w->nmembers; i++) {
        const cbx__member *m = &w->members[i];
        s.rss_bytes += m->rss_bytes;
        s.threads += (uint32_t)m->threads;
        s.processes += m->alive;
        if (m->hwm_bytes > w->peaks.hwm_bytes) w->peaks.hwm_bytes = m->hwm_bytes;
    }
    s.pss_bytes = read_pss(w);
    account(w, &s);
    w->end_ns = now_ns;
    if (s.processes == 0) return false;
    cbx_resource_report *p = &w->peaks;
    cbx_resource_device d = { NAN, NAN, NAN, NAN, NAN, NAN, 0 };
    size_t n = 0;
    for (size_t i = 0; w->opts.device && i < w->nmembers; i++)
        if (w->members[i].alive) w->alive[n++] = w->members[i].pid;
    if (w->opts.device) {
        w->opts.device(w->opts.device_user, w->alive, n, &d);
        w->device_known += !isnan(d.mem_mb) || !isnan(d.temperature_c) || !isnan(d.util);
        w->device_slowed += cbx_gpu_is_slowed(d.throttle);
    }
    s.gpu_mem_mb = d.mem_mb;
    s.gpu_util = d.util;
    s.gpu_clock_mhz = d.clock_mhz;
    s.gpu_power_w = d.power_w;
    s.gpu_temperature_c = d.temperature_c;
    s.gpu_tree_mem_mb = d.tree_mem_mb;
    s.gpu_throttle = d.throttle;
    p->summary.peak_gpu_mem_mb = fmax(p->summary.peak_gpu_mem_mb, d.mem_mb);
    p->peak_gpu_temperature_c = fmax(p->peak_gpu_temperature_c, d.temperature_c);
    p->peak_gpu_tree_mem_mb = fmax(p->peak_gpu_tree_mem_mb, d.tree_mem_mb);
    p->gpu_throttle |= d.throttle;
    for (int i = 0; i < 3; i++) {
        double v = i == 0 ? d.util : i == 1 ? d.clock_mhz : d.power_w;
        if (isnan(v)) continue;
        w->device_sum[i] += v;
        w->device_n[i]++;
    }
    keep_peaks(w, &s);
    w->last_ns = now_ns;
    *out = s;
    return true;
}

/* --- start and report --- */

size_t cbx__watch_bytes(const cbx_resource_opts *opts)
{
    return opts->max_processes * sizeof(cbx__member) +
           (2 * MAX_STRANGERS + 2 * MAX_PENDING + opts->max_processes) * sizeof(pid_t);
}

void cbx__watch_init(cbx__watch *w, const cbx_resource_opts *opts, void *memory)
{
    *w = (cbx__watch){ .opts = *opts, .members = memory };
    w->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    w->strangers[0] = (pid_t *)(w->members + opts->max_processes);
    w->strangers[1] = w->strangers[0] + MAX_STRANGERS;
    w->pending = w->strangers[1] + MAX_STRANGERS;
    w->alive = w->pending + 2 * MAX_PENDING;
    w->peaks.peak_pss_bytes = w->peaks.peak_cpu_percent = w->peaks.summary.peak_gpu_mem_mb = NAN;
    w->peaks.peak_gpu_temperature_c = w->peaks.peak_gpu_tree_mem_mb = NAN;
}

static double mean_of(double sum, uint64_t n) { return n ? sum / (double)n : NAN; }

void cbx__watch_sum(const cbx__watch *w, cbx_resource_report *out)
{
    cbx_resource_report r = w->peaks;
    cbx__counts c = counts_so_far(w);
    double seconds = 1e-9 * (double)(w->last_ns - w->first_ns);

    r.summary.mean_rss_mb = mean_of(w->rss_sum, w->nsamples) / MIB;
    r.summary.memory_growth_mb = ((double)w->last_rss - (double)w->first_rss) / MIB;
    r.summary.num_samples = w->nsamples;
    r.summary.duration_sec = seconds;
    r.summary.mean_gpu_util = mean_of(w->device_sum[0], w->device_n[0]);
    r.summary.mean_gpu_clock_mhz = mean_of(w->device_sum[1], w->device_n[1]);
    r.summary.mean_gpu_power_w = mean_of(w->device_sum[2], w->device_n[2]);
    r.gpu_slowed_share = mean_of((double)w->device_slowed, w->device_known);
    r.cpu_user_s = w->tick_s * (double)c.user_ticks;
    r.cpu_system_s = w->tick_s * (double)c.system_ticks;
    r.mean_cpu_percent = w->end_ns > w->first_ns ? 1e11 * w->last_cpu_s / (double)(w->end_ns - w->first_ns) : NAN;
    r.pss_stopped = w->pss_stopped;
    r.minor_faults = c.minor_faults;
    r.major_faults = c.major_faults;
    r.voluntary_switches = c.voluntary;
    r.involuntary_switches = c.involuntary;
    r.read_bytes = w->io_refused ? NAN : (double)c.read_bytes;
    r.write_bytes = w->io_refused ? NAN : (double)c.write_bytes;
    r.read_calls_bytes = w->io_refused ? NAN : (double)c.rchar;
    r.write_calls_bytes = w->io_refused ? NAN : (double)c.wchar;
    *out = r;
}
