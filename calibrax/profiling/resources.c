/*
 * The sampling thread.  It keeps to a grid of times from its start, so that its own cost does not stretch the interval, and counts
 * the grid points that it missed.
 */
#include "calibrax/profiling/resources.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/profiling/watch.h"

struct cbx_resource_monitor {
    cbx_allocator al;
    size_t bytes; /* of this block: the struct, the watch's memory, the samples */
    cbx__watch watch;
    cbx_resource_sample *samples;
    size_t nsamples, stride; /* every stride-th sample is kept */
    uint64_t offered, late;
    double cpu_s;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping, stopped;
    cbx_resource_report report;
};

static void keep_sample(cbx_resource_monitor *m, const cbx_resource_sample *s)
{
    if (m->offered++ % m->stride) return;
    if (m->nsamples == m->watch.opts.max_samples) {
        for (size_t i = 0; 2 * i < m->nsamples; i++) m->samples[i] = m->samples[2 * i];
        m->nsamples = (m->nsamples + 1) / 2;
        m->stride *= 2;
        if ((m->offered - 1) % m->stride) return;
    }
    m->samples[m->nsamples++] = *s;
}

static bool look(cbx_resource_monitor *m)
{
    cbx_resource_sample s;
    bool alive = cbx__watch_look(&m->watch, cbx_clock_ns(), &s);
    if (alive) keep_sample(m, &s);
    return alive;
}

static double thread_cpu_s(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? NAN : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until then or until the monitor is stopped, which it returns. */
static bool sleep_until(cbx_resource_monitor *m, uint64_t then_ns)
{
    struct timespec t = { (time_t)(then_ns / 1000000000u), (long)(then_ns % 1000000000u) };
    bool stop;

    pthread_mutex_lock(&m->lock);
    while (!m->stopping && pthread_cond_timedwait(&m->wake, &m->lock, &t) != ETIMEDOUT) {}
    stop = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return stop;
}

static void *sample_until_stopped(void *user)
{
    cbx_resource_monitor *m = user;
    uint64_t step = (uint64_t)(1e9 * m->watch.opts.interval_s), next = m->watch.first_ns + step, now;
    bool alive = true, stop = false;

    while (!stop) {
        stop = sleep_until(m, next);
        if (alive) alive = look(m);
        now = cbx_clock_ns();
        if (!stop && alive && now > next + step / 2) m->late++;
        for (next += step; next <= now; next += step) m->late += alive;
        if (!alive) next = now + 1000000000u;
    }
    m->cpu_s = thread_cpu_s();
    return NULL;
}

static cbx_status check_opts(const cbx_resource_opts *given, cbx_resource_opts *o, cbx_err *err)
{
    *o = (cbx_resource_opts)CBX_RESOURCE_OPTS_INIT;
    if (given) *o = *given;
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_resource_opts of another version");
    if (o->interval_s == 0) o->interval_s = 0.1;
    if (!(o->interval_s >= 0.001 && o->interval_s <= 3600))
        return cbx_fail(err, CBX_EINVAL, "interval_s is %g: say 0.001 to 3600 seconds", o->interval_s);
    if (o->max_samples == 0) o->max_samples = 4096;
    if (o->max_samples < 2) return cbx_fail(err, CBX_EINVAL, "max_samples is %zu: say 2 or more", o->max_samples);
    if (o->max_samples > 1u << 24 || o->max_processes > 1u << 20)
        return cbx_fail(err, CBX_EINVAL, "max_samples or max_processes is too large: say at most 2^24 and 2^20");
    if (o->max_processes == 0) o->max_processes = 1024;
    if (o->pid == 0) o->pid = getpid();
    if (!o->proc) o->proc = "/proc";
    return CBX_OK;
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
    m->stride = 1;
    m->samples = (cbx_resource_sample *)(at + head + watch);
    o->proc = memcpy(at + head + watch + samples, o->proc, text);
    cbx__watch_init(&m->watch, o, at + head);
    return m;
}

static cbx_status start_thread(cbx_resource_monitor *m, cbx_err *err)
{
    pthread_condattr_t attr;
    int fault;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->wake, &attr);
    pthread_condattr_destroy(&attr);
    fault = pthread_create(&m->thread, NULL, sample_until_stopped, m);
    if (!fault) return CBX_OK;
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    return cbx_fail(err, CBX_EIO, "cannot start the sampling thread: %s", strerror(fault));
}

cbx_status cbx_resource_monitor_start(cbx_ctx *ctx, const cbx_resource_opts *opts, cbx_resource_monitor **out,
                                      cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_resource_opts o;
    cbx_resource_monitor *m;
    cbx_status st = check_opts(opts, &o, err);

    if (st) return st;
    m = create(al, &o);
    if (!m) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu samples", o.max_samples);
    if (!look(m))
        st = cbx_fail(err, CBX_ENOENT, "no process %d to watch", (int)o.pid);
    else
        st = start_thread(m, err);
    if (st) {
        cbx_mem_free(al, m, m->bytes);
        return st;
    }
    *out = m;
    return CBX_OK;
}

static void stop(cbx_resource_monitor *m)
{
    cbx_resource_report *r = &m->report;

    if (m->stopped) return;
    pthread_mutex_lock(&m->lock);
    m->stopping = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    cbx__watch_sum(&m->watch, r);
    r->late = m->late;
    r->overhead_cpu_s = m->cpu_s;
    r->overhead_percent = r->summary.duration_sec > 0 ? 100 * m->cpu_s / r->summary.duration_sec : NAN;
    r->samples = m->samples;
    r->nsamples = m->nsamples;
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
    cbx_allocator al = m->al;
    stop(m);
    cbx_mem_free(&al, m, m->bytes);
}
