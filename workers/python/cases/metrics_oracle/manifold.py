"""Answers of calibrax/metrics/functional/manifold.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, norm, rows
from cases.metrics_oracle.distance import hyperbolic


def logarithm(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (v * np.log(w)) @ v.T


def affine(a: Any, b: Any) -> Any:
    w, v = np.linalg.eigh(a)
    half = (v / np.sqrt(w)) @ v.T
    return norm(np.log(np.linalg.eigvalsh(half @ b @ half)))


def angles(u: Any, v: Any) -> Any:
    """By sines and cosines of the products' singular values."""
    cos = np.linalg.svd(u.T @ v, compute_uv=False)
    sin = np.linalg.svd(v - u @ (u.T @ v), compute_uv=False)[::-1]
    return norm(np.arctan2(sin, cos))


ORACLE = {
    "spd_affine_invariant_distance": affine,
    "spd_log_euclidean_distance": lambda a, b: norm((logarithm(a) - logarithm(b)).ravel()),
    "grassmann_distance": angles,
    "stiefel_distance": lambda u, v: norm((u.astype(Long) - v).ravel()),
    "ultrahyperbolic_distance": rows(hyperbolic),
}
TOLERANCE = {1e-10: "grassmann_distance", 1e-09: "spd_affine_invariant_distance spd_log_euclidean_distance", 1e-08: "ultrahyperbolic_distance"}
