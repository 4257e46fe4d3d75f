"""Answers of calibrax/metrics/functional/forecasting.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.calibration import bin_sums
from cases.metrics_oracle.common import long, Long, mean, norm, squares


def reliability(p: Any, t: Any) -> Any:
    n, gap, _ = bin_sums(p, t)
    return np.sum(gap**2 / n) / p.size


def crps(x: Any, y: Any, pairs_of: int = 0) -> Any:
    """The spread of sorted members: sum of (2 i - m + 1) x_i."""
    m = x.shape[1]
    ordered = np.sort(x, axis=1).astype(Long)
    between = ordered @ (2 * np.arange(m) - m + 1).astype(Long)
    return mean(np.mean(abs(x.astype(Long) - y[:, None]), axis=1) - between / (m * (m - pairs_of)))


def energy(x: Any, y: Any) -> Any:
    m = x.shape[1]
    x, y = long(x, y)
    within = sum(norm(x[:, i] - x[:, j]) for i in range(m) for j in range(i)) / m**2
    return mean(np.mean(norm(x - y[:, None]), axis=1) - within)


def spread_skill(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    v = x.var(axis=1, ddof=1)
    return np.sqrt(mean(v) / mean((x.mean(axis=1) - y) ** 2 - v / x.shape[1]))


def ranked(p: Any, t: Any) -> Any:
    steps = np.arange(p.shape[1]) >= t[:, None]
    return mean(squares(np.cumsum(p.astype(Long), axis=1) - steps))


def threshold_score(x: Any, y: Any, at: Any) -> Any:
    total = np.zeros(len(y), Long)
    for limit in at:
        share = np.mean(x <= limit, axis=1, dtype=Long)
        total += (share - (y <= limit)) ** 2 - share * (1 - share) / (x.shape[1] - 1)
    return mean(total)


def normal_share(x: Any) -> Any:
    """Of the normal distribution below x, by the continued fraction and the series of Abramowitz and Stegun, 26.2.14 and 26.2.10."""
    x = x.astype(Long)
    a = abs(x)
    density = np.exp(-a * a / 2) / np.sqrt(2 * Long(np.pi))
    tail, total, term = a, a, a
    for k in range(200, 0, -1):
        tail = a + k / np.maximum(tail, Long(1e-300))
    for k in range(1, 120):
        term = term * a * a / (2 * k + 1)
        total = total + term
    below = np.where(a > 4, 1 - density / np.maximum(tail, Long(1e-300)), 0.5 + density * total)
    return np.where(x < 0, 1 - below, below)


def transform_counts(m: Any, v: Any, t: Any) -> Any:
    share = normal_share((t.astype(Long) - m) / np.sqrt(v.astype(Long)))
    return np.bincount(np.minimum((share * 10).astype(int), 9), minlength=10)


ORACLE = {
    "crps": crps,
    "fair_crps": lambda x, y: crps(x, y, 1),
    "energy_score": energy,
    "spread_skill_ratio": spread_skill,
    "ranked_probability_score": ranked,
    "event_reliability": reliability,
    "rank_histogram": lambda x, y: np.bincount(np.sum(x < y[:, None], axis=1), minlength=x.shape[1] + 1),
    "ensemble_ranked_probability_score": threshold_score,
    "ranked_probability_skill_score": lambda x, y: (y.astype(Long) - x) / y,
    "pit_histogram": transform_counts,
}
TOLERANCE = {
    0.0: "rank_histogram pit_histogram",
    1e-11: "spread_skill_ratio ensemble_ranked_probability_score",
    1e-09: "event_reliability",
    1e-08: "ranked_probability_skill_score",
}
