/*
 * Recorded functions as objects, their transforms, and control flow over them: what the Python files of the package build on, in the
 * private namespace _recording.
 */
#include <string.h>

#include "calibrax/array/doctor.h"
#include "python/transforms.h"

/* ---- recorded functions as objects ---- */

PyObject *cx_recorded_new(cx_state *st, cbx_fn *fn, bool captures, bool loops)
{
    cx_recorded *r = PyObject_New(cx_recorded, st->recorded_type);

    if (!r) {
        cbx_fn_free(fn);
        return NULL;
    }
    r->fn = fn;
    r->captures = captures;
    r->loops = loops;
    r->unlocks = r->fresh = r->jitted = false;
    r->donated = NULL;
    return (PyObject *)r;
}

static void recorded_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    cbx_fn_free(((cx_recorded *)self)->fn);
    PyMem_Free(((cx_recorded *)self)->donated);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- calls of recorded functions ---- */

/* The elements of leaf i as a new Array; NULL without an exception: it keeps them. */
static PyObject *take(cx_state *st, cbx_ctx *ctx, size_t n, PyObject *const *leaves, size_t i)
{
    cbx_array *taken = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;

    if (!cx_is_array(st, leaves[i])) return NULL;
    for (size_t k = 0; k < n; k++)
        if (k != i && leaves[k] == leaves[i]) return NULL;
    status = cbx_array_take(ctx, ((cx_array *)leaves[i])->handle, &taken, &err);
    if (status == CBX_EINVAL) return NULL; /* another array sees them, too */
    return status ? cx_raise(status, err.message) : cx_array_new(st, taken);
}

bool cx_donate(cx_state *st, const cx_recorded *r, size_t n, PyObject **leaves, PyObject **fresh)
{
    cbx_ctx *ctx = cx_ctx_borrow(st);

    for (size_t i = 0; i < n; i++) {
        fresh[i] = ctx && r->donated[i] && !PyErr_Occurred() ? take(st, ctx, n, leaves, i) : NULL;
        if (fresh[i]) leaves[i] = fresh[i];
    }
    if (ctx) cx_ctx_return(st, ctx);
    return !PyErr_Occurred();
}

/* The call lets go of operands whose elements the function takes, of new Arrays that only it has: their references are the only ones. */
static void let_go(cx_call *c, const bool *donated, const cx_arrays *arrays)
{
    for (size_t i = 0; i < arrays->n; i++)
        for (size_t k = 0; donated[i] && Py_REFCNT(c->rest[i]) == 1 && k < c->nheld; k++) {
            if (c->held[k] != arrays->list[i]) continue;
            cbx_array_free(c->held[k]);
            c->held[k] = NULL;
        }
}

static PyObject *do_run(cx_call *c)
{
    const cx_recorded *self = (cx_recorded *)c->self;
    cx_arrays arrays;
    cbx_array **out;

    if (!CX_GET(c, arrays)) return NULL;
    c->name = self->fn->name;
    c->function = NULL; /* failures come with the library's sentence */
    out = cx_alloc(c, self->fn->nout, sizeof *out);
    if (!out) return NULL;
    if (self->donated) let_go(c, self->donated, &arrays);
    cx_note_loops(self->loops);
    if (!(self->loops || self->unlocks || self->fresh ? cx_begin_long(c) : cx_begin(c))) return NULL;
    cbx_fn_call(c->ctx, self->fn, arrays.n, (cbx_array *const *)(uintptr_t)arrays.list, self->fn->nout, out);
    return cx_results(c, self->fn->nout, out, false);
}

static PyObject *recorded_call(PyObject *self, PyObject *args, PyObject *kw)
{
    static cx_function quick = { "call", "*arrays: Operand", "list", do_run, 0, CX_HEAVY, NULL, 0, -1 };
    static cx_function slow = { "call", "*arrays: Operand", "list", do_run, 0, CX_WAITS, NULL, 0, -1 };
    cx_recorded *r = (cx_recorded *)self;
    const Py_ssize_t n = PyTuple_Size(args);
    PyObject **items = PyMem_Calloc(2 * (size_t)n + 1, sizeof(PyObject *)), **fresh = items + n, *result = NULL;
    cx_state *st = cx_state_of_instance(self);

    (void)kw;
    if (!items) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(args, i);
    if (!r->donated || cx_donate(st, r, (size_t)n, items, fresh))
        result = cx_invoke(st, r->loops || r->fresh ? &slow : &quick, self, items, n, NULL);
    if (result && !cx_traced_ctx(st)) r->fresh = false;
    for (Py_ssize_t i = 0; i < n; i++) Py_XDECREF(fresh[i]);
    PyMem_Free(items);
    return result;
}

/* ---- transforms of recorded functions ---- */

static bool read_argnums(PyObject *o, size_t *n, size_t **out)
{
    *n = 0;
    *out = NULL;
    if (o == Py_None) return true;
    *n = (size_t)PyTuple_Size(o);
    *out = PyMem_Calloc(*n + 1, sizeof **out);
    if (!*out) return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < *n; i++) (*out)[i] = PyLong_AsSize_t(PyTuple_GetItem(o, (Py_ssize_t)i));
    return !PyErr_Occurred();
}

/* What a transform makes of self, made in a context of this thread. */
static PyObject *transformed(PyObject *self, cbx_status status, const cbx_err *err, cbx_fn *made)
{
    const cx_recorded *r = (cx_recorded *)self;
    if (status) return cx_raise(status, err->message);
    return cx_recorded_new(cx_state_of_instance(self), made, r->captures, r->loops);
}

/* derive(what, argnums): operands from 0, a tuple; None: the library's default; of Jacobians a tuple of one */
static PyObject *recorded_derive(PyObject *self, PyObject *args)
{
    typedef cbx_status (*of_several)(cbx_ctx *, const cbx_fn *, size_t, const size_t *, cbx_fn **, cbx_err *);
    typedef cbx_status (*of_one)(cbx_ctx *, const cbx_fn *, size_t, cbx_fn **, cbx_err *);
    static const struct {
        const char *name;
        of_several several;
        of_one one;
    } kinds[] = { { "grad", cbx_grad, NULL },     { "value_and_grad", cbx_value_and_grad, NULL },
                  { "jvp", cbx_jvp, NULL },       { "vjp", cbx_vjp, NULL },
                  { "jacfwd", NULL, cbx_jacfwd }, { "jacrev", NULL, cbx_jacrev } };
    cx_state *st = cx_state_of_instance(self);
    const cbx_fn *f = ((cx_recorded *)self)->fn;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_EINVAL;
    cbx_fn *made = NULL;
    PyObject *argnums;
    const char *what;
    size_t n, *list;
    cbx_ctx *ctx;

    if (!PyArg_ParseTuple(args, "sO", &what, &argnums) || !read_argnums(argnums, &n, &list)) return NULL;
    ctx = cx_ctx_borrow(st);
    for (size_t i = 0; ctx && i < CBX_LEN(kinds); i++) {
        if (strcmp(what, kinds[i].name) != 0) continue;
        status = kinds[i].several ? kinds[i].several(ctx, f, n, list, &made, &err)
                                  : kinds[i].one(ctx, f, list[0], &made, &err);
    }
    PyMem_Free(list);
    if (!ctx) return NULL;
    cx_ctx_return(st, ctx);
    return transformed(self, status, &err, made);
}

/* vmap(in_axes, out_axes): tuples of axes and None */
static PyObject *recorded_vmap(PyObject *self, PyObject *args)
{
    cx_state *st = cx_state_of_instance(self);
    const cbx_fn *f = ((cx_recorded *)self)->fn;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_OK;
    cbx_fn *made = NULL;
    PyObject *in, *out;
    cbx_ctx *ctx;
    int *axes;

    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &in, &PyTuple_Type, &out)) return NULL;
    axes = PyMem_Calloc(f->nin + f->nout + 1, sizeof *axes);
    if (!axes) return PyErr_NoMemory();
    for (size_t i = 0; i < f->nin + f->nout; i++) {
        PyObject *axis = i < f->nin ? PyTuple_GetItem(in, (Py_ssize_t)i)
                                    : PyTuple_GetItem(out, (Py_ssize_t)(i - f->nin));
        axes[i] = !axis || axis == Py_None ? CBX_NOT_MAPPED : (int)PyLong_AsLong(axis);
    }
    ctx = PyErr_Occurred() ? NULL : cx_ctx_borrow(st);
    if (ctx) status = cbx_vmap(ctx, f, axes, axes + f->nin, &made, &err);
    PyMem_Free(axes);
    if (!ctx) return NULL;
    cx_ctx_return(st, ctx);
    return transformed(self, status, &err, made);
}

static const cbx_fn *fn_of(cx_call *c, PyObject *o)
{
    if (o && Py_TYPE(o) == c->st->recorded_type) return ((cx_recorded *)o)->fn;
    return (void *)PyErr_Format(PyExc_TypeError, "%s: a recorded function is needed, got %R", c->name, o ? o : Py_None);
}

/* custom_jvp(fun, rule), custom_vjp(fun, fwd, bwd): the function with derivatives by other recorded functions */
static PyObject *do_custom(cx_call *c)
{
    const bool vjp = c->function->nparameters == 3;
    PyObject *of[3] = { c->arg[0], c->arg[1], vjp ? c->arg[2] : c->arg[1] };
    bool captures = false, loops = false;
    const cbx_fn *fn[3];
    cbx_fn *made = NULL;
    cbx_status status;
    cbx_ctx *ctx;

    for (int i = 0; i < 3; i++) {
        if (!(fn[i] = fn_of(c, of[i]))) return NULL;
        captures |= ((cx_recorded *)of[i])->captures;
        loops |= ((cx_recorded *)of[i])->loops;
    }
    ctx = cx_ctx_borrow(c->st);
    if (!ctx) return NULL;
    status = vjp ? cbx_custom_vjp(ctx, fn[0], fn[1], fn[2], &made, &c->err)
                 : cbx_custom_jvp(ctx, fn[0], fn[1], &made, &c->err);
    cx_ctx_return(c->st, ctx);
    return status ? cx_raise(status, c->err.message) : cx_recorded_new(c->st, made, captures, loops);
}

CX_RETURN(do_stop_gradient, (const cbx_array *x), CX_GET(c, x) && cx_begin(c),
          cx_weak_result(c, cbx_stop_gradient(c->ctx, x)))

static PyObject *recorded_checkpoint(PyObject *self, PyObject *unused)
{
    cx_state *st = cx_state_of_instance(self);
    cbx_ctx *ctx = cx_ctx_borrow(st);
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *made = NULL;
    cbx_status status;

    (void)unused;
    if (!ctx) return NULL;
    status = cbx_checkpoint(ctx, ((cx_recorded *)self)->fn, &made, &err);
    cx_ctx_return(st, ctx);
    return transformed(self, status, &err, made);
}

/* Descriptions of operands like these; NULL with an exception. */
cbx_array_desc *cx_recorded_descriptions(PyObject *self, PyObject *like)
{
    const size_t n = ((cx_recorded *)self)->fn->nin;
    cbx_array_desc *d = PyMem_Calloc(n + 1, sizeof *d);
    bool weak, fine = d != NULL;

    for (size_t i = 0; fine && i < n; i++)
        fine = cx_describe(cx_state_of_instance(self), PyList_GetItem(like, (Py_ssize_t)i), NULL, &d[i], &weak);
    if (fine) return d;
    PyMem_Free(d);
    return PyErr_Occurred() ? NULL : (cbx_array_desc *)PyErr_NoMemory();
}

static bool count_work(PyObject *self, PyObject *like, cbx_cost_report *out)
{
    cx_state *st = cx_state_of_instance(self);
    cbx_array_desc *d = cx_recorded_descriptions(self, like);
    cbx_ctx *ctx = d ? cx_ctx_borrow(st) : NULL;
    cbx_err err = CBX_ERR_INIT;

    if (ctx) {
        const cbx_fn *f = ((cx_recorded *)self)->fn;
        if (cbx_cost_count(ctx, f, f->nin, d, out, &err)) cx_raise(err.status, err.message);
        cx_ctx_return(st, ctx);
    }
    PyMem_Free(d);
    return !PyErr_Occurred();
}

/* cost(like): its work, a dict */
static PyObject *recorded_cost(PyObject *self, PyObject *like)
{
    cbx_cost_report *r = PyMem_Calloc(1, sizeof *r);
    PyObject *out = NULL;

    if (!r) return PyErr_NoMemory();
    if (count_work(self, like, r))
        out = Py_BuildValue(
            "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "flop", (unsigned long long)r->total.flop, "int_op",
            (unsigned long long)r->total.int_op, "transcendental", (unsigned long long)r->total.transcendental,
            "bytes_read", (unsigned long long)r->total.bytes_read, "bytes_written",
            (unsigned long long)r->total.bytes_written, "in_bytes", (unsigned long long)r->in_bytes, "out_bytes",
            (unsigned long long)r->out_bytes, "operations", (unsigned long long)r->total.calls);
    PyMem_Free(r);
    return out;
}

/* From so much work on a call lets other threads run, and waits for Ctrl-C, which costs 24 us: about 10 us, and 1 ms. */
enum { UNLOCK_WORK = 1 << 15, WAIT_WORK = 1 << 22 };

/* jit(like, donated): compiled, for operands like these; donated: a tuple of those that calls take */
static PyObject *recorded_jit(PyObject *self, PyObject *args)
{
    cx_state *st = cx_state_of_instance(self);
    const cbx_fn *fn = ((cx_recorded *)self)->fn;
    cbx_cost_report *r = PyMem_Calloc(1, sizeof *r);
    bool *donated = PyMem_Calloc(fn->nin + 1, sizeof *donated);
    size_t n = 0, *argnums = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *made = NULL;
    PyObject *like, *numbers, *o = NULL;
    cbx_ctx *ctx;

    if (!r || !donated) PyErr_NoMemory();
    if (r && donated && PyArg_ParseTuple(args, "O!O", &PyList_Type, &like, &numbers) &&
        read_argnums(numbers, &n, &argnums) && count_work(self, like, r) && (ctx = cx_ctx_borrow(st))) {
        const cbx_cost *c = &r->total;
        const double work = (double)c->flop + (double)c->int_op + 8.0 * (double)c->transcendental +
                            0.125 * ((double)c->bytes_read + (double)c->bytes_written);
        const cbx_status status = cbx_jit_donate(ctx, fn, n, argnums, &made, &err);
        cx_ctx_return(st, ctx);
        o = transformed(self, status, &err, made);
        if (o) {
            ((cx_recorded *)o)->unlocks = work >= UNLOCK_WORK;
            ((cx_recorded *)o)->loops |= work >= WAIT_WORK;
            ((cx_recorded *)o)->jitted = ((cx_recorded *)o)->fresh = true;
            for (size_t i = 0; i < n; i++) donated[argnums[i]] = true;
            if (n > 0) ((cx_recorded *)o)->donated = donated;
            if (n > 0) donated = NULL;
        }
    }
    PyMem_Free(argnums);
    PyMem_Free(donated);
    PyMem_Free(r);
    return o;
}

/* linearize(*arrays): (results, the linear map) */
static PyObject *do_linearize(cx_call *c)
{
    const cx_recorded *self = (cx_recorded *)c->self;
    PyObject *results, *map;
    cbx_array **out;
    cbx_fn *made = NULL;
    cx_arrays arrays;
    cbx_status status;

    if (!CX_GET(c, arrays)) return NULL;
    c->function = NULL;
    out = cx_alloc(c, self->fn->nout, sizeof *out);
    if (!out || !cx_begin(c)) return NULL;
    status = cbx_linearize(c->ctx, self->fn, (cbx_array *const *)(uintptr_t)arrays.list, out, &made, &c->err);
    if (!cx_fine(c, status)) return NULL;
    for (size_t i = 0; i < self->fn->nout; i++) cbx_scope_hold(c->ctx, out[i]);
    results = cx_results(c, self->fn->nout, out, false);
    map = cx_recorded_new(c->st, made, true, self->loops);
    if (results && map) return Py_BuildValue("(NN)", results, map);
    Py_XDECREF(results);
    Py_XDECREF(map);
    return NULL;
}

static PyObject *recorded_linearize(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    static cx_function f = { "linearize", "*arrays: Operand", "tuple", do_linearize, 0, CX_HEAVY, NULL, 0, -1 };
    return cx_invoke(cx_state_of_instance(self), &f, self, args, n, NULL);
}

static PyMethodDef recorded_methods[] = {
    { "derive", recorded_derive, METH_VARARGS, NULL },
    { "vmap", recorded_vmap, METH_VARARGS, NULL },
    { "jit", recorded_jit, METH_VARARGS, NULL },
    { "cost", recorded_cost, METH_O, NULL },
    { "cost_compile", (PyCFunction)(void (*)(void))cx_recorded_cost_compile, METH_FASTCALL, NULL },
    { "aot_write", cx_recorded_aot_write, METH_VARARGS, NULL },
    { "checkpoint", recorded_checkpoint, METH_NOARGS, NULL },
    { "linearize", (PyCFunction)(void (*)(void))recorded_linearize, METH_FASTCALL, NULL },
    { "dump", (PyCFunction)(void (*)(void))cx_recorded_dump, METH_FASTCALL, NULL },
    { 0 },
};
#define MEMBERS(X)                                                                                                     \
    X(captures, "bool: whether it ends with an enclosing recording", PyBool_FromLong(((cx_recorded *)self)->captures))
CX_GETTERS(recorded_members, MEMBERS)

static PyType_Slot recorded_slots[] = {
    { Py_tp_dealloc, recorded_dealloc },
    { Py_tp_call, recorded_call },
    { Py_tp_methods, recorded_methods },
    { Py_tp_getset, recorded_members },
    { Py_tp_doc, "A function of arrays that was recorded." },
    { 0, NULL },
};
static PyType_Spec recorded_spec = {
    .name = "calibrax_c._core.Recorded",
    .basicsize = sizeof(cx_recorded),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = recorded_slots,
};

bool cx_add_recorded_type(cx_state *st)
{
    st->recorded_type = (PyTypeObject *)PyType_FromModuleAndSpec(st->core, &recorded_spec, NULL);
    return st->recorded_type != NULL;
}

/* ---- control flow ---- */

enum { LONG_LOOP = 100000 }; /* steps from which on a call is one that Ctrl-C must interrupt */
#define HANDLES(a) ((cbx_array *const *)(uintptr_t)(a).list)

static PyObject *do_scan(cx_call *c)
{
    const cbx_fn *body = fn_of(c, cx_arg(c, "body"));
    cx_arrays init, xs;
    size_t length = CBX_LENGTH_OF_XS;
    cbx_array **out;
    bool reverse;
    int save_every; /* 0: everything is kept; -1: by the square root */

    if (!body || !CX_GET(c, init, xs, length, reverse, save_every)) return NULL;
    out = cx_alloc(c, body->nout, sizeof *out);
    cx_note_loops((xs.n ? cbx_array_dim(xs.list[0], 0) : length) >= LONG_LOOP);
    if (!out || !cx_begin_long(c)) return NULL;
    if (save_every)
        cbx_scan_checkpointed(c->ctx, body, init.n, HANDLES(init), xs.n, HANDLES(xs), length, reverse,
                              save_every < 0 ? CBX_SAVE_SQRT : (size_t)save_every, out);
    else
        cbx_scan(c->ctx, body, init.n, HANDLES(init), xs.n, HANDLES(xs), length, reverse, out);
    return cx_results(c, body->nout, out, false);
}

static PyObject *do_fori_loop(cx_call *c)
{
    const cbx_fn *body = fn_of(c, cx_arg(c, "body"));
    cx_arrays init;
    int64_t lower, upper;
    cbx_array **out;

    if (!body || !CX_GET(c, lower, upper, init)) return NULL;
    out = cx_alloc(c, body->nout, sizeof *out);
    cx_note_loops(upper > lower && (uint64_t)upper - (uint64_t)lower >= LONG_LOOP);
    if (!out || !cx_begin_long(c)) return NULL;
    cbx_fori_loop(c->ctx, lower, upper, body, init.n, HANDLES(init), out);
    return cx_results(c, body->nout, out, false);
}

static PyObject *do_while_loop(cx_call *c)
{
    const cbx_fn *test = fn_of(c, cx_arg(c, "test")), *body = test ? fn_of(c, cx_arg(c, "body")) : NULL;
    cx_arrays init;
    cbx_array **out;

    if (!body || !CX_GET(c, init)) return NULL;
    out = cx_alloc(c, body->nout, sizeof *out);
    cx_note_loops(true);
    if (!out || !cx_begin_long(c)) return NULL;
    cbx_while_loop(c->ctx, test, body, init.n, HANDLES(init), out);
    return cx_results(c, body->nout, out, false);
}

/* branches: a tuple of recorded functions; which: bool for two of them (no, yes), else an integer */
static PyObject *do_cond(cx_call *c)
{
    PyObject *branches = cx_arg(c, "branches");
    const size_t n = (size_t)PyTuple_Size(branches);
    const cbx_fn **list = cx_alloc(c, n, sizeof *list);
    const cbx_array *which;
    cx_arrays operands;
    cbx_array **out;
    bool truth;

    if (!list || !CX_GET(c, which, operands, truth)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(list[i] = fn_of(c, PyTuple_GetItem(branches, (Py_ssize_t)i)))) return NULL;
    out = cx_alloc(c, list[0]->nout, sizeof *out);
    if (!out || !cx_begin(c)) return NULL;
    if (truth)
        cbx_cond(c->ctx, which, list[1], list[0], operands.n, HANDLES(operands), out);
    else
        cbx_switch(c->ctx, which, n, list, operands.n, HANDLES(operands), out);
    return cx_results(c, list[0]->nout, out, false);
}

/* ---- what the Python files need besides ---- */

/* Leaves as operands: Arrays and numbers as they are, arrays of other packages as Arrays; NULL in their place: none of these. */
static PyObject *do_operands(cx_call *c)
{
    PyObject *leaves = cx_arg(c, "leaves"), *list = PyList_New(0);
    bool fine = list != NULL;

    for (Py_ssize_t i = 0; fine && i < PyList_Size(leaves); i++) {
        PyObject *o = PyList_GetItem(leaves, i);
        if (cx_is_foreign_array(o))
            fine = cx_append(list, cx_asarray(c->st, o, CBX_DTYPE_COUNT, -1));
        else if (cx_is_array(c->st, o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o))
            fine = PyList_Append(list, o) == 0;
        else
            fine = PyList_Append(list, Py_None) == 0;
    }
    if (!fine) Py_CLEAR(list);
    return list;
}

static PyObject *do_is_weak(cx_call *c)
{
    PyObject *o = cx_arg(c, "o");
    return PyBool_FromLong(cx_is_array(c->st, o) ? ((cx_array *)o)->weak : !cx_is_foreign_array(o));
}

static PyObject *do_is_traced(cx_call *c)
{
    PyObject *o = cx_arg(c, "o");
    return PyBool_FromLong(cx_is_array(c->st, o) && cbx_array_is_abstract(((cx_array *)o)->handle));
}

/* Why functions are interpreted; None: they are not. */
static PyObject *do_note(cx_call *c)
{
    cbx_err why = CBX_ERR_INIT;

    (void)c;
    return cbx_jit_check(&why) ? PyUnicode_FromString(why.message) : Py_NewRef(Py_None);
}

static PyObject *do_build(cx_call *c) { return cx_tree_build(c->st, cx_arg(c, "structure"), cx_arg(c, "leaves")); }

/* What a compiled function depends on besides the structure of its arguments: the backend; of each leaf dtype, shape and weakness. */
static PyObject *do_signature(cx_call *c)
{
    PyObject *leaves = cx_arg(c, "leaves");
    const Py_ssize_t n = PyList_Size(leaves);
    size_t *words = cx_alloc(c, 1 + (size_t)n * (2 + CBX_MAX_RANK), sizeof *words), at = 0;

    if (!words) return NULL;
    words[at++] = (size_t)(uintptr_t)c->st->backend;
    for (Py_ssize_t i = 0; i < n; i++) {
        cbx_array_desc d;
        bool weak;
        if (!cx_describe(c->st, PyList_GetItem(leaves, i), NULL, &d, &weak)) return NULL;
        words[at++] = (size_t)d.dtype << 1 | weak;
        words[at++] = (size_t)d.ndim;
        for (int k = 0; k < d.ndim; k++) words[at++] = d.shape[k];
    }
    return PyBytes_FromStringAndSize((const char *)words, (Py_ssize_t)(at * sizeof *words));
}

static PyObject *do_compiles(cx_call *c)
{
    bool yes;

    if (!cx_begin(c)) return NULL;
    yes = (cbx_ctx_backend(c->ctx)->flags & CBX_BACKEND_JIT) != 0;
    return cx_keep(c, 0, NULL) ? PyBool_FromLong(yes) : NULL;
}

/* Contexts that were made for another backend end. */
static PyObject *do_reset_backend(cx_call *c)
{
    c->st->backend = NULL;
    while (c->st->idle_count > 0) cbx_ctx_free(c->st->idle[--c->st->idle_count]);
    Py_RETURN_NONE;
}

CX_RETURN(do_round, (const cbx_array *x; int decimals), CX_GET(c, x, decimals) && cx_begin(c),
          cx_result(c, cbx_round(c->ctx, x, decimals)))

#define FLOW(X)                                                                                                        \
    X(scan,                                                                                                            \
      "body: object, init: list, xs: list, length: int | None = None, reverse: bool = False, save_every: int = 0",     \
      "list", do_scan, 0, "")                                                                                          \
    X(fori_loop, "lower: int, upper: int, body: object, init: list", "list", do_fori_loop, 0, "")                      \
    X(while_loop, "test: object, body: object, init: list", "list", do_while_loop, 0, "")                              \
    X(cond, "which: Operand, branches: tuple, operands: list, truth: bool = True", "list", do_cond, 0, "")
#define STEPS(X)                                                                                                       \
    X(record, "name: str, body: Callable, like: list, axes: tuple | None = None", "object", cx_do_record, 0, "")       \
    X(build, "structure: object, leaves: list", "object", do_build, 0, "")                                             \
    X(signature, "leaves: list", "bytes", do_signature, 0, "")                                                         \
    X(operands, "leaves: list", "list", do_operands, 0, "")                                                            \
    X(rule, "name: str, body: Callable, nin: int, results: int, more: int", "object", cx_do_rule, 0, "")               \
    X(custom_jvp, "fun: object, rule: object", "object", do_custom, 0, "")                                             \
    X(custom_vjp, "fun: object, fwd: object, bwd: object", "object", do_custom, 0, "")                                 \
    X(stop_gradient, "x: Operand", "Array", do_stop_gradient, 0, "")                                                   \
    X(compiles, "", "bool", do_compiles, 0, "")                                                                        \
    X(reset_backend, "", "None", do_reset_backend, 0, "")                                                              \
    X(round, "x: Operand, decimals: int", "Array", do_round, 0, "")                                                    \
    X(note, "", "str | None", do_note, 0, "")                                                                          \
    X(is_weak, "o: object", "bool", do_is_weak, 0, "")                                                                 \
    X(is_traced, "o: object", "bool", do_is_traced, 0, "")
#define QUICK(name, sig, returns, impl, fun, doc)                                                                      \
    CX_TRAMPOLINE(call_, CX_LIGHT, cx_state_of, NULL, name, sig, returns, impl, fun)
#define SLOW(name, sig, returns, impl, fun, doc)                                                                       \
    CX_TRAMPOLINE(call_, CX_WAITS, cx_state_of, NULL, name, sig, returns, impl, fun)
#define ROW(name, sig, returns, impl, fun, doc)                                                                        \
    { #name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL | METH_KEYWORDS, NULL },
FLOW(SLOW)
STEPS(QUICK)
PyMethodDef cx_recording_methods[] = { FLOW(ROW) STEPS(ROW){ 0 } };
