"""Answers of calibrax/metrics/functional/text.c."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.metrics_oracle.common import Long, mean


def grams(text: Any, n: int) -> dict[tuple[int, ...], int]:
    counts: dict[tuple[int, ...], int] = {}
    for gram in zip(*(text[i:].tolist() for i in range(n))):
        counts[gram] = counts.get(gram, 0) + 1
    return counts


def shared(a: dict[Any, int], b: dict[Any, int]) -> int:
    return sum(min(n, b.get(g, 0)) for g, n in a.items())


def bleu(candidate: Any, references: Any) -> Any:
    """References of the candidate's length."""
    logs = Long(0)
    for n in range(1, 5):
        many: dict[Any, int] = {}
        for r in references:
            for gram, count in grams(r, n).items():
                many[gram] = max(many.get(gram, 0), count)
        logs += np.log(Long(shared(grams(candidate, n), many)) / (candidate.size - n + 1)) / 4
    return np.exp(logs)


def common(a: Any, b: Any) -> Any:
    row = np.zeros(b.size + 1, np.int64)
    for x in a:
        step = np.concatenate([[0], row[:-1] + (b == x)])
        row = np.maximum.accumulate(np.maximum(row, step))
        row = np.maximum.accumulate(row)
    return 2 * Long(row[-1]) / (a.size + b.size)


ORACLE = {
    "bleu": bleu,
    "rouge_n": lambda c, r: Long(shared(grams(c, 1), grams(r, 1))) / r.size,
    "rouge_l": common,
    "perplexity": lambda x: np.exp(-mean(x)),
    "distinct_n": lambda t: Long(len(set(t.tolist()))) / t.size,
}
TOLERANCE = {1e-15: "distinct_n"}
