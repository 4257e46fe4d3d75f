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
        import torchmetrics

        self._version = torchmetrics.__version__

    def versions(self) -> dict[str, str]:
        return {**super().versions(), "torchmetrics": self._version}
