/*
 * calibrax watch --pid: a process with its children, and a device beside it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/profiling/gpu.h"
#include "programs/calibrax/watch.h"

/* What the device was like over the whole watch. */
typedef struct device {
    cbx_gpu *gpu;         /* NULL: none */
    double celsius, watt; /* greatest of each; NaN: never told */
    uint64_t throttle;
} device;

typedef struct fact {
    const char *name;
    bool of_device;
    double value;
} fact;

/* Values of the last interval; a look's are those of the last one. */
static bool process_value(const cbx_resource_report *r, const char *metric, fact *out)
{
    static const cbx_resource_sample none = { .gpu_util = NAN };
    const cbx_resource_sample *last = r->nsamples ? &r->samples[r->nsamples - 1] : &none;
    const fact known[] = {
        { "cpu_percent", false, r->mean_cpu_percent },
        { "rss_mb", false, (double)last->rss_bytes / 1048576 },
        { "threads", false, last->threads },
        { "processes", false, last->processes },
        { "gpu_mem_mb", true, last->gpu_tree_mem_mb },
        { "gpu_util", true, r->summary.mean_gpu_util },
        { "gpu_temperature_c", true, last->gpu_temperature_c },
        { "gpu_power_w", true, r->summary.mean_gpu_power_w },
        { "gpu_slowed", true, cbx_gpu_is_slowed(r->gpu_throttle) },
    };

    for (size_t i = 0; i < CBX_LEN(known); i++) {
        if (strcmp(known[i].name, metric)) continue;
        *out = known[i];
        return true;
    }
    return false;
}

static int open_device(const watcher *w, bool needed, device *d)
{
    cbx_err err = CBX_ERR_INIT;
    int index = w->a->gpu >= 0 ? w->a->gpu : needed ? 0 : -1;

    *d = (device){ .celsius = NAN, .watt = NAN };
    if (index < 0 || !cbx_gpu_open(w->run->ctx, (unsigned)index, NULL, &d->gpu, &err)) return EXIT_PASS;
    return opt_fail(w->run->program, "watch: %s", err.message);
}

static void say_device(const device *d)
{
    char words[CBX_GPU_THROTTLE_SIZE];

    if (!d->gpu) return;
    fprintf(stderr, "GPU '%s':", cbx_gpu_name(d->gpu));
    if (!isnan(d->celsius)) fprintf(stderr, " at most %.0f C,", d->celsius);
    if (!isnan(d->watt)) fprintf(stderr, " %.0f W,", d->watt);
    fprintf(stderr, " %s%s\n", cbx_gpu_is_slowed(d->throttle) ? "slowed down by " : "never seen slowed down",
            cbx_gpu_is_slowed(d->throttle)
                ? cbx_gpu_throttle_words(d->throttle & ~(uint64_t)CBX_GPU_THROTTLE_IDLE, words)
                : "");
}

/* One interval.  *ended: the process is no more. */
static int watch_interval(watcher *w, device *d, bool *ended)
{
    cbx_resource_opts opts = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_report report;
    cbx_resource_monitor *m = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    fact found;

    opts.pid = (pid_t)w->a->pid;
    opts.interval_s = fmin(w->a->interval, 0.1);
    opts.device = d->gpu ? cbx_gpu_sample : NULL;
    opts.device_user = d->gpu;
    st = cbx_resource_monitor_start(w->run->ctx, &opts, &m, &err);
    *ended = st == CBX_ENOENT && w->values > 0;
    if (*ended) return EXIT_PASS;
    if (st) return opt_fail(w->run->program, "%s", err.message);
    watch_rest(w);
    cbx_resource_monitor_stop(m, &report, NULL);
    *ended = report.ended;
    /* NaN: what the device does not tell is beyond every level, as any value that is no number. */
    d->celsius = fmax(d->celsius, report.peak_gpu_temperature_c);
    d->watt = fmax(d->watt, report.summary.mean_gpu_power_w);
    d->throttle |= report.gpu_throttle;
    for (size_t i = 0; !report.ended && i < w->nmetrics; i++)
        if (process_value(&report, w->metrics[i].name, &found)) watch_take(w, i, found.value);
    cbx_resource_monitor_free(m);
    return EXIT_PASS;
}

int watch_process(watcher *w)
{
    const cbx_resource_report none = { .nsamples = 0 };
    device d;
    fact asked;
    bool ended = false, of_device = false;
    int status;

    for (size_t i = 0; i < w->nmetrics; i++) {
        const char *metric = w->metrics[i].name;
        if (!process_value(&none, metric, &asked))
            return opt_fail(w->run->program,
                            "watch --pid: '%s' is none of cpu_percent, rss_mb, threads, processes, gpu_mem_mb, "
                            "gpu_util, gpu_temperature_c, gpu_power_w, gpu_slowed",
                            metric);
        of_device = of_device || asked.of_device;
    }
    status = open_device(w, of_device, &d);
    while (!status && !ended) {
        status = watch_interval(w, &d, &ended);
        if (watch_over(w)) break;
    }
    if (!status) say_device(&d);
    cbx_gpu_close(d.gpu);
    return status;
}
