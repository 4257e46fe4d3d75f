"""Foreign baselines of array_ops: NumPy's and jax.numpy's function of that name, a new result each call.

Each line of OPS is the natural form in the array API that both share; JAX compiles it.  RBF sums over pairs: NumPy goes by blocks of 256 rows.  Where a result's dtype is an index in
JAX's own width, it is brought to int64 as the case asks; XLA fuses that.
"""

from __future__ import annotations

from typing import Any, Callable

from protocol import require

from cases import Baseline, Case

BINS = 1000  # of suites/array/array_ops/ops.h
CELLS = 100
RANK = 40.0


def expression(np: Any, a: Any, b: Any) -> Any:
    return np.exp(-(a * b + 0.5) * 0.7) + a


def chain100(x: Any, y: Any) -> Any:
    s = x
    for _ in range(50):
        s = s * 0.9 + y
    return s


def model(np: Any, x: Any, p: Any, scale: Any) -> Any:
    a = p[0] * x
    sine = np.sin(a + p[1])
    d = sine * sine
    g = d + np.exp(-a) * p[2]
    j = np.sqrt(g * g + 1)
    line = np.log(j) * p[3]
    return np.sum((((np.cos(p[1] * x) * line) + g) * j - d) * 0.5) * scale


def curve(np: Any, p: Any, t: Any) -> Any:
    tau, beta, contrast, baseline = p
    return baseline + contrast * np.exp(-((2 * t / tau) ** beta))


def squares_numpy(np: Any, x: Any, t: Any, values: Any) -> Any:
    return np.sum((values - curve(np, x.T[:, :, None], t)) ** 2, axis=1)


def rbf(np: Any, x: Any, y: Any, w: Any) -> Any:
    squares = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return np.sum(np.exp(-squares / 2) * w, axis=1)


def rbf_in_blocks(np: Any, x: Any, y: Any, w: Any) -> Any:
    return np.concatenate([rbf(np, x[i : i + 256], y, w) for i in range(0, len(x), 256)])

# name: function of the module (numpy or jax.numpy) and the operands
OPS: dict[str, Callable[..., Any]] = {
    "add": lambda np, x, y, z, n: np.add(x, y),
    "exp": lambda np, x, y, z, n: np.exp(x),
    "where": lambda np, x, y, z, n: np.where(z, x, y),
    "take": lambda np, x, y, z, n: np.take(x, y),
    "digitize": lambda np, x, y, z, n: np.digitize(x, y).astype(np.int64, copy=False),
    "sum": lambda np, x, y, z, n: np.sum(x),
    "sum_axis0": lambda np, x, y, z, n: np.sum(x, axis=0),
    "sum_axis1": lambda np, x, y, z, n: np.sum(x, axis=1),
    "mean": lambda np, x, y, z, n: np.mean(x),
    "std": lambda np, x, y, z, n: np.std(x),
    "max": lambda np, x, y, z, n: np.max(x),
    "cumsum": lambda np, x, y, z, n: np.cumsum(x),
    "sort": lambda np, x, y, z, n: np.sort(x),
    "percentile": lambda np, x, y, z, n: np.percentile(x, RANK),
    "bincount": lambda np, x, y, z, n: np.bincount(x, minlength=BINS),
    "bincount_weights": lambda np, x, y, z, n: np.bincount(x, y, minlength=BINS),
    "median": lambda np, x, y, z, n: np.median(x),
    "nanmean": lambda np, x, y, z, n: np.nanmean(x),
    "histogram": lambda np, x, y, z, n: np.histogram(x, bins=CELLS, range=(0, CELLS))[0],
    "expression": lambda np, x, y, z, n: expression(np, x, y),
    "chain100": lambda np, x, y, z, n: chain100(x, y),
    "model": lambda np, x, y, z, n: model(np, x, y, z),
    "kww": lambda np, x, y, z, n: squares_numpy(np, x, y, z),
    "rbf": lambda np, x, y, z, n: rbf_in_blocks(np, x, y, z),
}
# An array's length is no value in a compiled function; and its labels are known to be below BINS.
JAX_OPS: dict[str, Callable[..., Any]] = {
    **OPS,
    "digitize": lambda np, x, y, z, n: np.digitize(x, y).astype(np.int64),
    "bincount": lambda np, x, y, z, n: np.bincount(x, length=BINS).astype(np.int64),
    "bincount_weights": lambda np, x, y, z, n: np.bincount(x, y, length=BINS),
    "histogram": lambda np, x, y, z, n: np.histogram(x, bins=CELLS, range=(0, CELLS))[0].astype(np.int64),
    "rbf": lambda np, x, y, z, n: rbf(np, x, y, z),
}


def _transformed(np: Any) -> dict[str, Callable[..., Any]]:
    """What NumPy has no counterpart of: gradients, loops, batches."""
    import jax

    def scan(x: Any, scale: Any) -> Any:
        return jax.lax.scan(lambda s, v: (np.sqrt(s * s + np.log(1 + v)), None), 1.0, x)[0] * scale

    def residuals(p: Any, t: Any, values: Any) -> Any:
        return values - curve(np, p, t)

    def squares(p: Any, t: Any, values: Any) -> Any:
        return np.sum(residuals(p, t, values) ** 2)

    def each(f: Callable[..., Any]) -> Callable[..., Any]:
        return jax.vmap(f, in_axes=(0, None, 0))

    return {
        "model_grad_p": lambda np, x, y, z, n: jax.grad(lambda p: model(np, x, p, z))(y),
        "model_grad_x": lambda np, x, y, z, n: jax.grad(lambda v: model(np, v, y, z))(x),
        "scan": lambda np, x, y, z, n: scan(x, y),
        "scan_grad": lambda np, x, y, z, n: jax.grad(scan)(x, y),
        "fori": lambda np, x, y, z, n: jax.lax.fori_loop(0, n, lambda _, s: s * z + y, x),
        "kww": lambda np, x, y, z, n: each(squares)(x, y, z),
        "kww_grad": lambda np, x, y, z, n: each(jax.grad(squares))(x, y, z),
        "kww_jac": lambda np, x, y, z, n: each(jax.jacfwd(residuals))(x, y, z),
        "rbf_grad": lambda np, x, y, z, n: jax.grad(lambda v: np.sum(rbf(np, v, y, z)))(x),
    }



def _prepare(ops: dict[str, Callable[..., Any]], module: Any, point: dict[str, Any]) -> Callable[..., Any]:
    op = ops.get(str(point.get("op")))
    require(op, f"array_ops has no op '{str(point.get('op'))[:40]}': it has {', '.join(ops)}")
    return lambda x, y, z: op(module, x, y, z, point.get("n"))


def numpy_op(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    return _prepare(OPS, provider.np, point)


def jax_op(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    return _prepare({**JAX_OPS, **_transformed(provider.np)}, provider.np, point)


CASE = Case(
    name="array_ops",
    inputs=("x", "y", "z"),
    outputs=("result",),
    baselines={"numpy": Baseline("numpy", numpy_op), "jax": Baseline("jax", jax_op)},
)
