/*
 * x[key] and x[key] = value.
 *
 * A key is read into steps along the axes.  Slices, integers and new axes are views.  Index arrays
 * and masks (which are index arrays by nonzero) are joined: the axes that they are on come first,
 * become one, and one take along it gathers.  Assignment by views writes in place where no other
 * array shares the elements.  Otherwise it makes a new array: the same key, applied to the places
 * 0, 1, 2 ..., shows where the values are scattered; the Array object then holds the new handle,
 * views and borrowers keep the old one.
 */
#include <string.h>

#include "python/state.h"

typedef enum step_kind { STEP_INT, STEP_SLICE, STEP_NEW, STEP_ARRAY, STEP_EMPTY_OR_ONE } step_kind;

typedef struct step {
    step_kind kind;
    ptrdiff_t start, stop, stride; /* INT: start */
    const cbx_array *index;        /* ARRAY: held by the call */
    const cbx_array *mask;         /* ARRAY: the mask that it was made of, and which axis of it; NULL: none */
    int mask_axis;
    bool one; /* EMPTY_OR_ONE: a single truth value: an axis of length 1 or 0 */
} step;

enum { MAX_STEPS = 4 * CBX_MAX_RANK };

typedef struct key {
    int n, ellipsis; /* place of the ellipsis, -1: none */
    int axes;        /* axes of x that the steps use up */
    bool advanced;
    step steps[MAX_STEPS];
} key;

/* ---- reading a key ---- */

static bool add_step(key *k, step s)
{
    if (k->n == MAX_STEPS) return cx_refused(PyExc_IndexError, "the key has too many parts");
    k->steps[k->n++] = s;
    k->axes += s.kind != STEP_NEW && s.kind != STEP_EMPTY_OR_ONE;
    k->advanced = k->advanced || s.kind == STEP_ARRAY || s.kind == STEP_EMPTY_OR_ONE;
    return true;
}

/* Bounds left out, and those beyond the range, become the ends of the range. */
static bool add_slice(key *k, PyObject *o)
{
    Py_ssize_t start, stop, stride;

    if (PySlice_Unpack(o, &start, &stop, &stride) < 0) return false;
    /* the smallest number is CBX_OPEN: right where it is the end of the walk, not where the walk
     * begins beyond it */
    if (stride > 0 && stop == CBX_OPEN) stop++;
    if (stride < 0 && start == CBX_OPEN) start++;
    if (stride == 1 && start == 0) start = CBX_OPEN;
    if (stride == 1 && stop == PY_SSIZE_T_MAX) stop = CBX_OPEN;
    return add_step(k, (step){ .kind = STEP_SLICE, .start = start, .stop = stop, .stride = stride });
}

static bool refuse_mask(const cbx_array *mask, const cbx_array *x)
{
    char ta[160], tb[160];
    return cx_refused(PyExc_IndexError, "the mask %s does not fit the axes of %s",
                      cbx_array_desc_text(cbx_array_get_desc(mask), ta, sizeof ta),
                      cbx_array_desc_text(cbx_array_get_desc(x), tb, sizeof tb));
}

/* The places where a mask is true: one index array for each of its axes. */
static bool add_mask(cx_call *c, key *k, const cbx_array *x, const cbx_array *mask)
{
    int n = cbx_array_ndim(mask);
    cbx_array *rows[CBX_MAX_RANK] = { 0 };
    cbx_array *all;
    bool one = false;

    if (n == 0 && !cx_concrete(c->st, mask, "use as a mask")) return false;
    if (n == 0 && cbx_array_read(mask, &one, sizeof one, &c->err))
        return cx_raise(c->err.status, c->err.message) != NULL;
    if (n == 0) return add_step(k, (step){ .kind = STEP_EMPTY_OR_ONE, .one = one });
    /* lengths are compared in in_range, where the axes behind an ellipsis are known */
    if (k->axes + n > cbx_array_ndim(x)) return refuse_mask(mask, x);
    CX_ENDED_BY(cx_call_done) cx_call inner;
    cx_call_init(&inner, c->st, c->name);
    inner.elements = cbx_array_count(mask);
    if (!cx_begin(&inner)) return false;
    all = cbx_nonzero(inner.ctx, mask);
    for (int d = 0; d < n; d++) rows[d] = cbx_index(inner.ctx, all, 0, d);
    if (!cx_keep(&inner, (size_t)n, rows)) return false;
    for (int d = 0; d < n; d++) {
        const bool fine = cx_hold(c, rows[d]) &&
                          add_step(k, (step){ .kind = STEP_ARRAY, .index = rows[d], .mask = mask, .mask_axis = d });
        for (int left = d + 1; !fine && left < n; left++) cbx_array_free(rows[left]);
        if (!fine) return false;
    }
    return true;
}

static bool add_array(cx_call *c, key *k, const cbx_array *x, PyObject *array)
{
    const cbx_array *index = ((cx_array *)array)->handle;
    cbx_dtype t = cbx_array_dtype(index);

    if (!cx_hold(c, cbx_array_ref(((cx_array *)array)->handle))) return false;
    if (t == CBX_BOOL) return add_mask(c, k, x, index);
    if (cbx_dtype_kind(t) == CBX_KIND_INT) return add_step(k, (step){ .kind = STEP_ARRAY, .index = index });
    return cx_refused(PyExc_IndexError, "an index array must be of integers or bool, got %s", cbx_dtype_name(t));
}

static bool add_part(cx_call *c, key *k, const cbx_array *x, PyObject *o)
{
    if (o == Py_None) return add_step(k, (step){ .kind = STEP_NEW });
    if (PyBool_Check(o)) return add_step(k, (step){ .kind = STEP_EMPTY_OR_ONE, .one = o == Py_True });
    if (PySlice_Check(o)) return add_slice(k, o);
    if (o == Py_Ellipsis) {
        if (k->ellipsis >= 0) return cx_refused(PyExc_IndexError, "a key has one ellipsis at most");
        k->ellipsis = k->n;
        return true;
    }
    if (cx_is_array(c->st, o) || PyList_Check(o) || cx_is_foreign_array(o)) {
        const bool empty = PyList_Check(o) && PyList_Size(o) == 0; /* no indices are integers, too */
        CX_OWN PyObject *array = cx_asarray(c->st, o, empty ? CBX_I64 : CBX_DTYPE_COUNT, -1);
        return array && add_array(c, k, x, array);
    }
    if (PyIndex_Check(o)) {
        step s = { .kind = STEP_INT };
        s.start = PyNumber_AsSsize_t(o, PyExc_IndexError);
        return !(s.start == -1 && PyErr_Occurred()) && add_step(k, s);
    }
    return cx_refused(PyExc_IndexError,
                      "an index must be an integer, slice, Ellipsis, None or Array, got %R (asarray makes an Array)",
                      (PyObject *)Py_TYPE(o));
}

static bool read_key(cx_call *c, const cbx_array *x, PyObject *o, key *k)
{
    Py_ssize_t n = PyTuple_Check(o) ? PyTuple_Size(o) : 1;
    int more;

    k->n = k->axes = 0; /* not the steps: a key has few of them */
    k->ellipsis = -1;
    k->advanced = false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!add_part(c, k, x, PyTuple_Check(o) ? PyTuple_GetItem(o, i) : o)) return false;
    more = cbx_array_ndim(x) - k->axes;
    if (more < 0)
        return cx_refused(PyExc_IndexError, "%d indices are too many for %d axes", k->axes, cbx_array_ndim(x));
    if (k->ellipsis < 0) k->ellipsis = k->n;
    if (k->n + more > MAX_STEPS) return add_step(k, (step){ 0 });
    memmove(&k->steps[k->ellipsis + more], &k->steps[k->ellipsis], (size_t)(k->n - k->ellipsis) * sizeof(step));
    for (int i = 0; i < more; i++)
        k->steps[k->ellipsis + i] = (step){ .kind = STEP_SLICE, .start = CBX_OPEN, .stop = CBX_OPEN, .stride = 1 };
    k->n += more;
    return true;
}

/* Integers must be in range; checked before anything is computed, so that it is an IndexError. */
static bool in_range(const key *k, const cbx_array *x)
{
    int axis = 0;

    for (int i = 0; i < k->n; i++) {
        const step *s = &k->steps[i];
        ptrdiff_t n = (ptrdiff_t)cbx_array_dim(x, axis);
        if (s->kind == STEP_INT && (s->start < -n || s->start >= n))
            return cx_refused(PyExc_IndexError, "index %zd is outside of axis %d, which has %zd elements",
                              (Py_ssize_t)s->start, axis, (Py_ssize_t)n);
        if (s->mask && cbx_array_dim(s->mask, s->mask_axis) && (ptrdiff_t)cbx_array_dim(s->mask, s->mask_axis) != n)
            return refuse_mask(s->mask, x); /* a length of 0 fits every axis */
        axis += s->kind != STEP_NEW && s->kind != STEP_EMPTY_OR_ONE;
    }
    return true;
}

/* ---- taking the steps, inside a begun call ---- */

typedef struct gather {
    int n, axis[CBX_MAX_RANK + 1]; /* axes of the view that index arrays are on */
    const cbx_array *index[CBX_MAX_RANK + 1];
    int first;  /* where the joined axes go in the result */
    bool apart; /* something is between them: they go first */
} gather;

static void add_gather(gather *g, int axis, int place, const cbx_array *index, int *last)
{
    if (g->n > CBX_MAX_RANK) return; /* rank is checked by the steps themselves */
    if (g->n == 0)
        g->first = axis;
    else if (*last + 1 != place)
        g->apart = true;
    *last = place;
    g->axis[g->n] = axis;
    g->index[g->n++] = index;
}

/* Views first; what index arrays are on is left for gathering.  An ellipsis separates index arrays
 * even if it covers no axis. */
static cbx_array *take_views(cbx_ctx *ctx, const key *k, cbx_array *v, gather *g)
{
    int axis = 0, last = 0;

    for (int i = 0; i < k->n; i++) {
        const step *s = &k->steps[i];
        const int place = i + (i >= k->ellipsis);
        switch (s->kind) {
        case STEP_INT:
            if (k->advanced)
                add_gather(g, axis++, place, cbx_full(ctx, 0, NULL, CBX_I64, cbx_int(s->start)), &last);
            else
                v = cbx_index(ctx, v, axis, s->start);
            break;
        case STEP_SLICE:
            if (s->start != CBX_OPEN || s->stop != CBX_OPEN || s->stride != 1)
                v = cbx_slice(ctx, v, axis, s->start, s->stop, s->stride);
            axis++;
            break;
        case STEP_NEW: v = cbx_expand_dims(ctx, v, axis++); break;
        case STEP_ARRAY: add_gather(g, axis++, place, s->index, &last); break;
        case STEP_EMPTY_OR_ONE:
            v = cbx_expand_dims(ctx, v, axis);
            add_gather(g, axis++, place, cbx_zeros(ctx, 1, (size_t[]){ s->one }, CBX_I64), &last);
        }
    }
    return v;
}

/* Index arrays on several axes as one on the joined axis; an index outside becomes one outside. */
static cbx_array *joined_index(cbx_ctx *ctx, const gather *g, const cbx_array *v, size_t joined)
{
    const cbx_array *all = NULL, *bad = NULL;

    for (int i = 0; i < g->n; i++) {
        int64_t n = (int64_t)cbx_array_dim(v, g->axis[i]);
        const cbx_array *at = cbx_astype(ctx, g->index[i], CBX_I64), *zero = cbx_weak(ctx, at, cbx_int(0));
        const cbx_array *length = cbx_weak(ctx, at, cbx_int(n)), *outside;
        at = cbx_where(ctx, cbx_less(ctx, at, zero), cbx_add(ctx, at, length), at);
        outside = cbx_logical_or(ctx, cbx_less(ctx, at, zero), cbx_greater_equal(ctx, at, length));
        all = all ? cbx_add(ctx, cbx_multiply(ctx, all, length), at) : at;
        bad = bad ? cbx_logical_or(ctx, bad, outside) : outside;
    }
    return cbx_where(ctx, bad, cbx_weak(ctx, all, cbx_int((int64_t)joined)), all);
}

static cbx_array *gather_view(cbx_ctx *ctx, const gather *g, cbx_array *v)
{
    int ndim = cbx_array_ndim(v), order[CBX_MAX_RANK], rest = 0, place;
    ptrdiff_t shape[CBX_MAX_RANK + 1];
    size_t joined = 1;
    cbx_array *r, *index;

    if (cbx_array_is_failed(v)) return v;
    if (g->n == 1) return cbx_take(ctx, v, g->index[0], g->axis[0]);
    for (int i = 0; i < g->n; i++) {
        order[i] = g->axis[i];
        joined *= cbx_array_dim(v, g->axis[i]);
    }
    for (int axis = 0, i = 0; axis < ndim; axis++) {
        if (i < g->n && g->axis[i] == axis) {
            i++;
            continue;
        }
        order[g->n + rest++] = axis;
        shape[rest] = (ptrdiff_t)cbx_array_dim(v, axis);
    }
    shape[0] = (ptrdiff_t)joined;
    index = joined_index(ctx, g, v, joined);
    if (rest + 1 > CBX_MAX_RANK || cbx_array_is_failed(index)) return index;
    r = cbx_take(ctx, cbx_reshape(ctx, cbx_permute_dims(ctx, v, order), rest + 1, shape), index, 0);
    place = g->apart ? 0 : g->first;
    if (place == 0 || cbx_array_is_failed(r)) return r;
    for (int i = 0; i < place; i++) order[i] = cbx_array_ndim(index) + i;
    for (int i = 0; i < cbx_array_ndim(index); i++) order[place + i] = i;
    for (int i = place + cbx_array_ndim(index); i < cbx_array_ndim(r); i++) order[i] = i;
    return cbx_permute_dims(ctx, r, order);
}

static cbx_array *take_steps(cbx_ctx *ctx, const key *k, cbx_array *x)
{
    gather g = { 0 };
    cbx_array *v = take_views(ctx, k, x, &g);

    return g.n ? gather_view(ctx, &g, v) : v;
}

/* Where an element of an array of rank 1 is, if that is what a key names; NULL: any other key. */
static char *element_of(const cbx_array *x, PyObject *o)
{
    const ptrdiff_t n = (ptrdiff_t)cbx_array_dim(x, 0);
    Py_ssize_t i;

    if (cbx_array_ndim(x) != 1 || !PyLong_CheckExact(o) || cbx_array_is_abstract(x) || cx_is_elsewhere(x)) return NULL;
    i = PyLong_AsSsize_t(o);
    if (i == -1 && PyErr_Occurred()) PyErr_Clear(), i = n;
    if (i < -n || i >= n) return NULL;
    return (char *)(uintptr_t)cbx_array_data(x) +
           (i < 0 ? i + n : i) * cbx_array_strides(x)[0] * (ptrdiff_t)cbx_dtype_size(cbx_array_dtype(x));
}

/* A copy, not a view: it does not keep x from being written in place. */
static PyObject *copied_element(cx_state *st, const cbx_array *x, const char *at)
{
    const cbx_array_desc d = { .dtype = cbx_array_dtype(x) };
    cbx_array *r = cx_create(st, &d);

    if (!r) return NULL;
    memcpy(cbx_array_data_mut(r), at, cbx_dtype_size(d.dtype));
    return cx_array_new(st, r);
}

/* A macro of a type with the size of a dtype's elements. */
#define BY_SIZE(dtype, MACRO)                                                                                          \
    switch (cbx_dtype_size(dtype)) {                                                                                   \
    case 1: MACRO(uint8_t); break;                                                                                     \
    case 2: MACRO(uint16_t); break;                                                                                    \
    case 4: MACRO(uint32_t); break;                                                                                    \
    case 8: MACRO(uint64_t); break;                                                                                    \
    default: MACRO(double _Complex);                                                                                   \
    }

/* The few elements that a contiguous mask selects, of one axis or contiguous, too. */
#define SELECT(T)                                                                                                      \
    for (size_t i = 0, j = 0; j < n; j += picks[i++]) ((T *)to)[j] = ((const T *)from)[(ptrdiff_t)i * stride]
static PyObject *selected(cx_state *st, const cbx_array *x, const cbx_array *mask)
{
    const uint8_t *picks = cbx_array_data(mask);
    const void *from = cbx_array_data(x);
    const size_t count = cbx_array_count(mask);
    const ptrdiff_t stride = cbx_array_is_contiguous(x) ? 1 : cbx_array_strides(x)[0];
    cbx_array_desc d = { .dtype = cbx_array_dtype(x), .ndim = 1 };
    cbx_array *r;
    size_t n = 0;
    void *to;

    for (size_t i = 0; i < count; i++) n += picks[i];
    d.shape[0] = n;
    if (!(r = cx_create(st, &d))) return NULL;
    to = cbx_array_data_mut(r);
    BY_SIZE(d.dtype, SELECT)
    return cx_array_new(st, r);
}

/* The elements at few int64 places of the only axis; NULL without an exception: one of them is
 * outside. */
#define PICK(T)                                                                                                        \
    for (size_t i = 0; i < n; i++)                                                                                     \
    memcpy((T *)to + i, from + (at[i] + (at[i] < 0 ? length : 0)) * stride * (ptrdiff_t)sizeof(T), sizeof(T))
static PyObject *picked(cx_state *st, const cbx_array *x, const cbx_array *where)
{
    const int64_t *at = cbx_array_data(where), length = (int64_t)cbx_array_dim(x, 0);
    const ptrdiff_t stride = cbx_array_strides(x)[0];
    const size_t n = cbx_array_count(where);
    cbx_array_desc d = { .dtype = cbx_array_dtype(x), .ndim = 1, .shape = { n } };
    const char *from = cbx_array_data(x);
    cbx_array *r;
    void *to;

    for (size_t i = 0; i < n; i++)
        if (at[i] < -length || at[i] >= length) return NULL;
    if (!(r = cx_create(st, &d))) return NULL;
    to = cbx_array_data_mut(r);
    BY_SIZE(d.dtype, PICK)
    return cx_array_new(st, r);
}

/* A mask of the shape of x, or int64 indices of its only axis, as the whole key; NULL: any
 * other key. */
static const cbx_array *whole_key(cx_state *st, const cbx_array *x, PyObject *o)
{
    const cbx_array *at = cx_is_array(st, o) ? ((cx_array *)o)->handle : NULL;

    if (!at || at == x) return NULL;
    if (cbx_array_is_abstract(at) || cbx_array_is_abstract(x)) return NULL;
    if (cx_is_elsewhere(at) || cx_is_elsewhere(x)) return NULL;
    if (cbx_array_dtype(at) == CBX_I64) return cbx_array_ndim(x) == 1 ? at : NULL;
    if (cbx_array_dtype(at) != CBX_BOOL || cbx_array_ndim(at) != cbx_array_ndim(x)) return NULL;
    for (int i = 0; i < cbx_array_ndim(x); i++)
        if (cbx_array_dim(at, i) != cbx_array_dim(x, i)) return NULL;
    return at;
}

/* What a mask or index array without gaps takes of few elements; NULL without an exception:
 * another case. */
static PyObject *taken(cx_state *st, const cbx_array *x, PyObject *o)
{
    const cbx_array *at = whole_key(st, x, o);

    if (!at || !cbx_array_is_contiguous(at) || cbx_array_ndim(x) == 0 || cbx_array_count(at) >= CX_UNLOCK_ELEMENTS)
        return NULL;
    if (cbx_array_dtype(at) == CBX_BOOL)
        return cbx_array_is_contiguous(x) || cbx_array_ndim(x) == 1 ? selected(st, x, at) : NULL;
    return cbx_array_ndim(at) == 1 ? picked(st, x, at) : NULL;
}

PyObject *cx_subscript(PyObject *self, PyObject *o)
{
    cbx_array *x = ((cx_array *)self)->handle, *v;
    PyObject *r;
    key k;

    if (element_of(x, o)) return copied_element(cx_state_of_instance(self), x, element_of(x, o));
    r = taken(cx_state_of_instance(self), x, o);
    if (r || PyErr_Occurred()) return r;
    CX_ENDED_BY(cx_call_done) cx_call c;
    cx_call_init(&c, cx_state_of_instance(self), "index");
    if (!cx_hold(&c, cbx_array_ref(x)) || !read_key(&c, x, o, &k) || !in_range(&k, x)) return NULL;
    if (!k.advanced) c.elements = 0;
    if (!cx_begin(&c)) return NULL;
    v = take_steps(c.ctx, &k, x);
    return cx_result(&c, v == x ? cbx_scope_hold(c.ctx, cbx_array_ref(x)) : v);
}

/* ---- assignment ---- */

static cbx_array *places(cbx_ctx *ctx, const key *k, const cbx_array *x)
{
    ptrdiff_t shape[CBX_MAX_RANK];
    cbx_array *all = cbx_arange_int(ctx, 0, (int64_t)cbx_array_count(x), 1, CBX_I64);

    for (int i = 0; i < cbx_array_ndim(x); i++) shape[i] = (ptrdiff_t)cbx_array_dim(x, i);
    return take_steps(ctx, k, cbx_reshape(ctx, all, cbx_array_ndim(x), shape));
}

static cbx_array *assigned(cbx_ctx *ctx, const key *k, const cbx_array *x, const cbx_array *v)
{
    ptrdiff_t shape[CBX_MAX_RANK];
    cbx_array *at = places(ctx, k, x), *flat;
    const cbx_array_desc *d;

    if (cbx_array_is_failed(at)) return at;
    d = cbx_array_get_desc(at);
    for (int i = 0; i < cbx_array_ndim(x); i++) shape[i] = (ptrdiff_t)cbx_array_dim(x, i);
    v = cbx_flatten(ctx, cbx_broadcast_to(ctx, cbx_astype(ctx, v, cbx_array_dtype(x)), d->ndim, d->shape));
    flat = cbx_scatter(ctx, cbx_flatten(ctx, x), cbx_flatten(ctx, at), v, 0, CBX_SCATTER_SET);
    return cbx_reshape(ctx, flat, cbx_array_ndim(x), shape);
}

/* A value goes in if its kind is not above that of x. */
static bool may_enter(cbx_dtype from, cbx_dtype to)
{
    if (cbx_dtype_kind(from) <= cbx_dtype_kind(to)) return true;
    return cx_refused(PyExc_TypeError, "%s cannot be assigned to %s: astype converts", cbx_dtype_name(from),
                      cbx_dtype_name(to));
}

/* whole_key, unless the value may run code that changes it; NULL: any other key or value. */
static const cbx_array *whole_index(cx_state *st, const cbx_array *x, PyObject *o, PyObject *value)
{
    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value) && !PyBool_Check(value) && !cx_is_array(st, value))
        return NULL; /* reading other values may run any code */
    return cbx_array_is_contiguous(x) ? whole_key(st, x, o) : NULL;
}

/* True if cbx_array_put takes the value for the index. */
static bool is_plain(const cbx_array *at, const cbx_array *v)
{
    if (!v || cbx_array_ndim(v) == 0) return true;
    return cbx_array_dtype(at) == CBX_I64 && cbx_array_ndim(at) == 1 && cbx_array_ndim(v) == 1 &&
           cbx_array_count(v) == cbx_array_count(at);
}

/* Over elements that no other array shares; handle has one reference.  at: the whole key; NULL: k
 * is the key. */
static bool write_in_place(cx_call *c, const key *k, const cbx_array *at, cbx_array *handle, const cx_operand *v)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_OK;
    gather none = { 0 };
    const cbx_array *value;
    cbx_array *to;

    if (!cx_begin(c)) return false;
    value = v->array ? v->array : cx_weak(c, handle, v);
    to = at ? handle : take_views(c->ctx, k, handle, &none);
    if (!cbx_array_is_failed(to) && !cbx_array_is_failed(value))
        status = at ? cbx_array_put(c->ctx, to, at, value, &err) : cbx_array_assign(c->ctx, to, value, &err);
    if (!cx_keep(c, 0, NULL)) return false;
    if (status) cx_raise(status, err.message);
    return !status;
}

static bool read_whole_key(cx_call *c, const cx_array *a, PyObject *o, key *k)
{
    CX_OWN_ARRAY cbx_array *x = cbx_array_ref(
        a->handle); /* elements may change while the key is read, lengths do not */
    return read_key(c, x, o, k) && in_range(k, x);
}

/* x[mask] = number, where x or the mask is traced: which elements change, the data decide.  1:
 * done; 0: another case; -1: exception. */
static int assign_where(cx_call *c, cx_array *me, PyObject *o, PyObject *value)
{
    cbx_array *x = me->handle, *mask = cx_is_array(c->st, o) ? ((cx_array *)o)->handle : NULL, *r;
    ptrdiff_t shape[CBX_MAX_RANK];
    cx_operand v;
    int is;

    if (!mask || cbx_array_dtype(mask) != CBX_BOOL || cbx_array_ndim(mask) > cbx_array_ndim(x)) return 0;
    if (!cbx_array_is_abstract(mask) && !cbx_array_is_abstract(x)) return 0;
    for (int i = 0; i < cbx_array_ndim(x); i++) {
        shape[i] = i < cbx_array_ndim(mask) ? (ptrdiff_t)cbx_array_dim(mask, i) : 1;
        if (i < cbx_array_ndim(mask) && cbx_array_dim(mask, i) != cbx_array_dim(x, i)) return 0;
    }
    is = cx_operand_from(c, value, &v);
    if (is <= 0 || (v.array && cbx_array_ndim(v.array) > 0)) return is < 0 ? is : 0;
    if (!may_enter(v.array ? cbx_array_dtype(v.array) : v.scalar.dtype, cbx_array_dtype(x))) return -1;
    if (!v.array && !cx_fits(cbx_array_dtype(x), &v)) return -1;
    if (!cx_hold(c, cbx_array_ref(x)) || !cx_hold(c, cbx_array_ref(mask)) || !cx_begin(c)) return -1;
    r = v.array ? cbx_astype(c->ctx, v.array, cbx_array_dtype(x)) : cbx_weak(c->ctx, x, v.scalar);
    r = cbx_where(c->ctx, cbx_reshape(c->ctx, mask, cbx_array_ndim(x), shape), r, x);
    if (!cx_keep(c, 1, &r)) return -1;
    cbx_array_free(me->handle);
    me->handle = r;
    return 1;
}

/*
 * The interpreter's lock is kept from the reading of the handle to its replacement, so that of two
 * threads that assign both assignments last.
 */
static bool assign_here(PyObject *self, PyObject *o, PyObject *value)
{
    cx_array *me = (cx_array *)self;
    const cbx_dtype t = cbx_array_dtype(me->handle);
    CX_OWN PyObject *given = NULL;
    cbx_array *x, *changed;
    const cbx_array *at;
    cx_operand v;
    key k;
    int is;

    if (!value) return cx_refused(PyExc_TypeError, "elements of an Array cannot be deleted");
    if ((PyFloat_CheckExact(value) || PyLong_CheckExact(value)) && element_of(me->handle, o) &&
        cbx_array_is_exclusive(me->handle))
        return cx_scalar_from(value, &v) >= 0 && may_enter(v.scalar.dtype, v.big ? CBX_F64 : t) && cx_fits(t, &v) &&
               cx_store(t, element_of(me->handle, o), value);
    CX_ENDED_BY(cx_call_done) cx_call c;
    cx_call_init(&c, cx_state_of_instance(self), "assignment");
    is = assign_where(&c, me, o, value);
    if (is) return is > 0;
    at = whole_index(c.st, me->handle, o, value);
    if (!at && !read_whole_key(&c, me, o, &k)) return false;
    is = cx_operand_from(&c, value, &v);
    if (is == 0) is = (given = cx_asarray(c.st, value, CBX_DTYPE_COUNT, -1)) ? cx_operand_from(&c, given, &v) : -1;
    if (is < 0 || !may_enter(v.array ? cbx_array_dtype(v.array) : v.scalar.dtype, v.big ? CBX_F64 : t)) return false;
    if (!v.array && !cx_fits(t, &v)) return false;
    if (v.array && cx_is_elsewhere(v.array)) {
        v.array = cx_here(c.st, v.array);
        if (!v.array || !cx_hold(&c, v.array)) return false;
    }
    c.elements = 0;
    if (at && (!is_plain(at, v.array) || !cbx_array_is_exclusive(me->handle))) {
        if (!read_whole_key(&c, me, o, &k)) return false;
        at = NULL;
    }
    if ((at || !k.advanced) && cbx_array_is_exclusive(me->handle) && !(v.array && cbx_array_is_abstract(v.array)))
        return write_in_place(&c, &k, at, me->handle, &v);
    x = cbx_array_ref(me->handle);
    if (!cx_hold(&c, x)) return false;
    c.elements = 0;
    if (!cx_begin(&c)) return false;
    changed = assigned(c.ctx, &k, x, v.array ? v.array : cx_weak(&c, x, &v));
    if (!cbx_array_is_failed(changed) && cx_is_elsewhere(changed)) /* where an index array is */
        changed = cbx_to_device(c.ctx, changed, cbx_array_device(x));
    if (!cx_keep(&c, 1, &changed)) return false;
    cbx_array_free(me->handle);
    me->handle = changed;
    return true;
}

/* Elements elsewhere change on the CPU, in a copy that is sent back. */
int cx_assign(PyObject *self, PyObject *o, PyObject *value)
{
    cx_state *st = cx_state_of_instance(self);
    cbx_array *x = ((cx_array *)self)->handle;
    PyObject *copy;
    cbx_array *here;

    if (!value || !cx_is_elsewhere(x)) return assign_here(self, o, value) ? 0 : -1;
    here = cx_here(st, x);
    copy = here ? cx_array_new(st, here) : NULL;
    if (!copy || !assign_here(copy, o, value)) {
        Py_XDECREF(copy);
        return -1;
    }
    CX_OWN PyObject *changed = cx_moved(st, copy, cbx_array_device(x));
    if (!changed) return -1;
    here = ((cx_array *)self)->handle;
    ((cx_array *)self)->handle = cbx_array_ref(((cx_array *)changed)->handle);
    cbx_array_free(here);
    return 0;
}
