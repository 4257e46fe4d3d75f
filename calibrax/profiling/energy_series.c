/* A meter read at a set rate.  See energy_series.h. */
#include "calibrax/profiling/energy_series.h"

#include <math.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/options.h"
#include "calibrax/profiling/ticker.h"

struct cbx_energy_series {
    cbx_allocator al;
    cbx_energy_meter *meter;
    cbx__thinned samples;
    cbx__ticker ticker;
    bool stopped;
    cbx_energy_series_report report;
};

static bool look(void *series)
{
    cbx_energy_series *s = series;
    cbx_energy_report *r = &s->report.total;
    cbx_energy_sample *place;

    cbx_energy_meter_report(s->meter, r);
    s->report.peak_gpu_w = fmax(s->report.peak_gpu_w, r->gpu_w);
    place = cbx__thinned_place(&s->samples);
    if (place) *place = (cbx_energy_sample){ r->duration_s, r->cpu_j, r->dram_j, r->platform_j, r->gpu_j, r->gpu_w };
    return true;
}

static cbx_status check_opts(const cbx_energy_series_opts *given, cbx_energy_series_opts *o, cbx_err *err)
{
    cbx_status st;

    *o = (cbx_energy_series_opts)CBX_ENERGY_SERIES_OPTS_INIT;
    st = cbx_take_options(o, sizeof *o, given, "cbx_energy_series_opts", err);
    if (o->interval_s == 0) o->interval_s = 0.1;
    if (o->max_samples == 0) o->max_samples = 4096;
    if (!st) st = cbx_check_range("interval_s", o->interval_s, 0.001, 3600, err);
    return st ? st : cbx_check_range("max_samples", (double)o->max_samples, 2, 1 << 24, err);
}

static void drop(cbx_energy_series *s)
{
    cbx_allocator al = s->al;

    cbx_energy_meter_free(s->meter);
    cbx_mem_free(&al, s->samples.rows, s->samples.most * s->samples.size);
    cbx_mem_free(&al, s, sizeof *s);
}

cbx_status cbx_energy_series_start(cbx_ctx *ctx, const cbx_energy_series_opts *opts, cbx_energy_series **out,
                                   cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_energy_series_opts o;
    cbx_energy_series *s;
    cbx_status st = check_opts(opts, &o, err);

    if (st) return st;
    s = cbx_mem_zalloc(al, sizeof *s);
    if (!s) return cbx_fail_nomem(err, "a series of energy");
    s->al = *al;
    s->report.peak_gpu_w = NAN;
    s->samples = (cbx__thinned){
        cbx_mem_alloc(al, o.max_samples * sizeof(cbx_energy_sample)), sizeof(cbx_energy_sample), o.max_samples, 0, 1, 0
    };
    if (!s->samples.rows) st = cbx_fail_nomem(err, "samples");
    if (!st) st = cbx_energy_meter_start(ctx, o.meter, &s->meter, err);
    if (!st) st = cbx__ticker_start(&s->ticker, cbx_clock_ns(), o.interval_s, look, s, err);
    if (st)
        drop(s);
    else
        *out = s;
    return st;
}

static void stop(cbx_energy_series *s)
{
    if (s->stopped) return;
    cbx__ticker_stop(&s->ticker);
    s->report.samples = s->samples.rows;
    s->report.nsamples = s->samples.n;
    s->report.late = s->ticker.late;
    s->report.overhead_cpu_s = s->ticker.cpu_s;
    s->stopped = true;
}

void cbx_energy_series_stop(cbx_energy_series *s, cbx_energy_series_report *out)
{
    stop(s);
    *out = s->report;
}

void cbx_energy_series_free(cbx_energy_series *s)
{
    if (!s) return;
    stop(s);
    drop(s);
}
