"""calibrax_c.statistics beside SciPy, on generated samples with and without ties.  Prints TAP."""

from __future__ import annotations

import math
import random
import unittest

import numpy as np
import tap
from scipy import stats

import calibrax_c as cx
from calibrax_c import analysis, statistics

TOLERANCE = 1e-10


def cases(count=40):
    """Pairs of samples: normal, log-normal, integers (ties), nearly constant."""
    rng = random.Random(7)
    for k in range(count):
        n, m = rng.randrange(4, 30), rng.randrange(4, 30)
        kinds = (lambda: rng.gauss(10, 2), lambda: rng.lognormvariate(0, 1), lambda: float(rng.randrange(8)), lambda: 1 + 1e-3 * rng.random())
        yield [kinds[k % 4]() for _ in range(n)], [kinds[k % 4]() + 0.3 * (k % 3) for _ in range(m)]


class Beside(unittest.TestCase):
    def near(self, got, want, words=""):
        if math.isinf(want) or math.isnan(want):
            self.assertTrue(got == want or (math.isnan(got) and math.isnan(want)), (words, got, want))
        else:
            self.assertLessEqual(abs(got - want), TOLERANCE * max(1e-12, abs(want)) + 1e-13, (words, got, want))

    def test_means(self):
        for x, y in cases():
            for ours, theirs in ((statistics.welch(x, y), stats.ttest_ind(x, y, equal_var=False)),
                                 (statistics.student(x, y), stats.ttest_ind(x, y)), (statistics.one_sample_t(x, 9.0), stats.ttest_1samp(x, 9.0))):
                self.near(ours.statistic, theirs.statistic)
                self.near(ours.p, theirs.pvalue)
                self.near(ours.df, theirs.df)
            n = min(len(x), len(y))
            paired = stats.ttest_rel(x[:n], y[:n])
            self.near(statistics.paired_t(x[:n], y[:n]).p, paired.pvalue)
            low, high = stats.t.interval(0.9, len(x) - 1, np.mean(x), stats.sem(x))
            ours = statistics.mean_interval(x, level=0.9)
            self.near(ours.lower, low)
            self.near(ours.upper, high)

    def test_ranks(self):
        for x, y in cases():
            ours, theirs = statistics.mann_whitney(x, y, mode="normal"), stats.mannwhitneyu(x, y, method="asymptotic")
            self.near(ours.statistic, theirs.statistic)
            self.near(ours.p, theirs.pvalue)
            if len(set(x + y)) == len(x) + len(y):
                self.near(statistics.mann_whitney(x, y, mode="exact").p, stats.mannwhitneyu(x, y, method="exact").pvalue)
                self.near(statistics.ks_two(x, y).p, stats.ks_2samp(x, y, method="exact").pvalue)
                self.near(statistics.signed_rank(x, [9.7] * len(x), mode="exact").p, stats.wilcoxon(np.array(x) - 9.7, method="exact").pvalue)
            if max(x) >= min(y) and max(y) >= min(x):  # SciPy has no answer of samples that do not overlap
                self.near(statistics.brunner_munzel(x, y).p, stats.brunnermunzel(x, y).pvalue)

    def test_one_sample_ks(self):
        for x, _ in cases(12):
            self.near(statistics.ks_one(x, lambda v: float(stats.norm.cdf(v, 10, 2))).p, stats.kstest(x, "norm", args=(10, 2), method="exact").pvalue)

    def test_distributions(self):
        for p in (1e-6, 0.025, 0.5, 0.9, 1 - 1e-6):
            for df in (1.5, 7.0, 200.0):
                self.near(statistics.t_quantile(p, df), stats.t.ppf(p, df))
                self.near(statistics.chi2_sf(p * 20, df), stats.chi2.sf(p * 20, df))
                self.near(statistics.f_cdf(p * 3, df, 5.0), stats.f.cdf(p * 3, df, 5.0))
                self.near(statistics.beta_cdf(p, df, 2.0), stats.beta.cdf(p, df, 2.0))
            self.near(statistics.normal_isf(p), stats.norm.isf(p))
            self.near(statistics.binomial_cdf(7, 20, p), stats.binom.cdf(7, 20, p))
        self.near(statistics.noncentral_t_cdf(1.0, 9.0, 0.7), stats.nct.cdf(1.0, 9.0, 0.7))

    def test_corrections(self):
        rng = random.Random(3)
        for _ in range(20):
            p = [rng.random() ** 3 for _ in range(rng.randrange(1, 12))]
            for word, method in (("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")):
                for a, b in zip(statistics.adjust(p, word), stats.false_discovery_control(p, method=method)):
                    self.near(a, b)

    def test_spread_and_location(self):
        for x, y in cases():
            self.near(statistics.quantile(x, 0.3), np.quantile(x, 0.3))
            self.near(statistics.trimmed_mean(x, 0.2), stats.trim_mean(x, 0.2))
            self.near(statistics.geometric_mean([v + 1 for v in x]), stats.gmean([v + 1 for v in x]))
            self.near(statistics.harmonic_mean([v + 1 for v in x]), stats.hmean([v + 1 for v in x]))
            self.near(statistics.mad(x), stats.median_abs_deviation(x, scale="normal"))
            walsh = [(a + b) / 2 for i, a in enumerate(x) for b in x[i:]]
            self.near(statistics.hodges_lehmann(x).value, np.median(walsh))
            self.near(statistics.hodges_lehmann_shift(x, y).value, np.median([a - b for a in x for b in y]))
            wins = np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y])
            self.near(statistics.vargha_delaney(x, y).value, wins)
            self.near(statistics.cliff_delta(x, y).value, 2 * wins - 1)

    def test_bootstrap_agrees_in_distribution(self):
        """Other random numbers, so within the noise of the resampling alone: the ends of two BCa intervals of 20,000 resamples."""
        for x, _ in cases(8):
            ours = statistics.bootstrap(x, resamples=20000, seed=2)
            theirs = stats.bootstrap((x,), np.mean, n_resamples=20000, method="BCa", rng=np.random.default_rng(5)).confidence_interval
            width = theirs.high - theirs.low
            self.assertLess(abs(ours.lower - theirs.low), 0.05 * width)
            self.assertLess(abs(ours.upper - theirs.high), 0.05 * width)

    def test_whatever_numpy_lends(self):
        x = np.linspace(1.0, 3.0, 31)
        for a in (x, x[::2], x.astype(np.float32), x[::-1], cx.array.asarray(x)):
            self.near(statistics.median(a), float(np.median(np.asarray(a))), "view")
        table = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
        self.assertEqual(analysis.pareto(table, "lower"), (0, 1))
        self.assertEqual(analysis.pareto(np.asfortranarray(table), "lower"), (0, 1))
        with self.assertRaises(TypeError):
            statistics.median(table)


if __name__ == "__main__":
    tap.main()
