/*
 * A call on inputs that no other launch has seen, timed from outside together with the outputs it owes: a worker that computes only when it is asked
 * for the outputs, or that has answered from memory so far, needs more time for it than it claims for a call.
 */
#include <math.h>
#include <stdio.h>

#include "calibrax/perf/launch/launch_internal.h"
#include "calibrax/profiling/procfs.h"

#define TRIES         2    /* repetitions of what a busy machine can spoil */
#define PROBE_TRIES   8    /* of single calls, which one preemption spoils; a suspect alone pays for them ... */
#define PROBE_LONG_NS 50e6 /* ... and not where a call is so long that a preemption is lost in it */

/* A call that is short beside what a single one may take for honest reasons is judged by several in a row. */
#define SERIES_CLAIM_NS 1e6 /* longer ones are judged alone */
#define SERIES_MOST     12
#define SERIES_LEAST    6
#define SERIES_BYTES    8e6 /* of all its inputs */
#define SERIES_ONE_IN   4   /* launches, after the first one: a worker learns too late which */

bool cbx__run_can_rotate(const cbx__run *x)
{
    return x->w->c->rotate_inputs && x->w->c->rotate_output && x->o.epochs > 0;
}

/* Sends them in place of the last set, or as a second one. */
bool cbx__run_send_unseen(cbx__run *x)
{
    cbx__held *held = &x->checker.held;
    bool ok;
    if (!cbx__run_can_rotate(x)) return true;
    uint64_t r = cbx_rng_below(&x->rng, UINT64_C(1) << 60) + 1024; /* the workload's own rotations are few */
    cbx__held_clear(held);
    cbx__run_look_at_peak(x);
    cbx_status st = cbx__held_make(x->ctx, x->w, x->draws++, r, x->probe_set, held, &x->err);
    if (st) return cbx__run_broken(x, st);
    x->t->phase = "inputs";
    ok = cbx__talk_ask(x->t, held->message, held->fds, held->nfds, "inputs", NULL);
    if (ok && x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid); /* nor is what reading them took */
    return ok;
}

/* After a call and its outputs: asks for them once more, which is writing alone.
 * @param outer, cpu  [ns] of the epoch of that call, waits for a CPU taken off; CPU time in it */
bool cbx__run_note_one_call(cbx__run *x, double outer, double cpu)
{
    double whole = outer + x->outputs_ns, whole_cpu = cpu + x->outputs_cpu_ns, again, again_cpu;
    if (!cbx__run_fetch_outputs(x, &again, &again_cpu)) return false;
    cbx__checker_poison(&x->checker);
    if (x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid);
    x->again_ns = fmin(x->again_ns, again);
    x->again_cpu_ns = fmin(x->again_cpu_ns, again_cpu);
    if (x->w->nfresh && x->draws > x->w->nfresh) return true; /* it has seen these before */
    x->one_call_cpu_ns = fmin(x->one_call_cpu_ns,
                              whole_cpu - cbx__run_allowed_writing_cpu(x) - cbx__run_allowed_empty(x));
    x->one_call_ns = fmin(x->one_call_ns, whole - cbx__run_allowed_writing(x) - cbx__run_allowed_empty(x));
    return true;
}

bool cbx__run_probe_call(cbx__run *x)
{
    double inner, outer, cpu;
    if (!cbx__run_epoch(x, x->probe_set, 1, &inner, &outer)) return false;
    outer = cbx__run_unhindered(x, outer);
    cpu = x->t->waits.cpu_ns;
    return cbx__run_check_outputs(x, x->probe_set) && cbx__run_note_one_call(x, outer, cpu);
}

/* After an epoch of many calls and its outputs. */
void cbx__run_note_late(cbx__run *x)
{
    x->late_ns = fmin(x->late_ns, x->outputs_ns);
    x->late_cpu_ns = fmin(x->late_cpu_ns, x->outputs_cpu_ns);
}

/* A reading may be spoilt by the machine, so the best of several counts. */
bool cbx__run_probe_again(cbx__run *x)
{
    double claim = cbx__run_claim(x), inner, outer;
    int tries = claim < PROBE_LONG_NS ? PROBE_TRIES : TRIES, left = (int)(x->w->nfresh - x->draws);
    if (x->w->nfresh && tries > left) tries = left; /* what was sent once is unseen no more */
    for (int i = 0; i < tries && (cbx__run_call_too_long(x, claim) || cbx__run_outputs_too_late(x, claim)); i++) {
        if (!cbx__run_send_unseen(x) || !cbx__run_probe_call(x)) return false;
        if (!cbx__run_outputs_too_late(x, claim)) continue;
        if (!cbx__run_epoch(x, x->probe_set, x->r->iterations, &inner, &outer) ||
            !cbx__run_check_outputs(x, x->probe_set))
            return false;
        cbx__run_note_late(x);
    }
    return true;
}

/* --- series --- */

static double bytes_of_set(const cbx__run *x)
{
    double bytes = 0;
    for (size_t i = 0; i < x->w->c->ninputs; i++) {
        size_t count = 0;
        if (cbx_array_desc_count(&x->w->inputs[i], &count, NULL)) return INFINITY;
        bytes += (double)count * (double)cbx_dtype_size(x->w->inputs[i].dtype);
    }
    return bytes;
}

static size_t first_of_series(const cbx__run *x)
{
    return x->probe_set + 1 > x->w->nsets ? x->probe_set + 1 : x->w->nsets;
}

/* Calls of a series; 0: none is made. */
static size_t series_length(cbx__run *x)
{
    size_t n = x->w->c->ninputs, room = n ? CBX__WIRE_FDS_MAX / n : 0, most = SERIES_MOST, first = first_of_series(x);
    bool cpu = strncmp(x->o.platform, "cuda", 4) != 0;
    if (!cpu || !x->can_series || x->baseline->limit || x->o.cold || !cbx__run_can_rotate(x)) return 0;
    if (!(cbx__run_claim(x) < SERIES_CLAIM_NS)) return 0;
    if (x->o.iterations && cbx_rng_below(&x->rng, SERIES_ONE_IN) != 0) return 0;
    if (room < first + SERIES_LEAST) return 0;
    x->set_bytes = bytes_of_set(x);
    if (room - first < most) most = room - first;
    if (most * x->set_bytes > SERIES_BYTES) most = (size_t)(SERIES_BYTES / x->set_bytes);
    return most < SERIES_LEAST ? 0 : SERIES_LEAST + cbx_rng_below(&x->rng, most - SERIES_LEAST + 1);
}

/* Each set another rotation of one draw; what is sent last is what outputs are compared with. */
static bool send_sets(cbx__run *x, size_t n)
{
    size_t draw = x->draws++, first = first_of_series(x);
    cbx__held *held = &x->checker.held;
    x->t->phase = "inputs";
    for (size_t i = 0; i < n; i++) {
        uint64_t r = cbx_rng_below(&x->rng, UINT64_C(1) << 60) + 1024;
        cbx__held_clear(held);
        cbx_status st = cbx__held_make(x->ctx, x->w, draw, r, first + i, held, &x->err);
        if (st) return cbx__run_broken(x, st);
        if (!cbx__talk_ask(x->t, held->message, held->fds, held->nfds, "inputs", NULL)) return false;
    }
    return true;
}

static bool run_series(cbx__run *x, size_t n)
{
    char text[256];
    size_t len = (size_t)snprintf(text, sizeof text, "{\"op\":\"series\",\"sets\":["), first = first_of_series(x);
    double ns;
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%zu", i ? "," : "", first + i);
    snprintf(text + len, sizeof text - len, "]}\n");
    if (!cbx__run_ask(x, "epoch", text, "series", NULL)) return false;
    ns = cbx__run_unhindered(x, (double)(x->t->received_ns - x->t->sent_ns)) - cbx__run_allowed_empty(x);
    x->series_ns = fmin(x->series_ns, ns / (double)n);
    x->series_cpu_ns = fmin(x->series_cpu_ns, (x->t->waits.cpu_ns - cbx__run_allowed_empty(x)) / (double)n);
    return true;
}

bool cbx__run_series(cbx__run *x)
{
    size_t n = series_length(x);
    double peak = x->peak, claim = cbx__run_claim(x); /* the memory of these inputs is not the baseline's */
    if (n == 0) return true;
    x->series_ns = x->series_cpu_ns = INFINITY;
    for (int i = 0; i <= PROBE_TRIES && (i == 0 || cbx__run_series_too_long(x, claim)); i++) {
        if (!send_sets(x, n) || !run_series(x, n) || !cbx__run_check_outputs(x, first_of_series(x) + n - 1))
            return false;
    }
    x->peak = peak;
    return true;
}
