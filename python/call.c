/* One call from Python into the library: arguments by their signature, a borrowed context, a scope, the result. */
#include <string.h>

#include "python/state.h"

/* ---- contexts ---- */

cbx_ctx *cx_ctx_borrow(cx_state *st)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (st->idle_count > 0)
        ctx = st->idle[--st->idle_count];
    else if (cbx_ctx_create(NULL, &ctx, &err))
        return (cbx_ctx *)cx_raise(err.status, err.message);
    if (st->backend && cbx_ctx_backend(ctx) != st->backend && cbx_ctx_set_backend(ctx, st->backend, &err)) {
        cbx_ctx_free(ctx);
        return (cbx_ctx *)cx_raise(err.status, err.message);
    }
    return ctx;
}

void cx_ctx_return(cx_state *st, cbx_ctx *ctx)
{
    if (st->idle_count < CX_IDLE_CONTEXTS)
        st->idle[st->idle_count++] = ctx;
    else
        cbx_ctx_free(ctx);
}

/* ---- errors ---- */

PyObject *cx_raise(cbx_status status, const char *message)
{
    PyObject *kind;

    switch (status) {
    case CBX_EDTYPE: kind = PyExc_TypeError; break;
    case CBX_EINVAL:
    case CBX_ESHAPE:
    case CBX_EDOM:
    case CBX_EFORMAT:
    case CBX_EVERSION: kind = PyExc_ValueError; break;
    case CBX_EOVERFLOW: kind = PyExc_OverflowError; break;
    case CBX_ENOMEM: kind = PyExc_MemoryError; break;
    case CBX_EUNSUPPORTED: kind = PyExc_NotImplementedError; break;
    case CBX_EIO:
    case CBX_ENOSPC: kind = PyExc_OSError; break;
    case CBX_ENOENT: kind = PyExc_FileNotFoundError; break;
    case CBX_EPERM: kind = PyExc_PermissionError; break;
    case CBX_EINTERRUPTED: kind = PyExc_KeyboardInterrupt; break;
    default: kind = PyExc_RuntimeError;
    }
    PyErr_SetString(kind, message[0] ? message : cbx_status_words(status));
    return NULL;
}

static PyObject *raise_for(const cx_call *c, const cbx_err *err)
{
    if (err->status != CBX_EDOM || !c->domain_error) return cx_raise(err->status, err->message);
    PyErr_SetString(c->domain_error, err->message);
    return NULL;
}

/* ---- the call ---- */

void cx_call_init(cx_call *c, cx_state *st, const char *name)
{
    *c = (cx_call){ .st = st, .name = name, .room = CBX_LEN(c->held_inline) };
    c->held = c->held_inline;
}

void cx_lock(cx_call *c)
{
    if (c->unlocked) PyEval_RestoreThread(c->unlocked);
    c->unlocked = NULL;
}

void cx_call_done(cx_call *c)
{
    cx_lock(c);
    if (c->ctx) {
        cbx_scope_close(&c->scope, NULL);
        cx_ctx_return(c->st, c->ctx);
    }
    for (size_t i = 0; i < c->nheld; i++) cbx_array_free(c->held[i]);
    if (c->held != c->held_inline) PyMem_Free(c->held);
}

bool cx_hold(cx_call *c, cbx_array *a)
{
    if (c->nheld == c->room) {
        cbx_array **more = PyMem_Malloc(2 * c->room * sizeof *more);
        if (!more) {
            cbx_array_free(a);
            return PyErr_NoMemory() != NULL;
        }
        memcpy(more, c->held, c->nheld * sizeof *more);
        if (c->held != c->held_inline) PyMem_Free(c->held);
        c->held = more;
        c->room *= 2;
    }
    c->held[c->nheld++] = a;
    c->elements += cbx_array_count(a);
    return true;
}

bool cx_begin(cx_call *c)
{
    c->ctx = cx_ctx_borrow(c->st);
    if (!c->ctx) return false;
    cbx_scope_open(c->ctx, &c->scope);
    if (c->elements >= CX_UNLOCK_ELEMENTS) c->unlocked = PyEval_SaveThread();
    return true;
}

bool cx_keep(cx_call *c, size_t n, cbx_array **arrays)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = cbx_scope_close_keep(&c->scope, n, arrays, &err);

    cx_lock(c);
    cx_ctx_return(c->st, c->ctx);
    c->ctx = NULL;
    if (status) raise_for(c, &err);
    return !status;
}

PyObject *cx_result(cx_call *c, cbx_array *r)
{
    if (!cx_keep(c, 1, &r)) return NULL;
    return cx_array_new(c->st, r);
}

PyObject *cx_results(cx_call *c, size_t n, cbx_array **arrays, bool tuple)
{
    PyObject *all;

    if (!cx_keep(c, n, arrays)) return NULL;
    all = tuple ? PyTuple_New((Py_ssize_t)n) : PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *v = all ? cx_array_new(c->st, arrays[i]) : NULL;
        if (!all) cbx_array_free(arrays[i]);
        if (all && (!v || (tuple ? PyTuple_SetItem : PyList_SetItem)(all, (Py_ssize_t)i, v) < 0)) Py_CLEAR(all);
    }
    return all;
}

/* ---- arguments by signature ---- */

typedef struct parameter {
    const char *name;
    size_t length;
    bool optional, starred;
} parameter;

/* The parameter at text, and where the next one starts; false at the end. */
static bool next_parameter(const char **text, parameter *p)
{
    const char *at = *text, *end;

    if (!*at) return false;
    end = at + strcspn(at, ",");
    p->starred = at[0] == '*' && end > at + 1;
    p->name = at + p->starred;
    p->length = strcspn(p->name, "=,");
    p->optional = p->name + p->length < end;
    *text = *end ? end + 1 + (end[1] == ' ') : end;
    return true;
}

PyObject *cx_parameter_name(const cx_call *c, int i)
{
    const char *text = c->signature ? c->signature : "";
    parameter p = { "?", 1, false, false };

    for (int at = 0; at <= i && next_parameter(&text, &p);)
        if (p.name[0] != '/' && p.name[0] != '*' && !p.starred) at++;
    return PyUnicode_FromStringAndSize(p.name, (Py_ssize_t)p.length);
}

/* Place of a keyword, or -1; its value stands behind the positional arguments. */
static Py_ssize_t find_keyword(PyObject *kwnames, Py_ssize_t n, const parameter *p)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        Py_ssize_t length;
        const char *word = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kwnames, k), &length);
        if (word && (size_t)length == p->length && memcmp(word, p->name, p->length) == 0) return k;
    }
    return -1;
}

static bool refuse_extra(const cx_call *c, const char *signature, Py_ssize_t given, Py_ssize_t taken, PyObject *kwnames,
                         uint64_t used)
{
    if (given > taken) {
        PyErr_Format(PyExc_TypeError, "%s(%s) takes %zd positional arguments, not %zd", c->name, signature, taken,
                     given);
        return false;
    }
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_Size(kwnames); k++)
        if (!(used >> k & 1)) {
            PyErr_Format(PyExc_TypeError, "%s(%s) does not take the keyword '%U' here", c->name, signature,
                         PyTuple_GetItem(kwnames, k));
            return false;
        }
    return true;
}

static bool bind(cx_call *c, const char *signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    const char *slash = strchr(signature, '/'), *text = signature;
    Py_ssize_t taken = 0, nkw = kwnames ? PyTuple_Size(kwnames) : 0;
    bool keyword_only = false;
    uint64_t used = 0;
    parameter p;

    for (int i = 0; next_parameter(&text, &p);) {
        if (p.name == slash) continue;
        if (p.starred) {
            c->rest = args + taken;
            c->nrest = nargs - taken;
            taken = nargs;
        }
        if (p.starred || p.name[0] == '*') {
            keyword_only = true;
            continue;
        }
        if (!keyword_only && taken < nargs) {
            c->arg[i] = args[taken++];
        } else if (nkw && (!slash || p.name > slash)) {
            Py_ssize_t k = find_keyword(kwnames, nkw, &p);
            if (k >= 0 && k < 64) {
                c->arg[i] = args[nargs + k];
                used |= (uint64_t)1 << k;
            }
        }
        if (!c->arg[i] && !p.optional) {
            PyErr_Format(PyExc_TypeError, "%s(%s) misses an argument", c->name, signature);
            return false;
        }
        i++;
    }
    return refuse_extra(c, signature, nargs, taken, kwnames, used);
}

PyObject *cx_invoke(cx_state *st, const cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames)
{
    PyObject *result = NULL;
    cx_call c;

    cx_call_init(&c, st, f->name);
    c.signature = f->signature;
    if (bind(&c, f->signature, args, nargs, kwnames)) {
        c.self = self;
        result = f->impl(&c, f->fn);
    }
    cx_call_done(&c);
    return result;
}
