/*
 * nperf selftest --clock: calls whose cost is known, through the whole pipeline.
 *
 * A call of nothing reads what a call costs.  A chain of additions, each waiting for the one before, takes one cycle each on every processor
 * that this runs on: two chains, the second ten times as long, must read in that proportion, and the rate that they give must be
 * one that a processor can have.  The least epoch of each is looked at: a machine can only add to it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/nperf/selftest.h"
#include "suites/suites.h"

#define MOST_EMPTY_NS 20.0
#define MOST_OFF      0.01
#define SHORT_CHAIN   100000.0
#define LONG_CHAIN    1000000.0
#define MOST_SPREAD   1.1 /* of epochs, 95th percentile over least: above, a wrong proportion may be the machine's */
#define LEAST_GHZ     0.3
#define MOST_GHZ      8.0

static const char *const points[] = {
    "{\"kernel\":\"empty\",\"n\":0}",
    "{\"kernel\":\"chain\",\"n\":100000}",
    "{\"kernel\":\"chain\",\"n\":1000000}",
};

typedef struct readings {
    double empty_ns, short_ns, long_ns;
    double spread; /* the largest of the chains' */
    cbx_clock_facts clock;
} readings;

/* What the longer chain is off the tenfold of the shorter, both less the call. */
static double off(const readings *r)
{
    double few = r->short_ns - r->empty_ns, many = r->long_ns - r->empty_ns;
    return many / (LONG_CHAIN / SHORT_CHAIN * few) - 1;
}

static double addition_ns(const readings *r) { return (r->long_ns - r->short_ns) / (LONG_CHAIN - SHORT_CHAIN); }

static bool holds(const readings *r)
{
    double ghz = 1 / addition_ns(r);
    return r->empty_ns <= MOST_EMPTY_NS && fabs(off(r)) <= MOST_OFF && ghz >= LEAST_GHZ && ghz <= MOST_GHZ;
}

static int verdict_of(const readings *r)
{
    return holds(r) ? EXIT_PASS : r->spread > MOST_SPREAD ? EXIT_UNDECIDED : EXIT_CHECK;
}

static cbx_json *readings_json(const readings *r)
{
    cbx_json *o = cbx_json_new_object();

    if (!o) return NULL;
    cbx_json_set_double(o, "empty_call_ns", r->empty_ns);
    cbx_json_set_double(o, "addition_ns", addition_ns(r));
    cbx_json_set_double(o, "additions_per_ns", 1 / addition_ns(r));
    cbx_json_set_double(o, "tenfold_chain_off", off(r));
    cbx_json_set_double(o, "epoch_spread", r->spread);
    cbx_json_set_double(o, "clock_reading_ns", r->clock.cost_ns);
    cbx_json_set_double(o, "clock_granule_ns", r->clock.granule_ns);
    selftest_put_verdict(o, verdict_of(r));
    return o;
}

static void print_readings(const readings *r)
{
    printf("clock: an empty call reads %.2f ns; a dependent addition %.4f ns (%.3f GHz at a cycle each), a tenfold "
           "chain %+.2f %% off; "
           "a reading costs %.1f ns: %s\n",
           r->empty_ns, addition_ns(r), 1 / addition_ns(r), 100 * off(r), r->clock.cost_ns,
           selftest_word(verdict_of(r)));
}

static int read_rows(const selftest *t, const cbx_rows *rows, readings *r)
{
    double *const ns[] = { &r->empty_ns, &r->short_ns, &r->long_ns };
    size_t n = 0;

    for (size_t i = 0; i < rows->count && n < CBX_LEN(ns); i++) {
        const cbx_row *row = &rows->rows[i];
        if (strcmp(row->baseline, "plain") != 0) continue;
        if (!cbx_row_is_good(row)) return selftest_unmeasured(t, "--clock", row);
        *ns[n++] = 1e9 * row->min_s;
        if (n > 1) r->spread = fmax(r->spread, row->p95_s / row->min_s);
    }
    return n == CBX_LEN(ns) ? EXIT_PASS : selftest_unmeasured(t, "--clock", NULL);
}

int selftest_clock(const selftest *t, cbx_json **out)
{
    cbx_measure_opts o = CBX_MEASURE_OPTS_INIT;
    const char *const plain[] = { "plain" };
    cbx_measure_result result;
    readings r = { 0 };
    int status;

    o.case_ops = &cbx_selftest_kernels_case;
    o.points = points;
    o.npoints = CBX_LEN(points);
    o.allow = plain;
    o.nallow = 1;
    o.launches = t->args->quick ? 6 : 11;
    o.warmup = 1;
    o.repeats = 40;
    o.epoch_target_s = 0.0005; /* shorter than a slice of the scheduler */
    status = selftest_measure(t, &o, &result);
    cbx_clock_measure(&r.clock);
    if (!status) status = read_rows(t, &result.rows, &r);
    cbx_measure_result_clear(&result);
    if (status) return status;
    progress_end(t->progress);
    if (!t->args->json) print_readings(&r);
    *out = readings_json(&r);
    if (!*out) return opt_fail(t->run->program, "out of memory");
    return verdict_of(&r);
}
