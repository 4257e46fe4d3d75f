"""Answers of calibrax/metrics/functional/fairness.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, table


def selection(s: Any, g: Any) -> Any:
    rates = [Long(np.count_nonzero(s[g == k] > 0.5)) / np.count_nonzero(g == k) for k in np.unique(g)]
    return min(rates) / max(rates)


def spread(s: Any, t: Any, g: Any, label: int) -> Any:
    rates = [Long(np.count_nonzero(s[(g == k) & (t == label)] > 0.5)) / np.count_nonzero((g == k) & (t == label)) for k in np.unique(g)]
    return max(rates) - min(rates)


def rates(s: Any, t: Any, g: Any) -> Any:
    out = []
    for k in np.unique(g):
        (tn, fp), (fn, tp) = table((s[g == k] > 0.5).astype(int), t[g == k], 2)
        n = tn + fp + fn + tp
        out.append([n, (tp + fp) / n, (tp + tn) / n, tp / (tp + fn), fp / (fp + tn), tp / (tp + fp)])
    return np.array(out)


ORACLE = {
    "demographic_parity_ratio": selection,
    "disparate_impact_ratio": selection,
    "equal_opportunity_difference": lambda s, t, g: spread(s, t, g, 1),
    "equalized_odds_difference": lambda s, t, g: max(spread(s, t, g, 0), spread(s, t, g, 1)),
    "group_metric_breakdown": rates,
}
TOLERANCE = {1e-13: "demographic_parity_ratio disparate_impact_ratio", 1e-11: "equal_opportunity_difference equalized_odds_difference"}
