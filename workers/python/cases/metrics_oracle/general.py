"""Answers of calibrax/metrics/functional/general.c."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from cases.metrics_oracle.common import long, Long, mean, norm, r_squared, rows


def error(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda p, t: mean(f(*long(p, t)))


def explained(p: Any, t: Any) -> Any:
    p, t = long(p, t)
    e = t - p
    return 1 - np.sum((e - mean(e)) ** 2) / np.sum((t - mean(t)) ** 2)


def log_cosh(p: Any, t: Any) -> Any:
    e = abs(p.astype(Long) - t)
    return mean(e + np.log1p(np.exp(-2 * e)) - np.log(Long(2)))


def middle(x: Any) -> Any:
    x = np.sort(x).astype(Long)
    return (x[(x.size - 1) // 2] + x[x.size // 2]) / 2


ORACLE = {
    "mse": error(lambda p, t: (p - t) ** 2),
    "mae": error(lambda p, t: abs(p - t)),
    "rmse": lambda p, t: np.sqrt(mean((p.astype(Long) - t) ** 2)),
    "r_squared": r_squared,
    "mape": error(lambda p, t: abs(p - t) / np.maximum(abs(t), 2.0**-52)),
    "relative_error": lambda p, t: norm(p.astype(Long) - t) / norm(t.astype(Long)),
    "relative_l2_error": rows(lambda p, t: norm(p - t) / norm(t)),
    "explained_variance": explained,
    "max_error": lambda p, t: abs(p - t).max(),
    "huber_loss": error(lambda p, t: np.where(abs(p - t) <= 1, (p - t) ** 2 / 2, abs(p - t) - 0.5)),
    "charbonnier_loss": error(lambda p, t: np.sqrt((p - t) ** 2 + Long(1e-3) ** 2)),
    "quantile_loss": error(lambda p, t: abs(p - t) / 2),
    "log_cosh_loss": log_cosh,
    "smape": error(lambda p, t: 2 * abs(p - t) / (abs(p) + abs(t))),
    "quantile": middle,
}
TOLERANCE = {0.0: "max_error quantile"}
