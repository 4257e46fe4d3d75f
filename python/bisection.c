/*
 * calibrax_c.ci: which commit made it slower.  bisect() searches a git history with commands; a
 * Bisection is the search alone, for benchmarks that are Python functions, or histories that are
 * not git's.
 */
#include <string.h>

#include "python/objects.h"

/* ---- answers ---- */

/* Exit status of an outcome, as the program's. */
static int exit_code_of(cbx_bisect_outcome outcome)
{
    if (outcome == CBX_BISECT_FOUND) return 0;
    return outcome == CBX_BISECT_RUNNING || outcome == CBX_BISECT_UNDECIDED ? 3 : 2;
}

/* repository: of git, for the subjects of commits; NULL: not of git. */
static PyObject *result_object(cx_call *c, cbx_bisect *b, const char *const *repository)
{
    cx_suspect_answer *suspects;
    cx_bisect_answer a = { 0 };

    cbx_bisect_read(b, &a.r);
    if (!(suspects = cx_alloc(c, a.r.nsuspects, sizeof *suspects))) return NULL;
    for (size_t i = 0; i < a.r.nsuspects; i++) {
        const size_t at = a.r.suspects[i];
        cx_suspect_answer *s = &suspects[i];
        *s = (cx_suspect_answer){ cbx_bisect_name(b, at), NULL, cbx_bisect_reason(b, at), cbx_bisect_probability(b, at),
                                  cbx_bisect_launches_at(b, at) };
        if (repository) (void)cbx_bisect_subject(c->ctx, *repository, s->commit, cx_arena(c), &s->subject, NULL);
    }
    a.exit_code = exit_code_of(a.r.outcome);
    a.good = cbx_bisect_name(b, CBX_BISECT_GOOD_END);
    a.bad = cbx_bisect_name(b, cbx_bisect_count(b) - 1);
    a.likeliest = a.r.nsuspects ? cbx_bisect_name(b, a.r.likeliest) : NULL;
    a.suspects = suspects;
    return cx_answer_object(c->st, CX_BISECT_RESULT, &a);
}

/* ---- commands over a git history ---- */

/* Called without the interpreter's lock. */
typedef struct listener {
    cx_callback progress;
    cbx_stop_flag *stop;
} listener;

static void report_progress(void *user, const cbx_bisect_progress *p)
{
    static const char *const steps[] = { "build", "launch", "broken" };
    PyGILState_STATE state = PyGILState_Ensure();
    listener *t = user;

    if (t->progress.function && !t->progress.type) {
        CX_OWN PyObject *r = PyObject_CallFunction(t->progress.function, "ssNNN", steps[p->step], p->commit,
                                                   cx_number_or_none(p->value), cx_text_or_none(p->reason),
                                                   cx_number_or_none(p->probability));
        if (!r) cx_callback_caught(&t->progress);
    }
    if (t->progress.type) *t->stop = 1;
    PyGILState_Release(state);
}

CBX_FREED_BY(cbx_bisect, cbx_bisect_free)

static PyObject *do_bisect(cx_call *c)
{
    cbx_bisect_run_opts o = CBX_BISECT_RUN_OPTS_INIT;
    CBX_OWNED(cbx_bisect) *b = NULL;
    cbx_status status;
    listener t = { .stop = c->stop };

    o.bad = "HEAD";
    if (!CX_GET(c, o.good, o.bench, o.bad, o.build, o.metric, o.repository, o.paired, o.search.higher_is_better,
                o.search.any_change, o.search.confidence, o.search.end_launches, o.search.max_launches,
                o.bench_timeout_s, o.build_timeout_s, o.keep_builds, o.scratch, o.resume) ||
        !CX_GET_AS(c, "state", o.state_path) || !CX_GET_AS(c, "progress", t.progress))
        return NULL;
    o.progress = report_progress;
    o.user = &t;
    o.stop = c->stop;
    if (!cx_begin_long(c)) return NULL; /* it waits for processes */
    status = cbx_bisect_run(c->ctx, &o, &b, &c->err);
    cx_lock(c);
    return !cx_callback_done(&t.progress) && cx_fine(c, status) ? result_object(c, b, &o.repository) : NULL;
}

CX_RETURN(do_history, (const char *good, *bad = "HEAD", *repository = NULL; cbx_bisect_graph g),
          CX_GET(c, good, bad, repository) && cx_begin_long(c) &&
              cx_fine(c, cbx_bisect_history(c->ctx, repository, good, bad, cx_arena(c), &g, &c->err)),
          cx_python("_values", "graph_of", "NNN", CX_TUPLE(g.ncommits, PyUnicode_FromString(g.names[i])),
                    cx_wholes_object(g.first, g.ncommits + 1), cx_wholes_object(g.parents, g.first[g.ncommits])))

CX_RETURN(do_subject, (const char *commit, *repository = NULL, *text = ""),
          CX_GET(c, commit, repository) && cx_begin_long(c) &&
              cx_fine(c, cbx_bisect_subject(c->ctx, repository, commit, cx_arena(c), &text, &c->err)),
          PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"))

/* clang-format off */
#define CI(X) \
    X(bisect, "good: str, bench: str, /, bad: str = 'HEAD', *, build: str | None = None, metric: str | None = None, repository: str | None = None, paired: bool = False, higher_is_better: bool = False, any_change: bool = False, confidence: float = 0.95, end_launches: int = 60, max_launches: int = 1000, bench_timeout_s: float = 3600.0, build_timeout_s: float = 3600.0, keep_builds: int = 16, state: str | None = None, scratch: str | None = None, resume: bool = False, progress: Callable[[str, str, float | None, str | None, float | None], object] | None = None", "BisectResult", do_bisect, 0, "The commit of a git history that made the command bench slower. build runs once in the worktree of each commit that is measured, bench for each value: seconds, or the last number behind metric in what it prints. progress(step, commit, value, reason, probability) is called at each 'build', 'launch' and 'broken'; an exception of it ends the search, and resume goes on.\n\n>>> ci.bisect('v1.2', './bench', build='make')  # doctest: +SKIP") \
    X(history, "good: str, bad: str = 'HEAD', repository: str | None = None, /", "tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]", do_history, 0, "Git commits that may be the first bad one, parents before children, and the parents of each; the input of a Bisection.\n\n>>> ci.history('v1.2')  # doctest: +SKIP") \
    X(subject, "commit: str, repository: str | None = None, /", "str", do_subject, 0, "First line of a commit's message.\n\n>>> ci.subject('HEAD')  # doctest: +SKIP")
/* clang-format on */
CX_FUNCTIONS(cx_bisection_methods, CI, WAITS)

/* ---- Bisection ---- */

/* Of the argument parents: where each commit's begin, and the parents themselves; they end with
 * the call. */
static bool read_parents(cx_call *c, const cx_texts *names, cbx_bisect_graph *graph)
{
    PyObject *given = cx_arg(c, "parents"), *lists;
    size_t *first, *parents, total = 0;
    cx_groups g;

    if (!given) return true;
    lists = cx_python("_values", "parents_of", "OO", names->tuple, given);
    if (!cx_keep_object(c, lists) || !cx_read_groups(c, "parents", lists, &g)) return false;
    for (size_t k = 0; k < g.n; k++) total += g.sizes[k];
    graph->first = first = cx_alloc(c, g.n + 1, sizeof *first);
    graph->parents = parents = cx_alloc(c, total, sizeof *parents);
    for (size_t k = 0; first && k < g.n; k++) first[k + 1] = first[k] + g.sizes[k];
    for (size_t i = 0; parents && i < total; i++) parents[i] = (size_t)g.x[i];
    return first && parents;
}

CX_MADE(bisection_make, CX_BISECTION, cbx_bisect,
        (cbx_bisect_opts opts = CBX_BISECT_OPTS_INIT; cbx_bisect_graph graph = { 0 }; const char *good = "";
         cx_texts commits),
        CX_GET(c, good, commits) && read_parents(c, &commits, &graph) &&
            CX_GET(c, opts.confidence, opts.end_launches, opts.max_launches, opts.build_launches, opts.higher_is_better,
                   opts.any_change, opts.identity),
        (graph.good = good, graph.names = commits.list, graph.ncommits = commits.n,
         cbx_bisect_create(o->ctx, &graph, &opts, &handle, &c->err)))

/* A candidate, or the good end, by its name. */
static bool commit_arg(cx_call *c, const cbx_bisect *b, size_t *out)
{
    const char *name = "";

    if (!CX_GET_AS(c, "commit", name)) return false;
    if (cbx_bisect_find(b, name, out)) return true;
    return cx_refused(PyExc_KeyError, "%s: no commit of this search is called '%s'", c->name, name);
}

CX_DO(bisection_next, cbx_bisect, (size_t commit), (),
      cx_text_or_none(cbx_bisect_next(self, &commit) == CBX_BISECT_RUNNING ? cbx_bisect_name(self, commit) : NULL))

CX_RETURN(bisection_observe, (cbx_bisect *b = cx_handle(c); size_t commit; double value),
          b != NULL && commit_arg(c, b, &commit) && CX_GET(c, value),
          cx_none(c, cbx_bisect_observe(b, commit, value, &c->err)))

CX_RETURN(bisection_broken, (cbx_bisect *b = cx_handle(c); const char *reason = NULL; size_t commit),
          b != NULL && commit_arg(c, b, &commit) && CX_GET(c, reason),
          cx_none(c, cbx_bisect_broken(b, commit, reason, &c->err)))

CX_DO(bisection_result, cbx_bisect, (), (), result_object(c, self, NULL))

CX_DO(bisection_posterior, cbx_bisect, (), (),
      CX_DICT(cbx_bisect_count(self), cbx_bisect_name(self, i), cx_number_or_none(cbx_bisect_probability(self, i))))

CX_DO(bisection_state, cbx_bisect, (), (), cx_json_answer(cbx_bisect_state(self)))

CX_RETURN(bisection_restore,
          (cbx_bisect *b = cx_handle(c);
           CX_OWN_JSON cbx_json *json = b ? cx_json_from(cx_arg(c, "state"), "state") : NULL),
          b != NULL && (json || (!PyErr_Occurred() &&
                                 cx_refused(PyExc_TypeError,
                                            "restore: 'state' must be a dict as state() returns it, got None"))),
          cx_none(c, cbx_bisect_restore(b, json, "state", &c->err)))

/* ---- Python functions that build and measure ---- */

static bool step(cx_call *c, cbx_bisect *b, size_t commit, PyObject *bench, PyObject *build, PyObject *built)
{
    CX_OWN PyObject *r = cx_python("_values", "measure", "sOOO", cbx_bisect_name(b, commit), bench,
                                   build ? build : Py_None, built);
    const char *reason = NULL;
    PyObject *value;
    bool fine = r && PyArg_ParseTuple(r, "Oz", &value, &reason);
    double v = fine && !reason ? PyFloat_AsDouble(value) : 0;

    if (!fine || PyErr_Occurred()) return false;
    return cx_fine(c,
                   reason ? cbx_bisect_broken(b, commit, reason, &c->err) : cbx_bisect_observe(b, commit, v, &c->err));
}

static PyObject *bisection_run(cx_call *c)
{
    PyObject *bench = NULL, *build = NULL, *built = NULL;
    cx_object *t = cx_object_self(c);
    bool fine;
    size_t commit;

    if (!t || !CX_GET(c, bench, build) || !cx_keep_object(c, built = PySet_New(NULL))) return NULL;
    t->busy = fine = true; /* the functions must not drive the same search */
    while (fine && cbx_bisect_next(t->handle, &commit) == CBX_BISECT_RUNNING)
        fine = PyErr_CheckSignals() == 0 && step(c, t->handle, commit, bench, build, built);
    t->busy = false;
    return fine ? result_object(c, t->handle, NULL) : NULL;
}

/* clang-format off */
#define BISECTION(X) \
    X(next, "/", "str | None", bisection_next, 0, "The commit whose next value is the most informative; None: the search has ended.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.next()\n'v1'") \
    X(observe, "commit: str, value: float, /", "None", bisection_observe, 0, "Record a value of a commit.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.observe('v1', 1.0)") \
    X(broken, "commit: str, reason: str | None = None, /", "None", bisection_broken, 0, "Record that a commit cannot be measured.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.broken('c1', 'no compiler')") \
    X(run, "bench: Callable[[str], float | None], build: Callable[[str], object] | None = None", "BisectResult", bisection_run, 0, "Searches to the end: bench(commit) gives a value, or None if the commit cannot be measured; build(commit) is called once before, and gives False if it fails. What they raise is raised here, and another run() goes on.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.run(lambda commit: 1.0 + (commit >= 'c2' if commit != 'v1' else 0)).likeliest\n'c2'") \
    X(result, "/", "BisectResult", bisection_result, 0, "The present state of the search.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.result().outcome\n'running'") \
    X(posterior, "/", "dict[str, float | None]", bisection_posterior, 0, "Probability of each commit to be the first bad one, by name; None before both ends have values.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> sorted(b.posterior())\n['c1', 'c2', 'c3']") \
    X(state, "/", "dict[str, Any]", bisection_state, 0, "All observations, as a dict for JSON.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.state()['schema'] != '' if 'schema' in b.state() else True\nTrue") \
    X(restore, "state: Mapping[str, Any], /", "None", bisection_restore, 0, "Add the observations of state() of a search with the same ends.\n\n>>> b = ci.Bisection('v1', ['c1', 'c2', 'c3'])\n>>> b.restore(b.state())")
/* clang-format on */

#define BISECTION_SIGNATURE                                                                                            \
    "good: str, commits: Sequence[str], parents: Sequence[str | Sequence[str]] | None = None, *, "                     \
    "confidence: float = 0.95, end_launches: int = 60, max_launches: int = 1000, build_launches: float = 0.0, "        \
    "higher_is_better: bool = False, any_change: bool = False, identity: str | None = None"

/* clang-format off */
CX_OBJECT_TYPE(bisection, bisection, BISECTION, "ci", Bisection, BISECTION_SIGNATURE, cbx_bisect_free,
    "A search for the first bad commit under noise: good is the good end, commits the candidates, parents before children, the last one bad. parents: names of the parents of each, where history is no line; history() gives both.")
/* clang-format on */
