/* Metrics together, for _metric_members.py, _metric_wrappers.py and _metric_selection.py. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "calibrax/metrics/bootstrap.h"
#include "calibrax/metrics/compose.h"
#include "calibrax/metrics/plugin.h"
#include "python/metrics.h"

/*
 * Registers the rows of Python functions and of plug-ins, a list of capsules that lives as long, in
 * a context.  false with an exception.
 */
static bool register_rows(cx_call *c, cbx_ctx *ctx)
{
    PyObject *rows = cx_arg(c, "rows");

    for (Py_ssize_t i = 0; i < PyList_Size(rows); i++) {
        const cbx_metric_function *m = PyCapsule_GetPointer(PyList_GetItem(rows, i), CX_ROW_NAME);
        if (!m) return false;
        if (cbx_metric_register(ctx, m, true, &c->err)) return cx_raise(c->err.status, c->err.message) != NULL;
    }
    return true;
}

static void end_ctx(cbx_ctx **ctx) { cbx_ctx_free(*ctx); }

/* A new context with the rows of the call; NULL with an exception. */
static cbx_ctx *ctx_of_rows(cx_call *c)
{
    cbx_ctx *ctx = NULL;

    if (cbx_ctx_create(NULL, &ctx, &c->err)) return cx_raise(c->err.status, c->err.message), NULL;
    if (register_rows(c, ctx)) return ctx;
    cbx_ctx_free(ctx);
    return NULL;
}

/* The exceptions of names: one that is there already, one that is missing. */
static cbx_status refused(const cx_call *c, cbx_status status, PyObject *missing)
{
    if (status == CBX_EEXIST || (status == CBX_ENOENT && !missing)) PyErr_SetString(PyExc_ValueError, c->err.message);
    if (status == CBX_ENOENT && missing) PyErr_SetString(missing, c->err.message);
    return status;
}

/* ---- collections ---- */

CX_MADE(collection_make, CX_METRIC_COLLECTION, cbx_metric_collection, (), true,
        (o->kept = PyList_New(0)) ? cbx_metric_collection_create(o->ctx, &handle, &c->err) : CBX_ENOMEM)

CX_RETURN(collection_add,
          (cbx_metric_member m = CBX_METRIC_MEMBER_INIT; cx_object *o = cx_object_self(c); cx_metric_arguments a),
          o != NULL && CX_GET(c, m.group, m.label, m.low, m.high, m.weight) && cx_metric_read(c, &a) &&
              (m.metric = cx_metric_row(c)) && PyList_Append(o->kept, cx_arg(c, "metric")) == 0,
          (m.parameters = a.parameters, m.function = a.options.function, c->function = NULL,
           cx_none(c, refused(c, cbx_metric_collection_add(o->ctx, o->handle, &m, &c->err), NULL))))

CX_DO(collection_remove, cbx_metric_collection, (const char *group = NULL, *label = NULL), (group, label),
      cx_none(c, refused(c, cbx_metric_collection_remove(self, group, label, &c->err), PyExc_KeyError)))

static PyObject *member_object(const cbx_metric_member *m)
{
    return Py_BuildValue("(zssNddd)", m->group, m->label, m->metric->name,
                         CX_LIST(cbx_metric_parameters(m->metric), PyFloat_FromDouble(m->parameters[i])), m->low,
                         m->high, m->weight);
}

CX_DO(collection_members, cbx_metric_collection, (), (),
      CX_LIST(cbx_metric_collection_count(self), member_object(cbx_metric_collection_at(self, i))))
CX_ACCUMULATOR(collection, CX_METRIC_COLLECTION)

/* The results of all members, in their order. */
static PyObject *collection_compute(cx_call *c)
{
    cbx_metric_collection *self = cx_handle(c);
    const size_t n = self ? cbx_metric_collection_count(self) : 0;
    cbx_array **r = self ? cx_alloc(c, n + 1, sizeof *r) : NULL;
    CX_ENTERED of = r ? cx_metric_enter(c, NULL, true) : NULL;
    cbx_status st = CBX_OK;
    size_t done = 0;

    if (!of) return NULL;
    while (!st && done < n) {
        st = cbx_metric_collection_compute(of->ctx, self, done, &r[done], &c->err);
        done += !st;
    }
    if (cx_fine(c, st)) return cx_arrays_object(c->st, n, r, false);
    for (size_t i = 0; i < done; i++) cbx_array_free(r[i]);
    return NULL;
}

CX_RETURN(collection_errors, (CX_ENTERED of = cx_metric_enter(c, NULL, false); double v = 0), of != NULL,
          CX_LIST(cbx_metric_collection_count(of->handle),
                  cx_fine(c, cbx_metric_collection_error(of->ctx, of->handle, i, &v, &c->err)) ? PyFloat_FromDouble(v)
                                                                                               : NULL))

/* weighted(direction, values): of these results, or of those of what was added */
static PyObject *collection_weighted(cx_call *c)
{
    PyObject *values = cx_arg(c, "values");
    const Py_ssize_t n = values ? PyList_Size(values) : 0;
    double *v = cx_alloc(c, (size_t)n + 1, sizeof *v), out = 0;
    CX_ENTERED of = NULL;
    unsigned direction;
    cbx_status st;

    for (Py_ssize_t i = 0; v && i < n; i++) v[i] = PyFloat_AsDouble(PyList_GetItem(values, i));
    if (!v || PyErr_Occurred() || !CX_GET(c, direction) || !(of = cx_metric_enter(c, NULL, false))) return NULL;
    if (values && (size_t)n != cbx_metric_collection_count(of->handle))
        st = cbx_fail(&c->err, CBX_EINVAL, "there must be a value for each of %zu metrics, got %zd",
                      cbx_metric_collection_count(of->handle), n);
    else if (values)
        st = cbx_metric_collection_weigh(of->handle, v, (cbx_direction)direction, &out, &c->err);
    else
        st = cbx_metric_collection_weighted(of->ctx, of->handle, (cbx_direction)direction, &out, &c->err);
    return cx_fine(c, st) ? PyFloat_FromDouble(out) : NULL;
}

/* The report as an object and as text. */
static PyObject *collection_report(cx_call *c)
{
    CX_ENTERED of = cx_metric_enter(c, NULL, false);
    CX_OWN_JSON cbx_json *report = NULL;
    CX_TEXT(text);

    if (!of || !cx_fine(c, cbx_metric_collection_report(of->ctx, of->handle, &report, &c->err))) return NULL;
    cbx_metric_report_text(report, &text);
    if (!cx_fine(c, cbx_text_check(&text, &c->err))) return NULL;
    return Py_BuildValue("(Ns#)", cx_json_object(report), cbx_text_str(&text), (Py_ssize_t)text.len);
}

CX_RETURN(collection_unpack, (PyObject *data = cx_arg(c, "data"); CX_ENTERED of = NULL),
          (PyBytes_Check(data) || cx_refuse(c, "data", PyExc_TypeError, "bytes", data)) &&
              (of = cx_metric_enter(c, NULL, false)),
          cx_none(c, cbx_metric_collection_unpack(of->ctx, of->handle, PyBytes_AsString(data),
                                                  (size_t)PyBytes_Size(data), &c->err)))

CX_DO(collection_states, cbx_metric_collection, (), (), PyLong_FromSize_t(cbx_metric_collection_states(self)))

/* clang-format off */
#define COLLECTION(X) \
    X(add, "metric: object, label: str, " CX_METRIC_PARAMETERS ", group: str | None = None, low: float | None = None, high: float | None = None, weight: float = 1.0, " CX_METRIC_FUNCTION, "None", collection_add, 0, "Adds a metric.") \
    X(remove, "label: str, group: str | None = None", "None", collection_remove, 0, "Removes a metric.") \
    X(members, "", "list[tuple[str | None, str, str, list[float], float, float, float]]", collection_members, 0, "Group, label, metric, parameters, low, high and weight of each.") \
    X(update, CX_METRIC_OPERANDS ", " CX_METRIC_MASKED, "None", collection_update, 0, "Adds a batch.") \
    X(merge, "other: MetricCollection", "None", collection_merge, 0, "Adds what another collection has seen.") \
    X(compute, "", "list[Array]", collection_compute, 0, "The results of all that was added.") \
    X(errors, "", "list[float]", collection_errors, 0, "Bounds of the errors of sketches.") \
    X(weighted, "direction: 'higher' | 'lower' | 'info', values: list[float] | None = None", "float", collection_weighted, 0, "The weighted sum.") \
    X(report, "", "tuple[dict[str, Any], str]", collection_report, 0, "The report, as an object and as text.") \
    X(to_bytes, "", "bytes", collection_bytes, 0, "What the metrics keep.") \
    X(from_bytes, "data: bytes", "None", collection_unpack, 0, "What to_bytes wrote, in place of what the metrics keep.") \
    X(reset, "", "None", collection_reset, 0, "As it was made.") \
    X(updates, "", "int", collection_updates, 0, "Number of batches.") \
    X(states, "", "int", collection_states, 0, "Number of states that the metrics share.")
CX_OBJECT_TYPE(metric_collection, collection, COLLECTION, "_metrics", MetricCollection, "", cbx_metric_collection_free,
               "Metrics over the same operands.")
/* clang-format on */

/* read(rows, suite, what) */
CX_MADE(do_read, CX_METRIC_COLLECTION, cbx_metric_collection,
        (const char *suite = NULL, *what = NULL; CX_OWN_JSON cbx_json *json = NULL; cbx_status st = CBX_ENOMEM),
        CX_GET(c, suite, what), ({
            o->kept = PySequence_List(cx_arg(c, "rows"));
            if (o->kept && register_rows(c, o->ctx)) st = cbx_json_parse(suite, strlen(suite), what, &json, &c->err);
            if (!st) st = cbx_metric_collection_read(o->ctx, json, what, &handle, &c->err);
            refused(c, st, NULL);
        }))

/* ---- values of classes, intervals ---- */

/* The row of the call's metric, once its other arguments are read: begins it, too. */
static const cbx_metric_function *begin(cx_call *c)
{
    const cbx_metric_function *m = cx_metric_row(c);

    c->function = NULL;
    return m && cx_begin_long(c) ? m : NULL;
}

/* classwise(metric, operands, parameters, labels, classes, mask, weights) */
CX_RETURN(do_classwise,
          (const cbx_metric_function *m; const cbx_array *labels = NULL; cbx_array *out = NULL; size_t classes;
           cx_metric_arguments a; double mean = NAN),
          cx_metric_read(c, &a) && CX_GET(c, labels, classes) && (m = begin(c)) &&
              cx_fine(c, cbx_metric_classwise(c->ctx, m, a.n, a.in, labels, classes, &a.options, &out, &mean, &c->err)),
          Py_BuildValue("(Nd)", cx_array_new(c->st, out), mean))

/* bootstrap(metric, operands, parameters, level, resamples, seed, mask, weights) */
CX_RETURN(do_interval,
          (cbx_metric_bootstrap_opts o = CBX_METRIC_BOOTSTRAP_OPTS_INIT; const cbx_metric_function *m;
           cx_metric_arguments a; cbx_interval out),
          cx_metric_read(c, &a) && CX_GET(c, o.level, o.resamples, o.seed) && (m = begin(c)),
          cx_answer(c, cbx_metric_bootstrap(c->ctx, m, a.n, a.in, &a.options, &o, &out, &c->err), CX_INTERVAL, &out))

/* ---- series ---- */

CX_MADE(track_make, CX_METRIC_TRACK, cbx_metric_track, (unsigned direction), CX_GET(c, direction),
        (handle = PyMem_Calloc(1, sizeof *handle)) ? (cbx_metric_track_init(handle, (cbx_direction)direction), CBX_OK)
                                                   : CBX_ENOMEM)
CX_DO(track_add, cbx_metric_track, (double value), (value), PyBool_FromLong(cbx_metric_track_add(self, value)))
CX_DO(track_values, cbx_metric_track, (), (),
      Py_BuildValue("{s:n,s:d,s:d,s:n,s:d,s:d}", "steps", (Py_ssize_t)self->steps, "current", self->current, "best",
                    self->best, "best_step", (Py_ssize_t)self->best_step, "min", self->min, "max", self->max))

/* clang-format off */
#define TRACK(X) \
    X(put, "value: float", "bool", track_add, 0, "Adds a value; whether it is better than all before it.") \
    X(values, "", "dict[str, float]", track_values, 0, "What is known.")
CX_OBJECT_TYPE(metric_track, track, TRACK, "_metrics", Track, "direction: 'higher' | 'lower' | 'info'",
               PyMem_Free, "Values of a metric over steps.")
/* clang-format on */

/* ---- selections, plug-ins ---- */

/* Words of bits, or of numbers, from the lowest on. */
static PyObject *words_list(const char *(*word)(unsigned), bool bits)
{
    PyObject *list = PyList_New(0);

    for (unsigned i = 0; list && *word(bits ? 1u << i : i) != '?'; i++)
        if (!cx_append(list, PyUnicode_FromString(word(bits ? 1u << i : i)))) Py_CLEAR(list);
    return list;
}

static const char *tier_name(unsigned tier) { return cbx_metric_tier_name((cbx_metric_tier)tier); }
static const char *kind_name(unsigned kind) { return cbx_operand_kind_name((cbx_operand_kind)kind); }
static const char *items_name(unsigned items) { return cbx_operand_items_name((cbx_operand_items)items); }

CX_VALUE(do_words, (),
         Py_BuildValue("{s:N,s:N,s:N,s:N,s:N}", "axiom", words_list(cbx_metric_axiom_name, true), "invariance",
                       words_list(cbx_metric_invariance_name, true), "tier", words_list(tier_name, false), "kind",
                       words_list(kind_name, false), "items", words_list(items_name, false)))

/* select(rows, domain, direction, tier, axioms, invariances, flags): names */
static PyObject *do_select(cx_call *c)
{
    cbx_metric_selection s = CBX_METRIC_SELECTION_INIT;
    const bool read = CX_GET(c, s.domain, s.direction, s.tier, s.axioms, s.invariances, s.flags);
    CX_ENDED_BY(end_ctx) cbx_ctx *ctx = read ? ctx_of_rows(c) : NULL;
    PyObject *list = ctx ? PyList_New(0) : NULL;
    const cbx_metric_function *m;
    size_t at = 0;

    while (list && (m = cbx_metric_next(ctx, &s, &at)))
        if (!cx_append(list, PyUnicode_FromString(m->name))) Py_CLEAR(list);
    return list;
}

/*
 * Makes the library's functions here those that objects loaded from now on find first, also where
 * they come with a library of their own: a context belongs to one copy of the library.
 */
static bool show_functions(void)
{
    Dl_info info;

    if (dladdr((void *)(uintptr_t)cbx_version, &info) && dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL))
        return true;
    return cx_refused(PyExc_RuntimeError, "cannot show the library's functions to plug-ins: %s", dlerror());
}

static PyObject *loaded_row(const cbx_metric_function *m)
{
    PyObject *row = cx_metric_dict(m);

    if (row && !cx_put(row, "code", PyCapsule_New((void *)(uintptr_t)m, CX_ROW_NAME, NULL))) Py_CLEAR(row);
    return row;
}

/* load_plugin(rows, path): the rows of an object, each with its capsule; they are never unmapped */
static PyObject *do_load_plugin(cx_call *c)
{
    const char *path = NULL;
    CX_ENDED_BY(end_ctx) cbx_ctx *ctx = CX_GET(c, path) && show_functions() ? ctx_of_rows(c) : NULL;
    const size_t before = ctx ? cbx_metric_count(ctx) : 0;

    if (!ctx) return NULL;
    c->function = NULL;
    if (!cx_fine(c, refused(c, cbx_metric_plugin_load(ctx, path, &c->err), NULL))) return NULL;
    return CX_LIST(cbx_metric_count(ctx) - before, loaded_row(cbx_metric_at(ctx, before + i)));
}

/* clang-format off */
#define TOGETHER(X) \
    X(read, "rows: list[object], suite: str, what: str", "object", do_read, 0, "A collection from a suite.") \
    X(classwise, CX_METRIC_CALL ", labels: Array, classes: int = 0, " CX_METRIC_MASKED, "tuple[Array, float]", do_classwise, 0, "A metric of the items of each class, and the mean.") \
    X(bootstrap, CX_METRIC_CALL ", level: float = 0.95, resamples: int = 1000, seed: int = 0, " CX_METRIC_MASKED, "Interval", do_interval, 0, "A metric with its bootstrap interval.") \
    X(words, "", "dict[str, list[str]]", do_words, 0, "Words of properties, by what they are of.") \
    X(select, "rows: list[object], domain: str | None = None, direction: int = -1, tier: int = -1, axioms: int = 0, invariances: int = 0, flags: int = 0", "list[str]", do_select, 0, "Names of metrics.") \
    X(load_plugin, "rows: list[object], path: Path", "list[dict[str, Any]]", do_load_plugin, 0, "The rows of a shared object.")
/* clang-format on */
CX_FUNCTIONS(cx_metric_collection_methods, TOGETHER, LONG)
