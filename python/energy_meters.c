/* calibrax_c.profiling: EnergyMeter and EnergyMonitor. */
#include "python/things.h"

/* ---- EnergyMeter ---- */

static void meter_free(cx_thing *t) { cbx_energy_meter_free(t->handle); }

static PyObject *meter_make(cx_call *c)
{
    cbx_energy_opts o = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *m = NULL;
    PyObject *kept = NULL;
    cbx_status status;
    cx_thing *t;

    if (!cx_gpu_option(c, &kept, &o.gpu) || !CX_GET(c, o.powercap)) return NULL;
    if (!(t = cx_thing_new(c->st, CX_ENERGY_METER))) return NULL;
    t->kept = Py_XNewRef(kept);
    status = cbx_energy_meter_start(t->ctx, &o, &m, &c->err);
    t->handle = m;
    return cx_thing_made(t, status, &c->err);
}

static PyObject *meter_see(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);

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

/* clang-format off */
#define METER(X) \
    X(see, "/", "None", meter_see, 0, "Looks at every counter; needed every few minutes, for counters fall back to 0.") \
    X(report, "/", "CompilationReport", meter_report, 0, "Energy since the start; the meter runs on.")
/* clang-format on */
CX_TYPE_FUNCTIONS(meter_methods, METER)

const cx_thing_type cx_energy_meter_thing = {
    "calibrax_c.profiling.EnergyMeter",
    "Energy from now on: processors and memory through RAPL, a Gpu through NVML. What cannot be read is None, with the "
    "reason.",
    meter_free,
    meter_methods,
    &(cx_function){ "EnergyMeter", "gpu: Gpu | None = None, powercap: str | None = None", "EnergyMeter", meter_make, 0,
                    NULL, 0 },
};

/* ---- EnergyMonitor ---- */

static void series_free(cx_thing *t) { cbx_energy_series_free(t->handle); }

static PyObject *series_make(cx_call *c)
{
    cbx_energy_series_opts o = CBX_ENERGY_SERIES_OPTS_INIT;
    cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
    cbx_energy_series *s = NULL;
    PyObject *kept = NULL;
    cbx_status status;
    cx_thing *t;

    if (!CX_GET(c, o.interval_s, o.max_samples, meter.powercap) || !cx_gpu_option(c, &kept, &meter.gpu) ||
        !(t = cx_thing_new(c->st, CX_ENERGY_MONITOR)))
        return NULL;
    t->kept = Py_XNewRef(kept);
    o.meter = &meter;
    status = cbx_energy_series_start(t->ctx, &o, &s, &c->err);
    t->handle = s;
    return cx_thing_made(t, status, &c->err);
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

/* clang-format off */
#define SERIES(X) \
    X(stop, "/", "EnergySeries", series_stop, 0, "Ends watching; the energy as a series, and of the whole. A second call gives the same.") \
    X(__enter__, "/", "Self", cx_do_enter, 0, "Itself.") \
    X(__exit__, "type: object, value: object, traceback: object, /", "bool", cx_do_exit, series_stop, "Ends watching; stop() gives the answer.")
/* clang-format on */
CX_TYPE_FUNCTIONS(series_methods, SERIES)

const cx_thing_type cx_energy_monitor_thing = {
    "calibrax_c.profiling.EnergyMonitor",
    "Reads the sensors of energy from a thread of its own, from now on. A value is None until the stretch holds 20 "
    "updates of its sensor.",
    series_free,
    series_methods,
    &(cx_function){
        "EnergyMonitor",
        "interval_s: float = 0.1, max_samples: int = 4096, gpu: Gpu | None = None, powercap: str | None = None",
        "EnergyMonitor", series_make, 0, NULL, 0 },
};
