"""Answers of calibrax/metrics/plugins."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import entropy, long, Long, mean, norm, squares
from cases.metrics_oracle.generative import frechet


def polynomial_gap(x: Any, y: Any) -> Any:
    """Unbiased, of the kernel (x y / d + 1)^3."""
    x, y = long(x, y)
    n, m = len(x), len(y)

    def total(a: Any, b: Any) -> Any:
        return sum(np.sum((rows @ b.T / a.shape[1] + 1) ** 3) for rows in np.array_split(a, 1 + len(a) // 64))

    def diagonal(a: Any) -> Any:
        return np.sum((squares(a) / a.shape[1] + 1) ** 3)

    return (total(x, x) - diagonal(x)) / (n * (n - 1)) + (total(y, y) - diagonal(y)) / (m * (m - 1)) - 2 * total(x, y) / (n * m)


def score_of_logits(x: Any) -> Any:
    p = np.exp(x.astype(Long) - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.exp(entropy(p.mean(axis=0)) - mean(entropy(p, axis=1)))


def perceptual(x: Any, y: Any) -> Any:
    """Channels along the second axis."""
    x, y = long(x, y)
    gap = x / norm(x, axis=1)[:, None] - y / norm(y, axis=1)[:, None]
    return mean(squares(gap, axis=1))


def token_similarity(x: Any, y: Any) -> Any:
    values = []
    for a, b in zip(*long(x, y)):
        c = cosines(a, b)
        precision, recall = c.max(axis=1).mean(), c.max(axis=0).mean()
        values.append(2 * precision * recall / (precision + recall))
    return mean(np.array(values))


def rarity(texts: Any, corpus: Any) -> Any:
    size = int(max(texts.max(), corpus.max())) + 1
    having = np.array([np.count_nonzero((corpus == word).any(axis=1)) for word in range(size)])
    return np.log(Long(len(corpus) + 1) / (having[texts] + 1))


def unit(x: Any) -> Any:
    x = x.astype(Long)
    return x / norm(x)[..., None]


def cosines(x: Any, y: Any) -> Any:
    return unit(x) @ unit(y).T


ORACLE = {
    "fid": frechet,
    "kid": polynomial_gap,
    "image_inception_score": score_of_logits,
    "lpips": perceptual,
    "bert_score": token_similarity,
    "inverse_document_frequency": rarity,
}
TOLERANCE = {1e-11: "inverse_document_frequency", 1e-10: "lpips", 1e-08: "kid", 1e-07: "fid"}
