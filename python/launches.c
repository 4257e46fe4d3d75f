/* launch_benchmarks: benchmarks of a Python module, a shared object, a file or a command, each launch in a fresh process. */
#include <string.h>

#include "python/answers.h"
#include "python/protocol.h"

/* ---- what is wished ---- */

typedef struct sources {
    const char *module, *plugin, *file, *python;
    int metrics;
} sources;

typedef struct launch_wish {
    sources from;
    cbx_benchmark_source source;
    cbx_benchmark_opts o;
    cbx_run_opts run;
    cbx_benchmark_command command;
    cx_texts argv, names;
    cbx_json *config;
    cbx_metric_def *defs;
    PyObject *def_records;
    cbx_arena arena;
    cx_callback caught;
    volatile sig_atomic_t stop;
    bool detect;
} launch_wish;

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool read_command(launch_wish *w, size_t warmup)
{
    if (!w->argv.n) return PyErr_Format(PyExc_ValueError, "launch_benchmarks: 'command' names no program") != NULL;
    w->command = (cbx_benchmark_command){ .name = last_part(w->argv.list[0]),
                                          .argv = w->argv.list,
                                          .metrics = (cbx_command_metrics)w->from.metrics,
                                          .warmup = warmup == SIZE_MAX ? 0 : warmup };
    w->source.kind = CBX_BENCHMARK_COMMAND;
    w->source.commands = &w->command;
    w->source.ncommands = 1;
    return true;
}

static bool read_file(cx_call *c, launch_wish *w)
{
    cbx_ctx *ctx = cx_ctx_borrow(c->st);
    cbx_status status;

    if (!ctx) return false;
    w->source.kind = CBX_BENCHMARK_COMMAND;
    status = cbx_benchmark_commands_read(ctx, w->from.file, &w->arena, &w->source.commands, &w->source.ncommands,
                                         &c->err);
    cx_ctx_return(c->st, ctx);
    return status ? cx_raise(status, c->err.message) != NULL : true;
}

static bool read_source(cx_call *c, launch_wish *w, size_t warmup)
{
    bool command = cx_arg(c, "command") != NULL;
    PyObject *executable = PySys_GetObject("executable");

    if (!CX_GET(c, w->from.module, w->from.plugin, w->from.file, w->from.python, w->from.metrics) ||
        !CX_GET_AS(c, "command", w->argv))
        return false;
    if (!!w->from.module + !!w->from.plugin + !!w->from.file + command != 1)
        return PyErr_Format(PyExc_TypeError,
                            "launch_benchmarks takes one of 'module', 'plugin', 'file' and 'command'") != NULL;
    if (command) return read_command(w, warmup);
    if (w->from.file) return read_file(c, w);
    w->source.kind = w->from.plugin ? CBX_BENCHMARK_OBJECT : CBX_BENCHMARK_PYTHON;
    w->source.path = w->from.plugin ? w->from.plugin : w->from.module;
    if (w->from.python)
        w->source.python = w->from.python;
    else if (executable && PyUnicode_Check(executable))
        w->source.python = cx_text_of(executable, "sys.executable");
    return !PyErr_Occurred();
}

static bool read_config(cx_call *c, launch_wish *w)
{
    PyObject *config = cx_arg(c, "config");

    if (!config) return true;
    if (!PyDict_Check(config)) return cx_refuse(c, "config", PyExc_TypeError, "a dict", config);
    w->config = cx_json_from(config, "config", NULL);
    w->o.measure.config = w->config;
    return w->config != NULL;
}

static bool read_wish(cx_call *c, launch_wish *w)
{
    size_t warmup = SIZE_MAX;

    if (!CX_GET(c, warmup) || !read_source(c, w, warmup) || !CX_GET_AS(c, "benchmarks", w->names) ||
        !CX_GET(c, w->o.launches, w->o.measure.samples, w->o.measure.sample_s, w->o.measure.budget_s, w->o.timeout_s,
                w->o.grace_s, w->o.level, w->o.allow_failed, w->o.trace, w->o.trace_dir, w->o.show_output, w->detect) ||
        !cx_tags_from(cx_arg(c, "tags"), &w->arena, &w->o.tags, &w->o.ntags) ||
        !cx_targets_from(cx_arg(c, "targets"), &w->arena, &w->o.targets, &w->o.ntargets) || !read_config(c, w))
        return false;
    if (cx_arg(c, "defs") && !cx_defs_from(c->st, cx_arg(c, "defs"), &w->def_records, &w->defs, &w->o.ndefs))
        return false;
    w->o.defs = w->defs;
    w->o.names = w->names.list;
    w->o.nnames = w->names.n;
    if (warmup != SIZE_MAX) w->o.measure.warmup = warmup;
    w->run.no_vcs = w->run.no_machine = w->run.no_versions = !w->detect;
    w->o.run = &w->run;
    return true;
}

static void clear_wish(launch_wish *w)
{
    cx_texts_free(&w->argv);
    cx_texts_free(&w->names);
    cbx_json_unref(w->config);
    cbx_arena_clear(&w->arena);
    PyMem_Free(w->defs);
    Py_XDECREF(w->def_records);
}

/* ---- the launches ---- */

/* Called without the interpreter's lock, behind each launch: sees whether somebody wants to stop. */
static void look_for_signals(void *user, const char *benchmark, size_t launch, size_t launches,
                             const cbx_benchmark_failure *failure)
{
    PyGILState_STATE state = PyGILState_Ensure();
    launch_wish *w = user;

    (void)benchmark, (void)launch, (void)launches, (void)failure;
    if (!w->caught.type && PyErr_CheckSignals() < 0) cx_callback_caught(&w->caught);
    w->stop = w->caught.type != NULL;
    PyGILState_Release(state);
}

static PyObject *do_launch(cx_call *c)
{
    launch_wish w = {
        .source = CBX_BENCHMARK_SOURCE_INIT, .o = CBX_BENCHMARK_OPTS_INIT, .run = CBX_RUN_OPTS_INIT, .detect = true
    };
    cbx_benchmark_report *report = NULL;
    cbx_status status;
    PyObject *r = NULL;

    cbx_arena_init(&w.arena, cbx_allocator_default());
    c->elements = CX_UNLOCK_ELEMENTS; /* it waits for processes */
    w.o.stop = &w.stop;
    w.o.progress = look_for_signals;
    w.o.progress_user = &w;
    if (read_wish(c, &w) && cx_begin(c)) {
        status = cbx_benchmark_run(c->ctx, &w.source, &w.o, &report, &c->err);
        cx_lock(c);
        if (!cx_callback_done(&w.caught) && PyErr_CheckSignals() == 0 && cx_fine(c, status)) {
            r = cx_report_object(c->st, report);
            report = NULL;
        }
    }
    cbx_benchmark_report_free(report);
    clear_wish(&w);
    return r;
}

/* clang-format off */
#define LAUNCHES(X) \
    X(launch_benchmarks, "*, module: str | None = None, plugin: str | None = None, file: Path | str | None = None, command: str | Sequence[str] | None = None, python: str | None = None, benchmarks: str | Sequence[str] | None = None, metrics: 'auto' | 'stdout' | 'none' = 'auto', launches: int = 1, warmup: int | None = None, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0, timeout_s: float = 0.0, grace_s: float = 10.0, tags: Mapping[str, str] | None = None, targets: Mapping[str, float] | None = None, defs: Definitions | None = None, config: Mapping[str, Any] | None = None, level: float = 0.95, allow_failed: float = 0.0, trace: str | None = None, trace_dir: str | None = None, show_output: bool = False, detect: bool = True", "Report", do_launch, 0, "Runs the benchmarks of a Python module ('module', 'file.py', either with ':name' of a class or any callable), a shared object, a file that describes commands, or one command, each launch in a fresh process, and gives a Report. A launch that fails is a Failure; more of them than the share allow_failed make the exit code 2, a missed target makes it 1.")
/* clang-format on */
CX_FUNCTIONS(cx_launch_methods, LAUNCHES)
