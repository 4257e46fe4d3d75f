/* calibrax_c.profiling: commands and functions in processes of their own. */
#include "python/answers.h"

static PyObject *profile_object(cx_call *c, const cbx_profile *p, double level)
{
    cx_profile_answer a = { .runs = p->runs, .nruns = p->nruns };
    double *wall = cx_alloc(c, p->nruns, sizeof *wall);
    cbx_status status;

    if (!wall) return NULL;
    for (size_t i = 0; i < p->nruns; i++) wall[i] = p->runs[i].wall_s;
    status = cbx_stat_median_interval(c->ctx, wall, p->nruns, level, &a.wall, &c->err);
    return cx_answer(c, status, CX_PROFILE, &a);
}

static PyObject *do_command(cx_call *c)
{
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    CX_ENDED_BY(cbx_profile_clear) cbx_profile out = { 0 };
    cx_texts argv;
    double level;

    if (!CX_GET(c, argv, o.warmup, o.runs, o.interval_s, o.show_output, o.ignore_failure, level)) return NULL;
    if (!argv.n) return cx_raise(CBX_EINVAL, "command: 'argv' must name a program");
    o.argv = argv.list; /* with a NULL at its end */
    o.stop = c->stop;
    if (!cx_begin_long(c)) return NULL; /* it waits for processes */
    return cx_fine(c, cbx_profile_command(c->ctx, &o, &out, &c->err)) ? profile_object(c, &out, level) : NULL;
}

static PyObject *python_call_object(cx_call *c, const cbx_python_call *p)
{
    return cx_record_new(c->st, CX_PYTHON_CALL, "(NNNN)", cx_answer_object(c->st, CX_TIMING, &p->timing),
                         cx_answer_object(c->st, CX_PROFILE_RUN, &p->process.runs[0]),
                         cx_answer_object(c->st, CX_FLOPS, &p->work),
                         p->has_compiled ? cx_answer_object(c->st, CX_HLO, &p->compiled) : Py_NewRef(Py_None));
}

static PyObject *do_function(cx_call *c)
{
    CX_ENDED_BY(cbx_python_call_clear) cbx_python_call out = { 0 };
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    PyObject *executable = PySys_GetObject("executable");

    o.stop = c->stop;
    if (executable && PyUnicode_Check(executable)) o.python = cx_text_of(executable, "sys.executable");
    if (!CX_GET(c, o.module, o.function, o.python, o.warmup, o.samples, o.sample_s, o.level, o.flops) ||
        !cx_begin_long(c) || !cx_fine(c, cbx_python_call_measure(c->ctx, &o, &out, &c->err)))
        return NULL;
    return python_call_object(c, &out);
}

/* clang-format off */
#define COMMANDS(X) \
    X(command, "argv: str | Sequence[str], /, *, warmup: int = 1, runs: int = 10, interval_s: float = 0.01, show_output: bool = False, ignore_failure: bool = False, level: float = 0.95", "Profile", do_command, 0, "Runs a command several times and measures its resources.\n\n>>> len(profiling.command(['true'], runs=3, warmup=0).runs)\n3") \
    X(function, "module: str, function: str, /, *, python: str | None = None, warmup: int = 1, samples: int = 10, sample_s: float = 0.001, level: float = 0.95, flops: bool = False", "PythonCall", do_function, 0, "Times a function of a module in a separate interpreter.\n\n>>> profiling.function('module.py', 'f')  # doctest: +SKIP")
/* clang-format on */
CX_FUNCTIONS(cx_command_methods, COMMANDS, WAITS)
