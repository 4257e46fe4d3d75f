/*
 * Compiled functions: the object that jit returns.
 *
 * A call is looked up here: its arguments' structures, the kinds, dtypes and shapes of their
 * leaves, its static values; and goes to the library without a Python frame.  The first call of its
 * kind, and one with nodes of classes other than Python's own, goes to `_compiled.JitPlan`, which
 * adds what it recorded to the entries here.
 */
#include <stddef.h>
#include <string.h>

#include "python/transforms.h"

#include <structmember.h>

/* Of the stable ABI from 3.12 on; the protocol and its numbers are those of PEP 590, which
 * 3.11 has. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
typedef PyObject *(*cx_vectorcall)(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
#define NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))

enum { MAX_PARTS = 32, MAX_LEAVES = 64, MAX_ENTRIES = 64 };

/* What a leaf must be. */
typedef struct signature {
    bool number; /* of Python: of the kind of dtype */
    cbx_dtype dtype;
    int ndim;
    size_t shape[CBX_MAX_RANK];
} signature;

/* An argument: the structure of its tree; or, of a static one, its value. */
typedef struct part {
    PyObject *name; /* NULL: by position */
    PyObject *structure, *value;
} part;

typedef struct entry {
    int users;
    const cbx_backend *backend; /* that was selected; NULL: none */
    Py_ssize_t nargs, nparts;   /* by position; in all, keywords in the order of their names */
    size_t nleaves;
    part *parts;
    signature *leaves;
    PyObject *recorded, *structure;
    bool one; /* one result, which is the only leaf */
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
    for (Py_ssize_t i = 0; e->parts && i < e->nparts; i++) {
        Py_XDECREF(e->parts[i].name);
        Py_XDECREF(e->parts[i].structure);
        Py_XDECREF(e->parts[i].value);
    }
    Py_XDECREF(e->recorded);
    Py_XDECREF(e->structure);
    PyMem_Free(e->parts);
    PyMem_Free(e->leaves);
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

typedef struct match {
    const cx_state *st;
    const entry *e;
    size_t n;
    PyObject *leaves[MAX_LEAVES]; /* borrowed */
} match;

/* Whether a tree has a structure, and leaves like those of the entry, which are collected.  Of
 * other classes the plan knows more. */
static bool fits(match *m, PyObject *s, PyObject *o)
{
    PyObject *type;
    Py_ssize_t n;
    bool same;

    if (s == Py_Ellipsis) {
        if (m->n == m->e->nleaves || !is_like(m->st, &m->e->leaves[m->n], o)) return false;
        m->leaves[m->n++] = o;
        return true;
    }
    if (s == Py_None) return o == Py_None;
    type = PyTuple_GetItem(s, 0);
    n = PyTuple_Size(s) - 2;
    if ((PyObject *)Py_TYPE(o) != type) return false;
    if (PyDict_CheckExact(o)) {
        PyObject *keys = PyTuple_GetItem(s, 1);
        same = PyDict_Size(o) == n;
        for (Py_ssize_t i = 0; same && i < n; i++) {
            PyObject *v = PyDict_GetItemWithError(o, PyTuple_GetItem(keys, i));
            same = v && fits(m, PyTuple_GetItem(s, i + 2), v);
        }
        PyErr_Clear();
    } else if (PyList_CheckExact(o)) {
        same = PyList_Size(o) == n;
        for (Py_ssize_t i = 0; same && i < n; i++) same = fits(m, PyTuple_GetItem(s, i + 2), PyList_GetItem(o, i));
    } else {
        same = PyTuple_Check(o) && PyTuple_Size(o) == n &&
               (PyTuple_CheckExact(o) || PyDict_Contains(m->st->nodes, type) == 0);
        for (Py_ssize_t i = 0; same && i < n; i++) same = fits(m, PyTuple_GetItem(s, i + 2), PyTuple_GetItem(o, i));
    }
    return same;
}

/* Static values are equal and of one type; their comparison may run any code. */
static bool is_value(PyObject *wanted, PyObject *o)
{
    int same;

    if (wanted == o) return true;
    if (Py_TYPE(wanted) != Py_TYPE(o)) return false;
    same = PyObject_RichCompareBool(wanted, o, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same > 0;
}

/* The argument of a name among those that follow the positional ones; NULL: none. */
static PyObject *keyword(PyObject *name, PyObject *const *args, PyObject *kwnames)
{
    const Py_ssize_t n = PyTuple_Size(kwnames);

    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GetItem(kwnames, i) == name) return args[i];
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(kwnames, i), name) == 0) return args[i];
    return NULL;
}

static bool takes(match *m, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, Py_ssize_t nkw)
{
    const entry *e = m->e;

    if (e->nargs != nargs || e->nparts != nargs + nkw || e->backend != m->st->backend) return false;
    m->n = 0;
    for (Py_ssize_t i = 0; i < e->nparts; i++) {
        const part *p = &e->parts[i];
        PyObject *o = i < nargs ? args[i] : keyword(p->name, args + nargs, kwnames);
        if (!o || !(p->structure ? fits(m, p->structure, o) : is_value(p->value, o))) return false;
    }
    return true;
}

/* An entry that takes the call, which is the caller's to free; NULL: none. */
static entry *find(jitted *j, match *m, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    const Py_ssize_t nkw = kwnames ? PyTuple_Size(kwnames) : 0;

    for (int k = 0; k < j->count; k++) {
        entry *e = j->entries[k];
        e->users++; /* a comparison may clear the entries */
        m->e = e;
        if (takes(m, args, n, kwnames, nkw)) {
            if (k > 0 && k < j->count && j->entries[k] == e) {
                memmove(j->entries + 1, j->entries, (size_t)k * sizeof *j->entries);
                j->entries[0] = e;
            }
            return e;
        }
        entry_free(e);
    }
    return NULL;
}

/* ---- call ---- */

static PyObject *results_of(cx_state *st, const entry *e, size_t n, cbx_array **out)
{
    if (e->one) return cx_array_new(st, out[0]);
    CX_OWN PyObject *list = cx_arrays_object(st, n, out, false);
    return list ? cx_tree_build(st, e->structure, list) : NULL;
}

/* The results of an entry's function.  unlock: other threads run meanwhile, which may assign to the
 * arrays: they are held. */
static PyObject *run_leaves(cx_state *st, const match *m, bool unlock, PyObject *const *fresh)
{
    const cbx_fn *fn = ((cx_recorded *)m->e->recorded)->fn;
    cbx_array *in[MAX_LEAVES], *out[MAX_LEAVES], *made[MAX_LEAVES];
    PyThreadState *thread;
    size_t nmade = 0, read = 0;
    cbx_status status;
    cbx_err err;
    cbx_ctx *ctx;

    for (; read < m->n; read++) {
        PyObject *leaf = m->leaves[read];
        if (Py_TYPE(leaf) == st->array_type) {
            in[read] = ((cx_array *)leaf)->handle;
            if (unlock && !(fresh && fresh[read])) made[nmade++] = cbx_array_ref(in[read]);
        } else if ((in[read] = cx_number(st, leaf))) {
            made[nmade++] = in[read];
        } else {
            break;
        }
    }
    ctx = read == m->n ? cx_ctx_borrow(st) : NULL;
    if (!ctx) {
        while (nmade > 0) cbx_array_free(made[--nmade]);
        return NULL;
    }
    err.status = CBX_OK;
    err.message[0] = '\0';
    thread = unlock ? PyEval_SaveThread() : NULL;
    status = cbx_fn_run(ctx, fn, m->n, in, fn->nout, out, &err);
    if (thread) PyEval_RestoreThread(thread);
    cx_ctx_return(st, ctx);
    while (nmade > 0) cbx_array_free(made[--nmade]);
    return status ? cx_raise(status, err.message) : results_of(st, m->e, fn->nout, out);
}

static PyObject *run(cx_state *st, match *m, bool unlock)
{
    const cx_recorded *f = (cx_recorded *)m->e->recorded;
    PyObject *fresh[MAX_LEAVES], *r = NULL;

    if (!f->donated) return run_leaves(st, m, unlock, NULL);
    if (cx_donate(st, f, m->n, m->leaves, fresh)) r = run_leaves(st, m, unlock, fresh);
    for (size_t i = 0; i < m->n; i++) Py_XDECREF(fresh[i]);
    return r;
}

/* Any call, by the plan: plan.call(jitted, args, keywords). */
static PyObject *run_plan(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)
{
    const Py_ssize_t nkw = kwnames ? PyTuple_Size(kwnames) : 0;
    CX_OWN PyObject *tuple = CX_TUPLE(n, Py_NewRef(args[i])), *kw = PyDict_New();

    for (Py_ssize_t i = 0; kw && i < nkw; i++)
        if (PyDict_SetItem(kw, PyTuple_GetItem(kwnames, i), args[n + i]) < 0) return NULL;
    return tuple && kw ? PyObject_CallMethod(((jitted *)self)->plan, "call", "OOO", self, tuple, kw) : NULL;
}

static PyObject *jitted_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const Py_ssize_t n = NARGS(nargsf);
    jitted *j = (jitted *)self;
    cx_state *st = cx_state_of_instance(self);
    match m;
    entry *e;
    size_t elements = 0;
    PyObject *r;

    m.st = st;
    e = find(j, &m, args, n, kwnames);
    for (size_t i = 0; e && i < m.n; i++)
        if (Py_TYPE(m.leaves[i]) == st->array_type) elements += cbx_array_count(((cx_array *)m.leaves[i])->handle);
    r = e ? run(st, &m, elements >= CX_UNLOCK_ELEMENTS || ((cx_recorded *)e->recorded)->unlocks)
          : run_plan(self, args, n, kwnames);
    if (e) entry_free(e);
    return r;
}

static PyObject *jitted_call(PyObject *self, PyObject *args, PyObject *kw)
{
    CX_OWN PyObject *names = NULL;
    PyObject *items[2 * MAX_PARTS] = { NULL };
    const Py_ssize_t n = PyTuple_Size(args), nkw = kw ? PyDict_Size(kw) : 0;

    if (n > MAX_PARTS || nkw > MAX_PARTS)
        return PyObject_CallMethod(((jitted *)self)->plan, "call", "OOO", self, args, kw ? kw : Py_None);
    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(args, i);
    if (nkw && !(names = PySequence_Tuple(kw))) return NULL;
    for (Py_ssize_t i = 0; i < nkw; i++) items[n + i] = PyDict_GetItem(kw, PyTuple_GetItem(names, i));
    return jitted_vectorcall(self, items, (size_t)n, names);
}

/* ---- entries ---- */

static bool sign(const cx_state *st, PyObject *o, signature *s)
{
    if (Py_TYPE(o) == st->array_type) {
        const cbx_array_desc *d = cbx_array_get_desc(((cx_array *)o)->handle);
        *s = (signature){ .number = ((cx_array *)o)->weak, .dtype = d->dtype, .ndim = d->ndim };
        memcpy(s->shape, d->shape, (size_t)d->ndim * sizeof *s->shape);
        return true;
    }
    s->dtype = number_dtype(o);
    s->number = true;
    return s->dtype != CBX_DTYPE_COUNT;
}

/* One argument: its value is kept if it is static, else its structure, and its leaves added to
 * the list. */
static bool add_part(cx_state *st, entry *e, PyObject *name, PyObject *o, int is_static, PyObject *leaves)
{
    part *p = &e->parts[e->nparts++];

    p->name = Py_XNewRef(name);
    if (is_static > 0)
        p->value = Py_NewRef(o);
    else if (is_static == 0)
        p->structure = cx_tree_flatten(st, o, NULL, leaves);
    return p->structure || p->value;
}

static void end_entry(entry **e)
{
    if (*e) entry_free(*e);
}

/* The entry of calls like one; NULL with an exception, or without if the plan is to make them. */
static entry *make_entry(cx_state *st, PyObject *args, PyObject *kw, PyObject *is_static)
{
    const Py_ssize_t n = PyTuple_Size(args), nkw = PyDict_Size(kw);
    CX_OWN PyObject *names = PyDict_Keys(kw), *leaves = PyList_New(0);
    CX_ENDED_BY(end_entry) entry *e = PyMem_Calloc(1, sizeof *e);
    entry *made = e;

    if (!e || !names || !leaves || PyList_Sort(names) < 0) return NULL;
    e->users = 1;
    if (!(e->parts = PyMem_Calloc((size_t)(n + nkw) + 1, sizeof *e->parts))) return NULL;
    for (Py_ssize_t i = 0; i < n + nkw; i++) {
        PyObject *name = i < n ? NULL : PyList_GetItem(names, i - n);
        CX_OWN PyObject *at = name ? Py_NewRef(name) : PyLong_FromSsize_t(i);
        if (!at || !add_part(st, e, name, name ? PyDict_GetItem(kw, name) : PyTuple_GetItem(args, i),
                             PySet_Contains(is_static, at), leaves))
            return NULL;
    }
    e->nargs = n;
    e->nleaves = (size_t)PyList_Size(leaves);
    if (!(e->leaves = PyMem_Calloc(e->nleaves + 1, sizeof *e->leaves))) return NULL;
    for (size_t i = 0; i < e->nleaves; i++)
        if (!sign(st, PyList_GetItem(leaves, (Py_ssize_t)i), &e->leaves[i])) return NULL;
    if (e->nparts > MAX_PARTS || e->nleaves > MAX_LEAVES) return NULL;
    e = NULL;
    return made;
}

/* _remember(args, keywords, static, recorded, structure): calls like this one no longer need the
 * plan; static: a set of positions, names */
static PyObject *jitted_remember(PyObject *self, PyObject *arguments)
{
    jitted *j = (jitted *)self;
    cx_state *st = cx_state_of_instance(self);
    PyObject *args, *kw, *is_static, *recorded, *structure;
    entry *e;

    if (!PyArg_ParseTuple(arguments, "O!O!OOO", &PyTuple_Type, &args, &PyDict_Type, &kw, &is_static, &recorded,
                          &structure))
        return NULL;
    if (((cx_recorded *)recorded)->fn->nout > MAX_LEAVES || ((cx_recorded *)recorded)->loops) Py_RETURN_NONE;
    if (!(e = make_entry(st, args, kw, is_static))) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    e->backend = st->backend;
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

CX_VALUE(do_clear_cache, (jitted *j = (jitted *)c->self), (forget(j), PyObject_CallMethod(j->plan, "clear", NULL)))

CX_RETURN(do_cost, (PyObject *args = cx_rest_tuple(c)), args != NULL,
          PyObject_CallMethod(((jitted *)c->self)->plan, "cost", "NO", args, cx_arg(c, "kwargs")))

CX_RETURN(do_dump, (PyObject *args = cx_rest_tuple(c), *stage = cx_arg(c, "stage")), args != NULL,
          cx_python("_compiled", "dump", stage ? "ONOO" : "ONO", c->self, args, cx_arg(c, "kwargs"), stage))

/* ---- the type ---- */

static int jitted_traverse(PyObject *self, visitproc visit, void *arg)
{
    jitted *j = (jitted *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(j->fun);
    Py_VISIT(j->plan);
    Py_VISIT(j->dict);
    for (int i = 0; i < j->count; i++) {
        Py_VISIT(j->entries[i]->structure);
        for (Py_ssize_t k = 0; k < j->entries[i]->nparts; k++) {
            Py_VISIT(j->entries[i]->parts[k].structure);
            Py_VISIT(j->entries[i]->parts[k].value);
        }
    }
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
    (void)type;
    if (!object || object == Py_None) return Py_NewRef(self);
    CX_OWN PyObject *types = PyImport_ImportModule("types");
    return types ? PyObject_CallMethod(types, "MethodType", "OO", self, object) : NULL;
}

static PyObject *jitted_repr(PyObject *self) { return PyUnicode_FromFormat("<jit of %R>", ((jitted *)self)->fun); }

/* clang-format off */
#define METHODS(X) \
    X(clear_cache, "", "None", do_clear_cache, 0, "Forgets what was traced: the next call traces again.\n\n>>> f = cx.jit(lambda x: x + 1)\n>>> f.clear_cache()") \
    X(cost, "*args: Any, **kwargs: Any", "dict[str, Any]", do_cost, 0, "What the compiled function does for such arguments, as cost_compile counts it; no call is made, and later calls use what was compiled.\n\n>>> f = cx.jit(lambda x: xp.sum(xp.exp(x)))\n>>> c = f.cost(xp.ones(1000))\n>>> c['total']['transcendental'], c['total']['bytes_read'], c['unfused']['bytes_read']\n(1000, 8000, 16000)") \
    X(dump, "*args: Any, stage: 'graph' | 'fused' | 'kernels' | 'c' | 'llvm' | 'assembly' | 'simplified' | 'ptx' = 'graph', **kwargs: Any", "str", do_dump, 0, "What the function does for such arguments, one line for each operation.\n\n>>> print(cx.jit(lambda x: x * x).dump(xp.ones(3)), end='')\n<lambda>(%0:float64 (3,))\n  %1:float64 (3,) = multiply %0 %0\n  return %1:float64 (3,)")
/* clang-format on */
METHODS(CX_OF_TYPE)
static PyMethodDef jitted_methods[] = { METHODS(CX_OF_TYPE_ROW){ "_remember", jitted_remember, METH_VARARGS, NULL },
                                        { 0 } };

static PyMemberDef jitted_members[] = {
    { "_plan", T_OBJECT, offsetof(jitted, plan), READONLY, NULL },
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
    CX_OWN PyObject *new = PyType_GenericAlloc(st->jit_type, 0);
    jitted *j = (jitted *)new;

    if (!j) return NULL;
    j->call = jitted_vectorcall;
    j->fun = Py_NewRef(fun);
    j->plan = Py_NewRef(plan);
    return cx_python("_tracing", "dress", "OO", new, fun);
}
