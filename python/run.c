/* Run: one execution of a set of benchmarks; a frozen record of the library, which any thread
 * may read. */

#include "python/objects.h"

static const cbx_run *run_of(PyObject *self) { return ((cx_object *)self)->handle; }
cbx_run *cx_run_of(PyObject *o) { return ((cx_object *)o)->handle; }

PyObject *cx_run_object(cx_state *st, cbx_run *run)
{
    cx_object *self = run ? cx_object_new(st, CX_RUN) : NULL;

    if (self)
        self->handle = run;
    else
        cbx_run_free(run);
    return (PyObject *)self;
}

const cbx_run **cx_runs_arg(cx_call *c, const char *name, size_t *n)
{
    PyObject *o = cx_arg(c, name) ? cx_arg(c, name) : Py_None, *tuple;
    const cbx_run **runs;

    tuple = Py_TYPE(o) == (PyTypeObject *)c->st->objects[CX_RUN] ? PyTuple_Pack(1, o)
            : PySequence_Check(o)                                ? PySequence_Tuple(o)
                                                                 : NULL;
    if (!cx_keep_object(c, tuple)) {
        if (!PyErr_Occurred()) cx_refuse(c, name, PyExc_TypeError, "a Run or a sequence of them", o);
        return NULL;
    }
    *n = (size_t)PyTuple_Size(tuple);
    runs = cx_alloc(c, *n, sizeof *runs);
    for (size_t i = 0; runs && i < *n; i++) {
        cbx_run *run = NULL;
        if (!cx_read_run(c, name, PyTuple_GetItem(tuple, (Py_ssize_t)i), &run)) return NULL;
        runs[i] = run;
    }
    return runs;
}

static void run_free(cx_object *o) { cbx_run_free(o->handle); }

/* ---- making ---- */

/* The members of a dict, each by a setter. */
static bool set_members(cx_call *c, cbx_run_builder *b, const char *name,
                        cbx_status (*set)(cbx_run_builder *, const char *, cbx_json *, cbx_err *))
{
    CX_OWN_JSON cbx_json *object = cx_json_arg(c, name);
    cbx_json *value;
    const char *key;

    for (size_t i = 0; object && cbx_json_member(object, i, &key, &value); i++) {
        if (!value)
            return cx_refused(PyExc_ValueError, "%s: '%s' must have no None, got one for '%s'", c->name, name, key);
        if (!cx_fine(c, set(b, key, cbx_json_ref(value), &c->err))) return false;
    }
    return !PyErr_Occurred();
}

/* The record of o, or one made of it; kept in a list. */
static PyObject *as_record(cx_call *c, cx_record_kind kind, PyObject *o, PyObject *kept)
{
    PyObject *r = cx_is_record(c->st, o, kind)
                      ? Py_NewRef(o)
                      : PyObject_CallMethod((PyObject *)c->st->records[kind], "from_dict", "(O)", o);
    return cx_append(kept, r) ? r : NULL;
}

bool cx_defs_arg(cx_call *c, PyObject *o, const cbx_metric_def **defs, size_t *n)
{
    PyObject *values, *kept = PyList_New(0);
    cbx_metric_def *list;

    *defs = NULL;
    *n = 0;
    if (!cx_keep_object(c, kept)) return false;
    if (!o || o == Py_None) return true;
    if (!cx_keep_object(c, values = PyDict_Check(o) ? PyDict_Values(o) : PySequence_List(o))) return false;
    *n = (size_t)PyList_Size(values);
    *defs = list = cx_alloc(c, *n, sizeof *list);
    for (size_t i = 0; list && i < *n; i++) {
        PyObject *r = as_record(c, CX_METRIC_DEF, PyList_GetItem(values, (Py_ssize_t)i), kept);
        if (!r || !cx_metric_def_from(r, &list[i])) return false;
    }
    return list != NULL;
}

static bool add_points(cx_call *c, cbx_run_builder *b)
{
    PyObject *list = PySequence_Tuple(cx_arg(c, "points") ? cx_arg(c, "points") : Py_None), *kept = PyList_New(0);
    bool fine = cx_keep_object(c, list) && cx_keep_object(c, kept);

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++) {
        PyObject *r = as_record(c, CX_POINT, PyTuple_GetItem(list, i), kept);
        cbx_point view;
        fine = r && cx_point_from(r, cx_arena(c), &view) && cx_fine(c, cbx_run_builder_add_point(b, &view, &c->err));
    }
    return fine;
}

static bool add_results(cx_call *c, cbx_run_builder *b)
{
    PyObject *list = PySequence_Tuple(cx_arg(c, "results") ? cx_arg(c, "results") : Py_None);
    bool fine = cx_keep_object(c, list);

    for (Py_ssize_t i = 0; fine && i < PyTuple_Size(list); i++) {
        CX_OWN_JSON cbx_json *json = cx_json_from(PyTuple_GetItem(list, i), "result");
        cbx_result result;
        if (!json && !PyErr_Occurred())
            cx_refuse(c, "results", PyExc_TypeError, "of dicts or objects with to_dict()", Py_None);
        fine = json && cx_fine(c, cbx_result_from_json(json, "result", cx_arena(c), &result, &c->err)) &&
               cx_fine(c, cbx_run_builder_add_result(b, &result, &c->err));
    }
    return fine;
}

static bool set_all(cx_call *c, cbx_run_builder *b)
{
    const char *commit = NULL, *branch = NULL;
    const cbx_metric_def *defs;
    size_t n;

    if (!CX_GET(c, commit, branch) || !cx_defs_arg(c, cx_arg(c, "metric_defs"), &defs, &n)) return false;
    if ((commit || branch) && !cx_fine(c, cbx_run_builder_set_commit(b, commit, branch, &c->err))) return false;
    if (!set_members(c, b, "environment", cbx_run_builder_set_environment) ||
        !set_members(c, b, "metadata", cbx_run_builder_set_metadata))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!cx_fine(c, cbx_run_builder_add_metric_def(b, &defs[i], &c->err))) return false;
    return add_points(c, b);
}

/* Run(points, ...), and Run.from_results(results, ...). */
static PyObject *make_run(cx_call *c)
{
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    int64_t timestamp = 0;
    const char *id = NULL;
    cbx_run *run = NULL;
    bool detect, fine;

    if (!CX_GET(c, id, timestamp, detect)) return NULL;
    o.no_vcs = o.no_machine = o.no_versions = !detect;
    if (!cx_begin_long(c)) return NULL; /* it may run git */
    fine = cx_fine(c, cbx_run_builder_create(c->ctx, &o, &b, &c->err)) &&
           (!id || cx_fine(c, cbx_run_builder_set_id(b, id, &c->err))) &&
           (!cx_arg(c, "timestamp") || cx_fine(c, cbx_run_builder_set_timestamp(b, timestamp, &c->err))) &&
           (cx_parameter_of(c, "results") ? add_results(c, b) : set_all(c, b)) &&
           cx_fine(c, cbx_run_builder_freeze(b, &run, &c->err));
    cbx_run_builder_free(b);
    return fine ? cx_run_object(c->st, run) : NULL;
}

CX_RETURN(from_dict,
          (cbx_run *run = NULL;
           CX_OWN_JSON cbx_json *json = cx_json_from(cx_arg(c, "mapping") ? cx_arg(c, "mapping") : Py_None, "run")),
          (json || (!PyErr_Occurred() && cx_refuse(c, "mapping", PyExc_TypeError, "a dict", Py_None))) && cx_begin(c) &&
              cx_fine(c, cbx_run_from_json(c->ctx, json, "run", &run, &c->err)),
          cx_run_object(c->st, run))

CX_RETURN(read_run, (cbx_run *run = NULL; const char *path),
          CX_GET(c, path) && cx_begin_long(c) && cx_fine(c, cbx_run_read(c->ctx, path, &run, &c->err)),
          cx_run_object(c->st, run))

/* ---- methods ---- */

static PyObject *to_dict(cx_call *c) { return cx_json_answer(cbx_run_to_json(run_of(c->self))); }

CX_RETURN(write_run, (const char *path), CX_GET(c, path) && cx_begin_long(c),
          cx_none(c, cbx_run_write(c->ctx, run_of(c->self), path, &c->err)))

static PyObject *points_of(PyObject *self)
{
    return CX_TUPLE(cbx_run_npoints(run_of(self)),
                    cx_point_object(cx_state_of_instance(self), cbx_run_point(run_of(self), i)));
}

static PyObject *defs_of(PyObject *self)
{
    return CX_DICT(cbx_run_nmetric_defs(run_of(self)), cbx_run_metric_def(run_of(self), i)->name,
                   cx_metric_def_object(cx_state_of_instance(self), cbx_run_metric_def(run_of(self), i)));
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
    CX_OWN PyObject *s = cbx_run_hash(run_of(self), text, &err) ? cx_raise(err.status, err.message)
                                                                : PyUnicode_FromString(text);

    return s ? PyObject_Hash(s) : -1;
}

static PyObject *run_reduce(PyObject *self, PyObject *unused)
{
    PyObject *maker = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "from_dict");

    (void)unused;
    return maker ? Py_BuildValue("(N(N))", maker, cx_json_answer(cbx_run_to_json(run_of(self)))) : NULL;
}

#define ATTRIBUTES(X)                                                                                                  \
    X(id, "str: 12 hex digits, or what was given", PyUnicode_FromString(cbx_run_id(run_of(self))))                     \
    X(timestamp, "datetime: datetime, UTC", cx_time_object(cbx_run_timestamp_us(run_of(self))))                        \
    X(commit, "str | None: full hash, or None", cx_text_or_none(cbx_run_commit(run_of(self))))                         \
    X(branch, "str | None: name, or None", cx_text_or_none(cbx_run_branch(run_of(self))))                              \
    X(environment, "dict[str, Any]: dict: machine, hardware, versions ...",                                            \
      cx_json_object(cbx_run_environment(run_of(self))))                                                               \
    X(metadata, "dict[str, Any]: dict of what else is known", cx_json_object(cbx_run_metadata(run_of(self))))          \
    X(metric_defs, "dict[str, MetricDef]: dict of MetricDef by name", defs_of(self))                                   \
    X(points, "tuple[Point, ...]: tuple of Point", points_of(self))
CX_GETTERS(run_members, ATTRIBUTES)

/* clang-format off */
#define RUN_SIGNATURE "points: Iterable[Point | Mapping[str, Any]], *, id: str | None = None, timestamp: Time | None = None, commit: str | None = None, branch: str | None = None, environment: Mapping[str, Any] = {}, metadata: Mapping[str, Any] = {}, metric_defs: Definitions = {}, detect: bool = True"
#define METHODS(X) \
    X(to_dict, "", "dict[str, Any]", to_dict, 0, "The run as its file has it.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> r.to_dict()['id']\n'a'") \
    X(write, "path: Path, /", "None", write_run, 0, "Writes the run as a file, atomically.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> r.write(os.path.join(folder, 'r.json'))")
#define CLASS_METHODS(X) \
    X(from_dict, "mapping: Mapping[str, Any] | object, /", "Run", from_dict, 0, "A Run of a dict as to_dict returns it, or as the Python package calibrax does; read strictly.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> cx.Run.from_dict(r.to_dict()) == r\nTrue") \
    X(from_results, "results: Iterable[object], *, id: str | None = None, timestamp: Time | None = None, detect: bool = True", "Run", make_run, 0, "A Run of results as the Python package calibrax has them: BenchmarkResult objects, or dicts as their to_dict returns. A point each; timing and resources become metrics with definitions, unless a result has a metric of that name.\n\n>>> cx.Run.from_results([], detect=False).points\n()") \
    X(read, "path: Path, /", "Run", read_run, 0, "A run file.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> r.write(os.path.join(folder, 'q.json'))\n>>> cx.Run.read(os.path.join(folder, 'q.json')) == r\nTrue")
#define RUN_DOC "One execution of a set of benchmarks: points with metrics, and what is needed to compare it later.\n\nWith detect the commit, branch, machine and versions are found; what is given replaces them."
/* clang-format on */
METHODS(CX_OF_TYPE)
CLASS_METHODS(CX_OF_CLASS)
static PyMethodDef run_methods[] = {
    METHODS(CX_OF_TYPE_ROW) CLASS_METHODS(CX_OF_CLASS_ROW){ "__reduce__", run_reduce, METH_NOARGS, NULL },
    { 0 },
};

const cx_object_type cx_run_object_type = { .name = "calibrax_c.Run",
                                            .doc = RUN_DOC,
                                            .free = run_free,
                                            .methods = run_methods,
                                            .make = CX_MAKER(Run, RUN_SIGNATURE, make_run),
                                            .bare = true,
                                            .members = run_members,
                                            .repr = run_repr,
                                            .compare = run_compare,
                                            .hash = run_hash };
