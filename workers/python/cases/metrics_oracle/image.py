"""Answers of calibrax/metrics/functional/image.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import entropy, long, Long, mean


def window() -> Any:
    g = np.exp(-((np.arange(11) - 5.0) ** 2) / (2 * 1.5**2))
    return g / g.sum()


def blurred(x: Any) -> Any:
    w = window().astype(Long)
    for axis in (0, 1):
        n = x.shape[axis] - 10
        x = sum(w[i] * x.take(range(i, i + n), axis=axis) for i in range(11))
    return x


def similarity(x: Any, y: Any) -> tuple[Any, Any]:
    x, y = long(x, y)
    a, b = blurred(x), blurred(y)
    va, vb, c = blurred(x * x) - a * a, blurred(y * y) - b * b, blurred(x * y) - a * b
    cs = (2 * c + Long(0.03) ** 2) / (va + vb + Long(0.03) ** 2)
    return mean(cs), mean(cs * (2 * a * b + Long(0.01) ** 2) / (a * a + b * b + Long(0.01) ** 2))


def scales(x: Any, y: Any) -> Any:
    powers, result = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333), Long(1)
    for i, power in enumerate(powers):
        cs, full = similarity(x, y)
        result *= max(full if i == len(powers) - 1 else cs, 0) ** Long(power)
        x, y = (v[: len(v) // 2 * 2, : v.shape[1] // 2 * 2].reshape(len(v) // 2, 2, v.shape[1] // 2, 2).mean(axis=(1, 3)) for v in (x, y))
    return result


def vendi(k: Any) -> Any:
    return np.exp(entropy(np.linalg.svd(k / len(k), compute_uv=False)))


ORACLE = {
    "psnr": lambda x, y: -10 * np.log10(mean((x.astype(Long) - y) ** 2)),
    "ssim": lambda x, y: similarity(x, y)[1],
    "ms_ssim": scales,
    "vendi_score": vendi,
}
TOLERANCE = {1e-10: "ssim", 1e-09: "ms_ssim vendi_score"}
