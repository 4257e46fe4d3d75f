"""PyTorch Geometric: PyTorch with message passing over graphs; newer than 2.5, which need no compiled extension."""

from __future__ import annotations

from providers import torch_provider


class Framework(torch_provider.Framework):
    name = "pyg"
    modules = ("torch_geometric", "torch", "numpy")
