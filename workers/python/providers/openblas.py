"""The OpenBLAS that a framework has loaded: its version, the kernels it picked, and its threads.

NumPy does not report which kernels its BLAS runs, and OpenBLAS falls back to older ones on an unknown CPU, at half the
speed; a row must record it.  The library is found among the process's own mappings and asked through its C interface,
whose names carry a prefix and a suffix in builds for wheels.
"""

from __future__ import annotations

import ctypes

_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")


def _loaded() -> ctypes.CDLL | None:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [line.split(maxsplit=5)[5].strip() for line in maps if "openblas" in line]
        return ctypes.CDLL(paths[0]) if paths else None
    except (OSError, IndexError):
        return None


def _function(what: str, restype: type | None) -> ctypes._CFuncPtr | None:
    library = _loaded()
    for name in _NAMES if library else ():
        function = getattr(library, name.format(what), None)
        if function is not None:
            function.restype = restype
            return function
    return None


def describe() -> dict[str, str]:
    """blas and blas_core as versions for hello; empty if no OpenBLAS is loaded."""
    facts = {}
    for key, what in (("blas", "get_config"), ("blas_core", "get_corename")):
        function = _function(what, ctypes.c_char_p)
        if function:
            facts[key] = function().decode("ascii", "replace").strip()
    return facts


def set_threads(threads: int) -> bool:
    """False if there is no OpenBLAS to tell."""
    function = _function("set_num_threads", None)
    if function:
        function(ctypes.c_int(threads))
    return function is not None


def threads() -> int | None:
    """Threads it would use now; None if there is no OpenBLAS to ask."""
    function = _function("get_num_threads", ctypes.c_int)
    return function() if function else None
