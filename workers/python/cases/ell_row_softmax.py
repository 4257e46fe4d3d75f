"""Foreign baselines of ell_row_softmax: softmax over the places that each row has, zeros behind, zeros in a row without any."""

from __future__ import annotations

from math import inf
from typing import Any, Callable

from cases import Baseline, Case
from cases import graphs


def numpy_masked(provider: Any, _: dict[str, Any], *__: Any) -> Callable[..., Any]:
    np = provider.np

    def run(values: Any, degree: Any) -> Any:
        there = np.arange(values.shape[1]) < degree[:, None]
        y = np.where(there, values, -inf)
        y -= np.max(y, axis=1, keepdims=True, where=there, initial=np.finfo(y.dtype).min)
        np.exp(y, out=y)
        total = np.sum(y, axis=1, keepdims=True)
        return np.divide(y, total, out=y, where=total > 0)

    return run


def jax_masked(provider: Any, *_: Any) -> Callable[..., Any]:
    jax, jnp = provider.jax, provider.np

    def run(values: Any, degree: Any) -> Any:
        there = jnp.arange(values.shape[1]) < degree[:, None]
        return jnp.where(there, jax.nn.softmax(values, axis=1, where=there), 0)

    return run


def torch_masked_arguments(provider: Any, _: dict[str, Any], values: Any, degree: Any) -> tuple[Any, ...]:
    return provider.array(values), provider.array(graphs.places(values.shape[1], degree))


def torch_masked(provider: Any, _: dict[str, Any], *__: Any) -> Callable[..., Any]:
    torch = provider.torch

    def run(values: Any, there: Any) -> Any:
        y = torch.softmax(values.masked_fill(~there, -inf), dim=1)
        return y.masked_fill_(~there, 0)

    return run


def pyg_arguments(provider: Any, _: dict[str, Any], values: Any, degree: Any) -> tuple[Any, ...]:
    """Weights by edge, the row that each belongs to, and its place among all places."""
    import numpy as np

    there = graphs.places(values.shape[1], degree)
    to = np.repeat(np.arange(len(degree), dtype=np.int64), degree)
    return tuple(provider.array(a) for a in (values[there], to, np.flatnonzero(there))) + (values.shape,)


def pyg_softmax(provider: Any, _: dict[str, Any], *__: Any) -> Callable[..., Any]:
    from torch_geometric.utils import softmax

    torch = provider.torch

    def run(weight: Any, to: Any, place: Any, shape: tuple[int, int]) -> Any:
        y = torch.zeros(shape[0] * shape[1], dtype=weight.dtype, device=weight.device)
        y[place] = softmax(weight, to, num_nodes=shape[0])
        return y.view(shape)

    return run


CASE = Case(
    name="ell_row_softmax",
    inputs=("values", "degree"),
    outputs=("y",),
    baselines={
        "numpy": Baseline("numpy", numpy_masked),
        "jax-masked": Baseline("jax", jax_masked),
        "torch-masked": Baseline("torch", torch_masked, torch_masked_arguments),
        "pyg": Baseline("pyg", pyg_softmax, pyg_arguments),
    },
)
