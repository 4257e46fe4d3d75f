/* calibrax_c.profiling: time, memory, work and growth of Python callables; commands and functions
 * in processes of their own. */
#include <math.h>
#include <string.h>

#include "python/objects.h"

/* ---- time of a callable ---- */

typedef struct timed {
    cx_callback call, compile, sync;
    int waits; /* whether results are of a device and are waited for: -1 not known yet */
} timed;

static void run_call(void *user) { cx_callback_run(&((timed *)user)->call); }
static void run_compile(void *user) { cx_callback_run(&((timed *)user)->compile); }

/* What the last call gave may still be worked on: arrays of JAX have a method that waits. */
static void run_sync(void *user)
{
    timed *t = user;

    if (t->sync.function) {
        cx_callback_run(&t->sync);
        return;
    }
    if (t->call.type || !t->call.last || !t->waits) return;
    if (t->waits < 0) {
        t->waits = PyObject_HasAttrString(t->call.last, "block_until_ready");
        t->call.keep = t->waits;
    }
    if (!t->waits) return;
    CX_OWN PyObject *r = PyObject_CallMethod(t->call.last, "block_until_ready", NULL);
    if (!r) cx_callback_caught(&t->call);
}

/* True, with the exception raised, if one of the functions raised one. */
static bool timed_raised(timed *t)
{
    return cx_callback_done(&t->call) || cx_callback_done(&t->compile) || cx_callback_done(&t->sync);
}

static PyObject *do_time(cx_call *c)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    CX_ENDED_BY(cbx_call_timing_clear) cbx_call_timing out = { 0 };
    timed t = { .waits = -1, .call = { .keep = true } };
    cx_samples percentiles;
    cbx_status status;

    if (!CX_GET(c, o.warmup, o.samples, o.sample_s, o.calls, o.budget_s, o.level) || !CX_GET(c, percentiles) ||
        !CX_GET_AS(c, "function", t.call) || !CX_GET_AS(c, "compile", t.compile) || !CX_GET_AS(c, "sync", t.sync))
        return NULL;
    o.percentiles = percentiles.x;
    o.npercentiles = percentiles.n;
    o.compile = t.compile.function ? run_compile : NULL;
    o.sync = run_sync;
    c->elements = 0; /* the callable needs the interpreter's lock */
    if (!cx_begin(c)) return NULL;
    status = cbx_time_calls(c->ctx, run_call, &t, &o, &out, &c->err);
    return timed_raised(&t) ? NULL : cx_answer(c, status, CX_TIMING, &out);
}

CX_RETURN(do_memory, (cx_callback cb = { 0 }; cbx_memory_of_call out), CX_GET_AS(c, "function", cb) && cx_begin(c),
          cx_answer_called(c, &cb, cbx_memory_measure(c->ctx, cx_callback_run, &cb, &out, &c->err), CX_MEMORY, &out))

static PyObject *do_memory_pattern(cx_call *c)
{
    cbx_memory_reading *list;
    cbx_memory_pattern out;
    cx_samples used_mb, total_mb;

    if (!CX_GET(c, used_mb, total_mb)) return NULL;
    if (total_mb.x && total_mb.n != used_mb.n)
        return PyErr_Format(PyExc_ValueError, "memory_pattern: %zu totals for %zu readings", total_mb.n, used_mb.n);
    if (!(list = cx_alloc(c, used_mb.n, sizeof *list))) return NULL;
    for (size_t i = 0; i < used_mb.n; i++)
        list[i] = (cbx_memory_reading){ used_mb.x[i], total_mb.x ? total_mb.x[i] : NAN };
    return cx_answer(c, cbx_memory_pattern_of(list, used_mb.n, &out, &c->err), CX_MEMORY_PATTERN, &out);
}

static PyObject *do_flops(cx_call *c)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cx_callback cb = { 0 };
    cbx_flops out;

    o.declared_flop = o.declared_bytes = NAN;
    if (!CX_GET_AS(c, "function", cb) || !CX_GET(c, o.calls) || !CX_GET_AS(c, "flop", o.declared_flop) ||
        !CX_GET_AS(c, "bytes", o.declared_bytes) || !cx_begin(c))
        return NULL;
    o.has_declared = !isnan(o.declared_flop) || !isnan(o.declared_bytes);
    return cx_answer_called(c, &cb, cbx_flops_of_calls(c->ctx, cx_callback_run, &cb, &o, &out, &c->err), CX_FLOPS,
                            &out);
}

/* ---- batches ---- */

typedef struct pass {
    PyObject *iterator, *process, *count, *batch;
    cx_callback sync;
} pass;

static cbx_status pass_failed(pass *p, cbx_err *err)
{
    cx_callback_caught(&p->sync);
    return cbx_fail(err, CBX_ECHILD, "it raised an exception");
}

static cbx_status pass_next(void *user, void **batch, cbx_err *err)
{
    pass *p = user;

    cx_set(&p->batch, PyIter_Next(p->iterator));
    *batch = p->batch;
    return PyErr_Occurred() ? pass_failed(p, err) : CBX_OK;
}

static cbx_status pass_process(void *user, void *batch, cbx_err *err)
{
    CX_OWN PyObject *r = PyObject_CallFunctionObjArgs(((pass *)user)->process, (PyObject *)batch, NULL);
    return r ? CBX_OK : pass_failed(user, err);
}

static uint64_t pass_count(void *user, const void *batch)
{
    pass *p = user;
    CX_OWN PyObject *r = PyObject_CallFunctionObjArgs(p->count, (PyObject *)(uintptr_t)batch, NULL);
    uint64_t n = r ? PyLong_AsUnsignedLongLong(r) : 0;

    if (PyErr_Occurred()) {
        cx_callback_caught(&p->sync);
        n = 0;
    }
    return n;
}

static void pass_end(pass *p) { Py_XDECREF(p->batch); }
static void pass_sync(void *user) { cx_callback_run(&((pass *)user)->sync); }

static PyObject *do_batches(cx_call *c)
{
    cbx_batches_opts o = CBX_BATCHES_OPTS_INIT;
    CX_ENDED_BY(cbx_batches_timing_clear) cbx_batches_timing out = { 0 };
    CX_OWN PyObject *iterator = NULL;
    CX_ENDED_BY(pass_end) pass p = { 0 };
    cbx_batches b;

    if (!CX_GET(c, o.warmup, o.max_batches, o.level, p.process, p.count) || !CX_GET_AS(c, "sync", p.sync)) return NULL;
    p.iterator = iterator = PyObject_GetIter(cx_arg(c, "iterable"));
    b = (cbx_batches){ pass_next, p.process ? pass_process : NULL, p.count ? pass_count : NULL,
                       p.sync.function ? pass_sync : NULL, &p };
    if (!iterator || !cx_begin(c)) return NULL;
    return cx_answer_called(c, &p.sync, cbx_batches_time(c->ctx, &b, &o, &out, &c->err), CX_BATCHES, &out);
}

/* ---- growth ---- */

typedef struct sized {
    timed t; /* its call.function is what make gave for the size */
    PyObject *make;
} sized;

static cbx_status sized_setup(size_t size, void *user, void **state, cbx_err *err)
{
    sized *s = user;
    PyObject *made = s->t.call.type ? NULL : PyObject_CallFunction(s->make, "n", (Py_ssize_t)size);

    *state = s;
    if (made && !PyCallable_Check(made)) {
        PyErr_Format(PyExc_TypeError, "complexity: 'make' must return a callable, got %R", made);
        Py_CLEAR(made);
    }
    s->t.call.function = made;
    if (made) return CBX_OK;
    if (PyErr_Occurred()) cx_callback_caught(&s->t.call);
    return cbx_fail(err, CBX_ECHILD, "it raised an exception");
}

static void sized_teardown(void *state) { Py_CLEAR(((sized *)state)->t.call.function); }

static PyObject *do_complexity(cx_call *c)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    sized s = { .t = { .waits = 0 } };
    cbx_sized_call call = { sized_setup, run_call, sized_teardown, &s };
    cbx_complexity_point *points;
    cbx_complexity_report out;
    cbx_status status;
    size_t *each;
    cx_samples sizes;

    if (!CX_GET(c, s.make, sizes, o.samples, o.sample_s, o.budget_s) || !(each = cx_alloc(c, sizes.n, sizeof *each)) ||
        !(points = cx_alloc(c, sizes.n, sizeof *points)))
        return NULL;
    for (size_t k = 0; k < sizes.n; k++) each[k] = sizes.x[k] >= 1 && sizes.x[k] < 9e15 ? (size_t)sizes.x[k] : 0;
    c->elements = 0;
    if (!cx_begin(c)) return NULL;
    status = cbx_complexity_measure(c->ctx, &call, each, sizes.n, &o, points, &c->err);
    if (!status) status = cbx_complexity_of_measured(c->ctx, points, sizes.n, NULL, &out, &c->err);
    if (timed_raised(&s.t) || !cx_fine(c, status)) return NULL;
    return Py_BuildValue("(NN)", cx_answer_object(c->st, CX_COMPLEXITY, &out),
                         cx_answer_list(c->st, CX_COMPLEXITY_POINT, points, sizes.n));
}

CX_RETURN(do_complexity_of_points,
          (cbx_complexity_opts o = CBX_COMPLEXITY_OPTS_INIT; cbx_complexity_report out; cx_samples sizes, times),
          CX_GET(c, sizes, times) && cx_same_length(c, &sizes, &times) &&
              CX_GET(c, o.level, o.min_weight, o.min_span, o.max_error) && cx_begin(c),
          cx_answer(c, cbx_complexity_of_points(c->ctx, sizes.x, times.x, sizes.n, &o, &out, &c->err), CX_COMPLEXITY,
                    &out))

CX_RETURN(do_hlo, (const char *text = ""; cbx_hlo_report out), CX_GET(c, text) && cx_begin(c),
          cx_answer(c, cbx_hlo_read(c->ctx, text, strlen(text), "hlo", &out, &c->err), CX_HLO, &out))

/* clang-format off */
#define PROFILING(X) \
    X(time, "function: Callable[[], object], /, *, warmup: int = 3, samples: int = 30, sample_s: float = 0.001, calls: int = 0, budget_s: float = 10.0, level: float = 0.95, percentiles: Samples | None = None, compile: Callable[[], object] | None = None, sync: Callable[[], object] | None = None", "Timing", do_time, 0, "Time of a call without arguments: compile() and the first call apart, then samples of the steady state. Results of JAX are waited for, or sync() is.\n\n>>> profiling.time(lambda: None, samples=3).calls_per_sample > 0\nTrue") \
    X(memory, "function: Callable[[], object], /", "Memory", do_memory, 0, "Peak memory of one call, and the memory that it keeps.\n\n>>> profiling.memory(lambda: None).peak_mb > 0\nTrue") \
    X(memory_pattern, "used_mb: Samples, /, total_mb: Samples | None = None", "MemoryPattern", do_memory_pattern, 0, "Readings of memory over time: whether it grows or is nearly full.\n\n>>> profiling.memory_pattern([1.0, 2.0, 3.0]).peak_mb\n3.0") \
    X(flops, "function: Callable[[], object], /, calls: int = 1, *, flop: float | None = None, bytes: float | None = None", "Flops", do_flops, 0, "Work of a call by hardware counters, else as declared; with the source and why.\n\n>>> profiling.flops(lambda: None, flop=2.0).flop is not None\nTrue") \
    X(batches, "iterable: Iterable[Any], process: Callable[[Any], object] | None = None, /, *, count: Callable[[Any], int] | None = None, sync: Callable[[], object] | None = None, warmup: int = 0, max_batches: int | None = None, level: float = 0.95", "BatchTiming", do_batches, 0, "Time to iterate over batches, with the time of fetching apart from that of process(batch).\n\n>>> profiling.batches([[1], [2]], lambda batch: None).nbatches\n2") \
    X(complexity, "make: Callable[[int], Callable[[], object]], sizes: Sequence[int], /, *, samples: int = 30, sample_s: float = 0.001, budget_s: float = 10.0", "tuple[Complexity, tuple[ComplexityPoint, ...]]", do_complexity, 0, "How the time of a call grows with its size: make(size) returns what is timed. Returns (Complexity, points).\n\n>>> len(profiling.complexity(lambda n: lambda: None, [10, 20, 40, 80], samples=2, sample_s=0)[1])\n4") \
    X(complexity_of_points, "sizes: Samples, times: Samples, /, *, level: float = 0.95, min_weight: float = 0.9, min_span: float = 8.0, max_error: float = 0.25", "Complexity", do_complexity_of_points, 0, "As complexity, of points that were measured already.\n\n>>> profiling.complexity_of_points([1, 2, 4, 8, 16], [1.0, 2.0, 4.0, 8.0, 16.0]).npoints\n5") \
    X(hlo, "text: str, /", "Hlo", do_hlo, 0, "Summary of the module that XLA compiled, from its text.\n\n>>> text = 'HloModule m, is_scheduled=true\\n\\nENTRY %main (x: f32[8]) -> f32[8] {\\n  %x = f32[8]{0} parameter(0)\\n  ROOT %t = f32[8]{0} tanh(%x)\\n}\\n'\n>>> profiling.hlo(text).instructions\n2")
/* clang-format on */
CX_FUNCTIONS(cx_profiling_methods, PROFILING, LIGHT)
