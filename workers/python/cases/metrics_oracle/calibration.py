"""Answers of calibrax/metrics/functional/calibration.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, mean
from cases.metrics_oracle.general import error

BINS = 10


def bin_sums(p: Any, t: Any) -> tuple[Any, Any, Any]:
    i = np.minimum(np.searchsorted(np.linspace(0, 1, BINS + 1), p, side="right") - 1, BINS - 1)
    order = np.argsort(i, kind="stable")
    edges = np.searchsorted(i[order], np.arange(BINS + 1))
    gap = (t.astype(Long) - p)[order]
    return np.diff(edges), np.array([np.sum(gap[a:b]) for a, b in zip(edges, edges[1:])]), i


def adaptive(p: Any, t: Any) -> Any:
    gap = (t.astype(Long) - p)[np.argsort(p, kind="stable")]
    return sum(abs(np.sum(part)) for part in np.array_split(gap, BINS)) / p.size


def classwise(p: Any, t: Any) -> Any:
    return sum(np.sum(abs(bin_sums(p[:, k], t == k)[1])) for k in range(p.shape[1])) / p.shape[1] / len(t)


def diagram(p: Any, t: Any) -> Any:
    n, gap, i = bin_sums(p, t)
    forecast = np.array([np.sum(p[i == k], dtype=Long) for k in range(BINS)])
    return np.stack([forecast / n, (forecast + gap) / n, n], axis=1)


def brier_parts(p: Any, t: Any) -> Any:
    n, gap, i = bin_sums(p, t)
    share, rate = np.array([mean(t[i == k]) for k in range(BINS)]), mean(t)
    parts = [np.sum(gap**2 / n), np.sum(n * (share - rate) ** 2), rate * (1 - rate) * p.size, 0, np.sum((p.astype(Long) - t) ** 2)]
    parts[3] = parts[4] - parts[0] + parts[1] - parts[2]
    return np.array(parts) / p.size


ORACLE = {
    "brier_score": error(lambda p, t: (p - t) ** 2),
    "expected_calibration_error": lambda p, t: np.sum(abs(bin_sums(p, t)[1])) / p.size,
    "maximum_calibration_error": lambda p, t: np.max(abs(bin_sums(p, t)[1]) / bin_sums(p, t)[0]),
    "adaptive_calibration_error": adaptive,
    "classwise_ece": classwise,
    "reliability_diagram_bins": diagram,
    "brier_decomposition": brier_parts,
}
TOLERANCE = {
    1e-11: "reliability_diagram_bins",
    1e-10: "expected_calibration_error maximum_calibration_error adaptive_calibration_error classwise_ece brier_decomposition",
}
