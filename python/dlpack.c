/*
 * DLPack capsules both ways.  The library makes and takes the structs; here they are wrapped in the
 * capsules that Python's side of the protocol passes around: "dltensor" before 1.0,
 * "dltensor_versioned" since; a consumer renames what it has taken.
 */
#include <string.h>

#include "python/state.h"

#define LEGACY    "dltensor"
#define VERSIONED "dltensor_versioned"
#define USED      "used_"

/* None, True and False as the library has them. */
static bool copy_arg(cx_call *c, cbx_dl_copy *out)
{
    bool copy = false;

    if (!CX_GET(c, copy)) return false;
    *out = !cx_arg(c, "copy") ? CBX_DL_COPY_IF_NEEDED : copy ? CBX_DL_COPY_ALWAYS : CBX_DL_COPY_NEVER;
    return true;
}

/* What the protocol raises where memory cannot be handed over as asked. */
static PyObject *refuse(cbx_status status, const char *message)
{
    if (status != CBX_EUNSUPPORTED) return cx_raise(status, message);
    PyErr_SetString(PyExc_BufferError, message);
    return NULL;
}

/* ---- lending ---- */

/* The tensor was not taken. */
static void drop_legacy(PyObject *capsule)
{
    cbx_dl_legacy *t = PyCapsule_IsValid(capsule, LEGACY) ? PyCapsule_GetPointer(capsule, LEGACY) : NULL;
    if (t && t->deleter) t->deleter(t);
}
static void drop_versioned(PyObject *capsule)
{
    cbx_dl_managed *t = PyCapsule_IsValid(capsule, VERSIONED) ? PyCapsule_GetPointer(capsule, VERSIONED) : NULL;
    if (t && t->deleter) t->deleter(t);
}

/* A pair of integers; v stays if the argument is None or left out. */
static bool pair(cx_call *c, const char *name, ptrdiff_t *v)
{
    PyObject *o = cx_arg(c, name);
    int n = 2;

    if (o && !cx_ints_from(c, name, o, "a pair of integers", 2, &n, v)) return false;
    return n == 2 || cx_refuse(c, name, PyExc_ValueError, "a pair of integers", o);
}

PyObject *cx_do_dlpack(cx_call *c)
{
    cbx_array *a = cbx_array_ref(((cx_array *)c->self)->handle);
    const bool elsewhere = cx_is_elsewhere(a);
    const ptrdiff_t own[2] = { elsewhere ? CBX_DL_CUDA : CBX_DL_CPU, cbx_array_device(a).index };
    ptrdiff_t version[2] = { 0, 0 }, device[2] = { own[0], own[1] };
    cbx_dl_legacy *old = NULL;
    cbx_dl_managed *new = NULL;
    PyObject *capsule;
    cbx_dl_copy copy;
    cbx_status status;

    if (!cx_hold(c, a) || !cx_concrete(c->st, a, "__dlpack__()") || !pair(c, "max_version", version) ||
        !pair(c, "dl_device", device) || !copy_arg(c, &copy))
        return NULL;
    if (cx_arg(c, "stream") && !elsewhere) /* of a GPU the elements are complete for every stream */
        return cx_raise(CBX_EINVAL, "__dlpack__: 'stream' must be None on the CPU");
    if (device[0] != own[0] || device[1] != own[1]) {
        if (!elsewhere || device[0] != CBX_DL_CPU || device[1] != 0 || copy == CBX_DL_COPY_NEVER)
            return PyErr_Format(PyExc_BufferError, "__dlpack__: the array is on device (%zd, %zd), not (%zd, %zd)%s",
                                own[0], own[1], device[0], device[1],
                                elsewhere && device[0] == CBX_DL_CPU ? ", which needs a copy" : "");
        if (!(a = cx_here(c->st, a)) || !cx_hold(c, a)) return NULL;
        copy = CBX_DL_COPY_ALWAYS; /* one more, so that the consumer may write */
    }
    c->elements = 0; /* a reference or one copy: not worth releasing the lock */
    if (!cx_begin(c)) return NULL;
    status = version[0] >= CBX_DL_MAJOR ? cbx_dlpack_export(c->ctx, a, copy, &new, &c->err)
                                        : cbx_dlpack_export_legacy(c->ctx, a, copy, &old, &c->err);
    if (!cx_keep(c, 0, NULL)) return NULL;
    if (status) return refuse(status, c->err.message);
    capsule = new ? PyCapsule_New(new, VERSIONED, drop_versioned) : PyCapsule_New(old, LEGACY, drop_legacy);
    if (!capsule && new) new->deleter(new);
    if (!capsule && old) old->deleter(old);
    return capsule;
}

/* ---- borrowing ---- */

/* Takes the tensor out of its capsule, which is renamed so that it is not taken twice. */
static void *taken(PyObject *capsule, const char *name)
{
    void *t = PyCapsule_GetPointer(capsule, name);
    const char *used = strcmp(name, LEGACY) == 0 ? USED LEGACY : USED VERSIONED;

    return t && PyCapsule_SetName(capsule, used) == 0 ? t : NULL;
}

static cbx_array *import(cx_call *c, PyObject *capsule, cbx_dl_copy copy)
{
    bool versioned = PyCapsule_IsValid(capsule, VERSIONED);
    void *t = taken(capsule, versioned ? VERSIONED : LEGACY);
    cbx_array *a = NULL;
    cbx_status status;

    if (!t || !cx_begin(c)) return NULL;
    status = versioned ? cbx_dlpack_import(c->ctx, t, copy, &a, &c->err)
                       : cbx_dlpack_import_legacy(c->ctx, t, copy, &a, &c->err);
    if (!cx_keep(c, 0, NULL) || status) {
        if (status) refuse(status, c->err.message);
        return NULL;
    }
    return a;
}

int cx_lends_dlpack(PyObject *o)
{
    CX_OWN PyObject *method = PyObject_GetAttrString(o, "__dlpack__");

    if (!method && !PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return method != NULL;
}

/* Of elements that can be read: on the CPU or a GPU of NVIDIA. */
static bool reads_device(PyObject *o, int *type)
{
    CX_OWN PyObject *device = PyObject_CallMethod(o, "__dlpack_device__", NULL);
    int id = 0;

    if (!device || !PyArg_ParseTuple(device, "ii", type, &id)) return false;
    if (*type == CBX_DL_CPU || *type == CBX_DL_CUDA) return true;
    return cx_refused(PyExc_BufferError,
                      "from_dlpack: the elements are on device (%d, %d), not on the CPU or a GPU of NVIDIA", *type, id);
}

/* Of a producer of DLPack 1, or one that does not know these arguments.  On a GPU, for the
 * default stream. */
static PyObject *ask(PyObject *o, int device, cbx_dl_copy copy)
{
    enum { DEFAULT_STREAM = 1 };
    CX_OWN PyObject *old = device == CBX_DL_CUDA ? Py_BuildValue("{s:i}", "stream", DEFAULT_STREAM) : PyDict_New();
    PyObject *wish = copy == CBX_DL_COPY_IF_NEEDED ? Py_None : copy == CBX_DL_COPY_ALWAYS ? Py_True : Py_False;
    CX_OWN PyObject *method = PyObject_GetAttrString(o, "__dlpack__"), *none = PyTuple_New(0);
    CX_OWN PyObject *kw = Py_BuildValue("{s:(ii),s:O}", "max_version", CBX_DL_MAJOR, CBX_DL_MINOR, "copy", wish);
    PyObject *capsule;

    if (!method || !none || !old || !kw || PyDict_Update(kw, old) < 0) return NULL;
    capsule = PyObject_Call(method, none, kw);
    if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
    PyErr_Clear();
    return PyObject_Call(method, none, old);
}

cbx_array *cx_import_dlpack(cx_state *st, PyObject *o, int copy)
{
    cbx_dl_copy how = copy < 0 ? CBX_DL_COPY_IF_NEEDED : copy ? CBX_DL_COPY_ALWAYS : CBX_DL_COPY_NEVER;
    int device = 0;
    CX_OWN PyObject *capsule = reads_device(o, &device) ? ask(o, device, how) : NULL;
    CX_ENDED_BY(cx_call_done) cx_call c;

    cx_call_init(&c, st, "from_dlpack");
    if (!capsule) return NULL;
    if (!PyCapsule_IsValid(capsule, VERSIONED) && !PyCapsule_IsValid(capsule, LEGACY))
        return (void *)PyErr_Format(PyExc_TypeError, "from_dlpack: __dlpack__ of %R returned no capsule of DLPack",
                                    (PyObject *)Py_TYPE(o));
    return import(&c, capsule, how);
}

static PyObject *do_from_dlpack(cx_call *c)
{
    PyObject *x = cx_arg(c, "x") ? cx_arg(c, "x") : Py_None;
    cbx_dl_copy copy;
    cbx_array *a;
    int lends;

    if (!copy_arg(c, &copy)) return NULL;
    if (cx_is_array(c->st, x) && copy != CBX_DL_COPY_ALWAYS)
        return cx_array_new(c->st, cbx_array_ref(((cx_array *)x)->handle));
    lends = cx_lends_dlpack(x);
    if (lends == 0) cx_refuse(c, "x", PyExc_TypeError, "an object with __dlpack__ (asarray takes others)", x);
    if (lends <= 0) return NULL;
    a = cx_import_dlpack(c->st, x, copy == CBX_DL_COPY_IF_NEEDED ? -1 : copy == CBX_DL_COPY_ALWAYS);
    return a ? cx_array_new(c->st, a) : NULL;
}

/* clang-format off */
#define DLPACK(X) \
    X(from_dlpack, "x: object, /, *, device: str | None = None, copy: bool | None = None", "Array", do_from_dlpack, 0, "An Array of the elements of an object with __dlpack__.\n\n>>> xp.from_dlpack(xp.arange(2))\nArray([0, 1], dtype=int64)")
/* clang-format on */
CX_FUNCTIONS(cx_dlpack_methods, DLPACK, LIGHT)
