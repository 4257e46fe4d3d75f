/* asarray: Python numbers, nested sequences of them, objects with the buffer protocol or
 * __dlpack__, and Arrays. */
#include <string.h>

#include "python/state.h"

/* What a walk over nested sequences finds: the shape, and the dtype that all leaves meet in. */
typedef struct findings {
    cx_state *st;
    int ndim; /* -1: no leaf or empty sequence seen yet */
    size_t shape[CBX_MAX_RANK];
    cbx_dtype strong;            /* of Arrays among the leaves; CBX_DTYPE_COUNT: none */
    int weak;                    /* highest kind of numbers; -1: none */
    bool above_signed, negative; /* integers beyond int64; below 0 */
    bool traced;                 /* an Array without data among the leaves */
} findings;

static bool is_nest(cx_state *st, PyObject *o)
{
    if (cx_is_array(st, o)) return cbx_array_ndim(((cx_array *)o)->handle) > 0;
    return PyList_Check(o) || PyTuple_Check(o) ||
           (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !PyComplex_Check(o));
}

static bool see_leaf(findings *f, PyObject *o)
{
    cx_operand v;
    int is;

    if (cx_is_array(f->st, o)) {
        cbx_dtype t = cbx_array_dtype(((cx_array *)o)->handle);
        f->traced |= cbx_array_is_abstract(((cx_array *)o)->handle);
        f->strong = f->strong == CBX_DTYPE_COUNT ? t : cbx_dtype_promote(f->strong, t);
        return true;
    }
    is = cx_scalar_from(o, &v);
    if (is == 0)
        PyErr_Format(PyExc_TypeError, "asarray: %R is not a number, an array or a sequence of them",
                     (PyObject *)Py_TYPE(o));
    if (is <= 0) return false;
    if (v.scalar.dtype == CBX_U64 || v.big) f->above_signed = true;
    if (v.scalar.dtype == CBX_I64 && v.scalar.v.i < 0) f->negative = true;
    if (v.big) v.scalar.dtype = CBX_I64;
    if ((int)cbx_dtype_kind(v.scalar.dtype) > f->weak) f->weak = (int)cbx_dtype_kind(v.scalar.dtype);
    return true;
}

static bool ragged(int axis)
{
    return cx_refused(PyExc_ValueError, "asarray: the sequences at depth %d are not of one length: pad them", axis);
}

/* A new reference to an item of a sequence, as an Array if it is one of another package; NULL with
 * an exception. */
static PyObject *item_of(cx_state *st, PyObject *o, Py_ssize_t i)
{
    PyObject *v = PyList_CheckExact(o)    ? Py_XNewRef(PyList_GetItem(o, i))
                  : PyTuple_CheckExact(o) ? Py_XNewRef(PyTuple_GetItem(o, i))
                  : PySequence_Check(o)   ? PySequence_GetItem(o, i)
                                          : NULL;

    if (!v && !PyErr_Occurred()) {
        CX_OWN PyObject *at = PyLong_FromSsize_t(i);
        v = at ? PyObject_GetItem(o, at) : NULL;
    }
    if (v && !PyFloat_CheckExact(v) && !PyLong_CheckExact(v) && !cx_is_array(st, v) && cx_is_foreign_array(v)) {
        CX_OWN PyObject *foreign = v;
        v = cx_asarray(st, foreign, CBX_DTYPE_COUNT, -1);
    }
    return v;
}

static bool look(findings *f, PyObject *o, int axis)
{
    Py_ssize_t n;

    if (!is_nest(f->st, o)) {
        if (f->ndim < 0) f->ndim = axis;
        return f->ndim == axis ? see_leaf(f, o) : ragged(axis);
    }
    if (axis == CBX_MAX_RANK || f->ndim == axis) {
        if (f->ndim == axis) return ragged(axis);
        return cx_refused(PyExc_ValueError, "asarray: sequences are nested deeper than %d", CBX_MAX_RANK);
    }
    n = PyObject_Size(o);
    if (n < 0) return false;
    if (f->shape[axis] == SIZE_MAX) f->shape[axis] = (size_t)n;
    if (f->shape[axis] != (size_t)n) return ragged(axis);
    if (n == 0 && f->ndim < 0) f->ndim = axis + 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        CX_OWN PyObject *v = item_of(f->st, o, i);
        if (v && PyFloat_CheckExact(v) && (f->ndim < 0 || f->ndim == axis + 1)) { /* the usual leaf */
            f->ndim = axis + 1;
            if (f->weak < (int)CBX_KIND_FLOAT) f->weak = CBX_KIND_FLOAT;
            continue;
        }
        if (v && PyLong_CheckExact(v) && (f->ndim < 0 || f->ndim == axis + 1)) {
            int over;
            const long long number = PyLong_AsLongLongAndOverflow(v, &over);
            if (!over) {
                f->ndim = axis + 1;
                f->negative = f->negative || number < 0;
                if (f->weak < (int)CBX_KIND_INT) f->weak = CBX_KIND_INT;
                continue;
            }
        }
        if (!v || !look(f, v, axis + 1)) return false;
    }
    return true;
}

static cbx_dtype resolved(const findings *f)
{
    const cbx_dtype own[] = { CBX_BOOL, CBX_I64, CBX_F64, CBX_C128 };

    if (f->strong != CBX_DTYPE_COUNT)
        return f->weak < 0 ? f->strong : cbx_dtype_promote_weak(f->strong, (cbx_kind)f->weak);
    if (f->weak < 0) return CBX_F64;
    if (f->weak == CBX_KIND_INT && f->above_signed && !f->negative) return CBX_U64;
    return own[f->weak];
}

/* Second walk: elements in row-major order from *at on. */
static bool fill(const findings *f, PyObject *o, int axis, cbx_dtype t, char **at)
{
    if (axis == f->ndim) {
        char *to = *at;
        *at += cbx_dtype_size(t);
        if (is_nest(f->st, o)) return ragged(axis);
        CX_OWN PyObject *number = cx_is_array(f->st, o) ? cx_item(f->st, ((cx_array *)o)->handle) : Py_NewRef(o);
        return number && cx_store(t, to, number);
    }
    if (!is_nest(f->st, o) || PyObject_Size(o) != (Py_ssize_t)f->shape[axis])
        return PyErr_Occurred() ? false : ragged(axis);
    for (size_t i = 0; i < f->shape[axis]; i++) {
        CX_OWN PyObject *v = item_of(f->st, o, (Py_ssize_t)i);
        if (v && t == CBX_F64 && axis + 1 == f->ndim && PyFloat_CheckExact(v)) {
            *(double *)*at = PyFloat_AsDouble(v);
            *at += sizeof(double);
            continue;
        }
        if (v && t == CBX_I64 && axis + 1 == f->ndim && PyLong_CheckExact(v)) {
            int over;
            *(int64_t *)*at = PyLong_AsLongLongAndOverflow(v, &over);
            if (!over) {
                *at += sizeof(int64_t);
                continue;
            }
        }
        if (!v || !fill(f, v, axis + 1, t, at)) return false;
    }
    return true;
}

/* Nested sequences with traced leaves: stacked, from the inside out. */
static PyObject *stacked_nest(const findings *f, PyObject *o, int axis, cbx_dtype t)
{
    CX_OWN PyObject *list = axis < f->ndim ? PyList_New(0) : NULL;

    if (axis == f->ndim) return cx_asarray(f->st, o, t, -1);
    for (size_t i = 0; list && i < f->shape[axis]; i++) {
        CX_OWN PyObject *v = item_of(f->st, o, (Py_ssize_t)i);
        if (!v || !cx_append(list, stacked_nest(f, v, axis + 1, t))) return NULL;
    }
    return list ? cx_asarray(f->st, list, CBX_DTYPE_COUNT, -1) : NULL;
}

/* Numbers go into the dtype asked for if its kind holds them; else they are found first and
 * converted then. */
static cbx_array *from_nest(cx_state *st, PyObject *o, cbx_dtype wanted)
{
    findings f = { .st = st, .ndim = -1, .strong = CBX_DTYPE_COUNT, .weak = -1 };
    cbx_array_desc desc = { 0 };
    cbx_array *a;
    char *at;

    for (int k = 0; k < CBX_MAX_RANK; k++) f.shape[k] = SIZE_MAX;
    if (!look(&f, o, 0)) return NULL;
    desc.dtype = resolved(&f);
    if (wanted != CBX_DTYPE_COUNT && cbx_dtype_kind(wanted) >= cbx_dtype_kind(desc.dtype)) desc.dtype = wanted;
    desc.ndim = f.ndim;
    memcpy(desc.shape, f.shape, sizeof desc.shape);
    if (f.traced) {
        CX_OWN PyObject *r = stacked_nest(&f, o, 0, desc.dtype);
        return r ? cbx_array_ref(((cx_array *)r)->handle) : NULL;
    }
    a = cx_create(st, &desc);
    if (!a) return NULL;
    at = cbx_array_data_mut(a);
    if (fill(&f, o, 0, desc.dtype, &at)) return a;
    cbx_array_free(a);
    return NULL;
}

/* A list of arrays, ours or those of other packages, without a look at each element; NULL, mostly
 * without an exception. */
static cbx_array *stack(cx_state *st, PyObject *list)
{
    PyObject *first = PyList_Size(list) > 0 ? PyList_GetItem(list, 0) : NULL;
    cbx_array *r;
    cx_arrays in;

    if (!first || !(cx_is_array(st, first) || cx_is_foreign_array(first))) return NULL;
    CX_ENDED_BY(cx_call_done) cx_call c;
    cx_call_init(&c, st, "asarray");
    in.n = (size_t)PyList_Size(list);
    in.list = cx_alloc(&c, in.n, sizeof *in.list);
    for (size_t i = 0; in.list && i < in.n; i++) {
        PyObject *o = PyList_GetItem(list, (Py_ssize_t)i);
        if (!o || !(cx_is_array(st, o) || cx_is_foreign_array(o))) return NULL;
        CX_OWN PyObject *a = cx_asarray(st, o, CBX_DTYPE_COUNT, -1);
        if (!a) return NULL;
        in.list[i] = cbx_array_ref(((cx_array *)a)->handle);
        if (!cx_hold(&c, (cbx_array *)(uintptr_t)in.list[i])) return NULL;
        if (cbx_array_ndim(in.list[i]) == CBX_MAX_RANK || cbx_array_ndim(in.list[i]) != cbx_array_ndim(in.list[0]))
            return NULL;
        for (int k = 0; k < cbx_array_ndim(in.list[0]); k++)
            if (cbx_array_dim(in.list[i], k) != cbx_array_dim(in.list[0], k)) return NULL;
    }
    if (!in.list || !cx_begin(&c)) return NULL;
    r = cbx_stack(c.ctx, in.n, in.list, 0);
    return cx_keep(&c, 1, &r) ? r : NULL;
}

/* A bool of another producer may be any byte; ours are 0 and 1, and others are copied. */
static cbx_array *as_truths(cx_state *st, cbx_array *a, int copy)
{
    const bool dense = a && cbx_array_is_contiguous(a);
    const size_t n = a ? cbx_array_count(a) : 0;
    uint8_t *own, *read = NULL, odd = 0;
    const uint8_t *bytes;
    cbx_array *r = a;

    if (!a || cbx_array_dtype(a) != CBX_BOOL || cx_is_elsewhere(a)) return a; /* of a device it was looked at */
    if (!dense && (!(read = PyMem_Malloc(n + 1)) || cbx_array_read(a, read, n, NULL))) {
        cbx_array_free(a);
        PyMem_Free(read);
        return (cbx_array *)PyErr_NoMemory();
    }
    bytes = dense ? cbx_array_data(a) : read;
    for (size_t i = 0; i < n; i++) odd |= bytes[i];
    if (odd > 1) {
        r = copy ? cx_create(st, cbx_array_get_desc(a)) : NULL;
        if (!copy)
            PyErr_SetString(PyExc_ValueError, "asarray: bool elements other than 0 and 1 must be copied: copy=True");
        own = r ? cbx_array_data_mut(r) : NULL;
        for (size_t i = 0; own && i < n; i++) own[i] = bytes[i] != 0;
        cbx_array_free(a);
    }
    PyMem_Free(read);
    return r;
}

static cbx_array *found(cx_state *st, PyObject *o, cbx_dtype dtype, int copy)
{
    cbx_array *stacked = NULL;
    int lends;

    if (cx_is_array(st, o)) return cbx_array_ref(((cx_array *)o)->handle);
    if (PyObject_CheckBuffer(o)) {
        const bool rounds = dtype != CBX_DTYPE_COUNT && cbx_dtype_kind(dtype) >= CBX_KIND_FLOAT;
        return as_truths(st, cx_import_buffer(st, o, rounds, copy), copy);
    }
    if (copy != 0 && PyList_CheckExact(o)) stacked = stack(st, o);
    if (copy != 0 && PyTuple_CheckExact(o) && PyTuple_Size(o) && cx_is_array(st, PyTuple_GetItem(o, 0))) {
        CX_OWN PyObject *list = PySequence_List(o);
        if (list) stacked = stack(st, list);
    }
    if (stacked) return stacked;
    if (PyErr_Occurred()) return NULL;
    lends = cx_lends_dlpack(o);
    if (lends) return lends > 0 ? as_truths(st, cx_import_dlpack(st, o, copy), copy) : NULL;
    if (copy == 0)
        return (void *)PyErr_Format(PyExc_ValueError, "asarray: %R has no buffer to share: leave copy=False out",
                                    (PyObject *)Py_TYPE(o));
    return from_nest(st, o, dtype);
}

PyObject *cx_asarray(cx_state *st, PyObject *o, cbx_dtype dtype, int copy)
{
    cbx_array *a;
    bool same;

    if (cx_is_array(st, o) && copy != 1 &&
        (dtype == CBX_DTYPE_COUNT || dtype == cbx_array_dtype(((cx_array *)o)->handle)))
        return Py_NewRef(o);
    a = found(st, o, dtype, copy);
    if (!a) return NULL;
    same = dtype == CBX_DTYPE_COUNT || dtype == cbx_array_dtype(a);
    if (same && !(cx_is_array(st, o) && copy == 1)) return cx_array_new(st, a);
    if (copy == 0) {
        PyErr_Format(PyExc_ValueError, "asarray: %s as %s needs a copy: leave copy=False out",
                     cbx_dtype_name(cbx_array_dtype(a)), cbx_dtype_name(dtype));
        cbx_array_free(a);
        return NULL;
    }
    CX_ENDED_BY(cx_call_done) cx_call c;
    cx_call_init(&c, st, "asarray");
    if (!cx_hold(&c, a) || !cx_begin(&c)) return NULL;
    return cx_result(&c, same ? cbx_copy(c.ctx, a) : cbx_astype(c.ctx, a, dtype));
}
