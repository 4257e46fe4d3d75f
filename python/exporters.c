/* calibrax_c.exporters: runs as tables, plots and sites; figures of values that stand in no run. */
#include "python/answers.h"

#define FORMATS "'latex', 'html', 'csv', 'markdown', 'svg', 'pdf', 'png', 'asv'"

/* Paths of what was written; clears the report. */
static PyObject *files_object(cx_call *c, cbx_status status, cbx_export_report *report)
{
    PyObject *list;

    if (!cx_fine(c, status)) return NULL;
    list = PyTuple_New((Py_ssize_t)report->nfiles);
    for (size_t i = 0; list && i < report->nfiles; i++) {
        PyObject *path = PyUnicode_DecodeFSDefault(report->files[i]);
        if (!path || PyTuple_SetItem(list, (Py_ssize_t)i, path) < 0) Py_CLEAR(list);
    }
    cbx_export_report_clear(report);
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

/* ---- runs ---- */

typedef struct wish {
    const cbx_exporter *format;
    cbx_export_opts o;
    PyObject *folder, *tuple;
    const cbx_run **runs;
    cx_texts metrics, plots;
    size_t n;
} wish;

/* A Run, or a sequence of them. */
static bool read_runs(cx_call *c, wish *w)
{
    PyObject *o = cx_arg(c, "runs");

    if (!o) o = Py_None;
    w->tuple = Py_TYPE(o) == c->st->run_type ? PyTuple_Pack(1, o) : PySequence_Tuple(o);
    if (!w->tuple) return false;
    w->n = (size_t)PyTuple_Size(w->tuple);
    w->runs = PyMem_Calloc(w->n + 1, sizeof *w->runs);
    if (!w->runs) return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < w->n; i++)
        if (!(w->runs[i] = cx_run_of(c->st, PyTuple_GetItem(w->tuple, (Py_ssize_t)i)))) return false;
    return true;
}

static bool read_wish(cx_call *c, wish *w)
{
    w->format = exporter_arg(c);
    if (!w->format || !read_runs(c, w) || !cx_path_from(cx_arg(c, "folder"), &w->folder, &w->o.folder) ||
        !CX_GET(c, w->metrics, w->plots, w->o.group_by, w->o.dark, w->o.replace, w->o.repo))
        return false;
    w->o.metrics = w->metrics.list;
    w->o.nmetrics = w->metrics.n;
    w->o.plots = w->plots.list;
    w->o.nplots = w->plots.n;
    return true;
}

static PyObject *do_export(cx_call *c)
{
    wish w = { .o = CBX_EXPORT_OPTS_INIT };
    cbx_export_report report;
    PyObject *r = NULL;

    if (read_wish(c, &w) && cx_begin(c)) {
        cbx_status status = cbx_export_runs(c->ctx, w.format, w.runs, w.n, &w.o, &report, &c->err);
        r = files_object(c, status, &report);
    }
    cx_texts_free(&w.metrics);
    cx_texts_free(&w.plots);
    PyMem_Free(w.runs);
    Py_XDECREF(w.tuple);
    Py_XDECREF(w.folder);
    return r;
}

/* ---- figures ---- */

static bool figure_arg(cx_call *c, PyObject **folder, const cbx_exporter **format, cbx_export_opts *o)
{
    *format = exporter_arg(c);
    return *format && CX_GET(c, o->dark, o->replace) && cx_path_from(cx_arg(c, "folder"), folder, &o->folder);
}

static PyObject *do_convergence(cx_call *c)
{
    cbx_convergence_figure f = { .x_label = "iteration" };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    const cbx_exporter *format = NULL;
    cbx_export_report report;
    PyObject *folder = NULL, *r = NULL;
    cx_samples values, tolerances;

    if (CX_GET(c, values, tolerances, f.name, f.title) && CX_GET_AS(c, "label", f.y_label) &&
        figure_arg(c, &folder, &format, &o) && cx_begin(c)) {
        cbx_status status;
        f.y = values.x;
        f.n = values.n;
        f.tolerances = tolerances.x;
        f.ntolerances = tolerances.n;
        status = cbx_export_convergence(c->ctx, format, &f, &o, &report, &c->err);
        r = files_object(c, status, &report);
    }
    Py_XDECREF(folder);
    return r;
}

/* The keys and numbers of a dict. */
static bool read_values(cx_call *c, const char ***names, double **values, size_t *n)
{
    PyObject *dict = cx_arg(c, "values"), *key, *value;
    Py_ssize_t at = 0;

    if (!dict || !PyDict_Check(dict))
        return cx_refuse(c, "values", PyExc_TypeError, "a dict of numbers by name", dict ? dict : Py_None);
    *names = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof **names);
    *values = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof **values);
    if (!*names || !*values) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(dict, &at, &key, &value)) {
        (*names)[*n] = cx_text_of(key, "the name of a value");
        if (!(*names)[*n]) return false;
        (*values)[(*n)++] = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return false;
    }
    return true;
}

static PyObject *do_values(cx_call *c)
{
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    const cbx_exporter *format = NULL;
    PyObject *folder = NULL, *r = NULL;
    cbx_values_figure f = { 0 };
    cbx_export_report report;
    const char **names = NULL;
    double *values = NULL;

    if (read_values(c, &names, &values, &f.n) && CX_GET(c, f.name, f.title) && CX_GET_AS(c, "label", f.y_label) &&
        figure_arg(c, &folder, &format, &o) && cx_begin(c)) {
        cbx_status status;
        f.names = names;
        f.values = values;
        status = cbx_export_values(c->ctx, format, &f, &o, &report, &c->err);
        r = files_object(c, status, &report);
    }
    PyMem_Free(names);
    PyMem_Free(values);
    Py_XDECREF(folder);
    return r;
}

/* clang-format off */
#define EXPORTERS(X) \
    X(runs, "runs: Run | Sequence[Run], format: str, folder: Path, /, metrics: str | Sequence[str] | None = None, plots: str | Sequence[str] | None = None, *, group_by: str = 'framework', dark: bool = False, replace: bool = False, repo: str | None = None", "tuple[str, ...]", do_export, 0, "Writes a Run or several: 'latex', 'html', 'csv', 'markdown', 'svg', 'pdf', 'png', 'asv'; plots: kinds of them. Gives the paths.") \
    X(convergence, "values: Samples, name: str, folder: Path, /, format: 'svg' | 'pdf' | 'png' = 'svg', *, title: str | None = None, label: str | None = None, dark: bool = False, replace: bool = False, tolerances: Samples | None = None", "tuple[str, ...]", do_convergence, 0, "Draws a series in its order, and tolerances as lines across: convergence-NAME.svg.") \
    X(values, "values: Mapping[str, float], name: str, folder: Path, /, format: 'svg' | 'pdf' | 'png' = 'svg', *, title: str | None = None, label: str | None = None, dark: bool = False, replace: bool = False", "tuple[str, ...]", do_values, 0, "Draws a bar a value of a dict: values-NAME.svg.")
/* clang-format on */
CX_FUNCTIONS(cx_exporter_methods, EXPORTERS)
