"""Foreign baselines of semiring_matmul: C[i,j] = finish( fold over kk of update(acc, combine(A[i,kk], B[kk,j])) ).

Each is its framework's natural form, at its best: the loop over k that updates all of C, the broadcast to m x k x n that is
then reduced, the library's own product, and a tiled GPU kernel.  For k = 0 the result is the algebra's empty value.

Measured choices (one core of a Zen 5, 512 cubed f32):
  numpy, log          two passes (largest term, then the sum of exp) 0.20 s; np.logaddexp as the update 1.1 s
  numpy, row blocks   256 KiB of C at a time keeps the update in cache: 9 % faster than all of C, 23 % at 1024 cubed
"""

from __future__ import annotations

from math import inf
from typing import Any, Callable, NamedTuple

from protocol import WorkerError, require

from cases import Baseline, Case
from cases.algebras import EMPTY, algebra_of, array_api, graphblas_ops, graphblas_product, only_real

_NUMPY_BLOCK_BYTES = 256 * 1024


def _algebra_of(point: dict[str, Any], a: Any, b: Any) -> str:
    algebra = algebra_of(point)
    require(len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0] and a.dtype == b.dtype, f"shapes {tuple(a.shape)} and {tuple(b.shape)} do not multiply")
    return algebra


# --- numpy ---


def numpy_loop(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    """The library's product where it has one; else for each k an update of a block of C by ufuncs with out=."""
    np = provider.np
    algebra = _algebra_of(point, a, b)
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), a.dtype)
    if algebra in ("real", "boolean"):
        return lambda a, b: np.matmul(a, b, out=c)

    rows = min(m, max(1, _NUMPY_BLOCK_BYTES // max(1, n * a.dtype.itemsize)))
    term_buffer, sum_buffer = np.empty((rows, n), a.dtype), np.empty((rows, n), a.dtype)

    def select(update: Any, a: Any, b: Any, c: Any, term: Any, _: Any) -> None:
        for kk in range(k):
            np.add(a[:, kk, None], b[kk], out=term)
            update(c, term, out=c)

    def euclidean(_: Any, a: Any, b: Any, c: Any, term: Any, __: Any) -> None:
        for kk in range(k):
            np.subtract(a[:, kk, None], b[kk], out=term)
            np.multiply(term, term, out=term)
            np.add(c, term, out=c)
        np.sqrt(c, out=c)

    def logsumexp(_: Any, a: Any, b: Any, c: Any, term: Any, total: Any) -> None:
        select(np.maximum, a, b, c, term, None)
        np.copyto(c, 0, where=np.isinf(c))  # an infinite shift would turn inf - inf into NaN
        total.fill(0)
        for kk in range(k):
            np.add(a[:, kk, None], b[kk], out=term)
            np.subtract(term, c, out=term)
            np.exp(term, out=term)
            np.add(total, term, out=total)
        np.log(total, out=total)
        np.add(c, total, out=c)

    step, update = {
        "log": (logsumexp, None),
        "tropical_max_plus": (select, np.maximum),
        "tropical_min_plus": (select, np.minimum),
        "euclidean": (euclidean, None),
    }[algebra]

    def run(a: Any, b: Any) -> Any:
        c.fill(EMPTY[algebra])
        for i in range(0, m, rows):
            block = c[i : i + rows]
            step(update, a[i : i + rows], b, block, term_buffer[: len(block)], sum_buffer[: len(block)])
        return c

    return run


# --- jax ---


class _Fold(NamedTuple):
    """An algebra as a loop over k: the state's first values, one step with a column of A and a row of B, and the end."""

    init: tuple[Any, ...]
    step: Callable[..., tuple[Any, ...]]
    finish: Callable[..., Any]


def _jax_fold(jnp: Any, algebra: str) -> _Fold:
    def same(acc: Any) -> Any:
        return acc

    def weight(x: Any, top: Any) -> Any:
        # exp(x - top), but 1 where both are the same infinity, so that +inf stays +inf and all -inf
        # stays -inf.
        return jnp.where(x == top, 1, jnp.exp(x - top)).astype(x.dtype)

    def log_step(top: Any, total: Any, a: Any, b: Any) -> tuple[Any, Any]:
        term = a + b
        new_top = jnp.maximum(top, term)
        return new_top, total * weight(top, new_top) + weight(term, new_top)

    return {
        "real": _Fold((0,), lambda acc, a, b: (acc + a * b,), same),
        "log": _Fold((-inf, 0), log_step, lambda top, total: top + jnp.log(total)),
        "tropical_max_plus": _Fold((-inf,), lambda acc, a, b: (jnp.maximum(acc, a + b),), same),
        "tropical_min_plus": _Fold((inf,), lambda acc, a, b: (jnp.minimum(acc, a + b),), same),
        "euclidean": _Fold((0,), lambda acc, a, b: (acc + (a - b) * (a - b),), jnp.sqrt),
        "boolean": _Fold((False,), lambda acc, a, b: (acc | (a & b),), same),
    }[algebra]


def jax_stream(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    """fori_loop over k; log by the online recurrence on (largest term, scaled sum)."""
    jnp, lax = provider.np, provider.jax.lax
    fold = _jax_fold(jnp, _algebra_of(point, a, b))

    def run(a: Any, b: Any) -> Any:
        (m, k), n = a.shape, b.shape[1]

        def body(kk: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
            column = lax.dynamic_index_in_dim(a, kk, axis=1)
            return fold.step(*state, column, lax.dynamic_index_in_dim(b, kk, axis=0))

        state = tuple(jnp.full((m, n), value, a.dtype) for value in fold.init)
        return fold.finish(*(lax.fori_loop(0, k, body, state) if k else state))

    return run


def jax_naive(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    """Broadcast to m x k x n, then reduce; what XLA does not fuse it materialises."""
    jnp = provider.np
    algebra = _algebra_of(point, a, b)
    combine, fold = array_api(jnp, algebra)
    if algebra == "log":
        fold = provider.jax.nn.logsumexp

    def run(a: Any, b: Any) -> Any:
        if a.shape[1] == 0:
            return jnp.full((a.shape[0], b.shape[1]), EMPTY[algebra], a.dtype)
        return fold(combine(a[:, :, None], b[None, :, :]), 1)

    return run


def jnp_matmul(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    _algebra_of(point, a, b)
    only_real(point, "jnp-matmul")
    return provider.np.matmul


def nitrix_pallas(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    if provider.platform == "cpu":
        raise WorkerError("backend_unavailable", "nitrix-pallas is a Triton kernel: it needs an NVIDIA GPU")
    return pallas_tiles(_algebra_of(point, a, b), a.shape, b.shape)


def pallas_tiles(algebra: str, a_shape: Any, b_shape: Any, interpret: bool = False) -> Callable[..., Any]:
    """A Triton program per tile of C walks k one by one with the fold's state in registers.

    Tiles are the largest of 64, 32, 16 that divide m and n; other shapes are not supported, as in the kernel it stands for.
    Booleans travel as bytes, since Triton has no array of bits.
    """
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.experimental import pallas
    from jax.experimental.pallas import triton

    (m, k), n = a_shape, b_shape[1]
    tiles = [next((size for size in (64, 32, 16) if extent and extent % size == 0), 0) for extent in (m, n)]
    if 0 in tiles:
        raise WorkerError("point_unsupported", f"nitrix-pallas needs m and n in multiples of 16, not {m} and {n}")
    fold = _jax_fold(jnp, algebra)

    def kernel(a_ref: Any, b_ref: Any, c_ref: Any) -> None:
        def body(kk: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
            return fold.step(*state, a_ref[:, pallas.ds(kk, 1)], b_ref[pallas.ds(kk, 1), :])

        state = tuple(jnp.full(c_ref.shape, value, c_ref.dtype) for value in fold.init)
        c_ref[...] = fold.finish(*lax.fori_loop(0, k, body, state)).astype(c_ref.dtype)

    def run(a: Any, b: Any) -> Any:
        if k == 0:
            return jnp.full((m, n), EMPTY[algebra], a.dtype)
        dtype = jnp.dtype("int8") if a.dtype == bool else a.dtype
        call = pallas.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct((m, n), dtype),
            grid=(m // tiles[0], n // tiles[1]),
            in_specs=[
                pallas.BlockSpec((tiles[0], k), lambda i, j: (i, 0)),
                pallas.BlockSpec((k, tiles[1]), lambda i, j: (0, j)),
            ],
            out_specs=pallas.BlockSpec(tuple(tiles), lambda i, j: (i, j)),
            compiler_params=triton.CompilerParams(num_warps=4),
            interpret=interpret,
        )
        return call(a.astype(dtype), b.astype(dtype)).astype(a.dtype)

    return run


# --- graphblas ---


def graphblas_matrix(provider: Any, point: dict[str, Any], a: Any, b: Any) -> tuple[Any, ...]:
    graphblas_ops(_algebra_of(point, a, b))
    return tuple(provider.graphblas.Matrix.from_dense(x) for x in (a, b))


# --- torch ---


def torch_dense(provider: Any, point: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    """Broadcast to m x k x n, then reduce."""
    torch = provider.torch
    algebra = _algebra_of(point, a, b)
    _reserve_probe(a, b)
    if a.shape[1] == 0:
        return lambda a, b: torch.full((a.shape[0], b.shape[1]), EMPTY[algebra], dtype=a.dtype, device=a.device)
    combine, fold = array_api(torch, algebra)
    return lambda a, b: fold(combine(a[:, :, None], b[None, :, :]), 1)


def _reserve_probe(a: Any, b: Any) -> None:
    """Reserves the m x k x n temporary once, untouched, so that too large a point fails as MemoryError.

    On the CPU PyTorch reports a failed allocation as a plain RuntimeError, known from others by its text only.
    """
    import numpy

    if a.device.type == "cpu":
        numpy.empty((*a.shape, b.shape[1]), dtype=f"V{a.element_size()}")


CASE = Case(
    name="semiring_matmul",
    inputs=("A", "B"),
    outputs=("C",),
    baselines={
        "numpy": Baseline("numpy", numpy_loop),
        "jax-stream": Baseline("jax", jax_stream),
        "jax-naive": Baseline("jax", jax_naive),
        "jnp-matmul": Baseline("jax", jnp_matmul),
        "nitrix-pallas": Baseline("jax", nitrix_pallas),
        "torch-dense": Baseline("torch", torch_dense),
        "graphblas": Baseline("graphblas", graphblas_product, graphblas_matrix),
    },
)
