/*
 * Before the timed epochs: untimed calls, how many calls an epoch takes, and what an epoch of none
 * takes.
 */
#include <math.h>

#include "calibrax/perf/launch/calibration.h"
#include "calibrax/perf/launch/launch_run.h"

#define EMPTY_EPOCHS 5

/* [ns] An epoch by the parent's clock without waits for a CPU: for guesses, not for judgements. */
double cbx__run_unhindered(const cbx__run *x, double outer)
{
    const cbx__waits *w = &x->t->waits;
    double cpu = w->known ? w->cpu_ns / x->o.threads : 0;
    return fmax(1, fmax(outer - cbx__waits_all(w), fmin(cpu, outer)));
}

static bool is_slow(const cbx__run *x, double call_ns)
{
    return x->o.slow_call_s > 0 && call_ns > x->o.slow_call_s * 1e9;
}

/* Untimed calls on alternating sets.  @param slow  set if the first of them took too long for
 * more */
static bool warm_up(cbx__run *x, bool *slow)
{
    double inner, outer;
    if (x->o.warmup == 0) return true;
    if (!cbx__run_epoch(x, x->w->nsets > 1 ? 1 : 0, 1, &inner, &outer)) return false;
    *slow = is_slow(x, cbx__run_unhindered(x, outer));
    return *slow || x->o.warmup == 1 || cbx__run_epoch(x, 0, x->o.warmup - 1, &inner, &outer);
}

/*
 * Overwriting outputs before an epoch takes longer when the calls before it left them outside of
 * the caches than it does in an empty one: epochs last this many times an empty one, so that the
 * difference is a small share of them, but no more than so many targets.
 */
#define EMPTY_TIMES 32
#define TARGETS_MAX 8

/* Calls an epoch so that it lasts the target. */
static bool calibrate(cbx__run *x, bool *slow)
{
    double target = x->o.epoch_target_s * 1e9, inner, outer, empty;
    cbx__calibration c;
    bool more = true;
    if (!cbx__run_epoch(x, 0, 0, &inner, &empty)) return false;
    x->r->empty_epoch_ns = empty = cbx__run_unhindered(x, empty);
    target = fmin(fmax(target, EMPTY_TIMES * cbx__run_allowed_empty(x)), TARGETS_MAX * target);
    for (cbx__calibration_begin(&c, target); more;) {
        /* one call on another set where there is one, for the last reading */
        if (!cbx__run_epoch(x, c.closing && x->w->nsets > 1 ? 1 : 0, c.calls, &inner, &outer)) return false;
        const double unhindered = cbx__run_unhindered(x, outer);
        *slow = c.calls == 1 && is_slow(x, unhindered);
        if (*slow) return true;
        /* never less than the worker says, should the empty epoch have been held up */
        more = cbx__calibration_note(&c, unhindered,
                                     cbx__run_unhindered(x, fmax(outer - empty, inner)) / (double)c.calls);
    }
    x->r->iterations = c.calls;
    return true;
}

bool cbx__run_settle(cbx__run *x, bool again)
{
    const size_t few = x->o.slow_epochs ? x->o.slow_epochs : 1;
    double inner, outer[EMPTY_EPOCHS];

    x->slow = false;
    x->nepochs = x->o.epochs ? x->o.epochs : 1;
    x->r->iterations = x->o.iterations;
    if (!again && !warm_up(x, &x->slow)) return false;
    if (x->o.cold) x->r->iterations = 1;
    if (!x->slow && !x->o.cold && x->o.iterations == 0 && !calibrate(x, &x->slow)) return false;
    if (x->slow) x->r->iterations = 1;
    if (x->slow && x->nepochs > few) x->nepochs = few;
    x->r->iterations_chosen = x->r->iterations;
    for (size_t i = 0; i < EMPTY_EPOCHS; i++) {
        if (!cbx__run_epoch(x, i % x->w->nsets, 0, &inner, &outer[i])) return false;
        outer[i] = cbx__run_unhindered(x, outer[i]);
    }
    x->r->empty_epoch_ns = cbx__run_median(outer, EMPTY_EPOCHS);
    return true;
}
