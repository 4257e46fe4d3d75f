/* Between the library's views of metrics, definitions, tags and points, and records. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "python/answers.h"

/* ---- records in general ---- */

bool cx_add_records(cx_state *st, PyObject *module)
{
    static const char *const names[] = { CX_RECORDS(CX_RECORD_NAME) };
    CX_OWN PyObject *file = PyImport_ImportModule("calibrax_c._records");

    for (int k = 0; file && k < CX_RECORD_COUNT; k++) {
        st->records[k] = (PyTypeObject *)PyObject_GetAttrString(file, names[k]);
        if (!st->records[k] || PyModule_AddObjectRef(module, names[k], (PyObject *)st->records[k]) < 0) return false;
    }
    return file != NULL;
}

PyObject *cx_record_new(cx_state *st, cx_record_kind kind, const char *format, ...)
{
    CX_OWN PyObject *fields = NULL;
    va_list list;

    va_start(list, format);
    fields = Py_VaBuildValue(format, list);
    va_end(list);
    return fields ? PyObject_CallMethod((PyObject *)st->records[kind], "_of", "(O)", fields) : NULL;
}

/* Borrowed. */
static PyObject *field_of(PyObject *record, const char *name)
{
    PyObject *dict = PyObject_GenericGetDict(record, NULL), *v = dict ? PyDict_GetItemString(dict, name) : NULL;

    Py_XDECREF(dict); /* the record holds it */
    return v ? v : Py_None;
}

bool cx_is_record(cx_state *st, PyObject *o, cx_record_kind kind) { return Py_TYPE(o) == st->records[kind]; }

/* ---- from the library ---- */

PyObject *cx_text_or_none(const char *s) { return s ? PyUnicode_FromString(s) : Py_NewRef(Py_None); }
PyObject *cx_number_or_none(double v) { return isnan(v) ? Py_NewRef(Py_None) : PyFloat_FromDouble(v); }

static PyObject *metric_object(cx_state *st, const cbx_metric *m)
{
    return cx_record_new(st, CX_METRIC, "(dNNN)", m->value, cx_number_or_none(m->lower), cx_number_or_none(m->upper),
                         m->samples ? cx_numbers_object(m->samples, m->nsamples) : Py_NewRef(Py_None));
}

PyObject *cx_metric_def_object(cx_state *st, const cbx_metric_def *d)
{
    return cx_record_new(st, CX_METRIC_DEF, "(ssssss)", d->name, d->unit, cbx_direction_name(d->direction),
                         d->group ? d->group : "", cbx_priority_name(d->priority),
                         d->description ? d->description : "");
}

PyObject *cx_tags_object(const cbx_tag *tags, size_t n)
{
    return CX_DICT(n, tags[i].key, PyUnicode_FromString(tags[i].value));
}

PyObject *cx_point_object(cx_state *st, const cbx_point *p)
{
    return cx_record_new(st, CX_POINT, "(ssNN)", p->name, p->scenario, cx_tags_object(p->tags, p->ntags),
                         CX_DICT(p->nmetrics, p->metrics[i].name, metric_object(st, &p->metrics[i].metric)));
}

PyObject *cx_time_object(int64_t us)
{
    char text[CBX_TIME_SIZE];
    CX_OWN PyObject *module = PyImport_ImportModule("datetime");
    CX_OWN PyObject *type = module ? PyObject_GetAttrString(module, "datetime") : NULL;

    return type ? PyObject_CallMethod(type, "fromisoformat", "s", cbx_time_format_iso(us, text)) : NULL;
}

/* ---- from Python ---- */

const char *cx_text_of(PyObject *o, const char *what)
{
    Py_ssize_t length = 0;
    const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &length) : NULL;

    if (text && strlen(text) == (size_t)length) return text;
    if (text)
        PyErr_Format(PyExc_ValueError, "%s must be text without a NUL character, got %R", what, o);
    else if (!PyUnicode_Check(o))
        PyErr_Format(PyExc_TypeError, "%s must be text, got %R", what, o);
    else if (PyErr_ExceptionMatches(
                 PyExc_UnicodeEncodeError)) /* whose message names neither the place nor the remedy */
        PyErr_Format(PyExc_ValueError, "%s must be text without half of a surrogate pair, got %A", what, o);
    return NULL;
}

bool cx_time_from(PyObject *o, int64_t *us)
{
    CX_OWN PyObject *text = PyUnicode_Check(o) ? Py_NewRef(o) : PyObject_CallMethod(o, "isoformat", NULL);
    const char *s = text ? cx_text_of(text, "a time") : NULL;
    cbx_err err = CBX_ERR_INIT;
    char midnight[40];

    if (!text && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "a time must be a datetime or ISO text, got %R", o);
    if (s && strlen(s) == strlen("2026-02-20")) { /* a day begins at midnight, UTC */
        snprintf(midnight, sizeof midnight, "%sT00:00:00+00:00", s);
        s = midnight;
    }
    if (s && cbx_time_parse_iso(s, us, &err)) cx_raise(err.status, err.message);
    return !PyErr_Occurred();
}

static void *space(cbx_arena *arena, size_t n, size_t size)
{
    void *p = cbx_arena_calloc(arena, n, size);
    if (!p) PyErr_NoMemory();
    return p;
}

bool cx_tags_from(PyObject *o, cbx_arena *arena, const cbx_tag **tags, size_t *n)
{
    size_t count = 0;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    cbx_tag *list;

    *tags = NULL;
    *n = 0;
    if (!o || o == Py_None) return true;
    if (!PyDict_Check(o)) return cx_refused(PyExc_TypeError, "tags must be a dict of text, got %R", o);
    list = space(arena, (size_t)PyDict_Size(o), sizeof *list);
    while (list && PyDict_Next(o, &at, &key, &value)) {
        const char *k = cx_text_of(key, "the key of a tag"), *v = k ? cx_text_of(value, "a tag") : NULL;
        if (!v) return false;
        /* copies: the dict may change while the library reads */
        list[count] = (cbx_tag){ cbx_arena_strdup(arena, k), cbx_arena_strdup(arena, v) };
        if (!list[count].key || !list[count].value) return PyErr_NoMemory() != NULL;
        count++;
    }
    *tags = list;
    *n = count;
    return list != NULL;
}

bool cx_tags_arg(cx_call *c, const char *name, const cbx_tag **tags, size_t *n)
{
    PyObject *o = cx_arg(c, name);

    if (o && !PyDict_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "a dict of text by text", o);
    return cx_tags_from(o, cx_arena(c), tags, n);
}

bool cx_numbers_by_name(cx_call *c, const char *name, const char ***names, double **values, size_t *n)
{
    PyObject *o = cx_arg(c, name), *key, *value;
    Py_ssize_t at = 0;

    *n = 0;
    if (!o) return true;
    if (!PyDict_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "a dict of numbers by name", o);
    *names = cx_alloc(c, (size_t)PyDict_Size(o), sizeof **names);
    *values = cx_alloc(c, (size_t)PyDict_Size(o), sizeof **values);
    while (*names && *values && PyDict_Next(o, &at, &key, &value)) {
        if (!((*names)[*n] = cx_text_of(key, "a name")) || !cx_read_double(c, name, value, &(*values)[*n]))
            return false;
        ++*n;
    }
    return *names && *values;
}

cbx_json *cx_json_arg(cx_call *c, const char *name)
{
    PyObject *o = cx_arg(c, name);

    if (o && !PyDict_Check(o)) return cx_refuse(c, name, PyExc_TypeError, "a dict", o), NULL;
    return o ? cx_json_from(o, name) : NULL;
}

static const char *text_field(PyObject *record, const char *name) { return cx_text_of(field_of(record, name), name); }

static double number_or_nan(PyObject *o) { return o == Py_None ? NAN : PyFloat_AsDouble(o); }

bool cx_metric_from(PyObject *record, cbx_arena *arena, cbx_metric *out)
{
    PyObject *samples = field_of(record, "samples");

    *out = (cbx_metric){ PyFloat_AsDouble(field_of(record, "value")), number_or_nan(field_of(record, "lower")),
                         number_or_nan(field_of(record, "upper")), NULL, 0 };
    if (samples != Py_None) {
        size_t n = (size_t)PyTuple_Size(samples);
        double *x = space(arena, n, sizeof *x);
        if (!x) return false;
        for (size_t i = 0; i < n; i++) x[i] = PyFloat_AsDouble(PyTuple_GetItem(samples, (Py_ssize_t)i));
        out->samples = x;
        out->nsamples = n;
    }
    return !PyErr_Occurred();
}

bool cx_point_from(PyObject *record, cbx_arena *arena, cbx_point *out)
{
    PyObject *metrics = field_of(record, "metrics"), *key, *value;
    cbx_named_metric *list = space(arena, (size_t)PyDict_Size(metrics), sizeof *list);
    Py_ssize_t at = 0;
    size_t n = 0;

    *out = (cbx_point){ .name = text_field(record, "name"), .scenario = text_field(record, "scenario") };
    if (!list || !out->name || !out->scenario) return false;
    if (!cx_tags_from(field_of(record, "tags"), arena, &out->tags, &out->ntags)) return false;
    while (PyDict_Next(metrics, &at, &key, &value)) {
        list[n].name = cx_text_of(key, "a metric's name");
        if (!list[n].name || !cx_metric_from(value, arena, &list[n].metric)) return false;
        n++;
    }
    out->metrics = list;
    out->nmetrics = n;
    return true;
}

bool cx_metric_def_from(PyObject *record, cbx_metric_def *out)
{
    const char *direction = text_field(record, "direction"), *priority = text_field(record, "priority");

    *out = (cbx_metric_def){ .name = text_field(record, "name"),
                             .unit = text_field(record, "unit"),
                             .group = text_field(record, "group"),
                             .description = text_field(record, "description") };
    return out->name && out->unit && out->group && out->description && direction && priority &&
           cbx_direction_parse(direction, &out->direction) && cbx_priority_parse(priority, &out->priority);
}
