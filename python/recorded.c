/*
 * Recorded functions as objects, their transforms, and control flow over them: what the Python
 * files of the package build on, in the private namespace _recording.
 */
#include <string.h>

#include "calibrax/array/doctor.h"
#include "python/transforms.h"

#define HANDLES(a) ((cbx_array *const *)(uintptr_t)(a).list)

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
    CX_CONTEXT(ctx, st);

    for (size_t i = 0; i < n; i++) {
        fresh[i] = ctx && r->donated[i] && !PyErr_Occurred() ? take(st, ctx, n, leaves, i) : NULL;
        if (fresh[i]) leaves[i] = fresh[i];
    }
    return !PyErr_Occurred();
}

/* The call lets go of operands whose elements the function takes, of new Arrays that only it has:
 * their references are the only ones. */
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

static const cbx_fn *fn_of_self(const cx_call *c) { return ((cx_recorded *)c->self)->fn; }

/* The argument argnums, a tuple of places of operands, which ends with the call; None: n is 0. */
static bool read_argnums(cx_call *c, size_t *n, size_t **out)
{
    PyObject *o = cx_arg(c, "argnums");

    *n = o ? (size_t)PyTuple_Size(o) : 0;
    *out = o ? cx_alloc(c, *n, sizeof **out) : NULL;
    for (size_t i = 0; *out && i < *n; i++) (*out)[i] = PyLong_AsSize_t(PyTuple_GetItem(o, (Py_ssize_t)i));
    return !PyErr_Occurred();
}

/* What a transform made of self.  Failures come with the library's sentence. */
static PyObject *transformed(cx_call *c, cbx_status status, cbx_fn *const *made)
{
    const cx_recorded *r = (cx_recorded *)c->self;

    c->function = NULL;
    return cx_fine(c, status) ? cx_recorded_new(c->st, *made, r->captures, r->loops) : NULL;
}

/* argnums: operands from 0; None: the library's default; of Jacobians a tuple of one */
static PyObject *do_derive(cx_call *c)
{
    typedef cbx_status (*of_several)(cbx_ctx *, const cbx_fn *, size_t, const size_t *, cbx_fn **, cbx_err *);
    typedef cbx_status (*of_one)(cbx_ctx *, const cbx_fn *, size_t, cbx_fn **, cbx_err *);
    static const of_several several[] = { cbx_grad, cbx_value_and_grad, cbx_jvp, cbx_vjp };
    static const of_one one[] = { cbx_jacfwd, cbx_jacrev };
    const size_t nseveral = CBX_LEN(several);
    cbx_fn *made = NULL;
    size_t n, *list;
    cbx_status status;
    unsigned what;

    if (!CX_GET(c, what) || !read_argnums(c, &n, &list) || !cx_begin(c)) return NULL;
    if (what < nseveral)
        status = several[what](c->ctx, fn_of_self(c), n, list, &made, &c->err);
    else
        status = one[what - nseveral](c->ctx, fn_of_self(c), list[0], &made, &c->err);
    return transformed(c, status, &made);
}

/* in_axes, out_axes: tuples of axes and None */
static PyObject *do_vmap(cx_call *c)
{
    PyObject *in = cx_arg(c, "in_axes"), *out = cx_arg(c, "out_axes");
    const cbx_fn *f = fn_of_self(c);
    int *axes = cx_alloc(c, f->nin + f->nout, sizeof *axes);
    cbx_fn *made = NULL;

    for (size_t i = 0; axes && i < f->nin + f->nout; i++) {
        PyObject *axis = i < f->nin ? PyTuple_GetItem(in, (Py_ssize_t)i)
                                    : PyTuple_GetItem(out, (Py_ssize_t)(i - f->nin));
        axes[i] = !axis || axis == Py_None ? CBX_NOT_MAPPED : (int)PyLong_AsLong(axis);
    }
    if (PyErr_Occurred() || !cx_begin(c)) return NULL;
    return transformed(c, cbx_vmap(c->ctx, f, axes, axes + f->nin, &made, &c->err), &made);
}

CX_RETURN(do_checkpoint, (cbx_fn *made = NULL), cx_begin(c),
          transformed(c, cbx_checkpoint(c->ctx, fn_of_self(c), &made, &c->err), &made))

bool cx_read_fn(cx_call *c, const char *name, PyObject *o, void *out)
{
    (void)name;
    if (!o || Py_TYPE(o) != c->st->recorded_type)
        return cx_refused(PyExc_TypeError, "%s: a recorded function is needed, got %R", c->name, o ? o : Py_None);
    *(const cbx_fn **)out = ((cx_recorded *)o)->fn;
    return true;
}

/* custom_jvp(fun, rule), custom_vjp(fun, fwd, bwd): the function with derivatives by other recorded
 * functions */
static PyObject *do_custom(cx_call *c)
{
    const bool vjp = c->function->nparameters == 3;
    PyObject *of[3] = { c->arg[0], c->arg[1], vjp ? c->arg[2] : c->arg[1] };
    bool captures = false, loops = false;
    const cbx_fn *fn[3];
    cbx_fn *made = NULL;
    cbx_status status;

    for (int i = 0; i < 3; i++) {
        if (!cx_read_fn(c, "fun", of[i], &fn[i])) return NULL;
        captures |= ((cx_recorded *)of[i])->captures;
        loops |= ((cx_recorded *)of[i])->loops;
    }
    c->function = NULL; /* failures come with the library's sentence */
    if (!cx_begin(c)) return NULL;
    status = vjp ? cbx_custom_vjp(c->ctx, fn[0], fn[1], fn[2], &made, &c->err)
                 : cbx_custom_jvp(c->ctx, fn[0], fn[1], &made, &c->err);
    return cx_fine(c, status) ? cx_recorded_new(c->st, made, captures, loops) : NULL;
}

CX_RETURN(do_stop_gradient, (const cbx_array *x), CX_GET(c, x) && cx_begin(c),
          cx_weak_result(c, cbx_stop_gradient(c->ctx, x)))

cbx_array_desc *cx_recorded_descriptions(cx_call *c)
{
    PyObject *like = cx_arg(c, "like");
    const size_t n = fn_of_self(c)->nin;
    cbx_array_desc *d = cx_alloc(c, n, sizeof *d);
    bool weak;

    for (size_t i = 0; d && i < n; i++)
        if (!cx_describe(c->st, PyList_GetItem(like, (Py_ssize_t)i), NULL, &d[i], &weak)) return NULL;
    return d;
}

/* The work of operands like the argument like, which ends with the call; begins it.  NULL with an
 * exception. */
static const cbx_cost_report *count_work(cx_call *c)
{
    const cbx_array_desc *d = cx_recorded_descriptions(c);
    cbx_cost_report *r = d ? cx_alloc(c, 1, sizeof *r) : NULL;

    c->function = NULL; /* failures come with the library's sentence */
    return r && cx_begin(c) && cx_fine(c, cbx_cost_count(c->ctx, fn_of_self(c), fn_of_self(c)->nin, d, r, &c->err))
               ? r
               : NULL;
}

CX_RETURN(do_cost, (const cbx_cost_report *r = count_work(c)), r,
          Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "flop", r->total.flop, "int_op", r->total.int_op,
                        "transcendental", r->total.transcendental, "bytes_read", r->total.bytes_read, "bytes_written",
                        r->total.bytes_written, "in_bytes", r->in_bytes, "out_bytes", r->out_bytes, "operations",
                        r->total.calls))

/* From so much work on a call lets other threads run, and waits for Ctrl-C, which costs 24 us:
 * about 10 us, and 1 ms. */
enum { UNLOCK_WORK = 1 << 15, WAIT_WORK = 1 << 22 };

/* Compiled, for operands like these; argnums: those that calls take */
static PyObject *do_jit(cx_call *c)
{
    const size_t nin = fn_of_self(c)->nin;
    size_t n, *argnums;
    const bool read = read_argnums(c, &n, &argnums);
    const cbx_cost_report *r = read ? count_work(c) : NULL;
    cbx_fn *made = NULL;
    cx_recorded *o;
    double work;

    if (!r) return NULL;
    o = (cx_recorded *)transformed(c, cbx_jit_donate(c->ctx, fn_of_self(c), n, argnums, &made, &c->err), &made);
    if (!o) return NULL;
    work = (double)r->total.flop + (double)r->total.int_op + 8.0 * (double)r->total.transcendental +
           0.125 * ((double)r->total.bytes_read + (double)r->total.bytes_written);
    o->unlocks = work >= UNLOCK_WORK;
    o->loops |= work >= WAIT_WORK;
    o->jitted = o->fresh = true;
    if (n > 0 && !(o->donated = PyMem_Calloc(nin + 1, sizeof *o->donated))) {
        Py_DECREF((PyObject *)o);
        return PyErr_NoMemory();
    }
    for (size_t i = 0; i < n; i++) o->donated[argnums[i]] = true;
    return (PyObject *)o;
}

/* linearize(*arrays): (results, the linear map) */
static PyObject *do_linearize(cx_call *c)
{
    const cbx_fn *f = fn_of_self(c);
    cbx_array **out;
    cbx_fn *made = NULL;
    cx_arrays arrays;
    cbx_status status;

    if (!CX_GET(c, arrays)) return NULL;
    c->function = NULL;
    out = cx_alloc(c, f->nout, sizeof *out);
    if (!out || !cx_begin(c)) return NULL;
    status = cbx_linearize(c->ctx, f, HANDLES(arrays), out, &made, &c->err);
    if (!cx_fine(c, status)) return NULL;
    for (size_t i = 0; i < f->nout; i++) cbx_scope_hold(c->ctx, out[i]);
    CX_OWN PyObject *results = cx_results(c, f->nout, out, false);
    CX_OWN PyObject *map = cx_recorded_new(c->st, made, true, ((cx_recorded *)c->self)->loops);
    return results && map ? PyTuple_Pack(2, results, map) : NULL;
}

#define QUICK_METHODS(X)                                                                                               \
    X(derive, "what: 'grad' | 'value_and_grad' | 'jvp' | 'vjp' | 'jacfwd' | 'jacrev', argnums: tuple | None = None",   \
      "object", do_derive, 0, "")                                                                                      \
    X(vmap, "in_axes: tuple, out_axes: tuple", "object", do_vmap, 0, "")                                               \
    X(jit, "like: list, argnums: tuple", "object", do_jit, 0, "")                                                      \
    X(cost, "like: list", "dict", do_cost, 0, "")                                                                      \
    X(aot_write, "like: list, path: Path", "None", cx_do_aot_write, 0, "")                                             \
    X(checkpoint, "", "object", do_checkpoint, 0, "")
#define HEAVY_METHODS(X) X(linearize, "*arrays: Operand", "tuple", do_linearize, 0, "")
#define SLOW_METHODS(X)                                                                                                \
    X(cost_compile, "like: list", "dict", cx_do_cost_compile, 0, "")                                                   \
    X(dump, "like: list, stage: int", "str", cx_do_dump, 0, "")
#define ROW(name, ...) { #name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL | METH_KEYWORDS, NULL },
QUICK_METHODS(CX_SELF_LIGHT)
HEAVY_METHODS(CX_SELF_HEAVY)
SLOW_METHODS(CX_SELF_WAITS)
static PyMethodDef recorded_methods[] = { QUICK_METHODS(ROW) HEAVY_METHODS(ROW) SLOW_METHODS(ROW){ 0 } };
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

/* Memory for the results of a loop that begins; NULL with an exception. */
static cbx_array **begin_loop(cx_call *c, const cbx_fn *body, bool is_long)
{
    cbx_array **out = cx_alloc(c, body->nout, sizeof *out);

    cx_note_loops(is_long);
    return out && cx_begin_long(c) ? out : NULL;
}

static PyObject *do_scan(cx_call *c)
{
    const cbx_fn *body;
    cx_arrays init, xs;
    size_t length = CBX_LENGTH_OF_XS;
    cbx_array **out;
    bool reverse;
    int save_every; /* 0: everything is kept; -1: by the square root */

    if (!CX_GET(c, body, init, xs, length, reverse, save_every) ||
        !(out = begin_loop(c, body, (xs.n ? cbx_array_dim(xs.list[0], 0) : length) >= LONG_LOOP)))
        return NULL;
    if (save_every)
        cbx_scan_checkpointed(c->ctx, body, init.n, HANDLES(init), xs.n, HANDLES(xs), length, reverse,
                              save_every < 0 ? CBX_SAVE_SQRT : (size_t)save_every, out);
    else
        cbx_scan(c->ctx, body, init.n, HANDLES(init), xs.n, HANDLES(xs), length, reverse, out);
    return cx_results(c, body->nout, out, false);
}

CX_RETURN(do_fori_loop, (const cbx_fn *body; cx_arrays init; int64_t lower, upper; cbx_array * *out),
          CX_GET(c, lower, upper, body, init) &&
              (out = begin_loop(c, body, upper > lower && (uint64_t)upper - (uint64_t)lower >= LONG_LOOP)),
          (cbx_fori_loop(c->ctx, lower, upper, body, init.n, HANDLES(init), out),
           cx_results(c, body->nout, out, false)))

CX_RETURN(do_while_loop, (const cbx_fn *test, *body; cx_arrays init; cbx_array * *out),
          CX_GET(c, test, body, init) && (out = begin_loop(c, body, true)),
          (cbx_while_loop(c->ctx, test, body, init.n, HANDLES(init), out), cx_results(c, body->nout, out, false)))

/* branches: a tuple of recorded functions; which: bool for two of them (no, yes), else an
 * integer */
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
        if (!cx_read_fn(c, "branches", PyTuple_GetItem(branches, (Py_ssize_t)i), &list[i])) return NULL;
    out = cx_alloc(c, list[0]->nout, sizeof *out);
    if (!out || !cx_begin(c)) return NULL;
    if (truth)
        cbx_cond(c->ctx, which, list[1], list[0], operands.n, HANDLES(operands), out);
    else
        cbx_switch(c->ctx, which, n, list, operands.n, HANDLES(operands), out);
    return cx_results(c, list[0]->nout, out, false);
}

/* ---- what the Python files need besides ---- */

/* Leaves as operands: Arrays and numbers as they are, arrays of other packages as Arrays; NULL in
 * their place: none of these. */
static PyObject *operand_of(cx_state *st, PyObject *o)
{
    if (cx_is_foreign_array(o)) return cx_asarray(st, o, CBX_DTYPE_COUNT, -1);
    return Py_NewRef(cx_is_array(st, o) || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) ? o : Py_None);
}

CX_RETURN(do_operands, (PyObject *leaves = cx_arg(c, "leaves")), true,
          CX_LIST(PyList_Size(leaves), operand_of(c->st, PyList_GetItem(leaves, (Py_ssize_t)i))))

CX_VALUE(do_is_weak, (PyObject *o = cx_arg(c, "o")),
         PyBool_FromLong(cx_is_array(c->st, o) ? ((cx_array *)o)->weak : !cx_is_foreign_array(o)))

CX_VALUE(do_is_traced, (PyObject *o = cx_arg(c, "o")),
         PyBool_FromLong(cx_is_array(c->st, o) && cbx_array_is_abstract(((cx_array *)o)->handle)))

/* Why functions are interpreted; None: they are not. */
CX_VALUE(do_note, (cbx_err why = CBX_ERR_INIT),
         cbx_jit_check(&why) ? PyUnicode_FromString(why.message) : Py_NewRef(Py_None))

static PyObject *do_build(cx_call *c) { return cx_tree_build(c->st, cx_arg(c, "structure"), cx_arg(c, "leaves")); }

/* What a compiled function depends on besides the structure of its arguments: the backend; of each
 * leaf dtype, shape and weakness. */
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
#define STEP(name, ...) { #name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL | METH_KEYWORDS, NULL },
FLOW(CX_CALL_WAITS)
STEPS(CX_CALL_LIGHT)
PyMethodDef cx_recording_methods[] = { FLOW(STEP) STEPS(STEP){ 0 } };
