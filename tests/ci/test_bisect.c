/*
 * The search for a commit under noise: simulated histories, ends that are not good and bad, merges,
 * broken commits, state.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/rng.h"
#include "calibrax/ci/bisect.h"
#include "calibrax/ci/bisect_model.h"
#include "fail_alloc.h"

#define MAX_COMMITS 256

/* A history: a line unless parents are given. */
typedef struct history {
    size_t n;
    char text[MAX_COMMITS][16];
    const char *names[MAX_COMMITS];
    size_t first[MAX_COMMITS + 1], parents[2 * MAX_COMMITS];
    bool merged;
    bool bad[MAX_COMMITS]; /* by the truth */
    size_t truth;
} history;

static void line(history *h, size_t n, size_t truth)
{
    h->n = n;
    h->merged = false;
    h->truth = truth;
    for (size_t i = 0; i < n; i++) {
        snprintf(h->text[i], sizeof h->text[i], "c%zu", i);
        h->names[i] = h->text[i];
        h->bad[i] = i >= truth;
    }
}

/* Two branches of k commits each from the good end (even and odd numbers), and a merge at
 * the end. */
static void diamond(history *h, size_t k, size_t truth)
{
    size_t used = 0;

    line(h, 2 * k + 1, truth);
    h->merged = true;
    for (size_t i = 0; i < 2 * k; i++) {
        h->first[i] = used;
        if (i >= 2) h->parents[used++] = i - 2;
        h->bad[i] = i >= truth && i % 2 == truth % 2;
    }
    h->first[2 * k] = used;
    h->parents[used++] = 2 * k - 2;
    h->parents[used++] = 2 * k - 1;
    h->first[2 * k + 1] = used;
    h->bad[2 * k] = true;
}

static cbx_status make(cbx_ctx *ctx, const history *h, const cbx_bisect_opts *opts, cbx_bisect **out, cbx_err *err)
{
    cbx_bisect_graph g = { h->n, "good", h->names, h->merged ? h->first : NULL, h->merged ? h->parents : NULL };
    return cbx_bisect_create(ctx, &g, opts, out, err);
}

typedef struct world {
    double step, noise; /* relative */
    cbx_rng rng;
} world;

static double launch(world *w, const history *h, size_t commit)
{
    bool bad = commit != CBX_BISECT_GOOD_END && h->bad[commit];
    return 0.1 * (bad ? 1 + w->step : 1) * (1 + w->noise * cbx_rng_normal(&w->rng));
}

static cbx_bisect_outcome search(cbx_bisect *b, const history *h, world *w)
{
    cbx_bisect_outcome outcome;
    size_t commit = 0;

    while ((outcome = cbx_bisect_next(b, &commit)) == CBX_BISECT_RUNNING) {
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_bisect_observe(b, commit, launch(w, h, commit), &err), &err, "observe");
    }
    return outcome;
}

typedef struct score {
    size_t right, launches;
} score;

/* Many histories of 128 commits with the step anywhere in them. */
static score simulate(cbx_ctx *ctx, size_t histories, double step, double noise, bool merged)
{
    history *h = malloc(sizeof *h);
    score s = { 0, 0 };

    CHECK(h, "memory");
    for (size_t i = 0; i < histories; i++) {
        world w = { step, noise, cbx_rng_make(20240, i) };
        cbx_err err = CBX_ERR_INIT;
        cbx_bisect_result r;
        cbx_bisect *b = NULL;
        if (merged)
            diamond(h, 63, (size_t)cbx_rng_below(&w.rng, 127));
        else
            line(h, 128, (size_t)cbx_rng_below(&w.rng, 128));
        CHECK_OK(make(ctx, h, NULL, &b, &err), &err, "create");
        search(b, h, &w);
        cbx_bisect_read(b, &r);
        s.right += r.outcome == CBX_BISECT_FOUND && r.nsuspects == 1 && r.suspects[0] == h->truth;
        s.launches += r.launches;
        cbx_bisect_free(b);
    }
    free(h);
    return s;
}

static size_t histories_wanted(void)
{
    const char *text = getenv("CBX_BISECT_HISTORIES");
    return text ? (size_t)strtoul(text, NULL, 10) : 200;
}

/* Seven halvings of 128 commits at 25 launches each: what a classic bisection needs for the same
 * success. */
#define CLASSIC_LAUNCHES (7 * 25)

TEST(finds_a_small_step)
{
    static const struct {
        double step, noise;
        bool merged;
        const char *why;
    } cases[] = {
        { 0.03, 0.02, false, "3 % in 2 % of noise" },
        { 0.03, 0.02, true, "the same on two branches" },
        { 0.10, 0.02, false, "a plain step" },
    };
    size_t n = histories_wanted();
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        score s = simulate(ctx, n, cases[i].step, cases[i].noise, cases[i].merged);
        print_message("# %s: %zu of %zu found, %.1f launches each\n", cases[i].why, s.right, n,
                      (double)s.launches / (double)n);
        CHECK_LE(0.95 * (double)n, s.right, cases[i].why);
        CHECK_LE((double)s.launches / (double)n, 0.6 * CLASSIC_LAUNCHES, cases[i].why);
    }
    cbx_ctx_free(ctx);
}

TEST(ends_are_tested_first)
{
    static const struct {
        double step;
        bool higher, any;
        cbx_bisect_outcome wanted;
        const char *why;
    } cases[] = {
        { 0.0, false, false, CBX_BISECT_UNCHANGED, "no change at all" },
        { -0.1, false, false, CBX_BISECT_SWAPPED, "faster at the bad end" },
        { -0.1, false, true, CBX_BISECT_FOUND, "faster, and asked for" },
        { -0.1, true, false, CBX_BISECT_FOUND, "a rate that falls is a regression" },
        { 0.1, true, false, CBX_BISECT_SWAPPED, "a rate that grows is no slow-down" },
    };
    cbx_ctx *ctx = cbx_test_context();
    history h;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        world w = { cases[i].step, 0.01, cbx_rng_make(5, i) };
        cbx_bisect_opts opts = CBX_BISECT_OPTS_INIT;
        cbx_err err = CBX_ERR_INIT;
        cbx_bisect_result r;
        cbx_bisect *b = NULL;
        line(&h, 40, 17);
        opts.higher_is_better = cases[i].higher;
        opts.any_change = cases[i].any;
        CHECK_OK(make(ctx, &h, &opts, &b, &err), &err, cases[i].why);
        CHECK_INT(search(b, &h, &w), cases[i].wanted, cases[i].why);
        cbx_bisect_read(b, &r);
        CHECK(fabs(r.change - cases[i].step) <= 5 * r.change_error, "the change is what it is");
        CHECK(fabs(r.noise - 0.01) < 0.006, "and so is the noise");
        if (r.outcome == CBX_BISECT_FOUND)
            CHECK_INT(r.likeliest, 17, cases[i].why);
        else
            CHECK_INT(r.launches, r.end_launches, "no other commit was run");
        cbx_bisect_free(b);
    }
    cbx_ctx_free(ctx);
}

/* What the ends take where nothing is to be found, and that a step which their launches can show is
 * still found. */
TEST(equal_ends_are_given_up_early)
{
    static const struct {
        double step, max_launches, min_found;
        const char *why;
    } cases[] = {
        { 0, 70, 0, "no step: 120 launches are allowed, little more than half are spent" },
        { 0.015, 120, 0.8, "three quarters of the noise" },
        { 0.02, 120, 0.95, "a step of the size of the noise" },
    };
    enum { SEARCHES = 200 };
    cbx_ctx *ctx = cbx_test_context();
    history h;

    line(&h, 1, 0); /* the ends alone */
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        size_t found = 0, launches = 0;
        for (size_t i = 0; i < SEARCHES; i++) {
            world w = { cases[k].step, 0.02, cbx_rng_make(8, i) };
            cbx_err err = CBX_ERR_INIT;
            cbx_bisect_result r;
            cbx_bisect *b = NULL;
            CHECK_OK(make(ctx, &h, NULL, &b, &err), &err, "create");
            found += search(b, &h, &w) == CBX_BISECT_FOUND;
            cbx_bisect_read(b, &r);
            launches += r.launches;
            cbx_bisect_free(b);
        }
        print_message("# %s: %zu of %d found, %.1f launches each\n", cases[k].why, found, SEARCHES,
                      (double)launches / SEARCHES);
        CHECK_LE((double)launches / SEARCHES, cases[k].max_launches, cases[k].why);
        CHECK_LE(cases[k].min_found * SEARCHES, found, cases[k].why);
    }
    cbx_ctx_free(ctx);
}

/* Against counting: of the given values, how many continuations of normal noise end beyond
 * the odds. */
TEST(hope_is_a_probability)
{
    cbx__moments a = { 0, 0, 0 }, b = { 0, 0, 0 };
    cbx_rng rng = cbx_rng_make(9, 0);
    double hope, noise, means[2];
    size_t hits = 0;
    enum { FIRST = 20, LAST = 60, DRAWS = 20000 };

    for (int i = 0; i < FIRST; i++) {
        cbx__moments_add(&a, cbx_rng_normal(&rng));
        cbx__moments_add(&b, cbx_rng_normal(&rng) + 0.5);
    }
    hope = cbx__fit_hope(&a, &b, LAST, 20);
    noise = sqrt((cbx__moments_spread(&a) + cbx__moments_spread(&b)) / (2 * FIRST - 2));
    means[0] = a.sum / a.n;
    means[1] = b.sum / b.n;
    for (int d = 0; d < DRAWS; d++) {
        /* the true means by the flat prior, then what is still to come */
        double x = means[0] + noise * cbx_rng_normal(&rng) / sqrt(FIRST),
               y = means[1] + noise * cbx_rng_normal(&rng) / sqrt(FIRST);
        cbx__moments good = a, bad = b;
        for (int i = FIRST; i < LAST; i++) {
            cbx__moments_add(&good, x + noise * cbx_rng_normal(&rng));
            cbx__moments_add(&bad, y + noise * cbx_rng_normal(&rng));
        }
        hits += cbx__fit_odds(&good, &bad) >= 20;
    }
    print_message("# hope %.4f, counted %.4f\n", hope, (double)hits / DRAWS);
    CHECK(fabs(hope - (double)hits / DRAWS) < 0.02, "the noise is taken as known, all else is exact");
    CHECK(cbx__fit_hope(&a, &b, FIRST, 20) == 0, "nothing may follow");
    CHECK_GT(cbx__fit_hope(&a, &b, 1e6, 20), 0.5, "of many launches more is hoped");
}

/* False alarms on ranges without a change: at most 1 - confidence, by the e-value of the ends; 7.6
 * % is 4.4 deviations above 5 % of 1000. */
TEST(unchanged_ranges_stay_so)
{
    cbx_ctx *ctx = cbx_test_context();
    size_t found = 0, total = 1000;
    history h;

    line(&h, 8, 3);
    for (size_t i = 0; i < total; i++) {
        world w = { 0, 0.02, cbx_rng_make(6, i) };
        cbx_err err = CBX_ERR_INIT;
        cbx_bisect_opts opts = CBX_BISECT_OPTS_INIT;
        cbx_bisect *b = NULL;
        opts.any_change = true;
        CHECK_OK(make(ctx, &h, &opts, &b, &err), &err, "create");
        found += search(b, &h, &w) == CBX_BISECT_FOUND;
        cbx_bisect_free(b);
    }
    print_message("# %zu of %zu ranges without a change were reported to have one\n", found, total);
    CHECK_LE(found, 76, "a clean range finds nothing");
    cbx_ctx_free(ctx);
}

/* The history on which a search along dates names a commit of the wrong branch. */
TEST(merged_history_names_the_branch)
{
    cbx_ctx *ctx = cbx_test_context();
    history h;

    for (size_t truth = 0; truth < 21; truth++) {
        world w = { 0.2, 0.01, cbx_rng_make(7, truth) };
        cbx_err err = CBX_ERR_INIT;
        cbx_bisect_result r;
        cbx_bisect *b = NULL;
        diamond(&h, 10, truth);
        if (truth == 20) h.bad[18] = h.bad[19] = false; /* the merge itself */
        CHECK_OK(make(ctx, &h, NULL, &b, &err), &err, "create");
        CHECK_INT(search(b, &h, &w), CBX_BISECT_FOUND, "found");
        cbx_bisect_read(b, &r);
        CHECK_INT(r.nsuspects, 1, "one suspect");
        CHECK_INT(r.likeliest, truth, "the one");
        cbx_bisect_free(b);
    }
    cbx_ctx_free(ctx);
}

TEST(broken_commits_are_shared_out)
{
    cbx_ctx *ctx = cbx_test_context();
    world w = { 0.2, 0.01, cbx_rng_make(8, 0) };
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect_result r;
    cbx_bisect_outcome outcome;
    cbx_bisect *b = NULL;
    size_t commit = 0;
    history h;

    line(&h, 30, 13);
    CHECK_OK(make(ctx, &h, NULL, &b, &err), &err, "create");
    while ((outcome = cbx_bisect_next(b, &commit)) == CBX_BISECT_RUNNING) {
        bool broken = commit != CBX_BISECT_GOOD_END && commit >= 12 && commit <= 14;
        CHECK_OK(broken ? cbx_bisect_broken(b, commit, "does not build", &err)
                        : cbx_bisect_observe(b, commit, launch(&w, &h, commit), &err),
                 &err, "step");
    }
    cbx_bisect_read(b, &r);
    CHECK_INT(outcome, CBX_BISECT_FOUND, "found");
    CHECK_INT(r.nsuspects, 4, "three broken ones and the first that can be run");
    for (size_t i = 0; i < r.nsuspects; i++) CHECK_INT(r.suspects[i], 12 + i, "in order");
    CHECK_GT(r.probability, 0.95, "together they are sure");
    CHECK_STR(cbx_bisect_reason(b, 13), "does not build", "the reason is kept");
    CHECK_STATUS(cbx_bisect_observe(b, 13, 1, &err), CBX_EINVAL, "a broken commit has no values");
    CHECK_OK(cbx_bisect_broken(b, CBX_BISECT_GOOD_END, NULL, &err), &err, "an end");
    CHECK_INT(cbx_bisect_next(b, &commit), CBX_BISECT_BROKEN_END, "without an end there is no search");
    cbx_bisect_free(b);
    cbx_ctx_free(ctx);
}

TEST(counts_without_noise)
{
    cbx_ctx *ctx = cbx_test_context();
    history h;

    for (size_t truth = 0; truth < 128; truth++) {
        world w = { 0.001, 0, cbx_rng_make(9, 0) };
        cbx_err err = CBX_ERR_INIT;
        cbx_bisect_result r;
        cbx_bisect *b = NULL;
        line(&h, 128, truth);
        CHECK_OK(make(ctx, &h, NULL, &b, &err), &err, "create");
        CHECK_INT(search(b, &h, &w), CBX_BISECT_FOUND, "0.1 % of a count");
        cbx_bisect_read(b, &r);
        CHECK_INT(r.likeliest, truth, "the one");
        CHECK_LE(r.launches, 10 + 7 + 2, "five of each end, halving, and two to confirm");
        cbx_bisect_free(b);
    }
    cbx_ctx_free(ctx);
}

/* Probabilities against a direct sum over all values, by another form of the same formula. */
TEST(posterior_is_the_formula)
{
    static const double good[] = { 1.0, 1.1, 0.9 },
                        at[4][2] = { { 1.05, 0.95 }, { 1.0, 1.2 }, { 1.5, 1.6 }, { 1.4, 1.45 } };
    uint64_t bits[4] = { 1, 3, 7, 15 };
    cbx__rows rows = { 4, 1, bits };
    cbx__moments end = { 0, 0, 0 }, m[4] = { { 0, 0, 0 } };
    double p[4], w[4], total = 0;

    for (size_t i = 0; i < 3; i++) cbx__moments_add(&end, good[i]);
    for (size_t c = 0; c < 4; c++) {
        for (size_t i = 0; i < 2; i++) cbx__moments_add(&m[c], at[c][i]);
    }
    cbx__posterior(&rows, &end, m, p);
    for (size_t h = 0; h < 4; h++) {
        double mean[2] = { 0, 0 }, n[2] = { 0, 0 }, s = 0;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < 3; i++) {
                if (pass == 0)
                    mean[0] += good[i], n[0]++;
                else
                    s += (good[i] - mean[0]) * (good[i] - mean[0]);
            }
            for (size_t c = 0; c < 4; c++) {
                for (size_t i = 0; i < 2; i++) {
                    int side = c >= h;
                    if (pass == 0)
                        mean[side] += at[c][i], n[side]++;
                    else
                        s += (at[c][i] - mean[side]) * (at[c][i] - mean[side]);
                }
            }
            if (pass == 0) mean[0] /= n[0], mean[1] /= n[1];
        }
        total += w[h] = pow(n[0] * n[1], -0.5) * pow(s, -0.5 * (n[0] + n[1] - 2));
    }
    for (size_t h = 0; h < 4; h++) CHECK_LE(fabs(p[h] - w[h] / total), 1e-12, "probability");
    CHECK_LE(fabs(cbx__bad_probability(&rows, p, 2) - (p[0] + p[1] + p[2])), 1e-15, "bad");
    CHECK_LE(fabs(cbx__gain(0.5, 50) - log(2)), 1e-6, "a sure value tells one bit");
    CHECK_LE(cbx__gain(0.5, 0), 1e-12, "one without a shift has no information");
    /* capacity of the binary-input channel at amplitude 1: 0.4859 bit (Proakis, Digital
     * Communications, ch. 7) */
    CHECK_LE(fabs(cbx__gain(0.5, 2) / log(2) - 0.4859), 1e-3, "known capacity");
    CHECK_LE(cbx__gain(0.1, 2), cbx__gain(0.5, 2), "an even chance tells most");
}

TEST(state_goes_on_where_it_was)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect_opts opts = CBX_BISECT_OPTS_INIT;
    cbx_bisect *a = NULL, *b = NULL, *c = NULL;
    world w = { 0.05, 0.02, cbx_rng_make(10, 0) };
    size_t next_a = 0, next_b = 0;
    cbx_json *kept, *again;
    history h;

    line(&h, 64, 21);
    opts.identity = "make bench";
    CHECK_OK(make(ctx, &h, &opts, &a, &err), &err, "create");
    for (int i = 0; i < 25 && cbx_bisect_next(a, &next_a) == CBX_BISECT_RUNNING; i++)
        CHECK_OK(cbx_bisect_observe(a, next_a, launch(&w, &h, next_a), &err), &err, "observe");
    CHECK_OK(cbx_bisect_broken(a, 20, "no compiler", &err), &err, "broken");
    kept = cbx_bisect_state(a);
    CHECK(kept, "state");
    CHECK_OK(make(ctx, &h, &opts, &b, &err), &err, "create");
    CHECK_OK(cbx_bisect_restore(b, kept, "state", &err), &err, "restore");
    again = cbx_bisect_state(b);
    CHECK(cbx_json_equal(kept, again), "the same state");
    CHECK_INT(cbx_bisect_next(a, &next_a), cbx_bisect_next(b, &next_b), "the same outcome");
    CHECK_INT(next_a, next_b, "the same next step");
    for (size_t i = 0; i < 64; i++)
        CHECK(memcmp(&(double){ cbx_bisect_probability(a, i) }, &(double){ cbx_bisect_probability(b, i) }, 8) == 0,
              "to the bit");
    cbx_json_unref(again);

    opts.identity = "make other";
    CHECK_OK(make(ctx, &h, &opts, &c, &err), &err, "create");
    CHECK_STATUS(cbx_bisect_restore(c, kept, "state", &err), CBX_EINVAL, "of another search");
    CHECK(strstr(err.message, "make bench"), "names the command");
    cbx_json_set_int(kept, "version", 2);
    CHECK_STATUS(cbx_bisect_restore(b, kept, "state", &err), CBX_EVERSION, "of a later program");
    cbx_json_unref(kept);
    cbx_bisect_free(a);
    cbx_bisect_free(b);
    cbx_bisect_free(c);
    cbx_ctx_free(ctx);
}

TEST(wrong_input)
{
    cbx_ctx *ctx = cbx_test_context();
    cbx_bisect_opts opts = CBX_BISECT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect *b = NULL;
    history h;

    line(&h, 3, 1);
    h.n = 0;
    CHECK_STATUS(make(ctx, &h, NULL, &b, &err), CBX_EINVAL, "no commits");
    h.n = CBX_BISECT_MAX_COMMITS + 1;
    CHECK_STATUS(make(ctx, &h, NULL, &b, &err), CBX_EOVERFLOW, "too many");
    diamond(&h, 2, 1);
    h.parents[0] = 4;
    CHECK_STATUS(make(ctx, &h, NULL, &b, &err), CBX_EINVAL, "a parent behind its child");
    line(&h, 3, 1);
    h.names[2] = h.names[0];
    CHECK_STATUS(make(ctx, &h, NULL, &b, &err), CBX_EINVAL, "a name twice");
    line(&h, 3, 1);
    opts.confidence = 1;
    CHECK_STATUS(make(ctx, &h, &opts, &b, &err), CBX_EINVAL, "certainty is not to be had");
    opts.confidence = 0;
    opts.end_launches = 4;
    CHECK_STATUS(make(ctx, &h, &opts, &b, &err), CBX_EINVAL, "too few");
    opts.end_launches = 0;
    opts.struct_size = sizeof opts + 8;
    CHECK_STATUS(make(ctx, &h, &opts, &b, &err), CBX_EINVAL, "options of a later version");
    opts.struct_size = offsetof(cbx_bisect_opts, identity);
    CHECK_OK(make(ctx, &h, &opts, &b, &err), &err, "options of an earlier version");
    CHECK_STATUS(cbx_bisect_observe(b, 0, NAN, &err), CBX_EDOM, "no number");
    CHECK_STATUS(cbx_bisect_observe(b, 3, 1, &err), CBX_EINVAL, "no such commit");
    cbx_bisect_free(b);
    cbx_ctx_free(ctx);
}

static cbx_status whole_search(cbx_ctx *ctx, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_bisect *b = NULL, *again = NULL;
    world w = { 0.1, 0.01, cbx_rng_make(11, 0) };
    size_t commit = 0;
    cbx_json *kept = NULL;
    cbx_status st = make(ctx, user, NULL, &b, &err);

    while (!st && cbx_bisect_next(b, &commit) == CBX_BISECT_RUNNING)
        st = cbx_bisect_observe(b, commit, launch(&w, user, commit), &err);
    for (int i = 0; !st && i < 100; i++) st = cbx_bisect_observe(b, 2, launch(&w, user, 2), &err);
    if (!st) st = cbx_bisect_broken(b, 3, "why not", &err);
    if (!st && !(kept = cbx_bisect_state(b))) st = CBX_ENOMEM;
    if (!st) st = make(ctx, user, NULL, &again, &err);
    if (!st) st = cbx_bisect_restore(again, kept, "state", &err);
    cbx_json_unref(kept);
    cbx_bisect_free(b);
    cbx_bisect_free(again);
    return st;
}

TEST(memory_that_runs_out)
{
    history h;

    diamond(&h, 8, 5);
    CHECK_GT(cbx_test_fail_each(whole_search, &h, "a search"), 5, "something was allocated");
}

TESTS(.seconds = 600)
