/* dtype objects, one for each element type and compared by identity; elements as Python numbers;
 * the dtype functions. */
#include <string.h>

#include "python/records.h"

typedef struct dtype_object {
    PyObject_HEAD cbx_dtype t;
} dtype_object;

static cbx_dtype dtype_of(PyObject *self) { return ((dtype_object *)self)->t; }

PyObject *cx_dtype_object(cx_state *st, cbx_dtype t) { return Py_NewRef(st->dtypes[t]); }

/* ---- the type ---- */

static PyObject *dtype_repr(PyObject *self)
{
    return PyUnicode_FromFormat("calibrax_c.array.%s", cbx_dtype_name(dtype_of(self)));
}
static PyObject *dtype_str(PyObject *self) { return PyUnicode_FromString(cbx_dtype_name(dtype_of(self))); }
#define ATTRIBUTES(X)                                                                                                  \
    X(name, "str: the name, as in the array API", dtype_str(self))                                                     \
    X(itemsize, "int: bytes of one element", PyLong_FromSize_t(cbx_dtype_size(dtype_of(self))))
CX_GETTERS(dtype_members, ATTRIBUTES)

/* A name in the module: copying and pickling give the same object. */
static PyObject *dtype_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return dtype_str(self);
}

static void dtype_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef dtype_type_methods[] = {
    { "__reduce__", dtype_reduce, METH_NOARGS, NULL },
    { 0 },
};
static PyType_Slot dtype_slots[] = {
    { Py_tp_repr, dtype_repr },
    { Py_tp_str, dtype_str },
    { Py_tp_dealloc, dtype_dealloc },
    { Py_tp_getset, dtype_members },
    { Py_tp_methods, dtype_type_methods },
    { Py_tp_doc, "Element type of an Array; there is one object for each." },
    { 0, NULL },
};
static PyType_Spec dtype_spec = {
    .name = "calibrax_c.array.dtype",
    .basicsize = sizeof(dtype_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = dtype_slots,
};

bool cx_add_dtypes(cx_state *st, PyObject *module)
{
    st->dtype_type = cx_type(st, &dtype_spec);
    if (!st->dtype_type || PyModule_AddObjectRef(module, "dtype", (PyObject *)st->dtype_type) < 0) return false;
    for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
        dtype_object *o = PyObject_New(dtype_object, st->dtype_type);
        if (!o) return false;
        o->t = (cbx_dtype)t;
        st->dtypes[t] = (PyObject *)o;
        if (PyModule_AddObjectRef(module, cbx_dtype_name(o->t), (PyObject *)o) < 0) return false;
    }
    return true;
}

/* numpy.float32, a scalar type that has a dtype, and numpy.dtype("float32"), which has a name; no
 * exception. */
static bool foreign_dtype(PyObject *o, cbx_dtype *out)
{
    CX_OWN PyObject *name = NULL;
    const char *text;
    bool found = false;

    if (!PyType_Check(o))
        name = PyObject_HasAttrString(o, "itemsize") ? PyObject_GetAttrString(o, "name") : NULL;
    else if (PyObject_HasAttrString(o, "dtype"))
        name = PyObject_GetAttrString(o, "__name__");
    text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (text) found = !cbx_dtype_parse(strcmp(text, "bool_") == 0 ? "bool" : text, out, NULL);
    PyErr_Clear();
    return found;
}

bool cx_dtype_from(cx_state *st, PyObject *o, cbx_dtype *out)
{
    const struct {
        PyTypeObject *type;
        cbx_dtype dtype;
    } builtin[] = {
        { &PyBool_Type, CBX_BOOL }, { &PyLong_Type, CBX_I64 }, { &PyFloat_Type, CBX_F64 }, { &PyComplex_Type, CBX_C128 }
    };
    cbx_err err = CBX_ERR_INIT;

    if (Py_TYPE(o) == st->dtype_type) {
        *out = dtype_of(o);
        return true;
    }
    for (size_t i = 0; i < CBX_LEN(builtin); i++)
        if (o == (PyObject *)builtin[i].type) {
            *out = builtin[i].dtype;
            return true;
        }
    if (PyUnicode_Check(o)) {
        const char *name = cx_text_of(o, "the name of a dtype");
        if (name && cbx_dtype_parse(name, out, &err)) cx_raise(err.status, err.message);
        return !PyErr_Occurred();
    }
    if (foreign_dtype(o, out)) return true;
    return cx_refused(PyExc_TypeError, "%R is not a dtype: calibrax_c.array.float64 is one, or its name", o);
}

/* ---- elements ---- */

PyObject *cx_element(cbx_dtype t, const void *p)
{
#define READ(T, object)                                                                                                \
    do {                                                                                                               \
        T v;                                                                                                           \
        memcpy(&v, p, sizeof v);                                                                                       \
        return object;                                                                                                 \
    } while (0)
    typedef float two_floats[2];
    typedef double two_doubles[2];
    switch (t) {
    case CBX_BOOL: READ(uint8_t, PyBool_FromLong(v));
    case CBX_I8: READ(int8_t, PyLong_FromLong(v));
    case CBX_I16: READ(int16_t, PyLong_FromLong(v));
    case CBX_I32: READ(int32_t, PyLong_FromLong(v));
    case CBX_I64: READ(int64_t, PyLong_FromLongLong(v));
    case CBX_U8: READ(uint8_t, PyLong_FromLong(v));
    case CBX_U16: READ(uint16_t, PyLong_FromLong(v));
    case CBX_U32: READ(uint32_t, PyLong_FromUnsignedLong(v));
    case CBX_U64: READ(uint64_t, PyLong_FromUnsignedLongLong(v));
    case CBX_F32: READ(float, PyFloat_FromDouble((double)v));
    case CBX_F64: READ(double, PyFloat_FromDouble(v));
    case CBX_C64: READ(two_floats, PyComplex_FromDoubles((double)v[0], (double)v[1]));
    default: READ(two_doubles, PyComplex_FromDoubles(v[0], v[1]));
    }
#undef READ
}

static bool store_integer(cbx_dtype t, void *p, PyObject *o)
{
    size_t bytes = cbx_dtype_size(t);
    bool is_unsigned = cbx_dtype_is_unsigned(t);
    CX_OWN PyObject *index = PyNumber_Index(o);
    uint64_t bits;

    if (!index) return false;
    bits = is_unsigned ? PyLong_AsUnsignedLongLong(index) : (uint64_t)PyLong_AsLongLong(index);
    if (!PyErr_Occurred() && bytes < 8) {
        uint64_t half = (uint64_t)1 << (bytes * 8 - 1);
        bool fits = is_unsigned ? bits < 2 * half : bits + half < 2 * half;
        if (!fits) PyErr_SetNone(PyExc_OverflowError);
    }
    if (PyErr_ExceptionMatches(PyExc_OverflowError) || (PyErr_Occurred() && is_unsigned))
        return cx_refused(PyExc_OverflowError, "%R is out of the range of %s", o, cbx_dtype_name(t));
    memcpy(p, &bits, bytes); /* low bytes first on the machines we build for; checked below */
    return !PyErr_Occurred();
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "store_integer takes the low bytes");

static void put_float(cbx_dtype t, void *p, size_t i, double v)
{
    if (t == CBX_F32 || t == CBX_C64)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

bool cx_store(cbx_dtype t, void *p, PyObject *o)
{
    cbx_kind kind = cbx_dtype_kind(t);

    if (kind == CBX_KIND_BOOL) {
        int v = PyObject_IsTrue(o);
        *(unsigned char *)p = v > 0;
        return v >= 0;
    }
    if (kind == CBX_KIND_INT) return store_integer(t, p, o);
    if (kind == CBX_KIND_FLOAT) {
        double v = PyFloat_AsDouble(o);
        put_float(t, p, 0, v);
        return v != -1.0 || !PyErr_Occurred();
    }
    put_float(t, p, 0, PyComplex_RealAsDouble(o));
    if (!PyErr_Occurred()) put_float(t, p, 1, PyComplex_ImagAsDouble(o));
    return !PyErr_Occurred();
}

/* ---- functions ---- */

PyObject *cx_do_astype(cx_call *c)
{
    const cbx_array *x;
    cbx_dtype dtype;
    bool copy;

    if (!CX_GET(c, x, dtype, copy)) return NULL;
    if (!copy && dtype == cbx_array_dtype(x)) return Py_NewRef(cx_arg(c, "x"));
    if (!cx_begin(c)) return NULL;
    return cx_result(c, dtype == cbx_array_dtype(x) ? cbx_copy(c->ctx, x) : cbx_astype(c->ctx, x, dtype));
}

/* dtype of an array, a dtype, or in *weak the number that is neither; false with an exception. */
static bool dtype_or_number(cx_call *c, PyObject *o, cbx_dtype *t, cx_operand *weak)
{
    int is = cx_operand_from(c, o, weak);

    if (is < 0) return false;
    *t = CBX_DTYPE_COUNT;
    if (is) {
        if (weak->array) *t = cbx_array_dtype(weak->array);
        return true;
    }
    return cx_dtype_from(c->st, o, t);
}

static PyObject *do_result_type(cx_call *c)
{
    cbx_dtype all = CBX_DTYPE_COUNT;
    int kind = -1;

    for (Py_ssize_t i = 0; i < c->nrest; i++) {
        cx_operand v;
        cbx_dtype t;
        if (!dtype_or_number(c, c->rest[i], &t, &v)) return NULL;
        if (t != CBX_DTYPE_COUNT)
            all = all == CBX_DTYPE_COUNT ? t : cbx_dtype_promote(all, t);
        else if ((int)cbx_dtype_kind(v.scalar.dtype) > kind)
            kind = (int)cbx_dtype_kind(v.scalar.dtype);
    }
    if (all == CBX_DTYPE_COUNT)
        return PyErr_Format(PyExc_ValueError, "result_type: 'arrays_and_dtypes' must have an array or a dtype");
    if (kind >= 0) all = cbx_dtype_promote_weak(all, (cbx_kind)kind);
    return cx_dtype_object(c->st, all);
}

CX_RETURN(do_can_cast, (cx_operand v; cbx_dtype from, to),
          dtype_or_number(c, cx_arg(c, "from_"), &from, &v) && cx_dtype_from(c->st, cx_arg(c, "to"), &to) &&
              (from != CBX_DTYPE_COUNT ||
               cx_refuse(c, "from_", PyExc_TypeError, "an Array or a dtype", cx_arg(c, "from_"))),
          PyBool_FromLong(cbx_can_cast(from, to)))

int cx_is_dtype(cx_state *st, cbx_dtype t, PyObject *kind)
{
    cbx_dtype other;
    int found = 0;

    if (PyUnicode_Check(kind)) {
        const char *word = cx_text_of(kind, "a kind of dtypes");
        cbx_err err = CBX_ERR_INIT;
        bool is = false;
        if (word && cbx_dtype_isdtype(t, word, &is, &err)) cx_raise(err.status, err.message);
        found = is;
    } else if (PyTuple_Check(kind)) {
        if (Py_EnterRecursiveCall(" in a tuple of kinds")) return -1;
        for (Py_ssize_t i = 0; !found && i < PyTuple_Size(kind); i++)
            if ((found = cx_is_dtype(st, t, PyTuple_GetItem(kind, i))) < 0) break;
        Py_LeaveRecursiveCall();
    } else if (cx_dtype_from(st, kind, &other)) {
        found = t == other;
    }
    return PyErr_Occurred() ? -1 : found;
}

CX_RETURN(do_isdtype, (cbx_dtype t; int is),
          cx_dtype_from(c->st, cx_arg(c, "dtype"), &t) && (is = cx_is_dtype(c->st, t, cx_arg(c, "kind"))) >= 0,
          PyBool_FromLong(is))

/* clang-format off */
#define DTYPE_FUNCTIONS(X) \
    X(astype, "x: Array, dtype: DType, /, *, copy: bool = True, device: str | None = None", "Array", cx_do_astype, 0, "x in another dtype.\n\n>>> xp.astype(xp.asarray([1.7]), xp.int64)\nArray([1], dtype=int64)") \
    X(can_cast, "from_: DType | Array, to: DType, /", "bool", do_can_cast, 0, "Whether one dtype promotes to the other.\n\n>>> xp.can_cast(xp.int8, xp.float32)\nTrue") \
    X(isdtype, "dtype: DType, kind: DType | str | tuple[DType | str, ...]", "bool", do_isdtype, 0, "Whether a dtype is of a kind, or of one in a tuple of them.\n\n>>> xp.isdtype(xp.int8, 'integral')\nTrue") \
    X(result_type, "*arrays_and_dtypes: Array | DType | Number", "dtype", do_result_type, 0, "The dtype to which the operands promote.\n\n>>> xp.result_type(xp.int8, xp.uint8)\ncalibrax_c.array.int16")
/* clang-format on */
CX_FUNCTIONS(cx_dtype_methods, DTYPE_FUNCTIONS, LIGHT)
