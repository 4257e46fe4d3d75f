"""PyTorch Geometric: PyTorch with message passing over graphs; newer than 2.5, which need no compiled extension."""

from __future__ import annotations

from providers import torch_provider


class Framework(torch_provider.Framework):
    name = "pyg"
    modules = ("torch_geometric", "torch", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads, platform)
        import torch_geometric

        self.geometric = torch_geometric

    def versions(self) -> dict[str, str]:
        return {**super().versions(), "torch_geometric": self.geometric.__version__}
