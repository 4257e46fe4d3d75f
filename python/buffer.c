/* The buffer protocol both ways: an Array lends its elements read-only, and an object that lends
 * its own becomes an Array. */
#include <math.h>
#include <string.h>

#include "python/state.h"

/* Formats of the module struct, native order; 64-bit numbers as C's long, which NumPy shows
 * as int64. */
static const char *const formats[CBX_DTYPE_COUNT] = {
    [CBX_BOOL] = "?", [CBX_I8] = "b",   [CBX_I16] = "h",   [CBX_I32] = "i", [CBX_I64] = "l",
    [CBX_U8] = "B",   [CBX_U16] = "H",  [CBX_U32] = "I",   [CBX_U64] = "L", [CBX_F32] = "f",
    [CBX_F64] = "d",  [CBX_C64] = "Zf", [CBX_C128] = "Zd",
};

/* ---- lending ---- */

/* What one borrower holds: the elements as they are now, whatever is assigned to the Array
 * later. */
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

/* Elements as a buffer has them that become those of a dtype only in a copy. */
typedef enum stored { AS_THEY_ARE, OTHER_BYTE_ORDER = 1, HALF = 2, LONG = 4 } stored;

/* The dtype of a format without its byte order and item size; CBX_DTYPE_COUNT if nothing fits. */
static cbx_dtype dtype_of_format(const char *format, Py_ssize_t bytes)
{
    const char *kinds[] = { "?", "bhilqn", "BHILQN", "fd", "Zf Zd" };
    const cbx_dtype first[] = { CBX_BOOL, CBX_I8, CBX_U8, CBX_F32, CBX_C64 };
    int last[] = { CBX_BOOL, CBX_I64, CBX_U64, CBX_F64, CBX_C128 };

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

static float from_half(uint16_t h)
{
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const float v = exponent == 31  ? (mantissa ? NAN : INFINITY)
                    : exponent == 0 ? ldexpf((float)mantissa, -24)
                                    : ldexpf((float)(mantissa + 1024), exponent - 25);
    return h >> 15 ? -v : v;
}

/* n words, each from its last byte to its first. */
static void swap_words(unsigned char *p, size_t n, size_t bytes)
{
    for (; n > 0; n--, p += bytes)
        for (size_t k = 0; k < bytes / 2; k++) {
            const unsigned char first = p[k];
            p[k] = p[bytes - 1 - k];
            p[bytes - 1 - k] = first;
        }
}

/* The elements in row-major order; those of another form are converted on the way. */
static cbx_array *copied(cx_state *st, Py_buffer *view, const cbx_array_desc *desc, stored form)
{
    cbx_array *a = cx_create(st, desc);
    const size_t words = cbx_dtype_kind(desc->dtype) == CBX_KIND_COMPLEX ? 2 : 1;
    void *to = a ? cbx_array_data_mut(a) : NULL, *raw = to;
    bool done = a != NULL;

    if (!a || !view->len) return a;
    if (form & (HALF | LONG) && !(raw = PyMem_Malloc((size_t)view->len))) done = PyErr_NoMemory() != NULL;
    if (done) done = PyBuffer_ToContiguous(raw, view, view->len, 'C') == 0;
    if (done && form & OTHER_BYTE_ORDER) swap_words(raw, words * cbx_array_count(a), (size_t)view->itemsize / words);
    for (size_t i = 0; done && form & HALF && i < cbx_array_count(a); i++)
        ((float *)to)[i] = from_half(((const uint16_t *)raw)[i]);
    for (size_t i = 0; done && form & LONG && i < cbx_array_count(a); i++)
        ((double *)to)[i] = (double)((const long double *)raw)[i];
    if (raw != to) PyMem_Free(raw);
    if (done) return a;
    cbx_array_free(a);
    return NULL;
}

static cbx_array *shared(cx_state *st, Py_buffer *view, const cbx_array_desc *desc, const ptrdiff_t *strides)
{
    Py_buffer *keep = PyMem_Malloc(sizeof *keep);
    CX_ENDED_BY(cx_call_done) cx_call c;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;

    cx_call_init(&c, st, "asarray");
    if (!keep) return (cbx_array *)PyErr_NoMemory();
    *keep = *view;
    if (cx_begin(&c) && cbx_array_wrap(c.ctx, desc, strides, view->buf, give_back, keep, &a, &err))
        cx_raise(err.status, err.message);
    if (a)
        view->obj = NULL; /* the array owns it now */
    else
        PyMem_Free(keep);
    return a;
}

/* dtype and shape of a buffer.  rounds: elements that are wider than float64 become it. */
static bool describe(const Py_buffer *view, PyObject *o, bool rounds, cbx_array_desc *desc, stored *form)
{
    const char *all = view->format ? view->format : "B", *format = all + (*all && strchr("@=<>!", *all));
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const bool other = view->itemsize > 1 && (little ? *all == '>' || *all == '!' : *all == '<');
    const bool wide = strcmp(format, "g") == 0;

    *form = other ? OTHER_BYTE_ORDER : AS_THEY_ARE;
    desc->dtype = dtype_of_format(format, view->itemsize);
    desc->ndim = view->ndim;
    if (strcmp(format, "e") == 0 && view->itemsize == 2) {
        desc->dtype = CBX_F32;
        *form |= HALF;
    } else if (wide && rounds && !other && view->itemsize == (Py_ssize_t)sizeof(long double)) {
        desc->dtype = CBX_F64;
        *form = LONG;
    }
    if (desc->dtype == CBX_DTYPE_COUNT && wide && !rounds)
        PyErr_Format(PyExc_TypeError,
                     "asarray: elements of %R are longdouble, wider than every dtype: dtype='float64' rounds them",
                     (PyObject *)Py_TYPE(o));
    else if (desc->dtype == CBX_DTYPE_COUNT)
        PyErr_Format(PyExc_TypeError,
                     "asarray: there is no dtype for the elements of %R, of format '%s': "
                     "convert them, with x.astype('float32') for example",
                     (PyObject *)Py_TYPE(o), all);
    else if (view->ndim > CBX_MAX_RANK)
        PyErr_Format(PyExc_ValueError, "asarray: %d axes are more than %d", view->ndim, CBX_MAX_RANK);
    else
        for (int k = 0; k < view->ndim; k++) desc->shape[k] = (size_t)view->shape[k];
    return !PyErr_Occurred();
}

cbx_array *cx_import_buffer(cx_state *st, PyObject *o, bool rounds, int copy)
{
    ptrdiff_t strides[CBX_MAX_RANK];
    cbx_array_desc desc = { 0 };
    cbx_array *a = NULL;
    Py_buffer view;
    stored form;

    if (PyObject_GetBuffer(o, &view, PyBUF_FULL_RO) < 0) return NULL;
    if (describe(&view, o, rounds, &desc, &form)) {
        bool fits = form == AS_THEY_ARE && element_strides(&view, strides);
        if (copy == 0 && !fits)
            PyErr_Format(PyExc_ValueError, "asarray: elements that are %s must be copied: copy=True",
                         form ? "converted" : "not aligned");
        else
            a = copy == 1 || !fits ? copied(st, &view, &desc, form) : shared(st, &view, &desc, strides);
    }
    if (view.obj) PyBuffer_Release(&view);
    return a;
}
