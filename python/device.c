/* Backends and devices: which are there, which one computes, what is missing. */
#include <string.h>

#include "python/records.h"

/* ---- backends ---- */

CX_RETURN(do_backend, (const char *name), cx_begin(c) && (name = cbx_ctx_backend(c->ctx)->name) && cx_keep(c, 0, NULL),
          PyUnicode_FromString(name))

static PyObject *do_backends(cx_call *c)
{
    size_t n = 0;

    (void)c;
    while (cbx_backend_at(n)) n++;
    return CX_LIST(n, PyUnicode_FromString(cbx_backend_at(i)->name));
}

CX_RETURN(do_set_backend, (const cbx_backend *backend = cbx_backend_at(0); const char *name),
          CX_GET(c, name) && (strcmp(name, "auto") == 0 || !cbx_backend_find(name, &backend, NULL) ||
                              cx_refused(PyExc_ValueError,
                                         "%s: unknown backend '%s': it must be auto, reference or jit", c->name, name)),
          (c->st->backend = backend, Py_NewRef(Py_None)))

/* ---- devices ---- */

PyObject *cx_device_word(cbx_device_id id)
{
    char text[32];
    return PyUnicode_FromString(cbx_device_id_text(id, text, sizeof text));
}

static PyObject *device_word(const cbx_device *d) { return cx_device_word((cbx_device_id){ d->kind, d->index }); }

/* The devices of a context, held by the caller; finding them may take a while and needs no lock. */
static cbx_devices *probed(cx_call *c, bool *gpus)
{
    const cbx_devices *devices = NULL;
    cbx_devices *held;
    cbx_status status;

    if (!cx_begin_long(c)) return NULL;
    status = cbx_ctx_devices(c->ctx, &devices, &c->err);
    held = status ? NULL : cbx_devices_ref(devices);
    *gpus = (cbx_ctx_backend(c->ctx)->flags & CBX_BACKEND_GPU) != 0;
    if (cx_fine(c, status)) return held;
    return NULL;
}

static void drop(cbx_devices **devices) { cbx_devices_free(*devices); }

PyObject *cx_do_devices(cx_call *c)
{
    bool gpus = false;
    CX_ENDED_BY(drop) cbx_devices *devices = probed(c, &gpus);
    CX_OWN PyObject *list = devices ? PyList_New(0) : NULL;

    for (size_t i = 0; list && i < cbx_devices_count(devices); i++) {
        const cbx_device *d = cbx_devices_at(devices, i);
        if ((d->kind == CBX_DEVICE_CPU || gpus) && !cx_append(list, device_word(d))) return NULL;
    }
    return Py_XNewRef(list);
}

static PyObject *device_object(const cbx_device *d)
{
    return Py_BuildValue("{s:N,s:s,s:K}", "device", device_word(d), "name", d->name, "memory_total_bytes",
                         (unsigned long long)d->memory_total_bytes);
}

static PyObject *do_hardware(cx_call *c)
{
    bool gpus = false;
    CX_ENDED_BY(drop) cbx_devices *devices = probed(c, &gpus);
    const cbx_device_gap *gaps;
    size_t n = 0;

    if (!devices) return NULL;
    gaps = cbx_devices_gaps(devices, &n);
    return Py_BuildValue("{s:N,s:N}", "devices",
                         CX_LIST(cbx_devices_count(devices), device_object(cbx_devices_at(devices, i))), "missing",
                         CX_LIST(n, Py_BuildValue("{s:s,s:s,s:z}", "what", gaps[i].what, "text", gaps[i].text, "remedy",
                                                  gaps[i].remedy)));
}

/* Of a GPU. */
static PyObject *memory_of(cx_call *c, const char *word)
{
    cbx_device_id id = { 0 };
    cbx_device_memory m;
    cbx_err err = CBX_ERR_INIT;
    bool gpus = false;
    CX_ENDED_BY(drop) cbx_devices *devices = probed(c, &gpus);
    const cbx_device *device = NULL;
    cbx_status status;

    if (!devices) return NULL;
    (void)cbx_device_id_parse(word, &id, NULL); /* the call has checked it */
    for (size_t i = 0; i < cbx_devices_count(devices); i++) {
        const cbx_device *d = cbx_devices_at(devices, i);
        if (d->kind == id.kind && d->index == id.index) device = d;
    }
    if (!device)
        return PyErr_Format(PyExc_ValueError, "memory: 'device' must be one of those that devices() lists, got '%s'",
                            word);
    status = cbx_devices_memory(c->ctx, devices, device, &m, &err);
    if (!cx_keep(c, 0, NULL)) return NULL;
    if (status) return cx_raise(status, err.message);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "in_use_bytes", m.in_use_bytes, "kept_bytes", m.kept_bytes,
                         "peak_bytes", m.in_use_peak_bytes, "total_bytes", m.total_bytes, "available_bytes",
                         m.available_bytes);
}

static PyObject *do_memory(cx_call *c)
{
    size_t in_use = 0, kept = 0, peak = 0;
    const char *device = "cpu";

    if (cx_arg(c, "device") && !CX_GET(c, device)) return NULL;
    if (strcmp(device, "cpu") != 0) return memory_of(c, device);
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

/* Contexts in use by other threads keep theirs. */
static PyObject *do_trim(cx_call *c)
{
    size_t bytes = 0;

    for (int i = 0; i < c->st->idle_count; i++) {
        cbx_pool *pool = cbx_ctx_pool(c->st->idle[i]);
        cbx_pool_stats s;
        cbx_pool_get_stats(pool, &s);
        bytes += s.bytes_kept;
        cbx_pool_trim(pool);
    }
    bytes += cbx_devices_trim();
    return PyLong_FromSize_t(bytes);
}

/* clang-format off */
#define DEVICE(X) \
    X(backend, "", "str", do_backend, 0, "Name of the backend that computes.\n\n>>> xp.backend() in xp.backends()\nTrue") \
    X(backends, "", "list[str]", do_backends, 0, "Names of all backends, those first that 'auto' prefers.\n\n>>> 'reference' in xp.backends()\nTrue") \
    X(devices, "", "list[str]", cx_do_devices, 0, "Devices that arrays may be on.\n\n>>> xp.devices()[0]\n'cpu'") \
    X(hardware, "", "dict[str, Any]", do_hardware, 0, "All devices of the machine, and what is missing with its remedy.\n\n>>> xp.hardware()['devices'][0]['device']\n'cpu'") \
    X(memory, "*, device: str | None = None", "dict[str, int]", do_memory, 0, "Bytes of elements: in use, kept for reuse, and the maximum so far; of a GPU also what it has.\n\n>>> sorted(xp.memory())\n['in_use_bytes', 'kept_bytes', 'peak_bytes']") \
    X(set_backend, "name: str, /", "None", do_set_backend, 0, "Select the backend that computes.\n\n>>> xp.set_backend('auto')") \
    X(trim, "", "int", do_trim, 0, "Return the memory that is kept for reuse to the system; the number of bytes.\n\n>>> xp.trim() >= 0\nTrue")
/* clang-format on */
CX_FUNCTIONS(cx_device_methods, DEVICE, LIGHT)
