"""semiring_matmul in plain Python, and how far a right result may be from it.  Shares no code with the worker.

Doubles with exact sums (math.fsum) serve as truth for both dtypes.  Bounds, with u the unit roundoff of the dtype:
  real        gamma_k * sum |a b|                   Higham (2002), eq. 3.5
  log         (k + 8) u * (1 + |top|) + 4 u |C|     sums of k terms in (0, 1], one exp and log each
  euclidean   gamma_(k+4) * C                       sums of non-negative terms do not cancel
  max, min    one rounding of a + b, hence exact
"""

from __future__ import annotations

import math
import struct

Matrix = list[list[float]]

ALGEBRAS = ("real", "log", "tropical_max_plus", "tropical_min_plus", "euclidean", "boolean")
UNIT = {"f32": 2.0**-24, "f64": 2.0**-53, "bool": 0.0}


def round_to(value: float, dtype: str) -> float:
    if dtype != "f32" or math.isnan(value) or math.isinf(value):
        return value
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _largest(values: list[float]) -> float:
    return math.nan if any(math.isnan(v) for v in values) else max(values, default=-math.inf)


def _logsumexp(terms: list[float]) -> float:
    top = _largest(terms)
    if math.isnan(top) or math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(t - top) for t in terms))


def element(algebra: str, column_a: list[float], column_b: list[float], dtype: str) -> tuple[float, float]:
    """The right value, and the bound on a right result's error."""
    pairs = list(zip(column_a, column_b))
    k, u = len(pairs), UNIT[dtype]
    if algebra == "boolean":
        return float(any(a and b for a, b in pairs)), 0.0
    if algebra == "real":
        return math.fsum(a * b for a, b in pairs), (k + 1) * u * math.fsum(abs(a * b) for a, b in pairs)
    if algebra == "euclidean":
        value = math.sqrt(math.fsum((a - b) ** 2 for a, b in pairs))
        return value, (k + 4) * u * value
    terms = [round_to(a + b, dtype) for a, b in pairs]
    if algebra == "tropical_max_plus":
        return _largest(terms), 0.0
    if algebra == "tropical_min_plus":
        return -_largest([-t for t in terms]), 0.0
    value = _logsumexp([a + b for a, b in pairs])
    top = max((abs(t) for t in terms if math.isfinite(t)), default=0.0)
    return value, (k + 8) * u * (1 + top) + 4 * u * (abs(value) if math.isfinite(value) else 0.0)


def matmul(algebra: str, a: Matrix, b: Matrix, n: int, dtype: str) -> list[list[tuple[float, float]]]:
    columns = [[row[j] for row in b] for j in range(n)]
    return [[element(algebra, row, column, dtype) for column in columns] for row in a]


def worst(result: Matrix, expected: list[list[tuple[float, float]]]) -> float:
    """Largest |error| over its bound; inf where a special or an exact value differs, or the shape does."""
    if [len(row) for row in result] != [len(row) for row in expected]:
        return math.inf
    largest = 0.0
    for row, expected_row in zip(result, expected):
        for value, (right, bound) in zip(row, expected_row):
            if value == right or (math.isnan(value) and math.isnan(right)):
                continue
            error = abs(value - right)
            largest = max(largest, error / bound if bound > 0 and math.isfinite(error) else math.inf)
    return largest


def draw(rows: int, columns: int, dtype: str, seed: int) -> Matrix:
    """Deterministic values in (-4, 4), or booleans that are true one time in eight."""
    state = seed * 2654435761 % 2**32 or 1
    matrix = []
    for _ in range(rows):
        row = []
        for _ in range(columns):
            state = (1664525 * state + 1013904223) % 2**32
            fraction = state / 2**32
            row.append(float(fraction < 0.125) if dtype == "bool" else round_to(8 * fraction - 4, dtype))
        matrix.append(row)
    return matrix
