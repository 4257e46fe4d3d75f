"""What the answers of several domains are made of."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

Long = np.longdouble


def long(*arrays: Any) -> list[Any]:
    return [np.asarray(a).astype(Long) for a in arrays]


def mean(x: Any) -> Any:
    return np.sum(x, dtype=Long) / x.size


def entropy(p: Any, axis: Any = None) -> Any:
    p = p.astype(Long)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=axis)


def squares(x: Any, axis: Any = -1) -> Any:
    return np.sum(x * x, axis=axis)


def norm(x: Any, axis: Any = -1) -> Any:
    return np.sqrt(squares(x, axis))


def r_squared(p: Any, t: Any) -> Any:
    p, t = long(p, t)
    return 1 - np.sum((t - p) ** 2) / np.sum((t - mean(t)) ** 2)


def table(p: Any, t: Any, k: int | None = None) -> Any:
    """Counts of targets by predictions, by comparisons."""
    k = k or int(max(p.max(), t.max())) + 1
    return np.array([[np.count_nonzero(p[t == i] == j) for j in range(k)] for i in range(k)], dtype=Long)


def precision_sum(s: Any, t: Any) -> Any:
    hits = np.flatnonzero(t[np.argsort(-s, kind="stable")] > 0)
    return np.sum(np.arange(1, hits.size + 1) / (hits + 1).astype(Long)) / hits.size


def rows(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: mean(f(*long(*operands)))


def distances(x: Any, y: Any) -> Any:
    """In extended precision, by blocks of rows."""
    x, y = long(x, y)
    return np.concatenate([norm(rows[:, None] - y) for rows in np.array_split(x, 1 + len(x) // 64)])
