/* run_benchmark: an object that meets the benchmark protocol into a Report with a Run. */
#include <math.h>
#include <string.h>

#include "python/protocol.h"

typedef struct report_object {
    PyObject_HEAD cbx_benchmark_report *report;
} report_object;

static const cbx_benchmark_report *report_of(PyObject *self) { return ((report_object *)self)->report; }
static cx_state *state_of(PyObject *self) { return PyType_GetModuleState(Py_TYPE(self)); }

static void report_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    cbx_benchmark_report_free(((report_object *)self)->report);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *cx_report_object(cx_state *st, cbx_benchmark_report *report)
{
    report_object *self = (report_object *)PyType_GenericAlloc(st->report_type, 0);

    if (self)
        self->report = report;
    else
        cbx_benchmark_report_free(report);
    return (PyObject *)self;
}

/* ---- what is wished ---- */

typedef struct wish {
    PyObject *benchmark, *tags, *targets, *defs, *config, *trace, *name, *scenario;
    int detect, keep_going;
    cbx_benchmark_opts o;
    cbx_run_opts run;
    cbx_arena arena;
    cbx_json *config_json;
    cbx_metric_def *def_views;
    PyObject *def_records, *trace_path;
} wish;

bool cx_targets_from(PyObject *o, cbx_arena *arena, const cbx_named_metric **out, size_t *n)
{
    cbx_named_metric *list;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    size_t count = 0;

    if (!o || o == Py_None) return true;
    if (!PyDict_Check(o)) {
        PyErr_Format(PyExc_TypeError, "targets have to be a dict of numbers by metric, not %R", o);
        return false;
    }
    list = cbx_arena_calloc(arena, (size_t)PyDict_Size(o), sizeof *list);
    if (!list) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(o, &at, &key, &value)) {
        list[count].name = cx_text_of(key, "the metric of a target");
        list[count++].metric = cbx_metric_of(PyFloat_AsDouble(value));
        if (PyErr_Occurred()) return false;
    }
    *out = list;
    *n = count;
    return true;
}

static bool read_text(PyObject *o, const char *what, const char **out)
{
    if (!o || o == Py_None) return true;
    *out = cx_text_of(o, what);
    return *out != NULL;
}

static bool read_config(wish *w)
{
    if (!w->config || w->config == Py_None) return true;
    if (!PyDict_Check(w->config)) {
        PyErr_Format(PyExc_TypeError, "run_benchmark: 'config' must be a dict, got %R", w->config);
        return false;
    }
    w->config_json = cx_json_from(w->config, "config", NULL);
    w->o.measure.config = w->config_json;
    return w->config_json != NULL;
}

static bool read_wish(cx_state *st, wish *w)
{
    if (!read_text(w->name, "name", &w->o.name) || !read_text(w->scenario, "scenario", &w->o.scenario)) return false;
    if (!cx_tags_from(w->tags, &w->arena, &w->o.tags, &w->o.ntags) ||
        !cx_targets_from(w->targets, &w->arena, &w->o.targets, &w->o.ntargets) || !read_config(w))
        return false;
    if (w->trace && w->trace != Py_None && !cx_path_from(w->trace, &w->trace_path, &w->o.trace)) return false;
    if (w->defs && w->defs != Py_None && !cx_defs_from(st, w->defs, &w->def_records, &w->def_views, &w->o.ndefs))
        return false;
    w->o.defs = w->def_views;
    w->run.no_vcs = w->run.no_machine = w->run.no_versions = !w->detect;
    w->o.run = &w->run;
    return true;
}

static void clear_wish(wish *w)
{
    cbx_json_unref(w->config_json);
    cbx_arena_clear(&w->arena);
    PyMem_Free(w->def_views);
    Py_XDECREF(w->def_records);
    Py_XDECREF(w->trace_path);
}

/* ---- the run: the lock is held, the benchmark's own Python code lets others in ---- */

/* A class becomes an object, made with the configuration. */
static PyObject *object_of(const wish *w)
{
    PyObject *none, *made;

    if (!PyType_Check(w->benchmark)) return Py_NewRef(w->benchmark);
    none = PyTuple_New(0);
    made = none ? PyObject_Call(w->benchmark, none, w->config == Py_None ? NULL : w->config) : NULL;
    Py_XDECREF(none);
    return made;
}

static PyObject *run(cx_state *st, wish *w, cx_bench *b)
{
    const cbx_benchmark_item item = { &b->ops, b };
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_report *report = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_benchmark_failure *failures;
    size_t nfailures;
    cbx_status status;
    cbx_ctx *ctx = cx_ctx_borrow(st);

    if (!ctx) return NULL;
    source.items = &item;
    source.nitems = 1;
    status = cbx_benchmark_run(ctx, &source, &w->o, &report, &err);
    cx_ctx_return(st, ctx);
    if (cx_bench_raise(b, !w->keep_going)) {
        cbx_benchmark_report_free(report);
        return NULL;
    }
    if (status) return cx_raise(status, err.message);
    failures = cbx_benchmark_report_failures(report, &nfailures);
    if (nfailures && !w->keep_going) { /* the library's own: a dataset without examples, a clock that cannot tell */
        cx_raise(failures[0].status, failures[0].message);
        cbx_benchmark_report_free(report);
        return NULL;
    }
    return cx_report_object(st, report);
}

static PyObject *run_benchmark(PyObject *module, PyObject *args, PyObject *kw)
{
    static char *names[] = { "benchmark", "name",       "scenario",    "launches",   "warmup",  "samples", "sample_s",
                             "budget_s",  "batch_size", "max_batches", "tags",       "targets", "defs",    "config",
                             "trace",     "level",      "detect",      "keep_going", NULL };
    wish w = { .o = CBX_BENCHMARK_OPTS_INIT, .run = CBX_RUN_OPTS_INIT, .detect = 1 };
    cbx_benchmark_measure_opts *m = &w.o.measure;
    Py_ssize_t launches = 1, warmup = 1, samples = 30, batch_size = 32, max_batches = 0;
    cx_state *st = cx_state_of(module);
    PyObject *object = NULL, *out = NULL;
    cx_bench b = { 0 };

    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$OOnnnddnnOOOOOdpp:run_benchmark", names, &w.benchmark, &w.name,
                                     &w.scenario, &launches, &warmup, &samples, &m->sample_s, &m->budget_s, &batch_size,
                                     &max_batches, &w.tags, &w.targets, &w.defs, &w.config, &w.trace, &w.o.level,
                                     &w.detect, &w.keep_going))
        return NULL;
    if (launches < 1 || warmup < 0 || samples < 1 || batch_size < 1 || max_batches < 0) {
        PyErr_SetString(PyExc_ValueError,
                        "launches, samples and batch_size have to be 1 or more, warmup and max_batches 0 or more");
        return NULL;
    }
    w.o.launches = (size_t)launches;
    m->warmup = (size_t)warmup;
    m->samples = (size_t)samples;
    m->batch_size = (size_t)batch_size;
    m->max_batches = (size_t)max_batches;
    cbx_arena_init(&w.arena, cbx_allocator_default());
    if (read_wish(st, &w)) object = object_of(&w);
    if (object && cx_bench_make(&b, st, object, w.o.name)) out = run(st, &w, &b);
    cx_bench_clear(&b);
    Py_XDECREF(object);
    clear_wish(&w);
    return out;
}

/* ---- the report ---- */

static PyObject *get_run(PyObject *self, void *unused)
{
    cbx_run *r = cbx_benchmark_report_run(report_of(self));

    (void)unused;
    return r ? cx_run_object(state_of(self), cbx_run_ref(r)) : Py_NewRef(Py_None);
}

static PyObject *target_object(cx_state *st, const cbx_target_check *t)
{
    char text[CBX_ERR_MESSAGE_SIZE];

    return cx_record_new(st, CX_TARGET,
                         (PyObject *[]){ PyUnicode_FromString(t->benchmark), PyUnicode_FromString(t->metric),
                                         PyUnicode_FromString(cbx_target_outcome_name(t->outcome)),
                                         PyFloat_FromDouble(t->target), PyFloat_FromDouble(t->value.value),
                                         cx_number_or_none(t->margin),
                                         PyUnicode_FromString(cbx_target_sentence(t, text, sizeof text)) });
}

static PyObject *get_targets(PyObject *self, void *unused)
{
    size_t n;
    const cbx_target_check *t = cbx_benchmark_report_targets(report_of(self), &n);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    (void)unused;
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *v = target_object(state_of(self), &t[i]);
        if (!v || PyTuple_SetItem(tuple, (Py_ssize_t)i, v) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_failures(PyObject *self, void *unused)
{
    size_t n;
    const cbx_benchmark_failure *f = cbx_benchmark_report_failures(report_of(self), &n);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    (void)unused;
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *v = cx_record_new(state_of(self), CX_FAILURE,
                                    (PyObject *[]){ PyUnicode_FromString(f[i].benchmark),
                                                    PyLong_FromSize_t(f[i].launch), PyUnicode_FromString(f[i].phase),
                                                    PyUnicode_FromString(f[i].message) });
        if (!v || PyTuple_SetItem(tuple, (Py_ssize_t)i, v) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_exit_code(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(cbx_benchmark_report_exit_code(report_of(self)));
}
static PyObject *get_passed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(cbx_benchmark_report_exit_code(report_of(self)) == 0);
}

static PyObject *report_to_dict(PyObject *self, PyObject *unused)
{
    (void)unused;
    return cx_json_answer(cbx_benchmark_report_json(report_of(self)));
}

static PyObject *report_repr(PyObject *self)
{
    PyObject *r = get_run(self, NULL), *text;
    size_t n;

    if (!r) return NULL;
    cbx_benchmark_report_targets(report_of(self), &n);
    text = PyUnicode_FromFormat("Report(exit_code=%d, run=%R, targets=%zu)",
                                cbx_benchmark_report_exit_code(report_of(self)), r, n);
    Py_DECREF(r);
    return text;
}

static PyGetSetDef report_members[] = {
    { "run", get_run, NULL, "Run | None: the Run; None: no launch came to its end", NULL },
    { "targets", get_targets, NULL, "tuple[Target, ...]: tuple of Target", NULL },
    { "failures", get_failures, NULL, "tuple[Failure, ...]: tuple of Failure", NULL },
    { "exit_code", get_exit_code, NULL, "int: 0 pass, 1 a target is missed, 2 one cannot be looked at, 3 undecided",
      NULL },
    { "passed", get_passed, NULL, "bool: whether the exit code is 0", NULL },
    { 0 },
};
static PyMethodDef report_methods[] = {
    { "to_dict", report_to_dict, METH_NOARGS,
      "to_dict($self) -> dict[str, Any]\n--\n\nThe report as `calibrax run --json` prints it." },
    { 0 },
};
static PyType_Slot report_slots[] = {
    { Py_tp_dealloc, report_dealloc },
    { Py_tp_repr, report_repr },
    { Py_tp_getset, report_members },
    { Py_tp_methods, report_methods },
    { Py_tp_doc, "What came of run_benchmark." },
    { 0, NULL },
};
static PyType_Spec report_spec = {
    .name = "calibrax_c.Report",
    .basicsize = sizeof(report_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = report_slots,
};

static PyMethodDef functions[] = {
    { "run_benchmark", (PyCFunction)(void (*)(void))run_benchmark, METH_VARARGS | METH_KEYWORDS,
      "run_benchmark(benchmark: object, *, name: str | None = None, scenario: str | None = None, launches: int = 1, "
      "warmup: int = 1, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, batch_size: int = 32, "
      "max_batches: int = 0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: "
      "Definitions | None = None, config: Mapping[str, Any] | None = None, trace: str | None = None, level: float = "
      "0.95, detect: bool = True, keep_going: bool = False) -> Report\n--\n\n"
      "Runs an object (or a class, made with config) with run_training, run_evaluation, work() or run_batch(batch), "
      "and "
      "setup, teardown and\nget_performance_targets where it has them, in this process, and gives a Report. What it "
      "raises "
      "is raised here, after its teardown;\nwith keep_going it is a Failure." },
    { 0 },
};

bool cx_add_benchmark(cx_state *st, PyObject *module)
{
    st->report_type = cx_type(st, &report_spec);
    return st->report_type && PyModule_AddObjectRef(module, "Report", (PyObject *)st->report_type) == 0 &&
           cx_methods(functions, st->signatures, "") && PyModule_AddFunctions(module, functions) == 0;
}
