/* Records from one table: a type a line, a field a column; construction, comparison, text and dicts are written once. */
#include "python/records.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct cx_field {
    const char *name;
    cx_field_kind kind;
    const char *fallback; /* NULL: needed; else text, or "" for None, {} and 0 */
    const char *doc;
} cx_field;

typedef struct record_type {
    const char *name, *doc;
    cx_field fields[CX_MAX_FIELDS]; /* the first without a name ends them */
} record_type;

/* clang-format off */
static const record_type types[CX_RECORD_COUNT] = {
    [CX_METRIC_DEF] = { "calibrax_c.MetricDef",
        "How to read a metric: its unit, and which direction is better ('higher', 'lower', or 'info' for neither).", {
        { "name", CX_TEXT, NULL, "name of the metric" }, { "unit", CX_TEXT, NULL, "'s', 'MiB', '1' ..." },
        { "direction", CX_DIRECTION, NULL, "'higher', 'lower' or 'info'" }, { "group", CX_TEXT, "", "what it belongs to" },
        { "priority", CX_PRIORITY, "secondary", "'primary' or 'secondary'" }, { "description", CX_TEXT, "", "as text" } } },
    [CX_METRIC] = { "calibrax_c.Metric",
        "A value in the unit of its definition, with its interval and samples.", {
        { "value", CX_NUMBER, NULL, "the value" }, { "lower", CX_MAYBE_NUMBER, "", "lower bound, or None" },
        { "upper", CX_MAYBE_NUMBER, "", "upper bound, or None" }, { "samples", CX_NUMBERS, "", "tuple of floats, or None" } } },
    [CX_POINT] = { "calibrax_c.Point",
        "One measurement under one configuration: metrics by name.", {
        { "name", CX_TEXT, NULL, "what was measured" }, { "scenario", CX_TEXT, NULL, "under which circumstances" },
        { "tags", CX_TAGS, "", "configuration, text by text" }, { "metrics", CX_METRICS, "", "Metric by name" } } },
    [CX_RUN_ENTRY] = { "calibrax_c.RunEntry", "A run of a store as its index knows it.", {
        { "id", CX_TEXT, NULL, "id" }, { "timestamp", CX_ANY, NULL, "datetime: datetime, UTC" }, { "commit", CX_MAYBE_TEXT, "", "or None" },
        { "branch", CX_MAYBE_TEXT, "", "or None" }, { "machine", CX_MAYBE_TEXT, "", "fingerprint, or None" },
        { "points", CX_WHOLE, NULL, "number of points" }, { "bytes", CX_WHOLE, NULL, "of its file" } } },
    [CX_TREND_POINT] = { "calibrax_c.TrendPoint", "One value of a series.", {
        { "run_id", CX_TEXT, NULL, "of the run" }, { "timestamp", CX_ANY, NULL, "datetime: datetime, UTC" }, { "value", CX_NUMBER, NULL, "value" },
        { "commit", CX_MAYBE_TEXT, "", "or None" }, { "branch", CX_MAYBE_TEXT, "", "or None" },
        { "machine", CX_MAYBE_TEXT, "", "or None" }, { "lower", CX_MAYBE_NUMBER, "", "or None" },
        { "upper", CX_MAYBE_NUMBER, "", "or None" } } },
    [CX_TREND_SERIES] = { "calibrax_c.TrendSeries", "One metric of one configuration over time, oldest first.", {
        { "metric", CX_TEXT, NULL, "metric" }, { "point_name", CX_TEXT, NULL, "name of the points" },
        { "scenario", CX_TEXT, "", "their scenario" }, { "tags", CX_TAGS, "", "their tags" },
        { "points", CX_ANY, NULL, "tuple[TrendPoint, ...]: tuple of TrendPoint" } } },
    [CX_FINDING] = { "calibrax_c.Finding", "One metric of one point against its baseline.", {
        { "outcome", CX_TEXT, NULL, "'unchanged', 'improved', 'regressed', 'equivalent', 'undecided', 'new', 'dropped' ..." },
        { "exit_code", CX_WHOLE, NULL, "that it asks for" }, { "point", CX_TEXT, NULL, "name of the point" },
        { "scenario", CX_TEXT, NULL, "its scenario" }, { "tags", CX_TEXT, NULL, "its tags, as text" },
        { "metric", CX_TEXT, NULL, "metric" }, { "baseline", CX_MAYBE_NUMBER, "", "value, None: missing" },
        { "current", CX_MAYBE_NUMBER, "", "value, None: missing" }, { "change", CX_MAYBE_NUMBER, "", "relative, None: not compared" },
        { "basis", CX_TEXT, NULL, "'samples', 'bounds', 'values' or 'none'" },
        { "waived_by", CX_MAYBE_TEXT, "", "key of the waiver that takes it out of the answer" },
        { "sentence", CX_TEXT, NULL, "as text" } } },
    [CX_TARGET] = { "calibrax_c.Target", "A value to reach, and how it came out.", {
        { "benchmark", CX_TEXT, NULL, "name of the benchmark" }, { "metric", CX_TEXT, NULL, "metric" },
        { "outcome", CX_TEXT, NULL, "'met', 'missed', 'not-a-number', 'undecided', 'missing-metric', 'no-direction', 'incomplete'" },
        { "target", CX_NUMBER, NULL, "value to reach" }, { "value", CX_NUMBER, NULL, "value, NaN: missing" },
        { "margin", CX_MAYBE_NUMBER, "", "by how much it is on the good side" }, { "sentence", CX_TEXT, NULL, "as text" } } },
    [CX_FAILURE] = { "calibrax_c.Failure", "A launch of a benchmark that failed.", {
        { "benchmark", CX_TEXT, NULL, "name of the benchmark" }, { "launch", CX_WHOLE, NULL, "from 1" },
        { "phase", CX_TEXT, NULL, "'setup', 'training', 'work', 'evaluation', 'targets' ..." },
        { "message", CX_TEXT, NULL, "as text" } } },
    [CX_PYTHON_CALL] = { "calibrax_c.PythonCall", "A function in an interpreter of its own.", {
        { "timing", CX_ANY, NULL, "profiling.Timing: profiling.Timing" }, { "process", CX_ANY, NULL, "profiling.ProfileRun: profiling.ProfileRun of the whole interpreter" },
        { "work", CX_ANY, NULL, "profiling.Flops: profiling.Flops" }, { "compiled", CX_ANY, "", "profiling.Hlo | None: profiling.Hlo, or None" } } },
    [CX_IMPORT_NOTE] = { "calibrax_c.ImportNote", "A file, or an entry of one, that became no run or point as it stands.", {
        { "file", CX_TEXT, NULL, "the file" }, { "entry", CX_MAYBE_TEXT, "", "name in it; None: the whole file" }, { "message", CX_TEXT, NULL, "as text" } } },
    [CX_IMPORTED] = { "calibrax_c.Imported", "What files of other tools hold.", {
        { "runs", CX_ANY, NULL, "tuple[Run, ...]: tuple of Run" }, { "formats", CX_ANY, NULL, "tuple[str, ...]: tuple of text: the format of each run's file" },
        { "notes", CX_ANY, NULL, "tuple[ImportNote, ...]: tuple of ImportNote" } } },
    [CX_INGESTED_RUN] = { "calibrax_c.IngestedRun", "A run that a store took.", {
        { "id", CX_TEXT, NULL, "of the run" }, { "points", CX_WHOLE, NULL, "number of points" }, { "file", CX_TEXT, NULL, "it came from" },
        { "format", CX_TEXT, NULL, "of the file" } } },
    [CX_INGESTED] = { "calibrax_c.Ingested", "What a store took, and what not.", {
        { "runs", CX_ANY, NULL, "tuple[IngestedRun, ...]: tuple of IngestedRun" }, { "skipped", CX_ANY, NULL, "tuple[ImportNote, ...]: tuple of ImportNote: files left out, and why" },
        { "notes", CX_ANY, NULL, "tuple[ImportNote, ...]: tuple of ImportNote: entries" } } },
    [CX_CARE] = { "calibrax_c.Care", "What care of a store came to.", {
        { "files", CX_WHOLE, NULL, "looked at" }, { "changed", CX_WHOLE, NULL, "removed, rewritten or copied" }, { "bytes", CX_WHOLE, NULL, "of those" },
        { "problems", CX_ANY, NULL, "tuple[tuple[str, str], ...]: tuple of (file, sentence)" } } },
    [CX_COMPARISON] = { "calibrax_c.Comparison", "Competitors side by side.", {
        { "labels", CX_ANY, NULL, "tuple[str, ...]: tuple of competitors" }, { "reference", CX_TEXT, NULL, "base of speed-ups" },
        { "rows", CX_ANY, NULL, "tuple[analysis.Row, ...]: tuple of analysis.Row" }, { "winners", CX_ANY, NULL, "tuple[analysis.Winner, ...]: tuple of analysis.Winner, the overall one last" },
        { "remarks", CX_ANY, NULL, "tuple[str, ...]: tuple of sentences: what to know before believing the table" } } },
};
/* clang-format on */

typedef struct record {
    PyObject_HEAD cx_record_kind
        kind; /* known without the module's state, which may be gone when the last record goes */
    PyObject *field[];
} record;

static size_t nfields(const record_type *t)
{
    size_t n = 0;
    while (n < CX_MAX_FIELDS && t->fields[n].name) n++;
    return n;
}

static const record_type *type_of(PyObject *self) { return &types[((record *)self)->kind]; }

static cx_record_kind kind_of(PyTypeObject *type)
{
    cx_state *st = PyType_GetModuleState(type);
    int k = 0;
    while (st->records[k] != type) k++;
    return (cx_record_kind)k;
}

PyObject *cx_record_field(PyObject *self, size_t i) { return ((record *)self)->field[i]; }
bool cx_is_record(cx_state *st, PyObject *o, cx_record_kind kind) { return Py_TYPE(o) == st->records[kind]; }

/* ---- fields ---- */

static PyObject *wrong(const cx_field *f, const char *wanted, PyObject *found)
{
    PyErr_Format(PyExc_TypeError, "'%s' must be %s, got %R", f->name, wanted, found);
    return NULL;
}

static PyObject *number(const cx_field *f, PyObject *v)
{
    PyObject *x;

    if (PyBool_Check(v) || PyUnicode_Check(v)) return wrong(f, "a number", v);
    x = PyNumber_Float(v);
    if (!x && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        return wrong(f, "a number", v);
    }
    return x;
}

static PyObject *numbers(const cx_field *f, PyObject *v)
{
    PyObject *list, *tuple;
    Py_ssize_t n;

    if (PyUnicode_Check(v) || PyDict_Check(v)) return wrong(f, "a sequence of numbers", v);
    list = PySequence_Tuple(v);
    if (!list) return NULL;
    n = PyTuple_Size(list);
    tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++) {
        PyObject *x = number(f, PyTuple_GetItem(list, i));
        if (!x || PyTuple_SetItem(tuple, i, x) < 0) Py_CLEAR(tuple);
    }
    Py_DECREF(list);
    return tuple;
}

static PyObject *one_of(const cx_field *f, PyObject *v, const char *const *words, size_t n)
{
    PyObject *value = PyUnicode_Check(v) ? Py_NewRef(v) : PyObject_GetAttrString(v, "value"); /* of an enum */
    bool word = value && PyUnicode_Check(value);

    if (!value) PyErr_Clear();
    for (size_t i = 0; word && i < n; i++) {
        if (PyUnicode_CompareWithASCIIString(value, words[i]) != 0) continue;
        Py_DECREF(value);
        return PyUnicode_FromString(words[i]);
    }
    Py_XDECREF(value);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "'%s' must be '%s', '%s'%s, got %R", f->name, words[0], words[1],
                     n > 2 ? " or 'info'" : "", v);
    return NULL;
}

/* A dict of its own: text by text, or Metric by name. */
static PyObject *mapping(cx_state *st, const cx_field *f, PyObject *v)
{
    PyObject *copy, *key, *value, *out;
    Py_ssize_t at = 0;

    out = PyDict_New();
    copy = out ? PyDict_New() : NULL;
    if (copy && PyDict_Update(copy, v) < 0) {
        PyErr_Clear();
        wrong(f, "a dict", v);
        Py_CLEAR(out);
    }
    while (copy && out && PyDict_Next(copy, &at, &key, &value)) {
        PyObject *kept = NULL;
        if (!PyUnicode_Check(key))
            wrong(f, "a dict with text as keys", key);
        else if (f->kind == CX_TAGS && !PyUnicode_Check(value))
            wrong(f, "a dict of text", value);
        else if (f->kind == CX_TAGS || cx_is_record(st, value, CX_METRIC))
            kept = Py_NewRef(value);
        else if (PyDict_Check(value) || PyObject_HasAttrString(value, "to_dict"))
            kept = cx_record_from(st, CX_METRIC, value);
        else
            kept = PyObject_CallFunctionObjArgs((PyObject *)st->records[CX_METRIC], value, NULL);
        if (!kept || PyDict_SetItem(out, key, kept) < 0) Py_CLEAR(out);
        Py_XDECREF(kept);
    }
    Py_XDECREF(copy);
    return out;
}

/* The value that a field keeps; NULL with an exception. */
static PyObject *kept(cx_state *st, const cx_field *f, PyObject *v)
{
    static const char *const directions[] = { "higher", "lower", "info" }, *const priorities[] = { "primary",
                                                                                                   "secondary" };
    bool maybe = f->kind == CX_MAYBE_TEXT || f->kind == CX_MAYBE_NUMBER || f->kind == CX_NUMBERS;

    if (v == Py_None && maybe) return Py_NewRef(v);
    switch (f->kind) {
    case CX_TEXT:
    case CX_MAYBE_TEXT: return PyUnicode_Check(v) ? Py_NewRef(v) : wrong(f, "text", v);
    case CX_NUMBER:
    case CX_MAYBE_NUMBER: return number(f, v);
    case CX_WHOLE: return PyLong_Check(v) ? Py_NewRef(v) : wrong(f, "an integer", v);
    case CX_NUMBERS: return numbers(f, v);
    case CX_TAGS:
    case CX_METRICS: return mapping(st, f, v);
    case CX_DIRECTION: return one_of(f, v, directions, CBX_LEN(directions));
    case CX_PRIORITY: return one_of(f, v, priorities, CBX_LEN(priorities));
    case CX_ANY: break;
    }
    return Py_NewRef(v);
}

static PyObject *fallback_of(const cx_field *f)
{
    if (f->kind == CX_TAGS || f->kind == CX_METRICS) return PyDict_New();
    if (f->kind == CX_TEXT || f->kind == CX_PRIORITY) return PyUnicode_FromString(f->fallback);
    Py_RETURN_NONE;
}

/* ---- making ---- */

static record *allocate(cx_state *st, cx_record_kind kind)
{
    record *self = (record *)PyType_GenericAlloc(st->records[kind], 0);
    if (self) self->kind = kind;
    return self;
}

static PyObject *make(cx_state *st, cx_record_kind kind, PyObject **given)
{
    const record_type *t = &types[kind];
    size_t n = nfields(t);
    record *self = allocate(st, kind);

    for (size_t i = 0; self && i < n; i++) {
        if (given[i])
            self->field[i] = kept(st, &t->fields[i], given[i]);
        else if (t->fields[i].fallback)
            self->field[i] = fallback_of(&t->fields[i]);
        else
            PyErr_Format(PyExc_TypeError, "%s needs '%s'", strchr(t->name, '.') + 1, t->fields[i].name);
        if (!self->field[i]) Py_CLEAR(self);
    }
    return (PyObject *)self;
}

PyObject *cx_record_new(cx_state *st, cx_record_kind kind, PyObject **fields)
{
    size_t n = nfields(&types[kind]);
    bool fine = true;
    record *self;

    for (size_t i = 0; i < n; i++) fine = fine && fields[i];
    self = fine ? allocate(st, kind) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (self)
            self->field[i] = fields[i];
        else
            Py_XDECREF(fields[i]);
    }
    return (PyObject *)self;
}

static PyObject *record_call(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    cx_record_kind kind = kind_of(type);
    const record_type *t = &types[kind];
    PyObject *given[CX_MAX_FIELDS] = { 0 };
    size_t n = nfields(t), positional = (size_t)PyTuple_Size(args), used = 0;

    if (positional > n) {
        PyErr_Format(PyExc_TypeError, "%s takes %zu values, not %zu", strchr(t->name, '.') + 1, n, positional);
        return NULL;
    }
    for (size_t i = 0; i < positional; i++) given[i] = PyTuple_GetItem(args, (Py_ssize_t)i);
    for (size_t i = 0; kw && i < n; i++) {
        PyObject *v = PyDict_GetItemString(kw, t->fields[i].name);
        if (v && given[i]) {
            PyErr_Format(PyExc_TypeError, "%s got '%s' twice", strchr(t->name, '.') + 1, t->fields[i].name);
            return NULL;
        }
        if (v) given[i] = v, used++;
    }
    if (kw && used < (size_t)PyDict_Size(kw)) {
        PyErr_Format(PyExc_TypeError, "%s has no such field among %R", strchr(t->name, '.') + 1, kw);
        return NULL;
    }
    return make(PyType_GetModuleState(type), kind, given);
}

PyObject *cx_record_from(cx_state *st, cx_record_kind kind, PyObject *o)
{
    const record_type *t = &types[kind];
    bool speaks = PyDict_Check(o) || PyObject_HasAttrString(o, "to_dict");
    PyObject *dict = PyDict_Check(o) ? Py_NewRef(o)
                     : speaks        ? PyObject_CallMethod(o, "to_dict", NULL)
                                     : NULL,
             *r = NULL;
    PyObject *given[CX_MAX_FIELDS] = { 0 };

    if (!speaks || (dict && !PyDict_Check(dict))) {
        PyErr_Format(PyExc_TypeError, "%s.from_dict: 'mapping' must be a dict, got %R", strchr(t->name, '.') + 1, o);
    } else if (dict) {
        const char *missing = NULL;
        for (size_t i = 0; i < nfields(t); i++) {
            given[i] = PyDict_GetItemString(dict, t->fields[i].name);
            if (given[i] == Py_None && t->fields[i].fallback) given[i] = NULL;
            if (!given[i] && !t->fields[i].fallback) missing = t->fields[i].name;
        }
        if (missing)
            PyErr_Format(PyExc_ValueError, "%s: '%s' is missing", strchr(t->name, '.') + 1, missing);
        else
            r = make(st, kind, given);
    }
    Py_XDECREF(dict);
    return r;
}

static PyObject *record_from_dict(PyObject *type, PyObject *dict)
{
    PyTypeObject *t = (PyTypeObject *)type;
    return cx_record_from(PyType_GetModuleState(t), kind_of(t), dict);
}

/* ---- what all of them do ---- */

static void record_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    size_t n = nfields(type_of(self));

    for (size_t i = 0; i < n; i++) Py_XDECREF(((record *)self)->field[i]);
    PyObject_Free(self);
    Py_DECREF(type);
}

static bool is_default(const cx_field *f, PyObject *v)
{
    if (!f->fallback) return false;
    if (v == Py_None) return true;
    if (PyDict_Check(v)) return PyDict_Size(v) == 0;
    return PyUnicode_Check(v) && PyUnicode_CompareWithASCIIString(v, f->fallback) == 0;
}

static PyObject *record_repr(PyObject *self)
{
    const record_type *t = type_of(self);
    PyObject *text = PyUnicode_FromFormat("%s(", strchr(t->name, '.') + 1), *more;
    bool first = true;

    for (size_t i = 0; text && i < nfields(t); i++) {
        PyObject *v = cx_record_field(self, i);
        if (is_default(&t->fields[i], v)) continue;
        more = PyUnicode_FromFormat("%U%s%s=%R", text, first ? "" : ", ", t->fields[i].name, v);
        Py_DECREF(text);
        text = more;
        first = false;
    }
    more = text ? PyUnicode_FromFormat("%U)", text) : NULL;
    Py_XDECREF(text);
    return more;
}

static PyObject *field_tuple(PyObject *self)
{
    size_t n = nfields(type_of(self));
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) PyTuple_SetItem(tuple, (Py_ssize_t)i, Py_NewRef(cx_record_field(self, i)));
    return tuple;
}

static PyObject *record_compare(PyObject *a, PyObject *b, int op)
{
    PyObject *x, *y, *r;

    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    x = field_tuple(a);
    y = x ? field_tuple(b) : NULL;
    r = y ? PyObject_RichCompare(x, y, op) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

static Py_hash_t record_hash(PyObject *self)
{
    PyObject *tuple = field_tuple(self);
    Py_hash_t h = tuple ? PyObject_Hash(tuple) : -1;
    Py_XDECREF(tuple);
    return h;
}

/* A field as to_dict has it. */
static PyObject *plain(PyObject *v)
{
    if (PyTuple_Check(v)) {
        PyObject *list = PySequence_List(v);
        for (Py_ssize_t i = 0; list && i < PyList_Size(list); i++) {
            PyObject *item = plain(PyList_GetItem(list, i));
            if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
        }
        return list;
    }
    if (PyDict_Check(v)) {
        PyObject *dict = PyDict_New(), *key, *value;
        Py_ssize_t at = 0;
        while (dict && PyDict_Next(v, &at, &key, &value)) {
            PyObject *item = plain(value);
            if (!item || PyDict_SetItem(dict, key, item) < 0) Py_CLEAR(dict);
            Py_XDECREF(item);
        }
        return dict;
    }
    if (PyObject_HasAttrString(v, "to_dict")) return PyObject_CallMethod(v, "to_dict", NULL);
    if (PyObject_HasAttrString(v, "isoformat")) return PyObject_CallMethod(v, "isoformat", NULL);
    return Py_NewRef(v);
}

PyObject *cx_record_dict(PyObject *self)
{
    const record_type *t = type_of(self);
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict && i < nfields(t); i++) {
        PyObject *v = cx_record_field(self, i), *item;
        if (v == Py_None) continue;
        item = plain(v);
        if (!item || PyDict_SetItemString(dict, t->fields[i].name, item) < 0) Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    return dict;
}

static PyObject *record_to_dict(PyObject *self, PyObject *unused)
{
    (void)unused;
    return cx_record_dict(self);
}

/* Pickling and copying: the type and its fields. */
static PyObject *record_reduce(PyObject *self, PyObject *unused)
{
    PyObject *tuple = field_tuple(self);
    (void)unused;
    return tuple ? Py_BuildValue("(ON)", (PyObject *)Py_TYPE(self), tuple) : NULL;
}

/* A dict is given as a copy: the record stays what it is. */
static PyObject *get_field(PyObject *self, void *index)
{
    PyObject *v = cx_record_field(self, (size_t)(uintptr_t)index);
    return PyDict_Check(v) ? PyDict_Copy(v) : Py_NewRef(v);
}

static PyMethodDef record_methods[] = {
    { "to_dict", record_to_dict, METH_NOARGS,
      "to_dict($self) -> dict[str, Any]\n--\n\nA dict of plain values; what is None is left out." },
    { "from_dict", record_from_dict, METH_O | METH_CLASS,
      "from_dict($type, mapping: Mapping[str, Any] | object, /) -> Self\n--\n\nOf a dict as to_dict gives it; other "
      "members are ignored." },
    { "__reduce__", record_reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyGetSetDef getters[CX_RECORD_COUNT][CX_MAX_FIELDS + 1];

/* Name(field: type = default, ...) -> Name, and the documentation. */
static PyObject *document(const record_type *t)
{
    static const char *const types_of[] = { [CX_TEXT] = "str",
                                            [CX_MAYBE_TEXT] = "str | None",
                                            [CX_NUMBER] = "float",
                                            [CX_MAYBE_NUMBER] = "float | None",
                                            [CX_WHOLE] = "int",
                                            [CX_NUMBERS] = "tuple[float, ...] | None",
                                            [CX_TAGS] = "dict[str, str]",
                                            [CX_METRICS] = "dict[str, Metric]",
                                            [CX_DIRECTION] = "str",
                                            [CX_PRIORITY] = "str" };
    const char *name = strchr(t->name, '.') + 1;
    PyObject *text = PyUnicode_FromFormat("%s(", name);
    size_t required = 0; /* fields before the last one without a default have none in a signature */

    for (size_t i = 0; i < nfields(t); i++)
        if (!t->fields[i].fallback) required = i + 1;
    for (size_t i = 0; text && i < nfields(t); i++) {
        const cx_field *f = &t->fields[i];
        bool any = f->kind == CX_ANY, dict = f->kind == CX_TAGS || f->kind == CX_METRICS,
             string = f->kind == CX_TEXT || f->kind == CX_PRIORITY;
        int length = any ? (int)(strstr(f->doc, ": ") - f->doc) : (int)strlen(types_of[f->kind]);
        char field[200];
        snprintf(field, sizeof field, "%s%s: %.*s%s%s%s", i ? ", " : "", f->name, length,
                 any ? f->doc : types_of[f->kind],
                 i < required ? ""
                 : dict       ? " = {}"
                 : string     ? " = '"
                              : " = None",
                 i >= required && string ? f->fallback : "", i >= required && string ? "'" : "");
        PyObject *part = PyUnicode_FromString(field);
        PyUnicode_AppendAndDel(&text, part);
    }
    if (text) PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat(") -> %s\n--\n\n%s", name, t->doc));
    return text;
}

static bool add_type(cx_state *st, PyObject *module, int k)
{
    const record_type *t = &types[k];
    PyObject *doc = document(t);
    size_t n = nfields(t);
    PyType_Slot slots[] = {
        { Py_tp_new, record_call },
        { Py_tp_dealloc, record_dealloc },
        { Py_tp_repr, record_repr },
        { Py_tp_richcompare, record_compare },
        { Py_tp_hash, record_hash },
        { Py_tp_getset, getters[k] },
        { Py_tp_methods, record_methods },
        { Py_tp_doc, doc ? (char *)(uintptr_t)PyUnicode_AsUTF8AndSize(doc, NULL) : NULL },
        { 0, NULL },
    };
    PyType_Spec spec = { .name = t->name,
                         .basicsize = (int)(offsetof(record, field) + n * sizeof(PyObject *)),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                         .slots = slots };

    for (size_t i = 0; i < n; i++)
        getters[k][i] = (PyGetSetDef){ t->fields[i].name, get_field, NULL, t->fields[i].doc, (void *)(uintptr_t)i };
    st->records[k] = doc ? cx_type(st, &spec) : NULL;
    Py_XDECREF(doc);
    return st->records[k] && PyModule_AddObjectRef(module, strchr(t->name, '.') + 1, (PyObject *)st->records[k]) == 0;
}

bool cx_add_records(cx_state *st, PyObject *module)
{
    for (int k = 0; k < CX_RECORD_COUNT; k++)
        if (!add_type(st, module, k)) return false;
    return true;
}
