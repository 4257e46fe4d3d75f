/*
 * nperf selftest --clock: calls whose cost is known, through the whole pipeline.
 *
 * A call of nothing reads what a call costs.  A chain of additions, each waiting for the one
 * before, takes one cycle each on every processor that this runs on: two chains, the second ten
 * times as long, must read in that proportion, and the rate that they give must be one that a
 * processor can have.  The least epoch of each is looked at: a machine can only add to it.  The
 * three are measured again and again, one pass after another, because a processor changes its rate
 * between them: within a pass hardly, over the passes as often one way as the other.  The median of
 * the passes' proportions is judged by its interval.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/statistics/estimate.h"
#include "programs/nperf/selftest.h"
#include "suites/suites.h"

#define MAX_EMPTY_NS 20.0
#define MAX_OFF      0.01
#define SHORT_CHAIN  100000.0
#define LONG_CHAIN   1000000.0
#define MAX_WIDTH    0.1 /* the interval: above, the machine is too restless to tell */
#define MAX_PASSES   15
#define QUICK_PASSES 7
#define LEVEL        0.95 /* of the proportion's interval: passes attain 96.5 % and 98.4 % */
#define MIN_GHZ      0.3
#define MAX_GHZ      8.0

static const char *const points[] = {
    "{\"kernel\":\"empty\",\"n\":0}",
    "{\"kernel\":\"chain\",\"n\":100000}",
    "{\"kernel\":\"chain\",\"n\":1000000}",
};

typedef struct pass {
    double empty_ns, short_ns, long_ns;
} pass;

typedef struct readings {
    double empty_ns;    /* the least of the passes */
    double addition_ns; /* their median */
    cbx_interval off;   /* what the longer chain is off the tenfold of the shorter, both less the call */
    cbx_clock_facts clock;
} readings;

static cbx_status sum_up(cbx_ctx *ctx, const pass *passes, size_t n, readings *r)
{
    double offs[MAX_PASSES], additions[MAX_PASSES];

    r->empty_ns = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const pass *p = &passes[i];
        const double few = p->short_ns - p->empty_ns, many = p->long_ns - p->empty_ns;
        r->empty_ns = fmin(r->empty_ns, p->empty_ns);
        offs[i] = many / (LONG_CHAIN / SHORT_CHAIN * few) - 1;
        additions[i] = (p->long_ns - p->short_ns) / (LONG_CHAIN - SHORT_CHAIN);
    }
    cbx_status status = cbx_stat_median(ctx, additions, n, &r->addition_ns, NULL);
    return status ? status : cbx_stat_median_interval(ctx, offs, n, LEVEL, &r->off, NULL);
}

static int verdict_of(const readings *r)
{
    double ghz = 1 / r->addition_ns;

    if (r->empty_ns > MAX_EMPTY_NS || !(ghz >= MIN_GHZ && ghz <= MAX_GHZ)) return EXIT_CHECK;
    if (r->off.lower > MAX_OFF || r->off.upper < -MAX_OFF) return EXIT_CHECK;
    return fabs(r->off.value) <= MAX_OFF && r->off.upper - r->off.lower <= MAX_WIDTH ? EXIT_PASS : EXIT_UNDECIDED;
}

static int read_rows(const selftest *t, const cbx_rows *rows, pass *p)
{
    double *const ns[] = { &p->empty_ns, &p->short_ns, &p->long_ns };
    size_t n = 0;

    for (size_t i = 0; i < rows->count && n < CBX_LEN(ns); i++) {
        const cbx_row *row = &rows->rows[i];
        if (strcmp(row->baseline, "plain") != 0) continue;
        if (!cbx_row_is_good(row)) return selftest_unmeasured(t, "--clock", row);
        *ns[n++] = 1e9 * row->min_s;
    }
    return n == CBX_LEN(ns) ? EXIT_PASS : selftest_unmeasured(t, "--clock", NULL);
}

static int measure_pass(const selftest *t, pass *p)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    const char *const plain[] = { "plain" };

    o.case_ops = &cbx_selftest_kernels_case;
    o.points = points;
    o.npoints = CBX_LEN(points);
    o.allow = plain;
    o.nallow = 1;
    o.launches = 2;
    o.warmup = 1;
    o.repeats = 40;
    o.epoch_target_s = 0.0005; /* shorter than a slice of the scheduler */
    CLEARED(cbx_measure_result) result;
    int status = selftest_measure(t, &o, &result);
    return status ? status : read_rows(t, &result.rows, p);
}

int selftest_clock(const selftest *t, cbx_json **out)
{
    pass passes[MAX_PASSES];
    size_t npasses = t->args->quick ? QUICK_PASSES : MAX_PASSES;
    readings r = { 0 };

    for (size_t i = 0; i < npasses; i++) {
        int status = measure_pass(t, &passes[i]);
        if (status) return status;
    }
    cbx_clock_measure(&r.clock);
    if (sum_up(t->run->ctx, passes, npasses, &r)) return opt_fail(t->run, "out of memory");
    progress_end(t->progress);
    if (!t->args->json)
        printf("clock: an empty call reads %.2f ns; a dependent addition %.4f ns (%.3f GHz at a cycle each), a tenfold "
               "chain %+.2f %% off [%+.2f, %+.2f]; a reading costs %.1f ns: %s\n",
               r.empty_ns, r.addition_ns, 1 / r.addition_ns, 100 * r.off.value, 100 * r.off.lower, 100 * r.off.upper,
               r.clock.cost_ns, selftest_word(verdict_of(&r)));

    *out = cbx_json_object(
        J_NUMBER("empty_call_ns", r.empty_ns), J_NUMBER("addition_ns", r.addition_ns),
        J_NUMBER("additions_per_ns", 1 / r.addition_ns), J_NUMBER("tenfold_chain_off", r.off.value),
        J_NUMBER("tenfold_chain_off_lower", r.off.lower), J_NUMBER("tenfold_chain_off_upper", r.off.upper),
        J_NUMBER("clock_reading_ns", r.clock.cost_ns), J_NUMBER("clock_granule_ns", r.clock.granule_ns));
    return selftest_end(t, *out, verdict_of(&r));
}
