/* Backends and devices: which are there, which one computes, what is missing. */
#include <string.h>

#include "python/records.h"

/* ---- backends ---- */

static PyObject *do_backend(cx_call *c)
{
    const char *name;

    if (!cx_begin(c)) return NULL;
    name = cbx_ctx_backend(c->ctx)->name;
    return cx_keep(c, 0, NULL) ? PyUnicode_FromString(name) : NULL;
}

static PyObject *do_backends(cx_call *c)
{
    PyObject *list = PyList_New(0);

    (void)c;
    for (size_t i = 0; list && cbx_backend_at(i); i++) {
        PyObject *name = PyUnicode_FromString(cbx_backend_at(i)->name);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *do_set_backend(cx_call *c)
{
    const cbx_backend *backend = cbx_backend_at(0);
    const char *name = PyUnicode_Check(cx_arg(c, "name")) ? cx_text_of(cx_arg(c, "name"), "the name of a backend")
                                                          : NULL;

    if (!name && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "set_backend takes a name (backends() lists them), not %R", cx_arg(c, "name"));
    if (!name) return NULL;
    if (strcmp(name, "auto") != 0 && cbx_backend_find(name, &backend, &c->err))
        return cx_raise(c->err.status, c->err.message);
    c->st->backend = backend;
    Py_RETURN_NONE;
}

/* ---- devices ---- */

static PyObject *device_word(const cbx_device *d)
{
    if (d->kind == CBX_DEVICE_CPU) return PyUnicode_FromString("cpu");
    return PyUnicode_FromFormat("%s:%d", cbx_device_kind_name(d->kind), d->index);
}

/* One line a device: adds what make gives, where it gives something. */
static PyObject *list_of(const cbx_devices *devices, bool gpus, PyObject *(*make)(const cbx_device *))
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < cbx_devices_count(devices); i++) {
        const cbx_device *d = cbx_devices_at(devices, i);
        PyObject *v;
        if (d->kind != CBX_DEVICE_CPU && !gpus) continue;
        v = make(d);
        if (!v || PyList_Append(list, v) < 0) Py_CLEAR(list);
        Py_XDECREF(v);
    }
    return list;
}

static PyObject *described(const cbx_device *d)
{
    PyObject *word = device_word(d);
    return word ? Py_BuildValue("{s:N,s:s,s:K}", "device", word, "name", d->name, "memory_total_bytes",
                                (unsigned long long)d->memory_total_bytes)
                : NULL;
}

/* The devices of a context, held by the caller; the looking may take a while and needs no lock. */
static cbx_devices *probed(cx_call *c, bool *gpus)
{
    const cbx_devices *devices = NULL;
    cbx_devices *held;
    cbx_status status;

    c->elements = CX_UNLOCK_ELEMENTS;
    if (!cx_begin(c)) return NULL;
    status = cbx_ctx_devices(c->ctx, &devices, &c->err);
    held = status ? NULL : cbx_devices_ref(devices);
    *gpus = (cbx_ctx_backend(c->ctx)->flags & CBX_BACKEND_GPU) != 0;
    if (!cx_keep(c, 0, NULL)) {
        cbx_devices_free(held);
        return NULL;
    }
    if (status) cx_raise(status, c->err.message);
    return held;
}

PyObject *cx_do_devices(cx_call *c)
{
    bool gpus = false;
    cbx_devices *devices = probed(c, &gpus);
    PyObject *list = devices ? list_of(devices, gpus, device_word) : NULL;

    cbx_devices_free(devices);
    return list;
}

static PyObject *gaps_of(const cbx_devices *devices)
{
    size_t n = 0;
    const cbx_device_gap *gaps = cbx_devices_gaps(devices, &n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *v = Py_BuildValue("{s:s,s:s,s:z}", "what", gaps[i].what, "text", gaps[i].text, "remedy",
                                    gaps[i].remedy);
        if (!v || PyList_Append(list, v) < 0) Py_CLEAR(list);
        Py_XDECREF(v);
    }
    return list;
}

static PyObject *do_hardware(cx_call *c)
{
    bool gpus = false;
    cbx_devices *devices = probed(c, &gpus);
    PyObject *all = devices ? list_of(devices, true, described) : NULL, *gaps = all ? gaps_of(devices) : NULL;
    PyObject *both = gaps ? Py_BuildValue("{s:O,s:O}", "devices", all, "missing", gaps) : NULL;

    Py_XDECREF(all);
    Py_XDECREF(gaps);
    cbx_devices_free(devices);
    return both;
}

static PyObject *do_memory(cx_call *c)
{
    size_t in_use = 0, kept = 0, peak = 0;

    for (int i = 0; i < c->st->idle_count; i++) {
        cbx_pool_stats s;
        cbx_pool_get_stats(cbx_ctx_pool(c->st->idle[i]), &s);
        in_use += s.bytes_in_use;
        kept += s.bytes_kept;
        peak += s.bytes_in_use_peak;
    }
    return Py_BuildValue("{s:n,s:n,s:n}", "in_use_bytes", (Py_ssize_t)in_use, "kept_bytes", (Py_ssize_t)kept,
                         "peak_bytes", (Py_ssize_t)peak);
}

/* clang-format off */
#define DEVICE(X) \
    X(backend, "", "str", do_backend, 0, "Name of the backend that computes.") \
    X(backends, "", "list[str]", do_backends, 0, "Names of all backends, those first that 'auto' prefers.") \
    X(devices, "", "list[str]", cx_do_devices, 0, "Devices that arrays may be on.") \
    X(hardware, "", "dict[str, Any]", do_hardware, 0, "All devices of the machine, and what is missing with its remedy.") \
    X(memory, "", "dict[str, int]", do_memory, 0, "Bytes of elements: in use, kept for re-use, the most so far.") \
    X(set_backend, "name: str, /", "None", do_set_backend, 0, "Lets a backend compute from now on.")
/* clang-format on */
CX_FUNCTIONS(cx_device_methods, DEVICE)
