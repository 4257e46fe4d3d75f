/*
 * One key of two runs: what its samples, bounds or values say of the change.
 * Intervals of two independent medians at level sqrt(L) each hold together with probability L, and so does what follows from both.
 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "calibrax/analysis/regression_parts.h"
#include "calibrax/statistics/estimate.h"
#include "calibrax/statistics/multiplicity.h"

#define EXACT_MOST 64 /* more samples than this are not counted anyway */

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

cbx_interval cbx__change_of(const cbx_interval *now, const cbx_interval *base, double scale, bool relative)
{
    cbx_interval c = { (now->value - base->value) / scale, (now->lower - base->upper) / scale,
                       (now->upper - base->lower) / scale, now->level * base->level };

    if (relative && now->lower > 0 && base->lower > 0 && isfinite(base->upper)) {
        c.value = (now->value - base->value) / base->value;
        c.lower = (now->lower - base->upper) / base->upper;
        c.upper = (now->upper - base->lower) / base->lower;
    }
    return c;
}

cbx_status cbx__intervals_of_samples(cbx_ctx *ctx, double level, const cbx_metric *now, const cbx_metric *base,
                                     cbx_interval out[2], cbx_err *err)
{
    const cbx_metric *side[2] = { now, base };

    out[0].level = out[1].level = 0;
    if (!now->samples || !base->samples || !now->nsamples || !base->nsamples) return CBX_OK;
    for (int i = 0; i < 2; i++) {
        cbx_status st = cbx_stat_median_interval(ctx, side[i]->samples, side[i]->nsamples, sqrt(level), &out[i], err);
        if (st) return st;
    }
    return CBX_OK;
}

/* An infinite bound is one: it says that nothing is known on that side. */
static bool bounded(const cbx_metric *m) { return m->lower <= m->value && m->value <= m->upper; }

static cbx_interval bounds_of(const cbx_metric *m) { return (cbx_interval){ m->value, m->lower, m->upper, 0 }; }

static cbx_interval value_of(const cbx_metric *m) { return (cbx_interval){ m->value, m->value, m->value, 0 }; }

/* The best that both sides have. */
static cbx_status sides_of(cbx_ctx *ctx, const cbx_regression_opts *o, const cbx_metric *now, const cbx_metric *base,
                           cbx_interval side[2], cbx_finding *f, cbx_err *err)
{
    cbx_status st;

    if (!o->values_only) {
        st = cbx__intervals_of_samples(ctx, o->level, now, base, side, err);
        if (st) return st;
        if (side[0].level > 0 && side[1].level > 0) {
            f->basis = CBX_BASIS_SAMPLES;
            return CBX_OK;
        }
        if (o->needs_samples && now->nsamples && base->nsamples) {
            f->basis = CBX_BASIS_SAMPLES; /* too few of them */
            return CBX_OK;
        }
        if (bounded(now) && bounded(base)) {
            side[0] = bounds_of(now);
            side[1] = bounds_of(base);
            f->basis = CBX_BASIS_BOUNDS;
            return CBX_OK;
        }
    }
    side[0] = value_of(now);
    side[1] = value_of(base);
    f->basis = CBX_BASIS_VALUES;
    return CBX_OK;
}

static bool within(const cbx_interval *change, double margin)
{
    return change->lower <= change->upper && !cbx_verdict_exceeds(change->lower, margin) &&
           !cbx_verdict_exceeds(change->upper, margin);
}

/* Whether the values alone are better, or worse by no more than the threshold. */
static bool not_worse(double change, double threshold, cbx_direction direction)
{
    double worse = direction == CBX_DIRECTION_HIGHER ? -change : change;
    return worse <= 0 || !(isnan(worse) || cbx_verdict_exceeds(worse, threshold));
}

static bool in_range(const cbx_metric *m)
{
    double lo = INFINITY, hi = -INFINITY, slack = 1e-9 * fabs(m->value); /* a mean of equals rounds */

    for (size_t i = 0; i < m->nsamples; i++) {
        lo = fmin(lo, m->samples[i]);
        hi = fmax(hi, m->samples[i]);
    }
    return !m->nsamples || (lo - slack <= m->value && m->value <= hi + slack);
}

static cbx_status median_of(cbx_ctx *ctx, const cbx_metric *m, double *out, cbx_err *err)
{
    *out = m->value;
    return m->nsamples ? cbx_stat_median(ctx, m->samples, m->nsamples, out, err) : CBX_OK;
}

/* What samples that are too few for an interval say against a pass. */
static cbx_status hear_samples(cbx_ctx *ctx, const limits *l, const cbx_metric *now, const cbx_metric *base,
                               cbx_finding *f, cbx_err *err)
{
    double m[2], size, change, limit;
    cbx_status st;

    if (f->basis == CBX_BASIS_SAMPLES || f->outcome == CBX_OUTCOME_REGRESSED || !(now->nsamples || base->nsamples))
        return CBX_OK;
    st = median_of(ctx, now, &m[0], err);
    if (!st) st = median_of(ctx, base, &m[1], err);
    if (st) return st;
    size = fabs(m[1]);
    change = size > 0 ? (m[0] - m[1]) / size : m[0] - m[1];
    limit = size > 0 ? fmax(l->threshold, l->minimum / size) : l->minimum;
    if (in_range(now) && in_range(base) && not_worse(change, limit, f->direction)) return CBX_OK;
    f->contradicted = true;
    if (f->outcome != CBX_OUTCOME_ZERO_BASELINE) f->outcome = CBX_OUTCOME_UNDECIDED;
    return CBX_OK;
}

/* What is not decided may still be surely small, unless the value, which need be no median, says otherwise. */
static cbx_outcome mend(cbx_outcome outcome, const cbx_finding *f)
{
    bool value_agrees = !isnan(f->change) && !cbx_verdict_exceeds(f->change, f->margin);

    if (outcome == CBX_OUTCOME_EQUIVALENT && !value_agrees) return CBX_OUTCOME_UNDECIDED;
    if (outcome == CBX_OUTCOME_IMPROVED && !not_worse(f->change, f->threshold, f->direction))
        return CBX_OUTCOME_UNDECIDED;
    if (outcome == CBX_OUTCOME_UNDECIDED && f->basis == CBX_BASIS_SAMPLES && value_agrees &&
        within(&f->interval, f->margin))
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

/* Of at most EXACT_MOST samples in all. */
static bool has_ties(const cbx_metric *a, const cbx_metric *b)
{
    double all[EXACT_MOST];
    size_t n = a->nsamples + b->nsamples;

    if (a->nsamples) memcpy(all, a->samples, a->nsamples * sizeof *all);
    if (b->nsamples) memcpy(all + a->nsamples, b->samples, b->nsamples * sizeof *all);
    cbx_stat_sort(all, n);
    for (size_t i = 1; i < n; i++)
        if (all[i] == all[i - 1]) return true;
    return false;
}

/* Exact counts with ties take milliseconds, and memory is tied more often than not: they are for findings that claim something. */
static cbx_status put_p(cbx_ctx *ctx, cbx__whitney *counts, const cbx_metric *now, const cbx_metric *base,
                        cbx_finding *f, cbx_err *err)
{
    bool claims = f->outcome == CBX_OUTCOME_REGRESSED || f->outcome == CBX_OUTCOME_IMPROVED;
    bool small = now->nsamples + base->nsamples <= EXACT_MOST;
    cbx_test_mode mode = small && !claims && has_ties(now, base) ? CBX_TEST_NORMAL : CBX_TEST_AUTO;
    cbx_test test;
    cbx_status st;

    if (f->basis != CBX_BASIS_SAMPLES) return CBX_OK;
    st = cbx__mann_whitney(ctx, now->samples, now->nsamples, base->samples, base->nsamples, mode, counts, &test, err);
    if (!st) f->p = test.p;
    return st;
}

/* A baseline of 0, or next to it, counted in minimum changes. */
static cbx_outcome outcome_by_difference(const cbx_interval side[2], double now, double base, double minimum,
                                         const cbx_finding *f)
{
    cbx_interval change;
    cbx_outcome o;

    if (!(minimum > 0)) {
        bool zero = side[0].lower == 0 && side[0].upper == 0 && side[1].lower == 0 && side[1].upper == 0;
        return zero && now == base ? CBX_OUTCOME_UNCHANGED : CBX_OUTCOME_ZERO_BASELINE;
    }
    change = cbx__change_of(&side[0], &side[1], minimum, false);
    o = outcome_of(&change, 1, f);
    return o == CBX_OUTCOME_REGRESSED || not_worse((now - base) / minimum, 1, f->direction) ? o : CBX_OUTCOME_UNDECIDED;
}

cbx_status cbx__regression_judge(cbx_ctx *ctx, const cbx_regression_opts *opts, cbx__whitney *counts,
                                 const cbx_metric *now, const cbx_metric *base, cbx_finding *f, cbx_err *err)
{
    limits l = limits_of(opts, f);
    cbx_interval side[2];
    double scale, threshold;
    cbx_status st = sides_of(ctx, opts, now, base, side, f, err);

    if (st) return st;
    if (f->basis == CBX_BASIS_SAMPLES && !(side[0].level > 0 && side[1].level > 0)) {
        f->change = base->value != 0 ? (now->value - base->value) / fabs(base->value) : NAN;
        f->outcome = CBX_OUTCOME_UNDECIDED;
        return CBX_OK;
    }
    scale = fabs(side[1].value);
    threshold = scale > 0 ? fmax(l.threshold, l.minimum / scale) : INFINITY;
    if (base->value != 0) f->change = (now->value - base->value) / fabs(base->value);
    if (!isfinite(threshold)) {
        f->outcome = outcome_by_difference(side, now->value, base->value, l.minimum, f);
    } else {
        f->threshold = threshold;
        f->margin = opts->margin > threshold ? opts->margin : threshold;
        f->interval = cbx__change_of(&side[0], &side[1], scale, true);
        f->outcome = mend(outcome_of(&f->interval, threshold, f), f);
    }
    st = opts->values_only ? CBX_OK : hear_samples(ctx, &l, now, base, f, err);
    return st ? st : put_p(ctx, counts, now, base, f, err);
}

cbx_status cbx__regression_correct(cbx_ctx *ctx, double level, cbx_finding *f, size_t n, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    double *p = cbx_mem_calloc(al, 2 * n + 1, sizeof(*p)), *adjusted = p ? p + n : NULL;
    size_t m = 0;
    cbx_status st;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu p-values", n);
    for (size_t i = 0; i < n; i++)
        if (!isnan(f[i].p)) p[m++] = f[i].p;
    st = cbx_stat_adjust(ctx, CBX_CORRECTION_HOLM, p, m, adjusted, err);
    m = 0;
    for (size_t i = 0; !st && i < n; i++) {
        bool claims = f[i].outcome == CBX_OUTCOME_REGRESSED || f[i].outcome == CBX_OUTCOME_IMPROVED;
        if (isnan(f[i].p)) continue;
        f[i].p_holm = adjusted[m++];
        if (claims && f[i].p_holm > (1 - level) * (1 + 1e-9)) f[i].outcome = mend(CBX_OUTCOME_UNDECIDED, &f[i]);
    }
    cbx_mem_free(al, p, (2 * n + 1) * sizeof(*p));
    return st;
}
