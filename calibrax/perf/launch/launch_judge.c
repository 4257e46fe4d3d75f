/*
 * Whether a launch can be believed: its clocks against the parent's, its calls against one on
 * inputs it had never seen, its CPU time against its threads, its outputs against their bounds.  A
 * busy machine is no reason to refuse an honest one: what the kernel counted as waiting for a CPU
 * is taken off the parent's readings (talk.h), as far as it cannot have been inside the worker's.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/profiling/procfs.h"
#include "calibrax/statistics/estimate.h"

#define LONG_SHARE 0.25 /* of the calibrated length: epochs that are shorter were not calibrated truly */
/* Clocks are compared with a slack for late awakenings, so that epochs of any length can be. */
#define FEW_EPOCHS     3 /* below, one late awakening is a majority, so only a gross lie counts */
#define CLOCK_SLACK_NS 0.3e6
#define FEW_SLACK_NS   3e6 /* a slice of the scheduler */
#define RATIO_MIN_NS   1e6 /* shorter epochs are no evidence of the ratio of the clocks */
#define FLAGRANT_SHARE 3.0 /* no hand-over explains it, on a busy machine either */
/* What the parent allows for an empty epoch, whatever the worker takes: a constant, and so much a
 * byte of the outputs. */
#define EMPTY_MAX_NS    0.5e6
#define EMPTY_BYTE_NS   1.0 /* overwriting them: 1 GB/s */
#define CPU_SHARE       1.1
#define WANTED_SHARE    1.5   /* threads that hand work to one another are ready at the same time, for moments */
#define CPU_EPOCH_NS    0.2e6 /* of a worker between its clock and the channel */
#define DOUBT_MAX       0.05  /* share of an epoch that may be unexplained waiting */
#define CONTENDED_SHARE 0.05
#define CPU_SLACK_NS    10e6
#define SATURATED       0.85 /* share of its CPUs that a worker with threads too many takes when it is alone on them */

double cbx__run_median(const double *v, size_t n)
{
    double sorted[CBX_LAUNCH_MAX_EPOCHS];
    if (n == 0) return NAN;
    memcpy(sorted, v, n * sizeof *v);
    cbx_stat_sort(sorted, n);
    return cbx_stat_quantile_sorted(sorted, n, 0.5);
}

double cbx__run_claim(const cbx__run *x)
{
    double calls[CBX_LAUNCH_MAX_EPOCHS], n = (double)x->r->iterations;
    for (size_t i = 0; i < x->r->epochs; i++) {
        double inside = fmax(0, x->r->wait_ns[i] - x->sure_ns[i] - x->unsure_ns[i]);
        calls[i] = fmax(0, x->r->epoch_ns[i] - inside / n);
    }
    return cbx__run_median(calls, x->r->epochs);
}

/* What of the empty epoch may be taken from another's time. */
double cbx__run_allowed_empty(const cbx__run *x)
{
    return fmin(x->r->empty_epoch_ns, EMPTY_MAX_NS + EMPTY_BYTE_NS * x->output_bytes);
}

/* Epochs far shorter than they were made to be: calls were slow only as long as they were
 * counted. */
bool cbx__run_too_short(const cbx__run *x)
{
    double target = x->slow ? x->o.slow_call_s : x->o.epoch_target_s;
    bool chosen = x->slow || (x->o.iterations == 0 && x->r->iterations < CBX__ITERATIONS_MAX);
    double busy[CBX_LAUNCH_MAX_EPOCHS];
    /* one that reports more than has passed is judged by that */
    for (size_t i = 0; i < x->r->epochs; i++)
        busy[i] = fmax(x->raw_ns[i], x->r->epoch_ns[i] * (double)x->r->iterations) - x->r->wait_ns[i];
    return chosen && !x->o.cold && cbx__run_median(busy, x->r->epochs) < LONG_SHARE * target * 1e9;
}

/* [ns] An epoch by the parent's clock, without what certainly was not the worker's. */
static double outer_of(const cbx__run *x, size_t i) { return x->raw_ns[i] - cbx__run_allowed_empty(x) - x->sure_ns[i]; }

static double clock_ratio(const cbx__run *x)
{
    const cbx_launch_record *r = x->r;
    double ratios[CBX_LAUNCH_MAX_EPOCHS], n = (double)r->iterations;
    if (r->epochs == 0 || !(cbx__run_median(x->raw_ns, r->epochs) >= RATIO_MIN_NS)) return NAN;
    for (size_t i = 0; i < r->epochs; i++) {
        double inner = r->epoch_ns[i] * n, plain = x->raw_ns[i] - cbx__run_allowed_empty(x);
        ratios[i] = fmin(inner / outer_of(x, i),
                         fmax(1, inner / plain)); /* taking off waits makes no worker faster than time */
    }
    return cbx__run_median(ratios, r->epochs);
}

static double clock_doubt(const cbx__run *x)
{
    double shares[CBX_LAUNCH_MAX_EPOCHS];
    for (size_t i = 0; i < x->r->epochs; i++) shares[i] = x->unsure_ns[i] / fmax(1, x->raw_ns[i] - x->sure_ns[i]);
    return cbx__run_median(shares, x->r->epochs);
}

/* How the readings compare. */
typedef struct clocks {
    bool majority, best;         /* most epochs are clearly too short; the best of them are */
    double min_inner, min_outer; /* [ns] */
} clocks;

/* Which waits are taken off the parent's readings. */
typedef enum credits {
    CREDIT_SURE,   /* those that were certainly outside of the worker's */
    CREDIT_LIKELY, /* and the share of the others that is expected there */
    CREDIT_ALL     /* and the others whole: on a crowded machine the first wait may be by far the longest */
} credits;

/*
 * Both clocks are CLOCK_MONOTONIC, so a worker cannot have spent more than the parent waited.  That
 * it spent clearly less is a lie, or something held up the parent that the kernel does not count as
 * waiting: one such accident is the machine's, most of them, or the best of them, are not.
 */
static clocks compare(const cbx__run *x, credits credit)
{
    const cbx_launch_record *r = x->r;
    bool few = r->epochs < FEW_EPOCHS;
    double slack = few ? FEW_SLACK_NS : CLOCK_SLACK_NS, share = few ? 0.75 : 0.95, best_share = few ? 0.75 : 0.9;
    clocks c = { false, false, INFINITY, INFINITY };
    size_t off = 0;
    for (size_t i = 0; i < r->epochs; i++) {
        double inner = r->epoch_ns[i] * (double)r->iterations, outer = outer_of(x, i);
        if (credit != CREDIT_SURE) outer -= x->unsure_ns[i];
        if (credit == CREDIT_ALL) outer -= fmax(0, r->wait_ns[i] - x->sure_ns[i] - x->unsure_ns[i]);
        off += inner < share * outer - slack;
        c.min_inner = fmin(c.min_inner, inner);
        c.min_outer = fmin(c.min_outer, outer);
    }
    c.majority = 2 * off > r->epochs;
    c.best = c.min_inner < best_share * c.min_outer - slack;
    return c;
}

cbx__run_clocks cbx__run_compare_clocks(const cbx__run *x)
{
    clocks likely = compare(x, CREDIT_LIKELY), sure = compare(x, CREDIT_SURE);
    if (likely.best || (likely.majority && compare(x, CREDIT_ALL).majority)) return CBX__CLOCKS_DISAGREE;
    if (likely.majority) return CBX__CLOCKS_UNSURE;
    return (sure.majority || sure.best) && clock_doubt(x) > DOUBT_MAX ? CBX__CLOCKS_UNSURE : CBX__CLOCKS_AGREE;
}

/* One reading, as of few epochs: only a gross lie counts. */
bool cbx__run_judge_first_call(cbx__run *x)
{
    const cbx__waits *w = &x->t->waits;
    double outer = (double)(x->t->received_ns - x->t->sent_ns), inner = x->r->first_call_ns;
    double sure = outer - cbx__waits_all(w) - w->parent_ns - EMPTY_MAX_NS - EMPTY_BYTE_NS * x->output_bytes;
    if (inner >= 0.75 * sure - FEW_SLACK_NS && inner <= 1.001 * outer + 20e3 &&
        !(x->r->compile_ns > inner + FEW_SLACK_NS))
        return true;
    cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                   "the worker reported %.3f ms for its first call, which took %.3f ms by the parent's clock",
                   inner * 1e-6, outer * 1e-6);
    return false;
}

void cbx__run_judge_clocks(cbx__run *x)
{
    for (size_t i = 0; i < x->r->epochs; i++) { /* a worker that claims more time than there was */
        const double inner = x->r->epoch_ns[i] * (double)x->r->iterations;
        if (inner <= 1.001 * x->raw_ns[i] + 20e3) continue;
        cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                       "the worker reported %.3f ms for an epoch that the parent saw end after %.3f ms", inner * 1e-6,
                       x->raw_ns[i] * 1e-6);
        return;
    }
    if (cbx__run_compare_clocks(x) != CBX__CLOCKS_DISAGREE) return;
    const clocks c = compare(x, CREDIT_LIKELY);
    cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                   "the worker reported %.3f ms at best for epochs that took at least %.3f ms by the parent's clock, "
                   "waits for a CPU subtracted%s",
                   c.min_inner * 1e-6, c.min_outer * 1e-6, c.best ? "" : ", and most of the others differ by more");
}

static void judge_cores(cbx__run *x)
{
    const bool cpu = strncmp(x->o.platform, "cuda", 4) != 0;
    const double given = x->o.threads * x->cpu_wall_ns, wanted_max = x->o.threads * x->wanted_wall_ns;

    if (x->stray_cpu >= 0) {
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING,
                       "the worker may run on CPU %d, which is not one of those it was given", x->stray_cpu);
    } else if (cpu && x->cpu_ns > CPU_SHARE * given + CPU_SLACK_NS) {
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING,
                       "the worker used %.3f s of CPU time in %.3f s of epochs, and was given %d threads",
                       x->cpu_ns * 1e-9, x->cpu_wall_ns * 1e-9, x->o.threads);
    } else if (cpu && x->wanted_ns > WANTED_SHARE * wanted_max + CPU_SLACK_NS) {
        /* On a busy machine threads too many get no more CPU time than one would, but they wait for
         * it.  So does one thread that hands its work to the next; only who wanted several times
         * its CPUs, or had them all the time and waited for them still, had threads too many for
         * certain. */
        if (x->wanted_ns > FLAGRANT_SHARE * wanted_max || x->cpu_ns >= SATURATED * given) {
            cbx__talk_fail(x->t, CBX_FAILURE_PINNING,
                           "the worker's threads ran or were ready for %.3f s in %.3f s, and it was given %d",
                           x->wanted_ns * 1e-9, x->wanted_wall_ns * 1e-9, x->o.threads);
            return;
        }
        x->r->contended = true;
        cbx__talk_fail(x->t, CBX_FAILURE_CONTENDED,
                       "the machine is too busy to measure: the worker's threads ran or were ready for %.3f s in "
                       "%.3f s, and others had its CPUs for %.0f %% of the time, at a load of %.1f",
                       x->wanted_ns * 1e-9, x->wanted_wall_ns * 1e-9, 100 * (1 - x->cpu_ns / given),
                       cbx__proc_load_read());
    }
}

void cbx__run_judge_fidelity(cbx__run *x)
{
    const cbx_fidelity *f = &x->r->fidelity;
    if (!f->checked || f->ok) return;
    if (x->checker.wrong_shape)
        cbx__talk_fail(x->t, CBX_FAILURE_WRONG_SHAPE, "%s", f->note);
    else
        cbx__talk_fail(x->t, CBX_FAILURE_FIDELITY,
                       "%llu elements are outside their bound, the worst by a factor of %.3g",
                       (unsigned long long)f->mismatched, f->rel_to_tol);
}

void cbx__run_judge_times(cbx__run *x)
{
    double waited = 0, wall = 0, claimed = 0; /* [ns] claimed: of all epochs as the worker reports them */

    for (size_t i = 0; i < x->r->epochs; i++) {
        waited += x->r->wait_ns[i];
        wall += x->raw_ns[i];
        claimed += x->r->epoch_ns[i] * (double)x->r->iterations;
    }
    x->r->clock_ratio = clock_ratio(x);
    x->r->clock_doubt = clock_doubt(x);
    x->r->contended = wall > 0 && waited / wall > CONTENDED_SHARE;
    judge_cores(x);
    cbx__run_judge_clocks(x);
    cbx__run_judge_results(x);
    /* CPU time is the kernel's reading, and the same on a busy machine */
    const double between = (double)x->r->epochs * (CPU_EPOCH_NS + EMPTY_BYTE_NS * x->output_bytes);
    if (strncmp(x->o.platform, "cuda", 4) != 0 &&
        x->cpu_ns > CPU_SHARE * x->o.threads * claimed + CPU_SLACK_NS + between)
        cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                       "the worker reported %.3f s for epochs in which it used %.3f s of CPU time", claimed * 1e-9,
                       x->cpu_ns * 1e-9);
}
