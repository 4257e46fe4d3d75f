"""JAX: compiled ahead of its first call, so that compiling is timed alone; 64-bit types on, full matmul precision."""

from __future__ import annotations

import os
import time
from typing import Any, Callable

from providers.base import Provider, no_device


class Framework(Provider):
    name = "jax"
    modules = ("jax", "jaxlib", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        # XLA's CPU client sizes its pool by NPROC when it is created, which is at the first use of
        # a device.
        os.environ.setdefault("NPROC", str(threads))
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else device_peak_bytes would be the pool's size
        if platform:
            os.environ.setdefault("JAX_PLATFORMS", "cuda" if platform.startswith("cuda") else platform)
        super().__init__(threads)
        import jax

        self.jax, self.np = jax, jax.numpy
        self._device: Any = None
        self._pool_threads = os.environ["NPROC"]
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_default_matmul_precision", "highest")
        jax.config.update("jax_enable_compilation_cache", bool(os.environ.get("JAX_COMPILATION_CACHE_DIR")))

    def versions(self) -> dict[str, str]:
        facts = super().versions()
        if self._device:
            facts["device"] = self._device.device_kind
            facts["platform_version"] = " ".join(self._device.client.platform_version.split())
        return facts

    def open(self, platform: str, threads: int) -> None:
        super().open(platform, threads)
        if self._pool_threads != str(threads):
            from jax.extend import backend

            os.environ["NPROC"] = self._pool_threads = str(threads)
            backend.clear_backends()
        try:
            self._device = self.jax.devices("cpu" if platform == "cpu" else "gpu")[0]
        except Exception as error:  # nothing but a device is asked for; JAX refuses in several types, AssertionError too
            raise no_device("jax", platform) from error
        self.jax.config.update("jax_default_device", self._device)

    def apply(self, settings: dict[str, str]) -> None:
        for name, value in settings.items():
            self.jax.config.update(name, value)

    def policy(self) -> dict[str, Any]:
        threads = super().policy()["threads"]
        if self._device is not None and self._device.platform == "cpu":
            threads["xla"] = int(self._pool_threads)
        return {
            "threads": threads,
            "settings": {"jax_default_matmul_precision": str(self.jax.config.jax_default_matmul_precision)},
        }

    def array(self, host_array: Any) -> Any:
        # A copy by JAX: an array that merely borrows the host's memory is not what a user of JAX
        # has.
        return self.np.array(host_array, copy=True, device=self._device)

    def to_host(self, result: Any) -> Any:
        return self.jax.device_get(result)

    def compile(self, function: Callable[..., Any], inputs: list[Any]) -> tuple[Callable[..., Any], int | None]:
        start = time.perf_counter_ns()
        compiled = self.jax.jit(function).lower(*inputs).compile()
        compile_ns = time.perf_counter_ns() - start

        def call(*arrays: Any) -> Any:
            return compiled(*arrays).block_until_ready()

        def call_of_several(*arrays: Any) -> Any:
            results = compiled(*arrays)
            for result in results:
                result.block_until_ready()
            return results

        return call_of_several if isinstance(compiled.out_info, tuple) else call, compile_ns

    def null_call(self) -> Callable[..., Any]:
        call, _ = self.compile(lambda x: x, [self.array(0.0)])
        argument = self.array(0.0)
        return lambda: call(argument)

    def flush(self, size: int) -> None:
        if self._device.platform == "cpu":
            super().flush(size)
            return
        if self._flushed is None:
            self._flushed = self.np.zeros(size, self.np.uint8, device=self._device)
        self._flushed = (self._flushed + 1).block_until_ready()

    def synchronize(self) -> None:
        self.jax.block_until_ready(self.jax.live_arrays())

    def device_peak_bytes(self) -> int | None:
        if self._device is None or self._device.platform == "cpu":
            return None
        return (self._device.memory_stats() or {}).get("peak_bytes_in_use")

    def is_out_of_memory(self, error: BaseException) -> bool:
        return (
            isinstance(error, self.jax.errors.JaxRuntimeError)
            and getattr(error, "error_code_string", None) == "RESOURCE_EXHAUSTED"
        )
