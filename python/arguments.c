/* Python objects as operands: arrays, weak numbers, axes, shapes, dtypes.  Each refusal names the function and the object. */
#include <math.h>
#include <string.h>

#include "python/records.h"

static PyObject *refuse(const cx_call *c, const char *wanted, PyObject *got)
{
    PyErr_Format(PyExc_TypeError, "%s takes %s, not %R", c->name, wanted, (PyObject *)Py_TYPE(got));
    return NULL;
}

bool cx_refuse(const cx_call *c, const char *name, PyObject *kind, const char *wanted, PyObject *got)
{
    PyErr_Format(kind, "%s: '%s' must be %s, got %R", c->name, name, wanted, got);
    return false;
}

/* ---- numbers ---- */

/* A whole number of up to 64 bits; beyond, its nearest float, with big set. */
static int whole_from(PyObject *o, cx_operand *out)
{
    int over = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &over);

    out->scalar = cbx_int(v);
    if (v == -1 && !over && PyErr_Occurred()) return -1;
    if (!over) return 1;
    if (over > 0) {
        unsigned long long u = PyLong_AsUnsignedLongLong(o);
        if (!PyErr_Occurred()) {
            out->scalar = (cbx_scalar){ .dtype = CBX_U64, .v.u = u };
            return 1;
        }
        PyErr_Clear();
    }
    out->big = o;
    out->scalar = cbx_float(PyLong_AsDouble(o));
    return PyErr_Occurred() ? -1 : 1;
}

int cx_scalar_from(PyObject *o, cx_operand *out)
{
    *out = (cx_operand){ 0 };
    if (PyBool_Check(o)) {
        out->scalar = cbx_bool(o == Py_True);
    } else if (PyLong_Check(o)) {
        return whole_from(o, out);
    } else if (PyFloat_Check(o)) {
        out->scalar = cbx_float(PyFloat_AsDouble(o));
    } else if (PyComplex_Check(o)) {
        out->scalar = cbx_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
    } else {
        return 0;
    }
    return 1;
}

bool cx_fits(cbx_dtype t, const cx_operand *v)
{
    if (cbx_dtype_kind(t) != CBX_KIND_INT) return true;
    if (v->big)
        PyErr_Format(PyExc_OverflowError, "%R is no %s", v->big, cbx_dtype_name(t));
    else if (v->scalar.dtype == CBX_U64 && t != CBX_U64)
        PyErr_Format(PyExc_OverflowError, "%llu is no %s", (unsigned long long)v->scalar.v.u, cbx_dtype_name(t));
    else
        return true;
    return false;
}

/* The dtype a number has by itself. */
static cbx_dtype own_dtype(const cx_operand *v) { return v->scalar.dtype; }

/* ---- arrays ---- */

bool cx_is_array(cx_state *st, PyObject *o) { return Py_TYPE(o) == st->array_type; }

/* A scalar of NumPy or another package: an object with a dtype, the shape () and the buffer protocol; 0 if o is none. */
static int foreign_scalar(cx_call *c, PyObject *o, cx_operand *out)
{
    PyObject *shape = PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "dtype") ? PyObject_GetAttrString(o, "shape")
                                                                                    : NULL;
    PyObject *array = NULL;
    bool scalar = shape && PyTuple_Check(shape) && PyTuple_Size(shape) == 0;

    Py_XDECREF(shape);
    PyErr_Clear();
    if (scalar) array = cx_asarray(c->st, o, CBX_DTYPE_COUNT, -1);
    if (!array) return PyErr_Occurred() ? -1 : 0;
    *out = (cx_operand){ .array = cbx_array_ref(((cx_array *)array)->handle) };
    Py_DECREF(array);
    return cx_hold(c, out->array) ? 1 : -1;
}

int cx_operand_from(cx_call *c, PyObject *o, cx_operand *out)
{
    if (!cx_is_array(c->st, o)) {
        int is = cx_scalar_from(o, out);
        return is ? is : foreign_scalar(c, o, out);
    }
    *out = (cx_operand){ .array = cbx_array_ref(((cx_array *)o)->handle) };
    return cx_hold(c, out->array) ? 1 : -1;
}

/* An array of rank 0, held by the call. */
static cbx_array *scalar_array(cx_call *c, const cx_operand *v)
{
    cx_call inner;
    cbx_array *r = NULL;

    if (v->big) {
        PyErr_Format(PyExc_OverflowError, "%s: the number has more than 64 bits: write it as a float", c->name);
        return NULL;
    }
    cx_call_init(&inner, c->st, c->name);
    if (cx_begin(&inner)) {
        r = cbx_full(inner.ctx, 0, NULL, own_dtype(v), v->scalar);
        if (!cx_keep(&inner, 1, &r)) r = NULL;
    }
    cx_call_done(&inner);
    return r && cx_hold(c, r) ? r : NULL;
}

const cbx_array *cx_array_from(cx_call *c, PyObject *o, const char *what)
{
    cx_operand v;
    int is = cx_operand_from(c, o, &v);

    if (is < 0) return NULL;
    if (!is) return (const cbx_array *)refuse(c, what, o);
    return v.array ? v.array : scalar_array(c, &v);
}

const cbx_array *cx_array_arg(cx_call *c, const char *name)
{
    const cbx_array *a = NULL;
    return cx_get(c, (const cx_target[]){ { name, cx_read_array, &a }, { 0 } }) ? a : NULL;
}

const cbx_array *cx_weak(cx_call *c, const cbx_array *x, const cx_operand *v)
{
    cbx_dtype t = cbx_array_dtype(x);

    if (v->scalar.dtype == CBX_U64 && t == CBX_U64) return cbx_full(c->ctx, 0, NULL, t, v->scalar);
    if (v->scalar.dtype == CBX_U64) {
        cbx_scalar wide = cbx_dtype_kind(t) == CBX_KIND_BOOL ? v->scalar : cbx_float((double)v->scalar.v.u);
        return wide.dtype == CBX_U64 ? cbx_full(c->ctx, 0, NULL, CBX_U64, wide) : cbx_weak(c->ctx, x, wide);
    }
    return cbx_weak(c->ctx, x, v->scalar);
}

/* True if a number of a call is a whole one and its array is of whole numbers. */
static bool both_whole(const cx_operand *v, cbx_dtype t)
{
    return (v->big || cbx_dtype_kind(v->scalar.dtype) == CBX_KIND_INT) && cbx_dtype_kind(t) == CBX_KIND_INT;
}

bool cx_beyond(const cx_operand *v, cbx_dtype t, bool above)
{
    cbx_iinfo range = { 0 };

    if (!both_whole(v, t) || cbx_dtype_iinfo(t, &range, NULL)) return false;
    if (v->big) return above ? v->scalar.v.f > 0 : v->scalar.v.f < 0;
    if (v->scalar.dtype == CBX_U64) return above && v->scalar.v.u > range.max;
    return above ? v->scalar.v.i > 0 && v->scalar.v.u > range.max : v->scalar.v.i < range.min;
}

/* A whole number as comparisons with t need it: beyond the range of t it is an infinity. */
static void to_comparable(cx_operand *v, cbx_dtype t)
{
    bool below = cx_beyond(v, t, false), above = cx_beyond(v, t, true);

    if (below || above) *v = (cx_operand){ .scalar = cbx_float(below ? -(double)INFINITY : (double)INFINITY) };
}

void cx_ease(cx_binary f, cx_operand *a, cx_operand *b)
{
    static const cx_binary comparisons[] = { cbx_equal,      cbx_not_equal, cbx_less,
                                             cbx_less_equal, cbx_greater,   cbx_greater_equal };
    cx_operand *v = a->array ? b : a;
    const cbx_array *x = a->array ? a->array : b->array;

    if (!x || v->array || !both_whole(v, cbx_array_dtype(x))) return;
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (f == comparisons[i]) to_comparable(v, cbx_array_dtype(x));
    if (f != cbx_divide) return;
    if (v->big)
        *v = (cx_operand){ .scalar = v->scalar };
    else
        v->scalar = cbx_float(v->scalar.dtype == CBX_U64 ? (double)v->scalar.v.u : (double)v->scalar.v.i);
}

bool cx_meet(cx_call *c, cx_operand *a, cx_operand *b, const cbx_array **x, const cbx_array **y)
{
    if (!a->array && !b->array) {
        a->array = scalar_array(c, a);
        if (!a->array) return false;
    }
    if (!a->array && !cx_fits(cbx_array_dtype(b->array), a)) return false;
    if (!b->array && !cx_fits(cbx_array_dtype(a->array), b)) return false;
    if (!cx_begin(c)) return false;
    *x = a->array ? a->array : cx_weak(c, b->array, a);
    *y = b->array ? b->array : cx_weak(c, a->array, b);
    return true;
}

const cbx_array **cx_arrays_from(cx_call *c, PyObject *const *items, size_t n)
{
    const cbx_array **list = PyMem_Malloc((n + 1) * sizeof *list);

    if (!list) return (const cbx_array **)PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        list[i] = cx_array_from(c, items[i], "Arrays (asarray makes one)");
        if (!list[i]) {
            PyMem_Free(list);
            return NULL;
        }
    }
    return list;
}

const cbx_array **cx_array_list_arg(cx_call *c, const char *name, size_t *n)
{
    PyObject *tuple = PySequence_Tuple(cx_arg(c, name)), **items;
    const cbx_array **list = NULL;

    if (!tuple) return NULL;
    *n = (size_t)PyTuple_Size(tuple);
    items = PyMem_Malloc((*n + 1) * sizeof *items);
    if (items) {
        for (size_t k = 0; k < *n; k++) items[k] = PyTuple_GetItem(tuple, (Py_ssize_t)k);
        list = cx_arrays_from(c, items, *n);
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(items);
    Py_DECREF(tuple);
    return list;
}

/* ---- readers: what CX_GET does by the type of the variable; o is NULL where the default is None ---- */

static bool is_annotated(const cx_call *c, const char *name, const char *annotation)
{
    const cx_parameter *p = cx_parameter_of(c, name);
    return p && p->annotation && strncmp(p->annotation, annotation, strlen(annotation)) == 0;
}

static bool integer(cx_call *c, PyObject *o, const char *what, int64_t *out)
{
    PyObject *index;
    int over = 0;

    if (!PyIndex_Check(o) || PyBool_Check(o)) return refuse(c, what, o) != NULL;
    index = PyNumber_Index(o);
    if (!index) return false;
    *out = PyLong_AsLongLongAndOverflow(index, &over);
    if (over) PyErr_Format(PyExc_OverflowError, "%s: %R has more than 64 bits", c->name, index);
    Py_DECREF(index);
    return !PyErr_Occurred();
}

bool cx_read_object(cx_call *c, const char *name, PyObject *o, void *out)
{
    const cx_parameter *p = cx_parameter_of(c, name);

    if (o && is_annotated(c, name, "Callable") && !PyCallable_Check(o) &&
        !(o == Py_None && memcmp(p->annotation + p->annotation_length - 4, "None", 4) == 0))
        return cx_refuse(c, name, PyExc_TypeError, "callable", o);
    *(PyObject **)out = o;
    return true;
}

bool cx_read_double(cx_call *c, const char *name, PyObject *o, void *out)
{
    double v = o ? PyFloat_AsDouble(o) : 0;

    if (!o) return true;
    if (v == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
        PyErr_Clear();
        return cx_refuse(c, name, PyExc_TypeError, "a number", o);
    }
    *(double *)out = v;
    return true;
}

bool cx_read_int64(cx_call *c, const char *name, PyObject *o, void *out)
{
    int over = 0;

    if (!o) return true;
    if (!PyIndex_Check(o) || PyBool_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "an integer", o);
    if (is_annotated(c, name, "offset") && PyLong_Check(o)) (void)PyLong_AsLongLongAndOverflow(o, &over);
    if (!over) return integer(c, o, "an integer", out);
    *(int64_t *)out = over > 0 ? INT64_MAX : -INT64_MAX; /* beyond every diagonal */
    return true;
}

bool cx_read_size(cx_call *c, const char *name, PyObject *o, void *out)
{
    double s = 0;
    int64_t v = 0;

    if (!o) return true;
    if (is_annotated(c, name, "seconds")) {
        if (!cx_read_double(c, name, o, &s)) return false;
        if (!(s >= 0 && s < 1.8e10)) return cx_refuse(c, name, PyExc_ValueError, "a time in seconds of at least 0", o);
        *(uint64_t *)out = (uint64_t)(s * 1e9);
        return true;
    }
    if (!cx_read_int64(c, name, o, &v)) return false;
    if (v < 0) return cx_refuse(c, name, PyExc_ValueError, "at least 0", o);
    *(size_t *)out = (size_t)v;
    return true;
}

bool cx_read_bool(cx_call *c, const char *name, PyObject *o, void *out)
{
    int v = o ? PyObject_IsTrue(o) : 0;

    (void)c, (void)name;
    if (o) *(bool *)out = v > 0;
    return v >= 0;
}

bool cx_read_text(cx_call *c, const char *name, PyObject *o, void *out)
{
    const char *text;

    if (!o) return true;
    if (!PyUnicode_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "a string", o);
    text = cx_text_of(o, c->name);
    if (text) *(const char **)out = text;
    return text != NULL;
}

bool cx_read_choice(cx_call *c, const char *name, PyObject *o, int *out)
{
    const cx_parameter *p = cx_parameter_of(c, name);
    PyObject *value = PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "value"), *wanted, *list;
    const char *end = p->annotation + p->annotation_length, *word = NULL;
    Py_ssize_t length = -1;

    PyErr_Clear();
    if (value && PyUnicode_Check(value)) word = PyUnicode_AsUTF8AndSize(value, &length);
    PyErr_Clear();
    int k = 0;
    bool found = false;
    for (const char *at = p->annotation; word && !found && at < end && (at = memchr(at, '\'', (size_t)(end - at)));) {
        const char *close = memchr(at + 1, '\'', (size_t)(end - at - 1));
        found = close - at - 1 == length && memcmp(at + 1, word, (size_t)length) == 0;
        if (found) *out = k;
        k++;
        at = close + 1;
    }
    Py_XDECREF(value);
    if (found) return true;
    wanted = PyUnicode_FromStringAndSize(p->annotation, (Py_ssize_t)p->annotation_length);
    list = wanted ? PyObject_CallMethod(wanted, "replace", "ss", " | ", ", ") : NULL;
    if (list) PyErr_Format(PyExc_ValueError, "%s: '%s' must be one of %U, got %R", c->name, name, list, o);
    Py_XDECREF(wanted);
    Py_XDECREF(list);
    return false;
}

bool cx_read_unsigned(cx_call *c, const char *name, PyObject *o, void *out)
{
    size_t v = 0;

    if (!o) return true;
    if (is_annotated(c, name, "'")) return cx_read_choice(c, name, o, out);
    if (is_annotated(c, name, "DType")) return cx_dtype_from(c->st, o, out);
    if (!cx_read_size(c, name, o, &v)) return false;
    *(unsigned *)out = v > UINT32_MAX ? UINT32_MAX : (unsigned)v;
    return true;
}

bool cx_read_int(cx_call *c, const char *name, PyObject *o, void *out)
{
    int64_t v = 0;

    if (!o) return true;
    if (is_annotated(c, name, "'")) return cx_read_choice(c, name, o, out);
    if (!cx_read_int64(c, name, o, &v)) return false;
    if (strcmp(name, "axis") != 0) {
        if (v < INT32_MIN || v > INT32_MAX) return cx_refuse(c, name, PyExc_OverflowError, "an integer of 32 bits", o);
    } else if (v < -CBX_MAX_RANK - 1 || v > CBX_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "%s: there is no axis %lld", c->name, (long long)v);
        return false;
    }
    *(int *)out = (int)v;
    return true;
}

bool cx_read_array(cx_call *c, const char *name, PyObject *o, void *out)
{
    const cbx_array **array = out;
    cx_operand v;
    int is;

    if (!o) return true;
    is = cx_operand_from(c, o, &v);
    if (is == 0) return cx_refuse(c, name, PyExc_TypeError, "an Array or a number (asarray makes an Array)", o);
    *array = is < 0 ? NULL : v.array ? v.array : scalar_array(c, &v);
    return *array != NULL;
}

/* ---- arguments that need more than their own value ---- */

bool cx_ints_from(cx_call *c, PyObject *o, const char *what, int limit, int *n, ptrdiff_t *out)
{
    PyObject *tuple;
    bool fine = true;
    int64_t v = 0;

    if (PyIndex_Check(o) && !PySequence_Check(o)) {
        if (limit < 1 || !integer(c, o, what, &v)) return false;
        *n = 1;
        out[0] = (ptrdiff_t)v;
        return true;
    }
    if (!PySequence_Check(o)) return refuse(c, what, o) != NULL;
    tuple = PySequence_Tuple(o);
    if (!tuple) return false;
    if (PyTuple_Size(tuple) > limit) {
        PyErr_Format(PyExc_ValueError, "%s takes %s, %d at most, not %zd", c->name, what, limit, PyTuple_Size(tuple));
        fine = false;
    }
    *n = fine ? (int)PyTuple_Size(tuple) : 0;
    for (int k = 0; fine && k < *n; k++) {
        fine = integer(c, PyTuple_GetItem(tuple, k), what, &v);
        out[k] = (ptrdiff_t)v;
    }
    Py_DECREF(tuple);
    return fine;
}

bool cx_shape_arg(cx_call *c, const char *name, int *ndim, size_t *shape)
{
    ptrdiff_t v[CBX_MAX_RANK];

    if (!cx_ints_from(c, cx_arg(c, name), "integers as a shape", CBX_MAX_RANK, ndim, v)) return false;
    for (int k = 0; k < *ndim; k++) {
        if (v[k] < 0) {
            PyErr_Format(PyExc_ValueError, "%s: the length %zd of axis %d is negative", c->name, (Py_ssize_t)v[k], k);
            return false;
        }
        shape[k] = (size_t)v[k];
    }
    return true;
}

bool cx_axes_arg(cx_call *c, const char *name, const cbx_array *x, bool keep, cbx_axes *out)
{
    PyObject *o = cx_arg(c, name);
    ptrdiff_t v[CBX_MAX_RANK];

    *out = (cbx_axes){ .keep = keep };
    if (!o) {
        out->n = cbx_array_ndim(x);
        for (int k = 0; k < out->n; k++) out->axis[k] = k;
        return true;
    }
    if (!cx_ints_from(c, o, "an axis or several", CBX_MAX_RANK, &out->n, v)) return false;
    for (int k = 0; k < out->n; k++) {
        if (v[k] < -CBX_MAX_RANK || v[k] >= CBX_MAX_RANK) {
            PyErr_Format(PyExc_ValueError, "%s: there is no axis %zd", c->name, (Py_ssize_t)v[k]);
            return false;
        }
        out->axis[k] = (int)v[k];
    }
    return true;
}

bool cx_axis_arg(cx_call *c, const char *name, int *axis, bool *none)
{
    const cx_parameter *p = cx_parameter_of(c, name);
    PyObject *o = c->arg[p - c->function->parameters];

    if (none) *none = o == Py_None || (!o && p->fallback && strncmp(p->fallback, "None", 4) == 0);
    return !o || o == Py_None || cx_read_int(c, name, o, axis);
}

bool cx_device_arg(cx_call *c, const char *name)
{
    PyObject *o = cx_arg(c, name);

    if (!o || (PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, "cpu") == 0)) return true;
    PyErr_Format(PyExc_ValueError, "%s: there is no device %R: devices() lists them", c->name, o);
    return false;
}
