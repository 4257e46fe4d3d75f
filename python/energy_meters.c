/* calibrax_c.profiling: EnergyMeter and EnergyMonitor. */
#include "python/things.h"

/* ---- EnergyMeter ---- */

static void meter_free(cx_thing *t) { cbx_energy_meter_free(t->handle); }

static PyObject *meter_make(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION(1, TEXT, cbx_energy_opts, powercap) };
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *m = NULL;
    cbx_err err = CBX_ERR_INIT;
    PyObject *kept = NULL;
    cbx_status status;
    cx_thing *t;

    (void)fn;
    if (!cx_gpu_option(c, 0, &kept, &o.gpu) || !cx_options(c, options, CBX_LEN(options), &o)) return NULL;
    if (!(t = cx_thing_new(c->st, CX_ENERGY_METER))) return NULL;
    t->kept = Py_XNewRef(kept);
    status = cbx_energy_meter_start(t->ctx, &o, &m, &err);
    t->handle = m;
    return cx_thing_made(t, status, &err);
}

static PyObject *meter_see(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);

    (void)fn;
    if (!t) return NULL;
    cbx_energy_meter_see(t->handle);
    Py_RETURN_NONE;
}

static PyObject *meter_report(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    cbx_energy_report out;

    if (!t) return NULL;
    cbx_energy_meter_report(t->handle, &out);
    return cx_answer_object(c->st, CX_ENERGY, &out);
}

static PyObject *do_report(cx_call *c, cx_fn fn)
{
    (void)fn;
    return meter_report(c);
}

/* clang-format off */
#define METER(X) \
    X(see, "/", meter_see, 0, "Looks at every counter; needed every few minutes, for counters fall back to 0.") \
    X(report, "/", do_report, 0, "Energy since the start; the meter runs on.")
/* clang-format on */
CX_TYPE_FUNCTIONS(meter_methods, METER)

const cx_thing_type cx_energy_meter_thing = {
    "calibrax_c.profiling.EnergyMeter",
    "EnergyMeter(gpu=None, powercap=None)\n--\n\n"
    "Energy from now on: processors and memory through RAPL, a Gpu through NVML. What cannot be read is None, with the "
    "reason.",
    meter_free,
    meter_methods,
    { "EnergyMeter", "gpu=None, powercap=None", meter_make, 0 },
};

/* ---- EnergyMonitor ---- */

static void series_free(cx_thing *t) { cbx_energy_series_free(t->handle); }

static PyObject *series_make(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION(0, NUMBER, cbx_energy_series_opts, interval_s),
                                         CX_OPTION(1, WHOLE, cbx_energy_series_opts, max_samples) },
                           sensors[] = { CX_OPTION(3, TEXT, cbx_energy_opts, powercap) };
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
    cbx_energy_series *s = NULL;
    cbx_err err = CBX_ERR_INIT;
    PyObject *kept = NULL;
    cbx_status status;
    cx_thing *t;

    (void)fn;
    if (!cx_options(c, options, CBX_LEN(options), &o) || !cx_gpu_option(c, 2, &kept, &meter.gpu) ||
        !cx_options(c, sensors, CBX_LEN(sensors), &meter) || !(t = cx_thing_new(c->st, CX_ENERGY_MONITOR)))
        return NULL;
    t->kept = Py_XNewRef(kept);
    o.meter = &meter;
    status = cbx_energy_series_start(t->ctx, &o, &s, &err);
    t->handle = s;
    return cx_thing_made(t, status, &err);
}

static PyObject *series_stop(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    cbx_energy_series_report out;

    if (!t) return NULL;
    t->busy = true;
    Py_BEGIN_ALLOW_THREADS cbx_energy_series_stop(t->handle, &out);
    Py_END_ALLOW_THREADS t->busy = false;
    return cx_answer_object(c->st, CX_ENERGY_SERIES, &out);
}

static PyObject *do_series_stop(cx_call *c, cx_fn fn)
{
    (void)fn;
    return series_stop(c);
}

/* clang-format off */
#define SERIES(X) \
    X(stop, "/", do_series_stop, 0, "Ends watching; the energy as a series, and of the whole. A second call gives the same.") \
    X(__enter__, "/", cx_do_enter, 0, "Itself.") \
    X(__exit__, "type, value, traceback, /", cx_do_exit, series_stop, "Ends watching; stop() gives the answer.")
/* clang-format on */
CX_TYPE_FUNCTIONS(series_methods, SERIES)

const cx_thing_type cx_energy_monitor_thing = {
    "calibrax_c.profiling.EnergyMonitor",
    "EnergyMonitor(interval_s=0.1, max_samples=4096, gpu=None, powercap=None)\n--\n\n"
    "Reads the sensors of energy from a thread of its own, from now on. A value is None until the stretch holds 20 "
    "updates of its sensor.",
    series_free,
    series_methods,
    { "EnergyMonitor", "interval_s=0.1, max_samples=4096, gpu=None, powercap=None", series_make, 0 },
};
