"""Answers of calibrax/metrics/functional/uncertainty.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import entropy, long, Long, mean


def gaussian(m: Any, v: Any, t: Any) -> Any:
    m, v, t = long(m, v, t)
    return mean((np.log(2 * Long(np.pi) * v) + (t - m) ** 2 / v) / 2)


def normalized_errors(m: Any, p: Any, t: Any) -> Any:
    e = t - m
    return np.sum(e * np.linalg.solve(p, e[..., None])[..., 0], axis=1)


def levels(cdf: Any) -> Any:
    return mean(np.array([abs(Long(np.count_nonzero(cdf <= q)) / cdf.size - Long(q)) for q in np.arange(1, 10) / 10]))


def chi_squared(d: Any) -> Any:
    """By bisection of the series of the incomplete gamma function."""
    from math import lgamma

    a = d.astype(Long) / 2
    scale = np.array([lgamma(v + 1) for v in a.astype(float)], Long)

    def below(x: Any) -> Any:
        term = total = np.ones_like(x)
        for k in range(1, 100):
            term = term * x / (a + k)
            total = total + term
        return np.exp(a * np.log(x) - x - scale) * total

    ends = []
    for share in ((1 - Long(0.99)) / 2, (1 + Long(0.99)) / 2):
        low, high = np.full(a.size, Long(-60)), np.full(a.size, np.log(Long(40)))
        for _ in range(70):
            at = (low + high) / 2
            more = below(np.exp(at)) < share
            low, high = np.where(more, at, low), np.where(more, high, at)
        ends.append(2 * np.exp((low + high) / 2))
    return np.stack(ends, axis=1)


ORACLE = {
    "picp": lambda low, high, t: Long(np.count_nonzero((low <= t) & (t <= high))) / t.size,
    "mpiw": lambda low, high: mean(high.astype(Long) - low),
    "interval_score": lambda low, high, t: mean(high.astype(Long) - low + 20 * (np.maximum(low.astype(Long) - t, 0) + np.maximum(t.astype(Long) - high, 0))),
    "gaussian_nll": gaussian,
    "regression_calibration_error": levels,
    "anees": lambda m, p, t: mean(normalized_errors(m, p, t)) / m.shape[1],
    "non_credibility_index": lambda m, p, t, r: 10 * mean(np.log10(normalized_errors(m, p, t) / normalized_errors(m, r, t))),
    "predictive_entropy": lambda p: mean(entropy(p.astype(Long).mean(axis=1), axis=1)),
    "ensemble_mutual_information": lambda p: mean(entropy(p.astype(Long).mean(axis=1), axis=1) - entropy(p, axis=2).mean(axis=1)),
    "chi2_confidence_interval": chi_squared,
}
TOLERANCE = {1e-15: "picp", 1e-11: "regression_calibration_error anees ensemble_mutual_information", 1e-10: "non_credibility_index"}
