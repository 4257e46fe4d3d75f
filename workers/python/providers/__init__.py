"""Providers: a framework that baselines run under.  A new one is one file and its name in _NAMES."""

from __future__ import annotations

import importlib
import os

from protocol import WorkerError, require

from providers.base import Provider, read_npy, write_npy

__all__ = ["Provider", "create", "read_npy", "write_npy"]

# Names on the wire.  Each has a module here, NAME_provider, with a Provider subclass named
# `Framework`, which imports its framework on construction, after the environment below is set.
_NAMES = ("numpy", "jax", "torch", "pyg", "scipy", "graphblas", "metrics", "torchmetrics", "calibrax")

# Libraries read these once, when they are loaded.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _threads_of_environment() -> int:
    """OMP_NUM_THREADS if the parent set it, else the CPUs this process may run on."""
    try:
        threads = int(os.environ.get("OMP_NUM_THREADS", ""))
    except ValueError:
        threads = 0
    return threads if threads > 0 else len(os.sched_getaffinity(0))


def create(name: str, platform: str | None) -> Provider:
    """Imports the framework.  With a platform its device is opened too, so that hello can name it."""
    require(name in _NAMES, f"no provider '{name}': this worker has {', '.join(_NAMES)}")
    threads = _threads_of_environment()
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, str(threads))
    module = importlib.import_module(f"providers.{name}_provider")
    try:
        provider = module.Framework(threads, platform)
    except ModuleNotFoundError as error:
        if error.name in module.Framework.modules:
            raise WorkerError(
                "module_missing", f"{error.name} is not installed: run scripts/setup-refs.sh {name}"
            ) from error
        raise
    if platform:
        provider.open(platform, threads)
    return provider
