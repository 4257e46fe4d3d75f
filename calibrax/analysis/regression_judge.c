/* One key of two runs, judged by its samples, bounds or values. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "calibrax/analysis/regression_internal.h"
#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/location.h"
#include "calibrax/statistics/multiplicity.h"

#define EXACT_MAX 64 /* more samples than this are not counted anyway */

typedef struct limits {
    double threshold, minimum;
} limits;

static limits limits_of(const cbx_regression_opts *o, const cbx_finding *f)
{
    double by_priority = f->priority == CBX_PRIORITY_PRIMARY ? o->primary_threshold : o->secondary_threshold;
    limits l = { isnan(by_priority) ? o->threshold : by_priority, o->minimum };

    for (size_t i = 0; i < o->nrules; i++) {
        const cbx_regression_rule *r = &o->rules[i];
        if (fnmatch(r->metric, f->metric, 0) != 0) continue;
        if (!isnan(r->threshold)) l.threshold = r->threshold;
        if (!isnan(r->minimum)) l.minimum = r->minimum;
        break;
    }
    return l;
}

cbx_interval cbx__change_of(const cbx_interval *now, const cbx_interval *base, double scale)
{
    if (now->lower > 0 && base->lower > 0 && isfinite(base->upper))
        return (cbx_interval){ (now->value - base->value) / base->value, (now->lower - base->upper) / base->upper,
                               (now->upper - base->lower) / base->lower, 0 };
    return (cbx_interval){ (now->value - base->value) / scale, (now->lower - base->upper) / scale,
                           (now->upper - base->lower) / scale, 0 };
}

static bool all_positive(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0)) return false;
    return true;
}

cbx_status cbx__change_of_samples(cbx_ctx *ctx, const double *now, size_t n, const double *base, size_t m, double level,
                                  double *scale, cbx_interval *out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *logs = NULL;
    cbx_status st = cbx_stat_median(ctx, base, m, scale, err);

    if (st) return st;
    *scale = fabs(*scale);
    if (all_positive(now, n) && all_positive(base, m)) {
        logs = cbx_mem_calloc(al, n + m, sizeof *logs);
        if (!logs) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu samples", n + m);
        for (size_t i = 0; i < n; i++) logs[i] = log(now[i]);
        for (size_t i = 0; i < m; i++) logs[n + i] = log(base[i]);
        st = cbx_stat_hodges_lehmann_shift(ctx, logs, n, logs + n, m, level, out, err);
        cbx_mem_free(al, logs, (n + m) * sizeof *logs);
        if (!st) *out = (cbx_interval){ expm1(out->value), expm1(out->lower), expm1(out->upper), out->level };
    } else {
        double unit = *scale > 0 ? *scale : 1;
        st = cbx_stat_hodges_lehmann_shift(ctx, now, n, base, m, level, out, err);
        if (!st) *out = (cbx_interval){ out->value / unit, out->lower / unit, out->upper / unit, out->level };
    }
    if (!st && !(out->level > 0)) out->lower = -INFINITY, out->upper = INFINITY;
    return st;
}

/* Whether the values alone are better, or worse by no more than the threshold. */
static bool not_worse(double change, double threshold, cbx_direction direction)
{
    double worse = direction == CBX_DIRECTION_HIGHER ? -change : change;
    return worse <= 0 || !(isnan(worse) || cbx_verdict_exceeds(worse, threshold));
}

/* The samples of one side alone give no interval, but where their median is worse by more than the
 * threshold, the other side's value alone does not pass. */
static cbx_status compare_median(cbx_ctx *ctx, const limits *l, const cbx_metric *now, const cbx_metric *base,
                                 cbx_finding *f, cbx_err *err)
{
    double m[2] = { now->value, base->value };
    cbx_status st = CBX_OK;

    if (f->outcome == CBX_OUTCOME_REGRESSED || !(now->nsamples || base->nsamples)) return CBX_OK;
    if (now->nsamples) st = cbx_stat_median(ctx, now->samples, now->nsamples, &m[0], err);
    if (!st && base->nsamples) st = cbx_stat_median(ctx, base->samples, base->nsamples, &m[1], err);
    if (st) return st;
    double size = fabs(m[1]);
    double change = size > 0 ? (m[0] - m[1]) / size : m[0] - m[1];
    double limit = size > 0 ? fmax(l->threshold, l->minimum / size) : l->minimum;
    if (not_worse(change, limit, f->direction)) return CBX_OK;
    f->contradicted = true;
    if (f->outcome != CBX_OUTCOME_ZERO_BASELINE) f->outcome = CBX_OUTCOME_UNDECIDED;
    return CBX_OK;
}

/* What is undecided by the threshold may be within the margin.  The value, which may be any
 * statistic of the samples, must agree. */
static cbx_outcome reconsider(cbx_outcome outcome, const cbx_finding *f)
{
    bool value_agrees = !isnan(f->change) && !cbx_verdict_exceeds(f->change, f->margin);

    if (outcome == CBX_OUTCOME_EQUIVALENT && !value_agrees) return CBX_OUTCOME_UNDECIDED;
    if (outcome == CBX_OUTCOME_IMPROVED && !not_worse(f->change, f->threshold, f->direction))
        return CBX_OUTCOME_UNDECIDED;
    if (outcome == CBX_OUTCOME_UNDECIDED && f->basis == CBX_BASIS_SAMPLES && value_agrees &&
        f->interval.lower <= f->interval.upper && !cbx_verdict_exceeds(f->interval.lower, f->margin) &&
        !cbx_verdict_exceeds(f->interval.upper, f->margin))
        return CBX_OUTCOME_EQUIVALENT;
    return outcome;
}

static cbx_outcome outcome_of(const cbx_interval *change, double threshold, const cbx_finding *f)
{
    cbx_interval worse = *change;

    if (f->direction == CBX_DIRECTION_HIGHER)
        worse = (cbx_interval){ -change->value, -change->upper, -change->lower, change->level };
    switch (cbx_verdict_of_change(&worse, threshold)) {
    case CBX_VERDICT_FASTER: return CBX_OUTCOME_IMPROVED;
    case CBX_VERDICT_SLOWER: return CBX_OUTCOME_REGRESSED;
    case CBX_VERDICT_EQUIVALENT: return f->basis == CBX_BASIS_VALUES ? CBX_OUTCOME_UNCHANGED : CBX_OUTCOME_EQUIVALENT;
    default: return CBX_OUTCOME_UNDECIDED;
    }
}

/* Of at most EXACT_MAX samples in all. */
static bool has_ties(const cbx_metric *a, const cbx_metric *b)
{
    double all[EXACT_MAX];
    size_t n = a->nsamples + b->nsamples;

    if (a->nsamples) memcpy(all, a->samples, a->nsamples * sizeof *all);
    if (b->nsamples) memcpy(all + a->nsamples, b->samples, b->nsamples * sizeof *all);
    cbx_stat_sort(all, n);
    for (size_t i = 1; i < n; i++)
        if (all[i] == all[i - 1]) return true;
    return false;
}

/* Exact counts with ties take milliseconds, and memory is tied more often than not: they are for
 * findings that claim something. */
static cbx_status put_p(cbx_ctx *ctx, cbx__whitney *counts, const cbx_metric *now, const cbx_metric *base,
                        cbx_finding *f, cbx_err *err)
{
    bool claims = f->outcome == CBX_OUTCOME_REGRESSED || f->outcome == CBX_OUTCOME_IMPROVED;
    bool small = now->nsamples + base->nsamples <= EXACT_MAX;
    cbx_test_mode mode = small && !claims && has_ties(now, base) ? CBX_TEST_NORMAL : CBX_TEST_AUTO;
    cbx_test test;

    cbx_status st = cbx__mann_whitney(ctx, now->samples, now->nsamples, base->samples, base->nsamples, mode, counts,
                                      &test, err);
    if (!st) f->p = test.p;
    return st;
}

/* A baseline of 0, compared by the difference in minimum changes. */
static cbx_outcome outcome_by_difference(const cbx_interval *difference, double now, double base, double minimum,
                                         const cbx_finding *f)
{
    cbx_interval change = { difference->value / minimum, difference->lower / minimum, difference->upper / minimum,
                            difference->level };

    if (!(minimum > 0)) {
        bool zero = difference->lower == 0 && difference->upper == 0;
        return zero && now == 0 && base == 0 ? CBX_OUTCOME_UNCHANGED : CBX_OUTCOME_ZERO_BASELINE;
    }
    cbx_outcome o = outcome_of(&change, 1, f);
    return o == CBX_OUTCOME_REGRESSED || not_worse((now - base) / minimum, 1, f->direction) ? o : CBX_OUTCOME_UNDECIDED;
}

/* Standard deviation of one relative sample: what gives the interval its width, or of the samples
 * themselves without an interval. */
static double spread_of(const cbx_metric *now, const cbx_metric *base, double scale, const cbx_interval *change,
                        double level)
{
    double n = (double)now->nsamples, m = (double)base->nsamples, sd[2];

    if (change->level > 0)
        return (change->upper - change->lower) / 2 / (cbx_stat_normal_isf((1 - level) / 2) * sqrt(1 / n + 1 / m));
    if (!(n + m > 2) || !(scale > 0)) return NAN;
    cbx_stat_mean(now->samples, now->nsamples, NULL, &sd[0], NULL);
    cbx_stat_mean(base->samples, base->nsamples, NULL, &sd[1], NULL);
    return sqrt(((n - 1) * sd[0] * sd[0] + (m - 1) * sd[1] * sd[1]) / (n + m - 2)) / scale;
}

cbx_status cbx__regression_judge(cbx_ctx *ctx, const cbx_regression_opts *opts, cbx__whitney *counts,
                                 const cbx_metric *now, const cbx_metric *base, cbx_finding *f, cbx_err *err)
{
    limits l = limits_of(opts, f);
    cbx_interval side[2] = { { now->value, now->value, now->value, 0 }, { base->value, base->value, base->value, 0 } };
    double scale = fabs(base->value);
    cbx_status st = CBX_OK;

    f->basis = opts->values_only                           ? CBX_BASIS_VALUES
               : now->nsamples && base->nsamples           ? CBX_BASIS_SAMPLES
               : !isnan(now->lower) && !isnan(base->lower) ? CBX_BASIS_BOUNDS
                                                           : CBX_BASIS_VALUES;
    if (f->basis == CBX_BASIS_SAMPLES) {
        st = cbx__change_of_samples(ctx, now->samples, now->nsamples, base->samples, base->nsamples, opts->level,
                                    &scale, &f->interval, err);
        if (st) return st;
    } else {
        if (f->basis == CBX_BASIS_BOUNDS) {
            side[0] = (cbx_interval){ now->value, now->lower, now->upper, 0 };
            side[1] = (cbx_interval){ base->value, base->lower, base->upper, 0 };
        }
        f->interval = cbx__change_of(&side[0], &side[1], scale > 0 ? scale : 1);
    }
    if (base->value != 0) f->change = (now->value - base->value) / fabs(base->value);
    double threshold = scale > 0 ? fmax(l.threshold, l.minimum / scale) : INFINITY;
    if (isfinite(threshold)) {
        f->threshold = threshold;
        f->margin = opts->margin > threshold ? opts->margin : threshold;
    }
    if (f->basis == CBX_BASIS_SAMPLES && !(f->interval.level > 0)) {
        f->outcome = CBX_OUTCOME_UNDECIDED;
    } else if (isfinite(threshold)) {
        f->outcome = reconsider(outcome_of(&f->interval, threshold, f), f);
    } else {
        f->outcome = outcome_by_difference(&f->interval, now->value, base->value, l.minimum, f);
        f->interval = (cbx_interval){ NAN, NAN, NAN, 0 };
    }
    if (f->basis == CBX_BASIS_SAMPLES && isfinite(threshold)) {
        f->spread = spread_of(now, base, scale, &f->interval, opts->level);
        f->samples = cbx_verdict_samples(f->spread, f->interval.value, f->margin, opts->level);
    }
    if (f->basis == CBX_BASIS_SAMPLES) return put_p(ctx, counts, now, base, f, err);
    return opts->values_only ? CBX_OK : compare_median(ctx, &l, now, base, f, err);
}

cbx_status cbx__regression_correct(cbx_ctx *ctx, double level, cbx_finding *f, size_t n, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *p = cbx_mem_calloc(al, 2 * n + 1, sizeof(*p)), *adjusted = p ? p + n : NULL;
    size_t m = 0;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu p-values", n);
    for (size_t i = 0; i < n; i++)
        if (!isnan(f[i].p)) p[m++] = f[i].p;
    cbx_status st = cbx_stat_adjust(ctx, CBX_CORRECTION_HOLM, p, m, adjusted, err);
    size_t tests = m;
    m = 0;
    for (size_t i = 0; !st && i < n; i++) {
        bool claims = f[i].outcome == CBX_OUTCOME_REGRESSED || f[i].outcome == CBX_OUTCOME_IMPROVED;
        if (isnan(f[i].p)) continue;
        f[i].p_holm = adjusted[m++];
        if (claims && f[i].p_holm > (1 - level) * (1 + 1e-9)) {
            f[i].outcome = reconsider(CBX_OUTCOME_UNDECIDED, &f[i]);
            f[i].samples = cbx_verdict_samples(f[i].spread, f[i].interval.value, f[i].threshold,
                                               1 - (1 - level) / (double)tests);
        }
    }
    for (size_t i = 0; i < n; i++)
        if (f[i].outcome != CBX_OUTCOME_UNDECIDED) f[i].samples = 0;
    cbx_mem_free(al, p, (2 * n + 1) * sizeof(*p));
    return st;
}
