/* calibrax_c.analysis: ranking, Pareto fronts, scaling, change points, comparison of runs. */
#include <math.h>
#include <string.h>

#include "python/objects.h"

/* ---- ranking ---- */

CX_RETURN(do_rank, (cbx_direction direction; cbx_rank_entry * out; cx_samples values),
          CX_GET(c, values, direction) && (out = cx_alloc(c, values.n, sizeof *out)) &&
              cx_fine(c, cbx_rank(values.x, values.n, direction, out, &c->err)),
          cx_answer_list(c->st, CX_RANK_ENTRY, out, values.n))

CX_RETURN(do_score, (cbx_direction * directions; cx_samples x, weights; size_t m, n; double *out; int kind),
          cx_table_arg(c, "values", &x, &n, &m) && CX_GET(c, weights, kind) &&
              (!weights.x || weights.n == m ||
               cx_refused(PyExc_ValueError, "score: 'weights' must be one a metric, got %zu for %zu metrics", weights.n,
                          m)) &&
              (directions = cx_directions_arg(c, "directions", m)) && (out = cx_alloc(c, n, sizeof *out)) &&
              cx_begin(c) &&
              cx_fine(c, cbx_score(c->ctx, (cbx_score_kind)kind, x.x, n, m, directions, weights.x, out, NULL, &c->err)),
          cx_numbers_object(out, n))

static PyObject *do_rank_stability(cx_call *c)
{
    size_t draws, seed, at = 0;
    cbx_direction direction;
    cbx_rank_sample *list;
    cx_groups samples;
    double *share;

    if (!CX_GET(c, samples, direction, draws, seed) || !(list = cx_alloc(c, samples.n, sizeof *list)) ||
        !(share = cx_alloc(c, samples.n * samples.n, sizeof *share)))
        return NULL;
    for (size_t i = 0; i < samples.n; at += samples.sizes[i++])
        list[i] = (cbx_rank_sample){ samples.x + at, samples.sizes[i] };
    if (!cx_begin(c) ||
        !cx_fine(c, cbx_rank_stability(c->ctx, list, samples.n, direction, draws, seed, share, &c->err)))
        return NULL;
    return CX_TUPLE(samples.n, cx_numbers_object(share + i * samples.n, samples.n));
}

CX_RETURN(do_pareto, (cbx_direction * directions; size_t n, d; cx_samples x; bool *front),
          cx_table_arg(c, "points", &x, &n, &d) && (directions = cx_directions_arg(c, "directions", d)) &&
              (front = cx_alloc(c, n, sizeof *front)) && cx_begin(c) &&
              cx_fine(c, cbx_pareto_front(c->ctx, x.x, n, d, directions, front, NULL, NULL, &c->err)),
          cx_places_object(c, front, n))

/* ---- scaling ---- */

CX_COMPUTE(do_growth, cbx_growth, GROWTH, (double level; cx_samples sizes; cx_samples times),
           CX_GET(c, sizes, times) && cx_same_length(c, &sizes, &times) && CX_GET(c, level),
           cbx_scaling_growth(c->ctx, sizes.x, times.x, sizes.n, level, &out, &c->err))

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

CX_RETURN(do_changepoints, (cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT; size_t * index, n = 0; cx_samples x),
          CX_GET(c, x, o.method, o.cost, o.min_segment, o.penalty, o.window, o.alpha, o.permutations, o.seed) &&
              (index = cx_alloc(c, x.n, sizeof *index)) && cx_begin(c) &&
              cx_fine(c, cbx_changepoints_find(c->ctx, x.x, x.n, &o, index, &n, &c->err)),
          cx_wholes_object(index, n))

CX_RETURN(do_changes, (size_t min_segment, n = 0; cbx_change * out; cx_samples x),
          CX_GET(c, x, min_segment) && (out = cx_alloc(c, x.n, sizeof *out)) && cx_begin(c) &&
              cx_fine(c, cbx_changes_detect(c->ctx, x.x, x.n, min_segment, out, &n, &c->err)),
          cx_answer_list(c->st, CX_CHANGE, out, n))

CX_RETURN(do_confirm, (double level, threshold; cbx_interval change; cbx_verdict verdict; cx_samples before, after),
          CX_GET(c, before, after, level, threshold) && cx_begin(c) &&
              cx_fine(c, cbx_change_confirm(c->ctx, before.x, before.n, after.x, after.n, level, threshold, &verdict,
                                            &change, &c->err)),
          Py_BuildValue("(sN)", cbx_verdict_name(verdict), cx_answer_object(c->st, CX_INTERVAL, &change)))

CX_COMPUTE(do_noise, cbx_noise, NOISE, (cx_samples x), CX_GET(c, x),
           cbx_noise_estimate(c->ctx, x.x, x.n, &out, &c->err))

CX_RETURN(do_verdict, (double margin = CBX_VERDICT_MARGIN; cx_samples ratio),
          CX_GET(c, ratio, margin) &&
              (ratio.n == 4 || cx_refuse(c, "ratio", PyExc_ValueError, "an Interval: value, lower, upper, level",
                                         cx_arg(c, "ratio"))) &&
              (margin >= 0 || cx_refuse(c, "margin", PyExc_ValueError, "at least 0", cx_arg(c, "margin"))),
          PyUnicode_FromString(cbx_verdict_name(
              cbx_verdict_of_ratio(&(cbx_interval){ ratio.x[0], ratio.x[1], ratio.x[2], ratio.x[3] }, margin))))

/* ---- ChangeStream ---- */

CX_MADE(stream_make, CX_STREAM, cbx_changepoint_stream, (cbx_changepoint_opts opts = CBX_CHANGEPOINT_OPTS_INIT),
        CX_GET(c, opts.min_segment, opts.penalty), cbx_changepoint_stream_create(o->ctx, &opts, &handle, &c->err))

CX_RETURN(stream_changes, (cbx_changepoint_stream *s = cx_handle(c); size_t * index, n = 0),
          s && (index = cx_alloc(c, cbx_changepoint_stream_length(s), sizeof *index)),
          (cbx_changepoint_stream_changes(s, index, &n), cx_wholes_object(index, n)))
CX_DO(stream_append, cbx_changepoint_stream, (double x), (x),
      cx_none(c, cbx_changepoint_stream_append(self, x, &c->err)))
CX_DO(stream_length, cbx_changepoint_stream, (), (), PyLong_FromSize_t(cbx_changepoint_stream_length(self)))

/* clang-format off */
#define STREAM(X) \
    X(append, "x: float, /", "None", stream_append, 0, "Add a value.\n\n>>> s = analysis.ChangeStream()\n>>> s.append(1.0)") \
    X(changes, "/", "tuple[int, ...]", stream_changes, 0, "Index of the first value of each later segment.\n\n>>> s = analysis.ChangeStream()\n>>> s.changes()\n()") \
    X(length, "/", "int", stream_length, 0, "Number of values so far.\n\n>>> s = analysis.ChangeStream()\n>>> s.append(1.0)\n>>> s.length()\n1")
CX_OBJECT_TYPE(stream, stream, STREAM, "analysis", ChangeStream, "*, min_segment: int = 3, penalty: float | None = None", cbx_changepoint_stream_free,
    "Change points of the mean of a series that grows, a value at a time.")
/* clang-format on */

/* ---- comparison ---- */

static PyObject *row_object(cx_state *st, const cbx_comparison *cmp, size_t i)
{
    const cbx_comparison_row *row = cbx_comparison_row_at(cmp, i);
    cx_row_answer a = { row->key,     row->metric, row->unit, row->direction, row->cells, cbx_comparison_nlabels(cmp),
                        row->nmissing };

    return cx_answer_object(st, CX_ROW, &a);
}

static PyObject *comparison_object(cx_state *st, const cbx_comparison *cmp)
{
    return cx_record_new(
        st, CX_COMPARISON, "(NsNNN)",
        CX_TUPLE(cbx_comparison_nlabels(cmp), PyUnicode_FromString(cbx_comparison_label(cmp, i))),
        cbx_comparison_label(cmp, cbx_comparison_reference(cmp)),
        CX_TUPLE(cbx_comparison_nrows(cmp), row_object(st, cmp, i)),
        CX_TUPLE(cbx_comparison_nwinners(cmp), cx_answer_object(st, CX_WINNER, cbx_comparison_winner(cmp, i))),
        CX_TUPLE(cbx_comparison_nremarks(cmp), PyUnicode_FromString(cbx_comparison_remark(cmp, i, NULL))));
}

CBX_FREED_BY(cbx_comparison, cbx_comparison_free)

static PyObject *do_compare(cx_call *c)
{
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cx_texts labels, metrics;
    CBX_OWNED(cbx_comparison) *out = NULL;
    const cbx_run **runs;
    size_t n;

    if (!CX_GET(c, o.group_tag, o.reference, o.level, labels, metrics) || !(runs = cx_runs_arg(c, "runs", &n)))
        return NULL;
    if (labels.list && labels.n != n)
        return PyErr_Format(PyExc_ValueError, "compare: 'labels' must be one a run, got %zu for %zu runs", labels.n, n);
    o.metrics = metrics.list;
    o.nmetrics = metrics.n;
    return cx_begin(c) && cx_fine(c, cbx_comparison_create(c->ctx, runs, labels.list, n, &o, &out, &c->err))
               ? comparison_object(c->st, out)
               : NULL;
}

/* clang-format off */
#define ANALYSIS(X) \
    X(rank, "values: Samples, /, direction: 'higher' | 'lower' | 'info' = 'lower'", "tuple[Rank, ...]", do_rank, 0, "Ranks, best first; NaN is a missing value.\n\n>>> [r.index for r in analysis.rank([3.0, 1.0])]\n[1, 0]") \
    X(score, "values: Rows, directions: 'higher' | 'lower' | 'info' | Sequence[str], /, weights: Samples | None = None, kind: 'geometric' | 'min-max' = 'geometric'", "tuple[float, ...]", do_score, 0, "One score a competitor (a row of values) over metrics (columns); 'geometric' or 'min-max'.\n\n>>> [round(s, 3) for s in analysis.score([[1.0, 2.0], [2.0, 4.0]], 'lower')]\n[1.0, 0.5]") \
    X(rank_stability, "samples: Groups, /, direction: 'higher' | 'lower' | 'info' = 'lower', draws: int = 1000, seed: int = 1", "tuple[tuple[float, ...], ...]", do_rank_stability, 0, "How often each competitor has each rank when samples are drawn again.\n\n>>> analysis.rank_stability([[1.0, 1.1], [5.0, 5.1]])\n((1.0, 0.0), (0.0, 1.0))") \
    X(pareto, "points: Rows, directions: 'higher' | 'lower' | 'info' | Sequence[str], /", "tuple[int, ...]", do_pareto, 0, "Indices of the competitors (rows of points) on the Pareto front of their objectives (columns).\n\n>>> analysis.pareto([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0]], 'lower')\n(0, 1)") \
    X(growth, "sizes: Samples, times: Samples, /, level: float = 0.95", "Growth", do_growth, 0, "How a time grows with size, by model selection.\n\n>>> analysis.growth([1, 2, 4, 8, 16, 32], [3.0, 6.1, 11.9, 24.2, 48.0, 96.5]).order\n'O(n)'") \
    X(speedup, "workers: Samples, values: Samples, /, law: 'amdahl' | 'gustafson' | 'usl' = 'amdahl', level: float = 0.95", "SpeedupFit", do_speedup, 0, "Law of Amdahl (times), Gustafson or USL (throughputs), fitted.\n\n>>> round(analysis.speedup([1, 2, 4, 8], [10.0, 5.5, 3.2, 2.1]).parameter[0].value, 1)\n0.1") \
    X(changepoints, "x: Samples, /, method: 'pelt' | 'binary' | 'window' | 'e-divisive' = 'pelt', *, cost: 'mean' | 'normal' = 'mean', min_segment: int = 3, penalty: float | None = None, window: int = 0, alpha: float = 0.01, permutations: int = 199, seed: int = 1", "tuple[int, ...]", do_changepoints, 0, "Index of the first value of each later segment; 'pelt', 'binary', 'window', 'e-divisive'.\n\n>>> analysis.changepoints([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0, 12.1, 11.9])\n(6,)") \
    X(changes, "x: Samples, /, min_segment: int = 3", "tuple[Change, ...]", do_changes, 0, "Changes that the series itself supports.\n\n>>> [c.index for c in analysis.changes([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0, 12.1, 11.9])]\n[6]") \
    X(confirm, "before: Samples, after: Samples, /, level: float = 0.95, threshold: float = 0.05", "tuple[str, Interval]", do_confirm, 0, "A change by fresh samples of both sides: the verdict and the interval of the change.\n\n>>> analysis.confirm([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0], [9.0, 9.1, 8.9, 9.0, 9.1, 8.9, 9.0])[0]\n'faster'") \
    X(noise, "x: Samples, /", "Noise", do_noise, 0, "Noise of a series about a level that may change.\n\n>>> analysis.noise([10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0, 12.1, 11.9]).sigma < 0.5\nTrue") \
    X(verdict, "ratio: Sequence[float], /, margin: float = 0.02", "str", do_verdict, 0, "Verdict of an Interval of a ratio of times: 'faster', 'slower', 'equivalent', 'undecided'.\n\n>>> analysis.verdict((0.9, 0.88, 0.92, 0.95))\n'faster'") \
    X(compare, "runs: Sequence[Run], /, *, labels: str | Sequence[str] | None = None, group_tag: str | None = None, reference: str | None = None, metrics: str | Sequence[str] | None = None, level: float = 0.95", "Comparison", do_compare, 0, "Runs, or competitors by a tag, side by side.\n\n>>> r = [cx.Run([cx.Point('p', '', {}, {'t': v})], detect=False) for v in (1.0, 2.0)]\n>>> analysis.compare(r, labels=['a', 'b']).labels\n('a', 'b')")
/* clang-format on */
CX_FUNCTIONS(cx_analysis_methods, ANALYSIS, SLOW)
