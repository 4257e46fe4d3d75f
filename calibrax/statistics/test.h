/** Tests of location and of distribution, for one sample, two samples and pairs.
 *
 * Each gives the statistic and three p-values.  p_less is small when x tends to be below y (or
 * below the stated value), p_greater when above; p is two-sided.  Where a p-value is exact it
 * counts the arrangements of the values at hand, ties included, and the two-sided one is min(1, 2
 * min(p_less, p_greater)).
 *
 * Samples are read only, in any order, all values finite; nothing of the result is NaN.  Where all
 * values are alike the p-values are those of no difference (stated at each function).  Since 0.1.
 *
 * @return of all: CBX_OK; CBX_EINVAL (a sample too small, an invalid option); CBX_EDOM (a
 *   value that is not finite); CBX_ENOMEM.
 * `out` is untouched on failure; err may be NULL. */
#ifndef CALIBRAX_STATISTICS_TEST_H
#define CALIBRAX_STATISTICS_TEST_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/ctx.h"

CBX_BEGIN_DECLS

typedef struct cbx_test {
    const char *method; /* static text: "welch t", "mann-whitney u", ... */
    double statistic;   /* may be infinite: samples without spread that differ */
    double df;          /* degrees of freedom; 0: the distribution has none */
    double p, p_less, p_greater;
    bool exact; /* arrangements were counted, no approximation */
} cbx_test;

/** Whether to count arrangements. */
typedef enum cbx_test_mode {
    CBX_TEST_AUTO,  /* exact where that is quick, see each test */
    CBX_TEST_EXACT, /* CBX_EINVAL where it would take too long */
    CBX_TEST_NORMAL /* the large-sample approximation */
} cbx_test_mode;

/* ---- means: t tests.  Without any spread: equal means give statistic 0 and p = 1, p_less =
 * p_greater = 1/2; others an infinite statistic and p = 0.  Allocate nothing. ---- */

/** Welch's unequal-variance t: (mean x - mean y) / sqrt(vx/n + vy/m), Satterthwaite's degrees of
 * freedom.  n, m >= 2. Source: Welch, Biometrika 34 (1947) 28-35. */
CBX_API cbx_status cbx_stat_test_welch(const double *x, size_t n, const double *y, size_t m, cbx_test *out,
                                       cbx_err *err);
/** Student's t of equal variances, n + m - 2 degrees of freedom.  n, m >= 2. */
CBX_API cbx_status cbx_stat_test_student(const double *x, size_t n, const double *y, size_t m, cbx_test *out,
                                         cbx_err *err);
/** One sample against a mean.  n >= 2. */
CBX_API cbx_status cbx_stat_test_mean(const double *x, size_t n, double mean, cbx_test *out, cbx_err *err);
/** Pairs: the one-sample test of x_i - y_i against 0.  n >= 2. */
CBX_API cbx_status cbx_stat_test_paired_t(cbx_ctx *ctx, const double *x, const double *y, size_t n, cbx_test *out,
                                          cbx_err *err);

/* ---- equivalence: two one-sided tests.  p is the larger of "mean difference > lower" and "<
 * upper" (those are p_greater and p_less); small says equivalent.  statistic is the one that
 * decided.  Source: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987). ---- */

/** By Welch's t.  @param lower, upper  bounds of mean x - mean y, lower < upper, in the samples'
 * unit */
CBX_API cbx_status cbx_stat_tost_welch(const double *x, size_t n, const double *y, size_t m, double lower, double upper,
                                       cbx_test *out, cbx_err *err);
/** Of pairs. */
CBX_API cbx_status cbx_stat_tost_paired(cbx_ctx *ctx, const double *x, const double *y, size_t n, double lower,
                                        double upper, cbx_test *out, cbx_err *err);

/* ---- ranks ---- */

/** Mann-Whitney U of x: pairs with x_i > y_j, ties a half.  Exact counts all splits of the pooled
 * midranks: AUTO up to n + m = 50, EXACT up to 100.  Otherwise normal with tie correction and
 * continuity correction 1/2.  All values alike: every p is 1. Source: Mann & Whitney, Ann. Math.
 * Statist. 18 (1947) 50-60; Streitberg & Roehmel's shift algorithm for the counts. */
CBX_API cbx_status cbx_stat_test_mann_whitney(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                              cbx_test_mode mode, cbx_test *out, cbx_err *err);

/** What a difference of 0 counts in the signed-rank test. */
typedef enum cbx_zero_rule {
    CBX_ZERO_DROP,  /* left out before ranking (Wilcoxon) */
    CBX_ZERO_PRATT, /* ranked, then left out */
    CBX_ZERO_SPLIT  /* ranked, half of the rank on each side */
} cbx_zero_rule;

/** Wilcoxon signed-rank of x_i - y_i; statistic: sum of the positive ranks.  Exact counts all signs
 * of the midranks: AUTO up to n = 50, EXACT up to 200.  Otherwise normal with tie and continuity
 * correction.  All differences 0: statistic is half of the ranks that are counted, every p is 1.
 * @param y  NULL: x holds the differences
 * Source: Wilcoxon, Biometrics Bulletin 1 (1945) 80-83; Pratt, J. Am. Stat. Assoc. 54 (1959)
 * 655-667. */
CBX_API cbx_status cbx_stat_test_signed_rank(cbx_ctx *ctx, const double *x, const double *y, size_t n,
                                             cbx_zero_rule zeros, cbx_test_mode mode, cbx_test *out, cbx_err *err);

/** Brunner-Munzel: P(x < y) + P(x = y)/2 against 1/2, without equal variances; positive statistic:
 * y is larger.  t distribution with Satterthwaite's degrees of freedom.  n, m >= 2.  Where the
 * samples do not overlap the estimated variance is 0: the statistic is infinite and p is the chance
 * of such a split among all, 1 / C(n+m, n) one-sided.  All values alike: statistic 0, every p is 1.
 * Source: Brunner & Munzel, Biometrical Journal 42 (2000) 17-25. */
CBX_API cbx_status cbx_stat_test_brunner_munzel(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                                cbx_test *out, cbx_err *err);

/* ---- Kolmogorov-Smirnov ---- */

/** A distribution function: P(X <= at), rising from 0 to 1, continuous. */
typedef double (*cbx_cdf_fn)(double at, void *user);

/** Largest distance of the sample's distribution function from a given one.  p_less: the sample
 * lies above F, that is x tends to be smaller; p_greater the reverse.  Exact up to n = 1000:
 * Birnbaum & Tingey's sum one-sided and for n D^2 > 4, else Marsaglia, Tsang & Wang's matrix power
 * (J. Stat. Software 8 (2003) 18); beyond, Kolmogorov's series of (sqrt n + 1/(6 sqrt n)) D, error
 * O(1/n). */
CBX_API cbx_status cbx_stat_test_ks_one(cbx_ctx *ctx, const double *x, size_t n, cbx_cdf_fn cdf, void *user,
                                        cbx_test *out, cbx_err *err);
/** Largest distance of two samples' distribution functions.  p_less: x tends to be smaller (its
 * function lies above).  Exact counts lattice paths, checked only where ties end, so ties are no
 * approximation: AUTO and EXACT up to n m = 4 * 10^6; beyond and with NORMAL, the limiting
 * distributions.  Source: Schroeer & Trenkler, Comput. Stat. Data Anal. 20 (1995) 185-202. */
CBX_API cbx_status cbx_stat_test_ks_two(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                        cbx_test_mode mode, cbx_test *out, cbx_err *err);

/* ---- permutation ---- */

/** What is compared after each rearrangement; must not depend on the order within a sample.  Never
 * asked for an empty sample. */
typedef double (*cbx_compare_fn)(const double *x, size_t n, const double *y, size_t m, void *user);

typedef struct cbx_permutation_opts {
    unsigned struct_size;
    /* swap x_i with y_i at random instead of splitting the pool again; needs m = n */
    bool paired;
    cbx_compare_fn compare; /* NULL: mean x - mean y */
    void *user;
    /* >= 1; 9999.  With at most so many arrangements all are counted, else so many are drawn */
    size_t permutations;
    unsigned long long seed;
} cbx_permutation_opts;

#define CBX_PERMUTATION_OPTS_INIT CBX_OPTS(cbx_permutation_opts, false, 0, 0, 9999, 0)

/** Share of the arrangements with a statistic at least as extreme: exact b / total with all
 * counted, (b + 1) / (drawn + 1) with some drawn, which is never 0.  Values within 1e-14 of the
 * observed one, relative to the largest term, count as equal to it. Source: Phipson & Smyth, Stat.
 * Appl. Genet. Mol. Biol. 9 (2010) 39.  The same seed gives the same p.
 * @param opts  NULL: defaults */
CBX_API cbx_status cbx_stat_test_permutation(cbx_ctx *ctx, const double *x, size_t n, const double *y, size_t m,
                                             const cbx_permutation_opts *opts, cbx_test *out, cbx_err *err);

CBX_END_DECLS
#endif
