"""Every foreign baseline of array_ops under one framework, against plain Python: check_array_ops.py FRAMEWORK.

Run as check_baselines.py is, which see.  Sums are exact (math.fsum) and held to n u of their magnitudes, elementary functions
to 4 units in the last place; everything else must be equal.
"""

from __future__ import annotations

import bisect
import math
import os
import subprocess
import sys
from typing import Any, Callable

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "workers", "python"))
sys.path.insert(0, HERE)

import environments  # noqa: E402
import reference  # noqa: E402
from check_baselines import Tap  # noqa: E402

BINS = 1000
Row = list[float]


def columns(x: Row, rows: int) -> list[Row]:
    width = len(x) // rows
    return [x[j::width] for j in range(width)]


def rank(x: Row) -> float:
    ordered, at = sorted(x), 0.4 * (len(x) - 1)
    k = int(at)
    return ordered[k] if k + 1 == len(x) else ordered[k] + (at - k) * (ordered[k + 1] - ordered[k])


def std(x: Row) -> float:
    mean = math.fsum(x) / len(x)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x))


def bins(x: Row, weights: Row) -> Row:
    return [math.fsum(w for v, w in zip(x, weights) if v == b) for b in range(BINS)]


# name: operands of a point (kinds of suites/array/array_ops/ops.h), the answer, the tolerance
# relative to `size`
OPS: dict[str, tuple[str, Callable[..., Any], float]] = {
    "add": ("nn", lambda x, y, z, r: [a + b for a, b in zip(x, y)], 0),
    "exp": ("n", lambda x, y, z, r: [math.exp(a) for a in x], 8),
    "where": ("nnc", lambda x, y, z, r: [a if c else b for a, b, c in zip(x, y, z)], 0),
    "take": ("ni", lambda x, y, z, r: [x[int(i)] for i in y], 0),
    "digitize": ("ne", lambda x, y, z, r: [bisect.bisect_right(y, a) for a in x], 0),
    "sum": ("n", lambda x, y, z, r: [math.fsum(x)], 100),
    "sum_axis0": ("m", lambda x, y, z, r: [math.fsum(c) for c in columns(x, r)], 100),
    "sum_axis1": ("m", lambda x, y, z, r: [math.fsum(x[i * len(x) // r : (i + 1) * len(x) // r]) for i in range(r)], 100),
    "mean": ("n", lambda x, y, z, r: [math.fsum(x) / len(x)], 100),
    "std": ("n", lambda x, y, z, r: [std(x)], 100),
    "max": ("n", lambda x, y, z, r: [max(x)], 0),
    "cumsum": ("n", lambda x, y, z, r: [math.fsum(x[: i + 1]) for i in range(len(x))], 100),
    "sort": ("n", lambda x, y, z, r: sorted(x), 0),
    "percentile": ("n", lambda x, y, z, r: [rank(x)], 8),
    "bincount": ("l", lambda x, y, z, r: bins(x, [1.0] * len(x)), 0),
    "histogram": ("g", lambda x, y, z, r: [sum(1 for v in x if int(v) == b) for b in range(100)], 0),
    "bincount_weights": ("ln", lambda x, y, z, r: bins(x, y), 100),  # functions of many operations: check_cases.py
}


def operand(kind: str, n: int, rows: int, seed: int) -> tuple[Row, str, tuple[int, ...]]:
    values = reference.draw(1, n, "f64", seed)[0]
    if kind == "i":
        return [float(int(abs(v) * 1000) % n) for v in values], "int64", (n,)
    if kind == "l":
        return [float(int(abs(v) * 1000) % BINS) for v in values], "int64", (n,)
    if kind == "g":
        return [abs(v) * 1000 % 100 for v in values], "float64", (n,)
    if kind == "c":
        return [float(v > 0) for v in values], "bool", (n,)
    if kind == "e":
        return [i / 25 - 2 for i in range(101)], "float64", (101,)
    return values, "float64", (rows, n // rows) if kind == "m" else (n,)


def problem(op: str, n: int, rows: int) -> tuple[list[Row], list[Any], list[float]]:
    import numpy

    kinds = OPS[op][0]
    given = [operand(kind, n, rows, 7 + i) for i, kind in enumerate(kinds)]
    lists = [values for values, _, _ in given] + [[]] * (3 - len(given))
    arrays = [numpy.array(values, dtype).reshape(shape) for values, dtype, shape in given]
    arrays += [numpy.zeros(0)] * (3 - len(arrays))
    return lists, arrays, OPS[op][1](*lists, rows)


def wrong(result: Row, expected: Row, tolerance: float, size: float) -> bool:
    u = 2.0**-53
    return len(result) != len(expected) or any(
        not abs(a - b) <= tolerance * u * max(size, abs(b)) for a, b in zip(result, expected)
    )


def as_written(provider: Any, result: Any) -> Any:
    """What the parent reads: by way of the file that the worker writes."""
    import providers

    descriptor = os.memfd_create("output")
    try:
        providers.write_npy(descriptor, provider.to_host(result))
        return providers.read_npy(descriptor)
    finally:
        os.close(descriptor)


def shape_of(op: str, n: int, rows: int) -> tuple[int, ...]:
    shapes = {"sum_axis0": (n // rows,), "sum_axis1": (rows,), "bincount": (BINS,), "bincount_weights": (BINS,), "histogram": (100,)}
    return () if op in ("sum", "mean", "std", "max", "percentile") else shapes.get(op, (n,))


def check(tap: Tap, provider: Any, prepare: Any) -> None:
    import numpy

    for op, (kinds, _, tolerance) in OPS.items():
        for n, rows in ((10, 2), (33, 3)):
            lists, arrays, expected = problem(op, n, rows)
            inputs = [provider.array(a) for a in arrays]
            call, _ = provider.compile(prepare(provider, {"op": op}, *inputs), inputs)
            result = as_written(provider, call(*inputs))
            size = sum(abs(v) for v in lists[kinds.find("n") if "n" in kinds else 0])
            values = result.astype(float).ravel().tolist()
            kind = "int64" if op in ("digitize", "bincount", "histogram") else "float64"
            good = result.dtype == numpy.dtype(kind) and result.shape == shape_of(op, n, rows)
            good = good and not wrong(values, expected, tolerance, size)
            tap.check(good, f"{provider.name}: {op} of {n}", f"{result.dtype} {values[:4]}, wanted {expected[:4]}")
            values[-1 if any(values[-1:]) else expected.index(max(expected))] += 1e-3
            tap.check(wrong(values, expected, tolerance, size), f"{provider.name}: {op} of {n}, a spoiled element is seen")


def main(argv: list[str]) -> int:
    interpreter = environments.interpreter(argv[1])
    if interpreter is None:
        print(f"1..1\nok 1 - array_ops of {argv[1]} # SKIP rival: {argv[1]} is not installed: run scripts/setup-refs.sh {argv[1]}")
        return 0
    if os.environ.get("CHECK_BASELINES_INSIDE") != "1":
        return subprocess.run(
            [interpreter, __file__, argv[1]], env={**os.environ, "CHECK_BASELINES_INSIDE": "1"}
        ).returncode
    import cases
    import providers

    tap = Tap()
    provider = providers.create(argv[1], "cpu")
    provider.open("cpu", 1)
    for baseline in cases.find("array_ops").baselines.values():
        if baseline.provider == argv[1]:
            check(tap, provider, baseline.prepare)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
