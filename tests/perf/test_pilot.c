/* Counts from a pilot whose launches are made up: variance, cost, budget, precision; and epochs
 * before the steady state. */
#include "check.h"
#include "fail_alloc.h"
#include "point_support.h"

#include <math.h>

#include "calibrax/base/rng.h"
#include "calibrax/perf/sweep/plan.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/statistics/estimate.h"

/* The rig, asked for 11 launches of 10 epochs. */
static rig *start(void **state)
{
    rig *r = fresh(state);
    r->s.launches = 11;
    r->s.epochs = 10;
    r->p.limit = "asked";
    r->p.share_s = INFINITY;
    r->p.counts = (cbx__counts){ .launches = 11, .epochs = 10, .warmup = true };
    return r;
}

/* A launch of so many epochs [ms]; `outside_s` is its cost apart from them. */
static cbx__launch *add_launch(rig *r, cbx__attempt *a, const double *ms, size_t n, double outside_s)
{
    cbx__launch *l = cbx__attempt_add(&r->p.arena, a);
    double sum = 0;

    l->round = a->nlaunches - 1;
    l->record.iterations = 1;
    l->record.epochs = n;
    for (size_t e = 0; e < n; e++) {
        l->record.epoch_ns[e] = 1e6 * ms[e];
        sum += 1e-3 * ms[e];
    }
    l->median_s = sum / (double)n;
    l->wall_s = outside_s + l->median_s * (double)n;
    if (a->nlaunches > r->p.rounds) r->p.rounds = a->nlaunches;
    return l;
}

/* Three launches of 10 epochs, 10 ms each, that vary by these shares. */
static void add_pilot(rig *r, cbx__attempt *a, double between, double within, double outside_s)
{
    static const double launch[] = { -1, 0, 1 };
    for (size_t i = 0; i < CBX_LEN(launch); i++) {
        double ms[10];
        for (size_t e = 0; e < 10; e++) ms[e] = 10 * (1 + between * launch[i] + within * (e % 2 ? 1 : -1));
        add_launch(r, a, ms, 10, outside_s);
    }
}

static void plan(rig *r, double spent_s, const char *why)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx__pilot_plan(r->ctx, &r->s, &r->p, spent_s, &err), &err, why);
}

/* Variance of the mean for one second's worth of launches. */
static double variance_a_second(const cbx__pilot *p, double r)
{
    return (p->launch_cv * p->launch_cv + p->epoch_cv * p->epoch_cv / r) * (p->launch_s + r * p->epoch_s);
}

/* The best number of epochs is the one that no other beats, found by trying all. */
TEST(the_best_epochs_are_the_best)
{
    static const struct {
        double between, within, outside_s;
        const char *why;
    } cases[] = {
        { 0.01, 0.02, 0.5, "a launch costs fifty epochs" },
        { 0.02, 0.01, 0.02, "launches vary more" },
        { 0.005, 0.05, 0.1, "epochs vary more" },
        { 0.03, 0.001, 2, "epochs hardly vary" },
        { 0.01, 0.03, 5, "a framework that starts for long" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx__pilot p;
        size_t best = 1;
        rig *r = start(test_state);
        cbx__attempt *a = add_attempt(r, "good", "default");
        add_pilot(r, a, cases[i].between, cases[i].within, cases[i].outside_s);
        CHECK_OK(cbx__pilot_read(&r->p.arena, &r->s, a, 1000, &p, &err), &err, cases[i].why);
        CHECK_INT(p.launches, 3, cases[i].why);
        CHECK_LE(fabs(p.mean_s - 0.01), 1e-12, cases[i].why);
        CHECK_LE(fabs(p.launch_s - cases[i].outside_s), 1e-9, cases[i].why);
        CHECK_LE(fabs(p.epoch_s - 0.01), 1e-9, cases[i].why);
        /* sums of squares by hand: 30 values at +-within about their launch, 3 launches at
         * -between, 0, between */
        CHECK_LE(fabs(p.epoch_cv - cases[i].within * sqrt(30.0 / 27)), 1e-9, cases[i].why);
        double between = cases[i].between * cases[i].between - p.epoch_cv * p.epoch_cv / 10;
        CHECK_LE(fabs(p.launch_cv - sqrt(fmax(0, between))), 1e-9, cases[i].why);
        for (size_t e = 2; e <= 1000 && between > 0; e++)
            if (variance_a_second(&p, (double)e) < variance_a_second(&p, (double)best)) best = e;
        if (between > 0) CHECK(p.best_epochs >= best && p.best_epochs <= best + 1, cases[i].why);
    }
}

TEST(without_budget_or_goal_nothing_changes)
{
    rig *r = start(test_state);
    add_pilot(r, add_attempt(r, "good", "default"), 0.02, 0.01, 0.02);
    plan(r, 1, "no reason to change anything");
    CHECK_INT(r->p.plan.attempts[0].pilot.launches, 3, "but it is recorded");
    CHECK_INT(cbx__epochs_of(&r->p, &r->p.plan.attempts[0]), 10, "epochs as asked");
    CHECK_INT(r->p.counts.launches, 11, "launches as asked");
    CHECK_INT(r->p.looks.count, 0, "no looks");
}

/* Seconds that the rounds to come take by the pilot. */
static double to_come(const rig *r)
{
    double s = 0;
    for (size_t i = 0; i < r->p.plan.count; i++) {
        const cbx__attempt *a = &r->p.plan.attempts[i];
        s += a->pilot.launch_s + a->pilot.epoch_s * (double)cbx__epochs_of(&r->p, a);
    }
    return s * (double)(r->p.counts.launches - r->p.rounds);
}

TEST(a_budget_is_shared_by_the_rows)
{
    static const struct {
        double left_s;
        const char *why;
    } cases[] = { { 100, "all that was asked for fits" },
                  { 8.5, "fewer epochs" },
                  { 5.2, "and fewer launches" },
                  { 3.5, "few launches" } };
    size_t before = 11;
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        rig *r = start(test_state);
        add_pilot(r, add_attempt(r, "good", "default"), 0.02, 0.01, 0.3);
        add_pilot(r, add_attempt(r, "spin", "default"), 0.005, 0.05, 0.6);
        r->p.share_s = 10 + cases[i].left_s;
        if (cases[i].left_s < 100) r->p.counts.epochs = 4; /* the cut after the first round */
        plan(r, 10, cases[i].why);
        CHECK_LE(to_come(r), cases[i].left_s, cases[i].why);
        CHECK_LE(r->p.counts.launches, before, cases[i].why);
        CHECK(r->p.counts.launches >= CBX__MIN_LAUNCHES, cases[i].why);
        before = r->p.counts.launches;
        if (i == 2)
            CHECK_GT(cbx__epochs_of(&r->p, &r->p.plan.attempts[1]), cbx__epochs_of(&r->p, &r->p.plan.attempts[0]),
                     "the row whose epochs vary gets more of them");
    }
    CHECK(before < 11, "the least budget cut launches");
}

TEST(a_precision_plans_looks)
{
    static const struct {
        double half_width, budget_s;
        size_t launches;
        const char *limit, *why;
    } cases[] = {
        { 0.10, 0, 200, "precision", "a wide goal" },
        { 0.01, 0, 200, "most", "more than may be" },
        { 0.01, 0, 40, "most", "more than was allowed" },
        { 0.01, 40, 200, "budget", "more than the time" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx__attempt *a;
        rig *r = start(test_state);
        r->s.goal.half_width = cases[i].half_width;
        r->s.launches = cases[i].launches;
        if (cases[i].budget_s > 0) r->p.share_s = cases[i].budget_s;
        a = add_attempt(r, "good", "default");
        add_pilot(r, add_attempt(r, "spin", "default"), 0.03, 0.01, 0.3);
        add_pilot(r, &r->p.plan.attempts[0], 0.03, 0.01, 0.3);
        plan(r, 2, cases[i].why);
        CHECK_STR(r->p.limit, cases[i].limit, cases[i].why);
        CHECK_INT(r->p.looks.pairs[r->p.looks.count - 1], r->p.counts.launches, cases[i].why);
        CHECK_LE(r->p.counts.launches, cases[i].launches, cases[i].why);
        CHECK(r->p.counts.launches >= 11, "never below the floor of a verdict");
        if (cases[i].budget_s > 0) CHECK_LE(to_come(r), cases[i].budget_s - 2, cases[i].why);
        CHECK_GT(r->p.plan.attempts[1].pilot.needed, a->pilot.needed, "a ratio varies more than the reference alone");
    }
}

TEST(the_needed_launches_reach_the_goal)
{
    cbx_rng rng = cbx_rng_make(3, 1);
    size_t reached = 0, runs = 400;
    rig *r = start(test_state);
    r->s.goal.half_width = 0.02;
    r->s.launches = 200;
    cbx__attempt *a = add_attempt(r, "good", "default");
    add_pilot(r, a, 0.05, 0.001, 0.3);
    plan(r, 1, "a reference alone");
    size_t n = a->pilot.needed;
    for (size_t run = 0; run < runs; run++) {
        double x[400];
        cbx_interval iv;
        for (size_t i = 0; i < n; i++) x[i] = exp(0.05 * cbx_rng_normal(&rng));
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_stat_median_interval(r->ctx, x, n, 0.98, &iv, &err), &err, "an interval");
        reached += iv.upper - iv.lower <= 2 * 0.02 * iv.value;
    }
    /* an expected half width is reached about every second time */
    CHECK(reached > runs / 4 && reached < runs, "about as many as it takes");
}

TEST(a_warm_up_keeps_the_epochs_that_show_it)
{
    double ms[10] = { 30, 28, 30, 29, 30, 10, 10.1, 10, 9.9, 10 };
    rig *r = start(test_state);
    r->s.goal.half_width = 0.05;
    r->s.launches = 200;
    cbx__attempt *a = add_attempt(r, "good", "default");
    for (size_t i = 0; i < 3; i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx__launch *l = add_launch(r, a, ms, 10, 0.01);
        CHECK_OK(cbx__launch_settle(r->ctx, l, &err), &err, "settled");
        CHECK_INT(l->steady, CBX_STEADY_WARMUP, "three times as slow at first");
        CHECK_INT(l->steady_from, 5, "until the sixth epoch");
        CHECK_LE(fabs(l->median_s - 0.01), 1e-15, "the median is of what lasts");
        ms[0] += 1e-3;
    }
    plan(r, 1, "a warm-up");
    CHECK_INT(a->pilot.warmed, 3, "seen in each launch");
    CHECK_LE(fabs(a->pilot.mean_s - 0.01), 1e-12, "variance is of what lasts, too");
    CHECK(cbx__epochs_of(&r->p, a) >= 10, "fewer epochs would hide it");
}

TEST(what_counts_of_a_launch)
{
    static const struct {
        double ms[12];
        cbx_steady_class kind;
        size_t from;
        double median_s;
        const char *why;
    } cases[] = {
        { { 10, 10.1, 10, 9.9, 10, 10, 10.1, 9.9, 10, 10.1, 10, 9.9 }, CBX_STEADY_FLAT, 0, 0.010, "one level" },
        { { 10, 10.1, 10, 9.9, 10, 10, 20, 20.1, 20, 19.9, 20, 20 },
          CBX_STEADY_SLOWDOWN,
          6,
          0.020,
          "it lasts, so it counts, though it is slower" },
        { { 20, 20.1, 20, 19.9, 20, 20, 10, 10.1, 10, 9.9, 10, 10 }, CBX_STEADY_WARMUP, 6, 0.010, "a warm-up" },
        { { 10, 10.1, 10, 9.9, 10, 90, 10, 10.1, 10, 9.9, 10, 10 },
          CBX_STEADY_FLAT,
          0,
          0.010,
          "one wild epoch is no level" },
    };
    rig *r = start(test_state);
    cbx__attempt *a = add_attempt(r, "good", "default");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx__launch *l = add_launch(r, a, cases[i].ms, 12, 0.01);
        CHECK_OK(cbx__launch_settle(r->ctx, l, &err), &err, cases[i].why);
        CHECK_INT(l->steady, cases[i].kind, cases[i].why);
        CHECK_INT(l->steady_from, cases[i].from, cases[i].why);
        CHECK_LE(fabs(l->median_s - cases[i].median_s), 1e-12, cases[i].why);
    }
}

TEST(complaints)
{
    static const double ms[] = { 10, 10 };
    size_t repeated = 0;
    rig *r = start(test_state);
    cbx__attempt *a = add_attempt(r, "good", "default");
    cbx__launch *l = add_launch(r, a, ms, 2, 0.1);
    CHECK(cbx__launch_complaint(l) == NULL, "nothing happened");
    l->record.steal_ticks = 1;
    CHECK(cbx__launch_complaint(l) == NULL, "one tick is the grain of the counter");
    l->record.steal_ticks = 100000;
    CHECK_STR(cbx__launch_complaint(l), "stolen", "the host took the CPU");
    l->record.steal_ticks = 0;
    l->record.throttles = UINT64_MAX;
    CHECK(cbx__launch_complaint(l) == NULL, "nobody counts");
    l->record.throttles = 1;
    CHECK_STR(cbx__launch_complaint(l), "throttled", "slowed down for heat");
    l->median_s = NAN;
    CHECK(cbx__launch_complaint(l) == NULL, "a failed launch has its own word");
    /* a machine that always complains: no more than a third of all launches are repeats */
    for (size_t i = 0; i < 60; i++) {
        l = add_launch(r, a, ms, 2, 0.1);
        l->unhealthy = "stolen";
        if (!cbx__launch_repeats(a)) continue;
        add_launch(r, a, ms, 2, 0.1)->retry = true;
        repeated++;
    }
    CHECK(repeated > 10, "some are made again");
    CHECK_LE(3 * repeated, a->nlaunches + 3, "not all of them");
}

static cbx_status plan_once(cbx_ctx *ctx, void *user)
{
    rig *r = user;
    r->p.looks.count = 0;
    return cbx__pilot_plan(ctx, &r->s, &r->p, 1, NULL);
}

TEST(no_memory)
{
    rig *r = start(test_state);
    r->s.goal.half_width = 0.02;
    r->s.launches = 50;
    add_pilot(r, add_attempt(r, "good", "default"), 0.02, 0.01, 0.3);
    CHECK_GT(cbx_test_fail_each(plan_once, r, "cbx__pilot_plan"), 0, "allocations were made to fail");
}

TESTS(.before = rig_setup, .after = rig_teardown)
