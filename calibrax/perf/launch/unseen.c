/*
 * Work that is not in the calls that a worker reports: put off until the outputs are fetched, made
 * when the inputs arrive, or left out because the answers are remembered.
 *
 * The worker gets inputs that exist in no other launch.  All that it takes for them counts as one
 * call, by the clock and by CPU time of its whole process tree: `inputs` beyond what the bytes
 * account for, one call, and `outputs`.  A reading that is too long is made again, on inputs that
 * the oracle answers for it where those of the workload are used up, and beside each try a control:
 * the set that was sent last is sent again, in the same messages, and is known by then.  An honest
 * worker needs as long for either; what both have in common is the machine's, within a bound for
 * the bytes that were moved.  CPU time decides.  Where only the clock shows too much, the machine
 * may have held the worker up, and the launch is unsure; but CPU time of children can be hidden
 * from the kernel's account, so several readings that are all too long beside controls that are all
 * short decide as well.
 */
#include <math.h>
#include <stdio.h>

#include "calibrax/base/clock.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/profiling/procfs.h"

#define TRIES         2     /* repetitions of what a busy machine can spoil */
#define PROBE_TRIES   8     /* of single calls, which one preemption spoils; a suspect alone pays for them ... */
#define PROBE_LONG_NS 500e6 /* ... and not where a call is so long that what spoils one is lost in it */

#define OTHERS_S 20.0 /* of the oracle in a launch, for draws beside the workload's own, behind the first few */

#define AWAKE_MAX_NS 10e6 /* of a thread: OpenMP's wait awake for 4 to 15 ms by default */

/* What a single call on unseen inputs may take of what is reported for one, and a long one. */
#define CALL_SHARE      2.0
#define LONG_CALL_SHARE 1.5
#define LONG_CALL_NS    2e6
#define RESULT_SLACK_NS 0.5e6
#define RESULT_BYTE_NS  0.1
/* What caches that are cold to inputs and outputs account for, and pages that a single call is the
 * first to touch: 4 GB/s. */
#define COLD_BYTE_NS 0.25

#define FLAGRANT 2.0 /* times that */
/* readings on unseen inputs, and of controls: no machine holds up all of the former and none of
 * the latter */
#define SEPARATE 3

#define LATE_SLACK_NS 4e6 /* on a busy machine a worker loses its CPU where a long epoch ends ... */
#define LATE_CPU_NS   1e6 /* ... but uses no more of it */
/* What calls leave behind is paid for by whoever allocates next: glibc joins the chunks that they
 * freed (malloc_consolidate).  Up to 0.2 of an epoch of 2,500 calls of JAX; a call that is put off
 * meets the bound of single calls as well, which has no such part. */
#define LATE_SHARE 0.3

/* Time for `inputs`, of one message and the minimum of several.  Honest native workers use 0.02 to
 * 0.03 ms for each input and 0.3 ns a byte, NumPy 0.1 to 0.2 ms, JAX 0.25 ms for each, both 1 to 3
 * ns; a Python baseline may also arrange its inputs, as a graph library does that sorts edges. */
#define INPUTS_NS             0.1e6
#define INPUTS_MIN_NS         0.05e6
#define INPUTS_EACH_NS        0.05e6 /* for each input */
#define INPUTS_BYTE_NS        1.0
#define INPUTS_MORE_NS        0.05e6 /* than a set that is there already, and a nanosecond a byte */
#define INPUTS_PYTHON_NS      1e6
#define INPUTS_PYTHON_MIN_NS  0.3e6
#define INPUTS_COMPILED_NS    0.25e6 /* for each input, more: a framework that compiles puts them on a device of its own */
#define INPUTS_PYTHON_BYTE_NS 10.0

/* What the parent allows for writing outputs, whatever the worker takes: twice over where a
 * language copies first, 250 MB/s. */
#define OUTPUTS_MAX_NS  2e6
#define OUTPUTS_BYTE_NS 4.0

/* A call that is short beside what a single one may take for honest reasons is judged by several in
 * a row: a call of these may take three times what is reported, as its inputs are in no cache. */
#define SERIES_CLAIM_NS  1e6 /* longer ones are judged alone */
#define SERIES_MAX       12
#define SERIES_MIN       6
#define SERIES_BYTES     8e6 /* of all its inputs */
#define SERIES_ONE_IN    4   /* launches, after the first one: a worker learns too late which */
#define SERIES_SHARE     3.0
#define SERIES_SLACK_NS  10e3
#define SERIES_PYTHON_NS 50e3 /* more, for a result that becomes a NumPy array */

static const cbx__cost none = { INFINITY, INFINITY };

static cbx__cost smaller(cbx__cost a, cbx__cost b)
{
    return (cbx__cost){ fmin(a.wall_ns, b.wall_ns), fmin(a.cpu_ns, b.cpu_ns) };
}

static bool on_device(const cbx__run *x) { return strncmp(x->o.platform, "cuda", 4) == 0; }

/* --- messages --- */

bool cbx__run_can_rotate(const cbx__run *x)
{
    return x->w->c->rotate_inputs && x->w->c->rotate_output && x->o.epochs > 0;
}

/* [ns] What `inputs` may take.  @param several  the minimum of several messages is judged more
 * strictly than one */
static double allowed_inputs(const cbx__run *x, bool several)
{
    const double n = (double)x->w->c->ninputs;
    if (!x->o.interpreter)
        return (several ? INPUTS_MIN_NS : INPUTS_NS) + INPUTS_EACH_NS * n + INPUTS_BYTE_NS * x->w->set_bytes;
    return (several ? INPUTS_PYTHON_MIN_NS : INPUTS_PYTHON_NS) + INPUTS_PYTHON_BYTE_NS * x->w->set_bytes +
           (cbx__run_may_compile(x) ? INPUTS_COMPILED_NS * n : 0);
}

/* What an exchange took, waits for a CPU taken off.  Threads that wait awake for the next call use
 * CPU time and do nothing: what the other threads can have used meanwhile is not counted.  Work
 * that was put off to them still takes its time by the clock. */
static cbx__cost last_exchange(const cbx__run *x)
{
    double wall = fmax(0, (double)(x->t->received_ns - x->t->sent_ns) - cbx__waits_all(&x->t->waits));
    double cpu = x->t->waits.cpu_ns, awake = (x->o.threads - 1) * fmin(wall, AWAKE_MAX_NS);
    return (cbx__cost){ wall, fmax(cpu - awake, fmin(cpu, wall)) };
}

static bool send_held(cbx__run *x, const cbx__held *held, cbx__cost *took)
{
    x->t->phase = "inputs";
    if (!cbx__talk_ask(x->t, held->message, held->fds, held->nfds, "inputs", NULL)) return false;
    *took = last_exchange(x);
    if (x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid); /* what reading them took is not the baseline's */
    return true;
}

/* The held set, for a call: what its bytes do not account for belongs to the call. */
static bool send_for_call(cbx__run *x)
{
    double allowed = allowed_inputs(x, false);
    if (!send_held(x, &x->checker.held, &x->hidden)) return false;
    x->hidden = (cbx__cost){ fmax(0, x->hidden.wall_ns - allowed), fmax(0, x->hidden.cpu_ns - allowed) };
    return true;
}

static const cbx_workload *draw(cbx__run *x)
{
    const cbx_workload *w = x->w;
    return w->nfresh ? w->fresh[x->draws++ % w->nfresh] : w;
}

/* A rotation of a draw, neither of which a worker can foresee. */
static bool make_held(cbx__run *x, const cbx_workload *from, size_t set, cbx__held *out)
{
    uint64_t r = cbx_rng_below(&x->secret, UINT64_C(1) << 60) + 1024; /* the workload's own rotations are few */
    cbx__held_clear(out);
    cbx_status st = cbx__held_make(x->ctx, from, r, set, out, &x->err);
    return !st || cbx__run_broken(x, st);
}

static bool draws_are_used_up(const cbx__run *x) { return x->w->nfresh && x->draws >= x->w->nfresh; }

bool cbx__run_send_unseen(cbx__run *x)
{
    if (!cbx__run_can_rotate(x)) return true;
    cbx__run_look_at_peak(x);
    x->seen_before = draws_are_used_up(x);
    return make_held(x, draw(x), x->probe_set, &x->checker.held) && send_for_call(x);
}

/* The same with inputs made for it, once those of the workload are used up: a single reading is
 * spoilt by whatever the machine did at that moment.
 * @param sent  false: there are none, or the oracle took too long */
static bool send_another(cbx__run *x, bool *sent)
{
    const uint64_t start = cbx_clock_ns();
    const bool late = x->readings >= SEPARATE && x->others_s + x->w->oracle_s > OTHERS_S;
    cbx_workload *other = NULL;

    *sent = false;
    cbx_status st = late ? CBX_OK : cbx__workload_other(x->ctx, x->w, &x->seeds, &other, &x->err);
    x->others_s += 1e-9 * (double)(cbx_clock_ns() - start);
    if (st == CBX_EINTERRUPTED) return true; /* the next message ends the launch */
    if (st) return cbx__run_broken(x, st);
    if (!other) return true;
    cbx__run_look_at_peak(x);
    x->seen_before = false;
    *sent = true;
    bool ok = make_held(x, other, x->probe_set, &x->checker.held) && send_for_call(x);
    cbx_workload_free(other);
    return ok;
}

bool cbx__run_fetch_outputs(cbx__run *x, cbx__cost *out)
{
    if (!cbx__run_ask(x, "outputs", "{\"op\":\"outputs\"}\n", "outputs", NULL)) return false;
    *out = last_exchange(x);
    return true;
}

static cbx__cost allowed_writing(const cbx__run *x, cbx__cost again)
{
    double max = OUTPUTS_MAX_NS + OUTPUTS_BYTE_NS * x->output_bytes;
    return smaller(again, (cbx__cost){ max, max });
}

bool cbx__run_note_one_call(cbx__run *x, double outer, double cpu, cbx__cost *io)
{
    const cbx__cost outputs = x->outputs;
    const double empty = cbx__run_allowed_empty(x);
    cbx__cost again, writing;
    if (!cbx__run_fetch_outputs(x, &again)) return false;
    cbx__checker_poison(&x->checker);
    if (x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid);
    x->again = smaller(x->again, again);
    if (io == &x->unseen && x->seen_before) return true;
    writing = allowed_writing(x, again); /* of the same try: a busy machine is as slow in both */
    const cbx__cost whole = { outer + outputs.wall_ns - writing.wall_ns - empty + x->hidden.wall_ns,
                              cpu + outputs.cpu_ns - writing.cpu_ns - empty + x->hidden.cpu_ns };
    *io = io == &x->known ? (cbx__cost){ fmax(io->wall_ns, whole.wall_ns), fmax(io->cpu_ns, whole.cpu_ns) }
                          : smaller(*io, whole);
    *(io == &x->known ? &x->controls : &x->readings) += 1;
    return true;
}

bool cbx__run_probe_call(cbx__run *x, cbx__cost *io)
{
    double inner, outer, cpu;
    if (!cbx__run_epoch(x, x->probe_set, 1, &inner, &outer)) return false;
    outer = cbx__run_unhindered(x, outer);
    cpu = x->t->waits.cpu_ns;
    return cbx__run_check_outputs(x, x->probe_set) && cbx__run_note_one_call(x, outer, cpu, io);
}

/* --- judgement --- */

typedef enum verdict { HONEST, UNSURE, LAZY } verdict;

static verdict by_both(const cbx__run *x, verdict wall, verdict cpu)
{
    if (on_device(x) || !x->t->waits.known) return wall;
    return cpu == HONEST && wall != HONEST ? UNSURE : cpu;
}

/* [ns] CPU time of a call in the timed epochs. */
static double cpu_of_call(const cbx__run *x) { return x->cpu_ns / ((double)x->r->iterations * (double)x->r->epochs); }

/* [ns] What the worker reports for a call; on a busy machine its waits may hide all of it but the
 * CPU time. */
static double claim_of(const cbx__run *x) { return fmax(cbx__run_claim(x), cpu_of_call(x) / x->o.threads); }

static double result_slack(const cbx__run *x)
{
    /* a device's first copy of a result is paid once */
    return RESULT_SLACK_NS + (on_device(x) ? 0.5 : RESULT_BYTE_NS) * x->output_bytes;
}

/* A single call on new inputs finds caches and predictors cold; of a long one that is a small
 * part. */
static double call_share(const cbx__run *x, double claim)
{
    return !on_device(x) && claim >= LONG_CALL_NS ? LONG_CALL_SHARE : CALL_SHARE;
}

static bool is_suspect(const cbx__run *x, double claim)
{
    double share = call_share(x, claim), slack = result_slack(x);
    return x->unseen.wall_ns > share * claim + slack || x->unseen.cpu_ns > share * cpu_of_call(x) + slack;
}

/* Lazy is what takes longer than cold caches explain and than the control took at worst; or so long
 * that no machine explains it. */
static verdict judge_one(const cbx__run *x, double share, double whole, double control, double call)
{
    double slack = share * call + result_slack(x), cold = slack + COLD_BYTE_NS * (x->w->set_bytes + x->output_bytes);
    bool longer = whole - control > slack - call;
    if (!isfinite(whole) || whole <= slack) return HONEST;
    if (whole > FLAGRANT * cold || (longer && whole > cold)) return LAZY;
    return longer || whole > cold ? UNSURE : HONEST;
}

static verdict judge_call(const cbx__run *x, double claim)
{
    double share = call_share(x, claim);
    verdict wall = judge_one(x, share, x->unseen.wall_ns, x->known.wall_ns, claim);
    bool separate = wall == LAZY && x->readings >= SEPARATE && x->controls >= SEPARATE &&
                    x->known.wall_ns <= share * claim + result_slack(x);
    if (separate) return LAZY;
    return by_both(x, wall, judge_one(x, share, x->unseen.cpu_ns, x->known.cpu_ns, cpu_of_call(x)));
}

/* Work that is put off till the outputs are wanted, in epochs of many calls. */
static verdict judge_late(const cbx__run *x, double claim)
{
    const cbx__cost writing = allowed_writing(x, x->again);
    const double slack = result_slack(x), call = cpu_of_call(x), left = LATE_SHARE * (double)x->r->iterations;
    if (!isfinite(x->late.wall_ns)) return HONEST;
    return by_both(
        x, x->late.wall_ns - writing.wall_ns > claim + fmax(LATE_SLACK_NS, left * claim) + slack ? LAZY : HONEST,
        x->late.cpu_ns - writing.cpu_ns > call + fmax(LATE_CPU_NS, left * call) + slack ? LAZY : HONEST);
}

static verdict judge_series(const cbx__run *x, double claim)
{
    double slack = SERIES_SLACK_NS + (x->o.interpreter ? SERIES_PYTHON_NS : 0) +
                   COLD_BYTE_NS * (x->w->set_bytes + x->output_bytes);
    return by_both(x, x->series.wall_ns > SERIES_SHARE * claim + slack ? LAZY : HONEST,
                   x->series.cpu_ns > SERIES_SHARE * cpu_of_call(x) + slack ? LAZY : HONEST);
}

void cbx__run_judge_results(cbx__run *x)
{
    double claim = claim_of(x);
    const struct {
        verdict verdict;
        const char *what;
        cbx__cost cost;
    } all[] = { { judge_call(x, claim), "one call on unseen inputs", x->unseen },
                { judge_late(x, claim), "the outputs after a timed epoch", x->late },
                { judge_series(x, claim), "each call of a series on unseen inputs", x->series } };
    size_t worst = 0;
    for (size_t i = 1; i < CBX_LEN(all); i++)
        if (all[i].verdict > all[worst].verdict) worst = i;
    if (all[worst].verdict == HONEST) return;
    bool unsure = all[worst].verdict == UNSURE;
    x->r->contended = x->r->contended || unsure;
    cbx__talk_fail(
        x->t, unsure ? CBX_FAILURE_CONTENDED : CBX_FAILURE_LAZY_RESULT,
        "%s%s took %.4f ms to the result at best, and %.4f ms of CPU time; the worker reported %.4f ms a call and "
        "used %.4f ms",
        unsure ? "the machine is too busy to measure: " : "", all[worst].what, all[worst].cost.wall_ns * 1e-6,
        all[worst].cost.cpu_ns * 1e-6, claim * 1e-6, cpu_of_call(x) * 1e-6);
}

/* --- repetitions --- */

void cbx__run_forget_readings(cbx__run *x)
{
    x->late = x->again = none;
    if (!draws_are_used_up(x)) x->unseen = none, x->readings = 0;
    x->known = (cbx__cost){ 0, 0 };
    x->controls = 0;
}

bool cbx__run_probe_again(cbx__run *x)
{
    double claim = claim_of(x), inner, outer;
    int tries = claim < PROBE_LONG_NS ? PROBE_TRIES : TRIES;
    if (!cbx__run_can_rotate(x)) return true;
    for (int i = 0; i < tries && (is_suspect(x, claim) || judge_late(x, claim)); i++) {
        if (i && judge_call(x, claim) == HONEST && judge_late(x, claim) == HONEST) break;
        bool sent = true; /* what was sent once is unseen no more */
        if (!(draws_are_used_up(x) ? send_another(x, &sent) : cbx__run_send_unseen(x))) return false;
        if (sent && !cbx__run_probe_call(x, &x->unseen)) return false;
        if (!send_for_call(x) || !cbx__run_probe_call(x, &x->known)) return false;
        if (judge_late(x, claim) == HONEST) continue;
        if (!cbx__run_epoch(x, x->probe_set, x->r->iterations, &inner, &outer) ||
            !cbx__run_check_outputs(x, x->probe_set))
            return false;
        x->late = smaller(x->late, x->outputs);
    }
    return true;
}

static size_t first_of_series(const cbx__run *x)
{
    return x->probe_set + 1 > x->w->nsets ? x->probe_set + 1 : x->w->nsets;
}

/* Calls of a series; 0: none is made. */
static size_t series_length(cbx__run *x)
{
    size_t n = x->w->c->ninputs, capacity = n ? CBX__WIRE_FDS_MAX / n : 0, max = SERIES_MAX, first = first_of_series(x);
    if (on_device(x) || x->baseline->limit || x->o.cold || !cbx__run_can_rotate(x)) return 0;
    if (!(claim_of(x) < SERIES_CLAIM_NS)) return 0;
    if (x->o.iterations && cbx_rng_below(&x->secret, SERIES_ONE_IN) != 0) return 0;
    if (capacity < first + SERIES_MIN) return 0;
    if (capacity - first < max) max = capacity - first;
    if ((double)max * x->w->set_bytes > SERIES_BYTES) max = (size_t)(SERIES_BYTES / x->w->set_bytes);
    return max < SERIES_MIN ? 0 : SERIES_MIN + cbx_rng_below(&x->secret, max - SERIES_MIN + 1);
}

/* [ns] Of each of n messages `inputs`, what neither their bytes nor as many controls account
 * for. */
static double hidden_in_inputs(const cbx__run *x, const double *took, const double *control, size_t n)
{
    double shortest = INFINITY;
    for (size_t i = 0; i < n; i++) shortest = fmin(shortest, took[i]);
    double more = cbx__run_median(took, n) - cbx__run_median(control, n) - INPUTS_MORE_NS - x->w->set_bytes;
    return fmax(0, fmax(shortest - allowed_inputs(x, true), more));
}

/* Each set another rotation of one draw; what is sent last is what outputs are compared with, and,
 * sent again, the control.  All are made before the first is sent: a worker has no time between
 * them. */
static bool run_series(cbx__run *x, size_t n)
{
    char text[256];
    size_t len = (size_t)snprintf(text, sizeof text, "{\"op\":\"series\",\"sets\":["), first = first_of_series(x);
    const cbx_workload *from = draw(x);
    double empty = cbx__run_allowed_empty(x), walls[2][SERIES_MAX], cpus[2][SERIES_MAX];
    cbx__held held[SERIES_MAX] = { { .message = NULL } };
    cbx__cost one;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) ok = make_held(x, from, first + i, &held[i]);
    for (size_t i = 0; ok && i < 2 * n; i++) {
        ok = send_held(x, &held[i < n ? i : n - 1], &one);
        walls[i / n][i % n] = one.wall_ns;
        cpus[i / n][i % n] = one.cpu_ns;
        if (i < n) len += (size_t)snprintf(text + len, sizeof text - len, "%s%zu", i ? "," : "", first + i);
    }
    for (size_t i = 0; i + 1 < n; i++) cbx__held_clear(&held[i]);
    cbx__held_clear(&x->checker.held);
    x->checker.held = held[n - 1];
    snprintf(text + len, sizeof text - len, "]}\n");
    if (!ok || !cbx__run_ask(x, "epoch", text, "series", NULL)) return false;
    one = (cbx__cost){ cbx__run_unhindered(x, (double)(x->t->received_ns - x->t->sent_ns)), x->t->waits.cpu_ns };
    one = (cbx__cost){ (one.wall_ns - empty) / (double)n + hidden_in_inputs(x, walls[0], walls[1], n),
                       (one.cpu_ns - empty) / (double)n + hidden_in_inputs(x, cpus[0], cpus[1], n) };
    x->series = smaller(x->series, one);
    return cbx__run_check_outputs(x, first + n - 1);
}

bool cbx__run_series(cbx__run *x)
{
    size_t n = series_length(x);
    double peak = x->peak, claim = claim_of(x); /* the memory of these inputs is not the baseline's */
    if (n == 0) return true;
    x->series = none;
    for (int i = 0; i <= PROBE_TRIES && (i == 0 || judge_series(x, claim)); i++)
        if (!run_series(x, n)) return false;
    x->peak = peak;
    return true;
}
