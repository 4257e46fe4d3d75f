"""Answers of calibrax/metrics/functional/clustering_*.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import entropy, Long, norm, squares


def pairs(p: Any, t: Any) -> Any:
    k = int(max(p.max(), t.max())) + 1
    c = np.zeros((k, k), np.int64)
    np.add.at(c, (t, p), 1)
    return c.astype(Long)


def rand(p: Any, t: Any) -> Any:
    c = pairs(p, t)
    two = lambda x: np.sum(x * (x - 1)) / 2  # noqa: E731
    both, a, b, n = two(c), two(c.sum(axis=0)), two(c.sum(axis=1)), c.sum()
    chance = a * b / (n * (n - 1) / 2)
    return (both - chance) / ((a + b) / 2 - chance)


def mutual(joint: Any) -> Any:
    return entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint)


def normalized(p: Any, t: Any) -> Any:
    j = pairs(p, t) / Long(p.size)
    return mutual(j) / ((entropy(j.sum(axis=0)) + entropy(j.sum(axis=1))) / 2)


def adjusted(p: Any, t: Any) -> Any:
    """The expectation by logarithms of factorials, of every count that can be."""
    c = pairs(p, t)
    n = p.size
    log_factorial = np.concatenate([[Long(0)], np.cumsum(np.log(np.arange(1, n + 1, dtype=Long)))])
    expected = Long(0)
    for a in c.sum(axis=1).astype(int):
        for b in c.sum(axis=0).astype(int):
            k = np.arange(max(1, a + b - n), min(a, b) + 1)
            f = log_factorial
            log_p = f[a] + f[b] + f[n - a] + f[n - b] - f[n] - f[k] - f[a - k] - f[b - k] - f[n - a - b + k]
            expected += np.sum(k / Long(n) * np.log(Long(n) * k / (Long(a) * b)) * np.exp(log_p))
    j = c / n
    h = (entropy(j.sum(axis=0)) + entropy(j.sum(axis=1))) / 2
    return (mutual(j) - expected) / (h - expected)


def silhouette(x: Any, labels: Any) -> Any:
    total = Long(0)
    groups = [x[labels == k] for k in np.unique(labels)]
    for k, own in enumerate(groups):
        means = [np.concatenate([np.sqrt(squares(v - g)).sum(axis=1)[:, None] for v in np.array_split(own[:, None], 1 + len(own) // 64)]) for g in groups]
        sizes = np.array([len(g) for g in groups], float)
        sizes[k] -= 1
        m = np.concatenate(means, axis=1) / sizes
        a = m[:, k].copy()
        m[:, k] = np.inf
        b = m.min(axis=1)
        total += np.sum((b - a) / np.maximum(a, b), dtype=Long)
    return total / len(x)


def grouped(x: Any, labels: Any) -> tuple[list[Any], Any]:
    groups = [x[labels == k].astype(Long) for k in np.unique(labels)]
    return groups, np.array([g.mean(axis=0) for g in groups])


def calinski(x: Any, labels: Any) -> Any:
    groups, centres = grouped(x, labels)
    between = sum(len(g) * squares(c - x.astype(Long).mean(axis=0)) for g, c in zip(groups, centres))
    within = sum(np.sum((g - c) ** 2) for g, c in zip(groups, centres))
    return between / (len(groups) - 1) / (within / (len(x) - len(groups)))


def davies(x: Any, labels: Any) -> Any:
    groups, centres = grouped(x, labels)
    spread = np.array([norm(g - c).mean() for g, c in zip(groups, centres)])
    apart = norm(centres[:, None] - centres)
    np.fill_diagonal(apart, np.inf)
    return ((spread[:, None] + spread) / apart).max(axis=1).mean()


ORACLE = {
    "adjusted_rand_index": rand,
    "normalized_mutual_information_clustering": normalized,
    "adjusted_mutual_information": adjusted,
    "v_measure": normalized,
    "silhouette_score": silhouette,
    "calinski_harabasz_score": calinski,
    "davies_bouldin_score": davies,
}
TOLERANCE = {1e-10: "adjusted_mutual_information silhouette_score calinski_harabasz_score davies_bouldin_score"}
