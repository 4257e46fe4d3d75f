"""Calibrax: runs of measurements, stores, checks and benchmarks; arrays of the Python array API in calibrax_c.array."""

from ._core import *
from ._core import __version__, _signatures
from .benchmarks import register_benchmark


def __getattr__(name: str) -> object:
    """Backend is loaded when it is needed."""
    if name == "Backend":
        from ._backend import Backend

        return Backend
    raise AttributeError(f"module 'calibrax_c' has no attribute {name!r}")


def _start(program: str) -> None:
    """Becomes a program of the wheel."""
    import os
    import sys

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools", program)
    os.execv(path, [path, *sys.argv[1:]])


def _nperf() -> None:
    _start("nperf")


def _calibrax() -> None:
    _start("calibrax")
