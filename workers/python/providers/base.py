"""What a provider is, and how arrays come in and go out."""

from __future__ import annotations

import importlib
import os
import platform as host
import sys
from typing import Any, Callable

from protocol import WorkerError, require, violation
from providers import openblas

PLATFORMS = ("cpu", "cuda12")
_PACKAGES = {"sklearn": "scikit-learn", "graphblas": "python-graphblas", "suitesparse_graphblas": "suitesparse-graphblas"}  # of modules with other names


class Provider:
    """A framework, made ready to run one baseline.  It is imported when an object is made, never at module level."""

    name = ""
    modules: tuple[str, ...] = ()  # missing one of these means that the framework is not installed
    np: Any = None  # the module with NumPy's names: numpy, jax.numpy or torch

    def __init__(self, threads: int) -> None:
        for module in self.modules:
            importlib.import_module(module)
        self.threads = threads
        self.platform: str | None = None
        self._flushed: Any = None  # larger than the caches, made when first needed

    def versions(self) -> dict[str, str]:
        """What can be known about the software, as text; an unknown fact is left out."""
        return {"python": host.python_version(), **{_PACKAGES.get(m, m): str(sys.modules[m].__version__) for m in self.modules}}

    def open(self, platform: str, threads: int) -> None:
        """Chooses the device and the number of threads.  Raises backend_unavailable where it is missing."""
        require(platform in PLATFORMS, f"no platform '{platform[:40]}': this worker has {', '.join(PLATFORMS)}")
        require(threads >= 1, "threads must be at least 1")
        self.platform = platform
        self.threads = threads
        openblas.set_threads(threads)  # NumPy's, which every framework has at hand

    def apply(self, settings: dict[str, str]) -> None:
        """Settings by call, as the parent's table of policies names them (calibrax/perf/launch/policy.c).  After open, before anything is compiled."""
        if settings:
            raise violation(f"{self.name} has no setting '{next(iter(settings))[:40]}'")

    def policy(self) -> dict[str, Any]:
        """What the process really has: threads by pool, and the settings as they read back; what cannot be asked is left out."""
        return {"threads": {"blas": n} if (n := openblas.threads()) else {}, "settings": {}}

    def array(self, host_array: Any) -> Any:
        """The framework's own copy of a NumPy array, on the device."""
        raise NotImplementedError

    def to_host(self, result: Any) -> Any:
        """A result as a NumPy array."""
        raise NotImplementedError

    def compile(self, function: Callable[..., Any], inputs: list[Any]) -> tuple[Callable[..., Any], int | None]:
        """A function that returns when its result is there, and the ns that compiling took (None: unknown)."""
        return function, None

    def null_call(self) -> Callable[..., Any]:
        """A call that does nothing, with whatever the framework does around one."""
        return lambda: None

    def flush(self, size: int) -> None:
        """Writes over so many bytes of what is nearest to where baselines compute, so that its caches hold nothing else."""
        if self._flushed is None:
            import numpy

            self._flushed = numpy.zeros(size, numpy.uint8)
        self._flushed += 1

    def synchronize(self) -> None:
        """Waits for everything that was started on the device."""

    def device_peak_bytes(self) -> int | None:
        return None

    def is_out_of_memory(self, error: BaseException) -> bool:
        return False


def no_device(framework: str, platform: str) -> WorkerError:
    return WorkerError("backend_unavailable", f"{framework} finds no device for platform '{platform}'")


def read_npy(descriptor: int) -> Any:
    """The NumPy array in a memory file.  Opened again: the descriptor's file offset is shared with the parent's."""
    import numpy

    try:
        with open(f"/proc/self/fd/{descriptor}", "rb") as file:
            return numpy.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise violation(f"an input is not a readable NPY file: {error}") from error


def write_npy(descriptor: int, array: Any) -> None:
    """Writes over what the file held and cuts it to length afterwards, so that no mapping of it ever loses its pages."""
    import numpy

    with os.fdopen(os.dup(descriptor), "r+b") as file:
        file.seek(0)
        numpy.save(file, numpy.asarray(array, order="C"), allow_pickle=False)  # keeps a scalar a scalar
        file.truncate()
