/* Things that live between calls: their types from one table. */
#include "python/things.h"

#include <string.h>

static const cx_thing_type *const types[CX_THING_COUNT] = {
    [CX_SEQUENCE] = &cx_sequence_thing,
    [CX_STREAM] = &cx_stream_thing,
    [CX_RESOURCE_MONITOR] = &cx_resource_monitor_thing,
    [CX_ENERGY_METER] = &cx_energy_meter_thing,
    [CX_ENERGY_MONITOR] = &cx_energy_monitor_thing,
    [CX_COMPILATION] = &cx_compilation_thing,
    [CX_BISECTION] = &cx_bisection_thing,
    [CX_GPU] = &cx_gpu_thing,
    [CX_TIMELINE] = &cx_timeline_thing,
    [CX_WINDOW] = &cx_window_thing,
    [CX_ALERTS] = &cx_alerts_thing,
    [CX_HEALTH] = &cx_health_thing,
    [CX_SINK] = &cx_sink_thing,
    [CX_VALIDATION] = &cx_validation_thing,
    [CX_ELL] = &cx_ell_thing,
};

const char *cx_thing_type_name(cx_thing_kind kind) { return types[kind]->name; }

cx_thing *cx_thing_new(cx_state *st, cx_thing_kind kind)
{
    cx_thing *t = (cx_thing *)PyType_GenericAlloc(st->things[kind], 0);
    cbx_err err = CBX_ERR_INIT;

    if (!t) return NULL;
    t->kind = kind;
    if (!cbx_ctx_create(NULL, &t->ctx, &err)) return t;
    cx_raise(err.status, err.message);
    Py_DECREF(t);
    return NULL;
}

PyObject *cx_thing_made(cx_thing *t, cbx_status status, const cbx_err *err)
{
    if (!status) return (PyObject *)t;
    if (!PyErr_Occurred()) cx_raise(status, err->message);
    Py_DECREF(t);
    return NULL;
}

static const char *short_name(const cx_thing *t) { return strrchr(types[t->kind]->name, '.') + 1; }

static cx_thing *ready(cx_thing *t)
{
    if (!t->handle) {
        PyErr_Format(PyExc_ValueError, "this %s is closed", short_name(t));
        return NULL;
    }
    if (t->busy) {
        PyErr_Format(PyExc_RuntimeError, "another thread is using this %s: one thread uses it at a time",
                     short_name(t));
        return NULL;
    }
    return t;
}

cx_thing *cx_thing_self(cx_call *c) { return ready((cx_thing *)c->self); }

cx_thing *cx_thing_arg(cx_call *c, const char *name, cx_thing_kind kind)
{
    PyObject *o = cx_arg(c, name);

    if (o && Py_TYPE(o) == c->st->things[kind]) return ready((cx_thing *)o);
    PyErr_Format(PyExc_TypeError, "%s: '%s' must be a %s, got %R", c->name, name, strrchr(types[kind]->name, '.') + 1,
                 o ? o : Py_None);
    return NULL;
}

/* ---- types ---- */

static cx_thing_kind kind_of(const cx_state *st, const PyTypeObject *type)
{
    int k = 0;
    while (st->things[k] != type) k++;
    return (cx_thing_kind)k;
}

/* The type called: its maker, as a function is called. */
static PyObject *thing_call(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    cx_state *st = PyType_GetModuleState(type);
    PyObject *items[2 * CX_MAX_ARGS], *names = kw ? PySequence_Tuple(kw) : PyTuple_New(0), *r = NULL;
    Py_ssize_t n = PyTuple_Size(args), nkw = names ? PyTuple_Size(names) : 0;

    if (names && n + nkw > (Py_ssize_t)CBX_LEN(items)) {
        PyErr_Format(PyExc_TypeError, "%s takes no %zd arguments", types[kind_of(st, type)]->make->name, n + nkw);
    } else if (names) {
        for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(args, i);
        for (Py_ssize_t i = 0; i < nkw; i++) items[n + i] = PyDict_GetItem(kw, PyTuple_GetItem(names, i));
        r = cx_invoke(st, types[kind_of(st, type)]->make, NULL, items, n, names);
    }
    Py_XDECREF(names);
    return r;
}

static int thing_traverse(PyObject *self, visitproc visit, void *arg)
{
    cx_thing *t = (cx_thing *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(t->kept);
    Py_VISIT(t->listener);
    return 0;
}

static int thing_clear(PyObject *self)
{
    cx_thing *t = (cx_thing *)self;
    Py_CLEAR(t->kept);
    Py_CLEAR(t->listener);
    return 0;
}

static void thing_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cx_thing *t = (cx_thing *)self;

    PyObject_GC_UnTrack(self);
    if (t->handle) types[t->kind]->free(t);
    cbx_ctx_free(t->ctx);
    thing_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static bool add_type(cx_state *st, int k)
{
    const cx_function *make = types[k]->make;
    PyObject *doc = PyUnicode_FromFormat("%s(%s) -> %s\n--\n\n%s", make->name, make->signature, make->returns,
                                         types[k]->doc);
    PyType_Slot slots[] = {
        { Py_tp_new, thing_call },
        { Py_tp_dealloc, thing_dealloc },
        { Py_tp_traverse, thing_traverse },
        { Py_tp_clear, thing_clear },
        { Py_tp_methods, types[k]->methods },
        { Py_tp_doc, doc ? (char *)(uintptr_t)PyUnicode_AsUTF8AndSize(doc, NULL) : NULL },
        { types[k]->call ? Py_tp_call : 0, (void *)types[k]->call },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = types[k]->name,
                         .basicsize = sizeof(cx_thing),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                         .slots = slots };

    st->things[k] = doc ? cx_type(st, &spec) : NULL;
    Py_XDECREF(doc);
    return st->things[k] != NULL;
}

bool cx_add_things(cx_state *st)
{
    for (int k = 0; k < CX_THING_COUNT; k++)
        if (!add_type(st, k)) return false;
    return true;
}
