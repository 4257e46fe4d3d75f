"""The six algebras in array languages: terms of all operands at once, then a reduction over an axis.

Masked terms (`there` false) take no part.  Where the reduction has nothing to reduce it gives the algebra's empty value.
"""

from __future__ import annotations

from math import inf
from typing import Any, Callable

from protocol import WorkerError, require

# Of no terms, and what a place outside of an array holds.  Nothing masks a term of euclidean: 0
# adds the square of the other operand.
EMPTY = {
    "real": 0,
    "log": -inf,
    "tropical_max_plus": -inf,
    "tropical_min_plus": inf,
    "euclidean": 0,
    "boolean": False,
}


def algebra_of(point: dict[str, Any]) -> str:
    algebra = point.get("algebra")
    require(algebra in EMPTY, f"no algebra '{str(algebra)[:40]}': this case has {', '.join(EMPTY)}")
    return algebra


def only_real(point: dict[str, Any], what: str) -> None:
    if algebra_of(point) != "real":
        raise WorkerError("point_unsupported", f"{what} has the real algebra only")


def graphblas_ops(algebra: str) -> tuple[str, str]:
    if algebra not in GRAPHBLAS:
        raise WorkerError("point_unsupported", f"GraphBLAS has no {algebra} semiring built in")
    return GRAPHBLAS[algebra]


def graphblas_product(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    algebra = algebra_of(point)
    semiring = getattr(provider.graphblas.semiring, graphblas_ops(algebra)[0])
    return lambda a, b: a.mxm(b, semiring).new().to_dense(fill_value=EMPTY[algebra])


def _log(np: Any) -> Callable[..., Any]:
    """In two passes; an infinite largest term stays what it is."""

    def fold(terms: Any, axis: int) -> Any:
        top = np.max(terms, axis=axis, keepdims=True)
        shift = np.where(np.isfinite(top), top, 0)
        return np.log(np.sum(np.exp(terms - shift), axis=axis)) + np.squeeze(shift, axis)

    return fold


def array_api(np: Any, algebra: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """combine(a, b) and fold(terms, axis) by numpy's names, which jax.numpy and torch share; torch has a logsumexp, too."""
    return {
        "real": (lambda a, b: a * b, np.sum),
        "log": (lambda a, b: a + b, getattr(np, "logsumexp", None) or _log(np)),
        "tropical_max_plus": (lambda a, b: a + b, np.amax),
        "tropical_min_plus": (lambda a, b: a + b, np.amin),
        "euclidean": (lambda a, b: np.square(a - b), lambda t, axis: np.sqrt(np.sum(t, axis))),
        "boolean": (lambda a, b: a & b, np.any),
    }[algebra]


# GraphBLAS: the built-in semiring, and the operator that joins what is twice in one place.
GRAPHBLAS = {
    "real": ("plus_times", "plus"),
    "tropical_max_plus": ("max_plus", "max"),
    "tropical_min_plus": ("min_plus", "min"),
    "boolean": ("lor_land", "lor"),
}
