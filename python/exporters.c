/* calibrax_c.exporters: runs as tables, plots and sites; figures of values that stand in no run. */
#include "python/answers.h"

static const char *const figure_forms[] = { "svg", "pdf", "png" };

/* Paths of what was written; clears the report. */
static PyObject *files_object(cx_call *c, cbx_status status, const cbx_err *err, cbx_export_report *report)
{
    PyObject *list;

    if (!cx_fine(c, status, err)) return NULL;
    list = PyTuple_New((Py_ssize_t)report->nfiles);
    for (size_t i = 0; list && i < report->nfiles; i++) {
        PyObject *path = PyUnicode_DecodeFSDefault(report->files[i]);
        if (!path || PyTuple_SetItem(list, (Py_ssize_t)i, path) < 0) Py_CLEAR(list);
    }
    cbx_export_report_clear(report);
    return list;
}

static const cbx_exporter *exporter_arg(cx_call *c, int i)
{
    const char *words[16];
    const cbx_exporter *const *all;
    size_t n = 0;
    int at = -1;

    all = cbx_exporters(&n);
    if (n > CBX_LEN(words)) n = CBX_LEN(words);
    for (size_t k = 0; k < n; k++) words[k] = all[k]->name;
    if (!cx_word_from(c, c->arg[i], i, words, n, &at)) return NULL;
    return all[at];
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
    PyObject *o = c->arg[0];

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
    static const cx_option options[] = { CX_OPTION(5, TEXT, cbx_export_opts, group_by),
                                         CX_OPTION(6, FLAG, cbx_export_opts, dark),
                                         CX_OPTION(7, FLAG, cbx_export_opts, replace),
                                         CX_OPTION(8, TEXT, cbx_export_opts, repo) };

    w->format = exporter_arg(c, 1);
    if (!w->format || !read_runs(c, w) || !cx_path_from(c->arg[2], &w->folder, &w->o.folder) ||
        !cx_texts_arg(c, 3, &w->metrics) || !cx_texts_arg(c, 4, &w->plots) ||
        !cx_options(c, options, CBX_LEN(options), &w->o))
        return false;
    w->o.metrics = w->metrics.list;
    w->o.nmetrics = w->metrics.n;
    w->o.plots = w->plots.list;
    w->o.nplots = w->plots.n;
    return true;
}

static PyObject *do_export(cx_call *c, cx_fn fn)
{
    wish w = { .o = CBX_EXPORT_OPTS_INIT };
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report report;
    PyObject *r = NULL;

    (void)fn;
    if (read_wish(c, &w) && cx_begin(c)) {
        cbx_status status = cbx_export_runs(c->ctx, w.format, w.runs, w.n, &w.o, &report, &err);
        r = files_object(c, status, &err, &report);
    }
    cx_texts_free(&w.metrics);
    cx_texts_free(&w.plots);
    PyMem_Free(w.runs);
    Py_XDECREF(w.tuple);
    Py_XDECREF(w.folder);
    return r;
}

/* ---- figures ---- */

static const cx_option figure_options[] = { CX_OPTION(6, FLAG, cbx_export_opts, dark),
                                            CX_OPTION(7, FLAG, cbx_export_opts, replace) };

/* Folder, form, dark, replace of a figure, whose arguments 2, 3, 6 and 7 they are. */
static bool figure_arg(cx_call *c, PyObject **folder, const cbx_exporter **format, cbx_export_opts *o)
{
    int at = 0;

    if (!cx_word_arg(c, 3, figure_forms, CBX_LEN(figure_forms), &at)) return false;
    *format = cbx_exporter_find(figure_forms[at]);
    return cx_path_from(c->arg[2], folder, &o->folder) && cx_options(c, figure_options, CBX_LEN(figure_options), o);
}

static PyObject *do_convergence(cx_call *c, cx_fn fn)
{
    static const cx_option words[] = { CX_OPTION(1, TEXT, cbx_convergence_figure, name),
                                       CX_OPTION(4, TEXT, cbx_convergence_figure, title),
                                       CX_OPTION(5, TEXT, cbx_convergence_figure, y_label) };
    cbx_convergence_figure f = { .x_label = "iteration" };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    const cbx_exporter *format = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report report;
    PyObject *folder = NULL, *r = NULL;
    cx_samples y, tolerances;

    (void)fn;
    if (cx_samples_arg(c, 0, &y) && cx_samples_arg(c, 8, &tolerances) && cx_options(c, words, CBX_LEN(words), &f) &&
        figure_arg(c, &folder, &format, &o) && cx_begin(c)) {
        cbx_status status;
        f.y = y.x;
        f.n = y.n;
        f.tolerances = tolerances.x;
        f.ntolerances = tolerances.n;
        status = cbx_export_convergence(c->ctx, format, &f, &o, &report, &err);
        r = files_object(c, status, &err, &report);
    }
    Py_XDECREF(folder);
    return r;
}

/* The keys and numbers of a dict. */
static bool read_values(cx_call *c, const char ***names, double **values, size_t *n)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!PyDict_Check(c->arg[0]))
        return PyErr_Format(PyExc_TypeError, "values: a dict of numbers by name is needed, not %R", c->arg[0]) != NULL;
    *names = PyMem_Calloc((size_t)PyDict_Size(c->arg[0]) + 1, sizeof **names);
    *values = PyMem_Calloc((size_t)PyDict_Size(c->arg[0]) + 1, sizeof **values);
    if (!*names || !*values) return PyErr_NoMemory() != NULL;
    while (PyDict_Next(c->arg[0], &at, &key, &value)) {
        (*names)[*n] = cx_text_of(key, "the name of a value");
        if (!(*names)[*n]) return false;
        (*values)[(*n)++] = PyFloat_AsDouble(value);
        if (PyErr_Occurred()) return false;
    }
    return true;
}

static PyObject *do_values(cx_call *c, cx_fn fn)
{
    static const cx_option words[] = { CX_OPTION(1, TEXT, cbx_values_figure, name),
                                       CX_OPTION(4, TEXT, cbx_values_figure, title),
                                       CX_OPTION(5, TEXT, cbx_values_figure, y_label) };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    const cbx_exporter *format = NULL;
    PyObject *folder = NULL, *r = NULL;
    cbx_values_figure f = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report report;
    const char **names = NULL;
    double *values = NULL;

    (void)fn;
    if (read_values(c, &names, &values, &f.n) && cx_options(c, words, CBX_LEN(words), &f) &&
        figure_arg(c, &folder, &format, &o) && cx_begin(c)) {
        cbx_status status;
        f.names = names;
        f.values = values;
        status = cbx_export_values(c->ctx, format, &f, &o, &report, &err);
        r = files_object(c, status, &err, &report);
    }
    PyMem_Free(names);
    PyMem_Free(values);
    Py_XDECREF(folder);
    return r;
}

/* clang-format off */
#define EXPORTERS(X) \
    X(runs, "runs, format, folder, /, metrics=None, plots=None, *, group_by='framework', dark=False, replace=False, repo=None", do_export, 0, "Writes a Run or several: 'latex', 'html', 'csv', 'markdown', 'svg', 'pdf', 'png', 'asv'; plots: kinds of them. Gives the paths.") \
    X(convergence, "values, name, folder, /, format='svg', *, title=None, label=None, dark=False, replace=False, tolerances=None", do_convergence, 0, "Draws a series in its order, and tolerances as lines across: convergence-NAME.svg.") \
    X(values, "values, name, folder, /, format='svg', *, title=None, label=None, dark=False, replace=False", do_values, 0, "Draws a bar a value of a dict: values-NAME.svg.")
/* clang-format on */
CX_FUNCTIONS(cx_exporter_methods, EXPORTERS)
