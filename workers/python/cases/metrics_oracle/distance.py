"""Answers of calibrax/metrics/functional/distance.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, norm, rows, squares


def poincare(x: Any, y: Any) -> Any:
    z = 2 * squares(x - y) / ((1 - squares(x)) * (1 - squares(y)))
    return np.log1p(z + np.sqrt(z * (z + 2)))


def hyperbolic(x: Any, y: Any) -> Any:
    e = x - y
    return 2 * np.arcsinh(np.sqrt(np.maximum(squares(e[:, 1:]) - e[:, 0] ** 2, 0)) / 2)


ORACLE = {
    "cosine_distance": rows(lambda x, y: 1 - np.sum(x * y, axis=1) / (norm(x) * norm(y))),
    "euclidean_distance": rows(lambda x, y: norm(x - y)),
    "manhattan_distance": rows(lambda x, y: np.sum(abs(x - y), axis=1)),
    "chebyshev_distance": lambda x, y: abs(x - y).max(),
    "minkowski_distance": lambda x, y: norm(x.astype(Long) - y),
    "mahalanobis_distance": rows(lambda x, y, p: np.sqrt(np.sum((x - y) @ p * (x - y), axis=1))),
    "hamming_distance": lambda x, y: Long(np.count_nonzero(x != y)) / x.size,
    "jaccard_distance": lambda x, y: 1 - Long(np.count_nonzero(x & y)) / np.count_nonzero(x | y),
    "poincare_distance": rows(poincare),
    "lorentz_distance": rows(hyperbolic),
    "randers_distance": rows(lambda x, y: norm(y - x) + (y - x)[:, 0] / 2),
}
TOLERANCE = {0.0: "chebyshev_distance", 1e-15: "hamming_distance jaccard_distance", 1e-11: "poincare_distance", 1e-10: "lorentz_distance"}
