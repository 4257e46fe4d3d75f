#!/usr/bin/env python3
"""Predicted times of compiled functions beside measured ones: the models of the suite array_ops, and single operations.

usage: PYTHONPATH=build/release/python scripts/predicted_times.py [NAME...]    one core (OMP_NUM_THREADS=1)

Rates of this machine are measured first. Functions take turns, ROUNDS times; a time is the shortest of its rounds, in seconds of the processor, so that a
busy machine does not count. What a call from Python takes more than one from C, measured on a function of one number, is part of the prediction. 'off'
marks what is more than a quarter away.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workers", "python"))

import calibrax_c as cx
from calibrax_c import array as xp
from cases import array_ops as ops

ROUNDS = 15
SECONDS = 0.01  # of a round of a function, at least one call


def numbers(*shape: int, low: float = 0.1, high: float = 0.9) -> Any:
    n = 1
    for length in shape:
        n *= length
    return xp.reshape(low + (high - low) * xp.remainder(xp.arange(n, dtype=xp.float64) * 0.6180339887498949, 1.0), shape)


def curves(n: int) -> Any:
    return xp.stack([numbers(n, low=5, high=20), numbers(n, low=0.5, high=1.5), numbers(n), numbers(n)], axis=1)


def residuals(p: Any, t: Any, values: Any) -> Any:
    return values - ops.curve(xp, p, t)


def squares(p: Any, t: Any, values: Any) -> Any:
    return xp.sum(residuals(p, t, values) ** 2)


def batched(f: Callable[..., Any]) -> Callable[..., Any]:
    return cx.vmap(f, in_axes=(0, None, 0))


def model(x: Any, p: Any) -> Any:
    return ops.model(xp, x, p, 0.5)


def rbf(x: Any, y: Any, w: Any) -> Any:
    return ops.rbf(xp, x, y, w)


def scan(x: Any) -> Any:
    return cx.scan(lambda s, v: (xp.sqrt(s * s + xp.log(1 + v)), None), 1.0, x)[0]


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    million, large = numbers(1000000), numbers(1 << 22)
    p, t = xp.asarray([0.7, 0.3, 0.5, 0.2]), numbers(64, low=0.1, high=40)
    many, values = curves(10000), numbers(10000, 64)
    points = numbers(4096, 3), numbers(4096, 3), numbers(4096)
    return {
        "add": (lambda x, y: x + y, (large, large)),
        "exp": (xp.exp, (large,)),
        "sum": (xp.sum, (large,)),
        "expression 100000": (lambda a, b: ops.expression(xp, a, b), (numbers(100000), numbers(100000))),
        "expression 4194304": (lambda a, b: ops.expression(xp, a, b), (large, large)),
        "chain100": (ops.chain100, (million, million)),
        "model": (model, (million, p)),
        "model_grad_p": (cx.grad(model, argnums=1), (million, p)),
        "model_grad_x": (cx.grad(model), (million, p)),
        "scan": (scan, (numbers(1000),)),
        "scan_grad": (cx.grad(scan), (numbers(1000),)),
        "fori": (lambda s, b, a: cx.fori_loop(0, 1000, lambda _, s: s * a + b, s), tuple(map(xp.asarray, (0.5, 0.3, 0.9)))),
        "kww": (batched(squares), (many, t, values)),
        "kww_grad": (batched(cx.grad(squares)), (many, t, values)),
        "kww_jac": (batched(cx.jacfwd(residuals)), (many, t, values)),
        "rbf": (rbf, points),
        "rbf_grad": (cx.grad(lambda x, y, w: xp.sum(rbf(x, y, w))), points),
    }


def calls(f: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Seconds of a call, of as many as fill the time of a round."""
    n, start, used = 0, time.perf_counter(), time.process_time()
    while n == 0 or time.perf_counter() - start < SECONDS:
        f(*args)
        n += 1
    return (time.process_time() - used) / n


def main() -> int:
    cx.set_backend("jit")
    chosen = {name: c for name, c in cases().items() if not sys.argv[1:] or name.split()[0] in sys.argv[1:]}
    compiled = {name: (cx.jit(f), args) for name, (f, args) in chosen.items()}
    cost = {name: f.cost(*args) for name, (f, args) in compiled.items()}
    compiled["call"] = (cx.jit(lambda x: -x), (numbers(1),))
    cost["call"] = compiled["call"][0].cost(*compiled["call"][1])
    best = dict.fromkeys(compiled, float("inf"))
    for _ in range(ROUNDS):
        for name, (f, args) in compiled.items():
            best[name] = min(best[name], calls(f, args))
    python_s = max(best["call"] - cost["call"]["predicted_s"], 0)
    print(f"{'function':<20} {'steps':>6} {'predicted':>12} {'measured':>12} {'ratio':>7}")
    for name, seconds in best.items():
        predicted = cost[name]["predicted_s"] + python_s
        ratio = predicted / seconds
        print(f"{name:<20} {len(cost[name]['steps']):6} {1e6 * predicted:9.1f} us {1e6 * seconds:9.1f} us {ratio:7.2f}{'' if 0.8 <= ratio <= 1.25 else '  off'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
