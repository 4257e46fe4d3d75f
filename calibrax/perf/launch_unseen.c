/*
 * A call on inputs that no other launch has seen, timed from outside together with the outputs it owes: a worker that computes only when it is asked
 * for the outputs, or that has answered from memory so far, needs more time for it than it claims for a call.
 */
#include <math.h>

#include "calibrax/perf/launch_run.h"
#include "calibrax/profiling/procfs.h"

#define TRIES         2    /* repetitions of what a busy machine can spoil */
#define PROBE_TRIES   8    /* of single calls, which one preemption spoils; a suspect alone pays for them ... */
#define PROBE_LONG_NS 50e6 /* ... and not where a call is so long that a preemption is lost in it */

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
