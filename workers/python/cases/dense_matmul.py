"""Foreign baselines of dense_matmul.  jnp-bf16 and torch-bf16 have to fail the fidelity check: they prove that a set-up checks."""

from __future__ import annotations

from typing import Any, Callable

from cases import Baseline, Case


def numpy_matmul(provider: Any, _: dict[str, Any], a: Any, b: Any) -> Callable[..., Any]:
    np = provider.numpy
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda a, b: np.matmul(a, b, out=c)


def jnp_matmul(*_: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    return lambda a, b: jnp.matmul(a, b)


def jnp_einsum(*_: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    return lambda a, b: jnp.einsum("mk,kn->mn", a, b)


def jnp_bf16(*_: Any) -> Callable[..., Any]:
    import jax.numpy as jnp

    return lambda a, b: jnp.matmul(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)).astype(a.dtype)


def torch_matmul(provider: Any, *_: Any) -> Callable[..., Any]:
    return provider.torch.matmul


def torch_bf16(provider: Any, *_: Any) -> Callable[..., Any]:
    torch = provider.torch
    return lambda a, b: torch.matmul(a.to(torch.bfloat16), b.to(torch.bfloat16)).to(a.dtype)


CASE = Case(
    name="dense_matmul",
    inputs=("A", "B"),
    outputs=("C",),
    baselines={
        "numpy-matmul": Baseline("numpy", numpy_matmul),
        "jnp-matmul": Baseline("jax", jnp_matmul),
        "jnp-einsum": Baseline("jax", jnp_einsum),
        "jnp-bf16": Baseline("jax", jnp_bf16),
        "torch-matmul": Baseline("torch", torch_matmul),
        "torch-bf16": Baseline("torch", torch_bf16),
    },
)
