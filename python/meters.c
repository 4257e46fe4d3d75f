/* calibrax_c.profiling: ResourceMonitor, Gpu and Timeline. */
#include "python/things.h"

/* ---- with ...: ---- */

PyObject *cx_do_enter(cx_call *c) { return cx_thing_self(c) ? Py_NewRef(c->self) : NULL; }

PyObject *cx_do_exit(cx_call *c)
{
    PyObject *r = ((PyObject * (*)(cx_call *)) c->fn)(c);

    if (!r) return NULL;
    Py_DECREF(r);
    Py_RETURN_FALSE;
}

/* ---- Gpu ---- */

static void gpu_free(cx_thing *t) { cbx_gpu_close(t->handle); }

static PyObject *gpu_make(cx_call *c)
{
    const char *library = NULL;
    cbx_gpu *gpu = NULL;
    cbx_status status;
    size_t index = 0;
    cx_thing *t;

    if (!CX_GET(c, index, library) || !(t = cx_thing_new(c->st, CX_GPU))) return NULL;
    status = cbx_gpu_open(t->ctx, index > UINT32_MAX ? UINT32_MAX : (unsigned)index, library, &gpu, &c->err);
    t->handle = gpu;
    return cx_thing_made(t, status, &c->err);
}

static PyObject *gpu_name(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    return t ? PyUnicode_FromString(cbx_gpu_name(t->handle)) : NULL;
}

static PyObject *gpu_read(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    cbx_gpu_reading out;

    return t ? cx_answer(c, cbx_gpu_read(t->handle, &out, &c->err), CX_GPU_READING, &out) : NULL;
}

/* clang-format off */
#define GPU(X) \
    X(name, "/", "str", gpu_name, 0, "As the driver names it.") \
    X(read, "/", "GpuReading", gpu_read, 0, "Memory, use, clocks, temperature, power, energy, and why it is slowed down.")
/* clang-format on */
CX_TYPE_FUNCTIONS(gpu_methods, GPU)

const cx_thing_type cx_gpu_thing = {
    "calibrax_c.profiling.Gpu",
    "A device of NVIDIA, through NVML. RuntimeError, with the reason, where there is "
    "none.",
    gpu_free,
    gpu_methods,
    &(cx_function){ "Gpu", "index: int = 0, library: str | None = None", "Gpu", gpu_make, 0, NULL, 0 },
};

bool cx_gpu_option(cx_call *c, PyObject **kept, cbx_gpu **out)
{
    cx_thing *gpu;

    if (!cx_arg(c, "gpu")) return true;
    gpu = cx_thing_arg(c, "gpu", CX_GPU);
    if (!gpu) return false;
    *kept = (PyObject *)gpu;
    *out = gpu->handle;
    return true;
}

/* ---- ResourceMonitor ---- */

static void monitor_free(cx_thing *t) { cbx_resource_monitor_free(t->handle); }

static PyObject *monitor_make(cx_call *c)
{
    cbx_resource_opts o = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    PyObject *kept = NULL;
    cbx_gpu *gpu = NULL;
    cbx_status status;
    cx_thing *t;

    if (!CX_GET(c, o.pid, o.interval_s, o.alone, o.pss, o.max_samples) || !cx_gpu_option(c, &kept, &gpu)) return NULL;
    if (!(t = cx_thing_new(c->st, CX_RESOURCE_MONITOR))) return NULL;
    if (gpu) {
        t->kept = Py_NewRef(kept);
        o.device = cbx_gpu_sample;
        o.device_user = gpu;
    }
    status = cbx_resource_monitor_start(t->ctx, &o, &m, &c->err);
    t->handle = m;
    return cx_thing_made(t, status, &c->err);
}

static PyObject *monitor_stop(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    cbx_resource_report out;
    cbx_status status;

    if (!t) return NULL;
    t->busy = true;
    Py_BEGIN_ALLOW_THREADS status = cbx_resource_monitor_stop(t->handle, &out, &c->err);
    Py_END_ALLOW_THREADS t->busy = false;
    return cx_answer(c, status, CX_RESOURCES, &out);
}

/* clang-format off */
#define MONITOR(X) \
    X(stop, "/", "EnergySeries", monitor_stop, 0, "Ends watching; what the processes took. A second call gives the same.") \
    X(__enter__, "/", "Self", cx_do_enter, 0, "Itself.") \
    X(__exit__, "type: object, value: object, traceback: object, /", "bool", cx_do_exit, monitor_stop, "Ends watching; stop() gives the answer.")
/* clang-format on */
CX_TYPE_FUNCTIONS(monitor_methods, MONITOR)

const cx_thing_type cx_resource_monitor_thing = {
    "calibrax_c.profiling.ResourceMonitor",
    "Watches a process and all that it starts (0: this one) from a thread of its own, from now on.",
    monitor_free,
    monitor_methods,
    &(cx_function){ "ResourceMonitor",
                    "pid: int = 0, interval_s: float = 0.1, alone: bool = False, pss: bool = False, max_samples: int = "
                    "4096, gpu: Gpu | None = None",
                    "ResourceMonitor", monitor_make, 0, NULL, 0 },
};

/* ---- Timeline ---- */

enum { NOTES_MOST = 16 };

static void timeline_free(cx_thing *t) { cbx_timeline_free(t->handle); }

static PyObject *timeline_make(cx_call *c)
{
    const char *process = NULL;
    cbx_timeline *line = NULL;
    cbx_status status;
    cx_thing *t;

    if (!CX_GET(c, process) || !(t = cx_thing_new(c->st, CX_TIMELINE))) return NULL;
    status = cbx_timeline_create(t->ctx, process, &line, &c->err);
    t->handle = line;
    return cx_thing_made(t, status, &c->err);
}

/* A dict of text and numbers as notes; text lives as long as the dict. */
static bool read_notes(cx_call *c, const char *name, cbx_timeline_arg *notes, size_t *n)
{
    PyObject *dict = cx_arg(c, name), *key, *value;
    Py_ssize_t at = 0;

    *n = 0;
    if (!dict) return true;
    if (!PyDict_Check(dict) || PyDict_Size(dict) > NOTES_MOST) {
        PyErr_Format(PyExc_TypeError, "%s: notes have to be a dict of at most %d numbers or texts, not %R", c->name,
                     NOTES_MOST, dict);
        return false;
    }
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

static PyObject *timeline_mark(cx_call *c)
{
    const char *name = "", *category = NULL;
    cbx_timeline_arg notes[NOTES_MOST];
    cx_thing *t = cx_thing_self(c);
    size_t n;

    if (!t || !CX_GET(c, name, category) || !read_notes(c, "notes", notes, &n)) return NULL;
    ((mark)c->fn)(t->handle, name, category, NULL, notes, n);
    Py_RETURN_NONE;
}

static PyObject *timeline_end(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);

    if (!t) return NULL;
    cbx_timeline_end(t->handle, NULL);
    Py_RETURN_NONE;
}

static PyObject *timeline_counter(cx_call *c)
{
    cbx_timeline_arg values[NOTES_MOST];
    cx_thing *t = cx_thing_self(c);
    const char *name = "";
    size_t n;

    if (!t || !CX_GET(c, name) || !read_notes(c, "values", values, &n)) return NULL;
    cbx_timeline_counter(t->handle, name, NULL, values, n);
    Py_RETURN_NONE;
}

static PyObject *timeline_note(cx_call *c)
{
    const char *key = "", *value = "";
    cx_thing *t = cx_thing_self(c);

    if (!t || !CX_GET(c, key, value)) return NULL;
    cbx_timeline_note(t->handle, key, value);
    Py_RETURN_NONE;
}

static PyObject *timeline_events(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    return t ? PyLong_FromSize_t(cbx_timeline_events(t->handle)) : NULL;
}

static PyObject *timeline_write(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    const char *path = NULL;
    PyObject *bytes = NULL;
    bool fine;

    if (!t || !cx_path_from(cx_arg(c, "path"), &bytes, &path)) return NULL;
    fine = cx_fine(c, cbx_timeline_write(t->ctx, t->handle, path, &c->err));
    Py_DECREF(bytes);
    if (!fine) return NULL;
    Py_RETURN_NONE;
}

/* clang-format off */
#define TIMELINE(X) \
    X(begin, "name: str, category: str | None = None, notes: Mapping[str, str | float] | None = None", "None", timeline_mark, cbx_timeline_begin, "Opens a span on the calling thread.") \
    X(end, "/", "None", timeline_end, 0, "Closes the one that was opened last.") \
    X(instant, "name: str, category: str | None = None, notes: Mapping[str, str | float] | None = None", "None", timeline_mark, cbx_timeline_instant, "A moment.") \
    X(counter, "name: str, values: Mapping[str, float]", "None", timeline_counter, 0, "Values of a counter's series, from now on.") \
    X(note, "key: str, value: str", "None", timeline_note, 0, "A word about the whole.") \
    X(events, "/", "str", timeline_events, 0, "How many there are.") \
    X(write, "path: Path", "None", timeline_write, 0, "The file that chrome://tracing and ui.perfetto.dev open.")
/* clang-format on */
CX_TYPE_FUNCTIONS(timeline_methods, TIMELINE)

const cx_thing_type cx_timeline_thing = {
    "calibrax_c.profiling.Timeline",
    "A trace: spans that nest, counters, moments; write() makes the file of it.",
    timeline_free,
    timeline_methods,
    &(cx_function){ "Timeline", "process: str | None = None", "Timeline", timeline_make, 0, NULL, 0 },
};
