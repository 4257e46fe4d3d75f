/* calibrax_c.validation: accuracy, convergence, and records of checks that pass only if every one did. */
#include <math.h>

#include "python/things.h"

/* ---- functions ---- */

/* A Metric, or a number. */
static bool read_metric(cx_call *c, PyObject *o, cbx_arena *arena, cbx_metric *out)
{
    if (cx_is_record(c->st, o, CX_METRIC)) return cx_metric_from(o, arena, out);
    *out = cbx_metric_of(PyFloat_AsDouble(o));
    return !PyErr_Occurred();
}

static PyObject *do_accuracy(cx_call *c)
{
    cbx_direction direction = CBX_DIRECTION_HIGHER;
    cbx_accuracy_result out;
    cbx_metric achieved;
    double target = 0;
    cbx_arena arena;
    bool fine;

    if (!CX_GET(c, target, direction)) return NULL;
    cbx_arena_init(&arena, cbx_allocator_default());
    fine = read_metric(c, cx_arg(c, "achieved"), &arena, &achieved);
    if (fine)
        out = cbx_accuracy_check(&achieved, target,
                                 &(cbx_metric_def){ .name = "", .unit = "", .direction = direction });
    cbx_arena_clear(&arena);
    return fine ? cx_answer_object(c->st, CX_ACCURACY, &out) : NULL;
}

static PyObject *do_convergence(cx_call *c)
{
    cbx_convergence_result r;
    cx_samples errors, tolerances;
    cx_convergence_answer a;
    cbx_tolerance_result *each;
    PyObject *out = NULL;
    size_t hold = 1;

    if (!CX_GET(c, errors, tolerances, hold)) return NULL;
    each = PyMem_Calloc(tolerances.n + 1, sizeof *each);
    if (!each) return PyErr_NoMemory();
    if (cx_fine(c, cbx_convergence_check(errors.x, errors.n, tolerances.x, tolerances.n, hold, &r, each, &c->err))) {
        a = (cx_convergence_answer){ r.outcome, r.rate, r.rate_error, r.iterations, r.bad, each, tolerances.n };
        out = cx_answer_object(c->st, CX_CONVERGENCE, &a);
    }
    PyMem_Free(each);
    return out;
}

static PyObject *do_order(cx_call *c)
{
    double order = 0, error = 0;
    cx_samples h, errors;

    if (!CX_GET(c, h, errors) || !cx_same_length(c, &h, &errors)) return NULL;
    if (!cx_fine(c, cbx_convergence_order(h.x, errors.x, h.n, &order, &error, &c->err))) return NULL;
    return Py_BuildValue("(dN)", order, cx_number_or_none(error));
}

/* {framework: {metric: value}}, as the Python package has it: without what was not measured. */
static PyObject *frameworks_object(const cbx_framework_metrics *f)
{
    size_t n = cbx_framework_metrics_nframeworks(f);
    PyObject *all = PyDict_New();

    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = PyDict_New();
        for (size_t m = 0; one && m < cbx_framework_metrics_nmetrics(f); m++) {
            PyObject *v;
            if (!cbx_framework_metrics_measured(f, m, i)) continue;
            v = PyFloat_FromDouble(cbx_framework_metrics_values(f)[i * cbx_framework_metrics_nmetrics(f) + m]);
            if (!v || PyDict_SetItemString(one, cbx_framework_metrics_metric(f, m), v) < 0) Py_CLEAR(one);
            Py_XDECREF(v);
        }
        if (!one || PyDict_SetItemString(all, cbx_framework_metrics_framework(f, i), one) < 0) Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

static PyObject *do_framework_metrics(cx_call *c)
{
    cbx_framework_opts o = CBX_FRAMEWORK_OPTS_INIT;
    cbx_framework_metrics *f = NULL;
    cx_texts metrics = { 0 };
    PyObject *r = NULL;
    cbx_run *run = cx_run_of(c->st, cx_arg(c, "run"));

    if (run && CX_GET(c, o.last, metrics) && CX_GET_AS(c, "tag", o.group_tag) && cx_begin(c)) {
        o.metrics = metrics.list;
        o.nmetrics = metrics.n;
        if (cx_fine(c, cbx_framework_metrics_create(c->ctx, run, &o, &f, &c->err))) r = frameworks_object(f);
    }
    cbx_framework_metrics_free(f);
    cx_texts_free(&metrics);
    return r;
}

/* clang-format off */
#define VALIDATION_FUNCTIONS(X) \
    X(framework_metrics, "run: Run, metrics: str | Sequence[str] | None = None, /, *, tag: str = 'framework', last: bool = False", "dict[str, dict[str, float]]", do_framework_metrics, 0, "Values by framework and metric: {framework: {metric: value}}; two values for one place are refused unless the last is asked for.") \
    X(accuracy, "achieved: float | Metric, target: float, direction: 'higher' | 'lower' | 'info', /", "Accuracy", do_accuracy, 0, "A value (or a Metric with its bounds) against a target, by the metric's direction.") \
    X(convergence, "errors: Samples, tolerances: Samples | None = None, /, hold: int = 1", "Convergence", do_convergence, 0, "Whether a series of errors goes down, how fast, and which tolerances it reaches for good.") \
    X(order, "h: Samples, errors: Samples, /", "tuple[float, float | None]", do_order, 0, "Observed order of errors C h^p: (order, its standard error or None).")
/* clang-format on */
CX_FUNCTIONS(cx_validation_methods, VALIDATION_FUNCTIONS)

/* ---- Validation ---- */

static void validation_free(cx_thing *t) { cbx_validation_free(t->handle); }

static PyObject *validation_make(cx_call *c)
{
    const char *name = "", *reference = "";
    cbx_validation *v = NULL;
    cbx_status status;
    cx_thing *t;

    if (!CX_GET(c, name, reference) || !(t = cx_thing_new(c->st, CX_VALIDATION))) return NULL;
    status = cbx_validation_create(t->ctx, name, reference, &v, &c->err);
    t->handle = v;
    return cx_thing_made(t, status, &c->err);
}

static PyObject *validation_add_accuracy(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    cbx_metric achieved;
    cbx_metric_def def;
    double target = 0;
    cbx_arena arena;
    bool fine;

    if (!t || !CX_GET(c, target)) return NULL;
    if (!cx_is_record(c->st, cx_arg(c, "definition"), CX_METRIC_DEF)) {
        PyErr_Format(PyExc_TypeError, "add_accuracy: 'definition' has to be a MetricDef, not %R",
                     cx_arg(c, "definition"));
        return NULL;
    }
    cbx_arena_init(&arena, cbx_allocator_default());
    fine = cx_metric_def_from(cx_arg(c, "definition"), &def) &&
           read_metric(c, cx_arg(c, "achieved"), &arena, &achieved) &&
           cx_fine(c, cbx_validation_add_accuracy(t->handle, &def, &achieved, target, &c->err));
    cbx_arena_clear(&arena);
    if (!fine) return NULL;
    Py_RETURN_NONE;
}

static PyObject *validation_add_convergence(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    const char *name = "";
    double tolerance = 0;
    size_t hold = 1;
    cx_samples errors;

    if (!t || !CX_GET(c, name, errors, tolerance, hold)) return NULL;
    if (!cx_fine(c, cbx_validation_add_convergence(t->handle, name, errors.x, errors.n, tolerance, hold, &c->err)))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *validation_add_violation(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    const char *sentence = "";

    if (!t || !CX_GET(c, sentence)) return NULL;
    if (!cx_fine(c, cbx_validation_add_violation(t->handle, sentence, &c->err))) return NULL;
    Py_RETURN_NONE;
}

static PyObject *validation_passed(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    return t ? PyBool_FromLong(cbx_validation_passed(t->handle)) : NULL;
}

static PyObject *validation_count(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    return t ? PyLong_FromSize_t(((size_t(*)(const cbx_validation *))c->fn)(t->handle)) : NULL;
}

static PyObject *validation_to_dict(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);

    return t ? cx_json_answer(cbx_validation_json(t->handle)) : NULL;
}

/* clang-format off */
#define VALIDATION(X) \
    X(add_accuracy, "definition: MetricDef, achieved: float | Metric, target: float", "None", validation_add_accuracy, 0, "A value against a target.") \
    X(add_convergence, "name: str, errors: Samples, tolerance: float, hold: int = 1", "None", validation_add_convergence, 0, "A series of errors, which has to meet the tolerance.") \
    X(add_violation, "sentence: str", "None", validation_add_violation, 0, "Something wrong that no number shows.") \
    X(passed, "/", "bool", validation_passed, 0, "Whether there are checks and every one passed.") \
    X(checks, "/", "int", validation_count, cbx_validation_checks, "Checks made.") \
    X(failures, "/", "int", validation_count, cbx_validation_failures, "Those that did not pass.") \
    X(to_dict, "/", "dict[str, Any]", validation_to_dict, 0, "All of it.")
/* clang-format on */
CX_TYPE_FUNCTIONS(validation_methods, VALIDATION)

const cx_thing_type cx_validation_thing = {
    "calibrax_c.validation.Validation",
    "Checks of one subject against one reference.",
    validation_free,
    validation_methods,
    &(cx_function){ "Validation", "name: str, reference: str", "Validation", validation_make, 0, NULL, 0 },
};
