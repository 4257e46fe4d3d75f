"""PyTorch in eager mode, without gradients: 1.13 (Debian 12) and later."""

from __future__ import annotations

from typing import Any, Callable

from protocol import require
from providers import openblas
from providers.base import Provider, no_device


class Framework(Provider):
    name = "torch"
    modules = ("torch", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads)
        import torch

        self.torch = self.np = torch
        self._device = torch.device("cpu")
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False

    def versions(self) -> dict[str, str]:
        facts = {**super().versions(), **self._blas()}
        capability = getattr(getattr(self.torch.backends, "cpu", None), "get_cpu_capability", None)
        if capability:
            facts["cpu_capability"] = capability()
        if self._device.type == "cuda":
            facts["device"] = self.torch.cuda.get_device_name(self._device)
            facts["cuda"] = str(self.torch.version.cuda)
        facts["config"] = self._short_config()
        return facts

    def open(self, platform: str, threads: int) -> None:
        super().open(platform, threads)
        self.torch.set_num_threads(threads)
        if platform == "cpu":
            self._device = self.torch.device("cpu")
            return
        if not self.torch.cuda.is_available():
            raise no_device("torch", platform)
        self._device = self.torch.device("cuda")
        self.torch.cuda.reset_peak_memory_stats(self._device)

    def apply(self, settings: dict[str, str]) -> None:
        calls = {
            "num_threads": lambda value: self.torch.set_num_threads(int(value)),
            "num_interop_threads": self._set_interop_threads,
            "float32_matmul_precision": self.torch.set_float32_matmul_precision,
            "cudnn.allow_tf32": lambda value: setattr(self.torch.backends.cudnn, "allow_tf32", value == "true"),
        }
        for name, value in settings.items():
            require(name in calls, f"torch has no setting '{name[:40]}'")
            calls[name](value)

    def _set_interop_threads(self, value: str) -> None:
        # PyTorch takes this number once, before the pool is used; later it refuses in a
        # RuntimeError.
        if self.torch.get_num_interop_threads() != int(value):
            self.torch.set_num_interop_threads(int(value))

    def policy(self) -> dict[str, Any]:
        threads = {"intra_op": self.torch.get_num_threads(), "inter_op": self.torch.get_num_interop_threads()}
        settings = {
            "num_threads": str(threads["intra_op"]),
            "num_interop_threads": str(threads["inter_op"]),
            "float32_matmul_precision": self.torch.get_float32_matmul_precision(),
        }
        if self._device.type == "cuda":
            settings["cudnn.allow_tf32"] = str(self.torch.backends.cudnn.allow_tf32).lower()
        return {"threads": {**super().policy()["threads"], **threads}, "settings": settings}

    def array(self, host_array: Any) -> Any:
        return self.torch.tensor(host_array, device=self._device)

    def to_host(self, result: Any) -> Any:
        return result.cpu().numpy()

    def compile(self, function: Callable[..., Any], inputs: list[Any]) -> tuple[Callable[..., Any], int | None]:
        if self._device.type == "cpu":
            return function, None
        synchronize = self.torch.cuda.synchronize

        def call(*arrays: Any) -> Any:
            result = function(*arrays)
            synchronize()
            return result

        return call, None

    def null_call(self) -> Callable[..., Any]:
        call, _ = self.compile(lambda: None, [])
        return call

    def flush(self, size: int) -> None:
        if self._device.type == "cpu":
            super().flush(size)
            return
        if self._flushed is None:
            self._flushed = self.torch.zeros(size, dtype=self.torch.uint8, device=self._device)
        self._flushed.add_(1)
        self.torch.cuda.synchronize()

    def synchronize(self) -> None:
        if self._device.type == "cuda":
            self.torch.cuda.synchronize()

    def device_peak_bytes(self) -> int | None:
        return self.torch.cuda.max_memory_allocated(self._device) if self._device.type == "cuda" else None

    def is_out_of_memory(self, error: BaseException) -> bool:
        kinds = (getattr(self.torch, "OutOfMemoryError", None), getattr(self.torch.cuda, "OutOfMemoryError", None))
        return isinstance(error, tuple(kind for kind in kinds if kind))

    def _blas(self) -> dict[str, str]:
        return {"blas": "mkl"} if self.torch.backends.mkl.is_available() else openblas.describe()

    def _short_config(self) -> str:
        """The library lines of torch.__config__.show(), without the page of compiler flags."""
        lines = [line.strip(" -") for line in self.torch.__config__.show().splitlines()[1:]]
        return "; ".join(line for line in lines if line and not line.startswith("Build settings"))[:400]
