/*
 * calibrax_c.ci: which commit made it slower.  bisect() searches a git history with commands; a Bisection is the search alone, for
 * benchmarks that are Python functions, or histories that are not git's.
 */
#include <math.h>
#include <string.h>

#include "python/things.h"

/* ---- answers ---- */

/* Exit status of an outcome, as the program's. */
static int exit_code_of(cbx_bisect_outcome outcome)
{
    if (outcome == CBX_BISECT_FOUND) return 0;
    return outcome == CBX_BISECT_RUNNING || outcome == CBX_BISECT_UNDECIDED ? 3 : 2;
}

typedef struct subjects {
    cbx_ctx *ctx;
    const char *repository;
    cbx_arena *arena;
    bool git;
} subjects;

static const char *subject_of(const subjects *s, const char *commit)
{
    const char *text = NULL;

    if (s->git) (void)cbx_bisect_subject(s->ctx, s->repository, commit, s->arena, &text, NULL);
    return text;
}

static cx_suspect_answer suspect_at(cbx_bisect *b, size_t commit, const subjects *s)
{
    const char *name = cbx_bisect_name(b, commit);

    return (cx_suspect_answer){ name, subject_of(s, name), cbx_bisect_reason(b, commit),
                                cbx_bisect_probability(b, commit), cbx_bisect_launches_at(b, commit) };
}

static PyObject *result_object(cx_state *st, cbx_bisect *b, const subjects *s)
{
    cx_suspect_answer *suspects;
    cx_bisect_answer a = { 0 };
    PyObject *r;

    cbx_bisect_read(b, &a.r);
    suspects = PyMem_Calloc(a.r.nsuspects + 1, sizeof *suspects);
    if (!suspects) return PyErr_NoMemory();
    for (size_t i = 0; i < a.r.nsuspects; i++) suspects[i] = suspect_at(b, a.r.suspects[i], s);
    a.exit_code = exit_code_of(a.r.outcome);
    a.good = cbx_bisect_name(b, CBX_BISECT_GOOD_END);
    a.bad = cbx_bisect_name(b, cbx_bisect_count(b) - 1);
    a.likeliest = a.r.nsuspects ? cbx_bisect_name(b, a.r.likeliest) : NULL;
    a.suspects = suspects;
    r = cx_answer_object(st, CX_BISECT_RESULT, &a);
    PyMem_Free(suspects);
    return r;
}

/* ---- commands over a git history ---- */

/* Called without the interpreter's lock: tells the listener, and sees whether somebody wants to stop. */
typedef struct told {
    cx_callback progress;
    cbx_stop_flag stop;
} told;

static void tell(void *user, const cbx_bisect_progress *p)
{
    static const char *const steps[] = { "build", "launch", "broken" };
    PyGILState_STATE state = PyGILState_Ensure();
    told *t = user;

    if (t->progress.function && !t->progress.type) {
        PyObject *r = PyObject_CallFunction(t->progress.function, "ssNNN", steps[p->step], p->commit,
                                            cx_number_or_none(p->value), cx_text_or_none(p->reason),
                                            cx_number_or_none(p->probability));
        if (!r) cx_callback_caught(&t->progress);
        Py_XDECREF(r);
    }
    if (!t->progress.type && PyErr_CheckSignals() < 0) cx_callback_caught(&t->progress);
    t->stop = t->progress.type != NULL;
    PyGILState_Release(state);
}

static const cx_option bisect_options[] = {
    CX_OPTION(0, TEXT, cbx_bisect_run_opts, good),
    CX_OPTION(1, TEXT, cbx_bisect_run_opts, bench),
    CX_OPTION(2, TEXT, cbx_bisect_run_opts, bad),
    CX_OPTION(3, TEXT, cbx_bisect_run_opts, build),
    CX_OPTION(4, TEXT, cbx_bisect_run_opts, metric),
    CX_OPTION(5, TEXT, cbx_bisect_run_opts, repository),
    CX_OPTION(6, FLAG, cbx_bisect_run_opts, paired),
    CX_OPTION(7, FLAG, cbx_bisect_run_opts, search.higher_is_better),
    CX_OPTION(8, FLAG, cbx_bisect_run_opts, search.any_change),
    CX_OPTION(9, NUMBER, cbx_bisect_run_opts, search.confidence),
    CX_OPTION(10, WHOLE, cbx_bisect_run_opts, search.end_launches),
    CX_OPTION(11, WHOLE, cbx_bisect_run_opts, search.max_launches),
    CX_OPTION(12, NUMBER, cbx_bisect_run_opts, bench_timeout_s),
    CX_OPTION(13, NUMBER, cbx_bisect_run_opts, build_timeout_s),
    CX_OPTION(14, WHOLE, cbx_bisect_run_opts, keep_builds),
    CX_OPTION(15, TEXT, cbx_bisect_run_opts, state_path),
    CX_OPTION(16, TEXT, cbx_bisect_run_opts, scratch),
    CX_OPTION(17, FLAG, cbx_bisect_run_opts, resume),
};

static PyObject *do_bisect(cx_call *c, cx_fn fn)
{
    cbx_bisect_run_opts o = CBX_BISECT_RUN_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect *b = NULL;
    PyObject *r = NULL;
    cbx_status status;
    cbx_arena arena;
    told t = { 0 };

    (void)fn;
    o.bad = "HEAD";
    if (!cx_options(c, bisect_options, CBX_LEN(bisect_options), &o) || !cx_callable_arg(c, 18, &t.progress.function))
        return NULL;
    o.progress = tell;
    o.user = &t;
    o.stop = &t.stop;
    c->elements = CX_UNLOCK_ELEMENTS; /* it waits for processes */
    if (!cx_begin(c)) return NULL;
    status = cbx_bisect_run(c->ctx, &o, &b, &err);
    cx_lock(c);
    cbx_arena_init(&arena, cbx_allocator_default());
    if (!cx_callback_done(&t.progress) && PyErr_CheckSignals() == 0 && cx_fine(c, status, &err))
        r = result_object(c->st, b, &(subjects){ c->ctx, o.repository, &arena, true });
    cbx_arena_clear(&arena);
    cbx_bisect_free(b);
    return r;
}

/* (commits, parents) of a graph: parents before children, the parents of each as a tuple of names. */
static PyObject *graph_object(const cbx_bisect_graph *g)
{
    PyObject *names = PyTuple_New((Py_ssize_t)g->ncommits), *parents = PyTuple_New((Py_ssize_t)g->ncommits);
    bool fine = names && parents;

    for (size_t i = 0; fine && i < g->ncommits; i++) {
        size_t n = g->first[i + 1] - g->first[i];
        PyObject *name = PyUnicode_FromString(g->names[i]), *list = PyTuple_New((Py_ssize_t)n);
        fine = name && list && PyTuple_SetItem(names, (Py_ssize_t)i, Py_NewRef(name)) == 0;
        for (size_t k = 0; fine && k < n; k++) {
            PyObject *p = Py_XNewRef(PyTuple_GetItem(names, (Py_ssize_t)g->parents[g->first[i] + k]));
            fine = p && PyTuple_SetItem(list, (Py_ssize_t)k, p) == 0;
        }
        fine = fine && PyTuple_SetItem(parents, (Py_ssize_t)i, Py_NewRef(list)) == 0;
        Py_XDECREF(name);
        Py_XDECREF(list);
    }
    if (fine) return Py_BuildValue("(NN)", names, parents);
    Py_XDECREF(names);
    Py_XDECREF(parents);
    return NULL;
}

static PyObject *do_history(cx_call *c, cx_fn fn)
{
    const char *good = "", *bad = "HEAD", *repository = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect_graph graph;
    PyObject *r = NULL;
    cbx_status status;
    cbx_arena arena;

    (void)fn;
    if (!cx_text_arg(c, 0, &good) || !cx_text_arg(c, 1, &bad) || !cx_text_arg(c, 2, &repository)) return NULL;
    c->elements = CX_UNLOCK_ELEMENTS;
    if (!cx_begin(c)) return NULL;
    cbx_arena_init(&arena, cbx_allocator_default());
    status = cbx_bisect_history(c->ctx, repository, good, bad, &arena, &graph, &err);
    if (cx_fine(c, status, &err)) r = graph_object(&graph);
    cbx_arena_clear(&arena);
    return r;
}

static PyObject *do_subject(cx_call *c, cx_fn fn)
{
    const char *commit = "", *repository = NULL, *text = "";
    cbx_err err = CBX_ERR_INIT;
    PyObject *r = NULL;
    cbx_status status;
    cbx_arena arena;

    (void)fn;
    if (!cx_text_arg(c, 0, &commit) || !cx_text_arg(c, 1, &repository)) return NULL;
    c->elements = CX_UNLOCK_ELEMENTS;
    if (!cx_begin(c)) return NULL;
    cbx_arena_init(&arena, cbx_allocator_default());
    status = cbx_bisect_subject(c->ctx, repository, commit, &arena, &text, &err);
    if (cx_fine(c, status, &err)) r = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    cbx_arena_clear(&arena);
    return r;
}

/* clang-format off */
#define CI(X) \
    X(bisect, "good, bench, /, bad='HEAD', *, build=None, metric=None, repository=None, paired=False, higher_is_better=False, any_change=False, confidence=0.95, end_launches=60, max_launches=1000, bench_timeout_s=3600.0, build_timeout_s=3600.0, keep_builds=16, state=None, scratch=None, resume=False, progress=None", do_bisect, 0, "The commit of a git history that made the command bench slower. build runs once in the worktree of each commit that is measured, bench for each value: seconds, or the last number behind metric in what it prints. progress(step, commit, value, reason, probability) is told of each 'build', 'launch' and 'broken'; an exception of it ends the search, and resume goes on.") \
    X(history, "good, bad='HEAD', repository=None, /", do_history, 0, "Commits of git that may be the first bad one, parents before children, and the parents of each: what a Bisection takes.") \
    X(subject, "commit, repository=None, /", do_subject, 0, "First line of a commit's message.")
/* clang-format on */
CX_FUNCTIONS(cx_bisection_methods, CI)

/* ---- Bisection ---- */

static void bisection_free(cx_thing *t) { cbx_bisect_free(t->handle); }

typedef struct making {
    cx_texts names;
    size_t *first, *parents, nparents;
    PyObject *places; /* number by name */
} making;

static void making_clear(making *m)
{
    cx_texts_free(&m->names);
    PyMem_Free(m->first);
    PyMem_Free(m->parents);
    Py_XDECREF(m->places);
}

static bool find_places(making *m)
{
    m->places = PyDict_New();
    for (size_t i = 0; m->places && i < m->names.n; i++) {
        PyObject *at = PyLong_FromSize_t(i);
        bool fine = at && PyDict_SetItem(m->places, PyTuple_GetItem(m->names.tuple, (Py_ssize_t)i), at) == 0;
        Py_XDECREF(at);
        if (!fine) return false;
    }
    return m->places != NULL;
}

/* The parents of commit i: those that are no candidates lie on the good side. */
static bool add_parents(making *m, size_t i, PyObject *given)
{
    PyObject *list = PyUnicode_Check(given) ? PyTuple_Pack(1, given) : PySequence_Tuple(given);
    size_t n = list ? (size_t)PyTuple_Size(list) : 0, *more;

    m->first[i] = m->nparents;
    more = list ? PyMem_Realloc(m->parents, (m->nparents + n + 1) * sizeof *more) : NULL;
    if (list && !more) PyErr_NoMemory();
    if (more) m->parents = more;
    for (size_t k = 0; more && k < n; k++) {
        PyObject *at = PyDict_GetItemWithError(m->places, PyTuple_GetItem(list, (Py_ssize_t)k));
        if (at) m->parents[m->nparents++] = PyLong_AsSize_t(at);
        if (PyErr_Occurred()) break;
    }
    Py_XDECREF(list);
    return !PyErr_Occurred();
}

static bool read_parents(cx_call *c, int i, making *m)
{
    PyObject *list;

    if (!c->arg[i] || c->arg[i] == Py_None) return true;
    list = PySequence_Tuple(c->arg[i]);
    if (!list || !find_places(m)) goto done;
    m->first = PyMem_Calloc(m->names.n + 1, sizeof *m->first);
    if (!m->first) PyErr_NoMemory();
    if (m->first && (size_t)PyTuple_Size(list) != m->names.n)
        PyErr_Format(PyExc_ValueError, "Bisection: %zd lists of parents for %zu commits", PyTuple_Size(list),
                     m->names.n);
    for (size_t k = 0; !PyErr_Occurred() && k < m->names.n; k++)
        if (!add_parents(m, k, PyTuple_GetItem(list, (Py_ssize_t)k))) break;
    if (!PyErr_Occurred()) m->first[m->names.n] = m->nparents;
done:
    Py_XDECREF(list);
    return !PyErr_Occurred();
}

static PyObject *bisection_make(cx_call *c, cx_fn fn)
{
    static const cx_option options[] = {
        CX_OPTION(3, NUMBER, cbx_bisect_opts, confidence),     CX_OPTION(4, WHOLE, cbx_bisect_opts, end_launches),
        CX_OPTION(5, WHOLE, cbx_bisect_opts, max_launches),    CX_OPTION(6, NUMBER, cbx_bisect_opts, build_launches),
        CX_OPTION(7, FLAG, cbx_bisect_opts, higher_is_better), CX_OPTION(8, FLAG, cbx_bisect_opts, any_change),
        CX_OPTION(9, TEXT, cbx_bisect_opts, identity)
    };
    cbx_bisect_opts o = CBX_BISECT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    const char *good = "";
    making m = { 0 };
    PyObject *r = NULL;
    cx_thing *t;

    (void)fn;
    if (cx_text_arg(c, 0, &good) && cx_texts_arg(c, 1, &m.names) && read_parents(c, 2, &m) &&
        cx_options(c, options, CBX_LEN(options), &o) && (t = cx_thing_new(c->st, CX_BISECTION))) {
        cbx_bisect_graph graph = { m.names.n, good, m.names.list, m.first, m.parents };
        cbx_bisect *b = NULL;
        cbx_status status = cbx_bisect_create(t->ctx, &graph, &o, &b, &err);
        t->handle = b;
        r = cx_thing_made(t, status, &err);
    }
    making_clear(&m);
    return r;
}

/* A candidate, or the good end, by its name. */
static bool commit_arg(cx_call *c, const cbx_bisect *b, int i, size_t *out)
{
    const char *name = "";

    if (!cx_text_arg(c, i, &name)) return false;
    if (cbx_bisect_find(b, name, out)) return true;
    PyErr_Format(PyExc_KeyError, "%s: no commit of this search is called '%s'", c->name, name);
    return false;
}

static PyObject *bisection_next(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    size_t commit;

    (void)fn;
    if (!t) return NULL;
    if (cbx_bisect_next(t->handle, &commit) != CBX_BISECT_RUNNING) Py_RETURN_NONE;
    return PyUnicode_FromString(cbx_bisect_name(t->handle, commit));
}

static PyObject *bisection_observe(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_err err = CBX_ERR_INIT;
    size_t commit = 0;
    double value = 0;

    (void)fn;
    if (!t || !commit_arg(c, t->handle, 0, &commit) || !cx_double_arg(c, 1, &value)) return NULL;
    if (!cx_fine(c, cbx_bisect_observe(t->handle, commit, value, &err), &err)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *bisection_broken(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_err err = CBX_ERR_INIT;
    const char *reason = NULL;
    size_t commit = 0;

    (void)fn;
    if (!t || !commit_arg(c, t->handle, 0, &commit) || !cx_text_arg(c, 1, &reason)) return NULL;
    if (!cx_fine(c, cbx_bisect_broken(t->handle, commit, reason, &err), &err)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *bisection_result(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    (void)fn;
    return t ? result_object(c->st, t->handle, &(subjects){ 0 }) : NULL;
}

static PyObject *bisection_posterior(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    PyObject *dict = t ? PyDict_New() : NULL;

    (void)fn;
    for (size_t i = 0; dict && i < cbx_bisect_count(t->handle); i++) {
        PyObject *p = cx_number_or_none(cbx_bisect_probability(t->handle, i));
        if (!p || PyDict_SetItemString(dict, cbx_bisect_name(t->handle, i), p) < 0) Py_CLEAR(dict);
        Py_XDECREF(p);
    }
    return dict;
}

static PyObject *bisection_state(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);

    (void)fn;
    return t ? cx_json_answer(cbx_bisect_state(t->handle)) : NULL;
}

static PyObject *bisection_restore(cx_call *c, cx_fn fn)
{
    cx_thing *t = cx_thing_self(c);
    cbx_json *json = t ? cx_json_from(c->arg[0], "state", NULL) : NULL;
    cbx_err err = CBX_ERR_INIT;
    bool fine;

    (void)fn;
    if (!json) {
        if (t && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "restore takes what state() gave, not None");
        return NULL;
    }
    fine = cx_fine(c, cbx_bisect_restore(t->handle, json, "state", &err), &err);
    cbx_json_unref(json);
    if (!fine) return NULL;
    Py_RETURN_NONE;
}

/* ---- Python functions that build and measure ---- */

/* 1: built, or it was before; 0: it cannot be; -1 with an exception. */
static int build(PyObject *function, PyObject *built, PyObject *name)
{
    int known = PySet_Contains(built, name), yes;
    PyObject *r;

    if (known || !function) return known < 0 ? -1 : 1;
    r = PyObject_CallFunctionObjArgs(function, name, NULL);
    yes = !r ? -1 : r == Py_None ? 1 : PyObject_IsTrue(r);
    Py_XDECREF(r);
    return yes > 0 && PySet_Add(built, name) < 0 ? -1 : yes;
}

/* One value of a commit, or that it has none; false with an exception. */
static bool measure(cx_call *c, cbx_bisect *b, size_t commit, PyObject *name, PyObject *bench)
{
    PyObject *r = PyObject_CallFunctionObjArgs(bench, name, NULL);
    cbx_err err = CBX_ERR_INIT;
    cbx_status status;
    double value;

    if (!r) return false;
    if (r == Py_None) {
        status = cbx_bisect_broken(b, commit, "the benchmark gave no value", &err);
    } else {
        value = PyFloat_AsDouble(r);
        status = PyErr_Occurred() ? CBX_EINVAL : cbx_bisect_observe(b, commit, value, &err);
    }
    Py_DECREF(r);
    return cx_fine(c, status, &err);
}

static bool step(cx_call *c, cbx_bisect *b, size_t commit, PyObject *bench, PyObject *make, PyObject *built)
{
    PyObject *name = PyUnicode_FromString(cbx_bisect_name(b, commit));
    int there = name ? build(make, built, name) : -1;
    cbx_err err = CBX_ERR_INIT;
    bool fine = there >= 0;

    if (there == 0)
        fine = cx_fine(c, cbx_bisect_broken(b, commit, "it cannot be built", &err), &err);
    else if (there > 0)
        fine = measure(c, b, commit, name, bench);
    Py_XDECREF(name);
    return fine;
}

static PyObject *bisection_run(cx_call *c, cx_fn fn)
{
    PyObject *bench = NULL, *make = NULL, *built = NULL, *r = NULL;
    cx_thing *t = cx_thing_self(c);
    bool fine;
    size_t commit;

    (void)fn;
    if (!t || !cx_callable_arg(c, 0, &bench) || !cx_callable_arg(c, 1, &make)) return NULL;
    if (!bench) return PyErr_Format(PyExc_TypeError, "run: 'bench' has to be callable, not None");
    built = PySet_New(NULL);
    fine = built != NULL;
    t->busy = true; /* the functions must not drive the same search */
    while (fine && cbx_bisect_next(t->handle, &commit) == CBX_BISECT_RUNNING)
        fine = PyErr_CheckSignals() == 0 && step(c, t->handle, commit, bench, make, built);
    t->busy = false;
    if (fine) r = result_object(c->st, t->handle, &(subjects){ 0 });
    Py_XDECREF(built);
    return r;
}

/* clang-format off */
#define BISECTION(X) \
    X(next, "/", bisection_next, 0, "The commit whose next value tells most; None: the search has ended.") \
    X(observe, "commit, value, /", bisection_observe, 0, "A value of a commit, asked for or not.") \
    X(broken, "commit, reason=None, /", bisection_broken, 0, "It cannot be measured: it is not asked for again.") \
    X(run, "bench, build=None", bisection_run, 0, "Searches to the end: bench(commit) gives a value, or None if the commit cannot be measured; build(commit) is called once before, and gives False if it fails. What they raise is raised here, and another run() goes on.") \
    X(result, "/", bisection_result, 0, "Where the search stands.") \
    X(posterior, "/", bisection_posterior, 0, "Probability of each commit to be the first bad one, by name; None before both ends have values.") \
    X(state, "/", bisection_state, 0, "All that was seen, as a dict for JSON.") \
    X(restore, "state, /", bisection_restore, 0, "Takes in what state() of a search of the same ends gave.")
/* clang-format on */
CX_TYPE_FUNCTIONS(bisection_methods, BISECTION)

#define BISECTION_SIGNATURE                                                                                            \
    "good, commits, parents=None, *, confidence=0.95, end_launches=60, max_launches=1000, build_launches=0.0, "        \
    "higher_is_better=False, any_change=False, identity=None"

const cx_thing_type cx_bisection_thing = {
    "calibrax_c.ci.Bisection",
    "Bisection(" BISECTION_SIGNATURE ")\n--\n\n"
    "A search for the first bad commit under noise: good is the good end, commits the candidates, parents before "
    "children, the last one bad. parents: names of the parents of each, where history is no line; history() gives "
    "both.",
    bisection_free,
    bisection_methods,
    { "Bisection", BISECTION_SIGNATURE, bisection_make, 0 },
};
