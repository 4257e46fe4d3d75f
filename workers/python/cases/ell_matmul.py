"""Foreign baselines of ell_matmul: C[i,j] = fold over the places p of row i of combine(values[i,p], B[indices[i,p], j]).

Rows of B are gathered and reduced, which materialises m x k x n terms where the framework does not fuse; libraries' sparse products where
they have the algebra.  The sparse matrix is in the framework's own form before (cases/graphs.py).
"""

from __future__ import annotations

from typing import Any, Callable

from cases import Baseline, Case
from cases import graphs
from cases.algebras import EMPTY, algebra_of, array_api, graphblas_ops, graphblas_product, only_real


def gather(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    np, algebra = provider.np, algebra_of(point)
    combine, fold = array_api(np, algebra)

    def run(indices: Any, values: Any, degree: Any, b: Any) -> Any:
        there = np.arange(indices.shape[1]) < degree[:, None]
        return fold(np.where(there[:, :, None], combine(values[:, :, None], b[indices]), EMPTY[algebra]), 1)

    return run


def torch_rows(provider: Any, _: dict[str, Any], indices: Any, values: Any, degree: Any, b: Any) -> tuple[Any, ...]:
    return *graphs.torch_rows(provider, indices, values, degree), provider.array(b)


def torch_gather(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    algebra = algebra_of(point)
    combine, fold = array_api(provider.torch, algebra)

    def run(indices: Any, values: Any, there: Any, b: Any) -> Any:
        return fold(combine(values[:, :, None], b[indices]).masked_fill_(~there[:, :, None], EMPTY[algebra]), 1)

    return run


def with_matrix(form: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """The graph in a library's own form, and B."""
    return lambda provider, _, *arrays: (form(provider, *arrays[:3]), provider.array(arrays[3]))


def product(_: Any, point: dict[str, Any], *__: Any) -> Callable[..., Any]:
    """Of torch and of SciPy alike."""
    only_real(point, "a library's sparse product")
    return lambda matrix, b: matrix @ b


def graphblas_matrix(provider: Any, point: dict[str, Any], *arrays: Any) -> tuple[Any, ...]:
    several = graphblas_ops(algebra_of(point))[1]
    return graphs.graphblas_matrix(provider, *arrays[:3], several=several), provider.graphblas.Matrix.from_dense(arrays[3])


CASE = Case(
    name="ell_matmul",
    inputs=("indices", "values", "degree", "B"),
    outputs=("C",),
    baselines={
        "numpy": Baseline("numpy", gather),
        "jax-gather": Baseline("jax", gather),
        "torch-gather": Baseline("torch", torch_gather, torch_rows),
        "torch-csr": Baseline("torch", product, with_matrix(graphs.torch_csr)),
        "scipy-csr": Baseline("scipy", product, with_matrix(graphs.scipy_csr)),
        "graphblas": Baseline("graphblas", graphblas_product, graphblas_matrix),
    },
)
