/*
 * The messages of a launch: each asks for one thing, and takes of the answer what the record has a
 * place for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/core/owned.h"
#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/perf/launch/policy.h"
#include "calibrax/profiling/procfs.h"

bool cbx__run_broken(cbx__run *x, cbx_status st)
{
    x->status = st;
    return false;
}

static bool number_of(cbx__run *x, const cbx_json *answer, const char *key, double *out)
{
    double v = cbx_json_get_double(answer, key, NAN);
    if (isfinite(v) && v >= 0) {
        *out = v;
        return true;
    }
    cbx__talk_fail(x->t, CBX_FAILURE_PROTOCOL,
                   "the worker's answer in phase '%s' has no number '%s' that is finite and >= 0", x->t->phase, key);
    return false;
}

bool cbx__run_ask(cbx__run *x, const char *phase, const char *text, const char *op, cbx_json **answer)
{
    x->t->phase = phase;
    return cbx__talk_ask_text(x->t, text, strlen(text), NULL, 0, op, answer);
}

bool cbx__run_hello(cbx__run *x)
{
    cbx_json *m = NULL;
    if (!cbx__talk_hello(x->t, &x->r->sandbox, &m)) return false;
    cbx_json_remove(m, "op");
    cbx_json_remove(m, "protocol");
    x->can_flush = cbx_json_get_bool(m, "flush", false);
    x->can_null = cbx_json_get_bool(m, "null", false);
    if (!cbx_json_get_bool(m, "series", false))
        cbx__talk_fail(x->t, CBX_FAILURE_PROTOCOL, "the worker does not answer 'series', which the protocol requires");
    cbx_json_remove(m, "series");
    cbx_json_remove(m, "flush");
    cbx_json_remove(m, "null");
    x->r->versions = m;
    cbx__proc_memory memory;
    if (cbx__proc_memory_read(x->t->child.pid, &memory)) x->r->hwm_start_bytes = (double)memory.hwm_bytes;
    x->r->confined = cbx__proc_confined(x->t->child.pid);
    return x->t->failure == CBX_FAILURE_NONE;
}

/* The policy as the worker reports it, kept with its hello: threads and settings are those that it
 * was given. */
static bool note_policy(cbx__run *x, const cbx_json *loaded)
{
    const cbx_json *policy = cbx_json_get(loaded, "policy");
    const char *precision = x->o.precision ? x->o.precision : "full";
    char name[48], value[48];
    int found = 0;
    if (!policy) return true;
    if (x->r->versions) cbx_json_set(x->r->versions, "policy", cbx_json_copy(policy));
    CBX_OWNED(cbx_json) *asked = cbx__policy_json(x->baseline->provider, x->o.platform, x->o.threads, precision, false);
    const cbx_json *settings = cbx_json_get(asked, "settings");
    if (!asked) return cbx__run_broken(x, cbx_fail(&x->err, CBX_ENOMEM, "no memory for a policy"));
    if (cbx__policy_too_many(cbx_json_get(policy, "threads"), x->o.threads, name, &found))
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING, "the worker's pool '%s' has %d threads, and it was given %d", name,
                       found, x->o.threads);
    else if (cbx__policy_contradicts(cbx_json_get(policy, "settings"), settings, name, value))
        cbx__talk_fail(x->t, CBX_FAILURE_POLICY,
                       "the worker reads the setting '%s' back as '%s', but was given '%.40s'", name, value,
                       cbx_json_get_string(settings, name, ""));
    return x->t->failure == CBX_FAILURE_NONE;
}

bool cbx__run_load(cbx__run *x)
{
    CBX_OWNED(cbx_json) *m = NULL;
    cbx__load l = { 0 };
    cbx_status st = cbx__load_make(x->w, x->w->nsets, x->baseline, &x->o, x->checker.fds, x->w->c->noutputs, &l,
                                   &x->err);
    if (st) return cbx__run_broken(x, st);
    x->t->phase = "load";
    bool ok = cbx__talk_ask(x->t, l.message, l.fds, l.nfds, "loaded", &m);
    cbx__load_clear(&l);
    ok = ok && note_policy(x, m);
    if (ok) cbx__run_memory_after_load(x);
    return ok;
}

/* Asks for the outputs of the last call and compares them with the answers of its set. */
bool cbx__run_check_outputs(cbx__run *x, size_t set)
{
    cbx__run_look_at_peak(x);
    if (!cbx__run_fetch_outputs(x, &x->outputs)) return false;
    cbx_status st = x->baseline->limit ? CBX_OK /* no answer is asked of it */
                                       : cbx__checker_compare(x->ctx, &x->checker, set, &x->r->fidelity, &x->err);
    if (st) return cbx__run_broken(x, st);
    cbx__checker_poison(&x->checker);
    if (x->hwm_reset) cbx__proc_reset_hwm(x->t->child.pid); /* what writing the outputs took is not the baseline's */
    return true;
}

bool cbx__run_compile(cbx__run *x)
{
    CBX_OWNED(cbx_json) *m = NULL;
    x->r->ready_ns = (double)(cbx_clock_ns() - x->started_ns);
    if (!cbx__run_ask(x, "compile", "{\"op\":\"compile\"}\n", "compiled", &m)) return false;
    bool ok = number_of(x, m, "first_call_ns", &x->r->first_call_ns);
    if (ok && cbx_json_get(m, "compile_ns")) ok = number_of(x, m, "compile_ns", &x->r->compile_ns);
    return ok && cbx__run_judge_first_call(x) && cbx__run_check_outputs(x, 0);
}

/* @param inner, outer  [ns] of the whole epoch by the worker's and by the parent's clock */
bool cbx__run_epoch(cbx__run *x, size_t set, uint64_t iterations, double *inner, double *outer)
{
    char text[96];
    CBX_OWNED(cbx_json) *m = NULL;
    snprintf(text, sizeof text, "{\"op\":\"epoch\",\"set\":%zu,\"iterations\":%llu}\n", set,
             (unsigned long long)iterations);
    if (!cbx__run_ask(x, "epoch", text, "epoch", &m)) return false;
    *outer = (double)(x->t->received_ns - x->t->sent_ns);
    return number_of(x, m, "ns", inner);
}

void cbx__run_note_epoch(cbx__run *x, size_t i, double inner, double outer)
{
    x->r->epoch_ns[i] = inner / (double)x->r->iterations;
    x->raw_ns[i] = outer;
    x->sure_ns[i] = fmin(outer, cbx__waits_sure(&x->t->waits));
    x->unsure_ns[i] = fmin(outer - x->sure_ns[i], cbx__waits_unsure(&x->t->waits));
    x->r->wait_ns[i] = cbx__waits_all(&x->t->waits);
}
