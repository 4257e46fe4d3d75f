/*
 * Store: a folder of runs; and files of other benchmark tools as runs: read into Python, or taken
 * into a store as they come.  A store has a context of its own, and a lock: the interpreter's is
 * released while files are read and written, and other threads may use the same store meanwhile.
 */
#include <pthread.h>
#include <string.h>

#include "python/objects.h"

/* The handle of a Store. */
typedef struct shared_store {
    cbx_store *store; /* NULL: closed */
    pthread_mutex_t lock;
} shared_store;

static shared_store *of(PyObject *self) { return ((cx_object *)self)->handle; }

/* Releases the interpreter's lock and takes the store's; between the two no Python object may be
 * touched. */
static PyThreadState *enter(PyObject *self)
{
    PyThreadState *t = PyEval_SaveThread();
    pthread_mutex_lock(&of(self)->lock);
    return t;
}

static void leave(PyObject *self, PyThreadState *t)
{
    pthread_mutex_unlock(&of(self)->lock);
    PyEval_RestoreThread(t);
}

/* The status of a call, alone with the store of c->self and without the interpreter's lock. */
#define IN_STORE(c, call)                                                                                              \
    ({                                                                                                                 \
        PyThreadState *t_ = enter((c)->self);                                                                          \
        cbx_status status_ = STORE(c) ? CBX_OK : cbx_fail(&(c)->err, CBX_EINVAL, "the store was closed");              \
        if (!status_) status_ = (call);                                                                                \
        leave((c)->self, t_);                                                                                          \
        status_;                                                                                                       \
    })
#define STORE(c) of((c)->self)->store

/* STORED(name, (variables), condition, call, result): a method that reads arguments, makes a call
 * alone with the store, and returns a result of its status. */
#define STORED(name, variables, condition, call, result)                                                               \
    static PyObject *name(cx_call *c)                                                                                  \
    {                                                                                                                  \
        CX_BARE variables;                                                                                             \
        if (!(condition)) return NULL;                                                                                 \
        const cbx_status status = IN_STORE(c, call);                                                                   \
        return result;                                                                                                 \
    }

/* ---- opening, closing ---- */

static void store_free(cx_object *o)
{
    shared_store *s = o->handle;

    cbx_store_close(s->store);
    pthread_mutex_destroy(&s->lock);
    PyMem_Free(s);
}

static PyObject *make_store(cx_call *c)
{
    cbx_store_opts o = CBX_STORE_OPTS_INIT;
    shared_store *s;
    cx_object *self;
    bool create, index;
    cbx_status status;
    const char *path;

    if (!CX_GET(c, path, create, index) || !(self = cx_object_new(c->st, CX_STORE_TYPE))) return NULL;
    self->handle = s = PyMem_Calloc(1, sizeof *s);
    if (!s) return cx_object_made(self, CBX_ENOMEM, &c->err);
    pthread_mutex_init(&s->lock, NULL);
    o.create_late = create;
    o.no_index_file = !index;
    c->unlocked = PyEval_SaveThread();
    status = cbx_store_open(self->ctx, path, &o, &s->store, &c->err);
    cx_fine(c, status);
    return cx_object_made(self, status, &c->err);
}

static PyObject *do_close(cx_call *c)
{
    PyThreadState *t = enter(c->self);

    cbx_store_close(STORE(c));
    STORE(c) = NULL;
    leave(c->self, t);
    Py_RETURN_NONE;
}

/* ---- single runs and baselines ---- */

static PyObject *do_save(cx_call *c)
{
    cbx_run *run = NULL;
    bool replace;

    if (!CX_GET(c, run, replace)) return NULL;
    const cbx_status status = IN_STORE(c, cbx_store_save(STORE(c), run, replace, &c->err));
    if (status == CBX_EEXIST) return PyErr_SetString(PyExc_FileExistsError, c->err.message), NULL;
    return cx_fine(c, status) ? PyUnicode_FromFormat("%s/runs/%s.json", cbx_store_root(STORE(c)), cbx_run_id(run))
                              : NULL;
}

/* Refuses the newest run where a file cannot be read, which may be newer: an older run would pass
 * in its place. */
static cbx_status check_latest(cbx_store *store, const char *which, cbx_err *err)
{
    cbx_store_report r;
    cbx_status status;
    bool unused;

    if (strcmp(which, "latest") != 0) return CBX_OK;
    status = cbx_store_has_run(store, which, &unused, err); /* looks at the folder */
    if (status) return status;
    status = cbx_store_problems(store, &r, err);
    if (!status && r.nproblems)
        status = cbx_fail(err, CBX_EFORMAT,
                          "%s; it may be the latest run: repair it or remove it, or name a run by its id",
                          r.problems[0].message);
    cbx_store_report_clear(&r);
    return status;
}

static cbx_status load_run(cbx_store *store, const char *which, cbx_run **out, cbx_err *err)
{
    cbx_status status = check_latest(store, which, err);

    return status ? status : cbx_store_load(store, which, out, err);
}

static cbx_status set_baseline_of(cbx_store *store, const char *name, const char *which, cbx_err *err)
{
    cbx_status status = check_latest(store, which, err);

    return status ? status : cbx_store_baseline_set(store, name, which, err);
}

static PyObject *load(cx_call *c, const char *which)
{
    cbx_run *run = NULL;

    return cx_fine(c, IN_STORE(c, load_run(STORE(c), which, &run, &c->err))) ? cx_run_object(c->st, run) : NULL;
}

CX_RETURN(do_load, (const char *which = "latest"), !c->function->nparameters || CX_GET(c, which),
          load(c, which)) /* latest, too */

typedef cbx_status (*of_name)(cbx_store *, const char *, cbx_err *);
STORED(by_name, (const char *name), CX_GET(c, name), ((of_name)c->fn)(STORE(c), name, &c->err), cx_none(c, status))

STORED(set_baseline, (const char *run_id, *name = CBX_BASELINE_MAIN), CX_GET(c, run_id, name),
       set_baseline_of(STORE(c), name, run_id, &c->err), cx_none(c, status))

/* None where it is missing. */
#define OR_NONE(object) status == CBX_ENOENT ? Py_NewRef(Py_None) : cx_fine(c, status) ? (object) : NULL

STORED(get_baseline, (const char *name = CBX_BASELINE_MAIN; cbx_run *run = NULL), CX_GET(c, name),
       cbx_store_baseline_get(STORE(c), name, &run, &c->err), OR_NONE(cx_run_object(c->st, run)))

STORED(metric_def, (const char *metric; cbx_metric_def def), CX_GET(c, metric),
       cbx_store_metric_def(STORE(c), metric, cx_arena(c), &def, &c->err), OR_NONE(cx_metric_def_object(c->st, &def)))

STORED(baselines, (const char *const *names = NULL; size_t n = 0), true,
       cbx_store_baselines(STORE(c), cx_arena(c), &names, &n, &c->err),
       cx_fine(c, status) ? CX_LIST(n, PyUnicode_FromString(names[i])) : NULL)

/* ---- queries ---- */

static bool query_arg(cx_call *c, cbx_store_query *q)
{
    *q = (cbx_store_query){ 0 };
    return CX_GET(c, q->point, q->scenario, q->metric, q->branch, q->commit, q->machine, q->limit) &&
           CX_GET_AS(c, "since", q->since_us) && CX_GET_AS(c, "until", q->until_us) &&
           cx_tags_arg(c, "tags", &q->tags, &q->ntags);
}

static PyObject *entry_object(cx_state *st, const cbx_store_entry *e)
{
    return cx_record_new(st, CX_RUN_ENTRY, "(sNzzznK)", e->id, cx_time_object(e->timestamp_us), e->commit, e->branch,
                         e->machine, (Py_ssize_t)e->npoints, (unsigned long long)e->bytes);
}

/* What a query finds: entries, or the runs themselves. */
static PyObject *found(cx_call *c, const cbx_store_query *q, bool entries)
{
    CX_ENDED_BY(cbx_store_list_clear) cbx_store_list list = { 0 };

    if (!cx_fine(c, IN_STORE(c, cbx_store_query_runs(STORE(c), q, &list, &c->err)))) return NULL;
    return CX_LIST(list.count, entries ? entry_object(c->st, &list.entries[i]) : load(c, list.entries[i].id));
}

CX_RETURN(do_entries, (cbx_store_query q), query_arg(c, &q), found(c, &q, true))
CX_RETURN(do_list_runs, (cbx_store_query q), query_arg(c, &q), found(c, &q, false))

/* query(**tags): names of tags are the keywords, so it is not in the table. */
static PyObject *store_query(PyObject *self, PyObject *args, PyObject *tags)
{
    CX_ENDED_BY(cx_call_done) cx_call c;
    cbx_store_query q = { 0 };

    cx_call_init(&c, cx_state_of_instance(self), "query");
    c.self = self;
    if (PyTuple_Size(args) > 0)
        return PyErr_SetString(PyExc_TypeError, "query takes tags by name: query(framework='jax')"), NULL;
    return cx_tags_from(tags, cx_arena(&c), &q.tags, &q.ntags) ? found(&c, &q, false) : NULL;
}

/* ---- trends ---- */

static PyObject *trend_point(cx_state *st, const cbx_trend_point *p)
{
    return cx_record_new(st, CX_TREND_POINT, "(sNdzzzNN)", p->run_id, cx_time_object(p->timestamp_us), p->value,
                         p->commit, p->branch, p->machine, cx_number_or_none(p->lower), cx_number_or_none(p->upper));
}

static PyObject *series_object(cx_state *st, const cbx_trend_series *s)
{
    return cx_record_new(st, CX_TREND_SERIES, "(sssNN)", s->metric, s->point, s->scenario,
                         cx_tags_object(s->tags, s->ntags), CX_TUPLE(s->npoints, trend_point(st, &s->points[i])));
}

static PyObject *trends(cx_call *c, const cbx_store_query *q)
{
    CX_ENDED_BY(cbx_trend_clear) cbx_trend trend = { 0 };

    return cx_fine(c, IN_STORE(c, cbx_store_trend(STORE(c), q, &trend, &c->err)))
               ? CX_LIST(trend.count, series_object(c->st, &trend.series[i]))
               : NULL;
}

CX_RETURN(do_trend, (cbx_store_query q), query_arg(c, &q), trends(c, &q))

/* The one series of that name: several are never mixed. */
static PyObject *extract_trend(cx_call *c)
{
    PyObject *tags = cx_arg(c, "tags");
    CX_OWN PyObject *list = NULL;
    cbx_store_query q = { 0 };

    if (!CX_GET(c, q.metric) || !CX_GET_AS(c, "point_name", q.point) || !CX_GET_AS(c, "n_runs", q.limit) ||
        !cx_tags_arg(c, "tags", &q.tags, &q.ntags) || !(list = trends(c, &q)))
        return NULL;
    if (PyList_Size(list) == 1) return Py_NewRef(PyList_GetItem(list, 0));
    if (PyList_Size(list) > 1)
        return PyErr_Format(
            PyExc_ValueError,
            "extract_trend: %zd series of '%s' have points '%s' with these tags: add tags, or use trend()",
            PyList_Size(list), q.metric, q.point);
    return cx_record_new(c->st, CX_TREND_SERIES, "(sssN())", q.metric, q.point, "",
                         tags ? PyDict_Copy(tags) : PyDict_New());
}

/* ---- care ---- */

#define REPORT        CX_ENDED_BY(cbx_store_report_clear) cbx_store_report r = { 0 }
#define PROBLEM_OF(r) Py_BuildValue("(ss)", (r).problems[i].file, (r).problems[i].message)
static PyObject *care_object(cx_call *c, cbx_status status, const cbx_store_report *r)
{
    return cx_fine(c, status) ? cx_record_new(c->st, CX_CARE, "(nnKN)", (Py_ssize_t)r->files, (Py_ssize_t)r->changed,
                                              (unsigned long long)r->bytes, CX_TUPLE(r->nproblems, PROBLEM_OF(*r)))
                              : NULL;
}

STORED(do_problems, (REPORT), true, cbx_store_verify(STORE(c), &r, &c->err),
       cx_fine(c, status) ? CX_LIST(r.nproblems, PROBLEM_OF(r)) : NULL)

STORED(compact, (cbx_store_keep keep = { 0 }; REPORT),
       CX_GET(c, keep.newest, keep.dry) && CX_GET_AS(c, "since", keep.since_us),
       cbx_store_compact(STORE(c), &keep, &r, &c->err), care_object(c, status, &r))

STORED(migrate, (REPORT; bool dry), CX_GET(c, dry), cbx_store_migrate(STORE(c), dry, &r, &c->err),
       care_object(c, status, &r))

STORED(export_runs, (REPORT; cbx_store_query q; const char *to), CX_GET(c, to) && query_arg(c, &q),
       cbx_store_export(STORE(c), &q, to, &r, &c->err), care_object(c, status, &r))

/* ---- files of other tools ---- */

/* Options of importing; machine 'here' becomes the fingerprint of this machine. */
static bool import_opts(cx_call *c, cbx_import_opts *o, cbx_machine *machine)
{
    if (!CX_GET(c, o->format, o->commit, o->branch, o->machine)) return false;
    if (!o->machine || strcmp(o->machine, "here") != 0) return true;
    CX_CONTEXT(ctx, c->st);
    o->machine = machine->id;
    return ctx && cx_fine(c, cbx_machine_read(ctx, NULL, machine, &c->err));
}

static PyObject *note_object(cx_state *st, const char *file, const char *entry, const char *message)
{
    return cx_record_new(st, CX_IMPORT_NOTE, "(Nzs)", PyUnicode_DecodeFSDefault(file), entry, message);
}

/* A record of three lists that become tuples. */
typedef struct lists {
    PyObject *first, *second, *notes;
} lists;

static bool lists_new(cx_call *c, lists *l)
{
    return cx_keep_object(c, l->first = PyList_New(0)) && cx_keep_object(c, l->second = PyList_New(0)) &&
           cx_keep_object(c, l->notes = PyList_New(0));
}

static PyObject *lists_record(cx_call *c, cx_record_kind kind, const lists *l)
{
    return cx_record_new(c->st, kind, "(NNN)", PySequence_Tuple(l->first), PySequence_Tuple(l->second),
                         PySequence_Tuple(l->notes));
}

static bool add_notes(cx_call *c, PyObject *list, const char *file, const cbx_import *import)
{
    for (size_t i = 0; i < import->nnotes; i++)
        if (!cx_append(list, note_object(c->st, file, import->notes[i].entry, import->notes[i].message))) return false;
    if (import->nnotes_left_out) {
        const char *text = cbx_arena_printf(cx_arena(c), "%zu more notes of this kind are not shown",
                                            import->nnotes_left_out);
        return text ? cx_append(list, note_object(c->st, file, NULL, text)) : PyErr_NoMemory() != NULL;
    }
    return true;
}

/* Reads a file without the interpreter's lock. */
static cbx_status import_file(cx_call *c, cbx_ctx *ctx, const char *file, const cbx_import_opts *o, cbx_import *out)
{
    PyThreadState *t = PyEval_SaveThread();
    cbx_status status = cbx_import_file(ctx, file, o, out, &c->err);

    PyEval_RestoreThread(t);
    return status;
}

/* ---- one path: into the lists, or into a store ---- */

static bool skip(cx_call *c, const lists *l, const char *file, const char *message)
{
    return cx_append(l->second, note_object(c->st, file, NULL, message));
}

static bool keep_run(cx_call *c, const lists *l, const char *file, const cbx_import *import, size_t i, bool replace)
{
    const cbx_status status = IN_STORE(c, cbx_store_save(STORE(c), import->runs[i], replace, &c->err));

    if (status == CBX_ENOMEM) return PyErr_NoMemory() != NULL;
    if (status) return skip(c, l, file, c->err.message);
    return cx_append(l->first, cx_record_new(c->st, CX_INGESTED_RUN, "(snNs)", cbx_run_id(import->runs[i]),
                                             (Py_ssize_t)cbx_run_npoints(import->runs[i]),
                                             PyUnicode_DecodeFSDefault(file), import->format));
}

static bool take_path(cx_call *c, const lists *l, const char *path, const cbx_import_opts *o, bool store, bool replace)
{
    const char *const *files = NULL;
    size_t n = 0;
    cbx_status status = cbx_import_files(c->ctx, path, cx_arena(c), &files, &n, &c->err);

    if (status) return store ? skip(c, l, path, c->err.message) : cx_fine(c, status);
    for (size_t i = 0; i < n; i++) {
        CX_ENDED_BY(cbx_import_clear) cbx_import import = { 0 };
        status = import_file(c, c->ctx, files[i], o, &import);
        if (status && store && status != CBX_ENOMEM && skip(c, l, files[i], c->err.message)) continue;
        if (!cx_fine(c, status) || !add_notes(c, l->notes, files[i], &import)) return false;
        for (size_t k = 0; k < import.nruns; k++)
            if (!(store ? keep_run(c, l, files[i], &import, k, replace)
                        : cx_append(l->first, cx_run_object(c->st, cbx_run_ref(import.runs[k]))) &&
                              cx_append(l->second, PyUnicode_FromString(import.format))))
                return false;
        if (PyErr_CheckSignals() < 0) return false;
    }
    return true;
}

CX_RETURN(do_import, (cbx_import_opts o = CBX_IMPORT_OPTS_INIT; cbx_machine machine; const char *path; lists l),
          import_opts(c, &o, &machine) && CX_GET(c, path) && lists_new(c, &l) && cx_begin(c) &&
              take_path(c, &l, path, &o, false, false),
          lists_record(c, CX_IMPORTED, &l))

CX_VALUE(do_formats, (),
         CX_DICT(cbx_importers_count(), cbx_importers_at(i).name, PyUnicode_FromString(cbx_importers_at(i).summary)))

/* clang-format off */
#define INGEST(X) \
    X(import_runs, "path: Path, /, *, format: str | None = None, commit: str | None = None, branch: str | None = None, machine: str | None = None", "Imported", do_import, 0, "Runs from a file of another tool or of Calibrax, or from a folder of them. format None: detected from the content; commit, branch, machine: used for files that do not name them, machine 'here' for this machine.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> r.write(os.path.join(folder, 'r.json'))\n>>> cx.import_runs(os.path.join(folder, 'r.json')).formats\n('calibrax',)") \
    X(import_formats, "", "dict[str, str]", do_formats, 0, "Names of the supported formats, with a description of each.\n\n>>> 'hyperfine' in cx.import_formats()\nTrue")
/* clang-format on */
CX_FUNCTIONS(cx_ingest_methods, INGEST, LIGHT)

static PyObject *store_ingest(cx_call *c)
{
    cbx_import_opts o = CBX_IMPORT_OPTS_INIT;
    cbx_machine machine;
    bool replace;
    lists l;

    if (!import_opts(c, &o, &machine) || !CX_GET(c, replace)) return NULL;
    if (!c->nrest)
        return PyErr_SetString(PyExc_TypeError, "ingest: 'paths' must name a file or a folder: ingest('results.json')"),
               NULL;
    if (!cx_fine(c, IN_STORE(c, CBX_OK)) || !lists_new(c, &l) || !cx_begin(c)) return NULL;
    for (Py_ssize_t i = 0; i < c->nrest; i++) {
        CX_OWN PyObject *bytes = NULL;
        if (!PyUnicode_FSConverter(c->rest[i], &bytes) || !take_path(c, &l, PyBytes_AsString(bytes), &o, true, replace))
            return NULL;
    }
    return lists_record(c, CX_INGESTED, &l);
}

/* ---- the type ---- */

static PyObject *store_repr(PyObject *self)
{
    return of(self)->store ? PyUnicode_FromFormat("Store('%s')", cbx_store_root(of(self)->store))
                           : PyUnicode_FromString("Store(closed)");
}

#define ATTRIBUTES(X)                                                                                                  \
    X(path, "str | None: the folder; None: closed",                                                                    \
      cx_text_or_none(of(self)->store ? cbx_store_root(of(self)->store) : NULL))
CX_GETTERS(store_members, ATTRIBUTES)

/* clang-format off */
#define STORE_SIGNATURE "path: Path, *, create: bool = True, index: bool = True"
#define STORE_DOC "A folder of runs that the Python package calibrax reads and writes, too; one that is missing is made when the first run is saved, unless create is false. Any number of processes and threads may use it."
#define QUERY "point: str | None = None, scenario: str | None = None, metric: str | None = None, tags: Mapping[str, str] | None = None, branch: str | None = None, commit: str | None = None, machine: str | None = None, since: Time | None = None, until: Time | None = None, limit: int = 0"
#define METHODS(X) \
    X(save, "run: Run, *, replace: bool = False", "str", do_save, 0, "Keeps a run under its id and returns the path of its file; a run of that id that differs is a FileExistsError unless it is to be replaced.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> os.path.basename(f)\n'a.json'") \
    X(load, "which: str, /", "Run", do_load, 0, "A run by its id, a unique prefix of one, or 'latest': a ValueError where a file that cannot be read may be newer.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.load('a').id\n'a'") \
    X(latest, "", "Run", do_load, 0, "The newest run; a ValueError where a file that cannot be read may be newer.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.latest().id\n'a'") \
    X(remove, "name: str, /", "None", by_name, cbx_store_remove, "Removes a run by its id; baselines are copies and stay.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.remove('a')") \
    X(entries, "*, " QUERY, "list[RunEntry]", do_entries, 0, "RunEntry of each run that has all this, newest first, from the index.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.entries(point='p')[0].id\n'a'") \
    X(list_runs, "*, " QUERY, "list[Run]", do_list_runs, 0, "The runs themselves, newest first.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> len(s.list_runs())\n1") \
    X(trend, "*, " QUERY, "list[TrendSeries]", do_trend, 0, "A TrendSeries for each metric of each configuration; limit counts values of a series.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.trend(metric='t')[0].point_name\n'p'") \
    X(extract_trend, "metric: str, point_name: str, tags: Mapping[str, str] | None = None, *, n_runs: int | None = None", "TrendSeries", extract_trend, 0, "The one TrendSeries of that name; a ValueError if several configurations have it.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.extract_trend('t', 'p').points[0].value\n1.0") \
    X(set_baseline, "run_id: str, name: str = 'main'", "None", set_baseline, 0, "Keeps a copy of a run as the baseline of a name.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.set_baseline('a')") \
    X(get_baseline, "name: str = 'main'", "Run | None", get_baseline, 0, "The baseline, or None.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.get_baseline() is None\nTrue") \
    X(remove_baseline, "name: str, /", "None", by_name, cbx_store_baseline_remove, "Removes a baseline.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.set_baseline('a')\n>>> s.remove_baseline('main')") \
    X(baselines, "", "list[str]", baselines, 0, "Names of the baselines, sorted.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.baselines()\n[]") \
    X(metric_def, "metric: str, /", "MetricDef | None", metric_def, 0, "MetricDef of the newest run that has one, else of config.json; None: undefined.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.metric_def('t') is None\nTrue") \
    X(problems, "", "list[tuple[str, str]]", do_problems, 0, "Verifies every file: (file, message) for each that has a problem.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.problems()\n[]") \
    X(ingest, "*paths: Path, format: str | None = None, commit: str | None = None, branch: str | None = None, machine: str | None = None, replace: bool = False", "Ingested", store_ingest, 0, "Takes files of other tools, or folders of them, as runs: an Ingested, with what was left out and why. format None: found; machine: of files that name none, 'here' for this one.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> len(s.ingest(f).runs)\n1") \
    X(export, "to: Path, *, " QUERY, "Care", export_runs, 0, "Copies the matching runs into another store, which is created if missing.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.export(tempfile.mkdtemp()).changed\n1") \
    X(compact, "newest: int = 0, *, since: Time | None = None, dry: bool = False", "Care", compact, 0, "Keeps the newest runs of each branch and machine (0: all), those of baselines and those since a time, and removes the others, for good. dry: only report.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.compact(newest=1).changed\n0") \
    X(migrate, "*, dry: bool = False", "Care", migrate, 0, "Rewrites runs of older schemas in the present one.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.migrate().changed\n0") \
    X(close, "", "None", do_close, 0, "Releases the store; any later call is a ValueError.\n\n>>> s = cx.Store(tempfile.mkdtemp())\n>>> f = s.save(cx.Run([cx.Point('p', '', {'n': '1'}, {'t': 1.0})], id='a', detect=False))\n>>> s.close()") \
    X(__enter__, "", "Self", cx_do_enter, 0, "The store.\n\n>>> with cx.Store(tempfile.mkdtemp()) as s: pass") \
    X(__exit__, "type: object, value: object, traceback: object, /", "bool", cx_do_exit, do_close, "Closes the store.\n\n>>> with cx.Store(tempfile.mkdtemp()) as s: pass")
/* clang-format on */
METHODS(CX_OF_TYPE)
static PyMethodDef store_methods[] = {
    METHODS(CX_OF_TYPE_ROW){ "query", (PyCFunction)(void (*)(void))store_query, METH_VARARGS | METH_KEYWORDS,
                             "query($self, **tags: str) -> list[Run]\n--\n\nRuns with a point that has all these tags, "
                             "newest first." },
    { 0 },
};

const cx_object_type cx_store_object_type = { .name = "calibrax_c.Store",
                                              .doc = STORE_DOC,
                                              .free = store_free,
                                              .methods = store_methods,
                                              .make = CX_MAKER(Store, STORE_SIGNATURE, make_store),
                                              .members = store_members,
                                              .repr = store_repr };
