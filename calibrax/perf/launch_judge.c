/*
 * Whether a launch can be believed: its clocks against the parent's, its calls against one on inputs it had never seen, its CPU time
 * against its threads, its outputs against their bounds.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/launch_run.h"
#include "calibrax/statistics/estimate.h"

#define LONG_SHARE 0.25 /* of the calibrated length: epochs that are shorter were not calibrated truly */
/* Clocks are compared with a slack for late awakenings, so that epochs of any length can be. */
#define FEW_EPOCHS      3 /* below, one late awakening is a majority, so only a gross lie counts */
#define CLOCK_SLACK_NS  0.3e6
#define FEW_SLACK_NS    3e6 /* a slice of the scheduler */
#define RATIO_LEAST_NS  1e6 /* shorter epochs say nothing about the ratio of the clocks */
#define RESULT_SLACK_NS 0.5e6
#define LATE_SLACK_NS   4e6 /* on a busy machine a worker loses its CPU where a long epoch ends */
/* What the parent allows for work outside the calls, whatever the worker takes: a constant, and so much a byte of the outputs. */
#define EMPTY_MOST_NS   0.5e6
#define EMPTY_BYTE_NS   1.0 /* overwriting them: 1 GB/s */
#define OUTPUTS_MOST_NS 2e6
#define OUTPUTS_BYTE_NS 4.0 /* writing them into a file, twice over where a language copies first: 250 MB/s */
#define CPU_SHARE       1.1
#define CPU_SLACK_NS    10e6

double cbx__run_median(const double *v, size_t n)
{
    double sorted[CBX_LAUNCH_MAX_EPOCHS];
    if (n == 0) return NAN;
    memcpy(sorted, v, n * sizeof *v);
    cbx_stat_sort(sorted, n);
    return cbx_stat_quantile_sorted(sorted, n, 0.5);
}

/* What of the empty epoch may be taken from another's time. */
double cbx__run_allowed_empty(const cbx__run *x)
{
    return fmin(x->r->empty_epoch_ns, EMPTY_MOST_NS + EMPTY_BYTE_NS * x->output_bytes);
}

double cbx__run_allowed_writing(const cbx__run *x)
{
    return fmin(x->again_ns, OUTPUTS_MOST_NS + OUTPUTS_BYTE_NS * x->output_bytes);
}

static double result_slack(const cbx__run *x)
{
    bool cpu = strncmp(x->o.platform, "cuda", 4) != 0; /* a device's first copy of a result is paid once */
    return RESULT_SLACK_NS + (cpu ? 0.1 : 0.5) * x->output_bytes;
}

bool cbx__run_call_too_long(const cbx__run *x, double claim) { return x->one_call_ns > 2 * claim + result_slack(x); }

/* Work that is put off till the outputs are wanted, in epochs of many calls. */
bool cbx__run_outputs_too_late(const cbx__run *x, double claim)
{
    return isfinite(x->late_ns) && x->late_ns - cbx__run_allowed_writing(x) > claim + LATE_SLACK_NS + result_slack(x);
}

/* Epochs far shorter than they were made to be: calls were slow only as long as they were counted. */
bool cbx__run_too_short(const cbx__run *x)
{
    double target = x->slow ? x->o.slow_call_s : x->o.epoch_target_s;
    bool chosen = x->slow || (x->o.iterations == 0 && x->r->iterations < CBX__ITERATIONS_MOST);
    double reported = cbx__run_median(x->r->epoch_ns, x->r->epochs) * (double)x->r->iterations;
    /* one that reports more than has passed is judged by that */
    return chosen && fmax(cbx__run_median(x->raw_ns, x->r->epochs), reported) < LONG_SHARE * target * 1e9;
}

static double clock_ratio(const cbx__run *x)
{
    const cbx_launch_record *r = x->r;
    double ratios[CBX_LAUNCH_MAX_EPOCHS], n = (double)r->iterations;
    if (r->epochs == 0 || !(cbx__run_median(x->raw_ns, r->epochs) >= RATIO_LEAST_NS)) return NAN;
    for (size_t i = 0; i < r->epochs; i++) ratios[i] = r->epoch_ns[i] * n / (x->raw_ns[i] - cbx__run_allowed_empty(x));
    return cbx__run_median(ratios, r->epochs);
}

/*
 * Both clocks are CLOCK_MONOTONIC, so a worker cannot have spent more than the parent waited.  That it spent clearly less is a lie,
 * or the parent was woken late: one late awakening is an accident of the machine, most of them, or the best of them, are not.
 */
static void judge_clocks(cbx__run *x)
{
    const cbx_launch_record *r = x->r;
    size_t off = 0;
    double n = (double)r->iterations, least_inner = INFINITY, least_outer = INFINITY, empty = cbx__run_allowed_empty(x);
    double slack = r->epochs < FEW_EPOCHS ? FEW_SLACK_NS : CLOCK_SLACK_NS;
    double share = r->epochs < FEW_EPOCHS ? 0.75 : 0.95, best_share = r->epochs < FEW_EPOCHS ? 0.75 : 0.9;
    for (size_t i = 0; i < r->epochs; i++) {
        double inner = r->epoch_ns[i] * n, outer = x->raw_ns[i] - empty;
        if (inner > 1.001 * x->raw_ns[i] + 20e3) {
            cbx__talk_fail(x->t, CBX_FAILURE_CLOCKS_DISAGREE,
                           "the worker reported %.3f ms for an epoch that the parent saw end after %.3f ms",
                           inner * 1e-6, x->raw_ns[i] * 1e-6);
            return;
        }
        off += inner < share * outer - slack;
        least_inner = fmin(least_inner, inner);
        least_outer = fmin(least_outer, outer);
    }
    if (2 * off > r->epochs || least_inner < best_share * least_outer - slack) {
        cbx__talk_fail(
            x->t, CBX_FAILURE_CLOCKS_DISAGREE,
            "the worker reported %.3f ms at best for epochs that took at least %.3f ms by the parent's clock",
            least_inner * 1e-6, least_outer * 1e-6);
    }
}

static void judge_results(cbx__run *x)
{
    double claim = cbx__run_median(x->r->epoch_ns, x->r->epochs);
    if (cbx__run_call_too_long(x, claim)) {
        cbx__talk_fail(
            x->t, CBX_FAILURE_LAZY_RESULT,
            "one call on unseen inputs took %.3f ms to its result at best; the worker reported %.3f ms a call",
            x->one_call_ns * 1e-6, claim * 1e-6);
    } else if (cbx__run_outputs_too_late(x, claim)) {
        cbx__talk_fail(x->t, CBX_FAILURE_LAZY_RESULT,
                       "outputs came %.3f ms after a timed epoch at best, %.3f ms when nothing was left to do",
                       x->late_ns * 1e-6, x->again_ns * 1e-6);
    }
}

static void judge_cores(cbx__run *x)
{
    bool cpu = strncmp(x->o.platform, "cuda", 4) != 0;
    if (x->stray_cpu >= 0) {
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING, "the worker may run on CPU %d, which is none of those it was given",
                       x->stray_cpu);
    } else if (cpu && x->cpu_ns > CPU_SHARE * x->o.threads * x->cpu_wall_ns + CPU_SLACK_NS) {
        cbx__talk_fail(x->t, CBX_FAILURE_PINNING,
                       "the worker used %.3f s of CPU time in %.3f s of epochs, and was told to use %d threads",
                       x->cpu_ns * 1e-9, x->cpu_wall_ns * 1e-9, x->o.threads);
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
    x->r->clock_ratio = clock_ratio(x);
    judge_clocks(x);
    judge_results(x);
    judge_cores(x);
}
