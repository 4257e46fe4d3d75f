/* Python objects as operands: arrays, weak numbers, axes, shapes, dtypes.  Each refusal names
 * function, argument and object. */
#include <math.h>
#include <string.h>

#include "python/records.h"

bool cx_refuse(const cx_call *c, const char *name, PyObject *kind, const char *wanted, PyObject *got)
{
    return cx_refused(kind, "%s: '%s' must be %s, got %R", c->name, name, wanted, got);
}

/* ---- numbers ---- */

/* An integer of up to 64 bits; beyond, its nearest float, with big set. */
static int integer_from(PyObject *o, cx_operand *out)
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
        return integer_from(o, out);
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
        PyErr_Format(PyExc_OverflowError, "%R is out of the range of %s", v->big, cbx_dtype_name(t));
    else if (v->scalar.dtype == CBX_U64 && t != CBX_U64)
        PyErr_Format(PyExc_OverflowError, "%llu is out of the range of %s", (unsigned long long)v->scalar.v.u,
                     cbx_dtype_name(t));
    else
        return true;
    return false;
}

/* ---- arrays ---- */

bool cx_is_array(cx_state *st, PyObject *o) { return Py_TYPE(o) == st->array_type; }

bool cx_is_foreign_array(PyObject *o)
{
    return !PyLong_Check(o) && PyObject_CheckBuffer(o) && PyObject_HasAttrString(o, "dtype");
}

/* A scalar of NumPy or another package: an array of theirs of rank 0; 0 if o is not one. */
static int foreign_scalar(cx_call *c, PyObject *o, cx_operand *out)
{
    CX_OWN PyObject *array = cx_is_foreign_array(o) ? cx_asarray(c->st, o, CBX_DTYPE_COUNT, -1) : NULL;
    cbx_array *a = array ? ((cx_array *)array)->handle : NULL;

    if (!a || cbx_array_ndim(a) > 0) return PyErr_Occurred() ? -1 : 0;
    *out = (cx_operand){ .array = cbx_array_ref(a) };
    return cx_hold(c, out->array) ? 1 : -1;
}

int cx_operand_from(cx_call *c, PyObject *o, cx_operand *out)
{
    if (!cx_is_array(c->st, o)) {
        int is = cx_scalar_from(o, out);
        return is ? is : foreign_scalar(c, o, out);
    }
    *out = (cx_operand){ .array = cbx_array_ref(((cx_array *)o)->handle), .weak = ((cx_array *)o)->weak };
    if (out->weak)
        c->weak = true;
    else
        c->strong = true;
    return cx_hold(c, out->array) ? 1 : -1;
}

/* An array of rank 0 with data, also while a function is traced, held by the call. */
static cbx_array *scalar_array(cx_call *c, const cx_operand *v)
{
    const cbx_array_desc d = { .dtype = v->scalar.dtype };
    cbx_array *r;

    if (v->big)
        return (void *)PyErr_Format(PyExc_OverflowError, "%s: the number has more than 64 bits: write it as a float",
                                    c->name);
    r = cx_create(c->st, &d);
    if (!r) return NULL;
    memcpy(cbx_array_data_mut(r), &v->scalar.v, cbx_dtype_size(d.dtype));
    return cx_hold(c, r) ? r : NULL;
}

const cbx_array *cx_array_from(cx_call *c, PyObject *o, const char *name, const char *wanted)
{
    cx_operand v;
    int is = cx_operand_from(c, o, &v);

    if (is < 0) return NULL;
    if (!is) return cx_refuse(c, name, PyExc_TypeError, wanted, o), NULL;
    return v.array ? v.array : scalar_array(c, &v);
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

/* True if a number of a call is an integer and its array has integers. */
static bool both_integers(const cx_operand *v, cbx_dtype t)
{
    return (v->big || cbx_dtype_kind(v->scalar.dtype) == CBX_KIND_INT) && cbx_dtype_kind(t) == CBX_KIND_INT;
}

bool cx_beyond(const cx_operand *v, cbx_dtype t, bool above)
{
    cbx_iinfo range = { 0 };

    if (!both_integers(v, t) || cbx_dtype_iinfo(t, &range, NULL)) return false;
    if (v->big) return above ? v->scalar.v.f > 0 : v->scalar.v.f < 0;
    if (v->scalar.dtype == CBX_U64) return above && v->scalar.v.u > range.max;
    return above ? v->scalar.v.i > 0 && v->scalar.v.u > range.max : v->scalar.v.i < range.min;
}

/* An integer as comparisons with t need it: beyond the range of t it is an infinity. */
static void to_comparable(cx_operand *v, cbx_dtype t)
{
    bool below = cx_beyond(v, t, false), above = cx_beyond(v, t, true);

    if (below || above) *v = (cx_operand){ .scalar = cbx_float(below ? -(double)INFINITY : (double)INFINITY) };
}

/* True of the number 2 that does not change the dtype of x. */
static bool is_two(const cx_operand *v, const cbx_array *x)
{
    const cbx_kind kind = cbx_dtype_kind(cbx_array_dtype(x));

    if (v->array || v->big || kind == CBX_KIND_BOOL) return false;
    return v->scalar.dtype == CBX_F64 ? kind > CBX_KIND_INT && v->scalar.v.f == 2
                                      : v->scalar.dtype == CBX_I64 && v->scalar.v.i == 2;
}

cx_binary cx_ease(cx_binary f, cx_operand *a, cx_operand *b)
{
    static const cx_binary comparisons[] = { cbx_equal,      cbx_not_equal, cbx_less,
                                             cbx_less_equal, cbx_greater,   cbx_greater_equal };
    cx_operand *v = a->array ? b : a;
    const cbx_array *x = a->array ? a->array : b->array;

    if (f == cbx_pow && a->array && is_two(b, x)) {
        *b = *a;
        return cbx_multiply;
    }
    if (!x || v->array || !both_integers(v, cbx_array_dtype(x))) return f;
    for (size_t i = 0; i < CBX_LEN(comparisons); i++)
        if (f == comparisons[i]) to_comparable(v, cbx_array_dtype(x));
    if (f != cbx_divide) return f;
    if (v->big)
        *v = (cx_operand){ .scalar = v->scalar };
    else
        v->scalar = cbx_float(v->scalar.dtype == CBX_U64 ? (double)v->scalar.v.u : (double)v->scalar.v.i);
    return f;
}

/* A weak array in the dtype in which a number of its kind would meet another one. */
static const cbx_array *lowered(cx_call *c, const cbx_array *weak, const cbx_array *other)
{
    return cbx_astype(c->ctx, weak,
                      cbx_dtype_promote_weak(cbx_array_dtype(other), cbx_dtype_kind(cbx_array_dtype(weak))));
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
    if (a->array && b->array && a->weak != b->weak) {
        if (a->weak)
            *x = lowered(c, *x, *y);
        else
            *y = lowered(c, *y, *x);
    }
    return true;
}

/* ---- readers: what CX_GET does by the type of the variable; o is NULL where the default is
 * None ---- */

static bool is_annotated(const cx_call *c, const char *name, const char *annotation)
{
    const cx_parameter *p = cx_parameter_of(c, name);
    return p && p->annotation && strncmp(p->annotation, annotation, strlen(annotation)) == 0;
}

static bool integer(cx_call *c, const char *name, PyObject *o, const char *wanted, int64_t *out)
{
    CX_OWN PyObject *index = PyIndex_Check(o) && !PyBool_Check(o) ? PyNumber_Index(o) : NULL;
    int over = 0;

    if (!index) return PyErr_Occurred() ? false : cx_refuse(c, name, PyExc_TypeError, wanted, o);
    *out = PyLong_AsLongLongAndOverflow(index, &over);
    if (over) return cx_refuse(c, name, PyExc_OverflowError, "an integer of 64 bits", index);
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
    if (is_annotated(c, name, "Time")) return cx_time_from(o, out);
    if (is_annotated(c, name, "offset") && PyLong_Check(o)) (void)PyLong_AsLongLongAndOverflow(o, &over);
    if (!over) return integer(c, name, o, "an integer", out);
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
    const char *text = NULL;
    PyObject *bytes = NULL;

    if (!o) return true;
    if (is_annotated(c, name, "Path"))
        text = PyUnicode_FSConverter(o, &bytes) && cx_keep_object(c, bytes) ? PyBytes_AsString(bytes) : NULL;
    else if (!PyUnicode_Check(o))
        cx_refuse(c, name, PyExc_TypeError, "a string", o);
    else
        text = cx_text_of(o, c->name);
    if (text) *(const char **)out = text;
    return text != NULL;
}

bool cx_read_choice(cx_call *c, const char *name, PyObject *o, int *out)
{
    const cx_parameter *p = cx_parameter_of(c, name);
    CX_OWN PyObject *value = PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_GetAttrString(o, "value");
    const char *end = p->annotation + p->annotation_length, *word = NULL;
    Py_ssize_t length = -1;

    PyErr_Clear();
    if (value && PyUnicode_Check(value)) word = PyUnicode_AsUTF8AndSize(value, &length);
    PyErr_Clear();
    *out = 0;
    for (const char *at = p->annotation; word && at < end && (at = memchr(at, '\'', (size_t)(end - at))); ++*out) {
        const char *close = memchr(at + 1, '\'', (size_t)(end - at - 1));
        if (close - at - 1 == length && memcmp(at + 1, word, (size_t)length) == 0) return true;
        at = close + 1;
    }
    CX_OWN PyObject *wanted = PyUnicode_FromStringAndSize(p->annotation, (Py_ssize_t)p->annotation_length);
    CX_OWN PyObject *list = wanted ? PyObject_CallMethod(wanted, "replace", "ss", " | ", ", ") : NULL;
    return list && cx_refused(PyExc_ValueError, "%s: '%s' must be one of %U, got %R", c->name, name, list, o);
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
        return cx_refuse(c, name, PyExc_ValueError, "an axis of the array", o);
    }
    *(int *)out = (int)v;
    return true;
}

bool cx_read_run(cx_call *c, const char *name, PyObject *o, void *out)
{
    if (!o) return true;
    if (Py_TYPE(o) != c->st->objects[CX_RUN]) return cx_refuse(c, name, PyExc_TypeError, "a Run", o);
    *(cbx_run **)out = cx_run_of(o);
    return true;
}

#define ARRAY_OR_NUMBER "an Array or a number (asarray makes an Array)"

bool cx_read_array(cx_call *c, const char *name, PyObject *o, void *out)
{
    const cbx_array **array = out;

    if (!o) return true;
    *array = is_annotated(c, name, "Key") ? cx_key_from(c, o) : cx_array_from(c, o, name, ARRAY_OR_NUMBER);
    return *array != NULL;
}

bool cx_read_operand(cx_call *c, const char *name, PyObject *o, void *out)
{
    int is = cx_operand_from(c, o ? o : Py_None, out);
    return is ? is > 0 : cx_refuse(c, name, PyExc_TypeError, ARRAY_OR_NUMBER, o ? o : Py_None);
}

/* ---- several of them ---- */

bool cx_ints_from(cx_call *c, const char *name, PyObject *o, const char *wanted, int limit, int *n, ptrdiff_t *out)
{
    int64_t v = 0;

    if (PyIndex_Check(o) && !PySequence_Check(o)) {
        if (limit < 1 || !integer(c, name, o, wanted, &v)) return false;
        *n = 1;
        out[0] = (ptrdiff_t)v;
        return true;
    }
    if (!PySequence_Check(o) || PyUnicode_Check(o)) return cx_refuse(c, name, PyExc_TypeError, wanted, o);
    CX_OWN PyObject *tuple = PySequence_Tuple(o);
    if (!tuple) return false;
    *n = (int)PyTuple_Size(tuple);
    if (*n > limit)
        return cx_refused(PyExc_ValueError, "%s: '%s' must be %s, at most %d, got %d of them", c->name, name, wanted,
                          limit, *n);
    for (int k = 0; k < *n; k++) {
        if (!integer(c, name, PyTuple_GetItem(tuple, k), wanted, &v)) return false;
        out[k] = (ptrdiff_t)v;
    }
    return true;
}

PyObject *cx_rest_tuple(cx_call *c) { return CX_TUPLE(c->nrest, Py_NewRef(c->rest[i])); }

/* The arguments of *name as a tuple, or its only one if that is a sequence; kept by the call. */
static PyObject *rest_of(cx_call *c)
{
    PyObject *tuple;

    if (c->nrest == 1 && !PyIndex_Check(c->rest[0])) return c->rest[0];
    tuple = cx_rest_tuple(c);
    return cx_keep_object(c, tuple) ? tuple : NULL;
}

bool cx_read_ints(cx_call *c, const char *name, PyObject *o, void *out)
{
    cx_ints *ints = out;

    if (!o && c->rest && !(o = rest_of(c))) return false;
    return cx_ints_from(c, name, o ? o : Py_None, "an integer or a sequence of integers", CBX_MAX_RANK, &ints->n,
                        ints->v);
}

bool cx_read_shape(cx_call *c, const char *name, PyObject *o, void *out)
{
    cx_shape *shape = out;
    ptrdiff_t v[CBX_MAX_RANK];

    shape->ndim = 0;
    if (!o) return true;
    if (!cx_ints_from(c, name, o, "an integer or a sequence of integers", CBX_MAX_RANK, &shape->ndim, v)) return false;
    for (int k = 0; k < shape->ndim; k++) {
        if (v[k] < 0) return cx_refuse(c, name, PyExc_ValueError, "of lengths of at least 0", o);
        shape->of[k] = (size_t)v[k];
    }
    return true;
}

bool cx_read_axes(cx_call *c, const char *name, PyObject *o, void *out)
{
    cbx_axes *axes = out;
    ptrdiff_t v[CBX_MAX_RANK];
    bool keepdims = false;

    if (cx_parameter_of(c, "keepdims") && !CX_GET(c, keepdims)) return false;
    *axes = (cbx_axes){ .keep = keepdims };
    if (!o) {
        axes->n = cbx_array_ndim(c->held[0]);
        for (int k = 0; k < axes->n; k++) axes->axis[k] = k;
        return true;
    }
    if (!cx_ints_from(c, name, o, "an axis or a sequence of axes", CBX_MAX_RANK, &axes->n, v)) return false;
    for (int k = 0; k < axes->n; k++) {
        if (v[k] < -CBX_MAX_RANK || v[k] >= CBX_MAX_RANK)
            return cx_refuse(c, name, PyExc_ValueError, "an axis of the array", o);
        axes->axis[k] = (int)v[k];
    }
    return true;
}

bool cx_read_axis(cx_call *c, const char *name, PyObject *o, void *out)
{
    cx_axis *axis = out;

    axis->none = !o || o == Py_None;
    return axis->none || cx_read_int(c, name, o, &axis->value);
}

bool cx_read_arrays(cx_call *c, const char *name, PyObject *o, void *out)
{
    const char *wanted = "a sequence of Arrays and numbers (asarray makes an Array)";
    PyObject *tuple = !o || PyUnicode_Check(o) || !PySequence_Check(o) ? NULL : PySequence_Tuple(o);
    cx_arrays *arrays = out;

    if (o && !cx_keep_object(c, tuple))
        return PyErr_Occurred() ? false : cx_refuse(c, name, PyExc_TypeError, wanted, o);
    arrays->n = o ? (size_t)PyTuple_Size(tuple) : (size_t)c->nrest;
    arrays->list = cx_alloc(c, arrays->n, sizeof *arrays->list);
    for (size_t i = 0; arrays->list && i < arrays->n; i++) {
        PyObject *item = o ? PyTuple_GetItem(tuple, (Py_ssize_t)i) : c->rest[i];
        if (!(arrays->list[i] = cx_array_from(c, item, name, wanted))) return false;
    }
    return arrays->list != NULL;
}
