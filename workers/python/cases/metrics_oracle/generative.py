"""Answers of calibrax/metrics/functional/generative.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import entropy, Long, mean, squares

K = 3
DENSITY_K = 5


def frechet_of(m: Any, a: Any, k: Any, b: Any) -> Any:
    w, v = np.linalg.eigh(a)
    root = (v * np.sqrt(w)[..., None, :]) @ v.swapaxes(-1, -2)
    cross = np.sqrt(np.linalg.eigvalsh(root @ b @ root)).sum(axis=-1)
    return squares(m - k) + np.trace(a + b, axis1=-2, axis2=-1) - 2 * cross


def frechet(x: Any, y: Any) -> Any:
    return frechet_of(x.mean(axis=0), np.cov(x.T), y.mean(axis=0), np.cov(y.T))


def inception_parts(p: Any) -> Any:
    def score(p: Any) -> Any:
        p = p.astype(Long)
        return np.exp(entropy(p.mean(axis=0)) - mean(entropy(p, axis=1)))

    return np.array([score(part) for part in np.array_split(p, 10)])


def correlations(x: Any, y: Any) -> Any:
    def of(x: Any) -> Any:
        x = x.astype(Long) - x.astype(Long).mean(axis=0)
        x /= np.sqrt(np.sum(x * x, axis=0))
        return np.array([[np.sum(a * b) for b in x.T] for a in x.T])

    gap = abs(of(x) - of(y))
    return 1 - np.sum(gap - np.diag(np.diag(gap))) / (x.shape[1] * (x.shape[1] - 1))


def block_squares(x: Any, y: Any) -> Any:
    """Blocks of rows of all squared distances."""
    for a in np.array_split(x, 1 + len(x) // 128):
        yield squares(a[:, None] - y)


def kth(x: Any, y: Any, k: int) -> Any:
    return np.concatenate([np.partition(s, k, axis=1)[:, k] for s in block_squares(x, y)])


def covering(reference: Any, x: Any, k: int) -> Any:
    radii = kth(reference, reference, k) * (1 + 1e-13)
    return np.concatenate([np.sum(s <= radii, axis=1) for s in block_squares(x, reference)])


def closest(x: Any, y: Any) -> Any:
    low, high = np.minimum(x.min(axis=0), y.min(axis=0)), np.maximum(x.max(axis=0), y.max(axis=0))
    return mean(kth((y - low) / (high - low), (x - low) / (high - low), 0))


ORACLE = {
    "frechet_feature_distance": frechet,
    "frechet_distance": lambda m, a, k, b: mean(frechet_of(m, a, k, b)),
    "inception_score": lambda p: mean(inception_parts(p)),
    "correlation_preservation": correlations,
    "manifold_precision": lambda x, y: mean(covering(x, y, K) > 0),
    "manifold_recall": lambda x, y: mean(covering(y, x, K) > 0),
    "density_weighted_precision": lambda x, y: mean(covering(x, y, DENSITY_K)) / DENSITY_K,
    "density_weighted_recall": lambda x, y: mean(covering(y, x, DENSITY_K)) / DENSITY_K,
    "manifold_radii": lambda x: np.sqrt(kth(x, x, K)),
    "distance_to_closest_record": closest,
    "memorization_rate": lambda x, y: len({r.tobytes() for r in x} & {r.tobytes() for r in y}) / len(y),
    "inception_score_per_split": inception_parts,
}
TOLERANCE = {
    0.0: "memorization_rate",
    1e-15: "manifold_precision manifold_recall",
    1e-13: "density_weighted_precision density_weighted_recall",
    1e-10: "manifold_radii distance_to_closest_record",
    1e-07: "frechet_feature_distance frechet_distance",
}
