/* One call from Python into the library: arguments by their signature, a borrowed context, a scope,
 * the result. */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "python/state.h"

/* ---- contexts ---- */

cbx_ctx *cx_ctx_borrow(cx_state *st)
{
    cbx_ctx *ctx = cx_traced_ctx(st);
    cbx_err err;

    if (ctx) return ctx;
    err.status = CBX_OK;
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
    if (ctx == cx_traced_ctx(st)) return;
    cbx_ctx_set_stop(ctx, NULL);
    if (st->idle_count < CX_IDLE_CONTEXTS)
        st->idle[st->idle_count++] = ctx;
    else
        cbx_ctx_free(ctx);
}

/* ---- errors ---- */

PyObject *cx_raise(cbx_status status, const char *message)
{
    static PyObject **const kinds[] = {
        [CBX_EDTYPE] = &PyExc_TypeError,
        [CBX_EINVAL] = &PyExc_ValueError,
        [CBX_ESHAPE] = &PyExc_ValueError,
        [CBX_EDOM] = &PyExc_ValueError,
        [CBX_EINDEX] = &PyExc_IndexError,
        [CBX_EFORMAT] = &PyExc_ValueError,
        [CBX_EVERSION] = &PyExc_ValueError,
        [CBX_EOVERFLOW] = &PyExc_OverflowError,
        [CBX_ENOMEM] = &PyExc_MemoryError,
        [CBX_EUNSUPPORTED] = &PyExc_NotImplementedError,
        [CBX_EIO] = &PyExc_OSError,
        [CBX_ENOSPC] = &PyExc_OSError,
        [CBX_ENOENT] = &PyExc_FileNotFoundError,
        [CBX_EPERM] = &PyExc_PermissionError,
        [CBX_EINTERRUPTED] = &PyExc_KeyboardInterrupt,
    };
    PyObject **kind = (size_t)status < CBX_LEN(kinds) ? kinds[status] : NULL;

    if (PyErr_Occurred()) return NULL; /* a callback's exception is the reason */
    PyErr_SetString(kind ? *kind : PyExc_RuntimeError, message[0] ? message : cbx_status_words(status));
    return NULL;
}

/*
 * Messages name the function that the user called: the library's own name for it in quotes
 * ("'random_uniform' from 3 to 1") is replaced, and a message without it is preceded by the name.
 */
PyObject *cx_raise_for(const cx_call *c, cbx_status status)
{
    char message[CBX_ERR_MESSAGE_SIZE + 64];
    const char *text = c->err.message, *open = text, *close = text;
    size_t length = strlen(c->name);

    if (PyErr_Occurred()) return NULL;
    if (!c->function || !text[0] || strncmp(text, c->name, length) == 0 || status == CBX_ENOMEM)
        return cx_raise(status, text);
    for (; (open = strchr(close, '\'')) && (close = strchr(open + 1, '\'')); close++)
        if ((size_t)(close - open) > length && memcmp(close - length, c->name, length) == 0 &&
            strchr("_'", close[-(ptrdiff_t)length - 1]))
            break;
    if (open && close)
        snprintf(message, sizeof message, "%.*s'%s%s", (int)(open - text), text, c->name, close);
    else
        snprintf(message, sizeof message, "%s: %s", c->name, text);
    return cx_raise(status, message);
}

bool cx_fine(cx_call *c, cbx_status status)
{
    cx_lock(c);
    if (status && !PyErr_Occurred()) cx_raise_for(c, status);
    return !status;
}

PyObject *cx_none(cx_call *c, cbx_status status) { return cx_fine(c, status) ? Py_NewRef(Py_None) : NULL; }

/* ---- the call ---- */

void cx_call_init(cx_call *c, cx_state *st, const char *name)
{
    memset(c, 0, offsetof(cx_call, err));
    c->err.status = CBX_OK;
    c->err.message[0] = '\0';
    c->st = st;
    c->name = name;
    c->held = c->held_inline;
    c->capacity = CBX_LEN(c->held_inline);
    c->stop = &c->own_stop;
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
    while (c->nkept > 0) Py_DECREF(c->kept[--c->nkept]);
    if (c->has_arena) cbx_arena_clear(&c->arena);
}

cbx_arena *cx_arena(cx_call *c)
{
    if (!c->has_arena) cbx_arena_init(&c->arena, cbx_allocator_default());
    c->has_arena = true;
    return &c->arena;
}

void *cx_alloc(cx_call *c, size_t n, size_t size)
{
    void *p = cbx_arena_calloc(cx_arena(c), n + 1, size);
    return p ? p : PyErr_NoMemory();
}

bool cx_keep_object(cx_call *c, PyObject *o)
{
    assert(c->nkept < (int)CBX_LEN(c->kept));
    if (o) c->kept[c->nkept++] = o;
    return o != NULL;
}

bool cx_hold(cx_call *c, cbx_array *a)
{
    if (c->nheld == c->capacity) {
        cbx_array **more = PyMem_Malloc(2 * c->capacity * sizeof *more);
        if (!more) {
            cbx_array_free(a);
            return PyErr_NoMemory() != NULL;
        }
        memcpy(more, c->held, c->nheld * sizeof *more);
        if (c->held != c->held_inline) PyMem_Free(c->held);
        c->held = more;
        c->capacity *= 2;
    }
    c->held[c->nheld++] = a;
    c->elements += cbx_array_count(a);
    return true;
}

cbx_array *cx_create(cx_state *st, const cbx_array_desc *desc)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL;
    CX_CONTEXT(ctx, st);

    if (ctx && cbx_array_create(ctx, desc, &a, &err)) cx_raise(err.status, err.message);
    return a;
}

cbx_array *cx_here(cx_state *st, const cbx_array *a)
{
    cbx_array *copy;
    cbx_err err = CBX_ERR_INIT;

    if (!cx_is_elsewhere(a)) return cbx_array_ref(a);
    copy = cx_create(st, cbx_array_get_desc(a));
    if (!copy || !cbx_array_read(a, cbx_array_data_mut(copy), cbx_array_bytes(a), &err)) return copy;
    cbx_array_free(copy);
    cx_raise(err.status, err.message);
    return NULL;
}

PyObject *cx_moved(cx_state *st, PyObject *o, cbx_device_id device)
{
    PyObject *r = NULL;

    if (!o || !cx_is_array(st, o) || cbx_device_id_equal(cbx_array_device(((cx_array *)o)->handle), device)) return o;
    CX_ENDED_BY(cx_call_done) cx_call c;
    cx_call_init(&c, st, "to_device");
    if (cx_hold(&c, cbx_array_ref(((cx_array *)o)->handle)) && cx_begin(&c))
        r = cx_result(&c, cbx_to_device(c.ctx, c.held[0], device));
    if (r) ((cx_array *)r)->weak = ((cx_array *)o)->weak;
    Py_DECREF(o);
    return r;
}

bool cx_shareable(const cbx_array *a, const char *what, PyObject *exception)
{
    char text[32];

    if (!cx_is_elsewhere(a)) return true;
    return cx_refused(exception, "%s of an array on %s: bring it to the CPU with to_device('cpu')", what,
                      cbx_device_id_text(cbx_array_device(a), text, sizeof text));
}

const void *cx_elements(cx_call *c, const cbx_array *a)
{
    cbx_array *flat;
    bool here;

    if (!cx_concrete(c->st, a, c->name)) return NULL;
    here = cbx_array_is_contiguous(a) && !cx_is_elsewhere(a);
    flat = here ? cbx_array_ref(a) : cx_create(c->st, cbx_array_get_desc(a));
    if (!flat || !cx_hold(c, flat)) return NULL;
    if (!here && cbx_array_read(a, cbx_array_data_mut(flat), cbx_array_bytes(flat), &c->err))
        return cx_raise(c->err.status, c->err.message);
    return cbx_array_data(flat);
}

bool cx_begin(cx_call *c)
{
    c->ctx = cx_ctx_borrow(c->st);
    if (!c->ctx) return false;
    if (c->stop != &c->own_stop) cbx_ctx_set_stop(c->ctx, c->stop);
    cbx_scope_open(c->ctx, &c->scope);
    if (c->elements >= CX_UNLOCK_ELEMENTS) c->unlocked = PyEval_SaveThread();
    return true;
}

bool cx_begin_long(cx_call *c)
{
    c->elements = CX_UNLOCK_ELEMENTS;
    return cx_begin(c);
}

bool cx_keep(cx_call *c, size_t n, cbx_array **arrays)
{
    cbx_status status = cbx_scope_close_keep(&c->scope, n, arrays, &c->err);

    cx_lock(c);
    cx_ctx_return(c->st, c->ctx);
    c->ctx = NULL;
    if (status) cx_raise_for(c, status);
    return !status;
}

PyObject *cx_result(cx_call *c, cbx_array *r)
{
    if (!cx_keep(c, 1, &r)) return NULL;
    return cx_array_new(c->st, r);
}

PyObject *cx_weak_result(cx_call *c, cbx_array *r)
{
    PyObject *a = cx_result(c, r);

    if (a) ((cx_array *)a)->weak = c->weak && !c->strong;
    return a;
}

PyObject *cx_arrays_object(cx_state *st, size_t n, cbx_array **arrays, bool tuple)
{
    PyObject *all = tuple ? PyTuple_New((Py_ssize_t)n) : PyList_New((Py_ssize_t)n);

    for (size_t i = 0; i < n; i++) {
        PyObject *v = all ? cx_array_new(st, arrays[i]) : NULL;
        if (!all) cbx_array_free(arrays[i]);
        if (all && (!v || (tuple ? PyTuple_SetItem : PyList_SetItem)(all, (Py_ssize_t)i, v) < 0)) Py_CLEAR(all);
    }
    return all;
}

PyObject *cx_results(cx_call *c, size_t n, cbx_array **arrays, bool tuple)
{
    return cx_keep(c, n, arrays) ? cx_arrays_object(c->st, n, arrays, tuple) : NULL;
}

PyObject *cx_python(const char *module, const char *function, const char *format, ...)
{
    CX_OWN PyObject *name = PyUnicode_FromFormat("calibrax_c.%s", module), *file = name ? PyImport_Import(name) : NULL;
    CX_OWN PyObject *f = file ? PyObject_GetAttrString(file, function) : NULL;
    CX_OWN PyObject *list = PyUnicode_FromFormat("(%s)", format), *args = NULL;
    va_list items;

    va_start(items, format);
    if (f && list) args = Py_VaBuildValue(PyUnicode_AsUTF8AndSize(list, NULL), items);
    va_end(items);
    return args ? PyObject_CallObject(f, args) : NULL;
}

bool cx_put(PyObject *dict, const char *key, PyObject *v)
{
    bool fine = v && PyDict_SetItemString(dict, key, v) == 0;
    Py_XDECREF(v);
    return fine;
}

bool cx_append(PyObject *list, PyObject *v)
{
    bool fine = v && PyList_Append(list, v) == 0;
    Py_XDECREF(v);
    return fine;
}

/* ---- binding ---- */

/* Place of a keyword, or -1; its value follows the positional arguments. */
static Py_ssize_t find_keyword(PyObject *kwnames, Py_ssize_t n, const cx_parameter *p)
{
    for (Py_ssize_t k = 0; k < n; k++) {
        Py_ssize_t length;
        const char *word = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(kwnames, k), &length);
        if (word && (size_t)length == p->name_length && memcmp(word, p->name, p->name_length) == 0) return k;
    }
    return -1;
}

static bool refuse_extra(const cx_call *c, Py_ssize_t given, Py_ssize_t taken, PyObject *kwnames, uint64_t used)
{
    if (given > taken)
        return cx_refused(PyExc_TypeError, "%s() takes at most %zd positional argument%s, got %zd", c->name, taken,
                          taken == 1 ? "" : "s", given);
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_Size(kwnames); k++)
        if (!(used >> k & 1))
            return cx_refused(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'; its signature is %s(%s)",
                              c->name, PyTuple_GetItem(kwnames, k), c->name, c->function->signature);
    return true;
}

/* Keywords that no parameter takes, as the dict that is the argument of **name. */
static PyObject *gather_keywords(cx_call *c, PyObject *const *values, PyObject *kwnames, uint64_t used)
{
    PyObject *dict = PyDict_New();

    if (!cx_keep_object(c, dict)) return NULL;
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_Size(kwnames); k++)
        if (!(k < 64 && used >> k & 1) && PyDict_SetItem(dict, PyTuple_GetItem(kwnames, k), values[k])) return NULL;
    return dict;
}

static bool bind(cx_call *c, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t taken = 0, nkw = kwnames ? PyTuple_Size(kwnames) : 0;
    uint64_t used = 0;

    for (int i = 0; i < c->function->nparameters; i++) {
        const cx_parameter *p = &c->function->parameters[i];
        if (p->how == CX_BY_REST) {
            c->rest = args + taken;
            c->nrest = nargs - taken;
            taken = nargs;
            continue;
        }
        if (p->how == CX_BY_KEYWORDS) { /* the last one */
            c->arg[i] = gather_keywords(c, args + nargs, kwnames, used);
            return c->arg[i] && refuse_extra(c, nargs, taken, NULL, used);
        }
        if (p->how != CX_BY_NAME && taken < nargs) {
            c->arg[i] = args[taken++];
        } else if (nkw && p->how != CX_BY_POSITION) {
            Py_ssize_t k = find_keyword(kwnames, nkw, p);
            if (k >= 0 && k < 64) {
                c->arg[i] = args[nargs + k];
                used |= (uint64_t)1 << k;
            }
        }
        if (!c->arg[i] && !p->fallback) {
            CX_OWN PyObject *name = PyUnicode_FromStringAndSize(p->name, (Py_ssize_t)p->name_length);
            return name && cx_refused(PyExc_TypeError, "%s() is missing the argument '%U'; its signature is %s(%s)",
                                      c->name, name, c->name, c->function->signature);
        }
    }
    return refuse_extra(c, nargs, taken, kwnames, used);
}

/* Where the result of a function with a parameter 'device' is to be: 1; 0: wherever it is; -1:
 * exception. */
static int wanted_device(cx_call *c, cbx_device_id *out)
{
    const cx_function *f = c->function;
    PyObject *device = f->device < 0 ? NULL : c->arg[f->device], *like = NULL;
    const char *word;

    if (f->device < 0) return 0;
    if (device && device != Py_None) {
        word = PyUnicode_Check(device) ? PyUnicode_AsUTF8AndSize(device, NULL) : NULL;
        if (word && !cbx_device_id_parse(word, out, NULL)) return 1;
        PyErr_Format(PyExc_ValueError, "%s: 'device' must be one of those that devices() lists, got %R", f->name,
                     device);
        return -1;
    }
    for (int i = 0; i < f->nparameters && !like; i++) /* None: where the operand is */
        if (c->arg[i] && cx_is_array(c->st, c->arg[i])) like = c->arg[i];
    if (like) *out = cbx_array_device(((cx_array *)like)->handle);
    return like && cx_is_elsewhere(((cx_array *)like)->handle);
}

PyObject *cx_call_function(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames, volatile sig_atomic_t *stop)
{
    CX_ENDED_BY(cx_call_done) cx_call c;
    cbx_device_id device;
    PyObject *result;
    int wanted;

    cx_call_init(&c, st, f->name);
    c.function = f;
    c.fn = f->fn;
    c.self = self;
    if (stop) c.stop = stop;
    if (!bind(&c, args, nargs, kwnames) || (wanted = wanted_device(&c, &device)) < 0) return NULL;
    result = f->impl(&c);
    return wanted ? cx_moved(st, result, device) : result;
}

PyObject *cx_invoke(cx_state *st, cx_function *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                    PyObject *kwnames)
{
    if (!f->parameters && !cx_parse(f)) return NULL;
    if (cx_should_wait(st, f, self, args, nargs + (kwnames ? PyTuple_Size(kwnames) : 0)))
        return cx_run_interruptible(st, f, self, args, nargs, kwnames);
    return cx_call_function(st, f, self, args, nargs, kwnames, NULL);
}

/* ---- arguments by name ---- */

/* Every name that the code asks for is in the signature of every function that it serves: tests
 * call them all. */
static int place_of(const cx_call *c, const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; i < c->function->nparameters; i++)
        if (c->function->parameters[i].name_length == length &&
            memcmp(c->function->parameters[i].name, name, length) == 0)
            return i;
    return -1;
}

const cx_parameter *cx_parameter_of(const cx_call *c, const char *name)
{
    int i = c->function ? place_of(c, name) : -1;
    return i < 0 ? NULL : &c->function->parameters[i];
}

PyObject *cx_arg(cx_call *c, const char *name)
{
    int i = place_of(c, name);

    if (i < 0) return name[0] == 'x' && !name[1] ? c->self : NULL;
    return c->arg[i] == Py_None && c->function->parameters[i].fallback ? NULL : c->arg[i];
}

/* The default of a parameter as an object, which the parameter keeps; NULL without an exception if
 * it is None. */
static PyObject *fallback_of(cx_parameter *p)
{
    char text[64];
    const char *s = p->fallback;

    if (p->value || !s || p->fallback_length >= sizeof text || s[0] == 'N' || s[0] == '(') return p->value;
    memcpy(text, s, p->fallback_length);
    text[p->fallback_length] = '\0';
    if (text[0] == '\'')
        p->value = PyUnicode_FromStringAndSize(s + 1, (Py_ssize_t)p->fallback_length - 2);
    else if (text[0] == 'T' || text[0] == 'F')
        p->value = PyBool_FromLong(text[0] == 'T');
    else if (text[strspn(text, "-0123456789")])
        p->value = PyFloat_FromDouble(PyOS_string_to_double(text, NULL, NULL));
    else
        p->value = PyLong_FromString(text, NULL, 10);
    return p->value;
}

static bool get(cx_call *c, int i, const char *name, cx_reader read, void *out)
{
    cx_parameter *p = &c->function->parameters[i];
    PyObject *o = c->arg[i] != Py_None || !p->fallback || read == cx_read_axis ? c->arg[i] : NULL;

    if (!o && read != cx_read_text && p->how != CX_BY_REST) o = fallback_of(p);
    return !PyErr_Occurred() && read(c, name, o, out);
}

bool cx_get(cx_call *c, const cx_target *list)
{
    for (const cx_target *t = list; t->name; t++) {
        const char *name = t->name;
        int i = place_of(c, name);

        if (i < 0) { /* a member: "o.level", "o->level" */
            const char *dot = strrchr(name, '.'), *arrow = strrchr(name, '>');
            name = dot ? dot + 1 : arrow ? arrow + 1 : name;
            i = place_of(c, name);
        }
        if (i < 0 && !(name[0] == 'x' && !name[1] && c->self))
            return cx_refused(PyExc_SystemError, "%s() has no parameter '%s'", c->name, name);
        if (i < 0 ? !t->read(c, name, c->self, t->out) : !get(c, i, name, t->read, t->out)) return false;
    }
    return true;
}

bool cx_numbers(cx_call *c, int n, double *v)
{
    for (int i = 0; i < n; i++) {
        const cx_parameter *p = &c->function->parameters[i];
        char name[32] = "";
        if (p->name_length < sizeof name) memcpy(name, p->name, p->name_length);
        if (!get(c, i, name, cx_read_double, &v[i])) return false;
    }
    return true;
}
