/*
 * Energy of calls.  See energy_source.h.
 */
#include "calibrax/perf/launch/energy_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct timespec idle_cpu = { 0, 100000000 }, idle_device = { 2, 500000000 };

static cbx_energy_opts opts_of(const cbx_energy_source *s)
{
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;

    o.gpu = s->gpu;
    if (s->powercap[0]) o.powercap = s->powercap;
    return o;
}

/* [W] Packages and memory; without RAPL's memory domain, packages. */
static double cpu_power(const cbx_energy_report *r)
{
    double j = r->cpu_j + (isnan(r->dram_j) ? 0 : r->dram_j);
    return r->duration_s > 0 ? j / r->duration_s : NAN;
}

static double device_power(const cbx_energy_report *r) { return r->duration_s > 0 ? r->gpu_j / r->duration_s : NAN; }

void cbx__energy_source_open(cbx_ctx *ctx, bool with_device, const char *powercap, cbx_energy_source *out)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_energy_meter *m = NULL;
    cbx_energy_report r;

    *out = (cbx_energy_source){ .cpu_idle_w = NAN, .device_idle_w = NAN };
    if (powercap) snprintf(out->powercap, sizeof out->powercap, "%s", powercap);
    if (with_device && cbx_gpu_open(ctx, 0, NULL, &out->gpu, &err))
        snprintf(out->device_why, sizeof out->device_why, "%.250s", err.message);
    cbx_energy_opts o = opts_of(out);
    if (cbx_energy_meter_start(ctx, &o, &m, &err)) {
        snprintf(out->why, sizeof out->why, "%.250s", err.message);
        return;
    }
    cbx_energy_meter_report(m, &r);
    if (r.ndomains || out->gpu) {
        nanosleep(out->gpu ? &idle_device : &idle_cpu, NULL);
        cbx_energy_meter_report(m, &r);
    }
    cbx_energy_meter_free(m);
    out->cpu_idle_w = cpu_power(&r);
    out->device_idle_w = device_power(&r);
    out->cpu = !isnan(out->cpu_idle_w);
    out->device = !isnan(out->device_idle_w);
    if (!out->cpu) memcpy(out->why, r.cpu_why, sizeof out->why);
    if (!out->device && !out->device_why[0]) memcpy(out->device_why, r.gpu_why, sizeof out->device_why);
}

void cbx__energy_source_close(cbx_energy_source *s)
{
    cbx_gpu_close(s->gpu);
    s->gpu = NULL;
}

cbx_energy_meter *cbx__energy_begin(cbx_ctx *ctx, const cbx_energy_source *s)
{
    cbx_energy_meter *m = NULL;

    if (!s || (!s->cpu && !s->device)) return NULL;
    cbx_energy_opts o = opts_of(s);
    return cbx_energy_meter_start(ctx, &o, &m, NULL) ? NULL : m;
}

void cbx__energy_end(cbx_energy_meter *m, const cbx_energy_source *s, bool device, double call_ns, cbx_launch_record *r)
{
    const char *why = !s ? "energy was not asked for" : device ? s->device_why : s->why;
    cbx_energy_report read;

    r->energy_call_j = r->power_w = NAN;
    snprintf(r->energy_why, sizeof r->energy_why, "%.250s", *why ? why : "the counters could not be read");
    if (!m) return;
    cbx_energy_meter_report(m, &read);
    double power = device ? device_power(&read) : cpu_power(&read);
    if (device ? !s->device : !s->cpu) { /* the other of the two was read */
    } else if (isnan(power)) {
        snprintf(r->energy_why, sizeof r->energy_why, "%.250s", device ? read.gpu_why : read.cpu_why);
    } else {
        double idle = device ? s->device_idle_w : s->cpu_idle_w;
        r->energy_why[0] = 0;
        r->power_w = power;
        r->energy_scope = device               ? "device, idle power subtracted"
                          : isnan(read.dram_j) ? "package, idle power subtracted"
                                               : "package and dram, idle power subtracted";
        if (power > idle)
            r->energy_call_j = (power - idle) * 1e-9 * call_ns;
        else
            snprintf(r->energy_why, sizeof r->energy_why,
                     "%.3g W while it ran, no more than the %.3g W of the idle machine", power, idle);
    }
    cbx_energy_meter_free(m);
}
