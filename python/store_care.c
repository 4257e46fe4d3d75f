/* Store: compaction, migration, copies of a part. */
#include "python/store.h"

static PyObject *problems_object(const cbx_store_report *r)
{
    PyObject *list = PyTuple_New((Py_ssize_t)r->nproblems);

    for (size_t i = 0; list && i < r->nproblems; i++) {
        PyObject *v = Py_BuildValue("(ss)", r->problems[i].file, r->problems[i].message);
        if (!v || PyTuple_SetItem(list, (Py_ssize_t)i, v) < 0) Py_CLEAR(list);
    }
    return list;
}

/* What an action on the store tells, as a Care; user is the action's. */
typedef cbx_status (*action)(cbx_store *, const void *user, cbx_store_report *, cbx_err *);

static PyObject *care(PyObject *self, action act, const void *user)
{
    cx_state *st = PyType_GetModuleState(Py_TYPE(self));
    PyThreadState *t = cx_store_enter(self);
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = cx_store_closed(self, &err);
    cbx_store_report r;
    PyObject *out;

    if (!status) status = act(cx_store_of(self)->store, user, &r, &err);
    cx_store_leave(self, t);
    if (status) return cx_raise(status, err.message);
    out = cx_record_new(st, CX_CARE,
                        (PyObject *[]){ PyLong_FromSize_t(r.files), PyLong_FromSize_t(r.changed),
                                        PyLong_FromUnsignedLongLong(r.bytes), problems_object(&r) });
    cbx_store_report_clear(&r);
    return out;
}

/* ---- actions ---- */

static cbx_status compact(cbx_store *store, const void *user, cbx_store_report *out, cbx_err *err)
{
    return cbx_store_compact(store, user, out, err);
}

PyObject *cx_store_compact_runs(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "newest", "since", "dry", NULL };
    cbx_store_keep keep = { 0 };
    PyObject *since = NULL;
    Py_ssize_t newest = 0;
    int dry = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|n$Op:compact", names, &newest, &since, &dry)) return NULL;
    if (newest < 0) return PyErr_Format(PyExc_ValueError, "compact: 'newest' has to be 0 or more, not %zd", newest);
    if (since && since != Py_None && !cx_time_from(since, &keep.since_us)) return NULL;
    keep.newest = (size_t)newest;
    keep.dry = dry;
    return care(self, compact, &keep);
}

static cbx_status migrate(cbx_store *store, const void *user, cbx_store_report *out, cbx_err *err)
{
    return cbx_store_migrate(store, *(const int *)user, out, err);
}

PyObject *cx_store_migrate_runs(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "dry", NULL };
    int dry = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|$p:migrate", names, &dry)) return NULL;
    return care(self, migrate, &dry);
}

typedef struct copying {
    cx_query asked;
    const char *to;
} copying;

static cbx_status copy(cbx_store *store, const void *user, cbx_store_report *out, cbx_err *err)
{
    const copying *c = user;
    return cbx_store_export(store, &c->asked.query, c->to, out, err);
}

PyObject *cx_store_export(PyObject *self, PyObject *args, PyObject *kw)
{
    PyObject *bytes = NULL, *none = PyTuple_New(0), *out = NULL;
    copying c = { 0 };

    if (!none) return NULL;
    if (PyTuple_Size(args) != 1)
        PyErr_SetString(PyExc_TypeError,
                        "export takes a folder, and what runs to copy by keyword: export('part', branch='main')");
    else if (cx_query_read(none, kw, &c.asked) && cx_path_from(PyTuple_GetItem(args, 0), &bytes, &c.to))
        out = care(self, copy, &c);
    cbx_arena_clear(&c.asked.arena);
    Py_XDECREF(bytes);
    Py_DECREF(none);
    return out;
}
