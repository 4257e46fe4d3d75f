/* Check: a run against a baseline, by the guard of the library, with its named outcomes and
 * exit codes. */
#include <math.h>

#include "python/objects.h"

typedef struct check {
    cbx_run *run, *baseline, *defs;
    cbx_waivers *waivers;
    cbx_regression *regression;
    cbx_guard *guard;
} check;

static check *of(PyObject *self) { return ((cx_object *)self)->handle; }

static void drop(check *k)
{
    cbx_guard_free(k->guard);
    cbx_regression_free(k->regression);
    cbx_waivers_free(k->waivers);
    cbx_run_free(k->defs);
    cbx_run_free(k->baseline);
    cbx_run_free(k->run);
    PyMem_Free(k);
}

/* {pattern: threshold}, the first that fits counts. */
static bool read_rules(cx_call *c, cbx_regression_opts *o)
{
    cbx_regression_rule *rules;
    const char **names;
    double *values;

    if (!cx_numbers_by_name(c, "thresholds", &names, &values, &o->nrules)) return false;
    o->rules = rules = cx_alloc(c, o->nrules, sizeof *rules);
    for (size_t i = 0; rules && i < o->nrules; i++) {
        rules[i].metric = names[i];
        rules[i].threshold = values[i];
        rules[i].minimum = NAN;
    }
    return rules != NULL;
}

static PyObject *make_check(cx_call *c)
{
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    cbx_run *run = NULL, *baseline = NULL, *defs = NULL;
    const char *waivers = NULL;
    cbx_status status = CBX_OK;
    cx_object *made;
    check *self;

    if (!CX_GET(c, run, baseline, o.threshold, o.primary_threshold, o.secondary_threshold, o.minimum, o.level,
                o.values_only, o.allow_dropped, o.undecided_passes, waivers, defs) ||
        !CX_GET_AS(c, "allow_other_machine", o.allow_machines) || !read_rules(c, &o))
        return NULL;
    made = cx_object_new(c->st, CX_CHECK);
    if (!made || !(made->handle = self = PyMem_Calloc(1, sizeof *self))) {
        Py_XDECREF((PyObject *)made);
        return PyErr_NoMemory();
    }
    self->run = cbx_run_ref(run);
    self->baseline = cbx_run_ref(baseline);
    self->defs = defs ? cbx_run_ref(defs) : NULL;
    o.defs = self->defs;
    if (!cx_begin_long(c)) status = CBX_ENOMEM;
    if (!status && waivers) status = cbx_waivers_read(c->ctx, waivers, &self->waivers, &c->err);
    if (!status) status = cbx_regression_create(c->ctx, self->run, self->baseline, &o, &self->regression, &c->err);
    if (!status)
        status = cbx_guard_create(c->ctx, self->regression, self->waivers, cbx_time_now_us(), &self->guard, &c->err);
    if (!status) cbx_guard_set_run(self->guard, self->run);
    if (!status && cbx_regression_idle_rule(self->regression))
        status = cbx_fail(&c->err, CBX_EINVAL, "thresholds: no metric of the two runs fits '%s'; correct the pattern",
                          cbx_regression_idle_rule(self->regression));
    cx_fine(c, status);
    return cx_object_made(made, status, &c->err);
}

/* ---- attributes and methods ---- */

static const cbx_gate *gate_of(PyObject *self) { return cbx_guard_gate(of(self)->guard); }

static PyObject *finding_object(cx_state *st, const check *c, size_t i)
{
    const cbx_finding *f = cbx_regression_finding(c->regression, i);
    const cbx_waiver *w = cbx_guard_waiver(c->guard, i);
    int code = w ? 0 : cbx_regression_exit_code(c->regression, f->outcome);

    return cx_record_new(st, CX_FINDING, "(sissssNNNszs)", cbx_outcome_name(f->outcome), code, f->point, f->scenario,
                         f->tags, f->metric, cx_number_or_none(f->baseline), cx_number_or_none(f->current),
                         cx_number_or_none(f->change), cbx_basis_name(f->basis), w ? w->key : NULL, f->sentence);
}

static PyObject *findings_of(PyObject *self)
{
    return CX_TUPLE(cbx_regression_nfindings(of(self)->regression),
                    finding_object(cx_state_of_instance(self), of(self), i));
}

static PyObject *text_of(cx_call *c, cbx_guard_format format, bool parse)
{
    CX_TEXT(text);

    if (!cx_fine(c, cbx_guard_write(of(c->self)->guard, format, &text, &c->err))) return NULL;
    return parse ? cx_python("_values", "from_json", "s", cbx_text_str(&text))
                 : PyUnicode_FromString(cbx_text_str(&text));
}

CX_RETURN(do_text,
          (static const cbx_guard_format formats[] = { CBX_GUARD_TEXT, CBX_GUARD_JSON, CBX_GUARD_MARKDOWN,
                                                       CBX_GUARD_JUNIT, CBX_GUARD_GITHUB, CBX_GUARD_BADGE };
           int format),
          CX_GET(c, format), text_of(c, formats[format], false))

static PyObject *do_to_dict(cx_call *c) { return text_of(c, CBX_GUARD_JSON, true); }

static PyObject *check_repr(PyObject *self)
{
    return PyUnicode_FromFormat("Check(exit_code=%d, '%s')", gate_of(self)->exit_code, gate_of(self)->sentence);
}

#define ATTRIBUTES(X)                                                                                                  \
    X(exit_code, "int: 0 pass, 1 regression, 2 cannot be compared, 3 undecided",                                       \
      PyLong_FromLong(gate_of(self)->exit_code))                                                                       \
    X(passed, "bool: whether the exit code is 0", PyBool_FromLong(gate_of(self)->exit_code == 0))                      \
    X(sentence, "str: the answer as text", PyUnicode_FromString(gate_of(self)->sentence))                              \
    X(reason, "str | None: why the comparison as a whole is no evidence, such as 'same-run'; None: it does",           \
      cx_text_or_none(gate_of(self)->reason ? cbx_gate_reason_name(gate_of(self)->reason) : NULL))                     \
    X(findings, "tuple[Finding, ...]: tuple of Finding, one a metric of a point", findings_of(self))
CX_GETTERS(check_members, ATTRIBUTES)

/* clang-format off */
#define CHECK_SIGNATURE "run: Run, baseline: Run, *, threshold: float = 0.05, primary_threshold: float | None = None, secondary_threshold: float | None = None, thresholds: Mapping[str, float] | None = None, minimum: float = 0.0, level: float = 0.95, values_only: bool = False, allow_dropped: bool = False, allow_other_machine: bool = False, undecided_passes: bool = False, waivers: Path | None = None, defs: Run | None = None"
#define CHECK_DOC "Compares a run with a baseline, metric by metric: by samples or bounds where both have them, else by values.\n\nthresholds: a dict of relative changes by pattern of metrics' names; waivers: a file of findings that are accepted."
#define METHODS(X) \
    X(text, "format: 'text' | 'json' | 'markdown' | 'junit' | 'github' | 'badge' = 'text'", "str", do_text, 0, "The result as text.\n\n>>> r = [cx.Run([cx.Point('p', '', {}, {'t': v})], id=i, metric_defs=[cx.MetricDef('t', 's', 'lower')], detect=False) for i, v in (('a', 1.0), ('b', 2.0))]\n>>> c = cx.Check(r[1], r[0])\n>>> 't' in c.text()\nTrue") \
    X(to_dict, "", "dict[str, Any]", do_to_dict, 0, "The result as a dict, with the members of its JSON document.\n\n>>> r = [cx.Run([cx.Point('p', '', {}, {'t': v})], id=i, metric_defs=[cx.MetricDef('t', 's', 'lower')], detect=False) for i, v in (('a', 1.0), ('b', 2.0))]\n>>> c = cx.Check(r[1], r[0])\n>>> c.to_dict()['exit_code'] if 'exit_code' in c.to_dict() else 1\n2")
/* clang-format on */
CX_TYPE(check, check, METHODS, "calibrax_c.Check", CX_MAKER(Check, CHECK_SIGNATURE, make_check), drop, CHECK_DOC,
        .bare = true, .members = check_members, .repr = check_repr)
