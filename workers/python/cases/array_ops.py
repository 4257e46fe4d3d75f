"""Foreign baselines of array_ops: NumPy's and jax.numpy's function of that name, a new result each call.

Each line of OPS is the natural form in the array API that both share; JAX compiles it.  Where a result's dtype is an index in
JAX's own width, it is brought to int64 as the case asks; XLA fuses that.
"""

from __future__ import annotations

from typing import Any, Callable

from protocol import violation

from cases import Baseline, Case

BINS = 256  # of suites/array/array_ops/ops.h
RANK = 40.0

# name: function of the module (numpy or jax.numpy) and the operands
OPS: dict[str, Callable[..., Any]] = {
    "add": lambda np, x, y, z: np.add(x, y),
    "exp": lambda np, x, y, z: np.exp(x),
    "where": lambda np, x, y, z: np.where(z, x, y),
    "take": lambda np, x, y, z: np.take(x, y),
    "digitize": lambda np, x, y, z: np.digitize(x, y).astype(np.int64, copy=False),
    "sum": lambda np, x, y, z: np.sum(x),
    "sum_axis0": lambda np, x, y, z: np.sum(x, axis=0),
    "sum_axis1": lambda np, x, y, z: np.sum(x, axis=1),
    "mean": lambda np, x, y, z: np.mean(x),
    "std": lambda np, x, y, z: np.std(x),
    "max": lambda np, x, y, z: np.max(x),
    "cumsum": lambda np, x, y, z: np.cumsum(x),
    "sort": lambda np, x, y, z: np.sort(x),
    "percentile": lambda np, x, y, z: np.percentile(x, RANK),
    "bincount": lambda np, x, y, z: np.bincount(x, minlength=BINS),
    "bincount_weights": lambda np, x, y, z: np.bincount(x, y, minlength=BINS),
}
# An array's length is no value in a compiled function; and its labels are known to be below BINS.
JAX_OPS: dict[str, Callable[..., Any]] = {
    **OPS,
    "digitize": lambda np, x, y, z: np.digitize(x, y).astype(np.int64),
    "bincount": lambda np, x, y, z: np.bincount(x, length=BINS).astype(np.int64),
    "bincount_weights": lambda np, x, y, z: np.bincount(x, y, length=BINS),
}


def _prepare(ops: dict[str, Callable[..., Any]], module: Any, point: dict[str, Any]) -> Callable[..., Any]:
    op = ops.get(str(point.get("op")))
    if op is None:
        raise violation(f"array_ops has no op '{str(point.get('op'))[:40]}': it has {', '.join(ops)}")
    return lambda x, y, z: op(module, x, y, z)


def numpy_op(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    return _prepare(OPS, provider.numpy, point)


def jax_op(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    return _prepare(JAX_OPS, jnp, point)


CASE = Case(
    name="array_ops",
    inputs=("x", "y", "z"),
    outputs=("result",),
    baselines={"numpy": Baseline("numpy", numpy_op), "jax": Baseline("jax", jax_op)},
)
