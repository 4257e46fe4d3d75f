"""Every foreign baseline of semiring_matmul under one framework, against plain Python: check_baselines.py FRAMEWORK.

Run by an interpreter that has the framework; without an argument that names one, by any Python: it then looks for the
environments of scripts/setup-refs.sh and hands over to them.  Prints TAP.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "workers", "python"))
sys.path.insert(0, HERE)

import environments  # noqa: E402
import reference  # noqa: E402

SHAPES = (
    (7, 5, 3, "tiny: less than a vector everywhere"),
    (33, 17, 29, "odd: tails in every direction"),
    (3, 0, 4, "k = 0: the empty value"),
)
NAN, INF = math.nan, math.inf
# A column of each, against zeros: what the terms are, and what the algebra makes of them.
SPECIALS = (
    ("log", [NAN, 1.0], NAN, "a column holding NaN gives NaN"),
    ("log", [INF, 1.0], INF, "a column holding +inf gives +inf"),
    ("log", [-INF, -INF], -INF, "all -inf gives -inf"),
    ("log", [-INF, 2.0], 2.0, "one -inf adds nothing"),
    ("tropical_max_plus", [NAN, 1.0], NAN, "max propagates NaN"),
    ("tropical_min_plus", [1.0, NAN], NAN, "min propagates NaN"),
    ("tropical_max_plus", [-INF, -INF], -INF, "max of all -inf"),
)


class Tap:
    def __init__(self) -> None:
        self.count = self.failed = 0

    def check(self, ok: bool, what: str, note: str = "") -> None:
        self.count += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {what}" + ("" if ok else f" ({note})"), flush=True)

    def end(self) -> int:
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def points(baseline: str) -> Iterator[tuple[str, str]]:
    for algebra in ("real",) if baseline == "jnp-matmul" else reference.ALGEBRAS:
        for dtype in ("bool",) if algebra == "boolean" else ("f32", "f64"):
            yield algebra, dtype


def compute(
    provider: Any, prepare: Any, algebra: str, dtype: str, a: list, b: list, shape: tuple[int, int, int]
) -> list:
    import numpy

    kind = {"f32": "float32", "f64": "float64", "bool": "bool"}[dtype]
    m, k, n = shape
    inputs = [
        provider.array(numpy.array(a, kind).reshape(m, k)),
        provider.array(numpy.array(b, kind).reshape(k, n)),
    ]
    call, _ = provider.compile(prepare(provider, {"algebra": algebra, "dtype": dtype}, *inputs), inputs)
    result = provider.to_host(call(*inputs))
    assert result.dtype == numpy.dtype(kind), result.dtype
    return result.astype(float).tolist()


def check_values(tap: Tap, provider: Any, name: str, prepare: Any) -> None:
    for m, k, n, why in SHAPES:
        for algebra, dtype in points(name):
            if dtype == "f64" and (m, k, n) != SHAPES[0][:3]:
                continue  # one shape distinguishes the dtypes; a compilation each would take long
            a, b = reference.draw(m, k, dtype, 1), reference.draw(k, n, dtype, 2)
            expected = reference.matmul(algebra, a, b, n, dtype)
            ratio = reference.worst(compute(provider, prepare, algebra, dtype, a, b, (m, k, n)), expected)
            tap.check(ratio <= 1, f"{name}: {algebra} {dtype} {m}x{k}x{n}, {why}", f"error / bound = {ratio}")


def check_specials(tap: Tap, provider: Any, name: str, prepare: Any) -> None:
    for algebra, column, right, why in SPECIALS:
        k = len(column)
        value = compute(provider, prepare, algebra, "f32", [column], [[0.0]] * k, (1, k, 1))[0][0]
        tap.check(reference.worst([[value]], [[(right, 1e-6)]]) <= 1, f"{name}: {algebra}, {why}", f"{value}")


def check_planted_fault(tap: Tap, provider: Any, name: str, prepare: Any) -> None:
    """The comparison must see a kernel that leaves out the last k."""
    m, k, n = 7, 5, 3
    for algebra, dtype in points(name):
        if dtype == "f64":
            continue
        a, b = reference.draw(m, k, dtype, 3), reference.draw(k, n, dtype, 4)
        if dtype == "bool":
            a, b = [[float(kk == k - 1) for kk in range(k)] for _ in range(m)], [[1.0] * n for _ in range(k)]
        expected = reference.matmul(algebra, a, b, n, dtype)
        wrong = compute(provider, prepare, algebra, dtype, [row[:-1] for row in a], b[:-1], (m, k - 1, n))
        tap.check(reference.worst(wrong, expected) > 1, f"{name}: {algebra} {dtype} without its last k is rejected")


def check_pallas(tap: Tap, provider: Any) -> None:
    """The kernel's arithmetic by Pallas' interpreter, and its lowering to Triton, neither of which needs a GPU."""
    import jax
    import jax.numpy as jnp
    from cases import semiring_matmul
    from protocol import WorkerError

    m, k, n = 32, 6, 16
    for algebra, dtype in points("nitrix-pallas"):
        a, b = reference.draw(m, k, dtype, 5), reference.draw(k, n, dtype, 6)
        expected = reference.matmul(algebra, a, b, n, dtype)

        def interpreted(_: Any, point: dict, a: Any, b: Any) -> Any:
            return semiring_matmul.pallas_tiles(point["algebra"], a.shape, b.shape, interpret=True)

        ratio = reference.worst(compute(provider, interpreted, algebra, dtype, a, b, (m, k, n)), expected)
        tap.check(ratio <= 1, f"nitrix-pallas: {algebra} {dtype}, interpreted", f"error / bound = {ratio}")

        kind = {"f32": jnp.float32, "f64": jnp.float64, "bool": jnp.bool_}[dtype]
        tiles = semiring_matmul.pallas_tiles(algebra, (64, 48), (48, 32))
        lowered = (
            jax.jit(tiles)
            .trace(jnp.zeros((64, 48), kind), jnp.zeros((48, 32), kind))
            .lower(lowering_platforms=("cuda",))
        )
        tap.check("triton" in lowered.as_text(), f"nitrix-pallas: {algebra} {dtype} lowers to a Triton kernel")
    try:
        semiring_matmul.pallas_tiles("real", (33, 8), (8, 16))
        tap.check(False, "nitrix-pallas: 33 rows are refused")
    except WorkerError as error:
        tap.check(error.cause == "point_unsupported", "nitrix-pallas: 33 rows are refused", error.cause)


def check_framework(framework: str) -> int:
    import cases
    import providers

    tap = Tap()
    provider = providers.create(framework, "cpu")
    provider.open("cpu", 1)
    for name, baseline in cases.find("semiring_matmul").baselines.items():
        if baseline.provider == framework and name != "nitrix-pallas":
            check_values(tap, provider, name, baseline.prepare)
            check_planted_fault(tap, provider, name, baseline.prepare)
            if name != "jnp-matmul":
                check_specials(tap, provider, name, baseline.prepare)
    if framework == "jax":
        check_pallas(tap, provider)
    return tap.end()


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("usage: check_baselines.py FRAMEWORK", file=sys.stderr)
        return 2
    interpreter = environments.interpreter(argv[1])
    if interpreter is None:
        print(
            f"1..1\nok 1 - baselines of {argv[1]} # SKIP rival: {argv[1]} is not installed: run scripts/setup-refs.sh {argv[1]}"
        )
        return 0
    if os.environ.get("CHECK_BASELINES_INSIDE") != "1":
        return subprocess.run(
            [interpreter, __file__, argv[1]], env={**os.environ, "CHECK_BASELINES_INSIDE": "1"}
        ).returncode
    return check_framework(argv[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv))
