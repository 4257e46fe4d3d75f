"""Answers of calibrax/metrics/functional/statistical.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import long, Long, mean, r_squared


def ranks(x: Any) -> Any:
    """Of values without ties."""
    r = np.empty(x.size)
    r[np.argsort(x)] = np.arange(x.size)
    return r


def pearson(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    a, b = x - mean(x), y - mean(y)
    return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))


def kendall(x: Any, y: Any) -> Any:
    """Without ties, discordant pairs counted by digits: of two ranks that first differ in bit k, the one with the bit is larger."""
    r = ranks(y)[np.argsort(x)].astype(np.int64)
    swaps = 0
    for bit in range(int(r.size - 1).bit_length()):
        order = np.argsort(r >> (bit + 1), kind="stable")
        group, one = (r >> (bit + 1))[order], (r[order] >> bit) & 1
        ones = np.cumsum(one)
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        before = np.concatenate([[0], ones])[starts]
        inside = ones - np.repeat(before, np.diff(np.append(starts, r.size)))
        swaps += int(np.sum(inside[one == 0]))
    n = r.size
    return 1 - 4 * Long(swaps) / (Long(n) * (n - 1))


def concordance(x: Any, y: Any) -> Any:
    x, y = long(x, y)
    a, b = mean(x), mean(y)
    return 2 * mean((x - a) * (y - b)) / (mean((x - a) ** 2) + mean((y - b) ** 2) + (a - b) ** 2)


def skewness(x: Any) -> Any:
    d = x.astype(Long)
    d = d - mean(d)
    return mean(d**3) / mean(d**2) ** Long(1.5)


def correlogram(x: Any) -> Any:
    d = x.astype(Long) - x.astype(Long).mean(axis=1, keepdims=True)
    n = d.shape[1]
    return np.array([np.mean(d[:, : n - k] * d[:, k:]) for k in range(n)]) / np.mean(d * d)


ORACLE = {
    "pearson_correlation": pearson,
    "spearman_rank_correlation": lambda x, y: pearson(ranks(x), ranks(y)),
    "kendall_tau": kendall,
    "concordance_correlation": concordance,
    "r_squared_adjusted": lambda p, t: 1 - (1 - r_squared(p, t)) * (t.size - 1) / (t.size - 2),
    "skewness": skewness,
    "autocorrelation": correlogram,
}
TOLERANCE = {1e-10: "skewness autocorrelation"}
