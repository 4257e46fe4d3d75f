"""Answers of calibrax/metrics/functional/information.c."""

from __future__ import annotations

import numpy as np

from cases.metrics_oracle.clustering import mutual
from cases.metrics_oracle.common import entropy, Long

ORACLE = {
    "entropy": entropy,
    "cross_entropy": lambda p, q: -np.sum(p.astype(Long) * np.log(q.astype(Long))),
    "mutual_information": lambda j: mutual(j.astype(Long)),
    "conditional_entropy": lambda j: entropy(j) - entropy(j.astype(Long).sum(axis=1)),
    "normalized_mutual_information": lambda j: mutual(j.astype(Long)) / np.sqrt(entropy(j.astype(Long).sum(axis=0)) * entropy(j.astype(Long).sum(axis=1))),
    "fisher_information_matrix": lambda x: 1 + np.diag(np.cosh(x.astype(Long))),
}
TOLERANCE = {1e-10: "mutual_information conditional_entropy normalized_mutual_information"}
