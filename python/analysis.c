/* calibrax_c.analysis: ranking, Pareto fronts, scaling, change points, comparison of runs. */
#include <math.h>
#include <string.h>

#include "python/things.h"

/* ---- ranking ---- */

static PyObject *do_rank(cx_call *c, cx_fn fn)
{
    cbx_direction direction = CBX_DIRECTION_LOWER;
    cbx_err err = CBX_ERR_INIT;
    cbx_rank_entry *out;
    PyObject *r = NULL;
    cx_samples x;

    (void)fn;
    if (!cx_samples_arg(c, 0, &x) || (c->arg[1] && !cx_direction_from(c, c->arg[1], 1, &direction))) return NULL;
    out = PyMem_Calloc(x.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_fine(c, cbx_rank(x.x, x.n, direction, out, &err), &err)) r = cx_answer_list(c->st, CX_RANK_ENTRY, out, x.n);
    PyMem_Free(out);
    return r;
}

static PyObject *do_score(cx_call *c, cx_fn fn)
{
    static const char *const kinds[] = { "geometric", "min-max" };
    cbx_direction *directions = NULL;
    cbx_err err = CBX_ERR_INIT;
    size_t m = 0, n = 0;
    cx_samples x, weights;
    double *out = NULL;
    PyObject *r = NULL;
    int kind = 0;

    (void)fn;
    if (!cx_table_arg(c, 0, &x, &m, &n) || !cx_samples_arg(c, 2, &weights) ||
        !cx_word_arg(c, 3, kinds, CBX_LEN(kinds), &kind))
        return NULL;
    if (weights.x && weights.n != m) {
        PyErr_Format(PyExc_ValueError, "score: %zu weights for %zu metrics", weights.n, m);
        return NULL;
    }
    directions = cx_directions_arg(c, 1, m);
    out = directions ? PyMem_Calloc(n + 1, sizeof *out) : NULL;
    if (directions && !out) PyErr_NoMemory();
    if (out && cx_begin(c)) {
        cbx_status status = cbx_score(c->ctx, (cbx_score_kind)kind, x.x, m, n, directions, weights.x, out, NULL, &err);
        r = cx_answer_numbers(c, status, &err, out, n);
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

static PyObject *do_rank_stability(cx_call *c, cx_fn fn)
{
    cbx_direction direction = CBX_DIRECTION_LOWER;
    size_t draws = 1000, seed = 1, at = 0;
    cbx_err err = CBX_ERR_INIT;
    cbx_rank_sample *list = NULL;
    cx_groups g = { 0 };
    double *share = NULL;
    PyObject *r = NULL;

    (void)fn;
    if (!cx_groups_arg(c, 0, &g) || (c->arg[1] && !cx_direction_from(c, c->arg[1], 1, &direction)) ||
        !cx_size_arg(c, 2, &draws) || !cx_size_arg(c, 3, &seed))
        goto done;
    list = PyMem_Calloc(g.n + 1, sizeof *list);
    share = PyMem_Calloc(g.n * g.n + 1, sizeof *share);
    if (!list || !share) {
        PyErr_NoMemory();
        goto done;
    }
    for (size_t i = 0; i < g.n; at += g.sizes[i++]) list[i] = (cbx_rank_sample){ g.x + at, g.sizes[i] };
    if (cx_begin(c) && cx_fine(c, cbx_rank_stability(c->ctx, list, g.n, direction, draws, seed, share, &err), &err))
        r = square_object(share, g.n);
done:
    PyMem_Free(share);
    PyMem_Free(list);
    cx_groups_free(&g);
    return r;
}

static PyObject *do_pareto(cx_call *c, cx_fn fn)
{
    size_t n = 0, d = 0, *at = NULL, k = 0;
    cbx_direction *directions;
    cbx_err err = CBX_ERR_INIT;
    bool *front = NULL;
    PyObject *r = NULL;
    cx_samples x;

    (void)fn;
    if (!cx_table_arg(c, 0, &x, &n, &d) || !(directions = cx_directions_arg(c, 1, d))) return NULL;
    front = PyMem_Calloc(n + 1, sizeof *front);
    at = PyMem_Calloc(n + 1, sizeof *at);
    if (!front || !at)
        PyErr_NoMemory();
    else if (cx_begin(c) &&
             cx_fine(c, cbx_pareto_front(c->ctx, x.x, n, d, directions, front, NULL, NULL, &err), &err)) {
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

static PyObject *do_growth(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    double level = 0.95;
    cbx_status status;
    cx_samples x, y;
    cbx_growth out;

    (void)fn;
    if (!cx_two_samples(c, &x, &y, true) || !cx_double_arg(c, 2, &level) || !cx_begin(c)) return NULL;
    status = cbx_scaling_growth(c->ctx, x.x, y.x, x.n, level, &out, &err);
    return cx_answer(c, status, &err, CX_GROWTH, &out);
}

static PyObject *do_speedup(cx_call *c, cx_fn fn)
{
    static const char *const laws[] = { "amdahl", "gustafson", "usl" };
    int law = CBX_LAW_AMDAHL;
    cbx_err err = CBX_ERR_INIT;
    double level = 0.95;
    cbx_speedup_fit out;
    cbx_status status;
    cx_samples x, y;

    (void)fn;
    if (!cx_two_samples(c, &x, &y, true) || !cx_word_arg(c, 2, laws, CBX_LEN(laws), &law) ||
        !cx_double_arg(c, 3, &level) || !cx_begin(c))
        return NULL;
    status = cbx_scaling_speedup(c->ctx, (cbx_speedup_law)law, x.x, y.x, x.n, level, &out, &err);
    if (!status && law != CBX_LAW_USL) out.parameter[1] = (cbx_interval){ NAN, NAN, NAN, 0 };
    return cx_answer(c, status, &err, CX_SPEEDUP, &out);
}

/* ---- change points ---- */

static const char *const methods[] = { "pelt", "binary", "window", "e-divisive" };
static const char *const costs[] = { "mean", "normal" };
static const cx_option changepoint_options[] = {
    CX_OPTION_WORD(1, cbx_changepoint_opts, method, methods), CX_OPTION_WORD(2, cbx_changepoint_opts, cost, costs),
    CX_OPTION(3, WHOLE, cbx_changepoint_opts, min_segment),   CX_OPTION(4, NUMBER, cbx_changepoint_opts, penalty),
    CX_OPTION(5, WHOLE, cbx_changepoint_opts, window),        CX_OPTION(6, NUMBER, cbx_changepoint_opts, alpha),
    CX_OPTION(7, WHOLE, cbx_changepoint_opts, permutations),  CX_OPTION(8, WHOLE, cbx_changepoint_opts, seed)
};

static PyObject *do_changepoints(cx_call *c, cx_fn fn)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    PyObject *r = NULL;
    size_t *index, n = 0;
    cx_samples x;

    (void)fn;
    if (!cx_samples_arg(c, 0, &x) || !cx_options(c, changepoint_options, CBX_LEN(changepoint_options), &o)) return NULL;
    index = PyMem_Calloc(x.n + 1, sizeof *index);
    if (!index) return PyErr_NoMemory();
    if (cx_begin(c) && cx_fine(c, cbx_changepoints_find(c->ctx, x.x, x.n, &o, index, &n, &err), &err))
        r = cx_wholes_object(index, n);
    PyMem_Free(index);
    return r;
}

static PyObject *do_changes(cx_call *c, cx_fn fn)
{
    size_t least = 3, n = 0;
    cbx_err err = CBX_ERR_INIT;
    PyObject *r = NULL;
    cbx_change *out;
    cx_samples x;

    (void)fn;
    if (!cx_samples_arg(c, 0, &x) || !cx_size_arg(c, 1, &least)) return NULL;
    out = PyMem_Calloc(x.n + 1, sizeof *out);
    if (!out) return PyErr_NoMemory();
    if (cx_begin(c) && cx_fine(c, cbx_changes_detect(c->ctx, x.x, x.n, least, out, &n, &err), &err))
        r = cx_answer_list(c->st, CX_CHANGE, out, n);
    PyMem_Free(out);
    return r;
}

static PyObject *do_confirm(cx_call *c, cx_fn fn)
{
    double level = 0.95, threshold = 0.05;
    cbx_err err = CBX_ERR_INIT;
    cbx_interval change;
    cbx_verdict verdict;
    cbx_status status;
    cx_samples a, b;

    (void)fn;
    if (!cx_two_samples(c, &a, &b, false) || !cx_double_arg(c, 2, &level) || !cx_double_arg(c, 3, &threshold) ||
        !cx_begin(c))
        return NULL;
    status = cbx_change_confirm(c->ctx, a.x, a.n, b.x, b.n, level, threshold, &verdict, &change, &err);
    if (!cx_fine(c, status, &err)) return NULL;
    return Py_BuildValue("(sN)", cbx_verdict_name(verdict), cx_answer_object(c->st, CX_INTERVAL, &change));
}

static PyObject *do_noise(cx_call *c, cx_fn fn)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_noise out;
    cx_samples x;

    (void)fn;
    if (!cx_samples_arg(c, 0, &x) || !cx_begin(c)) return NULL;
    return cx_answer(c, cbx_noise_estimate(c->ctx, x.x, x.n, &out, &err), &err, CX_NOISE, &out);
}

static PyObject *do_verdict(cx_call *c, cx_fn fn)
{
    double margin = CBX_VERDICT_MARGIN;
    cx_samples v;

    (void)fn;
    if (!cx_samples_arg(c, 0, &v) || !cx_double_arg(c, 1, &margin)) return NULL;
    if (v.n != 4) {
        PyErr_SetString(PyExc_ValueError, "verdict: 'ratio' has to be an Interval: value, lower, upper, level");
        return NULL;
    }
    return PyUnicode_FromString(
        cbx_verdict_name(cbx_verdict_of_ratio(&(cbx_interval){ v.x[0], v.x[1], v.x[2], v.x[3] }, margin)));
}

/* ---- ChangeStream ---- */

static void stream_free(cx_thing *t) { cbx_changepoint_stream_free(t->handle); }

static PyObject *stream_make(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION(0, WHOLE, cbx_changepoint_opts, min_segment),
                                         CX_OPTION(1, NUMBER, cbx_changepoint_opts, penalty) };
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    cbx_changepoint_stream *s = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    cx_thing *t;

    (void)fn;
    if (!cx_options(c, options, CBX_LEN(options), &o) || !(t = cx_thing_new(c->st, CX_STREAM))) return NULL;
    status = cbx_changepoint_stream_create(t->ctx, &o, &s, &err);
    t->handle = s;
    return cx_thing_made(t, status, &err);
}

static PyObject *stream_append(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_err err = CBX_ERR_INIT;
    double x = 0;

    (void)fn;
    if (!t || !cx_double_arg(c, 0, &x) || !cx_fine(c, cbx_changepoint_stream_append(t->handle, x, &err), &err))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_changes(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    size_t *index, n = 0;
    PyObject *r;

    (void)fn;
    if (!t) return NULL;
    index = PyMem_Calloc(cbx_changepoint_stream_length(t->handle) + 1, sizeof *index);
    if (!index) return PyErr_NoMemory();
    cbx_changepoint_stream_changes(t->handle, index, &n);
    r = cx_wholes_object(index, n);
    PyMem_Free(index);
    return r;
}

static PyObject *stream_length(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    (void)fn;
    return t ? PyLong_FromSize_t(cbx_changepoint_stream_length(t->handle)) : NULL;
}

/* clang-format off */
#define STREAM(X) \
    X(append, "x, /", stream_append, 0, "One more value.") \
    X(changes, "/", stream_changes, 0, "First values of the segments behind the first.") \
    X(length, "/", stream_length, 0, "Values so far.")
/* clang-format on */
CX_TYPE_FUNCTIONS(stream_methods, STREAM)

const cx_thing_type cx_stream_thing = {
    "calibrax_c.analysis.ChangeStream",
    "ChangeStream(*, min_segment=3, penalty=None)\n--\n\nChange points of the mean of a series that grows, a value at "
    "a time.",
    stream_free,
    stream_methods,
    { "ChangeStream", "*, min_segment=3, penalty=None", stream_make, 0 },
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
    r->runs = PySequence_Tuple(c->arg[0]);
    if (!r->runs) return false;
    r->n = (size_t)PyTuple_Size(r->runs);
    r->list = PyMem_Calloc(r->n + 1, sizeof *r->list);
    if (!r->list) return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < r->n; i++)
        if (!(r->list[i] = cx_run_of(c->st, PyTuple_GetItem(r->runs, (Py_ssize_t)i)))) return false;
    if (!cx_texts_arg(c, 1, &r->labels) || !cx_texts_arg(c, 4, &r->metrics)) return false;
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

static PyObject *do_compare(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = { CX_OPTION(2, TEXT, cbx_comparison_opts, group_tag),
                                         CX_OPTION(3, TEXT, cbx_comparison_opts, reference),
                                         CX_OPTION(5, NUMBER, cbx_comparison_opts, level) };
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *out = NULL;
    cbx_err err = CBX_ERR_INIT;
    PyObject *answer = NULL;
    rivals r = { 0 };

    (void)fn;
    if (cx_options(c, options, CBX_LEN(options), &o) && read_rivals(c, &r) && cx_begin(c)) {
        o.metrics = r.metrics.list;
        o.nmetrics = r.metrics.n;
        if (cx_fine(c, cbx_comparison_create(c->ctx, r.list, r.labels.list, r.n, &o, &out, &err), &err))
            answer = comparison_object(c->st, out);
    }
    cbx_comparison_free(out);
    clear_rivals(&r);
    return answer;
}

/* clang-format off */
#define ANALYSIS(X) \
    X(rank, "values, /, direction='lower'", do_rank, 0, "Places, best first; NaN is a missing value.") \
    X(score, "values, directions, /, weights=None, kind='geometric'", do_score, 0, "One score a competitor over metrics (rows of values); 'geometric' or 'min-max'.") \
    X(rank_stability, "samples, /, direction='lower', draws=1000, seed=1", do_rank_stability, 0, "How often each competitor has each rank when samples are drawn anew.") \
    X(pareto, "points, directions, /", do_pareto, 0, "Places of the points on the front; directions: 'lower' or 'higher', one an objective.") \
    X(growth, "sizes, times, /, level=0.95", do_growth, 0, "How a time grows with size, by model selection.") \
    X(speedup, "workers, values, /, law='amdahl', level=0.95", do_speedup, 0, "Law of Amdahl (times), Gustafson or USL (throughputs), fitted.") \
    X(changepoints, "x, /, method='pelt', *, cost='mean', min_segment=3, penalty=None, window=0, alpha=0.01, permutations=199, seed=1", do_changepoints, 0, "First values of the segments behind the first; 'pelt', 'binary', 'window', 'e-divisive'.") \
    X(changes, "x, /, min_segment=3", do_changes, 0, "Changes that the series itself bears out.") \
    X(confirm, "before, after, /, level=0.95, threshold=0.05", do_confirm, 0, "A change by fresh samples of both sides: the verdict and the interval of the change.") \
    X(noise, "x, /", do_noise, 0, "Noise of a series about a level that may change.") \
    X(verdict, "ratio, /, margin=0.02", do_verdict, 0, "What an Interval of a ratio of times says: 'faster', 'slower', 'equivalent', 'undecided'.") \
    X(compare, "runs, /, *, labels=None, group_tag=None, reference=None, metrics=None, level=0.95", do_compare, 0, "Runs, or competitors by a tag, side by side.")
/* clang-format on */
CX_FUNCTIONS(cx_analysis_methods, ANALYSIS)
