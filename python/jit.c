/*
 * Compiled functions: the object that jit returns.
 *
 * A call whose arguments are Arrays and numbers by position is looked up here, by their kinds, dtypes and shapes, and goes to the library
 * without a Python frame.  Any other call, and the first one of its kind, goes to `_transforms.JitPlan`, which knows trees, keywords and
 * static arguments, and adds what it recorded to the entries here.
 */
#include <stddef.h>
#include <string.h>

#include "python/transforms.h"

#include <structmember.h>

/* Of the stable ABI from 3.12 on; the protocol and its numbers are those of PEP 590, which 3.11 has. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
typedef PyObject *(*cx_vectorcall)(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
#define NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))

enum { FEW = 16, MAX_ENTRIES = 64 };

/* What an argument must be. */
typedef struct signature {
    bool number; /* of Python: of the kind of dtype */
    cbx_dtype dtype;
    int ndim;
    size_t shape[CBX_MAX_RANK];
} signature;

typedef struct entry {
    const cbx_backend *backend; /* that was selected; NULL: none */
    Py_ssize_t nargs;
    signature *args;
    PyObject *recorded, *structure;
    bool one; /* one result, which is the only leaf */
    int users;
} entry;

typedef struct jitted {
    PyObject_HEAD cx_vectorcall call;
    PyObject *fun, *plan, *dict, *weakrefs;
    entry *entries[MAX_ENTRIES]; /* the last used one first */
    int count;
} jitted;

static void entry_free(entry *e)
{
    if (--e->users > 0) return;
    Py_XDECREF(e->recorded);
    Py_XDECREF(e->structure);
    PyMem_Free(e->args);
    PyMem_Free(e);
}

/* ---- lookup ---- */

static cbx_dtype number_dtype(PyObject *o)
{
    if (PyFloat_CheckExact(o)) return CBX_F64;
    if (PyLong_CheckExact(o)) {
        int over;
        (void)PyLong_AsLongLongAndOverflow(o, &over);
        return over ? CBX_DTYPE_COUNT : CBX_I64; /* others are for the plan */
    }
    if (PyBool_Check(o)) return CBX_BOOL;
    return PyComplex_CheckExact(o) ? CBX_C128 : CBX_DTYPE_COUNT;
}

static bool is_like(const cx_state *st, const signature *s, PyObject *o)
{
    const cbx_array_desc *d;

    if (Py_TYPE(o) != st->array_type) return s->number && number_dtype(o) == s->dtype;
    d = cbx_array_get_desc(((cx_array *)o)->handle);
    if (s->number != ((cx_array *)o)->weak || d->dtype != s->dtype || d->ndim != s->ndim) return false;
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] != s->shape[i]) return false;
    return true;
}

static entry *find(jitted *j, const cx_state *st, PyObject *const *args, Py_ssize_t n)
{
    for (int k = 0; k < j->count; k++) {
        entry *e = j->entries[k];
        bool same = e->nargs == n && e->backend == st->backend;
        for (Py_ssize_t i = 0; same && i < n; i++) same = is_like(st, &e->args[i], args[i]);
        if (!same) continue;
        if (k > 0) {
            memmove(j->entries + 1, j->entries, (size_t)k * sizeof *j->entries);
            j->entries[0] = e;
        }
        return e;
    }
    return NULL;
}

/* ---- call ---- */

static PyObject *results_of(cx_state *st, const entry *e, size_t n, cbx_array **out)
{
    PyObject *list, *r;

    if (e->one) return cx_array_new(st, out[0]);
    list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *a = list ? cx_array_new(st, out[i]) : NULL;
        if (!list) cbx_array_free(out[i]);
        if (list && (!a || PyList_SetItem(list, (Py_ssize_t)i, a) < 0)) Py_CLEAR(list);
    }
    r = list ? cx_tree_build(st, e->structure, list) : NULL;
    Py_XDECREF(list);
    return r;
}

/* The results of an entry's function; out of calls that are long or have many results the plan makes calls that Ctrl-C interrupts. */
static PyObject *run(cx_state *st, entry *e, PyObject *const *args, size_t n)
{
    const cbx_fn *fn = ((cx_recorded *)e->recorded)->fn;
    cbx_array *in[FEW], *out[FEW], *made[FEW];
    size_t nmade = 0;
    cbx_status status;
    PyObject *r;
    cbx_err err;
    cbx_ctx *ctx;

    for (size_t i = 0; i < n; i++) {
        if (Py_TYPE(args[i]) == st->array_type) {
            in[i] = ((cx_array *)args[i])->handle;
        } else if ((in[i] = cx_number(st, args[i]))) {
            made[nmade++] = in[i];
        } else {
            while (nmade > 0) cbx_array_free(made[--nmade]);
            return NULL;
        }
    }
    ctx = cx_ctx_borrow(st);
    if (!ctx) return NULL;
    err.status = CBX_OK;
    err.message[0] = '\0';
    e->users++; /* an array that is freed may run code that clears the entries */
    status = cbx_fn_run(ctx, fn, n, in, fn->nout, out, &err);
    cx_ctx_return(st, ctx);
    while (nmade > 0) cbx_array_free(made[--nmade]);
    r = status ? cx_raise(status, err.message) : results_of(st, e, fn->nout, out);
    entry_free(e);
    return r;
}

/* Any call, by the plan: plan.call(jitted, args, keywords). */
static PyObject *run_plan(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    const size_t nkw = kwnames ? (size_t)PyTuple_Size(kwnames) : 0;
    PyObject *tuple = PyTuple_New(n), *kw = tuple ? PyDict_New() : NULL, *r = NULL;
    bool fine = kw != NULL;

    for (Py_ssize_t i = 0; fine && i < n; i++) fine = PyTuple_SetItem(tuple, i, Py_NewRef(args[i])) == 0;
    for (size_t i = 0; fine && i < nkw; i++)
        fine = PyDict_SetItem(kw, PyTuple_GetItem(kwnames, (Py_ssize_t)i), args[n + (Py_ssize_t)i]) == 0;
    if (fine) r = PyObject_CallMethod(((jitted *)self)->plan, "call", "OOO", self, tuple, kw);
    Py_XDECREF(tuple);
    Py_XDECREF(kw);
    return r;
}

static size_t elements_of(const cx_state *st, PyObject *const *args, Py_ssize_t n)
{
    size_t elements = 0;

    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_TYPE(args[i]) == st->array_type) elements += cbx_array_count(((cx_array *)args[i])->handle);
    return elements;
}

static PyObject *jitted_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t n = NARGS(nargsf);
    jitted *j = (jitted *)self;
    cx_state *st = cx_state_of_instance(self);
    entry *e = n <= FEW && (!kwnames || PyTuple_Size(kwnames) == 0) ? find(j, st, args, n) : NULL;

    /* Many elements: the plan's call lets other threads and Ctrl-C in. */
    if (e && elements_of(st, args, n) < CX_UNLOCK_ELEMENTS) return run(st, e, args, (size_t)n);
    return run_plan(self, args, n, kwnames);
}

static PyObject *jitted_call(PyObject *self, PyObject *args, PyObject *kw)
{
    PyObject *items[2 * FEW] = { NULL }, *names = NULL, *r = NULL;
    const Py_ssize_t n = PyTuple_Size(args), nkw = kw ? PyDict_Size(kw) : 0;

    if (n > FEW || nkw > FEW)
        return PyObject_CallMethod(((jitted *)self)->plan, "call", "OOO", self, args, kw ? kw : Py_None);
    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(args, i);
    if (nkw && !(names = PySequence_Tuple(kw))) return NULL;
    for (Py_ssize_t i = 0; i < nkw; i++) items[n + i] = PyDict_GetItem(kw, PyTuple_GetItem(names, i));
    r = jitted_vectorcall(self, items, (size_t)n, names);
    Py_XDECREF(names);
    return r;
}

/* ---- entries ---- */

/* _remember(args, recorded, structure): calls like this one no longer need the plan. */
static PyObject *jitted_remember(PyObject *self, PyObject *args)
{
    jitted *j = (jitted *)self;
    cx_state *st = cx_state_of_instance(self);
    PyObject *like, *recorded, *structure;
    entry *e;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &like, &recorded, &structure)) return NULL;
    n = PyTuple_Size(like);
    if (n > FEW || ((cx_recorded *)recorded)->fn->nout > FEW || ((cx_recorded *)recorded)->loops) Py_RETURN_NONE;
    e = PyMem_Calloc(1, sizeof *e);
    if (e) e->args = PyMem_Calloc((size_t)n + 1, sizeof *e->args);
    if (!e || !e->args) {
        PyMem_Free(e);
        return PyErr_NoMemory();
    }
    e->users = 1;
    e->backend = st->backend;
    e->nargs = n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(like, i);
        signature *s = &e->args[i];
        if (Py_TYPE(o) == st->array_type) {
            const cbx_array_desc *d = cbx_array_get_desc(((cx_array *)o)->handle);
            *s = (signature){ .number = ((cx_array *)o)->weak, .dtype = d->dtype, .ndim = d->ndim };
            memcpy(s->shape, d->shape, (size_t)d->ndim * sizeof *s->shape);
        } else if ((s->dtype = number_dtype(o)) != CBX_DTYPE_COUNT) {
            s->number = true;
        } else {
            entry_free(e);
            Py_RETURN_NONE;
        }
    }
    e->recorded = Py_NewRef(recorded);
    e->structure = Py_NewRef(structure);
    e->one = structure == Py_Ellipsis;
    if (j->count == MAX_ENTRIES) entry_free(j->entries[--j->count]);
    memmove(j->entries + 1, j->entries, (size_t)j->count * sizeof *j->entries);
    j->entries[0] = e;
    j->count++;
    Py_RETURN_NONE;
}

static void forget(jitted *j)
{
    while (j->count > 0) entry_free(j->entries[--j->count]);
}

static PyObject *do_clear_cache(cx_call *c)
{
    jitted *j = (jitted *)c->self;

    forget(j);
    return PyObject_CallMethod(j->plan, "clear", NULL);
}

static PyObject *do_dump(cx_call *c)
{
    PyObject *args = cx_rest_tuple(c), *r = NULL;

    if (args) r = cx_python("_transforms", "dump", "OO", ((jitted *)c->self)->fun, args);
    Py_XDECREF(args);
    return r;
}

/* ---- the type ---- */

static int jitted_traverse(PyObject *self, visitproc visit, void *arg)
{
    jitted *j = (jitted *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(j->fun);
    Py_VISIT(j->plan);
    Py_VISIT(j->dict);
    for (int i = 0; i < j->count; i++) Py_VISIT(j->entries[i]->structure);
    return 0;
}

static int jitted_clear(PyObject *self)
{
    jitted *j = (jitted *)self;

    Py_CLEAR(j->fun);
    Py_CLEAR(j->plan);
    Py_CLEAR(j->dict);
    forget(j);
    return 0;
}

static void jitted_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (((jitted *)self)->weakrefs) PyObject_ClearWeakRefs(self);
    jitted_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* As a function of a class: its first argument is the object. */
static PyObject *jitted_get(PyObject *self, PyObject *object, PyObject *type)
{
    PyObject *types, *method, *r;

    (void)type;
    if (!object || object == Py_None) return Py_NewRef(self);
    types = PyImport_ImportModule("types");
    method = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
    r = method ? PyObject_CallFunctionObjArgs(method, self, object, NULL) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(types);
    return r;
}

static PyObject *jitted_repr(PyObject *self) { return PyUnicode_FromFormat("<jit of %R>", ((jitted *)self)->fun); }

/* clang-format off */
#define METHODS(X) \
    X(clear_cache, "", "None", do_clear_cache, 0, "Forgets what was traced: the next call traces again.\n\n>>> f = cx.jit(lambda x: x + 1)\n>>> f.clear_cache()") \
    X(dump, "*args: Any", "str", do_dump, 0, "What the function does for such arguments, one line for each operation.\n\n>>> print(cx.jit(lambda x: x * x).dump(xp.ones(3)), end='')\n<lambda>(%0:float64 (3,))\n  %1:float64 (3,) = multiply %0 %0\n  return %1:float64 (3,)")
/* clang-format on */
METHODS(CX_OF_TYPE)
static PyMethodDef jitted_methods[] = { METHODS(CX_OF_TYPE_ROW){ "_remember", jitted_remember, METH_VARARGS, NULL },
                                        { 0 } };

static PyMemberDef jitted_members[] = {
    { "__vectorcalloffset__", T_PYSSIZET, offsetof(jitted, call), READONLY, NULL },
    { "__dictoffset__", T_PYSSIZET, offsetof(jitted, dict), READONLY, NULL },
    { "__weaklistoffset__", T_PYSSIZET, offsetof(jitted, weakrefs), READONLY, NULL },
    { 0 },
};
static PyGetSetDef jitted_getset[] = {
    { "__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL },
    { 0 },
};
static PyType_Slot jitted_slots[] = {
    { Py_tp_dealloc, jitted_dealloc },
    { Py_tp_traverse, jitted_traverse },
    { Py_tp_clear, jitted_clear },
    { Py_tp_call, jitted_call },
    { Py_tp_repr, jitted_repr },
    { Py_tp_descr_get, jitted_get },
    { Py_tp_methods, jitted_methods },
    { Py_tp_members, jitted_members },
    { Py_tp_getset, jitted_getset },
    { Py_tp_doc, "A compiled function; jit makes it." },
    { 0, NULL },
};
static PyType_Spec jitted_spec = {
    .name = "calibrax_c.Jitted",
    .basicsize = sizeof(jitted),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE |
             Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = jitted_slots,
};

bool cx_add_jit_type(cx_state *st, PyObject *module)
{
    st->jit_type = cx_type(st, &jitted_spec);
    return st->jit_type && PyModule_AddObjectRef(module, "Jitted", (PyObject *)st->jit_type) == 0;
}

PyObject *cx_jitted_new(cx_state *st, PyObject *fun, PyObject *plan)
{
    jitted *j = (jitted *)PyType_GenericAlloc(st->jit_type, 0);
    PyObject *dressed;

    if (!j) return NULL;
    j->call = jitted_vectorcall;
    j->fun = Py_NewRef(fun);
    j->plan = Py_NewRef(plan);
    dressed = cx_python("_transforms", "dress", "OO", j, fun);
    Py_XDECREF(dressed);
    if (!dressed) Py_CLEAR(j);
    return (PyObject *)j;
}
