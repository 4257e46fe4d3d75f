"""Answers of calibrax/metrics/functional/audio.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import long, Long, mean, squares


def frames(x: Any, size: int, hop: int) -> Any:
    """Magnitudes of Hann windows centred on multiples of hop, with zeros beyond the ends."""
    x = np.pad(x, size // 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, size)[::hop]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    return abs(np.fft.rfft(windows * hann))


def convergence(p: Any, t: Any) -> Any:
    a, b = long(frames(p, 1024, 256), frames(t, 1024, 256))
    return np.sqrt(np.sum((a - b) ** 2) / np.sum(b**2))


def mel_bands(rate: float, size: int, count: int) -> Any:
    step = 27 / np.log(6.4)  # mels above 1000 Hz
    top = rate / 2
    mels = np.linspace(0, top * 0.015 if top < 1000 else 15 + step * np.log(top / 1000), count + 2)
    hz = np.where(mels < 15, mels / 0.015, 1000 * np.exp((mels - 15) / step))
    f = np.arange(size // 2 + 1) * rate / size
    up = (f - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - f) / (hz[2:] - hz[1:-1])[:, None]
    return np.clip(np.minimum(up, down), 0, None) * (2 / (hz[2:] - hz[:-2]))[:, None]


def distortion(p: Any, t: Any) -> Any:
    mels, count = 80, 13
    bands = mel_bands(22050.0, 1024, mels)
    angles = np.pi * np.outer(np.arange(1, count + 1), np.arange(mels) + 0.5) / mels

    def cepstra(x: Any) -> Any:
        s = frames(x, 1024, 256) ** 2 @ bands.T
        return np.log(np.maximum(s, s.max() * 1e-8)) @ np.cos(angles).T / mels

    return mean(10 / np.log(Long(10)) * np.sqrt(2 * squares((cepstra(p) - cepstra(t)).astype(Long))))


ORACLE = {
    "spectral_convergence": convergence,
    "mel_cepstral_distortion": distortion,
    "signal_to_noise_ratio": lambda s, n: 10 * np.log10(squares(s.astype(Long)) / squares(n.astype(Long))),
}
TOLERANCE = {1e-10: "mel_cepstral_distortion"}
