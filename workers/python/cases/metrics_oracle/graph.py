"""Answers of calibrax/metrics/functional/graph.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import norm


def laplacian(a: Any) -> Any:
    return np.diag(a.sum(axis=0)) - a


def edit_bound(a: Any, b: Any) -> Any:
    degrees = abs(np.sort(a.sum(axis=0)) - np.sort(b.sum(axis=0))).sum() / 2
    return max(degrees, abs(np.linalg.eigvalsh(a) - np.linalg.eigvalsh(b)).sum() / 2)


def resistance(a: Any) -> Any:
    n = len(a)
    g = np.linalg.inv(laplacian(a) + np.ones((n, n)) / n)
    return np.diag(g)[:, None] + np.diag(g) - 2 * g


def paths(a: Any) -> Any:
    """Powers of the reach of each vertex."""
    reach, d = np.eye(len(a), dtype=bool), np.where(np.eye(len(a)), 0, np.inf)
    for step in range(1, len(a)):
        reach = (reach @ (a > 0)) | reach
        new = reach & np.isinf(d)
        if not new.any():
            break
        d[new] = step
    return d


ORACLE = {
    "spectral_distance": lambda a, b: norm(np.linalg.eigvalsh(laplacian(a)) - np.linalg.eigvalsh(laplacian(b))),
    "graph_edit_distance_approx": edit_bound,
    "resistance_distance": resistance,
    "shortest_path_distance": paths,
}
TOLERANCE = {0.0: "shortest_path_distance", 1e-09: "spectral_distance graph_edit_distance_approx", 1e-08: "resistance_distance"}
