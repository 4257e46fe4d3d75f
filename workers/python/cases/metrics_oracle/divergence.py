"""Answers of calibrax/metrics/functional/divergence.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import long, Long, mean, norm, squares


def relative_entropy(p: Any, q: Any) -> Any:
    p, q = long(p, q)
    return np.sum(p * (np.log(p) - np.log(q)))


def unequal_gap(x: Any, y: Any) -> Any:
    return mean(abs(np.sort(x).astype(Long) - np.sort(y)))


def gap_of_steps(x: Any, y: Any) -> Any:
    at = np.concatenate([x, y])
    x, y = np.sort(x), np.sort(y)
    return Long(abs(np.searchsorted(x, at, side="right") - np.searchsorted(y, at, side="right")).max()) / x.size


def kernel_sum(x: Any, y: Any) -> Any:
    return sum(np.sum(np.exp(-squares(a[:, None] - y) / 2), dtype=Long) for a in np.array_split(x, 1 + len(x) // 64))


def mmd_squared(x: Any, y: Any) -> Any:
    n, m = Long(len(x)), Long(len(y))
    return kernel_sum(x, x) / n**2 + kernel_sum(y, y) / m**2 - 2 * kernel_sum(x, y) / (n * m)


def mmd_unbiased(x: Any, y: Any) -> Any:
    n, m = Long(len(x)), Long(len(y))
    return (kernel_sum(x, x) - n) / (n * (n - 1)) + (kernel_sum(y, y) - m) / (m * (m - 1)) - 2 * kernel_sum(x, y) / (n * m)


def sinkhorn(x: Any, y: Any) -> Any:
    """By scaling with the kernel, in extended precision, until nothing moves."""

    def cost(a: Any, b: Any) -> Any:
        c = squares(a.astype(Long)[:, None] - b)
        kernel = np.exp(-c / Long(0.1)) / Long(len(b) * len(a))
        u, v = np.ones(len(a), Long), np.ones(len(b), Long)
        for _ in range(3000):
            u = 1 / (kernel @ v) / len(a)
            v = 1 / (u @ kernel) / len(b)
        plan = u[:, None] * kernel * v
        return np.sum(plan * c) + Long(0.1) * np.sum(plan * np.log(plan * len(a) * len(b)))

    return cost(x, y) - (cost(x, x) + cost(y, y)) / 2


def sliced(x: Any, y: Any) -> Any:
    """In the plane, by as many directions at equal angles."""
    angles = np.pi * (np.arange(4096) + 0.5) / 4096
    return np.sqrt(np.mean([np.mean((np.sort(x @ d) - np.sort(y @ d)) ** 2) for d in np.stack([np.cos(angles), np.sin(angles)], axis=1)]))


ORACLE = {
    "kl_divergence": relative_entropy,
    "reverse_kl_divergence": lambda p, q: relative_entropy(q, p),
    "js_divergence": lambda p, q: (relative_entropy(p, (p.astype(Long) + q) / 2) + relative_entropy(q, (p.astype(Long) + q) / 2)) / 2,
    "total_variation": lambda p, q: np.sum(abs(p.astype(Long) - q)) / 2,
    "hellinger_distance": lambda p, q: norm(np.sqrt(p.astype(Long)) - np.sqrt(q.astype(Long))) / np.sqrt(Long(2)),
    "chi_squared_divergence": lambda p, q: np.sum((p.astype(Long) - q) ** 2 / q),
    "renyi_divergence": lambda p, q: -2 * np.log(np.sum(np.sqrt(p.astype(Long) * q))),
    "wasserstein_1d": unequal_gap,
    "kolmogorov_smirnov_distance": gap_of_steps,
    "mmd": lambda x, y: np.sqrt(mmd_squared(x, y)),
    "mmd_squared_unbiased": mmd_unbiased,
    "sinkhorn_divergence": sinkhorn,
    "sliced_wasserstein": sliced,
    "f_divergence": relative_entropy,
    "bregman_divergence": lambda x, y: np.sum(x.astype(Long) * (np.log(x.astype(Long)) - np.log(y.astype(Long))) - x + y),
}
TOLERANCE = {
    1e-11: "kl_divergence reverse_kl_divergence js_divergence chi_squared_divergence wasserstein_1d f_divergence bregman_divergence",
    1e-10: "renyi_divergence kolmogorov_smirnov_distance mmd mmd_squared_unbiased",
    0.001: "sinkhorn_divergence",
    0.1: "sliced_wasserstein",
}
