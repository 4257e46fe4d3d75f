/*
 * Store: a folder of runs.  A store has a context of its own, and a lock: the interpreter's is let go of while files are read and
 * written, and other threads may ask the same store meanwhile.
 */
#include "python/store.h"

#include <string.h>

static cx_store_object *of(PyObject *self) { return cx_store_of(self); }
static cx_state *state_of(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

PyThreadState *cx_store_enter(PyObject *self)
{
    PyThreadState *t = PyEval_SaveThread();
    pthread_mutex_lock(&of(self)->lock);
    return t;
}

void cx_store_leave(PyObject *self, PyThreadState *t)
{
    pthread_mutex_unlock(&of(self)->lock);
    PyEval_RestoreThread(t);
}

cbx_status cx_store_closed(PyObject *self, cbx_err *err)
{
    return of(self)->store ? CBX_OK : cbx_fail(err, CBX_EINVAL, "the store was closed");
}

/* ---- opening, closing ---- */

static void store_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cbx_store_close(of(self)->store);
    cbx_ctx_free(of(self)->ctx);
    if (of(self)->has_lock) pthread_mutex_destroy(&of(self)->lock);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *store_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    static char *names[] = { "path", "create", "index", NULL };
    cbx_store_opts o = CBX_STORE_OPTS_INIT;
    PyObject *where, *bytes = NULL;
    const char *path;
    int create = 1, index = 1;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    cx_store_object *self;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$pp:Store", names, &where, &create, &index) ||
        !cx_path_from(where, &bytes, &path))
        return NULL;
    self = (cx_store_object *)PyType_GenericAlloc(type, 0);
    if (self) {
        self->has_lock = pthread_mutex_init(&self->lock, NULL) == 0;
        o.create_late = create;
        o.no_index_file = !index;
        Py_BEGIN_ALLOW_THREADS status = cbx_ctx_create(NULL, &self->ctx, &err);
        if (!status) status = cbx_store_open(self->ctx, path, &o, &self->store, &err);
        Py_END_ALLOW_THREADS if (status)
        {
            Py_CLEAR(self);
            cx_raise(status, err.message);
        }
    }
    Py_XDECREF(bytes);
    return (PyObject *)self;
}

static PyObject *store_close(PyObject *self, PyObject *unused)
{
    PyThreadState *t = cx_store_enter(self);

    (void)unused;
    cbx_store_close(of(self)->store);
    of(self)->store = NULL;
    cx_store_leave(self, t);
    Py_RETURN_NONE;
}

static PyObject *store_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *store_exit(PyObject *self, PyObject *args)
{
    (void)args;
    Py_XDECREF(store_close(self, NULL));
    Py_RETURN_FALSE;
}

/* ---- single runs ---- */

static PyObject *store_save(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "run", "replace", NULL };
    PyObject *given;
    int replace = 0;
    cbx_run *run;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    PyThreadState *t;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$p:save", names, &given, &replace)) return NULL;
    run = cx_run_of(state_of(self), given);
    if (!run) return NULL;
    t = cx_store_enter(self);
    status = cx_store_closed(self, &err);
    if (!status) status = cbx_store_save(of(self)->store, run, replace, &err);
    cx_store_leave(self, t);
    if (status == CBX_EEXIST) {
        PyErr_SetString(PyExc_FileExistsError, err.message);
        return NULL;
    }
    if (status) return cx_raise(status, err.message);
    return PyUnicode_FromFormat("%s/runs/%s.json", cbx_store_root(of(self)->store), cbx_run_id(run));
}

static PyObject *load(PyObject *self, const char *which)
{
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    PyThreadState *t = cx_store_enter(self);
    cbx_status status = cx_store_closed(self, &err);

    if (!status) status = cbx_store_load(of(self)->store, which, &run, &err);
    cx_store_leave(self, t);
    return status ? cx_raise(status, err.message) : cx_run_object(state_of(self), run);
}

static PyObject *store_load(PyObject *self, PyObject *which)
{
    const char *text = cx_text_of(which, "the id of a run");
    return text ? load(self, text) : NULL;
}

static PyObject *store_latest(PyObject *self, PyObject *unused)
{
    (void)unused;
    return load(self, "latest");
}

/* Something done by name, without an answer. */
static PyObject *by_name(PyObject *self, const char *name, cbx_status (*act)(cbx_store *, const char *, cbx_err *))
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    PyThreadState *t;

    if (!name) return NULL;
    t = cx_store_enter(self);
    status = cx_store_closed(self, &err);
    if (!status) status = act(of(self)->store, name, &err);
    cx_store_leave(self, t);
    if (status) return cx_raise(status, err.message);
    Py_RETURN_NONE;
}

static PyObject *store_remove(PyObject *self, PyObject *which)
{
    return by_name(self, cx_text_of(which, "the id of a run"), cbx_store_remove);
}

/* ---- queries ---- */

static char *query_names[] = { "point",   "scenario", "metric", "tags",  "branch", "commit",
                               "machine", "since",    "until",  "limit", NULL };

bool cx_query_read(PyObject *args, PyObject *kw, cx_query *a)
{
    const char *text[6] = { 0 };
    PyObject *tags = NULL, *since = NULL, *until = NULL;
    Py_ssize_t limit = 0;

    cbx_arena_init(&a->arena, cbx_allocator_default());
    a->query = (cbx_store_query){ 0 };
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|$zzzOzzzOOn", query_names, &text[0], &text[1], &text[2], &tags,
                                     &text[3], &text[4], &text[5], &since, &until, &limit))
        return false;
    a->query.point = text[0];
    a->query.scenario = text[1];
    a->query.metric = text[2];
    a->query.branch = text[3];
    a->query.commit = text[4];
    a->query.machine = text[5];
    if (limit < 0) {
        PyErr_SetString(PyExc_ValueError, "limit is less than 0");
        return false;
    }
    a->query.limit = (size_t)limit;
    if (since && since != Py_None && !cx_time_from(since, &a->query.since_us)) return false;
    if (until && until != Py_None && !cx_time_from(until, &a->query.until_us)) return false;
    return cx_tags_from(tags, &a->arena, &a->query.tags, &a->query.ntags);
}

static PyObject *entry_object(cx_state *st, const cbx_store_entry *e)
{
    return cx_record_new(st, CX_RUN_ENTRY,
                         (PyObject *[]){ PyUnicode_FromString(e->id), cx_time_object(e->timestamp_us),
                                         cx_text_or_none(e->commit), cx_text_or_none(e->branch),
                                         cx_text_or_none(e->machine), PyLong_FromSize_t(e->npoints),
                                         PyLong_FromUnsignedLongLong(e->bytes) });
}

static cbx_status ask(PyObject *self, const cbx_store_query *q, cbx_store_list *list, cbx_err *err)
{
    PyThreadState *t = cx_store_enter(self);
    cbx_status status = cx_store_closed(self, err);

    if (!status) status = cbx_store_query_runs(of(self)->store, q, list, err);
    cx_store_leave(self, t);
    return status;
}

/* What a query finds: entries, or the runs themselves. */
static PyObject *found(PyObject *self, const cbx_store_query *q, bool whole)
{
    cbx_store_list list;
    cbx_err err = CBX_ERR_INIT;
    PyObject *out;

    if (ask(self, q, &list, &err)) return cx_raise(err.status, err.message);
    out = PyList_New((Py_ssize_t)list.count);
    for (size_t i = 0; out && i < list.count; i++) {
        PyObject *v = whole ? load(self, list.entries[i].id) : entry_object(state_of(self), &list.entries[i]);
        if (!v || PyList_SetItem(out, (Py_ssize_t)i, v) < 0) Py_CLEAR(out);
    }
    cbx_store_list_clear(&list);
    return out;
}

static PyObject *store_entries(PyObject *self, PyObject *args, PyObject *kw)
{
    cx_query a;
    PyObject *out = cx_query_read(args, kw, &a) ? found(self, &a.query, false) : NULL;

    cbx_arena_clear(&a.arena);
    return out;
}

static PyObject *store_list_runs(PyObject *self, PyObject *args, PyObject *kw)
{
    cx_query a;
    PyObject *out = cx_query_read(args, kw, &a) ? found(self, &a.query, true) : NULL;

    cbx_arena_clear(&a.arena);
    return out;
}

static PyObject *store_query(PyObject *self, PyObject *args, PyObject *tags)
{
    cx_query a = { 0 };
    PyObject *out = NULL;

    if (PyTuple_Size(args) > 0) {
        PyErr_SetString(PyExc_TypeError, "query takes tags by name: query(framework='jax')");
        return NULL;
    }
    cbx_arena_init(&a.arena, cbx_allocator_default());
    if (cx_tags_from(tags, &a.arena, &a.query.tags, &a.query.ntags)) out = found(self, &a.query, true);
    cbx_arena_clear(&a.arena);
    return out;
}

/* ---- trends ---- */

static PyObject *trend_point(cx_state *st, const cbx_trend_point *p)
{
    return cx_record_new(st, CX_TREND_POINT,
                         (PyObject *[]){ PyUnicode_FromString(p->run_id), cx_time_object(p->timestamp_us),
                                         PyFloat_FromDouble(p->value), cx_text_or_none(p->commit),
                                         cx_text_or_none(p->branch), cx_text_or_none(p->machine),
                                         cx_number_or_none(p->lower), cx_number_or_none(p->upper) });
}

static PyObject *series_object(cx_state *st, const cbx_trend_series *s)
{
    PyObject *points = PyTuple_New((Py_ssize_t)s->npoints);

    for (size_t i = 0; points && i < s->npoints; i++) {
        PyObject *p = trend_point(st, &s->points[i]);
        if (!p || PyTuple_SetItem(points, (Py_ssize_t)i, p) < 0) Py_CLEAR(points);
    }
    return cx_record_new(st, CX_TREND_SERIES,
                         (PyObject *[]){ PyUnicode_FromString(s->metric), PyUnicode_FromString(s->point),
                                         PyUnicode_FromString(s->scenario), cx_tags_object(s->tags, s->ntags),
                                         points });
}

static PyObject *trends(PyObject *self, const cbx_store_query *q)
{
    cbx_trend trend;
    cbx_err err = CBX_ERR_INIT;
    PyThreadState *t = cx_store_enter(self);
    cbx_status status = cx_store_closed(self, &err);
    PyObject *out;

    if (!status) status = cbx_store_trend(of(self)->store, q, &trend, &err);
    cx_store_leave(self, t);
    if (status) return cx_raise(status, err.message);
    out = PyList_New((Py_ssize_t)trend.count);
    for (size_t i = 0; out && i < trend.count; i++) {
        PyObject *s = series_object(state_of(self), &trend.series[i]);
        if (!s || PyList_SetItem(out, (Py_ssize_t)i, s) < 0) Py_CLEAR(out);
    }
    cbx_trend_clear(&trend);
    return out;
}

static PyObject *store_trend(PyObject *self, PyObject *args, PyObject *kw)
{
    cx_query a;
    PyObject *out = cx_query_read(args, kw, &a) ? trends(self, &a.query) : NULL;

    cbx_arena_clear(&a.arena);
    return out;
}

/* The one series of that name: several are never mixed. */
static PyObject *only_series(cx_state *st, PyObject *list, const char *metric, const char *point, PyObject *tags)
{
    Py_ssize_t n = list ? PyList_Size(list) : 0;

    if (!list) return NULL;
    if (n == 1) return Py_NewRef(PyList_GetItem(list, 0));
    if (n > 1) {
        PyErr_Format(PyExc_ValueError, "%zd series of '%s' have points '%s' with these tags: add tags, or use trend()",
                     n, metric, point);
        return NULL;
    }
    return cx_record_new(st, CX_TREND_SERIES,
                         (PyObject *[]){ PyUnicode_FromString(metric), PyUnicode_FromString(point),
                                         PyUnicode_FromString(""),
                                         tags && tags != Py_None ? PyDict_Copy(tags) : PyDict_New(), PyTuple_New(0) });
}

static PyObject *store_extract_trend(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "metric", "point_name", "tags", "n_runs", NULL };
    const char *metric, *point;
    PyObject *tags = NULL, *limit = NULL, *list = NULL, *out = NULL;
    cx_query a = { 0 };

    if (!PyArg_ParseTupleAndKeywords(args, kw, "ss|O$O:extract_trend", names, &metric, &point, &tags, &limit))
        return NULL;
    cbx_arena_init(&a.arena, cbx_allocator_default());
    a.query.metric = metric;
    a.query.point = point;
    if (limit && limit != Py_None) a.query.limit = PyLong_AsSize_t(limit);
    if (!PyErr_Occurred() && cx_tags_from(tags, &a.arena, &a.query.tags, &a.query.ntags)) list = trends(self, &a.query);
    out = only_series(state_of(self), list, metric, point, tags);
    Py_XDECREF(list);
    cbx_arena_clear(&a.arena);
    return out;
}

/* ---- baselines, definitions, care ---- */

static PyObject *store_set_baseline(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "run_id", "name", NULL };
    const char *which, *name = CBX_BASELINE_MAIN;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    PyThreadState *t;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "s|s:set_baseline", names, &which, &name)) return NULL;
    t = cx_store_enter(self);
    status = cx_store_closed(self, &err);
    if (!status) status = cbx_store_baseline_set(of(self)->store, name, which, &err);
    cx_store_leave(self, t);
    if (status) return cx_raise(status, err.message);
    Py_RETURN_NONE;
}

static PyObject *store_get_baseline(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "name", NULL };
    const char *name = CBX_BASELINE_MAIN;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    PyThreadState *t;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|s:get_baseline", names, &name)) return NULL;
    t = cx_store_enter(self);
    status = cx_store_closed(self, &err);
    if (!status) status = cbx_store_baseline_get(of(self)->store, name, &run, &err);
    cx_store_leave(self, t);
    if (status == CBX_ENOENT) Py_RETURN_NONE;
    return status ? cx_raise(status, err.message) : cx_run_object(state_of(self), run);
}

static PyObject *store_remove_baseline(PyObject *self, PyObject *name)
{
    return by_name(self, cx_text_of(name, "the name of a baseline"), cbx_store_baseline_remove);
}

static PyObject *store_baselines(PyObject *self, PyObject *unused)
{
    const char *const *names = NULL;
    size_t n = 0;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    PyThreadState *t = cx_store_enter(self);
    cbx_status status = cx_store_closed(self, &err);
    PyObject *out;

    (void)unused;
    cbx_arena_init(&arena, cbx_ctx_allocator(of(self)->ctx));
    if (!status) status = cbx_store_baselines(of(self)->store, &arena, &names, &n, &err);
    cx_store_leave(self, t);
    out = status ? cx_raise(status, err.message) : PyList_New((Py_ssize_t)n);
    for (size_t i = 0; out && i < n; i++) {
        PyObject *v = PyUnicode_FromString(names[i]);
        if (!v || PyList_SetItem(out, (Py_ssize_t)i, v) < 0) Py_CLEAR(out);
    }
    cbx_arena_clear(&arena);
    return out;
}

static PyObject *store_metric_def(PyObject *self, PyObject *metric)
{
    const char *name = cx_text_of(metric, "the name of a metric");
    cbx_metric_def def;
    cbx_arena arena;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    PyThreadState *t;
    PyObject *out;

    if (!name) return NULL;
    t = cx_store_enter(self);
    cbx_arena_init(&arena, cbx_ctx_allocator(of(self)->ctx));
    status = cx_store_closed(self, &err);
    if (!status) status = cbx_store_metric_def(of(self)->store, name, &arena, &def, &err);
    cx_store_leave(self, t);
    if (status == CBX_ENOENT)
        out = Py_NewRef(Py_None);
    else
        out = status ? cx_raise(status, err.message) : cx_metric_def_object(state_of(self), &def);
    cbx_arena_clear(&arena);
    return out;
}

static PyObject *store_problems(PyObject *self, PyObject *unused)
{
    cbx_store_report r;
    cbx_err err = CBX_ERR_INIT;
    PyThreadState *t = cx_store_enter(self);
    cbx_status status = cx_store_closed(self, &err);
    PyObject *out;

    (void)unused;
    if (!status) status = cbx_store_verify(of(self)->store, &r, &err);
    cx_store_leave(self, t);
    if (status) return cx_raise(status, err.message);
    out = PyList_New((Py_ssize_t)r.nproblems);
    for (size_t i = 0; out && i < r.nproblems; i++) {
        PyObject *v = Py_BuildValue("(ss)", r.problems[i].file, r.problems[i].message);
        if (!v || PyList_SetItem(out, (Py_ssize_t)i, v) < 0) Py_CLEAR(out);
    }
    cbx_store_report_clear(&r);
    return out;
}

/* ---- the type ---- */

static PyObject *store_repr(PyObject *self)
{
    return of(self)->store ? PyUnicode_FromFormat("Store('%s')", cbx_store_root(of(self)->store))
                           : PyUnicode_FromString("Store(closed)");
}

static PyObject *get_path(PyObject *self, void *unused)
{
    (void)unused;
    return cx_text_or_none(of(self)->store ? cbx_store_root(of(self)->store) : NULL);
}

#define QUERY                                                                                                          \
    "point: str | None = None, scenario: str | None = None, metric: str | None = None, "                               \
    "tags: Mapping[str, str] | None = None, branch: str | None = None, commit: str | None = None, "                    \
    "machine: str | None = None, since: Time | None = None, until: Time | None = None, "                               \
    "limit: int = 0"
#define KEYWORDS(f) (PyCFunction)(void (*)(void))(f), METH_VARARGS | METH_KEYWORDS

static PyMethodDef store_methods[] = {
    { "save", KEYWORDS(store_save),
      "save($self, run: Run, *, replace: bool = False) -> str\n--\n\nKeeps a run under its id and returns the path of "
      "its file; a run of "
      "that id "
      "that differs is a FileExistsError unless it is to be replaced." },
    { "load", store_load, METH_O,
      "load($self, which: str, /) -> Run\n--\n\nA run by its id, the beginning of one id only, or 'latest'." },
    { "latest", store_latest, METH_NOARGS, "latest($self) -> Run\n--\n\nThe newest run." },
    { "remove", store_remove, METH_O,
      "remove($self, run_id: str, /) -> None\n--\n\nRemoves a run; baselines are copies and stay." },
    { "entries", KEYWORDS(store_entries),
      "entries($self, *, " QUERY
      ") -> list[RunEntry]\n--\n\nRunEntry of each run that has all this, newest first, from the index." },
    { "list_runs", KEYWORDS(store_list_runs),
      "list_runs($self, *, " QUERY ") -> list[Run]\n--\n\nThe runs themselves, newest first." },
    { "query", KEYWORDS(store_query),
      "query($self, **tags: str) -> list[Run]\n--\n\nRuns with a point that has all these tags, newest first." },
    { "trend", KEYWORDS(store_trend),
      "trend($self, *, " QUERY ") -> list[TrendSeries]\n--\n\nA TrendSeries for each metric of each configuration; "
      "limit counts values of a series." },
    { "extract_trend", KEYWORDS(store_extract_trend),
      "extract_trend($self, metric: str, point_name: str, tags: Mapping[str, str] | None = None, *, n_runs: int | None "
      "= None) -> TrendSeries\n--\n\nThe one TrendSeries of that name; a "
      "ValueError if several configurations have it." },
    { "set_baseline", KEYWORDS(store_set_baseline),
      "set_baseline($self, run_id: str, name: str = 'main') -> None\n--\n\nKeeps a copy of a run as the baseline of a "
      "name." },
    { "get_baseline", KEYWORDS(store_get_baseline),
      "get_baseline($self, name: str = 'main') -> Run | None\n--\n\nThe Run, or None." },
    { "remove_baseline", store_remove_baseline, METH_O,
      "remove_baseline($self, name: str, /) -> None\n--\n\nRemoves a baseline." },
    { "baselines", store_baselines, METH_NOARGS,
      "baselines($self) -> list[str]\n--\n\nNames of the baselines, sorted." },
    { "metric_def", store_metric_def, METH_O,
      "metric_def($self, metric: str, /) -> MetricDef | None\n--\n\nMetricDef of the newest run that has one, else of "
      "config.json; None: nobody "
      "says." },
    { "problems", store_problems, METH_NOARGS,
      "problems($self) -> list[tuple[str, str]]\n--\n\nReads every file anew: (file, sentence) of each that is not "
      "what it was written as." },
    { "ingest", KEYWORDS(cx_store_ingest),
      "ingest($self, *paths: Path, format: str | None = None, commit: str | None = None, branch: str | None = None, "
      "machine: str | None = None, replace: bool = False) -> Ingested\n--\n\nTakes files of "
      "other tools, or folders of them, as runs: an Ingested, with what was left out and why. format None: found out; "
      "machine: of files that name none, 'here' for this one." },
    { "export", KEYWORDS(cx_store_export),
      "export($self, to: Path, *, " QUERY
      ") -> Care\n--\n\nCopies the runs that have all this into another store, made if missing: "
      "a Care." },
    { "compact", KEYWORDS(cx_store_compact_runs),
      "compact($self, newest: int = 0, *, since: Time | None = None, dry: bool = False) -> Care\n--\n\nKeeps the "
      "newest runs of each branch and machine (0: "
      "all), those of baselines and those since a time, and removes the others, for good: a Care. dry: say only." },
    { "migrate", KEYWORDS(cx_store_migrate_runs),
      "migrate($self, *, dry: bool = False) -> Care\n--\n\nRewrites runs of older schemas in the present one: a "
      "Care." },
    { "close", store_close, METH_NOARGS,
      "close($self) -> None\n--\n\nLets go of the store; what is asked afterwards is a ValueError." },
    { "__enter__", store_enter, METH_NOARGS, NULL },
    { "__exit__", store_exit, METH_VARARGS, NULL },
    { 0 },
};
static PyGetSetDef store_members[] = {
    { "path", get_path, NULL, "str | None: the folder; None: closed", NULL },
    { 0 },
};
static PyType_Slot store_slots[] = {
    { Py_tp_new, store_new },
    { Py_tp_dealloc, store_dealloc },
    { Py_tp_repr, store_repr },
    { Py_tp_getset, store_members },
    { Py_tp_methods, store_methods },
    { Py_tp_doc,
      "Store(path: Path, *, create: bool = True, index: bool = True) -> Store\n--\n\n"
      "A folder of runs that the Python package calibrax reads and writes, too; one that is missing is made when "
      "the first run is saved, unless create is false. Any number of processes and threads may use it." },
    { 0, NULL },
};
static PyType_Spec store_spec = {
    .name = "calibrax_c.Store",
    .basicsize = sizeof(cx_store_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = store_slots,
};

bool cx_add_store(cx_state *st, PyObject *module)
{
    st->store_type = cx_type(st, &store_spec);
    return st->store_type && PyModule_AddObjectRef(module, "Store", (PyObject *)st->store_type) == 0;
}
