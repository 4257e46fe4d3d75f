"""The graph of the ell_ cases in the forms that frameworks hold one: rows of neighbours, a list of edges, CSR.

Only the first degree[i] places of row i are there; weights behind them are not to be read.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Edges(NamedTuple):
    """Edges in the order of the rows they end in: row `to`, neighbour `source`, its weight; row i has them from start[i] on."""

    to: Any
    source: Any
    weight: Any
    start: Any


def places(k: int, degree: Any) -> Any:
    """n by k: which places hold a neighbour."""
    import numpy as np

    return np.arange(k) < degree[:, None]


def torch_rows(provider: Any, indices: Any, values: Any, degree: Any) -> tuple[Any, ...]:
    """Rows of neighbours, and which of their places hold one."""
    import numpy as np

    return tuple(provider.array(a) for a in (indices.astype(np.int64), values, places(indices.shape[1], degree)))


def edges(indices: Any, weights: Any, degree: Any) -> Edges:
    import numpy as np

    there = places(indices.shape[1], degree)
    to = np.repeat(np.arange(len(degree), dtype=np.int64), degree)
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree, dtype=np.int64)])
    return Edges(to, indices[there].astype(np.int64), np.ascontiguousarray(weights[there]), start)


def scipy_csr(provider: Any, indices: Any, weights: Any, degree: Any) -> Any:
    """CSR as SciPy takes it: 32-bit indices; several edges between two vertices stay apart, which its product allows."""
    import numpy as np

    e, n = edges(indices, weights, degree), len(degree)
    return provider.scipy.sparse.csr_matrix((e.weight, e.source.astype(np.int32), e.start.astype(np.int32)), shape=(n, n))


def torch_csr(provider: Any, indices: Any, weights: Any, degree: Any) -> Any:
    """PyTorch's CSR has rising columns, each once: several edges between two vertices become one with the sum of their weights."""
    import numpy as np

    e, n = edges(indices, weights, degree), len(degree)
    key, first = np.unique(e.to * n + e.source, return_inverse=True)
    weight = np.zeros(len(key), weights.dtype)
    np.add.at(weight, first, e.weight)
    start = np.searchsorted(key, np.arange(n + 1) * n)
    return provider.torch.sparse_csr_tensor(
        provider.array(start), provider.array(key % n), provider.array(weight), size=(n, n)
    )


def graphblas_matrix(provider: Any, indices: Any, weights: Any, degree: Any, several: str) -> Any:
    """A GraphBLAS matrix has one element for a pair of vertices: `several` is the operation that makes one of many."""
    e, n = edges(indices, weights, degree), len(degree)
    gb = provider.graphblas
    return gb.Matrix.from_coo(e.to, e.source, e.weight, nrows=n, ncols=n, dup_op=getattr(gb.binary, several))
