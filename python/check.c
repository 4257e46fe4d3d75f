/* Check: a run held against a baseline, by the guard of the library, with its named outcomes and exit codes. */
#include <math.h>
#include <string.h>

#include "python/records.h"

typedef struct check_object {
    PyObject_HEAD cbx_run *run, *baseline, *defs;
    cbx_waivers *waivers;
    cbx_regression *regression;
    cbx_guard *guard;
} check_object;

static check_object *of(PyObject *self) { return (check_object *)self; }

static void check_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cbx_guard_free(of(self)->guard);
    cbx_regression_free(of(self)->regression);
    cbx_waivers_free(of(self)->waivers);
    cbx_run_free(of(self)->defs);
    cbx_run_free(of(self)->baseline);
    cbx_run_free(of(self)->run);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- making ---- */

typedef struct wish {
    PyObject *run, *baseline, *defs, *waivers, *thresholds, *primary, *secondary;
    cbx_regression_opts o;
    PyObject *waivers_path;
    cbx_arena arena;
} wish;

static bool maybe_number(PyObject *o, double *out)
{
    if (!o || o == Py_None) return true;
    *out = PyFloat_AsDouble(o);
    return !PyErr_Occurred();
}

/* {pattern: threshold}, the first that fits counts. */
static bool read_rules(wish *w)
{
    cbx_regression_rule *rules;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    size_t n = 0;

    if (!w->thresholds || w->thresholds == Py_None) return true;
    if (!PyDict_Check(w->thresholds)) {
        PyErr_Format(PyExc_TypeError, "thresholds have to be a dict of numbers by pattern, not %R", w->thresholds);
        return false;
    }
    rules = cbx_arena_calloc(&w->arena, (size_t)PyDict_Size(w->thresholds), sizeof *rules);
    if (!rules) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(w->thresholds, &at, &key, &value)) {
        rules[n].metric = cx_text_of(key, "the pattern of a threshold");
        rules[n].threshold = PyFloat_AsDouble(value);
        rules[n++].minimum = NAN;
        if (PyErr_Occurred()) return false;
    }
    w->o.rules = rules;
    w->o.nrules = n;
    return true;
}

static bool hold_runs(cx_state *st, const wish *w, check_object *self)
{
    cbx_run *run = cx_run_of(st, w->run), *baseline = run ? cx_run_of(st, w->baseline) : NULL, *defs = NULL;

    if (!baseline) return false;
    if (w->defs && w->defs != Py_None && !(defs = cx_run_of(st, w->defs))) return false;
    self->run = cbx_run_ref(run);
    self->baseline = cbx_run_ref(baseline);
    self->defs = defs ? cbx_run_ref(defs) : NULL;
    return true;
}

static bool decide(cx_state *st, wish *w, check_object *self)
{
    const char *path = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status = CBX_OK;
    cbx_ctx *ctx;

    if (w->waivers && w->waivers != Py_None && !cx_path_from(w->waivers, &w->waivers_path, &path)) return false;
    ctx = cx_ctx_borrow(st);
    if (!ctx) return false;
    w->o.defs = self->defs;
    Py_BEGIN_ALLOW_THREADS if (path) status = cbx_waivers_read(ctx, path, &self->waivers, &err);
    if (!status) status = cbx_regression_create(ctx, self->run, self->baseline, &w->o, &self->regression, &err);
    if (!status) status = cbx_guard_create(ctx, self->regression, self->waivers, cbx_time_now_us(), &self->guard, &err);
    Py_END_ALLOW_THREADS cx_ctx_return(st, ctx);
    if (!status && cbx_regression_idle_rule(self->regression)) {
        status = cbx_fail(&err, CBX_EINVAL, "thresholds: no metric of the two runs fits '%s'; correct the pattern",
                          cbx_regression_idle_rule(self->regression));
    }
    if (status) cx_raise(status, err.message);
    return !status;
}

static PyObject *check_new(PyTypeObject *type, PyObject *args, PyObject *kw)
{
    static char *names[] = {
        "run",     "baseline", "threshold",   "primary_threshold", "secondary_threshold", "thresholds",
        "minimum", "level",    "values_only", "allow_dropped",     "allow_other_machine", "undecided_passes",
        "waivers", "defs",     NULL
    };
    wish w = { .o = CBX_REGRESSION_OPTS_INIT };
    int values_only = 0, allow_dropped = 0, allow_machines = 0, undecided = 0;
    cx_state *st = PyType_GetModuleState(type);
    check_object *self;
    bool fine;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|$dOOOddppppOO:Check", names, &w.run, &w.baseline, &w.o.threshold,
                                     &w.primary, &w.secondary, &w.thresholds, &w.o.minimum, &w.o.level, &values_only,
                                     &allow_dropped, &allow_machines, &undecided, &w.waivers, &w.defs))
        return NULL;
    w.o.values_only = values_only;
    w.o.allow_dropped = allow_dropped;
    w.o.allow_machines = allow_machines;
    w.o.undecided_passes = undecided;
    self = (check_object *)PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    cbx_arena_init(&w.arena, cbx_allocator_default());
    fine = maybe_number(w.primary, &w.o.primary_threshold) && maybe_number(w.secondary, &w.o.secondary_threshold) &&
           read_rules(&w) && hold_runs(st, &w, self) && decide(st, &w, self);
    cbx_arena_clear(&w.arena);
    Py_XDECREF(w.waivers_path);
    if (!fine) Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- giving ---- */

static const cbx_gate *gate_of(PyObject *self) { return cbx_guard_gate(of(self)->guard); }

static PyObject *get_exit_code(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(gate_of(self)->exit_code);
}
static PyObject *get_passed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(gate_of(self)->exit_code == 0);
}
static PyObject *get_sentence(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(gate_of(self)->sentence);
}

static PyObject *get_reason(PyObject *self, void *unused)
{
    (void)unused;
    return cx_text_or_none(gate_of(self)->reason ? cbx_gate_reason_name(gate_of(self)->reason) : NULL);
}

static PyObject *finding_object(cx_state *st, const check_object *c, size_t i)
{
    const cbx_finding *f = cbx_regression_finding(c->regression, i);
    const cbx_waiver *w = cbx_guard_waiver(c->guard, i);
    int code = w ? 0 : cbx_regression_exit_code(c->regression, f->outcome);

    return cx_record_new(st, CX_FINDING,
                         (PyObject *[]){ PyUnicode_FromString(cbx_outcome_name(f->outcome)), PyLong_FromLong(code),
                                         PyUnicode_FromString(f->point), PyUnicode_FromString(f->scenario),
                                         PyUnicode_FromString(f->tags), PyUnicode_FromString(f->metric),
                                         cx_number_or_none(f->baseline), cx_number_or_none(f->current),
                                         cx_number_or_none(f->change), PyUnicode_FromString(cbx_basis_name(f->basis)),
                                         cx_text_or_none(w ? w->key : NULL), PyUnicode_FromString(f->sentence) });
}

static PyObject *get_findings(PyObject *self, void *unused)
{
    size_t n = cbx_regression_nfindings(of(self)->regression);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    (void)unused;
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *f = finding_object(PyType_GetModuleState(Py_TYPE(self)), of(self), i);
        if (!f || PyTuple_SetItem(tuple, (Py_ssize_t)i, f) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *check_text(PyObject *self, PyObject *args, PyObject *kw)
{
    static char *names[] = { "format", NULL };
    cbx_guard_format format = CBX_GUARD_TEXT;
    const char *word = "text";
    cbx_err err = CBX_ERR_INIT;
    PyObject *out;
    cbx_text text;

    if (!PyArg_ParseTupleAndKeywords(args, kw, "|s:text", names, &word)) return NULL;
    if (!cbx_guard_format_parse(word, &format)) {
        PyErr_Format(PyExc_ValueError, "format: expected 'text', 'json', 'markdown', 'junit' or 'github', found '%s'",
                     word);
        return NULL;
    }
    cbx_text_init(&text, cbx_allocator_default());
    out = cbx_guard_write(of(self)->guard, format, &text, &err) ? cx_raise(err.status, err.message)
                                                                : PyUnicode_FromString(cbx_text_str(&text));
    cbx_text_clear(&text);
    return out;
}

static PyObject *check_to_dict(PyObject *self, PyObject *unused)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_json *json = NULL;
    PyObject *out = NULL;
    cbx_text text;

    (void)unused;
    cbx_text_init(&text, cbx_allocator_default());
    if (cbx_guard_write(of(self)->guard, CBX_GUARD_JSON, &text, &err) ||
        cbx_json_parse(cbx_text_str(&text), text.len, "check", &json, &err))
        cx_raise(err.status, err.message);
    else
        out = cx_json_object(json);
    cbx_json_unref(json);
    cbx_text_clear(&text);
    return out;
}

static PyObject *check_repr(PyObject *self)
{
    return PyUnicode_FromFormat("Check(exit_code=%d, '%s')", gate_of(self)->exit_code, gate_of(self)->sentence);
}

static PyGetSetDef check_members[] = {
    { "exit_code", get_exit_code, NULL, "int: 0 pass, 1 regression, 2 cannot be compared, 3 undecided", NULL },
    { "passed", get_passed, NULL, "bool: whether the exit code is 0", NULL },
    { "sentence", get_sentence, NULL, "str: the answer in words", NULL },
    { "reason", get_reason, NULL,
      "str | None: why the comparison as a whole proves nothing, such as 'same-run'; None: it does", NULL },
    { "findings", get_findings, NULL, "tuple[Finding, ...]: tuple of Finding, one a metric of a point", NULL },
    { 0 },
};
static PyMethodDef check_methods[] = {
    { "text", (PyCFunction)(void (*)(void))check_text, METH_VARARGS | METH_KEYWORDS,
      "text($self, format: str = 'text') -> str\n--\n\nThe answer as 'text', 'json', 'markdown', 'junit' or "
      "'github'." },
    { "to_dict", check_to_dict, METH_NOARGS, "to_dict($self) -> dict[str, Any]\n--\n\nThe answer as its JSON has it." },
    { 0 },
};
static PyType_Slot check_slots[] = {
    { Py_tp_new, check_new },
    { Py_tp_dealloc, check_dealloc },
    { Py_tp_repr, check_repr },
    { Py_tp_getset, check_members },
    { Py_tp_methods, check_methods },
    { Py_tp_doc,
      "Check(run: Run, baseline: Run, *, threshold: float = 0.05, primary_threshold: float | None = None, "
      "secondary_threshold: float | None = None, thresholds: Mapping[str, float] | None = None, minimum: float = 0.0, "
      "level: float = 0.95, values_only: bool = False, allow_dropped: bool = False, allow_other_machine: bool = False, "
      "undecided_passes: bool = False, waivers: Path | None = None, defs: Run | None = None) -> Check\n--\n\n"
      "Holds a run against a baseline, metric by metric: by samples or bounds where both have them, else by values.\n"
      "thresholds: a dict of relative changes by pattern of metrics' names; waivers: a file of findings that are "
      "accepted." },
    { 0, NULL },
};
static PyType_Spec check_spec = {
    .name = "calibrax_c.Check",
    .basicsize = sizeof(check_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = check_slots,
};

bool cx_add_check(cx_state *st, PyObject *module)
{
    st->check_type = cx_type(st, &check_spec);
    return st->check_type && PyModule_AddObjectRef(module, "Check", (PyObject *)st->check_type) == 0;
}
