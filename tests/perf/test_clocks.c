/* What a launch believes of the times that its worker reports: clocks that lie, work that is hidden
 * from them, threads that only wait. */
#include "check.h"
#include "launch_support.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/perf/launch/launch_run.h"
#include "calibrax/perf/launch/workload.h"
#include "calibrax/statistics/estimate.h"

/* A worker whose clock runs slow flatters itself; one whose clock runs fast claims more time than
 * has passed. */
TEST(lying_clocks)
{
    static const struct {
        const char *percent;
        cbx_failure failure;
        const char *why;
    } cases[] = { { "50", CBX_FAILURE_CLOCKS_DISAGREE, "half the time" },
                  { "80", CBX_FAILURE_CLOCKS_DISAGREE, "four fifths of it" },
                  { "200", CBX_FAILURE_CLOCKS_DISAGREE, "twice the time" } };
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":10,\"spin_us\":20000}", 1);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_env_setting clock = { TOY_CLOCK, cases[i].percent };
        cbx_launch_opts o = quick_opts();
        o.env = &clock;
        o.nenv = 1;
        o.iterations = 1;
        o.epochs = 3;
        const cbx_launch_record *r = launch_on(f, w, "spin", &o);
        fail_if_too_busy(r);
        check_failure(r, cases[i].failure, cases[i].why);
    }
}

/* A busy machine can wake the parent late throughout a launch; then the caller tries again,
 * as here. */
static const cbx_launch_record *honest_launch(fixture *f, const cbx_workload *w, const cbx_launch_opts *o)
{
    for (int attempt = 0;; attempt++) {
        const cbx_launch_record *r = launch_on(f, w, "spin", o);
        if (r->failure == CBX_FAILURE_NONE) return r;
        bool may_pass = r->failure == CBX_FAILURE_CLOCKS_DISAGREE || r->failure == CBX_FAILURE_LAZY_RESULT ||
                        r->failure == CBX_FAILURE_CONTENDED;
        if (attempt == 4) fail_if_too_busy(r);
        if (!may_pass || attempt == 4) fail_msg("%s (%s)", cbx_failure_word(r->failure), r->message);
    }
}

/* A property of the pipe, not a speed: the best of several tries, for the machine may be busy. */
TEST(both_clocks_agree)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":10,\"spin_us\":20000}", 1);
    double typical = INFINITY, off[5];
    for (int attempt = 0; attempt < 8 && typical > 0.02; attempt++) { /* a busy machine wakes the parent late */
        cbx_launch_opts o = quick_opts();
        o.iterations = 1;
        o.epochs = 5;
        const cbx_launch_record *r = honest_launch(f, w, &o);
        for (size_t i = 0; i < r->epochs; i++) {
            CHECK(r->epoch_ns[i] >= 19.9e6, "an epoch of 20 ms");
            off[i] = fabs(r->outer_ns[i] / r->epoch_ns[i] - 1);
        }
        cbx_stat_sort(off, r->epochs);
        typical = off[r->epochs / 2];
    }
    CHECK_LE(typical, 0.02, "the parent's and the worker's clock on epochs of 20 ms");
}

TEST(calibration)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":10,\"spin_us\":1000}", 1);
    cbx_launch_opts o = quick_opts();
    o.iterations = 0;
    o.epochs = 2;
    const cbx_launch_record *r = honest_launch(f, w, &o);
    CHECK(r->iterations_chosen >= 2 && r->iterations_chosen <= 21,
          "about twenty calls of 1 ms, fewer on a busy machine");

    o.slow_call_s = 0.0005; /* now a call is slow */
    o.slow_epochs = 1;
    o.epochs = 9;
    o.warmup = 50;
    r = honest_launch(f, w, &o);
    CHECK_INT(r->iterations_chosen, 1, "a slow call is an epoch");
    CHECK_INT(r->epochs, 1, "and few of them are made");
    CHECK(r->fidelity.checks >= 2, "still checked");
}

/* Work that is hidden from the clock: slow while it is calibrated, after the clock, or done once
 * for all. A busy machine may disturb an honest worker, so those have several tries. */
TEST(hidden_work)
{
    static const struct {
        const char *baseline;
        uint64_t iterations;
        cbx_failure failure;
        const char *why;
    } cases[] = {
        { "sandbag_lie", 0, CBX_FAILURE_CLOCKS_DISAGREE, "epochs of 5 ms, reported as 50 us" },
        { "sandbag-again", 0, CBX_FAILURE_CLOCKS_DISAGREE, "slow in every calibration" },
        { "late", 1, CBX_FAILURE_LAZY_RESULT, "works when the outputs are asked for" },
        { "late", 10, CBX_FAILURE_LAZY_RESULT, "the same in epochs of ten calls" },
        { "late-in-many", 10, CBX_FAILURE_LAZY_RESULT, "the same in epochs of many calls only" },
        { "memo-content", 1, CBX_FAILURE_LAZY_RESULT, "remembers its inputs" },
        { "memo-content", 10, CBX_FAILURE_LAZY_RESULT, "the same in epochs of ten calls" },
        { "short-memo", 0, CBX_FAILURE_LAZY_RESULT, "remembers inputs of short calls" },
        { "short-ahead", 0, CBX_FAILURE_LAZY_RESULT, "makes short calls before they are asked for" },
        { "honest-short-memo", 0, CBX_FAILURE_NONE, "short and honest" },
        { "sandbag", 0, CBX_FAILURE_NONE, "calibrated again, and then as it should be" },
        { "spin", 1, CBX_FAILURE_NONE, "honest" },
        { "spin", 3, CBX_FAILURE_NONE, "honest" },
    };
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":1000,\"spin_us\":8000}", 1);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bool honest = cases[i].failure == CBX_FAILURE_NONE;
        const cbx_launch_record *r = NULL;
        for (int attempt = 0; attempt < (honest ? 5 : 1); attempt++) {
            cbx_launch_opts o = quick_opts();
            o.iterations = cases[i].iterations;
            o.epochs = 5;
            o.seed = i + 1;
            r = launch_on(f, w, cases[i].baseline, &o);
            if (r->failure == cases[i].failure) break;
        }
        fail_if_too_busy(r);
        check_failure(r, cases[i].failure, cases[i].why);
        if (honest && cases[i].iterations == 0) CHECK_GT(r->iterations, 1, cases[i].why);
        if (honest) CHECK(r->clock_ratio > 0.5 && r->clock_ratio < 1.01, "the clocks' ratio");
    }
}

/* A workload with a single draw, its oracle being slow, say: further ones are made where the
 * reading on it is too long. */
TEST(one_reading_is_no_proof)
{
    static const struct {
        const char *baseline;
        cbx_failure failure;
    } cases[] = { { "spoilt", CBX_FAILURE_NONE }, { "memo-content", CBX_FAILURE_LAZY_RESULT } };
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":1000,\"spin_us\":8000}", 1);
    cbx_workload *const single[] = { w, cheat_workload(f) };
    for (size_t i = 0; i < CBX_LEN(single); i++) {
        while (single[i]->nfresh > 1) cbx_workload_free(single[i]->fresh[--single[i]->nfresh]);
    }
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        for (uint64_t iterations = 1; iterations <= 3; iterations += 2) {
            cbx_launch_opts o = quick_opts();
            o.iterations = iterations;
            const cbx_launch_record *r = launch_on(f, w, cases[i].baseline, &o);
            fail_if_too_busy(r);
            check_failure(r, cases[i].failure, cases[i].baseline);
        }
    }
}

/* While 16 MB of outputs are written the other thread uses as much CPU time as the writer, and does
 * nothing in it. */
TEST(threads_that_wait_awake)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":4000000}", 1);
    cbx_env_setting awake[] = { { "GOMP_SPINCOUNT", "400000" }, { "KMP_BLOCKTIME", "6" } }; /* for about 6 ms */
    cbx_launch_opts o = quick_opts();
    cpu_set_t cpus;
    int put_off = 0;
    if (sched_getaffinity(0, sizeof cpus, &cpus) || CPU_COUNT(&cpus) < 2) SKIP("hardware: there is one CPU");
    o.threads = 2;
    o.env = awake;
    o.nenv = CBX_LEN(awake);
    o.iterations = 20;
    o.epochs = 5;
    for (int i = 0; i < 4; i++) { /* a busy machine may spoil one */
        const cbx_launch_record *r = launch_on(f, w, "team", &o);
        put_off += r->failure == CBX_FAILURE_LAZY_RESULT;
        if (put_off > 1) fail_msg("%s (%s)", cbx_failure_word(r->failure), r->message);
    }
}

/* The share by which a worker lies can be read, whether or not one launch is enough to
 * refuse it. */
TEST(clock_ratio)
{
    fixture *f = *test_state;
    cbx_workload *w = make_workload(f, &toy_case, "{\"n\":10,\"spin_us\":10000}", 1);
    cbx_env_setting clock = { TOY_CLOCK, "85" };
    double best = 0;
    for (int attempt = 0; attempt < 5 && best < 0.84; attempt++) {
        cbx_launch_opts o = quick_opts();
        o.env = &clock;
        o.nenv = 1;
        o.iterations = 2;
        o.epochs = 5;
        const cbx_launch_record *r = launch_on(f, w, "spin", &o);
        fail_if_too_busy(r);
        best = fmax(best, r->clock_ratio);
        CHECK_LE(r->clock_ratio, 0.86, "never nearer to the truth than it is");
        CHECK_INT(r->failure, CBX_FAILURE_CLOCKS_DISAGREE, "and now seen in one launch already");
    }
    CHECK_GT(best, 0.75, "the ratio is the lie, and what a busy machine adds");
    cbx_launch_opts o = quick_opts();
    const cbx_launch_record *r = launch(f, "good", &o);
    CHECK(isnan(r->clock_ratio), "epochs of microseconds say nothing");
}

/* Readings of ten epochs of 14 ms, made up: what the kernel counted as waiting explains those that
 * differ, or does not. */
TEST(crowded_readings)
{
    static const struct {
        size_t off; /* epochs that the parent saw take longer */
        double more_ms, sure_ms,
            wait_ms; /* by so much; waits that were certainly outside of the reading; all of the worker's */
        cbx__run_clocks wanted;
        const char *why;
    } cases[] = {
        { 6, 3, 0, 4, CBX__CLOCKS_UNSURE, "the first of several waits may have been the longest by far" },
        { 6, 4, 0, 2, CBX__CLOCKS_DISAGREE, "longer than all waits" },
        { 6, 3, 3, 3, CBX__CLOCKS_AGREE, "waits before the worker ran" },
        { 5, 3, 0, 0, CBX__CLOCKS_AGREE, "half of them: accidents of the machine" },
        { 10, 3, 0, 4, CBX__CLOCKS_DISAGREE, "the best one, too: waiting in each is no excuse" },
        { 0, 0, 0, 9, CBX__CLOCKS_AGREE, "waits inside the reading" },
    };
    cbx_launch_record *r = calloc(1, sizeof *r);
    cbx__run *x = calloc(1, sizeof *x);
    CHECK(r && x, "memory");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        x->r = r;
        r->epochs = 10;
        r->iterations = 100;
        for (size_t k = 0; k < r->epochs; k++) {
            bool off = k < cases[i].off;
            r->epoch_ns[k] = 0.14e6;
            x->raw_ns[k] = 14e6 + (off ? 1e6 * cases[i].more_ms : 0);
            x->sure_ns[k] = off ? 1e6 * cases[i].sure_ms : 0;
            r->wait_ns[k] = 1e6 * cases[i].wait_ms;
        }
        CHECK_INT(cbx__run_compare_clocks(x), cases[i].wanted, cases[i].why);
    }
    free(r);
    free(x);
}

TESTS(.seconds = 600, .before = launch_setup, .after = launch_teardown)
