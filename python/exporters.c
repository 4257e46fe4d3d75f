/* calibrax_c.exporters: runs as tables, plots and sites; figures of values that are in no run. */
#include "python/answers.h"

#define FORMATS                                                                                                        \
    "'latex', 'html', 'csv', 'markdown', 'svg', 'pdf', 'png', 'asv' or another name that 'calibrax export --list' "    \
    "shows"

/* Paths of what was written, with a warning for each note of what was left out. */
static PyObject *files_object(cx_call *c, cbx_status status, const cbx_export_report *report)
{
    PyObject *list;

    if (!cx_fine(c, status)) return NULL;
    list = CX_TUPLE(report->nfiles, PyUnicode_DecodeFSDefault(report->files[i]));
    for (size_t i = 0; list && i < report->nnotes; i++)
        if (PyErr_WarnEx(PyExc_UserWarning, report->notes[i], 2)) Py_CLEAR(list);
    return list;
}

static const cbx_exporter *exporter_arg(cx_call *c)
{
    const char *format = "svg";
    const cbx_exporter *found = CX_GET(c, format) ? cbx_exporter_find(format) : NULL;

    if (!found && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: 'format' must be one of %s, got '%s'", c->name, FORMATS, format);
    return found;
}

/* Options of all of them. */
static const cbx_exporter *options_arg(cx_call *c, cbx_export_opts *o)
{
    return CX_GET(c, o->dark, o->replace, o->folder) ? exporter_arg(c) : NULL;
}

/* The options and the format of a call, and the files that it writes. */
#define FORMAT                                                                                                         \
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;                                                                          \
    const cbx_exporter *format = options_arg(c, &o);                                                                   \
    CX_ENDED_BY(cbx_export_report_clear) cbx_export_report report = { 0 }

CX_RETURN(do_export, (FORMAT; cx_texts metrics, plots; const cbx_run **runs; size_t n),
          format != NULL && (runs = cx_runs_arg(c, "runs", &n)) &&
              CX_GET(c, metrics, plots, o.group_by, o.repo, o.to, o.experiment) && cx_begin_long(c),
          (o.metrics = metrics.list, o.nmetrics = metrics.n, o.plots = plots.list, o.nplots = plots.n,
           files_object(c, cbx_export_runs(c->ctx, format, runs, n, &o, &report, &c->err), &report)))

CX_RETURN(do_convergence,
          (FORMAT; cbx_convergence_figure f = { .x_label = "iteration" }; cx_samples values, tolerances),
          format != NULL && CX_GET(c, values, tolerances, f.name, f.title) && CX_GET_AS(c, "label", f.y_label) &&
              cx_begin(c),
          (f.y = values.x, f.n = values.n, f.tolerances = tolerances.x, f.ntolerances = tolerances.n,
           files_object(c, cbx_export_convergence(c->ctx, format, &f, &o, &report, &c->err), &report)))

CX_RETURN(do_values, (FORMAT; cbx_values_figure f = { 0 }; const char **names = NULL; double *values = NULL),
          format != NULL && CX_GET(c, f.name, f.title) && CX_GET_AS(c, "label", f.y_label) &&
              cx_numbers_by_name(c, "values", &names, &values, &f.n) && cx_begin(c),
          (f.names = names, f.values = values,
           files_object(c, cbx_export_values(c->ctx, format, &f, &o, &report, &c->err), &report)))

/* clang-format off */
#define EXPORTERS(X) \
    X(runs, "runs: Run | Sequence[Run], format: str, folder: Path, /, metrics: str | Sequence[str] | None = None, plots: str | Sequence[str] | None = None, *, group_by: str = 'framework', dark: bool = False, replace: bool = False, repo: str | None = None, to: str | None = None, experiment: str | None = None", "tuple[str, ...]", do_export, 0, "Writes one or several runs in a format: 'latex', 'html', 'csv', 'markdown', 'svg', 'pdf', 'png', 'asv' or another name that `calibrax export --list` shows; plots: kinds of plots; to: the address of the server for 'mlflow'. Returns the paths or addresses, and warns of what a format has no place for.\n\n>>> r = cx.Run([cx.Point('p', '', {}, {'t': 1.0})], id='a', detect=False)\n>>> [os.path.basename(f) for f in exporters.runs(r, 'csv', folder)] != []\nTrue") \
    X(convergence, "values: Samples, name: str, folder: Path, /, format: 'svg' | 'pdf' | 'png' = 'svg', *, title: str | None = None, label: str | None = None, dark: bool = False, replace: bool = False, tolerances: Samples | None = None", "tuple[str, ...]", do_convergence, 0, "Plots a series, with tolerances as horizontal lines: convergence-NAME.svg.\n\n>>> os.path.basename(exporters.convergence([1.0, 0.1], 'loss', folder)[0])\n'convergence-loss.svg'") \
    X(values, "values: Mapping[str, float], name: str, folder: Path, /, format: 'svg' | 'pdf' | 'png' = 'svg', *, title: str | None = None, label: str | None = None, dark: bool = False, replace: bool = False", "tuple[str, ...]", do_values, 0, "Plots the values of a dict as bars: values-NAME.svg.\n\n>>> os.path.basename(exporters.values({'a': 1.0}, 'v', folder)[0])\n'values-v.svg'")
/* clang-format on */
CX_FUNCTIONS(cx_exporter_methods, EXPORTERS, WAITS)
