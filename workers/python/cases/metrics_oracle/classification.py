"""Answers of calibrax/metrics/functional/classification.c."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from cases.metrics_oracle.common import Long, mean, precision_sum, table


def binary(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(true positives, false positives, false negatives, true negatives)"""

    def score(p: Any, t: Any) -> Any:
        (tn, fp), (fn, tp) = table(p, t, 2)
        return f(tp, fp, fn, tn)

    return score


def auc(s: Any, t: Any) -> Any:
    """Mann and Whitney: positives above negatives, of scores without ties."""
    ordered = t[np.argsort(s, kind="stable")]
    positives = int(t.sum())
    above = np.sum(np.cumsum(1 - ordered)[ordered == 1])
    return Long(above) / (Long(positives) * (t.size - positives))


def log_loss(p: Any, t: Any) -> Any:
    p = p.astype(Long)
    return -mean(np.log(np.where(t == 1, p, 1 - p)))


def matthews(p: Any, t: Any) -> Any:
    c = table(p, t)
    a, b, n = c.sum(axis=0), c.sum(axis=1), c.sum()
    return (np.trace(c) * n - a @ b) / np.sqrt((n * n - a @ a) * (n * n - b @ b))


def kappa(p: Any, t: Any) -> Any:
    c = table(p, t)
    chance = c.sum(axis=0) @ c.sum(axis=1) / c.sum()
    return (np.trace(c) - chance) / (c.sum() - chance)


def balanced(p: Any, t: Any) -> Any:
    c = table(p, t)
    return mean(np.diag(c) / c.sum(axis=1))


def softmax_loss(x: Any, t: Any) -> Any:
    x = x.astype(Long)
    x -= x.max(axis=1, keepdims=True)
    return mean(np.log(np.sum(np.exp(x), axis=1)) - x[np.arange(len(t)), t])


ORACLE = {
    "accuracy": lambda p, t: Long(np.count_nonzero(p == t)) / t.size,
    "precision": binary(lambda tp, fp, fn, tn: tp / (tp + fp)),
    "recall": binary(lambda tp, fp, fn, tn: tp / (tp + fn)),
    "f1_score": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "fbeta_score": binary(lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)),
    "roc_auc": auc,
    "average_precision": precision_sum,
    "log_loss": log_loss,
    "matthews_corrcoef": matthews,
    "cohen_kappa": kappa,
    "balanced_accuracy": balanced,
    "specificity": binary(lambda tp, fp, fn, tn: tn / (tn + fp)),
    "sensitivity": binary(lambda tp, fp, fn, tn: tp / (tp + fn)),
    "softmax_cross_entropy": softmax_loss,
    "confusion_matrix": table,
}
TOLERANCE = {
    0.0: "confusion_matrix",
    1e-15: "accuracy precision recall f1_score fbeta_score specificity sensitivity",
    1e-13: "matthews_corrcoef cohen_kappa balanced_accuracy",
}
