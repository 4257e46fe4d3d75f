/* Objects that live between calls: their types from one table. */
#include "python/objects.h"

#include <string.h>

#define ROW(kind, name) [CX_##kind] = &cx_##name##_object_type,
static const cx_object_type *const types[CX_OBJECT_COUNT] = { CX_OBJECTS(ROW) };

cx_object *cx_object_new(cx_state *st, cx_object_kind kind)
{
    cx_object *t = (cx_object *)PyType_GenericAlloc(st->objects[kind], 0);
    cbx_err err = CBX_ERR_INIT;

    if (!t) return NULL;
    t->kind = kind;
    if (types[kind]->bare || !cbx_ctx_create(NULL, &t->ctx, &err)) return t;
    cx_raise(err.status, err.message);
    Py_DECREF(t);
    return NULL;
}

PyObject *cx_object_made(cx_object *t, cbx_status status, const cbx_err *err)
{
    if (!status) return (PyObject *)t;
    if (!PyErr_Occurred()) cx_raise(status, err->message);
    Py_DECREF(t);
    return NULL;
}

static const char *short_name(const cx_object *t) { return strrchr(types[t->kind]->name, '.') + 1; }

static cx_object *ready(cx_object *t)
{
    if (!t->handle) return (void *)PyErr_Format(PyExc_ValueError, "this %s is closed", short_name(t));
    if (t->busy)
        return (void *)PyErr_Format(
            PyExc_RuntimeError,
            "another thread is using this %s, or the function that it calls: one call uses it at a time",
            short_name(t));
    return t;
}

cx_object *cx_object_self(cx_call *c) { return ready((cx_object *)c->self); }
void *cx_handle(cx_call *c) { return ready((cx_object *)c->self) ? ((cx_object *)c->self)->handle : NULL; }

cx_object *cx_object_arg(cx_call *c, const char *name, cx_object_kind kind)
{
    PyObject *o = cx_arg(c, name);

    if (o && Py_TYPE(o) == c->st->objects[kind]) return ready((cx_object *)o);
    return PyErr_Format(PyExc_TypeError, "%s: '%s' must be a %s, got %R", c->name, name,
                        strrchr(types[kind]->name, '.') + 1, o ? o : Py_None),
           NULL;
}

/* ---- types ---- */

static cx_object_kind kind_of(const cx_state *st, const PyTypeObject *type)
{
    int k = 0;
    while (st->objects[k] != type) k++;
    return (cx_object_kind)k;
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    cx_state *st = PyType_GetModuleState(type);
    cx_function *make = types[kind_of(st, type)]->make;
    CX_OWN PyObject *names = kw ? PySequence_Tuple(kw) : PyTuple_New(0);
    Py_ssize_t n = PyTuple_Size(args), nkw = names ? PyTuple_Size(names) : 0;
    PyObject *items[2 * CX_MAX_ARGS];

    if (!names) return NULL;
    if (n + nkw > (Py_ssize_t)CBX_LEN(items))
        return PyErr_Format(PyExc_TypeError, "%s() takes fewer arguments than %zd", make->name, n + nkw);
    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(args, i);
    for (Py_ssize_t i = 0; i < nkw; i++) items[n + i] = PyDict_GetItem(kw, PyTuple_GetItem(names, i));
    return cx_invoke(st, make, NULL, items, n, names);
}

static int object_traverse(PyObject *self, visitproc visit, void *arg)
{
    cx_object *t = (cx_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(t->kept);
    Py_VISIT(t->listener);
    return 0;
}

static int object_clear(PyObject *self)
{
    cx_object *t = (cx_object *)self;
    Py_CLEAR(t->kept);
    Py_CLEAR(t->listener);
    return 0;
}

static void object_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cx_object *t = (cx_object *)self;

    PyObject_GC_UnTrack(self);
    if (t->handle) types[t->kind]->free(t);
    cbx_ctx_free(t->ctx);
    object_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static bool add_type(cx_state *st, int k)
{
    const cx_function *make = types[k]->make;
    CX_OWN PyObject *doc = make ? PyUnicode_FromFormat("%s(%s) -> %s\n--\n\n%s", make->name, make->signature,
                                                       make->returns, types[k]->doc)
                                : PyUnicode_FromString(types[k]->doc);
    const PyType_Slot more[] = {
        { Py_tp_new, make ? (void *)object_new : NULL },
        { Py_tp_getset, types[k]->members },
        { Py_tp_call, (void *)types[k]->call },
        { Py_tp_repr, (void *)types[k]->repr },
        { Py_tp_richcompare, (void *)types[k]->compare },
        { Py_tp_hash, (void *)types[k]->hash },
        { Py_tp_methods, types[k]->methods },
    };
    PyType_Slot slots[16] = {
        { Py_tp_dealloc, object_dealloc },
        { Py_tp_traverse, object_traverse },
        { Py_tp_clear, object_clear },
        { Py_tp_doc, doc ? (char *)(uintptr_t)PyUnicode_AsUTF8AndSize(doc, NULL) : NULL },
    };
    int n = 4;
    PyType_Spec spec = { .name = types[k]->name,
                         .basicsize = sizeof(cx_object),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
                                  (make ? 0 : Py_TPFLAGS_DISALLOW_INSTANTIATION),
                         .slots = slots };

    for (size_t i = 0; i < CBX_LEN(more); i++)
        if (more[i].pfunc) slots[n++] = more[i];
    st->objects[k] = doc ? cx_type(st, &spec) : NULL;
    return st->objects[k] && cx_place_type(st, spec.name, st->objects[k]);
}

bool cx_add_objects(cx_state *st)
{
    for (int k = 0; k < CX_OBJECT_COUNT; k++)
        if (!add_type(st, k)) return false;
    return true;
}
