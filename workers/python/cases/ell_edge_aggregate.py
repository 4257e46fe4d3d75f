"""Foreign baselines of ell_edge_aggregate: out[i] = sum or maximum over the neighbours j of i of w[i,j] * (W x[j]).

All but jax-per-edge project every vertex once, h = x W^T, and aggregate rows of h.  x, W, the graph and its weights are arguments of
every call; the graph is in the framework's own form before (cases/graphs.py).  A vertex without neighbours has 0, or -inf.

Measured choices (one core of a Zen 5, 4096 vertices, 16 neighbours, 64 features): torch sparse CSR 0.95 ms, SciPy CSR 1.2 ms, gather and
sum in torch 5.7 ms, scatter 5.9 ms, PyG 4.2 ms with kept pages.
"""

from __future__ import annotations

from math import inf
from typing import Any, Callable

from protocol import require

from cases import Baseline, Case
from cases import graphs


def _is_max(point: dict[str, Any]) -> bool:
    algebra = point.get("algebra")
    require(algebra in ("real", "tropical_max_plus"), f"ell_edge_aggregate has no algebra '{str(algebra)[:40]}': it has real, tropical_max_plus")
    return algebra != "real"


# --- numpy ---


def numpy_gather(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    np = provider.np
    largest = _is_max(point)

    def run(x: Any, w: Any, indices: Any, weights: Any, degree: Any) -> Any:
        h = x @ w.T
        there = np.arange(indices.shape[1]) < degree[:, None]
        if not largest:
            return np.einsum("nk,nkd->nd", np.where(there, weights, 0), h[indices])
        return np.max(weights[:, :, None] * h[indices], axis=1, where=there[:, :, None], initial=-inf)

    return run


# --- jax ---


def _jax_reduce(jnp: Any, largest: bool, messages: Any, indices: Any, degree: Any) -> Any:
    there = (jnp.arange(indices.shape[1]) < degree[:, None])[:, :, None]
    if largest:
        return jnp.max(jnp.where(there, messages, -inf), axis=1)
    return jnp.sum(jnp.where(there, messages, 0), axis=1)


def jax_once(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    largest = _is_max(point)

    def run(x: Any, w: Any, indices: Any, weights: Any, degree: Any) -> Any:
        h = x @ w.T
        return _jax_reduce(provider.np, largest, weights[:, :, None] * h[indices], indices, degree)

    return run


def jax_per_edge(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    jax, largest = provider.jax, _is_max(point)

    def run(x: Any, w: Any, indices: Any, weights: Any, degree: Any) -> Any:
        def edge(neighbour: Any, weight: Any) -> Any:
            return weight * (w @ neighbour)

        messages = jax.vmap(jax.vmap(edge))(x[indices], weights)
        return _jax_reduce(provider.np, largest, messages, indices, degree)

    return run


# --- torch ---


def torch_edges(provider: Any, _: dict[str, Any], x: Any, w: Any, *graph: Any) -> tuple[Any, ...]:
    e = graphs.edges(*graph)
    return tuple(provider.array(a) for a in (x, w, e.to, e.source, e.weight))


def torch_scatter(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    torch = provider.torch
    largest = _is_max(point)

    def run(x: Any, w: Any, to: Any, source: Any, weight: Any) -> Any:
        messages = (x @ w.T)[source] * weight[:, None]
        if not largest:
            out = torch.zeros((x.shape[0], w.shape[0]), dtype=x.dtype, device=x.device)
            return out.index_add_(0, to, messages)
        out = torch.full((x.shape[0], w.shape[0]), -inf, dtype=x.dtype, device=x.device)
        return out.scatter_reduce_(0, to[:, None].expand_as(messages), messages, reduce="amax")

    return run


def torch_rows(provider: Any, _: dict[str, Any], x: Any, w: Any, *graph: Any) -> tuple[Any, ...]:
    return provider.array(x), provider.array(w), *graphs.torch_rows(provider, *graph)


def torch_gather(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    torch = provider.torch
    largest = _is_max(point)

    def run(x: Any, w: Any, indices: Any, weights: Any, there: Any) -> Any:
        messages = (x @ w.T)[indices] * weights[:, :, None]
        if largest:
            return torch.amax(messages.masked_fill_(~there[:, :, None], -inf), dim=1)
        return torch.sum(messages.masked_fill_(~there[:, :, None], 0), dim=1)

    return run


def with_matrix(form: Callable[..., Any], **options: Any) -> Callable[..., tuple[Any, ...]]:
    """x, W, and the graph in a library's own form."""
    return lambda provider, _, x, w, *graph: (provider.array(x), provider.array(w), form(provider, *graph, **options))


def product_with_matrix(_: Any, point: dict[str, Any], *__: Any) -> Callable[..., Any]:
    """Of torch and of SciPy alike."""
    require(not _is_max(point), "a library's sparse product sums")
    return lambda x, w, matrix: matrix @ (x @ w.T)


# --- pyg ---


def pyg_edges(provider: Any, _: dict[str, Any], x: Any, w: Any, *graph: Any) -> tuple[Any, ...]:
    import numpy as np

    e = graphs.edges(*graph)
    return tuple(provider.array(a) for a in (x, w, np.stack([e.source, e.to]), e.weight, np.diff(e.start) == 0))


def pyg(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    """Its maximum of no neighbours is 0, where this operation has -inf; rows without neighbours are set apart."""
    from torch_geometric.nn import MessagePassing

    largest = _is_max(point)

    class Layer(MessagePassing):
        def __init__(self) -> None:
            super().__init__(aggr="max" if largest else "add")

        def forward(self, h: Any, edge_index: Any, weight: Any) -> Any:
            return self.propagate(edge_index, h=h, weight=weight, size=None)

        def message(self, h_j: Any, weight: Any) -> Any:
            return weight[:, None] * h_j

    layer = Layer()

    def run(x: Any, w: Any, edge_index: Any, weight: Any, empty: Any) -> Any:
        out = layer(x @ w.T, edge_index, weight)
        return out.masked_fill_(empty[:, None], -inf) if largest else out

    return run


# --- graphblas ---


def graphblas(provider: Any, point: dict[str, Any], *_: Any) -> Callable[..., Any]:
    gb = provider.graphblas
    largest = _is_max(point)
    semiring = gb.semiring.max_times if largest else gb.semiring.plus_times

    def run(x: Any, w: Any, matrix: Any) -> Any:
        out = matrix.mxm(gb.Matrix.from_dense(x @ w.T), semiring).new()
        return out.to_dense(fill_value=-inf if largest else 0)

    return run


CASE = Case(
    name="ell_edge_aggregate",
    inputs=("x", "W", "indices", "weights", "degree"),
    outputs=("out",),
    baselines={
        "numpy": Baseline("numpy", numpy_gather),
        "jax-once": Baseline("jax", jax_once),
        "jax-per-edge": Baseline("jax", jax_per_edge),
        "torch-scatter": Baseline("torch", torch_scatter, torch_edges),
        "torch-gather": Baseline("torch", torch_gather, torch_rows),
        "torch-csr": Baseline("torch", product_with_matrix, with_matrix(graphs.torch_csr)),
        "pyg": Baseline("pyg", pyg, pyg_edges),
        "scipy-csr": Baseline("scipy", product_with_matrix, with_matrix(graphs.scipy_csr)),
        "graphblas": Baseline("graphblas", graphblas, with_matrix(graphs.graphblas_matrix, several="plus")),
    },
)
