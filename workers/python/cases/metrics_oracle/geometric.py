"""Answers of calibrax/metrics/functional/geometric.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import distances, Long, mean, squares
from cases.metrics_oracle.divergence import unequal_gap
from cases.metrics_oracle.generative import kth


def nearest(x: Any, y: Any) -> Any:
    return np.sqrt(kth(x, y, 0))


def kabsch(x: Any, y: Any) -> Any:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    u, s, vh = np.linalg.svd(x.T @ y)
    s[-1] *= np.sign(np.linalg.det(u) * np.linalg.det(vh))
    return np.sqrt((np.sum(x.astype(Long) ** 2) + np.sum(y.astype(Long) ** 2) - 2 * s.sum()) / len(x))


def conformations(x: Any, centred: bool) -> Any:
    x = x.astype(Long)
    x = x - x.mean(axis=1, keepdims=True) if centred else x
    return distances(x.reshape(len(x), -1), x.reshape(len(x), -1)) / np.sqrt(Long(x.shape[1]))


ORACLE = {
    "chamfer_distance": lambda x, y: (mean(nearest(x, y)) + mean(nearest(y, x))) / 2,
    "directed_hausdorff": lambda x, y: nearest(x, y).max(),
    "hausdorff_distance": lambda x, y: max(nearest(x, y).max(), nearest(y, x).max()),
    "earth_movers_distance_1d": unequal_gap,
    "rmsd": lambda x, y: np.sqrt(mean(squares((x - y).astype(Long) - (x - y).astype(Long).mean(axis=0)))),
    "kabsch_rmsd": kabsch,
    "pairwise_rmsd": lambda x: conformations(x, True),
}
TOLERANCE = {1e-11: "earth_movers_distance_1d pairwise_rmsd", 1e-10: "kabsch_rmsd"}
