"""torchmetrics over PyTorch."""

from __future__ import annotations

import warnings

from providers import torch_provider


class Framework(torch_provider.Framework):
    name = "torchmetrics"
    modules = ("torchmetrics", "torch", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads, platform)
        warnings.simplefilter("ignore")  # of operands, at every call
