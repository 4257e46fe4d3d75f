/* calibrax_c.validation: accuracy, convergence, and records of checks that pass only if every
 * one did. */
#include <math.h>

#include "python/objects.h"

/* ---- functions ---- */

/* A Metric, or a number. */
static bool metric_arg(cx_call *c, const char *name, cbx_metric *out)
{
    PyObject *o = cx_arg(c, name);
    double v;

    if (o && cx_is_record(c->st, o, CX_METRIC)) return cx_metric_from(o, cx_arena(c), out);
    if (!CX_GET_AS(c, name, v)) return false;
    *out = cbx_metric_of(v);
    return true;
}

CX_RETURN(do_accuracy, (cbx_accuracy_result out; cbx_direction direction; cbx_metric achieved; double target),
          CX_GET(c, target, direction) && metric_arg(c, "achieved", &achieved),
          (out = cbx_accuracy_check(&achieved, target,
                                    &(cbx_metric_def){ .name = "", .unit = "", .direction = direction }),
           cx_answer_object(c->st, CX_ACCURACY, &out)))

CX_RETURN(do_convergence,
          (cx_samples errors, tolerances; cbx_tolerance_result * each; cx_convergence_answer a; size_t hold),
          CX_GET(c, errors, tolerances, hold) && (each = cx_alloc(c, tolerances.n, sizeof *each)) &&
              cx_fine(c,
                      cbx_convergence_check(errors.x, errors.n, tolerances.x, tolerances.n, hold, &a.r, each, &c->err)),
          (a.tolerances = each, a.ntolerances = tolerances.n, cx_answer_object(c->st, CX_CONVERGENCE, &a)))

CX_RETURN(do_order, (double order = 0, error = 0; cx_samples h, errors),
          CX_GET(c, h, errors) && cx_same_length(c, &h, &errors) &&
              cx_fine(c, cbx_convergence_order(h.x, errors.x, h.n, &order, &error, &c->err)),
          Py_BuildValue("(dN)", order, cx_number_or_none(error)))

/* {framework: {metric: value}}, as the Python package has it: without what was not measured. */
static PyObject *frameworks_object(const cbx_framework_metrics *f)
{
    size_t n = cbx_framework_metrics_nframeworks(f);
    PyObject *all = PyDict_New();

    for (size_t i = 0; all && i < n; i++) {
        PyObject *one = PyDict_New();
        for (size_t m = 0; one && m < cbx_framework_metrics_nmetrics(f); m++) {
            double v = cbx_framework_metrics_values(f)[i * cbx_framework_metrics_nmetrics(f) + m];
            if (!cbx_framework_metrics_measured(f, m, i)) continue;
            if (!cx_put(one, cbx_framework_metrics_metric(f, m), PyFloat_FromDouble(v))) Py_CLEAR(one);
        }
        if (!cx_put(all, cbx_framework_metrics_framework(f, i), one)) Py_CLEAR(all);
    }
    return all;
}

CBX_FREED_BY(cbx_framework_metrics, cbx_framework_metrics_free)

static PyObject *do_framework_metrics(cx_call *c)
{
    cbx_framework_opts o = CBX_FRAMEWORK_OPTS_INIT;
    CBX_OWNED(cbx_framework_metrics) *f = NULL;
    cbx_run *run = NULL;
    cx_texts metrics;

    if (!CX_GET(c, run, o.last, metrics) || !CX_GET_AS(c, "tag", o.group_tag) || !cx_begin(c)) return NULL;
    o.metrics = metrics.list;
    o.nmetrics = metrics.n;
    return cx_fine(c, cbx_framework_metrics_create(c->ctx, run, &o, &f, &c->err)) ? frameworks_object(f) : NULL;
}

/* clang-format off */
#define VALIDATION_FUNCTIONS(X) \
    X(framework_metrics, "run: Run, metrics: str | Sequence[str] | None = None, /, *, tag: str = 'framework', last: bool = False", "dict[str, dict[str, float]]", do_framework_metrics, 0, "Values by framework and metric: {framework: {metric: value}}; two values for one place are refused unless the last is asked for.\n\n>>> r = cx.Run([cx.Point('p', '', {'framework': 'jax'}, {'t': 1.0})], detect=False)\n>>> validation.framework_metrics(r)\n{'jax': {'t': 1.0}}") \
    X(accuracy, "achieved: float | Metric, target: float, direction: 'higher' | 'lower' | 'info', /", "Accuracy", do_accuracy, 0, "A value (or a Metric with its bounds) against a target, by the metric's direction.\n\n>>> validation.accuracy(0.9, 0.8, 'higher').outcome\n'met'") \
    X(convergence, "errors: Samples, tolerances: Samples | None = None, /, hold: int = 1", "Convergence", do_convergence, 0, "Whether a series of errors goes down, how fast, and which tolerances it reaches for good.\n\n>>> validation.convergence([1.0, 0.5, 0.25, 0.125, 0.0625, 0.03]).outcome\n'converging'") \
    X(order, "h: Samples, errors: Samples, /", "tuple[float, float | None]", do_order, 0, "Observed order of errors C h^p: (order, its standard error or None).\n\n>>> round(validation.order([0.1, 0.05, 0.025], [0.01, 0.0025, 0.000625])[0], 6)\n2.0")
/* clang-format on */
CX_FUNCTIONS(cx_validation_methods, VALIDATION_FUNCTIONS, LIGHT)

/* ---- Validation ---- */

CX_MADE(validation_make, CX_VALIDATION, cbx_validation, (const char *name, *reference), CX_GET(c, name, reference),
        cbx_validation_create(o->ctx, name, reference, &handle, &c->err))

CX_DO(validation_add_accuracy, cbx_validation,
      (PyObject *definition = cx_arg(c, "definition"); cbx_metric achieved; cbx_metric_def def; double target),
      (target),
      metric_arg(c, "achieved", &achieved) &&
              ((definition && cx_is_record(c->st, definition, CX_METRIC_DEF)) ||
               cx_refuse(c, "definition", PyExc_TypeError, "a MetricDef", definition ? definition : Py_None)) &&
              cx_metric_def_from(definition, &def)
          ? cx_none(c, cbx_validation_add_accuracy(self, &def, &achieved, target, &c->err))
          : NULL)

typedef size_t (*count_of)(const cbx_validation *);
CX_DO(validation_add_convergence, cbx_validation, (const char *name; double tolerance; cx_samples errors; size_t hold),
      (name, errors, tolerance, hold),
      cx_none(c, cbx_validation_add_convergence(self, name, errors.x, errors.n, tolerance, hold, &c->err)))
CX_DO(validation_add_violation, cbx_validation, (const char *sentence), (sentence),
      cx_none(c, cbx_validation_add_violation(self, sentence, &c->err)))
CX_DO(validation_passed, cbx_validation, (), (), PyBool_FromLong(cbx_validation_passed(self)))
CX_DO(validation_count, cbx_validation, (), (), PyLong_FromSize_t(((count_of)c->fn)(self)))
CX_DO(validation_to_dict, cbx_validation, (), (), cx_json_answer(cbx_validation_json(self)))

/* clang-format off */
#define VALIDATION(X) \
    X(add_accuracy, "definition: MetricDef, achieved: float | Metric, target: float", "None", validation_add_accuracy, 0, "Check a value against a target.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.add_accuracy(cx.MetricDef('f1', '1', 'higher'), 0.9, 0.8)") \
    X(add_convergence, "name: str, errors: Samples, tolerance: float, hold: int = 1", "None", validation_add_convergence, 0, "Check that a series of errors reaches a tolerance.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.add_convergence('loss', [1.0, 0.1, 0.01], 0.05)") \
    X(add_violation, "sentence: str", "None", validation_add_violation, 0, "Record a violation as text.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.add_violation('no data')") \
    X(passed, "/", "bool", validation_passed, 0, "Whether there are checks and every one passed.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.passed()\nFalse") \
    X(checks, "/", "int", validation_count, cbx_validation_checks, "Number of checks.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.checks()\n0") \
    X(failures, "/", "int", validation_count, cbx_validation_failures, "Number of checks that failed.\n\n>>> v = validation.Validation('model', 'paper')\n>>> v.failures()\n0") \
    X(to_dict, "/", "dict[str, Any]", validation_to_dict, 0, "All of it.\n\n>>> v = validation.Validation('model', 'paper')\n>>> sorted(v.to_dict())[:1]\n['accuracy']")
CX_OBJECT_TYPE(validation, validation, VALIDATION, "validation", Validation, "name: str, reference: str", cbx_validation_free,
    "Checks of one subject against one reference.")
/* clang-format on */
