/* The buffer protocol both ways: an Array lends its elements read-only, and an object that lends its own becomes an Array. */
#include <string.h>

#include "python/state.h"

/* Formats of the module struct, native order; 64-bit numbers as C's long, which NumPy shows as int64. */
static const char *const formats[CBX_DTYPE_COUNT] = {
    [CBX_BOOL] = "?", [CBX_I8] = "b",   [CBX_I16] = "h",   [CBX_I32] = "i", [CBX_I64] = "l",
    [CBX_U8] = "B",   [CBX_U16] = "H",  [CBX_U32] = "I",   [CBX_U64] = "L", [CBX_F32] = "f",
    [CBX_F64] = "d",  [CBX_C64] = "Zf", [CBX_C128] = "Zd",
};

/* ---- lending ---- */

/* What one borrower holds: the elements as they are now, whatever is assigned to the Array later. */
typedef struct loan {
    cbx_array *array;
    Py_ssize_t shape[CBX_MAX_RANK], strides[CBX_MAX_RANK];
} loan;

/* Why a filled view is not what its borrower asked for; NULL: it is. */
static const char *unmet(const Py_buffer *view, int flags)
{
    const bool c = PyBuffer_IsContiguous(view, 'C');

    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) return "the elements of an Array are read-only: copy them";
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c) return "the Array is not row-major: copy it";
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !PyBuffer_IsContiguous(view, 'F'))
        return "the Array is not column-major";
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !PyBuffer_IsContiguous(view, 'A'))
        return "the Array has gaps: copy it";
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c) return "the Array is not row-major: copy it";
    return NULL;
}

int cx_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    static const char nothing[16];
    cbx_array *a = ((cx_array *)self)->handle;
    const char *why;
    loan *l;

    view->obj = NULL;
    if (!cx_concrete(cx_state_of_instance(self), a, "a buffer or NumPy array")) return -1;
    if (!cx_shareable(a, "a buffer", PyExc_BufferError)) return -1;
    l = PyMem_Calloc(1, sizeof *l);
    if (!l) {
        PyErr_NoMemory();
        return -1;
    }
    *view = (Py_buffer){ .readonly = 1, .ndim = cbx_array_ndim(a), .internal = l };
    view->itemsize = (Py_ssize_t)cbx_dtype_size(cbx_array_dtype(a));
    view->buf = (void *)(uintptr_t)(cbx_array_data(a) ? cbx_array_data(a) : nothing);
    view->len = (Py_ssize_t)cbx_array_bytes(a);
    view->shape = l->shape;
    view->strides = l->strides;
    for (int k = 0; k < view->ndim; k++) {
        l->shape[k] = (Py_ssize_t)cbx_array_dim(a, k);
        l->strides[k] = cbx_array_strides(a)[k] * view->itemsize;
    }
    if ((why = unmet(view, flags))) {
        PyMem_Free(l);
        PyErr_SetString(PyExc_BufferError, why);
        return -1;
    }
    if (flags & PyBUF_FORMAT) view->format = (char *)(uintptr_t)formats[cbx_array_dtype(a)];
    if (!(flags & PyBUF_ND)) view->shape = NULL;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) view->strides = NULL;
    l->array = cbx_array_ref(a);
    view->obj = Py_NewRef(self);
    return 0;
}

void cx_release_buffer(PyObject *self, Py_buffer *view)
{
    loan *l = view->internal;

    (void)self;
    cbx_array_free(l->array);
    PyMem_Free(l);
}

/* ---- borrowing ---- */

/* The dtype of a format and item size; CBX_DTYPE_COUNT if nothing fits. */
static cbx_dtype dtype_of_format(const char *format, Py_ssize_t bytes)
{
    const char *kinds[] = { "?", "bhilqn", "BHILQN", "fd", "Zf Zd" };
    const cbx_dtype first[] = { CBX_BOOL, CBX_I8, CBX_U8, CBX_F32, CBX_C64 };
    int last[] = { CBX_BOOL, CBX_I64, CBX_U64, CBX_F64, CBX_C128 };

    if (!format) format = "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    for (size_t k = 0; k < CBX_LEN(kinds); k++) {
        bool complex_format = format[0] == 'Z' && (format[1] == 'f' || format[1] == 'd') && !format[2];
        if (k == 4 ? !complex_format : !format[0] || format[1] || !strchr(kinds[k], format[0])) continue;
        for (int t = (int)first[k]; t <= last[k]; t++)
            if ((Py_ssize_t)cbx_dtype_size((cbx_dtype)t) == bytes) return (cbx_dtype)t;
    }
    return CBX_DTYPE_COUNT;
}

/* Runs where the last reference goes, maybe without the interpreter's lock. */
static void give_back(void *user)
{
    Py_buffer *view = user;
    PyGILState_STATE state = PyGILState_Ensure();

    PyBuffer_Release(view);
    PyMem_Free(view);
    PyGILState_Release(state);
}

/* Strides in elements; false if they or the address are no multiples of the item. */
static bool element_strides(const Py_buffer *view, ptrdiff_t *strides)
{
    Py_ssize_t bytes = view->itemsize, align = bytes < 8 ? bytes : 8, dense = bytes;

    for (int k = view->ndim - 1; k >= 0; k--) {
        Py_ssize_t stride = view->strides ? view->strides[k] : dense;
        if (stride % bytes) return false;
        strides[k] = stride / bytes;
        dense *= view->shape[k];
    }
    return !view->suboffsets && (uintptr_t)view->buf % (uintptr_t)align == 0;
}

static cbx_array *copied(cx_state *st, Py_buffer *view, const cbx_array_desc *desc)
{
    cbx_array *a = cx_create(st, desc);

    if (!a || !view->len || PyBuffer_ToContiguous(cbx_array_data_mut(a), view, view->len, 'C') == 0) return a;
    cbx_array_free(a);
    return NULL;
}

static cbx_array *shared(cx_state *st, Py_buffer *view, const cbx_array_desc *desc, const ptrdiff_t *strides)
{
    Py_buffer *keep = PyMem_Malloc(sizeof *keep);
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;
    cx_call c;

    if (!keep) return (cbx_array *)PyErr_NoMemory();
    *keep = *view;
    cx_call_init(&c, st, "asarray");
    if (cx_begin(&c)) {
        cbx_status status = cbx_array_wrap(c.ctx, desc, strides, view->buf, give_back, keep, &a, &err);
        if (status) cx_raise(status, err.message);
    }
    cx_call_done(&c);
    if (a)
        view->obj = NULL; /* the array owns it now */
    else
        PyMem_Free(keep);
    return a;
}

static bool describe(const Py_buffer *view, PyObject *o, cbx_array_desc *desc)
{
    desc->dtype = dtype_of_format(view->format, view->itemsize);
    desc->ndim = view->ndim;
    if (desc->dtype == CBX_DTYPE_COUNT)
        PyErr_Format(PyExc_TypeError,
                     "asarray: there is no dtype for the elements of %R, of format '%s': "
                     "convert them, with x.astype('float32') for example",
                     (PyObject *)Py_TYPE(o), view->format ? view->format : "B");
    else if (view->ndim > CBX_MAX_RANK)
        PyErr_Format(PyExc_ValueError, "asarray: %d axes are more than %d", view->ndim, CBX_MAX_RANK);
    else
        for (int k = 0; k < view->ndim; k++) desc->shape[k] = (size_t)view->shape[k];
    return !PyErr_Occurred();
}

cbx_array *cx_import_buffer(cx_state *st, PyObject *o, int copy)
{
    ptrdiff_t strides[CBX_MAX_RANK];
    cbx_array_desc desc = { 0 };
    cbx_array *a = NULL;
    Py_buffer view;

    if (PyObject_GetBuffer(o, &view, PyBUF_FULL_RO) < 0) return NULL;
    if (describe(&view, o, &desc)) {
        bool fits = element_strides(&view, strides);
        if (copy == 0 && !fits)
            PyErr_SetString(PyExc_ValueError, "asarray: elements that are not aligned must be copied: copy=True");
        else
            a = copy == 1 || !fits ? copied(st, &view, &desc) : shared(st, &view, &desc, strides);
    }
    if (view.obj) PyBuffer_Release(&view);
    return a;
}
