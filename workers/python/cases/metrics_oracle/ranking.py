"""Answers of calibrax/metrics/functional/ranking.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, mean, precision_sum

TOP = 10  # of metrics at k


def gain(s: Any, t: Any, k: int) -> Any:
    weights = 1 / np.log2(np.arange(2, t.size + 2).astype(Long))[:k]
    value = lambda t: np.sum((2.0 ** t[:k] - 1) * weights)  # noqa: E731
    return value(t[np.argsort(-s, kind="stable")]) / value(np.sort(t)[::-1])


ORACLE = {
    "ndcg": lambda s, t: gain(s, t, t.size),
    "ndcg_at_k": lambda s, t: gain(s, t, TOP),
    "mean_average_precision": precision_sum,
    "precision_at_k": lambda s, t: mean(t[np.argsort(-s)[:TOP]]),
    "recall_at_k": lambda s, t: Long(t[np.argsort(-s)[:TOP]].sum()) / t.sum(),
    "hit_rate": lambda s, t: float(t[np.argsort(-s)[:TOP]].any()),
    "mean_reciprocal_rank": lambda s, t: 1 / (1 + np.argmax(t[np.argsort(-s)])),
    "coverage": lambda items: np.unique(items).size / (items.max() + 1),
}
TOLERANCE = {0.0: "hit_rate mean_reciprocal_rank coverage", 1e-15: "precision_at_k recall_at_k"}
