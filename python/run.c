/* Run: one execution of a set of benchmarks; a frozen record of the library, which any thread may read. */
#include <string.h>

#include "python/records.h"

typedef struct run_object {
    PyObject_HEAD cbx_run *run;
} run_object;

static const cbx_run *run_of(PyObject *self) { return ((run_object *)self)->run; }

PyObject *cx_run_object(cx_state *st, cbx_run *run)
{
    run_object *self = run ? (run_object *)PyType_GenericAlloc(st->run_type, 0) : NULL;

    if (self)
        self->run = run;
    else
        cbx_run_free(run);
    return (PyObject *)self;
}

cbx_run *cx_run_of(cx_state *st, PyObject *o)
{
    if (Py_TYPE(o) == st->run_type) return ((run_object *)o)->run;
    PyErr_Format(PyExc_TypeError, "a Run is needed, not %R", o);
    return NULL;
}

static void run_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cbx_run_free(((run_object *)self)->run);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- making ---- */

typedef struct making {
    cx_state *st;
    cbx_run_builder *b;
    cbx_arena arena;
    cbx_err err;
} making;

static bool told(making *m, cbx_status status)
{
    if (status) cx_raise(status, m->err.message);
    return !status;
}

static bool set_object(making *m, PyObject *dict, const char *what,
                       cbx_status (*set)(cbx_run_builder *, const char *, cbx_json *, cbx_err *))
{
    cbx_json *object, *value;
    const char *key;
    bool fine = true;

    if (!dict || dict == Py_None) return true;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s has to be a dict, not %R", what, dict);
        return false;
    }
    object = cx_json_from(dict, what, NULL);
    fine = object != NULL;
    for (size_t i = 0; fine && cbx_json_member(object, i, &key, &value); i++) {
        if (!value) PyErr_Format(PyExc_ValueError, "%s: '%s' is None: leave it out", what, key);
        fine = value && told(m, set(m->b, key, cbx_json_ref(value), &m->err));
    }
    cbx_json_unref(object);
    return fine;
}

static bool add_points(making *m, PyObject *points)
{
    PyObject *list = PySequence_Tuple(points);
    bool fine = list != NULL;

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++) {
        PyObject *p = PyTuple_GetItem(list, i);
        cbx_point view;
        PyObject *record = cx_is_record(m->st, p, CX_POINT) ? Py_NewRef(p) : cx_record_from(m->st, CX_POINT, p);
        fine = record && cx_point_from(record, &m->arena, &view) &&
               told(m, cbx_run_builder_add_point(m->b, &view, &m->err));
        Py_XDECREF(record);
    }
    Py_XDECREF(list);
    return fine;
}

/* A dict of MetricDef by name, or a sequence of them. */
static bool add_defs(making *m, PyObject *defs)
{
    PyObject *values, *list;
    bool fine;

    if (!defs || defs == Py_None) return true;
    values = PyDict_Check(defs) ? PyDict_Values(defs) : Py_NewRef(defs);
    list = values ? PySequence_Tuple(values) : NULL;
    fine = list != NULL;
    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++) {
        PyObject *d = PyTuple_GetItem(list, i);
        PyObject *record = cx_is_record(m->st, d, CX_METRIC_DEF) ? Py_NewRef(d)
                                                                 : cx_record_from(m->st, CX_METRIC_DEF, d);
        cbx_metric_def view;
        fine = record && cx_metric_def_from(record, &view) &&
               told(m, cbx_run_builder_add_metric_def(m->b, &view, &m->err));
        Py_XDECREF(record);
    }
    Py_XDECREF(values);
    Py_XDECREF(list);
    return fine;
}

static bool set_commit(making *m, PyObject *commit, PyObject *branch)
{
    const char *c = NULL, *b = NULL;

    if ((!commit || commit == Py_None) && (!branch || branch == Py_None)) return true;
    if (commit && commit != Py_None && !(c = cx_text_of(commit, "commit"))) return false;
    if (branch && branch != Py_None && !(b = cx_text_of(branch, "branch"))) return false;
    return told(m, cbx_run_builder_set_commit(m->b, c, b, &m->err));
}

static bool set_head(making *m, PyObject *id, PyObject *timestamp)
{
    const char *text;
    int64_t us;

    if (id && id != Py_None) {
        text = cx_text_of(id, "id");
        if (!text || !told(m, cbx_run_builder_set_id(m->b, text, &m->err))) return false;
    }
    if (!timestamp || timestamp == Py_None) return true;
    return cx_time_from(timestamp, &us) && told(m, cbx_run_builder_set_timestamp(m->b, us, &m->err));
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    static char *names[] = { "points",      "id",       "timestamp",   "commit", "branch",
                             "environment", "metadata", "metric_defs", "detect", NULL };
    PyObject *points = NULL, *id = NULL, *timestamp = NULL, *commit = NULL, *branch = NULL, *environment = NULL,
             *metadata = NULL, *defs = NULL, *result = NULL;
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    making m = { .st = PyType_GetModuleState(type), .err = CBX_ERR_INIT };
    cbx_status status;
    cbx_run *run = NULL;
    cbx_ctx *ctx;
    int detect = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$OOOOOOOp:Run", names, &points, &id, &timestamp, &commit, &branch,
                                     &environment, &metadata, &defs, &detect))
        return NULL;
    o.no_vcs = o.no_machine = o.no_versions = !detect;
    ctx = cx_ctx_borrow(m.st);
    if (!ctx) return NULL;
    Py_BEGIN_ALLOW_THREADS status = cbx_run_builder_create(ctx, &o, &m.b, &m.err);
    Py_END_ALLOW_THREADS cbx_arena_init(&m.arena, cbx_ctx_allocator(ctx));
    if (told(&m, status) && set_head(&m, id, timestamp) && set_commit(&m, commit, branch) &&
        set_object(&m, environment, "environment", cbx_run_builder_set_environment) &&
        set_object(&m, metadata, "metadata", cbx_run_builder_set_metadata) && add_defs(&m, defs) &&
        add_points(&m, points) && told(&m, cbx_run_builder_freeze(m.b, &run, &m.err)))
        result = cx_run_object(m.st, run);
    cbx_run_builder_free(m.b);
    cbx_arena_clear(&m.arena);
    cx_ctx_return(m.st, ctx);
    return result;
}

static PyObject *run_from_dict(PyObject *type, PyObject *dict)
{
    cx_state *st = PyType_GetModuleState((PyTypeObject *)type);
    cbx_json *json = cx_json_from(dict, "run", NULL);
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    cbx_ctx *ctx;

    if (!json) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "Run.from_dict takes a dict, not None");
        return NULL;
    }
    ctx = cx_ctx_borrow(st);
    status = ctx ? cbx_run_from_json(ctx, json, "run", &run, &err) : CBX_ENOMEM;
    cbx_json_unref(json);
    if (ctx) cx_ctx_return(st, ctx);
    if (!ctx) return NULL;
    return status ? cx_raise(status, err.message) : cx_run_object(st, run);
}

static bool add_results(making *m, cbx_ctx *ctx, PyObject *results)
{
    PyObject *list = PySequence_Tuple(results);
    bool fine = list != NULL;

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++) {
        cbx_json *json = cx_json_from(PyTuple_GetItem(list, i), "result", NULL);
        cbx_result *result = NULL;
        if (!json && !PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a result is a dict or has to_dict(), not None");
        fine = json && told(m, cbx_result_from_json(ctx, json, "result", &result, &m->err)) &&
               told(m, cbx_run_builder_add_result(m->b, result, &m->err));
        cbx_result_free(result);
        cbx_json_unref(json);
    }
    Py_XDECREF(list);
    return fine;
}

static PyObject *run_from_results(PyObject *type, PyObject *args, PyObject *kw)
{
    static char *names[] = { "results", "id", "timestamp", "detect", NULL };
    PyObject *results = NULL, *id = NULL, *timestamp = NULL, *made = NULL;
    making m = { .st = PyType_GetModuleState((PyTypeObject *)type), .err = CBX_ERR_INIT };
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    cbx_run *run = NULL;
    cbx_status status;
    cbx_ctx *ctx;
    int detect = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$OOp:from_results", names, &results, &id, &timestamp, &detect))
        return NULL;
    o.no_vcs = o.no_machine = o.no_versions = !detect;
    ctx = cx_ctx_borrow(m.st);
    if (!ctx) return NULL;
    Py_BEGIN_ALLOW_THREADS status = cbx_run_builder_create(ctx, &o, &m.b, &m.err);
    Py_END_ALLOW_THREADS if (told(&m, status) && set_head(&m, id, timestamp) && add_results(&m, ctx, results) &&
                             told(&m, cbx_run_builder_freeze(m.b, &run, &m.err))) made = cx_run_object(m.st, run);
    cbx_run_builder_free(m.b);
    cx_ctx_return(m.st, ctx);
    return made;
}

static PyObject *run_read(PyObject *type, PyObject *where)
{
    cx_state *st = PyType_GetModuleState((PyTypeObject *)type);
    PyObject *bytes = NULL;
    const char *path;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_OK;
    cbx_ctx *ctx = cx_path_from(where, &bytes, &path) ? cx_ctx_borrow(st) : NULL;

    if (ctx) {
        Py_BEGIN_ALLOW_THREADS status = cbx_run_read(ctx, path, &run, &err);
        Py_END_ALLOW_THREADS cx_ctx_return(st, ctx);
    }
    Py_XDECREF(bytes);
    if (!ctx) return NULL;
    return status ? cx_raise(status, err.message) : cx_run_object(st, run);
}

/* ---- giving ---- */

static PyObject *run_to_dict(PyObject *self, PyObject *unused)
{
    (void)unused;
    return cx_json_answer(cbx_run_to_json(run_of(self)));
}

static PyObject *run_write(PyObject *self, PyObject *where)
{
    cx_state *st = PyType_GetModuleState(Py_TYPE(self));
    PyObject *bytes = NULL;
    const char *path;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_OK;
    cbx_ctx *ctx = cx_path_from(where, &bytes, &path) ? cx_ctx_borrow(st) : NULL;

    if (ctx) {
        Py_BEGIN_ALLOW_THREADS status = cbx_run_write(ctx, run_of(self), path, &err);
        Py_END_ALLOW_THREADS cx_ctx_return(st, ctx);
    }
    Py_XDECREF(bytes);
    if (!ctx) return NULL;
    if (status) return cx_raise(status, err.message);
    Py_RETURN_NONE;
}

static PyObject *get_id(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(cbx_run_id(run_of(self)));
}
static PyObject *get_timestamp(PyObject *self, void *unused)
{
    (void)unused;
    return cx_time_object(cbx_run_timestamp_us(run_of(self)));
}
static PyObject *get_commit(PyObject *self, void *unused)
{
    (void)unused;
    return cx_text_or_none(cbx_run_commit(run_of(self)));
}
static PyObject *get_branch(PyObject *self, void *unused)
{
    (void)unused;
    return cx_text_or_none(cbx_run_branch(run_of(self)));
}
static PyObject *get_environment(PyObject *self, void *unused)
{
    (void)unused;
    return cx_json_object(cbx_run_environment(run_of(self)));
}
static PyObject *get_metadata(PyObject *self, void *unused)
{
    (void)unused;
    return cx_json_object(cbx_run_metadata(run_of(self)));
}

static PyObject *get_points(PyObject *self, void *unused)
{
    cx_state *st = PyType_GetModuleState(Py_TYPE(self));
    size_t n = cbx_run_npoints(run_of(self));
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    (void)unused;
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *p = cx_point_object(st, cbx_run_point(run_of(self), i));
        if (!p || PyTuple_SetItem(tuple, (Py_ssize_t)i, p) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_defs(PyObject *self, void *unused)
{
    cx_state *st = PyType_GetModuleState(Py_TYPE(self));
    PyObject *dict = PyDict_New();

    (void)unused;
    for (size_t i = 0; dict && i < cbx_run_nmetric_defs(run_of(self)); i++) {
        const cbx_metric_def *d = cbx_run_metric_def(run_of(self), i);
        PyObject *v = cx_metric_def_object(st, d);
        if (!v || PyDict_SetItemString(dict, d->name, v) < 0) Py_CLEAR(dict);
        Py_XDECREF(v);
    }
    return dict;
}

static PyObject *run_repr(PyObject *self)
{
    const cbx_run *run = run_of(self);
    char time[CBX_TIME_SIZE];

    return PyUnicode_FromFormat("Run(id='%s', timestamp='%s', points=%zu)", cbx_run_id(run),
                                cbx_time_format_iso(cbx_run_timestamp_us(run), time), cbx_run_npoints(run));
}

static PyObject *run_compare(PyObject *a, PyObject *b, int op)
{
    bool equal = false;
    cbx_err err = CBX_ERR_INIT;

    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    if (cbx_run_equal(run_of(a), run_of(b), &equal, &err)) return cx_raise(err.status, err.message);
    return PyBool_FromLong(equal == (op == Py_EQ));
}

static Py_hash_t run_hash(PyObject *self)
{
    char text[CBX_HASH_SIZE];
    cbx_err err = CBX_ERR_INIT;
    PyObject *s;
    Py_hash_t h;

    if (cbx_run_hash(run_of(self), text, &err)) {
        cx_raise(err.status, err.message);
        return -1;
    }
    s = PyUnicode_FromString(text);
    h = s ? PyObject_Hash(s) : -1;
    Py_XDECREF(s);
    return h;
}

static PyObject *run_reduce(PyObject *self, PyObject *unused)
{
    PyObject *maker = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "from_dict"), *dict = run_to_dict(self, unused);
    PyObject *r = maker && dict ? Py_BuildValue("(O(O))", maker, dict) : NULL;

    Py_XDECREF(maker);
    Py_XDECREF(dict);
    return r;
}

static PyGetSetDef run_members[] = {
    { "id", get_id, NULL, "str: 12 hex digits, or what was given", NULL },
    { "timestamp", get_timestamp, NULL, "datetime: datetime, UTC", NULL },
    { "commit", get_commit, NULL, "str | None: full hash, or None", NULL },
    { "branch", get_branch, NULL, "str | None: name, or None", NULL },
    { "environment", get_environment, NULL, "dict[str, Any]: dict: machine, hardware, versions ...", NULL },
    { "metadata", get_metadata, NULL, "dict[str, Any]: dict of what else is known", NULL },
    { "metric_defs", get_defs, NULL, "dict[str, MetricDef]: dict of MetricDef by name", NULL },
    { "points", get_points, NULL, "tuple[Point, ...]: tuple of Point", NULL },
    { 0 },
};
static PyMethodDef run_methods[] = {
    { "to_dict", run_to_dict, METH_NOARGS, "to_dict($self) -> dict[str, Any]\n--\n\nThe run as its file has it." },
    { "from_dict", run_from_dict, METH_O | METH_CLASS,
      "from_dict($type, mapping: Mapping[str, Any] | object, /) -> Run\n--\n\nOf a dict as to_dict gives it, or as the "
      "Python package calibrax does; read "
      "strictly." },
    { "from_results", (PyCFunction)(void (*)(void))run_from_results, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
      "from_results($type, results: Iterable[object], *, id: str | None = None, timestamp: Time | None = None, detect: "
      "bool = True) -> Run\n--\n\n"
      "Of results as the Python package calibrax has them: BenchmarkResult objects, or dicts as their to_dict gives. A "
      "point "
      "each; timing and resources become metrics with definitions, unless a result has a metric of that name." },
    { "read", run_read, METH_O | METH_CLASS, "read($type, path: Path, /) -> Run\n--\n\nA run file." },
    { "write", run_write, METH_O, "write($self, path: Path, /) -> None\n--\n\nWrites the run as a file, atomically." },
    { "__reduce__", run_reduce, METH_NOARGS, NULL },
    { 0 },
};
static PyType_Slot run_slots[] = {
    { Py_tp_new, run_new },
    { Py_tp_dealloc, run_dealloc },
    { Py_tp_repr, run_repr },
    { Py_tp_richcompare, run_compare },
    { Py_tp_hash, run_hash },
    { Py_tp_getset, run_members },
    { Py_tp_methods, run_methods },
    { Py_tp_doc, "Run(points: Iterable[Point | Mapping[str, Any]], *, id: str | None = None, timestamp: Time | None = "
                 "None, commit: str | None = None, branch: str | None = None, environment: Mapping[str, Any] = {}, "
                 "metadata: Mapping[str, Any] = {}, metric_defs: Definitions = {}, detect: bool = True) -> Run\n--\n\n"
                 "One execution of a set of benchmarks: points with metrics, and what is needed to compare it later.\n"
                 "With detect the commit, branch, machine and versions are found out; what is given replaces that." },
    { 0, NULL },
};
static PyType_Spec run_spec = {
    .name = "calibrax_c.Run",
    .basicsize = sizeof(run_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = run_slots,
};

bool cx_add_run(cx_state *st, PyObject *module)
{
    st->run_type = cx_type(st, &run_spec);
    return st->run_type && PyModule_AddObjectRef(module, "Run", (PyObject *)st->run_type) == 0;
}
