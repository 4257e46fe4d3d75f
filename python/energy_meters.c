/* calibrax_c.profiling: EnergyMeter and EnergyMonitor. */
#include "python/objects.h"

/* ---- EnergyMeter ---- */

CX_MADE(meter_make, CX_ENERGY_METER, cbx_energy_meter, (cbx_energy_opts opts = CBX_ENERGY_OPTS_INIT; PyObject * kept),
        cx_gpu_option(c, &kept, &opts.gpu) && CX_GET(c, opts.powercap),
        (o->kept = Py_XNewRef(kept), cbx_energy_meter_start(o->ctx, &opts, &handle, &c->err)))

CX_DO(meter_see, cbx_energy_meter, (), (), (cbx_energy_meter_see(self), Py_NewRef(Py_None)))
CX_DO(meter_report, cbx_energy_meter, (cbx_energy_report out), (),
      (cbx_energy_meter_report(self, &out), cx_answer_object(c->st, CX_ENERGY, &out)))

/* clang-format off */
#define METER(X) \
    X(see, "/", "None", meter_see, 0, "Read every counter; needed every few minutes, because counters wrap around to 0.\n\n>>> profiling.EnergyMeter().see()") \
    X(report, "/", "Energy", meter_report, 0, "Energy since the start; the meter runs on.\n\n>>> profiling.EnergyMeter().report().duration_s >= 0\nTrue")
CX_OBJECT_TYPE(energy_meter, meter, METER, "profiling", EnergyMeter, "gpu: Gpu | None = None, powercap: str | None = None", cbx_energy_meter_free,
    "Energy from now on: processors and memory through RAPL, a Gpu through NVML. What cannot be read is None, with the reason.")
/* clang-format on */

/* ---- EnergyMonitor ---- */

CX_MADE(series_make, CX_ENERGY_MONITOR, cbx_energy_series,
        (cbx_energy_series_opts opts = CBX_ENERGY_SERIES_OPTS_INIT; cbx_energy_opts meter = CBX_ENERGY_OPTS_INIT;
         PyObject * kept),
        CX_GET(c, opts.interval_s, opts.max_samples, meter.powercap) && cx_gpu_option(c, &kept, &meter.gpu),
        (opts.meter = &meter, o->kept = Py_XNewRef(kept), cbx_energy_series_start(o->ctx, &opts, &handle, &c->err)))

CX_RETURN(series_stop, (cx_object *o = cx_object_self(c); cbx_energy_series_report out), o != NULL,
          cx_answer(c, CX_BUSY(o, (cbx_energy_series_stop(o->handle, &out), CBX_OK)), CX_ENERGY_SERIES, &out))

/* clang-format off */
#define SERIES(X) \
    X(stop, "/", "EnergySeries", series_stop, 0, "Stop the monitor; the energy as a series and in total. A second call returns the same.\n\n>>> profiling.EnergyMonitor().stop().late >= 0\nTrue") \
    X(__enter__, "/", "Self", cx_do_enter, 0, "Itself.\n\n>>> with profiling.EnergyMonitor() as m: pass") \
    X(__exit__, "type: object, value: object, traceback: object, /", "bool", cx_do_exit, series_stop, "Stop the monitor; stop() returns the result.\n\n>>> with profiling.EnergyMonitor() as m: pass")
CX_OBJECT_TYPE(energy_monitor, series, SERIES, "profiling", EnergyMonitor, "interval_s: float = 0.1, max_samples: int = 4096, gpu: Gpu | None = None, powercap: str | None = None", cbx_energy_series_free,
    "Reads the sensors of energy from a thread of its own, from now on. A value is None until the stretch holds 20 updates of its sensor.")
/* clang-format on */
