"""The Python package calibrax over JAX: its functions are compiled where they can be traced, else called as they are."""

from __future__ import annotations

from typing import Any, Callable

from providers import jax_provider


class Framework(jax_provider.Framework):
    name = "calibrax"
    modules = ("calibrax", "jax", "jaxlib", "numpy")

    def compile(self, function: Callable[..., Any], inputs: list[Any]) -> tuple[Callable[..., Any], int | None]:
        try:
            return super().compile(function, inputs)
        except Exception:  # reads values: JAX refuses in several types
            return lambda *arrays: self.jax.block_until_ready(function(*arrays)), None
