"""Providers: a framework that baselines run under.  A new one is one file and one line in _MODULES."""

from __future__ import annotations

import importlib
import os

from protocol import WorkerError, violation

from providers.base import Provider, read_npy, write_npy

__all__ = ["Provider", "create", "read_npy", "write_npy"]

# Name on the wire -> module here.  Each module has a Provider subclass named `Framework`, and imports its framework on
# construction, after the environment below is set.
_MODULES = {
    "numpy": "providers.numpy_provider",
    "jax": "providers.jax_provider",
    "torch": "providers.torch_provider",
    "pyg": "providers.pyg_provider",
    "scipy": "providers.scipy_provider",
    "graphblas": "providers.graphblas_provider",
    "metrics": "providers.metrics_provider",
    "torchmetrics": "providers.torchmetrics_provider",
    "calibrax": "providers.calibrax_provider",
}

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
    if name not in _MODULES:
        raise violation(f"no provider '{name}': this worker has {', '.join(_MODULES)}")
    threads = _threads_of_environment()
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, str(threads))
    module = importlib.import_module(_MODULES[name])
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
