/*
 * run_benchmark: an object that meets the benchmark protocol into a Report with a Run, in this process; launch_benchmarks: benchmarks of
 * a Python module, a shared object, a file or a command, each launch in a fresh process.
 */
#include <math.h>
#include <string.h>

#include "python/objects.h"
#include "python/protocol.h"

static cbx_benchmark_report *report_of(PyObject *self) { return ((cx_object *)self)->handle; }
static void report_free(cx_object *o) { cbx_benchmark_report_free(o->handle); }

static PyObject *report_object_new(cx_state *st, cbx_benchmark_report *report)
{
    cx_object *self = cx_object_new(st, CX_REPORT);

    if (self)
        self->handle = report;
    else
        cbx_benchmark_report_free(report);
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

/* The caller unrefs the configuration, whatever is returned. */
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

/* ---- in this process: the lock is held, the benchmark's own Python code lets others in ---- */

static PyObject *run(cx_call *c, options *w, cx_bench *b, bool keep_going)
{
    const cbx_benchmark_item item = { &b->ops, b };
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_report *report = NULL;
    const cbx_benchmark_failure *failures;
    cbx_status status;
    size_t nfailures;

    if (!cx_begin(c)) return NULL;
    source.items = &item;
    source.nitems = 1;
    status = cbx_benchmark_run(c->ctx, &source, &w->o, &report, &c->err);
    if (cx_bench_raise(b, !keep_going)) {
        cbx_benchmark_report_free(report);
        return NULL;
    }
    if (!cx_fine(c, status)) return NULL;
    failures = cbx_benchmark_report_failures(report, &nfailures);
    if (nfailures && !keep_going) { /* the library's own: a dataset without examples, a clock that is too coarse */
        cx_raise(failures[0].status, failures[0].message);
        cbx_benchmark_report_free(report);
        return NULL;
    }
    return report_object_new(c->st, report);
}

static PyObject *do_run(cx_call *c)
{
    PyObject *benchmark = cx_arg(c, "benchmark") ? cx_arg(c, "benchmark") : Py_None, *none, *object = NULL, *out = NULL;
    options w = OPTIONS_INIT;
    bool keep_going;
    cx_bench b = { 0 };

    if (read_options(c, &w) && CX_GET(c, w.o.name, w.o.scenario, w.o.measure.warmup, w.o.measure.batch_size,
                                      w.o.measure.max_batches, keep_going)) {
        if (PyType_Check(benchmark)) { /* a class becomes an object, made with the configuration */
            none = PyTuple_New(0);
            object = none ? PyObject_Call(benchmark, none, cx_arg(c, "config")) : NULL;
            Py_XDECREF(none);
        } else {
            object = Py_NewRef(benchmark);
        }
        if (object && cx_bench_make(c, &b, object, w.o.name)) out = run(c, &w, &b, keep_going);
        cx_bench_clear(&b);
        Py_XDECREF(object);
    }
    cbx_json_unref(w.config);
    return out;
}

/* ---- in processes of their own ---- */

static bool read_source(cx_call *c, cbx_benchmark_source *source, cbx_benchmark_command *command, size_t warmup)
{
    const char *module = NULL, *plugin = NULL, *file = NULL, *python = NULL, *slash;
    PyObject *executable = PySys_GetObject("executable");
    cx_texts argv;
    cbx_status status;
    cbx_ctx *ctx;
    int metrics;

    if (!CX_GET(c, module, plugin, file, python, metrics) || !CX_GET_AS(c, "command", argv)) return false;
    if (!!module + !!plugin + !!file + (argv.list != NULL) != 1)
        return PyErr_Format(PyExc_TypeError,
                            "launch_benchmarks() takes one of 'module', 'plugin', 'file' and 'command'") != NULL;
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
        if (!(ctx = cx_ctx_borrow(c->st))) return false;
        status = cbx_benchmark_commands_read(ctx, file, cx_arena(c), &source->commands, &source->ncommands, &c->err);
        cx_ctx_return(c->st, ctx);
        return cx_fine(c, status);
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
    cbx_benchmark_source source = CBX_BENCHMARK_SOURCE_INIT;
    cbx_benchmark_report *report = NULL;
    cbx_benchmark_command command;
    options w = OPTIONS_INIT;
    size_t warmup = SIZE_MAX;
    cx_texts benchmarks;
    bool fine;

    fine = CX_GET(c, warmup) && read_source(c, &source, &command, warmup) && read_options(c, &w) &&
           CX_GET(c, benchmarks, w.o.timeout_s, w.o.grace_s, w.o.allow_failed, w.o.trace_dir, w.o.show_output);
    if (fine) {
        w.o.names = benchmarks.list;
        w.o.nnames = benchmarks.n;
        w.o.stop = c->stop;
        if (warmup != SIZE_MAX) w.o.measure.warmup = warmup;
        c->elements = CX_UNLOCK_ELEMENTS; /* it waits for processes */
        fine = cx_begin(c) && cx_fine(c, cbx_benchmark_run(c->ctx, &source, &w.o, &report, &c->err));
    }
    cbx_json_unref(w.config);
    return fine ? report_object_new(c->st, report) : NULL;
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
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    CX_FILL(tuple, n, target_object(cx_state_of_instance(self), &t[i]))
    return tuple;
}

static PyObject *failures_of(PyObject *self)
{
    size_t n;
    const cbx_benchmark_failure *f = cbx_benchmark_report_failures(report_of(self), &n);
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    CX_FILL(tuple, n,
            cx_record_new(cx_state_of_instance(self), CX_FAILURE, "(snss)", f[i].benchmark, (Py_ssize_t)f[i].launch,
                          f[i].phase, f[i].message))
    return tuple;
}

static PyObject *run_of(PyObject *self)
{
    cbx_run *r = cbx_benchmark_report_run(report_of(self));
    return r ? cx_run_object(cx_state_of_instance(self), cbx_run_ref(r)) : Py_NewRef(Py_None);
}

static PyObject *do_to_dict(cx_call *c) { return cx_json_answer(cbx_benchmark_report_json(report_of(c->self))); }

static PyObject *report_repr(PyObject *self)
{
    PyObject *r = run_of(self), *text;
    size_t n;

    if (!r) return NULL;
    cbx_benchmark_report_targets(report_of(self), &n);
    text = PyUnicode_FromFormat("Report(exit_code=%d, run=%R, targets=%zu)",
                                cbx_benchmark_report_exit_code(report_of(self)), r, n);
    Py_DECREF(r);
    return text;
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
    X(run_benchmark, "benchmark: object, *, name: str | None = None, scenario: str | None = None, launches: int = 1, warmup: int = 1, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, batch_size: int = 32, max_batches: int = 0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: Definitions | None = None, config: Mapping[str, Any] | None = None, trace: str | None = None, level: float = 0.95, detect: bool = True, keep_going: bool = False", "Report", do_run, 0, "Runs an object (or a class, made with config) with run_training, run_evaluation, work() or run_batch(batch), and setup, teardown and get_performance_targets where it has them, in this process. What it raises is raised here, after its teardown; with keep_going it is a Failure.\n\n>>> cx.run_benchmark(type('Sum', (), {'work': lambda self: sum(range(10))})(), samples=3, detect=False).passed\nTrue")
#define LAUNCHES(X) \
    X(launch_benchmarks, "*, module: str | None = None, plugin: str | None = None, file: Path | str | None = None, command: str | Sequence[str] | None = None, python: str | None = None, benchmarks: str | Sequence[str] | None = None, metrics: 'auto' | 'stdout' | 'none' = 'auto', launches: int = 1, warmup: int | None = None, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, timeout_s: float = 0.0, grace_s: float = 10.0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: Definitions | None = None, config: Mapping[str, Any] | None = None, level: float = 0.95, allow_failed: float = 0.0, trace: str | None = None, trace_dir: str | None = None, show_output: bool = False, detect: bool = True", "Report", do_launch, 0, "Runs the benchmarks of a Python module ('module', 'file.py', either with ':name' of a class or any callable), a shared object, a file that describes commands, or one command, each launch in a fresh process, and gives a Report. A launch that fails is a Failure; more of them than the share allow_failed make the exit code 2, a missed target makes it 1.\n\n>>> cx.launch_benchmarks(command=['true'], launches=2, detect=False).passed\nTrue")
/* clang-format on */
METHODS(CX_OF_TYPE)
static PyMethodDef report_methods[] = { METHODS(CX_OF_TYPE_ROW){ 0 } };
CX_FUNCTIONS(cx_launch_methods, LAUNCHES, CX_WAITS)
#define call_wait CX_LIGHT /* the object's methods are called on this thread */
CX_MORE_FUNCTIONS(cx_run_methods, RUNS)
#undef call_wait

const cx_object_type cx_report_object_type = { .name = "calibrax_c.Report",
                                               .doc = "The result of run_benchmark and launch_benchmarks.",
                                               .free = report_free,
                                               .methods = report_methods,
                                               .bare = true,
                                               .members = report_members,
                                               .repr = report_repr };
