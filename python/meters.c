/* calibrax_c.profiling: Gpu, ResourceMonitor and Timeline. */
#include "python/objects.h"

PyObject *cx_do_enter(cx_call *c) { return cx_object_self(c) ? Py_NewRef(c->self) : NULL; }

PyObject *cx_do_exit(cx_call *c)
{
    CX_OWN PyObject *r = ((PyObject * (*)(cx_call *)) c->fn)(c);
    return r ? Py_NewRef(Py_False) : NULL;
}

/* ---- Gpu ---- */

CX_MADE(gpu_make, CX_GPU, cbx_gpu, (const char *library = NULL; unsigned index), CX_GET(c, index, library),
        cbx_gpu_open(o->ctx, index, library, &handle, &c->err))

CX_DO(gpu_name, cbx_gpu, (), (), PyUnicode_FromString(cbx_gpu_name(self)))
CX_DO(gpu_read, cbx_gpu, (cbx_gpu_reading out), (),
      cx_answer(c, cbx_gpu_read(self, &out, &c->err), CX_GPU_READING, &out))

/* clang-format off */
#define GPU(X) \
    X(name, "/", "str", gpu_name, 0, "Name of the device, as the driver reports it.\n\n>>> profiling.Gpu().name()  # doctest: +SKIP") \
    X(read, "/", "GpuReading", gpu_read, 0, "Memory, use, clocks, temperature, power, energy, and why it is slowed down.\n\n>>> profiling.Gpu().read().power_w  # doctest: +SKIP")
CX_OBJECT_TYPE(gpu, gpu, GPU, "profiling", Gpu, "index: int = 0, library: str | None = None", cbx_gpu_close,
    "A device of NVIDIA, through NVML. RuntimeError, with the reason, without one.")
/* clang-format on */

bool cx_gpu_option(cx_call *c, PyObject **kept, cbx_gpu **out)
{
    cx_object *gpu = cx_arg(c, "gpu") ? cx_object_arg(c, "gpu", CX_GPU) : NULL;

    *kept = (PyObject *)gpu;
    if (gpu) *out = gpu->handle;
    return !PyErr_Occurred();
}

/* ---- ResourceMonitor ---- */

CX_MADE(monitor_make, CX_RESOURCE_MONITOR, cbx_resource_monitor,
        (cbx_resource_opts opts = CBX_RESOURCE_OPTS_INIT; cbx_gpu *gpu = NULL; PyObject * kept),
        CX_GET(c, opts.pid, opts.interval_s, opts.alone, opts.pss, opts.max_samples) && cx_gpu_option(c, &kept, &gpu),
        (opts.device = gpu ? cbx_gpu_sample : NULL, opts.device_user = gpu, o->kept = Py_XNewRef(kept),
         cbx_resource_monitor_start(o->ctx, &opts, &handle, &c->err)))

CX_RETURN(monitor_stop, (cx_object *o = cx_object_self(c); cbx_resource_report out), o != NULL,
          cx_answer(c, CX_BUSY(o, cbx_resource_monitor_stop(o->handle, &out, &c->err)), CX_RESOURCES, &out))

/* clang-format off */
#define MONITOR(X) \
    X(stop, "/", "Resources", monitor_stop, 0, "Stop the monitor; the resources that the processes used. A second call returns the same.\n\n>>> profiling.ResourceMonitor().stop().peak_rss_mb >= 0\nTrue") \
    X(__enter__, "/", "Self", cx_do_enter, 0, "Itself.\n\n>>> with profiling.ResourceMonitor() as m: pass") \
    X(__exit__, "type: object, value: object, traceback: object, /", "bool", cx_do_exit, monitor_stop, "Stop the monitor; stop() returns the result.\n\n>>> with profiling.ResourceMonitor() as m: pass")
CX_OBJECT_TYPE(resource_monitor, monitor, MONITOR, "profiling", ResourceMonitor, "pid: int = 0, interval_s: float = 0.1, alone: bool = False, pss: bool = False, max_samples: int = 4096, gpu: Gpu | None = None", cbx_resource_monitor_free,
    "Watches a process and all that it starts (0: this one) from a thread of its own, from now on.")
/* clang-format on */

/* ---- Timeline ---- */

enum { MAX_NOTES = 16 };

CX_MADE(timeline_make, CX_TIMELINE, cbx_timeline, (const char *process = NULL), CX_GET(c, process),
        cbx_timeline_create(o->ctx, process, &handle, &c->err))

/* A dict of text and numbers as notes; text lives as long as the dict. */
static bool read_notes(cx_call *c, const char *name, cbx_timeline_arg *notes, size_t *n)
{
    PyObject *dict = cx_arg(c, name), *key, *value;
    Py_ssize_t at = 0;

    *n = 0;
    if (!dict) return true;
    if (!PyDict_Check(dict) || PyDict_Size(dict) > MAX_NOTES)
        return cx_refuse(c, name, PyExc_TypeError, "a dict of at most 16 numbers or texts", dict);
    while (PyDict_Next(dict, &at, &key, &value)) {
        cbx_timeline_arg *note = &notes[(*n)++];
        *note = (cbx_timeline_arg){ .key = cx_text_of(key, "a note's name") };
        if (PyUnicode_Check(value))
            note->text = cx_text_of(value, "a note");
        else
            note->number = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return false;
    }
    return true;
}

typedef void (*mark)(cbx_timeline *, const char *, const char *, const cbx_timeline_at *, const cbx_timeline_arg *,
                     size_t);
CX_RETURN(timeline_mark,
          (cbx_timeline *line = cx_handle(c); const char *name, *category = NULL; cbx_timeline_arg notes[MAX_NOTES];
           size_t n),
          line &&CX_GET(c, name, category) && read_notes(c, "notes", notes, &n),
          (((mark)c->fn)(line, name, category, NULL, notes, n), Py_NewRef(Py_None)))

CX_RETURN(timeline_counter,
          (cbx_timeline *line = cx_handle(c); const char *name; cbx_timeline_arg values[MAX_NOTES]; size_t n),
          line &&CX_GET(c, name) && read_notes(c, "values", values, &n),
          (cbx_timeline_counter(line, name, NULL, values, n), Py_NewRef(Py_None)))

CX_DO(timeline_end, cbx_timeline, (), (), (cbx_timeline_end(self, NULL), Py_NewRef(Py_None)))
CX_DO(timeline_note, cbx_timeline, (const char *key; const char *value), (key, value),
      (cbx_timeline_note(self, key, value), Py_NewRef(Py_None)))
CX_DO(timeline_events, cbx_timeline, (), (), PyLong_FromSize_t(cbx_timeline_events(self)))
CX_DO(timeline_write, cbx_timeline, (const char *path; cx_object *o = (cx_object *)c->self), (path),
      cx_none(c, cbx_timeline_write(o->ctx, self, path, &c->err)))

/* clang-format off */
#define TIMELINE(X) \
    X(begin, "name: str, category: str | None = None, notes: Mapping[str, str | float] | None = None", "None", timeline_mark, cbx_timeline_begin, "Open a span on the calling thread.\n\n>>> t = profiling.Timeline()\n>>> t.begin('work')") \
    X(end, "/", "None", timeline_end, 0, "Close the span that was opened last.\n\n>>> t = profiling.Timeline()\n>>> t.begin('work')\n>>> t.end()") \
    X(instant, "name: str, category: str | None = None, notes: Mapping[str, str | float] | None = None", "None", timeline_mark, cbx_timeline_instant, "Record an instant.\n\n>>> t = profiling.Timeline()\n>>> t.instant('now')") \
    X(counter, "name: str, values: Mapping[str, float]", "None", timeline_counter, 0, "Set values of a counter.\n\n>>> t = profiling.Timeline()\n>>> t.counter('load', {'cpu': 1.0})") \
    X(note, "key: str, value: str", "None", timeline_note, 0, "Add a note to the trace.\n\n>>> t = profiling.Timeline()\n>>> t.note('host', 'a')") \
    X(events, "/", "int", timeline_events, 0, "Number of events.\n\n>>> t = profiling.Timeline()\n>>> t.instant('now')\n>>> t.events()\n1") \
    X(write, "path: Path", "None", timeline_write, 0, "Write the file that chrome://tracing and ui.perfetto.dev open.\n\n>>> t = profiling.Timeline()\n>>> t.write(os.path.join(folder, 't.json'))")
CX_OBJECT_TYPE(timeline, timeline, TIMELINE, "profiling", Timeline, "process: str | None = None", cbx_timeline_free,
    "A trace: spans that nest, counters, moments; write() makes the file of it.")
/* clang-format on */
