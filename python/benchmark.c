/*
 * run_benchmark: an object that meets the benchmark protocol into a Report with a Run, in this
 * process; launch_benchmarks: benchmarks of a Python module, a shared object, a file or a command,
 * each launch in a fresh process.
 */
#include <string.h>

#include "python/objects.h"

static cbx_benchmark_report *report_of(PyObject *self) { return ((cx_object *)self)->handle; }

static void report_end(cbx_benchmark_report **report) { cbx_benchmark_report_free(*report); }

/* A Report that takes *report over. */
static PyObject *report_object(cx_state *st, cbx_benchmark_report **report)
{
    cx_object *self = cx_object_new(st, CX_REPORT);

    if (!self) return NULL;
    self->handle = *report;
    *report = NULL;
    return (PyObject *)self;
}

/* ---- options of both ---- */

typedef struct options {
    cbx_benchmark_opts o;
    cbx_run_opts run;
    cbx_json *config;
} options;

#define OPTIONS_INIT                                                                                                   \
    {                                                                                                                  \
        .o = CBX_BENCHMARK_OPTS_INIT, .run = CBX_RUN_OPTS_INIT                                                         \
    }

static void options_end(options *w) { cbx_json_unref(w->config); }

static bool read_options(cx_call *c, options *w)
{
    cbx_named_metric *targets;
    const char **names;
    double *values;
    bool detect;

    if (!CX_GET(c, w->o.launches, w->o.measure.samples, w->o.measure.sample_s, w->o.measure.budget_s, w->o.level,
                w->o.trace, detect) ||
        !cx_tags_arg(c, "tags", &w->o.tags, &w->o.ntags) ||
        !cx_numbers_by_name(c, "targets", &names, &values, &w->o.ntargets) ||
        !cx_defs_arg(c, cx_arg(c, "defs"), &w->o.defs, &w->o.ndefs))
        return false;
    w->o.targets = targets = cx_alloc(c, w->o.ntargets, sizeof *targets);
    for (size_t i = 0; targets && i < w->o.ntargets; i++) {
        targets[i].name = names[i];
        targets[i].metric = cbx_metric_of(values[i]);
    }
    w->o.measure.config = w->config = cx_json_arg(c, "config");
    w->run.no_vcs = w->run.no_machine = w->run.no_versions = !detect;
    w->o.run = &w->run;
    return !PyErr_Occurred();
}

/* ---- a Python object as a benchmark of the library: its methods are called back with the
 * interpreter's lock held ---- */

typedef struct bench {
    PyObject *made;                     /* as _values.benchmark_of returns it */
    PyObject *object, *dataset, *batch; /* batch: of the pass under way */
    cx_callback failure;                /* keeps the first exception of a callback */
    cbx_benchmark_ops ops;
    cbx_dataset_ops dataset_ops;
} bench;

static void bench_end(bench *b)
{
    Py_XDECREF(b->made);
    Py_XDECREF(b->batch);
    cx_callback_drop(&b->failure);
}

/* Keeps the first exception; the status that the library sees, with its words. */
static cbx_status caught(bench *b, cbx_err *err)
{
    const bool interrupt = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    CX_OWN PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Restore(type, value, traceback);
    cx_callback_caught(&b->failure);
    return cbx_fail(err, interrupt ? CBX_EINTERRUPTED : CBX_ECHILD, "%s",
                    words && *words ? words : "it raised an exception");
}

/* The status of a call, whose result is dropped. */
static cbx_status called(bench *b, PyObject *r, cbx_err *err)
{
    Py_XDECREF(r);
    return r ? CBX_OK : caught(b, err);
}

static cbx_status values(bench *b, const char *method, cbx_values *out, cbx_err *err)
{
    CX_OWN PyObject *given = PyObject_CallMethod(b->object, method, NULL);
    CX_OWN PyObject *dict = given ? cx_python("_values", "numbers_of", "sO", method, given) : NULL;
    cbx_err failed = CBX_ERR_INIT;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    const char *name;

    while (dict && !failed.status && PyDict_Next(dict, &at, &key, &value) && (name = cx_text_of(key, method)))
        cbx_values_add(out, name, PyFloat_AsDouble(value), &failed);
    if (failed.status) cx_raise(failed.status, failed.message);
    return PyErr_Occurred() ? caught(b, err) : CBX_OK;
}

#define CALL(name, method)                                                                                             \
    static cbx_status name(cbx_ctx *ctx, void *self, cbx_err *err)                                                     \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        return called(self, PyObject_CallMethod(((bench *)self)->object, method, NULL), err);                          \
    }
#define VALUES(name, method)                                                                                           \
    static cbx_status name(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)                                    \
    {                                                                                                                  \
        (void)ctx;                                                                                                     \
        return values(self, method, out, err);                                                                         \
    }
CALL(setup, "setup")
CALL(work, "work")
VALUES(train, "run_training")
VALUES(evaluate, "run_evaluation")
VALUES(targets, "get_performance_targets")
CALL(torn_down, "teardown")
static void teardown(cbx_ctx *ctx, void *self) { (void)torn_down(ctx, self, NULL); }

/* The library sees no arrays of a dataset: run_batch is called with what the dataset returned. */
static size_t length(const void *self)
{
    Py_ssize_t n = PyObject_Size(((const bench *)self)->dataset);

    if (n >= 0) return (size_t)n;
    caught((bench *)(uintptr_t)self, NULL);
    return 0;
}

static cbx_status get_batch(cbx_ctx *ctx, void *self, size_t size, size_t start, cbx_named_array *out, size_t capacity,
                            size_t *n, cbx_err *err)
{
    bench *b = self;

    (void)ctx, (void)out, (void)capacity;
    *n = 0;
    cx_set(&b->batch, cx_python("_values", "batch_of", "Onn", b->dataset, (Py_ssize_t)size, (Py_ssize_t)start));
    return b->batch ? CBX_OK : caught(b, err);
}

static cbx_status get(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t capacity, size_t *n,
                      cbx_err *err)
{
    return get_batch(ctx, self, 1, i, out, capacity, n, err);
}

static cbx_status run_batch(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err)
{
    (void)ctx, (void)batch, (void)n;
    return called(self, PyObject_CallMethod(((bench *)self)->object, "run_batch", "(O)", ((bench *)self)->batch), err);
}

static bool has(const bench *b, const char *method)
{
    CX_OWN PyObject *name = PyUnicode_FromString(method);
    return name && PySequence_Contains(PyTuple_GetItem(b->made, 3), name) == 1;
}

static bool bench_make(cx_call *c, bench *b, const char *name)
{
    cbx_benchmark_ops checked, *ops = &b->ops;
    PyObject *given = cx_arg(c, "config"), *text, *domain, *methods, *defs;

    b->made = cx_python("_values", "benchmark_of", "OzO", cx_arg(c, "benchmark") ? cx_arg(c, "benchmark") : Py_None,
                        name, given ? given : Py_None);
    if (!b->made || !PyArg_ParseTuple(b->made, "OOOOOO", &b->object, &text, &domain, &methods, &b->dataset, &defs))
        return false;
    *ops = (cbx_benchmark_ops){ .struct_size = sizeof *ops, .abi = CBX_BENCHMARK_ABI };
    ops->name = cx_text_of(text, "the name of a benchmark");
    ops->domain = cx_text_of(domain, "the domain of a benchmark");
    if (has(b, "setup")) ops->setup = setup;
    if (has(b, "run_training")) ops->run_training = train;
    if (has(b, "work")) ops->work = work;
    if (has(b, "run_evaluation")) ops->run_evaluation = evaluate;
    if (has(b, "teardown")) ops->teardown = teardown;
    if (has(b, "get_performance_targets")) ops->targets = targets;
    if (b->dataset != Py_None) {
        b->dataset_ops = (cbx_dataset_ops){ sizeof b->dataset_ops, CBX_DATASET_ABI, "dataset", length, get, get_batch };
        ops->dataset = &b->dataset_ops;
        ops->run_batch = run_batch;
    }
    if (PyErr_Occurred() || !cx_defs_arg(c, defs, &ops->metric_defs, &ops->nmetric_defs)) return false;
    if (!ops->run_training && !ops->work && !ops->run_batch && !ops->run_evaluation)
        return cx_refuse(c, "benchmark", PyExc_TypeError,
                         "an object with run_training, run_evaluation, work or run_batch", b->object);
    return cx_fine(c, cbx_benchmark_ops_read(ops, &checked, &c->err));
}

/* ---- in this process: the lock is held, the benchmark's own Python code lets others in ---- */

static PyObject *do_run(cx_call *c)
{
    CX_ENDED_BY(report_end) cbx_benchmark_report *report = NULL;
    CX_ENDED_BY(options_end) options w = OPTIONS_INIT;
    CX_ENDED_BY(bench_end) bench b = { 0 };
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    const cbx_benchmark_item item = { &b.ops, &b };
    const cbx_benchmark_failure *failures;
    cbx_status status;
    size_t nfailures;
    bool keep_going;

    if (!read_options(c, &w) ||
        !CX_GET(c, w.o.name, w.o.scenario, w.o.measure.warmup, w.o.measure.batch_size, w.o.measure.max_batches,
                keep_going) ||
        !bench_make(c, &b, w.o.name) || !cx_begin(c))
        return NULL;
    source.items = &item;
    source.nitems = 1;
    status = cbx_benchmark_run(c->ctx, &source, &w.o, &report, &c->err);
    if (!keep_going || !b.failure.type || !PyErr_GivenExceptionMatches(b.failure.type, PyExc_Exception))
        if (cx_callback_done(&b.failure)) return NULL; /* with keep_going only one that no benchmark may swallow */
    if (!cx_fine(c, status)) return NULL;
    failures = cbx_benchmark_report_failures(report, &nfailures);
    if (nfailures && !keep_going) /* the library's own: a dataset without examples, a clock that is too coarse */
        return cx_raise(failures[0].status, failures[0].message);
    return report_object(c->st, &report);
}

/* ---- in processes of their own ---- */

static bool read_source(cx_call *c, cbx_benchmark_source *source, cbx_benchmark_command *command, size_t warmup)
{
    const char *module = NULL, *plugin = NULL, *file = NULL, *python = NULL, *slash;
    PyObject *executable = PySys_GetObject("executable");
    cx_texts argv;
    int metrics;

    if (!CX_GET(c, module, plugin, file, python, metrics) || !CX_GET_AS(c, "command", argv)) return false;
    if (!!module + !!plugin + !!file + (argv.list != NULL) != 1)
        return cx_refused(PyExc_TypeError, "launch_benchmarks() takes one of 'module', 'plugin', 'file' and 'command'");
    source->kind = CBX_BENCHMARK_COMMAND;
    if (argv.list) {
        if (!argv.n) return cx_refuse(c, "command", PyExc_ValueError, "a program and its arguments", argv.tuple);
        slash = strrchr(argv.list[0], '/');
        *command = (cbx_benchmark_command){ .name = slash && slash[1] ? slash + 1 : argv.list[0],
                                            .argv = argv.list,
                                            .metrics = (cbx_command_metrics)metrics,
                                            .warmup = warmup == SIZE_MAX ? 0 : warmup };
        source->commands = command;
        source->ncommands = 1;
        return true;
    }
    if (file) {
        CX_CONTEXT(ctx, c->st);
        return ctx && cx_fine(c, cbx_benchmark_commands_read(ctx, file, cx_arena(c), &source->commands,
                                                             &source->ncommands, &c->err));
    }
    source->kind = plugin ? CBX_BENCHMARK_OBJECT : CBX_BENCHMARK_PYTHON;
    source->path = plugin ? plugin : module;
    source->python = python                                      ? python
                     : executable && PyUnicode_Check(executable) ? cx_text_of(executable, "sys.executable")
                                                                 : source->python;
    return !PyErr_Occurred();
}

static PyObject *do_launch(cx_call *c)
{
    CX_ENDED_BY(report_end) cbx_benchmark_report *report = NULL;
    CX_ENDED_BY(options_end) options w = OPTIONS_INIT;
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_command command;
    size_t warmup = SIZE_MAX;
    cx_texts benchmarks;

    if (!CX_GET(c, warmup) || !read_source(c, &source, &command, warmup) || !read_options(c, &w) ||
        !CX_GET(c, benchmarks, w.o.timeout_s, w.o.grace_s, w.o.allow_failed, w.o.trace_dir, w.o.show_output))
        return NULL;
    w.o.names = benchmarks.list;
    w.o.nnames = benchmarks.n;
    w.o.stop = c->stop;
    if (warmup != SIZE_MAX) w.o.measure.warmup = warmup;
    if (!cx_begin_long(c)) return NULL; /* it waits for processes */
    return cx_fine(c, cbx_benchmark_run(c->ctx, &source, &w.o, &report, &c->err)) ? report_object(c->st, &report)
                                                                                  : NULL;
}

/* ---- the report ---- */

static PyObject *target_object(cx_state *st, const cbx_target_check *t)
{
    char text[CBX_ERR_MESSAGE_SIZE];

    return cx_record_new(st, CX_TARGET, "(sssddNs)", t->benchmark, t->metric, cbx_target_outcome_name(t->outcome),
                         t->target, t->value.value, cx_number_or_none(t->margin),
                         cbx_target_sentence(t, text, sizeof text));
}

static PyObject *targets_of(PyObject *self)
{
    size_t n;
    const cbx_target_check *t = cbx_benchmark_report_targets(report_of(self), &n);

    return CX_TUPLE(n, target_object(cx_state_of_instance(self), &t[i]));
}

static PyObject *failures_of(PyObject *self)
{
    size_t n;
    const cbx_benchmark_failure *f = cbx_benchmark_report_failures(report_of(self), &n);

    return CX_TUPLE(n, cx_record_new(cx_state_of_instance(self), CX_FAILURE, "(snss)", f[i].benchmark,
                                     (Py_ssize_t)f[i].launch, f[i].phase, f[i].message));
}

static PyObject *run_of(PyObject *self)
{
    cbx_run *r = cbx_benchmark_report_run(report_of(self));
    return r ? cx_run_object(cx_state_of_instance(self), cbx_run_ref(r)) : Py_NewRef(Py_None);
}

static PyObject *do_to_dict(cx_call *c) { return cx_json_answer(cbx_benchmark_report_json(report_of(c->self))); }

static PyObject *report_repr(PyObject *self)
{
    CX_OWN PyObject *r = run_of(self);
    size_t n;

    if (!r) return NULL;
    cbx_benchmark_report_targets(report_of(self), &n);
    return PyUnicode_FromFormat("Report(exit_code=%d, run=%R, targets=%zu)",
                                cbx_benchmark_report_exit_code(report_of(self)), r, n);
}

#define ATTRIBUTES(X)                                                                                                  \
    X(run, "Run | None: the Run; None: no launch finished", run_of(self))                                              \
    X(targets, "tuple[Target, ...]: tuple of Target", targets_of(self))                                                \
    X(failures, "tuple[Failure, ...]: tuple of Failure", failures_of(self))                                            \
    X(exit_code, "int: 0 pass, 1 a target is missed, 2 one cannot be checked, 3 undecided",                            \
      PyLong_FromLong(cbx_benchmark_report_exit_code(report_of(self))))                                                \
    X(passed, "bool: whether the exit code is 0", PyBool_FromLong(cbx_benchmark_report_exit_code(report_of(self)) == 0))
CX_GETTERS(report_members, ATTRIBUTES)

/* clang-format off */
#define METHODS(X) \
    X(to_dict, "", "dict[str, Any]", do_to_dict, 0, "The report as `calibrax run --json` prints it.\n\n>>> 'run' in cx.launch_benchmarks(command=['true'], detect=False).to_dict()\nTrue")
#define RUNS(X) \
    X(run_benchmark, "benchmark: object, *, name: str | None = None, scenario: str | None = None, launches: int = 1, warmup: int = 1, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, batch_size: int = 32, max_batches: int = 0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: Definitions | None = None, config: Mapping[str, Any] | None = None, trace: str | None = None, level: float = 0.95, detect: bool = True, keep_going: bool = False", "Report", do_run, 0, "Runs an object (or a class, which is called with config) that has run_training, run_evaluation, work() or run_batch(batch), and optionally setup, teardown and get_performance_targets, in this process. Its exceptions are raised after its teardown; with keep_going they become a Failure.\n\n>>> cx.run_benchmark(type('Sum', (), {'work': lambda self: sum(range(10))})(), samples=3, detect=False).passed\nTrue")
#define LAUNCHES(X) \
    X(launch_benchmarks, "*, module: str | None = None, plugin: str | None = None, file: Path | str | None = None, command: str | Sequence[str] | None = None, python: str | None = None, benchmarks: str | Sequence[str] | None = None, metrics: 'auto' | 'stdout' | 'none' = 'auto', launches: int = 1, warmup: int | None = None, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, timeout_s: float = 0.0, grace_s: float = 10.0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: Definitions | None = None, config: Mapping[str, Any] | None = None, level: float = 0.95, allow_failed: float = 0.0, trace: str | None = None, trace_dir: str | None = None, show_output: bool = False, detect: bool = True", "Report", do_launch, 0, "Runs the benchmarks of a Python module ('module', 'file.py', either with ':name' of a class or any callable), a shared object, a file that describes commands, or one command, each launch in a fresh process, and gives a Report. A launch that fails is a Failure; more of them than the share allow_failed make the exit code 2, a missed target makes it 1.\n\n>>> cx.launch_benchmarks(command=['true'], launches=2, detect=False).passed\nTrue")
/* clang-format on */
CX_FUNCTIONS(cx_launch_methods, LAUNCHES, WAITS)
CX_FUNCTIONS(cx_run_methods, RUNS, LIGHT) /* the object's methods are called on this thread */

CX_TYPE(report, report, METHODS, "calibrax_c.Report", NULL, cbx_benchmark_report_free,
        "The result of run_benchmark and launch_benchmarks.", .bare = true, .members = report_members,
        .repr = report_repr)
