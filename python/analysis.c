/* calibrax_c.analysis: ranking, Pareto fronts, scaling, change points, comparison of runs. */
#include <math.h>
#include <string.h>

#include "python/things.h"

/* ---- ranking ---- */

static PyObject *do_rank(cx_call *c)
{
    cbx_direction direction = CBX_DIRECTION_LOWER;
    cbx_rank_entry *out;
    PyObject *r = NULL;
    cx_samples values;

    if (!CX_GET(c, values, direction)) return NULL;
    out = PyMem_Calloc(values.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_fine(c, cbx_rank(values.x, values.n, direction, out, &c->err)))
        r = cx_answer_list(c->st, CX_RANK_ENTRY, out, values.n);
    PyMem_Free(out);
    return r;
}

static PyObject *do_score(cx_call *c)
{
    cbx_direction *directions = NULL;
    size_t m = 0, n = 0;
    cx_samples x, weights;
    double *out = NULL;
    PyObject *r = NULL;
    int kind = 0;

    if (!cx_table_arg(c, "values", &x, &n, &m) || !CX_GET(c, weights, kind)) return NULL;
    if (weights.x && weights.n != m) {
        PyErr_Format(PyExc_ValueError, "score: %zu weights for %zu metrics", weights.n, m);
        return NULL;
    }
    directions = cx_directions_arg(c, "directions", m);
    out = directions ? PyMem_Calloc(n + 1, sizeof *out) : NULL;
    if (directions && !out) PyErr_NoMemory();
    if (out && cx_begin(c)) {
        cbx_status status = cbx_score(c->ctx, (cbx_score_kind)kind, x.x, n, m, directions, weights.x, out, NULL,
                                      &c->err);
        r = cx_answer_numbers(c, status, out, n);
    }
    PyMem_Free(out);
    PyMem_Free(directions);
    return r;
}

/* share[i][r] as a tuple of tuples. */
static PyObject *square_object(const double *share, size_t n)
{
    PyObject *rows = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; rows && i < n; i++) {
        PyObject *row = cx_numbers_object(share + i * n, n);
        if (!row || PyTuple_SetItem(rows, (Py_ssize_t)i, row) < 0) Py_CLEAR(rows);
    }
    return rows;
}

static PyObject *do_rank_stability(cx_call *c)
{
    cbx_direction direction = CBX_DIRECTION_LOWER;
    size_t draws = 1000, seed = 1, at = 0;
    cbx_rank_sample *list = NULL;
    cx_groups samples = { 0 };
    double *share = NULL;
    PyObject *r = NULL;

    if (!CX_GET(c, samples, direction) || !CX_GET(c, draws, seed)) goto done;
    list = PyMem_Calloc(samples.n + 1, sizeof *list);
    share = PyMem_Calloc(samples.n * samples.n + 1, sizeof *share);
    if (!list || !share) {
        PyErr_NoMemory();
        goto done;
    }
    for (size_t i = 0; i < samples.n; at += samples.sizes[i++])
        list[i] = (cbx_rank_sample){ samples.x + at, samples.sizes[i] };
    if (cx_begin(c) && cx_fine(c, cbx_rank_stability(c->ctx, list, samples.n, direction, draws, seed, share, &c->err)))
        r = square_object(share, samples.n);
done:
    PyMem_Free(share);
    PyMem_Free(list);
    cx_groups_free(&samples);
    return r;
}

static PyObject *do_pareto(cx_call *c)
{
    size_t n = 0, d = 0, *at = NULL, k = 0;
    cbx_direction *directions;
    bool *front = NULL;
    PyObject *r = NULL;
    cx_samples x;

    if (!cx_table_arg(c, "points", &x, &n, &d) || !(directions = cx_directions_arg(c, "directions", d))) return NULL;
    front = PyMem_Calloc(n + 1, sizeof *front);
    at = PyMem_Calloc(n + 1, sizeof *at);
    if (!front || !at)
        PyErr_NoMemory();
    else if (cx_begin(c) && cx_fine(c, cbx_pareto_front(c->ctx, x.x, n, d, directions, front, NULL, NULL, &c->err))) {
        for (size_t i = 0; i < n; i++)
            if (front[i]) at[k++] = i;
        r = cx_wholes_object(at, k);
    }
    PyMem_Free(at);
    PyMem_Free(front);
    PyMem_Free(directions);
    return r;
}

/* ---- scaling ---- */

static PyObject *do_growth(cx_call *c)
{
    double level = 0.95;
    cbx_status status;
    cx_samples sizes, times;
    cbx_growth out;

    if (!CX_GET(c, sizes, times) || !cx_same_length(c, &sizes, &times) || !CX_GET(c, level) || !cx_begin(c))
        return NULL;
    status = cbx_scaling_growth(c->ctx, sizes.x, times.x, sizes.n, level, &out, &c->err);
    return cx_answer(c, status, CX_GROWTH, &out);
}

static PyObject *do_speedup(cx_call *c)
{
    int law = CBX_LAW_AMDAHL;
    double level = 0.95;
    cbx_speedup_fit out;
    cbx_status status;
    cx_samples workers, values;

    if (!CX_GET(c, workers, values) || !cx_same_length(c, &workers, &values) || !CX_GET(c, law, level) || !cx_begin(c))
        return NULL;
    status = cbx_scaling_speedup(c->ctx, (cbx_speedup_law)law, workers.x, values.x, workers.n, level, &out, &c->err);
    if (!status && law != CBX_LAW_USL) out.parameter[1] = (cbx_interval){ NAN, NAN, NAN, 0 };
    return cx_answer(c, status, CX_SPEEDUP, &out);
}

/* ---- change points ---- */

static PyObject *do_changepoints(cx_call *c)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    PyObject *r = NULL;
    size_t *index, n = 0;
    cx_samples x;

    if (!CX_GET(c, x) ||
        !CX_GET(c, o.method, o.cost, o.min_segment, o.penalty, o.window, o.alpha, o.permutations, o.seed))
        return NULL;
    index = PyMem_Calloc(x.n + 1, sizeof *index);
    if (!index) return PyErr_NoMemory();
    if (cx_begin(c) && cx_fine(c, cbx_changepoints_find(c->ctx, x.x, x.n, &o, index, &n, &c->err)))
        r = cx_wholes_object(index, n);
    PyMem_Free(index);
    return r;
}

static PyObject *do_changes(cx_call *c)
{
    size_t min_segment = 3, n = 0;
    PyObject *r = NULL;
    cbx_change *out;
    cx_samples x;

    if (!CX_GET(c, x, min_segment)) return NULL;
    out = PyMem_Calloc(x.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_begin(c) && cx_fine(c, cbx_changes_detect(c->ctx, x.x, x.n, min_segment, out, &n, &c->err)))
        r = cx_answer_list(c->st, CX_CHANGE, out, n);
    PyMem_Free(out);
    return r;
}

static PyObject *do_confirm(cx_call *c)
{
    double level = 0.95, threshold = 0.05;
    cbx_interval change;
    cbx_verdict verdict;
    cbx_status status;
    cx_samples before, after;

    if (!CX_GET(c, before, after, level, threshold) || !cx_begin(c)) return NULL;
    status = cbx_change_confirm(c->ctx, before.x, before.n, after.x, after.n, level, threshold, &verdict, &change,
                                &c->err);
    if (!cx_fine(c, status)) return NULL;
    return Py_BuildValue("(sN)", cbx_verdict_name(verdict), cx_answer_object(c->st, CX_INTERVAL, &change));
}

static PyObject *do_noise(cx_call *c)
{
    cbx_noise out;
    cx_samples x;

    if (!CX_GET(c, x) || !cx_begin(c)) return NULL;
    return cx_answer(c, cbx_noise_estimate(c->ctx, x.x, x.n, &out, &c->err), CX_NOISE, &out);
}

static PyObject *do_verdict(cx_call *c)
{
    double margin = CBX_VERDICT_MARGIN;
    cx_samples ratio;

    if (!CX_GET(c, ratio, margin)) return NULL;
    if (ratio.n != 4) {
        PyErr_SetString(PyExc_ValueError, "verdict: 'ratio' has to be an Interval: value, lower, upper, level");
        return NULL;
    }
    return PyUnicode_FromString(cbx_verdict_name(
        cbx_verdict_of_ratio(&(cbx_interval){ ratio.x[0], ratio.x[1], ratio.x[2], ratio.x[3] }, margin)));
}

/* ---- ChangeStream ---- */

static void stream_free(cx_thing *t) { cbx_changepoint_stream_free(t->handle); }

static PyObject *stream_make(cx_call *c)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    cbx_changepoint_stream *s = NULL;
    cbx_status status;
    cx_thing *t;

    if (!CX_GET(c, o.min_segment, o.penalty) || !(t = cx_thing_new(c->st, CX_STREAM))) return NULL;
    status = cbx_changepoint_stream_create(t->ctx, &o, &s, &c->err);
    t->handle = s;
    return cx_thing_made(t, status, &c->err);
}

static PyObject *stream_append(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    double x = 0;

    if (!t || !CX_GET(c, x) || !cx_fine(c, cbx_changepoint_stream_append(t->handle, x, &c->err))) return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_changes(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    size_t *index, n = 0;
    PyObject *r;

    if (!t) return NULL;
    index = PyMem_Calloc(cbx_changepoint_stream_length(t->handle) + 1, sizeof *index);
    if (!index) return PyErr_NoMemory();
    cbx_changepoint_stream_changes(t->handle, index, &n);
    r = cx_wholes_object(index, n);
    PyMem_Free(index);
    return r;
}

static PyObject *stream_length(cx_call *c)
{
    cx_thing *t = cx_thing_self(c);
    return t ? PyLong_FromSize_t(cbx_changepoint_stream_length(t->handle)) : NULL;
}

/* clang-format off */
#define STREAM(X) \
    X(append, "x: float, /", "None", stream_append, 0, "One more value.") \
    X(changes, "/", "tuple[int, ...]", stream_changes, 0, "First values of the segments behind the first.") \
    X(length, "/", "int", stream_length, 0, "Values so far.")
/* clang-format on */
CX_TYPE_FUNCTIONS(stream_methods, STREAM)

const cx_thing_type cx_stream_thing = {
    "calibrax_c.analysis.ChangeStream",
    "Change points of the mean of a series that grows, a value at "
    "a time.",
    stream_free,
    stream_methods,
    &(cx_function){ "ChangeStream", "*, min_segment: int = 3, penalty: float | None = None", "ChangeStream",
                    stream_make, 0, NULL, 0 },
};

/* ---- comparison ---- */

static PyObject *row_object(cx_state *st, const cbx_comparison *cmp, size_t i)
{
    const cbx_comparison_row *row = cbx_comparison_row_at(cmp, i);
    cx_row_answer a = { row->key,     row->metric, row->unit, row->direction, row->cells, cbx_comparison_nlabels(cmp),
                        row->nmissing };

    return cx_answer_object(st, CX_ROW, &a);
}

static PyObject *label_object(cx_state *st, const cbx_comparison *cmp, size_t i)
{
    (void)st;
    return PyUnicode_FromString(cbx_comparison_label(cmp, i));
}

static PyObject *winner_object(cx_state *st, const cbx_comparison *cmp, size_t i)
{
    return cx_answer_object(st, CX_WINNER, cbx_comparison_winner(cmp, i));
}

static PyObject *remark_object(cx_state *st, const cbx_comparison *cmp, size_t i)
{
    (void)st;
    return PyUnicode_FromString(cbx_comparison_remark(cmp, i, NULL));
}

static PyObject *gather(cx_state *st, const cbx_comparison *cmp, size_t n,
                        PyObject *(*object)(cx_state *, const cbx_comparison *, size_t))
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *v = object(st, cmp, i);
        if (!v || PyTuple_SetItem(tuple, (Py_ssize_t)i, v) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *comparison_object(cx_state *st, const cbx_comparison *cmp)
{
    PyObject *fields[] = { gather(st, cmp, cbx_comparison_nlabels(cmp), label_object), NULL,
                           gather(st, cmp, cbx_comparison_nrows(cmp), row_object),
                           gather(st, cmp, cbx_comparison_nwinners(cmp), winner_object),
                           gather(st, cmp, cbx_comparison_nremarks(cmp), remark_object) };

    fields[1] = PyUnicode_FromString(cbx_comparison_label(cmp, cbx_comparison_reference(cmp)));
    return cx_record_new(st, CX_COMPARISON, fields);
}

typedef struct rivals {
    PyObject *runs;
    const cbx_run **list;
    cx_texts labels, metrics;
    size_t n;
} rivals;

static bool read_rivals(cx_call *c, rivals *r)
{
    r->runs = PySequence_Tuple(cx_arg(c, "runs") ? cx_arg(c, "runs") : Py_None);
    if (!r->runs) return false;
    r->n = (size_t)PyTuple_Size(r->runs);
    r->list = PyMem_Calloc(r->n + 1, sizeof *r->list);
    if (!r->list) return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < r->n; i++)
        if (!(r->list[i] = cx_run_of(c->st, PyTuple_GetItem(r->runs, (Py_ssize_t)i)))) return false;
    if (!CX_GET(c, r->labels, r->metrics)) return false;
    if (!r->labels.list || r->labels.n == r->n) return true;
    PyErr_Format(PyExc_ValueError, "compare: %zu labels for %zu runs", r->labels.n, r->n);
    return false;
}

static void clear_rivals(rivals *r)
{
    cx_texts_free(&r->labels);
    cx_texts_free(&r->metrics);
    PyMem_Free(r->list);
    Py_XDECREF(r->runs);
}

static PyObject *do_compare(cx_call *c)
{
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *out = NULL;
    PyObject *answer = NULL;
    rivals r = { 0 };

    if (CX_GET(c, o.group_tag, o.reference, o.level) && read_rivals(c, &r) && cx_begin(c)) {
        o.metrics = r.metrics.list;
        o.nmetrics = r.metrics.n;
        if (cx_fine(c, cbx_comparison_create(c->ctx, r.list, r.labels.list, r.n, &o, &out, &c->err)))
            answer = comparison_object(c->st, out);
    }
    cbx_comparison_free(out);
    clear_rivals(&r);
    return answer;
}

/* clang-format off */
#define ANALYSIS(X) \
    X(rank, "values: Samples, /, direction: 'higher' | 'lower' | 'info' = 'lower'", "tuple[Rank, ...]", do_rank, 0, "Places, best first; NaN is a missing value.") \
    X(score, "values: Rows, directions: 'higher' | 'lower' | 'info' | Sequence[str], /, weights: Samples | None = None, kind: 'geometric' | 'min-max' = 'geometric'", "tuple[float, ...]", do_score, 0, "One score a competitor over metrics (columns of values); 'geometric' or 'min-max'.") \
    X(rank_stability, "samples: Groups, /, direction: 'higher' | 'lower' | 'info' = 'lower', draws: int = 1000, seed: int = 1", "tuple[tuple[float, ...], ...]", do_rank_stability, 0, "How often each competitor has each rank when samples are drawn anew.") \
    X(pareto, "points: Rows, directions: 'higher' | 'lower' | 'info' | Sequence[str], /", "tuple[int, ...]", do_pareto, 0, "Places of the points on the front; directions: 'lower' or 'higher', one an objective.") \
    X(growth, "sizes: Samples, times: Samples, /, level: float = 0.95", "Growth", do_growth, 0, "How a time grows with size, by model selection.") \
    X(speedup, "workers: Samples, values: Samples, /, law: 'amdahl' | 'gustafson' | 'usl' = 'amdahl', level: float = 0.95", "SpeedupFit", do_speedup, 0, "Law of Amdahl (times), Gustafson or USL (throughputs), fitted.") \
    X(changepoints, "x: Samples, /, method: 'pelt' | 'binary' | 'window' | 'e-divisive' = 'pelt', *, cost: 'mean' | 'normal' = 'mean', min_segment: int = 3, penalty: float | None = None, window: int = 0, alpha: float = 0.01, permutations: int = 199, seed: int = 1", "tuple[int, ...]", do_changepoints, 0, "First values of the segments behind the first; 'pelt', 'binary', 'window', 'e-divisive'.") \
    X(changes, "x: Samples, /, min_segment: int = 3", "tuple[Change, ...]", do_changes, 0, "Changes that the series itself bears out.") \
    X(confirm, "before: Samples, after: Samples, /, level: float = 0.95, threshold: float = 0.05", "tuple[str, Interval]", do_confirm, 0, "A change by fresh samples of both sides: the verdict and the interval of the change.") \
    X(noise, "x: Samples, /", "Noise", do_noise, 0, "Noise of a series about a level that may change.") \
    X(verdict, "ratio: Sequence[float], /, margin: float = 0.02", "str", do_verdict, 0, "What an Interval of a ratio of times says: 'faster', 'slower', 'equivalent', 'undecided'.") \
    X(compare, "runs: Sequence[Run], /, *, labels: str | Sequence[str] | None = None, group_tag: str | None = None, reference: str | None = None, metrics: str | Sequence[str] | None = None, level: float = 0.95", "Comparison", do_compare, 0, "Runs, or competitors by a tag, side by side.")
/* clang-format on */
CX_FUNCTIONS(cx_analysis_methods, ANALYSIS)
