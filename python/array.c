/* The Array type: a handle of the library as a Python object, its attributes, conversions and
 * operators. */
#include <assert.h>
#include <string.h>

#include "python/state.h"

static cbx_array *handle_of(PyObject *self) { return ((cx_array *)self)->handle; }

PyObject *cx_array_new(cx_state *st, cbx_array *handle)
{
    cx_array *o = PyObject_New(cx_array, st->array_type);

    if (!o) {
        cbx_array_free(handle);
        return NULL;
    }
    o->handle = handle;
    o->weak = false;
    return (PyObject *)o;
}

static void array_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cbx_array_free(handle_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- attributes ---- */

PyObject *cx_shape_tuple(const cbx_array *a)
{
    return CX_TUPLE(cbx_array_ndim(a), PyLong_FromSize_t(cbx_array_dim(a, (int)i)));
}

/* One library function of self. */
static PyObject *apply(PyObject *self, const char *name, cbx_array *(*f)(cbx_ctx *, const cbx_array *))
{
    CX_ENDED_BY(cx_call_done) cx_call c;
    PyObject *r = NULL;

    cx_call_init(&c, cx_state_of_instance(self), name);
    if (cx_hold(&c, cbx_array_ref(handle_of(self))) && cx_begin(&c)) r = cx_result(&c, f(c.ctx, c.held[0]));
    if (r) ((cx_array *)r)->weak = ((cx_array *)self)->weak;
    return r;
}

static PyObject *transposed(PyObject *self)
{
    if (cbx_array_ndim(handle_of(self)) == 2) return apply(self, "T", cbx_matrix_transpose);
    return PyErr_Format(PyExc_ValueError, "T is of matrices, and this array has %d axes: mT swaps the last two",
                        cbx_array_ndim(handle_of(self)));
}

#define ATTRIBUTES(X)                                                                                                  \
    X(dtype, "dtype: element type", cx_dtype_object(cx_state_of_instance(self), cbx_array_dtype(handle_of(self))))     \
    X(shape, "tuple[int, ...]: lengths of the axes", cx_shape_tuple(handle_of(self)))                                  \
    X(ndim, "int: number of axes", PyLong_FromLong(cbx_array_ndim(handle_of(self))))                                   \
    X(size, "int: number of elements", PyLong_FromSize_t(cbx_array_count(handle_of(self))))                            \
    X(nbytes, "int: bytes of all elements", PyLong_FromSize_t(cbx_array_bytes(handle_of(self))))                       \
    X(device, "str: where the elements are", cx_device_word(cbx_array_device(handle_of(self))))                        \
    X(mT, "Array: the last two axes swapped", apply(self, "mT", cbx_matrix_transpose))                                 \
    X(T, "Array: transpose of a matrix", transposed(self))
#define PRIORITY(X)                                                                                                    \
    X(__array_priority__, "float: of a traced array, so that NumPy leaves operators to it", priority(self))
#define MEMBERS(X) ATTRIBUTES(X) PRIORITY(X)

static PyObject *priority(PyObject *self)
{
    if (cbx_array_is_abstract(handle_of(self))) return PyFloat_FromDouble(100.0);
    return PyErr_Format(PyExc_AttributeError, "__array_priority__: only traced arrays have one");
}
CX_GETTERS(array_members, MEMBERS)

/* ---- as a Python number ---- */

PyObject *cx_item(cx_state *st, const cbx_array *a)
{
    CX_OWN_ARRAY cbx_array *here = cx_here(st, a);
    return here ? cx_element(cbx_array_dtype(here), cbx_array_data(here)) : NULL;
}

/* The one element of an array of rank 0 as a Python number. */
static PyObject *item(PyObject *self, const char *what)
{
    const cbx_array *a = handle_of(self);

    if (!cx_concrete(cx_state_of_instance(self), a, what)) return NULL;
    if (cbx_array_ndim(a) == 0) return cx_item(cx_state_of_instance(self), a);
    return PyErr_Format(PyExc_TypeError, "%s is of arrays of rank 0, not %d", what, cbx_array_ndim(a));
}

static PyObject *through(PyObject *self, const char *what, PyObject *(*convert)(PyObject *))
{
    CX_OWN PyObject *v = item(self, what);
    return v ? convert(v) : NULL;
}
static PyObject *array_int(PyObject *self) { return through(self, "int()", PyNumber_Long); }
static PyObject *array_float(PyObject *self) { return through(self, "float()", PyNumber_Float); }

static PyObject *array_index(PyObject *self)
{
    cbx_dtype t = cbx_array_dtype(handle_of(self));

    if (!cx_concrete(cx_state_of_instance(self), handle_of(self), "use as an index or a length")) return NULL;
    if (cbx_dtype_kind(t) == CBX_KIND_INT) return item(self, "index()");
    return PyErr_Format(PyExc_TypeError, "an index must be an integer, got %s", cbx_dtype_name(t));
}
static int array_bool(PyObject *self)
{
    if (!cx_concrete(cx_state_of_instance(self), handle_of(self), "bool()")) return -1;
    CX_OWN PyObject *v = item(self, "the truth of an array: any() and all() are of more; bool()");
    return v ? PyObject_IsTrue(v) : -1;
}
static PyObject *array_complex(PyObject *self, PyObject *unused)
{
    CX_OWN PyObject *v = item(self, "complex()");

    (void)unused;
    if (!v || PyComplex_Check(v)) return Py_XNewRef(v);
    const double re = PyFloat_AsDouble(v);
    return PyErr_Occurred() ? NULL : PyComplex_FromDoubles(re, 0.0);
}

static PyObject *list_of(const cbx_array *a, int axis, const char *p)
{
    const ptrdiff_t *strides = cbx_array_strides(a);
    size_t bytes = cbx_dtype_size(cbx_array_dtype(a)), n = cbx_array_dim(a, axis);
    PyObject *list;

    if (axis == cbx_array_ndim(a)) return cx_element(cbx_array_dtype(a), p);
    list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *v = list_of(a, axis + 1, p + (ptrdiff_t)i * strides[axis] * (ptrdiff_t)bytes);
        if (!v || PyList_SetItem(list, (Py_ssize_t)i, v) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *array_tolist(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (!cx_concrete(cx_state_of_instance(self), handle_of(self), "tolist()")) return NULL;
    CX_OWN_ARRAY cbx_array *here = cx_here(cx_state_of_instance(self), handle_of(self));
    return here ? list_of(here, 0, cbx_array_data(here)) : NULL;
}

/* ---- operators ---- */

/* As cx_operand_from; beside a traced array one of NumPy is taken, too: NumPy could not compute
 * with the former. */
static int operand_beside(cx_call *c, PyObject *o, PyObject *other, cx_operand *out)
{
    const int is = cx_operand_from(c, o, out);
    PyObject *own;

    if (is || !cx_is_array(c->st, other) || !cbx_array_is_abstract(handle_of(other)) || !cx_is_foreign_array(o))
        return is;
    if (!(own = cx_asarray(c->st, o, CBX_DTYPE_COUNT, -1)) || !cx_keep_object(c, own)) return -1;
    return cx_operand_from(c, own, out);
}

/* One of the two is an Array; NotImplemented if the other is neither Array nor number. */
static PyObject *operate(PyObject *a, PyObject *b, const char *name, cx_binary f, bool numbers)
{
    PyTypeObject *type = PyType_GetSlot(Py_TYPE(a), Py_tp_dealloc) == (void *)array_dealloc ? Py_TYPE(a) : Py_TYPE(b);
    CX_ENDED_BY(cx_call_done) cx_call c;
    const cbx_array *x, *y;
    cx_operand left, right;
    int is;

    cx_call_init(&c, PyType_GetModuleState(type), name);
    is = operand_beside(&c, a, b, &left);
    if (is > 0) is = operand_beside(&c, b, a, &right);
    if (is < 0) return NULL;
    if (!is || (!numbers && (!left.array || !right.array))) return Py_NewRef(Py_NotImplemented);
    f = cx_ease(f, &left, &right);
    return cx_meet(&c, &left, &right, &x, &y) ? cx_weak_result(&c, f(c.ctx, x, y)) : NULL;
}

#define OPERATORS(X)                                                                                                   \
    X(add, cbx_add)                                                                                                    \
    X(subtract, cbx_subtract)                                                                                          \
    X(multiply, cbx_multiply)                                                                                          \
    X(true_divide, cbx_divide)                                                                                         \
    X(floor_divide, cbx_floor_divide)                                                                                  \
    X(remainder, cbx_remainder)                                                                                        \
    X(and, cbx_bitwise_and)                                                                                            \
    X(or, cbx_bitwise_or)                                                                                              \
    X(xor, cbx_bitwise_xor)                                                                                            \
    X(lshift, cbx_bitwise_left_shift)                                                                                  \
    X(rshift, cbx_bitwise_right_shift)
#define DEFINE(slot, f)                                                                                                \
    static PyObject *op_##slot(PyObject *a, PyObject *b) { return operate(a, b, #slot, f, true); }
#define SLOT(slot, f) { Py_nb_##slot, op_##slot },
OPERATORS(DEFINE)

/* A product that may take long is one that Ctrl-C interrupts: the function's. */
static PyObject *op_matmul(PyObject *a, PyObject *b)
{
    if (Py_TYPE(a) == Py_TYPE(b) && cbx_array_count(handle_of(a)) + cbx_array_count(handle_of(b)) >= CX_HEAVY)
        return PyObject_CallMethod(cx_state_of_instance(a)->arrays, "matmul", "OO", a, b);
    return operate(a, b, "matmul", cbx_matrix_product, false);
}

static PyObject *op_power(PyObject *a, PyObject *b, PyObject *modulus)
{
    if (modulus != Py_None) return Py_NewRef(Py_NotImplemented);
    return operate(a, b, "pow", cbx_pow, true);
}

static PyObject *op_negative(PyObject *a) { return apply(a, "negative", cbx_negative); }
static PyObject *op_absolute(PyObject *a) { return apply(a, "abs", cbx_abs); }
static PyObject *op_invert(PyObject *a) { return apply(a, "bitwise_invert", cbx_bitwise_invert); }

static PyObject *op_positive(PyObject *a) { return cx_array_new(cx_state_of_instance(a), cbx_array_ref(handle_of(a))); }

static PyObject *op_compare(PyObject *a, PyObject *b, int op)
{
    static const struct {
        const char *name;
        cx_binary f;
    } by[] = {
        [Py_LT] = { "less", cbx_less },       [Py_LE] = { "less_equal", cbx_less_equal },
        [Py_EQ] = { "equal", cbx_equal },     [Py_NE] = { "not_equal", cbx_not_equal },
        [Py_GT] = { "greater", cbx_greater }, [Py_GE] = { "greater_equal", cbx_greater_equal },
    };
    return operate(a, b, by[op].name, by[op].f, true);
}

/* ---- as a collection ---- */

static Py_ssize_t array_length(PyObject *self)
{
    const cbx_array *a = handle_of(self);

    if (cbx_array_ndim(a)) return (Py_ssize_t)cbx_array_dim(a, 0);
    PyErr_SetString(PyExc_TypeError, "an array of rank 0 has no length");
    return -1;
}

static PyObject *row_of(PyObject *self, size_t i)
{
    CX_OWN PyObject *at = PyLong_FromSize_t(i);
    return at ? cx_subscript(self, at) : NULL;
}

static PyObject *array_iter(PyObject *self)
{
    Py_ssize_t n = array_length(self);

    if (n < 0) return NULL;
    CX_OWN PyObject *tuple = CX_TUPLE(n, row_of(self, i));
    return tuple ? PyObject_GetIter(tuple) : NULL;
}

/* ---- methods of the standard ---- */

CX_RETURN(do_namespace, (int api_version), CX_GET(c, api_version), Py_NewRef(c->st->arrays))

CX_RETURN(do_to_device, (),
          !cx_arg(c, "stream") ||
              cx_raise(CBX_EINVAL, "to_device: 'stream' must be None: the copy is complete when the call returns"),
          Py_NewRef(c->self)) /* the call moves its result */

CX_VALUE(do_dlpack_device, (const cbx_device_id d = cbx_array_device(handle_of(c->self))),
         Py_BuildValue("(ii)", d.kind == CBX_DEVICE_CPU ? CBX_DL_CPU : CBX_DL_CUDA, d.index))

/* ---- NumPy's functions ---- */

CX_VALUE(do_array_function, (),
         cx_python("_values", "array_function", "OOOO", c->st->array_type, cx_arg(c, "func"), cx_arg(c, "args"),
                   cx_arg(c, "kwargs")))

/* NumPy borrows the buffer; this is for traced arrays, which have none, and for callers that ask
 * for no buffer. */
CX_RETURN(do_array, (PyObject *dtype = cx_arg(c, "dtype"), *copy = cx_arg(c, "copy")),
          cx_concrete(c->st, handle_of(c->self), "a NumPy array") &&
              cx_shareable(handle_of(c->self), "a NumPy array", PyExc_TypeError),
          cx_python("_values", "as_numpy", "OOO", c->self, dtype ? dtype : Py_None, copy ? copy : Py_None))

/* ---- copies ---- */

/* The elements are immutable, so a shallow copy shares them; assignment to one leaves the other
 * as it is. */
static PyObject *array_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return cx_array_new(cx_state_of_instance(self), cbx_array_ref(handle_of(self)));
}

/* Pickling, and deep copies: (Array._restore, (dtype, shape, the elements in row-major order)). */
static PyObject *array_reduce(PyObject *self, PyObject *unused)
{
    const cbx_array *a = handle_of(self);
    cx_state *st = cx_state_of_instance(self);
    cbx_err err = CBX_ERR_INIT;

    (void)unused;
    if (!cx_concrete(st, a, "a pickle or deep copy")) return NULL;
    CX_OWN PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)cbx_array_bytes(a));
    if (bytes && cbx_array_bytes(a) && cbx_array_read(a, PyBytes_AsString(bytes), cbx_array_bytes(a), &err))
        return cx_raise(err.status, err.message);
    CX_OWN PyObject *restore = bytes ? PyObject_GetAttrString((PyObject *)st->array_type, "_restore") : NULL;
    return restore
               ? Py_BuildValue("(O(NNO))", restore, cx_dtype_object(st, cbx_array_dtype(a)), cx_shape_tuple(a), bytes)
               : NULL;
}

static PyObject *array_restore(PyObject *type, PyObject *args)
{
    cx_state *st = cx_state_of_type(type);
    PyObject *bytes, *dtype, *shape;
    cbx_array_desc d = { 0 };
    cbx_array *a;

    if (!PyArg_ParseTuple(args, "OO!O!:_restore", &dtype, &PyTuple_Type, &shape, &PyBytes_Type, &bytes) ||
        !cx_dtype_from(st, dtype, &d.dtype))
        return NULL;
    d.ndim = (int)PyTuple_Size(shape);
    if (d.ndim > CBX_MAX_RANK)
        return PyErr_Format(PyExc_ValueError, "_restore: an array has at most %d axes", CBX_MAX_RANK);
    for (int k = 0; k < d.ndim; k++) d.shape[k] = PyLong_AsSize_t(PyTuple_GetItem(shape, k));
    if (PyErr_Occurred() || !(a = cx_create(st, &d))) return NULL;
    if ((Py_ssize_t)cbx_array_bytes(a) != PyBytes_Size(bytes)) {
        cbx_array_free(a);
        return PyErr_Format(PyExc_ValueError, "_restore: %zd bytes are not the elements of such an array",
                            PyBytes_Size(bytes));
    }
    if (PyBytes_Size(bytes)) memcpy(cbx_array_data_mut(a), PyBytes_AsString(bytes), cbx_array_bytes(a));
    return cx_array_new(st, a);
}

static PyObject *do_item(cx_call *c)
{
    const cbx_array *a = handle_of(c->self);
    Py_ssize_t count = (Py_ssize_t)cbx_array_count(a);

    if (!cx_concrete(c->st, a, "item()")) return NULL;
    if (c->nrest == 0 && count != 1)
        return PyErr_Format(PyExc_ValueError, "item: 'index' must be given where an array has %zd elements", count);
    if (c->nrest == 0) return cx_item(c->st, a); /* the one element */
    CX_OWN PyObject *key = cx_python("_values", "item_key", "NN", cx_rest_tuple(c), cx_shape_tuple(a));
    CX_OWN PyObject *at = key ? cx_subscript(c->self, key) : NULL;
    return at ? item(at, "item()") : NULL;
}

static PyObject *do_format(cx_call *c)
{
    PyObject *spec = cx_arg(c, "spec");

    if (!PyUnicode_Check(spec)) return cx_refuse(c, "spec", PyExc_TypeError, "a string", spec), NULL;
    if (PyUnicode_GetLength(spec) == 0) return cx_str(c->self);
    if (!cx_concrete(c->st, handle_of(c->self), "a format")) return NULL;
    return cx_python("_values", "formatted", "NO", array_tolist(c->self, NULL), spec);
}

/* clang-format off */
#define METHODS(X) \
    X(__format__, "spec: str, /", "str", do_format, 0, "Formats each element as a number: f'{x:.2f}'.\n\n>>> f'{xp.asarray([1.0, 2.5]):.2f}'\n'[1.00, 2.50]'") \
    X(astype, "dtype: DType, *, copy: bool = True", "Array", cx_do_astype, 0, "The elements converted to another dtype.\n\n>>> xp.arange(2).astype(xp.float32)\nArray([0.0, 1.0], dtype=float32)") \
    X(item, "*index: int | tuple[int, ...]", "Any", do_item, 0, "One element as a Python number: the only element, or the one at an index.\n\n>>> xp.arange(3).item(1)\n1") \
    X(__array__, "dtype: object = None, copy: bool | None = None", "Any", do_array, 0, "The elements as a NumPy array.\n\n>>> hasattr(xp.arange(2), '__array__')\nTrue") \
    X(__array_function__, "func: Callable[..., Any], types: object, args: tuple[Any, ...], kwargs: dict[str, Any], /", "Any", do_array_function, 0, "Calls a function of NumPy on NumPy arrays of the same elements.\n\n>>> hasattr(xp.arange(2), '__array_ufunc__')\nFalse") \
    X(__array_namespace__, "/, *, api_version: '2021.12' | '2022.12' | '2023.12' | '2024.12' | None = None", "ModuleType", do_namespace, 0, "The module whose functions accept this array.\n\n>>> xp.arange(2).__array_namespace__() is xp\nTrue") \
    X(__dlpack__, "*, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None", "Any", cx_do_dlpack, 0, "The elements as a DLPack capsule.\n\n>>> type(xp.arange(2).__dlpack__()).__name__\n'PyCapsule'") \
    X(__dlpack_device__, "", "tuple[int, int]", do_dlpack_device, 0, "The device as DLPack numbers it.\n\n>>> xp.arange(2).__dlpack_device__()\n(1, 0)") \
    X(to_device, "device: str, /, *, stream: object = None", "Array", do_to_device, 0, "The array on a device.\n\n>>> xp.arange(2).to_device('cpu')\nArray([0, 1], dtype=int64)")
/* clang-format on */
METHODS(CX_OF_TYPE)

static PyMethodDef own_methods[] = {
    METHODS(CX_OF_TYPE_ROW){ "__complex__", array_complex, METH_NOARGS,
                             "__complex__($self) -> complex\n--\n\nOf an array of rank 0." },
    { "__copy__", array_copy, METH_NOARGS, NULL },
    { "__reduce__", array_reduce, METH_NOARGS, NULL },
    { "_restore", array_restore, METH_VARARGS | METH_CLASS, NULL },
    { "tolist", array_tolist, METH_NOARGS, "tolist($self) -> Any\n--\n\nThe elements as nested lists of numbers." },
    { 0 },
};

/* Those above and the functions of x that are methods, too. */
static PyMethodDef array_methods[64];

static PyType_Slot array_slots[] = {
    { Py_tp_dealloc, array_dealloc },
    { Py_tp_repr, cx_repr },
    { Py_tp_str, cx_str },
    { Py_tp_hash, PyObject_HashNotImplemented },
    { Py_tp_richcompare, op_compare },
    { Py_tp_iter, array_iter },
    { Py_tp_getset, array_members },
    { Py_tp_methods, array_methods },
    { Py_tp_doc, "Elements of one dtype along up to CBX_MAX_RANK axes; asarray and the creation functions make it." },
    { Py_mp_length, array_length },
    { Py_mp_subscript, cx_subscript },
    { Py_mp_ass_subscript, cx_assign },
    { Py_bf_getbuffer, cx_get_buffer },
    { Py_bf_releasebuffer, cx_release_buffer },
    OPERATORS(SLOT){ Py_nb_matrix_multiply, op_matmul },
    { Py_nb_power, op_power },
    { Py_nb_negative, op_negative },
    { Py_nb_positive, op_positive },
    { Py_nb_absolute, op_absolute },
    { Py_nb_invert, op_invert },
    { Py_nb_bool, array_bool },
    { Py_nb_int, array_int },
    { Py_nb_float, array_float },
    { Py_nb_index, array_index },
    { 0, NULL },
};
static PyType_Spec array_spec = {
    .name = "calibrax_c.array.Array",
    .basicsize = sizeof(cx_array),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = array_slots,
};

bool cx_add_array_type(cx_state *st, PyObject *module)
{
    PyMethodDef *const tables[] = { own_methods,    cx_array_reductions,  cx_array_searches,
                                    cx_array_scans, cx_array_elementwise, cx_array_movements };
    size_t n = 0;

    for (size_t i = 0; i < CBX_LEN(tables); i++)
        for (const PyMethodDef *m = tables[i]; m->ml_name; m++) array_methods[n++] = *m;
    assert(n < CBX_LEN(array_methods));
    st->array_type = cx_type(st, &array_spec);
    return st->array_type && PyModule_AddObjectRef(module, "Array", (PyObject *)st->array_type) == 0;
}
