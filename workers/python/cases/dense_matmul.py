"""Foreign baselines of dense_matmul.  jnp-bf16 and torch-bf16 have to fail the fidelity check: they prove that a set-up checks."""

from __future__ import annotations

from typing import Any, Callable

from cases import Baseline, Case


def numpy_matmul(provider: Any, _: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    np = provider.np
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda a, b: np.matmul(a, b, out=c)


def matmul(provider: Any, *_: Any) -> Callable[..., Any]:
    return provider.np.matmul


def einsum(provider: Any, *_: Any) -> Callable[..., Any]:
    return lambda a, b: provider.np.einsum("mk,kn->mn", a, b)


def jnp_bf16(provider: Any, *_: Any) -> Callable[..., Any]:
    np = provider.np
    return lambda a, b: np.matmul(a.astype(np.bfloat16), b.astype(np.bfloat16)).astype(a.dtype)


def torch_bf16(provider: Any, *_: Any) -> Callable[..., Any]:
    torch = provider.torch
    return lambda a, b: torch.matmul(a.to(torch.bfloat16), b.to(torch.bfloat16)).to(a.dtype)


CASE = Case(
    name="dense_matmul",
    inputs=("A", "B"),
    outputs=("C",),
    baselines={
        "numpy-matmul": Baseline("numpy", numpy_matmul),
        "jnp-matmul": Baseline("jax", matmul),
        "jnp-einsum": Baseline("jax", einsum),
        "jnp-bf16": Baseline("jax", jnp_bf16),
        "torch-matmul": Baseline("torch", matmul),
        "torch-bf16": Baseline("torch", torch_bf16),
    },
)
