"""Answers of calibrax/metrics/learning."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from cases.metrics_oracle.common import distances, Long, mean, norm, squares, table
from cases.metrics_oracle.plugins import cosines, unit


def sides(labels: Any) -> tuple[Any, Any]:
    """Which pairs are positive, and which are negative."""
    same = labels[:, None] == labels
    return same & ~np.eye(len(labels), dtype=bool), ~same


def contrast(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    d = distances(x, x)
    return (np.sum(d[positive] ** 2) + np.sum(np.maximum(0, 1 - d[negative]) ** 2)) / (len(x) * (len(x) - 1))


def lifted(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    d = distances(x, x)
    s = np.sum(np.where(negative, np.exp(1 - d), 0), axis=1)
    return mean(np.maximum(0, d + np.log(s[:, None] + s))[positive] ** 2) / 2


def nt_xent(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) / Long(0.5)
    s = np.sum(np.where(negative, np.exp(c), 0), axis=1)
    return mean(np.log1p(s[:, None] * np.exp(-c))[positive])


def supervised(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) / Long(0.1)
    total = np.log(np.sum(np.where(positive | negative, np.exp(c), 0), axis=1))
    return mean(np.array([total[i] - c[i, positive[i]].mean() for i in range(len(x)) if positive[i].any()]))


def multi_similarity(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x) - Long(0.5)
    near = np.log1p(np.sum(np.where(positive, np.exp(-2 * c), 0), axis=1)) / 2
    far = np.log1p(np.sum(np.where(negative, np.exp(50 * c), 0), axis=1)) / 50
    return mean(near + far)


def circle(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c, m, scale = cosines(x, x), Long(0.4), Long(80)
    far = np.sum(np.where(negative, np.exp(scale * np.maximum(0, c + m) * (c - m)), 0), axis=1)
    near = np.sum(np.where(positive, np.exp(-scale * np.maximum(0, 1 + m - c) * (c - 1 + m)), 0), axis=1)
    return mean(np.log1p(far * near)[positive.any(axis=1) & negative.any(axis=1)])


def own_row(s: Any) -> Any:
    """Cross entropy of rows of similarities of which the diagonal is right."""
    return mean(np.log(np.sum(np.exp(s - np.diag(s)[:, None]), axis=1)))


def triplets(d: Any, labels: Any) -> Any:
    """Distances of an anchor to its positives, and to its negatives, anchor by anchor."""
    positive, negative = sides(labels)
    for a in range(len(d)):
        if positive[a].any():
            yield d[a, positive[a]], d[a, negative[a]]


def triplet(f: Callable[[Any], Any]) -> Callable[..., Any]:
    """f of d(a, p) - d(a, n), the mean of it."""

    def loss(x: Any, labels: Any) -> Any:
        total, count = Long(0), 0
        for near, far in triplets(distances(x, x), labels):
            total += np.sum(f(near[:, None] - far))
            count += near.size * far.size
        return total / count

    return loss


def margins(x: Any, labels: Any) -> Any:
    total, count = Long(0), 0
    for near, far in triplets(distances(unit(x), unit(x)), labels):
        a, b = np.maximum(0, near - Long(1.2) + Long(0.2)), np.maximum(0, Long(1.2) - far + Long(0.2))
        total += far.size * a.sum() + near.size * b.sum()
        count += far.size * np.count_nonzero(a) + near.size * np.count_nonzero(b)
    return total / count


def class_loss(f: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Cross entropy of f(cosines, which of them are the label's, norms of the embeddings)."""

    def loss(x: Any, labels: Any, w: Any) -> Any:
        own = labels[:, None] == np.arange(len(w))
        logits = f(cosines(x, w), own, norm(x.astype(Long))[:, None])
        return mean(np.log(np.sum(np.exp(logits - logits[own][:, None]), axis=1)))

    return loss


def turned(c: Any, own: Any, _: Any) -> Any:
    moved = np.where(np.arccos(c) + Long(0.5) > np.pi, c - Long(0.5) * np.sin(Long(0.5)), np.cos(np.arccos(c) + Long(0.5)))
    return 64 * np.where(own, moved, c)


def four_times(c: Any, own: Any, size: Any) -> Any:
    """cos(4 theta) by its polynomial."""
    k = np.floor(4 * np.arccos(c) / Long(np.pi))
    return size * np.where(own, (1 - 2 * (k % 2)) * (8 * c**4 - 8 * c**2 + 1) - 2 * k, c)


def proxy_anchor(x: Any, labels: Any, w: Any) -> Any:
    own = labels[:, None] == np.arange(len(w))
    c = cosines(x, w)
    near = np.log1p(np.sum(np.where(own, np.exp(-32 * (c - Long(0.1))), 0), axis=0))
    far = np.log1p(np.sum(np.where(own, 0, np.exp(32 * (c + Long(0.1)))), axis=0))
    return near.sum() / np.count_nonzero(own.any(axis=0)) + mean(far)


def places(choose: Callable[[int, int, Any], int]) -> Callable[..., Any]:
    """choose(anchor, positive, negatives) -> a negative, or -1"""

    def table(labels: Any) -> Any:
        positive, negative = sides(labels)
        out = np.full(positive.shape, -1.0)
        for a, p in zip(*np.nonzero(positive)):
            out[a, p] = choose(a, p, np.flatnonzero(negative[a]))
        return out

    return table


def hard(x: Any, labels: Any) -> Any:
    d = distances(x, x)
    return places(lambda a, p, far: far[np.argmin(d[a, far])])(labels)


def semi_hard(x: Any, labels: Any) -> Any:
    d = distances(x, x)

    def choose(a: int, p: int, far: Any) -> int:
        far = far[(d[a, far] > d[a, p]) & (d[a, far] < d[a, p] + 1)]
        return far[np.argmin(d[a, far])] if far.size else -1

    return places(choose)(labels)


def drawn(x: Any, labels: Any, u: Any) -> Any:
    d, dims = distances(unit(x), unit(x)), x.shape[1]
    q = np.maximum(d, 0.5)
    w = np.where(d < Long(1.4), q ** (2 - dims) * np.maximum(0, 1 - q**2 / 4) ** (Long(3 - dims) / 2), 0)

    def choose(a: int, p: int, far: Any) -> int:
        sums = np.cumsum(w[a, far])
        return far[np.searchsorted(sums, u[a, p] * sums[-1], side="right")] if sums.size and sums[-1] > 0 else -1

    return places(choose)(labels)


def chosen_pairs(x: Any, labels: Any) -> Any:
    positive, negative = sides(labels)
    c = cosines(x, x)
    farthest = np.where(positive, c, np.inf).min(axis=1)[:, None]
    nearest_other = np.where(negative, c, -np.inf).max(axis=1)[:, None]
    both = positive.any(axis=1) & negative.any(axis=1)
    found = positive & (c - Long(0.1) < nearest_other) | negative & (c + Long(0.1) > farthest)
    return found & both[:, None]


ORACLE = {
    "contrastive_loss": contrast,
    "lifted_structure_loss": lifted,
    "nt_xent_loss": nt_xent,
    "supervised_contrastive_loss": supervised,
    "multi_similarity_loss": multi_similarity,
    "circle_loss": circle,
    "n_pairs_loss": lambda x, y: own_row(x.astype(Long) @ y.astype(Long).T),
    "info_nce_loss": lambda x, y: own_row(cosines(x, y) / Long(0.07)),
    "triplet_margin_loss": triplet(lambda gap: np.maximum(0, gap + Long(0.2))),
    "triplet_soft_margin_loss": triplet(lambda gap: np.log1p(np.exp(gap))),
    "margin_based_loss": margins,
    "normalized_softmax_loss": class_loss(lambda c, own, size: c / Long(0.05)),
    "arcface_loss": class_loss(turned),
    "cosface_loss": class_loss(lambda c, own, size: 64 * (c - Long(0.35) * own)),
    "sphereface_loss": class_loss(four_times),
    "proxy_nca_loss": class_loss(lambda c, own, size: 2 * c - 2),
    "proxy_anchor_loss": proxy_anchor,
    "center_loss": lambda x, labels, w: mean(squares(x.astype(Long) - w[labels])) / 2,
    "mine_hard_negatives": hard,
    "mine_semi_hard_negatives": semi_hard,
    "mine_distance_weighted_negatives": drawn,
    "mine_multi_similarity_pairs": chosen_pairs,
}
TOLERANCE = {0.0: "mine_hard_negatives mine_semi_hard_negatives mine_distance_weighted_negatives mine_multi_similarity_pairs"}
