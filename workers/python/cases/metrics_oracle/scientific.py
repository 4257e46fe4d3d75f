"""Answers of calibrax/metrics/functional/scientific.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, mean, r_squared
from cases.metrics_oracle.geometric import conformations
from cases.metrics_oracle.statistical import pearson


def plausible(lengths: Any, angles: Any) -> Any:
    good = np.count_nonzero((lengths >= 0.8) & (lengths <= 2)) + np.count_nonzero((angles >= 1.5) & (angles <= 3.5))
    return Long(good) / (lengths.size + angles.size)


ORACLE = {
    "chemical_validity": plausible,
    "binding_affinity_metrics": lambda p, t: np.array([mean((p.astype(Long) - t) ** 2), mean(abs(p.astype(Long) - t)), r_squared(p, t), pearson(p, t)]),
    "conformational_diversity": lambda x: np.sum(conformations(x, False)) / (len(x) * (len(x) - 1)),
}
TOLERANCE = {1e-15: "chemical_validity"}
