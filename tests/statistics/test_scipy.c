/*
 * Every function against SciPy and statsmodels, over the cases that
 * scripts/fixtures/make_statistics_cases.py wrote: one line a case. CALIBRAX_STATISTICS_CASES names
 * another file of cases: so the live comparison runs this same program (make compare-statistics).
 *
 * Answers agree to 1e-10 of their size, or of the sample's where the answer is a difference that
 * cancels; tables below list where an answer may be further off, and why.
 */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/statistics/bootstrap.h"
#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/effect.h"
#include "calibrax/statistics/interval.h"
#include "calibrax/statistics/location.h"
#include "calibrax/statistics/multiplicity.h"
#include "calibrax/statistics/sequential.h"
#include "calibrax/statistics/series.h"
#include "calibrax/statistics/spread.h"
#include "calibrax/statistics/test.h"
#include "calibrax/statistics/variance.h"
#include "counted.h"

enum { CAPACITY = 1024, FIELDS = 4 };

typedef struct test_case {
    char name[32];
    double at[FIELDS][CAPACITY]; /* attributes, x, y, answers */
    size_t count[FIELDS];
} test_case;

static cbx_err err;

#define A(i) (c->at[0][i])
#define XS   c->at[1], c->count[1]
#define YS   c->at[2], c->count[2]

static size_t put_interval(const cbx_interval *iv, bool with_level, double *out)
{
    const double v[] = { iv->value, iv->lower, iv->upper, iv->level };
    memcpy(out, v, sizeof v);
    return with_level ? 4 : 3;
}

static size_t put_test(const cbx_test *t, bool with_df, double *out)
{
    const double v[] = { t->statistic, t->p, t->p_less, t->p_greater, t->df };
    memcpy(out, v, sizeof v);
    return with_df ? 5 : 4;
}

/* ---- one function for each name ---- */

#define LAW(fn, ...)                                                                                                   \
    static size_t run_##fn(const test_case *c, double *out)                                                            \
    {                                                                                                                  \
        for (size_t i = 0; i < c->count[1]; i++) {                                                                     \
            out[i] = cbx_stat_##fn##_cdf(c->at[1][i] __VA_ARGS__);                                                     \
            out[c->count[1] + i] = cbx_stat_##fn##_sf(c->at[1][i] __VA_ARGS__);                                        \
        }                                                                                                              \
        return 2 * c->count[1];                                                                                        \
    }
LAW(normal)
LAW(t, , A(0))
LAW(chi2, , A(0))
LAW(f, , A(0), A(1))
LAW(beta, , A(0), A(1))
LAW(binomial, , A(0), A(1))

#define INVERSE(fn, ...)                                                                                               \
    static size_t run_##fn##_quantile(const test_case *c, double *out)                                                 \
    {                                                                                                                  \
        for (size_t i = 0; i < c->count[1]; i++) {                                                                     \
            out[i] = cbx_stat_##fn##_quantile(c->at[1][i] __VA_ARGS__);                                                \
            out[c->count[1] + i] = cbx_stat_##fn##_isf(c->at[1][i] __VA_ARGS__);                                       \
        }                                                                                                              \
        return 2 * c->count[1];                                                                                        \
    }
INVERSE(normal)
INVERSE(t, , A(0))
INVERSE(chi2, , A(0))
INVERSE(f, , A(0), A(1))
INVERSE(beta, , A(0), A(1))

static size_t run_binomial_quantile(const test_case *c, double *out)
{
    for (size_t i = 0; i < c->count[1]; i++) out[i] = cbx_stat_binomial_quantile(c->at[1][i], A(0), A(1));
    return c->count[1];
}

static size_t run_noncentral_t(const test_case *c, double *out)
{
    for (size_t i = 0; i < c->count[1]; i++) out[i] = cbx_stat_noncentral_t_cdf(c->at[1][i], A(0), A(1));
    return c->count[1];
}

static size_t run_mean(const test_case *c, double *out)
{
    CHECK_OK(cbx_stat_mean(XS, &out[0], &out[1], &err), &err, c->name);
    return 2;
}

#define SCALAR(fn, ...)                                                                                                \
    static size_t run_##fn(const test_case *c, double *out)                                                            \
    {                                                                                                                  \
        CHECK_OK(cbx_stat_##fn(__VA_ARGS__, out, &err), &err, c->name);                                                \
        return 1;                                                                                                      \
    }
SCALAR(trimmed_mean, ctx, XS, A(0))
SCALAR(winsorized_mean, ctx, XS, A(0))
SCALAR(geometric_mean, XS)
SCALAR(harmonic_mean, XS)
SCALAR(mad, ctx, XS)
SCALAR(qn, ctx, XS)

#define INTERVAL(fn, with_level, ...)                                                                                  \
    static size_t run_##fn(const test_case *c, double *out)                                                            \
    {                                                                                                                  \
        cbx_interval iv;                                                                                               \
        CHECK_OK(cbx_stat_##fn(__VA_ARGS__, &iv, &err), &err, c->name);                                                \
        return put_interval(&iv, with_level, out);                                                                     \
    }
INTERVAL(mean_interval, false, XS, A(0))
INTERVAL(stddev_interval, false, XS, A(0))
INTERVAL(quantile_interval, true, ctx, XS, A(0), A(1))
INTERVAL(proportion_interval, false, (size_t)A(0), (size_t)A(1), A(2))
INTERVAL(hodges_lehmann, true, ctx, XS, A(0))
INTERVAL(hodges_lehmann_shift, true, ctx, XS, YS, A(0))
INTERVAL(cohen_d, false, XS, YS, A(0))
INTERVAL(hedges_g, false, XS, YS, A(0))
INTERVAL(glass_delta, false, XS, YS, A(0))
INTERVAL(paired_d, false, ctx, c->at[1], c->at[2], c->count[1], A(0))
INTERVAL(vargha_delaney, false, ctx, XS, YS, A(0))
INTERVAL(cliff_delta, false, ctx, XS, YS, A(0))

#define HYPOTHESIS(fn, with_df, ...)                                                                                   \
    static size_t run_test_##fn(const test_case *c, double *out)                                                       \
    {                                                                                                                  \
        cbx_test t;                                                                                                    \
        CHECK_OK(cbx_stat_test_##fn(__VA_ARGS__, &t, &err), &err, c->name);                                            \
        return put_test(&t, with_df, out);                                                                             \
    }
HYPOTHESIS(welch, true, XS, YS)
HYPOTHESIS(student, true, XS, YS)
HYPOTHESIS(mean, true, XS, A(0))
HYPOTHESIS(paired_t, true, ctx, c->at[1], c->at[2], c->count[1])
HYPOTHESIS(mann_whitney, false, ctx, XS, YS, (cbx_test_mode)A(0))
HYPOTHESIS(signed_rank, false, ctx, c->at[1], NULL, c->count[1], (cbx_zero_rule)A(0), (cbx_test_mode)A(1))
HYPOTHESIS(brunner_munzel, false, ctx, XS, YS)
HYPOTHESIS(ks_two, false, ctx, XS, YS, (cbx_test_mode)A(0))

static double normal_cdf(double at, void *user)
{
    (void)user;
    return cbx_stat_normal_cdf(at);
}
HYPOTHESIS(ks_one, false, ctx, XS, normal_cdf, NULL)

static size_t put_tost(const cbx_test *t, double *out)
{
    const double v[] = { t->p, t->p_less, t->p_greater };
    memcpy(out, v, sizeof v);
    return 3;
}

static size_t run_tost_welch(const test_case *c, double *out)
{
    cbx_test t;
    CHECK_OK(cbx_stat_tost_welch(XS, YS, A(0), A(1), &t, &err), &err, c->name);
    return put_tost(&t, out);
}

static size_t run_tost_paired(const test_case *c, double *out)
{
    cbx_test t;
    CHECK_OK(cbx_stat_tost_paired(ctx, c->at[1], c->at[2], c->count[1], A(0), A(1), &t, &err), &err, c->name);
    return put_tost(&t, out);
}

static size_t run_permutation(const test_case *c, double *out)
{
    cbx_permutation_opts o = CBX_PERMUTATION_OPTS_INIT;
    cbx_test t;

    o.paired = A(0) != 0;
    o.permutations = 1000000;
    CHECK_OK(cbx_stat_test_permutation(ctx, XS, YS, &o, &t, &err), &err, c->name);
    CHECK(t.exact, "all arrangements are counted");
    return put_test(&t, false, out);
}

static size_t run_adjust(const test_case *c, double *out)
{
    CHECK_OK(cbx_stat_adjust(ctx, (cbx_correction)A(0), XS, out, &err), &err, c->name);
    return c->count[1];
}

static size_t run_bootstrap(const test_case *c, double *out)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_interval iv;

    o.statistic = (cbx_boot_statistic)A(0);
    o.parameter = A(1);
    o.compare = (cbx_boot_compare)A(2);
    o.paired = A(3) != 0;
    o.method = (cbx_boot_method)A(4);
    o.level = 0.9;
    o.resamples = (size_t)A(5);
    o.seed = (uint64_t)A(6);
    o.threads = 2;
    CHECK_OK(cbx_stat_bootstrap(ctx, XS, YS, &o, &iv, &err), &err, c->name);
    return put_interval(&iv, false, out);
}

static size_t run_power_two(const test_case *c, double *out)
{
    out[0] = cbx_stat_power_two((size_t)A(0), A(1), A(2));
    return 1;
}

static size_t run_power_one(const test_case *c, double *out)
{
    out[0] = cbx_stat_power_one((size_t)A(0), A(1), A(2));
    return 1;
}

static size_t run_detectable_two(const test_case *c, double *out)
{
    out[0] = cbx_stat_detectable_two((size_t)A(0), A(1), A(2));
    return 1;
}

static size_t run_autocorrelation(const test_case *c, double *out)
{
    CHECK_OK(cbx_stat_autocorrelation(XS, (size_t)A(0), out, &err), &err, c->name);
    return (size_t)A(0) + 1;
}

SCALAR(von_neumann, XS)

static size_t run_runs(const test_case *c, double *out)
{
    cbx_test t;
    CHECK_OK(cbx_stat_test_runs(ctx, XS, CBX_TEST_NORMAL, &t, &err), &err, c->name);
    out[0] = t.statistic;
    out[1] = t.p;
    return 2;
}

static size_t run_sequence(const test_case *c, double *out)
{
    cbx_sequence_opts o = CBX_SEQUENCE_OPTS_INIT;
    cbx_sequence s;
    cbx_interval iv;

    o.kind = (cbx_sequence_kind)A(0);
    o.level = A(1);
    o.planned = A(2);
    o.low = A(3);
    o.high = A(4);
    CHECK_OK(cbx_sequence_init(&s, &o, &err), &err, c->name);
    for (size_t i = 0; i < c->count[1]; i++) CHECK_OK(cbx_sequence_add(&s, c->at[1][i], &err), &err, c->name);
    iv = cbx_sequence_mean(&s);
    out[0] = iv.lower;
    out[1] = iv.upper;
    return 2;
}

/* ---- the table ---- */

static const struct runner {
    const char *name;
    size_t (*run)(const test_case *c, double *out);
    double relative; /* 0: 1e-10 */
    bool of_sample;  /* the largest value of the samples sets the scale, too: sums and differences of them */
} runners[] = {
    { "normal", run_normal, 0, false },
    { "t", run_t, 0, false },
    { "chi2", run_chi2, 0, false },
    { "f", run_f, 0, false },
    { "beta", run_beta, 0, false },
    { "binomial", run_binomial, 0, false },
    { "normal_quantile", run_normal_quantile, 0, false },
    { "t_quantile", run_t_quantile, 0, false },
    { "chi2_quantile", run_chi2_quantile, 0, false },
    { "f_quantile", run_f_quantile, 0, false },
    { "beta_quantile", run_beta_quantile, 0, false },
    { "binomial_quantile", run_binomial_quantile, 0, false },
    { "noncentral_t", run_noncentral_t, 0, true }, /* a far tail is a difference of terms near 1, also SciPy's */
    { "mean", run_mean, 0, true },
    { "trimmed_mean", run_trimmed_mean, 0, true },
    { "winsorized_mean", run_winsorized_mean, 0, true },
    { "geometric_mean", run_geometric_mean, 0, false },
    { "harmonic_mean", run_harmonic_mean, 0, false },
    { "mad", run_mad, 0, true },
    { "qn", run_qn, 0, true },
    { "mean_interval", run_mean_interval, 0, true },
    { "stddev_interval", run_stddev_interval, 0, true },
    { "quantile_interval", run_quantile_interval, 0, true },
    { "proportion_interval", run_proportion_interval, 0, false },
    { "hodges_lehmann", run_hodges_lehmann, 0, true },
    { "hodges_lehmann_shift", run_hodges_lehmann_shift, 0, true },
    { "cohen_d", run_cohen_d, 0, false },
    { "hedges_g", run_hedges_g, 0, false },
    { "glass_delta", run_glass_delta, 0, false },
    { "paired_d", run_paired_d, 0, false },
    { "vargha_delaney", run_vargha_delaney, 0, false },
    { "cliff_delta", run_cliff_delta, 0, false },
    { "welch", run_test_welch, 0, false },
    { "student", run_test_student, 0, false },
    { "paired_t", run_test_paired_t, 0, false },
    { "mean_test", run_test_mean, 0, false },
    { "mann_whitney", run_test_mann_whitney, 0, false },
    { "signed_rank", run_test_signed_rank, 0, false },
    { "brunner_munzel", run_test_brunner_munzel, 0, false },
    { "ks_two", run_test_ks_two, 0, false },
    { "ks_one", run_test_ks_one, 0, false },
    { "tost_welch", run_tost_welch, 0, false },
    { "tost_paired", run_tost_paired, 0, false },
    { "permutation", run_permutation, 0, true },
    { "adjust", run_adjust, 0, false },
    { "bootstrap", run_bootstrap, 0, true },
    { "power_two", run_power_two, 0, false },
    { "power_one", run_power_one, 0, false },
    { "detectable_two", run_detectable_two, 0, false },
    { "autocorrelation", run_autocorrelation, 0, false },
    { "von_neumann", run_von_neumann, 0, false },
    { "sequence", run_sequence, 0, true },
    { "runs", run_runs, 0, false },
};

static const struct runner *runner_of(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(runners); i++)
        if (strcmp(runners[i].name, name) == 0) return &runners[i];
    return NULL;
}

static double largest(const test_case *c)
{
    double max = 0;
    for (size_t f = 1; f < 3; f++)
        for (size_t i = 0; i < c->count[f]; i++) max = fmax(max, fabs(c->at[f][i]));
    return max;
}

/* How many answers are wrong; each is named. */
static size_t wrong_answers(const test_case *c, const struct runner *r, size_t line, double nudge)
{
    double got[2 * CAPACITY];
    size_t n = r->run(c, got), wrong = 0;
    /* an eps of the sample is what SciPy itself loses */
    double floor = r->of_sample ? 0x1p-50 * largest(c) : 1e-300;

    if (n != c->count[3]) fail_msg("line %zu, %s: %zu answers, not %zu", line, c->name, n, c->count[3]);
    for (size_t i = 0; i < n; i++) {
        double want = c->at[3][i], v = got[i] * (1 + nudge),
               bound = (r->relative > 0 ? r->relative : 1e-10) * fabs(want) + floor;
        if (v == want || fabs(v - want) <= bound) continue;
        wrong++;
        if (nudge == 0) print_error("line %zu, %s, answer %zu is %.17g, not %.17g\n", line, c->name, i, v, want);
    }
    return wrong;
}

/* "name;numbers;numbers;numbers;numbers" */
static bool read_case(char *text, test_case *c)
{
    char *field = strchr(text, ';');

    if (!field || (size_t)(field - text) >= sizeof c->name) return false;
    *field = 0;
    strcpy(c->name, text);
    for (size_t f = 0; f < FIELDS; f++) {
        char *at = field + 1, *end;
        c->count[f] = 0;
        while (*at && *at != ';' && *at != '\n') {
            c->at[f][c->count[f]++] = strtod(at, &end);
            if (end == at || c->count[f] == CAPACITY) return false;
            for (at = end; *at == ' '; at++) continue;
        }
        field = at;
    }
    return true;
}

static FILE *open_cases(void)
{
    const char *own = getenv("CALIBRAX_STATISTICS_CASES");
    const char *path = own ? own : cbx_test_source("tests/fixtures/statistics/cases.txt");
    FILE *f = fopen(path, "r");

    if (!f) fail_msg("cannot open '%s': %s", path, strerror(errno));
    return f;
}

/* Cases in all, those with a wrong answer, and how often each runner ran. */
static size_t run_all(double nudge, size_t *wrong, size_t *ran)
{
    static test_case c;
    char *text = NULL;
    size_t capacity = 0, cases = 0;
    FILE *f = open_cases();

    *wrong = 0;
    for (size_t line = 1; getline(&text, &capacity, f) > 0; line++) {
        const struct runner *r;
        if (text[0] == '#') continue;
        if (!read_case(text, &c)) fail_msg("line %zu is no case", line);
        r = runner_of(c.name);
        if (!r) fail_msg("line %zu: nothing runs '%s'", line, c.name);
        *wrong += wrong_answers(&c, r, line, nudge) > 0;
        ran[r - runners]++;
        cases++;
    }
    free(text);
    fclose(f);
    return cases;
}

TEST(answers_are_scipys)
{
    size_t ran[CBX_LEN(runners)] = { 0 }, wrong, cases;

    cases = run_all(0, &wrong, ran);
    CHECK_GT(cases, 500, "cases");
    CHECK_INT(wrong, 0, "cases with an answer that is SciPy's to no ten digits");
    for (size_t i = 0; i < CBX_LEN(runners); i++) CHECK_GT(ran[i], 0, runners[i].name);
}

TEST(the_check_sees_a_wrong_digit)
{
    size_t ran[CBX_LEN(runners)] = { 0 }, wrong, cases;

    cases = run_all(1e-8, &wrong, ran);
    CHECK_GT(wrong, 0.85 * (double)cases, "an error of 1e-8 is seen in nearly all (not in zeros and infinities)");
}

TESTS(.seconds = 600, .before = counted_setup, .after = counted_teardown)
